"""How long texts may be and which values there are, as spec 02 and 03 say it: the figures stand here, since other tests take them from the definitions."""
import pytest

from test_shipments import number
from wharf import make_location

TEXTS = {
    "locations": {"name": 191, "code": 64, "provider_instructions": 2000, "kiosk_message": 2000},
    "layouts": {"name": 127, "code": 64},
    "contacts": {"name": 191, "alternate_names.0": 191, "alternate_names.4": 191, "id_number": 128, "external_id": 128, "notes": 16000},
    "groups": {"name": 191},
    "parcels": {"name": 128, "type": 64, "external_container_id": 191, "container_number": 191, "tracking_number": 191, "label_url": 191},
    "containers": {"name": 191},
    "shipments": {"rma_number": 191, "invoice_number": 191, "order_number": 191, "purchase_order": 191, "reference_number": 191, "account_id": 191, "notes": 16000, "tracking_number": 64},
    "reason-codes": {"code": 64}}
STATUSES = "inbound_transit outbound_transit in_processing in_storage unpacked overdue destroyed"  # the last one is not left again
LISTS = {
    "locations": {"pickup_types": "in_person_pickup curbside_pickup locker_pickup"},
    "parcels": {"special_handling_tags": "ftl ltl chemicals hazmat perishable frozen oversize fragile dry_cleaning lithium alcohol pharma"},
    "shipments": {"tags": "fragile perishable dry_cleaning lithium alcohol cannabis confidential express_priority security_concern cold_storage high_value requires_equipment"},
    "reason-codes": {"resources": "manifest fulfillment asset item shipment parcel audit"}}
NEW = {"locations": lambda place: {"address": "1 Main St, Springfield, IL 62701", "name": "x"}, "layouts": lambda place: {"name": "x"}, "contacts": lambda place: {"name": "x"},
       "groups": lambda place: {"name": "x", "resource": "contact"}, "parcels": lambda place: {"name": "x", "location_id": place}, "containers": lambda place: {},
       "shipments": lambda place: {"tracking_number": number()}, "reason-codes": lambda place: {"code": number(), "name": "x", "resources": ["item"]}}


@pytest.fixture
def row(client, resource):
    """Path of a new one."""
    place = make_location(client)["id"]
    path = f"/v1/locations/{place}/layouts" if resource == "layouts" else "/v1/" + resource
    return f"{path}/{client.post(path, NEW[resource](place), expect=201).data['id']}"


def member(path, value):
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


@pytest.mark.parametrize("resource, field, most", [(r, f, n) for r, fields in TEXTS.items() for f, n in fields.items()])
def test_longest_text(client, row, resource, field, most):
    head = "https://x/" if field.endswith("_url") else ""
    longest = head + "X" * (most - len(head))
    client.refused("POST", row, 400, "validation.failed", [field], body=member(field, longest + "X"))
    got = client.post(row, member(field, longest), expect=200).data
    for key in field.split("."):
        got = got[key]
    assert got == longest


@pytest.mark.parametrize("resource, field, values", [(r, f, v.split()) for r, fields in LISTS.items() for f, v in fields.items()])
def test_values_of_lists(client, row, resource, field, values):
    assert client.post(row, {field: values}, expect=200).data[field] == values
    client.refused("POST", row, 400, "validation.failed", [f"{field}.1"], body={field: [values[0], "other"]})
    client.refused("POST", row, 400, "validation.failed", [f"{field}.1"], body={field: [values[0]] * 2})


@pytest.mark.parametrize("resource", ["parcels"])
def test_values_and_measures_of_parcels(client, row, resource):
    for status in STATUSES.split():
        assert client.post(row, {"status": status}, expect=200).data["status"] == status
    client.refused("POST", row, 400, "validation.failed", ["status"], body={"status": "lost"})
    for side in ("length", "width", "height", "weight", "max_weight_domestic", "max_weight_international"):
        assert client.post(row, {side: 100000}, expect=200).data[side] == 100000
        for bad in (-0.1, 100000.1):
            client.refused("POST", row, 400, "validation.failed", [side], body={side: bad})
    client.refused("POST", row, 400, "validation.failed", ["contents"], body={"contents": [{}] * 501})
