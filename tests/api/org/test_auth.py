"""Keys, scopes and location access: spec 01 sections 5 to 7."""
import random
import string
import zlib

import pytest

from wharf import STATIONS, make_location, make_station, until

REALM = 'ApiKey realm="api"'


DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase


def check_digits(body):
    """The last six characters of a key."""
    n, check = zlib.crc32(body.encode()), ""
    for _ in range(6):
        check = DIGITS[n % 62] + check
        n //= 62
    return check


def key_text(mode="live"):
    """A well-formed key that nobody was given."""
    body = f"wh_{mode}_" + "".join(random.choice(DIGITS) for _ in range(32))
    return body + check_digits(body)


def test_missing_and_invalid(client):
    a = client.refused("GET", "/v1/locations", 401, "api_key.missing", [], key=None)
    assert a.headers["WWW-Authenticate"] == REALM
    for bad in ("x", "wh_live_", client.key[:-1], client.key[:-1] + ("A" if client.key[-1] != "A" else "B"), key_text(), client.key.lower()):
        a = client.refused("GET", "/v1/locations", 401, "api_key.invalid", [], key=bad)
        assert a.headers["WWW-Authenticate"] == REALM
    client.refused("GET", "/v1/locations?api_key=" + client.key, 401, "api_key.missing", key=None)


def test_three_headers_in_order(client):
    good, bad = client.key, key_text()
    for headers in ({"SVC-API-KEY": good}, {"X-API-KEY": good}, {"Authorization": "Bearer " + good}, {"authorization": "bearer " + good},
                    {"SVC-API-KEY": good, "X-API-KEY": bad, "Authorization": "Bearer " + bad}, {"X-API-KEY": good, "Authorization": "Bearer " + bad}):
        client.get("/v1/locations", key=None, headers=headers)
    client.refused("GET", "/v1/locations", 401, "api_key.invalid", key=None, headers={"SVC-API-KEY": bad, "X-API-KEY": good})
    client.refused("GET", "/v1/locations", 401, "api_key.missing", key=None, headers={"Authorization": "Basic " + good})


def test_mode_header(client):
    assert client.get("/v1/locations").headers["SVC-Mode"] == "live"


def test_test_keys_see_other_data(fresh):
    live = fresh.client()
    make_location(live, "Live")
    test = fresh.client(test=True)
    a = test.get("/v1/locations")
    assert a.headers["SVC-Mode"] == "test" and a.data == []
    make_location(test, "Test")
    assert [r["name"] for r in live.get("/v1/locations").data] == ["Live"]


def test_scopes(fresh):
    place = make_location(fresh.client())["id"]
    read = fresh.client("locations:read")
    read.get("/v1/locations")
    read.get("/v1/locations/" + place)
    read.refused("POST", "/v1/locations", 403, "scope_access", ["locations:write"], body={})
    read.refused("POST", "/v1/locations/" + place, 403, "scope_access", ["locations:write"], body={})
    read.refused("DELETE", "/v1/locations/" + place, 403, "scope_access", ["locations:write"])
    read.refused("GET", STATIONS, 403, "scope_access", ["print_stations:read"])
    fresh.client("locations:write").get("/v1/locations")


def test_scopes_are_met_with_the_users(fresh):
    admin = fresh.client(user=fresh.user(role="user"))
    admin.get("/v1/locations")
    admin.refused("POST", "/v1/locations", 403, "scope_access", ["locations:write"], body={})


def test_locations_are_met_with_the_users(fresh):
    owner = fresh.client()
    a, b, c = (make_location(owner, n)["id"] for n in "ABC")
    user = fresh.user(locations=[a, b])
    assert set(fresh.client(user=user).get("/v1/locations").ids) == {a, b}
    assert fresh.client(user=user, locations=[b, c]).get("/v1/locations").ids == [b]
    boss = fresh.user(role="owner", locations=[a])
    assert len(fresh.client(user=boss).get("/v1/locations").ids) == 3


def test_disabled_users(fresh, server):
    user = fresh.user(role="admin")
    c = fresh.client(user=user)
    c.get("/v1/locations")
    server.sql("UPDATE wharf.user SET status = 'disabled' WHERE id = %s", user)
    server.sql("NOTIFY wharf_auth")
    until(lambda: c.request("GET", "/v1/locations").code == "principal.disabled")
    assert c.refused("GET", "/v1/locations", 401, "principal.disabled", []).headers["WWW-Authenticate"] == REALM


def test_revoked_and_expired_keys(fresh, server):
    a, b = fresh.client(), fresh.client()
    server.sql("UPDATE wharf.api_key SET revoked_at = now() WHERE organization_id = %s AND last4 = %s", fresh.id, a.key[-4:])
    server.sql("UPDATE wharf.api_key SET expires_at = now() - interval '1 minute' WHERE organization_id = %s AND last4 = %s", fresh.id, b.key[-4:])
    server.sql("NOTIFY wharf_auth")
    until(lambda: a.request("GET", "/v1/locations").status == 401 and b.request("GET", "/v1/locations").status == 401)
    assert a.refused("GET", "/v1/locations", 401, "api_key.revoked", []).headers["WWW-Authenticate"] == REALM
    assert b.refused("GET", "/v1/locations", 401, "api_key.expired", []).headers["WWW-Authenticate"] == REALM
    assert "WWW-Authenticate" not in fresh.client("users:read").refused("GET", "/v1/locations", 403, "scope_access").headers


def test_other_organizations(fresh, server):
    mine = fresh.client()
    place = make_location(mine)["id"]
    station = make_station(mine, place)["id"]
    other = server.organization().client()
    for path in ("/v1/locations/" + place, f"{STATIONS}/{station}"):
        for method in ("GET", "POST", "DELETE"):
            other.refused(method, path, 404, "not_found", [path.rsplit("/", 1)[1]], body={} if method == "POST" else None)
    assert other.get("/v1/locations").data == [] and other.get(STATIONS).data == []
    assert other.get(f"{STATIONS}?location_id={place}").data == []
    theirs = make_location(other)["id"]
    other.refused("POST", "/v1/samples", 400, "validation.failed", ["location_id"], body={"status": "open", "location_id": place})
    other.post("/v1/samples", {"status": "open", "location_id": theirs}, expect=201)


def test_location_access(fresh):
    owner = fresh.client()
    a, b = make_location(owner, "A")["id"], make_location(owner, "B")["id"]
    c = fresh.client(locations=[a])
    at_a = owner.post("/v1/samples", {"status": "open", "location_id": a}, expect=201).data["id"]
    at_b = owner.post("/v1/samples", {"status": "open", "location_id": b}, expect=201).data["id"]
    none = owner.post("/v1/samples", {"status": "open"}, expect=201).data["id"]
    for method, body in (("GET", None), ("POST", {"name": "x"}), ("DELETE", None)):
        c.refused(method, "/v1/samples/" + at_b, 403, "location_access", [b], body=body)
    c.post("/v1/samples/" + none, {"name": "mine"}, expect=200)
    c.refused("POST", "/v1/samples/" + at_a, 403, "location_access", [b], body={"location_id": b})
    c.refused("POST", "/v1/samples/" + none, 403, "location_access", [b], body={"location_id": b})
    c.refused("POST", "/v1/samples", 403, "location_access", [b], body={"status": "open", "location_id": b})
    c.refused("POST", "/v1/samples", 400, "validation.failed", ["location_id"], body={"status": "open", "location_id": "loc_0000000000000000000000"})
    c.post("/v1/samples/" + at_a, {"location_id": None}, expect=200)
    assert owner.get("/v1/samples/" + at_a).data["location_id"] is None


def test_access_changes_within_a_second(fresh, server):
    owner = fresh.client()
    a, b = make_location(owner, "A")["id"], make_location(owner, "B")["id"]
    user = fresh.user(locations=[a])
    c = fresh.client(user=user)
    assert c.get("/v1/locations").ids == [a]
    server.sql("UPDATE wharf.user SET locations = locations || to_jsonb(%s::text) WHERE organization_id = %s AND id = %s", b, fresh.id, user)
    server.sql("NOTIFY wharf_auth")
    until(lambda: len(c.get("/v1/locations").ids) == 2)
