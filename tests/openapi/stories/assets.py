"""A laptop of the loan pool: made, lent, brought back, archived."""


def tell(w):
    hall = w.do("create_location", body={"name": "Springfield HQ", "code": "HQ", "address": "742 Evergreen Terrace, Springfield, OR 97477, US"})
    bart = w.do("create_contact", body={"name": "Bart Simpson", "email": "bart@springfield.example"})
    laptop = w.do("create_item", body={"name": "Laptop 14 inch", "sku": "LAP-14", "is_asset": True, "vendor": "Globex"})
    numbers = w.call("create_sequence", body={"prefix": "LAP-", "sequence": "0001"})
    w.call("list_sequences", query={"order_by": "prefix"})
    w.call("retrieve_sequence", path={"id": numbers["id"]})
    made = w.call("create_asset", body={"item_id": laptop["id"], "location_id": hall["id"], "sequence_id": numbers["id"], "category": "Computers", "value": 1290, "currency": "USD",
                                        "warranty_expires_at": w.at(days=700), "metadata": {"cost_center": "4711"}})
    w.call("update_asset", path={"id": made["id"]}, body={"status": "on_loan", "assignee_id": bart["id"], "due_back_at": w.at(days=14), "notes": "With charger."})
    w.call("retrieve_asset", path={"id": made["id"]}, query={"include_documents": True})
    w.call("list_assets", query={"status": ["on_loan"], "assignee_id": [bart["id"]], "search": "laptop"})
    w.call("delete_asset", path={"id": made["id"]})
