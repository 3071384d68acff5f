"""What tests of assets share."""
import itertools

from stock import make_item
from wharf import make_location

ASSETS = "/v1/assets"
SEQUENCES = "/v1/assets/sequences"
COUNT = itertools.count(1)


def asset_item(client, name="Laptop", **more):
    return make_item(client, name, is_asset=True, **more)


def make(client, item, location, **more):
    return client.post(ASSETS, {"item_id": item["id"], "location_id": location["id"], **more}, expect=201).data


def post(client, row, **body):
    return client.post(f"{ASSETS}/{row['id']}", body, expect=200).data


def get(client, row):
    return client.get(f"{ASSETS}/{row['id']}").data


def found(client, query):
    return client.get(f"{ASSETS}?limit=1000&{query}").ids


def refused(client, row, status, code, errors, /, **body):
    return client.refused("POST", f"{ASSETS}/{row['id']}", status, code, errors, body=body)


def serials(rows):
    return [r["serial_number"] for r in rows]


def place(client, *names):
    """A location, with layouts of these names."""
    location = make_location(client)
    return (location, *(client.post(f"/v1/locations/{location['id']}/layouts", {"name": n}, expect=201).data["id"] for n in names))
