"""What a list parameter of a rule says of the rows (locations of a user, of a group, trackers of a shipment) means the same in a batch and in an export; one
that says how rows are shown is refused there (docs/spec/01-platform.md sections 11.3 and 15)."""
import time

import pytest
import requests

from resources import DEFINITIONS, World, x

from wharf import WAIT, until


@pytest.fixture(scope="module")
def world(server):
    return World(server)


def chosen(world, resource):
    """Values of the parameters with restricts: each chooses some of the rows that are there."""
    if resource == "location":
        group = world.all.post("/v1/groups", {"name": f"Group {time.time_ns()}", "resource": "location"}, expect=201).data["id"]
        world.all.post(f"/v1/locations/{world.places[0]}", {"groups": {"add": [group]}}, expect=200)
        user = world.make("user", allow_all_locations=False, locations=[world.places[1]])["id"]
        return {"group_id": group, "group": group, "user_id": user, "user": user}
    rows = [world.make(resource) for _ in range(3)]
    return {"shipment_id": rows[1]["current_shipment_id"]}


RESTRICTED = {r: [p["name"] for p in x(r)["params"] if isinstance(p, dict) and p.get("restricts")] for r in DEFINITIONS if "params" in x(r)}
CASES = [(r, n) for r, names in RESTRICTED.items() for n in names if "merge" in x(r).get("batch", {}).get("filters", [])]
OTHERS = [(r, p if isinstance(p, str) else p["name"]) for r in DEFINITIONS if "merge" in x(r).get("batch", {}).get("filters", []) for p in x(r).get("params", []) if isinstance(p, str) or not p.get("restricts")]


@pytest.mark.parametrize("resource,name", CASES)
def test_a_batch_and_an_export_take_the_rows_of_the_list(world, server, resource, name):
    asked = {name: chosen(world, resource)[name]}
    path = x(resource)["collection"]
    listed = sorted(world.all.get(f"{path}?{name}={asked[name]}&limit=all", expect=200).ids)
    assert listed and len(listed) < len(world.all.get(f"{path}?limit=all", expect=200).data)
    mark = str(time.time_ns())
    made = world.all.post("/v1/batches", {"resource": resource, "action": "merge", "data": [], "filters": asked, "properties": {"metadata": {"mark": mark}}}, expect=202).data["id"]
    until(lambda: world.all.get(f"/v1/batches/{made}").data["status"] == "completed")
    assert sorted(world.all.get(f"{path}?metadata=mark:{mark}&limit=all", expect=200).ids) == listed
    made = world.all.post("/v1/exports", {"resource": resource, "options": asked, "formats": ["json"]}, expect=201).data["id"]
    until(lambda: world.all.get(f"/v1/exports/{made}").data["status"] == "completed")
    rows = requests.get(server.base + world.all.get(f"/v1/exports/{made}?include_json=true").data["_json_url"], timeout=WAIT).json()
    assert sorted(row["id"] for row in rows) == listed


@pytest.mark.parametrize("resource,name", OTHERS)
def test_a_batch_refuses_what_says_nothing_of_the_rows(world, resource, name):
    words = next((p.get("enum", ["true"]) for p in x(resource)["params"] if isinstance(p, dict) and p["name"] == name), ["true"])
    r = world.all.post("/v1/batches", {"resource": resource, "action": "merge", "data": [], "filters": {name: words[0]}, "properties": {"metadata": {}}}, expect=400)
    assert r.errors == [f"filters.{name}"]
