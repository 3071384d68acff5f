"""Batches and time, and how many there may be (spec 10 sections 4, 10 and 13): the limit of waiting ones, six hours, retention, slow hosts; and test keys."""
import time

import pytest

from outside import Authority, NameServer, Web
from test_batches import BATCHES, run
from test_batches_background import wait
from wharf import Client, Server

HOST, DAY = "files.example.test", 86400


class World:
    def __init__(self, folder):
        authority = Authority(folder)
        self.names = NameServer({HOST: ["127.0.0.1"]})
        self.web = Web({"/drip": self.drip}, authority.server_context("web", HOST))
        self.server = Server("--modules", "org,locations,contacts,batches", "--set", "environment=test", "--set", f"net.dns={self.names.address}",
                             "--set", f"net.ca_file={authority.file}", "--set", f"net.allow=127.0.0.1:{self.web.port}", "--test-clock")
        self.base = f"https://{HOST}:{self.web.port}"

    @staticmethod
    def drip(handler):
        """A byte now and then, for as long as somebody listens."""
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        try:
            for _ in range(200):
                handler.wfile.write(b"a")
                handler.wfile.flush()
                time.sleep(0.2)
        except OSError:
            pass  # it was hung up on

    def clock(self, seconds):
        Client(self.server, self.server.demo_key).post("/v1/system/clock", {"offset_seconds": seconds}, expect=200)

    def swept(self, client, days):
        """As many days later, when the sweep that was due then has run: it ends uploads that did not come within a day."""
        sign = client.post(BATCHES, {"resource": "contact", "action": "merge", "mode": "async", "data": None}, expect=202).data
        self.clock(days * DAY)
        assert wait(client, sign["id"])["status"] == "expired"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    w = World(tmp_path_factory.mktemp("ca"))
    yield w
    w.server.stop()
    w.names.close()
    w.web.shutdown()


def test_a_hundred_wait(world):
    client = world.server.organization().client()
    body = {"resource": "contact", "action": "merge", "mode": "async", "data": None}
    waiting = [client.post(BATCHES, body, expect=202).data["id"] for _ in range(100)]
    client.refused("POST", BATCHES, 429, "rate_limited", ["endpoint"], body)
    client.refused("POST", BATCHES, 429, "rate_limited", ["endpoint"], {**body, "data": [{"name": "One more"}]})
    client.refused("POST", BATCHES, 429, "rate_limited", ["endpoint"], {**body, "mode": "mixed", "data": [{"name": f"M{i}"} for i in range(101)]})
    assert run(client, [{"name": "At once"}], mode="sync")["stats"]["created"] == 1  # those that need not wait are taken
    assert run(client, [{"name": "At once too"}], mode="mixed")["stats"]["created"] == 1
    client.post(f"{BATCHES}/{waiting[0]}/cancel", {}, expect=200)
    assert wait(client, run(client, [{"name": "Now"}], mode="async", expect=202)["id"])["stats"]["created"] == 1
    world.server.organization().client().post(BATCHES, body, expect=202)  # each organization has its own hundred


def test_six_hours(world):
    client = world.server.organization().client()
    b = run(client, [{"name": f"T{i}", "email": f"t{i}@b.example"} for i in range(10000)], mode="async", expect=202)
    end = time.monotonic() + 30
    while client.get(f"{BATCHES}/{b['id']}").data["stats"]["created"] == 0:
        assert time.monotonic() < end
        time.sleep(0.01)
    try:
        world.clock(6 * 3600 + 60)
        b = wait(client, b["id"])
        s = b["stats"]
        assert (b["status"], b["reason"]) == ("timed_out", "timeout")
        assert s["skipped"] and s["created"] and s["created"] + s["skipped"] == 10000
        assert b["phases"][-1]["status"] == "skipped"
        assert client.post(f"{BATCHES}/{b['id']}/retry", {}, expect=202).data["parent_batch_id"] == b["id"]
    finally:
        world.clock(0)


def test_what_is_kept(world):
    client = world.server.organization().client()
    b = run(client, [{"name": "Kept"}, {}])
    try:
        world.swept(client, 29)
        assert len(client.get(f"{BATCHES}/{b['id']}/items").data) == 2
        world.swept(client, 31)
        shown = client.get(f"{BATCHES}/{b['id']}").data
        assert shown["stats"] == b["stats"] and not any(v for k, v in shown.items() if k.endswith("_url"))
        assert client.get(f"{BATCHES}/{b['id']}/items").data == []
        client.refused("POST", f"{BATCHES}/{b['id']}/retry", 409, "batch.payload_expired", body={})
        world.swept(client, 399)
        client.get(f"{BATCHES}/{b['id']}", expect=200)
        world.swept(client, 401)
        client.refused("GET", f"{BATCHES}/{b['id']}", 404, "not_found", [b["id"]])
    finally:
        world.clock(0)


def test_a_host_that_drips(world):
    client = world.server.organization().client()
    begun = time.monotonic()
    client.refused("POST", BATCHES, 408, "file.timeout_error", ["data"], {"resource": "contact", "action": "merge", "mode": "sync", "data": world.base + "/drip"})
    assert time.monotonic() - begun < 20  # given up long before its end
    b = wait(client, run(client, world.base + "/drip", mode="async", expect=202)["id"], seconds=60)
    assert (b["status"], b["reason"], b["stats"]["created"]) == ("failed", "file.timeout_error", 0)


def test_batches_of_a_test_key(world):
    org = world.server.organization()
    live, test = org.client(), org.client(test=True)
    b = run(test, [{"name": "Only a test"}], mode="sync")
    later = wait(test, run(test, [{"name": "Later"}], mode="async", expect=202)["id"])
    assert b["stats"]["created"] == later["stats"]["created"] == 1
    assert {c["name"] for c in test.get("/v1/contacts").data} == {"Only a test", "Later"}
    assert live.get("/v1/contacts").data == [] and live.get(BATCHES).data == []
    live.refused("GET", f"{BATCHES}/{b['id']}", 404, "not_found", [b["id"]])
