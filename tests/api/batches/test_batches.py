"""Batches (spec 10): one action on many records, from arrays."""
import hashlib
import json

import pytest

from wharf import Problem, make_location

BATCHES = "/v1/batches"


def run(client, data, action="merge", resource="contact", mode="sync", expect=201, **more):
    return client.post(BATCHES, {"resource": resource, "action": action, "mode": mode, "data": data, **more}, expect=expect).data


def ids(batch):
    return [r["id"] for r in batch["results"]]


def lines(batch, *keys):
    return [tuple(e[k] for k in keys) for e in batch["errors"]]


def everything(client, path):
    return {row["id"]: row for row in client.get(path + "?limit=100").data}


def test_items_are_applied_and_told(client, org):
    b = run(client, [{"name": "Ana", "email": "ana@b.example"}, {"name": "", "email": "x"}, {"name": "Bo", "metadata": {"k": "v"}}], name="First ones")
    assert (b["object"], b["status"], b["reason"], b["mode"], b["via"], b["progress"], b["name"]) == ("batch", "completed", None, "sync", "api", 100, "First ones")
    assert [(p["name"], p["mode"], p["status"], p["total"], p["processed"], p["success"], p["error"], p["ignored"]) for p in b["phases"]] == [
        ("parsing", "sync", "completed", 3, 3, 3, 0, 0), ("validating", "sync", "completed", 3, 3, 2, 1, 0), ("processing", "sync", "completed", 2, 2, 2, 0, 0)]
    assert b["stats"] == {"created": 2, "updated": 0, "deleted": 0, "overwritten": 0, "events": 2, "ignored": 0, "errors": 1, "skipped": 0, "unchanged": 0}
    assert [(r["index"], r["operation"]) for r in b["results"]] == [(0, "created"), (2, "created")]
    assert lines(b, "index", "row", "phase", "code", "id") == [(1, None, "validating", "validation.failed", None)]
    assert b["errors"][0]["errors"] == ["name"] and b["errors"][0]["violations"] == [
        {"path": "name", "rule": "required", "message": b["errors"][0]["message"]}]
    stored = client.get(f"/v1/contacts/{ids(b)[0]}").data
    assert (stored["name"], stored["email"]) == ("Ana", "ana@b.example")
    # one event each, in the lane of batches
    told = org.told("type, batch_id", "batch_id = %s", b["id"])
    assert sorted(t[0] for t in told) == ["batch.completed", "contact.created", "contact.created"]
    shown = client.get(f"{BATCHES}/{b['id']}").data
    assert shown["stats"] == b["stats"] and "results" not in shown and shown["_errors_csv_url"] is None


def test_items_of_a_batch(client):
    b = run(client, [{"name": f"P{i}"} if i % 3 else {"email": f"x{i}"} for i in range(30)])
    path = f"{BATCHES}/{b['id']}/items"
    page = client.get(path + "?limit=7&page=2")
    assert [i["index"] for i in page.data] == list(range(7, 14)) and page.pagination["has_more"]
    bad = client.get(path + "?state=error&limit=100").data
    assert [i["index"] for i in bad] == list(range(0, 30, 3))
    assert bad[0] == {"index": 0, "row": None, "state": "error", "phase": "validating", "result_id": None, "operation": None, "code": "validation.failed",
                      "message": "name is required", "errors": ["name"]}
    done = client.get(path + "?state=done,ignored&phase=processing").data
    assert len(done) == 20 and done[0]["operation"] == "created" and done[0]["result_id"] == b["results"][0]["id"]
    assert client.get(path + "?code=batch.duplicate").data == []
    client.refused("GET", path + "?state=odd", 400, "param.invalid", ["state"])
    client.refused("GET", path + "?phase=processing,odd", 400, "param.invalid", ["phase"])
    assert client.get(path + "?phase=resolving,parsing").data == []
    client.refused("GET", f"{BATCHES}/batch_0000000000000000000000/items", 404, "not_found")


def test_checksum_of_an_array(client):
    """The SHA-256 of its JSON without white space, whatever its items are; of a batch that tries some of them again nothing was sent."""
    data = [{"name": "Zoë \"Z\" / \\", "metadata": {"b": "2", "a": "\t\n"}}, {"name": 1.5, "x": [{}, [], None, True]}, 7, "text", {"name": "L" * 2_000_000}]
    for mode, expect in (("sync", 201), ("async", 202)):
        b = run(client, data, mode=mode, expect=expect)
        assert b["checksum"] == hashlib.sha256(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest(), mode
    b = run(client, [{"name": ""}])
    assert b["checksum"] == hashlib.sha256(b'[{"name":""}]').hexdigest()
    assert client.post(f"{BATCHES}/{b['id']}/retry", {}, expect=202).data["checksum"] is None


def test_update_create_and_unknown(client):
    ann = client.post("/v1/contacts", {"name": "Ann", "notes": "keep"}, expect=201).data["id"]
    b = run(client, [{"id": ann, "email": "ann@b.example"}, {"id": ann.replace(ann[-3:], "zzz"), "name": "Nobody"}, {"name": "New"}, {"id": 7}])
    assert [r["operation"] for r in b["results"]] == ["updated", "created"]
    assert lines(b, "index", "code", "phase") == [(1, "not_found", "validating"), (3, "validation.failed", "validating")]
    shown = client.get(f"/v1/contacts/{ann}").data
    assert (shown["email"], shown["notes"]) == ("ann@b.example", "keep")
    b = run(client, [{"id": ann, "email": "ann@b.example"}])
    assert b["stats"]["unchanged"] == 1 and b["stats"]["events"] == 0


def test_overwrite_puts_back_what_is_not_said(client, org):
    g = client.post("/v1/groups", {"name": "Kept", "resource": "contact"}, expect=201).data["id"]
    made = client.post("/v1/contacts", {"name": "Old", "email": "old@b.example", "notes": "n", "is_primary": True, "metadata": {"a": "1"}, "groups": [g],
                                        "alternate_names": {"0": "Nick"}}, expect=201).data["id"]
    b = run(client, [{"id": made, "name": "New", "metadata": {"b": "2"}}, {"name": "Fresh"}, {"id": made, "notes": "x"}], action="overwrite",
            duplicate_handling="use_first")
    assert [r["operation"] for r in b["results"]] == ["overwritten", "created"]
    assert lines(b, "index", "code", "duplicate_of") == [(2, "batch.duplicate", 0)]
    row = client.get(f"/v1/contacts/{made}").data
    assert (row["name"], row["email"], row["notes"], row["is_primary"], row["metadata"], row["nickname"]) == ("New", None, None, False, {"b": "2"}, None)
    assert [x["id"] for x in row["groups"]] == [g]  # links stay
    b = run(client, [{"id": made, "notes": "x"}], action="overwrite")
    assert lines(b, "code", "errors") == [("validation.failed", ["name"])]


def test_delete(client):
    made = ids(run(client, [{"name": f"D{i}"} for i in range(5)]))
    b = run(client, [{"id": made[0]}, made[1], {"id": "ctct_0000000000000000000000"}, {}], action="delete")
    assert [(r["operation"], r["id"]) for r in b["results"]] == [("deleted", made[0]), ("deleted", made[1])]
    assert lines(b, "index", "code") == [(2, "not_found"), (3, "validation.failed")]
    assert lines(run(client, [made[0]], action="delete"), "code") == [("not_found",)]
    assert {made[2], made[3], made[4]} <= set(client.get("/v1/contacts?limit=1000").ids)


def test_duplicate_handling_is_stored_and_returned(client):
    for how in ("use_first", "ignore_all"):
        b = run(client, [{"name": "One"}], duplicate_handling=how)
        assert b["duplicate_handling"] == client.get(f"{BATCHES}/{b['id']}").data["duplicate_handling"] == how
    assert run(client, [{"name": "One"}])["duplicate_handling"] == "ignore_all"


@pytest.mark.parametrize("how, done", [("use_first", [0, 1, 3, 5]), ("ignore_all", [3, 5])])
def test_duplicates_over_mixed_case_emails_and_formatted_phones(fresh, how, done):
    client = fresh.client()
    b = run(client, [{"name": "A", "email": "Ann@B.example"}, {"name": "B", "phone": "201 555 0101"}, {"name": "C", "email": " ann@b.EXAMPLE "},
                     {"name": "D", "email": "d@b.example", "phone": "201 555 0101"}, {"name": "E", "phone": "+1 (201) 555-0101"}, {"name": "F"}],
            duplicate_handling=how)
    assert [r["index"] for r in b["results"]] == done
    assert b["stats"]["ignored"] == 6 - len(done) and b["stats"]["errors"] == 0
    told = {e["index"]: (e["phase"], e["code"], e["duplicate_of"]) for e in b["errors"]}
    assert told[2] == ("parsing", "batch.duplicate", 0) and told[4] == ("parsing", "batch.duplicate", 1)
    assert how == "use_first" or told[0] == ("parsing", "batch.duplicate", 2)


def test_match_by(client):
    run(client, [{"name": "Mia", "external_id": "M1", "email": "mia@b.example"}, {"name": "Max", "external_id": "M2"}])
    b = run(client, [{"external_id": "M1", "notes": "by id"}, {"external_id": "m3", "name": "Moe"}], match_by="external_id")
    assert [r["operation"] for r in b["results"]] == ["updated", "created"]
    b = run(client, [{"email": "MIA@b.example", "notes": "by mail"}], match_by="email")
    assert [r["operation"] for r in b["results"]] == ["updated"]
    assert client.get(f"/v1/contacts/{ids(b)[0]}").data["notes"] == "by mail"
    run(client, [{"name": "Mia 2", "email": "mia@b.example"}])
    assert lines(run(client, [{"email": "mia@b.example"}], match_by="email"), "code") == [("reference.ambiguous",)]
    assert [r["operation"] for r in run(client, [{"external_id": "M2"}], action="delete", match_by="external_id")["results"]] == ["deleted"]
    client.refused("POST", BATCHES, 400, "validation.failed", ["match_by"], {"resource": "contact", "action": "merge", "data": [{}], "match_by": "sku"})


def test_item_beats_properties_null_clears(client):
    b = run(client, [{"name": "A", "notes": "own"}, {"name": "B"}, {"name": "C", "notes": None, "metadata": {"x": "own", "z": "3"}}],
            properties={"notes": "all", "metadata": {"x": "all", "y": "all"}})
    rows = [client.get(f"/v1/contacts/{i}").data for i in ids(b)]
    assert [r["notes"] for r in rows] == ["own", "all", None]
    assert [r["metadata"] for r in rows] == [{"x": "all", "y": "all"}] * 2 + [{"x": "own", "y": "all", "z": "3"}]
    assert b["properties"] == {"notes": "all", "metadata": {"x": "all", "y": "all"}}


def groups_of(client, id):
    return sorted(g["id"] for g in client.get(f"/v1/contacts/{id}").data["groups"])


def test_properties_set_and_add(client):
    g = [client.post("/v1/groups", {"name": f"Set {i}", "resource": "contact"}, expect=201).data["id"] for i in range(3)]
    one = client.post("/v1/contacts", {"name": "One", "groups": [g[0]]}, expect=201).data["id"]
    run(client, [{"id": one}], properties={"groups": {"add": [g[1]]}})
    assert groups_of(client, one) == sorted(g[:2])
    run(client, [{"id": one}], properties={"groups": {"set": [g[2]]}})
    assert groups_of(client, one) == [g[2]]
    run(client, [{"id": one}], properties={"groups": {"set": []}})
    assert groups_of(client, one) == []
    run(client, [{"id": one, "groups": [g[0]]}], properties={"groups": {"add": [g[1]]}})
    assert groups_of(client, one) == [g[0]]
    run(client, [{"id": one, "groups": {"remove": [g[0]]}}])
    assert groups_of(client, one) == []
    new = ids(run(client, [{"name": "Two"}], properties={"groups": {"add": [g[1]]}}))[0]
    assert groups_of(client, new) == [g[1]]

    def refused(value, code, path="properties.groups"):
        client.refused("POST", BATCHES, 400, code, [path], {"resource": "contact", "action": "merge", "data": [{"id": one}], "properties": {"groups": value}})
    for value in ({"set": [g[0]], "add": [g[1]]}, {}, [g[0]], None):
        refused(value, "batch.set_add_exclusive")
    refused({"add": [g[0], g[0]]}, "batch.duplicate_ids")
    refused({"set": [g[0], "grp_0000000000000000000000"]}, "batch.unknown_ids")
    client.refused("POST", BATCHES, 400, "batch.properties_invalid", ["properties.id"],
                   {"resource": "contact", "action": "merge", "data": [{"name": "x"}], "properties": {"id": one}})
    client.refused("POST", BATCHES, 400, "validation.failed", ["properties.notes"],
                   {"resource": "contact", "action": "merge", "data": [{"name": "x"}], "properties": {"notes": 7}})


def test_locations_are_set_and_added_as_groups_are(client):
    """spec 10 section 5 [S]: the same for both."""
    places = [make_location(client)["id"] for _ in range(2)]
    one = client.post("/v1/contacts", {"name": "One", "locations": places[:1]}, expect=201).data["id"]
    for value, left in (({"add": places[1:]}, places), ({"set": places[1:]}, places[1:]), ({"set": []}, [])):
        run(client, [{"id": one}], properties={"locations": value})
        assert {x["id"] for x in client.get(f"/v1/contacts/{one}").data["locations"]} == set(left)
    for value, code in (({"set": [], "add": []}, "batch.set_add_exclusive"), ({"remove": places}, "batch.set_add_exclusive"), ({"add": places[:1] * 2}, "batch.duplicate_ids"),
                        ({"set": ["loc_0000000000000000000000"]}, "batch.unknown_ids")):
        client.refused("POST", BATCHES, 400, code, ["properties.locations"], {"resource": "contact", "action": "merge", "data": [{"id": one}], "properties": {"locations": value}})


def test_defaults_of_a_request(client):
    """spec 10 section 2, and how much of what was wrong an answer tells."""
    b = client.post(BATCHES, {"resource": "contact", "action": "merge", "data": [{"name": "D"}] + [{}] * 1500}, expect=201).data
    assert {k: b[k] for k in ("mode", "duplicate_handling", "match_by", "save_upload", "save_result", "save_result_date_format", "validate_only", "disable_webhooks", "location_id",
                              "properties", "filters", "name", "column_mapping", "parent_batch_id", "file", "warnings")} == {
        "mode": "mixed", "duplicate_handling": "ignore_all", "match_by": "id", "save_upload": False, "save_result": False, "save_result_date_format": "iso_8601",
        "validate_only": False, "disable_webhooks": False, "location_id": None, "properties": None, "filters": None, "name": None, "column_mapping": None, "parent_batch_id": None,
        "file": None, "warnings": []}
    assert b["stats"]["errors"] == 1500 and [e["index"] for e in b["errors"]] == list(range(1, 1001)) and len(b["results"]) == 1


def test_events_of_batches_tell_the_record_alone(client, org):
    """spec 10 section 12 'Batch events': without links, results or error lines, and without what the batch holds of the records."""
    b = run(client, [{"name": "E"}, {}], save_result=True)
    shown = client.get(f"{BATCHES}/{b['id']}").data
    told = {e[0]: e[1] for e in org.events(b["id"])}
    assert set(told) == {"batch.created", "batch.completed"}
    assert {k: v for k, v in told["batch.completed"].items() if not k.startswith("_")} == {k: v for k, v in shown.items() if not k.startswith("_") and k not in ("properties", "filters")}
    for data in told.values():
        assert not {"results", "errors"} & set(data) and not any(v for k, v in data.items() if k.endswith("_url"))


def test_what_is_no_item(client):
    deep = "x"
    for _ in range(17):
        deep = [deep]
    b = run(client, [{"name": "Good"}, 7, None, "text", [], {"name": "Deep", "metadata": deep}, {"name": "Big", "notes": "x" * 300000}])
    assert [(e["index"], e["code"], e["phase"]) for e in b["errors"]] == [(i, "batch.shape", "parsing") for i in range(1, 7)]
    assert b["phases"][0]["error"] == 6 and [r["index"] for r in b["results"]] == [0]


def test_one_bad_item_of_500(client):
    b = run(client, [{"name": f"N{i}"} if i != 321 else {"name": "x" * 200} for i in range(500)])
    assert b["stats"]["created"] == 499 and lines(b, "index", "phase", "row") == [(321, "validating", None)]
    client.refused("POST", BATCHES, 400, "batch.too_many_items_sync", ["data"], {"resource": "contact", "action": "merge", "mode": "sync",
                                                                                  "data": [{"name": "n"}] * 501})


def test_requests_that_make_no_batch(client):
    before = len(client.get(BATCHES + "?limit=1000").data)

    def refused(code, errors, status=400, **body):
        client.refused("POST", BATCHES, status, code, errors, {"resource": "contact", "action": "merge", "data": [{"name": "x"}], **body})
    refused("validation.failed", ["resource"], resource="webhook")
    refused("validation.failed", ["resource"], resource="nothing")
    refused("validation.failed", ["action"], action="upsert")
    refused("validation.failed", ["mode"], mode="later")
    refused("batch.data_empty", ["data"], data=[])
    refused("batch.data_invalid", ["data"], data="just text")
    refused("validation.failed", ["duplicate_handling"], duplicate_handling="use_last")
    refused("validation.failed", ["name"], name="ab")
    refused("validation.failed", ["location_id"], location_id="loc_0000000000000000000000")
    client.refused("POST", BATCHES, 400, "validation.failed", ["data"], {"resource": "contact", "action": "merge"})
    assert len(client.get(BATCHES + "?limit=1000").data) == before


def test_scopes_and_locations(org, client):
    places = [make_location(client, f"B{i}")["id"] for i in range(2)]
    body = {"resource": "contact", "action": "merge", "mode": "sync", "data": [{"name": "x"}]}
    for scopes, code in (("batches:write", "contacts:write"), ("contacts:write", "batches:write"), ("batches:write,contacts:read", "contacts:write")):
        assert org.client(scopes).refused("POST", BATCHES, 403, "scope_access", body=body).errors == [code]
    org.client("batches:write,contacts:write").post(BATCHES, body, expect=201)
    limited = org.client(locations=places[:1])
    limited.refused("POST", BATCHES, 403, "location_access", [places[1]], {**body, "location_id": places[1]})
    mine, other = (run(client, [{"name": "x"}], location_id=p)["id"] for p in places)
    assert client.get(f"{BATCHES}?location_id={places[0]}").ids == [mine]
    seen = limited.get(BATCHES + "?limit=1000").ids
    assert mine in seen and other not in seen
    limited.refused("GET", f"{BATCHES}/{other}", 403, "location_access")
    limited.refused("GET", f"{BATCHES}/{other}/items", 403, "location_access")
    hidden = client.post("/v1/contacts", {"name": "Hidden", "locations": [places[1]]}, expect=201).data["id"]
    assert lines(run(limited, [{"id": hidden, "name": "y"}]), "code") == [("location_access",)]


def test_list_filters(client):
    b = run(client, [{"name": "x"}], action="merge", name="Listed")
    for query in (f"resource=contact&status=completed&created_at[gte]={b['created_at']}", "mode=sync&via=api&action=merge&limit=1000", f"created_by={b['created_by']}&limit=1000"):
        assert b["id"] in client.get(f"{BATCHES}?{query}").ids, query
    assert client.get(BATCHES + "?status=failed").data == []
    times = [row["created_at"] for row in client.get(BATCHES + "?limit=1000").data]
    assert times == sorted(times)


def test_another_organization_finds_nothing(server, client):
    b = run(client, [{"name": "x"}])
    other = server.organization().client()
    for path in (f"{BATCHES}/{b['id']}", f"{BATCHES}/{b['id']}/items"):
        other.refused("GET", path, 404, "not_found")
    for action in ("cancel", "retry"):
        other.refused("POST", f"{BATCHES}/{b['id']}/{action}", 404, "not_found", body={})


def test_validate_only_writes_nothing_and_tells_the_same(fresh):
    client = fresh.client()
    taken = client.post("/v1/contacts", {"name": "T", "external_id": "taken"}, expect=201).data["id"]
    data = [{"name": "Good"}, {"email": "x"}, {"name": "Dup", "external_id": "taken"}, {"id": taken, "name": None}, {"id": "ctct_0000000000000000000000"},
            {"name": "A", "email": "same@b.example"}, {"name": "B", "email": "same@b.example"}, {"name": "Late", "email": "no"}]
    before = fresh.server.sql("SELECT (SELECT count(*) FROM wharf.change_log WHERE organization_id = %s AND resource = 'contact'), (SELECT count(*) FROM contacts.contact"
                              " WHERE organization_id = %s)", fresh.id, fresh.id)
    tried = run(client, data, validate_only=True)
    assert tried["status"] == "completed" and tried["stats"]["created"] == 0 and tried["results"] == []
    assert [p["name"] for p in tried["phases"]] == ["parsing", "validating"]
    assert before == fresh.server.sql("SELECT (SELECT count(*) FROM wharf.change_log WHERE organization_id = %s AND resource = 'contact'), (SELECT count(*) FROM"
                                      " contacts.contact WHERE organization_id = %s)", fresh.id, fresh.id)
    real = run(client, data)
    assert lines(tried, "index", "code", "errors", "message") == lines(real, "index", "code", "errors", "message") and len(real["errors"]) == 7


def test_disable_webhooks(client, org):
    b = run(client, [{"name": "Quiet"}], disable_webhooks=True)
    assert org.told("disable_webhooks", "batch_id = %s AND type = 'contact.created'", b["id"]) == [(True,)]


def test_an_idempotency_key_answers_the_same_batch(client):
    key = {"Idempotency-Key": "batch-1"}
    body = {"resource": "contact", "action": "merge", "mode": "sync", "data": [{"name": "Once"}]}
    first, again = (client.post(BATCHES, body, expect=201, headers=key).data for _ in range(2))
    assert first["id"] == again["id"]


def test_names_in_two_halves(client):
    b = run(client, [{"first_name": "Ann", "last_name": "Lee"}, {"name": "Whole", "first_name": "Ann"}])
    assert [client.get(f"/v1/contacts/{i}").data["name"] for i in ids(b)] == ["Ann Lee", "Whole"]


def test_codes_keep_their_zeros(client):
    """spec 02 section 11, 12"""
    c = ids(run(client, [{"name": "Zeros", "external_id": "007", "phone": "+4401632960001", "address": {"formatted_address": "1 Elm St, Agawam, MA 01001"}, "metadata": {"code": "007"}}]))[0]
    c = client.get(f"/v1/contacts/{c}").data
    assert (c["external_id"], c["phone"], c["address"]["postal_code"], c["metadata"]) == ("007", "+4401632960001", "01001", {"code": "007"})
