"""Reading the bytes of documents: spec 05 sections 3.2 to 4."""
import pathlib
import re

import pytest
import requests

from document_files import DOCUMENTS, PDF, PNG, announce, b64, body, get, link, make, post, put, sha256
from wharf import WAIT, Server


def content(client, row, query="", **headers):
    return requests.get(f"{client.server.base}{DOCUMENTS}/{row['id']}/content{query}", headers={"SVC-API-KEY": client.key, **headers}, timeout=WAIT)


def bare(server, url, method="GET", **headers):
    return requests.request(method, link(server, url), headers=headers, timeout=WAIT)


def test_content_with_the_key(client, server):
    """Spec 05 section 3.2: type, disposition, entity tag, ranges, conditions."""
    row = make(client, filename="Vertrag ä.pdf")
    r = content(client, row)
    assert (r.status_code, r.content) == (200, PDF)
    h = r.headers
    assert (h["Content-Type"], h["ETag"], h["Accept-Ranges"], h["X-Content-Type-Options"], h["Cache-Control"]) == (
        "application/pdf", f'"{sha256(PDF)}"', "bytes", "nosniff", "private, max-age=0")
    assert h["Content-Disposition"].startswith("inline;") and "filename*=UTF-8''Vertrag%20%C3%A4.pdf" in h["Content-Disposition"] and h["Last-Modified"]
    assert content(client, row, "?download=true").headers["Content-Disposition"].startswith("attachment;")
    part = content(client, row, Range="bytes=0-0")
    assert (part.status_code, part.content, part.headers["Content-Range"]) == (206, PDF[:1], f"bytes 0-0/{len(PDF)}")
    assert content(client, row, Range="bytes=-3").content == PDF[-3:]
    assert content(client, row, Range="bytes=9999-").status_code == 416
    assert content(client, row, Range="bytes=0-0", **{"If-Range": '"other"'}).status_code == 200
    assert content(client, row, **{"If-None-Match": f'"{sha256(PDF)}"'}).status_code == 304
    head = requests.head(f"{server.base}{DOCUMENTS}/{row['id']}/content", headers={"SVC-API-KEY": client.key}, timeout=WAIT)
    assert (head.status_code, head.content, head.headers["Content-Length"]) == (200, b"", str(len(PDF)))
    assert bare(server, f"{DOCUMENTS}/{row['id']}/content").status_code == 401
    assert content(client, announce(client)).json()["code"] == "document.not_ready"
    assert content(client, {"id": "dcmt_0000000000000000000000"}).status_code == 404


@pytest.mark.parametrize("mime, data", [("text/html", b"<script>alert(1)</script>"), ("image/svg+xml", b"<svg/>"), ("application/xml", b"<a/>"), ("text/javascript", b"alert(1)")])
def test_active_content_is_an_attachment(client, server, mime, data):
    """Spec 05 section 3.2: html, svg, xml and js are attachments in a sandbox, wherever they are read."""
    row = make(client, data, mime_type=mime, visibility="public")
    for r in (content(client, row), bare(server, row["file"]["url"])):
        assert (r.status_code, r.content, r.headers["Content-Security-Policy"]) == (200, data, "sandbox") and r.headers["Content-Disposition"].startswith("attachment;")


def test_public_documents_need_no_key(client, server):
    """Spec 05 sections 1, 3 [S]: who has the URL of a public document reads it; private, deleted and unknown ones are 404."""
    row = make(client, PNG, visibility="public", filename="a b.png")
    url = row["file"]["url"]
    r = bare(server, url)
    assert (r.status_code, r.content, r.headers["Cache-Control"], r.headers["Content-Type"]) == (200, PNG, "public, max-age=300", "image/png")
    private = make(client)
    for other in (url.replace("a%20b.png", "b.png"), f"/v1/public/documents/{private['id']}/{private['filename']}", "/v1/public/documents/dcmt_0000000000000000000000/a.png"):
        assert bare(server, other).status_code == 404
    client.delete(f"{DOCUMENTS}/{row['id']}")
    assert bare(server, url).status_code == 404
    waiting = announce(client, visibility="public")
    assert bare(server, waiting["file"]["url"]).status_code == 404
    assert put(server, waiting, PDF).status_code == 200 and bare(server, waiting["file"]["url"]).content == PDF


def test_visibility_changes_take_effect_at_once(client, server):
    """Spec 05 section 3.4 [S]: public → private is 404 for the next request; and back."""
    row = make(client)
    public = post(client, row, visibility="public")["file"]["url"]
    for _ in range(5):
        assert bare(server, public).status_code == 200
        assert "/v1/public/" not in post(client, row, visibility="private")["file"]["url"]
        assert bare(server, public).status_code == 404 and content(client, row).status_code == 200
        post(client, row, visibility="public")


def test_document_url_is_null_when_omitted(client, server):
    """Spec 05 section 1 [S]: document_url only with include_document_url=true."""
    row = make(client)
    assert (get(client, row)["document_url"], get(client, row)["document_url_expires_at"]) == (None, None)
    shown = get(client, row, "?include_document_url=true")
    assert shown["document_url_expires_at"] and "op=get" in shown["document_url"]
    r = bare(server, shown["document_url"])
    assert (r.status_code, r.content) == (200, PDF) and 890 <= int(r.headers["Cache-Control"].split("=")[1]) <= 900
    url = shown["document_url"]
    for i in (len(url) - 10, len(url) - 60):
        assert bare(server, url[:i] + ("x" if url[i] != "x" else "y") + url[i + 1:]).status_code == 403
    public = post(client, row, visibility="public")
    shown = get(client, row, "?include_document_url=true")
    assert (shown["document_url"], shown["document_url_expires_at"]) == (public["file"]["url"], None)
    assert get(client, announce(client), "?include_document_url=true")["document_url"] is None
    assert [d["document_url"] is not None for d in client.get(f"{DOCUMENTS}?id={row['id']}&include_document_url=true").data] == [True]


def test_deleting_ends_all_urls_at_once(client, server):
    """Spec 05 section 3 [S]: a deleted document's URLs die at once; its bytes are kept for 30 days, with purge=true not at all."""
    for purge in ("", "?purge=true"):
        row = make(client, PDF + purge.encode() + b"deleted")
        signed = get(client, row, "?include_document_url=true")["document_url"]
        client.delete(f"{DOCUMENTS}/{row['id']}{purge}")
        assert bare(server, signed).status_code == 404 and content(client, row).status_code == 404
        kept = server.sql("SELECT f.expires_at - now() > interval '29 days 23 hours' FROM wharf.file f JOIN documents.version v ON v.file_id = f.id WHERE v.document_id = %s", row["id"])
        assert kept == ([] if purge else [(True,)])


def test_versions(client, server, org):
    """Spec 05 section 4: content stores a new version; id, name and public URL stay; signed URLs stay on theirs."""
    row = make(client, visibility="public")
    first = get(client, post(client, row, visibility="private"), "?include_document_url=true")["document_url"]
    again = post(client, row, visibility="public", content=f"data:image/png;base64,{b64(PNG)}")
    assert (again["version"], again["versions_count"], again["mime_type"], again["size"], again["filename"], again["name"]) == (2, 2, "image/png", len(PNG), row["filename"], row["name"])
    assert again["file"]["url"] == row["file"]["url"] and bare(server, row["file"]["url"]).content == PNG
    assert bare(server, first).content == PDF
    old = get(client, row, "?version=1&include_document_url=true")
    assert (old["version"], old["versions_count"], old["mime_type"], old["size"], old["checksum_sha256"]) == (1, 2, "application/pdf", len(PDF), sha256(PDF))
    assert old["file"]["url"].endswith("/content?version=1") and old["file"]["checksum"] == sha256(PDF)
    assert (content(client, row).content, content(client, row, "?version=1").content, content(client, row, "?version=3").status_code) == (PNG, PDF, 404)
    client.refused("GET", f"{DOCUMENTS}/{row['id']}?version=3", 404, "not_found")
    for bad in ("0", "x", "-1", "1.0"):
        client.refused("GET", f"{DOCUMENTS}/{row['id']}?version={bad}", 400, "param.invalid", ["version"])
    client.refused("GET", f"{DOCUMENTS}?version=1", 400, "param.invalid", ["version"])
    renewed = post(client, row, renew_upload=True)
    assert (renewed["status"], renewed["version"], renewed["upload_headers"]) == ("completed", 2, {"Content-Type": "application/octet-stream"})
    assert put(server, renewed, PDF + b"3").status_code == 200
    rows = client.get(f"{DOCUMENTS}/{row['id']}/versions").data
    assert [(v["version"], v["current"], v["mime_type"]) for v in rows] == [(3, True, "application/pdf"), (2, False, "image/png"), (1, False, "application/pdf")]
    page = client.get(f"{DOCUMENTS}/{row['id']}/versions?limit=2&page=2")
    assert [v["version"] for v in page.data] == [1] and page.pagination["has_more"] is False
    assert client.get(f"{DOCUMENTS}/{row['id']}/versions?limit=2").pagination["has_more"] is True


def test_fifty_versions_are_kept(client, server):
    """Spec 05 section 4: ≤ 50, the oldest is dropped, with its bytes."""
    row = make(client, b"version 1")
    for i in range(2, 53):
        last = post(client, row, content=b64(b"version %d" % i))
    assert (last["version"], last["versions_count"]) == (52, 50)
    rows = client.get(f"{DOCUMENTS}/{row['id']}/versions?limit=all").data
    assert [v["version"] for v in rows] == list(range(52, 2, -1))
    assert content(client, row, "?version=2").status_code == 404 and content(client, row, "?version=3").content == b"version 3"
    assert server.sql("SELECT count(*) FROM wharf.file WHERE organization_id = (SELECT organization_id FROM documents.document WHERE id = %s) AND name = %s AND hash IN (%s, %s)",
                      row["id"], row["filename"], sha256(b"version 1"), sha256(b"version 2")) == [(0,)]


def test_large_content(client):
    """Spec 05 sections 1 and 3 [S]: 40 MiB decoded, by a body of more than the usual limit; on updates too."""
    data = b"\0" * (40 << 20)
    row = make(client, data)
    assert row["size"] == 40 << 20
    assert post(client, row, content=b64(data))["version"] == 2
    client.refused("POST", DOCUMENTS, 400, "document.too_large", ["content"], body=body(content=b64(data + b"\0")))


def test_bytes_go_by_sendfile():
    """From a folder the kernel copies: a file of 16 MiB takes some hundred system calls that read, not one for each 4 KiB."""
    server = Server("--modules", "org,documents", "--set", "blob.driver=dir", "--set", "tls.certificate=")
    try:
        client = server.organization().client()
        row = make(client, bytes(16 << 20), name="Large")
        calls = lambda: sum(int(re.search(r"syscr: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text()).group(1)) for pid in server.workers("web"))
        before = calls()
        assert len(content(client, row).content) == 16 << 20
        assert calls() - before < 1000
    finally:
        server.stop()
