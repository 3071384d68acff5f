"""Shipments of a fulfillment, returns, printing: spec 03 section 6.8."""
import pytest

from orders import ITEMS, ORDERS, amounts, broken, change, entry, get, levels, make_item, movements, order, pack, pick, place, post, refused, stocked
from wharf import make_location, until

BOX = {"length": 10, "width": 5, "height": 4, "weight": 2}
WHERE = "742 Evergreen Terrace, Springfield, OR 97477, US"
BOB = {"name": "Bob", "email": "bob@example.com", "address": WHERE}
SHIPS = "/v1/shipments"
# one pixel of PNG, which says no size
LABEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

PAPER = {"configuration": {"paper_size": "page_size_letter"}}


@pytest.fixture(scope="module")
def client(org):
    client = org.client()
    client.post("/v1/org", {"settings": {"shipments": {"private_rates": [{"service_level_id": "van", "name": "Van", "amount": 500}]}}}, expect=200)
    return client


@pytest.fixture
def here(client):
    return client.post("/v1/locations", {"name": "Dock", "address": WHERE, "email": "dock@example.com"}, expect=201).data


@pytest.fixture
def item(client, here):
    return make_item(client, "Pen", sku=None, levels=[entry(here, available_qty=10)])


def packed(client, here, item, *boxes, **more):
    """A packed order, in so many parcels of these quantities."""
    row = order(client, here, (item, sum(boxes)), recipient=BOB, **more)
    for quantity in boxes:
        pack(client, row, item_id=item["id"], quantity=quantity, parcel=BOX)
    return post(client, row, status="packed")


def ship(client, row, expect=201, **body):
    return client.post(SHIPS, {"fulfillment_id": row["id"], **body}, expect=expect).data


def buy(client, shipment):
    return client.post(f"{SHIPS}/{shipment['id']}/purchase", {"rate_id": shipment["rates"][0]["id"]}, expect=200).data


def move(client, shipment, status):
    return client.post(f"{SHIPS}/{shipment['id']}", {"tracking_update": {"status": status}}, expect=200).data


def test_a_shipment_takes_what_it_carries(client, org, server, here, item):
    row = packed(client, here, item, 3, order_number="SO-5", purchase_order="PO-5")
    s = ship(client, row)
    assert s["status"] == "rates_generated" and (s["order_number"], s["purchase_order"], s["location_id"], s["fulfillment_id"]) == ("SO-5", "PO-5", here["id"], row["id"])
    assert s["sender"]["name"] == "Dock" and s["recipient"]["name"] == "Bob" and [(p["length"], p["weight"]) for p in s["parcels"]] == [(10, 2)] and s["weight"] == 2
    mine = client.get(f"/v1/parcels?shipment_id={s['id']}").data
    assert [p["id"] for p in mine] == [row["parcels"][0]["id"]] and get(client, row)["shipment_ids"] == [s["id"]] and len(client.get(f"/v1/parcels?fulfillment_id={row['id']}").data) == 1
    assert get(client, row)["status"] == "packed" and amounts(get(client, row), "manifested") == [(3,)]
    bought = buy(client, s)
    assert bought["status"] == "created" and get(client, row)["status"] == "shipping" and stocked(client, item) == (7, 3)
    move(client, s, "package_accepted")
    done = get(client, row)
    assert done["status"] == "completed" and amounts(done, "shipped") == [(3,)] and stocked(client, item) == (7, 0) and broken(server, org.id) == []
    move(client, s, "delivered")
    assert get(client, row)["status"] == "completed"


def test_a_tracking_number_ships_too(client, here, item):
    row = packed(client, here, item, 1)
    s = ship(client, row, tracking_number="1Z58F2A70378657975")
    assert s["status"] == "created" and s["recipient"]["name"] == "Bob" and get(client, row)["status"] == "shipping"


def test_split_shipments(client, here, item):
    row = packed(client, here, item, 1, 2, 3)
    a, b, c = (p["id"] for p in row["parcels"])
    first = ship(client, row, parcel_ids=[b])
    client.refused("POST", SHIPS, 400, "validation.failed", ["parcel_ids"], body={"fulfillment_id": row["id"], "parcel_ids": [b]})
    client.refused("POST", SHIPS, 400, "validation.failed", ["parcel_ids"], body={"fulfillment_id": row["id"], "parcel_ids": ["prcl_0000000000000000000000"]})
    second = ship(client, row)
    assert [p["parcel_id"] for p in second["parcels"]] == [a, c] and get(client, row)["shipment_ids"] == [first["id"], second["id"]]
    client.refused("POST", SHIPS, 400, "validation.failed", ["parcel_ids"], body={"fulfillment_id": row["id"]})
    buy(client, first)
    assert get(client, row)["status"] == "shipping"
    move(client, first, "in_transit")
    assert get(client, row)["status"] == "shipping"  # the other two are still here
    buy(client, second)
    move(client, second, "in_transit")
    assert get(client, row)["status"] == "completed" and stocked(client, item) == (4, 0)


def test_a_canceled_shipment_frees_its_parcels(client, org, server, here, item):
    row = packed(client, here, item, 2)
    s = ship(client, row)
    buy(client, s)
    refused(client, row, 409, "fulfillment.shipped", ["status"], status="canceled")
    client.refused("DELETE", f"{ORDERS}/{row['id']}", 409, "fulfillment.shipped", ["status"])
    move(client, s, "canceled")
    assert client.get(f"/v1/parcels/{row['parcels'][0]['id']}").data["shipment_id"] is None and get(client, row)["status"] == "shipping"
    again = ship(client, row)
    client.delete(f"{SHIPS}/{again['id']}")
    assert client.get(f"/v1/parcels/{row['parcels'][0]['id']}").data["shipment_id"] is None
    assert post(client, row, status="canceled")["status"] == "canceled" and stocked(client, item) == (10, 0) and broken(server, org.id) == []
    client.refused("POST", SHIPS, 409, "fulfillment.closed", ["fulfillment_id"], body={"fulfillment_id": row["id"]})


def test_quotes_do_not_hinder_canceling(client, here, item):
    row = packed(client, here, item, 2)
    ship(client, row)
    client.delete(f"{ORDERS}/{row['id']}")
    assert stocked(client, item) == (10, 0)


def test_bought_before_it_is_packed(client, here, item):
    row = order(client, here, (item, 1), recipient=BOB, parcels=[BOX])
    buy(client, ship(client, row))
    assert get(client, row)["status"] == "created"
    parcel, = client.get(f"/v1/parcels?fulfillment_id={row['id']}").data
    refused(client, row, 400, "validation.failed", ["parcel_id"], "/packs", item_id=item["id"], parcel_id=parcel["id"])
    pack(client, row, item_id=item["id"])
    assert post(client, row, status="packed")["status"] == "shipping"


def test_shipments_without_parcels_of_it(client, here, item):
    row = order(client, here, (item, 1), recipient=BOB)
    client.refused("POST", SHIPS, 400, "validation.failed", ["parcel_ids"], body={"fulfillment_id": row["id"]})
    client.refused("POST", SHIPS, 400, "validation.failed", ["fulfillment_id"], body={"fulfillment_id": "ful_0000000000000000000000", "tracking_number": "X1"})
    other = packed(client, here, item, 1)
    party = {"name": "A", "email": "a@example.com", "address": WHERE}
    client.refused("POST", SHIPS, 400, "validation.failed", ["parcels.0.parcel_id"], body={"sender": party, "recipient": party, "parcels": [{**BOX, "parcel_id": other["parcels"][0]["id"]}]})


def test_who_does_not_reach_the_order_moves_it_on_as_well(client, org, here, item):
    """The status follows by a job then: what a caller may not see does not make his write fail."""
    far = make_location(client)
    row = packed(client, here, item, 2)
    s = buy(client, ship(client, row, location_id=far["id"]))
    key = org.client("all", locations=[far["id"]])
    assert key.get(f"{ORDERS}/{row['id']}", expect=None).status in (403, 404)
    move(key, s, "in_transit")
    until(lambda: get(client, row)["status"] == "completed")
    assert stocked(client, item) == (8, 0)
    key.refused("POST", SHIPS, 403, "location_access", body={"fulfillment_id": order(client, here, (item, 1), recipient=BOB, parcels=[BOX])["id"]})


# ---- returns ----

def returned(client, row, *lines, expect=200):
    return client.post(f"{ORDERS}/{row['id']}/returns", {"lines": list(lines)}, expect=expect).data


def test_returns(client, org, server, here, item):
    row = packed(client, here, item, 6)
    line = row["articles"][0]["id"]
    refused(client, row, 409, "fulfillment.not_completed", [], "/returns", lines=[{"article_id": line, "received_qty": 1}])
    post(client, row, status="completed")
    reason = client.post("/v1/reason-codes", {"code": "BROKEN", "name": "Broken", "resources": ["fulfillment"]}, expect=201).data["id"]
    shelf = client.post(f"/v1/locations/{here['id']}/layouts", {"name": "Returns"}, expect=201).data["id"]
    back = returned(client, row, {"article_id": line, "received_qty": 3, "defective_qty": 1, "layout_id": shelf, "reason_code_id": reason, "comment": "Box open"}, {"article_id": line, "verified_qty": "1"})
    assert amounts(back, "shipped", "received", "defective") == [(6, 4, 1)] and back["status"] == "completed"
    here_now = {v["layout_id"]: (v["available_qty"], v["damaged_qty"]) for v in levels(client, item)}
    assert here_now == {shelf: (2, 1), here["default_layout_id"]: (5, 0)}
    rows = movements(client, item, "&reason=receipt")
    assert {(m["bucket"], m["delta"]) for m in rows} == {("available", 2), ("damaged", 1), ("available", 1)} and {m["source"]["id"] for m in rows} == {row["id"]} and rows[0]["source"]["type"] == "fulfillment"
    assert [(m["reason_code_id"], m["note"]) for m in rows if m["bucket"] == "damaged"] == [(reason, "Box open")]
    refused(client, row, 409, "fulfillment.over_returned", ["lines.1.received_qty"], "/returns", lines=[{"article_id": line, "received_qty": 2}, {"article_id": line, "received_qty": 1}])
    for bad, at in (({"received_qty": 0}, "received_qty"), ({"received_qty": 1, "defective_qty": 2}, "defective_qty"), ({}, "received_qty"), ({"received_qty": 1, "article_id": "art_1"}, "article_id"),
                    ({"received_qty": 1, "reason_code_id": "rsn_1"}, "reason_code_id")):
        refused(client, row, 400, "validation.failed", [f"lines.0.{at}"], "/returns", lines=[{"article_id": line, **bad}])
    assert [e[0] for e in org.events(row["id"])].count("fulfillment.returned") == 1 and broken(server, org.id) == []


def test_returned_lots(client, org, server, here):
    milk = make_item(client, "Milk", lot_tracking="required")
    change(client, milk, entry(here, available_qty=2, lot_number="A"), entry(here, available_qty=3, lot_number="B"))
    one, both = order(client, here, {"item_id": milk["id"], "requested_qty": 1, "lot_number": "A"}), order(client, here, (milk, 4))
    for row in (one, both):
        pack(client, row, lines=[{"article_id": a["id"], "quantity": a["requested_qty"]} for a in row["articles"]])
        post(client, row, status="packed")
        post(client, row, status="completed")
    returned(client, one, {"article_id": one["articles"][0]["id"], "received_qty": 1})
    refused(client, both, 400, "item.lot_required", ["lines.0.lot_number"], "/returns", lines=[{"article_id": both["articles"][0]["id"], "received_qty": 1}])
    returned(client, both, {"article_id": both["articles"][0]["id"], "received_qty": 2, "lot_number": "B"})
    assert {v["lot_number"]: v["available_qty"] for v in levels(client, milk)} == {"A": 1, "B": 2} and broken(server, org.id) == []


# ---- printing ----

@pytest.fixture
def printer(client, here):
    client.post(f"/v1/locations/{here['id']}", {"settings": {"cloud_printing": {"enabled": True}}}, expect=200)
    return client.post("/v1/cloud-printing/stations", {"name": "Desk", "display_name": "Desk", "device_token": "desk", "location_id": here["id"], "printers": [{"name": "Zebra", "model": "ZD", "configuration": {"dpi": "300", "type": "laser"}, "page_size": {"letter": True, "a4": True}}]}, expect=201).data


def test_label_and_slip_in_one_call(client, org, server, here, item, printer):
    row = packed(client, here, item, 2, 1, order_number="SO-88")
    refused(client, row, 409, "fulfillment.no_label", [], "/print")
    slip, = client.post(f"{ORDERS}/{row['id']}/print", {"documents": ["packing_slip"], "print_station_id": printer["id"], "printer_name": "Zebra"}, expect=201).data["jobs"]
    assert slip["resource"] == {"type": "fulfillment", "id": row["id"], "document": None} and slip["status"] == "queued" and slip["document"]["pages"] == 1
    drawn = "/v1/templates" in server.openapi["paths"]  # by the template; else a page of text
    assert slip["document"]["content_type"] == ("application/pdf" if drawn else "text/plain") and slip["configuration"]["paper_size"] == "page_size_letter"
    s = ship(client, row)
    refused(client, row, 409, "fulfillment.no_label", [], "/print", print_station_id=printer["id"])
    assert len(client.get("/v1/cloud-printing/jobs").data) == 1  # both or none
    client.post(f"{SHIPS}/{s['id']}", {"label_url": LABEL}, expect=200)
    jobs = client.post(f"{ORDERS}/{row['id']}/print", {"print_station_id": printer["id"], "printer_name": "Zebra", "label": PAPER}, expect=201).data["jobs"]
    assert [j["resource"]["type"] for j in jobs] == ["shipment", "fulfillment"] and jobs[0]["resource"]["id"] == s["id"] and {j["printer_name"] for j in jobs} == {"Zebra"}
    refused(client, row, 400, "validation.failed", ["shipment_id"], "/print", shipment_id="ship_0000000000000000000000")
    chosen = client.post(f"{ORDERS}/{row['id']}/print", {"shipment_id": s["id"], "label": PAPER, "packing_slip": {"configuration": {"copies": 2}}}, expect=201).data["jobs"]
    assert [(j["configuration"]["copies"], j["configuration"]["paper_size"]) for j in chosen] == [(1, "page_size_letter"), (2, "page_size_letter")]


def test_printing_needs_its_scope(org, client, here, item, printer):
    row = packed(client, here, item, 1)
    key = org.client("fulfillments:write")
    key.refused("POST", f"{ORDERS}/{row['id']}/print", 403, "scope_access", body={"documents": ["packing_slip"]})
