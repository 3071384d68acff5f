"""What starts runs besides events (spec 08 section 3): schedules, callers who do not wait. And what runs do outside of the API (section 5)."""
import datetime
import time

import pytest

from outside import Web
from receivers import until
from test_workflow_events import END, FLOWS, over, runs
from test_workflow_runs import asked
from wharf import Client, Server, make_location

UTC = datetime.timezone.utc


class World:
    def __init__(self):
        self.web = Web({"/slow": lambda h: (time.sleep(0.7), h.answer(200, b"late")), "/echo": lambda h: h.answer(201, h.sent, Content_Type="application/json", X_Kind="test"),
                        "/large": lambda h: h.answer(200, b"x" * 70000)})
        self.server = Server("--modules", "org,locations,events,webhooks,workflows", "--test-clock", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true",
                             "--set", "base_url=http://127.0.0.2:1")
        self.org = self.server.organization()
        self.client = self.org.client()
        self.system = Client(self.server, self.server.demo_key)

    def clock(self, moment):
        """The server's clock shows this moment, and goes on."""
        offset = (moment - datetime.datetime.now(UTC)).total_seconds()
        self.system.post("/v1/system/clock", {"offset_seconds": int(offset)}, expect=200)

    def flow(self, source, triggers, name="Flow", **more):
        row = self.client.post(FLOWS, {"name": name, "source": source, "triggers": triggers, **more}, expect=201).data
        self.client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
        return row["id"]


@pytest.fixture(scope="module")
def world():
    w = World()
    yield w
    w.server.end()


@pytest.fixture(autouse=True)
def no_leftovers(world):
    yield
    for row in world.client.get(f"{FLOWS}?status=all&limit=100").data:
        world.client.delete(f"{FLOWS}/{row['id']}")


TICK = "return {on_schedule = function(tick, ctx) return {tick.scheduled_at, tick.local_time, ctx.run.trigger.name} end}"


def at(year, month, day, hour=0, minute=0, second=0):
    return datetime.datetime(year, month, day, hour, minute, second, tzinfo=UTC)


@pytest.mark.parametrize("trigger, word", [
    ({}, "five fields"), ({"cron": "* * * *"}, "five fields"), ({"cron": "61 * * * *"}, "minute"), ({"cron": "0 0 30 2 *"}, "no day"), ({"cron": "@often"}, "@hourly"),
    ({"cron": "@daily", "timezone": "Mars/Olympus"}, "no such time zone"), ({"cron": "@daily", "timezone": "../../etc/passwd"}, "no such time zone"),
    ({"cron": "@daily", "timezone": 5}, "Europe/Berlin"), ({"cron": "@daily", "overlap": "kill"}, "overlap"), ({"cron": "@daily", "catch_up": 1}, "catch_up"),
    ({"cron": "@daily", "every": 5}, "every")])
def test_schedules_that_can_not_be(world, trigger, word):
    r = world.client.refused("POST", FLOWS, 400, "workflow.trigger_invalid", body={"name": "Bad", "source": TICK, "triggers": [{"type": "schedule", **trigger}]})
    assert r.errors == ["triggers.0"] and word in r.message


def test_a_schedule_starts_runs(world):
    world.clock(at(2030, 10, 26, 3, 58))
    id = world.flow(TICK, [{"type": "schedule", "name": "morning", "cron": "0 6 * * *", "timezone": "Europe/Berlin"},
                           {"type": "schedule", "name": "never", "cron": "0 6 * * *", "enabled": False}])
    world.clock(at(2030, 10, 26, 3, 59, 59))
    run, = over(world.client, id)
    assert run["status"] == "succeeded" and run["output"]["value"] == ["2030-10-26T04:00:00.000Z", "2030-10-26T06:00:00+02:00", "morning"]
    assert run["trigger"] == {"type": "schedule", "name": "morning", "cron": "0 6 * * *", "scheduled_at": "2030-10-26T04:00:00.000Z"}
    assert run["on_behalf_of"] is None and run["location_id"] is None and "2030-10-26T04:00:" in run["input"]["value"]["actual_at"]
    # where clocks change: 6:00 is an hour later in UTC
    world.clock(at(2030, 10, 27, 4, 59, 59))
    assert over(world.client, id, 2)[1]["output"]["value"][:2] == ["2030-10-27T05:00:00.000Z", "2030-10-27T06:00:00+01:00"]
    assert [r["id"] for r in runs(world.client, id, "&trigger_type=schedule")] == [r["id"] for r in runs(world.client, id)]


def test_times_that_were_missed(world):
    world.clock(at(2031, 1, 1, 1))
    ids = [world.flow(TICK, [{"type": "schedule", "cron": "0 6 * * *", "catch_up": catch_up}], f"Missed {catch_up}") for catch_up in (True, False)]
    world.clock(at(2031, 1, 9, 5, 30))  # nothing ran for days
    assert [r["output"]["value"][0] for r in over(world.client, ids[0])] == ["2031-01-08T06:00:00.000Z"]
    until(lambda: world.server.sql("SELECT bool_and(next_at > '2031-01-09 05:00Z') FROM workflows.schedule WHERE workflow_id = ANY (%s)", ids)[0][0])
    assert runs(world.client, ids[1]) == []
    world.clock(at(2031, 1, 9, 5, 59, 59))
    for id, n in zip(ids, (2, 1)):
        assert over(world.client, id, n)[-1]["output"]["value"][0] == "2031-01-09T06:00:00.000Z"


@pytest.mark.parametrize("overlap, ends", [("skip", ["skipped", "succeeded"]), ("queue", ["succeeded", "succeeded"])])
def test_overlap(world, overlap, ends):
    slow = "return {on_schedule = function() while not wharf.kv.get('go') do end return 1 end}"
    world.clock(at(2032, 1, 1, 5, 50))
    id = world.flow(slow, [{"type": "schedule", "cron": "0,1 6 * * *", "overlap": overlap}], concurrency={"key": "workflow"})
    world.clock(at(2032, 1, 1, 5, 59, 59))
    until(lambda: [r["status"] for r in runs(world.client, id)] == ["running"])
    world.clock(at(2032, 1, 1, 6, 0, 59))
    until(lambda: len(runs(world.client, id)) == 2)
    world.server.sql("INSERT INTO workflows.kv (organization_id, workflow_id, key, value) VALUES (%s, %s, 'go', 'true')", world.org.id, id)
    done = over(world.client, id, 2)
    assert sorted(r["status"] for r in done) == ends
    if overlap == "skip":
        assert next(r for r in done if r["status"] == "skipped")["error"] == {"code": "workflow.overlap", "message": "the run before was not over"}


def test_a_schedule_follows_its_workflow(world):
    def due():
        return world.server.sql("SELECT count(*) FROM workflows.schedule WHERE workflow_id = %s", id)[0][0]
    id = world.flow(TICK, [{"type": "schedule", "cron": "@daily"}, {"type": "schedule", "cron": "@hourly"}])
    assert due() == 2
    world.client.post(f"{FLOWS}/{id}", {"triggers": [{"type": "schedule", "cron": "@daily"}]}, expect=200)
    assert due() == 2  # a draft changes nothing
    world.client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    assert due() == 1
    world.client.post(f"{FLOWS}/{id}", {"enabled": False}, expect=200)
    assert due() == 0
    world.client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    assert due() == 0
    world.client.post(f"{FLOWS}/{id}", {"enabled": True}, expect=200)
    assert due() == 1
    world.client.delete(f"{FLOWS}/{id}")
    assert due() == 0


def test_once_however_many_look(world):
    """Several jobs look at the same time; and one whose job was lost is looked for."""
    world.clock(at(2033, 1, 1, 0, 30))
    ids = [world.flow(TICK, [{"type": "schedule", "cron": "0 * * * *"}], f"Once {i}") for i in range(3)]
    world.clock(at(2033, 1, 1, 0, 59, 59))
    for id in ids:
        assert len(over(world.client, id)) == 1


def test_who_does_not_wait(world):
    here, there = make_location(world.client, "W here")["id"], make_location(world.client, "W there")["id"]
    id = world.flow("""return {on_run = function(input, ctx)
  local a, e = wharf.api.get('/v1/locations/' .. input.id)
  return {e and e.code or a.id, ctx.run.trigger.type, ctx.location_id}
end}""", [{"type": "manual"}], scopes=["locations:read"])

    def run(caller, expect=202, **body):
        return caller.post(f"{FLOWS}/{id}/run", {"wait": False, **body}, expect=expect)
    r = run(world.client, input={"id": here}, location_id=there)
    assert r.data["status"] in ("queued", "running") + END and r.data["trigger"] == {"type": "manual"} and r.data["key"] == r.data["id"]
    done, = over(world.client, id)
    assert done["output"]["value"] == [here, "manual", there] and done["location_id"] == there and done["on_behalf_of"]
    # what the caller reaches counts when the run begins, as it does for those who wait
    bound = world.org.client("workflow:read", locations=[here])
    asked = [(run(bound, input={"id": wanted}).data["id"], told) for wanted, told in ((here, here), (there, "location_access")) * 15]
    for other, told in asked:
        until(lambda: world.client.get(f"{FLOWS}/runs/{other}").data["status"] == "succeeded")
        assert world.client.get(f"{FLOWS}/runs/{other}").data["output"]["value"][0] == told
    world.client.post(f"{FLOWS}/{id}", {"allowed_locations": [there]}, expect=200)
    world.client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    both = world.org.client("workflow:read", locations=[here, there])
    other = run(both, input={"id": here}).data["id"]
    until(lambda: world.client.get(f"{FLOWS}/runs/{other}").data["status"] == "succeeded")
    assert world.client.get(f"{FLOWS}/runs/{other}").data["output"]["value"][0] == "location_access"
    run(both, 403, location_id=here)
    r = run(world.client, 400, version="draft")
    assert r.code == "validation.failed" and r.errors == ["wait"]


def manual(world, body, **more):
    return world.flow(f"return {{on_run = function(input, ctx)\n{body}\nend}}", [{"type": "manual"}], **more)


def output(world, id, input=None):
    return asked(world.client, id, {"input": input or {}}).data["output"]["value"]


def test_http_from_a_run(world):
    url = f"http://127.0.0.1:{world.web.port}"
    id = manual(world, """local res = assert(wharf.http.post(input.url .. "/echo", {json = {n = 1}, headers = {["x-mine"] = "yes"}, query = {q = "a b"}}))
local _, dead = wharf.http.get("http://127.0.0.1:1/")
local _, inside = wharf.http.get("http://10.0.0.1/")
local _, own = wharf.http.get("http://127.0.0.2:1/v1/locations")
local _, large = wharf.http.get(input.url .. "/large", {max_bytes = 60000})
local _, late = wharf.http.get(input.url .. "/slow", {timeout_ms = 100})
local both = wharf.http.all {{url = input.url .. "/missing"}, {url = "http://10.0.0.1/"}}
return {res.status, res.json().n, res.headers["x-kind"], dead.code, inside.code, own.code, large.code, late.code, both[1][1].status, both[2][2].code, ctx.budget().http_calls}""")
    run = asked(world.client, id, {"input": {"url": url}}).data
    assert run["output"]["value"] == [201, 1, "test", "http.blocked", "http.blocked", "http.blocked", "http.too_large", "http.timeout", 404, "http.blocked", 2]
    assert run["usage"]["http_calls"] == 8
    method, path, headers, body = next(s for s in world.web.seen if s[1].startswith("/echo"))
    assert (method, path, headers["x-mine"], body) == ("POST", "/echo?q=a%20b", "yes", b'{"n":1}')
    more = manual(world, "for i = 1, 11 do wharf.http.get(input.url .. '/large') end", name="More")
    assert asked(world.client, more, {"input": {"url": url}}, 400).code == "workflow.budget_calls"


def test_http_hosts(world):
    ask = """local out = {} for i, host in ipairs {"127.0.0.1", "localhost", "sub.api.example.com", "api.example.com", "xapi.example.com", "user@127.0.0.1"} do
  local res, e = wharf.http.get("http://" .. host .. ":" .. input.port .. "/echo") out[i] = res and res.status or e.code end return out"""
    id = manual(world, ask, http_hosts=["127.0.0.1", "*.API.example.com"])
    assert world.client.get(f"{FLOWS}/{id}").data["http_hosts"] == ["127.0.0.1", "*.API.example.com"]
    told = output(world, id, {"port": world.web.port})
    refused = "http.host_not_allowed"
    assert told[0] == 201 and told[1] == told[3] == told[4] == told[5] == refused and told[2] != refused
    none = manual(world, ask, name="None", http_hosts=[])
    assert output(world, none, {"port": world.web.port}) == [refused] * 6
    assert world.client.post(f"{FLOWS}/{none}", {"http_hosts": None}, expect=200).data["has_draft"]
    assert output(world, none, {"port": world.web.port}) == [refused] * 6  # a draft changes nothing
    for bad in ("", "https://x.example", "a b", "*", "*.", "x.*", ".example.com", "example.com."):
        r = world.client.request("POST", f"{FLOWS}/{none}", {"http_hosts": [bad]})
        assert r.status == 400 and r.errors == ["http_hosts.0"], (bad, r)


def test_locks_and_sleep(world):
    id = world.flow("""return {on_run = function(input, ctx)
  if input.nap then wharf.sleep(input.nap) return "slept" end
  local held = {wharf.lock("one", {ttl_ms = input.ttl}, function()
    if input.hold then wharf.kv.set("held", true) wharf.sleep(input.hold) end
    local inner, e = wharf.lock("one", function() return "twice" end)
    local other = wharf.lock("two", function() return "other" end)
    return inner or e.code, other
  end)}
  local e = held[2]
  return held[1] or e.code, held[1] and {held[1], e}
end}""", [{"type": "manual"}], concurrency={"max": 5})
    assert output(world, id) == "lock.busy"  # the inner one; and given back:
    assert output(world, id) == "lock.busy"
    assert world.server.sql("SELECT count(*) FROM workflows.lock WHERE workflow_id = %s", id) == [(0,)]
    assert asked(world.client, id, {"input": {"nap": 1}}, 400).code == "workflow.failed"  # somebody waits

    def later(**input):
        return world.client.post(f"{FLOWS}/{id}/run", {"wait": False, "input": input}, expect=202).data["id"]

    def ended(run):
        until(lambda: world.client.get(f"{FLOWS}/runs/{run}").data["status"] in END)
        return world.client.get(f"{FLOWS}/runs/{run}").data
    first = later(hold=1500)
    until(lambda: world.server.sql("SELECT count(*) FROM workflows.kv WHERE workflow_id = %s", id) == [(1,)])
    assert "held by" not in output(world, id) and ended(first)["output"]["value"] == "lock.busy"
    assert ended(later(nap=20))["output"]["value"] == "slept"
    world.client.post(f"{FLOWS}/{id}", {"retry": {"max": 0}}, expect=200)
    world.client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    assert "10 seconds" in ended(later(nap=10001))["error"]["message"]
    long = later(nap=9000)
    until(lambda: world.client.get(f"{FLOWS}/runs/{long}").data["status"] == "running")
    world.client.post(f"{FLOWS}/runs/{long}/cancel", {}, expect=202)
    assert ended(long)["status"] == "canceled"
    # it ends with its run, however that ends
    for how in ("wharf.fail('no')", "wharf.reject('no', 'No')", "while true do end"):
        other = world.flow(f"return {{on_run = function() return wharf.lock('one', function() wharf.lock('two', function() {how} end) end) end}}", [{"type": "manual"}], name=how)
        asked(world.client, other, {}, 400)
        assert world.server.sql("SELECT count(*) FROM workflows.lock WHERE workflow_id = %s", other) == [(0,)]
    # who died holds it until its end
    world.server.sql("INSERT INTO workflows.lock VALUES (%s, %s, 'one', 'dead', wharf.now() + interval '1 hour')", world.org.id, id)
    assert output(world, id) == "lock.busy"
    world.server.sql("UPDATE workflows.lock SET expires_at = wharf.now() WHERE workflow_id = %s", id)
    assert ended(later())["status"] == "succeeded"
    assert world.server.sql("SELECT count(*) FROM workflows.lock WHERE workflow_id = %s", id) == [(0,)]


def test_sync(world):
    def sync(caller=world.client, **query):
        return caller.get(f"{FLOWS}/sync?" + "&".join(f"{k}={v}" for k, v in query.items())).data

    def ids(told):
        return [w["id"] for w in told["workflows"]]
    here, there = make_location(world.client, "S here")["id"], make_location(world.client, "S there")["id"]
    source = "return {on_run = function() end, on_schedule = function() end}"
    wide = world.flow(source, [{"type": "manual", "name": "go"}, {"type": "schedule", "cron": "@yearly"}], "Wide", settings={"a": 1})
    near = world.flow(source, [{"type": "manual"}], "Near", allowed_locations=[here])
    draft = world.client.post(FLOWS, {"name": "Draft", "source": source}, expect=201).data["id"]
    first = sync()
    assert ids(first) == sorted([wide, near]) and first["deleted"] == []
    item = next(w for w in first["workflows"] if w["id"] == wide)
    assert set(item) == {"id", "name", "description", "allowed_locations", "version", "enabled", "triggers", "settings", "updated_at", "sha256"}
    assert item["triggers"] == [{"type": "manual", "name": "go"}] and item["settings"] == {"a": 1} and item["allowed_locations"] is None and len(item["sha256"]) == 64
    assert ids(sync(status="draft")) == [draft] and ids(sync(location_id=there)) == [wide] and ids(sync(location_id=f"{there},{here}")) == sorted([wide, near])
    far = world.org.client("workflow:read", locations=[there])
    assert ids(sync(far)) == [wide]
    far.refused("GET", f"{FLOWS}/sync?location_id={here}", 403, "location_access")
    # nothing changed, also not by a run
    token = first["sync_token"]
    asked(world.client, wide, {})
    until(lambda: world.client.get(f"{FLOWS}/{wide}").data["last_run"])
    assert sync(since=token) == {"workflows": [], "deleted": [], "sync_token": token}
    # a draft is none of the published ones' affairs, but its row changed: it is told as it is
    world.client.post(f"{FLOWS}/{wide}", {"settings": {"a": 2}}, expect=200)
    changed = sync(since=token)
    assert ids(changed) == [wide] and changed["workflows"][0]["settings"] == {"a": 1} and ids(sync(status="draft")) == sorted([wide, draft])
    world.client.post(f"{FLOWS}/{wide}/publish", {}, expect=200)
    changed = sync(since=token)
    assert ids(changed) == [wide] and changed["workflows"][0]["settings"] == {"a": 2} and changed["workflows"][0]["version"] == 2
    token = changed["sync_token"]
    world.client.post(f"{FLOWS}/{wide}", {"enabled": False}, expect=200)
    world.client.post(f"{FLOWS}/{near}", {"allowed_locations": [there]}, expect=200)
    left, came = sync(since=token), sync(far, since=token)
    assert ids(left) == [near] and left["deleted"] == [wide] and ids(came) == [near] and came["deleted"] == [wide]
    world.client.delete(f"{FLOWS}/{near}")
    assert sync(since=left["sync_token"])["deleted"] == [near] and ids(sync()) == []
    change, day, view = left["sync_token"].split("-")[1:]
    for bad in ("x", "w2", "w2-1", f"w2-{change}-{int(day) - 31}-{view}", f"w2-{change}-{int(day) + 9}-{view}", f"w2-{10 ** 15}-{day}-{view}", f"w2-{change}-{day}-{view}x", "w2--1-1-1",
                f"w2-{change}-{day}", f"w1-{change}-{day}", f"w2-{change}-{day}-x", f"d2-{change}-{day}-{view}"):
        world.client.refused("GET", f"{FLOWS}/sync?since={bad}", 400, "workflow.sync_token")
    world.client.refused("GET", f"{FLOWS}/sync?status=all", 400, "param.invalid")
    r = world.client.request("GET", f"{FLOWS}/sync")
    assert world.client.request("GET", f"{FLOWS}/sync", headers={"If-None-Match": r.headers["ETag"]}).status == 304


def test_sync_tells_of_rights_that_changed(world):
    """No workflow changes when a key's locations do, or other locations are asked for; the device hears of it all the same."""
    def sync(caller, **query):
        return caller.get(f"{FLOWS}/sync?" + "&".join(f"{k}={v}" for k, v in query.items())).data

    def ids(told):
        return [w["id"] for w in told["workflows"]]
    here, there, beyond = (make_location(world.client, "R " + name)["id"] for name in ("here", "there", "beyond"))
    source = "return {on_run = function() end}"
    flows = {name: world.flow(source, [{"type": "manual"}], "R " + name, **({"allowed_locations": at} if at else {}))
             for name, at in (("wide", None), ("near", [here]), ("far", [there]), ("both", [here, there]))}
    wide, near, far, both = (flows[name] for name in ("wide", "near", "far", "both"))
    key = world.client.post("/v1/api-keys", {"name": "Tablet", "scopes": {"workflow": 1}, "allow_all_locations": False, "location_ids": [here]}, expect=201).data
    device = Client(world.server, key["api_key"])

    def reaches(*places):
        world.client.post(f"/v1/api-keys/{key['id']}", {"location_ids": list(places)}, expect=200)
        until(lambda: sorted(device.get("/v1/auth").data["location_ids"]) == sorted(places))
    first = sync(device)
    mine = {wide, near, both}
    assert mine <= set(ids(first)) and far not in ids(first)
    assert sync(device, since=first["sync_token"]) == {"workflows": [], "deleted": [], "sync_token": first["sync_token"]}
    reaches(there, here)  # more: what came in is told, and nothing that is seen is deleted
    more = sync(device, since=first["sync_token"])
    assert {wide, near, far, both} <= set(ids(more)) and not {wide, near, far, both} & set(more["deleted"])
    reaches(here, there)  # the same, in another order
    assert sync(device, since=more["sync_token"]) == {"workflows": [], "deleted": [], "sync_token": more["sync_token"]}
    reaches(there)  # less: what left is told
    less = sync(device, since=more["sync_token"])
    assert {wide, far, both} <= set(ids(less)) and near in less["deleted"] and not {wide, far, both} & set(less["deleted"])
    world.client.post(f"{FLOWS}/{both}", {"allowed_locations": [here]}, expect=200)
    gone = sync(device, since=less["sync_token"])
    assert gone["deleted"] == [both] and ids(gone) == []
    world.client.delete(f"{FLOWS}/{far}")
    reaches(beyond)
    last = sync(device, since=gone["sync_token"])
    assert wide in ids(last) and {far, near, both} <= set(last["deleted"])
    # who asks for other locations than before
    all_of = sync(world.client)
    here_only = sync(world.client, location_id=here, since=all_of["sync_token"])
    assert {wide, near, both} <= set(ids(here_only)) and not {wide, near, both} & set(here_only["deleted"])
    there_only = sync(world.client, location_id=there, since=here_only["sync_token"])
    assert wide in ids(there_only) and {near, both} <= set(there_only["deleted"])
    again = sync(world.client, location_id=f"{there}", since=there_only["sync_token"])
    assert again["workflows"] == again["deleted"] == []


def test_the_clock_is_set_back(world):
    """By much, as it was wrong for a while: schedules go on, with the times that come. By less than an hour: no time comes twice. (The last test: the others go forward only.)"""
    world.clock(at(2040, 1, 1, 5, 50))
    id = world.flow(TICK, [{"type": "schedule", "cron": "@hourly"}])
    world.clock(at(2040, 1, 1, 5, 59, 59))
    over(world.client, id, 1)
    world.clock(at(2040, 1, 1, 5, 50, 30))  # for all of these minutes nothing is due
    world.server.sql("UPDATE wharf.job_schedule SET next_at = wharf.now() WHERE queue = 'workflows.sweep'")
    until(lambda: world.server.sql("SELECT next_at > wharf.now() FROM wharf.job_schedule WHERE queue = 'workflows.sweep'")[0][0])
    until(lambda: not world.server.sql("SELECT 1 FROM wharf.job WHERE queue IN ('workflows.sweep', 'workflows.tick') AND state <> 'delayed'"))
    world.clock(at(2040, 1, 1, 5, 59, 30))
    assert [r["trigger"]["scheduled_at"] for r in runs(world.client, id)] == ["2040-01-01T06:00:00.000Z"]
    assert world.server.sql("SELECT next_at = '2040-01-01 07:00Z' FROM workflows.schedule WHERE workflow_id = %s", id) == [(True,)]
    world.clock(at(2036, 5, 5, 11, 59, 20))
    until(lambda: world.server.sql("SELECT next_at = '2036-05-05 12:00Z' FROM workflows.schedule WHERE workflow_id = %s", id)[0][0])
    assert len(runs(world.client, id)) == 1
    world.clock(at(2036, 5, 5, 11, 59, 59))
    assert sorted(r["output"]["value"][0] for r in over(world.client, id, 2)) == ["2036-05-05T12:00:00.000Z", "2040-01-01T06:00:00.000Z"]
