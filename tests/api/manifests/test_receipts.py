"""Receipts: spec 03 sections 7.3 to 7.8."""
import collections
import concurrent.futures

import pytest

from goods_in import MANIFESTS, broken, change_manifest, conserved, manifest, receive, receipts, refused_manifest, refused_receipt, shown, stock_of
from stock import ITEMS, change, levels, make_item, movements, place
from test_batches_sets import asked
from test_manifests import in_status, reason
from wharf import make_location


def settings(org, **percents):
    org.client().post("/v1/org", {"settings": {"manifests": percents}}, expect=200)


# ---- one scan ----

@pytest.mark.parametrize("status,http,code", [("created", 409, "manifest.not_accepted"), ("accepted", 201, None), ("processing", 201, None), ("completed", 409, "manifest.closed"), ("void", 409, "manifest.closed")])
def test_when_goods_are_received(client, location, status, http, code):
    item = make_item(client)
    m = in_status(client, location, status, {"item_id": item["id"], "packed_qty": 5})
    if http == 201:
        receive(client, m, item_id=item["id"])
        d = shown(client, m)
        assert d["status"] == "processing" and d["arrived_at"] and d["receipt_count"] == 1
    else:
        refused_receipt(client, m, http, code, [], item_id=item["id"])
    conserved(client, item)


def test_what_a_scanner_reads(client, location):
    item = make_item(client, sku="SCAN-1", gtin="00012345600012", transactional_units=[{"name": "Case", "uom": "case", "conversion_factor": 12, "barcode": "SCANCASE"}])
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 100})
    for code, quantity in (("scan-1", 1), ("012345600012", 1), ("0012345600012", 1), ("SCANCASE", 12), ("scancase", 12)):
        before = stock_of(client, item)[0]
        r = receive(client, m, code=code)
        assert r["lines"][0]["received_qty"] == quantity and stock_of(client, item)[0] - before == quantity, code
    assert receive(client, m, code="SCAN-1", received_qty="2")["lines"][0]["received_qty"] == 2
    moved = [x for x in movements(client, item, "&bucket=available") if x["unit"]]
    assert [x["unit"]["quantity"] for x in moved] == [1, 1]
    refused_receipt(client, m, 400, "manifest.code_unknown", ["code"], code="nothing")
    refused_receipt(client, m, 400, "validation.failed", ["code"])
    refused_receipt(client, m, 400, "manifest.code_unknown", ["item_id"], item_id="item_none")


def test_cross_check(client, location):
    a, b = make_item(client, "A", sku="CROSS-A"), make_item(client, "B", sku="CROSS-B")
    m = manifest(client, location, {"item_id": a["id"], "packed_qty": 5}, {"item_id": b["id"], "packed_qty": 5})
    line = m["articles"][0]["id"]
    refused_receipt(client, m, 409, "manifest.code_mismatch", ["code"], article_id=line, code="CROSS-B")
    assert receive(client, m, article_id=line, code="cross-a")["lines"][0]["article_id"] == line
    refused_receipt(client, m, 400, "validation.failed", ["article_id"], article_id="art_none")
    conserved(client, a, b)


@pytest.mark.parametrize("body,code,member", [
    ({"received_qty": 0}, "validation.failed", "received_qty"), ({"received_qty": -1}, "validation.failed", "received_qty"), ({"received_qty": 1.00001}, "item.quantity_precision", "received_qty"),
    ({"received_qty": 1, "defective_qty": 2}, "validation.failed", "defective_qty"), ({"serial_numbers": ["S"]}, "validation.failed", "serial_numbers"), ({"lot_number": "L"}, "item.lot_not_allowed", "received_qty"),
    ({"layout_id": "lay_none"}, "validation.failed", "received_qty"), ({"parcel_id": "prcl_none"}, "validation.failed", "parcel_id"), ({"item_transactional_unit_id": "itu_none"}, "item.unit_not_found", "item_transactional_unit_id"),
    ({"reason_code_id": "rsn_none"}, "validation.failed", "reason_code_id")])
def test_a_wrong_scan(client, location, body, code, member):
    item = make_item(client)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 5})
    refused_receipt(client, m, 400, code, [member], item_id=item["id"], **body)
    refused_receipt(client, m, 400, code, [f"lines.1.{member}"], lines=[{"item_id": item["id"]}, {"item_id": item["id"], **body}])
    assert not receipts(client, m) and stock_of(client, item) == (0, 0, 5)


def test_the_same_key_books_once(client, location):
    item = make_item(client)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 5})
    first, again = (receive(client, m, headers={"Idempotency-Key": "scan-0001"}, item_id=item["id"]) for _ in range(2))
    assert first == again and stock_of(client, item) == (1, 0, 4)


def test_the_same_key_at_the_same_time(client, location):
    item = make_item(client)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 50})
    def scan(n):
        return client.request("POST", f"{MANIFESTS}/{m['id']}/receipts", body={"item_id": item["id"]}, headers={"Idempotency-Key": f"parallel-{n % 10}"}).status
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert set(pool.map(scan, range(40))) <= {201, 409}
    assert stock_of(client, item) == (10, 0, 40)
    conserved(client, item)


def test_scans_side_by_side(client, location):
    """Two doors, many scanners: nothing is lost, on one manifest or on two of one item."""
    item = make_item(client)
    both = [manifest(client, location, {"item_id": item["id"], "packed_qty": 30}) for _ in range(2)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: receive(client, both[n % 2], item_id=item["id"]), range(60)))
    assert stock_of(client, item) == (60, 0, 0)
    assert [shown(client, m)["articles"][0]["received_qty"] for m in both] == [30, 30]
    conserved(client, item)


# ---- which article ----

def test_which_article_a_line_counts_for(client, location):
    item = make_item(client, lot_tracking="optional")
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 2}, {"item_id": item["id"], "packed_qty": 3, "lot_number": "L2"}, {"item_id": item["id"], "packed_qty": 4})
    ids = [a["id"] for a in m["articles"]]
    took = lambda **more: [(ids.index(x["article_id"]), x["received_qty"], x["over_qty"]) for x in receive(client, m, item_id=item["id"], **more)["lines"]]
    assert took(lot_number="L2", received_qty=3) == [(0, 2, 0), (1, 1, 0)]
    assert took(lot_number="L9", received_qty=1) == [(2, 1, 0)], "of another lot: what was announced without one"
    assert took(article_id=ids[1], received_qty=2) == [(1, 2, 0)]
    assert took(received_qty=5) == [(2, 5, 2)], "what none takes counts for the last one"
    assert took(received_qty=1) == [(2, 1, 1)]
    assert stock_of(client, item) == (12, 0, 0)
    assert {v["lot_number"]: v["available_qty"] for v in levels(client, item)} == {"L2": 5, "L9": 1, None: 6}
    conserved(client, item)


def test_many_lines_at_once(client, location):
    things = [make_item(client, f"Many {i}") for i in range(50)]
    m = manifest(client, location, *[{"item_id": x["id"], "packed_qty": 2} for x in things])
    r = receive(client, m, lines=[{"item_id": x["id"], "received_qty": 2, "defective_qty": i % 2} for i, x in enumerate(things)], comment="All of it")
    assert len(r["lines"]) == 50 and r["next"]["action"] == "complete" and r["comment"] == "All of it"
    assert {x["group_id"] for x in movements(client, things[0], "&bucket=available")} == {r["group_id"]}
    assert {x["note"] for x in movements(client, things[0], "&bucket=available")} == {"All of it"}
    for i, x in enumerate(things):
        assert stock_of(client, x) == (2 - i % 2, i % 2, 0)
    assert len(client.get(f"{MANIFESTS}/{m['id']}/receipts?item_id={things[7]['id']}").data) == 1
    refused_receipt(client, m, 400, "validation.failed", ["lines"], lines=[{"item_id": things[0]["id"]}], item_id=things[0]["id"])


def test_all_lines_or_none(client, location):
    a = make_item(client, "A")
    m = manifest(client, location, {"item_id": a["id"], "packed_qty": 5})
    refused_receipt(client, m, 400, "manifest.code_unknown", ["lines.1.code", "lines.2.code"], lines=[{"item_id": a["id"]}, {"code": "none"}, {"code": "nor this"}])
    assert stock_of(client, a) == (0, 0, 5) and shown(client, m)["articles"][0]["received_qty"] == 0


@pytest.mark.usual_settings  # hooks of the operator on each row are statements too
def test_no_statement_for_each_line(fresh, server):
    """Whatever the number of lines and articles, each statement is asked a few times."""
    client = fresh.client()
    here, things, made = make_location(client), [make_item(client, f"Set {i}") for i in range(60)], []
    for act in (lambda: made.append(manifest(client, here, *[{"item_id": x["id"], "packed_qty": 2} for x in things])),
                lambda: receive(client, made[0], lines=[{"item_id": x["id"]} for x in things]),
                lambda: receive(client, made[0], reverses_receipt_id=receipts(client, made[0])[0]["id"]),
                lambda: change_manifest(client, made[0], articles=[{"id": a["id"], "received_qty": 2} for a in made[0]["articles"]], status="completed")):
        said = collections.Counter(asked(server, act)).most_common(1)[0]
        assert said[1] < len(things) / 2, said
    assert stock_of(client, things[50]) == (2, 0, 0)


# ---- lots ----

def test_lots_and_when_they_expire(client, location):
    item = make_item(client, lot_tracking="required")
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 5}, {"item_id": item["id"], "packed_qty": 5, "lot_number": "A-2", "expires_at": "2031-01-01T00:00:00Z"})
    refused_receipt(client, m, 400, "item.lot_required", ["received_qty"], item_id=item["id"])
    receive(client, m, item_id=item["id"], lot_number="A-1", expires_at="2030-05-01T00:00:00Z")
    refused_receipt(client, m, 409, "manifest.lot_expiry", ["expires_at"], item_id=item["id"], lot_number="A-1", expires_at="2030-06-01T00:00:00Z")
    receive(client, m, item_id=item["id"], lot_number="A-1", expires_at="2030-05-01T00:00:00.000Z")
    receive(client, m, article_id=m["articles"][1]["id"])
    lots = {x["lot_number"]: x["expires_at"] for x in client.get(f"{ITEMS}/{item['id']}/lots").data}
    assert lots == {"A-1": "2030-05-01T00:00:00.000Z", "A-2": "2031-01-01T00:00:00.000Z"}
    refused_receipt(client, m, 409, "lot.expired", ["lot_number"], item_id=item["id"], lot_number="OLD", expires_at="2020-01-01T00:00:00Z")
    receive(client, m, item_id=item["id"], lot_number="OLD", expires_at="2020-01-01T00:00:00Z", allow_expired=True)
    conserved(client, item)


def test_lots_of_a_completion(client, location):
    item = make_item(client, lot_tracking="required")
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 5, "received_qty": 5, "lot_number": "C-1", "expires_at": "2031-01-01T00:00:00Z"}, {"item_id": item["id"], "received_qty": 1})
    refused_manifest(client, m, 400, "item.lot_required", None, status="completed")
    change_manifest(client, m, status="completed", articles=[{"id": m["articles"][1]["id"], "lot_number": "C-2"}])
    assert {x["lot_number"]: x["expires_at"] for x in client.get(f"{ITEMS}/{item['id']}/lots").data} == {"C-1": "2031-01-01T00:00:00.000Z", "C-2": None}
    conserved(client, item)


# ---- assets ----

def assets(client, item):
    return {a["serial_number"]: a for a in client.get(f"/v1/assets?item_id={item['id']}&limit=1000").data}


def test_asset_lines_make_assets(client):
    here, a = place(client, "A")
    item = make_item(client, is_asset=True)
    m = manifest(client, here, {"item_id": item["id"], "packed_qty": 5, "layout_id": a, "serial_numbers": ["SN-1", "SN-2"]})
    refused_receipt(client, m, 400, "item.fractional_quantity", ["received_qty"], item_id=item["id"], received_qty=0.5)
    refused_receipt(client, m, 400, "validation.failed", ["serial_numbers"], item_id=item["id"], received_qty=1, serial_numbers=["X", "Y"])
    r = receive(client, m, code="SN-2")
    assert r["lines"][0]["serial_numbers"] == ["SN-2"] and len(r["lines"][0]["asset_ids"]) == 1
    made = assets(client, item)["SN-2"]
    assert (made["id"], made["layout_id"], made["manifest_id"], made["status"]) == (r["lines"][0]["asset_ids"][0], a, m["id"], "in_storage")
    r = receive(client, m, item_id=item["id"], received_qty=3, defective_qty=1, serial_numbers=["SN-8", "SN-9"])
    all_ = assets(client, item)
    assert len(all_) == 4 and all_["SN-9"]["status"] == "out_of_service" and all_["SN-8"]["status"] == "in_storage"
    assert len(client.get(f"/v1/assets?manifest_id={m['id']}").data) == 4
    refused_receipt(client, m, 409, "asset.exists", None, item_id=item["id"], serial_numbers=["SN-8"])
    assert stock_of(client, item, a) == (3, 1, 1)
    change_manifest(client, m, status="completed", articles=[{"id": m["articles"][0]["id"], "received_qty": 5}])
    assert "SN-1" in assets(client, item) and stock_of(client, item, a) == (4, 1, 0)
    conserved(client, item)


# ---- more and less ----

def test_over_and_under_without_limits(client, location):
    item = make_item(client)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 5})
    assert receive(client, m, item_id=item["id"], received_qty=50)["lines"][0]["over_qty"] == 45
    change_manifest(client, m, status="completed")


def test_over_receipt(fresh):
    client = fresh.client()
    settings(fresh, over_receipt_percent=10)
    here, item, why = make_location(client), make_item(client), reason(client, "OVER")
    m = manifest(client, here, {"item_id": item["id"], "packed_qty": 10})
    refused_receipt(client, m, 409, "manifest.over_receipt", ["received_qty"], item_id=item["id"], received_qty=12)
    assert receive(client, m, item_id=item["id"], received_qty=11)["lines"][0]["over_qty"] == 1
    refused_receipt(client, m, 409, "manifest.over_receipt", ["lines.0.received_qty"], lines=[{"item_id": item["id"]}])
    r = receive(client, m, item_id=item["id"], reason_code_id=why["id"])
    assert r["reason_code_id"] == why["id"] and movements(client, item, "&bucket=available")[-1]["reason_code_id"] == why["id"]
    receive(client, m, lines=[{"item_id": item["id"], "reason_code_id": why["id"]}])
    other = make_item(client, "Nobody asked for it")
    refused_receipt(client, m, 409, "manifest.over_receipt", ["received_qty"], item_id=other["id"])
    free = manifest(client, here)
    assert receive(client, free, item_id=other["id"], received_qty=3)["lines"][0]["over_qty"] == 3, "nothing was announced, nothing is over"
    said = manifest(client, here, {"item_id": item["id"], "packed_qty": 1, "received_qty": 3})
    refused_manifest(client, said, 409, "manifest.over_receipt", [said["articles"][0]["id"]], status="completed")
    change_manifest(client, said, status="completed", reason_code_id=why["id"])
    mixed = manifest(client, here, {"item_id": item["id"], "packed_qty": 1, "received_qty": 1})
    line = receive(client, mixed, item_id=other["id"], reason_code_id=why["id"])["lines"][0]["article_id"]
    change_manifest(client, mixed, articles=[{"id": line, "received_qty": 3}])
    refused_manifest(client, mixed, 409, "manifest.over_receipt", [line], status="completed")
    change_manifest(client, mixed, status="completed", reason_code_id=why["id"])
    conserved(client, item, other)


def test_under_receipt(fresh):
    client = fresh.client()
    settings(fresh, under_receipt_percent=20)
    here, item, why = make_location(client), make_item(client), reason(client, "UNDER")
    m = manifest(client, here, {"item_id": item["id"], "packed_qty": 10}, {"item_id": item["id"], "packed_qty": 10})
    receive(client, m, item_id=item["id"], received_qty=15)
    refused_manifest(client, m, 409, "manifest.under_receipt", [m["articles"][1]["id"]], status="completed")
    assert shown(client, m)["status"] == "processing" and stock_of(client, item) == (15, 0, 5)
    change_manifest(client, m, articles=[{"id": m["articles"][1]["id"], "reason_code_id": why["id"]}])
    change_manifest(client, m, status="completed")
    near = manifest(client, here, {"item_id": item["id"], "packed_qty": 10})
    receive(client, near, item_id=item["id"], received_qty=8)
    change_manifest(client, near, status="completed")
    conserved(client, item)


def test_unexpected_goods(client, location):
    item, other = make_item(client), make_item(client, sku="UNEXP-1")
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 1})
    r = receive(client, m, code="unexp-1", received_qty=2)
    d = shown(client, m)
    assert [(a["item_id"], a["unexpected"], a["packed_qty"], a["received_qty"]) for a in d["articles"]] == [(item["id"], False, 1, 0), (other["id"], True, 0, 2)]
    assert r["next"]["article"]["item_id"] == item["id"] and [a["id"] for a in client.get(f"{MANIFESTS}/{m['id']}/articles?unexpected=true").data] == [d["articles"][1]["id"]]
    assert stock_of(client, other) == (2, 0, 0)


# ---- blind ----

def test_blind_receiving(client, location):
    item = make_item(client)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 7, "requested_qty": 8}, containers=[{"articles": [{"item_id": item["id"], "packed_qty": 2}]}], blind=True)
    hidden = lambda a: (a["requested_qty"], a["packed_qty"], a["remaining_qty"])
    assert hidden(m["articles"][0]) == hidden(shown(client, m)["articles"][0]) == hidden(shown(client, m)["containers"][0]["articles"][0]) == (None, None, None)
    assert hidden(shown(client, m, "?include_expected=true")["articles"][0]) == (8, 7, 7)
    assert hidden(client.get(f"{MANIFESTS}/{m['id']}/articles").data[0]) == (None, None, None)
    assert hidden(client.get(f"{MANIFESTS}/{m['id']}/articles?include_expected=true").data[0]) == (8, 7, 7)
    r = receive(client, m, item_id=item["id"], received_qty=3)
    assert r["next"]["article"]["remaining_qty"] is None and r["next"]["action"] == "receive"
    d = change_manifest(client, m, status="completed")
    assert hidden(shown(client, m)["articles"][0]) == (8, 7, 4) and d["status"] == "completed"


# ---- parcels ----

def boxed(client, here, *quantities, **more):
    item = make_item(client, "Boxed")
    m = manifest(client, here, containers=[{"tracking_number": f"BOX-{item['id'][-6:]}-{i}", "articles": [{"item_id": item["id"], "packed_qty": q}], **more} for i, q in enumerate(quantities)])
    return item, m, [c["id"] for c in m["containers"]]


def test_a_parcel_that_is_stored_unopened(client):
    here, a = place(client, "A")
    item, m, (box, other) = boxed(client, here, 4, 1, layout_id=a)
    r = receive(client, m, parcel_id=box, unpacked=False)
    assert r["type"] == "parcel" and not r["lines"] and stock_of(client, item) == (0, 0, 5)
    p = client.get(f"/v1/parcels/{box}").data
    assert (p["status"], p["unpacked"], p["received"], p["layout_id"], p["manifest_id"]) == ("in_storage", False, True, a, m["id"])
    assert [(c["item_id"], c["packed_qty"], c["received_qty"]) for c in p["contents"]] == [(item["id"], 4, 0)]
    assert [x["id"] for x in client.get(f"/v1/parcels?manifest_id={m['id']}").data] == [box]
    refused_receipt(client, m, 409, "manifest.parcel_received", ["parcel_id"], parcel_id=box, unpacked=False)
    client.refused("POST", f"/v1/parcels/{box}", 409, "manifest.parcel_unopened", ["unpacked"], body={"unpacked": True})
    client.refused("DELETE", f"/v1/parcels/{box}", 409, "manifest.parcel_unopened", [])
    client.post(f"/v1/parcels/{box}", {"layout_id": here["default_layout_id"]}, expect=200)
    d = change_manifest(client, m, status="completed")
    assert stock_of(client, item) == (0, 0, 0) and [c["missing"] for c in d["containers"]] == [False, True]
    r = receive(client, m, parcel_id=box, unpacked=True)
    assert [(x["received_qty"], x["layout_id"]) for x in r["lines"]] == [(4, a)] and stock_of(client, item) == (4, 0, 0)
    p = client.get(f"/v1/parcels/{box}").data
    assert (p["status"], p["unpacked"], p["contents"][0]["received_qty"]) == ("unpacked", True, 4)
    refused_receipt(client, m, 409, "manifest.closed", [], parcel_id=box, unpacked=True)
    refused_receipt(client, m, 409, "manifest.closed", [], parcel_id=other, unpacked=True)
    conserved(client, item)


def test_a_parcel_by_its_code_as_it_was_announced(client, location):
    item, m, (box, other) = boxed(client, location, 4, 2, unpacked=True)
    r = receive(client, m, code=m["containers"][0]["tracking_number"].lower())
    assert r["type"] == "parcel" and r["parcel_id"] == box and r["lines"][0]["received_qty"] == 4
    assert stock_of(client, item) == (4, 0, 2) and client.get(f"/v1/parcels/{box}").data["status"] == "unpacked"
    refused_receipt(client, m, 409, "manifest.parcel_received", ["parcel_id"], parcel_id=box)
    receive(client, m, parcel_id=other, lines=[{"item_id": item["id"], "received_qty": 1}])
    assert stock_of(client, item) == (5, 0, 1)
    d = shown(client, m)
    assert [(c["received"], c["unpacked"]) for c in d["containers"]] == [(True, True), (True, True)]
    conserved(client, item)


def test_units_out_of_a_parcel_that_was_stored(client, location):
    item, m, (box,) = boxed(client, location, 4)
    receive(client, m, parcel_id=box)
    assert shown(client, m)["containers"][0]["received"] and not shown(client, m)["containers"][0]["unpacked"]
    change_manifest(client, m, status="completed")
    receive(client, m, parcel_id=box, lines=[{"item_id": item["id"], "received_qty": 3, "defective_qty": 1}])
    assert stock_of(client, item) == (2, 1, 0)
    conserved(client, item)


def test_a_parcel_of_many_lines(client, location, server, org):
    item, other = make_item(client), make_item(client, "Other")
    lines = [{"item_id": item["id"], "packed_qty": 1}] * 500
    client.refused("POST", MANIFESTS, 400, "validation.failed", ["containers"], body={"location_id": location["id"], "containers": [{"articles": [*lines, lines[0]]}]})
    m = manifest(client, location, containers=[{"articles": lines}])
    box = m["containers"][0]["id"]
    refused_receipt(client, m, 400, "validation.failed", ["parcel_id"], parcel_id=box, lines=[{"item_id": other["id"]}])
    receive(client, m, parcel_id=box, unpacked=False)
    assert len(client.get(f"/v1/parcels/{box}").data["contents"]) == 500
    receive(client, m, parcel_id=box, unpacked=True)
    assert stock_of(client, item) == (500, 0, 0) and [x["id"] for x in client.get(f"/v1/parcels?item_id={item['id']}").data] == [box]
    assert not broken(server, org.id)


def test_unopened_parcels_of_a_completion(client, location):
    """[S] `unpacked: false` parcels are stored unopened."""
    item, m, (one, two, three) = boxed(client, location, 4, 2, 1)
    change_manifest(client, m, containers=[{"id": two, "missing": True}, {"id": three, "unpacked": True}])
    d = change_manifest(client, m, status="completed")
    assert [(c["received"], c["missing"]) for c in d["containers"]] == [(True, False), (False, True), (True, False)]
    assert client.get(f"/v1/parcels/{one}").data["status"] == "in_storage" and stock_of(client, item) == (0, 0, 0)
    client.get(f"/v1/parcels/{two}", expect=404)
    r, = receipts(client, m)
    assert r["type"] == "completion" and not r["lines"]
    receive(client, m, parcel_id=one)
    assert stock_of(client, item) == (4, 0, 0)


# ---- corrections ----

def test_a_receipt_that_is_reversed(client, location, server, org):
    item = make_item(client)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 10})
    r = receive(client, m, item_id=item["id"], received_qty=4, defective_qty=1)
    assert stock_of(client, item) == (3, 1, 6)
    refused_receipt(client, m, 400, "validation.failed", ["reverses_receipt_id"], reverses_receipt_id=r["id"], item_id=item["id"])
    back = receive(client, m, reverses_receipt_id=r["id"], comment="Wrong door")
    assert back["type"] == "reversal" and stock_of(client, item) == (0, 0, 10) and back["next"]["action"] == "receive"
    assert client.get(f"{MANIFESTS}/{m['id']}/receipts/{r['id']}").data["reversed_by_receipt_id"] == back["id"]
    for wrong in (r["id"], back["id"]):
        refused_receipt(client, m, 409, "manifest.reversed", ["reverses_receipt_id"], reverses_receipt_id=wrong)
    refused_receipt(client, m, 400, "validation.failed", ["reverses_receipt_id"], reverses_receipt_id="rcpt_none")
    a, = shown(client, m)["articles"]
    assert (a["received_qty"], a["defective_qty"], a["remaining_qty"]) == (0, 0, 10)
    conserved(client, item)
    assert not broken(server, org.id)


def test_a_correction_of_a_completed_manifest(client, location, server, org):
    item, why = make_item(client), reason(client, "FIX")
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 10})
    r = receive(client, m, item_id=item["id"], received_qty=10)
    change_manifest(client, m, status="completed")
    receive(client, m, reverses_receipt_id=r["id"])
    assert stock_of(client, item) == (0, 0, 0) and shown(client, m)["status"] == "completed"
    refused_receipt(client, m, 409, "manifest.closed", [], item_id=item["id"])
    refused_receipt(client, m, 400, "manifest.reason_required", ["reason_code_id"], item_id=item["id"], correction=True)
    d = receive(client, m, item_id=item["id"], received_qty=8, correction=True, reason_code_id=why["id"])
    assert stock_of(client, item) == (8, 0, 0) and d["correction"] and d["next"]["action"] == "none"
    conserved(client, item)
    assert not broken(server, org.id)


def test_what_is_gone_is_not_reversed(client, location):
    item = make_item(client)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 10})
    r = receive(client, m, item_id=item["id"], received_qty=4)
    change(client, item, {"location_id": location["id"], "available_qty": -1})
    refused_receipt(client, m, 409, "item.insufficient_stock", ["received_qty"], reverses_receipt_id=r["id"])
    change(client, item, {"location_id": location["id"], "available_qty": 1})
    receive(client, m, reverses_receipt_id=r["id"])
    conserved(client, item)


def test_a_reversal_where_a_layout_is_gone(client):
    here, a = place(client, "A")
    item = make_item(client)
    m = manifest(client, here, {"item_id": item["id"], "packed_qty": 10})
    r = receive(client, m, item_id=item["id"], received_qty=4, layout_id=a)
    assert stock_of(client, item, a) == (4, 0, 0) and r["layout_id"] == a
    client.delete(f"/v1/locations/{here['id']}/layouts/{a}", expect=200)
    receive(client, m, reverses_receipt_id=r["id"])
    assert stock_of(client, item) == (0, 0, 10)
    conserved(client, item)


def test_assets_of_a_reversal(client, location):
    item = make_item(client, is_asset=True)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 2})
    r = receive(client, m, item_id=item["id"], received_qty=2, serial_numbers=["RV-1", "RV-2"])
    id = assets(client, item)["RV-1"]["id"]
    client.post(f"/v1/assets/{id}", {"status": "in_repair"}, expect=200)
    refused_receipt(client, m, 409, "manifest.assets_used", [id], reverses_receipt_id=r["id"])
    client.post(f"/v1/assets/{id}", {"status": "in_storage"}, expect=200)
    receive(client, m, reverses_receipt_id=r["id"])
    assert all(client.get(f"/v1/assets/{x}").data["archived_at"] for x in r["lines"][0]["asset_ids"])
    receive(client, m, item_id=item["id"], serial_numbers=["RV-1"])
    assert stock_of(client, item) == (1, 0, 1)


def test_a_stored_parcel_is_reversed(client, location):
    item, m, (box,) = boxed(client, location, 4)
    r = receive(client, m, parcel_id=box)
    receive(client, m, reverses_receipt_id=r["id"])
    p = client.get(f"/v1/parcels/{box}").data
    assert (p["status"], p["received"]) == ("inbound_transit", False)
    assert not shown(client, m)["containers"][0]["received"] and stock_of(client, item) == (0, 0, 4)
    receive(client, m, parcel_id=box)
    assert client.get(f"/v1/parcels/{box}").data["status"] == "in_storage"


def test_a_parcel_that_was_unpacked_is_reversed(client, location):
    item, m, (box, other) = boxed(client, location, 4, 3)
    state = lambda id: next((c["received"], c["unpacked"]) for c in shown(client, m)["containers"] if c["id"] == id)
    receive(client, m, parcel_id=box, unpacked=False)
    r = receive(client, m, parcel_id=box, unpacked=True)
    receive(client, m, reverses_receipt_id=r["id"])
    assert state(box) == (True, False) and stock_of(client, item) == (0, 0, 7) and client.get(f"/v1/parcels/{box}").data["status"] == "in_storage"
    change_manifest(client, m, containers=[{"id": other, "unpacked": True}])
    r = receive(client, m, parcel_id=other)
    receive(client, m, reverses_receipt_id=r["id"])
    assert state(other) == (False, False) and client.get(f"/v1/parcels/{other}").data["status"] == "inbound_transit"
    for id in (box, other):
        receive(client, m, parcel_id=id, unpacked=True)
    assert stock_of(client, item) == (7, 0, 0)
    conserved(client, item)


# ---- put-away ----

def test_put_away(client):
    here, a = place(client, "A")
    item = make_item(client, sku="PUT-1", transactional_units=[{"name": "Case", "uom": "case", "conversion_factor": 2, "barcode": "PUTCASE"}])
    m = manifest(client, here, {"item_id": item["id"], "packed_qty": 9})
    path = f"{MANIFESTS}/{m['id']}/put-aways"
    receive(client, m, item_id=item["id"], received_qty=9)
    d = client.post(path, {"code": "put-1", "quantity": 4, "layout_id": a}, expect=200).data
    assert (d["quantity"], d["from_layout_id"], d["layout_id"]) == (4, here["default_layout_id"], a) and stock_of(client, item, a) == (4, 0, 0)
    assert client.post(path, {"code": "PUTCASE", "layout_id": a}, expect=200).data["quantity"] == 2
    client.post(path, {"article_id": m["articles"][0]["id"], "from_layout_id": a, "layout_id": here["default_layout_id"]}, expect=200)
    assert stock_of(client, item, a) == (5, 0, 0)
    rows = movements(client, item, f"&group_id={d['group_id']}")
    assert {x["reason"] for x in rows} == {"transfer"} and sum(x["delta"] for x in rows) == 0
    for body, http, code, at in (({"quantity": 5}, 409, "item.insufficient_stock", ["quantity"]), ({"quantity": 0}, 400, "validation.failed", ["quantity"]), ({"code": "none"}, 400, "manifest.code_unknown", ["code"]),
                                 ({"layout_id": "lay_none"}, 400, "validation.failed", ["layout_id"]), ({"article_id": "art_none"}, 400, "validation.failed", ["article_id"])):
        client.refused("POST", path, http, code, at, body={"layout_id": a, **({} if "code" in body or "article_id" in body else {"item_id": item["id"]}), **body})
    for status, code in (("created", "manifest.not_accepted"), ("void", "manifest.closed")):
        other = in_status(client, here, status)
        client.refused("POST", f"{MANIFESTS}/{other['id']}/put-aways", 409, code, [], body={"item_id": item["id"], "layout_id": a})
    conserved(client, item)


def test_reversed_after_put_away(client):
    here, a = place(client, "A")
    item = make_item(client)
    m = manifest(client, here, {"item_id": item["id"], "packed_qty": 3})
    r = receive(client, m, item_id=item["id"], received_qty=3)
    client.post(f"{MANIFESTS}/{m['id']}/put-aways", {"item_id": item["id"], "quantity": 3, "layout_id": a}, expect=200)
    refused_receipt(client, m, 409, "item.insufficient_stock", ["received_qty"], reverses_receipt_id=r["id"])
    conserved(client, item)
