"""From commit to processed (docs/internals/events.md, spec 07 sections 1, 2 and 4): numbers, bodies, merging, steps and their retries, handlers, residents.

A server of its own with the plugin tests/plugins/stepbench. Waiting is for a condition, with a limit that only a hang reaches.
"""
import http.server
import json
import os
import signal
import threading
import time

import pytest

from test_jobs import job_workers, until
from wharf import BUILD, Server

MODULES = f"org,{BUILD}/tests/plugins/stepbench.so"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES, "--set", "crash.quarantine=off", "--set", "net.allow=127.0.0.0/8", "--test-clock")
    yield s
    s.stop()


@pytest.fixture
def org(server):
    o = server.organization()
    o.c = o.client()
    return o


def rows(org, columns="type, sequence, steps, processed_at, data, previous_attributes, disable_webhooks, data_truncated, head"):
    return org.server.sql(f"SELECT {columns} FROM wharf.event_state WHERE organization_id = %s ORDER BY sequence, created_at, id", org.id)


def processed(org, n=None):
    """All events, once all (n of them, if told) are processed."""
    def done():
        got = rows(org)
        return got if all(r[3] for r in got) and (n is None or len(got) == n) else None
    return until(done)


def seen(org, who="step"):
    return org.server.sql("SELECT event_id, type, sequence, body, chunk FROM stepbench.seen WHERE organization_id = %s AND who = %s ORDER BY n", org.id, who)


def thing(org, name="a", **more):
    return org.c.post("/v1/things", {"name": name, **more}, expect=201).data


# ---- numbers and bodies ----

def test_sequences_are_gapless_and_in_order(org):
    ids = [thing(org, str(i))["id"] for i in range(30)]
    for id in ids[:10]:
        org.c.post(f"/v1/things/{id}", {"name": "b"}, expect=200)
    processed(org, 40)
    assert [r[1] for r in rows(org)] == list(range(1, 41))
    per_row = org.server.sql("SELECT resource_id, array_agg(type ORDER BY sequence) FROM wharf.event_state WHERE organization_id = %s GROUP BY 1", org.id)
    assert all(types in (["stepbench.thing.created"], ["stepbench.thing.created", "stepbench.thing.updated"]) for _, types in per_row)


def test_each_organization_counts_for_itself(server):
    orgs = []
    for _ in range(3):
        orgs.append(server.organization())
        orgs[-1].c = orgs[-1].client()
    for _ in range(5):
        for o in orgs:
            thing(o)
    for o in orgs:
        assert [r[1] for r in processed(o, 5)] == [1, 2, 3, 4, 5]


def test_many_writers_leave_no_gap(org):
    def write():
        c = org.client()
        for i in range(25):
            c.post("/v1/things", {"name": str(i)}, expect=201)
    threads = [threading.Thread(target=write) for _ in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    processed(org, 150)
    assert sorted(r[1] for r in rows(org)) == list(range(1, 151))
    assert [s[2] for s in seen(org)] == list(range(1, 151))


def test_the_body(org):
    t = thing(org, "Äpfel \"x\" \\ \u2028", color="red")
    org.c.post(f"/v1/things/{t['id']}", {"color": "blue"}, expect=200)
    processed(org, 2)
    first, second = (json.loads(s[3]) for s in seen(org))
    assert list(first) == ["id", "object", "type", "timestamp", "api_version", "sequence", "organization_id", "location_id", "resource_type",
                           "resource_id", "batch_id", "actor", "data", "previous_attributes"]
    assert first["object"] == "event" and first["type"] == "stepbench.thing.created" and first["api_version"] == "v1"
    assert first["sequence"] == 1 and first["organization_id"] == org.id and first["resource_id"] == t["id"] and first["resource_type"] == "thing"
    assert first["actor"]["type"] == "api_key" and first["actor"]["id"] and first["location_id"] is None and first["batch_id"] is None
    assert first["previous_attributes"] is None
    assert first["data"] == t  # as its retrieve shows it, computed fields too
    assert second["previous_attributes"] == {"color": "red"} and second["data"] == org.c.get(f"/v1/things/{t['id']}").data
    text = seen(org)[0][3]
    assert "\n" not in text and ": " not in text.replace('\\"', "")[:120]  # compact


def test_deleted_events_have_the_last_state(org):
    t = thing(org, "gone", color="red")
    org.c.delete(f"/v1/things/{t['id']}")
    data = processed(org, 2)[1][4]
    deleted_at = data.pop("deleted_at")
    assert data == t and deleted_at.endswith("Z")


def test_large_data_is_reduced(org):
    t = thing(org, "x" * 1_100_000)
    org.c.post(f"/v1/things/{t['id']}", {"name": "small"}, expect=200)
    got = processed(org, 2)
    assert got[0][4] == {"id": t["id"], "object": "thing", "location_id": None} and got[0][7] is True
    assert got[1][4]["name"] == "small" and got[1][7] is False
    assert len(got[1][5]["name"]) == 1_100_000


def test_request_and_trace(org):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    a = org.c.post("/v1/things", {"name": "a"}, expect=201, headers={"traceparent": trace})
    processed(org, 1)
    assert rows(org, "request_id, traceparent, depth") == [(a.headers["Request-Id"], trace, 0)]


def test_causes(org):
    """A batch, the depth of a workflow, and silence are said once for everything that a request changes."""
    t = thing(org)
    org.c.post("/v1/stepbench/emit", {"id": t["id"], "rename": "b", "batch": "batch_1"}, expect=200)
    processed(org, 2)
    assert rows(org, "batch_id, depth, disable_webhooks") == [(None, 0, False), ("batch_1", 3, True)]
    assert json.loads(seen(org)[1][3])["batch_id"] == "batch_1"
    assert org.server.sql("SELECT batch_id FROM wharf.change_log WHERE organization_id = %s AND resource_id = %s AND action = 'updated'", org.id, t["id"]) == [("batch_1",)]


# ---- one event per type, row and transaction ----

def test_created_takes_later_updates(org):
    id = org.c.post("/v1/stepbench/create-and-change", {}, expect=200).data["id"]
    got = processed(org)
    assert [(r[0], r[4]["name"], r[5]) for r in got] == [("stepbench.thing.created", "three", None)]
    logs = org.changes(id)
    assert sorted(log[0] for log in logs) == ["created", "updated", "updated"]
    event, = rows(org, "id")
    assert {log[5] for log in logs} == {event[0]}


def test_an_event_follows_the_savepoint(org):
    org.c.post("/v1/stepbench/create-and-change", {"undo": "yes"}, expect=200)
    assert [(r[0], r[4]["name"]) for r in processed(org)] == [("stepbench.thing.created", "two")]


def test_repeated_updates_merge(org):
    t = thing(org, "one", color="red")
    org.c.post("/v1/stepbench/emit", {"id": t["id"], "rename": "two", "recolor": "blue"}, expect=200)
    got = processed(org, 2)
    assert got[1][0] == "stepbench.thing.updated" and got[1][5] == {"name": "one", "color": "red"}
    assert (got[1][4]["name"], got[1][4]["color"]) == ("two", "blue")


def test_no_event_of_a_failed_request(org):
    t = thing(org)
    org.c.post("/v1/stepbench/emit", {"id": t["id"], "type": "stepbench.thing.shaken", "how": "much", "fail": "yes"}, expect=400)
    org.c.post("/v1/stepbench/emit", {"id": t["id"], "type": "stepbench.thing.shaken", "how": "little"}, expect=200)
    got = processed(org, 2)
    assert got[1][0] == "stepbench.thing.shaken" and got[1][4]["how"] == "little" and got[1][4]["name"] == "a"


def test_undeclared_types_are_refused(org):
    t = thing(org)
    a = org.c.post("/v1/stepbench/emit", {"id": t["id"], "type": "stepbench.thing.unheard"}, expect=500)
    assert a.code == "internal"
    processed(org, 1)


# ---- disable_webhooks ----

def test_disable_webhooks(org):
    t = thing(org, disable_webhooks=True)
    assert "disable_webhooks" not in t
    org.c.post(f"/v1/things/{t['id']}", {"color": "red", "disable_webhooks": False}, expect=200)
    org.c.post(f"/v1/things/{t['id']}", {"color": "blue", "disable_webhooks": True}, expect=200, headers={"Prefer": "handling=strict"})
    assert [r[6] for r in processed(org, 3)] == [True, False, True]
    assert [step["status"] for r in rows(org) for step in r[2] if step["name"] == "stepbench.see"] == ["skipped", "completed", "skipped"]


@pytest.mark.parametrize("value", ["true", 1, None, [], {}])
def test_disable_webhooks_is_a_boolean(org, value):
    a = org.c.refused("POST", "/v1/things", 400, "validation.failed", body={"name": "a", "disable_webhooks": value})
    assert a.errors == ["disable_webhooks"]
    assert not rows(org)


# ---- steps ----

def test_steps_of_an_event(org):
    thing(org)
    steps = processed(org, 1)[0][2]
    assert [(s["name"], s["status"]) for s in steps] == [
        ("webhooks_list", "skipped"), ("log_write", "completed"), ("user_push_notifications", "skipped"), ("subscribers_email", "skipped"),
        ("workflows_list", "skipped"), ("integrations_list", "skipped"), ("stream_publish", "completed"), ("stepbench.see", "completed"),
        ("stepbench.weak", "skipped")]
    assert all(s["error"] is None for s in steps)


def test_a_burst_goes_in_chunks(server, org):
    c = org.client()
    with server.db.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtextextended('wharf.event:' || %s, 0))", (org.id,))
    try:
        [c.post("/v1/things", {"name": str(i)}, expect=201) for i in range(40)]
        time.sleep(0.1)
        assert not [r for r in rows(org) if r[3]]
    finally:
        server.sql("SELECT pg_advisory_unlock(hashtextextended('wharf.event:' || %s, 0))", org.id)
    processed(org, 40)
    assert {s[4] for s in seen(org)} == {40}


def fault(org, calls):
    org.server.sql("INSERT INTO stepbench.fault SELECT %s, nextval('stepbench.calls') + 1 + %s", org.id, calls)


def step(org, name="stepbench.weak"):
    return next(s for s in rows(org)[0][2] if s["name"] == name)


def test_a_failed_step_is_tried_again(server, org):
    fault(org, 2)
    thing(org)
    processed(org, 1)
    assert step(org)["status"] == "failed" and "told to fail" in step(org)["error"]
    assert step(org, "stepbench.see")["status"] == "completed"  # the others are not held up
    assert seen(org, "weak") == []
    until(lambda: step(org)["status"] == "completed")
    assert step(org)["error"] is None
    assert len(seen(org, "weak")) == 1 and len(seen(org)) == 1
    assert json.loads(seen(org, "weak")[0][3])["data"] == {"id": rows(org)[0][4]["id"], "object": "thing", "location_id": None}
    assert "previous_attributes" not in json.loads(seen(org, "weak")[0][3])
    assert server.sql("SELECT count(*) FROM wharf.event_retry WHERE organization_id = %s", org.id) == [(0,)]


def test_the_waits_of_a_failing_step(server, org):
    fault(org, 1000)
    thing(org)
    processed(org, 1)
    tries = lambda: server.sql("SELECT attempts, extract(epoch FROM next_at - wharf.now()) FROM wharf.event_retry WHERE organization_id = %s", org.id)
    waits = []
    for n in range(1, 6):
        attempts, wait = until(lambda: [t for t in tries() if t[0] == n] or None)[0]
        waits.append(float(wait))
        server.sql("UPDATE wharf.event_retry SET next_at = wharf.now() WHERE organization_id = %s", org.id)
    until(lambda: tries() == [])
    assert step(org)["status"] == "failed"
    for wait, most in zip(waits, [1, 5, 30, 120, 600]):
        assert most - 2 <= wait <= most
    assert seen(org, "weak") == []


# ---- handlers ----

def test_handlers(org):
    t = thing(org)
    org.c.post(f"/v1/things/{t['id']}", {"color": "red"}, expect=200)
    org.c.post("/v1/stepbench/emit", {"id": t["id"], "type": "stepbench.alarm"}, expect=200)  # a system type: no wildcard takes it
    processed(org, 3)
    until(lambda: len(seen(org, "handler")) >= 2)
    until(lambda: not org.server.sql("SELECT 1 FROM wharf.job WHERE organization_id = %s", org.id))
    assert [(h[1], h[2]) for h in seen(org, "handler")] == [("stepbench.thing.created", 1), ("stepbench.thing.updated", 2)]


# ---- residents ----

@pytest.fixture(scope="module")
def receiver():
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            time.sleep(0.2 if self.path.startswith("/slow") else 0)
            self.send_response(204 if self.path != "/bad" else 500)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass
    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{s.server_address[1]}"
    s.shutdown()


def errands(org, urls):
    for url in urls:
        org.server.sql("INSERT INTO stepbench.errand (organization_id, url) VALUES (%s, %s)", org.id, url)
    org.c.post("/v1/stepbench/emit", {"id": "x", "wake": "yes"}, expect=200)


def results(org):
    return org.server.sql("SELECT status, outcome FROM stepbench.errand WHERE organization_id = %s ORDER BY n", org.id)


def test_a_resident_fetches(org, receiver):
    errands(org, [f"{receiver}/{'slow' if i % 5 else 'bad'}{i}" for i in range(150)] + [receiver + "/bad"])
    until(lambda: all(status is not None for status, _ in results(org)))
    assert [r[0] for r in results(org)] == [204] * 150 + [500]


def test_a_resident_is_woken_at_once(org, receiver):
    """It waits 5 s when nobody wakes it: five errands one after the other tell the difference."""
    begun = time.monotonic()
    for n in range(1, 6):
        errands(org, [receiver + "/x"])
        until(lambda: len([r for r in results(org) if r[0]]) == n)
    assert time.monotonic() - begun < 20


def test_a_resident_is_seen(server):
    assert "job errands" in server.command("ps") and "job events" in server.command("ps")


def test_nothing_is_lost_when_job_workers_are_killed(server, org):
    stop = threading.Event()

    def write():
        c = org.client()
        while not stop.is_set():
            c.post("/v1/things", {"name": "a"}, expect=201)
    t = threading.Thread(target=write)
    t.start()
    for _ in range(4):
        time.sleep(0.3)
        for pid in job_workers(server):
            os.kill(pid, signal.SIGKILL)
        until(lambda: job_workers(server))
    stop.set()
    t.join()
    got = processed(org)
    assert [r[1] for r in got] == list(range(1, len(got) + 1))
    assert [s[2] for s in seen(org)] == list(range(1, len(got) + 1))  # each once: step and mark are one transaction
