"""Shipments: spec 03 sections 2 to 4, 12 and 14."""
import datetime
import json
import re
import threading
import time

import pytest

from wharf import MODULES, ROOT, WAIT, Client, Server, address, make_contact, make_location, make_user

SHIPMENTS = "/v1/shipments"
UPS = "1Z58F2A70378657975"
SERIAL = iter(range(10 ** 9, 2 * 10 ** 9))


def number():
    return f"NUM{next(SERIAL)}X"


def ship(client, **more):
    return client.post(SHIPMENTS, {"tracking_number": number(), **more}, expect=201).data


def party(**more):
    return {"name": "Ann Lee", "email": "ann@example.com", "address": address(), **more}


def quote_body(**more):
    return {"sender": party(), "recipient": party(name="Bob", email=None, phone="2175550100"), "parcels": [{"length": 1, "width": 2, "height": 3, "weight": 4.5}], **more}


def update(client, row, expect=200, **tracking):
    extra = tracking.pop("extra", {})
    return client.post(f"{SHIPMENTS}/{row['id']}", {"tracking_update": tracking, **extra}, expect=expect)


def refuse(client, row, status, code, errors, body):
    return client.refused("POST", f"{SHIPMENTS}/{row['id']}", status, code, errors, body=body)


def get(client, row):
    return client.get(f"{SHIPMENTS}/{row['id']}").data


def kinds(org, row):
    return [e[0] for e in org.events(row["id"])]


def iso(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


# ---- creation ----

def test_by_tracking_number(client, org):
    row = client.post(SHIPMENTS, {"tracking_number": " 1z 58f2a7 0378657975 "}, expect=201).data
    assert row["tracking_number"] == UPS and row["status"] == "created" and row["type"] == "inbound" and row["filters"] == ["outstanding"]
    assert row["provider"]["id"] == row["provider_id"] == "ups" and row["provider"]["name"] == "UPS" and row["provider"]["marketplace"] is False
    assert row["tracking_url"] == "https://www.ups.com/track?tracknum=" + UPS and row["rates"] == [] and row["is_parent"] is False
    lines = row["tracking_updates"]
    assert [(u["status"], u["comment_only"], u["source"], u["event"]) for u in lines] == [("created", False, "api", "shipment.created")]
    assert lines[0]["id"].startswith("tup_") and len(lines[0]["hash"]) == 64 and row["_documents"] is None
    assert kinds(org, row) == ["shipment.created"]
    again = client.post(SHIPMENTS, {"tracking_number": UPS}, expect=200)
    assert again.data["id"] == row["id"] and again.message == "Existing shipment returned"
    second = client.post(SHIPMENTS, {"tracking_number": UPS, "allow_duplicate": True}, expect=201).data
    assert second["id"] != row["id"]
    assert ship(client, tracking_number="what is this")["provider_id"] == "unknown"
    client.refused("POST", SHIPMENTS, 400, "provider.unknown", ["provider_id"], body={"tracking_number": "x1", "provider_id": "nobody"})
    assert ship(client, sender=party())["type"] == "outbound"


def test_what_is_no_duplicate(client):
    """The same number is another shipment when the first one is over, deleted, or of another provider."""
    first = ship(client, tracking_number="AGAIN-1")
    assert client.post(SHIPMENTS, {"tracking_number": "again-1", "provider_id": "unknown"}, expect=200).data["id"] == first["id"]
    other = client.post(SHIPMENTS, {"tracking_number": "AGAIN-1", "provider_id": "fedex"}, expect=201).data
    update(client, first, status="canceled")
    second = client.post(SHIPMENTS, {"tracking_number": "AGAIN-1"}, expect=201).data
    client.delete(f"{SHIPMENTS}/{second['id']}")
    third = client.post(SHIPMENTS, {"tracking_number": "AGAIN-1"}, expect=201).data
    assert len({first["id"], other["id"], second["id"], third["id"]}) == 4


def test_a_number_makes_a_quote_a_shipment(client, org):
    row = client.post(SHIPMENTS, quote_body(), expect=201).data
    assert row["status"] == "rates_generated" and row["tracker_id"] is None
    row = client.post(f"{SHIPMENTS}/{row['id']}", {"tracking_number": UPS[:-1] + "X"}, expect=200).data
    assert row["status"] == "created" and [u["status"] for u in row["tracking_updates"]] == ["created"]


def test_weight_is_the_sum_of_the_parcels(client):
    parcels = [{"length": 1, "width": 1, "height": 1, "weight": w} for w in (1.25, 2)]
    assert client.post(SHIPMENTS, quote_body(parcels=parcels), expect=201).data["weight"] == 3.25
    row = client.post(SHIPMENTS, quote_body(parcels=parcels, weight=9, dimensions={"length": 3}), expect=201).data
    assert row["weight"] == 9 and row["dimensions"]["length"] == 3
    assert client.post(SHIPMENTS, quote_body(parcels=parcels), expect=201).data["dimensions"] is None


def test_missing_parts_are_named(client):
    for body, at in (({}, ["tracking_number", "sender", "recipient", "parcels"]), ({"sender": party()}, ["tracking_number", "recipient", "parcels"]),
                     ({"recipient": party(), "parcels": [{}]}, ["tracking_number", "sender"])):
        client.refused("POST", SHIPMENTS, 400, "validation.failed", at, body=body)
    body = quote_body(sender={"name": "A"}, parcels=[{"length": 1, "width": 1, "height": 1, "weight": 0}])
    client.refused("POST", SHIPMENTS, 400, "validation.failed", ["sender.address", "sender.email", "parcels.0.weight"], body=body)


@pytest.mark.parametrize("who", ["sender", "recipient"])
def test_a_quote_needs_who_where_and_how_to_be_reached(client, who):
    for less in ("name", "address", "email"):
        client.refused("POST", SHIPMENTS, 400, "validation.failed", [f"{who}.{less}"], body=quote_body(**{who: party(**{less: None})}))
    for reached in ({"email": None, "phone": "2175550100"}, {"email": "a@b.example"}):
        client.post(SHIPMENTS, quote_body(**{who: party(**reached)}), expect=201)


@pytest.mark.parametrize("side", ["length", "width", "height", "weight"])
def test_a_quote_needs_parcels_with_each_side(client, side):
    for value in (0, None):
        parcels = [{"length": 1, "width": 2, "height": 3, "weight": 4}, {"length": 1, "width": 2, "height": 3, "weight": 4, side: value}]
        client.refused("POST", SHIPMENTS, 400, "validation.failed", [f"parcels.1.{side}"], body=quote_body(parcels=parcels))


def test_parties(client):
    sender = make_contact(client)
    row = ship(client, sender=sender, recipient={"name": "R", "phone": "(217) 555-0100", "address": "5 Oak Ave, Springfield, IL 62701", "address_line2": "Apt 2"})
    assert row["sender"]["contact_id"] == sender and [row["sender"][k] for k in ("email", "phone", "business", "address")] == [None] * 4
    assert row["sender_contact_id"] == sender
    assert row["recipient"]["phone"] == "+12175550100" and row["recipient"]["address"]["city"] == "Springfield" and row["recipient"]["address"]["line2"] == "Apt 2"
    assert row["id"] in client.get(f"{SHIPMENTS}?recipient_address_id={row['recipient']['address']['id']}").ids
    client.refused("POST", SHIPMENTS, 400, "validation.failed", ["sender.email"], body={"tracking_number": "P1", "sender": {"name": "x", "email": "no"}})
    client.refused("POST", SHIPMENTS, 400, "validation.failed", ["recipient"], body={"tracking_number": "P1", "recipient": 5})


@pytest.fixture
def rated(fresh):
    client = fresh.client()
    rates = [{"service_level_id": "van", "name": "Van", "amount": 900}, {"service_level_id": "bike", "name": "Bike", "amount": 450, "currency": "eur", "transit_days": 2}]
    client.post("/v1/org", {"settings": {"shipments": {"private_rates": rates}}}, expect=200)
    return fresh, client


def test_quote_and_purchase(rated):
    org, client = rated
    row = client.post(SHIPMENTS, quote_body(), expect=201).data
    assert row["status"] == "rates_generated" and row["filters"] == [] and row["weight"] == 4.5 and row["tracking_updates"] == []
    assert [(r["provider_id"], r["service_level_id"], r["amount"], r["currency"]) for r in row["rates"]] == [("private", "van", 900, "usd"), ("private", "bike", 450, "eur")]
    assert row["recommended_rate"]["service_level_id"] == "bike" and row["rates"][1]["id"].startswith("rate_")
    refuse(client, row, 400, "invalid:comment", ["tracking_update.comment"], {"tracking_update": {"comment": "hello"}})
    refuse(client, row, 400, "shipment.rate_invalid", ["rate_id"], {"rate_id": "rate_0000000000000000000000"})
    bought = client.post(f"{SHIPMENTS}/{row['id']}/purchase", {"rate_id": row["rates"][0]["id"]}, expect=200).data
    assert bought["status"] == "created" and bought["amount"] == 900 and bought["currency"] == "usd" and bought["provider"]["id"] == "private"
    assert bought["tracking_number"].startswith("WHRF-") and bought["purchased_rate"] == row["rates"][0] and bought["tracking_url"] is None
    refuse(client, row, 409, "shipment.purchased", [], {"rate_id": row["rates"][1]["id"]})
    client.refused("POST", f"{SHIPMENTS}/{row['id']}/purchase", 409, "shipment.purchased", [], body={"rate_id": row["rates"][1]["id"]})
    client.refused("DELETE", f"{SHIPMENTS}/{row['id']}", 409, "shipment.purchased")
    at_once = client.post(SHIPMENTS, quote_body(options={"purchase": "recommended"}), expect=201).data
    assert at_once["status"] == "created" and at_once["purchased_rate"]["service_level_id"] == "bike"
    assert client.post(SHIPMENTS, quote_body(options={"service_level_id": "van"}), expect=201).data["amount"] == 900
    client.refused("POST", SHIPMENTS, 400, "shipment.rate_invalid", ["options.service_level_id"], body=quote_body(options={"service_level_id": "rocket"}))


def test_no_provider_offers_a_rate(client):
    a = client.post(SHIPMENTS, quote_body(), expect=201)
    assert a.data["rates"] == [] and a.data["recommended_rate"] is None and "no provider" in a.message


def test_windows_of_refunds(rated, server):
    """Fourteen days; five minutes for rates on demand. A refund may be asked for by its status as well."""
    org, client = rated
    buy = lambda: client.post(SHIPMENTS, quote_body(options={"purchase": "recommended"}), expect=201).data

    def old(row, age, on_demand=False):
        server.sql("UPDATE shipments.shipment SET rates_generated_at = rates_generated_at - %s::interval, purchased_rate = purchased_rate || %s::jsonb WHERE id = %s",
                   age, '{"rate_type": "on_demand"}' if on_demand else "{}", row["id"])
        return row
    for age, on_demand, fine in (("13 days 23 hours", False, True), ("14 days 1 minute", False, False), ("4 minutes", True, True), ("5 minutes 10 seconds", True, False), ("1 day", True, False)):
        row = old(buy(), age, on_demand)
        if fine:
            assert client.post(f"{SHIPMENTS}/{row['id']}", {"refund_status": "requested"}, expect=200).data["refund_status"] == "requested", age
            client.refused("POST", f"{SHIPMENTS}/{row['id']}/refund", 409, "shipment.refund_exists", ["refund_status"], body={})
        else:
            refuse(client, row, 400, "shipment.refund_window", ["refund_status"], {"refund_status": "requested"})


def test_rates_expire_after_15_minutes(rated, server):
    org, client = rated
    row = client.post(SHIPMENTS, quote_body(), expect=201).data
    server.sql("UPDATE shipments.shipment SET rates_generated_at = rates_generated_at - interval '15 minutes 1 second' WHERE id = %s", row["id"])
    refuse(client, row, 400, "shipment.rate_expired", ["rate_id"], {"rate_id": row["rates"][0]["id"]})


def test_refunds(rated, server):
    org, client = rated
    buy = lambda: client.post(SHIPMENTS, quote_body(options={"purchase": "recommended"}), expect=201).data
    row = buy()
    path = f"{SHIPMENTS}/{row['id']}/refund"
    for status in ("refunded", "rejected"):
        refuse(client, row, 400, "shipment.refund_not_requested", ["refund_status"], {"refund_status": status})
    assert client.post(path, {}, expect=200).data["refund_status"] == "requested"
    client.refused("POST", path, 409, "shipment.refund_exists", ["refund_status"], body={})
    assert client.post(f"{SHIPMENTS}/{row['id']}", {"refund_status": None}, expect=200).data["refund_status"] == "requested", "nobody takes a refund back"
    assert client.post(f"{SHIPMENTS}/{row['id']}", {"refund_status": "rejected"}, expect=200).data["refund_status"] == "rejected"
    refuse(client, row, 400, "shipment.refund_not_requested", ["refund_status"], {"refund_status": "refunded"})
    client.post(path, {}, expect=200)
    done = client.post(f"{SHIPMENTS}/{row['id']}", {"refund_status": "refunded"}, expect=200).data
    assert done["refund_status"] == "refunded" and done["status"] == "canceled"
    for status in ("requested", "rejected"):
        refuse(client, row, 409, "shipment.refund_exists", ["refund_status"], {"refund_status": status})
    assert kinds(org, row).count("shipment.refund_updated") == 4 and kinds(org, row).count("shipment.canceled") == 1
    assert [r["id"] for r in client.get(SHIPMENTS + "?refund_status=refunded").data] == [row["id"]]
    client.refused("GET", SHIPMENTS + "?refund_status=maybe", 400, "param.invalid", ["refund_status"])
    plain = ship(client, refund_status="refunded")
    assert plain["refund_status"] is None and plain["status"] == "created"
    client.refused("POST", f"{SHIPMENTS}/{plain['id']}/refund", 400, "shipment.refund_not_allowed", ["refund_status"], body={})
    moving = buy()
    update(client, moving, status="in_transit")
    client.refused("POST", f"{SHIPMENTS}/{moving['id']}/refund", 400, "shipment.refund_not_allowed", body={})
    old = buy()
    server.sql("UPDATE shipments.shipment SET rates_generated_at = rates_generated_at - interval '15 days' WHERE id = %s", old["id"])
    client.refused("POST", f"{SHIPMENTS}/{old['id']}/refund", 400, "shipment.refund_window", body={})


# ---- statuses ----

def test_transitions(client, org):
    row = ship(client)
    for status in ("out_for_delivery", "in_transit", "delayed", "attempted", "package_accepted"):
        assert update(client, row, status=status).data["status"] == status
    for status in ("created", "rates_generated"):
        refuse(client, row, 400, "shipment.status_invalid", ["tracking_update.status"], {"tracking_update": {"status": status}})
    refuse(client, row, 400, "validation.failed", ["tracking_update.status"], {"tracking_update": {"status": "flying"}})
    refuse(client, row, 400, "validation.failed", ["tracking_update.status"], {"tracking_update": {"comment": "  "}})
    done = update(client, row, status="delivered").data
    assert done["delivered_at"] and done["filters"] == ["completed"]
    refuse(client, row, 409, "shipment.completed", ["tracking_update.status"], {"tracking_update": {"status": "in_transit"}})
    client.refused("POST", f"{SHIPMENTS}/{row['id']}/tracking-updates", 409, "shipment.completed", body=[{"status": "in_transit"}])
    back = update(client, row, status="in_transit", extra={"force_update": True}).data
    assert back["status"] == "in_transit" and back["delivered_at"] is None
    assert kinds(org, row).count("shipment.delivered") == 1


def test_old_names_of_statuses(client):
    for old, new in (("delivery_attempted", "attempted"), ("delivery_scheduled", "scheduled"), ("delivery_rescheduled", "rescheduled"),
                     ("courier_at_sender", "provider_at_pickup"), ("contact_courier", "contact_provider"), ("cancelled", "canceled")):
        assert update(client, ship(client), status=old).data["status"] == new


def test_filters_of_statuses(client):
    for status, filters in (("in_transit", ["outstanding"]), ("delayed", ["outstanding", "exception"]), ("package_lost", ["completed", "exception"]), ("canceled", ["completed"])):
        assert update(client, ship(client), status=status).data["filters"] == filters


def test_cancel_of_parents_and_children(client):
    parent = ship(client)
    child = ship(client, parent_id=parent["id"], type="outbound")
    assert update(client, child, status="canceled").data["status"] == "canceled"
    assert update(client, parent, status="canceled").data["status"] == "canceled"


def test_filter_refunded_is_refused_edge_case_7(client):
    for bad in ("refunded", "nope", ""):
        client.refused("GET", f"{SHIPMENTS}?filter={bad}", 400, "param.invalid", ["filter"])
    row = ship(client)
    assert row["id"] in client.get(SHIPMENTS + "?filter=outstanding&limit=all").ids and row["id"] not in client.get(SHIPMENTS + "?filter=completed&limit=all").ids


def groups():
    """The table of statuses of spec 03 section 2: group → its values."""
    text = (ROOT / "docs/spec/03-shipments-and-trackers.md").read_text().split("| Group | Values |")[1]
    rows = re.findall(r"^\| (\w+) \| (.*?) \|$", text.split("\n\n")[0], re.M)
    return {group: [v for v in " ".join(re.findall(r"`([^`]+)`", text)).split() if v != "chained_status"] for group, text in rows}


def test_every_status(client, org):
    """Each may follow creation, says what kind it is, and is told by the events that are its own."""
    table = groups()
    assert [len(table[g]) for g in ("before", "moving", "issue", "completed")] == [2, 15, 8, 7]
    definitions = {r: json.loads((ROOT / f"schemas/{r}s/{r}.json").read_text())["properties"] for r in ("shipment", "tracker", "container")}
    every = [v for group in ("before", "moving", "issue", "completed") for v in table[group]]
    assert sorted(definitions["shipment"]["status"]["enum"]) == sorted(definitions["tracker"]["status"]["enum"]) == sorted(every)
    assert sorted(definitions["container"]["status"]["enum"]) == sorted(set(every) - {"rates_generated"})
    assert sorted(definitions["tracker"]["chained_status"]["enum"]) == sorted(table["moving"])
    good, bad = {"delivered", "picked_up"}, {"return_to_sender", "package_undeliverable", "package_lost", "package_disposed"}
    for status in every[2:]:
        row = ship(client, tracking_update={"status": status})
        outstanding, exception = status not in table["completed"], status in table["issue"] or status in bad
        assert (row["status"], row["filters"]) == (status, ["outstanding" if outstanding else "completed"] + ["exception"] * exception)
        assert bool(row["delivered_at"]) == (status in good)
        assert sorted(kinds(org, row)) == sorted(["shipment.created"] + ["shipment.delivered"] * (status in good) + ["shipment.canceled"] * (status == "canceled")), status


def test_the_same_status_again_is_a_line_and_nothing_else(client, org):
    row = ship(client)
    at = int(time.time()) + 3600
    done = update(client, row, status="delivered", occurred_at=at).data
    assert done["delivered_at"] == done["tracking_updates"][-1]["occurred_at"] and abs(at - iso(done["delivered_at"])) < 1, "the update's moment"
    before = kinds(org, row)
    again = update(client, row, status="delivered", occurred_at=at + 60, comment="Proof").data
    assert [u["status"] for u in again["tracking_updates"]] == ["created", "delivered", "delivered"] and again["tracking_updates"][-1]["comment_only"] is False
    assert kinds(org, row)[len(before):] == ["shipment.updated"] and again["delivered_at"] == done["delivered_at"]


# ---- tracking updates ----

def test_edge_case_1_comment_only_on_a_delivered_shipment(client, org):
    row = ship(client)
    update(client, row, status="delivered", comment="On the porch")
    before = kinds(org, row)
    after = update(client, row, comment="Photo follows").data
    assert after["status"] == "delivered" and after["tracking_updates"][-1]["comment_only"] is True and after["tracking_updates"][-1]["status"] == "delivered"
    assert kinds(org, row)[len(before):] == ["shipment.updated"] and kinds(org, row).count("shipment.delivered") == 1


def test_comment_only_on_create(client):
    row = ship(client, tracking_update={"comment": "Expected soon"})
    assert [(u["status"], u["comment"]) for u in row["tracking_updates"]] == [("created", None), ("created", "Expected soon")] and row["status"] == "created"
    assert ship(client, tracking_update={"status": "in_transit"})["status"] == "in_transit"


def test_edge_case_3_late_updates(client, org):
    row = ship(client, tracking_update={"status": "in_transit", "occurred_at": "2024-05-01T08:00:00Z"})
    row = ship(client)
    update(client, row, status="delivered", occurred_at="2030-01-01T12:00:00Z", expect=400)
    noon, ten = int(time.time()) + 7200, int(time.time()) + 3600
    update(client, row, status="delivered", occurred_at=noon)
    late = update(client, row, status="in_transit", occurred_at=ten).data
    assert late["status"] == "delivered"
    assert [u["status"] for u in late["tracking_updates"]] == ["created", "in_transit", "delivered"]
    assert kinds(org, row)[-1] == "shipment.updated"


def test_updates_are_of_the_next_day_at_most(client):
    row, hour = ship(client), 3600
    refuse(client, row, 400, "validation.failed", ["tracking_update.occurred_at"], {"tracking_update": {"status": "in_transit", "occurred_at": int(time.time()) + 25 * hour}})
    assert update(client, row, status="in_transit", occurred_at=int(time.time()) + 23 * hour).data["status"] == "in_transit"


def test_late_updates_change_no_places_and_are_no_delivery(client, org, location):
    row, now = ship(client), int(time.time())
    before = update(client, row, status="in_transit", occurred_at=now + 7200).data
    n = len(kinds(org, row))
    late = update(client, row, status="delivered", occurred_at=now + 3600, location_id=location["id"], coordinates=[1, 2]).data
    assert [late[k] for k in ("status", "location_id", "coordinates", "delivered_at")] == [before[k] for k in ("status", "location_id", "coordinates", "delivered_at")] == ["in_transit", None, None, None]
    assert late["tracking_updates"][1]["location_id"] == location["id"] and kinds(org, row)[n:] == ["shipment.updated"]
    update(client, row, status="delivered", occurred_at=now + 7300)
    after = update(client, row, status="picked_up", occurred_at=now + 7250).data
    assert after["status"] == "delivered" and abs(iso(after["delivered_at"]) - now - 7300) < 1 and kinds(org, row).count("shipment.delivered") == 1


def test_what_a_line_shows(client, org):
    row = ship(client)
    line = update(client, row, status="in_transit").data["tracking_updates"][-1]
    assert line["object"] == "tracking_update" and line["created_by"] == row["created_by"] and abs(iso(line["created_at"]) - time.time()) < 60
    assert (line["source"], line["event"], line["comment"]) == ("api", "shipment.updated", None) and re.fullmatch("[0-9a-f]{64}", line["hash"])


def test_repeated_updates(client, org):
    row = ship(client)
    at = int(time.time()) + 60
    update(client, row, status="in_transit", occurred_at=at, comment="x")
    n = len(kinds(org, row))
    same = update(client, row, status="in_transit", occurred_at=at, comment="x").data
    assert len(same["tracking_updates"]) == 2 and len(kinds(org, row)) == n
    update(client, row, status="in_transit", occurred_at=at, comment="y")
    assert len(get(client, row)["tracking_updates"]) == 3


def test_edge_case_4_ten_at_once(client, org, server):
    row = ship(client)
    at = int(time.time()) + 60
    clients = [org.client() for _ in range(10)]
    answers = []
    threads = [threading.Thread(target=lambda c=c: answers.append(update(c, row, status="in_transit", occurred_at=at).status)) for c in clients]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert answers == [200] * 10
    assert [u["status"] for u in get(client, row)["tracking_updates"]] == ["created", "in_transit"]
    assert kinds(org, row).count("shipment.updated") == 1


def test_members_of_updates(client, location):
    row = ship(client)
    layout = client.post(f"/v1/locations/{location['id']}/layouts", {"name": "Shelf"}, expect=201).data
    u = {"status": "package_at_waypoint", "comment": "c", "layout_id": layout["id"], "contact_id": make_contact(client), "user_id": make_user(client), "vehicle_id": "v1", "address": "Springfield, IL",
         "coordinates": [39.8, -89.6], "images": ["https://example.com/a.png"], "provider_status": {"code": "AR", "description": "Arrived"}}
    after = update(client, row, **u).data
    line = after["tracking_updates"][-1]
    assert line["location_id"] == after["location_id"] == location["id"] and after["layout_id"] == line["layout_id"] == layout["id"] and after["coordinates"] == [39.8, -89.6]
    assert line["address"] == {"formatted_address": "Springfield, IL"} and line["provider_status"]["code"] == "AR" and line["images"] == u["images"]
    for bad, at in (({"comment": "x" * 2001}, "comment"), ({"occurred_at": "tomorrow"}, "occurred_at"), ({"coordinates": [91, 0]}, "coordinates"), ({"images": ["ftp://x"]}, "images"),
                    ({"images": ["https://x"] * 11}, "images"), ({"location_id": "loc_0000000000000000000000"}, "location_id"), ({"layout_id": "lay_nope"}, "layout_id"), ({"address": 5}, "address"),
                    *([({"contact_id": "ctct_0000000000000000000000"}, "contact_id")] if "contacts" in MODULES.split(",") else [])):
        refuse(client, row, 400, "validation.failed", ["tracking_update." + at], {"tracking_update": {"status": "delayed", **bad}})


def test_many_updates_at_once(client, org):
    row = ship(client)
    now = int(time.time())
    path = f"{SHIPMENTS}/{row['id']}/tracking-updates"
    body = [{"status": "delivered", "occurred_at": now + 300}, {"status": "in_transit", "occurred_at": now + 100}, {"status": "out_for_delivery", "occurred_at": now + 200}]
    after = client.post(path, body, expect=200).data
    assert after["status"] == "delivered" and sorted(kinds(org, row)[1:]) == ["shipment.delivered", "shipment.updated"]
    assert [u["status"] for u in client.get(path).data] == ["created", "in_transit", "out_for_delivery", "delivered"]
    assert [u["status"] for u in client.get(path + "?order=desc&limit=2").data] == ["delivered", "out_for_delivery"]
    pages = [client.get(f"{path}?limit=3&page={i}") for i in (1, 2)]
    assert [u["status"] for u in pages[1].data] == ["delivered"] and [p.pagination["has_more"] for p in pages] == [True, False]
    client.refused("GET", path + "?order=up&limit=0", 400, "param.invalid", ["limit", "order"])
    client.refused("POST", path, 400, "validation.failed", ["1.status"], body=[{"status": "delayed"}, {"status": "nope"}])
    client.refused("POST", path, 400, "validation.failed", body=[{"status": "delayed"}] * 101)
    assert len(client.get(path).data) == 4


def test_a_thousand_lines(client, server, org):
    row = ship(client)
    server.sql("INSERT INTO shipments.tracking_update (organization_id, id, shipment_id, status, occurred_at, source, hash, position, created_at)"
               " SELECT organization_id, 'tup_' || n, shipment_id, status, occurred_at, source, 'h' || n, n + 1, created_at FROM shipments.tracking_update, generate_series(1, 999) n"
               " WHERE shipment_id = %s", row["id"])
    server.sql("UPDATE shipments.shipment SET history_count = 1000 WHERE id = %s", row["id"])
    refuse(client, row, 400, "shipment.update_limit", ["tracking_update."], {"tracking_update": {"status": "delayed"}})
    assert len(get(client, row)["tracking_updates"]) == 100 and len(client.get(f"{SHIPMENTS}/{row['id']}/tracking-updates?limit=all").data) == 1000


# ---- fields ----

def test_what_is_kept_as_sent(client):
    row = ship(client, customs={"contents": [{"hs": "0101", "value": 5}]}, options={"provider_timeout": 500, "own": True}, notes="  two  lines\n")
    assert row["customs"] == {"contents": [{"hs": "0101", "value": 5}]} and row["options"]["own"] is True and row["notes"] == "  two  lines\n"
    refuse(client, row, 400, "validation.failed", ["customs"], {"customs": {"x": "y" * 70000}})
    for bad in (499, 20001, "fast"):
        refuse(client, row, 400, "validation.failed", ["options.provider_timeout"], {"options": {"provider_timeout": bad}})


def test_moments_in_three_forms(client):
    for sent in ("2030-05-01T10:00:00Z", 1903860000, 1903860000000, "1903860000"):
        row = ship(client, estimated_delivery_at=sent, pickup_at=sent)
        assert row["estimated_delivery_at"] == row["pickup_at"] == "2030-05-01T10:00:00.000Z", sent
    client.refused("POST", SHIPMENTS, 400, "validation.failed", ["pickup_at"], body={"tracking_number": "P9", "pickup_at": "soon"})


def test_a_container_is_not_written_here(client):
    box = client.post("/v1/containers", {}, expect=201).data["id"] if "/v1/containers" in client.server.openapi["paths"] else "ctnr_" + "0" * 22
    row = ship(client, container_id=box)
    assert row["container_id"] is None
    client.post(f"{SHIPMENTS}/{row['id']}", {"container_id": box}, expect=200)
    assert get(client, row)["container_id"] is None


def test_numbers_are_fixed_once_under_way(client):
    row = ship(client)
    assert client.post(f"{SHIPMENTS}/{row['id']}", {"tracking_number": UPS + "Q", "provider_id": "fedex"}, expect=200).data["provider"]["name"] == "FedEx"
    update(client, row, status="package_accepted")
    refuse(client, row, 409, "shipment.in_transit", ["tracking_number"], {"tracking_number": "OTHER"})
    refuse(client, row, 409, "shipment.in_transit", ["provider_id"], {"provider_id": "ups"})
    assert client.post(f"{SHIPMENTS}/{row['id']}", {"provider_id": "ups", "force_update": True}, expect=200).data["provider_id"] == "ups"


def test_places(client, location):
    other = make_location(client, "Far")
    layout = client.post(f"/v1/locations/{location['id']}/layouts", {"name": "Bay"}, expect=201).data
    below = client.post(f"/v1/locations/{location['id']}/layouts", {"name": "Bin", "path": layout["id"]}, expect=201).data
    row = ship(client, layout_id=below["id"])
    assert row["location_id"] == location["id"]
    for path in (layout["id"], below["id"], "/Bay", "/Bay/Bin"):
        assert row["id"] in client.get(f"{SHIPMENTS}?layout_path={path}").ids, path
    assert client.get(SHIPMENTS + "?layout_path=/Nowhere").ids == [] and client.get(SHIPMENTS + "?layout_path=lay_nowhere").ids == []
    client.refused("GET", SHIPMENTS + "?layout_path=Bay", 400, "param.invalid", ["layout_path"])
    refuse(client, row, 400, "layout.location_mismatch", ["layout_id"], {"location_id": other["id"], "layout_id": below["id"]})
    assert client.post(f"{SHIPMENTS}/{row['id']}", {"location_id": other["id"]}, expect=200).data["layout_id"] is None
    row = ship(client, layout_id=below["id"])
    client.delete(f"/v1/locations/{location['id']}/layouts/{layout['id']}")
    assert get(client, row)["layout_id"] == location["default_layout_id"]


def test_a_location_in_use(client):
    place = make_location(client, "Busy")
    row = ship(client, location_id=place["id"])
    client.refused("DELETE", "/v1/locations/" + place["id"], 409, "location.in_use", ["shipments"])
    update(client, row, status="delivered")
    client.delete("/v1/locations/" + place["id"])


def test_edge_case_6_parents(client):
    parent, child = ship(client), ship(client)
    row = client.post(f"{SHIPMENTS}/{child['id']}", {"parent_id": parent["id"]}, expect=200).data
    assert row["parent_id"] == parent["id"] and get(client, parent)["is_parent"] is True and get(client, parent)["children_count"] == 1
    assert client.get(f"{SHIPMENTS}?parent_id={parent['id']}").ids == [child["id"]]
    assert parent["id"] in client.get(SHIPMENTS + "?is_parent=true&limit=all").ids
    alone = ship(client)
    for row in (child, alone):
        refuse(client, row, 400, "shipment.parent_invalid", ["parent_id"], {"parent_id": row["id"]})
    refuse(client, parent, 400, "shipment.parent_invalid", ["parent_id"], {"parent_id": ship(client)["id"]})
    refuse(client, ship(client), 400, "shipment.parent_invalid", ["parent_id"], {"parent_id": child["id"]})
    refuse(client, child, 400, "validation.failed", ["parent_id"], {"parent_id": "ship_0000000000000000000000"})
    client.delete(f"{SHIPMENTS}/{child['id']}")
    assert get(client, parent)["is_parent"] is False and get(client, parent)["children_count"] == 0
    again = ship(client, parent_id=parent["id"])
    client.delete(f"{SHIPMENTS}/{parent['id']}")
    assert get(client, again)["parent_id"] is None


def test_delete(client):
    row = ship(client)
    update(client, row, status="in_transit")
    client.refused("DELETE", f"{SHIPMENTS}/{row['id']}", 409, "shipment.in_transit")
    update(client, row, status="canceled")
    client.delete(f"{SHIPMENTS}/{row['id']}")
    client.delete(f"{SHIPMENTS}/{ship(client)['id']}")


def test_edge_case_10_purchase_and_delete_at_once(rated):
    org, client = rated
    for _ in range(5):
        row = client.post(SHIPMENTS, quote_body(), expect=201).data
        results = []
        calls = [lambda: results.append(client.request("POST", f"{SHIPMENTS}/{row['id']}/purchase", body={"rate_id": row["rates"][0]["id"]}).status),
                 lambda: results.append(org.client().request("DELETE", f"{SHIPMENTS}/{row['id']}").status)]
        threads = [threading.Thread(target=c) for c in calls]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert sorted(results)[0] == 200 and sorted(results)[1] in (404, 409), results


def test_documents_are_not_enabled(client):
    row = ship(client)
    if "/v1/documents" in client.server.openapi["paths"]:
        assert client.get(f"{SHIPMENTS}/{row['id']}?include_documents=true").data["_documents"] == []
        return
    a = client.refused("GET", f"{SHIPMENTS}/{row['id']}?include_documents=true", 400, "param.invalid", ["include_documents"])
    assert "not enabled" in a.message
    client.refused("GET", f"{SHIPMENTS}?include_documents=true", 400, "param.invalid", ["include_documents"])


def test_search_and_lists(client):
    row = ship(client, order_number="ORD-ZEBRA-7", sender=party(name="Quentin Marsh", email="quentin@example.com"), tags=["fragile"])
    for term in ("zebra", "quentin", "marsh", "quentin@", row["tracking_number"][3:]):
        assert row["id"] in client.get(f"{SHIPMENTS}?search={term}").ids, term
    assert client.get(SHIPMENTS + "?search=zebra%20nothing&search_strategy=match_all").ids == []
    for query in ("order_number=ord-zebra-7", "tags=fragile", f"tracking_number={row['tracking_number']}", "provider_id=unknown&limit=all", "type=outbound&limit=all"):
        assert row["id"] in client.get(f"{SHIPMENTS}?{query}").ids, query
    for order in ("created_at", "updated_at", "status", "estimated_delivery_at", "delivered_at"):
        client.get(f"{SHIPMENTS}?order_by={order}&direction=asc")
    client.get(SHIPMENTS + "?search=zebra&order_by=_relevance")


def test_search_scores_and_hits(fresh):
    client = fresh.client()
    zoe = ship(client, order_number="PO-9", sender=party(name="Zoë Ångström", email="zoe@b.example"))
    both = ship(client, order_number="ZOE-1", sender=party(name="Zoe Meier", email="z@b.example"))
    ship(client, order_number="OTHER")
    found = client.get(SHIPMENTS + "?search=zoe%20angstrom").data
    assert [r["id"] for r in found] == [zoe["id"], both["id"]], "more matched terms first, accents and case aside"
    scores = [r["_search"]["relevance_score"] for r in found]
    assert 1 >= scores[0] > scores[1] > 0
    assert {"field": "sender.name", "value": "Zoë Ångström"} in found[0]["_search"]["matches"] and {"field": "sender.email", "value": "zoe@b.example"} in found[0]["_search"]["matches"]
    assert {m["field"] for m in found[1]["_search"]["matches"]} == {"order_number", "sender.name"}
    assert client.get(SHIPMENTS + "?search=zoe&order_by=created_at&direction=asc").ids == [zoe["id"], both["id"]]
    assert client.get(SHIPMENTS + "?search=Angstrem").ids == [zoe["id"]], "similar words, when nothing contains the term"
    assert client.get(SHIPMENTS + "?search=Angstrem&include_total_count=true").pagination["total_count"] == 1
    assert client.get(SHIPMENTS + "?search=zoe&page=2").ids == [] and client.get(SHIPMENTS + "?search=qqqqqq").ids == []
    assert client.get(SHIPMENTS + "?search=Angstrem%20qqqq&search_strategy=match_all").ids == []
    assert "_search" not in client.get(SHIPMENTS).data[0]


def test_comments_in_the_change_log(client, org, server):
    row = ship(client)
    client.post(f"{SHIPMENTS}/{row['id']}", {"log": {"message": "Called the desk", "visibility": "public"}}, expect=200)
    assert kinds(org, row) == ["shipment.created", "shipment.updated"]
    update(client, row, status="in_transit")
    lines = server.sql("SELECT action, message, visibility FROM wharf.change_log WHERE resource_id = %s ORDER BY created_at, id", row["id"])
    assert ("comment", "Called the desk", "public") in lines and ("status_changed", None, "public") in lines
    for bad, at in (({"message": ""}, "log.message"), ({"message": "x" * 4001}, "log.message"), ({}, "log.message"), ({"message": "x", "visibility": "secret"}, "log.visibility"),
                    ({"message": "x", "images": ["https://example.com/a.png"] * 11}, "log.images")):
        refuse(client, row, 400, "validation.failed", [at], {"log": bad})
    client.post(f"{SHIPMENTS}/{row['id']}", {"log": {"message": "y" * 4000, "images": ["https://example.com/a.png"] * 10}}, expect=200)
    client.post(f"{SHIPMENTS}/{row['id']}", {"log": {"message": "For us", "visibility": "private"}}, expect=200)
    assert server.sql("SELECT length(message), visibility, parent_id FROM wharf.change_log WHERE resource_id = %s AND action = 'comment' ORDER BY created_at, id", row["id"])[1:] == [
        (4000, "internal", row["tracker_id"]), (6, "internal", row["tracker_id"])]


@pytest.fixture(scope="module")
def clocked():
    s = Server("--modules", "org,carriers,shipments", "--test-clock")
    yield s
    s.stop()


ENDS = {"AAAAAAA": ["delivered"], "BBBBBBB": ["picked_up"], "CCCCCCC": ["return_to_sender"], "DDDDDDD": ["package_undeliverable"], "EEEEEEE": ["package_lost"],
        "FFFFFFF": ["package_damaged", "delivered"], "GGGGGGG": ["attempted", "delivered"], "HHHHHHH": ["delayed"], "IIIIIII": ["canceled"], "1234567": ["delivered"]}


def test_simulated_numbers_move_in_test_organizations_only(clocked):
    org, system = clocked.organization(), Client(clocked, clocked.demo_key)
    test, live = org.client(test=True), org.client()
    rows = {code: test.post(SHIPMENTS, {"tracking_number": f"WHRF-{code}-0000001"}, expect=201).data for code in ENDS}
    still = live.post(SHIPMENTS, {"tracking_number": "WHRF-FFFFFFF-0000001"}, expect=201).data
    history = lambda row: [u["status"] for u in get(test, row)["tracking_updates"]]
    time.sleep(1)
    assert all(history(row) == ["created"] for row in rows.values())
    wanted = {code: ["created", "package_accepted", "in_transit", "out_for_delivery", *end] for code, end in ENDS.items()}
    for step in range(1, 6):
        system.post("/v1/system/clock", {"offset_seconds": step * 61}, expect=200)
        end = time.monotonic() + WAIT
        while time.monotonic() < end and any(len(history(rows[c])) < min(step + 1, len(wanted[c])) for c in rows):
            time.sleep(0.2)
    assert {code: history(row) for code, row in rows.items()} == wanted
    assert get(live, still)["status"] == "created"
    assert get(test, rows["AAAAAAA"])["tracking_updates"][-1]["source"] == "system"
