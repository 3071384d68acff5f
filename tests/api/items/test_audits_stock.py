"""What approving an audit does to the stock, and what becomes of tasks whose layouts go: spec 01 section 14, spec 09 section 14."""
import json

import pytest

from audits import audit_of, count_all, make_audit, reason, refused_audit, set_audit
from stock import ITEMS, available, broken_invariants, change, entry, layout, levels, make_item, movements, place
from wharf import make_location, until


@pytest.fixture(scope="module")
def why(client):
    return reason(client, "STOCK")


def approve(client, audit, why):
    """Counted already."""
    if audit_of(client, audit)["status"] != "in_review":
        set_audit(client, audit, status="in_review")
    return set_audit(client, audit, status="approved", tasks=[{"id": t["id"], "reason_code_id": why} for t in audit_of(client, audit)["tasks"]])


def by_lot(client, item):
    return {v["lot_number"]: v["available_qty"] for v in levels(client, item, "&include_zero_inventory=true")}


def test_movements_between_review_and_approval_are_kept(client, why):
    here, there = make_location(client), make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=10)])
    audit = make_audit(client, here)
    count_all(client, audit, 7)
    set_audit(client, audit, status="in_review")
    change(client, item, entry(here, available_qty=-6), entry(there, available_qty=6))
    approve(client, audit, why)
    assert available(client, item) == {here["default_layout_id"]: 1, there["default_layout_id"]: 6}
    assert movements(client, item)[-1]["delta"] == -3


def test_stock_below_zero_is_refused_and_nothing_is_booked(client, org, server, why):
    here = make_location(client)
    a = make_item(client, "A", levels=[entry(here, available_qty=10)])
    b = make_item(client, "B", levels=[entry(here, available_qty=10)])
    c = make_item(client, "C", levels=[entry(here, available_qty=1, damaged_qty=4)])
    audit = make_audit(client, here)
    count_all(client, audit, 3, 11, 2, reason_code_id=why)
    set_audit(client, audit, status="in_review")
    change(client, a, entry(here, available_qty=-6))
    before = audit_of(client, audit), len(org.events(audit["id"]))
    refused_audit(client, audit, 409, "audit.negative_stock", ["tasks.0.counted_qty", "tasks.2.counted_qty"], status="approved")
    assert (audit_of(client, audit), len(org.events(audit["id"]))) == before
    assert (available(client, a), available(client, b), available(client, c)) == tuple({here["default_layout_id"]: q} for q in (4, 10, 1))
    assert client.get(f"{ITEMS}/{b['id']}").data["last_audited_at"] is None
    change(client, a, entry(here, available_qty=3))
    change(client, c, entry(here, available_qty=2))
    set_audit(client, audit, status="approved")
    assert (available(client, a), available(client, b), available(client, c)) == ({here["default_layout_id"]: 0}, {here["default_layout_id"]: 11}, {here["default_layout_id"]: 0}) or \
        (available(client, a), available(client, b), available(client, c)) == ({}, {here["default_layout_id"]: 11}, {here["default_layout_id"]: 0})
    assert broken_invariants(server, org.id) == []


def test_an_audit_that_only_looks(client, why):
    here = make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=10)])
    audit = make_audit(client, here, update_inventory=False)
    count_all(client, audit, 20)
    done = approve(client, audit, why)
    assert done["group_id"] is None and available(client, item) == {here["default_layout_id"]: 10} and done["tasks"][0]["discrepancy"] == 10
    assert client.get(f"{ITEMS}/{item['id']}").data["last_audited_at"]


def test_whether_it_books_can_change_until_approval(client, why):
    here = make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=10)])
    audit = make_audit(client, here, update_inventory=False)
    count_all(client, audit, 11)
    set_audit(client, audit, status="in_review", update_inventory=True)
    approve(client, audit, why)
    assert available(client, item) == {here["default_layout_id"]: 11}


def test_what_was_counted_says_when(client, why):
    here, shelf, other = place(client, "Shelf", "Other")
    item = make_item(client, levels=[entry(here, layout_id=shelf, available_qty=1)])
    rest = make_item(client, levels=[entry(here, layout_id=other, available_qty=1)])

    def when():
        layouts = {v["id"]: v["last_audited_at"] for v in client.get(f"/v1/locations/{here['id']}/layouts").data}
        return [client.get(f"/v1/locations/{here['id']}").data["last_audited_at"], layouts[shelf], layouts[other], *(client.get(f"{ITEMS}/{x['id']}").data["last_audited_at"] for x in (item, rest)),
                *(levels(client, x)[0]["last_audited_at"] for x in (item, rest))]
    assert when() == [None] * 7
    audit = make_audit(client, here, layout_ids=[shelf])
    count_all(client, audit)
    assert when() == [None] * 7
    done = approve(client, audit, why)
    at = done["finished_at"]
    assert when() == [at, at, None, at, None, at, None]
    stale = client.get(f"/v1/locations/{here['id']}").headers["ETag"]
    again = make_audit(client, here)
    count_all(client, again)
    later = approve(client, again, why)["finished_at"]
    assert when() == [later] * 7 and client.get(f"/v1/locations/{here['id']}").headers["ETag"] != stale


def test_the_time_of_an_audit_is_no_news_of_what_was_counted(client, org, why):
    here, shelf = place(client, "Shelf")
    item = make_item(client, levels=[entry(here, layout_id=shelf, available_qty=1)])
    known = (here["id"], shelf, item["id"], levels(client, item)[0]["id"])
    before = [len(org.events(id)) for id in known]
    audit = make_audit(client, here)
    count_all(client, audit)
    approve(client, audit, why)
    assert client.get(f"{ITEMS}/{item['id']}").data["last_audited_at"] and [len(org.events(id)) for id in known] == before


def test_a_canceled_audit_counted_nothing(client):
    here = make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=1)])
    audit = make_audit(client, here)
    count_all(client, audit)
    set_audit(client, audit, status="canceled")
    assert client.get(f"{ITEMS}/{item['id']}").data["last_audited_at"] is None and client.get(f"/v1/locations/{here['id']}").data["last_audited_at"] is None


def test_which_differences_need_a_reason(fresh, client):
    client = fresh.client()
    client.post("/v1/org", {"settings": {"audits": {"approval_threshold": 2.5}}}, expect=200)
    here = make_location(client)
    for name in "ABCD":
        make_item(client, name, levels=[entry(here, available_qty=10)])
    audit = make_audit(client, here)
    count_all(client, audit, "12.5", "12.5001", "7.4999", 10)
    set_audit(client, audit, status="in_review")
    refused_audit(client, audit, 400, "audit.reason_required", ["tasks.1.reason_code_id", "tasks.2.reason_code_id"], status="approved")
    client.post("/v1/org", {"settings": {"audits": {"approval_threshold": 2.5001}}}, expect=200)
    set_audit(client, audit, status="approved")


def test_an_archived_item_can_be_counted_up(client, why):
    here = make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=1)])
    change(client, item, status="archived")
    audit = make_audit(client, here)
    count_all(client, audit, 3)
    approve(client, audit, why)
    assert available(client, item) == {here["default_layout_id"]: 3}


def test_events_of_what_is_booked(client, org, why):
    here = make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=5)], low_stock_thresholds=[{"location_id": here["id"], "available_qty": 4}])
    level, = levels(client, item)
    audit = make_audit(client, here)
    count_all(client, audit, 3)
    done = approve(client, audit, why)
    told = {type: data if isinstance(data, dict) else json.loads(data) for type, data, _, _ in org.events(level["id"])[2:]}
    assert told.keys() == {"inventory.level_updated", "inventory.adjusted", "inventory.low_stock"}
    assert told["inventory.adjusted"]["reason"] == "audit" and told["inventory.adjusted"]["group_id"] == done["group_id"] and [m["delta"] for m in told["inventory.adjusted"]["movements"]] == [-2]
    assert [e[0] for e in org.events(item["id"])] == ["item.created"]


# ---- lots ----

def lots_of(client, here, tracking="optional", **quantities):
    """Lots as they were made: the first of them is the oldest."""
    item = make_item(client, lot_tracking=tracking)
    for lot, q in quantities.items():
        change(client, item, entry(here, lot_number=lot if lot != "none" else None, available_qty=q))
    return item


def expire(client, item, **days):
    for lot in client.get(f"{ITEMS}/{item['id']}/lots").data:
        if lot["lot_number"] in days:
            client.post(f"{ITEMS}/{item['id']}/lots/{lot['id']}", {"expires_at": days[lot["lot_number"]]}, expect=200)


def counted_as(client, here, item, quantity, why, **more):
    audit = make_audit(client, here, item_ids=[item["id"]])
    count_all(client, audit, quantity, **more)
    approve(client, audit, why)
    return by_lot(client, item)


def test_a_surplus_goes_to_the_newest_lot(client, why):
    here = make_location(client)
    item = lots_of(client, here, A=1, B=2, C=3, none=4)
    change(client, item, entry(here, lot_number="C", available_qty=-3))
    assert counted_as(client, here, item, 10, why) == {"A": 1, "B": 5, "C": 0, None: 4}  # of those that are there
    assert counted_as(client, here, lots_of(client, here, "required", A=1, B=2), 5, why) == {"A": 1, "B": 4}
    assert counted_as(client, here, lots_of(client, here, "optional", none=2), 5, why) == {None: 5}


def test_a_deficit_is_taken_in_the_order_of_builds(client, why):
    here = make_location(client)
    item = lots_of(client, here, old=2, later=2, soon=2, none=2, gone=2)
    expire(client, item, later="2099-06-01T00:00:00Z", soon="2099-01-01T00:00:00Z", gone="2020-01-01T00:00:00Z")
    assert counted_as(client, here, item, 9, why) == {"soon": 1, "later": 2, "old": 2, None: 2, "gone": 2}
    assert counted_as(client, here, item, 6, why) == {"soon": 0, "later": 0, "old": 2, None: 2, "gone": 2}
    assert counted_as(client, here, item, 3, why) == {"soon": 0, "later": 0, "old": 0, None: 1, "gone": 2}
    assert counted_as(client, here, item, 1, why) == {"soon": 0, "later": 0, "old": 0, None: 0, "gone": 1}  # what has expired is the last


def test_a_lot_that_the_count_names_has_the_difference(client, why):
    here = make_location(client)
    item = lots_of(client, here, A=5, B=5)
    assert counted_as(client, here, item, 12, why, lot_number="A") == {"A": 7, "B": 5}
    assert counted_as(client, here, item, 9, why, lot_number="B") == {"A": 7, "B": 2}
    assert counted_as(client, here, item, 10, why, lot_number="New") == {"A": 7, "B": 2, "New": 1}
    audit = make_audit(client, here, item_ids=[item["id"]])
    count_all(client, audit, 7, lot_number="B", reason_code_id=why)
    set_audit(client, audit, status="in_review")
    refused_audit(client, audit, 409, "audit.negative_stock", ["tasks.0.counted_qty"], status="approved")
    set_audit(client, audit, status="approved", tasks=[{"id": audit["tasks"][0]["id"], "lot_number": None}])
    assert by_lot(client, item) == {"A": 4, "B": 2, "New": 1}


def test_differences_of_layouts_stay_in_their_layouts(client, why):
    here, shelf = place(client, "Shelf")
    item = make_item(client, lot_tracking="optional", levels=[entry(here, layout_id=x, lot_number="L", available_qty=5) for x in (shelf, here["default_layout_id"])])
    audit = make_audit(client, here)
    count_all(client, audit, 1, 7)
    approve(client, audit, why)
    assert available(client, item) == {here["default_layout_id"]: 1, shelf: 7}


# ---- layouts that go ----

def remove(client, here, *layouts, move_to=None):
    for x in layouts:
        client.delete(f"/v1/locations/{here['id']}/layouts/{x}" + (f"?move_to={move_to}" if move_to else ""))


def tasks_of(client, audit):
    return [(t["layout_id"], t["total_qty"], t["counted_qty"]) for t in audit_of(client, audit)["tasks"]]


def test_a_task_goes_with_the_stock_of_its_layout(client, why):
    here, a, b = place(client, "A", "B")
    item = make_item(client, levels=[entry(here, layout_id=a, available_qty=10), entry(here, layout_id=b, available_qty=4)])
    audit = make_audit(client, here)
    count_all(client, audit, 9, 4)
    remove(client, here, a)
    assert tasks_of(client, audit) == [(a, 0, 9), (b, 4, 4)]
    set_audit(client, audit, status="in_review")
    assert tasks_of(client, audit) == [(here["default_layout_id"], 10, 9), (b, 4, 4)]
    approve(client, audit, why)
    assert available(client, item) == {here["default_layout_id"]: 9, b: 4}


def test_two_tasks_whose_stock_comes_together_become_one(client, why):
    here, a, b = place(client, "A", "B")
    item = make_item(client, levels=[entry(here, layout_id=a, available_qty=10), entry(here, layout_id=b, available_qty=4)])
    audit = make_audit(client, here)
    count_all(client, audit, 9, 4)
    remove(client, here, a, move_to=b)
    shown = set_audit(client, audit, status="in_review")
    assert tasks_of(client, audit) == [(b, 14, 13)] and (shown["task_count"], shown["counted_count"], shown["discrepant_count"]) == (1, 1, 1)
    approve(client, audit, why)
    assert available(client, item) == {b: 13}


def test_a_task_that_takes_in_another_one_is_counted_when_both_were(client):
    here, a, b = place(client, "A", "B")
    make_item(client, levels=[entry(here, layout_id=a, available_qty=10), entry(here, layout_id=b, available_qty=4)])
    audit = make_audit(client, here)
    set_audit(client, audit, tasks=[{"id": audit["tasks"][1]["id"], "counted_qty": 4}])
    remove(client, here, a, move_to=b)
    refused_audit(client, audit, 400, "audit.uncounted", ["tasks.0.counted_qty"], status="in_review")
    tasks = audit_of(client, audit)["tasks"]
    set_audit(client, audit, tasks=[{"id": t["id"], "counted_qty": q} for t, q in zip(tasks, (10, 4))], status="in_review")
    assert tasks_of(client, audit) == [(b, 14, 14)]


def test_a_layout_that_goes_between_review_and_approval(client, why):
    here, a, b = place(client, "A", "B")
    item = make_item(client, levels=[entry(here, layout_id=a, available_qty=10), entry(here, layout_id=b, available_qty=4)])
    both, one = make_audit(client, here), make_audit(client, here, layout_ids=[a])
    count_all(client, both, 8, 5)
    count_all(client, one, 9)
    for audit in (both, one):
        set_audit(client, audit, status="in_review")
    remove(client, here, a, move_to=b)
    approve(client, both, why)
    assert available(client, item) == {b: 13} and tasks_of(client, both) == [(b, 14, 13)]
    approve(client, one, why)  # what was counted there lies elsewhere now
    assert available(client, item) == {b: 12} and tasks_of(client, one) == [(b, 10, 9)]


def test_a_task_leaves_an_audit_that_is_about_other_layouts(client, why):
    here, a, b, c = place(client, "A", "B", "C")
    below = client.post(f"/v1/locations/{here['id']}/layouts", {"name": "Below B", "path": b}, expect=201).data["id"]
    item = make_item(client, levels=[entry(here, layout_id=x, available_qty=10) for x in (a, b, c)])
    audit, wide = make_audit(client, here, layout_ids=[a, b]), make_audit(client, here, layout_ids=[a, b])
    count_all(client, audit, 10, 10)
    count_all(client, wide, 10, 10)
    remove(client, here, a, move_to=c)
    assert set_audit(client, audit, status="in_review")["task_count"] == 1 and tasks_of(client, audit) == [(b, 10, 10)]
    change(client, item, entry(here, layout_id=b, available_qty=-10), entry(here, layout_id=below, available_qty=10))
    assert wide["task_count"] == 2 and set_audit(client, wide, status="in_review")["discrepant_count"] == 1
    approve(client, audit, why)
    assert available(client, item) == {below: 10, c: 20}


def test_a_layout_whose_heir_goes_too(client, why):
    here, a, b, c = place(client, "A", "B", "C")
    item = make_item(client, levels=[entry(here, layout_id=a, available_qty=10)])
    audit = make_audit(client, here)
    count_all(client, audit, 11)
    remove(client, here, a, move_to=b)
    remove(client, here, b, move_to=c)
    approve(client, audit, why)
    assert available(client, item) == {c: 11} and tasks_of(client, audit) == [(c, 10, 11)]


def test_an_item_that_is_deleted_meanwhile(client, why):
    here = make_location(client)
    a, b = (make_item(client, name, levels=[entry(here, available_qty=1)]) for name in "AB")
    audit = make_audit(client, here)
    for item in (a, b):
        change(client, item, entry(here, available_qty=[0]))
        client.delete(f"{ITEMS}/{item['id']}")
    count_all(client, audit, 0, 2, reason_code_id=why)
    set_audit(client, audit, status="in_review")
    refused_audit(client, audit, 400, "validation.failed", ["tasks.1.counted_qty"], status="approved")
    set_audit(client, audit, status="recount")
    set_audit(client, audit, tasks=[{"id": audit["tasks"][1]["id"], "counted_qty": 0}], status="in_review")
    set_audit(client, audit, status="approved")


# ---- size ----

def fill(server, organization, location, layout_id, n):
    """Items with one piece each, as the server would write them."""
    server.sql(
        "INSERT INTO items.item (organization_id, id, name, item_type, base_uom, uom_category, lot_tracking, status, created_at, updated_at)"
        " SELECT %s, 'item_fill' || i, 'Fill ' || i, 'inventory', 'each', 'count', 'none', 'active', now(), now() FROM generate_series(1, %s) i;"
        "INSERT INTO items.level (organization_id, id, item_id, location_id, layout_id, available, moves, moved_at, created_at, updated_at)"
        " SELECT %s, 'lvl_fill' || i, 'item_fill' || i, %s, %s, 1, 1, now(), now(), now() FROM generate_series(1, %s) i;"
        "INSERT INTO items.stock_movement (organization_id, id, item_id, level_id, location_id, layout_id, bucket, delta, balance_after, reason, group_id, position, created_at, updated_at)"
        " SELECT %s, 'mov_fill' || i, 'item_fill' || i, 'lvl_fill' || i, %s, %s, 'available', 1, 1, 'opening', 'mvg_fill', 1, now(), now() FROM generate_series(1, %s) i",
        organization, n, organization, location, layout_id, n, organization, location, layout_id, n)
    server.sql("ANALYZE items.item, items.level, items.stock_movement")  # as PostgreSQL does itself a minute later


def test_an_audit_has_at_most_ten_thousand_tasks(fresh, server):
    client = fresh.client()
    here = make_location(client)
    fill(server, fresh.id, here["id"], here["default_layout_id"], 10001)
    # a busy machine may have no time to count them
    refused = until(lambda: next((r for r in (client.request("POST", "/v1/audits", {"location_id": here["id"]}),) if r.code != "overloaded"), None))
    assert (refused.raw.status_code, refused.code, refused.errors) == (400, "audit.too_large", [])
    change(client, {"id": "item_fill7"}, entry(here, available_qty=-1))
    audit = make_audit(client, here)
    assert audit["task_count"] == len(audit["tasks"]) == 10000
    row, = client.get("/v1/audits").data
    assert [t["id"] for t in row["tasks"]] == [t["id"] for t in audit["tasks"][:20]] and row["tasks_truncated"] is True
    refused = client.request("POST", f"/v1/audits/{audit['id']}", {"status": "in_review"})
    assert refused.code == "audit.uncounted" and refused.errors == [f"tasks.{i}.counted_qty" for i in range(100)]
    client.post("/v1/org", {"settings": {"audits": {"approval_threshold": 1}}}, expect=200)
    shown = set_audit(client, audit, tasks=[{"id": t["id"], "counted_qty": i % 3} for i, t in enumerate(audit["tasks"])], status="in_review")
    assert shown["discrepant_count"] == 6667
    set_audit(client, audit, status="approved")
    total, = server.sql("SELECT sum(available) FROM items.level WHERE organization_id = %s", fresh.id)
    assert total[0] == sum(i % 3 for i in range(10000)) and broken_invariants(server, fresh.id) == []
