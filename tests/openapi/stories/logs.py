"""An auditor looks at who changed a reason code, and whether the log is whole."""


def tell(w):
    w.steady(duration_ms=4.182, response_bytes=612)
    reason = w.do("create_reason_code", body={"code": "RTS", "name": "Return to sender", "resources": ["parcel"]})
    w.do("update_reason_code", path={"id": reason["id"]}, body={"name": "Returned to sender", "active": False})
    w.do("create_reason_code", body={"code": "RTS", "name": "Once more", "resources": ["parcel"]}, expect=409)
    sealed = w.until("list_logs", lambda rows: len(rows) == 2 and all(row["hash"] for row in rows), query={"resource_id": [reason["id"]]})
    w.call("list_logs", query={"resource_id": [reason["id"]], "action": ["updated"]})
    w.call("retrieve_log", path={"log": sealed[0]["id"]})
    w.call("verify_logs")
    refused = w.until("list_request_logs", bool, query={"status": 409})
    w.call("list_request_logs", query={"status": 409, "limit": 5})
    w.call("retrieve_request_log", path={"request_id": refused[0]["id"]})
