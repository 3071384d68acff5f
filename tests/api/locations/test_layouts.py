"""Layouts: spec 02 section 3."""
import re

import pytest

from wharf import make_location


@pytest.fixture
def place(client):
    """A location of its own: (path of its layouts, its default layout's id)."""
    d = make_location(client, "Tree")
    return f"/v1/locations/{d['id']}/layouts", d["default_layout_id"]


def add(client, place, label, **more):
    return client.post(place, {"name": label, **more}, expect=201).data


def names(client, path, query=""):
    return [row["name"] for row in client.get(path + query).data]


def test_default_layout(client, place):
    path, default = place
    rows = client.get(path).data
    assert [r["id"] for r in rows] == [default]
    d = rows[0]
    assert d["object"] == "layout" and d["name"] == "Default" and d["is_default"] is True and d["path"] is None
    assert d["parent_id"] is None and d["root_id"] == default and d["depth"] == 1 and d["nested_name"] == "Default"
    assert re.fullmatch("[0-9a-f]{64}", d["checksum"])
    member = f"{path}/{default}"
    u = client.post(member, {"name": "Dock", "code": "D"}, expect=200).data
    assert u["name"] == "Dock" and u["nested_name"] == "Dock" and u["checksum"] != d["checksum"]
    child = add(client, path, "Below", path=default)
    assert child["nested_name"] == "Dock / Below" and child["is_default"] is False
    other = add(client, path, "Other")
    client.refused("POST", member, 400, "layout.default_protected", ["path"], body={"path": other["id"]})
    client.refused("DELETE", member, 400, "layout.default_protected")


def test_create_and_retrieve(client, place):
    path, _ = place
    a = client.post(path, {"name": " Aisle 1 ", "code": "A1", "metadata": {"zone": "cold"}}, expect=201)
    d = a.data
    assert a.headers["Location"] == f"{path}/{d['id']}"
    assert d["name"] == "Aisle 1" and d["position"] == 1 and d["metadata"] == {"zone": "cold"}
    assert client.get(f"{path}/{d['id']}").data == d
    client.refused("POST", path, 400, "validation.failed", ["name"], body={})
    client.refused("POST", path, 400, "validation.failed", ["name"], body={"name": "x" * 128})
    client.refused("GET", path + "/lay_nope", 404, "not_found", ["lay_nope"])


def test_ids_of_clients(client, place):
    path, _ = place
    assert add(client, path, "Mine", id="lay_own-Id_1")["id"] == "lay_own-Id_1"
    u = client.post(path, {"id": "lay_own-Id_1", "name": "Renamed"}, expect=200)
    assert u.data["name"] == "Renamed" and u.message == "Layout updated"
    for bad in ("own", "lay_", "lay_a b", "lay_" + "x" * 61, "loc_x"):
        client.refused("POST", path, 400, "validation.failed", ["id"], body={"id": bad, "name": "x"})
    client.delete(path + "/lay_own-Id_1")
    assert add(client, path, "Again", id="lay_own-Id_1")["name"] == "Again"


def test_id_of_another_location(client, place):
    path, _ = place
    other = make_location(client, "Elsewhere")
    client.post(f"/v1/locations/{other['id']}/layouts", {"id": "lay_elsewhere", "name": "x"}, expect=201)
    client.refused("POST", path, 409, "layout.wrong_location", ["id"], body={"id": "lay_elsewhere", "name": "x"})
    client.refused("POST", path, 409, "layout.wrong_location", ["1.id"], body=[{"name": "a"}, {"id": "lay_elsewhere", "name": "x"}])
    client.refused("GET", path + "/lay_elsewhere", 404, "not_found")
    client.refused("DELETE", path + "/lay_elsewhere", 404, "not_found")
    assert names(client, path) == ["Default"]


def test_code_is_unique_in_the_location(client, place):
    path, _ = place
    add(client, path, "One", code="C1")
    client.refused("POST", path, 409, "layout.exists", ["code"], body={"name": "Two", "code": "c1"})
    other = make_location(client, "Twin")
    client.post(f"/v1/locations/{other['id']}/layouts", {"name": "One", "code": "C1"}, expect=201)


def test_parents(client, place):
    path, _ = place
    a = add(client, path, "Aisle")
    s = add(client, path, "Shelf", parent_id=a["id"])
    assert s["path"] == s["parent_id"] == a["id"] and s["root_id"] == a["id"] and s["depth"] == 2 and s["nested_name"] == "Aisle / Shelf"
    b = add(client, path, "Bin", parent_path="/Aisle/Shelf")
    assert b["path"] == s["id"] and b["depth"] == 3
    assert add(client, path, "Root", parent_path="/")["path"] is None
    for unknown in ("lay_nope", make_location(client, "Next door")["default_layout_id"]):
        client.refused("POST", path, 400, "layout.parent_not_found", ["path"], body={"name": "x", "path": unknown})
        client.refused("POST", f"{path}/{b['id']}", 400, "layout.parent_not_found", ["path"], body={"path": unknown})
        client.refused("POST", path, 400, "layout.parent_not_found", ["1.path"], body=[{"name": "x"}, {"name": "y", "path": unknown}])
    client.refused("POST", path, 400, "layout.parent_not_found", ["parent_path"], body={"name": "x", "parent_path": "/Aisle/Nope"})
    add(client, path, "Shelf", path=a["id"])
    client.refused("POST", path, 400, "layout.parent_not_found", ["parent_path"], body={"name": "x", "parent_path": "/Aisle/Shelf"})


def test_lists(client, place):
    path, _ = place
    a = add(client, path, "Aisle", code="A")
    s = add(client, path, "Shelf", path=a["id"])
    add(client, path, "Bin", path=s["id"], metadata={"cold": "yes"})
    assert names(client, path) == ["Default", "Aisle"]
    assert names(client, path, "?path=" + a["id"]) == ["Shelf"]
    assert names(client, path, "?path=null") == ["Default", "Aisle"]
    assert sorted(names(client, path, "?path=all")) == ["Aisle", "Bin", "Default", "Shelf"]
    assert names(client, path, "?search=bin") == ["Bin"]
    assert sorted(names(client, path, "?search=aisle")) == ["Aisle", "Bin", "Shelf"]
    assert names(client, path, "?path=all&metadata=cold:yes") == ["Bin"]
    assert names(client, path, "?path=all&name=shelf") == ["Shelf"] and names(client, path, "?code=a") == ["Aisle"]
    assert names(client, path, "?path=all&order_by=name&direction=desc") == ["Shelf", "Default", "Bin", "Aisle"]
    assert client.get(path).pagination["limit"] == 1000
    tree = client.get(path + "/tree").data
    assert [t["name"] for t in tree] == ["Default", "Aisle"]
    assert tree[1] == {"id": a["id"], "name": "Aisle", "code": "A", "children": [
        {"id": s["id"], "name": "Shelf", "code": None, "children": [
            {"id": client.get(path + "?search=bin").ids[0], "name": "Bin", "code": None, "children": []}]}]}


def test_positions(client, place):
    path, _ = place
    for n in ("a", "b", "c"):
        add(client, path, n)
    assert names(client, path) == ["Default", "a", "b", "c"]
    c = client.get(path).data[3]
    client.post(f"{path}/{c['id']}", {"position": 0}, expect=200)
    add(client, path, "d")
    assert names(client, path)[-1] == "d"
    assert set(names(client, path)[:2]) == {"Default", "c"}


def test_checksum_changes_with_its_parts_only(client, place):
    path, _ = place
    a, b = add(client, path, "A"), add(client, path, "B", metadata={"yy": "2", "x": "1"})  # stored in another order
    member = f"{path}/{b['id']}"
    seen = {b["checksum"]}
    assert client.post(member, {"metadata": {"x": "1", "yy": "2"}}, expect=200).data["checksum"] == b["checksum"]
    for change in ({"name": "B2"}, {"code": "Q"}, {"path": a["id"]}, {"position": 77}, {"metadata": {"x": "9"}}):
        c = client.post(member, change, expect=200).data["checksum"]
        assert c not in seen
        seen.add(c)
    back = {"name": "B", "code": None, "path": None, "position": b["position"], "metadata": {"x": "1"}}
    assert client.post(member, back, expect=200).data["checksum"] == b["checksum"]
    client.post(f"{path}/{a['id']}", {"name": "A2"}, expect=200)
    assert client.get(member).data["checksum"] == b["checksum"]


def test_moving(client, place):
    path, _ = place
    a, b = add(client, path, "A"), add(client, path, "B")
    c = add(client, path, "C", path=a["id"])
    d = add(client, path, "D", path=c["id"])
    client.refused("POST", f"{path}/{a['id']}", 400, "layout.cycle", ["path"], body={"path": a["id"]})
    client.refused("POST", f"{path}/{a['id']}", 400, "layout.cycle", ["path"], body={"path": d["id"]})
    moved = client.post(f"{path}/{c['id']}", {"path": b["id"]}, expect=200).data
    assert moved["nested_name"] == "B / C" and moved["root_id"] == b["id"] and moved["depth"] == 2
    below = client.get(f"{path}/{d['id']}").data
    assert below["nested_name"] == "B / C / D" and below["root_id"] == b["id"] and below["depth"] == 3
    assert below["updated_at"] == d["updated_at"]
    client.post(f"{path}/{b['id']}", {"name": "Bee"}, expect=200)
    assert client.get(f"{path}/{d['id']}").data["nested_name"] == "Bee / C / D"
    up = client.post(f"{path}/{c['id']}", {"path": None}, expect=200).data
    assert up["path"] is None and up["depth"] == 1 and client.get(f"{path}/{d['id']}").data["nested_name"] == "C / D"


def test_depth(client, place):
    path, _ = place
    parent = None
    chain = []
    for i in range(10):
        parent = add(client, path, f"L{i}", **({"path": parent} if parent else {}))["id"]
        chain.append(parent)
    client.refused("POST", path, 400, "layout.too_deep", ["path"], body={"name": "x", "path": parent})
    top = add(client, path, "Top")
    client.refused("POST", f"{path}/{chain[0]}", 400, "layout.too_deep", ["path"], body={"path": top["id"]})
    client.post(f"{path}/{chain[1]}", {"path": top["id"]}, expect=200)


def test_upsert_arrays(client, place):
    path, _ = place
    a = client.post(path, [{"name": "Bin", "path": "lay_u_shelf"}, {"id": "lay_u_aisle", "name": "Aisle", "code": "U1"},
                           {"id": "lay_u_shelf", "name": "Shelf", "parent_id": "lay_u_aisle"}], expect=201)
    assert [r["name"] for r in a.data] == ["Bin", "Aisle", "Shelf"]
    assert a.data[0]["nested_name"] == "Aisle / Shelf / Bin" and len({r["created_at"] for r in a.data}) == 1
    b = client.post(path, {"layouts": [{"id": "lay_u_aisle", "name": "Aisle 2"}, {"id": "lay_u_shelf", "code": "S"}]}, expect=200)
    assert [r["name"] for r in b.data] == ["Aisle 2", "Shelf"]
    assert len({r["updated_at"] for r in b.data}) == 1
    c = client.post(path, {"layouts": [{"name": "Under", "parent_path": "/Fresh/Sub"}, {"name": "Sub", "parent_path": "/Fresh"}, {"name": "Fresh"}]}, expect=201)
    assert c.data[0]["nested_name"] == "Fresh / Sub / Under"


def test_upsert_is_all_or_nothing(client, place):
    path, _ = place
    client.refused("POST", path, 400, "layout.parent_not_found", ["2.path"],
                   body=[{"name": "a"}, {"name": "b"}, {"name": "c", "path": "lay_missing"}])
    client.refused("POST", path, 400, "validation.failed", ["layouts.1.name"], body={"layouts": [{"name": "a"}, {"name": ""}]})
    client.refused("POST", path, 400, "layout.cycle", ["0.path", "1.path"],
                   body=[{"id": "lay_c1", "name": "a", "path": "lay_c2"}, {"id": "lay_c2", "name": "b", "path": "lay_c1"}])
    client.refused("POST", path, 400, "validation.failed", ["1.id"], body=[{"id": "lay_d", "name": "a"}, {"id": "lay_d", "name": "b"}])
    client.refused("POST", path, 400, "validation.failed", ["1"], body=[{"name": "a"}, 5])
    client.refused("POST", path, 400, "layout.too_many", body=[{"name": str(i)} for i in range(401)])
    client.refused("POST", path, 400, "validation.failed", body=[])
    assert names(client, path, "?path=all") == ["Default"]


def test_each_bad_layout_of_an_array_is_told(client, place):
    """As in batches; whatever is wrong with one of them, nothing is kept."""
    path, _ = place
    elsewhere = f"/v1/locations/{make_location(client)['id']}/layouts"
    client.post(elsewhere, {"id": "lay_told_else", "name": "Else"}, expect=201)
    client.post(path, {"id": "lay_told_1", "name": "One", "code": "C1"}, expect=201)
    bad = [{"name": "x" * 200}, {"name": "Good"}, {"name": "A", "path": "lay_nowhere"}, {"id": "lay_told_else", "name": "2"}, {"id": "lay_told_c1", "name": "C", "path": "lay_told_c2"},
           {"id": "lay_told_c2", "name": "C", "path": "lay_told_c1"}, "text", {"name": "Same code", "code": "C1"}, {"id": "lay_told_t", "name": "T"}, {"id": "lay_told_t", "name": "T"},
           {"name": "Child of the first", "path": "lay_told_t"}, {"name": "", "path": "lay_told_t"}, {"name": "Nobody's", "parent_path": "/No/Such"}, {"id": "lay_told_1", "code": "x" * 65}]
    wrong = {"validation.failed": ["0.name", "11.name", "13.code", "6", "9.id"], "others": ["12.parent_path", "2.path", "3.id", "4.path", "5.path", "7.code"]}
    for body, base in ((bad, ""), ({"layouts": bad}, "layouts.")):
        r = client.request("POST", path, body=body)
        assert (r.status, r.code, sorted(r.errors)) == (400, "validation.failed", [base + w for w in sorted(wrong["validation.failed"])])
        r = client.request("POST", path, body=body, headers={"Accept": "application/problem+json"}).raw.json()
        assert sorted(v["path"] for v in r["violations"]) == sorted(base + w for w in sum(wrong.values(), [])), r
    assert names(client, path, "?path=all") == ["Default", "One"]
    client.refused("POST", path, 409, "layout.exists", ["1.code"], body=[{"name": "Fine"}, {"name": "Again", "code": "C1"}, {"name": "Fine too"}])
    client.refused("POST", "/v1/locations/loc_0000000000000000000000/layouts", 400, "validation.failed", ["1"], body=[{"name": "a"}, 5])
    client.refused("POST", "/v1/locations/loc_0000000000000000000000/layouts", 404, "not_found", body=[{"name": "a"}])
    assert names(client, path, "?path=all") == ["Default", "One"]
    assert len(client.post(path, [b for i, b in enumerate(bad) if i in (1, 8, 10)], expect=201).data) == 3


def test_upsert_400(client, place):
    path, _ = place
    a = client.post(path, [{"id": f"lay_m{i}", "name": f"n{i}", **({"path": f"lay_m{i // 10}"} if i >= 10 else {})} for i in range(400)], expect=201)
    assert len(a.data) == 400 and a.data[399]["nested_name"] == "n3 / n39 / n399"


def test_edge_case_2_children_first_and_once_more(client, org, place):
    path, _ = place
    layouts = [{"id": f"lay_r{i}", "name": f"n{i}", "code": f"r{i}", **({"path": f"lay_r{i // 10}"} if i >= 10 else {})} for i in range(400)][::-1]
    first = client.post(path, layouts, expect=201).data
    assert [x["id"] for x in first] == [x["id"] for x in layouts] and first[0]["nested_name"] == "n3 / n39 / n399"
    events = {x["id"]: org.events(x["id"]) for x in layouts[::40]}
    again = client.post(path, layouts, expect=200).data
    assert [(x["id"], x["checksum"], x["updated_at"]) for x in again] == [(x["id"], x["checksum"], x["updated_at"]) for x in first]
    assert {i: org.events(i) for i in events} == events


def test_swap_inside_one_call(client, place):
    path, _ = place
    client.post(path, [{"id": "lay_x1", "name": "x"}, {"id": "lay_y1", "name": "y", "path": "lay_x1"}], expect=201)
    a = client.post(path, [{"id": "lay_x1", "path": "lay_y1"}, {"id": "lay_y1", "path": None}], expect=200)
    assert a.data[0]["nested_name"] == "y / x" and a.data[1]["nested_name"] == "y"


def test_subtree_delete(org, client, place):
    path, default = place
    client.post(path, [{"id": "lay_s1", "name": "1"}, {"id": "lay_s2", "name": "2", "path": "lay_s1"}, {"id": "lay_s3", "name": "3", "path": "lay_s2"}], expect=201)
    client.refused("DELETE", path + "/lay_s1?move_to=lay_s3", 400, "param.invalid", ["move_to"])
    client.refused("DELETE", path + "/lay_s1?move_to=lay_nope", 400, "param.invalid", ["move_to"])
    gone = client.delete(path + "/lay_s1?move_to=" + default)
    assert gone.data == {"id": "lay_s1", "object": "layout", "deleted": True}
    assert names(client, path, "?path=all") == ["Default"]
    events = org.events("lay_s1", "layout.deleted")
    assert len(events) == 1 and events[0][1]["deleted_ids"] == ["lay_s1", "lay_s2", "lay_s3"] and events[0][1]["id"] == "lay_s1"
    assert [c[0] for c in org.changes("lay_s1")] == ["created", "deleted"]


def test_locked(client, place):
    path, _ = place
    a = add(client, path, "A")
    location = path.split("/")[3]
    client.post("/v1/locations/" + location, {"settings": {"layouts": {"locked": True}}}, expect=200)
    client.refused("POST", path, 403, "layout.locked", body={"name": "x"})
    client.refused("POST", path, 403, "layout.locked", body=[{"name": "x"}])
    client.refused("POST", f"{path}/{a['id']}", 403, "layout.locked", body={"name": "x"})
    client.refused("DELETE", f"{path}/{a['id']}", 403, "layout.locked")
    client.get(path)


def test_locked_for_all_locations(fresh):
    client = fresh.client()
    path = f"/v1/locations/{make_location(client)['id']}/layouts"
    a = add(client, path, "A")
    client.post("/v1/org", {"settings": {"layouts": {"locked": True}}}, expect=200)
    client.refused("POST", path, 403, "layout.locked", body={"name": "x"})
    client.refused("POST", f"{path}/{a['id']}", 403, "layout.locked", body={"name": "x"})
    client.refused("DELETE", f"{path}/{a['id']}", 403, "layout.locked")
    client.post("/v1/org", {"settings": {"layouts": {"locked": False}}}, expect=200)
    add(client, path, "B")


def test_a_thousand_below_one_parent(client, place, server):
    path, _ = place
    parent, other = add(client, path, "Full"), add(client, path, "Other")
    child = add(client, path, "First", path=parent["id"])
    columns = [c[0] for c in server.sql("SELECT column_name FROM information_schema.columns WHERE table_schema = 'locations' AND table_name = 'layout' AND is_generated = 'NEVER'")]
    shown = ", ".join("'lay_fill' || n || right(id, 6)" if c == "id" else f'"{c}"' for c in columns)
    server.sql(f"INSERT INTO locations.layout ({', '.join(columns)}) SELECT {shown} FROM locations.layout, generate_series(1, 999) n WHERE id = %s", child["id"])
    client.refused("POST", path, 400, "layout.too_many", ["path"], body={"name": "x", "path": parent["id"]})
    client.refused("POST", f"{path}/{other['id']}", 400, "layout.too_many", ["path"], body={"path": parent["id"]})
    client.refused("POST", path, 400, "layout.too_many", body=[{"name": "x", "path": parent["id"]}])
    client.post(f"{path}/{child['id']}", {"name": "Renamed"}, expect=200)
    client.delete(f"{path}/{child['id']}")
    add(client, path, "Fits", path=parent["id"])
    assert len(client.get(f"{path}?path={parent['id']}").data) == 1000
    client.refused("GET", f"{path}?limit=1001", 400, "param.invalid", ["limit"])


def test_parents_of_the_collection(fresh):
    owner = fresh.client()
    a, b = make_location(owner, "A"), make_location(owner, "B")
    c = fresh.client(locations=[a["id"]])
    base = "/v1/locations/%s/layouts"
    c.get(base % a["id"])
    for path in (base % b["id"], base % b["id"] + "/" + b["default_layout_id"], base % b["id"] + "/tree"):
        c.refused("GET", path, 403, "location_access", [b["id"]])
    c.refused("POST", base % b["id"], 403, "location_access", [b["id"]], body={"name": "x"})
    missing = "loc_0000000000000000000000"
    c.refused("GET", base % missing, 404, "not_found", [missing])
    c.refused("GET", base % missing + "/tree", 404, "not_found", [missing])
    c.refused("POST", base % missing, 404, "not_found", [missing], body={"name": "x"})
    fresh.client("locations:read").refused("POST", base % a["id"], 403, "scope_access", ["locations:write"], body={"name": "x"})


def test_events_and_counts(org, client, place):
    path, _ = place
    a = add(client, path, "A")
    client.post(f"{path}/{a['id']}", {"name": "A2"}, expect=200)
    assert [e[0] for e in org.events(a["id"])] == ["layout.created", "layout.updated"]
    assert client.get("/v1/locations/" + path.split("/")[3]).data["layouts_count"] == 2
    assert org.changes(a["id"])[0][6] == path.split("/")[3]
