"""Runs that are tried again, done again by hand, and what is kept of them (spec 08 sections 1, 5, 7 and 10), where no other file has it."""
import datetime
import re
import threading

import pytest
import requests

from receivers import until
from test_workflow_events import FLOWS, flow, over, runs
from test_workflow_runs import asked
from test_workflow_share import manual
from wharf import WAIT, Server, make_location

STICK = "return ('a'):rep(40000):find(('.-'):rep(8) .. 'b')"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,events,webhooks,workflows")
    yield s
    s.stop()


@pytest.fixture
def org(server):
    return server.organization()


@pytest.fixture
def mine(org):
    return org.client()


def waits(server, client, id, attempt):
    """The milliseconds until the next attempt, which is then made at once."""
    run, = until(lambda: [r for r in runs(client, id) if r["status"] == "waiting" and r["attempt"] == attempt])
    ms = server.sql("SELECT (extract(epoch FROM due_at - updated_at) * 1000)::integer FROM workflows.run WHERE id = %s", run["id"])[0][0]
    server.sql("UPDATE workflows.run SET due_at = wharf.now() WHERE id = %s", run["id"])
    server.sql("UPDATE wharf.job SET run_at = wharf.now() WHERE queue = 'workflows.work' AND state <> 'running'")
    return ms


@pytest.mark.parametrize("retry, told", [(None, [10_000, 60_000, 300_000]), ({"max": 4, "waits": [1, 2]}, [1000, 2000, 2000, 2000]), ({"max": 1}, [10_000])])
def test_when_they_are_tried_again(server, mine, retry, told):
    id = flow(mine, "error('never')", **({"retry": retry} if retry else {}))
    make_location(mine)
    assert [waits(server, mine, id, n + 1) for n in range(len(told))] == told
    run, = over(mine, id)
    assert (run["status"], run["attempt"]) == ("failed", len(told) + 1)
    assert [a["error"] for a in run["attempts"]] == [{"code": "workflow.failed", "message": "never"}] * (len(told) + 1) and all(a["started_at"] <= a["finished_at"] for a in run["attempts"])


def test_which_are_tried_again(mine):
    """Of the limits that of time alone; what authors fail themselves only when they say so."""
    slow = flow(mine, STICK, "slow", budget={"time_ms": 100}, retry={"max": 1, "waits": [0]})
    others = [flow(mine, body, f"other {i}", retry={"max": 1, "waits": [0]}) for i, body in enumerate((
        "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end", "for i = 1, 101 do wharf.emit('custom.a') end", "wharf.fail('no')", "wharf.reject('no')"))]
    make_location(mine)
    run, = over(mine, slow)
    assert (run["error"]["code"], run["attempt"]) == ("workflow.budget_time", 2)
    told = [(r["error"]["code"], r["attempt"]) for id in others for r in over(mine, id)]
    assert told == [("workflow.budget_memory", 1), ("workflow.budget_calls", 1), ("workflow.failed", 1), ("workflow.rejected", 1)]


def test_authors_say_when(server, mine):
    id = flow(mine, "if ctx.run.attempt == 1 then wharf.fail('soon', {retry = true, after_ms = 123456}) end return 1")
    make_location(mine)
    assert waits(server, mine, id, 1) == 123_456
    run, = over(mine, id)
    assert run["status"] == "succeeded"
    at = {m: datetime.datetime.fromisoformat(run[m]) for m in ("created_at", "started_at", "finished_at")}
    assert abs((at["started_at"] - at["created_at"]) / datetime.timedelta(milliseconds=1) - run["queued_ms"]) <= 2
    assert abs((at["finished_at"] - at["started_at"]) / datetime.timedelta(milliseconds=1) - run["duration_ms"]) <= 2


def test_nobody_waits_for_ever(server, mine):
    """More than a week is a week; what no calendar has would end the statement that tells how runs ended."""
    for n, ms in enumerate((604_800_001, 1 << 62)):
        id = flow(mine, f"if ctx.run.attempt == 1 then wharf.fail('later', {{retry = true, after_ms = {ms}}}) end return 1", f"long {n}")
        make_location(mine)
        assert waits(server, mine, id, 1) == 604_800_000
        assert [r["status"] for r in over(mine, id)] == ["succeeded"]
        mine.delete(f"/v1/workflows/{id}", expect=200)


def test_failures_are_counted(org, mine):
    """The first is told at once, those of a minute together with the next one; a workflow may listen to them, one deeper."""
    id = flow(mine, "error('no')", retry={"max": 0})
    told = "SELECT (data->>'count')::integer, depth FROM wharf.event WHERE type = 'workflow_run.failed' AND data->>'workflow_id' = %s ORDER BY id"
    for n in range(3):
        make_location(mine, f"L{n}")
        over(mine, id, n + 1)
    assert org.server.sql(told, id) == [(1, 1)]
    org.server.sql("UPDATE workflows.workflow SET failed_told_at = failed_told_at - interval '1 minute' WHERE id = %s", id)
    make_location(mine, "L4")
    over(mine, id, 4)
    assert org.server.sql(told, id) == [(1, 1), (3, 1)]
    assert runs(mine, id)[0]["status"] == "failed" and over(mine, id, 4)[0]["error"]["function"] == "on_event"


def test_what_ends_with_the_twentieth_failure(server, mine):
    """What waits, and what would have been due: nothing of a workflow that was disabled begins any more."""
    source = """return {on_schedule = function() end, on_event = function(ev) wharf.fail('no', {retry = ev.data.name == 'Late', after_ms = 3600000}) end}"""
    id = mine.post(FLOWS, {"name": "Failing", "source": source, "triggers": [{"type": "event", "events": ["location.created"]}, {"type": "schedule", "cron": "@yearly"}]}, expect=201).data["id"]
    mine.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    make_location(mine, "Late")
    until(lambda: [r["status"] for r in runs(mine, id)] == ["waiting"])
    planned = "SELECT count(*) FROM workflows.schedule WHERE workflow_id = %s"
    assert server.sql(planned, id) == [(1,)]
    server.sql("UPDATE workflows.workflow SET failure_streak = 19 WHERE id = %s", id)
    make_location(mine, "Now")
    until(lambda: not mine.get(f"{FLOWS}/{id}").data["enabled"])
    assert sorted(r["status"] for r in runs(mine, id)) == ["failed", "skipped"] and server.sql(planned, id) == [(0,)]


def test_how_long_they_sleep(mine):
    id = flow(mine, "wharf.sleep(10) return {select(2, pcall(wharf.sleep, 9991)), pcall(wharf.sleep, 10)}")
    make_location(mine)
    run, = over(mine, id)
    assert "10 seconds at most in all" in run["output"]["value"][0] and run["output"]["value"][1] is True


def test_what_is_done_again_is_the_same(org, mine):
    """Its cause, its place, its input; for whoever asks."""
    here = make_location(mine, "Here")["id"]
    starter = manual(mine, "wharf.api.post('/v1/locations/' .. input.id, {name = 'There'})", "Starter", scopes=["locations:write"])
    id = flow(mine, "if wharf.kv.incr('n') == 1 then error('no') end return {ctx.event_id, ctx.location_id, ctx.run.depth, ev.data.name}", events=["location.updated"], retry={"max": 0})
    asked(mine, starter, {"input": {"id": here}})
    first, = over(mine, id)
    key = mine.get("/v1/api-keys").data[0]
    again = mine.post(f"{FLOWS}/runs/{first['id']}/retry", {}, expect=202).data["id"]
    until(lambda: mine.get(f"{FLOWS}/runs/{again}").data["status"] == "succeeded")
    second = mine.get(f"{FLOWS}/runs/{again}").data
    for member in ("trigger", "event_id", "resource_id", "location_id", "depth", "input", "workflow_id", "version"):
        assert second[member] == first[member] and second[member] is not None, member
    assert second["output"]["value"] == [first["event_id"], here, 1, "There"] and first["depth"] == 1 and second["on_behalf_of"] == key["id"] and second["key"] == again != first["key"]


def test_what_can_not_be_done_again(org, mine):
    draft = mine.post(FLOWS, {"name": "Draft", "triggers": [{"type": "manual"}], "source": "return {on_run = function(input) error('no') end}"}, expect=201).data["id"]
    asked(mine, draft, {"version": "draft"}, 400)
    org.client("workflow:read").refused("POST", f"{FLOWS}/{draft}/run", 403, "scope_access", ["workflow:write"], body={"version": "draft"})
    mine.post(f"{FLOWS}/{draft}/publish", {}, expect=200)
    of_draft = runs(mine, draft)[0]["id"]
    mine.refused("POST", f"{FLOWS}/runs/{of_draft}/retry", 409, "workflow.not_published", body={})
    asked(mine, draft, {"input": {"text": "x" * 70000}}, 400)
    large = mine.get(f"{FLOWS}/{draft}/runs?version=1").data[0]["id"]
    kept = mine.get(f"{FLOWS}/runs/{large}").data
    assert kept["input"] is None and kept["input_truncated"] is True and kept["error"]["code"] == "workflow.failed"
    mine.refused("POST", f"{FLOWS}/runs/{large}/retry", 409, "workflow.run_not_failed", ["input"], body={})
    asked(mine, draft, {}, 400)
    small = next(r["id"] for r in mine.get(f"{FLOWS}/{draft}/runs?version=1").data if r["id"] != large)
    mine.post(f"{FLOWS}/{draft}", {"enabled": False}, expect=200)
    mine.refused("POST", f"{FLOWS}/runs/{small}/retry", 409, "workflow.disabled", body={})
    row = mine.get(f"{FLOWS}/{draft}").data
    assert row["failure_streak"] == 0  # callers got these answers


def test_runs_of_other_places_are_not_done_again(org, mine):
    here, there = (make_location(mine, n)["id"] for n in ("Here", "There"))
    id = flow(mine, "error('no')", events=["location.updated"], retry={"max": 0})
    for place in (here, there):
        mine.post(f"/v1/locations/{place}", {"name": "Changed"}, expect=200)
    ids = {r["location_id"]: r["id"] for r in over(mine, id, 2)}
    bound = org.client("workflow:write", locations=[here])
    bound.refused("POST", f"{FLOWS}/runs/{ids[there]}/retry", 403, "location_access", body={})
    assert bound.post(f"{FLOWS}/runs/{ids[here]}/retry", {}, expect=202).data["location_id"] == here


def test_only_what_has_a_manual_trigger_is_run_by_hand(mine):
    id = flow(mine, "return 1")
    mine.refused("POST", f"{FLOWS}/{id}/run", 400, "workflow.trigger_invalid", body={})
    off = manual(mine, "return 1", "Off")
    mine.post(f"{FLOWS}/{off}", {"triggers": [{"type": "manual", "enabled": False}]}, expect=200)
    mine.post(f"{FLOWS}/{off}/publish", {}, expect=200)
    mine.refused("POST", f"{FLOWS}/{off}/run", 400, "workflow.trigger_invalid", body={})


def test_skipped_and_rejected_ones_are_done_again(mine):
    id = flow(mine, "if wharf.kv.incr(ev.data.name) == 1 then wharf.reject('no', 'not yet') end return 1", retry={"max": 0})
    stuck = flow(mine, "error('no')", "stuck", retry={"max": 5, "waits": [3600]})
    make_location(mine, "A")
    rejected, = over(mine, id)
    again = mine.post(f"{FLOWS}/runs/{rejected['id']}/retry", {}, expect=202).data["id"]
    until(lambda: mine.get(f"{FLOWS}/runs/{again}").data["status"] == "succeeded")
    until(lambda: [r["status"] for r in runs(mine, stuck)] == ["waiting"])
    mine.post(f"{FLOWS}/{stuck}", {"enabled": False}, expect=200)
    mine.post(f"{FLOWS}/{stuck}", {"enabled": True}, expect=200)
    skipped, = over(mine, stuck)
    assert skipped["status"] == "skipped" and skipped["error"]["code"] == "workflow.disabled"
    assert mine.post(f"{FLOWS}/runs/{skipped['id']}/retry", {}, expect=202).data["status"] == "queued"


def test_what_somebody_asked_for_is_kept(mine):
    """Also where only errors are: the answer shows it."""
    id = manual(mine, "return 1", record={"runs": "errors"})
    run = asked(mine, id, {}).data["id"]
    assert mine.get(f"{FLOWS}/runs/{run}").data["status"] == "succeeded"


def test_names_without_letters(mine):
    """Places begin with the workflow's name as folders have it."""
    for name, folder in (("Größe & Maß", "gr-e-ma"), ("日本", "workflow"), ("A  b_c-d!", "a-b_c-d")):
        assert asked(mine, manual(mine, "error('no')", name), {}, 400).errors == [f"{folder}/main.lua:2: no"]


@pytest.mark.parametrize("opts, least, most", [("{}", 15, 30), ("{ttl_ms = 1000000000}", 100, 120)])
def test_how_long_a_lock_is_kept(server, mine, opts, least, most):
    id = manual(mine, f"return wharf.lock('kept', {opts}, function() while not wharf.kv.get('seen') do end return 'over' end)", budget={"time_ms": 60000})
    keeper = threading.Thread(target=lambda: mine.post(f"{FLOWS}/{id}/run", {"wait": False}, expect=202))
    keeper.start()
    keeper.join()
    left = until(lambda: server.sql("SELECT extract(epoch FROM expires_at - wharf.now())::integer FROM workflows.lock WHERE workflow_id = %s", id))
    server.sql("INSERT INTO workflows.kv (organization_id, workflow_id, key, value) SELECT organization_id, id, 'seen', 'true' FROM workflows.workflow WHERE id = %s", id)
    assert least <= left[0][0] <= most
    run, = over(mine, id)
    assert run["output"] == {"value": "over"}, run["error"]


def test_waiting_for_a_lock(server, org, mine):
    id = manual(mine, "local v, err = wharf.lock(input.name, {wait_ms = input.wait}, function() return 'mine' end) return v or err.code")
    server.sql("INSERT INTO workflows.lock VALUES (%s, %s, 'one', 'other', wharf.now() + interval '700 milliseconds')", org.id, id)
    assert [asked(mine, id, {"input": {"name": "one", "wait": wait}}).data["output"]["value"] for wait in (0, 9000)] == ["lock.busy", "mine"]
    assert "1 to 200 bytes" in asked(mine, id, {"input": {"name": "n" * 201}}, 400).message and asked(mine, id, {"input": {"name": "n" * 200}}).data["output"]["value"] == "mine"


def test_without_the_key_of_the_installation():
    """Secrets can be neither written nor read; everything else goes on."""
    def reload():
        s.command("reload")
        client.get(FLOWS)  # the connection that is kept alive ends with the next answer of the old worker
    s = Server("--modules", "org,workflows")
    try:
        client = s.organization().client()
        id = manual(client, "return input.ask and wharf.secret('A') or 'fine'", secrets={"A": "value"})
        file = s.folder / "master.key"
        key = file.read_text()
        file.write_text(s.command("secret", "key") + "\n")
        reload()
        client.refused("POST", f"{FLOWS}/{id}/secrets", 503, "secrets.unavailable", body={"key": "B", "value": "x"})
        client.refused("POST", f"{FLOWS}/{id}", 503, "secrets.unavailable", body={"secrets": {"B": "x"}})
        assert asked(client, id, {}).data["output"] == {"value": "fine"} and "secret.missing" in asked(client, id, {"input": {"ask": True}}, 400).message
        file.write_text(key)
        reload()
        assert asked(client, id, {"input": {"ask": True}}).data["output"] == {"value": "value"}
    finally:
        s.stop()


def test_a_missing_secret_is_named_and_not_asked_for_again(mine):
    """It would be missing the next time as well: no outage."""
    id = flow(mine, "return wharf.secret('ERP_TOKEN')")
    make_location(mine)
    run, = over(mine, id)
    assert (run["status"], run["attempt"]) == ("failed", 1) and run["error"]["message"] == "the workflow has no secret ERP_TOKEN (secret.missing)"


def test_each_attempt_tells_what_it_said_and_when_the_next_one_is(server, mine):
    id = flow(mine, "print('attempt', ctx.run.attempt) if ctx.run.attempt < 3 then error('not yet') end return 1")
    make_location(mine)
    for n in (1, 2):
        run, = until(lambda: [r for r in runs(mine, id) if r["status"] == "waiting" and r["attempt"] == n])  # noqa: B023
        assert abs(datetime.datetime.fromisoformat(run["next_attempt_at"]) - datetime.datetime.now(datetime.timezone.utc)) < datetime.timedelta(seconds=70)
        error = mine.get(f"{FLOWS}/runs/{run['id']}").data["error"]
        assert error["message"] == "not yet" and error["file"].endswith("main.lua") and error["line"] and error["snippet"]
        waits(server, mine, id, n)
    run, = over(mine, id)
    assert run["error"] is None
    assert run["status"] == "succeeded" and run["next_attempt_at"] is None and [line["message"] for line in run["logs"]] == ["attempt\t3"]
    assert [[line["message"] for line in a.get("logs", [])] for a in run["attempts"]] == [["attempt\t1"], ["attempt\t2"], []]


def test_runs_are_counted_by_trigger_and_result(server, mine):
    def counted():
        text = requests.get(server.admin + "/metrics", timeout=WAIT).text
        return {m[:2]: int(m[2]) for m in re.findall(r'^wharf_workflows_runs_total\{trigger="(\w+)",result="(\w+)"\} (\d+)$', text, re.M)}
    before = counted()
    id = flow(mine, "if ctx.run.attempt == 1 then error('no') end wharf.reject('x')", retry={"max": 1, "waits": [0]})
    by_hand = manual(mine, "if input.bad then error('bad') end", "By hand")
    make_location(mine)
    over(mine, id)
    asked(mine, by_hand, {})
    asked(mine, by_hand, {"input": {"bad": True}}, 400)
    wanted = {("event", "retried"): 1, ("event", "rejected"): 1, ("manual", "succeeded"): 1, ("manual", "failed"): 1}
    until(lambda: {k: n - before.get(k, 0) for k, n in counted().items() if n != before.get(k, 0)} == wanted)
