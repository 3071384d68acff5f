"""Operators' own routes, and what runs around every request (spec 08 section 9, docs/reference/lua-hooks.md): wharf.hook.route, request, response."""
import gzip
import json
import os
import re
import threading

import jsonschema
import pytest

from hook_folder import HOOKS, hooks, lines, place, system, until  # noqa: F401  (fixtures among them)
from test_auth import key_text
from wharf import WAIT, Client, Server, make_location


@pytest.fixture(scope="module")
def server(place):
    s = Server("--modules", "org,locations,contacts", "--set", f"lua_hooks.dir={place}", "--set", "workers=2")
    yield s
    s.stop()


def raw(client, method, path, body=None, key=True, **headers):
    """Answers that have no envelope."""
    h = {"SVC-API-KEY": client.key} if key else {}
    r = client.http.request(method, client.server.base + path, data=body, headers={**h, **headers}, timeout=WAIT)
    return r


ROUTES = """
wharf.hook.route("GET", "/v1/x/docks/:dock", { scope = "locations:read", location = "none", summary = "One dock", response = { type = "object", required = { "dock" } } },
  function(request, ctx)
    return { dock = request.params.dock, method = request.method, path = request.path, color = request.query.color, agent = request.headers["user-agent"] ~= nil,
      secret = request.headers["svc-api-key"] or "none", key = request.key.id, address = request.remote_addr, organization = ctx.organization_id, body = request.body }
  end)
wharf.hook.route("POST", "/v1/x/docks", { scope = "locations:write", location = "none", body = { type = "object", required = { "name" }, properties = { name = { type = "string", maxLength = 5 } } } },
  function(request)
    if request.json.name == "no" then wharf.reject("dock_taken", "There is one", "name") end
    if request.json.name == "err" then error({ code = "dock_wet", message = "It is under water", status = 409 }) end
    if request.json.name == "void" then return nil end
    return { status = 201, headers = { ["X-Dock"] = "1" }, body = { made = request.json.name } }
  end)
wharf.hook.route("PUT", "/v1/x/docks/:dock/file", { scope = "any", location = "none", raw = true, content_type = "text/csv; charset=utf-8", max_body = 1000 },
  function(request) return { status = 202, body = request.params.dock .. "," .. #request.body .. "\\n" } end)
wharf.hook.route("DELETE", "/v1/x/docks/:dock", { scope = "locations:write", location = "none" }, function() end)
wharf.hook.route("GET", "/v1/x/open", { scope = "public", location = "none" }, function(request, ctx)
  local _, api = pcall(wharf.api.get, "/v1/contacts")
  local _, db = pcall(wharf.db.query, "SELECT 1")
  return { key = request.key == nil, organization = ctx.organization_id == nil, api = api, db = db }
end)
"""


def test_what_a_route_is_shown_and_answers(hooks, client, org):
    hooks.load({"10-docks.lua": ROUTES})
    seen = client.get("/v1/x/docks/north?color=red&color=blue").data
    assert seen == {"dock": "north", "method": "GET", "path": "/v1/x/docks/north", "color": "blue", "agent": True, "secret": "none", "key": seen["key"],
                    "address": "127.0.0.1", "organization": org.id, "body": ""}
    assert client.request("HEAD", "/v1/x/docks/north", expect=200)
    r = raw(client, "POST", "/v1/x/docks", b'{"name": "north"}', **{"Content-Type": "application/json"})
    assert (r.status_code, r.json(), r.headers["X-Dock"], r.headers["Content-Type"]) == (201, {"made": "north"}, "1", "application/json; charset=utf-8")
    assert client.post("/v1/x/docks", {"name": "void"}).status == 204
    assert client.delete("/v1/x/docks/north", expect=204)
    r = raw(client, "PUT", "/v1/x/docks/north/file", b"a;b;c", **{"Content-Type": "text/plain"})
    assert (r.status_code, r.text, r.headers["Content-Type"]) == (202, "north,5\n", "text/csv; charset=utf-8")
    assert raw(client, "PUT", "/v1/x/docks/north/file", b"a" * 1001).status_code == 413
    seen = raw(client, "GET", "/v1/x/open", key=False).json()["data"]
    assert seen["key"] and seen["organization"] and "has no organization" in seen["api"] and "has no organization" in seen["db"], seen


def test_what_is_refused_before_the_function_runs(hooks, client, org):
    hooks.load({"10-docks.lua": ROUTES})
    client.refused("POST", "/v1/x/docks", 400, "validation.failed", ["name"], {})
    client.refused("POST", "/v1/x/docks", 400, "validation.failed", ["name"], {"name": "too long"})
    client.refused("POST", "/v1/x/docks", 400, "body.malformed", None, data=b"[", headers={"Content-Type": "application/json"})
    client.refused("POST", "/v1/x/docks", 400, "param.invalid", ["Idempotency-Key"], {"name": "a"}, headers={"Idempotency-Key": "k1"})
    client.refused("DELETE", "/v1/x/docks", 405, "method.not_allowed", None)
    client.refused("GET", "/v1/x/nothing", 404, "route.not_found", None)
    client.refused("GET", "/v1/x/docks/a/b/c", 404, "route.not_found", None)
    client.refused("GET", "/v1/x/docks/a", 401, "api_key.missing", None, key=False)
    reader = org.client("locations:read")
    assert reader.get("/v1/x/docks/a").data["dock"] == "a"
    reader.refused("POST", "/v1/x/docks", 403, "scope_access", ["locations:write"], {"name": "a"})
    r = client.refused("POST", "/v1/x/docks", 400, "workflow.rejected", ["name", "custom.dock_taken"], {"name": "no"})
    assert r.message == "There is one"
    client.refused("POST", "/v1/x/docks", 400, "workflow.rejected", ["custom.dock_wet"], {"name": "err"})


def test_routes_are_in_the_document_and_the_logs(hooks, client, server):
    hooks.load({})
    plain = server.http.get(server.base + "/v1/openapi.json").json()
    hooks.load({"10-docks.lua": ROUTES, "20-list.lua": LISTS})
    document = server.http.get(server.base + "/v1/openapi.json").json()
    assert set(document["paths"]) - set(plain["paths"]) == {"/v1/x/docks/{dock}", "/v1/x/docks", "/v1/x/docks/{dock}/file", "/v1/x/open", "/v1/x/people", "/v1/x/here"}
    assert {k: v for k, v in document["paths"].items() if not k.startswith("/v1/x/")} == plain["paths"]
    get = document["paths"]["/v1/x/docks/{dock}"]["get"]
    assert (get["summary"], get["x-scope"], get["x-location-policy"]) == ("One dock", "locations:read", "none") and "Needs the scope `locations:read`" in get["description"]
    assert document["paths"]["/v1/x/docks"]["post"]["requestBody"]["content"]["application/json"]["schema"]["required"] == ["name"]
    assert document["paths"]["/v1/x/open"]["get"]["security"] == []
    assert {p["name"] for p in document["paths"]["/v1/x/people"]["get"]["parameters"] if p.get("in") == "query"} == {"page", "limit", "name", "size", "since"}
    body = client.get("/v1/x/docks/a").body
    jsonschema.Draft202012Validator(get["responses"]["200"]["content"]["application/json"]["schema"], resolver=jsonschema.RefResolver("", document)).validate(body)
    until(lambda: '"/v1/x/docks/:dock"' in (server.folder / "access.log").read_text() if (server.folder / "access.log").exists() else True, "the route is not in the access log")
    text = server.http.get(server.admin + "/metrics").text
    assert 'wharf_http_requests_total{route="/v1/x/docks/:dock",method="GET",status="2xx",module="lua-hooks"}' in text
    told = hooks.system.get(HOOKS).data["hooks"]
    assert [(h["phase"], h["pattern"]) for h in told][:2] == [("route", "GET /v1/x/docks/:dock"), ("route", "POST /v1/x/docks")] and told[0]["calls"] >= 1
    hooks.load({})
    assert server.http.get(server.base + "/v1/openapi.json").json() == plain
    client.refused("GET", "/v1/x/docks/a", 404, "route.not_found", None)


LISTS = """
local rows = {}
for i = 1, 25 do rows[i] = { id = "p" .. i, name = i % 2 == 0 and "even" or "odd", size = i, since = wharf.time.iso(i * 86400) } end
wharf.hook.route("GET", "/v1/x/people", { scope = "contacts:read", location = "none", list = true, filters = { name = "string", size = "number", since = "date" } },
  function(request, ctx)
    local found = wharf.table.filter(rows, function(r) return wharf.filter.match(ctx.filters, r) end)
    return { table.unpack(found, ctx.page.offset + 1, math.min(#found, ctx.page.offset + ctx.page.take)) }
  end)
wharf.hook.route("GET", "/v1/x/here", { scope = "locations:read", location = "row", list = true }, function(request, ctx)
  local list = wharf.json.array {}
  for l in wharf.api.list("/v1/locations", { limit = 2 }) do list[#list + 1] = { location_id = l.id, name = l.name } end
  for _, r in ipairs(wharf.db.query("SELECT id, name FROM locations.location WHERE deleted_at IS NULL ORDER BY id")) do list[#list + 1] = { location_id = r.id, name = r.name .. "!" } end
  return list
end)
"""


def test_lists_have_pages_and_filters(hooks, client):
    hooks.load({"20-list.lua": LISTS})
    def ids(query):
        a = client.get("/v1/x/people" + query)
        return [int(r["id"][1:]) for r in a.data], a.pagination
    assert ids("") == (list(range(1, 21)), {"page": 1, "limit": 20, "has_more": True})
    assert ids("?page=2") == (list(range(21, 26)), {"page": 2, "limit": 20, "has_more": False})
    assert ids("?name=even&limit=3&page=2") == ([8, 10, 12], {"page": 2, "limit": 3, "has_more": True})
    assert ids("?size[gte]=23&name=odd")[0] == [23, 25] and ids("?size=3,7")[0] == [3, 7] and ids("?size[!in]=1,2&size[lt]=5")[0] == [3, 4]
    assert ids("?since[gt]=1970-01-25T00:00:00Z")[0] == [25]
    for wrong, name in (("size=big", "size"), ("size[near]=1", "size"), ("since=yesterday", "since"), ("name=", "name"), ("size=1,", "size"), ("page=0", "page"), ("limit=1001", "limit")):
        client.refused("GET", f"/v1/x/people?{wrong}", 400, "param.invalid", [name])


def test_locations_of_routes(hooks, client, org):
    mine, other = make_location(client, name="Mine")["id"], make_location(client, name="Other")["id"]
    hooks.load({"20-list.lua": LISTS, "30-one.lua": """
wharf.hook.route("GET", "/v1/x/row/:id", { scope = "locations:read", location = "row" }, function(request, ctx)
  return { location_id = request.params.id, reach = ctx.locations and #ctx.locations or "all" }
end)
wharf.hook.route("POST", "/v1/x/say", { scope = "locations:write", location = "body" }, function(request, ctx) return { at = ctx.location_id } end)
wharf.hook.route("GET", "/v1/x/say", { scope = "locations:read", location = "body" }, function(request, ctx) return { at = ctx.location_id } end)
"""})
    few = org.client(locations=[mine])
    assert {r["name"] for r in few.get("/v1/x/here").data} == {"Mine", "Mine!"}
    assert {r["name"] for r in client.get("/v1/x/here?limit=all").data} >= {"Mine", "Mine!", "Other", "Other!"}
    assert few.get(f"/v1/x/row/{mine}").data["reach"] == 1 and client.get(f"/v1/x/row/{other}").data["reach"] == "all"
    few.refused("GET", f"/v1/x/row/{other}", 403, "location_access", [other])
    assert few.post("/v1/x/say", {"location_id": mine}, expect=200).data == {"at": mine} and few.get(f"/v1/x/say?location_id={mine}").data == {"at": mine}
    few.refused("POST", "/v1/x/say", 403, "location_access", [other], {"location_id": other})
    client.refused("POST", "/v1/x/say", 400, "validation.failed", ["location_id"], {"location_id": "loc_0000000000000000000000"})
    client.refused("POST", "/v1/x/say", 400, "validation.failed", ["location_id"], {})


def test_a_route_that_breaks(hooks, client, server):
    hooks.load({"10-bad.lua": """
local answers = { error = function() local t = nil return t.x end, large = function() return ("x"):rep(17 << 20) end, status = { status = 99 }, unchanged = { status = 304 }, header = { status = 200, headers = { ["Set-Cookie"] = "a=b" } },
  line = { status = 200, headers = { ["X-A"] = "a\\nb" } } }
wharf.hook.route("GET", "/v1/x/bad/:how", { scope = "any", location = "none", timeout_ms = 200 }, function(request)
  if request.params.how == "loop" then while true do pcall(error) end end
  local a = answers[request.params.how]
  return type(a) == "function" and a() or a
end)
wharf.hook.route("GET", "/v1/x/rows", { scope = "any", location = "none", list = true }, function() return { a = 1 } end)
"""})
    r = client.refused("GET", "/v1/x/bad/error", 500, "internal", [])
    assert r.headers["Request-Id"] in r.message and "10-bad" not in r.message
    until(lambda: any("10-bad.lua:2: attempt to index a nil value" in m for m in lines(server, "lua.hook_failed")), "the place is not in the log")
    client.refused("GET", "/v1/x/bad/loop", 504, "timeout", [])
    for how, says in (("bad/status", "200 to 599"), ("bad/unchanged", "not 304"), ("bad/large", "larger than 16777216 bytes"), ("bad/header", "Set-Cookie is the server's own"), ("bad/line", "printable"), ("rows", "an array of rows")):
        client.refused("GET", "/v1/x/" + how, 500, "internal", [])
        until(lambda: any(says in m for m in lines(server, "lua.hook_failed")), says)


EDGES = """
local answers = { empty = { status = 204, body = "nobody reads this" }, teapot = { status = 418, headers = { ["X-Pot"] = "1" }, body = { short = true } }, text = { status = 200, body = "plain" },
  bare = { status = 202 }, list = { status = 200, body = { 1, 2 } }, extra = { status = 200, more = 1 }, none = { headers = {} }, half = { status = 200.5 }, low = { status = 199 }, high = { status = 600 },
  type = { status = 200, headers = { ["Content-Type"] = "text/html" } }, sealed = { status = 200, headers = { ["SVC-API-KEY"] = "x" } }, deep = { a = { b = wharf.null } }, array = wharf.json.array { { id = 1 } } }
local breaks = { fail = function() wharf.fail("no") end, again = function() wharf.fail("no", { retry = true }) end, odd = function() return { status = 200, body = print } end, thing = function() return print end,
  calls = function() for i = 1, 1001 do wharf.api.get("/v1/contacts/none") end end, sleep = function() wharf.sleep(1) end, number = function() error(5) end, none = function() error() end,
  memory = function() local t = {} while true do t[#t + 1] = ("x"):rep(1 << 20) .. #t end end }
wharf.hook.route("GET", "/v1/x/edge/:how", { scope = "any", location = "none" }, function(request) return answers[request.params.how] end)
wharf.hook.route("GET", "/v1/x/break/:how", { scope = "any", location = "none" }, function(request) wharf.kv.set("at", request.params.how) return breaks[request.params.how]() end)
wharf.hook.route("POST", "/v1/x/large", { scope = "any", location = "none" }, function(request) return #request.body end)
wharf.hook.route("POST", "/v1/x/small", { scope = "any", location = "none", max_body = 100 }, function(request) return { body = #request.body, text = request.json.a } end)
wharf.hook.route("PUT", "/v1/x/small", { scope = "any", location = "none", raw = true }, function(request) return #request.body end)
wharf.hook.route("PUT", "/v1/x/both/:id", { scope = "any", location = "none" }, function(request) return request.json end)
wharf.hook.route("DELETE", "/v1/x/both/:id", { scope = "any", location = "none" }, function(request) return { body = request.body, json = request.json == nil } end)
wharf.hook.route("GET", "/v1/x/anybody", { scope = "public", location = "none" }, function(request, ctx) return { key = request.key == nil, organization = ctx.organization_id == nil, locations = ctx.locations == nil } end)
"""


def test_answers_of_every_kind(hooks, client, server):
    hooks.load({"10-edges.lua": EDGES})

    def seen(method, how):
        r = raw(client, method, "/v1/x/edge/" + how)
        return r.status_code, r.headers.get("Content-Type"), r.content
    for how, status, kind, body in (("teapot", 418, "application/json; charset=utf-8", b'{"short":true}'), ("text", 200, "text/plain; charset=utf-8", b"plain"), ("list", 200, "application/json; charset=utf-8", b"[1,2]"),
                                    ("bare", 202, "text/plain; charset=utf-8", b"")):
        assert seen("GET", how) == (status, kind, body) and seen("HEAD", how) == (status, kind, b""), how
        sizes = {m: raw(client, m, "/v1/x/edge/" + how).headers.get("Content-Length") for m in ("GET", "HEAD")}
        assert sizes["HEAD"] in (sizes["GET"], None), sizes
    host = server.base.split("://")[1]
    for how, body in (("empty", b""), ("text", b"plain")):  # on the wire: nothing stands behind an answer that has no body
        status, _, told = client.raw(f"GET /v1/x/edge/{how} HTTP/1.1\r\nHost: {host}\r\nSVC-API-KEY: {client.key}\r\nConnection: close\r\n\r\n".encode())
        assert told == body, (how, status, told)
    assert seen("GET", "empty")[::2] == (204, b"")
    assert client.get("/v1/x/edge/extra").data == {"status": 200, "more": 1} and client.get("/v1/x/edge/none").data == {"headers": {}} and client.get("/v1/x/edge/deep").data == {"a": {"b": None}}
    r = client.get("/v1/x/edge/array")
    assert r.data == [{"id": 1}] and r.pagination["has_more"] is False
    for how, says in (("low", "200 to 599"), ("high", "200 to 599"), ("half", "200 to 599"), ("type", "Content-Type"), ("sealed", "SVC-API-KEY")):
        client.refused("GET", "/v1/x/edge/" + how, 500, "internal", [])
        until(lambda: any(says in m for m in lines(server, "lua.hook_failed")), says)
        assert client.request("HEAD", "/v1/x/edge/" + how).status == 500
    assert client.get("/v1/x/edge/nothing", expect=204).data is None


def test_functions_that_break(hooks, client, server):
    """What was the operator's mistake is nobody's affair but his: 500, the place in the log, and the next call finds nothing of it."""
    hooks.load({"10-edges.lua": EDGES})
    for how, says in (("fail", "no"), ("again", "no"), ("odd", "function"), ("thing", "function"), ("calls", "1,000 times"), ("sleep", "can sleep"), ("number", "5"), ("none", "nil"), ("memory", "memory")):
        before = len(lines(server, "lua.hook_failed"))
        r = client.refused("GET", "/v1/x/break/" + how, 500, "internal", [])
        assert "edges" not in r.message and r.headers["Request-Id"] in r.message
        until(lambda: any(says in m and "10-edges.lua" in m for m in lines(server, "lua.hook_failed")[before:]), how)
        assert server.sql("SELECT value FROM wharf.hook_kv WHERE key = 'at'")[-1] == (how,)
        assert client.post("/v1/x/large", {"a": "x" * 1900000}, expect=200).data == 1900009, how


def test_paths_and_methods(hooks, client, org):
    hooks.load({"10-edges.lua": EDGES})
    for method, path, allow in (("POST", "/v1/x/edge/a", {"GET", "HEAD"}), ("GET", "/v1/x/large", {"POST"}), ("HEAD", "/v1/x/large", {"POST"}), ("DELETE", "/v1/x/small", {"POST", "PUT"}), ("GET", "/v1/x/both/a", {"PUT", "DELETE"}),
                                ("PATCH", "/v1/x/both/a", {"PUT", "DELETE"})):
        r = client.request(method, path, check=method != "HEAD")
        assert r.status == 405 and set(r.headers["Allow"].replace(" ", "").split(",")) - {"OPTIONS"} in (allow, allow - {"HEAD"}), (method, path, r.headers.get("Allow"))
        assert method == "HEAD" or r.code == "method.not_allowed"
    for path in ("/v1/x", "/v1/x/", "/v1/x/edge", "/v1/x/edge/", "/v1/x/edge/a/b", "/v1/y/edge/a", "/v1/x/Edge/a", "/v1/x/small/a"):
        client.refused("GET", path, 404, "route.not_found", None)
        assert client.request("HEAD", path).status == 404
    assert client.request("PUT", "/v1/x/both/a", {"n": 1}, expect=200).data == {"n": 1}
    assert client.request("DELETE", "/v1/x/both/a", {"n": 1}, expect=200).data == {"body": "", "json": True}  # read and dropped
    told = {"key": True, "organization": True, "locations": True}
    for key in (False, True, "wh_live_" + "0" * 38):
        assert client.get("/v1/x/anybody", key=key, check=False).data == told


def test_sizes_of_bodies(hooks, client, server):
    """Those of the platform, where the route says nothing; counted also when nobody said how long it is, and when it was packed."""
    hooks.load({"10-edges.lua": EDGES})
    sent = {"Content-Type": "application/json"}
    most = 2 << 20

    def body(n):
        return b'{"a":"' + b"x" * (n - 8) + b'"}'
    for method, path, size in (("POST", "/v1/x/large", most), ("PUT", "/v1/x/small", most), ("POST", "/v1/x/small", 100)):
        assert raw(client, method, path, body(size), **sent).status_code == 200
        for data in (body(size + 1), iter([body(size + 1)[:50], body(size + 1)[50:]])):
            r = raw(client, method, path, data, **sent)
            assert (r.status_code, r.json()["code"]) == (413, "body.too_large"), path
        r = raw(client, method, path, gzip.compress(body(size + 1)), **sent, **{"Content-Encoding": "gzip"})
        assert (r.status_code, r.json()["code"]) == (413, "body.too_large"), path
    assert raw(client, "POST", "/v1/x/small", gzip.compress(body(90)), **sent, **{"Content-Encoding": "gzip"}).json()["data"] == {"body": 90, "text": "x" * 82}
    client.refused("POST", "/v1/x/small", 415, "media_type.unsupported", None, data=b"a=1", headers={"Content-Type": "application/x-www-form-urlencoded"})
    for wrong in (b"[1]", b"5", b"null", b'"a"'):
        r = raw(client, "POST", "/v1/x/small", wrong, **sent)
        assert r.status_code == 400, wrong


REFUSED = [
    ("route('GET', '/v1/contacts2', {scope = 'any', location = 'none'}, print)", "begins with /v1/x/"),
    ("route('GET', '/v1/x/A', {scope = 'any', location = 'none'}, print)", "segments"),
    ("route('GET', '/v1/x/:a/:b/:c/:d/:e', {scope = 'any', location = 'none'}, print)", "at most four"),
    ("route('PATCH', '/v1/x/a', {scope = 'any', location = 'none'}, print)", "GET, POST, PUT or DELETE"),
    ("route('GET', '/v1/x/a', {location = 'none'}, print)", "scope is"),
    ("route('GET', '/v1/x/a', {scope = 'parsels:read', location = 'none'}, print)", "no such scope"),
    ("route('GET', '/v1/x/a', {scope = 'any'}, print)", "location is"),
    ("route('GET', '/v1/x/a', {scope = 'public', location = 'row'}, print)", "public route"),
    ("route('GET', '/v1/x/a', {scope = 'any', location = 'none', tags = 1}, print)", "no option 'tags'"),
    ("route('GET', '/v1/x/a', {scope = 'any', location = 'none', filters = {a = 'color'}}, print)", "filters are"),
    ("route('GET', '/v1/x/a', {scope = 'any', location = 'none', body = {type = 'object'}}, print)", "has no body"),
    ("route('POST', '/v1/x/a', {scope = 'any', location = 'none', body = {type = 'thing'}}, print)", "body, at"),
    ("route('GET', '/v1/x/a', {scope = 'any', location = 'none', timeout_ms = 30001}, print)", "timeout_ms is"),
    ("route('GET', '/v1/x/a', {scope = 'any', location = 'none'})", "fourth argument"),
    ("route('GET', '/v1/x/seen/:other', {scope = 'any', location = 'none'}, print)", "10-a.lua:1 registers this route already"),
    ("route('GET', '/v1/x/' .. ('a'):rep(95), {scope = 'any', location = 'none'}, print)", "at most 100 characters"),
    ("route('GET', '/v1/x/a', {scope = 'any', location = 'none', filters = (function() local f = {} for i = 1, 51 do f['f' .. i] = 'string' end return f end)()}, print)", "at most 50 filters"),
    ("route('POST', '/v1/x/a', {scope = 'any', location = 'none', raw = true, body = {type = 'object'}}, print)", "or takes the body raw"),
    ("route('POST', '/v1/x/a', {scope = 'any', location = 'none', max_body = 70000000}, print)", "at most 64 MiB"),
    ("route('POST', '/v1/x/a', {scope = 'any', location = 'none', per_minute = -1}, print)", "whole numbers"),
    ("request()", "first argument"),
    ("request(print, {timeout_ms = 6})", "timeout_ms is"),
    ("response(print, {on_error = 'no'})", "on_error is"),
]


def test_registrations_that_are_refused(hooks, client):
    """All in one folder: each is told at its line, and one that nobody catches refuses the folder."""
    first = "wharf.hook.route('GET', '/v1/x/seen/:which', {scope = 'any', location = 'none'}, function() return SEEN end)\n"
    told = hooks.load({"10-a.lua": first + "SEEN = {}\nlocal function see(f, ...) local ok, err = pcall(f, ...) SEEN[#SEEN + 1] = ok and 'it went' or err end\n"
                       + "\n".join(re.sub(r"^(\w+)\((.*)\)$", lambda m: f"see(wharf.hook.{m[1]}{', ' + m[2] if m[2] else ''})", text) for text, _ in REFUSED)})
    assert len(told["hooks"]) == 1
    for (text, says), seen in zip(REFUSED, client.get("/v1/x/seen/all").data, strict=True):
        assert says in seen and seen.startswith("10-a.lua:"), (text, seen)
    told = hooks.load({"10-a.lua": "\n" + first + "wharf.hook.request()"}, good=False)
    assert told["last_error"]["file"] == "10-a.lua" and told["last_error"]["line"] == 3, told["last_error"]
    assert len(told["hooks"]) == 1


def test_a_route_of_a_module_that_is_not_there(hooks, client):
    told = hooks.load({"10-a.lua": "wharf.hook.route('GET', '/v1/x/a', {scope = 'any', location = 'none', module = 'parcels'}, print)\n"
                                   "wharf.hook.route('GET', '/v1/x/b', {scope = 'any', location = 'none', module = 'contacts'}, function() return 1 end)"})
    assert [h["pattern"] for h in told["hooks"]] == ["GET /v1/x/b"]
    client.refused("GET", "/v1/x/a", 404, "route.not_found", None)
    assert client.get("/v1/x/b").data == 1


AROUND = """
wharf.hook.request(function(request, ctx)
  if request.headers["x-robot"] == "yes" then wharf.reject("robots", "Robots use the batch interface") end
  if request.query.slow then while true do end end
  if request.query.broken then error("broken") end
  if request.query.ask then wharf.api.get("/v1/contacts") end
  return { headers = { ["X-Seen"] = request.method .. " " .. request.path .. " " .. (request.remote_addr or "-") .. " " .. (request.headers["svc-api-key"] or "no key") } }
end)
wharf.hook.response(function(answer, ctx)
  if answer.query.hide then wharf.reject("hidden", "This is not shown") end
  if answer.query.late then error("late") end
  return { headers = { ["X-Told"] = answer.status .. " " .. (answer.code or "-") .. " " .. (answer.route or "-") .. " " .. (ctx.organization_id and "org" or "none") } }
end)
"""


def test_what_runs_around_every_request(hooks, client, server):
    hooks.load({"10-around.lua": AROUND})
    r = client.get("/v1/contacts?limit=1")  # answered by the event loop
    assert r.headers["X-Seen"] == "GET /v1/contacts 127.0.0.1 no key" and r.headers["X-Told"] == "200 - /v1/contacts org"
    r = client.post("/v1/contacts", {"name": "A"}, expect=201)  # by a thread
    assert r.headers["X-Seen"].startswith("POST /v1/contacts ") and r.headers["X-Told"] == "201 - /v1/contacts org"
    r = client.refused("GET", "/v1/nothing", 404, "route.not_found", None)
    assert r.headers["X-Told"] == "404 route.not_found - none" and r.headers["X-Seen"].startswith("GET /v1/nothing")
    r = client.refused("GET", "/v1/contacts", 401, "api_key.missing", None, key=False)
    assert r.headers["X-Told"] == "401 api_key.missing /v1/contacts none"
    r = client.refused("GET", "/v1/contacts", 400, "workflow.rejected", ["custom.robots"], headers={"X-Robot": "yes"})
    assert r.message == "Robots use the batch interface" and r.headers["X-Told"] == "400 workflow.rejected - none"
    tag = client.get("/v1/contacts?limit=1").headers["ETag"]
    assert client.request("GET", "/v1/contacts?limit=1", expect=304, headers={"If-None-Match": tag}).headers["X-Told"] == "200 - /v1/contacts org"
    assert "X-Seen" not in server.http.get(server.base + "/livez").headers and "X-Told" not in server.http.get(server.admin + "/metrics").headers
    assert client.request("OPTIONS", "/v1/contacts", expect=204, check=False).headers["X-Told"].startswith("204")
    assert hooks.load({})["hooks"] == [] and "X-Seen" not in client.get("/v1/contacts?limit=1").headers


def test_who_asks(hooks, client, org):
    hooks.load({"10-k.lua": """
wharf.hook.route("GET", "/v1/x/key", { scope = "any", location = "none" }, function(request) return { user = request.key.user_id or "none", device = request.key.device_id or "none" } end)"""})
    user = org.user(role="owner")
    assert client.get("/v1/x/key").data == {"user": "none", "device": "none"} and org.client(user=user).get("/v1/x/key").data == {"user": user, "device": "none"}


def test_how_often(place, hooks):
    """Of an organization, by any of its keys; the servers of the other tests have no limits of their own."""
    hooks.write({"10-k.lua": 'wharf.hook.route("GET", "/v1/x/rare", { scope = "any", location = "none", per_minute = 2 }, function() return 1 end)'})
    s = Server("--modules", "org", "--set", f"lua_hooks.dir={place}", limits=True)
    try:
        org = s.organization()
        for client in (org.client(), org.client()):
            assert client.get("/v1/x/rare").data == 1
        assert int(client.refused("GET", "/v1/x/rare", 429, "rate_limited", None).headers["Retry-After"]) > 0
        assert s.organization().client().get("/v1/x/rare").data == 1
    finally:
        s.stop()


def test_the_actor_of_every_answer(hooks, client, org):
    """Hooks around answers are told who asked: nobody without a key and with one that nobody has, also when the request was refused."""
    hooks.load({"10-actor.lua": """
wharf.hook.response(function(answer, ctx)
  return { headers = { ["X-Actor"] = ctx.actor and ctx.actor.type .. " " .. ctx.actor.id or "nobody", ["X-Organization"] = ctx.organization_id or "none" } }
end)"""})
    made = client.post("/v1/api-keys", {"scopes": {"locations": 1}}, expect=201).data
    spent = client.post("/v1/api-keys", {"scopes": {"locations": 1}}, expect=201).data
    client.delete("/v1/api-keys/" + spent["id"])
    for key, status, said in ((made["api_key"], 200, ("api_key " + made["id"], org.id)), (spent["api_key"], 401, ("api_key " + spent["id"], org.id)),
                              (key_text(), 401, ("nobody", "none")), (None, 401, ("nobody", "none"))):
        a = client.request("GET", "/v1/locations", key=key)
        assert (a.status, a.headers["X-Actor"], a.headers["X-Organization"]) == (status, *said), key


@pytest.mark.parametrize("answer, says", [
    ("{headers = (function() local h = {} for i = 1, 21 do h['X-' .. i] = 1 end return h end)()}", "at most 20 headers"), ("{headers = {['X-A'] = ('a'):rep(4096)}}", "4 KiB together"),
    ("{headers = {['X-A'] = {}}}", "values of headers are texts"), ("{headers = {['X-A'] = 'ä'}}", "printable"), ("{headers = {['X A'] = 'a'}}", "letters, digits"),
    ("{headers = {['SVC-Anything'] = 'a'}}", "the server's own"), ("{headers = {}, more = 1}", "returns nothing, or"), ("5", "returns nothing, or"), ("{headers = 5}", "returns nothing, or")])
def test_what_hooks_around_may_not_answer(hooks, client, server, answer, says):
    hooks.load({"10-around.lua": f"wharf.hook.request(function(r) if r.path == '/v1/contacts' then return {answer} end end)"})
    before = sum(says in m for m in lines(server, "lua.hook_failed"))
    client.refused("GET", "/v1/contacts", 400, "workflow.hook_failed", [])
    until(lambda: sum(says in m for m in lines(server, "lua.hook_failed")) > before, says)
    hooks.load({})


def test_response_hooks_refuse_reads_only(hooks, client, server):
    hooks.load({"10-around.lua": AROUND})
    client.refused("GET", "/v1/contacts?hide=1", 400, "workflow.rejected", ["custom.hidden"])
    client.refused("GET", "/v1/contacts?late=1", 400, "workflow.hook_failed", [])
    assert client.post("/v1/contacts?hide=1", {"name": "Kept"}, expect=201).data["name"] == "Kept"
    client.refused("GET", "/v1/contacts/ctct_0000000000000000000000?hide=1", 404, "not_found", None)
    until(lambda: any("This is not shown" in m for m in lines(server, "lua.hook_failed")), "the refusal of a write is not in the log")
    hooks.load({"10-around.lua": "wharf.hook.response(function() return { headers = { Server = 'x' } } end, { on_error = 'ignore' })"})
    client.get("/v1/contacts?limit=1")
    until(lambda: any("the header Server is the server's own" in m for m in lines(server, "lua.hook_failed")), "a wrong header is not in the log")


def test_request_hooks_that_break(hooks, client, server):
    hooks.load({"10-around.lua": AROUND})
    client.refused("GET", "/v1/contacts?broken=1", 400, "workflow.hook_failed", [])
    client.refused("GET", "/v1/contacts?slow=1", 400, "workflow.hook_failed", [])
    until(lambda: any("10-around.lua:4" in m and "workflow.budget_time" in m for m in lines(server, "lua.hook_failed")), "the limit is not in the log")
    client.refused("GET", "/v1/contacts?ask=1", 400, "workflow.hook_failed", [])
    until(lambda: any("can't wait for anything" in m for m in lines(server, "lua.hook_failed")), "what it may not do is not in the log")
    hooks.load({"10-around.lua": "wharf.hook.request(function() error('no') end, { on_error = 'ignore' })\n"
                                 "wharf.hook.request(function() return { headers = { ['X-Order'] = 'second' } } end, { priority = 2 })\n"
                                 "wharf.hook.request(function() return { headers = { ['X-Order'] = 'first', ['X-Other'] = 1 } } end, { priority = 1 })"})
    r = client.get("/v1/contacts?limit=1")
    assert (r.headers["X-Order"], r.headers["X-Other"]) == ("second", "1")


def test_bodies_that_are_refused_while_they_come(hooks, client, server):
    """The answer of a body that is too large, and of one whose sender waits to be asked for it."""
    hooks.load({"10-around.lua": AROUND})
    head = f"POST /v1/contacts HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {client.key}\r\nContent-Type: application/json\r\n"
    status, headers, _ = client.raw((head + "Expect: 100-continue\r\nX-Robot: yes\r\nContent-Length: 20\r\n\r\n").encode())
    assert status == 400 and headers["X-Told"].startswith("400 workflow.rejected")
    status, _, body = client.raw_upload((head + f"X-Robot: yes\r\nContent-Length: {1 << 20}\r\n\r\n").encode(), [b" " * 65536] * 16)
    assert status == 400 and json.loads(body)["code"] == "workflow.rejected"
    with server.connect() as s:  # gone before the hooks are done
        s.sendall((head + "Content-Length: 5\r\n\r\n").encode())
    assert client.post("/v1/contacts", {"name": "B"}, expect=201)


def test_no_request_sees_two_generations(hooks, client, server, org):
    """The request hook, the route or before hook, and the response hook are of one folder, while it changes under load."""
    def files(letter):
        return {"10.lua": f"wharf.hook.request(function() return {{ headers = {{ ['X-A'] = '{letter}' }} }} end)\n"
                          f"wharf.hook.before('contact', 'create', function(c) c.input.name = '{letter}' end)\n"
                          f"wharf.hook.route('GET', '/v1/x/letter', {{ scope = 'any', location = 'none' }}, function() return '{letter}' end)\n"
                          f"wharf.hook.response(function() return {{ headers = {{ ['X-B'] = '{letter}' }} }} end)"}
    def load(letter):  # in one step: what is seen half written would be a generation too
        (hooks.path / ".new").write_text(files(letter)["10.lua"])
        os.replace(hooks.path / ".new", hooks.path / "10.lua")
        assert hooks.system.post(HOOKS + "/reload", {}, expect=200).data["last_error"] is None
    hooks.load(files("a"))
    seen, wrong, stop = set(), [], threading.Event()

    def ask():
        mine = Client(server, org.key())
        while not stop.is_set():
            r = mine.request("POST", "/v1/contacts", {"name": "-"}, check=False)
            letters = {r.headers.get("X-A"), r.headers.get("X-B"), r.data["name"] if r.status == 201 else repr(r)}
            r = mine.request("GET", "/v1/x/letter", check=False)
            more = {r.headers.get("X-A"), r.headers.get("X-B"), r.data if r.status == 200 else repr(r)}
            (wrong if len(letters) > 1 or len(more) > 1 else []).append((letters, more))
            seen.update(letters | more)
    threads = [threading.Thread(target=ask) for _ in range(3)]
    for t in threads:
        t.start()
    for letter in "bcd":
        load(letter)
        until(lambda letter=letter: letter in seen, "nobody saw it")
    stop.set()
    for t in threads:
        t.join()
    assert not wrong, wrong[:3]
    assert seen - {"a"} == set("bcd"), seen
