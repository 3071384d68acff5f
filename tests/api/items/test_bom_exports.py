"""Exports of a bill of materials: its parts over all levels, and what a planned build lacks (spec 01 section 15, 09 section 10)."""
import csv
import io
import random

import pytest
import requests

from bills import bill_path, make_assembly, make_bom, stocked
from wharf import MODULES, WAIT, Server, make_location, until

EXPORTS = "/v1/exports"
MEMBERS = ["item_id", "name", "sku", "base_uom", "level", "required_qty", "available_qty", "shortage_qty", "is_leaf", "via_bom_id"]


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES if "exports" in MODULES.split(",") else MODULES + ",exports")
    yield s
    s.stop()


@pytest.fixture
def client(server):
    return server.organization().client()


def exported(client, **options):
    """The rows of an export of a bill, and its table."""
    id = client.post(EXPORTS, {"resource": "bom", "options": options}, expect=201).data["id"]
    row = until(lambda: (lambda r: r if r["status"] not in ("queued", "processing") else None)(client.get(f"{EXPORTS}/{id}?include_json=true&include_csv=true").data))
    assert row["status"] == "completed" and row["options"] == options, row
    fetched = [requests.get(client.server.base + row[f"_{kind}_url"], timeout=WAIT) for kind in ("json", "csv")]
    table = list(csv.reader(io.StringIO(fetched[1].content.decode("utf-8-sig"), newline=""), strict=True))
    rows = fetched[0].json()
    assert row["total_rows"] == row["exported_rows"] == len(rows) == len(table) - 1
    return rows, table


def nut_and_bolt(client, here):
    """A: 2 B, 3 C; B: 4 D, 1 C. There are 1 B, 2 C and 100 D."""
    d, c = stocked(client, here, 100, "D", sku="SKU-D"), stocked(client, here, 2, "C")
    b = make_assembly(client, "B", levels=[{"location_id": here, "available_qty": 1}])
    a = make_assembly(client, "A")
    make_bom(client, b, (d, 4), (c, 1))
    return a, make_bom(client, a, (b, 2), (c, 3)), {"A": a, "B": b, "C": c, "D": d}


def test_the_parts_of_a_bill(client):
    """The same rows as its explosion, and a table with all columns."""
    here = make_location(client)["id"]
    a, bom, _ = nut_and_bolt(client, here)
    for options in ({}, {"quantity": 5, "location_id": here}, {"quantity": "2", "max_level": 1}):
        rows, table = exported(client, bom_id=bom["id"], **options)
        query = "&".join(f"{k}={v}" for k, v in options.items())
        shown = client.get(f"{bill_path(a, bom)}/explosion?{query}").data
        by_id = lambda r: r["item_id"]  # noqa: E731
        assert sorted(rows, key=by_id) == sorted(shown, key=by_id) and rows
        assert table[0] == MEMBERS
        cells = {line[0]: dict(zip(MEMBERS, line)) for line in table[1:]}
        for r in rows:
            assert cells[r["item_id"]]["required_qty"] == f"{r['required_qty']:g}" and cells[r["item_id"]]["sku"] == (r["sku"] or "")


def test_what_a_planned_build_lacks(client):
    """Stock is used first, parts that have a bill are built; what is left is missing. The same as a build that is tried says."""
    here = make_location(client)["id"]
    a, bom, items = nut_and_bolt(client, here)
    rows, _ = exported(client, bom_id=bom["id"], location_id=here, quantity=3, shortages=True)
    # 6 B are needed, 1 is there, 5 are built: 5 C and 20 D; 9 C more
    assert [(r["item_id"], r["required_qty"], r["available_qty"], r["shortage_qty"]) for r in rows] == [(items["C"]["id"], 14, 2, 12)]
    tried = client.post(f"{bill_path(a, bom)}/build", {"location_id": here, "quantity": 3, "build_subassemblies": True, "dry_run": True}, expect=200).data
    assert tried["shortages"] == [{"item_id": items["C"]["id"], "required": 14, "available": 2, "shortage": 12}]
    client.post(f"/v1/items/{items['C']['id']}", {"levels": [{"location_id": here, "available_qty": 12}]}, expect=200)
    assert exported(client, bom_id=bom["id"], location_id=here, quantity=3, shortages=True)[0] == []
    client.post(f"{bill_path(a, bom)}/build", {"location_id": here, "quantity": 3, "build_subassemblies": True}, expect=201)


@pytest.mark.parametrize("seed", range(4))
def test_shortages_are_those_of_a_build_that_is_tried(client, seed):
    """Over random bills of three levels."""
    r, here = random.Random(seed), make_location(client)["id"]
    below = [stocked(client, here, r.randint(0, 30), f"P{i}") for i in range(5)]
    for level in range(2):
        made = [make_assembly(client, f"L{level}-{i}", levels=[{"location_id": here, "available_qty": n}] if (n := r.randint(0, 3)) else []) for i in range(3)]
        for m in made:
            make_bom(client, m, *[(p, r.randint(1, 4)) for p in r.sample(below, 3)])
        below = below + made
    a = make_assembly(client, "Top")
    bom = make_bom(client, a, *[(p, r.randint(1, 3)) for p in r.sample(below[5:], 4)])
    for quantity in (1, 7, 40):
        tried = client.post(f"{bill_path(a, bom)}/build", {"location_id": here, "quantity": quantity, "build_subassemblies": True, "dry_run": True}, expect=200).data
        rows, _ = exported(client, bom_id=bom["id"], location_id=here, quantity=quantity, shortages=True)
        assert sorted((s["item_id"], s["required"], s["available"], s["shortage"]) for s in tried["shortages"]) == sorted(
            (x["item_id"], x["required_qty"], x["available_qty"], x["shortage_qty"]) for x in rows)


def test_options_that_are_refused(client):
    here = make_location(client)["id"]
    _, bom, _ = nut_and_bolt(client, here)
    ask = lambda **options: {"resource": "bom", "options": options}  # noqa: E731
    for options, name in (({}, "bom_id"), ({"bom_id": "bom_" + "0" * 22}, "bom_id"), ({"bom_id": 5}, "bom_id"), ({"bom_id": bom["id"], "quantity": 0}, "quantity"),
                          ({"bom_id": bom["id"], "quantity": 1.00001}, "quantity"), ({"bom_id": bom["id"], "max_level": 0}, "max_level"), ({"bom_id": bom["id"], "shortages": True}, "location_id"),
                          ({"bom_id": bom["id"], "shortages": "yes"}, "shortages"), ({"bom_id": bom["id"], "location_id": "loc_" + "0" * 22}, "location_id"), ({"bom_id": bom["id"], "limit": 5}, "limit"),
                          ({"bom_id": bom["id"], "location_id": here, "shortages": True, "max_level": 2}, "max_level")):
        client.refused("POST", EXPORTS, 400, "param.invalid", ["options." + name], body=ask(**options))
    client.refused("POST", EXPORTS, 400, "validation.failed", ["csv_field_options.columns.nothing"], body={**ask(bom_id=bom["id"]), "csv_field_options": {"columns": {"nothing": True}}})


def test_whose_bill_it_is(server):
    """Another organization's bill is none; without items:read there is no export; a key of another location gets no stock."""
    org = server.organization()
    client = org.client()
    here, there = make_location(client)["id"], make_location(client, "There")["id"]
    _, bom, _ = nut_and_bolt(client, here)
    body = {"resource": "bom", "options": {"bom_id": bom["id"], "location_id": here}}
    server.organization().client().refused("POST", EXPORTS, 400, "param.invalid", ["options.bom_id"], body={"resource": "bom", "options": {"bom_id": bom["id"]}})
    org.client("exports:write").refused("POST", EXPORTS, 403, "scope_access", ["items:read"], body=body)
    org.client(locations=[there]).refused("POST", EXPORTS, 403, "location_access", body=body)


