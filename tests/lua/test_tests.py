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
test.case("a store is as large as on a server", function()
  wharf.kv.set("a", ("x"):rep((64 << 10) - 2))
  local ok, e = pcall(wharf.kv.set, "a", ("x"):rep(64 << 10)) test.match(e, "64 KiB")
  ok, e = pcall(wharf.kv.cas, "a", 1, ("x"):rep(64 << 10)) test.match(e, "kv.too_large")
  for i = 1, 200 do wharf.kv.set("k", ("x"):rep(60000)) end  -- the same key takes its place once
  for i = 1, 170 do wharf.kv.set("k" .. i, ("x"):rep(60000)) end
  ok, e = pcall(function() for i = 171, 175 do wharf.kv.set("k" .. i, ("x"):rep(60000)) end end) test.match(e, "10 MiB")
  for i = 1, 9 do wharf.kv.set("s" .. i, ("x"):rep(1 << i)) end  -- to the last bytes
  ok, e = pcall(function() for i = 1, 1e5 do wharf.kv.incr("n" .. ("x"):rep(150) .. i) end end) test.match(e, "kv.full")
  for i = 1, 100 do wharf.kv.delete("k" .. i) end
  test.eq(wharf.kv.set("k175", ("x"):rep(60000)), true)
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
    assert len(told) == 20 and {n: c["error"]["message"] for n, c in told.items() if c["status"] != "passed"} == {}


def test_samples_stubs_and_faults(tmp_path):
    write(tmp_path, {"main.lua": "return {}", "main_test.lua": """
local function main(handler, code) test.file("main", "return {" .. handler .. " = function(input, ctx) " .. code .. " end}") end
test.case("samples", function()
  test.clock("2026-01-01T00:00:00Z")
  local ev = test.event("parcel.created", {location_id = "loc_9", id = "p"})
  test.eq(ev.location_id, "loc_9") test.eq(ev.resource_id, "p") test.eq(ev.timestamp, "2026-01-01T00:00:00.000Z")
  test.eq(test.request{json = {a = 1}}.body, '{"a":1}') test.same(test.request{body = '{"a":1}'}.json, {a = 1}) test.eq(test.request{}.body, "")
  local gone = test.change{resource = "parcel", action = "delete", old = {name = "x", location_id = "loc_7"}}
  test.eq(gone.new, nil) test.eq(gone.old.name, "x") test.eq(gone.location_id, "loc_7")
  test.eq(test.change{resource = "parcel", input = {location_id = "loc_8"}}.location_id, "loc_8")
end)
test.case("the nearest stub answers, and all of an address is meant", function()
  test.api("GET", "/v1/a.b+(c)?", {data = "plain"}) test.api("*", "/v1/any", {data = "any"})
  test.api("GET", "/v1/of*", {data = "old"}) test.api("GET", "/v1/off", {data = "new"})
  test.eq(wharf.api.get("/v1/a.b+(c)?"), "plain") test.eq(wharf.api.delete("/v1/any"), "any")
  test.eq(wharf.api.get("/v1/off"), "new") test.eq(wharf.api.get("/v1/of"), "old")
  for _, path in ipairs {"/v1/aXb+(c)?", "/v1/any/more", "/v1/x/v1/any"} do
    test.raises(function() wharf.api.get(path) end, "nothing answers GET")
  end
  test.api("POST", "/v1/no", {code = "conflict", status = 409, errors = {"a"}, message = "No"})
  local data, err, meta = wharf.api.post("/v1/no")
  test.eq(data, nil) test.same(err, {code = "conflict", status = 409, errors = {"a"}, message = "No"}) test.eq(meta.status, 409)
  test.http("GET", "https://a/*", {headers = {["X-One"] = "1"}, json = {b = 2}})
  local res = wharf.http.get("https://a/b") test.eq(res.headers["x-one"], "1") test.eq(res.headers["content-type"], "application/json") test.eq(res.json().b, 2)
end)
test.case("the n-th call", function()
  main("on_run", "local out = {} for i = 1, 3 do local _, _, meta = wharf.api.get('/v1/x') out[i] = meta.status end return out")
  test.api("GET", "/v1/x", {})
  for kind, status in pairs {["500"] = 500, ["429"] = 429, timeout = 503, blocked = 403} do
    test.fault(kind, 2, "api") test.same(test.run("on_run").output, {200, status, 200})
  end
  main("on_run", "local out = {} for i = 1, 2 do local res, err = wharf.http.get('https://a') out[i] = res and res.status or err.code end return out")
  test.http("GET", "https://a", {})
  for kind, told in pairs {["500"] = 500, timeout = "http.timeout", blocked = "http.blocked"} do
    test.fault(kind, 1, "http") test.same(test.run("on_run").output, {told, 200})
  end
  test.raises(function() test.fault("500", "1", "api") end, "test.fault%(kind") test.raises(function() test.fault("500", 1, "disk") end, "test.fault%(kind")
  test.raises(function() test.clock("yesterday") end, "a moment is")
end)
test.case("the store", function()
  test.kv{a1 = 1, a2 = 2, b = "x"}
  test.same(wharf.kv.list("a"), {{key = "a1", value = 1}, {key = "a2", value = 2}}) test.eq(#wharf.kv.list("", 2), 2)
  test.eq(wharf.kv.cas("new", nil, 1), true) test.eq(wharf.kv.cas("new", nil, 2), false)
  test.raises(function() wharf.kv.incr("b") end, "no whole number %(kv.not_a_number%)")
  wharf.kv.set("most", math.maxinteger - 1) test.eq(wharf.kv.incr("most"), math.maxinteger)
  test.raises(function() wharf.kv.incr("most") end, "64 bits %(param.invalid%)") test.eq(wharf.kv.incr("most", math.mininteger), -1)
  test.raises(function() wharf.kv.incr("most", math.mininteger) end, "64 bits %(param.invalid%)") test.eq(wharf.kv.get("most"), -1)
  test.raises(function() wharf.kv.set("far", 1, {ttl = 1e18}) end, "at most those of 100 years %(param.invalid%)")
  test.raises(function() wharf.kv.incr("far", 1, {ttl = "soon"}) end, "at most those of 100 years") test.eq(wharf.kv.get("far"), nil)
  wharf.kv.set("n", 1, {ttl = 1}) wharf.kv.incr("n") test.advance(999) test.eq(wharf.kv.get("n"), 2) test.advance(1) test.eq(wharf.kv.get("n"), nil)
  test.raises(function() wharf.secret("NONE") end, "secret.missing")
end)
test.case("what is told of a run", function()
  test.api("GET", "*", {}) test.http("GET", "*", {})
  main("on_event", "wharf.api.get('/v1/a') wharf.http.get('https://a') wharf.log.warn('m', {n = 1}) wharf.emit('custom.a', {}, {location_id = 'l'}) "
    .. "wharf.mail.send{to = 'a', subject = 's', text = 't', html = 'h'} return {ctx.location_id, ctx.run.attempt}")
  local r = test.run("on_event", test.event("parcel.created", {location_id = "loc_1"}))
  test.same(r.output, {"loc_1", 1}) test.eq(r.usage.api_calls, 1) test.eq(r.usage.http_calls, 1) test.same(r.logs[1].fields, {n = 1})
  test.eq(r.emitted[1].location_id, "l") test.eq(r.mails[1].html, "h")
  test.same(test.run("on_event", {}, {location_id = "loc_2", attempt = 4}).output, {"loc_2", 4})
  main("on_run", "wharf.lock('l', function() error('no') end)")
  test.eq(test.run("on_run").error.code, "workflow.failed") test.match(test.run("on_run").error.message, "no$")
  main("on_run", "wharf.lock('l', function() wharf.fail('no') end)") test.run("on_run")
  main("on_run", "return wharf.lock('l', function() return 'free' end)") test.eq(test.run("on_run").output, "free")
end)
test.case("differences", function()
  local a, b = {}, {} for i = 1, 11 do a["k" .. i] = 1 b["k" .. i] = 2 end
  test.raises(function() test.same(a, b) end, "and 3 more") test.raises(function() test.match(5, "5") end, "does not match")
end)
"""})
    told = cases(tmp_path)
    assert len(told) == 6 and {n: c["error"]["message"] for n, c in told.items() if c["status"] != "passed"} == {}


def test_budgets_are_those_of_the_trigger(tmp_path):
    """Section 6, class by class: what the last line of a pair does is one too many."""
    write(tmp_path, {"main.lua": "return {}", "main_test.lua": """
local CALLS = {api = "wharf.api.get('/v1/x')", http = "wharf.http.get('https://x')", mails = "wharf.mail.send{to = 'a', subject = 's', text = 't'}", emits = "wharf.emit('custom.a')"}
local MOST = {before = {api = 10, http = 0, mails = 0, emits = 0}, on_run = {api = 50, http = 10, mails = 5, emits = 20}, on_http = {api = 50, http = 10, mails = 5, emits = 20},
  on_event = {api = 500, http = 50, mails = 10, emits = 100}, on_schedule = {api = 500, http = 50, mails = 10, emits = 100}, after = {api = 500, http = 50, mails = 10, emits = 100}}
local function run(handler, code)
  test.api("GET", "*", {}) test.http("GET", "*", {})
  test.file("main", "return {" .. handler .. " = function() " .. code .. " end}")
  local r = test.run(handler, handler == "before" and test.change{resource = "location"} or {})
  return r.error and r.error.code or r.status
end
for handler, most in pairs(MOST) do
  for kind, n in pairs(most) do
    test.case(handler .. " " .. kind, function()
      local code = "for i = 1, %d do " .. CALLS[kind] .. " end"
      test.eq(run(handler, code:format(n)), "succeeded") test.eq(run(handler, code:format(n + 1)), "workflow.budget_calls")
    end)
  end
end
for _, c in ipairs {{"before", "on_run", "for i = 1, 1e6 do end", "instructions"}, {"on_run", "on_event", "for i = 1, 3e7 do end", "instructions"},
    {"before", "on_run", "return #('x'):rep(6 << 20)", "memory"}, {"on_run", "on_event", "return #('x'):rep(24 << 20)", "memory"}} do
  test.case(c[1] .. " " .. c[4], function() test.eq(run(c[1], c[3]), "workflow.budget_" .. c[4]) test.eq(run(c[2], c[3]), "succeeded") end)
end
test.case("results", function() test.eq(run("on_event", "return ('x'):rep(66000)"), "workflow.failed") test.eq(run("on_run", "return ('x'):rep(66000)"), "succeeded") end)
test.case("sleep", function() test.eq(run("on_run", "wharf.sleep(1)"), "workflow.failed") test.eq(run("on_schedule", "wharf.sleep(10000)"), "succeeded") end)
"""})
    told = cases(tmp_path)
    assert len(told) == 30 and {n: c["error"]["message"] for n, c in told.items() if c["status"] != "passed"} == {}


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
    r = lua("test", tmp_path, "--update", "--filter", "other")  # would leave only what it names
    assert r.returncode == 3 and "would be lost" in r.stderr
    write(tmp_path, {"main_test.lua": "test.case('s', function() test.snapshot('run', test.run('on_run', 2).output) end)"})
    assert "n: got 2, expected 1" in cases(tmp_path)["s"]["error"]["message"]


def test_a_test_that_never_ends_is_ended(tmp_path):
    """What no budget can end is ended from outside, and others go on."""
    write(tmp_path, {"a_test.lua": "test.case('a', function() end)", "b_test.lua": "test.case('b', function() return ('a'):rep(40000):find(('.-'):rep(8) .. 'b') end)",
                     "c_test.lua": "test.case('c', function() end)"})
    r = lua("test", ".", "--jobs", "1", "--timeout", "2", cwd=tmp_path)
    assert r.returncode == 2 and r.stdout == ("TAP version 14\n1..3\nok 1 - ./a_test.lua: a\nnot ok 2 - ./b_test.lua did not come to its end\n  ---\n"
                                              "  message: |\n    it did not end within 2 s (--timeout allows more)\n  ...\nok 3 - ./c_test.lua: c\n")
    suites = xml.fromstring(lua("test", ".", "--timeout", "1", "--format", "junit", cwd=tmp_path).stdout)
    assert [(s.get("name"), s.get("tests"), s.get("failures"), s.get("errors")) for s in suites] == [
        ("./a_test.lua", "1", "0", "0"), ("./b_test.lua", "1", "0", "1"), ("./c_test.lua", "1", "0", "0")]
    for wrong in ("0", "3601", "x", ""):
        assert lua("test", ".", "--timeout", wrong, cwd=tmp_path).returncode == 3


def test_more_files_than_there_may_be(tmp_path):
    """None is left out silently."""
    for n in range(5):
        write(tmp_path, {f"f{n}/{i}_test.lua": "test.case('a', function() end)" for i in range(401)})
    r = lua("test", *(f"f{n}" for n in range(5)), cwd=tmp_path)
    assert r.returncode == 3 and "more than 2000 test files" in r.stderr


def test_snapshots_that_cannot_be_written(tmp_path):
    write(tmp_path, {"main_test.lua": "test.case('s', function() test.snapshot('n', 1) end)", "__snapshots__/main_test_snap.lua/in_the_way": ""})
    r = lua("test", ".", "--update", cwd=tmp_path)
    assert r.returncode == 2 and "main_test_snap.lua" in r.stderr


def test_stock_hooks():
    """The rules that come with the server, by their own tests; against a server: tests/api/hooks/test_stock_hooks.py."""
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


def test_hooks_see_what_a_server_shows_and_gives_them(tmp_path):
    """No more: what a test lets pass and a server refuses would be found out too late."""
    write(tmp_path, {"10-a.lua": """
local seen
local function try(f, ...) local ok, e = pcall(f, ...) return ok and "went" or e end
local function all(ctx)
  return { actor = ctx.actor.type, run = ctx.run.depth, workflow = ctx.workflow == nil, settings = ctx.settings == nil, api = try(wharf.api.get, "/v1/a"), http = try(wharf.http.get, "https://a"),
    lock = try(wharf.lock, "l", function() end), sleep = try(wharf.sleep, 1), db = try(wharf.db.query, "SELECT"), kv = try(wharf.kv.get, "k"), emit = try(wharf.emit, "custom.a") }
end
wharf.hook.before("location", "create", function(change, ctx) change.input = all(ctx) end)
wharf.hook.route("GET", "/v1/x/a", {scope = "any", location = "none"}, function(r, ctx) return all(ctx) end)
wharf.hook.request(function(r, ctx) return { headers = all(ctx) } end)
wharf.hook.schedule("@daily", function(t, ctx) print(wharf.json.encode(all(ctx))) end)
""", "10-a_test.lua": """
test.before_each(function() test.api("*", "*", {}) test.http("*", "*", {}) test.db("*", {}) end)
local WAITS, BUSY, SLEEP = "can't wait for anything", "nobody else is asked", "can't sleep"
local function check(r, says)
  test.eq(r.actor, "user") test.eq(r.run, 0) test.ok(r.workflow and r.settings)
  for name, word in pairs(says) do test.match(r[name], word) end
end
test.case("before", function()
  check(test.run("before", test.change{resource = "location"}).input, {api = BUSY, http = BUSY, lock = BUSY, sleep = SLEEP, db = "went", kv = "went", emit = "went"})
end)
test.case("route", function()
  check(test.run("route", test.request{method = "GET", path = "/v1/x/a"}).output, {api = "went", http = "went", lock = "went", sleep = SLEEP, db = "went", kv = "went", emit = "went"})
end)
test.case("request", function()
  check(test.run("request", test.request{path = "/"}).output.headers, {api = WAITS, http = WAITS, lock = WAITS, sleep = SLEEP, db = WAITS, kv = WAITS, emit = WAITS})
end)
test.case("schedule", function()
  check(wharf.json.decode(test.run("on_schedule", {}).logs[1].message), {api = "went", http = "went", lock = "went", sleep = "went", db = "went", kv = "went", emit = "went"})
end)
"""})
    assert {n: c.get("error", {}).get("message") for n, c in cases(tmp_path).items()} == {"before": None, "route": None, "request": None, "schedule": None}


def test_what_hooks_are_not_shown_is_not_in_tests_either(tmp_path):
    """Of a workflow; the operator's see all. Else a rule that reads it would be green, and fail on the server."""
    case = """
test.case("x", function()
  local c = test.change{resource = "print_job", input = {name = "a", data = "aGk="}}
  test.same({c.input.name, c.input.data or "-", c.without or "-"}, SEEN)
  test.eq(test.change{resource = "print_job", input = {name = "a"}}.without, nil)
end)"""
    write(tmp_path, {"w/main.lua": "return {}", "w/main_test.lua": case.replace("SEEN", '{"a", "-", {"data"}}'),
                     "h/10-a.lua": "", "h/10-a_test.lua": case.replace("SEEN", '{"a", "aGk=", "-"}')})
    for folder in ("w", "h"):
        assert [(c["status"], c.get("error")) for c in cases(tmp_path / folder).values()] == [("passed", None)]


def test_hooks_in_the_way_of_a_server(tmp_path):
    write(tmp_path, {"10-a.lua": """
wharf.hook.before("location", "create", function(c) c.input.url = wharf.config("erp.url") error("no") end, {on_error = "ignore"})
wharf.hook.before("location", "create", function(c) c.input.rows = {wharf.db.exec("UPDATE x RETURNING 1", 5)} wharf.metrics.count("seen", 2, {a = 1}) end)
wharf.hook.route("GET", "/v1/x/:a/b", {scope = "any", location = "none"}, function() return "capture first" end)
wharf.hook.route("GET", "/v1/x/a/:b", {scope = "any", location = "none"}, function() return "word first" end)
wharf.hook.route("GET", "/v1/x/:one/:two", {scope = "any", location = "none"}, function() return "any" end)
""", "10-a_test.lua": """
test.case("before", function()
  test.config("erp.url", "https://erp") test.db("UPDATE*", function(call) test.same(call.values, {5}) return {{id = "a"}, {id = "b"}} end)
  local r = test.run("before", test.change{resource = "location"})
  test.eq(r.input.url, "https://erp") test.same(r.input.rows, {2, {{id = "a"}, {id = "b"}}})
  test.same(r.metrics, {{kind = "count", name = "seen", n = 2, labels = {a = "1"}}})
end)
test.case("routes", function()
  for path, told in pairs {["/v1/x/a/b"] = "word first", ["/v1/x/c/b"] = "capture first", ["/v1/x/c/d"] = "any"} do
    test.eq(test.run("route", test.request{method = "GET", path = path}).output, told)
  end
end)
test.case("options", function()
  for _, call in ipairs {"before('location', 'create', print, {prio = 1})", "on_event('*', print, {every = 1})", "schedule('@daily', print, {zone = 1})",
      "route('GET', '/v1/x/a', {scope = 'any', location = 'none', tags = 1}, print)", "request(print, {last = true})"} do
    test.file("10-a", "wharf.hook." .. call)
    test.match(test.run("before", test.change{resource = "location"}).error.message, "there is no option")
  end
end)
"""})
    assert {n: c.get("error", {}).get("message") for n, c in cases(tmp_path).items()} == {"before": None, "routes": None, "options": None}


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


def test_the_folder_says_what_runs_may(tmp_path):
    """Scopes, hosts and settings of workflow.json hold as they do on the server; a folder without it is asked nothing."""
    main = """local M = {}
function M.on_run(input, ctx)
  local data, err, meta = wharf.api[input.verb or "get"](input.path, input.body)
  return {data = data, code = err and err.code, status = err and err.status, message = err and err.message, settings = ctx.settings}
end
function M.on_event(ev) local res, err = wharf.http.get(ev.url) return res and res.status or err.code end
return M
"""
    tests = """
local function ask(verb, path, body) test.api("*", "*", {data = {}}) return test.run("on_run", {verb = verb, path = path, body = body}).output end
test.case("reads and writes", function()
  test.same(ask("get", "/v1/locations"), {data = {}, settings = {a = 1}})
  test.eq(ask("get", "/v1/locations/loc_1?x=y").code, nil) test.eq(ask("post", "/v1/locations/loc_1", {name = "N"}).code, nil)
  test.eq(ask("get", "/v1/shipments").code, nil)
end)
test.case("what was not asked for", function()
  local out = ask("post", "/v1/shipments/shp_1", {})
  test.eq(out.code, "scope_access") test.eq(out.status, 403) test.match(out.message, "no scope shipments:write")
  test.eq(ask("get", "/v1/users").code, "scope_access") test.eq(ask("get", "/v1/parcels").code, "scope_access")
end)
test.case("what no module has", function() test.eq(ask("get", "/v1/x/docks").code, nil) end)
test.case("hosts", function()
  test.http("GET", "*", {status = 204})
  for url, told in pairs{["https://erp.example.com/a"] = 204, ["https://ERP.example.com:8443/"] = 204, ["https://a.b.example.org/"] = 204, ["https://example.org/"] = "http.host_not_allowed",
    ["https://erp.example.com.evil/"] = "http.host_not_allowed", ["https://other.example.com/"] = "http.host_not_allowed"} do test.eq(test.run("on_event", {url = url}).output, told) end
end)
test.case("settings of a case", function() test.settings{b = 2} test.same(ask("get", "/v1/locations").settings, {b = 2}) end)
"""
    flow = {"name": "F", "scopes": ["locations:write", "shipments:read"], "http_hosts": ["erp.example.com", "*.example.org"], "settings": {"a": 1}}
    write(tmp_path, {"f/main.lua": main, "f/main_test.lua": tests, "f/workflow.json": json.dumps(flow)})
    told = cases(tmp_path / "f")
    assert len(told) == 5 and {n: c["error"]["message"] for n, c in told.items() if c["status"] != "passed"} == {}
    write(tmp_path, {"in.json": '{"path": "/v1/users"}', "stubs.lua": "test.api('GET', '*', {data = {}})"})
    args = ("run", tmp_path / "f", "--trigger", "manual", "--input", tmp_path / "in.json", "--stubs", tmp_path / "stubs.lua")
    out = json.loads(lua(*args).stdout)["output"]
    assert out["code"] == "scope_access" and out["settings"] == {"a": 1}
    (tmp_path / "f/workflow.json").unlink()
    told = cases(tmp_path / "f")
    assert {n for n, c in told.items() if c["status"] == "failed"} == {"reads and writes", "what was not asked for", "hosts"}
    assert json.loads(lua(*args).stdout)["output"].get("code") is None


def test_a_failed_case_tells_what_its_runs_did(tmp_path):
    write(tmp_path, {"main.lua": """return {
on_run = function(input)
  print("got", type(input.n))
  wharf.log.warn("before it breaks", {n = input.n})
  return input.n.x.y
end}
""", "main_test.lua": "test.case('breaks', function() test.eq(test.run('on_run', {n = {}}).output, 1) end)\ntest.case('good', function() test.run('on_run', {n = {x = {y = 1}}}) end)\n"})
    r = lua("test", ".", cwd=tmp_path)
    assert r.returncode == 1 and r.stdout.endswith("""
  at: main_test.lua:1
  runs: |
    on_run failed: main.lua:5: attempt to index a nil value (field 'x')
      info main.lua:3: got\ttable
      warn main.lua:4: before it breaks {"n":{}}
  ...
ok 2 - ./main_test.lua: good
"""), r.stdout
    out = xml.fromstring(lua("test", ".", "--format", "junit", cwd=tmp_path).stdout).find(".//system-out").text
    assert "on_run failed: main.lua:5" in out and "before it breaks" in out
    told = cases(tmp_path)
    assert [(x["handler"], x["status"], x["error"]["line"], [line["message"][:3] for line in x["logs"]]) for x in told["breaks"]["runs"]] == [("on_run", "failed", 5, ["got", "bef"])]
    assert "runs" not in told["good"]
    write(tmp_path, {"main_test.lua": "test.case('many', function() for i = 1, 9 do test.run('on_run', {n = {x = {y = i}}}) end test.eq(1, 2) end)\n"})
    assert len(cases(tmp_path)["many"]["runs"]) == 5
