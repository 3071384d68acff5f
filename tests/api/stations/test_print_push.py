"""Signals by push services: spec 04 section 9.2, against services of the test's own that check what they are sent."""
import base64
import json
import time
import urllib.parse

import pytest

from fcm import TOKEN_LIFE, Google, fcm_error, reply
from receivers import Receivers, signature, status
from test_print_jobs import JOBS, Shop
from test_print_sessions import until
from wharf import STATIONS, Client, Server, station_body

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
API_KEY = "pushy+key/of the test"


class World:
    """FCM with its token service, Pushy and a receiver of webhooks, and a server that pushes by all three."""
    SEND = "/v1/projects/labels-1/messages:send"

    def __init__(self, folder):
        self.web, self.offset = Receivers(), 0
        self.google = Google(self.web, folder)
        self.key, self.public, self.account, self.good = self.google.key, self.google.public, self.google.account, self.google.good
        self.web.answers["/push"] = reply(200, {"success": True, "id": "1"})
        self.server = Server("--modules", "org,locations,stations", "--test-clock", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true",
                             "--set", "stations.offline_after=45", *self.settings())
        self.system = Client(self.server, self.server.demo_key)

    def settings(self, **more):
        s = {"drivers": "fcm,pushy,webhook", "fcm.service_account": str(self.account), "fcm.endpoint": self.web.url(""),
             "pushy.api_key": API_KEY, "pushy.endpoint": self.web.url(""), "webhook.url": self.web.url("/hook"), "webhook.secret": SECRET, **more}
        return [a for name, value in s.items() if value is not None for a in ("--set", f"stations.push.{name}={value}")]

    def ahead(self, seconds):
        self.offset += seconds
        self.google.ahead(self.offset)
        self.system.post("/v1/system/clock", {"offset_seconds": self.offset}, expect=200)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    w = World(tmp_path_factory.mktemp("push"))
    yield w
    w.server.stop()
    w.web.shutdown()


@pytest.fixture(autouse=True)
def answers(world):
    """What a test lets the services say is not said to the next one, also when it fails."""
    before = dict(world.web.answers)
    yield
    world.web.answers.clear()
    world.web.answers.update(before)


@pytest.fixture(scope="module")
def org(world):
    return world.server.organization()


class Pushed(Shop):
    """A station that is pushed to; what the service got for it."""

    def __init__(self, world, org, name, driver="fcm", **more):
        super().__init__(org, name, **{"device_token": f"token of {name}", "push": {"driver": driver}, **more})
        self.world, self.token = world, f"token of {name}"

    def got(self):
        with self.world.web.lock:
            return [g for path in (World.SEND, "/push", "/hook") for g in self.world.web.got[path] if self.token in g.body.decode()]

    def wait(self, n):
        until(lambda: len(self.got()) >= n)
        return self.got()

    def push(self):
        return self.client.get(self.path).data["push"]

    def deliveries(self, job):
        return self.get(job, "?include_history=true")["push_deliveries"]

    def ended(self, job):
        until(lambda: all(d["status"] != "waiting" for d in self.deliveries(job)))
        return self.deliveries(job)

    def tried(self, job, n, status=None):
        """The n-th attempt is over; status: what it was answered, since that of the one before stands there while it runs."""
        until(lambda: [d for d in self.deliveries(job) if d["attempts"] >= n and d["error"] and status in (None, d["http_status"])])


def test_fcm(world, org):
    s = Pushed(world, org, "Fcm")
    assert s.push() == {"driver": "fcm", "status": "unknown", "last_delivery_at": None}
    job = s.make(expire_after=600)
    one, = s.wait(1)
    data = one.event["message"].pop("data")
    assert one["authorization"] == f"Bearer secret-bearer-{world.google.tokens}" and one["content-type"] == "application/json"
    ttl = one.event["message"]["android"].get("ttl")
    assert one.event["message"] | {"data": 0} == {"token": s.token, "data": 0, "android": {"priority": "HIGH", "ttl": ttl}} and 590 <= int(ttl[:-1]) <= 600
    data = one.event["message"]["data"]
    assert {k: data[k] for k in data if k != "at"} == {"type": "print_job.available", "seq": "1", "station_id": s.station["id"], "job_id": job["id"]} and data["at"].endswith("Z")
    done, = s.ended(job)
    assert done["id"].startswith("prnt_psh_") and done["ended_at"] and {k: done[k] for k in done if k not in ("id", "at", "ended_at")} == {
        "type": "print_job.available", "driver": "fcm", "status": "delivered", "attempts": 1, "http_status": 200, "error": None}
    assert s.push()["status"] == "ok" and s.push()["last_delivery_at"] == done["ended_at"]
    assert "push_deliveries" not in s.get(job)
    s.make()
    s.wait(2)
    assert world.google.tokens == 1  # kept
    world.ahead(TOKEN_LIFE - 299)
    s.make()
    s.wait(3)
    assert world.google.tokens == 2  # five minutes before its end


def test_cancel_and_station_are_told(world, org):
    s = Pushed(world, org, "Signals", "webhook")
    job = s.make()
    s.wait(1)
    s.update(job, status="processing")
    s.update(job, status="canceled")
    s.client.post(s.path, {"name": "Other"}, expect=200)
    # each push goes its own way: which of two at the same moment arrives first is not said
    assert sorted(g.event["type"] for g in s.wait(3)) == ["print_job.available", "print_job.cancel", "station.updated"]


@pytest.mark.parametrize("driver, path, answer, word", [
    ("fcm", World.SEND, fcm_error(404, "NOT_FOUND", "UNREGISTERED"), "UNREGISTERED"),
    ("fcm", World.SEND, fcm_error(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"), "SENDER_ID_MISMATCH"),
    ("fcm", World.SEND, fcm_error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field="message.token", description="x"), "INVALID_ARGUMENT"),
    ("fcm", World.SEND, fcm_error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "The registration token is not a valid FCM registration token"), "INVALID_ARGUMENT"),
    ("pushy", "/push", reply(400, {"code": "NO_RECIPIENTS", "error": "x"}), "NO_RECIPIENTS"),
    ("pushy", "/push", reply(400, {"code": "INVALID_TOKEN", "error": "x"}), "INVALID_TOKEN"),
    ("webhook", "/hook", status(410), "HTTP 410"),
])
def test_dead_tokens(world, org, driver, path, answer, word):
    s = Pushed(world, org, f"Dead {time.monotonic_ns()}", driver)
    before, world.web.answers[path] = world.web.answers[path], answer
    try:
        job = s.make()
        until(lambda: s.push()["status"] == "invalid")
    finally:
        world.web.answers[path] = before
    dead, = s.ended(job)
    assert (dead["status"], dead["error"], dead["attempts"]) == ("failed", word, 1)
    assert [e[0] for e in org.events(s.station["id"], "print_station.push_invalid")] == ["print_station.push_invalid"]
    assert s.deliveries(s.make()) == []  # no more
    s.client.post(s.path, {"push": {"driver": driver}, "name": f"Still {time.monotonic_ns()}"}, expect=200)
    assert s.push()["status"] == "invalid" and s.deliveries(s.make()) == []
    s.token = f"new {s.token}"
    changed = s.client.post(s.path, {"device_token": s.token}, expect=200).data
    assert changed["push"] == {"driver": driver, "status": "unknown", "last_delivery_at": None}
    job = s.make()
    assert s.ended(job)[0]["status"] == "delivered" and s.push()["status"] == "ok"


@pytest.mark.parametrize("driver, path, answer", [
    ("fcm", World.SEND, fcm_error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "Invalid data payload", field="message.data", description="x")),
    ("fcm", World.SEND, fcm_error(403, "PERMISSION_DENIED", "THIRD_PARTY_AUTH_ERROR")), ("pushy", "/push", reply(401, {"code": "INVALID_API_KEY"})),
    ("pushy", "/push", reply(200, {"success": False})), ("webhook", "/hook", status(404)), ("webhook", "/hook", status(302, Location="http://127.0.0.1:1/")),
])
def test_refused_for_good(world, org, driver, path, answer):
    s = Pushed(world, org, f"Refused {time.monotonic_ns()}", driver)
    before, world.web.answers[path] = world.web.answers[path], answer
    try:
        job = s.make()
        done, = s.ended(job)
    finally:
        world.web.answers[path] = before
    assert done["status"] == "failed" and done["attempts"] == 1 and s.push()["status"] == "unknown" and s.get(job)["status"] == "queued"


def test_a_refused_access_token_is_changed_once(world, org):
    s, before = Pushed(world, org, "Renewed"), world.google.tokens
    world.web.answers[World.SEND] = [status(401), world.good]
    job = s.make()
    assert [(d["status"], d["attempts"]) for d in s.ended(job)] == [("delivered", 1)]
    first, second = s.got()
    assert first["authorization"] != second["authorization"] == f"Bearer secret-bearer-{world.google.tokens}" and world.google.tokens <= before + 2
    world.web.answers[World.SEND] = status(401)
    job = s.make()
    assert [(d["status"], d["http_status"]) for d in s.ended(job)] == [("failed", 401)] and len(s.got()) == 4
    world.web.answers[World.SEND] = world.good


@pytest.mark.parametrize("driver, path", [("fcm", World.SEND), ("pushy", "/push"), ("webhook", "/hook")])
def test_retries(world, org, driver, path):
    s = Pushed(world, org, f"Retries {driver}", driver)
    before = world.web.answers[path]
    world.web.answers[path] = [status(500), status(503), status(429), before]
    job = s.make()
    for n, wait, answer in ((1, 1, 500), (2, 2, 503), (3, 4, 429)):
        s.tried(job, n, answer)
        assert len(s.got()) == n
        world.ahead(wait)
    assert [(d["status"], d["attempts"], d["error"]) for d in s.ended(job)] == [("delivered", 4, None)]
    world.web.answers[path] = [status(503, Retry_After=40), before]
    job = s.make()
    s.tried(job, 1)
    world.ahead(30)
    time.sleep(0.3)  # nothing comes
    assert len(s.got()) == 5
    world.ahead(10)
    assert s.ended(job)[0]["status"] == "delivered"


def test_retries_end(world, org):
    s, answers = Pushed(world, org, "Ten minutes", "webhook"), (503, 500)
    world.web.answers["/hook"] = [status(answers[n % 2]) for n in range(40)]
    job = s.make()
    n = 0
    while n < 40:
        n += 1
        # two attempts in a row are answered differently: what the one before was told stands there while the next one runs
        until(lambda: [d for d in s.deliveries(job) if (d["attempts"] >= n and d["http_status"] == answers[(n - 1) % 2]) or d["status"] != "waiting"])
        if s.deliveries(job)[0]["status"] != "waiting":
            break
        world.ahead(60)
    last, = s.deliveries(job)
    answered = answers[(last["attempts"] - 1) % 2]
    assert (last["status"], last["http_status"], last["error"]) == ("failed", answered, f"HTTP {answered}") and 9 <= last["attempts"] <= 12
    assert s.push()["status"] == "unknown"
    world.web.answers["/hook"] = status(503)
    later = s.make()  # a date may be told as well
    s.tried(later, 1)
    world.web.answers["/hook"] = status(503, Retry_After="Fri, 31 Dec 2100 23:59:59 GMT")
    world.ahead(2)
    assert [(d["status"], d["attempts"]) for d in s.ended(later)] == [("failed", 2)]
    world.web.answers["/hook"] = status(200)


def test_no_access_token(world, org):
    s = Pushed(world, org, "No token")
    world.web.answers["/token"] = reply(400, {"error": "invalid_grant", "error_description": "secret-words"})
    world.ahead(TOKEN_LIFE)
    job = s.make()
    s.tried(job, 1)
    assert s.deliveries(job)[0]["error"] == "token: invalid_grant" and s.got() == []
    world.web.answers["/token"] = world.google.give_token
    world.ahead(1)
    assert s.ended(job)[0]["status"] == "delivered"


def test_who_is_connected_is_pushed_to_when_nobody_claims(world, org):
    s = Pushed(world, org, "Connected", "webhook")
    s.open()
    taken, left = s.make(), s.make()
    s.client.post(s.path, {"name": "Connected too"}, expect=200)
    assert s.deliveries(taken)[0]["attempts"] == 0
    assert [j["id"] for j in s.claim()] == [taken["id"]]
    world.ahead(4)
    assert s.got() == []
    world.ahead(1)
    assert [g.event["job_id"] for g in s.wait(1)] == [left["id"]]
    assert [(d["status"], d["error"]) for d in s.ended(taken)] == [("skipped", "the print job waits no longer")]
    s.report({**taken, "attempt": 1}, status="processing", stage="downloading")
    s.update(taken, status="canceled")
    world.ahead(5)
    assert s.wait(2)[1].event["type"] == "print_job.cancel"


def test_pushy(world, org):
    s = Pushed(world, org, "Pushy", "pushy")
    job = s.make()
    s.wait(1)
    with world.web.lock:
        _, url, _, _ = next(x for x in world.web.seen if x[1].startswith("/push") and s.token.encode() in x[3])
    assert urllib.parse.parse_qs(urllib.parse.urlparse(url).query) == {"api_key": [API_KEY]}
    body = s.got()[0].event
    assert body["to"] == s.token and body["data"]["job_id"] == job["id"] and body["data"]["seq"] == 1 and 86000 <= body["time_to_live"] <= 86400


def test_webhook(world, org):
    s = Pushed(world, org, "Hook", "webhook")
    job = s.make()
    got, = s.wait(1)
    assert got["webhook-signature"] == signature(SECRET, got) and got["webhook-id"] == s.ended(job)[0]["id"]
    assert got.event["device_token"] == s.token and set(got.event) == {"type", "seq", "station_id", "job_id", "at", "device_token"}


def test_drivers_of_stations(world, org):
    client = org.client()
    first = Pushed(world, org, "First", push={})
    assert first.push()["driver"] == "fcm"
    quiet = Pushed(world, org, "Quiet", "stream")
    assert quiet.deliveries(quiet.make()) == []
    quiet.client.post(quiet.path, {"push": {"driver": "pushy"}}, expect=200)
    quiet.make()
    assert quiet.wait(1)[0].event["to"] == quiet.token
    client.refused("POST", STATIONS, 400, "validation.failed", ["push.driver"], body=station_body(first.location["id"], "Bird", push={"driver": "pigeon"}))


def test_settings_that_are_numbers(world, org):
    s = Pushed(world, org, "Numbers", "stream")
    assert s.client.post(s.path + "/sessions", {}, expect=201).data["offline_after"] == 45


def test_secrets_are_nowhere(world, org):
    rows = world.server.sql("SELECT json_agg(d)::text FROM stations.print_push_delivery d")[0][0]
    said = "".join(p.read_text() for p in [world.server.folder / "out", *world.server.folder.glob("*.log")])
    key = json.loads(world.account.read_text())["private_key"].splitlines()[1]
    for secret in ("secret-bearer", SECRET, API_KEY, urllib.parse.quote(API_KEY, safe=""), key, "secret-words"):
        assert secret not in rows and secret not in said, secret
    assert "no access token for fcm, token: invalid_grant" in said, [l for l in said.splitlines() if "push" in l or "warn" in l]


@pytest.mark.parametrize("more, said", [
    ({"drivers": "fcm,telegram"}, "stations.push.drivers.1 must be one of"), ({"fcm.service_account": None}, "stations.push.fcm.service_account is needed by fcm"),
    ({"fcm.service_account": "/does/not/exist"}, "names a file that can't be read"), ({"pushy.api_key": None}, "stations.push.pushy.api_key is needed"),
    ({"webhook.secret": "whsec_short"}, "stations.push.webhook.secret must be"), ({"webhook.url": None}, "stations.push.webhook.url is needed"),
    ({"fcm.service_account": "KEY"}, "no service account's key"),
])
def test_what_is_missing_stops_the_start(world, more, said):
    more = {k: str(world.key) if v == "KEY" else v for k, v in more.items()}
    with pytest.raises(RuntimeError, match=said):
        Server("--modules", "org,locations,stations", *world.settings(**more)).stop()


def test_signals_of_a_test_organization_are_delivered(world, org):
    """spec 01 section 5 'Test mode': to whoever builds a station application; nothing of it is seen by live keys."""
    class Test:
        @staticmethod
        def client():
            return org.client(test=True)
    s = Pushed(world, Test, "In test mode")
    job = s.make()
    assert len(s.wait(1)) == 1
    org.client().refused("GET", f"{JOBS}/{job['id']}", 404, "not_found")
