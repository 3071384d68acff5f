"""Users are told of events by push: spec 07 section 16.2, against services that check what they are sent."""
import pytest

from push_world import Shop, World


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    w = World(tmp_path_factory.mktemp("push"))
    yield w
    w.close()


@pytest.fixture
def shop(world):
    return Shop(world)


@pytest.fixture(autouse=True)
def answers(world):
    """What a test lets the services say is not said to the next one, also when it fails."""
    before = dict(world.web.answers)
    yield
    world.web.answers.clear()
    world.web.answers.update(before)


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
