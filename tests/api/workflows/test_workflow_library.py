"""What authors may call (spec 08 section 5), function by function as far as no other file has it: requests to the outside, the API, the store, ctx; and the filters of
runs (section 7)."""
import threading

import pytest

from outside import Authority, Web, redirect
from receivers import until
from test_workflow_events import END
from test_workflow_runs import FLOWS, asked
from wharf import PATIENT, Server, make_location

MIB = 1 << 20


class World:
    def __init__(self, folder):
        pages = {"/echo": lambda h: h.answer(200, h.sent), "/elsewhere": redirect("/echo"), "/mib": lambda h: h.answer(200, b"x" * MIB), "/more": lambda h: h.answer(200, b"x" * (MIB + 1)),
                 "/most": lambda h: h.answer(200, b"x" * (8 * MIB + 1))}
        self.web = Web(pages)
        self.sealed = Web(pages, Authority(folder).server_context("nobody.example", "127.0.0.1"))
        self.server = Server("--modules", "org,locations,events,webhooks,workflows", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true", "--set", "mail.url=")
        self.org = self.server.organization()
        self.client = self.org.client()
        self.slow = Web({"/never": lambda h: threading.Event().wait(90)})
        self.patient = self.server.organization().client()
        self.waiting = self.never()  # while the other tests run

    def never(self):
        """A queued run that asks for more seconds than a request may have, and tells whether it has some left."""
        row = self.patient.post(FLOWS, {"name": "Waits", "triggers": [{"type": "manual"}], "source": """return {on_run = function(input, ctx)
  local _, err = wharf.http.get(input.url, {timeout_ms = 120000})
  return {err.code, ctx.deadline_ms() > 8000}
end}"""}, expect=201).data
        self.patient.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
        return self.patient.post(f"{FLOWS}/{row['id']}/run", {"input": {"url": f"http://127.0.0.1:{self.slow.port}/never"}, "wait": False}, expect=202).data["id"]

    def run(self, body, input=None, expect=200, **more):
        row = self.client.post(FLOWS, {"name": "Library", "source": f"return {{on_run = function(input, ctx)\n{body}\nend}}", "triggers": [{"type": "manual"}], **more}, expect=201).data
        path = f"{FLOWS}/{row['id']}"
        self.client.post(path + "/publish", {}, expect=200)
        try:
            return asked(self.client, row["id"], {"input": {"url": f"http://127.0.0.1:{self.web.port}", **(input or {})}}, expect)
        finally:
            self.client.delete(path)

    def value(self, body, input=None, **more):
        return self.run(body, input, **more).data["output"]["value"]


class Mine(World):
    """The same server for another organization."""

    def __init__(self, world, org):
        self.web, self.server, self.org, self.client = world.web, world.server, org, org.client()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    w = World(tmp_path_factory.mktemp("authority"))
    yield w
    w.server.stop()


# ---- requests to the outside ----

def test_methods_and_bodies(world):
    world.web.seen.clear()
    told = world.value("""local url, out = input.url .. "/echo", {}
for _, word in ipairs {"get", "post", "put", "delete"} do out[#out + 1] = assert(wharf.http[word](url, word ~= "get" and {body = word} or nil)).status end
local made = assert(wharf.http.request {method = "post", url = url .. "?a=1", query = {b = "x y", list = {1, 2}}, form = {k = "v&w"}, headers = {["X-One"] = 1}})
out[#out + 1] = made.body
assert(wharf.http.put(url, {json = {n = 2^53 | 0}, headers = {["Content-Type"] = "application/x-mine"}}))
assert(wharf.http.request {url = url})
return out""")
    assert told == [200, 200, 200, 200, "k=v%26w"]
    seen = [(method, path, body) for method, path, _, body in world.web.seen]
    assert seen == [("GET", "/echo", b""), ("POST", "/echo", b"post"), ("PUT", "/echo", b"put"), ("DELETE", "/echo", b"delete"),
                    ("POST", "/echo?a=1&b=x%20y&list=1&list=2", b"k=v%26w"), ("PUT", "/echo", b'{"n":9007199254740992}'), ("GET", "/echo", b"")], seen
    form, own = ({k.lower(): v for k, v in world.web.seen[i][2].items()} for i in (4, 5))
    assert form["content-type"] == "application/x-www-form-urlencoded" and form["x-one"] == "1" and own["content-type"] == "application/x-mine"


def test_patch(world):
    """The web server of the tests knows no PATCH and says so: 501 is an answer like others."""
    assert world.value("local res = assert(wharf.http.patch(input.url .. '/echo', {body = 'x'})) return res.status") == 501


@pytest.mark.parametrize("call, word", [
    ("wharf.http.request('http://x')", "a table with a url"), ("wharf.http.request {method = 'BREW', url = input.url}", "there is no method BREW"),
    ("wharf.http.post(input.url, {json = 1, body = 'x'})", "one of body, json and form"), ("wharf.http.post(input.url, {body = {}})", "body is a string"),
    ("local l = {} for i = 1, 11 do l[i] = {url = input.url} end wharf.http.all(l)", "at most 10 requests"), ("wharf.http.all(5)", "at most 10 requests"),
    ("wharf.http.get(input.url, {json = function() end})", "function"),
    ("wharf.api.get('/livez')", "begins with /v1/"), ("wharf.api.post('v1/locations', {})", "begins with /v1/"), ("wharf.api.delete(5)", "begins with /v1/"),
    ("wharf.api.list('/v1/locations', nil, {max = 10001})", "1 to 10000"), ("wharf.api.list('/v1/locations', nil, {max = 0})", "1 to 10000"),
    ("wharf.api.list('/v1/locations', nil, {max = 1.5})", "1 to 10000"), ("for _ in wharf.api.list('/v1/nothing') do end", "/v1/nothing: "),
    ("wharf.kv.set(('k'):rep(201), 1)", "1 to 200 bytes"), ("wharf.kv.get('')", "1 to 200 bytes"), ("wharf.kv.set('k', print)", "function"),
    ("wharf.secret('NONE')", "secret.missing"), ("wharf.crypto.random_bytes(1025)", "0 to 1024"),
    ("ctx.run = 1", "read"), ("ctx.run.id = 'x'", "read"), ("ctx.workflow.name = 'x'", "read"), ("ctx.settings.a = 1", "ctx.settings is read-only; 'a' can't be set"),
    ("ctx.settings.new = 1", "read"), ("ctx.settings.list[1].b = 2", "ctx.settings.list.1 is read-only"), ("table.insert(ctx.settings.list, 1)", "read"), ("ctx.run.trigger.type = 'x'", "read"),
    ("for _, v in pairs(ctx.settings) do v[1] = 2 end", "read"), ("rawset(ctx.settings, 'a', 1)", "frozen"), ("ctx.on = 1", "read"), ("setmetatable(ctx.settings, nil)", "protected")])
def test_mistakes_raise(world, call, word):
    r = world.run(f"{call}\nreturn 'went on'", expect=400, settings={"list": [{"b": 1}]})
    assert r.code == "workflow.failed" and word in r.message and r.errors[0].startswith("library/main.lua:2: "), r


def test_sizes_of_answers(world):
    """1 MiB, or what is asked for, at most 8 MiB."""
    told = world.value("""local function ask(page, most) local res, e = wharf.http.get(input.url .. page, {max_bytes = most}) return res and #res.body or e.code end
return {ask("/mib"), ask("/more"), ask("/more", 2 << 20), ask("/mib", 1000), ask("/most", 8 << 20), ask("/most", 100 << 20)}""")
    assert told == [MIB, "http.too_large", MIB + 1, "http.too_large", "http.too_large", "http.too_large"]


def test_answers_that_are_none(world):
    """Certificates of nobody known, names that are not there; what points elsewhere is an answer, and is not followed."""
    told = world.value("""local function ask(url) local res, e = wharf.http.get(url) return res and {res.status, res.headers.location} or e.code end
return {ask(input.sealed .. "/echo"), ask("http://no-such-host.invalid/"), ask(input.url .. "/elsewhere"), ask("ftp://example.com/"), ask("http://[::1]/")}""",
                       {"sealed": f"https://127.0.0.1:{world.sealed.port}"})
    assert told == ["http.tls", "http.dns", [302, "/echo"], "http.blocked", "http.blocked"]
    told = world.value("""local function ask(url) local res, e = wharf.http.get(url) return e.message end
return {ask(input.sealed .. "/echo"), ask("http://no-such-host.invalid/"), ask("ftp://example.com/"), ask(input.url .. "/more")}""", {"sealed": f"https://127.0.0.1:{world.sealed.port}"})
    assert ["net.ca_file" in told[0], told[1], "https" in told[2], "max_bytes" in told[3]] == [True, "there is no host of this name", True, True], told  # sentences, and what to do
    assert world.sealed.seen == []


# ---- the API ----

def test_the_api_deletes(world):
    row = make_location(world.client, "To go")
    told = world.value("""local gone, err, meta = wharf.api.delete("/v1/locations/" .. input.id)
local again, missing, why = wharf.api.delete("/v1/locations/" .. input.id)
return {gone.deleted, err == nil, meta.status, again == nil, missing.code, missing.status, why.status}""", {"id": row["id"]}, scopes=["locations:write"])
    assert told == [True, True, 200, True, "not_found", 404, 404]
    world.client.refused("GET", f"/v1/locations/{row['id']}", 404, "not_found")


def test_lists_over_pages(world):
    for i in range(5):
        make_location(world.client, f"Paged {i}")
    told = world.value("""local function names(query, opts) local out = {} for l in wharf.api.list("/v1/locations", query, opts) do out[#out + 1] = l.name end return out end
local before = ctx.budget().api_calls
local all = names({limit = 2, order_by = "name"})
return {all, before - ctx.budget().api_calls, names({limit = 2, order_by = "name"}, {max = 3}), names({limit = 2, search = "Paged"}), names({search = "nothing like it"})}""", scopes=["locations:read"])
    paged = [f"Paged {i}" for i in range(5)]
    assert [n for n in told[0] if n.startswith("Paged")] == paged and told[1] >= 3 and told[2] == told[0][:3] and sorted(told[3]) == paged and told[4] in ([], {})


def test_a_list_ends_at_its_most(world):
    """opts.max: 1,000 when nothing is said."""
    org = world.server.organization()
    one = make_location(org.client(), "Many")
    columns = [c for c, in world.server.sql("SELECT column_name FROM information_schema.columns WHERE table_schema = 'locations' AND table_name = 'location' AND is_generated = 'NEVER' ORDER BY 1")]
    taken = [{"id": "'loc_' || lpad(n::text, 22, '0')", "name": "'Many ' || n"}.get(c, f'"{c}"') for c in columns]
    names = ", ".join(f'"{c}"' for c in columns)
    world.server.sql(f"INSERT INTO locations.location ({names}) SELECT {', '.join(taken)} FROM locations.location, generate_series(1, 1000) n WHERE id = %s", one["id"])
    world.server.broken.add("locations.default_layouts")
    told = Mine(world, org).value("local n, m = 0, 0 for _ in wharf.api.list('/v1/locations') do n = n + 1 end for _ in wharf.api.list('/v1/locations', nil, {max = 1001}) do m = m + 1 end return {n, m}",
                       scopes=["locations:read"])
    assert told == [1000, 1001]


def test_mail_without_a_mail_server(world):
    told = world.value("local id, err = wharf.mail.send {to = 'a@example.com', subject = 's', text = 't'} return {id == nil, err.code, #err.message > 0}")
    assert told == [True, "mail.unavailable", True]


def test_keys_of_the_store(world):
    long = "k" * 200
    assert world.value(f"wharf.kv.set('{long}', {{1}}) for i = 1, 5 do wharf.kv.set('n' .. i, i) end local l = wharf.kv.list('n', 3) return {{wharf.kv.get('{long}')[1], #l, l[3].key, l[3].value, #wharf.kv.list('n')}}") == [1, 3, "n3", 3, 5]


# ---- ctx ----

def test_ctx(world):
    here = make_location(world.client, "Ctx")["id"]
    row = world.client.post(FLOWS, {"name": "Ctx", "triggers": [{"type": "manual"}], "settings": {"a": {"b": 1}}, "budget": {"api_calls": 7}, "source": """return {on_run = function(input, ctx)
  local first = ctx.deadline_ms()
  local copy
  function copy(t) local out = {} for k, v in pairs(t) do out[k] = type(v) == "table" and copy(v) or v end return out end
  for i = 1, 100000 do end
  return {run = copy(ctx.run), workflow = copy(ctx.workflow), organization_id = ctx.organization_id, location_id = ctx.location_id, actor = ctx.actor, settings = ctx.settings,
    left = ctx.budget(), deadline = {first, ctx.deadline_ms()}}
end}"""}, expect=201).data
    world.client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    run = asked(world.client, row["id"], {"location_id": here}).data
    ctx = run["output"]["value"]
    assert ctx["run"] == {"id": run["id"], "key": run["key"], "attempt": 1, "seed": int(run["seed"]), "depth": 0, "trigger": run["trigger"]}, ctx["run"]
    assert ctx["workflow"] == {"id": row["id"], "name": "Ctx", "version": 1} and ctx["organization_id"] == world.org.id and ctx["location_id"] == here
    assert ctx["actor"] == run["on_behalf_of"] and ctx["settings"] == {"a": {"b": 1}}
    assert set(ctx["left"]) == {"instructions", "memory", "api_calls", "http_calls"} and ctx["left"]["api_calls"] == 7 and ctx["left"]["http_calls"] == 10
    assert 0 < ctx["left"]["instructions"] <= 20_000_000 - 100_000 and 0 < ctx["left"]["memory"] < 32 << 20
    first, then = ctx["deadline"]
    assert PATIENT["sync"] >= first >= then > 0


def test_ctx_is_data(world):
    """What is read-only is written as JSON, gone through, counted and copied as any table is."""
    told = world.value("""local s, out = ctx.settings, {}
for i, v in ipairs(s.list) do out[i] = v.n end
local copy = wharf.table.copy(s)
copy.list[1].n = 9
wharf.log.info("all", {run = ctx.run})
return {ctx.run, ctx.workflow, s, out, #s.list, {table.unpack(s.list)}, wharf.json.is_array(s.none), wharf.json.decode(wharf.json.encode(ctx.run)).id == ctx.run.id, rawequal(s.list, s.list), copy.list, s.list[1].n,
  wharf.url.build {host = "a", query = s.query}, wharf.time.add(0, s.wait), wharf.table.equal(s.wait, {hours = 1}), wharf.filter.match(s.filter, {a = 1}), wharf.table.keys(s.query)}""",
                       settings={"list": [{"n": 1}, {"n": 2}], "none": [], "query": {"q": "x"}, "wait": {"hours": 1}, "filter": [{"path": "a", "op": "eq", "value": 1}]})
    assert set(told[0]) == {"id", "key", "attempt", "seed", "depth", "trigger"} and told[0]["trigger"]["type"] == "manual"
    assert told[1]["name"] == "Library" and told[1]["version"] == 1 and told[2] == {"list": [{"n": 1}, {"n": 2}], "none": [], "query": {"q": "x"}, "wait": {"hours": 1}, "filter": [{"path": "a", "op": "eq", "value": 1}]}
    assert told[3:] == [[1, 2], 2, [{"n": 1}, {"n": 2}], True, True, True, [{"n": 9}, {"n": 2}], 1, "https://a/?q=x", 3600, True, True, ["q"]]


def test_globals_of_an_author(world):
    """They are his own: the library does not ask for them."""
    told = world.value("""tostring, type, string, ipairs, pairs, table, math, utf8 = nil, "parcel", {}, nil, nil, nil, nil, nil
print("one", 2)
wharf.log.info("two", {3})
return {wharf.text.trim(" x "), wharf.url.encode("a b"), wharf.table.keys({a = 1}), wharf.json.encode({1}), wharf.text.split("a,b", ",")}""")
    assert told == ["x", "a%20b", ["a"], "[1]", ["a", "b"]]


# ---- lists of runs ----

def test_filters_of_runs(world):
    here = make_location(world.client, "Filtered")["id"]
    row = world.client.post(FLOWS, {"name": "Filtered", "triggers": [{"type": "manual"}, {"type": "event", "events": ["location.updated"]}], "scopes": [], "retry": {"max": 0},
                                    "source": "return {on_run = function(i) if i.fail then error('no') end return 1 end, on_event = function() end}"}, expect=201).data
    path = f"{FLOWS}/{row['id']}"
    world.client.post(path + "/publish", {}, expect=200)
    good = asked(world.client, row["id"], {"location_id": here}).data["id"]
    world.client.post(path + "/publish", {}, expect=200)
    asked(world.client, row["id"], {"input": {"fail": True}}, 400)
    world.client.post(f"/v1/locations/{here}", {"name": "Filtered once more"}, expect=200)
    until(lambda: len([r for r in world.client.get(path + "/runs").data if r["status"] in ("succeeded", "failed")]) == 3)
    by = {(r["trigger_type"] if "trigger_type" in r else r["trigger"]["type"], r["status"]): r for r in world.client.get(path + "/runs").data}
    bad, event = by["manual", "failed"]["id"], by["event", "succeeded"]
    event_id = world.server.sql("SELECT event_id FROM workflows.run WHERE id = %s", event["id"])[0][0]
    created = world.client.get(f"{FLOWS}/runs/{bad}").data["created_at"]
    for query, ids in (("status=failed", {bad}), ("status=succeeded", {good, event["id"]}), ("trigger_type=event", {event["id"]}), ("trigger_type=manual", {good, bad}),
                       (f"event_id={event_id}", {event["id"]}), (f"resource_id={here}", {event["id"]}), (f"location_id={here}", {good, event["id"]}), ("version=1", {good}),
                       ("version=2", {bad, event["id"]}), (f"created_at[lt]={created}", {good}), (f"created_at[gt]={created}", {event["id"]})):
        assert set(world.client.get(f"{path}/runs?{query}").ids) == ids, query
    assert world.client.get(f"{path}/runs?order_by=created_at&direction=asc").ids == [good, bad, event["id"]]
    world.client.delete(path)


def test_no_request_takes_longer_than_thirty_seconds(world):
    """The run has sixty: one that asked for all of them goes on behind its request."""
    run = until(lambda: (lambda r: r if r["status"] in END else None)(world.patient.get(f"{FLOWS}/runs/{world.waiting}").data))
    assert run["status"] == "succeeded" and run["output"]["value"] == ["http.timeout", True], run


def test_large_whole_numbers_keep_their_digits(world):
    """A number of Lua has 64 bits, a float 53: beyond that it is a text."""
    told = world.value("""local v = wharf.json.decode('[18446744073709551616, 9223372036854775807, -9223372036854775809, -9223372036854775808, 1e3]')
return {v[1], v[2], v[3], math.type(v[4]), v[5], input.id}""", {"id": 123456789012345678901234567890})
    assert told == ["18446744073709551616", 9223372036854775807, "-9223372036854775809", "integer", 1000, "123456789012345678901234567890"]
