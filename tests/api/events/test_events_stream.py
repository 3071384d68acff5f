"""The live event stream (spec 07 section 13, docs/internals/events.md): frames, order, replay, gaps, filters, tokens, limits, ends.

A server of its own, with two web workers. Waiting is for a condition, with a limit that only a hang reaches.
"""
import http.client
import json
import re
import socket
import threading
import time

import pytest
import requests

from test_jobs import until
from wharf import BUILD, WAIT, Server, make_location

STREAM = "/v1/events/stream"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", f"org,locations,events,{BUILD}/tests/plugins/stepbench.so", "--test-clock")
    yield s
    s.stop()


@pytest.fixture
def org(server):
    o = server.organization()
    o.c = o.client()
    return o


class Stream:
    """An open stream; frames are read by a thread."""

    def __init__(self, org_or_server, query="", key=None, headers=None):
        server = getattr(org_or_server, "server", org_or_server)
        self.response = requests.get(server.base + STREAM + query, stream=True, timeout=WAIT,
                                     headers={**({"SVC-API-KEY": key} if key else {}), **(headers or {})})
        self.frames, self.comments, self.retry, self.ended = [], 0, None, False
        self.status = self.response.status_code
        if self.status == 200:
            threading.Thread(target=self.read, daemon=True).start()

    def lines(self):
        text = b""
        for chunk in self.response.iter_content(None):
            *whole, text = (text + chunk).split(b"\n")
            yield from (line.decode() for line in whole)

    def read(self):
        frame = {}
        try:
            for line in self.lines():
                if line.startswith(":"):
                    assert line == ": hb"
                    self.comments += 1
                elif line:
                    name, value = line.split(": ", 1)
                    assert name not in frame and name in ("id", "event", "data", "retry")
                    frame[name] = value
                elif "retry" in frame:
                    self.retry, frame = frame["retry"], {}
                elif frame:
                    self.frames.append((int(frame["id"]) if "id" in frame else None, frame["event"], json.loads(frame["data"])))
                    frame = {}
        except (requests.RequestException, AttributeError):
            pass
        self.ended = True

    def take(self, n, quiet=0.15):
        """n frames, and no more."""
        until(lambda: len(self.frames) >= n)
        time.sleep(quiet)
        assert len(self.frames) == n, self.frames[n:]
        return self.frames

    def close(self):
        self.response.raw._fp.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        self.response.close()


def open_stream(org, query="", **more):
    s = Stream(org, query, key=more.pop("key", org.c.key), **more)
    assert s.status == 200, s.response.text
    until(lambda: s.retry)
    return s


def things(org, n, **more):
    return [org.c.post("/v1/things", {"name": f"t{i}", **more}, expect=201).data["id"] for i in range(n)]


def processed(org):
    until(lambda: org.server.sql("SELECT count(*) FROM wharf.outbox WHERE organization_id = %s AND event_id IS NOT NULL", org.id) == [(0,)])


def sequences(frames):
    return [f[0] for f in frames]


# ---- frames ----

def test_head_and_frames(org):
    things(org, 1)
    processed(org)
    s = open_stream(org)
    h = s.response.headers
    assert h["Content-Type"] == "text/event-stream; charset=utf-8" and h["Cache-Control"] == "no-store" and h["X-Accel-Buffering"] == "no"
    assert re.fullmatch(r"req_[0-9A-Za-z]{22}", h["Request-Id"]) and s.retry == "3000"
    id, = things(org, 1)
    (sequence, type, body), = s.take(1)  # what was before is not told
    assert (sequence, type) == (2, "stepbench.thing.created") and body["sequence"] == 2 and body["resource_id"] == id
    event = org.c.get("/v1/events").data[0]
    assert body["id"] == event["id"] and body["data"] == org.c.get(f"/v1/events/{event['id']}").data["data"]
    s.close()


def test_order_without_gaps_or_repeats(org):
    streams = [open_stream(org) for _ in range(3)]
    writers = [threading.Thread(target=things, args=(org, 40)) for _ in range(4)]
    [w.start() for w in writers]
    [w.join() for w in writers]
    for s in streams:
        assert sequences(s.take(160)) == list(range(1, 161))
        s.close()


def test_organizations_do_not_meet(server, org):
    other = server.organization()
    other.c = other.client()
    mine, theirs = open_stream(org), open_stream(other)
    things(org, 3)
    assert len(mine.take(3)) == 3 and theirs.frames == []
    mine.close(), theirs.close()


def test_newlines_stay_in_one_line(org):
    s = open_stream(org)
    org.c.post("/v1/things", {"name": "a\nb\r\nc\u2028d\n\nevent: x"}, expect=201)
    (_, type, body), = s.take(1)
    assert type == "stepbench.thing.created" and body["data"]["name"] == "a\nb\r\nc\u2028d\n\nevent: x"
    s.close()


def test_heartbeat(org):
    s = open_stream(org)
    until(lambda: s.comments >= 1)
    assert s.frames == []
    s.close()


# ---- from where ----

def test_from(org):
    things(org, 10)
    processed(org)
    for query, first in [("?from=0", 1), ("?from=4", 5), ("?from=9", 10)]:
        s = open_stream(org, query)
        assert sequences(s.take(11 - first)) == list(range(first, 11))
        s.close()
    s = open_stream(org, "?from=4", headers={"Last-Event-ID": "8"})  # the header wins
    assert sequences(s.take(2)) == [9, 10]
    s.close()
    s = open_stream(org, "?from=999")  # of another life
    things(org, 1)
    assert sequences(s.take(1)) == [11]
    s.close()


def test_reconnecting_loses_and_repeats_nothing(org):
    got, last, stop = [], None, threading.Event()
    writer = threading.Thread(target=lambda: [things(org, 1) for _ in range(120)])
    writer.start()
    while len(got) < 120:
        s = open_stream(org, "?from=0" if last is None else "", headers={"Last-Event-ID": str(last)} if last else None)
        time.sleep(0.1)
        s.close()
        until(lambda: s.ended)
        if s.frames:
            got += sequences(s.frames)
            last = got[-1]
    writer.join()
    assert got == list(range(1, 121))


def fill(org, n, from_sequence=1, hours=0):
    """Processed events without the work."""
    org.server.sql(
        "WITH e AS (INSERT INTO wharf.event (organization_id, id, created_at, type, \"timestamp\", resource_type, resource_id, actor_type, data, expires_at)"
        " SELECT %s, 'evt_' || lpad(g::text, 22, '0'), wharf.now(), 'stepbench.thing.updated', wharf.now(), 'made_by_test', 'x', 'system',"
        " '{\"object\":\"thing\"}', wharf.now() + make_interval(hours => %s) FROM generate_series(%s, %s) g RETURNING organization_id, created_at, id)"
        " INSERT INTO wharf.event_done (organization_id, created_at, event_id, sequence, processed_at, head, steps)"
        " SELECT organization_id, created_at, id, n, wharf.now(), '{\"id\":\"e\",\"sequence\":' || n || ',\"data\":', '[]'"
        " FROM (SELECT e.*, substr(e.id, 5)::bigint AS n FROM e) e", org.id, 24 + hours, from_sequence, from_sequence + n - 1)
    org.server.sql("INSERT INTO wharf.event_counter VALUES (%s, %s) ON CONFLICT (organization_id) DO UPDATE SET sequence = EXCLUDED.sequence",
                   org.id, from_sequence + n - 1)


def test_a_gap_beyond_ten_thousand(org):
    fill(org, 10_050)
    s = open_stream(org, "?from=20")
    frames = s.take(10_001)
    assert frames[0] == (None, "stream.gap", {"from": 21, "to": 50})
    assert sequences(frames[1:]) == list(range(51, 10_051))
    s.close()
    s = open_stream(org, "?from=50")
    assert sequences(s.take(10_000)) == list(range(51, 10_051))
    s.close()


def test_a_gap_beyond_retention(org):
    fill(org, 10, 1, hours=-48)
    fill(org, 10, 11)
    s = open_stream(org, headers={"Last-Event-ID": "3"})
    frames = s.take(11)
    assert frames[0] == (None, "stream.gap", {"from": 4, "to": 10}) and sequences(frames[1:]) == list(range(11, 21))
    s.close()
    s = open_stream(org, "?from=0")  # the oldest that is kept
    assert sequences(s.take(10)) == list(range(11, 21))
    s.close()


# ---- filters ----

def test_types(org):
    t = things(org, 1)[0]
    org.c.post(f"/v1/things/{t}", {"name": "x"}, expect=200)
    org.c.post("/v1/stepbench/emit", {"type": "stepbench.alarm", "id": t}, expect=200)
    make_location(org.c)
    processed(org)
    every = ["stepbench.thing.created", "stepbench.thing.updated", "stepbench.alarm", "location.created"]
    for types, want in [("*", [0, 1, 3]), ("location.*", [3]), ("stepbench.thing.updated", [1]), ("stepbench.alarm", [2]), ("stepbench.*,location.created", [0, 1, 3]),
                        ("*,stepbench.alarm", [0, 1, 2, 3])]:
        s = open_stream(org, f"?from=0&types={types}")
        assert [f[1] for f in s.take(len(want))] == [every[i] for i in want], types
        s.close()


def test_resources_and_payload(org):
    a, b = things(org, 2)
    processed(org)
    s = open_stream(org, f"?from=0&resource_type=thing&resource_id={b}&payload=thin")
    (_, _, body), = s.take(1)
    assert body["data"] == {"id": b, "object": "thing", "location_id": None} and "previous_attributes" not in body
    s.close()
    assert open_stream(org, "?from=0&resource_type=location").take(0) == []


def test_locations(org):
    a, b = make_location(org.c, "A"), make_location(org.c, "B")
    things(org, 1)
    processed(org)
    limited = org.client(locations=[a["id"]])
    s = open_stream(org, "?from=0", key=limited.key)
    assert [f[2]["location_id"] for f in s.take(2)] == [a["id"], None]
    s.close()
    s = open_stream(org, f"?from=0&location_id={b['id']}")
    assert [f[2]["location_id"] for f in s.take(1)] == [b["id"]]
    s.close()
    refused(org, f"?location_id={b['id']}", 403, "location_access", key=limited.key)


def refused(org, query, status, code, key=None, headers=None):
    s = Stream(org, query, key=key or org.c.key, headers=headers)
    body = s.response.json()
    assert (s.status, body["code"]) == (status, code), body
    return body


@pytest.mark.parametrize("query, param", [("?types=location.unheard", "types"), ("?types=", "types"), ("?types=*,nothing.*", "types"), ("?payload=fat", "payload"),
                                          ("?from=x", "from"), ("?from=-1", "from"), ("?from=", "from")])
def test_parameters_are_checked(org, query, param):
    assert refused(org, query, 400, "param.invalid")["errors"] == [param]


def test_last_event_id_is_checked(org):
    assert refused(org, "", 400, "param.invalid", headers={"Last-Event-ID": "abc"})["errors"] == ["Last-Event-ID"]


# ---- keys and tokens ----

def test_keys(server, org):
    refused(org, "", 403, "scope_access", key=org.client("things:read").key)
    refused(org, "", 401, "api_key.invalid", key="wh_live_" + "0" * 38)
    r = requests.get(server.base + STREAM, timeout=WAIT)
    assert (r.status_code, r.json()["code"]) == (401, "api_key.missing")


def test_tokens(server, org):
    limited = org.client("events:read,things:read")
    a = limited.post("/v1/events/stream/tokens", {}, expect=201)
    assert list(a.data) == ["object", "token", "expires_at"] and len(a.data["token"]) == 43
    s = Stream(server, "?token=" + a.data["token"])
    until(lambda: s.retry)
    assert s.response.headers["SVC-Mode"] == "live"
    things(org, 1)
    s.take(1)
    s.close()
    r = requests.get(server.base + STREAM + "?token=" + a.data["token"], timeout=WAIT)  # once
    assert (r.status_code, r.json()["code"]) == (401, "api_key.invalid")
    old = limited.post("/v1/events/stream/tokens", {}, expect=201).data["token"]
    server.sql("UPDATE wharf.token SET expires_at = expires_at - interval '61 seconds' WHERE kind = 'events.stream'")
    assert requests.get(server.base + STREAM + "?token=" + old, timeout=WAIT).status_code == 401
    assert requests.get(server.base + STREAM + "?token=x", timeout=WAIT).status_code == 401
    org.client("things:read").refused("POST", "/v1/events/stream/tokens", 403, "scope_access", body={})
    assert requests.get(server.base + "/v1/events?token=" + limited.post("/v1/events/stream/tokens", {}, expect=201).data["token"], timeout=WAIT).status_code == 401


def test_a_token_inherits_the_key(org):
    a, b = make_location(org.c, "A"), make_location(org.c, "B")
    token = org.client(locations=[b["id"]]).post("/v1/events/stream/tokens", {}, expect=201).data["token"]
    processed(org)
    s = Stream(org, "?from=0&token=" + token)
    assert [f[2]["location_id"] for f in s.take(1)] == [b["id"]]
    s.close()


def test_test_keys_see_test_data(org):
    test = org.client(test=True)
    s, live = open_stream(org, key=test.key), open_stream(org)
    test.post("/v1/things", {"name": "x"}, expect=201)
    assert s.take(1)[0][2]["data"]["name"] == "x" and live.frames == []
    s.close(), live.close()


def test_a_revoked_key_ends_its_stream(org):
    """Looked at every 60 s of real time: the longest wait of these tests."""
    c = org.client("events:read")
    s = open_stream(org, key=c.key)
    org.server.sql("UPDATE wharf.api_key SET revoked_at = wharf.now() WHERE organization_id = %s AND scopes = '{\"events\": 1}'", org.id)
    until(lambda: s.ended)
    assert s.frames == []


# ---- how many ----

def test_too_many_of_a_key(org):
    streams = [open_stream(org) for _ in range(10)]
    a = Stream(org, key=org.c.key)
    assert a.status == 429 and a.response.json()["code"] == "stream.too_many" and int(a.response.headers["Retry-After"]) > 0
    open_stream(org, key=org.client().key).close()  # another key may
    streams.pop().close()

    def again():
        s = Stream(org, key=org.c.key)
        if s.status == 200:
            streams.append(s)
        return s.status == 200
    until(again)
    [s.close() for s in streams]


def test_a_closed_connection_frees_its_place(org):
    """A page that is loaded again and again has one stream, and not one for each time: nothing is sent to find out who is still there."""
    kept = open_stream(org)
    for _ in range(30):
        s = Stream(org, key=org.c.key)
        while s.status == 429:
            s.close()
            time.sleep(0.05)
            s = Stream(org, key=org.c.key)
        s.close()
    things(org, 1)
    assert sequences(kept.take(1, 0)) == [1]
    kept.close()


def test_an_event_source_that_is_refused_asks_again(org):
    """On anything but 200 an EventSource gives up for good; so it gets a stream of one frame, which says why, and when to come again."""
    streams = [open_stream(org) for _ in range(10)]
    r = requests.get(org.server.base + "/v1/events/stream", headers={"SVC-API-KEY": org.c.key, "Accept": "text/event-stream"}, timeout=WAIT)
    assert r.status_code == 200 and r.headers["Content-Type"].startswith("text/event-stream") and int(r.headers["Retry-After"]) > 0
    lines = r.text.split("\n")
    assert lines[0] == f"retry: {1000 * int(r.headers['Retry-After'])}" and lines[1] == "event: stream.refused" and lines[3:] == ["", ""]
    assert json.loads(lines[2].removeprefix("data: "))["code"] == "stream.too_many"
    wrong = requests.get(org.server.base + "/v1/events/stream", headers={"SVC-API-KEY": "wh_live_nonsense", "Accept": "text/event-stream"}, timeout=WAIT)
    assert wrong.status_code == 401, "a wrong key does not become right"
    [s.close() for s in streams]


def test_too_many_of_an_organization(org):
    keys = [org.client().key for _ in range(11)]
    streams = [open_stream(org, key=k) for k in keys[:10] for _ in range(10)]
    s = Stream(org, key=keys[10])
    assert s.status == 429 and s.response.json()["code"] == "stream.too_many"
    things(org, 2)
    for s in streams:
        assert sequences(s.take(2, 0)) == [1, 2]
    [s.close() for s in streams]


def test_streams_need_no_request_threads(org):
    """More streams than threads, and requests are answered as before."""
    streams = [open_stream(org, key=org.client().key) for _ in range(60)]
    for _ in range(20):
        org.c.get("/v1/events")
    [s.close() for s in streams]


# ---- ends ----

def test_a_slow_reader_is_cut_off(server, org):
    with server.connect(receive=4096) as s:
        s.sendall(f"GET {STREAM} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {org.c.key}\r\n\r\n".encode())
        assert s.recv(20).startswith(b"HTTP/1.1 200")
        for i in range(60):
            org.c.post("/v1/things", {"name": "x" * 200_000}, expect=201)
        processed(org)
        time.sleep(0.5)
        rest = b""
        s.settimeout(WAIT)
        while chunk := s.recv(1 << 16):
            rest += chunk
            if rest.endswith(b"0\r\n\r\n"):
                break
    assert b"event: stream.overflow\ndata: {}\n\n" in rest[-200:]
    assert rest.count(b"event: stepbench.thing.created") < 60


def test_closing(server):
    own = Server("--modules", f"org,events,{BUILD}/tests/plugins/stepbench.so")
    try:
        org = own.organization()
        org.c = org.client()
        s = open_stream(org)
        things(org, 1)
        s.take(1)
    finally:
        own.stop()
    until(lambda: s.ended)
    assert s.frames[1:] == [(None, "stream.closing", {})]


def test_head(server, org):
    r = requests.head(server.base + STREAM, headers={"SVC-API-KEY": org.c.key}, timeout=WAIT)
    assert r.status_code == 200 and r.headers["Content-Type"].startswith("text/event-stream")
