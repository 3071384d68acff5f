"""Images by URL: spec 05 section 9.3 'Images', and the rules of fetching of 04 section 7."""
import time

import pytest

from drawings import PNG, SVG, generate, image, refused, text, whole
from outside import Host
from wharf import Server


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    class World:
        pass

    w = World()
    w.heard = []

    def hears(data, **headers):
        def page(handler):
            w.heard.append(handler.path)
            handler.answer(200, data, **headers)
        return page

    w.web = Host(tmp_path_factory.mktemp("ca"), "pictures.example.test", {
        "/a.png": hears(PNG), "/b.svg": hears(SVG, Content_Type="image/svg+xml"), "/404": lambda h: h.answer(404, b"no"), "/500": lambda h: h.answer(500, b"no"),
        "/never": lambda h: time.sleep(14), "/large": lambda h: h.answer(200, PNG + bytes(10_000_001 - len(PNG))), "/text": hears(b"no picture")})
    w.server = Server("--modules", "org,locations,templates", *w.web.settings)
    w.client = w.server.organization().client()
    yield w
    w.server.stop()
    w.web.shutdown()


def url(world, path):
    return world.web.url(path)


def errors(answer):
    return [(e["path"], e["code"]) for e in answer.data["element_errors"]]


def test_png_and_svg(world):
    """Spec 05 section 9.3 [S]: SVG by URL; and each source is fetched once."""
    world.heard.clear()
    a, b = url(world, "/a.png"), url(world, "/b.svg")
    answer = generate(world.client, image(a), image(b, y=40), image(a, y=80), {"type": "group", "x": 0, "y": 120, "children": [image(b)]},
                      {"type": "image", "x": 1, "y": 200, "width": 20, "src": a})
    assert errors(answer) == [] and answer.data["elements_rendered"] >= 5
    assert sorted(world.heard) == ["/a.png", "/b.svg"]


def test_what_is_an_element_error(world):
    """Spec 05 section 9.3: what is not worth a retry fails its element alone."""
    answer = generate(world.client, text(), image(url(world, "/404")), image("http://example.com/a.png"), image("https://10.0.0.1/a.png"), image(url(world, "/large")), image(url(world, "/text")))
    assert errors(answer)[:4] == [("raw.1", "file.not_available"), ("raw.2", "file.protocol"), ("raw.3", "file.url"), ("raw.4", "file.too_large")]
    assert errors(answer)[4][0] == "raw.5" and errors(answer)[4][1].startswith("image.")
    assert answer.data["elements_rendered"] == 1


def test_a_host_that_fails_fails_the_request(world):
    """Spec 05 section 9.3 [S]: 5xx is 502 file.download, a stalled fetch 408 file.timeout_error; nothing is drawn, errors are the paths."""
    bad = url(world, "/500")
    refused(world.client, ["raw.1", "raw.2.children.0"], text(), image(bad), {"type": "group", "x": 0, "y": 0, "children": [image(bad)]}, code="file.download", status=502)
    refused(world.client, ["raw.0"], image(url(world, "/never")), code="file.timeout_error", status=408)


def test_fifty_sources(world):
    """Spec 05 section 9.3 [S]: at most 50 images by URL."""
    many = [image(url(world, f"/a.png?{i}")) for i in range(51)]
    refused(world.client, ["raw"], *many)


def test_sources_with_variables_beside_others(world):
    """A picture that is always the same, one of the data, and one for each row, of which each is fetched once."""
    world.heard.clear()
    a, b = url(world, "/a.png"), url(world, "/b.svg")
    rows = {"type": "table", "x": 10, "y": 100, "width": 200, "rows": "list", "columns": [{"element": {"type": "group", "children": [image("{{row}}"), image(a, x=80)]}}]}
    answer = generate(world.client, image(a), image("{{logo}}", y=40), rows, data={"logo": b, "list": [url(world, f"/a.png?{i}") for i in range(3)]},
                      watermark={"type": "group", "x": 150, "y": 300, "children": [image(b)]}, header={"height": 60, "raw": [image("ftp://{{logo}}")]})
    assert errors(answer) == [("header.raw.0", "file.protocol")] and answer.data["elements_rendered"] == 10
    assert sorted(world.heard) == ["/a.png", "/a.png?0", "/a.png?1", "/a.png?2", "/b.svg"]


def test_sources_with_variables(world):
    world.heard.clear()
    answer = generate(world.client, image("{{logo}}"), image("{{item}}", y=60, repeat={"each": "pictures", "dy": 30}),
                      data={"logo": url(world, "/b.svg"), "pictures": [url(world, "/a.png"), url(world, "/404")]})
    assert sorted(world.heard) == ["/a.png", "/b.svg"]
    assert [code for _, code in errors(answer)] == ["file.not_available"] and answer.data["elements_rendered"] == 2
    assert whole(world.client, answer).startswith(b"%PDF-")
