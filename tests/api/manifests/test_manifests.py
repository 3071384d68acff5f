"""Manifests: spec 03 sections 7.1, 7.2 and 7.9."""
import itertools

import pytest

from goods_in import MANIFESTS, broken, change_manifest, conserved, manifest, receive, receipts, refused_manifest, shown, stock_of
from linked import linked
from stock import change, make_item, movements, place
from wharf import make_location

STATUSES = ("created", "accepted", "processing", "completed", "void")
FOLLOWS = {"created": {"accepted", "void"}, "accepted": {"processing", "completed", "void"}, "processing": {"completed", "void"}, "completed": set(), "void": set()}


def reason(client, code="SHORT", resources=("manifest",), **more):
    return client.post("/v1/reason-codes", {"code": code, "name": code.title(), "resources": list(resources), **more}, expect=201).data


def in_status(client, location, status, *articles):
    m = manifest(client, location, *articles, status="created")
    for step in {"created": [], "accepted": ["accepted"], "processing": ["accepted", "processing"], "completed": ["accepted", "completed"], "void": ["void"]}[status]:
        m = change_manifest(client, m, status=step)
    assert m["status"] == status
    return m


def test_goods_come_in(client, location, server, org):
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
    assert {(x["source"]["type"], x["source"]["id"]) for x in movements(client, item)} == {("manifest", m["id"])}
    conserved(client, item)
    assert not broken(server, org.id)


# ---- statuses ----

@pytest.mark.parametrize("start,to", [(a, b) for a, b in itertools.product(STATUSES, STATUSES)])
def test_each_step(client, location, start, to):
    m = in_status(client, location, start)
    if start == to:
        assert change_manifest(client, m, status=to)["status"] == to
    elif to in FOLLOWS[start]:
        d = change_manifest(client, m, status=to)
        assert d["status"] == to
        assert bool(d["arrived_at"]) == (to in ("processing", "completed") or bool(m["arrived_at"])) and bool(d["processed_at"]) == (to == "completed")
    else:
        code = "manifest.closed" if start in ("completed", "void") else "manifest.not_accepted" if start == "created" else "manifest.status_invalid"
        refused_manifest(client, m, 400 if code == "manifest.status_invalid" else 409, code, ["status"], status=to)
        assert shown(client, m)["status"] == start


@pytest.mark.parametrize("status", STATUSES)
def test_a_new_one_is_created_or_accepted(client, location, status):
    body = {"location_id": location["id"], "status": status}
    if status in ("created", "accepted"):
        assert client.post(MANIFESTS, body, expect=201).data["status"] == status
    else:
        client.refused("POST", MANIFESTS, 400, "manifest.status_invalid", ["status"], body=body)


@pytest.mark.parametrize("status", STATUSES)
def test_only_an_accepted_one_is_edited(client, location, status):
    item = make_item(client)
    m = in_status(client, location, status)
    for body in ({"comment": "x"}, {"order_number": "1"}, {"articles": [{"item_id": item["id"], "packed_qty": 1}]}, {"containers": [{"tracking_number": "T"}]}, {"special_handling_tags": ["fragile"]}, {"reason_code": "late"}):
        if status in ("accepted", "processing"):
            change_manifest(client, m, **body)
        else:
            refused_manifest(client, m, 409, "manifest.not_accepted" if status == "created" else "manifest.closed", [], **body)
    assert change_manifest(client, m, metadata={"dock": "4"})["metadata"] == {"dock": "4"}
    client.refused("POST", f"{MANIFESTS}/{m['id']}", 400, "validation.failed", ["location_id"], body={"location_id": make_location(client)["id"]})


def test_who_accepts_may_edit_at_once(client, location):
    item = make_item(client)
    m = manifest(client, location, status="created")
    d = change_manifest(client, m, status="accepted", comment="Dock 2", articles=[{"item_id": item["id"], "packed_qty": 3}])
    assert (d["status"], d["comment"], d["article_count"]) == ("accepted", "Dock 2", 1)


@pytest.mark.parametrize("status", STATUSES)
def test_delete(client, location, status):
    item = make_item(client)
    m = in_status(client, location, status, {"item_id": item["id"], "packed_qty": 5})
    if status in ("created", "void"):
        client.delete(f"{MANIFESTS}/{m['id']}", expect=200)
        client.get(f"{MANIFESTS}/{m['id']}", expect=404)
        assert stock_of(client, item) == (0, 0, 0)
    else:
        client.refused("DELETE", f"{MANIFESTS}/{m['id']}", 409, "manifest.not_deletable", [])
    conserved(client, item)


def test_void_takes_off_what_is_expected_but_nothing_that_came(client, location):
    item = make_item(client)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 5})
    r = receive(client, m, item_id=item["id"], received_qty=2)
    refused_manifest(client, m, 409, "manifest.received", ["status"], status="void")
    receive(client, m, reverses_receipt_id=r["id"])
    assert stock_of(client, item) == (0, 0, 5)
    assert change_manifest(client, m, status="void")["status"] == "void" and stock_of(client, item) == (0, 0, 0)
    conserved(client, item)


# ---- what is expected ----

def test_expected_stock_follows_the_articles(client):
    here, a, b = place(client, "A", "B")
    item, other = make_item(client, "One"), make_item(client, "Other", lot_tracking="required")
    m = manifest(client, here, {"item_id": item["id"], "packed_qty": 5, "layout_id": a}, {"item_id": other["id"], "requested_qty": 2.5, "lot_number": "L1"}, status="created")
    line, second = m["articles"]
    assert second["packed_qty"] == 2.5 and stock_of(client, other) == (0, 0, 2.5) and stock_of(client, item, a) == (0, 0, 5)
    assert not client.get(f"/v1/items/{other['id']}/lots").data, "an announced lot is none yet"
    change_manifest(client, m, status="accepted", articles=[{"id": line["id"], "layout_id": b}])
    assert (stock_of(client, item, a), stock_of(client, item, b)) == ((0, 0, 0), (0, 0, 5))
    change_manifest(client, m, articles=[{"id": line["id"], "packed_qty": 7}])
    assert stock_of(client, item, b) == (0, 0, 7)
    change_manifest(client, m, articles=[{"id": line["id"], "layout_id": None}])
    assert stock_of(client, item, here["default_layout_id"]) == (0, 0, 7)
    change_manifest(client, m, articles=[{"id": line["id"], "_delete": True}, {"item_id": item["id"], "packed_qty": 1}])
    assert stock_of(client, item) == (0, 0, 1) and len(shown(client, m)["articles"]) == 2
    change_manifest(client, m, status="completed")
    assert stock_of(client, item) == stock_of(client, other) == (0, 0, 0)
    conserved(client, item, other)


def test_somebody_changed_the_expected_stock_by_hand(client, location):
    item = make_item(client)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 5})
    change(client, item, {"location_id": location["id"], "manifested_qty": [1]})
    receive(client, m, item_id=item["id"], received_qty=3)
    assert stock_of(client, item) == (3, 0, 0)
    change_manifest(client, m, status="completed")
    assert stock_of(client, item) == (3, 0, 0)
    conserved(client, item)


def test_a_removed_layout_is_replaced(client):
    here, a = place(client, "A")
    item = make_item(client)
    m = manifest(client, here, {"item_id": item["id"], "packed_qty": 5, "layout_id": a}, containers=[{"tracking_number": "TR-1", "layout_id": a, "articles": [{"item_id": item["id"], "packed_qty": 2}]}])
    client.delete(f"/v1/locations/{here['id']}/layouts/{a}", expect=200)
    d = shown(client, m)
    assert d["articles"][0]["layout_id"] == here["default_layout_id"] and d["containers"][0]["layout_id"] == here["default_layout_id"]
    receive(client, m, item_id=item["id"], received_qty=5)
    assert stock_of(client, item, here["default_layout_id"]) == (5, 0, 2)
    conserved(client, item)


# ---- articles and containers ----

def test_lines_are_found_by_any_number(client, location):
    item = make_item(client, sku="FIND-1", gtin="4006381333931", transactional_units=[{"name": "Case", "uom": "case", "conversion_factor": 12, "barcode": "CASE-12"}])
    unit = item["transactional_units"][0]["id"]
    m = manifest(client, location, {"sku": "find-1", "packed_qty": 1}, {"gtin": "4006381333931", "packed_qty": 1}, {"code": "case-12", "packed_qty": 2}, {"item_id": item["id"], "item_transactional_unit_id": unit, "packed_qty": "0.5"})
    assert [(a["item_id"], a["packed_qty"]) for a in m["articles"]] == [(item["id"], q) for q in (1, 1, 24, 6)]
    assert m["articles"][3]["item_transactional_unit_id"] == unit and m["articles"][0]["sku"] == "FIND-1"


@pytest.mark.parametrize("line,http,code,member", [
    ({"item_id": "item_none"}, 400, "manifest.code_unknown", "code"),
    ({"packed_qty": 1}, 400, "manifest.code_unknown", "code"),
    ({"code": "nobody has this"}, 400, "manifest.code_unknown", "code"),
    ({"sku": "G-1", "packed_qty": 1.00001}, 400, "item.quantity_precision", "packed_qty"),
    ({"sku": "G-1", "packed_qty": -1}, 400, "validation.failed", "packed_qty"),
    ({"sku": "G-1", "packed_qty": "many"}, 400, "validation.failed", "packed_qty"),
    ({"sku": "G-1", "layout_id": "lay_none"}, 400, "validation.failed", "layout_id"),
    ({"sku": "G-1", "item_transactional_unit_id": "itu_none", "packed_qty": 1}, 400, "item.unit_not_found", "item_transactional_unit_id"),
    ({"sku": "G-1", "received_qty": 1, "defective_qty": 2}, 400, "validation.failed", "defective_qty"),
    ({"sku": "G-1", "expires_at": "tomorrow"}, 400, "validation.failed", "expires_at"),
    ({"sku": "G-1", "serial_numbers": "S-1"}, 400, "validation.failed", "serial_numbers"),
    ({"sku": "G-1", "reason_code_id": "rsn_none"}, 400, "validation.failed", "reason_code_id"),
    ({"id": "art_none", "packed_qty": 1}, 400, "validation.failed", "id"),
    ({"_delete": True}, 400, "validation.failed", "id"),
    ({"sku": "G-2", "packed_qty": 1.5}, 400, "item.fractional_quantity", "packed_qty"),
    ({"sku": "G-3", "packed_qty": 1}, 409, "item.archived", "packed_qty"),
])
def test_a_wrong_line(fresh, line, http, code, member):
    client = fresh.client()
    here = make_location(client)
    make_item(client, sku="G-1")
    make_item(client, sku="G-2", is_asset=True)
    client.post(f"/v1/items/{make_item(client, sku='G-3')['id']}", {"status": "archived"}, expect=200)
    client.refused("POST", MANIFESTS, http, code, [f"articles.1.{member}"], body={"location_id": here["id"], "articles": [{"sku": "G-1"}, line]})
    client.refused("POST", MANIFESTS, http, code, [f"containers.0.articles.0.{member}"], body={"location_id": here["id"], "containers": [{"articles": [line]}]})
    assert not client.get(MANIFESTS).data and not client.get("/v1/items/" + make_item(client)["id"] + "/levels").data


def test_ambiguous_codes(fresh):
    client = fresh.client()
    here = make_location(client)
    a, b = (make_item(client, f"Twin {i}", gtin="4006381333931") for i in range(2))
    client.refused("POST", MANIFESTS, 409, "manifest.code_ambiguous", ["articles.0.code"], body={"location_id": here["id"], "articles": [{"gtin": "4006381333931"}]})
    m = manifest(client, here, {"item_id": b["id"], "packed_qty": 3})
    assert receive(client, m, code="4006381333931")["lines"][0]["item_id"] == b["id"], "the one that is announced"
    free = manifest(client, here)
    client.refused("POST", f"{MANIFESTS}/{free['id']}/receipts", 409, "manifest.code_ambiguous", ["code"], body={"code": "4006381333931"})
    assert a["id"] != b["id"]


def test_containers_and_their_lines(client):
    here, a = place(client, "A")
    one, two = make_item(client, "One"), make_item(client, "Two")
    m = manifest(client, here, containers=[{"tracking_number": "TR-1", "container_number": "C-1", "layout_id": a, "articles": [{"item_id": one["id"], "packed_qty": 2}, {"item_id": two["id"], "packed_qty": 3}]}, {"tracking_number": "TR-2"}])
    first, second = m["containers"]
    assert (first["tracking_number"], first["layout_id"], first["unpacked"], first["received"], first["missing"]) == ("TR-1", a, False, False, False)
    assert [x["packed_qty"] for x in first["articles"]] == [2, 3] and not m["articles"] and m["article_count"] == 2
    assert stock_of(client, one, a) == (0, 0, 2)
    d = change_manifest(client, m, containers=[{"id": first["id"], "articles": [{"id": first["articles"][0]["id"], "_delete": True}, {"item_id": one["id"], "packed_qty": 9}]}, {"id": second["id"], "_delete": True}])
    box, = d["containers"]
    assert [x["packed_qty"] for x in box["articles"]] == [3, 9]
    change_manifest(client, m, containers=[{"id": first["id"], "_delete": True}])
    assert stock_of(client, one) == stock_of(client, two) == (0, 0, 0)
    refused_manifest(client, m, 400, "validation.failed", ["containers.0.id"], containers=[{"id": second["id"]}])
    conserved(client, one, two)


def test_the_classic_way(client):
    """Without receipts: what the articles say is booked when the manifest is completed [S]."""
    here, a, b = place(client, "A", "B")
    item, other = make_item(client, "One"), make_item(client, "Other")
    m = manifest(client, here, {"item_id": item["id"], "packed_qty": 10, "layout_id": a}, containers=[{"layout_id": b, "unpacked": True, "articles": [{"item_id": other["id"], "packed_qty": 4}]}])
    change_manifest(client, m, status="processing", articles=[{"id": m["articles"][0]["id"], "verified_qty": 8, "damaged_qty": 3}])
    assert stock_of(client, item) == (0, 0, 10)
    d = change_manifest(client, m, status="completed", containers=[{"id": m["containers"][0]["id"], "articles": [{"id": m["containers"][0]["articles"][0]["id"], "received_qty": 5}]}])
    assert stock_of(client, item, a) == (5, 3, 0) and stock_of(client, other, b) == (5, 0, 0)
    r, = receipts(client, m)
    assert r["type"] == "completion" and [(x["received_qty"], x["defective_qty"], x["over_qty"]) for x in r["lines"]] == [(8, 3, 0), (5, 0, 1)]
    assert d["receipt_count"] == 1 and {x["reason"] for x in movements(client, item, f"&group_id={r['group_id']}")} == {"receipt"}
    conserved(client, item, other)


def test_receipts_and_the_classic_way_together(client, location):
    item = make_item(client)
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 10})
    a = m["articles"][0]["id"]
    change_manifest(client, m, articles=[{"id": a, "received_qty": 4, "defective_qty": 1}])
    receive(client, m, article_id=a, received_qty=2)
    assert stock_of(client, item) == (2, 0, 8) and shown(client, m)["articles"][0]["received_qty"] == 6
    refused_manifest(client, m, 409, "manifest.received_booked", ["articles.0.received_qty"], articles=[{"id": a, "received_qty": 1, "defective_qty": 0}])
    refused_manifest(client, m, 409, "manifest.received_booked", ["articles.0.received_qty"], articles=[{"id": a, "_delete": True}])
    change_manifest(client, m, status="completed")
    assert stock_of(client, item) == (5, 1, 0)
    conserved(client, item)


# ---- [S] ----

def test_reason_code_id_links_a_code_for_manifests(client, location):
    """[S] `reason_code_id`: active, for manifests; null clears."""
    good, other, off = reason(client, "S-LATE"), reason(client, "S-OTHER", ["asset"]), reason(client, "S-OFF", active=False)
    m = manifest(client, location, reason_code_id=good["id"])
    assert m["reason_code_id"] == good["id"]
    refused_manifest(client, m, 400, "reason_code.resource_mismatch", ["reason_code_id"], reason_code_id=other["id"])
    refused_manifest(client, m, 400, "reason_code.inactive", ["reason_code_id"], reason_code_id=off["id"])
    refused_manifest(client, m, 400, "validation.failed", ["reason_code_id"], reason_code_id="rsn_none")
    assert client.get(f"{MANIFESTS}?reason_code_id={good['id']}").data[0]["id"] == m["id"]
    d = change_manifest(client, m, reason_code_id=None)
    assert (d["reason_code_id"], d["linked_reason_code"], d["reason_code"]) == (None, None, None)


def test_linked_reason_code_is_written_out(client, location):
    """[S] `linked_reason_code`: {id, code, name, description}, of a deleted code too."""
    r = reason(client, "S-LINK", description="Came late")
    m = manifest(client, location, reason_code_id=r["id"])
    assert m["linked_reason_code"] == {"id": r["id"], "code": "S-LINK", "name": "S-Link", "description": "Came late"}
    client.delete(f"/v1/reason-codes/{r['id']}", expect=200)
    assert shown(client, m)["linked_reason_code"]["code"] == "S-LINK"


def test_legacy_reason_code(client, location):
    """[S] `reason_code`: a text of its own, the code of the linked one, the id wins."""
    r = reason(client, "S-LEGACY")
    m = manifest(client, location, reason_code="Two boxes wet")
    assert (m["reason_code"], m["reason_code_id"], m["linked_reason_code"]) == ("Two boxes wet", None, None)
    assert change_manifest(client, m, reason_code_id=r["id"], reason_code="ignored")["reason_code"] == "S-LEGACY"
    assert change_manifest(client, m, reason_code="ignored too")["reason_code"] == "S-LEGACY"
    client.post(f"/v1/reason-codes/{r['id']}", {"code": "S-RENAMED"}, expect=200)
    assert shown(client, m)["reason_code"] == "S-RENAMED"
    assert change_manifest(client, m, reason_code_id=None, reason_code="Again my own")["reason_code"] == "Again my own"
    refused_manifest(client, m, 400, "validation.failed", ["reason_code"], reason_code="x" * 192)


def test_include_documents(client, location):
    """[S] `include_documents=true` on retrieve."""
    m = manifest(client, location)
    assert shown(client, m)["_documents"] is None and shown(client, m, "?include_documents=true")["_documents"] == []
    d = linked(client, m)
    assert [x["id"] for x in shown(client, m, "?include_documents=true")["_documents"]] == [d["id"]]


# ---- parties, lists, events ----

def test_sender_and_recipient(client, location):
    c = client.post("/v1/contacts", {"name": "Acme Supplies", "email": "in@acme.example", "phone": "+15035550100"}, expect=201).data
    m = manifest(client, location, sender=c["id"], recipient={"name": "Dock", "address": "742 Evergreen Terrace, Springfield, OR 97477, US"})
    assert (m["sender"]["contact_id"], m["sender"]["name"], m["sender"]["email"]) == (c["id"], "Acme Supplies", "in@acme.example")
    assert m["recipient"]["contact_id"] is None and m["recipient"]["address"]["city"] == "Springfield"
    assert [x["id"] for x in client.get(f"{MANIFESTS}?sender={c['id']}").data] == [m["id"]] and not client.get(f"{MANIFESTS}?recipient={c['id']}").data
    assert change_manifest(client, m, sender=None)["sender"] is None and not client.get(f"{MANIFESTS}?sender={c['id']}").data
    client.refused("POST", MANIFESTS, 400, "validation.failed", ["sender"], body={"location_id": location["id"], "sender": "ctct_none"})
    client.refused("POST", MANIFESTS, 400, "validation.failed", ["recipient.email"], body={"location_id": location["id"], "recipient": {"email": "no"}})


def test_lists(fresh):
    client = fresh.client()
    here, there = make_location(client), make_location(client)
    item, other = make_item(client, "One"), make_item(client, "Other")
    a = manifest(client, here, {"item_id": item["id"], "packed_qty": 1}, order_number="PO-1", external_id="E-1", special_handling_tags=["fragile"], invoice_number="INV-9", blind=True)
    b = manifest(client, there, status="created", order_number="PO-2", containers=[{"articles": [{"item_id": other["id"]}]}], estimated_arrival_at="2030-01-01T00:00:00Z")
    for query, want in {f"location_id={here['id']}": [a], "status=created": [b], "statuses=created,accepted": [b, a], "special_handling_tags=fragile": [a], f"item_id={item['id']}": [a], f"item_id={other['id']}": [b],
                        "order_number=PO-1": [a], "external_id=E-1": [a], "blind=true": [a], "search=INV-9": [a], "search=po": [b, a], "estimated_arrival_at=gt:2029-01-01T00:00:00Z": [b],
                        "order_by=status&direction=asc": [a, b], "updated_by=nobody": []}.items():
        got = client.get(f"{MANIFESTS}?{query}").data
        ids = [x["id"] for x in got]
        assert (sorted(ids) if "search" in query else ids) == (sorted(x["id"] for x in want) if "search" in query else [x["id"] for x in want]), query
        assert all("articles" not in x and "containers" not in x for x in got)
    rows = client.get(f"{MANIFESTS}/{b['id']}/articles").data
    assert [(x["item_id"], x["parcel_id"], x["packed_qty"], x["open"]) for x in rows] == [(other["id"], b["containers"][0]["id"], 0, False)]
    assert [x["item_id"] for x in client.get(f"{MANIFESTS}/{a['id']}/articles?open=true&include_expected=true").data] == [item["id"]]


def test_events_tell_the_story(fresh):
    client = fresh.client()
    here = make_location(client)
    item = make_item(client)
    m = manifest(client, here, {"item_id": item["id"], "packed_qty": 2})
    r = receive(client, m, item_id=item["id"], received_qty=2)
    change_manifest(client, m, status="completed")
    gone = manifest(client, here, status="created")
    change_manifest(client, gone, status="void")
    client.delete(f"{MANIFESTS}/{gone['id']}", expect=200)
    assert [e[0] for e in fresh.events(m["id"])] == ["manifest.created", "manifest.updated", "manifest.completed", "manifest.updated"]
    assert [e[0] for e in fresh.events(r["id"])] == ["receipt.created"]
    assert [e[0] for e in fresh.events(gone["id"])] == ["manifest.created", "manifest.canceled", "manifest.updated", "manifest.deleted"]


def test_a_location_with_open_manifests_is_in_use(client):
    here = make_location(client)
    m = manifest(client, here)
    client.refused("DELETE", f"/v1/locations/{here['id']}", 409, "location.in_use", ["manifests"])
    change_manifest(client, m, status="void")
    client.delete(f"/v1/locations/{here['id']}", expect=200)


def test_a_location_that_the_key_does_not_reach(client, org):
    here, there = make_location(client), make_location(client)
    item = make_item(client)
    m = manifest(client, there, {"item_id": item["id"], "packed_qty": 2})
    other = org.client(locations=[here["id"]])
    other.refused("POST", MANIFESTS, 403, "location_access", None, body={"location_id": there["id"]})
    other.refused("POST", f"{MANIFESTS}/{m['id']}/receipts", 403, "location_access", None, body={"item_id": item["id"]})
    other.refused("POST", f"{MANIFESTS}/{m['id']}/put-aways", 403, "location_access", None, body={"item_id": item["id"], "layout_id": "x"})
    other.refused("GET", f"{MANIFESTS}/{m['id']}/articles", 403, "location_access", None)
    assert m["id"] not in [x["id"] for x in other.get(MANIFESTS).data]


def test_names_of_items_are_for_who_reads_items(client, org, location):
    item = make_item(client, "Secret sauce", sku="SAUCE-1")
    m = manifest(client, location, {"item_id": item["id"], "packed_qty": 2}, containers=[{"articles": [{"item_id": item["id"], "packed_qty": 1}]}])
    assert m["articles"][0]["name"] == "Secret sauce" and m["containers"][0]["articles"][0]["sku"] == "SAUCE-1"
    other = org.client("manifests:write")
    r = other.request("POST", f"{MANIFESTS}/{m['id']}/receipts", body={"item_id": item["id"]}, expect=201)
    for text in (str(r.data), str(other.get(f"{MANIFESTS}/{m['id']}").data), str(other.get(f"{MANIFESTS}/{m['id']}/articles").data), str(other.get(f"{MANIFESTS}/{m['id']}/receipts").data)):
        assert item["id"] in text and "Secret" not in text and "SAUCE" not in text
    assert receive(client, m, item_id=item["id"])["next"]["article"]["name"] == "Secret sauce"


def test_an_inactive_location(client):
    here = make_location(client)
    client.post(f"/v1/locations/{here['id']}", {"active": False}, expect=200)
    client.refused("POST", MANIFESTS, 400, "location.inactive", ["location_id"], body={"location_id": here["id"]})


def test_manifests_follow_contacts_that_are_merged(client, location):
    a, b = (client.post("/v1/contacts", {"name": f"Merge {i}", "email": f"merge{i}@acme.example"}, expect=201).data for i in range(2))
    m = manifest(client, location, sender=a["id"], recipient=a["id"])
    client.post(f"/v1/contacts/{b['id']}/merge", {"from": [a["id"]]}, expect=200)
    assert [shown(client, m)[side]["contact_id"] for side in ("sender", "recipient")] == [b["id"], b["id"]]
    assert [x["id"] for x in client.get(f"{MANIFESTS}?sender={b['id']}").data] == [m["id"]] and not client.get(f"{MANIFESTS}?recipient={a['id']}").data
