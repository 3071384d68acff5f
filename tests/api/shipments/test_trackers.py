"""Trackers: spec 03 sections 5 and 14."""
import re
import time

import pytest

from test_shipments import SHIPMENTS, number, party, quote_body, ship, update as update_shipment
from wharf import MODULES, ROOT, make_contact

TRACKERS = "/v1/trackers"


def track(client, **more):
    return client.post(TRACKERS, {"tracking_number": number(), **more}, expect=201).data


def get(client, row, query=""):
    return client.get(f"{TRACKERS}/{row['id']}{query}").data


def post(client, row, **body):
    return client.post(f"{TRACKERS}/{row['id']}", body, expect=200).data


def refuse(client, row, status, code, errors, **body):
    return client.refused("POST", f"{TRACKERS}/{row['id']}", status, code, errors, body=body)


def leg(row, i=0):
    return row["shipments"][i]


def chain(client, n, **more):
    """A tracker of n legs in order, and their ids."""
    row = track(client, **more)
    others = [ship(client)["id"] for _ in range(n - 1)]
    row = post(client, row, chaining={"add": others})
    assert [s["id"] for s in row["shipments"]] == [leg(row)["id"], *others]
    return row, [s["id"] for s in row["shipments"]]


def events(org, id):
    return [e[0] for e in org.events(id)]


def move(client, id, status, **more):
    return update_shipment(client, {"id": id}, status=status, **more).data


# ---- creation ----

def test_create(client, org):
    a = client.post(TRACKERS, {"tracking_number": "1Z 58F2A7 0378657975", "metadata": {"bay": "4"}, "type": "outbound"}, expect=201)
    row = a.data
    assert a.headers["Location"] == f"{TRACKERS}/{row['id']}" and row["object"] == "tracker" and row["id"].startswith("track_")
    assert row["tracking_number"] == "1Z58F2A70378657975" and row["provider"]["id"] == "ups" and row["status"] == "created" and row["type"] == "outbound"
    assert row["current_shipment_id"] == leg(row)["id"] and leg(row)["tracker_id"] == row["id"] and row["metadata"] == {"bay": "4"}
    assert row["chained_status"] == "package_at_waypoint" and row["auto_close_shipments_option"] == "on_progress" and row["has_parent_shipment"] is False
    assert row["logs"] is None and row["provider_candidates"] == [] and [u["status"] for u in row["tracking_updates"]] == ["created"]
    assert events(org, row["id"]) == ["tracker.created"] and events(org, leg(row)["id"]) == ["shipment.created"]
    again = client.post(TRACKERS, {"tracking_number": "1z58f2a70378657975"}, expect=200)
    assert again.data["id"] == row["id"] and again.message == "Existing tracker returned"
    assert client.post(TRACKERS, {"tracking_number": "1z58f2a70378657975", "allow_duplicate": True}, expect=201).data["id"] != row["id"]
    client.refused("POST", TRACKERS, 400, "validation.failed", ["tracking_number"], body={})
    assert track(client, tracking_number="unheard of")["provider"]["id"] == "unknown"


@pytest.mark.parametrize("number", [
    "\u200e1Z999AA10123456784", "\u202a1Z999AA10123456784\u202c", "1Z999AA1\u00ad0123456784", "1Z-999-AA1-0123-4567-84", "1Z\u2011999\u2011AA1\u20110123\u20114567\u201184",
    "\ufeff1z 999 aa1 0123 4567 84\u2060", "1Z.999.AA1.0123.4567.84", "1Z\u00a0999\u202fAA1\u30000123456784", "1Z999AA1\u2066\u20690123456784", "\u180e1Z999AA10123456784\u061c"])
def test_what_nobody_sees_makes_no_second_tracker(fresh, number):
    client = fresh.client()
    row = client.post(TRACKERS, {"tracking_number": "1Z999AA10123456784"}, expect=201).data
    again = client.post(TRACKERS, {"tracking_number": number}, expect=200)
    assert again.data["id"] == row["id"] and again.data["tracking_number"] == "1Z999AA10123456784" and again.data["provider"]["id"] == "ups"
    if "batches" in MODULES.split(","):
        batch = client.post("/v1/batches", {"resource": "tracker", "action": "merge", "mode": "sync", "data": [{"tracking_number": number}]}, expect=201).data
        assert batch["stats"]["unchanged"] == 1 and batch["stats"]["created"] == 0


def test_dashes_of_numbers_that_no_carrier_has(client):
    """They may be a part of it: two customers' own numbers are not made one."""
    one, other = (client.post(TRACKERS, {"tracking_number": n}, expect=201).data for n in ("MY-RUN-77-1", "MY-RUN-7-71"))
    assert one["tracking_number"] == "MY-RUN-77-1" and other["tracking_number"] == "MY-RUN-7-71"


def test_guessed_providers(client):
    row = track(client, tracking_number="371755712374")
    assert {c["provider"]["id"] for c in row["provider_candidates"]} == {"fedex", "purolator"} and row["provider_id"] == "fedex"
    client.refused("POST", TRACKERS, 400, "tracker.provider_ambiguous", ["provider_id"], body={"tracking_number": "371755712374", "on_ambiguity": "error"})
    assert track(client, tracking_number="371755712374", provider_id="purolator", on_ambiguity="error")["provider_candidates"] == []
    client.refused("POST", TRACKERS, 400, "validation.failed", ["on_ambiguity"], body={"tracking_number": "371755712374", "on_ambiguity": "ask"})


def test_a_tracker_that_is_over_is_not_the_existing_one(client):
    row = track(client)
    sent = {"tracking_number": row["tracking_number"]}
    assert client.post(TRACKERS, {**sent, "provider_id": "fedex"}, expect=201).data["id"] != row["id"]
    post(client, row, tracking_update={"status": "delivered"})
    again = client.post(TRACKERS, sent, expect=201).data
    assert again["id"] != row["id"] and client.post(TRACKERS, sent, expect=200).data["id"] == again["id"]


def test_a_shipment_makes_its_tracker(client, org):
    row = ship(client, tags=["fragile"], sender=party(name="Sybil"))
    t = get(client, {"id": row["tracker_id"]})
    assert leg(t)["id"] == row["id"] and t["tags"] == ["fragile"] and t["sender"]["name"] == "Sybil"
    assert client.get(f"{TRACKERS}?search=sybil").ids == [t["id"]]
    n = len(events(org, t["id"]))
    move(client, row["id"], "in_transit")
    assert get(client, t)["status"] == "in_transit" and events(org, t["id"])[n:] == ["tracker.updated"]
    move(client, row["id"], "delivered")
    assert get(client, t)["filters"] == ["completed"] and get(client, t)["delivered_at"]


def test_joins_a_leg_without_tracker(client):
    row = ship(client)
    client.delete(f"{TRACKERS}/{row['tracker_id']}")
    assert client.get(f"{SHIPMENTS}/{row['id']}").data["tracker_id"] is None
    client.post(f"{SHIPMENTS}/{row['id']}", {"order_number": "7"}, expect=200)
    assert client.get(f"{SHIPMENTS}/{row['id']}").data["tracker_id"] is None
    t = track(client, tracking_number=row["tracking_number"])
    assert [s["id"] for s in t["shipments"]] == [row["id"]] and client.get(f"{SHIPMENTS}/{row['id']}").data["tracker_id"] == t["id"]


# ---- updates ----

def test_updates_go_to_the_current_leg(client, org):
    row = track(client)
    u = post(client, row, tracking_update={"status": "in_transit", "comment": "Left the hub"})
    assert u["status"] == "in_transit" and leg(u)["status"] == "in_transit" and u["tracking_updates"][-1]["comment"] == "Left the hub"
    assert events(org, row["id"]) == ["tracker.created", "tracker.updated"] and events(org, leg(row)["id"]) == ["shipment.created", "shipment.updated"]
    assert post(client, row, provider_id="fedex")["provider"]["name"] == "FedEx" if u["status"] == "created" else True
    refuse(client, row, 409, "shipment.in_transit", ["provider_id"], provider_id="fedex")
    assert post(client, row, provider_id="fedex", force_update=True)["provider"]["name"] == "FedEx"
    same = post(client, row, metadata={})
    assert same["updated_at"] == get(client, row)["updated_at"]


def test_each_field_that_an_update_takes(client, location):
    row = track(client, type="outbound")
    layout = client.post(f"/v1/locations/{location['id']}/layouts", {"name": "Tracked"}, expect=201).data["id"]
    for change in ({"type": "inbound"}, {"sender_contact_id": make_contact(client)}, {"recipient_contact_id": make_contact(client, "John")}, {"location_id": location["id"]}, {"layout_id": layout},
                   {"metadata": {"a": "1"}}, {"chained_status": "scheduled"}, {"auto_close_shipments_option": "never"}, {"provider_id": "ups"}, {"destination": {"address": None, "layout": layout, "location": None}}):
        name, value = next(iter(change.items()))
        assert row[name] != value and post(client, row, **change)[name] == value, name
    got = get(client, row)
    assert got["type"] == "inbound" and got["layout_id"] == layout and leg(got)["provider_id"] == "ups"
    assert post(client, row, sender_contact_id=None, recipient_contact_id=None)["recipient_contact_id"] is None
    if "/v1/contacts" in client.server.openapi["paths"]:
        refuse(client, row, 400, "validation.failed", ["recipient_contact_id"], recipient_contact_id="ctct_0000000000000000000000")


def test_logs_and_their_visibility(client, org):
    row = track(client)
    post(client, row, log={"message": "For us", "visibility": "private"})
    post(client, row, log={"message": "For all", "visibility": "public"})
    assert events(org, row["id"]) == ["tracker.created", "tracker.updated", "tracker.updated"]
    move(client, leg(row)["id"], "in_transit")
    assert get(client, row)["logs"] is None and get(client, row, "?include_logs=false")["logs"] is None
    both = get(client, row, "?include_logs=true")["logs"]
    assert [x["message"] for x in both if x["action"] == "comment"] == ["For us", "For all"] and {x["visibility"] for x in both} == {"public", "internal"}
    public = get(client, row, "?include_logs=true&logs_visibility=public")["logs"]
    assert [x["action"] for x in public] == ["comment", "status_changed"] and public[1]["changes"] == [{"field": "status", "old": "created", "new": "in_transit"}]
    assert all(x["visibility"] == "internal" for x in get(client, row, "?include_logs=true&logs_visibility=internal")["logs"])
    listed = next(r for r in client.get(f"{TRACKERS}?include_logs=true&logs_visibility=public&tracking_number={row['tracking_number']}").data)
    assert len(listed["logs"]) == 2 and len(client.get(f"{TRACKERS}/{row['id']}/logs?logs_visibility=public").data) == 2
    for path in (TRACKERS + "?include_logs=true&", f"{TRACKERS}/{row['id']}?include_logs=true&", f"{TRACKERS}/{row['id']}/logs?"):
        client.refused("GET", path + "logs_visibility=secret", 400, "param.invalid", ["logs_visibility"])
        assert client.get(path + "logs_visibility=all").status == 200
    for path in (TRACKERS, f"{TRACKERS}/{row['id']}"):
        client.refused("GET", path + "?include_logs=maybe", 400, "param.invalid", ["include_logs"])
        assert client.get(path + "?include_logs=0").status == 200


def test_logs_are_paged(client):
    row = track(client)
    for i in range(5):
        post(client, row, log={"message": f"Line {i}", "visibility": "public"})
    path = f"{TRACKERS}/{row['id']}/logs?logs_visibility=public"
    pages = [client.get(f"{path}&limit=2&page={i}") for i in (1, 2, 3, 4)]
    assert [[x["message"] for x in p.data] for p in pages] == [["Line 0", "Line 1"], ["Line 2", "Line 3"], ["Line 4"], []]
    assert [p.pagination for p in pages] == [{"page": i, "limit": 2, "has_more": i < 3} for i in (1, 2, 3, 4)]
    assert [x["message"] for x in client.get(path + "&order=desc&limit=1").data] == ["Line 4"]
    assert client.get(path).pagination == {"page": 1, "limit": 100, "has_more": False} and client.get(path + "&limit=all").pagination["limit"] == 1000
    client.refused("GET", path + "&page=0&limit=1001&order=up", 400, "param.invalid", ["page", "limit", "order"])
    client.refused("GET", path + "&page=1&page=2&limit=none", 400, "param.invalid", ["page", "limit"])
    client.refused("GET", path + "&page=1002&limit=100", 400, "pagination.too_deep", ["page"])
    client.refused("GET", f"{TRACKERS}/track_{'0' * 22}/logs", 404, "not_found")


# ---- chains ----

def test_adding_and_removing_legs(client, org):
    row, (a, b, c) = chain(client, 3)
    assert row["current_shipment_id"] == a and all(s["tracker_id"] == row["id"] for s in row["shipments"])
    assert events(org, b).count("shipment.updated") == 1
    d = ship(client)
    row = post(client, row, chaining={"add": [{"shipment_id": d["id"], "position": 1}]})
    assert [s["id"] for s in row["shipments"]] == [a, d["id"], b, c]
    client.refused("GET", f"{TRACKERS}/{d['tracker_id']}", 404, "not_found")
    row = post(client, row, chaining={"remove": [d["id"], c]})
    assert [s["id"] for s in row["shipments"]] == [a, b]
    own = client.get(f"{SHIPMENTS}/{c}").data["tracker_id"]
    assert own and own != row["id"] and events(org, own) == ["tracker.created"]
    refuse(client, row, 400, "tracker.chain_empty", ["chaining.remove"], chaining={"remove": [a, b]})
    refuse(client, row, 400, "tracker.not_in_chain", ["chaining.remove.0"], chaining={"remove": [c]})
    refuse(client, row, 400, "validation.failed", ["chaining"], chaining={"add": [c], "remove": [c]})
    refuse(client, row, 400, "validation.failed", ["chaining.add.0"], chaining={"add": ["ship_0000000000000000000000"]})
    assert [s["id"] for s in post(client, row, chaining={"add": [b]})["shipments"]] == [a, b]


def test_legs_of_other_trackers(client, org):
    row, _ = chain(client, 2)
    other, legs = chain(client, 2)
    refuse(client, row, 409, "tracker.shipment_chained", ["chaining.add.0"], chaining={"add": [legs[0]]})
    lone = track(client, metadata={"from": "lone", "bay": "1"})
    post(client, lone, log={"message": "Before the merge"})
    post(client, row, metadata={"bay": "9"})
    merged = post(client, row, chaining={"add": [leg(lone)["id"]]})
    assert merged["metadata"] == {"bay": "9", "from": "lone"} and events(org, lone["id"])[-1] == "tracker.deleted"
    assert "Before the merge" in [x["message"] for x in get(client, row, "?include_logs=true")["logs"]]


def test_twenty_five_legs(client):
    row, _ = chain(client, 25)
    refuse(client, row, 400, "tracker.chain_limit", ["chaining.add"], chaining={"add": [ship(client)["id"]]})
    assert len(get(client, row)["shipments"]) == 25


def test_current_leg_and_status(client, org):
    row, (a, b) = chain(client, 2, auto_close_shipments_option="never")
    move(client, a, "in_transit")
    assert (get(client, row)["current_shipment_id"], get(client, row)["status"]) == (a, "in_transit")
    move(client, a, "delivered")
    assert get(client, row)["status"] == "package_at_waypoint"
    assert post(client, row, chained_status="out_for_delivery")["status"] == "out_for_delivery"
    move(client, b, "delayed")
    assert (get(client, row)["current_shipment_id"], get(client, row)["status"], get(client, row)["filters"]) == (b, "delayed", ["outstanding", "exception"])
    before = (events(org, a).count("shipment.updated"), events(org, b).count("shipment.updated"))
    pinned = post(client, row, current_shipment_id=a)
    assert pinned["current_shipment_id"] == a and pinned["status"] == "out_for_delivery"
    assert (events(org, a).count("shipment.updated"), events(org, b).count("shipment.updated")) == (before[0] + 1, before[1] + 1)
    refuse(client, row, 400, "tracker.not_in_chain", ["current_shipment_id"], current_shipment_id=ship(client)["id"])
    refuse(client, row, 400, "validation.failed", ["chained_status"], chained_status="delivered")
    left = post(client, row, chaining={"remove": [a]})
    assert left["current_shipment_id"] == b


def test_the_current_leg_is_the_last_that_started(client):
    """Section 5.3, rule 4: also when the one that was current is removed, and whatever is pinned wins."""
    row, (a, b, c, d) = chain(client, 4, auto_close_shipments_option="never")
    current = lambda: get(client, row)["current_shipment_id"]  # noqa: E731
    assert current() == a
    move(client, c, "in_transit")
    assert current() == c
    move(client, b, "in_transit")
    assert current() == c, "the last in order, not in time"
    assert post(client, row, current_shipment_id=d)["current_shipment_id"] == d
    move(client, a, "in_transit")
    assert current() == d and get(client, row)["status"] == "created"
    assert post(client, row, chaining={"remove": [d]})["current_shipment_id"] == c
    assert post(client, row, chaining={"remove": [c, b]})["current_shipment_id"] == a


def test_a_current_leg_that_is_removed_pins_no_other(client):
    """Section 5.3, rules 3 and 4: the last that started is current then, and goes on to be found anew."""
    row, (a, b, c) = chain(client, 3, auto_close_shipments_option="never")
    move(client, a, "in_transit")
    assert post(client, row, current_shipment_id=c)["current_shipment_id"] == c
    assert post(client, row, chaining={"remove": [c]})["current_shipment_id"] == a
    move(client, b, "in_transit")
    assert get(client, row)["current_shipment_id"] == b
    assert post(client, row, chaining={"add": [c]})["current_shipment_id"] == b


def test_a_later_leg_that_is_over_shows(client):
    """Section 5.3, rule 5: chained_status stands only while a later leg is not completed."""
    row, (a, b) = chain(client, 2, auto_close_shipments_option="never", chained_status="scheduled")
    move(client, a, "delivered")
    assert get(client, row)["status"] == "scheduled" and get(client, row)["filters"] == ["outstanding"]
    move(client, b, "picked_up")
    assert get(client, row)["status"] == "picked_up"
    post(client, row, current_shipment_id=a)
    assert get(client, row)["status"] == "delivered" and get(client, row)["filters"] == ["completed"]


def test_what_is_shown_of_the_legs(client, location):
    """Tags are those of all legs; the rest is the current one's. A destination is kept as it is sent."""
    row = client.post(TRACKERS, {"tracking_number": number()}, expect=201).data
    first = leg(row)["id"]
    client.post(f"{SHIPMENTS}/{first}", {"tags": ["fragile", "lithium"], "estimated_delivery_at": "2030-05-01T10:00:00Z", "coordinates": [1, 2], "sender": party(name="Ada")}, expect=200)
    second = ship(client, tags=["lithium", "alcohol"], pickup_at="2030-06-01T10:00:00Z", coordinates=[3, 4], sender=party(name="Bea"), provider_id="dhl")
    row = post(client, row, chaining={"add": [second["id"]]}, auto_close_shipments_option="never", destination={"address": {"city": "Newark"}, "location": location["id"]})
    assert sorted(row["tags"]) == ["alcohol", "fragile", "lithium"] and row["destination"] == {"address": {"city": "Newark"}, "layout": None, "location": location["id"]}
    assert (row["estimated_delivery_at"], row["pickup_at"], row["coordinates"], row["sender"]["name"]) == ("2030-05-01T10:00:00.000Z", None, [1, 2], "Ada")
    move(client, second["id"], "in_transit")
    row = get(client, row)
    assert (row["tracking_number"], row["provider"]["id"], row["estimated_delivery_at"], row["pickup_at"], row["coordinates"], row["sender"]["name"]) == (
        second["tracking_number"], "dhl", None, "2030-06-01T10:00:00.000Z", [3, 4], "Bea")
    client.post(f"{SHIPMENTS}/{second['id']}", {"tags": []}, expect=200)
    assert sorted(get(client, row)["tags"]) == ["fragile", "lithium"]


def test_a_purchased_or_numbered_quote_gets_its_tracker(client, org):
    quote = client.post(SHIPMENTS, quote_body(), expect=201).data
    assert quote["tracker_id"] is None and client.get(f"{TRACKERS}?shipment_id={quote['id']}").ids == []
    client.post(f"{SHIPMENTS}/{quote['id']}", {"tracking_number": number()}, expect=200)
    t = client.get(f"{SHIPMENTS}/{quote['id']}").data["tracker_id"]
    assert client.get(f"{TRACKERS}?shipment_id={quote['id']}").ids == [t] and events(org, t) == ["tracker.created"]


def test_the_newest_hundred_are_shown(client, server):
    """Of histories and of logs, oldest first; the pages have all."""
    row = track(client)
    one, now = leg(row)["id"], int(time.time())
    client.post(f"{SHIPMENTS}/{one}/tracking-updates", [{"status": "in_transit", "comment": str(i), "occurred_at": now + 60 + i} for i in range(100)], expect=200)
    post(client, row, tracking_update={"comment": "100", "occurred_at": now + 60 + 100})
    assert [u["comment"] for u in get(client, row)["tracking_updates"]] == [str(i) for i in range(1, 101)]
    for i in range(101):
        post(client, row, log={"message": f"L{i}", "visibility": "public"})
    shown = [x["message"] for x in get(client, row, "?include_logs=true&logs_visibility=public")["logs"] if x["action"] == "comment"]
    assert shown == [f"L{i}" for i in range(1, 101)][-len(shown):] and len(shown) == 100
    assert len(client.get(f"{TRACKERS}/{row['id']}/logs?logs_visibility=public&limit=all").data) == 102


def test_bad_ends_show_through(client):
    row, (a, b) = chain(client, 2, auto_close_shipments_option="never")
    move(client, a, "package_lost")
    assert get(client, row)["status"] == "package_lost"
    move(client, b, "in_transit")
    assert get(client, row)["status"] == "in_transit"
    assert post(client, row, current_shipment_id=a)["status"] == "package_at_waypoint", "a later leg has started"


def test_auto_close_on_progress(client, org):
    row, (a, b, c) = chain(client, 3)
    move(client, a, "in_transit")
    move(client, c, "package_accepted")
    legs = get(client, row)["shipments"]
    assert [s["status"] for s in legs] == ["delivered", "delivered", "package_accepted"]
    line = client.get(f"{SHIPMENTS}/{a}").data["tracking_updates"][-1]
    assert line["source"] == "system" and line["comment"] == "Handed over to the next shipment"


def test_auto_close_on_add_on_delivered_and_never(client):
    row = track(client, auto_close_shipments_option="on_add")
    post(client, row, tracking_update={"status": "in_transit"})
    row = post(client, row, chaining={"add": [ship(client)["id"]]})
    assert [s["status"] for s in row["shipments"]] == ["delivered", "created"]
    row = post(client, track(client, auto_close_shipments_option="on_add"), chaining={"add": [{"shipment_id": ship(client)["id"], "position": 0}]})
    assert [s["status"] for s in row["shipments"]] == ["created", "created"], "the added leg is before the other"
    row, (a, b) = chain(client, 2, auto_close_shipments_option="on_delivered")
    move(client, b, "in_transit")
    assert leg(get(client, row))["status"] == "created"
    move(client, b, "picked_up")
    assert leg(get(client, row))["status"] == "delivered"
    row, (a, b) = chain(client, 2, auto_close_shipments_option="never")
    move(client, b, "delivered")
    assert leg(get(client, row))["status"] == "created"


def test_histories_are_merged(client):
    row, (a, b) = chain(client, 2, auto_close_shipments_option="never")
    now = int(time.time())
    for id, at in ((a, 100), (b, 200), (a, 300), (b, 150)):
        client.post(f"{SHIPMENTS}/{id}", {"tracking_update": {"status": "in_transit", "comment": str(at), "occurred_at": now + at}}, expect=200)
    assert [u["comment"] for u in get(client, row)["tracking_updates"] if u["comment"]] == ["100", "150", "200", "300"]


# ---- parents ----

def test_edge_case_5_shipment_is_parent(fresh):
    client = fresh.client()
    parent = ship(client)
    child = ship(client, parent_id=parent["id"])
    mixed = post(client, {"id": parent["tracker_id"]}, chaining={"add": [ship(client)["id"]]})
    assert mixed["has_parent_shipment"] is True
    only = ship(client)
    ship(client, parent_id=only["id"])
    every = set(client.get(TRACKERS + "?limit=all").ids)
    ids = lambda q: set(client.get(f"{TRACKERS}?limit=all&shipment_is_parent={q}").ids)
    assert ids("YES") == ids("some:1") == ids("true") == {mixed["id"], only["tracker_id"]}
    assert ids("none:true") == every - ids("some:true")
    assert mixed["id"] in ids("false") and only["tracker_id"] not in ids("some:false") and child["tracker_id"] in ids("false")
    assert ids("none:false") == {only["tracker_id"]}
    for bad in ("maybe", "all:true", "", "some:"):
        client.refused("GET", f"{TRACKERS}?shipment_is_parent={bad}", 400, "param.invalid", ["shipment_is_parent"])


def test_search_scores_and_hits(fresh):
    client = fresh.client()
    row = post(client, track(client), chaining={"add": [ship(client, tracking_number="SECOND-LEG-55", sender=party(name="Renée Dubois", email="renee@b.example"))["id"]]})
    track(client)
    assert client.get(TRACKERS + "?search=second-leg").ids == [row["id"]], "numbers of all legs"
    assert client.get(TRACKERS + "?search=renee%20nothing").ids == [row["id"]] and client.get(TRACKERS + "?search=renee%20nothing&search_strategy=match_all").ids == []
    post(client, row, current_shipment_id=leg(row, 1)["id"])
    hit = client.get(TRACKERS + "?search=renee").data[0]["_search"]
    assert 0 < hit["relevance_score"] <= 1 and {"field": "sender.name", "value": "Renée Dubois"} in hit["matches"]
    assert client.get(TRACKERS + "?search=Dubiosi&order_by=_relevance").ids == [] and client.get(TRACKERS + "?search=Duboiss").ids == [row["id"]]


def test_edge_case_6_last_child(client):
    parent = ship(client)
    child = ship(client, parent_id=parent["id"])
    t = {"id": parent["tracker_id"]}
    assert get(client, t)["has_parent_shipment"] is True
    client.delete(f"{SHIPMENTS}/{child['id']}")
    assert get(client, t)["has_parent_shipment"] is False
    client.refused("GET", f"{TRACKERS}/{child['tracker_id']}", 404, "not_found")


def test_edge_case_7_filter_is_not_validated(client):
    everything = client.get(TRACKERS + "?limit=all").ids
    for odd in ("refunded", "x,y", "OR:nope"):
        assert client.get(f"{TRACKERS}?limit=all&filter={odd}").ids == everything
    done = track(client)
    post(client, done, tracking_update={"status": "delivered"})
    assert done["id"] in client.get(TRACKERS + "?limit=all&filter=completed").ids and done["id"] not in client.get(TRACKERS + "?limit=all&filter=outstanding").ids


def test_lists(client, location):
    recipient = make_contact(client)
    row = track(client, location_id=location["id"], recipient_contact_id=recipient)
    for query in (f"recipient_contact_id={recipient}", f"shipment_id={leg(row)['id']}", f"location_id={location['id']}", f"tracking_number={row['tracking_number'].lower()}",
                  f"search={row['tracking_number']}", "provider_id=unknown&limit=all", "status=created&limit=all", "type=outbound&limit=all"):
        assert row["id"] in client.get(f"{TRACKERS}?{query}").ids, query
    assert client.get(TRACKERS + "?shipment_id=ship_0000000000000000000000").ids == []
    for order in ("created_at", "updated_at", "status", "estimated_delivery_at"):
        client.get(f"{TRACKERS}?order_by={order}")


def test_legs_at_other_locations_are_left_out(client, org, location):
    from wharf import make_location
    far = make_location(client, "Far away")
    row = track(client)
    post(client, row, chaining={"add": [ship(client, location_id=far["id"])["id"]]})
    assert len(org.client(locations=[location["id"]]).get(f"{TRACKERS}/{row['id']}").data["shipments"]) == 1


@pytest.mark.parametrize("what", ["tracker", "shipment"])
def test_delete(client, org, what):
    row = track(client)
    if what == "tracker":
        client.delete(f"{TRACKERS}/{row['id']}")
        assert client.get(f"{SHIPMENTS}/{leg(row)['id']}").data["tracker_id"] is None
    else:
        client.delete(f"{SHIPMENTS}/{leg(row)['id']}")
        client.refused("GET", f"{TRACKERS}/{row['id']}", 404, "not_found")
    assert events(org, row["id"])[-1] == "tracker.deleted"


def test_edge_case_2_disable_webhooks_is_of_the_tracker_alone(client, org):
    row, leg_row = track(client), ship(client)
    post(client, row, disable_webhooks=True, chaining={"add": [leg_row["id"]]})
    quiet = lambda id, type: [q for q, in org.told("disable_webhooks", "resource_id = %s AND type = %s", id, type)]  # noqa: E731
    assert quiet(row["id"], "tracker.created") == [False]
    assert quiet(row["id"], "tracker.updated") == [True]
    assert quiet(leg_row["id"], "shipment.updated")[-1:] == [False]
    # current_shipment_id: the old and the new current leg are told of
    post(client, row, disable_webhooks=True, current_shipment_id=leg_row["id"])
    assert quiet(row["id"], "tracker.updated")[-1] is True
    assert quiet(leg_row["id"], "shipment.updated")[-1] is False


def test_disable_webhooks_has_no_effect_on_creation(client, org):
    row = track(client, disable_webhooks=True)
    assert org.server.sql("SELECT disable_webhooks FROM wharf.event WHERE organization_id = %s AND resource_id = %s", org.id, row["id"]) == [(False,)]
    client.refused("POST", f"{TRACKERS}/{row['id']}", 400, "validation.failed", ["disable_webhooks"], body={"disable_webhooks": "yes"})


def test_disable_webhooks_of_a_shipment_covers_that_shipment(client, org):
    row = ship(client, disable_webhooks=True)
    client.post(f"{SHIPMENTS}/{row['id']}", {"disable_webhooks": True, "tracking_update": {"status": "delivered"}}, expect=200)
    events = org.server.sql("SELECT type, disable_webhooks FROM wharf.event WHERE organization_id = %s AND resource_id IN (%s, %s)", org.id, row["id"], row["tracker_id"])
    assert {t for t, _ in events} >= {"shipment.created", "shipment.updated", "shipment.delivered", "tracker.created"}
    assert all(quiet == t.startswith("shipment.") for t, quiet in events), events


def test_what_a_tracker_reads_of_its_legs_wakes_it():
    """The rule that lets other changes of a shipment pass (concerns_tracker) names all that is read of it (legs_load.sql)."""
    read = set(re.findall(r"\bs\.(\w+)", (ROOT / "modules/trackers/queries/legs_load.sql").read_text())) - {"id", "created_at"}
    rules = (ROOT / "modules/trackers/tracker_rules.c").read_text()
    named = set(re.findall(r'"(\w+)"', rules[rules.index("static bool concerns_tracker("):].split("}", 1)[0]))
    assert read and read <= named, read - named


# ---- names that nobody knows ----

@pytest.mark.parametrize("path,body,unknown", [
    (SHIPMENTS, {"nonsense": 1, "recipient": {"address": {"line9": "x"}}, "parcels": [{"weight": 1, "weigt": 1}], "metadata": {"any": "name"}}, ["nonsense", "parcels.0.weigt", "recipient.address.line9"]),
    (TRACKERS, {"tracking_number": "1Z58F2A70378657975", "chaned_status": "package_at_waypoint"}, ["chaned_status"]),
    (f"{SHIPMENTS}/:id/tracking-updates", [{"status": "in_transit", "satus": "x"}], ["0.satus"]),
])
def test_strict_handling_refuses_unknown_names_at_every_depth(client, path, body, unknown):
    """Bodies that the handlers judge by themselves: only `Prefer: handling=strict` refuses names, and names them all."""
    path = path.replace(":id", ship(client)["id"])
    strict = client.request("POST", path, body=body, headers={"Prefer": "handling=strict"})
    assert (strict.status, strict.code, sorted(strict.errors)) == (400, "validation.failed", unknown), strict
    assert not {"nonsense", "chaned_status", "0.satus"} & set(client.request("POST", path, body=body).errors or ())
