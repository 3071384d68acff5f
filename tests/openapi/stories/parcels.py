"""Boxes that wait on a shelf."""


def tell(w):
    hall = w.do("create_location", body={"name": "Springfield HQ", "code": "HQ", "address": "742 Evergreen Terrace, Springfield, OR 97477, US"})
    shelf = w.do("create_layout", path={"location": hall["id"]}, body={"name": "Shelf A", "code": "A"})
    toner = w.do("create_item", body={"name": "Toner, black", "sku": "TON-BK"})
    made = w.call("create_parcel", body={"name": "Toner from Globex", "layout_id": shelf["id"], "type": "custom", "length": 40, "width": 30, "height": 20, "dimension_unit": "cm", "weight": 3.2, "weight_unit": "kg",
                                         "tracking_number": "JD014600003RU", "special_handling_tags": ["fragile"], "contents": [{"item_id": toner["id"], "packed_qty": 4, "comment": "Two are for the third floor"}]})
    line = made["contents"][0]["id"]
    w.call("update_parcel", path={"id": made["id"]}, body={"unpacked": True, "contents": [{"id": line, "received_qty": 4, "defective_qty": 1}]})
    w.call("retrieve_parcel", path={"id": made["id"]}, query={"include_documents": True})
    w.call("list_parcels", query={"location_id": [hall["id"]], "status": ["unpacked"], "search": "toner"})
    w.call("delete_parcel", path={"id": made["id"]})
