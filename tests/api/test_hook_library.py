"""What operators' hooks may ask for (spec 08 sections 5 and 9, docs/lua-hooks.md): settings, secrets, the store, locks, metrics, other organizations, writing SQL."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

import pytest
import requests

from hook_folder import HOOKS, hooks, lines, place, system, system_of, until  # noqa: F401  (fixtures among them)
from wharf import BUILD, Server, make_location

SECRET = "s3cret-t0ken"


@pytest.fixture(scope="module")
def server(place):
    s = Server("--modules", "org,locations,contacts,events", "--set", f"lua_hooks.dir={place}", "--set", "workers=2", "--set", "lua_hooks.allow_write=true",
               "--set", "lua_hooks.unsafe=true", "--set", "hook_settings.erp.url=https://erp.example.com", "--set", "hook_settings.days=3",
               "--set", f"hook_secrets.erp_token={SECRET}", env={"WHARF_HOOK_SECRETS_OTHER": "from the environment"})
    yield s
    s.stop()


# A route that runs what it is sent, so that one load serves many cases; the names of the library have to be in its text.
RUN = """
local cases = {
%s
}
wharf.hook.route("POST", "/v1/x/run/:case", { scope = "any", location = "none" }, function(request, ctx) return { result = cases[request.params.case](request.json, ctx) } end)
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
    })
    assert run("config") == ["https://erp.example.com", 3, "https://erp.example.com", True]
    told = run("secret")
    assert told[:3] == [SECRET, SECRET, "from the environment"] and "secret.missing" in told[3]
    run("log")
    client.refused("POST", "/v1/x/run/raise", 500, "internal", [], {})
    until(lambda: any("the token is [secret:erp_token]" in m and '"again":"[secret:erp_token]"' in m for m in lines(server, "lua.log")), "the line is not in the log")
    until(lambda: any("no [secret:erp_token]" in m for m in lines(server, "lua.hook_failed")), "the failure is not in the log")
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
    assert run("get", {"key": "short"}) == "nothing" and run("set", {"key": "short", "value": 2, "if_absent": True}) is True
    threads = [threading.Thread(target=lambda: [run("incr", {"key": "many"}, client=None) for _ in range(10)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert run("get", {"key": "many"}) == 40


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
    })
    assert [run("take"), run("hold"), run("take"), run("raises"), run("take"), run("ends")] == ["mine", "lock.busy", "mine", False, "mine", "over"]
    assert "only after, event and schedule hooks can sleep" in run("sleep")


def test_after_hooks_sleep_and_write_once(hooks, client, server):
    """A job that fails after it wrote is run again, and writes nothing twice."""
    hooks.load({"10-after.lua": """
wharf.hook.after("location", "create", function(change, ctx)
  local _, err = wharf.api.post("/v1/contacts", { name = "Of " .. change.new.name })
  if err then error(err.message) end
  local _, long = pcall(wharf.sleep, 10001)
  wharf.sleep(5)
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
    assert told["tries"] == 2 and "10 s" in told["long"]
    assert [c["name"] for c in client.get("/v1/contacts?limit=100").data].count("Of Twice") == 1


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
    text = requests.get(server.admin + "/metrics", timeout=5).text
    assert 'lua_parcels_seen_total{b="x",carrier="ups"} 4\n' in text and 'lua_parcels_seen_total{b="x",carrier="d\\"h\\\\l"} 2\n' in text
    assert 'lua_weight_kg_bucket{le="0.005"} 1\n' in text and 'lua_weight_kg_bucket{le="5"} 2\n' in text and 'lua_weight_kg_bucket{le="+Inf"} 3\n' in text
    assert "lua_weight_kg_sum 5003.004\n" in text and "lua_weight_kg_count 3\n" in text
    calls = int(re.search(r'lua_hook_duration_seconds_count\{hook="10-run.lua#1"\} (\d+)', text)[1])
    assert calls >= 7 and f'lua_hook_duration_seconds_bucket{{hook="10-run.lua#1",le="+Inf"}} {calls}\n' in text and 'lua_hook_errors_total{hook="10-run.lua#1"}' in text
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=20)
    assert checked.returncode == 0 and not checked.stdout + checked.stderr, checked.stdout + checked.stderr


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


def test_what_has_no_organization(hooks, client):
    run = Runner(hooks, client, {"kv": "return (select(2, pcall(wharf.kv.get, 'a')))", "lock": "return (select(2, pcall(wharf.lock, 'a', print)))",
                                 "exec": "return (select(2, pcall(wharf.db.exec, 'SELECT 1')))"})
    assert "no store" in run("kv", public=True) and "no store" in run("lock", public=True) and "no organization" in run("exec", public=True)


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
