"""A server that pushes to users, with the services that it pushes by; fixtures that files of tests share."""
import pytest

from browser import Browser
from fcm import Google
from receivers import Receivers
from wharf import Client, Server, make_location, until

MODULES = "org,locations,contacts,events,notifications"


class World:
    def __init__(self, folder, *more, modules=MODULES, **how):
        self.web, self.offset, self.names = Receivers(), 0, 0
        self.google = Google(self.web, folder)
        self.server = Server("--modules", modules, "--test-clock", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true",
                             "--set", f"notifications.fcm.service_account={self.google.account}", "--set", f"notifications.fcm.endpoint={self.web.url('')}",
                             "--set", "notifications.web_push.contact=mailto:ops@example.com", *more, **how)
        self.system = Client(self.server, self.server.demo_key)

    def close(self):
        self.server.stop()
        self.web.shutdown()

    def ahead(self, seconds):
        self.offset += seconds
        self.google.ahead(self.offset)
        self.system.post("/v1/system/clock", {"offset_seconds": self.offset}, expect=200)

    def phone(self):
        self.names += 1
        return f"phone-{self.names}"

    def pushed(self, token):
        """What FCM got for a token."""
        with self.web.lock:
            return [g for g in self.web.got[self.google.send] if g.event["message"]["token"] == token]


class Shop:
    """An organization with a location, and somebody who changes things."""

    def __init__(self, world):
        self.world, self.org = world, world.server.organization()
        self.client = self.org.client()
        self.location = make_location(self.client, f"Main {self.org.id}")["id"]
        self.people = 0

    def person(self, events=("contact.*",), phones=1, role="user", **fields):
        """A user who listens, and their phones."""
        self.people += 1
        tokens = [self.world.phone() for _ in range(phones)]
        body = {"name": f"P{self.people}", "email": f"p{self.people}@{self.org.id.replace('_', '-')}.example.com", "role": role,
                "notification_events": list(events), "fcm_tokens": tokens, **fields}
        return self.client.post("/v1/users", body, expect=201).data["id"], tokens

    def browser(self, user, client=None, **more):
        b = Browser(self.world.web)
        b.row = (client or self.client).post(f"/v1/users/{user}/push-subscriptions", b.body(**more), expect=201).data
        return b

    def contact(self, name="Jane Doe", client=None):
        return (client or self.client).post("/v1/contacts", {"name": name}, expect=201).data["id"]

    def rename(self, contact, name, client=None):
        return (client or self.client).post(f"/v1/contacts/{contact}", {"name": name}, expect=200)

    def rows(self, **filters):
        """Notifications, the oldest first."""
        query = "&".join(f"{k}={v}" for k, v in filters.items())
        return self.client.get(f"/v1/notifications?order_by=created_at&direction=asc&limit=100&{query}").data

    def ended(self, n=1, **filters):
        until(lambda: len([r for r in self.rows(**filters) if r["status"] != "waiting"]) >= n)
        return self.rows(**filters)

    def step(self, resource, type):
        """What the step says of the event of this type."""
        found = []

        def processed():
            found[:] = [e for e in self.client.get(f"/v1/events?resource_id={resource}&type={type}").data if e["status"] == "processed"]
            return found
        until(processed)
        event = self.client.get(f"/v1/events/{found[0]['id']}").data
        return next((s["status"], s["error"]) for s in event["steps"] if s["name"] == "user_push_notifications")


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
    """Lets no test hear what the services say to the one before it, also when that one fails."""
    before = dict(world.web.answers)
    yield
    world.web.answers.clear()
    world.web.answers.update(before)
