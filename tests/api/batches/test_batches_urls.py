"""Batches whose file is fetched (spec 10 section 9 'Forms'): what the guard refuses, what hosts do wrong, in the request and in the background."""
import pytest

from outside import Authority, NameServer, Web, redirect
from test_batches import BATCHES, run
from test_batches_background import wait
from wharf import Server

HOST = "files.example.test"
TABLE = b"name,email\nFrom the web,web@b.example\nBad,bad\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    class World:
        pass

    w = World()
    authority = Authority(tmp_path_factory.mktemp("ca"))
    w.names = NameServer({HOST: ["127.0.0.1"], "inside.example.test": ["10.0.0.1"]})
    w.web = Web({"/a.csv": lambda h: h.answer(200, TABLE), "/broken": lambda h: h.answer(500, b"no"), "/large": lambda h: h.answer(200, b"", Content_Length=101 << 20),
                 "/picture": lambda h: h.answer(200, b"\x89PNG\r\n\x1a\n" + bytes(50)), "/inside": redirect("https://127.0.0.1/x")}, authority.server_context("web", HOST))
    w.server = Server("--modules", "org,locations,contacts,batches", "--set", "environment=test", "--set", f"net.dns={w.names.address}", "--set", f"net.ca_file={authority.file}",
                      "--set", f"net.allow=127.0.0.1:{w.web.port}")
    w.client, w.base = w.server.organization().client(), f"https://{HOST}:{w.web.port}"
    yield w
    w.server.stop()
    w.names.close()
    w.web.shutdown()


def test_a_resource_whose_module_is_not_there(world):
    world.client.refused("POST", BATCHES, 400, "batch.resource_unavailable", ["resource"], {"resource": "shipping_label_inference", "action": "merge", "data": [{"notes": "x"}]})


def test_a_table_from_the_web(world):
    for mode in ("sync", "mixed"):
        b = run(world.client, world.base + "/a.csv", mode=mode)
        assert (b["via"], b["stats"]["created"], b["stats"]["errors"]) == ("file", 1, 1)
        assert [(p["name"], p["mode"]) for p in b["phases"]] == [(n, "sync") for n in ("fetching", "parsing", "validating", "processing")]
        assert b["file"]["size"] == len(TABLE) and len(b["checksum"]) == 64
    b = wait(world.client, run(world.client, world.base + "/a.csv", mode="async", expect=202)["id"])
    assert (b["status"], b["stats"]["created"]) == ("completed", 1) and {p["mode"] for p in b["phases"]} == {"async"}


WRONG = [("http://files.example.test/a.csv", 400, "file.protocol"), ("https://127.0.0.1/a.csv", 400, "file.url"), ("https://localhost/a.csv", 400, "file.hostname"),
         ("/inside", 400, "file.url"), ("/broken", 502, "file.download"), ("/missing", 400, "file.not_available"), ("/large", 400, "file.too_large"),
         ("https://inside.example.test/a.csv", 400, "file.hostname"), ("/picture", 400, "file.unsupported_type")]


@pytest.mark.parametrize("url, status, code", WRONG)
def test_what_can_not_be_fetched(world, url, status, code):
    url = world.base + url if url.startswith("/") else url
    before = len(world.client.get(BATCHES + "?limit=1000").data)
    body = {"resource": "contact", "action": "merge", "mode": "sync", "data": url}
    a = world.client.post(BATCHES, body)
    assert (a.status, a.code, a.errors) == (status, code, ["data"]), a
    assert len(world.client.get(BATCHES + "?limit=1000").data) == before
    a2 = world.client.post(BATCHES, {**body, "mode": "async"})
    if a2.status == 202:
        b = wait(world.client, a2.data["id"])
        assert (b["status"], b["reason"], b["stats"]["created"]) == ("failed", a.code, 0)
    else:
        assert (a2.status, a2.code) == (a.status, a.code)  # what the URL alone says is said at once


def test_contacts_from_the_web(world):
    """The file of POST /v1/contacts comes the same way (spec 02 section 5), and is under the same guard."""
    r = world.client.post("/v1/contacts", {"csv_url": world.base + "/a.csv"}, expect=200)
    assert len(r.data["ids"]) == 1 and r.data["issues"] == [{"index": 1, "errors": ["email"]}]
    before = len(world.client.get("/v1/contacts?limit=1000").data)
    for url, status, code in WRONG:
        a = world.client.post("/v1/contacts", {"csv_url": world.base + url if url.startswith("/") else url, "overwrite": True})
        assert (a.status, a.code, a.errors) == (status, code, ["csv_url"]), (url, a)
    assert len(world.client.get("/v1/contacts?limit=1000").data) == before
