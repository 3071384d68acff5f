"""The service items.stock, as other modules use it: spec 09 sections 7 and 9, plugin-api/wharf/ext/items.h."""
import concurrent.futures
import json
import random

import pytest

from stock import ITEMS, available, broken_invariants, change, entry, levels, make_item, movements, place
from wharf import BUILD, Server, make_location, until

APPLY = "/v1/stockbench/apply"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", f"org,locations,items,{BUILD}/tests/plugins/stockbench.so")
    yield s
    s.stop()


def move(item, location, quantity, bucket="available", **more):
    return {"item_id": item["id"], "location_id": location["id"], "bucket": bucket, "quantity": quantity, **more}


def moved(client, *moves, expect=200, reason="receipt", **more):
    return client.post(APPLY, {"reason": reason, "moves": list(moves), **more}, expect=expect).data


def refused(client, status, code, errors, *moves, **more):
    return client.refused("POST", APPLY, status, code, errors, body={"reason": "receipt", "moves": list(moves), **more})


def test_many_items_in_one_group(client, org):
    here, shelf = place(client, "Shelf")
    items = [make_item(client) for _ in range(30)]
    d = moved(client, *[m for i, item in enumerate(items) for m in (move(item, here, i + 1, layout_id=shelf), move(item, here, 0.5, bucket="manifested"))],
              source_type="manifest", source_id="mani_1")
    assert [m["delta"] for m in d["moved"]] == [q for i in range(30) for q in (i + 1, 0.5)]
    for item, own in zip(items, zip(d["moved"][::2], d["moved"][1::2])):
        rows = movements(client, item)
        assert [r["id"] for r in rows] == [m["movement_id"] for m in own] and {r["group_id"] for r in rows} == {d["group_id"]}
        assert {r["reason"] for r in rows} == {"receipt"} and rows[0]["source"] == {"type": "manifest", "id": "mani_1"}
        assert [e[0] for e in org.events(own[0]["level_id"])] == ["inventory.level_updated"]
    assert len(client.get(f"{ITEMS}/{items[0]['id']}/movements?source_type=manifest&source_id=mani_1").data) == 2


def test_reserving_and_shipping(client, location):
    item = make_item(client, levels=[entry(location, available_qty=10)])
    moved(client, move(item, location, -4), move(item, location, 4, bucket="reserved"), reason="reservation")
    v, = levels(client, item)
    assert (v["available_qty"], v["reserved_qty"], v["on_hand_qty"]) == (6, 4, 10)
    refused(client, 409, "item.insufficient_stock", ["moves.0"], move(item, location, -5, bucket="reserved"))
    moved(client, move(item, location, -3, bucket="reserved", reason="shipment"), move(item, location, -1, bucket="reserved", reason="release"), move(item, location, 1, reason="release"), reason="shipment")
    assert [m["reason"] for m in movements(client, item)] == ["opening", "reservation", "reservation", "shipment", "release", "release"]
    assert available(client, item) == {location["default_layout_id"]: 7}


def test_nothing_is_moved_when_one_can_not_be(client, location):
    items = [make_item(client, levels=[entry(location, available_qty=1)]) for _ in range(3)]
    refused(client, 409, "item.insufficient_stock", ["moves.1", "moves.2"], *[move(item, location, -1 - i) for i, item in enumerate(items)])
    assert all(list(available(client, item).values()) == [1] for item in items)


def test_what_is_there_already_is_no_move(client, location):
    item = make_item(client, levels=[entry(location, available_qty=5)])
    d, = moved(client, move(item, location, 5, set=True))["moved"]
    assert d["movement_id"] is None and d["delta"] == 0 and d["balance"] == 5 and d["level_id"] == levels(client, item)[0]["id"]


def test_layouts_and_lots_are_found(client):
    here, a, b = place(client, "A", "B")
    item = make_item(client, lot_tracking="optional", levels=[entry(here, layout_id=a, available_qty=1, lot_number="L")])
    d, = moved(client, move(item, here, 1, find_layout=True))["moved"]
    assert d["layout_id"] == a
    d, = moved(client, move(item, here, 1))["moved"]
    assert d["layout_id"] == here["default_layout_id"]
    refused(client, 400, "item.layout_required", ["moves.0"], move(item, here, 1, find_layout=True))
    lot = client.get(f"{ITEMS}/{item['id']}/lots").data[0]["id"]
    moved(client, move(item, here, 2, layout_id=b, lot_id=lot), move(item, here, 1, layout_id=b, lot_number="L"), move(item, here, 1, layout_id=b, lot_number="M"))
    assert {(v["layout_id"], v["lot_number"]): v["available_qty"] for v in levels(client, item) if v["layout_id"] == b} == {(b, "L"): 3, (b, "M"): 1}


def test_items_say_what_may_come(client, location):
    lots, asset, old = make_item(client, lot_tracking="required"), make_item(client, is_asset=True), make_item(client, levels=[entry(location, available_qty=2)])
    client.post(f"{ITEMS}/{old['id']}", {"status": "archived"}, expect=200)
    refused(client, 400, "item.lot_required", ["moves.0"], move(lots, location, 1))
    refused(client, 400, "item.lot_not_allowed", ["moves.0"], move(asset, location, 1, lot_number="L"))
    refused(client, 400, "item.fractional_quantity", ["moves.0"], move(asset, location, 0.5))
    refused(client, 409, "item.archived", ["moves.0"], move(old, location, 1))
    refused(client, 400, "validation.failed", ["moves.0"], move({"id": "item_nope"}, location, 1))
    refused(client, 400, "validation.failed", ["moves.0"], move(asset, location, -1, set=True))
    moved(client, move(old, location, -1))
    moved(client, move(old, location, 3, archived_too=True), reason="unbuild_return")
    assert available(client, old) == {location["default_layout_id"]: 4}
    client.post(f"{ITEMS}/{old['id']}", {"levels": [entry(location, available_qty=[0])]}, expect=200)
    client.delete(f"{ITEMS}/{old['id']}")
    refused(client, 400, "validation.failed", ["moves.0"], move(old, location, 1))


def test_groups_that_share_levels_beside_requests_never_hang(org, server, client):
    """Builds take many items in any order, while requests change the same ones."""
    here, shelf = place(client, "Shelf")
    items = [make_item(client, levels=[entry(here, layout_id=x, available_qty=1000) for x in (None, shelf)]) for _ in range(6)]
    clients = [org.client() for _ in range(6)]

    def one(i):
        r = random.Random(i)
        chosen = r.sample(items, 4)
        if i % 3:
            a = clients[i % 6].post(APPLY, {"reason": "build_consume", "moves": [move(item, here, -1, layout_id=r.choice((here["default_layout_id"], shelf))) for item in chosen]})
        else:
            a = change(clients[i % 6], chosen[0], entry(here, layout_id=None, available_qty=-2), entry(here, layout_id=shelf, available_qty=2), expect=None)
        return a.status
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert set(pool.map(one, range(150))) == {200}
    assert sum(sum(available(client, item).values()) for item in items) == 12000 - 400
    assert broken_invariants(server, org.id) == []


def test_moments_of_a_level_never_go_back(server, org, client):
    """A request waits for one level while a later one changes another of its levels: it gets the time of that one."""
    here, shelf = place(client, "Shelf")
    item = make_item(client, levels=[entry(here, layout_id=x, available_qty=1) for x in (None, shelf)])
    first, second = sorted((here["default_layout_id"], shelf))
    other = org.client()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with server.held("SELECT 1 FROM items.level WHERE item_id = %s AND layout_id = %s FOR UPDATE", item["id"], first):
            early = pool.submit(moved, client, move(item, here, 2, layout_id=first), move(item, here, 2, layout_id=second))
            until(lambda: server.sql(waiting) == [(1,)])
            moved(other, move(item, here, 3, layout_id=second))
        early.result()
    rows = server.sql("SELECT delta, created_at FROM items.stock_movement WHERE item_id = %s AND layout_id = %s ORDER BY position", item["id"], second)
    assert [int(delta) for delta, _ in rows] == [1, 3, 2] and [at for _, at in rows] == sorted(at for _, at in rows)
    assert rows[2][1] == server.sql("SELECT max(created_at) FROM items.stock_movement WHERE item_id = %s AND layout_id = %s", item["id"], first)[0][0]  # all of it at one time


def test_two_that_cross_a_threshold_together_tell_it_once(client, org):
    here, a, b = place(client, "A", "B")
    clients = [org.client() for _ in range(2)]
    for _ in range(15):
        item = make_item(client, levels=[entry(here, layout_id=x, available_qty=3) for x in (a, b)], low_stock_thresholds=[{"location_id": here["id"], "available_qty": 5}])
        with concurrent.futures.ThreadPoolExecutor(2) as pool:  # one alone does not cross it
            list(pool.map(lambda i: moved(clients[i], move(item, here, -1, layout_id=(a, b)[i]), reason="shipment"), range(2)))
        events = [e for v in levels(client, item) for e in org.events(v["id"], "inventory.low_stock")]
        data = [json.loads(e[1]) if isinstance(e[1], str) else e[1] for e in events]
        assert [(e["location_available_qty"], e["threshold_qty"]) for e in data] == [(4, 5)]


def test_a_fraction_that_is_reserved_keeps_an_item_from_becoming_an_asset(client, location):
    """Spec 09 section 6 [S]: any bucket."""
    item = make_item(client, levels=[entry(location, available_qty=1)])
    moved(client, move(item, location, 0.5, bucket="reserved"))
    path = f"{ITEMS}/{item['id']}"
    client.refused("POST", path, 409, "item.fractional_levels", [levels(client, item)[0]["id"]], body={"is_asset": True})
    moved(client, move(item, location, 0.5, bucket="reserved"))
    assert client.post(path, {"is_asset": True}, expect=200).data["totals"]["reserved_qty"] == 1


def test_a_receipt_beside_a_conversion_leaves_no_asset_with_a_fraction(client, org):
    """Spec 09 section 6 [S]: what other modules move is whole as well."""
    location = make_location(client)
    others = [org.client() for _ in range(3)]
    for i in range(20):
        item = make_item(client)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            receipts = [pool.submit(c.post, APPLY, {"reason": "receipt", "moves": [move(item, location, 0.5)]}) for c in others]
            asset = pool.submit(client.post, f"{ITEMS}/{item['id']}", {"is_asset": True}).result()
            codes = {r.result().code for r in receipts}
        d = client.get(f"{ITEMS}/{item['id']}").data
        assert asset.code in (None, "item.fractional_levels") and codes <= {None, "item.fractional_quantity"}
        assert not (d["is_asset"] and d["totals"]["available_qty"] % 1), (i, d)


def test_a_receipt_beside_a_delete_leaves_no_stock_of_a_deleted_item(client, org, server):
    location = make_location(client)
    others = [org.client() for _ in range(3)]
    for _ in range(20):
        item = make_item(client)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            receipts = [pool.submit(c.post, APPLY, {"reason": "receipt", "moves": [move(item, location, 1)]}) for c in others]
            gone = pool.submit(client.delete, f"{ITEMS}/{item['id']}", expect=None).result().status == 200
            done = [r.result().status for r in receipts]
        assert set(done) <= {200, 400} and gone == (200 not in done)
    assert server.sql("SELECT 1 FROM items.level v JOIN items.item t ON t.organization_id = v.organization_id AND t.id = v.item_id"
                      " WHERE v.organization_id = %s AND v.available <> 0 AND t.deleted_at IS NOT NULL", org.id) == []
