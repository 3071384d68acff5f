"""The labels and papers that come with the server, each of a real row of its module, rendered and printed in one call: spec 05 section 10."""
import pytest

from drawings import TEMPLATES, codes, pages, picture, said, sound, words
from test_print_jobs import Shop, printer

ADDRESS = "742 Evergreen Terrace, Springfield, IL 62704, US"
SIZES = {"2x1": (144, 72), "3x1": (216, 72), "4x6": (288, 432), "letter": (612, 792)}


@pytest.fixture(scope="module")
def shop(org):
    sizes = {"letter": True, "label_4x6": True, "label_2x1": True, "label_3x1": True}
    return Shop(org, "Paper shop", printer(page_size=sizes))


@pytest.fixture(scope="module")
def shelf(shop):
    return shop.client.post(f"/v1/locations/{shop.location['id']}/layouts", {"name": "Shelf A", "code": "A1-A"}, expect=201).data


def said_on(pdf, page):
    return [w[5] for w in words(pdf) if w[0] == page]


def printed(shop, type, size, row, **template):
    """Prints a row by the default of the type, or by a template with texts of its own; the paper as the printer gets it."""
    resource = {"type": row["object"], "id": row["id"]}
    name = type
    if template:
        name = shop.client.post(TEMPLATES, {"name": f"Own {row['id']}"[:31], "set_as_default": False, "template_data": {"type": type, **template}}, expect=201).data["id"]
    answer = shop.client.post(f"{TEMPLATES}/{name}/render", {"resource": resource, "print": {"print_station_id": shop.station["id"]}, "strict": True}, expect=201)
    assert answer.data["element_errors"] == answer.data["warnings"] == [], answer.data
    job = shop.get(answer.data["print_job_id"])
    assert job["configuration"]["paper_size"] == {"letter": "page_size_letter"}.get(size, f"page_size_label_{size}") and job["status"] == "queued"
    assert (job["resource"]["type"], job["resource"]["id"]) == (resource["type"], resource["id"])
    pdf = sound(shop.paper(job))
    assert set(pages(pdf)) == {SIZES[size]}
    return pdf


def make(shop, path, expect=201, **body):
    return shop.client.post(path, body, expect=expect).data


def test_item_label(shop):
    pdf = printed(shop, "item__item_label_pdf", "2x1", make(shop, "/v1/items", name="Mug, white", sku="MUG-WH", gtin="4006381333931"))
    assert said(pdf) == ["Mug,", "white", "MUG-WH", "4006381333931", "MUG-WH"] and codes(picture(pdf, 300)) == [("CODE-128", "MUG-WH")]


def test_asset_label(shop):
    laptop = make(shop, "/v1/items", name="Laptop 14", is_asset=True)
    pdf = printed(shop, "asset__asset_label_pdf", "2x1", make(shop, "/v1/assets", item_id=laptop["id"], location_id=shop.location["id"], serial_number="LAP-0001"))
    assert {"Laptop", "14", "LAP-0001"} <= set(said(pdf)) and ("CODE-128", "LAP-0001") in codes(picture(pdf, 300))


def test_parcel_label(shop, shelf):
    row = make(shop, "/v1/parcels", name="Toner from Globex", layout_id=shelf["id"], tracking_number="JD014600003RU", weight=3, special_handling_tags=["fragile"])
    pdf = printed(shop, "parcel__parcel_label_pdf", "4x6", row, parcel_count="2 of 5")
    assert {"Toner", "Globex", "Paper", "Shelf", "2", "5", "lb", "FRAGILE"} <= set(said(pdf)) and codes(picture(pdf)) == [("CODE-128", "JD014600003RU"), ("QR-Code", "JD014600003RU")]


def test_container_label(shop):
    row = make(shop, "/v1/containers", name="Roll cage 7", tracking_number="CAGE-0007", location_id=shop.location["id"], metadata={"sscc": "10614141123456789"})
    pdf = printed(shop, "container__container_label_pdf", "4x6", row, to="Portland", layout="Dock 2")
    assert {"Roll", "cage", "Paper", "Portland", "Dock", "SHIPMENTS", "0"} <= set(said(pdf))
    assert codes(picture(pdf)) == [("CODE-128", "00106141411234567897"), ("CODE-128", "CAGE-0007")], "the check digit of the SSCC is added"


def test_bin_label(shop, shelf):
    pdf = printed(shop, "layout__bin_label_pdf", "3x1", shelf, arrow="↑")
    assert {"Shelf", "A", "↑"} <= set(said(pdf)) and codes(picture(pdf, 300)) == [("CODE-128", "A1-A"), ("QR-Code", "A1-A")]


def shipment(shop, boxes, **more):
    return make(shop, "/v1/shipments", type="outbound", location_id=shop.location["id"], tracking_number=f"PRO-{boxes}", order_number="SO-17", notes="Call the gate", sender={"name": "Springfield HQ", "address": ADDRESS},
                recipient={"name": "Ned Flanders", "address": "744 Evergreen Terrace, Springfield, OR 97477, US"}, parcels=[{"name": f"Box-{i}", "weight": 4.5, **more} for i in range(boxes)])


BOL = {"bol_number": "00614141123456781", "scac": "RDWY", "seals": "S-90017", "bill_to": "Globex", "cod_amount": "$10.00", "declared_value": "$500.00"}


def test_bill_of_lading(shop):
    """All packages on one page, with the numbers of the carrier; what is dangerous has its X."""
    pdf = printed(shop, "shipment__bol_pdf", "letter", shipment(shop, 10, special_handling_tags=["hazmat"]), **BOL)
    found = said(pdf)
    assert len(pages(pdf)) == 1 and {"RDWY", "S-90017", "Globex", "$10.00", "$500.00", "SO-17", "gate", "Prepaid", "Flanders"} <= set(found)
    assert [w for w in found if w.startswith("Box-")] == [f"Box-{i}" for i in range(10)] and found.count("X") == 10 and "Supplement" not in found
    assert ("CODE-128", "40200614141123456781") in codes(picture(pdf, 300))


def test_bill_of_lading_with_a_supplement(shop):
    """More packages than the first page has lines for: one line with the totals above the signatures, and all of them on the pages that follow."""
    pdf = printed(shop, "shipment__bol_pdf", "letter", shipment(shop, 60), **BOL)
    first, *others = (said_on(pdf, page) for page in range(1, len(pages(pdf)) + 1))
    assert len(others) == 2 and {"supplement", "60", "signature"} <= set(first) and not any(w.startswith("Box-") for w in first)
    assert {"Supplement", "00614141123456781"} <= set(others[0]) and all("Commodity" in page for page in others) and not any("signature" in page for page in others)
    assert [w for page in others for w in page if w.startswith("Box-")] == [f"Box-{i}" for i in range(60)]


def test_packing_slip(shop):
    """Of an order that is picked in part: a lot, serial numbers, what follows."""
    mug, laptop = make(shop, "/v1/items", name="Mug, blue", sku="MUG-BL"), make(shop, "/v1/items", name="Laptop 15", sku="LAP-15", is_asset=True, levels=[{"location_id": shop.location["id"], "available_qty": 2}])
    for i in (7, 8):
        make(shop, "/v1/assets", item_id=laptop["id"], location_id=shop.location["id"], serial_number=f"LAP-{i}")
    order = make(shop, "/v1/fulfillments", location_id=shop.location["id"], order_number="SO-2026-9", notes="Leave at the gate", allow_short=True, recipient={"name": "Ned Flanders", "address": ADDRESS},
                 articles=[{"item_id": mug["id"], "requested_qty": 12}, {"item_id": laptop["id"], "requested_qty": 2}])
    for i in (7, 8):
        make(shop, f"/v1/fulfillments/{order['id']}/picks", 200, code="LAP-15", serial_number=f"LAP-{i}")
    pdf = printed(shop, "fulfillment__packing_slip_pdf", "letter", order)
    assert {"MUG-BL", "LAP-15", "LAP-7,", "LAP-8", "12", "gate", "Flanders", "SO-2026-9"} <= set(said(pdf)) and codes(picture(pdf)) == [("CODE-128", "SO-2026-9")]


def test_receiving_sheet(shop):
    for i in range(3):
        make(shop, "/v1/items", name=f"Clay {i}", sku=f"CLAY-{i}")
    row = make(shop, "/v1/manifests", location_id=shop.location["id"], status="accepted", purchase_order_number="PO-77", articles=[{"sku": f"CLAY-{i}", "packed_qty": 4 + i} for i in range(3)])
    pdf = printed(shop, "manifest__receiving_sheet_pdf", "letter", row)
    assert codes(picture(pdf, 300)) == [("CODE-128", "CLAY-0"), ("CODE-128", "CLAY-1"), ("CODE-128", "CLAY-2"), ("CODE-128", "PO-77")]
    assert {"Expected", "Received", "Damaged", "Reason", "4", "5", "6"} <= set(said(pdf))
