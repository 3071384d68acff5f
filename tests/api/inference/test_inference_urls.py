"""Images that are fetched by URL (docs/spec/06-inference.md section 10). What an address may be, redirects and sizes of fetches in general:
tests/api/integrations/test_fetch.py, for the codes of this module too."""
import itertools
import time

import pytest

from outside import Host, drip, redirect
from readings import PATH, drawn, labels, numbered, text
from wharf import Server

MOST = 10_000_000


def chunked(handler, total):
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while total > 0:
        piece = b"y" * min(total, 100_000)
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        total -= len(piece)
    handler.wfile.write(b"0\r\n\r\n")


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    image = drawn()
    pages = {
        "/label.png": lambda h: h.answer(200, image, Content_Type="text/html", Set_Cookie="a=b"),
        "/two.png": lambda h: h.answer(200, drawn(tracking=numbered(401))),
        "/padded": lambda h: h.answer(200, image + b"\0" * (MOST - len(image))),
        "/long": lambda h: h.answer(200, b"x" * (MOST + 1)), "/long-chunked": lambda h: chunked(h, MOST + 1), "/announced": lambda h: h.answer(200, b"x", Content_Length=MOST + 1),
        "/gzip": lambda h: h.answer(200, image, Content_Encoding="gzip"),
        "/404": lambda h: h.answer(404, b"no"), "/403": lambda h: h.answer(403, b"no"), "/empty": lambda h: h.answer(200), "/500": lambda h: h.answer(500, b"no"), "/503": lambda h: h.answer(503, b"no"),
        "/text": lambda h: h.answer(200, b"this is no image"),
        "/1": redirect("/label.png"), "/2": redirect("/1"), "/3": redirect("/2"), "/4": redirect("/3"),
        "/to-literal": redirect("https://127.0.0.1/label.png"), "/to-localhost": redirect("https://localhost/label.png"), "/to-http": redirect("http://images.example.test/label.png"),
        "/to-metadata": redirect("https://169.254.169.254/latest/meta-data/"),
        "/slow": drip(4), "/never": lambda h: time.sleep(15),
    }
    w = Host(tmp_path_factory.mktemp("web"), "images.example.test", pages)
    yield w
    w.shutdown()


@pytest.fixture(scope="module")
def server(web):
    s = Server("--modules", "org,locations,carriers,contacts,inference", "--set", "rate_limit.key=0", *web.settings)
    yield s
    s.stop()


@pytest.fixture
def client(server):
    return server.organization().client()


def by_url(client, urls, expect=201, **body):
    """A busy machine may have no process for a picture: then once more."""
    for _ in range(10):
        r = client.post(PATH, {"image_url": urls, **body})
        if r.status != 503:
            break
    assert r.status == expect, r
    return r


def test_a_label_by_url(client, web):
    for path in ("/label.png", "/3"):
        row = by_url(client, web.url(path)).data
        assert row["tracking_number"] == labels.TRACKING and row["images"] is None
    assert client.http.get(client.server.base + row["image_url"]).content == drawn()
    seen = web.seen[-1][2]
    assert "Cookie" not in seen and "Authorization" not in seen and "Referer" not in seen
    assert by_url(client, web.url("/label.png").replace("https", "HTTPS")).data["tracking_number"] == labels.TRACKING


def test_exactly_ten_megabytes(client, web):
    assert by_url(client, web.url("/padded")).data["tracking_number"] == labels.TRACKING


@pytest.mark.parametrize("path, status, code", [
    ("/long", 400, "file.too_large"), ("/long-chunked", 400, "file.too_large"), ("/announced", 400, "file.too_large"), ("/gzip", 400, "file.too_large"),
    ("/404", 400, "inference.unreachable"), ("/403", 400, "inference.unreachable"), ("/empty", 400, "inference.unreachable"), ("/4", 400, "inference.unreachable"),
    ("/500", 502, "file.download"), ("/503", 502, "file.download"),
    ("/slow", 408, "file.timeout_error"), ("/never", 408, "file.timeout_error"),
    ("/to-literal", 400, "inference.url"), ("/to-metadata", 400, "inference.url"), ("/to-localhost", 400, "inference.hostname"), ("/to-http", 400, "inference.protocol"),
    ("/text", 400, "inference.image_invalid"),
])
def test_what_can_not_be_fetched(client, web, path, status, code):
    r = client.refused("POST", PATH, status, code, ["image_url"], {"image_url": web.url(path)})
    assert code != "file.download" or "try again" in r.message
    client.refused("POST", PATH, status, code, ["image.0"], {"image": [web.url(path)]})
    assert client.get(PATH).data == []


def test_nobody_hears_why_it_is_unreachable(client, web):
    """One message for what does not answer, refuses or says no: ports and addresses can't be told apart by it."""
    urls = [web.url("/404"), web.url("/empty"), "https://images.example.test:1025/x", "https://nobody.example.test/x"]
    assert len({client.refused("POST", PATH, 400, "inference.unreachable", ["image_url"], {"image_url": u}).message for u in urls}) == 1


@pytest.mark.parametrize("url, code", [
    ("http://images.example.test/a", "protocol"), ("ftp://images.example.test/a", "protocol"), ("file:///etc/passwd", "protocol"), ("gopher://images.example.test/a", "protocol"), ("javascript:alert(1)", "protocol"),
    ("https://127.0.0.1/a", "url"), ("https://[::1]/a", "url"), ("https://[fe80::1%25eth0]/a", "url"), ("https://2130706433/a", "url"), ("https://0x7f000001/a", "url"), ("https://0177.0.0.1/a", "url"), ("https://127.1/a", "url"),
    ("https://１２７.0.0.1/a", "url"), ("https://%31%32%37.0.0.1/a", "url"), ("https://127.0.0.1./a", "url"), ("https://8.8.8.8/a", "url"), ("https://user@images.example.test/a", "url"), ("https://user:pw@images.example.test/a", "url"),
    ("https://images.example.test:22/a", "url"), ("https:///a", "url"), ("https://images.example.test/" + "a" * 2048, "url"),
    ("https://localhost/a", "hostname"), ("https://a.localhost/a", "hostname"), ("https://localhost.localdomain/a", "hostname"), ("https://ip6-localhost/a", "hostname"), ("https://metadata/a", "hostname"),
    ("https://metadata.google.internal/a", "hostname"), ("https://metadata.azure.internal/a", "hostname"), ("https://instance-data/a", "hostname"), ("https://instance-data.ec2.internal/a", "hostname"), ("https://x.internal/a", "hostname"),
    ("https://printer/a", "hostname"),
])
def test_urls_that_are_refused_unseen(client, web, url, code):
    """Before anything is fetched, whatever stands beside it, and whichever field it stands in."""
    before = len(web.seen)
    client.refused("POST", PATH, 400, f"inference.{code}", ["image_url"], {"image_url": url})
    client.refused("POST", PATH, 400, f"inference.{code}", ["image"], {"image": url})
    client.refused("POST", PATH, 400, f"inference.{code}", ["image_url.1"], {"image": text(drawn()), "image_url": [web.url("/label.png"), url]})
    assert len(web.seen) == before


def test_policy_fails_the_whole_request(client, web):
    """A redirect to where nobody may go is no matter of one image."""
    client.refused("POST", PATH, 400, "inference.url", ["image_url.0"], {"image": text(drawn()), "image_url": [web.url("/to-literal")]})


def test_some_of_several_fail(client, web):
    row = by_url(client, [web.url(p) for p in ("/404", "/500", "/long", "/label.png")]).data
    assert [i["error"] for i in row["images"]] == ["inference.unreachable", "file.download", "file.too_large", None] and [i["selected"] for i in row["images"]] == [False, False, False, True]
    assert row["tracking_number"] == labels.TRACKING and len(row["media_urls"]) == 1
    client.refused("POST", PATH, 502, "file.download", ["image_url.0"], {"image_url": [web.url(p) for p in ("/500", "/404")]})
    client.refused("POST", PATH, 400, "inference.unreachable", ["image_url.0"], {"image_url": [web.url(p) for p in ("/404", "/500")]})


@pytest.mark.parametrize("images, urls", [(i, u) for i, u in itertools.product(range(6), range(6)) if i + u in (0, 1, 4, 5)])
def test_how_many(client, web, images, urls):
    """At most four over both fields, in this order; none is refused."""
    image = labels.bytes_of(labels.Image.new("L", (60, 60), 255))
    body = {"image": [text(image)] * images, "image_url": [web.url("/label.png")] * urls}
    if images + urls == 0:
        client.refused("POST", PATH, 400, "inference.image_required", [], body)
    elif images + urls > 4:
        before = len(web.seen)
        client.refused("POST", PATH, 400, "inference.too_many_images", [], body)
        assert len(web.seen) == before
    else:
        row = next(r for r in (client.post(PATH, body) for _ in range(10)) if r.status != 503).data
        if images + urls == 1:
            assert row["images"] is None and row["media_urls"] == []
            return
        assert [i["index"] for i in row["images"]] == list(range(4)) and len(row["media_urls"]) == 4
        links = [i["image_url"] for i in row["images"]]
        assert [client.http.get(client.server.base + link).content == drawn() for link in links] == [False] * images + [True] * urls


def test_what_is_judged_first(client, web):
    """How many, then what each value is, then the options, then the place; then they are fetched."""
    bad, lost = "http://images.example.test/a", "loc_0000000000000000000000"
    options = {"match": {"location": True}}
    before = len(web.seen)
    client.refused("POST", PATH, 400, "inference.too_many_images", [], {"image_url": [bad] * 5, "options": options, "location_id": lost})
    client.refused("POST", PATH, 400, "inference.protocol", ["image_url"], {"image_url": bad, "options": options, "location_id": lost})
    client.refused("POST", PATH, 400, "validation.failed", ["options.match.location"], {"image_url": web.url("/404"), "options": options, "layout_id": lost})
    client.refused("POST", PATH, 400, "validation.failed", ["location_id"], {"image_url": web.url("/404"), "location_id": lost})
    assert len(web.seen) == before
    client.refused("POST", PATH, 400, "inference.unreachable", ["image_url"], {"image_url": web.url("/404")})


def test_they_are_fetched_side_by_side(client, web):
    """Four that each wait for the others to be asked."""
    asked = []

    def together(handler):
        asked.append(handler.path)
        end = time.monotonic() + 4  # short: less than what a fetch may take without a byte
        while len(asked) < 4 and time.monotonic() < end:
            time.sleep(0.02)
        handler.answer(200 if len(asked) >= 4 else 404, drawn())

    web.pages["/together"] = together
    row = by_url(client, [web.url(f"/together?{i}") for i in range(4)]).data
    assert [i["error"] for i in row["images"]] == [None] * 4


def test_later(client, web):
    """With `Prefer: respond-async` they are fetched before the answer."""
    headers = {"Prefer": "respond-async"}
    client.refused("POST", PATH, 400, "inference.unreachable", ["image_url"], {"image_url": web.url("/404")}, headers=headers)
    client.refused("POST", PATH, 502, "file.download", ["image_url"], {"image_url": web.url("/500")}, headers=headers)
    before = len(web.seen)
    row = client.post(PATH, {"image_url": [web.url("/label.png"), web.url("/404")]}, headers=headers, expect=202).data
    assert len(web.seen) == before + 2 and [i["error"] for i in row["images"]] == [None, "inference.unreachable"]
