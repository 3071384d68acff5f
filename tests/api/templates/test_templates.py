"""Templates as rows: spec 05 section 7."""
from concurrent.futures import ThreadPoolExecutor

import pytest

from drawings import TEMPLATES, text
from wharf import Client, make_location

ITEM = "item__item_label_pdf"
TYPES = {"asset__asset_label_pdf", "container__container_label_pdf", "custom__pdf", "fulfillment__packing_slip_pdf", "item__item_label_pdf", "layout__bin_label_pdf",
         "manifest__receiving_sheet_pdf", "parcel__parcel_label_pdf", "shipment__bol_pdf", "shipment__shipping_label_pdf"}


def make(client, name="Mine", default=False, expect=201, type=ITEM, data=None, **more):
    return client.post(TEMPLATES, {"name": name, "set_as_default": default, "template_data": {"type": type, **(data or {})}, **more}, expect=expect).data


def status(client, id):
    return client.get(f"{TEMPLATES}/{id}").data["status"]


def builtin(client, type=ITEM):
    return client.get(f"{TEMPLATES}?type={type}&builtin=true").data[0]


def test_built_in_templates(fresh):
    """Spec 05 section 7 [P]: one of each type per organization, the default until another is; they stay."""
    client = fresh.client()
    rows = client.get(f"{TEMPLATES}?limit=100").data
    assert {r["type"] for r in rows} == TYPES and len(rows) == len(TYPES)
    assert all(r["builtin"] and r["status"] == "default" and r["version"] == 1 and r["location_id"] is None for r in rows)
    one = builtin(client)
    assert client.get(f"{TEMPLATES}/{one['id']}?version=1").data == client.get(f"{TEMPLATES}/{one['id']}").data
    client.refused("GET", f"{TEMPLATES}/{one['id']}?version=2", 404, "not_found")
    assert one == client.get(f"{TEMPLATES}/{one['id']}").data and one["template_data"] == {"type": ITEM} and one["dimensions"] == "2x1"
    client.refused("DELETE", f"{TEMPLATES}/{one['id']}", 409, "template.builtin")
    for change in ({"name": "Other"}, {"template_data": {"type": ITEM, "text_line_1": "x"}}, {"set_as_default": False}):
        client.refused("POST", f"{TEMPLATES}/{one['id']}", 409, "template.builtin", body=change)
    assert [r["id"] for r in client.get(f"{TEMPLATES}?limit=100").data] == [r["id"] for r in rows]


@pytest.mark.parametrize("path", [f"{TEMPLATES}?limit=100", f"{TEMPLATES}/{ITEM}/render"])
def test_who_asks_first(server, path):
    """Many at once, with keys that only read, on two workers: one row of each type, the same for all; a test key has rows of its own."""
    org = server.organization()
    keys = [org.client(scopes="templates:read") for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda c: c.get(path) if "?" in path else c.post(path, {"data": {"item": {"sku": "MUG-WH"}}}, expect=200), keys))
    assert len(answers) == 8
    seen = {tuple(sorted(c.get(f"{TEMPLATES}?limit=100").ids)) for c in keys}
    assert len(seen) == 1 and len(next(iter(seen))) == len(TYPES)
    assert all("?" not in path or tuple(sorted(a.ids)) in seen for a in answers)
    tried = Client(server, org.key("templates:read", test=True)).get(f"{TEMPLATES}?limit=100").ids
    assert len(tried) == len(TYPES) and not set(tried) & set(next(iter(seen)))
    assert server.sql("SELECT count(*) FROM templates.template WHERE organization_id = %s AND builtin AND status = 'default'", org.id) == [(len(TYPES),)]


def test_create_and_read(org, client):
    row = make(client, "Shelf tag", data={"text_line_1": "{{item.vendor}} {{item.name | upper}}", "dimensions": "1x2"})
    assert row["object"] == "template" and row["id"].startswith("temp_")
    assert (row["name"], row["type"], row["status"], row["builtin"], row["dimensions"], row["version"]) == ("Shelf tag", ITEM, "custom", False, "1x2", 1)
    assert {"item.vendor", "item.name", "item.sku"} <= set(row["placeholders"])
    assert client.get(f"{TEMPLATES}/{row['id']}").data == row
    assert [e[0] for e in org.events(row["id"])] == ["template.created"]
    client.refused("POST", TEMPLATES, 409, "template.exists", ["name"], body={"name": "shelf TAG", "set_as_default": False, "template_data": {"type": ITEM}})
    client.delete(f"{TEMPLATES}/{row['id']}")
    client.refused("GET", f"{TEMPLATES}/{row['id']}", 404, "not_found")


def test_placeholders_are_data(client):
    """Spec 05 section 7 [O]: paths of data; rows, groups, copies and their numbers are none."""
    raw = [{"type": "table", "x": 1, "y": 1, "rows": "order.lines", "group_by": "row.kind", "group_header": "{{group}} of {{order.number}}", "columns": [{"value": "{{i}} {{row.sku}}"}]},
           {**text("{{i}}: {{item.name}} {{page}}"), "repeat": {"each": "order.boxes"}}, {**text("{{n}} {{box}}"), "repeat": {"each": "bags", "as": "box", "index": "n"}}]
    made = client.post(TEMPLATES, {"name": "Of data", "set_as_default": False, "template_data": {"type": "custom__pdf", "definition": {"raw": raw}}}, expect=201).data
    assert sorted(made["placeholders"]) == ["bags", "order.boxes", "order.lines", "order.number"]
    client.delete(f"{TEMPLATES}/{made['id']}")


@pytest.mark.parametrize("body, errors", [
    ({}, ["name", "set_as_default", "template_data"]), ({"name": "ab", "set_as_default": True, "template_data": {"type": ITEM}}, ["name"]),
    ({"name": "x" * 32, "set_as_default": True, "template_data": {"type": ITEM}}, ["name"]), ({"name": "Mine", "set_as_default": True, "template_data": {}}, ["template_data.type"]),
    ({"name": "Mine", "set_as_default": True, "template_data": {"type": "napkin"}}, ["template_data.type"]),
    ({"name": "Mine", "set_as_default": True, "template_data": {"type": ITEM, "dimensions": "letter"}}, ["template_data.dimensions"]),
    ({"name": "Mine", "set_as_default": True, "template_data": {"type": ITEM, "barcode": 4}}, ["template_data.barcode"]),
    ({"name": "Mine", "set_as_default": True, "template_data": {"type": "custom__pdf"}}, ["template_data.definition"]),
    ({"name": "Mine", "set_as_default": True, "template_data": {"type": ITEM, "definition": {"raw": [text()]}}}, ["template_data.definition"]),
    ({"name": "Mine", "set_as_default": True, "template_data": {"type": "custom__pdf", "definition": {"raw": [text(), text(x="left"), {"type": "qr", "x": 1, "y": 1}]}}},
     ["template_data.definition.raw.1.x", "template_data.definition.raw.2.value", "template_data.definition.raw.2.size"]),
])
def test_what_is_refused(client, body, errors):
    """Spec 05 section 7: saving judges the definition whole, with paths."""
    answer = client.refused("POST", TEMPLATES, 400, "validation.failed", body=body)
    assert sorted(answer.errors) == sorted(errors)


def test_margins_of_a_definition(client):
    client.refused("POST", TEMPLATES, 400, "template.margins", ["template_data.definition.margin_top", "template_data.definition.margin_bottom"],
                   body={"name": "Mine", "set_as_default": False, "template_data": {"type": "custom__pdf", "definition": {"size": "4x6", "margin_top": 432, "raw": [text()]}}})


def test_defaults(fresh):
    """Spec 05 section 7 [P]: one default per type and location; the former becomes custom; without one the built-in is it again."""
    client = fresh.client()
    stock = builtin(client)["id"]
    a = make(client, "First", True)
    assert a["status"] == "default" and status(client, stock) == "custom"
    b = make(client, "Second", True)["id"]
    assert (status(client, a["id"]), status(client, b)) == ("custom", "default")
    place = make_location(client)["id"]
    c = make(client, "Third", True, location_id=place)["id"]
    assert (status(client, b), status(client, c)) == ("default", "default")
    client.delete(f"{TEMPLATES}/{b}")
    assert (status(client, stock), status(client, c)) == ("default", "default")
    client.post(f"{TEMPLATES}/{a['id']}", {"set_as_default": True}, expect=200)
    assert status(client, stock) == "custom"
    client.post(f"{TEMPLATES}/{a['id']}", {"set_as_default": False}, expect=200)
    assert (status(client, stock), status(client, a["id"])) == ("default", "custom")
    client.post(f"{TEMPLATES}/{stock}", {"set_as_default": True}, expect=200)
    assert status(client, stock) == "default"
    client.post(f"{TEMPLATES}/{a['id']}", {"set_as_default": True}, expect=200)
    client.post(f"{TEMPLATES}/{stock}", {"set_as_default": True}, expect=200)
    assert (status(client, stock), status(client, a["id"])) == ("default", "custom")
    assert "template.updated" in [e[0] for e in fresh.events(a["id"])]
    client.delete(f"/v1/locations/{place}?force=true")
    client.refused("GET", f"{TEMPLATES}/{c}", 404, "not_found")


def test_the_type_stays(client):
    row = make(client, "Stays")
    client.refused("POST", f"{TEMPLATES}/{row['id']}", 400, "validation.failed", ["template_data.type"], body={"template_data": {"type": "asset__asset_label_pdf"}})


def test_versions(client):
    """Spec 05 section 7 [O]: +1 per change, the last 20 are kept."""
    row = make(client, "Versions", data={"text_line_1": "v1"})
    path = f"{TEMPLATES}/{row['id']}"
    for i in range(2, 23):
        assert client.post(path, {"template_data": {"type": ITEM, "text_line_1": f"v{i}"}}, expect=200).data["version"] == i
    assert client.post(path, {"template_data": {"type": ITEM, "text_line_1": "v22"}}, expect=200).data["version"] == 22
    old = client.get(path + "?version=3").data
    assert (old["version"], old["template_data"]["text_line_1"]) == (3, "v3")
    assert client.get(path).data["template_data"]["text_line_1"] == "v22"
    for gone in (1, 2, 23):
        client.refused("GET", f"{path}?version={gone}", 404, "not_found")
    client.refused("GET", f"{TEMPLATES}?version=3", 400, "param.invalid", ["version"])


def test_lists(fresh):
    client = fresh.client()
    place = make_location(client)["id"]
    a, b = make(client, "Alpha tag", location_id=place)["id"], make(client, "Beta tag", True, data={"dimensions": "4x6"})["id"]
    c = make(client, "Gamma", type="custom__pdf", data={"definition": {"size": "Letter", "raw": [text("{{order.number}} {{now}}")]}})
    assert c["dimensions"] == "letter" and c["placeholders"] == ["order.number"]

    def ids(query):
        return client.get(f"{TEMPLATES}?{query}").ids

    assert ids(f"location_id={place}") == [a]
    assert ids("search=tag&order_by=name&direction=asc") == [a, b]
    assert ids("name=Gamma") == [c["id"]]
    assert ids(f"type={ITEM}&status=default") == [b]
    assert ids(f"dimensions=4x6&type={ITEM}") == [b]
    assert ids("builtin=false&order_by=name&direction=desc") == [c["id"], b, a]
    assert len(ids("order_by=type")) == 13 and len(ids("order_by=status")) == 13
    assert set(ids("created_at[gte]=2000-01-01T00:00:00.000Z")) >= {a, b}


def test_who_may(org, client):
    row = make(client, "Rights")
    reader = org.client(scopes="templates:read")
    assert reader.get(f"{TEMPLATES}/{row['id']}").data["id"] == row["id"]
    reader.refused("DELETE", f"{TEMPLATES}/{row['id']}", 403, "scope_access")
    place, other = make_location(client)["id"], make_location(client)["id"]
    here = make(client, "Here", location_id=place)["id"]
    away = org.client(scopes="templates:write", locations=[other])
    away.refused("GET", f"{TEMPLATES}/{here}", 403, "location_access")
    away.refused("POST", TEMPLATES, 403, "location_access", body={"name": "There", "set_as_default": False, "location_id": place, "template_data": {"type": ITEM}})
