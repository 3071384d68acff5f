"""Exports (spec 01 section 15): everything a list would return, as files."""
import calendar
import contextlib
import csv
import io
import json
import os
import signal
import threading
import time

import psycopg2
import pytest
import requests

from wharf import BUILD, MODULES, TURNS_ARE_HEARD, WAIT, Server, make_location, stepped_back

EXPORTS = "/v1/exports"
BLANK = "iVBORw0KGgoAAAANSUhEUgAAADwAAAA8CAAAAAAfl4auAAAAKElEQVR4nO3LsQ0AAAQAMPz/Mz8wSdq92bFXhyvLsizLsizLsiy/zQOl0AF3228AsgAAAABJRU5ErkJggg=="  # 60 by 60 white pixels


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES if "exports" in MODULES else MODULES + ",exports")
    yield s
    s.stop()


def done(client, export, **more):
    end = time.monotonic() + WAIT
    while True:
        row = client.get(f"{EXPORTS}/{export['id']}?include_csv=true&include_json=true", **more).data
        if row["status"] not in ("queued", "processing"):
            return row
        assert time.monotonic() < end, row
        time.sleep(0.03)


def export(client, resource="contact", **more):
    row = client.post(EXPORTS, {"resource": resource, "options": {}, **more}, expect=201).data
    assert (row["object"], row["resource"], row["error"], row["finished_at"]) == ("export", resource, None, None) and row["status"] in ("queued", "processing")
    row = done(client, row)
    assert row["status"] == "completed" and row["progress"] == 100, row
    return row


def fetch(client, url):
    r = requests.get(client.server.base + url, timeout=WAIT)
    assert r.status_code == 200
    return r


def table(client, url):
    r = fetch(client, url)
    assert r.headers["Content-Type"].startswith("text/csv") and r.content.startswith(b"\xef\xbb\xbf") and r.content.endswith(b"\r\n")
    text = r.content.decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def contacts(client, *names, **more):
    return [client.post("/v1/contacts", {"name": n, **more}, expect=201).data for n in names]


def test_both_files_hold_what_the_list_shows(fresh):
    client = fresh.client()
    contacts(client, "Ann", "Bob, the \"builder\"", "Line break", "Zoë 山田", notes="one\ntwo, \"three\"", metadata={"k": "v"})
    row = export(client)
    listed = client.get("/v1/contacts?limit=all").data
    assert json.loads(fetch(client, row["_json_url"]).text) == listed
    assert (row["total_rows"], row["exported_rows"], row["error_rows"], row["sanitized_rows"], row["formats"]) == (4, 4, 0, 0, ["csv", "json"])
    assert row["_csv_sanitized_url"] is None and row["_csv_error_url"] is None
    head, *lines = table(client, row["_csv_url"])
    assert head == [k for k in listed[0] if k != "object"] and len(lines) == 4
    for line, shown in zip(lines, listed):
        cells = dict(zip(head, line))
        assert cells["name"] == shown["name"] and cells["notes"] == shown["notes"] and cells["created_at"] == shown["created_at"]
        assert cells["is_primary"] == "false" and cells["nickname"] == "" and json.loads(cells["metadata"]) == {"k": "v"}
    assert [e[0] for e in fresh.events(row["id"])] == ["export.completed"]
    plain = client.get(f"{EXPORTS}/{row['id']}").data
    assert plain["_csv_url"] is None and plain["_json_url"] is None
    shown = client.get(EXPORTS).data
    assert [e["id"] for e in shown] == [row["id"]] and "_csv_url" not in shown[0]
    # oldest first; filters
    second = export(client, formats=["json"])
    assert second["_csv_url"] is None and second["_json_url"] and [e["id"] for e in client.get(EXPORTS).data] == [row["id"], second["id"]]
    assert client.get(EXPORTS + "?status=completed&resource=contact").data and not client.get(EXPORTS + "?resource=group").data
    only = export(client, formats=["csv"])
    assert only["_json_url"] is None and only["_csv_url"]


def test_formulas_are_set_aside(fresh):
    client = fresh.client()
    bad = ["=cmd()", "@x", "+x", "-1+2"]
    good = ["+1 (555) 010-0101", "-7.5", "a=b", "- 2"]
    contacts(client, *bad, *good)
    row = export(client)
    names = [line[1] for line in table(client, row["_csv_url"])[1:]]
    aside = [line[1] for line in table(client, row["_csv_sanitized_url"])[1:]]
    assert sorted(names) == sorted(good) and sorted(aside) == sorted("'" + n for n in bad)
    assert row["sanitized_rows"] == 4 and row["total_rows"] == row["exported_rows"] == 8
    assert sorted(c["name"] for c in json.loads(fetch(client, row["_json_url"]).text)) == sorted(bad + good)


def test_what_makes_a_cell_a_formula(fresh):
    """Every first character of spec 01 section 15, in any column; the rest of a row that is set aside stays as it is."""
    client = fresh.client()
    cells = {"\t1": True, "\r1": True, "=1": True, "@1": True, "+1x": True, "-x": True, "+(0) 1.5-2": False, "-": False, "'=1": False, " =1": False, "1=": False}
    made = {c: client.post("/v1/contacts", {"name": "Somebody", "metadata": {"cell": c}}, expect=201).data["id"] for c in cells}
    row = export(client, formats=["csv"], csv_field_options={"nested": "flatten", "columns": {"id": True, "metadata": True, "name": True}})
    assert {r[0]: r[1] for r in table(client, row["_csv_url"])[1:]} == {made[c]: c for c, bad in cells.items() if not bad}
    aside = table(client, row["_csv_sanitized_url"])
    assert aside[0] == ["id", "metadata.cell", "name"] and {r[0]: r[1:] for r in aside[1:]} == {made[c]: ["'" + c, "Somebody"] for c, bad in cells.items() if bad}
    assert (row["total_rows"], row["exported_rows"], row["sanitized_rows"], row["error_rows"]) == (11, 11, 6, 0)


def test_options_are_the_list_s(fresh):
    client = fresh.client()
    made = contacts(client, "Ann", "Bob", "Cid")

    def names(**options):
        row = export(client, options=options, formats=["json"])
        return [c["name"] for c in json.loads(fetch(client, row["_json_url"]).text)], row["total_rows"]

    assert names(order_by="name", direction="desc") == (["Cid", "Bob", "Ann"], 3)
    assert names(order_by="name", direction="asc", limit=2) == (["Ann", "Bob"], 2)
    assert names(limit="all", created_at={"gt": "2100-01-01T00:00:00Z"}) == ([], 0)
    assert names(id=[made[0]["id"], made[2]["id"]], order_by="name", direction="asc") == (["Ann", "Cid"], 2)
    assert names(search="bob") == (["Bob"], 1)
    row = export(client, options={"fields": "id,name"}, formats=["csv"])
    assert table(client, row["_csv_url"])[0] == ["id", "name"]
    for options, at in (({"page": 2}, "page"), ({"cursor": "start"}, "cursor"), ({"limit": 0}, "limit"), ({"limit": 1000001}, "limit"), ({"limit": "some"}, "limit"),
                        ({"nothing": 1}, "nothing"), ({"created_at": "gte:2024-01-01"}, "created_at"), ({"created_at": {"gte": "2024-01-01"}}, "created_at"),
                        ({"order_by": "checksum"}, "order_by"), ({"include_total_count": True}, "include_total_count")):
        client.refused("POST", EXPORTS, 400, "param.invalid", ["options." + at], body={"resource": "contact", "options": options})
    client.refused("POST", EXPORTS, 400, "validation.failed", ["options"], body={"resource": "contact"})
    client.refused("POST", EXPORTS, 400, "validation.failed", ["resource"], body={"resource": "print_station", "options": {}})
    client.refused("POST", EXPORTS, 400, "validation.failed", ["resource"], body={"resource": "nothing", "options": {}})
    for formats in ([], ["xml"], ["csv", "csv"]):
        assert client.post(EXPORTS, {"resource": "contact", "options": {}, "formats": formats}).status == 400
    # empty: a header and no row
    row = export(fresh.client(), options={"search": "nobody at all"})
    assert len(table(client, row["_csv_url"])) == 1 and json.loads(fetch(client, row["_json_url"]).text) == []


def test_columns_zone_and_format(server):
    fresh = server.organization()
    client = fresh.client()
    row = contacts(client, "Ann", metadata={"b": "2", "a": "1"}, alternate_names={"1": "Annie"})[0]

    def first(**o):
        head, line = table(client, export(client, formats=["csv"], csv_field_options=o)["_csv_url"])
        return dict(zip(head, line)), head

    cells, head = first(columns={"name": True, "updated_at": False, "id": True})
    assert head == ["name", "id"]
    cells, head = first(nested="flatten")
    assert "alternate_names.1" in head and "alternate_names" not in head and cells["alternate_names.1"] == "Annie"
    assert (cells["metadata.a"], cells["metadata.b"]) == ("1", "2") and "alternate_emails.work" not in head
    cells, head = first(nested="flatten", columns={"metadata": True, "id": True})
    assert sorted(head[:2]) == ["metadata.a", "metadata.b"] and head[2:] == ["id"]
    cells, _ = first(timezone="Asia/Kolkata")
    at = time.strptime(row["created_at"][:19], "%Y-%m-%dT%H:%M:%S")
    assert cells["created_at"].endswith("+05:30") and cells["created_at"][:19] == time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(calendar.timegm(at) + 19800))
    cells, _ = first(datetime_format="yyyy/MM/dd HH'h'mm:ss.SSS")
    assert cells["created_at"] == time.strftime("%Y/%m/%d %Hh%M:%S", at) + row["created_at"][19:23]
    cells, _ = first(datetime_format="MMM d, yy h:mm a 'o''clock'", timezone="UTC")
    assert cells["created_at"] == f"{time.strftime('%b', at)} {at.tm_mday}, {at.tm_year % 100:02} {at.tm_hour % 12 or 12}:{at.tm_min:02} {'AM' if at.tm_hour < 12 else 'PM'} o'clock"


def test_bad_column_options(fresh):
    client = fresh.client()
    for o, at in (({"columns": {"nothing": True}}, "columns.nothing"), ({"columns": {"name": False}}, "columns"), ({"timezone": "Mars/Base"}, "timezone"), ({"datetime_format": "QQQ"}, "datetime_format"),
                  ({"datetime_format": "'open"}, "datetime_format"), ({"datetime_format": "--"}, "datetime_format"), ({"nested": "deep"}, "nested"), ({"other": 1}, "other")):
        client.refused("POST", EXPORTS, 400, "validation.failed", ["csv_field_options." + at], body={"resource": "contact", "options": {}, "csv_field_options": o})


def test_scopes_and_locations(fresh):
    client = fresh.client()
    here, there = make_location(client, "Here"), make_location(client, "There")
    groups = [client.post("/v1/contacts", {"name": n, "locations": [l["id"]]}, expect=201).data for n, l in (("Ann", here), ("Bob", there))]
    body = {"resource": "contact", "options": {}}
    fresh.client("exports:write").refused("POST", EXPORTS, 403, "scope_access", ["contacts:read"], body=body)
    fresh.client("contacts:write").refused("POST", EXPORTS, 403, "scope_access", ["exports:write"], body=body)
    limited = fresh.client("exports:write,contacts:read,locations:read", locations=[here["id"]])
    row = export(limited, resource="location", options={})
    assert [r["id"] for r in json.loads(fetch(client, row["_json_url"]).text)] == [here["id"]]
    limited.refused("POST", EXPORTS, 403, "location_access", [there["id"]], body={"resource": "contact", "options": {"locations": [there["id"]]}})
    # the files are for the creator, and for those who may see everything in them
    everything = export(client, resource="location")
    assert limited.get(f"{EXPORTS}/{everything['id']}?include_csv=true").data["_csv_url"] is None
    assert fresh.client("exports:read").get(f"{EXPORTS}/{everything['id']}?include_csv=true").data["_csv_url"] is None
    assert client.get(f"{EXPORTS}/{row['id']}?include_csv=true").data["_csv_url"]
    assert groups and fresh.server.organization().client().get(f"{EXPORTS}/{row['id']}", expect=404)


class Stopped:
    """No job runs meanwhile."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.pids = self.server.workers("job")
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)

    def __exit__(self, *_):
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT)


def test_cancel_and_delete(server):
    fresh = server.organization()
    client = fresh.client()
    contacts(client, "Ann")
    with Stopped(server):
        row = client.post(EXPORTS, {"resource": "contact", "options": {}}, expect=201).data
        canceled = client.delete(f"{EXPORTS}/{row['id']}").data
        assert canceled["status"] == "canceled" and canceled["finished_at"]
    over = export(client)
    row = client.get(f"{EXPORTS}/{row['id']}?include_json=true").data
    assert row["status"] == "canceled" and row["_json_url"] is None and fresh.events(row["id"]) == []
    assert client.delete(f"{EXPORTS}/{over['id']}").data == {"id": over["id"], "object": "export", "deleted": True}
    client.get(f"{EXPORTS}/{over['id']}", expect=404)
    assert requests.get(server.base + over["_json_url"], timeout=WAIT).status_code == 404
    assert client.delete(f"{EXPORTS}/{row['id']}").data["deleted"] is True
    client.delete(f"{EXPORTS}/{row['id']}", expect=404)


def test_what_the_creator_lost_meanwhile(server):
    fresh = server.organization()
    client = fresh.client()
    contacts(client, "Ann")
    short = fresh.client("exports:write,contacts:read")
    key = client.get("/v1/api-keys?order_by=created_at&direction=desc").data[0]["id"]
    with Stopped(server):
        row = short.post(EXPORTS, {"resource": "contact", "options": {}}, expect=201).data
        client.delete("/v1/api-keys/" + key)
    row = done(client, row)
    assert (row["status"], row["error"]["code"], row["_json_url"]) == ("failed", "export.key_revoked", None)
    assert [e[0] for e in fresh.events(row["id"])] == ["export.failed"]


def test_files_expire(server):
    client = server.organization().client()
    row = export(client)
    assert row["expires_at"][:10] > row["finished_at"][:10]
    server.sql("UPDATE exports.export SET expires_at = wharf.now() - interval '1 second' WHERE id = %s", row["id"])
    again = client.get(f"{EXPORTS}/{row['id']}?include_csv=true&include_json=true").data
    assert (again["status"], again["_csv_url"], again["_json_url"]) == ("expired", None, None)
    assert [e["id"] for e in client.get(EXPORTS + "?status=expired").data] == [row["id"]] and not client.get(EXPORTS + "?status=completed").data
    server.sql("UPDATE exports.export SET expires_at = wharf.now() - interval '31 days' WHERE id = %s", row["id"])
    assert server.sql("SELECT exports.forget(10)")[0][0] >= 1
    client.get(f"{EXPORTS}/{row['id']}", expect=404)


def test_one_moment(server):
    """While rows come and go: the files hold as many as were counted, each once."""
    client = server.organization().client()
    for i in range(30):
        contacts(client, f"P{i}")
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            client2.delete("/v1/contacts/" + contacts(client2, "New")[0]["id"])
    client2 = type(client)(server, client.key)
    t = threading.Thread(target=churn)
    t.start()
    try:
        for _ in range(5):
            row = export(client, formats=["json"])
            ids = [c["id"] for c in json.loads(fetch(client, row["_json_url"]).text)]
            assert len(ids) == len(set(ids)) == row["total_rows"] and len(ids) in (30, 31)
    finally:
        stop.set()
        t.join()


def many(client):
    """6,001 contacts."""
    client.server.sql("INSERT INTO contacts.contact SELECT (jsonb_populate_record(c, jsonb_build_object('id', 'ctct_' || lpad(i::text, 22, '0'), 'email', NULL, 'phone', NULL))).*"
                      " FROM contacts.contact c, generate_series(1, 6000) i WHERE c.id = %s", contacts(client, "Many")[0]["id"])


def test_exports_step_back(server):
    """docs/internals/jobs.md 'Background': who reads the rows for them does."""
    client = server.organization().client()
    many(client)
    row = client.post(EXPORTS, {"resource": "contact", "options": {}}, expect=201).data
    readers, over = set(), False
    while not over:
        over = client.get(f"{EXPORTS}/{row['id']}").data["status"] == "completed"
        for pid, in server.sql("SELECT pid FROM pg_stat_activity WHERE query LIKE 'FETCH %%' AND state <> 'idle'"):
            with contextlib.suppress(FileNotFoundError):  # it is done
                assert stepped_back(pid) == TURNS_ARE_HEARD
                readers.add(pid)
    assert readers


def test_a_killed_worker_begins_anew(server):
    client = server.organization().client()
    many(client)
    row = client.post(EXPORTS, {"resource": "contact", "options": {}}, expect=201).data
    for _ in range(2):
        time.sleep(0.15)
        for pid in server.workers("job"):
            os.kill(pid, signal.SIGKILL)
    row = done(client, row)
    assert row["status"] == "completed" and row["total_rows"] == row["exported_rows"] == 6001
    assert len(json.loads(fetch(client, row["_json_url"]).text)) == len(table(client, row["_csv_url"])) - 1 == 6001


def test_resources_of_plugins():
    s = Server("--modules", f"org,locations,exports,{BUILD}/tests/plugins/bench.so")
    try:
        client = s.organization().client()
        place = make_location(client)
        crate = client.post("/v1/crates", {"name": "C", "location_id": place["id"]}, expect=201).data
        row = export(client, resource="crate", options={"location_id": place["id"]})
        assert [c["id"] for c in json.loads(fetch(client, row["_json_url"]).text)] == [crate["id"]]
        # canceled while it runs
        s.sql("INSERT INTO bench.crate SELECT (jsonb_populate_record(c, jsonb_build_object('id', 'crate_' || lpad(i::text, 22, '0')))).* FROM bench.crate c, generate_series(1, 30000) i")
        files = s.sql("SELECT count(*) FROM wharf.file")
        row = client.post(EXPORTS, {"resource": "crate", "options": {}}, expect=201).data
        while client.get(f"{EXPORTS}/{row['id']}").data["status"] == "queued":
            time.sleep(0.005)
        assert client.delete(f"{EXPORTS}/{row['id']}").data["status"] == "canceled"
        while s.sql("SELECT 1 FROM wharf.job WHERE queue = 'exports.run'"):
            time.sleep(0.02)
        row = client.get(f"{EXPORTS}/{row['id']}?include_csv=true").data
        assert row["status"] == "canceled" and row["_csv_url"] is None and row["progress"] < 100 and s.sql("SELECT count(*) FROM wharf.file") == files
    finally:
        s.stop()


def test_every_resource_gives_what_its_list_gives(server):
    """The resources of spec 01 section 15 that have a module here."""
    client = server.organization().client()
    place = make_location(client)["id"]
    made = {"contact": ("/v1/contacts", {"name": "Ann"}), "group": ("/v1/groups", {"name": "G", "resource": "contact"}), "location": ("/v1/locations", None),
            "parcel": ("/v1/parcels", {"name": "P", "location_id": place}), "container": ("/v1/containers", {"name": "C", "location_id": place}), "manifest": ("/v1/manifests", {"location_id": place}),
            "item": ("/v1/items", {"name": "Item", "levels": [{"location_id": place, "available_qty": 2.5}]}), "audit": ("/v1/audits", {"location_id": place}), "shipment": ("/v1/shipments", {"tracking_number": "EXPORT1"}), "tracker": ("/v1/trackers", {"tracking_number": "EXPORT2"}), "log": ("/v1/logs", None),
            "shipping_label_inference": ("/v1/inferences/images/shipping-labels", {"image": BLANK, "barcode_values": ["1Z999AA10123456784"]}),
            "document": ("/v1/documents", {"name": "Paper", "visibility": "private", "content": "aGVsbG8="})}
    missing = set()
    here = {m.split("/")[-1] for m in MODULES.split(",")}
    item = client.post("/v1/items", {"name": "Thing", "is_asset": True}) if "assets" in here else None
    made["asset"] = ("/v1/assets", {"item_id": item.data["id"] if item else "", "location_id": place})
    made["fulfillment"] = ("/v1/fulfillments", {"location_id": place, "articles": [{"item_id": item.data["id"] if item else "", "requested_qty": 1}]})
    for resource, (path, body) in made.items():
        if body:
            a = client.post(path, body)
            if a.status == 404:  # its module is not among those of this run
                missing.add(resource)
                continue
            assert a.status == 201, a
        if resource == "log" and "logs" not in here:
            continue
        row = export(client, resource=resource, formats=["json"])
        told, listed = json.loads(fetch(client, row["_json_url"]).text), client.get(path + "?limit=100").data
        assert told and ({r["id"] for r in told} <= {r["id"] for r in listed} if resource == "log" else told == listed), resource
    for resource in missing:
        client.refused("POST", EXPORTS, 400, "export.resource_unavailable", ["resource"], body={"resource": resource, "options": {}})


def test_a_resource_whose_module_is_not_there():
    s = Server("--modules", "org,locations,contacts,exports")
    try:
        s.organization().client().refused("POST", EXPORTS, 400, "export.resource_unavailable", ["resource"], body={"resource": "shipping_label_inference", "options": {}})
    finally:
        s.stop()


def test_who_and_when_in_the_list(fresh):
    client, other = fresh.client(), fresh.client()
    mine, others = export(client, formats=["json"]), export(other, formats=["json"])
    assert mine["created_by"] != others["created_by"]
    assert [e["id"] for e in client.get(f"{EXPORTS}?created_by={others['created_by']}").data] == [others["id"]]
    assert [e["id"] for e in client.get(f"{EXPORTS}?created_at[gt]={mine['created_at']}").data] == [others["id"]]


def test_a_location_that_the_key_lost_meanwhile(server):
    fresh = server.organization()
    client = fresh.client()
    here, there = make_location(client, "Here"), make_location(client, "There")
    contacts(client, "Ann", locations=[here["id"]])
    short = fresh.client("exports:write,contacts:read", locations=[here["id"]])
    key = client.get("/v1/api-keys?order_by=created_at&direction=desc").data[0]["id"]
    with Stopped(server):
        row = short.post(EXPORTS, {"resource": "contact", "options": {"locations": [here["id"]]}}, expect=201).data
        client.post("/v1/api-keys/" + key, {"location_ids": [there["id"]]}, expect=200)
    row = done(client, row)
    assert (row["status"], row["error"]["code"], row["_json_url"]) == ("failed", "location_access", None)


def test_more_values_than_a_table_has_columns(fresh):
    """The row is in the JSON file, and told of in the error file."""
    client = fresh.client()
    for i in range(85):
        contacts(client, f"Wide {i}", metadata={f"k{i}_{k}": "v" for k in range(25)})
    row = export(client, csv_field_options={"nested": "flatten", "columns": {"id": True, "metadata": True}})
    assert row["total_rows"] == row["exported_rows"] + row["error_rows"] == 85 and row["error_rows"] >= 1
    shown = json.loads(fetch(client, row["_json_url"]).text)
    wrong = table(client, row["_csv_error_url"])[1:]
    good = table(client, row["_csv_url"])
    assert len(shown) == 85 and len(good[0]) == 2000 and len(good) - 1 + len(wrong) == 85
    assert {w[0] for w in wrong} | {g[0] for g in good[1:]} == {r["id"] for r in shown} and {w[1] for w in wrong} == {"export.too_large"}


def with_keys(client, rows, key):
    """That many contacts more, each with 25 keys of metadata whose names are the SQL expression key over the row's number i and the key's number k."""
    client.server.sql("INSERT INTO contacts.contact SELECT (jsonb_populate_record(c, jsonb_build_object('id', 'ctct_' || lpad(i::text, 22, '0'), 'metadata',"
                      f" (SELECT jsonb_object_agg({key}, 'v' || i) FROM generate_series(0, 24) k)))).*"
                      f" FROM contacts.contact c, generate_series(1, {rows}) i WHERE c.id = %s", contacts(client, "Plain")[0]["id"])


FLAT = {"nested": "flatten", "columns": {"id": True, "metadata": True, "name": True}}


def test_keys_without_end(server):
    """spec 01 section 15: of 150,000 keys a table has columns for those that were met first; those of the list's own members are not taken by others."""
    client = server.organization().client()
    with_keys(client, 6000, "'k' || i || '_' || k")
    row = export(client, csv_field_options={**FLAT, "nested": "flatten"})
    shown = json.loads(fetch(client, row["_json_url"]).text)
    head, *good = table(client, row["_csv_url"])
    wrong = table(client, row["_csv_error_url"])[1:]
    assert len(head) == 2000 and len(set(head)) == 2000 and (head[0], head[-1]) == ("id", "name")
    full = 1998 // 25
    assert len(shown) == row["total_rows"] == 6001 and row["error_rows"] == len(wrong) and len(good) + len(wrong) == 6001
    assert {w[1] for w in wrong} == {"export.too_large"} and {w[0] for w in wrong} | {g[0] for g in good} == {r["id"] for r in shown}
    fit = {r["id"] for r in [r for r in shown if r["metadata"]][:full]} | {r["id"] for r in shown if not r["metadata"]}
    assert [g[0] for g in good] == [r["id"] for r in shown if r["id"] in fit]
    for line, r in zip(good, [r for r in shown if r["id"] in fit]):
        assert {k: v for k, v in zip(head, line) if v} == {"id": r["id"], "name": "Plain", **{"metadata." + k: v for k, v in r["metadata"].items()}}


def test_some_hundred_keys(server):
    """Each in its column, whichever rows have it."""
    client = server.organization().client()
    with_keys(client, 1000, "'k' || (i * 7 + k * 31) %% 775")
    row = export(client, csv_field_options=FLAT)
    shown = {r["id"]: r for r in json.loads(fetch(client, row["_json_url"]).text)}
    head, *lines = table(client, row["_csv_url"])
    assert row["error_rows"] == 0 and len(lines) == len(shown) == 1001 and (head[0], head[-1]) == ("id", "name")
    assert sorted(head[1:-1]) == sorted({"metadata." + k for r in shown.values() for k in r["metadata"]}) and len(head) > 700
    for line in lines:
        r = shown[line[0]]
        assert {k: v for k, v in zip(head, line) if v} == {"id": r["id"], "name": "Plain", **{"metadata." + k: v for k, v in r["metadata"].items()}}


def test_as_many_rows_as_the_operator_allows():
    s = Server("--modules", "org,locations,contacts,exports", "--set", "exports.rows=5")
    try:
        client = s.organization().client()
        contacts(client, *(f"R{i}" for i in range(6)))
        row = done(client, client.post(EXPORTS, {"resource": "contact", "options": {}}, expect=201).data)
        assert (row["status"], row["error"]["code"], row["_csv_url"]) == ("failed", "export.too_large", None) and "5 rows" in row["error"]["message"]
        row = export(client, options={"limit": 5})
        assert row["total_rows"] == 5
        client.refused("POST", EXPORTS, 400, "param.invalid", ["options.limit"], body={"resource": "contact", "options": {"limit": 6}})
    finally:
        s.stop()


def test_five_run_and_others_wait():
    """Of one organization; another one's runs meanwhile."""
    s = Server("--modules", "org,locations,contacts,exports", "--set", "jobs.threads=8")
    try:
        client, other = s.organization().client(), s.organization().client()
        for c in (client, other):
            contacts(c, "Ann")
        held = psycopg2.connect(s.conninfo)
        with held.cursor() as c:
            c.execute("LOCK contacts.contact IN ACCESS EXCLUSIVE MODE")  # none gets further than its begin
            many = [client.post(EXPORTS, {"resource": "contact", "options": {}}, expect=201).data for _ in range(7)]
            end = time.monotonic() + WAIT
            while [client.get(f"{EXPORTS}/{e['id']}").data["status"] for e in many].count("processing") < 5:
                assert time.monotonic() < end
                time.sleep(0.02)
            apart = other.post(EXPORTS, {"resource": "contact", "options": {}}, expect=201).data
            while other.get(f"{EXPORTS}/{apart['id']}").data["status"] != "processing":
                assert time.monotonic() < end
                time.sleep(0.02)
            assert sorted(client.get(f"{EXPORTS}/{e['id']}").data["status"] for e in many) == ["processing"] * 5 + ["queued"] * 2
        held.rollback()
        held.close()
        assert [done(client, e)["status"] for e in many] == ["completed"] * 7 and done(other, apart)["status"] == "completed"
    finally:
        s.stop()


def test_ten_a_minute():
    s = Server("--modules", "org,locations,exports", limits=True)
    try:
        c = s.organization().client()
        for _ in range(10):
            c.post(EXPORTS, {"resource": "location", "options": {}}, expect=201)
        a = c.refused("POST", EXPORTS, 429, "rate_limited", ["endpoint"], body={"resource": "location", "options": {}})
        assert int(a.headers["Retry-After"]) >= 1
        c.get(EXPORTS)
    finally:
        s.stop()
