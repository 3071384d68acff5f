"""Parcels: spec 02 sections 7 and 11."""
from test_shipments import SHIPMENTS, quote_body
from wharf import make_location, soon

PARCELS = "/v1/parcels"


def make(client, location, **more):
    return client.post(PARCELS, {"name": "Box", "location_id": location["id"], **more}, expect=201).data


def post(client, row, **body):
    return client.post(f"{PARCELS}/{row['id']}", body, expect=200).data


def layout_of(client, location, name="Shelf", **more):
    return client.post(f"/v1/locations/{location['id']}/layouts", {"name": name, **more}, expect=201).data


def test_create(client, org, location):
    row = make(client, location)
    assert row["object"] == "parcel" and row["id"].startswith("prcl_") and row["type"] == "custom" and row["status"] == "in_storage" and row["length"] == 0 and row["layout"] is None
    assert (row["unpacked"], row["received"], row["defective"], row["missing"]) == (False,) * 4 and row["contents"] == [] and row["shipment_id"] is None
    assert [e[0] for e in org.events(row["id"])] == ["parcel.created"]
    client.refused("POST", PARCELS, 400, "validation.failed", ["location_id"], body={"name": "x"})
    client.refused("POST", PARCELS, 400, "validation.failed", ["name"], body={"location_id": location["id"]})


def test_layouts(client, location):
    shelf = layout_of(client, location, code="S1")
    row = client.post(PARCELS, {"name": "Box", "layout_id": shelf["id"]}, expect=201).data
    assert row["location_id"] == location["id"]
    assert row["layout"] == {"id": shelf["id"], "name": "Shelf", "nested_name": "Shelf", "code": "S1", "location": {"id": location["id"], "name": location["name"]}}
    other = make_location(client, "Far")
    client.refused("POST", PARCELS, 400, "layout.location_mismatch", ["layout_id"], body={"name": "x", "layout_id": shelf["id"], "location_id": other["id"]})
    assert row["id"] in client.get(f"{PARCELS}?layout_path=/Shelf&location_id={location['id']}").ids
    moved = post(client, row, location_id=other["id"])
    assert moved["layout_id"] is None and moved["layout"] is None


def test_edge_case_4_deleting_a_parent_layout_moves_what_stands_below(client):
    place = make_location(client, "Tree")
    a = layout_of(client, place, "A")
    b = layout_of(client, place, "B", path=a["id"])
    c = layout_of(client, place, "C", path=b["id"])
    rows = [make(client, place, layout_id=x["id"]) for x in (a, b, c)]
    before = len(client.get(f"{PARCELS}?location_id={place['id']}").data)
    to = layout_of(client, place, "To")
    client.delete(f"/v1/locations/{place['id']}/layouts/{b['id']}?move_to={to['id']}")
    assert [client.get(f"{PARCELS}/{r['id']}").data["layout_id"] for r in rows] == [a["id"], to["id"], to["id"]]
    client.delete(f"/v1/locations/{place['id']}/layouts/{a['id']}")
    assert client.get(f"{PARCELS}/{rows[0]['id']}").data["layout_id"] == place["default_layout_id"]
    assert len(client.get(f"{PARCELS}?location_id={place['id']}").data) == before


def test_units(client, location):
    row = make(client, location, length=2.54, width=100, height=10, dimension_unit="cm", weight=1, weight_unit="kg", max_weight_domestic=10)
    assert (row["length"], row["width"], row["height"], row["weight"], row["max_weight_domestic"]) == (1, 39.3701, 3.937, 2.2046, 22.0462)
    assert post(client, row, weight=8, weight_unit="oz")["weight"] == 0.5 and post(client, row, weight=1000, weight_unit="g")["weight"] == 2.2046
    assert post(client, row, length=3, dimension_unit="in", weight=4, weight_unit="lb")["length"] == 3
    client.refused("POST", PARCELS, 400, "validation.failed", ["dimension_unit"], body={"name": "x", "location_id": location["id"], "dimension_unit": "ft"})


def test_states(client, location):
    row = make(client, location)
    row = post(client, row, unpacked=True)
    assert row["status"] == "unpacked"
    row = post(client, make(client, location), unpacked=True, status="in_processing")
    assert row["status"] == "in_processing" and row["unpacked"] is True
    for status in ("overdue", "inbound_transit", "destroyed"):
        row = post(client, row, status=status)
    client.refused("POST", f"{PARCELS}/{row['id']}", 409, "parcel.destroyed", ["status"], body={"status": "in_storage"})
    assert post(client, row, name="Still renamed")["status"] == "destroyed"
    assert make(client, location, unpacked=True)["status"] == "unpacked"


def test_contents_need_items(client, location):
    """Without the module items there are none to put into a parcel."""
    for line, at in (({"item_id": "item_0000000000000000000000"}, "item_id"), ({"sku": "A-1"}, "sku"), ({"gtin": "4006381333931"}, "gtin"), ({"name": "loose"}, "item_id")):
        client.refused("POST", PARCELS, 400, "validation.failed", [f"contents.0.{at}"], body={"name": "x", "location_id": location["id"], "contents": [line]})
    row = make(client, location, contents=[])
    client.refused("POST", f"{PARCELS}/{row['id']}", 400, "validation.failed", ["contents.0.id"], body={"contents": [{"id": "art_x", "_delete": True}]})
    assert client.get(PARCELS + "?item_id=item_x").ids == []


def test_parcels_of_shipments(client, org):
    s = client.post(SHIPMENTS, quote_body(parcels=[{"length": 1, "width": 2, "height": 3, "weight": 4}, {"name": "Second", "length": 10, "width": 10, "height": 10, "weight": 1, "weight_unit": "kg"}]), expect=201).data
    rows = sorted(client.get(f"{PARCELS}?shipment_id={s['id']}").data, key=lambda r: r["name"])
    assert [(r["name"], r["weight"], r["status"], r["location_id"]) for r in rows] == [("Parcel 1", 4, "in_processing", None), ("Second", 2.2046, "in_processing", None)]
    assert [e[0] for e in org.events(rows[0]["id"])] == ["parcel.created"]
    client.refused("POST", SHIPMENTS, 400, "validation.failed", body=quote_body(parcels=[{"length": 1, "width": 2, "height": 3, "weight": 4, "special_handling_tags": ["nope"]}]))


def test_lists(client, location):
    row = make(client, location, name="Crate Zulu", tracking_number="TN-77", container_number="CN-1", special_handling_tags=["hazmat"], received=True, metadata={"color": "red"})
    for query in ("tracking_number=tn-77", "container_number=CN-1", "special_handling_tags=hazmat", "received=true&limit=all", "unpacked=false&limit=all", "type=custom&limit=all", "status=in_storage&limit=all",
                  "search=zulu", "metadata=color:red"):
        assert row["id"] in client.get(f"{PARCELS}?{query}").ids, query
    assert client.get(PARCELS + "?search=tn-77").ids == [row["id"]] == client.get(PARCELS + "?search=cn-1").ids
    assert client.get(PARCELS + "?search=zulu").data[0]["_search"]["matches"] == [{"field": "name", "value": "Crate Zulu"}]
    assert client.get(PARCELS + "?search=zulus").ids == [row["id"]], "similar, since nothing contains it"
    other = make(client, location, name="Zulus")
    assert client.get(PARCELS + "?search=zulus").ids == [other["id"]]
    for order in ("created_at", "updated_at", "name", "status"):
        client.get(f"{PARCELS}?order_by={order}")


def test_edge_case_11_locations(client, org, location):
    far = make_location(client, "Distant")
    here, there = make(client, location), make(client, far)
    near = org.client(locations=[location["id"]])
    ids = near.get(PARCELS + "?limit=all").ids
    assert here["id"] in ids and there["id"] not in ids
    near.refused("GET", f"{PARCELS}?location_id={far['id']}", 403, "location_access", [far["id"]])
    near.refused("POST", f"{PARCELS}/{here['id']}", 403, "location_access", [far["id"]], body={"location_id": far["id"]})
    near.refused("POST", PARCELS, 403, "location_access", [far["default_layout_id"]], body={"name": "x", "layout_id": far["default_layout_id"]})


def test_a_location_in_use(client):
    place = make_location(client, "Stock")
    row = make(client, place)
    client.refused("DELETE", "/v1/locations/" + place["id"], 409, "location.in_use", ["parcels"])
    post(client, row, status="destroyed")
    client.delete("/v1/locations/" + place["id"])


def test_of_a_location_that_was_deleted_by_force(client, org):
    place, other = make_location(client, "Gone"), make_location(client, "Stays")
    row = make(client, place)
    near = org.client(locations=[place["id"], other["id"]])
    assert near.get(f"{PARCELS}/{row['id']}").data["id"] == row["id"]
    client.delete(f"/v1/locations/{place['id']}?force=true")
    left = client.get(f"{PARCELS}/{row['id']}").data
    assert left["location_id"] == place["id"] and left["layout"] is None
    soon(lambda: near.refused("GET", f"{PARCELS}/{row['id']}", 403, "location_access"))
    assert row["id"] not in near.get(PARCELS + "?limit=all").ids and row["id"] in client.get(PARCELS + "?limit=all").ids


def test_an_inactive_location_takes_none(client):
    place = make_location(client, "Closed")
    row = make(client, place)
    client.post("/v1/locations/" + place["id"], {"active": False}, expect=200)
    client.refused("POST", PARCELS, 400, "location.inactive", ["location_id"], body={"name": "x", "location_id": place["id"]})
    client.refused("POST", PARCELS, 400, "location.inactive", body={"name": "x", "layout_id": place["default_layout_id"]})
    other = make(client, make_location(client, "Open"))
    client.refused("POST", f"{PARCELS}/{other['id']}", 400, "location.inactive", ["location_id"], body={"location_id": place["id"]})
    assert post(client, row, name="What is there may change")["name"] == "What is there may change"


def test_parcels_of_a_shipment_without_a_name(client):
    """None, null and an empty text are the same: the parcel gets its number as its name."""
    sizes = {"length": 1, "width": 2, "height": 3, "weight": 4}
    made = client.post(SHIPMENTS, quote_body(parcels=[sizes, {**sizes, "name": ""}, {**sizes, "name": None}, {**sizes, "name": "Own"}]), expect=201).data
    rows = client.get(f"{PARCELS}?shipment_id={made['id']}").data
    assert sorted(r["name"] for r in rows) == ["Own", "Parcel 1", "Parcel 2", "Parcel 3"]
