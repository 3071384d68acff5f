"""First pages of the lists of shipments, trackers, containers and parcels: every documented filter and sort, over many rows.

    tests/bench/lists.py [--rows 1000000] [--limit-ms 50] [--only trackers]

Prints one JSON line per list: how many requests, the slowest ones, those above the limit. Ends with 1 when there is one above the limit that
docs/logistics.md does not name.
"""
import argparse
import json
import pathlib
import random
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))

from wharf import ROOT, Server, make_location  # noqa: E402

MODULES = "org,locations,carriers,shipments,trackers,containers,parcels"
LISTS = {"shipments": ("shipments.shipment", "/v1/shipments"), "trackers": ("trackers.tracker", "/v1/trackers"),
         "containers": ("containers.container", "/v1/containers"), "parcels": ("parcels.parcel", "/v1/parcels")}
# SQL for columns whose values matter for the choice of an index; n is the number of the row
STATUS = "(ARRAY['created','in_transit','out_for_delivery','delivered','delayed','package_lost'])[1 + n % 6]"
FILTERS = """(ARRAY['["outstanding"]','["outstanding"]','["outstanding"]','["completed"]','["outstanding","exception"]','["completed","exception"]'])[1 + n % 6]::jsonb"""
COMMON = {"location_id": "(ARRAY[%(places)s])[1 + n %% 50]", "metadata": "jsonb_build_object('bay', (n %% 1000)::text)", "created_at": "now() - n * interval '10 seconds'",
          "updated_at": "now() - (n * 7919 %% 1000000) * interval '10 seconds'"}
SHARED = {"status": STATUS, "filters": FILTERS, "type": "(ARRAY['inbound','outbound'])[1 + n % 2]", "tracking_number": "'TN' || n", "search_text": "'TN' || n || ' customer ' || md5(n::text)",
          "provider_id": "(ARRAY['ups','fedex','usps','dhl','unknown'])[1 + n % 5]", "estimated_delivery_at": "now() + (n % 100000) * interval '1 minute'", "pickup_at": "now() + (n % 99991) * interval '1 minute'",
          "tags": "CASE WHEN n % 100 = 0 THEN '[\"fragile\"]' ELSE '[]' END::jsonb"}
COLUMNS = {
    "shipments": {**SHARED, "currency": "'usd'", "order_number": "'ORD' || n", "is_parent": "n % 500 = 0", "tracker_id": "'track_' || n", "container_id": "CASE WHEN n % 10 = 0 THEN 'ctnr_' || n / 1000 END",
                  "delivered_at": "CASE WHEN n % 6 = 3 THEN now() - n * interval '1 second' END", "parent_id": "CASE WHEN n % 50 = 0 THEN 'ship_' || n / 500 END",
                  "refund_status": "CASE WHEN n % 1000 = 0 THEN 'requested' END", "sender_contact_id": "'ctct_' || n % 10000"},
    "trackers": {**SHARED, "chained_status": "'package_at_waypoint'", "auto_close_shipments_option": "'on_progress'", "has_parent_shipment": "n % 500 = 0", "has_plain_shipment": "n % 500 <> 0",
                 "recipient_contact_id": "'ctct_' || n % 10000"},
    "containers": {"status": STATUS, "filters": FILTERS, "tracking_number": "'CN' || n", "name": "'box ' || md5(n::text)", "estimated_delivery_at": "now() + (n % 100000) * interval '1 minute'",
                   "metadata_text": "'bay ' || n % 1000"},
    "parcels": {"status": "(ARRAY['in_storage','in_processing','unpacked','overdue'])[1 + n % 4]", "name": "'parcel ' || md5(n::text)", "type": "'custom'", "tracking_number": "'PN' || n",
                "special_handling_tags": "CASE WHEN n % 100 = 0 THEN '[\"hazmat\"]' ELSE '[]' END::jsonb", "received": "n % 3 = 0", "unpacked": "n % 4 = 2", "defective": "n % 1000 = 0", "missing": "n % 2000 = 0"}}


def fill(server, org, name, rows, places):
    table, _ = LISTS[name]
    columns = {**COLUMNS[name], **{k: v % {"places": ",".join(f"'{p}'" for p in places)} for k, v in COMMON.items()}}
    prefix = {"shipments": "ship", "trackers": "track", "containers": "ctnr", "parcels": "prcl"}[name]
    server.sql(f"INSERT INTO {table} (organization_id, id, {', '.join(columns)}) SELECT '{org}', '{prefix}_' || lpad(n::text, 22, '0'), {', '.join(columns.values())}"
               f" FROM generate_series(1, {rows}) n".replace("%", "%%"))
    server.sql(f"VACUUM ANALYZE {table}")


def value_of(f, rows):
    kind, name = f["type"], f["name"]
    if kind == "enum":
        return random.choice(f["members"])
    if kind == "array":
        return (f.get("members") or ["x"])[-1] if name != "tags" else "fragile"
    if kind in ("bool", "many-bool"):
        return "true"
    if kind == "date":
        return "[gte]=" + str(int(time.time()) - 86400)
    if kind == "metadata":
        return "bay:7"
    if kind == "tree":
        return "/Default"
    if kind == "number":
        return "1"
    row = random.choice(rows)
    prefix = {"parent_id": "ship", "layout_id": "lay", "created_by": "user", "updated_by": "user"}.get(name, "ctct")
    return str(row.get(name) or f"{prefix}_{'0' * 22}").replace(" ", "%20")


def queries(operation, rows):
    for f in operation["x-filters"]:
        v = value_of(f, rows)
        yield f"{f['name']}{v}" if v.startswith("[") else f"{f['name']}={v}"
    order = next(p for p in operation["parameters"] if p["name"] == "order_by")["schema"]["enum"]
    for name in order:
        for direction in ("asc", "desc"):
            yield f"order_by={name}&direction={direction}"
    yield "search=" + (rows[0].get("tracking_number") or rows[0]["name"])[:12]
    yield "search=nothing-like-it"


def measure(server, client, name, limit_ms):
    _, path = LISTS[name]
    operation = server.openapi["paths"][path]["get"]
    rows = client.get(path + "?limit=100", check=False).data
    times = {}
    for q in queries(operation, rows):
        best = 1e9
        for _ in range(3):
            at = time.perf_counter()
            client.get(f"{path}?{q}", check=False)
            best = min(best, time.perf_counter() - at)
        times[q] = round(best * 1000, 1)
    slow = sorted(times.items(), key=lambda t: -t[1])
    documented = re.findall(r"`([a-z_]+)`", (ROOT / "docs" / "logistics.md").read_text())
    above = {q: ms for q, ms in slow if ms > limit_ms}
    print(json.dumps({"list": name, "requests": len(times), "slowest_ms": dict(slow[:5]), "above": above}), flush=True)
    return [q for q in above if re.split(r"[=\[]", q)[0] not in documented]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=1000000)
    p.add_argument("--limit-ms", type=float, default=50)
    p.add_argument("--only", choices=list(LISTS))
    a = p.parse_args()
    server, bad = Server("--modules", MODULES), []
    try:
        org = server.organization()
        client = org.client()
        places = [make_location(client, f"Place {i}")["id"] for i in range(50)]
        for name in [a.only] if a.only else LISTS:
            start = time.monotonic()
            fill(server, org.id, name, a.rows, places)
            print(json.dumps({"list": name, "rows": a.rows, "filled_s": round(time.monotonic() - start, 1)}), flush=True)
            bad += measure(server, client, name, a.limit_ms)
    finally:
        server.stop()
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
