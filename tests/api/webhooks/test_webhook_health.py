"""Health of webhooks (spec 07 section 10): each condition just below and just at its limit, by the test clock; invalid URLs (section 9)."""
import os
import pathlib
import shutil
import tempfile
import time

import pytest

from receivers import Hook, World, make, ok, status, until
from wharf import Server


@pytest.fixture(scope="module")
def world():
    w = World()
    yield w
    w.close()


@pytest.fixture
def org(world):
    return world.server.organization()


@pytest.fixture
def client(org):
    return org.client()


def figures(world, hook, ago, success=0, failure=0):
    """Outcomes that long ago, as if they had happened."""
    world.server.sql("INSERT INTO webhooks.bucket (organization_id, webhook_id, minute, success, failure) SELECT organization_id, id,"
                     " date_trunc('minute', wharf.now() - %s * interval '1 second'), %s, %s FROM webhooks.webhook WHERE id = %s"
                     " ON CONFLICT (organization_id, webhook_id, minute) DO UPDATE SET success = webhooks.bucket.success + EXCLUDED.success,"
                     " failure = webhooks.bucket.failure + EXCLUDED.failure", ago, success, failure, hook.id)


def one(world, hook, good=False):
    """One more attempt, and its outcome is settled."""
    hook.answers(ok if good else status(500, webhook_delivery="abort-message"))
    n = len(hook.deliveries())
    make(hook.client)
    hook.until(lambda d: len(d) == n + 1 and d[n]["status"] in ("succeeded", "failed"))
    time.sleep(0.3)  # the engine looks at the figures after it has settled


def types(org, hook):
    return [e[0] for e in org.events(hook.id)][1:]


MINUTE, HOUR, DAY = 60, 3600, 86400


# ---- suspended ----

@pytest.mark.parametrize("failures, success, ago, suspended", [
    (49, 0, 10 * MINUTE, True), (48, 0, 10 * MINUTE, False), (49, 1, 10 * MINUTE, False), (99, 0, 59 * MINUTE, True), (99, 0, 61 * MINUTE, False)])
def test_suspended(world, org, client, failures, success, ago, suspended):
    h = Hook(world, client)
    figures(world, h, ago, success, failures)
    one(world, h)
    d = until(lambda: (lambda n: n if n["status"] == "suspended" or not suspended else None)(h.now))
    assert d["status"] == ("suspended" if suspended else "enabled")
    assert types(org, h) == (["webhook.suspended"] if suspended else [])
    if suspended:
        assert d["status_reason"] == "failures" and d["enable_at"]
        data = org.events(h.id)[1][1]
        assert data["status"] == "suspended" and data["url"] == d["url"] and "secret" not in data and data["stats"]["last_24h"]["failure"] == failures + 1


def test_a_suspension_ends(world, org, client):
    h = Hook(world, client)
    figures(world, h, 10 * MINUTE, 0, 60)
    one(world, h)
    until(lambda: h.now["status"] == "suspended")
    make(client)
    assert h.until(lambda d: len(d) == 2)[1]["status"] == "held" and len(h.got) == 1  # still made, not sent
    world.ahead(59 * MINUTE)
    time.sleep(1.5)
    assert h.now["status"] == "suspended"
    h.answers(status(500, webhook_delivery="abort-message"))
    world.ahead(90)
    until(lambda: h.now["status"] == "enabled")
    h.wait(2)
    assert h.now["enable_at"] is None and types(org, h)[-1] == "webhook.updated"
    previous = org.events(h.id)[-1][2]
    assert previous["status"] == "suspended"
    time.sleep(0.5)
    assert h.now["status"] == "enabled"  # the hour does not reach before the end of the suspension
    figures(world, h, 0, 0, 48)
    one(world, h)
    until(lambda: h.now["status"] == "suspended")


# ---- degraded ----

@pytest.mark.parametrize("success, failure, degraded", [
    (100, 100, True), (100, 99, False), (234, 100, True), (236, 100, False), (233, 100, True)])
def test_degraded(world, org, client, success, failure, degraded):
    h = Hook(world, client)
    figures(world, h, 3 * HOUR, success, failure)
    one(world, h)  # one failure more
    d = until(lambda: (lambda n: n if n["degraded_at"] or not degraded else None)(h.now))
    assert bool(d["degraded_at"]) == degraded and d["status"] == "enabled"
    assert types(org, h) == (["webhook.degraded"] if degraded else [])


def test_degraded_is_told_once(world, org, client):
    """A failure and the look at all figures, once a second, may ask for it at the same moment."""
    hooks = [Hook(world, client) for _ in range(12)]
    for h in hooks:
        figures(world, h, 3 * HOUR, 100, 100)
        h.answers(status(500, webhook_delivery="abort-message"))
    for _ in range(3):
        make(client)
        time.sleep(0.37)
    for h in hooks:
        until(lambda: h.now["degraded_at"])
    time.sleep(1.2)
    assert [types(org, h) for h in hooks] == [["webhook.degraded"]] * 12


def test_exactly_thirty_percent_is_not_above(world, org, client):
    h = Hook(world, client)
    figures(world, h, 3 * HOUR, 350, 149)
    one(world, h)  # 150 of 500
    assert h.now["stats"]["last_24h"]["rate"] == 0.3 and h.now["degraded_at"] is None
    one(world, h)
    until(lambda: h.now["degraded_at"])


def test_degraded_is_raised_again_after_a_day_and_cleared(world, org, client):
    h = Hook(world, client)
    figures(world, h, 3 * HOUR, 100, 200)
    one(world, h)
    since = until(lambda: h.now["degraded_at"])
    one(world, h)
    assert types(org, h) == ["webhook.degraded"]
    figures(world, h, -21 * HOUR, 100, 200)  # it goes on like that
    world.ahead(23 * HOUR)
    one(world, h)
    assert types(org, h) == ["webhook.degraded"]
    world.ahead(HOUR + 60)
    until(lambda: types(org, h) == ["webhook.degraded"] * 2)
    assert h.now["degraded_at"] == since
    figures(world, h, HOUR, 10000, 0)
    world.ahead(2 * MINUTE)
    until(lambda: h.now["degraded_at"] is None)
    assert types(org, h) == ["webhook.degraded"] * 2


# ---- disabled ----

@pytest.mark.parametrize("today, yesterday, disabled", [
    ((0, 500), (0, 501), True), ((0, 499), (0, 501), False), ((0, 500), (0, 500), False), ((1169, 500), (0, 501), False),
    ((1168, 500), (0, 501), True), ((0, 500), (1169, 501), False), ((0, 500), (1168, 501), True)])
def test_disabled(world, org, client, today, yesterday, disabled):
    h = Hook(world, client)
    figures(world, h, 3 * HOUR, *today)
    figures(world, h, 30 * HOUR, *yesterday)
    figures(world, h, 20 * MINUTE, 1, 0)  # else the hour suspends
    h.world.server.sql("UPDATE webhooks.bucket SET success = success - 1 WHERE webhook_id = %s AND success > 0 AND minute < wharf.now() - interval '1 hour'"
                       " AND minute > wharf.now() - interval '24 hours'", h.id)
    one(world, h)
    d = until(lambda: (lambda n: n if n["status"] == "disabled" or not disabled else None)(h.now))
    assert d["status"] == ("disabled" if disabled else "enabled"), d["stats"]
    assert ("webhook.disabled" in types(org, h)) == disabled
    if disabled:
        assert d["status_reason"] == "failure_rate" and d["disabled_at"]


def test_windows_begin_anew_when_it_is_enabled(world, org, client):
    h = Hook(world, client)
    figures(world, h, 3 * HOUR, 0, 600)
    figures(world, h, 30 * HOUR, 0, 600)
    until(lambda: h.now["status"] == "disabled")  # by time: with each second the figures are looked at
    h.answers(ok)
    d = h.update({"status": "enabled"}).data
    assert d["status"] == "enabled" and d["stats"]["last_48h"] == {"success": 0, "failure": 0, "rate": 0, "rate_limited": 0}
    one(world, h)
    assert h.now["status"] == "enabled" and h.now["stats"]["last_48h"]["failure"] == 1


def test_windows_roll(world, org, client):
    h = Hook(world, client)
    figures(world, h, 24 * HOUR - 90, 1, 2)
    figures(world, h, 24 * HOUR + 90, 3, 4)
    figures(world, h, 48 * HOUR + 90, 5, 6)
    s = h.now["stats"]
    assert s["last_24h"] == {"success": 1, "failure": 2, "rate": 0.6667, "rate_limited": 0}
    assert s["previous_24h"] == {"success": 3, "failure": 4, "rate": 0.5714, "rate_limited": 0}
    assert s["last_48h"] == {"success": 4, "failure": 6, "rate": 0.6, "rate_limited": 0}


def test_administrators_are_mailed(world, org):
    client = org.client(test=True)
    org.user("owner@example.com", role="owner")
    org.user("clerk@example.com")
    h = Hook(world, client)
    figures(world, h, 10 * MINUTE, 0, 60)
    one(world, h)
    until(lambda: h.now["status"] == "suspended")
    mail = until(lambda: client.get("/v1/test/outbox").data)
    assert [m["recipients"] for m in mail] == [["owner@example.com"]] and "suspended" in mail[0]["subject"] and h.id in mail[0]["text"]
    org.client().post("/v1/org", {"settings": {"notifications": {"administrators": ["a@example.com", "b@example.com"]}}}, expect=200)
    h = Hook(world, client)
    figures(world, h, 10 * MINUTE, 0, 60)
    one(world, h)
    until(lambda: h.now["status"] == "suspended")
    mail = until(lambda: (lambda m: m if len(m) == 3 else None)(client.get("/v1/test/outbox").data))
    assert sorted(m["recipients"] for m in mail) == [["a@example.com"], ["b@example.com"], ["owner@example.com"]]


# ---- invalid URLs ----

def test_a_url_that_breaks_the_rules_ends_the_webhook_at_start(world, org, client):
    h = Hook(world, client)
    world.server.sql("UPDATE webhooks.webhook SET url = 'https://intranet/' WHERE id = %s", h.id)
    job = [w for w in world.server.command("ps").splitlines() if "job" in w][0]
    world.server.command("reload")
    until(lambda: client.request("GET", "/v1/webhooks/" + h.id).status == 404)
    e = org.events(h.id)[-1]
    assert e[0] == "webhook.deleted" and e[1]["deletion_reason"] == "invalid_url" and job


def test_a_day_of_refusals_ends_the_webhook(world, org, client):
    h = Hook(world, client)
    world.server.sql("UPDATE webhooks.webhook SET url = 'http://nowhere.example.invalid:8080/', version = version + 1 WHERE id = %s", h.id)
    for _ in range(2):
        make(client)
    h.until(lambda d: len(d) == 2 and all(x["status"] == "retrying" for x in d))
    world.server.sql("UPDATE webhooks.runtime SET refused = 9 WHERE webhook_id = %s AND refused_since IS NOT NULL", h.id)
    world.ahead(DAY + 60)
    time.sleep(1.5)
    until(lambda: client.request("GET", "/v1/webhooks/" + h.id).status == 404)
    assert org.events(h.id)[-1][1]["deletion_reason"] == "invalid_url"


def test_a_setting_that_is_off_ends_no_webhook():
    """A start without net.allow_http is a mistake of a line, and no reason to lose every http webhook of every organization."""
    def server(http):
        return Server("--modules", "org,locations,events,webhooks", "--set", f"net.allow_http={http}", folder=folder)

    def row():
        return s.sql("SELECT status, status_reason, enable_at FROM webhooks.webhook WHERE id = %s AND deleted_at IS NULL", id)

    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-api-", dir=os.environ.get("WHARF_TEST_PLACE")))
    s = server("true")
    org = s.organization()
    id = org.client().post("/v1/webhooks", {"url": "http://hooks.example.com:8080/w", "events": ["location.*"]}, expect=201).data["id"]
    s.stop()
    s = server("false")
    until(lambda: row() == [("suspended", "settings", None)])
    until(lambda: s.sql("SELECT 1 FROM wharf.event WHERE organization_id = %s AND type = 'webhook.suspended' AND resource_id = %s", org.id, id))
    s.stop()
    s = server("true")
    until(lambda: row() == [("enabled", None, None)])
    s.stop()
    shutil.rmtree(folder)
