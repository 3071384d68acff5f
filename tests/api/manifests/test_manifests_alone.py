"""Manifests with nothing but what they need: no contacts, no parcels, no assets."""
import pytest

from goods_in import change_manifest, conserved, manifest, receive, refused_receipt, shown, stock_of
from stock import make_item
from wharf import Server


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,reasons,items,manifests")
    yield s
    s.stop()


def test_goods_and_parcels(client, location):
    item = make_item(client, is_asset=True)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 2}, containers=[{"tracking_number": "ALONE-1", "articles": [{"item_id": item["id"], "packed_qty": 3}]}], recipient={"name": "Dock"})
    r = receive(client, m, item_id=item["id"], received_qty=2, serial_numbers=["A-1"])
    assert not r["lines"][0]["asset_ids"] and stock_of(client, item) == (2, 0, 3)
    receive(client, m, code="ALONE-1")
    assert shown(client, m)["containers"][0]["received"] and stock_of(client, item) == (2, 0, 3)
    change_manifest(client, m, status="completed")
    receive(client, m, parcel_id=m["containers"][0]["id"])
    assert stock_of(client, item) == (5, 0, 0)
    receive(client, m, reverses_receipt_id=r["id"])
    assert stock_of(client, item) == (3, 0, 0)
    refused_receipt(client, m, 409, "manifest.reversed", ["reverses_receipt_id"], reverses_receipt_id=r["id"])
    conserved(client, item)


def test_a_party_names_no_contact(client, location):
    client.refused("POST", "/v1/manifests", 400, "validation.failed", ["sender"], body={"location_id": location["id"], "sender": "ctct_1"})
