"""Ann wants to hear at her desk of each change of a contact; customers get mails about their parcels, in words of the mail room."""
import re

# The browser of RFC 8291, section 5.
KEYS = {"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "auth": "BTBZMqHH6r4Tts7J_aSIgg"}


def tell(w):
    users(w)
    templates(w)
    customers(w)


def users(w):
    service = w.receiver("https://push.example.net")
    ann = w.do("create_user", body={"name": "Ann Reader", "email": "ann.reader@springfield.example", "notification_events": ["contact.*"]})
    of = {"user": ann["id"]}
    w.call("retrieve_push_key")
    made = w.call("create_push_subscription", path=of, body={"endpoint": service.url("/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"), "keys": KEYS, "name": "Desk"})
    w.call("list_push_subscriptions", path=of)
    w.call("retrieve_push_subscription", path={**of, "subscription": made["id"]})
    w.do("create_contact", body={"name": "Bart Simpson"})
    service.wait("/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", 1)
    rows = w.until("list_notifications", lambda rows: rows and rows[0]["status"] == "sent", query={"user_id": ann["id"]})
    w.call("list_notifications", query={"user_id": ann["id"], "limit": 5})
    w.call("retrieve_notification", path={"notification": rows[0]["id"]})
    w.call("delete_push_subscription", path={**of, "subscription": made["id"]})


def templates(w):
    made = w.call("create_notification_template", body={
        "occasion": "ready_for_pickup", "language": "en", "subject": "A parcel for you at the mail room",
        "text": "Hello {{contact.name}},\n\nyour parcel {{shipment.tracking_number}} waits for you.{{if shipment.order_number}} It is order {{shipment.order_number}}.{{end}}\n\nNo more of these: {{opt_out_url}}\n"})
    at = {"template": made["id"]}
    w.call("list_notification_templates", query={"occasion": "ready_for_pickup"})
    w.call("retrieve_notification_template", path=at)
    w.call("update_notification_template", path=at, body={"subject": "Your parcel is at the mail room"})
    w.call("preview_notification_template", path=at, body={})
    user = w.org.client(user=w.org.user("ned@springfield.example", role="admin"))
    w.call("test_notification_template", by=user, path=at, body={})
    other = w.do("create_notification_template", body={"occasion": "returned", "language": "en", "subject": "Gone", "text": "Your parcel goes back."})
    w.call("delete_notification_template", path={"template": other["id"]})


def customers(w):
    w.do("update_organization", path={"organization": w.org.id}, body={"settings": {"notifications": {"customers": {"enabled": True}}}})
    lisa = w.do("create_contact", body={"name": "Lisa Simpson", "email": "lisa@springfield-mail.example"})
    gone = w.do("create_contact", body={"name": "Maggie Simpson"})
    for who, number in ((lisa, "1Z999AA10123456784"), (gone, "1Z999AA10123456785")):
        w.do("create_shipment", body={"tracking_number": number, "recipient": who["id"], "tracking_update": {"status": "pickup_available"}})
    text = w.mail("lisa@springfield-mail.example", "opt-out?token=")
    ends = {"token": re.search(r"token=([\w-]+)", text).group(1)}
    w.call("show_opt_out_page", by=None, query=ends)
    w.call("end_customer_mails", by=None, query=ends)
    skipped = w.until("list_notifications", lambda rows: rows and rows[0]["status"] == "skipped", query={"contact_id": gone["id"]})
    w.do("update_contact", path={"id": gone["id"]}, body={"email": "maggie@springfield-mail.example"})
    w.call("resend_notification", path={"notification": skipped[0]["id"]})
