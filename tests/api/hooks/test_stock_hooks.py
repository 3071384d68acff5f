"""The hooks that come with the product (lua-hooks/), as they are."""
import datetime
import json
import os
import pathlib
import shutil
import tempfile
import time

import pytest

from documents import b64, pdf
from receivers import Receivers, status
from wharf import ROOT, Client, Server, address, make_location, make_station, printer, until

JOBS = "/v1/cloud-printing/jobs"


PROBE = """
local base = %r
wharf.hook.on_event("location.created", function(ev)
  if ev.data.name ~= "Probe" then return end
  local one, err = wharf.http.get("http://10.1.2.3/", {timeout_ms = 500})
  local all = wharf.http.all { {url = base .. "/echo", method = "PUT", body = "a\\0b", headers = {["X-Mine"] = "1"}}, {url = base .. "/gone"}, {url = "http://no-such-host.invalid/"}, {url = base .. "/slow", timeout_ms = 50} }
  local _, header = pcall(wharf.http.get, base, {headers = {["x-a"] = "1\\r\\nx-b: 2"}})
  local n = 0
  local over = pcall(function() for i = 1, 3 do wharf.http.get(base .. "/count") n = n + 1 end end)
  local _, failed = wharf.api.post("/v1/contacts", { name = "Seen", metadata = { blocked = tostring(one) .. err.code, echo = all[1][1].status .. " " .. #all[1][1].body .. " " .. all[1][1].headers["content-type"],
    gone = tostring(all[2][1].status), dns = all[3][2].code, slow = all[4][2].code, header = header, n = tostring(n) .. tostring(over) } })
  if failed then error(failed.message) end
end)
wharf.hook.before("contact", "update", function(change) wharf.http.get(base) end)
"""


@pytest.fixture(scope="module")
def web():
    w = Receivers()
    yield w
    w.shutdown()


@pytest.fixture(scope="module")
def server(web):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-stock-", dir=os.environ.get("WHARF_TEST_PLACE")))
    os.chmod(folder, 0o755)
    shutil.copytree(ROOT / "lua-hooks", folder, dirs_exist_ok=True)
    (folder / "settings" / "erp.lua").write_text(f"return {{ url = {web.url('/erp')!r}, token = 'abc' }}")
    (folder / "settings" / "waiting.lua").write_text(f"return {{ at = '15 3 * * *', timezone = 'Europe/Berlin', days = 3, url = {web.url('/waiting')!r} }}")
    (folder / "90-probe.lua").write_text(PROBE.replace("%r", repr(web.url(""))))
    s = Server("--modules", "org,locations,contacts,parcels,stations,carriers,reasons,shipments,trackers,containers,events", "--set", f"lua_hooks.dir={folder}", "--set", "workers=1",
               "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true", "--test-clock")
    yield s
    s.stop()
    shutil.rmtree(folder)


def test_as_they_are(client):
    """The folder itself loads, without settings."""
    s = Server("--modules", "org,locations,contacts,parcels,stations", "--set", f"lua_hooks.dir={ROOT / 'lua-hooks'}", "--set", "workers=1")
    try:
        s.organization().client().refused("POST", "/v1/locations", 400, "workflow.rejected", ["code", "custom.location_code"], {"name": "A", "address": address()})
    finally:
        s.stop()


def delivered(client, number):
    id = client.post("/v1/shipments", {"tracking_number": number}, expect=201).data["id"]
    client.post(f"/v1/shipments/{id}", {"tracking_update": {"status": "delivered"}}, expect=200)
    return id


def test_deliveries_are_reported(server, web):
    client = server.organization().client()
    id = delivered(client, "ERP1")
    got = web.wait("/erp", 1)[0]
    said = json.loads(got.body)
    assert said["shipment"] == id and said["tracking_number"] == "ERP1" and said["delivered_at"] and got["authorization"] == "Bearer abc"
    until(lambda: client.get(f"/v1/shipments/{id}").data["metadata"].get("erp") == got["idempotency-key"], "it is not marked")


def test_what_the_erp_can_not_take_now(server, web):
    client, system = server.organization().client(), Client(server, server.demo_key)
    n = len(web.got["/erp"])
    web.answers["/erp"] = [status(503), lambda handler: handler.answer(201, b"")]
    id = delivered(client, "ERP2")
    web.wait("/erp", n + 1)
    until(lambda: server.sql("SELECT 1 FROM wharf.job WHERE queue = 'wharf.lua_hook' AND attempts = 1 AND state = 'delayed'"), "it is not tried again")
    system.post("/v1/system/clock", {"offset_seconds": 60}, expect=200)
    got = web.wait("/erp", n + 2)
    assert got[n]["idempotency-key"] == got[n + 1]["idempotency-key"]
    until(lambda: client.get(f"/v1/shipments/{id}").data["metadata"].get("erp"), "it is not marked")
    web.answers["/erp"] = [status(422)]
    id = delivered(client, "ERP3")
    web.wait("/erp", n + 3)
    until(lambda: "the ERP refused shipment " + id in (server.folder / "wharf.log").read_text(), "the refusal is not in the log")
    until(lambda: not server.sql("SELECT 1 FROM wharf.job WHERE queue = 'wharf.lua_hook'"), "it is tried again")


def test_requests_to_the_outside(server, web):
    client = server.organization().client()
    web.answers["/echo"] = lambda handler: handler.answer(200, handler.sent, **{"Content-Type": "text/mine"})
    web.answers["/gone"] = status(410)
    web.answers["/slow"] = lambda handler: time.sleep(1)
    make_location(client, "Probe", code="PR1")
    until(lambda: [c for c in client.get("/v1/contacts").data if c["name"] == "Seen"], "the hook did not run")
    seen = [c for c in client.get("/v1/contacts").data if c["name"] == "Seen"][0]
    told = client.get(f"/v1/contacts/{seen['id']}").data["metadata"]
    assert told["blocked"] == "nilhttp.blocked" and told["gone"] == "410" and told["dns"] == "http.dns" and told["slow"] == "http.timeout" and told["n"] == "3true", told
    assert told["echo"] == "200 3 text/mine" and web.got["/echo"][0].body == b"a\0b" and web.got["/echo"][0]["x-mine"] == "1", told
    assert "has a name or a value that HTTP does not allow" in told["header"]
    client.refused("POST", f"/v1/contacts/{seen['id']}", 400, "workflow.hook_failed", [], {"name": "New"})
    assert "nobody outside is asked" in (server.folder / "wharf.log").read_text()


def test_locations_have_codes(client):
    said = client.refused("POST", "/v1/locations", 400, "workflow.rejected", ["code", "custom.location_code"], {"name": "A", "address": address()})
    assert said.message == "Give the location a code"
    client.refused("POST", "/v1/locations", 400, "workflow.rejected", ["code", "custom.location_code"], {"name": "A", "address": address(), "code": None})
    id = make_location(client, "A", code="A1")["id"]
    client.refused("POST", f"/v1/locations/{id}", 400, "workflow.rejected", ["code", "custom.location_code"], {"code": None})
    assert client.post(f"/v1/locations/{id}", {"code": "A2"}, expect=200).data["code"] == "A2"
    assert client.post(f"/v1/locations/{id}", {"name": "B"}, expect=200).data["code"] == "A2"


def test_locations_from_before_stay(client, server):
    id = make_location(client, "Old", code="OLD")["id"]
    server.sql("UPDATE locations.location SET code = NULL WHERE id = %s", id)
    assert client.post(f"/v1/locations/{id}", {"name": "Older"}, expect=200).data["name"] == "Older"


class Town:
    """Locations, some with a station; where the job of a parcel goes."""

    def __init__(self, server):
        self.server, self.client, self.n = server, server.organization().client(), 0

    def place(self, prints=True, at=None, **where):
        self.n += 1
        id = self.client.post("/v1/locations", {"name": f"P{self.n}", "code": f"P{self.n}", "address": address(**where)}, expect=201).data["id"]
        if at:
            self.server.sql("UPDATE locations.location SET address = address || %s::jsonb WHERE id = %s", json.dumps({"coordinates": at}), id)
        station = make_station(self.client, id, f"S{self.n}", printers=[printer()]) if prints else None
        return id, station and station["id"]

    def label(self, location, **more):
        parcel = self.client.post("/v1/parcels", {"name": "Box", "location_id": location}, expect=201).data["id"]
        return self.client.post(JOBS, {"data": b64(pdf()), "resource": {"type": "parcel", "id": parcel}, **more}, expect=201).data["location_id"]


def test_a_label_comes_out_where_the_parcel_is(server):
    town = Town(server)
    here, _ = town.place()
    town.place()
    assert town.label(here) == here


def test_or_at_the_nearest_place_that_prints(server):
    town = Town(server)
    here, _ = town.place(prints=False, at=[52.52, 13.40], city="Berlin", state="BE", postal_code="10115", country_code="DE")
    town.place(at=[48.14, 11.58], city="Munich", state="BY", postal_code="80331", country_code="DE")
    near, station = town.place(at=[52.40, 13.06], city="Potsdam", state="BB", postal_code="14467", country_code="DE")
    town.place(prints=False, at=[52.51, 13.41], city="Berlin", state="BE", postal_code="10115", country_code="DE")
    same_city, _ = town.place(city="Berlin", state="BE", postal_code="10999", country_code="DE")  # nobody knows where that is
    assert town.label(here) == near
    server.sql("UPDATE stations.printer SET status = 'offline' WHERE station_id = %s", station)
    assert town.label(here) not in (near, same_city)  # Munich is measured
    server.sql("UPDATE stations.print_station SET status = 'offline' WHERE location_id <> %s", same_city)
    assert town.label(here) == same_city


def test_at_its_own_location_is_no_other_place(server):
    """A client that sends the parcel's location with the job says nothing new by it."""
    town = Town(server)
    here, _ = town.place(prints=False, city="Berlin", state="BE", postal_code="10115", country_code="DE")
    near, _ = town.place(city="Berlin", state="BE", postal_code="10999", country_code="DE")
    assert town.label(here, location_id=here) == town.label(here, location_id=None, printer_id=None, printer_name=None) == near
    job = {"data": b64(pdf()), "location_id": near, "resource": None}  # of no row
    assert town.client.post(JOBS, job, expect=201).data["location_id"] == near


def test_or_waits_at_its_own(server):
    town = Town(server)
    here, _ = town.place()
    server.sql("UPDATE stations.print_station SET status = 'offline' WHERE location_id = %s", here)
    assert town.label(here) == here


def test_by_what_addresses_share(server):
    town = Town(server)
    here, _ = town.place(prints=False, city="Berlin", state="BE", postal_code="10115", country_code="DE")
    town.place(city="Munich", state="BY", postal_code="80331", country_code="DE")
    near, _ = town.place(city="Berlin", state="BE", postal_code="10999", country_code="DE")
    town.place(city="Vienna", state="W", postal_code="1010", country_code="AT")
    assert town.label(here) == near


def test_what_is_said_stands_and_others_are_left_alone(server):
    town = Town(server)
    here, _ = town.place()
    there, _ = town.place()
    assert town.label(here, location_id=there) == there
    nowhere, _ = Town(server).place(prints=False)
    assert nowhere
    town.client.refused("POST", JOBS, 400, "validation.failed", None, {"data": b64(pdf()), "resource": {"type": "note", "id": "x"}})


def test_parcels_that_wait(server, web):
    """A schedule: 3:15 in Berlin, once for each organization; a time that nothing looked at for a minute is missed."""
    orgs = [server.organization() for _ in range(3)]
    system = Client(server, server.demo_key)
    for i, org in enumerate(orgs[:2]):
        client = org.client()
        place = make_location(client, "Dock", code=f"D{i}")["id"]
        old, new = (client.post("/v1/parcels", {"name": name, "location_id": place}, expect=201).data["id"] for name in ("Old", "New"))
        server.sql("UPDATE parcels.parcel SET created_at = '2031-01-07 02:14+00' WHERE id = %s", old)
        server.sql("UPDATE parcels.parcel SET created_at = '2031-01-07 02:16+00' WHERE id = %s", new)
        org.expected = (place, old)

    def clock(*moment):
        offset = (datetime.datetime(*moment, tzinfo=datetime.timezone.utc) - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
        system.post("/v1/system/clock", {"offset_seconds": int(offset)}, expect=200)

    def planned(moment):
        return server.sql("SELECT 1 FROM wharf.hook_plan WHERE hook LIKE '40-waiting-parcels.lua schedule%%' AND until_at > %s", moment)

    clock(2031, 1, 10, 2, 13, 30)
    until(lambda: planned("2031-01-10 02:15+00"), "it is not planned")
    assert "/waiting" not in web.got or not web.got["/waiting"]
    clock(2031, 1, 10, 2, 14, 59)

    def heard():
        said = [json.loads(got.body) for got in web.got["/waiting"]]  # other tests' organizations have parcels too
        return {org.id: [s for s in said if s["organization"] == org.id] for org in orgs}

    until(lambda: all(heard()[org.id] for org in orgs[:2]), "the lists do not come")
    for org in orgs[:2]:
        place, old = org.expected
        (told,) = heard()[org.id][0]["locations"]
        assert told["location"] == place and told["n"] == 1 and [p["id"] for p in told["parcels"]] == [old] and heard()[org.id][0]["days"] == 3
    clock(2031, 1, 10, 2, 20)
    until(lambda: planned("2031-01-10 02:21+00"), "nothing plans any more")
    until(lambda: not server.sql("SELECT 1 FROM wharf.job WHERE queue = 'wharf.lua_hook'"), "a hook still waits")
    assert [len(heard()[org.id]) for org in orgs] == [1, 1, 0], "once in the cluster"
    clock(2031, 1, 12, 4)  # a night that nobody looked at
    until(lambda: planned("2031-01-12 04:00+00"), "nothing plans any more")
    assert not server.sql("SELECT 1 FROM wharf.job WHERE queue = 'wharf.lua_hook'") and [len(heard()[org.id]) for org in orgs] == [1, 1, 0]
