"""Items: spec 09 sections 4, 5, 6 and 11; units of measure: section 3."""
import concurrent.futures

import pytest

from stock import ITEMS, change, entry, levels, make_item, place, refused
from wharf import make_location

UOMS = "/v1/uoms"


# ---- units of measure ----

def test_units_that_come_with_the_server(fresh):
    """Spec 09 section 3 [S]: there is a category count, with its units."""
    client = fresh.client()
    units = {u["code"]: u for u in client.get(UOMS + "?limit=1000").data}
    assert len(units) == 35 and all(u["system"] for u in units.values())
    assert units["oz"]["factor"] == 0.028349523125 and units["floz_us"]["factor"] == 0.0295735295625 and units["case"]["factor"] is None
    assert {u["code"] for u in client.get(UOMS + "?uom_category=area").data} == {"m2", "cm2", "ft2"}
    assert [u["code"] for u in client.get(UOMS + "?code=dozen,gross&order_by=name&direction=desc").data] == ["gross", "dozen"]
    kg = f"{UOMS}/{units['kg']['id']}"
    client.refused("POST", kg, 409, "uom.system", [units["kg"]["id"]], body={"name": "Kilo"})
    client.refused("DELETE", kg, 409, "uom.system", [units["kg"]["id"]])


def test_units_of_an_organization(fresh):
    client = fresh.client()
    d = client.post(UOMS, {"code": "stone", "name": "Stone", "uom_category": "weight", "factor": 6.35029318}, expect=201).data
    assert d["system"] is False and d["factor"] == 6.35029318
    client.refused("POST", UOMS, 409, "uom.exists", ["code"], body={"code": "stone", "name": "Again", "uom_category": "weight"})
    client.refused("POST", UOMS, 409, "uom.exists", ["code"], body={"code": "kg", "name": "Mine", "uom_category": "weight"})
    for bad in ("Stone", "a b", "x" * 21, ""):
        client.refused("POST", UOMS, 400, "validation.failed", ["code"], body={"code": bad, "name": "X", "uom_category": "count"})
    client.refused("POST", UOMS, 400, "validation.failed", ["factor"], body={"code": "none", "name": "X", "uom_category": "count", "factor": 0})
    one = f"{UOMS}/{d['id']}"
    assert client.post(one, {"name": "Stones", "unece_code": "STI"}, expect=200).data["unece_code"] == "STI"
    client.refused("POST", one, 400, "validation.failed", ["factor"], body={"factor": 7})
    client.refused("POST", one, 400, "validation.failed", ["code"], body={"code": "stones"})
    item = make_item(client, base_uom="kg", transactional_units=[{"name": "Stone", "uom": "stone"}])
    assert item["transactional_units"][0]["conversion_factor"] == 6.35029318
    client.refused("DELETE", one, 409, "uom.in_use", ["stone"])
    client.delete(f"{ITEMS}/{item['id']}")
    client.delete(one)
    client.refused("POST", ITEMS, 400, "validation.failed", ["base_uom"], body={"name": "X", "base_uom": "stone"})


SIZES = {
    "count": {"each": 1, "pair": 2, "dozen": 12, "hundred": 100, "gross": 144, "thousand": 1000, **dict.fromkeys(("pack", "box", "case", "carton", "pallet", "roll", "set"))},
    "weight": {"kg": 1, "g": 0.001, "mg": 0.000001, "t": 1000, "lb": 0.45359237, "oz": 0.028349523125},
    "volume": {"l": 1, "ml": 0.001, "m3": 1000, "gal_us": 3.785411784, "floz_us": 0.0295735295625, "ft3": 28.316846592},
    "length": {"m": 1, "mm": 0.001, "cm": 0.01, "km": 1000, "in": 0.0254, "ft": 0.3048, "yd": 0.9144}, "area": {"m2": 1, "cm2": 0.0001, "ft2": 0.09290304}}


def test_what_the_units_measure(fresh):
    client = fresh.client()
    assert make_item(client, base_uom="kg")["uom_category"] == "weight"  # before anybody asked for units
    found = {category: {} for category in SIZES}
    for u in client.get(UOMS + "?limit=1000").data:
        found[u["uom_category"]][u["code"]] = u["factor"]
    assert found == SIZES


def test_a_unit_of_an_item_stays(fresh):
    client = fresh.client()
    d = client.post(UOMS, {"code": "bale", "name": "Bale", "uom_category": "count"}, expect=201).data
    one = f"{UOMS}/{d['id']}"
    assert d["factor"] is None and d["unece_code"] is None
    client.refused("POST", one, 400, "validation.failed", ["uom_category"], body={"uom_category": "weight"})
    item = make_item(client, base_uom="bale")
    client.refused("DELETE", one, 409, "uom.in_use", ["bale"])
    client.post(f"{ITEMS}/{item['id']}", {"base_uom": "each"}, expect=200)
    client.delete(one)
    assert [e[0] for e in fresh.events(d["id"])] == ["uom.created", "uom.deleted"]


# ---- items ----

def test_create_update_and_clear(client):
    """Spec 09 section 4 [S]: an item is an inventory item or an assembly, and nothing else."""
    d = make_item(client, " Blend 250 g ", sku="BL-250", external_id="e-1", description="Coffee", color="brown", size="M", vendor="V", origin_country="br", harmonized_code="0901.21",
                  value=1999, currency="eur", length=1.25, packaged_weight=0.5512, attributes=["alcohol", "own"], images=["https://x.example/a.png"], metadata={"a": 1})
    assert d["name"] == "Blend 250 g" and d["object"] == "item" and d["item_type"] == "inventory" and d["base_uom"] == "each" and d["uom_category"] == "count"
    assert d["origin_country"] == "BR" and d["currency"] == "EUR" and d["length"] == 1.25 and d["status"] == "active" and d["levels"] == []
    assert d["totals"] == {"available_qty": 0, "reserved_qty": 0, "damaged_qty": 0, "on_hand_qty": 0, "manifested_qty": 0}
    path = f"{ITEMS}/{d['id']}"
    assert client.get(path).data == d
    u = client.post(path, {"color": None, "sku": "", "name": "Blend", "value": 5}, expect=200).data
    assert u["color"] is None and u["sku"] is None and u["size"] == "M" and u["name"] == "Blend" and u["value"] == 5
    for body, field in (({"name": ""}, "name"), ({"name": None}, "name"), ({"name": "x" * 256}, "name"), ({"value": -1}, "value"), ({"value": 1.5}, "value"), ({"images": ["http://x"]}, "images.0"),
                        ({"origin_country": "BRA"}, "origin_country"), ({"currency": "E"}, "currency"), ({"length": -1}, "length"), ({"length": 1.23456}, "length"), ({"gtin": "12a"}, "gtin"),
                        ({"item_type": "kit"}, "item_type"), ({"attributes": ["x"] * 21}, "attributes"), ({"harmonized_code": "09-1"}, "harmonized_code"), ({"base_uom": "nope"}, "base_uom")):
        a = client.refused("POST", path, 400, "validation.failed", body=body)
        assert a.errors == [field], (body, a.errors)


def test_fields_and_levels_change_together(client, location):
    item = make_item(client, "Old", levels=[entry(location, available_qty=1)])
    path = f"{ITEMS}/{item['id']}"
    refused(client, item, 409, "item.insufficient_stock", ["levels.0.available_qty"], entry(location, available_qty=-2), name="New")
    client.refused("POST", path, 400, "validation.failed", ["currency"], body={"levels": [entry(location, available_qty=1)], "currency": "E"})
    client.refused("POST", ITEMS, 409, "item.insufficient_stock", ["levels.0.available_qty"], body={"name": "Not made", "sku": "NOT-MADE", "levels": [entry(location, available_qty=-1)]})
    assert client.get(path).data == item and client.get(ITEMS + "?sku=NOT-MADE").data == []
    d = change(client, item, entry(location, available_qty=2), name="New").data
    assert d["name"] == "New" and d["totals"]["available_qty"] == 3


def test_documents_of_an_item(client):
    """Spec 09 section 4 [S]: _documents is null unless it is asked for; nobody can ask without the module documents."""
    item = make_item(client)
    path = f"{ITEMS}/{item['id']}"
    assert item["_documents"] is None and client.get(path).data["_documents"] is None and "_documents" not in client.get(f"{ITEMS}?id={item['id']}").data[0]
    a = client.get(f"{path}?include_documents=true", expect=None)
    assert a.data["_documents"] == [] if a.status == 200 else (a.code, a.errors) == ("param.invalid", ["include_documents"])


def test_numbers_that_name_one_item(client):
    a, b = make_item(client, sku="Same", external_id="X"), make_item(client)
    path = f"{ITEMS}/{b['id']}"
    client.refused("POST", path, 409, "item.exists", ["sku"], body={"sku": "sAME"})
    client.refused("POST", path, 409, "item.exists", ["external_id"], body={"external_id": "X"})
    client.post(path, {"external_id": "x"}, expect=200)
    client.delete(f"{ITEMS}/{a['id']}")
    client.post(path, {"sku": "same", "external_id": "X"}, expect=200)


def test_check_digits(client):
    for good in ("4006381333931", "96385074", "036000291452", "00012345600012", "123", "1234567890"):
        make_item(client, gtin=good)
    for bad in ("4006381333932", "96385075", "00012345600013"):
        client.refused("POST", ITEMS, 400, "item.gtin_check_digit", ["gtin"], body={"name": "X", "gtin": bad})
    client.refused("POST", ITEMS, 400, "item.gtin_check_digit", ["upc"], body={"name": "X", "upc": "036000291453"})


def test_deletes(client):
    location = make_location(client)
    item = make_item(client, levels=[entry(location, damaged_qty=1)])
    path = f"{ITEMS}/{item['id']}"
    client.refused("DELETE", path, 409, "item.has_stock", [levels(client, item)[0]["id"]])
    change(client, item, entry(location, damaged_qty=[0]))
    client.delete(path)
    client.refused("GET", path, 404, "not_found", [item["id"]])
    client.refused("GET", path + "/levels", 404, "not_found")


def test_archiving(client, org):
    location = make_location(client)
    item = make_item(client, levels=[entry(location, available_qty=5)])
    path = f"{ITEMS}/{item['id']}"
    d = client.post(path, {"status": "archived"}, expect=200).data
    assert d["archived_at"] and d["totals"]["available_qty"] == 5
    refused(client, item, 409, "item.archived", ["levels.0.available_qty"], entry(location, available_qty=1))
    refused(client, item, 409, "item.archived", ["levels.0.available_qty"], entry(location, available_qty=[6]))
    refused(client, item, 409, "item.archived", ["levels.0.damaged_qty"], entry(location, available_qty=-1, damaged_qty=1))
    change(client, item, entry(location, available_qty=-1))
    change(client, item, entry(location, available_qty=[4]))
    client.post(path, {"color": "red"}, expect=200)
    assert item["id"] not in [v["id"] for v in client.get(ITEMS).data]
    assert item["id"] in [v["id"] for v in client.get(ITEMS + "?status=archived").data] and item["id"] in [v["id"] for v in client.get(ITEMS + "?status=all").data]
    d = client.post(path, {"status": "active", "levels": [entry(location, available_qty=1)]}, expect=200).data
    assert d["archived_at"] is None and d["totals"]["available_qty"] == 5
    assert [e[0] for e in org.events(item["id"])].count("item.archived") == 1


# ---- transactional units ----

def test_units_with_and_without_factor(client):
    item = make_item(client, base_uom="m", transactional_units=[
        {"name": "Foot", "uom": "ft"}, {"name": "Roll", "uom": "roll", "conversion_factor": 50}, {"name": "Kilo", "uom": "kg", "conversion_factor": 12.5, "barcode": "K1"}])
    assert [(u["name"], u["conversion_factor"], u["active"]) for u in item["transactional_units"]] == [("Foot", 0.3048, True), ("Roll", 50, True), ("Kilo", 12.5, True)]
    for unit, code, member in (({"uom": "ft", "conversion_factor": 0.3}, "item.conversion_factor_mismatch", "conversion_factor"), ({"uom": "roll"}, "item.conversion_factor_required", "conversion_factor"),
                               ({"uom": "kg"}, "item.conversion_factor_required", "conversion_factor"), ({"uom": "nope"}, "validation.failed", "uom"),
                               ({"uom": "roll", "conversion_factor": 0}, "validation.failed", "conversion_factor"), ({"uom": "roll", "conversion_factor": 1e10}, "validation.failed", "conversion_factor"),
                               ({"uom": "roll", "conversion_factor": 1.12345678901}, "validation.failed", "conversion_factor"), ({}, "validation.failed", "uom")):
        client.refused("POST", ITEMS, 400, code, [f"transactional_units.0.{member}"], body={"name": "X", "base_uom": "m", "transactional_units": [{"name": "U", **unit}]})
    make_item(client, base_uom="m", transactional_units=[{"name": "Foot", "uom": "ft", "conversion_factor": 0.3048}])
    client.refused("POST", ITEMS, 400, "validation.failed", ["transactional_units.1.name"],
                   body={"name": "X", "transactional_units": [{"name": "U", "uom": "pair"}, {"name": "U", "uom": "dozen"}]})


def test_units_that_are_left_out_become_inactive(client):
    """Spec 09 section 4 [S]: item_transactional_unit_id is a unit of this item."""
    item = make_item(client, transactional_units=[{"name": "Pair", "uom": "pair"}, {"name": "Case", "uom": "case", "conversion_factor": 12, "barcode": "C"}])
    pair, case = item["transactional_units"]
    path = f"{ITEMS}/{item['id']}"
    d = client.post(path, {"transactional_units": [{"name": "Case", "uom": "case"}, {"name": "Box", "uom": "box", "conversion_factor": 6}]}, expect=200).data["transactional_units"]
    assert [(u["id"], u["active"]) for u in d[:2]] == [(pair["id"], False), (case["id"], True)]
    assert d[1]["conversion_factor"] == 12 and d[1]["barcode"] == "C" and d[2]["name"] == "Box"
    d = client.post(path, {"transactional_units": [{"id": pair["id"], "name": "Two", "uom": "pair"}]}, expect=200).data["transactional_units"]
    assert [(u["name"], u["active"]) for u in d] == [("Two", True), ("Case", False), ("Box", False)]
    client.refused("POST", path, 400, "item.unit_not_found", ["transactional_units.0.id"], body={"transactional_units": [{"id": "itu_nope", "name": "N", "uom": "pair"}]})
    client.refused("POST", path, 400, "item.unit_inactive", ["item_transactional_unit_id"], body={"item_transactional_unit_id": case["id"]})
    client.refused("POST", path, 400, "item.unit_not_found", ["item_transactional_unit_id"], body={"item_transactional_unit_id": "itu_nope"})
    client.post(path, {"item_transactional_unit_id": pair["id"]}, expect=200)
    client.refused("POST", path, 400, "item.unit_inactive", ["item_transactional_unit_id"], body={"transactional_units": []})
    client.post(path, {"item_transactional_unit_id": None, "transactional_units": []}, expect=200)


def test_a_unit_of_another_item_is_none(client):
    """Spec 09 section 4 [S]: item_transactional_unit_id is a unit of this item."""
    pair = make_item(client, transactional_units=[{"name": "Pair", "uom": "pair"}])["transactional_units"][0]["id"]
    item = make_item(client, transactional_units=[{"name": "Pair", "uom": "pair"}])
    path = f"{ITEMS}/{item['id']}"
    client.refused("POST", path, 400, "item.unit_not_found", ["item_transactional_unit_id"], body={"item_transactional_unit_id": pair})
    client.refused("POST", path, 400, "item.unit_not_found", ["transactional_units.0.id"], body={"transactional_units": [{"id": pair, "name": "N", "uom": "pair"}]})


def test_how_many_units_an_item_has(client):
    def some(first, n):
        return [{"name": f"Box {first + k}", "uom": "box", "conversion_factor": 2} for k in range(n)]
    client.refused("POST", ITEMS, 400, "validation.failed", ["transactional_units"], body={"name": "X", "transactional_units": some(0, 21)})
    item = make_item(client, transactional_units=some(0, 20))
    path = f"{ITEMS}/{item['id']}"
    for k in range(1, 5):
        client.post(path, {"transactional_units": some(20 * k, 20)}, expect=200)
    assert [u["active"] for u in client.get(path).data["transactional_units"]] == [False] * 80 + [True] * 20
    client.refused("POST", path, 400, "validation.failed", ["transactional_units"], body={"transactional_units": some(100, 1)})
    client.post(path, {"transactional_units": some(7, 1)}, expect=200)  # one that is there already


def test_base_unit_is_locked_by_use(client):
    location = make_location(client)
    item = make_item(client)
    path = f"{ITEMS}/{item['id']}"
    assert client.post(path, {"base_uom": "kg"}, expect=200).data["uom_category"] == "weight"
    change(client, item, entry(location, available_qty=1))
    change(client, item, entry(location, available_qty=-1))
    client.refused("POST", path, 409, "item.base_uom_locked", ["base_uom"], body={"base_uom": "g"})
    client.post(path, {"base_uom": "kg"}, expect=200)
    packed = make_item(client, transactional_units=[{"name": "Pair", "uom": "pair"}])
    client.refused("POST", f"{ITEMS}/{packed['id']}", 409, "item.base_uom_locked", ["base_uom"], body={"base_uom": "dozen"})


# ---- assets ----

def test_assets_are_counted_and_whole(client):
    """Spec 09 sections 2 and 6 [S]: an asset item has a base unit and units that count, whole factors and whole quantities."""
    location = make_location(client)
    client.refused("POST", ITEMS, 400, "item.asset_uom", ["base_uom"], body={"name": "X", "is_asset": True, "base_uom": "kg"})
    client.refused("POST", ITEMS, 400, "item.asset_uom", ["transactional_units.0.uom"],
                   body={"name": "X", "is_asset": True, "transactional_units": [{"name": "K", "uom": "kg", "conversion_factor": 2}]})
    client.refused("POST", ITEMS, 400, "item.asset_conversion_factor", ["transactional_units.0.conversion_factor"],
                   body={"name": "X", "is_asset": True, "transactional_units": [{"name": "B", "uom": "box", "conversion_factor": 2.5}]})
    item = make_item(client, is_asset=True, base_uom="pair", transactional_units=[{"name": "Box", "uom": "box", "conversion_factor": 2}], levels=[entry(location, available_qty=3)])
    box = item["transactional_units"][0]["id"]
    for bad in (1.5, [0.5], "0.0001"):
        refused(client, item, 400, "item.fractional_quantity", ["levels.0.available_qty"], entry(location, available_qty=bad))
    refused(client, item, 400, "item.fractional_quantity", ["levels.0.damaged_qty"], entry(location, damaged_qty=0.25, item_transactional_unit_id=box))
    change(client, item, entry(location, damaged_qty=0.5, item_transactional_unit_id=box))
    assert levels(client, item)[0]["damaged_qty"] == 1
    each = make_item(client, transactional_units=[{"name": "Half", "uom": "box", "conversion_factor": 0.5}])
    client.refused("POST", f"{ITEMS}/{each['id']}", 400, "item.asset_conversion_factor", ["transactional_units"], body={"is_asset": True})
    kilo = make_item(client, base_uom="kg")
    client.refused("POST", f"{ITEMS}/{kilo['id']}", 400, "item.asset_uom", ["base_uom"], body={"is_asset": True})


def test_what_an_asset_item_is_stays_when_it_changes(client):
    """Spec 09 section 6 [S]: base unit, units and factors are held to it on update as well; a part of a transfer is whole."""
    location, shelf = place(client, "Shelf")
    item = make_item(client, is_asset=True, transactional_units=[{"name": "Box", "uom": "box", "conversion_factor": 2}])
    path, bare = f"{ITEMS}/{item['id']}", make_item(client, is_asset=True)
    client.refused("POST", f"{ITEMS}/{bare['id']}", 400, "item.asset_uom", ["base_uom"], body={"base_uom": "kg"})
    client.refused("POST", path, 400, "item.asset_uom", ["transactional_units.0.uom"], body={"transactional_units": [{"name": "K", "uom": "kg", "conversion_factor": 2}]})
    client.refused("POST", path, 400, "item.asset_conversion_factor", ["transactional_units.0.conversion_factor"],
                   body={"transactional_units": [{"name": "Box", "uom": "box", "conversion_factor": 2.5}]})
    change(client, item, entry(location, layout_id=None, available_qty=2))
    refused(client, item, 400, "item.fractional_quantity", ["levels.0.available_qty", "levels.1.available_qty"],
            entry(location, layout_id=None, available_qty=-0.5), entry(location, layout_id=shelf, available_qty=0.5))
    assert client.post(f"{ITEMS}/{bare['id']}", {"base_uom": "dozen"}, expect=200).data["base_uom"] == "dozen"


@pytest.mark.parametrize("bucket", ["available_qty", "damaged_qty", "manifested_qty"])
def test_a_fraction_in_any_bucket_keeps_an_item_from_becoming_an_asset(client, location, bucket):
    """Spec 09 section 6 [S]: any bucket; the reserved one is in test_stock_service.py."""
    item = make_item(client, levels=[entry(location, **{bucket: 0.5})])
    path = f"{ITEMS}/{item['id']}"
    client.refused("POST", path, 409, "item.fractional_levels", [levels(client, item)[0]["id"]], body={"is_asset": True})
    change(client, item, entry(location, **{bucket: 0.5}))
    client.post(path, {"is_asset": True}, expect=200)


def test_fractions_anywhere_keep_an_item_from_becoming_an_asset(client, org):
    """Spec 09 section 6 [S]: also a fraction at a location that the caller does not see."""
    here, there = make_location(client), make_location(client)
    item = make_item(client, levels=[entry(here, available_qty=1), entry(there, available_qty=0.5)])
    path = f"{ITEMS}/{item['id']}"
    hidden = next(v["id"] for v in levels(client, item) if v["location_id"] == there["id"])
    client.refused("POST", path, 409, "item.fractional_levels", [hidden], body={"is_asset": True})
    r = org.client(locations=[here["id"]]).refused("POST", path, 409, "item.fractional_levels", [], body={"is_asset": True})
    assert "1 level" in r.message
    d = client.post(path, {"is_asset": True, "levels": [entry(there, available_qty=[1])]}, expect=200).data
    assert d["is_asset"] is True
    client.post(path, {"is_asset": False}, expect=200)


def test_a_race_with_a_receipt_leaves_no_asset_with_a_fraction(client, org):
    """Spec 09 section 6 [S]: no fraction is left in an asset item, at the same time either."""
    location = make_location(client)
    others = [org.client() for _ in range(3)]
    for i in range(20):
        item = make_item(client)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            receipts = [pool.submit(change, c, item, entry(location, available_qty=0.5), expect=None) for c in others]
            asset = pool.submit(client.post, f"{ITEMS}/{item['id']}", {"is_asset": True}).result()
            codes = {r.result().code for r in receipts}
        d = client.get(f"{ITEMS}/{item['id']}").data
        assert asset.code in (None, "item.fractional_levels") and codes <= {None, "item.fractional_quantity"}
        assert not (d["is_asset"] and d["totals"]["available_qty"] % 1), (i, d)


# ---- lists ----

@pytest.fixture(scope="module")
def shelves(client):
    """Two locations with layouts, and items in them."""
    here, a, b = place(client, "Aisle", "Bin")
    there = make_location(client)
    items = {"both": make_item(client, "Zanzibar both", levels=[entry(here, layout_id=a, available_qty=1), entry(there, available_qty=1)]),
             "here": make_item(client, "Zanzibar here", levels=[entry(here, layout_id=b, manifested_qty=1)]),
             "gone": make_item(client, "Zanzibar gone", levels=[entry(here, layout_id=a, available_qty=1)]),
             "none": make_item(client, "Zanzibar none")}
    change(client, items["gone"], entry(here, layout_id=a, available_qty=-1))
    return {"client": client, "here": here, "there": there, "a": a, "b": b, "items": items}


def found(s, query):
    ids = [v["id"] for v in s["client"].get(f"{ITEMS}?limit=1000&{query}").data]
    return {name for name, item in s["items"].items() if item["id"] in ids}


def test_items_by_place(shelves):
    s = shelves
    here, there = s["here"]["id"], s["there"]["id"]
    assert found(s, f"location_id={here}") == {"both", "here"} and found(s, f"location_id={there}") == {"both"}
    assert found(s, f"location_id={here},{there}") == {"both", "here"}
    assert found(s, f"location_id={here}&include_zero_inventory=true") == {"both", "here", "gone"}
    assert found(s, f"layout_id={s['a']}") == {"both"} and found(s, f"layout_id={s['a']},{s['b']}") == {"both", "here"}
    assert found(s, f"location_id={there}&layout_id={s['a']}") == set()  # one and the same level
    assert found(s, "layout_path=/Aisle") >= {"both"} and found(s, f"layout_path={s['b']}") == {"here"}
    d = {v["id"]: v for v in s["client"].get(f"{ITEMS}?location_id={there}").data}
    assert [v["location_id"] for v in d[s["items"]["both"]["id"]]["levels"]] == [there]


def test_items_by_words(shelves):
    c = shelves["client"]
    item = make_item(c, "Quokka plush", sku="QUOK-77", description="A small macropod")
    for words in ("quokka", "QUOK-77", "macropod", "plush quokka"):
        assert c.get(f"{ITEMS}?search={words}&search_strategy=match_all").data[0]["id"] == item["id"], words
    assert found(shelves, "search=zanzibar") == set(shelves["items"])


def test_items_by_any_code(fresh):
    client = fresh.client()
    item = make_item(client, sku="Sku-Ä1", gtin="04006381333931", upc="036000291452",
                     transactional_units=[{"name": "Case", "uom": "case", "conversion_factor": 12, "barcode": "10036000291459"}, {"name": "Box", "uom": "box", "conversion_factor": 2, "barcode": "bx/9"}])
    for code in ("SKU-ä1", "4006381333931", "04006381333931", "036000291452", "0036000291452", "00036000291452", "10036000291459", "BX/9"):
        assert [v["id"] for v in client.get(f"{ITEMS}?code={code}").data] == [item["id"]], code
    assert client.get(ITEMS + "?code=36000291453,nope").data == []
    client.post(f"{ITEMS}/{item['id']}", {"transactional_units": []}, expect=200)
    assert client.get(ITEMS + "?code=BX/9").data == []  # of a unit that is not active


def test_items_by_several_codes(fresh):
    client = fresh.client()
    a, b = make_item(client, sku="A,1", upc="036000291452"), make_item(client, sku="B-2")
    found = lambda query: set(client.get(f"{ITEMS}?{query}").ids)  # noqa: E731
    assert found("code=A\\,1,b-2") == {a["id"], b["id"]} and found("code=AND:A\\,1,036000291452") == {a["id"]} and found("code=AND:A\\,1,B-2") == set()
    assert found("sku=a\\,1") == {a["id"]} and found("sku=a\\,1,B-2") == {a["id"], b["id"]} and found("sku=A,B-2") == {b["id"]}


def test_items_by_fields(client):
    a = make_item(client, sku="F-1", base_uom="kg", external_id="ext-1", harmonized_code="12.3", metadata={"k": "v1"})
    b = make_item(client, sku="F-2", is_asset=True, item_type="assembly")
    ids = lambda query: {v["id"] for v in client.get(f"{ITEMS}?limit=1000&{query}").data} & {a["id"], b["id"]}  # noqa: E731
    assert ids("sku=f-1,F-2") == {a["id"], b["id"]} and ids("base_uom=kg") == {a["id"]} and ids("uom_category=count") == {b["id"]} and ids("is_asset=true") == {b["id"]}
    assert ids("item_type=assembly") == {b["id"]} and ids("external_id=ext-1") == {a["id"]} and ids("harmonized_code=12.3") == {a["id"]} and ids("metadata.k=v1") == {a["id"]}
    assert ids("status=archived") == set() and ids(f"id={a['id']}") == {a["id"]}
    assert [v["sku"] for v in client.get(ITEMS + "?sku=f-1,f-2&order_by=sku&direction=desc").data] == ["F-2", "F-1"]
