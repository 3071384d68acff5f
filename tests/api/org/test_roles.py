"""Roles, and what each scope opens: spec 01 section 6.3."""
import re

import pytest

from wharf import ROOT, make_location, soon

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


def catalogue():
    """The table of the document: {area: (level of admin, level of user)}."""
    text = (ROOT / "docs/spec/01-platform.md").read_text().split("### 6.3")[1].split("Roles [P]:")[0]
    rows, levels = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if re.match(r"\| [a-z]", line)], {}
    for areas, _, admin, user in rows:
        areas, columns = areas.split(" / "), [[{"w": 2, "r": 1, "–": 0}[x] for x in c.split(" / ")] for c in (admin, user)]
        for i, area in enumerate(areas):
            levels[area] = tuple(c[i if len(c) > 1 else 0] for c in columns)
    return levels


def test_the_catalogue(admin):
    levels = catalogue()
    assert len(levels) == 33 and levels["logs"] == (1, 1) and levels["support"] == (2, 2) and levels["events"] == (2, 1) and levels["api_keys"] == (0, 0)
    for column, role in enumerate(("admin", "user")):
        assert admin.get(f"{ROLES}/{role}").data["scopes"] == {area: v[column] for area, v in levels.items() if v[column]}, role
    served = {op["x-scope"].split(":")[0] for methods in admin.server.openapi["paths"].values() for op in methods.values() if "x-scope" in op}
    assert served - {"samples", "crates"} <= set(levels)


# What the column 'Covers' says beside the routes of a resource of the area's name.
COVERS = {
    "trackers:read": ["POST /v1/utils/providers/detect", "GET /v1/providers"],
    "contacts:write": ["POST /v1/contacts", "POST /v1/contacts/{id}/merge"], "groups:write": ["POST /v1/groups"],
    "locations:write": ["POST /v1/locations", "POST /v1/locations/{location}/layouts", "POST /v1/locations/{location}/users", "DELETE /v1/locations/{location}/users/{user}"],
    "print_stations:write": ["POST /v1/cloud-printing/stations"], "print_jobs:write": ["POST /v1/cloud-printing/jobs", "POST /v1/cloud-printing/stations/{station_id}/claim"],
    "reason_codes:write": ["POST /v1/reason-codes"], "batches:read": ["GET /v1/batches"], "batches:write": ["POST /v1/batches"], "exports:write": ["POST /v1/exports"],
    "workflow:write": ["POST /v1/workflows", "POST /v1/workflows/{workflow}/secrets"], "workflow:read": ["GET /v1/workflows/sync", "POST /v1/workflows/{workflow}/run"],
    "webhooks:write": ["POST /v1/webhooks"], "events:read": ["GET /v1/events", "GET /v1/events/{event}/outgoing-webhooks"], "events:write": ["POST /v1/events/{event}/resend"],
    "notifications:write": ["POST /v1/events/subscribers"], None: ["GET /v1/events/types", "GET /v1/auth"],
    "integrations:read": ["GET /v1/outgoing-integrations", "GET /v1/incoming-webhooks"], "integrations:write": ["POST /v1/integrations"],
    "logs:read": ["GET /v1/logs", "GET /v1/request-logs", "GET /v1/logs/verify"], "support:write": ["POST /v1/support"],
    "organizations:read": ["GET /v1/org", "GET /v1/modules", "GET /v1/test/outbox"], "organizations:write": ["POST /v1/org"],
    "users:write": ["POST /v1/users"], "devices:write": ["POST /v1/devices"], "roles:write": ["POST /v1/roles"], "api_keys:write": ["POST /v1/api-keys"],
    "system:read": ["GET /v1/system/lua-hooks"], "system:write": ["POST /v1/system/lua-hooks/reload"],
    "containers:write": ["POST /v1/containers"], "shipments:write": ["POST /v1/shipments"], "parcels:write": ["POST /v1/parcels"], "assets:write": ["POST /v1/assets", "POST /v1/assets/sequences"], "documents:write": ["POST /v1/documents"],
}


@pytest.mark.parametrize("scope", COVERS)
def test_what_a_scope_covers(fresh, scope):
    paths, stranger = fresh.server.openapi["paths"], fresh.client("audits:read")
    for method, path in (route.split() for route in COVERS[scope]):
        assert paths[path][method.lower()].get("x-scope") == scope
        if scope:
            stranger.refused(method, re.sub("{[^}]*}", "x", path), 403, "scope_access", [scope], body={} if method == "POST" else None)


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
    assert admin.post(ROLES, {"name": "r" * 191}, expect=201).data["scopes"] == {}
    admin.refused("POST", ROLES, 400, "validation.failed", ["name"], body={"name": "r" * 192})


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
