"""kill -9 at each step of a push: no row is lost, and no address is told twice of what it answered. Spec 07 section 16.2."""
import os
import signal

from push_world import answers, shop, world  # noqa: F401  (fixtures among them)
from wharf import until


LEASE = 61  # a minute, and what was cut off is due again


def kill(world):
    """Ends the job workers, and waits for those that come after."""
    before = world.server.workers("job")
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    until(lambda: (now := world.server.workers("job")) and not set(now) & set(before))


class Held:
    """A service that has heard of a message and answers when it is let go."""

    def __init__(self, world, path, answer):
        self.heard, self.free, self.answer = 0, False, answer
        world.web.answers[path] = self

    def __call__(self, handler):
        self.heard += 1
        until(lambda: self.free)
        self.answer(handler)


def test_in_the_step(world, shop):
    user, (token,) = shop.person()
    with world.server.held("LOCK TABLE notifications.push IN ACCESS EXCLUSIVE MODE"):
        shop.contact()
        until(lambda: world.server.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%notifications.push%%' LIMIT 1"))
        kill(world)
        assert world.server.sql("SELECT count(*) FROM notifications.notification WHERE user_id = %s", user) == [(0,)]
    assert [r["status"] for r in shop.ended(user_id=user)] == ["sent"] and len(world.pushed(token)) == 1


def test_before_it_is_sent(world, shop):
    """The sender has claimed it, and waits for its token."""
    user, (token,) = shop.person()
    kill(world)  # forgets the token of other tests
    held = Held(world, "/token", world.google.give_token)
    shop.contact()
    until(lambda: held.heard)
    kill(world)
    held.free = True
    assert [r["status"] for r in shop.rows(user_id=user)] == ["waiting"] and world.pushed(token) == []
    world.ahead(LEASE)
    assert [r["status"] for r in shop.ended(user_id=user)] == ["sent"] and len(world.pushed(token)) == 1


def test_while_the_service_thinks(world, shop):
    """Nobody knows whether it was told: it is told again. An address that has answered is not."""
    user, (token,) = shop.person()
    browser = shop.browser(user)
    held = Held(world, world.google.send, world.google.good)
    shop.contact()
    until(lambda: held.heard and browser.raw)
    row, = shop.ended(user_id=user)  # the browser's answer is noted
    kill(world)
    held.free = True
    world.ahead(LEASE)
    until(lambda: len(world.pushed(token)) == 2)
    until(lambda: world.server.sql("SELECT count(*) FROM notifications.push WHERE user_id = %s", user) == [(0,)])
    assert len(browser.raw) == 1 and [(r["id"], r["status"], r["sent_at"]) for r in shop.rows(user_id=user)] == [(row["id"], "sent", row["sent_at"])]


def test_before_the_answer_is_noted(world, shop):
    user, (token,) = shop.person()
    held = Held(world, world.google.send, world.google.good)
    shop.contact()
    until(lambda: held.heard)
    with world.server.held("SELECT id FROM notifications.push WHERE user_id = %s FOR UPDATE", user):
        held.free = True
        until(lambda: world.server.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%push_note%%' LIMIT 1"))
        kill(world)
    assert [r["status"] for r in shop.rows(user_id=user)] == ["waiting"]
    world.ahead(LEASE)
    assert [r["status"] for r in shop.ended(user_id=user)] == ["sent"] and len(world.pushed(token)) == 2


def test_after_it_was_noted(world, shop):
    user, (token,) = shop.person()
    shop.contact()
    shop.ended(user_id=user)
    kill(world)
    world.ahead(LEASE)
    other, (second,) = shop.person()
    shop.contact()
    shop.ended(user_id=other)
    until(lambda: len(world.pushed(second)) == 1)
    assert len(world.pushed(token)) == 2 and len(shop.rows(user_id=user)) == 2


def test_in_quiet_hours(world, shop):
    user, (token,) = shop.person(quiet_hours={"from": "00:00", "to": "23:59", "time_zone": "UTC"})
    shop.contact()
    until(lambda: shop.rows(user_id=user))
    before = shop.rows(user_id=user)
    kill(world)
    assert shop.rows(user_id=user) == before and world.pushed(token) == []
    world.ahead(86400)
    assert [r["status"] for r in shop.ended(user_id=user)] == ["sent"] and len(world.pushed(token)) == 1


def test_a_server_that_ends_gives_back_what_it_had(world, shop):
    """Without waiting for the lease: the next one sends at once."""
    user, (token,) = shop.person()
    held = Held(world, world.google.send, world.google.good)
    shop.contact()
    until(lambda: held.heard)
    for pid in world.server.workers("job"):
        os.kill(pid, signal.SIGTERM)
    held.free = True
    assert [r["status"] for r in shop.ended(user_id=user)] == ["sent"] and len(world.pushed(token)) == 1
