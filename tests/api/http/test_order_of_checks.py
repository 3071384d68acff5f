"""The order of checks of spec 01 section 2.1, pairwise: a request that breaks two rules is answered for the earlier one.

Every request is the same good update of a print station, spoiled in one way or several. Most rows of the table have several ways to be
broken; each way is tried with each way of every other row, unless no request can be both.
"""
import itertools
import json

import pytest
import requests
from wharf import STATIONS, WAIT, Client, Server, make_location, make_station

# Each fault of a request, with its row in the table of the spec and its answer. Row 10.5 comes from docs/decisions 1: references are looked up after the locations.
CHECKS = {
    "two hosts": (1, 400, "http.malformed"), "long URI": (1, 414, "uri.too_long"), "large headers": (1, 431, "headers.too_large"),
    "no route": (2, 404, "route.not_found"), "method": (2, 405, "method.not_allowed"),
    "no key": (3, 401, "api_key.missing"), "bad key": (3, 401, "api_key.invalid"), "revoked key": (3, 401, "api_key.revoked"),
    "spent key": (4, 429, "rate_limited"),
    "poor key": (5, 403, "scope_access"),
    "media type": (6, 415, "media_type.unsupported"), "coding": (6, 415, "content_encoding.unsupported"), "size": (6, 413, "body.too_large"),
    "syntax": (6, 400, "body.malformed"),
    "key of another": (7, 422, "idempotency.key_reused"), "key that runs": (7, 409, "idempotency.in_progress"),
    "parameter": (8, 400, "param.invalid"), "field": (8, 400, "validation.failed"),
    "no row": (9, 404, "not_found"),
    "row elsewhere": (10, 403, "location_access"), "to elsewhere": (10, 403, "location_access"),
    "unknown reference": (10.5, 400, "validation.failed"),
    "precondition": (11, 412, "precondition.failed"),
    "area": (12, 400, "station.exists"),
}
# The same part of a request, and not both can be said in it; a key that nobody has is neither spent nor poor ("revoked key" is).
EXCLUDED = [{"no key", "spent key"}, {"no key", "poor key"}, {"bad key", "spent key"}, {"bad key", "poor key"}, {"no row", "row elsewhere"},
            {"to elsewhere", "unknown reference"}]
PAIRS = [p for p in itertools.combinations(CHECKS, 2) if CHECKS[p[0]][0] != CHECKS[p[1]][0] and set(p) not in EXCLUDED]


@pytest.fixture(scope="module")
def world():
    off = [a for n in ("write", "organization", "concurrency", "test") for a in ("--set", f"rate_limit.{n}=0")]
    s = Server(*off, "--set", "rate_limit.key=1", "--set", "rate_limit.key_burst=600", limits=True)
    w = type("World", (), {})()
    w.server, w.org = s, s.organization()
    owner = w.org.client()
    w.here, w.there = make_location(owner, "Here")["id"], make_location(owner, "There")["id"]
    w.station, w.far = make_station(owner, w.here, "MINE")["id"], make_station(owner, w.there, "THEIRS")["id"]
    make_station(owner, w.here, "TAKEN")
    make_station(owner, w.there, "TAKEN")
    w.keys = {}
    for scopes in ("good", "poor"):
        for more in ("", " spent", " revoked", " spent revoked"):
            w.keys[scopes + more] = w.org.key("print_stations:write,locations:read" if scopes == "good" else "locations:read", locations=[w.here])
    for name in ("good spent revoked", "poor spent revoked"):
        spend(s, w.keys[name])
    s.sql("UPDATE wharf.api_key SET revoked_at = now() WHERE organization_id = %s AND last4 = ANY (%s)", w.org.id, [k[-4:] for n, k in w.keys.items() if "revoked" in n])
    s.sql("NOTIFY wharf_auth")
    owner.post("/v1/locations", {"name": "Used", "address": "1 Main St"}, headers={"Idempotency-Key": "used"}, expect=201)
    # As a request that runs for as long as all tests: none may wait for a lock that long, so this holds its marker (kernel/resource/idempotency.c).
    s.sql("SELECT pg_advisory_lock(hashtextextended(%s || ' runs', 8))", w.org.id)
    yield w
    s.stop()


def spend(server, key):
    with requests.Session() as http:
        while http.get(server.base + "/v1/locations", headers={"SVC-API-KEY": key}, timeout=WAIT).status_code == 200:
            pass


def send(w, broken):
    """A token comes back each second, perhaps just now: it is asked again for as long as an emptied bucket had one."""
    for _ in range(20):
        answer = send_once(w, broken)
        if "spent key" not in broken or answer in (CHECKS[c][1:] for c in CHECKS if CHECKS[c][0] <= 4):
            break
    return answer


def send_once(w, broken):
    key = "nonsense" if "bad key" in broken else w.keys[("poor" if "poor key" in broken else "good") + (" spent" if "spent key" in broken else "") +
                                                        (" revoked" if "revoked key" in broken else "")]
    if "spent key" in broken and "revoked key" not in broken:
        spend(w.server, key)
    lines = ["Host: x", "Content-Type: " + ("text/xml" if "media type" in broken else "application/json"), "Connection: close"]
    lines += [] if "no key" in broken else ["SVC-API-KEY: " + key]
    lines += ["Host: y"] if "two hosts" in broken else []
    lines += [f"X-Filler-{i}: " + "f" * 5000 for i in range(7)] if "large headers" in broken else []
    lines += ["Content-Encoding: br"] if "coding" in broken else []
    lines += ["Idempotency-Key: " + ("used" if "key of another" in broken else "runs")] if {"key of another", "key that runs"} & set(broken) else []
    lines += ['If-Match: "v999-x"'] if "precondition" in broken else []
    body = {"status": "online"}
    if "field" in broken:
        body["printers"] = []
    if "to elsewhere" in broken:
        body["location_id"] = w.there
    if "unknown reference" in broken:
        body["location_id"] = "loc_0000000000000000000000"
    if "area" in broken:
        body["name"] = "TAKEN"
    text = json.dumps(body).encode()[:-1 if "syntax" in broken else None]
    lines.append(f"Content-Length: {99999999 if 'size' in broken else len(text)}")
    path = ("/v1/nowhere" if "no route" in broken else STATIONS) + "/"
    path += "prnt_stn_0000000000000000000000" if "no row" in broken else w.far if "row elsewhere" in broken else w.station
    path += "?" + ("fields=nope&" if "parameter" in broken else "") + ("x=" + "y" * 17000 if "long URI" in broken else "")
    head = f"{'PATCH' if 'method' in broken else 'POST'} {path} HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n"
    status, _, answer = Client(w.server, None).raw(head.encode() + (b"" if "size" in broken else text), timeout=WAIT)
    return status, json.loads(answer)["code"]


def test_nothing_broken(world):
    assert send(world, ()) == (200, None)


@pytest.mark.parametrize("check", CHECKS)
def test_alone(world, check):
    assert send(world, (check,)) == CHECKS[check][1:]


@pytest.mark.parametrize("first, second", PAIRS)
def test_pairs(world, first, second):
    assert send(world, (first, second)) == CHECKS[first][1:]


def test_each_pair_of_rows_is_tried():
    rows = sorted({row for row, *_ in CHECKS.values()})
    assert [r for r in rows if r % 1 == 0] == list(range(1, 13))
    assert {tuple(sorted({CHECKS[a][0], CHECKS[b][0]})) for a, b in PAIRS} == set(itertools.combinations(rows, 2))


def test_all_at_once(world):
    """One way of each row, and one row less each time."""
    ways = ["long URI", "no route", "revoked key", "spent key", "poor key", "media type", "key of another", "field", "no row", "to elsewhere", "precondition", "area"]
    for i in range(len(ways)):
        assert send(world, ways[i:]) == CHECKS[ways[i]][1:]


def test_locations_of_the_row_come_first(world):
    """Row 10: that of the row, then those named in the request."""
    third = make_location(world.org.client(), "Third")["id"]
    c = Client(world.server, world.keys["good"])
    c.refused("POST", f"{STATIONS}/{world.far}", 403, "location_access", [world.there], body={"location_id": third})
    c.refused("POST", f"{STATIONS}/{world.station}", 403, "location_access", [third], body={"location_id": third})


def test_all_problems_of_a_body_and_of_a_query(world):
    """Row 8: all of the query; when it is good, all of the body."""
    c = Client(world.server, world.keys["good"])
    path, body = f"{STATIONS}/{world.station}", {"name": 5, "display_name": 6}
    c.refused("POST", path, 400, "validation.failed", ["name", "display_name"], body=body)
    c.refused("GET", STATIONS + "?page=0&limit=none&status=x", 400, "param.invalid", ["page", "limit", "status"])
    c.refused("POST", path + "?fields=nope", 400, "param.invalid", ["fields"], body=body)
