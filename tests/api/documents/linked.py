"""What tests of links of documents share: one resource of each kind that documents are linked to, made with what is loaded."""
import os

from document_files import DOCUMENTS, PDF, b64, body, make
from wharf import make_location

ITEMS, ASSETS, SHIPMENTS, TRACKERS, CONTAINERS, PARCELS, LOCATIONS = "/v1/items", "/v1/assets", "/v1/shipments", "/v1/trackers", "/v1/containers", "/v1/parcels", "/v1/locations"
LINKS = f"{DOCUMENTS}/links"
NOWHERE = ("item",)  # resources without a location: everybody sees them


def word():
    return os.urandom(5).hex().upper()


def make_item(client, location=None, **more):
    return client.post(ITEMS, {"name": "Part", "item_type": "inventory", "base_uom": "each", **more}, expect=201).data


def make_asset(client, location):
    item = make_item(client, is_asset=True)
    return client.post(ASSETS, {"item_id": item["id"], "location_id": location["id"]}, expect=201).data


def make_order(client, location):
    part, top = make_item(client, levels=[{"location_id": location["id"], "available_qty": 5}]), make_item(client, item_type="assembly")
    bom = client.post(f"{ITEMS}/{top['id']}/boms", {"components": [{"item_id": part["id"], "quantity": 1}]}, expect=201).data
    return client.post(f"{ITEMS}/{top['id']}/boms/{bom['id']}/build", {"location_id": location["id"], "quantity": 1}, expect=201).data


def make_tracker(client, location):
    return client.post(TRACKERS, {"tracking_number": "T" + word(), "location_id": location["id"]}, expect=201).data


MAKERS = {
    "item": make_item, "asset": make_asset, "assembly_order": make_order, "location": lambda client, location: location,
    "shipment": lambda client, location: client.post(SHIPMENTS, {"tracking_number": "S" + word(), "location_id": location["id"]}, expect=201).data,
    "tracker": make_tracker,
    "container": lambda client, location: client.post(CONTAINERS, {"location_id": location["id"], "name": "Pallet"}, expect=201).data,
    "manifest": lambda client, location: client.post("/v1/manifests", {"location_id": location["id"]}, expect=201).data,
    "parcel": lambda client, location: client.post(PARCELS, {"location_id": location["id"], "name": "Box"}, expect=201).data,
}


def path_of(row):
    return f"{ITEMS}/{row['item_id']}/assembly-orders/{row['id']}" if row["object"] == "assembly_order" else f"/v1/{row['object']}s/{row['id']}"


def known(client):
    """The kinds of resources that are loaded."""
    paths = client.server.openapi["paths"]
    return [k for k in MAKERS if (f"/v1/{k}s" if k != "assembly_order" else f"{ITEMS}/{{item}}/assembly-orders") in paths or (k == "assembly_order" and ITEMS in paths)]


def named(row):
    return {"type": row["object"], "id": row["id"]}


def linked(client, *rows, **more):
    return make(client, resources=[named(r) for r in rows], **more)


def change(client, document, resources, expect=200, **more):
    return client.post(f"{DOCUMENTS}/{document['id']}", {"resources": resources, **more}, expect=expect).data


def resources(document):
    """What it belongs to, as its links say it."""
    return sorted((k["resource"]["type"], k["resource"]["id"]) for k in document["links"])


def of(*rows):
    return sorted((r["object"], r["id"]) for r in rows)


def get(client, document, query="", expect=200):
    return client.get(f"{DOCUMENTS}/{document['id']}{query}", expect=expect)


def links(client, query="", below=None):
    return client.get((f"{DOCUMENTS}/{below['id']}/links" if below else LINKS) + query).data


__all__ = ["PDF", "b64", "body", "make_location"]
