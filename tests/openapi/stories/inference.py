"""A box comes by UPS: a photo of its label says for whom it is, and a tracker follows it."""
import base64
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cell"))


def picture():
    import labels
    return base64.b64encode(labels.bytes_of(labels.label().convert("1"), optimize=True)).decode()


def tell(w):
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
