"""Entity tags and conditional requests: spec 01 section 8.2."""
import gzip
import re
import threading

import pytest
from wharf import STATIONS, Client, make_location, make_station

pytestmark = pytest.mark.usual_settings  # tags of the same bytes, packed and not: the mode with everything on asks for gzip by itself

TAG = re.compile(r'^"v(\d+)-[0-9A-Za-z]{22}"$')


@pytest.fixture(scope="module")
def place(client):
    return make_location(client)


def version(answer):
    return int(TAG.match(answer.headers["ETag"]).group(1))


def test_versions(client, place):
    s = make_station(client, place["id"], "V-1")
    where = f"{STATIONS}/{s['id']}"
    first = client.get(where)
    assert version(first) == 1 and first.headers["Vary"] == "Accept, Accept-Encoding, SVC-Datetime-Format"
    assert client.get(where).headers["ETag"] == first.headers["ETag"]
    client.post(where, {"name": "V-2"})
    second = client.get(where)
    assert version(second) == 2 and second.headers["ETag"] != first.headers["ETag"]
    assert version(client.get(STATIONS)) == 0
    assert client.request("HEAD", where, expect=200).headers["ETag"] == second.headers["ETag"]


def test_a_write_that_shows_the_row_tells_its_version(client, place):
    """So the next write needs no read before it."""
    made = client.post("/v1/locations", {"name": "Tagged", "address": "1 Main St, Springfield, IL 62701, US"}, expect=201)
    where = f"/v1/locations/{made.data['id']}"
    assert version(made) == 1
    tag = made.headers["ETag"]
    for n in range(2, 5):
        a = client.post(where, {"name": f"Tagged {n}"}, headers={"If-Match": tag}, expect=200)
        assert version(a) == n
        tag = a.headers["ETag"]
    shown = client.get(where)
    assert version(shown) == 4 and (shown.headers["ETag"] == tag) == (shown.data == a.data)
    assert client.post(where, {"name": "Late"}, headers={"If-Match": made.headers["ETag"]}, expect=412).code == "precondition.failed"
    again = client.post(where, {"name": "Tagged 4"}, headers={"If-None-Match": tag}, expect=200)  # a condition of reads
    assert version(again) == 4 and again.data["name"] == "Tagged 4"


def test_no_tag_where_no_row_is_shown(client, place):
    s = make_station(client, place["id"], "V-3")
    assert "ETag" not in client.delete(f"{STATIONS}/{s['id']}").headers
    assert "ETag" not in client.post(STATIONS, {}, expect=400).headers
    assert "ETag" not in client.get(STATIONS + "/prnt_stn_0000000000000000000000", expect=404).headers
    assert "ETag" not in client.server.http.get(client.server.base + "/livez").headers


@pytest.mark.parametrize("form", ["{tag}", "W/{tag}", '"x", {tag}', "{gz}", "*", '"nope",W/{gz} , "other"'])
def test_not_modified(client, place, form):
    where = f"/v1/locations/{place['id']}"
    tag = client.get(where).headers["ETag"]
    sent = form.format(tag=tag, gz=tag[:-1] + '-gz"')
    r = client.get(where, headers={"If-None-Match": sent}, expect=304)
    assert r.headers["ETag"] == tag and "Content-Type" not in r.headers
    assert r.headers["Cache-Control"] == "private, no-cache" and "Vary" in r.headers


@pytest.mark.parametrize("sent", ['"v1-0000000000000000000000"', "", '"*"', "v1"])
def test_modified(client, place, sent):
    assert client.get(f"/v1/locations/{place['id']}", headers={"If-None-Match": sent}).data["id"] == place["id"]


def test_the_tag_tells_representations_apart(client, place):
    where = f"/v1/locations/{place['id']}"
    plain = client.get(where).headers["ETag"]
    assert client.get(where, headers={"SVC-Datetime-Format": "epoch"}).headers["ETag"] != plain
    assert client.get(where + "?fields=name").headers["ETag"] != plain


def test_gzip_suffix(client):
    r = client.server.http.get(client.server.base + "/v1/openapi.json", headers={"Accept-Encoding": "gzip"}, stream=True)
    assert r.headers["Content-Encoding"] == "gzip" and r.headers["ETag"].endswith('-gz"')
    again = client.server.http.get(client.server.base + "/v1/openapi.json", headers={"If-None-Match": r.headers["ETag"]})
    assert again.status_code == 304
    assert gzip.decompress(r.raw.read(decode_content=False))[:1] == b"{"


def test_a_list_changes_with_has_more(fresh):
    c = fresh.client()
    for i in range(2):
        make_location(c, f"P{i}")
    first = c.get("/v1/locations?limit=2&order_by=name&direction=asc")
    make_location(c, "P9")
    second = c.get("/v1/locations?limit=2&order_by=name&direction=asc")
    assert second.data == first.data and second.headers["ETag"] != first.headers["ETag"]


@pytest.mark.parametrize("form, good", [("{tag}", True), ('"v{v}-anything"', True), ("W/{tag}", True), ("*", True), ('"nope", {tag}', True),
                                        ('"v{w}-0000000000000000000000"', False), ('"nope"', False), ("v", False), ('"v{v}"', False), ('"v{v}x-1"', False)])
def test_if_match(client, place, form, good):
    s = make_station(client, place["id"], "M-" + str(abs(hash(form))))
    where = f"{STATIONS}/{s['id']}"
    tag = client.get(where).headers["ETag"]
    sent = {"If-Match": form.format(tag=tag, v=1, w=7)}
    if good:
        assert client.post(where, {"status": "offline"}, headers=sent).data["status"] == "offline"
        # the version has moved on (but for *)
        if form != "*":
            assert client.post(where, {"status": "online"}, headers=sent, expect=412).code == "precondition.failed"
            assert client.delete(where, headers=sent, expect=412).code == "precondition.failed"
        client.delete(where, headers={"If-Match": client.get(where).headers["ETag"]})
    else:
        a = client.post(where, {"status": "offline"}, headers=sent, expect=412)
        assert a.code == "precondition.failed" and a.errors == []
        assert client.get(where).data["status"] == "online"


def test_order_of_checks(client, fresh, place):
    """404 and 403 come before 412, 412 before the rules of the area."""
    s = make_station(client, place["id"], "O-1")
    make_station(client, place["id"], "O-2")
    wrong = {"If-Match": '"v9-x"'}
    assert client.post(STATIONS + "/prnt_stn_0000000000000000000000", {}, headers=wrong, expect=404).code == "not_found"
    assert client.post(f"{STATIONS}/{s['id']}", {"name": ""}, headers=wrong, expect=400).code == "validation.failed"
    assert client.post(f"{STATIONS}/{s['id']}", {"name": "O-2"}, headers=wrong, expect=412).code == "precondition.failed"
    assert client.post(f"{STATIONS}/{s['id']}", {"name": "O-2"}, headers={"If-Match": "*"}, expect=400).code == "station.exists"


def test_an_organization_has_versions_as_well(fresh):
    """By its own path, and by its id."""
    admin, wrong = fresh.client(), {"If-Match": '"v999-x"'}
    for path in ("/v1/org", f"/v1/organizations/{fresh.id}"):
        admin.refused("POST", path, 412, "precondition.failed", body={}, headers=wrong)


def test_routes_of_plugins_too(client, fresh, place):
    """A path that a plugin handles by itself: the row that it names last, once it is locked."""
    admin = fresh.client()
    key = admin.post("/v1/api-keys", {"name": "Dock", "scopes": ["locations:read"]}, expect=201).data
    where = f"/v1/api-keys/{key['id']}"
    old = admin.get(where).headers["ETag"]
    admin.post(where, {"name": "Gate"}, expect=200)
    assert admin.post(where + "/rotate", {}, headers={"If-Match": old}, expect=412).code == "precondition.failed"
    assert admin.delete(where, headers={"If-Match": old}, expect=412).code == "precondition.failed"
    assert admin.get(where).data["status"] == "active"
    admin.post(where + "/rotate", {}, headers={"If-Match": admin.get(where).headers["ETag"]}, expect=201)
    admin.delete(where, headers={"If-Match": admin.get(where).headers["ETag"]}, expect=200)


def test_one_of_many_writers_wins(client, place):
    s = make_station(client, place["id"], "W-1")
    where = f"{STATIONS}/{s['id']}"
    tag, won = client.get(where).headers["ETag"], []

    def write(i):
        won.append(Client(client.server, client.key).post(where, {"display_name": f"W {i}"}, headers={"If-Match": tag}).status)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert sorted(won) == [200] + [412] * 15
