"""Sends thousands of requests that are made from the document alone: none ends in 5xx, and each answer is valid by the document (Client.checked).
Then the statuses that the document promises for all operations of a kind are asked for: 401, 403, 404, 412, 413, 415, 422, 429."""
import collections
import json
import os
import urllib.parse

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import stories
from wharf import Answer, Client, Server

# Requests that are sent. A newcomer's run sends fewer.
REQUESTS = 2000 if os.environ.get("WHARF_TEST_NEWCOMER") else 20000
AN_ID = "\x1fid "  # a text that begins with this stands for an id that an answer showed: filled()
NOBODYS = "none_0000000000000000000000"  # an id that no row has
PLAIN = {"/v1/openapi.json", "/livez", "/readyz", "/healthz"}
# The clock would let keys expire; hooks loaded anew are of the whole server; without its organization the caller can't go on.
LEFT_OUT = {"update_clock", "reload_lua_hooks", "delete_organization"}
TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(["", " ", "a", "Ann", "null", "true", "0", "-1", "1e400", "王", "é", "%", "'", "\\", "\u202e", "x" * 300, "2026-01-01T00:00:00Z", "2026-01-01",
                                                          "gte:2026-01-01T00:00:00Z", "!eq:1", "in:", "a,b", "1Z999AA10123456784"]))
ANYTHING = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(-(2 ** 54), 2 ** 54), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
                        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)), max_leaves=6)


class Values:
    """Strategies of values that a schema takes, or nearly."""

    def __init__(self, document):
        self.document, self.made = document, {}

    def of(self, schema, depth=0):
        """Made once for each schema: making strategies took longer than the requests."""
        key = json.dumps(schema, sort_keys=True), depth
        if key not in self.made:
            self.made[key] = self.new(schema, depth)
        return self.made[key]

    def new(self, schema, depth):
        schema = self.document.whole(schema) if isinstance(schema, dict) else {}
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
        ids = st.integers(0, 999).map(lambda n: f"{AN_ID}{n}")  # of a row, see filled()
        return st.one_of(st.text(min_size=schema.get("minLength", 0), max_size=max(schema.get("minLength", 0), min(schema.get("maxLength", 20), 20))), TEXTS, ids)

    def object(self, schema, depth):
        required = set(schema.get("required", ()))
        members = {k: self.of(v, depth + 1) for k, v in schema.get("properties", {}).items()}
        made = st.fixed_dictionaries({k: v for k, v in members.items() if k in required}, optional={k: v for k, v in members.items() if k not in required})
        if not members:
            return st.dictionaries(st.text(min_size=1, max_size=10), ANYTHING, max_size=3)
        def few(o):  # by name: hypothesis reads the source of each lambda that it meets
            def of_these(kept):
                return {k: v for k, v in o.items() if k in required or k in kept}
            return st.just(o) if len(o) <= len(required) + 4 else st.sets(st.sampled_from(sorted(set(o) - required)), max_size=4).map(of_these)
        return made.flatmap(few)


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
        self.server, self.document = server, stories.Document(server)
        self.org = server.organization(name)
        self.known = collections.defaultdict(set)
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

    def streams(self, name):
        return any("text/event-stream" in self.document.answer(name, status) for status in self.document.operations[name][2]["responses"])

    def without_key(self, name):
        """Tells whether the operation takes no key."""
        return self.document.operations[name][2].get("security") == []

    def key_of(self, name):
        """The key that reaches the operation: for those of the server itself, the operator's."""
        return self.server.demo_key if self.document.operations[name][2].get("x-scope", "").startswith("system:") else self.client.key

    def body_of_example(self, name):
        """The body of the operation's example, or None."""
        content = self.document.operations[name][2].get("requestBody", {}).get("content", {})
        return content.get("application/json", {}).get("example")

    def parameters(self, name, place):
        return [p for (where, _), p in self.document.parameters(name).items() if where == place]

    def ids(self, parameter):
        return sorted(self.known.get(parameter.get("x-id-of"), ()))

    def path(self, name, id=NOBODYS, draw=None):
        """The path of the operation. id: stands for each of its ids; None: the first known one. draw: each is known, or nobody's, as is drawn."""
        path = self.document.operations[name][1]
        for p in self.parameters(name, "path"):
            known, n = self.ids(p), draw(st.integers(0, 999)) if draw else 0
            if draw and known and n % 3:
                value = known[n % len(known)]
            else:
                value = id or (known or ["none"])[0]
            path = path.replace("{" + p["name"] + "}", value)
        return path

    def send(self, name, path, body=None, data=None, headers=None, key=None):
        method = self.document.operations[name][0]
        client = self.client if key is None else Reader(self.server, key)
        answer = client.request(method, path, body=body, data=data, headers=headers, key=bool(client.key) and not self.without_key(name))
        assert answer.status < 500, f"{method} {path} {json.dumps(body)[:1500]} {headers}: {answer!r}"
        if answer.body and answer.status < 300:
            self.learn(answer.data)
        if answer.status == 401 and key is None:
            self.renew()
        return answer


def encoded(value):
    return urllib.parse.quote(stories.in_query(value), safe="")


@pytest.fixture(scope="module")
def server():
    s = Server("--test-clock", limits=False)
    yield s
    s.stop()


def begun(server, name):
    """Makes a caller whose organization has the rows of the examples that need no other row in their path."""
    c = Caller(server, name)
    assert LEFT_OUT <= c.document.operations.keys()
    for name in [n for n in c.document.operations if n.startswith("create_")]:
        if c.body_of_example(name) and not c.parameters(name, "path"):
            c.send(name, c.path(name), body=c.body_of_example(name))
    return c


@pytest.fixture(scope="module")
def caller(server):
    return begun(server, "Caller")


def test_many_requests(server):
    caller = begun(server, "Many")  # whose settings and keys may be changed by any of them
    names = sorted(n for n in caller.document.operations if n not in LEFT_OUT and not caller.streams(n))
    values, sent = Values(caller.document), collections.Counter()

    @settings(max_examples=REQUESTS, deadline=None, derandomize=True, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.data())
    def one(data):
        name = data.draw(st.sampled_from(names))
        path = caller.path(name, draw=data.draw)
        pairs, ids = [], sorted(set().union(*caller.known.values())) or ["none"]
        for p in caller.parameters(name, "query"):
            if data.draw(st.integers(0, 9)) == 0 and p["name"] != "fields":
                value = data.draw(st.one_of(values.of(p["schema"]), TEXTS))
                pairs.append(f"{p['name']}={encoded(filled(value, ids))}")
        body = caller.document.operations[name][2].get("requestBody")
        content = body and next(iter(body["content"].items()))
        kw = {}
        if content and content[0] == "application/json":
            value = values.of(content[1]["schema"])
            kw["body"] = filled(data.draw(st.one_of(value, value, value, ANYTHING)), ids)
        elif content:
            kw["data"], kw["headers"] = data.draw(st.binary(max_size=50)), {"Content-Type": content[0]}
        answer = caller.send(name, path + ("?" + "&".join(pairs) if pairs else ""), **kw)
        sent[answer.status] += 1

    one()
    assert sum(sent.values()) >= REQUESTS * 0.99, sent
    assert sent[200] > REQUESTS / 20 and sent[400] > REQUESTS / 20, sent


def promised(caller, status, streams=False):
    """Names of the operations that may answer with the status by the document, of those that take a key for 401 and 429. A stream that is refused ends at once."""
    return [n for n, (_, _, o) in caller.document.operations.items() if status in o["responses"] and (streams or not caller.streams(n))
            and (o.get("security") is None or status not in ("401", "429"))]


def test_no_key(caller):
    names = promised(caller, "401", streams=True)
    assert len(names) > 200
    for name in names:
        assert caller.send(name, caller.path(name), key="").status == 401, name
        assert caller.send(name, caller.path(name), key="wh_live_" + "0" * 38).status == 401, name


def test_no_scope(caller):
    """A key without any scope."""
    bare = caller.client.post("/v1/api-keys", {"name": "bare", "scopes": {}}, expect=201).data["api_key"]
    names = [n for n in promised(caller, "403", streams=True) if "x-scope" in caller.document.operations[n][2]]
    assert len(names) > 200
    for name in names:
        answer = caller.send(name, caller.path(name), key=bare)
        assert (answer.status, answer.code) == (403, "scope_access"), (name, answer)


def test_other_addresses(caller):
    """A key that may be used from elsewhere only."""
    bound = caller.client.post("/v1/api-keys", {"name": "elsewhere", "ip_allowlist": ["203.0.113.7"], "scopes": {}}, expect=201)
    for name in [n for n in promised(caller, "403", streams=True) if caller.document.operations[n][2].get("security") is None]:
        answer = caller.send(name, caller.path(name), key=bound.data["api_key"])
        assert (answer.status, answer.code) == (403, "ip_access"), (name, answer)


def test_malformed_heads(caller):
    """Two hosts in one request, and a body that is packed as nobody unpacks it."""
    for name in promised(caller, "400", streams=True):
        head = f"{caller.document.operations[name][0]} {caller.path(name)} HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 0\r\n\r\n"
        assert caller.client.raw(head.encode())[0] == 400, name
    for name in [n for n in promised(caller, "415") if not caller.without_key(n)]:
        head = (f"{caller.document.operations[name][0]} {caller.path(name)} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {caller.client.key}\r\nContent-Type: {caller.document.body_type(name) or 'application/json'}"
                "\r\nContent-Encoding: br\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        assert caller.client.raw(head.encode())[0] in (415, 403), name


def test_no_row(caller):
    """An id that is nobody's, in the path."""
    names = [n for n in promised(caller, "404", streams=True) if caller.parameters(n, "path") and n not in LEFT_OUT and not caller.without_key(n)]
    assert len(names) > 100
    wrong = []
    for name in names:
        example, type = caller.body_of_example(name), caller.document.body_type(name)
        answer = caller.send(name, caller.path(name), body=example, data=b"x" if type not in (None, "application/json") else None, headers={"Content-Type": type} if type else None)
        if answer.status != 404 and not (answer.status == 400 and (example is None and type or answer.code == "validation.failed")):
            wrong.append((name, answer))
    assert not wrong, "\n".join(map(str, wrong))


def test_bodies_that_are_refused(caller):
    """Too large, of another type, no JSON."""
    names = [n for n in promised(caller, "415") if caller.document.body_type(n) == "application/json"]
    assert len(names) > 80
    for name in names:
        method, at, key = caller.document.operations[name][0], caller.path(name), caller.key_of(name)
        assert caller.send(name, at, data=b"<x/>", headers={"Content-Type": "text/xml"}, key=key).status == 415, name
        assert caller.send(name, at, data=b"{", headers={"Content-Type": "application/json"}, key=key).code == "body.malformed", name
        head = f"{method} {at} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {key}\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n"
        status, _, _ = caller.client.raw(head.encode())
        assert status == 413, (name, status)
    for name in promised(caller, "413"):  # a length that is no number of bytes
        head = f"{caller.document.operations[name][0]} {caller.path(name)} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {caller.client.key}\r\nContent-Length: {'9' * 25}\r\n\r\n"
        status, _, _ = caller.client.raw(head.encode())
        assert status == 413, (name, status)


def closed(document, schema):
    """Tells whether the schema is of an object whose members all have names."""
    schema = document.whole(schema)
    forms = schema.get("anyOf") or schema.get("oneOf")
    if forms:
        return all(closed(document, form) for form in forms)
    return "properties" in schema and not schema.get("additionalProperties")


def test_unknown_names(caller):
    """Prefer: handling=strict refuses a member that the document does not name, in each body."""
    reached, wrong = set(), []
    for name, (method, _, operation) in caller.document.operations.items():
        example = caller.body_of_example(name)
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if name in LEFT_OUT or caller.without_key(name) or not isinstance(example, dict) or not closed(caller.document, schema):
            continue
        answer = caller.send(name, caller.path(name, id=None), body=example | {"nonsense": 1}, headers={"Prefer": "handling=strict"})
        if answer.status == 400 and "nonsense" in answer.errors:
            reached.add(name)
        elif answer.status not in (403, 404):
            wrong.append((name, answer))
    assert not wrong, "\n".join(map(str, wrong))
    assert len(reached) > 80, reached


def objects_within(document, schema, value, path=()):
    """(path, schema) of the objects inside of a body that stand where the document describes one whose members all have names."""
    schema = document.whole(schema or {})
    forms = schema.get("anyOf") or schema.get("oneOf") or [schema]
    for form in map(document.whole, forms):
        if isinstance(value, dict):
            if path and len(forms) - (({"type": "null"}) in forms) == 1 and "properties" in form and not form.get("additionalProperties"):
                yield path
            for k, v in value.items():
                yield from objects_within(document, form.get("properties", {}).get(k), v, (*path, k))
        elif isinstance(value, list):
            for i, v in enumerate(value[:1]):
                yield from objects_within(document, form.get("items"), v, (*path, i))


def with_nonsense(value, path):
    """A copy of the value whose object at the path has a member more."""
    if not path:
        return value | {"nonsense": 1}
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[path[0]] = with_nonsense(copy[path[0]], path[1:])
    return copy


def test_unknown_names_within(caller):
    """The same for objects inside of bodies: lines, addresses, settings."""
    reached, wrong = set(), []
    for name, (_, _, operation) in caller.document.operations.items():
        example = caller.body_of_example(name)
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if name in LEFT_OUT or caller.without_key(name) or not isinstance(example, dict):
            continue
        for path in dict.fromkeys(objects_within(caller.document, schema, example)):
            at = ".".join(map(str, path))
            answer = caller.send(name, caller.path(name, id=None), body=with_nonsense(example, path), headers={"Prefer": "handling=strict"}, key=caller.key_of(name))
            if answer.status == 400 and any(e == f"{at}.nonsense" or e.endswith(".nonsense") for e in answer.errors):
                reached.add((name, at))
            elif answer.status not in (403, 404):
                wrong.append((name, at, answer))
    assert not wrong, "\n".join(map(str, wrong))
    assert len(reached) > 40, reached


def test_unknown_parameters(caller):
    """Prefer: handling=strict refuses a parameter that the document does not name, in each operation."""
    names = [n for n, (_, _, o) in caller.document.operations.items() if n not in LEFT_OUT and ("header", "prefer") in caller.document.parameters(n)
             and not caller.without_key(n) and not o.get("x-scope", "").startswith("system:")]
    assert len(names) > 250
    wrong = []
    for name in names:
        type = caller.document.body_type(name)
        answer = caller.send(name, caller.path(name, id=None) + "?nonsense=1", body=caller.body_of_example(name), data=b"x" if type not in (None, "application/json") else None,
                             headers={"Prefer": "handling=strict"} | ({"Content-Type": type} if type else {}))
        if (answer.code, answer.errors) != ("param.invalid", ["nonsense"]):
            wrong.append((name, answer))
    assert not wrong, "\n".join(map(str, wrong))


def test_old_versions(caller):
    """If-Match with a version that the row never had."""
    reached, wrong = set(), []
    for name in promised(caller, "412"):
        method = caller.document.operations[name][0]
        places = caller.parameters(name, "path")
        for id in caller.ids(places[0]) if len(places) == 1 else ():
            answer = caller.send(name, caller.path(name, id), body={} if method == "POST" else None, headers={"If-Match": '"v999999-0000000000000000000000"'})
            if answer.status == 412:
                reached.add(name)
            elif answer.status not in (400, 403, 404, 409):
                wrong.append((name, answer))
    assert not wrong, "\n".join(map(str, wrong))
    assert len(reached) >= 15, reached


def test_reused_keys(caller):
    """An Idempotency-Key of another request."""
    key = os.urandom(8).hex()
    assert caller.send("create_group", caller.path("create_group"), body={"name": key, "resource": "contact"}, headers={"Idempotency-Key": key}).status == 201
    operator = caller.server.demo_key
    assert caller.send("create_group", caller.path("create_group"), body={"name": key, "resource": "contact"}, headers={"Idempotency-Key": key}, key=operator).status == 201
    wrong = []
    for name in promised(caller, "422"):
        type = caller.document.body_type(name)
        answer = caller.send(name, caller.path(name), key=caller.key_of(name), body=caller.body_of_example(name), data=b"x" if type not in (None, "application/json") else None,
                             headers={"Idempotency-Key": key} | ({"Content-Type": type} if type else {}))
        if answer.code != "idempotency.key_reused":
            wrong.append((name, answer))
    assert not wrong, "\n".join(map(str, wrong))


def test_limits_are_told():
    """With limits as shipped, any operation that asks for a key answers 429 with Retry-After at last."""
    with_limits = Server("--test-clock", "--set", "rate_limit.key=1", "--set", "rate_limit.key_burst=1", limits=True)
    try:
        caller = Caller(with_limits, "Hurried")
        for name in promised(caller, "429", streams=True):
            for _ in range(20):
                answer = caller.send(name, caller.path(name))
                if answer.status == 429:
                    break
            assert answer.status == 429 and int(answer.headers["Retry-After"]) >= 1 and answer.code == "rate_limited", name
    finally:
        with_limits.stop()
