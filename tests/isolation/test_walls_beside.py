"""Nobody hears what is not theirs beside plain answers: single scopes at all operations, live streams, exports, files, deliveries, filters.

What is asked follows from the served OpenAPI document and the definitions, as in test_walls.py, whose world this is.
"""
import contextlib
import gzip
import http.client
import io
import json
import os
import re
import socket
import threading
import urllib.parse
import zipfile

import pytest
import requests

from receivers import until
from test_walls import links, others_requests, told, walls  # noqa: F401
from walls import DEFINITIONS, Row, Who, resources
from wharf import WAIT, Client


def operations(walls):
    for path, ops in sorted(walls.openapi["paths"].items()):
        for method, op in ops.items():
            if isinstance(op, dict) and "responses" in op and path.startswith("/v1"):
                yield path, method, op


# ---- single scopes ----

def allows(scope, needed):
    area, level = scope.split(":")
    return needed.split(":")[0] == area and (level == "write" or needed.endswith(":read"))


def test_a_single_scope_opens_its_own_operations_only(walls):
    """Every scope alone at every operation that needs another: 403, before anything else is looked at."""
    asked, problems = 0, []
    server = urllib.parse.urlsplit(walls.server.base)
    todo = [(next(iter(walls.calls(path)))[1], method, op["x-scope"]) for path, method, op in operations(walls) if op.get("x-scope")]
    for scope in sorted(walls.scopes() - {"system:read", "system:write"}):
        key = walls.orgs["one"].client(scope).key
        http_ = http.client.HTTPConnection(server.hostname, server.port, timeout=WAIT)
        for path, method, needed in todo:
            if allows(scope, needed):
                continue
            http_.request(method.upper(), path, headers={"SVC-API-KEY": key})
            r = http_.getresponse()
            body = json.loads(r.read())
            asked += 1
            if (r.status, body.get("code")) != (403, "scope_access") or needed not in body["errors"]:
                problems.append(f"{scope}: {method} {path} needs {needed}: {r.status} {body.get('code')} {body.get('errors')}")
        http_.close()
    assert asked > 5000
    assert not problems, told(problems)


# ---- files ----

def plain(content):
    """The text of a file, also inside of gzip and zip."""
    if content[:2] == b"\x1f\x8b":
        return plain(gzip.decompress(content))
    if content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as z:
            return "\n".join(plain(z.read(n)) for n in z.namelist())
    return content.decode("utf-8", "replace")


def every_include(op):
    names = [p["name"] for p in op.get("parameters", []) if str(p.get("name", "")).startswith("include_")]
    return "&".join(f"{n}=true" for n in names)


def batch_with_files(walls):
    """A batch that the key of one place reaches, with files about rows of the other. Its id, and how many of its files name them."""
    marker, admin = "mkf" + os.urandom(6).hex(), walls.admin["one"]
    body = {"resource": "contact", "action": "merge", "mode": "sync", "location_id": walls.places["here"], "save_upload": True, "save_result": True,
            "data": [{"name": marker, "locations": [walls.places["there"]]}, {"notes": marker}]}
    a = admin.post("/v1/batches", body, expect=201).data
    walls.rows.append(Row("contact", a["results"][0]["id"], "one", "there", marker, "/v1/contacts"))
    every = "&".join(f"include_{k}=true" for k in ("upload_csv", "upload_json", "errors_csv", "errors_json", "result_json"))
    text = json.dumps(until(lambda: (lambda d: d if d["_result_json_url"] else None)(admin.get(f"/v1/batches/{a['id']}?{every}").data)))
    return a["id"], sum(marker in plain(requests.get(walls.server.base + link, timeout=WAIT).content) for link in links(text))


def test_files_and_all_that_may_be_included(walls):
    """Every include parameter of every read, alone and with the others; each link in an answer is fetched, and what it gives is judged."""
    problems, fetched = [], 0
    batch, files = batch_with_files(walls)
    assert files >= 3
    for who in [Who("all of one", walls.admin["one"], "one", None, set(walls.areas())), *walls.whos]:
        hidden = walls.hidden(who)
        with requests.Session() as http_:
            for path, method, op in operations(walls):
                needed = op.get("x-scope") or ""
                if method != "get" or not every_include(op) or needed.split(":")[0] not in who.areas:
                    continue
                asks = {every_include(op), *every_include(op).split("&")}
                more = [([], re.sub(r"\{\w+\}", batch, path))] if path.startswith("/v1/batches/") else []
                for _, filled in [*walls.calls(path), *more]:
                    for query in asks:
                        url = f"{filled}?{query}"
                        r = http_.get(walls.server.base + url, headers={"SVC-API-KEY": who.client.key}, timeout=WAIT)
                        texts = [(url, others_requests(who, r) if path.startswith("/v1/request-logs") else r.text)]
                        for link in links(r.text):
                            texts.append((link, plain(http_.get(walls.server.base + link, timeout=WAIT).content)))
                            fetched += 1
                        for what, text in texts:
                            try:
                                walls.check(who, what, text, hidden)
                            except AssertionError as e:
                                problems.append(str(e))
    assert fetched >= 5
    assert not problems, told(problems)


# ---- exports ----

def with_area(walls, areas):
    """The keys of all scopes, and one for each area beside those that the question needs."""
    yield from (w for w in walls.whos if len(w.areas) > 1)
    for area in walls.areas():
        if area not in areas and area != "system":
            scopes = ",".join([f"{a}:write" for a in areas] + [area + ":read"])
            yield Who(f"{scopes}", walls.orgs["one"].client(scopes), "one", None, {area, *areas})


def test_exports_write_only_what_the_key_may_see(walls):
    problems, rows = [], 0
    exported = [r for r in DEFINITIONS if resources.x(r).get("export") is not None]
    assert len(exported) > 3
    for who in with_area(walls, ["exports"]):
        walls.server.sql("UPDATE exports.export SET created_at = created_at - interval '1 hour' WHERE organization_id = %s", walls.orgs[who.org].id)
        hidden = walls.hidden(who)
        for resource in exported:
            a = who.client.request("POST", "/v1/exports", {"resource": resource, "options": {}})
            if resources.x(resource)["scope"] not in who.areas:
                assert a.status == 403, (who.name, resource, a)
                continue
            assert a.status in (201, 429), (who.name, resource, a)
            if a.status == 429:
                continue
            row = until(lambda: (lambda e: e if e["status"] in ("completed", "failed") else None)(
                who.client.get(f"/v1/exports/{a.data['id']}?include_csv=true&include_json=true").data))  # noqa: B023
            assert row["status"] == "completed", row
            for link in links(json.dumps(row)):
                text = plain(requests.get(walls.server.base + link, timeout=WAIT).content)
                rows += len(text)
                try:
                    walls.check(who, f"export of {resource}", text, hidden)
                except AssertionError as e:
                    problems.append(str(e))
    assert rows > 1000
    assert not problems, told(problems)


# ---- streams and deliveries ----

class Heard:
    """A live stream that is read by a thread."""

    def __init__(self, who, path, headers=None):
        self.text, self.path = "", path
        self.r = requests.get(who.client.server.base + path, stream=True, timeout=WAIT, headers={"SVC-API-KEY": who.client.key, **(headers or {})})
        assert self.r.status_code == 200, (who.name, self.r.text)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for chunk in self.r.iter_content(None):
                self.text += chunk.decode("utf-8", "replace")
        except (requests.RequestException, AttributeError):
            pass

    def close(self):
        """Ends it under the thread that reads, which holds the response until something comes."""
        with contextlib.suppress(OSError, AttributeError):
            self.r.raw._connection.sock.shutdown(socket.SHUT_RDWR)


def change_all(walls):
    """Each row that takes a name or metadata gets a new marker of its own: what is told of it from now on has it."""
    changed = 0
    for row in [r for r in walls.rows if r.marker]:
        properties = resources.properties(row.resource, "update")
        name = next((n for n in ("name", "nickname", "display_name", "notes", "description") if n in properties), None)
        if not name:
            continue
        sent = {name: f"{row.marker} again {os.urandom(2).hex()}"}
        changed += walls.admin[row.org].request("POST", f"{row.path}/{row.id}", sent).status == 200
    return changed


# ---- subscriptions: for each kind the body; `url` is where it delivers ----

STATION_STREAM = "/v1/cloud-printing/stations/{station_id}/stream"
SEND = "return {on_event = function(ev) return assert(wharf.http.post('%s', {json = ev})).status end}"
KINDS = {"webhook": lambda url, events: {"url": url, "events": events},
         "integration": lambda url, events: {"name": "Hears", "direction": "outgoing", "url": url, "auth": None, "events": events},
         "workflow": lambda url, events: {"name": "Hears " + url, "source": SEND % url, "triggers": [{"type": "event", "events": events}]}}
# Subscribers get system events only, which are about the organization, by mail at addresses that an owner approved: spec 07 section 11.
APPROVED = {"event_subscriber"}


def subscribing():
    """Resources whose rows send events somewhere: those whose bodies say which events."""
    return {r for r in DEFINITIONS if {"events", "triggers"} & set(resources.properties(r))}


def subscribe(walls, key, kind, path, events):
    """Makes a row of the kind that sends `events` to `path`, of any location; a workflow is published. Returns the row's path."""
    collection = resources.x(kind)["collection"]
    id = key.post(collection, KINDS[kind](walls.web.url(path), events), expect=201).data["id"]
    if kind == "workflow":
        key.post(f"{collection}/{id}/publish", {}, expect=200)
    return f"{collection}/{id}"


RIGHTS = ("scope_list", "allow_all_locations", "location_ids")


def subscriptions(walls, whos, events):
    """[(who, kind, where it delivers, the row's path)]: one of each kind for each key, made by a key that may do all and then loses what the other lacks."""
    made = []
    for i, who in enumerate(whos):
        admin, wide = walls.admin[who.org], walls.orgs[who.org].client()
        for kind in KINDS:
            url = f"/beside/{kind}/{i}"
            made.append((who, kind, url, subscribe(walls, wide, kind, url, events)))
        wide_id, id = (client.get("/v1/auth").data["key"]["id"] for client in (wide, who.client))
        key = admin.get("/v1/api-keys/" + id).data
        now = admin.post("/v1/api-keys/" + wide_id, {"scopes": key["scope_list"], **{k: key[k] for k in ("allow_all_locations", "location_ids")}}, expect=200).data
        assert [now[k] for k in RIGHTS] == [key[k] for k in RIGHTS]
    return made


def sent(walls):
    """Waits until what was to be sent is."""
    walls.settle()
    for table in ("webhooks.delivery", "integrations.outgoing", "workflows.run"):
        until(lambda: not walls.server.sql(f"SELECT 1 FROM {table} WHERE organization_id = ANY (%s) AND status = ANY (%s) LIMIT 1",  # noqa: B023
                                           [o.id for o in walls.orgs.values()], ["pending", "sending", "queued", "running"]))


@pytest.mark.parametrize("half", [0, 1])  # an organization has 50 webhooks at most
def test_subscriptions_send_only_what_their_key_may_see(walls, half):
    """Whoever subscribes has the rights of now, not those of when it subscribed: each kind, with the rights of each key, while all rows of all places change."""
    assert subscribing() == set(KINDS) | APPROVED, "rows that send events, and no test that hears them: say in KINDS how one is made"
    # Making the subscriptions tells nobody anything: of their own resources and of keys they hear nothing.
    events = sorted(t["type"] for t in walls.admin["one"].get("/v1/events/types").data
                    if t["type"].split(".")[0] in set(DEFINITIONS) - set(KINDS) - {"api_key", "event", "workflow_run", "outgoing_integration", "incoming_webhook"})
    made = subscriptions(walls, walls.whos[half::2], events)
    sent(walls)
    walls.web.got.clear()
    assert change_all(walls) > 30
    sent(walls)
    problems, delivered = [], dict.fromkeys(KINDS, 0)
    for who, kind, url, row in made:
        bodies = [g.body.decode() for g in walls.web.got[url]]
        delivered[kind] += len(bodies)
        walls.admin[who.org].delete(row)
        check(walls, who, kind, "\n".join(bodies), problems)
    assert min(delivered.values()) > 20, delivered
    assert not problems, told(problems)


def newest_event(client):
    return max((e for e in client.get("/v1/events?limit=100").data if e["sequence"]), key=lambda e: e["sequence"], default=None)


@pytest.mark.parametrize("query,headers", [("", {}), ("?from=0", {}), ("", {"Last-Event-ID": "1"})])  # together they would be more than an organization may have
def test_streams_tell_only_what_the_key_may_see(walls, query, headers):
    """Open streams from now, from the beginning and resumed, of each key, while all rows of all places change."""
    found = {p for p, m, op in operations(walls) if m == "get" and "text/event-stream" in json.dumps(op["responses"])}
    assert found == {"/v1/events/stream", STATION_STREAM}, "a stream that no test listens to"
    before = {name: newest_event(client)["sequence"] for name, client in walls.admin.items()}
    streams = [(who, Heard(who, "/v1/events/stream" + query, headers)) for who in with_area(walls, ["events"])]
    assert change_all(walls) > 30
    walls.settle()
    problems, heard = [], 0
    for who, stream in streams:
        newest = newest_event(who.client)
        until(lambda: not newest or newest["sequence"] <= before[who.org] or newest["id"] in stream.text)  # noqa: B023
        heard += "event:" in stream.text
        check(walls, who, "stream", stream.text, problems)
        stream.close()
    assert heard > 7, heard
    assert not problems, told(problems)


def test_the_stream_of_a_station_is_for_who_may_print_there(walls):
    """Asks for the stream of every station with every key: it opens for keys that write print jobs there, and tells of that station's jobs only."""
    stations = [r for r in walls.rows if r.resource == "print_station"]
    sessions, opened, problems = {}, [], []
    for row in stations:
        body = {"agent": {"name": "test", "version": "1"}}
        sessions[row.id] = walls.admin[row.org].request("POST", f"{row.path}/{row.id}/sessions", body)
        assert sessions[row.id].status == 201, sessions[row.id]
    scope = walls.openapi["paths"][STATION_STREAM]["get"]["x-scope"]
    assert scope.endswith(":write")
    for who in walls.whos:
        for row in stations:
            path = f"{row.path}/{row.id}/stream?session_id={sessions[row.id].data['session_id']}"
            writes = scope.split(":")[0] in who.areas and not who.name.endswith(":read")
            if walls.reached(who, row) and writes:
                opened.append((who, Heard(who, path)))
                continue
            r = requests.get(walls.server.base + path, headers={"SVC-API-KEY": who.client.key}, timeout=WAIT, stream=True)
            if r.status_code not in (403, 404):
                problems.append(f"{who.name}: {path} of {row}: {r.status_code}")
            r.close()
    for row in stations:
        marker = "mkj" + os.urandom(6).hex()
        place = walls.places[row.place]
        printer = walls.admin[row.org].get(f"{row.path}/{row.id}").data["printers"][0]["name"]
        job = walls.admin[row.org].post("/v1/cloud-printing/jobs", {"location_id": place, "print_station_id": row.id, "printer_name": printer, "name": marker,
                                                                   "data": "data:text/plain," + marker, "configuration": {"paper_size": "a4"}}, expect=201).data
        walls.rows.append(Row("print_job", job["id"], row.org, row.place, marker, "/v1/cloud-printing/jobs"))
        row.job = job["id"]
    for who, stream in opened:
        job = next(r.job for r in stations if r.id in stream.path)
        until(lambda: job in stream.text)  # noqa: B023
        for row in stations:
            if row.id not in stream.path and (row.job in stream.text or row.id in stream.text):
                problems.append(f"{who.name}: the stream {stream.path} tells of {row}")
        check(walls, who, "stream of a station", stream.text, problems)
    assert len(opened) >= 3 and len({s.path for _, s in opened}) == len(stations)
    assert not problems, told(problems)


def check(walls, who, what, text, problems):
    try:
        walls.check(who, what, text, walls.hidden(who))
    except AssertionError as e:
        problems.append(str(e))


# ---- filters ----

def naming_filters():
    """(resource, filter, whose ids it takes) of all filters that name rows, after the definitions."""
    for resource, d in DEFINITIONS.items():
        for name, p in d["properties"].items():
            x = p.get("x-wharf", {})
            to = x.get("ref") or x.get("ids_of")
            if to and x.get("filter"):
                yield resource, name, to
            for alias, f in resources.x(resource).get("list", {}).get("filters", {}).items():
                if to and name in (f.get("field"), f.get("alias")) and not f.get("child"):
                    yield resource, alias, to


def link_over_the_wall(walls):
    """Rows of one place refer to rows of the other, wherever a field takes that. Returns how many do."""
    linked = 0
    for resource, name, to in set(naming_filters()):
        for place, other in (("here", "there"), ("there", "here")):
            row = next((r for r in walls.rows if r.resource == resource and r.place == place), None)
            far = next((r for r in walls.rows if r.resource == to and r.place == other), None)
            if row and far and to != "location" and name in resources.properties(resource, "update"):
                linked += walls.admin["one"].request("POST", f"{row.path}/{row.id}", {name: far.id}, check=False).status == 200
    return linked


def test_filters_tell_of_hidden_rows_what_they_tell_of_none(walls):
    """For each filter that names rows: that of a hidden row answers as that of an id which no row has."""
    asked, problems = 0, []
    assert link_over_the_wall(walls) >= 4
    for who in walls.whos:
        for resource, name, to in naming_filters():
            path = resources.x(resource)["collection"]
            x = resources.x(to)
            if to == "location" or ":" in path or path not in walls.openapi["paths"] or x.get("location", "none") == "none" or resources.x(resource)["scope"] not in who.areas:
                continue
            for row in [r for r in walls.rows if r.resource == to and not walls.reached(who, r)]:
                if who.client.request("GET", f"{row.path}/{row.id}", check=False).status == 200:
                    continue  # a link moved it to where the key sees it
                nobody = row.id[:-22] + "0" * 22
                for form in ("{}", "!{}", "null,{}"):
                    answers = []
                    for id in (row.id, nobody):
                        a = Client(walls.server, who.client.key).request("GET", f"{path}?limit=all&{name}={form.format(id)}", check=False)
                        answers.append(repr([a.status, a.code, sorted(x["id"] for x in a.data or [])]))
                    asked += 1
                    if answers[0] != answers[1]:
                        problems.append(f"{who.name}: {path}?{name}={form}: {row}: {answers[0][:300]}")
    assert asked > 50
    assert not problems, told(problems)
