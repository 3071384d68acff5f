"""wharf.emit and wharf.mail (spec 08 section 5): what runs and operators' hooks tell others. Mail goes through a real SMTP server, events to a real receiver."""
import pytest

from receivers import Hook, World, until
from hook_folder import Folder, place, system_of  # noqa: F401  (place is a fixture)
from test_support import Door, Sink
from test_workflow_events import FLOWS, flow, over, runs
from test_workflow_runs import asked
from wharf import WAIT, make_location


@pytest.fixture(scope="module")
def sink():
    return Sink()


@pytest.fixture(scope="module")
def world(sink, place):
    door = Door(sink, hostname="127.0.0.1", port=0)
    door.start()
    w = World("--modules", "org,locations,events,webhooks,workflows", "--set", f"mail.url=smtp://127.0.0.1:{door.port}", "--set", "mail.tls=none", "--set", "mail.from=wharf@example.com", "--set", f"lua_hooks.dir={place}",
              "--set", "jobs.threads=4")
    yield w
    w.close()
    door.stop()


@pytest.fixture(scope="module")
def server(world):
    return world.server


@pytest.fixture
def org(server):
    return server.organization()


@pytest.fixture
def mine(org):
    return org.client()


@pytest.fixture
def hooks(place, server):
    f = Folder(place, server)
    f.system = system_of(server, server.organization())
    yield f
    f.load({})


def manual(client, body, name="Manual", **more):
    row = client.post(FLOWS, {"name": name, "source": f"return {{on_run = function(input, ctx)\n{body}\nend}}", "triggers": [{"type": "manual"}], **more}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    return row["id"]


def output(client, id, input=None, **more):
    return asked(client, id, {"input": input or {}, **more}).data["output"]["value"]


def event(client, id):
    return until(lambda: client.get(f"/v1/events/{id}", expect=None).data if client.get(f"/v1/events/{id}", expect=None).status == 200 else None)


# ---- events ----

def test_an_event(world, org, mine):
    """It goes the way of all events: recorded, delivered, and starts other workflows."""
    place = make_location(mine)["id"]
    hook = Hook(world, mine, events=["custom.order.*"])
    other = Hook(world, mine, events=["custom.orders.*"])
    listener = flow(mine, "return {ev.type, ev.data.n, ctx.run.depth}", "listener", events=["custom.order.packed"])
    id = manual(mine, f"return {{wharf.emit('custom.order.packed', {{n = input.n, list = wharf.json.array{{}}}}, {{resource_type = 'order', resource_id = 'o-1', location_id = '{place}'}}),"
                      " wharf.emit('custom.order.noted')}")
    first, second = output(mine, id, {"n": 5})
    row = event(mine, first)
    assert (row["type"], row["data"], row["resource_type"], row["resource_id"], row["location_id"]) == ("custom.order.packed", {"n": 5, "list": []}, "order", "o-1", place)
    assert row["actor"] == {"type": "workflow", "id": id, "name": "Manual"} and row["previous_attributes"] is None
    row = event(mine, second)
    assert (row["data"], row["resource_type"], row["resource_id"], row["location_id"]) == ({}, "workflow", id, None)
    got = hook.wait(2)
    assert sorted(g.event["type"] for g in got) == ["custom.order.noted", "custom.order.packed"] and all(g.event["actor"]["id"] == id for g in got)
    run, = over(mine, listener)
    assert run["output"]["value"] == ["custom.order.packed", 5, 1] and run["event_id"] == first
    assert other.got == []
    assert [e["id"] for e in mine.get("/v1/events?type=custom.order.packed").data] == [first]
    assert {e["type"] for e in mine.get("/v1/events?type=custom.order.*").data} == {"custom.order.packed", "custom.order.noted"}
    assert not [t for t in mine.get("/v1/events/types").data if t["type"].startswith("custom")]
    mine.refused("POST", "/v1/webhooks", 400, "webhook.event_unknown", ["events.0"], body={"url": world.web.url("/x"), "events": ["custom.Order"]})


def test_the_location_of_the_run(mine):
    place = make_location(mine)["id"]
    id = manual(mine, "return {wharf.emit('custom.a'), wharf.emit('custom.a', {}, {location_id = wharf.null})}")
    first, second = output(mine, id, location_id=place)
    assert event(mine, first)["location_id"] == place and event(mine, second)["location_id"] is None


def test_locations_of_others(mine):
    here, there = make_location(mine, "Here")["id"], make_location(mine, "There")["id"]
    id = manual(mine, """local out = {}
for i, l in ipairs(input) do local e, err = wharf.emit('custom.a', {}, {location_id = l}) out[i] = e and 'done' or err.code end
return out""", allowed_locations=[here])
    assert output(mine, id, [here, there, "loc_none"]) == ["done", "location_access", "location_access"]
    free = manual(mine, "local e, err = wharf.emit('custom.a', {}, {location_id = input.id}) return err.code", "free")
    assert output(mine, free, {"id": "loc_none"}) == "location_access"


@pytest.mark.parametrize("call, word", [
    ("'order.packed'", "custom.<name>"), ("'custom.'", "custom.<name>"), ("'custom.A'", "custom.<name>"), ("'custom.a..b'", "custom.<name>"), ("'custom.a.'", "custom.<name>"),
    ("'custom.' .. ('a'):rep(94)", "100 bytes"), ("'custom.a', 5", "table of members"), ("'custom.a', {1, 2}", "table of members"), ("'custom.a', {s = ('x'):rep(65530)}", "64 KiB"),
    ("'custom.a', {}, {resource_id = 'x'}", "go together"), ("'custom.a', {}, {resource_type = 'A b', resource_id = 'x'}", "word such as"),
    ("'custom.a', {}, {resource_type = 'a', resource_id = ('x'):rep(101)}", "100 bytes"), ("'custom.a', {}, {location_id = 5}", "location_id is")])
def test_events_that_can_not_be(server, module_client, call, word):
    id = manual(module_client, f"return wharf.emit({call})", call[:100])
    r = asked(module_client, id, {}, expect=400)
    assert r.code == "workflow.failed" and word in r.message, r
    assert not server.sql("SELECT 1 FROM wharf.event WHERE resource_id = %s AND type LIKE 'custom.%%'", id)


@pytest.fixture(scope="module")
def module_client(server):
    return server.organization().client()


def test_how_many(mine, sink, org):
    """A run counts them; beyond its budget it is over, and what it did stays done."""
    me = org.user(email="count@example.com")
    id = manual(mine, "for i = 1, input.n do wharf.emit('custom.counted', {i = i}) end for i = 1, input.m do wharf.mail.send{to = input.to, subject = 's', text = 't'} end return 1")
    assert output(mine, id, {"n": 20, "m": 0}) == 1
    r = asked(mine, id, {"input": {"n": 21, "m": 0}}, expect=400)
    assert r.code == "workflow.budget_calls" and "emitted" in r.message
    r = asked(mine, id, {"input": {"n": 0, "m": 6, "to": me}}, expect=400)
    assert r.code == "workflow.budget_calls" and "mails" in r.message
    assert org.server.sql("SELECT count(*) FROM wharf.event WHERE organization_id = %s AND type = 'custom.counted'", org.id) == [(40,)]
    until(lambda: sum(m["To"] == "count@example.com" for m in sink.got) == 5)
    later = flow(mine, "for i = 1, 101 do wharf.emit('custom.many', {i = i}) end", "many", retry={"max": 0})
    make_location(mine)
    run, = over(mine, later)
    assert run["error"]["code"] == "workflow.budget_calls"
    assert org.server.sql("SELECT count(*) FROM wharf.event WHERE organization_id = %s AND type = 'custom.many'", org.id) == [(100,)]


def test_not_before_a_change(mine):
    """Budgets of before hooks are 0 and 0."""
    for name, call in (("e", "wharf.emit('custom.a')"), ("m", "wharf.mail.send{to = 'a@example.com', subject = 's', text = 't'}")):
        row = mine.post(FLOWS, {"name": name, "source": f"return {{before = function(change) {call} end}}",
                                "triggers": [{"type": "hook", "resource": "location", "action": "create", "phase": "before"}]}, expect=201).data
        mine.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
        r = mine.refused("POST", "/v1/locations", 400, "workflow.hook_failed", body={"name": "x", "address": {"line1": "1", "city": "B", "postal_code": "1", "country_code": "DE"}})
        run, = until(lambda: runs(mine, row["id"]))
        assert mine.get(f"{FLOWS}/runs/{run['id']}").data["error"]["code"] == "workflow.budget_calls", r
        mine.delete(f"{FLOWS}/{row['id']}")


def test_no_end_of_events(org, mine):
    """Two workflows that start each other end at depth 5; one that hears its own events does so only where it says it wants to."""
    ping = flow(mine, "wharf.emit('custom.pong') return ctx.run.depth", "ping", events=["custom.ping"])
    pong = flow(mine, "wharf.emit('custom.ping') return ctx.run.depth", "pong", events=["custom.pong"])
    deaf = flow(mine, "wharf.emit('custom.echo') return ctx.run.depth", "deaf", events=["custom.echo", "custom.ping"])
    own = flow(mine, "wharf.emit('custom.self') return ctx.run.depth", "own", events=["custom.self"], trigger={"self": True})
    start = manual(mine, "wharf.emit('custom.ping') wharf.emit('custom.self')", "start")
    asked(mine, start, {})
    for id, depths in ((ping, [1, 3, 5]), (pong, [2, 4]), (own, [1, 2, 3, 4, 5])):
        found = over(mine, id, len(depths))
        assert sorted(r["depth"] for r in found) == depths
        for r in found:
            assert (r["status"], r["error"] and r["error"]["code"]) == (("succeeded", None) if r["depth"] < 5 else ("skipped", "workflow.depth_exceeded"))
    assert sorted(r["depth"] for r in over(mine, deaf, 3)) == [1, 3, 5]  # of custom.ping only
    assert {r["trigger"]["event_type"] for r in over(mine, deaf, 3)} == {"custom.ping"}


def test_a_run_that_fails_has_emitted(org, mine):
    """Each event is written at once: a run that is tried again tells once more."""
    id = flow(mine, "wharf.emit('custom.tried', {attempt = ctx.run.attempt}) if ctx.run.attempt == 1 then error('again') end", retry={"max": 1, "waits": [0]})
    make_location(mine)
    over(mine, id)
    assert [d["attempt"] for d, in org.server.sql("SELECT data FROM wharf.event WHERE organization_id = %s AND type = 'custom.tried' ORDER BY id", org.id)] == [1, 2]


def test_public_callers(server, mine):
    id = mine.post(FLOWS, {"name": "Public", "source": """return {on_http = function(r)
  if r.query.mail then wharf.mail.send{to = 'a@example.com', subject = 's', text = 't'} end
  for i = 1, 6 do wharf.emit('custom.public', {i = i}) end
end}""", "triggers": [{"type": "http", "path": "x", "auth": "none"}]}, expect=201).data["id"]
    mine.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    for query in ("", "?mail=1"):
        r = mine.http.post(f"{server.base}{FLOWS}/{id}/http/x{query}", timeout=WAIT)
        assert r.status_code == 400 and r.json()["code"] == "workflow.budget_calls", r.text
    assert server.sql("SELECT count(*) FROM wharf.event WHERE resource_id = %s AND type = 'custom.public'", id) == [(5,)]


# ---- mail ----

def mails(sink, address):
    return [m for m in sink.got if address in m["To"]]


def subscribe(org, address, status="active"):
    row = org.client(user=org.user(role="owner")).post("/v1/events/subscribers", {"email": address, "events": ["workflow.disabled"]}, expect=201).data
    org.server.sql("UPDATE events.subscriber SET status = %s WHERE id = %s", status, row["id"])


def test_a_mail(org, mine, sink):
    user = org.user(email="Ann@example.com")
    subscribe(org, "ops@example.com")
    id = manual(mine, "return {wharf.mail.send(input)}")
    sent, = output(mine, id, {"to": [user, "OPS@example.com"], "subject": "Late \u20ac", "text": "It is late.", "html": "<b>late</b>"})
    assert sent.startswith("mail_")
    m, = until(lambda: [m for m in mails(sink, "ops@example.com") if m["Subject"] == "Late \u20ac"])
    assert [a.addr_spec for a in m["To"].addresses] == ["Ann@example.com", "ops@example.com"] and m["From"].addresses[0].addr_spec == "wharf@example.com"
    assert m.get_body(("plain",)).get_content().strip() == "It is late." and m.get_body(("html",)).get_content().strip() == "<b>late</b>"
    run = mine.get(f"{FLOWS}/{id}/runs").data[0]
    assert m["Message-ID"] == f"<{run['id']}.1@wharf>"


def test_a_mail_of_a_run_that_is_tried_again(org, mine, sink):
    """It is sent with each attempt, under the same Message-ID; a run that somebody asks for again is another one."""
    user = org.user(email="again@example.com")
    id = flow(mine, f"""wharf.mail.send{{to = '{user}', subject = 'one', text = 't'}} wharf.mail.send{{to = '{user}', subject = 'two', text = 't'}}
if ctx.run.attempt < 3 then error('again') end wharf.reject('enough', 'enough')""", retry={"max": 2, "waits": [0]})
    make_location(mine)
    run, = over(mine, id)
    assert (run["status"], run["attempt"]) == ("rejected", 3)
    got = until(lambda: len(m := mails(sink, "again@example.com")) >= 6 and m)
    wanted = sorted([("one", f"<{run['id']}.1@wharf>"), ("two", f"<{run['id']}.2@wharf>")] * 3)
    assert sorted((m["Subject"], m["Message-ID"]) for m in got) == wanted
    mine.post(f"{FLOWS}/runs/{run['id']}/retry", {}, expect=202)
    got = until(lambda: len(m := mails(sink, "again@example.com")) >= 12 and m)
    assert len({m["Message-ID"] for m in got}) == 4


def test_to_nobody_else(org, mine, sink, server):
    org.user(email="gone@example.com", status="disabled")
    server.organization().user(email="theirs@example.com")
    subscribe(org, "unverified@example.com", "pending_verification")
    subscribe(org, "bounced@example.com", "bounced")
    subscribe(server.organization(), "elsewhere@example.com")
    before = len(sink.got)
    id = manual(mine, "local id, err = wharf.mail.send{to = input.to, subject = 's', text = 't'} return {id or wharf.null, err}")
    for to in ("stranger@example.com", "gone@example.com", "theirs@example.com", "unverified@example.com", "bounced@example.com", "elsewhere@example.com", "user_none", ""):
        sent, err = output(mine, id, {"to": to})
        assert sent is None and err["code"] == "mail.recipient" and to in err["message"], (to, err)
    known = org.user(email="known@example.com")
    assert output(mine, id, {"to": [known, "stranger@example.com"]})[1]["code"] == "mail.recipient"  # and nobody gets it
    assert not [m for m in sink.got[before:] if m["Subject"] == "s"]
    for to in ([], 5, [5], ["a@example.com"] * 101):
        r = asked(mine, id, {"input": {"to": to}}, expect=400)
        assert r.code == "workflow.failed" and "to is a user" in r.message, r
    assert output(mine, manual(mine, "local id, err = wharf.mail.send{to = input.to, subject = '', text = ''} return err.code", "empty"), {"to": known}) == "mail.refused"


def test_mail_of_test_organizations(org, server):
    test = org.client(test=True)
    user = org.user(email="tried@example.com")
    id = manual(test, "return {wharf.mail.send{to = input.to, subject = 'Tried', text = 'It works.'}}")
    assert output(test, id, {"to": user})[0].startswith("mail_")
    row, = [m for m in test.get("/v1/test/outbox").data if m["subject"] == "Tried"]
    assert row["recipients"] == ["tried@example.com"] and row["text"] == "It works."


def test_administrators_are_told(org, mine, sink):
    """Of a workflow that was disabled."""
    org.user(email="boss@example.com", role="owner")
    id = flow(mine, "error('no')", "failing", retry={"max": 0})
    for i in range(20):
        make_location(mine, f"Place {i}")
    until(lambda: mine.get(f"{FLOWS}/{id}").data["enabled"] is False)
    until(lambda: any("workflow.disabled" in str(m) for m in mails(sink, "boss@example.com")))


# ---- hooks of the operator ----

def test_hooks_emit(world, org, mine, hooks, sink):
    user = org.user(email="desk@example.com")
    hook = Hook(world, mine, events=["custom.*"])
    listener = flow(mine, "return ev.data.name", "listener", events=["custom.place.made"])
    hooks.load({"10-tell.lua": """
wharf.hook.after("location", "create", function(change, ctx)
  wharf.emit("custom.place.made", {name = change.new.name, depth = ctx.run.depth}, {resource_type = "location", resource_id = change.id, location_id = wharf.null})
  local _, err = wharf.mail.send{to = "desk@example.com", subject = "New: " .. change.new.name, text = "Look."}
  if err then error(err.message) end
end)
wharf.hook.before("location", "update", function(change, ctx)
  wharf.emit("custom.place.renamed", {name = change.input.name, depth = ctx.run.depth})
  if change.input.name == "Never" then wharf.reject("never", "Not this name", "name") end
end)"""})
    place = make_location(mine, "Here")["id"]
    got, = hook.wait(1)
    assert (got.event["type"], got.event["data"], got.event["resource_id"], got.event["location_id"]) == ("custom.place.made", {"name": "Here", "depth": 0}, place, None)
    assert got.event["actor"]["type"] == "system"
    assert over(mine, listener)[0]["output"]["value"] == "Here"
    m, = until(lambda: [m for m in mails(sink, "desk@example.com") if m["Subject"] == "New: Here"])
    assert m["Message-ID"].endswith(".1@wharf>") and user
    mine.refused("POST", f"/v1/locations/{place}", 400, "workflow.rejected", ["name", "custom.never"], body={"name": "Never"})
    mine.post(f"/v1/locations/{place}", {"name": "There"}, expect=200)
    got = hook.wait(2)[1]  # what was refused was not told
    assert (got.event["type"], got.event["data"], got.event["resource_type"], got.event["resource_id"]) == ("custom.place.renamed", {"name": "There", "depth": 0}, "organization", org.id)
    assert got.event["location_id"] == place  # that of the call
    assert got.event["actor"]["type"] == "api_key"


def test_changes_that_are_too_large_for_a_job(org, mine, hooks):
    """Of an after hook: what has no room is left out, and the hook asks for the row."""
    hooks.load({"10-large.lua": """
wharf.hook.after("workflow", "update", function(change, ctx)
  wharf.emit("custom.large", {cut = change.cut, id = change.id, action = change.action, resource = change.resource, rows = change.old ~= nil or change.new ~= nil or change.input ~= nil})
end)"""})
    row = mine.post(FLOWS, {"name": "Large", "source": "return {}"}, expect=201).data["id"]
    for size in (10, 262_100):
        mine.post(f"{FLOWS}/{row}", {"source": "return {} --" + "x" * size}, expect=200)
    mine.post(f"{FLOWS}/{row}", {"source": "return {} --" + "y" * 262_100}, expect=200)
    told = until(lambda: len(found := org.server.sql("SELECT data FROM wharf.event WHERE organization_id = %s AND type = 'custom.large' ORDER BY id", org.id)) == 3 and found)
    rest = {"id": row, "action": "update", "resource": "workflow"}
    assert [d for d, in told] == [{**rest, "rows": True}] + [{**rest, "cut": True, "rows": False}] * 2, told


def test_filters_of_hooks(org, mine, hooks):
    hooks.load({"10-f.lua": """
wharf.hook.on_event("location.*", function(ev, ctx) wharf.emit("custom.named", {name = ev.data.name}) end,
  {filter = {{path = "data.name", op = "in", value = {"B", "C"}}, {path = "previous_attributes", op = "eq", value = wharf.null}}})"""})
    places = [make_location(mine, name)["id"] for name in "ABC"]
    mine.post(f"/v1/locations/{places[0]}", {"name": "C"}, expect=200)
    make_location(mine, "B")
    names = until(lambda: len(found := org.server.sql("SELECT data FROM wharf.event WHERE organization_id = %s AND type = 'custom.named' ORDER BY id", org.id)) >= 3 and found)
    assert sorted(d["name"] for d, in names) == ["B", "B", "C"]


def test_how_hooks_run_beside_each_other(org, mine, hooks):
    """One after the other for all rows; at most two at a time; and with no order at all even of one row."""
    count = """
wharf.hook.on_event("location.created", function(ev, ctx)
  local n = wharf.kv.incr("running")
  wharf.sleep(60)
  wharf.kv.incr("running", -1)
  wharf.emit("custom.done", {n = n})
end, {concurrency = %s})"""
    for concurrency, most in (("{key = 'hook'}", 1), ("{max = 2}", 2), ("{max = 2, key = wharf.null}", 2)):
        hooks.load({"10-c.lua": count % concurrency})
        seen = lambda: org.server.sql("SELECT data FROM wharf.event WHERE organization_id = %s AND type = 'custom.done'", org.id)
        before = len(seen())
        for i in range(6):
            make_location(mine, f"{concurrency} {i}")
        until(lambda: len(seen()) == before + 6)
        assert max(d["n"] for d, in seen()) <= most
    hooks.load({"10-c.lua": """
wharf.hook.on_event("location.updated", function(ev, ctx)
  if ev.data.name == "Second" then wharf.kv.set("second", true) return end
  for i = 1, 100 do
    if wharf.kv.get("second") then wharf.emit("custom.met") return end
    wharf.sleep(50)
  end
end, {concurrency = {key = wharf.null}})"""})
    place = make_location(mine)["id"]
    mine.post(f"/v1/locations/{place}", {"name": "First"}, expect=200)
    mine.post(f"/v1/locations/{place}", {"name": "Second"}, expect=200)
    until(lambda: org.server.sql("SELECT 1 FROM wharf.event WHERE organization_id = %s AND type = 'custom.met'", org.id))


@pytest.mark.parametrize("options, word", [
    ("filter = 5", "filter is an array"), ("filter = {path = 'a'}", "filter is an array"), ("filter = {{path = 'a', op = 'like', value = 1}}", "op is one of"),
    ("filter = {{op = 'eq', value = 1}}", "has a path"), ("filter = {{path = 'a', op = 'in', value = 1}}", "have an array"), ("filter = {{path = 'a', op = 'eq'}}", "one value"),
    ("filter = {{path = 'a', op = 'exists', value = 1}}", "one value"), ("filter = (function() local t = {} for i = 1, 11 do t[i] = {path = 'a', op = 'exists'} end return t end)()", "up to 10"),
    ("concurrency = 5", "max and key"), ("concurrency = {max = 0}", "from 1 to 50"), ("concurrency = {max = 51}", "from 1 to 50"), ("concurrency = {key = 'workflow'}", "the key of concurrency"),
    ("concurrency = {more = 1}", "no option 'more'")])
def test_options_that_can_not_be(hooks, options, word):
    told = hooks.load({"10-x.lua": "wharf.hook.on_event('*', print, {" + options + "})"}, good=False)
    assert told["last_error"]["file"] == "10-x.lua" and word in told["last_error"]["message"]


def test_where_hooks_do_not_tell(hooks, server):
    hooks.load({"10-x.lua": """
wharf.hook.request(function(r, ctx)
  local ok, err = pcall(wharf.emit, 'custom.a')
  if r.path == '/v1/x/a' then wharf.reject('told', tostring(ok) .. ' ' .. tostring(err)) end
end)
wharf.hook.route('GET', '/v1/x/b', {scope = 'public', location = 'none'}, function(r)
  local ok, err = pcall(wharf.emit, 'custom.a')
  return {ok = ok, err = tostring(err)}
end)"""})
    r = hooks.system.get("/v1/x/a", expect=400, check=False)
    assert "false" in r.message and "request and response hooks" in r.message
    told = hooks.system.http.get(server.base + "/v1/x/b", timeout=WAIT).json()["data"]
    assert told["ok"] is False and "no organization" in told["err"]
    told = hooks.load({"10-x.lua": "wharf.emit('custom.a')"}, good=False)
    assert "while the file is loaded" in told["last_error"]["message"]
