"""Delivery of events to webhooks (spec 07 sections 4, 7 and 8)."""
import gzip
import json
import re
import subprocess
import threading
import time

import pytest
import requests

from receivers import WEBHOOK_SERVER, Hook, World, attempts, make, ok, rename, signature, slow, status, until
from wharf import WAIT, Server


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


def names(hook):
    return [g.event["data"]["name"] for g in hook.got]


# ---- what is sent ----

def test_what_a_delivery_carries(world, client):
    h = Hook(world, client)
    id = client.post("/v1/locations", {"name": "Ünï", "address": "1 Main St, Springfield, IL 62701, US"}, expect=201,
                     headers={"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}).data["id"]
    got = h.wait(1)[0]
    e = got.event
    assert got["content-type"] == "application/json" and got["user-agent"] == "Wharf-Webhooks/1"
    assert got["webhook-id"] == e["id"] and got["webhook-signature"] == signature(h.secret, got)
    assert got["wharf-webhook"] == h.id and got["wharf-event-type"] == "location.created" and got["wharf-sequence"] == str(e["sequence"])
    assert got["wharf-attempt"] == "1" and got["wharf-lane"] == "direct" and got["wharf-superseded"] is None
    assert got["traceparent"].startswith("00-0af7651916cd43dd8448eb211c80319c-")
    told = {p["name"]: p.get("required", False) for p in world.server.openapi["webhooks"]["location.created"]["post"]["parameters"]}
    ours = {name.lower() for name in got.headers if name.lower().startswith(("webhook-", "wharf-", "traceparent"))}
    assert ours <= told.keys() and {name for name in told if told[name]} <= ours
    assert list(e) == ["id", "object", "type", "timestamp", "api_version", "sequence", "organization_id", "location_id", "resource_type", "resource_id",
                       "batch_id", "actor", "data", "previous_attributes"]
    assert e["data"]["name"] == "Ünï" and "Ünï".encode() in got.body and b": " not in got.body.replace(b'": "', b"") and e["resource_id"] == id
    event = client.get("/v1/events/" + e["id"]).data
    assert event["initial_webhooks"] == [h.id]
    until(lambda: client.get("/v1/events/" + e["id"]).data["pending_webhooks"] == [])
    assert client.get("/v1/events/" + e["id"]).data["attempted_webhooks"] == [h.id]
    a, = attempts(client, e["id"])
    assert a["status"] == "success" and a["trigger"] == "automatic" and a["attempt"] == 1 and a["delivery_status"] == "succeeded"
    assert a["response"]["status"] == 200 and a["response"]["body"] == "fine" and a["error"] is None and a["retry_after_ms"] is None
    assert a["request"]["url"] == world.web.url(h.path) and a["request"]["headers"]["webhook-signature"] == got["webhook-signature"]
    d, = h.deliveries()
    assert d["status"] == "succeeded" and d["event_id"] == e["id"] and d["last_attempt"]["id"] == a["id"] and d["attempts"] == 1
    assert h.now["stats"]["last_24h"] == {"success": 1, "failure": 0, "rate": 0, "rate_limited": 0} and h.now["last_success_at"]


def test_thin(world, client):
    h = Hook(world, client, payload="thin")
    id = make(client)
    e = h.wait(1)[0].event
    assert e["data"] == {"id": id, "object": "location", "location_id": id} and "previous_attributes" not in e
    assert h.got[0]["webhook-signature"] == signature(h.secret, h.got[0])


def test_attempts_are_counted(world, client):
    def told():
        found = re.findall(r'^wharf_event_delivery_total\{result="(\w+)"\} (\d+)$', requests.get(world.server.admin + "/metrics", timeout=WAIT).text, re.M)
        return {result: int(n) for result, n in found}
    before = told()
    for answer in (ok, status(500), status(429)):
        Hook(world, client, answer=[answer])
    make(client)
    until(lambda: {r: n - before.get(r, 0) for r, n in told().items()} == {"success": 1, "failure": 1, "rate_limited": 1})
    checked = subprocess.run(["promtool", "check", "metrics"], input=requests.get(world.server.admin + "/metrics", timeout=WAIT).text, capture_output=True, text=True, timeout=WAIT)
    assert checked.returncode == 0 and not checked.stdout + checked.stderr, checked.stdout + checked.stderr


def test_every_attempt_sends_the_same_bytes(world, client):
    h = Hook(world, client, answer=[status(500), ok])
    thin = Hook(world, client, payload="thin", answer=[status(500), ok])
    make(client)
    h.wait(1), thin.wait(1)
    h.until(lambda d: d[0]["status"] == "retrying"), thin.until(lambda d: d[0]["status"] == "retrying")
    world.ahead(17)
    h.wait(2), thin.wait(2)
    for x in (h, thin):
        assert x.got[0].body == x.got[1].body and x.got[0]["webhook-id"] == x.got[1]["webhook-id"]
        assert x.got[1]["wharf-attempt"] == "2" and x.got[0]["webhook-timestamp"] != x.got[1]["webhook-timestamp"]


# ---- who gets what ----

def test_matching(world, org, client):
    a, b = make(client, "A"), make(client, "B")
    every = Hook(world, client, events=["*"])
    typed = Hook(world, client, events=["location.updated"])
    placed = Hook(world, client, events=["location.*"], location_ids=[a])
    named = Hook(world, client, events=["location.*"], filter=[{"path": "data.name", "op": "eq", "value": "B2"}])
    moved = Hook(world, client, events=["location.*"], filter=[{"path": "data.phone", "op": "changed"}])
    rename(client, a, "A2")
    rename(client, b, "B2")
    every.wait(2 + 5), typed.wait(2), placed.wait(1), named.wait(1)
    until(lambda: all(d["status"] == "succeeded" for d in every.deliveries()))
    assert sorted(names(typed)) == ["A2", "B2"] and names(placed) == ["A2"] and names(named) == ["B2"] and not moved.got
    of_a = next(g.event["id"] for g in typed.got if g.event["resource_id"] == a)  # different resources come in any order
    assert client.get("/v1/events/" + of_a).data["initial_webhooks"] == sorted([every.id, typed.id, placed.id])


def test_another_organization_hears_nothing(world, client):
    other = Hook(world, world.server.organization().client(), events=["*"])
    h = Hook(world, client)
    make(client)
    h.wait(1)
    assert [g.event["organization_id"] for g in other.got] == [] or all(g.event["type"].startswith("webhook.") for g in other.got)


# ---- order ----

def test_one_after_the_other_for_each_resource(world, client):
    a, b = make(client, "A"), make(client, "B")
    h = Hook(world, client, events=["location.updated"], answer=slow(0.05))
    for i in range(12):
        rename(client, a, f"A{i}")
        rename(client, b, f"B{i}")
    h.wait(24)
    assert [n for n in names(h) if n[0] == "A"] == [f"A{i}" for i in range(12)]
    assert [n for n in names(h) if n[0] == "B"] == [f"B{i}" for i in range(12)]
    for first, second in zip(*[[g for g in h.got if g.event["data"]["name"][0] == "A"][k:] for k in (0, 1)]):
        assert second.at - first.at >= 0.04  # the next one is sent when the one before it was answered


def test_what_happened_before_it_was_made(world, org, client):
    """Spec 07 section 7: also where the event is processed later."""
    with world.server.events_wait(org):
        a = make(client, "A")
        h = Hook(world, client)
        rename(client, a, "A2")
    h.wait(1)
    h.until(lambda d: [x["status"] for x in d] == ["succeeded"])
    assert [g.event["type"] for g in h.got] == ["location.updated"]


def test_a_failing_head_holds_its_resource_only(world, client):
    a, b = make(client, "A"), make(client, "B")
    h = Hook(world, client, events=["location.updated"])
    h.answers(lambda handler: (status(500) if json.loads(handler.sent)["resource_id"] == a else ok)(handler))
    rename(client, a, "A1")
    rename(client, a, "A2")
    rename(client, b, "B1")
    rename(client, b, "B2")
    h.wait(3)
    h.until(lambda d: sorted(x["status"] for x in d) == ["pending", "retrying", "succeeded", "succeeded"])
    assert names(h).count("A1") == 1 and "A2" not in names(h)
    h.answers(ok)
    world.ahead(17)
    h.wait(5)
    assert [n for n in names(h) if n[0] == "A"] == ["A1", "A1", "A2"]


def test_concurrency_is_kept(world, client):
    busy, most = [0], [0]

    def page(handler):
        with world.web.lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.1)
        with world.web.lock:
            busy[0] -= 1
        handler.answer(200, b"")
    h = Hook(world, client, answer=page, max_concurrency=3)
    for i in range(15):
        make(client)
    h.wait(15)
    h.until(lambda d: all(x["status"] == "succeeded" for x in d))
    assert most[0] <= 3


def test_rate_is_kept(world, client):
    h = Hook(world, client, max_rate=5)
    for i in range(12):
        make(client)
    h.wait(12)
    first = h.got[0].at
    for i, g in enumerate(sorted(g.at for g in h.got)):
        assert g - first >= (i - 5) / 5 - 0.3  # a burst of five, then five in a second


# ---- retries ----

MODES = {"balanced": [15, 60, 180, 480], "fast": [2, 5, 15, 30], "slow": [60, 300, 1800, 7200, 21600, 43200]}


@pytest.mark.parametrize("mode", MODES)
def test_retry_schedule(world, client, mode):
    h = Hook(world, client, answer=status(500), retry_mode=mode)
    make(client)
    for i, wait in enumerate(MODES[mode]):
        h.wait(i + 1)
        h.until(lambda d: d[0]["status"] == "retrying" and d[0]["attempts"] == i + 1)
        a = attempts(client, h.got[0].event["id"])[0]
        assert 0.9 * wait <= a["retry_after_ms"] / 1000 <= 1.1 * wait and a["counts_as_retry"] is True and a["status"] == "failure"
        world.ahead(a["retry_after_ms"] / 1000 // 1 - 1)
        if wait > 4:
            assert len(h.got) == i + 1
        world.ahead(2)
    n = len(MODES[mode]) + 1
    h.wait(n)
    d, = h.until(lambda d: d[0]["status"] == "failed")
    assert d["attempts"] == n and attempts(client, h.got[0].event["id"])[0]["retry_after_ms"] is None
    assert [a["attempt"] for a in attempts(client, h.got[0].event["id"])] == list(range(n, 0, -1))


def test_a_changed_mode_counts_from_the_next_wait(world, client):
    h = Hook(world, client, answer=status(500), retry_mode="balanced")
    make(client)
    h.until(lambda d: d and d[0]["status"] == "retrying")
    h.update({"retry_mode": "fast"})
    world.ahead(17)
    h.wait(2)
    h.until(lambda d: d[0]["attempts"] == 2)
    assert attempts(client, h.got[0].event["id"])[0]["retry_after_ms"] <= 5500


def test_what_counts_as_failure(world, client):
    for answer, code in ((status(302, Location="/other"), "http_status"), (status(404), "http_status"), (status(503), "http_status")):
        h = Hook(world, client, answer=answer)
        make(client)
        h.until(lambda d: d and d[0]["status"] == "retrying")
        a = attempts(client, h.got[0].event["id"])
        a = [x for x in a if x["webhook_id"] == h.id][0]
        assert a["status"] == "failure" and a["error"]["code"] == code and len(h.got) == 1
        client.delete("/v1/webhooks/" + h.id)
    assert not world.web.got["/other"]


def test_every_2xx_is_success(world, client):
    for code in (200, 201, 202, 204, 299):
        h = Hook(world, client, answer=lambda handler, code=code: handler.answer(code, b""))
        make(client)
        h.until(lambda d: d and d[0]["status"] == "succeeded")
        client.delete("/v1/webhooks/" + h.id)


def test_retry_after_of_503_lengthens(world, client):
    h = Hook(world, client, answer=status(503, Retry_After="600"))
    make(client)
    h.until(lambda d: d and d[0]["status"] == "retrying")
    assert attempts(client, h.got[0].event["id"])[0]["retry_after_ms"] == 600000 and h.now["paused_until"] is None
    h = Hook(world, client, answer=status(502, Retry_After="7200"))
    make(client)
    h.until(lambda d: d and d[0]["status"] == "retrying")
    assert [a["retry_after_ms"] for a in attempts(client, h.got[0].event["id"]) if a["webhook_id"] == h.id] == [3600000]


def test_abort_and_disable(world, client):
    h = Hook(world, client, answer=status(500, webhook_delivery="abort-message"))
    make(client)
    h.until(lambda d: d and d[0]["status"] == "failed")
    assert len(h.got) == 1
    h = Hook(world, client, answer=lambda handler: handler.answer(200, b"", webhook_delivery="disable"))
    make(client)
    h.until(lambda d: d and d[0]["status"] == "succeeded")
    d = until(lambda: (lambda n: n if n["status"] == "disabled" else None)(h.now))
    assert d["status_reason"] == "receiver_request" and d["disabled_at"]


def test_a_receiver_that_is_gone(world, client):
    """410: nothing more is sent, neither this event nor later ones."""
    h = Hook(world, client, answer=status(410))
    make(client)
    h.until(lambda d: d and d[0]["status"] == "failed")
    d = until(lambda: (lambda n: n if n["status"] == "disabled" else None)(h.now))
    assert d["status_reason"] == "receiver_request" and d["disabled_at"]
    other = Hook(world, client)
    make(client)
    other.wait(1)  # the event was sent
    assert len(h.got) == 1


def test_bodies_of_answers(world, client):
    h = Hook(world, client, answer=lambda handler: handler.answer(200, b"x" * 20000))
    make(client)
    h.until(lambda d: d and d[0]["status"] == "succeeded")
    r = attempts(client, h.got[0].event["id"])[0]["response"]
    assert r["body"] == "x" * 16384 and r["body_truncated"] is True
    h.answers(lambda handler: handler.answer(200, b"\xff\x00\x01"))
    make(client)
    h.until(lambda d: len(d) == 2 and d[1]["status"] == "succeeded")
    r = attempts(client, h.got[1].event["id"])[0]["response"]
    assert r["body"] == "/wAB" and r["body_encoding"] == "base64" and r["body_truncated"] is False
    h.answers(lambda handler: handler.answer(200, b"y" * 100000))  # more than is read: still an answer
    make(client)
    h.until(lambda d: len(d) == 3 and d[2]["status"] == "succeeded")
    assert attempts(client, h.got[2].event["id"])[0]["response"]["body_truncated"] is True
    h.answers(lambda handler: handler.answer(200, gzip.compress(b"packed, though nobody asked"), Content_Encoding="gzip"))
    make(client)
    h.until(lambda d: len(d) == 4 and d[3]["status"] == "succeeded")
    assert attempts(client, h.got[3].event["id"])[0]["response"]["body"] == "packed, though nobody asked"


# ---- 429 ----

def test_429_pauses_the_whole_endpoint(world, client):
    path = world.path()
    a = Hook(world, client, path=path, events=["location.created"], answer=status(429, Retry_After="120"))
    b = Hook(world, client, path=path, events=["location.updated"])
    other = Hook(world, client, events=["location.updated"])
    world.web.answers[path] = status(429, Retry_After="120")
    id = make(client)
    world.web.wait(path, 1)
    a.until(lambda d: d and d[0]["status"] == "held")
    rename(client, id, "more")
    other.wait(1)
    assert b.until(lambda d: d)[0]["status"] == "held" and len(world.web.got[path]) == 1
    assert a.now["paused_until"] == b.now["paused_until"] and a.now["paused_until"] and other.now["paused_until"] is None
    first = attempts(client, a.got[0].event["id"])[0]
    assert first["status"] == "rate_limited" and first["counts_as_retry"] is False and 60000 <= first["retry_after_ms"] <= 120000
    world.web.answers[path] = ok
    world.ahead(121)
    world.web.wait(path, 3)
    assert a.until(lambda d: d[0]["status"] == "succeeded")[0]["retries"] == 0
    assert a.now["stats"]["last_24h"] == {"success": 1, "failure": 0, "rate": 0, "rate_limited": 1} and a.now["paused_until"] is None


def test_429_without_a_time_doubles(world, client):
    h = Hook(world, client, answer=status(429))
    make(client)
    for i, wait in enumerate([30, 60, 120, 240, 480, 900, 900]):
        h.wait(i + 1)
        h.until(lambda d: d[0]["attempts"] == i + 1)
        assert wait * 1000 - 1500 <= attempts(client, h.got[0].event["id"])[0]["retry_after_ms"] <= wait * 1000
        world.ahead(wait + 1)
    h.wait(8)
    h.answers(status(500), status(429))  # any other answer: from the beginning
    h.until(lambda d: d[0]["attempts"] == 8)
    world.ahead(901)
    h.until(lambda d: d[0]["attempts"] == 9)
    world.ahead(20)
    h.until(lambda d: d[0]["attempts"] == 10)
    assert attempts(client, h.got[0].event["id"])[0]["retry_after_ms"] <= 30000


def test_slow_start_after_a_pause(world, client):
    go_on = threading.Event()
    h = Hook(world, client, answer=status(429, Retry_After="60"))
    for _ in range(20):
        make(client)
    h.until(lambda d: len(d) == 20 and all(x["status"] == "held" for x in d))
    h.got.clear()

    def page(handler):
        go_on.wait(10)
        handler.answer(200, b"")
    h.answers(page)
    world.ahead(61)
    h.wait(1)
    time.sleep(0.5)
    assert len(h.got) == 1  # one to begin with
    go_on.set()
    h.wait(20)


# ---- supersede ----

def test_supersede(world, client):
    a, b = make(client, "A"), make(client, "B")
    h = Hook(world, client, events=["location.updated"], supersede=True, answer=status(500))
    rename(client, a, "A0")
    rename(client, b, "B0")
    h.wait(2)
    h.until(lambda d: [x["status"] for x in d] == ["retrying"] * 2)
    for i in range(1, 5):
        rename(client, a, f"A{i}")
    d = h.until(lambda d: len(d) == 6 and [x["status"] for x in d].count("superseded") == 4)
    last = d[-1]
    assert last["status"] in ("pending", "retrying") and last["superseded"] == 4 and last["retries"] == 0
    assert all(x["superseded_by"] == last["event_id"] for x in d if x["status"] == "superseded" and x is d[-2])
    assert len(h.got) == 2  # no faster: it waits as long as the one it replaced
    h.answers(ok)
    world.ahead(17)
    h.wait(4)
    got = [g for g in h.got if g.event["data"]["name"] == "A4"]
    assert len(got) == 1 and got[0]["wharf-superseded"] == "4" and "B0" in names(h)[2:]
    assert client.get("/v1/events/" + d[-2]["event_id"]).data["data"]["name"] == "A3"


def test_what_is_never_superseded(world, client):
    h = Hook(world, client, events=["location.*"], supersede=True, answer=slow(0.6))
    a = make(client, "A0")  # created, in flight
    h.wait(1)
    rename(client, a, "A1")
    rename(client, a, "A2")
    client.delete("/v1/locations/" + a)
    h.wait(3)
    h.until(lambda d: sorted(x["status"] for x in d) == ["succeeded", "succeeded", "succeeded", "superseded"])
    assert [g.event["type"] for g in h.got] == ["location.created", "location.updated", "location.deleted"] and names(h)[1] == "A2"


# ---- ending ----

def test_flush_delete_and_disable(world, client):
    h = Hook(world, client, answer=status(500))
    id = make(client)
    rename(client, id, "x")
    h.until(lambda d: len(d) == 2 and d[0]["status"] == "retrying")
    assert client.post(f"/v1/webhooks/{h.id}/flush", {}, expect=200).data == {"dropped": 2}
    assert [(d["status"], d["reason"]) for d in h.deliveries()] == [("dropped", "flushed")] * 2
    rename(client, id, "y")
    h.wait(2)
    h.until(lambda d: d[2]["status"] == "retrying")
    client.delete("/v1/webhooks/" + h.id)
    assert world.server.sql("SELECT status, reason FROM webhooks.delivery WHERE webhook_id = %s ORDER BY sequence", h.id) == \
        [("dropped", "flushed")] * 2 + [("dropped", "webhook_deleted")]
    assert not world.server.sql("SELECT 1 FROM webhooks.queue WHERE webhook_id = %s", h.id)


def test_disabled_webhooks_get_nothing_and_drop_after_two_days(world, client):
    h = Hook(world, client, answer=status(500))
    id = make(client)
    h.until(lambda d: d and d[0]["status"] == "retrying")
    h.update({"status": "disabled"})
    assert h.deliveries()[0]["status"] == "held"
    rename(client, id, "unheard")
    until(lambda: client.get("/v1/events?resource_id=" + id).data[0]["status"] == "processed")
    assert len(h.deliveries()) == 1
    world.ahead(47 * 3600)
    time.sleep(1.5)
    assert h.deliveries()[0]["status"] == "held" and len(h.got) == 1
    world.ahead(3600 + 60)
    d = h.until(lambda d: d[0]["status"] == "dropped")
    assert d[0]["reason"] == "webhook_disabled_48h"


def test_held_too_long(world, client):
    h = Hook(world, client, answer=status(429, Retry_After="86400"))
    make(client)
    for day in range(1, 4):  # each day anew, until it is more than 48 hours in all
        until(lambda: len(h.got) == day or [d["status"] for d in h.deliveries()] == ["dropped"])
        h.until(lambda d: d and d[0]["status"] in ("held", "dropped"))
        assert day > 2 or h.deliveries()[0]["status"] == "held"
        world.ahead(86400 + 60)
    world.ahead(61)  # what was just being sent is looked at a minute later
    d = h.until(lambda d: d[0]["status"] == "dropped")
    assert d[0]["reason"] == "held_too_long"


# ---- resend and recovery ----

def test_resend(world, org, client):
    h = Hook(world, client, answer=status(500, webhook_delivery="abort-message"))
    late = Hook(world, client, events=["webhook.deleted"])
    make(client)
    h.until(lambda d: d and d[0]["status"] == "failed")
    event = h.got[0].event["id"]
    before = h.now["stats"]
    a = client.post(f"/v1/events/{event}/resend", {}, expect=202).data
    assert [d["webhook_id"] for d in a["deliveries"]] == [h.id]
    d = h.until(lambda d: len(d) == 2 and d[1]["status"] == "failed")
    assert d[1]["trigger"] == "manual" and d[1]["attempts"] == 1 and h.now["stats"] == before
    assert h.got[1].body == h.got[0].body and h.got[1]["webhook-id"] == event
    client.post(f"/v1/events/{event}/resend", {"webhook_ids": [late.id]}, expect=202)
    assert late.wait(1)[0].event["type"] == "location.created"
    client.refused("POST", f"/v1/events/{event}/resend", 400, "validation.failed", ["webhook_ids.0"], body={"webhook_ids": ["whk_0000000000000000000000"]})
    late.update({"status": "disabled"})
    client.refused("POST", f"/v1/events/{event}/resend", 400, "webhook.disabled", body={"webhook_ids": [late.id]})
    client.refused("POST", "/v1/events/evt_0000000000000000000000/resend", 404, "not_found", body={})
    org.client("events:read").refused("POST", f"/v1/events/{event}/resend", 403, "scope_access", body={})
    until(lambda: client.get("/v1/events/" + event).data["pending_webhooks"] == [])
    assert client.get("/v1/events/" + event).data["initial_webhooks"] == [h.id]


def test_recover_failed(world, client):
    h = Hook(world, client, events=["location.updated"], answer=status(500, webhook_delivery="abort-message"))
    a = make(client)
    since = world.system.get("/v1/system/clock").data["now"]
    for i in range(5):
        rename(client, a, f"A{i}")
    h.until(lambda d: [x["status"] for x in d] == ["failed"] * 5)
    h.answers(ok)
    r = client.post(f"/v1/webhooks/{h.id}/recover", {"since": since}, expect=202).data
    assert r["matched"] == 5
    h.wait(10)
    assert names(h)[5:] == [f"A{i}" for i in range(5)]
    d = h.until(lambda d: [x["status"] for x in d].count("succeeded") == 5)
    assert {x["trigger"] for x in d if x["status"] == "succeeded"} == {"recovery"}
    client.refused("POST", f"/v1/webhooks/{h.id}/recover", 400, "param.invalid", ["since"], body={"since": "2020-01-01T00:00:00Z"})
    for field, moment in (("since", "0000-01-01T00:00:00Z"), ("until", "2026-01-01T00:00:00+16:00")):  # which the database can't hold
        client.refused("POST", f"/v1/webhooks/{h.id}/recover", 400, "validation.failed", [field], body={"since": since, field: moment})
    client.refused("POST", f"/v1/webhooks/{h.id}/recover", 400, "validation.failed", body={"since": since, "statuses": ["pending"]})
    world.server.sql("UPDATE webhooks.recovery SET finished_at = NULL WHERE webhook_id = %s", h.id)
    client.refused("POST", f"/v1/webhooks/{h.id}/recover", 409, "webhook.recovery_running", body={"since": since})


def test_recover_missed(world, client):
    since = world.system.get("/v1/system/clock").data["now"]
    a = make(client, "A")
    until(lambda: client.get("/v1/events?resource_id=" + a).data[0]["status"] == "processed")  # later, the webhook would be told of it
    h = Hook(world, client, events=["location.*"], filter=[{"path": "data.name", "op": "!eq", "value": "not me"}])
    h.update({"status": "disabled"})
    rename(client, a, "while disabled")
    rename(client, a, "not me")
    until(lambda: client.get("/v1/events?resource_id=" + a).data[0]["status"] == "processed")
    assert h.update({"status": "enabled"}).data["status"] == "enabled"
    h.got.clear()
    r = client.post(f"/v1/webhooks/{h.id}/recover", {"since": since, "statuses": ["missed"]}, expect=202).data
    assert r["matched"] == 2
    h.wait(2)
    assert names(h) == ["A", "while disabled"]
    until(lambda: world.server.sql("SELECT 1 FROM webhooks.recovery WHERE webhook_id = %s AND finished_at IS NOT NULL", h.id))
    r = client.post(f"/v1/webhooks/{h.id}/recover", {"since": since, "statuses": ["missed"], "types": ["location.created"]}, expect=202).data
    assert r["matched"] == 0


def test_scopes_and_locations_of_attempts(world, org, client):
    h = Hook(world, client)
    a = make(client)
    h.wait(1)
    event = h.got[0].event["id"]
    org.client("webhooks:read").refused("GET", f"/v1/events/{event}/outgoing-webhooks", 403, "scope_access")
    elsewhere = org.client(locations=[make(client, "elsewhere")])
    assert elsewhere.request("GET", f"/v1/events/{event}/outgoing-webhooks").status in (403, 404)
    assert client.get(f"/v1/events/{event}/outgoing-webhooks?status=failure").data == []
    world.server.organization().client().get(f"/v1/webhooks/{h.id}/deliveries", expect=404)
    assert a


# ---- lanes ----

COPIES = """WITH n AS (INSERT INTO wharf.event (organization_id, id, created_at, type, "timestamp", location_id, resource_type, resource_id, batch_id, actor_type, actor_id,
    data, previous_attributes, expires_at)
SELECT e.organization_id, 'evt_' || lpad(i || %s, 22, '0'), wharf.now(), e.type, wharf.now(), e.location_id, e.resource_type, 'loc_' || i || %s,
    CASE WHEN %s = 'b' THEN 'batch_1' END, 'system', 'sys', e.data, e.previous_attributes, e.expires_at
FROM wharf.event e, generate_series(1, %s) i WHERE e.id = %s RETURNING organization_id, created_at, id)
INSERT INTO wharf.outbox (organization_id, created_at, event_id) SELECT * FROM n"""


def copies(world, event, lane, n):
    """The event again, for other resources; of a batch when lane is "b"."""
    world.server.sql(COPIES, lane, lane, lane, n, event)
    world.server.sql("NOTIFY wharf_event")


def test_batches_leave_half_of_the_room_while_direct_work_waits(world, client):
    running, most, waiting = {"batch": 0, "direct": 0}, [0], [12]

    def page(handler):
        lane = handler.headers["wharf-lane"]
        with world.web.lock:
            running[lane] += 1
            waiting[0] -= lane == "direct"
            if waiting[0] > 0:
                most[0] = max(most[0], running["batch"])
        time.sleep(0.1)
        with world.web.lock:
            running[lane] -= 1
        handler.answer(200, b"")
    id = make(client)
    rename(client, id, "x")
    event = until(lambda: client.get(f"/v1/events?resource_id={id}&type=location.updated").data)[0]["id"]
    until(lambda: client.get("/v1/events/" + event).data["status"] == "processed")
    h = Hook(world, client, events=["location.updated"], max_concurrency=4, answer=status(429, Retry_After="30"))
    rename(client, id, "y")
    h.until(lambda d: d and d[0]["status"] == "held")
    copies(world, event, "b", 12)
    copies(world, event, "d", 12)
    h.until(lambda d: len(d) == 25)
    assert [d["lane"] for d in h.deliveries()].count("batch") == 12
    h.got.clear()
    waiting[0] = 13
    h.answers(page)
    world.ahead(31)
    h.wait(25)
    assert most[0] <= 2 and {g["wharf-lane"] for g in h.got} == {"direct", "batch"}


# ---- several machines ----

def test_a_machine_with_other_master_keys_leaves_deliveries_to_those_that_can_sign(world, client):
    other = Server(*WEBHOOK_SERVER, beside=world.server)
    try:
        h = Hook(world, client)
        for _ in range(30):
            make(client)
        until(lambda: (lambda d: len(d) == 30 and all(x["status"] == "succeeded" for x in d))(h.deliveries()))
        assert len(h.got) == 30 and all(d["retries"] == 0 for d in h.deliveries()) and h.now["stats"]["last_24h"]["failure"] == 0
    finally:
        other.stop()


# ---- the end of all things ----

def test_deliveries_and_attempts_end_with_their_event(world, client):
    h = Hook(world, client)
    make(client)
    h.until(lambda d: d and d[0]["status"] == "succeeded")
    event = h.got[0].event["id"]
    world.ahead(31 * 86400)
    assert h.deliveries() == [] and client.get("/v1/events/" + event, expect=404)
    until(lambda: world.server.sql("SELECT count(*) FROM webhooks.attempt WHERE webhook_id = %s", h.id) == [(0,)])
    assert world.server.sql("SELECT count(*) FROM webhooks.delivery WHERE webhook_id = %s", h.id) == [(0,)]
