"""Locations: spec 02 sections 0 to 2."""
import hashlib
import re

import pytest

from wharf import address, make_location, soon


def test_create_shows_defaults(client):
    a = client.post("/v1/locations", {"name": "  Defaults  ", "address": address()}, expect=201)
    d = a.data
    assert a.message == "Location created"
    assert a.headers["Location"] == "/v1/locations/" + d["id"]
    assert d["object"] == "location" and re.fullmatch(r"loc_[0-9A-Za-z]{22}", d["id"])
    assert d["name"] == "Defaults" and d["code"] is None and d["email"] is None and d["active"] is True
    assert d["settings"] == {"cloud_printing": {"enabled": True}, "layouts": {"locked": False}, "notifications": {}, "inferences": None}
    assert d["groups"] == [] and d["holidays"] == [] and d["service_levels"] == [] and d["pickup_types"] == []
    assert d["default_layout_id"] == "lay_" + d["id"][4:] and d["layouts_count"] == 1
    assert d["operating_hours_display"] == [{"days": "Mon - Fri", "hours": "09:00 - 17:00"}, {"days": "Sat - Sun", "hours": "Closed"}]
    assert d["operating_hours"]["monday"] == {"active": True, "open": "09:00", "close": "17:00",
                                              "ranges": [{"open": "09:00", "close": "17:00"}]}
    assert d["operating_hours"]["sunday"]["active"] is False
    assert d["created_by"] == d["updated_by"] and d["created_by"].startswith("key_")
    assert client.get("/v1/locations/" + d["id"]).data == d


def test_required_and_types(client):
    client.refused("POST", "/v1/locations", 400, "validation.failed", ["name", "address"], body={})
    client.refused("POST", "/v1/locations", 400, "validation.failed", ["name"], body={"name": "", "address": address()})
    client.refused("POST", "/v1/locations", 400, "validation.failed", ["name"], body={"name": None, "address": address()})
    client.refused("POST", "/v1/locations", 400, "validation.failed", ["name"], body={"name": "x" * 192, "address": address()})
    client.refused("POST", "/v1/locations", 400, "validation.failed", ["active"],
                   body={"name": "x", "address": address(), "active": "true"})
    client.refused("POST", "/v1/locations", 400, "validation.failed", ["pickup_types.0"],
                   body={"name": "x", "address": address(), "pickup_types": ["teleport"]})
    client.post("/v1/locations", {"name": "é" * 191, "address": address()}, expect=201)


def test_code_is_unique_without_case(client):
    first = make_location(client, "Coded", code="Code-1")
    a = client.refused("POST", "/v1/locations", 409, "location.exists", ["code"],
                       body={"name": "Again", "address": address(), "code": "CODE-1"})
    assert "code" in a.message
    client.delete("/v1/locations/" + first["id"])
    make_location(client, "Freed", code="code-1")


def test_alias_activate_location(client):
    d = make_location(client, "Alias", activate_location=False)
    assert d["active"] is False
    d = client.post("/v1/locations/" + d["id"], {"activate_location": True}, expect=200).data
    assert d["active"] is True


@pytest.mark.parametrize("text, want", [
    ("1 Main St, Springfield, IL 62701, USA", ("1 Main St", None, "Springfield", "Illinois", "62701", "US")),
    ("1 Main St, Springfield IL 62701", ("1 Main St", None, "Springfield", "Illinois", "62701", "US")),
    ("1 Main St, Suite 4, New York New York 10001-1234, US", ("1 Main St", "Suite 4", "New York", "New York", "10001-1234", "US")),
    ("1 Main St, Charleston West Virginia 25301, US", ("1 Main St", None, "Charleston", "West Virginia", "25301", "US")),
    ("1 King St, Toronto ON M5H 2N2, CA", ("1 King St", None, "Toronto", "Ontario", "M5H 2N2", "CA")),
    ("1 Main St, Suite 4, Springfield, IL 62701-1234, United States", ("1 Main St", "Suite 4", "Springfield", "Illinois", "62701-1234", "US")),
    ("1 Main St, #12, Springfield, Illinois 62701", ("1 Main St", "#12", "Springfield", "Illinois", "62701", "US")),
    ("10 Downing St, London, SW1A 2AA, GB", ("10 Downing St", None, "London", None, "SW1A 2AA", "GB")),
    ("111 Wellington St, Ottawa, ON K1A 0A9, CAN", ("111 Wellington St", None, "Ottawa", "Ontario", "K1A 0A9", "CA")),
    ("Unter den Linden 77, 10117 Berlin, Germany", ("Unter den Linden 77", None, "Berlin", None, "10117", "DE")),
    ("9 Elm Rd, Boston, MA 02134", ("9 Elm Rd", None, "Boston", "Massachusetts", "02134", "US")),
    ("somewhere behind the hill", ("somewhere behind the hill", None, None, None, None, "US")),
    ("one, two, three", ("one, two, three", None, None, None, None, "US")),
    ("24 Sussex Drive, Ottawa ON K1M1M4, Canada", ("24 Sussex Drive", None, "Ottawa", "Ontario", "K1M1M4", "CA")),
    ("10 Downing Street, London SW1A 2AA, United Kingdom", ("10 Downing Street", None, "London", None, "SW1A 2AA", "GB")),
    ("Via Roma 1, scala B, 00184 Roma RM, Italia", ("Via Roma 1", "scala B", "Roma", "Roma", "00184", "IT")),
    ("Hauptstraße 5, 10115 Berlin, Deutschland", ("Hauptstraße 5", None, "Berlin", None, "10115", "DE")),
    ("Rua Augusta, 150 - Consolação, São Paulo - SP, 01304-000", ("Rua Augusta, 150 - Consolação", None, "São Paulo", "São Paulo", "01304-000", "BR")),
    ("〒100-8111 東京都千代田区千代田1-1", ("千代田1-1", None, "千代田区", "東京都", "100-8111", "JP")),
    *((f"1 Main St, {unit}, Springfield, IL 62701, us", ("1 Main St", unit, "Springfield", "Illinois", "62701", "US"))
      for unit in ("ste 4", "Unit 4", "APT 4", "floor 2", "Fl 2", "room 9")),
])
def test_one_string_addresses(client, text, want):
    a = make_location(client, "Parsed", address=text)["address"]
    assert (a["line1"], a["line2"], a["city"], a["state"], a["postal_code"], a["country_code"]) == want


def test_the_country_of_the_organization(fresh):
    """Of addresses that name none, and of telephone numbers."""
    client = fresh.client()
    client.post("/v1/org", {"profile": {"address": {"city": "Berlin", "country_code": "DE"}}}, expect=200)
    d = make_location(client, "Local", address={"line1": "Unter den Linden 77", "city": "Berlin", "postal_code": "10117"}, phone="030 1234567")
    assert d["address"]["country_code"] == "DE" and d["phone"] == "+49301234567"
    assert make_location(client, "Text", address="Unter den Linden 77, 10117 Berlin")["address"]["country_code"] == "DE"
    assert make_location(client, "Said", address={"line1": "1 Main St", "country_code": "us"})["address"]["country_code"] == "US"


def test_who_may_read_addresses(org):
    """Who reads locations."""
    id = make_location(org.client(), "Known")["address"]["id"]
    org.client("locations:read").get("/v1/addresses/" + id)
    org.client("parcels:write,trackers:write").refused("GET", "/v1/addresses/" + id, 403, "scope_access")
    beside = make_location(org.client(), "Beside", address="9 Side St, Springfield, IL 62701, US")
    limited = org.client("locations:read", locations=[beside["id"]])
    limited.refused("GET", "/v1/addresses/" + id, 404, "not_found")
    limited.get("/v1/addresses/" + beside["address"]["id"])
    org.server.organization().client().refused("GET", "/v1/addresses/" + id, 404, "not_found")


def test_address_forms_and_ids(client, org):
    whole = make_location(client, "Whole", address="1 Main St, Suite 4, Springfield, IL 62701, US")["address"]
    parts = make_location(client, "Parts", address=address(line2="SUITE  4"))["address"]
    other = make_location(client, "Other", address=address(line2="Suite 5"))["address"]
    sibling = make_location(client, "Sibling", address=address(), address_line2="Suite 4")["address"]
    formatted = make_location(client, "Formatted", address={"formatted_address": "1 Main St, Suite 4, Springfield, IL 62701, US"})["address"]
    assert re.fullmatch(r"addr_[0-9A-Za-z]{22}", whole["id"]) and re.fullmatch(r"[0-9a-f]{64}", whole["hash"])
    assert whole["hash"] == other["hash"] and whole["id"] != other["id"]
    # nobody computes an id from the address: neither as a plain hash of it, nor from what the hash shows
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    number = sum(digits.index(c) * 62 ** i for i, c in enumerate(reversed(whole["id"][5:])))
    parts_of = lambda line2: "".join(p + "\n" for p in (org.id.lower(), "1 main st", line2, "springfield", "il", "62701", "us"))  # noqa: E731
    assert whole["hash"] == hashlib.sha256(parts_of("").encode()).hexdigest()  # the test knows the normal form
    assert number != int.from_bytes(hashlib.sha256(parts_of("suite 4").encode()).digest()[:16], "big")
    assert whole["id"] == formatted["id"] == sibling["id"] == parts["id"]
    assert whole["formatted_address"] == "1 Main St, Suite 4, Springfield, IL 62701, US"
    assert whole["textarea"] == "1 Main St, Springfield, IL 62701, US"
    assert whole["coordinates"] is None and whole["timezone"] is None and whole["verified"] is False
    by_id = make_location(client, "By id", address=whole["id"])["address"]
    assert by_id == whole
    echoed = make_location(client, "Echo", address=whole)["address"]
    assert echoed == whole
    client.refused("POST", "/v1/locations", 400, "validation.failed", ["address"],
                   body={"name": "x", "address": "addr_0000000000000000000000"})
    got = client.get("/v1/addresses/" + whole["id"]).data
    assert got.pop("object") == "address" and got == whole
    client.refused("GET", "/v1/addresses/addr_0000000000000000000000", 404, "not_found")


@pytest.mark.parametrize("bad, path", [
    ("", "address"), ("   ", "address"), ("x" * 513, "address"), (5, "address"), ([], "address"), ({}, "address"),
    ({"line1": 5}, "address.line1"), ({"formatted_address": "x" * 513}, "address.formatted_address"), ({"line1": "x", "country_code": "ZZ"}, "address.country_code"), (None, "address"),
])
def test_bad_addresses(client, bad, path):
    client.refused("POST", "/v1/locations", 400, "validation.failed", [path], body={"name": "x", "address": bad})


def test_a_unit_in_the_text_and_one_beside_it(client):
    both = make_location(client, "Both", address="Flat 2, 10 High Street, Oxford, OX1 4AA, UK", address_line2="c/o Acme")["address"]
    assert (both["line1"], both["line2"]) == ("10 High Street", "Flat 2, c/o Acme")
    one = make_location(client, "One", address="1 Main St, Suite 4, Springfield, IL 62701, US", address_line2="Suite 4")["address"]
    assert one["line2"] == "Suite 4"


def test_address_update(client):
    d = make_location(client, "Moves")
    d2 = client.post("/v1/locations/" + d["id"], {"address_line2": "Floor 2"}, expect=200).data
    assert d2["address"]["line2"] == "Floor 2" and d2["address"]["line1"] == "1 Main St" and d2["address"]["id"] != d["address"]["id"]
    d3 = client.post("/v1/locations/" + d["id"], {"address": "2 Oak Ave, Boston, MA 02134"}, expect=200).data
    assert d3["address"]["city"] == "Boston"


def test_contact_data(client):
    d = make_location(client, "Reach", email="Dock@Example.com", phone="(555) 123-4567")
    assert d["email"] == "Dock@Example.com" and d["phone"] == "+15551234567"
    assert make_location(client, "Abroad", phone="+49 30/1234567")["phone"] == "+49301234567"
    assert make_location(client, "Short", phone="1234567")["phone"] == "1234567"
    for bad in ("dock", "a@b", "a b@c.de", "@c.de", "a@@c.de", "x" * 65 + "@c.de"):
        client.refused("POST", "/v1/locations", 400, "validation.failed", ["email"], body={"name": "x", "address": address(), "email": bad})
    for bad in ("12345", "call me", "1" * 16, "+12 34x5678"):
        client.refused("POST", "/v1/locations", 400, "validation.failed", ["phone"], body={"name": "x", "address": address(), "phone": bad})
    d = client.post("/v1/locations/" + d["id"], {"email": None, "phone": ""}, expect=200).data
    assert d["email"] is None and d["phone"] is None


def test_timezone(client):
    assert make_location(client, "Zone", timezone="America/New_York")["timezone"] == "America/New_York"
    for bad in ("Mars/Olympus", "../etc/passwd", "posixrules", "america/new_york"):
        client.refused("POST", "/v1/locations", 400, "validation.failed", ["timezone"], body={"name": "x", "address": address(), "timezone": bad})


def test_operating_hours(client):
    d = make_location(client, "Hours", operating_hours={"monday": {"open": "9:30"}, "tuesday": {"open": "22:00", "close": "06:00"},
                                                        "wednesday": {"ranges": [{"open": "08:00", "close": "12:00"}, {"open": "13:00", "close": "18:00"}]},
                                                        "saturday": {"active": True, "open": "10:00", "close": "14:00"}})
    h = d["operating_hours"]
    assert h["monday"] == {"active": True, "open": "09:30", "close": "17:00", "ranges": [{"open": "09:30", "close": "17:00"}]}
    assert h["tuesday"]["ranges"] == [{"open": "22:00", "close": "24:00"}, {"open": "00:00", "close": "06:00"}]
    assert h["wednesday"]["open"] == "08:00" and h["wednesday"]["close"] == "18:00"
    assert d["operating_hours_display"] == [
        {"days": "Mon", "hours": "09:30 - 17:00"}, {"days": "Tue", "hours": "22:00 - 06:00"},
        {"days": "Wed", "hours": "08:00 - 12:00, 13:00 - 18:00"}, {"days": "Thu - Fri", "hours": "09:00 - 17:00"},
        {"days": "Sat", "hours": "10:00 - 14:00"}, {"days": "Sun", "hours": "Closed"}]
    d = client.post("/v1/locations/" + d["id"], {"operating_hours": {"monday": {"active": False}}}, expect=200).data
    assert d["operating_hours"]["monday"]["active"] is False and d["operating_hours"]["tuesday"] == h["tuesday"]
    again = client.post("/v1/locations/" + d["id"], {"operating_hours": d["operating_hours"]}, expect=200).data
    assert again["updated_at"] == d["updated_at"]
    for bad in ("25:00", "9", "9:60", "24:01", "noon"):
        client.refused("POST", "/v1/locations", 400, "validation.failed", ["operating_hours.monday.open"],
                       body={"name": "x", "address": address(), "operating_hours": {"monday": {"open": bad}}})


def test_ranges_of_a_day(client):
    ranges = [{"open": f"{8 + i:02}:00", "close": f"{8 + i:02}:30"} for i in range(6)]
    d = make_location(client, "Six", operating_hours={"friday": {"ranges": ranges}})
    assert d["operating_hours"]["friday"] == {"active": True, "open": "08:00", "close": "13:30", "ranges": ranges}
    refuse = lambda hours, at: client.refused("POST", "/v1/locations", 400, "validation.failed", [at], body={"name": "x", "address": address(), "operating_hours": hours})  # noqa: E731
    refuse({"friday": {"ranges": ranges + ranges[:1]}}, "operating_hours.friday.ranges")
    refuse({"friday": {"ranges": [{"open": "8", "close": "09:00"}]}}, "operating_hours.friday.ranges.0.open")
    refuse({"friday": {"close": "25:00"}}, "operating_hours.friday.close")


def test_holidays(client):
    d = make_location(client, "Off", holidays=["2026-12-25", {"date": "2026-12-24", "open": "09:00", "close": "12:00"}])
    assert d["holidays"][0] == "2026-12-25" and d["holidays"][1]["close"] == "12:00"
    client.refused("POST", "/v1/locations", 400, "validation.failed", ["holidays.0", "holidays.1.date", "holidays.2.open"],
                   body={"name": "x", "address": address(),
                         "holidays": ["2026-02-30", {"date": "soon"}, {"date": "2026-01-01", "open": "99:00"}]})


def test_update_and_no_change(org, client):
    d = make_location(client, "Before", metadata={"a": "1", "b": "2"}, kiosk_message="hi")
    same = client.post("/v1/locations/" + d["id"], {"name": "Before", "metadata": {"a": "1"}}, expect=200).data
    assert same == d
    assert [e[0] for e in org.events(d["id"])] == ["location.created"]
    assert [c[0] for c in org.changes(d["id"])] == ["created"]
    u = client.post("/v1/locations/" + d["id"], {"name": "After", "metadata": {"a": None, "c": 3}, "kiosk_message": None}, expect=200).data
    assert u["name"] == "After" and u["metadata"] == {"b": "2", "c": 3} and u["kiosk_message"] is None and u["updated_at"] > d["updated_at"]
    assert [e[0] for e in org.events(d["id"])] == ["location.created", "location.updated"]
    log = org.changes(d["id"])[1]
    assert log[0] == "updated" and {c["field"]: (c["old"], c["new"]) for c in log[1]}["name"] == ("Before", "After")
    assert org.events(d["id"])[1][1]["name"] == "After" and org.events(d["id"])[1][2]["name"] == "Before"
    client.post("/v1/locations/" + d["id"], None, expect=200)


def test_settings_merge(client):
    d = make_location(client, "Set", settings={"notifications": {"any": [1, {"deep": True}]}})
    assert d["settings"]["notifications"] == {"any": [1, {"deep": True}]} and d["settings"]["cloud_printing"] == {"enabled": True}
    d = client.post("/v1/locations/" + d["id"], {"settings": {"cloud_printing": {"enabled": False}}}, expect=200).data
    assert d["settings"]["cloud_printing"] == {"enabled": False} and d["settings"]["notifications"] == {"any": [1, {"deep": True}]}
    client.refused("POST", "/v1/locations/" + d["id"], 400, "validation.failed", ["settings.cloud_printing.enabled"],
                   body={"settings": {"cloud_printing": {"enabled": 1}}})


def test_list_order_search_and_filters(fresh):
    c = fresh.client()
    ids = {n: make_location(c, n, code=n[0])["id"] for n in ("bravo", "Alpha", "Charlie")}
    cafe = make_location(c, "Café Zürich", email="cafe@example.com", address="5 Rue Lepic, 75018 Paris, France", active=False)
    assert [r["name"] for r in c.get("/v1/locations").data] == ["Alpha", "bravo", "Café Zürich", "Charlie"]
    assert c.get("/v1/locations?name=ALPHA").ids == [ids["Alpha"]]
    assert c.get("/v1/locations?code=b,").ids == [] and c.get("/v1/locations?code=B").ids == [ids["bravo"]]
    assert c.get("/v1/locations?active=false").ids == [cafe["id"]]
    assert c.get("/v1/locations?id=" + ids["bravo"]).ids == [ids["bravo"]]
    hit = c.get("/v1/locations?search=cafe+zurich").data
    assert hit[0]["id"] == cafe["id"] and 0 < hit[0]["_search"]["relevance_score"] <= 1
    assert {"field": "name", "value": "Café Zürich"} in hit[0]["_search"]["matches"]
    assert cafe["id"] in c.get("/v1/locations?search=LEPIC").ids
    assert c.get("/v1/locations?search=charlei").ids == [ids["Charlie"]]
    assert "_search" not in c.get("/v1/locations").data[0]
    assert c.get("/v1/locations?search=alpha&order_by=_relevance").ids[0] == ids["Alpha"]


def test_cache_list(fresh):
    c = fresh.client()
    rows = [make_location(c, f"L{i:03}") for i in range(30)]
    limited = fresh.client(locations=[rows[3]["id"]])
    a = c.get("/v1/locations?cache=1")
    assert a.pagination is None and len(a.data) == 30
    assert list(a.data[0]) == ["id", "name", "code", "active", "timezone", "default_layout_id", "formatted_address"]
    assert a.data[0]["formatted_address"] == rows[0]["address"]["formatted_address"]
    assert limited.get("/v1/locations?cache=1").ids == [rows[3]["id"]]


def test_access(fresh):
    owner = fresh.client()
    a, b = make_location(owner, "A"), make_location(owner, "B")
    c = fresh.client(locations=[a["id"]])
    assert c.get("/v1/locations").ids == [a["id"]]
    c.get("/v1/locations/" + a["id"])
    c.refused("GET", "/v1/locations/" + b["id"], 403, "location_access", [b["id"]])
    c.refused("POST", "/v1/locations/" + b["id"], 403, "location_access", [b["id"]], body={"name": "x"})
    c.refused("DELETE", "/v1/locations/" + b["id"], 403, "location_access", [b["id"]])
    other = fresh.server.organization().client()
    other.refused("GET", "/v1/locations/" + a["id"], 404, "not_found", [a["id"]])


def test_delete_frees(fresh):
    c = fresh.client()
    d = make_location(c, "Only", code="x")
    c.delete("/v1/locations/" + d["id"])
    c.refused("DELETE", "/v1/locations/" + d["id"], 404, "not_found", [d["id"]])
    assert c.get("/v1/locations").data == []


def sees_only(client, id):
    assert client.get("/v1/locations").ids == [id]


def test_a_forced_deletion(fresh):
    """Rows stay with the id of what is gone, for those who see all locations; the layouts go with it."""
    c = fresh.client()
    a, b = make_location(c, "A"), make_location(c, "B")
    near, user = fresh.client(locations=[a["id"], b["id"]]), fresh.user(locations=[a["id"]])
    path = f"/v1/locations/{a['id']}/layouts"
    shelf = c.post(path, {"name": "Shelf"}, expect=201).data["id"]
    c.delete(f"/v1/locations/{a['id']}?force=true")
    assert fresh.server.sql("SELECT count(*) FROM locations.layout WHERE location_id = %s AND deleted_at IS NULL", a["id"]) == [(0,)]
    c.refused("GET", f"{path}/{shelf}", 404, "not_found")
    assert c.get(f"/v1/users/{user}").data["locations"] == []
    soon(lambda: sees_only(near, b["id"]))
    assert c.get("/v1/locations?cache=1").ids == [b["id"]]
    assert fresh.server.sql("SELECT count(*) FROM wharf.principal_location WHERE organization_id = %s AND location_id = %s", fresh.id, a["id"]) == [(0,)]


def test_creating_user_gets_access(fresh):
    owner = fresh.client()
    a = make_location(owner, "A")
    user = fresh.user(locations=[a["id"]], role="admin")
    c = fresh.client(user=user)
    made = make_location(c, "Mine")
    assert fresh.server.sql("SELECT count(*) FROM wharf.principal_location WHERE principal_id = %s AND location_id = %s", user, made["id"]) == [(1,)]
    assert made["id"] in c.get("/v1/locations").ids
    assert made["created_by"] == user


def test_user_filter(fresh):
    c = fresh.client()
    a, b = make_location(c, "A")["id"], make_location(c, "B")["id"]
    one, everywhere, boss = fresh.user(locations=[a]), fresh.user(), fresh.user(role="owner", locations=[a])
    strict = {"Prefer": "handling=strict"}
    assert c.get("/v1/locations?user_id=" + one, headers=strict).ids == [a] and c.get("/v1/locations?user=" + one).ids == [a]
    assert c.get("/v1/locations?user_id=" + everywhere).ids == [a, b] and c.get("/v1/locations?user_id=" + boss).ids == [a, b]
    assert c.get("/v1/locations?user_id=user_0000000000000000000000&include_total_count=true").pagination["total_count"] == 0
    assert fresh.client(locations=[b]).get("/v1/locations?user_id=" + one).ids == []
    assert c.get(f"/v1/locations?user_id={one}&name=B").ids == []
    c.delete(f"/v1/locations/{b}?force=1", headers=strict)
