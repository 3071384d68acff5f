"""Browsers of users and how many addresses somebody has: spec 07 section 16.2 rule 2."""
import base64
import os
import pathlib
import shutil
import tempfile

import pytest

from browser import Browser, encode
from fcm import decode
from push_world import MODULES, Shop, World
from wharf import Client, Server, until


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    w = World(tmp_path_factory.mktemp("push"))
    yield w
    w.close()


@pytest.fixture
def shop(world):
    return Shop(world)


def path(user):
    return f"/v1/users/{user}/push-subscriptions"


def test_register_list_and_remove(world, shop):
    user, _ = shop.person(phones=0)
    browser = shop.browser(user, name="Dock tablet")
    row = browser.row
    assert {k: row[k] for k in row if k not in ("id", "created_at", "updated_at", "created_by", "updated_by")} == {
        "object": "push_subscription", "user_id": user, "name": "Dock tablet", "service": f"http://127.0.0.1:{world.web.port}"}
    assert row["id"].startswith("push_sub_")
    assert shop.client.get(path(user)).data == [row]
    gone = shop.client.delete(f"{path(user)}/{row['id']}").data
    assert gone == {"id": row["id"], "object": "push_subscription", "deleted": True}
    assert shop.client.get(path(user)).data == []
    shop.client.refused("DELETE", f"{path(user)}/{row['id']}", 404, "not_found")
    shop.contact()
    assert shop.ended(user_id=user)[0]["reason"] == "no_device" and browser.raw == []


def test_endpoint_and_keys_are_nowhere(world, shop):
    """Sealed in the database; in no answer, no log line, no event and no request log."""
    user, _ = shop.person(phones=0)
    browser = shop.browser(user)
    shop.contact()
    until(lambda: browser.raw)
    secrets = [browser.path, browser.body()["keys"]["auth"], browser.body()["keys"]["p256dh"]]
    stored, = world.server.sql("SELECT endpoint, p256dh, auth, endpoint_hash FROM notifications.push_subscription WHERE user_id = %s", user)
    assert all(text.startswith("s1.") for text in stored[:3])
    shown = [str(stored), str(shop.client.get(path(user)).data), str(world.server.sql("SELECT to_jsonb(l)::text FROM wharf.change_log l")),
             (world.server.folder / "wharf.log").read_text(), str(shop.client.get("/v1/notifications").data)]
    assert not [s for s in secrets for text in shown if s in text]


def test_users_manage_their_own(world, shop):
    user, _ = shop.person(phones=0)
    other, _ = shop.person(phones=0)
    own = shop.org.client(user=user)
    weak = shop.org.client("contacts:read", user=user)
    mine = shop.browser(user, client=own)
    shop.browser(user, client=weak)
    own.refused("POST", path(other), 403, "scope_access", body=Browser(world.web).body())
    theirs = shop.browser(other)  # by a key with users:write
    own.refused("DELETE", f"{path(other)}/{theirs.row['id']}", 403, "scope_access")
    own.refused("DELETE", f"{path(user)}/{theirs.row['id']}", 404, "not_found")
    own.delete(f"{path(user)}/{mine.row['id']}")
    shop.client.refused("POST", path("user_none"), 404, "not_found", body=Browser(world.web).body())


@pytest.mark.parametrize("endpoint", ["http://localhost/x", "https://169.254.169.254/latest", "https://10.0.0.1/x", "https://push.internal/x", "ftp://push.example.com/x",
                                      "https://user:pw@push.example.com/x", "https://push.example.com/x#y", "https://push/x", "https://push.example.com:22/x", "nothing"])
def test_endpoints_keep_to_the_rules_of_urls(world, shop, endpoint):
    user, _ = shop.person(phones=0)
    shop.client.refused("POST", path(user), 400, "push.endpoint", ["endpoint"], body={**Browser(world.web).body(), "endpoint": endpoint})


def test_an_endpoint_that_leads_inside_is_not_asked(world, shop):
    """What a public name leads to is judged when it is connected to; nothing is sent there (section 9)."""
    user, _ = shop.person(phones=0)
    shop.client.post(path(user), {**Browser(world.web).body(), "endpoint": "https://no-such-push-service.invalid.example.com/x"}, expect=201)
    shop.contact()
    row = until(lambda: [r for r in shop.rows(user_id=user) if r["attempts"] and r["next_attempt_at"]])[0]
    assert row["status"] == "waiting"


def broken_keys():
    b = decode("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
    good, auth = encode(b), encode(b"0" * 16)
    off = encode(bytes([*b[:-1], b[-1] ^ 1]))
    return [{"p256dh": off, "auth": auth}, {"p256dh": good[:-4], "auth": auth}, {"p256dh": good, "auth": encode(b"0" * 15)}, {"p256dh": good, "auth": "?" * 22},
            {"p256dh": base64.b64encode(b).decode().replace("+", "+"), "auth": "short"}, {"p256dh": encode(b"\2" + b[1:33]), "auth": auth}]


@pytest.mark.parametrize("keys", broken_keys())
def test_keys_that_are_none(world, shop, keys):
    user, _ = shop.person(phones=0)
    shop.client.refused("POST", path(user), 400, "validation.failed", ["keys"], body={**Browser(world.web).body(), "keys": keys})


def test_what_is_missing(world, shop):
    user, _ = shop.person(phones=0)
    body = Browser(world.web).body()
    for name in ("endpoint", "keys"):
        shop.client.refused("POST", path(user), 400, "validation.failed", [name], body={k: body[k] for k in body if k != name})
    shop.client.post(path(user), {**body, "expirationTime": None}, expect=201)  # as PushSubscription.toJSON() has it


def test_a_browser_that_registers_again(world, shop):
    """New keys of the same endpoint take the place of the old; of a browser that somebody else used it is the new user's."""
    user, _ = shop.person(phones=0)
    other, _ = shop.person(phones=0)
    browser = shop.browser(user)
    again = Browser(world.web)
    again.path = browser.path
    shop.client.post(path(user), again.body(), expect=201)
    assert len(shop.client.get(path(user)).data) == 1
    shop.contact()
    shop.ended(2)
    assert [again.open(g) for g in browser.raw]
    shop.client.post(path(other), again.body(), expect=201)
    assert shop.client.get(path(user)).data == [] and len(shop.client.get(path(other)).data) == 1


def test_twenty_of_both_kinds(world, shop):
    user, _ = shop.person(phones=0)
    browsers = [shop.browser(user) for _ in range(21)]
    have = {r["id"] for r in shop.client.get(f"{path(user)}?limit=100").data}
    assert have == {b.row["id"] for b in browsers[1:]}
    shop.client.post(f"/v1/users/{user}", {"fcm_tokens": ["a", "b", "c"]}, expect=200)
    assert {r["id"] for r in shop.client.get(f"{path(user)}?limit=100").data} == {b.row["id"] for b in browsers[4:]}
    shop.client.post(f"/v1/users/{user}", {"fcm_tokens": [f"t{i}" for i in range(20)]}, expect=200)
    assert shop.client.get(path(user)).data == []
    new = shop.browser(user)
    assert [r["id"] for r in shop.client.get(path(user)).data] == [new.row["id"]]
    assert shop.client.get(f"/v1/users/{user}").data["fcm_tokens"] == [f"t{i}" for i in range(1, 20)]


def test_the_key_stays(world, shop):
    key = shop.client.get("/v1/notifications/push-key").data
    assert list(key) == ["vapid_public_key"] and len(decode(key["vapid_public_key"])) == 65
    assert shop.org.client("contacts:read").get("/v1/notifications/push-key").data == key
    stored = world.server.sql("SELECT value FROM wharf.setting WHERE key = 'push.key'")[0][0]
    assert stored not in (world.server.folder / "wharf.log").read_text()


def test_the_key_is_that_of_the_database(world, shop):
    """All servers of a database have one key, also after a start; other databases have others."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-api-", dir=os.environ.get("WHARF_TEST_PLACE")))
    first = Server("--modules", MODULES, folder=folder)
    try:
        key = Client(first, first.demo_key).get("/v1/notifications/push-key").data
        beside = Server("--modules", MODULES, beside=first)
        try:
            assert Client(beside, first.demo_key).get("/v1/notifications/push-key").data == key
        finally:
            beside.stop()
    finally:
        first.stop()
    again = Server("--modules", MODULES, folder=folder)
    try:
        assert Client(again, again.demo_key).get("/v1/notifications/push-key").data == key != shop.client.get("/v1/notifications/push-key").data
    finally:
        again.stop()
        shutil.rmtree(folder, ignore_errors=True)
