"""A mail room keeps shipping supplies, builds welcome kits of them, and counts its shelves."""


def tell(w):
    hall = w.do("create_location", body={"name": "Springfield HQ", "code": "HQ", "address": "742 Evergreen Terrace, Springfield, OR 97477, US"})
    shelf = w.do("create_layout", path={"location": hall["id"]}, body={"name": "Shelf A", "code": "A"})

    # units and items
    w.call("list_uoms", query={"uom_category": ["count"], "limit": 5})
    crate = w.call("create_uom", body={"code": "crate", "name": "Crate", "uom_category": "count"})
    w.call("retrieve_uom", path={"uom": crate["id"]})
    w.call("update_uom", path={"uom": crate["id"]}, body={"name": "Wooden crate"})
    w.call("delete_uom", path={"uom": crate["id"]})
    mug = w.call("create_item", body={
        "name": "Mug, white", "sku": "MUG-WH", "base_uom": "each", "transactional_units": [{"name": "Case of 24", "uom": "case", "conversion_factor": 24}],
        "lot_tracking": "optional", "value": 350, "currency": "USD", "vendor": "Globex", "metadata": {"color": "white"},
        "levels": [{"location_id": hall["id"], "layout_id": shelf["id"], "lot_number": "L-2026-02", "available_qty": 48}]})
    card = w.do("create_item", body={"name": "Welcome card", "sku": "CARD-W", "value": 40, "currency": "USD", "levels": [{"location_id": hall["id"], "layout_id": shelf["id"], "available_qty": 200}]})
    w.call("update_item", path={"item": mug["id"]}, body={
        "levels": [{"location_id": hall["id"], "layout_id": shelf["id"], "lot_number": "L-2026-02", "available_qty": -2, "damaged_qty": 2, "note": "Broken on the way"}],
        "low_stock_thresholds": [{"location_id": hall["id"], "available_qty": 20}]})
    w.call("retrieve_item", path={"item": mug["id"]}, query={"location_id": hall["id"]})
    w.call("list_items", query={"search": "mug", "location_id": [hall["id"]], "order_by": "name", "direction": "asc"})

    # stock
    w.call("list_levels", path={"item": mug["id"]}, query={"location_id": [hall["id"]]})
    lots = w.call("list_lots", path={"item": mug["id"]}, query={"has_stock": True})
    w.call("update_lot", path={"item": mug["id"], "lot": lots[0]["id"]}, body={"expires_at": w.at(days=365), "metadata": {"supplier": "Globex"}})
    w.call("retrieve_lot", path={"item": mug["id"], "lot": lots[0]["id"]})
    w.call("list_stock_movements", path={"item": mug["id"]}, query={"location_id": [hall["id"]], "bucket": ["available"], "limit": 10})

    # bills of materials
    kit = w.do("create_item", body={"name": "Welcome kit", "sku": "KIT-W", "item_type": "assembly"})
    bom = w.call("create_bom", path={"item": kit["id"]}, body={"name": "Welcome kit 2026", "components": [{"item_id": mug["id"], "quantity": 1}, {"item_id": card["id"], "quantity": 2, "notes": "One in each language"}]})
    at = {"item": kit["id"], "bom": bom["id"]}
    w.call("update_bom", path=at, body={"components": [{"item_id": mug["id"], "quantity": 1}, {"item_id": card["id"], "quantity": 1}], "expected_version": 1, "change_note": "One card is enough."})
    w.call("retrieve_bom", path=at, query={"location_id": hall["id"], "quantity": 10})
    w.call("list_boms", path={"item": kit["id"]}, query={"status": ["active"]})
    w.call("list_bom_versions", path=at)
    w.call("list_where_used", path={"item": mug["id"]}, query={"direct": False})
    w.call("explode_bom", path=at, query={"quantity": 10, "location_id": hall["id"]})
    w.call("cost_bom", path=at, query={"quantity": 10})
    built = w.call("build_bom", path=at, body={"location_id": hall["id"], "quantity": 10, "layout_id": shelf["id"], "note": "For the new colleagues of March"})
    w.do("build_bom", path=at, body={"location_id": hall["id"], "quantity": 500, "dry_run": True})
    w.call("unbuild_bom", path=at, body={"location_id": hall["id"], "quantity": 2, "build_order_id": built["id"]})
    w.call("list_assembly_orders", path={"item": kit["id"]}, query={"type": ["build"]})
    w.call("retrieve_assembly_order", path={"item": kit["id"], "order": built["id"]})
    spare = w.do("create_bom", path={"item": kit["id"]}, body={"components": [{"item_id": card["id"], "quantity": 1}]})
    w.call("delete_bom", path={"item": kit["id"], "bom": spare["id"]})

    # a count
    audit = w.call("create_audit", body={"location_id": hall["id"], "item_ids": [mug["id"], card["id"]], "priority": "high", "complete_at": w.at(days=3)})
    tasks = w.call("list_audit_tasks", path={"audit": audit["id"]}, query={"item_id": [mug["id"]]})
    task = {"audit": audit["id"], "task": tasks[0]["id"]}
    lost = w.do("create_reason_code", body={"code": "LOST", "name": "Not found on the shelf", "resources": ["audit"]})
    w.call("count_audit_task", path=task, body={"counted_qty": tasks[0]["total_qty"] - 1, "reason_code_id": lost["id"], "lot_number": "L-2026-02"})
    w.call("retrieve_audit_task", path=task)
    open_tasks = [t for t in w.do("retrieve_audit", path={"audit": audit["id"]})["tasks"] if t["counted_qty"] is None]
    w.do("update_audit", path={"audit": audit["id"]}, body={"tasks": [{"id": t["id"], "counted_qty": t["total_qty"]} for t in open_tasks]})
    w.do("update_audit", path={"audit": audit["id"]}, body={"status": "in_review"})
    w.call("update_audit", path={"audit": audit["id"]}, body={"status": "approved"})
    w.call("retrieve_audit", path={"audit": audit["id"]}, query={"group_by": "by_item"})
    w.call("list_audits", query={"status": ["approved"], "location_id": [hall["id"]]})
    w.call("delete_audit", path={"audit": w.do("create_audit", body={"location_id": hall["id"], "layout_ids": [shelf["id"]]})["id"]})
    pen = w.do("create_item", body={"name": "Pen, blue", "sku": "PEN-BL"})
    w.call("delete_item", path={"item": pen["id"]})
