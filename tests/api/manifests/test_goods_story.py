"""One delivery from the announcement to stock on hand, as the webhook of another system hears it (spec 03 section 7)."""
import pytest

from goods_in import broken, change_manifest, conserved, manifest, receive, shown, stock_of
from receivers import Receivers
from stock import broken_invariants, levels, make_item, place
from wharf import Server, until


@pytest.fixture(scope="module")
def web():
    with Receivers() as w:
        yield w


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,reasons,contacts,items,assets,parcels,manifests,documents,logs,events,webhooks", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true")
    yield s
    s.stop()


def test_a_delivery(server, web):
    org = server.organization()
    client = org.client()
    client.post("/v1/webhooks", {"url": web.url("/erp"), "events": ["manifest.*", "receipt.*", "asset.created", "lot.*", "parcel.*", "inventory.level_updated"], "max_concurrency": 1}, expect=201)
    here, shelf, cage = place(client, "Shelf", "Cage")
    milk, laptop, spare = make_item(client, "Milk", sku="MILK", lot_tracking="required"), make_item(client, "Laptop", sku="LAP", is_asset=True), make_item(client, "Spare", sku="SPARE")
    m = manifest(client, here, {"sku": "MILK", "packed_qty": 20, "layout_id": shelf, "lot_number": "M-1", "expires_at": "2031-01-01T00:00:00Z"}, {"sku": "MILK", "packed_qty": 10, "layout_id": shelf, "lot_number": "M-2"},
                 {"sku": "LAP", "packed_qty": 2, "layout_id": cage, "serial_numbers": ["L-1", "L-2"]}, status="created", containers=[{"tracking_number": "BOX-9", "articles": [{"sku": "SPARE", "packed_qty": 6}]}])
    change_manifest(client, m, status="accepted")
    first = receive(client, m, code="MILK", received_qty=20)
    receive(client, m, sku="MILK", lot_number="M-2", received_qty=8, defective_qty=2)
    receive(client, m, code="L-1")
    receive(client, m, code="L-2")
    box = receive(client, m, code="BOX-9", unpacked=False)
    assert box["next"]["open_count"] == 2
    d = change_manifest(client, m, status="completed")
    late = receive(client, m, parcel_id=box["parcel_id"], unpacked=True)

    assert {(v["lot_number"], v["available_qty"], v["damaged_qty"]) for v in levels(client, milk)} == {("M-1", 20, 0), ("M-2", 6, 2)}
    assert stock_of(client, laptop, cage) == (2, 0, 0) and stock_of(client, spare) == (6, 0, 0)
    assert {a["serial_number"] for a in client.get(f"/v1/assets?manifest_id={m['id']}").data} == {"L-1", "L-2"}
    assert (d["receipt_count"], d["open_count"]) == (5, 2) and shown(client, m)["receipt_count"] == 6
    conserved(client, milk, laptop, spare)
    assert broken(server, org.id) == [] and broken_invariants(server, org.id) == []

    about = {m["id"], box["parcel_id"], first["id"], late["id"]}
    told = lambda: [g.event for g in sorted(web.got["/erp"], key=lambda g: g.event["sequence"]) if g.event["resource_id"] in about]
    wanted = ["manifest.created", "manifest.updated", "manifest.updated", "receipt.created", "manifest.updated", "manifest.updated", "manifest.updated", "parcel.created", "manifest.updated", "manifest.completed", "manifest.updated",
              "parcel.updated", "manifest.updated", "receipt.created"]
    until(lambda: len(told()) >= len(wanted))
    assert [e["type"] for e in told()] == wanted
    assert [e["data"]["status"] for e in told() if e["type"] == "manifest.completed"] == ["completed"]
    assert next(e for e in told() if e["type"] == "receipt.created")["data"]["lines"][0]["received_qty"] == 20
