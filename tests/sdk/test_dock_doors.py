"""The example plugin, built out of tree against nothing but what `meson install` puts in place, does what docs/reference/plugin-abi.md says."""
import base64
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/api"))
from wharf import BUILD, PROGRAM, Server, make_location  # noqa: E402


@pytest.fixture(scope="session")
def plugin(tmp_path_factory):
    """Path of dock_doors.so, compiled in a folder that holds only a copy of the example."""
    base = tmp_path_factory.mktemp("sdk")
    os.chmod(base, 0o755)
    subprocess.run(["meson", "install", "-C", BUILD, "--destdir", base / "root", "--no-rebuild", "--quiet"], check=True)
    pc = next((base / "root").rglob("wharf-plugin.pc"))
    shutil.copytree(ROOT / "plugin-api/examples/dock_doors", base / "dock_doors")
    env = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
    subprocess.run(["meson", "setup", "build"], cwd=base / "dock_doors", env=env, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", "build"], cwd=base / "dock_doors", env=env, check=True, stdout=subprocess.DEVNULL)
    return base / "dock_doors/build/dock_doors.so"


@pytest.fixture(scope="session")
def server(plugin):
    s = Server("--modules", f"org,locations,batches,{plugin}")
    yield s
    s.stop()


@pytest.fixture
def org(server):
    return server.organization("Doors")


def door(client, location, name="Door 1", **more):
    return client.post("/v1/dock-doors", {"name": name, "location_id": location["id"], **more}, expect=201).data


def test_inspect_runs_no_code_and_shows_the_manifest(plugin):
    out = subprocess.run([PROGRAM, "plugin", "inspect", plugin], capture_output=True, text=True, check=True).stdout
    assert "dock_doors" in out and "1.0.0" in out and "locations.directory" in out


def test_exports_one_symbol_and_imports_none_of_the_server(plugin):
    defined = subprocess.run(["nm", "-D", "--defined-only", plugin], capture_output=True, text=True, check=True).stdout.split()
    assert defined[2::3] == ["wharf_plugin_entry_v1"]
    undefined = subprocess.run(["nm", "-D", "--undefined-only", plugin], capture_output=True, text=True, check=True).stdout
    assert "wharf" not in undefined


def test_five_routes(org):
    client = org.client()
    location = make_location(client)
    row = door(client, location, height_m=4.25, metadata={"side": "north"})
    assert row["object"] == "door" and row["status"] == "open" and row["height_m"] == 4.25 and row["open_appointments"] == 0
    assert client.get(f"/v1/dock-doors/{row['id']}").data == row
    assert client.get("/v1/dock-doors").ids == [row["id"]]
    changed = client.post(f"/v1/dock-doors/{row['id']}", {"notes": "stiff"}, expect=200).data
    assert changed["notes"] == "stiff" and changed["name"] == "Door 1"
    assert client.delete(f"/v1/dock-doors/{row['id']}").data == {"id": row["id"], "object": "door", "deleted": True}
    assert client.get(f"/v1/dock-doors/{row['id']}", expect=404).code == "not_found"
    assert client.get("/v1/dock-doors").data == []


def test_filters_sort_and_search(org):
    client = org.client()
    location = make_location(client)
    a, b, c = (door(client, location, n, open_appointments=k, notes=t) for n, k, t in (("A", 0, "ramp"), ("B", 2, None), ("C", 5, "ramp lift")))
    ids = lambda q: client.get("/v1/dock-doors?" + q).ids  # noqa: E731
    assert ids("open_appointments[gt]=1&order_by=name&direction=asc") == [b["id"], c["id"]]
    assert ids("status=open&name=a") == [a["id"]]
    assert set(ids("search=ramp")) == {a["id"], c["id"]}
    assert ids("order_by=name&direction=desc") == [c["id"], b["id"], a["id"]]
    client.refused("GET", "/v1/dock-doors?status=ajar", 400, "param.invalid", ["status"])


def test_one_rule(org):
    client = org.client()
    location = make_location(client)
    row = door(client, location, open_appointments=3)
    refused = client.refused("POST", f"/v1/dock-doors/{row['id']}", 409, "door.has_appointments", ["status"], body={"status": "closed"})
    assert "3 appointments" in refused.message
    assert client.post(f"/v1/dock-doors/{row['id']}", {"status": "closed", "open_appointments": 0}, expect=200).data["status"] == "closed"


def test_unique_name_by_location(org):
    client = org.client()
    one, two = make_location(client, "One"), make_location(client, "Two")
    door(client, one, "Gate")
    door(client, two, "Gate")
    client.refused("POST", "/v1/dock-doors", 409, "door.exists", ["name"], body={"name": "GATE", "location_id": one["id"]})


def test_location_access(org):
    everywhere = org.client()
    one, two = make_location(everywhere, "One"), make_location(everywhere, "Two")
    mine, other = door(everywhere, one), door(everywhere, two)
    limited = org.client(locations=[one["id"]])
    assert limited.get("/v1/dock-doors").ids == [mine["id"]]
    limited.refused("GET", f"/v1/dock-doors/{other['id']}", 403, "location_access", [two["id"]])
    limited.refused("POST", "/v1/dock-doors", 403, "location_access", [two["id"]], body={"name": "X", "location_id": two["id"]})
    limited.refused("GET", f"/v1/dock-doors?location_id={two['id']}", 403, "location_access", [two["id"]])


def test_scopes(org):
    client = org.client()
    location = make_location(client)
    row = door(client, location)
    reader = org.client(scopes="dock_doors:read")
    assert reader.get(f"/v1/dock-doors/{row['id']}").data["id"] == row["id"]
    reader.refused("DELETE", f"/v1/dock-doors/{row['id']}", 403, "scope_access", ["dock_doors:write"])
    org.client(scopes="locations:write").refused("GET", "/v1/dock-doors", 403, "scope_access", ["dock_doors:read"])


def test_change_log_and_events(org):
    client = org.client()
    location = make_location(client)
    row = door(client, location)
    client.post(f"/v1/dock-doors/{row['id']}", {"notes": "wet"}, expect=200)
    client.post(f"/v1/dock-doors/{row['id']}", {"notes": "wet"}, expect=200)
    client.delete(f"/v1/dock-doors/{row['id']}")
    changes = org.changes(row["id"])
    assert [c[0] for c in changes] == ["created", "updated", "deleted"]
    assert changes[1][1] == [{"field": "notes", "old": None, "new": "wet"}]
    assert [e[0] for e in org.events(row["id"])] == ["dock_doors.door.created", "dock_doors.door.updated", "dock_doors.door.deleted"]
    assert org.events(row["id"], "dock_doors.door.updated")[0][2] == {"notes": None}


def test_openapi_describes_it(server):
    operation = server.openapi["paths"]["/v1/dock-doors"]["get"]
    assert operation["x-scope"] == "dock_doors:read" and operation["x-location-policy"] == "row"
    assert {f["name"]: f["type"] for f in operation["x-filters"]}["open_appointments"] == "number"
    assert server.openapi["components"]["schemas"]["Door"]["properties"]["status"]["enum"] == ["open", "closed", "out_of_service"]


def test_batches_with_no_line_of_code(org, request):
    """A resource that says "batch" in its definition is written by files: 100,000 rows with --long, some thousand else."""
    client = org.client()
    location = make_location(client)["id"]
    n = 100000 if request.config.getoption("--long") else 3000
    text = "Name,location id,Height M,metadata.side\n" + "".join(f"Door {i},{location},{2 + i % 3}.5,{'north' if i % 2 else 'south'}\n" if i % 1000 else f",{location},x,\n" for i in range(n))
    body = {"resource": "door", "action": "merge", "mode": "async", "data": "data:text/csv;base64," + base64.b64encode(text.encode()).decode()}
    began = time.monotonic()
    b = client.post("/v1/batches", body, expect=202).data
    while b["status"] in ("queued", "processing"):
        time.sleep(0.2)
        b = client.get(f"/v1/batches/{b['id']}").data
    print(f"\n{n} doors: {time.monotonic() - began:.1f} s")
    assert (b["status"], b["stats"]["created"], b["stats"]["errors"], b["stats"]["events"]) == ("completed", n - n // 1000, n // 1000, n - n // 1000), b
    assert org.server.sql("SELECT count(*), count(DISTINCT name) FROM dock_doors.door WHERE organization_id = %s", org.id) == [(n - n // 1000,) * 2]
    assert org.server.sql("SELECT count(*), count(DISTINCT resource_id) FROM wharf.event WHERE organization_id = %s AND type = 'dock_doors.door.created'", org.id) == [(n - n // 1000,) * 2]
    wrong = client.get(f"/v1/batches/{b['id']}/items?state=error&limit=1000").data
    assert [(w["index"], w["row"], w["errors"]) for w in wrong] == [(i, i + 2, ["name", "height_m"]) for i in range(0, n, 1000)]
    client.post("/v1/batches", {"resource": "door", "action": "delete", "mode": "sync", "data": [client.get("/v1/dock-doors?limit=1").ids[0]]}, expect=201)
    limited = org.client(locations=[make_location(client)["id"]])
    answer = limited.post("/v1/batches", {"resource": "door", "action": "merge", "mode": "sync", "data": [{"name": "N", "location_id": location}]}, expect=201).data
    assert [e["code"] for e in answer["errors"]] == ["location_access"]
    org.client("batches:write").refused("POST", "/v1/batches", 403, "scope_access", body=body)


def test_its_check_finds_what_the_rule_did_not_see(server, org):
    """Rows that were there before the rule, or were written beside the server."""
    client = org.client()
    location = make_location(client)
    good, bad = door(client, location, "Good"), door(client, location, "Bad")
    assert server.verify("--module", "dock_doors")["dock_doors.closed_doors"]["faults"] == 0
    server.sql("UPDATE dock_doors.door SET status = 'closed', open_appointments = 2 WHERE id = %s", bad["id"])
    server.sql("UPDATE dock_doors.door SET status = 'closed' WHERE id = %s", good["id"])
    check = server.verify("--module", "dock_doors")["dock_doors.closed_doors"]
    assert check["shown"] == [{"organization_id": org.id, "id": bad["id"], "wrong": "is closed, and has 2 open appointments"}]
    assert check["remedy"].startswith("Open the door again") and check["looked_at"] == server.sql("SELECT count(*) FROM dock_doors.door")[0][0]
    client.post(f"/v1/dock-doors/{bad['id']}", {"status": "open"}, expect=200)
    assert server.verify("--module", "dock_doors")["dock_doors.closed_doors"]["faults"] == 0
