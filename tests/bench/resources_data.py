"""What resources.py measures: the resources, their requests, and the rows they are asked for.

Rows are made as the server makes them: one record is posted, and the rows that it left in its
tables are copied with other ids, names and dates. Contacts come by files, since the index of the
words of their names is made by code. Ids end with the number of the row, so that a script of
pgbench finds a row by a random number, as a script of wrk does.
"""
import base64
import json
import random
import re
import subprocess
import time

import requests

from contacts import Names, settled as processed

PLACES = 50  # locations that rows of other resources stand at
WORDS = 40  # different words that searches look for
ADDRESS = {"line1": "1 Main St", "city": "Springfield", "state": "IL", "postal_code": "62701",
           "country_code": "US"}
MARK = "QMARK"  # in the body of a record that is copied; becomes what tells the copies apart


class Resource:
    """filters: name in the query -> the value for row n. body: of a create; # becomes unique. rows:
    (usual, small). batch: an item, # as in body. what: what is measured of it."""

    def __init__(self, path, table, prefix, rows, filters, body=None, batch=None, search=True):
        self.path, self.table, self.prefix, self.rows = path, table, prefix, rows
        self.filters, self.body, self.batch = filters, body, batch
        self.what = ["retrieve"] * (body is not None) + ["list", *filters]
        self.what += ["search"] * search + ["create", "update"] * (body is not None)


def place(n):
    return f"loc_{1 + n % PLACES:022d}"


HOME = place(0)

NUMBERED = {"tracking_number": "NEW#", "location_id": HOME}
RESOURCES = {
    "group": Resource(
        "/v1/groups", "contacts.contact_group", "grp", (300, 100),
        {"name": lambda n: f"Crew {n}", "resource": lambda n: "contact"},
        {"name": "New #", "resource": "contact"}, {"name": "New #", "resource": "contact"}),
    "contact": Resource(
        "/v1/contacts", "contacts.contact", "ctct", (50000, 1000),
        {"email": lambda n: f"u{n}@example.com", "phone": lambda n: f"+1{2015000000 + n}"},
        {"name": "Ann Lee", "email": "n#@example.com", "phone": "+12015550100",
         "address": ADDRESS},
        {"name": "Ann Lee", "email": "n#@example.com", "phone": "+12015550100"}),
    "tracker": Resource(
        "/v1/trackers", "trackers.tracker", "track", (10000, 500),
        {"tracking_number": lambda n: f"TN{n}", "location_id": place}, NUMBERED, NUMBERED),
    "shipment": Resource(
        "/v1/shipments", "shipments.shipment", "ship", (10000, 500),
        {"tracking_number": lambda n: f"TN{n}", "location_id": place}, NUMBERED, NUMBERED),
    "location": Resource(
        "/v1/locations", "locations.location", "loc", (2000, 100),
        {"code": lambda n: f"D{n}", "name": lambda n: f"Depot {n}"},
        {"name": "New #", "address": ADDRESS}, {"name": "New #", "address": ADDRESS}),
    "station": Resource(
        "/v1/cloud-printing/stations", "stations.print_station", "prnt_stn", (300, 100),
        {"name": lambda n: f"DOCK-{n}", "location_id": place},
        {"name": "NEW-#", "display_name": "New #", "location_id": HOME,
         "device_token": "token-#", "printers": [
             {"name": "Zebra", "model": "ZD421", "configuration": {},
              "page_size": {"label_4x6": True}}]}),
    "item": Resource(
        "/v1/items", "items.item", "item", (10000, 500),
        {"sku": lambda n: f"SKU-{n}", "location_id": place},
        {"name": "New #", "sku": "NEW-#"}, {"name": "New #", "sku": "NEW-#"}),
    "event": Resource(
        "/v1/events", "wharf.event", "evt", (50000, 1000),
        {"type": lambda n: "contact.created", "resource_id": lambda n: f"ctct_{n:022d}"},
        search=False),
}
# Each record that is copied has here its body, its tables with the column that names it, and what
# is different in each copy (pattern of the text in the record's rows -> SQL of row n).
PAD = "lpad(n::text, 22, '0')"
SPOT = f"'loc_' || lpad((1 + n %% {PLACES})::text, 22, '0')"
COPIED = {
    "location": (
        {"name": f"Depot {MARK}", "code": f"D{MARK}", "address": ADDRESS},
        {"locations.location": "id", "locations.layout": "location_id"},
        {MARK: "n::text", r"(?<=loc_)\w{22}": PAD, r"(?<=lay_)\w{22}": PAD}),
    "group": (
        {"name": f"Crew {MARK}", "resource": "contact"}, {"contacts.contact_group": "id"},
        {MARK: "n::text", r"(?<=grp_)\w{22}": PAD}),
    "item": (
        {"name": f"Item {MARK}", "sku": f"SKU-{MARK}",
         "levels": [{"location_id": HOME, "available_qty": 5}]},
        {"items.item": "id", "items.level": "item_id", "items.stock_movement": "item_id"},
        {MARK: "n::text", r"(?<=item_)\w{22}": PAD, r"(?<=(?:lvl|mov|grp)_)\w{22}": PAD,
         r"loc_\w{22}": SPOT, r"lay_\w{22}": SPOT.replace("loc_", "lay_")}),
    "tracker": (
        {"tracking_number": f"TN{MARK}", "location_id": HOME},
        {"trackers.tracker": "id", "shipments.shipment": "tracker_id",
         "shipments.tracking_update": "shipment_id"},
        {MARK: "n::text", r"(?<=track_)\w{22}": PAD, r"(?<=ship_)\w{22}": PAD,
         r"(?<=tup_)\w{22}": PAD, r"loc_\w{22}": SPOT}),
    "station": (
        {**RESOURCES["station"].body, "name": f"DOCK-{MARK}", "display_name": f"Display {MARK}",
         "location_id": HOME},
        {"stations.print_station": "id", "stations.printer": "station_id"},
        {MARK: "n::text", r"(?<=prnt_stn_)\w{22}": PAD, r"loc_\w{22}": SPOT,
         r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b": "md5(n::text)::uuid::text"}),
}


class Api:
    """Requests with one key, and commands for the server's folder."""

    def __init__(self, base, key, organization, binary, folder):
        self.base, self.key, self.organization = base, key, organization
        self.binary, self.folder, self.http = binary, folder, requests.Session()

    def ask(self, method, path, body=None, timeout=120):
        end = time.monotonic() + timeout
        while True:
            r = self.http.request(method, self.base + path, json=body, timeout=timeout,
                                  headers={"SVC-API-KEY": self.key})
            if r.status_code != 503 or time.monotonic() > end:
                break
            time.sleep(1)  # a machine that does other things has no room at times
        assert r.status_code < 300, f"{method} {path}: {r.status_code} {r.text[:1000]}"
        return r.json()

    def command(self, *args, found):
        out = subprocess.run([self.binary, *args, "--data", self.folder], capture_output=True,
                             text=True, timeout=60)
        assert re.search(found, out.stdout), f"wharf {args}: {out.stdout}{out.stderr}"
        return re.search(found, out.stdout).group(0)

    def other(self, name):
        """Another organization of the same server, with a key of its own."""
        id = self.command("org", "create", name, found=r"org_[0-9A-Za-z]{22}")
        key = self.command("key", "create", "--org", id, "--scopes", "all",
                           found=r"wh_live_[0-9A-Za-z]{38}")
        return Api(self.base, key, id, self.binary, self.folder)


class Rows:
    """SQL on the cluster of the server, as the owner. settled() of contacts.py takes it, too."""

    def __init__(self, db):
        self.db = db

    def sql(self, text, *args):
        with self.db.cursor() as c:
            c.execute(text, args or None)
            return c.fetchall() if c.description else None


def columns_of(rows, table):
    """Those that can be written."""
    return [r[0] for r in rows.sql(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
        " AND NOT attisdropped AND attgenerated = '' AND attidentity = '' ORDER BY attnum", table)]


def copy_record(api, rows, name, count):
    """Posts the record of COPIED and copies its rows `count` times."""
    body, tables, marks = COPIED[name]
    made = api.ask("POST", RESOURCES[name].path, body)["data"]
    id, ship = made["id"], made.get("current_shipment_id")
    for table, column in tables.items():
        found = rows.sql(f"SELECT to_jsonb(t)::text FROM {table} t WHERE organization_id = %s"
                         f" AND {column} = %s", api.organization, ship if "ship" in column else id)
        assert found, f"{name} has no row in {table}"
        for row, in found:
            moments = {re.escape(v): "(now() - n * interval '10 seconds')::text" for v in
                       set(re.findall(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", row))}
            doc = template(rows, row, {**moments, **marks})
            names = ", ".join(f'"{c}"' for c in columns_of(rows, table))
            rows.sql(f"INSERT INTO {table} ({names}) SELECT {names} FROM generate_series(1, %s) n"
                     f" CROSS JOIN LATERAL jsonb_populate_record(NULL::{table}, ({doc})::jsonb)",
                     count)


def template(rows, row, marks):
    """SQL of a row's JSON: its text, with SQL of n wherever one of the patterns stands."""
    parts, at = [], 0
    for m in re.finditer("|".join(f"({p})" for p in marks), row):
        parts += [literal(rows, row[at:m.start()]), list(marks.values())[m.lastindex - 1]]
        at = m.end()
    return " || ".join([*parts, literal(rows, row[at:])])


def literal(rows, text):
    with rows.db.cursor() as c:
        return c.mogrify("%s", (text,)).decode().replace("%", "%%")


def contacts(api, rows, count, seed):
    """Contacts by files of 5,000; their ids end with their numbers afterwards."""
    names = Names(seed, 20000)
    for at in range(1, count + 1, 5000):
        lines = ["Name,Email,Phone,Groups,Address"]
        for n in range(at, min(at + 5000, count + 1)):
            lines.append(f"{names.name()},u{n}@example.com,+1{2015000000 + n},"
                         f"{'Crew' if n % 10 == 0 else ''},"
                         f'"{n} {names.last[n % 200]} Road, Newark, NJ {7000 + n % 300:05d}, US"')
        url = "data:text/csv;base64," + base64.b64encode("\n".join(lines).encode()).decode()
        issues = api.ask("POST", "/v1/contacts", {"csv_url": url}, 900)["data"]["issues"]
        assert not issues, issues[:3]
    processed(rows)
    rows.sql("CREATE TEMP TABLE renamed AS SELECT id AS old, 'ctct_' ||"
             " lpad(substring(email FROM 2 FOR strpos(email, '@') - 2), 22, '0') AS new"
             " FROM contacts.contact WHERE organization_id = %s", api.organization)
    for table, column in (("contacts.contact", "id"), ("contacts.token", "contact_id"),
                          ("wharf.event", "resource_id")):
        rows.sql(f"UPDATE {table} t SET {column} = r.new FROM renamed r"
                 f" WHERE t.organization_id = %s AND t.{column} = r.old", api.organization)
        rows.sql(f"VACUUM FULL {table}")
    rows.sql("DROP TABLE renamed")


def fill(api, rows, counts, names):
    """The resources of these names, and the locations that others stand at."""
    copy_record(api, rows, "location", counts["location"])
    if "group" in names:
        copy_record(api, rows, "group", counts["group"])
    if "tracker" in names or "shipment" in names:
        copy_record(api, rows, "tracker", counts["tracker"])
    if "station" in names:
        copy_record(api, rows, "station", counts["station"])
    if "item" in names:
        copy_record(api, rows, "item", counts["item"])
    if "contact" in names or "event" in names:
        api.ask("POST", "/v1/groups", {"name": "Crew", "resource": "contact"})
        contacts(api, rows, counts["contact"], 7)
    rows.sql("VACUUM ANALYZE")
    rows.sql("CHECKPOINT")


def words_of(api, rows, name):
    """What searches of a resource look for: each is in a few rows."""
    column = "tracking_number" if name in ("tracker", "shipment") else "name"
    found = rows.sql(f"SELECT {column} FROM {RESOURCES[name].table} WHERE organization_id = %s"
                     f" ORDER BY md5(id) LIMIT {WORDS}", api.organization)
    return [value.split()[-1] if name == "contact" else value for value, in found]


def requests_of(name, what, rows, words, count=5000):
    """Paths of random requests, the same in each run."""
    it, r = RESOURCES[name], random.Random(11)
    for _ in range(count):
        n = r.randint(1, rows)
        if what in ("retrieve", "update"):
            yield n, f"{it.path}/{it.prefix}_{n:022d}"
        elif what == "list":
            yield n, it.path + "?limit=20"
        else:
            n = r.randint(1, len(words)) if what == "search" else n
            value = words[n - 1] if what == "search" else it.filters[what](n)
            yield n, f"{it.path}?limit=20&{what}=" + requests.utils.quote(value, safe="")


def batch(api, name, count, place_id):
    """Creates `count` rows by one batch; answers how long it took, from POST to its end."""
    item = json.dumps(RESOURCES[name].batch).replace(HOME, place_id)
    items = [json.loads(item.replace("#", str(n))) for n in range(count)]
    begun = time.monotonic()
    id = api.ask("POST", "/v1/batches", {"resource": name, "action": "merge", "mode": "async",
                                         "data": items}, 300)["data"]["id"]
    while True:
        b = api.ask("GET", f"/v1/batches/{id}")["data"]
        if b["status"] not in ("queued", "processing", "requested"):
            assert b["status"] == "completed" and b["stats"]["created"] == count, b
            return time.monotonic() - begun
        time.sleep(0.05)
