"""Batches from files (spec 10 sections 9 and 10): the same rows in every form, references by name, files of errors, results and uploads."""
import base64
import csv
import hashlib
import io
import json
import pathlib
import struct
import sys

import pytest
import requests

from test_batches import BATCHES, ids, lines, run
from test_batches_background import later, wait
from wharf import MODULES, WAIT, make_location

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "import"))
from test_hostile import HOSTILE as SHEETS  # noqa: E402
from test_xlsx import pack, parts, row, text  # noqa: E402


def data_url(body, type="text/csv", more=""):
    body = body.encode() if isinstance(body, str) else body
    return f"data:{type}{more};base64," + base64.b64encode(body).decode()


def sheet(rows):
    import xlsxwriter
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    page = book.add_worksheet()
    for r, row in enumerate(rows):
        for c, cell in enumerate(row):
            page.write(r, c, cell)
    book.close()
    return out.getvalue()


def table(rows, delimiter=","):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return out.getvalue()


ROWS = [["name", "email", "phone", "metadata.color", "external_id"],
        ["Ann", "ann@b.example", "201 555 0101", "red", "x1"],
        ["Bob", "no address", "", "", "x2"],
        ["", "c@b.example", "", "", ""],
        ["Dora", "dora@b.example", "", "007", "x1"],
        ["Ed", "ed@b.example", "12", "", "x5"]]
OBJECTS = [{k: v for k, v in (("name", r[0]), ("email", r[1]), ("phone", r[2]), ("metadata", {"color": r[3]} if r[3] else None), ("external_id", r[4])) if v} for r in ROWS[1:]]


def picture(client, b):
    rows = {r["id"]: {k: r[k] for k in ("name", "email", "phone", "metadata", "external_id")} for r in client.get("/v1/contacts?limit=100").data}
    return {"done": [(r["index"], rows[r["id"]]) for r in b["results"]], "wrong": lines(b, "index", "phase", "code", "errors"), "stats": b["stats"]}


def test_the_same_rows_in_every_form(server):
    forms = {"array": OBJECTS, "csv": data_url(table(ROWS)), "semicolon": data_url(table(ROWS, ";")), "utf-16": data_url(table(ROWS).encode("utf-16")),
             "json": data_url(json.dumps(OBJECTS), "application/json"), "lines": data_url("\n".join(map(json.dumps, OBJECTS)), "application/json"),
             "xlsx": data_url(sheet(ROWS), "application/vnd.ms-excel")}
    found = {}
    for form, data in forms.items():
        client = server.organization().client()
        b = run(client, data)
        found[form] = picture(client, b)
        assert b["via"] == ("api" if form == "array" else "file")
        assert [e["row"] for e in b["errors"]] == ([None] * 4 if form == "array" else [e["row"] for e in b["errors"]])
        if form in ("csv", "xlsx"):
            assert [e["row"] for e in b["errors"]] == [3, 4, 5, 6]
            assert b["file"]["format"] == form and b["file"]["headers"] == ROWS[0] and b["file"]["unmapped_headers"] == []
    for form, seen in found.items():
        assert seen == found["array"], form
    assert found["array"]["wrong"] == [(1, "validating", "validation.failed", ["email"]), (2, "validating", "validation.failed", ["name"]),
                                       (3, "processing", "contact.exists", ["external_id"]), (4, "validating", "validation.failed", ["phone"])]


def test_mapping_and_options_of_a_file(client):
    b = run(client, data_url("Who;Mail;Odd\nZoë;zoe@b.example;1\n".encode("windows-1252")), column_mapping={"name": "Who", "email": "Mail"}, file={"encoding": "windows-1252"})
    row = client.get(f"/v1/contacts/{ids(b)[0]}").data
    assert (row["name"], row["email"]) == ("Zoë", "zoe@b.example")
    assert b["file"]["unmapped_headers"] == ["Odd"] and b["file"]["delimiter"] == ";" and [w["code"] for w in b["warnings"]] == ["batch.header_unknown"]
    assert b["column_mapping"] == {"name": "Who", "email": "Mail"}
    for charset in ("utf-16le", "UTF-16BE", '"utf-16le"'):  # without a mark
        b = run(client, data_url("name\nZoë\n".encode(charset.strip('"')), more=f";charset={charset}"))
        assert b["stats"]["created"] == 1 and b["file"]["encoding"] == charset.strip('"').lower()

    def refused(code, text, errors=["data"], **more):
        client.refused("POST", BATCHES, 400, code, errors, {"resource": "contact", "action": "merge", "mode": "sync", "data": data_url(text), **more})
    refused("batch.header_unknown", "name,odd\nA,1\n", file={"strict_headers": True})
    refused("batch.mapping_duplicate", "Who\nA\n", column_mapping={"name": "Who", "email": "Who"})
    refused("validation.failed", "Who\nA\n", ["column_mapping.odd"], column_mapping={"odd": "Who"})
    refused("batch.header_duplicate", "name,Name\nA,B\n")
    refused("batch.header_missing", "x,y\n1,2\n")
    refused("batch.data_empty", "name,email\n")
    refused("file.csv_syntax", 'name\n"open\n')
    refused("validation.failed", "name\nA\n", ["file.delimiter"], file={"delimiter": ";;"})
    refused("file.unsupported_type", "%PDF-1.4\n\x00")
    client.refused("POST", BATCHES, 400, "batch.base64_invalid", ["data"], {"resource": "contact", "action": "merge", "data": "data:text/csv;base64,@@@"})
    client.refused("POST", BATCHES, 400, "batch.data_empty", ["data"], {"resource": "contact", "action": "merge", "data": "data:text/csv;base64,"})


def test_cells_empty_null_and_lists(client):
    g = [client.post("/v1/groups", {"name": n, "resource": "contact"}, expect=201).data["id"] for n in ("Red crew", "Blue crew")]
    kept = client.post("/v1/contacts", {"name": "Kept", "notes": "old", "external_id": "k1"}, expect=201).data["id"]
    text = table([["id", "name", "notes", "groups", "_code"], [kept, "", "\\N", "red CREW; " + g[1], "ignored"], ["", "Fresh", "", "Blue crew", ""],
                  ["", "Lost", "", "No such crew", ""]])
    b = run(client, data_url(text), properties={"notes": "all"})
    rows = [client.get(f"/v1/contacts/{i}").data for i in ids(b)]
    assert [(r["name"], r["notes"], sorted(x["id"] for x in r["groups"])) for r in rows] == [("Kept", None, sorted(g)), ("Fresh", "all", [g[1]])]
    assert lines(b, "index", "row", "phase", "code", "errors") == [(2, 4, "parsing", "reference.not_found", ["groups"])]


def test_names_in_cells_of_each_resource_that_takes_them(fresh):
    """spec 10 section 9.1: groups, locations, children and primary by id, by a name, code or e-mail that one record has, or by name:::email."""
    client = fresh.client()
    people = ids(run(client, [{"name": "Ann Lee", "email": "ann@n.example"}, {"name": "Ann Lee", "email": "lee@n.example"}, {"name": "Bo", "email": "bo@n.example"}]))
    places = [client.post("/v1/locations", {"name": n, "code": c, "address": {"formatted_address": "1 Main St, Springfield, IL 62701, US"}}, expect=201).data["id"]
              for n, c in (("North dock", "ND"), ("South dock", "SD"))]
    kinds = {k: client.post("/v1/groups", {"name": "Crew", "resource": k}, expect=201).data["id"] for k in ("contact", "location")}

    def members(b, i=0):
        return client.get(f"/v1/groups/{ids(b)[i]}").data["group_contacts"]

    # a name that groups of both kinds have means the one of the field's kind
    b = run(client, data_url(table([["name", "groups", "locations"], ["By name", "crew", "north dock; SD"]])))
    row = client.get(f"/v1/contacts/{ids(b)[0]}").data
    assert [g["id"] for g in row["groups"]] == [kinds["contact"]] and {x["id"] for x in row["locations"]} == set(places)
    b = run(client, data_url(table([["name", "address", "groups"], ["East dock", "1 Main St, Springfield, IL 62701, US", "CREW"]])), resource="location")
    assert [g["id"] for g in client.get(f"/v1/locations/{ids(b)[0]}").data["groups"]] == [kinds["location"]], b["errors"]
    # children and primary are of the row's kind, by name, code, e-mail, or both
    b = run(client, data_url(table([["name", "type", "children", "primary"], ["People", "contact", "bo; lee@n.example; Ann Lee:::ann@n.example", "BO"],
                                    ["Places", "location", "ND," + places[1], "ND"], ["Several", "contact", "Ann Lee", ""], ["Nobody", "contact", "Bo:::ann@n.example", ""],
                                    ["Of the other kind", "location", "Bo", ""]])), resource="group")
    assert lines(b, "index", "row", "phase", "code", "errors") == [(i, i + 2, "parsing", code, ["group_contacts.children"]) for i, code in (
        (2, "reference.ambiguous"), (3, "reference.not_found"), (4, "reference.not_found"))]
    assert members(b) == {"children": [people[2], people[1], people[0]], "primary": [people[2]]} and members(b, 1) == {"children": places, "primary": [places[0]]}
    # a row that does not say its kind names whoever there is
    b = run(client, data_url(table([["id", "members"], [ids(b)[0], "Bo"]])), resource="group")
    assert members(b)["children"] == [people[2]], b["errors"]
    # in JSON files they stand in lists, and in what is set, added or removed
    b = run(client, data_url(json.dumps([{"name": "From JSON", "groups": {"add": ["Crew"]}}, {"name": "Not there", "groups": {"add": ["Nobody's"]}}]), "application/json"))
    assert [g["id"] for g in client.get(f"/v1/contacts/{ids(b)[0]}").data["groups"]] == [kinds["contact"]] and lines(b, "index", "code") == [(1, "reference.not_found")]


def test_rows_with_too_many_cells(client):
    b = run(client, data_url("name\nA\nB,extra\n"))
    assert lines(b, "index", "row", "phase", "code") == [(1, 3, "parsing", "row.too_many_columns")]


# ---- files that are made ----

def fetch(client, url):
    return requests.get(client.server.base + url if url.startswith("/") else url, timeout=WAIT)


def links(client, b, *names):
    row = client.get(f"{BATCHES}/{b['id']}?" + "&".join(f"include_{n}=true" for n in names)).data
    return [row[f"_{n}_url"] for n in names]


def test_files_of_errors_can_be_corrected_and_sent_again(client):
    text = table([["Name", "E-Mail", "metadata.note"], ["Good", "good@b.example", "x"], ["Bad", "bad", "=HYPERLINK(1)"], ["Worse", "worse", "-5 (x)"], ["Fine", "", "+49 (201) 1"]])
    b = run(client, data_url(text))
    assert links(client, b, "errors_csv")[0] and client.get(f"{BATCHES}/{b['id']}").data["_errors_csv_url"] is None
    as_json, as_csv = (fetch(client, u) for u in links(client, b, "errors_json", "errors_csv"))
    told = as_json.json()
    assert [(t["index"], t["row"], t["phase"], t["code"], t["errors"]) for t in told] == [(1, 3, "validating", "validation.failed", ["email"]), (2, 4, "validating", "validation.failed", ["email"])]
    assert told[0]["data"] == {"name": "Bad", "email": "bad", "metadata": {"note": "=HYPERLINK(1)"}} and told[0]["violations"][0]["path"] == "email" and told[0]["id"] is None
    rows = list(csv.reader(io.StringIO(as_csv.text)))
    assert rows[0] == ["Name", "E-Mail", "metadata.note", "_index", "_row", "_phase", "_code", "_message"]
    assert rows[1][:7] == ["Bad", "bad", "'=HYPERLINK(1)", "1", "3", "validating", "validation.failed"] and rows[2][2] == "'-5 (x)"
    mended = as_csv.text.replace(",bad,", ",bad@b.example,").replace(",worse,", ",worse@b.example,")
    again = run(client, data_url(mended))
    assert again["stats"]["created"] == 2 and again["stats"]["errors"] == 0
    assert client.get(f"/v1/contacts/{ids(again)[0]}").data["metadata"] == {"note": "=HYPERLINK(1)"}


def test_files_of_errors_of_arrays(client):
    b = run(client, [{"name": "Good"}, {"email": "x", "groups": ["a", "b"]}, 7])
    as_csv = fetch(client, links(client, b, "errors_csv")[0])
    rows = list(csv.DictReader(io.StringIO(as_csv.text)))
    assert [(r["email"], r["groups"], r["_index"], r["_row"], r["_code"]) for r in rows] == [("x", "a;b", "1", "", "validation.failed"), ("", "", "2", "", "batch.shape")]
    assert links(client, run(client, [{"name": "Good"}]), "errors_csv", "errors_json", "result_json", "upload_csv", "upload_json") == [None] * 5


def test_keys_with_dots_stay_in_files_of_errors(client):
    """A key of metadata is one key, dots and all; the file can be sent again."""
    keys = {"a.b": "1", "a": "2", "a.b.c": "3", "x" * 90 + ".y": "4"}
    b = run(client, [{"email": "dots@b.example", "metadata": keys}])
    as_csv = fetch(client, links(client, b, "errors_csv")[0]).text
    row, = csv.DictReader(io.StringIO(as_csv))
    assert {k: row["metadata." + k] for k in keys} == keys
    again = run(client, data_url(as_csv.replace("email,", "email,name,", 1).replace("dots@b.example,", "dots@b.example,Dora,", 1)))
    assert client.get(f"/v1/contacts/{ids(again)[0]}").data["metadata"] == keys


@pytest.mark.parametrize("resource, good, bad", [
    ("contact", ["name", "address.formatted_address", "metadata.any.key", "groups"], ["odd", "address.nonsense", "name.first", "metadata.", "created_at", "address.city.x"]),
    ("shipment", ["recipient.name", "parcels.0.length"], ["recipient.nonsense", "parcels.length", "parcels.x.length", "parcels.0.nonsense"]),
    ("group", ["group_contacts.children"], ["group_contacts.nonsense"]), ("layout", ["parent_id", "path"], ["path.x", "layouts"])])
def test_mappings_name_fields_to_the_end_of_their_paths(client, resource, good, bad):
    """Said at once, also where the file is still to come."""
    if resource == "shipment" and "shipments" not in MODULES.split(","):
        pytest.skip("shipments are not enabled")
    for data in (data_url("A\nx\n"), None, "https://files.example.test/x.csv"):
        body = {"resource": resource, "action": "merge", "mode": "async", "data": data}
        client.refused("POST", BATCHES, 400, "validation.failed", [f"column_mapping.{b}" for b in bad], {**body, "column_mapping": {p: p for p in [*good, *bad]}})
    b = client.post(BATCHES, {**body, "data": None, "column_mapping": {p: p for p in good}}, expect=202).data
    client.post(f"{BATCHES}/{b['id']}/cancel", {}, expect=200)


@pytest.mark.parametrize("format, kind", [("iso_8601", str), ("epoch", int), ("epoch_millis", int)])
def test_result_file_in_its_date_format(client, format, kind):
    b = run(client, [{"name": "One"}, {}, {"name": "Two"}], save_result=True, save_result_date_format=format)
    assert b["save_result_date_format"] == format
    rows = fetch(client, links(client, b, "result_json")[0]).json()
    assert [r["name"] for r in rows] == ["One", "Two"] and [r["id"] for r in rows] == ids(b)
    assert all(type(r["created_at"]) is kind for r in rows)
    if kind is int:
        assert (rows[0]["created_at"] > 10 ** 11) == (format == "epoch_millis")
    gone = run(client, ids(b), action="delete", save_result=True)
    assert fetch(client, links(client, gone, "result_json")[0]).json() == [{"id": i, "deleted": True} for i in ids(b)]


def test_uploads_are_kept_when_asked_for(client):
    text = table([["name", "metadata.k"], ["A", "1"], ["B", ""]])
    b = run(client, data_url(text, more=";name=people.csv"), save_upload=True)
    assert b["file"]["name"] == "people.csv" and b["file"]["size"] == len(text) and b["checksum"] == hashlib.sha256(text.encode()).hexdigest()
    as_csv, as_json = (fetch(client, u) for u in links(client, b, "upload_csv", "upload_json"))
    assert as_csv.content == text.encode() and as_json.json() == [{"name": "A", "metadata": {"k": "1"}}, {"name": "B", "metadata": {}}] or as_json.json()[1] == {"name": "B"}
    b = later(client, [{"name": "C", "metadata": {"k": "2"}}], save_upload=True)
    as_csv, as_json = (fetch(client, u) for u in links(client, b, "upload_csv", "upload_json"))
    assert as_json.json() == [{"name": "C", "metadata": {"k": "2"}}] and as_csv.text == "name,metadata.k\r\nC,2\r\n"
    assert run(client, data_url(text))["save_upload"] is False


def test_links_end(client, server):
    b = run(client, [{}])
    url = links(client, b, "errors_json")[0]
    assert fetch(client, url.replace("sig=", "sig=x")).status_code == 403
    server.sql("UPDATE wharf.file SET expires_at = now() - interval '1 hour' WHERE organization_id = (SELECT organization_id FROM batches.batch WHERE id = %s)", b["id"])
    assert fetch(client, url).status_code == 404
    assert links(client, b, "errors_json") == [None]


def test_large_file_in_the_background(fresh):
    client = fresh.client()
    text = table([["name", "email"]] + [[f"Row {i}", f"r{i}@b.example" if i % 1000 else f"bad{i}"] for i in range(5000)])
    b = later(client, data_url(text))
    assert (b["stats"]["created"], b["stats"]["errors"], b["file"]["size"]) == (4995, 5, len(text))
    assert [(p["name"], p["mode"]) for p in b["phases"]] == [("parsing", "async"), ("validating", "async"), ("processing", "async")]
    b = later(client, data_url('name\n"open'))
    assert (b["status"], b["reason"], b["phases"][0]["status"]) == ("failed", "file.csv_syntax", "failed")


# ---- hostile files ----

def ole(name):
    """A compound file with one entry of this name in its directory: what password-protected workbooks and those of old Excel are."""
    head = bytes.fromhex("D0CF11E0A1B11AE1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6) + struct.pack("<IIIIIIII", 0, 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE)
    text = name.encode("utf-16-le")
    return head.ljust(512, b"\xff") + bytes(512) + (text + b"\0\0").ljust(64, b"\0") + struct.pack("<H", len(text) + 2) + bytes(1024)


CASES = {  # name: bytes, code
    "wide": (lambda: (",".join(f"c{i}" for i in range(1000)) + "\n1\n").encode(), "file.too_complex"),
    "a million columns": (lambda: b"name" + b"," * 1000000 + b"\n" + b"x" + b"," * 1000000 + b"\n", "file.too_complex"),
    "one endless line": (lambda: b"name\n" + b"x" * (6 << 20), "file.too_complex"),
    "an open quote": (lambda: b'name\n"' + b"x" * 100000, "file.csv_syntax"),
    "an open quote before much": (lambda: b'name\n"' + b"x" * (6 << 20), "file.too_complex"),
    "zeros": (lambda: b"name\n" + b"A\0B\1\2\0" * 200 + b"\n", "file.unsupported_type"),
    "half a character": (lambda: b"\xff\xfen\0a\0m\0e\0\n\0x", "file.encoding"),
    "picture": (lambda: b"\x89PNG\r\n\x1a\n" + bytes(100), "file.unsupported_type"),
    "another archive": (lambda: b"PK\5\6" + bytes(18), "file.xlsx_invalid"),
    "old Excel": (lambda: ole("Workbook"), "file.unsupported_type"),
    "a password": (lambda: ole("EncryptedPackage"), "file.encrypted"),
    "deep JSON": (lambda: b'[{"name":' + b"[" * 100 + b"]" * 100 + b"}]", "file.too_complex"),
    "very deep JSON": (lambda: b'[{"name":' + b"[" * 200000, "file.too_complex"),
    "broken JSON": (lambda: b'[{"name": "A"}, {', "file.json_syntax"),
    "JSON that is no list": (lambda: b'{"name": "A"} x', "file.json_syntax"),
    "JSON of other things": (lambda: b'[1, "two"]', "file.json_syntax"),
}
SLOW = ("bomb_size", "lying_bomb", "many_strings", "huge_strings", "no_rows")  # seconds to make, or with headers of their own: tests/import reads them
HOSTILE = {**CASES, **{name: case for name, case in SHEETS.items() if name not in SLOW}}
LATER = ("bomb_ratio", "laughs_sheet", "overlapping", "long_comment", "wide", "deep JSON", "a password")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_documented_answers(client, name):
    """By each way that a file comes: a batch in the request, one in the background, and the file of POST /v1/contacts."""
    make, code = HOSTILE[name]
    body = {"resource": "contact", "action": "merge", "mode": "sync", "data": data_url(bytes(make()))}
    client.refused("POST", BATCHES, 400, code, ["data"], body)
    a = client.post("/v1/contacts", {"csv_url": body["data"], "overwrite": True})
    assert (a.status, a.code, a.errors) == (400, "file.unsupported_type" if "JSON" in name else code, ["csv_url"]), a
    if name in LATER:
        b = later(client, body["data"])
        assert (b["status"], b["reason"], b["stats"]["created"]) == ("failed", code, 0)


def test_what_cells_hold_is_text_to_others(client):
    """Formulas, wrong types, surplus and missing cells of a spreadsheet: of the row, not of the file; nothing is computed, no link is followed."""
    book = pack(io.BytesIO(), parts(row(1, text("A1", "name"), text("B1", "email"), text("C1", "is_primary"), text("D1", "metadata.x")) +
                                    row(2, '<c r="A2" t="str"><f>HYPERLINK("http://127.0.0.1/x")</f><v>=cmd|calc</v></c>', '<c r="B2" t="e"><v>#REF!</v></c>') +
                                    row(3, text("A3", "Ann"), '<c r="B3" t="b"><v>1</v></c>') +
                                    row(4, text("A4", "@SUM(A1)"), text("C4", "maybe")) +
                                    row(5, '<c r="A5"><v>12</v></c>', text("D5", "'=1+1"), text("E5", "surplus")) +
                                    row(6, '<c r="A6"><f>1+1</f></c>', text("D6", "+1-1")) +
                                    row(7, text("A7", "-2+3"), '<c r="C7" t="b"><v>1</v></c>', text("D7", "=1+1"))))
    b = run(client, data_url(book.getvalue()))
    assert lines(b, "row", "phase", "code", "errors") == [(2, "parsing", "row.cell_error", ["email"]), (3, "validating", "validation.failed", ["email"]),
                                                          (4, "validating", "validation.failed", ["is_primary"]), (5, "parsing", "row.too_many_columns", []),
                                                          (6, "parsing", "row.cell_error", ["name"])]
    row7 = client.get(f"/v1/contacts/{ids(b)[0]}").data
    assert (row7["name"], row7["is_primary"], row7["metadata"]) == ("-2+3", True, {"x": "=1+1"})


def test_limits_of_files(client):
    """spec 10 section 13: 250,000 rows; 45 MiB in a data URL; 10 MB are parsed in the background."""
    b = later(client, data_url("name\n" + "x\n" * 250001))
    assert (b["status"], b["reason"], b["stats"]["created"]) == ("failed", "batch.too_many_items", 0)
    body = {"resource": "contact", "action": "merge", "mode": "sync", "data": data_url(b"name\n" + b"\n" * (45 << 20))}
    client.refused("POST", BATCHES, 400, "file.too_large", ["data"], body)
    large = "name\n" + "".join(f"L{i}" + " " * 100000 + "\n" for i in range(110))
    b = run(client, data_url(large), mode="mixed", validate_only=True, expect=202)
    assert b["status"] == "queued" and b["file"] is None or b["file"]["size"] == len(large)
    b = wait(client, b["id"])
    assert [(p["name"], p["mode"]) for p in b["phases"]] == [("parsing", "async"), ("validating", "async")] and b["stats"]["errors"] == 0


# ---- more of the files' rules ----

def test_links_need_the_scope_of_what_the_files_hold(org, client):
    b = run(client, [{"name": "Good"}, {}], save_upload=True, save_result=True)
    short = org.client("batches:read,locations:read")
    for kind in ("upload_csv", "upload_json", "errors_csv", "errors_json", "result_json"):
        short.refused("GET", f"{BATCHES}/{b['id']}?include_{kind}=true", 403, "scope_access", ["contacts:read"])
        assert links(org.client("batches:read,contacts:read"), b, kind)[0]
    assert short.get(f"{BATCHES}/{b['id']}").data["stats"] == b["stats"]


def test_links_are_for_who_may_see_all_that_the_files_hold(fresh):
    """As with exports: the key that made the batch, or one of all locations. What is tried again by another key would be in files of that key's batch."""
    admin = fresh.client()
    places = [make_location(admin, n)["id"] for n in "AB"]
    limited, other = (fresh.client("batches:write,contacts:write", locations=places[:1]) for _ in range(2))
    kinds = ("upload_csv", "upload_json", "errors_csv", "errors_json", "result_json")
    secret = run(admin, [{"name": "There", "locations": places[1:]}, {"notes": "no name"}], save_upload=True, save_result=True)
    named = run(admin, [{"name": "There", "locations": places[1:]}, {"notes": "no name"}], save_upload=True, save_result=True, location_id=places[0])
    for b in (secret, named):
        assert limited.get(f"{BATCHES}/{b['id']}").data["stats"] == b["stats"]
        for kind in kinds:
            limited.refused("GET", f"{BATCHES}/{b['id']}?include_{kind}=true", 403, "location_access")
        assert all(links(fresh.client("batches:read,contacts:read"), b, *kinds))
        limited.refused("POST", f"{BATCHES}/{b['id']}/retry", 403, "location_access")
    mine = run(limited, [{"name": "Here", "locations": places[:1]}, {"notes": "no name"}], save_upload=True, save_result=True)
    assert all(links(limited, mine, *kinds)) and all(links(admin, mine, *kinds))
    assert [r["name"] for r in fetch(limited, links(limited, mine, "result_json")[0]).json()] == ["Here"]
    other.refused("GET", f"{BATCHES}/{mine['id']}?include_result_json=true", 403, "location_access")
    again = wait(limited, limited.post(f"{BATCHES}/{mine['id']}/retry", {}, expect=202).data["id"])
    assert again["stats"]["errors"] == 1 and links(limited, again, "errors_json")[0]


def test_items_are_for_who_may_have_the_files(fresh):
    admin = fresh.client()
    places = [make_location(admin, n)["id"] for n in "AB"]
    limited, other = (fresh.client("batches:write,contacts:write", locations=places[:1]) for _ in range(2))
    secret, mine = run(admin, [{"name": "There", "locations": places[1:]}, {}]), run(limited, [{"name": "Here", "locations": places[:1]}, {}])
    for client, b in ((limited, secret), (other, mine)):
        client.get(f"{BATCHES}/{b['id']}", expect=200)
        client.refused("GET", f"{BATCHES}/{b['id']}/items", 403, "location_access")
    fresh.client("batches:read").refused("GET", f"{BATCHES}/{mine['id']}/items", 403, "scope_access", ["contacts:read"])
    for client in (limited, admin, fresh.client("batches:read,contacts:read")):
        assert len(client.get(f"{BATCHES}/{mine['id']}/items").data) == 2


def test_what_is_awaited_is_brought_by_who_could_write_it(fresh):
    """It is written with the rights of the key that made the batch: others see no link to bring anything."""
    admin = fresh.client()
    here = make_location(admin, "A")["id"]
    limited, other = (fresh.client("batches:write,contacts:write", locations=[here]) for _ in range(2))
    body = {"resource": "contact", "action": "merge", "mode": "async", "data": None}
    b = limited.post(BATCHES, body, expect=202).data
    assert b["_upload_url"]
    for client, shown in ((limited, True), (admin, True), (fresh.client("batches:read,contacts:write"), True), (other, False), (fresh.client("batches:read,contacts:read"), False),
                          (fresh.client("batches:write"), False)):
        row = client.get(f"{BATCHES}/{b['id']}").data
        assert row["status"] == "requested" and bool(row["_upload_url"]) == shown
    of_admin = admin.post(BATCHES, body, expect=202).data
    assert limited.get(f"{BATCHES}/{of_admin['id']}").data["_upload_url"] is None and of_admin["_upload_url"]


def test_uploads_of_other_forms_are_converted(client):
    """spec 10 section 10: the form that was sent byte by byte, the other one made of it."""
    rows = [["name", "notes"], ["Ann", "x"], ["Bob", ""]]
    objects = [{"name": "Ann", "notes": "x"}, {"name": "Bob"}]
    for data, same in ((data_url(json.dumps(objects, indent=1), "application/json"), "upload_json"), (data_url(sheet(rows), "application/vnd.ms-excel"), None),
                       (data_url(table(rows, ";")), "upload_csv")):
        b = run(client, data, save_upload=True, validate_only=True)
        found = {kind: fetch(client, links(client, b, kind)[0]) for kind in ("upload_csv", "upload_json")}
        assert same is None or found[same].content == base64.b64decode(data.split(",", 1)[1])
        assert [{k: v for k, v in o.items() if v} for o in found["upload_json"].json()] == objects
        assert [r[:2] for r in csv.reader(io.StringIO(found["upload_csv"].text), delimiter=";" if same == "upload_csv" else ",")] == rows


def test_which_sheet_and_which_row_is_the_head(client):
    import xlsxwriter
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    for name, rows in (("First", [["other"], ["x"]]), ("People", [["A list of people"], [], ["name"], ["Ann"]])):
        page = book.add_worksheet(name)
        for r, row in enumerate(rows):
            page.write_row(r, 0, row)
    book.close()
    body = data_url(out.getvalue(), "application/vnd.ms-excel")
    for which in ("People", 2):
        b = run(client, body, file={"sheet": which, "header_row": 3})
        assert (b["file"]["sheet"], b["stats"]["created"]) == ("People", 1), b["file"]
    wrong = {"resource": "contact", "action": "merge", "mode": "sync", "data": body}
    client.refused("POST", BATCHES, 400, "batch.header_missing", ["data"], {**wrong, "file": {"sheet": "First"}})
    for which in ("Nobody", 3):
        assert client.post(BATCHES, {**wrong, "file": {"sheet": which}}).status == 400
    b = run(client, data_url("note\nname|email\nAnn|ann@b.example\n"), file={"format": "csv", "delimiter": "|", "header_row": 2})
    assert b["stats"]["created"] == 1 and b["file"]["delimiter"] == "|"
