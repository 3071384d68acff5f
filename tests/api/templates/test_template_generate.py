"""Elements become a PDF: spec 05 sections 9 and 16."""
import base64
import hashlib

import pytest
import requests

from drawings import GENERATE, PNG, SVG, codes, generate, image, made, pages, picture, rect, refused, said, sound, text, uri, whole, words
from wharf import WAIT, Client, Server, until

DAY = 86400


def test_a_label(client):
    answer = generate(client, text("Springfield", x=30, y=40, height=14), {"type": "code128", "x": 30, "y": 100, "width": 200, "height": 50, "value": "WHRF-0001"},
                      {"type": "qr", "x": 30, "y": 180, "size": 90, "value": "https://example.com/1"}, rect(30, 300), filename="label")
    data, pdf = answer.data, whole(client, answer)
    assert (data["object"], data["filename"], data["format"], data["pages"], data["width"], data["height"]) == ("generated_pdf", "label.pdf", "pdf", 1, 288, 432)
    assert data["id"].startswith("pdf_") and data["size"] == len(pdf) and data["sha256"] == hashlib.sha256(pdf).hexdigest()
    assert (data["elements_total"], data["elements_rendered"], data["element_errors"], answer.errors, answer.message) == (4, 4, [], [], "PDF generated")
    assert sound(pdf) and pages(pdf) == [(288, 432)]
    page, left, top, _, bottom, word = words(pdf)[0]
    assert word == "Springfield" and abs(left - 30) <= 1 and bottom > top
    assert codes(picture(pdf)) == [("CODE-128", "WHRF-0001"), ("QR-Code", "https://example.com/1")]


def test_the_link_is_public_and_its_own(client, server):
    """Spec 05 section 9.2 [P]: unguessable, no key, 30 days."""
    a, b = generate(client), generate(client)
    url = a.data["url"] if a.data["url"].startswith("http") else server.base + a.data["url"]
    token, name = url.split("/v1/public/files/")[1].split("/")
    assert len(token) == 43 and name == "document.pdf" and a.data["url"] != b.data["url"]
    r = requests.get(url, timeout=WAIT)
    assert r.status_code == 200 and r.headers["Content-Type"] == "application/pdf"
    for wrong in (url[:-1], url.replace(token, token[::-1]), url.replace(name, "other.pdf")):
        assert requests.get(wrong, timeout=WAIT).status_code == 404
    assert requests.get(url, headers={"Range": "bytes=0-4"}, timeout=WAIT).content == b"%PDF-"


def test_a_generated_file_goes_with_its_link():
    """Spec 05 section 9.2: after `generated_retention_days` the link is dead, and the hourly collection takes the row and the token, so the bytes have no name."""
    server = Server("--modules", "org,locations,events,templates", "--test-clock", "--set", "templates.generated_retention_days=30")
    try:
        clock, client = Client(server, server.demo_key), server.organization().client()
        made = generate(client).data
        url = made["url"] if made["url"].startswith("http") else server.base + made["url"]
        kept = lambda: server.sql("SELECT (SELECT count(*) FROM wharf.file), (SELECT count(*) FROM wharf.token)")  # noqa: E731
        before = kept()
        clock.post("/v1/system/clock", {"offset_seconds": 30 * DAY - 600}, expect=200)
        assert requests.get(url, timeout=WAIT).status_code == 200 and kept() == before
        clock.post("/v1/system/clock", {"offset_seconds": 30 * DAY + 600}, expect=200)
        assert requests.get(url, timeout=WAIT).status_code == 404
        clock.post("/v1/system/clock", {"offset_seconds": 32 * DAY}, expect=200)
        until(lambda: kept()[0][0] == before[0][0] - 1)
        until(lambda: kept()[0][1] < before[0][1])
    finally:
        server.stop()


def test_the_same_request_gives_the_same_bytes(client):
    """Spec 05 section 9.4 [O]: same input, same bytes; `now` is the request's."""
    raw = [text("Ünïcode ✓"), {"type": "qr", "x": 10, "y": 60, "size": 60, "value": "A"}, image(uri(SVG, "image/svg+xml"))]
    a, b = (generate(client, *raw, output="base64").data for _ in range(2))
    assert a["content"] == b["content"] and a["sha256"] == b["sha256"] and a["url"] is None
    with_time = generate(client, text("{{now | date:'YYYY-MM-DD'}}"), output="base64").data["content"]
    assert made(base64.b64decode(a["content"])).startswith("1970-01-01") and not made(base64.b64decode(with_time)).startswith("1970")


def test_the_body_itself(client, server):
    """Spec 05 section 9.1 [O]: output binary, or Accept: application/pdf; problems are counted in a header."""
    for more, headers in (({"output": "binary"}, {}), ({}, {"Accept": "application/pdf"}), ({}, {"Accept": "application/json;q=0.5, application/pdf"})):
        r = requests.post(server.base + GENERATE, json={"size": "4x6", "raw": [text(), image("bm8gaW1hZ2U=")], **more}, headers={"SVC-API-KEY": client.key, **headers}, timeout=WAIT)
        assert r.status_code == 200 and r.headers["Content-Type"] == "application/pdf" and r.headers["Element-Errors"] == "1"
        assert sound(r.content)
    r = requests.post(server.base + GENERATE, json={"raw": [text()]}, headers={"SVC-API-KEY": client.key, "Accept": "application/pdf;q=0.1, application/json"}, timeout=WAIT)
    assert r.headers["Content-Type"].startswith("application/json")
    r = requests.post(server.base + GENERATE, json={"raw": [text()]}, headers={"SVC-API-KEY": client.key, "Accept": "image/webp"}, timeout=WAIT)
    assert r.status_code == 406


def test_an_idempotency_key(client):
    key = {"Idempotency-Key": "draw-1"}
    a, b = (client.request("POST", GENERATE, body={"raw": [text()]}, headers=key, expect=200) for _ in range(2))
    assert a.data == b.data
    key, body = {"SVC-API-KEY": client.key, "Idempotency-Key": "draw-2"}, {"raw": [text()], "output": "binary"}
    a, b = (requests.post(client.server.base + GENERATE, json=body, headers=key, timeout=WAIT) for _ in range(2))
    assert a.content == b.content and a.content.startswith(b"%PDF-") and "Idempotent-Replayed" not in b.headers


def test_one_broken_image_among_ten_elements(client):
    """Spec 05 section 9.2 [S]: 200, nine drawn, one entry in element_errors and in errors of the envelope."""
    answer = generate(client, *[text(f"W{i}", y=20 + 20 * i) for i in range(3)], image(uri(b"GIF89a, or so")), *[rect(y=200 + 20 * i) for i in range(6)])
    data = answer.data
    assert (data["elements_total"], data["elements_rendered"], len(data["element_errors"])) == (10, 9, 1)
    error = data["element_errors"][0]
    assert (error["index"], error["path"], error["type"]) == (3, "raw.3", "image") and error["code"].startswith("image.")
    assert answer.errors == [f"raw.3: {error['message']}"] and answer.message == "PDF generated with 1 element error"
    assert said(sound(whole(client, answer))) == ["W0", "W1", "W2"]


def test_the_box_of_an_image(client):
    """Spec 05 section 9.3 [S]: at most 5,000 by 5,000 points."""
    answer = generate(client, text(), image(uri(PNG), width=5000, height=5000), image(uri(PNG), width=5001, height=10))
    assert [(e["path"], e["code"]) for e in answer.data["element_errors"]] == [("raw.2", "image.box_too_large")]


def test_nothing_could_be_drawn(client):
    """Spec 05 section 9.2: zero elements rendered is 400 with the same entries."""
    answer = client.refused("POST", GENERATE, 400, "template.nothing_rendered", body={"raw": [image("bm8gaW1hZ2U=")]})
    assert len(answer.errors) == 1 and answer.errors[0].startswith("raw.0: ")


def test_strict(client):
    """Spec 05 section 9.1 [O]: element problems and missing variables become 400."""
    answer = client.refused("POST", GENERATE, 400, "template.render_failed", body={"raw": [text(), image("bm8gaW1hZ2U=")], "strict": True})
    assert len(answer.errors) == 1 and answer.errors[0].startswith("raw.1: ")
    client.refused("POST", GENERATE, 400, "template.render_failed", body={"raw": [text("PO {{order.po}}")], "strict": True})
    assert generate(client, text("PO {{order.po}}")).data["warnings"][0]["code"] == "variable.missing"


def test_variables(client):
    answer = generate(client, text("{{order.number}} for {{name | upper}}"), text("hidden", y=60, **{"if": "order.rush"}),
                      text("{{item.sku}}", y=90, repeat={"each": "order.lines", "dy": 20}), data={"name": "Ada", "order": {"number": 17, "rush": False, "lines": [{"sku": "A-1"}, {"sku": "B-2"}]}})
    assert said(whole(client, answer)) == ["17", "for", "ADA", "A-1", "B-2"]


@pytest.mark.parametrize("size, more, sides", [(None, {}, (595, 842)), ("a4", {}, (595, 842)), ("LETTER", {}, (612, 792)), ("a6", {}, (298, 420)), ("label_2x1", {}, (144, 72)),
                                               ("page_size_label_2x1", {}, (144, 72)), ("letter", {"orientation": "landscape"}, (792, 612)), ("custom", {"width": 72, "height": 100.5}, (72, 100.5))])
def test_sizes(client, size, more, sides):
    data = generate(client, size=size, **more).data
    assert (data["width"], data["height"]) == sides


def test_elements_inside_of_the_margins_move_nothing(client):
    """Spec 05 section 9.5 [S]: default margins of 18; absolute elements that all begin on the page stay, on one page."""
    answer = generate(client, text("Top", x=2, y=2), text("Low", x=2, y=420, height=8), margin_top=100, margin_bottom=100)
    pdf = whole(client, answer)
    assert pages(pdf) == [(288, 432)]
    assert [(round(w[1]), w[5]) for w in words(pdf)] == [(2, "Top"), (2, "Low")]


def test_a_document(org, client):
    """Spec 05 section 9.1 [O]: output document."""
    answer = generate(client, output="document", filename="slip", document={"name": "Slip 17", "category": "packing_slip", "metadata": {"order": "17"}}, expect=201)
    row = client.get(f"/v1/documents/{answer.data['document_id']}").data
    assert (row["name"], row["filename"], row["category"], row["visibility"], row["status"], row["pages"]) == ("Slip 17", "slip.pdf", "packing_slip", "private", "completed", 1)
    assert row["metadata"] == {"order": "17"} and row["checksum_sha256"] == answer.data["sha256"] and answer.data["url"] is None
    refused(client, ["document.category"], output="document", document={"category": "napkin"})


def test_fonts_and_images_that_are_documents(client):
    made = client.post("/v1/documents", {"name": "Logo", "visibility": "private", "content": uri(PNG)}, expect=201).data["id"]
    answer = generate(client, text(), {"type": "image", "x": 10, "y": 50, "width": 20, "height": 20, "document_id": made})
    assert answer.data["elements_rendered"] == 2
    refused(client, ["raw.0.document_id"], {"type": "image", "x": 10, "y": 50, "document_id": "dcmt_0000000000000000000000"})
    refused(client, ["fonts.0.document_id"], fonts=[{"family": "Mine", "document_id": "dcmt_0000000000000000000000"}])


def test_documents_that_are_too_much_together(client):
    """Of images that have more than 64 MiB together those that come first are drawn; the rest is told."""
    made = [client.post("/v1/documents", {"name": f"Large {i}", "visibility": "private", "content": uri(PNG + bytes([i]) * (9_900_000 - len(PNG)))}, expect=201).data["id"] for i in range(7)]
    answer = generate(client, *({"type": "image", "x": 10, "y": 20 + 30 * i, "width": 20, "height": 20, "document_id": id} for i, id in enumerate(made)))
    assert [(e["path"], e["code"]) for e in answer.data["element_errors"]] == [("raw.6", "file.too_large")] and answer.data["elements_rendered"] == 6
