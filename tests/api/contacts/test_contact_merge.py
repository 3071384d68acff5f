"""POST /v1/contacts/:id/merge (spec 02 section 4)."""
import pytest

from wharf import make_location

CONTACTS = "/v1/contacts"


@pytest.fixture
def client(fresh):
    return fresh.client()


def make(client, name="Jane", **more):
    return client.post(CONTACTS, {"name": name, **more}, expect=201).data


def merge(client, to, *from_, expect=200):
    return client.post(f"{CONTACTS}/{to['id']}/merge", {"from": [f["id"] for f in from_]}, expect=expect)


def test_free_places_are_filled(fresh):
    client = fresh.client()
    crew = client.post("/v1/groups", {"name": "Crew", "resource": "contact"}, expect=201).data
    drivers = client.post("/v1/groups", {"name": "Drivers", "resource": "contact"}, expect=201).data
    to = make(client, "Jane Doe", email="jane@b.example", groups=[crew["id"]], address="1 Dock Road, Newark, NJ 07114")
    a = make(client, "JANE DOE", nickname="Janey", email="JANE@b.example", alternate_emails={"work": "j@work.example"}, phone="201 555 0101", groups=[crew["id"], drivers["id"]])
    b = make(client, "J. Doe", email="third@b.example", alternate_phones={"home": "201 555 0102"}, phone="201 555 0101", address="2 Elm St, Agawam, MA 01001",
             alternate_addresses={"home": "1 Dock Road, Newark, NJ 07114"}, groups=[drivers["id"]], notes="kept by nobody")
    got = merge(client, to, a, b).data
    assert got["id"] == to["id"] and got["name"] == "Jane Doe" and got["email"] == "jane@b.example" and got["phone"] == "+12015550101"
    assert {k: v for k, v in got["alternate_names"].items() if v} == {"0": "Janey", "1": "J. Doe"}
    assert {k: v for k, v in got["alternate_emails"].items() if v} == {"work": "j@work.example", "personal": "third@b.example"}
    assert {k: v for k, v in got["alternate_phones"].items() if v} == {"home": "+12015550102"}
    assert got["address"]["line1"] == "1 Dock Road" and [v["line1"] for v in got["alternate_addresses"].values() if v] == ["2 Elm St"]
    assert sorted(g["name"] for g in got["groups"]) == ["Crew", "Drivers"] and got["notes"] is None
    assert [c["id"] for c in client.get(CONTACTS).data] == [to["id"]]
    assert client.get(f"/v1/groups/{drivers['id']}").data["group_contacts"]["children"] == [to["id"]]
    assert [e[0] for e in fresh.events(a["id"])] == ["contact.created", "contact.deleted"] == [e[0] for e in fresh.events(b["id"])]
    assert [e[0] for e in fresh.events(to["id"])] == ["contact.created", "contact.updated"]
    assert [c["id"] for c in client.get(CONTACTS + "?search=janey").data] == [to["id"]]


def test_what_has_no_place_is_left_out(client):
    to = make(client, "A", alternate_names={str(i): f"N{i}" for i in range(5)})
    got = merge(client, to, make(client, "B", email="b@b.example")).data
    assert got["alternate_names"] == to["alternate_names"] and got["email"] == "b@b.example"


def test_places_of_a_contact(fresh):
    client = fresh.client()
    x, y = (make_location(client, n) for n in ("X", "Y"))
    places = lambda c: sorted(p["name"] for p in c["locations"])  # noqa: E731
    assert places(merge(client, make(client, locations=[x["id"]]), make(client, locations=[y["id"], x["id"]])).data) == ["X", "Y"]
    assert places(merge(client, make(client), make(client, locations=[y["id"]])).data) == []
    assert places(merge(client, make(client, locations=[x["id"]]), make(client)).data) == []
    limited, there = fresh.client(locations=[x["id"]]), make(client, locations=[y["id"]])
    assert merge(limited, make(client, locations=[x["id"]]), there, expect=403).code == "location_access"
    assert client.get(f"{CONTACTS}/{there['id']}").data["id"] == there["id"]


def test_references_move(client):
    to, a, b = make(client, "To"), make(client, "A"), make(client, "B")
    ship = client.post("/v1/shipments", {"tracking_number": "1Z999AA10123456784", "sender": {"contact_id": a["id"]}, "recipient": {"contact_id": b["id"]}}, expect=201).data
    other = client.post("/v1/shipments", {"tracking_number": "1Z999AA10123456785", "sender": {"contact_id": to["id"]}}, expect=201).data
    track = client.post("/v1/trackers", {"tracking_number": "1Z999AA10123456784"}).data
    merge(client, to, a, b)
    got = client.get(f"/v1/shipments/{ship['id']}").data
    assert got["sender_contact_id"] == got["recipient_contact_id"] == got["sender"]["contact_id"] == got["recipient"]["contact_id"] == to["id"]
    assert client.get(f"/v1/shipments/{other['id']}").data["sender_contact_id"] == to["id"]
    if track:
        assert client.get(f"/v1/trackers/{track['id']}").data["sender_contact_id"] in (None, to["id"])
    assert {r["id"] for r in client.get(f"/v1/shipments?sender_contact_id={to['id']}").data} == {ship["id"], other["id"]}


def test_requests_that_are_refused(client):
    to, a = make(client, "To"), make(client, "A")
    path = f"{CONTACTS}/{to['id']}/merge"
    for body, errors in (({}, ["from"]), ({"from": []}, ["from"]), ({"from": a["id"]}, ["from"]), ({"from": [a["id"], a["id"]]}, ["from.1"]), ({"from": [a["id"], to["id"]]}, ["from.1"]),
                         ({"from": [a["id"], "ctct_0000000000000000000000"]}, ["from.1"]), ({"from": ["x"] * 21}, None)):
        client.refused("POST", path, 400, "validation.failed", errors, body=body)
    client.refused("POST", f"{CONTACTS}/ctct_0000000000000000000000/merge", 404, "not_found", body={"from": [a["id"]]})
    assert len(client.get(CONTACTS).data) == 2
    gone = make(client, "Gone")
    client.delete(f"{CONTACTS}/{gone['id']}")
    client.refused("POST", path, 400, "validation.failed", ["from.0"], body={"from": [gone["id"]]})
