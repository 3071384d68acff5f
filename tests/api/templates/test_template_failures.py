"""Drawings that come to nothing because of another: a station that is away, a scanner that does not answer, a host of pictures that fails (spec 05 section 12)."""
import concurrent.futures
import socket
import threading
import time

import pytest

from drawings import GENERATE, PNG, TEMPLATES, image, text
from outside import Host
from test_print_jobs import Shop, printer
from wharf import Server, until


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    class World:
        pass

    w = World()
    w.gate = threading.Event()
    w.web = Host(tmp_path_factory.mktemp("ca"), "failing.example.test", {
        "/500": lambda h: h.answer(500, b"no"), "/never": lambda h: time.sleep(14), "/gate": lambda h: h.answer(200 if w.gate.wait(60) else 500, PNG, **{"Content-Type": "image/png"})})
    w.nobody = socket.socket()  # holds a port at which nobody listens
    w.nobody.bind(("127.0.0.1", 0))
    w.server = Server("--modules", "org,locations,documents,stations,templates", *w.web.settings, "--set", f"documents.clamd=127.0.0.1:{w.nobody.getsockname()[1]}")
    w.shop = Shop(w.server.organization(), "Paper shop", printer(page_size={"label_4x6": True, "letter": True}))
    yield w
    w.server.stop()
    w.web.shutdown()
    w.nobody.close()


@pytest.fixture(params=["generate", "render"])
def draw(request, world):
    """Draws these elements: asks for them at once, or by a template that has them."""
    def drawn(status, code, raw, /, **more):
        path, body = GENERATE, {"size": "4x6", "raw": raw, **more}
        if request.param == "render":
            row = world.shop.client.post(TEMPLATES, {"name": f"{code} {len(raw)}"[:31], "set_as_default": False, "template_data": {"type": "custom__pdf", "definition": {"size": "4x6", "raw": raw}}}, expect=201).data
            path, body = f"{TEMPLATES}/{row['id']}/render", {"data": {}, **more}
        return world.shop.client.refused("POST", path, status, code, body=body)
    return drawn


@pytest.mark.parametrize("path, status, code", [("/500", 502, "file.download"), ("/never", 408, "file.timeout_error")])
def test_a_host_of_pictures(world, draw, path, status, code):
    draw(status, code, [image(world.web.url(path))])


def test_a_station_that_is_away(world, draw):
    world.shop.client.post(world.shop.path, {"status": "offline"}, expect=200)
    draw(409, "print_station.offline", [text()], print={"print_station_id": world.shop.station["id"], "require_online": True})


def test_a_scanner_that_does_not_answer(world, draw):
    draw(503, "document.scanner_unavailable", [text()], output="document")
    assert world.shop.client.get("/v1/documents").data == []


def test_drawings_leave_threads_to_others(world):
    """With more drawings than there are threads, all of which wait for a picture, who writes is answered; then all are drawn (docs/guide/operation.md 'Workers that hang or grow')."""
    server = Server("--modules", "org,locations,templates", "--set", "workers=1", "--set", "database.pool=4", *world.web.settings)
    try:
        org = server.organization()
        body = {"size": "4x6", "raw": [image(world.web.url("/gate"))]}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            drawn = [pool.submit(client.post, GENERATE, body, expect=200) for client in [org.client() for _ in range(8)]]
            asked = lambda: len([s for s in world.web.seen if s[1] == "/gate"])  # noqa: E731
            until(lambda: asked() >= 2)
            for i in range(3):  # roles are written on threads
                org.client().post("/v1/roles", {"name": f"Role {i}", "permissions": {}}, expect=201)
            waiting = [asked() == 2, *(not d.done() for d in drawn)]  # half of the threads draw
            world.gate.set()
            assert [d.result().data["elements_rendered"] for d in drawn] == [1] * 8 and all(waiting)
    finally:
        world.gate.set()
        server.stop()
