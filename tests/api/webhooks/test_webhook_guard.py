"""Receivers that are not public hear nothing, however their address is written or changes (spec 07 section 9)."""
import pytest

from outside import NameServer, Silent
from receivers import Hook, Receivers, attempts, make, status, until
from wharf import Server


class Guarded:
    """One receiver that the operator has opened, at 127.0.0.2; the same port at 127.0.0.1 and ::1 must hear nothing."""

    def __init__(self):
        self.web = Receivers(host="127.0.0.2")
        self.silent = Silent("127.0.0.1", self.web.port)
        self.silent6 = Silent("::1", self.web.port)
        self.names = NameServer({"inside.example.com": ["127.0.0.1"], "inside6.example.com": ["::1"], "mapped.example.com": ["::ffff:127.0.0.1"],
                                 "both.example.com": ["127.0.0.2", "127.0.0.1"], "private.example.com": ["10.1.2.3"],
                                 "linklocal.example.com": ["169.254.169.254"], "open.example.com": ["127.0.0.2"],
                                 "rebind.example.com": lambda n: ["127.0.0.2"] if n == 1 else ["127.0.0.1"]})
        self.server = Server("--modules", "org,locations,events,webhooks", "--set", f"net.allow=127.0.0.2:{self.web.port}", "--set",
                             "net.allow_http=true", "--set", f"net.dns={self.names.address}", "--test-clock")
        self.paths = 0

    def path(self):
        self.paths += 1
        return f"/r{self.paths}"

    def close(self):
        self.server.stop()
        self.web.shutdown()
        self.silent.close()
        self.silent6.close()
        self.names.close()


@pytest.fixture(scope="module")
def world():
    w = Guarded()
    yield w
    assert w.silent.heard == 0 and w.silent6.heard == 0
    w.close()


@pytest.fixture
def client(world):
    return world.server.organization().client()


def hook(world, client, host):
    h = Hook.__new__(Hook)
    h.world, h.client, h.path = world, client, world.path()
    made = client.post("/v1/webhooks", {"url": f"http://{host}:{world.web.port}{h.path}", "events": ["location.*"]}, expect=201).data
    h.id = made["id"]
    return h


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254",
                                  "0", "127.0.0.1.", "localhost", "LOCALHOST."])
def test_addresses_are_refused_when_they_are_written(world, client, host):
    a = client.request("POST", "/v1/webhooks", body={"url": f"http://{host}:{world.web.port}/", "events": ["*"]})
    assert a.status == 400 and a.code in ("webhook.url", "webhook.hostname"), a
    assert world.silent.heard == 0 and world.silent6.heard == 0


@pytest.mark.parametrize("name", ["inside", "inside6", "mapped", "both", "private", "linklocal"])
def test_names_are_judged_by_all_their_addresses(world, client, name):
    h = hook(world, client, name + ".example.com")
    make(client)
    h.until(lambda d: d and d[0]["status"] == "retrying")
    a, = attempts(client, h.deliveries()[0]["event_id"])
    assert a["error"]["code"] == "blocked_address" and a["response"] is None
    assert world.silent.heard == 0 and world.silent6.heard == 0 and not h.got


def test_the_test_event_is_guarded_as_well(world, client):
    h = hook(world, client, "inside.example.com")
    assert client.post(f"/v1/webhooks/{h.id}/test", {}, expect=200).data["error"]["code"] == "blocked_address"
    assert world.silent.heard == 0


def test_what_the_operator_opened_is_reached(world, client):
    h = hook(world, client, "127.0.0.2")
    named = hook(world, client, "open.example.com")
    make(client)
    assert h.wait(1) and named.wait(1)


def test_a_name_that_changes_its_mind(world, client):
    h = hook(world, client, "rebind.example.com")
    make(client)
    h.wait(1)
    make(client)
    h.until(lambda d: len(d) == 2 and d[1]["status"] == "retrying")
    assert attempts(client, h.deliveries()[1]["event_id"])[0]["error"]["code"] == "blocked_address"
    assert len(h.got) == 1 and world.silent.heard == 0


def test_redirects_lead_nowhere(world, client):
    h = hook(world, client, "127.0.0.2")
    for code in (301, 302, 307, 308):
        world.web.answers[h.path] = status(code, Location=f"http://127.0.0.1:{world.web.port}/", webhook_delivery="abort-message")
        n = len(h.got)
        make(client)
        h.wait(n + 1)
        h.until(lambda d: d[n]["status"] == "failed")
    assert world.silent.heard == 0
    until(lambda: h.now["stats"]["last_24h"]["failure"] == 4)


def test_an_ipv6_address_that_the_operator_opened():
    """A receiver that is named by its address and has no other."""
    web = Receivers(host="::1")
    server = Server("--modules", "org,locations,events,webhooks", "--set", f"net.allow=[::1]:{web.port}", "--set", "net.allow_http=true")
    try:
        client = server.organization().client()
        made = client.post("/v1/webhooks", {"url": f"http://[::1]:{web.port}/six", "events": ["location.*"]}, expect=201).data
        assert client.post(f"/v1/webhooks/{made['id']}/test", {}, expect=200).data["status"] == "success"
        assert [g.headers["host"] for g in web.wait("/six", 1)] == [f"[::1]:{web.port}"]
    finally:
        server.stop()
        web.shutdown()
