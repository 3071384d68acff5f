"""Items beside other modules: reason codes of stock changes, items in parcels (spec 09 section 7, spec 02 section 7)."""
import pytest

from stock import change, entry, make_item, movements, refused
from wharf import make_location

PARCELS = "/v1/parcels"


@pytest.fixture(scope="module")
def place(client):
    return make_location(client)


def reason(client, code, *resources, **more):
    return client.post("/v1/reason-codes", {"code": code, "name": code, "resources": list(resources), **more}, expect=201).data["id"]


def test_reason_codes_of_stock_changes(client, place):
    good, other, idle = reason(client, "DAMAGE", "item"), reason(client, "LATE", "shipment"), reason(client, "OLD", "item", active=False)
    item = make_item(client)
    change(client, item, entry(place, available_qty=1, reason_code_id=good))
    assert movements(client, item)[0]["reason_code_id"] == good
    path = ["levels.0.reason_code_id"]
    refused(client, item, 400, "reason_code.resource_mismatch", path, entry(place, available_qty=1, reason_code_id=other))
    refused(client, item, 400, "reason_code.inactive", path, entry(place, available_qty=1, reason_code_id=idle))
    refused(client, item, 400, "validation.failed", path, entry(place, available_qty=1, reason_code_id="rsn_nope"))
    assert len(movements(client, item, f"&reason_code_id={good}")) == 1


def test_contents_of_parcels_name_items(client, place):
    item = make_item(client, "Mug", sku="MUG-1", gtin="4006381333931")
    d = client.post(PARCELS, {"name": "Box", "location_id": place["id"], "contents": [{"sku": "mug-1", "packed_qty": 2}, {"gtin": "4006381333931"}, {"item_id": item["id"]}]}, expect=201).data
    assert [line["item_id"] for line in d["contents"]] == [item["id"]] * 3 and d["contents"][0]["packed_qty"] == 2
    assert client.get(f"{PARCELS}?item_id={item['id']}").ids == [d["id"]]
    for line, at in (({"item_id": "item_0000000000000000000000"}, "item_id"), ({"sku": "A-1"}, "sku"), ({"name": "loose"}, "item_id")):
        client.refused("POST", PARCELS, 400, "validation.failed", [f"contents.0.{at}"], body={"name": "Box", "location_id": place["id"], "contents": [line]})
