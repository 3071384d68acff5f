"""Users and devices as lists to look things up in, with whatever other modules are enabled (none are needed)."""
from wharf import MODULES


def device(org, name, token=None):
    """Makes a device; returns its id."""
    return org.client().post("/v1/devices", {"name": name, **({"device_token": token} if token else {})}, expect=201).data["id"]


def test_only_enabled_modules_have_routes(server, client):
    routes = {"locations": "/v1/locations", "stations": "/v1/cloud-printing/stations"}
    for module, path in routes.items():
        enabled = module in MODULES.split(",")
        assert (path in server.openapi["paths"]) == enabled
        if enabled:
            client.get(path)
        else:
            client.request("GET", path, expect=404)


def test_users_are_listed_by_name_and_found(fresh):
    ids = {fresh.user(email=f"{n}@example.com") for n in ("ann", "bob", "cid")}
    c = fresh.client("users:read")
    rows = c.get("/v1/users").data
    assert {r["id"] for r in rows} == ids and [r["name"] for r in rows] == sorted(r["name"] for r in rows)
    assert [r["email"] for r in c.get("/v1/users?search=bob").data] == ["bob@example.com"]
    one = next(r for r in rows if r["email"] == "cid@example.com")
    got = c.get("/v1/users/" + one["id"]).data
    assert got["object"] == "user" and got["email"] == "cid@example.com" and got["allow_all_locations"] is True


def test_users_of_others_are_not_seen(fresh):
    mine = fresh.user()
    other = fresh.server.organization().client()
    assert other.get("/v1/users").data == []
    other.refused("GET", "/v1/users/" + mine, 404, "not_found", [mine])


def test_users_need_their_scope(fresh):
    fresh.client("devices:read").refused("GET", "/v1/users", 403, "scope_access", ["users:read"])
    fresh.client("users:read").refused("GET", "/v1/devices", 403, "scope_access", ["devices:read"])


def test_devices_tell_that_they_have_a_token_and_never_which(fresh):
    with_token, without = device(fresh, "Dock", "secret-push-address"), device(fresh, "Desk")
    c = fresh.client("devices:read")
    a = c.get("/v1/devices")
    assert {r["id"]: r["has_device_token"] for r in a.data} == {with_token: True, without: False}
    assert "secret-push-address" not in a.raw.text
    assert c.get("/v1/devices?search=dock").ids == [with_token]
    assert c.get("/v1/devices/" + without).data["has_device_token"] is False


def test_a_test_key_sees_the_live_users(fresh):
    ids = {fresh.user(email=f"{n}@example.com") for n in ("ann", "bob")}
    test = fresh.client(test=True)
    assert set(test.get("/v1/users").ids) == ids
    for id in ids:
        assert test.get(f"/v1/users/{id}").data["id"] == id
    phone = device(fresh, "Phone")
    assert test.get("/v1/devices").ids == [phone] and test.get(f"/v1/devices/{phone}").data["name"] == "Phone"
    other = fresh.server.organization().client(test=True)
    assert other.get("/v1/users").ids == [] and other.get(f"/v1/users/{ids.pop()}", expect=404)
