"""Pick lists, picks and packs: spec 03 sections 6.5 to 6.7."""
import uuid

import pytest

from orders import ITEMS, ORDERS, amounts, broken, change, entry, get, levels, make_item, movements, order, pack, pick, pick_list, place, post, refused, stocked
from wharf import make_location


@pytest.fixture
def org(fresh):
    return fresh


@pytest.fixture
def client(org):
    return org.client()


@pytest.fixture
def here(client):
    return make_location(client)


def lots(client, item, here, **numbers):
    for number, (quantity, expires) in numbers.items():
        change(client, item, entry(here, available_qty=quantity, lot_number=number))
    for v in client.get(f"{ITEMS}/{item['id']}/lots").data:
        client.post(f"{ITEMS}/{item['id']}/lots/{v['id']}", {"expires_at": numbers[v["lot_number"]][1]}, expect=200)


def place_of(rows):
    return [(r["layout_id"], r["quantity"], r["picked_qty"], r["remaining_qty"]) for r in rows]


# ---- pick list ----

def test_the_order_in_which_one_walks(client):
    """Depth-first by position, then name; several picks of one line."""
    here = make_location(client)

    def lay(name, position, parent=None):
        return client.post(f"/v1/locations/{here['id']}/layouts", {"name": name, "position": position, **({"path": parent} if parent else {})}, expect=201).data["id"]

    b, a = lay("B", 2), lay("A", 1)
    b1, a2, a1 = lay("B1", 1, b), lay("A2", 2, a), lay("A1", 1, a)
    item = make_item(client, sku="W", levels=[entry(here, layout_id=x, available_qty=q) for x, q in ((b, 1), (b1, 2), (a, 4), (a1, 8), (a2, 16))])
    row = order(client, here, (item, 30))
    rows = pick_list(client, row)
    assert place_of(rows) == [(a, 4, 0, 4), (a1, 8, 0, 8), (a2, 16, 0, 16), (b, 1, 0, 1), (b1, 1, 0, 1)]
    assert rows[1]["layout_name"] == "A / A1" and rows[0]["sku"] == "W" and rows[0]["base_uom"] == "each"
    pick(client, row, item_id=item["id"], quantity=6)
    assert place_of(pick_list(client, row, "?remaining=true"))[0] == (a1, 8, 2, 6) and len(pick_list(client, row)) == 5


# ---- picks ----

def test_one_scan_after_the_other(client, org, server, here):
    item = make_item(client, "Pen", sku="Pen-1", gtin="4006381333931", transactional_units=[{"name": "Box", "uom": "box", "conversion_factor": 12, "barcode": "BOX-12"}], levels=[entry(here, available_qty=40)])
    row = order(client, here, (item, 30))
    for code, quantity, picked in (("PEN-1", None, 1), ("04006381333931", 2, 3), ("box-12", None, 15), ("BOX-12", 1.25, 30)):
        a = pick(client, row, code=code, **({} if quantity is None else {"quantity": quantity}))
        assert a["object"] == "fulfillment_scan" and a["articles"][0]["picked_qty"] == picked and a["status"] == "processing"
    assert a["next"]["action"] == "set_picked" and amounts(get(client, row), "picked", "reserved") == [(30, 30)]
    assert stocked(client, item) == (10, 30) and broken(server, org.id) == []
    assert [e[0] for e in org.events(row["id"])] == ["fulfillment.created"] + 4 * ["fulfillment.updated"]


def test_nothing_else_is_taken_instead(client, here):
    """Substitution is refused."""
    item, other = make_item(client, sku="ASKED", levels=[entry(here, available_qty=4)]), make_item(client, sku="OTHER", levels=[entry(here, available_qty=4)])
    row = order(client, here, (item, 2))
    for path in ("/picks", "/packs"):
        for body, at in (({"code": "OTHER"}, "code"), ({"item_id": other["id"]}, "item_id"), ({"article_id": "art_0000000000000000000000"}, "article_id"), ({"code": "nothing"}, "code")):
            refused(client, row, 409, "fulfillment.not_ordered", [at], path, **body)
        refused(client, row, 400, "validation.failed", ["code"], path, quantity=1)
    assert amounts(get(client, row), "picked") == [(0,)] and get(client, row)["status"] == "created"


def test_not_more_than_asked_for(client, here):
    item = make_item(client, sku="M", levels=[entry(here, available_qty=2)])
    row = order(client, here, (item, 3))
    refused(client, row, 409, "fulfillment.over_picked", ["quantity"], "/picks", code="M", quantity=4)
    refused(client, row, 409, "item.insufficient_stock", ["quantity"], "/picks", code="M", quantity=3)
    assert pick(client, row, code="M", quantity=2)["next"]["action"] == "wait"
    refused(client, row, 409, "fulfillment.over_picked", ["quantity"], "/picks", code="M", quantity=-3)
    pick(client, row, code="M", quantity=-1)
    assert amounts(get(client, row), "picked", "reserved") == [(1, 2)]
    for q in (0, 1.00001, "x"):
        client.post(f"{ORDERS}/{row['id']}/picks", {"code": "M", "quantity": q}, expect=400)


def test_taken_from_another_place(client, org, server):
    here, shelf, other = place(client, "Shelf", "Other")
    item = make_item(client, sku="M", levels=[entry(here, layout_id=shelf, available_qty=5), entry(here, layout_id=other, available_qty=5)])
    row = order(client, here, (item, 4))
    waits = order(client, here, {"item_id": item["id"], "requested_qty": 6, "layout_id": shelf})
    assert place_of(pick_list(client, row)) == [(shelf, 4, 0, 4)] and amounts(get(client, waits), "reserved") == [(1,)]
    pick(client, row, code="M", quantity=3, layout_id=other)
    assert place_of(pick_list(client, row)) == [(shelf, 1, 0, 1), (other, 3, 3, 0)]
    assert amounts(get(client, row), "reserved", "picked") == [(4, 3)] and amounts(get(client, waits), "reserved") == [(4,)]  # what is free serves who waits
    assert stocked(client, item) == (2, 8) and broken(server, org.id) == []
    more = order(client, here, (item, 4))
    refused(client, more, 409, "item.insufficient_stock", ["quantity"], "/picks", code="M", quantity=3, layout_id=shelf)
    refused(client, more, 400, "validation.failed", ["layout_id"], "/picks", code="M", layout_id=make_location(client)["default_layout_id"])
    refused(client, more, 400, "validation.failed", ["layout_code"], "/picks", code="M", layout_code="none")


def test_places_by_their_code(client, here):
    shelf = client.post(f"/v1/locations/{here['id']}/layouts", {"name": "Shelf", "code": "A-01"}, expect=201).data["id"]
    item = make_item(client, sku="M", levels=[entry(here, layout_id=shelf, available_qty=5)])
    row = order(client, here, (item, 4))
    assert pick(client, row, code="M", layout_code="a-01", quantity=4)["articles"][0]["picked_qty"] == 4 and pick_list(client, row)[0]["layout_code"] == "A-01"


def test_what_was_not_promised_is_found(client, org, server):
    """A back-ordered article takes what lies elsewhere as an addition."""
    here, shelf = place(client, "Shelf")
    item = make_item(client, sku="M", levels=[entry(here, layout_id=shelf, available_qty=5)])
    row = order(client, here, {"item_id": item["id"], "requested_qty": 4, "layout_id": here["default_layout_id"]})
    assert amounts(row, "reserved") == [(0,)]
    pick(client, row, code="M", layout_id=shelf, quantity=2)
    assert amounts(get(client, row), "reserved", "picked", "backordered") == [(2, 2, 2)] and stocked(client, item) == (3, 2) and broken(server, org.id) == []


def test_lots(client, org, server, here):
    item = make_item(client, sku="Milk", lot_tracking="required")
    lots(client, item, here, A=(5, "2035-01-01T00:00:00.000Z"), B=(5, "2036-01-01T00:00:00.000Z"), Old=(5, "2020-01-01T00:00:00.000Z"))
    row = order(client, here, (item, 5))
    pick(client, row, code="milk", lot_number="B", quantity=2)
    assert [(r["lot_number"], r["quantity"], r["picked_qty"]) for r in pick_list(client, row)] == [("A", 3, 0), ("B", 2, 2)]
    refused(client, row, 409, "lot.expired", ["lot_number"], "/picks", code="milk", lot_number="Old")
    pick(client, row, code="milk", lot_number="Old", allow_expired=True)
    assert [(r["lot_number"], r["quantity"]) for r in pick_list(client, row)] == [("Old", 1), ("A", 2), ("B", 2)] and broken(server, org.id) == []
    pick(client, row, code="milk", lot_number="B", quantity=-1)
    pick(client, row, code="milk", quantity=3)
    assert amounts(get(client, row), "picked", "reserved") == [(5, 5)]


def test_all_without_what_has_expired(client, org, server, here):
    """A lot that expires while it is promised is left by `all`, unless `allow_expired`."""
    item = make_item(client, sku="Milk3", lot_tracking="required")
    lots(client, item, here, A=(2, "2035-01-01T00:00:00.000Z"), B=(5, "2036-01-01T00:00:00.000Z"))
    row = order(client, here, (item, 4))
    lot = next(v["id"] for v in client.get(f"{ITEMS}/{item['id']}/lots").data if v["lot_number"] == "A")
    client.post(f"{ITEMS}/{item['id']}/lots/{lot}", {"expires_at": "2020-01-01T00:00:00.000Z"}, expect=200)
    assert [(r["lot_number"], r["quantity"]) for r in pick_list(client, row)] == [("A", 2), ("B", 2)]
    left = pick(client, row, all=True)
    assert amounts(get(client, row), "picked") == [(2,)] and (left["next"]["action"], left["next"]["lot_number"]) == ("pick", "A")
    assert pick(client, row, all=True, allow_expired=True)["next"]["action"] == "set_picked"
    assert amounts(get(client, row), "picked") == [(4,)] and broken(server, org.id) == []


def test_many_lines_all_or_none(client, here):
    pen, pad = (make_item(client, levels=[entry(here, available_qty=4)]) for _ in range(2))
    row = order(client, here, (pen, 2), (pad, 2))
    refused(client, row, 409, "fulfillment.over_picked", ["lines.1.quantity", "lines.3.quantity"], "/picks",
            lines=[{"item_id": pen["id"]}, {"item_id": pad["id"], "quantity": 3}, {"item_id": pen["id"]}, {"item_id": pen["id"]}])
    assert amounts(get(client, row), "picked") == [(0,), (0,)]
    a = pick(client, row, lines=[{"item_id": pen["id"]}, {"item_id": pad["id"], "quantity": 2}, {"item_id": pen["id"]}])
    assert [x["picked_qty"] for x in a["articles"]] == [2, 2]
    assert pick(client, order(client, here, (pen, 2), (pad, 3)), all=True)["next"]["action"] == "wait"


def test_two_lines_of_one_item(client, here):
    item = make_item(client, sku="M", levels=[entry(here, available_qty=9)])
    row = order(client, here, (item, 2), (item, 3))
    for quantity in (2, 1, 2):
        pick(client, row, code="M", quantity=quantity)
    assert amounts(get(client, row), "picked") == [(2,), (3,)]


def test_a_text_puts_back_as_a_number_does(client, here):
    """A quantity below 0 finds the line that has picks, written as a number or as a text."""
    item = make_item(client, sku="M", levels=[entry(here, available_qty=9)])
    row = order(client, here, (item, 2), (item, 3))
    pick(client, row, article_id=row["articles"][1]["id"], quantity=3)
    for back, left in ((-1, 2), ("-1", 1)):
        pick(client, row, code="M", quantity=back)
        assert amounts(get(client, row), "picked") == [(0,), (left,)]


@pytest.mark.parametrize("path", ["picks", "packs"])
def test_a_scan_that_is_sent_again_counts_once(client, here, path):
    item = make_item(client, sku="M", levels=[entry(here, available_qty=9)])
    row = order(client, here, (item, 5))
    key = {"Idempotency-Key": str(uuid.uuid4())}
    send = pick if path == "picks" else pack
    answers = [send(client, row, code="M", headers=key) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2] and amounts(get(client, row), "picked") == [(1,)]
    send(client, row, code="M", headers={"Idempotency-Key": str(uuid.uuid4())})
    assert amounts(get(client, row), "picked") == [(2,)]


def test_when_scans_are_allowed(client, here):
    item = make_item(client, sku="M", levels=[entry(here, available_qty=9)])
    row = order(client, here, (item, 2))
    pick(client, row, code="M")
    post(client, row, status="picked", allow_short=True)
    refused(client, row, 409, "fulfillment.invalid_transition", [], "/picks", code="M")
    assert pack(client, row, code="M")["status"] == "picked"
    post(client, row, status="packed", allow_short=True)
    for path in ("/picks", "/packs"):
        refused(client, row, 409, "fulfillment.invalid_transition", [], path, code="M")
    post(client, row, status="picked")
    post(client, row, status="processing")
    assert pick(client, row, code="M")["articles"][0]["picked_qty"] == 2


def test_serial_numbers(client, org, server, here):
    laptop = make_item(client, "Laptop", sku="LAP", is_asset=True, levels=[entry(here, available_qty=4)])
    pieces = [client.post("/v1/assets", {"item_id": laptop["id"], "location_id": here["id"], "serial_number": f"S{i}"}, expect=201).data for i in range(3)]
    row, other = order(client, here, (laptop, 2)), order(client, here, (laptop, 2))
    pick(client, row, code="LAP", serial_number="s0")
    pick(client, row, code="LAP", asset_id=pieces[1]["id"])
    assert [a["serial_number"] for a in get(client, row)["articles"][0]["assets"]] == ["S0", "S1"]
    refused(client, other, 409, "fulfillment.asset_taken", ["serial_number"], "/picks", code="LAP", serial_number="S1")
    refused(client, other, 400, "validation.failed", ["serial_number"], "/picks", code="LAP", serial_number="S9")
    refused(client, other, 400, "validation.failed", ["serial_number"], "/picks", code="LAP", serial_number="S2", quantity=2)
    pick(client, row, code="LAP", serial_number="S1", quantity=-1)
    pick(client, other, code="LAP", serial_number="S1")
    assert [a["id"] for a in get(client, other)["articles"][0]["assets"]] == [pieces[1]["id"]]
    client.delete(f"{ORDERS}/{other['id']}")
    assert pick(client, row, code="LAP", serial_number="S1")["articles"][0]["picked_qty"] == 2 and broken(server, org.id) == []


# ---- packs ----

def test_parcels(client, org, server, here):
    pen, pad = (make_item(client, n, sku=n, levels=[entry(here, available_qty=9)]) for n in ("PENS", "PADS"))
    row = order(client, here, (pen, 4), (pad, 2))
    one = pack(client, row, code="PENS", quantity=3)
    assert one["parcel_id"].startswith("prcl_") and one["articles"][0] == {**one["articles"][0], "picked_qty": 3, "packed_qty": 3} and pack(client, row, code="PENS")["parcel_id"] == one["parcel_id"]
    two = pack(client, row, code="PADS", parcel={"name": "Small", "length": 1, "width": 2, "height": 3, "weight": 1})
    assert two["parcel_id"] != one["parcel_id"] and pack(client, row, code="PADS", parcel_id=one["parcel_id"])["next"]["action"] == "set_packed"
    first, second = get(client, row)["parcels"]
    assert [(c["article_id"], c["quantity"]) for c in first["contents"]] == [(row["articles"][0]["id"], 4), (row["articles"][1]["id"], 1)] and second["name"] == "Small"
    shown = client.get(f"/v1/parcels/{first['id']}").data
    assert [(c["id"], c["sku"], c["packed_qty"], c["requested_qty"]) for c in shown["contents"]] == [(row["articles"][0]["id"], "PENS", 4, 4), (row["articles"][1]["id"], "PADS", 1, 2)]
    assert shown["fulfillment_id"] == row["id"] and shown["status"] == "in_processing" and client.get(f"/v1/parcels?item_id={pad['id']}").data != []
    refused(client, row, 409, "fulfillment.over_picked", ["quantity"], "/packs", code="PENS")
    refused(client, row, 409, "fulfillment.over_picked", ["quantity"], "/packs", code="PENS", quantity=-1, parcel_id=second["id"])
    pack(client, row, code="PENS", quantity=-2, parcel_id=first["id"])
    assert amounts(get(client, row), "picked", "packed") == [(4, 2), (2, 2)] and broken(server, org.id) == []
    pack(client, row, all=True)
    post(client, row, status="packed")
    assert amounts(post(client, row, status="completed"), "shipped") == [(4,), (2,)]
    assert {p["status"] for p in client.get(f"/v1/parcels?fulfillment_id={row['id']}").data} == {"outbound_transit"} and broken(server, org.id) == []


def test_parcels_of_others(client, here):
    item = make_item(client, sku="M", levels=[entry(here, available_qty=9)])
    row, other = order(client, here, (item, 2)), order(client, here, (item, 2))
    theirs = pack(client, other, code="M")["parcel_id"]
    for parcel in (theirs, "prcl_0000000000000000000000"):
        refused(client, row, 400, "validation.failed", ["parcel_id"], "/packs", code="M", parcel_id=parcel)
    refused(client, row, 400, "validation.failed", ["parcel.length"], "/packs", code="M", parcel={"length": -1})
    client.refused("POST", f"/v1/parcels/{theirs}", 409, "parcel.packed", ["contents"], body={"contents": []})
    client.refused("DELETE", f"/v1/parcels/{theirs}", 409, "parcel.packed", [])
    client.post(f"/v1/parcels/{theirs}", {"weight": 3}, expect=200)
    client.delete(f"{ORDERS}/{other['id']}")
    client.delete(f"/v1/parcels/{theirs}")


def test_lots_stay_apart_in_parcels(client, org, server, here):
    item = make_item(client, sku="Milk2", lot_tracking="required")
    lots(client, item, here, A=(2, "2035-01-01T00:00:00.000Z"), B=(5, "2036-01-01T00:00:00.000Z"))
    row = order(client, here, (item, 5))
    parcel = pack(client, row, code="milk2", quantity=4)["parcel_id"]
    assert [(c["lot_number"], c["quantity"]) for c in get(client, row)["parcels"][0]["contents"]] == [("A", 2), ("B", 2)]
    pack(client, row, code="milk2", quantity=-1, lot_number="A", parcel_id=parcel)
    assert [(r["lot_number"], r["picked_qty"], r["packed_qty"]) for r in pick_list(client, row)] == [("A", 2, 1), ("B", 2, 2)]
    post(client, row, status="packed", allow_short=True)
    post(client, row, status="completed")
    assert stocked(client, item) == (4, 0) and {m["lot_number"]: m["delta"] for m in movements(client, item, "&reason=shipment")} == {"A": -1, "B": -2} and broken(server, org.id) == []
