"""Goods come to a warehouse: announced, scanned, one parcel stored unopened, a mistake taken back."""


def tell(w):
    hall = w.do("create_location", body={"name": "Springfield HQ", "code": "HQ", "address": "742 Evergreen Terrace, Springfield, OR 97477, US"})
    shelf = w.do("create_layout", path={"location": hall["id"]}, body={"name": "Shelf A", "code": "A"})
    acme = w.do("create_contact", body={"name": "Acme Supplies", "email": "orders@acme.example"})
    mug = w.do("create_item", body={"name": "Mug, white", "sku": "MUG-WH", "lot_tracking": "optional", "transactional_units": [{"name": "Case of 24", "uom": "case", "conversion_factor": 24, "barcode": "CASE-MUG-24"}]})
    card = w.do("create_item", body={"name": "Welcome card", "sku": "CARD-W"})
    w.do("create_reason_code", body={"code": "BROKEN", "name": "Broken on the way", "resources": ["manifest"]})

    m = w.call("create_manifest", body={
        "location_id": hall["id"], "status": "accepted", "sender": acme["id"], "purchase_order_number": "PO-2026-118", "estimated_arrival_at": w.at(days=2),
        "articles": [{"sku": "MUG-WH", "packed_qty": 2, "item_transactional_unit_id": mug["transactional_units"][0]["id"], "layout_id": shelf["id"], "lot_number": "L-2026-07"}],
        "containers": [{"tracking_number": "1Z58F2A70378657975", "articles": [{"sku": "CARD-W", "packed_qty": 500}]}], "metadata": {"dock": "4"}})
    at = {"manifest": m["id"]}
    scan = w.call("create_receipt", path=at, body={"code": "CASE-MUG-24", "defective_qty": 0, "comment": "Pallet 1"})
    w.do("create_receipt", path=at, body={"code": "1Z58F2A70378657975", "unpacked": False})
    w.do("create_receipt", path=at, body={"reverses_receipt_id": scan["id"], "comment": "Wrong manifest"})
    w.do("create_receipt", path=at, body={"lines": [{"sku": "MUG-WH", "received_qty": 48, "defective_qty": 2}]})
    w.call("stow_goods", path=at, body={"code": "MUG-WH", "quantity": 20, "from_layout_id": shelf["id"], "layout_id": hall["default_layout_id"], "lot_number": "L-2026-07"})
    w.call("list_manifest_articles", path=at, query={"open": True})
    w.call("list_receipts", path=at, query={"type": ["scan"]})
    w.call("retrieve_receipt", path={"manifest": m["id"], "receipt": scan["id"]})
    w.call("update_manifest", path=at, body={"status": "completed", "comment": "Two mugs broken"})
    w.call("retrieve_manifest", path=at, query={"include_documents": True})
    w.call("list_manifests", query={"status": ["completed"], "item_id": [card["id"]], "order_by": "processed_at"})
    old = w.do("create_manifest", body={"location_id": hall["id"], "reference_number": "Announced twice"})
    w.call("delete_manifest", path={"manifest": old["id"]})
