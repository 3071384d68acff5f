"""Documents on a full disk: 503 storage.unavailable with the row as it was, and all goes on when there is room again (spec 05 section 2, docs/reference/files.md)."""
import os
import pathlib

import pytest
import requests

from document_files import DOCUMENTS, announce, b64, body, get, link, make, post, put, sha256
from s3 import Store
from small_disk import fill, make_room, small_disk
from wharf import WAIT, Server

MEGABYTE = 1 << 20


class Small:
    """A server whose files, or with S3 whose temporary files, are on a small disk."""

    def __init__(self, place, store=None):
        self.place, self.store = pathlib.Path(place), store
        self.server = Server("--modules", "org,documents", *(store.settings() if store else ["--set", "blob.driver=dir"]), "--set", f"blob.dir={place}/blobs", "--set", "blob.grace=0")
        self.client = self.server.organization().client()

    def temporary(self):
        return list((self.place / "blobs" / "tmp").iterdir())

    def row(self, d):
        return self.server.sql("SELECT to_jsonb(d) FROM documents.document d WHERE id = %s", d["id"])[0][0]

    def counts(self):
        return self.server.sql("SELECT (SELECT count(*) FROM documents.document), (SELECT count(*) FROM documents.version), (SELECT count(*) FROM wharf.file)")


@pytest.fixture(scope="module", params=["dir", "s3"])
def small(request):
    store = Store() if request.param == "s3" else None
    with small_disk(64) as place:
        s = Small(place, store)
        try:
            yield s
        finally:
            s.server.stop()
            if store:
                store.shutdown()
                store.server_close()


@pytest.fixture(autouse=True)
def emptied(request):
    yield
    if "small" in request.fixturenames:
        (request.getfixturevalue("small").place / "filler").unlink(missing_ok=True)


def unavailable(answer):
    r = answer if isinstance(answer, requests.Response) else answer.raw
    assert (r.status_code, r.json()["code"], r.headers["Retry-After"]) == (503, "storage.unavailable", "5"), r.text


def content(small, row, query=""):
    return requests.get(f"{small.server.base}{DOCUMENTS}/{row['id']}/content{query}", headers={"SVC-API-KEY": small.client.key}, timeout=WAIT)


# Room for nothing; for the name of a temporary file and some of its bytes.
@pytest.mark.parametrize("spare", [0, 8192, 200000])
def test_a_full_disk(small, spare):
    data = [os.urandom(MEGABYTE + i) for i in range(4)]
    done, waiting, renewed = make(small.client, b"kept " + os.urandom(8), visibility="public"), announce(small.client), make(small.client, b"kept, too " + os.urandom(8))
    renewed = post(small.client, renewed, renew_upload=True)
    rows, counts = [small.row(d) for d in (done, waiting, renewed)], small.counts()
    key = {"Idempotency-Key": f"full-{spare}-{bool(small.store)}"}
    fill(small.place, spare)
    unavailable(small.client.post(DOCUMENTS, body(content=b64(data[0])), expect=503, headers=key))
    unavailable(small.client.post(f"{DOCUMENTS}/{done['id']}", {"content": b64(data[1]), "name": "not this either"}, expect=503))
    for row, bytes in ((waiting, data[2]), (renewed, data[3])):
        unavailable(put(small.server, row, bytes))
        unavailable(put(small.server, row, iter([bytes[:300000], bytes[300000:]])))
    assert [small.row(d) for d in (done, waiting, renewed)] == rows and small.counts() == counts
    assert small.temporary() == []
    make_room(small.place)
    created = small.client.post(DOCUMENTS, body(content=b64(data[0])), expect=201, headers=key).data
    post(small.client, done, content=b64(data[1]))
    assert put(small.server, waiting, data[2]).status_code == 200 and put(small.server, renewed, data[3]).status_code == 200
    for row, bytes, version in ((created, data[0], 1), (done, data[1], 2), (waiting, data[2], 1), (renewed, data[3], 2)):
        now = get(small.client, row)
        assert (now["status"], now["checksum_sha256"], now["version"]) == ("completed", sha256(bytes), version)
        assert sha256(content(small, row).content) == sha256(bytes)
    assert small.temporary() == []


def test_what_needs_no_room_goes_on(small):
    """Announcing, reading from a folder, visibility, delete and purge."""
    shown, hidden, dead = (make(small.client, f"{v} of {small.store}".encode(), visibility=v) for v in ("public", "private", "public"))
    url = {d["id"]: f"{small.server.base}/v1/public/documents/{d['id']}/{d['filename']}" for d in (shown, hidden, dead)}
    fill(small.place)
    row = announce(small.client)
    assert row["upload_url"] and post(small.client, row, renew_upload=True)["upload_url"] != row["upload_url"]
    assert post(small.client, shown, visibility="private")["visibility"] == "private" and post(small.client, hidden, visibility="public")["visibility"] == "public"
    small.client.delete(f"{DOCUMENTS}/{dead['id']}?purge=true")
    small.server.command("files", "collect", *small.server.settings())
    assert requests.get(url[shown["id"]], timeout=WAIT).status_code == requests.get(url[dead["id"]], timeout=WAIT).status_code == 404
    if small.store:  # bytes of S3 come through a temporary file
        unavailable(requests.get(url[hidden["id"]], timeout=WAIT))
        unavailable(content(small, shown))
        make_room(small.place)
    assert requests.get(url[hidden["id"]], timeout=WAIT).status_code == content(small, shown).status_code == 200


def test_room_for_one_copy_is_enough(small):
    """On S3 what came is read again for its type and its MD5, after the temporary file has gone."""
    data, row = os.urandom(3 * MEGABYTE), announce(small.client)
    fill(small.place, 4 * MEGABYTE)
    assert put(small.server, row, data).status_code == 200
    make_room(small.place)
    assert sha256(content(small, row).content) == sha256(data)


def test_no_room_for_a_folder():
    """The last name of the disk is the temporary file's; the folder of the object has none."""
    with small_disk(8, ",nr_inodes=64") as place:
        s = Small(place)
        try:
            done = make(s.client, b"kept")
            names = take_names(place)
            unavailable(s.client.post(DOCUMENTS, body(content=b64(b"no name at all")), expect=503))
            names.pop().unlink()
            there = {p.name for p in (place / "blobs" / "objects").iterdir()}
            data = next(d for d in (f"needs a folder {i}".encode() for i in range(1000)) if sha256(d)[:2] not in there)
            row = announce(s.client)
            counts = s.counts()
            unavailable(s.client.post(DOCUMENTS, body(content=b64(data)), expect=503))
            unavailable(s.client.post(f"{DOCUMENTS}/{done['id']}", {"content": b64(data)}, expect=503))
            unavailable(put(s.server, row, data))
            assert s.counts() == counts and s.temporary() == [] and get(s.client, row)["status"] == "requested" and get(s.client, done)["version"] == 1
            for name in names:
                name.unlink()
            assert put(s.server, row, data).status_code == 200 and content(s, row).content == data
        finally:
            s.server.stop()


def take_names(place):
    names = []
    for i in range(1000):
        try:
            (place / f"name-{i}").touch(exist_ok=False)
        except OSError:
            return names
        names.append(place / f"name-{i}")
    raise AssertionError("the disk has names enough")


def test_links_of_before_are_good(small):
    """A signed link that was made before reads the same bytes after the disk was full."""
    row = make(small.client, b"linked " + os.urandom(4))
    url = link(small.server, get(small.client, row, "?include_document_url=true")["document_url"])
    fill(small.place)
    assert requests.get(url, timeout=WAIT).status_code == (503 if small.store else 200)
    make_room(small.place)
    assert sha256(requests.get(url, timeout=WAIT).content) == row["checksum_sha256"]
