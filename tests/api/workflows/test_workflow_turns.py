"""Requests in which code of an organization runs wait for their turn (spec 08 section 6, rules 8 and 9): none is refused that could be answered in
time, organizations take turns, those that wait hold no thread, and one that can't be served in time is refused at once."""
import concurrent.futures
import json
import threading
import time

import pytest

from outside import Web
from test_workflow_events import FLOWS
from test_workflow_http import flow as trigger
from test_workflow_share import manual
from wharf import WAIT, Client, Server, make_location

MODULES = ("--modules", "org,locations,events,webhooks,workflows", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true")
ENDLESS = "return ('a'):rep(40000):find(('.-'):rep(8) .. 'b')"


def several(n, ask):
    """Calls ask(0) to ask(n - 1) at the same time, each in a thread of its own; returns what they returned."""
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        return list(pool.map(ask, range(n)))


def send(client, *args, **more):
    """Sends one request, on a connection of its own."""
    return Client(client.server, client.key).request(*args, **more)


def before_hook(client, source="return change.input"):
    id = client.post(FLOWS, {"name": "Rule", "source": f"return {{before = function(change, ctx) {source} end}}",
                             "triggers": [{"type": "hook", "resource": "location", "action": "create", "phase": "before"}]}, expect=201).data["id"]
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    return id


@pytest.fixture(scope="module")
def server():
    s = Server(*MODULES)
    yield s
    s.stop()


def test_writes_with_a_before_hook(server):
    """64 clients, four writes each: every write is done."""
    client = server.organization().client()
    before_hook(client)

    def four(n):
        own = Client(server, client.key)
        return [own.request("POST", "/v1/locations", {"name": f"Room {n}.{i}", "address": {"line1": "1 Main St", "city": "X", "country_code": "US"}}).status for i in range(4)]
    told = several(64, four)
    assert {status for four in told for status in four} == {201}
    assert len(client.get("/v1/locations?limit=all").data) == 256


def test_triggers_with_a_slow_upstream(server):
    """200 clients ask a trigger whose code asks a server that takes 0.3 s: all are answered."""
    def late(handler):
        time.sleep(0.3)
        handler.answer(200, b"late")
    web = Web({"/late": late})
    client = server.organization().client()
    id = trigger(client, f"local r = wharf.http.get('http://127.0.0.1:{web.port}/late') return {{status = 200, body = r.body}}", {"path": "ask", "auth": "key"})

    def ask(_):
        r = Client(server, None).http.post(f"{server.base}{FLOWS}/{id}/http/ask", headers={"SVC-API-KEY": client.key}, timeout=WAIT)
        return r.status_code, r.text
    assert set(several(200, ask)) == {(200, "late")}


def test_organizations_take_turns(server):
    """One organization has as many runs that never end as it may have; a run of another one is answered before these are over."""
    greedy, modest = server.organization().client(), server.organization().client()
    endless, short = manual(greedy, ENDLESS), manual(modest, "return 1")
    with concurrent.futures.ThreadPoolExecutor(60) as pool:
        first = [pool.submit(send, greedy, "POST", f"{FLOWS}/{endless}/run", {}) for _ in range(60)]
        time.sleep(0.5)
        for _ in range(5):
            assert modest.request("POST", f"{FLOWS}/{short}/run", {}).status == 200
        assert not all(f.done() for f in first)
        told = [f.result() for f in first]
    assert {r.code for r in told} <= {"workflow.budget_time", "workflow.quota"}, {r.code for r in told}


def test_waiting_holds_no_thread():
    """The server has one thread, and one process for code. While runs wait for that process, the thread writes for others."""
    s = Server(*MODULES, "--set", "workers=1", "--set", "database.pool=1", "--set", "workflows.cells=1", "--set", "workflows.cells_max=1", "--set", "workflows.budgets.sync.time_ms=3000")
    try:
        client, other = s.organization().client(), s.organization().client()
        location = make_location(other)
        endless = manual(client, ENDLESS)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            runs = [pool.submit(send, client, "POST", f"{FLOWS}/{endless}/run", {}) for _ in range(4)]
            time.sleep(0.5)
            for i in range(10):
                other.post(f"/v1/locations/{location['id']}", {"name": f"Name {i}"}, expect=200)
            assert not any(r.done() for r in runs)
            assert {r.result().code for r in runs} == {"workflow.budget_time"}
    finally:
        s.stop()


def test_what_can_not_be_served_in_time_is_refused():
    """One process, runs of a second, and 12 requests that wait four seconds: some are answered; the others are refused, and told the setting and when to come again."""
    s = Server(*MODULES, "--set", "workers=1", "--set", "workflows.cells=1", "--set", "workflows.cells_max=1", "--set", "http.handler_timeout=4000", "--set", "workflows.cpu_share=0")
    web = Web({"/late": lambda handler: (time.sleep(1), handler.answer(200, b"late"))})
    try:
        client = s.organization().client()
        id = trigger(client, f"local r = wharf.http.get('http://127.0.0.1:{web.port}/late') return {{status = 200, body = r.body}}", {"path": "ask", "auth": "none"})

        def ask(_):
            r = Client(s, None).http.post(f"{s.base}{FLOWS}/{id}/http/ask", timeout=WAIT)
            return r.status_code, r.headers.get("Retry-After"), r.text
        several(3, ask)  # so that it knows how long a run takes
        told = several(12, ask)
        good, refused = [t for t in told if t[0] == 200], [t for t in told if t[0] == 503]
        assert good and refused and len(good) + len(refused) == 12, told
        for _, after, text in refused:
            body = json.loads(text)
            assert body["code"] == "overloaded" and "workflows.cells_max" in body["message"] and int(after) >= 1, body
    finally:
        s.stop()


def test_waiting_requests_end_with_the_server():
    """A server that stops answers those that wait."""
    s = Server(*MODULES, "--set", "workers=1", "--set", "workflows.cells=1", "--set", "workflows.cells_max=1", "--set", "workflows.budgets.sync.time_ms=1000")
    client = s.organization().client()
    endless = manual(client, ENDLESS)
    answers = []

    def ask():
        answers.append(send(client, "POST", f"{FLOWS}/{endless}/run", {}).status)
    threads = [threading.Thread(target=ask) for _ in range(3)]
    for t in threads:
        t.start()
    time.sleep(0.5)
    s.stop()
    for t in threads:
        t.join(WAIT)
    assert len(answers) == 3 and all(a in (400, 503, 504) for a in answers), answers
