"""Files as address books, shops and spreadsheets write them: spec 10 sections 9 and 9.1, spec 02 section 5."""
import base64

import pytest
from wharf import make_location

CONTACTS = "/v1/contacts"


def data(text):
    return "data:text/csv;base64," + base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def shown(client, id):
    row = client.get(f"{CONTACTS}/{id}").data
    told = {k: row[k] for k in ("name", "email", "phone", "notes") if row[k]}
    for key in ("alternate_emails", "alternate_phones"):
        told |= {f"{key}.{k}": v for k, v in row[key].items() if v}
    if row["address"]:
        told["address"] = row["address"]["formatted_address"]
    return told | {f"alternate_addresses.{k}": v["formatted_address"] for k, v in row["alternate_addresses"].items() if v}


def by_batch(client, text):
    batch = client.post("/v1/batches", {"resource": "contact", "action": "merge", "mode": "sync", "data": data(text)}, expect=201).data
    items = client.get(f"/v1/batches/{batch['id']}/items").data
    return [shown(client, i["result_id"]) if i["result_id"] else (i["code"], i["errors"]) for i in items], [w["code"] for w in batch["warnings"]]


def by_import(client, text):
    done = client.post(CONTACTS, {"csv_url": data(text)}, expect=200).data
    return [shown(client, id) for id in done["ids"]] + [("issue", i["errors"]) for i in done["issues"]], [w["code"] for w in done["warnings"]]


BOOKS = {
    "Outlook": ("First Name,Middle Name,Last Name,E-mail Address,E-mail 2 Address,Mobile Phone,Business Phone,Home Phone,Business Street,Business City,Business State,Business Postal Code,"
                "Business Country/Region,Home Street,Home City\n"
                "Jo,,Out,jo@x.test,jo2@x.test,+14155550101,+14155550102,+14155550103,1 Main St,Agawam,MA,01001,United States of America,2 Home St,Boston\n",
                {"name": "Jo Out", "email": "jo@x.test", "phone": "+14155550101", "alternate_emails.work": "jo2@x.test", "alternate_phones.work": "+14155550102",
                 "alternate_phones.home": "+14155550103", "address": "1 Main St, Agawam, MA 01001, US", "alternate_addresses.home": "2 Home St, Boston, US"}),
    "Google": ("First Name,Last Name,E-mail 1 - Value,E-mail 2 - Value,Phone 1 - Value,Address 1 - Street,Address 1 - City,Address 1 - Region,Address 1 - Postal Code,Address 1 - Country\n"
               'Jo,Goo,"Jo Goo <jg@x.test>",mailto:jg2@x.test,+14155550102,1 Main St,Agawam,MA,01001,US\n',
               {"name": "Jo Goo", "email": "jg@x.test", "alternate_emails.work": "jg2@x.test", "phone": "+14155550102", "address": "1 Main St, Agawam, MA 01001, US"}),
    "Shopify": ("First Name,Last Name,Email,Default Address Address1,Default Address City,Default Address Province Code,Default Address Zip,Default Address Country Code,Default Address Phone,Phone\n"
                "Sho,Pify,s@x.test,1 Main St,Agawam,MA,'01001,US,,'+14155550107\n",
                {"name": "Sho Pify", "email": "s@x.test", "phone": "+14155550107", "address": "1 Main St, Agawam, MA 01001, US"}),
    "WooCommerce": ("billing_first_name,billing_last_name,billing_email,billing_phone,billing_address_1,billing_city,billing_state,billing_postcode,billing_country\n"
                    "Woo,Commerce,w@x.test,+14155550108,1 Main St,Agawam,MA,01001,US\n",
                    {"name": "Woo Commerce", "email": "w@x.test", "phone": "+14155550108", "address": "1 Main St, Agawam, MA 01001, US"}),
    "Amazon": ("recipient-name,buyer-email,ship-phone-number,ship-address-1,ship-address-2,ship-city,ship-state,ship-postal-code,ship-country\n"
               "Ama Zon,a@x.test,+14155550109,1 Main St,Apt 4,Agawam,MA,01001,US\n",
               {"name": "Ama Zon", "email": "a@x.test", "phone": "+14155550109", "address": "1 Main St, Apt 4, Agawam, MA 01001, US"}),
    "Etsy": ("Ship Name,Ship Address1,Ship City,Ship State,Ship Zipcode,Ship Country\nEt Sy,1 Main St,Agawam,MA,01001,United States\n",
             {"name": "Et Sy", "address": "1 Main St, Agawam, MA 01001, US"}),
    "Apple": ("First name,Last name,home e-mail,work e-mail,iPhone,home phone\nAp,Ple,h@x.test,w@x.test,+14155550110,+14155550111\n",
              {"name": "Ap Ple", "email": "w@x.test", "alternate_emails.personal": "h@x.test", "phone": "+14155550110", "alternate_phones.home": "+14155550111"}),
}


@pytest.mark.parametrize("read", [by_batch, by_import])
@pytest.mark.parametrize("book", BOOKS)
def test_files_of_other_programs(fresh, book, read):
    text, row = BOOKS[book]
    rows, warnings = read(fresh.client(), text)
    assert rows == [row]
    assert set(warnings) <= {"batch.header_unknown"}


@pytest.mark.parametrize("read", [by_batch, by_import])
def test_one_of_several_columns(fresh, read):
    """The first that the row fills is the main one; what says the same is said once; what has no place is told."""
    text = ("Name,Home Phone,Mobile Phone,Business Phone,Work Phone\n"
            "A,+14155550101,,,\nB,+14155550103,+14155550102,,\nC,+14155550104,+14155550104,,\nD,,+14155550105,+14155550106,+14155550107\n")
    client = fresh.client()
    rows, warnings = read(client, text)
    assert rows == [{"name": "A", "phone": "+14155550101"}, {"name": "B", "phone": "+14155550102", "alternate_phones.home": "+14155550103"},
                    {"name": "C", "phone": "+14155550104"}, {"name": "D", "phone": "+14155550105", "alternate_phones.work": "+14155550106"}]
    assert warnings == ["batch.header_duplicate"]


def test_a_field_s_own_column_wins(client):
    """`phone` is the main one whatever else there is; the others go beside it."""
    rows, _ = by_batch(client, "Name,Mobile Phone,Phone\nE,+14155550121,+14155550122\nF,+14155550123,\n")
    assert rows == [{"name": "E", "phone": "+14155550122", "alternate_phones.mobile": "+14155550121"}, {"name": "F", "phone": "+14155550123"}]


def test_a_column_that_is_named_by_the_request_is_the_only_one(client):
    body = {"resource": "contact", "action": "merge", "mode": "sync", "column_mapping": {"phone": "Desk"},
            "data": data("Name,Mobile Phone,Desk\nG1,+14155550131,+14155550132\nG2,+14155550133,\n")}
    batch = client.post("/v1/batches", body, expect=201).data
    rows = [shown(client, i["result_id"]) for i in client.get(f"/v1/batches/{batch['id']}/items").data]
    assert rows == [{"name": "G1", "phone": "+14155550132"}, {"name": "G2"}] and [w["code"] for w in batch["warnings"]] == ["batch.header_unknown"]


@pytest.mark.parametrize("read", [by_batch, by_import])
def test_a_part_that_two_columns_say(client, read):
    """One of them is taken, and the other is told."""
    rows, warnings = read(client, "Name,Billing Address 1,Billing City,Billing State,Billing Zip,Billing Country,Billing Country Code\nP,1 Main St,Agawam,MA,01001,United States,US\n")
    assert rows == [{"name": "P", "address": "1 Main St, Agawam, MA 01001, US"}] and warnings == ["batch.header_duplicate"]


@pytest.mark.parametrize("read", [by_batch, by_import])
def test_what_is_ignored_is_told(client, read):
    _, warnings = read(client, "Name,Birthday,,Notes\nG,1990-01-01,lost,x\n")
    assert warnings == ["batch.header_unknown", "batch.header_missing"]


@pytest.mark.parametrize("read", [by_batch, by_import])
@pytest.mark.parametrize("cell, email", [("<jo@x.test>", "jo@x.test"), ('"Jo, at home" <jo@x.test>', "jo@x.test"), ("MAILTO:jo@x.test", "jo@x.test"), ("'jo@x.test'", "jo@x.test"),
                                         ("jo@x.test;", "jo@x.test"), ("jo@x.test, jim@x.test", None), ("mailto:", None), ("<jo>", None)])
def test_emails_and_what_stands_around_them(fresh, read, cell, email):
    rows, _ = read(fresh.client(), 'Name,Email\nH,"%s"\n' % cell.replace('"', '""'))
    assert rows == [{"name": "H", "email": email}] if email else rows[0][1] in (["email"], ["Email"])


def test_emails_of_the_api_in_the_same_forms(client):
    row = client.post(CONTACTS, {"name": "I", "email": "I <i@x.test>", "alternate_emails": {"work": "mailto:i2@x.test", "other": None}}, expect=201).data
    assert (row["email"], row["alternate_emails"]["work"]) == ("i@x.test", "i2@x.test")
    client.refused("POST", CONTACTS, 400, "validation.failed", ["email"], body={"name": "I", "email": "a@x.test b@x.test"})


@pytest.mark.parametrize("read", [by_batch, by_import])
def test_cells_that_an_export_wrote(fresh, read):
    """Addresses and groups come back; a text that only begins like JSON is a text."""
    client = fresh.client()
    group = client.post("/v1/groups", {"name": "Crew, of the \"A\"", "resource": "contact"}, expect=201).data
    address = '{"line1":"1 Main St","city":"Agawam","state":"MA","postal_code":"01001","country_code":"US"}'
    groups = '[{"id":"%s","name":"x","location_id":null}]' % group["id"]
    rows, _ = read(client, 'Name,Address,Groups\nJ,"%s","%s"\nK,{no json,\n' % (address.replace('"', '""'), groups.replace('"', '""')))
    assert rows[0]["address"] == "1 Main St, Agawam, MA 01001, US" and rows[1]["address"].startswith("{no json")
    assert [g["id"] for g in client.get(CONTACTS + "?name=J").data[0]["groups"]] == [group["id"]]


@pytest.mark.parametrize("read", [by_batch, by_import])
def test_a_bad_cell_names_its_column(fresh, read):
    rows, _ = read(fresh.client(), "Name,Email\nL,a\x01@x.test\nM,m@x.test\n")
    assert {"name": "M", "email": "m@x.test"} in rows and [r for r in rows if isinstance(r, tuple)][0][1] in (["email"], ["Email"])


def test_encodings_are_told_by_the_import(client):
    rows, warnings = by_import(client, "Name\nZoë\n".encode("cp1252"))
    assert rows == [{"name": "Zoë"}] and warnings == ["file.encoding"]
    a = client.refused("POST", CONTACTS, 400, "file.encoding", ["csv_url"], body={"csv_url": data("Name\nZoë\nMü".encode() + b"\xff\n")})
    assert "line 3, column 3" in a.body["message"]


def test_numbers_that_lost_digits(client):
    text = "Tracking Number\n9.40011E+21\n123456789012\n491712345678.0\n"
    batch = client.post("/v1/batches", {"resource": "tracker", "action": "merge", "mode": "sync", "data": data(text)}, expect=201).data
    items = client.get(f"/v1/batches/{batch['id']}/items").data
    assert [(i["code"], i["errors"]) for i in items if i["code"]] == [("row.cell_error", ["tracking_number"])]
    assert {client.get(f"/v1/trackers/{i['result_id']}").data["tracking_number"] for i in items if i["result_id"]} == {"123456789012", "491712345678"}


def test_shown_stock_is_no_change(client):
    """An item that was exported and comes back has its stock once."""
    place = make_location(client)
    item = client.post("/v1/items", {"name": "Bolt", "levels": [{"location_id": place["id"], "available_qty": 5}]}, expect=201).data
    shown = client.get(f"/v1/items/{item['id']}").data
    again = client.post(f"/v1/items/{item['id']}", {"levels": shown["levels"]}, expect=200).data
    assert again["levels"] == shown["levels"] and again["updated_at"] == shown["updated_at"]


def test_a_status_alone_that_is_there_already_is_no_news(client, org):
    row = client.post("/v1/containers", {"name": "C"}, expect=201).data
    again = client.post(f"/v1/containers/{row['id']}", {"status": row["status"]}, expect=200).data
    assert len(again["tracking_updates"]) == 1 and again["updated_at"] == row["updated_at"]
    told = client.post(f"/v1/containers/{row['id']}", {"tracking_update": {"status": row["status"]}}, expect=200).data
    assert len(told["tracking_updates"]) == 2, "an update says that something was seen again"


def test_the_current_leg_sent_back_pins_nothing(client):
    tracker = client.post("/v1/trackers", {"tracking_number": "ROUNDTRIP1"}, expect=201).data
    again = client.post(f"/v1/trackers/{tracker['id']}", {"current_shipment_id": tracker["current_shipment_id"]}, expect=200).data
    assert again["updated_at"] == tracker["updated_at"]
    assert client.get("/v1/trackers?id=" + tracker["id"]).data[0]["current_shipment_id"] == tracker["current_shipment_id"]
