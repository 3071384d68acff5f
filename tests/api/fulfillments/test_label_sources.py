"""Labels that come from a carrier's host when an order is printed: spec 03 section 6.8, fetched by the rules of 04 section 7."""
import time

import pytest

from orders import ORDERS, entry, make_item, refused
from outside import Host
from test_ship_and_return import PAPER, SHIPS, WHERE, packed, ship
from wharf import Server


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    class World:
        pass

    w = World()
    w.web = Host(tmp_path_factory.mktemp("ca"), "labels.example.test", {"/500": lambda h: h.answer(500, b"no"), "/never": lambda h: time.sleep(14)})
    w.server = Server("--modules", "org,locations,reasons,contacts,carriers,shipments,parcels,items,assets,stations,events,fulfillments", *w.web.settings)
    w.client = w.server.organization().client()
    yield w
    w.server.stop()
    w.web.shutdown()


@pytest.mark.parametrize("path, status, code", [("/500", 502, "file.download"), ("/never", 408, "file.timeout_error")])
def test_a_host_that_does_not_give_the_label(world, path, status, code):
    """Nothing is printed, so the order can be printed again."""
    c = world.client
    here = c.post("/v1/locations", {"name": "Dock", "address": WHERE, "email": "dock@example.com", "settings": {"cloud_printing": {"enabled": True}}}, expect=201).data
    c.post("/v1/cloud-printing/stations", {"name": path[1:], "display_name": "Desk", "device_token": path, "location_id": here["id"],
                                           "printers": [{"name": "Zebra", "model": "ZD", "configuration": {"dpi": "300", "type": "laser"}, "page_size": {"letter": True, "a4": True}}]}, expect=201)
    row = packed(c, here, make_item(c, path, sku=None, levels=[entry(here, available_qty=10)]), 1)
    c.post(f"{SHIPS}/{ship(c, row)['id']}", {"label_url": world.web.url(path)}, expect=200)
    refused(c, row, status, code, None, "/print", label=PAPER, documents=["label"])
    assert c.get(f"/v1/cloud-printing/jobs?location_id={here['id']}").data == []
    assert c.get(f"{ORDERS}/{row['id']}").data["status"] == "packed"
