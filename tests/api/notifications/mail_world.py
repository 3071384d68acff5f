"""A server that mails customers, and the mail server that takes its mails."""
import asyncio
import email
import email.policy
import re
import time

import pytest
import requests
from test_mail import Door, Sink

from wharf import WAIT, Client, Server, make_location, until

MODULES = "org,locations,reasons,carriers,contacts,shipments,trackers,containers,batches,events,notifications"
ON = {"notifications": {"customers": {"enabled": True}}}


class Post(Sink):
    """Refuses spam@ when it has read the mail, unknown@ and full@ before, and all for now while it is `down`. `hooks`: what happens at a step, once."""

    def __init__(self):
        super().__init__()
        self.at, self.hooks, self.down = [], {}, False

    def hook(self, name):
        """Runs what a test wants to happen at this step, once."""
        if name in self.hooks:
            self.hooks.pop(name)()

    async def handle_RCPT(self, server, session, envelope, address, options):
        self.hook("rcpt")
        if self.down:
            return "451 not now"
        return await super().handle_RCPT(server, session, envelope, address, options)

    async def handle_DATA(self, server, session, envelope):
        self.hook("data")
        if "answered" in self.hooks:
            asyncio.get_running_loop().call_later(0.01, self.hook, "answered")
        if any(a.startswith("spam") for a in envelope.rcpt_tos):
            return "554 5.7.1 we do not like it"
        self.at.append(time.monotonic())
        return await super().handle_DATA(server, session, envelope)

    def mails(self, address):
        return [email.message_from_bytes(m[2], policy=email.policy.default) for m in list(self.got) if address in m[1]]


class World:
    def __init__(self, *more, modules=MODULES, base_url="https://wharf.example", **how):
        self.sink, self.offset = Post(), 0
        self.door = Door(self.sink, None)
        self.door.start()
        sets = {"mail.url": f"smtp://127.0.0.1:{self.door.port}", "mail.tls": "none", "mail.from": "wharf@example.com", "base_url": base_url, "mail.max_per_minute": "1000"}
        self.server = Server("--modules", modules, "--test-clock", *[x for k, v in sets.items() if v for x in ("--set", f"{k}={v}")], *more, **how)
        self.system = Client(self.server, self.server.demo_key)

    def close(self):
        self.server.stop()
        self.door.stop()

    def ahead(self, seconds):
        self.offset += seconds
        self.system.post("/v1/system/clock", {"offset_seconds": self.offset}, expect=200)

    def shop(self, settings=None, on=True):
        return Shop(self, settings, on)


class Shop:
    """An organization that tells its customers."""

    def __init__(self, world, settings=None, on=True):
        self.world, self.sink = world, world.sink
        self.org = world.server.organization()
        self.client = self.org.client()
        self.location = make_location(self.client, f"Mail room {self.org.id[-6:]}")["id"]
        self.numbers = 0
        if on:
            self.settings(settings or {})

    def settings(self, customers):
        self.client.post(f"/v1/organizations/{self.org.id}", {"settings": {"notifications": {"customers": {"enabled": True, **customers}}}}, expect=200)

    def address(self, name="ada"):
        self.numbers += 1
        return f"{name}{self.numbers}-{self.org.id[-8:]}@example.com".lower().replace("_", "x")

    def contact(self, name="Ada Lovelace", email="", **more):
        body = {"name": name, **({"email": email or self.address()} if email is not None else {}), **more}
        return self.client.post("/v1/contacts", body, expect=201).data

    def shipment(self, contact=None, client=None, **more):
        self.numbers += 1
        body = {"tracking_number": f"T{self.org.id[-8:].upper().replace('_', 'X')}{self.numbers}", "location_id": self.location, **({"recipient": contact["id"]} if contact else {}), **more}
        return (client or self.client).post("/v1/shipments", body, expect=201).data

    def update(self, shipment, status=None, client=None, comment=None, force=False, occurred_at=None, **more):
        update = {k: v for k, v in (("status", status), ("comment", comment), ("occurred_at", occurred_at)) if v}
        return (client or self.client).post(f"/v1/shipments/{shipment['id']}", {"tracking_update": update, **({"force_update": True} if force else {}), **more}, expect=200).data

    def idle(self):
        """All events are processed, and all jobs that are due have run."""
        s = self.world.server
        until(lambda: not s.sql("SELECT 1 FROM wharf.outbox WHERE organization_id = %s AND event_id IS NOT NULL", self.org.id))
        until(lambda: not s.sql("SELECT 1 FROM wharf.job WHERE organization_id = %s AND state <> 'delayed'", self.org.id))

    def rows(self, client=None, **filters):
        query = "&".join(f"{k}={v}" for k, v in {"direction": "asc", "kind": "customer", **filters}.items())
        return (client or self.client).get(f"/v1/notifications?{query}").data

    def row(self, shipment, **filters):
        """The one notification about a shipment, when it is over."""
        def over():
            rows = self.rows(resource_id=shipment["id"], **filters)
            return rows if rows and all(r["status"] != "waiting" for r in rows) else None
        rows = until(over)
        assert len(rows) == 1, rows
        return rows[0]

    def mail(self, contact, n=1):
        return until(lambda: len(self.sink.mails(contact["email"])) >= n and self.sink.mails(contact["email"]))[n - 1]

    def link(self, message):
        url = re.search(r"https?://\S+/v1/notifications/opt-out\?token=[\w-]+", text(message)).group(0)
        return self.world.server.base + url[url.index("/v1/"):]


def text(message):
    return message.get_body(("plain",)).get_content().replace("\r\n", "\n")


def html(message):
    return message.get_body(("html",)).get_content().replace("\r\n", "\n")


def press(url):
    return requests.post(url, timeout=WAIT, verify=False)


def look(url):
    return requests.get(url, timeout=WAIT, verify=False)


@pytest.fixture(scope="module")
def world():
    w = World()
    yield w
    w.close()
