"""What tests of manifests share: manifests, receipts, and what stock says of them."""
from stock import BUCKETS, broken_invariants, levels, movements

MANIFESTS = "/v1/manifests"


def manifest(client, location, *articles, expect=201, status="accepted", **more):
    return client.post(MANIFESTS, {"location_id": location["id"], "status": status, "articles": list(articles), **more}, expect=expect).data


def shown(client, m, query=""):
    return client.get(f"{MANIFESTS}/{m['id']}{query}").data


def change_manifest(client, m, expect=200, **body):
    return client.post(f"{MANIFESTS}/{m['id']}", body, expect=expect).data


def refused_manifest(client, m, http, code, errors=None, /, **body):
    return client.refused("POST", f"{MANIFESTS}/{m['id']}", http, code, errors, body=body)


def receive(client, m, expect=201, headers=None, **body):
    return client.post(f"{MANIFESTS}/{m['id']}/receipts", body, expect=expect, headers=headers or {}).data


def refused_receipt(client, m, http, code, errors=None, /, **body):
    return client.refused("POST", f"{MANIFESTS}/{m['id']}/receipts", http, code, errors, body=body)


def receipts(client, m):
    return client.get(f"{MANIFESTS}/{m['id']}/receipts?limit=1000&direction=asc").data


def stock_of(client, item, layout=None):
    """available, damaged and manifested, of one layout or of all."""
    rows = [v for v in levels(client, item) if layout in (None, v["layout_id"])]
    return tuple(sum(v[f"{b}_qty"] for v in rows) for b in ("available", "damaged", "manifested"))


def conserved(client, *items):
    """The ledger adds up to the levels."""
    for item in items:
        sums = {}
        for m in movements(client, item):
            sums[m["level_id"], m["bucket"]] = round(sums.get((m["level_id"], m["bucket"]), 0) + m["delta"], 4)
        for v in levels(client, item, "&include_zero_inventory=true"):
            assert all(sums.get((v["id"], b), 0) == v[f"{b}_qty"] for b in BUCKETS), (v, sums)


def broken(server, organization):
    return broken_invariants(server, organization, "manifests")
