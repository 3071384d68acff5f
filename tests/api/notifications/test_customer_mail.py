"""Mails to the recipients of shipments (spec 07 section 16.3): who is told, of what, and how often. A real SMTP server takes them."""
import datetime

import pytest
import requests
from mail_world import World, html, text, world  # noqa: F401  (a fixture among them)
from wharf import WAIT, make_location

OCCASIONS = {"out_for_delivery": "out_for_delivery", "pickup_available": "ready_for_pickup", "delivered": "delivered", "picked_up": "delivered", "return_to_sender": "returned"}


@pytest.fixture(scope="module")
def shop(world):
    return world.shop()


def ago(hours):
    return (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def told(shop, row):
    shop.idle()
    return shop.client.get(f"/v1/events?resource_id={row['id']}").data


def nobody(shop, shipment):
    """Nobody is told, and no row is made."""
    shop.idle()
    assert shop.rows(resource_id=shipment["id"]) == []


def test_a_tracker_goes_out_for_delivery(shop):
    ada = shop.contact()
    shipment = shop.shipment(ada)
    shop.client.post(f"/v1/trackers/{shipment['tracker_id']}", {"tracking_update": {"status": "out_for_delivery"}}, expect=200)
    row = shop.row(shipment)
    assert row["status"] == "sent" and row["occasion"] == "out_for_delivery" and row["contact_id"] == ada["id"] and row["address"] == ada["email"]
    assert row["title"] == "Your parcel is out for delivery" and shipment["tracking_number"] in row["body"] and row["language"] == "en"
    assert row["sent_at"] and row["attempts"] == 0 and row["next_attempt_at"] is None and row["location_id"] == shop.location
    assert row["event_type"] == "shipment.updated" and row["resource_type"] == "shipment" and row["channel"] == "mail" and row["kind"] == "customer"
    assert set(row) == {"object", "id", "kind", "channel", "event_id", "event_type", "resource_type", "resource_id", "location_id", "occasion", "user_id", "contact_id", "address", "language",
                        "title", "body", "status", "reason", "attempts", "next_attempt_at", "sent_at", "resend_of", "created_at", "expires_at"}
    message = shop.mail(ada)
    assert message["Subject"] == row["title"] and text(message).strip() == row["body"].strip()
    assert message["Message-ID"] == f"<{row['id']}@wharf>" and message["To"] == ada["email"]
    event = shop.client.get(f"/v1/events/{row['event_id']}").data
    assert {"name": "customers_mail", "status": "completed", "error": None} in event["steps"]


@pytest.mark.parametrize("status", OCCASIONS)
def test_each_status_has_its_occasion(shop, status):
    ada = shop.contact()
    shipment = shop.shipment(ada)
    shop.update(shipment, status)
    assert shop.row(shipment)["occasion"] == OCCASIONS[status]
    shop.mail(ada)


def test_other_statuses_tell_nobody(shop):
    shipment = shop.shipment(shop.contact())
    for status in ("in_transit", "attempted", "delayed", "package_lost"):
        shop.update(shipment, status)
    nobody(shop, shipment)


def test_a_create_with_a_status_tells(shop):
    ada = shop.contact()
    shipment = shop.shipment(ada, tracking_update={"status": "out_for_delivery"})
    assert shop.row(shipment)["event_type"] == "shipment.created"
    assert len(shop.sink.mails(ada["email"])) == 1


def test_off_until_it_is_on(world):
    shop = world.shop(on=False)
    shipment = shop.shipment(shop.contact())
    shop.update(shipment, "out_for_delivery")
    nobody(shop, shipment)
    shop.settings({"occasions": ["delivered"]})
    shop.update(shipment, "pickup_available")
    nobody(shop, shipment)
    shop.update(shipment, "delivered")
    assert shop.row(shipment)["occasion"] == "delivered"


def test_the_location_goes_before_the_organization(world):
    shop = world.shop({"occasions": ["delivered"], "reply_to": "all@example.com"})
    shop.client.post(f"/v1/locations/{shop.location}", {"notification_settings": {"occasions": ["out_for_delivery"], "language": "de", "reply_to": "desk@example.com"}}, expect=200)
    ada = shop.contact()
    shipment = shop.shipment(ada)
    shop.update(shipment, "out_for_delivery")
    row = shop.row(shipment)
    assert row["language"] == "de" and shop.mail(ada)["Reply-To"] == "desk@example.com"
    shop.update(shipment, "delivered")
    shop.idle()
    assert len(shop.rows(resource_id=shipment["id"])) == 1
    elsewhere = shop.shipment(ada, location_id=None)
    shop.update(elsewhere, "delivered")
    assert shop.row(elsewhere)["language"] == "en" and shop.mail(ada, 2)["Reply-To"] == "all@example.com"
    shop.client.post(f"/v1/locations/{shop.location}", {"notification_settings": {"enabled": False}}, expect=200)
    third = shop.shipment(ada)
    shop.update(third, "delivered")
    nobody(shop, third)


def test_settings_are_checked(shop):
    shop.client.refused("POST", f"/v1/locations/{shop.location}", 400, "validation.failed", body={"notification_settings": {"occasions": ["birthday"]}})
    shop.client.refused("POST", f"/v1/organizations/{shop.org.id}", 400, "validation.failed", body={"settings": {"notifications": {"customers": {"occasions": ["birthday"]}}}})


def test_never_without_a_status(shop):
    """A comment does not tell again, and neither does a status that came late or once more."""
    ada = shop.contact()
    shipment = shop.shipment(ada)
    shop.update(shipment, "out_for_delivery")
    shop.row(shipment)
    shop.update(shipment, comment="The driver is on the way")
    shop.update(shipment, "out_for_delivery", comment="again")
    shop.update(shipment, "attempted")
    shop.update(shipment, "out_for_delivery", comment="after an attempt")
    shop.update(shipment, "pickup_available", occurred_at=ago(2))  # late: it does not change the status
    shop.idle()
    assert [r["occasion"] for r in shop.rows(resource_id=shipment["id"])] == ["out_for_delivery"]
    assert len(shop.sink.mails(ada["email"])) == 1


def test_a_comment_on_a_status_of_before_it_was_on(world):
    shop = world.shop(on=False)
    shipment = shop.shipment(shop.contact())
    shop.update(shipment, "delivered")
    shop.idle()
    shop.settings({})
    shop.update(shipment, comment="left at the door")
    nobody(shop, shipment)


def test_once_also_after_a_correction(shop):
    ada = shop.contact()
    shipment = shop.shipment(ada)
    shop.update(shipment, "delivered")
    shop.row(shipment)
    shop.update(shipment, "in_transit", force=True)
    shop.update(shipment, "picked_up")
    shop.idle()
    assert len(shop.rows(resource_id=shipment["id"])) == 1 and len(shop.sink.mails(ada["email"])) == 1


def test_several_statuses_at_once_tell_the_last(shop):
    shipment = shop.shipment(shop.contact())
    updates = [{"status": s, "occurred_at": ago(h)} for s, h in (("out_for_delivery", -1), ("delivered", -2))]
    shop.client.post(f"/v1/shipments/{shipment['id']}/tracking-updates", updates, expect=200)
    assert shop.row(shipment)["occasion"] == "delivered"


def test_two_statuses_before_the_events_are_processed(shop):
    """Each is told, in order."""
    ada = shop.contact()
    shipment = shop.shipment(ada)
    shop.update(shipment, "out_for_delivery")
    shop.update(shipment, "delivered")
    shop.mail(ada, 2)
    shop.idle()
    assert [r["occasion"] for r in shop.rows(resource_id=shipment["id"])] == ["out_for_delivery", "delivered"]
    assert [m["Subject"] for m in shop.sink.mails(ada["email"])] == ["Your parcel is out for delivery", "Your parcel was delivered"]


# ---- who ----

def test_no_contact_no_row(shop):
    shipment = shop.shipment(None, recipient={"name": "Nobody", "email": "nobody@example.com"})
    shop.update(shipment, "delivered")
    nobody(shop, shipment)


def test_the_contact_of_the_tracker(shop):
    ada = shop.contact()
    shipment = shop.shipment(None)
    shop.client.post(f"/v1/trackers/{shipment['tracker_id']}", {"recipient_contact_id": ada["id"]}, expect=200)
    shop.update(shipment, "delivered")
    assert shop.row(shipment)["contact_id"] == ada["id"]


def test_children_tell_nobody(shop):
    ada = shop.contact()
    parent = shop.shipment(ada)
    child = shop.shipment(ada, parent_id=parent["id"])
    shop.update(child, "delivered")
    nobody(shop, child)
    shop.update(parent, "delivered")
    assert shop.row(parent)["status"] == "sent"


def test_a_leg_that_another_follows_tells_nobody(shop):
    """The carrier delivered to the mail room; the parcel is still on its way to the desk."""
    ada = shop.contact()
    first, second = shop.shipment(ada), shop.shipment(ada)
    shop.client.post(f"/v1/trackers/{first['tracker_id']}", {"chaining": {"add": [second["id"]]}}, expect=200)
    shop.update(first, "delivered")
    nobody(shop, first)
    shop.update(second, "delivered")
    assert shop.row(second)["status"] == "sent"


# ---- why not ----

def test_notify_customer_false(shop):
    ada = shop.contact()
    shipment = shop.shipment(ada)
    shop.update(shipment, "out_for_delivery", notify_customer=False)
    row = shop.row(shipment)
    assert (row["status"], row["reason"], row["sent_at"]) == ("skipped", "switched_off", None)
    shop.update(shipment, "attempted")
    shop.update(shipment, "out_for_delivery")  # it counts as told
    shop.update(shipment, "delivered", notify_customer=True)
    shop.mail(ada)
    shop.idle()
    assert [(r["occasion"], r["status"]) for r in shop.rows(resource_id=shipment["id"])] == [("out_for_delivery", "skipped"), ("delivered", "sent")]
    assert len(shop.sink.mails(ada["email"])) == 1


def test_notify_customer_on_creates_trackers_and_batches(shop):
    ada = shop.contact()
    made = shop.shipment(ada, tracking_update={"status": "delivered"}, notify_customer=False)
    assert shop.row(made)["reason"] == "switched_off"
    tracked = shop.shipment(ada)
    shop.client.post(f"/v1/trackers/{tracked['tracker_id']}", {"tracking_update": {"status": "delivered"}, "notify_customer": False}, expect=200)
    assert shop.row(tracked)["reason"] == "switched_off"
    number = f"N{tracked['tracking_number']}"
    tracker = shop.client.post("/v1/trackers", {"tracking_number": number, "recipient_contact_id": ada["id"], "tracking_update": {"status": "delivered"}, "notify_customer": False}, expect=201).data
    assert shop.row({"id": tracker["current_shipment_id"]})["reason"] == "switched_off"
    items = [shop.shipment(ada) for _ in range(2)]
    data = [{"id": s["id"], "tracking_update": {"status": "delivered"}} for s in items]
    batch = shop.client.post("/v1/batches", {"resource": "shipment", "action": "merge", "mode": "sync", "data": data, "notify_customer": False}).data
    assert batch["notify_customer"] is False
    assert [shop.row(s)["reason"] for s in items] == ["switched_off", "switched_off"]
    loud = shop.shipment(ada)
    batch = shop.client.post("/v1/batches", {"resource": "shipment", "action": "merge", "mode": "sync", "data": [{"id": loud["id"], "tracking_update": {"status": "delivered"}}]}).data
    assert batch["notify_customer"] is True and shop.row(loud)["status"] == "sent"
    assert len(shop.sink.mails(ada["email"])) == 1


def test_notify_customer_of_new_shipments_of_a_batch(shop):
    """Those are written as a set."""
    ada = shop.contact()
    data = [{"tracking_number": f"SET{i}{ada['id'][-10:].upper()}", "recipient": ada["id"], "tracking_update": {"status": "delivered"}, **more}
            for i, more in enumerate(({}, {"notify_customer": False}, {}))]
    shop.client.post("/v1/batches", {"resource": "shipment", "action": "merge", "mode": "sync", "data": data})
    shop.idle()
    rows = shop.rows(contact_id=ada["id"])
    assert sorted(r["reason"] or "" for r in rows) == ["", "", "switched_off"] and len(shop.sink.mails(ada["email"])) == 2


def test_notify_customer_of_a_container(shop):
    ada, bob = shop.contact(), shop.contact("Bob Miller")
    quiet, loud = shop.shipment(ada), shop.shipment(bob)
    container = shop.client.post("/v1/containers", {"type": "pallet", "location_id": shop.location, "add": [quiet["id"]]}, expect=201).data
    other = shop.client.post("/v1/containers", {"type": "pallet", "location_id": shop.location, "add": [loud["id"]]}, expect=201).data
    shop.client.post(f"/v1/containers/{container['id']}", {"status": "out_for_delivery", "notify_customer": False}, expect=200)
    shop.client.post(f"/v1/containers/{other['id']}", {"status": "out_for_delivery"}, expect=200)
    assert shop.row(quiet)["reason"] == "switched_off" and not shop.sink.mails(ada["email"])
    assert shop.row(loud)["status"] == "sent"
    shop.client.refused("POST", f"/v1/containers/{container['id']}", 400, "validation.failed", body={"notify_customer": "no"})


def test_disable_webhooks_says_nothing_about_customers(shop):
    shipment = shop.shipment(shop.contact())
    shop.update(shipment, "delivered", disable_webhooks=True)
    assert shop.row(shipment)["status"] == "sent"


def test_notify_customer_must_be_a_boolean(shop):
    shipment = shop.shipment(shop.contact())
    shop.client.refused("POST", f"/v1/shipments/{shipment['id']}", 400, "validation.failed", body={"notify_customer": "no"})


def test_history_that_is_brought_in_tells_nobody(shop):
    shipment = shop.shipment(shop.contact())
    old = shop.shipment(shop.contact(), tracking_update={"status": "delivered", "occurred_at": ago(-1)})
    assert shop.row(old)["status"] == "sent"
    shop.world.server.sql("UPDATE shipments.tracking_update SET occurred_at = occurred_at - interval '3 days' WHERE shipment_id = %s", shipment["id"])
    shop.update(shipment, "delivered", occurred_at=ago(25))
    row = shop.row(shipment)
    assert (row["status"], row["reason"]) == ("skipped", "too_old")


def test_no_address(shop):
    ada = shop.contact(email=None)
    shipment = shop.shipment(ada)
    shop.update(shipment, "delivered")
    row = shop.row(shipment)
    assert (row["status"], row["reason"], row["address"]) == ("skipped", "no_address", None)


def test_links_work_or_the_mail_is_refused():
    world = World(base_url=None)
    try:
        shop = world.shop()
        ada = shop.contact()
        shipment = shop.shipment(ada)
        shop.update(shipment, "delivered")
        row = shop.row(shipment)
        assert (row["status"], row["reason"]) == ("failed", "no_base_url") and not world.sink.got
        assert [e["type"] for e in told(shop, row)] == ["notification.failed"]
    finally:
        world.close()


def test_without_trackers():
    """What is wanted and not there is done without."""
    world = World(modules="org,locations,carriers,contacts,shipments,events,notifications")
    try:
        shop = world.shop()
        ada = shop.contact()
        shipment = shop.shipment(ada)
        shop.update(shipment, "delivered")
        assert shop.row(shipment)["status"] == "sent" and shop.sink.mails(ada["email"])
    finally:
        world.close()


# ---- text and HTML ----

def test_text_and_html_say_the_same(shop):
    ada = shop.contact(name="Ada <b>& Co</b>")
    shipment = shop.shipment(ada, order_number='10"42&<x>')
    shop.update(shipment, "pickup_available")
    shop.row(shipment)
    message = shop.mail(ada)
    plain, rich = text(message), html(message)
    assert message["Subject"] == 'Your parcel is ready for pickup (10"42&<x>)'
    assert 'Ada <b>& Co</b>' in plain and '10"42&<x>' in plain
    assert "Ada &lt;b&gt;&amp; Co&lt;/b&gt;" in rich and "10&quot;42&amp;&lt;x&gt;" in rich and "<b>" not in rich
    for words in (shipment["tracking_number"], "Mail room", "has arrived and waits for you", "{{", "[["):
        assert (words in plain) == (words in rich) == (words not in ("{{", "[[")), words
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click" and message["List-Unsubscribe"].strip("<>") in plain
    assert message["List-Unsubscribe"].strip("<>") in rich and message["Auto-Submitted"] == "auto-generated"


@pytest.mark.parametrize("language,word", [("de", "Guten Tag"), ("fr", "Bonjour"), ("es", "Hola"), ("it", "Buongiorno"), ("nl", "Beste"), ("pt", "Olá"), ("pt-BR", "Olá"), ("tlh", "Hello")])
def test_the_language_of_the_contact(shop, language, word):
    ada = shop.contact(metadata={"language": language})
    shipment = shop.shipment(ada)
    shop.update(shipment, "delivered")
    assert shop.row(shipment)["language"] == {"pt-BR": "pt", "tlh": "en"}.get(language, language)
    assert word in text(shop.mail(ada))


# ---- rows ----

def test_filters(shop):
    ada = shop.contact()
    shipment = shop.shipment(ada)
    shop.update(shipment, "delivered", notify_customer=False)
    row = shop.row(shipment)
    for name in ("kind", "channel", "status", "reason", "occasion", "event_type", "resource_type", "resource_id", "contact_id", "location_id"):
        found = shop.client.get(f"/v1/notifications?{name}={row[name]}&limit=all").data
        assert row["id"] in [f["id"] for f in found] and all(f[name] == row[name] for f in found), name
    assert shop.client.get(f"/v1/notifications?contact_id={ada['id']}&user_id=user_x").data == []
    assert shop.client.get(f"/v1/notifications?resource_id={shipment['id']}&created_at=lt:{row['created_at']}").data == []
    assert shop.client.get(f"/v1/notifications?resource_id={shipment['id']}&order_by=sent_at").ids == [row["id"]]
    assert shop.client.get(f"/v1/notifications/{row['id']}").data == row


def test_who_sees_them(shop):
    """As events: by location, and who reads the resource."""
    shipment = shop.shipment(shop.contact())
    shop.update(shipment, "delivered")
    row = shop.row(shipment)
    other = make_location(shop.client, "Elsewhere")["id"]
    there = shop.org.client("notifications:read,shipments:read", locations=[shop.location])
    elsewhere = shop.org.client("notifications:read,shipments:read", locations=[other])
    blind = shop.org.client("notifications:read")
    assert there.get(f"/v1/notifications/{row['id']}").data["id"] == row["id"]
    elsewhere.refused("GET", f"/v1/notifications/{row['id']}", 403, "location_access")
    blind.refused("GET", f"/v1/notifications/{row['id']}", 403, "scope_access")
    assert elsewhere.get(f"/v1/notifications?resource_id={shipment['id']}").data == [] == blind.get(f"/v1/notifications?resource_id={shipment['id']}").data
    shop.org.client("shipments:read").refused("GET", "/v1/notifications", 403, "scope_access")


def test_events_of_notifications(shop):
    shipment = shop.shipment(shop.contact())
    shop.update(shipment, "delivered")
    row = shop.row(shipment)
    shop.idle()
    events = told(shop, row)
    assert [e["type"] for e in events] == ["notification.sent"]
    data = shop.client.get(f"/v1/events/{events[0]['id']}").data["data"]
    assert data == {k: v for k, v in row.items() if k not in ("title", "body")}


def test_they_are_kept_as_long_as_events(world):
    shop = world.shop()
    shop.client.post(f"/v1/organizations/{shop.org.id}", {"settings": {"events": {"expire_after": "days_1"}}}, expect=200)
    shipment = shop.shipment(shop.contact())
    shop.update(shipment, "delivered")
    row = shop.row(shipment)
    assert row["expires_at"] == shop.client.get(f"/v1/events/{row['event_id']}").data["expires_at"]
    world.ahead(86400 + 60)
    assert shop.rows() == []
    shop.client.refused("GET", f"/v1/notifications/{row['id']}", 404, "not_found")


def test_metrics(shop):
    shipment = shop.shipment(shop.contact())
    shop.update(shipment, "delivered")
    shop.row(shipment)
    shown = requests.get(shop.world.server.admin + "/metrics", timeout=WAIT).text
    assert 'wharf_notifications_total{kind="customer",channel="mail",status="sent"}' in shown
