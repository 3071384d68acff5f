"""The order of checks of spec 01 section 2.1, pairwise: a request that breaks two rules is answered for the earlier one."""
import itertools
import json

import pytest
import requests
from wharf import STATIONS, Server, make_location, make_station

# In the order of the table. Each changes what a good update of a print station would send.
CHECKS = ["uri", "route", "key", "rate", "scope", "media", "idempotency", "query", "row", "location", "precondition", "area"]
ANSWERS = {
    "uri": (414, "uri.too_long"), "route": (404, "route.not_found"), "key": (401, "api_key.invalid"), "rate": (429, "rate_limited"),
    "scope": (403, "scope_access"), "media": (415, "media_type.unsupported"), "idempotency": (422, "idempotency.key_reused"),
    "query": (400, "validation.failed"), "row": (404, "not_found"), "location": (403, "location_access"),
    "precondition": (412, "precondition.failed"), "area": (400, "station.exists"),
}


@pytest.fixture(scope="module")
def world():
    off = [a for n in ("write", "organization", "concurrency", "test") for a in ("--set", f"rate_limit.{n}=0")]
    s = Server(*off, "--set", "rate_limit.key=1", "--set", "rate_limit.key_burst=1000", limits=True)
    w = type("World", (), {})()
    w.server, w.org = s, s.organization()
    owner = w.org.client()
    w.here, w.there = make_location(owner, "Here")["id"], make_location(owner, "There")["id"]
    w.station = make_station(owner, w.here, "MINE")["id"]
    make_station(owner, w.here, "TAKEN")
    make_station(owner, w.there, "TAKEN")
    scopes = "print_stations:write,locations:read"
    w.good = w.org.key(scopes, locations=[w.here])
    w.poor = w.org.key("locations:read", locations=[w.here])
    for name in ("good", "poor"):  # one more of each, whose bucket is emptied
        setattr(w, name + "_spent", w.org.key(scopes if name == "good" else "locations:read", locations=[w.here]))
    owner.post("/v1/locations", {"name": "Used", "address": "1 Main St"}, headers={"Idempotency-Key": "used"}, expect=201)
    yield w
    s.stop()


def send(w, broken):
    """A token comes back each second, perhaps just now: it is asked again for as long as an emptied bucket had one."""
    for _ in range(20):
        answer = send_once(w, broken)
        if "rate" not in broken or answer in (ANSWERS[c] for c in CHECKS[:CHECKS.index("rate") + 1]):
            break
    return answer


def send_once(w, broken):
    key = "nonsense" if "key" in broken else getattr(w, ("poor" if "scope" in broken else "good") + ("_spent" if "rate" in broken else ""))
    while "rate" in broken and requests.get(w.server.base + "/v1/locations", headers={"SVC-API-KEY": key}, timeout=10).status_code == 200:
        pass
    headers = {"SVC-API-KEY": key, "Content-Type": "text/xml" if "media" in broken else "application/json"}
    body = {"status": "online"}
    if "idempotency" in broken:
        headers["Idempotency-Key"] = "used"
    if "query" in broken:
        body["printers"] = []
    if "location" in broken:
        body["location_id"] = w.there
    if "precondition" in broken:
        headers["If-Match"] = '"v999-x"'
    if "area" in broken:
        body["name"] = "TAKEN"
    path = "/v1/nowhere" if "route" in broken else STATIONS
    path += "/" + ("prnt_stn_0000000000000000000000" if "row" in broken else w.station)
    if "uri" in broken:
        path += "?x=" + "y" * 17000
    r = requests.post(w.server.base + path, data=json.dumps(body), headers=headers, timeout=20)
    return r.status_code, r.json()["code"]


def test_nothing_broken(world):
    assert send(world, ()) == (200, None)


@pytest.mark.parametrize("check", CHECKS)
def test_alone(world, check):
    assert send(world, (check,)) == ANSWERS[check]


@pytest.mark.parametrize("first, second", itertools.combinations(CHECKS, 2))
def test_pairs(world, first, second):
    assert send(world, (first, second)) == ANSWERS[first]


def test_all_at_once(world):
    for i in range(len(CHECKS)):
        assert send(world, CHECKS[i:]) == ANSWERS[CHECKS[i]]
