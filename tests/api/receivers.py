"""Receivers of webhooks as tests need them, and a server that may send to them."""
import base64
import collections
import hashlib
import hmac
import json
import time

from outside import Web
from wharf import WAIT, Client, Server, until

ADDRESS = "1 Main St, Springfield, IL 62701, US"
WEBHOOK_SERVER = ("--modules", "org,locations,events,webhooks", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true", "--test-clock")


class Got:
    """One request that a receiver heard."""

    def __init__(self, path, headers, body):
        self.path, self.headers, self.body = path, {k.lower(): v for k, v in headers.items()}, body
        self.at = time.monotonic()

    @property
    def event(self):
        return json.loads(self.body)

    def __getitem__(self, header):
        return self.headers.get(header)


class Receivers(Web):
    """One address for each path. `answers[path]` is a function of the handler, or a list of them, of which the last one stays."""

    def __init__(self, **more):
        self.answers, self.got = collections.defaultdict(lambda: ok), collections.defaultdict(list)
        super().__init__(self, **more)

    def get(self, path, missing):  # what Web asks for a page
        def page(handler):
            with self.lock:
                self.got[path].append(Got(path, handler.headers, handler.sent))
                answer = self.answers[path]
                if isinstance(answer, list):
                    answer = answer.pop(0) if len(answer) > 1 else answer[0]
            answer(handler)
        return page

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def wait(self, path, n, timeout=WAIT):
        end = time.monotonic() + timeout
        while len(self.got[path]) < n:
            assert time.monotonic() < end, f"{path} heard {len(self.got[path])} requests, not {n}"
            time.sleep(0.005)
        return self.got[path]


def ok(handler):
    handler.answer(200, b"fine")


def status(code, **headers):
    return lambda handler: handler.answer(code, b"no", **headers)


def slow(seconds, code=200):
    def page(handler):
        time.sleep(seconds)
        handler.answer(code, b"at last")
    return page


def signature(secret, got):
    key = base64.b64decode(secret[len("whsec_"):])
    text = f"{got['webhook-id']}.{got['webhook-timestamp']}.".encode() + got.body
    return "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()


class World:
    def __init__(self, *more):
        self.web = Receivers()
        self.server = Server(*WEBHOOK_SERVER, *more)
        self.system = Client(self.server, self.server.demo_key)
        self.offset = 0
        self.paths = 0

    def close(self):
        self.server.stop()
        self.web.shutdown()

    def ahead(self, seconds):
        """The server's clock goes ahead."""
        self.offset += seconds
        self.system.post("/v1/system/clock", {"offset_seconds": self.offset}, expect=200)

    def path(self):
        self.paths += 1
        return f"/r{self.paths}"


class Hook:
    """A webhook with a receiver of its own."""

    def __init__(self, world, client, events=("location.*",), answer=ok, path=None, **fields):
        self.world, self.client, self.path = world, client, path or world.path()
        world.web.answers[self.path] = answer
        made = client.post("/v1/webhooks", {"url": world.web.url(self.path), "events": list(events), **fields}, expect=201).data
        self.id, self.secret, self.made = made["id"], made["secret"], made

    @property
    def got(self):
        return self.world.web.got[self.path]

    def wait(self, n, timeout=WAIT):
        return self.world.web.wait(self.path, n, timeout)

    def answers(self, *how):
        self.world.web.answers[self.path] = list(how) if len(how) > 1 else how[0]

    @property
    def now(self):
        return self.client.get("/v1/webhooks/" + self.id).data

    def update(self, body, expect=200):
        return self.client.post("/v1/webhooks/" + self.id, body, expect=expect)

    def deliveries(self, query=""):
        return self.client.get(f"/v1/webhooks/{self.id}/deliveries?order_by=created_at&direction=asc&limit=1000{query}").data

    def until(self, condition):
        """Waits for a condition on the list of deliveries."""
        return until(lambda: (lambda d: d if condition(d) else None)(self.deliveries()))


def make(client, name="Place"):
    return client.post("/v1/locations", {"name": name, "address": ADDRESS}, expect=201).data["id"]


def rename(client, id, name):
    client.post("/v1/locations/" + id, {"name": name}, expect=200)


def attempts(client, event_id):
    return client.get(f"/v1/events/{event_id}/outgoing-webhooks?limit=100").data
