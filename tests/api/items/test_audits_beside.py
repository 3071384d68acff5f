"""Audits beside other modules: who counts (contacts), files of all of them (exports), rules of an organization's own (workflows): spec 01 section 14."""
from audits import AUDITS, audit_of, make_audit, refused_audit, set_audit
from stock import available, entry, make_item
from wharf import Server, make_contact, make_location


def test_who_is_to_count(fresh):
    client = fresh.client()
    here = make_location(client)
    make_item(client, levels=[entry(here, available_qty=1)])
    ann, bob = make_contact(client, "Ann"), make_contact(client, "Bob")
    audit, other = make_audit(client, here, assignee=ann), make_audit(client, here)
    assert (audit["assignee"], other["assignee"]) == (ann, None)
    assert client.get(f"{AUDITS}?assignee={ann}").ids == [audit["id"]] and client.get(f"{AUDITS}?assignee=null").ids == [other["id"]]
    refused_audit(client, audit, 400, "validation.failed", ["assignee"], assignee="ctct_none")
    assert set_audit(client, audit, assignee=bob)["assignee"] == bob
    set_audit(client, audit, status="canceled")
    refused_audit(client, audit, 409, "audit.invalid_transition", ["assignee"], assignee=ann)
    client.post(f"/v1/contacts/{ann}/merge", {"from": [bob]}, expect=200)
    assert audit_of(client, audit)["assignee"] == ann  # whoever both were
    assert set_audit(client, other, assignee=ann)["assignee"] == ann and set_audit(client, other, assignee=None)["assignee"] is None


def test_differences_need_no_reason_without_the_module_reasons():
    server = Server("--modules", "org,locations,items")
    try:
        client = server.organization().client()
        here = make_location(client)
        item = make_item(client, levels=[entry(here, available_qty=10)])
        audit = make_audit(client, here)
        set_audit(client, audit, tasks=[{"id": audit["tasks"][0]["id"], "counted_qty": 7}], status="in_review")
        assert set_audit(client, audit, status="approved")["group_id"] and list(available(client, item).values()) == [7]
    finally:
        server.stop()


def test_audits_are_no_batch(fresh):
    fresh.client().refused("POST", "/v1/batches", 400, "validation.failed", ["resource"], body={"resource": "audit", "action": "merge", "data": [{"number": "X"}]})


def test_the_stream_of_changes_says_what_changed(fresh):
    client = fresh.client()
    here = make_location(client)
    make_item(client, levels=[entry(here, available_qty=1)])
    audit = make_audit(client, here)
    set_audit(client, audit, status="processing", priority="high")
    (created, *_), (updated, changes, *_) = fresh.changes(audit["id"])
    assert (created, updated) == ("created", "updated") and {c["field"] for c in changes} == {"status", "priority"}
