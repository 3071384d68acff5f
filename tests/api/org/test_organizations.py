"""Organizations and their settings: spec 01 section 12."""
import re
import time

import pytest

from test_keys import KEYS, with_key
from wharf import MODULES, WAIT, Server, make_location, soon

ORG = "/v1/organizations"
DEFAULTS = {"layouts": {"locked": False}, "events": {"expire_after": "days_30", "charged": False}, "inferences": {"create_tracker_automatically": False},
            "users": {"default_role": "user"}, "audits": {"approval_threshold": 0}, "api": {"datetime_format": "iso_8601"},
            "security": {"max_key_lifetime_days": None, "require_ip_allowlist": False}, "logs": {"retain_days": 365, "request_retain_days": 14},
            "notifications": {"administrators": None}}


def own(area, settings):
    """What the module org knows of an area: other modules have settings of theirs beside it."""
    return {name: value for name, value in settings[area].items() if name in DEFAULTS[area]}


@pytest.fixture
def admin(fresh):
    return fresh.client()


def test_read(fresh, admin):
    row = admin.get("/v1/org").data
    assert list(row) == ["object", "id", "name", "active", "mode", "live_organization_id", "profile", "logo_url", "social_media", "currency",
                         "requirements", "settings", "metadata", "created_at", "updated_at", "created_by", "updated_by"]
    assert row["id"] == fresh.id and row["active"] is True and row["mode"] == "live" and row["currency"] == "usd"
    assert {area: own(area, row["settings"]) for area in row["settings"] if area in DEFAULTS} == DEFAULTS
    assert admin.get(ORG).data == [row] and admin.get(f"{ORG}/org").data == row and admin.get(f"{ORG}/{fresh.id}").data == row
    other = fresh.server.organization().id
    admin.refused("GET", f"{ORG}/{other}", 404, "not_found", [other])
    admin.refused("POST", f"{ORG}/{other}", 404, "not_found", [other], body={"name": "x"})
    fresh.client("users:read").refused("GET", "/v1/org", 403, "scope_access", ["organizations:read"])
    fresh.client("organizations:read").refused("POST", "/v1/org", 403, "scope_access", ["organizations:write"], body={})


def test_update(fresh, admin):
    body = {"name": "Acme", "profile": {"email": "a@b.example", "address": {"city": "Springfield", "country_code": "US"}}, "currency": "eur",
            "logo_url": "https://example.com/logo.png", "social_media": {"site": "https://example.com/"}, "metadata": {"a": 1}}
    row = admin.post(f"{ORG}/org", body, expect=200).data
    assert row["name"] == "Acme" and row["profile"]["address"]["city"] == "Springfield" and row["social_media"] == body["social_media"]
    row = admin.post("/v1/org", {"profile": {"phone": "+12175550100"}, "social_media": {"site": None}}, expect=200).data
    assert row["profile"]["email"] == "a@b.example" and row["profile"]["phone"] == "+12175550100" and row["social_media"] == {}
    for bad, errors in (({"name": None}, ["name"]), ({"currency": "EURO"}, ["currency"]), ({"profile": {"email": "x"}}, ["profile.email"]),
                        ({"social_media": {"x": "no url"}}, ["social_media.x"]), ({"profile": {"address": {"country_code": "usa"}}}, ["profile.address.country_code"])):
        admin.refused("POST", "/v1/org", 400, "validation.failed", errors, body=bad)
    assert [e[0] for e in fresh.events(fresh.id)] == ["organization.updated"] * 2
    assert admin.post("/v1/org", {"name": "n" * 191}, expect=200).data["name"] == "n" * 191
    admin.refused("POST", "/v1/org", 400, "validation.failed", ["name"], body={"name": "n" * 192})
    kept = admin.post("/v1/org", {"active": False, "mode": "test", "live_organization_id": "org_x", "requirements": {"x": 1}}, expect=200).data
    assert kept["active"] is True and kept["mode"] == "live" and kept["live_organization_id"] is None and kept["requirements"] == row["requirements"]


@pytest.mark.parametrize("path, good, bad", [
    ("events.expire_after", "days_365", "days_2"), ("inferences.create_tracker_automatically", True, "yes"), ("users.default_role", "admin", "boss"),
    ("audits.approval_threshold", 2.5, -1), ("api.datetime_format", "epoch", "unix"), ("security.max_key_lifetime_days", 90, 0),
    ("security.require_ip_allowlist", True, 1), ("logs.retain_days", 30, 29), ("logs.request_retain_days", 90, 91),
    ("notifications.administrators", [f"a{i}@b.example" for i in range(20)], [f"a{i}@b.example" for i in range(21)]),
    ("notifications.administrators", ["a@b.example"], "a@b.example"), ("audits.approval_threshold", 0.0001, "1"), ("api.datetime_format", "epoch_millis", 5),
    ("security.max_key_lifetime_days", 1, "90"), ("logs.retain_days", 3650, 3651), ("logs.request_retain_days", 1, 0)])
def test_settings(admin, path, good, bad):
    area, name = path.split(".")

    def settings():
        return admin.get("/v1/org").data["settings"]
    before = settings()
    assert admin.post("/v1/org", {"settings": {area: {name: good}}}, expect=200).data["settings"][area][name] == good
    follows = {"charged": True} if path == "events.expire_after" else {}  # said by the server
    assert settings() == {**before, area: {**before[area], name: good, **follows}}
    admin.refused("POST", "/v1/org", 400, "validation.failed", [f"settings.{path}"], body={"settings": {area: {name: bad}}})
    admin.refused("POST", "/v1/org", 400, "validation.failed", [f"settings.{area}.zzz"], body={"settings": {area: {"zzz": 1}}})
    assert admin.post("/v1/org", {"settings": {area: {name: None}}}, expect=200).data["settings"][area][name] == DEFAULTS[area][name]
    admin.post("/v1/org", {"settings": {area: {name: good}}}, expect=200)
    assert own(area, admin.post("/v1/org", {"settings": {area: None}}, expect=200).data["settings"]) == DEFAULTS[area]


def test_unknown_settings(admin):
    admin.refused("POST", "/v1/org", 400, "validation.failed", ["settings.zzz"], body={"settings": {"zzz": {}}})
    admin.refused("POST", "/v1/org", 400, "validation.failed", ["settings.api"], body={"settings": {"api": 5}})
    admin.refused("POST", "/v1/org", 400, "validation.failed", ["settings.notifications.administrators.0"], body={"settings": {"notifications": {"administrators": ["nobody"]}}})


def test_datetime_format_is_the_default(fresh, admin):
    admin.post("/v1/org", {"settings": {"api": {"datetime_format": "epoch"}}}, expect=200)

    def check():
        a = admin.get("/v1/org")
        assert a.headers["SVC-Datetime-Format"].startswith("epoch;") and isinstance(a.data["created_at"], int)
    soon(check)
    a = admin.get("/v1/org", headers={"SVC-Datetime-Format": "iso_8601"})
    assert a.headers["SVC-Datetime-Format"].startswith("iso_8601") and a.data["created_at"].endswith("Z")


def test_settings_of_the_test_twin(fresh, admin):
    admin.post("/v1/org", {"settings": {"logs": {"retain_days": 100}}}, expect=200)
    test = fresh.client(test=True)
    row = test.get("/v1/org").data
    assert row["mode"] == "test" and row["live_organization_id"] == fresh.id and row["settings"]["logs"]["retain_days"] == 100
    test.post("/v1/org", {"settings": {"logs": {"retain_days": 50}}}, expect=200)
    assert admin.get("/v1/org").data["settings"]["logs"]["retain_days"] == 100
    assert test.get(ORG).ids == [row["id"]]
    test.refused("GET", f"{ORG}/{fresh.id}", 404, "not_found", [fresh.id])


# ---- making and ending them ----

NEW = {"user": {"email": "boss@example.com", "name": "Boss"}, "organization": {"name": "Tenant", "address": "1 Main St, Springfield, IL 62701, US"}}


def test_not_made_unless_the_operator_says_so(admin):
    admin.refused("POST", ORG, 403, "scope_access", [], body=NEW)


@pytest.fixture(scope="module")
def tenants():
    s = Server("--modules", MODULES, "--set", "tenants.enabled=true", "--test-clock")
    yield s
    s.stop()


def test_make(tenants):
    admin = tenants.organization().client()
    a = admin.post(ORG, NEW, expect=201, headers={"Idempotency-Key": "t"})
    row = a.data
    assert row["organization"]["name"] == "Tenant" and row["user"]["role"] == "owner" and a.headers["Location"] == f"{ORG}/{row['id']}"
    assert row["api_key"]["type"] == "system" and row["api_key"]["system_generated"] is True
    c = with_key(admin, row["api_key"]["api_key"])
    me = c.get("/v1/auth").data
    assert me["organization_id"] == row["id"] and me["principal"]["role"] == "owner" and "api_keys:write" in me["scope_list"]
    left = c.get("/v1/auth", headers={"SVC-Datetime-Format": "epoch"}).data["key"]["expires_at"] - time.time()
    assert 14 * 60 < left < 16 * 60
    assert [r["name"] for r in c.get("/v1/locations").data] == ["Tenant"]
    assert len(c.get("/v1/roles").data) == 4 and c.get("/v1/users").ids == [row["user"]["id"]]
    c.post(f"{KEYS}/{row['api_key']['id']}", {"expires_at": None}, expect=200)
    again = admin.post(ORG, NEW, expect=201, headers={"Idempotency-Key": "t"}).data
    assert again["id"] == row["id"] and again["api_key"] is None
    assert row["id"] not in admin.get(ORG).ids
    for bad, path in (({**NEW, "user": {"email": "x", "name": "y"}}, "user.email"), ({"user": NEW["user"]}, "organization")):
        assert path in admin.refused("POST", ORG, 400, "validation.failed", body=bad).errors


def test_end(tenants):
    org = tenants.organization("Gone soon")
    admin = org.client()
    test = org.client(test=True)
    make_location(admin)
    make_location(test)
    owner = org.client(user=org.user(role="owner"))
    twin = test.get("/v1/org").data["id"]
    for other in (admin, *(org.client(user=org.user(role=role)) for role in ("developer", "admin"))):
        other.refused("DELETE", f"{ORG}/org", 403, "role_access", [], body={"confirm": "Gone soon"})
    for body in ({"confirm": "gone"}, {}, {"confirm": 5}):
        owner.refused("DELETE", f"{ORG}/org", 400, "validation.failed", ["confirm"], body=body)
    other = tenants.organization().id
    owner.refused("DELETE", f"{ORG}/{other}", 404, "not_found", [other], body={"confirm": "Gone soon"})
    a = owner.request("DELETE", f"{ORG}/{org.id}", body={"confirm": "Gone soon"}, expect=200)
    assert a.data == {"id": org.id, "object": "organization", "deleted": True}
    for c in (admin, test, owner):
        soon(lambda: c.refused("GET", "/v1/auth", 401, "principal.disabled", []))
    beside = tenants.organization()
    text = re.search(r"wh_live_\w{38}", tenants.command("key", "create", "--org", beside.id, "--system")).group(0)
    with_key(admin, text).post("/v1/system/clock", {"offset_seconds": 31 * 86400}, expect=200)
    end = time.monotonic() + WAIT
    while tenants.sql("SELECT 1 FROM wharf.organization WHERE id IN (%s, %s)", org.id, twin):
        assert time.monotonic() < end
        time.sleep(0.2)
    for table in ("locations.location", "wharf.api_key", "wharf.user", "wharf.token", "wharf.event", "wharf.change_log"):
        assert tenants.sql(f"SELECT count(*) FROM {table} WHERE organization_id IN (%s, %s)", org.id, twin) == [(0,)], table
    assert tenants.sql("SELECT 1 FROM wharf.organization WHERE id = %s", beside.id)


@pytest.mark.parametrize("word", [None, "days_1", "days_365"])
def test_events_are_kept_as_long_as_the_setting_shows(fresh, word):
    c = fresh.client()
    if word:
        c.post("/v1/org", {"settings": {"events": {"expire_after": word}}}, expect=200)
    shown = c.get("/v1/org").data["settings"]["events"]["expire_after"]
    assert shown == (word or DEFAULTS["events"]["expire_after"])

    def check():  # what the server knows of a key may be a moment old
        place = make_location(c)["id"]
        kept = fresh.server.sql("SELECT extract(epoch FROM expires_at - created_at) FROM wharf.event WHERE resource_id = %s", place)
        assert [round(float(k[0]) / 86400) for k in kept] == [int(shown.split("_")[1])]
    soon(check)
