"""Containers: spec 02 sections 8 and 11, spec 01 section 3.2."""
import time

import pytest

from test_shipments import SHIPMENTS, number, ship, update
from wharf import make_location, make_user

CONTAINERS = "/v1/containers"


def make(client, **more):
    return client.post(CONTAINERS, more, expect=201).data


def post(client, row, expect=200, **body):
    return client.post(f"{CONTAINERS}/{row['id']}", body, expect=expect).data


def refuse(client, row, answer, code, errors, **body):
    return client.refused("POST", f"{CONTAINERS}/{row['id']}", answer, code, errors, body=body)


def shipment(client, id):
    return client.get(f"{SHIPMENTS}/{id}").data


def ships(client, n):
    return [ship(client)["id"] for _ in range(n)]


def kinds(org, id):
    return [e[0] for e in org.events(id)]


# ---- the row ----

def test_an_empty_body_makes_an_empty_container(client, org):
    row = make(client)
    assert row["object"] == "container" and row["status"] == "created" and row["filters"] == ["outstanding"] and row["tracking_number"].startswith("WHRF-")
    assert row["name"] is None and row["shipments"] == [] and row["shipments_count"] == 0 and [u["status"] for u in row["tracking_updates"]] == ["created"]
    assert kinds(org, row["id"]) == ["container.created"]


def test_tracking_numbers_are_unique(client):
    row = make(client, tracking_number="box 1")
    assert row["tracking_number"] == "BOX1"
    client.refused("POST", CONTAINERS, 409, "container.exists", ["tracking_number"], body={"tracking_number": "Box1"})
    client.delete(f"{CONTAINERS}/{row['id']}")
    make(client, tracking_number="BOX1")


def test_places(client, location):
    layout = client.post(f"/v1/locations/{location['id']}/layouts", {"name": "Dock"}, expect=201).data
    other = make_location(client, "Other")
    client.refused("POST", CONTAINERS, 400, "layout.location_mismatch", ["layout_id"], body={"layout_id": layout["id"]})
    client.refused("POST", CONTAINERS, 400, "layout.location_mismatch", ["layout_id"], body={"layout_id": layout["id"], "location_id": other["id"]})
    row = make(client, layout_id=layout["id"], location_id=location["id"], coordinates=[10.5, -20])
    assert row["coordinates"] == [10.5, -20] and post(client, row, layout_id=None)["layout_id"] is None
    row = post(client, row, layout_id=layout["id"])
    gone = post(client, row, location_id=None)
    assert gone["location_id"] is None and gone["layout_id"] is None
    for bad in ([91, 0], [-90.5, 0], [0, 181], [0, -181], [1], [1, 2, 3]):
        client.refused("POST", CONTAINERS, 400, "validation.failed", ["coordinates"], body={"coordinates": bad})
    client.post("/v1/locations/" + other["id"], {"active": False}, expect=200)
    client.refused("POST", CONTAINERS, 400, "location.inactive", ["location_id"], body={"location_id": other["id"]})


def test_position_updates_leave_few_points(client, server):
    row = make(client)
    older = lambda seconds: server.sql("UPDATE containers.tracking_update SET occurred_at = occurred_at - %s * interval '1 second' WHERE owner_id = %s", seconds, row["id"])  # noqa: E731
    older(15)
    assert len(post(client, row, coordinates=[9, 9])["tracking_updates"]) == 1
    older(16)
    for i in range(5):
        row = post(client, row, coordinates=[i, i])
    assert row["coordinates"] == [4, 4] and [u["coordinates"] for u in row["tracking_updates"]] == [None, [0, 0]]


def test_null_in_an_update_is_what_stands_beside_it(client):
    row = post(client, make(client), status="delivered", comment="Dock 4", tracking_update={"status": None, "comment": None})
    assert row["status"] == "delivered" and row["tracking_updates"][-1]["comment"] == "Dock 4"


# ---- membership ----

def test_adding_and_removing(client, org, location):
    ids = ships(client, 3)
    row = make(client, add=ids[:2], location_id=location["id"], comment={"add": "loaded", "remove": "unloaded"})
    assert sorted(row["shipments"]) == sorted(ids[:2]) and row["shipments_count"] == 2
    one = shipment(client, ids[0])
    assert one["container_id"] == row["id"] and one["location_id"] == location["id"] and one["status"] == "added_to_container"
    line = one["tracking_updates"][-1]
    assert (line["status"], line["comment"], line["source"], line["container_id"], line["location_id"]) == ("added_to_container", "loaded", "container", row["id"], location["id"])
    before = kinds(org, row["id"])
    after = post(client, row, add=[ids[2], ids[0]], remove=[ids[1]], comment="swap")
    assert sorted(after["shipments"]) == sorted([ids[0], ids[2]])
    assert kinds(org, row["id"])[len(before):] == ["container.contents_changed"]
    data = org.events(row["id"], "container.contents_changed")[-1][1]
    assert data["added_shipment_ids"] == [ids[2]] and data["removed_shipment_ids"] == [ids[1]]
    out = shipment(client, ids[1])
    assert out["container_id"] is None and out["status"] == "removed_from_container" and out["tracking_updates"][-1]["comment"] == "swap"
    assert len(shipment(client, ids[0])["tracking_updates"]) == 2
    both = post(client, row, remove=[ids[2]], name="New name")
    assert both["name"] == "New name" and set(kinds(org, row["id"])[-2:]) == {"container.contents_changed", "container.updated"}
    assert client.get(f"{CONTAINERS}/{row['id']}?include_shipments=true").data["shipments"][0]["tracking_number"] == shipment(client, ids[0])["tracking_number"]
    assert client.get(f"{SHIPMENTS}?container_id={row['id']}").ids == [ids[0]]


def test_one_call_removes_adds_and_then_updates(client, org, location):
    """In this order (section 8): who was removed does not get the update, who was added gets it after `added_to_container`; each has its comment."""
    a, b, c = ships(client, 3)
    row = make(client, add=[a, b])
    before = {i: len(shipment(client, i)["tracking_updates"]) for i in (a, b, c)}
    events = {i: len(kinds(org, i)) for i in (row["id"], a, b, c)}
    post(client, row, add=[c], remove=[a], location_id=location["id"], comment={"add": "in", "remove": "out", "update": "rolling"}, tracking_update={"status": "in_transit"})
    new = lambda i: [(u["status"], u["comment"]) for u in shipment(client, i)["tracking_updates"][before[i]:]]  # noqa: E731
    assert new(a) == [("removed_from_container", "out")] and shipment(client, a)["location_id"] is None
    assert new(c) == [("added_to_container", "in"), ("in_transit", "rolling")] and new(b) == [("in_transit", "rolling")]
    assert shipment(client, b)["location_id"] == shipment(client, c)["location_id"] == location["id"]
    assert sorted(kinds(org, row["id"])[events[row["id"]]:]) == ["container.contents_changed", "container.updated"]
    assert [kinds(org, i)[events[i]:] for i in (a, b, c)] == [["shipment.updated"]] * 3


def test_members_of_updates(client, location):
    row = make(client, add=ships(client, 1))
    u = {"status": "in_transit", "vehicle_id": "van-7", "address": "Springfield, IL", "images": ["https://example.com/a.png"]}
    line = post(client, row, tracking_update=u)["tracking_updates"][-1]
    assert (line["vehicle_id"], line["address"], line["images"]) == ("van-7", {"formatted_address": "Springfield, IL"}, u["images"])
    assert post(client, row, tracking_update={"comment": "one", "image": "https://example.com/b.png"})["tracking_updates"][-1]["images"] == ["https://example.com/b.png"]
    refuse(client, row, 400, "validation.failed", ["tracking_update.images"], tracking_update={"status": "delayed", "images": ["ftp://x"]})
    refuse(client, row, 400, "validation.failed", ["tracking_update.status"], tracking_update={})
    moment = {"user_id": make_user(client), "vehicle_id": "v", "estimated_delivery_at": "2030-05-01T10:00:00.000Z"}
    assert {k: v for k, v in post(client, row, **moment).items() if k in moment} == moment
    assert {k: v for k, v in post(client, row, **dict.fromkeys(moment)).items() if k in moment} == dict.fromkeys(moment)


def test_the_newest_hundred_updates_are_shown(client):
    row = make(client)
    for i in range(105):
        row = post(client, row, comment=f"{i:03}")
    assert [u["comment"] for u in row["tracking_updates"]] == [f"{i:03}" for i in range(5, 105)]
    refuse(client, row, 400, "validation.failed", ["tracking_update"], tracking_update=[{"comment": "one at a time"}])


def test_edge_case_10_all_or_nothing(client, org):
    ids = ships(client, 3)
    taken = make(client, add=[ids[1]])
    row = make(client)
    events = {i: kinds(org, i) for i in [row["id"], *ids]}
    refuse(client, row, 409, "container.shipment_assigned", ["add.1"], add=ids)
    assert {i: kinds(org, i) for i in [row["id"], *ids]} == events
    assert shipment(client, ids[0])["container_id"] is None and len(shipment(client, ids[0])["tracking_updates"]) == 1
    assert client.get(f"{CONTAINERS}/{row['id']}").data["shipments"] == [] and client.get(f"{CONTAINERS}/{taken['id']}").data["shipments"] == [ids[1]]


def test_who_may_not_be_added(client, server):
    row = make(client)
    done = ship(client)
    update(client, done, status="delivered")
    refuse(client, row, 409, "container.shipment_completed", ["add.0"], add=[done["id"]])
    refuse(client, row, 404, "not_found", ["ship_0000000000000000000000"], add=["ship_0000000000000000000000"])
    foreign = ship(server.organization().client())
    refuse(client, row, 404, "not_found", [foreign["id"]], add=[foreign["id"]])
    one = ship(client)["id"]
    refuse(client, row, 400, "validation.failed", ["add.0"], add=[one], remove=[one])
    refuse(client, row, 400, "validation.failed", ["add.1"], add=[one, one])
    refuse(client, row, 400, "validation.failed", ["add"], add=[f"ship_{i:022}" for i in range(1001)])


def test_a_thousand_at_most(client, server):
    row, one = make(client), ship(client)
    server.sql("INSERT INTO shipments.shipment (organization_id, id, status, type, currency, container_id, created_at, updated_at) SELECT organization_id, 'ship_fill' || n, 'created', 'inbound', 'usd', %s,"
               " created_at, updated_at FROM shipments.shipment, generate_series(1, 1000) n WHERE id = %s", row["id"], one["id"])
    refuse(client, row, 400, "container.too_many", ["add"], add=[one["id"]])
    got = client.get(f"{CONTAINERS}/{row['id']}").data
    assert got["shipments_count"] == 1000 and len(got["shipments"]) == 1000
    server.sql("DELETE FROM shipments.shipment WHERE id LIKE 'ship_fill%%'")


# ---- status ----

def test_updates_are_copied(client, org, location):
    ids = ships(client, 2)
    row = make(client, add=ids)
    update(client, {"id": ids[1]}, status="delivered")
    n = len(kinds(org, ids[0]))
    after = post(client, row, tracking_update={"status": "in_transit", "comment": "On the road", "location_id": location["id"]})
    assert after["status"] == "in_transit" and after["location_id"] == location["id"] and after["tracking_updates"][-1]["comment"] == "On the road"
    one, two = shipment(client, ids[0]), shipment(client, ids[1])
    assert (one["status"], one["location_id"], one["tracking_updates"][-1]["comment"], one["tracking_updates"][-1]["source"]) == ("in_transit", location["id"], "On the road", "container")
    assert two["status"] == "delivered" and two["location_id"] is None
    assert kinds(org, ids[0])[n:] == ["shipment.updated"] and kinds(org, row["id"])[-1] == "container.updated"
    assert post(client, row, status="delayed")["status"] == "delayed" and shipment(client, ids[0])["status"] == "delayed"
    post(client, row, comment="Still waiting")
    line = shipment(client, ids[0])["tracking_updates"][-1]
    assert (line["status"], line["comment"], line["comment_only"]) == ("delayed", "Still waiting", True)
    moved = make_location(client, "Elsewhere")
    post(client, row, location_id=moved["id"])
    assert shipment(client, ids[0])["location_id"] == moved["id"]
    for bad in ("rates_generated", "flying"):
        refuse(client, row, 400, "validation.failed", ["status"], status=bad)


def test_late_updates_of_a_container(client, location):
    """Spec 03 section 4, rule 4: a line at its place, nothing else; also of what is inside."""
    ids, now = ships(client, 1), int(time.time())
    row = make(client, add=ids)
    post(client, row, tracking_update={"status": "delayed", "occurred_at": now + 7200})
    late = post(client, row, tracking_update={"status": "delivered", "occurred_at": now + 3600, "location_id": location["id"], "coordinates": [1, 2]})
    assert (late["status"], late["filters"], late["location_id"], late["coordinates"]) == ("delayed", ["outstanding", "exception"], None, None)
    assert [u["status"] for u in late["tracking_updates"]] == ["created", "delivered", "delayed"]
    inside = shipment(client, ids[0])
    assert (inside["status"], inside["location_id"], inside["delivered_at"]) == ("delayed", None, None)
    assert [u["status"] for u in inside["tracking_updates"]][-2:] == ["delivered", "delayed"]


def test_an_update_at_another_location_leaves_the_layout(client, location):
    layout, other = client.post(f"/v1/locations/{location['id']}/layouts", {"name": "Left"}, expect=201).data["id"], make_location(client, "Next stop")
    ids = ships(client, 1)
    row = make(client, add=ids, location_id=location["id"], layout_id=layout)
    assert post(client, row, tracking_update={"status": "in_transit", "location_id": location["id"]})["layout_id"] == layout
    assert post(client, row, tracking_update={"status": "delayed", "location_id": other["id"]})["layout_id"] is None
    inside = shipment(client, ids[0])
    assert (inside["location_id"], inside["layout_id"]) == (other["id"], None)
    refuse(client, row, 400, "layout.location_mismatch", ["tracking_update.layout_id"], tracking_update={"status": "in_transit", "layout_id": layout})


def test_a_completed_container_is_closed(client):
    ids = ships(client, 2)
    row = make(client, add=ids[:1])
    done = post(client, row, status="delivered")
    assert done["filters"] == ["completed"] and done["shipments"] == ids[:1] and shipment(client, ids[0])["status"] == "delivered"
    refuse(client, row, 409, "container.completed", ["add"], add=ids[1:])
    refuse(client, row, 409, "container.completed", ["tracking_update.status"], status="in_transit")
    assert post(client, row, status="in_transit", force_update=True)["status"] == "in_transit"
    assert post(client, row, remove=ids[:1])["shipments"] == [] and shipment(client, ids[0])["container_id"] is None and shipment(client, ids[0])["status"] == "delivered"


def test_a_hundred_status_changes(client, server):
    row = make(client)
    server.sql("UPDATE containers.container SET status_changes = 100 WHERE id = %s", row["id"])
    refuse(client, row, 400, "container.status_limit", ["tracking_update.status"], status="in_transit")
    post(client, row, tracking_update={"comment": "a comment is none"})


def test_delete(client, org):
    ids = ships(client, 2)
    row = make(client, add=ids)
    client.delete(f"{CONTAINERS}/{row['id']}")
    for i in ids:
        assert shipment(client, i)["container_id"] is None and shipment(client, i)["status"] == "removed_from_container"
    assert kinds(org, row["id"])[-1] == "container.deleted"
    row = make(client, add=[ids[0]])
    update(client, {"id": ids[0]}, status="canceled")
    client.delete(f"{SHIPMENTS}/{ids[0]}")
    assert client.get(f"{CONTAINERS}/{row['id']}").data["shipments_count"] == 0


# ---- the list: errors as spec 01 section 3.2 says ----

LIST_ERRORS = [
    ("page=0", ["page"]), ("limit=none", ["limit"]), ("limit=0", ["limit"]), ("limit=-1", ["limit"]), ("limit=1001", ["limit"]), ("limit=abc", ["limit"]),
    ("search=" + "x" * 257, ["search"]), ("layout_path=Aisle", ["layout_path"]), ("order_by=name", ["order_by"]), ("direction=up", ["direction"]),
    ("filter=refunded", ["filter"]), ("filter=", ["filter"]), ("search_strategy=some", ["search_strategy"]),
    ("status=nope", [""]), ("statuses=nope", [""]), ("id=x", [""]), ("location_id=x", [""]), ("layout_id=gt:5", [""]), ("updated_at[nope]=1", [""]),
    ("page=0&status=nope", ["page", ""]), ("status=nope&id=x&location_id=y", [""]),
    ("search_strategy=x&filter=y&direction=up&order_by=z&layout_path=a&search=" + "x" * 257 + "&limit=0&page=0&status=q",
     ["page", "limit", "search", "layout_path", "order_by", "direction", "filter", "search_strategy", ""]),
    ("updated_at=soon&page=0", ["page"]), ("metadata=x&limit=none", ["limit"])]


@pytest.mark.parametrize("query,errors", LIST_ERRORS)
def test_list_validation_collects_all_problems(client, query, errors):
    client.refused("GET", f"{CONTAINERS}?{query}", 400, "validation.failed", errors)


@pytest.mark.parametrize("query,errors", [("updated_at=soon", ["updated_at"]), ("updated_at[gte]=2024-01-01", ["updated_at"]), ("metadata=x", ["metadata"]),
                                          ("updated_at=soon&metadata=x", ["updated_at", "metadata"]), ("created_at=soon", ["created_at"])])
def test_bad_dates_and_metadata_are_param_invalid(client, query, errors):
    client.refused("GET", f"{CONTAINERS}?{query}", 400, "param.invalid", errors)


def test_edge_case_9_limit_all(fresh, server):
    client = fresh.client()
    row = make(client, name="needle one", metadata={"seal": "A-77"})
    server.sql("INSERT INTO containers.container (organization_id, id, tracking_number, status, name, created_at, updated_at) SELECT organization_id, 'ctnr_fill' || n, 'FILL' || n, 'created', 'needle',"
               " created_at - n * interval '1 second', updated_at FROM containers.container, generate_series(1, 1000) n WHERE id = %s", row["id"])
    for query in ("limit=all", "limit=all&search=needle"):
        a = client.get(f"{CONTAINERS}?{query}")
        assert len(a.data) == 1000 and a.pagination == {"page": 1, "limit": 1000, "has_more": True}
    assert client.get(f"{CONTAINERS}?limit=all&page=2").ids != [] and client.get(CONTAINERS).pagination["limit"] == 25
    assert client.get(f"{CONTAINERS}?search=one%20nothing").ids == [row["id"]] and client.get(f"{CONTAINERS}?search=one%20nothing&search_strategy=match_all").ids == []
    assert client.get(f"{CONTAINERS}?search=a-77").ids == [row["id"]] and client.get(f"{CONTAINERS}?metadata=seal:A-77").ids == [row["id"]]


def test_list_filters(client, location):
    layout = client.post(f"/v1/locations/{location['id']}/layouts", {"name": "Yard"}, expect=201).data
    row = make(client, location_id=location["id"], layout_id=layout["id"], estimated_delivery_at=int(time.time()))
    post(client, row, status="delayed")
    for query in (f"location_id={location['id']}", f"layout_id={layout['id']}", f"layout_path=/Yard&location_id={location['id']}", f"layout_path={layout['id']}", "status=delayed", "statuses=delayed,in_transit",
                  "filter=exception", f"id={row['id']}", f"tracking_number={row['tracking_number']}"):
        assert row["id"] in client.get(f"{CONTAINERS}?limit=all&{query}").ids, query
    for order in ("created_at", "updated_at", "status", "tracking_number", "estimated_delivery_at"):
        client.get(f"{CONTAINERS}?order_by={order}&direction=asc")
    client.get(CONTAINERS + "?search=x&order_by=_relevance")


def test_rows_without_a_location_are_everybodys(client, org, location):
    """spec 02 section 11, 11"""
    far = make_location(client, "Far")
    free, here, there = make(client), make(client, location_id=location["id"]), make(client, location_id=far["id"])
    near = org.client(locations=[location["id"]])
    seen = set(near.get(CONTAINERS + "?limit=all").ids)
    assert {free["id"], here["id"]} <= seen and there["id"] not in seen
    near.refused("GET", f"{CONTAINERS}?location_id={far['id']}", 403, "location_access", [far["id"]])


def test_edge_case_4_what_stands_in_removed_layouts(client):
    """Containers, and the shipments and trackers at the place, go where the request says; none is lost."""
    place = make_location(client, "Tree")
    path = f"/v1/locations/{place['id']}/layouts"
    a = client.post(path, {"name": "A"}, expect=201).data["id"]
    b, to = (client.post(path, {"name": n, "path": p}, expect=201).data["id"] for n, p in (("B", a), ("To", None)))
    rows = [make(client, location_id=place["id"], layout_id=x) for x in (a, b)]
    shipment = client.post(SHIPMENTS, {"tracking_number": number(), "layout_id": b}, expect=201).data
    tracked = shipment.get("tracker_id")
    if tracked:
        client.post(f"/v1/trackers/{tracked}", {"layout_id": b}, expect=200)
    before = len(client.get(f"{CONTAINERS}?location_id={place['id']}").data)
    client.delete(f"{path}/{b}?move_to={to}")
    assert [client.get(f"{CONTAINERS}/{r['id']}").data["layout_id"] for r in rows] == [a, to] and client.get(f"{SHIPMENTS}/{shipment['id']}").data["layout_id"] == to
    assert not tracked or client.get(f"/v1/trackers/{tracked}").data["layout_id"] == to
    client.delete(f"{path}/{a}")
    assert client.get(f"{CONTAINERS}/{rows[0]['id']}").data["layout_id"] == place["default_layout_id"]
    assert len(client.get(f"{CONTAINERS}?location_id={place['id']}").data) == before


def test_search_scores_and_hits(fresh):
    client = fresh.client()
    a = make(client, name="Café crane", metadata={"yard": "North Gate"})
    b = make(client, name="Crane", tracking_number="CAFE-1")
    make(client, name="Else")
    found = client.get(CONTAINERS + "?search=north%20cafe").data
    assert [r["id"] for r in found] == [a["id"], b["id"]] and found[0]["_search"]["relevance_score"] > found[1]["_search"]["relevance_score"] > 0
    assert found[0]["_search"]["matches"] == [{"field": "name", "value": "Café crane"}, {"field": "metadata", "value": "North Gate"}]
    assert found[1]["_search"]["matches"] == [{"field": "tracking_number", "value": "CAFE-1"}]
    assert client.get(CONTAINERS + "?search=north%20cafe&search_strategy=match_all").ids == [a["id"]]
    assert client.get(CONTAINERS + "?search=north%20cafe&order_by=created_at&direction=asc").ids == [a["id"], b["id"]]
    assert client.get(CONTAINERS + "?search=northgatte").ids == [] and client.get(CONTAINERS + "?search=Northh").ids == [a["id"]]


def test_a_location_in_use(client):
    place = make_location(client, "Held")
    row = make(client, location_id=place["id"], add=ships(client, 1))
    client.refused("DELETE", "/v1/locations/" + place["id"], 409, "location.in_use", ["containers", "shipments"])
    client.delete("/v1/locations/" + place["id"] + "?force=true")
    assert client.get(f"{CONTAINERS}/{row['id']}").data["location_id"] == place["id"]
