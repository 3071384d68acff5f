"""Users are told of events by push: spec 07 section 16.2, against services that check what they are sent."""
import pytest

from push_world import answers, shop, world  # noqa: F401  (fixtures among them)
from receivers import status
from wharf import until


def test_a_phone_is_told(world, shop):
    user, (token,) = shop.person()
    contact = shop.contact()
    row, = shop.ended(user_id=user)
    assert {k: row[k] for k in ("object", "kind", "channel", "event_type", "resource_type", "resource_id", "occasion", "user_id", "contact_id", "address", "language",
                                "title", "status", "reason", "attempts", "next_attempt_at")} == {
        "object": "notification", "kind": "user", "channel": "push", "event_type": "contact.created", "resource_type": "contact", "resource_id": contact, "occasion": None,
        "user_id": user, "contact_id": None, "address": None, "language": "en", "title": "Contact created", "status": "sent", "reason": None, "attempts": 1,
        "next_attempt_at": None}
    assert row["sent_at"] and row["body"]
    one, = world.pushed(token)
    message = one.event["message"]
    assert message["notification"] == {"title": row["title"], "body": row["body"]}
    assert message["data"] == {"event_id": row["event_id"], "event_type": "contact.created", "resource_type": "contact", "resource_id": contact}
    assert shop.step(contact, "contact.created") == ("completed", None)


def test_a_browser_is_told(world, shop):
    user, _ = shop.person(phones=0)
    browser = shop.browser(user)
    contact = shop.contact()
    row, = shop.ended(user_id=user)
    assert row["status"] == "sent"
    key = shop.client.get("/v1/notifications/push-key").data["vapid_public_key"]
    claims = browser.judge(browser.raw[0], key, world.offset)
    assert claims["sub"] == "mailto:ops@example.com" and browser.raw[0]["ttl"] == "86400"
    assert browser.got() == [{"title": "Contact created", "body": row["body"], "data": {
        "event_id": row["event_id"], "event_type": "contact.created", "resource_type": "contact", "resource_id": contact}}]


def test_what_is_told_has_no_name_of_anybody(world, shop):
    user, (token,) = shop.person(("location.*", "contact.*"))
    browser = shop.browser(user)
    shop.contact("Ann Secret")
    made = shop.client.post("/v1/locations", {"name": "Hidden Place", "address": "1 Main St, Springfield, IL 62701, US"}, expect=201).data["id"]
    shop.ended(2, user_id=user)
    for text in (*[g.body.decode() for g in world.pushed(token)], *[str(g) for g in browser.got()]):
        assert "Secret" not in text and "Hidden" not in text and len(text) < 4096
    of_location = next(g for g in browser.got() if g["data"]["event_type"] == "location.created")
    assert of_location["data"]["location_id"] == of_location["data"]["resource_id"] == made


# ---- rule 1: who ----

@pytest.mark.parametrize("events, told", [(["contact.created"], True), (["contact.*"], True), (["*"], True), (["contact.updated"], False), (["location.*"], False),
                                          (["contact"], False), ([], False)])
def test_patterns(shop, events, told):
    user, _ = shop.person(events)
    other, _ = shop.person(["contact.created"])
    contact = shop.contact()
    shop.ended(user_id=other)
    assert [r["event_type"] for r in shop.rows(user_id=user, resource_id=contact)] == (["contact.created"] if told else [])


def test_only_who_may_see_it(world, shop):
    """By role and locations, as keys: nobody hears by push of what their key would not show."""
    other = shop.client.post("/v1/locations", {"name": "Other", "address": "1 Main St, Springfield, IL 62701, US"}, expect=201).data["id"]
    role = shop.client.post("/v1/roles", {"name": "Contacts only", "scopes": {"contacts": 1}}, expect=201).data["id"]
    near, _ = shop.person(["location.updated"], locations=[shop.location])
    far, _ = shop.person(["location.updated"], locations=[other])
    blind, _ = shop.person(["location.updated"], role=role)
    boss, _ = shop.person(["location.updated"], role="admin")
    shop.client.post(f"/v1/locations/{shop.location}", {"name": "Renamed"}, expect=200)
    shop.ended(2, event_type="location.updated")
    assert {r["user_id"] for r in shop.rows(event_type="location.updated")} == {near, boss} and far and blind
    assert shop.step(shop.location, "location.updated")[0] == "completed"


def test_not_who_caused_it(shop):
    actor, _ = shop.person(role="admin")
    other, _ = shop.person()
    contact = shop.contact(client=shop.org.client(user=actor))
    shop.ended(user_id=other)
    assert {r["user_id"] for r in shop.rows(resource_id=contact)} == {other}


@pytest.mark.parametrize("status", ["invited", "disabled"])
def test_only_active_users(shop, status):
    user, _ = shop.person(status=status)
    other, _ = shop.person()
    shop.contact()
    shop.ended(user_id=other)
    assert shop.rows(user_id=user) == []


def test_deleted_users_are_not_told(shop):
    user, _ = shop.person()
    other, _ = shop.person()
    shop.client.delete(f"/v1/users/{user}")
    contact = shop.contact()
    shop.ended(user_id=other)
    assert {r["user_id"] for r in shop.rows(resource_id=contact)} == {other}


def test_test_data_tells_nobody(world, shop):
    user, (token,) = shop.person()
    test = shop.org.client(test=True)
    contact = shop.contact(client=test)
    shop.client, live = test, shop.client
    assert shop.step(contact, "contact.created") == ("skipped", None)
    shop.client = live
    assert world.pushed(token) == [] and user


# ---- rule 3: at most one ----

def test_all_devices_and_one_row(world, shop):
    user, tokens = shop.person(phones=3)
    browsers = [shop.browser(user) for _ in range(2)]
    contact = shop.contact()
    shop.ended(user_id=user)
    until(lambda: all(world.pushed(t) for t in tokens) and all(b.raw for b in browsers))
    assert [(r["status"], r["resource_id"]) for r in shop.rows(user_id=user)] == [("sent", contact)]
    assert [len(world.pushed(t)) for t in tokens] == [1, 1, 1] and [len(b.raw) for b in browsers] == [1, 1]


def test_sent_when_one_took_it(world, shop):
    user, _ = shop.person(phones=0)
    bad, good = shop.browser(user), shop.browser(user)
    world.web.answers[bad.path] = status(400)
    shop.contact()
    row, = shop.ended(user_id=user)
    until(lambda: bad.raw and good.raw)
    assert (row["status"], row["reason"]) == ("sent", None)


# ---- rule 2: where to ----

def test_nobody_is_there(world, shop):
    user, _ = shop.person(phones=0)
    contact = shop.contact()
    row, = shop.ended(user_id=user)
    assert (row["status"], row["reason"], row["attempts"], row["sent_at"], row["next_attempt_at"]) == ("skipped", "no_device", 0, None, None)
    assert shop.step(contact, "contact.created") == ("completed", None)


# ---- rule 8: the step ----

def test_the_step_is_skipped_when_nobody_listens(shop):
    contact = shop.contact()
    assert shop.step(contact, "contact.created") == ("skipped", None)


def test_the_step_fails_and_is_made_again(world, shop):
    """What goes wrong stands in the step; it is made again, and then one row is there."""
    user, _ = shop.person()
    world.server.sql(f"ALTER TABLE notifications.push ADD CONSTRAINT in_the_way CHECK (user_id <> '{user}')")
    try:
        contact = shop.contact()
        state, error = shop.step(contact, "contact.created")
        assert state == "failed" and error
    finally:
        world.server.sql("ALTER TABLE notifications.push DROP CONSTRAINT in_the_way")
    world.ahead(60)
    until(lambda: shop.step(contact, "contact.created") == ("completed", None))
    shop.ended(user_id=user)
    assert len(shop.rows(user_id=user)) == 1


def test_notifications_tell_nobody(shop):
    user, _ = shop.person(["*", "notification.sent", "notification.*"])
    shop.contact()
    shop.ended(user_id=user)
    until(lambda: shop.client.get("/v1/events?type=notification.sent").data)
    event = shop.client.get("/v1/events?type=notification.sent").data[0]
    assert shop.step(event["resource_id"], "notification.sent") == ("skipped", None)
    assert not [r for r in shop.rows(user_id=user) if r["event_type"].startswith("notification.")]
    data = shop.client.get(f"/v1/events/{event['id']}").data["data"]
    assert data["status"] == "sent" and "title" not in data and "body" not in data
