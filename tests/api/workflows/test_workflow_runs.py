"""Runs of workflows while their caller waits (spec 08 sections 3, 5, 6 and 7): what they may do, how they end, what is kept of them."""
import concurrent.futures
import time

import pytest

from receivers import until
from wharf import Client, make_location

FLOWS = "/v1/workflows"


def asked(client, id, body, expect=200):
    r = client.request("POST", f"{FLOWS}/{id}/run", body)
    assert r.status == expect, r
    return r


@pytest.fixture
def run(client):
    """Publishes the body of a handler and runs it."""
    made = []

    def one(body, input=None, expect=200, scopes=(), caller=None, files=None, **more):
        row = client.post(FLOWS, {"name": f"Flow {len(made)}", "source": f"local M = {{}} function M.on_run(input, ctx)\n{body}\nend return M",
                                  "triggers": [{"type": "manual"}], "scopes": list(scopes), "files": files or {}}, expect=201).data
        made.append(row["id"])
        client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
        return asked(caller or client, row["id"], {"input": input if input is not None else {}, **more}, expect)
    yield one
    for id in made:
        client.delete(f"{FLOWS}/{id}")


def test_a_run_and_its_record(client, run):
    r = run("print('working', input.n)\nwharf.log.warn('careful', {n = input.n})\nreturn {twice = input.n * 2, seed = ctx.run.seed}", {"n": 21}).data
    assert r["object"] == "workflow_run" and r["id"].startswith("wkf_run_") and r["status"] == "succeeded" and r["error"] is None
    assert r["output"] == {"value": {"twice": 42, "seed": int(r["seed"])}} and r["input"] == {"value": {"n": 21}}
    assert r["actor"] == {"type": "workflow", "id": r["workflow_id"], "name": client.get(f"{FLOWS}/{r['workflow_id']}").data["name"]}
    assert r["trigger"] == {"type": "manual"} and r["version"] == 1 and r["attempt"] == 1 and r["key"] == r["id"] and r["depth"] == 0
    assert [(line["level"], line["message"], line["fields"], line["file"], line["line"]) for line in r["logs"]] == [
        ("info", "working\t21", None, "main.lua", 2), ("warn", "careful", {"n": 21}, "main.lua", 3)]
    assert r["usage"]["memory_peak"] > 10000 and r["usage"]["api_calls"] == 0 and r["duration_ms"] < 10000
    assert client.get(f"{FLOWS}/runs/{r['id']}").data == r
    listed = client.get(f"{FLOWS}/{r['workflow_id']}/runs").data
    assert [x["id"] for x in listed] == [r["id"]] and "logs" not in listed[0]
    assert client.get(f"{FLOWS}/{r['workflow_id']}/runs?status=failed").data == []
    client.refused("GET", f"{FLOWS}/runs/wkf_run_0000000000000000000000", 404, "not_found")


def test_lines_have_an_end(run):
    """Section 5, wharf.log: fields count; what grows past the room when it becomes JSON ends with a line that says so."""
    lines = run("for i = 1, 600 do wharf.log.debug('m', {t = ('x'):rep(4000)}) end").data["logs"]
    assert len(lines) == 66 and all(line["level"] == "debug" and len(line["fields"]["t"]) == 4000 for line in lines[:-1])
    assert (lines[-1]["level"], lines[-1]["message"], lines[-1]["file"], lines[-1]["line"]) == ("warn", "truncated: a run logs at most 500 lines and 256 KiB", "main.lua", 2)
    lines = run("for i = 1, 600 do wharf.log.error('m', {t = ('x'):rep(5000)}) end").data["logs"]
    assert len(lines) == 65 and all(set(line["fields"]) == {"truncated"} and line["fields"]["truncated"].endswith("xxx …") for line in lines[:-1])
    lines = run("for i = 1, 60 do wharf.log.info(('\\1'):rep(4000)) end").data["logs"]
    assert 10 < len(lines) < 20 and lines[0]["message"] == "\1" * 4000
    assert {**lines[-1], "at": ""} == {"at": "", "level": "warn", "message": "truncated: the lines of a run are at most 300 KiB of JSON", "fields": None, "file": "main.lua", "line": 2}


def test_how_runs_end(client, org, run):
    reader = org.client("workflow:read")
    for body, status, code, error in (
            ("error('broken')", 400, "workflow.failed", "main.lua:2: broken"),
            ("local x = nil; return x.y", 400, "workflow.failed", "main.lua:2: attempt to index a nil value (local 'x')"),
            ("while true do pcall(function() while true do end end) end", 400, "workflow.budget_instructions", "main.lua:2"),
            ("local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end", 400, "workflow.budget_memory", "main.lua:2"),
            ("for i = 1, 60 do wharf.api.get('/v1/locations') end", 400, "workflow.budget_calls", "main.lua:2"),
            ("wharf.reject('no_stock', 'nothing left', 'quantity')", 400, "workflow.rejected", "quantity"),
            ("wharf.fail('later')", 400, "workflow.failed", "main.lua:2: later"),
            ("return ('x'):rep(1100000)", 400, "workflow.failed", "the result is larger than 1048576 bytes"),
            ("return print", 400, "workflow.failed", "a function can't be written as JSON"),
            ("return {lines = {1, {total = print}}}", 400, "workflow.failed", "a function can't be written as JSON (at lines[2].total)"),
            ("return {a = {{b = 0/0}}}", 400, "workflow.failed", "NaN and infinite numbers can't be written as JSON (at a[1].b)"),
            ("return {[('x'):rep(70)] = {[{}] = 1}}", 400, "workflow.failed", "keys are strings, or 1, 2, 3 … (at …)"),
            ("return {deep = {'\\xff'}}", 400, "workflow.failed", "use wharf.base64.encode (at deep[1])")):
        r = run(body, expect=status)
        assert r.code == code and any(error in e for e in r.errors), (body, r.code, r.errors)
        kept = client.get(f"{FLOWS}/{r.message.split()[-1].rstrip(')')}/runs").data[0]
        kept = client.get(f"{FLOWS}/runs/{kept['id']}").data
        assert kept["status"] == ("rejected" if code == "workflow.rejected" else "failed") and kept["error"]["code"] == code
        assert kept["output"] is None and kept["id"] in r.message
    r = run("error({code = 'stock.empty', message = 'nothing left', status = 409})", expect=400)
    assert "custom.stock.empty" in r.errors and r.message.startswith("nothing left (run wkf_run_")
    r = run("\nerror('secret place')", expect=400, caller=reader)
    assert not r.errors and r.message.startswith("secret place (run ")  # where it went wrong is for authors
    r = client.get(f"{FLOWS}/runs/{r.message.split('(run ')[1].split()[0]}").data
    assert r["error"]["line"] == 3 and r["error"]["traceback"][0]["function"] == "on_run"
    assert [line["line"] for line in r["error"]["snippet"]] == [1, 2, 3, 4]


def test_the_api_from_inside(client, org, run):
    r = run("""local made = assert(wharf.api.post('/v1/locations', {name = input.name, address = input.address}))
local same, err, meta = wharf.api.get('/v1/locations/' .. made.id)
local _, missing = wharf.api.get('/v1/locations/loc_0000000000000000000000')
local _, bad = wharf.api.post('/v1/locations', {})
local names = {} for l in wharf.api.list('/v1/locations', {search = input.name}) do names[#names + 1] = l.name end
return {id = made.id, same = same.id == made.id, status = meta.status, missing = {missing.code, missing.status}, bad = bad.code, names = names}""",
            {"name": "Made inside", "address": "1 Main St, Springfield, IL 62701, US"}, scopes=["locations:write"]).data
    out = r["output"]["value"]
    assert out["same"] and out["status"] == 200 and out["missing"] == ["not_found", 404] and out["bad"] == "validation.failed"
    assert out["names"] == ["Made inside"] and r["usage"]["api_calls"] == 5
    assert client.get(f"/v1/locations/{out['id']}").data["name"] == "Made inside"
    (actor,) = org.server.sql("SELECT actor_type || ' ' || actor_id FROM wharf.event WHERE resource_id = %s", out["id"])[0]
    assert actor == f"workflow {r['workflow_id']}"


def test_rights(client, org, run):
    here, there = make_location(client, "R here")["id"], make_location(client, "R there")["id"]
    look = "local d, e = wharf.api.get('/v1/locations/' .. input.id) return e and e.code or d.id"
    reader = org.client("workflow:read")
    assert run(look, {"id": here}, scopes=["locations:read"], caller=reader).data["output"]["value"] == here  # the caller needs workflow:read alone
    assert run(look, {"id": here}).data["output"]["value"] == "scope_access"  # what is not in scopes is refused
    bound = org.client("workflow:read", locations=[here])
    assert run(look, {"id": there}, scopes=["locations:read"], caller=bound).data["output"]["value"] == "location_access"
    kernel = "local d, e = wharf.api.get('/v1/openapi.json') return e.code"
    assert run(kernel, scopes=["locations:read"]).data["output"]["value"] == "route.not_found"


# Where C functions lie tells processes apart.
POKE = """local seen, parts = {}, {_G = _G, string = string, math = math, table = table, utf8 = utf8, os = os, coroutine = coroutine, wharf = wharf, json = wharf.json,
  text = wharf.text, time = wharf.time, kv = wharf.kv, lib = require("lib"), null = wharf.null, meta = getmetatable("")}
if input.leave then
  wharf.log.info(tostring(string.find))
  if input.leave == "instructions" then while true do end end
  if input.leave == "memory" then local t = {} while true do t[#t + 1] = ("x"):rep(1000000) .. #t end end
  error("left")
end
for name, part in pairs(parts) do
  local ok, v = pcall(function() return part.planted end)
  if ok and v then seen[#seen + 1] = name end
  pcall(function() part.planted = true end)
  pcall(rawset, part, "planted", true)
  pcall(rawset, part, 1, "planted")
  pcall(setmetatable, part, {__index = function() return "planted" end})
end
pcall(function() string.find = nil math.random = function() return "planted" end _G.print = nil wharf.api = nil end)
local held = coroutine.wrap(function() local x <close> = setmetatable({}, {__close = function() seen[#seen + 1] = "closed" end}) coroutine.yield() end)
held()
big = ("x"):rep(1000000)
return {seen = #seen > 0 and table.concat(seen, " ") or "", own = big and #big, random = wharf.crypto.uuid(), where = input.where}"""


def test_runs_of_a_process_do_not_meet(client):
    """The process of a short run does further runs of the same version: each finds everything as new, and none after one that went over a limit."""
    row = client.post(FLOWS, {"name": "Poke", "triggers": [{"type": "manual"}], "files": {"lib": "return {}"},
                              "source": f"return {{on_run = function(input, ctx) local where = tostring(string.find)\ninput.where = where\n{POKE} end}}"}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)

    def poke():
        out = asked(client, row["id"], {"input": {}}).data["output"]["value"]
        assert out["seen"] == "" and out["own"] == 1000000, out
        return out["where"], out["random"]
    told = [poke() for _ in range(25)]
    while len({where for where, _ in told}) == len(told):  # a slow one is the last of its process
        told.append(poke())
        assert len(told) < 300, "no process did a second run"
    assert len({random for _, random in told}) == len(told)
    left = set()
    for how, status in (("instructions", "workflow.budget_instructions"), ("memory", "workflow.budget_memory")):
        for _ in range(4):
            r = asked(client, row["id"], {"input": {"leave": how}}, 400)
            assert r.code == status
            (line,) = client.get(f"{FLOWS}/runs/{r.message.split('(run ')[1].split()[0]}").data["logs"]
            assert line["message"] not in left
            left.add(line["message"])
    assert not left & {poke()[0] for _ in range(20)}
    # another workflow, and another version of this one, have processes of their own
    mine = {poke()[0] for _ in range(10)}
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    assert not mine & {poke()[0] for _ in range(10)}


def test_a_publisher_who_is_gone(client, org):
    key = client.post("/v1/api-keys", {"name": "publisher", "scopes": ["workflow:write", "locations:write"]}, expect=201).data
    hook = {"type": "hook", "resource": "location", "action": "create", "phase": "before"}
    row = client.post(FLOWS, {"name": "Orphan", "triggers": [{"type": "manual"}, {"type": "http", "path": "x"}, hook], "retry": {"max": 3, "waits": [0]},
                              "source": "return {on_run = function(i) if i.fail then error('no') end return 1 end, on_http = function() return 1 end, before = function() end}"}, expect=201).data
    Client(org.server, key["api_key"]).post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    asked(client, row["id"], {})
    asked(client, row["id"], {"input": {"fail": True}}, 400)
    failed = client.get(f"{FLOWS}/{row['id']}/runs?status=failed").ids[0]
    make_location(client, "Published")
    client.delete(f"/v1/api-keys/{key['id']}")
    client.refused("POST", f"{FLOWS}/{row['id']}/run", 409, "workflow.publisher_inactive", body={})
    client.refused("POST", f"{FLOWS}/{row['id']}/http/x", 409, "workflow.publisher_inactive", body={})
    r = client.refused("POST", "/v1/locations", 400, "workflow.hook_failed", body={"name": "Orphaned", "address": "1 Main St, Springfield, IL 62701, US"})
    queued = client.post(f"{FLOWS}/runs/{failed}/retry", {}, expect=202).data["id"]
    until(lambda: client.get(f"{FLOWS}/runs/{queued}").data["status"] == "failed")
    for id in (queued, r.message.split("(run ")[1].split()[0]):  # also of runs that nobody waits for: that no further attempt changes anything
        run = client.get(f"{FLOWS}/runs/{id}").data
        assert (run["status"], run["error"]["code"], run["attempt"]) == ("failed", "workflow.publisher_inactive", 1), run["error"]
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    client.post(f"{FLOWS}/{row['id']}", {"enabled": False}, expect=200)
    client.refused("POST", f"{FLOWS}/{row['id']}/run", 409, "workflow.disabled", body={})


def test_the_store(client, run):
    r = run("""local kv = wharf.kv
local out = {kv.get('a') == nil, kv.set('a', {1}), kv.get('a')[1], kv.set('a', 2, {if_absent = true}), kv.incr('n', 5), kv.incr('n'), kv.cas('n', 6, 'x'),
  kv.cas('n', 6, 'y'), kv.cas('new', nil, 1), kv.cas('new', nil, 2), kv.get('n'), kv.delete('a'), kv.delete('a'), #kv.list(''), kv.list('ne')[1].key}
kv.set('gone', 1, {ttl = -1})
out[#out + 1] = kv.get('gone') == nil
out[#out + 1] = kv.set('gone', 2, {if_absent = true})
out[#out + 1] = pcall(kv.incr, 'n')
kv.set('null', wharf.null)
out[#out + 1] = kv.get('null') == wharf.null
return out""").data
    assert r["output"]["value"] == [True, True, 1, False, 5, 6, True, False, True, False, "x", True, False, 2, "new", True, True, False, True]


def test_the_store_from_outside(client):
    row = client.post(FLOWS, {"name": "Store", "triggers": [{"type": "manual"}], "source": """return {on_run = function(input)
  for i = 1, input.n do wharf.kv.set("k" .. i, ("x"):rep(input.size)) end
  return #wharf.kv.list("", 1000)
end}"""}, expect=201).data
    path = f"{FLOWS}/{row['id']}"
    client.post(path + "/publish", {}, expect=200)
    assert asked(client, row["id"], {"input": {"n": 3, "size": 2}}).data["output"]["value"] == 3
    assert client.get(path + "/kv").data[0] == {"key": "k1", "value": "xx", "expires_at": None} and len(client.get(path + "/kv?limit=2").data) == 2
    assert client.get(path + "/kv/k2").data["value"] == "xx"
    assert client.delete(path + "/kv/k2").data == {"deleted": 1}
    client.refused("GET", path + "/kv/k2", 404, "not_found")
    client.refused("DELETE", path + "/kv/k2", 404, "not_found")
    assert client.delete(path + "/kv").data == {"deleted": 2} and client.get(path + "/kv").data == []
    r = asked(client, row["id"], {"input": {"n": 1, "size": 70000}}, 400)
    assert "64 KiB" in r.message
    r = asked(client, row["id"], {"input": {"n": 200, "size": 64000}}, 400)
    assert "kv.full" in r.message and len(client.get(path + "/kv?limit=1000").data) == 163


def test_files_and_zones(run):
    r = run("local lib = require('lib.sum') return {lib(1, 2), wharf.time.format(0, '%H', 'Europe/Berlin')}", files={"lib.sum": "return function(a, b) return a + b end"})
    assert r.data["output"]["value"] == [3, "01"]


def test_runs_do_not_see_each_other(client):
    row = client.post(FLOWS, {"name": "Alone", "source": "return {on_run = function(i) x = (x or 0) + 1 string.y = (string.y or 0) + 1 return {x, string.y} end}",
                              "triggers": [{"type": "manual"}]}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: asked(client, row["id"], {}), range(24)))
    assert all(a.data["output"]["value"] == [1, 1] for a in answers)


def test_endless_runs_leave_room_for_others(client, location):
    """However many are asked for, threads are left for everything else, and each gets its turn."""
    flow = client.post(FLOWS, {"name": "Endless", "source": "local M = {} function M.on_run() return ('a'):rep(40000):find(('.-'):rep(8) .. 'b') end return M",
                               "triggers": [{"type": "manual"}], "budget": {"time_ms": 500}}, expect=201).data["id"]
    client.post(f"{FLOWS}/{flow}/publish", {}, expect=200)
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        runs = [pool.submit(Client(client.server, client.key).request, "POST", f"{FLOWS}/{flow}/run", {}) for _ in range(40)]
        for _ in range(20):
            client.get(f"/v1/locations/{location['id']}", expect=200)
        codes = [r.result().code for r in runs]
    assert set(codes) == {"workflow.budget_time"}, codes
    client.delete(f"{FLOWS}/{flow}", expect=200)


def test_versions_that_are_kept(server):
    """The last hundred: what is older can not be published again."""
    client = server.organization().client()
    id = client.post(FLOWS, {"name": "Often", "source": "return {}"}, expect=201).data["id"]
    for _ in range(2):
        client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    server.sql("UPDATE workflows.version SET number = 100 WHERE workflow_id = %s AND number = 2", id)
    server.sql("UPDATE workflows.workflow SET published_version = 100 WHERE id = %s", id)
    client.get(f"{FLOWS}/{id}/versions/1")
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    assert [v["version"] for v in client.get(f"{FLOWS}/{id}/versions").data] == [101, 100]
    client.refused("GET", f"{FLOWS}/{id}/versions/1", 404, "not_found")
    client.refused("POST", f"{FLOWS}/{id}/publish", 404, "not_found", body={"version": 1})


def test_how_much_a_store_holds(server):
    """10 MiB in all; what is replaced counts once, and what is deleted makes room."""
    client = server.organization().client()
    row = client.post(FLOWS, {"name": "Store", "triggers": [{"type": "manual"}], "source": """return {on_run = function(input)
  local value = ("x"):rep(65000)
  for i = input.from, input.to do wharf.kv.set("k" .. i, value) end
  if input.drop then wharf.kv.delete(input.drop) end
  return true
end}"""}, expect=201).data["id"]
    client.post(f"{FLOWS}/{row}/publish", {}, expect=200)
    for first in range(1, 161, 40):
        asked(client, row, {"input": {"from": first, "to": first + 39}})
    asked(client, row, {"input": {"from": 1, "to": 1}})
    full = asked(client, row, {"input": {"from": 161, "to": 170}}, expect=400)
    assert "10 MiB" in full.message, full
    asked(client, row, {"input": {"from": 1, "to": 0, "drop": "k1"}})
    asked(client, row, {"input": {"from": 2, "to": 2}})
