"""Bills of materials: spec 09 sections 10, 10.1, 10.2, 11; 20 items 4 to 7, 13, 14, 17."""
import concurrent.futures
import json

import pytest

from bills import bill_path, bom_of, change_bom, make_assembly, make_bom, part, stocked
from stock import ITEMS, make_item
from wharf import make_location


def shape(bom):
    return [(c["item_id"], c["quantity"]) for c in bom["components"]]


# ---- fields ----

def test_create_and_read(client):
    """Spec 09 section 10 [S]: a bill is made, shown and listed below its item; no smallest build is set."""
    a, b, c = make_assembly(client, "Kit"), make_item(client, "B", sku="BOM-B"), make_item(client, "C", base_uom="g")
    d = client.post(bill_path(a), {"components": [part(b, 2), part(c, "0.5", reference="R1", notes="by hand")], "description": "x", "metadata": {"k": 1}}, expect=201).data
    assert d["object"] == "bom" and d["item_id"] == a["id"] and d["name"] == "BOM 1" and d["status"] == "active" and d["is_default"] is True
    assert d["output_qty"] == 1 and d["min_build_qty"] is None and d["version"] == 1 and d["has_build_history"] is False and d["deactivated_reason"] is None
    first, second = d["components"]
    assert first["object"] == "bom_component" and first["id"].startswith("bomc_") and first["position"] == 0 and second["position"] == 1
    assert second == {**second, "quantity": 0.5, "base_quantity": 0.5, "item_transactional_unit_id": None, "reference": "R1", "notes": "by hand"}
    assert first["item"] == {"id": b["id"], "name": "B", "sku": "BOM-B", "status": "active", "item_type": "inventory", "base_uom": "each", "uom_category": "count", "is_asset": False}
    assert d["assembly_stock"] is None and d["max_buildable_qty"] is None and d["max_buildable_qty_multi_level"] is None and d["can_build"] is None
    assert bom_of(client, a, d) == d and client.get(bill_path(a)).data == [d]
    assert "component_item_ids" not in d and "component_changes" not in d and "change_note" not in d


def test_names_are_numbered_and_unique_for_an_item(client):
    a, other, b = make_assembly(client), make_assembly(client), make_item(client, "B")
    one = make_bom(client, a, b)
    assert make_bom(client, a, b, name="BOM 7")["name"] == "BOM 7" and make_bom(client, a, b)["name"] == "BOM 8"
    client.refused("POST", bill_path(a), 409, "bom.exists", ["name"], body={"name": "bom 7", "components": [part(b)]})
    client.refused("POST", bill_path(a, one), 409, "bom.exists", ["name"], body={"name": "BOM 8"})
    assert make_bom(client, other, b, name="BOM 7")["name"] == "BOM 7"
    client.delete(bill_path(a, one))
    assert make_bom(client, a, b, name="BOM 1")["name"] == "BOM 1"


@pytest.mark.parametrize("body, status, code, errors", [
    ({}, 400, "validation.failed", ["components"]),
    ({"components": None}, 400, "validation.failed", ["components"]),
    ({"components": []}, 400, "bom.components_required", ["components"]),
    ({"components": [{"quantity": 1}]}, 400, "validation.failed", ["components.0.item_id"]),
    ({"components": [{"item_id": "item_nobody", "quantity": 1}]}, 400, "bom.component_not_found", ["components.0.item_id"]),
    ({"components": [{"item_id": "B"}]}, 400, "validation.failed", ["components.0.quantity"]),
    ({"components": [{"item_id": "B", "quantity": 0}]}, 400, "validation.failed", ["components.0.quantity"]),
    ({"components": [{"item_id": "B", "quantity": -1}]}, 400, "validation.failed", ["components.0.quantity"]),
    ({"components": [{"item_id": "B", "quantity": 1.23456}]}, 400, "item.quantity_precision", ["components.0.quantity"]),
    ({"components": [{"item_id": "B", "quantity": 1, "notes": "x" * 501}]}, 400, "validation.failed", ["components.0.notes"]),
    ({"components": [{"item_id": "B", "quantity": 1, "reference": "x" * 101}]}, 400, "validation.failed", ["components.0.reference"]),
    ({"components": [{"item_id": "B", "quantity": 1}, {"item_id": "C", "quantity": 1}, {"item_id": "B", "quantity": 2}]}, 400, "bom.duplicate_component", ["components.2.item_id"]),
    ({"components": [{"item_id": "B", "quantity": 1, "item_transactional_unit_id": "itu_none"}]}, 400, "item.unit_not_found", ["components.0.item_transactional_unit_id"]),
    ({"components": [{"item_id": "B", "quantity": 1}], "output_qty": 0}, 400, "validation.failed", ["output_qty"]),
    ({"components": [{"item_id": "B", "quantity": 1}], "output_qty": 1.00001}, 400, "item.quantity_precision", ["output_qty"]),
    ({"components": [{"item_id": "B", "quantity": 1}], "min_build_qty": 0}, 400, "validation.failed", ["min_build_qty"]),
    ({"components": [{"item_id": "B", "quantity": 1}], "name": "x" * 192}, 400, "validation.failed", ["name"]),
    ({"components": [{"item_id": "B", "quantity": 1}], "status": "done"}, 400, "validation.failed", ["status"]),
    ({"components": [{"item_id": "B", "quantity": 1}], "status": "inactive", "is_default": True}, 400, "validation.failed", ["is_default"]),
    ({"components": [{"item_id": "B", "quantity": 1}] * 501}, 400, "validation.failed", ["components"]),
])
def test_what_is_refused(client, body, status, code, errors):
    a, items = make_assembly(client), {"B": make_item(client, "B")["id"], "C": make_item(client, "C")["id"]}
    sent = {**body}
    if sent.get("components"):
        sent["components"] = [{**c, **({"item_id": items.get(c["item_id"], c["item_id"])} if "item_id" in c else {})} for c in sent["components"]]
    client.refused("POST", bill_path(a), status, code, errors, body=sent)
    assert client.get(bill_path(a)).data == []


def test_only_active_assemblies_have_bills(client):
    b, plain, archived = make_item(client, "B"), make_item(client, "Plain"), make_assembly(client, "Old", status="archived")
    client.refused("POST", bill_path(plain), 400, "bom.item_not_assembly", [], body={"components": [part(b)]})
    client.refused("POST", bill_path(archived), 409, "item.archived", [], body={"components": [part(b)]})
    client.refused("POST", bill_path({"id": "item_nobody"}), 404, "not_found", body={"components": [part(b)]})
    a, gone, old = make_assembly(client), make_item(client, "Gone"), make_item(client, "Old", status="archived")
    client.delete(f"{ITEMS}/{gone['id']}")
    client.refused("POST", bill_path(a), 400, "bom.component_not_found", ["components.1.item_id"], body={"components": [part(b), part(gone)]})
    client.refused("POST", bill_path(a), 400, "bom.component_archived", ["components.1.item_id"], body={"components": [part(b), part(old)]})


def test_another_organization_sees_nothing(client, fresh):
    a, b = make_assembly(client), make_item(client, "B")
    bom, stranger = make_bom(client, a, b), fresh.client()
    theirs = make_assembly(stranger)
    stranger.get(bill_path(a, bom), expect=404)
    stranger.get(bill_path(theirs, bom), expect=404)
    stranger.refused("POST", bill_path(theirs), 400, "bom.component_not_found", ["components.0.item_id"], body={"components": [part(b)]})
    for tail in ("/versions", "/explosion", "/cost"):
        stranger.get(bill_path(a, bom) + tail, expect=404)
    stranger.delete(bill_path(a, bom), expect=404)
    other = make_assembly(client)
    for tail in ("", "/versions", "/explosion", "/cost"):
        client.get(bill_path(other, bom) + tail, expect=404)
    client.delete(bill_path(other, bom), expect=404)
    client.post(bill_path(other, bom), {"name": "x"}, expect=404)
    assert bom_of(client, a, bom) == bom


def test_quantities_in_transactional_units(client):
    oz = make_item(client, "Powder", base_uom="g", transactional_units=[{"name": "Ounce", "uom": "oz"}, {"name": "Sack", "uom": "pack", "conversion_factor": 25000}])
    units = {u["name"]: u["id"] for u in oz["transactional_units"]}
    a = make_assembly(client)
    d = make_bom(client, a, part(oz, 1, item_transactional_unit_id=units["Ounce"]))
    assert d["components"][0]["base_quantity"] == 28.3495 and d["components"][0]["quantity"] == 1
    d = change_bom(client, a, d, components=[part(oz, 0.5, item_transactional_unit_id=units["Sack"])])
    assert d["components"][0]["base_quantity"] == 12500 and d["version"] == 2
    client.refused("POST", bill_path(a, d), 400, "validation.failed", ["components.0.quantity"], body={"components": [part(oz, 99999999999, item_transactional_unit_id=units["Sack"])]})
    # units that a newest version uses stay as they are
    path, kept = f"{ITEMS}/{oz['id']}", [{"name": "Ounce", "uom": "oz"}]
    client.refused("POST", path, 409, "item.unit_in_use", ["transactional_units"], body={"transactional_units": kept})
    client.refused("POST", path, 409, "item.unit_in_use", ["transactional_units.1.conversion_factor"],
                   body={"transactional_units": kept + [{"name": "Sack", "uom": "pack", "conversion_factor": 20000}]})
    client.refused("POST", path, 409, "item.unit_in_use", ["transactional_units.1.conversion_factor"],
                   body={"transactional_units": kept + [{"name": "Sack", "uom": "pack", "conversion_factor": 25000, "active": False}]})
    client.post(path, {"transactional_units": [{"name": "Sack", "uom": "pack", "conversion_factor": 25000}]}, expect=200)  # Ounce: only version 1
    client.refused("POST", bill_path(a, d), 400, "item.unit_inactive", ["components.0.item_transactional_unit_id"],
                   body={"components": [part(oz, 1, item_transactional_unit_id=units["Ounce"])]})
    client.refused("POST", path, 409, "item.base_uom_locked", ["base_uom"], body={"base_uom": "kg"})
    plain = make_item(client, "Plain")
    make_bom(client, a, plain)
    client.refused("POST", f"{ITEMS}/{plain['id']}", 409, "item.base_uom_locked", ["base_uom"], body={"base_uom": "dozen"})
    client.refused("POST", f"{ITEMS}/{a['id']}", 409, "item.base_uom_locked", ["base_uom"], body={"base_uom": "dozen"})


# ---- versions (10.1; 20 item 6) ----

def test_what_makes_a_version(client):
    """Spec 09 section 10.1 [S]: a change of components makes a version, one of other fields or an equal list makes none."""
    a, b, c = make_assembly(client), make_item(client, "B"), make_item(client, "C")
    d = make_bom(client, a, (b, 2), (c, 1))
    ids = {p["item_id"]: p["id"] for p in d["components"]}
    for same in ({"name": "Other"}, {"description": "x"}, {"metadata": {"a": 1}}, {"min_build_qty": 5}, {"output_qty": 1}, {"components": [part(b, 2), part(c, 1)]},
                 {"components": [part(c, "1.0"), part(b, 2)]}, {"components": [part(b, 2, notes="n", reference="r", position=7), part(c, 1)]}, {"is_default": True}, {"status": "inactive"}, {"status": "active"}):
        d = change_bom(client, a, d, **same)
        assert d["version"] == 1, same
    assert [(p["notes"], p["reference"], p["position"]) for p in d["components"]] == [(None, None, 1), ("n", "r", 7)]
    d = change_bom(client, a, d, components=[part(b, 3), part(c, 1)], change_note="more")
    assert d["version"] == 2 and shape(d) == [(b["id"], 3), (c["id"], 1)] and {p["item_id"]: p["id"] for p in d["components"]} == ids
    d = change_bom(client, a, d, output_qty=10)
    assert d["version"] == 3 and shape(d) == [(b["id"], 3), (c["id"], 1)] and d["output_qty"] == 10
    d = change_bom(client, a, d, components=[part(c, 1)])
    assert d["version"] == 4
    d = change_bom(client, a, d, components=[part(c, 1), part(b, 3)])
    assert d["version"] == 5 and {p["item_id"]: p["id"] for p in d["components"]} == ids
    versions = client.get(bill_path(a, d) + "/versions").data
    assert [v["version"] for v in versions] == [5, 4, 3, 2, 1] and [v["output_qty"] for v in versions] == [10, 10, 10, 1, 1]
    assert versions[3]["change_note"] == "more" and versions[4]["change_note"] is None and versions[0]["object"] == "bom_version"
    assert shape(versions[4]) == [(c["id"], 1), (b["id"], 2)] and versions[0]["created_by"] == d["created_by"]
    page = client.get(bill_path(a, d) + "/versions?limit=2&page=2")
    assert [v["version"] for v in page.data] == [3, 2] and page.pagination["has_more"] is True
    for v in versions:
        old = bom_of(client, a, d, f"?version={v['version']}")
        assert (old["version"], old["output_qty"], old["components"]) == (v["version"], v["output_qty"], v["components"])
    client.get(bill_path(a, d) + "?version=6", expect=404)
    for bad in ("0", "-1", "x", "1.5", ""):
        client.refused("GET", bill_path(a, d) + f"?version={bad}", 400, "param.invalid", ["version"])
    client.refused("GET", bill_path(a) + "?version=1", 400, "param.invalid", ["version"])


def test_expected_version(client):
    a, b = make_assembly(client), make_item(client, "B")
    d = make_bom(client, a, b)
    d = change_bom(client, a, d, components=[part(b, 2)], expected_version=1)
    client.refused("POST", bill_path(a, d), 409, "bom.version_conflict", ["expected_version"], body={"components": [part(b, 3)], "expected_version": 1})
    assert bom_of(client, a, d) == d


def test_parallel_changes_with_expected_version_take_effect_once(client):
    a, b = make_assembly(client), make_item(client, "B")
    d = make_bom(client, a, b)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda q: client.request("POST", bill_path(a, d), {"components": [part(b, q)], "expected_version": 1}).status, range(2, 18)))
    assert sorted(answers) == [200] + [409] * 15 and bom_of(client, a, d)["version"] == 2


# ---- the default one, and status ----

def defaults(client, item):
    return {b["name"]: (b["status"], b["is_default"]) for b in client.get(bill_path(item)).data}


def test_one_active_bill_is_the_default(client):
    a, b = make_assembly(client), make_item(client, "B")
    one, two, three = (make_bom(client, a, b, name=n) for n in ("one", "two", "three"))
    assert defaults(client, a) == {"one": ("active", True), "two": ("active", False), "three": ("active", False)}
    assert change_bom(client, a, three, is_default=True)["is_default"] is True
    assert defaults(client, a) == {"one": ("active", False), "two": ("active", False), "three": ("active", True)}
    client.refused("POST", bill_path(a, three), 400, "validation.failed", ["is_default"], body={"is_default": False})
    d = change_bom(client, a, three, status="inactive")
    assert d["is_default"] is False and d["deactivated_reason"] == "user"
    assert defaults(client, a) == {"one": ("active", True), "two": ("active", False), "three": ("inactive", False)}
    client.refused("POST", bill_path(a, three), 400, "validation.failed", ["is_default"], body={"is_default": True})
    assert change_bom(client, a, three, status="active")["is_default"] is False
    client.delete(bill_path(a, one))
    assert defaults(client, a) == {"two": ("active", True), "three": ("active", False)}
    four = make_bom(client, a, b, name="four", is_default=True)
    assert four["is_default"] is True and defaults(client, a)["two"] == ("active", False)
    assert make_bom(client, a, b, name="five", status="inactive")["is_default"] is False
    for bom in (four, two, three):
        change_bom(client, a, bom, status="inactive")
    assert {v for v in defaults(client, a).values()} == {("inactive", False)}
    assert change_bom(client, a, three, status="active", is_default=True)["is_default"] is True


def test_parallel_bills_leave_one_default(client):
    a, b = make_assembly(client), make_item(client, "B")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: client.request("POST", bill_path(a), {"components": [part(b)], "is_default": bool(i % 2)}).status, range(16)))
    boms = client.get(bill_path(a) + "?limit=100").data
    assert answers == [201] * 16 and sum(b["is_default"] for b in boms) == 1 and len({b["name"] for b in boms}) == 16
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda b: client.request("POST", bill_path(a, b), {"status": "inactive"}).status, boms[:15]))
    assert answers == [200] * 15 and [(b["status"], b["is_default"]) for b in client.get(bill_path(a) + "?status=active").data] == [("active", True)]


def test_at_most_50_active_bills(client):
    a, b = make_assembly(client), make_item(client, "B")
    boms = [make_bom(client, a, b) for _ in range(50)]
    client.refused("POST", bill_path(a), 409, "bom.too_many_active", ["status"], body={"components": [part(b)]})
    more = make_bom(client, a, b, status="inactive")
    client.refused("POST", bill_path(a, more), 409, "bom.too_many_active", ["status"], body={"status": "active"})
    change_bom(client, a, boms[3], status="inactive")
    change_bom(client, a, more, status="active")


def test_lists_and_filters(client):
    a, b, c = make_assembly(client), make_item(client, "B"), make_item(client, "C")
    one, two = make_bom(client, a, b, name="Alpha"), make_bom(client, a, c, name="beta", status="inactive")
    three = change_bom(client, a, make_bom(client, a, b, name="Gamma"), components=[part(c)])
    for query, want in (("", [one, two, three]), ("?status=active", [one, three]), ("?is_default=true", [one]), (f"?component_item_id={b['id']}", [one]), (f"?component_item_id={c['id']}", [two, three]),
                        ("?name=beta", [two]), ("?order_by=name&direction=desc", [three, two, one]), (f"?id={two['id']}", [two])):
        got = client.get(bill_path(a) + query).data
        assert sorted(got, key=lambda d: d["name"]) == sorted(want, key=lambda d: d["name"]), query
        if "order_by" in query:
            assert got == want


# ---- deletes (20 item 7) ----

def test_delete_without_history(client):
    """Spec 09 section 10 [S]: a bill that was never built is deleted."""
    a, b = make_assembly(client), make_item(client, "B")
    d = make_bom(client, a, b)
    client.refused("DELETE", f"{ITEMS}/{b['id']}", 409, "item.in_use", [d["id"]])
    assert client.delete(bill_path(a, d)).data == {"id": d["id"], "object": "bom", "deleted": True}
    client.get(bill_path(a, d), expect=404)
    client.delete(bill_path(a, d), expect=404)
    for tail in ("/versions", "/explosion", "/cost"):
        client.get(bill_path(a, d) + tail, expect=404)
    client.delete(f"{ITEMS}/{b['id']}")


# ---- the graph (10.2; 20 items 4 and 5) ----

def test_loops_are_refused_with_their_way(client):
    """Spec 09 section 10.2 [S]: the graph has no loop; no item is its own component, in an inactive bill either."""
    items = [make_assembly(client, f"N{i}") for i in range(6)]
    a, b, leaf = items[0], items[1], make_item(client, "Leaf")
    client.refused("POST", bill_path(a), 400, "bom.cycle", [a["id"]], body={"components": [part(leaf), part(a)]})
    client.refused("POST", bill_path(a), 400, "bom.cycle", [a["id"]], body={"components": [part(leaf), part(a)], "status": "inactive"})
    for k in range(5):
        make_bom(client, items[k], items[k + 1], leaf)
    client.refused("POST", bill_path(b), 400, "bom.cycle", [b["id"], a["id"]], body={"components": [part(a)]})
    six = [i["id"] for i in (items[5], *items[:5])]
    client.refused("POST", bill_path(items[5]), 400, "bom.cycle", six, body={"components": [part(leaf), part(a)]})
    idle = make_bom(client, items[5], a, status="inactive")
    client.refused("POST", bill_path(items[5], idle), 400, "bom.cycle", six, body={"status": "active"})
    fine = make_bom(client, items[5], leaf)
    client.refused("POST", bill_path(items[5], fine), 400, "bom.cycle", six, body={"components": [part(leaf), part(a)]})
    assert bom_of(client, items[5], fine) == fine
    # without the first edge there is no loop
    change_bom(client, a, client.get(bill_path(a)).data[0], status="inactive")
    change_bom(client, items[5], idle, status="active")


def test_a_diamond_is_no_loop(client):
    top, left, right, bottom, leaf = (make_assembly(client, n) for n in ("top", "left", "right", "bottom", "leaf"))
    make_bom(client, bottom, leaf)
    make_bom(client, left, bottom, leaf)
    make_bom(client, right, bottom)
    make_bom(client, top, left, right, bottom)
    client.refused("POST", bill_path(leaf), 400, "bom.cycle", [leaf["id"], top["id"], left["id"]], body={"components": [part(top)]})


def test_fifty_levels(client):
    chain = [make_assembly(client, f"L{i}") for i in range(52)]
    for k in range(49, 0, -1):  # 1 .. 50: 49 edges
        make_bom(client, chain[k], chain[k + 1])
    make_bom(client, chain[0], chain[1])
    client.refused("POST", bill_path(chain[50]), 400, "bom.too_deep", ["components"], body={"components": [part(chain[51])]})
    above = make_assembly(client, "above")
    client.refused("POST", bill_path(above), 400, "bom.too_deep", ["components"], body={"components": [part(chain[0])]})
    deep = client.get(bill_path(chain[0], client.get(bill_path(chain[0])).data[0]) + "/explosion").data
    assert [d["level"] for d in deep] == list(range(1, 51)) and deep[-1]["item_id"] == chain[50]["id"]


@pytest.mark.parametrize("size", [2, 3])
def test_parallel_bills_never_close_a_loop(client, size):
    """20 item 4: what is harmless alone and a loop together is not written by all; spec 09 section 10.2 [S]: no loop by requests at one time."""
    leaf = make_item(client, "Leaf")
    for turn in range(200):
        items = [make_assembly(client, f"P{turn}-{i}") for i in range(size)]
        idle = [make_bom(client, items[i], items[(i + 1) % size], leaf, status="inactive") for i in range(size)] if turn % 2 else None

        def send(i):
            if idle:
                return client.request("POST", bill_path(items[i], idle[i]), {"status": "active"})
            return client.request("POST", bill_path(items[i]), {"components": [part(items[(i + 1) % size])]})

        with concurrent.futures.ThreadPoolExecutor(size) as pool:
            answers = list(pool.map(send, range(size)))
        codes = [(r.status, r.code) for r in answers]
        assert sorted(s for s, _ in codes) == [200 if idle else 201] * (size - 1) + [400], codes
        assert [c for s, c in codes if s == 400] == ["bom.cycle"]


# ---- items (sections 4, 6, 11; 20 items 13 and 14) ----

def test_archiving_an_assembly_stops_its_bills(client):
    """Spec 09 section 11 [S]: archiving an assembly makes its active bills inactive."""
    a, b = make_assembly(client), make_item(client, "B")
    one, two, idle = make_bom(client, a, b), make_bom(client, a, b), make_bom(client, a, b, status="inactive")
    client.post(f"{ITEMS}/{a['id']}", {"status": "archived"}, expect=200)
    got = {d["id"]: (d["status"], d["is_default"], d["deactivated_reason"]) for d in client.get(bill_path(a)).data}
    assert got == {one["id"]: ("inactive", False, "item_archived"), two["id"]: ("inactive", False, "item_archived"), idle["id"]: ("inactive", False, None)}
    client.refused("POST", bill_path(a, one), 409, "item.archived", ["status"], body={"status": "active"})
    client.post(f"{ITEMS}/{a['id']}", {"status": "active"}, expect=200)
    assert {d["status"] for d in client.get(bill_path(a)).data} == {"inactive"}
    d = change_bom(client, a, two, status="active")
    assert d["is_default"] is True and d["deactivated_reason"] is None
    client.delete(f"{ITEMS}/{a['id']}")
    client.get(bill_path(a, two), expect=404)
    client.delete(f"{ITEMS}/{b['id']}")  # no active bill uses it any more


def test_an_assembly_with_active_bills_stays_one(client):
    a, b = make_assembly(client), make_item(client, "B")
    one, two = make_bom(client, a, b), make_bom(client, a, b)
    client.refused("POST", f"{ITEMS}/{a['id']}", 409, "item.has_active_boms", sorted([one["id"], two["id"]]), body={"item_type": "inventory"})
    for bom in (one, two):
        change_bom(client, a, bom, status="inactive")
    client.post(f"{ITEMS}/{a['id']}", {"item_type": "inventory"}, expect=200)
    client.refused("POST", bill_path(a, one), 400, "bom.item_not_assembly", [], body={"status": "active"})


def test_asset_items_in_bills(client):
    """Spec 09 section 6 [S]: components that are assets are whole."""
    a, tool = make_assembly(client), make_item(client, "Tool", is_asset=True, transactional_units=[{"name": "Pair", "uom": "pair"}])
    pair = tool["transactional_units"][0]["id"]
    client.refused("POST", bill_path(a), 400, "item.fractional_quantity", ["components.0.quantity"], body={"components": [part(tool, 0.5)]})
    d = make_bom(client, a, part(tool, 0.5, item_transactional_unit_id=pair))
    assert d["components"][0]["base_quantity"] == 1
    machine = make_assembly(client, "Machine", is_asset=True)
    for field in ("output_qty", "min_build_qty"):
        client.refused("POST", bill_path(machine), 400, "item.fractional_quantity", [field], body={"components": [part(tool)], field: 1.5})
    # what is divided stays divisible
    sheet, half = make_item(client, "Sheet"), make_assembly(client, "Half")
    bom = make_bom(client, half, (sheet, 0.5))
    client.refused("POST", f"{ITEMS}/{sheet['id']}", 409, "item.fractional_bom", [bom["id"]], body={"is_asset": True})
    change_bom(client, half, bom, components=[part(sheet, 2)])
    client.post(f"{ITEMS}/{sheet['id']}", {"is_asset": True}, expect=200)
    change_bom(client, half, bom, min_build_qty=0.5)
    client.refused("POST", f"{ITEMS}/{half['id']}", 409, "item.fractional_bom", [bom["id"]], body={"is_asset": True})
    change_bom(client, half, bom, status="inactive")
    client.post(f"{ITEMS}/{half['id']}", {"is_asset": True}, expect=200)


def test_a_bill_of_which_nothing_whole_can_be_built(client):
    a, tool = make_assembly(client), make_item(client, "Tool", is_asset=True)
    client.refused("POST", bill_path(a), 400, "validation.failed", ["output_qty"], body={"components": [part(tool)], "output_qty": 99999999.9999})
    d = make_bom(client, a, tool)
    client.refused("POST", bill_path(a, d), 400, "validation.failed", ["output_qty"], body={"output_qty": 99999999.9999})
    assert bom_of(client, a, d) == d


# ---- size (17) ----

def test_an_explosion_has_at_most_20000_items(fresh, server):
    client, n = fresh.client(), 20500
    server.sql("INSERT INTO items.item (organization_id, id, name, item_type, base_uom, uom_category, lot_tracking, status, created_at, updated_at)"
               " SELECT %s, 'item_leaf' || i, 'Leaf ' || i, 'inventory', 'each', 'count', 'none', 'active', now(), now() FROM generate_series(0, %s) i", fresh.id, n - 1)
    below = [make_assembly(client, f"Below {i}") for i in range(41)]
    for i, item in enumerate(below):
        make_bom(client, item, *(part(f"item_leaf{500 * i + k}") for k in range(500)))
    fits, large = make_assembly(client), make_assembly(client)
    rows = client.get(bill_path(fits, make_bom(client, fits, *below[:39])) + "/explosion").data
    assert len(rows) == 39 + 39 * 500
    path = bill_path(large, make_bom(client, large, *below))
    for tail in ("/explosion", "/cost"):
        client.refused("GET", path + tail, 400, "bom.too_large", [])


# ---- events ----

def test_events(client, org):
    a, b = make_assembly(client), make_item(client, "B")
    d = make_bom(client, a, (b, 2))
    two = make_bom(client, a, b)
    change_bom(client, a, d, components=[part(b, 3)])
    change_bom(client, a, d, name="Other")
    change_bom(client, a, d, status="inactive")
    client.delete(bill_path(a, two))
    types = [e[0] for e in org.events(d["id"])]
    assert sorted(types) == ["bom.created", "bom.deactivated", "bom.updated", "bom.updated", "bom.updated", "bom.version_created"]
    assert sorted(e[0] for e in org.events(two["id"])) == ["bom.created", "bom.deleted", "bom.updated"]  # updated: the default one

    def told(type):
        data = org.events(d["id"], type)[0][1]
        return json.loads(data) if isinstance(data, str) else data

    created = told("bom.created")
    assert shape(created) == [(b["id"], 2)] and created["version"] == 1 and created["output_qty"] == 1 and created["object"] == "bom"
    assert not {"can_build", "max_buildable_qty", "assembly_stock", "max_buildable_qty_multi_level"} & created.keys()
    assert told("bom.version_created")["version"] == 2 and told("bom.deactivated")["deactivated_reason"] == "user"


def test_events_show_no_stock_whatever_the_request_asks_for(client, org):
    location = make_location(client)
    a, b = make_assembly(client), stocked(client, location, 5)
    d = client.post(f"{bill_path(a)}?location_id={location['id']}", {"components": [part(b)]}, expect=201).data
    client.post(f"{ITEMS}/{a['id']}?location_id={location['id']}", {"status": "archived"}, expect=200)
    assert len(org.events(d["id"])) == 3
    for _, data, _, _ in org.events(d["id"]):
        data = json.loads(data) if isinstance(data, str) else data
        assert "available_qty" not in data["components"][0]
