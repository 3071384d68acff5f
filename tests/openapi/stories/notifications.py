"""Ann wants to hear at her desk of each change of a contact."""

# The browser of RFC 8291, section 5.
KEYS = {"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "auth": "BTBZMqHH6r4Tts7J_aSIgg"}


def tell(w):
    users(w)


def users(w):
    service = w.receiver("https://push.example.net")
    ann = w.do("create_user", body={"name": "Ann Reader", "email": "ann.reader@springfield.example", "notification_events": ["contact.*"]})
    of = {"user": ann["id"]}
    w.call("retrieve_push_key")
    made = w.call("create_push_subscription", path=of, body={"endpoint": service.url("/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"), "keys": KEYS, "name": "Desk"})
    w.call("list_push_subscriptions", path=of)
    w.do("create_contact", body={"name": "Bart Simpson"})
    service.wait("/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", 1)
    rows = w.until("list_notifications", lambda rows: rows and rows[0]["status"] == "sent", query={"user_id": ann["id"]})
    w.call("list_notifications", query={"user_id": ann["id"], "limit": 5})
    w.call("retrieve_notification", path={"notification": rows[0]["id"]})
    w.call("delete_push_subscription", path={**of, "subscription": made["id"]})
