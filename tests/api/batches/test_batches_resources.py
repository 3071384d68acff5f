"""Batches of each resource (spec 10 sections 3 and 8): what each takes, and the shapes that are its own."""
import json

import pytest

from test_batches import BATCHES, ids, lines, run
from test_batches_background import later, wait
from test_batches_files import data_url, fetch, links, table
from wharf import ROOT, make_location

MODES = ("sync", "mixed", "async")
# resource: actions, actions with filters, a good item to create
TABLE = {
    "contact": ({"merge", "overwrite", "delete"}, {"merge", "overwrite", "delete"}, lambda i: {"name": f"C{i}"}),
    "group": ({"merge", "overwrite", "delete"}, {"merge", "overwrite", "delete"}, lambda i: {"name": f"G{i}", "resource": "contact"}),
    "shipment": ({"merge"}, {"merge"}, lambda i: {"tracking_number": f"BATCHSHIP{i}"}),
    "tracker": ({"merge"}, {"merge"}, lambda i: {"tracking_number": f"BATCHTRACK{i}"}),
    "location": ({"merge", "delete"}, {"merge", "delete"}, lambda i: {"name": f"L{i}", "address": {"formatted_address": "1 Main St, Springfield, IL 62701, US"}}),
    "parcel": ({"merge", "overwrite", "delete"}, {"merge", "overwrite", "delete"}, lambda i: {"name": f"P{i}"}),
    "container": ({"merge", "overwrite", "delete"}, {"merge", "overwrite", "delete"}, lambda i: {"name": f"K{i}"}),
    "item": ({"merge", "overwrite", "delete"}, {"merge", "overwrite", "delete"}, lambda i: {"name": f"I{i}"}),
    "asset": ({"merge", "overwrite", "delete"}, {"merge", "overwrite", "delete"}, lambda i: {}),
}
PATHS = {"contact": "/v1/contacts", "group": "/v1/groups", "shipment": "/v1/shipments", "tracker": "/v1/trackers", "location": "/v1/locations", "parcel": "/v1/parcels",
         "container": "/v1/containers", "item": "/v1/items", "asset": "/v1/assets"}


def do(client, mode, data, **more):
    return later(client, data, **more) if mode == "async" else run(client, data, mode=mode, **more)


def done(client, b):
    return [(i["index"], i["operation"], i["result_id"]) for i in client.get(f"{BATCHES}/{b['id']}/items?state=done&limit=1000").data]


@pytest.mark.parametrize("resource", TABLE)
def test_every_cell_of_the_table_in_every_mode(client, resource):
    actions, filters, item = TABLE[resource]
    for k, mode in enumerate(MODES):
        good = [item(100 * k + i) for i in range(3)]
        if resource == "asset":
            good = [{"item_id": client.post("/v1/items", {"name": "Thing", "is_asset": True}, expect=201).data["id"]} for _ in good]
        if resource in ("asset", "parcel"):
            good = [{**g, "location_id": make_location(client)["id"]} for g in good]
        b = do(client, mode, good, resource=resource)
        assert b["stats"]["created"] == 3 and [d[:2] for d in done(client, b)] == [(i, "created") for i in range(3)], (resource, mode, b)
        made = [d[2] for d in done(client, b)]
        assert all(client.get(f"{PATHS[resource]}/{i}").data["object"] == resource for i in made)
        for action in ("overwrite", "delete"):
            if action not in actions:
                client.refused("POST", BATCHES, 400, "batch.action_unsupported", ["action"], {"resource": resource, "action": action, "mode": mode, "data": [{"id": made[0]}]})
        for action in ("merge", "overwrite", "delete"):
            if action in actions and action not in filters:
                client.refused("POST", BATCHES, 400, "batch.action_unsupported", ["filters"], {"resource": resource, "action": action, "data": [], "filters": {"id": made}})
        b = do(client, mode, [{"id": made[0], "metadata": {"k": "v"}}], resource=resource)
        assert [d[1:] for d in done(client, b)] == [("updated", made[0])]
        assert client.get(f"{PATHS[resource]}/{made[0]}").data["metadata"] == {"k": "v"}
        if "overwrite" in actions:
            b = do(client, mode, [{"id": made[0], **{k: v for k, v in good[0].items() if k != "resource"}, **({"resource": "contact"} if resource == "group" else {})}],
                   resource=resource, action="overwrite")
            assert [d[1:] for d in done(client, b)] == [("overwritten", made[0])], client.get(f"{BATCHES}/{b['id']}/items").data
            assert client.get(f"{PATHS[resource]}/{made[0]}").data["metadata"] == {}
        if "delete" in actions:
            b = do(client, mode, [{"id": made[0]}], resource=resource, action="delete")
            assert [d[1:] for d in done(client, b)] == [("deleted", made[0])]
            if resource == "asset":  # it is archived
                assert client.get(f"{PATHS[resource]}/{made[0]}").data["archived_at"]
            else:
                client.refused("GET", f"{PATHS[resource]}/{made[0]}", 404, "not_found")
        b = client.post(BATCHES, {"resource": resource, "action": "merge", "mode": mode, "data": [], "filters": {"id": made[1:]}, "properties": {"metadata": {"f": "1"}}}, expect=202).data
        b = wait(client, b["id"])
        assert (b["mode"], b["status"], b["stats"]["updated"]) == ("async", "completed", 2)


def test_a_group_is_known_by_its_name_and_kind(client):
    first = ids(run(client, [{"name": "Known", "resource": "contact"}], resource="group"))[0]
    b = run(client, [{"name": "KNOWN", "resource": "contact", "external_id": "K-1"}, {"name": "Known", "resource": "location"}], resource="group")
    assert [r["operation"] for r in b["results"]] == ["updated", "created"] and ids(b)[0] == first
    assert client.get(f"/v1/groups/{first}").data["external_id"] == "K-1" and client.get(f"/v1/groups/{first}").data["name"] == "KNOWN"
    people = ids(run(client, [{"name": "Child"}]))
    same = {"name": "KNOWN", "type": "contact", "external_id": "K-1", "group_contacts": {"children": people}}
    assert [run(client, [same], resource="group")["results"][0]["operation"] for _ in range(2)] == ["updated", "unchanged"]
    other = ids(run(client, [{"name": "Other", "resource": "contact", "external_id": "K-2"}], resource="group"))[0]
    b = run(client, [{"external_id": "K-2", "name": "Known", "resource": "contact"}], resource="group", match_by="external_id")
    assert lines(b, "index", "code") == [(0, "group.exists")] and client.get(f"/v1/groups/{other}").data["name"] == "Other", "who is named by external_id is meant"
    b = run(client, [{"external_id": "K-2", "name": "Renamed", "resource": "contact"}], resource="group", match_by="external_id")
    assert ids(b) == [other] and client.get(f"/v1/groups/{other}").data["name"] == "Renamed"


def test_groups_with_their_children(client):
    people = ids(run(client, [{"name": f"Child {i}"} for i in range(3)]))
    b = run(client, [{"name": "Team", "resource": "contact", "group_contacts": {"children": people[:2], "primary": people[:1]}},
                     {"name": "Odd", "resource": "contact", "group_contacts": {"children": people[:1], "primary": people[1:2]}}], resource="group")
    assert lines(b, "index", "code") == [(1, "group.primary_not_child")]
    g = ids(b)[0]
    run(client, [{"id": g, "group_contacts": {"children": people[1:]}}], resource="group")
    assert client.get(f"/v1/groups/{g}").data["group_contacts"]["children"] == people[1:]
    b = run(client, data_url(table([["name", "type", "members"], ["From a file", "contact", "; ".join(people)]])), resource="group")
    assert client.get(f"/v1/groups/{ids(b)[0]}").data["group_contacts"]["children"] == people
    place = make_location(client)["id"]
    b = run(client, [{"name": "Sites", "resource": "location", "group_contacts": {"children": [place]}}, {"name": "Wrong", "resource": "location", "group_contacts": {"children": people[:1]}}], resource="group")
    assert [r["index"] for r in b["results"]] == [0] and b["errors"][0]["index"] == 1


# what two items of one batch can't share: the later of each pair repeats the first one
REPEATS = [("group", [{"name": "R1", "resource": "contact"}, {"name": " R1 ", "resource": "contact"}, {"name": "R1", "resource": "location"}], {}),
           ("tracker", [{"tracking_number": "RPT 100"}, {"tracking_number": "rpt100"}, {"tracking_number": "RPT101"}], {}),
           ("shipment", [{"tracking_number": "RPT 200"}, {"tracking_number": "rpt200"}, {"tracking_number": "RPT201"}], {}),
           ("location", [{"name": "R2", "code": "r2"}, {"name": "Other", "code": "r2"}, {"name": "R2"}], {}),
           ("location", [{"name": "R3"}, {"name": "R3 "}, {"name": "R4"}], {}),
           ("parcel", [{"name": "a", "tracking_number": "RPT 300"}, {"name": "b", "tracking_number": "rpt300"}, {"name": "c"}], {}),
           ("container", [{"name": "a", "tracking_number": "RPT 400"}, {"name": "b", "tracking_number": "rpt400"}, {"name": "c"}], {}),
           ("contact", [{"name": "a", "email": "R@b.example", "phone": "2175550181"}, {"name": "b", "email": "r@b.example"}, {"name": "c", "phone": "2175550181"}], {}),
           ("contact", [{"name": "a", "phone": "217 555 0191"}, {"name": "b", "phone": "+1 217-555-0191"}, {"name": "c"}], {}),
           ("contact", [{"name": "a", "external_id": "r5"}, {"name": "b", "external_id": " r5"}, {"name": "c", "external_id": "R5"}], {"match_by": "external_id"}),
           ("contact", [{"id": "ctct_0000000000000000000000", "name": "a"}, {"id": "ctct_0000000000000000000000", "name": "b"}, {"name": "c"}], {}),
           ("layout", [{"location_id": "loc_1", "layouts": [{"name": "a"}]}, {"location_id": "loc_1", "layouts": [{"name": "b"}]}, {"location_id": "loc_2", "layouts": [{"name": "c"}]}], {})]


@pytest.mark.parametrize("how, ignored", [("use_first", [1]), ("ignore_all", [0, 1])])
def test_what_repeats_another_item_of_its_batch(client, how, ignored):
    """spec 10 section 6, line by line."""
    for resource, items, more in REPEATS:
        b = run(client, items, resource=resource, validate_only=True, duplicate_handling=how, **more)
        told = [(e["index"], e["duplicate_of"]) for e in b["errors"] if e["code"] == "batch.duplicate"]
        assert told == [(i, 1 - i) for i in ignored] and b["stats"]["ignored"] == len(ignored), (resource, items, b["errors"])


def test_overwrite_leaves_states(client):
    """spec 10 section 3: what a record has become is no field of an item."""
    place = make_location(client)["id"]
    box = client.post("/v1/containers", {"name": "Full", "location_id": place, "metadata": {"a": "1"}}, expect=201).data["id"]
    client.post(f"/v1/containers/{box}", {"status": "in_transit"}, expect=200)
    b = run(client, [{"id": box, "name": "Renamed", "location_id": place}], resource="container", action="overwrite")
    row = client.get(f"/v1/containers/{box}").data
    assert [r["operation"] for r in b["results"]] == ["overwritten"] and (row["name"], row["status"], row["metadata"]) == ("Renamed", "in_transit", {})


def test_overwrite_leaves_links(client):
    """spec 10 section 3: links to other resources that an item does not name stay; null ends them."""
    place = make_location(client)["id"]
    links = {"location_id": place, "user_id": client.post("/v1/users", {"name": "Driver", "email": "driver@b.example", "role": "user"}, expect=201).data["id"], "vehicle_id": "van 7"}
    box = client.post("/v1/containers", {"name": "Linked", **links}, expect=201).data["id"]
    run(client, [{"id": box, "name": "Renamed"}], resource="container", action="overwrite")
    row = client.get(f"/v1/containers/{box}").data
    assert row["name"] == "Renamed" and {k: row[k] for k in links} == links
    run(client, [{"id": box, "vehicle_id": None, "user_id": None}], resource="container", action="overwrite")
    row = client.get(f"/v1/containers/{box}").data
    assert (row["name"], row["user_id"], row["vehicle_id"], row["location_id"]) == (None, None, None, place)


# Fields that end in _id and hold no id of a record of ours: what another system calls the row.
OTHERS_WORDS = {"external_id", "external_container_id", "provider_id", "provider_service_level_id", "account_id"}


def test_definitions_say_which_fields_are_links():
    """What overwrite has to leave alone is known from the definition: a link has "ref" or is named by "keep"."""
    known = 0
    for file in (ROOT / "schemas").glob("*/*.json"):
        definition = json.loads(file.read_text())
        batch = definition["x-wharf"].get("batch")
        if not batch or "overwrite" not in (batch if isinstance(batch, list) else batch["actions"]) or (isinstance(batch, dict) and batch.get("own_shape")):
            continue
        known += 1
        for name, field in definition["properties"].items():
            x = field.get("x-wharf", {})
            if name.endswith(("_id", "_ids")) and x.get("write") not in ("never", "create") and name not in OTHERS_WORDS:
                assert "ref" in x or name in batch["keep"], (definition["$id"], name)
    assert known >= 4


def test_the_location_of_a_batch_is_that_of_items_without_one(client):
    """spec 10 section 5: item, properties, the batch, in this order; changes keep theirs."""
    a, b, c = (make_location(client)["id"] for _ in range(3))
    made = run(client, [{"name": "own", "location_id": a}, {"name": "batch"}], resource="parcel", location_id=c)
    assert made["location_id"] == c and [client.get(f"/v1/parcels/{i}").data["location_id"] for i in ids(made)] == [a, c]
    some = run(client, [{"name": "own", "location_id": a}, {"name": "properties"}], resource="container", location_id=c, properties={"location_id": b})
    assert [client.get(f"/v1/containers/{i}").data["location_id"] for i in ids(some)] == [a, b]
    run(client, [{"id": ids(made)[0], "metadata": {"k": "v"}}], resource="parcel", location_id=c)
    assert client.get(f"/v1/parcels/{ids(made)[0]}").data["location_id"] == a


PARTY = {"name": "Ann", "email": "ann@b.example", "phone": "2175550100", "address": "1 Main St, Springfield, IL 62701, US"}


def test_shipments_by_number_by_parties_and_by_id(client):
    b = run(client, [{"tracking_number": "SHAPE1"}, {"sender": PARTY, "recipient": PARTY, "parcels": [{"length": 1, "width": 2, "height": 3, "weight": 4}]},
                     {"notes": "nothing to ship"}, {"tracking_number": " shape 1 "}, {"tracking_number": "SHAPE2", "sender": PARTY, "recipient": PARTY, "parcels": [{"length": 1, "width": 2, "height": 3, "weight": 4}]}],
            resource="shipment", duplicate_handling="use_first")
    assert lines(b, "index", "code") == [(2, "batch.shape"), (3, "batch.duplicate")]
    assert [r["index"] for r in b["results"]] == [0, 1, 4]
    assert client.get(f"/v1/shipments/{ids(b)[2]}").data["tracking_number"] == "SHAPE2"
    b = run(client, [{"tracking_number": "SHAPE1"}], resource="shipment")  # as its POST: the one that is there
    assert b["stats"]["unchanged"] == 1
    text = table([["tracking no", "recipient", "recipient email", "weight"], ["SHAPE3", "Bob", "bob@b.example", "2.5"]])
    b = run(client, data_url(text), resource="shipment")
    assert client.get(f"/v1/shipments/{ids(b)[0]}").data["recipient"]["name"] == "Bob"


def test_a_shipment_in_a_container_is_refused(client):
    place, other = make_location(client)["id"], make_location(client)["id"]
    box = client.post("/v1/containers", {"name": "Box", "location_id": place}, expect=201).data["id"]
    b = run(client, [{"tracking_number": f"INBOX{i}"} for i in range(3)], resource="shipment", properties={"container_id": box, "location_id": place})
    assert b["stats"]["created"] == 3
    inside = ids(b)
    assert {s["id"] for s in client.get(f"/v1/containers/{box}?include_shipments=true").data["shipments"]} == set(inside) if client.get(
        f"/v1/containers/{box}?include_shipments=true").data.get("shipments") else True
    assert all(client.get(f"/v1/shipments/{i}").data["container_id"] == box for i in inside)
    b = run(client, [{"id": inside[0], "notes": "x"}, {"id": inside[1], "container_id": box}], resource="shipment")
    assert lines(b, "index", "code") == [(0, "shipment.in_container"), (1, "shipment.in_container")]
    free = ids(run(client, [{"tracking_number": "INBOX9"}], resource="shipment"))[0]
    b = run(client, [{"id": free}], resource="shipment", properties={"container_id": box, "location_id": place})
    assert [r["operation"] for r in b["results"]] == ["updated"] and client.get(f"/v1/shipments/{free}").data["container_id"] == box
    b = run(client, [{"tracking_number": "INBOX10"}, {"tracking_number": "INBOX11"}], resource="shipment", properties={"container_id": box, "location_id": other})
    assert lines(b, "code", "errors") == [("validation.failed", ["container_id"])] * 2
    b = run(client, [{"tracking_number": "INBOX10"}], resource="shipment", properties={"container_id": "ctnr_0000000000000000000000"})
    assert lines(b, "code", "errors") == [("validation.failed", ["container_id"])]
    assert client.get("/v1/shipments?tracking_number=INBOX10").data == []


def test_a_shipment_in_a_container_is_refused_however_it_is_named(client):
    """By its number, by what its POST would find, and by a filter: none of them changes who is in a container."""
    box, other = (client.post("/v1/containers", {}, expect=201).data["id"] for _ in range(2))
    inside = ids(run(client, [{"tracking_number": "NAMED1"}], resource="shipment", properties={"container_id": box}))[0]
    b = run(client, [{"tracking_number": "named 1", "notes": "x"}], resource="shipment", match_by="tracking_number")
    assert lines(b, "code") == [("shipment.in_container",)]
    b = run(client, [{"tracking_number": "NAMED1"}], resource="shipment", properties={"container_id": other})
    assert lines(b, "code", "errors") == [("shipment.in_container", ["id"])]
    b = later(client, [], resource="shipment", filters={"id": [inside]}, properties={"notes": "x"})
    assert b["stats"]["updated"] == 0 and b["stats"]["errors"] == 1
    row = client.get(f"/v1/shipments/{inside}").data
    assert row["container_id"] == box and row["notes"] is None
    client.post(f"/v1/containers/{other}", {"status": "delivered"}, expect=200)
    b = run(client, [{"tracking_number": "NAMED2"}], resource="shipment", properties={"container_id": other})
    assert lines(b, "code", "errors") == [("container.completed", ["container_id"])]
    assert client.get("/v1/shipments?tracking_number=NAMED2").data == []


def test_trackers_by_number(client):
    b = run(client, [{"tracking_number": "TRK1", "metadata": {"a": "1"}}, {"provider_id": "x"}], resource="tracker")
    assert [r["operation"] for r in b["results"]] == ["created"] and b["errors"][0]["index"] == 1
    assert run(client, [{"tracking_number": "TRK1"}], resource="tracker")["stats"]["unchanged"] == 1
    b = run(client, [{"tracking_number": "trk1", "metadata": {"a": "2"}}], resource="tracker", match_by="tracking_number")
    assert [r["operation"] for r in b["results"]] == ["updated"] and client.get(f"/v1/trackers/{ids(b)[0]}").data["metadata"] == {"a": "2"}
    b = run(client, [{"tracking_number": " TRK 1 ", "notes": "by its number"}], resource="shipment", match_by="tracking_number")
    assert [r["operation"] for r in b["results"]] == ["updated"] and client.get(f"/v1/shipments/{ids(b)[0]}").data["notes"] == "by its number"


def test_locations(client):
    text = table([["Name", "Code", "Address", "Phone"], ["Depot", "dep1", "1 Main St, Springfield, IL 62701, US", "201 555 0101"]])
    b = run(client, data_url(text), resource="location")
    row = client.get(f"/v1/locations/{ids(b)[0]}").data
    assert (row["code"], row["address"]["city"]) == ("dep1", "Springfield")
    b = run(client, [{"code": "DEP1", "name": "Depot One"}], resource="location", match_by="code")
    assert b["results"][0]["operation"] == "updated"
    assert lines(run(client, [{"name": "no id"}], resource="location", action="delete"), "code", "errors") == [("validation.failed", ["id"])]


# ---- header names ----

HEADERS = {  # spec 10 section 9.1: every header name of the table, and where its cell goes
    "contact": ("name", {"full name": "name", "e-mail": "email", "E_Mail": "email", "email address": "email", "phone number": "phone", "mobile": "phone",
                         "notes": "notes", "address": "address.formatted_address", "contact id": "id", "metadata.any key": "metadata.any key"}),
    "group": ("name", {"type": "resource", "group id": "id"}),
    "shipment": ("tracking number", {"tracking": "tracking_number", "Tracking No": "tracking_number", "awb": "tracking_number", "recipient": "recipient.name",
                                     "recipient email": "recipient.email", "recipient phone": "recipient.phone", "recipient address": "recipient.address",
                                     "recipient address line2": "recipient.address_line2", "sender": "sender.name", "sender email": "sender.email",
                                     "sender phone": "sender.phone", "sender address": "sender.address", "sender address line2": "sender.address_line2",
                                     "length": "parcels.0.length", "width": "parcels.0.width", "height": "parcels.0.height", "weight": "parcels.0.weight", "shipment id": "id"}),
    "tracker": ("tracking number", {"tracking": "tracking_number", "tracking no": "tracking_number", "awb": "tracking_number", "carrier": "provider_id", "provider": "provider_id"}),
    "location": ("name", {"address": "address.formatted_address", "location id": "id"}),
    "parcel": ("name", {"parcel id": "id", "tracking number": "tracking_number"}),
    "container": ("name", {"container id": "id", "location id": "location_id"}),
    "asset": ("serial_number", {"asset id": "id", "serial": "serial_number", "image": "images.0"}),
}
LISTS = {"contact": (("groups", "group"), ("locations", "location")), "group": (("group_contacts.children", "children", "members"), ("group_contacts.primary", "primary"))}


def at(item, path):
    for step in path.split(".", 1) if path.startswith("metadata.") else path.split("."):
        item = item[int(step)] if isinstance(item, list) else item[step]
    return item


@pytest.mark.parametrize("resource", HEADERS)
def test_header_names_of_each_resource(client, resource):
    required, names = HEADERS[resource]
    for header, path in names.items():
        cell = "12" if path.startswith("parcels") else "Some text"
        head, row = ([header], [cell]) if path == required.replace(" ", "_") else ([required, header], ["R", cell])
        b = run(client, data_url(table([head, row])), resource=resource, validate_only=True, save_upload=True)
        assert b["file"]["unmapped_headers"] == [], (header, b["file"])
        item, = fetch(client, links(client, b, "upload_json")[0]).json()
        assert str(at(item, path)) == cell, (header, item)
    for path, *headers in LISTS.get(resource, ()):
        for header in headers:
            b = run(client, data_url(table([[required, header], ["R", "Nobody's; other"]])), resource=resource, validate_only=True)
            assert (b["file"]["unmapped_headers"], lines(b, "code", "errors")) == ([], [("reference.not_found", [path])]), header


# ---- layouts ----

def layouts(client, place):
    return {row["id"]: row for row in client.get(f"/v1/locations/{place}/layouts?path=all&limit=1000").data}


def default_of(place):
    return "lay_" + place[4:]


def test_layout_merge_takes_children_before_their_parents(client):
    place = make_location(client)["id"]
    b = run(client, [{"location_id": place, "layouts": [{"id": "lay_shelf1", "name": "Shelf", "path": "lay_aisle1"}, {"id": "lay_aisle1", "name": "Aisle"}]}], resource="layout")
    assert b["stats"]["updated"] == 1 and ids(b) == [place], b
    tree = layouts(client, place)
    assert tree["lay_shelf1"]["nested_name"] == "Aisle / Shelf" and default_of(place) in tree
    run(client, [{"layouts": [{"name": "Dock"}]}], resource="layout", location_id=place)  # others stay
    assert len(layouts(client, place)) == 4


def test_layout_overwrite_keeps_the_default(client, org):
    place = make_location(client)["id"]
    run(client, [{"location_id": place, "layouts": [{"id": f"lay_ow{i}", "name": f"Old {i}"} for i in range(3)] + [{"id": "lay_owchild", "name": "Child", "path": "lay_ow0"}]}], resource="layout")
    parcel = client.post("/v1/parcels", {"name": "Stays", "location_id": place, "layout_id": "lay_ow0"}, expect=201).data["id"]
    kept = client.post("/v1/parcels", {"name": "Kept", "location_id": place, "layout_id": "lay_ow1"}, expect=201).data["id"]
    b = run(client, [{"location_id": place, "layouts": [{"id": "lay_ow1", "name": "Still here"}, {"name": "New"}]}], resource="layout", action="overwrite")
    assert b["stats"]["overwritten"] == 1
    tree = layouts(client, place)
    assert set(tree) >= {default_of(place), "lay_ow1"} and len(tree) == 3 and {r["name"] for r in tree.values()} == {"Default", "Still here", "New"}
    assert client.get(f"/v1/parcels/{parcel}").data["layout_id"] == default_of(place) and client.get(f"/v1/parcels/{kept}").data["layout_id"] == "lay_ow1"
    told = [t[0] for t in org.told("type", "batch_id = %s AND type LIKE 'layout.%%'", b["id"])]
    assert told[:3] == ["layout.deleted"] * 3 and sorted(told[3:]) == ["layout.created", "layout.updated"]
    b = run(client, [{"location_id": place, "layouts": [{"id": default_of(place), "name": "Main"}]}], resource="layout", action="overwrite")
    assert {r["name"] for r in layouts(client, place).values()} == {"Main"}


def test_layout_errors_leave_everything_as_it_was(client):
    place, other = make_location(client)["id"], make_location(client)["id"]
    run(client, [{"location_id": place, "layouts": [{"id": "lay_e1", "name": "One"}, {"id": "lay_e2", "name": "Two", "path": "lay_e1"}]}], resource="layout")
    before = layouts(client, place)

    def wrong(code, errors, list, where=place, action="overwrite"):
        b = run(client, [{"location_id": where, "layouts": list}], resource="layout", action=action)
        assert lines(b, "code", "errors") == [(code, errors)], b["errors"]
        assert layouts(client, place) == before
    wrong("layout.cycle", ["layouts.0.path", "layouts.1.path"], [{"id": "lay_e1", "name": "One", "path": "lay_e2"}, {"id": "lay_e2", "name": "Two", "path": "lay_e1"}])
    wrong("layout.parent_not_found", ["layouts.1.path"], [{"name": "A"}, {"name": "B", "path": "lay_nowhere"}])
    wrong("layout.wrong_location", ["layouts.0.id"], [{"id": "lay_e1", "name": "One"}], other)
    wrong("layout.too_many", ["layouts"], [{"name": f"N{i}"} for i in range(401)])
    wrong("validation.failed", ["layouts.1.id"], [{"id": "lay_e3", "name": "A"}, {"id": "lay_e3", "name": "B"}])
    wrong("validation.failed", ["layouts.2.name"], [{"name": "A"}, {"name": "A", "path": "lay_e1"}, {"name": "A"}], action="merge")
    wrong("layout.default_protected", ["layouts.0.path"], [{"id": default_of(place), "path": "lay_e1"}], action="merge")
    client.post("/v1/locations/" + place, {"settings": {"layouts": {"locked": True}}}, expect=200)
    wrong("layout.locked", [], [{"name": "A"}])
    client.post("/v1/locations/" + place, {"settings": {"layouts": {"locked": False}}}, expect=200)
    b = run(client, [{"location_id": place, "layouts": [{"id": default_of(place)}]}], resource="layout", action="delete")
    assert lines(b, "code", "errors") == [("layout.default_protected", ["layouts.0.id"])]
    client.refused("POST", BATCHES, 400, "batch.action_unsupported", ["filters"], {"resource": "layout", "action": "merge", "data": [], "filters": {"id": ["lay_e1"]}})
    b = run(client, [{"location_id": place, "layouts": []}, {"layouts": [{"name": "x"}]}, {"location_id": other}], resource="layout")
    assert len(b["errors"]) == 3


def test_result_file_of_layouts(client):
    """An item is a location with its layouts: so is its result; a delete has those that it named."""
    place, other = make_location(client)["id"], make_location(client)["id"]
    items = [{"location_id": place, "layouts": [{"id": "lay_rf1", "name": "One"}, {"name": "Two", "path": "lay_rf1"}]}, {"location_id": other, "layouts": [{"name": "x" * 200}]}]
    b = run(client, items, resource="layout", save_result=True, save_result_date_format="epoch")
    told = fetch(client, links(client, b, "result_json")[0]).json()
    assert [t["location_id"] for t in told] == [place] and {r["id"] for r in told[0]["layouts"]} == set(layouts(client, place))
    assert {r["nested_name"] for r in told[0]["layouts"]} == {"Default", "One", "One / Two"} and all(type(r["created_at"]) is int and r["object"] == "layout" for r in told[0]["layouts"])
    b = run(client, [{"location_id": place, "layouts": [{"id": "lay_rf1"}]}], resource="layout", action="delete", save_result=True)
    assert fetch(client, links(client, b, "result_json")[0]).json() == [{"location_id": place, "layouts": [{"id": "lay_rf1", "deleted": True}]}]


def test_layout_rows_of_a_file_are_one_item_for_each_location(client):
    a, b = make_location(client)["id"], make_location(client)["id"]
    text = table([["location id", "layout id", "name", "parent"], [a, "lay_f1", "F1", ""], [b, "lay_g1", "G1", ""], [a, "lay_f2", "F2", "lay_f1"]])
    batch = run(client, data_url(text), resource="layout")
    assert ids(batch) == [a, b] and batch["phases"][0]["total"] == 2
    assert layouts(client, a)["lay_f2"]["nested_name"] == "F1 / F2" and "lay_g1" in layouts(client, b)


def test_layout_delete_takes_children_and_moves_contents(client):
    place = make_location(client)["id"]
    run(client, [{"location_id": place, "layouts": [{"id": "lay_d1", "name": "D1"}, {"id": "lay_d2", "name": "D2", "path": "lay_d1"}]}], resource="layout")
    parcel = client.post("/v1/parcels", {"name": "In D2", "location_id": place, "layout_id": "lay_d2"}, expect=201).data["id"]
    assert run(client, [{"location_id": place, "layouts": [{"id": "lay_d1"}]}], resource="layout", action="delete")["stats"]["deleted"] == 1
    assert set(layouts(client, place)) == {default_of(place)} and client.get(f"/v1/parcels/{parcel}").data["layout_id"] == default_of(place)


@pytest.mark.parametrize("number", ["1e999", "-1e400", "9" * 400])
def test_numbers_beyond_what_json_has(client, number):
    b = run(client, data_url(f"number,length\nPAR-A,{number}\n"), resource="parcel")
    assert b["stats"]["errors"] == 1 and b["stats"]["created"] == 0
