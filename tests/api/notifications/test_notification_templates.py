"""Templates of mails to customers (spec 07 section 16.3 'Templates'): what is refused, which one is chosen, preview, test, limits."""
import pytest
from mail_world import html, text, world  # noqa: F401  (a fixture among them)

from wharf import Client, until

PLACE = "/v1/notification-templates"


@pytest.fixture
def shop(world):
    return world.shop()


def body(**more):
    return {"occasion": "delivered", "language": "en", "subject": "Here: {{shipment.tracking_number}}", "text": "Dear {{contact.name}}", **more}


def make(shop, **more):
    return shop.client.post(PLACE, body(**more), expect=201).data


def mailed(shop, contact=None, **more):
    contact = contact or shop.contact()
    shipment = shop.shipment(contact, **more)
    shop.update(shipment, "delivered")
    return shop.row(shipment), shop.sink.mails(contact["email"])


def test_written_read_and_deleted(shop):
    row = make(shop)
    assert row["object"] == "notification_template" and row["id"].startswith("ntpl_") and row["html"] is None and row["location_id"] is None
    assert shop.client.get(PLACE).ids == [row["id"]] == shop.client.get(f"{PLACE}?occasion=delivered&language=en").ids
    shop.client.refused("POST", PLACE, 409, "notification_template.exists", body=body(language="EN"))
    make(shop, language="de")
    make(shop, location_id=shop.location)
    shop.client.post(f"{PLACE}/{row['id']}", {"subject": "There"}, expect=200)
    shop.client.delete(f"{PLACE}/{row['id']}")
    make(shop)
    shop.org.client("notifications:read").refused("POST", PLACE, 403, "scope_access", body=body())


@pytest.mark.parametrize("field,value,where", [
    ("text", "Hello {{contact.name", "text, line 1, column 7: {{ has no }}"),
    ("text", "a\nbc {{if x}}d", "text, line 2, column 4: {{if}} has no {{end}}"),
    ("text", "{{end}}", "text, line 1, column 1: {{end}} belongs to no {{if}}"),
    ("text", "x {{else}}", "text, line 1, column 3: {{else}} belongs to no {{if}}"),
    ("text", "{{if a}}1{{else}}2{{else}}3{{end}}", "text, line 1, column 19: {{else}} belongs to no {{if}}"),
    ("subject", "{{contact.name | shout}}", "subject, line 1, column 1: "),
    ("html", "<p>\n\u00e9\u00e9{{1 +}}</p>", "html, line 2, column 3: "),
    ("text", "{{if false}}{{1 +}}{{end}}", "text, line 1, column 13: "),
])
def test_what_cannot_be_read_is_refused(shop, field, value, where):
    r = shop.client.refused("POST", PLACE, 400, "notification_template.invalid", [field], body=body(**{field: value}))
    assert r.message.startswith(where), r.message


def test_subjects_are_one_line(shop):
    shop.client.refused("POST", PLACE, 400, "validation.failed", ["subject"], body=body(subject="a\nb"))
    make(shop, subject="{{contact.name}}")
    row, (message,) = mailed(shop, shop.contact(name="Ada" + "x" * 180))
    assert row["status"] == "sent" and len(message["Subject"]) <= 200 and "\n" not in message["Subject"]


@pytest.mark.parametrize("endless", ids=("nested", "blocks", "long", "operations"), argvalues=[
    "{{" + "((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))" + "}}",
    "{{if 1}}" * 33 + "{{end}}" * 33,
    "{{shipment.tracking_number ~ shipment.tracking_number}}" * 4000,
    "{{1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1}}" * 600,
])
def test_limits_of_a_template(shop, endless):
    field = "html" if len(endless) > 32000 else "text"
    if len(endless) > 64000:
        shop.client.refused("POST", PLACE, 400, "validation.failed", [field], body=body(**{field: endless}))
    else:
        shop.client.refused("POST", PLACE, 400, "notification_template.invalid", [field], body=body(**{field: endless}))


def test_a_text_that_grows_too_long_fails_the_mail(shop):
    make(shop, text="{{shipment.notes}}" * 30)
    row, mails = mailed(shop, notes="n" * 4000)
    assert (row["status"], row["reason"]) == ("failed", "template") and mails == []


def test_which_one_is_chosen(shop):
    """The location's, the organization's, the built-in one; in each the contact's language, the location's, English."""
    ada = shop.contact(metadata={"language": "fr"})

    def title():
        return mailed(shop, ada)[0]["title"]
    shop.client.post(f"/v1/locations/{shop.location}", {"notification_settings": {"language": "de"}}, expect=200)
    assert title() == "Votre colis a été livré"
    made = []
    for want in ({"language": "en"}, {"language": "de"}, {"language": "fr"}, {"language": "en", "location_id": shop.location}, {"language": "de", "location_id": shop.location},
                 {"language": "fr", "location_id": shop.location}):
        name = f"{want['language']} {'here' if 'location_id' in want else 'all'}"
        made.append(make(shop, subject=name, **want))
        assert title() == name
    make(shop, subject="other", language="fr", occasion="returned")
    assert title() == "fr here"
    for row, left in zip(reversed(made), ("de here", "en here", "fr all", "de all", "en all", "Votre colis a été livré")):
        shop.client.delete(f"{PLACE}/{row['id']}")
        assert title() == left


def test_conditions_filters_and_escapes(shop):
    make(shop, subject="{{shipment.order_number | default:none}}", text="{{if shipment.order_number}}A{{else}}B{{end}} {{contact.name | upper}} \\{{x}} {{opt_out_url}}",
         html="<p>{{contact.name}}</p>{{if shipment.order_number}}<b>yes</b>{{else}}<i>no</i>{{end}}<a href=\"{{opt_out_url}}\">end</a>")
    row, (message,) = mailed(shop, shop.contact(name="A & <B>"))
    assert message["Subject"] == "none" and text(message).startswith("B A & <B> {{x}} https://") and html(message).startswith("<p>A &amp; &lt;B&gt;</p><i>no</i>")
    row, (message,) = mailed(shop, order_number="7")
    assert message["Subject"] == "7" and text(message).startswith("A ") and "<b>yes</b>" in html(message)


def test_html_of_the_text_and_the_line_that_ends_mails(shop):
    make(shop, text="Dear {{contact.name}},\n\nlook: {{tracking_url | default:(\"https://example.com/?a=1&b=2\")}}.\nBye")
    row, (message,) = mailed(shop, shop.contact(name="<i>"))
    plain, rich = text(message), html(message)
    assert plain.startswith("Dear <i>,\n\nlook: https://") and "No more of these mails: https://wharf.example/v1/notifications/opt-out?token=" in plain
    assert "Dear &lt;i&gt;,</p><p>look: <a href=\"https://" in rich and "<br>Bye" in rich and "/v1/notifications/opt-out?token=" in rich


def test_a_value_that_is_not_there_fails_the_mail(shop):
    make(shop, text="Order {{shipment.order_number}}")
    row, mails = mailed(shop)
    assert (row["status"], row["reason"]) == ("failed", "template") and mails == []
    shop.client.post(f"{PLACE}/{shop.client.get(PLACE).ids[0]}", {"text": "Order {{shipment.order_number | default:-}}"}, expect=200)
    again = shop.client.post(f"/v1/notifications/{row['id']}/resend", expect=202).data
    until(lambda: shop.client.get(f"/v1/notifications/{again['id']}").data["status"] == "sent")


def test_preview(shop):
    row = make(shop, text="{{contact.name}}, {{shipment.order_number}}: {{organization.name}}", html="<p>{{contact.name}}</p>")
    shown = shop.client.post(f"{PLACE}/{row['id']}/preview", {}, expect=200).data
    assert shown["object"] == "notification_preview" and shown["text"].startswith("Ada Lovelace, 1042: Example") and shown["missing"] is None and shown["html"].startswith("<p>Ada Lovelace</p>")
    shipment = shop.shipment(shop.contact(name="Ben"))
    shown = shop.client.post(f"{PLACE}/{row['id']}/preview", {"shipment_id": shipment["id"]}, expect=200).data
    assert shown["text"].startswith("Ben, : Test") and shown["subject"] == f"Here: {shipment['tracking_number']}"
    assert shown["missing"] == {"path": "text", "message": "there is no shipment.order_number", "line": 1, "column": 19}
    shop.client.refused("POST", f"{PLACE}/{row['id']}/preview", 400, "validation.failed", ["shipment_id"], body={"shipment_id": "ship_0"})
    reader = shop.org.client("notifications:read")
    reader.post(f"{PLACE}/{row['id']}/preview", {}, expect=200)
    reader.refused("POST", f"{PLACE}/{row['id']}/preview", 403, "scope_access", body={"shipment_id": shipment["id"]})
    shop.idle()
    assert shop.sink.mails("ada@example.com") == [] and shop.rows() == []


def test_a_test_goes_to_the_caller_only(world, shop):
    row = make(shop)
    mine = shop.address("me")
    user = shop.org.user(email=mine, role="admin")
    client = shop.org.client(user=user)
    shown = client.post(f"{PLACE}/{row['id']}/test", {}, expect=200).data
    (message,) = shop.sink.mails(mine)
    assert message["Subject"] == shown["subject"] and message["To"] == mine
    before = len(shop.sink.got)
    shop.client.refused("POST", f"{PLACE}/{row['id']}/test", 400, "validation.failed", body={})
    assert len(shop.sink.got) == before and shop.rows() == []
    test = Client(world.server, shop.org.key(user=user, test=True))
    mine_too = test.post(PLACE, body(), expect=201).data
    test.post(f"{PLACE}/{mine_too['id']}/test", {}, expect=200)
    assert [m["recipients"] for m in test.get("/v1/test/outbox").data] == [[mine]] and len(shop.sink.got) == before


@pytest.mark.parametrize("occasion", ["out_for_delivery", "ready_for_pickup", "delivered", "returned"])
@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "it", "nl", "pt"])
def test_built_in_ones_never_fail(shop, language, occasion):
    """Of a shipment that has nothing but a number, and of one that has all."""
    ada = shop.contact(metadata={"language": language})
    status = {"ready_for_pickup": "pickup_available", "returned": "return_to_sender"}.get(occasion, occasion)
    for more in ({}, {"order_number": "ORDER-77", "provider_id": "ups"}):
        shipment = shop.shipment(ada, **more)
        shop.update(shipment, status)
        row = shop.row(shipment)
        assert row["status"] == "sent" and row["language"] == language and "[[" not in row["body"] + row["title"]
        assert ("ORDER-77" in row["body"]) == ("ORDER-77" in row["title"]) == bool(more)
