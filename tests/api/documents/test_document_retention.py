"""Retention rules and legal holds of documents: spec 05 section 4.1."""
import csv
import datetime

import pytest
import requests

from document_files import DOCUMENTS, announce, b64, get, make, post, put
from linked import named
from wharf import WAIT, Client, Server, make_location, until

RULES = f"{DOCUMENTS}/retention-rules"
DAY = 86400


@pytest.fixture(scope="module")
def world():
    s = Server("--modules", "org,locations,documents,logs,exports", "--test-clock", "--set", "blob.grace=0")
    s.offset = 0
    yield s
    s.stop()


def ahead(server, seconds):
    server.offset += seconds
    Client(server, server.demo_key).post("/v1/system/clock", {"offset_seconds": server.offset}, expect=200)


@pytest.fixture
def org(world):
    return world.organization()


@pytest.fixture
def client(org):
    return org.client()


def rule(client, days, category=None, **more):
    return client.post(RULES, {"category": category, "delete_after_days": days, **more}, expect=201).data


def older(server, row, days):
    """As if it had been made so many days before."""
    server.sql("UPDATE documents.document SET created_at = created_at - %s * interval '1 day' WHERE id = %s", days, row["id"])


def content(client, path):
    return requests.get(f"{client.server.base}{path}/content?version=1", headers={"SVC-API-KEY": client.key}, timeout=WAIT).status_code


def gone(client, row):
    return client.get(f"{DOCUMENTS}/{row['id']}", expect=None).status == 404


def swept(server):
    """The job looked at everything once more: it has deleted a document that was due last."""
    org = server.organization()
    client = org.client()
    witness = make(client, b"witness")
    older(server, witness, 2)
    rule(client, 1)
    ahead(server, 60)
    until(lambda: gone(client, witness))
    for _ in range(2):  # the runs of before and of now are over
        ahead(server, 60)
        later = make(client, b"witness of another run")
        older(server, later, 2)
        ahead(server, 60)
        until(lambda: gone(client, later))


def on_hold(client, method, path, body=None):
    client.refused(method, path, 409, "document.on_hold", [], body=body)


# ---- rules ----

def test_rules_are_a_resource(client):
    one = rule(client, 30, "invoice", notes="of the tax office")
    assert (one["object"], one["category"], one["delete_after_days"], one["notes"]) == ("document_retention_rule", "invoice", 30, "of the tax office")
    rest = rule(client, 90)
    assert rest["category"] is None and "locations" not in rest
    client.refused("POST", RULES, 409, "document.retention_rule_exists", ["category"], body={"category": "invoice", "delete_after_days": 1})
    client.refused("POST", RULES, 409, "document.retention_rule_exists", ["category"], body={"delete_after_days": 1})
    client.refused("POST", f"{RULES}/{rest['id']}", 409, "document.retention_rule_exists", ["category"], body={"category": "invoice"})
    for sent, field in (({"category": "recipe", "delete_after_days": 1}, "category"), ({"category": "bol", "delete_after_days": 0}, "delete_after_days"), ({"category": "bol", "delete_after_days": 36501}, "delete_after_days"),
                        ({"category": "bol"}, "delete_after_days"), ({"category": "bol", "delete_after_days": 1.5}, "delete_after_days")):
        client.refused("POST", RULES, 400, "validation.failed", [field], body=sent)
    client.refused("POST", f"{RULES}/{one['id']}", 400, "validation.failed", ["category"], body={"category": "recipe"})
    assert client.post(f"{RULES}/{one['id']}", {"delete_after_days": 36500, "category": "bol"}, expect=200).data["category"] == "bol"
    assert client.get(f"{RULES}?category=bol").ids == [one["id"]] == client.get(f"{RULES}?delete_after_days[gt]=90").ids
    assert client.get(f"{RULES}?order_by=delete_after_days&direction=asc").ids == [rest["id"], one["id"]]
    client.delete(f"{RULES}/{one['id']}")
    assert client.get(f"{RULES}/{one['id']}", expect=404) and rule(client, 1, "bol")["id"] != one["id"]


def test_who_writes_rules(world, org, client):
    """documents:read and documents:write, and all locations: a rule is about documents of all of them."""
    place = make_location(client, "One")
    part, reader = org.client(locations=[place["id"]]), org.client("documents:read")
    row = rule(client, 30)
    assert reader.get(f"{RULES}/{row['id']}").data["id"] == row["id"]
    for c, code in ((reader, "scope_access"), (org.client("locations:write"), "scope_access"), (part, "location_access")):
        assert c.request("POST", RULES, body={"category": "bol", "delete_after_days": 1}).code == code
        assert c.request("DELETE", f"{RULES}/{row['id']}").code == code
    assert part.get(RULES).ids == [] and world.organization().client().get(f"{RULES}/{row['id']}", expect=404)


def test_delete_at(world, client):
    """When the rule would delete it: of its category, else of the rest; null on hold and without a rule."""
    first, other = make(client, category="invoice"), make(client, b"another", category="photo")
    plain = make(client, b"without")
    assert [get(client, r)["delete_at"] for r in (first, other, plain)] == [None] * 3
    own, rest = rule(client, 10, "invoice"), rule(client, 400)

    def days(row, query=""):
        row = get(client, row, query)
        at, made = (datetime.datetime.fromisoformat(row[k].replace("Z", "+00:00")) for k in ("delete_at", "created_at"))
        return (at - made) / datetime.timedelta(days=1)

    assert (days(first), days(other), days(plain), days(first, "?version=1")) == (10, 400, 400, 10)
    assert {r["id"]: r["delete_at"] for r in client.get(DOCUMENTS).data} == {r["id"]: get(client, r)["delete_at"] for r in (first, other, plain)}
    assert post(client, first, legal_hold=True)["delete_at"] is None and post(client, first, legal_hold=False)["delete_at"]
    post(client, first, category="photo")
    assert days(first) == 400
    client.delete(f"{RULES}/{rest['id']}")
    assert get(client, first)["delete_at"] is None and make(client, b"new", category="invoice")["delete_at"] is not None and own


def test_a_rule_deletes_what_is_due(world, org, client):
    """As a DELETE: soft, with its links, event and change log, by the server; the bytes go after 30 days."""
    place = make_location(client, "Where it is linked")
    row = make(client, b"due", category="invoice", visibility="public", resources=[named(place)])
    kept = [make(client, b"of another category", category="photo"), make(client, b"without a category"), make(client, b"on hold", category="invoice", legal_hold=True), announce(client, category="contract")]
    for r in (row, *kept):
        older(world, r, 29)
    one = rule(client, 30, "invoice")
    young = make(client, b"young", category="invoice")
    file = world.sql("SELECT file_id FROM documents.document WHERE id = %s", row["id"])[0][0]
    swept(world)
    assert not gone(client, row)
    ahead(world, DAY)
    until(lambda: gone(client, row))
    assert not any(gone(client, r) for r in (*kept, young))
    types = {t for t, *_ in org.events(row["id"])}
    assert {"document.retired", "document.deleted"} <= types
    told = org.events(row["id"], "document.retired")[0][1]
    assert (told["id"], told["retention_rule_id"], told["delete_after_days"]) == (row["id"], one["id"], 30)
    assert client.get(f"{DOCUMENTS}/links?document_id={row['id']}").ids == []
    lines = {action: (actor, id) for action, _, actor, id, *_ in org.changes(row["id"])}
    assert lines["retention"][0] == lines["deleted"][0] == "system", lines
    said = world.sql("SELECT message FROM wharf.change_log WHERE resource_id = %s AND action = 'retention'", row["id"])[0][0]
    assert one["id"] in said and "invoice after 30 days" in said
    assert requests.get(f"{world.base}/v1/public/documents/{row['id']}/{row['filename']}", timeout=WAIT).status_code == 404
    there = lambda: world.sql("SELECT 1 FROM wharf.file WHERE id = %s", file)
    ahead(world, 29 * DAY)
    world.command("files", "collect", *world.settings())
    assert there()
    ahead(world, 2 * DAY)
    until(lambda: not there())
    until(lambda: gone(client, young))


def test_the_rule_of_the_rest(world, client):
    """Without a category: documents that have none, or one without a rule of its own."""
    rows = {c: make(client, (c or "none").encode(), category=c) for c in ("invoice", "photo", "other", None)}
    for r in rows.values():
        older(world, r, 50)
    rule(client, 100, "invoice")
    rule(client, 10)
    rule(client, 51, "other")
    ahead(world, 60)
    until(lambda: gone(client, rows["photo"]) and gone(client, rows[None]))
    swept(world)
    assert not gone(client, rows["invoice"]) and not gone(client, rows["other"])


def test_a_rule_that_is_deleted(world, client):
    row = make(client, b"kept after all")
    client.delete(f"{RULES}/{rule(client, 1)['id']}")
    older(world, row, 10)
    swept(world)
    assert not gone(client, row)


def test_other_organizations(world, client):
    other = world.organization().client()
    row = make(other, b"of another organization")
    older(world, row, 10)
    rule(client, 1)
    swept(world)
    assert not gone(other, row) and get(other, row)["delete_at"] is None


def test_thousands(world, org, client):
    """Steps of 500; meanwhile requests are answered, and what is put on hold stays."""
    n = 1300
    one = make(client, b"one of many")
    world.sql("INSERT INTO documents.document SELECT (jsonb_populate_record(d, jsonb_build_object('id', 'dcmt_' || lpad(i::text, 22, '0'), 'status', 'expired', 'file_id', null, 'number', 1, 'versions_count', 0,"
              " 'created_at', d.created_at - interval '10 days', 'visibility', 'private', 'requested_at', null))).* FROM documents.document d, generate_series(1, %s) i WHERE d.id = %s", n, one["id"])
    count = lambda: world.sql("SELECT count(*) FROM documents.document WHERE organization_id = %s AND deleted_at IS NULL", org.id)[0][0]
    assert count() == n + 1
    newest = {"id": "dcmt_" + str(n).rjust(22, "0")}
    post(client, newest, legal_hold=True)
    rule(client, 5)
    ahead(world, 60)
    until(lambda: count() < n)
    assert get(client, one)["id"] == one["id"]
    until(lambda: count() == 2)
    assert not gone(client, one) and not gone(client, newest)
    assert world.sql("SELECT count(*) FROM wharf.event WHERE organization_id = %s AND type = 'document.deleted'", org.id)[0][0] == n - 1


# ---- legal holds ----

def test_a_hold_keeps_a_document(world, org, client):
    row = make(client, b"held", category="contract")
    assert row["legal_hold"] is False
    path = f"{DOCUMENTS}/{row['id']}"
    assert post(client, row, legal_hold=True)["legal_hold"] is True
    on_hold(client, "DELETE", path)
    on_hold(client, "DELETE", f"{path}?purge=true")
    assert client.get(f"{DOCUMENTS}?legal_hold=true").ids == [row["id"]] and row["id"] not in client.get(f"{DOCUMENTS}?legal_hold=false").ids
    assert post(client, row, name="still can be changed", content=b64(b"second"))["version"] == 2
    change = [(action, c["old"], c["new"], id) for action, changes, _, id, *_ in org.changes(row["id"]) for c in changes or [] if c["field"] == "legal_hold"]
    assert change[-1][:3] == ("updated", False, True) and change[-1][3]
    assert org.events(row["id"], "document.updated")[0][1]["legal_hold"] is True
    rule(client, 1)
    older(world, row, 10)
    swept(world)
    assert not gone(client, row)
    post(client, row, legal_hold=False)
    client.delete(path)
    client.refused("POST", path, 404, "not_found", [row["id"]], body={"legal_hold": True})


def test_a_hold_from_the_beginning(client):
    for bad in (None, "yes", 1):
        client.refused("POST", DOCUMENTS, 400, "validation.failed", ["legal_hold"], body={"name": "abc", "visibility": "private", "legal_hold": bad})
    row = announce(client, legal_hold=True)
    on_hold(client, "DELETE", f"{DOCUMENTS}/{row['id']}")
    post(client, row, legal_hold=False)
    client.delete(f"{DOCUMENTS}/{row['id']}")


def test_a_hold_keeps_all_versions(world, client):
    """At 50 versions one more would drop the oldest: refused, in content, by a link, and when a link is asked for."""
    row = make(client, b"version 1")
    waiting = post(client, row, renew_upload=True)
    for i in range(2, 51):
        post(client, row, content=b64(b"version %d" % i)) if i < 50 else None
    waiting = post(client, row, renew_upload=True)
    assert get(client, row)["versions_count"] == 49
    post(client, row, legal_hold=True)
    held = put(world, waiting, b"version 50")
    assert held.status_code == 200 and get(client, row)["versions_count"] == 50
    path = f"{DOCUMENTS}/{row['id']}"
    on_hold(client, "POST", path, {"content": b64(b"version 51")})
    on_hold(client, "POST", path, {"renew_upload": True})
    post(client, row, legal_hold=False)
    waiting = post(client, row, renew_upload=True)
    post(client, row, legal_hold=True)
    r = put(world, waiting, b"version 51")
    assert (r.status_code, r.json()["code"]) == (409, "document.on_hold")
    assert content(client, path) == 200
    on_hold(client, "POST", path, {"legal_hold": True, "content": b64(b"version 51")})
    post(client, row, legal_hold=False)
    assert put(world, waiting, b"version 51").status_code == 200  # the link was good
    assert content(client, path) == 404 and post(client, row, content=b64(b"x"), legal_hold=False)["version"] == 52


def test_an_expired_request_on_hold_stays(world, client):
    """Expired after a day, and gone after 31 days, but not on hold."""
    row, free = announce(client, legal_hold=True), announce(client)
    ahead(world, DAY + 61)
    until(lambda: get(client, row)["status"] == get(client, free)["status"] == "expired")
    ahead(world, 31 * DAY)
    until(lambda: gone(client, free))
    ahead(world, 61)
    assert get(client, row)["legal_hold"] is True
    post(client, row, legal_hold=False)


def test_exports_have_both(world, client):
    row, kept = make(client, b"exported", legal_hold=True), rule(client, 3, "bol", notes="exported")
    for resource, column, value in (("document", "legal_hold", "true"), ("document_retention_rule", "delete_after_days", "3")):
        made = client.post("/v1/exports", {"resource": resource, "options": {}}, expect=201).data
        path = f"/v1/exports/{made['id']}?include_csv=true"
        until(lambda: client.get(path).data["status"] == "completed")
        lines = list(csv.DictReader(requests.get(world.base + client.get(path).data["_csv_url"], timeout=WAIT).content.decode("utf-8-sig").splitlines()))
        assert [line[column] for line in lines] == [value] and lines[0]["id"] in (row["id"], kept["id"])
    post(client, row, legal_hold=False)
