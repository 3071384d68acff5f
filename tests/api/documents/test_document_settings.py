"""Settings of documents, scanners, measures: spec 05 sections 1, 2, 3.5 and 6."""
import struct
import time

import pytest

from document_files import DOCUMENTS, PDF, PNG, announce, b64, body, get, make, pdf, post, put
from wharf import BUILD, Server


@pytest.fixture(scope="module")
def limited():
    s = Server("--modules", f"org,documents,{BUILD}/tests/plugins/scanner.so", "--set", "rate_limit.endpoint=true", "--set", "documents.quota_bytes=5000", "--set", "documents.extra_categories=blueprint,menu",
               "--set", "documents.create_limits.organization=30", "--set", "documents.create_limits.user=20", "--set", "documents.create_limits.ip=25")
    yield s
    s.stop()


def test_extra_categories(limited, client):
    """Spec 05 section 1: documents.extra_categories adds categories."""
    own = limited.organization().client()
    assert make(own, category="blueprint")["category"] == "blueprint" and make(own, category="menu")["category"] == "menu"
    own.refused("POST", DOCUMENTS, 400, "validation.failed", ["category"], body=body(content=b64(PDF), category="recipe"))
    client.refused("POST", DOCUMENTS, 400, "validation.failed", ["category"], body=body(content=b64(PDF), category="blueprint"))
    row = make(client, category="packing_slip")
    client.refused("POST", f"{DOCUMENTS}/{row['id']}", 400, "validation.failed", ["category"], body={"category": "menu"})
    for category in ("bol", "coa", "item_label", "photo", "invoice", "spec_sheet", "contract", "shipping_label", "pod", "customs", "commercial_invoice", "manual", "certificate", "sds", "receipt", "report",
                     "signature", "other", None):
        assert post(client, row, category=category)["category"] == category


def test_quota(limited):
    """Spec 05 section 6: over the quota of the organization 400 document.quota_exceeded, however the bytes come."""
    c = limited.organization().client()
    row = make(c, b"x" * 3000)
    c.refused("POST", DOCUMENTS, 400, "document.quota_exceeded", [], body=body(content=b64(b"y" * 2001)))
    waiting = announce(c)
    r = put(limited, waiting, b"z" * 2001)
    assert (r.status_code, r.json()["code"]) == (400, "document.quota_exceeded") and get(c, waiting)["status"] == "requested"
    assert put(limited, waiting, b"z" * 2000).status_code == 200
    c.delete(f"{DOCUMENTS}/{row['id']}")
    c.refused("POST", DOCUMENTS, 400, "document.quota_exceeded", [], body=body(content=b64(b"y" * 2001)))
    again = announce(c)
    c.delete(f"{DOCUMENTS}/{again['id']}?purge=true")
    c.delete(f"{DOCUMENTS}/{waiting['id']}?purge=true")
    assert make(c, b"y" * 2000)["status"] == "completed"


def test_scanners_reject_files(limited):
    """Spec 05 section 2: documents.scan answers reject; nothing of the file is kept."""
    c = limited.organization().client()
    a = c.refused("POST", DOCUMENTS, 400, "document.rejected", ["content"], body=body(content=b64(b"an EVIL text")))
    assert "is evil" in str(a.body["message"])
    row = announce(c)
    r = put(limited, row, b"EVIL again")
    assert (r.status_code, r.json()["code"]) == (400, "file.upload_invalid")
    assert (get(c, row)["status"], get(c, row)["failure_reason"]) == ("failed", "rejected")
    good = make(c, b"a good text")
    c.refused("POST", f"{DOCUMENTS}/{good['id']}", 400, "document.rejected", ["content"], body={"content": b64(b"EVIL")})
    renewed = post(c, good, renew_upload=True)
    assert put(limited, renewed, b"EVIL").status_code == 400
    assert (get(c, good)["status"], get(c, good)["version"], get(c, good)["failure_reason"]) == ("completed", 1, None)


@pytest.mark.parametrize("who", ["user", "organization", "ip"])
def test_create_limits(who):
    """Spec 05 section 3.5 [S]: creates have a limit per address, user and organization: 429 rate_limited, endpoint."""
    s = Server("--modules", "org,documents", "--set", "rate_limit.endpoint=true", "--set", f"documents.create_limits.{who}=3")
    try:
        org = s.organization()
        c, other = org.client(), s.organization().client()
        for _ in range(3):
            announce(c)
        a = c.refused("POST", DOCUMENTS, 429, "rate_limited", ["endpoint"], body=body())
        if who == "ip":
            other.refused("POST", DOCUMENTS, 429, "rate_limited", ["endpoint"], body=body())
        else:
            announce(other)
    finally:
        s.stop()


def test_create_limits_are_three_times_their_former_values(server):
    """Spec 05 section 3.5 [S]: every bucket was tripled: 3 × 100, 3 × 100, 3 × 500 in a minute."""
    s = Server("--modules", "org,documents", "--set", "rate_limit.endpoint=true")
    try:
        c = s.organization().client()
        begun, made = time.monotonic(), 0
        while (last := c.request("POST", DOCUMENTS, body=body())).status == 201 and made < 3000:
            made += 1
        assert last.code == "rate_limited", last
        assert 300 <= made <= 300 + (time.monotonic() - begun) * 300 / 60 + 1
    finally:
        s.stop()


def jpeg(width, height):
    return b"\xff\xd8\xff\xe0\0\4\0\0\xff\xc0\0\x11\x08" + struct.pack(">HH", height, width) + b"\3\1\x22\0\2\x11\1\3\x11\1\xff\xd9"


@pytest.mark.parametrize("data, pages, width, height", [
    (pdf(3), 3, 8.5, 11), (pdf(1, 288, 432), 1, 4, 6), (PNG, None, 1, 1), (b"GIF89a\5\0\7\0....", None, 5, 7), (jpeg(640, 480), None, 640, 480),
    (b"RIFF\x30\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\x3f\0\0\x2f\0\0" + bytes(20), None, 64, 48), (PDF, None, None, None), (b"text", None, None, None)])
def test_pages_and_measures(client, server, data, pages, width, height):
    """Spec 05 section 1: pages and inches of a PDF, pixels of an image; of what can't be read, null."""
    row = make(client, data)
    assert (row["pages"], row["width"], row["height"]) == (pages, width, height)
    brought = announce(client)
    assert put(server, brought, data).status_code == 200
    brought = get(client, brought)
    assert (brought["pages"], brought["width"], brought["height"]) == (pages, width, height)
    version = client.get(f"{DOCUMENTS}/{row['id']}/versions").data[0]
    assert (version["pages"], version["width"], version["height"]) == (pages, width, height)
