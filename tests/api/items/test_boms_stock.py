"""What can be built, over one level and over all: spec 09 sections 2, 10.3; explosion, where-used, cost; 20 items 9, 10, 15."""
import random
from fractions import Fraction

import pytest

from bills import Bill, bill_path, bom_of, change_bom, make_assembly, make_bom, most_multi_level, part, stocked
from stock import ITEMS, change, entry, layout, make_item
from wharf import make_location


def at(client, item, bom, location, more=""):
    return bom_of(client, item, bom, f"?location_id={location['id']}{more}")


# ---- one level ----

def test_what_is_there_and_what_it_is_enough_for(client):
    """Spec 09 section 10.3 [S]: available_qty of components, assembly_stock, max_buildable_qty of one level."""
    here, there = make_location(client), make_location(client)
    shelf = layout(client, here, "Shelf")
    b, c = stocked(client, here, 10, "B"), stocked(client, there, 99, "C")
    change(client, b, entry(here, layout_id=shelf, available_qty=3, damaged_qty=4))
    a = make_assembly(client, levels=[entry(here, available_qty=2)])
    d = make_bom(client, a, (b, 2), (c, 1), min_build_qty=5)
    got = at(client, a, d, here)
    first, second = got["components"]
    assert first["available_qty"] == 13 and first["required_qty"] == 2 and first["buildable_qty"] == 6 and first["limiting"] is False and "shortage_qty" not in first
    assert [(v["layout_id"], v["layout_name"], v["lot_number"], v["available_qty"]) for v in first["layouts"]] == [(first["layouts"][0]["layout_id"], "Default", None, 10), (shelf, "Shelf", None, 3)]
    assert second["available_qty"] == 0 and second["buildable_qty"] == 0 and second["limiting"] is True and second["layouts"] == []
    assert (got["assembly_stock"], got["max_buildable_qty"], got["max_buildable_qty_multi_level"], got["can_build"]) == (2, 0, None, False)
    change(client, c, entry(here, available_qty=4))
    got = at(client, a, d, here, "&quantity=5")
    assert [(p["required_qty"], p["shortage_qty"]) for p in got["components"]] == [(10, 0), (5, 1)]
    assert got["max_buildable_qty"] == 4 and got["can_build"] is False  # of 5 at least
    change(client, c, entry(here, available_qty=1))
    assert at(client, a, d, here)["can_build"] is True
    assert client.get(bill_path(a) + f"?location_id={here['id']}").data == [at(client, a, d, here)]
    change_bom(client, a, d, status="inactive")
    got = at(client, a, d, here)
    assert got["can_build"] is False and got["max_buildable_qty"] == 5
    change_bom(client, a, d, status="active")
    client.post(f"{ITEMS}/{b['id']}", {"status": "archived"}, expect=200)
    got = at(client, a, d, here)
    assert got["max_buildable_qty"] == 0 and got["can_build"] is False


def test_expired_lots_do_not_count(client):
    here = make_location(client)
    b = make_item(client, lot_tracking="required", levels=[entry(here, available_qty=q, lot_number=n) for n, q in (("old", 5), ("late", 3), ("soon", 2))])
    lots = {v["lot_number"]: v["id"] for v in client.get(f"{ITEMS}/{b['id']}/lots").data}
    for name, when in (("old", "2020-01-01T00:00:00Z"), ("soon", "2099-01-01T00:00:00Z")):
        client.post(f"{ITEMS}/{b['id']}/lots/{lots[name]}", {"expires_at": when}, expect=200)
    a = make_assembly(client)
    got = at(client, a, make_bom(client, a, b), here)
    assert got["components"][0]["available_qty"] == 5 and got["max_buildable_qty"] == 5
    assert [(v["lot_number"], v["available_qty"]) for v in got["components"][0]["layouts"]] == [("soon", 2), ("late", 3)]


def test_at_most_50_levels_of_a_part_are_shown(client):
    here = make_location(client)
    rows = client.post(f"/v1/locations/{here['id']}/layouts", [{"name": f"Bin {i}"} for i in range(52)], expect=201).data
    b = make_item(client, "B", levels=[entry(here, layout_id=v["id"], available_qty=i + 1) for i, v in enumerate(rows)])
    a = make_assembly(client)
    got = at(client, a, make_bom(client, a, b), here)
    assert [v["available_qty"] for v in got["components"][0]["layouts"]] == list(range(52, 2, -1)) and got["components"][0]["available_qty"] == 52 * 53 // 2


def test_the_smallest_need(client):
    here = make_location(client)
    dust, a = stocked(client, here, "0.0002", "Dust", base_uom="kg"), make_assembly(client)
    d = make_bom(client, a, (dust, 0.0001), output_qty=8)
    got = at(client, a, d, here, "&quantity=1")
    assert got["components"][0]["required_qty"] == 0.0001 and got["max_buildable_qty"] == 19  # of 20 it is 0.00025: 0.0003
    assert at(client, a, d, here, "&quantity=20")["components"][0]["required_qty"] == 0.0003  # half of the last digit: away from zero


def test_parameters_that_are_refused(client):
    here, a, b = make_location(client), make_assembly(client), make_item(client, "B")
    path = bill_path(a, make_bom(client, a, b))
    for query, name in (("location_id=loc_nowhere", "location_id"), (f"location_id={here['id']}&quantity=0", "quantity"), (f"location_id={here['id']}&quantity=x", "quantity"), (f"location_id={here['id']}&quantity=1.00001", "quantity")):
        client.refused("GET", f"{path}?{query}", 400, "param.invalid", [name])
    for query, name in (("quantity=0", "quantity"), ("max_level=0", "max_level"), ("max_level=x", "max_level"), ("location_id=loc_nowhere", "location_id")):
        client.refused("GET", f"{path}/explosion?{query}", 400, "param.invalid", [name])


def test_locations_that_a_key_does_not_reach(client, org):
    """20 item 15."""
    here, there = make_location(client), make_location(client)
    b = stocked(client, there, 5, "B")
    a = make_assembly(client)
    d = make_bom(client, a, b)
    narrow = org.client("items:write", locations=[here["id"]])
    assert bom_of(narrow, a, d) == d and at(narrow, a, d, here)["max_buildable_qty"] == 0
    for path in (bill_path(a, d), bill_path(a), bill_path(a, d) + "/explosion", bill_path(a, d) + "/cost"):
        narrow.refused("GET", f"{path}?location_id={there['id']}", 403, "location_access")


def test_worked_examples_of_the_spec(client):
    here = make_location(client)
    kg, g = stocked(client, here, "0.9999", "kg", base_uom="kg"), stocked(client, here, "283.4952", "g", base_uom="g", transactional_units=[{"name": "oz", "uom": "oz"}])
    a, b, c = make_assembly(client), make_assembly(client), make_assembly(client)
    assert at(client, a, make_bom(client, a, (kg, 0.3333)), here)["max_buildable_qty"] == 3
    d = make_bom(client, b, part(g, 1, item_transactional_unit_id=g["transactional_units"][0]["id"]))
    got = at(client, b, d, here, "&quantity=10")
    assert got["components"][0]["required_qty"] == 283.4952 and got["max_buildable_qty"] == 10
    sheet = stocked(client, here, 2, "Sheet", is_asset=True)
    assert at(client, c, make_bom(client, c, sheet, output_qty=8), here)["max_buildable_qty"] == 16
    fine = make_assembly(client, "Liquid", base_uom="l")
    assert at(client, fine, make_bom(client, fine, (kg, 0.3333)), here)["max_buildable_qty"] == 3.0001  # 0.99993...: rounded to 0.9999


# ---- explosion ----

PARTLIST = [("00", "01", 5), ("00", "05", 3), ("01", "02", 2), ("01", "03", 3), ("01", "04", 4), ("01", "06", 3), ("02", "05", 7), ("02", "06", 6), ("03", "07", 6), ("04", "08", 10), ("04", "09", 11), ("05", "10", 10),
            ("05", "11", 10), ("06", "12", 10), ("06", "13", 10), ("07", "12", 8), ("07", "14", 8)]


def partlist(client):
    names = sorted({n for e in PARTLIST for n in e[:2]})
    items = {n: make_assembly(client, n) for n in names}
    boms = {a: make_bom(client, items[a], *((items[b], q) for x, b, q in PARTLIST if x == a)) for a in {e[0] for e in PARTLIST}}
    return items, boms, {v["id"]: n for n, v in items.items()}


def test_the_published_explosion_of_part_01(client):
    """The PARTLIST example of DB2's manual on recursive queries: quantities that part 01 takes in all."""
    items, boms, names = partlist(client)
    got = client.get(bill_path(items["01"], boms["01"]) + "/explosion").data
    assert {names[d["item_id"]]: d["required_qty"] for d in got} == {
        "02": 2, "03": 3, "04": 4, "05": 14, "06": 15, "07": 18, "08": 40, "09": 44, "10": 140, "11": 140, "12": 294, "13": 150, "14": 144}
    by = {names[d["item_id"]]: d for d in got}
    assert {n: d["level"] for n, d in by.items()} == {"02": 1, "03": 1, "04": 1, "05": 2, "06": 2, "07": 2, "08": 2, "09": 2, "10": 3, "11": 3, "12": 3, "13": 3, "14": 3}
    assert {n for n, d in by.items() if d["is_leaf"]} == {"08", "09", "10", "11", "12", "13", "14"}
    assert by["05"]["via_bom_id"] == boms["05"]["id"] and by["08"]["via_bom_id"] is None and "available_qty" not in by["08"]
    assert [d["level"] for d in got] == sorted(d["level"] for d in got)
    one = {names[d["item_id"]]: (d["required_qty"], d["level"]) for d in client.get(bill_path(items["01"], boms["01"]) + "/explosion?max_level=1").data}
    assert one == {"02": (2, 1), "03": (3, 1), "04": (4, 1), "06": (3, 1)}
    two = {names[d["item_id"]]: (d["required_qty"], d["level"]) for d in client.get(bill_path(items["01"], boms["01"]) + "/explosion?max_level=2&quantity=2").data}
    assert two == {"02": (4, 1), "03": (6, 1), "04": (8, 1), "05": (28, 2), "06": (30, 2), "07": (36, 2), "08": (80, 2), "09": (88, 2), "12": (60, 2), "13": (60, 2)}
    location = make_location(client)
    change(client, items["12"], entry(location, available_qty=300))
    change(client, items["14"], entry(location, available_qty=100))
    short = {names[d["item_id"]]: (d["available_qty"], d["shortage_qty"]) for d in client.get(bill_path(items["01"], boms["01"]) + f"/explosion?location_id={location['id']}").data}
    assert short["12"] == (300, 0) and short["14"] == (100, 44) and short["08"] == (0, 40)
    client.refused("GET", bill_path(items["01"], boms["01"]) + "/explosion?quantity=99999999999", 400, "param.invalid", ["quantity"])


def test_where_used_is_the_explosion_seen_from_below(client):
    items, boms, names = partlist(client)
    direct = client.get(f"{ITEMS}/{items['12']['id']}/where-used").data
    assert {(names[d["item_id"]], d["level"], d["quantity"]) for d in direct} == {("06", 1, 10), ("07", 1, 8)}
    assert all(d["is_default"] and d["bom_id"] == boms[names[d["item_id"]]]["id"] for d in direct)
    for n in names.values():
        got = client.get(f"{ITEMS}/{items[n]['id']}/where-used?direct=false&limit=100").data
        assert [d["level"] for d in got] == sorted(d["level"] for d in got)
        for d in got:
            above = names[d["item_id"]]
            explosion = {names[e["item_id"]]: e for e in client.get(bill_path(items[above], boms[above]) + "/explosion").data}
            assert (d["quantity"], d["level"]) == (explosion[n]["required_qty"], explosion[n]["level"])
        assert len(got) == sum(n in {names[e["item_id"]] for e in client.get(bill_path(items[a], boms[a]) + "/explosion").data} for a in boms)
    page = client.get(f"{ITEMS}/{items['12']['id']}/where-used?direct=false&limit=2&page=2")
    assert len(page.data) == 2 and page.pagination["has_more"] is True
    second = make_bom(client, items["06"], (items["12"], 3), name="Second")
    assert {(d["bom_id"], d["quantity"]) for d in client.get(f"{ITEMS}/{items['12']['id']}/where-used").data} == {(boms["06"]["id"], 10), (boms["07"]["id"], 8), (second["id"], 3)}
    change_bom(client, items["06"], boms["06"], status="inactive")
    assert {d["bom_id"] for d in client.get(f"{ITEMS}/{items['12']['id']}/where-used").data} == {boms["07"]["id"], second["id"]}
    client.refused("GET", f"{ITEMS}/{items['12']['id']}/where-used?direct=x", 400, "param.invalid", ["direct"])
    client.get(f"{ITEMS}/item_nobody/where-used", expect=404)


def test_cost_of_the_parts(client):
    screw, plate, foreign, free = (make_item(client, n, **m) for n, m in (("Screw", {"value": 7}), ("Plate", {"value": 1250}), ("Chip", {"value": 300, "currency": "EUR"}), ("Free", {})))
    sub, top = make_assembly(client, "Sub", value=99999), make_assembly(client, "Top")
    make_bom(client, sub, (screw, 4), (plate, 0.5))
    d = make_bom(client, top, (sub, 3), (screw, 2), (foreign, 1))
    got = client.get(bill_path(top, d) + "/cost").data
    assert (got["bom_id"], got["version"], got["quantity"], got["complete"]) == (d["id"], 1, 1, True)
    assert {(c["item_id"], c["required_qty"], c["value"], c["cost"]) for c in got["components"]} == {(screw["id"], 14, 7, 98), (plate["id"], 1.5, 1250, 1875), (foreign["id"], 1, 300, 300)}
    assert sorted(((t["currency"], t["cost"]) for t in got["totals"]), key=str) == [("EUR", 300), (None, 1973)]
    change_bom(client, top, d, components=[part(sub, 3), part(free, 2)])
    got = client.get(bill_path(top, d) + "/cost?quantity=2").data
    assert got["complete"] is False and got["totals"] == [{"currency": None, "cost": 24 * 7 + 3750}] and got["version"] == 2
    assert next(c for c in got["components"] if c["item_id"] == free["id"])["cost"] is None


# ---- all levels ----

def test_the_example_of_the_spec(client):
    here = make_location(client)
    a, b = make_assembly(client, "A"), make_assembly(client, "B", levels=[entry(here, available_qty=1)])
    s = stocked(client, here, 10, "S")
    make_bom(client, b, (s, 3))
    d = make_bom(client, a, (b, 2), (s, 1))
    got = at(client, a, d, here, "&include_subassemblies=true")
    assert got["max_buildable_qty"] == 0 and got["max_buildable_qty_multi_level"] == 1
    assert at(client, a, d, here)["max_buildable_qty_multi_level"] is None


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_against_the_model(client, seed):
    """max_buildable_qty, over one level and over all, is what the model finds by trying (20 item 10)."""
    r = random.Random(seed)
    here = make_location(client)
    kinds = {}
    items, stock, bills, boms = [], {}, {}, {}
    for i in range(r.randint(4, 8)):
        asset = r.random() < 0.15
        uom = "each" if asset or r.random() < 0.7 else "kg"
        have = r.choice([0, 0, r.randint(1, 40)]) if uom == "each" else Fraction(r.randint(0, 90000), 10000)
        units = [{"name": "Box", "uom": "box", "conversion_factor": r.choice([2, 3, 12]) if asset else r.choice([2, 12, 0.5, 0.3333333333])}]
        kind = "assembly" if i else "inventory"
        item = make_item(client, f"R{seed}-{i}", item_type=kind, is_asset=asset, base_uom=uom, transactional_units=units, levels=[entry(here, available_qty=float(have))] if have else [])
        items.append(item)
        stock[item["id"]] = have
        kinds[item["id"]] = (uom == "each", asset)
    for i, item in enumerate(items[1:], 1):
        if i < len(items) - 1 and r.random() < 0.25:
            continue
        parts, sent = {}, []
        for below in r.sample(items[:i], r.randint(1, min(3, i))):
            counted, asset = kinds[below["id"]]
            unit = below["transactional_units"][0] if r.random() < 0.4 else None
            q = r.randint(1, 4) if asset or r.random() < 0.6 else Fraction(r.randint(1, 30000), 10000)
            parts[below["id"]] = (q, unit["conversion_factor"] if unit else 1)
            sent.append(part(below, float(q), **({"item_transactional_unit_id": unit["id"]} if unit else {})))
        output = r.choice([1, 1, 1, 2, 8]) if kinds[item["id"]][1] else r.choice([1, 1, 2, 8, 2.5])
        minimum = r.choice([None, None, 2])
        assets = {k for k in parts if kinds[k][1]}
        bills[item["id"]] = Bill(parts, output, minimum or 0, kinds[item["id"]][0], assets)
        boms[item["id"]] = make_bom(client, item, *sent, output_qty=output, min_build_qty=minimum)
    top = items[-1]
    got = at(client, top, boms[top["id"]], here, "&include_subassemblies=true")
    assert Fraction(str(got["max_buildable_qty"])) == bills[top["id"]].most(stock)
    want = most_multi_level(bills, bills[top["id"]], stock, 300)
    if want == 300 * bills[top["id"]].step:
        assert Fraction(str(got["max_buildable_qty_multi_level"])) >= want
    else:
        assert Fraction(str(got["max_buildable_qty_multi_level"])) == want
