"""What the server says of itself, and files that come and go by signed links."""
import base64
import hashlib
import re

from stories import first, link, wharf

PAGE = b"Springfield Mail Room\nMonday: 41 letters, 7 parcels\n"


def small(answer):
    """Two modules of many, with some of their routes."""
    rows = [row for row in answer["data"] if row["name"] in ("contacts", "reasons")]
    return {**answer, "data": [{**row, "routes": row["routes"][:4]} for row in rows]}


def tell(w):
    w.call("retrieve_auth")
    w.call("list_modules", shown=small)
    w.call("list_changes", by=None, shown=first(2))
    w.call("check_alive", by=None)
    w.call("check_ready", by=None)
    w.call("check_health", by=None)
    w.call("retrieve_openapi", by=None, shown=lambda answer: None)
    w.call("retrieve_event_schema", by=None, path={"type": "reason_code.deleted"})

    operator = wharf.Client(w.server, re.search(r"wh_live_\w{38}", w.server.command("key", "create", "--org", w.org.id, "--system")).group(0))
    w.call("retrieve_clock", by=operator)
    w.call("update_clock", by=operator, body={"offset_seconds": 3600})
    w.do("update_clock", by=operator, body={"offset_seconds": 0})

    report = w.do("create_document", body={"name": "Monday report", "filename": "monday.txt", "visibility": "private", "mime_type": "text/plain", "size": len(PAGE)})
    file, query = link(report["upload_url"])
    w.call("upload_file", by=None, path={"file": file}, query=query, headers={"Content-Type": "text/plain"}, data=PAGE)
    read = w.do("retrieve_document", path={"id": report["id"]}, query={"include_document_url": True})
    file, query = link(read["document_url"])
    assert w.call("download_file", by=None, path={"file": file}, query=query) in (PAGE, PAGE.decode())

    pieces = w.do("create_document", body={"name": "Scans", "filename": "scans.txt", "visibility": "private", "mime_type": "text/plain", "size": len(PAGE)})
    file, query = link(pieces["upload_url"])
    w.call("upload_file_piece", by=None, path={"file": file}, query=query, data=PAGE[:20],
           headers={"Tus-Resumable": "1.0.0", "Upload-Offset": 0, "Upload-Checksum": "sha256 " + checksum(PAGE[:20])})


def checksum(piece):
    return base64.b64encode(hashlib.sha256(piece).digest()).decode()
