"""Assets beside other modules: contacts, reason codes, batches, exports (spec 02 sections 4 and 9, spec 10, spec 01 section 15)."""
import base64
import json

import pytest

from asset_rows import ASSETS, asset_item, found, get, make, place, post, refused
from test_batches import run
from test_batches_background import wait
from test_batches_files import fetch
from test_exports import export
from wharf import make_location


@pytest.fixture(scope="module")
def home(client):
    return make_location(client, "Home")


@pytest.fixture(scope="module")
def laptop(client):
    return asset_item(client, "Laptop", sku="BL-1")


def contact(client, name="Ann"):
    return client.post("/v1/contacts", {"name": name}, expect=201).data["id"]


def batch(client, data, **more):
    return run(client, data, resource="asset", **more)


def file(text):
    return "data:text/csv;base64," + base64.b64encode(text.encode()).decode()


def outcome(b):
    return [(r["operation"], r["id"]) for r in b["results"]]


# ---- contacts and reasons ----

def test_the_assignee_is_a_contact(client, home, laptop):
    row = make(client, laptop, home)
    refused(client, row, 400, "validation.failed", ["assignee_id"], status="on_loan", assignee_id="ctct_0000000000000000000000")
    ann, bob = contact(client), contact(client, "Bob")
    post(client, row, status="on_loan", assignee_id=bob)
    client.post(f"/v1/contacts/{ann}/merge", {"from": [bob]}, expect=200)
    assert get(client, row)["assignee_id"] == ann and found(client, f"assignee={ann}") == [row["id"]]
    client.delete(f"/v1/contacts/{ann}")
    assert post(client, row, category="Lent")["status"] == "on_loan"
    assert post(client, row, status="in_storage")["assignee_id"] is None


def test_reasons_of_disposal(client, home, laptop):
    def reason(code, resource, **more):
        return client.post("/v1/reason-codes", {"code": code, "name": code, "resources": [resource], **more}, expect=201).data["id"]

    row, good = make(client, laptop, home), reason("BROKEN", "asset")
    assert post(client, row, status="disposed", disposal_reason_code_id=good, disposal_comment="Fell")["disposal_reason_code_id"] == good
    path = ["disposal_reason_code_id"]
    refused(client, row, 400, "reason_code.resource_mismatch", path, disposal_reason_code_id=reason("LATE", "shipment"))
    refused(client, row, 400, "reason_code.inactive", path, disposal_reason_code_id=reason("OLD", "asset", active=False))
    refused(client, row, 400, "validation.failed", path, disposal_reason_code_id="rsn_nope")
    client.post(f"/v1/reason-codes/{good}", {"active": False}, expect=200)
    assert post(client, row, notes="Recycled")["disposal_reason_code_id"] == good
    assert post(client, row, disposal_reason_code_id=None)["disposal_reason_code_id"] is None


# ---- batches ----

def test_merge_creates_and_updates(client, org, home, laptop):
    where = {"item_id": laptop["id"], "location_id": home["id"]}
    b = batch(client, [{**where, "serial_number": "M-1"}, where, {**where, "status": "on_loan"}, {**where, "serial_number": "m-1"}], duplicate_handling="use_first")
    assert [r["operation"] for r in b["results"]] == ["created"] * 2 and b["stats"]["errors"] == 1 and b["stats"]["ignored"] == 1
    one = b["results"][0]["id"]
    b = batch(client, [{"serial_number": "M-1", "notes": "By its number"}], match_by="serial_number")
    assert outcome(b) == [("updated", one)] and get(client, {"id": one})["notes"] == "By its number"
    b = batch(client, [{"id": one, "notes": ""}, {"id": "ast_0000000000000000000000"}])
    assert b["stats"]["errors"] == 1 and get(client, {"id": one})["notes"] == "By its number"
    assert [e[0] for e in org.events(one)] == ["asset.created", "asset.updated"]
    other = asset_item(client)
    assert batch(client, [{**where, "serial_number": "M-9"}, {**where, "item_id": other["id"], "serial_number": "M-9"}])["stats"]["created"] == 2


def test_merge_by_barcode(client, home, laptop):
    row = make(client, laptop, home, barcode="BAR-77")
    b = batch(client, [{"barcode": "BAR-77", "category": "Scanned"}], match_by="barcode")
    assert outcome(b) == [("updated", row["id"])] and get(client, row)["category"] == "Scanned"


def test_overwrite_keeps_what_is_of_the_asset(client, home, laptop):
    ann = contact(client)
    row = make(client, laptop, home, serial_number="O-1", status="on_loan", assignee_id=ann, notes="Gone", category="Gone", value=5)
    assert outcome(batch(client, [{"id": row["id"], "item_id": laptop["id"], "location_id": home["id"], "barcode": "B"}], action="overwrite")) == [("overwritten", row["id"])]
    now = get(client, row)
    assert (now["serial_number"], now["status"], now["assignee_id"], now["layout_id"]) == ("O-1", "on_loan", ann, row["layout_id"])
    assert (now["notes"], now["category"], now["value"], now["barcode"], now["currency"]) == (None, None, None, "B", "USD")


def test_delete_archives(client, org, home, laptop):
    """One alone, some as a set with one that is archived already, and those of a filter."""
    a, b, c, *rest = (make(client, laptop, home, category="Batch") for _ in range(8))
    assert outcome(batch(client, [{"id": a["id"]}], action="delete")) == [("deleted", a["id"])]
    told = batch(client, [{"id": b["id"]}, {"id": a["id"]}, {"id": c["id"]}], action="delete")
    assert outcome(told) == [("deleted", b["id"]), ("deleted", c["id"])] and [(e["index"], e["code"]) for e in told["errors"]] == [(1, "not_found")]
    wait(client, batch(client, [], action="delete", filters={"category": "Batch"}, expect=202)["id"])
    for row in (a, b, c, *rest):
        now = get(client, row)
        assert now["archived_at"] == now["updated_at"] and [e[0] for e in org.events(row["id"])] == ["asset.created", "asset.deleted"]
        assert [line[0] for line in org.changes(row["id"])] == ["created", "deleted"]


def test_files(client, home, laptop):
    text = f"Item ID,Location ID,Serial,Status,Value,Image,metadata.floor\n{laptop['id']},{home['id']},F-1,in_repair,12.5,https://x.example/a.png,3\nBL-1,{home['id']},,,,,\n"
    b = batch(client, file(text))
    rows = [get(client, {"id": r["id"]}) for r in b["results"]]
    assert len(rows) == 2 and all(r["item_id"] == laptop["id"] for r in rows), b
    assert (rows[0]["serial_number"], rows[0]["status"], rows[0]["value"], rows[0]["images"], rows[0]["metadata"]) == ("F-1", "in_repair", 12.5, ["https://x.example/a.png"], {"floor": "3"})
    assert rows[1]["serial_number"].startswith("AST-")


# ---- exports ----

def test_exports(client, home):
    item = asset_item(client, "Export me", sku="EXP-1")
    row, gone = make(client, item, home, serial_number="E-1", notes="Line\nbreak"), make(client, item, home)
    client.delete(f"{ASSETS}/{gone['id']}")
    got = json.loads(fetch(client, export(client, resource="asset", options={"item_id": item["id"]}, formats=["json"])["_json_url"]).text)
    assert [r["id"] for r in got] == [row["id"]] and got[0]["name"] == "Export me" and got[0]["notes"] == "Line\nbreak" and got[0]["sku"] == "EXP-1"
    archived = json.loads(fetch(client, export(client, resource="asset", options={"item_id": item["id"], "list_archived": True}, formats=["json"])["_json_url"]).text)
    assert [r["id"] for r in archived] == [gone["id"]]


def test_layouts_of_batches(client, laptop):
    location, shelf = place(client, "Shelf")
    row = make(client, laptop, location, layout_id=shelf)
    run(client, [{"location_id": location["id"], "layouts": []}], resource="layout", action="overwrite")
    assert get(client, row)["layout_id"] == location["default_layout_id"]
