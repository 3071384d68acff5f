"""Audits, what they are and which status follows which: spec 01 section 14."""
import concurrent.futures
import datetime
import json

import pytest

from audits import AUDITS, audit_of, count, count_all, make_audit, reason, refused_audit, set_audit, task_path
from stock import ITEMS, available, change, entry, make_item, movements, place
from wharf import make_location, until

STEPS = {"created": {"processing", "in_review", "canceled"}, "processing": {"in_review", "canceled"}, "in_review": {"recount", "approved", "canceled"},
         "recount": {"in_review", "canceled"}, "approved": set(), "canceled": set()}


def counted(client, status, **more):
    """An audit of one task, without difference, in a status."""
    here = make_location(client)
    make_item(client, levels=[entry(here, available_qty=5)])
    audit = make_audit(client, here, **more)
    for step in {"created": [], "processing": ["processing"], "in_review": ["in_review"], "recount": ["in_review", "recount"], "approved": ["in_review", "approved"], "canceled": ["canceled"]}[status]:
        if step == "in_review":
            count_all(client, audit)
        set_audit(client, audit, status=step)
    return audit_of(client, audit)


def ago(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_an_audit_from_start_to_end(client):
    here, shelf = place(client, "Shelf")
    a = make_item(client, "A", levels=[entry(here, layout_id=shelf, available_qty=10), entry(here, available_qty="2.5", layout_id=None)])
    b = make_item(client, "B", sku="SKU-B", levels=[entry(here, layout_id=shelf, available_qty=4, damaged_qty=1)])
    audit = make_audit(client, here)
    assert (audit["object"], audit["status"], audit["number"], audit["priority"], audit["overdue"], audit["finished_at"], audit["update_inventory"], audit["complete_at"]) == (
        "audit", "created", "AUD-1", "medium", False, None, True, None)
    assert audit["item_ids"] == audit["layout_ids"] == [] and audit["by_item"] is audit["by_layout"] is None and audit["tasks_truncated"] is False
    assert [(t["item_id"], t["layout_id"], t["total_qty"], t["counted_qty"], t["discrepancy"]) for t in audit["tasks"]] == [
        (a["id"], here["default_layout_id"], 2.5, None, None), (a["id"], shelf, 10, None, None), (b["id"], shelf, 5, None, None)]
    assert {k: audit["tasks"][2][k] for k in ("object", "audit_id", "item_name", "sku", "base_uom", "layout_name", "reason_code_id", "lot_number", "counted_by", "counted_at", "total_at_count")} == {
        "object": "audit_task", "audit_id": audit["id"], "item_name": "B", "sku": "SKU-B", "base_uom": "each", "layout_name": "Shelf", "reason_code_id": None, "lot_number": None, "counted_by": None,
        "counted_at": None, "total_at_count": None}
    t = count(client, audit, audit["tasks"][0], 3)
    assert (t["object"], t["counted_qty"], t["discrepancy"], t["total_qty"], t["total_at_count"]) == ("audit_task", 3, 0.5, 2.5, 2.5) and t["counted_by"] and t["counted_at"]
    shown = audit_of(client, audit)
    assert (shown["status"], shown["task_count"], shown["counted_count"], shown["discrepant_count"]) == ("processing", 3, 1, None)
    refused_audit(client, audit, 400, "audit.uncounted", ["tasks.1.counted_qty", "tasks.2.counted_qty"], status="in_review")
    code = reason(client, "FIRST")
    shown = set_audit(client, audit, tasks=[{"id": audit["tasks"][1]["id"], "counted_qty": "8"}, {"id": audit["tasks"][2]["id"], "counted_qty": 5}], status="in_review")
    assert (shown["status"], shown["counted_count"], shown["discrepant_count"]) == ("in_review", 3, 2)
    refused_audit(client, audit, 400, "audit.reason_required", ["tasks.0.reason_code_id", "tasks.1.reason_code_id"], status="approved")
    done = set_audit(client, audit, tasks=[{"id": t["id"], "reason_code_id": code} for t in audit["tasks"][:2]], status="approved")
    assert done["status"] == "approved" and done["finished_at"] and done["group_id"]
    assert available(client, a) == {here["default_layout_id"]: 3, shelf: 8} and available(client, b) == {shelf: 4}
    source = {"type": "audit", "id": audit["id"]}
    assert [(m["delta"], m["reason"], m["source"], m["reason_code_id"], m["group_id"], m["layout_id"]) for m in movements(client, a)[2:]] == [
        (0.5, "audit", source, code, done["group_id"], here["default_layout_id"]), (-2, "audit", source, code, done["group_id"], shelf)]
    assert client.get(f"{ITEMS}/{b['id']}/movements?source_id={audit['id']}").data == []


# ---- create ----

def test_only_items_and_layouts_that_are_named_are_counted(client):
    here, aisle, other = place(client, "Aisle", "Other")
    shelf = client.post(f"/v1/locations/{here['id']}/layouts", {"name": "Shelf", "path": aisle}, expect=201).data["id"]
    a = make_item(client, "A", levels=[entry(here, layout_id=x, available_qty=1) for x in (aisle, shelf, other)])
    b = make_item(client, "B", levels=[entry(here, layout_id=x, available_qty=1) for x in (shelf, other)])

    def found(**scope):
        return [(t["item_id"], t["layout_id"]) for t in make_audit(client, here, **scope)["tasks"]]
    assert found() == [(a["id"], aisle), (a["id"], shelf), (b["id"], shelf), (a["id"], other), (b["id"], other)]  # as one walks past them
    assert found(item_ids=[b["id"]]) == [(b["id"], shelf), (b["id"], other)]
    assert found(layout_ids=[aisle]) == [(a["id"], aisle), (a["id"], shelf), (b["id"], shelf)]  # with what lies below
    assert found(layout_ids=[other], item_ids=[a["id"]]) == [(a["id"], other)]
    audit = make_audit(client, here, layout_ids=[other], item_ids=[a["id"]])
    assert (audit["item_ids"], audit["layout_ids"]) == ([a["id"]], [other])
    for field in ("item_ids", "layout_ids"):
        refused_audit(client, audit, 400, "validation.failed", [field], **{field: []})
    refused_audit(client, audit, 400, "validation.failed", ["location_id"], location_id=make_location(client)["id"])


def test_what_is_counted_has_stock_on_hand(client):
    here = make_location(client)
    body = {"location_id": here["id"]}
    client.refused("POST", AUDITS, 400, "audit.nothing_to_count", [], body=body)
    expected = make_item(client, "Expected", levels=[entry(here, manifested_qty=5)])
    gone = make_item(client, "Gone", levels=[entry(here, available_qty=5), entry(here, available_qty=-5)])
    client.refused("POST", AUDITS, 400, "audit.nothing_to_count", [], body=body)
    damaged = make_item(client, "Damaged", levels=[entry(here, damaged_qty=2)])
    assert [t["item_id"] for t in make_audit(client, here)["tasks"]] == [damaged["id"]]
    for item in (expected, gone):
        client.refused("POST", AUDITS, 400, "audit.nothing_to_count", [], body={**body, "item_ids": [item["id"]]})
    archived = make_item(client, "Archived", levels=[entry(here, available_qty=1)])
    change(client, archived, status="archived")
    assert [t["item_name"] for t in make_audit(client, here)["tasks"]] == ["Archived", "Damaged"]


def test_lots_of_a_layout_are_one_task(client):
    here, shelf = place(client, "Shelf")
    item = make_item(client, lot_tracking="optional", levels=[entry(here, layout_id=shelf, lot_number=lot, available_qty=q) for lot, q in (("A", 1), ("B", 2.5))] + [entry(here, layout_id=shelf, available_qty=4)])
    assert [(t["item_id"], t["total_qty"]) for t in make_audit(client, here)["tasks"]] == [(item["id"], 7.5)]


@pytest.mark.parametrize("body, field", [({}, "location_id"), ({"location_id": "loc_none"}, "location_id"), ({"item_ids": ["item_none"]}, "item_ids.0"), ({"layout_ids": ["lay_none"]}, "layout_ids.0"),
                                         ({"item_ids": ["item_none"] * 1001}, "item_ids"), ({"layout_ids": ["lay_none"] * 1001}, "layout_ids"),
                                         ({"priority": "urgent"}, "priority"), ({"complete_at": "2024-01-01"}, "complete_at"), ({"update_inventory": "no"}, "update_inventory"), ({"number": "x" * 65}, "number")])
def test_what_a_request_must_not_say(client, location, body, field):
    full = {} if body == {} else {"location_id": location["id"], **body}
    client.refused("POST", AUDITS, 400, "validation.failed", [field], body=full)


def test_layouts_lie_in_the_location(client):
    here, (there, shelf) = make_location(client), place(client, "Shelf")
    make_item(client, levels=[entry(here, available_qty=1)])
    client.refused("POST", AUDITS, 400, "validation.failed", ["layout_ids.1"], body={"location_id": here["id"], "layout_ids": [here["default_layout_id"], shelf]})


def test_numbers_are_unique_at_a_location(client):
    here, there = make_location(client), make_location(client)
    make_item(client, levels=[entry(here, available_qty=1), entry(there, available_qty=1)])
    assert [make_audit(client, here)["number"] for _ in range(2)] == ["AUD-1", "AUD-2"] and make_audit(client, there)["number"] == "AUD-1"
    third = make_audit(client, here, number="aud-3")
    assert make_audit(client, here)["number"] == "AUD-4" and make_audit(client, here, number=None)["number"] == "AUD-5" and make_audit(client, here, number="")["number"] == "AUD-6"
    client.refused("POST", AUDITS, 409, "audit.exists", ["number"], body={"location_id": here["id"], "number": "AUD-3"})
    refused_audit(client, third, 409, "audit.exists", ["number"], number="AUD-4")
    assert set_audit(client, third, number="First half")["number"] == "First half"
    assert make_audit(client, there, number="First half")["number"] == "First half"
    client.delete(f"{AUDITS}/{third['id']}")
    assert make_audit(client, here, number="first half")["number"] == "first half"


def test_audits_that_are_made_at_once_have_numbers_of_their_own(client, fresh):
    here = make_location(client)
    make_item(client, levels=[entry(here, available_qty=1)])
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: make_audit(client, here)["number"], range(24)))
    assert sorted(made, key=lambda n: int(n[4:])) == [f"AUD-{n}" for n in range(1, 25)]


# ---- which status follows which ----

@pytest.mark.parametrize("old", STEPS)
def test_which_status_follows_which(client, old):
    for new in STEPS:
        audit = counted(client, old)
        if new in STEPS[old]:
            if new == "in_review":
                count_all(client, audit)
            done = set_audit(client, audit, status=new)
            assert done["status"] == new and bool(done["finished_at"]) == (new in ("approved", "canceled"))
        elif new == old and STEPS[old]:
            assert set_audit(client, audit, status=new)["updated_at"] == audit["updated_at"]  # nothing follows
        else:
            refused_audit(client, audit, 409, "audit.invalid_transition", ["status"], status=new)
            assert audit_of(client, audit) == audit
    refused_audit(client, counted(client, old), 400, "validation.failed", ["status"], status="done")


@pytest.mark.parametrize("status", ["approved", "canceled"])
def test_of_an_audit_that_ended_only_metadata_changes(client, status):
    audit = counted(client, status)
    for field, value in (("number", "New"), ("priority", "high"), ("complete_at", ago(0)), ("update_inventory", False)):
        refused_audit(client, audit, 409, "audit.invalid_transition", [field], **{field: value})
    task = audit["tasks"][0]
    refused_audit(client, audit, 409, "audit.invalid_transition", ["tasks"], tasks=[{"id": task["id"], "counted_qty": 1}])
    client.refused("POST", task_path(audit, task), 409, "audit.invalid_transition", [], body={"counted_qty": 1})
    same = {k: audit[k] for k in ("number", "priority", "complete_at", "update_inventory")}
    assert set_audit(client, audit, metadata={"checked": "yes"}, **same)["metadata"] == {"checked": "yes"}


@pytest.mark.parametrize("status", STEPS)
def test_only_an_audit_that_did_not_begin_or_was_canceled_is_deleted(client, status):
    audit = counted(client, status)
    path = f"{AUDITS}/{audit['id']}"
    if status in ("created", "canceled"):
        client.delete(path)
        client.get(path, expect=404)
        client.get(path + "/tasks", expect=404)
        client.post(task_path(audit, audit["tasks"][0]), {"counted_qty": 1}, expect=404)
    else:
        client.refused("DELETE", path, 409, "audit.invalid_transition", [])


# ---- counting ----

def test_what_a_count_may_be(client, location):
    """Spec 09 section 6 [S]: counts of asset items are whole."""
    here = make_location(client)
    code, other = reason(client, "COUNT"), client.post("/v1/reason-codes", {"code": "ITEM", "name": "x", "resources": ["item"]}, expect=201).data["id"]
    make_item(client, "A", is_asset=True, levels=[entry(here, available_qty=2)])
    make_item(client, "B", levels=[entry(here, available_qty=2)])
    make_item(client, "C", lot_tracking="optional", levels=[entry(here, available_qty=2)])
    audit = make_audit(client, here)
    asset, plain, lots = audit["tasks"]
    for task, body, error, field in (
            (plain, {"counted_qty": 1.00001}, "item.quantity_precision", "counted_qty"), (plain, {"counted_qty": -1}, "validation.failed", "counted_qty"),
            (plain, {"counted_qty": "a few"}, "validation.failed", "counted_qty"), (plain, {"counted_qty": 1e12}, "validation.failed", "counted_qty"),
            (asset, {"counted_qty": 1.5}, "item.fractional_quantity", "counted_qty"), (plain, {"lot_number": "L"}, "item.lot_not_allowed", "lot_number"),
            (plain, {"lot_number": "x" * 101}, "validation.failed", "lot_number"), (plain, {"reason_code_id": "rsn_none"}, "validation.failed", "reason_code_id"),
            (plain, {"reason_code_id": other}, "reason_code.resource_mismatch", "reason_code_id")):
        client.refused("POST", task_path(audit, task), 400, error, [field], body=body)
        refused_audit(client, audit, 400, error, [f"tasks.1.{field}"], tasks=[{"id": asset["id"]}, {"id": task["id"], **body}] if task is not asset else [{"id": plain["id"]}, {"id": task["id"], **body}])
    assert audit_of(client, audit) == audit
    refused_audit(client, audit, 400, "validation.failed", ["tasks.0.id"], tasks=[{"counted_qty": 1}])
    refused_audit(client, audit, 400, "validation.failed", ["tasks.1.id"], tasks=[{"id": plain["id"], "counted_qty": 1}, {"id": plain["id"], "counted_qty": 2}])
    refused_audit(client, audit, 400, "validation.failed", ["tasks.0.id"], tasks=[{"id": "audit_task_none", "counted_qty": 1}])
    client.post(f"{AUDITS}/{audit['id']}/tasks/audit_task_none", {"counted_qty": 1}, expect=404)
    make_item(client, levels=[entry(location, available_qty=1)])
    elsewhere = make_audit(client, location)["tasks"][0]
    client.post(task_path(audit, elsewhere), {"counted_qty": 1}, expect=404)
    refused_audit(client, audit, 400, "validation.failed", ["tasks.0.id"], tasks=[{"id": elsewhere["id"], "counted_qty": 1}])
    t = count(client, audit, plain, "2.5000", reason_code_id=code)
    assert (t["counted_qty"], t["discrepancy"], t["reason_code_id"]) == (2.5, 0.5, code)
    t = client.post(task_path(audit, lots), {"lot_number": "L9"}, expect=200).data
    assert (t["lot_number"], t["counted_qty"], t["counted_at"]) == ("L9", None, None)
    t = client.post(task_path(audit, lots), {"lot_number": None}, expect=200).data
    assert t["lot_number"] is None
    t = count(client, audit, plain, None, reason_code_id=None)
    assert (t["counted_qty"], t["discrepancy"], t["reason_code_id"], t["counted_by"], t["counted_at"], t["total_at_count"]) == (None,) * 6
    assert audit_of(client, audit)["counted_count"] == 0


def test_who_counted_is_told(client, fresh):
    client = fresh.client()
    here = make_location(client)
    make_item(client, levels=[entry(here, available_qty=2)])
    audit = make_audit(client, here)
    user = fresh.user()
    t = count(fresh.client(user=user, scopes="audits:write"), audit, audit["tasks"][0], 2)
    assert t["counted_by"] == user
    assert audit_of(client, audit)["updated_by"] == user


def test_totals_follow_the_stock_until_counting_ends(client):
    here = make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=10)])
    audit = make_audit(client, here)
    task, = audit["tasks"]
    change(client, item, entry(here, available_qty=2))
    assert audit_of(client, audit)["tasks"][0]["total_qty"] == 12
    assert count(client, audit, task, 12)["discrepancy"] == 0
    change(client, item, entry(here, available_qty=-1))
    shown = audit_of(client, audit)["tasks"][0]
    assert (shown["total_qty"], shown["discrepancy"], shown["total_at_count"]) == (11, 1, 12)  # it moved since it was counted
    assert set_audit(client, audit, status="in_review")["tasks"][0] == shown
    change(client, item, entry(here, available_qty=-5))
    assert audit_of(client, audit)["tasks"][0] == shown
    done = set_audit(client, audit, status="approved", tasks=[{"id": task["id"], "reason_code_id": reason(client, "MOVED")}])
    assert done["tasks"][0]["total_qty"] == 11 and available(client, item) == {here["default_layout_id"]: 7}  # 6, and the one more that was counted
    change(client, item, entry(here, available_qty=3))
    assert audit_of(client, audit)["tasks"][0]["total_qty"] == 11


def test_counts_are_not_taken_in_review_but_reasons_and_lots_are(client):
    here = make_location(client)
    make_item(client, lot_tracking="optional", levels=[entry(here, available_qty=10)])
    audit = make_audit(client, here)
    task, = audit["tasks"]
    count(client, audit, task, 9)
    set_audit(client, audit, status="in_review")
    refused_audit(client, audit, 409, "audit.invalid_transition", ["tasks.0.counted_qty"], tasks=[{"id": task["id"], "counted_qty": 8}])
    refused_audit(client, audit, 409, "audit.invalid_transition", ["tasks.0.counted_qty"], tasks=[{"id": task["id"], "counted_qty": None}])
    client.refused("POST", task_path(audit, task), 409, "audit.invalid_transition", ["counted_qty"], body={"counted_qty": 8})
    before = audit_of(client, audit)["tasks"][0]
    t = count(client, audit, task, 9, lot_number="L", reason_code_id=reason(client, "REVIEW"))  # as it was
    assert t["lot_number"] == "L" and t["counted_at"] == before["counted_at"] and audit_of(client, audit)["status"] == "in_review"


def test_a_recount_is_of_what_differs(client):
    here, shelf = place(client, "Shelf")
    item = make_item(client, "A", levels=[entry(here, layout_id=None, available_qty=10), entry(here, layout_id=shelf, available_qty=5)])
    make_item(client, "B", levels=[entry(here, layout_id=None, available_qty=3)])
    audit = make_audit(client, here)
    count_all(client, audit, 9, 3, 5)
    assert set_audit(client, audit, status="in_review")["discrepant_count"] == 1
    again = set_audit(client, audit, status="recount")
    assert [t["counted_qty"] for t in again["tasks"]] == [None, 3, 5] and (again["counted_count"], again["discrepant_count"]) == (2, None)
    assert again["tasks"][0]["counted_by"] is again["tasks"][0]["counted_at"] is again["tasks"][0]["total_at_count"] is None
    change(client, item, entry(here, layout_id=shelf, available_qty=1))
    assert [t["total_qty"] for t in audit_of(client, audit)["tasks"]] == [10, 3, 6]  # they follow the stock again
    refused_audit(client, audit, 400, "audit.uncounted", ["tasks.0.counted_qty"], status="in_review")
    assert count(client, audit, audit["tasks"][0], 10)["discrepancy"] == 0 and audit_of(client, audit)["status"] == "recount"
    assert set_audit(client, audit, status="in_review")["discrepant_count"] == 1
    change(client, item, entry(here, layout_id=shelf, available_qty=1))
    again = set_audit(client, audit, status="recount")
    assert [(t["counted_qty"], t["total_qty"]) for t in again["tasks"]] == [(10, 10), (3, 3), (None, 7)]


def test_a_canceled_audit_keeps_what_was_there(client):
    here = make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=10)])
    audit = make_audit(client, here)
    count(client, audit, audit["tasks"][0], 4)
    done = set_audit(client, audit, status="canceled")
    change(client, item, entry(here, available_qty=1))
    assert audit_of(client, audit) == done and done["finished_at"] and done["tasks"][0]["total_qty"] == 10 and done["group_id"] is None
    assert available(client, item) == {here["default_layout_id"]: 11}


def test_counts_of_many_at_once(client, fresh):
    client = fresh.client()
    here = make_location(client)
    for i in range(12):
        make_item(client, f"Item {i:02}", levels=[entry(here, available_qty=i + 1)])
    audit = make_audit(client, here)
    clients = [fresh.client(scopes="audits:write") for _ in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: count(clients[k % 4], audit, audit["tasks"][k], k + 1), range(12)))
    shown = audit_of(client, audit)
    assert shown["counted_count"] == 12 and [t["counted_qty"] for t in shown["tasks"]] == list(range(1, 13))
    set_audit(client, audit, status="in_review")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = [a.status for a in pool.map(lambda c: c.post(f"{AUDITS}/{audit['id']}", {"status": "approved"}), clients)]
    assert sorted(answers) == [200, 409, 409, 409]


# ---- time, events, access ----

def test_an_audit_is_overdue_when_its_time_has_passed(client, org):
    here = make_location(client)
    make_item(client, levels=[entry(here, available_qty=1)])
    late, soon = make_audit(client, here, complete_at=ago(60)), make_audit(client, here, complete_at=ago(-2))
    later, never = make_audit(client, here, complete_at=ago(-3600)), make_audit(client, here)
    assert (late["overdue"], soon["overdue"]) == (True, False)
    until(lambda: audit_of(client, soon)["overdue"])
    type, data, previous, place = org.events(soon["id"])[-1]
    data = json.loads(data) if isinstance(data, str) else data
    assert (type, data["overdue"], place) == ("audit.updated", True, here["id"])
    assert not audit_of(client, later)["overdue"] and not audit_of(client, never)["overdue"]
    assert set_audit(client, soon, complete_at=ago(-3600))["overdue"] is False
    assert set_audit(client, soon, complete_at=ago(1))["overdue"] is True
    assert set_audit(client, soon, complete_at=None)["overdue"] is False
    assert set_audit(client, late, status="canceled")["overdue"] is False
    set_audit(client, later, complete_at=ago(-2))
    set_audit(client, later, status="canceled")
    set_audit(client, never, complete_at=ago(-3))
    until(lambda: audit_of(client, never)["overdue"])
    assert not audit_of(client, later)["overdue"]


def test_an_audit_that_is_due_by_a_changed_time(client):
    here = make_location(client)
    make_item(client, levels=[entry(here, available_qty=1)])
    audit = make_audit(client, here, complete_at=ago(-1))
    set_audit(client, audit, complete_at=ago(-3600))
    other = make_audit(client, here, complete_at=ago(-3))
    until(lambda: audit_of(client, other)["overdue"])
    assert not audit_of(client, audit)["overdue"]  # the time that it had first has passed


def test_events_of_an_audit(client, org):
    audit = counted(client, "approved")
    events = org.events(audit["id"])
    assert [e[0] for e in events] == ["audit.created", "audit.updated", "audit.updated", "audit.completed", "audit.updated"]
    assert {e[3] for e in events} == {audit["location_id"]}
    data = [json.loads(e[1]) if isinstance(e[1], str) else e[1] for e in events]
    assert [d["status"] for d in data] == ["created", "processing", "in_review", "approved", "approved"] and data[1]["counted_count"] == 1
    assert all("tasks" not in d and "by_item" not in d for d in data)
    canceled = counted(client, "canceled")
    client.delete(f"{AUDITS}/{canceled['id']}")
    assert [e[0] for e in org.events(canceled["id"])] == ["audit.created", "audit.canceled", "audit.updated", "audit.deleted"]


def test_whom_an_audit_is_shown_to(fresh):
    admin = fresh.client()
    here, there = make_location(admin), make_location(admin)
    make_item(admin, levels=[entry(here, available_qty=1), entry(there, available_qty=1)])
    mine, other = make_audit(admin, here), make_audit(admin, there)
    client = fresh.client(locations=[here["id"]])
    assert client.get(AUDITS).ids == [mine["id"]]
    for method, path, body in (("GET", f"{AUDITS}/{other['id']}", None), ("GET", f"{AUDITS}/{other['id']}/tasks", None), ("POST", f"{AUDITS}/{other['id']}", {"status": "canceled"}),
                               ("POST", task_path(other, other["tasks"][0]), {"counted_qty": 1}), ("DELETE", f"{AUDITS}/{other['id']}", None)):
        client.refused(method, path, 403, "location_access", None, body=body)
    client.refused("POST", AUDITS, 403, "location_access", None, body={"location_id": there["id"]})
    count(client, mine, mine["tasks"][0], 1)
    reader = fresh.client(scopes="audits:read")
    for task in (reader.get(f"{AUDITS}/{mine['id']}").data["tasks"][0], reader.get(f"{AUDITS}/{mine['id']}/tasks").data[0]):
        assert task["item_id"] and task["item_name"] is task["sku"] is task["base_uom"] is None
    assert fresh.client(scopes="audits:read,items:read").get(f"{AUDITS}/{mine['id']}").data["tasks"][0]["item_name"] == "Widget"
    assert len(reader.get(AUDITS).ids) == 2 and reader.get(f"{AUDITS}/{mine['id']}/tasks").ids == [t["id"] for t in mine["tasks"]]
    for method, path, body in (("POST", AUDITS, {"location_id": here["id"]}), ("POST", f"{AUDITS}/{mine['id']}", {"status": "canceled"}), ("POST", task_path(mine, mine["tasks"][0]), {"counted_qty": 1}),
                               ("DELETE", f"{AUDITS}/{mine['id']}", None)):
        reader.refused(method, path, 403, "scope_access", None, body=body)
    fresh.client(scopes="items:write").refused("GET", AUDITS, 403, "scope_access")


def test_a_location_with_an_open_audit_is_in_use(client):
    here = make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=1)])
    audit = make_audit(client, here)
    change(client, item, entry(here, available_qty=[0]))
    client.refused("DELETE", f"/v1/locations/{here['id']}", 409, "location.in_use", ["audits"])
    set_audit(client, audit, status="canceled")
    client.delete(f"/v1/locations/{here['id']}")


def test_an_update_that_is_refused_leaves_no_trace(client, org):
    here = make_location(client)
    make_item(client, levels=[entry(here, available_qty=1)])
    make_item(client, levels=[entry(here, available_qty=1)])
    audit = make_audit(client, here)
    refused_audit(client, audit, 400, "audit.uncounted", ["tasks.1.counted_qty"], tasks=[{"id": audit["tasks"][0]["id"], "counted_qty": 1}], status="in_review")
    assert audit_of(client, audit) == audit and len(org.events(audit["id"])) == 1
    stale = client.get(f"{AUDITS}/{audit['id']}").headers["ETag"]
    count(client, audit, audit["tasks"][0], 1)
    client.refused("POST", f"{AUDITS}/{audit['id']}", 412, "precondition.failed", None, body={"status": "canceled"}, headers={"If-Match": stale})
