"""Runs in the queue (spec 08 sections 3 and 7): started by events, retried, ordered, counted."""
import os
import signal

import pytest

from receivers import until
from test_workflow_runs import asked
from wharf import WAIT, make_location

FLOWS = "/v1/workflows"
END = ("succeeded", "failed", "rejected", "skipped", "canceled")


@pytest.fixture
def mine(fresh):
    """An organization of its own: its events start only what the test published."""
    return fresh.client()


def flow(client, body, name="Flow", events=("location.created",), expect=200, trigger=None, **more):
    """Publishes the body of on_event(ev, ctx)."""
    triggers = [{"type": "event", "events": list(events), **(trigger or {})}]
    row = client.post(FLOWS, {"name": name, "source": f"local M = {{}} function M.on_event(ev, ctx)\n{body}\nend return M", "triggers": triggers, **more}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=expect)
    return row["id"]


def runs(client, id, query=""):
    return client.get(f"{FLOWS}/{id}/runs?order_by=created_at&limit=100{query}").data


def over(client, id, n=1, seconds=WAIT):
    """The workflow's runs, oldest first, when n of them are over."""
    until(lambda: sum(r["status"] in END for r in runs(client, id)) >= n, seconds)
    return [client.get(f"{FLOWS}/runs/{r['id']}").data for r in sorted(runs(client, id), key=lambda r: (r["created_at"], r["id"]))]


def test_an_event_starts_a_run(fresh, mine):
    id = flow(mine, "wharf.log.info('got', {n = ev.data.name}) return {ev.type, ev.resource_id, ctx.event_id == ev.id, ctx.run.trigger.event_type}", scopes=["locations:read"])
    made = make_location(mine, "First")["id"]
    run, = over(mine, id)
    event = fresh.events(made)[0]
    assert run["status"] == "succeeded" and run["error"] is None and run["version"] == 1 and run["attempt"] == 1
    assert run["output"] == {"value": ["location.created", made, True, "location.created"]}
    assert run["trigger"] == {"type": "event", "name": None, "event_id": run["event_id"], "event_type": event[0], "resource": "location"}
    assert run["input"]["value"]["data"]["name"] == "First" and run["resource_id"] == made and run["depth"] == 0
    assert run["logs"][0]["message"] == "got" and run["usage"]["memory_peak"] > 0 and run["queued_ms"] >= 0
    assert [a["error"] for a in run["attempts"]] == [None] and run["started_at"] <= run["finished_at"]
    assert [r["id"] for r in runs(mine, id, f"&event_id={run['event_id']}&trigger_type=event")] == [run["id"]]
    assert runs(mine, id, "&resource_id=loc_none") == []
    row = mine.get(f"{FLOWS}/{id}").data
    assert row["last_run"]["id"] == run["id"] and row["last_run"]["status"] == "succeeded" and row["failure_streak"] == 0


def test_what_happened_before_it_was_published(fresh, mine):
    """Spec 08 section 3: also where the event is processed later."""
    with fresh.server.events_wait(fresh):
        make_location(mine, "Before")
        id = flow(mine, "return ev.data.name")
        make_location(mine, "After")
    run, = over(mine, id)
    assert run["output"]["value"] == "After"


def test_which_events(mine):
    here = make_location(mine, "Here")["id"]
    wide = flow(mine, "return ev.type", "wide", events=["location.*"])
    narrow = flow(mine, "return 1", "narrow", events=["location.updated"], trigger={"filter": [{"path": "data.name", "op": "eq", "value": "Wanted"}]})
    off = flow(mine, "return 1", "off", events=["*"], trigger={"enabled": False})
    placed = flow(mine, "return 1", "placed", events=["*"], allowed_locations=[here])
    other = make_location(mine, "There")["id"]
    for name in ("Unwanted", "Wanted"):
        mine.post(f"/v1/locations/{other}", {"name": name}, expect=200)
    # a turn of the processor makes several runs in the same millisecond, and what has no order_key runs beside each other
    assert sorted(r["output"]["value"] for r in over(mine, wide, 3)) == ["location.created", "location.updated", "location.updated"]
    assert len(over(mine, narrow)) == 1 and runs(mine, off) == []
    assert all(r["location_id"] == here for r in runs(mine, placed))
    mine.post(f"{FLOWS}/{wide}", {"enabled": False}, expect=200)
    mine.post(f"/v1/locations/{other}", {"name": "Wanted"}, expect=200)
    mine.post(f"/v1/locations/{other}", {"name": "Wanted again"}, expect=200)
    mine.post(f"/v1/locations/{other}", {"name": "Wanted"}, expect=200)
    over(mine, narrow, 2)
    assert len(runs(mine, wide)) == 3


@pytest.mark.parametrize("trigger, code", [
    ({"events": ["nothing.happened"]}, "webhook.event_unknown"), ({}, "workflow.trigger_invalid"), ({"events": []}, "workflow.trigger_invalid"),
    ({"events": ["*"], "filter": [{"path": "data", "op": "like"}]}, "webhook.filter_invalid"), ({"events": ["*"], "more": 1}, "workflow.trigger_invalid"),
    ({"events": ["*"], "self": "yes"}, "workflow.trigger_invalid")])
def test_triggers_that_can_not_be(client, trigger, code):
    r = client.refused("POST", FLOWS, 400, code, body={"name": "Bad", "source": "return {}", "triggers": [{"type": "event", **trigger}]})
    assert r.errors[0].startswith("triggers.0")


def test_a_handler_is_needed(client):
    client.refused("POST", FLOWS + "/check", 400, "workflow.trigger_invalid",
                   body={"source": "return {on_run = print}", "triggers": [{"type": "event", "events": ["*"]}]})


def test_a_store_that_is_away(fresh, mine):
    """It is no fault of the script, which can not even catch it: the run is tried again."""
    id = flow(mine, "pcall(wharf.kv.incr, 'n') return wharf.kv.get('n')", retry={"max": 5, "waits": [1]})
    fresh.server.sql("ALTER TABLE workflows.kv RENAME TO kv_away")
    try:
        make_location(mine, "Away")
        until(lambda: [r["status"] for r in runs(mine, id)] == ["waiting"])
    finally:
        fresh.server.sql("ALTER TABLE workflows.kv_away RENAME TO kv")
    run, = over(mine, id)
    assert run["status"] == "succeeded" and run["output"] == {"value": 1}
    assert run["attempts"][0]["error"] == {"code": "overloaded", "message": "the store can't be reached at the moment"}


def test_writes_once_and_not_its_own(fresh, mine):
    """What a run writes carries its name; it does not start its own workflow, but others, up to a depth."""
    first = flow(mine, """local d, err = wharf.api.post('/v1/locations/' .. ev.resource_id, {metadata = {by = ctx.run.key}})
if ctx.run.attempt == 1 then error('once more') end
return err and err.code or d.metadata.by""", "first", scopes=["locations:write"], events=["location.created", "location.updated"], retry={"max": 2, "waits": [0]})
    second = flow(mine, "return ctx.run.depth", "second", events=["location.updated"])
    made = make_location(mine, "Once")["id"]
    run, = over(mine, first)
    assert run["status"] == "succeeded" and run["attempt"] == 2 and run["output"]["value"] == run["key"]
    assert [a["error"] and a["error"]["message"] for a in run["attempts"]] == ["once more", None]
    follower, = over(mine, second)
    assert follower["output"]["value"] == 1 and follower["depth"] == 1
    assert [e[0] for e in fresh.events(made)] == ["location.created", "location.updated"]  # the second attempt's write was the first one's


def test_depth(mine):
    """Two workflows that start each other end at the fifth."""
    touch = "wharf.api.post('/v1/locations/' .. ev.resource_id, {metadata = {n = ctx.run.id}}) return ctx.run.depth"
    ids = [flow(mine, touch, name, scopes=["locations:write"], events=["location.updated"]) for name in ("ping", "pong")]
    made = make_location(mine, "Ball")["id"]
    mine.post(f"/v1/locations/{made}", {"name": "Thrown"}, expect=200)
    until(lambda: sum(r["status"] == "skipped" for id in ids for r in runs(mine, id)) == 2)
    until(lambda: all(r["status"] in END for id in ids for r in runs(mine, id)))
    depths = sorted(r["depth"] for id in ids for r in runs(mine, id))
    skipped = [mine.get(f"{FLOWS}/runs/{r['id']}").data for id in ids for r in runs(mine, id) if r["status"] == "skipped"]
    assert depths == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [s["error"]["code"] for s in skipped] == ["workflow.depth_exceeded"] * 2 and [s["depth"] for s in skipped] == [5, 5]


def test_how_they_fail(fresh, mine):
    """Errors are tried again, what will not change is not; failures are told once a minute."""
    raised = flow(mine, "error({code = 'no.luck', message = 'never'})", "raised", retry={"max": 1, "waits": [0]})
    spent = flow(mine, "while true do end", "spent")
    refused = flow(mine, "wharf.reject('no', 'not this one')", "refused")
    given_up = flow(mine, "wharf.fail('no more', {retry = false})", "given up")
    later = flow(mine, "if ctx.run.attempt == 1 then wharf.fail('later', {retry = true, after_ms = 0}) end return 'now'", "later")
    made = make_location(mine, "Trouble")["id"]
    ends = {id: over(mine, id)[0] for id in (raised, spent, refused, given_up, later)}
    assert {id: (r["status"], r["attempt"]) for id, r in ends.items()} == {
        raised: ("failed", 2), spent: ("failed", 1), refused: ("rejected", 1), given_up: ("failed", 1), later: ("succeeded", 2)}
    assert ends[raised]["error"]["custom"] == "no.luck" and ends[spent]["error"]["code"] == "workflow.budget_instructions"
    assert mine.get(f"{FLOWS}/{raised}").data["failure_streak"] == 1
    mine.post(f"/v1/locations/{made}", {"name": "More trouble"}, expect=200)
    make_location(mine, "Trouble again")
    over(mine, raised, 2)
    assert mine.get(f"{FLOWS}/{raised}").data["failure_streak"] == 2
    told = fresh.told("data->>'workflow_id', data->>'count'", "type = 'workflow_run.failed' AND data->>'workflow_id' = %s", raised)
    assert [tuple(t) for t in told] == [(raised, "1")]


def test_too_many_failures_disable(fresh, mine):
    id = flow(mine, "error('always')", retry={"max": 0})
    for i in range(20):
        make_location(mine, f"L{i}")
    until(lambda: not mine.get(f"{FLOWS}/{id}").data["enabled"])
    row = mine.get(f"{FLOWS}/{id}").data
    assert row["disabled_reason"] == "failures" and row["failure_streak"] >= 20
    assert len(fresh.told("id", "type = 'workflow.disabled' AND resource_id = %s", id)) == 1
    row = mine.post(f"{FLOWS}/{id}", {"enabled": True}, expect=200).data
    assert row["disabled_reason"] is None and row["failure_streak"] == 0


def test_order(mine):
    """With key resource the runs of one resource go one after another, a retry holds back those behind it."""
    body = "local n = wharf.kv.incr('n') wharf.kv.set(('%04d'):format(n), ev.data.name) if ev.data.name == 'B' and ctx.run.attempt == 1 then error('again') end"
    id = flow(mine, body, events=["location.updated"], concurrency={"key": "resource", "max": 4}, retry={"max": 1, "waits": [1]})
    one, two = (make_location(mine, n)["id"] for n in ("one", "two"))
    for name in "ABCDE":
        mine.post(f"/v1/locations/{one}", {"name": name}, expect=200)
        mine.post(f"/v1/locations/{two}", {"name": "x" + name}, expect=200)
    assert [r["status"] for r in over(mine, id, 10)] == ["succeeded"] * 10
    seen = [v["value"] for v in mine.get(f"{FLOWS}/{id}/kv?limit=100").data if v["key"] != "n"]
    assert [s for s in seen if not s.startswith("x")] == ["A", "B", "B", "C", "D", "E"]
    assert [s for s in seen if s.startswith("x")] == ["xA", "xB", "xC", "xD", "xE"]


def test_what_waits_ends_with_its_workflow(mine):
    ids = [flow(mine, "error('later')", name, retry={"max": 5, "waits": [3600]}) for name in ("deleted", "disabled")]
    make_location(mine, "Waits")
    for id in ids:
        until(lambda: [r["status"] for r in runs(mine, id)] == ["waiting"])
    kept = [runs(mine, id)[0]["id"] for id in ids]
    mine.delete(f"{FLOWS}/{ids[0]}", expect=200)
    mine.post(f"{FLOWS}/{ids[1]}", {"enabled": False}, expect=200)
    assert mine.get(f"{FLOWS}/runs/{kept[0]}").data["status"] == "canceled"
    assert mine.get(f"{FLOWS}/runs/{kept[1]}").data["status"] == "skipped"


def test_only_errors_are_kept(mine):
    id = flow(mine, "if ev.data.name == 'Bad' then error('bad') end", record={"runs": "errors"}, retry={"max": 0})
    for name in ("Good", "Bad", "Fine"):
        make_location(mine, name)
    until(lambda: [r["status"] for r in runs(mine, id)] == ["failed"])


def test_nobody_waits_for_a_slow_run(mine):
    """What was claimed behind a run that takes long is given back, and done by others."""
    id = flow(mine, "if ev.data.name == 'Slow' then for i = 1, 3e6 do local x = {} end end return ev.data.name")
    names = ["Slow", "A", "B", "C", "D", "E"] * 3
    for name in names:
        make_location(mine, name)
    assert sorted(r["output"]["value"] for r in over(mine, id, len(names))) == sorted(names)
    assert all(r["attempt"] == 1 for r in runs(mine, id))


def test_cancel_and_again(org, mine):
    id = flow(mine, "if ev.data.name == 'Endless' then return ('a'):rep(40000):find(('.-'):rep(8) .. 'b') end error(ev.data.name)", retry={"max": 1, "waits": [3600]},
              concurrency={"key": "workflow"})
    for name in ("Endless", "Second"):
        make_location(mine, name)
    until(lambda: sorted(r["status"] for r in runs(mine, id)) == ["queued", "running"])
    first, second = (next(r["id"] for r in runs(mine, id) if r["status"] == s) for s in ("running", "queued"))
    mine.post(f"{FLOWS}/runs/{first}/cancel", {}, expect=202)
    until(lambda: mine.get(f"{FLOWS}/runs/{first}").data["status"] == "canceled")
    until(lambda: mine.get(f"{FLOWS}/runs/{second}").data["status"] == "waiting")
    assert mine.post(f"{FLOWS}/runs/{second}/cancel", {}, expect=202).data["status"] == "canceled"
    mine.refused("POST", f"{FLOWS}/runs/{second}/cancel", 409, "workflow.run_final", body={})
    source = "return {on_event = function(ev) return ev.data.name end}"
    mine.post(f"{FLOWS}/{id}", {"source": source}, expect=200)
    mine.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    again = mine.post(f"{FLOWS}/runs/{second}/retry", {}, expect=202).data
    assert again["status"] == "queued" and again["id"] != second
    until(lambda: mine.get(f"{FLOWS}/runs/{again['id']}").data["status"] == "succeeded")
    done = mine.get(f"{FLOWS}/runs/{again['id']}").data
    assert done["output"]["value"] == "Second" and done["version"] == 2 and done["event_id"] == mine.get(f"{FLOWS}/runs/{second}").data["event_id"]
    same = mine.post(f"{FLOWS}/runs/{second}/retry", {"version": "same"}, expect=202).data["id"]
    until(lambda: mine.get(f"{FLOWS}/runs/{same}").data["status"] == "waiting")
    assert mine.get(f"{FLOWS}/runs/{same}").data["version"] == 1
    mine.refused("POST", f"{FLOWS}/runs/{again['id']}/retry", 409, "workflow.run_not_failed", body={})
    org.client("workflow:read").refused("POST", f"{FLOWS}/runs/{second}/retry", 403, "scope_access", body={})


def test_again_reaches_no_further(org, client, location):
    """A manual run has its caller's locations; who reaches some can't have the publisher's by doing it again."""
    here, there = location["id"], make_location(client, "There")["id"]
    row = client.post(FLOWS, {"name": "By hand", "triggers": [{"type": "manual"}], "source": "return {on_run = function() error('no') end}"}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    asked(client, row["id"], {"location_id": there}, 400)
    id = runs(client, row["id"])[0]["id"]
    org.client("workflow:write", locations=[here]).refused("POST", f"{FLOWS}/runs/{id}/retry", 403, "location_access", body={})
    assert client.post(f"{FLOWS}/runs/{id}/retry", {}, expect=202).data["trigger"] == {"type": "manual"}
    client.delete(f"{FLOWS}/{row['id']}")


def test_old_runs_end(fresh, mine):
    id = flow(mine, "return 1")
    for name in ("One", "Two"):
        make_location(mine, name)
    old, young = over(mine, id, 2)
    fresh.server.sql("UPDATE workflows.run SET created_at = created_at - interval '31 days' WHERE id = %s RETURNING 1", old["id"])
    assert fresh.server.sql("SELECT workflows.expire(100)") == [(1,)]
    assert [r["id"] for r in runs(mine, id)] == [young["id"]]


def stored(fresh, id):
    return fresh.server.sql("SELECT count(*) FROM workflows.kv WHERE workflow_id = %s", id)[0][0]


def test_the_store_goes_with_its_workflow(fresh, mine):
    row = mine.post(FLOWS, {"name": "Store", "triggers": [{"type": "manual"}], "retry": {"max": 0}, "source": """return {on_run = function(input)
  wharf.kv.set("a", 1) wharf.kv.set("b", ("x"):rep(1000))
  if input.sleep then wharf.sleep(2000) end
  return wharf.kv.incr("a")
end}"""}, expect=201).data["id"]
    mine.post(f"{FLOWS}/{row}/publish", {}, expect=200)
    other = flow(mine, "wharf.kv.set('a', 1)", "Other")
    make_location(mine, "X")
    over(mine, other)
    asked(mine, row, {"input": {}})
    fresh.server.sql("INSERT INTO workflows.lock VALUES (%s, %s, 'one', 'dead', wharf.now() + interval '1 hour')", fresh.id, row)
    assert stored(fresh, row) == 2
    mine.delete(f"{FLOWS}/{row}")
    assert stored(fresh, row) == 0 and fresh.server.sql("SELECT count(*) FROM workflows.lock WHERE workflow_id = %s", row) == [(0,)]
    assert stored(fresh, other) == 1


def test_a_run_that_is_not_over_keeps_its_store(fresh, mine):
    row = mine.post(FLOWS, {"name": "Late", "triggers": [{"type": "manual"}], "source": """return {on_run = function(input)
  wharf.kv.set("a", 1) wharf.sleep(2000) return wharf.kv.incr("a")
end}"""}, expect=201).data["id"]
    mine.post(f"{FLOWS}/{row}/publish", {}, expect=200)
    run = mine.post(f"{FLOWS}/{row}/run", {"wait": False}, expect=202).data["id"]
    until(lambda: stored(fresh, row) == 1)
    mine.delete(f"{FLOWS}/{row}")
    fresh.server.sql("SELECT workflows.expire(100)")
    assert stored(fresh, row) == 1
    until(lambda: mine.get(f"{FLOWS}/runs/{run}").data["status"] == "succeeded")
    assert mine.get(f"{FLOWS}/runs/{run}").data["output"] == {"value": 2}
    while fresh.server.sql("SELECT workflows.expire(1)") != [(0,)]:
        pass
    assert stored(fresh, row) == 0


def test_a_result_that_is_too_large_is_not_tried_again(fresh, mine):
    id = flow(mine, "wharf.kv.incr('n') return ('x'):rep(64 * 1024)", retry={"max": 3, "waits": [0]})
    make_location(mine, "Large")
    run, = over(mine, id)
    assert run["status"] == "failed" and len(run["attempts"]) == 1 and run["error"]["code"] == "workflow.failed" and "the result is larger than 65536 bytes" in run["error"]["message"]
    assert mine.get(f"{FLOWS}/{id}/kv/n").data["value"] == 1
    fine = flow(mine, "return ('x'):rep(64 * 1024 - 20)", "Fine")
    make_location(mine, "Small")
    assert over(mine, fine)[0]["status"] == "succeeded"


def test_a_run_is_its_workers_for_a_minute(fresh, mine):
    """Who runs it says again and again that it goes on; once it is somebody else's, what is said of it counts for nothing."""
    id = flow(mine, "if ctx.run.attempt == 1 and ev.data.name == 'Long' then wharf.sleep(9000) end return ctx.run.attempt")
    make_location(mine, "Long")
    (run,) = until(lambda: runs(mine, id, "&status=running"))
    lease = "SELECT lease_until - wharf.now() > interval '30 seconds' FROM workflows.run WHERE id = %s"
    assert fresh.server.sql(lease, run["id"]) == [(True,)]
    assert fresh.server.sql("UPDATE workflows.run SET lease_until = wharf.now() + interval '5 seconds' WHERE id = %s AND status = 'running' RETURNING id", run["id"])
    until(lambda: fresh.server.sql(lease, run["id"]) == [(True,)])
    # as the sweep does when the minute is over
    fresh.server.sql("UPDATE workflows.run SET status = 'waiting', worker = NULL, lease_until = NULL, due_at = wharf.now() WHERE id = %s", run["id"])
    make_location(mine, "Short")
    done = {r["id"]: r for r in over(mine, id, 2)}[run["id"]]
    assert done["status"] == "succeeded" and done["attempt"] == 2 and done["output"] == {"value": 2} and len(done["attempts"]) == 1


def test_a_killed_worker_loses_nothing(fresh, mine):
    """Each run is done, and what it writes is written once."""
    place = make_location(mine, "Ledger")["id"]
    id = flow(mine, f"""local t = {{}} for i = 1, 2e5 do t[i % 10] = i end
local d, err = wharf.api.post('/v1/locations', {{name = 'Copy of ' .. ev.data.name, address = '1 Main St, Springfield, IL 62701, US'}})
return err and err.code or d.id""", events=["location.updated"], scopes=["locations:write"])
    for i in range(12):
        mine.post(f"/v1/locations/{place}", {"name": f"N{i}"}, expect=200)
        if i in (4, 9):
            until(lambda: any(r["status"] == "running" for r in runs(mine, id)) or len([r for r in runs(mine, id) if r["status"] == "succeeded"]) == i + 1)
            (worker,) = until(lambda: fresh.server.workers("job"))  # the last one may have no successor yet
            os.kill(worker, signal.SIGKILL)
    done = over(mine, id, 12)
    assert [r["status"] for r in done] == ["succeeded"] * 12
    copies = [r["name"] for r in mine.get("/v1/locations?search=Copy of&limit=100").data]
    assert sorted(copies) == sorted(f"Copy of N{i}" for i in range(12))


def test_lists_by_events(mine):
    wide, narrow = flow(mine, "return 1", "wide", events=["location.*", "workflow.created"]), flow(mine, "return 1", "narrow", events=["location.created"])
    assert mine.get(f"{FLOWS}?event=location.created").ids == [narrow] and mine.get(f"{FLOWS}?event=location.*").ids == [wide]
    assert mine.get(f"{FLOWS}?event=workflow.created").ids == [wide]  # several types: test_workflow_rules.py


def test_what_is_kept_of_runs(fresh, mine):
    """Thirty days, and no more than 10,000 of a workflow; what is not over stays."""
    sql = fresh.server.sql
    old, many = flow(mine, "return 1", "old"), flow(mine, "return 1", "many")

    def add(workflow, n, status, days):
        sql("INSERT INTO workflows.run (organization_id, id, workflow_id, trigger, trigger_type, status, key, attempt, depth, seed, input_truncated, output_truncated, logs,"
            " created_at, updated_at, due_at) SELECT %s, 'wkf_run_' || %s || i, %s, '{}', 'event', %s, 'k', 1, 0, '1', false, false, '[]', wharf.now() - %s * interval '1 day' -"
            " i * interval '1 millisecond', wharf.now(), 'infinity' FROM generate_series(1, %s) i", fresh.id, f"{status}{days}", workflow, status, days, n)
    add(old, 2, "succeeded", 29)
    add(old, 3, "failed", 31)
    add(old, 1, "waiting", 32)
    add(many, 10007, "succeeded", 1)
    while sql("SELECT workflows.expire(1000)") != [(0,)]:
        pass
    kept = dict(sql("SELECT workflow_id || ' ' || status, count(*) FROM workflows.run WHERE organization_id = %s GROUP BY 1", fresh.id))
    assert kept == {f"{old} succeeded": 2, f"{old} waiting": 1, f"{many} succeeded": 10000}


def test_how_long_runs_took(mine):
    id = flow(mine, "if ev.data.name == 'Slow' then wharf.sleep(300) end return 1", "timed")
    for name in ("Fast", "Slow"):
        make_location(mine, name)
    slow = max(over(mine, id, 2), key=lambda r: r["duration_ms"])
    assert [r["id"] for r in runs(mine, id, "&duration_ms[gte]=300")] == [slow["id"]]
    assert [r["id"] for r in mine.get(f"{FLOWS}/{id}/runs?order_by=duration_ms&direction=desc").data][0] == slow["id"]
