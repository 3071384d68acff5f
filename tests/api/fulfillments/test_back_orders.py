"""Reservation and back-orders of fulfillments: spec 03 section 6.4."""
import collections

import pytest

from orders import ITEMS, ORDERS, amounts, broken, change, entry, get, levels, make_item, order, pack, pick, pick_list, place, post, stocked
from test_batches_sets import asked
from wharf import make_location, until

PAST, SOON, LATER = "2020-01-01T00:00:00.000Z", "2035-01-01T00:00:00.000Z", "2036-01-01T00:00:00.000Z"


@pytest.fixture
def here(client):
    return make_location(client)


def add(client, item, location, quantity, **more):
    change(client, item, entry(location, available_qty=quantity, **more))


def reserved(client, *rows):
    return [get(client, r)["articles"][0]["reserved_qty"] for r in rows]


def lot_item(client, here, *lots):
    """An item with lots of (number, expires_at, quantity)."""
    item = make_item(client, "Milk", lot_tracking="required")
    for number, expires, quantity in lots:
        add(client, item, here, quantity, lot_number=number)
    known = {v["lot_number"]: v["id"] for v in client.get(f"{ITEMS}/{item['id']}/lots").data}
    for number, expires, quantity in lots:
        client.post(f"{ITEMS}/{item['id']}/lots/{known[number]}", {"expires_at": expires}, expect=200)
    return item


def by_lot(client, row):
    return [(r["lot_number"], r["quantity"]) for r in pick_list(client, row)]


def test_short_stock_is_no_error(client, org, server, here):
    item = make_item(client, levels=[entry(here, available_qty=3)])
    row = order(client, here, (item, 5), (item, 2))
    assert amounts(row, "reserved", "backordered") == [(3, 2), (0, 2)] and row["backordered"] is True and stocked(client, item) == (0, 3) and broken(server, org.id) == []


def test_the_documented_order(client, org, server, here):
    """Priority, then ship_by with none last, then age, then the place in the order."""
    item = make_item(client)
    old = order(client, here, (item, 1))
    dated = order(client, here, (item, 1), ship_by=LATER)
    sooner = order(client, here, (item, 1), ship_by=SOON)
    first = order(client, here, (item, 1), (item, 1), priority=1)
    young = order(client, here, (item, 1))
    for n, want in enumerate(([1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]), 1):
        add(client, item, here, 1)
        assert reserved(client, first, sooner, dated, old, young) == want, n
        assert get(client, first)["articles"][1]["reserved_qty"] == (1 if n > 1 else 0)
        assert broken(server, org.id) == []
    assert [e[0] for e in org.events(sooner["id"])] == ["fulfillment.created", "fulfillment.reserved"]
    add(client, item, here, 2)
    assert stocked(client, item) == (2, 6)


def test_a_part_is_taken(client, here):
    item = make_item(client)
    one, two = order(client, here, (item, 5), priority=2), order(client, here, (item, 1))
    add(client, item, here, 3)
    assert reserved(client, one, two) == [3, 0]
    add(client, item, here, 2.5)
    assert reserved(client, one, two) == [5, 0.5]


def test_who_comes_later_does_not_overtake(client, here):
    """A new order stands in the same row: it gets nothing that one before it could have."""
    item = make_item(client, levels=[entry(here, available_qty=2)])
    waits = order(client, here, (item, 4))
    low = order(client, here, (item, 1))
    assert reserved(client, waits, low) == [2, 0]
    high = order(client, here, (item, 1), priority=9)
    add(client, item, here, 1)
    assert reserved(client, high, waits, low) == [1, 2, 0]


def test_what_is_reserved_is_not_taken_away(client, here):
    item = make_item(client, levels=[entry(here, available_qty=2)])
    low = order(client, here, (item, 2))
    high = order(client, here, (item, 2), priority=50)
    post(client, high, priority=100)
    assert reserved(client, low, high) == [2, 0]


@pytest.mark.parametrize("way", ["canceled", "requested", "removed", "completed", "unexpected", "return", "transfer"])
def test_whoever_gives_stock_back_serves_who_waits(client, org, server, here, way):
    item = make_item(client, levels=[entry(here, available_qty=4)])
    holds, waits = order(client, here, (item, 4), {"item_id": make_item(client)["id"], "requested_qty": 1}), order(client, here, (item, 3))
    line = holds["articles"][0]["id"]
    if way == "canceled":
        client.delete(f"{ORDERS}/{holds['id']}")
    elif way == "requested":
        post(client, holds, articles=[{"id": line, "requested_qty": 1}])
    elif way == "removed":
        post(client, holds, articles=[{"id": line, "_delete": True}])
    elif way in ("completed", "return"):
        pack(client, holds, article_id=line, quantity=1 if way == "completed" else 4)
        post(client, holds, status="packed", allow_short=True)
        post(client, holds, status="completed")
        if way == "return":
            assert reserved(client, waits) == [0]
            client.post(f"{ORDERS}/{holds['id']}/returns", {"lines": [{"article_id": line, "received_qty": 3}]}, expect=200)
    elif way == "unexpected":
        add(client, item, here, 3)
    else:
        far = make_location(client)
        add(client, item, far, 3)
        assert reserved(client, waits) == [0]
        change(client, item, entry(far, available_qty=-3), entry(here, available_qty=3))
    assert reserved(client, waits) == [3] and get(client, waits)["backordered"] is False and broken(server, org.id) == []


def test_damaged_and_other_places_serve_nobody(client, here):
    item = make_item(client)
    row = order(client, here, (item, 1))
    change(client, item, entry(here, damaged_qty=3, manifested_qty=3))
    add(client, item, make_location(client), 3)
    assert reserved(client, row) == [0]
    change(client, item, entry(here, damaged_qty=-1, available_qty=1))
    assert reserved(client, row) == [1]


def test_first_expired_first_out(client, here):
    item = lot_item(client, here, ("none", None, 5), ("late", LATER, 5), ("soon", SOON, 5), ("over", PAST, 5))
    assert by_lot(client, order(client, here, (item, 7))) == [("soon", 5), ("late", 2)]
    assert by_lot(client, order(client, here, (item, 20))) == [("late", 3), ("none", 5)] and stocked(client, item) == (5, 15)


def test_wishes_for_places_and_lots(client, org, server):
    here, shelf, other = place(client, "Shelf", "Other")
    item = make_item(client, levels=[entry(here, layout_id=shelf, available_qty=2), entry(here, layout_id=other, available_qty=5)])
    row = order(client, here, {"item_id": item["id"], "requested_qty": 4, "layout_id": shelf})
    assert amounts(row, "reserved") == [(2,)]
    any_of = order(client, here, (item, 6))
    assert amounts(any_of, "reserved") == [(5,)]
    add(client, item, here, 1, layout_id=other)
    assert reserved(client, row, any_of) == [2, 6]
    add(client, item, here, 3, layout_id=shelf)
    assert reserved(client, row, any_of) == [4, 6] and broken(server, org.id) == []
    row = post(client, row, articles=[{"id": row["articles"][0]["id"], "layout_id": other}])
    assert amounts(row, "reserved") == [(0,)] and stocked(client, item) == (5, 6)
    client.refused("POST", ORDERS, 400, "validation.failed", ["articles"], body={"location_id": here["id"], "articles": [{"item_id": item["id"], "requested_qty": 1, "layout_id": make_location(client)["default_layout_id"]}]})
    milk = lot_item(client, here, ("A", SOON, 5), ("B", LATER, 2))
    assert by_lot(client, order(client, here, {"item_id": milk["id"], "requested_qty": 3, "lot_number": "B"})) == [("B", 2)]


@pytest.mark.usual_settings  # hooks of the operator on each row are statements too
def test_no_statement_for_each_line(client, server, here):
    """Whatever the number of lines, each statement is asked a few times: an order, its picks at named places, its packs, its end."""
    shelf = client.post(f"/v1/locations/{here['id']}/layouts", {"name": "Shelf", "code": "S-1"}, expect=201).data["id"]
    items, made = [make_item(client, levels=[entry(here, layout_id=shelf, available_qty=9)]) for _ in range(50)], []
    for act in (lambda: made.append(order(client, here, *[(i, 2) for i in items])),
                lambda: pick(client, made[0], lines=[{"item_id": i["id"], "quantity": 2, "layout_code": "s-1"} for i in items]),
                lambda: pack(client, made[0], lines=[{"item_id": i["id"], "quantity": 2, "layout_id": shelf} for i in items]),
                lambda: post(client, made[0], status="packed"), lambda: post(client, made[0], status="completed")):
        said = collections.Counter(asked(server, act)).most_common(1)[0]
        assert said[1] < len(items) / 2, said
    assert amounts(made[0], "reserved") == [(2,)] * 50 and amounts(get(client, made[0]), "shipped") == [(2,)] * 50
    assert {tuple(stocked(client, i)) for i in items} == {(7, 0)}


def test_what_many_wait_for_is_promised_in_pieces(client, org, server, here):
    """A receipt promises 500 pieces of it by itself; a job goes on, in the same order."""
    item = make_item(client)
    late, early = order(client, here, *[(item, 1)] * 400), order(client, here, *[(item, 1)] * 450, priority=1)
    add(client, item, here, 840)
    assert reserved(client, early) == [1]
    until(lambda: stocked(client, item) == (0, 840))
    assert [len([a for a in get(client, r)["articles"] if a["reserved_qty"]]) for r in (early, late)] == [450, 390] and broken(server, org.id) == []
