"""What is told of rows, and to whom: webhooks, streams, exports, logs, each as clients hear it (spec 01 section 7 'records', 07 section 1.1)."""
import json
import os
import threading
import time

import pytest
import requests

from receivers import Receivers, until
from wharf import MODULES, WAIT, Client, Server, make_location, station_body


@pytest.fixture(scope="module")
def web():
    return Receivers()


@pytest.fixture(scope="module")
def told_server():
    s = Server("--modules", MODULES, "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true")
    yield s
    s.stop()


class Place:
    def __init__(self, server):
        self.org = server.organization()
        self.all = self.org.client()
        self.here, self.there = (make_location(self.all, n)["id"] for n in ("Here", "There"))

    def contact(self, *places, name=None):
        name = name or "c" + os.urandom(6).hex()
        row = self.all.post("/v1/contacts", {"name": name, "locations": list(places)}, expect=201).data
        return row["id"], name

    def settle(self):
        until(lambda: not self.org.server.sql("SELECT 1 FROM wharf.outbox WHERE organization_id = %s LIMIT 1", self.org.id))


@pytest.fixture
def place(told_server):
    return Place(told_server)


def key_of(client, scopes, **more):
    return Client(client.server, client.post("/v1/api-keys", {"scopes": scopes, **more}, expect=201).data["api_key"])


# ---- rows with several locations ----

def test_events_and_logs_of_rows_with_several_locations(place):
    """A contact of one location is a row with a set: a key of the other reads neither its events nor its lines."""
    (a, name_a), (b, name_b), (both, _), (none, _) = (place.contact(place.here), place.contact(place.there),
                                                      place.contact(place.here, place.there), place.contact())
    place.settle()
    limited = place.org.client(locations=[place.here])
    for path, key in (("/v1/events?resource_type=contact&limit=100", "resource_id"), ("/v1/logs?resource=contact&limit=100", "resource_id")):
        assert {r[key] for r in limited.get(path).data} == {a, both, none}, path
        hidden = next(r for r in place.all.get(path).data if r[key] == b)
        one = path.split("?")[0] + "/" + hidden["id"]
        limited.refused("GET", one, 403, "location_access", [place.there])
        assert name_b in json.dumps(place.all.get(one).body) or "logs" in path
    event = next(r["id"] for r in place.all.get("/v1/events?resource_type=contact&limit=100").data if r["resource_id"] == b)
    limited.refused("POST", f"/v1/events/{event}/resend", 403, "location_access", [place.there], body={})
    limited.refused("GET", f"/v1/events/{event}/outgoing-webhooks", 403, "location_access", [place.there])


def test_a_row_that_moves_is_told_where_it_is(place):
    a, _ = place.contact(place.here)
    place.all.post("/v1/contacts/" + a, {"locations": [place.there], "name": "Moved Away"}, expect=200)
    place.settle()
    limited = place.org.client(locations=[place.here])
    told = limited.get(f"/v1/events?resource_id={a}&include_data=true").data
    assert "Moved Away" not in json.dumps(told)


def test_the_live_stream_of_rows_with_several_locations(place):
    limited = place.org.client(locations=[place.here])
    heard = []

    def listen():
        with requests.get(limited.server.base + "/v1/events/stream?from=0", headers={"SVC-API-KEY": limited.key}, stream=True, timeout=WAIT) as r:
            for line in r.iter_lines():
                heard.append(line.decode())
                if b"LAST" in line:
                    return
    _, hidden = place.contact(place.there)
    t = threading.Thread(target=listen, daemon=True)
    t.start()
    _, later = place.contact(place.there)
    place.contact(place.here, name="LAST")
    until(lambda: "LAST" in "\n".join(heard) or not t.is_alive(), f"LAST did not come: {heard}")
    text = "\n".join(heard)
    assert "LAST" in text and hidden not in text and later not in text, text


def test_webhooks_hear_of_rows_with_several_locations(place, web):
    hook = lambda name, **more: place.all.post("/v1/webhooks", {"url": web.url("/" + place.org.id + name), "events": ["contact.created"], **more}, expect=201)  # noqa: E731
    hook("/here", location_ids=[place.here])
    hook("/all")
    for where in ([place.here], [place.there], [place.here, place.there], []):
        place.contact(*where, name=f"of {len(where)} {where[:1] == [place.here]}")
    names = lambda path: sorted(g.event["data"]["name"] for g in web.wait("/" + place.org.id + path, 2 if path == "/here" else 4))  # noqa: E731
    assert names("/all") == ["of 0 False", "of 1 False", "of 1 True", "of 2 True"]
    assert names("/here") == ["of 1 True", "of 2 True"]


def test_exports_of_the_change_log(place):
    """What an export writes is what its key may see."""
    _, seen = place.contact(place.here, name="Seen " + os.urandom(4).hex())
    b, hidden = place.contact(place.there, name="Hidden " + os.urandom(4).hex())
    place.all.post("/v1/contacts/" + b, {"notes": hidden}, expect=200)
    limited = place.org.client(locations=[place.here])
    for resource in ("log", "contact"):
        id = limited.post("/v1/exports", {"resource": resource, "options": {}, "formats": ["json"]}, expect=201).data["id"]
        until(lambda: limited.get("/v1/exports/" + id).data["status"] in ("completed", "failed"))
        row = limited.get(f"/v1/exports/{id}?include_json=true").data
        assert row["status"] == "completed", row
        text = requests.get(limited.server.base + row["_json_url"], timeout=WAIT).text
        assert hidden not in text and b not in text, resource


def test_requests_of_others(place):
    """The request log shows bodies: to who reaches and reads as much as the key that sent them."""
    _, name = place.contact(place.there)
    limited = place.org.client(locations=[place.here])
    reader = place.org.client("logs:read")
    until(lambda: name in json.dumps(place.all.get("/v1/request-logs?limit=100").body))
    for client in (limited, reader):
        assert name not in json.dumps(client.get("/v1/request-logs?limit=100").body)


# ---- routes below a row ----

@pytest.mark.parametrize("method,path", [("GET", "secret"), ("POST", "secret/rotate"), ("POST", "flush"), ("POST", "recover"), ("POST", "test"), ("GET", "deliveries"),
                                         ("GET", ""), ("POST", ""), ("DELETE", "")])
def test_webhooks_of_other_locations(place, web, method, path):
    limited = place.org.client(locations=[place.here])
    for ids in ([place.there], [place.here, place.there], None):
        id = place.all.post("/v1/webhooks", {"url": web.url("/x"), "events": ["contact.created"], "location_ids": ids}, expect=201).data["id"]
        body = {"since": "2020-01-01T00:00:00.000Z"} if path == "recover" else {} if method == "POST" else None
        limited.refused(method, f"/v1/webhooks/{id}/{path}".rstrip("/"), 403, "location_access", body=body)
        assert id not in json.dumps(limited.get("/v1/webhooks").body)
    assert len(place.all.get("/v1/webhooks").data) == 3


def test_integrations_of_other_locations(place, web):
    limited = place.org.client(locations=[place.here])
    for ids in ([place.there], [place.here, place.there], None):
        body = {"name": "I", "direction": "outgoing", "url": web.url("/i"), "events": ["contact.created"], "location_ids": ids}
        id = place.all.post("/v1/integrations", body, expect=201).data["id"]
        for method, path, sent in (("GET", "", None), ("POST", "", {"name": "x"}), ("DELETE", "", None), ("POST", "/secrets", {"key": "k", "value": "v"}), ("GET", "/secrets", None)):
            limited.refused(method, f"/v1/integrations/{id}{path}", 403, "location_access", body=sent)
        assert id not in json.dumps(limited.get("/v1/integrations").body)
    place.contact(place.there)
    until(lambda: place.all.get("/v1/outgoing-integrations").data)
    assert limited.get("/v1/outgoing-integrations").data == []
    limited.refused("GET", "/v1/outgoing-integrations/" + place.all.get("/v1/outgoing-integrations").data[0]["id"], 404, "not_found")
    incoming = limited.post("/v1/integrations", {"name": "In", "direction": "incoming", "auth": {"type": "bearer"}}, expect=201).data["id"]
    assert limited.get("/v1/integrations/" + incoming).data["id"] == incoming


# ---- people ----

def person(place, client, **more):
    return client.post("/v1/users", {"name": "u", "email": os.urandom(6).hex() + "@example.com", **more}, expect=201).data["id"]


def test_nobody_widens_access(place):
    """A user of one location lifts no limit: of a role, by a role, of an own or another's key."""
    role = place.all.post("/v1/roles", {"name": "keeper", "scopes": {"users": 2, "roles": 2, "api_keys": 2, "devices": 2, "locations": 2}}, expect=201).data["id"]
    free = place.all.post("/v1/roles", {"name": "free", "scopes": {"users": 1}, "location_restricted": False}, expect=201).data["id"]
    me = person(place, place.all, role=role, locations=[place.here])
    mine = key_of(place.all, {"users": 2, "roles": 2, "api_keys": 2, "devices": 2, "locations": 2}, user_id=me)
    other = person(place, place.all, locations=[place.there])
    refused = lambda path, body, method="POST": mine.refused(method, path, 403, "location_access", body=body)  # noqa: E731
    refused("/v1/roles/" + role, {"location_restricted": False})
    refused("/v1/roles/" + role, {"name": "mine"})
    refused("/v1/roles/" + free, None, "DELETE")
    refused("/v1/roles", {"name": "wide", "scopes": {"users": 1}, "location_restricted": False})
    mine.post("/v1/roles", {"name": "narrow", "scopes": {"users": 1}}, expect=201)
    refused("/v1/users/" + me, {"role": free})
    refused("/v1/users/" + me, {"allow_all_locations": True})
    refused("/v1/users/" + me, {"locations": {"add": [place.there]}})
    refused("/v1/users", {"name": "x", "email": "x@example.com", "role": free})
    for body in ({"name": "renamed"}, {"status": "disabled"}, {"email": "stolen@example.com"}, {"locations": {"remove": [place.there]}}, {"locations": []}):
        refused("/v1/users/" + other, body)
    refused("/v1/users/" + other, None, "DELETE")
    mine.post("/v1/users/" + me, {"name": "still me"}, expect=200)
    mine.post(f"/v1/locations/{place.here}/users", {"add": [other]}, expect=200)
    mine.post(f"/v1/locations/{place.here}/users", {"remove": [other]}, expect=200)
    refused(f"/v1/locations/{place.there}/users", {"remove": [other]})
    wide = place.all.post("/v1/api-keys", {"name": "wide", "scopes": {"users": 1}}, expect=201).data["id"]
    for path, method, body in (("", "POST", {"name": "x"}), ("/rotate", "POST", {}), ("", "DELETE", None)):
        refused(f"/v1/api-keys/{wide}{path}", body, method)
    device = place.all.post("/v1/devices", {"name": "d", "locations": [place.there]}, expect=201).data["id"]
    refused("/v1/devices/" + device, {"name": "x"})
    row = place.all.get("/v1/users/" + other).data
    assert (row["name"], row["status"], row["locations"]) == ("u", "active", [place.there])


# ---- print jobs of stations that one may not use ----

def test_print_jobs_of_stations_that_one_may_not_use(place):
    friend = person(place, place.all, role="admin")
    station = place.all.post("/v1/cloud-printing/stations", station_body(place.here, allow_all_users=False, allowed_users={"add": [friend]}), expect=201).data
    job = place.all.post("/v1/cloud-printing/jobs", {"print_station_id": station["id"], "printer_name": station["printers"][0]["name"], "name": "Secret label",
                                                     "data": "data:text/plain,secret", "configuration": {"paper_size": "label_4x6"}}, expect=201).data["id"]
    place.settle()
    user = person(place, place.all, role="admin")
    mine = key_of(place.all, {"print_jobs": 2, "print_stations": 2, "events": 2, "logs": 1}, user_id=user)
    for path in ("/v1/cloud-printing/jobs", "/v1/events?include_data=true&limit=100", "/v1/logs?limit=100", "/v1/cloud-printing/stations", "/v1/request-logs?limit=100"):
        assert job not in (text := json.dumps(mine.get(path).body)) and "Secret label" not in text and station["id"] not in text, path
    at = f"/v1/cloud-printing/jobs/{job}"
    for method, path, body in (("GET", at, None), ("GET", at + "/document", None), ("POST", at, {"status": "canceled"}), ("DELETE", at, None), ("POST", at + "/reprint", {})):
        mine.refused(method, path, 404, "not_found", body=body)
    assert place.all.get(at).data["status"] != "canceled"


# ---- events and read scopes ----

def test_events_do_not_get_round_read_scopes(place, web):
    """webhooks:write alone subscribes to nothing; events:read alone reads nothing of keys, users and contacts."""
    url = web.url("/only" + place.org.id)
    only = place.org.client("webhooks:write,events:write")
    only.refused("POST", "/v1/webhooks", 403, "scope_access", ["contacts:read"], body={"url": url, "events": ["contact.created"]})
    missing = only.request("POST", "/v1/webhooks", body={"url": url, "events": ["*"]})
    assert missing.status == 403 and missing.code == "scope_access" and {"contacts:read", "users:read", "api_keys:read"} <= set(missing.errors)
    place.contact(place.here)
    place.settle()
    assert place.org.client("events:read").get("/v1/events").data == []
    assert {e["resource_type"] for e in place.org.client("events:read,contacts:read").get("/v1/events").data} == {"contact"}
    reader = place.org.client("events:read")
    r = requests.get(reader.server.base + "/v1/events/stream?types=contact.created", headers={"SVC-API-KEY": reader.key}, timeout=WAIT)
    assert (r.status_code, r.json()["errors"]) == (403, ["contacts:read"])


def test_a_webhook_has_the_rights_of_its_key(place, web):
    """They are judged with each event: what the key loses is not delivered any more, and rotating it loses nothing."""
    path = "/owner" + place.org.id
    key = place.all.post("/v1/api-keys", {"scopes": {"webhooks": 2, "contacts": 1}}, expect=201).data
    Client(place.all.server, key["api_key"]).post("/v1/webhooks", {"url": web.url(path), "events": ["contact.*"]}, expect=201)
    place.contact(name="First")
    web.wait(path, 1)
    place.all.post(f"/v1/api-keys/{key['id']}/rotate", {"overlap_seconds": 0}, expect=201)
    place.contact(name="Second")
    web.wait(path, 2)
    user = person(place, place.all, role="admin")
    role = place.all.post("/v1/roles", {"name": "r", "scopes": {"webhooks": 2, "contacts": 1}}, expect=201).data["id"]
    place.all.post("/v1/users/" + user, {"role": role}, expect=200)
    of_user = place.all.post("/v1/api-keys", {"scopes": {"webhooks": 2, "contacts": 1}, "user_id": user}, expect=201).data
    second = path + "/user"
    Client(place.all.server, of_user["api_key"]).post("/v1/webhooks", {"url": web.url(second), "events": ["contact.*"]}, expect=201)
    place.contact(name="Third")
    web.wait(second, 1)
    web.wait(path, 3)
    place.all.post("/v1/roles/" + role, {"scopes": {"contacts": 0}}, expect=200)
    place.contact(name="Fourth")
    web.wait(path, 4)
    place.settle()
    time.sleep(0.5)
    assert [g.event["data"]["name"] for g in web.got[second]] == ["Third"]


# ---- links, replays, runs ----

def test_links_to_rows_of_other_locations(place):
    a, _ = place.contact(place.here)
    b, _ = place.contact(place.there)
    limited = place.org.client(locations=[place.here])
    body = {"tracking_number": "L" + os.urandom(5).hex(), "location_id": place.here}
    limited.refused("POST", "/v1/shipments", 403, "location_access", [b], body={**body, "recipient_contact_id": b})
    id = limited.post("/v1/shipments", {**body, "recipient_contact_id": a}, expect=201).data["id"]
    limited.refused("POST", "/v1/shipments/" + id, 403, "location_access", [b], body={"sender_contact_id": b})
    place.all.post("/v1/shipments/" + id, {"sender_contact_id": b}, expect=200)
    limited.post("/v1/shipments/" + id, {"sender_contact_id": b, "metadata": {"x": 1}}, expect=200)


def test_a_replay_judges_places(place):
    """The same organization's key of another location does not get an answer again."""
    key, body = {"Idempotency-Key": os.urandom(8).hex()}, {"name": "Replayed", "locations": [place.there]}
    place.all.post("/v1/contacts", body, expect=201, headers=key)
    limited = place.org.client(locations=[place.here])
    r = limited.request("POST", "/v1/contacts", body=body, headers=key)
    assert r.status == 403 and r.code == "location_access" and "Replayed" not in json.dumps(r.body)
    assert place.all.post("/v1/contacts", body, expect=201, headers=key).headers["Idempotent-Replayed"] == "true"


def test_runs_show_their_insides_to_authors(place):
    source = "local M = {} function M.on_run(input) error('inside ' .. input.m) end return M"
    flow = place.all.post("/v1/workflows", {"name": "F", "source": source, "triggers": [{"type": "manual"}], "scopes": []}, expect=201).data["id"]
    place.all.post(f"/v1/workflows/{flow}/publish", {}, expect=200)
    until(lambda: place.all.request("POST", f"/v1/workflows/{flow}/run", body={"input": {"m": "marked"}}).status != 503)
    run = place.all.get(f"/v1/workflows/{flow}/runs").data[0]["id"]
    assert "marked" in json.dumps(place.all.get(f"/v1/workflows/runs/{run}").body)
    reader = place.org.client("workflow:read")
    for path in (f"/v1/workflows/runs/{run}", f"/v1/workflows/{flow}/runs/{run}", f"/v1/workflows/{flow}/runs"):
        text = json.dumps(reader.get(path).body)
        assert "marked" not in text and "on_run" not in text, path


def test_workflows_hear_what_their_publisher_may_see(place):
    """An event of a row with a set of locations starts the workflows of those who see the row."""
    source = "return {on_event = function(event) return {name = event.data.name} end}"
    made = {}
    for name, client in (("all", place.all), ("here", place.org.client(locations=[place.here]))):
        body = {"name": name, "source": source, "triggers": [{"type": "event", "events": ["contact.created"]}], "scopes": ["contacts:read"]}
        if name == "here":
            body["allowed_locations"] = [place.here]
        made[name] = client.post("/v1/workflows", body, expect=201).data["id"]
        client.post(f"/v1/workflows/{made[name]}/publish", {}, expect=200)
        place.all.post("/v1/workflows/" + made[name], {"allowed_locations": []}, expect=200)
    a, b = place.contact(place.here)[0], place.contact(place.there)[0]
    until(lambda: len(place.all.get(f"/v1/workflows/{made['all']}/runs").data) == 2)
    place.settle()
    assert {r["resource_id"] for r in place.all.get(f"/v1/workflows/{made['all']}/runs").data} == {a, b}
    assert {r["resource_id"] for r in place.all.get(f"/v1/workflows/{made['here']}/runs").data} == {a}
