"""What is not sent at once: quiet hours, tries, replacing, addresses that are dead. Spec 07 section 16.2 rules 4, 5 and 7."""
import datetime
import time
import zoneinfo

import pytest

from fcm import fcm_error
from push_world import Shop, World, answers, shop, world  # noqa: F401  (fixtures among them)
from receivers import status
from wharf import until


def busy(world, *answers):
    world.web.answers[world.google.send] = [*answers, world.google.good]


def tried(shop, user, n):
    """The n-th attempt is over, and another is to come."""
    def over():
        rows = shop.rows(user_id=user)
        row = rows[0] if rows else {"attempts": 0}
        return row["attempts"] == n and row["status"] == "waiting" and seconds(row["next_attempt_at"]) > world_now(shop.world) and row
    return until(over)


def world_now(world):
    return time.time() + world.offset


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


# ---- rule 7: tries ----

@pytest.mark.parametrize("answer", [status(503), status(500), status(429)])
def test_a_busy_service_is_asked_again(world, shop, answer):
    user, (token,) = shop.person()
    busy(world, answer, answer)
    shop.contact()
    row = tried(shop, user, 1)
    assert 20 < seconds(row["next_attempt_at"]) - world_now(world) <= 30
    world.ahead(31)
    row = tried(shop, user, 2)
    assert 50 < seconds(row["next_attempt_at"]) - world_now(world) <= 60  # doubled
    world.ahead(61)
    row, = shop.ended(user_id=user)
    assert (row["status"], row["attempts"]) == ("sent", 3) and len(world.pushed(token)) == 3


def test_retry_after(world, shop):
    user, (token,) = shop.person()
    busy(world, status(429, Retry_After="600"))
    shop.contact()
    row = tried(shop, user, 1)
    assert 580 < seconds(row["next_attempt_at"]) - world_now(world) <= 600
    world.ahead(500)
    shop.contact()  # something else is pushed meanwhile
    shop.ended(user_id=user)  # noted, and not only sent: its lease would be over in a moment
    assert len(world.pushed(token)) == 2
    world.ahead(101)
    until(lambda: len(world.pushed(token)) == 3)
    assert len(shop.ended(2, user_id=user)) == 2


def test_retry_after_of_a_browser(world, shop):
    user, _ = shop.person(phones=0)
    browser = shop.browser(user)
    good = world.web.answers[browser.path]
    world.web.answers[browser.path] = [status(503, Retry_After="120"), good]
    shop.contact()
    row = tried(shop, user, 1)
    assert 100 < seconds(row["next_attempt_at"]) - world_now(world) <= 120
    world.ahead(121)
    assert shop.ended(user_id=user)[0]["status"] == "sent"
    first, second = browser.raw
    assert first.body != second.body and browser.open(first) == browser.open(second)  # sealed anew


def test_a_day_without_an_answer(world, shop):
    user, (token,) = shop.person()
    world.web.answers[world.google.send] = status(503, Retry_After="40000")
    shop.contact()
    tried(shop, user, 1)
    world.ahead(40001)
    tried(shop, user, 2)
    world.ahead(40001)  # the next one would be later than 24 h
    row, = shop.ended(user_id=user)
    assert (row["status"], row["reason"], row["next_attempt_at"]) == ("failed", "unreachable", None) and len(world.pushed(token)) == 3
    until(lambda: shop.client.get(f"/v1/events?type=notification.failed&resource_id={row['id']}").data)


@pytest.mark.parametrize("kind", ["phone", "browser"])
def test_refused_for_good(world, shop, kind):
    user, tokens = shop.person(phones=int(kind == "phone"))
    if kind == "phone":
        world.web.answers[world.google.send] = fcm_error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "no", field="message.data", description="x")
    else:
        world.web.answers[shop.browser(user).path] = status(413)
    shop.contact()
    row, = shop.ended(user_id=user)
    assert (row["status"], row["reason"], row["attempts"]) == ("failed", "refused", 1)
    assert shop.client.get(f"/v1/users/{user}").data["fcm_tokens"] == tokens


# ---- rule 7: dead addresses ----

@pytest.mark.parametrize("answer", [fcm_error(404, "NOT_FOUND", "UNREGISTERED"), fcm_error(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH")])
def test_a_dead_phone_is_removed(world, shop, answer):
    user, (dead, alive) = shop.person(phones=2)
    good = world.google.good

    def one_is_dead(handler):
        (answer if dead.encode() in handler.sent else good)(handler)
    world.web.answers[world.google.send] = one_is_dead
    shop.contact()
    assert shop.ended(user_id=user)[0]["status"] == "sent"
    until(lambda: shop.client.get(f"/v1/users/{user}").data["fcm_tokens"] == [alive])
    shop.contact()
    shop.ended(2, user_id=user)
    assert len(world.pushed(dead)) == 1 and len(world.pushed(alive)) == 2


@pytest.mark.parametrize("code", [404, 410])
def test_a_dead_browser_is_removed(world, shop, code):
    user, _ = shop.person(phones=0)
    browser = shop.browser(user)
    world.web.answers[browser.path] = status(code)
    shop.contact()
    row, = shop.ended(user_id=user)
    assert (row["status"], row["reason"]) == ("skipped", "no_device")
    assert shop.client.get(f"/v1/users/{user}/push-subscriptions").data == []
    shop.contact()
    shop.ended(2, user_id=user)
    assert len(browser.raw) == 1


# ---- rule 4: replacing ----

def test_what_was_not_sent_is_replaced(world, shop):
    contact = shop.contact()
    user, (token,) = shop.person(["contact.updated"])
    busy(world, status(503, Retry_After="300"))
    shop.rename(contact, "Jane One")
    tried(shop, user, 1)
    shop.rename(contact, "Jane Two")
    old, new = shop.ended(2, user_id=user)
    assert (old["status"], old["reason"], old["next_attempt_at"]) == ("skipped", "replaced", None) and (new["status"], new["reason"]) == ("sent", None)
    world.ahead(301)
    other = shop.contact()
    shop.rename(other, "Jim")
    shop.ended(3, user_id=user)
    assert len(world.pushed(token)) == 3  # the first try, the new one, the other contact's


def test_only_of_the_same_row_and_user(world, shop):
    first, second = shop.contact("Jane"), shop.contact("Joe")
    one, _ = shop.person(["contact.updated"])
    two, _ = shop.person(["contact.updated"])
    world.web.answers[world.google.send] = status(503, Retry_After="300")
    shop.rename(first, "Jane One")
    until(lambda: all(r["attempts"] == 1 for r in shop.rows(kind="user") if r["event_type"] == "contact.updated") and len(shop.rows(event_type="contact.updated")) == 2)
    shop.rename(second, "Joe One")
    until(lambda: len(shop.rows(event_type="contact.updated")) == 4)
    assert {r["status"] for r in shop.rows(event_type="contact.updated")} == {"waiting"} and one != two


def test_one_that_is_on_its_way_goes_first(world, shop):
    """The services see the older one first, and its answer counts: what they took was sent."""
    contact = shop.contact()
    user, (token,) = shop.person(["contact.updated"])
    held = []

    def hold(handler):
        held.append(1)
        until(lambda: len(held) > 1)
        world.google.good(handler)
    busy(world, hold)
    shop.rename(contact, "Jane One")
    until(lambda: held)
    shop.rename(contact, "Jane Two")
    until(lambda: len(shop.rows(user_id=user)) == 2)
    assert len(world.pushed(token)) == 1
    held.append(1)
    shop.ended(2, user_id=user)
    assert [r["status"] for r in shop.rows(user_id=user)] == ["sent", "sent"]
    first, second = world.pushed(token)
    assert first.event["message"]["data"]["event_id"] == shop.rows(user_id=user)[0]["event_id"]


def test_many_changes_at_once_are_one_push(world, shop):
    contact = shop.contact()
    user, (token,) = shop.person(["contact.updated"])
    with world.server.events_wait(shop.org):
        for i in range(5):
            shop.rename(contact, f"Jane {i}")
    rows = shop.ended(5, user_id=user)
    assert [r["status"] for r in rows] == ["skipped"] * 4 + ["sent"] and [r["reason"] for r in rows] == ["replaced"] * 4 + [None]
    assert len(world.pushed(token)) == 1 and world.pushed(token)[0].event["message"]["data"]["event_id"] == rows[-1]["event_id"]


def test_collapse_keys(world, shop):
    first, second = shop.contact("Jane"), shop.contact("Joe")
    user, (token,) = shop.person(["contact.updated"])
    browser = shop.browser(user)
    for n, (contact, name) in enumerate(((first, "A"), (first, "B"), (second, "C")), 1):
        shop.rename(contact, name)
        until(lambda: len(world.pushed(token)) == n and len(browser.raw) == n and shop.client.get(f"/v1/notifications?user_id={user}&status=waiting").data == [])
    keys = [g.event["message"]["android"]["collapse_key"] for g in world.pushed(token)]
    assert keys[0] == keys[1] != keys[2] and keys == [g["topic"] for g in browser.raw]
    assert keys == [g.event["message"]["apns"]["headers"]["apns-collapse-id"] for g in world.pushed(token)]
    assert first not in keys[0]


# ---- rule 5: quiet hours ----

def hours(world, zone, begins, ends):
    """Quiet hours from so many minutes before now to so many after it, by the clock there."""
    now = datetime.datetime.fromtimestamp(world_now(world), zoneinfo.ZoneInfo(zone))

    def clock(minutes):
        return (now + datetime.timedelta(minutes=minutes)).strftime("%H:%M")
    return {"from": clock(begins), "to": clock(ends), "time_zone": zone}


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_it_waits_until_the_hours_end(world, shop, zone):
    quiet, (token,) = shop.person(quiet_hours=hours(world, zone, -60, 120))
    loud, (other,) = shop.person(quiet_hours=hours(world, zone, 60, 120))
    contact = shop.contact()
    shop.ended(user_id=loud)
    row, = shop.rows(user_id=quiet)
    assert row["status"] == "waiting" and row["attempts"] == 0 and 118 * 60 < seconds(row["next_attempt_at"]) - world_now(world) <= 120 * 60
    assert shop.step(contact, "contact.created") == ("completed", None) and world.pushed(token) == [] and len(world.pushed(other)) == 1
    world.ahead(7201)
    assert shop.ended(user_id=quiet)[0]["status"] == "sent" and len(world.pushed(token)) == 1


def test_in_quiet_hours_the_newest_waits(world, shop):
    contact = shop.contact()
    user, (token,) = shop.person(["contact.updated"], quiet_hours=hours(world, "UTC", -60, 60))
    shop.rename(contact, "Jane One")
    until(lambda: len(shop.rows(user_id=user)) == 1)
    shop.rename(contact, "Jane Two")
    until(lambda: len(shop.rows(user_id=user)) == 2)
    world.ahead(3601)
    old, new = shop.ended(2, user_id=user)
    assert old["reason"] == "replaced" and new["status"] == "sent" and len(world.pushed(token)) == 1


@pytest.mark.parametrize("now, end", [
    ("2027-01-15T23:30", "2027-01-16T07:00"), ("2027-01-16T03:00", "2027-01-16T07:00"),  # over midnight
    ("2027-01-16T07:00", None), ("2027-01-16T12:00", None),
    ("2027-03-27T23:30", "2027-03-28T07:00"),  # the clocks go ahead in the night: an hour less
    ("2027-10-30T23:30", "2027-10-31T07:00"),  # and back: an hour more
])
def test_by_the_users_own_clock(tmp_path_factory, now, end):
    """Berlin, from 22:00 to 07:00."""
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    moment = datetime.datetime.fromisoformat(now).replace(tzinfo=zone).timestamp()
    world = night(tmp_path_factory)
    world.ahead(round(moment - world_now(world)) + 1)
    shop = Shop(world)
    user, _ = shop.person(quiet_hours={"from": "22:00", "to": "07:00", "time_zone": "Europe/Berlin"})
    shop.contact()
    row = until(lambda: shop.rows(user_id=user))[0]
    if end is None:
        assert shop.ended(user_id=user)[0]["status"] == "sent"
    else:
        assert row["status"] == "waiting" and seconds(row["next_attempt_at"]) == datetime.datetime.fromisoformat(end).replace(tzinfo=zone).timestamp()


kept = []


def night(tmp_path_factory):
    """A server of its own, whose clock only goes ahead."""
    if not kept:
        kept.append(World(tmp_path_factory.mktemp("night")))
    return kept[0]


@pytest.fixture(scope="module", autouse=True)
def nights():
    yield
    while kept:
        kept.pop().close()
