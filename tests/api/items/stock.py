"""What tests of items share: items, their levels, and the ledger's invariants by SQL."""
from wharf import make_location

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


def broken_invariants(server, organization):
    """Levels and buckets whose ledger says something else than they do (spec 09 section 9), by one query."""
    return server.sql("""
        SELECT v.id, b.name, b.value, sum(m.delta), (array_agg(m.balance_after ORDER BY m.position DESC))[1]
        FROM items.level v
        CROSS JOIN LATERAL (VALUES ('available', v.available), ('reserved', v.reserved), ('damaged', v.damaged), ('manifested', v.manifested)) b(name, value)
        LEFT JOIN items.stock_movement m ON m.organization_id = v.organization_id AND m.level_id = v.id AND m.bucket = b.name
        WHERE v.organization_id = %s
        GROUP BY v.id, b.name, b.value
        HAVING b.value <> coalesce(sum(m.delta), 0) OR (count(m.id) > 0 AND b.value <> (array_agg(m.balance_after ORDER BY m.position DESC))[1])
            OR count(m.id) <> count(DISTINCT m.position)
        UNION ALL
        SELECT m.group_id, 'transfer', sum(m.delta), 0, 0 FROM items.stock_movement m
        WHERE m.organization_id = %s AND m.reason = 'transfer' GROUP BY m.group_id HAVING sum(m.delta) <> 0""", organization, organization)
