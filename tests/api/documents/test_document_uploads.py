"""Documents whose bytes are brought by a link: spec 05 section 2."""
import os
import threading

import pytest
import requests

from document_files import DOCUMENTS, PDF, PNG, announce, b64, get, link, make, md5, post, put, sha256
from wharf import WAIT


def code(r):
    return r.status_code, r.json()["code"]


def test_upload_url(client, server, org):
    """Spec 05 section 2 [S]: a create without content answers upload_url; the PUT itself makes the document completed."""
    row = announce(client, mime_type="application/pdf", size=len(PDF), checksum_md5=md5(PDF), checksum_sha256=sha256(PDF).upper())
    assert (row["status"], row["filename"], row["size"], row["versions_count"], row["version"]) == ("requested", "Contract 2026.pdf", len(PDF), 0, 1)
    assert row["upload_headers"] == {"Content-Type": "application/pdf", "Content-MD5": md5(PDF)} and row["upload_expires_at"] and row["duplicate_of"] is None
    assert row["file"] == {"name": "Contract 2026", "url": row["file"]["url"], "checksum": None, "size": None, "mime_type": None}
    shown = get(client, row)
    assert "upload_url" not in shown and "upload_headers" not in shown and "upload_expires_at" not in shown and "duplicate_of" not in shown
    answer = put(server, row, PDF)
    assert answer.status_code == 200 and answer.headers["ETag"] == f'"{sha256(PDF)}"'
    done = get(client, row)
    assert (done["status"], done["versions_count"], done["version"], done["failure_reason"]) == ("completed", 1, 1, None)
    assert done["file"] == {**row["file"], "checksum": sha256(PDF), "size": str(len(PDF)), "mime_type": "application/pdf"}
    assert code(put(server, row, PDF))[1] in ("file.already_uploaded", "not_found")
    assert [e[0] for e in org.events(row["id"])] == ["document.created", "document.uploaded", "document.updated"]
    assert org.events(row["id"])[1][1]["status"] == "completed" if isinstance(org.events(row["id"])[1][1], dict) else True


def test_upload_without_a_type(client, server):
    """Spec 05 section 1: octet-stream is replaced by the type that the bytes show."""
    row = announce(client)
    assert (row["mime_type"], row["size"], row["filename"], row["upload_headers"]) == ("application/octet-stream", None, "Contract 2026", {"Content-Type": "application/octet-stream"})
    assert put(server, row, PNG).status_code == 200
    done = get(client, row)
    assert (done["mime_type"], done["size"], done["checksum_md5"], done["checksum_sha256"]) == ("image/png", len(PNG), None, sha256(PNG))
    assert client.get(f"{DOCUMENTS}/{row['id']}/versions").data[0]["checksum_md5"] is None


def test_md5_that_comes_with_the_bytes(client, server):
    """Spec 05 section 2: Content-MD5 of the PUT is compared, and kept; after a wrong one the link is still good."""
    row = announce(client)
    wrong = put(server, row, PNG, **{"Content-MD5": md5(PDF)})
    assert code(wrong) == (400, "file.upload_invalid") and "Content-MD5" in wrong.text and get(client, row)["status"] == "requested"
    assert put(server, row, PNG, **{"Content-MD5": md5(PNG)}).status_code == 200
    assert (get(client, row)["checksum_md5"], get(client, row)["checksum_sha256"]) == (md5(PNG), sha256(PNG))


@pytest.mark.parametrize("more, data, reason", [({"mime_type": "image/png"}, PDF, "mime_mismatch"), ({"checksum_md5": md5(PNG)}, PDF, "checksum_mismatch"),
                                                ({"checksum_sha256": sha256(PNG)}, PDF, "checksum_mismatch")])
def test_upload_that_fails(client, server, more, data, reason):
    """Spec 05 section 2: bytes that are not those that were announced are removed; renew_upload returns to requested."""
    row = announce(client, **more)
    assert code(put(server, row, data, **{"Content-MD5": None})) == (400, "file.upload_invalid")
    failed = get(client, row)
    assert (failed["status"], failed["failure_reason"], failed["file"]["size"]) == ("failed", reason, None)
    assert not server.sql("SELECT 1 FROM wharf.file f WHERE f.name = %s AND f.hash = %s AND f.created_at > now() - interval '1 minute' AND f.plugin = 'documents' AND f.id NOT IN (SELECT file_id FROM documents.version)",
                          row["filename"], sha256(data))
    again = post(client, row, renew_upload=True)
    assert (again["status"], again["failure_reason"]) == ("requested", None) and again["upload_url"] != row["upload_url"]
    assert put(server, again, PNG).status_code == 200 and get(client, row)["status"] == "completed"


def test_upload_that_is_refused_can_be_tried_again(client, server):
    row = announce(client, mime_type="application/pdf", size=len(PDF), checksum_md5=md5(PDF))
    assert code(put(server, row, PDF[:-1] + b"x")) == (400, "file.upload_invalid")
    assert code(put(server, row, PDF + b"x")) == (400, "file.upload_invalid")
    assert code(put(server, row, b"")) == (400, "file.upload_invalid")
    assert code(put(server, row, PDF, **{"Content-Type": "image/png"})) == (400, "file.upload_invalid")
    assert get(client, row)["status"] == "requested" and put(server, row, PDF).status_code == 200


def test_renew_upload_ends_the_link_before(client, server):
    row = announce(client)
    again = post(client, row, renew_upload=True)
    assert code(put(server, row, PDF)) == (404, "not_found")
    assert put(server, again, PDF).status_code == 200
    client.refused("POST", f"{DOCUMENTS}/{row['id']}", 400, "validation.failed", ["renew_upload"], body={"renew_upload": True, "content": b64(PDF)})
    assert post(client, row, notes="x")["upload_url"] is None


def test_upload_link_is_good_for_nothing_else(client, server):
    """Spec 05 section 2: only PUT, one object, no key."""
    row = announce(client)
    url = link(server, row["upload_url"])
    assert requests.get(url, timeout=WAIT).status_code == 403 and requests.put(url.replace("op=put", "op=get"), data=PDF, timeout=WAIT).status_code == 403
    assert requests.put(url[:-1] + ("A" if url[-1] != "A" else "B"), data=PDF, headers=row["upload_headers"], timeout=WAIT).status_code == 403
    other = announce(client)
    assert requests.put(url.replace(row["upload_url"].split("file_")[1][:22], other["upload_url"].split("file_")[1][:22]), data=PDF, timeout=WAIT).status_code == 403


def test_upload_once(client, server):
    """Of PUTs at the same time one is taken."""
    row, answers = announce(client), []
    threads = [threading.Thread(target=lambda i=i: answers.append(put(server, row, PDF + b"%d" % i).status_code)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert answers.count(200) == 1 and set(answers) <= {200, 404, 409}
    assert get(client, row)["versions_count"] == 1


def upload_head(row, length, *more):
    """The head of a PUT to the upload link of a row, with that Content-Length."""
    url = row["upload_url"]
    return "\r\n".join([f"PUT {url[url.index('/v1/'):]} HTTP/1.1", "Host: x", *(f"{k}: {v}" for k, v in row["upload_headers"].items()), f"Content-Length: {length}", *more, "", ""]).encode()


def test_uploads_that_are_refused_by_their_heads(client, server):
    row = announce(client)
    status, _, body = client.raw(upload_head(row, "9" * 25, "Expect: 100-continue"))  # no number of bytes
    assert status == 413, body
    status, _, body = client.raw(upload_head(row, 2, "Content-Encoding: br", "Connection: close") + b"{}")
    assert status == 415, body
    assert put(server, row, PDF).status_code == 200  # the link is as good as before


def test_two_bring_bytes_at_once(client, server):
    """The bytes that are complete first are the document; who is slower is told so, and changes nothing."""
    row, data = announce(client), os.urandom(300000)
    with server.connect(WAIT) as s:
        s.sendall(upload_head(row, len(data), "Connection: close") + data[:200000])
        assert put(server, row, PDF).status_code == 200
        s.sendall(data[200000:])
        assert s.recv(100).startswith(b"HTTP/1.1 409")
    assert get(client, row)["checksum_sha256"] == sha256(PDF) and get(client, row)["versions_count"] == 1


def test_upload_of_a_document_that_is_gone(client, server):
    row = announce(client)
    client.delete(f"{DOCUMENTS}/{row['id']}")
    assert code(put(server, row, PDF)) == (404, "not_found")


def test_duplicate_content_is_told(client, server):
    """Spec 05 section 2: the same bytes are allowed; duplicate_of names the oldest document that has them."""
    data = PDF + b"duplicates"
    first, second, third = (make(client, data) for _ in range(3))
    assert (first["duplicate_of"], second["duplicate_of"], third["duplicate_of"]) == (None, first["id"], first["id"])
    client.delete(f"{DOCUMENTS}/{first['id']}")
    assert make(client, data)["duplicate_of"] == second["id"]


def test_a_create_that_is_sent_again_has_the_same_upload_url(client, server):
    """Spec 01 section 8: the answer of an Idempotency-Key is given again, and its link is good."""
    key = {"Idempotency-Key": f"upload-{os.urandom(8).hex()}"}
    first, again = (client.post(DOCUMENTS, {"name": "Contract", "visibility": "private"}, expect=201, headers=key).data for _ in range(2))
    assert again == first and put(server, again, PDF).status_code == 200
