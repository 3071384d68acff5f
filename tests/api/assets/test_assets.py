"""Assets: spec 02 sections 9 and 11, spec 09 section 6."""
import concurrent.futures
import datetime

import pytest

from asset_rows import ASSETS, asset_item, found, get, make, place, post, refused
from stock import ITEMS, make_item
from wharf import make_contact, make_location, until

NOW = datetime.datetime.now(datetime.timezone.utc)


def at(**delta):
    return (NOW + datetime.timedelta(**delta)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


@pytest.fixture(scope="module")
def home(client):
    return make_location(client, "Home")


@pytest.fixture(scope="module")
def laptop(client):
    return asset_item(client, "Laptop", sku="LAP-1", gtin="4006381333931", vendor="Maker", description="Thirteen inches", color="grey", size="13", length=12.5, weight=2.25)


# ---- create, item, place ----

def test_create(client, org, home, laptop):
    row = make(client, laptop, home)
    assert row["object"] == "asset" and row["id"].startswith("ast_")
    assert row["status"] == "in_storage" and row["currency"] == "USD" and row["images"] == [] and row["metadata"] == {} and row["archived_at"] is None
    assert (row["overdue"], row["is_warranty_valid"], row["maintenance_status"]) == (False, False, "good")
    assert row["layout_id"] == home["default_layout_id"] and row["_documents"] is None and row["serial_number"]
    assert {k: row[k] for k in ("name", "sku", "gtin", "upc", "vendor", "description", "color", "size", "length", "width", "weight")} == {
        "name": "Laptop", "sku": "LAP-1", "gtin": "4006381333931", "upc": None, "vendor": "Maker", "description": "Thirteen inches", "color": "grey", "size": "13",
        "length": 12.5, "width": None, "weight": 2.25}
    assert get(client, row) == row and [e[0] for e in org.events(row["id"])] == ["asset.created"]
    for hidden in ("is_archived", "archived", "sequence_id", "options", "force_update"):
        assert hidden not in row
    assert make(client, laptop, home, currency="eur", value=12.3456, initial_value=20)["currency"] == "EUR"
    for body, field in (({"item_id": None}, "item_id"), ({"location_id": None}, "location_id"), ({"serial_number": "x" * 129}, "serial_number"), ({"currency": "EU"}, "currency"),
                        ({"value": -1}, "value"), ({"value": 1.23456}, "value"), ({"images": [f"https://x.example/{i}" for i in range(21)]}, "images"), ({"status": "gone"}, "status"),
                        ({"maintenance_schedule": "hourly"}, "maintenance_schedule"), ({"item_id": "item_0000000000000000000000"}, "item_id")):
        client.refused("POST", ASSETS, 400, "validation.failed", [field], body={"item_id": laptop["id"], "location_id": home["id"], **body})
    refused(client, row, 400, "validation.failed", ["item_id"], item_id=asset_item(client)["id"])


@pytest.mark.parametrize("field, most", [("serial_number", 128), ("barcode", 128), ("category", 100), ("sub_category", 100), ("disposal_comment", 2000), ("manifest_id", 64)])
def test_longest_text(client, home, laptop, field, most):
    row = make(client, laptop, home)
    assert post(client, row, **{field: "é" * most})[field] == "é" * most
    refused(client, row, 400, "validation.failed", [field], **{field: "é" * (most + 1)})


def test_documents_are_asked_for(client, home, laptop):
    """Spec 02 section 9 [S]: _documents is null unless it is asked for."""
    row = make(client, laptop, home)
    a = client.get(f"{ASSETS}/{row['id']}?include_documents=true", expect=None)
    assert a.data["_documents"] == [] if a.status == 200 else (a.code, a.errors) == ("param.invalid", ["include_documents"])
    assert get(client, row)["_documents"] is None and "_documents" not in client.get(f"{ASSETS}?id={row['id']}").data[0]


def test_only_items_that_are_assets_have_them(client, home):
    plain = make_item(client, "Pen")
    body = {"item_id": plain["id"], "location_id": home["id"]}
    client.refused("POST", ASSETS, 400, "asset.item_not_asset", ["item_id"], body=body)
    path = f"{ITEMS}/{plain['id']}"
    client.post(path, {"is_asset": True}, expect=200)
    row = client.post(ASSETS, body, expect=201).data
    client.refused("POST", path, 409, "item.has_assets", ["is_asset"], body={"is_asset": False})
    client.refused("DELETE", path, 409, "item.has_assets", [])
    client.post(path, {"status": "archived"}, expect=200)
    client.refused("POST", ASSETS, 409, "item.archived", ["item_id"], body=body)
    client.post(path, {"status": "active"}, expect=200)
    client.delete(f"{ASSETS}/{row['id']}")
    assert client.post(path, {"is_asset": False}, expect=200).data["is_asset"] is False
    refused(client, row, 400, "asset.item_not_asset", ["item_id"], archived=False)
    client.delete(path)
    refused(client, row, 400, "asset.item_not_asset", ["item_id"], archived=False)
    assert get(client, row)["name"] == "Pen"


def test_a_build_makes_no_assets(client, home):
    machine, screw = make_item(client, "Machine", is_asset=True, item_type="assembly"), make_item(client, "Screw", levels=[{"location_id": home["id"], "available_qty": 5}])
    bom = client.post(f"{ITEMS}/{machine['id']}/boms", {"components": [{"item_id": screw["id"], "quantity": 2}]}, expect=201).data
    client.post(f"{ITEMS}/{machine['id']}/boms/{bom['id']}/build", {"location_id": home["id"], "quantity": 2}, expect=201)
    assert found(client, f"item_id={machine['id']}&list_archived=all") == [] and client.get(f"{ITEMS}/{machine['id']}").data["totals"]["available_qty"] == 2


def test_an_asset_and_its_item_at_one_time(server, org, client, home):
    """An asset is made while another request takes is_asset from its item: one of them is refused."""
    item = asset_item(client)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%items%%item%%'"
    other = org.client()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        with server.held("SELECT 1 FROM items.item WHERE id = %s FOR UPDATE", item["id"]):
            asset = pool.submit(client.post, ASSETS, {"item_id": item["id"], "location_id": home["id"]})
            change = pool.submit(other.post, f"{ITEMS}/{item['id']}", {"is_asset": False})
            until(lambda: server.sql(waiting) == [(2,)])
        codes = {asset.result().code, change.result().code}
    assert codes in ({None, "asset.item_not_asset"}, {None, "item.has_assets"})


def test_name_and_sku_follow_the_item(client, org, home):
    item = asset_item(client, "Scale", sku="SC-1")
    row, gone = make(client, item, home), make(client, item, home)
    client.delete(f"{ASSETS}/{gone['id']}")
    client.post(f"{ITEMS}/{item['id']}", {"name": "Bench scale", "sku": None, "color": "blue"}, expect=200)
    assert [(r["name"], r["sku"], r["color"]) for r in (get(client, row), get(client, gone))] == [("Bench scale", None, "blue")] * 2
    assert found(client, f"item_id={item['id']}&search=bench") == [row["id"]] and found(client, f"item_id={item['id']}&search=SC-1") == []
    assert [e[0] for e in org.events(row["id"])] == ["asset.created"]


def test_places(client, laptop):
    here, shelf = place(client, "Shelf")
    there, rack = place(client, "Rack")
    row = make(client, laptop, here, layout_id=shelf)
    assert row["layout_id"] == shelf
    client.refused("POST", ASSETS, 400, "layout.location_mismatch", ["layout_id"], body={"item_id": laptop["id"], "location_id": here["id"], "layout_id": rack})
    refused(client, row, 400, "layout.location_mismatch", ["layout_id"], layout_id=rack)
    refused(client, row, 400, "validation.failed", ["location_id"], location_id=None)
    moved = post(client, row, location_id=there["id"])
    assert (moved["location_id"], moved["layout_id"]) == (there["id"], there["default_layout_id"])
    assert post(client, row, layout_id=rack)["layout_id"] == rack and post(client, row, layout_id=None)["layout_id"] == there["default_layout_id"]
    assert found(client, f"layout_path=/Shelf&location_id={here['id']}") == [] and found(client, f"layout_id={there['default_layout_id']}") == [row["id"]]
    client.post(f"/v1/locations/{here['id']}", {"active": False}, expect=200)
    client.refused("POST", ASSETS, 400, "location.inactive", ["location_id"], body={"item_id": laptop["id"], "location_id": here["id"]})
    refused(client, row, 400, "location.inactive", ["location_id"], location_id=here["id"])


def test_edge_case_4_deleting_a_parent_layout_moves_what_stands_below(client, laptop):
    location = make_location(client, "Tree")
    path = f"/v1/locations/{location['id']}/layouts"
    a = client.post(path, {"name": "A"}, expect=201).data["id"]
    b = client.post(path, {"name": "B", "path": a}, expect=201).data["id"]
    to = client.post(path, {"name": "To"}, expect=201).data["id"]
    rows = [make(client, laptop, location, layout_id=x) for x in (a, b, b)]
    client.delete(f"{ASSETS}/{rows[2]['id']}")
    client.delete(f"{path}/{b}?move_to={to}")
    assert [get(client, r)["layout_id"] for r in rows] == [a, to, to]
    client.delete(f"{path}/{a}")
    assert [get(client, r)["layout_id"] for r in rows] == [location["default_layout_id"], to, to]
    assert len(found(client, f"location_id={location['id']}")) == 2


def test_a_location_with_assets_stays(client, laptop):
    location, other = make_location(client, "Going"), make_location(client, "Staying")
    row, sold = make(client, laptop, location), make(client, laptop, location, status="sold")
    client.refused("DELETE", f"/v1/locations/{location['id']}", 409, "location.in_use", ["assets"])
    client.delete(f"{ASSETS}/{row['id']}")
    client.delete(f"/v1/locations/{location['id']}")
    assert get(client, sold)["location_id"] == location["id"]
    refused(client, row, 400, "validation.failed", ["location_id"], archived=False)
    back = post(client, row, archived=False, location_id=other["id"])
    assert (back["location_id"], back["layout_id"], back["archived_at"]) == (other["id"], other["default_layout_id"], None)
    kept = make(client, laptop, other)
    client.delete(f"/v1/locations/{other['id']}?force=true")
    assert get(client, kept)["location_id"] == other["id"]


def test_edge_case_11_moves_need_both_locations(org, client, laptop):
    a, b = make_location(client, "A"), make_location(client, "B")
    row, far = make(client, laptop, a), make(client, laptop, b)
    narrow = org.client(locations=[a["id"]])
    assert set(narrow.get(f"{ASSETS}?limit=1000").ids) == {row["id"]}
    narrow.refused("GET", f"{ASSETS}?location_id={b['id']}", 403, "location_access", [b["id"]])
    refused(narrow, row, 403, "location_access", [b["id"]], location_id=b["id"])
    refused(narrow, far, 403, "location_access", [b["id"]], location_id=a["id"])
    narrow.refused("DELETE", f"{ASSETS}/{far['id']}", 403, "location_access", [b["id"]])
    assert get(client, row)["location_id"] == a["id"] and get(client, far)["archived_at"] is None


# ---- statuses ----

def test_loans(client, org, home, laptop):
    who = make_contact(client, "Ann")
    row = make(client, laptop, home)
    for status in ("on_loan", "in_use"):
        refused(client, row, 400, "asset.assignee_required", ["assignee_id"], status=status)
        client.refused("POST", ASSETS, 400, "asset.assignee_required", ["assignee_id"], body={"item_id": laptop["id"], "location_id": home["id"], "status": status})
    refused(client, row, 400, "validation.failed", ["due_back_at"], due_back_at=at(days=1))
    lent = post(client, row, status="on_loan", assignee_id=who, due_back_at=at(days=-1))
    assert lent["overdue"] is True and lent["assignee_id"] == who and found(client, "overdue=true") == [row["id"]]
    assert post(client, row, due_back_at=at(days=1))["overdue"] is False
    refused(client, row, 400, "asset.assignee_required", ["assignee_id"], assignee_id=None)
    used = post(client, row, status="in_use")
    assert used["assignee_id"] == who and used["due_back_at"] is None and used["overdue"] is False
    assert found(client, f"assignee={who}") == found(client, f"assignee_id={who}") == [row["id"]]
    back = post(client, row, status="in_storage")
    assert back["assignee_id"] is None and found(client, f"assignee={who}") == []
    log = org.changes(row["id"])
    assert [{c["field"]: (c["old"], c["new"]) for c in line[1]}["assignee_id"] for line in (log[1], log[-1])] == [(None, who), (who, None)]


def test_closed_assets(client, home, laptop):
    for status in ("disposed", "sold", "donated"):
        row = post(client, make(client, laptop, home), status=status, disposal_comment="Too old")
        assert row["disposed_at"] is not None
        refused(client, row, 409, "asset.closed", ["status"], status="in_storage")
        refused(client, row, 409, "asset.closed", ["status"], status="in_storage", force_update=False)
        assert post(client, row, notes="Still to be written to")["status"] == status
        other = "sold" if status != "sold" else "donated"
        refused(client, row, 409, "asset.closed", ["status"], status=other)
        assert post(client, row, status=other, force_update=True)["disposed_at"] == row["disposed_at"]
        back = post(client, row, status="in_storage", force_update=True)
        assert back["disposed_at"] is None and back["disposal_comment"] == "Too old"
    assert post(client, row, status="disposed", disposed_at="2024-01-02T00:00:00Z")["disposed_at"] == "2024-01-02T00:00:00.000Z"
    assert make(client, laptop, home, status="disposed")["disposed_at"] is not None
    assert make(client, laptop, home, status="disposed", disposed_at=None)["disposed_at"] is None
    for status in ("in_repair", "in_transit", "in_pipeline", "lost", "missing", "stolen", "out_of_service", "for_sale"):
        assert post(client, make(client, laptop, home), status=status)["status"] == status


def test_by_the_day_on_which_they_are_due_back(client, home):
    item, who = asset_item(client), make_contact(client, "Eve")
    soon, late, none = (make(client, item, home, status="on_loan", assignee_id=who, due_back_at=w) for w in (at(days=1), at(days=9), None))
    query = f"item_id={item['id']}"
    assert found(client, f"{query}&due_back_at[lt]={at(days=2)}") == [soon["id"]] and found(client, f"{query}&due_back_at[gt]={at(days=2)}") == [late["id"]]
    assert found(client, f"{query}&order_by=due_back_at&direction=asc")[:2] == [soon["id"], late["id"]] and found(client, f"{query}&overdue=false") and none["overdue"] is False


# ---- the change log ----

def test_every_change_is_logged_with_both_values(client, org, home, laptop):
    """Spec 02 section 9: old and new value of every field, [S] for notes."""
    row = make(client, laptop, home, notes="Scratched", value=5)
    there, who = make_location(client, "Elsewhere"), make_contact(client, "Log")
    fields = {"notes": "Repaired", "value": 7.25, "initial_value": 9, "barcode": "L-1", "category": "C", "sub_category": "S", "currency": "EUR", "manifest_id": "mfst_2", "purchased_at": at(days=-9),
              "warranty_expires_at": at(days=9), "next_maintenance_at": at(days=60), "maintenance_schedule": "yearly", "disposal_comment": "None", "images": ["https://x.example/1"],
              "metadata": {"k": "v"}, "serial_number": f"LOG-{row['id']}", "location_id": there["id"], "layout_id": there["default_layout_id"], "status": "on_loan", "assignee_id": who, "due_back_at": at(days=3)}
    new = post(client, row, **fields)
    logged = {c["field"]: (c["old"], c["new"]) for c in org.changes(row["id"])[-1][1]}
    for field in fields.keys() - {"metadata"}:
        old, now = logged.pop(field)
        same = (lambda a, b: a == b) if not field.endswith("_at") else (lambda a, b: (a is None and b is None) or a[:19] == b[:19])
        assert same(old, row[field]) and same(now, new[field]), field
    assert logged and all(field.startswith("metadata") for field in logged)


# ---- notes ----

def test_edge_case_8_notes(client, org, home, laptop):
    """Spec 02 section 9 [S]: null clears notes, an empty text leaves them, search does not find them, and the change log has both values."""
    whole = "\U0001F4E6" * 15988 + "quetzalcoatl"
    row = make(client, laptop, home, notes="")
    assert row["notes"] is None
    assert post(client, row, notes=whole)["notes"] == whole
    events, log = len(org.events(row["id"])), len(org.changes(row["id"]))
    before = get(client, row)
    assert post(client, row, notes="") == before
    assert (len(org.events(row["id"])), len(org.changes(row["id"]))) == (events, log)
    refused(client, row, 400, "validation.failed", ["notes"], notes="x" * 16001)
    assert found(client, "search=quetzalcoatl") == []
    assert post(client, row, notes=None)["notes"] is None
    assert [c for c in org.changes(row["id"])[-1][1] if c["field"] == "notes"] == [{"field": "notes", "old": whole, "new": None}]
    assert post(client, row, notes=" as sent\n")["notes"] == " as sent\n"
    assert post(client, row, notes="", category="Tools")["notes"] == " as sent\n"


# ---- computed fields ----

def test_warranty(client, home, laptop):
    tag = "Warranty"
    on, off, none = (make(client, laptop, home, category=tag, warranty_expires_at=w) for w in (at(days=30), at(days=-1), None))
    assert [r["is_warranty_valid"] for r in (on, off, none)] == [True, False, False]
    assert found(client, f"category={tag}&is_warranty_valid=true") == [on["id"]] and set(found(client, f"category={tag}&is_warranty_valid=false")) == {off["id"], none["id"]}
    assert found(client, f"category={tag}&warranty_valid_until[lt]={at(days=1)}") == [off["id"]]


def test_maintenance(client, org, home, laptop):
    row = make(client, laptop, home)
    for days, status in ((-1, "required"), (6, "upcoming"), (8, "good")):
        assert post(client, row, next_maintenance_at=at(days=days))["maintenance_status"] == status
    assert found(client, f"next_maintenance_date[gt]={at(days=7)}&id={row['id']}") == [row["id"]] and found(client, f"next_maintenance_date[gt]={at(days=9)}&id={row['id']}") == []
    assert post(client, row, maintenance_status="ongoing", next_maintenance_at=at(days=-1))["maintenance_status"] == "ongoing"
    assert post(client, row, category="Kept")["maintenance_status"] == "ongoing"
    assert post(client, row, maintenance_status="good")["maintenance_status"] == "required"
    before = len(org.events(row["id"]))
    assert post(client, row, maintenance_status="upcoming")["maintenance_status"] == "required" and len(org.events(row["id"])) == before


@pytest.mark.parametrize("schedule, days", [("daily", (1, 1)), ("weekly", (7, 7)), ("monthly", (28, 31)), ("quarterly", (89, 92)), ("yearly", (365, 366))])
def test_schedules_set_the_next_date(client, home, laptop, schedule, days):
    def apart(row, since):
        return (datetime.datetime.fromisoformat(row["next_maintenance_at"].replace("Z", "+00:00")) - datetime.datetime.fromisoformat(since.replace("Z", "+00:00"))).days

    row = make(client, laptop, home, maintenance_schedule=schedule)
    assert days[0] <= apart(row, row["created_at"]) <= days[1]
    first = row["next_maintenance_at"]
    assert post(client, row, maintenance_schedule=schedule, category="Same")["next_maintenance_at"] == first
    sent = post(client, row, maintenance_schedule=None, next_maintenance_at="2024-05-31T08:00:00Z")
    assert sent["next_maintenance_at"] == "2024-05-31T08:00:00.000Z"
    assert post(client, row, maintenance_schedule=schedule, next_maintenance_at="2024-06-30T08:00:00Z")["next_maintenance_at"] == "2024-06-30T08:00:00.000Z"
    ongoing = post(client, row, maintenance_status="ongoing")
    assert ongoing["next_maintenance_at"] == "2024-06-30T08:00:00.000Z"
    done = post(client, row, maintenance_status="good")
    assert days[0] <= apart(done, done["updated_at"]) <= days[1] and done["maintenance_status"] == ("upcoming" if schedule in ("daily", "weekly") else "good")
    post(client, row, maintenance_status="ongoing")
    assert post(client, row, maintenance_status="good", next_maintenance_at="2024-07-31T08:00:00Z")["next_maintenance_at"] == "2024-07-31T08:00:00.000Z"  # it is sent


# ---- archiving ----

def test_delete_archives(client, org, home, laptop):
    row = make(client, laptop, home, serial_number="ARC-1", category="Archive")
    path = f"{ASSETS}/{row['id']}"
    answer = client.delete(path)
    assert answer.data == {"id": row["id"], "object": "asset", "deleted": True} and answer.body["message"] == "Asset archived"
    gone = get(client, row)
    assert gone["archived_at"] is not None and gone["updated_at"] >= row["updated_at"]
    assert found(client, "category=Archive") == found(client, "category=Archive&list_archived=false") == found(client, "search=ARC-1") == []
    assert found(client, "category=Archive&list_archived=true") == found(client, "search=ARC-1&list_archived=true") == [row["id"]]
    assert found(client, "category=Archive&list_archived=all") == [row["id"]]
    client.refused("DELETE", path, 404, "not_found", [row["id"]])
    assert post(client, row, notes="Found in the cellar")["archived_at"] == gone["archived_at"]
    again = make(client, laptop, home, serial_number="arc-1")
    refused(client, row, 409, "asset.exists", ["serial_number"], archived=False)
    client.delete(f"{ASSETS}/{again['id']}")
    back = post(client, row, archived=False)
    assert back["archived_at"] is None and found(client, "category=Archive") == [row["id"]]
    assert post(client, row, archived=False)["updated_at"] == back["updated_at"]
    assert post(client, row, archived=True)["archived_at"] is not None and found(client, "category=Archive") == []
    assert [e[0] for e in org.events(row["id"])] == ["asset.created", "asset.deleted", "asset.updated", "asset.updated", "asset.updated"]
    assert [c[0] for c in org.changes(row["id"])] == ["created", "deleted", "updated", "updated", "updated"]
    assert [(c["field"], c["new"]) for c in org.changes(row["id"])[3][1] if c["field"] == "archived_at"] == [("archived_at", None)]


def test_what_a_restored_asset_needs(client):
    item, place, other = asset_item(client, "Old"), make_location(client), make_location(client)
    row = make(client, item, place)
    client.delete(f"{ASSETS}/{row['id']}")
    client.post(f"/v1/locations/{place['id']}", {"active": False}, expect=200)
    refused(client, row, 400, "location.inactive", ["location_id"], archived=False)
    client.post(f"{ITEMS}/{item['id']}", {"status": "archived", "name": "Older"}, expect=200)
    assert (back := post(client, row, archived=False, location_id=other["id"]))["location_id"] == other["id"] and back["name"] == "Older"
    narrow = client.server.organization().client()  # of somebody else
    narrow.refused("POST", f"{ASSETS}/{row['id']}", 404, "not_found", [row["id"]], body={"archived": False})


# ---- lists ----

def test_filters_and_search(client, home):
    one, two = asset_item(client, "Drill Zanzibar", sku="DRZ-77"), asset_item(client, "Anvil")
    a = make(client, one, home, serial_number="ZS-0001", barcode="BC-55", category="Power tools", manifest_id="mfst_1", metadata={"floor": "3"}, value=5)
    b = make(client, two, home, status="lost", serial_number="ZS-0002", barcode="BC-56", category="Hand tools", value=50)
    both = f"item_id={one['id']},{two['id']}"
    for query, rows in (("serial_number=zs-0001", [a]), ("barcode=BC-55", [a]), ("category=Power%20tools", [a]), ("manifest_id=mfst_1", [a]), ("status=lost", [b]), ("statuses=lost,stolen", [b]),
                        ("metadata[floor]=3", [a]), ("search=zanzibar", [a]), ("search=DRZ-77", [a]), ("search=S-0002", [b]), ("search=C-56", [b]), ("search=hand", [b]),
                        (f"location_id={home['id']}&status=in_storage", [a]), (f"item_id={one['id']}", [a])):
        assert found(client, f"{both}&{query}" if not query.startswith("item_id") else query) == [r["id"] for r in rows], query
    for order, first in (("name", b), ("serial_number", a), ("value", a), ("created_at", a), ("updated_at", a)):
        for direction, rows in (("asc", [first, b if first is a else a]), ("desc", [b if first is a else a, first])):
            assert found(client, f"{both}&order_by={order}&direction={direction}") == [r["id"] for r in rows], order
    assert found(client, both) == [b["id"], a["id"]]
    client.refused("GET", f"{ASSETS}?order_by=notes", 400, "param.invalid", ["order_by"])
