"""An order of pens and paper: picked, packed, handed to the van, and a part of it comes back."""

WHERE = "742 Evergreen Terrace, Springfield, OR 97477, US"


def tell(w):
    w.do("update_organization", path={"organization": w.org.id}, body={"settings": {"shipments": {"private_rates": [{"service_level_id": "van", "name": "Our van", "amount": 500, "transit_days": 1}]}}})
    hall = w.do("create_location", body={"name": "Springfield HQ", "code": "HQ", "address": WHERE, "email": "dock@springfield.example", "settings": {"cloud_printing": {"enabled": True}}})
    shelf = w.do("create_layout", path={"location": hall["id"]}, body={"name": "Shelf A", "code": "A"})
    w.do("create_print_station", body={"name": "DOCK-1", "display_name": "Dock 1", "location_id": hall["id"], "device_token": "dock-1",
                                       "printers": [{"name": "Office", "model": "LaserJet", "configuration": {"dpi": "300", "type": "laser"}, "page_size": {"letter": True}}]})
    pen = w.do("create_item", body={"name": "Pen, blue", "sku": "PEN-BL", "gtin": "4006381333931", "levels": [{"location_id": hall["id"], "layout_id": shelf["id"], "available_qty": 100}]})
    pad = w.do("create_item", body={"name": "Writing pad A4", "sku": "PAD-A4", "levels": [{"location_id": hall["id"], "layout_id": shelf["id"], "available_qty": 6}]})
    reason = w.do("create_reason_code", body={"code": "DAMAGED", "name": "Damaged on its way", "resources": ["fulfillment"]})
    made = w.call("create_fulfillment", body={
        "location_id": hall["id"], "order_number": "SO-1042", "priority": 10, "ship_by": w.at(days=2), "recipient": {"name": "Ned Flanders", "email": "ned@flanders.example", "address": "744 Evergreen Terrace, Springfield, OR 97477, US"},
        "articles": [{"sku": "PEN-BL", "requested_qty": 12}, {"item_id": pad["id"], "requested_qty": 10, "comment": "The rest may follow"}], "tags": ["fragile"], "metadata": {"channel": "shop"}})
    at = {"id": made["id"]}
    pens, pads = (a["id"] for a in made["articles"])
    w.call("list_fulfillments", query={"backordered": True, "status": ["created"], "search": "flanders"})
    w.call("list_fulfillment_articles", path={"fulfillment": made["id"]})
    w.call("retrieve_fulfillment_article", path={"fulfillment": made["id"], "article": pens})
    w.call("update_fulfillment", path=at, body={"articles": [{"id": pads, "requested_qty": 6}], "notes": "Leave it at the door."})
    w.call("list_fulfillment_picks", path=at, query={"remaining": True})
    w.call("pick_fulfillment", path=at, body={"code": "4006381333931", "quantity": 12, "layout_code": "A"})
    w.do("pick_fulfillment", path=at, body={"code": "PAD-A4", "quantity": 6})
    w.call("pack_fulfillment", path=at, body={"lines": [{"article_id": pens, "quantity": 12}, {"article_id": pads, "quantity": 6}], "parcel": {"name": "Box 1", "length": 12, "width": 9, "height": 4, "weight": 3.5}})
    w.do("update_fulfillment", path=at, body={"status": "packed"})
    shipment = w.do("create_shipment", body={"fulfillment_id": made["id"], "options": {"purchase": "recommended"}})
    w.call("print_fulfillment", path=at, body={"documents": ["packing_slip"], "printer_name": "Office", "print_station_id": w.do("list_print_stations", query={})[0]["id"]})
    w.do("update_shipment", path={"id": shipment["id"]}, body={"tracking_update": {"status": "package_accepted"}})
    w.call("retrieve_fulfillment", path=at, query={"include_documents": True})
    w.call("return_fulfillment", path=at, body={"lines": [{"article_id": pads, "received_qty": 2, "defective_qty": 1, "layout_id": shelf["id"], "reason_code_id": reason["id"], "comment": "Wet"}]})
    second = w.do("create_fulfillment", body={"location_id": hall["id"], "order_number": "SO-1043", "articles": [{"item_id": pen["id"], "requested_qty": 5}]})
    w.call("cancel_fulfillment", path={"id": second["id"]})
