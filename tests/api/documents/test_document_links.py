"""What documents belong to: spec 05 section 5."""
import concurrent.futures

import pytest

from document_files import DOCUMENTS, announce, b64, body, PDF
from linked import LINKS, MAKERS, NOWHERE, change, get, known, linked, links, make_item, named, of, path_of, resources
from wharf import make_location


@pytest.fixture(scope="module")
def here(client):
    return make_location(client, "Here")


@pytest.fixture(scope="module")
def there(client):
    return make_location(client, "There")


def kinds(client, names):
    return [k for k in names if k in known(client)] or pytest.skip("none of these modules is loaded")


@pytest.fixture
def make_one(client):
    def one(kind, place):
        if kind not in known(client):
            pytest.skip(f"{kind} is of a module that is not loaded")
        return MAKERS[kind](client, place)
    return one


def gone(row):
    return f"{row['id'].split('_')[0]}_0000000000000000000000"


# ---- the link ----

def test_a_link_and_its_lists(client, org, here):
    """Spec 05 section 5 [S]: GET /v1/documents/links, with filters; 3: GET /v1/documents/:id/links."""
    d, other = linked(client, here, category="photo"), linked(client, here, category="bol")
    one, = d["links"]
    assert set(one) == {"object", "id", "document_id", "resource", "created_at", "created_by"}
    assert (one["object"], one["document_id"], one["resource"]) == ("document_link", d["id"], named(here)) and one["id"].startswith("dlk_") and d["links_count"] == 1
    assert links(client, f"?document_id={d['id']}") == [one] == links(client, below=d) == get(client, d).data["links"]
    both = {d["id"], other["id"]}
    assert {k["document_id"] for k in links(client, f"?resource_type=location&resource_id={here['id']}")} >= both
    assert [k["document_id"] for k in links(client, f"?resource_id={here['id']}&category=photo")] == [d["id"]]
    assert links(client, f"?resource_type=shipment&resource_id={here['id']}") == [] == links(client, "?category=photo", below=other)
    assert {k["document_id"] for k in links(client, f"?document_id={d['id']},{other['id']}&created_at=gte:2020-01-01T00:00:00Z")} == both
    assert links(client, "?created_at=lt:2020-01-01T00:00:00Z") == []
    assert [k["document_id"] for k in links(client, "?limit=2&order_by=created_at&direction=desc")] == [other["id"], d["id"]]
    assert client.get(f"{LINKS}?limit=1").pagination["has_more"] is True
    client.refused("GET", f"{DOCUMENTS}/dcmt_0000000000000000000000/links", 404, "not_found", ["dcmt_0000000000000000000000"])
    for method, path in (("POST", LINKS), ("DELETE", LINKS)):
        client.refused(method, path, 405, "method.not_allowed")


def test_links_of_one_document_are_paged(client, here, there):
    d = linked(client, here, there, make_one_more(client))
    page = client.get(f"{DOCUMENTS}/{d['id']}/links?limit=2")
    assert len(page.data) == 2 and page.pagination["has_more"] is True
    rest = client.get(f"{DOCUMENTS}/{d['id']}/links?limit=2&page=2")
    assert len(rest.data) == 1 and {k["id"] for k in page.data + rest.data} == {k["id"] for k in d["links"]}
    cursor = client.get(f"{DOCUMENTS}/{d['id']}/links?limit=2&cursor=start")
    more = client.get(f"{DOCUMENTS}/{d['id']}/links?limit=2&cursor={cursor.pagination['next_cursor']}")
    assert [k["id"] for k in cursor.data + more.data] == [k["id"] for k in page.data + rest.data]
    other = linked(client, here)
    client.refused("GET", f"{DOCUMENTS}/{other['id']}/links?limit=2&cursor={cursor.pagination['next_cursor']}", 400, "cursor.invalid")


def make_one_more(client):
    return make_location(client, "One more")


@pytest.mark.parametrize("kind", MAKERS)
def test_what_documents_are_linked_to(client, make_one, here, kind):
    """Spec 05 section 5: asset, shipment, item [S]; container, parcel, location, tracker, assembly_order [O]."""
    row = make_one(kind, here)
    d = linked(client, row)
    assert resources(d) == of(row) and resources(get(client, d).data) == of(row)
    assert resources(change(client, d, {"remove": [named(row)]})) == []
    assert resources(change(client, d, {"set": [named(row)]})) == of(row)


# ---- resources ----

def test_resources_on_create(client, here, there):
    """Spec 05 section 1 [S]: an array, or {set} or {add}; without content too."""
    for sent in ([named(here), named(there)], {"set": [named(here), named(there)]}, {"add": [named(here), named(there)]}):
        assert resources(announce(client, content=b64(PDF), resources=sent)) == of(here, there)
    assert resources(announce(client, resources=[named(here)])) == of(here)
    assert resources(announce(client, resources=[])) == [] == resources(announce(client, resources={}))
    assert resources(announce(client, resources={"remove": [named(here)]})) == []


def test_resources_on_update(client, here, there):
    """Spec 05 section 1 [S]: {add, remove} or {set}."""
    third = make_one_more(client)
    d = linked(client, here)
    assert resources(change(client, d, {"add": [named(there)], "remove": [named(here)]})) == of(there)
    assert resources(change(client, d, {"set": [named(here), named(third)]})) == of(here, third)
    assert resources(change(client, d, [named(there)])) == of(there)
    assert resources(change(client, d, {"set": []})) == []
    assert resources(change(client, d, {"add": [named(here)]})) == of(here)
    kept = get(client, d).data["links"][0]["id"]
    assert [k["id"] for k in change(client, d, {"set": [named(here)]}, notes="same")["links"]] == [kept]


def test_what_is_there_already_or_is_not_is_silent(client, org, here, there):
    """Spec 05 section 5: adding an existing link or removing a missing one is silent."""
    d = linked(client, here, here)
    before = get(client, d).data
    assert resources(d) == of(here)
    for sent in ({"add": [named(here), named(here)]}, {"remove": [named(there)]}, {"remove": [{"type": "location", "id": gone(here)}, {"type": "house", "id": "1"}]}, {}):
        assert resources(change(client, d, sent)) == of(here)
    assert get(client, d).data == before and [e[0] for e in org.events(before["links"][0]["id"])] == ["document.linked"]


@pytest.mark.parametrize("form", ["add", "set", None])
def test_an_unknown_type_or_id(client, here, form):
    """Spec 05 section 5: 400 validation.failed at resources.add.1.id; nothing is written."""
    d = linked(client)
    base = f"resources.{form}" if form else "resources"
    unknown = [{"type": "location", "id": gone(here)}, {"type": "house", "id": "hse_1"}, {"type": "document", "id": d["id"]}, {"type": "document_link", "id": "dlk_1"}, {"type": "location", "id": "x"}]
    for bad in unknown:
        sent = [named(here), bad]
        for path in (DOCUMENTS, f"{DOCUMENTS}/{d['id']}"):
            client.refused("POST", path, 400, "validation.failed", [f"{base}.1.id"], body=body(resources={form: sent} if form else sent))
    everything = [named(here), *unknown]
    client.refused("POST", f"{DOCUMENTS}/{d['id']}", 400, "validation.failed", [f"{base}.{i}.id" for i in range(1, 6)], body={"resources": {form: everything} if form else everything})
    assert get(client, d).data["links"] == []


def test_ids_of_another_organization_are_unknown(server, client):
    theirs = make_location(server.organization().client())
    client.refused("POST", DOCUMENTS, 400, "validation.failed", ["resources.0.id"], body=body(resources=[named(theirs)]))


def test_a_deleted_resource_is_unknown(client):
    item = MAKERS["location"](client, make_one_more(client))
    client.delete(path_of(item))
    client.refused("POST", DOCUMENTS, 400, "validation.failed", ["resources.0.id"], body=body(resources=[named(item)]))


@pytest.mark.parametrize("sent, errors", [
    ({"set": [], "add": []}, ["resources"]), ({"set": [], "remove": []}, ["resources"]), ("loc_1", ["resources"]), (None, ["resources"]), ([{"type": "item"}], ["resources.0.id"]),
    ([{"id": "x"}], ["resources.0.type"]), ({"add": [{"type": "item"}]}, ["resources.add.0.id"]), ({"put": []}, ["resources.put"]), ({"add": {}}, ["resources.add"]), (["item_1"], ["resources.0"])])
def test_resources_of_a_wrong_form(client, sent, errors):
    client.refused("POST", DOCUMENTS, 400, "validation.failed", errors, body=body(resources=sent))


def test_how_many_links_a_document_has(client, org, here, server):
    """Spec 05 section 5: at most 100 links of a document: 400 document.too_many_links."""
    ids = [f"loc_{i:022d}" for i in range(101)]
    server.sql("INSERT INTO locations.location SELECT (jsonb_populate_record(l, jsonb_build_object('id', x, 'code', NULL, 'name', x))).* FROM locations.location l, unnest(%s) x WHERE l.id = %s", ids, here["id"])
    rows = [{"type": "location", "id": i} for i in ids]
    d = announce(client, resources=rows[:100])
    assert d["links_count"] == 100 == len(d["links"])
    refusal = client.refused("POST", f"{DOCUMENTS}/{d['id']}", 400, "document.too_many_links", ["resources"], body={"resources": {"add": rows[100:]}})
    assert "100" in refusal.message
    client.refused("POST", DOCUMENTS, 400, "document.too_many_links", ["resources"], body=body(resources=rows))
    client.refused("POST", f"{DOCUMENTS}/{d['id']}", 400, "document.too_many_links", ["resources"], body={"resources": {"set": rows}})
    assert get(client, d).data["links_count"] == 100
    assert change(client, d, {"add": rows[100:], "remove": rows[:1]})["links_count"] == 100
    client.delete(f"{DOCUMENTS}/{d['id']}")
    server.sql("DELETE FROM locations.location WHERE id = ANY (%s)", ids)


def test_how_many_documents_a_resource_has(client, org, server, there):
    """Spec 05 section 5: at most 1,000 documents of a resource: 400 document.too_many_links."""
    full = make_one_more(client)
    d = linked(client, full)
    server.sql("INSERT INTO documents.document SELECT (jsonb_populate_record(d, jsonb_build_object('id', 'dcmt_' || lpad(i::text, 22, '0'), 'status', 'requested', 'file_id', NULL))).*"
               " FROM documents.document d, generate_series(1, 999) i WHERE d.id = %s", d["id"])
    server.sql("INSERT INTO documents.link SELECT (jsonb_populate_record(l, jsonb_build_object('id', 'dlk_' || lpad(i::text, 22, '0'), 'document_id', 'dcmt_' || lpad(i::text, 22, '0')))).*"
               " FROM documents.link l, generate_series(1, 999) i WHERE l.document_id = %s", d["id"])
    client.refused("POST", DOCUMENTS, 400, "document.too_many_links", ["resources.1.id"], body=body(resources=[named(there), named(full)]))
    client.refused("POST", DOCUMENTS, 400, "document.too_many_links", ["resources.add.0.id"], body=body(resources={"add": [named(full)]}))
    assert change(client, d, {"add": [named(full)]})["links_count"] == 1
    change(client, d, {"remove": [named(full)]})
    assert resources(change(client, d, {"add": [named(full)]})) == of(full)
    server.sql("DELETE FROM documents.link WHERE document_id LIKE 'dcmt_000000%%'")
    server.sql("DELETE FROM documents.document WHERE id LIKE 'dcmt_000000%%'")


# ---- lists of documents ----

def test_documents_of_a_resource(client, here, there):
    """Spec 05 section 3.1 [S]: resource_type and resource_id must be on the same link."""
    third = make_one_more(client)
    a, b, loose = linked(client, third), linked(client, third, there), linked(client)
    assert set(client.get(f"{DOCUMENTS}?resource_type=location&resource_id={third['id']}").ids) == {a["id"], b["id"]}
    assert client.get(f"{DOCUMENTS}?resource_id={third['id']}&id={b['id']}").ids == [b["id"]]
    assert client.get(f"{DOCUMENTS}?resource_type=item&resource_id={third['id']}").ids == []
    assert client.get(f"{DOCUMENTS}?resource_id={third['id']}&limit=1&include_total_count=true").pagination["total_count"] == 2
    ids = f"&id={a['id']},{b['id']},{loose['id']}"
    assert client.get(f"{DOCUMENTS}?has_links=false{ids}").ids == [loose["id"]]
    assert set(client.get(f"{DOCUMENTS}?has_links=true{ids}").ids) == {a["id"], b["id"]}


def test_resource_type_and_id_are_of_one_link(client, here):
    kinds(client, ["item"])
    item = make_item(client)
    both = linked(client, item, here)
    assert client.get(f"{DOCUMENTS}?resource_type=item&resource_id={here['id']}&id={both['id']}").ids == []
    assert client.get(f"{DOCUMENTS}?resource_type=location&resource_id={here['id']}&id={both['id']}").ids == [both["id"]]


def test_links_of_a_retrieve(client, here):
    """Spec 05 section 3: include_links, default true; lists have the count alone."""
    d = linked(client, here)
    assert get(client, d, "?include_links=false").data["links"] is None and get(client, d, "?include_links=true").data["links"] == d["links"]
    row, = client.get(f"{DOCUMENTS}?id={d['id']}").data
    assert row["links_count"] == 1 and "links" not in row
    client.refused("GET", f"{DOCUMENTS}/{d['id']}?include_links=maybe", 400, "param.invalid", ["include_links"])


# ---- events and log ----

def test_events_of_links(client, org, here, there):
    """Spec 05 section 14: document.linked and document.unlinked carry the link; links alone are no document.updated."""
    d = linked(client, here)
    link, = d["links"]
    (type, data, _, location), = org.events(link["id"])
    assert (type, location) == ("document.linked", here["id"]) and data["resource"] == named(here) and data["document_id"] == d["id"]
    change(client, d, {"set": [named(there)]})
    assert [e[0] for e in org.events(link["id"])] == ["document.linked", "document.unlinked"]
    assert org.events(link["id"])[1][1]["resource"] == named(here)
    assert "document.updated" not in [e[0] for e in org.events(d["id"])]
    change(client, d, {"add": [named(here)]}, notes="with more")
    assert "document.updated" in [e[0] for e in org.events(d["id"])]


def test_the_log_of_links(client, here):
    if "/v1/logs" not in client.server.openapi["paths"]:
        pytest.skip("the module logs is not loaded")
    d = linked(client, here)
    change(client, d, {"set": []})
    lines = client.get(f"/v1/logs?resource_id={d['links'][0]['id']}").data
    assert [(k["resource"], k["action"], k["location_id"]) for k in lines] == [("document_link", "deleted", here["id"]), ("document_link", "created", here["id"])]


# ---- rows that go ----

@pytest.mark.parametrize("kind", [k for k in MAKERS if k not in ("asset", "assembly_order")])
def test_a_resource_that_is_deleted_takes_its_links(client, org, make_one, here, there, kind):
    """Spec 05 section 5: deleting a resource removes its links, not documents."""
    row = make_one(kind, make_one_more(client) if kind == "location" else here)
    d = linked(client, row, there)
    link, = [k for k in d["links"] if k["resource"] == named(row)]
    client.delete(path_of(row))
    assert resources(get(client, d).data) == of(there) and links(client, f"?resource_id={row['id']}") == []
    assert [e[0] for e in org.events(link["id"])] == ["document.linked", "document.unlinked"]


def test_an_asset_is_archived_and_keeps_its_links(client, make_one, here):
    """Spec 02 section 9: a delete archives; the asset is still read, with its documents."""
    asset = make_one("asset", here)
    d = linked(client, asset)
    client.delete(path_of(asset))
    assert resources(get(client, d).data) == of(asset)
    assert [r["id"] for r in client.get(f"{path_of(asset)}?include_documents=true").data["_documents"]] == [d["id"]]


def test_resources_that_go_in_sets(client, make_one, here):
    """Deletes of a batch, which are written as a set."""
    if "/v1/batches" not in client.server.openapi["paths"]:
        pytest.skip("the module batches is not loaded")
    from wharf import until
    rows = [make_one("item", here) for _ in range(5)]
    d = linked(client, *rows)
    b = client.post("/v1/batches", {"resource": "item", "action": "delete", "data": [{"id": r["id"]} for r in rows[:4]]}, expect=201).data
    until(lambda: client.get(f"/v1/batches/{b['id']}").data["status"] == "completed")
    assert resources(get(client, d).data) == of(rows[4])


def test_a_document_that_is_deleted_takes_its_links(client, org, server, here):
    """Spec 05 section 3 [S]: soft-delete with all links."""
    d = linked(client, here)
    client.delete(f"{DOCUMENTS}/{d['id']}")
    assert server.sql("SELECT count(*) FROM documents.link WHERE document_id = %s", d["id"]) == [(0,)] and links(client, f"?document_id={d['id']}") == []
    assert [e[0] for e in org.events(d["links"][0]["id"])] == ["document.linked", "document.unlinked"]
    client.refused("GET", f"{DOCUMENTS}/{d['id']}/links", 404, "not_found", [d["id"]])


def test_a_link_beside_the_delete_of_its_resource(server, client, org, here):
    """One waits for the other: no link is left that names nothing."""
    other = org.client()
    for _ in range(6):
        place = make_one_more(client)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            made = pool.submit(other.post, DOCUMENTS, body(resources=[named(place)]))
            pool.submit(client.delete, path_of(place)).result()
        assert made.result().status in (201, 400)
        assert links(client, f"?resource_id={place['id']}") == []


def test_a_link_waits_for_the_delete_of_its_resource(server, client, org):
    from wharf import until
    place, other = make_one_more(client), org.client()
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        with server.held("LOCK TABLE documents.link IN ACCESS EXCLUSIVE MODE"):
            deleted = pool.submit(client.delete, path_of(place))
            until(lambda: server.sql(waits) == [(1,)])
            made = pool.submit(other.post, DOCUMENTS, body(resources=[named(place)]))
            until(lambda: server.sql(waits) == [(2,)])
        deleted.result()
        a = made.result()
    assert (a.status, a.code, a.errors) == (400, "validation.failed", ["resources.0.id"])


# ---- _documents ----

@pytest.mark.parametrize("kind", MAKERS)
def test_documents_of_a_row(client, make_one, here, kind):
    """Spec 05 section 5 [S]: include_documents=true on retrieves fills _documents, newest first, completed only, without signed URLs; null when omitted."""
    row = make_one(kind, make_one_more(client))
    first, second = linked(client, row, name="First"), linked(client, row, name="Second")
    announce(client, resources=[named(row)], name="Awaited")
    shown = client.get(f"{path_of(row)}?include_documents=true").data["_documents"]
    assert [k["id"] for k in shown] == [second["id"], first["id"]]
    assert {k: v for k, v in shown[0].items()} == client.get(f"{DOCUMENTS}?id={second['id']}").data[0]
    assert not shown[0].get("document_url") and shown[0]["name"] == "Second" and "links" not in shown[0]
    assert client.get(path_of(row)).data["_documents"] is None and client.get(f"{path_of(row)}?include_documents=false").data["_documents"] is None
    client.refused("GET", f"{path_of(row)}?include_documents=x", 400, "param.invalid", ["include_documents"])
    assert client.get(f"{path_of(row)}?include_documents=true&fields=id").data.keys() <= {"object", "id"}


def test_a_row_shows_200_documents_at_most(client, server):
    row = make_one_more(client)
    d = linked(client, row)
    server.sql("INSERT INTO documents.document SELECT (jsonb_populate_record(d, jsonb_build_object('id', 'dcmt_' || lpad(i::text, 22, '0')))).* FROM documents.document d, generate_series(1, 204) i WHERE d.id = %s", d["id"])
    server.sql("INSERT INTO documents.link SELECT (jsonb_populate_record(l, jsonb_build_object('id', 'dlk_' || lpad(i::text, 22, '0'), 'document_id', 'dcmt_' || lpad(i::text, 22, '0')))).*"
               " FROM documents.link l, generate_series(1, 204) i WHERE l.document_id = %s", d["id"])
    assert len(client.get(f"{path_of(row)}?include_documents=true").data["_documents"]) == 200
    server.sql("DELETE FROM documents.link WHERE document_id LIKE 'dcmt_000000%%'")
    server.sql("DELETE FROM documents.document WHERE id LIKE 'dcmt_000000%%'")


def test_documents_of_who_does_not_read_documents(client, org, here):
    """Spec 05 section 5: a user without documents:read gets an empty list."""
    linked(client, here)
    plain = org.client("locations:read")
    assert plain.get(f"{path_of(here)}?include_documents=true").data["_documents"] == [] and plain.get(path_of(here)).data["_documents"] is None
    assert len(org.client("locations:read,documents:read").get(f"{path_of(here)}?include_documents=true").data["_documents"]) > 0


def test_what_is_nowhere_is_named():
    assert set(NOWHERE) <= set(MAKERS)
