"""Fulfillments: spec 03 sections 6.1 to 6.4 and 6.9."""
import itertools

import pytest

from orders import ITEMS, ORDERS, amounts, broken, change, entry, get, make_item, movements, order, pack, pick, place, post, refused, stocked
from wharf import MODULES, make_contact, make_location, until

STATUSES = ["created", "processing", "picked", "packed", "shipping", "completed", "canceled"]
# spec 03 section 6.3
FOLLOWS = {"created": {"processing", "picked", "packed", "canceled"}, "processing": {"picked", "packed", "canceled"}, "picked": {"packed", "processing", "canceled"},
           "packed": {"shipping", "completed", "picked", "canceled"}, "shipping": {"completed", "canceled"}, "completed": set(), "canceled": set()}
# how an order comes to a status
WAYS = {"created": [], "processing": ["processing"], "picked": ["picked"], "packed": ["picked", "packed"], "shipping": ["packed", "shipping"],
        "completed": ["packed", "completed"], "canceled": ["canceled"]}


@pytest.fixture(scope="module")
def home(client):
    return make_location(client, "Home")


@pytest.fixture
def pen(client, home):
    return make_item(client, "Pen", levels=[entry(home, available_qty=10)])


def full(client, row):
    """Picked and packed to the last piece."""
    return pack(client, row, lines=[{"article_id": a["id"], "quantity": a["requested_qty"] - a["packed_qty"]} for a in row["articles"]])


def brought(client, home, item, status):
    """An order of three that is whole, in a status."""
    row = order(client, home, (item, 3))
    if status not in ("created", "canceled"):
        full(client, row)
    for step in WAYS[status]:
        post(client, row, status=step, allow_short=True)
    return row


def test_the_whole_way(client, org, server, home):
    pen, pad = make_item(client, "Pen", sku="PEN", levels=[entry(home, available_qty=10)]), make_item(client, "Pad", sku="PAD", levels=[entry(home, available_qty=5)])
    row = order(client, home, (pen, 4), (pad, 2), order_number="SO-1")
    assert row["object"] == "fulfillment" and row["id"].startswith("ful_") and row["status"] == "created" and row["sender"]["name"] == "Home"
    assert amounts(row, "requested", "reserved", "backordered") == [(4, 4, 0), (2, 2, 0)] and row["backordered"] is False
    assert stocked(client, pen) == (6, 4) and get(client, row) == row and broken(server, org.id) == []
    scan = pick(client, row, code="PEN", quantity=4)
    assert scan["status"] == "processing" and scan["next"]["action"] == "pick" and scan["next"]["item_id"] == pad["id"]
    assert pick(client, row, code="PAD", quantity=2)["next"]["action"] == "set_picked"
    assert post(client, row, status="picked")["status"] == "picked"
    assert pack(client, row, all=True)["next"]["action"] == "set_packed"
    assert post(client, row, status="packed")["status"] == "packed"
    assert broken(server, org.id) == []
    done = post(client, row, status="completed")
    assert done["status"] == "completed" and done["completed_at"] and amounts(done, "reserved", "shipped") == [(0, 4), (0, 2)]
    assert stocked(client, pen) == (6, 0) and stocked(client, pad) == (3, 0) and broken(server, org.id) == []
    assert [m["reason"] for m in movements(client, pen)] == ["opening", "reservation", "reservation", "shipment"]
    assert {m["source"]["id"] for m in movements(client, pen)[1:]} == {row["id"]}
    told = [e[0] for e in org.events(row["id"])]
    assert told[0] == "fulfillment.created" and set(told[1:]) == {"fulfillment.updated", "fulfillment.completed"} and told.count("fulfillment.completed") == 1
    event = next(e for e in client.get(f"/v1/events?resource_id={row['id']}&limit=100").data if e["type"] == "fulfillment.completed")
    data = until(lambda: client.get(f"/v1/events/{event['id']}").data.get("data"))
    assert amounts(data, "shipped") == [(4,), (2,)] and data["status"] == "completed"


# ---- fields ----

def test_create(client, home, pen):
    ann = client.post("/v1/contacts", {"name": "Ann", "email": "ann@example.com"}, expect=201).data["id"]
    row = order(client, home, {"item_id": pen["id"], "requested_qty": "2.5", "comment": "Blue ones", "special_handling_tags": ["fragile"]}, recipient=ann, purchase_order="PO", reference_number="R",
                external_id="X-1", priority=7, ship_by="2030-01-02T03:04:05Z", notes=" n ", tags=["fragile"], metadata={"a": "b"},
                parcels=[{"name": "Box", "length": 10, "width": 5, "height": 4, "weight": 2, "weight_unit": "lb"}])
    assert row["recipient"]["contact_id"] == row["recipient_contact_id"] == ann and row["recipient"]["name"] == "Ann" and row["recipient"]["email"] == "ann@example.com"
    assert (row["priority"], row["ship_by"], row["notes"], row["tags"], row["metadata"]) == (7, "2030-01-02T03:04:05.000Z", " n ", ["fragile"], {"a": "b"})
    a, = row["articles"]
    assert a["id"].startswith("art_") and (a["item_id"], a["name"], a["requested_qty"], a["comment"], a["special_handling_tags"]) == (pen["id"], "Pen", 2.5, "Blue ones", ["fragile"])
    p, = row["parcels"]
    assert (p["name"], p["length"], p["weight"], p["contents"], p["shipment_id"]) == ("Box", 10, 2, [], None)
    assert client.get(f"/v1/parcels?fulfillment_id={row['id']}").data[0]["id"] == p["id"] and row["shipment_ids"] == [] and row["_documents"] is None
    for hidden in ("allow_short", "search_text", "changes"):
        assert hidden not in row


@pytest.mark.parametrize("body, at", [
    ({"location_id": None}, ["location_id"]), ({"articles": []}, ["articles"]), ({"articles": None}, ["articles"]), ({"priority": 101}, ["priority"]), ({"priority": -1}, ["priority"]),
    ({"tags": ["round"]}, ["tags.0"]), ({"notes": "x" * 16001}, ["notes"]), ({"order_number": "x" * 192}, ["order_number"]), ({"recipient": {"email": "no"}}, ["recipient.email"]),
    ({"recipient": "ctct_0000000000000000000000"}, ["recipient_contact_id"]), ({"articles": [{"requested_qty": 1}]}, ["articles.0.item_id"]),
    ({"articles": [{"item_id": "item_0000000000000000000000", "requested_qty": 1}]}, ["articles.0.item_id"]), ({"articles": [{"id": "art_1", "requested_qty": 1}]}, ["articles.0.id"])])
def test_what_is_refused(client, home, pen, body, at):
    good = {"location_id": home["id"], "articles": [{"item_id": pen["id"], "requested_qty": 1}]}
    client.refused("POST", ORDERS, 400, "validation.failed", at, body={**good, **body})
    assert stocked(client, pen) == (10, 0)


@pytest.mark.parametrize("line, status, code, at", [
    ({"requested_qty": 0}, 400, "validation.failed", "requested_qty"), ({"requested_qty": -1}, 400, "validation.failed", "requested_qty"), ({"requested_qty": None}, 400, "validation.failed", "requested_qty"),
    ({"requested_qty": "many"}, 400, "validation.failed", "requested_qty"), ({"requested_qty": 1.00001}, 400, "item.quantity_precision", "requested_qty"),
    ({"requested_qty": 100000000000}, 400, "validation.failed", "requested_qty"), ({"origin_country": "usa"}, 400, "validation.failed", "origin_country"),
    ({"attributes": ["x" * 51]}, 400, "validation.failed", "attributes"), ({"value": -1}, 400, "validation.failed", "value"), ({"comment": "x" * 2001}, 400, "validation.failed", "comment"),
    ({"lot_number": "x" * 101}, 400, "validation.failed", "lot_number")])
def test_lines_that_are_refused(client, home, pen, line, status, code, at):
    body = {"location_id": home["id"], "articles": [{"item_id": pen["id"], "requested_qty": 1}, {"item_id": pen["id"], "requested_qty": 1, **line}]}
    client.refused("POST", ORDERS, status, code, [f"articles.1.{at}"], body=body)


def test_items_are_found_by_their_numbers(client, home):
    pen = make_item(client, "Pen", sku="By-Sku", gtin="4006381333931", attributes=["lithium"], value=150, harmonized_code="9608.10", origin_country="DE")
    for key, value in (("sku", "BY-SKU"), ("gtin", "4006381333931"), ("item_id", pen["id"])):
        a, = order(client, home, {key: value, "requested_qty": 1})["articles"]
        assert (a["item_id"], a["sku"], a["gtin"], a["attributes"], a["value"], a["harmonized_code"], a["origin_country"]) == (pen["id"], "By-Sku", "4006381333931", ["lithium"], 150, "9608.10", "DE")
    a, = order(client, home, {"sku": "by-sku", "requested_qty": 1, "name": "Other", "value": None, "attributes": ["pharma"]})["articles"]
    assert (a["name"], a["value"], a["attributes"]) == ("Other", None, ["pharma"])


def test_asset_items_are_whole(client, home):
    item = make_item(client, "Laptop", is_asset=True, levels=[entry(home, available_qty=5)])
    client.refused("POST", ORDERS, 400, "item.fractional_quantity", ["articles.0.requested_qty"], body={"location_id": home["id"], "articles": [{"item_id": item["id"], "requested_qty": 1.5}]})
    row = order(client, home, (item, 2))
    refused(client, row, 400, "item.fractional_quantity", ["quantity"], "/picks", item_id=item["id"], quantity=0.5)


def test_archived_items_and_external_ids(client, home, pen):
    order(client, home, (pen, 1), external_id="unique-1")
    client.refused("POST", ORDERS, 409, "fulfillment.exists", ["external_id"], body={"location_id": home["id"], "external_id": "unique-1", "articles": [{"item_id": pen["id"], "requested_qty": 1}]})
    client.post(f"{ITEMS}/{pen['id']}", {"status": "archived"}, expect=200)
    client.refused("POST", ORDERS, 409, "item.archived", ["articles.0.item_id"], body={"location_id": home["id"], "articles": [{"item_id": pen["id"], "requested_qty": 1}]})


def test_documents_are_asked_for(client, home, pen):
    """Spec 03 section 6.1 [S]: include_documents on retrieve."""
    row = order(client, home, (pen, 1))
    a = client.get(f"{ORDERS}/{row['id']}?include_documents=true", expect=None)
    if "documents" in MODULES.split(","):
        assert a.data["_documents"] == []
    else:
        assert (a.code, a.errors) == ("param.invalid", ["include_documents"])
    assert get(client, row)["_documents"] is None and "_documents" not in client.get(f"{ORDERS}?id={row['id']}").data[0]


def test_lists(client, fresh):
    client = fresh.client()
    a, b = make_location(client, "A"), make_location(client, "B")
    pen, pad = make_item(client, "Pen", sku="PEN-1", levels=[entry(a, available_qty=1)]), make_item(client, "Pad", sku="PAD-1")
    ann = {"name": "Ann Archer", "email": "ann@example.com"}
    one = order(client, a, (pen, 1), order_number="SO-77", external_id="E1", priority=5, tags=["fragile"], recipient=ann, ship_by="2030-01-01T00:00:00Z", metadata={"k": "v"})["id"]
    two = order(client, b, (pad, 2), (pen, 1), purchase_order="PO-9", reference_number="REF", priority=9, ship_by="2029-01-01T00:00:00Z")["id"]
    post(client, {"id": one}, status="processing")

    def found(query):
        return [r["id"] for r in client.get(f"{ORDERS}?{query}").data]

    for query, rows in ((f"location_id={a['id']}", [one]), ("status=processing", [one]), ("statuses=created", [two]), ("order_number=so-77", [one]), ("external_id=E1", [one]), ("purchase_order=PO-9", [two]),
                        ("reference_number=REF", [two]), (f"item_id={pad['id']}", [two]), ("sku=pad-1", [two]), ("sku=PEN-1&order_by=priority", [two, one]), ("tags=fragile", [one]), ("priority[gt]=5", [two]),
                        ("backordered=true", [two]), ("backordered=false", [one]), ("ship_by[lt]=2029-06-01T00:00:00Z", [two]), ("metadata[k]=v", [one]),
                        ("search=archer", [one]), ("search=ref", [two]), ("order_by=ship_by&direction=asc", [two, one]), ("order_by=priority&direction=asc", [one, two])):
        assert found(query) == rows, query
    arts = client.get(f"{ORDERS}/{two}/articles").data
    assert [(x["item_id"], x["backordered_qty"]) for x in arts] == [(pad["id"], 2), (pen["id"], 1)]


# ---- statuses ----

@pytest.mark.parametrize("before, after", itertools.product(STATUSES, STATUSES))
def test_each_step(client, org, server, home, before, after):
    """Spec 03 section 6.3: every transition that is allowed, and every one that is refused."""
    item = make_item(client, "Thing", levels=[entry(home, available_qty=10)])
    row = brought(client, home, item, before)
    assert get(client, row)["status"] == before
    if after == before:
        assert post(client, row, status=after)["status"] == before
    elif after in FOLLOWS[before]:
        assert post(client, row, status=after, allow_short=True)["status"] == after
    else:
        code = "fulfillment.closed" if before in ("completed", "canceled") else "fulfillment.invalid_transition"
        refused(client, row, 409, code, ["status"], status=after, allow_short=True)
        assert get(client, row)["status"] == before
    left = {"completed": (7, 0), "canceled": (10, 0)}.get(after if after in FOLLOWS[before] else before, (7, 3))
    assert stocked(client, item) == left and broken(server, org.id) == []


def test_what_lacks_is_said(client, home, pen):
    row = order(client, home, (pen, 4), (pen, 3), (pen, 2))
    first, second, third = (a["id"] for a in row["articles"])
    pick(client, row, lines=[{"article_id": first, "quantity": 4}, {"article_id": third, "quantity": 1}])
    refused(client, row, 409, "fulfillment.short", ["articles.1.picked_qty", "articles.2.picked_qty"], status="picked")
    assert post(client, row, status="picked", allow_short=True)["status"] == "picked"
    pack(client, row, article_id=first, quantity=3)
    refused(client, row, 409, "fulfillment.short", ["articles.0.packed_qty", "articles.1.packed_qty", "articles.2.packed_qty"], status="packed")
    assert post(client, row, status="packed", allow_short=True)["status"] == "packed"
    done = post(client, row, status="completed")
    assert amounts(done, "shipped", "reserved", "backordered") == [(3, 0, 0), (0, 0, 0), (0, 0, 0)] and stocked(client, pen) == (7, 0)


def test_nothing_packed_is_not_completed(client, home, pen):
    row = order(client, home, (pen, 1))
    post(client, row, status="packed", allow_short=True)
    refused(client, row, 409, "fulfillment.short", ["status"], status="completed")
    assert post(client, row, status="canceled")["canceled_at"] and stocked(client, pen) == (10, 0)


@pytest.mark.parametrize("status", ["created", "processing", "picked", "packed", "shipping"])
def test_canceled_everything_is_free(client, org, server, home, status):
    item = make_item(client, "Thing", levels=[entry(home, available_qty=10)])
    row = brought(client, home, item, status)
    assert stocked(client, item) == (7, 3)
    client.delete(f"{ORDERS}/{row['id']}")
    row = get(client, row)
    assert row["status"] == "canceled" and amounts(row, "reserved", "picked", "packed", "backordered") == [(0, 0, 0, 0)] and stocked(client, item) == (10, 0)
    for p in client.get(f"/v1/parcels?fulfillment_id={row['id']}").data:
        assert p["status"] == "unpacked" and p["contents"] == []
    told = [e[0] for e in org.events(row["id"])]
    assert told.count("fulfillment.canceled") == 1 and "fulfillment.deleted" not in told and broken(server, org.id) == []
    client.refused("DELETE", f"{ORDERS}/{row['id']}", 409, "fulfillment.closed", ["status"])


def test_what_is_closed_stays(client, home, pen):
    for status in ("completed", "canceled"):
        row = brought(client, home, pen, status)
        for body, at in (({"priority": 3}, "priority"), ({"order_number": "x"}, "order_number"), ({"ship_by": "2030-01-01T00:00:00Z"}, "ship_by"), ({"recipient": {"name": "B"}}, "recipient"),
                         ({"articles": [{"item_id": pen["id"], "requested_qty": 1}]}, "articles"), ({"parcels": [{"name": "B"}]}, "parcels")):
            refused(client, row, 409, "fulfillment.closed", [at], **body)
        assert post(client, row, notes="late", tags=["fragile"], metadata={"a": "1"})["notes"] == "late"
        for path in ("/picks", "/packs"):
            refused(client, row, 409, "fulfillment.closed", [], path, item_id=pen["id"])


# ---- articles of an order that is there ----

def test_articles_change(client, org, server, home, pen):
    pad = make_item(client, "Pad", levels=[entry(home, available_qty=2)])
    row = order(client, home, (pen, 4))
    a, = row["articles"]
    assert amounts(post(client, row, articles=[{"id": a["id"], "requested_qty": 12}]), "requested", "reserved", "backordered") == [(12, 10, 2)]
    assert amounts(post(client, row, articles=[{"id": a["id"], "requested_qty": 5, "comment": "c"}]), "requested", "reserved", "backordered") == [(5, 5, 0)] and stocked(client, pen) == (5, 5)
    row = post(client, row, articles=[{"item_id": pad["id"], "requested_qty": 3}])
    assert amounts(row, "requested", "reserved") == [(5, 5), (3, 2)] and row["articles"][0]["comment"] == "c"
    pick(client, row, article_id=a["id"], quantity=3)
    refused(client, row, 409, "fulfillment.picked", ["articles.0.requested_qty"], articles=[{"id": a["id"], "requested_qty": 2}])
    refused(client, row, 409, "fulfillment.picked", ["articles.0"], articles=[{"id": a["id"], "_delete": True}])
    row = post(client, row, articles=[{"id": row["articles"][1]["id"], "_delete": True}, {"id": a["id"], "requested_qty": 3}])
    assert amounts(row, "requested", "reserved", "picked") == [(3, 3, 3)] and stocked(client, pad) == (2, 0) and stocked(client, pen) == (7, 3)
    refused(client, row, 400, "validation.failed", ["articles.0.id"], articles=[{"id": "art_0000000000000000000000", "requested_qty": 1}])
    refused(client, row, 400, "validation.failed", ["articles.1.id"], articles=[{"id": a["id"], "requested_qty": 3}, {"id": a["id"], "requested_qty": 4}])
    post(client, row, status="picked")
    row = post(client, row, articles=[{"id": a["id"], "requested_qty": 4}])
    assert row["status"] == "processing" and amounts(row, "reserved", "picked") == [(4, 3)]
    pick(client, row, article_id=a["id"])
    pack(client, row, all=True)
    post(client, row, status="packed")
    refused(client, row, 409, "fulfillment.invalid_transition", ["articles"], articles=[{"id": a["id"], "requested_qty": 5}])
    assert broken(server, org.id) == []


def test_the_last_article_stays(client, home, pen):
    row = order(client, home, (pen, 1))
    refused(client, row, 400, "validation.failed", ["articles"], articles=[{"id": row["articles"][0]["id"], "_delete": True}])
    assert stocked(client, pen) == (9, 1)


# ---- what goes ----

def test_items_and_locations_of_open_orders(client):
    here = make_location(client)
    item = make_item(client, "Later")
    row = order(client, here, (item, 1))
    client.refused("DELETE", f"{ITEMS}/{item['id']}", 409, "fulfillment.item_ordered", [])
    client.refused("DELETE", f"/v1/locations/{here['id']}", 409, "location.in_use", ["fulfillments"])
    client.post(f"/v1/locations/{here['id']}", {"active": False}, expect=200)
    client.refused("POST", ORDERS, 400, "location.inactive", ["location_id"], body={"location_id": here["id"], "articles": [{"item_id": item["id"], "requested_qty": 1}]})
    client.delete(f"{ORDERS}/{row['id']}")
    client.delete(f"{ITEMS}/{item['id']}")
    client.delete(f"/v1/locations/{here['id']}")


def test_layouts_that_go_take_promises_along(client, org, server):
    here, shelf, other = place(client, "Shelf", "Other")
    item = make_item(client, "Thing", levels=[entry(here, layout_id=shelf, available_qty=3), entry(here, layout_id=other, available_qty=2), entry(here, layout_id=here["default_layout_id"], available_qty=1)])
    row = order(client, here, (item, 6))
    wish = order(client, here, {"item_id": item["id"], "requested_qty": 1, "layout_id": shelf})
    pick(client, row, article_id=row["articles"][0]["id"], layout_id=shelf, quantity=2)
    for layout in (shelf, other):
        client.delete(f"/v1/locations/{here['id']}/layouts/{layout}")
        assert broken(server, org.id) == []
    assert stocked(client, item) == (0, 6) and amounts(get(client, row), "reserved", "picked") == [(6, 2)] and get(client, wish)["articles"][0]["layout_id"] is None
    full(client, get(client, row))
    post(client, row, status="packed")
    assert amounts(post(client, row, status="completed"), "shipped") == [(6,)] and stocked(client, item) == (0, 0) and broken(server, org.id) == []


def test_merged_contacts(client, home, pen):
    ann, anna = make_contact(client, "Ann"), make_contact(client, "Anna")
    row = order(client, home, (pen, 1), recipient=ann)
    client.post(f"/v1/contacts/{anna}/merge", {"from": [ann]}, expect=200)
    assert get(client, row)["recipient_contact_id"] == anna
