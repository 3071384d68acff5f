"""Triggers of type http (spec 08 section 3): paths, who may ask, what code gets and answers."""
import base64
import hashlib
import hmac
import json
import time

import pytest
import requests

from test_workflow_events import over
from wharf import WAIT, Client, make_location

FLOWS = "/v1/workflows"
SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


@pytest.fixture(scope="module")
def nobody(server):
    """Somebody without a key."""
    return Client(server, None)


@pytest.fixture(autouse=True)
def no_leftovers(client):
    yield
    for row in client.get(f"{FLOWS}?status=all&limit=100").data:
        client.delete(f"{FLOWS}/{row['id']}")


def flow(client, source, *triggers, name="Flow", secrets=None, **more):
    """Publishes the body of on_http(request, ctx)."""
    source = f"return {{on_http = function(request, ctx)\n{source}\nend}}"
    row = client.post(FLOWS, {"name": name, "source": source, "triggers": [{"type": "http", **t} for t in triggers], **more}, expect=201).data
    for key, value in (secrets or {}).items():
        client.post(f"{FLOWS}/{row['id']}/secrets", {"key": key, "value": value}, expect=201)
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    return row["id"]


def ask(client, id, path, method="POST", expect=200, check=False, **more):
    url, status = f"{FLOWS}/{id}/http/{path}", (lambda r: r.status if check else r.status_code)
    r = client.request(method, url, check=check, **more) if check else bare(client, method, url, **more)
    assert status(r) == expect, repr(r) if check else f"{r.status_code} {r.text}"
    return r


def bare(client, method, path, headers=None, data=None):
    """The answer as it is."""
    h = {"SVC-API-KEY": client.key, **(headers or {})} if client.key else headers or {}
    return client.http.request(method, client.server.base + path, headers=h, data=data, timeout=WAIT, allow_redirects=False)


@pytest.mark.parametrize("trigger, word", [
    ({}, "path is"), ({"path": ""}, "path is"), ({"path": "/"}, "path is"), ({"path": "a//b"}, "path is"), ({"path": "a/"}, "path is"), ({"path": "a b"}, "path is"),
    ({"path": "a/:"}, "path is"), ({"path": ":1"}, "path is"), ({"path": ":a/:a"}, "each name once"), ({"path": "../x"}, "path is"), ({"path": "/".join("a" * 17)}, "16 segments"),
    ({"path": "x" * 201}, "path is"), ({"path": 5}, "path is"), ({"path": "a", "methods": []}, "methods is"), ({"path": "a", "methods": ["TRACE"]}, "methods is"),
    ({"path": "a", "methods": "GET"}, "methods is"), ({"path": "a", "auth": "basic"}, "auth is"), ({"path": "a", "auth": ""}, "auth is"), ({"path": "a", "auth": None}, "auth is"),
    ({"path": "a", "mode": "later"}, "mode is"), ({"path": "a", "auth": "signature"}, "secret_key"), ({"path": "a", "auth": "signature", "secret_key": "lower"}, "secret_key"),
    ({"path": "a", "secret_key": "KEY"}, "secret_key"), ({"path": "a", "cron": "@daily"}, "cron")])
def test_triggers_that_can_not_be(client, trigger, word):
    r = client.refused("POST", FLOWS, 400, "workflow.trigger_invalid", ["triggers.0"], body={"name": "Bad", "source": "return {}", "triggers": [{"type": "http", **trigger}]})
    assert word in r.message, r


def test_a_path_is_one_triggers(client):
    for one, other in (("a/:b", "/a/:c"), ("a", "/a")):
        client.refused("POST", FLOWS, 400, "workflow.trigger_invalid", ["triggers.1"],
                       body={"name": "Twice", "source": "return {}", "triggers": [{"type": "http", "path": one}, {"type": "http", "path": other, "methods": ["GET"]}]})
    r = client.refused("POST", FLOWS + "/check", 400, "workflow.trigger_invalid", body={"source": "return {}", "triggers": [{"type": "http", "path": "a"}]})
    assert "on_http" in r.message


def test_what_the_code_gets(fresh, nobody):
    client = fresh.client()
    id = flow(client, "return request", {"path": "orders/:id/lines/:line", "methods": ["GET", "POST", "PUT", "PATCH", "DELETE"], "name": "orders"}, {"path": "orders/:id/lines/first"})
    path = "orders/A%20%C3%BC/lines/7"
    got = ask(client, id, path + "?x=1&y=a&y=b+c", headers={"X-One": "1", "Authorization": "Bearer x", "Cookie": "a=b", "Content-Type": "application/json"}, data=b'{"n": [1, null]}').json()
    assert got["message"] == "The workflow answered" and got["errors"] == [], got
    got = got["data"]
    assert got["method"] == "POST" and got["path"] == "/" + path and got["params"] == {"id": "A ü", "line": "7"} and got["query"] == {"x": "1", "y": ["a", "b c"]}
    assert got["body"] == '{"n": [1, null]}' and got["json"] == {"n": [1, None]} and got["remote_addr"] == "127.0.0.1" and got["key"]["id"].startswith("key_")
    assert got["headers"]["x-one"] == "1" and not {"authorization", "cookie", "svc-api-key", "x-api-key"} & set(got["headers"])
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        got = ask(client, id, path, method, data=b"\xff\x00" if method != "GET" else None).json()["data"]
        assert got["method"] == method and "json" not in got and got.get("body", "") == "" and got.get("body_base64", "/wA=") == "/wA="
    assert ask(client, id, "orders/1/lines/first").json()["data"]["params"] == {"id": "1"}  # a word goes before a capture
    assert ask(client, id, path, "HEAD").content == b""
    run = client.get(f"{FLOWS}/{id}/runs?trigger_type=http&limit=1&order_by=created_at&direction=asc").data[0]
    run = client.get(f"{FLOWS}/runs/{run['id']}").data
    assert run["trigger"] == {"type": "http", "name": "orders", "path": path, "method": "POST", "auth": "key"} and run["status"] == "succeeded"
    assert run["input"]["value"]["params"]["line"] == "7" and run["on_behalf_of"] and run["output"]["value"]["method"] == "POST"
    row = client.get(f"{FLOWS}/{id}").data
    assert row["last_run"]["status"] == "succeeded"
    # what is not there
    for bad in ("orders", "orders/1/lines/7/8", "orders/%zz/lines/7", "orders/%ff/lines/7", "orders/1/lines//"):
        head = f"POST {FLOWS}/{id}/http/{bad} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {client.key}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        status, _, body = client.raw(head.encode())
        assert (status, json.loads(body)["code"]) == ((400, "http.malformed") if "%zz" in bad else (404, "workflow.no_such_path")), bad
    r = client.refused("GET", f"{FLOWS}/{id}/http/orders/1/lines/first", 405, "workflow.method")
    assert r.headers["Allow"] == "POST"
    client.refused("POST", f"{FLOWS}/{id}/http", 404, "route.not_found")
    client.refused("POST", f"{FLOWS}/wkf_0000000000000000000000/http/orders", 404, "not_found")
    r = client.request("POST", f"{FLOWS}/{id}/http/orders/1/lines/2", data=b"x" * (1 << 20) + b"x", expect=413)
    client.post(f"{FLOWS}/{id}", {"enabled": False}, expect=200)
    client.refused("POST", f"{FLOWS}/{id}/http/{path}", 409, "workflow.disabled")
    client.delete(f"{FLOWS}/{id}")
    nobody.refused("POST", f"{FLOWS}/{id}/http/{path}", 404, "not_found")


ANSWERS = [
    ("return {status = 201, headers = {Location = '/x', ['X-Two'] = 'b', ['cache-control'] = 'max-age=5'}, body = {a = {1, {}}}}", 201,
     {"Location": "/x", "X-Two": "b", "Cache-Control": "max-age=5", "Content-Type": "application/json; charset=utf-8"}, b'{"a":[1,{}]}'),
    ("return {status = 200, body = 'plain'}", 200, {"Content-Type": "text/plain; charset=utf-8", "Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff"}, b"plain"),
    ("return {status = 200, headers = {['Content-Type'] = 'text/html'}, body = '<b>x</b>'}", 200, {"Content-Type": "text/html", "Content-Security-Policy": "sandbox", "ETag": None}, b"<b>x</b>"),
    ("return {status = 404}", 404, {}, b""), ("return {status = 599, body = 'later'}", 599, {}, b"later"), ("return {status = 204, body = 'none'}", 204, {}, b""),
    ("return {status = 302, headers = {location = 'https://example.com/'}}", 302, {"Location": "https://example.com/"}, b""), ("return nil", 204, {}, b"")]
FAULTS = [
    ("return {status = 700}", "200 to 599"), ("return {status = 100}", "200 to 599"), ("return {status = 200, headers = 'x'}", "headers is a table"),
    ("return {status = 200, headers = {['Set-Cookie'] = 'a=b'}}", "Set-Cookie is not for workflows"), ("return {status = 200, headers = {Connection = 'close'}}", "not for workflows"),
    ("return {status = 200, headers = {['svc-api-key'] = 'k'}}", "not for workflows"), ("return {status = 200, headers = {['Content-Length'] = '5'}}", "not for workflows"),
    ("return {status = 200, headers = {['Access-Control-Allow-Origin'] = '*'}}", "not for workflows"), ("return {status = 200, headers = {a = 'x\\r\\nSet-Cookie: y'}}", "no text of one line"),
    ("return {status = 200, headers = {['a b'] = 'x'}}", "no name of a header"), ("return {status = 200, headers = {a = 5}}", "no text of one line"),
    ("return {status = 200, body = ('x'):rep(1100000)}", "larger than 1048576"), ("error('broken')", "broken"),
    ("wharf.reject('no_stock', 'nothing left', 'quantity')", "nothing left"), ("wharf.sleep(10)", "can't sleep")]


def cases(client, bodies, **trigger):
    """One workflow that does the n-th of them."""
    functions = ",\n".join(f"function() {body} end" for body in bodies)
    return flow(client, f"return ({{{functions}}})[tonumber(request.params.n)]()", {"path": "x/:n", "methods": ["GET", "POST"], **trigger})


def test_what_it_answers(client, nobody):
    id = cases(client, [a[0] for a in ANSWERS], auth="none")
    for i, (body, status, headers, content) in enumerate(ANSWERS):
        r = ask(nobody, id, f"x/{i + 1}", "GET", status)
        assert r.content == content and {k: r.headers.get(k) for k in headers} == headers, (body, r.headers)


def test_answers_that_can_not_be(fresh):
    client = fresh.client()
    id = cases(client, [f[0] for f in FAULTS])
    for i, (body, word) in enumerate(FAULTS):
        r = ask(client, id, f"x/{i + 1}", expect=400, check=True)
        assert r.code == ("workflow.rejected" if "reject" in body else "workflow.failed") and word in r.message + " ".join(r.errors), (body, r)
        run = client.get(f"{FLOWS}/runs/{r.message.split('(run ')[1].split()[0]}").data
        assert run["status"] == ("rejected" if "reject" in body else "failed") and run["output"] is None


def test_a_plain_table_is_data(client):
    id = flow(client, "return request.json", {"path": "x"})
    for data in ({"status": "good"}, {"status": 200, "more": 1}, {"body": "x"}, [1, 2], {"a": None}):
        assert ask(client, id, "x", check=True, body=data).data == data


STICK = "return ('a'):rep(40000):find(('.-'):rep(8) .. 'b')"  # takes time and no instructions


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_every_method_ends_alike(org, client, nobody, method):
    """What the description promises of each of the five operations that call a workflow."""
    source = f"local w = request.params.what if w == 'stick' then {STICK} elseif w == 'no' then wharf.reject('no', 'not today') end return {{status = 200, body = w}}"
    id = flow(client, source, {"path": "x/:what", "methods": [method]}, {"path": "late", "methods": [method], "mode": "async"},
              {"path": "other", "methods": ["POST" if method != "POST" else "PUT"]}, budget={"time_ms": 500})
    path = f"{FLOWS}/{id}/http/"
    assert ask(client, id, "x/good", method).text == "good"
    ask(client, id, "late", method, expect=202, check=True)
    nobody.refused(method, path + "x/good", 401, "api_key.missing")
    org.client("locations:read").refused(method, path + "x/good", 403, "scope_access")
    assert client.refused(method, path + "other", 405, "workflow.method").headers["Allow"] != method
    client.refused(method, path + "nothing/is/here", 404, "workflow.no_such_path")
    client.refused(method, path + "x/no", 400, "workflow.rejected", ["custom.no"])
    client.refused(method, path + "x/stick", 504, "workflow.budget_time")
    if method in ("POST", "PUT", "PATCH"):
        client.request(method, path + "x/good", data=b"x" * (1 << 20) + b"x", expect=413)
        client.request(method, path + "x/good", data=b"x", headers={"Content-Encoding": "br"}, expect=415)
    client.post(f"{FLOWS}/{id}", {"enabled": False}, expect=200)
    client.refused(method, path + "x/good", 409, "workflow.disabled")


def test_keys(org, client, nobody, server):
    id = flow(client, "return request.key.id", {"path": "x"}, {"path": "y", "auth": "none"}, allowed_locations=[make_location(client, "K here")["id"]])
    path = f"{FLOWS}/{id}/http/x"
    ask(client, id, "x")
    nobody.refused("POST", path, 401, "api_key.missing")
    nobody.refused("POST", path, 401, "api_key.invalid", key="wh_live_nobody")
    org.client("locations:read").refused("POST", path, 403, "scope_access")
    org.client("workflow:read", locations=[make_location(client, "K there")["id"]]).refused("POST", path, 403, "location_access")
    server.organization().client().refused("POST", path, 404, "not_found")
    # where none is needed a key of anybody does no harm
    for key in (None, "wh_live_nobody", client.key, server.organization().client().key):
        r = ask(Client(server, key), id, "y", expect=400, check=True)
        assert r.code == "workflow.failed" and "request.key" not in r.errors


def test_signatures(client, nobody):
    id = flow(client, "return request.body", {"path": "x", "auth": "signature", "secret_key": "HOOK"}, secrets={"HOOK": SECRET})
    path = f"{FLOWS}/{id}/http/x"

    def signed(body=b"hello", at=None, secret=SECRET, id="msg_1"):
        at = str(int(time.time()) if at is None else at)
        sign = hmac.new(base64.b64decode(secret[6:]), f"{id}.{at}.".encode() + body, hashlib.sha256).digest()
        return {"webhook-id": id, "webhook-timestamp": at, "webhook-signature": "v1," + base64.b64encode(sign).decode()}
    assert ask(nobody, id, "x", headers=signed(), data=b"hello").json()["data"] == "hello"
    other = "whsec_" + base64.b64encode(b"x" * 32).decode()
    before = client.get(f"{FLOWS}/{id}/runs").data
    for headers in ({}, signed(b"other"), signed(at=time.time() - 400), signed(at="x"), signed(secret=other), {**signed(), "webhook-id": "msg_2"}):
        nobody.refused("POST", path, 401, "workflow.signature", headers=headers, data=b"hello")
    client.refused("POST", path, 401, "workflow.signature", data=b"hello")  # a key is no signature
    client.delete(f"{FLOWS}/{id}/secrets/HOOK")
    nobody.refused("POST", path, 401, "workflow.signature", headers=signed(), data=b"hello")
    assert client.get(f"{FLOWS}/{id}/runs").data == before  # no code ran


def test_secrets_stay(client, nobody):
    """What a caller sends and the code answers is shown without secrets where it is kept."""
    id = flow(client, "return {status = 200, body = 'it is ' .. wharf.secret('TOKEN')}", {"path": "x", "auth": "none"}, secrets={"TOKEN": "hunter22"})
    assert ask(nobody, id, "x?token=hunter22").content == b"it is [secret:TOKEN]"
    run = client.get(f"{FLOWS}/runs/{client.get(f'{FLOWS}/{id}/runs').data[0]['id']}").data
    assert run["input"]["value"]["query"] == {"token": "[secret:TOKEN]"} and "hunter22" not in str(run)


def test_anybody_may_ask_sixty_times_a_minute(client, nobody):
    id = flow(client, "return 1", {"path": "x", "auth": "none"}, {"path": "k"})
    client.post(f"{FLOWS}/{id}", {"enabled": False}, expect=200)
    codes = [nobody.request("POST", f"{FLOWS}/{id}/http/x") for _ in range(65)]
    assert [r.code for r in codes[:60]] == ["workflow.disabled"] * 60 and codes[-1].status == 429 and codes[-1].code == "rate_limited" and codes[-1].headers["Retry-After"]
    client.refused("POST", f"{FLOWS}/{id}/http/k", 409, "workflow.disabled")  # keys have limits of their own


def test_what_anybody_may_have_done(client, nobody):
    """Budget "http public", and the publisher's rights, not more."""
    id = flow(client, """if request.json.what == 'work' then for i = 1, 6000000 do end end
if request.json.what == 'calls' then for i = 1, 21 do wharf.api.get('/v1/locations') end end
local d, e = wharf.api.post('/v1/locations', {name = 'x'})
local b = ctx.budget()
return {e.code, b.instructions <= 5000000, b.memory < 16777216, b.api_calls, b.http_calls, ctx.actor == wharf.null}""",
              {"path": "x", "auth": "none"}, {"path": "later", "auth": "none", "mode": "async"}, scopes=["locations:read"])
    assert ask(nobody, id, "x", check=True, body={}).data == ["scope_access", True, True, 19, 5, True]
    assert ask(nobody, id, "x", check=True, expect=400, body={"what": "work"}).code == "workflow.budget_instructions"
    assert ask(nobody, id, "x", check=True, expect=400, body={"what": "calls"}).code == "workflow.budget_calls"
    r = ask(nobody, id, "later", check=True, expect=202, body={"what": "work"}).data
    assert r["object"] == "workflow_run" and r["status"] == "queued"
    kept = next(x for x in over(client, id, 4) if x["id"] == r["id"])
    assert kept["status"] == "failed" and kept["error"]["code"] == "workflow.budget_instructions" and kept["trigger"]["auth"] == "none" and kept["on_behalf_of"] is None


def test_later(org, client):
    here, there = make_location(client, "L here")["id"], make_location(client, "L there")["id"]
    id = flow(client, "local d, e = wharf.api.get('/v1/locations/' .. request.query.id) return e and e.code or d.id", {"path": "x", "mode": "async"}, scopes=["locations:read"])
    bound = org.client("workflow:read", locations=[here])
    made = [ask(bound, id, f"x?id={where}", check=True, expect=202).data["id"] for where in (here, there)]
    done = {r["id"]: r for r in over(client, id, 2)}
    assert [done[m]["output"]["value"] for m in made] == [here, "location_access"]
    # for a location: of the query or the body, the workflow's and the caller's
    client.post(f"{FLOWS}/{id}", {"allowed_locations": [here]}, expect=200)
    assert done[made[0]]["location_id"] is None
    run = ask(client, id, f"x?id={here}&location_id={here}", check=True, expect=202).data["id"]
    assert next(r for r in over(client, id, 3) if r["id"] == run)["location_id"] == here
    for where in (f"x?id=1&location_id={there}", "x?id=1&location_id=loc_x"):
        client.refused("POST", f"{FLOWS}/{id}/http/{where}", 403, "location_access")
    client.refused("POST", f"{FLOWS}/{id}/http/x", 403, "location_access", body={"location_id": there})


def test_what_is_kept(client, nobody):
    id = flow(client, "if request.query.bad then error('no') end return 1", {"path": "x"}, record={"runs": "errors"})
    ask(client, id, "x")
    assert client.get(f"{FLOWS}/{id}/runs").data == [] and client.get(f"{FLOWS}/{id}").data["last_run"]["status"] == "succeeded"
    ask(client, id, "x?bad=1", expect=400)
    assert [r["status"] for r in client.get(f"{FLOWS}/{id}/runs").data] == ["failed"] and client.get(f"{FLOWS}/{id}").data["last_run"]["status"] == "failed"


def test_callers_can_not_switch_a_workflow_off(client, nobody):
    """Whoever may call it sends what makes it fail, as often as they like: it is told, and goes on."""
    id = flow(client, "return request.json.items[1].sku", {"path": "x", "auth": "none"})
    for _ in range(25):
        ask(client, id, "x", expect=400, data=b"{}", headers={"Content-Type": "application/json"})
    row = client.get(f"{FLOWS}/{id}").data
    assert row["enabled"] is True and row["failure_streak"] == 0 and row["last_run"]["status"] == "failed"
    ask(client, id, "x", data=b'{"items": [{"sku": "A"}]}', headers={"Content-Type": "application/json"})


def test_publishing_makes_the_path(fresh, nobody):
    client = fresh.client()
    id = flow(client, "return 1", {"path": "x", "auth": "none"})
    ask(nobody, id, "x")
    client.post(f"{FLOWS}/{id}", {"triggers": [{"type": "http", "path": "y", "auth": "none"}]}, expect=200)
    ask(nobody, id, "x")  # drafts change nothing
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    nobody.refused("POST", f"{FLOWS}/{id}/http/x", 404, "workflow.no_such_path")
    ask(nobody, id, "y")
    client.post(f"{FLOWS}/{id}", {"triggers": [{"type": "http", "path": "y", "auth": "none", "enabled": False}]}, expect=200)
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    nobody.refused("POST", f"{FLOWS}/{id}/http/y", 404, "not_found")


def test_in_test_mode(fresh, nobody):
    client = fresh.client(test=True)
    id = flow(client, "local d, e = wharf.api.get('/v1/locations') return e or #d", {"path": "x", "auth": "none"}, scopes=["locations:read"])
    r = ask(nobody, id, "x")
    assert r.json()["data"] == 0 and r.headers["SVC-Mode"] == "test"


def test_a_body_has_to_fit(org):
    """With an input_schema no code sees a body that does not fit, and no run is made of it."""
    c = org.client()
    schema = {"type": "object", "required": ["order"], "properties": {"order": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer", "minimum": 1}}}}}
    source = "return {on_http = function(r) return {status = 200, body = {id = r.json and r.json.order and r.json.order.id, broken = r.json_error}} end}"
    body = {"name": "Fits", "source": source, "triggers": [{"type": "http", "path": "o", "methods": ["POST", "GET"], "auth": "none", "input_schema": schema}, {"type": "http", "path": "any", "auth": "none"}]}
    c.refused("POST", "/v1/workflows", 400, "workflow.trigger_invalid", None, body={**body, "triggers": [{"type": "http", "path": "o", "input_schema": {"type": "text"}}]})
    id = c.post("/v1/workflows", body, expect=201).data["id"]
    c.post(f"/v1/workflows/{id}/publish", {}, expect=200)

    def ask(text, path="o", method="POST", kind="application/json"):
        return requests.request(method, f"{org.server.base}/v1/workflows/{id}/http/{path}", data=text, headers={"Content-Type": kind}, timeout=WAIT)
    assert ask('{"order": {"id": 7}}').json() == ask('{"order": {"id": 7}}', kind="text/plain").json() == {"id": 7}
    for text, code, errors in (('{"order": {"id": 0}}', "validation.failed", ["body.order.id"]), ('{"order": {}}', "validation.failed", ["body.order.id"]), ("{", "body.malformed", []),
                               ("", "validation.failed", ["body"]), (b"\xff", "validation.failed", ["body"]), ("[]", "validation.failed", ["body"])):
        a = ask(text)
        assert (a.status_code, a.json()["code"], a.json()["errors"]) == (400, code, errors), (text, a.text)
    assert ask(None, method="GET").status_code == 200
    assert ask("{", path="any").json() == {"broken": "the body is no JSON; wharf.json.decode(request.body) tells where"} and ask("{", path="any", kind="text/plain").json() == {}
    assert len(c.get(f"/v1/workflows/{id}/runs").data) == 5
