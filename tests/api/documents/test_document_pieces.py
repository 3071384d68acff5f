"""Documents whose bytes come in pieces: the protocol tus 1.0 (spec 05 section 2.2). The client of others is tried in tests/tus."""
import base64
import concurrent.futures
import hashlib
import os

import pytest
import requests

from document_files import DOCUMENTS, PDF, announce, b64, get, link, md5, put, sha256
from wharf import WAIT, until

UPLOADS = f"{DOCUMENTS}/uploads"
TUS = {"Tus-Resumable": "1.0.0"}


def metadata(**members):
    return ",".join(key if value is None else f"{key} {b64(value.encode())}" for key, value in members.items())


def begin(client, length=None, /, **members):
    members = {"name": "Contract 2026", "visibility": "private", **members}
    size = {"Upload-Length": str(length)} if length is not None else {"Upload-Defer-Length": "1"}
    return client.request("POST", UPLOADS, headers={**TUS, **size, "Upload-Metadata": metadata(**members)}, expect=201)


def head(server, url):
    return requests.head(link(server, url), headers=TUS, timeout=WAIT)


def piece(server, url, offset, data, **more):
    headers = {**TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": str(offset), **{k.replace("_", "-"): v for k, v in more.items()}}
    return requests.patch(link(server, url), data=data, headers={k: v for k, v in headers.items() if v is not None}, timeout=WAIT)


def part(server, url):
    """The file beside the objects that has what came so far."""
    return server.folder / "blobs" / "tmp" / f"part-{url.split('?')[0].rsplit('/', 1)[1]}"


def code(r):
    return r.status_code, r.json()["code"]


def at(r):
    assert r.headers["Tus-Resumable"] == "1.0.0"
    return int(r.headers["Upload-Offset"])


def test_creation(client):
    answer = begin(client, len(PDF), filename="a b.pdf", filetype="application/pdf", category="contract", notes="ü", metadata='{"po": "7"}', relativePath=None, type="x")
    row = answer.data
    assert (row["status"], row["filename"], row["mime_type"], row["category"], row["notes"], row["metadata"], row["size"]) == \
        ("requested", "a b.pdf", "application/pdf", "contract", "ü", {"po": "7"}, len(PDF))
    assert answer.headers["Tus-Resumable"] == "1.0.0" and "op=put" in answer.headers["Location"]


def test_a_name_alone_is_enough_of_a_file(client):
    assert begin(client, 5, name=None, filename="scan.pdf").data["name"] == "scan.pdf"


def test_pieces(client, server):
    """Each piece goes on where the one before ended; the last one makes the document completed."""
    url = begin(client, len(PDF), filetype="application/pdf").headers["Location"]
    first = head(server, url)
    assert (first.status_code, at(first), first.headers["Upload-Length"], first.headers["Cache-Control"]) == (200, 0, str(len(PDF)), "no-store")
    assert first.headers["Upload-Expires"].endswith("GMT")
    r = piece(server, url, 0, PDF[:10])
    assert (r.status_code, at(r), r.content) == (204, 10, b"") and at(head(server, url)) == 10
    assert at(piece(server, url, 10, PDF[10:20])) == 20
    assert at(piece(server, url, 20, b"")) == 20
    r = piece(server, url, 20, PDF[20:])
    assert (r.status_code, at(r)) == (204, len(PDF))
    row = client.get(f"{DOCUMENTS}?sort=-created_at&limit=1").data[0]
    assert (row["status"], row["checksum_sha256"], row["checksum_md5"], row["size"]) == ("completed", sha256(PDF), None, len(PDF))
    done = head(server, url)  # a client that did not hear the last answer asks
    assert (at(done), done.headers["Upload-Length"]) == (len(PDF), str(len(PDF)))
    assert code(piece(server, url, len(PDF), b"")) == (409, "file.already_uploaded")
    assert not part(server, url).exists()


def test_an_upload_url_takes_pieces_too(client, server):
    row = announce(client, size=len(PDF))
    assert at(piece(server, row["upload_url"], 0, PDF[:9])) == 9
    assert put(server, row, PDF).status_code == 200  # and a PUT of the whole after them
    assert get(client, row)["status"] == "completed"


def test_a_piece_elsewhere(client, server):
    """A piece that does not begin where the last one ended changes nothing, and is told where it should."""
    url = begin(client, 100).headers["Location"]
    assert at(piece(server, url, 0, b"x" * 10)) == 10
    for offset in (0, 9, 11, 100, 10**14):
        r = piece(server, url, offset, b"y" * 10)
        assert (code(r), at(r)) == ((409, "file.offset_mismatch"), 10)
    assert at(head(server, url)) == 10


def test_size_that_comes_later(client, server):
    answer = begin(client)
    url = answer.headers["Location"]
    first = head(server, url)
    assert first.headers["Upload-Defer-Length"] == "1" and "Upload-Length" not in first.headers
    assert at(piece(server, url, 0, PDF[:10])) == 10
    assert code(piece(server, url, 10, b"", Upload_Length="0"))[0] == 400
    assert at(piece(server, url, 10, PDF[10:20], Upload_Length=str(len(PDF)))) == 20
    assert head(server, url).headers["Upload-Length"] == str(len(PDF))
    assert code(piece(server, url, 20, b"", Upload_Length="99")) == (400, "file.upload_invalid")
    assert at(piece(server, url, 20, PDF[20:])) == len(PDF)
    assert get(client, answer.data)["status"] == "completed"


@pytest.mark.parametrize("name", ["sha1", "md5", "sha256"])
def test_checksums_of_pieces(client, server, name):
    """A piece that is not the one of its checksum is forgotten."""
    answer = begin(client, len(PDF))
    url = answer.headers["Location"]
    sums = [f"{name} {b64(hashlib.new(name, data).digest())}" for data in (PDF[:10], PDF[10:])]
    assert at(piece(server, url, 0, PDF[:10], Upload_Checksum=sums[0])) == 10
    assert code(piece(server, url, 10, b"z" * (len(PDF) - 10), Upload_Checksum=sums[1])) == (460, "file.piece_damaged")
    assert at(head(server, url)) == 10
    for bad in ("crc32 AAAA", "sha1", "sha1 !", f"sha1 {b64(b'x')}", "md5  " + b64(bytes(16))):
        assert code(piece(server, url, 10, PDF[10:], Upload_Checksum=bad)) == (400, "file.upload_invalid"), bad
    assert at(piece(server, url, 10, PDF[10:], Upload_Checksum=sums[1])) == len(PDF)
    assert get(client, answer.data)["checksum_sha256"] == sha256(PDF)


def test_who_reads_a_refusal_goes_on_at_once(client, server):
    """What is refused behind its bytes has let go of the file when the answer comes: HEAD and the next piece are never 423, however busy the server is."""
    damaged = f"sha1 {b64(hashlib.sha1(PDF).digest())}"

    def bring(url):
        for _ in range(60):
            assert code(piece(server, url, 0, PDF[:10], Upload_Checksum=damaged)) == (460, "file.piece_damaged")
            assert at(head(server, url)) == 0
            assert code(piece(server, url, 0, PDF[:10], Upload_Checksum=damaged)) == (460, "file.piece_damaged")
        return at(piece(server, url, 0, PDF))
    urls = [begin(client, len(PDF)).headers["Location"] for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(bring, urls)) == [len(PDF)] * 8
    assert code(piece(server, urls[0], len(PDF), b"")) == (409, "file.already_uploaded") and at(head(server, urls[0])) == len(PDF)


def test_refusals(client, server):
    answer = begin(client, 20)
    url = answer.headers["Location"]
    old = piece(server, url, 0, b"x", **{"Tus-Resumable": "0.2.2"})
    assert (code(old), old.headers["Tus-Version"]) == ((412, "file.tus_version"), "1.0.0")
    assert code(piece(server, url, 0, b"x", **{"Tus-Resumable": None})) == (412, "file.tus_version")
    assert code(piece(server, url, 0, b"x", **{"Content-Type": "application/pdf"})) == (415, "media_type.unsupported")
    for offset in ("-1", "", "x", "1e3", "9" * 40, None):
        assert code(piece(server, url, 0, b"x", **{"Upload-Offset": offset})) == (400, "file.upload_invalid"), offset
    assert code(piece(server, url, 0, b"x" * 21)) == (400, "file.upload_invalid") and at(head(server, url)) == 0
    assert code(piece(server, url.replace("op=put", "op=get"), 0, b"x")) == (403, "signature.invalid")
    assert code(piece(server, url[:-1] + ("A" if url[-1] != "A" else "B"), 0, b"x")) == (403, "signature.invalid")
    assert requests.head(link(server, url.replace("op=put", "op=get")), timeout=WAIT).status_code == 403
    client.delete(f"{DOCUMENTS}/{answer.data['id']}", expect=200)
    assert code(piece(server, url, 0, b"x")) == (404, "not_found") and head(server, url).status_code == 404


def test_creations_that_are_refused(client, server):
    def refused(status, problem, headers, data=b""):
        answer = client.request("POST", UPLOADS, headers=headers, data=data)
        assert (answer.status, answer.code) == (status, problem), answer
        return answer
    good = {**TUS, "Upload-Length": "5", "Upload-Metadata": metadata(name="x.pdf", visibility="private")}
    assert refused(412, "file.tus_version", {**good, "Tus-Resumable": "2.0.0"}).headers["Tus-Version"] == "1.0.0"
    for length in ("", "-5", "five", "0", "9" * 16):
        refused(400, "validation.failed", {**good, "Upload-Length": length})
    refused(400, "validation.failed", {**good, "Upload-Defer-Length": "1"})
    refused(400, "validation.failed", {**TUS, "Upload-Metadata": good["Upload-Metadata"]})
    refused(400, "validation.failed", good, b"bytes")
    for bad in (metadata(name="x.pdf"), metadata(visibility="private"), good["Upload-Metadata"] + ",color " + b64(b"red"), good["Upload-Metadata"] + ",notes !!",
                good["Upload-Metadata"] + "," + metadata(metadata="{"), good["Upload-Metadata"] + ",notes " + base64.b64encode(b"\xff\xfe").decode()):
        refused(400, "validation.failed", {**good, "Upload-Metadata": bad})
    reader = server.organization().client(scopes="documents:read")
    assert reader.request("POST", UPLOADS, headers=good).code == "scope_access"


def test_what_comes_is_judged_as_a_put(client, server):
    """Spec 05 section 2: a file whose bytes are not those that were announced is refused with its last piece."""
    answer = begin(client, len(PDF), filetype="image/png")
    url = answer.headers["Location"]
    assert at(piece(server, url, 0, PDF[:10])) == 10
    assert code(piece(server, url, 10, PDF[10:])) == (400, "file.upload_invalid")
    row = get(client, answer.data)
    assert (row["status"], row["failure_reason"]) == ("failed", "mime_mismatch")
    assert head(server, url).status_code == 404
    assert not part(server, url).exists()


def test_pieces_are_not_packed(client, server):
    url = begin(client, len(PDF)).headers["Location"]
    assert code(piece(server, url, 0, PDF, Content_Encoding="gzip")) == (415, "content_encoding.unsupported")
    assert at(piece(server, url, 0, PDF, Content_Encoding="identity")) == len(PDF)


def test_a_cut_connection_keeps_what_came(client, server):
    """What arrived before the connection was cut is there, and the upload goes on behind it."""
    data = os.urandom(3 << 20)
    answer = begin(client, len(data))
    path = answer.headers["Location"]
    path = path[path.index("/v1/"):]
    with server.connect(WAIT) as s:
        s.sendall(f"PATCH {path} HTTP/1.1\r\nHost: x\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\n"
                  f"Content-Length: {len(data)}\r\n\r\n".encode() + data[:2 << 20])
        until(lambda: part(server, path).exists() and part(server, path).stat().st_size == 2 << 20)
        assert code(piece(server, path, 0, b"x")) == (423, "file.upload_busy") and head(server, path).status_code == 423
    here = at(until(lambda: (r := head(server, path)).status_code == 200 and r))
    assert here == 2 << 20
    assert at(piece(server, path, here, data[here:])) == len(data)
    assert get(client, answer.data)["checksum_sha256"] == hashlib.sha256(data).hexdigest()


def test_the_last_byte_is_asked_for_until_the_file_is_taken(client, server):
    """A server that died between the last byte and taking the file still takes it: HEAD does not say that all is here."""
    answer = begin(client, len(PDF))
    url = answer.headers["Location"]
    assert at(piece(server, url, 0, PDF[:10])) == 10
    with part(server, url).open("ab") as f:
        f.write(PDF[10:])
    assert at(head(server, url)) == len(PDF) - 1 and not get(client, answer.data)["versions_count"]
    assert at(piece(server, url, len(PDF) - 1, PDF[-1:])) == len(PDF)
    assert get(client, answer.data)["checksum_sha256"] == sha256(PDF)
