"""What tests of items share: items, their levels, and the ledger's invariants by SQL."""
import pathlib

from wharf import make_location

MODULES = pathlib.Path(__file__).parents[3] / "modules"
ITEMS = "/v1/items"
BUCKETS = ("available", "reserved", "damaged", "manifested")


def make_item(client, name="Widget", **more):
    return client.post(ITEMS, {"name": name, **more}, expect=201).data


def entry(location, **more):
    return {"location_id": location["id"] if isinstance(location, dict) else location, **more}


def change(client, item, *entries, expect=200, **more):
    return client.post(f"{ITEMS}/{item['id']}", {"levels": list(entries), **more}, expect=expect)


def refused(client, item, status, code, errors, *entries, **more):
    return client.refused("POST", f"{ITEMS}/{item['id']}", status, code, errors, body={"levels": list(entries), **more})


def levels(client, item, query=""):
    return client.get(f"{ITEMS}/{item['id']}/levels?limit=1000{query}").data


def available(client, item, query=""):
    """What is available, by layout."""
    return {v["layout_id"]: v["available_qty"] for v in levels(client, item, query)}


def movements(client, item, query=""):
    """The ledger, from the oldest row on."""
    return client.get(f"{ITEMS}/{item['id']}/movements?limit=1000&direction=asc{query}").data


def layout(client, location, name):
    return client.post(f"/v1/locations/{location['id']}/layouts", {"name": name}, expect=201).data["id"]


def place(client, *names):
    """A location, with layouts of these names."""
    location = make_location(client)
    return (location, *(layout(client, location, name) for name in names))


def broken_invariants(server, organization, module="items"):
    """What a module's checks of `wharf verify` find in an organization, by their own statements."""
    return [row for check in sorted((MODULES / module / "checks").glob("*.sql")) for row in server.sql(check.read_text()) if row[0] == organization]
