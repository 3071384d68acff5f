"""What resources.py compares with: pgbench and Fastify, which run the same files of statements/.

A file is a script of pgbench that stands for one request: RESOURCE_WHAT.sql. Its values that are
not random come from here: the organization, the sizes, and of writes the texts that the server
itself wrote for the same request (event, change log, request), so that they are as long. `checked`
finds what is not the same: Fastify must answer what the server answers, to the last member, and
one write by pgbench must leave as many rows in the same tables, with values in the same columns.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

import requests
from urllib3.util import SKIP_HEADER

import resources_data
import run as bench
from contacts import settled as processed
from resources_data import PLACES, RESOURCES, requests_of

HERE = pathlib.Path(__file__).resolve().parent
STATEMENTS = HERE / "statements"
CLIENTS = (8, 16, 32, 64)
UNIQUE = iter(range(1, 1 << 40))
# Rows that nobody writes for one request alone, or that are gone soon after.
PASSING = "outbox|event_counter|log_chain|event_retry|channel|channel_message|job|job_past|api_key"


def unique():
    return f"{os.getpid():x}x{next(UNIQUE)}"


def body_of(name, what):
    if what == "update":
        return '{"metadata":{"bay":"B#"}}'
    return json.dumps(RESOURCES[name].body, separators=(",", ":"))


class Statements:
    """The files with their values. samples: an answer of each resource, as it is shown."""

    def __init__(self, api, rows, counts, stack, names):
        self.api, self.rows, self.counts, self.stack = api, rows, counts, stack
        self.key, self.key_name = rows.sql(
            "SELECT id, name FROM wharf.api_key WHERE organization_id = %s", api.organization)[0]
        self.words = {n: resources_data.words_of(api, rows, n) if "search" in r.what else []
                      for n, r in RESOURCES.items() if n in names}
        self.written, self.best = {}, {}

    def values(self, name, what):
        out = {"org": self.api.organization, "key": self.key,
               "key_name": self.key_name, "rows": self.counts[name],
               "places": min(PLACES, self.counts["location"]), "location": resources_data.HOME,
               "words": ",".join(self.words[name]).lower(), "word_count": len(self.words[name])}
        if what in ("create", "update"):
            if (name, what) not in self.written:
                self.written[name, what] = self.sample(name, what)
            out.update(self.written[name, what])
        return out

    def sample(self, name, what):
        """Writes once by the server; the texts that it left in its tables."""
        it, body = RESOURCES[name], body_of(name, what).replace("#", unique())
        path = it.path if what == "create" else f"{it.path}/{it.prefix}_{1:022d}"
        r = self.api.http.post(self.api.base + path, data=body, timeout=60, headers={
            "SVC-API-KEY": self.api.key, "Content-Type": "application/json",
            "User-Agent": SKIP_HEADER})  # as wrk, which sends none
        assert r.status_code < 300, r.text
        request = r.headers["Request-Id"]
        out = {"body": body, "answer": r.text[:8192], "id": r.json()["data"]["id"]}
        for type, data, before in self.rows.sql(
                "SELECT resource_type, data::text, previous_attributes::text FROM wharf.event"
                " WHERE organization_id = %s AND request_id = %s", self.api.organization, request):
            out["data_" + type] = data
            out["previous"] = before or ""
        out["changes"], = self.rows.sql(
            "SELECT changes::text FROM wharf.change_log WHERE organization_id = %s"
            " AND request_id = %s LIMIT 1", self.api.organization, request)[0]
        if (name, what) == ("contact", "create"):
            out["address"], out["address_hash"], out["search"] = self.rows.sql(
                "SELECT address::text, address_hashes ->> 0, search_text FROM contacts.contact"
                " WHERE organization_id = %s AND id = %s", self.api.organization, out["id"])[0]
        if (name, what) == ("location", "create"):
            found = self.rows.sql(
                "SELECT t.address::text, t.operating_hours::text, t.operating_hours_display::text,"
                " l.checksum FROM locations.location t JOIN locations.layout l"
                " USING (organization_id) WHERE t.organization_id = %s AND t.id = %s"
                " AND l.location_id = t.id", self.api.organization, out["id"])[0]
            out.update(zip(("address", "hours", "hours_display", "layout_checksum"), found))
        return out

    def text(self, name, what):
        return (STATEMENTS / f"{name}_{what}.sql").read_text()

    def pgbench(self, name, what, *options):
        """Runs the file with those values that it names; its output."""
        text, values = self.text(name, what), self.values(name, what)
        given = [f"-D{k}={v}" for k, v in values.items() if re.search(rf"(?<!:):{k}\b", text)]
        out = subprocess.run(
            ["/usr/lib/postgresql/15/bin/pgbench", "-n", "-M", "prepared", *options, *given, "-f",
             STATEMENTS / f"{name}_{what}.sql", "-h", bench.socket_of(self.stack), "-U", "wharf",
             "wharf"], capture_output=True, text=True)
        if out.returncode or "tps = " not in out.stdout or "ERROR" in out.stderr:
            sys.exit(f"pgbench, {name}_{what}.sql: {out.stderr[-2000:]}")
        return out.stdout

    def rate(self, name, what, seconds, clients):
        out = self.pgbench(name, what, "-c", str(clients), "-j", "2", "-T", str(seconds))
        return float(re.search(r"tps = ([\d.]+)", out).group(1))

    def clients(self, name, what, most):
        """The number of clients, of CLIENTS, with which pgbench is fastest."""
        if (name, what) not in self.best:
            tried = {self.rate(name, what, 1, n): n for n in CLIENTS if n <= most}
            self.best[name, what] = tried[max(tried)]
        return self.best[name, what]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def shown(api, name):
    """An answer of the server: the first of its list, with children where there are some."""
    it = RESOURCES[name]
    if name == "event":
        return api.ask("GET", it.path + "?limit=1")["data"][0]
    return api.ask("GET", f"{it.path}/{it.prefix}_{10:022d}")["data"]


def fastify(statements, names):
    """Starts the peer; answers its process and its address."""
    api, stack = statements.api, statements.stack
    folder = stack.folder / "peer"
    shutil.copytree(HERE / "peer", folder, ignore=shutil.ignore_patterns("node_modules"))
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True)
    told = {}
    for name in names:
        it, one = RESOURCES[name], shown(api, name)
        lists = {k: v[0] for k, v in one.items() if isinstance(v, list) and v and
                 isinstance(v[0], dict) and f'"{k}.id"' in statements.text(name, "list")}
        told[name] = {"path": it.path, "shown": one, "children": lists, "body": it.body,
                      "listed": api.ask("GET", it.path + "?limit=1")["data"][0],
                      "words": statements.words[name],
                      "statements": {w: statements.text(name, w) for w in it.what},
                      "constants": {k: v for w in it.what if w != "update"
                                    for k, v in statements.values(name, w).items()}}
    (folder / "resources.json").write_text(json.dumps({"resources": told, "constants": {}}))
    port = free_port()
    child = stack.start(["node", "resources.js"], cwd=folder, env={
        **os.environ, "PORT": str(port), "PGHOST": bench.socket_of(stack), "PROCESSES": "2",
        "RESOURCES": str(folder / "resources.json")})
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            if requests.get(f"http://127.0.0.1:{port}/", timeout=2,
                            headers={"SVC-API-KEY": api.key}).status_code == 404:
                return child, f"http://127.0.0.1:{port}"
        except requests.RequestException:
            time.sleep(0.2)
    sys.exit("the Node peer did not start")


def differences(a, b, at=""):
    if isinstance(a, dict) and isinstance(b, dict):
        return [d for k in {**a, **b}
                for d in differences(a.get(k, "(absent)"), b.get(k, "(absent)"), f"{at}.{k}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [d for i, (x, y) in enumerate(zip(a, b)) for d in differences(x, y, f"{at}[{i}]")]
    return [] if a == b else [f"{at}: {json.dumps(a)[:150]}, the peer {json.dumps(b)[:150]}"]


def read_alike(statements, url, name, what):
    """The server's answer and Fastify's, of one request. Searches rank in ways of their own: they
    must have a record in common."""
    rows, words = statements.counts[name], statements.words[name]
    _, path = next(requests_of(name, what, rows, words, 1))
    peer = requests.get(url + path, headers={"SVC-API-KEY": statements.api.key}, timeout=60).json()
    own = statements.api.ask("GET", path)
    if what == "search":
        ids = [{r["id"] for r in (a["data"] or [])} for a in (own, peer)]
        return [] if ids[0] & ids[1] else [f"{path}: {len(ids[0])} and {len(ids[1])} records"]
    if own["data"] == []:
        return [f"{path}: the server finds nothing"]
    return [path + d for d in differences(own["data"], peer["data"])] + \
        [path + d for d in differences(own["pagination"], peer["pagination"], ".pagination")]


def tables(rows):
    return [t for t, in rows.sql(
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
        " AND a.attname = 'organization_id' WHERE c.relkind IN ('r', 'p')"
        f" AND NOT c.relispartition AND c.relname !~ '^({PASSING})$' ORDER BY 1")]


def row_counts(rows, organization):
    processed(rows)
    return {t: rows.sql(f"SELECT count(*) FROM {t} WHERE organization_id = %s", organization)[0][0]
            for t in tables(rows)}


def filled_columns(rows, organization, since, names):
    """For each table with dates: the columns that its newest rows have values in."""
    out = {}
    for t in names:
        found = rows.sql(f"SELECT jsonb_strip_nulls(to_jsonb(t)) FROM {t} t"
                         " WHERE organization_id = %s AND created_at > %s ORDER BY 1::text",
                         organization, since) if "created_at" in resources_data.columns_of(
                             rows, t) else []
        out[t] = sorted({c for row, in found for c in row})
    return out


def write_alike(statements, name, what):
    """Rows of one write by the server, and of one by pgbench."""
    rows, organization = statements.rows, statements.api.organization
    statements.values(name, what)  # its sample: words and addresses are known from then on
    left = []
    for write in (lambda: statements.sample(name, what),
                  lambda: statements.pgbench(name, what, "-c", "1", "-t", "1")):
        time.sleep(4)  # what came before is older than what is asked for; a request's time is
        before = row_counts(rows, organization)  # that of the turn of the loop that took it
        since = rows.sql("SELECT clock_timestamp() - interval '2 seconds'")[0][0]
        write()
        time.sleep(2)  # the request log follows by seconds
        after = row_counts(rows, organization)
        new = {t: n - before[t] for t, n in after.items() if n != before[t]}
        left.append((new, filled_columns(rows, organization, since, new)))
    return [f"{name} {what}, {title}" + d for title, a, b in
            (("rows", left[0][0], left[1][0]), ("columns", left[0][1], left[1][1]))
            for d in differences(a, b)]


def taken_by_peer(statements, url, name):
    """Fastify takes the body of a create that the server takes."""
    r = requests.post(url + RESOURCES[name].path, data=body_of(name, "create").replace("#", unique()),
                      timeout=60, headers={"SVC-API-KEY": statements.api.key,
                                           "Content-Type": "application/json"})
    return [] if r.status_code == 201 else [f"{name} create: the peer says {r.status_code}"
                                            f" {r.text[:200]}"]


def checked(statements, url, plan):
    """Prints what differs and what was compared; answers how much differs."""
    wrong = []
    for name, what in plan:
        alike = write_alike(statements, name, what) if what in ("create", "update") else \
            read_alike(statements, url, name, what)
        if what == "create":
            alike += taken_by_peer(statements, url, name)
        wrong += alike
        for line in alike:
            print("DIFFERENT " + line, flush=True)
    print(f"compared: {len(plan)} kinds of requests, {len(wrong)} differences", flush=True)
    return wrong
