"""The mail room sends a parcel: it asks for rates, buys one, and follows it."""


def tell(w):
    w.do("update_own_organization", body={"settings": {"shipments": {"private_rates": [
        {"service_level_id": "courier_day", "name": "City courier, same day", "amount": 1850, "currency": "usd", "transit_days": 0},
        {"service_level_id": "courier_next", "name": "City courier, next day", "amount": 990, "currency": "usd", "transit_days": 1}]}}})
    parcel = {"name": "Box 1", "length": 12, "width": 9, "height": 6, "weight": 4.5}
    w.steady(relevance_score=0.55)
    quote = w.call("create_shipment", body={
        "sender": {"name": "Springfield Mail Room", "email": "mail@springfield.example", "address": {"line1": "742 Evergreen Terrace", "city": "Springfield", "state_code": "OR", "postal_code": "97477", "country_code": "US"}},
        "recipient": {"name": "Maude Flanders", "phone": "+15035550142", "address": {"line1": "744 Evergreen Terrace", "city": "Springfield", "state_code": "OR", "postal_code": "97477", "country_code": "US"}},
        "parcels": [parcel], "reference_number": "PO-2026-0042", "tags": ["fragile"], "metadata": {"cost_center": "4711"}})
    bought = w.call("purchase_shipment", path={"id": quote["id"]}, body={"rate_id": quote["recommended_rate"]["id"]})
    w.call("update_shipment", path={"id": quote["id"]}, body={"tracking_update": {"status": "package_accepted", "comment": "Picked up at dock 2"}, "notes": "Ring twice."})
    w.call("add_tracking_updates", path={"id": quote["id"]}, body=[
        {"status": "in_transit", "address": {"city": "Eugene", "state_code": "OR"}, "provider_status": {"code": "DEP", "description": "Departed from facility"}},
        {"status": "out_for_delivery", "comment": "Expected before noon", "coordinates": [44.046, -123.022]}])
    w.call("list_tracking_updates", path={"id": quote["id"]}, query={"order": "desc", "limit": 10})
    w.call("retrieve_shipment", path={"id": quote["id"]}, query={"include_documents": True})
    w.call("list_shipments", query={"filter": ["outstanding"], "type": ["outbound"], "search": "Flanders", "order_by": "created_at", "direction": "desc"})
    other = w.do("create_shipment", body={"sender": bought["sender"], "recipient": bought["recipient"], "parcels": [parcel], "options": {"purchase": "recommended"}})
    w.call("refund_shipment", path={"id": other["id"]})
    w.do("update_shipment", path={"id": other["id"]}, body={"refund_status": "refunded"})
    w.call("delete_shipment", path={"id": other["id"]})
