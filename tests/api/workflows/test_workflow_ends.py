"""How runs end, what may be done with them then, and what their workflows' counters and stores say (spec 08 sections 1, 5 and 7), where no other file has it."""
import time

import pytest

from receivers import until
from test_workflow_events import FLOWS, flow, over, runs
from test_workflow_hooks import ADDRESS, BEFORE, anew, hook
from test_workflow_runs import asked
from test_workflow_share import manual
from wharf import Server, ask_until, make_location


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,events,webhooks,workflows")
    yield s
    s.stop()


@pytest.fixture
def mine(server):
    return server.organization().client()


def located(client, name):
    """A write that finds no process for its hook within 50 ms is refused, and may be made again."""
    return ask_until(lambda: client.request("POST", "/v1/locations", {"name": name, "address": ADDRESS}), lambda r: r.status != 503)


def test_a_judged_write_is_not_judged_again(mine):
    """Its input was a write that is over, and nothing of `after` is for it."""
    id = hook(mine, "wharf.kv.set(ctx.run.trigger.phase, 1) error('no')", BEFORE, {**BEFORE, "action": "update", "phase": "after"}, retry={"max": 0})
    assert located(anew(mine), "A").code == "workflow.hook_failed"
    run, = runs(mine, id)
    assert (run["status"], run["trigger"]["phase"]) == ("failed", "before")
    mine.refused("POST", f"{FLOWS}/runs/{run['id']}/retry", 409, "workflow.run_not_failed", body={})
    assert len(runs(mine, id)) == 1 and mine.get(f"{FLOWS}/{id}/kv").data == []


def test_a_run_without_input_is_done_again_without(mine):
    id = manual(mine, "if wharf.kv.incr('n') == 1 then error('no') end return {type(input), next(input) == nil}")
    asked(mine, id, {}, 400)
    first, = runs(mine, id)
    assert mine.get(f"{FLOWS}/runs/{first['id']}").data["input"] == {"value": {}}
    again = mine.post(f"{FLOWS}/runs/{first['id']}/retry", {}, expect=202).data["id"]
    until(lambda: mine.get(f"{FLOWS}/runs/{again}").data["status"] == "succeeded")
    assert mine.get(f"{FLOWS}/runs/{again}").data["output"]["value"] == ["table", True]


@pytest.mark.parametrize("retry, more", [({"max": 3, "waits": [0]}, {}), ({"max": 3, "waits": [3600]}, {"concurrency": {"key": "workflow"}})])
def test_a_cancel_that_comes_late(mine, retry, more):
    """The attempt ends before the run hears of it: there is no other one, and the next of its line runs."""
    id = flow(mine, """if ev.data.name ~= 'First' then return 1 end
assert(wharf.api.post('/v1/workflows/runs/' .. ctx.run.id .. '/cancel', {})) error('on its own')""", scopes=["workflow:write"], retry=retry, **more)
    make_location(mine, "First")
    make_location(mine, "Second")
    first, second = sorted(over(mine, id, 2), key=lambda r: r["status"])  # both may be of the same moment
    assert (first["status"], first["attempt"], first["error"]["code"]) == ("canceled", 1, "workflow.canceled") and first["finished_at"]
    assert [a["error"]["message"] for a in first["attempts"]] == ["on its own"] and second["status"] == "succeeded"
    mine.refused("POST", f"{FLOWS}/runs/{first['id']}/cancel", 409, "workflow.run_final", body={})


def test_a_cancelled_run_is_not_begun_again(server, mine):
    """Its worker died, or gave it back: the cancel is still in its row."""
    id = flow(mine, "error('no')", retry={"max": 3, "waits": [3600]})
    make_location(mine)
    until(lambda: [r["status"] for r in runs(mine, id)] == ["waiting"])
    server.sql("UPDATE workflows.run SET cancel = true, due_at = wharf.now() WHERE workflow_id = %s", id)
    make_location(mine, "Next")  # who claims its run finds the other one
    until(lambda: sorted(r["status"] for r in runs(mine, id)) == ["canceled", "waiting"])
    assert [r["attempt"] for r in runs(mine, id)] == [1, 1]


def test_who_is_enabled_begins_anew(server, mine):
    """Fifty failing before hooks disable it; what failed before that does not count behind it."""
    id = hook(mine, "error('no')", on_error="ignore")
    assert located(anew(mine), "A").status == 201
    server.sql("UPDATE workflows.workflow SET hook_failed_at = array_fill(wharf.now()::timestamptz(3), ARRAY[49]) WHERE id = %s", id)
    assert located(mine, "B").status == 201
    assert mine.get(f"{FLOWS}/{id}").data["enabled"] is False
    mine.post(f"{FLOWS}/{id}", {"enabled": True}, expect=200)
    assert located(anew(mine), "C").status == 201
    assert len(runs(mine, id)) == 3 and mine.get(f"{FLOWS}/{id}").data["enabled"] is True
    assert server.sql("SELECT hook_failures FROM workflows.workflow WHERE id = %s", id) == [(1,)]


def test_which_have_a_draft(mine):
    source = "return {on_run = print}"
    never, same, changed = (mine.post(FLOWS, {"name": n, "source": source, "triggers": [{"type": "manual"}]}, expect=201).data["id"] for n in ("never", "same", "changed"))
    for id in (same, changed):
        mine.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    mine.post(f"{FLOWS}/{changed}", {"source": source + " -- more"}, expect=200)
    assert set(mine.get(FLOWS + "?status=draft").ids) == {never, changed} == {w["id"] for w in mine.get(FLOWS + "/sync?status=draft").data["workflows"]}
    assert set(mine.get(FLOWS + "?status=published").ids) == {same, changed} and len(mine.get(FLOWS + "?status=all").ids) == 3
    mine.refused("GET", FLOWS + "?status=any", 400, "param.invalid")


def test_times_and_numbers_of_the_store(server, mine):
    id = manual(mine, """local kv, out = wharf.kv, {}
kv.set('half', 1, {ttl = 1.5}) kv.set('long', 1, {ttl = 1e9}) kv.incr('n', 1, {ttl = 0.5}) kv.set('gone', 1, {ttl = -0.5})
for i, fn in ipairs {function() kv.set('x', 1, {ttl = 1e18}) end, function() kv.set('x', 1, {ttl = math.maxinteger}) end, function() kv.set('x', 1, {ttl = 'soon'}) end,
    function() kv.incr('x', 1, {ttl = -1e300}) end} do
  out[i] = select(2, pcall(fn))
end
kv.set('big', math.maxinteger - 1) out.most = kv.incr('big') == math.maxinteger
out.past = select(2, pcall(kv.incr, 'big')) out.least = kv.incr('big', math.mininteger) out.kept = kv.get('big')
kv.set('text', 'x') out.text = select(2, pcall(kv.incr, 'text')) out.gone = kv.get('gone') == nil and kv.get('x') == nil
return {many = {out[1], out[2], out[3], out[4]}, most = out.most, past = out.past, least = out.least, kept = out.kept, text = out.text, gone = out.gone}""")
    out = asked(mine, id, {}).data["output"]["value"]
    assert all("ttl is a number of seconds, at most those of 100 years (param.invalid)" in m for m in out["many"])
    assert out["most"] is True and "64 bits (param.invalid)" in out["past"] and out["least"] == out["kept"] == -1 and "kv.not_a_number" in out["text"] and out["gone"] is True
    left = dict(server.sql("SELECT key, round(extract(epoch FROM expires_at - wharf.now())) FROM workflows.kv WHERE workflow_id = %s AND expires_at IS NOT NULL", id))
    assert left["half"] <= 2 and left["n"] <= 1 and left["long"] > 9e8
