"""Layouts by batch (spec 10 sections 8.2, 9 and 10): files of them, what is told of bad ones, and deletes in any order."""
import csv
import io
import json

from test_batches import BATCHES, ids, lines, run
from test_batches_background import items, later, wait
from test_batches_files import data_url, fetch, links, pack, parts, row, table, text
from test_batches_resources import default_of, layouts
from wharf import make_location


def batch(client, data, action="merge", **more):
    return run(client, data, resource="layout", action=action, **more)


def place(client):
    return make_location(client)["id"]


def names(client, location):
    return {r["name"] for r in layouts(client, location).values()} - {"Default"}


def errors_of(client, b):
    return list(csv.reader(io.StringIO(fetch(client, links(client, b, "errors_csv")[0]).content.decode("utf-8-sig"))))


# ---- files ----

def test_a_bad_row_of_a_file_fails_its_location(client):
    a, b, c = (place(client) for _ in range(3))
    done = batch(client, data_url(f"location_id,name\n{a},A1\n{b},B1\n{a},A2,surplus\n{b},B2\n{a},A3,more\n"))
    assert lines(done, "index", "row", "phase", "code", "errors") == [(0, 2, "parsing", "row.too_many_columns", ["layouts.1"])]
    assert "Row 4" in done["errors"][0]["message"] and ids(done) == [b]
    assert names(client, a) == set() and names(client, b) == {"B1", "B2"}
    error = '<c r="%s" t="e"><v>#REF!</v></c>'
    book = pack(io.BytesIO(), parts(row(1, text("A1", "location_id"), text("B1", "name")) + row(2, text("A2", c), error % "B2") + row(3, error % "A3", text("B3", "N"))))
    done = batch(client, data_url(book.getvalue()))
    assert lines(done, "row", "code", "errors") == [(2, "row.cell_error", ["layouts.0.name"]), (3, "row.cell_error", ["location_id"])]
    assert names(client, c) == set()


def test_names_of_locations_stand_for_them(client):
    """As in files of other resources: rows are of one location however each of them names it."""
    a, b = make_location(client, "Names One", code="NMS1"), make_location(client, "Names Two")
    done = batch(client, data_url(f"location_id,name\nNames One,A1\n{a['id']},A2\nNMS1,A3\nNames Two,B1\nNowhere,N1\nNames Two,B2\nNowhere,N2\n"))
    assert ids(done) == [a["id"], b["id"]] and names(client, a["id"]) == {"A1", "A2", "A3"} and names(client, b["id"]) == {"B1", "B2"}
    assert lines(done, "index", "row", "phase", "code", "errors") == [(2, 6, "parsing", "reference.not_found", ["location_id"])] and "Nowhere" in done["errors"][0]["message"]
    file = [{"location_id": "Names Two", "layouts": [{"name": "B3"}]}, {"location_id": "Names One", "name": "A4"}, {"location_id": "Gone", "layouts": [{"name": "G"}]}]
    done = batch(client, data_url(json.dumps(file), "application/json"))
    assert ids(done) == [b["id"], a["id"]] and lines(done, "index", "code", "errors") == [(2, "reference.not_found", ["location_id"])]
    gone = make_location(client, "Gone")["id"]
    again = wait(client, client.post(f"{BATCHES}/{done['id']}/retry", {}, expect=202).data["id"])
    assert again["stats"]["updated"] == 1 and names(client, gone) == {"G"}


def test_json_files_may_have_items_or_rows(client):
    a, b = place(client), place(client)
    file = [{"location_id": a, "layouts": [{"id": "lay_js1", "name": "One"}, {"name": "Two", "path": "lay_js1"}]}, {"location_id": b, "name": "Row 1"},
            {"location_id": b, "layouts": []}, {"location_id": b, "name": "Row 2"}]
    done = batch(client, data_url(json.dumps(file), "application/json"), duplicate_handling="use_first")
    assert ids(done) == [a, b] and lines(done, "index", "row", "code") == [(2, 1, "batch.duplicate")], done["errors"]
    assert names(client, a) == {"One", "Two"} and names(client, b) == {"Row 1", "Row 2"}


def test_uploads_of_an_array_can_be_sent_again(client):
    a, b = place(client), place(client)
    done = batch(client, [{"location_id": a, "layouts": [{"id": "lay_up1", "name": "One"}, {"name": "Two", "path": "lay_up1", "metadata": {"k": "v"}}]},
                          {"location_id": b, "layouts": [{"id": "lay_up2", "name": "Three"}]}], save_upload=True)
    before = layouts(client, a), layouts(client, b)
    for name, type in (("upload_json", "application/json"), ("upload_csv", "text/csv")):
        again = batch(client, data_url(fetch(client, links(client, done, name)[0]).content, type), "overwrite")
        assert ids(again) == [a, b] and again["errors"] == [], (name, again["errors"])
        for location, was in zip((a, b), before):
            assert sorted((r["nested_name"], r["metadata"].get("k")) for r in layouts(client, location).values()) == sorted(
                (r["nested_name"], r["metadata"].get("k")) for r in was.values()), name


def test_errors_of_a_file_have_its_columns(client):
    a, b, c = (place(client) for _ in range(3))
    done = batch(client, data_url(table([["location id", "layout id", "name", "parent"], [a, "lay_ec1", "One", ""], [b, "", "Fine", ""], [a, "", "x" * 200, "lay_ec1"], [c, "lay_ec1", "T", "lay_no"]])))
    assert ids(done) == [b] and len(done["errors"]) == 2
    head, *rest = errors_of(client, done)
    assert set(head) == {"location_id", "id", "name", "path", "_index", "_row", "_phase", "_code", "_message"}
    rest = [dict(zip(head, r)) for r in rest]
    assert [(r["location_id"], r["id"], r["name"][:3], r["path"], r["_index"], r["_code"]) for r in rest] == [
        (a, "lay_ec1", "One", "", "0", "validation.failed"), (a, "", "xxx", "lay_ec1", "0", "validation.failed"), (c, "lay_ec1", "T", "lay_no", "2", "layout.parent_not_found")]
    rest[1]["name"], rest[2]["id"], rest[2]["path"] = "Two", "lay_ec2", ""
    again = batch(client, data_url(table([head, *[[r[h] for h in head] for r in rest]])))
    assert ids(again) == [a, c] and names(client, a) == {"One", "Two"} and names(client, c) == {"T"}


def test_rows_of_many_locations_share_chunks(client, org):
    done = batch(client, data_url("location_id,name\n" + "".join(f"loc_{i},N\nloc_{i},M\n" for i in range(430))))
    assert [e["row"] for e in done["errors"]] == [2 + 2 * i for i in range(430)]
    assert org.server.sql("SELECT first, size FROM batches.chunk WHERE batch_id = %s ORDER BY number", done["id"]) == [(0, 400), (400, 30)]


def test_a_long_file_in_the_background(client):
    """Longer than what is read between two signs of life: they commit, and what was read stays."""
    done = later(client, data_url("location_id,name\n" + "loc_none,N\n" * 8100), resource="layout")
    assert (done["status"], done["stats"]["errors"], done["phases"][0]["total"]) == ("completed", 1, 1)
    assert [(i["row"], i["code"], i["errors"]) for i in items(client, done)] == [(2, "not_found", ["loc_none"])]


# ---- deletes ----

def test_children_go_with_the_parent_in_any_order(client):
    at = place(client)
    three = [{"id": "lay_del1", "name": "1"}, {"id": "lay_del2", "name": "2", "path": "lay_del1"}, {"id": "lay_del3", "name": "3", "path": "lay_del2"}]
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2)):
        batch(client, [{"location_id": at, "layouts": three}])
        done = batch(client, [{"location_id": at, "layouts": [{"id": three[i]["id"]} for i in order]}], "delete")
        assert (done["stats"]["deleted"], done["errors"]) == (1, []), order
        assert set(layouts(client, at)) == {default_of(at)}, order


def test_each_bad_layout_of_a_delete_is_told(client):
    at, other = place(client), place(client)
    batch(client, [{"location_id": at, "layouts": [{"id": "lay_bd1", "name": "1"}]}, {"location_id": other, "layouts": [{"id": "lay_bd2", "name": "2"}]}])
    before = layouts(client, at)
    done = batch(client, [{"location_id": at, "layouts": [{"id": "lay_bd1"}, {"id": "lay_none"}, {"name": "no id"}, {"id": default_of(at)}, {"id": "lay_bd2"}, {"id": "lay_bd1"}]}], "delete")
    assert lines(done, "code", "errors") == [("not_found", [f"layouts.{i}.id" for i in range(1, 6)])]
    assert layouts(client, at) == before and done["stats"]["deleted"] == 0
    for path, id, code in (("layouts.0.id", default_of(at), "layout.default_protected"), ("layouts.0.id", "lay_bd2", "not_found")):
        done = batch(client, [{"location_id": at, "layouts": [{"id": id}]}], "delete")
        assert lines(done, "code", "errors") == [(code, [path])]


# ---- what is told ----

def test_each_bad_layout_is_told(client):
    at, other = place(client), place(client)
    batch(client, [{"location_id": at, "layouts": [{"id": "lay_tell1", "name": "1", "code": "C1"}]}, {"location_id": other, "layouts": [{"id": "lay_tell2", "name": "2", "code": "C2"}]}])
    before = layouts(client, at)
    bad = [{"name": "x" * 200}, {"name": "Good"}, {"name": "A", "path": "lay_nowhere"}, {"id": "lay_tell2", "name": "2"}, {"id": "lay_cyc1", "name": "C", "path": "lay_cyc2"},
           {"id": "lay_cyc2", "name": "C", "path": "lay_cyc1"}, "text", {"id": "lay_tell1", "code": "x" * 65}, {"id": "lay_twice", "name": "T"}, {"id": "lay_twice", "name": "T"}, {"name": "Good"}]
    for action in ("merge", "overwrite"):
        for more in ({}, {"validate_only": True}):
            done = batch(client, [{"location_id": at, "layouts": bad}, {"location_id": other, "layouts": [{"id": "lay_tell2", "name": "Still"}]}], action, **more)
            told = done["errors"][0]
            assert len(done["errors"]) == 1 and sorted(told["errors"]) == sorted(
                ["layouts.0.name", "layouts.2.path", "layouts.3.id", "layouts.4.path", "layouts.5.path", "layouts.6", "layouts.7.code", "layouts.9.id", "layouts.10.name"]), told["errors"]
            assert {v["path"]: v["rule"] for v in told["violations"]}["layouts.0.name"] == "max_length"
            assert done["stats"]["updated"] + done["stats"]["overwritten"] == (0 if more else 1) and layouts(client, at) == before


def test_children_of_a_bad_layout_are_judged_by_themselves(client):
    at = place(client)
    done = batch(client, [{"location_id": at, "layouts": [{"id": "lay_or1", "name": "x" * 200}, {"id": "lay_or2", "name": "Good", "path": "lay_or1"}, {"name": "y" * 200, "path": "lay_or2"},
                                                          {"name": "Z", "path": "lay_or2", "code": "c" * 65}]}])
    assert lines(done, "code", "errors") == [("validation.failed", ["layouts.0.name", "layouts.2.name", "layouts.3.code"])]
    assert set(layouts(client, at)) == {default_of(at)}
