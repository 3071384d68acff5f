"""A shop wants to hear of each change of a contact, and of what it missed while it was away."""


def tell(w):
    w.steady(duration_ms=38)
    shop = w.receiver("https://shop.example.com")
    made = w.call("create_webhook", body={"name": "Shop", "url": shop.url("/hooks/wharf"), "events": ["contact.*"], "supersede": True,
                                          "filter": [{"path": "data.email", "op": "exists"}], "headers": {"x-shop": "springfield"}})
    at, of = {"id": made["id"]}, {"webhook": made["id"]}
    lisa = w.do("create_contact", body={"name": "Lisa Simpson", "email": "lisa@springfield.example"})
    shop.wait("/hooks/wharf", 1)
    done = w.until("list_deliveries", lambda rows: rows and rows[0]["status"] == "succeeded", path=of)
    w.call("list_deliveries", path=of, query={"status": ["succeeded"], "limit": 5})
    w.call("list_outgoing_webhooks", path={"event": done[0]["event_id"]})
    w.call("resend_event", path={"event": done[0]["event_id"]}, body={"webhook_ids": [made["id"]]})
    shop.wait("/hooks/wharf", 2)
    w.call("test_webhook", path=of, body={"type": "contact.created"})
    w.call("list_webhooks", query={"event": "contact.updated"})
    w.call("retrieve_webhook", path=at)
    w.call("retrieve_webhook_secret", path=of)
    w.call("rotate_webhook_secret", path=of, body={"expire_old_after_seconds": 3600})

    w.call("update_webhook", path=at, body={"status": "suspended", "enable_at": w.at(hours=2), "timeout_ms": 5000})
    w.do("update_contact", path={"id": lisa["id"]}, body={"notes": "Prefers letters."})
    w.until("list_deliveries", lambda rows: [r for r in rows if r["status"] == "held"], path=of)
    w.call("flush_webhook", path=of)
    w.call("recover_webhook", path=of, body={"since": w.at(), "statuses": ["dropped"]})
    w.call("delete_webhook", path=at)
