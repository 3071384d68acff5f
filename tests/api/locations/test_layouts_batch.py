"""Layouts as batches write them (spec 02 sections 3 and 11), through the service locations.layouts."""
import pytest

from wharf import BUILD, Server, make_location


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", f"org,locations,parcels,{BUILD}/tests/plugins/layoutbench.so")
    yield s
    s.stop()


@pytest.fixture
def place(client):
    return make_location(client, "Batch")


def write(client, mode, place, layouts, expect=200):
    return client.post(f"/v1/layoutbench/{mode}", {"location_id": place["id"], "layouts": layouts}, expect=expect)


def tree(client, place):
    return {r["nested_name"]: r["id"] for r in client.get(f"/v1/locations/{place['id']}/layouts?path=all").data}


def parcel(client, layout):
    return client.post("/v1/parcels", {"name": "Box", "layout_id": layout}, expect=201).data["id"]


def stands(client, id):
    return client.get("/v1/parcels/" + id).data["layout_id"]


def test_merge_creates_and_updates(client, place):
    write(client, "merge", place, [{"id": "lay_bin", "name": "Bin", "path": "lay_aisle"}, {"id": "lay_aisle", "name": "Aisle"}])
    write(client, "merge", place, [{"id": "lay_bin", "name": "Bin 1"}])
    assert tree(client, place) == {"Default": place["default_layout_id"], "Aisle": "lay_aisle", "Aisle / Bin 1": "lay_bin"}


def test_edge_case_3_overwrite_with_nothing_leaves_the_default_layout(client, place):
    write(client, "merge", place, [{"id": "lay_a3", "name": "A"}, {"id": "lay_b3", "name": "B", "path": "lay_a3"}])
    boxes = [parcel(client, i) for i in (place["default_layout_id"], "lay_a3", "lay_b3")]
    write(client, "overwrite", place, [])
    assert tree(client, place) == {"Default": place["default_layout_id"]}
    assert [stands(client, b) for b in boxes] == [place["default_layout_id"]] * 3


def test_overwrite_keeps_what_is_named_in_both(client, place):
    write(client, "merge", place, [{"id": "lay_x4", "name": "X"}, {"id": "lay_y4", "name": "Y", "path": "lay_x4"}, {"id": "lay_z4", "name": "Z"}])
    kept, gone = parcel(client, "lay_y4"), parcel(client, "lay_z4")
    made = client.get(f"/v1/locations/{place['id']}/layouts/lay_y4").data["created_at"]
    write(client, "overwrite", place, [{"id": "lay_n4", "name": "New"}, {"id": "lay_y4", "name": "Y2", "path": "lay_n4"}])
    assert tree(client, place) == {"Default": place["default_layout_id"], "New": "lay_n4", "New / Y2": "lay_y4"}
    assert stands(client, kept) == "lay_y4" and stands(client, gone) == place["default_layout_id"]
    assert client.get(f"/v1/locations/{place['id']}/layouts/lay_y4").data["created_at"] == made


def test_all_of_an_item_or_nothing(client, place):
    write(client, "merge", place, [{"id": "lay_k5", "name": "K"}])
    before = tree(client, place)
    client.refused("POST", "/v1/layoutbench/overwrite", 400, "layout.parent_not_found", body={"location_id": place["id"], "layouts": [{"name": "A", "path": "lay_nowhere"}]})
    client.refused("POST", "/v1/layoutbench/overwrite", 400, "layout.too_many", body={"location_id": place["id"], "layouts": [{"name": "A"}] * 401})
    assert tree(client, place) == before


def test_remove(client, place):
    write(client, "merge", place, [{"id": "lay_r6", "name": "R"}, {"id": "lay_s6", "name": "S"}])
    client.refused("POST", "/v1/layoutbench/remove", 404, "not_found", ["layouts.1.id"], body={"location_id": place["id"], "layouts": [{"id": "lay_r6"}, {"id": "lay_none"}]})
    client.refused("POST", "/v1/layoutbench/remove", 400, "layout.default_protected", ["layouts.0.id"], body={"location_id": place["id"], "layouts": [{"id": place["default_layout_id"]}]})
    assert "R" in tree(client, place)
    write(client, "remove", place, [{"id": "lay_r6"}, {"id": "lay_s6"}])
    assert list(tree(client, place)) == ["Default"]


def test_locked_layouts(client, place):
    client.post("/v1/locations/" + place["id"], {"settings": {"layouts": {"locked": True}}}, expect=200)
    for mode in ("merge", "overwrite"):
        client.refused("POST", f"/v1/layoutbench/{mode}", 403, "layout.locked", body={"location_id": place["id"], "layouts": [{"name": "A"}]})
