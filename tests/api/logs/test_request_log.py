"""The request log (spec 01 section 13): what is written, what is removed from it, what a slow or missing database does to it."""
import json
import os
import re
import time

import psycopg2
import pytest

from wharf import BUILD, ISO, WAIT, Server, make_location, until

MODULES = f"org,locations,stations,logs,{BUILD}/tests/plugins/filterbench.so"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES)
    yield s
    s.stop()


@pytest.fixture
def org(server):
    return server.organization()


@pytest.fixture
def client(org):
    return org.client()


def line(c, answer, by=None):
    """The row of an answer, once it is written."""
    id = answer.headers["Request-Id"]
    until(lambda: c.server.sql("SELECT 1 FROM wharf.request_log WHERE id = %s", id))
    return (by or c).get("/v1/request-logs/" + id).data


def test_a_row(client, org):
    a = client.post("/v1/samples?fields=id&x=1", {"status": "open", "name": "N"}, expect=201,
                    headers={"User-Agent": "tests/1", "X-Request-Id": "mine-7", "Idempotency-Key": "k1"})
    row = line(client, a)
    assert list(row) == ["object", "id", "method", "route", "path", "query", "status", "code", "duration_ms", "api_key_id", "principal_id", "ip",
                         "user_agent", "client_request_id", "idempotency_key", "idempotent_replayed", "request_bytes", "response_bytes",
                         "request_body", "response_body", "created_at"]
    assert row["object"] == "request_log" and row["id"] == a.headers["Request-Id"]
    assert (row["method"], row["route"], row["path"], row["query"]) == ("POST", "/v1/samples", "/v1/samples", "fields=id&x=1")
    assert (row["status"], row["code"], row["ip"], row["user_agent"], row["client_request_id"]) == (201, None, "127.0.0.1", "tests/1", "mine-7")
    assert row["idempotency_key"] == "k1" and row["idempotent_replayed"] is False and row["principal_id"] is None and row["duration_ms"] > 0
    assert row["api_key_id"] == a.data["created_by"] if "created_by" in a.data else row["api_key_id"].startswith("key_")
    assert json.loads(row["request_body"]) == {"status": "open", "name": "N"} and json.loads(row["response_body"]) == a.body
    assert row["request_bytes"] == len(json.dumps({"status": "open", "name": "N"})) and row["response_bytes"] == len(a.raw.content)
    assert ISO.match(row["created_at"])
    again = line(client, client.post("/v1/samples?fields=id&x=1", {"status": "open", "name": "N"}, headers={"Idempotency-Key": "k1"}))
    assert again["idempotent_replayed"] is True and json.loads(again["response_body"])["data"]["id"] == a.data["id"]


@pytest.mark.usual_settings
def test_writes_and_errors_are_kept_reads_are_not(client, org):
    read = client.get("/v1/samples")
    error = client.get("/v1/samples/smp_" + "0" * 22, expect=404)
    nothing = client.get("/v1/nothing-here", expect=404)
    gone = client.delete("/v1/samples/" + client.post("/v1/samples", {"status": "open"}, expect=201).data["id"])
    row = line(client, error)
    assert (row["status"], row["code"], row["request_body"]) == (404, "not_found", None) and json.loads(row["response_body"]) == error.body
    assert line(client, gone)["method"] == "DELETE"
    client.get("/v1/request-logs/" + read.headers["Request-Id"], expect=404)
    # of a path that does not exist the key is not read: nobody's request
    client.get("/v1/request-logs/" + nothing.headers["Request-Id"], expect=404)


def test_reads_too_when_configured():
    s = Server("--modules", MODULES, "--set", "request_log.reads=true")
    try:
        c = s.organization().client()
        a = c.get("/v1/samples?search=x")
        row = line(c, a)
        assert (row["method"], row["status"], row["query"]) == ("GET", 200, "search=x") and row["request_body"] is None and row["response_body"] is None
    finally:
        s.stop()


def test_filters(client, org):
    s = client.post("/v1/samples", {"status": "open"}, expect=201).data["id"]
    place = make_location(client)["id"]
    part = client.post(f"/v1/samples/{s}/parts", {"name": "p", "location_id": place}, expect=201).data["id"]
    client.post("/v1/samples/" + s, {"name": 5}, expect=400)
    last = client.delete("/v1/samples/" + s)
    line(client, last)

    def found(q):
        return [(r["method"], r["status"]) for r in client.get("/v1/request-logs?" + q).data]

    assert sorted(found("resource_id=" + s)) == [("DELETE", 200), ("POST", 201), ("POST", 201), ("POST", 400)]
    assert found("resource_id=" + part) == [("POST", 201)] and len(found(f"resource_id={part},{place}")) == 2
    assert found("method=DELETE") == [("DELETE", 200)] and found("status=400") == found("code=validation.failed") == [("POST", 400)]
    assert len(found("status[gte]=200&status[lt]=300")) == 4 and len(found("ip=127.0.0.1")) == 5 and found("ip=10.0.0.1") == []
    assert found("route=/v1/samples/:sample/parts") == [("POST", 201)]
    key = client.get("/v1/request-logs?limit=1").data[0]["api_key_id"]
    assert len(found("api_key_id=" + key)) == 5 and found("api_key_id=key_" + "0" * 22) == []
    assert len(found("created_at[gt]=2020-01-01T00:00:00Z")) == 5 and found("created_at[lt]=2020-01-01T00:00:00Z") == []
    for q in ("order_by=created_at", "direction=asc", "status=many"):
        client.refused("GET", "/v1/request-logs?" + q, 400, "param.invalid", [q.split("=")[0]])
    dates = [r["created_at"] for r in client.get("/v1/request-logs").data]
    assert dates == sorted(dates, reverse=True)


def test_who_sees_it(client, org):
    a = client.post("/v1/samples", {"status": "open"}, expect=201)
    line(client, a, by=org.client("logs:read,samples:read"))
    org.client("logs:read").refused("GET", "/v1/request-logs/" + a.headers["Request-Id"], 403, "scope_access")
    assert a.headers["Request-Id"] not in [r["id"] for r in org.client("logs:read").get("/v1/request-logs").data]
    there = make_location(client)["id"]
    limited = org.client("logs:read,samples:write", locations=[there])
    limited.refused("GET", "/v1/request-logs/" + a.headers["Request-Id"], 403, "location_access")
    own = limited.post("/v1/samples", {"status": "open", "location_id": there}, expect=201)
    assert line(client, own, by=limited)["id"] == own.headers["Request-Id"]
    assert {r["api_key_id"] for r in limited.get("/v1/request-logs").data} == {limited.get("/v1/auth").data["key"]["id"]}
    org.client("samples:write").refused("GET", "/v1/request-logs", 403, "scope_access")
    other = org.server.organization().client()
    assert other.get("/v1/request-logs").data == []
    other.get("/v1/request-logs/" + a.headers["Request-Id"], expect=404)
    user = org.user(role="admin")
    assert line(client, org.client(user=user).post("/v1/samples", {"status": "open"}, expect=201))["principal_id"] == user


def test_secrets_in_urls_are_removed(client):
    a = client.request("POST", "/v1/samples", body={"status": "open", "name": "see https://jane:hunter2pass@example.com/x?token=sEcReT1&page=2#a and ftp://u@h/ or /?sig=abc123"})
    text = json.dumps(line(client, a))
    assert "hunter2pass" not in text and "sEcReT1" not in text and "abc123" not in text and "jane" not in text
    assert "https://***@example.com/x?token=***&page=2#a" in text and "ftp://***@h/" in text


def test_secrets_are_removed(client, org):
    place = make_location(client)["id"]
    secret = "Zq9" + os.urandom(20).hex()
    key = org.key()
    file = "QUJD" * 200
    bodies = [
        client.post("/v1/samples", {"status": "open", "pin": "hunter2", "metadata": {"password": secret, "note": "key is " + key, "x": file}}),
        client.post("/v1/samples", {"status": "open", "name": {"deep": [{"api_key": secret, "token": [secret, {"a": secret}]}]}, "data": "short file"}),
        client.post("/v1/samples?token=" + secret + "&sig=" + secret + "&search=" + key + "&page=2", {"status": "open", "name": "data:text/plain;base64,QUJD"}),
        client.post("/v1/samples/" + "f" * 64, {"p\\u0069n": "hunter2"}),
        client.post("/v1/cloud-printing/stations", {"name": "S", "display_name": "S", "location_id": place, "device_token": "tiny",
                                                    "printers": [{"name": "P", "model": "M", "configuration": {}, "page_size": {"label_4x6": True}}]}),
    ]
    for a in bodies:
        text = json.dumps(line(client, a))
        for hidden in (secret, key, file, "hunter2", "QUJD", "short file", "tiny", "f" * 64, secret[3:]):
            assert hidden not in text, (hidden, text)
    row = line(client, bodies[2])
    assert row["query"] == "token=***&sig=***&search=***&page=2"
    sent = json.loads(line(client, bodies[0])["request_body"])
    assert sent["status"] == "open" and sent["pin"] == "***" and sent["metadata"] == {"password": "***", "note": "key is ***", "x": "***"}


def test_bodies_are_cut(client, org):
    a = client.post("/v1/samples", {"status": "open", "metadata": {f"k{i}": "é \u20ac x" * 40 for i in range(50)}})
    row = line(client, a)
    assert len(row["request_body"].encode()) in range(8189, 8193) and row["request_body"].startswith('{"status":"open"')
    malformed = client.request("POST", "/v1/samples", data=b'{"pin": "hunter2', headers={"Content-Type": "application/json"}, expect=400)
    assert line(client, malformed)["request_body"] is None


def test_strange_requests_are_kept(client, org):
    for head in (b"User-Agent: \xff\xfe\x80", b"Idempotency-Key: \xc3\xa9"):
        status, headers, _ = client.raw(b"POST /v1/samples/%00%ff?x=%00&=&&a HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: " + client.key.encode() +
                                        b"\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n" + head + b"\r\n\r\n{}")
        assert status >= 400
        until(lambda: org.server.sql("SELECT 1 FROM wharf.request_log WHERE id = %s", headers["Request-Id"]))


def dropped(server):
    text = server.http.get(server.admin + "/metrics", timeout=WAIT).text
    return int(re.search(r"^wharf_request_log_dropped_total (\d+)$", text, re.M).group(1))


def test_a_blocked_table_stops_nobody(server, client, org):
    """While nothing can be written requests are answered; what waited comes afterwards."""
    before = dropped(server)
    blocker = psycopg2.connect(server.conninfo)
    with blocker.cursor() as c:
        c.execute("LOCK TABLE wharf.request_log IN ACCESS EXCLUSIVE MODE")
    ids = []
    try:
        for i in range(300):
            ids.append(client.post("/v1/samples", {"status": "open"}, expect=201).headers["Request-Id"])
    finally:
        blocker.rollback()
        blocker.close()
    until(lambda: server.sql("SELECT count(*) FROM wharf.request_log WHERE id = ANY (%s)", ids) == [(300,)])
    assert dropped(server) == before


def test_what_does_not_fit_is_counted(server, client):
    """The queue is bounded: large bodies fill it."""
    before = dropped(server)
    blocker = psycopg2.connect(server.conninfo)
    with blocker.cursor() as c:
        c.execute("LOCK TABLE wharf.request_log IN ACCESS EXCLUSIVE MODE")
    body = {"status": "open", "metadata": {f"k{i}": "x y " * 120 for i in range(50)}, "name": 5, "tags": ["t u " * 200] * 50}
    try:
        deadline = time.monotonic() + 600  # as many requests as it takes, on a busy machine too
        while dropped(server) == before:
            assert time.monotonic() < deadline
            client.post("/v1/samples", body, expect=400)
    finally:
        blocker.rollback()
        blocker.close()
    sent = []

    def written():  # the line of the first request may be dropped too: the queue is still full when the lock goes
        sent.append(client.post("/v1/samples", {"status": "open"}, expect=201).headers["Request-Id"])
        return server.sql("SELECT 1 FROM wharf.request_log WHERE id = ANY (%s)", sent)

    until(written)


def test_a_lost_connection_loses_nothing(server, client):
    ids = []
    for i in range(6):
        ids += [client.post("/v1/samples", {"status": "open"}, expect=201).headers["Request-Id"] for _ in range(20)]
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'WITH s AS MATERIALIZED%%' AND pid <> pg_backend_pid()")
    until(lambda: server.sql("SELECT count(*) FROM wharf.request_log WHERE id = ANY (%s)", ids) == [(120,)])


def test_an_orderly_end_loses_nothing():
    s = Server("--modules", MODULES)
    c = s.organization().client()
    ids = [c.post("/v1/samples", {"status": "open"}, expect=201).headers["Request-Id"] for _ in range(50)]
    s.keep = True
    s.stop()
    again = Server("--modules", MODULES, folder=s.folder)
    again.keep = False
    try:
        assert again.sql("SELECT count(*) FROM wharf.request_log WHERE id = ANY (%s)", ids) == [(50,)]
    finally:
        again.stop()


def test_retention(server, org):
    for id, days in (("1", 13), ("2", 15), ("3", 80)):
        server.sql("INSERT INTO wharf.request_log (organization_id, id, created_at, method, path, status, duration_ms, idempotent_replayed, request_bytes,"
                   " response_bytes) VALUES (%s, 'req_' || repeat(%s, 22), wharf.now() - make_interval(days => %s), 'GET', '/', 200, 1, false, 0, 0)",
                   org.id, id, days)
    def kept():  # of the three; where reads are logged, they are among the rows too
        return [r["id"][4] for r in org.client().get("/v1/request-logs").data if len(set(r["id"][4:])) == 1]
    assert kept() == ["1"]
    server.sql("UPDATE wharf.organization SET settings = '{\"logs\": {\"request_retain_days\": 30}}' WHERE organization_id = %s", org.id)
    assert kept() == ["1", "2"]
    while server.sql("SELECT wharf.expire_request_log(1)") != [(0,)]:
        pass
    assert server.sql("SELECT count(*) FROM wharf.request_log WHERE organization_id = %s AND method = 'GET' AND path = '/'", org.id) == [(2,)]
