"""Builds, unbuilds and assembly orders: spec 09 sections 12 and 13; 20 items 7 to 12, 15, 17."""
import concurrent.futures
import random
from fractions import Fraction

import pytest

from bills import Bill, bill_path, bom_of, build, change_bom, make_assembly, make_bom, orders, part, plan, refused_build, stocked, unbuild
from stock import ITEMS, available, broken_invariants, change, entry, layout, levels, make_item, movements
from wharf import make_location


def stock_of(client, item, location):
    return sum(Fraction(str(v["available_qty"])) for v in levels(client, item) if v["location_id"] == location["id"])


def picks(order, item):
    line = next(c for c in order["components"] if c["item_id"] == item["id"])
    return [(p["layout_id"], p["lot_number"], p["quantity"]) for p in line["picks"]]


# ---- the published example ----

def test_build_5_and_take_it_apart_in_two_steps(client):
    """Spec 09 section 10 [S]: /build and /unbuild of a bill."""
    here = make_location(client)
    p1, p2, a = stocked(client, here, 100, "P1"), stocked(client, here, 5, "P2"), make_assembly(client, "Kit")
    bom = make_bom(client, a, (p1, 4), (p2, 1))
    o = build(client, a, bom, here, 5)
    assert (stock_of(client, p1, here), stock_of(client, p2, here), stock_of(client, a, here)) == (80, 0, 5)
    refused_build(client, a, bom, here, 1, 409, "bom.insufficient_stock", [p2["id"]])
    unbuild(client, a, bom, here, 3, build_order_id=o["id"])
    assert (stock_of(client, p1, here), stock_of(client, p2, here)) == (92, 3)
    unbuild(client, a, bom, here, 2, build_order_id=o["id"])
    assert (stock_of(client, p1, here), stock_of(client, p2, here), stock_of(client, a, here)) == (100, 5, 0)
    refused_build(client, a, bom, here, 1, 409, "assembly_order.exceeds_built", ["quantity"], "/unbuild", build_order_id=o["id"])
    refused_build(client, a, bom, here, 1, 409, "item.insufficient_stock", [a["id"]], "/unbuild")


# ---- orders ----

def test_an_order_and_its_ledger(client):
    """Spec 09 section 13 [S]: the orders of an item are listed; one of them shows its movements."""
    here = make_location(client)
    shelf = layout(client, here, "Shelf")
    b, c = stocked(client, here, 10, "B"), stocked(client, here, "7.5", "C", base_uom="kg")
    a = make_assembly(client, transactional_units=[{"name": "Dozen", "uom": "dozen"}])
    bom = make_bom(client, a, (b, 2), (c, 0.5))
    assert bom["has_build_history"] is False
    o = build(client, a, bom, here, 3, layout_id=shelf, note="first", metadata={"job": 7})
    assert {k: o[k] for k in ("object", "type", "status", "item_id", "bom_id", "bom_version", "location_id", "quantity", "layout_id", "lot_number", "unbuilt_qty", "reversal", "build_order_id", "parent_order_id", "note", "metadata")} == {
        "object": "assembly_order", "type": "build", "status": "completed", "item_id": a["id"], "bom_id": bom["id"], "bom_version": 1, "location_id": here["id"], "quantity": 3, "layout_id": shelf,
        "lot_number": None, "unbuilt_qty": 0, "reversal": "none", "build_order_id": None, "parent_order_id": None, "note": "first", "metadata": {"job": 7}}
    assert [(x["item_id"], x["required_qty"]) for x in o["components"]] == [(b["id"], 6), (c["id"], 1.5)] and [q for _, _, q in picks(o, b)] == [6]
    assert available(client, a) == {shelf: 3}
    for item, reason, delta in ((b, "build_consume", -6), (c, "build_consume", -1.5), (a, "build_produce", 3)):
        m = movements(client, item)[-1]
        assert (m["reason"], m["delta"], m["group_id"], m["source"], m["note"]) == (reason, delta, o["group_id"], {"type": "assembly_order", "id": o["id"]}, "first")
    got = client.get(f"{ITEMS}/{a['id']}/assembly-orders/{o['id']}").data
    assert sorted((m["item_id"], m["delta"]) for m in got["movements"]) == sorted([(b["id"], -6), (c["id"], -1.5), (a["id"], 3)])
    assert {k: v for k, v in got.items() if k != "movements"} == {k: v for k, v in o.items() if k != "movements"}
    assert bom_of(client, a, bom)["has_build_history"] is True
    dozen = build(client, a, change_bom(client, a, bom, components=[part(c, 0.01)]), here, 1, item_transactional_unit_id=a["transactional_units"][0]["id"])
    assert dozen["quantity"] == 12 and dozen["bom_version"] == 2 and dozen["number"] != o["number"] and available(client, a) == {shelf: 15}
    assert movements(client, a)[-1]["unit"] == {"item_transactional_unit_id": a["transactional_units"][0]["id"], "quantity": 1}
    u = unbuild(client, a, bom, here, 1, build_order_id=o["id"])
    assert (u["type"], u["build_order_id"], u["bom_version"], u["layout_id"], u["reversal"]) == ("unbuild", o["id"], 1, shelf, "none")
    assert u["assembly_picks"] == [{"layout_id": shelf, "lot_id": None, "lot_number": None, "quantity": 1}]
    assert movements(client, a)[-1]["reason"] == "unbuild_consume" and movements(client, b)[-1]["reason"] == "unbuild_return"
    assert [(x["reversal"], x["unbuilt_qty"]) for x in orders(client, a, "&type=build&order_by=quantity&direction=asc")] == [("partial", 1), ("none", 0)]
    unbuild(client, a, bom, here, 2, build_order_id=o["id"])
    for query, want in (("&type=build", 2), ("&type=unbuild", 2), (f"&bom_id={bom['id']}", 4), ("&bom_version=1", 3), (f"&location_id={here['id']}", 4), (f"&build_order_id={o['id']}", 2), ("&reversal=full", 1), ("&reversal=none", 3),
                        (f"&number={o['number']}", 1), ("&created_at=gt:2099-01-01T00:00:00Z", 0)):
        assert len(orders(client, a, query)) == want, query
    versions = client.get(bill_path(a, bom) + "/versions").data
    assert [(v["version"], v["build_count"]) for v in versions] == [(2, 1), (1, 1)]
    assert orders(client, b) == []


@pytest.mark.parametrize("body, status, code, errors", [
    ({"quantity": None}, 400, "validation.failed", ["quantity"]),
    ({"quantity": 0}, 400, "validation.failed", ["quantity"]),
    ({"quantity": -1}, 400, "validation.failed", ["quantity"]),
    ({"quantity": 1.23456}, 400, "item.quantity_precision", ["quantity"]),
    ({"location_id": None}, 400, "validation.failed", ["location_id"]),
    ({"location_id": "loc_nowhere"}, 400, "validation.failed", ["location_id"]),
    ({"expected_version": 2}, 409, "bom.version_conflict", ["expected_version"]),
    ({"item_transactional_unit_id": "itu_none"}, 400, "item.unit_not_found", ["item_transactional_unit_id"]),
    ({"components": [{"item_id": "item_nobody"}]}, 400, "bom.component_not_found", ["components.0.item_id"]),
    ({"components": [{"item_id": "B", "layouts": []}, {"item_id": "B"}]}, 400, "bom.duplicate_component", ["components.1.item_id"]),
    ({"components": [{"item_id": "B", "layouts": [{"quantity": 1}]}]}, 400, "validation.failed", ["components.0.layouts.0.layout_id"]),
    ({"layout_id": "lay_nowhere"}, 400, "validation.failed", ["layout_id"]),
    ({"lot_number": "L"}, 400, "item.lot_not_allowed", ["lot_number"]),
    ({"note": "x" * 501}, 400, "validation.failed", ["note"]),
    ({"lot_expires_at": "2099-01-01T00:00:00Z"}, 400, "validation.failed", ["lot_expires_at"]),
    ({"quantity": 99999999999}, 409, "bom.insufficient_stock", ["B"]),
])
def test_what_is_refused_leaves_no_trace(client, org, body, status, code, errors):
    here = make_location(client)
    b, a = stocked(client, here, 10, "B"), make_assembly(client)
    bom = make_bom(client, a, b)
    sent = {"location_id": here["id"], "quantity": 1, **body}
    if "components" in sent:
        sent["components"] = [{**c, "item_id": b["id"] if c["item_id"] == "B" else c["item_id"]} for c in sent["components"]]
    client.refused("POST", bill_path(a, bom) + "/build", status, code, [b["id"] if e == "B" else e for e in errors], body=sent)
    assert orders(client, a) == [] and stock_of(client, b, here) == 10 and levels(client, a, "&include_zero_inventory=true") == []
    assert bom_of(client, a, bom)["has_build_history"] is False and len(movements(client, b)) == 1
    assert [e[0] for e in org.events(levels(client, b)[0]["id"])] == ["inventory.level_updated", "inventory.adjusted"]  # of its stock at first


def test_rules_of_the_bill(client):
    """Spec 09 sections 10 and 12 [S]: min_build_qty holds for builds and for unbuilds."""
    here = make_location(client)
    b, a = stocked(client, here, 100, "B"), make_assembly(client)
    bom = make_bom(client, a, b, min_build_qty=5)
    refused_build(client, a, bom, here, 4, 400, "bom.min_build_qty", ["quantity"])
    o = build(client, a, bom, here, 10)
    for more in ({}, {"build_order_id": o["id"]}):
        refused_build(client, a, bom, here, 4, 400, "bom.min_build_qty", ["quantity"], "/unbuild", **more)
    change_bom(client, a, bom, status="inactive")
    refused_build(client, a, bom, here, 5, 409, "bom.inactive", [])
    unbuild(client, a, bom, here, 5, build_order_id=o["id"])  # an inactive bill is taken apart
    change_bom(client, a, bom, status="active")
    client.post(f"{ITEMS}/{b['id']}", {"status": "archived"}, expect=200)
    refused_build(client, a, bom, here, 5, 409, "item.archived", [b["id"]])
    unbuild(client, a, bom, here, 5, build_order_id=o["id"])  # and its parts go back, archived or not
    assert stock_of(client, b, here) == 100


def test_delete_with_history_stops_the_bill(client):
    """20 item 7; spec 09 section 10 [S]: a bill that was built becomes inactive, and the message says so."""
    here = make_location(client)
    b, a = stocked(client, here, 10, "B"), make_assembly(client)
    bom, other = make_bom(client, a, b), make_bom(client, a, b)
    o = build(client, a, bom, here, 2)
    answer = client.delete(bill_path(a, bom))
    assert answer.data["status"] == "inactive" and answer.data["deactivated_reason"] == "deleted" and "deactivated" in answer.message
    assert bom_of(client, a, bom)["status"] == "inactive" and bom_of(client, a, other)["is_default"] is True
    refused_build(client, a, bom, here, 1, 409, "bom.inactive", [])
    unbuild(client, a, bom, here, 2, build_order_id=o["id"])
    assert client.delete(bill_path(a, bom)).data["id"] == bom["id"] and stock_of(client, b, here) == 10


def test_old_orders_show_their_version(client):
    here = make_location(client)
    b, c, a = stocked(client, here, 10, "B"), stocked(client, here, 10, "C"), make_assembly(client)
    bom = make_bom(client, a, (b, 2))
    old = build(client, a, bom, here, 1)
    change_bom(client, a, bom, components=[part(c, 3)])
    assert build(client, a, bom, here, 1)["bom_version"] == 2
    unbuild(client, a, bom, here, 1, build_order_id=old["id"])
    assert (stock_of(client, b, here), stock_of(client, c, here)) == (10, 7)
    u = unbuild(client, a, bom, here, 1, version=1)  # not linked: by the version that is named
    assert u["bom_version"] == 1 and stock_of(client, b, here) == 12 and u["build_order_id"] is None
    refused_build(client, a, bom, here, 1, 404, "not_found", None, "/unbuild", version=3)
    refused_build(client, a, bom, here, 1, 400, "validation.failed", ["version"], "/unbuild", version=2, build_order_id=old["id"])


# ---- assets and units ----

def test_asset_items_are_not_divided(client):
    """Spec 09 section 6 [S]: builds of asset items are whole."""
    here = make_location(client)
    sheet, a = stocked(client, here, 5, "Sheet", is_asset=True), make_assembly(client)
    bom = make_bom(client, a, sheet, output_qty=8)
    refused_build(client, a, bom, here, 4, 400, "bom.fractional_component", [sheet["id"]])
    o = build(client, a, bom, here, 16)
    assert stock_of(client, sheet, here) == 3
    refused_build(client, a, bom, here, 4, 400, "bom.fractional_component", [sheet["id"]], "/unbuild", build_order_id=o["id"])
    unbuild(client, a, bom, here, 8, build_order_id=o["id"])
    machine, screw = make_assembly(client, "Machine", is_asset=True), stocked(client, here, 9, "Screw")
    refused_build(client, machine, make_bom(client, machine, (screw, 0.5)), here, 1.5, 400, "item.fractional_quantity", ["quantity"])
    half, h = stocked(client, here, "1.5", "Half"), make_assembly(client, "Counted")
    assert build(client, h, make_bom(client, h, half), here, 1.5)["quantity"] == 1.5  # counted, and built in fractions on request


# ---- layouts and lots (20 item 8) ----

def test_stock_on_several_layouts(client):
    """Spec 09 section 12 [S]: several layouts of a component may be named; without, one with stock is taken, else several are."""
    here = make_location(client)
    shelves = [layout(client, here, n) for n in "ABC"]
    b, a = make_item(client, "B", levels=[entry(here, layout_id=s, available_qty=q) for s, q in zip(shelves, (4, 9, 2))]), make_assembly(client)
    bom = make_bom(client, a, (b, 2))
    o = build(client, a, bom, here, 4, dry_run=True, expect=200)
    assert picks(o, b) == [(shelves[1], None, 8)]  # the smallest that is enough
    o = build(client, a, bom, here, 1, dry_run=True, expect=200)
    assert picks(o, b) == [(shelves[2], None, 2)]
    o = build(client, a, bom, here, 7, dry_run=True, expect=200)
    assert picks(o, b) == [(shelves[1], None, 9), (shelves[0], None, 4), (shelves[2], None, 1)]  # else the largest, and so on
    refused_build(client, a, bom, here, 1, 400, "bom.layout_required", sorted(shelves), auto_select_layouts=False)
    refused_build(client, a, bom, here, 3, 400, "bom.layout_quantity_mismatch", [b["id"]], components=[{"item_id": b["id"], "layouts": [{"layout_id": shelves[0], "quantity": 4}, {"layout_id": shelves[1], "quantity": 1}]}])
    refused_build(client, a, bom, here, 3, 400, "validation.failed", ["components.0.layouts"], components=[{"item_id": b["id"], "layouts": [{"layout_id": shelves[0], "quantity": 4}, {"layout_id": shelves[1]}]}])
    refused_build(client, a, bom, here, 3, 409, "bom.insufficient_stock", [b["id"]], components=[{"item_id": b["id"], "layouts": [{"layout_id": shelves[0], "quantity": 5}, {"layout_id": shelves[1], "quantity": 1}]}])
    o = build(client, a, bom, here, 3, components=[{"item_id": b["id"], "layouts": [{"layout_id": shelves[0], "quantity": 4}, {"layout_id": shelves[1], "quantity": "2"}]}])
    assert picks(o, b) == [(shelves[0], None, 4), (shelves[1], None, 2)] and available(client, b) == {shelves[1]: 7, shelves[2]: 2}
    o = build(client, a, bom, here, 4, components=[{"item_id": b["id"], "layouts": [{"layout_id": shelves[2]}, {"layout_id": shelves[1]}]}])
    assert picks(o, b) == [(shelves[2], None, 2), (shelves[1], None, 6)]
    assert build(client, a, bom, here, 0.5, auto_select_layouts=False)["components"][0]["picks"][0]["layout_id"] == shelves[1]


def test_among_equal_levels_the_layout_decides(client):
    """Spec 09 section 12 [S]: without picks one layout with stock is taken, of several those that the order names."""
    here = make_location(client)
    x, y = sorted(layout(client, here, n) for n in "XY")
    b, a = make_item(client, "B", levels=[entry(here, layout_id=k, available_qty=5) for k in (y, x)]), make_assembly(client)
    bom = make_bom(client, a, b)
    assert picks(build(client, a, bom, here, 3, dry_run=True, expect=200), b) == [(x, None, 3)]
    assert picks(build(client, a, bom, here, 7, dry_run=True, expect=200), b) == [(x, None, 5), (y, None, 2)]
    change(client, b, entry(here, layout_id=x, available_qty=[0], damaged_qty=5))
    assert picks(build(client, a, bom, here, 3, auto_select_layouts=False), b) == [(y, None, 3)]  # the one with available stock


def test_lots_that_do_not_expire_are_taken_by_their_age(client):
    here = make_location(client)
    b, a = make_item(client, "B", lot_tracking="required"), make_assembly(client)
    for lot, quantity in (("first", 1), ("second", 9), ("third", 5)):
        change(client, b, entry(here, lot_number=lot, available_qty=quantity))
    o = build(client, a, make_bom(client, a, b), here, 12)
    assert [(lot, q) for _, lot, q in picks(o, b)] == [("first", 1), ("second", 9), ("third", 2)]


def test_where_what_is_made_goes(client):
    """To the layout that is named, else to the only one that has it, else to the default one; the same for parts that go back."""
    here = make_location(client)
    x, y = layout(client, here, "X"), layout(client, here, "Y")
    default = here["default_layout_id"]
    b, a = stocked(client, here, 100, "B"), make_assembly(client)
    bom = make_bom(client, a, b)
    assert build(client, a, bom, here, 1)["layout_id"] == default  # nowhere yet
    assert build(client, a, bom, here, 1, layout_id=x)["layout_id"] == x
    change(client, a, entry(here, layout_id=None, available_qty=-1))
    assert build(client, a, bom, here, 1)["layout_id"] == x  # the only one
    build(client, a, bom, here, 1, layout_id=y)
    assert build(client, a, bom, here, 1)["layout_id"] == default  # two have it
    change(client, b, entry(here, layout_id=None, available_qty=[0]), entry(here, layout_id=y, available_qty=5))
    assert picks(unbuild(client, a, bom, here, 1), b) == [(y, None, 1)]  # the only one
    change(client, b, entry(here, layout_id=x, available_qty=1))
    assert picks(unbuild(client, a, bom, here, 1), b) == [(default, None, 1)]  # two have it
    named = [{"item_id": b["id"], "layouts": [{"layout_id": x}, {"layout_id": y}]}]
    assert picks(unbuild(client, a, bom, here, 1, components=named), b) == [(x, None, 1)]  # without quantities all of it to the first


def test_every_short_component_is_told(client):
    here = make_location(client)
    parts = [stocked(client, here, q, f"S{q}") for q in (1, 10, 2)]
    a = make_assembly(client)
    bom = make_bom(client, a, *((p, 1) for p in parts))
    refused_build(client, a, bom, here, 3, 409, "bom.insufficient_stock", [parts[0]["id"], parts[2]["id"]])
    answer = client.request("POST", bill_path(a, bom) + "/build", {"location_id": here["id"], "quantity": 3}, headers={"Accept": "application/problem+json"}, check=False)
    assert [(v["path"], v["message"]) for v in answer.raw.json()["violations"]] == [
        (parts[0]["id"], "3 are needed, and 1 are available: 2 are missing"), (parts[2]["id"], "3 are needed, and 2 are available: 1 are missing")]
    assert [stock_of(client, p, here) for p in parts] == [1, 10, 2]
    o = build(client, a, bom, here, 3, dry_run=True, expect=200)
    assert o["id"] is None and o["number"] is None and o["can_build"] is False and o["object"] == "assembly_order"
    assert o["shortages"] == [{"item_id": parts[0]["id"], "required": 3, "available": 1, "shortage": 2}, {"item_id": parts[2]["id"], "required": 3, "available": 2, "shortage": 1}]
    o = build(client, a, bom, here, 1, dry_run=True, expect=200)
    assert o["can_build"] is True and o["shortages"] == [] and o["layout_id"] and orders(client, a) == [] and stock_of(client, parts[0], here) == 1


def test_lots_are_taken_in_the_order_in_which_they_expire(client):
    here = make_location(client)
    b = make_item(client, "B", lot_tracking="required", levels=[entry(here, lot_number=n, available_qty=5) for n in ("none", "late", "soon", "gone")])
    lots = {v["lot_number"]: v["id"] for v in client.get(f"{ITEMS}/{b['id']}/lots").data}
    for name, when in (("late", "2199-01-01T00:00:00Z"), ("soon", "2099-01-01T00:00:00Z"), ("gone", "2020-01-01T00:00:00Z")):
        client.post(f"{ITEMS}/{b['id']}/lots/{lots[name]}", {"expires_at": when}, expect=200)
    place = levels(client, b)[0]["layout_id"]
    a = make_assembly(client, lot_tracking="required")
    bom = make_bom(client, a, b)
    refused_build(client, a, bom, here, 1, 400, "item.lot_required", ["layout_id"])
    o = build(client, a, bom, here, 7, lot_number="OUT-1", lot_expires_at="2098-01-01T00:00:00Z")
    assert picks(o, b) == [(place, "soon", 5), (place, "late", 2)] and o["lot_number"] == "OUT-1"
    made = client.get(f"{ITEMS}/{a['id']}/lots").data
    assert [(v["lot_number"], v["expires_at"]) for v in made] == [("OUT-1", "2098-01-01T00:00:00.000Z")]
    refused_build(client, a, bom, here, 1, 400, "validation.failed", ["lot_expires_at"], lot_number="OUT-1", lot_expires_at="2097-01-01T00:00:00Z")
    named = [{"item_id": b["id"], "layouts": [{"layout_id": place, "lot_number": "gone"}]}]
    refused_build(client, a, bom, here, 1, 409, "lot.expired", [lots["gone"]], lot_number="OUT-2", components=named)
    assert picks(build(client, a, bom, here, 1, lot_number="OUT-2", components=named, allow_expired=True), b) == [(place, "gone", 1)]
    refused_build(client, a, bom, here, 9, 409, "bom.insufficient_stock", [b["id"]], lot_number="OUT-3")
    u = unbuild(client, a, bom, here, 3, build_order_id=o["id"])
    assert sorted(picks(u, b)) == [(place, "late", 2), (place, "soon", 1)] and u["lot_number"] == "OUT-1"
    refused_build(client, a, bom, here, 1, 400, "item.lot_required", ["components"], "/unbuild")
    u = unbuild(client, a, bom, here, 1, components=[{"item_id": b["id"], "layouts": [{"layout_id": place, "lot_number": "soon"}]}], lot_number="OUT-2")
    assert picks(u, b) == [(place, "soon", 1)] and u["lot_number"] == "OUT-2"


def test_parts_go_back_where_they_came_from(client):
    here, there = make_location(client), make_location(client)
    x, y = layout(client, here, "X"), layout(client, here, "Y")
    b, a = make_item(client, "B", levels=[entry(here, layout_id=x, available_qty=6), entry(here, layout_id=y, available_qty=4)]), make_assembly(client)
    bom = make_bom(client, a, b)
    o = build(client, a, bom, here, 10)
    assert picks(o, b) == [(x, None, 6), (y, None, 4)]
    assert picks(unbuild(client, a, bom, here, 5, build_order_id=o["id"]), b) == [(x, None, 1), (y, None, 4)]  # the last one first
    client.delete(f"/v1/locations/{here['id']}/layouts/{x}")
    u = unbuild(client, a, bom, here, 2, build_order_id=o["id"])
    assert [q for _, _, q in picks(u, b)] == [2] and picks(u, b)[0][0] not in (x, y)  # the default one
    u = unbuild(client, a, bom, here, 1, build_order_id=o["id"], components=[{"item_id": b["id"], "layouts": [{"layout_id": y}]}])
    assert picks(u, b) == [(y, None, 1)]
    refused_build(client, a, bom, there, 1, 400, "validation.failed", ["location_id"], "/unbuild", build_order_id=o["id"])
    change(client, a, entry(here, available_qty=-2), entry(there, available_qty=2))
    unbuild(client, a, bom, there, 2, build_order_id=o["id"], allow_other_location=True)
    assert stock_of(client, b, there) == 2 and orders(client, a, "&reversal=full")[0]["id"] == o["id"]
    refused_build(client, a, bom, here, 1, 400, "validation.failed", ["build_order_id"], "/unbuild", build_order_id="asm_nobody")
    refused_build(client, a, bom, here, 1, 400, "validation.failed", ["build_order_id"], "/unbuild", build_order_id=u["id"])


def test_half_of_the_last_digit_goes_back_at_first(client):
    here = make_location(client)
    dust, a = stocked(client, here, "0.0003", "Dust", base_uom="kg"), make_assembly(client)
    bom = make_bom(client, a, (dust, 0.0003), output_qty=2)
    o = build(client, a, bom, here, 2)
    assert stock_of(client, dust, here) == 0
    assert [unbuild(client, a, bom, here, 1, build_order_id=o["id"])["components"][0]["required_qty"] for _ in range(2)] == [0.0002, 0.0001]


def test_where_an_assembly_is_taken_from(client):
    here = make_location(client)
    x, y = layout(client, here, "X"), layout(client, here, "Y")
    b, a = stocked(client, here, 0, "B"), make_assembly(client, levels=[entry(here, layout_id=x, available_qty=3), entry(here, layout_id=y, available_qty=5)])
    bom = make_bom(client, a, b)
    assert unbuild(client, a, bom, here, 2, layout_id=x)["layout_id"] == x
    refused_build(client, a, bom, here, 2, 409, "item.insufficient_stock", [a["id"]], "/unbuild", layout_id=x)
    o = unbuild(client, a, bom, here, 3, assembly_layouts=[{"layout_id": x}, {"layout_id": y}])
    assert o["layout_id"] is None and [(p["layout_id"], p["quantity"]) for p in o["assembly_picks"]] == [(x, 1), (y, 2)]
    refused_build(client, a, bom, here, 3, 400, "bom.layout_quantity_mismatch", [a["id"]], "/unbuild", assembly_layouts=[{"layout_id": y, "quantity": 2}])
    o = unbuild(client, a, bom, here, 3, dry_run=True, expect=200)
    assert o["can_build"] is True and o["layout_id"] == y and stock_of(client, a, here) == 3 and stock_of(client, b, here) == 5
    assert unbuild(client, a, bom, here, 9, dry_run=True, expect=200)["shortages"] == [{"item_id": a["id"], "required": 9, "available": 3, "shortage": 6}]


# ---- parts that are built first ----

def test_missing_parts_are_built_first(client, org):
    here = make_location(client)
    shelf = layout(client, here, "Shelf")
    s, b = stocked(client, here, 10, "S"), make_assembly(client, "B", levels=[entry(here, layout_id=shelf, available_qty=1)])
    a = make_assembly(client, "A")
    sub = make_bom(client, b, (s, 3))
    bom = make_bom(client, a, (b, 2), (s, 1))
    refused_build(client, a, bom, here, 1, 409, "bom.insufficient_stock", [b["id"]])
    refused_build(client, a, bom, here, 2, 409, "bom.insufficient_stock", [s["id"]], build_subassemblies=True)
    o = build(client, a, bom, here, 1, build_subassemblies=True)
    child = orders(client, b)[0]
    assert (child["parent_order_id"], child["quantity"], child["bom_id"], child["layout_id"], o["parent_order_id"]) == (o["id"], 1, sub["id"], shelf, None)
    assert (stock_of(client, s, here), stock_of(client, b, here), stock_of(client, a, here)) == (6, 0, 1) and picks(o, b) == [(shelf, None, 2)]
    assert int(child["number"][4:]) < int(o["number"][4:]) and child["group_id"] != o["group_id"]
    assert bom_of(client, b, sub)["has_build_history"] is True and orders(client, b, f"&parent_order_id={o['id']}") == [child]
    assert [e[0] for e in org.events(o["id"])] == ["assembly_order.built"] and [e[0] for e in org.events(child["id"])] == ["assembly_order.built"]
    dry = build(client, a, bom, here, 2, build_subassemblies=True, dry_run=True, expect=200)
    assert dry["can_build"] is False and dry["shortages"] == [{"item_id": s["id"], "required": 14, "available": 6, "shortage": 8}]


def test_events_of_a_build_in_their_order(fresh):
    """The levels of each order by their ids, each level once; then the orders, children before parents."""
    client = fresh.client()
    here = make_location(client)
    a = make_assembly(client, "A", levels=[entry(here, available_qty=1)])
    t = stocked(client, here, 50, "T")
    b = make_assembly(client, "B", levels=[entry(here, available_qty=1)])
    s = stocked(client, here, 50, "S")
    make_bom(client, b, s, t)
    bom = make_bom(client, a, (b, 2), t)
    wanted = "type, resource_id", "(type LIKE 'inventory.%%' OR type LIKE 'assembly_order.%%')"
    before = len(fresh.told(*wanted))
    o = build(client, a, bom, here, 1, build_subassemblies=True)
    child, = orders(client, b)
    of = {i["id"]: levels(client, i, "&include_zero_inventory=true")[0]["id"] for i in (a, t, b, s)}
    assert fresh.told(*wanted)[before:] == [("inventory.level_updated", of[i["id"]]) for i in (t, b, s, a)] + [("assembly_order.built", child["id"]), ("assembly_order.built", o["id"])]
    assert [of[i["id"]] for i in (a, t, b, s)] == sorted(of.values())  # they were made one after the other


def test_orders_are_not_changed(client):
    """Spec 09 section 13 [S]: an order is shown; nothing but unbuilds changes it."""
    here = make_location(client)
    b, a = stocked(client, here, 5, "B"), make_assembly(client)
    o = build(client, a, make_bom(client, a, b), here, 2)
    path = f"{ITEMS}/{a['id']}/assembly-orders"
    for method, at in (("POST", f"{path}/{o['id']}"), ("DELETE", f"{path}/{o['id']}"), ("POST", path)):
        client.refused(method, at, 405, "method.not_allowed", body={"note": "other"} if method == "POST" else None)
    assert client.get(f"{path}/{o['id']}").data["note"] is None
    client.get(f"{ITEMS}/{b['id']}/assembly-orders/{o['id']}", expect=404)


def test_a_minimum_below_leaves_a_surplus(client):
    here = make_location(client)
    s, b, a = stocked(client, here, 100, "S"), make_assembly(client, "B"), make_assembly(client, "A")
    make_bom(client, b, s, min_build_qty=10)
    bom = make_bom(client, a, (b, 3))
    build(client, a, bom, here, 1, build_subassemblies=True)
    assert (stock_of(client, b, here), stock_of(client, s, here)) == (7, 90)
    build(client, a, bom, here, 2, build_subassemblies=True)
    assert (stock_of(client, b, here), stock_of(client, s, here)) == (1, 90)
    named = [{"item_id": b["id"], "layouts": [{"layout_id": levels(client, b)[0]["layout_id"]}]}]
    refused_build(client, a, bom, here, 1, 409, "bom.insufficient_stock", [b["id"]], build_subassemblies=True, components=named)  # what is named is not built


# ---- access, retries ----

def test_locations_that_a_key_does_not_reach(client, org):
    """20 item 15."""
    here, there = make_location(client), make_location(client)
    b, a = make_item(client, "B", levels=[entry(here, available_qty=5), entry(there, available_qty=5)]), make_assembly(client)
    bom = make_bom(client, a, b)
    mine, theirs = build(client, a, bom, here, 1), build(client, a, bom, there, 1)
    narrow = org.client("items:write", locations=[here["id"]])
    refused_build(narrow, a, bom, there, 1, 403, "location_access")
    refused_build(narrow, a, bom, there, 1, 403, "location_access", None, "/unbuild")
    refused_build(narrow, a, bom, here, 1, 403, "location_access", None, "/unbuild", build_order_id=theirs["id"], allow_other_location=True)
    assert [o["id"] for o in orders(narrow, a)] == [mine["id"]]
    narrow.refused("GET", f"{ITEMS}/{a['id']}/assembly-orders/{theirs['id']}", 403, "location_access")
    reader = org.client("items:read")
    refused_build(reader, a, bom, here, 1, 403, "scope_access")


def test_a_repeated_key_builds_once(client):
    """20 item 17."""
    here = make_location(client)
    b, a = stocked(client, here, 10, "B"), make_assembly(client)
    bom = make_bom(client, a, b)
    body, head = {"location_id": here["id"], "quantity": 2}, {"Idempotency-Key": "build-once"}
    answers = [client.request("POST", bill_path(a, bom) + "/build", body, expect=201, headers=head).data for _ in range(3)]
    assert len({o["id"] for o in answers}) == 1 and stock_of(client, b, here) == 8 and len(orders(client, a)) == 1


def test_parallel_builds_share_what_is_there(client, server, org):
    here = make_location(client)
    b, a = stocked(client, here, 50, "B"), make_assembly(client)
    bom = make_bom(client, a, (b, 2))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: client.request("POST", bill_path(a, bom) + "/build", {"location_id": here["id"], "quantity": 1}).status, range(40)))
    assert sorted(answers) == [201] * 25 + [409] * 15 and stock_of(client, b, here) == 0 and stock_of(client, a, here) == 25
    assert len({o["number"] for o in orders(client, a)}) == 25 and not broken_invariants(server, org.id)


# ---- against the model (20 items 9, 10, 11) ----

@pytest.mark.parametrize("seed", range(10))
def test_the_most_that_can_be_built_is_what_a_build_accepts(client, server, org, seed):
    r = random.Random(1000 + seed)
    here = make_location(client)
    items, parts, stock, assets = [], {}, {}, set()
    for i in range(r.randint(1, 4)):
        asset = r.random() < 0.2
        have = r.randint(1, 60) if asset or r.random() < 0.5 else Fraction(r.randint(1, 600000), 10000)
        item = stocked(client, here, float(have), f"M{i}", is_asset=asset, base_uom="each" if asset else r.choice(["each", "kg"]),
                       transactional_units=[{"name": "Box", "uom": "box", "conversion_factor": 3 if asset else r.choice([12, 0.5, 0.3333333333])}])
        unit = item["transactional_units"][0] if r.random() < 0.5 else None
        q = r.randint(1, 5) if asset or r.random() < 0.5 else Fraction(r.randint(1, 40000), 10000)
        parts[item["id"]] = (q, unit["conversion_factor"] if unit else 1)
        stock[item["id"]] = have
        assets |= {item["id"]} if asset else set()
        items.append(part(item, float(q), **({"item_transactional_unit_id": unit["id"]} if unit else {})))
    uom = r.choice(["each", "kg"])
    a = make_assembly(client, base_uom=uom)
    output = r.choice([1, 1, 2, 8]) if uom == "each" else r.choice([1, 2.5, 0.75])
    bill = Bill(parts, output, 0, uom == "each", assets)
    bom = make_bom(client, a, *items, output_qty=output)
    most = bom_of(client, a, bom, f"?location_id={here['id']}")["max_buildable_qty"]
    assert Fraction(str(most)) == bill.most(stock)
    more = float(Fraction(str(most)) + bill.step)
    refused_build(client, a, bom, here, more, 409, "bom.insufficient_stock")
    if not most:
        return
    o = build(client, a, bom, here, most)
    for item, have in stock.items():
        assert stock_of(client, {"id": item}, here) == Fraction(have) - bill.need(item, Fraction(str(most)))
    # 20 item 11: back in random splits, exactly to the start
    left = Fraction(str(most))
    while left:
        q = left if left <= bill.step or r.random() < 0.2 else min(left, max(bill.step, left * r.randint(1, 9) // 10 // bill.step * bill.step))
        unbuild(client, a, bom, here, float(q), build_order_id=o["id"])
        left -= q
    for item, have in stock.items():
        assert stock_of(client, {"id": item}, here) == have
    assert stock_of(client, a, here) == 0 and not broken_invariants(server, org.id)


@pytest.mark.parametrize("seed", range(6))
def test_multi_level_builds_against_the_model(client, server, org, seed):
    """The answer of max_buildable_qty_multi_level is built, one step more is refused (20 item 10)."""
    r = random.Random(77 + seed)
    here = make_location(client)
    items = [make_assembly(client, f"G{i}") for i in range(6)]
    stock = {i["id"]: r.choice([0, 0, 3, 7]) for i in items[3:]} | {i["id"]: r.randint(0, 60) for i in items[:3]}
    for item in items:
        if stock[item["id"]]:
            change(client, item, entry(here, available_qty=stock[item["id"]]))
    bills, boms = {}, {}
    for i in range(2, 6):
        parts = {below["id"]: (r.randint(1, 3), 1) for below in r.sample(items[:i], min(i, r.randint(1, 3)))}
        output, minimum = r.choice([1, 1, 2, 4]), r.choice([None, None, 3])
        bills[items[i]["id"]] = Bill(parts, output, minimum or 0)
        boms[items[i]["id"]] = make_bom(client, items[i], *(part(k, q) for k, (q, _) in parts.items()), output_qty=output, min_build_qty=minimum if i < 5 else None)
    top = items[5]
    bills[top["id"]].minimum = Fraction(0)
    most = bom_of(client, top, boms[top["id"]], f"?location_id={here['id']}&include_subassemblies=true")["max_buildable_qty_multi_level"]
    refused_build(client, top, boms[top["id"]], here, most + 1, 409, "bom.insufficient_stock", build_subassemblies=True)
    if not most:
        return
    built = plan(bills, bills[top["id"]], Fraction(most), stock)
    build(client, top, boms[top["id"]], here, most, build_subassemblies=True)
    for item in items[:5]:
        used = sum(bills[above].need(item["id"], q) for above, q in {**built, top["id"]: Fraction(most)}.items() if item["id"] in bills[above].parts)
        assert stock_of(client, item, here) == stock[item["id"]] + built.get(item["id"], 0) - used, item["name"]
    assert stock_of(client, top, here) == stock[top["id"]] + most and not broken_invariants(server, org.id)
