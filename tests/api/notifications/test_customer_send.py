"""Sending mails to customers (spec 07 section 16.3, rules 5 to 8): the link that ends them, refusals, order, the limit, crashes, sending again."""
import os
import signal
import time

import pytest
import requests
from mail_world import World, html, look, press, text, world  # noqa: F401  (a fixture among them)

from wharf import WAIT, Client, until

AT_ONCE, LIMIT = int(os.environ.get("WHARF_MAILS_AT_ONCE", "80")), int(os.environ.get("WHARF_MAILS_A_MINUTE", "60"))


@pytest.fixture(scope="module")
def shop(world):
    return world.shop()


def delivered(shop, contact, **more):
    shipment = shop.shipment(contact, **more)
    shop.update(shipment, "delivered")
    return shipment


def notifications(shop, contact):
    return shop.client.get(f"/v1/contacts/{contact['id']}").data["notifications"]


NONE = {"opted_out_at": None, "bounced_at": None, "bounce": None}


# ---- the link ----

def test_the_link_ends_them(shop):
    ada, ben = shop.contact(metadata={"language": "de"}), shop.contact()
    delivered(shop, ada)
    url = shop.link(shop.mail(ada))
    page = look(url)
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html") and 'method="post"' in page.text and "Keine Nachrichten" in page.text and page.text.startswith('<!doctype html><html lang="de">')
    assert notifications(shop, ada) == NONE, "a look must not end anything"
    assert look(url).status_code == 200
    for _ in range(2):
        done = press(url)  # as RFC 8058: no key, no cookie
        assert done.status_code == 200 and "<form" not in done.text
    assert notifications(shop, ada)["opted_out_at"] and notifications(shop, ben) == NONE
    row = shop.row(delivered(shop, ada))
    assert (row["status"], row["reason"]) == ("skipped", "opted_out")
    shop.client.post(f"/v1/contacts/{ada['id']}", {"notifications": {"opted_out": False}}, expect=200)
    assert notifications(shop, ada) == NONE
    delivered(shop, ada)
    assert shop.link(shop.mail(ada, 2)) == url


def test_a_row_that_is_sent_whole_does_not_end_it(shop):
    ada = shop.contact()
    out = shop.client.post(f"/v1/contacts/{ada['id']}", {"notifications": {"opted_out": True}}, expect=200).data["notifications"]
    batch = shop.client.post("/v1/batches", {"resource": "contact", "action": "overwrite", "mode": "sync", "data": [{"id": ada["id"], "name": "Ada King", "email": ada["email"]}]}).data
    row = shop.client.get(f"/v1/contacts/{ada['id']}").data
    assert batch["status"] == "completed" and row["name"] == "Ada King" and row["notifications"] == out and out["opted_out_at"]


def test_one_click_as_mail_readers_do_it(shop):
    ada = shop.contact()
    delivered(shop, ada)
    message = shop.mail(ada)
    url = message["List-Unsubscribe"].strip("<>")
    assert url.startswith("https://wharf.example/v1/notifications/opt-out?token=") and message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    r = requests.post(shop.link(message), data="List-Unsubscribe=One-Click", headers={"Content-Type": "application/x-www-form-urlencoded"}, timeout=WAIT, verify=False)
    assert r.status_code == 200 and notifications(shop, ada)["opted_out_at"]


def test_tokens_of_nobody(shop):
    ada = shop.contact()
    delivered(shop, ada)
    url = shop.link(shop.mail(ada))
    forged = url[:-1] + ("A" if url[-1] != "A" else "B")
    for bad in (forged, url + "A", url.split("=")[0] + "=", url.split("=")[0] + "=" + ada["id"]):
        assert look(bad).status_code == press(bad).status_code == 404
    assert notifications(shop, ada) == NONE


def test_a_link_of_another_organization_ends_nothing_here(world, shop):
    other = world.shop()
    theirs, ours = other.contact(), shop.contact()
    delivered(other, theirs)
    delivered(shop, ours)
    assert other.link(other.mail(theirs)) != shop.link(shop.mail(ours))
    press(other.link(other.mail(theirs)))
    assert notifications(shop, ours) == NONE and notifications(other, theirs)["opted_out_at"]


def test_opted_out_while_it_waits(world, shop):
    """A mail that waits is not sent to who does not want it any more."""
    ada = shop.contact()
    delivered(shop, ada)
    url = shop.link(shop.mail(ada))
    shop.sink.down = True
    shipment = delivered(shop, ada)
    until(lambda: shop.rows(resource_id=shipment["id"], status="waiting") and shop.rows(resource_id=shipment["id"])[0]["attempts"] == 1)
    press(url)
    shop.sink.down = False
    world.ahead(60)
    assert shop.row(shipment)["reason"] == "opted_out" and len(shop.sink.mails(ada["email"])) == 1


def test_the_link_follows_a_merge(shop):
    ada, twin = shop.contact(), shop.contact(name="A. Lovelace")
    delivered(shop, twin)
    url = shop.link(shop.mail(twin))
    shop.client.post(f"/v1/contacts/{ada['id']}/merge", {"from": [twin["id"]]}, expect=200)
    assert press(url).status_code == 200 and notifications(shop, ada)["opted_out_at"]


def test_a_merge_keeps_the_wish(shop):
    ada, twin = shop.contact(), shop.contact(name="A. Lovelace")
    shop.client.post(f"/v1/contacts/{twin['id']}", {"notifications": {"opted_out": True}}, expect=200)
    shop.client.post(f"/v1/contacts/{ada['id']}/merge", {"from": [twin["id"]]}, expect=200)
    assert notifications(shop, ada)["opted_out_at"]


# ---- the contact's notifications ----

def test_what_is_written(shop):
    ada = shop.contact(notifications={"opted_out": True})
    since = ada["notifications"]["opted_out_at"]
    assert since and notifications(shop, ada) == {**NONE, "opted_out_at": since}
    again = shop.client.post(f"/v1/contacts/{ada['id']}", {"notifications": {"opted_out": True}}, expect=200).data
    assert again["notifications"]["opted_out_at"] == since
    same = shop.client.post(f"/v1/contacts/{ada['id']}", {"notifications": {**NONE, "bounce": "no"}}, expect=200).data
    assert same["notifications"] == again["notifications"]
    for bad in ({"opted_in": True}, {"opted_out": "no"}):
        shop.client.refused("POST", f"/v1/contacts/{ada['id']}", 400, "validation.failed", [f"notifications.{next(iter(bad))}"], body={"notifications": bad})
    assert shop.contact()["notifications"] == NONE


# ---- refusals ----

def test_an_address_that_is_refused(world, shop):
    ada = shop.contact(email=shop.address("unknown"))
    row = shop.row(delivered(shop, ada))
    assert (row["status"], row["reason"]) == ("failed", "refused")
    state = notifications(shop, ada)
    assert state["bounced_at"] and state["bounce"] == "550 no such user"
    skipped = shop.row(delivered(shop, ada))
    assert (skipped["status"], skipped["reason"]) == ("skipped", "bounced")
    email = shop.address()
    shop.client.post(f"/v1/contacts/{ada['id']}", {"email": email}, expect=200)
    assert notifications(shop, ada) == NONE
    assert shop.row(delivered(shop, ada))["address"] == email
    shop.client.post(f"/v1/contacts/{ada['id']}", {"email": shop.address("unknown")}, expect=200)
    shop.row(delivered(shop, ada))
    assert notifications(shop, ada)["bounced_at"]
    shop.client.post(f"/v1/contacts/{ada['id']}", {"notifications": {"opted_out": False}}, expect=200)
    assert notifications(shop, ada) == NONE


def test_a_mail_that_is_refused_is_not_the_address_fault(shop):
    ada = shop.contact(email=shop.address("spam"))
    row = shop.row(delivered(shop, ada))
    assert (row["status"], row["reason"]) == ("failed", "refused") and notifications(shop, ada) == NONE
    shop.idle()
    assert [e["type"] for e in shop.client.get(f"/v1/events?resource_id={row['id']}").data] == ["notification.failed"]


def test_a_server_that_says_later(world, shop):
    ada = shop.contact(email=shop.address("full"))
    shipment = delivered(shop, ada)
    row = until(lambda: [r for r in shop.rows(resource_id=shipment["id"]) if r["attempts"] == 1])[0]
    assert row["status"] == "waiting" and row["reason"] is None and row["next_attempt_at"] > row["created_at"] and notifications(shop, ada) == NONE
    world.ahead(31)
    until(lambda: [r for r in shop.rows(resource_id=shipment["id"]) if r["attempts"] == 2])
    world.ahead(24 * 3600)
    row = shop.row(shipment)
    assert (row["status"], row["reason"]) == ("failed", "unreachable")


def test_resend(shop):
    ada = shop.contact(email=shop.address("spam"))
    shipment = delivered(shop, ada)
    row = shop.row(shipment)
    email = shop.address()
    shop.client.post(f"/v1/contacts/{ada['id']}", {"email": email}, expect=200)
    again = shop.client.post(f"/v1/notifications/{row['id']}/resend", expect=202).data
    assert again["id"] != row["id"] and again["resend_of"] == row["id"] and again["status"] == "waiting" and again["reason"] is None
    sent = until(lambda: shop.rows(resource_id=shipment["id"], status="sent"))[0]
    assert sent["id"] == again["id"] and sent["address"] == email and len(shop.sink.mails(email)) == 1
    shop.client.refused("POST", f"/v1/notifications/{sent['id']}/resend", 409, "notification.not_failed")
    assert shop.client.get(f"/v1/notifications/{row['id']}").data["status"] == "failed"
    nobody = shop.contact(email=None)
    missing = shop.row(delivered(shop, nobody))
    shop.client.post(f"/v1/contacts/{nobody['id']}", {"email": shop.address()}, expect=200)
    shop.client.post(f"/v1/notifications/{missing['id']}/resend", expect=202)
    quiet = shop.shipment(ada)
    shop.update(quiet, "delivered", notify_customer=False)
    shop.client.refused("POST", f"/v1/notifications/{shop.row(quiet)['id']}/resend", 409, "notification.not_failed")
    shop.org.client("notifications:read,shipments:read").refused("POST", f"/v1/notifications/{row['id']}/resend", 403, "scope_access")


def test_a_test_organization_has_an_outbox(world, shop):
    test = Client(world.server, shop.org.key(test=True))
    test.post(f"/v1/organizations/{test.get('/v1/organizations').data[0]['id']}", {"settings": {"notifications": {"customers": {"enabled": True}}}}, expect=200)
    ada = test.post("/v1/contacts", {"name": "Tess", "email": shop.address("tess")}, expect=201).data
    before = len(shop.sink.got)
    shipment = test.post("/v1/shipments", {"tracking_number": f"TEST{ada['id'][-8:].upper()}", "recipient": ada["id"], "tracking_update": {"status": "delivered"}}, expect=201).data
    row = until(lambda: [r for r in test.get(f"/v1/notifications?resource_id={shipment['id']}").data if r["status"] == "sent"])[0]
    mails = [m for m in test.get("/v1/test/outbox").data if ada["email"] in m["recipients"]]
    assert len(mails) == 1 and mails[0]["subject"] == row["title"] and len(shop.sink.got) == before


# ---- order, limit, crashes ----

def test_a_contact_is_told_in_order(world, shop):
    """Also when the first one has to wait: those behind it do not go before."""
    ada = shop.contact()
    shop.sink.down = True
    shipments = [shop.shipment(ada) for _ in range(4)]
    for status in ("out_for_delivery", "delivered"):
        for s in shipments:
            shop.update(s, status)
    until(lambda: any(r["attempts"] for r in shop.rows(contact_id=ada["id"])))
    shop.sink.down = False
    world.ahead(61)
    until(lambda: len(shop.sink.mails(ada["email"])) == 8)
    want = [(s["tracking_number"], w) for w in ("out for delivery", "delivered") for s in shipments]
    got = shop.sink.mails(ada["email"])
    assert all(number in text(m) and word in m["Subject"] for (number, word), m in zip(want, got))


def kill_worker(world):
    os.kill(world.server.workers("job")[0], signal.SIGKILL)


@pytest.mark.parametrize("step", ["event", "rcpt", "data", "answered"])
def test_killed_at_each_step(world, shop, step):
    """Never lost, and never twice what the mail server took and answered; what the answer did not reach comes again with the same Message-ID."""
    ada = shop.contact()
    shipment = shop.shipment(ada)
    if step != "event":
        shop.sink.hooks[step] = lambda: kill_worker(world)
    shop.update(shipment, "delivered")
    if step == "event":
        kill_worker(world)
    row = shop.row(shipment)
    until(lambda: not shop.sink.hooks)  # the last one runs a moment after the answer
    assert row["status"] == "sent"
    shop.idle()
    got = shop.sink.mails(ada["email"])
    assert {m["Message-ID"] for m in got} == {f"<{row['id']}@wharf>"}
    assert len(got) <= (1 if step in ("event", "rcpt") else 2)
    assert len(shop.rows(resource_id=shipment["id"])) == 1


def test_many_at_once_keep_to_the_limit():
    """Deliveries of a batch: within mail.max_per_minute, in order per contact, each once."""
    limit, people = LIMIT, AT_ONCE // 8
    each = 8
    world = World("--set", f"mail.max_per_minute={limit}")
    try:
        shop = world.shop()
        contacts = [shop.contact() for _ in range(people)]
        data = [{"tracking_number": f"M{i:05}X{shop.org.id[-6:].upper()}", "recipient": contacts[i % people]["id"], "location_id": shop.location, "tracking_update": {"status": "delivered"}}
                for i in range(people * each)]
        began = time.monotonic()
        for k in range(0, len(data), 1000):
            shop.client.post("/v1/batches", {"resource": "shipment", "action": "merge", "data": data[k:k + 1000]})
        while len(shop.sink.got) < people * each:
            before = len(shop.sink.got)
            until(lambda: len(shop.sink.got) > before)
        assert people * each > limit
        for k, at in enumerate(shop.sink.at):
            assert k + 1 <= limit + limit * (at - began) / 60 + 1, "more than the limit"
        for c in contacts:
            numbers = [next(w for w in text(m).split() if w.startswith("M0")) for m in shop.sink.mails(c["email"])]
            assert numbers == sorted(numbers) and len(set(numbers)) == len(numbers) == each
    finally:
        world.close()


def test_what_no_job_is_about_is_found(world, shop):
    """A job that was cancelled does not take its mail with it."""
    ada = shop.contact()
    shop.sink.down = True
    shipment = delivered(shop, ada)
    until(lambda: shop.rows(resource_id=shipment["id"]) and shop.rows(resource_id=shipment["id"])[0]["attempts"] == 1)
    for (id,) in until(lambda: world.server.sql("SELECT id FROM wharf.job WHERE organization_id = %s AND queue = 'notifications.customer_mail'", shop.org.id)):
        world.server.command("job", "cancel", str(id))
    shop.sink.down = False
    world.ahead(30 * 60)
    assert shop.row(shipment)["status"] == "sent"
    assert html(shop.mail(ada))
