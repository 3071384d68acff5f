"""Shipments and contacts together (spec 03 section 1): needs both modules."""
from test_shipments import SHIPMENTS, quote_body, ship


def test_a_party_is_its_contact(client):
    """What is not sent comes from the contact, and stays when the contact changes."""
    home = "5 Oak Ave, Springfield, IL 62701, US"
    who = client.post("/v1/contacts", {"name": "Rita R", "email": "rita@r.example", "phone": "2175550100", "address": home, "metadata": {"company": "R Works"}}, expect=201).data
    row = ship(client, tracking_number="PARTY1", sender=who["id"], recipient={"contact_id": who["id"], "name": "Rita at the desk", "email": None, "address": "6 Oak Ave, Springfield, IL 62701, US"})
    assert row["sender"] == {"contact_id": who["id"], "name": "Rita R", "email": "rita@r.example", "phone": "+12175550100", "business": "R Works", "address": who["address"]}
    assert [row["recipient"][k] for k in ("name", "email", "phone", "business")] == ["Rita at the desk", None, "+12175550100", "R Works"] and row["recipient"]["address"]["line1"] == "6 Oak Ave"
    assert row["id"] in client.get(f"{SHIPMENTS}?sender_address_id={who['address']['id']}").ids and row["id"] in client.get(f"{SHIPMENTS}?search=rita@r.example").ids
    client.post(f"/v1/contacts/{who['id']}", {"name": "Rita Q", "address": None}, expect=200)
    assert client.get(f"{SHIPMENTS}/{row['id']}").data["sender"] == row["sender"]
    row = client.post(f"{SHIPMENTS}/{row['id']}", {"sender": {"contact_id": who["id"]}}, expect=200).data
    assert row["sender"]["name"] == "Rita Q" and row["sender"]["address"] is None
    client.refused("POST", SHIPMENTS, 400, "validation.failed", ["sender.address"], body=quote_body(sender=who["id"]))
    client.refused("POST", SHIPMENTS, 400, "validation.failed", ["sender_contact_id"], body={"tracking_number": "PARTY2", "sender": "ctct_0000000000000000000000"})
    client.refused("POST", SHIPMENTS, 400, "validation.failed", ["sender.contact_id"], body={"tracking_number": "PARTY2", "sender": {"contact_id": 5}})
