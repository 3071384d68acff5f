"""Operators' hooks (spec 08 section 9, docs/reference/lua-hooks.md): rules of a folder of Lua files around writes and after events, and how they are changed."""
import datetime
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest

from hook_folder import HOOKS, hooks, lines, place, system, system_of, until  # noqa: F401  (fixtures among them)
from wharf import BUILD, PROGRAM, Client, Server, address, make_location

@pytest.fixture(scope="module")
def server(place):
    s = Server("--modules", f"org,locations,contacts,batches,events,{BUILD}/tests/plugins/filterbench.so", "--set", f"lua_hooks.dir={place}", "--set", "workers=2",
               "--set", "jobs.threads=2")
    yield s
    s.stop()


CODES = """
local function code(change, ctx)
  if change.input.code == nil and (change.old == nil or change.old.code == nil) then
    wharf.reject("location_code", "Give the location a code", "code")
  end
end
wharf.hook.before("location", "create", code)
"""


def test_a_hook_refuses_a_write(hooks, client):
    hooks.load({"10-codes.lua": CODES})
    r = client.refused("POST", "/v1/locations", 400, "workflow.rejected", ["code", "custom.location_code"], {"name": "A", "address": address()})
    assert r.message == "Give the location a code"
    r = client.request("POST", "/v1/locations", {"name": "A", "address": address()}, headers={"Accept": "application/problem+json"}, check=False)
    assert r.body["violations"][0]["message"] == "Give the location a code", r.body
    row = client.post("/v1/locations", {"name": "A", "address": address(), "code": "A1"}, expect=201).data
    assert row["code"] == "A1"


def test_what_a_hook_is_shown_and_may_change(hooks, client, org):
    hooks.load({"10-see.lua": """
local function note(change, ctx)
  if change.input then
    change.input.metadata = {
      seen = wharf.json.encode({change.resource, change.action, change.old and change.old.name or wharf.null, change.new.name, change.input.name or wharf.null}),
      request = ctx.run.id, actor = ctx.actor.id .. ctx.actor.name, at = change.location_id or "none", who = ctx.actor.type, organization = ctx.organization_id, id = change.id }
  end
end
wharf.hook.before("contact", "create", note)
wharf.hook.before("contact", "update", note)
wharf.hook.before("contact", "delete", function(change, ctx)
  if change.old.metadata.keep then wharf.reject("kept", "This contact stays") end
end)
"""})
    r = client.post("/v1/contacts", {"name": "Ann"}, expect=201)
    made = r.data
    assert made["metadata"] == {"request": r.headers["Request-Id"], "actor": made["created_by"], "seen": '["contact","create",null,"Ann","Ann"]', "at": "none", "who": "api_key", "organization": org.id, "id": made["id"]}
    later = client.post(f"/v1/contacts/{made['id']}", {"name": "Bea"}, expect=200).data
    assert later["metadata"]["seen"] == '["contact","update","Ann","Bea","Bea"]' and later["name"] == "Bea"
    hooks.load({"10-see.lua": "wharf.hook.before('contact', 'delete', function(c) if c.old.name == 'Bea' then wharf.reject('kept', 'This contact stays') end end)"})
    client.refused("DELETE", f"/v1/contacts/{made['id']}", 400, "workflow.rejected", ["custom.kept"])
    client.post(f"/v1/contacts/{made['id']}", {"name": "Cea"}, expect=200)
    client.delete(f"/v1/contacts/{made['id']}", expect=200)


def test_what_a_hook_makes_of_the_body_is_checked(hooks, client):
    hooks.load({"10-wrong.lua": """
wharf.hook.before("contact", "create", function(change)
  if change.input.name == "type" then change.input.name = 7 end
  if change.input.name == "lost" then change.input = nil end
  if change.input and change.input.name == "upper" then change.input.name = string.upper(change.input.name) end
end)
wharf.hook.before("contact", "create", function(change) if change.input.name == "group" then change.input.groups = { "grp_0000000000000000000000" } end end)
wharf.hook.before("contact", "update", function(change) change.input.groups = { "grp_0000000000000000000000" } end)
"""})
    client.refused("POST", "/v1/contacts", 400, "validation.failed", ["name"], {"name": "type"})
    client.refused("POST", "/v1/contacts", 400, "workflow.hook_failed", [], {"name": "lost"})
    client.refused("POST", "/v1/contacts", 400, "validation.failed", ["groups.0"], {"name": "group"})
    row = client.post("/v1/contacts", {"name": "fine"}, expect=201).data
    client.refused("POST", f"/v1/contacts/{row['id']}", 400, "validation.failed", ["groups.0"], {"name": "finer"})
    assert client.post("/v1/contacts", {"name": "upper"}, expect=201).data["name"] == "UPPER"


def test_the_chain_by_priority_then_file(hooks, client):
    add = "wharf.hook.before('contact', 'create', function(c) c.input.name = c.input.name .. '%s' end, {priority = %d})\n"
    hooks.load({"20-b.lua": add % ("b", 0), "10-a.lua": add % ("a", 0) + add % ("z", 5), "30-first.lua": add % ("1", -5)})
    assert client.post("/v1/contacts", {"name": "x"}, expect=201).data["name"] == "x1abz"


def test_a_hook_that_breaks(hooks, client, server):
    hooks.load({"10-broken.lua": "\nwharf.hook.before('contact', 'create', function(c)\n  local t = nil\n  return t.x\nend)"})
    r = client.refused("POST", "/v1/contacts", 400, "workflow.hook_failed", [], {"name": "A"})
    assert r.headers["Request-Id"] in r.message and "10-broken" not in r.message
    until(lambda: any("10-broken.lua:4: attempt to index a nil value" in m for m in lines(server, "lua.hook_failed")), "the place is not in the log")
    hooks.load({"10-broken.lua": "wharf.hook.before('contact', 'create', function(c) error('no') end, {on_error = 'ignore'})"})
    client.post("/v1/contacts", {"name": "A"}, expect=201)
    hooks.load({"10-loop.lua": "wharf.hook.before('contact', 'create', function(c) while true do pcall(error) end end, {timeout_ms = 50})"})
    began = time.monotonic()
    client.refused("POST", "/v1/contacts", 400, "workflow.hook_failed", [], {"name": "A"})
    assert time.monotonic() - began < 5
    until(lambda: any("10-loop.lua:1" in m and "workflow.budget_time" in m for m in lines(server, "lua.hook_failed")), "the limit is not in the log")
    assert client.post("/v1/locations", {"name": "L", "address": address()}, expect=201)


def test_globals_are_frozen_and_the_library_is_there(hooks, client):
    hooks.load({"10-free.lua": """
local lib = require("lib.names")
shared = 1
wharf.hook.before("contact", "create", function(c)
  local ok, err = pcall(function() fresh = 1 end)
  c.input.metadata = { frozen = tostring(not ok), says = err:match("^[^:]+:%d+: [%a ]+"), io = tostring(io), name = lib.name(c.input.name), shared = tostring(shared) }
end)
""", "lib/names.lua": "return { name = function(n) return wharf.text.slug(n) end }"})
    row = client.post("/v1/contacts", {"name": "Jane Doe"}, expect=201).data
    assert row["metadata"] == {"frozen": "true", "says": "10-free.lua:5: globals are frozen after loading", "io": "nil", "name": "jane-doe", "shared": "1"}, row["metadata"]


def test_rows_of_the_organization(hooks, client, server):
    hooks.load({})
    other = server.organization().client()
    make_location(other, name="Elsewhere")
    make_location(client, name="Here")
    hooks.load({"10-rows.lua": """
wharf.hook.before("contact", "create", function(c)
  local rows = wharf.db.query("SELECT name, version, deleted_at, $2::jsonb AS j FROM locations.location WHERE name = ANY(ARRAY['Here', 'Elsewhere']) AND name <> $1", "None", {a = {1, 2}})
  local _, write = pcall(wharf.db.query, "DELETE FROM locations.location RETURNING 1")
  local _, change = pcall(wharf.db.query, "SELECT id FROM locations.location FOR UPDATE")
  local _, sql = pcall(wharf.db.query, "SELECT nothing")
  local _, many = pcall(wharf.db.query, "SELECT generate_series(1, 10001)")
  local _, slow = pcall(wharf.db.query, "SELECT pg_sleep(1)")
  local _, exec = pcall(wharf.db.exec, "UPDATE locations.location SET name = name")
  c.input.metadata = { rows = wharf.json.encode(rows), write = write, change = change, sql = sql, many = many, slow = slow, exec = exec }
end, {timeout_ms = 250})
"""})
    seen = client.post("/v1/contacts", {"name": "A"}, expect=201).data["metadata"]
    assert json.loads(seen["rows"]) == [{"name": "Here", "version": 1, "deleted_at": None, "j": {"a": [1, 2]}}], seen
    assert "wharf.db.query" in seen["write"] and "25006" in seen["change"] and "42703" in seen["sql"] and "10,000 rows" in seen["many"] and "57014" in seen["slow"], seen
    assert "lua_hooks.allow_write = true" in seen["exec"]
    assert server.sql("SELECT count(*) FROM locations.location WHERE name = 'Here'")[0][0] >= 1


def test_batches_and_sets_have_the_same_rules(hooks, client):
    hooks.load({"10-codes.lua": "wharf.hook.before('contact', 'create', function(c) if c.input.name == 'bad' then wharf.reject('bad', 'No') end c.input.name = c.input.name .. '!' end)"})
    b = client.post("/v1/batches", {"resource": "contact", "data": [{"name": "good"}, {"name": "bad"}, {"name": "fine"}], "mode": "sync", "action": "merge"}, expect=201).data
    assert b["stats"]["created"] == 2 and b["stats"]["errors"] == 1, b
    names = {c["name"] for c in client.get("/v1/contacts?limit=100").data}
    assert {"good!", "fine!"} <= names and "bad!" not in names


def test_creates_without_rules_of_their_own(hooks, client, server):
    """They run on the event loop in one statement; with a hook they don't."""
    path = next(p for p in server.openapi["paths"] if p.endswith("/samples"))
    body = {"name": "plain", "status": "open"}
    before = client.post(path, body, expect=201).data
    hooks.load({"10-all.lua": f"wharf.hook.before('{before['object']}', 'create', function(c) c.input.name = c.input.name .. ' seen' end)"})
    assert client.post(path, body, expect=201).data["name"] == "plain seen"
    hooks.load({})
    assert client.post(path, body, expect=201).data["name"] == "plain"


def test_after_and_event_hooks(hooks, client, server):
    hooks.load({"10-after.lua": """
wharf.hook.after("contact", "update", function(change, ctx)
  local _, err = wharf.api.post("/v1/contacts", { name = "After " .. change.old.name .. " " .. change.new.name .. " " .. ctx.actor.type })
  if err then error(err.message) end
end)
wharf.hook.on_event("location.*", function(ev, ctx)
  if ev.type == "location.created" and ev.data.name == "Trigger" then
    wharf.log.info("event seen", { id = ev.resource_id })
    local data, err = wharf.api.post("/v1/contacts", { name = "Event " .. ev.type .. " " .. ctx.event_id })
    if err then error(err.message) end
  end
end)
"""})
    made = client.post("/v1/contacts", {"name": "One"}, expect=201).data
    client.post(f"/v1/contacts/{made['id']}", {"name": "Two"}, expect=200)
    until(lambda: [c for c in client.get("/v1/contacts?limit=100").data if c["name"] == "After One Two api_key"], "the after hook did not run")
    make_location(client, name="Trigger")
    until(lambda: [c for c in client.get("/v1/contacts?limit=100").data if c["name"].startswith("Event location.created evt_")], "the event hook did not run")
    assert [h["calls"] for h in hooks.system.get(HOOKS).data["hooks"]] != [0, 0]
    hooks.load({"10-after.lua": "wharf.hook.after('contact', 'update', function(c) wharf.fail('it is no use', {retry = false}) end)"})
    client.post(f"/v1/contacts/{made['id']}", {"name": "Three"}, expect=200)
    until(lambda: any("it is no use" in m for m in lines(server, "lua.hook_failed")), "the failure is not in the log")


def test_what_is_told_of_them(hooks, client):
    told = hooks.load({"10-codes.lua": CODES, "lib/x.lua": "return {}", "_off.lua": "error('never loaded')", "10-codes_test.lua": "error('never loaded')", "notes.txt": "x",
                       "10-codes.lua~": "error('never loaded')", "#10-codes.lua#": "error('never loaded')", "10-codes.lua.bak": "error('never loaded')", ".10-codes.lua.swp": "x"})
    assert [(f["name"], f["hooks"]) for f in told["files"]] == [("10-codes.lua", 1), ("lib.x.lua", 0)]
    assert [(h["name"], h["line"], h["phase"], h["resource"], h["action"]) for h in told["hooks"]] == [("10-codes.lua#1", 7, "before", "location", "create")]
    calls = told["hooks"][0]["calls"]
    make_location(client, code="T1")
    again = hooks.system.get(HOOKS).data
    assert again["hooks"][0]["calls"] == calls + 1 and again["hooks"][0]["p50_ms"] > 0 and again["generation"] == told["generation"]
    client.refused("GET", HOOKS, 403, "scope_access", None)


def test_what_is_told_of_their_calls(hooks, client):
    """Sums of the files, errors and times of all calls; what was loaded when."""
    text = """local function slow() local to = wharf.time.now_ms() + 120 while wharf.time.now_ms() < to do end end
wharf.hook.before("contact", "create", function(c) if c.input.name == "bad" then error("no") end if c.input.name == "no" then wharf.reject("no", "No") end if c.input.name == "slow" then slow() end end)
"""
    began = hooks.server.sql("SELECT wharf.now()")[0][0]
    told = hooks.load({"10-told.lua": text, "20-none.lua": ""})
    assert began <= datetime.datetime.fromisoformat(told["loaded_at"]) + datetime.timedelta(milliseconds=5) <= hooks.server.sql("SELECT wharf.now() + interval '1 second'")[0][0]
    assert [f["sha256"] for f in told["files"]] == [hashlib.sha256(t.encode()).hexdigest() for t in (text, "")]
    for name, status in [("fine", 201)] * 20 + [("slow", 201), ("bad", 400), ("bad", 400), ("no", 400)]:
        client.post("/v1/contacts", {"name": name}, expect=status)
    told = hooks.system.get(HOOKS).data
    (hook,) = told["hooks"]
    assert (hook["calls"], hook["errors"]) == (24, 2) and [f["errors"] for f in told["files"]] == [2, 0]  # who refuses does what it is for
    assert 0 < hook["p50_ms"] < hook["p99_ms"] and hook["p99_ms"] > 100
    client.refused("POST", HOOKS + "/reload", 403, "scope_access", None, body={})


@pytest.mark.parametrize("files, where", [
    ({"10-a.lua": "x = = 1"}, ("10-a.lua", 1)),
    ({"10-a.lua": "\n\nerror('at load')"}, ("10-a.lua", 3)),
    ({"10-a.lua": "\nwharf.hook.before('nothing', 'create', print)"}, ("10-a.lua", 2)),
    ({"10-a.lua": "wharf.hook.before('contact', 'make', print)"}, ("10-a.lua", 1)),
    ({"10-a.lua": "wharf.hook.before('contact', 'create', print, {prio = 1})"}, ("10-a.lua", 1)),
    ({"10-a.lua": "wharf.hook.before('contact', 'create', print, {timeout_ms = 251})"}, ("10-a.lua", 1)),
    ({"10-a.lua": "wharf.hook.on_event('*.created', print)"}, ("10-a.lua", 1)),
    ({"10-a.lua": "wharf.hook.schedule('61 * * * *', print)"}, ("10-a.lua", 1)),
    ({"10-a.lua": "\nwharf.hook.schedule('@daily', print, {timezone = 'Mars/Olympus'})"}, ("10-a.lua", 2)),
    ({"10-a.lua": "wharf.hook.schedule('@daily', print, {catch_up = true})"}, ("10-a.lua", 1)),
    ({"10-a.lua": "wharf.hook.schedule('@daily')"}, ("10-a.lua", 1)),
    ({"10-a.lua": "for i = 1, 1001 do wharf.hook.on_event('*', print) end"}, ("10-a.lua", 1)),
    ({"10-a.lua": "while true do end"}, ("10-a.lua", 1)),
    ({"10-a.lua": "wharf.db.query('SELECT 1')"}, ("10-a.lua", 1)),
    ({"10-a.lua": "wharf.api.get('/v1/contacts')"}, ("10-a.lua", 1)),
    ({"10-a.lua": "if wharf.crypto.random_bytes(1):byte() % 2 == 0 then wharf.hook.on_event('*', print) end" * 40}, ("10-a.lua", None)),
    ({"lib/m.lua": "return {", "10-a.lua": ""}, ("lib.m.lua", 1)),
    ({"10 a.lua": ""}, (None, None)),
    ({"10-a.lua": "-- \x00"}, (None, None)),
    ({"10-a.lua": "-- \udcff"}, (None, None)),
    ({"a" * 51 + ".lua": ""}, (None, None)),
    ({"10-a.lua": "--" + "x" * (256 << 10)}, (None, None)),
    ({f"{i}.lua": "" for i in range(501)}, (None, None)),
    ({"10-a.lua": "wharf.hook.before('contact', 'create', print, {priority = 1001})"}, ("10-a.lua", 1)),
])
def test_a_folder_with_a_fault_changes_nothing(hooks, client, files, where):
    before = hooks.load({"10-codes.lua": CODES})
    told = hooks.load(files, good=False)
    assert told["generation"] == before["generation"] and told["files"] == before["files"]
    assert told["last_error"]["message"] and told["last_error"]["file"] == where[0] and where[1] in (None, told["last_error"]["line"]), told["last_error"]
    client.refused("POST", "/v1/locations", 400, "workflow.rejected", ["code", "custom.location_code"], {"name": "A", "address": address()})
    after = hooks.load({"10-codes.lua": CODES})
    assert after["generation"] == before["generation"]


def test_files_that_everybody_may_write(hooks):
    hooks.write({"10-a.lua": ""})
    os.chmod(hooks.path / "10-a.lua", 0o666)
    told = hooks.system.post(HOOKS + "/reload", {}, expect=200).data
    assert "may be written by everybody" in told["last_error"]["message"]


def test_changes_are_noticed(hooks, client, server):
    hooks.load({"10-a.lua": "wharf.hook.before('contact', 'create', function(c) c.input.name = 'first' end)"})
    (hooks.path / "10-a.lua").write_text("wharf.hook.before('contact', 'create', function(c) c.input.name = 'second' end)")
    until(lambda: client.post("/v1/contacts", {"name": "x"}, expect=201).data["name"] == "second", "the change was not noticed")
    (hooks.path / "10-a.lua").write_text("broken(")
    until(lambda: (hooks.system.get(HOOKS).data["last_error"] or {}).get("file") == "10-a.lua", "the fault was not noticed")
    with pytest.raises(RuntimeError, match="10-a.lua:1:"):
        server.command("reload")
    for pid in server.workers("web"):  # workers that start now run what was good
        os.kill(pid, signal.SIGKILL)
        until(lambda: pid not in server.workers("web") and "is down" not in server.command("ps"), "the worker did not come back")
    for _ in range(20):
        assert client.post("/v1/contacts", {"name": "x"}, expect=201).data["name"] == "second"
    assert any("10-a.lua:1:" in m for m in lines(server, "lua.not_loaded"))


def test_fifty_files_are_changed_under_load(hooks, client, server, org):
    """Each file adds its generation's letter: no request is lost, none sees two. (On a busy machine writing the files may pause for longer than the
    server waits for quiet: then a folder with fewer files is a generation too.)"""
    def files(letter):
        return {f"{i:02}-part.lua": f"wharf.hook.before('contact', 'create', function(c) c.input.name = c.input.name .. '{letter}' end)" for i in range(50)}
    hooks.load(files("a"))
    seen, wrong, stop = [], [], threading.Event()

    def load():
        mine = Client(server, org.key())
        while not stop.is_set():
            r = mine.request("POST", "/v1/contacts", {"name": "-"}, check=False)
            (seen if r.status == 201 and len(set(r.data["name"])) <= 2 else wrong).append(r.data["name"] if r.status == 201 else repr(r))
    threads = [threading.Thread(target=load) for _ in range(4)]
    for t in threads:
        t.start()
    try:
        for letter in "bcdef":
            hooks.load(files(letter))
            until(lambda: wrong or seen.count("-" + 50 * letter) >= 10, "no request is served with the new folder")
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert not wrong, wrong[:3]


def test_a_server_with_a_broken_folder(place):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-broken-", dir=os.environ.get("WHARF_TEST_PLACE")))
    os.chmod(folder, 0o755)
    try:
        (folder / "10-a.lua").write_text("\n\nlocal x = = 1")
        with pytest.raises(RuntimeError, match=r"10-a\.lua:3: "):
            Server("--modules", "org", "--set", f"lua_hooks.dir={folder}")
        check = [PROGRAM, "check", "--set", "modules=org,contacts,locations", "--set", f"lua_hooks.dir={folder}"]
        done = subprocess.run(check, capture_output=True, text=True)
        assert done.returncode == 1 and "10-a.lua:3: unexpected symbol" in done.stderr, done
        s = Server("--modules", "org", "--set", f"lua_hooks.dir={folder}", "--set", "safe_mode=true")
        try:
            told = system_of(s, s.organization()).post(HOOKS + "/reload", {}, expect=200).data
            assert told["files"] == [] and told["hooks"] == [] and told["last_error"] is None
        finally:
            s.stop()
        s = Server("--modules", "org", "--set", f"lua_hooks.dir={folder}", "--set", "lua_hooks.strict=false")
        try:
            system = system_of(s, s.organization())
            told = system.get(HOOKS).data
            assert told["files"] == [] and told["last_error"]["line"] == 3
            (folder / "10-a.lua").write_text("wharf.hook.before('contact', 'create', function() end)")
            done = subprocess.run(check, capture_output=True, text=True)
            assert done.returncode == 0 and "and 1 hooks are fine" in done.stdout, done
            # a name that there is not, in a function that loading does not run
            (folder / "10-a.lua").write_text("wharf.hook.before('contact', 'create', function(ctx)\n  wharf.lgo.info('x')\n  wharf.nope('x')\nend)")
            done = subprocess.run(check, capture_output=True, text=True)
            assert done.returncode == 1 and "10-a.lua:3:9: there is no wharf.nope" in done.stdout, done
            assert "10-a.lua:2:9: there is no wharf.lgo; did you mean wharf.log?" in done.stdout, done
        finally:
            s.stop()
    finally:
        shutil.rmtree(folder)
