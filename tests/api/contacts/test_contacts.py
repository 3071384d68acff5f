"""Contacts and groups (spec 02 sections 4 and 6)."""
import pytest

from wharf import address, make_location

CONTACTS, GROUPS = "/v1/contacts", "/v1/groups"


@pytest.fixture(scope="module")
def org(server):
    return server.organization("Contacts")


@pytest.fixture(scope="module")
def client(org):
    return org.client()


def make(client, name="Jane Doe", **more):
    return client.post(CONTACTS, {"name": name, **more}, expect=201).data


def group(client, name, resource="contact", **more):
    return client.post(GROUPS, {"name": name, "resource": resource, **more}, expect=201).data


def children(row):
    return row["group_contacts"]["children"]


# ---- contacts ----

def test_create(client):
    c = make(client, email="Jane@Example.com", phone="(201) 555-0123", address="1 Dock Road, Newark, NJ 07114, US", notes="Ring twice", id_number="7", external_id="E-1",
             metadata={"k": "v"})
    assert c["object"] == "contact" and c["id"].startswith("ctct_")
    assert c["email"] == "Jane@Example.com" and c["phone"] == "+12015550123"
    assert c["address"] == c["primary_address"] and c["address"]["postal_code"] == "07114" and c["addresses"] == [c["address"]]
    assert c["_inbound_trackers"] is None and c["_outbound_trackers"] is None
    assert c["groups"] == [] and c["locations"] == [] and c["is_primary"] is False and c["nickname"] is None and c["secondary_address"] is None
    assert len(c["checksum"]) == 64
    assert client.get(f"{CONTACTS}/{c['id']}").data == c


def test_names(client):
    assert client.post(CONTACTS, {"first_name": "Ann", "last_name": "Lee"}, expect=201).data["name"] == "Ann Lee"
    assert client.post(CONTACTS, {"first_name": "Ann"}, expect=201).data["name"] == "Ann"
    assert client.post(CONTACTS, {"name": "Given", "first_name": "Ann"}, expect=201).data["name"] == "Given"
    assert client.post(CONTACTS, {}, expect=400).errors == ["name"]
    c = make(client, nickname="Jay", alternate_names={"1": "J. Doe"})
    assert c["nickname"] == "Jay" and c["alternate_names"]["0"] == "Jay" and c["alternate_names"]["1"] == "J. Doe"
    c = client.post(f"{CONTACTS}/{c['id']}", {"nickname": None}, expect=200).data
    assert c["nickname"] is None and c["alternate_names"]["1"] == "J. Doe"
    assert client.post(CONTACTS, {"name": "x", "alternate_names": {"5": "no"}}, expect=400).code == "validation.failed"
    assert client.post(CONTACTS, {"name": "x", "type": "robot"}, expect=400).errors == ["type"]
    assert make(client, type="person")["object"] == "contact"


@pytest.mark.parametrize("email", ["no", "a@b", "@b.example", "a b@c.example", "a@@b.example", "x" * 65 + "@b.example"])
def test_bad_email(client, email):
    assert client.post(CONTACTS, {"name": "x", "email": email}, expect=400).errors == ["email"]


@pytest.mark.parametrize("sent, kept", [("+44 1632 960001", "+441632960001"), ("2015550123", "+12015550123"), ("1-201-555-0123", "+12015550123"), ("5550123", "5550123"),
                                        ("+4401632960001", "+4401632960001"), ("+49 (0)30 901820", "+4930901820"), ("0049 30 901820", "+4930901820"), ("011 49 30 901820", "+4930901820"),
                                        ("0501234567", "0501234567"), ("123-456-7890", "1234567890"), ("+1\u00a0415\u00a0555\u00a02671", "+14155552671"), ("\u202d+14155552671\u202c", "+14155552671"),
                                        ("(415) 555\u20112671", "+14155552671"), ("tel:+14155552671", "+14155552671"), ("TEL:+1-415-555-2671;ext=7", "+14155552671;ext=7"),
                                        ("415.555.2671 x12", "+14155552671;ext=12"), ("+39 06 698 12345 int. 9", "+390669812345;ext=9"), ("5550123 ext 4", "5550123;ext=4"),
                                        ("\uff0b\uff11 \uff14\uff11\uff15 555 2671", "+14155552671"), ("\u0662\u0660\u0661 555 0123", "+12015550123"), ("+81\u30003\u20111234\u20115678", "+81312345678"),
                                        ("+55 (11) 91234-5678", "+5511912345678"), ("+33 (0) 1 23 45 67 89", "+33123456789"), ("\u200e+972 50 123 4567\u200f", "+972501234567")])
def test_phone(client, sent, kept):
    assert make(client, phone=sent)["phone"] == kept


@pytest.mark.parametrize("sent", ["123456", "+12", "555-CALL-NOW", "1" * 16, "+0123456789", "+1 050 123 4567", "+49 12", "00999 1234567", "+999 1234567", "415+5552671", "415 555 2671 ask for Bob",
                                  "415 555 2671 x", "415 555 2671 x123456789012", "\u738b4155552671", "x415", "+", "tel:", "(415) 555-2671, (415) 555-2672"])
def test_bad_phone(client, sent):
    assert client.post(CONTACTS, {"name": "x", "phone": sent}, expect=400).errors == ["phone"]


def test_other_emails_need_a_main_one_and_differ(client):
    assert client.post(CONTACTS, {"name": "x", "alternate_emails": {"work": "a@b.example"}}, expect=400).errors == ["email"]
    r = client.post(CONTACTS, {"name": "x", "email": "a@b.example", "alternate_emails": {"work": "A@b.example"}}, expect=400)
    assert r.code == "contact.duplicate_email" and r.errors == ["alternate_emails.work"]
    assert client.post(CONTACTS, {"name": "x", "email": "a@b.example", "alternate_emails": {"work": "no"}}, expect=400).errors == ["alternate_emails.work"]
    c = make(client, email="a@b.example", alternate_emails={"work": "w@b.example", "social": "s@b.example"})
    c = client.post(f"{CONTACTS}/{c['id']}", {"alternate_emails": {"work": None}}, expect=200).data
    assert c["alternate_emails"]["work"] is None and c["alternate_emails"]["social"] == "s@b.example"
    assert client.post(f"{CONTACTS}/{c['id']}", {"email": None}, expect=400).errors == ["email"]


def test_other_phones_differ(client):
    r = client.post(CONTACTS, {"name": "x", "phone": "201 555 0123", "alternate_phones": {"work": "+1 (201) 555-0123"}}, expect=400)
    assert r.code == "contact.duplicate_phone" and r.errors == ["alternate_phones.work"]
    assert client.post(CONTACTS, {"name": "x", "alternate_phones": {"home": "x"}}, expect=400).errors == ["alternate_phones.home"]
    assert make(client, alternate_phones={"mobile": "2015550177"})["alternate_phones"]["mobile"] == "+12015550177"


def test_addresses(client):
    c = make(client, primary_address="1 Dock Road, Newark, NJ 07114", address_line2="Suite 4",
             secondary_address={"line1": "2 Pier St", "city": "Newark", "state": "NJ", "postal_code": "07114"},
             alternate_addresses={"home": "3 Home Way, Newark, NJ 07114", "home_line2": "Apt 9"})
    assert c["address"]["line2"] == "Suite 4" and c["secondary_address"]["line1"] == "2 Pier St"
    assert c["alternate_addresses"]["home"]["line2"] == "Apt 9" and c["alternate_addresses"]["secondary"] == c["secondary_address"]
    assert c["addresses"] == [c["address"], c["secondary_address"], c["alternate_addresses"]["home"]]
    r = client.post(CONTACTS, {"name": "x", "address": "1 Dock Road, Newark, NJ 07114", "secondary_address": "1 Dock Road, Newark, NJ 07114"}, expect=400)
    assert r.code == "contact.duplicate_address" and r.errors == ["alternate_addresses.secondary"]
    assert client.post(CONTACTS, {"name": "x", "address": "y" * 513}, expect=400).errors == ["address"]
    assert client.post(CONTACTS, {"name": "x", "alternate_addresses": {"work": ""}}, expect=400).errors == ["alternate_addresses.work"]
    again = client.post(f"{CONTACTS}/{c['id']}", {"address": c["address"]["id"]}, expect=200).data
    assert again["address"]["id"] == c["address"]["id"]
    gone = client.post(f"{CONTACTS}/{c['id']}", {"address": None, "secondary_address": None}, expect=200).data
    assert gone["address"] is None and gone["addresses"] == [c["alternate_addresses"]["home"]]


@pytest.mark.parametrize("text, want", [
    ("PO Box 12, Smalltown TX 75001", ("PO Box 12", None, "Smalltown", "TX", "75001", "US")),
    ("10 Downing Street, London, SW1A 2AA, UK", ("10 Downing Street", None, "London", None, "SW1A 2AA", "GB")),
    ("5 High St, Dublin 2, Ireland", ("5 High St", None, "Dublin 2", None, None, "IE")),
    ("1600 Amphitheatre Pkwy\nMountain View, CA 94043\nUSA", ("1600 Amphitheatre Pkwy", None, "Mountain View", "CA", "94043", "US")),
    ("Museumplein 6, 1071 DJ Amsterdam", ("Museumplein 6", None, "Amsterdam", None, "1071 DJ", "NL")),
    ("Lager 3, Tor 5", ("Lager 3, Tor 5", None, None, None, None, "US")),
])
def test_addresses_as_people_write_them(client, text, want):
    a = make(client, address=text)["address"]
    assert (a["line1"], a["line2"], a["city"], a["state_code"], a["postal_code"], a["country_code"]) == want


def test_other_addresses_are_whole_and_change_one_by_one(client):
    c = make(client, address="1 Dock Road, Newark, NJ 07114, US", alternate_addresses={"home": "3 Elm St, Agawam, MA 01001, US", "home_line2": "Apt 4", "work": "2 Elm St, Agawam, MA 01001, US"})
    assert {tuple(a) for a in c["addresses"]} == {tuple(c["addresses"][0])} and len(c["addresses"]) == 3, "the same members, in any order of places"
    assert c["alternate_addresses"]["home"]["line2"] == "Apt 4" and c["alternate_addresses"]["work"]["line2"] is None
    c = client.post(f"{CONTACTS}/{c['id']}", {"alternate_addresses": {"home": "4 Elm St, Agawam, MA 01001, US", "work": None}}, expect=200).data
    assert c["alternate_addresses"]["home"]["line1"] == "4 Elm St" and c["alternate_addresses"]["home"]["line2"] is None and c["alternate_addresses"]["work"] is None
    same = client.post(f"{CONTACTS}/{c['id']}", {"alternate_addresses": {"home": "4 Elm St, Agawam, MA 01001, US"}}, expect=200).data
    assert same["updated_at"] == c["updated_at"]


def test_external_id_is_unique(client):
    make(client, external_id="Twice")
    r = client.post(CONTACTS, {"name": "x", "external_id": "twice"}, expect=409)
    assert r.code == "contact.exists" and r.errors == ["external_id"]


def test_checksum_is_of_the_identity(client):
    c = make(client, email="sum@b.example", notes="a")
    where = f"{CONTACTS}/{c['id']}"
    assert client.post(where, {"notes": "b", "metadata": {"x": "1"}}, expect=200).data["checksum"] == c["checksum"]
    assert client.post(where, {"email": "other@b.example"}, expect=200).data["checksum"] != c["checksum"]


def test_phones_outside_of_america(fresh):
    """Without + a number is of the organization's country, if it gives such ones; the same person may be there twice."""
    client = fresh.client()
    client.post("/v1/org", {"profile": {"address": {"country_code": "DE"}}}, expect=200)
    assert [make(client, phone=p)["phone"] for p in ("030 1234567", "1-201-555-0123", "+49 30 1234567")] == ["+49301234567", "12015550123", "+49301234567"]
    client.post("/v1/org", {"profile": {"address": {"country_code": "CA"}}}, expect=200)
    assert [make(client, phone=p, email="same@b.example")["phone"] for p in ("416 555 0123", "1 416 555 0123", "4165550")] == ["+14165550123", "+14165550123", "4165550"]


def test_what_the_checksum_is_of(client):
    where = f"{CONTACTS}/{make(client, email='c@b.example')['id']}"
    seen = {client.get(where).data["checksum"]}
    for change in ({"name": "Other"}, {"nickname": "O"}, {"alternate_emails": {"work": "w@b.example"}}, {"phone": "2015550143"}, {"alternate_phones": {"home": "2015550144"}},
                   {"address": "1 Dock Road, Newark, NJ 07114, US"}, {"alternate_addresses": {"home": "2 Dock Road, Newark, NJ 07114, US"}}):
        sum = client.post(where, change, expect=200).data["checksum"]
        assert sum not in seen, change
        seen.add(sum)
    for change in ({"notes": "n"}, {"metadata": {"a": "1"}}, {"external_id": "sum-1"}, {"is_primary": True}, {"id_number": "9"}):
        assert client.post(where, change, expect=200).data["checksum"] == sum, change


def test_postal_codes_and_phones_are_kept(client):
    """spec 02 section 11, 12"""
    c = make(client, external_id="007", phone="+4401632960001", address="1 Elm St, Agawam, MA 01001")
    c = client.get(f"{CONTACTS}/{c['id']}").data
    assert c["external_id"] == "007" and c["phone"] == "+4401632960001" and c["address"]["postal_code"] == "01001"


def test_list_filters(fresh):
    client = fresh.client()
    place = make_location(client)["id"]
    a = make(client, "Anna", email="Anna@b.example", alternate_emails={"work": "work@b.example"}, phone="+441632960001", external_id="X1", locations=[place],
             address="1 Dock Road, Newark, NJ 07114", address_line2="Suite 1")
    b = make(client, "bert", is_primary=True, address="1 Dock Road, Newark, NJ 07114")
    c = make(client, "Cecil", metadata={"vip": "yes"})

    def ids(query):
        return [row["id"] for row in client.get(f"{CONTACTS}?{query}").data]

    assert ids("") == [a["id"], b["id"], c["id"]]  # by name, whatever its case
    assert ids("email=anna@B.example") == ids("email=WORK@b.example") == [a["id"]]
    assert ids("phone=%2B441632960001") == ids("external_id=X1") == ids(f"location_id={place}") == [a["id"]]
    assert ids("is_primary=true") == [b["id"]] and ids("metadata.vip=yes") == [c["id"]]
    assert ids(f"address_hash={a['address']['hash']}") == [a["id"], b["id"]]  # two suites of one building
    assert ids("order_by=created_at&direction=desc") == [c["id"], b["id"], a["id"]]
    assert ids("search=anna") == [a["id"]] and ids("search=work@b") == [a["id"]] and ids("search=ceci") == [c["id"]]
    assert client.get(CONTACTS).pagination["limit"] == 10
    assert all(row["_inbound_trackers"] is None and row["_outbound_trackers"] is None for row in client.get(CONTACTS).data)
    for former in ["order_by=inbound_trackers", "order_by=outbound_trackers"] + [f"{role}tracker_status{es}=delivered" for role in ("", "inbound_", "outbound_") for es in ("", "es")]:
        assert client.get(f"{CONTACTS}?{former}", expect=400).code == "param.invalid"


def test_locations_of_a_contact(org, client):
    a, b = make_location(client, "CA")["id"], make_location(client, "CB")["id"]
    of_a = org.client(locations=[a])
    everywhere, here, there = make(client, "Everywhere"), make(client, "Here", locations=[a]), make(client, "There", locations=[b])
    assert here["locations"] == [{"id": a, "name": "CA"}]
    of_a.get(f"{CONTACTS}/{everywhere['id']}")
    of_a.get(f"{CONTACTS}/{here['id']}")
    assert of_a.get(f"{CONTACTS}/{there['id']}", expect=403).code == "location_access"


# ---- groups ----

def test_group(client):
    a, b, c = (make(client, f"Child {x}")["id"] for x in "abc")
    g = group(client, "Crew", group_contacts={"children": [b, a], "primary": [a]})
    assert g["object"] == "group" and g["id"].startswith("grp_") and g["group_contacts"] == {"children": [b, a], "primary": [a]} and g["children_count"] == 2
    where = f"{GROUPS}/{g['id']}"
    assert client.get(where).data == g
    assert client.get(f"{CONTACTS}/{a}").data["groups"] == [{"id": g["id"], "name": "Crew", "location_id": None}]
    g = client.post(where, {"add": [c, a], "remove": [b]}, expect=200).data
    assert children(g) == [a, c] and client.get(f"{CONTACTS}/{b}").data["groups"] == []
    g = client.post(where, {"primary_add": [c], "primary_remove": [a]}, expect=200).data
    assert g["group_contacts"]["primary"] == [c]
    g = client.post(where, {"remove": [c]}, expect=200).data
    assert g["group_contacts"] == {"children": [a], "primary": []}
    g = client.post(where, {"group_contacts": {"children": []}}, expect=200).data
    assert g["children_count"] == 0 and client.get(f"{CONTACTS}/{a}").data["groups"] == []


def test_group_refused(client):
    a, g = make(client)["id"], group(client, "Refusing")
    where, none = f"{GROUPS}/{g['id']}", "ctct_0000000000000000000000"
    place = make_location(client)["id"]
    for body, path in (({"add": [a, none]}, "add.1"), ({"add": [a], "remove": [a]}, "add.0"), ({"add": [a, a]}, "add.1"), ({"add": "x"}, "add"), ({"add": [7]}, "add"),
                       ({"group_contacts": {"children": [none]}}, "group_contacts.children.0"), ({"group_contacts": []}, "group_contacts"),
                       ({"add": [place]}, "add.0"), ({"resource": "location"}, "resource")):
        r = client.post(where, body, expect=400)
        assert r.code == "validation.failed" and r.errors == [path], body
    r = client.post(where, {"group_contacts": {"children": [a], "primary": [none]}}, expect=400)
    assert r.code == "group.primary_not_child" and r.errors == ["group_contacts.primary.0"]
    assert client.get(where).data["children_count"] == 0
    assert client.post(GROUPS, {"name": "x"}, expect=400).errors == ["resource"]
    client.post(where, {"remove": [none]}, expect=200)  # who is not in it leaves without error


def test_group_names_are_unique_by_kind(client):
    group(client, "Same")
    r = client.post(GROUPS, {"name": "SAME", "resource": "contact"}, expect=409)
    assert r.code == "group.exists" and r.errors == ["name"]
    assert group(client, "Same", "location")["resource"] == "location"
    assert client.post(GROUPS, {"name": "Aliased", "type": "location"}, expect=201).data["resource"] == "location"


def test_group_of_locations(client):
    a, b = make_location(client)["id"], make_location(client)["id"]
    g = group(client, "Places", "location", group_contacts={"children": [a]})
    assert children(client.post(f"{GROUPS}/{g['id']}", {"add": [b]}, expect=200).data) == [a, b]
    c = make(client)["id"]
    assert client.post(f"{GROUPS}/{g['id']}", {"add": [c]}, expect=400).errors == ["add.0"]
    assert client.post(f"{CONTACTS}/{c}", {"groups": [g["id"]]}, expect=400).errors == ["groups"]


def test_children_are_paged(client):
    members = [make(client, name=f"Child {i}")["id"] for i in range(5)]
    g = group(client, "Paged", group_contacts={"children": members})
    where = f"{GROUPS}/{g['id']}/children"
    pages = [client.get(f"{where}?limit=2&page={i}") for i in (1, 2, 3, 4)]
    assert [p.ids for p in pages] == [members[:2], members[2:4], members[4:], []] and [p.pagination["has_more"] for p in pages] == [True, True, False, False]
    assert client.get(where).data[1]["name"] == "Child 1" and client.get(where).pagination == {"page": 1, "limit": 100, "has_more": False}
    places = group(client, "Paged places", "location", group_contacts={"children": [make_location(client, "In group")["id"]]})
    assert [r["object"] for r in client.get(f"{GROUPS}/{places['id']}/children").data] == ["location"]
    client.refused("GET", where + "?limit=1001", 400, "param.invalid", ["limit"])
    client.refused("GET", f"{GROUPS}/grp_{'0' * 22}/children", 404, "not_found")


def test_children_out_of_reach_are_left_out(fresh):
    client = fresh.client()
    a, b = make_location(client, "A")["id"], make_location(client, "B")["id"]
    g = group(client, "Both", "location", group_contacts={"children": [a, b]})
    limited = fresh.client(locations=[b])
    assert limited.get(f"{GROUPS}/{g['id']}/children").ids == [b]


def test_groups_of_a_location(fresh):
    """The location shows them and says which; the groups keep them."""
    client = fresh.client()
    g, h = group(client, "Zone G", "location"), group(client, "Area H", "location")
    row = make_location(client, "Member", groups=[g["id"], h["id"]])
    path = "/v1/locations/" + row["id"]
    assert row["groups"] == [{"id": h["id"], "name": "Area H"}, {"id": g["id"], "name": "Zone G"}]
    other = make_location(client, "Other")
    assert children(client.get(f"{GROUPS}/{g['id']}").data) == [row["id"]] and client.get("/v1/locations/" + other["id"]).data["groups"] == []
    assert client.get(f"/v1/locations?group_id={g['id']}").ids == [row["id"]] and client.get(f"/v1/locations?group={h['id']}").ids == [row["id"]]
    assert client.get(f"/v1/locations?group_id=grp_{'0' * 22}").ids == []
    before = len(fresh.events(g["id"]))
    assert [x["id"] for x in client.post(path, {"groups": {"remove": [g["id"]]}}, expect=200).data["groups"]] == [h["id"]]
    assert [e[0] for e in fresh.events(g["id"])[before:]] == ["group.updated"] and [e[0] for e in fresh.events(row["id"])] == ["location.created"]
    client.post(path, {"groups": {"remove": [g["id"]], "add": [h["id"]]}}, expect=200)
    assert len(fresh.events(g["id"])) == before + 1, "in already, out already: nothing to tell"
    assert client.post(path, {"groups": {"set": [g["id"]]}, "name": "New"}, expect=200).data["groups"] == [{"id": g["id"], "name": "Zone G"}]
    assert children(client.get(f"{GROUPS}/{h['id']}").data) == [] and [r["groups"] for r in client.get("/v1/locations?search=New").data] == [[{"id": g["id"], "name": "Zone G"}]]
    people = group(client, "People")["id"]
    for bad, at in (({"add": [people]}, "groups.add.0"), ({"set": [g["id"], g["id"]]}, "groups.set"), ([g["id"], "grp_nope"], "groups.1"), ({"add": [h["id"]], "remove": [h["id"]]}, "groups.add.0"),
                    ({"set": [], "add": [h["id"]]}, "groups.set"), ({"add": "x"}, "groups.add")):
        client.refused("POST", path, 400, "validation.failed", [at], body={"groups": bad})
    assert client.post(path, {"groups": []}, expect=200).data["groups"] == []
    client.post(path, {"groups": [h["id"]]}, expect=200)
    client.delete(path)
    assert children(client.get(f"{GROUPS}/{h['id']}").data) == [], "deleted locations leave"


def test_groups_of_a_contact(client):
    """spec 02 section 11, 5"""
    g, h = group(client, "G5"), group(client, "H5")
    c = make(client, groups=[g["id"]])
    where = f"{CONTACTS}/{c['id']}"
    assert children(client.get(f"{GROUPS}/{g['id']}").data) == [c["id"]]
    r = client.post(where, {"groups": {"set": [g["id"], g["id"]]}}, expect=400)
    assert r.code == "validation.failed" and r.errors == ["groups.set"]
    assert [x["id"] for x in client.get(where).data["groups"]] == [g["id"]]
    client.post(where, {"groups": {"add": [h["id"]], "remove": [g["id"]]}}, expect=200)
    assert children(client.get(f"{GROUPS}/{g['id']}").data) == [] and children(client.get(f"{GROUPS}/{h['id']}").data) == [c["id"]]
    assert client.post(where, {"groups": {"set": []}}, expect=200).data["groups"] == []
    assert children(client.get(f"{GROUPS}/{h['id']}").data) == []
    assert client.post(where, {"groups": {"add": ["grp_0000000000000000000000"]}}, expect=400).errors == ["groups.add.0"]


@pytest.mark.parametrize("field", ["groups", "locations"])
def test_lists_are_added_to_taken_from_or_set(client, field):
    """spec 02 section 0: unique ids, `set` alone, no id in two of them, each known."""
    a, b, c = (group(client, f"Listed {field} {i}")["id"] if field == "groups" else make_location(client)["id"] for i in range(3))
    none = "grp_0000000000000000000000" if field == "groups" else "loc_0000000000000000000000"
    where = f"{CONTACTS}/{make(client, **{field: [a]})['id']}"
    now = lambda value: {x["id"] for x in client.post(where, {field: value}, expect=200).data[field]}  # noqa: E731
    assert now({"add": [b, a]}) == {a, b} and now({"add": [c], "remove": [a, a[:4] + "x"]}) == {b, c} and now({"set": [a]}) == {a} and now([b]) == {b} and now({"remove": [c]}) == {b}
    for bad, at in (({"set": [a], "add": [c]}, ""), ({"set": [], "remove": [b]}, ""), ({}, ""), ({"add": [a], "remove": [a]}, ".add.0"), ({"set": [a, a]}, ".set"), ({"add": [a, c, a]}, ".add.2"),
                    ({"remove": [b, b]}, ".remove.1"), ([a, c, a], ".2"), ({"add": "x"}, ".add"), ("x", ""), ({"add": [a, none]}, ".add.1"), ({"set": [none]}, ".set.0"), ([a, none], ".1")):
        client.refused("POST", where, 400, "validation.failed", [field + at], body={field: bad})
    assert {x["id"] for x in client.get(where).data[field]} == {b}
    client.refused("POST", where, 400, "validation.failed", [field], body={field: [f"{a[:4]}{i:022}" for i in range(201)]})


def test_two_hundred_groups_of_a_contact(client, server):
    c, g = make(client), group(client, "One more")
    where = f"{CONTACTS}/{c['id']}"
    assert client.post(where, {"groups": [f"grp_{i:022}" for i in range(201)]}, expect=400).errors == ["groups"]
    server.sql("UPDATE contacts.contact SET groups = (SELECT jsonb_agg('grp_' || lpad(n::text, 22, '0')) FROM generate_series(1, 200) n) WHERE id = %s", c["id"])
    assert client.post(f"{GROUPS}/{g['id']}", {"add": [c["id"]]}, expect=400).errors == ["add.0"]
    assert client.post(where, {"groups": {"add": [g["id"]]}}, expect=400).errors == ["groups"]
    server.sql("UPDATE contacts.contact SET groups = groups - 0 WHERE id = %s", c["id"])
    assert client.post(f"{GROUPS}/{g['id']}", {"add": [c["id"]]}, expect=200).data["children_count"] == 1
    server.sql("UPDATE contacts.contact SET groups = jsonb_build_array(%s::text) WHERE id = %s", g["id"], c["id"])


def test_deleted_contacts_leave_their_groups(client):
    g = group(client, "Leaving")
    c = make(client, groups=[g["id"]])
    client.delete(f"{CONTACTS}/{c['id']}", expect=200)
    assert client.get(f"{GROUPS}/{g['id']}").data["children_count"] == 0


def test_deleted_groups_keep_their_members(client):
    g = group(client, "Ending")
    c = make(client, groups=[g["id"]])
    client.delete(f"{GROUPS}/{g['id']}", expect=200)
    assert client.get(f"{CONTACTS}/{c['id']}").data["groups"] == []


def test_group_list(fresh):
    client = fresh.client()
    a = make(client)["id"]
    g, h, places = group(client, "Alpha", add=[a], external_id="G1"), group(client, "beta"), group(client, "Gamma", "location")

    def ids(query):
        return [row["id"] for row in client.get(f"{GROUPS}?{query}").data]

    assert ids("") == [g["id"], h["id"], places["id"]]
    here = make_location(client)["id"]
    local = group(client, "Delta", location_id=here, metadata={"shift": "night"})
    assert local["location_id"] == here and ids(f"location_id={here}") == [local["id"]] == ids("metadata.shift=night")
    assert ids("order_by=created_at&direction=desc") == [local["id"], places["id"], h["id"], g["id"]]
    assert client.post(GROUPS, {"name": "x", "resource": "contact", "external_id": "g1"}, expect=409).errors == ["external_id"]
    client.delete(f"{GROUPS}/{local['id']}")
    assert ids("resource=location") == [places["id"]] and ids(f"child={a}") == [g["id"]] and ids("search=bet") == [h["id"]]
    assert client.get(GROUPS).pagination["limit"] == 10


def test_primary_ones_are_children(client):
    a, b = make(client)["id"], make(client)["id"]
    g = group(client, "Primaries", group_contacts={"children": [a, b], "primary": [b]})
    where = f"{GROUPS}/{g['id']}"
    r = client.post(where, {"primary_add": [b, a], "primary_remove": [a]}, expect=400)
    assert r.code == "validation.failed" and r.errors == ["primary_add.1"]
    other = make(client)["id"]
    assert client.post(where, {"primary_add": [other]}, expect=400).code == "group.primary_not_child"
    assert client.post(where, {"add": [other], "primary_add": [other]}, expect=200).data["group_contacts"] == {"children": [a, b, other], "primary": [b, other]}
    assert client.get(where).data["group_contacts"]["primary"] == [b, other]


def test_membership_events(org, client):
    """One group.updated for each group that was touched; contacts are told of only when they are what was written."""
    g = group(client, "Evented")
    c = make(client)
    client.post(f"{GROUPS}/{g['id']}", {"add": [c["id"]]}, expect=200)
    assert [e[0] for e in org.events(g["id"])] == ["group.created", "group.updated"]
    assert [e[0] for e in org.events(c["id"])] == ["contact.created"]
    client.post(f"{CONTACTS}/{c['id']}", {"groups": []}, expect=200)
    assert [e[0] for e in org.events(g["id"])] == ["group.created", "group.updated", "group.updated"]
    assert org.events(g["id"])[-1][1]["group_contacts"]["children"] == []


def test_scopes(org):
    reader = org.client(scopes="contacts:read")
    assert reader.get(CONTACTS).status == 200
    assert reader.post(CONTACTS, {"name": "x"}, expect=403).errors == ["contacts:write"]
    assert reader.get(GROUPS, expect=403).errors == ["groups:read"]


def test_ten_thousand_children(client, server):
    """A group may be large, and what is shown of it is not."""
    org_id = client.get("/v1/auth").data["organization_id"]
    server.sql("INSERT INTO contacts.contact (organization_id, id, name, checksum, created_at, updated_at) SELECT %s, 'ctct_' || lpad(n::text, 22, '0'), 'Many ' || n, '', now(), now()"
               " FROM generate_series(1, 10001) n", org_id)
    many = [f"ctct_{n:022d}" for n in range(1, 10002)]
    g = group(client, "Large", add=many[:10000])
    assert g["children_count"] == 10000 and children(g) == many[:1000]
    assert client.post(f"{GROUPS}/{g['id']}", {"add": many[10000:]}, expect=400).errors == ["add"]
    assert client.get(f"{CONTACTS}/{many[9999]}").data["groups"][0]["id"] == g["id"]
    assert client.post(f"{GROUPS}/{g['id']}", {"group_contacts": {"children": []}}, expect=200).data["children_count"] == 0


# ---- search: scores of docs/spec/06-inference.md section 9 ----

@pytest.fixture(scope="module")
def book(server):
    client = server.organization("Book").client()
    names = ["John Smith", "John Michael Smith", "William Smith", "Catherine Johnson", "Christopher Fitzgerald", "Maryann Lee", "Elizabeth Montgomery", "Anna Berg", "SEAN OBRIEN",
             "Jane Doe", "Joan Rivers", "Dr. Otto Maier Jr."]
    rows = {name: make(client, name) for name in names}
    rows["Zoë Ångström"] = make(client, "Zoë Ångström", nickname="Zoo", email="front@desk.example", phone="+442071234567", id_number="ID-77", external_id="EXT-9",
                                address="77 Baker Street, London, NW1 6XE, GB")
    client.rows = rows
    return client


def hits(client, text, more=""):
    r = client.get(f"{CONTACTS}?search={text}&limit=100{more}")
    return {row["name"]: row for row in r.data}, [row["name"] for row in r.data]


@pytest.mark.parametrize("label, contact, score", [
    ("JOHN SMITH", "John Smith", 1.0), ("Smith John", "John Smith", 0.98), ("John Smith", "John Michael Smith", 0.9263), ("Smith", "John Smith", 0.7059),
    ("Katherine Jonhson", "Catherine Johnson", 0.9279), ("J Smith", "John Smith", 0.9091), ("Christophr Fitzgeralb", "Christopher Fitzgerald", 0.9370),
    ("J. M. Smith", "John Michael Smith", 0.8941), ("Mary Ann Lee", "Maryann Lee", 1.0), ("John S", "John Smith", 0.7818), ("Elizabeth Montgom", "Elizabeth Montgomery", 0.9345),
    ("Bill Smith", "William Smith", 0.9773), ("Anna van der Berg", "Anna Berg", 0.9167), ("Jhon Smith", "John Smith", 0.9261), ("Sean O'Brien", "SEAN OBRIEN", 1.0),
    ("Joan Smith", "John Smith", 0.7727), ("Attn: Jane Doe Apt 4B", "Jane Doe", 1.0)])
def test_search_scores(book, label, contact, score):
    from urllib.parse import quote
    found, _ = hits(book, quote(label))
    row = found[contact]
    assert row["relevance_score"] == row["_search"]["relevance_score"] == row["_search"]["relevance_score_v4"] == pytest.approx(score, abs=1e-9)
    assert {"field": "name", "value": contact} in row["_search"]["matches"]


def test_search_is_ordered_by_relevance(book):
    found, order = hits(book, "john%20smith")
    assert order[0] == "John Smith" and order.index("John Michael Smith") < order.index("William Smith")
    scores = [found[name]["relevance_score"] for name in order]
    assert scores == sorted(scores, reverse=True)
    assert hits(book, "john%20smith", "&order_by=name&direction=desc")[1] == sorted(order, key=str.lower, reverse=True)
    assert "relevance_score" not in book.get(CONTACTS).data[0]


def test_search_of_titles_and_suffixes(book):
    row = hits(book, "otto%20maier")[0]["Dr. Otto Maier Jr."]
    assert row["relevance_score"] == 1.0 and row["relevance_score_v3"] < 1.0
    assert row["_search"]["relevance_score"] == row["_search"]["relevance_score_v4"] == 1.0


@pytest.mark.parametrize("text, field", [("angstrom", "name"), ("zoo", "alternate_names.0"), ("front%40desk", "email"), ("2071234567", "phone"), ("ID-77", "id_number"),
                                         ("EXT-9", "external_id"), ("baker", "address")])
def test_search_looks_at(book, text, field):
    found, order = hits(book, text)
    assert order[0] == "Zoë Ångström" and field in [m["field"] for m in found["Zoë Ångström"]["_search"]["matches"]]


def test_search_channels(book):
    assert hits(book, "front%40desk.example")[0]["Zoë Ångström"]["relevance_score"] == pytest.approx(0.9)
    assert hits(book, "%2B442071234567")[0]["Zoë Ångström"]["relevance_score"] == pytest.approx(0.85)
    assert hits(book, "baker")[0]["Zoë Ångström"]["relevance_score"] == pytest.approx(0.1)


def test_search_strategy(book):
    assert "Anna Berg" in hits(book, "jane%20berg")[1] and "Jane Doe" in hits(book, "jane%20berg")[1]
    assert hits(book, "baker%20london", "&search_strategy=match_all")[1] == ["Zoë Ångström"]
    assert hits(book, "baker%20paris", "&search_strategy=match_all")[1] == []
    assert hits(book, "zzzzqq")[1] == []


def test_search_follows_changes(fresh):
    client = fresh.client()
    c = make(client, "Before Change")
    assert hits(client, "befroe")[1] == ["Before Change"]
    client.post(f"{CONTACTS}/{c['id']}", {"name": "After Words"}, expect=200)
    assert hits(client, "befroe")[1] == [] and hits(client, "aftre")[1] == ["After Words"]
    client.post(f"{CONTACTS}/{c['id']}", {"nickname": "Peggy"}, expect=200)
    assert hits(client, "Margaret")[1] == ["After Words"]
    client.delete(f"{CONTACTS}/{c['id']}", expect=200)
    assert hits(client, "aftre")[1] == []


def test_search_of_two_letters(fresh):
    client = fresh.client()
    make(client, "Li Wu"), make(client, "Otto Maier", id_number="X7"), make(client, "Dr. Wu Tan"), make(client, "Ann Drew")
    assert sorted(hits(client, "wu")[1]) == ["Dr. Wu Tan", "Li Wu"] and hits(client, "x7")[1] == ["Otto Maier"]
    assert sorted(hits(client, "dr")[1]) == ["Ann Drew", "Dr. Wu Tan"]
    assert sorted(hits(client, "dr%20wu")[1]) == ["Dr. Wu Tan", "Li Wu"], "a title beside a name is none of the words"
    assert sorted(hits(client, "dr%20wu", "&search_strategy=match_all")[1]) == ["Dr. Wu Tan", "Li Wu"]
    assert hits(client, "wu%20x7", "&search_strategy=match_all")[1] == []


def test_search_with_filters_and_locations(fresh):
    client = fresh.client()
    a, b = make_location(client)["id"], make_location(client)["id"]
    make(client, "Lena Here", locations=[a]), make(client, "Lena There", locations=[b], is_primary=True)
    assert hits(client, "lena")[1] == ["Lena Here", "Lena There"]
    assert hits(client, "lena", "&is_primary=true")[1] == ["Lena There"]
    assert hits(fresh.client(locations=[a]), "lena")[1] == ["Lena Here"]
    assert client.get(f"{CONTACTS}?search=lena&limit=1&include_total_count=true").pagination["total_count"] == 2
    assert client.get(f"{CONTACTS}?search=lena&limit=1&page=2").data[0]["name"] == "Lena There"
