"""What runs reach outside of themselves (spec 08 sections 3, 5 and 9): the limits of wharf.http, locks of two servers, locations that a run reaches."""
import datetime
import json
import threading

import pytest

from outside import Silent, Web
from receivers import until
from test_workflow_events import FLOWS, flow, over, runs
from test_workflow_hooks import anew
from test_workflow_runs import asked
from test_workflow_tells import event, manual, output
from wharf import WAIT, Server, make_location

MODULES = ("--modules", "org,locations,events,webhooks,workflows", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true", "--set", "base_url=https://own.wharf.example")


class Slow:
    """Never answers; remembers in which order the callers went away."""

    def __init__(self):
        self.left = []
        self.together = threading.Barrier(10, timeout=WAIT)
        self.web = Web({"/never": self.never, "/ten": self.ten, "/late": self.late, "/soon": lambda h: h.answer(200, b"soon"), "/twice": self.twice})
        self.url, self.second = f"http://127.0.0.1:{self.web.port}", Web({"/ten": self.ten})  # one host is asked less at once

    def never(self, handler):
        handler.connection.settimeout(WAIT)
        handler.connection.recv(1)
        self.left.append(handler.path.partition("?")[2])

    def ten(self, handler):
        """Ten of these have to be there at once."""
        self.together.wait()
        handler.answer(200, handler.path.partition("?")[2].encode())

    def late(self, handler):
        threading.Event().wait(0.3)
        handler.answer(200, b"late")

    def twice(self, handler):
        handler.send_response(200)
        for name, value in (("X-MIXED-Case", "A"), ("x-mixed-case", "b"), ("Content-Length", "0")):
            handler.send_header(name, value)
        handler.end_headers()


@pytest.fixture(scope="module")
def slow():
    return Slow()


@pytest.fixture(scope="module")
def server():
    s = Server(*MODULES)
    yield s
    s.stop()


@pytest.fixture
def org(server):
    return server.organization()


@pytest.fixture
def mine(org):
    return org.client()


# ---- wharf.http ----

def later(client, body, input, **more):
    """A queued run; its record when it is over."""
    id = manual(client, body, **more)
    client.post(f"{FLOWS}/{id}/run", {"wait": False, "input": input}, expect=202)
    return id


def test_how_long_an_answer_is_waited_for(mine, slow):
    """Five seconds where nothing is said: longer than four, and not as long as eight."""
    slow.left.clear()
    id = later(mine, """local told = wharf.http.all {{url = input.url .. "/never?8", timeout_ms = 8000}, {url = input.url .. "/never?none"}, {url = input.url .. "/never?4", timeout_ms = 4000}}
return {told[1][2].code, told[2][2].code, told[3][2].code}""", {"url": slow.url})
    run, = over(mine, id)
    assert run["output"] == {"value": ["http.timeout"] * 3}, run
    until(lambda: len(slow.left) == 3)
    assert slow.left == ["4", "none", "8"]


@pytest.mark.parametrize("call", ["wharf.http.get(input.url .. '/never?x', {timeout_ms = 25000})", "wharf.http.all {{url = input.url .. '/soon'}, {url = input.url .. '/never?x', timeout_ms = 25000}}"])
def test_no_answer_is_waited_for_when_the_run_is_over(mine, slow, call):
    id = manual(mine, f"{call} while true do end", budget={"time_ms": 1500})
    r = asked(mine, id, {"input": {"url": slow.url}}, expect=504)
    assert r.code == "workflow.budget_time"
    run, = runs(mine, id)
    assert run["duration_ms"] < 12000


def test_many_at_once(mine, slow):
    """Ten run beside each other, and their answers are in the order of the questions, whichever came first."""
    ask = "local list, out = {}, {} for i = 1, 10 do list[i] = {url = (i % 2 == 0 and input.url or input.second) .. '/ten?' .. i} end for i, r in ipairs(wharf.http.all(list)) do out[i] = r[1] and r[1].body or r[2].code end return out"
    assert output(mine, manual(mine, ask), {"url": slow.url, "second": f"http://127.0.0.1:{slow.second.port}"}) == [str(i) for i in range(1, 11)]
    mixed = """local out = {} for i, r in ipairs(wharf.http.all {{url = input.url .. "/late"}, {url = "ftp://x.example/"}, {url = input.url .. "/soon"}, {url = input.url .. "/missing"}}) do
  out[i] = r[1] and r[1].status .. r[1].body or r[2].code end return out"""
    assert output(mine, manual(mine, mixed, "Mixed"), {"url": slow.url}) == ["200late", "http.blocked", "200soon", "404nothing here"]
    assert output(mine, manual(mine, "return #wharf.http.all {}", "None")) == 0


@pytest.mark.parametrize("queued", [False, True])
def test_what_a_run_used(mine, slow, queued):
    """Section 7, usage and times, of runs that somebody waits for and of others."""
    body = f"""local held = ('x'):rep(1500000)
for i = 1, 300000 do held = held end
for i = 1, 2 do wharf.api.get('/v1/locations') end
wharf.http.get('{slow.url}/soon') wharf.http.all {{{{url = '{slow.url}/soon'}}, {{url = '{slow.url}/late'}}}}
return #held"""
    id = manual(mine, body, "Used", budget={"instructions": 10_000_000})
    run = asked(mine, id, {"wait": not queued}, 202 if queued else 200).data["id"]
    got = until(lambda: (r := mine.get(f"{FLOWS}/runs/{run}").data)["status"] == "succeeded" and r)
    used = got["usage"]
    assert set(used) == {"instructions", "memory_peak", "cpu_ms", "api_calls", "http_calls"}
    assert (used["api_calls"], used["http_calls"]) == (2, 3) and 300_000 <= used["instructions"] < 3_000_000 and 1_500_000 < used["memory_peak"] < 4_000_000
    assert 300 <= got["duration_ms"] < 60_000 and 0 < used["cpu_ms"] < got["duration_ms"] and got["queued_ms"] >= 0
    at = {m: datetime.datetime.fromisoformat(got[m]) for m in ("started_at", "finished_at")}
    assert abs((at["finished_at"] - at["started_at"]) / datetime.timedelta(milliseconds=1) - got["duration_ms"]) <= 2


@pytest.mark.parametrize("queued", [False, True])
def test_what_is_too_large_to_keep(mine, queued):
    """64 KiB of what a run got and gave: what is larger is not kept, and that is told. What it was given is whole."""
    id = manual(mine, "return ('x'):rep(input.n)", "Large")

    def kept(**input):
        run = asked(mine, id, {"input": input, "wait": not queued}, 202 if queued else 200).data["id"]
        got = until(lambda: (r := mine.get(f"{FLOWS}/runs/{run}").data)["status"] == "succeeded" and r)
        return got["input"], got["input_truncated"], got["output"], got["output_truncated"]

    def room(value):
        return 64 * 1024 - len(json.dumps({"value": value}, separators=(",", ":")))
    most, text = room(""), "t" * room({"n": 1, "text": ""})
    assert kept(n=most) == ({"value": {"n": most}}, False, {"value": "x" * most}, False)
    assert kept(n=most + 1) == ({"value": {"n": most + 1}}, False, None, True)
    assert kept(n=1, text=text) == ({"value": {"n": 1, "text": text}}, False, {"value": "x"}, False)
    assert kept(n=1, text=text + "t") == (None, True, {"value": "x"}, False)


def test_names_of_headers(mine, slow):
    told = output(mine, manual(mine, "local h = wharf.http.get(input.url .. '/twice').headers return {h['x-mixed-case'], h['X-MIXED-Case'] == nil}"), {"url": slow.url})
    assert told == ["A, b", True]


def test_headers_of_requests(mine, slow):
    """64 of them, each a line and nothing more."""
    id = manual(mine, """local headers = input.headers
for i = 1, input.n do headers['x-' .. i] = tostring(i) end
local ok, got = pcall(wharf.http.get, input.url .. '/soon', {headers = headers}) return ok and got.body or tostring(got)""")

    assert "U+0000" in output(mine, manual(mine, "local ok, got = pcall(wharf.http.get, input.url .. '/soon', {headers = {x = 'a\\0b'}}) return tostring(got)", "Nul"), {"url": slow.url})

    def said(n=0, **headers):
        return output(mine, id, {"url": slow.url, "n": n, "headers": {k.replace("__", " "): v for k, v in headers.items()}})
    assert [said(64), said(63, X="a\tb é"), said(**{"!#$%&'*+-.^_`|~09": "1"})] == ["soon"] * 3
    assert "at most 64 headers" in said(65)
    for bad in [*(said(X=f"a{c}b") for c in "\r\n\x1f\x0b"), said(**{"": "x"}), *(said(**{f"a{c}b": "x"}) for c in ': ()/\\"@é\r\n')]:
        assert "that HTTP does not allow" in bad, bad


def test_hosts_that_only_seem_right(mine, slow):
    """What stands before an @ is no host; and the server itself is asked by wharf.api."""
    ask = "local out = {} for i, url in ipairs(input.urls) do local r, e = wharf.http.get(url) out[i] = r and r.body or e.code end return out"
    told = output(mine, manual(mine, ask, http_hosts=["127.0.0.1"]), {"urls": [slow.url + "/soon", slow.url.replace("//", "//127.0.0.1:80@localhost:") + "/soon", "http://127.0.0.1:80@localhost/",
                                                                       slow.url.replace("127.0.0.1", "127.0.0.1@127.0.0.1") + "/soon", "http://OWN.wharf.example/v1", "https://own.wharf.example:8443/", "//127.0.0.1/"]})
    assert told == ["soon"] + ["http.host_not_allowed"] * 3 + ["http.blocked"] * 2 + ["http.host_not_allowed"]


def test_hosts_of_many(mine, slow):
    """Each of them is compared, also in wharf.http.all; and nothing is sent to the others."""
    other = Silent()
    told = output(mine, manual(mine, """local out = {} for i, r in ipairs(wharf.http.all {{url = input.url .. "/soon"}, {url = "http://localhost:" .. input.other .. "/"}}) do out[i] = r[1] and r[1].body or r[2].code end return out""",
                                 http_hosts=["127.0.0.1"]), {"url": slow.url, "other": other.port})
    assert told == ["soon", "http.host_not_allowed"] and other.heard == 0
    other.close()


# ---- wharf.lock ----

def hold(server, org, id, name, seconds=3600):
    server.sql("INSERT INTO workflows.lock VALUES (%s, %s, %s, 'other', wharf.now() + make_interval(secs => %s))", org.id, id, name, seconds)


def test_no_lock_is_waited_for_when_the_run_is_over(server, org, mine):
    id = manual(mine, "wharf.lock('held', {wait_ms = 25000}, print) while true do end", budget={"time_ms": 1500}, retry={"max": 0})
    hold(server, org, id, "held")
    assert asked(mine, id, {}, expect=504).code == "workflow.budget_time"
    run, = runs(mine, id)
    assert run["duration_ms"] < 12000


def test_a_lock_is_waited_for_as_long_as_it_was_said(server, org, mine):
    """However long each look takes: a busy database makes nobody wait longer."""
    text, = server.sql("SELECT pg_get_functiondef('workflows.take_lock'::regproc)")[0]
    server.sql("ALTER FUNCTION workflows.take_lock RENAME TO take_lock_kept")
    server.sql(text.replace("AS $function$\n", "AS $function$ SELECT pg_sleep(0.5); ") if "LANGUAGE sql" in text else text.replace("BEGIN", "BEGIN PERFORM pg_sleep(0.5);", 1))
    try:
        id = manual(mine, "local v, err = wharf.lock('held', {wait_ms = 1000}, print) return err.code")
        hold(server, org, id, "held")
        assert asked(mine, id, {}).data["output"]["value"] == "lock.busy"
        run, = runs(mine, id)
        assert run["duration_ms"] < 6000
    finally:
        server.sql("DROP FUNCTION workflows.take_lock")
        server.sql("ALTER FUNCTION workflows.take_lock_kept RENAME TO take_lock")


def test_a_lock_holds_in_all_servers(server, org, mine):
    id = manual(mine, """return wharf.lock('one', function() wharf.kv.set('held', ctx.run.id) while not wharf.kv.get('enough') do end return 'first' end) or 'busy'""", budget={"time_ms": 9000})
    other = Server(*MODULES, beside=server)
    try:
        there, told = type(mine)(other, mine.key), []
        holder = threading.Thread(target=lambda: told.append(asked(mine, id, {}).data["output"]["value"]))
        holder.start()
        try:
            until(lambda: server.sql("SELECT 1 FROM workflows.kv WHERE workflow_id = %s AND key = 'held'", id))
            assert asked(there, id, {}).data["output"]["value"] == "busy"
        finally:
            server.sql("INSERT INTO workflows.kv (organization_id, workflow_id, key, value) VALUES (%s, %s, 'enough', 'true')", org.id, id)
            holder.join()
        assert told == ["first"] and asked(there, id, {}).data["output"]["value"] == "first"
    finally:
        other.stop()


# ---- locations ----

REACH = """local out = {}
local list = assert(wharf.api.get("/v1/locations"))
out.listed = wharf.json.array {} for i, l in ipairs(list) do out.listed[i] = l.id end
local function code(d, e) return e and e.code or "done" end
out.get = code(wharf.api.get("/v1/locations/" .. input.id))
out.post = code(wharf.api.post("/v1/locations/" .. input.id, {name = "Reached " .. wharf.crypto.uuid()}))
out.delete = input.keep and "kept" or code(wharf.api.delete("/v1/locations/" .. input.id))
out.emit = code(wharf.emit("custom.reached", {}, {location_id = input.id}))
out.none = code(wharf.emit("custom.reached", {}, {location_id = wharf.null}))
return out"""
NOTHING = {"listed": [], "get": "location_access", "post": "location_access", "delete": "location_access", "emit": "location_access", "none": "done"}


def publisher_of(org, locations):
    """A client whose key reaches these locations, and what makes it reach others."""
    client = org.client(locations=locations)
    key = client.get("/v1/auth").data["key"]["id"]

    def move(locations):
        org.server.sql("UPDATE wharf.api_key SET location_ids = %s WHERE organization_id = %s AND id = %s", json.dumps(locations), org.id, key)
    return client, move


def test_a_run_that_reaches_no_location(org, mine):
    """The publisher lost the location that the workflow is for: nothing that is left means nothing, not everything."""
    here, there = make_location(mine, "Here")["id"], make_location(mine, "There")["id"]
    publisher, move = publisher_of(org, [here])
    id = manual(publisher, REACH, scopes=["locations:write"], allowed_locations=[here])
    assert output(mine, id, {"id": here, "keep": True}) == {"listed": [here], "get": "done", "post": "done", "delete": "kept", "emit": "done", "none": "done"}
    assert output(mine, id, {"id": there}) == {**NOTHING, "listed": [here]}
    move([there])
    for where in (here, there):
        assert output(mine, id, {"id": where}) == NOTHING
        mine.post(f"{FLOWS}/{id}/run", {"wait": False, "input": {"id": where}}, expect=202)
    assert [r["output"]["value"] for r in over(mine, id, 6)].count(NOTHING) == 4
    assert mine.get(f"/v1/locations/{here}").data["id"] == here


def test_callers_and_publishers_with_nothing_in_common(org, mine):
    here, there = make_location(mine, "Here")["id"], make_location(mine, "There")["id"]
    third = make_location(mine, "Third")["id"]
    publisher, move = publisher_of(org, [here])
    id = manual(publisher, REACH, scopes=["locations:write"], allowed_locations=[here])
    mine.post(f"{FLOWS}/{id}", {"allowed_locations": None}, expect=200)
    caller = org.client("workflow:read", locations=[there])
    both = org.client("workflow:read", locations=[there, here, third])
    for where in (here, there):
        assert output(caller, id, {"id": where}) == NOTHING
        run = caller.post(f"{FLOWS}/{id}/run", {"wait": False, "input": {"id": where}}, expect=202).data["id"]
        until(lambda: mine.get(f"{FLOWS}/runs/{run}").data["status"] == "succeeded")
        assert mine.get(f"{FLOWS}/runs/{run}").data["output"]["value"] == NOTHING
    assert output(both, id, {"id": here, "keep": True})["listed"] == [here] and output(both, id, {"id": there}) == {**NOTHING, "listed": [here]}


def test_a_workflow_that_moved_away_from_who_asked(org, mine):
    """Between the question and the run it was given to other locations: what both reach is nothing, and not what the publisher reaches."""
    here, there = make_location(mine, "Here")["id"], make_location(mine, "There")["id"]
    id = manual(mine, "if input.hold then while not wharf.kv.get('enough') do wharf.sleep(20) end return end\n" + REACH, scopes=["locations:write"], allowed_locations=[here],
                concurrency={"key": "workflow", "max": 1}, retry={"max": 0})
    caller = org.client("workflow:read", locations=[here])
    mine.post(f"{FLOWS}/{id}/run", {"wait": False, "input": {"hold": True}}, expect=202)
    until(lambda: [r["status"] for r in runs(mine, id)] == ["running"])
    asked_for = [caller.post(f"{FLOWS}/{id}/run", {"wait": False, "input": {"id": where}}, expect=202).data["id"] for where in (here, there)]
    mine.post(f"{FLOWS}/{id}", {"allowed_locations": [there]}, expect=200)
    mine.server.sql("INSERT INTO workflows.kv (organization_id, workflow_id, key, value) VALUES (%s, %s, 'enough', 'true')", org.id, id)
    done = {r["id"]: r for r in over(mine, id, 3)}
    assert [done[run]["output"]["value"] for run in asked_for] == [NOTHING, NOTHING]


def heard(client, id, type, where):
    """What the run of this event at this location said."""
    told = [client.get(f"{FLOWS}/runs/{r['id']}").data["output"]["value"] for r in runs(client, id) if r["location_id"] == where and r["status"] == "succeeded"]
    return next((said[:2] for said in told if said[2] == type), None)


def test_events_at_a_location_that_is_not_reached(org, mine):
    """Such an event starts no run of somebody who does not reach it, also when the workflow names no locations; a location that went is still
    that of its run."""
    here, there = make_location(mine, "Here")["id"], make_location(mine, "There")["id"]
    publisher, move = publisher_of(org, [here])
    body = "local e, err = wharf.emit('custom.heard') local n = wharf.emit('custom.heard', {}, {location_id = wharf.null}) return {e or err.code, n, ev.type}"
    id = flow(publisher, body, "Listener", events=["location.updated"], allowed_locations=[here])
    mine.post(f"{FLOWS}/{id}", {"allowed_locations": None}, expect=200)
    for where in (there, here):
        mine.post(f"/v1/locations/{where}", {"name": "Changed " + where}, expect=200)
    said, none = until(lambda: heard(mine, id, "location.updated", here))
    assert event(mine, said)["location_id"] == here and event(mine, none)["location_id"] is None
    assert not [r for r in runs(mine, id) if r["location_id"] == there]
    wide = flow(mine, body, "Wide", events=["location.deleted"])
    mine.delete(f"/v1/locations/{here}")
    said, none = until(lambda: heard(mine, wide, "location.deleted", here))
    assert event(mine, said)["location_id"] == here


def test_events_without_a_location(org, mine):
    """A workflow for some locations hears of none that has none."""
    here = make_location(mine, "Here")["id"]
    placed = flow(mine, "return ev.type", "placed", events=["custom.*"], allowed_locations=[here])
    wide = flow(mine, "return 1", "wide", events=["custom.*"])
    emit = manual(mine, "wharf.emit('custom.a', {}, {location_id = wharf.null}) wharf.emit('custom.b', {}, {location_id = input.id})", "emit")
    asked(mine, emit, {"input": {"id": here}})
    assert len(over(mine, wide, 2)) == 2
    assert [r["output"]["value"] for r in over(mine, placed)] == ["custom.b"] and len(runs(mine, placed)) == 1


def test_a_run_at_a_location_that_is_not_there(org, mine):
    id = manual(mine, "local e, err = wharf.emit('custom.a') return err and err.code or e")
    assert output(mine, id, location_id="loc_0000000000000000000000") == "location_access"


def test_other_organizations_are_for_operators(org, mine):
    for call in ("wharf.api.as(ctx.organization_id)", f"wharf.api.as('{org.server.organization().id}').get('/v1/locations')"):
        r = asked(mine, manual(mine, f"return {call}", call[:60], scopes=["locations:read"]), {}, expect=400)
        assert r.code == "workflow.failed" and "not available" in r.message, r


# ---- rows that somebody holds ----

@pytest.mark.parametrize("call", ["wharf.api.post('/v1/locations/' .. input.place, {name = 'New'})", "wharf.kv.set('k', 2)"])
def test_no_row_is_waited_for_when_the_run_is_over(server, org, mine, call):
    """PostgreSQL alone would wait five seconds for it."""
    place = make_location(mine, "Old")["id"]
    id = manual(mine, f"{call} while true do end", budget={"time_ms": 1500}, scopes=["locations:write"])
    server.sql("INSERT INTO workflows.kv (organization_id, workflow_id, key, value) VALUES (%s, %s, 'k', '1')", org.id, id)
    with server.held("SELECT 1 FROM locations.location l, workflows.kv k WHERE l.id = %s AND k.workflow_id = %s FOR UPDATE", place, id):
        assert asked(mine, id, {"input": {"place": place}}, expect=504).code == "workflow.budget_time"
        run, = runs(mine, id)
        assert run["duration_ms"] < 5000
    assert mine.get(f"/v1/locations/{place}").data["name"] == "Old" and mine.get(f"{FLOWS}/{id}/kv/k").data["value"] == 1


def test_a_write_goes_on_behind_a_hook_that_waited(server, org):
    """The hook's time ends its statement alone; those of the write have what they always have."""
    mine = org.client()
    row = mine.post(FLOWS, {"name": "Waits", "source": "return {before = function(change) wharf.kv.set('k', 2) end}", "on_error": "ignore", "budget": {"time_ms": 1500},
                            "triggers": [{"type": "hook", "resource": "location", "action": "create", "phase": "before"}]}, expect=201).data
    server.sql("INSERT INTO workflows.kv (organization_id, workflow_id, key, value) VALUES (%s, %s, 'k', '1')", org.id, row["id"])
    mine.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    mine = anew(mine)
    with server.held("SELECT 1 FROM workflows.kv WHERE workflow_id = %s FOR UPDATE", row["id"]):
        assert make_location(mine, "Goes on")["name"] == "Goes on"
    run, = runs(mine, row["id"])
    run = mine.get(f"{FLOWS}/runs/{run['id']}").data
    assert run["status"] == "failed" and run["error"]["code"] == "workflow.budget_time" and run["duration_ms"] < 5000
    assert mine.get(f"{FLOWS}/{row['id']}/kv/k").data["value"] == 1
