"""A clerk keeps the list of reasons that may be given when mail goes back."""


def tell(w):
    made = w.call("create_reason_code", body={
        "code": "RTS", "name": "Return to sender", "description": "The addressee does not want it, or has left.", "resources": ["parcel", "shipment"],
        "metadata": {"shelf": "R-1"}})
    w.do("create_reason_code", body={"code": "DMG", "name": "Damaged on arrival", "resources": ["parcel", "item"]})
    w.call("list_reason_codes", query={"resources": ["parcel"], "active": True, "order_by": "code", "direction": "asc"})
    w.call("retrieve_reason_code", path={"id": made["id"]})
    w.call("update_reason_code", path={"id": made["id"]}, body={"name": "Returned to sender", "resources": ["parcel"]})
    w.call("delete_reason_code", path={"id": made["id"]})
