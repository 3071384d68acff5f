"""Items in batches: spec 09 section 18."""
import base64
import json

import pytest

from stock import ITEMS, available, broken_invariants, change, entry, make_item, movements
from wharf import make_location, until

BATCHES = "/v1/batches"


def batch(client, data, action="merge", **more):
    b = client.post(BATCHES, {"resource": "item", "action": action, "data": data, **more}).data
    return until(lambda: (d := client.get(f"{BATCHES}/{b['id']}").data)["status"] in ("completed", "completed_with_errors", "failed", "canceled") and d)


def items_of(client, b, state):
    return client.get(f"{BATCHES}/{b['id']}/items?state={state}&limit=1000").data


@pytest.fixture(scope="module")
def place(client):
    return make_location(client)


def test_merge_by_sku_with_deltas_and_sets(client, place):
    old = make_item(client, sku="B-1", levels=[entry(place, available_qty=5)])
    b = batch(client, [{"sku": "b-1", "name": "Renamed", "levels": [entry(place, available_qty=2)]}, {"sku": "B-2", "name": "New", "levels": [entry(place, available_qty=[7])]}], match_by="sku")
    assert b["status"] == "completed", (b, items_of(client, b, "error"))
    new, = client.get(ITEMS + "?sku=B-2").data
    assert client.get(f"{ITEMS}/{old['id']}").data["name"] == "Renamed"
    assert list(available(client, old).values()) == [7] and list(available(client, new).values()) == [7]
    for item in (old, new):
        m = movements(client, item)[-1]
        assert m["reason"] == "import" and m["batch_id"] == b["id"]
    change(client, old, entry(place, available_qty=1))
    assert movements(client, old)[-1]["batch_id"] is None


def test_merge_by_external_id(client, place):
    old = make_item(client, external_id="EXT-B1", levels=[entry(place, available_qty=5)])
    b = batch(client, [{"external_id": "EXT-B1", "color": "red", "levels": [entry(place, available_qty=[1.5])]}, {"external_id": "EXT-B2", "name": "New"}], match_by="external_id")
    assert b["status"] == "completed", items_of(client, b, "error")
    d = client.get(f"{ITEMS}/{old['id']}").data
    assert (d["name"], d["color"], d["totals"]["available_qty"]) == (old["name"], "red", 1.5) and client.get(ITEMS + "?external_id=EXT-B2").data[0]["name"] == "New"


def test_overwrite_leaves_levels_alone(client, place):
    item = make_item(client, "Old", color="red", sku="B-3", base_uom="kg", transactional_units=[{"name": "Gram", "uom": "g"}], levels=[entry(place, available_qty=5)],
                     low_stock_thresholds=[{"location_id": place["id"], "available_qty": 1}])
    b = batch(client, [{"id": item["id"], "name": "Whole"}], action="overwrite")
    assert b["status"] == "completed", items_of(client, b, "error")
    d = client.get(f"{ITEMS}/{item['id']}").data
    assert d["name"] == "Whole" and d["color"] is None and d["sku"] is None and d["totals"]["available_qty"] == 5
    assert d["base_uom"] == "kg" and d["transactional_units"][0]["active"] and len(d["low_stock_thresholds"]) == 1


def test_delete_keeps_its_rules(client, place):
    full, empty = make_item(client, levels=[entry(place, available_qty=5)]), make_item(client)
    b = batch(client, [{"id": full["id"]}, {"id": empty["id"]}], action="delete")
    bad, = items_of(client, b, "error")
    assert bad["code"] == "item.has_stock", bad
    client.get(f"{ITEMS}/{full['id']}")
    client.get(f"{ITEMS}/{empty['id']}", expect=404)


def test_rows_of_a_file_are_levels(client, place):
    a = make_item(client, sku="B-4", levels=[entry(place, available_qty=5)])
    c = make_item(client, sku="B-5", lot_tracking="required")
    rows = f"sku,name,location_id,available_qty,lot_number\nB-4,Four,{place['id']},[30],\nB-5,Five,{place['id']},2.5,L9\nB-6,Six,{place['id']},-1,\n"
    b = client.post(BATCHES, {"resource": "item", "action": "merge", "match_by": "sku", "data": "data:text/csv;base64," + base64.b64encode(rows.encode()).decode()}).data
    b = until(lambda: (d := client.get(f"{BATCHES}/{b['id']}").data)["status"] in ("completed", "completed_with_errors", "failed", "canceled") and d)
    assert list(available(client, a).values()) == [30], (b, json.dumps(items_of(client, b, "error")))
    assert list(available(client, c).values()) == [2.5] and movements(client, c)[0]["lot_number"] == "L9"
    bad, = items_of(client, b, "error")
    assert bad["code"] == "item.insufficient_stock", bad
    assert client.get(ITEMS + "?sku=B-6").data == []


def test_a_large_batch_keeps_the_ledger(client, org, server, place):
    data = [{"sku": f"BIG-{i}", "name": f"Big {i}", "levels": [entry(place, available_qty=i % 7, damaged_qty="0.5")]} for i in range(300)]
    b = batch(client, data, match_by="sku", mode="async")
    assert b["status"] == "completed", items_of(client, b, "error")[:2]
    assert len(client.get(f"{ITEMS}?search=BIG&location_id={place['id']}&limit=1000").data) == 100  # a page of a search
    assert broken_invariants(server, org.id) == []
