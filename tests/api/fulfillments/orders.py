"""What tests of fulfillments share: orders, and what must hold of stock by arithmetic."""
from stock import ITEMS, broken_invariants, change, entry, levels, make_item, movements, place

ORDERS = "/v1/fulfillments"


def order(client, location, *articles, expect=201, **more):
    """An order of (item, quantity) pairs, or of articles as they are sent."""
    lines = [a if isinstance(a, dict) else {"item_id": a[0]["id"], "requested_qty": a[1]} for a in articles]
    return client.post(ORDERS, {"location_id": location["id"], "articles": lines, **more}, expect=expect).data


def get(client, row, query=""):
    return client.get(f"{ORDERS}/{row['id']}{query}").data


def post(client, row, expect=200, **body):
    return client.post(f"{ORDERS}/{row['id']}", body, expect=expect).data


def refused(client, row, answer, why, errors, path="", **body):
    return client.refused("POST", f"{ORDERS}/{row['id']}{path}", answer, why, errors, body=body)


def pick(client, row, expect=200, headers=None, **body):
    return client.post(f"{ORDERS}/{row['id']}/picks", body, expect=expect, headers=headers or {}).data


def pack(client, row, expect=200, headers=None, **body):
    return client.post(f"{ORDERS}/{row['id']}/packs", body, expect=expect, headers=headers or {}).data


def pick_list(client, row, query=""):
    return client.get(f"{ORDERS}/{row['id']}/pick-list{query or '?limit=1000'}").data


def amounts(row, *names):
    """Of each article: these of its quantities."""
    return [tuple(a[f"{n}_qty"] for n in names) for a in row["articles"]]


def stocked(client, item):
    """(available, reserved) of an item over all its levels."""
    rows = levels(client, item, "&include_zero_inventory=true")
    return (sum(v["available_qty"] for v in rows), sum(v["reserved_qty"] for v in rows))


def broken(server, organization):
    """What the checks of `wharf verify` find in an organization's stock and fulfillments, by their own statements."""
    return broken_invariants(server, organization, "fulfillments") + broken_invariants(server, organization)
