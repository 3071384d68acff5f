"""Templates drawn of rows: spec 05 sections 8 and 10."""
import pytest
import requests

from drawings import PNG, TEMPLATES, codes, pages, picture, said, sound, text, uri, whole
from test_print_jobs import Shop
from wharf import WAIT, Server, make_location

ADDRESS = "742 Evergreen Terrace, Springfield, IL 62704, US"


def render(client, template, expect=200, **body):
    return client.post(f"{TEMPLATES}/{template}/render", body, expect=expect)


def drawn(client, template, **body):
    answer = render(client, template, **body)
    assert answer.data["element_errors"] == [], answer.data["element_errors"]
    return sound(whole(client, answer))


@pytest.fixture(scope="module")
def item(client):
    return client.post("/v1/items", {"name": "Mug, white", "sku": "MUG-WH", "gtin": "4006381333931"}, expect=201).data


def custom(client, raw, **more):
    return client.post(TEMPLATES, {"name": f"C{id(raw)}"[:31], "set_as_default": False, "template_data": {"type": "custom__pdf", "definition": {"size": "4x6", "raw": raw}, **more}}, expect=201).data["id"]


def test_an_item_label(client, item):
    """Spec 05 section 10 [P]: name, SKU, GTIN, and the SKU as a barcode; a type means its default."""
    pdf = drawn(client, "item__item_label_pdf", resource={"type": "item", "id": item["id"]})
    assert pages(pdf) == [(144, 72)]
    assert {"Mug,", "white", "MUG-WH", "4006381333931"} <= set(said(pdf))
    assert codes(picture(pdf, 300)) == [("CODE-128", "MUG-WH")]


def test_texts_of_a_template(client, item):
    """Spec 05 section 10: each slot may be overridden with text and variables; an empty text leaves it out."""
    made = client.post(TEMPLATES, {"name": "Own texts", "set_as_default": False, "template_data": {"type": "item__item_label_pdf", "dimensions": "4x2", "text_line_1": "{{item.sku | lower}} here", "text_line_3": "",
                                                                                               "barcode": "X-{{item.sku}}"}}, expect=201).data["id"]
    pdf = drawn(client, made, resource={"type": "item", "id": item["id"]})
    assert pages(pdf) == [(288, 144)]
    assert "mug-wh" in said(pdf) and "here" in said(pdf) and "4006381333931" not in said(pdf)
    assert codes(picture(pdf, 300)) == [("CODE-128", "X-MUG-WH")]


@pytest.mark.parametrize("type, resource, size", [("shipment__shipping_label_pdf", "shipment", "4x6"), ("asset__asset_label_pdf", "asset", "4x6"), ("parcel__parcel_label_pdf", "parcel", "4x6"), ("container__container_label_pdf", "container", "4x6"),
                                                  ("layout__bin_label_pdf", "layout", "4x2"), ("fulfillment__packing_slip_pdf", "fulfillment", "letter"), ("shipment__bol_pdf", "shipment", "letter"), ("manifest__receiving_sheet_pdf", "manifest", "letter")])
def test_each_slot_is_shown(client, server, type, resource, size):
    """Spec 05 section 10: what the schema lists as a slot is on the paper, by text or as a code; the logo is an image."""
    slots = next(t["slots"] for t in client.get(f"{TEMPLATES}/schema").data["types"] if t["type"] == type)
    own = {slot: f"W{i}ORD" for i, slot in enumerate(slots) if slot not in ("org_logo_url", "bol_number", "sscc", "qr_code", "arrow")}
    own |= {k: v for k, v in {"bol_number": "00614141123456781", "sscc": "106141411234567897", "qr_code": {"order_number": "Q1"}, "arrow": "↑", "org_logo_url": uri(PNG)}.items() if k in slots}
    made = client.post(TEMPLATES, {"name": "Each slot", "set_as_default": False, "template_data": {"type": type, "dimensions": size, **own}}, expect=201).data["id"]
    answer = render(client, made, data={resource: {}})
    assert answer.data["element_errors"] == [], answer.data["element_errors"]
    pdf = whole(client, answer)
    read = {value for _, value in codes(picture(pdf, 300))}
    found = set(said(pdf)) | {v.removeprefix("402").removeprefix("00") if v.isdigit() else v for v in read}
    wanted = {v for k, v in own.items() if k not in ("qr_code", "org_logo_url", "bol_number", "sscc")}
    assert wanted <= found, wanted - found
    assert "qr_code" not in slots or '{"order_number":"Q1"}' in read
    assert not {"bol_number", "sscc"} & set(slots) or {"40200614141123456781", "00106141411234567897"} & read
    client.delete(f"{TEMPLATES}/{made}")


def test_which_template(client, item, location):
    """Spec 05 section 7 [P]: location default, organization default, built-in."""
    def line():
        return said(drawn(client, "item__item_label_pdf", resource={"type": "item", "id": item["id"]}, location_id=location["id"]))

    assert "Mug," in line()
    all_of_us = client.post(TEMPLATES, {"name": "All", "set_as_default": True, "template_data": {"type": "item__item_label_pdf", "text_line_1": "everywhere"}}, expect=201).data["id"]
    assert "everywhere" in line()
    here = client.post(TEMPLATES, {"name": "Here", "set_as_default": True, "location_id": location["id"], "template_data": {"type": "item__item_label_pdf", "text_line_1": "here"}}, expect=201).data["id"]
    assert "here" in line()
    client.delete(f"{TEMPLATES}/{here}")
    client.delete(f"{TEMPLATES}/{all_of_us}")
    assert "Mug," in line()


def test_the_location_of_the_row_says_which_template(org, client):
    """Spec 05 sections 7 and 8: without `location_id` the default of the row's own location is drawn; `location_id` comes first."""
    here, away = make_location(client), make_location(client)
    laptop = client.post("/v1/items", {"name": "Laptop 15", "is_asset": True}, expect=201).data["id"]
    asset = client.post("/v1/assets", {"item_id": laptop, "location_id": here["id"], "serial_number": "LAP-77"}, expect=201).data["id"]
    for place in (here, away):
        client.post(TEMPLATES, {"name": "Of a place", "set_as_default": True, "location_id": place["id"], "template_data": {"type": "asset__asset_label_pdf", "text_line_1": "here" if place is here else "away"}}, expect=201)
    resource = {"type": "asset", "id": asset}
    assert "here" in said(drawn(client, "asset__asset_label_pdf", resource=resource))
    assert "away" in said(drawn(client, "asset__asset_label_pdf", resource=resource, location_id=away["id"]))
    local = org.client(scopes="templates:read,assets:read", locations=[here["id"]])
    assert "here" in said(drawn(local, "asset__asset_label_pdf", resource=resource))


def test_an_older_version(client, item):
    made = client.post(TEMPLATES, {"name": "Older", "set_as_default": False, "template_data": {"type": "item__item_label_pdf", "text_line_1": "one"}}, expect=201).data["id"]
    client.post(f"{TEMPLATES}/{made}", {"template_data": {"type": "item__item_label_pdf", "text_line_1": "two"}}, expect=200)
    resource = {"type": "item", "id": item["id"]}
    assert "two" in said(drawn(client, made, resource=resource)) and "one" in said(drawn(client, f"{made}", resource=resource)) + said(whole(client, client.post(f"{TEMPLATES}/{made}/render?version=1", {"resource": resource}, expect=200)))
    client.refused("POST", f"{TEMPLATES}/{made}/render?version=9", 404, "not_found", body={"resource": resource})


def test_data_records_and_sheets(client):
    made = custom(client, [text("{{who}}")], sample={"who": "Sample"})
    assert said(drawn(client, made, data={"who": "Ada"})) == ["Ada"]
    assert said(drawn(client, made)) == ["Sample"]
    pdf = drawn(client, made, records=[{"who": "Ada"}, {"who": "Bob"}, {"who": "Cy"}])
    assert said(pdf) == ["Ada", "Bob", "Cy"] and len(pages(pdf)) == 3
    pdf = drawn(client, made, records=[{"who": "Ada"}, {"who": "Bob"}, {"who": "Cy"}], sheet={"size": "letter", "columns": 2, "rows": 1})
    assert said(pdf) == ["Ada", "Bob", "Cy"] and pages(pdf) == [(612, 792)] * 2


def test_sheets_of_every_paper(client):
    """Spec 05 section 9.1 [O]: a sheet is any of the papers, by each of its names."""
    made = custom(client, [text("{{who}}")])
    for size, sides in (("page_size_letter", (612, 792)), ("Tabloid", (792, 1224)), ("A3", (842, 1191)), (None, (595, 842))):
        pdf = drawn(client, made, records=[{"who": "Ada"}], sheet={"columns": 2, "rows": 1, **({"size": size} if size else {})})
        assert [tuple(round(n) for n in page) for page in pages(pdf)] == [sides], size
    client.refused("POST", f"{TEMPLATES}/{made}/render", 400, "validation.failed", ["sheet.size"], body={"data": {}, "sheet": {"columns": 1, "rows": 1, "size": "napkin"}})


def test_what_a_definition_says_of_its_file(client):
    """Spec 05 section 8: `filename` and `strict` of the request stand in place of the definition's."""
    definition = {"size": "4x6", "raw": [text("{{who}}"), text("always", y=50)], "filename": "card", "strict": True}
    made = client.post(TEMPLATES, {"name": "Own file", "set_as_default": False, "template_data": {"type": "custom__pdf", "definition": definition}}, expect=201).data["id"]
    assert render(client, made, data={"who": "Ada"}).data["filename"] == "card.pdf"
    assert render(client, made, data={"who": "Ada"}, filename="other", format="png").data["filename"] == "other.png"
    client.refused("POST", f"{TEMPLATES}/{made}/render", 400, "template.render_failed", ["raw.0.value: who is not set"], body={"data": {}})
    assert [w["code"] for w in render(client, made, data={}, strict=False).data["warnings"]] == ["variable.missing"]


def test_pictures_and_zpl(client, server, item):
    resource = {"type": "item", "id": item["id"]}
    data = render(client, "item__item_label_pdf", resource=resource, format="png", output="url").data
    assert data["filename"] == "document.png" and data["format"] == "png"
    png = requests.get(data["url"] if data["url"].startswith("http") else server.base + data["url"], timeout=WAIT)
    assert png.headers["Content-Type"] == "image/png" and png.content[:4] == b"\x89PNG" and codes(png.content) == [("CODE-128", "MUG-WH")]
    r = requests.post(f"{server.base}{TEMPLATES}/item__item_label_pdf/render", json={"resource": resource}, headers={"SVC-API-KEY": client.key, "Accept": "application/vnd.zebra-zpl"}, timeout=WAIT)
    assert r.headers["Content-Type"] == "application/vnd.zebra-zpl" and r.content.startswith(b"^XA") and r.content.strip().endswith(b"^XZ")


def test_zpl_for_a_printer(client, item):
    """Spec 05 section 8 [O]: the request says for which printer, in place of the definition: dots to the inch, native codes."""
    body = {"resource": {"type": "item", "id": item["id"]}, "format": "zpl"}
    usual, fine, native = (whole(client, render(client, "item__item_label_pdf", **body, **more)) for more in ({}, {"snap_barcodes": 300}, {"zpl_native": True}))
    assert (usual.split()[1:3], fine.split()[1:3]) == ([b"^PW406", b"^LL203"], [b"^PW600", b"^LL300"])
    assert b"^BCN" not in usual and b"^FDMUG-WH^FS" in native and len(native) < len(usual)
    client.refused("POST", f"{TEMPLATES}/item__item_label_pdf/render", 400, "validation.failed", ["snap_barcodes"], body={**body, "snap_barcodes": 200})


@pytest.mark.parametrize("body, status, code, errors", [
    ({}, 400, "validation.failed", ["resource"]), ({"resource": {"type": "item"}}, 400, "validation.failed", ["resource.id"]), ({"resource": {"type": "shipment", "id": "ship_1"}}, 400, "validation.failed", ["resource.type"]),
    ({"resource": {"type": "item", "id": "item_0000000000000000000000"}}, 400, "validation.failed", ["resource.id"]), ({"data": {}, "records": [{}]}, 400, "validation.failed", ["resource"]),
    ({"data": {}, "format": "gif"}, 400, "validation.failed", ["format"]), ({"records": []}, 400, "validation.failed", ["records"]), ({"records": [{}] * 1001}, 400, "validation.failed", ["records"]),
])
def test_what_is_refused(client, body, status, code, errors):
    client.refused("POST", f"{TEMPLATES}/item__item_label_pdf/render", status, code, errors, body=body)


def test_no_such_template(client):
    client.refused("POST", f"{TEMPLATES}/temp_0000000000000000000000/render", 404, "not_found", body={"data": {}})
    client.refused("POST", f"{TEMPLATES}/napkin/render", 404, "not_found", body={"data": {}})


def test_who_may(org, client, item):
    """Spec 05 section 8: templates:read and the scope of the row's area, and its location."""
    body = {"resource": {"type": "item", "id": item["id"]}}
    org.client(scopes="templates:read").refused("POST", f"{TEMPLATES}/item__item_label_pdf/render", 403, "scope_access", body=body)
    assert render(org.client(scopes="templates:read,items:read"), "item__item_label_pdf", **body).data["pages"] == 1
    here, away = make_location(client), make_location(client)
    asset = client.post("/v1/assets", {"item_id": client.post("/v1/items", {"name": "Laptop", "is_asset": True}, expect=201).data["id"], "location_id": here["id"], "serial_number": "S-9"}, expect=201).data
    org.client(scopes="templates:read,assets:read", locations=[away["id"]]).refused("POST", f"{TEMPLATES}/asset__asset_label_pdf/render", 403, "location_access", body={"resource": {"type": "asset", "id": asset["id"]}})


def shipment(client, place, number="1Z999AA10123456784"):
    return client.post("/v1/shipments", {"type": "outbound", "location_id": place["id"], "tracking_number": number, "order_number": "SO-17", "sender": {"name": "Springfield HQ", "address": ADDRESS},
                                         "recipient": {"name": "Ned Flanders", "address": "744 Evergreen Terrace, Springfield, OR 97477, US"}, "parcels": [{"name": "Box 1", "weight": 4.5, "length": 12, "width": 9, "height": 6}]}, expect=201).data


def test_a_shipping_label_and_a_bill_of_lading(client, location):
    row = shipment(client, location)
    resource = {"type": "shipment", "id": row["id"]}
    pdf = drawn(client, "shipment__shipping_label_pdf", resource=resource)
    assert pages(pdf) == [(288, 432)] and {"Ned", "Flanders", "SO-17"} <= set(said(pdf))
    read = dict(codes(picture(pdf)))
    assert read["CODE-128"] == "1Z999AA10123456784" and '"order_number":"SO-17"' in read["QR-Code"]
    answer = render(client, "shipment__bol_pdf", resource=resource, output="document", document={"name": "BOL 17"}, expect=201)
    made = client.get(f"/v1/documents/{answer.data['document_id']}").data
    assert made["category"] == "bol" and [link["resource"] for link in made["links"]] == [resource]


def test_printing(org):
    """Spec 04 section 14, 05 section 9.1 [O]: one call renders and prints; the row is linked, the paper is the page's."""
    shop = Shop(org, "Labels")
    row = shipment(shop.client, shop.location, "1Z58F2A70378657975")
    answer = render(shop.client, "shipment__shipping_label_pdf", resource={"type": "shipment", "id": row["id"]}, print={"print_station_id": shop.station["id"]}, expect=201)
    job = shop.get(answer.data["print_job_id"])
    assert job["configuration"]["paper_size"] == "page_size_label_4x6" and (job["resource"]["type"], job["resource"]["id"]) == ("shipment", row["id"])
    assert answer.data["url"] and answer.data["document_id"] is None
    for member, value in (("data", "SGk="), ("document_id", "dcmt_1"), ("template", {"id": "item__item_label_pdf"}), ("raw", True), ("content_type", "text/plain")):
        shop.client.refused("POST", f"{TEMPLATES}/shipment__shipping_label_pdf/render", 400, "validation.failed", [f"print.{member}"],
                            body={"resource": {"type": "shipment", "id": row["id"]}, "print": {"print_station_id": shop.station["id"], member: value}})
    shop.client.refused("POST", f"{TEMPLATES}/shipment__shipping_label_pdf/render", 400, "validation.failed", body={"resource": {"type": "shipment", "id": row["id"]}, "print": {"print_station_id": shop.station["id"], "printer_name": "None"}})


def test_a_packing_slip(client, location, item):
    """Spec 05 section 10 [O]: lines of the order; letter or A4 by the country of the location; a document is a packing_slip, linked."""
    rows = [{"item_id": item["id"], "requested_qty": 12}] + [{"item_id": client.post("/v1/items", {"name": f"Part {i}", "sku": f"PART-{i}"}, expect=201).data["id"], "requested_qty": i} for i in range(1, 60)]
    row = client.post("/v1/fulfillments", {"location_id": location["id"], "articles": rows, "order_number": "SO-2026-9", "notes": "Leave at the gate", "allow_short": True,
                                           "recipient": {"name": "Ned Flanders", "address": ADDRESS}}, expect=201).data
    answer = render(client, "fulfillment__packing_slip_pdf", resource={"type": "fulfillment", "id": row["id"]}, output="document", expect=201)
    made = client.get(f"/v1/documents/{answer.data['document_id']}").data
    assert answer.data["element_errors"] == [] and made["category"] == "packing_slip" and made["links"][0]["resource"] == {"type": "fulfillment", "id": row["id"]}
    pdf = sound(requests.get(f"{client.server.base}/v1/documents/{made['id']}/content", headers={"SVC-API-KEY": client.key}, timeout=WAIT).content)
    found = said(pdf)
    assert set(pages(pdf)) == {(612, 792)} and len(pages(pdf)) > 1  # the usual location is in the US
    assert {"MUG-WH", "PART-1", "PART-59", "gate", "Flanders"} <= set(found) and found.count("SKU") == len(pages(pdf))
    assert codes(picture(pdf)) == [("CODE-128", "SO-2026-9")]


def test_a_print_job_of_a_template(org):
    """Spec 04 section 6 [O]: a job's source may be a template, rendered by 05 section 8."""
    shop = Shop(org, "Sources")
    row = shop.client.post("/v1/items", {"name": "Pen", "sku": "PEN-1"}, expect=201).data
    template = {"id": "item__item_label_pdf", "resource": {"type": "item", "id": row["id"]}}
    made = shop.client.post(TEMPLATES, {"name": "Print 4x6", "set_as_default": False, "template_data": {"type": "item__item_label_pdf", "dimensions": "4x6"}}, expect=201).data["id"]
    job = shop.make(data=None, template={**template, "id": made})
    assert job["document"]["content_type"] == "application/pdf" and job["configuration"]["paper_size"] == "page_size_label_4x6"
    assert "PEN-1" in said(shop.paper(job))
    shop.refuse(400, "validation.failed", ["template.resource.id"], data=None, template={**template, "resource": {"type": "item", "id": "item_0000000000000000000000"}})
    shop.refuse(400, "template.render_failed", data=None, template={"id": custom(shop.client, [text(), {"type": "image", "x": 1, "y": 1, "width": 9, "height": 9, "value": "bm8="}], sample={}), "data": {}})
    shop.refuse(404, "not_found", data=None, template={**template, "id": "temp_0000000000000000000000"})


def test_renders_are_told_when_that_is_wanted():
    """Spec 05 section 14: template.generated is off unless the setting says else."""
    for wanted in ("true", "false"):
        server = Server("--modules", "org,locations,events,templates", "--set", f"templates.emit_generated={wanted}")
        try:
            org = server.organization()
            client = org.client()
            template = custom(client, [text("Told")])
            made = render(client, template, data={}).data
            told = org.events(template, "template.generated")
            assert [(e[1]["pdf_id"], e[1]["format"], e[1]["pages"]) for e in told] == ([(made["id"], "pdf", 1)] if wanted == "true" else [])
        finally:
            server.stop()
