"""A program follows what happens; the operator of the mail room gets alerts by mail, until the mail is too much."""
import re

WATCH = "night.watch@springfield-mail.example"

def token(text):
    return {"token": re.search(r"token=([\w-]+)", text).group(1)}


def tell(w):
    w.do("create_reason_code", body={"code": "RTS", "name": "Return to sender", "resources": ["parcel"]})
    w.call("list_event_types", query={"type": "resource", "module": "reasons"})
    seen = w.until("list_events", lambda rows: rows and rows[0]["status"] == "processed")
    w.call("list_events", query={"type": ["reason_code.*"], "limit": 5})
    w.call("retrieve_event", path={"event": seen[0]["id"]})
    w.call("create_event_stream_token")
    w.call("stream_events", query={"types": "reason_code.*", "from": 0})

    made = w.call("create_event_subscriber", body={"email": WATCH, "events": ["webhook.disabled"]})
    at = {"subscriber": made["id"]}
    asked = token(w.mail(WATCH, "verify?token="))
    w.call("show_confirm_page", by=None, query=asked)
    w.call("confirm_address", by=None, query=asked)
    w.call("list_event_subscribers", query={"status": ["pending_approval", "active"]})
    w.call("retrieve_event_subscriber", path=at)
    w.call("update_event_subscriber", path=at, body={"events": ["webhook.disabled", "webhook.suspended"]})
    ends = token(alert(w, at))
    w.call("show_unsubscribe_page", by=None, query=ends)
    w.call("unsubscribe_address", by=None, query=ends)
    other = w.do("create_event_subscriber", body={"email": "day.watch@springfield-mail.example", "events": ["webhook.disabled"]})
    w.call("delete_event_subscriber", path={"subscriber": other["id"]})


def alert(w, at):
    """An owner approves the address, a webhook is disabled, and a mail tells of it."""
    owner = w.org.client(user=w.org.user("mayor@springfield.example", role="owner"))
    w.do("update_event_subscriber", by=owner, path=at, body={"approve": True})
    hooks = w.receiver("https://hooks.springfield-mail.example")
    hooks.answers["/gone"] = lambda handler: handler.answer(410, b"gone")
    w.do("create_webhook", body={"url": hooks.url("/gone"), "events": ["reason_code.*"]})
    w.do("create_reason_code", body={"code": "DMG", "name": "Damaged", "resources": ["parcel"]})
    return w.mail(WATCH, "unsubscribe?token=")
