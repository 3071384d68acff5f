"""Receivers that use published libraries (npm: standardwebhooks, svix) accept what is sent, with each secret that signs, and nothing else."""
import base64
import json
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))
from receivers import WAIT, Hook, World, make  # noqa: E402

GOOD = {"standardwebhooks": True, "svix": True}


@pytest.fixture(scope="module")
def world():
    w = World()
    yield w
    w.close()


def judge(*cases):
    """What the libraries say of (secret, request heard, body)."""
    lines = [json.dumps({"secret": secret, "headers": {k: v for k, v in got.headers.items() if k.startswith("webhook-")},
                         "body": base64.b64encode(body).decode()}) for secret, got, body in cases]
    done = subprocess.run(["node", HERE / "verify.mjs"], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def refused(said):
    return all(v is not True for v in said.values())


def test_libraries_accept_what_is_sent(world):
    client = world.server.organization().client()
    h = Hook(world, client)
    client.post("/v1/locations", {"name": "Ünïcode \" \\ \u2028", "address": "1 Main St, Springfield, IL 62701, US"}, expect=201)
    got = h.wait(1)[0]
    other = Hook(world, client).secret
    said = judge((h.secret, got, got.body), (other, got, got.body), (h.secret, got, got.body + b" "))
    assert said[0] == GOOD and refused(said[1]) and refused(said[2])


def test_after_rotation(world):
    client = world.server.organization().client()
    h = Hook(world, client)
    new = client.post(f"/v1/webhooks/{h.id}/secret/rotate", {}, expect=200).data["secret"]
    newest = client.post(f"/v1/webhooks/{h.id}/secret/rotate", {}, expect=200).data["secret"]
    make(client)
    got = h.wait(1)[0]
    assert judge((h.secret, got, got.body), (new, got, got.body), (newest, got, got.body)) == [GOOD] * 3
    last = client.post(f"/v1/webhooks/{h.id}/secret/rotate", {"expire_old_after_seconds": 0}, expect=200).data["secret"]
    make(client)
    got = h.wait(2)[1]
    said = judge((last, got, got.body), (newest, got, got.body))
    assert said[0] == GOOD and refused(said[1])


def test_the_test_event(world):
    client = world.server.organization().client()
    h = Hook(world, client)
    client.post(f"/v1/webhooks/{h.id}/test", {}, expect=200)
    got = h.wait(1)[0]
    assert judge((h.secret, got, got.body)) == [GOOD]
