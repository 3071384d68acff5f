"""Manifests: spec 03 section 7."""
import pytest

from goods_in import change_manifest, conserved, manifest, receive, shown, stock_of
from stock import make_item, movements


def test_goods_come_in(client, location):
    """From the announcement to stock: each receipt is a group of the ledger."""
    item = make_item(client, sku="MUG-1")
    m = manifest(client, location, {"sku": "mug-1", "packed_qty": 10}, order_number="PO-77")
    assert stock_of(client, item) == (0, 0, 10) and m["article_count"] == 1 and m["open_count"] == 1
    r = receive(client, m, code="MUG-1", received_qty=6, defective_qty=1)
    assert stock_of(client, item) == (5, 1, 4) and r["type"] == "scan"
    assert r["next"]["action"] == "receive" and r["next"]["article"]["remaining_qty"] == 4
    s = receive(client, m, item_id=item["id"], received_qty=4)
    assert stock_of(client, item) == (9, 1, 0) and s["next"] == {"action": "complete", "open_count": 0, "article": None}
    assert s["group_id"] != r["group_id"]
    d = change_manifest(client, m, status="completed")
    assert d["status"] == "completed" and d["processed_at"] and d["arrived_at"] and d["receipt_count"] == 2
    a, = shown(client, m)["articles"]
    assert (a["received_qty"], a["defective_qty"], a["remaining_qty"]) == (10, 1, 0)
    assert {x["reason"] for x in movements(client, item)} == {"expected", "receipt"}
    conserved(client, item)
