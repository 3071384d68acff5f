"""A search of contacts means the same rows in a list, its count, its export and a batch, whatever else is asked for, and however many rows contain its words
(docs/spec/01-platform.md section 10)."""
import json
import random
import time
from urllib.parse import urlencode

import pytest
import requests

from wharf import MODULES, WAIT, Server, address, until

WORDS = ["Qux", "Smith", "Meier", "Anna", "Depot", "Li", "Zoe", "Nord"]


@pytest.fixture(scope="module")
def book():
    """330 contacts at two locations, of which 300 have the word Qux in the name."""
    server = Server("--modules", MODULES)
    client = server.organization().client()
    rnd = random.Random(17)
    places = [client.post("/v1/locations", {"name": n, "address": address()}, expect=201).data["id"] for n in "AB"]
    rows = []
    for i in range(330):
        name = " ".join((["Qux"] if i < 300 else []) + rnd.sample(WORDS[1:], 2) + [f"{i:03}"])
        rows.append({"name": name, "email": f"{name.split()[-2].lower()}{i}@one.test", "locations": [places[i % 2]]})
    batch = client.post("/v1/batches", {"resource": "contact", "action": "merge", "mode": "sync", "data": rows}, expect=201).data
    assert batch["stats"]["created"] == 330
    yield server, client, rows, places
    server.stop()


def walked(client, asked):
    """Ids of all pages, by relevance."""
    found, page = [], 1
    while True:
        r = client.get(f"/v1/contacts?{urlencode({**asked, 'limit': 40, 'page': page})}", expect=200)
        found += [row["id"] for row in r.data]
        if not r.pagination["has_more"]:
            return found
        page += 1


def exported(server, client, asked):
    made = client.post("/v1/exports", {"resource": "contact", "options": asked, "formats": ["json"]}, expect=201).data["id"]
    until(lambda: client.get(f"/v1/exports/{made}").data["status"] == "completed")
    done = client.get(f"/v1/exports/{made}?include_json=true").data
    rows = requests.get(server.base + done["_json_url"], timeout=WAIT).json()
    assert done["total_rows"] == len(rows)
    return [row["id"] for row in rows]


def touched(client, asked):
    """Ids of the rows that a batch with these filters works on."""
    mark = str(time.time_ns())
    made = client.post("/v1/batches", {"resource": "contact", "action": "merge", "data": [], "filters": asked, "properties": {"metadata": {"mark": mark}}}, expect=202).data["id"]
    until(lambda: client.get(f"/v1/batches/{made}").data["status"] == "completed")
    return [row["id"] for row in client.get(f"/v1/contacts?metadata=mark:{mark}&limit=all", expect=200).data]


def contains(row, asked, places):
    text = row["name"].lower() + " " + row["email"]
    words = asked["search"].lower().split()
    words = [w for w in words if len(w) > 2] or words
    hit = (all if asked.get("search_strategy") == "match_all" else any)(w in text for w in words)
    return hit and asked.get("email", row["email"]) == row["email"] and asked.get("location_id", row["locations"][0]) == row["locations"][0]


ASKED = [{"search": "Qux"}, {"search": "Qux 249"}, {"search": "249 Qux", "search_strategy": "match_all"}, {"search": "Qux Anna", "search_strategy": "match_all"},
         {"search": "qux smith zoe nord depot"}, {"search": "Li"}, {"search": "one.test"}, {"search": "Mrs Qux"}, {"search": "Nobodi"}]


@pytest.mark.parametrize("n", range(len(ASKED)))
@pytest.mark.parametrize("filtered", ["", "location", "email"])
def test_list_count_export_and_batch(book, n, filtered):
    server, client, rows, places = book
    asked = dict(ASKED[n])
    if filtered == "location":
        asked["location_id"] = places[1]
    if filtered == "email":
        asked["email"] = rows[249]["email"]
    listed = walked(client, asked)
    assert len(listed) == len(set(listed))
    ids = {row["email"]: row["id"] for row in client.get("/v1/contacts?limit=all", expect=200).data}
    assert {ids[row["email"]] for row in rows if contains(row, asked, places)} <= set(listed)
    assert client.get(f"/v1/contacts?{urlencode({**asked, 'include_total_count': 'true'})}", expect=200).pagination["total_count"] == len(listed)
    by_name = client.get(f"/v1/contacts?{urlencode({**asked, 'order_by': 'name', 'limit': 'all'})}", expect=200)
    pages = [row["id"] for page in range(1, 5) for row in client.get(f"/v1/contacts?{urlencode({**asked, 'order_by': 'name', 'limit': 100, 'page': page})}", expect=200).data]
    assert sorted(pages) == sorted(listed) and [row["id"] for row in by_name.data] == pages[:100]
    assert sorted(exported(server, client, asked)) == sorted(listed)
    assert sorted(touched(client, asked)) == sorted(listed)


# Statements after which the planner reaches the same rows by other ways.
LEARNED = ("ANALYZE contacts.contact", "DELETE FROM pg_statistic WHERE starelid = 'contacts.contact'::regclass",
           "UPDATE pg_class SET reltuples = 1000000, relpages = 10000 WHERE oid = 'contacts.contact'::regclass", "UPDATE pg_class SET reltuples = 10, relpages = 1 WHERE oid = 'contacts.contact'::regclass")


@pytest.mark.parametrize("n", range(len(ASKED)))
def test_pages_go_on_whatever_the_planner_learns(book, n):
    """The rows that are scored are the same on each page, also when statistics change between two of them."""
    server, client, _, _ = book
    found = []
    server.sql("UPDATE contacts.contact SET version = version WHERE id IN (SELECT id FROM contacts.contact ORDER BY random() LIMIT 100)")
    for page in range(1, 10):
        server.sql(LEARNED[page % len(LEARNED)])
        found += [row["id"] for row in client.get(f"/v1/contacts?{urlencode({**ASKED[n], 'limit': 40, 'page': page})}", expect=200).data]
    assert len(found) == len(set(found))


def test_the_best_is_first_whatever_is_asked_beside_it(book):
    _, client, rows, places = book
    row = rows[249]
    for more in ({}, {"email": row["email"]}, {"location_id": row["locations"][0]}):
        first = client.get(f"/v1/contacts?{urlencode({'search': row['name'], 'limit': 1, **more})}", expect=200).data
        assert [r["name"] for r in first] == [row["name"]]


def test_rows_that_were_not_scored_say_so(book):
    """They come last, each with the same members as the others."""
    _, client, _, _ = book
    shown = [row for page in range(1, 4) for row in client.get(f"/v1/contacts?search=Qux&limit=100&page={page}", expect=200).data]
    assert len(shown) == 300 and all(row["_search"]["relevance_score"] >= 0.1 for row in shown)
    assert json.dumps(sorted(shown[0]["_search"])) == json.dumps(sorted(shown[-1]["_search"]))
