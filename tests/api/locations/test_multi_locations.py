"""Rows that belong to a set of locations (spec 01 section 7 'multi'), and arrays of ids that are shown as rows; tests/plugins/circle."""
import pytest

from wharf import BUILD, Server, make_location

CIRCLES = "/v1/circles"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", f"org,locations,logs,{BUILD}/tests/plugins/circle.so")
    yield s
    s.stop()


@pytest.fixture(scope="module")
def world(server):
    """Three locations; a key of all, one of A, one of A and B."""
    org = server.organization()
    all_ = org.client()
    a, b, c = (make_location(all_, name=name)["id"] for name in ("A", "B", "C"))
    return org, all_, org.client(locations=[a]), org.client(locations=[a, b]), a, b, c


def make(client, name, locations, **more):
    return client.post(CIRCLES, {"name": name, "locations": locations, **more}, expect=201).data


def ids(row):
    return [x["id"] for x in row["locations"]]


def test_shown_as_rows(world):
    _, client, _, _, a, b, c = world
    row = make(client, "Shown", [b, a])
    assert row["locations"] == [{"id": b, "name": "B"}, {"id": a, "name": "A"}]
    where = f"{CIRCLES}/{row['id']}"
    assert client.get(where).data == row
    assert [r for r in client.get(CIRCLES).data if r["id"] == row["id"]] == [row]
    assert ids(client.post(where, {"locations": {"add": [c], "remove": [b]}}, expect=200).data) == [a, c]
    assert ids(client.post(where, {"locations": [b]}, expect=200).data) == [b]
    assert client.post(where, {"locations": {"set": []}}, expect=200).data["locations"] == []
    assert client.post(where, {"locations": [a], "name": "Shown"}, expect=200).data["locations"] == [{"id": a, "name": "A"}]
    version = client.get(where).headers["ETag"]
    client.post(where, {"locations": {"add": [a]}}, expect=200)
    assert client.get(where).headers["ETag"] == version  # nothing changed


def test_events_show_them_too(world):
    org, client, _, _, a, b, _ = world
    row = make(client, "Event", [a])
    client.post(f"{CIRCLES}/{row['id']}", {"locations": [a, b]}, expect=200)
    created, updated = org.events(row["id"])
    assert created[1]["locations"] == [{"id": a, "name": "A"}] and created[3] is None
    assert [x["name"] for x in updated[1]["locations"]] == ["A", "B"]
    assert updated[2]["locations"] == [{"id": a, "name": "A"}]


def test_refused(world):
    _, client, _, _, a, _, _ = world
    none = "loc_0000000000000000000000"
    r = client.post(CIRCLES, {"name": "x", "locations": [a, none]}, expect=400)
    assert r.code == "validation.failed" and r.errors == ["locations.1"]
    assert client.post(CIRCLES, {"name": "x", "locations": [a, a]}, expect=400).errors == ["locations.1"]
    assert client.post(CIRCLES, {"name": "x", "locations": [{"id": a}]}, expect=400).errors == ["locations.0"]


def test_visible_when_empty_or_met(world):
    _, client, of_a, of_ab, a, b, c = world
    rows = {name: make(client, "Seen " + name, sets) for name, sets in (("none", []), ("a", [a]), ("ab", [a, b]), ("c", [c]), ("bc", [b, c]))}
    everything = {"Seen " + name for name in rows}

    def listed(who):
        return {r["name"] for r in who.get(CIRCLES + "?limit=100").data} & everything

    assert listed(client) == everything
    assert listed(of_a) == {"Seen none", "Seen a", "Seen ab"}
    assert listed(of_ab) == {"Seen none", "Seen a", "Seen ab", "Seen bc"}
    assert of_a.get(f"{CIRCLES}/{rows['none']['id']}").data["locations"] == []
    # what the key does not reach is left out of what is shown, not an error
    assert of_a.get(f"{CIRCLES}/{rows['ab']['id']}").data["locations"] == [{"id": a, "name": "A"}]
    r = of_a.get(f"{CIRCLES}/{rows['bc']['id']}", expect=403)
    assert r.code == "location_access" and sorted(r.errors) == sorted([b, c])
    assert of_a.post(f"{CIRCLES}/{rows['c']['id']}", {"name": "mine"}, expect=403).code == "location_access"
    assert of_a.delete(f"{CIRCLES}/{rows['c']['id']}", expect=403).code == "location_access"


def test_only_reached_ones_are_put_in_or_taken_out(world):
    _, client, of_a, of_ab, a, b, c = world
    row = make(client, "Moved", [a, b])
    where = f"{CIRCLES}/{row['id']}"
    assert of_a.post(where, {"locations": {"add": [c]}}, expect=403).errors == [c]
    assert of_a.post(where, {"locations": {"remove": [b]}}, expect=403).errors == [b]
    assert of_a.post(where, {"locations": [a]}, expect=403).errors == [b]  # that would take B out
    assert of_a.post(where, {"locations": [a, b], "name": "Kept"}, expect=200).data["name"] == "Kept"  # B stays as it is
    assert ids(client.get(where).data) == [a, b]
    of_a.post(where, {"locations": {"remove": [a]}}, expect=200)
    assert ids(client.get(where).data) == [b]
    of_a.get(where, expect=403)
    assert of_a.post(CIRCLES, {"name": "x", "locations": [a, b]}, expect=403).errors == [b]
    assert of_ab.post(CIRCLES, {"name": "Both", "locations": [a, b]}, expect=201)


def test_location_filter(world):
    _, client, of_a, _, a, b, _ = world
    row = make(client, "Filtered", [a, b])
    assert row["id"] in {r["id"] for r in client.get(f"{CIRCLES}?location_id={b}&limit=100").data}
    assert of_a.get(f"{CIRCLES}?location_id={b}", expect=403).errors == [b]
    assert of_a.get(f"{CIRCLES}?location_id={a},{b}", expect=403).errors == [b]
    assert row["id"] in {r["id"] for r in of_a.get(f"{CIRCLES}?location_id={a}&limit=100").data}


def test_embedded_rows_outside_are_null(world):
    _, client, of_a, _, a, b, _ = world
    hidden, met, free = make(client, "Hidden", [b]), make(client, "Met", [a, b]), make(client, "Free", [])
    for friend, seen in ((hidden, None), (met, {"id": met["id"], "name": "Met"}), (free, {"id": free["id"], "name": "Free"})):
        row = make(client, "Friend of " + friend["name"], [a], friend_id=friend["id"])
        assert row["friend"] == {"id": friend["id"], "name": friend["name"]}
        assert of_a.get(f"{CIRCLES}/{row['id']}").data["friend"] == seen


def test_the_policy_is_told(server):
    assert server.openapi["paths"][CIRCLES]["get"]["x-location-policy"] == "multi"
