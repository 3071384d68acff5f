"""Papers of a mail room: a report, a leaflet that everybody may read, scans that come in pieces, and how long they stay."""
import base64

REPORT = b"Springfield Mail Room\nMonday: 41 letters, 7 parcels\n"


def tell(w):
    place = w.do("create_location", body={"name": "Town Hall mail room", "address": "742 Evergreen Terrace, Springfield, IL 62704, US"})["id"]
    report = w.call("create_document", body={
        "name": "Monday report", "filename": "monday.txt", "visibility": "private", "category": "report", "mime_type": "text/plain",
        "content": base64.b64encode(REPORT).decode(), "resources": [{"type": "location", "id": place}], "metadata": {"week": 10}})
    at = {"id": report["id"]}
    leaflet = w.do("create_document", body={"name": "Opening hours", "filename": "hours.txt", "visibility": "public", "mime_type": "text/plain",
                                            "content": base64.b64encode(b"Monday to Friday, 9 to 5\n").decode()})
    w.call("list_documents", query={"resource_type": "location", "resource_id": place, "limit": 10})
    w.call("retrieve_document", path=at, query={"include_document_url": True})
    w.call("update_document", path=at, body={"content": base64.b64encode(REPORT + b"Tuesday: 38 letters, 9 parcels\n").decode(), "notes": "With Tuesday"})
    w.call("list_document_versions", path={"document": report["id"]})
    w.call("download_document", path={"document": report["id"]}, query={"version": 1})
    w.call("preview_document", path={"document": report["id"]}, query={"width": 200})
    w.call("download_public_document", by=None, path={"document": leaflet["id"], "filename": leaflet["filename"]})
    w.call("list_document_links_of_document", path={"document": report["id"]})
    w.call("list_document_links", query={"resource_id": [place]})

    fields = {"name": "Scans of March", "filename": "scans.pdf", "filetype": "application/pdf", "visibility": "private"}
    w.call("create_upload", headers={"Tus-Resumable": "1.0.0", "Upload-Length": 48211904,
                                     "Upload-Metadata": ",".join(f"{k} {base64.b64encode(v.encode()).decode()}" for k, v in fields.items())})

    rule = w.call("create_document_retention_rule", body={"category": "report", "delete_after_days": 730, "notes": "Two years, as the council decided"})
    w.call("list_document_retention_rules")
    w.call("retrieve_document_retention_rule", path={"id": rule["id"]})
    w.call("update_document_retention_rule", path={"id": rule["id"]}, body={"delete_after_days": 1095})
    w.call("delete_document_retention_rule", path={"id": rule["id"]})
    w.call("delete_document", path=at, query={"purge": True})
