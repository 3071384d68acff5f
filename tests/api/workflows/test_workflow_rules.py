"""Single rules of workflows that no other file holds (spec 08): budgets in replays, floods of notes, shares on several machines, growing cells, retried mails."""
import pathlib
import time

import pytest

from receivers import until
from test_workflow_events import FLOWS, flow, runs
from test_workflow_replay import replay
from test_workflow_runs import asked
from test_workflow_share import BUSY, is_cell, manual
from wharf import Client, Server, make_location

MODULES = ("--modules", "org,locations,events,webhooks,workflows")


@pytest.fixture(scope="module")
def server():
    s = Server(*MODULES, "--set", "workflows.cpu_share=1", "--set", "workflows.cells=1", "--set", "workflows.cells_max=3")
    yield s
    s.stop()


@pytest.fixture
def mine(server):
    return server.organization().client()


# ---- recordings ----

@pytest.mark.parametrize("more, most", [({}, (32 << 20, 20_000_000)), ({"budget": {"memory_mib": 4, "instructions": 300_000}}, (4 << 20, 300_000))])
def test_budgets_in_a_replay(mine, more, most):
    """What is left of memory and instructions is computed, not recorded: the same code is told the same."""
    id = manual(mine, """local t = {} for i = 1, 1000 do t[i] = ('x'):rep(i) end
local b = ctx.budget() wharf.kv.set('left', {b.memory, b.instructions, b.api_calls, b.http_calls}) return b""", record={"io": True}, **more)
    run = asked(mine, id, {}).data
    left = run["output"]["value"]
    assert run["replayable"] is True and most[0] // 2 < left["memory"] < most[0] and most[1] // 2 < left["instructions"] < most[1]
    replay(mine, run["id"])


def test_a_flood_of_notes(mine):
    """A run that looks at randomness without end is a run like others, and takes no memory of the server: its worker goes on. Nothing is kept of it to
    replay, and of others all is."""
    workers = mine.server.workers("web")
    id = manual(mine, "for i = 1, (input.n or 0) do wharf.crypto.random_bytes(1024) end return 'over'", record={"io": True})
    run = asked(mine, id, {"input": {"n": 40000}}).data
    assert run["output"] == {"value": "over"} and run["replayable"] is False
    mine.refused("GET", f"{FLOWS}/runs/{run['id']}/recording", 404, "not_found")
    assert all(n < 3 << 19 for n, in mine.server.sql("SELECT octet_length(data::text) FROM workflows.recording WHERE run_id = %s", run["id"]))
    assert mine.server.workers("web") == workers
    small = asked(mine, id, {"input": {"n": 20}}).data
    assert small["replayable"] is True
    replay(mine, small["id"])


# ---- shares ----

def spend(client, id, most=60):
    """Until its organization has no share left."""
    end, r = time.monotonic() + most, None
    while (r is None or r.status != 429) and time.monotonic() < end:
        r = client.request("POST", f"{FLOWS}/{id}/run", {})
        assert r.status in (200, 429, 503), r
    assert r.status == 429 and r.code == "workflow.quota", r


def test_each_machine_counts_for_itself(server):
    other = Server(*MODULES, "--set", "workflows.cpu_share=1", beside=server)
    try:
        here = server.organization().client()
        there = Client(other, here.key)
        id = manual(here, BUSY)
        spend(here, id)
        assert asked(there, id, {}).data["status"] == "succeeded"
        spend(there, id)
    finally:
        other.stop()


def test_no_share_means_any(server, mine):
    """As much as ended the share of one second a minute and core above; and nobody is told to wait."""
    free = Server(*MODULES, "--set", "workflows.cpu_share=0", beside=server)
    try:
        client = Client(free, mine.key)
        id = manual(mine, BUSY)
        spend(mine, id)
        used = sum(r["usage"]["cpu_ms"] for r in mine.get(f"{FLOWS}/{id}/runs?limit=100").data)
        spent = 0
        while spent < 2 * used:
            spent += asked(client, id, {}).data["usage"]["cpu_ms"]
        assert used > 500
    finally:
        free.stop()


def living(server, kind="job"):
    """Processes of the lua kind of the only worker of its kind."""
    (worker,) = server.workers(kind)
    return {pid for task in pathlib.Path(f"/proc/{worker}/task").iterdir() for pid in (task / "children").read_text().split() if is_cell(pid)}


def test_cells_grow_to_their_most(server):
    """While runs sleep others begin, in as many processes as there may be and no more."""
    clients = [server.organization().client() for _ in range(6)]
    slow = [flow(client, "wharf.sleep(4000) return 1", concurrency={"max": 10}) for client in clients]
    for client in clients:
        for i in range(2):
            make_location(client, f"L{i}")
    seen, before = [], set()

    def done():
        nonlocal before
        now = living(server)
        seen.append(len(now & before))  # one that is killed may be there for a moment beside its successor
        before = now
        time.sleep(0.3)
        return all(sum(r["status"] == "succeeded" for r in runs(client, id)) == 2 for client, id in zip(clients, slow))
    until(done)
    assert max(seen) == 3


# ---- filters ----

def test_lists_by_several_events(mine):
    """An array filter like every other (spec 01 section 11): a comma list asks for all of them, OR: for any."""
    def made(name, *events):
        triggers = [{"type": "event", "events": [e]} for e in events]
        return mine.post(FLOWS, {"name": name, "source": "return {}", "triggers": triggers}, expect=201).data["id"]
    created, both, updated = made("a", "location.created"), made("b", "location.created", "location.updated"), made("c", "location.updated")

    def found(query):
        return sorted(mine.get(f"{FLOWS}?status=all&{query}").ids)
    assert found("event=location.created,location.updated") == found("event=AND:location.created,location.updated") == [both]
    assert found("event=OR:location.created,location.updated") == sorted([created, both, updated])
    assert found("event=location.created&event=location.updated") == [both]  # repeats are further conditions
    assert found("event[]=location.created&event[]=location.updated") == [both]
    assert found("event=!location.created") == [updated] and found("event=location.updated,!location.created") == [updated]
    assert found("event=!OR:location.created,location.updated") == []
    assert found("trigger_type=OR:manual,event") == sorted([created, both, updated]) and found("trigger_type=manual,event") == []
