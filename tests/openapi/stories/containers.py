"""A roll cage goes to the fourth floor with everything that is for it."""


def tell(w):
    hall = w.do("create_location", body={"name": "Springfield HQ", "code": "HQ", "address": "742 Evergreen Terrace, Springfield, OR 97477, US"})
    boxes = [w.do("create_shipment", body={"tracking_number": n, "location_id": hall["id"]})["id"] for n in ("1Z58F2A70378657975", "9622042935575918362361078852611491")]
    cage = w.call("create_container", body={"name": "Roll cage 7, fourth floor", "tracking_number": "CAGE-0007", "location_id": hall["id"], "add": boxes, "metadata": {"floor": 4}})
    w.call("update_container", path={"id": cage["id"]}, body={"tracking_update": {"status": "in_transit", "comment": "On the way up"}, "remove": boxes[1:], "comment": {"remove": "Goes to the third floor"}})
    w.call("retrieve_container", path={"id": cage["id"]}, query={"include_documents": True})
    w.call("list_containers", query={"filter": ["outstanding"], "location_id": [hall["id"]], "order_by": "updated_at"})
    w.call("delete_container", path={"id": cage["id"]})
