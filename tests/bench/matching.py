#!/usr/bin/python3
"""Whom labels mean: contacts chosen by themselves, right and wrong, in a book with near duplicates. Prints figures; asserts nothing.

  tests/bench/matching.py [--book N] [--labels N] [--seed N] [--threads N] [--shown N]     BUILD names the build folder

The book: names that are as frequent as names are, in buildings of 40 units; a tenth of it has a near duplicate (the same name elsewhere, a spouse in the same
unit, a middle initial, a generation, a surname that differs in one letter). The labels: what a printer and a reader make of a contact's name (capitals, turned
round, an initial, cut off, one letter wrong, "ATTN"), with the address, with its unit only, or without; and one in seven for somebody who is not in the book.
A contact is chosen wrongly when it is another one than the one whose label was made, or the label is of nobody. Asked is POST .../match.
"""
import argparse
import base64
import collections
import concurrent.futures
import csv
import io
import pathlib
import random
import sys
import time

import requests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from contacts import Names, settled  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from wharf import Server  # noqa: E402

MATCH = "/v1/inferences/images/shipping-labels/match"
FILE_ROWS = 10000
LOOKS_LIKE = {"O": "0", "I": "1", "L": "1", "S": "5", "B": "8", "G": "6", "M": "N", "E": "F", "C": "G", "U": "V"}


# ---- the book ----

class Person:
    def __init__(self, r, first, last, place):
        self.first, self.last, self.place, self.middle, self.generation = first, last, place, "", ""
        self.phone = f"+1201{r.randrange(2000000, 9999999)}"

    def name(self):
        return " ".join(x for x in (self.first, self.middle, self.last, self.generation) if x)


def place_of(r, names):
    return (r.randrange(1, 60), r.choice(names.last[:400]), r.randrange(101, 141), 7000 + r.randrange(300))


def near(r, names, one):
    """Somebody who is easily taken for this one."""
    kind = r.randrange(5)
    other = Person(r, one.first, one.last, place_of(r, names))
    if kind == 1:
        other = Person(r, r.choice(names.first), one.last, one.place)
    elif kind == 2:
        other.middle = r.choice("ABCDEFGHJKLMNPRSTW") + "."
    elif kind == 3:
        one.generation, other.generation, other.place = "Sr", "Jr", one.place
    elif kind == 4:
        i = r.randrange(1, len(one.last)) if len(one.last) > 1 else 0
        other.last = one.last[:i] + r.choice("abcdefghiklmnoprstuvwz") + one.last[i + 1:]
    return other


def book_of(seed, n):
    names = Names(seed, 20000)
    r, people = names.r, []
    while len(people) < n:
        first, last = names.name().split()
        people.append(Person(r, first, last, place_of(r, names)))
        if r.random() < 0.1:
            people.append(near(r, names, people[-1]))
    return names, people[:n]


def address_text(place):
    number, street, unit, zip_code = place
    return f"{number} {street} Road Apt {unit}, Newark, NJ {zip_code:05d}, US"


def file_of(people):
    out = io.StringIO()
    w = csv.writer(out)
    w.writerow(["Name", "Phone", "Address", "metadata.row"])
    w.writerows([p.name(), p.phone, address_text(p.place), i] for i, p in people)
    return "data:text/csv;base64," + base64.b64encode(out.getvalue().encode()).decode()


def fill(server, key, people):
    numbered = list(enumerate(people))
    for i in range(0, len(numbered), FILE_ROWS):
        r = requests.post(server.base + "/v1/contacts", json={"csv_url": file_of(numbered[i:i + FILE_ROWS])}, headers={"SVC-API-KEY": key}, timeout=900)
        assert r.status_code == 200 or r.status_code == 201, r.text[:500]


# ---- the labels ----

def printed_name(r, p):
    """The name as a label has it, and how."""
    name, kind = p.name(), r.choices(["as it is", "turned round", "initial", "cut off", "letter wrong", "attn"], [50, 10, 10, 5, 15, 10])[0]
    if kind == "turned round":
        name = f"{p.last}, {' '.join(x for x in (p.first, p.middle) if x)}"
    elif kind == "initial":
        name = f"{p.first[0]} {p.last}"
    elif kind == "cut off" and len(p.last) > 5:
        name = name[:-2]
    elif kind == "letter wrong":
        at = [i for i, c in enumerate(name.upper()) if c in LOOKS_LIKE]
        i = r.choice(at) if at else 0
        name = name[:i] + LOOKS_LIKE.get(name[i].upper(), name[i]) + name[i + 1:]
    elif kind == "attn":
        name = "ATTN: " + name
    return name.upper() if r.random() < 0.8 else name, kind


def label_of(r, p):
    name, kind = printed_name(r, p)
    number, street, unit, zip_code = p.place
    to = {"name": name}
    said = r.choices(["address", "unit", "nothing"], [70, 10, 20])[0]
    if said == "address":
        to["address"] = {"line1": f"{number} {street} Rd".upper(), "line2": f"APT {unit}" if r.random() < 0.8 else None, "city": "NEWARK", "state_code": "NJ",
                         "postal_code": f"{zip_code:05d}", "country_code": "US"}
    elif said == "unit":
        to["name"] += f" #{unit}"
    return to, f"{kind}, {said}"


def labels_of(names, people, n):
    r, known = names.r, {p.name() for p in people}
    for _ in range(n):
        if r.random() < 1 / 7:
            first, last = names.name().split()
            stranger = Person(r, first, last, place_of(r, names))
            if stranger.name() in known:
                stranger.last += r.choice(["ez", "sky", "well", "ton"])
            yield None, *label_of(r, stranger)
        else:
            i = r.randrange(len(people))
            yield i, *label_of(r, people[i])


# ---- asking ----

def ask(session, server, key, to):
    begun = time.monotonic()
    a = session.post(server.base + MATCH, json={"recipient": to}, headers={"SVC-API-KEY": key}, timeout=60)
    took = time.monotonic() - begun
    assert a.status_code == 200, a.text[:500]
    return a.json()["data"]["recipient"], took


def run(server, key, labels, threads):
    session = requests.Session()
    session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=threads))
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda label: ask(session, server, key, label[1]), labels))


def tell(labels, answers, rows, shown):
    counts, kinds, wrong = collections.Counter(), collections.defaultdict(collections.Counter), []
    for (true, to, kind), (said, _) in zip(labels, answers):
        chosen = rows.get(said["contact_id"]) if said["contact_id"] else None
        what = "none" if not said["contact_id"] else "right" if chosen == true and true is not None else "WRONG"
        counts[what] += 1
        kinds["of nobody in the book" if true is None else kind][what] += 1
        if what == "WRONG":
            meant = next((m for m in said["matches"] if m["id"] == said["contact_id"]), {"name": said["contact_id"], "relevance_score": None})
            wrong.append((to, meant["name"], said["matching_decision"]["matched_by"], meant["relevance_score"], kind if true is not None else "nobody"))
    n = len(labels)
    times = sorted(took for _, took in answers)
    print(f"{n} labels: chosen right {100 * counts['right'] / n:.2f} %, nobody chosen {100 * counts['none'] / n:.2f} %, WRONG {100 * counts['WRONG'] / n:.2f} % (goal 0.5)")
    print(f"time of an answer: p50 {1000 * times[n // 2]:.1f} ms, p95 {1000 * times[n * 95 // 100]:.1f} ms")
    for kind, c in sorted(kinds.items()):
        total = sum(c.values())
        print(f"  {kind:<28} {total:>6}  right {100 * c['right'] / total:6.2f} %  none {100 * c['none'] / total:6.2f} %  WRONG {100 * c['WRONG'] / total:5.2f} %")
    for line in wrong[:shown]:
        print("   ", *line)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--book", type=int, default=100000)
    p.add_argument("--labels", type=int, default=10000)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--shown", type=int, default=0, help="shows so many that were wrong")
    a = p.parse_args()
    server = Server("--modules", "org,locations,contacts,carriers,inference")
    try:
        org = server.organization()
        key = org.key()
        names, people = book_of(a.seed, a.book)
        fill(server, key, people)
        settled(server)
        rows = {i: int(n) for i, n in server.sql("SELECT id, metadata ->> 'row' FROM contacts.contact WHERE organization_id = %s", org.id)}
        print(f"{len(rows)} contacts, {len({p.name() for p in people})} different names", flush=True)
        labels = list(labels_of(names, people, a.labels))
        tell(labels, run(server, key, labels, a.threads), rows, a.shown)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
