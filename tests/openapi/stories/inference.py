"""A box comes by UPS: a photo of its label says for whom it is, and a tracker follows it. A carton inside has a label of its own."""
import base64
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cell"))


def picture():
    import labels
    return base64.b64encode(labels.bytes_of(labels.label().convert("1"), optimize=True)).decode()


def carton():
    import labels
    page = labels.Image.new("L", (812, 520), 255)
    for i, line in enumerate(("SUPPLIER: NORTHERN PARTS LLC", "ITEM NAME: Blue widget", "P/N 4711-A", "CARTON# C-77", "PO# 5501-7")):
        labels.ImageDraw.Draw(page).text((40, 30 + 50 * i), line, 0, labels.font(30))
    page.paste(labels.code("gs1_128", "[01]00614141123452[17]271231[10]A-55", 1, 80), (40, 300))
    return base64.b64encode(labels.bytes_of(page.convert("1"), optimize=True)).decode()


def tell(w):
    w.steady(duration_ms=640)
    hall = w.do("create_location", body={"name": "Kenmore HQ", "code": "KHQ", "address": {"line1": "4200 Harbor Avenue", "city": "Kenmore", "state_code": "WA", "postal_code": "98028", "country_code": "US"}})
    jane = w.do("create_contact", body={"name": "Jane Sample", "email": "jane@northern.example"})
    made = w.call("create_shipping_label_inference", body={"image": picture(), "location_id": hall["id"], "metadata": {"shelf": "A-3"}, "options": {"match": {"search": ["recipient"]}}})
    at = {"id": made["id"]}
    w.call("list_shipping_label_inferences", query={"status": ["extracted"], "search": "sample", "limit": 10})
    w.call("retrieve_shipping_label_inference", path=at, query={"include_extraction": True})
    w.call("search_inference_contacts", query={"name": "Jane Sampel", "limit": 3})
    w.call("match_inference_contacts", body={"recipient": {"name": "Jane Sampel"}, "options": {"match": {"search": ["recipient"]}}})
    w.call("compare_inferences", query={"ids": made["id"]})
    w.call("update_shipping_label_inference", path=at, body={"recipient": {"contact_id": jane["id"]}, "notes": "On the upper shelf."})
    w.call("delete_shipping_label_inference", path=at)
    w.call("create_shipping_label_inference", headers={"Prefer": "respond-async"}, body={"image": picture(), "location_id": hall["id"]}, also=True)
    item = {"id": w.call("create_item_label_inference", body={"image": carton(), "location_id": hall["id"], "metadata": {"order": "77-20451"}})["id"]}
    w.call("list_item_label_inferences", query={"item_numbers": ["4711-A"], "statuses": ["completed"], "limit": 10})
    w.call("retrieve_item_label_inference", path=item)
    w.call("update_item_label_inference", path=item, body={"quantity": 24, "supplier": {"name": "Northern Parts"}})
    w.call("delete_item_label_inference", path=item)
