"""Messages to browsers, judged by the npm package web-push and what it is made of: http_ece opens them, jws knows the signature of their token."""
import base64
import json
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("api", "api/notifications"):
    sys.path.insert(0, str(HERE.parent / folder))

from browser import encode  # noqa: E402
from push_world import Shop, World  # noqa: E402
from wharf import WAIT, until  # noqa: E402


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    w = World(tmp_path_factory.mktemp("push"))
    yield w
    w.close()


def judge(*cases):
    """What is said of (browser, what it got, the body)."""
    lines = [json.dumps({"private": encode(b.private.to_bytes(32, "big")), "keys": b.body()["keys"], "endpoint": b.body()["endpoint"].replace("http:", "https:"),
                         "headers": g.headers, "body": base64.b64encode(body).decode()}) for b, g, body in cases]
    done = subprocess.run(["node", HERE / "judge.mjs"], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_web_push_takes_what_is_sent(world):
    shop = Shop(world)
    user, _ = shop.person(phones=0)
    browser, other = shop.browser(user), shop.browser(user)
    contact = shop.contact()
    until(lambda: browser.raw and other.raw)
    got, = browser.raw
    flipped = bytes([*got.body[:-1], got.body[-1] ^ 1])
    good, changed, not_his = said = judge((browser, got, got.body), (browser, got, flipped), (other, got, got.body))
    assert "wrong" not in good, said
    assert json.loads(good["text"]) == browser.got()[0] and json.loads(good["text"])["data"]["resource_id"] == contact
    assert "wrong" in changed and "wrong" in not_his
    assert good["claims"]["aud"] == f"http://127.0.0.1:{world.web.port}" and good["claims"]["sub"] == "mailto:ops@example.com"
    own = {k.lower(): str(v) for k, v in good["own"].items()}
    ours = {name: got[name] for name in own}
    for name in ("authorization", "content-length"):  # of another key, of another text
        assert ours[name] and own.pop(name) and ours.pop(name)
    assert ours == own


def test_a_token_of_another_key_is_none(world):
    shop = Shop(world)
    user, _ = shop.person(phones=0)
    browser = shop.browser(user)
    shop.contact()
    until(lambda: browser.raw)
    got, = browser.raw
    got.headers["authorization"] = got["authorization"].split(", k=")[0] + ", k=" + encode(browser.public)
    wrong, = judge((browser, got, got.body))
    assert wrong == {"wrong": "the signature is wrong"}
