"""Requests made from the document alone, thousands of them: none ends in 5xx, each answer is valid by the document (Client.checked), and the statuses
that the document promises for any operation of a kind are reached: 401, 403, 404, 412, 413, 415, 422, 429."""
import collections
import json
import os
import pathlib
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))
from wharf import Answer, Client, Server  # noqa: E402

# Requests that are sent. A newcomer's run sends fewer.
REQUESTS = 2000 if os.environ.get("WHARF_TEST_NEWCOMER") else 8000
SHARED = {"BadRequest", "Unauthorized", "Forbidden", "NotFound", "PreconditionFailed", "TooLarge", "UnsupportedMediaType", "Unprocessable", "TooManyRequests"}
# The clock would let keys expire; these end what the caller stands on; streams do not end.
AN_ID = "\x1fid "
PLAIN = {"/v1/openapi.json", "/livez", "/readyz", "/healthz"}
LEFT_OUT = {"update_clock", "retrieve_clock", "reload_lua_hooks", "list_lua_hooks", "delete_organization"}


class Document:
    def __init__(self, openapi):
        self.openapi = openapi
        self.operations = {o["operationId"]: (method.upper(), path, o) for path, methods in openapi["paths"].items() for method, o in methods.items()}

    def at(self, node):
        while "$ref" in node:
            target = self.openapi
            for part in node["$ref"][2:].split("/"):
                target = target[part]
            node = target
        return node

    def parameters(self, operation, where):
        return [p for p in map(self.at, operation["parameters"]) if p["in"] == where]

    def streams(self, operation):
        return any("text/event-stream" in self.at(a).get("content", {}) for a in operation["responses"].values())


TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(["", " ", "a", "Ann", "null", "true", "0", "-1", "1e400", "王", "é", "%", "'", "\\", "\u202e", "x" * 300, "2026-01-01T00:00:00Z", "2026-01-01",
                                                          "gte:2026-01-01T00:00:00Z", "!eq:1", "in:", "a,b", "1Z999AA10123456784"]))
ANYTHING = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(-(2 ** 54), 2 ** 54), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
                        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)), max_leaves=6)


class Values:
    """Strategies of values that a schema takes, or nearly."""

    def __init__(self, document, known):
        self.document, self.known = document, known

    def of(self, schema, depth=0):
        schema = self.document.at(schema) if isinstance(schema, dict) else {}
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return st.one_of([self.of(s, depth) for s in schema[key]])
        if "allOf" in schema:
            return self.of(schema["allOf"][0], depth)
        if "const" in schema:
            return st.just(schema["const"])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        types = schema.get("type", "object" if "properties" in schema else None)
        return st.one_of([self.plain(schema, t, depth) for t in (types if isinstance(types, list) else [types])])

    def plain(self, schema, kind, depth):
        if kind == "string":
            return self.text(schema)
        if kind == "integer":
            return st.integers(schema.get("minimum", -5), schema.get("maximum", schema.get("minimum", 0) + 1000))
        if kind == "number":
            return st.floats(schema.get("minimum", -5), schema.get("maximum", 1e6), allow_nan=False) if schema.get("minimum", 0) <= 1e6 else st.just(schema["minimum"])
        if kind == "boolean":
            return st.booleans()
        if kind == "null":
            return st.none()
        if kind == "array":
            return st.lists(self.of(schema.get("items", {}), depth + 1), min_size=min(schema.get("minItems", 0), 3), max_size=min(schema.get("maxItems", 3), 3)) if depth < 4 else st.just([])
        if kind == "object" and depth < 4:
            return self.object(schema, depth)
        return ANYTHING

    def text(self, schema):
        forms = {"date-time": st.sampled_from(["2026-03-01T09:00:00Z", "2031-01-01T00:00:00.000Z"]), "email": st.sampled_from(["ann@example.com", "bob@example.org"]),
                 "uri": st.sampled_from(["https://example.com/x", "http://192.0.2.1/"])}
        if schema.get("format") in forms:
            return forms[schema["format"]]
        if "pattern" in schema:
            try:
                return st.from_regex(schema["pattern"], fullmatch=False).filter(lambda s: len(s) <= schema.get("maxLength", 1000))
            except Exception:  # a pattern of another dialect
                return TEXTS
        ids = st.integers(0, 999).map(lambda n: f"{AN_ID}{n}")  # one that an answer showed: see filled()
        return st.one_of(st.text(min_size=schema.get("minLength", 0), max_size=max(schema.get("minLength", 0), min(schema.get("maxLength", 20), 20))), TEXTS, ids)

    def object(self, schema, depth):
        required = set(schema.get("required", ()))
        members = {k: self.of(v, depth + 1) for k, v in schema.get("properties", {}).items()}
        made = st.fixed_dictionaries({k: v for k, v in members.items() if k in required}, optional={k: v for k, v in members.items() if k not in required})
        if not members:
            return st.dictionaries(st.text(min_size=1, max_size=10), ANYTHING, max_size=3)
        return made.flatmap(lambda o: st.just(o) if len(o) <= len(required) + 4 else st.sets(st.sampled_from(sorted(set(o) - required)), max_size=4).map(
            lambda kept: {k: v for k, v in o.items() if k in required or k in kept}))


class Reader(Client):
    """Checks the answers that are JSON; bytes, streams and text as they are."""

    def checked(self, method, path, r, sent):
        return super().checked(method, path, r, sent) if r.headers.get("Content-Type", "").startswith("application/json") and path.split("?")[0] not in PLAIN else Answer(r, None)


def filled(value, ids):
    """The value with ids that answers showed, where the strategy asked for some; what is known must not change what is drawn."""
    if isinstance(value, str):
        return ids[int(value[len(AN_ID):]) % len(ids)] if value.startswith(AN_ID) else value
    if isinstance(value, list):
        return [filled(v, ids) for v in value]
    return {k: filled(v, ids) for k, v in value.items()} if isinstance(value, dict) else value


class Caller:
    """An organization whose keys send what the document says; ids that answers showed are used again."""

    def __init__(self, server, name):
        self.server, self.document = server, Document(server.openapi)
        self.org = server.organization(name)
        self.known = collections.defaultdict(set)
        self.values = Values(self.document, self.known)
        self.reached = collections.defaultdict(set)
        self.renew()

    def renew(self):
        self.client = Reader(self.server, self.org.key())

    def learn(self, value):
        if isinstance(value, dict):
            if isinstance(value.get("object"), str) and isinstance(value.get("id"), str) and len(self.known[value["object"]]) < 40:
                self.known[value["object"]].add(value["id"])
            for v in value.values():
                self.learn(v)
        elif isinstance(value, list):
            for v in value[:10]:
                self.learn(v)

    def path(self, path, operation, draw=None, other="none_0000000000000000000000"):
        for p in self.document.parameters(operation, "path"):
            ids = sorted(self.known.get(p.get("x-id-of"), ()))
            n = draw(st.integers(0, 999)) if draw else 0
            value = (other if n % 3 == 0 else ids[n % len(ids)]) if draw and ids else ids[0] if ids and other is None else other or "none"
            path = path.replace("{" + p["name"] + "}", value)
        return path

    def send(self, name, path, body=None, data=None, headers=None, key=None):
        method, _, operation = self.document.operations[name]
        client = self.client if key is None else Reader(self.server, key)
        answer = client.request(method, path, body=body, data=data, headers=headers, key=bool(client.key) and operation.get("security") != [])
        self.reached[name].add(answer.status)
        assert answer.status < 500, f"{method} {path} {json.dumps(body)[:1500]} {headers}: {answer!r}"
        if answer.body and answer.status < 300:
            self.learn(answer.data)
        if answer.status == 401 and key is None:
            self.renew()
        return answer


def encoded(value):
    from urllib.parse import quote
    if isinstance(value, bool):
        value = "true" if value else "false"
    return quote(",".join(map(str, value)) if isinstance(value, list) else str(value), safe="")


@pytest.fixture(scope="module")
def server():
    s = Server("--test-clock", limits=False)
    yield s
    s.stop()


@pytest.fixture(scope="module")
def caller(server):
    c = Caller(server, "Caller")
    examples = {name: self for name, (_, _, o) in c.document.operations.items() for self in [o.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")] if self}
    for name in [n for n in c.document.operations if n.startswith("create_")]:  # what others refer to
        _, path, operation = c.document.operations[name]
        if name in examples and not c.document.parameters(operation, "path"):
            c.send(name, path, body=examples[name])
    return c


def usable(caller):
    return sorted(n for n, (_, _, o) in caller.document.operations.items() if n not in LEFT_OUT and not caller.document.streams(o))


def test_many_requests(caller):
    names = usable(caller)
    sent = collections.Counter()

    @settings(max_examples=REQUESTS, deadline=None, derandomize=True, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.data())
    def one(data):
        name = data.draw(st.sampled_from(names))
        method, path, operation = caller.document.operations[name]
        path = caller.path(path, operation, data.draw)
        pairs, ids = [], sorted(set().union(*caller.known.values())) or ["none"]
        for p in caller.document.parameters(operation, "query"):
            if data.draw(st.integers(0, 9)) == 0 and not (p["name"] == "fields"):
                value = data.draw(st.one_of(caller.values.of(p["schema"]), TEXTS))
                pairs.append(f"{p['name']}={encoded(filled(value, ids))}")
        body = operation.get("requestBody")
        content = body and next(iter(body["content"].items()))
        kw = {}
        if content and content[0] == "application/json":
            value = caller.values.of(content[1]["schema"])
            kw["body"] = filled(data.draw(st.one_of(value, value, value, ANYTHING)), ids)
        elif content:
            kw["data"], kw["headers"] = data.draw(st.binary(max_size=50)), {"Content-Type": content[0]}
        answer = caller.send(name, path + ("?" + "&".join(pairs) if pairs else ""), **kw)
        sent[answer.status] += 1

    one()
    assert sum(sent.values()) >= REQUESTS * 0.99, sent
    assert sent[200] > REQUESTS / 20 and sent[400] > REQUESTS / 20, sent


def promised(caller, response):
    """Operations whose document has the shared answer, or one of its status with the codes of the platform."""
    status = {"Unauthorized": "401", "Forbidden": "403", "NotFound": "404", "PreconditionFailed": "412", "TooLarge": "413", "UnsupportedMediaType": "415", "Unprocessable": "422", "BadRequest": "400",
              "TooManyRequests": "429"}[response]
    return [n for n, (_, _, o) in caller.document.operations.items() if status in o["responses"] and not caller.document.streams(o)
            and (o.get("security") is None or response not in ("Unauthorized", "TooManyRequests"))]


def test_no_key(caller):
    names = promised(caller, "Unauthorized")
    assert len(names) > 200
    for name in names:
        method, path, operation = caller.document.operations[name]
        assert caller.send(name, caller.path(path, operation), key="").status == 401, name
        assert caller.send(name, caller.path(path, operation), key="wh_live_" + "0" * 38).status == 401, name


def test_no_scope(caller):
    """A key without any scope."""
    bare = caller.client.post("/v1/api-keys", {"name": "bare", "scopes": {}}, expect=201).data["api_key"]
    for name in promised(caller, "Forbidden"):
        method, path, operation = caller.document.operations[name]
        if "x-scope" in operation:
            answer = caller.send(name, caller.path(path, operation), key=bare)
            assert (answer.status, answer.code) == (403, "scope_access"), (name, answer)


def test_no_row(caller):
    """An id that is nobody's, in the path."""
    wrong = []
    for name in promised(caller, "NotFound"):
        method, path, operation = caller.document.operations[name]
        if "{" not in path or name in LEFT_OUT or operation.get("security") == []:
            continue
        content = operation.get("requestBody", {}).get("content", {})
        example = content.get("application/json", {}).get("example")
        answer = caller.send(name, caller.path(path, operation), body=example, data=None if example is not None or not content or "application/json" in content else b"x",
                             headers={"Content-Type": next(iter(content))} if content else None)
        if answer.status != 404 and not (answer.status == 400 and (example is None and content or answer.code == "validation.failed")):
            wrong.append((name, answer))
    assert not wrong, wrong


def test_bodies_that_are_refused(caller):
    """Too large, of another type, no JSON."""
    for name in promised(caller, "UnsupportedMediaType"):
        method, path, operation = caller.document.operations[name]
        if name in LEFT_OUT or "application/json" not in operation.get("requestBody", {}).get("content", {}):
            continue
        at = caller.path(path, operation)
        assert caller.send(name, at, data=b"<x/>", headers={"Content-Type": "text/xml"}).status == 415, name
        assert caller.send(name, at, data=b"{", headers={"Content-Type": "application/json"}).code == "body.malformed", name
        head = f"{method} {at} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {caller.client.key}\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n"
        status, _, _ = caller.client.raw(head.encode())
        assert status == 413, (name, status)
        caller.reached[name].add(413)


def test_old_versions_and_reused_keys(caller):
    for name in promised(caller, "PreconditionFailed"):
        method, path, operation = caller.document.operations[name]
        ids = [sorted(caller.known.get(p.get("x-id-of"), ())) for p in caller.document.parameters(operation, "path")]
        if ids and all(ids) and caller.document.operations.get(name.replace("update_", "retrieve_").replace("delete_", "retrieve_")):
            answers = [caller.send(name, path.replace("{" + caller.document.parameters(operation, "path")[-1]["name"] + "}", i), body={} if method == "POST" else None,
                                   headers={"If-Match": '"v999999-0000000000000000000000"'}).status for i in ids[-1] if path.count("{") == 1]
            assert not answers or 412 in answers or set(answers) <= {404, 403, 400, 409}, (name, answers)
    for name in promised(caller, "Unprocessable"):
        method, path, operation = caller.document.operations[name]
        key = os.urandom(8).hex()
        at = caller.path(path, operation, other=None)
        example = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
        first = caller.send(name, at, body=example, headers={"Idempotency-Key": key})
        if first.status < 300:
            assert caller.send(name, at + "?x=1", body=example, headers={"Idempotency-Key": key}).status == 422, name


def test_limits_are_told():
    """With limits as shipped, any operation that asks for a key answers 429 with Retry-After at last."""
    with_limits = Server("--test-clock", "--set", "rate_limit.key=1", "--set", "rate_limit.key_burst=1", limits=True)
    try:
        caller = Caller(with_limits, "Hurried")
        for name in promised(caller, "TooManyRequests"):
            method, path, operation = caller.document.operations[name]
            for _ in range(20):
                answer = caller.send(name, caller.path(path, operation))
                if answer.status == 429:
                    break
            assert answer.status == 429 and int(answer.headers["Retry-After"]) >= 1 and answer.code == "rate_limited", name
    finally:
        with_limits.stop()
