"""Requests of other systems to incoming integrations (spec 07 section 12): four kinds of proof, repeated ids, the log, another try, error notices."""
import base64
import hashlib
import hmac
import json

import pytest
import requests

from receivers import WAIT, World, until

MODULES = ("--modules", "org,events,webhooks,integrations")  # what the module needs, and no more
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture(scope="module")
def world():
    w = World(*MODULES)
    yield w
    w.close()


@pytest.fixture
def org(world):
    return world.server.organization()


@pytest.fixture
def client(org):
    return org.client()


def incoming(client, secret="hush", key="secret", **auth):
    id = client.post("/v1/integrations", {"direction": "incoming", "name": "Shop", "auth": {"secret": key, **auth}}, expect=201).data["id"]
    if secret:
        client.post(f"/v1/integrations/{id}/secrets", {"key": key, "value": secret}, expect=201)
    return id


def send(client, id, body=b'{"order": 1}', expect=202, code=None, **headers):
    a = client.request("POST", "/v1/incoming/" + id, data=body, key=False, headers={k.replace("_", "-"): v for k, v in headers.items()}, expect=expect)
    assert a.code == code, a
    return a


def log(client, query=""):
    return client.get("/v1/incoming-webhooks?order_by=created_at&direction=asc&limit=1000" + query).data


def now(world):
    return int(world.server.sql("SELECT extract(epoch FROM wharf.now())")[0][0])


def signed(world, id="msg_1", body=b'{"order": 1}', secret=SECRET, ago=0):
    at = now(world) - ago
    mac = hmac.new(base64.b64decode(secret[6:]), f"{id}.{at}.".encode() + body, hashlib.sha256).digest()
    return {"webhook_id": id, "webhook_timestamp": str(at), "webhook_signature": "v1," + base64.b64encode(mac).decode()}


def refused(client, id, message, **more):
    a = send(client, id, expect=401, code="integration.unauthorized", **more)
    assert message in a.message, a
    return a


# ---- proofs ----

def test_bearer(client):
    id = incoming(client, type="bearer")
    answer = send(client, id, authorization="Bearer hush", content_type="text/plain")
    assert answer.data["id"].startswith("inc_whk_")
    row = client.get("/v1/incoming-webhooks/" + answer.data["id"]).data
    assert row["object"] == "incoming_webhook" and row["integration_id"] == id and row["status"] == "success" and row["error"] is None and row["attempts"] == 1
    assert row["request"] == {"method": "POST", "path": "/v1/incoming/" + id, "body": '{"order": 1}'} and row["response"] == {"status": 202}
    assert row["headers"]["authorization"] == "***" and row["headers"]["content-type"] == "text/plain" and "hush" not in json.dumps(row)
    assert row["event_id"] is None and row["resource_id"] is None and "proof" not in row and row["expires_at"]
    send(client, id, authorization="bearer hush")
    for wrong in ("Bearer hus", "Bearer hush2", "Basic hush", "hush", "Bearer "):
        refused(client, id, "bearer token", authorization=wrong)
    refused(client, id, "bearer token")


def test_the_key_of_the_secret_needs_no_name(client):
    id = client.post("/v1/integrations", {"direction": "incoming", "name": "Shop", "auth": {"type": "bearer"}}, expect=201).data["id"]
    refused(client, id, "no secret yet", authorization="Bearer hush")
    client.post(f"/v1/integrations/{id}/secrets", {"key": "secret", "value": "hush"}, expect=201)
    send(client, id, authorization="Bearer hush")
    id = client.post("/v1/integrations", {"direction": "incoming", "name": "Shop", "auth": {"type": "standard_webhooks"}}, expect=201).data["id"]
    client.refused("POST", f"/v1/integrations/{id}/secrets", 400, "integration.secret_invalid", ["value"], {"key": "secret", "value": "no whsec"})


def test_basic(client):
    id = incoming(client, type="basic", username="shop", secret="p:w")
    word = lambda text: "Basic " + base64.b64encode(text.encode()).decode()  # noqa: E731
    send(client, id, authorization=word("shop:p:w"))
    for wrong in ("shop:p", "Shop:p:w", "shop:", ":p:w"):
        refused(client, id, "Username or password", authorization=word(wrong))
    refused(client, id, "Username or password", authorization="Basic ???")
    refused(client, id, "Username or password")


def test_hmac(client):
    id = incoming(client, type="hmac_sha256", header="X-Shop-Signature")
    body = b"any bytes \x00\xff"
    mac = hmac.new(b"hush", body, hashlib.sha256)
    for good in (mac.hexdigest(), mac.hexdigest().upper(), "sha256=" + mac.hexdigest(), base64.b64encode(mac.digest()).decode(),
                 "sha256=" + base64.b64encode(mac.digest()).decode()):
        send(client, id, body, x_shop_signature=good)
    row = log(client)[0]
    row = client.get("/v1/incoming-webhooks/" + row["id"]).data
    assert row["request"]["body"] == base64.b64encode(body).decode() and row["request"]["body_encoding"] == "base64"
    assert row["headers"]["x-shop-signature"] == "***"
    refused(client, id, "signature is not", body=body + b"x", x_shop_signature=mac.hexdigest())
    refused(client, id, "signature is not", body=body, x_shop_signature=mac.hexdigest()[:-1])
    refused(client, id, "signature is not", body=body, x_shop_signature="0" * 64)
    refused(client, id, "missing", body=body, authorization=mac.hexdigest())


def test_standard_webhooks(world, client):
    id = incoming(client, type="standard_webhooks", secret=SECRET)
    send(client, id, **signed(world))
    send(client, id, **signed(world, "msg_2", ago=290))
    refused(client, id, "five minutes", **signed(world, "msg_3", ago=310))
    refused(client, id, "is not that of the secret", **signed(world, "msg_3", body=b"{}"))
    refused(client, id, "is not that of the secret", **signed(world, "msg_3", secret="whsec_" + base64.b64encode(b"x" * 32).decode()))
    refused(client, id, "are needed", webhook_id="msg_3")
    refused(client, id, "no number", **{**signed(world, "msg_3"), "webhook_timestamp": "soon"})
    two = signed(world, "msg_4")
    send(client, id, **{**two, "webhook_signature": "v1,AAAA " + two["webhook_signature"]})


def test_before_there_is_a_secret(client):
    for auth in ({"type": "bearer"}, {"type": "basic", "username": "u"}, {"type": "hmac_sha256", "header": "x-sig"}, {"type": "standard_webhooks"}):
        id = incoming(client, secret=None, **auth)
        refused(client, id, "no secret yet", authorization="Bearer ")
    assert len(log(client)) == 4


def test_the_secret_that_is_named(client):
    id = incoming(client, type="bearer", key="current", secret="one")
    client.post(f"/v1/integrations/{id}/secrets", {"key": "secret", "value": "two"}, expect=201)
    send(client, id, authorization="Bearer one")
    refused(client, id, "bearer token", authorization="Bearer two")
    client.post(f"/v1/integrations/{id}/secrets", {"key": "current", "value": "three"}, expect=200)
    refused(client, id, "bearer token", authorization="Bearer one")
    send(client, id, authorization="Bearer three")


# ---- where and how much ----

def test_no_such_integration(world, client):
    for id in ("int_0000000000000000000000", "x", "int_" + "a" * 200):
        send(client, id, expect=404, code="not_found", authorization="Bearer hush")
    id = incoming(client, type="bearer")
    client.post("/v1/integrations/" + id, {"enabled": False}, expect=200)
    send(client, id, expect=404, code="not_found", authorization="Bearer hush")
    client.post("/v1/integrations/" + id, {"enabled": True}, expect=200)
    send(client, id, authorization="Bearer hush")
    client.delete("/v1/integrations/" + id)
    send(client, id, expect=404, code="not_found", authorization="Bearer hush")
    out = client.post("/v1/integrations", {"direction": "outgoing", "name": "x", "events": ["*"], "url": world.web.url("/x")}, expect=201).data["id"]
    send(client, out, expect=404, code="not_found", authorization="Bearer hush")
    client.refused("GET", "/v1/incoming/" + id, 405, "method.not_allowed", key=False)


def test_a_mebibyte(client):
    id = incoming(client, type="bearer")
    most = send(client, id, b"x" * (1024 * 1024), authorization="Bearer hush").data["id"]
    assert len(client.get("/v1/incoming-webhooks/" + most).data["request"]["body"]) == 1024 * 1024
    send(client, id, b"x" * (1024 * 1024 + 1), expect=413, code="body.too_large", authorization="Bearer hush")
    empty = send(client, id, b"", authorization="Bearer hush").data["id"]
    assert client.get("/v1/incoming-webhooks/" + empty).data["request"]["body"] == ""
    assert [r["id"] for r in log(client)] == [most, empty] and "request" not in log(client)[0]


def test_a_packing_that_nobody_unpacks(client):
    send(client, incoming(client, type="bearer"), expect=415, code="content_encoding.unsupported", authorization="Bearer hush", content_encoding="br")


def test_a_repeated_id_is_taken_once(world, client):
    id, other = incoming(client, type="bearer"), incoming(client, type="bearer")
    first = send(client, id, authorization="Bearer hush", webhook_id="m1").data["id"]
    assert send(client, id, b"again", expect=200, authorization="Bearer hush", webhook_id="m1").data["id"] == first
    refused(client, id, "bearer token", authorization="Bearer wrong", webhook_id="m2")
    assert send(client, id, authorization="Bearer hush", webhook_id="m2").data["id"] != first  # who was refused was not taken
    assert send(client, other, authorization="Bearer hush", webhook_id="m1").data["id"] != first
    send(client, id, authorization="Bearer hush"), send(client, id, authorization="Bearer hush")
    assert len(log(client, "&status=success")) == 5
    world.ahead(24 * 3600 - 60)
    send(client, id, expect=200, authorization="Bearer hush", webhook_id="m1")
    world.ahead(120)
    assert send(client, id, authorization="Bearer hush", webhook_id="m1").data["id"] != first


def test_at_the_same_time(world, client):
    """Of requests with one id that come at once exactly one is taken."""
    import concurrent.futures
    id = incoming(client, type="bearer")

    def one(_):
        r = requests.post(world.server.base + "/v1/incoming/" + id, data=b"{}", headers={"Authorization": "Bearer hush", "webhook-id": "same"}, timeout=WAIT)
        return r.status_code, r.json()["data"]["id"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(one, range(16)))
    assert sorted(s for s, _ in answers) == [200] * 15 + [202] and len({i for _, i in answers}) == 1 and len(log(client)) == 1


# ---- the log ----

def test_refused_requests_are_in_the_log(world, client):
    id = incoming(client, type="bearer")
    refused(client, id, "bearer token", authorization="Bearer guess", cookie="a=b", x_more="1")
    row, = log(client)
    assert row["status"] == "error" and row["error"]["code"] == "unauthorized" and "bearer token" in row["error"]["message"] and row["response"] == {"status": 401}
    assert row["headers"]["authorization"] == "***" and row["headers"]["cookie"] == "***" and row["headers"]["x-more"] == "1"
    assert client.get("/v1/integrations/" + id).data["status"] == "failing"
    kept, = world.server.sql("SELECT proof, headers::text, request::text FROM integrations.incoming WHERE id = %s", row["id"])
    assert kept[0].startswith("s1.") and not any("guess" in k for k in kept)
    send(client, id, authorization="Bearer hush")
    assert client.get("/v1/integrations/" + id).data["status"] == "active"
    assert len(log(client, f"&integration_id={id}&status=error")) == 1 and log(client, "&created_at[lt]=2020-01-01T00:00:00Z") == []
    assert log(client, "&event_id=evt_0000000000000000000000") == [] and log(client, "&resource_id=loc_0000000000000000000000") == []
    client.refused("GET", "/v1/incoming-webhooks?status=odd", 400, "param.invalid", ["status"])


def test_strangers_do_not_fill_the_disk(world, client):
    id = incoming(client, type="bearer")
    for _ in range(101):
        send(client, id, b"y" * 1000, expect=401, code="integration.unauthorized")
    rows = [client.get("/v1/incoming-webhooks/" + r["id"]).data for r in log(client)]
    assert len(rows) == 101 and "body" not in rows[-1]["request"] and all("body" in r["request"] for r in rows[:100])
    client.post(f"/v1/integrations/{id}/secrets", {"key": "secret", "value": "other"}, expect=200)
    again = client.post(f"/v1/incoming-webhooks/{rows[-1]['id']}/retry", expect=202).data
    assert again["status"] == "error" and "not kept" in again["error"]["message"]


def test_kept_as_long_as_events(world, org):
    org.client().post("/v1/organizations/" + org.id, {"settings": {"events": {"expire_after": "days_1"}}}, expect=200)
    client = org.client()
    id = incoming(client, type="bearer")
    row = send(client, id, authorization="Bearer hush").data["id"]
    world.ahead(25 * 3600)
    assert log(client) == []
    until(lambda: world.server.sql("SELECT count(*) FROM integrations.incoming WHERE id = %s", row) == [(0,)])


def test_another_organization_sees_nothing(world, client):
    send(client, incoming(client, type="bearer"), authorization="Bearer hush")
    assert log(world.server.organization().client()) == []


# ---- another try ----

def test_retry_after_the_secret_was_mended(world, client):
    id = incoming(client, type="standard_webhooks", secret="whsec_" + base64.b64encode(b"wrong" * 6).decode())
    refused(client, id, "is not that of the secret", **signed(world))
    row, = log(client)
    again = client.post(f"/v1/incoming-webhooks/{row['id']}/retry", expect=202).data
    assert again["status"] == "error" and again["attempts"] == 2
    client.post(f"/v1/integrations/{id}/secrets", {"key": "secret", "value": SECRET}, expect=200)
    world.ahead(1800)  # what counts is when it came
    again = client.post(f"/v1/incoming-webhooks/{row['id']}/retry", expect=202).data
    assert again["status"] == "success" and again["error"] is None and again["attempts"] == 3
    client.refused("POST", f"/v1/incoming-webhooks/{row['id']}/retry", 409, "integration.not_failed")
    assert world.server.sql("SELECT proof FROM integrations.incoming WHERE id = %s", row["id"]) == [(None,)]
    client.refused("POST", "/v1/incoming-webhooks/inc_whk_0000000000000000000000/retry", 404, "not_found")


def test_retry_of_bytes_that_are_no_text(client):
    id = incoming(client, type="hmac_sha256", header="x-sig", secret="old")
    body = b"\x00\x01\xff"
    refused(client, id, "signature is not", body=body, x_sig=hmac.new(b"new", body, hashlib.sha256).hexdigest())
    client.post(f"/v1/integrations/{id}/secrets", {"key": "secret", "value": "new"}, expect=200)
    assert client.post(f"/v1/incoming-webhooks/{log(client)[0]['id']}/retry", expect=202).data["status"] == "success"


def test_retry_of_what_came_again_since(world, client):
    id = incoming(client, type="bearer", secret="old")
    refused(client, id, "bearer token", authorization="Bearer new", webhook_id="m1")
    client.post(f"/v1/integrations/{id}/secrets", {"key": "secret", "value": "new"}, expect=200)
    send(client, id, authorization="Bearer new", webhook_id="m1")
    row = log(client, "&status=error")[0]
    client.refused("POST", f"/v1/incoming-webhooks/{row['id']}/retry", 409, "integration.not_failed")
    assert len(log(client, "&status=success")) == 1


# ---- error notices ----

def notices(org):
    return org.server.sql("SELECT data, expires_at - created_at FROM wharf.event WHERE organization_id = %s AND type = 'incoming_webhook.error'"
                          " ORDER BY created_at, id", org.id)


def test_notices(world, org, client):
    client.post("/v1/organizations/" + org.id, {"settings": {"integration_notifications": {"incoming_webhook": {"failure_limit": 2, "failure_interval": "mins_0060"}},
                                                             "events": {"expire_after": "days_7"}}}, expect=200)
    id = incoming(client, type="bearer")
    refused(client, id, "bearer token")
    assert notices(org) == []
    refused(client, id, "bearer token")
    (data, kept), = notices(org)
    assert data["object"] == "incoming_webhook" and data["integration_id"] == id and data["status"] == "error" and kept.days == 7
    assert data["error_notification"] == {"count": 2, "limit": 2, "created_at": data["error_notification"]["created_at"]}
    for _ in range(5):
        refused(client, id, "bearer token")
    assert len(notices(org)) == 1
    world.ahead(3601)
    refused(client, id, "bearer token")
    assert len(notices(org)) == 1  # the count began anew
    refused(client, id, "bearer token")
    assert [d["error_notification"]["count"] for d, _ in notices(org)] == [2, 2]
