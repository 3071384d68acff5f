"""Print stations and their printers: spec 04 sections 2 to 5."""
import json
import os
import pathlib
import re
import threading

import psycopg2
import pytest

from wharf import ISO, ROOT, STATIONS, make_location, make_station, note_job, printer, station_body

SIZES = [s["name"] for s in json.loads((ROOT / "schemas" / "paper-sizes.json").read_text())]


def update(client, station, body, expect=200):
    return client.post(f"{STATIONS}/{station['id']}", body, expect=expect)


def refuse(client, station, body, errors, code="validation.failed", status=400):
    return client.refused("POST", f"{STATIONS}/{station['id']}", status, code, errors, body=body)


def add_job(org, station, printer_id, status="queued"):
    id = "prnt_job_" + os.urandom(11).hex()
    org.server.sql("INSERT INTO stations.print_job (organization_id, id, name, location_id, print_station_id, printer_id, status, expires_at,"
                   " created_at, updated_at) VALUES (%s, %s, 'x', %s, %s, %s, %s, now() + interval '1 day', now(), now())",
                   org.id, id, station["location_id"], station["id"], printer_id, status)
    note_job(org.server, id)
    return id


def job(org, id):
    return org.server.sql("SELECT status, reason_code, reason, cancel_requested_at IS NOT NULL FROM stations.print_job"
                          " WHERE organization_id = %s AND id = %s", org.id, id)[0]


def test_create(client, location):
    body = station_body(location["id"], "  C-1  ", metadata={"floor": 2})
    a = client.post(STATIONS, body, expect=201)
    d = a.data
    assert a.message == "Print station created" and a.headers["Location"] == f"{STATIONS}/{d['id']}"
    assert d["object"] == "print_station" and re.fullmatch(r"prnt_stn_[0-9A-Za-z]{22}", d["id"])
    assert d["name"] == "C-1" and d["status"] == "online" and d["allow_all_users"] is True and d["metadata"] == {"floor": 2}
    assert d["configuration"] == {"pooling_enabled": False, "max_inflight": 8}
    assert d["push"] == {"driver": "stream", "status": "unknown", "last_delivery_at": None}
    assert d["device_id"] is None and d["agent"] is None and d["last_seen_at"] is None and d["online_since"] is None
    assert ISO.match(d["created_at"]) and "device_token" not in d and "allowed_users" not in d and "location" not in d
    p = d["printers"][0]
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", p["id"])
    assert p["configuration"] == {"dpi": None, "speed": None, "color_print": False, "double_sided": False, "spooling": False, "port": None,
                                  "priority": 100, "type": None}
    assert list(p["page_size"]) == SIZES and [k for k, v in p["page_size"].items() if v] == ["label_4x6"]
    assert p["languages"] == [] and p["state_reasons"] == [] and p["uri"] is None and p["status"] == "online"


def test_retrieve_shows_more(client, location):
    d = make_station(client, location["id"], "R-1")
    r = client.get(f"{STATIONS}/{d['id']}").data
    assert r["device_token"] == "token-R-1" and r["allowed_users"] == []
    assert r["location"] == {"id": location["id"], "name": location["name"], "code": location["code"]}
    assert {k: v for k, v in r.items() if k not in ("device_token", "allowed_users", "location")} == d
    assert client.get(STATIONS + "?name=R-1").data == [d]


@pytest.mark.parametrize("change, errors", [
    ({"name": None}, ["name"]), ({"name": ""}, ["name"]), ({"name": "x" * 192}, ["name"]), ({"display_name": "x" * 192}, ["display_name"]), ({"display_name": 5}, ["display_name"]),
    ({"device_token": ""}, ["device_token"]), ({"device_token": "x" * 4097}, ["device_token"]), ({"status": "Online"}, ["status"]),
    ({"printers": []}, ["printers"]), ({"printers": [printer(str(i)) for i in range(101)]}, ["printers"]), ({"printers": {}}, ["printers"]),
    ({"printers": [{}]}, ["printers.0.name", "printers.0.model", "printers.0.configuration", "printers.0.page_size"]),
    ({"printers": [printer(page_size={"label_9x9": True})]}, ["printers.0.page_size.label_9x9"]),
    ({"printers": [printer(page_size={"a4": 1})]}, ["printers.0.page_size.a4"]),
    ({"printers": [printer(status="asleep")]}, ["printers.0.status"]),
    ({"printers": [printer(configuration={"port": 65536})]}, ["printers.0.configuration.port"]),
    ({"printers": [printer(configuration={"dpi": "300dpi"})]}, ["printers.0.configuration.dpi"]),
    ({"printers": [printer(configuration={"port": 0})]}, ["printers.0.configuration.port"]),
    ({"printers": [printer(configuration={"dpi": "fine"})]}, ["printers.0.configuration.dpi"]),
    ({"printers": [printer(configuration={"priority": 1001})]}, ["printers.0.configuration.priority"]),
    ({"printers": [printer(languages=["klingon"])]}, ["printers.0.languages.0"]),
    ({"printers": [printer("A"), printer("A")]}, ["printers.1.name"]),
    ({"configuration": {"max_inflight": 65}}, ["configuration.max_inflight"]), ({"configuration": {"pooling_enabled": 1}}, ["configuration.pooling_enabled"]),
    ({"allow_all_users": "true"}, ["allow_all_users"]), ({"push": {"driver": "pigeon"}}, ["push.driver"]), ({"push": {"driver": "fcm"}}, ["push.driver"]),
    ({"location_id": "loc_0000000000000000000000"}, ["location_id"]), ({"location_id": 7}, ["location_id"]),
])
def test_refused_bodies(client, location, change, errors):
    client.refused("POST", STATIONS, 400, "validation.failed", errors, body={**station_body(location["id"], "Bad"), **change})


def test_required(client):
    client.refused("POST", STATIONS, 400, "validation.failed", ["name", "display_name", "location_id", "device_token", "printers"], body={})


def test_names_are_unique_per_location(client, location):
    other = make_location(client, "Names")
    make_station(client, location["id"], "N-1")
    client.refused("POST", STATIONS, 400, "station.exists", ["name"], body=station_body(location["id"], "n-1", display_name="else"))
    client.refused("POST", STATIONS, 400, "station.exists", ["display_name"],
                   body=station_body(location["id"], "N-2", display_name=" display n-1 "))
    at_other = make_station(client, other["id"], "N-1")
    refuse(client, at_other, {"location_id": location["id"]}, ["name", "display_name"], "station.exists")
    refuse(client, make_station(client, location["id"], "N-3"), {"name": "N-1"}, ["name"], "station.exists")
    client.delete(f"{STATIONS}/{client.get(STATIONS + '?name=N-1&location_id=' + location['id']).ids[0]}")
    make_station(client, location["id"], "N-1")


def test_two_at_once_make_one(client, location):
    answers = []

    def create():
        answers.append(client.__class__(client.server, client.key).post(STATIONS, station_body(location["id"], "RACE")).status)
    threads = [threading.Thread(target=create) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert sorted(answers) == [201] + [400] * 7


@pytest.mark.parametrize("field, stored, asked", [("name", "MEETS", "meets"), ("display_name", "Meets Here", "meets here")])
def test_names_meet_in_the_database(org, client, field, stored, asked):
    """Another write holds the name and has not ended: the one behind it waits, and is told as if it had come later."""
    l = make_location(client, "Meets " + field)
    kept, answers = make_station(client, l["id"], "M-1"), []
    body = {**station_body(l["id"], "M-2", display_name="Another"), field: asked}
    held = psycopg2.connect(org.server.conninfo)
    with held.cursor() as c:
        c.execute("INSERT INTO stations.print_station SELECT (jsonb_populate_record(t, %s)).* FROM stations.print_station t WHERE id = %s",
                  (json.dumps({"id": "prnt_stn_" + os.urandom(11).hex(), "name": "M-3", "display_name": "Third", field: stored}), kept["id"]))
        thread = threading.Thread(target=lambda: answers.append(client.__class__(client.server, client.key).post(STATIONS, body)))
        thread.start()
        while not answers and not org.server.sql("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"):
            thread.join(0.01)
        held.commit()
    held.close()
    thread.join()
    assert (answers[0].status, answers[0].code, answers[0].body["errors"]) == (400, "station.exists", [field])


def test_cloud_printing_switch(client):
    d = make_location(client, "Switch")
    s = make_station(client, d["id"], "S-1")
    client.post("/v1/locations/" + d["id"], {"settings": {"cloud_printing": {"enabled": False}}}, expect=200)
    client.refused("POST", STATIONS, 400, "location.cloud_printing_disabled", body=station_body(d["id"], "S-2"))
    refuse(client, s, {"name": "S-9"}, None, "location.cloud_printing_disabled")
    elsewhere = make_location(client, "On")
    t = make_station(client, elsewhere["id"], "S-1")
    refuse(client, t, {"location_id": d["id"]}, None, "location.cloud_printing_disabled")
    client.get(f"{STATIONS}/{s['id']}")
    update(client, s, {"location_id": make_location(client, "On too")["id"]})


def test_inactive_location_takes_no_stations(client):
    d = make_location(client, "Idle", active=False)
    client.refused("POST", STATIONS, 400, "location.inactive", ["location_id"], body=station_body(d["id"], "I-1"))
    s = make_station(client, make_location(client, "Busy")["id"], "I-1")
    refuse(client, s, {"location_id": d["id"]}, ["location_id"], "location.inactive")


def test_update_parts(client, location):
    s = make_station(client, location["id"], "U-1")
    u = update(client, s, {"configuration": {"pooling_enabled": True}, "push": {"driver": "stream", "status": "ok"}, "metadata": {"a": 1}})
    d = u.data
    assert u.message == "Print station updated"
    assert d["configuration"] == {"pooling_enabled": True, "max_inflight": 8} and d["push"]["driver"] == "stream" and d["push"]["status"] == "unknown"
    assert d["updated_at"] > d["created_at"] and d["printers"] == s["printers"] and d["device_token"] == "token-U-1"
    assert update(client, s, {}).data == d
    refuse(client, s, {"device_id": "dev_0000000000000000000000"}, ["device_id"])
    refuse(client, s, {"name": None}, ["name"])
    assert update(client, s, {"device_id": None}).data["device_id"] is None


def test_printers_are_the_complete_list(client, location):
    s = make_station(client, location["id"], "P-1", printers=[printer("A", status="busy"), printer("B"), printer("C")])
    a, b, c = s["printers"]
    u = update(client, s, {"printers": [{**printer("B2"), "id": b["id"]}, printer("A", model="other"), printer("D")]}).data["printers"]
    assert [p["name"] for p in u] == ["B2", "A", "D"]
    assert u[0]["id"] == b["id"] and u[1]["id"] == a["id"] and u[2]["id"] not in (a["id"], b["id"], c["id"])
    assert u[1]["model"] == "other" and u[1]["status"] == "busy", "an unreported status keeps the last value"
    assert u[0]["created_at"] == b["created_at"] and u[0]["updated_at"] > b["updated_at"]
    back = update(client, s, {"printers": [printer("C")]}).data["printers"]
    assert back[0]["id"] != c["id"], "a name sent again after removal is a new printer"
    refuse(client, s, {"printers": []}, ["printers"])
    refuse(client, s, {"printers": [{**printer("X"), "id": a["id"]}]}, ["printers.0.id"])
    refuse(client, s, {"printers": [{**printer("X"), "id": "5f6b0a52-93c5-4c08-9f31-24b0e7e1a0aa"}]}, ["printers.0.id"])
    refuse(client, s, {"printers": [printer("q"), printer("q")]}, ["printers.1.name"])
    assert [p["name"] for p in client.get(f"{STATIONS}/{s['id']}").data["printers"]] == ["C"]
    update(client, s, {"printers": [printer("c"), printer("C")]})


def test_status_changed_at(client, location):
    s = make_station(client, location["id"], "T-1")
    p = s["printers"][0]
    same = update(client, s, {"printers": [{**printer(), "status": "online", "model": "other"}]}).data["printers"][0]
    assert same["status_changed_at"] == p["status_changed_at"] and same["updated_at"] > p["updated_at"]
    off = update(client, s, {"printers": [printer(status="offline", model="other")]}).data["printers"][0]
    assert off["status"] == "offline" and off["status_changed_at"] > p["status_changed_at"]


def test_all_39_flags_round_trip(client, location):
    flags = {name: i % 2 == 0 for i, name in enumerate(SIZES)}
    s = make_station(client, location["id"], "F-1", printers=[printer(page_size=flags)])
    assert s["printers"][0]["page_size"] == flags and len(flags) == 39
    none = make_station(client, location["id"], "F-2", printers=[printer(page_size={})])
    assert none["printers"][0]["page_size"] == dict.fromkeys(SIZES, False)


def test_sorted_by_updated_at(fresh):
    c = fresh.client()
    place = make_location(c)["id"]
    ids = [make_station(c, place, n)["id"] for n in ("A", "B", "C")]
    update(c, {"id": ids[0]}, {"status": "offline"})
    assert c.get(STATIONS + "?order_by=updated_at").ids == [ids[0], ids[2], ids[1]]
    assert c.get(STATIONS + "?order_by=updated_at&direction=asc").ids == [ids[1], ids[2], ids[0]]
    assert c.get(STATIONS).ids == ids[::-1]


def test_page_size_filter(fresh):
    c = fresh.client()
    place = make_location(c)["id"]
    ids = {n: make_station(c, place, n, printers=[printer(page_size={n: True}), printer("other", page_size={"a3": True, "a4": n == "a4"})])["id"]
           for n in ("a4", "label_5x4", "letter")}
    assert c.get(STATIONS + "?page_size=page_size_label_5x4").ids == [ids["label_5x4"]]
    assert c.get(STATIONS + "?page_size=label_5x4").ids == [ids["label_5x4"]]
    assert set(c.get(STATIONS + "?page_size=a4,page_size_letter").ids) == {ids["a4"], ids["letter"]}
    assert len(c.get(STATIONS + "?page_size=a3").ids) == 3
    c.refused("GET", STATIONS + "?page_size=label_9x9", 400, "param.invalid", ["page_size"])
    update(c, {"id": ids["letter"]}, {"printers": [printer(page_size={})]})
    assert c.get(STATIONS + "?page_size=letter").ids == []
    assert set(c.get(STATIONS + "?page_size=a3").ids) == {ids["a4"], ids["label_5x4"]}  # the removed printer had it


def test_paper_sizes(client):
    a = client.get("/v1/cloud-printing/paper-sizes").data
    assert [s["name"] for s in a] == SIZES and len(a) == 39
    assert sum(s["kind"] == "page" for s in a) == 8
    a4 = next(s for s in a if s["name"] == "a4")
    assert a4 == {"name": "a4", "kind": "page", "width": 8.27, "height": 11.69, "points": [595.44, 841.68], "pwg": "iso_a4_210x297mm"}
    definition = json.loads((ROOT / "schemas" / "stations" / "print_station.json").read_text())
    assert list(definition["properties"]["printers"]["items"]["properties"]["page_size"]["properties"]) == SIZES


# ---- who may use a station ----

def test_allowed_users_forms(fresh):
    c = fresh.client()
    place = make_location(c)["id"]
    u = [fresh.user() for _ in range(3)]
    s = make_station(c, place, "A-1", allow_all_users=False, allowed_users=[u[0]])
    get = lambda: c.get(f"{STATIONS}/{s['id']}").data["allowed_users"]
    assert get() == [u[0]]
    update(c, s, {"allowed_users": {"add": [u[1], u[2]]}})
    assert get() == u
    update(c, s, {"allowed_users": {"remove": [u[0]]}})
    assert get() == u[1:]
    update(c, s, {"allowed_users": {"set": [u[0]]}})
    assert get() == [u[0]]
    for bad in ({"add": [u[1]], "remove": [u[0]]}, {"add": [u[1]], "set": [u[1]]}, {}, {"other": []}):
        refuse(c, s, {"allowed_users": bad}, ["allowed_users"])
    refuse(c, s, {"allowed_users": {"add": ["user_0000000000000000000000"]}}, ["allowed_users.add.0"])
    refuse(c, s, {"allowed_users": [u[0], "user_0000000000000000000000"]}, ["allowed_users.1"])
    refuse(c, s, {"allowed_users": {"set": [u[0], u[0]]}}, ["allowed_users.set"])
    assert get() == [u[0]]


def test_allowed_users_limit_holds_for_the_result(fresh):
    """maxItems counts what would be stored, not only what is sent."""
    c = fresh.client()
    place = make_location(c)["id"]
    u = [fresh.user() for _ in range(3)]
    s = make_station(c, place, "A-1", allow_all_users=False, allowed_users=[u[0]])
    many = json.dumps([u[0]] + [f"user_{i:022}" for i in range(999)])
    fresh.server.sql("UPDATE stations.print_station SET allowed_users = %s WHERE id = %s", many, s["id"])
    r = refuse(c, s, {"allowed_users": {"add": [u[1]]}}, ["allowed_users"])
    assert "1000" in r.message, r
    too_many = [f"user_{i:022}" for i in range(1001)]
    r = c.refused("POST", STATIONS, 400, "validation.failed", ["allowed_users"],
                  body=station_body(place, "A-2", allow_all_users=False, allowed_users={"add": too_many}))
    assert "1000" in r.message, r
    update(c, s, {"allowed_users": {"remove": ["user_" + "0" * 22]}})


def test_allow_all_users_rules(fresh):
    c = fresh.client()
    place = make_location(c)["id"]
    u = fresh.user()
    client_body = station_body(place, "B-1")
    c.refused("POST", STATIONS, 400, "validation.failed", ["allow_all_users"], body={**client_body, "allow_all_users": False})
    c.refused("POST", STATIONS, 400, "validation.failed", ["allowed_users"], body={**client_body, "allowed_users": [u]})
    c.refused("POST", STATIONS, 400, "validation.failed", ["allowed_users"], body={**client_body, "allow_all_users": True, "allowed_users": [u]})
    s = c.post(STATIONS, client_body, expect=201).data
    refuse(c, s, {"allowed_users": {"add": [u]}}, ["allowed_users"])
    refuse(c, s, {"allow_all_users": False}, ["allow_all_users"])
    d = update(c, s, {"allow_all_users": False, "allowed_users": {"add": [u]}}).data
    assert d["allow_all_users"] is False and d["allowed_users"] == [u]
    update(c, s, {"allow_all_users": False})
    refuse(c, s, {"allow_all_users": True, "allowed_users": {"remove": [u]}}, ["allowed_users"])
    d = update(c, s, {"allow_all_users": True}).data
    assert d["allow_all_users"] is True and d["allowed_users"] == []


def test_disabled_and_locationless_users(fresh):
    c = fresh.client()
    a, b = make_location(c, "A")["id"], make_location(c, "B")["id"]
    good, disabled, elsewhere = fresh.user(locations=[a]), fresh.user(status="disabled"), fresh.user(locations=[b])
    owner = fresh.user(role="owner", locations=[])
    r = c.refused("POST", STATIONS, 400, "validation.failed", body=station_body(a, "D-1", allow_all_users=False, allowed_users={"add": [good, disabled, elsewhere, owner]}))
    assert r.errors == ["allowed_users.add.1", "allowed_users.add.2"]
    make_station(c, a, "D-1", allow_all_users=False, allowed_users={"add": [good, owner]})


def test_audience(fresh):
    owner = fresh.client()
    a, b = make_location(owner, "A")["id"], make_location(owner, "B")["id"]
    inside, outside = fresh.user(locations=[a]), fresh.user(locations=[a], role="admin")
    open_station = make_station(owner, a, "OPEN")
    closed = make_station(owner, a, "CLOSED", allow_all_users=False, allowed_users=[inside])
    far = make_station(owner, b, "FAR")
    c, d = fresh.client(user=inside), fresh.client(user=outside)
    assert set(c.get(STATIONS).ids) == {open_station["id"], closed["id"]}
    assert d.get(STATIONS).ids == [open_station["id"]]
    c.get(f"{STATIONS}/{closed['id']}")
    d.refused("GET", f"{STATIONS}/{closed['id']}", 404, "not_found", [closed["id"]])
    d.refused("POST", f"{STATIONS}/{closed['id']}", 404, "not_found", [closed["id"]], body={"name": "mine"})
    d.refused("DELETE", f"{STATIONS}/{closed['id']}", 404, "not_found", [closed["id"]])
    c.refused("GET", f"{STATIONS}/{far['id']}", 403, "location_access", [b])
    boss = fresh.client(user=fresh.user(role="owner"))
    boss.refused("GET", f"{STATIONS}/{closed['id']}", 404, "not_found", [closed["id"]])
    assert len(owner.get(STATIONS).ids) == 3


def test_moving_needs_both_locations(fresh):
    owner = fresh.client()
    a, b = make_location(owner, "A")["id"], make_location(owner, "B")["id"]
    c = fresh.client(locations=[a])
    s, t = make_station(owner, a, "M-1"), make_station(owner, b, "M-2")
    c.refused("POST", f"{STATIONS}/{s['id']}", 403, "location_access", [b], body={"location_id": b})
    c.refused("POST", f"{STATIONS}/{t['id']}", 403, "location_access", [b], body={"location_id": a})
    c.refused("POST", STATIONS, 403, "location_access", [b], body=station_body(b, "M-3"))
    assert update(owner, s, {"location_id": b}).data["location"]["id"] == b
    c.refused("GET", STATIONS + "?location_id=" + b, 403, "location_access", [b])
    c.refused("GET", STATIONS + f"?location_id={a},{b}", 403, "location_access", [b])
    assert c.get(STATIONS).ids == []


# ---- jobs of a station ----

def test_jobs_of_removed_printers(org, client, location):
    s = make_station(client, location["id"], "J-1", printers=[printer("A"), printer("B")])
    a, b = (p["id"] for p in s["printers"])
    waiting, running, other = add_job(org, s, a), add_job(org, s, a, "processing"), add_job(org, s, b)
    assert "print_jobs_count" not in client.get(f"{STATIONS}/{s['id']}").data
    assert client.get(f"{STATIONS}/{s['id']}?include_print_jobs_count=true").data["print_jobs_count"] == 3
    assert client.get(f"{STATIONS}?name=J-1&include_print_jobs_count=1").data[0]["print_jobs_count"] == 3
    update(client, s, {"printers": [printer("B")]})
    assert org.server.sql("SELECT name, deleted_at IS NOT NULL FROM stations.printer WHERE id = %s", a) == [("A", True)]
    assert job(org, waiting)[:3] == ("aborted", "printer_removed", "printer removed")
    assert job(org, running)[0] == "processing" and job(org, other)[0] == "queued"
    assert client.get(f"{STATIONS}/{s['id']}?include_print_jobs_count=true").data["print_jobs_count"] == 2


def test_delete(org, client, location):
    s = make_station(client, location["id"], "X-1")
    p = s["printers"][0]["id"]
    waiting, running, done = add_job(org, s, p), add_job(org, s, p, "processing"), add_job(org, s, p, "completed")
    assert client.delete(f"{STATIONS}/{s['id']}").data == {"id": s["id"], "object": "print_station", "deleted": True}
    assert job(org, waiting)[:2] == ("aborted", "station_deleted")
    assert job(org, running) == ("processing", None, None, True) and job(org, done)[0] == "completed"
    client.refused("GET", f"{STATIONS}/{s['id']}", 404, "not_found", [s["id"]])
    client.refused("DELETE", f"{STATIONS}/{s['id']}", 404, "not_found", [s["id"]])
    client.refused("POST", f"{STATIONS}/{s['id']}", 404, "not_found", [s["id"]], body={"name": "x"})
    assert client.get(STATIONS + "?name=X-1").data == []


# ---- lists and events ----

def test_list_defaults(fresh):
    c = fresh.client()
    place = make_location(c)["id"]
    ids = [make_station(c, place, f"L-{i:02}")["id"] for i in range(23)]
    a = c.get(STATIONS)
    assert a.ids == ids[:2:-1] and a.pagination == {"page": 1, "limit": 20, "has_more": True}
    assert c.get(STATIONS + "?page=2").ids == ids[2::-1]
    assert c.get(STATIONS + "?limit=all").pagination["limit"] == 100
    c.refused("GET", STATIONS + "?limit=101", 400, "param.invalid", ["limit"])
    assert c.get(STATIONS + "?order_by=name&direction=asc&limit=2").ids == ids[:2]
    c.refused("GET", STATIONS + "?order_by=status", 400, "param.invalid", ["order_by"])


def test_list_filters_and_search(fresh):
    c = fresh.client()
    place = make_location(c)["id"]
    a = make_station(c, place, "Alpha", printers=[printer("Front", model="QL-820", status="error")], metadata={"k": "v"}, status="offline")["id"]
    b = make_station(c, place, "Beta", printers=[printer("Back", model="ZD421")])["id"]
    get = lambda q: c.get(STATIONS + "?" + q).ids
    assert get("name=ALPHA") == [a] and get("display_name=Display Beta") == [b] and get("status=offline") == [a]
    assert get("printer_status=error") == [a] and get("printer_status=!in:error") == [b] and get("metadata=k:v") == [a]
    assert get("search=ql-82") == [a] and get("search=back") == [b] and get("search=display+front") == [a, b]
    assert get("search=display+front&search_strategy=match_all") == [a]
    assert get("id=" + b) == [b] and get("created_by=nobody") == []
    c.refused("GET", STATIONS + "?printer_status=asleep", 400, "param.invalid", ["printer_status"])


def test_events(org, client, location):
    s = make_station(client, location["id"], "E-1")
    update(client, s, {"status": "offline"})
    update(client, s, {"status": "offline"})
    update(client, s, {"display_name": "E"})
    client.delete(f"{STATIONS}/{s['id']}")
    events = sorted(org.events(s["id"]), key=lambda e: (e[0], e[1]["updated_at"]))
    assert [e[0] for e in events] == ["print_station.created", "print_station.deleted", "print_station.status_changed",
                                      "print_station.updated", "print_station.updated"]
    for type, data, previous, place in events:
        assert "device_token" not in data and data["id"] == s["id"] and data["object"] == "print_station" and place == location["id"], type
    changed = events[2][1]
    assert changed["previous_status"] == "online" and changed["cause"] == "client" and changed["status"] == "offline"
    assert events[4][2] == {"display_name": "Display E-1"}
    assert [c[0] for c in org.changes(s["id"])] == ["created", "updated", "updated", "deleted"]


def test_scopes(fresh):
    place = make_location(fresh.client())["id"]
    r = fresh.client("print_stations:read")
    r.get(STATIONS)
    r.refused("POST", STATIONS, 403, "scope_access", ["print_stations:write"], body=station_body(place))
    fresh.client("locations:write").refused("GET", STATIONS, 403, "scope_access", ["print_stations:read"])
    make_station(fresh.client("print_stations:write"), place)


def test_printers_can_swap_names(client, location):
    s = make_station(client, location["id"], "SWAP", printers=[printer("A"), printer("B"), printer("C")])
    a, b, c = (p["id"] for p in s["printers"])
    u = update(client, s, {"printers": [{**printer("B"), "id": a}, {**printer("C"), "id": b}, {**printer("A"), "id": c}]}).data["printers"]
    assert [(p["id"], p["name"]) for p in u] == [(a, "B"), (b, "C"), (c, "A")]
    u = update(client, s, {"printers": [{**printer("A"), "id": a}, printer("B")]}).data["printers"]
    assert [p["name"] for p in u] == ["A", "B"] and u[0]["id"] == a and u[1]["id"] not in (a, b, c)
    b = u[1]["id"]
    u = update(client, s, {"printers": [printer("B"), {**printer("X"), "id": b}]}).data["printers"]
    assert [p["name"] for p in u] == ["B", "X"] and u[1]["id"] == b and u[0]["id"] not in (a, b, c), "an id wins over a name"


def test_two_updates_at_once(client, location):
    s = make_station(client, location["id"], "TWICE")
    answers = []

    def change(i):
        c = client.__class__(client.server, client.key)
        for k in range(5):
            answers.append(update(c, s, {"printers": [printer(f"P{i}-{k}"), printer("Zebra")], "metadata": {f"m{i}": k}}, expect=None).status)
    threads = [threading.Thread(target=change, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert set(answers) == {200}
    d = client.get(f"{STATIONS}/{s['id']}").data
    assert len(d["printers"]) == 2 and d["metadata"] == {f"m{i}": 4 for i in range(4)}
    assert [p["id"] for p in d["printers"] if p["name"] == "Zebra"] == [s["printers"][0]["id"]]


def test_location_with_stations_is_in_use(fresh):
    c = fresh.client()
    d = make_location(c, "Busy")
    s = make_station(c, d["id"])
    c.refused("DELETE", "/v1/locations/" + d["id"], 409, "location.in_use", ["print_stations"])
    assert c.get("/v1/locations/" + d["id"]).data["id"] == d["id"]
    gone = c.delete("/v1/locations/" + d["id"] + "?force=true")
    assert gone.data == {"id": d["id"], "object": "location", "deleted": True}
    c.refused("GET", "/v1/locations/" + d["id"], 404, "not_found", [d["id"]])
    left = c.get("/v1/cloud-printing/stations/" + s["id"]).data
    assert left["location_id"] == d["id"] and left["location"] is None
    assert fresh.server.sql("SELECT count(*) FROM locations.layout WHERE location_id = %s AND deleted_at IS NULL", d["id"]) == [(0,)]
    assert [e[0] for e in fresh.events(d["id"])] == ["location.created", "location.deleted"]
