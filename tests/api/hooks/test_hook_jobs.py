"""Jobs of operators' hooks that wait while the folder changes (docs/reference/lua-hooks.md): they call the hook that they were asked for, or none."""
import pytest

from hook_folder import hooks, lines, place, system, until  # noqa: F401  (fixtures among them)
from wharf import Server

FIRST = {
    "after": ("contact.create", "wharf.hook.after('contact', 'create', function(c) %s end)"),
    "event": ("contact.created", "wharf.hook.on_event('contact.created', function() %s end)"),
}
OTHERS = {
    "after": "wharf.hook.after('contact', 'update', function() wharf.kv.incr('other') end)\nwharf.hook.after('location', 'create', function() wharf.kv.incr('other') end)\n",
    "event": "wharf.hook.on_event('contact.updated', function() wharf.kv.incr('other') end)\nwharf.hook.on_event('location.created', function() wharf.kv.incr('other') end)\n",
}


@pytest.fixture(scope="module")
def server(place):
    s = Server("--modules", "org,locations,contacts,events", "--set", f"lua_hooks.dir={place}", "--set", "workers=1")
    yield s
    s.stop()


def jobs(server, org, what="state"):
    return [v for v, in server.sql(f"SELECT {what} FROM wharf.job WHERE queue = 'wharf.lua_hook' AND organization_id = %s", org.id)]


def stored(server, org):
    return dict(server.sql("SELECT key, value::text FROM wharf.hook_kv WHERE organization_id = %s", org.id))


def waiting(hooks, server, text):
    """An organization one of whose jobs waits for another try of the hook."""
    org = server.organization()
    hooks.load({"10-a.lua": text % "wharf.kv.incr('tries') error('not yet')"})
    org.client().post("/v1/contacts", {"name": "One"}, expect=201)
    until(lambda: stored(server, org).get("tries") == "1" and jobs(server, org) == ["delayed"], "no job waits")
    return org


def again(server, org):
    server.sql("UPDATE wharf.job SET run_at = now() WHERE queue = 'wharf.lua_hook' AND organization_id = %s", org.id)
    until(lambda: not jobs(server, org), "the job stays")


@pytest.mark.parametrize("kind", ["after", "event"])
def test_a_hook_that_moved_is_called(hooks, server, kind):
    text = FIRST[kind][1]
    org = waiting(hooks, server, text)
    hooks.load({"10-a.lua": OTHERS[kind] + text % "wharf.kv.incr('mended')" + "\n" + text % "wharf.kv.incr('second')"})
    again(server, org)
    assert stored(server, org) == {"tries": "1", "mended": "1"}


@pytest.mark.parametrize("kind", ["after", "event"])
def test_a_hook_that_is_gone_is_no_other(hooks, server, kind):
    org = waiting(hooks, server, FIRST[kind][1])
    before = len(lines(server, "lua.hook_gone"))
    hooks.load({"10-a.lua": OTHERS[kind], "20-b.lua": FIRST[kind][1] % "wharf.kv.incr('other')"})
    again(server, org)
    until(lambda: len(lines(server, "lua.hook_gone")) > before, "nothing is told of what is gone")
    told = lines(server, "lua.hook_gone")[-1]
    assert "10-a.lua#1" in told and ("after contact create" if kind == "after" else "event contact.created") in told and "dropped" in told
    assert stored(server, org) == {"tries": "1"}


@pytest.mark.parametrize("kind", ["after", "event"])
def test_jobs_of_older_servers(hooks, server, kind):
    """They know the place in the file only: it is called there, if it is of their kind."""
    text = FIRST[kind][1]
    org = waiting(hooks, server, text)
    server.sql("UPDATE wharf.job SET args = (args::jsonb - 'mark')::json WHERE queue = 'wharf.lua_hook' AND organization_id = %s", org.id)
    hooks.load({"10-a.lua": text % "wharf.kv.incr('mended')"})
    again(server, org)
    assert stored(server, org) == {"tries": "1", "mended": "1"}
    org = waiting(hooks, server, text)
    server.sql("UPDATE wharf.job SET args = (args::jsonb - 'mark')::json WHERE queue = 'wharf.lua_hook' AND organization_id = %s", org.id)
    hooks.load({"10-a.lua": "wharf.hook.before('contact', 'create', function() wharf.kv.incr('other') end)\n"})
    again(server, org)
    assert stored(server, org) == {"tries": "1"}


def plan(server):
    begun, = server.sql("SELECT wharf.now()")
    server.sql("UPDATE wharf.job_schedule SET next_at = wharf.now() WHERE queue = 'wharf.lua_schedules'")
    until(lambda: server.sql("SELECT 1 FROM wharf.job_schedule WHERE queue = 'wharf.lua_schedules' AND next_at > %s + interval '1 second'", begun[0]) and
          not server.sql("SELECT 1 FROM wharf.job WHERE queue = 'wharf.lua_schedules'"), "it is not planned")


def test_schedules_that_moved(hooks, server):
    """Each due time is planned once, whatever the file registers before the hook; a tick is told to no other schedule."""
    org = server.organization()
    mine = "wharf.hook.schedule('* * * * *', function(tick) wharf.kv.set(tick.scheduled_at, wharf.kv.incr('mine')) end)\n"
    hooks.load({"10-s.lua": mine})
    plan(server)
    until(lambda: len(jobs(server, org)) >= 2, "it is not planned")
    planned = jobs(server, org)
    hooks.load({"10-s.lua": "wharf.hook.schedule('*/1 * * * *', function(tick) wharf.kv.incr('other') end, { timezone = 'Asia/Tokyo' })\n" + mine})
    plan(server)
    until(lambda: jobs(server, org, "args ->> 'hook'").count("10-s.lua#1") > len(planned), "what is new is not planned")
    server.sql("DELETE FROM wharf.job WHERE queue = 'wharf.lua_hook' AND organization_id = %s AND NOT args ->> 'mark' LIKE '%%schedule * * * * *#1'", org.id)
    again(server, org)
    told = stored(server, org)
    assert "other" not in told and told.pop("mine") == str(len(told)) and len(told) >= 2


def test_plans_of_older_servers(hooks, server):
    """What they planned under the hook's name is not planned again."""
    org = server.organization()
    hooks.load({})
    server.sql("DELETE FROM wharf.hook_plan")
    server.sql("DELETE FROM wharf.job WHERE queue = 'wharf.lua_hook'")
    server.sql("INSERT INTO wharf.hook_plan VALUES ('10-s.lua#1', wharf.now() + interval '1 hour')")
    hooks.load({"10-s.lua": "wharf.hook.schedule('* * * * *', function() end)\n"})
    plan(server)
    until(lambda: server.sql("SELECT 1 FROM wharf.hook_plan WHERE hook LIKE '10-s.lua schedule%%'"), "it is not planned")
    assert not jobs(server, org)
