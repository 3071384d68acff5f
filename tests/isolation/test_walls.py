"""Nobody sees or changes what is not theirs: over all routes, with keys of two organizations, two locations, every single scope and none.

What is walked is the served OpenAPI document; the rows are made after the definitions (walls.py). A new module is walked without a line here.
"""
import json
import re

import pytest
import requests

from receivers import Receivers
from walls import STREAMS, Walls
from wharf import MODULES, WAIT, Server, until


@pytest.fixture(scope="module")
def walls():
    s = Server("--modules", MODULES, "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true", "--set", "request_log.reads=true")
    web = Receivers()
    yield Walls(s, web)
    s.stop()


def operations(walls, method, who):
    """All for keys of every scope and of none; of a single scope its own and those that need none: the others are refused before anything else, which
    the key without a scope shows."""
    found = [p for p, ops in sorted(walls.openapi["paths"].items()) if method in ops and p.startswith("/v1")]
    if len(who.areas) != 1:
        return found
    return [p for p in found if (walls.openapi["paths"][p][method].get("x-scope") or ":").split(":")[0] in {"", *who.areas}]


def links(text):
    return re.findall(r'"(/v1/files/[^"]*)"', text)


def ask(who, method, path, body=None):
    kw = {} if body is None else {"json": body}
    return who.client.http.request(method, who.client.server.base + path, headers={"SVC-API-KEY": who.client.key}, timeout=WAIT, **kw)


def others_requests(who, r):
    """Lines of the request log but those of the key itself, and those of refused requests: they repeat the words of who asked."""
    own = who.client.get("/v1/auth").data["key"]["id"]
    data = r.json()["data"] or []
    return json.dumps([x for x in (data if isinstance(data, list) else [data]) if x["api_key_id"] != own and x["status"] < 400])


def told(problems):
    """The first of each kind: ids are left out where the same is seen with many."""
    kinds = {}
    for p in problems:
        kinds.setdefault(re.sub(r"_[0-9A-Za-z]{22}|mk\d+x\w+", "_", p.split(": …")[0].split(": ", 1)[1]), p)
    return f"{len(problems)} answers show too much, of {len(kinds)} kinds:\n" + "\n".join(list(kinds.values())[:60])


def test_each_token_is_found_in_a_text(walls):
    """What the tests below look for is seen wherever it stands, and nothing else is."""
    hidden = walls.hidden(min(walls.whos, key=lambda who: sum(who.sees(r) for r in walls.rows)))
    told = [(row, token) for row, tokens in hidden for token in tokens]
    assert len(told) > 100 and {t[:2] == "mk" for _, t in told} == {True, False}
    for row, token in told:
        assert [t for _, t in hidden.shown(f'"a_{token}mk__{token}_"')].count(token) == 2 and hidden.shown(token[:-1] + "-") == hidden.shown("_" + token[1:-1]) == []


def test_every_read_shows_only_what_the_key_may_see(walls):
    problems, asked = [], 0
    for who in walls.whos:
        hidden = walls.hidden(who)
        for path in operations(walls, "get", who):
            if STREAMS.search(path):
                continue
            for _, filled in walls.calls(path):
                lists = [filled] if filled != path or "{" in path else [filled, filled + "?limit=all", filled + "?include_data=true&limit=100"]
                for each in lists:
                    r = ask(who, "GET", each)
                    asked += 1
                    assert r.status_code < 500, (who.name, each, r.text)
                    try:
                        walls.check(who, each, others_requests(who, r) if each.startswith("/v1/request-logs") else r.text, hidden)
                        for url in links(r.text):
                            walls.check(who, url, requests.get(walls.server.base + url, timeout=WAIT).text, hidden)
                    except AssertionError as e:
                        problems.append(str(e))
    assert asked > 1000
    assert not problems, told(problems)


# ---- writes ----

def value_of(schema, who_else):
    """Something that the schema may take; ids are those of a row that the key may not see."""
    kind = schema.get("type")
    kind = next((t for t in kind if t != "null"), None) if isinstance(kind, list) else kind
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {k: value_of(v, who_else) for k, v in schema.get("properties", {}).items() if k in schema.get("required", ())}
    if kind == "array":
        return [value_of(schema.get("items", {}), who_else)] if schema.get("minItems") else []
    if schema.get("format") == "date-time":
        return "2020-01-01T00:00:00.000Z"
    return {"integer": schema.get("minimum", 1), "number": 1, "boolean": True}.get(kind, who_else)


def resolved(walls, schema):
    while "$ref" in schema:
        schema = walls.openapi["components"]["schemas"][schema["$ref"].split("/")[-1]]
    return schema


def bodies(walls, who, path, method, foreign):
    """An empty body, one that names rows that the key may not see wherever the resource refers to others, and one for each such field."""
    op = walls.openapi["paths"][path][method]
    yield {}
    content = op.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if not content:
        return
    schema = resolved(walls, content)
    body, own = value_of(schema, "x"), walls.places.get(next(iter(who.places or ()), None))
    named = {}
    for name, field in schema.get("properties", {}).items():
        many = "array" in str(field.get("type"))
        one = foreign.get(re.sub(r"_ids?$", "", name)) if name.endswith(("_id", "_ids")) else foreign.get(name) if many else None
        if one:
            named[name] = [one] if many else one
    if not isinstance(body, dict):
        yield {}
        return
    yield {**body, **named}
    for name, value in named.items():  # each alone, at a place of the key's own: nothing else is a reason to refuse it
        home = {n: [own] if n != "location_id" else own for n in ("location_id", "location_ids", "locations") if own and n in named and n != name}
        yield {**body, **home, name: value}


# Rows that change by themselves, and the answer by which a station application hears what its station is (spec 04 section 5): print_jobs:write is its scope.
BUSY = {"workflow_run", "outgoing_integration", "delivery", "event", "log", "print_job"}
SESSIONS = "/v1/cloud-printing/stations/{station_id}/sessions"


def foreign_ids(who, walls):
    """{"contact": id, "shipment_id": id, ...} of rows that the key may not see, by the names that fields have for them."""
    ids = {}
    for row, tokens in walls.hidden(who):
        if row.id in tokens or row.resource == "location" and not walls.reached(who, row):
            for name in (row.resource, row.resource + "s", row.resource.split("_")[-1]):
                ids.setdefault(name, row.id)
    for side in ("sender_contact", "recipient_contact", "parent"):
        ids.setdefault(side, ids.get("contact"))
    return {k: v for k, v in ids.items() if v}


def test_rows_are_left_alone_by_periodic_jobs(walls):
    """The test of writes compares rows over minutes: what a job writes into them meanwhile, it would take for a write of a key."""
    before = walls.state([row for row in walls.rows if row.resource not in BUSY])
    assert len(before) > 100
    walls.server.sql("UPDATE wharf.job_schedule SET next_at = wharf.now()")
    walls.server.sql("NOTIFY wharf_job")
    until(lambda: not walls.server.sql("SELECT 1 FROM wharf.job_schedule WHERE next_at <= wharf.now()"))
    until(lambda: not walls.server.sql("SELECT 1 FROM wharf.job j JOIN wharf.job_schedule USING (queue) WHERE j.state <> 'delayed'"))
    until(lambda: not walls.server.sql("SELECT id FROM documents.unread(false, 9) UNION SELECT id FROM documents.unread(true, 9)"), "the job that reads documents has not run")
    assert walls.server.sql("SELECT 1 FROM documents.document WHERE words_file_id IS NOT NULL"), "no document has words: the job had nothing to do"
    assert not walls.changed(before)


def test_no_write_reaches_what_the_key_may_not_see(walls):
    problems, asked = [], 0
    for who in walls.whos:
        hidden, foreign = walls.hidden(who), foreign_ids(who, walls)
        unseen = {row.id for row, tokens in hidden}
        before = walls.state([row for row, tokens in hidden if row.id in tokens and row.resource not in BUSY])
        for method in ("post", "delete", "put", "patch"):
            for path in operations(walls, method, who):
                for rows, filled in walls.calls(path):
                    if rows and not any(r.id in unseen for r in rows):
                        continue  # a row of the key's own
                    if method != "post":
                        sent = [None]
                    else:
                        sent = list(bodies(walls, who, path, method, foreign))
                    for body in sent:
                        r = ask(who, method.upper(), filled, body)
                        asked += 1
                        if r.status_code >= 500:
                            problems.append(f"{who.name}: {method} {filled} {body}: {r.text[:200]}")
                        if r.status_code < 300 and body and any(id in json.dumps(body) for id in foreign.values()):
                            problems.append(f"{who.name}: {method} {filled} {body}: links to a row that the key may not see: {r.text[:200]}")
                        if path == SESSIONS and r.status_code == 201:
                            continue
                        try:
                            walls.check(who, filled + json.dumps(body), r.text, hidden)
                        except AssertionError as e:
                            problems.append(f"{method} " + str(e))
        changed = walls.changed(before)
        if changed:
            problems.append(f"{who.name}: changed: {changed}")
    assert asked > 1000
    assert not problems, told(problems)


def test_the_admin_listener_has_no_api(walls):
    """It is plain HTTP, beside the operator's hooks: only the probes and the metrics are there."""
    key = {"SVC-API-KEY": walls.admin["one"].key}
    for path in ("/livez", "/readyz", "/healthz", "/metrics"):
        assert requests.get(walls.server.admin + path, timeout=WAIT).status_code == 200, path
    for path, ops in walls.openapi["paths"].items():
        for method in ops:
            if path in ("/livez", "/readyz", "/healthz", "/metrics"):
                continue
            r = requests.request(method.upper(), walls.server.admin + re.sub(r"\{\w+\}", "x", path), headers=key, timeout=WAIT)
            assert (r.status_code, r.json()["code"]) == (404, "route.not_found"), (method, path, r.text)
    assert requests.options(walls.server.admin + "/v1/contacts", timeout=WAIT).status_code == 404
