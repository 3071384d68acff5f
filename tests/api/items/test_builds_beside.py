"""Builds beside changes of the bills that they build by: spec 09 sections 10, 12 and 20 items 7, 17. The moments are forced with row locks."""
import concurrent.futures
import contextlib

import psycopg2
import pytest

from bills import bill_path, bom_of, build, make_assembly, make_bom, orders, stocked
from stock import broken_invariants, levels
from wharf import make_location, until

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
ROW = "SELECT 1 FROM items.bom WHERE id = %s FOR UPDATE"
DEFAULT = "UPDATE items.bom SET is_default = false WHERE item_id = %s AND is_default; UPDATE items.bom SET is_default = true WHERE id = %s"


def stock_of(client, *items):
    return [sum(v["available_qty"] for v in levels(client, item)) for item in items]


def waiting(server, n):
    until(lambda: server.sql(WAITING) == [(n,)])


@contextlib.contextmanager
def in_turn(server, bom, *calls):
    """Starts the calls one behind the other while the bill's row is locked, so that they get it in this order; then hands out their futures."""
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        with server.held(ROW, bom["id"]):
            futures = []
            for call, *args in calls:
                futures.append(pool.submit(call, *args))
                waiting(server, len(futures))
        yield futures


def sent(client, method, path, body):
    return client.request(method, path, body)


@pytest.fixture
def kit(client):
    """An assembly of one b each, and 10 b in stock; what else it can be made of."""
    here = make_location(client)
    b, c, a = stocked(client, here, 10, "B"), stocked(client, here, 10, "C"), make_assembly(client)
    return here, a, b, c, make_bom(client, a, b)


def test_a_build_that_waited_goes_by_the_version_that_is_current_then(server, org, client, kit):
    here, a, b, c, bom = kit
    path = bill_path(a, bom)
    change = sent, org.client(), "POST", path, {"components": [{"item_id": c["id"], "quantity": 3}]}
    ask = sent, client, "POST", path + "/build", {"location_id": here["id"], "quantity": 2}
    with in_turn(server, bom, change, ask) as futures:
        changed, built = (f.result() for f in futures)
    assert (changed.status, built.status) == (200, 201)
    assert built.data["bom_version"] == bom_of(client, a, bom)["version"] == 2
    assert stock_of(client, a, b, c) == [2, 10, 4]


@pytest.mark.parametrize("change,code", [("components", "bom.version_conflict"), ("status", "bom.inactive")])
def test_a_build_that_waited_is_refused_by_what_the_bill_has_become(server, org, client, kit, change, code):
    here, a, b, c, bom = kit
    path = bill_path(a, bom)
    body = {"components": [{"item_id": c["id"], "quantity": 3}]} if change == "components" else {"status": "inactive"}
    ask = sent, client, "POST", path + "/build", {"location_id": here["id"], "quantity": 2, "expected_version": 1}
    with in_turn(server, bom, (sent, org.client(), "POST", path, body), ask) as futures:
        changed, built = (f.result() for f in futures)
    assert (changed.status, built.status, built.code) == (200, 409, code)
    assert orders(client, a) == [] and stock_of(client, a, b, c) == [0, 10, 10]


def test_a_change_waits_for_the_build_that_goes_by_the_bill(server, org, client, kit):
    """The build holds its bill to its end: it is stopped at its stock, and the bill can't be changed meanwhile."""
    here, a, b, c, bom = kit
    path = bill_path(a, bom)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        with server.held("SELECT 1 FROM items.level WHERE item_id = %s FOR UPDATE", b["id"]):
            built = pool.submit(sent, client, "POST", path + "/build", {"location_id": here["id"], "quantity": 2})
            waiting(server, 1)
            changed = pool.submit(sent, org.client(), "POST", path, {"components": [{"item_id": c["id"], "quantity": 3}]})
            waiting(server, 2)
            assert server.sql("SELECT bom_version FROM items.bom WHERE id = %s", bom["id"]) == [(1,)]
        assert built.result().data["bom_version"] == 1 and changed.result().data["version"] == 2
    assert stock_of(client, a, b, c) == [2, 8, 10]


# ---- bills of what is built first ----

@pytest.fixture
def two_levels(client):
    """An assembly of one part, which four bills build, each of a material of its own."""
    here = make_location(client)
    part, top = make_assembly(client, "Part"), make_assembly(client, "Top")
    materials = [stocked(client, here, 10, f"M{i}") for i in range(4)]
    bills = [make_bom(client, part, m) for m in materials]
    return here, part, top, materials, bills, make_bom(client, top, part)


def built_first(client, order, part):
    return [o["bom_id"] for o in orders(client, part) if o["parent_order_id"] == order["id"]]


def test_a_part_is_built_by_the_bill_that_became_the_default_one_meanwhile(server, client, two_levels):
    here, part, top, materials, bills, bom = two_levels
    db = psycopg2.connect(server.conninfo)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, contextlib.closing(db), db.cursor() as c:
        c.execute(ROW, (bills[0]["id"],))
        built = pool.submit(build, client, top, bom, here, 3, build_subassemblies=True)
        waiting(server, 1)
        c.execute(DEFAULT, (part["id"], bills[1]["id"]))
        db.commit()
        order = built.result()
    assert built_first(client, order, part) == [bills[1]["id"]]
    assert stock_of(client, top, *materials) == [3, 10, 7, 10, 10]


def test_a_part_is_built_by_the_components_that_its_bill_got_meanwhile(server, org, client, two_levels):
    here, part, top, materials, bills, bom = two_levels
    change = sent, org.client(), "POST", bill_path(part, bills[0]), {"components": [{"item_id": materials[3]["id"], "quantity": 2}]}
    ask = sent, client, "POST", bill_path(top, bom) + "/build", {"location_id": here["id"], "quantity": 3, "build_subassemblies": True}
    with in_turn(server, bills[0], change, ask) as futures:
        changed, built = (f.result() for f in futures)
    assert (changed.status, built.status) == (200, 201)
    assert stock_of(client, top, *materials) == [3, 10, 10, 10, 4]


@contextlib.contextmanager
def changing_bills(server, part, bills, changes):
    """Each time when a build holds bills of the part, another one becomes its default, so many times. A try that fails takes its changes back; the sequence counts on."""
    server.sql("CREATE SEQUENCE public.holds")
    server.sql("ALTER FUNCTION items.boms_hold(text[]) RENAME TO boms_hold_only")
    ids = [b["id"] for b in bills]
    try:
        server.sql(f"""CREATE FUNCTION items.boms_hold(boms text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
            DECLARE
                ids CONSTANT text[] := ARRAY{ids};
                n integer;
            BEGIN
                PERFORM items.boms_hold_only(boms);
                IF NOT boms && ids OR nextval('public.holds') > {changes} THEN RETURN; END IF;
                SELECT array_position(ids, id::text) INTO n FROM items.bom WHERE item_id = '{part["id"]}' AND is_default;
                UPDATE items.bom SET is_default = false WHERE item_id = '{part["id"]}' AND is_default;
                UPDATE items.bom SET is_default = true WHERE id = ids[mod(n, 4) + 1];
            END $$""")
        yield lambda: server.sql("SELECT last_value FROM public.holds")[0][0]
    finally:
        server.sql("DROP FUNCTION IF EXISTS items.boms_hold(text[])")
        server.sql("ALTER FUNCTION items.boms_hold_only(text[]) RENAME TO boms_hold")
        server.sql("DROP SEQUENCE public.holds")


@pytest.mark.parametrize("changes", [1, 2, 3, 11, 12])
def test_bills_that_change_each_time_they_are_read(server, org, client, two_levels, changes):
    """A try of a build holds and reads the bills below three times, and there are four tries; then it is 409 conflict, and nothing is changed."""
    here, part, top, materials, bills, bom = two_levels
    status = 409 if changes == 12 else 201
    with changing_bills(server, part, bills, changes) as holds:
        answer = client.post(bill_path(top, bom) + "/build", {"location_id": here["id"], "quantity": 3, "build_subassemblies": True}, expect=status)
        assert holds() == min(changes + 1, 12)
    if status == 409:
        assert answer.code == "conflict" and orders(client, top) == orders(client, part) == []
        assert stock_of(client, top, *materials) == [0, 10, 10, 10, 10]
        build(client, top, bom, here, 3, build_subassemblies=True)
        assert stock_of(client, top, *materials) == [3, 7, 10, 10, 10]
        return
    used = changes % 3  # changes of the last try: as many bills further than the first one
    assert built_first(client, answer.data, part) == [bills[used]["id"]]
    assert stock_of(client, top, *materials) == [3] + [7 if i == used else 10 for i in range(4)]
    assert broken_invariants(server, org.id) == []
