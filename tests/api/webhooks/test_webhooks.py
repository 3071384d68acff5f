"""Webhooks as a resource (spec 07 sections 5, 6 and 9): fields, limits, secrets, tests, states."""
import base64
import os

import pytest

from receivers import Hook, World, make, ok, signature, slow, status


@pytest.fixture(scope="module")
def world():
    w = World()
    yield w
    w.close()


@pytest.fixture
def org(world):
    return world.server.organization()


@pytest.fixture
def client(org):
    return org.client()


PUBLIC = {"url": "https://hooks.example.com/w", "events": ["location.*"]}


def test_defaults(world, client):
    a = client.post("/v1/webhooks", PUBLIC, expect=201)
    d = a.data
    assert d["object"] == "webhook" and d["id"].startswith("whk_") and a.message == "Webhook created"
    assert d["name"] == "hooks.example.com" and d["status"] == "enabled" and d["retry_mode"] == "balanced" and d["payload"] == "full"
    assert d["max_concurrency"] == 100 and d["max_rate"] is None and d["timeout_ms"] == 15000 and d["supersede"] is False
    assert d["location_ids"] is None and d["filter"] is None and d["headers"] == {} and d["description"] is None
    none = {"success": 0, "failure": 0, "rate": 0, "rate_limited": 0}
    assert d["stats"] == {"last_24h": none, "previous_24h": none, "last_48h": none}
    assert d["secret"].startswith("whsec_") and len(base64.b64decode(d["secret"][6:])) == 32
    got = client.get("/v1/webhooks/" + d["id"]).data
    assert "secret" not in got and {k: v for k, v in d.items() if k != "secret"} == got
    assert "secret" not in str([client.get("/v1/webhooks").data, client.post("/v1/webhooks/" + d["id"], {"name": "n"}, expect=200).data])


@pytest.mark.parametrize("url, code", [
    ("http://hooks.example.com/w", None), ("ftp://hooks.example.com/w", "webhook.protocol"), ("hooks.example.com", "webhook.url"),
    ("https://10.0.0.1/", "webhook.url"), ("https://2130706434/", "webhook.url"), ("https://0177.0.0.2/", "webhook.url"),
    ("https://0x7f000002/", "webhook.url"), ("https://127.2/", "webhook.url"), ("https://[::1]/", "webhook.url"),
    ("https://[::ffff:10.0.0.1]/", "webhook.url"), ("https://localhost/", "webhook.hostname"), ("https://a.localhost/", "webhook.hostname"),
    ("https://printer.local/", "webhook.hostname"), ("https://x.internal/", "webhook.hostname"), ("https://x.home.arpa/", "webhook.hostname"),
    ("https://metadata.google.internal/", "webhook.hostname"), ("https://intranet/", "webhook.hostname"),
    ("https://u:p@hooks.example.com/", "webhook.url"), ("https://hooks.example.com/#x", "webhook.url"),
    ("https://hooks.example.com:22/", "webhook.url"), ("https://hooks.example.com:80/", None), ("https://hooks.example.com:8443/", None),
    ("https://hooks.example.com/a b", "webhook.url"), ("https://hooks.example.com/" + "x" * 2048, "validation.failed"),
])
def test_urls(client, url, code):
    if code:
        client.refused("POST", "/v1/webhooks", 400, code, ["url"], body={**PUBLIC, "url": url})
    else:
        assert client.post("/v1/webhooks", {**PUBLIC, "url": url}, expect=201).data["url"] == url


def test_http_only_where_the_operator_says_so():
    from wharf import Server
    s = Server("--modules", "org,locations,events,webhooks")
    try:
        s.organization().client().refused("POST", "/v1/webhooks", 400, "webhook.protocol", ["url"], body={**PUBLIC, "url": "http://hooks.example.com/"})
    finally:
        s.stop()


def test_events(client):
    for good in (["*"], ["location.created"], ["location.*", "webhook.suspended"]):
        assert client.post("/v1/webhooks", {**PUBLIC, "events": good}, expect=201).data["events"] == good
    for bad in ("nothing.*", "location.exploded", "location", "location.", "*.created", "**", "webhook.test"):
        a = client.refused("POST", "/v1/webhooks", 400, "webhook.event_unknown", body={**PUBLIC, "events": ["location.*", bad]})
        assert a.errors == ["events.1"]
    assert client.post("/v1/webhooks", {**PUBLIC, "events": ["*", "location.*", "*"]}, expect=201).data["events"] == ["*", "location.*"]
    client.refused("POST", "/v1/webhooks", 400, "validation.failed", body={**PUBLIC, "events": []})
    client.refused("POST", "/v1/webhooks", 400, "validation.failed", body={**PUBLIC, "events": ["*"] * 201})


@pytest.mark.parametrize("filter, good", [
    ([{"path": "data.name", "op": "eq", "value": "x"}], True), ([{"path": "data.name", "op": "in", "value": ["x", 1]}], True),
    ([{"path": "data.name", "op": "exists"}], True), ([{"path": "data.name", "op": "changed"}], True), (None, True),
    ([{"path": "data.name", "op": "exists", "value": 1}], False), ([{"path": "data.name", "op": "like", "value": 1}], False),
    ([{"path": "", "op": "exists"}], False), ([{"path": ".a", "op": "exists"}], False), ([{"op": "exists"}], False),
    ([{"path": "a", "op": "gt", "value": None}], False), ([{"path": "a", "op": "in", "value": []}], False),
    ([{"path": "a", "op": "in", "value": [[]]}], False), ([{"path": "a", "op": "eq", "value": {}}], False),
    ([{"path": "a", "op": "eq"}], False), ([{"path": "a", "op": "exists", "more": 1}], False),
    ([{"path": "previous_attributes.name", "op": "changed"}], False), ([{"path": "previous_attributes.name", "op": "exists"}], True), ([{"path": "name", "op": "changed"}], True),
    ([{"path": "a", "op": "exists"}] * 10, True), ([{"path": "a", "op": "exists"}] * 11, False),
])
def test_filters(client, filter, good):
    if good:
        assert client.post("/v1/webhooks", {**PUBLIC, "filter": filter}, expect=201).data["filter"] == filter
    else:
        client.refused("POST", "/v1/webhooks", 400, "webhook.filter_invalid", body={**PUBLIC, "filter": filter})


def test_headers_are_write_only(world, client):
    h = Hook(world, client, headers={"X-Key": "hush", "X-Other": "said"})
    assert h.made["headers"] == {"X-Key": "***", "X-Other": "***"} == h.now["headers"]
    h.update({"headers": {"X-Key": "***", "X-New": "new"}})
    make(client)
    got = h.wait(1)[0]
    assert got["x-key"] == "hush" and got["x-new"] == "new" and got["x-other"] is None
    assert "hush" not in str(world.server.sql("SELECT * FROM webhooks.webhook WHERE id = %s", h.id))
    assert "hush" not in str(world.server.sql("SELECT * FROM wharf.event WHERE resource_id = %s", h.id))
    assert "hush" not in str(world.server.sql("SELECT * FROM wharf.change_log WHERE resource_id = %s", h.id))
    for name in ("webhook-id", "Wharf-X", "host", "Content-Type", "transfer-encoding", "connection", "expect", "a b", "a:b", "", "x" * 65):
        client.refused("POST", "/v1/webhooks", 400, "webhook.header_invalid", body={**PUBLIC, "headers": {name: "v"}})
    for value in ("a\r\nb", "x" * 1025, 5, None):
        assert client.request("POST", "/v1/webhooks", body={**PUBLIC, "headers": {"X-A": value}}).status == 400
    client.refused("POST", "/v1/webhooks", 400, "webhook.header_invalid", ["headers"], body={**PUBLIC, "headers": {f"X-{i}": "v" for i in range(21)}})


def test_limit(client):
    for _ in range(50):
        last = client.post("/v1/webhooks", PUBLIC, expect=201).data["id"]
    client.refused("POST", "/v1/webhooks", 400, "webhook.limit", body=PUBLIC)
    client.delete("/v1/webhooks/" + last)
    client.post("/v1/webhooks", PUBLIC, expect=201)


def test_locations(world, org, client):
    a, b = make(client, "A"), make(client, "B")
    few = org.client(locations=[a])
    few.refused("POST", "/v1/webhooks", 403, "location_access", body=PUBLIC)
    few.refused("POST", "/v1/webhooks", 403, "location_access", body={**PUBLIC, "location_ids": [a, b]})
    client.refused("POST", "/v1/webhooks", 400, "validation.failed", ["location_ids.0"], body={**PUBLIC, "location_ids": ["loc_0000000000000000000000"]})
    d = few.post("/v1/webhooks", {**PUBLIC, "location_ids": [a, a]}, expect=201).data
    assert d["location_ids"] == [a]
    wide = client.post("/v1/webhooks", PUBLIC, expect=201).data["id"]
    few.refused("POST", "/v1/webhooks/" + wide, 403, "location_access", body={"name": "mine"})
    few.refused("DELETE", "/v1/webhooks/" + wide, 403, "location_access")
    few.post("/v1/webhooks/" + d["id"], {"name": "mine"}, expect=200)
    assert set(client.get(f"/v1/webhooks?location_id={b}").ids) == {wide}
    assert set(client.get(f"/v1/webhooks?location_id={a}").ids) == {wide, d["id"]}


def test_list(world, client):
    a = client.post("/v1/webhooks", {**PUBLIC, "name": "alpha"}, expect=201).data["id"]
    b = client.post("/v1/webhooks", {**PUBLIC, "name": "beta", "events": ["webhook.*"]}, expect=201).data["id"]
    c = client.post("/v1/webhooks", {"url": "https://other.example.org/", "name": "gamma", "events": ["*", "webhook.suspended"]}, expect=201).data["id"]

    def ids(q):
        return set(client.get("/v1/webhooks?" + q).ids)
    assert ids("event=location.created") == {a, c} and ids("event=webhook.created") == {b, c}
    assert ids("event=webhook.suspended") == {c}  # a wildcard takes no system type
    assert ids("search=alph") == {a} and ids("search=other.example") == {c}
    assert ids("status=disabled") == set() and ids("degraded=false") == {a, b, c} and ids("degraded=true") == set()
    assert client.get("/v1/webhooks?order_by=name&direction=asc").ids == [a, b, c]


# ---- secrets ----

def test_given_secret(client):
    secret = "whsec_" + base64.b64encode(os.urandom(24)).decode()
    d = client.post("/v1/webhooks", {**PUBLIC, "secret": secret}, expect=201).data
    assert d["secret"] == secret
    assert client.get(f"/v1/webhooks/{d['id']}/secret").data == {"secret": secret, "previous": []}
    for bad in ("whsec_", "x", "whsec_" + base64.b64encode(os.urandom(23)).decode(), "whsec_" + base64.b64encode(os.urandom(65)).decode(),
                "whsec_" + base64.b64encode(os.urandom(32)).decode().rstrip("="), 5):
        client.refused("POST", "/v1/webhooks", 400, "webhook.secret_invalid", ["secret"], body={**PUBLIC, "secret": bad})


def test_secret_is_for_writers_and_its_showing_is_logged(world, org, client):
    id = client.post("/v1/webhooks", PUBLIC, expect=201).data["id"]
    org.client("webhooks:read").refused("GET", f"/v1/webhooks/{id}/secret", 403, "scope_access")
    client.get(f"/v1/webhooks/{id}/secret")
    assert [c[0] for c in org.changes(id)] == ["created", "accessed_secret"]


def test_rotation(world, client):
    h = Hook(world, client)
    first = h.secret
    rotated = client.post(f"/v1/webhooks/{h.id}/secret/rotate", {}, expect=200).data
    assert rotated["secret"] != first and len(rotated["previous"]) == 1
    make(client)
    got = h.wait(1)[0]
    assert got["webhook-signature"].split(" ") == [signature(rotated["secret"], got), signature(first, got)]
    secrets = [first, rotated["secret"]]
    for _ in range(4):
        secrets.append(client.post(f"/v1/webhooks/{h.id}/secret/rotate", {}, expect=200).data["secret"])
    client.refused("POST", f"/v1/webhooks/{h.id}/secret/rotate", 400, "webhook.too_many_secrets", body={})
    make(client)
    got = h.wait(2)[1]
    assert got["webhook-signature"].split(" ") == [signature(s, got) for s in reversed(secrets)]
    now = client.post(f"/v1/webhooks/{h.id}/secret/rotate", {"expire_old_after_seconds": 0}, expect=200).data
    assert now["previous"] == []
    make(client)
    got = h.wait(3)[2]
    assert got["webhook-signature"] == signature(now["secret"], got)
    client.refused("POST", f"/v1/webhooks/{h.id}/secret/rotate", 400, "validation.failed", body={"expire_old_after_seconds": 604801})
    client.refused("POST", f"/v1/webhooks/{h.id}/secret/rotate", 400, "webhook.secret_invalid", body={"secret": "x"})


def test_old_secrets_expire(world, client):
    h = Hook(world, client)
    new = client.post(f"/v1/webhooks/{h.id}/secret/rotate", {"expire_old_after_seconds": 60}, expect=200).data["secret"]
    world.ahead(61)
    assert client.get(f"/v1/webhooks/{h.id}/secret").data == {"secret": new, "previous": []}
    make(client)
    got = h.wait(1)[0]
    assert got["webhook-signature"] == signature(new, got)


def test_verify_command(world, client):
    h = Hook(world, client)
    make(client)
    got = h.wait(1)[0]
    import subprocess
    from wharf import PROGRAM

    def verify(body, *more, secret=h.secret):
        return subprocess.run([PROGRAM, "webhook", "verify", "--secret", secret, "--id", got["webhook-id"], "--timestamp", got["webhook-timestamp"],
                               "--signature", got["webhook-signature"], "--tolerance", "0", *more], input=body, capture_output=True).returncode
    assert verify(got.body) == 0
    assert verify(got.body + b" ") == 1 and verify(got.body, secret="whsec_" + base64.b64encode(b"x" * 32).decode()) == 1
    fixed = ["webhook", "verify", "--secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "--id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "--timestamp",
             "1614265330", "--signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="]
    body = b'{"test": 2432232314}'
    assert subprocess.run([PROGRAM, *fixed, "--tolerance", "0"], input=body).returncode == 0
    late = subprocess.run([PROGRAM, *fixed], input=body, capture_output=True, text=False)
    assert late.returncode == 1 and b"tolerance" in late.stderr


# ---- the test event ----

def test_test_event(world, client):
    h = Hook(world, client, headers={"X-Key": "hush"})
    d = client.post(f"/v1/webhooks/{h.id}/test", {}, expect=200).data
    got = h.wait(1)[0]
    assert d["object"] == "outgoing_webhook" and d["status"] == "success" and d["trigger"] == "test" and d["response"]["body"] == "fine"
    assert d["request"]["headers"]["X-Key"] == "***" and got["x-key"] == "hush"
    assert got.event["type"] == "webhook.test" and got["webhook-id"] == d["event_id"] == got.event["id"]
    assert got["webhook-signature"] == signature(h.secret, got)
    client.get("/v1/events/" + d["event_id"], expect=404)
    assert h.now["last_test"]["success"] is True
    h.answers(status(500))
    d = client.post(f"/v1/webhooks/{h.id}/test", {"type": "location.created"}, expect=200).data
    assert d["status"] == "failure" and d["error"]["code"] == "http_status" and d["response"]["status"] == 500
    assert h.got[1].event["type"] == "location.created" and h.got[1].event["data"]["object"] == "location"
    assert h.now["last_test"] == {"at": h.now["last_test"]["at"], "success": False, "response_status": 500,
                                  "error": {"code": "http_status", "message": "The receiver answered 500"}}
    assert h.now["status"] == "enabled" and h.now["stats"]["last_24h"]["failure"] == 0
    client.refused("POST", f"/v1/webhooks/{h.id}/test", 400, "webhook.event_unknown", ["type"], body={"type": "no.such"})


def test_send_test_on_create(world, client):
    path = world.path()
    world.web.answers[path] = status(503)
    body = {"url": world.web.url(path), "events": ["*"], "send_test": True}
    a = client.refused("POST", "/v1/webhooks", 400, "webhook.test_failed", body=body)
    assert a.errors == ["http_status: The receiver answered 503"]
    assert client.get("/v1/webhooks").data == []
    world.web.answers[path] = ok
    assert client.post("/v1/webhooks", body, expect=201).data["last_test"]["success"] is True
    closed = {"url": "http://127.0.0.1:1025/", "events": ["*"], "send_test": True}
    assert client.refused("POST", "/v1/webhooks", 400, "webhook.test_failed", body=closed).errors[0].startswith("connect: ")


# ---- states ----

def test_update_of_a_disabled_webhook(world, client):
    h = Hook(world, client, answer=status(500))
    d = h.update({"status": "disabled"}).data
    assert d["status"] == "disabled" and d["status_reason"] == "manual" and d["disabled_at"] and not h.got  # no test to disable
    d = h.update({"name": "other"}).data  # the test fails: saved, and still disabled
    assert d["name"] == "other" and d["status"] == "disabled" and d["last_test"]["success"] is False and len(h.got) == 1
    h.client.refused("POST", "/v1/webhooks/" + h.id, 400, "webhook.test_failed", ["http_status: The receiver answered 500"],
                     body={"name": "third", "status": "enabled"})
    assert h.now["name"] == "other" and len(h.got) == 2
    h.answers(ok)
    d = h.update({"description": "works again"}).data  # any update will do
    assert d["status"] == "enabled" and d["disabled_at"] is None and d["status_reason"] is None and d["last_test"]["success"] is True
    assert len(h.got) == 3


def test_the_test_goes_to_the_new_url(world, client):
    h = Hook(world, client, answer=status(500))
    h.update({"status": "disabled"})
    path = world.path()
    d = h.update({"url": world.web.url(path)}).data
    assert d["status"] == "enabled" and len(world.web.got[path]) == 1 and not h.got


def test_enabling_a_suspended_webhook_needs_the_test(world, client):
    h = Hook(world, client, answer=status(500))
    from datetime import datetime, timedelta
    now = datetime.fromisoformat(world.system.get("/v1/system/clock").data["now"].replace("Z", "+00:00"))

    def at(**ahead):
        return (now + timedelta(**ahead)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for bad in ({"status": "suspended"}, {"status": "suspended", "enable_at": at(seconds=20)}, {"status": "suspended", "enable_at": at(days=7, minutes=5)},
                {"enable_at": at(hours=1)}):
        client.refused("POST", "/v1/webhooks/" + h.id, 400, "validation.failed", ["enable_at"], body=bad)
    d = h.update({"status": "suspended", "enable_at": at(hours=1)}).data
    assert d["status"] == "suspended" and d["status_reason"] == "manual" and d["enable_at"] == at(hours=1)
    client.refused("POST", "/v1/webhooks/" + h.id, 400, "webhook.test_failed", body={"status": "enabled"})
    assert h.update({"name": "still"}).data["status"] == "suspended" and len(h.got) == 1  # no test for other fields
    h.answers(ok)
    assert h.update({"status": "enabled"}).data["status"] == "enabled"


def test_events_of_webhooks(world, org, client):
    h = Hook(world, client)
    h.update({"name": "x"})
    client.delete("/v1/webhooks/" + h.id)
    events = org.events(h.id)
    assert [e[0] for e in events] == ["webhook.created", "webhook.updated", "webhook.deleted"]
    for e in events:
        assert "secret" not in e[1] and e[1]["object"] == "webhook" and e[1]["url"] == h.made["url"]
    assert events[1][2] == {"name": "127.0.0.1"}
    assert events[2][1]["deletion_reason"] == "request" and events[2][1]["deleted_at"]


def test_a_slow_receiver_times_out(world, client):
    h = Hook(world, client, answer=slow(3), timeout_ms=1000)
    assert client.post(f"/v1/webhooks/{h.id}/test", {}, expect=200).data["error"]["code"] == "timeout"
