"""Users: spec 01 section 6.1, and who reaches a location: section 7."""
import pytest

from test_keys import KEYS, make, with_key
from wharf import make_location, soon

USERS = "/v1/users"
FIELDS = ["object", "id", "name", "email", "role", "role_id", "phone", "profile_id", "status", "allow_all_locations", "locations",
          "notification_events", "fcm_tokens", "quiet_hours", "language", "developer_mode", "dark_mode", "show_dock", "onboarded_apps", "scopes", "requirements", "metadata",
          "signed_in_at", "created_at", "updated_at", "created_by", "updated_by"]


def user(client, name="ann", **more):
    return client.post(USERS, {"name": name, "email": f"{name}@example.com", **more}, expect=201).data


@pytest.fixture
def admin(fresh):
    return fresh.client()


@pytest.fixture
def owner(fresh):
    """Acts for the organization's one owner."""
    fresh.owner = fresh.user(role="owner", email="owner@example.com")
    return fresh.client(user=fresh.owner)


def test_create(fresh, admin):
    row = user(admin, "Ann")
    assert list(row) == FIELDS
    assert row["id"].startswith("user_") and row["role"] == row["role_id"] == "user" and row["status"] == "active"
    assert row["allow_all_locations"] is True and row["locations"] == [] and row["requirements"] == {"email_verified": False}
    assert row["notification_events"] == [] and row["onboarded_apps"] == [] and row["phone"] is row["profile_id"] is row["signed_in_at"] is None
    assert row["show_dock"] is True and row["dark_mode"] is row["developer_mode"] is False and row["fcm_tokens"] == []
    assert "items:write" in row["scopes"] and "locations:read" in row["scopes"] and row["scopes"] == sorted(row["scopes"])
    assert admin.get(f"{USERS}/{row['id']}").data == row
    assert [e[0] for e in fresh.events(row["id"])] == ["user.created"]


def test_limits_of_fields(admin):
    """The largest that is taken, and the first that is not."""
    name, email = "n" * 191, "e" * 64 + "@" + ("x" * 59 + ".") * 3 + "y" * 9
    assert len(email) == 254 and user(admin, email=email, name=name)["email"] == email
    for bad, path in (({"name": name + "n"}, "name"), ({"email": email + "z"}, "email"), ({"role": None}, "role"), ({"status": "away"}, "status"),
                      ({"allow_all_locations": "yes"}, "allow_all_locations"), ({"notification_events": "all"}, "notification_events")):
        admin.refused("POST", USERS, 400, "validation.failed", [path], body={"name": "x", "email": "x@y.example", **bad})
    for less in ({"name": "x"}, {"email": "x@y.example"}):
        admin.refused("POST", USERS, 400, "validation.failed", body=less)
    assert len(user(admin, "many", fcm_tokens=[str(i) for i in range(20)])["fcm_tokens"]) == 20


def test_preferences_are_stored(admin):
    sent = {"developer_mode": True, "dark_mode": True, "show_dock": False, "onboarded_apps": ["scan"], "notification_events": ["location.created"], "profile_id": "p7"}
    row = user(admin, "pat", **sent)
    assert {k: row[k] for k in sent} == sent
    got = admin.post(f"{USERS}/{row['id']}", {"scopes": ["items:write"], "requirements": {"email_verified": True}, "signed_in_at": 0}, expect=200).data
    assert got == row, "these are read-only"


def test_email(admin):
    user(admin, "Ann")
    admin.refused("POST", USERS, 409, "user.exists", ["email"], body={"name": "x", "email": "ANN@EXAMPLE.com"})
    for bad in ("ann", "a@b", "a b@c.example", "@c.example", "a@@c.example", "x" * 65 + "@c.example"):
        admin.refused("POST", USERS, 400, "validation.failed", ["email"], body={"name": "x", "email": bad})
    row = user(admin, "Bob", email="Bob@Example.com")
    assert row["email"] == "Bob@Example.com"
    admin.refused("POST", f"{USERS}/{row['id']}", 409, "user.exists", ["email"], body={"email": "ann@example.com"})
    admin.delete(f"{USERS}/{row['id']}")
    user(admin, "Bob")


def test_phone(admin):
    assert user(admin, phone="(217) 555-0100")["phone"] == "+12175550100"
    admin.refused("POST", USERS, 400, "validation.failed", ["phone"], body={"name": "x", "email": "x@y.example", "phone": "call me"})


def test_roles(fresh, admin):
    custom = admin.post("/v1/roles", {"name": "Packer", "scopes": {"items": 1}}, expect=201).data["id"]
    assert user(admin, "a", role="admin")["role"] == "admin"
    row = user(admin, "b", role_id=custom)
    assert row["role"] == row["role_id"] == custom and row["scopes"] == ["items:read"]
    assert admin.post(f"{USERS}/{row['id']}", {"role": "user"}, expect=200).data["role"] == "user"
    for body in ({"role": "boss"}, {"role": "role_0000000000000000000000"}):
        admin.refused("POST", USERS, 400, "validation.failed", ["role"], body={"name": "x", "email": "x@y.example", **body})
    admin.refused("POST", USERS, 400, "validation.failed", ["role_id"], body={"name": "x", "email": "x@y.example", "role": "user", "role_id": "admin"})
    admin.post("/v1/org", {"settings": {"users": {"default_role": custom}}}, expect=200)
    assert user(admin, "c")["role"] == custom


def test_nobody_grants_a_role_above_his_own(fresh, admin):
    weak = fresh.client("users:write,items:read")
    a = weak.refused("POST", USERS, 403, "scope_access", body={"name": "x", "email": "x@y.example"})
    assert "items:write" in a.errors and "users:read" not in a.errors
    role = admin.post("/v1/roles", {"name": "Looker", "scopes": {"items": 1}}, expect=201).data["id"]
    row = user(weak, role=role)
    a = weak.refused("POST", f"{USERS}/{row['id']}", 403, "scope_access", body={"role": "admin"})
    assert "users:write" not in a.errors


def test_only_owners_make_and_remove_owners(fresh, admin, owner):
    body = {"name": "x", "email": "x@y.example", "role": "owner"}
    admin.refused("POST", USERS, 403, "role_access", [], body=body)
    second = owner.post(USERS, body, expect=201).data["id"]
    for change in ({"role": "admin"}, {"status": "disabled"}, {"status": "invited"}):
        admin.refused("POST", f"{USERS}/{second}", 403, "role_access", [], body=change)
    admin.refused("DELETE", f"{USERS}/{second}", 403, "role_access", [])
    admin.post(f"{USERS}/{second}", {"name": "y"}, expect=200)
    third = user(admin, "third")["id"]
    admin.refused("POST", f"{USERS}/{third}", 403, "role_access", [], body={"role": "owner"})
    owner.post(f"{USERS}/{third}", {"role": "owner"}, expect=200)
    owner.post(f"{USERS}/{second}", {"role": "developer"}, expect=200)


def test_the_last_owner_stays(fresh, owner):
    me = f"{USERS}/{fresh.owner}"
    for change in ({"role": "admin"}, {"status": "disabled"}, {"status": "invited"}):
        owner.refused("POST", me, 409, "user.last_owner", [], body=change)
    owner.refused("DELETE", me, 409, "user.last_owner", [])
    other = owner.post(USERS, {"name": "x", "email": "x@y.example", "role": "owner", "status": "disabled"}, expect=201).data["id"]
    owner.refused("DELETE", me, 409, "user.last_owner", [])
    owner.post(f"{USERS}/{other}", {"status": "active"}, expect=200)
    owner.delete(me)
    assert fresh.server.sql("SELECT count(*) FROM wharf.user WHERE organization_id = %s AND role = 'owner' AND deleted_at IS NULL", fresh.id) == [(1,)]


def test_disabled_and_deleted_users(fresh, admin):
    row = user(admin)
    key = make(admin, user_id=row["id"], scopes={"users": 1})
    c = with_key(admin, key["api_key"])
    c.get(USERS)
    admin.post(f"{USERS}/{row['id']}", {"status": "disabled"}, expect=200)
    soon(lambda: c.refused("GET", USERS, 401, "principal.disabled", []))
    admin.post(f"{USERS}/{row['id']}", {"status": "active"}, expect=200)
    soon(lambda: c.get(USERS))
    admin.delete(f"{USERS}/{row['id']}")
    soon(lambda: c.refused("GET", USERS, 401, "api_key.revoked", []))
    assert admin.get(f"{KEYS}/{key['id']}").data["status"] == "revoked"
    assert [e[0] for e in fresh.events(row["id"])] == ["user.created", "user.updated", "user.updated", "user.deleted"]
    assert len(fresh.events(key["id"], "api_key.revoked")) == 1


def test_fcm_token(fresh, admin):
    row = user(admin, fcm_tokens=["one", "two"])
    assert row["fcm_tokens"] == ["one", "two"]
    assert admin.post(f"{USERS}/{row['id']}", {"fcm_token": "three"}, expect=200).data["fcm_tokens"] == ["three"]
    assert admin.post(f"{USERS}/{row['id']}", {"fcm_token": None}, expect=200).data["fcm_tokens"] == []
    admin.refused("POST", f"{USERS}/{row['id']}", 400, "validation.failed", ["fcm_token"], body={"fcm_token": 5})
    admin.refused("POST", f"{USERS}/{row['id']}", 400, "validation.failed", ["fcm_tokens"], body={"fcm_tokens": [str(i) for i in range(21)]})
    assert all("fcm_tokens" not in e[1] for e in fresh.events(row["id"]))
    assert "three" not in str(fresh.changes(row["id"]))


def test_locations(fresh, admin):
    a, b = (make_location(admin, n)["id"] for n in "AB")
    row = user(admin, locations=[a])
    assert row["allow_all_locations"] is False and row["locations"] == [a]
    c = fresh.client(user=row["id"])
    assert c.get("/v1/locations").ids == [a]
    admin.post(f"{USERS}/{row['id']}", {"locations": {"add": [b], "remove": [a]}}, expect=200)
    soon(lambda: check_reach(c, b))
    near = fresh.client(locations=[a])
    near.refused("POST", USERS, 403, "location_access", [b], body={"name": "x", "email": "x@y.example", "locations": [b]})
    near.refused("POST", USERS, 403, "location_access", [b], body={"name": "x", "email": "x@y.example"})
    assert user(near, "near", locations=[a])["locations"] == [a]
    assert user(admin, "dev", role="developer", allow_all_locations=False)["allow_all_locations"] is True
    assert admin.get(f"{USERS}?location_id={b}").ids == [row["id"]]
    admin.refused("POST", USERS, 400, "validation.failed", ["locations.0"],
                  body={"name": "x", "email": "x@y.example", "locations": ["loc_0000000000000000000000"]})


def check_reach(client, *ids):
    assert sorted(client.get("/v1/locations").ids) == sorted(ids)


def test_list(admin):
    for n in ("cid", "ann", "bob"):
        user(admin, n, role="admin" if n == "bob" else "user", status="disabled" if n == "cid" else "active")
    assert [r["name"] for r in admin.get(USERS).data] == ["ann", "bob", "cid"]
    for q, names in (("role=admin", ["bob"]), ("status=disabled", ["cid"]), ("email=ANN@example.com", ["ann"]), ("name=bob", ["bob"]),
                     ("search=cid", ["cid"]), ("updated_at=gt:1700000000&role=admin", ["bob"]), ("updated_at=lt:1700000000", []),
                     ("order_by=name&direction=desc", ["cid", "bob", "ann"]), ("order_by=created_at&direction=asc", ["cid", "ann", "bob"]),
                     ("order_by=updated_at&direction=asc", ["cid", "ann", "bob"]), ("order_by=email&direction=desc", ["cid", "bob", "ann"]), ("created_at=gt:1700000000&search=ann", ["ann"])):
        assert [r["name"] for r in admin.get(f"{USERS}?{q}").data] == names, q


def test_test_keys_read_users_only(fresh, admin):
    row = user(admin)
    test = fresh.client(test=True)
    assert test.get(f"{USERS}/{row['id']}").data["email"] == row["email"]
    for method, path, body in (("POST", USERS, {"name": "x", "email": "x@y.example"}), ("POST", f"{USERS}/{row['id']}", {"name": "x"}),
                               ("DELETE", f"{USERS}/{row['id']}", None)):
        test.refused(method, path, 403, "scope_access", [], body=body)


def test_limit(fresh, admin):
    fresh.server.sql("INSERT INTO wharf.user (organization_id, id, name, email, created_at, updated_at) SELECT %s, 'user_' || lpad(n::text, 22, '0'), 'n',"
                     " n || '@example.com', now(), now() FROM generate_series(1, 9999) AS n", fresh.id)
    user(admin)
    admin.refused("POST", USERS, 409, "user.too_many", [], body={"name": "x", "email": "x@y.example"})


# ---- section 7: the users of a location ----

@pytest.fixture
def place(admin):
    return make_location(admin)["id"]


def test_location_users(fresh, admin, place):
    other = make_location(admin, "Other")["id"]
    a, b, c = (user(admin, n, locations=[other])["id"] for n in "abc")
    path = f"/v1/locations/{place}/users"

    def here():
        return sorted(r["id"] for r in admin.get(f"{USERS}?location_id={place}").data)
    answer = admin.post(path, {"add": [a, b]}, expect=200).data
    assert answer == admin.get(f"/v1/locations/{place}").data
    assert here() == sorted([a, b])
    admin.post(path, {"add": [c], "remove": [a]}, expect=200)
    assert here() == sorted([b, c])
    admin.post(path, {"users": a}, expect=200)
    assert here() == sorted([a, b, c])
    admin.post(path, {"users": [a], "overwrite": True}, expect=200)
    assert here() == [a]
    admin.post(f"{path}/{b}", expect=200)
    assert here() == sorted([a, b])
    admin.delete(f"{path}/{b}")
    assert here() == [a]
    assert admin.get(f"{USERS}/{b}").data["locations"] == [other]
    key = fresh.client(user=a)
    soon(lambda: check_reach(key, place, other))


def test_location_users_refused(fresh, admin, place):
    a = user(admin, "a", locations=[place])["id"]
    boss = fresh.user(role="owner")
    dev = user(admin, "d", role="developer")["id"]
    path, nobody = f"/v1/locations/{place}/users", "user_0000000000000000000000"
    for body, errors in (({}, ["users"]), ({"add": [a], "remove": [a]}, ["add.0"]), ({"add": [nobody]}, ["add.0"]), ({"remove": [a, nobody]}, ["remove.1"]),
                         ({"users": nobody}, ["users"]), ({"users": [a, nobody]}, ["users.1"]), ({"users": [a], "add": [a]}, ["users"])):
        admin.refused("POST", path, 400, "validation.failed", errors, body=body)
    for who in (boss, dev):
        admin.refused("POST", path, 403, "role_access", [], body={"remove": [who]})
        admin.refused("DELETE", f"{path}/{who}", 403, "role_access", [])
    admin.refused("POST", f"{path}/{nobody}", 404, "not_found", [nobody], body={})
    admin.refused("DELETE", f"{path}/{nobody}", 404, "not_found", [nobody])
    far = make_location(admin, "Far")["id"]
    near = fresh.client(locations=[far])
    near.refused("POST", path, 403, "location_access", [place], body={"add": [a]})
    near.refused("DELETE", f"{path}/{a}", 403, "location_access", [place])
    admin.refused("POST", "/v1/locations/loc_0000000000000000000000/users", 404, "not_found", body={"add": [a]})
    fresh.client("locations:read").refused("POST", path, 403, "scope_access", ["locations:write"], body={"add": [a]})


# ---- from the machine ----

def test_wharf_user(fresh, admin):
    server = fresh.server
    boss = server.command("user", "create", "--org", fresh.id, "--email", "boss@example.com", "--name", "Boss", "--role", "owner")
    ann = server.command("user", "create", "--org", fresh.id, "--email", "ann@example.com")
    assert admin.get(f"{USERS}/{boss}").data["role"] == "owner" and admin.get(f"{USERS}/{ann}").data["name"] == "ann@example.com"
    lines = server.command("user", "list", "--org", fresh.id).splitlines()
    assert lines == [f"{ann}  active  user  ann@example.com  ann@example.com", f"{boss}  active  owner  boss@example.com  Boss"]
    c = fresh.client(user=ann)
    c.get("/v1/auth")
    server.command("user", "disable", ann)
    soon(lambda: c.refused("GET", "/v1/auth", 401, "principal.disabled", []))
    assert [x[0] for x in fresh.changes(ann)] == ["created", "updated"]
    for args in (("disable", ann), ("disable", boss), ("disable", "user_x"), ("create", "--org", fresh.id, "--email", "ANN@example.com"),
                 ("create", "--org", fresh.id, "--email", "x@y.example", "--role", "king"), ("create", "--org", "org_x", "--email", "x@y.example")):
        with pytest.raises(RuntimeError):
            server.command("user", *args)


def test_wharf_key(fresh, admin):
    server = fresh.server
    row = make(admin, name="N", mode="test")
    line = next(x for x in server.command("key", "list", "--org", fresh.id).splitlines() if row["id"] in x)
    assert line == f"{row['id']}  test  active  {row['last4']}  never  -  N"
    c = with_key(admin, row["api_key"])
    c.get("/v1/auth")
    server.command("key", "revoke", row["id"])
    soon(lambda: c.refused("GET", "/v1/auth", 401, "api_key.revoked", []))
    assert "revoked" in next(x for x in server.command("key", "list", "--org", fresh.id).splitlines() if row["id"] in x)
    with pytest.raises(RuntimeError):
        server.command("key", "revoke", row["id"])


def test_deleted_users_leave_the_stations(fresh, admin, place):
    from wharf import STATIONS, make_station
    a, b = (user(admin, n)["id"] for n in "ab")
    station = make_station(admin, place, allow_all_users=False, allowed_users=[a, b])["id"]
    admin.delete(f"{USERS}/{a}")
    assert admin.get(f"{STATIONS}/{station}").data["allowed_users"] == [b]


@pytest.mark.parametrize("hours", ["22:00", [], {}, {"from": "22:00", "to": "07:00"}, {"from": "22:00", "time_zone": "UTC"}, {"from": "24:00", "to": "07:00", "time_zone": "UTC"},
                                   {"from": "22:60", "to": "07:00", "time_zone": "UTC"}, {"from": "9:00", "to": "07:00", "time_zone": "UTC"}, {"from": "22:00", "to": 7, "time_zone": "UTC"},
                                   {"from": "07:00", "to": "07:00", "time_zone": "UTC"}, {"from": "22:00", "to": "07:00", "time_zone": "Berlin"},
                                   {"from": "22:00", "to": "07:00", "time_zone": ""}, {"from": "22:00", "to": "07:00", "time_zone": "../etc/passwd"},
                                   {"from": "22:00", "to": "07:00", "time_zone": "UTC", "days": []}])
def test_hours_that_are_none(admin, hours):
    admin.refused("POST", USERS, 400, "validation.failed", ["quiet_hours"], body={"name": "ann", "email": "ann@example.com", "quiet_hours": hours})


def test_quiet_hours_and_language(fresh, admin):
    hours = {"from": "22:00", "to": "07:30", "time_zone": "Europe/Berlin"}
    row = user(admin, quiet_hours=hours, language="pt-BR")
    assert row["quiet_hours"] == hours and row["language"] == "pt-BR"
    plain = user(admin, "plain")
    assert plain["quiet_hours"] is plain["language"] is None
    path = f"{USERS}/{row['id']}"
    assert admin.post(path, {"dark_mode": True}, expect=200).data["quiet_hours"] == hours
    assert admin.post(path, {"quiet_hours": None, "language": None}, expect=200).data["quiet_hours"] is None
    for wrong in ("german language", "d", "de_DE"):
        admin.refused("POST", path, 400, "validation.failed", ["language"], body={"language": wrong})
