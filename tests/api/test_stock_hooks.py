"""The hooks that come with the product (lua-hooks/), as they are."""
import json

import pytest

from documents import b64, pdf
from wharf import ROOT, Server, address, make_location, make_station, printer

JOBS = "/v1/cloud-printing/jobs"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,contacts,parcels,stations", "--set", f"lua_hooks.dir={ROOT / 'lua-hooks'}", "--set", "workers=1")
    yield s
    s.stop()


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
