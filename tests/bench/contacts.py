#!/usr/bin/python3
"""Contacts: a file of 10,000 in seconds and against COPY of the rows it leaves, and searches in a large book. Prints figures; asserts nothing.

  tests/bench/contacts.py [--rows N] [--addresses] [--book N] [--searches N] [--runs N]     BUILD names the build folder

The peer is COPY of the same rows into the same tables with their indexes, in one transaction: contacts, change log, events, words of names.
"""
import argparse
import base64
import io
import itertools
import json
import pathlib
import random
import sys
import time
import urllib.parse

import requests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from wharf import BUILD, Server  # noqa: E402

MODULES = f"org,locations,contacts,events,{BUILD}/tests/plugins/matchbench.so"
TABLES = {"contacts.contact": "organization_id = %s", "wharf.change_log": "organization_id = %s AND resource = 'contact'",
          "wharf.event": "organization_id = %s AND resource_type = 'contact'", "contacts.token": "organization_id = %s", "contacts.word": "organization_id = %s"}
SYLLABLES = "an ber chi da el fen go har in jo ka len mar nor ol pe ri son ta ul ver win".split()


def words(r, n, most):
    """Names as long as names are: six letters or so."""
    found = {}
    while len(found) < n:
        found["".join(r.choice(SYLLABLES) for _ in range(r.choice((1, 2, 2, 2, 3, 3, 3, 4)[:most])))[:11].title()] = True
    return list(found)


class Names:
    """Some names are frequent: the first of 400 given names has one in forty, the first of 20,000 surnames one in eighty."""

    def __init__(self, seed, n):
        self.r = random.Random(seed)
        self.first, self.last = words(self.r, 400, 5), words(self.r, n, 8)
        self.weights = {k: list(itertools.accumulate(1 / (i + 10) for i in range(len(names)))) for k, names in (("first", self.first), ("last", self.last))}

    def name(self):
        return " ".join(self.r.choices(names, cum_weights=self.weights[k])[0] for k, names in (("first", self.first), ("last", self.last)))


def file_of(names, n, prefix, addresses=False):
    rows = ["Name,Email,Phone,Groups,metadata.csv_import,metadata.dock" + ",Address" * addresses]
    rows += [f"{names.name()},{prefix}{i}@example.com,+1201{5000000 + i:07d},{'Crew' if i % 10 == 0 else ''},batch {i % 7},{i % 40}" +
             f',"{i} {names.last[i % 200]} Road, Newark, NJ {7000 + i % 300:05d}, US"' * addresses for i in range(n)]
    return "data:text/csv;base64," + base64.b64encode("\n".join(rows).encode()).decode()


def send(server, key, url, **more):
    begun = time.monotonic()
    r = requests.post(server.base + "/v1/contacts", json={"csv_url": url, **more}, headers={"SVC-API-KEY": key}, timeout=900)
    took = time.monotonic() - begun
    assert r.status_code == 200 and not r.json()["data"]["issues"], r.text[:500]
    return took


def copies(server, organization):
    """The rows of an organization as COPY has them; the columns that are generated are left out."""
    out = {}
    for table, condition in TABLES.items():
        schema, name = table.split(".")
        columns = ", ".join(c[0] for c in server.sql("SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s AND is_generated = 'NEVER'"
                                                     " AND is_identity = 'NO' ORDER BY ordinal_position", schema, name))
        with server.db.cursor() as c:
            buffer = io.BytesIO()
            c.copy_expert(f"COPY (SELECT {columns} FROM {table} WHERE {c.mogrify(condition, (organization,)).decode()}) TO STDOUT", buffer)
            out[table] = (columns, buffer.getvalue())
    return out


def copy_in(server, rows, old, new):
    """Another organization gets the rows: nothing but its id differs."""
    rows = {t: (columns, data.replace(old.encode(), new.encode())) for t, (columns, data) in rows.items()}
    server.db.autocommit = False
    begun = time.monotonic()
    with server.db.cursor() as c:
        for table, (columns, data) in rows.items():
            c.copy_expert(f"COPY {table} ({columns}) FROM STDIN", io.BytesIO(data))
    server.db.commit()
    took = time.monotonic() - begun
    server.db.autocommit = True
    return took


def settled(server):
    while server.sql("SELECT 1 FROM wharf.outbox LIMIT 1"):
        time.sleep(0.1)


def imports(server, n, runs, addresses):
    took, peer = [], []
    for run in range(runs):
        org = server.organization()
        client = org.client()
        client.post("/v1/groups", {"name": "Crew", "resource": "contact"}, expect=201)
        settled(server)
        took.append(send(server, client.key, file_of(Names(run, 4000), n, "a", addresses)))
        settled(server)
        other = server.organization()
        peer.append(copy_in(server, copies(server, org.id), org.id, other.id))
        settled(server)
        print(f"run {run + 1}: file of {n} contacts {took[-1]:.2f} s, COPY of its rows {peer[-1]:.2f} s, ratio {took[-1] / peer[-1]:.2f}")
    took.sort()
    ratios = sorted(a / b for a, b in zip(took, peer))
    print(f"file of {n} contacts: median {took[len(took) // 2]:.2f} s, {n / took[len(took) // 2]:.0f}/s, ratio to COPY {ratios[len(ratios) // 2]:.2f}")


def mistyped(r, name):
    i = r.randrange(1, len(name) - 1)
    return name[:i] + name[i + 1] + name[i] + name[i + 2:] if r.random() < 0.5 else name[:i] + name[i + 1:]


def ask(server, key, text, **more):
    begun = time.monotonic()
    answer = ask.session.get(server.base + "/v1/contacts?" + urllib.parse.urlencode({"search": text, "order_by": "_relevance", **more}), headers={"SVC-API-KEY": key}, timeout=60)
    assert answer.status_code == 200, answer.text
    return (time.monotonic() - begun) * 1000, answer.json()["data"]


ask.session = requests.Session()


def label(server, key, asked):
    """The service contacts.match."""
    begun = time.monotonic()
    r = ask.session.post(server.base + "/v1/matchbench", json=asked, headers={"SVC-API-KEY": key}, timeout=60)
    assert r.status_code == 200, r.text
    return (time.monotonic() - begun) * 1000


def searches(server, book, n):
    org, names, r = server.organization(), Names(7, 20000), random.Random(7)
    key = org.key()
    org.client().post("/v1/groups", {"name": "Crew", "resource": "contact"}, expect=201)
    for at in range(0, book, 20000):
        send(server, key, file_of(names, min(20000, book - at), f"b{at}x"))
    settled(server)
    server.sql("VACUUM ANALYZE")
    stored = [row[0] for row in server.sql("SELECT name FROM contacts.contact WHERE organization_id = %s ORDER BY id", org.id)]
    kinds = {"whole name": lambda: r.choice(stored), "mistyped": lambda: mistyped(r, r.choice(stored)), "surname": lambda: r.choice(stored).split()[-1],
             "first name": lambda: r.choice(stored).split()[0], "beginning": lambda: r.choice(stored).split()[-1][:4], "title and initial": lambda: "Dr. {0[0]}. {1}".format(*r.choice(stored).split()),
             "e-mail": lambda: f"b0x{r.randrange(min(book, 20000))}@example.com", "nothing like it": lambda: "Qxzw Vvkj"}
    for kind, make in (("name and phone", lambda: {"name": mistyped(r, r.choice(stored)), "phone": f"+1201{5000000 + r.randrange(20000):07d}"}),
                       ("name and address", lambda: {"name": r.choice(stored), "address": f"{r.randrange(20000)} Dock Road, Newark, NJ 07114, US"})):
        times = sorted(label(server, key, make()) for _ in range(n))
        print(f"label against {len(stored)} contacts, {kind}: p50 {times[n // 2]:.1f} ms, p95 {times[n * 95 // 100]:.1f} ms")
    everything = []
    for kind, make in kinds.items():
        for _ in range(5):
            ask(server, key, make())
        times = sorted(ask(server, key, make())[0] for _ in range(n))
        everything += times
        print(f"search of {len(stored)} contacts, {kind}: p50 {times[n // 2]:.1f} ms, p95 {times[n * 95 // 100]:.1f} ms")
    everything.sort()
    print(f"search of {len(stored)} contacts, all: p50 {everything[len(everything) // 2]:.1f} ms, p95 {everything[len(everything) * 95 // 100]:.1f} ms")
    print(json.dumps({"book": len(stored), "p50_ms": round(everything[len(everything) // 2], 1), "p95_ms": round(everything[len(everything) * 95 // 100], 1)}))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=10_000)
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--addresses", action="store_true", help="rows of the file have an address each")
    p.add_argument("--book", type=int, default=100_000)
    p.add_argument("--searches", type=int, default=100)
    a = p.parse_args()
    server = Server("--modules", MODULES)
    try:
        imports(server, a.rows, a.runs, a.addresses)
        if a.book:
            searches(server, a.book, a.searches)
    finally:
        server.end()


if __name__ == "__main__":
    main()
