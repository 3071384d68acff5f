"""`wharf lua test`: cases, the world that they see, reports (spec 08 section 8)."""
import json
import xml.etree.ElementTree as xml

import pytest

from author import ROOT, cases, lua, write

MAIN = """local M = {}
function M.on_run(input, ctx) return {n = input.n + 1, attempt = ctx.run.attempt, settings = ctx.settings, event = ctx.event_id} end
function M.on_event(ev, ctx)
  print("at", wharf.time.iso())
  local res, err = wharf.http.post("https://erp.example.com/goods", {json = {id = ev.resource_id}, headers = {authorization = wharf.secret("KEY")}})
  if not res then wharf.fail(err.code, {retry = true, after_ms = 5}) end
  local data, e, meta = wharf.api.post("/v1/shipments/" .. ev.resource_id, {metadata = {erp = res.status}})
  return {data = data, e = e, status = meta.status, body = res.json(), id = ctx.event_id}
end
function M.on_http(r) return {status = 201, body = r.json.a .. r.query.b} end
function M.before(change) change.input.name = change.input.name:upper() if change.old then wharf.reject("no", "Not that", "name") end end
function M.on_schedule() return M[wharf.kv.get("do")]() end
function M.kv()
  wharf.kv.set("a", 1, {ttl = 5})
  return {wharf.kv.set("a", 2, {if_absent = true}), wharf.kv.incr("a", 4), wharf.kv.cas("a", 5, 6), wharf.kv.cas("a", 5, 7), #wharf.kv.list("a"),
    wharf.kv.delete("b"), wharf.kv.get("none")}
end
function M.emit() return {wharf.emit("custom.x", {a = 1}), wharf.mail.send{to = "a@b.c", subject = "s", text = "t"}} end
function M.sleep() wharf.sleep(4000) wharf.sleep(5000) local now = wharf.time.iso() wharf.sleep(2000) return now end
function M.loop() while true do end end
function M.memory() local t = {} while true do t[#t + 1] = ("x"):rep(1e5) .. #t end end
function M.list() local n = 0 for _ in wharf.api.list("/v1/parcels", nil, {max = 3}) do n = n + 1 end return n end
function M.lock() return wharf.lock("l", function() return wharf.lock("l", print) == nil end) end
function M.all() local r = wharf.http.all{{url = "https://a.example"}, {url = "https://b.example"}} return {r[1][1].status, r[2][2].code} end
function M.reads() wharf.api.post("/v1/x", {}) end
function M.raise() error({code = "mine", message = "Mine", status = 409}) end
function M.global() seen = (seen or 0) + 1 return seen end
return M
"""


@pytest.fixture
def flow(tmp_path):
    return write(tmp_path, {"main.lua": MAIN})


def test_runs_and_their_world(flow):
    """Each line of a case holds; a case that fails says why."""
    write(flow, {"main_test.lua": """
test.case("runs", function()
  test.settings{a = 1}
  local r = test.run("on_run", {n = 1}, {attempt = 3})
  test.same(r.output, {n = 2, attempt = 3, settings = {a = 1}})
  test.eq(r.status, "succeeded") test.ok(r.usage.instructions >= 0 and r.usage.memory_peak > 1000)
end)
test.case("events", function()
  test.secret("KEY", "k")
  test.http("POST", "https://erp.example.com/*", function(call)
    test.eq(call.body, wharf.json.encode{id = "shp_9"})
    return {status = 202, json = {x = 1}}
  end)
  test.api("POST", "/v1/shipments/shp_9", {data = {done = true}, status = 200, message = "Fine"})
  local ev = test.event("shipment.updated", {id = "shp_9"}, {sequence = 7})
  test.eq(ev.sequence, 7) test.eq(ev.resource_type, "shipment") test.ok(ev.data.tracking_number ~= nil)
  local r = test.run("on_event", ev)
  test.same(r.output, {data = {done = true}, status = 200, body = {x = 1}, id = ev.id})
  test.same(r.http, {{method = "POST", url = "https://erp.example.com/goods", status = 202, body = wharf.json.encode{id = "shp_9"},
    headers = {authorization = "k", ["content-type"] = "application/json"}}})
  test.eq(r.api[1].body.metadata.erp, 202) test.match(r.api[1].idempotency_key, "^wkf_run_%d+:1$")
  test.eq(r.logs[1].message, "at\\t2025-01-01T00:00:00.000Z") test.eq(r.logs[1].line, 4)
end)
test.case("a wrong type", function() test.raises(function() test.event("shipment.flown") end, "no type of event 'shipment.flown'") end)
test.case("a custom type", function() test.eq(test.event("custom.x", {a = 1}).data.a, 1) end)
test.case("requests", function()
  local r = test.run("on_http", test.request{json = {a = "x"}, query = {b = "y"}})
  test.same(r.output, {status = 201, body = "xy"})
end)
test.case("hooks", function()
  local r = test.run("before", test.change{resource = "location", input = {name = "dock"}})
  test.eq(r.input.name, "DOCK") test.eq(r.rejected, nil)
  r = test.run("before", test.change{resource = "location", action = "update", old = {name = "a"}, input = {name = "b"}})
  test.eq(r.status, "rejected") test.same(r.rejected, {code = "no", message = "Not that", field = "name"})
  local c = test.change{resource = "location", action = "update", old = {name = "a"}, input = {name = "b"}}
  test.eq(c.old.name, "a") test.eq(c.new.name, "b") test.eq(c.id, c.old.id)
  test.raises(function() test.change{resource = "moon"} end, "no resource 'moon'")
end)
local function does(what) test.kv{["do"] = what} return test.run("on_schedule", {}) end
test.case("the store", function()
  local r = does("kv")
  test.same(r.output, {false, 5, true, false, 1, false}) test.eq(r.kv.a, 6)
  test.advance(5001)
  test.eq(wharf.kv.get("a"), 6)  -- cas sets it without an end
  test.kv{b = 1} test.eq(wharf.kv.get("b"), 1)
  wharf.kv.set("c", 1, {ttl = 1}) test.advance(999) test.eq(wharf.kv.get("c"), 1) test.advance(1) test.eq(wharf.kv.get("c"), nil)
end)
test.case("events and mails", function()
  local r = does("emit")
  test.same(r.emitted, {{type = "custom.x", data = {a = 1}}}) test.eq(r.mails[1].to, "a@b.c") test.match(r.output[1], "^evt_")
end)
test.case("sleep moves the clock, ten seconds in all", function()
  local r = does("sleep")
  test.match(r.error.message, "sleeps 10 s") test.eq(wharf.time.iso(), "2025-01-01T00:00:09.000Z")
end)
test.case("budgets", function()
  test.eq(does("loop").error.code, "workflow.budget_instructions")
  test.eq(does("memory").error.code, "workflow.budget_memory")
  test.api("GET", "/v1/parcels", {data = {{id = "a"}, {id = "b"}}, pagination = {has_more = true}})
  test.eq(does("list").output, 3)
  test.eq(does("lock").output, true)
  test.http("GET", "https://a.example", {status = 200}) test.http("GET", "https://b.example", {code = "http.dns"})
  test.same(does("all").output, {200, "http.dns"})
end)
test.case("runs share nothing", function() test.eq(does("global").output, 1) test.eq(does("global").output, 1) end)
test.case("errors", function()
  local r = does("raise")
  test.eq(r.error.code, "mine") test.eq(r.error.status, 409) test.eq(r.error.line, 26) test.eq(r.error.file, "main.lua")
end)
test.case("faults", function()
  test.secret("KEY", "k") test.http("POST", "*", {status = 200, json = {}}) test.api("POST", "*", {data = {}})
  local ev = test.event("shipment.updated")
  test.fault("timeout", 1, "http")
  local r = test.run("on_event", ev)
  test.eq(r.status, "failed") test.eq(r.error.message, "http.timeout") test.eq(r.error.retry, true) test.eq(r.error.after_ms, 5)
  test.fault("blocked", 1, "http") test.eq(test.run("on_event", ev).error.message, "http.blocked")
  test.fault("500", 1, "http") test.eq(test.run("on_event", ev).api[1].body.metadata.erp, 500)
  test.fault("memory", 1, "http") test.eq(test.run("on_event", ev).error.code, "workflow.budget_memory")
  test.fault("429", 1, "api") test.fault("429", 9, "http") test.http("POST", "*", {status = 200, json = {}})
end)
test.case("faults of the api", function()
  test.secret("KEY", "k") test.http("POST", "*", {status = 200, json = {}}) test.api("POST", "*", {data = {}})
  test.fault("429", 1, "api")
  local r = test.run("on_event", test.event("shipment.updated"))
  test.eq(r.output.e.code, "rate_limited") test.eq(r.output.status, 429)
end)
test.case("faults of the store", function()
  test.fault("500", 1, "kv")
  test.match(test.run("on_schedule", {}).error.message, "can't be asked")
  test.raises(function() test.fault("fire", 1, "kv") end, "timeout, blocked")
end)
test.case("before hooks only read", function()
  test.file("main", "return {before = function() wharf.api.post('/v1/x', {}) end, f = 1}")
  test.eq(test.run("before", test.change{resource = "location"}).error.code, "workflow.budget_calls")
end)
test.case("the clock", function()
  test.clock("2026-03-29T01:00:00Z") test.eq(wharf.time.format(wharf.time.now(), "%H:%M", "Europe/Berlin"), "03:00")
end)
test.case("comparisons", function()
  test.raises(function() test.eq(1, 2) end, "got 1, expected 2")
  test.raises(function() test.same({a = {1}}, {a = {2}}) end, "a: got %[1%], expected %[2%]")
  test.raises(function() test.ok(false) end, "something true")
  test.raises(function() test.match("abc", "x") end, "does not match")
  test.raises(function() test.raises(print) end, "nothing was raised")
  test.raises(function() test.raises(function() error("a") end, "b") end, "does not match")
end)
test.case("modules are asked as they are", function()
  local main = require("main")
  test.same(main.on_run({n = 1}, {run = {attempt = 1}}), {n = 2, attempt = 1})
end)
"""})
    told = cases(flow)
    assert len(told) == 19 and {n: c["error"]["message"] for n, c in told.items() if c["status"] != "passed"} == {}


def test_a_case_fails_where_it_is_wrong(flow):
    write(flow, {"main_test.lua": """
test.case("eq", function()
  test.eq(1, 2)
end)
test.case("no stub", function()
  test.secret("KEY", "k")
  test.run("on_event", test.event("shipment.updated"))
end)
test.case("a stub that is wrong", function()
  test.secret("KEY", "k")
  test.http("POST", "*", function(call)
    test.eq(call.method, "GET")
  end)
  test.run("on_event", test.event("shipment.updated"))
end)
test.case("rejects by itself", function() wharf.reject("x", "Why") end)
test.case("for ever", function() while true do end end)
test.case("a run in a run", function() test.secret("KEY", "k") test.http("POST", "*", function() test.run("on_run", {}) end)
  test.run("on_event", test.event("shipment.updated")) end)
test.case("asks itself", function() wharf.api.get("/v1/nothing") end)
local n = 0
test.case("one", function() n = n + 1 test.eq(n, 1) end)
test.case("its own state", function() n = n + 1 test.eq(n, 1) end)
"""})
    told = cases(flow)
    where = {n: (c["error"]["line"], c["error"]["message"]) for n, c in told.items() if c["status"] == "failed"}
    assert where["eq"] == (3, "got 1, expected 2")
    assert where["no stub"][0] == 7 and where["no stub"][1].startswith("nothing answers POST https://erp.example.com/goods; say test.http(")
    assert where["a stub that is wrong"] == (12, 'got "POST", expected "GET"')
    assert where["rejects by itself"][1] == "Why" and "more instructions" in where["for ever"][1]
    assert "can't be called by a stub" in where["a run in a run"][1] and "nothing answers GET /v1/nothing" in where["asks itself"][1]
    assert set(told) - set(where) == {"one", "its own state"}


SMALL = {"main.lua": "local M = {}\nfunction M.on_run(n)\n  if n > 1 then\n    return 'more'\n  end\n  return 'one'\nend\n"
                     "function M.never()\n  return 1\nend\nreturn M\n",
         "main_test.lua": "test.case('good', function() test.eq(test.run('on_run', 1).output, 'one') end)\n"
                          "test.case('bad # <&> thing', function() test.eq(1, '<2>') end)\ntest.skip('later', function() end)\n",
         "lib/deep.lua": "return {}\n", "lib/deep_test.lua": "test.case('deep', function() test.ok(require('lib.deep')) end)\n"}


def test_formats_and_codes(tmp_path):
    write(tmp_path, SMALL)
    r = lua("test", ".", cwd=tmp_path)
    assert r.returncode == 1 and r.stdout == """TAP version 14
1..4
ok 1 - ./lib/deep_test.lua: deep
ok 2 - ./main_test.lua: good
not ok 3 - ./main_test.lua: bad \\# <&> thing
  ---
  message: |
    got 1, expected "<2>"
  at: main_test.lua:2
  ...
ok 4 - ./main_test.lua: later # SKIP
"""
    suites = xml.fromstring(lua("test", ".", "--format", "junit", cwd=tmp_path).stdout)
    assert [(s.get("name"), s.get("tests"), s.get("failures"), s.get("skipped")) for s in suites] == [
        ("./lib/deep_test.lua", "1", "0", "0"), ("./main_test.lua", "3", "1", "1")]
    failed = suites[1][1]
    assert failed.get("name") == "bad # <&> thing" and failed[0].get("message") == 'got 1, expected "<2>"' and suites[1][2][0].tag == "skipped"
    data = json.loads(lua("test", ".", "--format", "json", cwd=tmp_path).stdout)
    assert (data["passed"], data["failed"], data["skipped"]) == (2, 1, 1) and data["files"][1]["cases"][1]["error"]["snippet"][2]["line"] == 3
    assert lua("test", ".", "--filter", "deep", cwd=tmp_path).stdout == "TAP version 14\n1..1\nok 1 - ./lib/deep_test.lua: deep\n"
    assert lua("test", "main_test.lua", "--filter", "good", cwd=tmp_path).stdout.splitlines()[1:] == ["1..1", "ok 1 - ./main_test.lua: good"]
    assert lua("test", tmp_path / "lib" / "deep_test.lua").returncode == 0


def test_several_folders_and_what_is_broken(tmp_path):
    write(tmp_path / "a", SMALL)
    write(tmp_path / "b", {**SMALL, "main_test.lua": "test.case('x'", "z_test.lua": "error('no')", "y_test.lua": "test.case('a', print) test.case('a', print)"})
    r = lua("test", ".", cwd=tmp_path)
    assert r.returncode == 2 and r.stdout.startswith("TAP version 14\n1..8\n") and "not ok 6 - ./b/main_test.lua can't be loaded" in r.stdout
    assert "main_test.lua:1: ')' expected near <eof>" in r.stdout and "z_test.lua:1: no" in r.stdout and "there is a case 'a' already" in r.stdout
    assert "(load)" in lua("test", "b", "--format", "junit", cwd=tmp_path).stdout
    for args in (["--format", "xml"], ["--jobs", "0"], ["--jobs", "x"], ["--seed", "-1"], ["nowhere"], ["--frob"]):
        r = lua("test", *args, cwd=tmp_path)
        assert r.returncode == 3 and r.stderr.startswith("wharf: ") and not r.stdout
    (tmp_path / "c").mkdir()
    write(tmp_path / "c", {"main.lua": "return {}"})
    assert lua("test", "c", cwd=tmp_path).returncode == 2


def test_the_same_bytes_each_time(tmp_path):
    text = """for i = 1, 20 do test.case("c" .. i, function()
  local t, out = {}, {} for k = 1, 50 do t["k" .. k * i] = k end
  for k in pairs(t) do out[#out + 1] = k end
  error(table.concat(out, " ") .. wharf.crypto.uuid() .. math.random(1000000) .. os.clock() .. wharf.time.iso() .. wharf.crypto.id("x"))
end) end"""
    for i in range(5):
        write(tmp_path, {f"t{i}_test.lua": text})
    once = lua("test", tmp_path, "--jobs", "1")
    assert once.returncode == 1 and once.stdout == lua("test", tmp_path, "--jobs", "4").stdout == lua("test", tmp_path, "--seed", "1").stdout
    assert lua("test", tmp_path, "--seed", "2").stdout != once.stdout


def test_coverage(tmp_path):
    write(tmp_path, SMALL)
    lua("test", ".", "--coverage", "out.lcov", cwd=tmp_path)
    records = {}
    for part in (tmp_path / "out.lcov").read_text().split("end_of_record\n")[:-1]:
        lines = part.splitlines()
        records[lines[0][3:]] = {int(k): int(v) for k, v in (x[3:].split(",") for x in lines if x.startswith("DA:"))}
        assert f"LF:{len(records[lines[0][3:]])}" in lines and f"LH:{sum(v > 0 for v in records[lines[0][3:]].values())}" in lines
    assert records["./main.lua"] == {1: 1, 2: 1, 3: 1, 4: 0, 6: 1, 7: 1, 8: 1, 9: 0, 10: 1, 11: 1} or records["./main.lua"][4] == 0
    main = records["./main.lua"]
    assert main[3] == 1 and main[4] == 0 and main[6] == 1 and main[9] == 0 and set(records) == {"./main.lua", "./lib/deep.lua"}
    assert records["./lib/deep.lua"] == {1: 1}


def test_snapshots(tmp_path):
    write(tmp_path, {"main.lua": "return {on_run = function(n) return {n = n, text = 'a\\nb]]'} end}",
                     "main_test.lua": "test.case('s', function() test.snapshot('run', test.run('on_run', N).output) end)".replace("N", "1")})
    assert "no snapshot 'run' yet" in cases(tmp_path)["s"]["error"]["message"]
    assert lua("test", tmp_path, "--update").returncode == 0
    kept = (tmp_path / "__snapshots__" / "main_test_snap.lua").read_text()
    assert '["run"]' in kept and cases(tmp_path)["s"]["status"] == "passed"
    write(tmp_path, {"main_test.lua": "test.case('s', function() test.snapshot('run', test.run('on_run', 2).output) end)"})
    assert "n: got 2, expected 1" in cases(tmp_path)["s"]["error"]["message"]


def test_a_test_that_never_ends_is_ended(tmp_path):
    """What no budget can end is ended from outside; the limit of 60 s is not waited for here, only that others go on."""
    write(tmp_path, {"a_test.lua": "test.case('a', function() end)", "b_test.lua": "test.case('b', function() wharf.crypto.sha256(nil) end)"})
    told = cases(tmp_path, "--jobs", "2")
    assert told["a"]["status"] == "passed" and told["b"]["status"] == "failed"


def test_stock_hooks():
    """The rules that come with the server, by their own tests; against a server: tests/api/test_stock_hooks.py."""
    r = lua("test", "lua-hooks", cwd=ROOT)
    assert r.returncode == 0, r.stdout
    hooks = {p.stem for p in (ROOT / "lua-hooks").glob("*.lua") if not p.stem.endswith("_test")}
    assert {p.stem[:-5] for p in (ROOT / "lua-hooks").glob("*_test.lua")} == hooks


def test_routes_and_what_runs_around(tmp_path):
    write(tmp_path, {"10-a.lua": """
wharf.hook.route("GET", "/v1/x/a/:id", {scope = "any", location = "none"}, function(r) return { id = r.params.id } end)
wharf.hook.route("GET", "/v1/x/a/all", {scope = "any", location = "none", list = true, filters = {size = "number", color = "string"}}, function(r, ctx)
  return { ctx.page.offset, ctx.page.take, ctx.filters, ctx.organization_id ~= nil }
end)
wharf.hook.request(function(r) if r.path == "/robots" then wharf.reject("robots") end return { headers = { A = "1", B = "1" } } end)
wharf.hook.request(function() error("x") end, {on_error = "ignore"})
wharf.hook.response(function(a) return { headers = { B = a.status } } end, {priority = 1})
""", "10-a_test.lua": """
test.case("routes", function()
  test.same(test.run("route", test.request{method = "GET", path = "/v1/x/a/7"}).output, {id = "7"})
  test.same(test.run("route", test.request{method = "GET", path = "/v1/x/a/all", query = {page = "2", limit = "5", ["size[gt]"] = "3", color = "red,blue"}}).output,
    {5, 6, {{path = "color", op = "in", value = {"red", "blue"}}, {path = "size", op = "gt", value = 3}}, true})
  test.match(test.run("route", test.request{method = "POST", path = "/v1/x/a/7"}).error.message, "no route of these files")
end)
test.case("around", function()
  test.same(test.run("request", test.request{path = "/"}).output, {headers = {A = "1", B = "1"}})
  test.eq(test.run("request", test.request{path = "/robots"}).rejected.code, "robots")
  test.eq(test.run("response", test.request{status = 404}).output.headers.B, 404)
end)
"""})
    assert {n: c.get("error", {}).get("message") for n, c in cases(tmp_path).items()} == {"routes": None, "around": None}


def test_hooks_of_a_folder(tmp_path):
    write(tmp_path, {"10-a.lua": "wharf.hook.before('location', 'create', function(c) c.input.n = c.input.n .. 'a' end)\n"
                                 "wharf.hook.on_event('parcel.*', function(e) print(e.type) end)\n"
                                 "wharf.hook.on_event('parcel.*', function(e) print('heavy') end, {filter = {{path = 'data.weight', op = 'gt', value = 5}}})\nG = 1\nwharf.hook.schedule('@daily', function(t) print(t.at) end)",
                     "20-b.lua": "wharf.hook.before('location', 'create', function(c) c.input.n = c.input.n .. 'b' end, {priority = -1})\n"
                                 "wharf.hook.after('location', 'create', function() H = 1 end)",
                     "10-a_test.lua": "test.case('alone', function() test.eq(test.run('before', test.change{resource = 'location', input = {n = ''}}).input.n, 'a')\n"
                                      "test.eq(test.run('on_event', test.event('parcel.created')).logs[1].message, 'parcel.created')\n"
                                      "test.eq(#test.run('on_event', test.event('parcel.created', {weight = 1})).logs, 1)\n"
                                      "test.eq(test.run('on_event', test.event('parcel.created', {weight = 9})).logs[2].message, 'heavy')\n"
                                      "test.eq(test.run('on_schedule', {at = 'now'}).logs[1].message, 'now')\n"
                                      "test.match(test.run('on_event', test.event('shipment.created')).error.message, 'no hook') end)",
                     "all_test.lua": "test.case('in order', function() test.eq(test.run('before', test.change{resource = 'location', input = {n = ''}}).input.n, 'ba') end)\n"
                                     "test.case('frozen', function() test.match(test.run('after', test.change{resource = 'location'}).error.message, 'globals are frozen') end)"})
    assert {n: c.get("error", {}).get("message") for n, c in cases(tmp_path).items()} == {"alone": None, "in order": None, "frozen": None}
