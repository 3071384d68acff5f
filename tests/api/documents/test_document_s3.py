"""Documents whose bytes are on an S3-compatible server (spec 05 sections 3.2 to 4 and 6): all tests of documents once more, and an S3 server that is
slow, in trouble, or loses what it had."""
import re
import threading

import pytest
import requests

import test_document_bytes
import test_document_clock
import test_document_lists
import test_document_settings
import test_document_uploads
import test_documents
from document_files import DOCUMENTS, PDF, announce, b64, body, get, link, make, post, put, sha256
from s3 import Store
from wharf import MODULES, WAIT, Server, until

AGAIN = [test_document_bytes, test_document_clock, test_document_lists, test_document_settings, test_document_uploads, test_documents]


def on_s3(*args, **more):
    """A server with files on an S3 server of its own, which ends with it."""
    store = Store()
    # The job that reads words of files would meet what tests make S3 do.
    s = Server(*args, *store.settings(), "--set", "documents.full_text.enabled=false", **more)
    s.s3, end = store, s.end

    def end_both():
        end()
        store.shutdown()
        store.server_close()

    s.end = end_both
    return s


@pytest.fixture(scope="module", autouse=True)
def everything_on_s3():
    """Servers that the files of AGAIN start are on S3, too."""
    files = [m for m in AGAIN if hasattr(m, "Server")]
    for m in files:
        m.Server = on_s3
    yield
    for m in files:
        m.Server = Server


@pytest.fixture(scope="module")
def server(everything_on_s3):
    s = on_s3("--modules", MODULES)
    yield s
    s.stop()


def take_over():
    """Puts the tests and fixtures of the files of AGAIN into this one."""
    for m in AGAIN:
        for name, thing in vars(m).items():
            if name.startswith("test_") and callable(thing) or hasattr(thing, "_pytestfixturefunction"):
                assert name not in globals(), f"two files have {name}"
                globals()[name] = thing


take_over()


@pytest.fixture(autouse=True)
def healthy(server):
    yield
    server.s3.broken = server.s3.cut = 0
    server.s3.go.set()


def object_of(row_or_hash):
    h = row_or_hash if isinstance(row_or_hash, str) else row_or_hash["checksum_sha256"]
    return f"objects/{h[:2]}/{h}"


def raw(server, row):
    return server.sql("SELECT to_jsonb(d) FROM documents.document d WHERE id = %s", row["id"])[0][0]


def content(client, row, **headers):
    return requests.get(f"{client.server.base}{DOCUMENTS}/{row['id']}/content", headers={"SVC-API-KEY": client.key, **headers}, timeout=WAIT)


def unavailable(answer):
    r = answer if isinstance(answer, requests.Response) else answer.raw
    assert (r.status_code, r.json()["code"], r.headers["Retry-After"]) == (503, "storage.unavailable", "5"), r.text


def test_bytes_are_on_s3_only(client, server):
    row = make(client, b"far away")
    assert server.s3.objects[object_of(row)][0] == b"far away"
    assert not list((server.folder / "blobs").glob("objects/*/*")) and not list((server.folder / "blobs" / "tmp").iterdir())
    waiting = announce(client)
    assert put(server, waiting, b"brought far away").status_code == 200
    assert server.s3.objects[object_of(sha256(b"brought far away"))][0] == b"brought far away"


def test_links_for_plain_clients(client, server):
    """A client that knows nothing of the server: GET and PUT by signed links, with the right type, disposition and range."""
    for data, type, disposition in ((PDF, "application/pdf", "inline"), (b"a,b\n", "text/csv", "attachment"), (b"<p>", "text/html", "attachment"), (b"\0\1", "application/octet-stream", "attachment")):
        row = announce(client, mime_type=type, filename="Größe 1.x", size=len(data))
        assert re.search(r"/v1/files/file_[0-9A-Za-z]{22}\?op=put&exp=\d+&sig=[A-Za-z0-9_-]{43}$", row["upload_url"])
        r = requests.put(link(server, row["upload_url"]), data=data, headers=row["upload_headers"], timeout=WAIT)
        assert (r.status_code, r.content, r.headers["ETag"]) == (200, b"", f'"{sha256(data)}"')
        url = link(server, get(client, row, "?include_document_url=true")["document_url"])
        r = requests.get(url, timeout=WAIT)
        assert (r.status_code, r.content) == (200, data)
        told = {"text/csv": "text/csv; charset=utf-8", "text/html": "application/octet-stream"}.get(type, type)
        assert (r.headers["Content-Type"], r.headers["X-Content-Type-Options"]) == (told, "nosniff")
        assert r.headers["Content-Disposition"] == f"{disposition}; filename=\"Gr__e 1.x\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%201.x"
        assert ("Content-Security-Policy" in r.headers) == (type == "text/html")
        r = requests.get(url, headers={"Range": "bytes=1-1"}, timeout=WAIT)
        assert (r.status_code, r.content, r.headers["Content-Range"]) == (206, data[1:2], f"bytes 1-1/{len(data)}")
        h = requests.head(url, timeout=WAIT)
        assert (h.status_code, h.headers["Content-Length"]) == (200, str(len(data)))


def test_a_slow_server(client, server):
    """Who needs its bytes waits for it; who does not is answered; the document changes when the bytes are there, not before."""
    done, waiting, answers = make(client, b"before it was slow"), announce(client), {}

    def later(name, ask):
        t = threading.Thread(target=lambda: answers.update({name: ask()}))
        t.start()
        return t

    before, seen = raw(server, waiting), len(server.s3.requests)
    server.s3.go.clear()
    threads = [later("put", lambda: put(server, waiting, b"slowly")), later("get", lambda: content(client, done))]
    until(lambda: len(server.s3.requests) >= seen + 2)
    assert raw(server, waiting) == before
    assert get(client, waiting)["status"] == "requested"
    assert post(client, done, visibility="public")["visibility"] == "public" and post(client, done, visibility="private")["visibility"] == "private"
    assert not answers
    server.s3.go.set()
    for t in threads:
        t.join()
    assert answers["put"].status_code == 200 and answers["get"].content == b"before it was slow"
    assert get(client, waiting)["status"] == "completed" and content(client, waiting).content == b"slowly"


@pytest.mark.parametrize("times", [1, 2])
def test_a_server_that_stumbles(client, server, times):
    """Three tries: one or two failures are not seen, neither by who stores nor by who reads."""
    waiting, data = announce(client), f"stumbled {times}".encode()
    server.s3.broken = times
    row = make(client, data)
    assert server.s3.broken == 0
    server.s3.broken = times
    assert put(server, waiting, data + b" too").status_code == 200
    server.s3.broken = times
    r = content(client, row)
    assert (r.status_code, r.content) == (200, data), r.text
    assert server.s3.broken == 0


def test_answers_that_are_cut_off(client, server):
    """Half an answer is never served: it is asked for again, and after three tries there is nothing."""
    data = bytes(range(256)) * 1000
    row = make(client, data)
    server.s3.cut = 2
    assert content(client, row).content == data and server.s3.cut == 0
    server.s3.cut = 3
    unavailable(content(client, row))
    assert content(client, row).content == data


def test_a_server_in_trouble(client, server):
    """503 storage.unavailable with the row as it was; what needs no bytes is done; afterwards all goes on, with the same keys and links."""
    done, waiting = make(client, b"before the trouble", visibility="public"), announce(client)
    renewed = post(client, make(client, b"to be renewed"), renew_upload=True)
    rows = [raw(server, d) for d in (done, waiting, renewed)]
    counts = lambda: server.sql("SELECT (SELECT count(*) FROM documents.document), (SELECT count(*) FROM documents.version), (SELECT count(*) FROM wharf.file)")
    before, key = counts(), {"Idempotency-Key": "in-trouble"}
    public = f"{server.base}/v1/public/documents/{done['id']}/{done['filename']}"
    server.s3.broken = 1 << 30
    unavailable(client.post(DOCUMENTS, body(content=b64(b"in trouble")), expect=503, headers=key))
    unavailable(client.post(f"{DOCUMENTS}/{done['id']}", {"content": b64(b"in trouble"), "name": "changed"}, expect=503))
    unavailable(put(server, waiting, b"in trouble"))
    unavailable(put(server, renewed, b"in trouble, too"))
    unavailable(content(client, done))
    unavailable(requests.get(public, timeout=WAIT))
    assert [raw(server, d) for d in (done, waiting, renewed)] == rows and counts() == before
    assert not list((server.folder / "blobs" / "tmp").iterdir())
    assert post(client, done, visibility="private")["visibility"] == "private"
    assert requests.get(public, timeout=WAIT).status_code == 404
    dead = post(client, done, name="dead soon")
    client.delete(f"{DOCUMENTS}/{dead['id']}?purge=true")
    server.s3.broken = 0
    row = client.post(DOCUMENTS, body(content=b64(b"in trouble")), expect=201, headers=key).data
    assert put(server, waiting, b"in trouble").status_code == 200 and put(server, renewed, b"in trouble, too").status_code == 200
    assert [content(client, d).content for d in (row, waiting, renewed)] == [b"in trouble", b"in trouble", b"in trouble, too"]
    assert requests.get(public, timeout=WAIT).status_code == 404


def test_an_object_that_is_lost(client, server):
    """Not found for who reads it, a fault for `wharf verify`; the document stands, and the same bytes mend it."""
    row, other = make(client, b"to be lost", visibility="public"), make(client, b"to be kept")
    url = link(server, get(client, post(client, row, visibility="private"), "?include_document_url=true")["document_url"])
    post(client, row, visibility="public")
    public = f"{server.base}/v1/public/documents/{row['id']}/{row['filename']}"
    kept = server.s3.objects.pop(object_of(row))
    assert kept[0] == b"to be lost"
    for r in (content(client, row), requests.get(url, timeout=WAIT), requests.get(public, timeout=WAIT)):
        assert (r.status_code, r.json()["code"]) == (404, "not_found")
    assert get(client, row)["status"] == "completed" and content(client, other).content == b"to be kept"
    found = server.verify("--check", "files.objects")["files.objects"]
    assert found["faults"] == 1 and row["checksum_sha256"] in found["shown"][0]["wrong"], found
    again = post(client, row, content=b64(b"to be lost"))
    assert again["version"] == 2 and content(client, row).content == b"to be lost" and requests.get(public, timeout=WAIT).content == b"to be lost"
    assert requests.get(url, timeout=WAIT).content == b"to be lost"  # of the version before: the same bytes
    assert server.verify("--check", "files.objects")["files.objects"]["faults"] == 0


def test_visibility_moves_no_bytes(client, server):
    """Public and private documents are the same objects; what makes one public is its row."""
    row = make(client, b"shown and hidden", visibility="public")
    public, names, seen = f"{server.base}/v1/public/documents/{row['id']}/{row['filename']}", set(server.s3.objects), len(server.s3.requests)
    for visibility, status in (("private", 404), ("public", 200), ("private", 404)):
        post(client, row, visibility=visibility)
        asked = [r for r in server.s3.requests[seen:] if r[0] != "GET"]
        assert requests.get(public, timeout=WAIT).status_code == status and not asked and set(server.s3.objects) == names


def test_collection_on_s3(client, server):
    row, twin, lone = make(client, b"of two"), make(client, b"of two"), make(client, b"of one")
    for d in (twin, lone):
        client.delete(f"{DOCUMENTS}/{d['id']}?purge=true")
    server.command("files", "collect", *server.settings(), "--set", "blob.grace=0")
    assert object_of(row) in server.s3.objects and object_of(lone) not in server.s3.objects and content(client, row).content == b"of two"
