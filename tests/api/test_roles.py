"""Roles: spec 01 section 6.3."""
import pytest

from test_keys import soon
from wharf import make_location

ROLES = "/v1/roles"
BUILT_IN = ["admin", "developer", "owner", "user"]


@pytest.fixture
def admin(fresh):
    return fresh.client()


def test_built_in_roles(fresh, admin):
    rows = {r["id"]: r for r in admin.get(ROLES).data}
    assert sorted(rows) == BUILT_IN and all(r["built_in"] for r in rows.values())
    assert rows["owner"]["scopes"] == rows["developer"]["scopes"] == {"*": 2}
    assert admin.get(ROLES + "/owner").data == rows["owner"]
    for role in BUILT_IN:
        admin.refused("POST", f"{ROLES}/{role}", 403, "role_access", [], body={"name": "x"})
        admin.refused("DELETE", f"{ROLES}/{role}", 403, "role_access", [])
        admin.refused("POST", ROLES, 409, "role.exists", ["name"], body={"name": role.upper()})
    # What is listed is what such a user may.
    for role in ("admin", "user"):
        may = fresh.client(user=fresh.user(role=role)).get("/v1/auth").data["scopes"]
        assert {k: v for k, v in may.items() if k not in ("samples", "crates", "sample_parts")} == rows[role]["scopes"], role
    for role in ("owner", "developer"):
        may = fresh.client(user=fresh.user(role=role)).get("/v1/auth").data["scopes"]
        assert set(may.values()) == {2} and "system" not in may


def test_custom_role(fresh, admin):
    row = admin.post(ROLES, {"name": "Packer", "scopes": {"items": 2, "locations": "read"}}, expect=201).data
    assert list(row) == ["object", "id", "name", "scopes", "scope_list", "location_restricted", "built_in", "created_at", "updated_at", "created_by", "updated_by"]
    assert row["id"].startswith("role_") and row["location_restricted"] is True and row["built_in"] is False
    assert row["scopes"] == {"items": 2, "locations": 1} and row["scope_list"] == ["items:write", "locations:read"]
    c = fresh.client(user=fresh.user(role=row["id"]))
    assert c.get("/v1/auth").data["scopes"] == row["scopes"]
    admin.post(f"{ROLES}/{row['id']}", {"scopes": {"items": 0}}, expect=200)
    soon(lambda: check(c, {"locations": 1}))
    assert [e[0] for e in fresh.events(row["id"])] == ["role.created", "role.updated"]


def check(client, scopes):
    assert client.get("/v1/auth").data["scopes"] == scopes


def test_ids_are_not_chosen(admin):
    assert admin.post(ROLES, {"id": "owner", "name": "Mine"}, expect=201).data["id"].startswith("role_")


def test_location_restricted(fresh, admin):
    a = make_location(admin, "A")["id"]
    make_location(admin, "B")
    row = admin.post(ROLES, {"name": "Free", "scopes": ["locations:read"], "location_restricted": False}, expect=201).data
    c = fresh.client(user=fresh.user(role=row["id"], locations=[a]))
    assert len(c.get("/v1/locations").ids) == 2
    admin.post(f"{ROLES}/{row['id']}", {"location_restricted": True}, expect=200)
    soon(lambda: check_places(c, [a]))


def check_places(client, ids):
    assert client.get("/v1/locations").ids == ids


def test_refused(fresh, admin):
    weak = fresh.client("roles:write,items:read")
    weak.refused("POST", ROLES, 403, "scope_access", ["items:write"], body={"name": "x", "scopes": {"items": 2}})
    admin.refused("POST", ROLES, 400, "validation.failed", ["scopes.zzz"], body={"name": "x", "scopes": {"zzz": 1}})
    admin.refused("POST", ROLES, 403, "scope_access", ["system:write"], body={"name": "x", "scopes": {"system": 2}})
    admin.post(ROLES, {"name": "Twice"}, expect=201)
    admin.refused("POST", ROLES, 409, "role.exists", ["name"], body={"name": "twice"})


def test_in_use(fresh, admin):
    row = admin.post(ROLES, {"name": "Used", "scopes": {"items": 1}}, expect=201).data
    person = admin.post("/v1/users", {"name": "x", "email": "x@y.example", "role": row["id"]}, expect=201).data["id"]
    admin.refused("DELETE", f"{ROLES}/{row['id']}", 409, "role.in_use", [])
    admin.delete(f"/v1/users/{person}")
    admin.post("/v1/org", {"settings": {"users": {"default_role": row["id"]}}}, expect=200)
    admin.refused("DELETE", f"{ROLES}/{row['id']}", 409, "role.in_use", [])
    admin.post("/v1/org", {"settings": {"users": None}}, expect=200)
    admin.delete(f"{ROLES}/{row['id']}")
    admin.refused("GET", f"{ROLES}/{row['id']}", 404, "not_found")
