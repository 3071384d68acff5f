"""record.io and `wharf lua replay` (spec 08 sections 1, 6 rule 12, 7 and 8): what a run asked for is kept, without secrets, and done again without a server."""
import json
import os
import subprocess

import pytest

from receivers import World
from test_workflow_events import FLOWS, flow, over, runs
from test_workflow_runs import asked
from wharf import PROGRAM, WAIT, make_location

SECRET = "s3cret/value+of-it"
SHOP = """return {on_run = function(input, ctx)
  local t = wharf.time.now_ms()
  wharf.kv.set("last", {id = wharf.crypto.uuid(), at = t})
  local key = wharf.secret("TOKEN")
  local res = wharf.http.post(input.url, {json = {order = input.order, key = key, hex = wharf.hex.encode(key), b = wharf.base64.encode(key)},
    headers = {authorization = "Basic " .. wharf.base64.encode("me:" .. key), ["x-n"] = tostring(math.random(1000000))}})
  local places = wharf.api.get("/v1/locations", {limit = 5})
  local _, err = wharf.api.get("/v1/locations/loc_none")
  wharf.lock("orders", {}, function() wharf.emit("custom.ordered", {n = input.order}) end)
  wharf.log.info("done", {t = t})
  local out = {status = res.status, echo = res.json().echo, places = #places, code = err.code, at = os.date("!%Y", t // 1000), clock = os.clock() >= 0,
    left = ctx.budget().http_calls, deadline = ctx.deadline_ms() > 0, last = wharf.kv.get("last").id}
  if input.fail then error("it broke " .. key) end
  if input.reject then wharf.reject("no", "not this", "order") end
  return out
end}"""


@pytest.fixture(scope="module")
def world():
    w = World("--modules", "org,locations,events,webhooks,workflows")

    def echo(handler):
        handler.answer(200, json.dumps({"echo": json.loads(handler.sent)["key"]}).encode())
    w.web.answers["/echo"] = echo
    yield w
    w.close()


@pytest.fixture(scope="module")
def server(world):
    return world.server


@pytest.fixture
def mine(server):
    return server.organization().client()


def replay(client, word, *args, code=0, cwd=None):
    env = {**os.environ, "WHARF_SERVER": client.server.base, "WHARF_KEY": client.key}
    r = subprocess.run([PROGRAM, "lua", "replay", word, *args], env=env, cwd=cwd, capture_output=True, text=True, timeout=WAIT)
    assert r.returncode == code, f"{r.returncode}: {r.stdout}{r.stderr}"
    return r.stdout if code == 0 else r.stderr


def shop(client, source=SHOP, **more):
    row = client.post(FLOWS, {"name": "Shop", "source": source, "triggers": [{"type": "manual"}], "scopes": ["locations:read"], "record": {"io": True}, **more}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/secrets", {"key": "TOKEN", "value": SECRET}, expect=201)
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    return row["id"]


def recording(client, run):
    return client.get(f"{FLOWS}/runs/{run}/recording").data


def test_the_same_again(world, mine, tmp_path):
    make_location(mine)
    id = shop(mine)
    run = asked(mine, id, {"input": {"url": world.web.url("/echo"), "order": 7}}).data
    assert run["replayable"] is True and run["output"]["value"]["echo"] == "[secret:TOKEN]" and run["output"]["value"]["places"] == 1
    assert json.loads(world.web.got["/echo"][0].body)["key"] == SECRET  # which it really sent
    told = replay(mine, run["id"])
    assert told == f"{run['id']}: the same (11 answered, succeeded)\n"
    doc = recording(mine, run["id"])
    text = json.dumps({k: v for k, v in doc.items() if k != "source"})
    assert SECRET not in text and SECRET.encode().hex() not in text and "Basic" not in text
    post = next(e for e in doc["exchanges"] if e.get("op") == "http.request")
    assert post["args"]["headers"]["authorization"] == "***" and json.loads(post["args"]["text"]) == {"order": 7, "key": "[secret:TOKEN]", "hex": "[secret:TOKEN]", "b": "[secret:TOKEN]"}
    assert {"now", "random", "deadline"} <= {e.get("note") for e in doc["exchanges"]}
    assert doc["version"] == 1 and doc["source"] == SHOP and doc["handler"] == "on_run" and doc["input"]["order"] == 7
    (tmp_path / "run.json").write_text(json.dumps(doc))  # and without any server
    mine.delete(f"{FLOWS}/{id}")
    env = {k: v for k, v in os.environ.items() if not k.startswith("WHARF")}
    r = subprocess.run([PROGRAM, "lua", "replay", "run.json"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=WAIT)
    assert r.returncode == 0 and "the same" in r.stdout, r.stderr


@pytest.mark.parametrize("input, status", [({"fail": True}, "failed"), ({"reject": True}, "rejected")])
def test_runs_that_did_not_succeed(world, mine, input, status):
    id = shop(mine)
    asked(mine, id, {"input": {"url": world.web.url("/echo"), "order": 1, **input}}, expect=400)
    run = runs(mine, id)[0]
    assert run["status"] == status and run["replayable"] is True
    assert replay(mine, run["id"]).endswith(f"{status})\n")


def test_differences(world, mine, tmp_path):
    """The first one, with file and line of the code that went another way."""
    id = shop(mine)
    run = asked(mine, id, {"input": {"url": world.web.url("/echo"), "order": 7}}).data["id"]
    (tmp_path / "flow").mkdir()
    for old, new, line, word in (("/v1/locations\", {limit = 5}", "/v1/locations\", {limit = 6}", 7, '"limit":6'),
                                 ("order = input.order, key", "order = 8, key", 5, '\\"order\\":8'),
                                 ("wharf.secret(\"TOKEN\")", "'x'", 5, "asks for http.request"),
                                 ("wharf.kv.set(\"last\", {id = wharf.crypto.uuid(), at = t})", "local x = 1", 4, "asks for secret"),
                                 ("local t = wharf.time.now_ms()", "local t = 1", 3, "looks at randomness; recorded: it looked at the clock"),
                                 ("status = res.status", "status = 201", None, '"status":201'),
                                 ("wharf.log.info", "error('other') wharf.log.info", 10, "the run failed: other; recorded: "),
                                 ("local out", "do return 5 end local out", None, "the run succeeded; recorded: budget {}")):
        source = SHOP.replace(old, new)
        assert source != SHOP
        (tmp_path / "flow/main.lua").write_text(source)
        told = replay(mine, run, "--dir", str(tmp_path / "flow"), code=1)
        assert word in told and (line is None or f"flow/main.lua:{line}: " in told), told
    (tmp_path / "flow/main.lua").write_text(SHOP.replace("local t = wharf", "local unused = 1 local t = wharf"))
    replay(mine, run, "--dir", str(tmp_path / "flow"))


def test_modules_and_queued_runs(mine):
    """Runs of events, with what they try again; a module is in the recording too."""
    row = mine.post(FLOWS, {"name": "Queued", "source": "return {on_event = require('lib.it').go}", "files": {"lib.it": """
return {go = function(ev, ctx)
  wharf.sleep(1)
  if ctx.run.attempt == 1 then error('again') end
  local b = wharf.crypto.random_bytes(40)
  return {ev.data.name, ctx.run.attempt, #b, wharf.crypto.id('x') < 'y', wharf.time.iso():sub(1, 2)}
end}"""}, "triggers": [{"type": "event", "events": ["location.created"]}], "record": {"io": True}, "retry": {"max": 1, "waits": [0]}}, expect=201).data
    mine.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    make_location(mine, "Seen")
    run, = over(mine, row["id"])
    assert run["status"] == "succeeded" and run["attempt"] == 2 and run["replayable"] is True
    replay(mine, run["id"])
    assert recording(mine, run["id"])["context"]["run"]["attempt"] == 2


def test_before_hooks(mine):
    row = mine.post(FLOWS, {"name": "Rule", "source": """return {before = function(change, ctx)
  local n = wharf.kv.incr('seen')
  if #change.input.name < 3 then wharf.reject('short', 'too short ' .. n, 'name') end
end}""", "triggers": [{"type": "hook", "resource": "location", "action": "create", "phase": "before"}], "record": {"io": True}}, expect=201).data
    mine.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    mine.refused("POST", "/v1/locations", 400, "workflow.rejected", body={"name": "x", "address": {"line1": "1", "city": "B", "postal_code": "1", "country_code": "DE"}})
    run = runs(mine, row["id"])[0]
    assert run["replayable"] is True
    replay(mine, run["id"])


def test_http_runs(server, mine):
    """What the handler returned counts, not what the server made of it."""
    row = mine.post(FLOWS, {"name": "Http", "source": "return {on_http = function(r) return {status = r.json.status, body = r.body, headers = {['set-cookie'] = r.json.cookie}} end}",
                            "triggers": [{"type": "http", "path": "x", "auth": "none"}], "record": {"io": True}}, expect=201).data
    mine.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    for body, status in (({"status": 201}, 201), ({"status": 201, "cookie": "a=b"}, 400)):
        r = mine.http.post(f"{server.base}{FLOWS}/{row['id']}/http/x", json=body, timeout=WAIT)
        assert r.status_code == status, r.text
    for run in runs(mine, row["id"]):
        assert run["replayable"] is True
        replay(mine, run["id"])


def test_what_can_not_be_replayed(server, world, mine):
    plain = flow(mine, "return 1", "plain")
    make_location(mine)
    run, = over(mine, plain)
    assert run["replayable"] is False
    mine.refused("GET", f"{FLOWS}/runs/{run['id']}/recording", 404, "not_found")
    assert "was not recorded" in replay(mine, run["id"], code=3)
    for name, body in (("large", "for i = 1, 12 do wharf.kv.set('k' .. i, ('x'):rep(60000)) wharf.kv.get('k' .. i) end"), ("short", "wharf.secret('TOKEN')"),
                       ("many", "for i = 1, 21000 do wharf.time.now() end")):
        id = shop(mine, f"return {{on_run = function() {body} end}}", name=name)
        if name == "short":
            mine.post(f"{FLOWS}/{id}/secrets", {"key": "TOKEN", "value": "abc"}, expect=200)
        assert asked(mine, id, {}).data["replayable"] is False, name
    slow = flow(mine, "while true do end", "slow", record={"io": True}, retry={"max": 0}, events=["location.updated"])
    mine.refused("GET", f"{FLOWS}/runs/wkf_run_none/recording", 404, "not_found")
    reader = server.organization().client()
    id = shop(mine, "return {on_run = function() return wharf.time.now() end}", name="mine")
    run = asked(mine, id, {}).data["id"]
    reader.refused("GET", f"{FLOWS}/runs/{run}/recording", 404, "not_found")
    mine.server.sql("DELETE FROM workflows.run WHERE id = %s", run)
    assert not mine.server.sql("SELECT 1 FROM workflows.recording WHERE run_id = %s", run) and slow


def test_who_may_read_recordings(server):
    org = server.organization()
    writer = org.client()
    run = asked(writer, shop(writer, "return {on_run = function() return 1 end}"), {}).data["id"]
    org.client(scopes="workflow:read").refused("GET", f"{FLOWS}/runs/{run}/recording", 403, "scope_access")
    assert recording(writer, run)["outcome"] == {"status": "succeeded", "code": "workflow.failed", "custom": "", "message": "", "output": 1}


def test_drafts_need_their_folder(mine, tmp_path):
    row = mine.post(FLOWS, {"name": "Draft", "source": "return {on_run = function() return math.random(100) end}", "triggers": [{"type": "manual"}], "record": {"io": True}}, expect=201).data
    run = asked(mine, row["id"], {"version": "draft"}).data
    assert run["replayable"] is True and "source" not in recording(mine, run["id"])
    assert "--dir" in replay(mine, run["id"], code=3)
    (tmp_path / "main.lua").write_text("return {on_run = function() return math.random(100) end}")
    replay(mine, run["id"], "--dir", str(tmp_path))


def test_values_of_secrets(world, mine, tmp_path):
    """What is computed of a secret is only the same with its value."""
    id = shop(mine, "return {on_run = function() wharf.kv.set('sum', wharf.hex.encode(wharf.crypto.hmac_sha256(wharf.secret('TOKEN'), 'x'))) end}", name="Sum")
    run = asked(mine, id, {}).data["id"]
    assert "asks for kv.set" in replay(mine, run, code=1)
    (tmp_path / "secrets.json").write_text(json.dumps({"TOKEN": SECRET}))
    replay(mine, run, "--secrets", str(tmp_path / "secrets.json"))
    for args, word in ((("--secrets", "none.json"), "no such file"), (("--dir", "none"), "none")):
        assert word in replay(mine, run, *args, code=3, cwd=tmp_path)
    (tmp_path / "other.json").write_text("{}")
    assert "no recording" in replay(mine, str(tmp_path / "other.json"), code=3)
