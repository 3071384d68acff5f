"""Levels, their ledger and lots: spec 09 sections 2, 7, 8 and 9."""
import concurrent.futures
import time

import pytest

from stock import ITEMS, available, broken_invariants, change, entry, layout, levels, make_item, movements, place, refused
from wharf import make_location


@pytest.fixture(scope="module", autouse=True)
def ledger(server, org):
    """Whatever the tests of this file did, the ledger says the same as the levels."""
    yield
    assert broken_invariants(server, org.id) == []


def test_a_tenth_added_ten_times_is_one(client, location):
    """Spec 09 section 20 item 1."""
    item = make_item(client)
    for _ in range(10):
        change(client, item, entry(location, available_qty=0.1))
    r = client.get(f"{ITEMS}/{item['id']}")
    assert r.data["totals"]["available_qty"] == 1
    assert b'"available_qty":1,' in r.raw.content
    assert [m["balance_after"] for m in movements(client, item)] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]


def test_quantities_have_four_digits(client, location):
    """Spec 09 section 20 item 1; spec 09 section 2 [S]: at most 4 digits behind the point."""
    item = make_item(client)
    refused(client, item, 400, "item.quantity_precision", ["levels.0.available_qty"], entry(location, available_qty=12.34567))
    change(client, item, entry(location, available_qty=12.3456))
    change(client, item, entry(location, damaged_qty="12.3456"))
    r = change(client, item, entry(location, manifested_qty=0.0001))
    assert b"12.3456" in r.raw.content and b"0.0001" in r.raw.content and b"e-" not in r.raw.content
    # 15 significant digits are read of what a binary number has behind them
    change(client, item, entry(location, manifested_qty=[0.1 + 0.2]))
    assert levels(client, item)[0]["manifested_qty"] == 0.3
    for bad in ("", "x", "1,5", "0x10", True, {}, [], [1, 2], [[1]], [-1], 100000000000, "1e20", ["nan"]):
        refused(client, item, 400, "validation.failed", ["levels.0.available_qty"], entry(location, available_qty=bad))
    refused(client, item, 400, "validation.failed", ["levels.0.reserved_qty"], entry(location, reserved_qty=1))


def test_older_name_of_available(client, location):
    item = make_item(client, levels=[entry(location, verified_qty=4)])
    assert item["totals"]["available_qty"] == 4 and "verified_qty" not in item["levels"][0]


def test_deltas_and_sets(client, location):
    item = make_item(client, levels=[entry(location, available_qty=10)])
    change(client, item, entry(location, available_qty=-3, damaged_qty=3, manifested_qty=[50]))
    v, = levels(client, item)
    assert (v["available_qty"], v["damaged_qty"], v["manifested_qty"], v["on_hand_qty"]) == (7, 3, 50, 10)
    change(client, item, entry(location, available_qty=[7]))  # nothing to do, nothing in the ledger
    change(client, item, entry(location, available_qty=[2.5]))
    assert [(m["bucket"], m["delta"], m["balance_after"], m["reason"]) for m in movements(client, item) if m["bucket"] == "available"] == [
        ("available", 10, 10, "opening"), ("available", -3, 7, "adjustment"), ("available", -4.5, 2.5, "adjustment")]


def test_entries_of_one_level_apply_in_order_and_the_end_counts(client, location):
    item = make_item(client, levels=[entry(location, available_qty=1)])
    change(client, item, entry(location, available_qty=-5), entry(location, available_qty=[3]), entry(location, available_qty=2), entry(location, available_qty=-4))
    assert levels(client, item)[0]["available_qty"] == 1
    assert [(m["delta"], m["balance_after"]) for m in movements(client, item)[1:]] == [(-5, -4), (7, 3), (2, 5), (-4, 1)]
    assert len({m["group_id"] for m in movements(client, item)[1:]}) == 1


def test_not_enough_stock_changes_nothing_and_names_all_entries(client):
    location, shelf = place(client, "Shelf")
    item = make_item(client, levels=[entry(location, available_qty=5)])
    r = refused(client, item, 409, "item.insufficient_stock", ["levels.0.available_qty", "levels.1.damaged_qty"],
                entry(location, layout_id=None, available_qty=-6), entry(location, layout_id=shelf, damaged_qty=-1, available_qty=2))
    assert "5" in r.message and "6" in r.message
    assert available(client, item) == {location["default_layout_id"]: 5}
    assert len(movements(client, item)) == 1


def test_stock_has_an_upper_end(client, location):
    item = make_item(client, levels=[entry(location, available_qty=99999999999.9999)])
    assert item["totals"]["available_qty"] == 99999999999.9999
    refused(client, item, 400, "validation.failed", ["levels.0.available_qty"], entry(location, available_qty=0.0001))


def test_transfers_are_told_apart(client):
    location, a, b = place(client, "A", "B")
    item = make_item(client, levels=[entry(location, layout_id=a, available_qty=10)])
    change(client, item, entry(location, layout_id=a, available_qty=-4), entry(location, layout_id=b, available_qty=4))
    change(client, item, entry(location, layout_id=a, available_qty=-4), entry(location, layout_id=b, available_qty=3))
    assert available(client, item) == {a: 2, b: 7}
    assert [m["reason"] for m in movements(client, item)] == ["opening", "transfer", "transfer", "adjustment", "adjustment"]


def test_layout_that_is_left_out(client):
    location, a, b = place(client, "A", "B")
    default = location["default_layout_id"]
    item = make_item(client)
    change(client, item, entry(location, available_qty=1))  # none has stock: the default one
    assert available(client, item) == {default: 1}
    change(client, item, entry(location, layout_id=a, available_qty=2), entry(location, layout_id=None, available_qty=-1))
    change(client, item, entry(location, available_qty=5))  # the only one
    assert available(client, item) == {a: 7}
    change(client, item, entry(location, layout_id=b, available_qty=1))
    refused(client, item, 400, "item.layout_required", ["levels.0.available_qty"], entry(location, available_qty=1))
    change(client, item, entry(location, layout_id=None, available_qty=9))  # null is the default one all the same
    assert available(client, item) == {a: 7, b: 1, default: 9}


def test_places_have_to_be_there(client, location):
    other, shelf = place(client, "Shelf")
    item = make_item(client)
    refused(client, item, 400, "validation.failed", ["levels.0.location_id"], {"available_qty": 1})
    refused(client, item, 400, "validation.failed", ["levels.0.available_qty"], entry("loc_" + "0" * 22, available_qty=1))
    refused(client, item, 400, "validation.failed", ["levels.0.available_qty"], entry(location, layout_id="lay_nope", available_qty=1))
    refused(client, item, 400, "validation.failed", ["levels.0.available_qty"], entry(location, layout_id=shelf, available_qty=1))
    client.delete(f"/v1/locations/{other['id']}/layouts/{shelf}")
    refused(client, item, 400, "validation.failed", ["levels.0.available_qty"], entry(other, layout_id=shelf, available_qty=1))
    refused(client, item, 400, "validation.failed", ["levels"], *[entry(location, available_qty=1)] * 401)
    change(client, item, *[entry(location, available_qty=0.01)] * 400)
    assert levels(client, item)[0]["available_qty"] == 4


def test_notes_are_kept(client, location):
    item = make_item(client, levels=[entry(location, available_qty=1, note="Found behind the door")])
    assert movements(client, item)[0]["note"] == "Found behind the door"
    refused(client, item, 400, "validation.failed", ["levels.0.note"], entry(location, available_qty=1, note="x" * 501))


# ---- transactional units ----

def test_quantities_in_transactional_units(client, location):
    item = make_item(client, base_uom="g", transactional_units=[{"name": "Ounce", "uom": "oz"}, {"name": "Old", "uom": "box", "conversion_factor": 3, "active": False}])
    ounce, old = (u["id"] for u in item["transactional_units"])
    r = change(client, item, entry(location, available_qty=10, item_transactional_unit_id=ounce))
    assert r.data["totals"]["available_qty"] == 283.4952
    m, = movements(client, item)
    assert m["unit"] == {"item_transactional_unit_id": ounce, "quantity": 10} and m["delta"] == 283.4952
    change(client, item, entry(location, available_qty=[0.0001], item_transactional_unit_id=ounce))
    assert levels(client, item)[0]["available_qty"] == 0.0028
    path = ["levels.0.item_transactional_unit_id"]
    refused(client, item, 400, "item.unit_not_found", path, entry(location, available_qty=1, item_transactional_unit_id="itu_nope"))
    refused(client, item, 400, "item.unit_inactive", path, entry(location, available_qty=1, item_transactional_unit_id=old))
    stranger = make_item(client, transactional_units=[{"name": "Pair", "uom": "pair"}])["transactional_units"][0]["id"]
    refused(client, item, 400, "item.unit_not_found", path, entry(location, available_qty=1, item_transactional_unit_id=stranger))


def test_what_is_not_zero_does_not_become_zero(client, location):
    item = make_item(client, base_uom="t", transactional_units=[{"name": "Milligram", "uom": "mg"}])
    mg = item["transactional_units"][0]["id"]
    change(client, item, entry(location, available_qty=1, item_transactional_unit_id=mg))
    assert levels(client, item)[0]["available_qty"] == 0.0001


def test_half_of_the_last_digit_is_rounded_away_from_zero(client, location):
    item = make_item(client, base_uom="g", transactional_units=[{"name": "Half", "uom": "box", "conversion_factor": 0.5}])
    half = item["transactional_units"][0]["id"]
    for sent, moved in ((0.0001, 0.0001), (0.0003, 0.0002), (0.0005, 0.0003), (-0.0005, -0.0003), (-0.0003, -0.0002), (-0.0001, -0.0001)):
        change(client, item, entry(location, available_qty=sent, item_transactional_unit_id=half))
        assert movements(client, item)[-1]["delta"] == moved
    assert available(client, item, "&include_zero_inventory=true") == {location["default_layout_id"]: 0}


# ---- lots ----

def test_lots(client, location):
    item = make_item(client, lot_tracking="required")
    refused(client, item, 400, "item.lot_required", ["levels.0.available_qty"], entry(location, available_qty=1))
    change(client, item, entry(location, available_qty=5, lot_number="L1"), entry(location, available_qty=2, lot_number="l1"))
    change(client, item, entry(location, available_qty=1, lot_number="L1"))
    path = f"{ITEMS}/{item['id']}/lots"
    lots = {v["lot_number"]: v for v in client.get(path).data}
    client.refused("POST", f"{path}/{next(iter(lots.values()))['id']}", 412, "precondition.failed", body={}, headers={"If-Match": '"v999-x"'})
    assert set(lots) == {"L1", "l1"}
    assert {v["lot_number"]: v["available_qty"] for v in levels(client, item)} == {"L1": 6, "l1": 2}
    assert [v["available_qty"] for v in levels(client, item, "&lot_number=L1")] == [6]
    one = f"{path}/{lots['L1']['id']}"
    d = client.post(one, {"expires_at": "2030-01-02T03:04:05.000Z", "metadata": {"supplier": "S"}}, expect=200).data
    assert d["expires_at"] == "2030-01-02T03:04:05.000Z" and d["metadata"] == {"supplier": "S"} and client.get(one).data == d
    client.post(one, {"lot_number": "other"}, expect=200)
    assert client.get(one).data["lot_number"] == "L1"
    assert [v["id"] for v in client.get(f"{path}?lot_number=l1").data] == [lots["l1"]["id"]]
    assert [v["id"] for v in client.get(f"{path}?expires_at[lt]=2031-01-01T00:00:00Z").data] == [lots["L1"]["id"]]


def test_lots_by_stock(client):
    here, there = make_location(client), make_location(client)
    item = make_item(client, lot_tracking="optional", levels=[
        entry(here, available_qty=5, lot_number="A"), entry(there, damaged_qty=1, lot_number="B"), entry(here, available_qty=1, lot_number="C")])
    change(client, item, entry(here, available_qty=-1, lot_number="C"))
    path = f"{ITEMS}/{item['id']}/lots?order_by=created_at"
    numbers = lambda query: {v["lot_number"] for v in client.get(path + query).data}  # noqa: E731
    assert numbers("&has_stock=true") == {"A", "B"} and numbers("&has_stock=false") == {"C"} and numbers("") == {"A", "B", "C"}
    assert numbers(f"&location_id={here['id']}") == {"A"} and numbers(f"&location_id={there['id']}") == {"B"}
    client.refused("GET", path + "&has_stock=maybe", 400, "param.invalid", ["has_stock"])


def test_lot_tracking_changes_only_where_all_stock_fits(client, location):
    item = make_item(client, levels=[entry(location, available_qty=1)])
    path = f"{ITEMS}/{item['id']}"
    refused(client, item, 400, "item.lot_not_allowed", ["levels.0.available_qty"], entry(location, available_qty=1, lot_number="L"))
    plain = levels(client, item)[0]["id"]
    client.refused("POST", path, 409, "item.untracked_stock", [plain], body={"lot_tracking": "required"})
    client.post(path, {"lot_tracking": "optional"}, expect=200)
    change(client, item, entry(location, available_qty=-1), entry(location, available_qty=1, lot_number="L"))
    client.post(path, {"lot_tracking": "required"}, expect=200)
    tracked = levels(client, item)[0]["id"]
    client.refused("POST", path, 409, "item.untracked_stock", [tracked], body={"lot_tracking": "none"})
    change(client, item, entry(location, available_qty=-1, lot_number="L"))
    client.post(path, {"lot_tracking": "none"}, expect=200)


# ---- lists ----

def test_levels_with_and_without_stock(client):
    location, a, b = place(client, "A", "B")
    item = make_item(client, levels=[entry(location, layout_id=a, available_qty=1), entry(location, layout_id=b, manifested_qty=1)])
    change(client, item, entry(location, layout_id=a, available_qty=-1))
    assert [v["layout_id"] for v in levels(client, item)] == [b]
    assert {v["layout_id"] for v in levels(client, item, "&include_zero_inventory=true")} == {a, b}
    assert levels(client, item, f"&layout_id={a}") == [] and len(levels(client, item, f"&layout_id={a}&include_zero_inventory=true")) == 1
    path = f"{ITEMS}/{item['id']}"
    assert [v["layout_id"] for v in client.get(path).data["levels"]] == [b]
    assert len(client.get(path + "?include_zero_inventory=true").data["levels"]) == 2
    other = make_location(client)
    change(client, item, entry(other, available_qty=3))
    assert [v["layout_name"] for v in client.get(f"{path}?location_id={other['id']}").data["levels"]] == ["Default"]
    client.refused("GET", f"{ITEMS}/item_nope/levels", 404, "not_found")


def test_many_levels_are_cut_and_told(client):
    location = make_location(client)
    path = f"/v1/locations/{location['id']}/layouts"
    rows = client.post(path, [{"name": f"Bin {i}"} for i in range(210)], expect=201).data
    item = make_item(client, levels=[entry(location, layout_id=v["id"], available_qty=i + 1) for i, v in enumerate(rows)])
    d = client.get(f"{ITEMS}/{item['id']}").data
    assert [v["available_qty"] for v in d["levels"]] == list(range(210, 10, -1)) and d["levels_truncated"] is True
    d, = client.get(f"{ITEMS}?id={item['id']}").data
    assert [v["available_qty"] for v in d["levels"]] == list(range(210, 190, -1)) and d["levels_truncated"] is True
    assert d["totals"]["available_qty"] == 211 * 105
    change(client, item, *[entry(location, layout_id=v["id"], available_qty=[0]) for v in rows[200:]])
    d = client.get(f"{ITEMS}/{item['id']}").data
    assert len(d["levels"]) == 200 and d["levels_truncated"] is False
    seen, cursor = [], "start"
    while cursor:
        r = client.get(f"{ITEMS}/{item['id']}/levels?limit=60&cursor={cursor}")
        seen += [v["id"] for v in r.data]
        cursor = r.pagination["next_cursor"]
    assert len(seen) == len(set(seen)) == 200


def test_ledger_filters(client):
    location, a = place(client, "A")
    item = make_item(client, levels=[entry(location, available_qty=5, damaged_qty=1)])
    change(client, item, entry(location, layout_id=a, available_qty=2))
    group = movements(client, item)[-1]["group_id"]
    count = lambda query: len(movements(client, item, query))  # noqa: E731
    assert count("") == 3 and count("&bucket=damaged") == 1 and count("&reason=opening") == 2 and count(f"&group_id={group}") == 1
    assert count(f"&layout_id={a}") == 1 and count(f"&location_id={location['id']}") == 3 and count("&source_type=manifest") == 0
    assert count("&reason=receipt,adjustment") == 1 and count("&created_at[gt]=2100-01-01T00:00:00Z") == 0
    newest = client.get(f"{ITEMS}/{item['id']}/movements").data
    assert newest == movements(client, item)[::-1] and newest[0]["source"] is None
    for method in ("POST", "DELETE"):  # only added to
        client.refused(method, f"{ITEMS}/{item['id']}/movements", 405, "method.not_allowed", body={} if method == "POST" else None)


def test_levels_of_a_moment(client):
    """Spec 09 section 20 item 16."""
    location, a = place(client, "A")
    item = make_item(client)
    known, steps = [], [entry(location, available_qty=5), entry(location, damaged_qty=2), entry(location, layout_id=a, available_qty=1.5),
                        entry(location, layout_id=None, available_qty=[0], damaged_qty=-2), entry(location, layout_id=a, available_qty=-0.5)]
    for step in steps:
        change(client, item, step)
        at = max(v["updated_at"] for v in levels(client, item, "&include_zero_inventory=true"))
        known.append((at, {v["id"]: {k: v[k] for k in v if k.endswith("_qty")} for v in levels(client, item)}))
        time.sleep(0.003)
    for at, state in known:
        assert {v["id"]: {k: v[k] for k in v if k.endswith("_qty")} for v in levels(client, item, f"&at={at}")} == state
    assert levels(client, item, "&at=2020-01-01T00:00:00Z") == [] == levels(client, item, "&at=2020-01-01T00:00:00Z&include_zero_inventory=true")
    assert len(levels(client, item, f"&at={known[0][0]}&include_zero_inventory=true")) == 1
    for bad in ("yesterday", "2025-13-01", "now", "1"):
        client.refused("GET", f"{ITEMS}/{item['id']}/levels?at={bad}", 400, "param.invalid", ["at"])


# ---- access ----

def test_levels_at_other_locations_are_hidden_and_not_counted(org, client):
    """Spec 09 section 20 item 15."""
    here, there = make_location(client), make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=1), entry(there, available_qty=10)])
    limited = org.client(locations=[here["id"]])
    d = limited.get(f"{ITEMS}/{item['id']}").data
    assert [v["location_id"] for v in d["levels"]] == [here["id"]] and d["totals"]["available_qty"] == 1
    assert [v["location_id"] for v in levels(limited, item)] == [here["id"]] and len(movements(limited, item)) == 1
    limited.refused("GET", f"{ITEMS}?location_id={there['id']}", 403, "location_access")
    limited.refused("GET", f"{ITEMS}/{item['id']}/levels?location_id={there['id']}", 403, "location_access")
    refused(limited, item, 403, "location_access", [there["id"]], entry(there, available_qty=1))
    refused(limited, item, 403, "location_access", [there["id"]], entry(here, available_qty=1), entry(there, available_qty=-1))
    assert client.get(f"{ITEMS}/{item['id']}").data["totals"]["available_qty"] == 11
    assert limited.get(f"{ITEMS}/{item['id']}?location_id={there['id']}").data["levels"] == []
    hidden = levels(client, item, f"&location_id={there['id']}")[0]["layout_id"]
    assert limited.get(f"{ITEMS}?layout_id={hidden}").data == []


# ---- layouts and locations that go ----

def test_stock_of_a_removed_layout_goes_to_the_default_one(client):
    location, a = place(client, "A")
    below = client.post(f"/v1/locations/{location['id']}/layouts", {"name": "Below", "path": a}, expect=201).data["id"]
    lots = make_item(client, lot_tracking="required", levels=[entry(location, layout_id=a, available_qty=2, damaged_qty=1, lot_number="L")])
    plain = make_item(client, status="active", levels=[entry(location, layout_id=below, available_qty=3.5), entry(location, layout_id=None, available_qty=1)])
    client.post(f"{ITEMS}/{plain['id']}", {"status": "archived"}, expect=200)
    client.delete(f"/v1/locations/{location['id']}/layouts/{a}")
    default = location["default_layout_id"]
    assert available(client, plain) == {default: 4.5} and available(client, lots) == {default: 2}
    v, = levels(client, lots)
    assert v["damaged_qty"] == 1 and v["lot_number"] == "L"
    m = movements(client, plain)[-1]
    assert m["reason"] == "layout_removed" and m["source"] == {"type": "layout", "id": a}


def test_a_location_with_stock_is_in_use(client):
    location = make_location(client)
    item = make_item(client, levels=[entry(location, manifested_qty=1)])
    client.refused("DELETE", f"/v1/locations/{location['id']}", 409, "location.in_use", ["items"])
    change(client, item, entry(location, manifested_qty=[0]))
    client.delete(f"/v1/locations/{location['id']}")


# ---- at the same time ----

def test_parallel_takes_never_go_below_zero(org, client, location):
    """Spec 09 section 20 item 2."""
    item = make_item(client, levels=[entry(location, available_qty=50)])
    clients = [org.client() for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda i: change(clients[i % 8], item, entry(location, available_qty=-1), expect=None).status, range(64)))
    assert sorted(done) == [200] * 50 + [409] * 14
    assert available(client, item, "&include_zero_inventory=true") == {location["default_layout_id"]: 0}
    assert len(movements(client, item)) == 51


def test_opposed_transfers_never_deadlock(org, client):
    """Spec 09 section 20 item 3."""
    location, a, b = place(client, "A", "B")
    items = [make_item(client, levels=[entry(location, layout_id=x, available_qty=40) for x in (a, b)]) for _ in range(2)]
    clients = [org.client() for _ in range(8)]

    def transfer(i):
        source, target = (a, b) if i % 2 else (b, a)
        return change(clients[i % 8], items[i // 2 % 2], entry(location, layout_id=source, available_qty=-1), entry(location, layout_id=target, available_qty=1), expect=None).status
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert set(pool.map(transfer, range(1000))) <= {200, 409}
    for item in items:
        assert sum(available(client, item).values()) == 80


def test_layouts_removed_beside_receipts_keep_all_stock(org, client):
    location = make_location(client)
    clients = [org.client() for _ in range(6)]
    for _ in range(8):
        shelf = layout(client, location, "Shelf")
        items = [make_item(client) for _ in clients]  # without a level that the removal could wait for
        with concurrent.futures.ThreadPoolExecutor(7) as pool:
            receipts = [pool.submit(change, c, item, entry(location, layout_id=shelf, available_qty=1), expect=None) for c, item in zip(clients, items)]
            pool.submit(client.delete, f"/v1/locations/{location['id']}/layouts/{shelf}", expect=None).result()
            done = [f.result().status for f in receipts]
        assert set(done) <= {200, 400}
        assert [available(client, item) for item in items] == [{location["default_layout_id"]: 1} if status == 200 else {} for status in done]


@pytest.mark.parametrize("failures,status", [(1, 200), (3, 200), (4, 409)])
def test_what_can_not_be_serialized_is_retried(server, client, location, failures, status):
    """Spec 09 section 7 rule 4: a write that meets others in a circle is tried again inside, three times; then it is 409 conflict, and nothing changed."""
    item = make_item(client, levels=[entry(location, available_qty=5)])
    server.sql("CREATE SEQUENCE public.tries")
    server.sql("""CREATE FUNCTION public.meets_others() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN IF nextval('public.tries') <= TG_ARGV[0]::integer THEN RAISE EXCEPTION 'in a circle' USING ERRCODE = 'deadlock_detected'; END IF; RETURN NEW; END $$""")
    try:
        server.sql(f"CREATE TRIGGER meets_others BEFORE UPDATE ON items.level FOR EACH ROW WHEN (NEW.item_id = '{item['id']}') EXECUTE FUNCTION public.meets_others({failures})")
        answer = change(client, item, entry(location, available_qty=2), expect=status)
        tries, = server.sql("SELECT last_value FROM public.tries")[0]
    finally:
        server.sql("DROP FUNCTION public.meets_others CASCADE")
        server.sql("DROP SEQUENCE public.tries")
    assert tries == 4 if status == 409 else tries == failures + 1
    assert available(client, item) == {location["default_layout_id"]: 5 if status == 409 else 7}
    if status == 409:
        assert answer.code == "conflict"
    assert len(movements(client, item)) == (1 if status == 409 else 2)
