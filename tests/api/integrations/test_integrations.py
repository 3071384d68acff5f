"""Integrations (spec 07 section 12): resources, secrets, requests to other systems, error notices. Requests from others: test_incoming.py."""
import gzip
import json
import socket

import pytest

from receivers import World, make, ok, rename, slow, status, until
from wharf import make_location

MODULES = ("--modules", "org,locations,events,webhooks,integrations")


@pytest.fixture(scope="module")
def world():
    w = World(*MODULES, "--set", "mail.url=")
    yield w
    w.close()


@pytest.fixture
def org(world):
    return world.server.organization()


@pytest.fixture
def client(org):
    return org.client()


def body(world, path="/x", **more):
    return {"direction": "outgoing", "name": "CRM", "events": ["location.*"], "url": world.web.url(path), **more}


def outgoing(world, client, answer=ok, **more):
    """An integration with a receiver of its own."""
    path = world.path()
    world.web.answers[path] = answer
    made = client.post("/v1/integrations", body(world, path, **more), expect=201).data
    return made["id"], path


def log(client, query=""):
    return client.get("/v1/outgoing-integrations?order_by=created_at&direction=asc&limit=1000" + query).data


def ended(client, n, query=""):
    """The log, once n rows of it are final."""
    return until(lambda: (lambda rows: rows if sum(r["status"] != "pending" for r in rows) >= n else None)(log(client, query)))


# ---- the resource ----

def test_create(world, client):
    made = client.post("/v1/integrations", body(world, provider="acme", headers={"X-Token": "t0p"}), expect=201)
    d = made.data
    assert d["object"] == "integration" and d["id"].startswith("int_") and d["direction"] == "outgoing" and d["provider"] == "acme"
    assert d["events"] == ["location.*"] and d["location_ids"] is None and d["filter"] is None and d["workflow_id"] is None
    assert d["method"] == "POST" and d["headers"] == {"X-Token": "***"} and d["auth"] is None and d["enabled"] is True
    assert d["status"] == "active" and d["incoming_path"] is None and "t0p" not in json.dumps(made.body) and "sealed_headers" not in d
    assert client.get("/v1/integrations/" + d["id"]).data == d and client.get("/v1/integrations").data == [d]
    into = client.post("/v1/integrations", {"direction": "incoming", "name": "Shop", "auth": {"type": "bearer"}}, expect=201).data
    assert into["auth"] == {"type": "bearer", "header": None, "username": None, "secret": "secret"} and into["events"] is None
    assert into["incoming_path"] == "/v1/incoming/" + into["id"] and into["method"] is None
    assert client.get("/v1/integrations?integration_direction=incoming").ids == [into["id"]]


@pytest.mark.parametrize("change, code, errors", [
    ({"events": None}, "validation.failed", ["events"]), ({"url": None}, "validation.failed", ["url"]),
    ({"auth": {"type": "bearer"}}, "validation.failed", ["auth"]), ({"method": "GET"}, "validation.failed", ["method"]),
    ({"direction": "sideways"}, "validation.failed", ["direction"]), ({"name": ""}, "validation.failed", ["name"]),
    ({"events": ["no.such"]}, "webhook.event_unknown", ["events.0"]), ({"events": []}, "validation.failed", ["events"]),
    ({"url": "https://127.0.0.2/x"}, "webhook.url", ["url"]), ({"url": "ftp://crm.example.com/"}, "webhook.protocol", ["url"]),
    ({"url": "https://localhost/x"}, "webhook.hostname", ["url"]), ({"headers": {"Host": "x"}}, "webhook.header_invalid", ["headers.Host"]),
    ({"filter": [{"path": "x"}]}, "webhook.filter_invalid", ["filter.0"]), ({"location_ids": ["loc_0000000000000000000000"]}, "validation.failed", ["location_ids.0"]),
    ({"workflow_id": "wf_0000000000000000000000"}, "validation.failed", ["workflow_id"])])
def test_what_outgoing_refuses(world, client, change, code, errors):
    client.refused("POST", "/v1/integrations", 400, code, errors, {k: v for k, v in {**body(world), **change}.items() if v is not None})


@pytest.mark.parametrize("more, errors", [
    ({}, ["auth"]), ({"auth": {}}, ["auth.type"]), ({"auth": {"type": "none"}}, ["auth.type"]), ({"auth": {"type": "hmac_sha256"}}, ["auth.header"]),
    ({"auth": {"type": "bearer", "header": "X-Sig"}}, ["auth.header"]), ({"auth": {"type": "basic"}}, ["auth.username"]),
    ({"auth": {"type": "basic", "username": "a:b"}}, ["auth.username"]), ({"auth": {"type": "bearer", "username": "a"}}, ["auth.username"]),
    ({"auth": {"type": "bearer", "token": "x"}}, ["auth.token"]), ({"auth": {"type": "hmac_sha256", "header": "X Sig"}}, ["auth.header"]),
    ({"auth": {"type": "bearer"}, "events": ["*"]}, ["events"]), ({"auth": {"type": "bearer"}, "headers": {"a": "b"}}, ["headers"]),
    ({"auth": {"type": "bearer"}, "url": "https://crm.example.com/"}, ["url"]), ({"auth": {"type": "bearer"}, "workflow_id": "x"}, ["workflow_id"])])
def test_what_incoming_refuses(client, more, errors):
    client.refused("POST", "/v1/integrations", 400, "validation.failed", errors, {"direction": "incoming", "name": "Shop", **more})


def test_update_and_delete(world, org, client):
    id, _ = outgoing(world, client, headers={"X-Token": "one", "X-Other": "two"})
    d = client.post("/v1/integrations/" + id, {"name": "ERP", "headers": {"X-Token": "***", "X-New": "three"}, "events": ["location.created", "location.created"]}, expect=200).data
    assert d["name"] == "ERP" and d["headers"] == {"X-Token": "***", "X-New": "***"} and d["events"] == ["location.created"]
    client.refused("POST", "/v1/integrations/" + id, 400, "validation.failed", ["direction"], {"direction": "incoming"})
    client.refused("POST", "/v1/integrations/" + id, 400, "validation.failed", ["auth"], {"auth": {"type": "bearer"}})
    client.refused("POST", "/v1/integrations/" + id, 400, "validation.failed", ["url"], {"url": None})
    assert client.post("/v1/integrations/" + id, {"enabled": False}, expect=200).data["status"] == "disabled"
    client.delete("/v1/integrations/" + id)
    client.refused("GET", "/v1/integrations/" + id, 404, "not_found")
    assert [e[0] for e in org.events(id)] == ["integration.created", "integration.updated", "integration.updated", "integration.deleted"]
    assert not any("one" in json.dumps(e[1]) or "three" in json.dumps(e[1]) for e in org.events(id))


def test_fifty_at_most(client):
    for i in range(50):
        last = client.post("/v1/integrations", {"direction": "incoming", "name": f"n{i}", "auth": {"type": "bearer"}}, expect=201).data["id"]
    client.refused("POST", "/v1/integrations", 400, "integration.limit", body={"direction": "incoming", "name": "more", "auth": {"type": "bearer"}})
    client.delete("/v1/integrations/" + last)
    client.post("/v1/integrations", {"direction": "incoming", "name": "more", "auth": {"type": "bearer"}}, expect=201)


def test_scopes_and_locations(world, org, client):
    here, there = make_location(client, "Here")["id"], make_location(client, "There")["id"]
    id, _ = outgoing(world, client)
    org.client("integrations:read").get("/v1/integrations/" + id)
    org.client("integrations:read").refused("POST", "/v1/integrations", 403, "scope_access", body=body(world))
    for path in ("/v1/integrations", "/v1/outgoing-integrations", "/v1/incoming-webhooks", f"/v1/integrations/{id}/secrets"):
        org.client("webhooks:write").refused("GET", path, 403, "scope_access")
    limited = org.client(locations=[here])
    limited.refused("POST", "/v1/integrations", 403, "location_access", body=body(world))
    limited.refused("POST", "/v1/integrations", 403, "location_access", body=body(world, location_ids=[here, there]))
    own = limited.post("/v1/integrations", body(world, location_ids=[here]), expect=201).data
    limited.refused("POST", "/v1/integrations/" + id, 403, "location_access", body={"name": "x"})
    limited.refused("DELETE", "/v1/integrations/" + id, 403, "location_access")
    limited.refused("POST", f"/v1/integrations/{id}/secrets", 403, "location_access", body={"key": "a", "value": "b"})
    limited.post("/v1/integrations/" + own["id"], {"name": "x"}, expect=200)
    assert world.server.organization().client().get("/v1/integrations").data == []


# ---- secrets ----

def test_secrets(world, org, client):
    id, _ = outgoing(world, client)
    path = f"/v1/integrations/{id}/secrets"
    made = client.post(path, {"key": "token", "value": "hush-1"}, expect=201)
    assert made.data["object"] == "integration_secret" and made.data["key"] == "token" and made.data["integration_id"] == id
    again = client.post(path, {"key": "token", "value": "hush-2"}, expect=200)
    assert again.data["id"] == made.data["id"]
    listed = client.get(path)
    assert listed.data == [again.data] and not any("hush" in json.dumps(a.body) for a in (made, again, listed))
    assert "value" not in listed.data[0]
    sealed, = world.server.sql("SELECT value FROM integrations.secret WHERE integration_id = %s", id)
    assert "hush" not in sealed[0] and not any("hush" in json.dumps(c[1]) for c in org.changes(made.data["id"]))
    client.refused("POST", path, 400, "validation.failed", ["key"], {"key": "A B", "value": "x"})
    client.refused("POST", path, 400, "validation.failed", ["value"], {"key": "a", "value": ""})
    client.refused("DELETE", path + "/other", 404, "not_found")
    assert client.delete(path + "/token").data == {"id": made.data["id"], "object": "integration_secret", "deleted": True}
    client.refused("DELETE", path + "/token", 404, "not_found")
    for i in range(20):
        client.post(path, {"key": f"k{i}", "value": "v"}, expect=201)
    client.refused("POST", path, 400, "integration.too_many_secrets", ["key"], body={"key": "k20", "value": "v"})
    client.post(path, {"key": "k19", "value": "w"}, expect=200)
    client.refused("GET", "/v1/integrations/int_0000000000000000000000/secrets", 404, "not_found")


def test_a_secret_that_signs_has_the_form_of_one(client):
    id = client.post("/v1/integrations", {"direction": "incoming", "name": "Shop", "auth": {"type": "standard_webhooks", "secret": "sign"}}, expect=201).data["id"]
    client.refused("POST", f"/v1/integrations/{id}/secrets", 400, "integration.secret_invalid", ["value"], {"key": "sign", "value": "short"})
    client.post(f"/v1/integrations/{id}/secrets", {"key": "sign", "value": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, expect=201)
    client.post(f"/v1/integrations/{id}/secrets", {"key": "other", "value": "short"}, expect=201)


# ---- requests about events ----

def test_packed_answers_and_headers_without_value(world, client):
    """Hosts that answer in gzip without being asked are read; a header may be empty."""
    id, path = outgoing(world, client, headers={"X-Empty": ""})
    world.web.answers[path] = lambda handler: handler.answer(200, gzip.compress(b"packed"), Content_Encoding="gzip")
    make(client, "Any")
    assert world.web.wait(path, 1)[0]["x-empty"] == ""
    row, = ended(client, 1)
    assert (row["status"], row["response"]["body"]) == ("success", "packed")


def test_what_a_request_carries(world, client):
    id, path = outgoing(world, client, method="PUT", headers={"Authorization": "Bearer {{token}}", "X-Plain": "as it is"})
    client.post(f"/v1/integrations/{id}/secrets", {"key": "token", "value": "s3cret"}, expect=201)
    place = make(client, "Ünï")
    got = world.web.wait(path, 1)[0]
    event = got.event
    assert got["content-type"] == "application/json" and got["user-agent"] == "Wharf-Integrations/1" and got["webhook-id"] == event["id"]
    assert got["wharf-integration"] == id and got["wharf-event-type"] == "location.created" and got["authorization"] == "Bearer s3cret"
    assert got["x-plain"] == "as it is" and event["resource_id"] == place and event["data"]["name"] == "Ünï"
    row, = ended(client, 1)
    assert row["object"] == "outgoing_integration" and row["id"].startswith("out_int_") and row["integration_id"] == id and row["event_id"] == event["id"]
    assert row["resource_id"] == place and row["status"] == "success" and row["attempts"] == 1 and row["error"] is None and row["next_attempt_at"] is None
    assert row["request"]["method"] == "PUT" and row["request"]["url"] == world.web.url(path) and row["request"]["headers"]["Authorization"] == "***"
    assert row["response"]["status"] == 200 and row["response"]["body"] == "fine" and row["duration_ms"] >= 0
    assert client.get("/v1/outgoing-integrations/" + row["id"]).data == row
    assert row["expires_at"] == client.get("/v1/events/" + event["id"]).data["expires_at"]
    steps = {s["name"]: s["status"] for s in client.get("/v1/events/" + event["id"]).data["steps"]}
    assert steps["integrations_list"] == "completed"
    assert world.server.sql("SELECT count(*) FROM integrations.waiting WHERE integration_id = %s", id) == [(0,)]


def test_who_wants_what(world, org, client):
    a, b = make(client, "A"), make(client, "B")
    _, typed = outgoing(world, client, events=["location.updated"])
    _, placed = outgoing(world, client, location_ids=[a])
    _, named = outgoing(world, client, filter=[{"path": "data.name", "op": "eq", "value": "B2"}])
    off, quiet = outgoing(world, client, enabled=False)
    _, foreign = outgoing(world, world.server.organization().client(), events=["*"])
    rename(client, a, "A2"), rename(client, b, "B2")
    rows = ended(client, 4)
    assert len(rows) == 4 and {r["status"] for r in rows} == {"success"}
    assert len(world.web.got[typed]) == 2 and [g.event["data"]["name"] for g in world.web.got[placed]] == ["A2"]
    assert [g.event["data"]["name"] for g in world.web.got[named]] == ["B2"] and not world.web.got[quiet]
    assert not any(g.event["organization_id"] == org.id for g in world.web.got[foreign])


def test_what_happened_before_it_was_made(world, org, client):
    """Spec 07 section 12: also where the event is processed later."""
    with world.server.events_wait(org):
        a = make(client, "A")
        _, path = outgoing(world, client)
        rename(client, a, "A2")
    ended(client, 1)
    assert [g.event["type"] for g in world.web.got[path]] == ["location.updated"]


def test_the_log_and_its_filters(world, client):
    good, _ = outgoing(world, client)
    bad, _ = outgoing(world, client, answer=status(404))
    a, b = make(client, "A"), make(client, "B")
    rows = ended(client, 4)
    assert len(log(client, f"&integration_id={good}")) == 2 and len(log(client, f"&resource_id={a}")) == 2
    assert {r["integration_id"] for r in log(client, "&status=error")} == {bad} and len(log(client, "&status=success,error")) == 4
    assert len(log(client, f"&event_id={rows[0]['event_id']}")) == 2 and log(client, "&created_at[lt]=2020-01-01T00:00:00Z") == []
    client.refused("GET", "/v1/outgoing-integrations?status=odd", 400, "param.invalid", ["status"])
    assert client.get("/v1/integrations?status=failing").ids == [bad] and client.get("/v1/integrations?status=active").ids == [good]
    client.refused("POST", "/v1/outgoing-integrations", 405, "method.not_allowed", body={})


def test_refusals_are_final_and_trouble_is_tried_again(world, client):
    refused, at_refused = outgoing(world, client, answer=status(422))
    busy, at_busy = outgoing(world, client, answer=[status(503), status(500), ok])
    make(client)
    row, = ended(client, 1, f"&integration_id={refused}")
    assert row["status"] == "error" and row["error"] == {"code": "http_status", "message": "The receiver answered 422"} and row["attempts"] == 1
    waiting = until(lambda: [r for r in log(client, f"&integration_id={busy}") if r["attempts"] == 1 and r["next_attempt_at"]])
    assert waiting[0]["status"] == "pending" and waiting[0]["error"]["code"] == "http_status" and waiting[0]["response"]["status"] == 503
    world.ahead(17)
    world.web.wait(at_busy, 2)
    until(lambda: log(client, f"&integration_id={busy}")[0]["attempts"] == 2 and log(client, f"&integration_id={busy}")[0]["response"]["status"] == 500)
    world.ahead(67)
    world.web.wait(at_busy, 3)
    row, = ended(client, 1, f"&integration_id={busy}")
    assert row["status"] == "success" and row["attempts"] == 3 and row["error"] is None and len(world.web.got[at_refused]) == 1
    assert len({(g.body, g["webhook-id"]) for g in world.web.got[at_busy]}) == 1


def test_after_four_retries_it_is_an_error(world, client):
    id, path = outgoing(world, client, answer=status(500))
    make(client)
    for n, wait in enumerate((17, 67, 200, 530), 1):
        until(lambda: [r for r in log(client) if r["attempts"] == n and r["response"]])
        world.ahead(wait)
        world.web.wait(path, n + 1)
    row, = ended(client, 1)
    assert row["status"] == "error" and row["attempts"] == 5 and row["next_attempt_at"] is None


def test_nobody_there(world, client):
    with socket.socket() as s:  # a port that nobody listens on
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    outgoing(world, client, url=f"http://127.0.0.1:{port}/")
    make(client)
    row = until(lambda: [r for r in log(client) if r["attempts"]])[0]
    assert row["status"] == "pending" and row["error"]["code"] == "connect" and row["response"] is None


def test_a_secret_that_is_not_there(world, client):
    id, path = outgoing(world, client, headers={"Authorization": "Bearer {{token}}"})
    make(client)
    row, = ended(client, 1)
    assert row["status"] == "error" and row["error"]["code"] == "not_sent" and not world.web.got[path]
    client.post(f"/v1/integrations/{id}/secrets", {"key": "token", "value": "now"}, expect=201)
    assert client.post(f"/v1/outgoing-integrations/{row['id']}/retry", expect=202).data["status"] == "pending"
    assert world.web.wait(path, 1)[0]["authorization"] == "Bearer now"


def test_retry(world, client):
    id, path = outgoing(world, client, answer=[status(404), ok])
    make(client)
    row, = ended(client, 1)
    again = client.post(f"/v1/outgoing-integrations/{row['id']}/retry", expect=202).data
    assert again["id"] == row["id"] and again["status"] == "pending"
    row = until(lambda: [r for r in log(client) if r["status"] == "success"])[0]
    assert row["attempts"] == 2 and client.get("/v1/integrations/" + id).data["status"] == "active"
    client.refused("POST", f"/v1/outgoing-integrations/{row['id']}/retry", 409, "integration.not_failed")
    client.refused("POST", "/v1/outgoing-integrations/out_int_0000000000000000000000/retry", 404, "not_found")


def test_disabled_or_deleted_before_it_was_sent(world, client):
    one, at_one = outgoing(world, client, answer=status(500))
    two, at_two = outgoing(world, client, answer=status(500))
    make(client)
    until(lambda: len([r for r in log(client) if r["response"]]) == 2)
    client.post("/v1/integrations/" + one, {"enabled": False}, expect=200)
    client.delete("/v1/integrations/" + two)
    world.ahead(17)
    rows = ended(client, 2)
    assert {r["status"] for r in rows} == {"skipped"} and {r["error"]["code"] for r in rows} == {"integration_disabled"}
    assert len(world.web.got[at_one]) == 1 and len(world.web.got[at_two]) == 1


def test_a_slow_receiver_does_not_hold_up_another(world, client):
    _, at_slow = outgoing(world, client, answer=slow(3))
    _, at_fast = outgoing(world, client)
    for i in range(30):
        make(client, f"P{i}")
    world.web.wait(at_fast, 30)
    assert len(world.web.got[at_slow]) <= 30 and len(log(client, "&status=pending")) >= 1
    ended(client, 60)


def test_kept_as_long_as_events(world, org, client):
    org.client().post("/v1/organizations/" + org.id, {"settings": {"events": {"expire_after": "days_1"}}}, expect=200)
    other = org.client()
    outgoing(world, other)
    until(lambda: "days_1" in json.dumps(other.get("/v1/org").data["settings"]))
    make(other)
    row, = ended(other, 1)
    world.ahead(25 * 3600)
    assert log(other) == []
    other.refused("GET", "/v1/outgoing-integrations/" + row["id"], 404, "not_found")
    until(lambda: world.server.sql("SELECT count(*) FROM integrations.outgoing WHERE id = %s", row["id"]) == [(0,)])


# ---- error notices ----

def notices(org, kind="outgoing_integration"):
    return org.server.sql("SELECT data FROM wharf.event WHERE organization_id = %s AND type = %s ORDER BY created_at, id", org.id, kind + ".error")


def limits(org, **more):
    org.client().post("/v1/organizations/" + org.id, {"settings": {"integration_notifications": {"outgoing_integration": more}}}, expect=200)


def fail(world, client, n, before=0):
    """n more requests end in an error."""
    for i in range(n):
        make(client, f"P{before + i}")
    until(lambda: len(log(client, "&status=error")) == before + n)


def test_settings(org, client):
    default = client.get("/v1/org").data["settings"]["integration_notifications"]
    assert default == {k: {"failure_limit": 0, "failure_interval": "mins_1440"} for k in ("outgoing_integration", "incoming_webhook")}
    for bad, path in (({"failure_limit": -1}, "failure_limit"), ({"failure_interval": "mins_0001"}, "failure_interval"), ({"limit": 1}, "limit")):
        client.refused("POST", "/v1/organizations/" + org.id, 400, "validation.failed", ["settings.integration_notifications.outgoing_integration." + path],
                       {"settings": {"integration_notifications": {"outgoing_integration": bad}}})


def test_notices_are_off_by_default(world, org, client):
    outgoing(world, client, answer=status(404))
    fail(world, client, 3)
    assert notices(org) == []


def test_notices(world, org, client):
    limits(org, failure_limit=3, failure_interval="mins_0015")
    id, _ = outgoing(world, client, answer=status(404))
    fail(world, client, 2)
    assert notices(org) == []
    fail(world, client, 1, before=2)
    (data,), = until(lambda: notices(org))
    assert data["object"] == "outgoing_integration" and data["integration_id"] == id and data["status"] == "error" and data["error"]["code"] == "http_status"
    assert data["error_notification"]["count"] == 3 and data["error_notification"]["limit"] == 3 and data["error_notification"]["created_at"]
    fail(world, client, 4, before=3)  # within one interval of the notice
    make(client, "settled"), until(lambda: len(log(client, "&status=error")) == 8)
    assert len(notices(org)) == 1
    world.ahead(16 * 60)  # those before are out of the interval, and it is over
    fail(world, client, 2, before=8)
    assert len(notices(org)) == 1
    fail(world, client, 1, before=10)
    until(lambda: len(notices(org)) == 2)


def test_errors_of_the_rolling_interval_count(world, org, client):
    limits(org, failure_limit=2, failure_interval="mins_0030")
    outgoing(world, client, answer=status(404))
    fail(world, client, 1)
    world.ahead(31 * 60)
    fail(world, client, 1, before=1)
    world.ahead(20 * 60)
    assert notices(org) == []
    fail(world, client, 1, before=2)
    until(lambda: len(notices(org)) == 1)


def test_a_notice_is_mailed(world, org, client):
    """To users who have its type among their notification_events; without a mail server the mail waits in the queue."""
    limits(org, failure_limit=1)
    listening, other = (org.user(email=f"{name}-{org.id[-8:]}@example.com".lower()) for name in ("listening", "other"))
    org.client().post("/v1/users/" + listening, {"notification_events": ["outgoing_integration.error"]}, expect=200)
    outgoing(world, client, answer=status(404))
    fail(world, client, 1)
    until(lambda: notices(org))
    lines = until(lambda: world.server.sql("SELECT address, type FROM events.alert WHERE organization_id = %s", org.id))
    assert lines == [(f"listening-{org.id[-8:]}@example.com".lower(), "outgoing_integration.error")]


def test_a_notice_is_a_system_event(world, client):
    types = {t["type"]: t for t in client.get("/v1/events/types?type=system").data}
    assert {"outgoing_integration.error", "incoming_webhook.error"} <= set(types)
    outgoing(world, client, events=["*", "outgoing_integration.error"])
