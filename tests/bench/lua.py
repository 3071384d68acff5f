#!/usr/bin/python3
"""What a workflow costs. Prints figures; asserts nothing.

  tests/bench/lua.py [--seconds N] [--hooks]     BUILD names the build folder

0. a run in a cell that waits, without HTTP and database (build/tests/bench/lua_cell).
1. a run alone: POST /v1/workflows/:id/run of a trivial workflow and of one that reads a location, one after the other; the time inside of the cell.
2. at once: the same from 1, 2, 4 and 8 callers; how many found no process within 50 ms.
3. beside hostile runs: reads of a location while 8 callers start runs that never end by themselves.
4. event runs: N events whose runs wait, then are let go; how many runs are done and recorded per second, and the CPU of each process meanwhile. With hostile
   runs of one organization in the queue (1,000, that end at their limit): when the runs of another one start, and what its clients wait before and meanwhile.
5. operators' hooks: updates of a contact without hooks, with a hook for another resource, and with a before hook of three comparisons; one caller, the three
   kinds in turns, so that the machine's moods meet all. Then the same with a before hook of a workflow. --hooks: nothing else.
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import requests

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "api"))
from jobs import cpu_seconds  # noqa: E402
from others import Others, one_by_one, tell  # noqa: E402
from wharf import BUILD, Client, Server, make_location  # noqa: E402

FLOWS = "/v1/workflows"


def quantiles(values):
    v = sorted(values)
    return f"p50 {1000 * statistics.median(v):.2f} ms, p99 {1000 * v[int(len(v) * 0.99)]:.2f} ms, most {1000 * v[-1]:.2f} ms"


def publish(client, name, body, **more):
    row = client.post(FLOWS, {"name": name, "source": f"return {{on_run = function(input, ctx) {body} end}}", "triggers": [{"type": "manual"}], **more}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    return row["id"]


def callers(server, key, n, seconds, path, body):
    """Times of good answers, and how many were refused."""
    times, refused, end = [], [], time.monotonic() + seconds

    def one():
        client = Client(server, key)
        while time.monotonic() < end:
            t = time.monotonic()
            r = client.request("POST" if body is not None else "GET", path, body, check=False)
            (times if r.status == 200 else refused).append(time.monotonic() - t)
    threads = [threading.Thread(target=one) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return times, len(refused)


OTHER = "wharf.hook.before('location', 'create', function(change) end)"
THREE = """wharf.hook.before("contact", "update", function(change, ctx)
  if change.input.name == "" or change.new.name == "nobody" or change.old.version == 0 then wharf.reject("no", "No") end
end)"""


def at(values, q):
    return sorted(values)[int(len(values) * q)]


def together(rounds):
    return [ms for r in rounds for ms in r]


def added(times, to, by):
    """What kind `to` takes longer than kind `by`, p50 and p99: of all writes together, and the median over the rounds, which a few loud ones do not move."""
    whole = [1000 * (at(together(times[to]), q) - at(together(times[by]), q)) for q in (0.5, 0.99)]
    rounds = [statistics.median(1000 * (at(a, q) - at(b, q)) for a, b in zip(times[to], times[by])) for q in (0.5, 0.99)]
    return f"p50 {whole[0]:.0f} us, p99 {whole[1]:.0f} us; median of {len(times[to])} rounds: p50 {rounds[0]:.0f} us, p99 {rounds[1]:.0f} us"


def operators_hooks(seconds):
    """The first round of all three does not count: then each worker's connections have prepared what they ask."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-hooks-"))
    os.chmod(folder, 0o755)
    server = Server("--modules", "org,locations,contacts", "--set", f"lua_hooks.dir={folder}")
    try:
        org = server.organization()
        key = re.search(r"wh_live_[0-9A-Za-z]{38}", server.command("key", "create", "--org", org.id, "--scopes", "all", "--system")).group(0)
        client = Client(server, key)
        id = client.post("/v1/contacts", {"name": "A"}, expect=201).data["id"]
        times = {"none": [], "other": [], "three": []}
        with tempfile.TemporaryDirectory() as scripts:
            for nth in range(-1, max(3, int(seconds))):
                kinds = [("none", ""), ("other", OTHER), ("three", THREE)]
                for kind, text in kinds[nth % 3:] + kinds[:nth % 3]:
                    (folder / "10-rule.lua").write_text(text)
                    told = client.post("/v1/system/lua-hooks/reload", {}, expect=200).data
                    for i in range(20):
                        client.post(f"/v1/contacts/{id}", {"name": f"W{i}"}, expect=200)
                    found = one_by_one(server, key, "/v1/contacts", "name", id, pathlib.Path(scripts))
                    if nth >= 0:
                        times[kind].append(found)
                    if kind == "three":
                        h = client.get("/v1/system/lua-hooks").data["hooks"][0]
        for kind, rounds in times.items():
            v = together(rounds)
            print(f"update of a contact, hooks: {kind}: {len(v)} writes, {quantiles([ms / 1000 for ms in v])}")
        print(f"added by three comparisons: {added(times, 'three', 'none')}")
        print(f"by a hook for another resource: {added(times, 'other', 'none')}")
        print(f"in Lua, as counted by the server (upper ends of powers of two): p50 {h['p50_ms']} ms, p99 {h['p99_ms']} ms of {h['calls']} calls; errors {h['errors']}, {told['generation']} generations")
    finally:
        server.end()
        shutil.rmtree(folder)


def tenants_hooks(seconds):
    """The same three comparisons in a workflow, in its process. Two organizations, one with the hook: each round asks for both, in either order. The first rounds do not
    count: then each worker's connections have prepared what they ask."""
    server = Server("--modules", "org,locations,contacts,workflows")
    try:
        keys, ids, times, cpu = {}, {}, {False: [], True: []}, {False: 0, True: 0}
        for on in times:
            org = server.organization()
            client, keys[on] = org.client(), org.key()
            ids[on] = client.post("/v1/contacts", {"name": "A"}, expect=201).data["id"]
            if on:
                flow = client.post(FLOWS, {"name": "Rule", "triggers": [{"type": "hook", "resource": "contact", "action": "update", "phase": "before"}], "source": """return {before = function(change)
  if change.input.name == "" or change.new.name == "nobody" or change.old.version == 0 then wharf.reject("no", "No") end end}"""}, expect=201).data["id"]
                client.post(f"{FLOWS}/{flow}/publish", {}, expect=200)
        rounds = max(3, int(seconds))
        with tempfile.TemporaryDirectory() as scripts:
            for i in range(-5, rounds):
                for on in (False, True) if i % 2 else (True, False):
                    before = cpu_seconds(server.process.pid)
                    got = one_by_one(server, keys[on], "/v1/contacts", "name", ids[on], pathlib.Path(scripts))
                    if i >= 0:
                        times[on].append(got)
                        cpu[on] += cpu_seconds(server.process.pid) - before
        spent = {}
        for on, v in times.items():
            v = together(v)
            spent[on] = cpu[on] / len(v) * 1e6
            print(f"update of a contact, {'a before hook of a workflow' if on else 'none'}: {len(v)} writes, {quantiles([ms / 1000 for ms in v])}, {spent[on]:.0f} us of CPU, database included")
        print(f"added: {added(times, True, False)}; {spent[True] - spent[False]:.0f} us of CPU")
        calls = {at: int(n) for at, n in re.findall(r'^wharf_workflows_hook_duration_seconds_bucket{result="passed",le="([^"]+)"} (\d+)$', requests.get(server.admin + "/metrics", timeout=10).text, re.M)}
        print(f"of {calls['+Inf']} calls of the hook, as counted by the server, the first ones of each worker too, {100 * calls['0.001'] / calls['+Inf']:.2f} % took at most 1 ms")
    finally:
        server.end()


# One of each kind that no count of instructions ends, or not before its time.
HOSTILE = """local kinds = {
  function() return ('a'):rep(40000):find(('.-'):rep(8) .. 'b') end,
  function() return string.rep('', 1 << 62) end,
  function() table.sort(setmetatable({}, {__len = function() return 1 << 30 end, __index = rawlen, __newindex = rawequal})) end,
  function() table.move(setmetatable({}, {__index = rawlen}), 1, 1 << 60, 1, setmetatable({}, {__newindex = rawequal})) end,
  function() while true do xpcall(error, function() while true do end end) end end,
  function() while true do coroutine.wrap(function() coroutine.yield() end)() end end,
  function() local c <close> = setmetatable({}, {__close = function() while true do end end}) while true do end end,
  function() local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end end,
}
return kinds[ctx.run.seed % #kinds + 1]()"""


def listen(client, name, body):
    row = client.post(FLOWS, {"name": name, "source": f"return {{on_event = function(ev, ctx) {body} end}}", "triggers": [{"type": "event", "events": ["location.updated"]}],
                              "concurrency": {"max": 50}}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    return row["id"]


def copies(server, id, n):
    """n runs like the one that waits, due at once: what the step of the event processor writes."""
    server.sql("""INSERT INTO workflows.run (organization_id, id, workflow_id, trigger, trigger_type, status, key, attempt, depth, seed, input, input_truncated,
        output_truncated, logs, created_at, updated_at, line, due_at, event_id, resource_id)
        SELECT organization_id, id || '_' || k, workflow_id, trigger, trigger_type, 'queued', key || '_' || k, 0, depth, seed, input, false, false, '[]', wharf.now(),
        wharf.now(), nextval('workflows.line'), wharf.now(), event_id, resource_id FROM workflows.run, generate_series(1, %s) k WHERE workflow_id = %s
        AND status = 'succeeded'""", n, id)


def wait(server, sql, *args, seconds=120):
    end = time.monotonic() + seconds
    while not server.sql(sql, *args)[0][0]:
        if time.monotonic() > end:
            raise SystemExit("it did not come to that")
        time.sleep(0.01)


def event_runs(server, n):
    org = server.organization()
    client = org.client()
    place = make_location(client)["id"]
    id = listen(client, "trivial", "return 1")
    client.post(f"/v1/locations/{place}", {"name": "One"}, expect=200)
    wait(server, "SELECT count(*) = 1 FROM workflows.run WHERE workflow_id = %s AND status = 'succeeded'", id)
    copies(server, id, n)
    client.post(f"/v1/locations/{place}", {"name": "Two"}, expect=200)
    began, before = time.monotonic(), cpu_seconds(server.process.pid)
    # by the indexes of the queue: the question must not cost what is measured
    wait(server, "SET enable_seqscan = off; SELECT NOT EXISTS (SELECT FROM workflows.run WHERE organization_id = %s AND workflow_id = %s AND status IN ('queued', 'waiting'))"
                 " AND NOT EXISTS (SELECT FROM workflows.run WHERE organization_id = %s AND workflow_id = %s AND status = 'running')", org.id, id, org.id, id)
    took, cpu = time.monotonic() - began, cpu_seconds(server.process.pid) - before
    by, = server.sql("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms), count(*) FROM workflows.run WHERE workflow_id = %s", id)
    print(f"event runs, trivial: {n / took:.0f} recorded runs/s ({n} in {took:.1f} s), p50 of a run {by[0]} ms, {cpu / n * 1e6:.0f} us of CPU each, database included")


def fairness(server, n, seconds):
    """Clients of one organization beside n hostile runs of another; each of their updates starts a run too."""
    bad, org = server.organization().client(), server.organization()
    key, good = org.key(), org.client()
    place, places = make_location(bad)["id"], [make_location(good)["id"] for _ in range(8)]
    kind = listen(good, "kind", "return 1")
    with tempfile.TemporaryDirectory() as folder:
        others = Others(server, key, "/v1/locations", "name", places, pathlib.Path(folder))
        others.ask(2)
        idle = others.ask(seconds)
        hostile = listen(bad, "hostile", HOSTILE)
        for i in range(n):
            bad.post(f"/v1/locations/{place}", {"name": f"H {i}"}, expect=200)
        wait(server, "SELECT count(*) > 0 FROM workflows.run WHERE workflow_id = %s AND status = 'running'", hostile)
        before, = server.sql("SELECT wharf.now(), count(*) FROM workflows.run WHERE workflow_id = %s AND status IN ('queued', 'running')", hostile)
        busy = others.ask(seconds)
        after, = server.sql("SELECT wharf.now(), count(*) FROM workflows.run WHERE workflow_id = %s AND status IN ('queued', 'running')", hostile)
    started = [q / 1000 for q, in server.sql("SELECT queued_ms FROM workflows.run WHERE workflow_id = %s AND status = 'succeeded' AND created_at BETWEEN %s AND %s",
                                             kind, before[0], after[0])]
    print(f"beside {before[1]} to {after[1]} hostile event runs of another organization: {len(started)} runs start after {quantiles(started)}")
    tell(idle, busy)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--hooks", action="store_true")
    args = parser.parse_args()
    seconds = args.seconds
    subprocess.run([BUILD / "tests" / "bench" / "lua_cell"], env={**os.environ, "BUILD": str(BUILD)}, check=True)
    operators_hooks(seconds)
    tenants_hooks(seconds)
    if args.hooks:
        return
    server = Server("--modules", "org,locations,events,webhooks,workflows")
    try:
        for _ in range(3):
            event_runs(server, 15000)
        fairness(server, 1000, max(10, int(seconds)))
        org = server.organization()
        key = org.key()
        client = Client(server, key)
        place = make_location(client)["id"]
        trivial = publish(client, "trivial", "return 1")
        reading = publish(client, "reading", "return wharf.api.get('/v1/locations/' .. input.id).name", scopes=["locations:read"])
        endless = publish(client, "endless", "return ('a'):rep(40000):find(('.-'):rep(8) .. 'b')")
        for name, id in (("trivial", trivial), ("reading", reading)):
            times, refused = callers(server, key, 1, seconds, f"{FLOWS}/{id}/run", {"input": {"id": place}})
            print(f"{name}, one caller: {len(times) / seconds:.0f} runs/s, {quantiles(times)}; refused {refused}")
        inside = server.sql("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms), avg((usage->>'cpu_ms')::float) FROM workflows.run WHERE workflow_id = %s", trivial)
        print(f"trivial, as recorded: duration p50 {inside[0][0]} ms, CPU inside of the cell {inside[0][1]:.3f} ms on average")
        for n in (2, 4, 8):
            times, refused = callers(server, key, n, seconds, f"{FLOWS}/{trivial}/run", {})
            print(f"trivial, {n} callers: {len(times) / seconds:.0f} runs/s, {quantiles(times)}; refused {refused}")
        idle, _ = callers(server, key, 1, seconds, f"/v1/locations/{place}", None)
        print(f"reads, idle: {quantiles(idle)}")
        storm = threading.Thread(target=callers, args=(server, key, 8, seconds, f"{FLOWS}/{endless}/run", {}))
        storm.start()
        busy, _ = callers(server, key, 1, seconds, f"/v1/locations/{place}", None)
        print(f"reads beside endless runs: {quantiles(busy)}")
        storm.join()
    finally:
        server.end()


main()
