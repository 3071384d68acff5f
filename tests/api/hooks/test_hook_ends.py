"""How operators' hooks end (spec 08 section 9, docs/reference/lua-hooks.md): which are tried again and when, what is told of those that are gone, hooks of a plugin."""
import os
import pathlib
import shutil
import tempfile

import pytest

from hook_folder import HOOKS, hooks, lines, place, system, system_of, until  # noqa: F401  (fixtures among them)
from test_hook_library import server  # noqa: F401  (the fixture: its settings)
from wharf import BUILD, Server, make_location


def settled(server, org):
    """The failed tries and the wait of each job of hooks that is left when all of them have run."""
    def jobs():
        return server.sql("SELECT state, attempts, extract(epoch FROM run_at - created_at) FROM wharf.job WHERE queue = 'wharf.lua_hook' AND organization_id = %s", org.id)
    until(lambda: all(state == "delayed" and n for state, n, _ in jobs()), "they do not end")
    return [(n, wait) for _, n, wait in jobs()]


@pytest.mark.parametrize("ends, final", [
    ("while true do end", True), ("local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end", True),
    ("for i = 1, 101 do wharf.emit('custom.a', {}) end", True), ("for i = 1, 101 do wharf.http.get('https://127.0.0.1/') end", True),
    ("for i = 1, 1001 do wharf.api.get('/v1/me') end", True), ("wharf.fail('no')", True), ("wharf.fail('no', { retry = false })", True), ("wharf.reject('no', 'No')", True),
    ("while true do wharf.sleep(5) end", False), ("error('no')", False), ("wharf.fail('later', { retry = true })", False)])
@pytest.mark.parametrize("kind", ["after", "event"])
def test_which_hooks_are_tried_again(hooks, server, kind, ends, final):
    """As runs of workflows: of the limits that of time alone; what authors fail themselves only when they say so."""
    org = server.organization()
    where = "after('contact', 'create', " if kind == "after" else "on_event('contact.created', "
    more = ", { timeout_ms = 100 }" if "sleep" in ends else ""
    hooks.load({"10-a.lua": f"wharf.hook.{where}function() wharf.kv.incr('called') {ends} end{more})"})
    org.client().post("/v1/contacts", {"name": "One"}, expect=201)
    until(lambda: server.sql("SELECT 1 FROM wharf.hook_kv WHERE organization_id = %s AND key = 'called'", org.id), "it is not called")
    assert [n for n, _ in settled(server, org)] == ([] if final else [1])
    server.sql("DELETE FROM wharf.job WHERE queue = 'wharf.lua_hook' AND organization_id = %s", org.id)


def test_hooks_say_when_they_are_tried_again(hooks, server):
    org = server.organization()
    hooks.load({"10-a.lua": """
wharf.hook.after("contact", "create", function(c)
  if wharf.kv.incr(c.new.name) < 4 then wharf.fail("later", { retry = true, after_ms = math.tointeger(c.new.name) }) end
end)"""})
    org.client().post("/v1/contacts", {"name": "0"}, expect=201)
    until(lambda: server.sql("SELECT 1 FROM wharf.hook_kv WHERE organization_id = %s AND key = '0' AND value::text = '4'", org.id), "it waits")
    assert settled(server, org) == []
    for ms, seconds in ((123_456, 123.456), (1 << 62, 604_800)):  # a week at most
        org.client().post("/v1/contacts", {"name": str(ms)}, expect=201)
        until(lambda: server.sql("SELECT 1 FROM wharf.hook_kv WHERE organization_id = %s AND key = %s", org.id, str(ms)), "it is not called")
        (n, wait), = settled(server, org)
        assert n == 1 and seconds <= wait < seconds + 3600
        server.sql("DELETE FROM wharf.job WHERE queue = 'wharf.lua_hook' AND organization_id = %s", org.id)


def test_ends_of_hooks_that_nobody_waits_for(hooks, client, server, org):
    """One that refuses is over; one that is to be tried again and is not there any more is told; changes of a row come in order."""
    def jobs():
        return server.sql("SELECT state FROM wharf.job WHERE queue = 'wharf.lua_hook' AND organization_id = %s", org.id)
    hooks.load({"10-a.lua": "wharf.hook.after('contact', 'create', function(c) wharf.kv.incr('refused') wharf.reject('no', 'No') end)"})
    client.post("/v1/contacts", {"name": "One"}, expect=201)
    until(lambda: server.sql("SELECT 1 FROM wharf.hook_kv WHERE organization_id = %s AND key = 'refused'", org.id) and not jobs(), "it is tried again")
    hooks.load({"10-a.lua": "wharf.hook.after('contact', 'create', function(c) wharf.kv.incr('failed') error('no') end)"})
    client.post("/v1/contacts", {"name": "Two"}, expect=201)
    until(lambda: server.sql("SELECT 1 FROM wharf.hook_kv WHERE organization_id = %s AND key = 'failed'", org.id), "it is not called")
    hooks.load({})
    until(lambda: [s for s, in jobs()] == ["delayed"], "it does not wait")
    server.sql("UPDATE wharf.job SET run_at = now() WHERE queue = 'wharf.lua_hook'")
    until(lambda: not jobs() and any("10-a.lua#1" in m for m in lines(server, "lua.hook_gone")), "nothing is told of what is gone")
    hooks.load({"10-a.lua": """
wharf.hook.after("location", "update", function(c)
  if c.new.name == "Slow" then wharf.sleep(700) end
  wharf.kv.set("after " .. c.new.name, wharf.kv.incr("turn"))
end)
wharf.hook.route("GET", "/v1/x/turns", { scope = "any", location = "none" }, function() return wharf.kv.list("after ") end)"""})
    id = make_location(client, name="Begin")["id"]
    for name in ("Slow", "Then"):
        client.post(f"/v1/locations/{id}", {"name": name}, expect=200)
    until(lambda: len(client.get("/v1/x/turns").data) == 2, "the hooks did not run")
    assert [e["value"] for e in client.get("/v1/x/turns").data] == [1, 2]


def test_hooks_of_a_plugin(place):
    """They stand beside its file, run behind the operator's, and are watched as those are."""
    plugins = pathlib.Path(tempfile.mkdtemp(prefix="wharf-plugins-", dir=os.environ.get("WHARF_TEST_PLACE")))
    os.chmod(plugins, 0o755)
    shutil.copy(f"{BUILD}/tests/plugins/filterbench.so", plugins)
    own = plugins / "filterbench.hooks"
    (own / "lib").mkdir(parents=True)
    (own / "lib" / "mark.lua").write_text("return 'plugin'")
    (own / "10-mark.lua").write_text("local mark = require('filterbench.lib.mark')\nwharf.hook.before('location', 'create', function(c) c.input.name = c.input.name .. ' ' .. mark end)")
    for old in place.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    (place / "10-mark.lua").write_text("wharf.hook.before('location', 'create', function(c) c.input.name = c.input.name .. ' operator' end)")
    s = Server("--modules", f"org,locations,{plugins}/filterbench.so", "--set", f"lua_hooks.dir={place}", "--set", "workers=1")
    try:
        org = s.organization()
        client, system = org.client(), system_of(s, org)
        assert make_location(client, name="A")["name"] == "A operator plugin"
        assert [f["name"] for f in system.get(HOOKS).data["files"]] == ["10-mark.lua", "filterbench.10-mark.lua", "filterbench.lib.mark.lua"]
        (own / "lib" / "mark.lua").write_text("return 'changed'")
        assert system.post(HOOKS + "/reload", {}, expect=200).data["last_error"] is None and make_location(client, name="B")["name"] == "B operator changed"
        (own / "10-mark.lua").write_text("x = = 1")
        told = system.post(HOOKS + "/reload", {}, expect=200).data["last_error"]
        assert (told["file"], told["line"]) == ("filterbench.10-mark.lua", 1) and make_location(client, name="C")["name"] == "C operator changed"
        (own / "10-mark.lua").unlink()
        (place / "filterbench" / "lib").mkdir(parents=True)
        (place / "filterbench" / "lib" / "mark.lua").write_text("return 'mine'")
        assert "there twice" in system.post(HOOKS + "/reload", {}, expect=200).data["last_error"]["message"]
    finally:
        s.stop()
        shutil.rmtree(plugins)
        shutil.rmtree(place / "filterbench", ignore_errors=True)
