"""A delivery of two lots becomes stock, an order that waited for it takes it: received, reserved, picked, packed, a label on paper, handed over, the ledger
right, and a webhook that hears all of it (spec 03 sections 6 and 7)."""
import pytest

import api_folders  # noqa: F401
from documents import b64, pdf
from goods_in import broken as broken_manifests, change_manifest, conserved, manifest, receive
from orders import ORDERS, amounts, broken, get, make_item, movements, order, pack, pick, pick_list, post, stocked
from receivers import Receivers
from rig import Agent, Ippeve, wait_until
from test_print_jobs import JOBS
from wharf import BUILD, Server

WHERE = "742 Evergreen Terrace, Springfield, OR 97477, US"
PROGRAM = BUILD / "station" / "wharf-station"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,reasons,contacts,carriers,shipments,trackers,parcels,items,manifests,fulfillments,stations,events,webhooks,logs", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true")
    yield s
    s.stop()


def test_goods_come_and_go(server, bus):
    org = server.organization()
    client, web = org.client(), Receivers()
    client.post("/v1/org", {"settings": {"shipments": {"private_rates": [{"service_level_id": "van", "name": "Van", "amount": 500}]}}}, expect=200)
    dock = client.post("/v1/locations", {"name": "Dock", "address": WHERE, "email": "dock@example.com", "settings": {"cloud_printing": {"enabled": True}}}, expect=201).data
    client.post("/v1/webhooks", {"name": "Story", "url": web.url("/story"), "events": ["manifest.*", "receipt.*", "fulfillment.*", "shipment.*", "parcel.created"], "max_concurrency": 1}, expect=201)
    printer = Ippeve(bus)
    agent = Agent(PROGRAM, server, client, dock, {"Zebra": printer}, "Desk")
    agent.start()
    try:
        milk = make_item(client, "Milk", sku="MILK", lot_tracking="required")
        row = order(client, dock, (milk, 7), recipient={"name": "Bob", "email": "bob@example.com", "address": WHERE})
        assert amounts(row, "reserved", "backordered") == [(0, 7)]
        coming = manifest(client, dock, {"sku": "MILK", "packed_qty": 5, "lot_number": "A", "expires_at": "2040-01-01T00:00:00Z"}, {"sku": "MILK", "packed_qty": 5, "lot_number": "B", "expires_at": "2039-01-01T00:00:00Z"})
        receive(client, coming, code="MILK", lot_number="A", received_qty=5)
        assert amounts(get(client, row), "reserved", "backordered") == [(5, 2)] and stocked(client, milk) == (0, 5)
        receive(client, coming, code="MILK", lot_number="B", received_qty=5)
        assert amounts(get(client, row), "reserved", "backordered") == [(7, 0)] and stocked(client, milk) == (3, 7)
        change_manifest(client, coming, status="completed")
        for step in pick_list(client, row):
            pick(client, row, code="MILK", lot_number=step["lot_number"], quantity=step["quantity"])
        pack(client, row, all=True, parcel={"length": 4, "width": 4, "height": 4, "weight": 3})
        post(client, row, status="packed")
        s = client.post("/v1/shipments", {"fulfillment_id": row["id"], "options": {"purchase": "recommended"}}, expect=201).data
        client.post(f"/v1/shipments/{s['id']}", {"label_url": "data:application/pdf;base64," + b64(pdf())}, expect=200)
        jobs = client.post(f"{ORDERS}/{row['id']}/print", {"documents": ["label", "packing_slip"], "configuration": {"paper_size": "label_4x6"}}, expect=201).data["jobs"]
        for job in jobs:
            assert wait_until(lambda: (lambda d: d if d["status"] not in ("queued", "processing") else None)(client.get(f"{JOBS}/{job['id']}").data), 300)["status"] == "completed"
        assert len(printer.papers()) == 2
        client.post(f"/v1/shipments/{s['id']}", {"tracking_update": {"status": "package_accepted"}}, expect=200)
        done = client.get(f"{ORDERS}/{row['id']}").data
        assert done["status"] == "completed" and amounts(done, "shipped") == [(7,)] and stocked(client, milk) == (3, 0) and broken(server, org.id) == []
        assert sum(m["delta"] for m in movements(client, milk, "&reason=receipt&bucket=available")) == 10 and sum(m["delta"] for m in movements(client, milk, "&reason=shipment")) == -7
        assert broken_manifests(server, org.id) == []
        conserved(client, milk)
        told = [e for e in org.events(row["id"])]
        assert [e[0] for e in told if e[0] not in ("fulfillment.updated", "fulfillment.reserved")] == ["fulfillment.created", "fulfillment.completed"]
        story = ["fulfillment.created", "manifest.created", "receipt.created", "receipt.created", "manifest.completed", "parcel.created", "shipment.created", "fulfillment.completed"]
        heard = lambda: [g.event["type"] for g in sorted(web.got["/story"], key=lambda g: g.event["sequence"]) if g.event["type"] in story]  # noqa: E731
        wait_until(lambda: len(heard()) >= len(story), 300)
        assert heard() == story
    finally:
        agent.end()
        printer.stop()
        web.shutdown()
