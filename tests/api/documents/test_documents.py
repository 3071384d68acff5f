"""Documents: spec 05 sections 1 to 4."""
import pytest

from document_files import DOCUMENTS, PDF, PNG, b64, body, data_uri, make, md5, refused, sha256


def test_content_inline_base64(client, org):
    """Spec 05 section 1 [S]: content as bare base64 is stored before the answer."""
    row = make(client, category="contract", metadata={"order": "A-1"}, notes="")
    assert row["object"] == "document" and row["id"].startswith("dcmt_")
    assert (row["name"], row["filename"], row["visibility"], row["category"], row["status"]) == ("Contract 2026", "Contract 2026.pdf", "private", "contract", "completed")
    assert (row["mime_type"], row["size"], row["checksum_md5"], row["checksum_sha256"]) == ("application/pdf", len(PDF), md5(PDF), sha256(PDF))
    assert (row["version"], row["versions_count"], row["failure_reason"], row["notes"], row["metadata"]) == (1, 1, None, None, {"order": "A-1"})
    assert row["file"] == {"name": "Contract 2026", "url": row["file"]["url"], "checksum": sha256(PDF), "size": str(len(PDF)), "mime_type": "application/pdf"}
    assert row["file"]["url"].endswith(f"/v1/documents/{row['id']}/content")
    shown = {k: v for k, v in row.items() if k not in ("upload_url", "upload_headers", "upload_expires_at", "duplicate_of")}
    assert client.get(f"{DOCUMENTS}/{row['id']}").data == shown and "content" not in row and row["upload_url"] is None
    assert client.get(f"{DOCUMENTS}?id={row['id']}").ids == [row["id"]]
    assert [e[0] for e in org.events(row["id"])] == ["document.created"]
    client.delete(f"{DOCUMENTS}/{row['id']}")
    client.refused("GET", f"{DOCUMENTS}/{row['id']}", 404, "not_found", [row["id"]])


def test_content_data_uri(client):
    """Spec 05 section 1: a data URI says the type."""
    row = client.post(DOCUMENTS, body(content=data_uri(PNG, "image/png")), expect=201).data
    assert (row["mime_type"], row["filename"], row["size"]) == ("image/png", "Contract 2026.png", len(PNG))
    row = client.post(DOCUMENTS, body(content="data:text/csv;charset=utf-8,a%2Cb%0A1%2C2"), expect=201).data
    assert (row["mime_type"], row["filename"], row["checksum_sha256"]) == ("text/csv", "Contract 2026.csv", sha256(b"a,b\n1,2"))
    row = client.post(DOCUMENTS, body(content=data_uri(PNG, "image/png"), visibility="public", filename="a b.png"), expect=201).data
    assert row["file"]["url"].endswith(f"/v1/public/documents/{row['id']}/a%20b.png")


@pytest.mark.parametrize("more, code, errors", [
    ({"content": "not/base64!"}, "document.content_invalid", ["content"]), ({"content": "data:application/pdf"}, "document.content_invalid", ["content"]),
    ({"content": "A"}, "document.content_invalid", ["content"]), ({"content": "data:,"}, "document.content_invalid", ["content"]),
    ({"content": b64(PDF), "mime_type": "image/png"}, "document.mime_mismatch", ["mime_type"]), ({"content": data_uri(PNG)}, "document.mime_mismatch", ["content"]),
    ({"content": data_uri(PDF), "mime_type": "image/png"}, "document.mime_mismatch", ["mime_type"]),
    ({"content": b64(b"\0\1\2"), "mime_type": "text/plain"}, "document.mime_mismatch", ["mime_type"]),
    ({"content": b64(PDF), "checksum_md5": md5(PNG)}, "document.checksum_mismatch", ["checksum_md5"]),
    ({"content": b64(PDF), "checksum_sha256": sha256(PNG)}, "document.checksum_mismatch", ["checksum_sha256"]),
    ({"content": b64(PDF), "size": 3}, "validation.failed", ["size"]), ({"content": b64(PDF), "visibility": None}, "validation.failed", ["visibility"]),
    ({"content": b64(PDF), "visibility": "open"}, "validation.failed", ["visibility"]), ({"content": b64(PDF), "name": "ab"}, "validation.failed", ["name"]),
    ({"content": ""}, "validation.failed", ["content"]), ({"content": b64(PDF), "name": "x" * 129}, "validation.failed", ["name"])])
def test_content_that_is_refused(client, more, code, errors):
    refused(client, 400, code, errors, **more)


def test_visibility_is_required(client):
    """Spec 05 section 1 [S]: visibility absent is 400 validation.failed."""
    client.refused("POST", DOCUMENTS, 400, "validation.failed", ["visibility"], body={"name": "Contract", "content": b64(PDF)})


@pytest.mark.parametrize("filename, kept", [("../../etc/passwd.pdf", "passwd.pdf"), ("C:\\x\\a<b>c?.pdf", "abc.pdf"), (" .a.pdf. ", ".a.pdf"), ("a\tb.pdf", "ab.pdf"), ("Straße 1.pdf", "Straße 1.pdf")])
def test_file_names_are_cleaned(client, filename, kept):
    """Spec 05 section 1 [P]: path parts, control and reserved characters are removed; a name is not needed beside it."""
    row = client.post(DOCUMENTS, {"visibility": "private", "filename": filename, "content": b64(PDF)}, expect=201).data
    assert (row["filename"], row["name"]) == (kept, kept)
    assert make(client, name="A/B: contract", filename="../")["filename"] == "AB contract.pdf"


def test_types_that_fit(client):
    """Spec 05 section 2: octet-stream takes anything, office formats are ZIP, texts are one class."""
    docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    for content, mime in ((PDF, "application/octet-stream"), (b"PK\3\4....", docx), (b"a,b\n", "text/csv"), (b"{}", "application/json"), (b"<a/>", "application/xml"),
                          (b"^XA^XZ", "application/vnd.zebra-zpl"), (b"\0\1\2\3", "application/x-own"), ("é".encode("latin-1") + b"\n", "text/plain")):
        assert make(client, content, mime_type=mime)["mime_type"] == mime
    assert make(client, b"\0\1\2\3")["mime_type"] == "application/octet-stream"
    refused(client, 400, "document.mime_mismatch", ["mime_type"], content=b64(PDF), mime_type=docx)
