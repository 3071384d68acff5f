"""A laptop comes by UPS, and the mail room carries it to the desk."""


def tell(w):
    hall = w.do("create_location", body={"name": "Springfield HQ", "code": "HQ", "address": {"line1": "742 Evergreen Terrace", "city": "Springfield", "state_code": "OR", "postal_code": "97477", "country_code": "US"}})
    lisa = w.do("create_contact", body={"name": "Lisa Simpson", "email": "lisa@springfield.example"})
    made = w.call("create_tracker", body={"tracking_number": "1Z58F2A70378657975", "location_id": hall["id"], "recipient_contact_id": lisa["id"], "metadata": {"cost_center": "4711"}})
    desk = w.do("create_shipment", body={"tracking_number": "DESK-0001", "provider_id": "unknown", "type": "inbound", "location_id": hall["id"], "recipient": lisa["id"]})
    w.call("update_tracker", path={"tracker_id": made["id"]}, body={
        "tracking_update": {"status": "delivered", "comment": "Handed over at dock 2", "location_id": hall["id"]},
        "chaining": {"add": [desk["id"]]}, "log": {"message": "The box is dented on one side.", "visibility": "internal"}})
    w.call("retrieve_tracker", path={"tracker_id": made["id"]}, query={"include_logs": True})
    w.call("list_trackers", query={"filter": ["outstanding"], "recipient_contact_id": [lisa["id"]], "search": "lisa", "limit": 10})
    w.call("list_tracker_logs", path={"tracker_id": made["id"]}, query={"logs_visibility": "all", "order": "asc"})
    w.call("delete_tracker", path={"tracker_id": made["id"]})
