"""Audits: spec 01 section 14, spec 09 section 14."""
from audits import AUDITS, audit_of, count, count_all, make_audit, reason, refused_audit, set_audit, task_path
from stock import available, entry, layout, make_item, movements, place


def test_an_audit_from_start_to_end(client):
    here, shelf = place(client, "Shelf")
    a = make_item(client, "A", levels=[entry(here, layout_id=shelf, available_qty=10), entry(here, available_qty="2.5", layout_id=None)])
    b = make_item(client, "B", levels=[entry(here, layout_id=shelf, available_qty=4, damaged_qty=1)])
    audit = make_audit(client, here)
    assert (audit["object"], audit["status"], audit["number"], audit["priority"], audit["overdue"], audit["finished_at"], audit["update_inventory"]) == ("audit", "created", "AUD-1", "medium", False, None, True)
    assert [(t["item_id"], t["layout_id"], t["total_qty"], t["counted_qty"], t["discrepancy"]) for t in audit["tasks"]] == [
        (a["id"], here["default_layout_id"], 2.5, None, None), (a["id"], shelf, 10, None, None), (b["id"], shelf, 5, None, None)]
    t = count(client, audit, audit["tasks"][0], 3)
    assert (t["object"], t["counted_qty"], t["discrepancy"], t["total_qty"], t["total_at_count"]) == ("audit_task", 3, 0.5, 2.5, 2.5) and t["counted_by"] and t["counted_at"]
    shown = audit_of(client, audit)
    assert (shown["status"], shown["task_count"], shown["counted_count"], shown["discrepant_count"]) == ("processing", 3, 1, None)
    refused_audit(client, audit, 400, "audit.uncounted", ["tasks.1.counted_qty", "tasks.2.counted_qty"], status="in_review")
    code = reason(client)
    shown = set_audit(client, audit, tasks=[{"id": audit["tasks"][1]["id"], "counted_qty": "8"}, {"id": audit["tasks"][2]["id"], "counted_qty": 5}], status="in_review")
    assert (shown["status"], shown["counted_count"], shown["discrepant_count"]) == ("in_review", 3, 2)
    refused_audit(client, audit, 400, "audit.reason_required", ["tasks.0.reason_code_id", "tasks.1.reason_code_id"], status="approved")
    done = set_audit(client, audit, tasks=[{"id": t["id"], "reason_code_id": code} for t in audit["tasks"][:2]], status="approved")
    assert done["status"] == "approved" and done["finished_at"] and done["group_id"]
    assert available(client, a) == {here["default_layout_id"]: 3, shelf: 8} and available(client, b) == {shelf: 4}
    assert [(m["delta"], m["reason"], m["source"], m["reason_code_id"], m["group_id"]) for m in movements(client, a)[2:]] == [
        (0.5, "audit", {"type": "audit", "id": audit["id"]}, code, done["group_id"]), (-2, "audit", {"type": "audit", "id": audit["id"]}, code, done["group_id"])]
