"""A mail room opens a branch, plans its shelves, and moves things about."""

ADDRESS = {"line1": "742 Evergreen Terrace", "city": "Springfield", "state": "IL", "postal_code": "62704", "country_code": "US"}


def tell(w):
    hall = w.call("create_location", body={
        "name": "Town Hall mail room", "code": "TH-1", "address": ADDRESS, "email": "mail@springfield-mail.example", "phone": "+12175550142",
        "operating_hours": {"monday": {"open": "08:00", "close": "18:00"}, "saturday": {"active": True, "open": "09:00", "close": "12:00"}},
        "holidays": ["2026-12-25"], "pickup_types": ["in_person_pickup", "locker_pickup"], "metadata": {"floor": "G"}})
    dock = w.do("create_location", body={"name": "River dock", "code": "RD-1", "address": "12 Water Street, Springfield, IL 62701, US"})
    w.call("list_locations", query={"search": "town hall", "limit": 10})
    w.call("retrieve_location", path={"location": hall["id"]})
    w.call("update_location", path={"location": hall["id"]}, body={"kiosk_message": "Ring twice.", "settings": {"layouts": {"locked": False}}})
    w.call("retrieve_address", path={"id": hall["address"]["id"]})

    shelves = w.call("create_layout", path={"location": hall["id"]}, body=[
        {"id": "lay_aisle-1", "name": "Aisle 1", "code": "A1"}, {"name": "Shelf A", "code": "A1-A", "path": "lay_aisle-1"},
        {"name": "Shelf B", "code": "A1-B", "parent_path": "/Aisle 1"}])
    w.call("list_layouts", path={"location": hall["id"]}, query={"path": "lay_aisle-1"})
    w.call("retrieve_layout_tree", path={"location": hall["id"]})
    w.call("retrieve_layout", path={"location": hall["id"], "layout": shelves[1]["id"]})
    w.call("update_layout", path={"location": hall["id"], "layout": shelves[1]["id"]}, body={"name": "Shelf A (letters)", "position": 5})
    w.call("delete_layout", path={"location": hall["id"], "layout": shelves[2]["id"]}, query={"move_to": shelves[1]["id"]})
    w.call("delete_location", path={"location": dock["id"]}, query={"force": True})
