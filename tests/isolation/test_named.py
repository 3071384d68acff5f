"""Rows that requests name without showing them: tracking updates, filters, batches, answers that are given again (spec 01 sections 7 and 8.1)."""
import json
import os

import pytest
from wharf import Client, make_location, station_body

NOTHING = {"contact_id": "ctct_0000000000000000000000", "user_id": "user_0000000000000000000000", "container_id": "ctnr_0000000000000000000000"}
BATCHES = "/v1/batches"


class Place:
    """An organization with two locations, a key of the first, and a row of each kind that a tracking update names at both."""

    def __init__(self, server):
        self.org, self.other = server.organization(), server.organization()
        self.all = self.org.client()
        self.here, self.there = (make_location(self.all, n)["id"] for n in ("Here", "There"))
        self.limited = self.org.client(locations=[self.here])
        self.near, self.far = self.rows(self.here), self.rows(self.there)
        stranger = self.other.client()
        self.others = {"contact_id": stranger.post("/v1/contacts", {"name": "Stranger"}, expect=201).data["id"], "user_id": self.other.user(role="admin"),
                       "container_id": stranger.post("/v1/containers", {}, expect=201).data["id"]}

    def rows(self, at):
        return {"contact_id": self.all.post("/v1/contacts", {"name": "C", "locations": [at]}, expect=201).data["id"],
                "user_id": self.all.post("/v1/users", {"name": "U", "email": os.urandom(6).hex() + "@example.com", "locations": [at]}, expect=201).data["id"],
                "container_id": self.all.post("/v1/containers", {"location_id": at}, expect=201).data["id"]}

    def ship(self):
        return self.limited.post("/v1/shipments", {"tracking_number": "N" + os.urandom(6).hex(), "location_id": self.here}, expect=201).data


@pytest.fixture
def place(server):
    return Place(server)


# ---- tracking updates ----

def ways(place):
    """Everything that takes a tracking update: what to send, and where problems of its members stand."""
    row = place.ship()
    box = place.limited.post("/v1/containers", {"location_id": place.here}, expect=201).data["id"]
    inside = lambda u: {"tracking_update": u}  # noqa: E731
    number = lambda: "N" + os.urandom(6).hex()  # noqa: E731
    yield "/v1/shipments", lambda u: {"tracking_number": number(), "location_id": place.here, "tracking_update": u}, "tracking_update."
    yield f"/v1/shipments/{row['id']}", inside, "tracking_update."
    yield f"/v1/shipments/{row['id']}", lambda u: {"tracking_update": [u]}, "0."
    yield f"/v1/shipments/{row['id']}/tracking-updates", lambda u: [u], "0."
    yield f"/v1/trackers/{row['tracker_id']}", inside, "tracking_update."
    yield f"/v1/containers/{box}", inside, "tracking_update."
    yield "/v1/containers", lambda u: {"location_id": place.here, "tracking_update": u}, "tracking_update."


def test_rows_that_tracking_updates_name(place):
    """Each is told as a field that refers to a row tells it: 403 for one that the caller does not see, 400 for one that is not there or another organization's."""
    for path, body, at in ways(place):
        update = lambda **more: body({"comment": os.urandom(4).hex(), **more} if path != "/v1/containers" else {"status": "in_transit", **more})  # noqa: E731
        for member in NOTHING:
            if member != "user_id":  # users are seen by everybody who reads users (spec 01 section 7 'People')
                place.limited.refused("POST", path, 403, "location_access", [place.far[member]], body=update(**{member: place.far[member]}))
            place.limited.refused("POST", path, 400, "validation.failed", [at + member], body=update(**{member: NOTHING[member]}))
            place.limited.refused("POST", path, 400, "validation.failed", [at + member], body=update(**{member: place.others[member]}))
            a = place.limited.request("POST", path, body=update(**{member: place.near[member]}))
            assert a.status in (200, 201), (path, member, a)
        a = place.limited.request("POST", path, body=update(vehicle_id="van 7"))
        assert a.status in (200, 201), (path, a)  # a word of the caller's own: the server has no vehicles


def test_a_container_goes_with_a_user_that_is_there(place):
    for path, body in (("/v1/containers", {"location_id": place.here}), ("/v1/containers/" + place.near["container_id"], {})):
        for id in (NOTHING["user_id"], place.others["user_id"]):
            place.limited.refused("POST", path, 400, "validation.failed", ["user_id"], body={**body, "user_id": id})
        assert place.limited.post(path, {**body, "user_id": place.near["user_id"]}).data["user_id"] == place.near["user_id"]


# ---- filters of trackers that no definition has ----

def test_filters_of_trackers_confirm_no_leg(place):
    """shipment_id and current_shipment_id name legs: one that the key does not see is as one that is not there."""
    row = place.ship()
    hidden = place.all.post("/v1/shipments", {"tracking_number": "N" + os.urandom(6).hex(), "location_id": place.there}, expect=201).data["id"]
    place.all.post(f"/v1/trackers/{row['tracker_id']}", {"chaining": {"add": [hidden]}, "auto_close_shipments_option": "never"}, expect=200)
    place.all.post(f"/v1/trackers/{row['tracker_id']}", {"current_shipment_id": hidden}, expect=200)
    ids = lambda client, query: [t["id"] for t in client.get("/v1/trackers?" + query).data]  # noqa: E731
    reader = place.org.client("trackers:read")
    for name in ("shipment_id", "current_shipment_id"):
        assert ids(place.all, f"{name}={hidden}") == [row["tracker_id"]], name
        for client in (place.limited, reader):
            assert row["tracker_id"] in ids(client, "limit=100"), name
            assert ids(client, f"{name}={hidden}") == ids(client, name + "=ship_0000000000000000000000") == [], name
    assert ids(place.limited, f"shipment_id={row['id']}") == [row["tracker_id"]]
    shown = place.limited.get(f"/v1/trackers/{row['tracker_id']}").data["current_shipment_id"]
    assert shown is None and row["tracker_id"] in ids(place.limited, "current_shipment_id=null")
    assert row["tracker_id"] not in ids(place.limited, "current_shipment_id=!null")


# ---- batches ----

def test_what_batches_hold(place):
    """properties and filters are data of the batch's resource: for who reads those, and reaches all locations or brought them."""
    word = "held" + os.urandom(4).hex()
    mine = place.limited.post(BATCHES, {"resource": "contact", "action": "merge", "mode": "sync", "data": [{"name": "A"}],
                                        "properties": {"notes": word, "locations": {"set": [place.here]}}}, expect=201).data["id"]
    far = place.all.post(BATCHES, {"resource": "contact", "action": "merge", "mode": "async", "data": [], "filters": {"name": word},
                                   "properties": {"notes": word}}, expect=202).data["id"]
    key = lambda scopes, **more: place.org.client(scopes, **more)  # noqa: E731
    readers = {"all": place.all, "reader": key("batches:read,contacts:read"), "maker": place.limited, "no contacts": key("batches:read"),
               "others": key("batches:read,contacts:read", locations=[place.here])}
    for name, client in readers.items():
        for id in (mine, far):
            seen = name in ("all", "reader") or (name == "maker" and id == mine)
            row, listed = client.get(f"{BATCHES}/{id}").data, next(b for b in client.get(BATCHES).data if b["id"] == id)
            for shown in (row, listed):
                assert (word in json.dumps(shown)) == seen, (name, id == mine)
                assert seen or (shown["properties"], shown["filters"]) == (None, None)
                assert shown["stats"] is not None  # what became of it is everybody's who sees the batch
    told = key("batches:read,events:read,logs:read")
    for path in ("/v1/events?limit=100&include_data=true", "/v1/logs?limit=100"):
        text = json.dumps(told.get(path).body)
        assert mine in text and word not in text, path


def test_what_exports_hold(place):
    word = "held" + os.urandom(4).hex()
    ask = {"resource": "contact", "options": {"name": word}, "formats": ["json"]}
    mine = place.limited.post("/v1/exports", ask, expect=201).data["id"]
    far = place.all.post("/v1/exports", ask, expect=201).data["id"]
    key = lambda scopes, **more: place.org.client(scopes, **more)  # noqa: E731
    readers = {"all": place.all, "reader": key("exports:read,contacts:read"), "maker": place.limited, "no contacts": key("exports:read"),
               "others": key("exports:read,contacts:read", locations=[place.here])}
    for name, client in readers.items():
        for id in (mine, far):
            seen = name in ("all", "reader") or (name == "maker" and id == mine)
            for row in (client.get(f"/v1/exports/{id}").data, next(e for e in client.get("/v1/exports").data if e["id"] == id)):
                assert row["options"] == ({"name": word} if seen else None), (name, id == mine)
    assert word not in json.dumps(key("exports:read,events:read,logs:read").get("/v1/logs?limit=100").body)
    place.all.refused("POST", "/v1/exports", 400, "validation.failed", ["options"], body={**ask, "options": None})


# ---- answers that are given again ----

def user_key(place, scopes):
    user = place.all.post("/v1/users", {"name": "u", "email": os.urandom(6).hex() + "@example.com", "role": "admin"}, expect=201).data["id"]
    made = [place.all.post("/v1/api-keys", {"scopes": scopes, "user_id": user}, expect=201).data["api_key"] for _ in range(2)]
    return user, [Client(place.all.server, k) for k in made]


def test_a_replay_judges_users(place):
    """An answer that is no single row is given again to the user who got it, where rows of its area are for some users only."""
    scopes = {"print_stations": 2, "print_jobs": 2}
    (me, mine), (_, theirs) = user_key(place, scopes), user_key(place, scopes)
    body = station_body(place.here, allow_all_users=False, allowed_users={"add": [me]})
    station = place.all.post("/v1/cloud-printing/stations", body, expect=201).data
    path = f"/v1/cloud-printing/stations/{station['id']}/sessions"
    key = {"Idempotency-Key": os.urandom(8).hex()}
    first = mine[0].post(path, {}, expect=201, headers=key)
    assert mine[1].request("POST", path, body={}, headers=key).headers.get("Idempotent-Replayed") == "true"
    for client in theirs:
        r = client.request("POST", path, body={}, headers=key)
        assert r.status == 404 and station["id"] not in json.dumps(r.body["data"]) and first.data["session_id"] not in json.dumps(r.body), r
