"""What a drawing that becomes a document belongs to, `document.resources` of generate and render: spec 05 sections 5, 8, 9.1 and 10."""
import pytest

from document_files import DOCUMENTS
from drawings import GENERATE, TEMPLATES, text
from linked import get, links, make_item, named, of, resources
from wharf import make_location

NOBODY = "loc_0000000000000000000000"


@pytest.fixture(scope="module")
def here(client):
    return make_location(client, "Here")


@pytest.fixture(scope="module")
def there(client):
    return make_location(client, "There")


@pytest.fixture(scope="module")
def item(client):
    return make_item(client)


@pytest.fixture(scope="module", params=["generate", "render"])
def way(request, client):
    """The path and the body of a request that draws."""
    if request.param == "generate":
        return GENERATE, {"size": "4x6", "raw": [text()]}
    row = client.post(TEMPLATES, {"name": "For documents", "set_as_default": False, "template_data": {"type": "custom__pdf", "definition": {"size": "4x6", "raw": [text()]}}}, expect=201).data
    return f"{TEMPLATES}/{row['id']}/render", {"data": {}}


def asked(way, resources, **more):
    return way[0], {**way[1], "output": "document", "document": {"resources": resources}, **more}


def made(client, way, resources):
    """The document that came of it."""
    path, body = asked(way, resources)
    return get(client, {"id": client.post(path, body, expect=201).data["document_id"]}).data


def refused(client, way, errors, resources, status=400, code="validation.failed", **more):
    """errors: paths below document.resources. Nothing is kept of a request that is refused."""
    before = client.get(f"{DOCUMENTS}?include_total_count=true&limit=1").pagination["total_count"]
    path, body = asked(way, resources, **more)
    answer = client.refused("POST", path, status, code, [f"document.resources{e}" for e in errors], body=body)
    assert client.get(f"{DOCUMENTS}?include_total_count=true&limit=1").pagination["total_count"] == before
    return answer


def test_it_is_linked(client, org, way, here, item):
    """Spec 05 section 9.1: a document of ours is linked to what `resources` names; each link is told."""
    document = made(client, way, [named(item), named(here)])
    assert resources(document) == of(item, here) and document["links_count"] == 2
    assert [k["document_id"] for k in links(client, f"?resource_id={here['id']}&document_id={document['id']}")] == [document["id"]]
    assert [[e[0] for e in org.events(k["id"])] for k in document["links"]] == [["document.linked"]] * 2


def test_one_that_is_named_twice_is_linked_once(client, way, here, item):
    """Spec 05 section 5: silent."""
    assert resources(made(client, way, [named(here), named(item), named(here)])) == of(here, item)


@pytest.mark.parametrize("sent", [[], None])
def test_none(client, way, sent):
    assert made(client, way, sent)["links"] == []


def test_what_is_not_there(client, way, server, here):
    """Spec 05 section 5: an unknown type or id is 400 at its path, all of them together; so are another organization's and a deleted one."""
    theirs, gone = make_location(server.organization().client()), make_location(client, "Gone")
    client.delete(f"/v1/locations/{gone['id']}")
    unknown = [{"type": "location", "id": NOBODY}, {"type": "item", "id": here["id"]}, {"type": "house", "id": "hse_1"}, {"type": "template", "id": "temp_1"}, named(theirs), named(gone)]
    refused(client, way, [f".{i}.id" for i in range(1, 7)], [named(here), *unknown])


@pytest.mark.parametrize("sent, errors", [
    ("loc_1", [""]), (["loc_1"], [".0"]), ([{"type": "item"}], [".0.id"]), ([{"id": "x"}], [".0.type"]), ([{"type": 1, "id": "x"}], [".0.type"]), ({"set": []}, [""]), ({"add": []}, [""])])
def test_resources_of_a_wrong_form(client, way, sent, errors):
    """Spec 05 section 9.1: an array; a new document has nothing to add to or to remove from."""
    refused(client, way, errors, sent)


def test_one_at_a_location_that_is_not_reached(client, org, way, here, there):
    """Spec 05 section 5: 403, and no document."""
    local = org.client(scopes="templates:read,documents:write", locations=[here["id"]])
    path, body = asked(way, [named(here), named(there)])
    before = client.get(f"{DOCUMENTS}?limit=100").ids
    local.refused("POST", path, 403, "location_access", body=body)
    assert client.get(f"{DOCUMENTS}?limit=100").ids == before
    assert resources(made(local, way, [named(here)])) == of(here)


def test_who_may(org, way, here):
    """Spec 05 section 3: links are written with documents:write; the scope of the resource is not asked for."""
    path, body = asked(way, [named(here)])
    org.client(scopes="templates:read,documents:read,locations:write").refused("POST", path, 403, "scope_access", ["documents:write"], body=body)
    assert resources(made(org.client(scopes="templates:read,documents:write"), way, [named(here)])) == of(here)


def test_how_many(client, way, server, here):
    """Spec 05 section 5: at most 100 links of a document."""
    ids = [f"loc_{i:022d}" for i in range(1, 102)]
    server.sql("INSERT INTO locations.location SELECT (jsonb_populate_record(l, jsonb_build_object('id', x, 'code', NULL, 'name', x))).* FROM locations.location l, unnest(%s) x WHERE l.id = %s", ids, here["id"])
    rows = [{"type": "location", "id": i} for i in ids]
    assert made(client, way, rows[:100])["links_count"] == 100
    assert made(client, way, rows[:100] + rows[:100])["links_count"] == 100
    refused(client, way, [""], rows, code="document.too_many_links")
    server.sql("DELETE FROM documents.link WHERE resource_id = ANY (%s)", ids)
    server.sql("DELETE FROM locations.location WHERE id = ANY (%s)", ids)


def test_a_resource_that_has_enough(client, way, server, here, there):
    """Spec 05 section 5: at most 1,000 documents of a resource."""
    full = make_location(client, "Full")
    document = made(client, way, [named(full)])
    server.sql("INSERT INTO documents.document SELECT (jsonb_populate_record(d, jsonb_build_object('id', 'dcmt_' || lpad(i::text, 22, '0'), 'status', 'requested', 'file_id', NULL))).*"
               " FROM documents.document d, generate_series(1, 999) i WHERE d.id = %s", document["id"])
    server.sql("INSERT INTO documents.link SELECT (jsonb_populate_record(l, jsonb_build_object('id', 'dlk_' || lpad(i::text, 22, '0'), 'document_id', 'dcmt_' || lpad(i::text, 22, '0')))).*"
               " FROM documents.link l, generate_series(1, 999) i WHERE l.document_id = %s", document["id"])
    try:
        refused(client, way, [".1.id"], [named(there), named(full)], code="document.too_many_links")
    finally:
        server.sql("DELETE FROM documents.link WHERE document_id LIKE 'dcmt_000000%%'")
        server.sql("DELETE FROM documents.document WHERE id LIKE 'dcmt_000000%%'")


def test_all_problems_of_it_stand_beside_others(client, way):
    """Spec 05 section 9.1: all problems are collected."""
    path, body = asked(way, [{"type": "item"}], format=None, print=None, strict="yes")
    answer = client.refused("POST", path, 400, "validation.failed", body=body)
    assert sorted(answer.errors) == ["document.resources.0.id", "strict"]


def test_without_a_document_nothing_is_linked(client, way):
    """Spec 05 section 9.1: `document` goes with output document; a link or base64 leaves nothing to be linked."""
    alone = make_location(client, "Alone")
    for output in ("url", "base64"):
        path, body = asked(way, [named(alone)], output=output)
        assert client.post(path, body, expect=200).data["document_id"] is None
    assert links(client, f"?resource_id={alone['id']}") == []


# ---- the row that is drawn ----

@pytest.mark.parametrize("document, names", [(None, "row"), ({}, "row"), ({"resources": None}, "row"), ({"resources": []}, ""), ({"resources": ["here"]}, "here"), ({"resources": ["row", "here"]}, "row here")])
def test_the_row_that_is_drawn(client, item, here, document, names):
    """Spec 05 sections 8 and 10: the document belongs to the row it shows, unless the request says to what it belongs."""
    rows = {"row": item, "here": here}
    if document and document.get("resources"):
        document = {"resources": [named(rows[name]) for name in document["resources"]]}
    answer = client.post(f"{TEMPLATES}/item__item_label_pdf/render", {"resource": named(item), "output": "document", "document": document}, expect=201)
    assert resources(get(client, {"id": answer.data["document_id"]}).data) == of(*(rows[name] for name in names.split()))
