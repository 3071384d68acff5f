"""Hooks of workflows on print jobs (spec 08 section 3): the data is not in what they see, and stays; jobs are routed by the template of the tool."""
import subprocess

import pytest

from documents import b64, pdf
from test_workflow_events import FLOWS, over
from wharf import PROGRAM, WAIT, Server, address, make_location, make_station, printer

JOBS = "/v1/cloud-printing/jobs"
MiB = 1 << 20


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,events,webhooks,workflows,parcels,stations")
    yield s
    s.stop()


@pytest.fixture
def org(server):
    return server.organization()


def hook(client, code, name="Rule", phase="before", action="create", expect=201, **more):
    body = {"name": name, "source": f"return {{{phase} = function(change, ctx) {code} end}}", "triggers": [{"type": "hook", "resource": "print_job", "action": action, "phase": phase}], **more}
    row = client.post(FLOWS, body, expect=expect).data
    if expect == 201:
        client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
        return row["id"]


def document(client, job):
    return client.http.get(f"{client.server.base}{JOBS}/{job['id']}/document", headers={"SVC-API-KEY": client.key}).content


def test_what_is_printed_is_not_shown_and_stays(org):
    client = org.client()
    here = make_location(client, "Here")["id"]
    make_station(client, here, "S", printers=[printer()])
    seen = hook(client, "return {change.input.name, change.input.data == nil, change.without}", "Seen", "after")
    hook(client, "if change.input.name == 'none' then wharf.reject('no', #change.without .. change.without[1]) end change.input.metadata = {seen = tostring(change.input.data)} change.input.priority = 90")
    page = pdf()
    job = client.post(JOBS, {"name": "Label", "data": b64(page), "location_id": here}, expect=201).data
    assert (job["priority"], job["metadata"]) == (90, {"seen": "nil"}) and document(client, job) == page
    run, = over(client, seen)
    assert run["output"] == {"value": ["Label", True, ["data"]]} and "data" not in run["input"]["value"]["input"]
    assert client.refused("POST", JOBS, 400, "workflow.rejected", body={"name": "none", "data": b64(page), "location_id": here}).body["message"] == "1data"
    make_station(client, here, "Z", printers=[printer("Zpl", languages=["zpl"])])
    label = b"^XA^FX" + b"x" * (12 * MiB) + b"^XZ"  # more than all that a hook may have
    large = client.post(JOBS, {"name": "Large", "data": b64(label), "raw": True, "configuration": {"paper_size": "label_4x6"}, "location_id": here}, expect=201).data
    assert large["priority"] == 90 and document(client, large) == label


def test_a_hook_may_say_what_is_printed_instead(org):
    client = org.client()
    here = make_location(client, "Here")["id"]
    make_station(client, here, "S", printers=[printer()])
    other = pdf(pages=2)
    hook(client, f"if change.input.name == 'swap' then change.input.data = '{b64(other)}' end")
    job = client.post(JOBS, {"name": "swap", "data": b64(pdf()), "location_id": here}, expect=201).data
    assert document(client, job) == other
    again = client.post(f"{JOBS}/{job['id']}/reprint", {}, expect=201).data  # has no data, and is shown none
    assert document(client, again) == other


def test_only_the_making_of_jobs_takes_hooks(org):
    """What becomes of them is told by events: a rule must not hold up a station that reports."""
    client = org.client()
    for action in ("update", "delete"):
        hook(client, "return 1", action=action, expect=400)
    r = client.refused("POST", FLOWS, 400, "workflow.trigger_invalid", ["triggers.0"], body={"name": "U", "source": "return {after = function() end}", "triggers": [{"type": "hook", "resource": "print_job", "action": "update", "phase": "after"}]})
    assert r.body["message"] == "There are no hooks on print_job:update; there are on create"
    row = client.post(FLOWS, {"name": "C", "source": "return {before = function() end}", "triggers": [{"type": "hook", "resource": "print_job", "action": "create", "phase": "before"}]}, expect=201).data
    org.client("workflow:write,print_jobs:read").refused("POST", f"{FLOWS}/{row['id']}/publish", 403, "scope_access", body={})


def test_labels_come_out_as_near_as_somebody_prints(server, org, tmp_path):
    """The template, from an empty folder to the printer."""
    client, n = org.client(), iter("ABCDEFGH")

    def place(prints=True, **where):
        name = next(n)
        id = client.post("/v1/locations", {"name": name, "address": address(**where)}, expect=201).data["id"]
        if prints:
            make_station(client, id, f"S{name}", printers=[printer()])
        return id

    def label(location, **more):
        parcel = client.post("/v1/parcels", {"name": "Box", "location_id": location}, expect=201).data["id"]
        return client.post(JOBS, {"data": b64(pdf()), "resource": {"type": "parcel", "id": parcel}, **more}, expect=201).data["location_id"]

    env = {"PATH": "/usr/bin", "WHARF_SERVER": server.base, "WHARF_KEY": org.key("all")}
    for args in (("init", tmp_path / "f", "--template", "nearest-printer"), ("push", tmp_path / "f"), ("publish", tmp_path / "f")):
        r = subprocess.run([PROGRAM, "lua", *map(str, args)], env=env, capture_output=True, text=True, timeout=WAIT, check=False)
        assert r.returncode == 0, r.stderr
    here = place(prints=False, city="Berlin", state="BE", postal_code="10115", country_code="DE")
    far, near, own = place(city="Munich", state="BY", postal_code="80331", country_code="DE"), place(city="Berlin", state="BE", postal_code="10999", country_code="DE"), place(city="Rome", country_code="IT")
    assert label(own) == own and label(here) == label(here, printer_id=None, location_id=None) == near and label(here, location_id=here) == near and label(here, location_id=far) == far
    server.sql("UPDATE stations.printer SET status = 'offline' WHERE station_id IN (SELECT id FROM stations.print_station WHERE location_id = %s)", near)
    assert label(here) == far
