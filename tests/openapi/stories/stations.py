"""A label printer at the dock: set up by an administrator, driven by a station application."""
import base64

LABEL = "^XA^FO40,40^A0N,48,48^FDLisa Simpson^FS^FO40,100^A0N,32,32^FD4th floor, desk 12^FS^XZ"
LABEL_64 = base64.b64encode(LABEL.encode()).decode()


def tell(w):
    hall = w.do("create_location", body={"name": "Springfield HQ", "code": "HQ", "address": "742 Evergreen Terrace, Springfield, OR 97477, US", "settings": {"cloud_printing": {"enabled": True}}})
    w.call("list_paper_sizes")
    station = w.call("create_print_station", body={
        "name": "DOCK-1", "display_name": "Dock 1", "location_id": hall["id"], "device_token": "dock-1-tablet", "configuration": {"pooling_enabled": False},
        "printers": [{"name": "Zebra", "model": "ZD421", "configuration": {"dpi": "203", "type": "thermal", "priority": 1}, "page_size": {"label_4x6": True, "label_4x2": True}, "languages": ["zpl"]}]})
    at = {"station_id": station["id"]}
    w.call("update_print_station", path=at, body={"display_name": "Dock 1, left", "metadata": {"socket": "D1-04"}})
    w.call("retrieve_print_station", path=at, query={"include_print_jobs_count": True})
    w.call("list_print_stations", query={"location_id": [hall["id"]], "page_size": ["label_4x6"], "status": ["online"]})

    # people print
    job = w.call("create_print_job", body={"name": "Label for Lisa Simpson", "print_station_id": station["id"], "printer_name": "Zebra", "raw": True, "content_type": "zpl",
                                           "data": LABEL_64, "configuration": {"paper_size": "page_size_label_4x6", "copies": 1}, "resource": {"type": "shipment_note", "id": "note-42"}, "metadata": {"floor": 4}})
    second = w.do("create_print_job", body={"name": "Label for Ned Flanders", "print_station_id": station["id"], "printer_name": "Zebra", "raw": True, "content_type": "zpl", "data": LABEL_64, "configuration": {"paper_size": "page_size_label_4x6"}})
    w.call("list_print_jobs", query={"print_station_id": [station["id"]], "status": ["queued"], "order_by": "priority"})

    # the station prints
    session = w.call("open_print_session", path=at, body={"agent": {"name": "wharf-station", "version": "1.0.0", "os": "Debian 12", "hostname": "dock-1"}, "takeover": True,
                                                          "printers": [{"name": "Zebra", "status": "online", "state_reasons": []}]})
    mine = {"session_id": session["session_id"]}
    w.call("stream_print_signals", path=at, query=mine)
    claimed = w.call("claim_print_jobs", path=at, body={**mine, "max": 1, "wait": 5})["jobs"][0]
    assert claimed["id"] == job["id"]
    w.call("send_print_heartbeat", path=at, body={**mine, "printers": [{"name": "Zebra", "status": "busy"}],
                                                  "jobs": [{"id": job["id"], "attempt": claimed["attempt"], "stage": "printing", "progress": {"pages_completed": 0, "pages_total": 1}}]})
    w.call("update_print_job", path={"job_id": job["id"]}, body={**mine, "attempt": claimed["attempt"], "status": "completed", "confidence": "device"})
    claimed = w.do("claim_print_jobs", path=at, body={**mine, "max": 1, "wait": 5})["jobs"][0]
    assert claimed["id"] == second["id"]
    w.call("release_print_jobs", path=at, body={**mine, "jobs": [{"id": claimed["id"], "attempt": claimed["attempt"]}]})
    w.call("close_print_session", path={**at, "session_id": session["session_id"]})

    # and once more
    w.call("retrieve_print_job", path={"job_id": job["id"]}, query={"include_history": True})
    w.call("download_print_document", path={"job_id": job["id"]}, query={"prepared": False})
    w.call("reprint_print_job", path={"job_id": job["id"]}, body={"priority": 80})
    w.call("print_test_page", path={**at, "printer_id": station["printers"][0]["id"]})
    w.do("update_print_job", path={"job_id": second["id"]}, body={"status": "canceled"})
    w.call("delete_print_job", path={"job_id": second["id"]})
    w.call("delete_print_station", path=at)
