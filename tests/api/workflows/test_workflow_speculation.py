"""A write and its before hooks at the same time: the server guesses that they let it go as it is. Nothing of a wrong guess may be seen (docs/decisions 305)."""
import pytest

from hook_folder import hooks, lines, place, system  # noqa: F401  (fixtures among them)
from test_workflow_events import runs
from test_workflow_hooks import ADDRESS, BEFORE, anew, hook
from wharf import Server, make_location


@pytest.fixture(scope="module")
def server(place):
    s = Server("--set", f"lua_hooks.dir={place}", "--set", "workflows.budgets.before.time_ms=5000")  # the machine may be slow
    yield s
    s.stop()


UPDATE, DELETE = {**BEFORE, "action": "update"}, {**BEFORE, "action": "delete"}


@pytest.fixture
def mine(fresh):
    return fresh.client()


def test_what_a_hook_reads_is_not_written_yet(mine, fresh):
    """Whatever it asks for is as it was before the write, and it is asked for once."""
    hook(mine, """local named = wharf.api.list('/v1/locations', {search = change.new and change.new.name or 'none'})
local n = 0
for _ in named do n = n + 1 end
if change.action == 'create' and n > 0 then wharf.reject('there', 'There is one already') end
if change.action ~= 'create' then
  local now = wharf.api.get('/v1/locations/' .. change.old.id)
  if not now or now.name ~= change.old.name then wharf.reject('early', 'The row is written already') end
end
local times = wharf.kv.incr('times')
if change.input then change.input.metadata = {times = times} end""", BEFORE, UPDATE, DELETE, scopes=["locations:read"])
    client = anew(mine)
    row = make_location(client, "One")
    assert row["metadata"] == {"times": 1}
    for i in range(2, 5):
        row = client.post(f"/v1/locations/{row['id']}", {"name": f"Name{i}"}, expect=200).data
        assert row["metadata"] == {"times": i}
    client.delete(f"/v1/locations/{row['id']}", expect=200)
    told = fresh.server.sql("SELECT action, count(*) FROM wharf.change_log WHERE resource_id = %s GROUP BY 1", row["id"])
    assert dict(told) == {"created": 1, "updated": 3, "deleted": 1}


def test_nothing_is_let_go_for_what_is_not_written(mine):
    """A hook that would agree if it saw the row as it is to be never sees it so, and is run once."""
    row = make_location(mine, "One")
    seen = "local now = wharf.api.get('/v1/locations/' .. change.old.id) if now and now.name == change.new.name then return end wharf.reject('early', now.name)"
    id = hook(mine, seen, UPDATE, scopes=["locations:read"])
    r = anew(mine).refused("POST", f"/v1/locations/{row['id']}", 400, "workflow.rejected", body={"name": "Two"})
    assert r.message == "One" and [run["status"] for run in runs(mine, id)] == ["rejected"]


def test_a_rejected_write_was_never_made(mine, fresh):
    id = hook(mine, "wharf.log.info('asked') wharf.reject('no', 'No')", UPDATE, DELETE)
    row = make_location(mine, "One")
    client = anew(mine)
    for n in range(1, 4):
        client.refused("POST", f"/v1/locations/{row['id']}", 400, "workflow.rejected", body={"name": f"Two{n}"})
        client.refused("DELETE", f"/v1/locations/{row['id']}", 400, "workflow.rejected")
        assert client.get(f"/v1/locations/{row['id']}").data == row
        found = [mine.get(f"/v1/workflows/{id}/runs/{r['id']}").data for r in runs(mine, id)]
        assert len(found) == 2 * n and all(r["status"] == "rejected" and [line["message"] for line in r["logs"]] == ["asked"] for r in found)
    assert fresh.server.sql("SELECT count(*) FROM wharf.change_log WHERE resource_id = %s", row["id"]) == [(1,)]


def test_hooks_come_before_other_reasons(mine):
    """A write that would fail for two reasons fails for the hook's, as if they had been asked one after the other."""
    make_location(mine, "One", code="A1")
    two = make_location(mine, "Two", code="B2")
    hook(mine, "if change.input.name == 'Bad' then wharf.reject('bad', 'No') end", BEFORE, UPDATE)
    client = anew(mine)
    for body in ({"name": "Bad", "code": "A1"}, {"name": "Bad", "address": ADDRESS, "code": "A1"}):
        client.refused("POST", f"/v1/locations/{two['id']}", 400, "workflow.rejected", body=body)
        client.refused("POST", "/v1/locations", 400, "workflow.rejected", body={"address": ADDRESS, **body})
    r = client.refused("POST", f"/v1/locations/{two['id']}", 409, "location.exists", body={"code": "A1"})
    assert r.errors == ["code"]
    client.refused("POST", "/v1/locations", 409, "location.exists", body={"name": "Three", "address": ADDRESS, "code": "A1"})
    assert client.get(f"/v1/locations/{two['id']}").data == two


def test_a_failed_write_leaves_one_run(mine):
    """The write's own failure is behind the hook: with a secret, which is read from the database while the row's statement is on its way."""
    make_location(mine, "One", code="A1")
    id = hook(mine, "if wharf.secret('WORD') ~= 'x' or change.input.name == 'Bad' then wharf.reject('bad', 'No') end", BEFORE, secrets={"WORD": "x"})
    client = anew(mine)
    for _ in range(2):
        client.refused("POST", "/v1/locations", 409, "location.exists", body={"name": "Two", "address": ADDRESS, "code": "A1"})
        client.refused("POST", "/v1/locations", 400, "workflow.rejected", body={"name": "Bad", "address": ADDRESS, "code": "A1"})
    assert [r["status"] for r in runs(mine, id)] == ["rejected"] * 2
    make_location(client, "Three")


def test_what_did_not_change_is_judged_too(mine):
    row = make_location(mine, "One")
    hook(mine, "if change.old.metadata.seen then wharf.reject('no', 'No') end change.input.metadata = {seen = true}", UPDATE)
    client = anew(mine)
    assert client.post(f"/v1/locations/{row['id']}", {"name": "One"}, expect=200).data["metadata"] == {"seen": True}
    client.refused("POST", f"/v1/locations/{row['id']}", 400, "workflow.rejected", body={"name": "One"})


def test_operators_hooks_are_asked_once(hooks, mine, server):
    """What they count and say is said once, also where a hook behind them asks for something."""
    hooks.load({"10-say.lua": 'wharf.hook.before("location", "update", function(change) wharf.log.info("asked for " .. change.input.name) end)'})
    row = make_location(mine, "One")
    hook(mine, "wharf.api.get('/v1/locations/' .. change.old.id)", UPDATE, scopes=["locations:read"])
    anew(mine).post(f"/v1/locations/{row['id']}", {"name": "Two"}, expect=200)
    assert [line for line in lines(server, "lua.log") if line.endswith("asked for Two")] == ["10-say.lua:1: asked for Two"]
    hooks.load({})
