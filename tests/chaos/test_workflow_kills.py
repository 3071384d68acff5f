"""Runs of events and schedules on two servers with one database, while their job workers, processes of runs and PostgreSQL are killed: each run is
done, what it writes by the API is written once, and a time of a schedule starts one run.

The short form runs in ./test; the long one by hand: pytest tests/chaos/test_workflow_kills.py --long -s. Where a worker
died right after the database, some tries took as long as a lease of runs (a minute); so in the short form PostgreSQL dies last.
"""
import os
import pathlib
import random
import signal
import threading
import time

import requests

from test_chaos import WAIT, Server, address, postmaster, workers
from test_job_kills import HANG, rows

SETTINGS = ("--modules", "org,locations,events,webhooks,workflows", "--set", "rate_limit.key=0", "--set", "rate_limit.write=0")
COPY = """return {on_event = function(ev, ctx)
  wharf.kv.incr("tries")
  local d, e = wharf.api.post("/v1/locations", {name = "Copy of " .. ev.data.name, address = input_address})
  if e then wharf.fail(e.code, {retry = true, after_ms = 200}) end
  local _, e2 = wharf.api.post("/v1/locations/" .. d.id, {code = ev.data.name})
  if e2 then wharf.fail(e2.code, {retry = true, after_ms = 200}) end
  return d.id
end}"""


def cells(servers):
    found = []
    for s in servers:
        for pid in workers(s, "job"):
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    found += [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{thread}/children").read_text().split()]
            except OSError:  # it ended meanwhile
                pass
    return found


def kill(servers, rng, what):
    if what == "postgres":
        os.kill(postmaster(servers[0]), signal.SIGKILL)
        return True
    found = [pid for s in servers for pid in workers(s, "job")] if what == "worker" else cells(servers)
    if not found:
        return False
    try:
        os.kill(rng.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def publish(base, http, body):
    r = http.post(base + "/v1/workflows", json=body, timeout=WAIT)
    assert r.status_code == 201, r.text
    id = r.json()["data"]["id"]
    r = http.post(f"{base}/v1/workflows/{id}/publish", json={}, timeout=WAIT)
    assert r.status_code == 200, r.text
    return id


def change(servers, key, place, n, allowed, problems):
    """Each name is sent until it is acknowledged; the same name twice is no change, so there is one event per name. Not more than allowed(): each kill
    is to find some that are not done."""
    http = requests.Session()
    http.headers["SVC-API-KEY"] = key
    for i in range(n):
        while i >= allowed():
            time.sleep(0.01)
        while True:
            try:
                r = http.post(f"{servers[i % 2].base}/v1/locations/{place}", json={"name": f"N{i}"}, timeout=WAIT)
            except requests.RequestException:
                r = None
            if r is not None and r.status_code == 200:
                break
            if r is not None and r.status_code not in (503, 504):
                problems.append(r.text)
                return
            time.sleep(0.1)


def make_due(server, org):
    """Schedules of each minute are due for the one that began last, if they were not started for it: as if a server had published them before it."""
    return rows(server, """SELECT FROM workflows.schedule WHERE organization_id = %s FOR UPDATE;
        UPDATE workflows.schedule s SET next_at = date_trunc('minute', wharf.now()) WHERE organization_id = %s AND NOT EXISTS (SELECT FROM workflows.run r
            WHERE r.workflow_id = s.workflow_id AND (r.trigger ->> 'scheduled_at')::timestamptz = date_trunc('minute', wharf.now()));
        UPDATE wharf.job SET run_at = wharf.now() WHERE organization_id = %s AND queue = 'workflows.tick' AND state = 'delayed' RETURNING 1""", org, org, org)


def test_runs_under_kills(request):
    long = request.config.getoption("--long")
    changes, schedules, plan = (4000, 150, ["cell", "worker", "cell", "postgres"] * 8) if long else (150, 15, ["cell", "worker", "cell", "worker", "postgres"])
    rng = random.Random(8)
    first = Server(*SETTINGS)
    second = Server(*SETTINGS, beside=first)
    servers, problems, done = [first, second], [], []
    try:
        org = first.organization("Storm")
        http = requests.Session()
        http.headers["SVC-API-KEY"] = key = org.key()
        place = http.post(first.base + "/v1/locations", json={"name": "Begin", "address": address()}, timeout=WAIT).json()["data"]["id"]
        literal = "{" + ", ".join(f'{k} = "{v}"' for k, v in address().items()) + "}"
        id = publish(first.base, http, {"name": "Copy", "source": COPY.replace("input_address", literal), "scopes": ["locations:write"], "retry": {"max": 5, "waits": [1]},
                                        "triggers": [{"type": "event", "events": ["location.updated"], "filter": [{"path": "resource_id", "op": "eq", "value": place}]}],
                                        "concurrency": {"max": 8}})
        for i in range(schedules):
            publish(first.base, http, {"name": f"Tick {i}", "source": "return {on_schedule = function(t) return t.scheduled_at end}", "retry": {"max": 5, "waits": [1]},
                                       "triggers": [{"type": "schedule", "cron": "* * * * *", "overlap": "queue"}]})
        begun = time.monotonic()
        part = changes // (len(plan) + 2)
        writer = threading.Thread(target=change, args=(servers, key, place, changes, lambda: changes if done == plan else part * (len(done) + 2), problems), daemon=True)
        writer.start()
        due = False
        while True:
            assert time.monotonic() - begun < HANG, "runs are left"
            n = rows(first, "SELECT count(*) FROM workflows.run WHERE organization_id = %s AND workflow_id = %s AND status = 'succeeded'", org.id, id)
            if n and len(done) < len(plan) and n[0][0] >= part * (len(done) + 1):
                if plan[len(done)] == "postgres" and not due:
                    due = make_due(first, org.id) is not None
                if kill(servers, rng, plan[len(done)]):
                    done.append(plan[len(done)])
            left = rows(first, "SELECT count(*) FILTER (WHERE status NOT IN ('succeeded', 'failed')) FROM workflows.run WHERE organization_id = %s", org.id)
            ticked = rows(first, "SELECT count(DISTINCT workflow_id) FROM workflows.run WHERE organization_id = %s AND trigger_type = 'schedule'", org.id)
            if done == plan and n == [(changes,)] and left == [(0,)] and ticked == [(schedules,)] and not writer.is_alive():
                break
            failed = rows(first, "SELECT error, attempts FROM workflows.run WHERE organization_id = %s AND status = 'failed'", org.id)
            assert not problems and not failed, (problems, failed)
            time.sleep(0.05)
        seconds = time.monotonic() - begun
        assert due
        assert first.sql("SELECT count(*) FROM workflows.run WHERE organization_id = %s AND status <> 'succeeded'", org.id) == [(0,)]
        # an event starts one run
        assert first.sql("SELECT count(*), count(DISTINCT event_id) FROM workflows.run WHERE workflow_id = %s", id) == [(changes, changes)]
        names = [name for name, in first.sql("SELECT name FROM locations.location WHERE organization_id = %s AND name LIKE 'Copy of %%'", org.id)]
        assert sorted(names) == sorted(f"Copy of N{i}" for i in range(changes))
        second_writes = first.sql("SELECT count(*) FROM wharf.event WHERE organization_id = %s AND type = 'location.updated' AND resource_id <> %s", org.id, place)
        assert second_writes == [(changes,)]
        # at least once; how often more is told
        (tries,), = first.sql("SELECT value::text::int FROM workflows.kv WHERE workflow_id = %s AND key = 'tries'", id)
        assert tries >= changes
        twice = first.sql("""SELECT workflow_id, trigger ->> 'scheduled_at', count(*) FROM workflows.run WHERE organization_id = %s AND trigger_type = 'schedule'
            GROUP BY 1, 2 HAVING count(*) > 1""", org.id)
        assert twice == []
        print(f"\n{changes} event runs and {schedules} schedules on two servers in {seconds:.0f} s, {len(done)} kills ({', '.join(f'{done.count(k)} {k}' for k in sorted(set(done)))}):"
              f" each run done, {tries - changes} begun once more, each write once, each time of a schedule once")
    finally:
        second.stop()
        first.stop()
