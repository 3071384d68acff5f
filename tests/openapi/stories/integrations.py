"""Two connections with a parcel locker: it is told of contacts, and tells when a door was opened."""


def tell(w):
    w.steady(duration_ms=38)
    locker = w.receiver("https://locker.example.com")
    locker.answers["/api/people"] = [lambda h: h.answer(422, b"no such site"), lambda h: h.answer(200, b"fine")]
    out = w.call("create_integration", body={
        "direction": "outgoing", "name": "Locker: people", "provider": "LockerCo", "events": ["contact.created"], "url": locker.url("/api/people"), "method": "PUT",
        "headers": {"authorization": "Bearer {{token}}"}})
    w.call("create_integration_secret", path={"integration": out["id"]}, body={"key": "token", "value": "lockers-42"})
    w.call("list_integration_secrets", path={"integration": out["id"]})
    w.call("list_integrations", query={"enabled": True})
    w.call("retrieve_integration", path={"id": out["id"]})
    w.do("create_contact", body={"name": "Lisa Simpson", "email": "lisa@springfield.example"})
    sent = w.until("list_outgoing_integrations", bool, query={"integration_id": [out["id"]]})
    w.until("retrieve_outgoing_integration", lambda row: row["status"] == "error", path={"id": sent[0]["id"]})
    w.call("list_outgoing_integrations", query={"integration_id": [out["id"]]})
    w.call("retrieve_outgoing_integration", path={"id": sent[0]["id"]})
    w.call("retry_outgoing_integration", path={"outgoing_integration": sent[0]["id"]})

    door = w.do("create_integration", body={"direction": "incoming", "name": "Locker: doors", "auth": {"type": "bearer"}})
    opened = {"door": 12, "opened_at": "2026-03-02T09:14:00Z"}
    w.do("send_to_integration", by=None, path={"integration": door["id"]}, headers={"Authorization": "Bearer doors-7", "Content-Type": "application/json"}, body=opened, expect=401)
    w.do("create_integration_secret", path={"integration": door["id"]}, body={"key": "secret", "value": "doors-7"})
    w.call("send_to_integration", by=None, path={"integration": door["id"]}, headers={"Authorization": "Bearer doors-7", "Content-Type": "application/json"},
           data=b'{"door": 12, "opened_at": "2026-03-02T09:14:00Z"}')
    refused = w.do("list_incoming_webhooks", query={"status": ["error"]})[0]
    w.call("list_incoming_webhooks", query={"integration_id": [door["id"]], "status": ["error"]})
    w.call("retrieve_incoming_webhook", path={"id": refused["id"]})
    w.call("retry_incoming_webhook", path={"incoming_webhook": refused["id"]})

    w.call("update_integration", path={"id": out["id"]}, body={"enabled": False})
    w.call("delete_integration_secret", path={"integration": out["id"], "key": "token"})
    w.call("delete_integration", path={"id": out["id"]})

