"""Who sees documents and links, by the locations of what they belong to: spec 05 section 5 'Access'."""
import pytest

from document_files import DOCUMENTS, PDF, body, make
from linked import LINKS, MAKERS, NOWHERE, change, get, known, linked, links, named, of, path_of, resources
from wharf import make_location


@pytest.fixture(scope="module")
def places(client):
    """Two locations, and clients of the first and of the second one alone."""
    return make_location(client, "First"), make_location(client, "Second")


@pytest.fixture(scope="module")
def first(org, places):
    return org.client(locations=[places[0]["id"]])


@pytest.fixture(scope="module")
def second(org, places):
    return org.client(locations=[places[1]["id"]])


def refused(reader, d, location):
    """A document that the reader may not see: every way to it is 403, and no list has it."""
    path = f"{DOCUMENTS}/{d['id']}"
    for method, at, sent in (("GET", path, None), ("GET", f"{path}/links", None), ("POST", path, {"notes": "x"}), ("POST", path, {"resources": {"set": []}}), ("DELETE", path, None), ("GET", f"{path}?include_links=false", None)):
        reader.refused(method, at, 403, "location_access", location, body=sent)
    for more in ("content", "versions", "content?version=1"):
        reader.refused("GET", f"{path}/{more}", 403, "location_access", location)
    assert reader.get(f"{DOCUMENTS}?id={d['id']}").ids == [] == links(reader, f"?document_id={d['id']}")


def seen(reader, d, count=None):
    assert get(reader, d).data["id"] == d["id"] and reader.get(f"{DOCUMENTS}?id={d['id']}").ids == [d["id"]]
    assert reader.get(f"{DOCUMENTS}?id={d['id']}&include_total_count=true").pagination["total_count"] == 1
    if count is not None:
        assert get(reader, d).data["links_count"] == count == len(get(reader, d).data["links"])


def test_without_links_everybody_sees_a_document(client, first, second):
    """Spec 05 section 5: no links, everyone in the organization with the scope."""
    d = make(client)
    seen(first, d, 0)
    seen(second, d, 0)
    assert first.post(f"{DOCUMENTS}/{d['id']}", {"notes": "read"}, expect=200).data["notes"] == "read"


@pytest.mark.parametrize("kind", [k for k in MAKERS if k not in NOWHERE])
def test_a_document_is_where_its_resource_is(client, org, places, first, second, kind):
    """Spec 05 section 5: with links it is seen if at least one linked resource is, by location; else 403 location_access."""
    if kind not in known(client):
        pytest.skip(f"{kind} is of a module that is not loaded")
    row = MAKERS[kind](client, places[0])
    d = linked(client, row)
    seen(first, d, 1)
    refused(second, d, [places[0]["id"]])
    assert links(first, f"?document_id={d['id']}") == d["links"] == links(first, below=d)
    assert links(second, f"?resource_id={row['id']}") == [] and second.get(f"{DOCUMENTS}?resource_id={row['id']}").ids == []
    assert [e[3] for e in org.events(d["links"][0]["id"])] == [places[0]["id"]]
    both = MAKERS[kind](client, places[1])
    change(client, d, {"add": [named(both)]})
    seen(first, d, 1)
    seen(second, d, 1)
    assert resources(get(second, d).data) == of(both) and resources(get(first, d).data) == of(row)
    assert [k["resource"]["id"] for k in links(second, below=d)] == [both["id"]] == [k["resource"]["id"] for k in links(second, f"?document_id={d['id']}")]
    assert get(client, d).data["links_count"] == 2


@pytest.mark.parametrize("kind", NOWHERE)
def test_a_resource_without_location_is_seen_by_all(client, places, first, second, kind):
    if kind not in known(client):
        pytest.skip(f"{kind} is of a module that is not loaded")
    row = MAKERS[kind](client)
    d = linked(client, row, places[0])
    seen(second, d, 1)
    seen(first, d, 2)
    change(client, d, {"remove": [named(row)]})
    refused(second, d, [places[0]["id"]])


def test_a_resource_that_moves_takes_its_documents_along(client, places, first, second):
    if "asset" not in known(client):
        pytest.skip("the module assets is not loaded")
    asset = MAKERS["asset"](client, places[0])
    d = linked(client, asset)
    refused(second, d, [places[0]["id"]])
    client.post(path_of(asset), {"location_id": places[1]["id"], "layout_id": places[1]["default_layout_id"]}, expect=200)
    seen(second, d, 1)
    refused(first, d, [places[1]["id"]])


def test_the_last_link_that_goes_opens_a_document(client, places, second):
    """A document whose resource is deleted belongs to nothing: everybody sees it."""
    place = make_location(client, "Closing")
    d = linked(client, place)
    refused(second, d, [place["id"]])
    client.delete(path_of(place))
    seen(second, d, 0)


@pytest.mark.parametrize("broken", ["resource_type = 'house'", "resource_id = 'ship_gone', resource_type = 'shipment'"])
def test_what_no_module_knows_is_nowhere(client, server, places, first, broken):
    """A link to a resource whose module is left out, or to a row that is gone: its document is for keys of all locations."""
    d = linked(client, places[0])
    server.sql(f"UPDATE documents.link SET {broken} WHERE document_id = %s", d["id"])
    if "shipment" in known(client) or "house" in broken:
        refused(first, d, [])
    assert get(client, d).data["links_count"] == 1 and len(links(client, below=d)) == 1
    server.sql("DELETE FROM documents.link WHERE document_id = %s", d["id"])
    seen(first, d, 0)


def test_links_to_what_is_out_of_reach(client, org, places, first):
    """Spec 05 section 5: no access to the resource's location is 403; nothing is written."""
    here, there = places
    for sent in ([named(here), named(there)], {"add": [named(there)]}, {"set": [named(there)]}):
        first.refused("POST", DOCUMENTS, 403, "location_access", [there["id"]], body=body(resources=sent))
    d = linked(first, here)
    for sent in ({"add": [named(there)]}, {"set": [named(there)]}, {"remove": [named(there)]}, {"add": [named(there)], "remove": [named(here)]}):
        first.refused("POST", f"{DOCUMENTS}/{d['id']}", 403, "location_access", [there["id"]], body={"resources": sent})
    assert resources(get(client, d).data) == of(here)


def test_a_set_leaves_links_alone_that_the_caller_does_not_see(client, places, first):
    here, there = places
    d = linked(client, here, there)
    assert resources(change(first, d, {"set": [named(here)]})) == of(here)
    assert resources(get(client, d).data) == of(here, there)
    assert change(first, d, {"set": []}, expect=None)["links"] == []
    assert resources(get(client, d).data) == of(there)


def test_a_document_goes_with_links_that_are_not_seen(client, server, places, first):
    d = linked(client, *places)
    first.delete(f"{DOCUMENTS}/{d['id']}")
    assert server.sql("SELECT count(*) FROM documents.link WHERE document_id = %s", d["id"]) == [(0,)]


def test_a_duplicate_is_told_to_who_sees_it(client, first, second, places):
    """Whoever brings bytes learns of no document that is not theirs to see, not even that there is one."""
    content = PDF + b"told to who sees it"
    d = linked(client, places[0], content=content)
    assert make(second, content=content)["duplicate_of"] is None
    assert make(first, content=content)["duplicate_of"] == d["id"] == make(client, content=content)["duplicate_of"]


def test_pages_and_counts_are_of_what_is_seen(client, org, places, first, second):
    """Lists leave documents out inside of their statement: pages are full, and counts right."""
    fresh = make_location(client, "Pages")
    reader = org.client(locations=[fresh["id"]])
    mine, others = [], []
    for i in range(6):
        (mine if i % 2 else others).append(linked(client, fresh if i % 2 else places[0], name=f"Page {i}", category="sds")["id"])
    page = reader.get(f"{DOCUMENTS}?category=sds&limit=2&include_total_count=true")
    assert page.ids == mine[:0:-1] and page.pagination["total_count"] == 3 and page.pagination["has_more"] is True
    assert reader.get(f"{DOCUMENTS}?category=sds&limit=2&page=2").ids == mine[:1]
    assert reader.get(f"{LINKS}?include_total_count=true").pagination["total_count"] == 3
    assert reader.get(f"{DOCUMENTS}?has_links=true&include_total_count=true").pagination["total_count"] == 3


def test_documents_of_a_row_are_seen_with_it(client, places, first, second):
    d = linked(client, *places)
    for reader, place in ((first, places[0]), (second, places[1])):
        shown = reader.get(f"{path_of(place)}?include_documents=true").data["_documents"]
        assert [k["links_count"] for k in shown if k["id"] == d["id"]] == [1]


def test_scopes(client, org, places):
    """Spec 05 section 3: reading links needs documents:read, writing them documents:write; the resource's own scope is not asked for."""
    d = linked(client, places[0])
    none, reads, writes = org.client("locations:read"), org.client("documents:read"), org.client("documents:write")
    for path in (LINKS, f"{DOCUMENTS}/{d['id']}/links"):
        none.refused("GET", path, 403, "scope_access", ["documents:read"])
        assert reads.get(path).ids
    reads.refused("POST", f"{DOCUMENTS}/{d['id']}", 403, "scope_access", ["documents:write"], body={"resources": {"set": []}})
    assert resources(change(writes, d, {"add": [named(places[1])]})) == of(*places)
