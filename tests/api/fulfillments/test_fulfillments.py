"""Fulfillments: spec 03 section 6."""
import pytest

from orders import ORDERS, amounts, broken, change, entry, get, make_item, movements, order, pack, pick, pick_list, place, post, refused, stocked
from wharf import make_location


@pytest.fixture(scope="module")
def home(client):
    return make_location(client, "Home")


def test_the_whole_way(client, org, server, home):
    pen, pad = make_item(client, "Pen", sku="PEN", levels=[entry(home, available_qty=10)]), make_item(client, "Pad", sku="PAD", levels=[entry(home, available_qty=5)])
    row = order(client, home, (pen, 4), (pad, 2), order_number="SO-1")
    assert row["object"] == "fulfillment" and row["id"].startswith("ful_") and row["status"] == "created" and row["sender"]["name"] == "Home"
    assert amounts(row, "requested", "reserved", "backordered") == [(4, 4, 0), (2, 2, 0)] and row["backordered"] is False
    assert stocked(client, pen) == (6, 4) and get(client, row) == row and broken(server, org.id) == []
    scan = pick(client, row, code="PEN", quantity=4)
    assert scan["status"] == "processing" and scan["next"]["action"] == "pick" and scan["next"]["item_id"] == pad["id"]
    assert pick(client, row, code="PAD", quantity=2)["next"]["action"] == "set_picked"
    assert post(client, row, status="picked")["status"] == "picked"
    assert pack(client, row, all=True)["next"]["action"] == "set_packed"
    assert post(client, row, status="packed")["status"] == "packed"
    assert broken(server, org.id) == []
    done = post(client, row, status="completed")
    assert done["status"] == "completed" and done["completed_at"] and amounts(done, "reserved", "shipped") == [(0, 4), (0, 2)]
    assert stocked(client, pen) == (6, 0) and stocked(client, pad) == (3, 0) and broken(server, org.id) == []
    assert [m["reason"] for m in movements(client, pen)] == ["opening", "reservation", "reservation", "shipment"]
    assert {m["source"]["id"] for m in movements(client, pen)[1:]} == {row["id"]}
