"""Devices: spec 01 section 6.2."""
import time

import pytest

from test_keys import KEYS, with_key
from wharf import WAIT, make_location, soon

DEVICES = "/v1/devices"


@pytest.fixture
def admin(fresh):
    return fresh.client()


def device(client, **more):
    return client.post(DEVICES, {"name": "Scanner", **more}, expect=201).data


def test_create(fresh, admin):
    row = device(admin)
    assert list(row) == ["object", "id", "name", "api_key", "location_id", "allow_all_locations", "locations", "scopes", "platform",
                         "has_device_token", "status", "last_seen_at", "metadata", "created_at", "updated_at", "created_by", "updated_by"]
    assert row["id"].startswith("dev_") and row["api_key"] is None and row["scopes"] is None and row["platform"] == "other"
    assert row["allow_all_locations"] is True and row["locations"] == [] and row["status"] == "active" and row["has_device_token"] is False
    got = admin.get(f"{DEVICES}/{row['id']}").data
    assert got == {k: v for k, v in row.items() if k != "api_key"}
    assert [e[0] for e in fresh.events(row["id"])] == ["device.created"] and "api_key" not in fresh.events(row["id"])[0][1]


def test_locations(fresh, admin):
    a, b = (make_location(admin, n)["id"] for n in "AB")
    row = device(admin, location_id=a, issue_key=True)
    assert row["allow_all_locations"] is False and row["locations"] == [a]
    c = with_key(admin, row["api_key"])
    assert c.get("/v1/locations").ids == [a]
    row = admin.post(f"{DEVICES}/{row['id']}", {"locations": {"add": [b]}}, expect=200).data
    assert row["locations"] == [a, b]
    assert admin.post(f"{DEVICES}/{row['id']}", {"locations": [], "location_id": b}, expect=200).data["locations"] == [b]
    assert device(admin, location_id=a, allow_all_locations=True)["allow_all_locations"] is True
    near = fresh.client(locations=[a])
    near.refused("POST", DEVICES, 403, "location_access", [b], body={"name": "x", "location_id": b})
    near.refused("POST", DEVICES, 403, "location_access", [b], body={"name": "x"})
    near.refused("POST", DEVICES, 403, "location_access", [b], body={"name": "x", "location_id": a, "allow_all_locations": True})


def test_scopes(fresh, admin):
    row = device(admin, scopes={"locations": 2, "items": "read"}, issue_key=True)
    assert row["scopes"] == {"items": 1, "locations": 2}
    c = with_key(admin, row["api_key"])
    assert c.get("/v1/auth").data["scopes"] == {"items": 1, "locations": 2}
    assert c.get("/v1/auth").data["principal"] == {"type": "device", "id": row["id"], "name": "Scanner", "role": None}
    assert admin.post(f"{DEVICES}/{row['id']}", {"scopes": {"items": 0, "locations": 1}}, expect=200).data["scopes"] == {"locations": 1}
    soon(lambda: check_scopes(c, {"locations": 1}))
    assert admin.post(f"{DEVICES}/{row['id']}", {"scopes": None}, expect=200).data["scopes"] is None
    weak = fresh.client("devices:write,items:read")
    weak.refused("POST", DEVICES, 403, "scope_access", ["items:write"], body={"name": "x", "scopes": {"items": 2}})
    admin.refused("POST", DEVICES, 400, "validation.failed", ["scopes.zzz"], body={"name": "x", "scopes": {"zzz": 1}})
    # Without scopes of its own a device has those of role user, and its key no more than its maker.
    row = device(weak, issue_key=True)
    assert with_key(admin, row["api_key"]).get("/v1/auth").data["scopes"] == {"devices": 1, "items": 1}


def check_scopes(client, scopes):
    assert client.get("/v1/auth").data["scopes"] == scopes


def test_issue_key(fresh, admin):
    a = admin.post(DEVICES, {"name": "D", "issue_key": True}, expect=201, headers={"Idempotency-Key": "1"})
    key, = admin.get(f"{KEYS}?device_id={a.data['id']}").data
    assert a.data["api_key"][-4:] == key["last4"] and key["name"] == "D"
    again = admin.post(DEVICES, {"name": "D", "issue_key": True}, expect=201, headers={"Idempotency-Key": "1"})
    assert again.data == {**a.data, "api_key": None}
    admin.refused("POST", DEVICES, 400, "validation.failed", ["issue_key"], body={"name": "D", "issue_key": "yes"})
    assert device(admin, issue_key=False)["api_key"] is None


def test_device_token(fresh, admin):
    row = device(admin, device_token="push-address-4711")
    assert row["has_device_token"] is True and "device_token" not in row
    assert admin.get(f"{DEVICES}/{row['id']}").data["has_device_token"] is True
    stored, = fresh.server.sql("SELECT device_token FROM wharf.device WHERE id = %s", row["id"])
    assert stored[0] and "4711" not in stored[0]
    assert "4711" not in str(fresh.events(row["id"])) + str(fresh.changes(row["id"]))
    assert admin.post(f"{DEVICES}/{row['id']}", {"device_token": None}, expect=200).data["has_device_token"] is False


def test_disabled_and_deleted(fresh, admin):
    row = device(admin, issue_key=True)
    c = with_key(admin, row["api_key"])
    c.get("/v1/auth")
    admin.post(f"{DEVICES}/{row['id']}", {"status": "disabled"}, expect=200)
    soon(lambda: c.refused("GET", "/v1/auth", 401, "principal.disabled", []))
    admin.delete(f"{DEVICES}/{row['id']}")
    soon(lambda: c.refused("GET", "/v1/auth", 401, "api_key.revoked", []))
    assert [e[0] for e in fresh.events(row["id"])] == ["device.created", "device.updated", "device.deleted"]


def test_limits_of_fields(admin):
    assert device(admin, name="n" * 191)["name"] == "n" * 191
    for bad, path in (({"name": "n" * 192}, "name"), ({"name": None}, "name"), ({"platform": "amiga"}, "platform"), ({"status": "away"}, "status")):
        admin.refused("POST", DEVICES, 400, "validation.failed", [path], body={"name": "x", **bad})
    for platform in ("android", "ios", "windows", "macos", "linux", "other"):
        assert device(admin, platform=platform)["platform"] == platform
    assert admin.post(f"{DEVICES}/{device(admin)['id']}", {"last_seen_at": 0}, expect=200).data["last_seen_at"] is None


def test_last_seen_at(fresh, admin):
    """With last_used_at of its key, and as quietly: no new version, no event."""
    row, other = device(admin, issue_key=True), device(admin)
    assert row["last_seen_at"] is None
    with_key(admin, row["api_key"]).get("/v1/auth")
    end = time.monotonic() + WAIT
    while not (now := admin.get(f"{DEVICES}/{row['id']}").data)["last_seen_at"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert now["updated_at"] == row["updated_at"] and len(fresh.events(row["id"])) == 1
    assert now["last_seen_at"] == admin.get(f"{KEYS}?device_id={row['id']}").data[0]["last_used_at"]
    assert admin.get(f"{DEVICES}/{other['id']}").data["last_seen_at"] is None


def test_of_the_role_user(fresh, admin):
    """Scopes null: those of role user, whatever its key was given."""
    row = device(admin)
    key = admin.post(KEYS, {"device_id": row["id"], "scopes": {"locations": 2, "webhooks": 2, "contacts": 2}}, expect=201).data
    assert with_key(admin, key["api_key"]).get("/v1/auth").data["scopes"] == {"contacts": 2, "locations": 1}


def test_limit(fresh, admin):
    fresh.server.sql("INSERT INTO wharf.device (organization_id, id, name, created_at, updated_at) SELECT %s, 'dev_' || lpad(n::text, 22, '0'), 'n',"
                     " now(), now() FROM generate_series(1, 9999) AS n", fresh.id)
    device(admin)
    admin.refused("POST", DEVICES, 409, "device.too_many", [], body={"name": "x"})
