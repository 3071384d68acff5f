"""What operators' hooks may ask for (spec 08 sections 5 and 9, docs/reference/lua-hooks.md): settings, secrets, the store, locks, metrics, other organizations, writing SQL."""
import concurrent.futures
import re
import subprocess
import threading
import time

import pytest
import requests

from hook_folder import Folder, hooks, lines, place, system, until  # noqa: F401  (fixtures among them)
from outside import Silent
from receivers import until as waited_for
from wharf import WAIT, Client, Server, make_location

SECRET = "s3cret-t0ken"


@pytest.fixture(scope="module")
def server(place):
    s = Server("--modules", "org,locations,contacts,events", "--set", f"lua_hooks.dir={place}", "--set", "workers=2", "--set", "lua_hooks.allow_write=true",
               "--set", "lua_hooks.query_ms=25000", "--set", "lua_hooks.unsafe=true", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true", "--set", "hook_settings.erp.url=https://erp.example.com", "--set", "hook_settings.days=3",
               "--set", f"hook_secrets.erp_token={SECRET}", env={"WHARF_HOOK_SECRETS_OTHER": "from the environment"})
    yield s
    s.stop()


# A route that runs what it is sent, so that one load serves many cases; the names of the library have to be in its text.
RUN = """
local cases = {
%s
}
wharf.hook.route("POST", "/v1/x/run/:case", { scope = "any", location = "none", timeout_ms = 30000 }, function(request, ctx) return { result = cases[request.params.case](request.json, ctx) } end)
wharf.hook.route("POST", "/v1/x/public/:case", { scope = "public", location = "none" }, function(request, ctx) return { result = cases[request.params.case](request.json, ctx) } end)
"""


class Runner:
    def __init__(self, hooks, client, cases):
        self.client = client
        hooks.load({"10-run.lua": RUN % "\n".join(f"  {name} = function(i, ctx) {text} end," for name, text in cases.items())})

    def __call__(self, case, body=None, client=None, public=False):
        r = (client or self.client).request("POST", f"/v1/x/{'public' if public else 'run'}/{case}", body or {}, key=not public, expect=200)
        return r.data.get("result")


def test_settings_and_secrets(hooks, client, server):
    run = Runner(hooks, client, {
        "config": "return { wharf.config('erp.url'), wharf.config('days'), wharf.config('erp').url, wharf.config('nothing.here') == nil }",
        "secret": "return { wharf.secret('ERP_TOKEN'), wharf.secret('erp_token'), wharf.secret('OTHER'), (select(2, pcall(wharf.secret, 'NONE'))) }",
        "log": "wharf.log.info('the token is ' .. wharf.secret('ERP_TOKEN'), { again = wharf.secret('ERP_TOKEN') }) return 1",
        "raise": "error('no ' .. wharf.secret('ERP_TOKEN'))",
        "cut_line": "wharf.log.info(('x'):rep(4096 - i.n) .. wharf.secret('ERP_TOKEN') .. ('y'):rep(100)) return 1",
        "cut_fields": "wharf.log.info('m', { t = ('x'):rep(4088 - i.n) .. wharf.secret('ERP_TOKEN') .. ('y'):rep(100) }) return 1",
        "cut_error": "error(('x'):rep(1024 - i.n) .. wharf.secret('ERP_TOKEN') .. ('y'):rep(100))",
    })
    assert run("config") == ["https://erp.example.com", 3, "https://erp.example.com", True]
    told = run("secret")
    assert told[:3] == [SECRET, SECRET, "from the environment"] and "secret.missing" in told[3]
    run("log")
    client.refused("POST", "/v1/x/run/raise", 500, "internal", [], {})
    until(lambda: any("the token is [secret:erp_token]" in m and '"again":"[secret:erp_token]"' in m for m in lines(server, "lua.log")), "the line is not in the log")
    until(lambda: any("no [secret:erp_token]" in m for m in lines(server, "lua.hook_failed")), "the failure is not in the log")
    for back in (2, 8, 10, 14, 16, 20):  # what is cut may end inside of a secret
        run("cut_line", {"n": back})
        run("cut_fields", {"n": back})
        client.refused("POST", "/v1/x/run/cut_error", 500, "internal", [], {"n": back})
    until(lambda: sum("xxx" in m for m in lines(server, "lua.log")) == 12 and sum("xxx" in m for m in lines(server, "lua.hook_failed")) == 6, "the lines are not in the log")
    told = (server.folder / "wharf.log").read_text()
    assert "xx[secret:erp_token]" in told and "xx" + SECRET[0] not in told and SECRET not in told


def test_a_file_that_can_not_be_loaded_tells_no_secret(hooks, server):
    told = hooks.load({"10-run.lua": "error('the token ' .. wharf.secret('ERP_TOKEN') .. ' is old')"}, good=False)
    assert told["last_error"]["message"] == "the token [secret:erp_token] is old"
    until(lambda: any("the token [secret:erp_token] is old" in m for m in lines(server, "lua.not_loaded")), "the line is not in the log")
    assert SECRET not in (server.folder / "wharf.log").read_text()


def test_the_store(hooks, client, server):
    run = Runner(hooks, client, {
        "set": "return wharf.kv.set(i.key, i.value, { ttl = i.ttl, if_absent = i.if_absent })",
        "get": "local v = wharf.kv.get(i.key) if v == nil then return 'nothing' end return v",
        "incr": "return wharf.kv.incr(i.key, i.n)",
        "cas": "return wharf.kv.cas(i.key, i.old, i.new)",
        "delete": "return wharf.kv.delete(i.key)",
        "list": "return wharf.kv.list(i.prefix, i.limit)",
        "wrong": "return (select(2, pcall(wharf.kv.incr, 'a', 1)))",
        "large": "return (select(2, pcall(wharf.kv.set, 'b', string.rep('x', 65536))))",
    })
    assert run("get", {"key": "a"}) == "nothing" and run("set", {"key": "a", "value": {"x": [1, 2]}}) is True and run("get", {"key": "a"}) == {"x": [1, 2]}
    assert run("set", {"key": "a", "value": 1, "if_absent": True}) is False and "no whole number" in run("wrong") and "64 KiB" in run("large")
    assert run("cas", {"key": "a", "old": {"x": [1, 2]}, "new": "b"}) is True and run("cas", {"key": "a", "old": 1, "new": 2}) is False
    assert run("cas", {"key": "n", "new": 5}) is True and run("cas", {"key": "n", "new": 6}) is False and run("incr", {"key": "n", "n": 3}) == 8
    assert run("list", {"prefix": "", "limit": 10}) == [{"key": "a", "value": "b"}, {"key": "n", "value": 8}] and [e["key"] for e in run("list", {"prefix": "n"})] == ["n"]
    other = server.organization().client()
    assert run("get", {"key": "a"}, client=other) == "nothing"
    assert run("delete", {"key": "a"}) is True and run("delete", {"key": "a"}) is False
    run("set", {"key": "short", "value": 1, "ttl": 3600})
    server.sql("UPDATE wharf.hook_kv SET expires_at = now() - interval '1 second' WHERE key = 'short'")
    run("set", {"key": "count", "value": 1, "ttl": 3600})
    assert run("incr", {"key": "count"}) == 2 and server.sql("SELECT expires_at > now() FROM wharf.hook_kv WHERE key = 'count'") == [(True,)]  # its end stays
    assert run("get", {"key": "short"}) == "nothing" and run("set", {"key": "short", "value": 2, "if_absent": True}) is True
    threads = [threading.Thread(target=lambda: [run("incr", {"key": "many"}, client=None) for _ in range(10)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert run("get", {"key": "many"}) == 40


def test_times_and_numbers_of_the_store(hooks, server):
    """As in the store of a workflow: milliseconds count, sums stay numbers of 64 bits."""
    org = server.organization()
    run = Runner(hooks, org.client(), {"all": """
local kv, out = wharf.kv, {}
kv.set('half', 1, {ttl = 1.5}) kv.incr('n', 1, {ttl = 0.5}) kv.set('long', 1, {ttl = 1e9}) kv.set('gone', 1, {ttl = -0.5})
for i, fn in ipairs {function() kv.set('x', 1, {ttl = 1e18}) end, function() kv.set('x', 1, {ttl = 'soon'}) end, function() kv.incr('x', 1, {ttl = -1e300}) end} do
  out[i] = select(2, pcall(fn))
end
kv.set('big', math.maxinteger - 1) out[4] = kv.incr('big') == math.maxinteger
out[5] = select(2, pcall(kv.incr, 'big')) out[6] = kv.incr('big', math.mininteger) out[7] = kv.get('big')
kv.set('text', 'x') out[8] = select(2, pcall(kv.incr, 'text')) out[9] = kv.get('gone') == nil and kv.get('x') == nil
return out"""})
    out = run("all")
    assert all("ttl is a number of seconds, at most those of 100 years (param.invalid)" in m for m in out[:3]), out
    assert out[3] is True and "64 bits (param.invalid)" in out[4] and out[5:7] == [-1, -1] and "kv.not_a_number" in out[7] and out[8] is True, out
    ends = dict(server.sql("SELECT key, extract(epoch FROM expires_at - wharf.now()) FROM wharf.hook_kv WHERE organization_id = %s AND expires_at IS NOT NULL", org.id))
    assert round(ends["half"] - ends["n"], 2) == 1 and ends["long"] > 9e8


def test_how_much_the_store_holds(hooks, server):
    org = server.organization()
    run = Runner(hooks, org.client(), {
        "fill": "for n = 1, i.n do wharf.kv.set('k' .. n, ('x'):rep(64000)) end return 'went'",
        "more": "return (select(2, pcall(wharf.kv.set, 'one', ('x'):rep(64000))))",
        "cas": "return (select(2, pcall(wharf.kv.cas, 'one', nil, ('x'):rep(64000))))",
        "again": "return wharf.kv.set('k1', ('y'):rep(64000))",
        "delete": "wharf.kv.delete('k2') return wharf.kv.set('one', ('x'):rep(64000))",
    })
    assert run("fill", {"n": 163}) == "went"
    assert all("holds at most 10 MiB for an organization" in told and "kv.full" in told for told in (run("more"), run("cas")))
    assert run("again") is True and run("delete") is True
    other = server.organization().client()
    assert run("again", client=other) is True


def test_the_store_of_a_before_hook_is_the_request_s(hooks, client, server):
    hooks.load({"10-count.lua": """
wharf.hook.before("contact", "create", function(c) wharf.kv.incr("contacts") if c.input.name == "no" then wharf.reject("no", "No") end end)
wharf.hook.route("GET", "/v1/x/count", { scope = "any", location = "none" }, function() return { n = wharf.kv.get("contacts") or 0 } end)
"""})
    before = client.get("/v1/x/count").data["n"]
    client.post("/v1/contacts", {"name": "yes"}, expect=201)
    client.refused("POST", "/v1/contacts", 400, "workflow.rejected", None, {"name": "no"})
    assert client.get("/v1/x/count").data["n"] == before + 1


def test_locks_and_sleep(hooks, client):
    run = Runner(hooks, client, {
        "hold": "return wharf.lock('one', { ttl_ms = 5000 }, function() local _, err = wharf.lock('one', { wait_ms = 30 }, function() return 'both' end) return err.code end)",
        "take": "local v, err = wharf.lock('one', function() return 'mine' end) return v or err.code",
        "ends": "return wharf.lock('two', { ttl_ms = 1 }, function() return (wharf.lock('two', { wait_ms = 2000 }, function() return 'over' end)) end)",
        "raises": "local ok = pcall(wharf.lock, 'one', function() error('x') end) return ok",
        "sleep": "return (select(2, pcall(wharf.sleep, 1)))",
        "refuses": "wharf.lock('one', function() wharf.lock('three', function() wharf.reject('no', 'No') end) end)",
        "endless": "wharf.lock('three', function() local thread = coroutine.wrap(function() wharf.lock('one', coroutine.yield) end) thread() error('left') end)",
    })
    assert [run("take"), run("hold"), run("take"), run("raises"), run("take"), run("ends")] == ["mine", "lock.busy", "mine", False, "mine", "over"]
    assert "only after, event and schedule hooks can sleep" in run("sleep")
    client.refused("POST", "/v1/x/run/refuses", 400, "workflow.rejected", ["custom.no"], {})  # what nobody gave back ends with the call
    assert run("take") == "mine"
    client.refused("POST", "/v1/x/run/endless", 500, "internal", [], {})
    assert run("take") == "mine"


def test_after_hooks_sleep_and_write_once(hooks, client, server):
    """A job that fails after it wrote is run again, and writes nothing twice."""
    hooks.load({"10-after.lua": """
wharf.hook.after("location", "create", function(change, ctx)
  local _, err = wharf.api.post("/v1/contacts", { name = "Of " .. change.new.name })
  if err then error(err.message) end
  local _, long = pcall(wharf.sleep, 10001)
  wharf.sleep(5)
  local _, again = pcall(wharf.sleep, 9996)
  long = long .. again
  if wharf.kv.incr("tries " .. change.id) < 2 then wharf.fail("once more", { retry = true }) end
  wharf.kv.set("slept " .. change.id, long)
end)
wharf.hook.route("GET", "/v1/x/told/:id", { scope = "any", location = "none" }, function(r) return { tries = wharf.kv.get("tries " .. r.params.id), long = wharf.kv.get("slept " .. r.params.id) } end)
"""})
    id = make_location(client, name="Twice")["id"]
    until(lambda: client.get(f"/v1/x/told/{id}").data.get("tries") == 1, "the hook did not run")
    server.sql("UPDATE wharf.job SET run_at = now() WHERE queue = 'wharf.lua_hook' AND state <> 'running'")
    until(lambda: client.get(f"/v1/x/told/{id}").data.get("long"), "the hook did not run again")
    told = client.get(f"/v1/x/told/{id}").data
    assert told["tries"] == 2 and told["long"].count("10 s in all") == 2
    assert [c["name"] for c in client.get("/v1/contacts?limit=100").data].count("Of Twice") == 1


WRONG_KEYS = "local out = {} for i, key in ipairs { '', ('k'):rep(256), 'ä', 'a\\nb', 5, true, {}, wharf.null } do out[i] = select(2, pcall(%s, %s)) end return out"


def test_idempotency_keys_of_authors(hooks, client):
    """As over HTTP: one that can't be one is told, a good one makes of two writes one."""
    run = Runner(hooks, client, {
        "post": WRONG_KEYS % ("wharf.api.post", "'/v1/contacts', { name = 'K' }, { idempotency_key = key }"),
        "delete": WRONG_KEYS % ("wharf.api.delete", "'/v1/contacts/con_0', { idempotency_key = key }"),
        "twice": "local a = wharf.api.post('/v1/contacts', { name = 'K' }, { idempotency_key = i.key }) local b = wharf.api.post('/v1/contacts', { name = 'K' }, { idempotency_key = i.key })"
                 " return { a.id, b.id }",
    })
    for how in ("post", "delete"):
        told = run(how)
        assert len(told) == 8 and all("10-run.lua" in m and "1 to 255 printable ASCII characters; shorten or encode it, or leave it out (param.invalid)" in m for m in told), told
    a, b = run("twice", {"key": "k" * 255})
    assert a == b
    assert [c["name"] for c in client.get("/v1/contacts?limit=1000").data].count("K") == 1


def test_metrics_of_authors(hooks, client, server):
    run = Runner(hooks, client, {
        "count": "wharf.metrics.count('parcels_seen', i.n, { carrier = i.carrier, b = 'x' }) return 1",
        "observe": "wharf.metrics.observe('weight_kg', i.n) return 1",
        "wrong": "return { (select(2, pcall(wharf.metrics.count, 'Bad name', 1))), (select(2, pcall(wharf.metrics.count, 'weight_kg', 1))), (select(2, pcall(wharf.metrics.count, 'a', -1))),"
                 " (select(2, pcall(wharf.metrics.count, 'a', 1, { le = 'x' }))), (select(2, pcall(wharf.metrics.count, 'a', 1, { x = ('y'):rep(200) }))) }",
    })
    for carrier in ("ups", 'd"h\\l', "ups"):
        run("count", {"n": 2, "carrier": carrier})
    for n in (0.004, 3, 5000):
        run("observe", {"n": n})
    told = run("wrong")
    assert all(w in t for w, t in zip(("a metric's name", "counted or observed", "numbers from 0", "not le", "150 letters"), told)), told
    text = requests.get(server.admin + "/metrics", timeout=WAIT).text
    assert 'wharf_lua_parcels_seen_total{b="x",carrier="ups"} 4\n' in text and 'wharf_lua_parcels_seen_total{b="x",carrier="d\\"h\\\\l"} 2\n' in text
    assert 'lua_weight_kg_bucket{le="0.005"} 1\n' in text and 'lua_weight_kg_bucket{le="5"} 2\n' in text and 'lua_weight_kg_bucket{le="+Inf"} 3\n' in text
    assert "lua_weight_kg_sum 5003.004\n" in text and "lua_weight_kg_count 3\n" in text
    calls = int(re.search(r'wharf_lua_hook_duration_seconds_count\{hook="10-run.lua#1"\} (\d+)', text)[1])
    assert calls >= 7 and f'wharf_lua_hook_duration_seconds_bucket{{hook="10-run.lua#1",le="+Inf"}} {calls}\n' in text and 'wharf_lua_hook_errors_total{hook="10-run.lua#1"}' in text
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=WAIT)
    assert checked.returncode == 0 and not checked.stdout + checked.stderr, checked.stdout + checked.stderr


def test_each_call_has_its_lines(hooks, client, server):
    """A state serves many calls: what one of them said leaves the others their 500 lines."""
    run = Runner(hooks, client, {"say": "for n = 1, i.n do wharf.log.info('said ' .. i.call .. '/' .. n .. '.') end return 1"})

    def said():
        return lines(server, "lua.log")
    for call in range(4):
        run("say", {"call": call, "n": 600})
    run("say", {"call": "last", "n": 1})
    until(lambda: any("said last/1." in m for m in said()), "a later call has no lines")
    for call in range(4):
        assert sum(f"said {call}/" in m for m in said()) == 500, call
    assert sum("truncated: a run logs at most 500 lines" in m for m in said()) == 4


def test_the_clock_moves_and_budgets_shrink(hooks, client):
    run = Runner(hooks, client, {
        "clock": "local from, to = wharf.time.now_ms(), ctx.deadline_ms() while ctx.deadline_ms() > to - 20 do end return wharf.time.now_ms() - from",
        "budget": "local before = ctx.budget() for _ = 1, 5000 do end wharf.api.get('/v1/contacts') wharf.api.get('/v1/contacts') wharf.http.get('http://127.0.0.1:1/') local after = ctx.budget()\n"
                  "return { before.api_calls, before.http_calls, after.api_calls, after.http_calls, before.instructions > after.instructions, after.memory < 256 << 20 }",
        "most": "for n = 1, 1000 do wharf.api.get('/v1/none') end local left = ctx.budget().api_calls pcall(wharf.api.get, '/v1/none') return left",
    })
    assert run("clock") >= 19 and run("budget") == [1000, 100, 998, 99, True, True]
    client.refused("POST", "/v1/x/run/most", 500, "internal", [], {})


def test_times_that_nobody_said(hooks, client, server):
    """What a call has when its hook has no timeout_ms (section 6): each is told at its begin, so next to nothing of it is gone."""
    told = "wharf.log.info('left to %s: ' .. ctx.deadline_ms())"
    hooks.load({"10-times.lua": f"""
wharf.hook.route("GET", "/v1/x/left", {{ scope = "any", location = "none" }}, function(_, ctx) {told % "route"} end)
wharf.hook.before("contact", "create", function(_, ctx) {told % "before"} end)
wharf.hook.after("contact", "create", function(_, ctx) {told % "after"} end)
wharf.hook.on_event("contact.created", function(_, ctx) {told % "event"} end)
"""})
    client.get("/v1/x/left", expect=204)
    client.post("/v1/contacts", {"name": "Left"}, expect=201)

    def left():
        found = (re.fullmatch(r".*left to (\w+): (\d+).*", m) for m in lines(server, "lua.log"))
        return {m.group(1): int(m.group(2)) for m in found if m}
    until(lambda: len(left()) == 4, "not all of them were called")
    most = {"route": 10_000, "before": 250, "after": 60_000, "event": 60_000}
    assert {kind: most[kind] // 2 < ms <= most[kind] for kind, ms in left().items()} == dict.fromkeys(most, True), left()


def test_other_organizations(hooks, client, server, org):
    run = Runner(hooks, client, {
        "make": "local d, err = wharf.api.as(i.organization).post('/v1/contacts', { name = i.name }) return d and d.name or err.code",
        "names": "local n = wharf.json.array {} for c in wharf.api.as(i.organization).list('/v1/contacts', { limit = 1, order_by = 'created_at' }) do n[#n + 1] = c.name end return n",
        "none": "return (select(2, pcall(wharf.api.as, 'org_0000000000000000000000')))",
    })
    other = server.organization()
    for name in ("A", "B", "C"):
        assert run("make", {"organization": other.id, "name": name}, public=True) == name
    assert run("names", {"organization": other.id}) in (["A", "B", "C"], ["C", "B", "A"])
    assert sorted(c["name"] for c in other.client().get("/v1/contacts").data) == ["A", "B", "C"]
    assert other.changes(other.client().get("/v1/contacts").data[0]["id"])[0][2] == "system"
    assert "there is no organization of this id" in run("none")


def test_organizations_of_test_mode(hooks, client, org):
    """The test twin is an organization of its own id: what is done there is done in test mode, and nothing of it in the live one; users, roles and devices are its live one's (spec 01)."""
    run = Runner(hooks, client, {
        "make": "local d, err = wharf.api.as(i.organization).post('/v1/contacts', { name = i.name }) return d and d.name or err.code",
        "names": "local n = wharf.json.array {} for c in wharf.api.as(i.organization).list('/v1/contacts') do n[#n + 1] = c.name end return n",
        "org": "return wharf.api.as(i.organization).get('/v1/org')",
        "users": "local n = wharf.json.array {} for u in wharf.api.as(i.organization).list('/v1/users') do n[#n + 1] = u.id end return n",
        "user": "local d, err = wharf.api.as(i.organization).post('/v1/users', { name = 'New', email = 'new@example.com', role = 'owner' }) return d and 'made' or { err.code, err.status }",
    })
    user = org.user(role="owner")
    test = org.client(test=True)
    twin = test.get("/v1/org").data["id"]
    for asks in ({"public": True}, {}, {"client": test}):  # a public route, a live key's, a test key's
        name = f"Of {sorted(asks)}"
        assert run("make", {"organization": twin, "name": name}, **asks) == name
        assert name in run("names", {"organization": twin}, **asks) and name not in run("names", {"organization": org.id}, **asks)
    assert sorted(c["name"] for c in test.get("/v1/contacts").data) == sorted(run("names", {"organization": twin})) and not [c for c in client.get("/v1/contacts?limit=all").data if c["name"].startswith("Of [")]
    shown = {which: run("org", {"organization": which}, public=True) for which in (twin, org.id)}
    assert [(o["mode"], o.get("live_organization_id")) for o in shown.values()] == [("test", org.id), ("live", None)], shown
    assert run("users", {"organization": twin}) == run("users", {"organization": org.id}) and user in run("users", {"organization": twin})
    refused = test.request("POST", "/v1/users", {"name": "New", "email": "new@example.com", "role": "owner"})
    assert refused.status == 403 and run("user", {"organization": twin}, public=True) == [refused.code, 403]


def test_organizations_that_ended(hooks, client, server):
    """Theirs is nothing any more from the moment on, with that of their test twins; what is no id is a mistake."""
    run = Runner(hooks, client, {
        "names": "local good, api = pcall(wharf.api.as, i.organization) if not good then return api end local d, err = api.post('/v1/contacts', { name = 'Late' }) return d and 'made' or err.code",
        "held": "local api = wharf.api.as(i.organization) wharf.kv.set('held', true) while not wharf.kv.get('gone') do end local good, err = pcall(api.get, '/v1/contacts') return good and 'asked' or err",
        "gone": "return wharf.kv.set('gone', true)",
        "odd": "local out = {} for n, id in ipairs({ 5, true, '', 'org', {} }) do out[n] = select(2, pcall(wharf.api.as, id)) end return out",
    })
    for text in run("odd", public=True):
        assert "takes the id of an organization" in text or "there is no organization of this id" in text or "use wharf.api.as" in text, text
    org = server.organization("Ends")
    twin = org.client(test=True).get("/v1/org").data["id"]
    owner = org.client(user=org.user(role="owner"))
    assert [run("names", {"organization": o}) for o in (org.id, twin)] == ["made", "made"]
    told = []
    holder = threading.Thread(target=lambda: told.append(run("held", {"organization": org.id}, client=server.organization().client())))
    holder.start()
    try:
        until(lambda: server.sql("SELECT 1 FROM wharf.hook_kv WHERE key = 'held'"), "it does not ask")
        owner.request("DELETE", f"/v1/organizations/{org.id}", body={"confirm": "Ends"}, expect=200)
    finally:
        server.sql("INSERT INTO wharf.hook_kv (organization_id, key, value) SELECT organization_id, 'gone', 'true' FROM wharf.hook_kv WHERE key = 'held'")
        holder.join()
    for which in (org.id, twin):
        for public in (False, True):
            assert "there is no organization of this id" in run("names", {"organization": which}, public=public)
    assert "there is no organization of this id" in told[0]
    switched = server.organization("Off")
    off = {switched.id, switched.client(test=True).get("/v1/org").data["id"]}
    server.sql("UPDATE wharf.organization SET active = false WHERE id = %s", switched.id)
    for which in off:
        assert "there is no organization of this id" in run("names", {"organization": which})
    hooks.load({"10-s.lua": "wharf.hook.schedule('* * * * *', function() end)"})
    server.sql("UPDATE wharf.job_schedule SET next_at = wharf.now() WHERE queue = 'wharf.lua_schedules'")
    planned = until_told(lambda: {o for o, in server.sql("SELECT organization_id FROM wharf.job WHERE queue = 'wharf.lua_hook'")})
    assert planned and not planned & {org.id, twin, *off}
    hooks.load({})


def test_rights_in_other_organizations(hooks, client, server):
    """All: of every scope and location, whoever asks; and of one call, not of the hook."""
    run = Runner(hooks, client, {
        "as": "local api = wharf.api.as(i.organization) local d, err = api.get('/v1/locations/' .. i.id) local _, own = wharf.api.get('/v1/locations/' .. i.id)\n"
              "local e, bad = api.post('/v1/locations/' .. i.id, { name = 'By the operator' }) return { d and d.id or err.code, e and e.name or bad.code, own.code }",
        "calls": "local api = wharf.api.as(i.organization) for n = 1, i.n do api.get('/v1/contacts/none') end return ctx.budget().api_calls",
    })
    other = server.organization()
    place = make_location(other.client(), "There")["id"]
    reader = server.organization()
    weak = reader.client("contacts:read", locations=[make_location(reader.client(), "Mine")["id"]])
    assert run("as", {"organization": other.id, "id": place}, client=weak) == [place, "By the operator", "scope_access"]
    assert run("as", {"organization": other.id, "id": place}) == [place, "By the operator", "not_found"]
    change = other.changes(place)[-1]
    assert change[0] == "updated" and change[2:4] == ("system", "sys"), change
    assert run("calls", {"organization": other.id, "n": 3}) == 997


def test_writing_sql(hooks, client, server):
    run = Runner(hooks, client, {
        "exec": "local n, rows = wharf.db.exec(\"UPDATE locations.location SET metadata = '{\\\"by\\\": \\\"sql\\\"}' WHERE name = $1 RETURNING id\", i.name) return { n, #rows }",
        "wrong": "return (select(2, pcall(wharf.db.exec, 'UPDATE wharf.job SET state = 1')))",
        "unsafe": "return { type(io.open), type(debug.traceback), type(os.execute), os.getenv('WHARF_HOOK_SECRETS_OTHER') ~= nil, type(os.time()) }",
    })
    name = "By hand"
    make_location(client, name=name)
    make_location(server.organization().client(), name=name)
    assert run("exec", {"name": name}) == [1, 1] and run("exec", {"name": "nobody"}) == [0, 0]
    assert server.sql("SELECT count(*) FROM locations.location WHERE name = %s AND metadata->>'by' = 'sql'", name)[0][0] == 1
    assert "wharf.db.exec" in run("wrong")
    assert run("unsafe") == ["function", "function", "function", True, "number"]
    hooks.load({"10-tx.lua": "wharf.hook.before('contact', 'create', function(c) wharf.db.exec(\"UPDATE locations.location SET metadata = '{}' WHERE name = 'By hand'\")\n"
                             "if c.input.name == 'no' then wharf.reject('no', 'No') end end)"})
    client.refused("POST", "/v1/contacts", 400, "workflow.rejected", None, {"name": "no"})
    assert server.sql("SELECT count(*) FROM locations.location WHERE metadata->>'by' = 'sql'")[0][0] == 1
    client.post("/v1/contacts", {"name": "yes"}, expect=201)
    assert server.sql("SELECT count(*) FROM locations.location WHERE metadata->>'by' = 'sql'")[0][0] == 0


def test_what_sql_is_given_and_gives(hooks, client):
    """Values keep their kind, both ways; what numbers of JSON can not be are texts."""
    run = Runner(hooks, client, {
        "values": "return wharf.db.query(\"SELECT $1::text IS NULL AS nothing, $2::text IS NULL AS none, $3::boolean AS yes, $4::boolean AS no, $5::float8 AS f, $6::text AS t, 'NaN'::float8 AS nan,"
                  " '-Infinity'::float4 AS inf, 7::int2 AS i, 1.50 AS n, '[1]'::json AS j\", nil, wharf.null, true, false, 2.5, 'x')[1]",
        "many": "local list = {} for i = 1, i.n do list[i] = i end return (select(2, pcall(wharf.db.query, 'SELECT 1', table.unpack(list))))",
    })
    assert run("values") == {"nothing": True, "none": True, "yes": True, "no": False, "f": 2.5, "t": "x", "nan": "NaN", "inf": "-Infinity", "i": 7, "n": "1.50", "j": [1]}
    assert "at most 64 parameters" in run("many", {"n": 65}) and "at most 64" not in run("many", {"n": 64})


@pytest.mark.parametrize("call, sql", [
    ("query", "SELECT set_config('wharf.organization', 'other', true)"), ("exec", "SELECT set_config('role', 'none', true)"),
    ("exec", "COMMIT AND CHAIN"), ("exec", "/* ours */ RESET ROLE"), ("exec", "SET LOCAL ROLE NONE"),
])
def test_a_hook_stays_in_its_transaction_role_and_organization(hooks, client, call, sql):
    run = Runner(hooks, client, {"tried": f"return (select(2, pcall(wharf.db.{call}, i.sql)))"})
    said = run("tried", {"sql": sql})
    assert f"wharf.db.{call}: a hook may not run a statement that" in said, said


def test_how_large_rows_may_be(hooks, client, server):
    """More than 64 MiB of them is a mistake; a request may ask for as much several times, and send it."""
    run = Runner(hooks, client, {
        "rows": "local n = 0 local ok, e = pcall(function() for _ = 1, i.times do for _, r in ipairs(wharf.db.query(\"SELECT repeat('x', 1048576) AS x FROM generate_series(1, $1::int)\", i.n)) do n = n + #r.x end end end) return ok and n >> 20 or e",
        "more": "return (select(2, pcall(wharf.db.query, \"SELECT repeat('x', 1048576) AS x FROM generate_series(1, $1::int)\", i.n)))",
        "exec": "return (select(2, pcall(wharf.db.exec, \"SELECT repeat('x', 1048576) AS x FROM generate_series(1, $1::int)\", i.n)))",
        "sent": "local x, n = ('x'):rep(8 << 20), 0 for _ = 1, i.times do n = n + wharf.db.query('SELECT length($1::text) + length($2::text) AS n', x, x)[1].n end return n >> 20",
        "text": "local n = 0 for _ = 1, i.times do n = n + wharf.db.query(\"SELECT length('\" .. ('x'):rep(8 << 20) .. \"') AS n\")[1].n end return n >> 20",
    })
    assert run("rows", {"times": 3, "n": 60}) == 180
    for how in ("more", "exec"):
        assert "the rows are larger than 64 MiB; ask for fewer" in run(how, {"n": 65})
    assert run("sent", {"times": 6}) == 96 and run("text", {"times": 6}) == 48


def test_as_much_as_it_likes(hooks, client):
    """A request has 64 MiB; what a hook was answered is not in them for longer than it takes to tell."""
    run = Runner(hooks, client, {
        "store": "wharf.kv.set('large', ('x'):rep(60000)) local n = 0 for _ = 1, 1500 do n = n + #wharf.kv.get('large') end return n",
        "api": "local n = 0 for _ = 1, 500 do n = n + #wharf.api.get('/v1/locations?limit=20') end return n",
        "zones": "local n = 0 for _ = 1, 2500 do n = n + #wharf.time.format(0, '%H', 'Europe/Berlin') end return n",
        "log": "for _ = 1, 1500 do wharf.log.info(('x'):rep(60000)) end return 1",
    })
    assert run("store") == 1500 * 60000 and run("zones") == 5000 and run("log") == 1
    for i in range(20):
        make_location(client, name=f"Large {i}", metadata={f"k{i}": "x" * 500 for i in range(20)})
    assert run("api") == 500 * 20


def test_a_hook_that_goes_on_behind_a_reload(hooks, client, server):
    """Its ops have transactions of their own, of which the job keeps nothing; its folder stays until it ends."""
    hooks.load({"10-e.lua": "wharf.hook.on_event('location.created', function(ev) wharf.kv.set('begun', ev.resource_id) wharf.emit('custom.begun') wharf.sleep(3000) wharf.kv.set('over', ev.resource_id) end)"})
    id = make_location(client, name="Goes on")["id"]
    read = "wharf.hook.route('GET', '/v1/x/kept', { scope = 'any', location = 'none' }, function() return { begun = wharf.kv.get('begun'), over = wharf.kv.get('over') } end)"
    waited_for(lambda: server.sql("SELECT 1 FROM wharf.event WHERE type = 'custom.begun' AND organization_id = (SELECT organization_id FROM locations.location WHERE id = %s)", id))
    for text in (read, read + "\n-- again"):
        hooks.load({"10-e.lua": text})
    waited_for(lambda: client.get("/v1/x/kept").data == {"begun": id, "over": id})


def test_what_a_before_hook_is_shown_and_may_not(hooks, client):
    """Where the change lies; nobody else is asked while the request's transaction is open."""
    hooks.load({"10-b.lua": """
wharf.hook.before("location", "update", function(change, ctx)
  local told = { change = change.location_id, ctx = ctx.location_id, run = ctx.run.hook }
  local function try(name, f, ...) told[name] = tostring((select(2, pcall(f, ...)))) end
  try("api", wharf.api.get, "/v1/contacts")
  try("http", wharf.http.get, "http://127.0.0.1:1/")
  try("lock", wharf.lock, "l", function() end)
  try("sleep", wharf.sleep, 1)
  change.input.metadata = told
end)"""})
    id = make_location(client, name="Shown")["id"]
    told = client.post(f"/v1/locations/{id}", {"name": "Shown again"}, expect=200).data["metadata"]
    assert (told["change"], told["ctx"], told["run"]) == (id, id, "10-b.lua#1")
    for name, says in (("api", "the API can't be called"), ("http", "nobody outside is asked"), ("lock", "nothing can be locked"), ("sleep", "can sleep")):
        assert says in told[name], told


def test_events_of_a_row_come_in_order(hooks, client):
    hooks.load({"10-e.lua": """
wharf.hook.on_event("location.updated", function(ev)
  if ev.data.name == "First" then wharf.sleep(700) end
  wharf.kv.set(ev.data.name, wharf.kv.incr("order"))
end)
wharf.hook.route("GET", "/v1/x/order", { scope = "any", location = "none" }, function() return { first = wharf.kv.get("First"), second = wharf.kv.get("Second") } end)"""})
    id = make_location(client, name="Begin")["id"]
    for name in ("First", "Second"):
        client.post(f"/v1/locations/{id}", {"name": name}, expect=200)
    until(lambda: len(client.get("/v1/x/order").data) == 2, "the hooks did not run")
    assert client.get("/v1/x/order").data == {"first": 1, "second": 2}


def test_ticks(hooks, client, server, org):
    """What a schedule is told; one that was changed is not called at the times of before. The store is swept on the way."""
    read = 'wharf.hook.route("GET", "/v1/x/tick", { scope = "any", location = "none" }, function() return { tick = wharf.kv.get("tick") } end)'
    hook = "wharf.hook.schedule('%s', function(tick, ctx) wharf.kv.set('tick', tick) end, { timezone = 'Asia/Tokyo' })\n"

    def jobs(what):
        return server.sql(what + " wharf.job WHERE queue = 'wharf.lua_hook' AND organization_id = %s", org.id)
    hooks.load({"10-s.lua": hook % "* * * * *" + read})
    jobs("DELETE FROM")  # of schedules of others
    server.sql("INSERT INTO wharf.hook_kv VALUES (%s, 'old', '1', now() - interval '1 minute')", org.id)
    server.sql("UPDATE wharf.job_schedule SET next_at = wharf.now() WHERE queue = 'wharf.lua_schedules'")
    until(lambda: len(jobs("SELECT id FROM")) >= 2, "it is not planned")
    until(lambda: not server.sql("SELECT 1 FROM wharf.hook_kv WHERE organization_id = %s AND key = 'old'", org.id), "what is over stays in the store")
    server.sql("UPDATE wharf.job SET run_at = now() WHERE id = (SELECT id FROM wharf.job WHERE queue = 'wharf.lua_hook' AND organization_id = %s ORDER BY run_at LIMIT 1)", org.id)
    tick = until_told(lambda: client.get("/v1/x/tick").data.get("tick"))
    assert set(tick) == {"scheduled_at", "actual_at", "local_time"} and tick["scheduled_at"].endswith(":00.000Z") and tick["scheduled_at"] != tick["actual_at"]
    assert int(tick["local_time"][11:13]) == (int(tick["scheduled_at"][11:13]) + 9) % 24
    hooks.load({"10-s.lua": hook % "0 0 29 2 *" + read})
    server.sql("UPDATE wharf.job SET run_at = now() WHERE queue = 'wharf.lua_hook'")
    until(lambda: not jobs("SELECT id FROM"), "jobs stay")
    assert client.get("/v1/x/tick").data["tick"] == tick


def until_told(what):
    until(what, "nothing is told")
    return what()


def test_how_much_one_call_may(hooks, client, server, org):
    run = Runner(hooks, client, {
        "emits": "for n = 1, i.n do wharf.emit('custom.many') end return 'went'",
        "mails": "for n = 1, i.n do wharf.mail.send{ to = 'a@example.com', subject = 's', text = 't' } end return 'went'",
        "http": "for n = 1, i.n / 10 do local list = {} for k = 1, 10 do list[k] = { url = 'ftp://x' } end wharf.http.all(list) end return 'went'",
        "keys": "return { (select(2, pcall(wharf.kv.list, '', 1001))), #wharf.kv.list('none', 1000) }",
        "later": "return (select(2, pcall(wharf.hook.before, 'contact', 'create', print)))",
        "ttl": "return (select(2, pcall(wharf.lock, 'x', { ttl_ms = 120001 }, print)))",
    })
    for what, most, says in (("emits", 100, "100 events at most"), ("mails", 10, "10 mails at most"), ("http", 100, "more HTTP calls")):
        assert run(what, {"n": most}) == "went"
        client.refused("POST", f"/v1/x/run/{what}", 500, "internal", [], {"n": most + 10})
        until(lambda: any(says in m for m in lines(server, "lua.hook_failed")), says)
    assert server.sql("SELECT count(*) FROM wharf.event WHERE organization_id = %s AND type = 'custom.many'", org.id) == [(200,)]
    assert "limit is 1 to 1000" in run("keys")[0] and "while their file is loaded, not later" in run("later") and "at most 120,000" in run("ttl")


def test_how_long_a_lock_is_kept(hooks, client, server, org):
    """Thirty seconds where nothing else is said."""
    run = Runner(hooks, client, {"keep": "return wharf.lock('kept', function() while not wharf.kv.get('seen') do end return 'over' end)", "seen": "return wharf.kv.set('seen', true)"})
    holder = threading.Thread(target=lambda: run("keep", client=org.client()))
    holder.start()
    try:
        until(lambda: server.sql("SELECT 1 FROM wharf.hook_lock WHERE name = 'kept'"), "nobody holds it")
        assert server.sql("SELECT expires_at - wharf.now() BETWEEN interval '15 seconds' AND interval '30 seconds' FROM wharf.hook_lock WHERE name = 'kept'") == [(True,)]
    finally:
        run("seen")
        holder.join()


def test_a_lock_holds_in_all_servers(hooks, client, server, org, place):
    run = Runner(hooks, client, {"hold": "return wharf.lock('all', function() wharf.kv.set('held', true) while not wharf.kv.get('enough') do end return 'first' end)",
                                 "take": "local v, err = wharf.lock('all', function() return 'mine' end) return v or err.code", "enough": "return wharf.kv.set('enough', true)"})
    other = Server("--modules", "org,locations,contacts,events", "--set", f"lua_hooks.dir={place}", "--set", "lua_hooks.unsafe=true", beside=server)
    try:
        there, told = Client(other, client.key), []
        holder = threading.Thread(target=lambda: told.append(run("hold", client=org.client())))
        holder.start()
        try:
            until(lambda: server.sql("SELECT 1 FROM wharf.hook_kv WHERE organization_id = %s AND key = 'held'", org.id), "nobody holds it")
            assert run("take", client=there) == "lock.busy"
        finally:
            run("enough")
            holder.join()
        assert told == ["first"] and run("take", client=there) == "mine"
    finally:
        other.stop()


def test_nothing_is_waited_for_when_the_call_is_over(hooks, client, server, org):
    """Neither a lock nor an answer: 504 comes long before either would."""
    never = Silent()
    hooks.load({"10-r.lua": f"""
wharf.hook.route("GET", "/v1/x/wait/:what", {{ scope = "any", location = "none", timeout_ms = 1000 }}, function(request)
  if request.params.what == "lock" then wharf.lock("held", {{ wait_ms = 25000 }}, print) end
  if request.params.what == "one" then wharf.http.get("http://127.0.0.1:{never.port}/", {{ timeout_ms = 25000 }}) end
  if request.params.what == "all" then wharf.http.all {{ {{ url = "http://127.0.0.1:{never.port}/", timeout_ms = 25000 }} }} end
  while true do end
end)"""})
    server.sql("INSERT INTO wharf.hook_lock (organization_id, name, token, expires_at) VALUES (%s, 'held', 'other', wharf.now() + interval '1 hour')", org.id)
    for what in ("lock", "one", "all"):
        assert client.refused("GET", f"/v1/x/wait/{what}", 504, "timeout", []).raw.elapsed.total_seconds() < 12, what
    assert never.heard == 2
    never.close()


@pytest.mark.parametrize("call", ["wharf.api.post('/v1/locations/PLACE', { name = 'New' })", "wharf.kv.set('held', 2)", "wharf.db.exec(\"UPDATE locations.location SET name = 'New' WHERE id = 'PLACE'\")"])
def test_no_row_is_waited_for_when_the_call_is_over(hooks, client, server, org, call):
    """PostgreSQL alone would wait five seconds for it."""
    place = make_location(client, "Old")["id"]
    hooks.load({"10-r.lua": "wharf.hook.route('GET', '/v1/x/held', { scope = 'any', location = 'none', timeout_ms = 1000 }, function() "
                            f"{call.replace('PLACE', place)} while true do end end)"})
    server.sql("INSERT INTO wharf.hook_kv (organization_id, key, value) VALUES (%s, 'held', '1') ON CONFLICT DO NOTHING", org.id)
    with server.held("SELECT 1 FROM locations.location l, wharf.hook_kv k WHERE l.id = %s AND k.organization_id = %s AND k.key = 'held' FOR UPDATE", place, org.id):
        assert client.request("GET", "/v1/x/held").raw.elapsed.total_seconds() < 5
    assert client.get(f"/v1/locations/{place}").data["name"] == "Old" and server.sql("SELECT value FROM wharf.hook_kv WHERE organization_id = %s AND key = 'held'", org.id) == [(1,)]


def test_a_write_has_its_time_behind_a_hook_s_sql(hooks, client, server):
    """What a hook's statements may take is over with the hook: the write waits as long as any other."""
    place = make_location(client, "Waits")["id"]
    hooks.load({"10-tx.lua": "wharf.hook.before('location', 'update', function(c) wharf.db.exec(\"UPDATE contacts.contact SET name = 'x' WHERE name = 'Nobody'\") end)"})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with server.held("LOCK TABLE locations.location IN SHARE MODE"):
            written = pool.submit(client.post, f"/v1/locations/{place}", {"name": "Waited"}, expect=200)
            until(lambda: server.sql("SELECT count(*) FROM pg_locks WHERE NOT granted") == [(1,)], "nobody waits")
            time.sleep(1)
        assert written.result().data["name"] == "Waited"


def test_hooks_that_cause_each_other_end(hooks, client, server):
    """At the fifth: an after and an event hook that change the row which they are called for."""
    for kind, registered in (("after", "wharf.hook.after('location', 'update', %s)"), ("event", "wharf.hook.on_event('location.updated', %s)")):
        hooks.load({"10-a.lua": registered % """function(what, ctx)
  local row = what.new or what.data
  wharf.kv.set(row.name, ctx.run.depth)
  local _, err = wharf.api.post("/v1/locations/" .. row.id, { name = row.name .. "+" })
  if err then error(err.message) end
end""" + "\nwharf.hook.route('GET', '/v1/x/kept', { scope = 'any', location = 'none' }, function() return wharf.kv.list('%s') end)" % kind})
        id = make_location(client, name="Begin")["id"]
        told = sum(m.startswith("10-a.lua:") for m in lines(server, "workflow.depth_exceeded"))
        client.post(f"/v1/locations/{id}", {"name": kind}, expect=200)
        until(lambda: sum(m.startswith("10-a.lua:") for m in lines(server, "workflow.depth_exceeded")) > told, "they go on")
        kept = [e["value"] for e in client.get("/v1/x/kept").data]
        assert kept == [0, 1, 2, 3, 4] and client.get(f"/v1/locations/{id}").data["name"] == kind + "+" * 5, kept


@pytest.mark.parametrize("settings, seconds", [([], 3), (["--set", "lua_hooks.query_ms=200"], 1)])
def test_how_long_a_statement_may_take(place, settings, seconds):
    """Two seconds, or what the operator says."""
    Folder(place).write({"10-a.lua": "wharf.hook.route('POST', '/v1/x/slow', { scope = 'any', location = 'none' }, function(r)"
                                    " local ok, e = pcall(wharf.db.query, 'SELECT pg_sleep($1::float8)', r.json.seconds) return { ok = ok, error = not ok and e or nil } end)"})
    server = Server("--modules", "org", "--set", f"lua_hooks.dir={place}", *settings)
    try:
        client = server.organization().client()
        assert "57014" in client.request("POST", "/v1/x/slow", {"seconds": seconds}, expect=200).data["error"]
        waited_for(lambda: client.request("POST", "/v1/x/slow", {"seconds": 0}, expect=200).data["ok"])
    finally:
        server.stop()


@pytest.mark.parametrize("most, turns, good", [(1_000_000, 100_000, True), (1_000_000, 1_000_000, False), (0, 110_000_000, True)])
def test_instructions_that_the_operator_allows(place, most, turns, good):
    """With 0 more than what a hook has when nothing is said, 200 million."""
    Folder(place).write({"10-a.lua": f"wharf.hook.route('POST', '/v1/x/turn', {{ scope = 'any', location = 'none', timeout_ms = 30000 }}, function() for i = 1, {turns} do local x = i + 1 end return {{ done = true }} end)"})
    server = Server("--modules", "org", "--set", f"lua_hooks.dir={place}", "--set", f"lua_hooks.instructions={most}")
    try:
        client = server.organization().client()
        client.request("POST", "/v1/x/turn", {}, expect=200 if good else 500)
        if not good:
            until(lambda: any("more instructions than it may" in m for m in lines(server, "lua.hook_failed")), "why is not in the log")
    finally:
        server.stop()


def test_what_has_no_organization(hooks, client):
    run = Runner(hooks, client, {"kv": "return (select(2, pcall(wharf.kv.get, 'a')))", "lock": "return (select(2, pcall(wharf.lock, 'a', print)))",
                                 "exec": "return (select(2, pcall(wharf.db.exec, 'SELECT 1')))"})
    assert "no store" in run("kv", public=True) and "no store" in run("lock", public=True) and "no organization" in run("exec", public=True)
