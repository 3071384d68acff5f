"""First pages of the lists of shipments, trackers, containers, parcels, contacts, locations, groups, items (each with five levels of stock), documents (every second one with a link) and their links: every documented filter and sort, over many rows.

    tests/bench/lists.py [--rows 1000000] [--limit-ms 50] [--only trackers] [--all]

Prints one JSON line per list: how many requests, the slowest ones (--all: every one), those above the limit, those whose plan reads the whole
table; and what a create takes. What the table of exceptions in docs/internals/logistics.md names is asked again with a location and a date beside it, as is promised there.
Ends with 1 when something is above the limit that is no exception, or is an exception and above it with a bound as well.
"""
import argparse
import functools
import hashlib
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))

from wharf import ROOT, Server, make_location  # noqa: E402

MODULES = "org,locations,contacts,carriers,shipments,trackers,containers,parcels,items,documents"
LISTS = {"shipments": ("shipments.shipment", "/v1/shipments"), "trackers": ("trackers.tracker", "/v1/trackers"),
         "containers": ("containers.container", "/v1/containers"), "parcels": ("parcels.parcel", "/v1/parcels"),
         "contacts": ("contacts.contact", "/v1/contacts"), "locations": ("locations.location", "/v1/locations"), "groups": ("contacts.contact_group", "/v1/groups"),
         "items": ("items.item", "/v1/items"), "documents": ("documents.document", "/v1/documents"), "links": ("documents.link", "/v1/documents/links")}
PREFIXES = {"shipments": "ship", "trackers": "track", "containers": "ctnr", "parcels": "prcl", "contacts": "ctct", "locations": "loc", "groups": "grp", "items": "item", "documents": "dcmt", "links": "dlk"}
TRIES, DAY, HOUR, RARE = 7, 86400, 3600, "543210"
CREATES = {"shipments": lambda i: {"tracking_number": f"NEW{i}"}, "trackers": lambda i: {"tracking_number": f"NEXT{i}"}, "containers": lambda i: {}, "contacts": lambda i: {"name": f"New {i}"}, "groups": lambda i: {"name": f"New {i}", "resource": "contact"},
           "locations": lambda i: {"name": f"New {i}", "address": "1 Dock Road, Newark, NJ 07114, US"}, "items": lambda i: {"name": f"New {i}", "base_uom": "each"},
           "documents": lambda i: {"name": f"New {i}", "visibility": "private", "content": "bmV3"}}
# SQL for columns whose values matter for the choice of an index; n is the number of the row
STATUS = "(ARRAY['created','in_transit','out_for_delivery','delivered','delayed','package_lost'])[1 + n % 6]"
FILTERS = """(ARRAY['["outstanding"]','["outstanding"]','["outstanding"]','["completed"]','["outstanding","exception"]','["completed","exception"]'])[1 + n % 6]::jsonb"""
COMMON = {"location_id": "(ARRAY[%(places)s])[1 + n %% 50]", "layout_id": "CASE WHEN n %% 3 = 0 THEN (ARRAY[%(layouts)s])[1 + n %% 50] END", "metadata": "jsonb_build_object('bay', (n %% 1000)::text)", "created_at": "now() - n * interval '10 seconds'",
          "updated_at": "now() - (n::bigint * 7919 %% 1000000) * interval '10 seconds'"}
SHARED = {"status": STATUS, "filters": FILTERS, "type": "(ARRAY['inbound','outbound'])[1 + n % 2]", "tracking_number": "'TN' || n", "search_text": "'TN' || n || ' customer ' || md5(n::text)",
          "provider_id": "(ARRAY['ups','fedex','usps','dhl','unknown'])[1 + n % 5]", "estimated_delivery_at": "now() + (n % 100000) * interval '1 minute'", "pickup_at": "now() + (n % 99991) * interval '1 minute'",
          "tags": "CASE WHEN n % 100 = 0 THEN '[\"fragile\"]' ELSE '[]' END::jsonb"}
WORDS_OF_FILES = (1, 3, 10, 14, 30, 100, 1000, 7000, 90001)  # ranks
# The word of rank k of a file, a number where k divides by seven. Files have 80 to 100 different ones; as in languages, the word of rank k stands in a share of them that falls with k.
FILE_WORD = "CASE WHEN k % 7 = 0 THEN (k * 7919 % 1000000007)::text ELSE translate(substr(md5(k::text), 1, (4 + k % 8)::int), '0123456789', 'aeioulnrst') END"
COLUMNS = {
    "shipments": {**SHARED, "currency": "'usd'", "order_number": "'ORD' || n", "is_parent": "n % 500 = 0", "tracker_id": "'track_' || lpad(n::text, 22, '0')", "container_id": "CASE WHEN n % 10 = 0 THEN 'ctnr_' || lpad((n / 1000)::text, 22, '0') END",
                  "delivered_at": "CASE WHEN n % 6 = 3 THEN now() - n * interval '1 second' END", "parent_id": "CASE WHEN n % 50 = 0 THEN 'ship_' || lpad((n / 500)::text, 22, '0') END",
                  "refund_status": "CASE WHEN n % 1000 = 0 THEN 'requested' END", "sender_contact_id": "'ctct_' || lpad((n % 10000)::text, 22, '0')"},
    "trackers": {**SHARED, "chained_status": "'package_at_waypoint'", "auto_close_shipments_option": "'on_progress'", "has_parent_shipment": "n % 500 = 0", "has_plain_shipment": "n % 500 <> 0",
                 "recipient_contact_id": "'ctct_' || lpad((n % 10000)::text, 22, '0')"},
    "containers": {"status": STATUS, "filters": FILTERS, "tracking_number": "'CN' || n", "name": "'box ' || md5(n::text)", "estimated_delivery_at": "now() + (n % 100000) * interval '1 minute'",
                   "metadata_text": "'bay ' || n % 1000"},
    "parcels": {"status": "(ARRAY['in_storage','in_processing','unpacked','overdue'])[1 + n % 4]", "name": "'parcel ' || md5(n::text)", "type": "'custom'", "tracking_number": "'PN' || n",
                "special_handling_tags": "CASE WHEN n % 100 = 0 THEN '[\"hazmat\"]' ELSE '[]' END::jsonb", "received": "n % 3 = 0", "unpacked": "n % 4 = 2", "defective": "n % 1000 = 0", "missing": "n % 2000 = 0"},
    "contacts": {"name": "'Contact ' || md5(n::text)", "email": "'c' || n || '@b.example'", "emails": "jsonb_build_array('c' || n || '@b.example')", "phone": "'+1201' || lpad(n::text, 7, '0')",
                 "external_id": "'EXT' || n", "checksum": "md5(n::text)", "address_hashes": "jsonb_build_array(md5((n % 200000)::text))", "is_primary": "n % 100 = 0",
                 "groups": "CASE WHEN n % 20 = 0 THEN jsonb_build_array('grp_' || lpad((n % 500)::text, 22, '0')) ELSE '[]' END", "locations": "CASE WHEN n % 2 = 0 THEN jsonb_build_array((ARRAY[%(places)s])[1 + n % 50]) ELSE '[]' END",
                 "search_text": "'contact ' || md5(n::text) || ' c' || n || ' b example'"},
    "locations": {"name": "'Depot ' || md5(n::text)", "code": "'D' || n", "address": "jsonb_build_object('line1', n || ' Dock Road', 'formatted_address', n || ' Dock Road, Newark')",
                  "formatted_address": "n || ' Dock Road, Newark'", "email": "'d' || n || '@b.example'", "active": "n % 100 <> 0", "default_layout_id": "'lay_' || lpad(n::text, 22, '0')"},
    "groups": {"name": "'Crew ' || md5(n::text)", "resource": "(ARRAY['contact','location'])[1 + n % 2]", "external_id": "'G' || n",
               "children": "CASE WHEN n % 10 = 0 THEN jsonb_build_array('ctct_' || lpad((n % 10000)::text, 22, '0')) ELSE '[]' END"},
    "items": {"name": "'Part ' || md5(n::text)", "sku": "'SKU-' || n", "item_type": "CASE WHEN n % 10 = 0 THEN 'assembly' ELSE 'inventory' END", "base_uom": "(ARRAY['each','kg','meter'])[1 + n % 3]",
              "uom_category": "(ARRAY['count','weight','length'])[1 + n % 3]", "is_asset": "n % 1000 = 0", "lot_tracking": "'none'", "status": "CASE WHEN n % 100 = 0 THEN 'archived' ELSE 'active' END",
              "gtin": "lpad(n::text, 13, '0')", "upc": "lpad(n::text, 12, '0')", "external_id": "'EXT' || n", "harmonized_code": "(8000 + n % 500)::text", "description": "'made of part ' || md5((n / 7)::text)"},
    "documents": {"name": "'Contract ' || md5(n::text)", "filename": "'contract-' || n || '.pdf'", "visibility": "(ARRAY['private','private','private','public'])[1 + n % 4]",
                  "category": "(ARRAY['contract','invoice','photo','pod',NULL])[1 + n % 5]", "mime_type": "(ARRAY['application/pdf','image/png','image/jpeg','text/plain'])[1 + n % 4]", "size": "1000 + n % 100000",
                  "checksum_sha256": "encode(sha256(n::text::bytea), 'hex')", "checksum_md5": "encode(decode(md5(n::text), 'hex'), 'base64')", "status": "CASE WHEN n % 100 = 0 THEN 'requested' ELSE 'completed' END",
                  "metadata_text": "'bay ' || n % 1000", "versions_count": "1", "file_id": "'file_' || lpad(n::text, 22, '0')", "words_file_id": "'file_' || lpad(n::text, 22, '0')",
                  "content_words": f"CASE WHEN n % 5 = 0 THEN (SELECT string_agg(DISTINCT {FILE_WORD}, ' ') FROM generate_series(1, 100 + n % 2) d, LATERAL (SELECT floor(exp(random() * 11.5))::bigint + 0 * d) x(k)) END"},
    "links": {"document_id": "'dcmt_' || lpad((2 * n)::text, 22, '0')", "resource_type": "(ARRAY['shipment','shipment','item','asset'])[1 + n % 4]", "resource_id": "(ARRAY['ship','ship','item','asst'])[1 + n % 4] || '_' || lpad((n % 100000)::text, 22, '0')"}}
LEVELS_OF_AN_ITEM = 5
NO_PLACE = {"items": ("location_id", "layout_id"), "contacts": ("location_id", "layout_id"), "locations": ("location_id", "layout_id"), "groups": ("layout_id",), "documents": ("location_id", "layout_id"), "links": ("location_id", "layout_id", "metadata")}


def fill(server, org, name, rows, places):
    table, _ = LISTS[name]
    columns = {**COMMON, **COLUMNS[name]}
    for column in NO_PLACE.get(name, ()):
        del columns[column]
    values = {key: ",".join(f"'{p[field]}'" for p in places) for key, field in (("places", "id"), ("layouts", "default_layout_id"))}
    columns = {k: v.replace("%%", "%").replace("%(places)s", values["places"]).replace("%(layouts)s", values["layouts"]) for k, v in columns.items()}
    server.sql("SET synchronous_commit = off")
    server.sql(f"INSERT INTO {table} (organization_id, id, {', '.join(columns)}) SELECT '{org}', '{PREFIXES[name]}_' || lpad(n::text, 22, '0'), {', '.join(columns.values())}"
               f" FROM generate_series(1, {rows}) n".replace("%", "%%"))
    if name == "items":
        stock(server, org, rows, values)
    server.sql(f"VACUUM ANALYZE {table}")


def stock(server, org, rows, values):
    """Levels of each item, at locations that lie far apart in the list, each with the movement that it comes from."""
    place = f"1 + (n + 11 * k) % {len(values['places'].split(','))}"
    server.sql("INSERT INTO items.level (organization_id, id, item_id, location_id, layout_id, available, moves, moved_at, created_at, updated_at)"
               f" SELECT '{org}', 'lvl_' || lpad((n * 10 + k)::text, 22, '0'), 'item_' || lpad(n::text, 22, '0'), (ARRAY[{values['places']}])[{place}],"
               f" (ARRAY[{values['layouts']}])[{place}], q, sign(q), now(), now(), now()"
               f" FROM generate_series(1, {rows}) n, generate_series(1, {LEVELS_OF_AN_ITEM}) k, LATERAL (SELECT CASE WHEN (n + k) % 4 = 0 THEN 0 ELSE n % 50 END) x(q)".replace("%", "%%"))
    server.sql("INSERT INTO items.stock_movement (organization_id, id, item_id, level_id, location_id, layout_id, bucket, delta, balance_after, reason, group_id, position, created_at, updated_at)"
               " SELECT organization_id, 'mov' || substr(id, 4), item_id, id, location_id, layout_id, 'available', available, available, 'opening', 'mvg' || substr(id, 4), 1, moved_at, moved_at"
               " FROM items.level WHERE organization_id = %s AND available > 0", org)
    server.sql("VACUUM ANALYZE items.level")
    server.sql("VACUUM ANALYZE items.stock_movement")


def explain(server, client):
    """From now on PostgreSQL writes the plan of every statement into its log."""
    for setting in ("session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0"):
        server.sql(f"ALTER DATABASE wharf SET {setting}")
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'wharf'")
    while client.request("GET", "/v1/locations").status != 200:
        time.sleep(0.2)


class Plans:
    def __init__(self, server):
        self.log = server.folder / "postgres" / "postgresql.log"
        if not self.log.exists():
            self.log = next(server.folder.rglob("postgresql.log"))
        self.at = self.log.stat().st_size

    def whole(self, table):
        """Whether a statement since the last call read all of the table."""
        with open(self.log, "rb") as f:
            f.seek(self.at)
            text = f.read().decode(errors="replace")
            self.at = f.tell()
        return re.search(rf"Seq Scan on (\w+\.)?{table.split('.')[1]}\b", text) is not None


def values_of(f, rows, places):
    """Values that rows have, of those asked for most; of what has two answers both."""
    kind, name = f["type"], f["name"]
    if kind in ("bool", "many-bool"):
        return ["true", "false"]
    if kind == "date":
        return [f"[gte]={int(time.time()) - DAY}", f"[lt]={int(time.time()) - DAY}"]
    if kind == "metadata":
        return ["bay:7"]
    if kind == "tree":
        return [places[3]["default_layout_id"]]
    if kind == "number":
        return ["1"]
    known = {"resource_type": "shipment", "resource_id": f"ship_{'4'.zfill(22)}", "document_id": f"dcmt_{'4'.zfill(22)}", "emails": "c7@b.example", "email": "c7@b.example", "locations": places[7]["id"], "groups": f"grp_{'20'.zfill(22)}", "address_hashes": hashlib.md5(b"7").hexdigest(), "code": "SKU-7", **({} if "location_id" in rows[0] else {"location_id": places[7]["id"], "layout_id": places[7]["default_layout_id"]}), "statuses": rows[0].get("status")}
    found = [known.get(f.get("alias_of", name))] + [v for row in rows for v in (row.get(name) if isinstance(row.get(name), list) else [row.get(name)])]
    found = [v for v in found if v and not isinstance(v, dict)]
    if kind == "enum":
        return sorted(set(found) or {f["members"][0]})[:2]
    prefix = {"parent_id": "ship", "layout_id": "lay", "created_by": "user", "updated_by": "user", "location_id": "loc", "group_id": "grp"}.get(name, "ctct")
    value = found[0] if found else (f.get("members") or [f"{prefix}_{'0' * 22}"])[-1]
    return [str(value).replace(" ", "%20").replace("+", "%2B").replace("@", "%40")]


def queries(operation, rows, places):
    for f in operation["x-filters"]:
        for v in values_of(f, rows, places):
            yield f"{f['name']}{v}" if v.startswith("[") else f"{f['name']}={v}"
    order = [n for n in next(p for p in operation["parameters"] if p.get("name") == "order_by")["schema"]["enum"] if n != "_relevance"]
    for name in order:
        for direction in ("asc", "desc"):
            yield f"order_by={name}&direction={direction}"
    if "name" not in rows[0]:
        return
    yield "search=" + word(rows[0])[:2] + RARE
    yield "search=" + word(rows[0])
    yield "order_by=_relevance&search=" + word(rows[0])
    yield "search=nothing-like-it"
    yield "search=" + {"containers": "box", "parcels": "parcel", "contacts": "contact", "locations": "depot", "groups": "crew", "items": "part", "documents": "contract"}.get(operation["x-list"], "customer")  # a word that all have
    if operation["x-list"] == "documents":
        yield from ("search=" + file_word(k) for k in WORDS_OF_FILES)
        yield "search=" + file_word(7 * 34)[:4]  # a number's beginning
        yield "search=contract+" + file_word(10)


def file_word(k):
    """FILE_WORD in Python."""
    if k % 7 == 0:
        return str(k * 7919 % 1000000007)
    return hashlib.md5(str(k).encode()).hexdigest()[:4 + k % 8].translate(str.maketrans("0123456789", "aeioulnrst"))


def word(row):
    return (row.get("tracking_number") or row["name"].split()[-1])[:12]


def best_of(client, url):
    best = 1e9
    for _ in range(TRIES):
        at = time.perf_counter()
        client.get(url, check=False)
        best = min(best, time.perf_counter() - at)
    return round(best * 1000, 1)


def timed_create(client, path, body):
    at = time.perf_counter()
    client.post(path, body, expect=201)
    return round((time.perf_counter() - at) * 1000, 1)


@functools.lru_cache(maxsize=None)
def exceptions():
    """The first column of the table below 'Lists of a million rows': `list` `parameter`."""
    text = (ROOT / "docs" / "internals" / "logistics.md").read_text().split("## Lists of a million rows")[1]
    return {(lists, name) for lists, names in re.findall(r"^\| ([a-z, ]+) \| ((?:`[a-z_]+`[, ]*)+) \|", text, re.M) for name in re.findall(r"`(\w+)`", names)}


def excepted(name, query):
    if RARE in query or re.fullmatch(r"search=\w{3,}", query):
        return False  # one word that rows have
    words = {re.split(r"[=\[]", part)[0] for part in query.split("&")}
    return any(p in words and ("all" in lists or name in lists) for lists, p in exceptions())


def measure(server, client, plans, name, places, a):
    table, path = LISTS[name]
    operation = {**server.openapi["paths"][path]["get"], "x-list": name}
    rows = client.get(path + "?limit=100", check=False).data
    times, whole, bounded = {}, [], {}
    for q in queries(operation, rows, places):
        plans.whole(table)
        times[q] = best_of(client, f"{path}?{q}")
        if plans.whole(table):
            whole.append(q)
        if excepted(name, q):
            bound = f"created_at[gte]={int(time.time()) - HOUR}" if name in ("locations", "items", "documents", "links") else f"location_id={places[7]['id']}&created_at[gte]={int(time.time()) - DAY}"
            bounded[q] = best_of(client, f"{path}?{q}&{bound}")
    if name in CREATES:
        times["create"] = min(timed_create(client, path, CREATES[name](i)) for i in range(2 * TRIES))
    slow = sorted(times.items(), key=lambda t: -t[1])
    above = {q: ms for q, ms in slow if ms > a.limit_ms}
    bad = [q for q in above if not excepted(name, q)] + [q for q, ms in bounded.items() if ms > a.limit_ms] + [q for q in whole if not excepted(name, q)]
    print(json.dumps({"list": name, "requests": len(times), "ms": dict(slow if a.all else slow[:5]), "above": above, "whole_table": whole,
                      "with_a_bound": dict(sorted(bounded.items(), key=lambda t: -t[1])[:None if a.all else 5]), "bad": bad}), flush=True)
    return bad


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=1000000)
    p.add_argument("--limit-ms", type=float, default=50)
    p.add_argument("--only", choices=list(LISTS))
    p.add_argument("--all", action="store_true")
    a = p.parse_args()
    server, bad = Server("--modules", MODULES), []
    try:
        org = server.organization()
        client = org.client()
        places = [make_location(client, f"Place {i}") for i in range(50)]
        explain(server, client)
        plans = Plans(server)
        for name in [a.only] if a.only else LISTS:
            start = time.monotonic()
            fill(server, org.id, name, a.rows, places)
            print(json.dumps({"list": name, "rows": a.rows, "filled_s": round(time.monotonic() - start, 1)}), flush=True)
            bad += measure(server, client, plans, name, places, a)
    finally:
        server.end()  # rows of documents have no bytes: it is not asked whether all is right
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
