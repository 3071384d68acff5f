"""The change log as a resource, and its seal (spec 01 section 13). Some tests move the clock: the server is their own."""
import contextlib
import hashlib
import json
import os
import signal
import threading

import psycopg2
import pytest

from wharf import BUILD, ISO, WAIT, Server, make_location, until

DAY = 86400
SETTINGS = ("--modules", f"org,locations,logs,{BUILD}/tests/plugins/filterbench.so", "--test-clock")


@pytest.fixture(scope="module")
def server():
    s = Server(*SETTINGS)
    s.broken.add("logs.chain")  # by the tests
    yield s
    s.stop()


@pytest.fixture
def fresh(server):
    return server.organization()


@pytest.fixture
def client(fresh):
    return fresh.client()


def sealed(c, org):
    until(lambda: org.server.sql("SELECT count(*) FROM wharf.outbox WHERE organization_id = %s", org.id)[0][0] == 0)
    return c.get("/v1/logs?limit=all").data  # with the making of keys


def sample(c, **more):
    return c.post("/v1/samples", {"status": "open", "name": "A", **more}, expect=201).data


# ---- reading ----

def test_a_row(client, fresh):
    s = sample(client, pin="hunter2")
    a = client.post("/v1/samples/" + s["id"], {"name": "B", "pin": "hunter3", "qty": 2.5})
    row = client.get("/v1/logs").data[0]
    assert list(row) == ["object", "id", "resource", "resource_id", "parent_id", "action", "changes", "message", "images", "visibility", "actor",
                         "request_id", "event_id", "batch_id", "location_id", "created_at", "prev_hash", "hash"]
    assert row["object"] == "log" and row["id"].startswith("log_") and (row["resource"], row["resource_id"]) == ("sample", s["id"])
    changes = {c["field"]: (c["old"], c["new"]) for c in row["changes"]}
    assert changes["name"] == ("A", "B") and changes["pin"] == ("***", "***") and changes["qty"] == (None, 2.5)
    assert row["actor"]["type"] == "api_key" and row["actor"]["id"] == s["created_by"] and row["images"] == [] and row["visibility"] == "internal"
    assert row["request_id"] == a.headers["Request-Id"] and row["event_id"].startswith("evt_") and ISO.match(row["created_at"])
    got = client.get("/v1/logs/" + row["id"]).data
    assert {**got, "hash": 0, "prev_hash": 0} == {**row, "hash": 0, "prev_hash": 0}
    assert "hunter" not in json.dumps(client.get("/v1/logs?limit=all").body)


def test_actors(client, fresh):
    """Of a key by itself, a user, a device; the making of keys at the machine is the system's."""
    user = fresh.user(role="admin")
    fresh.client(user=user).post("/v1/samples", {"status": "open"}, expect=201)
    device = client.post("/v1/devices", {"name": "Dock", "scopes": ["samples:write"], "issue_key": True}, expect=201).data
    client.post("/v1/samples", {"status": "open"}, expect=201, key=device["api_key"])
    sample(client)
    key = client.get("/v1/auth").data["key"]
    actors = [r["actor"] for r in client.get("/v1/logs?resource=sample").data]
    assert [(a["type"], a["id"], a["name"]) for a in actors] == [("api_key", key["id"], key["name"]), ("device", device["id"], "Dock"), ("user", user, user)]
    assert {r["actor"]["type"] for r in client.get("/v1/logs?resource=api_key&actor_id=null").data} <= {"system"}


def test_newest_first_always(client):
    ids = [sample(client)["id"] for _ in range(12)]
    a = client.get("/v1/logs")
    assert [r["resource_id"] for r in a.data] == ids[::-1][:10] and a.pagination["limit"] == 10 and a.pagination["has_more"]
    for q in ("order_by=created_at", "order_by=id", "direction=asc", "direction=desc"):
        client.refused("GET", "/v1/logs?" + q, 400, "param.invalid", [q.split("=")[0]])
    got, cursor = [], "start"
    while cursor:
        page = client.get(f"/v1/logs?limit=5&resource=sample&cursor={cursor}")
        got += [r["resource_id"] for r in page.data]
        cursor = page.pagination["next_cursor"]
    assert got == ids[::-1]


def test_it_is_read_only(client):
    sample(client)
    id = client.get("/v1/logs").data[0]["id"]
    for method, path in (("POST", "/v1/logs"), ("POST", "/v1/logs/" + id), ("DELETE", "/v1/logs/" + id), ("POST", "/v1/request-logs"),
                         ("DELETE", "/v1/request-logs/req_" + "0" * 22)):
        a = client.request(method, path, body={} if method == "POST" else None, expect=405)
        assert a.code == "method.not_allowed" and "GET" in a.headers["Allow"]


def test_filters(client, fresh):
    s, t = sample(client), sample(client)
    part = client.post(f"/v1/samples/{s['id']}/parts", {"name": "p", "location_id": make_location(client)["id"]}, expect=201).data
    change = client.post("/v1/samples/" + t["id"], {"name": "B"}, expect=200)
    client.delete("/v1/samples/" + t["id"])
    user = fresh.user(role="admin")
    fresh.client(user=user).post("/v1/samples", {"status": "open"}, expect=201)

    def found(q):
        return [(r["resource_id"], r["action"]) for r in client.get("/v1/logs?limit=all&resource[!in]=api_key,organization,location&" + q).data]

    assert found("resource_id=" + s["id"]) == [(part["id"], "created"), (s["id"], "created")]
    assert found("resource_id=" + part["id"]) == [(part["id"], "created")]
    assert len(found(f"resource_id={s['id']},{t['id']}")) == 5
    assert (part["id"], "created") not in found("resource_id[!in]=" + s["id"]) and len(found("resource_id[!in]=" + s["id"])) == 4
    assert found("resource=sample_part") == [(part["id"], "created")]
    assert found("action=deleted") == [(t["id"], "deleted")]
    assert len(found("action=updated,deleted")) == 2
    assert len(found("actor_id=" + user)) == 1
    assert found("request_id=" + change.headers["Request-Id"]) == [(t["id"], "updated")]
    assert found("batch_id=btch_x") == [] and len(found("batch_id=null")) == 6
    assert (t["id"], "updated") in found("field=name") and found("field=nothing") == []
    assert found("visibility=public") == [] and len(found("visibility=internal")) == 6
    assert len(found("created_at[gte]=" + change.data["updated_at"])) == 3
    client.refused("GET", "/v1/logs?action=exploded", 400, "param.invalid", ["action"])


def test_locations_and_scopes(client, fresh):
    here, there = make_location(client, "Here"), make_location(client, "There")
    a, b, none = sample(client, location_id=here["id"]), sample(client, location_id=there["id"]), sample(client)
    c = fresh.client("logs:read,samples:read", locations=[here["id"]])
    seen = {r["resource_id"] for r in c.get("/v1/logs?limit=all&resource=sample").data}
    assert seen == {a["id"], none["id"]}
    hidden = client.get("/v1/logs?resource_id=" + b["id"]).data[0]["id"]
    c.refused("GET", "/v1/logs/" + hidden, 403, "location_access")
    c.refused("GET", "/v1/logs?location_id=" + there["id"], 403, "location_access", [there["id"]])
    fewer = fresh.client("logs:read")
    assert fewer.get("/v1/logs?limit=all&resource=sample").data == []
    fewer.refused("GET", "/v1/logs/" + hidden, 403, "scope_access", ["samples:read"])
    c.refused("GET", "/v1/locations", 403, "scope_access")
    fresh.client("locations:write").refused("GET", "/v1/logs", 403, "scope_access")
    other = fresh.server.organization().client()
    assert [r["resource"] for r in other.get("/v1/logs").data] == ["api_key", "organization"]
    other.refused("GET", "/v1/logs/" + hidden, 404, "not_found")


# ---- the seal ----

def canonical(row):
    """As kernel/db/sql/canonical_log.sql says: without the hashes, members by length and bytes."""
    def text(v):
        if isinstance(v, dict):
            return "{" + ", ".join(text(k) + ": " + text(v[k]) for k in sorted(v, key=lambda k: (len(k.encode()), k.encode()))) + "}"
        if isinstance(v, list):
            return "[" + ", ".join(map(text, v)) + "]"
        return json.dumps(v, ensure_ascii=False)
    return text({k: v for k, v in row.items() if k not in ("hash", "prev_hash")})


def test_anybody_can_compute_the_chain(client, fresh):
    s = sample(client, name="Zoë \"q\" \\ 📦", metadata={"b": 1, "aa": True, "c": "x"})
    client.post("/v1/samples/" + s["id"], {"name": "\t<&>", "qty": 2.5, "tags": ["x", "y"]}, expect=200)
    client.delete("/v1/samples/" + s["id"])
    before = "0" * 64
    for row in reversed(sealed(client, fresh)):
        assert row["prev_hash"] == before
        before = hashlib.sha256((before + canonical(row)).encode()).hexdigest()
        assert row["hash"] == before
    assert client.get("/v1/logs/verify").data == {"valid": True, "checked": 5, "first_bad_id": None, "head_hash": before}


def written(org):
    return org.server.sql("SELECT count(*) FROM wharf.change_log WHERE organization_id = %s", org.id)[0][0]


def test_lines_of_any_text_are_sealed_as_they_are_checked(server, client, fresh):
    """Every member that a line may have, with what JSON escapes: the server seals what the database verifies."""
    odd = "".join(map(chr, range(1, 32))) + "\\ \" / \x7f \u2028 é 📦"
    server.sql("WITH l AS (INSERT INTO wharf.change_log (organization_id, id, created_at, resource, resource_id, parent_id, action, changes, message, images, visibility,"
               " actor_type, actor_id, actor_name, request_id, event_id, batch_id, location_id) VALUES (%s, 'log_' || repeat('z', 22), '2026-01-02T03:04:05.060Z',"
               " %s, %s, %s, %s, jsonb_build_array(jsonb_build_object('field', %s::text, 'new', 1.50)), %s, jsonb_build_array(%s::text), %s, %s, %s, %s, %s, %s, %s, %s)"
               " RETURNING organization_id, created_at, id) INSERT INTO wharf.outbox (organization_id, created_at, log_id) SELECT * FROM l", fresh.id, *[odd + str(i) for i in range(15)])
    row = until(lambda: server.sql("SELECT encode(hash, 'hex') FROM wharf.log_seal WHERE organization_id = %s AND log_id LIKE 'log_zzz%%'", fresh.id))
    d = client.get("/v1/logs/verify").data
    assert d["valid"] and d["checked"] == written(fresh) and d["head_hash"] == row[0][0]


def test_many_lines_of_one_moment(server, client, fresh):
    """More than a chunk, in no order, at a full second, with the same ids in another organization, and the first id at another moment too."""
    other = server.organization()
    for org in (fresh, other):
        sealed(org.client(), org)
        server.sql("WITH l AS (INSERT INTO wharf.change_log (organization_id, id, created_at, resource, resource_id, action, actor_type)"
                   " SELECT %s, 'log_' || left(md5(i::text), 22), '2026-01-02T03:04:05Z'::timestamptz, 'sample', 'x' || i, 'updated', 'system' FROM generate_series(1, 1200) i"
                   " UNION ALL SELECT %s, 'log_' || left(md5('1'), 22), '2026-01-02T03:04:06.5Z'::timestamptz, 'sample', 'again', 'updated', 'system'"
                   " RETURNING organization_id, created_at, id) INSERT INTO wharf.outbox (organization_id, created_at, log_id) SELECT * FROM l", org.id, org.id)
    for org in (fresh, other):
        c = org.client()
        until(lambda: not server.sql("SELECT 1 FROM wharf.outbox WHERE organization_id = %s LIMIT 1", org.id))
        d = c.get("/v1/logs/verify").data
        assert d["valid"] and d["checked"] == written(org) > 1201, d


def test_hashes_come_with_the_seal(server, client, fresh):
    """Until a row is sealed, which is soon, it has none; verify counts what is sealed."""
    sample(client)
    before = len(sealed(client, fresh))
    workers = server.workers("job")
    [os.kill(pid, signal.SIGSTOP) for pid in workers]
    try:
        sample(client)
        row = client.get("/v1/logs").data[0]
        assert row["hash"] is row["prev_hash"] is None and client.get("/v1/logs/verify").data["checked"] == before
    finally:
        [os.kill(pid, signal.SIGCONT) for pid in workers]
    assert sealed(client, fresh)[0]["hash"] and client.get("/v1/logs/verify").data["checked"] == before + 1


@pytest.fixture
def chain(client, fresh):
    for i in range(8):
        sample(client, name=f"n{i}")
    by_hash = {r["hash"]: r for r in sealed(client, fresh)}
    rows = [by_hash[(by_hash.keys() - {r["prev_hash"] for r in by_hash.values()}).pop()]]
    while rows[0]["prev_hash"] in by_hash:  # lines of one millisecond stand in the list by their ids
        rows.insert(0, by_hash[rows[0]["prev_hash"]])
    assert len(rows) == 10 and [r["resource"] for r in rows[:2]] == ["organization", "api_key"]
    assert client.get("/v1/logs/verify").data == {"valid": True, "checked": 10, "first_bad_id": None, "head_hash": rows[-1]["hash"]}
    return rows


def bad(client, id, q=""):
    d = client.get("/v1/logs/verify" + q).data
    assert d["valid"] is False and d["first_bad_id"] == id, d


@pytest.mark.parametrize("assignment", ["actor_name = 'nobody'", "changes = '[{\"field\": \"x\", \"old\": 1, \"new\": 2}]'", "visibility = 'public'",
                                        "message = 'nothing happened'", "location_id = NULL, resource_id = 'x'"])
def test_a_changed_row(client, fresh, chain, assignment):
    fresh.server.sql(f"UPDATE wharf.change_log SET {assignment} WHERE organization_id = %s AND id = %s", fresh.id, chain[4]["id"])
    bad(client, chain[4]["id"])


@pytest.mark.parametrize("assignment", ["hash = decode(repeat('0', 64), 'hex')", "prev_hash = decode(repeat('0', 64), 'hex')", "sequence = sequence + 1"])
def test_a_changed_seal(client, fresh, chain, assignment):
    fresh.server.sql(f"UPDATE wharf.log_seal SET {assignment} WHERE organization_id = %s AND log_id = %s", fresh.id, chain[4]["id"])
    d = client.get("/v1/logs/verify").data
    assert d["valid"] is False and d["first_bad_id"] in (chain[4]["id"], chain[5]["id"])


SEAL_AGAIN = ("UPDATE wharf.log_seal s SET hash = wharf.log_hash(s.prev_hash, c) FROM wharf.change_log c WHERE c.organization_id = s.organization_id"
              " AND c.created_at = s.created_at AND c.id = s.log_id AND s.organization_id = %s AND s.log_id = %s")


def test_a_changed_row_that_was_hashed_again(client, fresh, chain):
    """Who changes a row and its hash has to change all that follow, and the head that was told."""
    fresh.server.sql("UPDATE wharf.change_log SET actor_name = 'nobody' WHERE organization_id = %s AND id = %s", fresh.id, chain[4]["id"])
    fresh.server.sql(SEAL_AGAIN, fresh.id, chain[4]["id"])
    bad(client, chain[5]["id"])


def test_a_deleted_row(client, fresh, chain):
    fresh.server.sql("DELETE FROM wharf.change_log WHERE organization_id = %s AND id = %s", fresh.id, chain[4]["id"])
    bad(client, chain[4]["id"])
    # also when the question is only about its neighbours
    bad(client, chain[5]["id"], "?created_at[gt]=" + chain[4]["created_at"])
    bad(client, chain[4]["id"], "?created_at[lt]=" + chain[4]["created_at"])
    # and when its seal went with it
    fresh.server.sql("DELETE FROM wharf.log_seal WHERE organization_id = %s AND log_id = %s", fresh.id, chain[4]["id"])
    bad(client, chain[5]["id"])


def test_the_first_and_the_last_row_deleted(client, fresh, chain):
    fresh.server.sql("DELETE FROM wharf.change_log WHERE organization_id = %s AND id = %s", fresh.id, chain[9]["id"])
    bad(client, chain[9]["id"])
    fresh.server.sql("DELETE FROM wharf.log_seal WHERE organization_id = %s AND log_id = %s", fresh.id, chain[9]["id"])
    bad(client, chain[8]["id"])
    for table, id in (("change_log", "id"), ("log_seal", "log_id")):
        fresh.server.sql(f"DELETE FROM wharf.{table} WHERE organization_id = %s AND {id} = %s", fresh.id, chain[0]["id"])
    bad(client, chain[1]["id"])


def test_a_row_put_in(client, fresh, chain):
    copy = ("INSERT INTO wharf.change_log SELECT (jsonb_populate_record(c, %s::jsonb)).* FROM wharf.change_log c WHERE organization_id = %s AND id = %s")
    forged = {"id": "log_" + "z" * 22, "actor_name": "somebody else"}
    fresh.server.sql(copy, json.dumps(forged), fresh.id, chain[4]["id"])
    bad(client, forged["id"])
    fresh.server.sql("DELETE FROM wharf.change_log WHERE organization_id = %s AND id = %s", fresh.id, forged["id"])
    assert client.get("/v1/logs/verify").data["valid"]
    # behind the end, well made
    fresh.server.sql(copy, json.dumps(forged), fresh.id, chain[9]["id"])
    fresh.server.sql("INSERT INTO wharf.log_seal SELECT organization_id, created_at, %s, 11, hash, '' FROM wharf.log_seal WHERE organization_id = %s AND log_id = %s",
                     forged["id"], fresh.id, chain[9]["id"])
    fresh.server.sql(SEAL_AGAIN, fresh.id, forged["id"])
    bad(client, forged["id"])


def test_the_whole_chain_gone(client, fresh, chain):
    fresh.server.sql("DELETE FROM wharf.change_log WHERE organization_id = %s", fresh.id)
    d = client.get("/v1/logs/verify").data
    assert d["valid"] is False and d["head_hash"] == chain[9]["hash"]
    fresh.server.sql("DELETE FROM wharf.log_seal WHERE organization_id = %s", fresh.id)
    assert client.get("/v1/logs/verify").data["valid"] is False
    fresh.server.sql("DELETE FROM wharf.log_chain WHERE organization_id = %s", fresh.id)
    assert client.get("/v1/logs/verify").data == {"valid": True, "checked": 0, "first_bad_id": None, "head_hash": None}


def test_a_part_of_it(client, fresh, chain):
    a = client.get(f"/v1/logs/verify?created_at[bwi]={chain[2]['created_at']},{chain[6]['created_at']}").data
    assert a["valid"] and 5 <= a["checked"] <= 7 and a["head_hash"] == chain[9]["hash"]
    assert client.get("/v1/logs/verify?created_at[gt]=2999-01-01T00:00:00Z").data["checked"] == 0
    client.refused("GET", "/v1/logs/verify?created_at=yesterday", 400, "param.invalid", ["created_at"])
    fresh.client("locations:write").refused("GET", "/v1/logs/verify", 403, "scope_access")


def test_rows_that_commit_late(client, fresh, chain):
    """A transaction that was open while younger rows were sealed: its row gets its place when it is seen."""
    import psycopg2
    late = psycopg2.connect(fresh.server.conninfo)
    with late.cursor() as c:
        c.execute("WITH l AS (INSERT INTO wharf.change_log (organization_id, id, created_at, resource, resource_id, action, actor_type)"
                  " VALUES (%s, %s, %s::timestamptz - interval '20 seconds', 'sample', 'x', 'updated', 'system') RETURNING organization_id, created_at, id)"
                  " INSERT INTO wharf.outbox (organization_id, created_at, log_id) SELECT * FROM l",
                  (fresh.id, "log_" + "A" * 22, chain[0]["created_at"]))
    sample(client)
    assert sealed(client, fresh)[0]["hash"]
    late.commit()
    late.close()
    rows = sealed(client, fresh)
    assert rows[-1]["resource_id"] == "x" and rows[-1]["prev_hash"] == rows[0]["hash"]
    assert client.get("/v1/logs/verify").data == {"valid": True, "checked": 12, "first_bad_id": None, "head_hash": rows[-1]["hash"]}


def test_sealers_beside_each_other(server, client, fresh):
    """Another server on the same database: changes are sealed once, in one chain."""
    beside = Server(*SETTINGS, beside=server)
    try:
        for _ in range(60):
            sample(client)
        rows = sealed(client, fresh)
    finally:
        beside.stop()
    assert len({r["hash"] for r in rows}) == 62
    assert client.get("/v1/logs/verify").data["checked"] == 62 and client.get("/v1/logs/verify").data["valid"]


# ---- retention ----

def old_rows(org, n, days):
    for i in range(n):
        org.server.sql("WITH l AS (INSERT INTO wharf.change_log (organization_id, id, created_at, resource, resource_id, action, actor_type)"
                       " VALUES (%s, 'log_' || lpad(%s::text, 22, '0'), wharf.now() - make_interval(days => %s), 'sample', 'old', 'updated', 'system')"
                       " RETURNING organization_id, created_at, id) INSERT INTO wharf.outbox (organization_id, created_at, log_id) SELECT * FROM l",
                       org.id, str(i), days)


def age(org, days, but=""):
    """Sealed rows made older, from the beginning of the chain on, as time would; their hashes do not hold any more."""
    for table, id in (("change_log", "id"), ("log_seal", "log_id")):
        org.server.sql(f"UPDATE wharf.{table} SET created_at = created_at - make_interval(days => %s) WHERE organization_id = %s AND {id} <> %s",
                       days, org.id, but)


def settings(org, text):
    org.server.sql("UPDATE wharf.organization SET settings = %s WHERE organization_id = %s", text, org.id)
    org.server.sql("NOTIFY wharf_auth")


def test_what_is_over_is_hidden_at_once_and_deleted_later(server, fresh):
    old_rows(fresh, 5, 0)
    c = fresh.client()
    new = sample(c)
    rows = sealed(c, fresh)
    assert len(rows) == 8 and len(c.get("/v1/logs?resource_id=old").data) == 5
    age(fresh, 40, but=rows[0]["id"])
    settings(fresh, '{"logs": {"retain_days": 30}}')
    until(lambda: [r["resource_id"] for r in c.get("/v1/logs").data] == [new["id"]])
    assert server.sql("SELECT wharf.expire_change_log(3)") == [(3,)]
    assert server.sql("SELECT base_sequence FROM wharf.log_chain WHERE organization_id = %s", fresh.id) == [(3,)]
    assert server.sql("SELECT wharf.expire_change_log(1000)") == [(4,)] and server.sql("SELECT wharf.expire_change_log(1000)") == [(0,)]
    for table in ("change_log", "log_seal"):
        assert server.sql(f"SELECT count(*) FROM wharf.{table} WHERE organization_id = %s", fresh.id) == [(1,)]
    left = c.get("/v1/logs/verify").data
    assert left["valid"] and left["checked"] == 1
    # what retention did not take is still missed
    server.sql("DELETE FROM wharf.change_log WHERE organization_id = %s", fresh.id)
    assert not c.get("/v1/logs/verify").data["valid"]


def test_the_job_deletes(server, fresh):
    old_rows(fresh, 3, 0)
    c = fresh.client()
    sealed(c, fresh)
    age(fresh, 400)
    server.sql("INSERT INTO wharf.event (organization_id, id, created_at, type, \"timestamp\", resource_type, resource_id, actor_type, data, expires_at)"
               " VALUES (%s, 'evt_x', wharf.now(), 'x.y', wharf.now(), 'x', 'x', 'system', '{}', wharf.now() - interval '1 second')", fresh.id)
    assert c.get("/v1/logs?resource=sample").data == []
    server.sql("UPDATE wharf.job_schedule SET next_at = wharf.now() WHERE queue LIKE '%%retention'")
    until(lambda: server.sql("SELECT count(*) FROM wharf.change_log WHERE organization_id = %s AND resource = 'sample'", fresh.id)[0][0] == 0)
    until(lambda: server.sql("SELECT count(*) FROM wharf.event WHERE organization_id = %s AND id = 'evt_x'", fresh.id)[0][0] == 0)


def test_test_organizations_have_the_settings_of_the_live_one(server, fresh):
    settings(fresh, '{"logs": {"retain_days": 45, "request_retain_days": 3}}')
    sample(fresh.client(test=True))
    test = server.sql("SELECT id FROM wharf.organization WHERE live_organization_id = %s", fresh.id)[0][0]
    for n, days in ((1, 44), (2, 46)):
        server.sql("INSERT INTO wharf.change_log (organization_id, id, created_at, resource, resource_id, action, actor_type, actor_name)"
                   " VALUES (%s, %s, wharf.now() - make_interval(days => %s), 'sample', 'old', 'updated', 'system', 'made by test')", test, "log_" + str(n) * 22, days)
    assert [r["resource_id"] for r in fresh.client(test=True).get("/v1/logs?resource_id=old").data] == ["old"]


def test_partitions_have_the_statistics_of_their_table(server):
    """LIKE does not tell a new month what is not worth counting."""
    server.sql("SELECT wharf.ensure_partitions(wharf.now() + interval '300 days')")
    told = server.sql("SELECT i.inhparent::regclass::text, c.relname, array_agg(a.attname || ' ' || a.attstattarget ORDER BY a.attname) FROM pg_inherits i"
                      " JOIN pg_class c ON c.oid = i.inhrelid AND c.relkind = 'r' JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
                      " WHERE i.inhparent = ANY (ARRAY['wharf.event', 'wharf.change_log', 'wharf.event_done', 'wharf.log_seal', 'wharf.request_log']::regclass[]) GROUP BY 1, 2")
    assert len(told) > 5 * 5
    for parent in {t[0] for t in told}:
        targets = {tuple(t[2]) for t in told if t[0] == parent}
        assert len(targets) == 1 and {int(x.split()[-1]) for x in targets.pop()} <= {0, 20}, parent
    assert "data 0" in next(t[2] for t in told if t[1].startswith("event_y"))


@pytest.mark.parametrize("call,made", [("wharf.drop_expired_partitions", False), ("wharf.ensure_partitions", True)])
def test_partitions_come_and_go_beside_readers(server, call, made):
    """One in a transaction: a reader of two tables, who has one that is needed next, is not in the way of another that is held."""
    at = "wharf.now() + interval '900 days'" if made else "wharf.now() - interval '900 days'"
    asked = f"SELECT {call}({at + ', ' if made else ''}1)"
    if not made:
        server.sql(f"SELECT wharf.ensure_partitions({at})")
    held, free = ("wharf.event", "wharf.change_log")
    done = []

    def work():
        db = psycopg2.connect(server.conninfo)
        db.autocommit = True
        with contextlib.closing(db), db.cursor() as cursor:
            while not done or done[-1]:
                try:
                    cursor.execute(asked)
                    done.append(cursor.fetchall()[0][0])
                except psycopg2.errors.LockNotAvailable:
                    done.append(1)

    with psycopg2.connect(server.conninfo) as reader, reader.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {held}")
        worker = threading.Thread(target=work)
        worker.start()
        until(lambda: server.sql("SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.query = %s)", asked)[0][0])
        cursor.execute(f"SELECT count(*) FROM {free}")
        cursor.execute("SELECT count(*) FROM wharf.request_log")
    worker.join(WAIT)
    assert not worker.is_alive() and done[-1] == 0  # the server may have done part of it itself
    sign = "+" if made else "-"
    there = server.sql(f"SELECT to_regclass('wharf.event_' || to_char(wharf.now() {sign} interval '900 days', '\"y\"YYYY\"m\"MM')) IS NOT NULL")[0][0]
    assert there == made


def test_a_drop_of_partitions_waits_for_another(server):
    """Nothing dropped would say that nothing is left."""
    locks = [f"pg_advisory_xact_lock(hashtextextended('wharf.{name}', 0))" for name in ("partitions", "verify")]
    with server.held(f"SELECT {', '.join(locks)}"), pytest.raises(psycopg2.errors.LockNotAvailable):
        server.sql("SELECT wharf.drop_expired_partitions(1)")


def test_partitions_are_dropped_when_all_is_over(server):
    """The chain begins behind them."""
    org = server.organization()
    server.sql("SELECT wharf.ensure_partitions(wharf.now() - interval '800 days')")
    old_rows(org, 3, 800)
    until(lambda: server.sql("SELECT count(*) FROM wharf.outbox WHERE organization_id = %s", org.id)[0][0] == 0)
    c = org.client()
    sample(c)
    sealed(c, org)
    assert c.get("/v1/logs/verify").data["checked"] == 6
    before = {r[0] for r in server.sql("SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid")}
    assert server.sql("SELECT wharf.drop_expired_partitions()")[0][0] > 0
    after = {r[0] for r in server.sql("SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid")}
    gone = before - after
    assert gone and all(any(g.startswith(t) for t in ("change_log_y", "request_log_y", "event_y", "log_seal_y", "event_done_y")) for g in gone)
    assert c.get("/v1/logs/verify").data["checked"] in (2, 3) and len(c.get("/v1/logs").data) == 3  # the organization's own row may be sealed before the old ones


def test_a_bad_row_of_another_place_is_not_named(fresh, client, chain):
    here = make_location(client)["id"]
    sealed(client, fresh)
    fresh.server.sql("UPDATE wharf.change_log SET actor_name = 'nobody' WHERE organization_id = %s AND id = %s", fresh.id, chain[4]["id"])
    bad(client, chain[4]["id"])
    bad(fresh.client("logs:read", locations=[here]), None)
