"""Events of items and their stock, and thresholds: spec 09 sections 7.1 and 16."""
import json

import pytest

from stock import ITEMS, change, entry, levels, make_item, movements, refused
from wharf import MODULES, make_location


@pytest.fixture
def told(org):
    def of(id, type):
        return [json.loads(d) if isinstance(d, str) else d for _, d, _, _ in org.events(id, type)]
    return of


def test_stock_is_told_by_its_levels_and_not_by_the_item(client, org, told):
    here, there = make_location(client), make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=5), entry(there, available_qty=1)])
    change(client, item, entry(here, available_qty=-2, damaged_qty=2), entry(there, available_qty=[0]))
    a, b = (next(v for v in levels(client, item, "&include_zero_inventory=true") if v["location_id"] == x["id"]) for x in (here, there))
    first, second = told(a["id"], "inventory.level_updated")
    assert first["available_qty"] == 5 and (second["available_qty"], second["damaged_qty"], second["on_hand_qty"]) == (3, 2, 5)
    assert second["item_id"] == item["id"] and second["object"] == "level" and second["layout_name"] == "Default"
    group = movements(client, item)[-1]["group_id"]
    assert second["group_id"] == group
    adjusted = told(a["id"], "inventory.adjusted")
    assert [e["reason"] for e in adjusted] == ["opening", "transfer"] or [e["reason"] for e in adjusted] == ["opening", "adjustment"]
    assert [(m["bucket"], m["delta"], m["balance_after"]) for m in adjusted[1]["movements"]] == [("available", -2, 3), ("damaged", 2, 2)]
    assert [m["delta"] for m in told(b["id"], "inventory.adjusted")[1]["movements"]] == [-1]  # of its own location alone
    assert [e[0] for e in org.events(item["id"])] == ["item.created"]
    assert [e[3] for e in org.events(b["id"])] == [there["id"]] * len(org.events(b["id"]))
    change(client, item, entry(here, available_qty=1), color="red")
    update = told(item["id"], "item.updated")
    assert len(update) == 1 and update[0]["color"] == "red" and "levels" not in update[0] and "totals" not in update[0]


def test_a_refused_change_tells_nothing(client, org):
    location = make_location(client)
    item = make_item(client, levels=[entry(location, available_qty=5)])
    level = levels(client, item)[0]["id"]
    before = len(org.events(level))
    refused(client, item, 409, "item.insufficient_stock", None, entry(location, available_qty=-6))
    change(client, item, entry(location, available_qty=[5]))
    assert len(org.events(level)) == before


def test_lots_are_told(client, told):
    location = make_location(client)
    item = make_item(client, lot_tracking="required", levels=[entry(location, available_qty=1, lot_number="L")])
    change(client, item, entry(location, available_qty=1, lot_number="L"))
    lot = client.get(f"{ITEMS}/{item['id']}/lots").data[0]
    made, = told(lot["id"], "lot.created")
    assert made["lot_number"] == "L" and made["item_id"] == item["id"]
    client.post(f"{ITEMS}/{item['id']}/lots/{lot['id']}", {"expires_at": "2030-01-01T00:00:00Z"}, expect=200)
    assert len(told(lot["id"], "lot.updated")) == 1


def test_many_movements_are_cut_and_told(client, org, told):
    location = make_location(client)
    item = make_item(client, levels=[entry(location, available_qty=100)])
    level = levels(client, item)[0]["id"]
    change(client, item, *[entry(location, available_qty=1)] * 100)
    whole = told(level, "inventory.adjusted")[-1]
    assert len(whole["movements"]) == 100 and "movements_truncated" not in whole
    change(client, item, *[entry(location, available_qty=-1)] * 101)
    cut = told(level, "inventory.adjusted")[-1]
    assert [m["delta"] for m in cut["movements"]] == [-1] * 100 and cut["movements_truncated"] is True and cut["available_qty"] == 99


@pytest.mark.skipif("events" not in MODULES.split(","), reason="the catalogue of types is the module events'")
def test_only_news_of_levels_are_superseded(client):
    types = {t["type"]: t["supersedable"] for t in client.get("/v1/events/types?module=items").data}
    assert types["inventory.level_updated"] is True and types["inventory.adjusted"] is types["assembly_order.built"] is types["bom.version_created"] is False


# ---- thresholds ----

def low(org, item, client):
    return [json.loads(e[1]) if isinstance(e[1], str) else e[1] for v in levels(client, item, "&include_zero_inventory=true") for e in org.events(v["id"], "inventory.low_stock")]


def test_low_stock_is_told_once_per_crossing(client, org):
    here, there = make_location(client), make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=10), entry(there, available_qty=10)], low_stock_thresholds=[{"location_id": here["id"], "available_qty": 5}])
    path = f"{ITEMS}/{item['id']}"
    assert item["low_stock_thresholds"] == [{"location_id": here["id"], "available_qty": 5, "low": False}]
    change(client, item, entry(here, available_qty=[5]), entry(there, available_qty=[0]))
    assert low(org, item, client) == []  # at the threshold is not below it, and the other location has none
    change(client, item, entry(here, available_qty=-0.5))
    change(client, item, entry(here, available_qty=-1, damaged_qty=1))
    event, = low(org, item, client)
    assert event["item_id"] == item["id"] and event["location_id"] == here["id"] and event["location_available_qty"] == 4.5 and event["threshold_qty"] == 5
    assert client.get(path).data["low_stock_thresholds"][0]["low"] is True
    change(client, item, entry(here, available_qty=[5]))
    assert client.get(path).data["low_stock_thresholds"][0]["low"] is False
    change(client, item, entry(here, available_qty=[1]), entry(here, available_qty=[6]))  # what counts is the end
    assert len(low(org, item, client)) == 1
    change(client, item, entry(here, available_qty=[4]))
    assert len(low(org, item, client)) == 2


def test_a_threshold_above_the_stock_is_a_crossing(client, org):
    location = make_location(client)
    item = make_item(client, low_stock_thresholds=[{"location_id": location["id"], "available_qty": "2.5"}])
    event, = low(org, item, client)
    assert event["location_available_qty"] == 0 and event["threshold_qty"] == 2.5
    path = f"{ITEMS}/{item['id']}"
    client.post(path, {"low_stock_thresholds": [{"location_id": location["id"], "available_qty": 3}]}, expect=200)
    assert len(low(org, item, client)) == 1  # it was low before
    assert client.post(path, {"low_stock_thresholds": []}, expect=200).data["low_stock_thresholds"] == []
    assert len([e for e in org.events(item["id"]) if e[0] == "item.updated"]) == 2


def test_thresholds_of_other_locations_stay(client, org):
    here, there = make_location(client), make_location(client)
    item = make_item(client, low_stock_thresholds=[{"location_id": x["id"], "available_qty": 1} for x in (here, there)])
    path = f"{ITEMS}/{item['id']}"
    limited = org.client(locations=[here["id"]])
    assert [t["location_id"] for t in limited.get(path).data["low_stock_thresholds"]] == [here["id"]]
    limited.post(path, {"low_stock_thresholds": []}, expect=200)
    assert [t["location_id"] for t in client.get(path).data["low_stock_thresholds"]] == [there["id"]]
    limited.refused("POST", path, 403, "location_access", [there["id"]], body={"low_stock_thresholds": [{"location_id": there["id"], "available_qty": 1}]})


def test_thresholds_are_checked(client):
    location = make_location(client)
    at = lambda member: [f"low_stock_thresholds.0.{member}"]  # noqa: E731
    for t, code, errors in (({"available_qty": 1}, "validation.failed", at("location_id")), ({"location_id": location["id"]}, "validation.failed", at("available_qty")),
                            ({"location_id": location["id"], "available_qty": 0}, "validation.failed", at("available_qty")),
                            ({"location_id": location["id"], "available_qty": 1.23456}, "item.quantity_precision", at("available_qty")),
                            ({"location_id": "loc_" + "0" * 22, "available_qty": 1}, "validation.failed", at("location_id"))):
        client.refused("POST", ITEMS, 400, code, errors, body={"name": "X", "low_stock_thresholds": [t]})
    t = {"location_id": location["id"], "available_qty": 1}
    client.refused("POST", ITEMS, 400, "validation.failed", ["low_stock_thresholds.1.location_id"], body={"name": "X", "low_stock_thresholds": [t, t]})

