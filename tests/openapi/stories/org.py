"""The owner of a mail room sets up who works there: people, a tablet, keys of programs; and opens a second house."""
from stories import wharf

SETTINGS = {"tenants.enabled": "true"}
ADDRESS = {"line1": "742 Evergreen Terrace", "city": "Springfield", "state": "IL", "postal_code": "62704", "country_code": "US"}


def tell(w):
    place = w.do("create_location", body={"name": "Front desk", "address": ADDRESS})["id"]
    w.call("list_organizations")
    w.call("retrieve_organization", path={"organization": w.org.id})
    w.call("update_organization", path={"organization": w.org.id}, body={"profile": {"email": "desk@springfield-mail.example", "phone": "+12175550142"}, "currency": "usd"})
    w.call("retrieve_own_organization")
    w.call("update_own_organization", body={"settings": {"logs": {"retain_days": 730}}, "metadata": {"cost_center": "MR-7"}})

    role = w.call("create_role", body={"name": "Night shift", "scopes": ["contacts:read", "shipments:write", "trackers:write", "locations:read"]})
    w.call("list_roles", query={"order_by": "name"})
    w.call("retrieve_role", path={"id": role["id"]})
    w.call("update_role", path={"id": role["id"]}, body={"scopes": {"contacts": "write"}})

    user = w.call("create_user", body={"name": "Edna Krabappel", "email": "edna@springfield-mail.example", "role": role["id"], "locations": [place]})
    w.call("list_users", query={"location_id": [place], "order_by": "name", "direction": "asc"})
    w.call("retrieve_user", path={"user": user["id"]})
    w.call("update_user", path={"user": user["id"]}, body={"phone": "+12175550199", "notification_events": ["shipment.created"]})
    other = w.do("create_user", body={"name": "Ned Flanders", "email": "ned@springfield-mail.example", "locations": []})
    w.call("add_location_user", path={"location": place, "user": other["id"]})
    w.call("remove_location_user", path={"location": place, "user": other["id"]})
    w.call("update_location_users", path={"location": place}, body={"add": [other["id"]], "remove": [user["id"]]})
    w.call("delete_user", path={"user": other["id"]})

    device = w.call("create_device", body={"name": "Front desk tablet", "platform": "android", "location_id": place, "scopes": ["shipments:write"], "issue_key": True})
    w.call("list_devices", query={"status": ["active"], "location_id": [place]})
    w.call("retrieve_device", path={"device": device["id"]})
    w.call("update_device", path={"device": device["id"]}, body={"name": "Front desk tablet (left)"})
    w.call("delete_device", path={"device": device["id"]})

    key = w.call("create_api_key", body={"name": "Order import", "scopes": ["shipments:write", "contacts:write"], "location_ids": [place], "allow_all_locations": False,
                                         "expires_at": w.at(days=365)})
    w.call("list_api_keys", query={"status": ["active"], "order_by": "name", "direction": "asc"})
    w.call("retrieve_api_key", path={"id": key["id"]})
    w.call("update_api_key", path={"id": key["id"]}, body={"ip_allowlist": ["198.51.100.0/24"]})
    w.call("rotate_api_key", path={"id": key["id"]}, body={"overlap_seconds": 3600})
    w.call("delete_api_key", path={"id": key["id"]})

    w.do("update_user", path={"user": user["id"]}, body={"role": "user"})
    w.call("delete_role", path={"id": role["id"]})

    test = w.org.client(test=True)
    w.do("create_event_subscriber", by=test, body={"name": "Night watch", "email": "watch@springfield-mail.example", "events": ["webhook.disabled"]})
    mails = w.until("list_outbox_messages", bool, by=test)
    w.call("list_outbox_messages", by=test, query={"kind": ["mail"]})
    w.call("retrieve_outbox_message", by=test, path={"message": mails[0]["id"]})

    made = w.call("create_organization", body={"user": {"email": "seymour@shelbyville-mail.example", "name": "Seymour Skinner"},
                                               "organization": {"name": "Shelbyville Mail Room", "address": "19 Plympton Street, Shelbyville, IL 62565, US"}})
    w.call("delete_organization", by=wharf.Client(w.server, made["api_key"]["api_key"]), path={"organization": made["id"]}, body={"confirm": "Shelbyville Mail Room"})
