"""What time does to documents: spec 05 sections 2, 3 and 3.3."""
import contextlib
import os
import signal
import socket
import urllib.parse

import pytest
import requests

from document_files import DOCUMENTS, PDF, announce, get, link, make, post, put
from wharf import WAIT, Client, Server, until

DAY = 86400


class World:
    def __init__(self):
        self.server = Server("--modules", "org,documents", "--test-clock", "--set", "blob.grace=0")
        self.client = self.server.organization().client()
        self.offset = 0

    def ahead(self, seconds):
        self.offset += seconds
        Client(self.server, self.server.demo_key).post("/v1/system/clock", {"offset_seconds": self.offset}, expect=200)


@pytest.fixture(scope="module")
def world():
    w = World()
    yield w
    w.server.stop()


def status(url):
    r = requests.get(url, timeout=WAIT)
    return r.status_code, r.json()["code"] if r.status_code >= 400 else None


def test_signed_url_is_good_for_15_minutes(world):
    """Spec 05 section 3.3 [S]: works at 14:59, 403 signature.expired at 15:01; each retrieve issues a new one."""
    row = make(world.client)
    url = link(world.server, get(world.client, row, "?include_document_url=true")["document_url"])
    world.ahead(14 * 60 + 30)
    assert status(url) == (200, None)
    world.ahead(31)
    until(lambda: status(url) == (403, "signature.expired"))
    assert status(link(world.server, get(world.client, row, "?include_document_url=true")["document_url"])) == (200, None)


def test_upload_url_is_good_for_an_hour(world):
    """Spec 05 section 2 [P]: an hour; the document itself waits for a day, then it is expired, and can be renewed."""
    row = announce(world.client)
    world.ahead(3601)
    until(lambda: put(world.server, row, PDF).json()["code"] == "signature.expired")
    assert get(world.client, row)["status"] == "requested"
    again = post(world.client, row, renew_upload=True)
    world.ahead(DAY)
    until(lambda: get(world.client, row)["status"] == "expired")
    assert put(world.server, again, PDF).status_code in (403, 404)
    again = post(world.client, row, renew_upload=True)
    assert again["status"] == "requested" and put(world.server, again, PDF).status_code == 200
    assert get(world.client, row)["status"] == "completed"


def test_expired_rows_go_after_30_days(world):
    """Spec 05 section 2: the row of an expired document stays 30 days."""
    row = announce(world.client)
    world.ahead(DAY + 1)
    until(lambda: get(world.client, row)["status"] == "expired")
    world.ahead(29 * DAY)
    assert get(world.client, row)["status"] == "expired"
    world.ahead(DAY + 61)
    until(lambda: world.client.get(f"{DOCUMENTS}/{row['id']}", expect=None).status == 404)


def test_bytes_of_deleted_documents_go_after_30_days(world):
    row = make(world.client, PDF + b"kept")
    file = world.server.sql("SELECT file_id FROM documents.document WHERE id = %s", row["id"])[0][0]
    world.client.delete(f"{DOCUMENTS}/{row['id']}")
    there = lambda: world.server.sql("SELECT 1 FROM wharf.file WHERE id = %s", file)
    world.ahead(29 * DAY)
    world.server.command("files", "collect")
    assert there()
    world.ahead(2 * DAY)
    until(lambda: world.server.sql("SELECT 1 FROM documents.document WHERE id = %s", row["id"]) == [])
    until(lambda: not there())


def test_a_killed_upload_leaves_nothing(world):
    """Spec 05 section 16, 5: kill -9 during the PUT leaves no visible file; the link is still good."""
    row = announce(world.client, mime_type="application/pdf", size=1 << 20)
    url = urllib.parse.urlsplit(link(world.server, row["upload_url"]))
    objects = lambda: {p for p in (world.server.folder / "blobs" / "objects").rglob("*") if p.is_file()}  # those of deleted ones go meanwhile
    before, there = world.server.workers("web"), objects()
    with socket.create_connection((url.hostname, url.port), timeout=WAIT) as s:
        s.sendall(f"PUT {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/pdf\r\nContent-Length: {1 << 20}\r\n\r\n".encode() + PDF + b"\0" * 300000)
        temporary = lambda: [p for p in (world.server.folder / "blobs").rglob("*") if p.is_file() and "objects" not in p.parts]
        until(temporary)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
    until(lambda: not set(before) & set(world.server.workers("web")) and len(world.server.workers("web")) == len(before))
    until(lambda: _answers(world))
    assert get(world.client, row)["status"] == "requested" and objects() <= there
    assert put(world.server, row, PDF.ljust(1 << 20, b"\0")).status_code == 200 and get(world.client, row)["status"] == "completed"


def _answers(world):
    with contextlib.suppress(requests.ConnectionError):
        return requests.get(world.server.base + "/readyz", timeout=WAIT).status_code == 200
    return False
