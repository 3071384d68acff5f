"""API keys: spec 01 section 5."""
import hashlib
import hmac
import os
import re
import time

import pytest

from test_auth import check_digits
from wharf import WAIT, Client, Server, make_location, soon, until

KEYS = "/v1/api-keys"
FIELDS = ["object", "id", "name", "api_key", "last4", "mode", "type", "system_generated", "scopes", "scope_list", "user_id", "device_id",
          "allow_all_locations", "location_ids", "limit_to_location", "ip_allowlist", "expires_at", "status", "last_used_at", "replaced_by",
          "revoked_at", "created_at", "updated_at", "created_by", "updated_by"]


def in_days(n):
    return int(time.time()) + n * 86400


def make(client, **more):
    return client.post(KEYS, more, expect=201).data


@pytest.fixture
def admin(fresh):
    return fresh.client()


def reaches(client, *ids):
    assert sorted(client.get("/v1/locations").ids) == sorted(ids)


def with_key(client, text):
    return type(client)(client.server, text)


def test_create_shows_the_text_once(admin):
    a = admin.post(KEYS, {"name": "Dock tablet", "scopes": {"locations": 2, "items": 1}}, expect=201)
    row = a.data
    assert list(row) == FIELDS
    assert re.fullmatch(r"wh_live_[0-9A-Za-z]{38}", row["api_key"]) and row["last4"] == row["api_key"][-4:]
    assert re.fullmatch(r"key_[0-9A-Za-z]{22}", row["id"]) and row["object"] == "api_key" and check_digits(row["api_key"][:-6]) == row["api_key"][-6:]
    assert row["mode"] == "live" and row["type"] == "user" and row["system_generated"] is False and row["status"] == "active"
    assert row["scopes"] == {"items": 1, "locations": 2} and row["scope_list"] == ["items:read", "locations:write"]
    assert row["allow_all_locations"] is True and row["location_ids"] == [] and row["limit_to_location"] is None
    assert a.headers["Location"] == f"{KEYS}/{row['id']}" and a.message == "API key created"
    got = admin.get(f"{KEYS}/{row['id']}").data
    assert "api_key" not in got and got == {k: v for k, v in row.items() if k != "api_key"}
    assert "api_key" not in next(r for r in admin.get(KEYS).data if r["id"] == row["id"])
    c = with_key(admin, row["api_key"])
    c.get("/v1/locations")
    c.refused("GET", "/v1/users", 403, "scope_access", ["users:read"])


def test_limits_of_fields(admin):
    """The largest that is taken, and the first that is not."""
    assert make(admin, name="n" * 191)["name"] == "n" * 191
    admin.refused("POST", KEYS, 400, "validation.failed", ["name"], body={"name": "n" * 192})
    assert len(make(admin, ip_allowlist=[f"192.0.2.{i}" for i in range(50)])["ip_allowlist"]) == 50
    many = [f"loc_{i:022d}" for i in range(1001)]
    assert "location_ids.0" in admin.refused("POST", KEYS, 400, "validation.failed", body={"location_ids": many[:1000]}).errors
    admin.refused("POST", KEYS, 400, "validation.failed", ["location_ids"], body={"location_ids": many})


def test_scopes_default_to_none(admin):
    row = make(admin)
    assert row["scopes"] == {} and row["scope_list"] == [] and row["name"] is None
    with_key(admin, row["api_key"]).refused("GET", KEYS, 403, "scope_access", ["api_keys:read"])


@pytest.mark.parametrize("sent, stored", [
    ({"items": 2}, {"items": 2}), ({"items": 1, "users": 0}, {"items": 1}), ({"items": "write", "users": "read", "roles": None}, {"items": 2, "users": 1}),
    (["items:read", "items:write", "users:read"], {"items": 2, "users": 1}), ([], {}), ({}, {})])
def test_scopes_input(admin, sent, stored):
    assert make(admin, scopes=sent)["scopes"] == stored


def test_scopes_merge_and_replace(admin):
    where = f"{KEYS}/{make(admin, scopes={'items': 1, 'users': 2})['id']}"
    assert admin.post(where, {"scopes": {"items": "write"}}, expect=200).data["scopes"] == {"items": 2, "users": 2}
    assert admin.post(where, {"scopes": {"users": 0}}, expect=200).data["scopes"] == {"items": 2}
    assert admin.post(where, {"scopes": {"items": None, "roles": 1}}, expect=200).data["scopes"] == {"roles": 1}
    assert admin.post(where, {"scopes": ["logs:read"]}, expect=200).data["scopes"] == {"logs": 1}
    assert admin.post(where, {"name": "same"}, expect=200).data["scopes"] == {"logs": 1}


@pytest.mark.parametrize("sent, errors", [
    ({"nonsense": 1}, ["scopes.nonsense"]), ({"items": 3}, ["scopes.items"]), ({"items": True}, ["scopes.items"]), ({"items": "all"}, ["scopes.items"]),
    (["items"], ["scopes.0"]), (["items:read", "items:own"], ["scopes.1"]), (["nonsense:read"], ["scopes.0"]), ([5], ["scopes.0"]),
    ("items:read", ["scopes"]), (None, ["scopes"])])
def test_scopes_refused(admin, sent, errors):
    admin.refused("POST", KEYS, 400, "validation.failed", errors, body={"scopes": sent})


def test_nobody_grants_what_he_lacks(fresh, admin):
    c = fresh.client("api_keys:write,items:read,locations:write")
    c.refused("POST", KEYS, 403, "scope_access", ["items:write", "users:read"], body={"scopes": {"items": 2, "locations": 2, "users": 1}})
    c.refused("POST", KEYS, 403, "scope_access", ["users:write"], body={"scopes": ["users:write"]})
    for scopes in ({"system": 1}, ["system:read"]):
        admin.refused("POST", KEYS, 403, "scope_access", ["system:read"], body={"scopes": scopes})
    row = make(c, scopes={"items": 1})
    c.refused("POST", f"{KEYS}/{row['id']}", 403, "scope_access", ["items:write"], body={"scopes": {"items": 2}})
    # What a key has already may stay in what is sent.
    strong = make(admin, scopes={"users": 2, "items": 2})
    assert c.post(f"{KEYS}/{strong['id']}", {"scopes": {"items": 2, "locations": 1}}, expect=200).data["scopes"] == {"items": 2, "locations": 1, "users": 2}
    c.refused("POST", f"{KEYS}/{strong['id']}", 403, "scope_access", ["roles:read"], body={"scopes": {"roles": 1}})


def test_locations(fresh, admin):
    a, b = (make_location(admin, n)["id"] for n in "AB")
    row = make(admin, scopes={"locations": 1}, location_ids=[a])
    assert row["allow_all_locations"] is False and row["location_ids"] == [a] and row["limit_to_location"] == a
    c = with_key(admin, row["api_key"])
    assert c.get("/v1/locations").ids == [a]
    admin.post(f"{KEYS}/{row['id']}", {"location_ids": {"add": [b]}}, expect=200)
    soon(lambda: reaches(c, a, b))
    assert admin.get(f"{KEYS}/{row['id']}").data["limit_to_location"] is None
    assert admin.post(f"{KEYS}/{row['id']}", {"limit_to_location": b}, expect=200).data["location_ids"] == [b]
    soon(lambda: reaches(c, b))
    assert admin.post(f"{KEYS}/{row['id']}", {"limit_to_location": None}, expect=200).data["allow_all_locations"] is True
    soon(lambda: reaches(c, a, b))
    unknown = "loc_0000000000000000000000"
    admin.refused("POST", KEYS, 400, "validation.failed", ["location_ids.1"], body={"location_ids": [a, unknown]})
    admin.refused("POST", KEYS, 400, "validation.failed", ["location_ids.0"], body={"limit_to_location": unknown})
    admin.refused("POST", KEYS, 400, "validation.failed", ["limit_to_location"], body={"limit_to_location": 5})


def test_nobody_grants_locations_he_lacks(fresh, admin):
    a, b = (make_location(admin, n)["id"] for n in "AB")
    c = fresh.client("api_keys:write,locations:read", locations=[a])
    make(c, location_ids=[a])
    c.refused("POST", KEYS, 403, "location_access", [b], body={"location_ids": [a, b]})
    c.refused("POST", KEYS, 403, "location_access", [b], body={"limit_to_location": b})
    c.refused("POST", KEYS, 403, "location_access", [b], body={"scopes": {}})
    row = make(admin, location_ids=[a])
    c.refused("POST", f"{KEYS}/{row['id']}", 403, "location_access", [b], body={"location_ids": {"add": [b]}})
    c.refused("POST", f"{KEYS}/{row['id']}", 403, "location_access", [b], body={"allow_all_locations": True})
    c.refused("POST", f"{KEYS}/{make(admin)['id']}/rotate", 403, "location_access", [b], body={})


def test_key_of_a_user_is_no_more_than_the_user(fresh, admin):
    a, b = (make_location(admin, n)["id"] for n in "AB")
    user = fresh.user(locations=[a])
    row = make(admin, user_id=user, scopes={"locations": 2, "api_keys": 2})
    assert row["user_id"] == user and row["device_id"] is None
    c = with_key(admin, row["api_key"])
    assert c.get("/v1/locations").ids == [a]
    c.refused("POST", f"/v1/locations/{a}", 403, "scope_access", ["locations:write"], body={"name": "x"})
    me = c.get("/v1/auth").data
    assert me["principal"]["type"] == "user" and me["principal"]["id"] == user and me["principal"]["role"] == "user"
    assert me["scopes"] == {"locations": 1} and me["location_ids"] == [a] and me["allow_all_locations"] is False
    for field, value in (("mode", "test"), ("user_id", None), ("device_id", "x")):
        admin.refused("POST", f"{KEYS}/{row['id']}", 400, "validation.failed", [field], body={field: value})
    admin.post(f"{KEYS}/{row['id']}", {"mode": "live", "user_id": user}, expect=200)
    device = admin.post("/v1/devices", {"name": "Scanner"}, expect=201).data["id"]
    admin.refused("POST", KEYS, 400, "validation.failed", ["device_id"], body={"user_id": user, "device_id": device})
    admin.refused("POST", KEYS, 400, "validation.failed", ["user_id"], body={"user_id": "user_0000000000000000000000"})
    owner = fresh.user(role="owner")
    admin.refused("POST", KEYS, 403, "role_access", [], body={"user_id": owner})


def test_test_keys(fresh, admin):
    test = with_key(admin, make(admin, mode="test", scopes={"api_keys": 2, "locations": 2, "users": 2})["api_key"])
    assert test.key.startswith("wh_test_")
    make_location(admin, "Live")
    place = make_location(test, "Test")["id"]
    assert test.get("/v1/locations").ids == [place]
    test.refused("POST", KEYS, 403, "scope_access", [], body={"mode": "live"})
    row = make(test, scopes={"locations": 1}, location_ids=[place])
    assert row["mode"] == "test" and row["api_key"].startswith("wh_test_")
    # Live keys are managed by live keys.
    live = make(admin)
    assert live["id"] not in test.get(KEYS).ids and row["id"] in test.get(KEYS).ids
    for method, path, body in (("GET", "", None), ("POST", "", {"name": "x"}), ("POST", "/rotate", {}), ("DELETE", "", None)):
        test.refused(method, f"{KEYS}/{live['id']}{path}", 404, "not_found", [live["id"]], body=body)
    assert {live["id"], row["id"]} <= set(admin.get(KEYS).ids)
    assert admin.get(f"{KEYS}?mode=test&id={live['id']},{row['id']}").ids == [row["id"]]
    # A live key gives a test key locations of the test data, never of its own.
    assert make(admin, mode="test", location_ids=[place])["limit_to_location"] == place
    mine = make_location(admin, "Mine")["id"]
    admin.refused("POST", KEYS, 400, "validation.failed", ["location_ids.0"], body={"mode": "test", "location_ids": [mine]})
    me = test.get("/v1/auth").data
    assert me["mode"] == "test" and me["organization_id"] != fresh.id
    assert fresh.server.sql("SELECT live_organization_id FROM wharf.organization WHERE id = %s", me["organization_id"]) == [(fresh.id,)]


def test_locations_of_a_user_are_live_ones(fresh, admin):
    user = fresh.user(locations=[make_location(admin)["id"]])
    test = with_key(admin, make(admin, mode="test", user_id=user, scopes={"locations": 1})["api_key"])
    place = make_location(with_key(admin, make(admin, mode="test", scopes={"locations": 2})["api_key"]))["id"]
    assert test.get("/v1/locations").ids == [place]


@pytest.mark.parametrize("listed, good", [("192.0.2.1", True), ("192.0.2.0/24", True), ("2001:db8::/32", True), ("::1", True), ("300.1.1.1", False),
                                          ("192.0.2.0/33", False), ("example.com", False), ("192.0.2.1-5", False), ("2001:db8::/129", False)])
def test_ip_allowlist_forms(admin, listed, good):
    if good:
        assert make(admin, ip_allowlist=[listed])["ip_allowlist"] == [listed]
    else:
        admin.refused("POST", KEYS, 400, "validation.failed", ["ip_allowlist.0"], body={"ip_allowlist": [listed]})


def test_ip_allowlist(admin):
    row = make(admin, scopes={"locations": 1}, ip_allowlist=["192.0.2.7"])
    c = with_key(admin, row["api_key"])
    c.refused("GET", "/v1/locations", 403, "ip_access", [])
    admin.post(f"{KEYS}/{row['id']}", {"ip_allowlist": ["127.0.0.0/8"]}, expect=200)
    soon(lambda: c.get("/v1/locations"))
    admin.post(f"{KEYS}/{row['id']}", {"ip_allowlist": ["192.0.2.7"]}, expect=200)
    soon(lambda: c.refused("GET", "/v1/locations", 403, "ip_access", []))
    admin.post(f"{KEYS}/{row['id']}", {"ip_allowlist": None}, expect=200)
    soon(lambda: c.get("/v1/locations"))
    admin.refused("POST", KEYS, 400, "validation.failed", ["ip_allowlist"], body={"ip_allowlist": [f"192.0.2.{i}" for i in range(51)]})


def test_expires_at(admin):
    for bad in (in_days(-1), "2020-01-01T00:00:00Z", 0):
        admin.refused("POST", KEYS, 400, "validation.failed", ["expires_at"], body={"expires_at": bad})
    row = make(admin, expires_at=in_days(3))
    assert row["expires_at"].endswith("Z")
    assert admin.post(f"{KEYS}/{row['id']}", {"expires_at": None}, expect=200).data["expires_at"] is None
    admin.refused("POST", f"{KEYS}/{row['id']}", 400, "validation.failed", ["expires_at"], body={"expires_at": in_days(-1)})


def ends_in(client, key, seconds):
    answer = client.get(f"{KEYS}/{key}", headers={"SVC-Datetime-Format": "epoch"})
    assert abs(answer.data["expires_at"] - time.time() - seconds) < 60


def test_rotate(fresh, admin):
    old = make(admin, name="CI", scopes={"locations": 2}, ip_allowlist=["127.0.0.1"])
    a = admin.post(f"{KEYS}/{old['id']}/rotate", {"overlap_seconds": 3600}, expect=201)
    new = a.data
    assert list(new) == FIELDS and new["id"] != old["id"] and new["api_key"] != old["api_key"]
    for field in ("name", "scopes", "ip_allowlist", "mode", "allow_all_locations"):
        assert new[field] == old[field]
    was = admin.get(f"{KEYS}/{old['id']}").data
    ends_in(admin, old["id"], 3600)
    assert was["replaced_by"] == new["id"] and was["status"] == "active" and was["expires_at"]
    for row in (old, new):
        with_key(admin, row["api_key"]).get("/v1/locations")
    assert a.headers["Location"] == f"{KEYS}/{new['id']}"
    rotated, = fresh.events(old["id"], "api_key.rotated")
    assert rotated[1]["replaced_by"] == new["id"] and "api_key" not in rotated[1]
    assert len(fresh.events(new["id"], "api_key.created")) == 1
    admin.post(f"{KEYS}/{new['id']}/rotate", {"overlap_seconds": 0}, expect=201)
    soon(lambda: with_key(admin, new["api_key"]).refused("GET", "/v1/locations", 401, "api_key.expired", []))
    admin.refused("POST", f"{KEYS}/{new['id']}/rotate", 409, "api_key.inactive", [], body={})
    assert admin.get(f"{KEYS}/{new['id']}").data["status"] == "expired" and admin.get(KEYS + "?status=expired").ids == [new["id"]]
    for overlap, seconds in (({}, 86400), ({"overlap_seconds": 604800}, 604800)):
        other = make(admin)["id"]
        admin.post(f"{KEYS}/{other}/rotate", overlap, expect=201)
        ends_in(admin, other, seconds)
    for bad in (-1, 604801, "5", 1.5):
        admin.refused("POST", f"{KEYS}/{old['id']}/rotate", 400, "validation.failed", ["overlap_seconds"], body={"overlap_seconds": bad})
    admin.refused("POST", f"{KEYS}/key_0000000000000000000000/rotate", 404, "not_found", body={})


def test_rotation_never_lengthens_the_old_key(admin):
    soon = int(time.time()) + 600
    row = make(admin, expires_at=soon)
    new = admin.post(f"{KEYS}/{row['id']}/rotate", {}, expect=201).data
    got = admin.get(f"{KEYS}/{row['id']}", headers={"SVC-Datetime-Format": "epoch"}).data
    assert got["expires_at"] == soon
    assert abs(admin.get(f"{KEYS}/{new['id']}", headers={"SVC-Datetime-Format": "epoch"}).data["expires_at"] - soon) < 60


def test_a_key_rotates_itself_and_no_stronger_one(fresh, admin):
    own = make(admin, scopes={"api_keys": 2})
    c = with_key(admin, own["api_key"])
    c.post(f"{KEYS}/{own['id']}/rotate", {}, expect=201)
    strong = make(admin, scopes={"users": 2})
    c.refused("POST", f"{KEYS}/{strong['id']}/rotate", 403, "scope_access", ["users:write"], body={})
    everything = admin.get("/v1/auth").data["key"]["id"]
    a = c.refused("POST", f"{KEYS}/{everything}/rotate", 403, "scope_access", body={})
    assert "users:write" in a.errors and "api_keys:write" not in a.errors


def test_revoke(fresh, admin):
    row = make(admin, scopes={"locations": 1})
    c = with_key(admin, row["api_key"])
    c.get("/v1/locations")
    assert admin.delete(f"{KEYS}/{row['id']}").data == {"id": row["id"], "object": "api_key", "deleted": True}
    soon(lambda: c.refused("GET", "/v1/locations", 401, "api_key.revoked", []))
    admin.refused("DELETE", f"{KEYS}/{row['id']}", 404, "not_found", [row["id"]])
    got = admin.get(f"{KEYS}/{row['id']}").data
    assert got["status"] == "revoked" and got["revoked_at"]
    assert row["id"] not in admin.get(KEYS).ids and admin.get(KEYS + "?status=revoked").ids == [row["id"]]
    admin.refused("POST", f"{KEYS}/{row['id']}", 409, "api_key.inactive", [], body={"name": "back"})
    admin.refused("POST", f"{KEYS}/{row['id']}/rotate", 409, "api_key.inactive", [], body={})
    event, = fresh.events(row["id"], "api_key.revoked")
    assert event[1]["status"] == "revoked" and "api_key" not in event[1]


def test_a_key_may_revoke_itself(fresh, admin):
    row = make(admin, scopes={"locations": 1})
    c = with_key(admin, row["api_key"])
    c.refused("DELETE", f"{KEYS}/{make(admin)['id']}", 403, "scope_access", ["api_keys:write"])
    c.delete(f"{KEYS}/{row['id']}")
    soon(lambda: c.refused("GET", "/v1/locations", 401, "api_key.revoked", []))


def test_filters(fresh, admin):
    user = fresh.user()
    a = make(admin, name="Ann", expires_at=in_days(2))
    b = make(admin, name="Bob", user_id=user)
    c = make(admin, name="Cid", mode="test")
    for query, ids in ((f"user_id={user}", [b["id"]]), ("name=ann", [a["id"]]), ("mode=test", [c["id"]]), (f"expires_at=lt:{in_days(3)}", [a["id"]]),
                       ("device_id=!null", []), ("name=Bob&type=user&status=active", [b["id"]]), ("status=expired,revoked", [])):
        assert admin.get(f"{KEYS}?{query}").ids == ids, query
    assert {a["id"], b["id"], c["id"]} <= set(admin.get(KEYS + "?created_at=gt:1700000000&updated_at=gt:1700000000").ids)
    assert admin.get(KEYS + "?type=system").ids == []
    admin.refused("GET", KEYS + "?status=gone", 400, "param.invalid", ["status"])


def test_last_used_at(fresh, admin):
    row = make(admin, scopes={"locations": 1})
    assert row["last_used_at"] is None
    c = with_key(admin, row["api_key"])
    c.get("/v1/locations")
    end = time.monotonic() + WAIT
    while not admin.get(f"{KEYS}/{row['id']}").data["last_used_at"]:
        assert time.monotonic() < end
        time.sleep(0.1)
    first = admin.get(f"{KEYS}/{row['id']}").data
    fresh.server.sql("NOTIFY wharf_auth")
    for _ in range(20):
        c.get("/v1/locations")
        time.sleep(0.1)
    again = admin.get(f"{KEYS}/{row['id']}").data
    assert again["last_used_at"] == first["last_used_at"] and again["updated_at"] == row["updated_at"]
    assert admin.get(f"{KEYS}?last_used_at=gte:{int(time.time()) - 60}&id={row['id']}").ids == [row["id"]]


def test_security_settings(fresh, admin):
    old = make(admin)
    fresh.server.sql("UPDATE wharf.organization SET settings = '{\"security\": {\"max_key_lifetime_days\": 30, \"require_ip_allowlist\": true}}' WHERE id = %s", fresh.id)
    admin.refused("POST", KEYS, 400, "validation.failed", ["expires_at", "ip_allowlist"], body={})
    admin.refused("POST", KEYS, 400, "validation.failed", ["expires_at"], body={"expires_at": in_days(31), "ip_allowlist": ["::1"]})
    row = make(admin, expires_at=in_days(29), ip_allowlist=["::1"])
    for body, errors in (({"expires_at": None}, ["expires_at"]), ({"expires_at": in_days(31)}, ["expires_at"]), ({"ip_allowlist": []}, ["ip_allowlist"])):
        admin.refused("POST", f"{KEYS}/{row['id']}", 400, "validation.failed", errors, body=body)
    admin.post(f"{KEYS}/{old['id']}", {"name": "older than the rule"}, expect=200)
    admin.post(f"{KEYS}/{row['id']}", {"expires_at": in_days(20)}, expect=200)


def test_who_am_i(fresh, admin):
    a = admin.get("/v1/auth").data
    assert list(a) == ["object", "organization_id", "mode", "principal", "key", "scopes", "scope_list", "allow_all_locations", "location_ids"]
    assert a["organization_id"] == fresh.id and a["mode"] == "live" and a["key"]["last4"] == admin.key[-4:]
    assert a["principal"] == {"type": "api_key", "id": a["key"]["id"], "name": a["key"]["name"], "role": None}
    assert a["allow_all_locations"] is True and a["location_ids"] == [] and "system" not in a["scopes"]
    assert a["scope_list"] == sorted(f"{k}:{'write' if v == 2 else 'read'}" for k, v in a["scopes"].items())
    end = in_days(1)
    c = with_key(admin, make(admin, name="N", expires_at=end)["api_key"])
    me = c.get("/v1/auth", headers={"SVC-Datetime-Format": "epoch"}).data
    assert me["key"]["expires_at"] == end and me["key"]["name"] == "N" and me["scopes"] == {}
    admin.request("GET", "/v1/auth", key=None, expect=401)


def test_a_replay_has_no_key(fresh, admin):
    headers = {"Idempotency-Key": "once"}
    first = admin.post(KEYS, {"name": "I"}, expect=201, headers=headers)
    again = admin.post(KEYS, {"name": "I"}, expect=201, headers=headers)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.data == {**first.data, "api_key": None} and first.data["api_key"]
    assert len(fresh.server.sql("SELECT 1 FROM wharf.api_key WHERE organization_id = %s AND name = 'I'", fresh.id)) == 1
    headers = {"Idempotency-Key": "turn"}
    where = f"{KEYS}/{first.data['id']}/rotate"
    one, two = (admin.post(where, {}, expect=201, headers=headers).data for _ in range(2))
    assert one["api_key"] and two == {**one, "api_key": None}


def test_the_text_is_stored_nowhere(fresh, admin):
    texts = [make(admin, name="S")["api_key"]]
    row = admin.post(KEYS, {"name": "T"}, expect=201, headers={"Idempotency-Key": "k"}).data
    texts += [row["api_key"], admin.post(f"{KEYS}/{row['id']}/rotate", {}, expect=201).data["api_key"]]
    texts.append(admin.post("/v1/devices", {"name": "D", "issue_key": True}, expect=201, headers={"Idempotency-Key": "d"}).data["api_key"])
    for text in texts:
        with_key(admin, text).get("/v1/auth")
        with_key(admin, text).request("POST", KEYS, body={"scopes": "bad"})
    server = fresh.server
    tables = server.sql("SELECT format('%%I.%%I', schemaname, tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')")
    assert len(tables) > 10
    for (table,) in tables:
        for text in texts:
            assert server.sql(f"SELECT count(*) FROM {table} AS t WHERE t::text LIKE %s", f"%{text[8:40]}%") == [(0,)], table
    for folder, _, names in os.walk(server.folder):
        if "postgres" in folder:
            continue
        for name in names:
            content = open(os.path.join(folder, name), "rb").read() if os.path.isfile(os.path.join(folder, name)) else b""
            for text in texts:
                assert text[8:40].encode() not in content, name


def test_events_and_change_log(fresh, admin):
    row = make(admin, name="E")
    created, = fresh.events(row["id"])
    assert created[0] == "api_key.created" and created[1]["id"] == row["id"] and "api_key" not in created[1] and "hash" not in created[1]
    admin.post(f"{KEYS}/{row['id']}", {"name": "F"}, expect=200)
    assert [e[0] for e in fresh.events(row["id"])] == ["api_key.created"]
    changes = fresh.changes(row["id"])
    assert [c[0] for c in changes] == ["created", "updated"] and changes[1][1] == [{"field": "name", "old": "E", "new": "F"}]


def test_limit(fresh, admin):
    fresh.server.sql("INSERT INTO wharf.api_key (organization_id, id, last4, created_at, updated_at)"
                     " SELECT %s, 'key_' || lpad(n::text, 22, '0'), 'xxxx', now(), now() FROM generate_series(1, 998) AS n", fresh.id)
    row = make(admin)
    admin.refused("POST", KEYS, 409, "api_key.too_many", [], body={})
    admin.delete(f"{KEYS}/{row['id']}")
    make(admin)
    fresh.server.sql("DELETE FROM wharf.api_key WHERE organization_id = %s AND last4 = 'xxxx'", fresh.id)  # they have no hashes


def test_with_a_pepper_its_hash_is_an_hmac(client):
    """What is stored of a key is SHA-256 of its text; with auth.pepper nobody can compute it who has the database alone."""
    text = client.key.encode()
    assert client.server.sql("SELECT 1 FROM wharf.token WHERE hash = %s", hashlib.sha256(text).digest())
    pepper = ("--set", "auth.pepper=not in the database")
    s = Server("--modules", "org", *pepper)
    try:
        text = re.search(r"wh_live_\w{38}", s.command("key", "create", "--org", s.organization().id, "--scopes", "all", *pepper)).group(0)
        admin = Client(s, text)
        for key in (text, make(admin)["api_key"]):
            Client(s, key).get("/v1/auth")
            found = [bool(s.sql("SELECT 1 FROM wharf.token WHERE hash = %s", h)) for h in
                     (hmac.digest(b"not in the database", key.encode(), "sha256"), hashlib.sha256(key.encode()).digest())]
            assert found == [True, False]
    finally:
        s.stop()


def test_expired_keys_are_purged(server):
    s = Server("--modules", "org", "--test-clock")
    try:
        org = s.organization()
        admin = org.client()
        system = type(admin)(s, re.search(r"wh_live_\w{38}", s.command("key", "create", "--org", org.id, "--system")).group(0))
        row = make(admin, expires_at=in_days(1))
        gone = make(admin)
        admin.delete(f"{KEYS}/{gone['id']}")
        c = with_key(admin, row["api_key"])
        used = lambda: admin.get(f"{KEYS}/{row['id']}").data["last_used_at"]
        c.get("/v1/auth")
        until(used)
        first = used()
        system.post("/v1/system/clock", {"offset_seconds": 61}, expect=200)
        until(lambda: c.get("/v1/auth") and used() > first)  # a worker may hear of the other time a moment later
        for days, code in ((2, "api_key.expired"), (30, "api_key.expired"), (32, "api_key.invalid")):
            system.post("/v1/system/clock", {"offset_seconds": days * 86400}, expect=200)
            soon(lambda: c.refused("GET", "/v1/auth", 401, code, []))
        until(lambda: not s.sql("SELECT 1 FROM wharf.api_key WHERE id IN (%s, %s)", row["id"], gone["id"]))
        assert s.sql("SELECT 1 FROM wharf.token WHERE id = %s", row["id"]) == []
        c.refused("GET", "/v1/auth", 401, "api_key.invalid", [])
        with_key(admin, gone["api_key"]).refused("GET", "/v1/auth", 401, "api_key.invalid", [])
    finally:
        s.stop()


# ---- test mode: the outbox ----

@pytest.fixture(scope="module")
def outside():
    from wharf import BUILD
    s = Server("--modules", f"org,{BUILD}/tests/plugins/outside.so", "--set", "mail.url=")
    yield s
    s.stop()


def test_mails_of_test_organizations_are_kept(outside):
    org = outside.organization()
    live, test = org.client(), org.client(test=True)
    mail = {"to": ["a@example.com", "b@example.com"], "subject": "Hello", "text": "T", "html": "<p>T</p>", "reply_to": "r@example.com",
            "files": [{"name": "x.csv", "type": "text/csv", "text": "1"}]}
    live.refused("POST", "/v1/outside/mail", 503, "mail.unavailable", body=mail)
    test.post("/v1/outside/mail", mail, expect=200)
    row, = test.get("/v1/test/outbox").data
    assert row["kind"] == "mail" and row["recipients"] == mail["to"] and row["subject"] == "Hello" and row["files"] == ["x.csv"]
    assert row["text"] == "T" and row["html"] == "<p>T</p>" and row["reply_to"] == "r@example.com"
    assert test.get(f"/v1/test/outbox/{row['id']}").data == row
    assert live.get("/v1/test/outbox").data == []
    test.refused("POST", "/v1/outside/mail", 400, "mail.refused", body={**mail, "to": ["no address"]})
    org.client("users:read", test=True).refused("GET", "/v1/test/outbox", 403, "scope_access", ["organizations:read"])
    assert len(test.get("/v1/test/outbox?kind=mail&subject=hello").data) == 1
