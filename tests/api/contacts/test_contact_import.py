"""Files of contacts: POST /v1/contacts with csv_url (spec 02 section 5, spec 10 sections 9 and 11)."""
import base64
import io
import pathlib
import re

import openpyxl
import pytest
import requests

from wharf import MODULES, SANITIZED, WAIT, Server, make_location

CONTACTS = "/v1/contacts"


def data_url(content, mime="text/csv"):
    return f"data:{mime};base64," + base64.b64encode(content.encode() if isinstance(content, str) else content).decode()


def send(client, content, expect=200, **more):
    return client.post(CONTACTS, {"csv_url": data_url(content), **more}, expect=expect)


@pytest.fixture
def client(fresh):
    return fresh.client()


def names(client):
    return [c["name"] for c in client.get(CONTACTS + "?limit=1000").data]


def test_answer(client):
    r = send(client, "Name,Email,Phone\nJane,jane@b.example,201 555 0101\nBad,no,123\nJohn,,\n")
    assert r.status == 200 and r.code is None and r.errors == [] and r.message == "2 contacts created, 1 row skipped"
    assert r.data["issues"] == [{"index": 1, "errors": ["Email", "Phone"]}] and r.data["deleted"] == 0 and len(r.data["ids"]) == 2
    jane = client.get(f"{CONTACTS}/{r.data['ids'][0]}").data
    assert jane["name"] == "Jane" and jane["email"] == "jane@b.example" and jane["phone"] == "+12015550101"
    assert names(client) == ["Jane", "John"]


def test_headers_in_any_form_and_order(client):
    g = client.post("/v1/groups", {"name": "Crew", "resource": "contact"}, expect=201).data
    r = send(client, "E_MAIL, phone ,LAST name,First-Name,metadata.csv_import,GROUPS,Address,Ignored\n"
                     "a@b.example,+441632960001,Lee,Ann,batch 7,crew;" + g["id"] + ',"1 Dock Road, Newark, NJ 07114",x\n')
    assert r.data["issues"] == []
    c = client.get(f"{CONTACTS}/{r.data['ids'][0]}").data
    assert c["name"] == "Ann Lee" and c["metadata"] == {"csv_import": "batch 7"} and [x["id"] for x in c["groups"]] == [g["id"]]
    assert c["address"]["city"] == "Newark" and c["phone"] == "+441632960001"


def test_name_wins_over_its_halves(client):
    r = send(client, "Name,First Name,Last Name\nWhole,Ann,Lee\n,Ben,Loe\n,,\nx,,\n")
    assert [client.get(f"{CONTACTS}/{i}").data["name"] for i in r.data["ids"]] == ["Whole", "Ben Loe", "x"]
    r = send(client, "First Name,Last Name,Email\n,,a@b.example\nAnn,,\n")
    assert r.data["issues"] == [{"index": 0, "errors": ["First Name", "Last Name"]}] and len(r.data["ids"]) == 1
    assert send(client, "Name,Email\n,c@b.example\n" + "x" * 192 + ",\n").data["issues"] == [{"index": 0, "errors": ["Name"]}, {"index": 1, "errors": ["Name"]}]


def test_types(client):
    r = send(client, "Name,Type\nP,person\nQ,\nTeam,Group\nR,robot\n")
    assert r.data["issues"] == [{"index": 3, "errors": ["Type"]}]
    assert [i[:4] for i in r.data["ids"]] == ["ctct", "ctct", "grp_"]
    assert client.get(f"/v1/groups/{r.data['ids'][2]}").data["name"] == "Team"


def test_groups_that_nobody_or_several_have(client):
    client.post("/v1/groups", {"name": "One", "resource": "contact"}, expect=201)
    r = send(client, 'Name,Groups\nA,one\nB,nope\nC,"one, nope"\nD,\nE,grp_0000000000000000000000\n')
    assert r.data["issues"] == [{"index": i, "errors": ["Groups"]} for i in (1, 2, 4)] and len(r.data["ids"]) == 2


def test_addresses_and_empty_metadata(client):
    r = send(client, 'Name,Address,metadata.a,METADATA.b\nA,"1 Dock Road, Newark, NJ 07114",x,\nB,' + "y" * 513 + ",,z\nC,,,\n")
    assert r.data["issues"] == [{"index": 1, "errors": ["Address"]}]
    a, c = (client.get(f"{CONTACTS}/{i}").data for i in r.data["ids"])
    assert (a["metadata"], a["address"]["city"], c["metadata"], c["address"]) == ({"a": "x"}, "Newark", {}, None)


def test_first_of_a_file_wins(client):
    r = send(client, "Name,Email,Phone\nA,a@b.example,2015550101\nB,A@B.example,\nC,,+1 (201) 555-0101\nD,bad,2015550102\nE,,2015550102\n")
    assert r.data["issues"] == [{"index": 1, "errors": ["Email"]}, {"index": 2, "errors": ["Phone"]}, {"index": 3, "errors": ["Email"]}]
    assert len(send(client, "Name,Email\nAgain,a@b.example\n").data["ids"]) == 1  # stored ones are no reason


def test_quotes_line_breaks_and_bom(client):
    """spec 02 section 11, 6"""
    text = '\ufeffName,Address,Email\r\n"A ""quoted"" name","1 Dock Road,\nNewark, NJ 07114",\r\n\r\n"a,b",,bad\r\nLast,,\r\n'
    r = send(client, text)
    assert r.data["issues"] == [{"index": 1, "errors": ["Email"]}]  # neither the line break nor the blank line counts
    assert client.get(f"{CONTACTS}/{r.data['ids'][0]}").data["name"] == 'A "quoted" name'
    assert client.get(f"{CONTACTS}/{send(client, 'Name' + chr(10) + chr(34) + 'a,b' + chr(34)).data['ids'][0]}").data["name"] == "a,b"


def test_surplus_cells(client):
    r = send(client, "Name,Email\nA,a@b.example,surplus\nB,,,\nC\n")
    assert r.data["issues"] == [{"index": 0, "errors": []}] and len(r.data["ids"]) == 2


def test_values_are_kept(client):
    """spec 02 section 11, 12"""
    r = send(client, 'Name,Phone,Address,metadata.code,metadata.sum\nA,+4401632960001,"1 Elm St, Agawam, MA 01001",007,=1+1\n')
    c = client.get(f"{CONTACTS}/{r.data['ids'][0]}").data
    assert c["phone"] == "+4401632960001" and c["address"]["postal_code"] == "01001" and c["metadata"] == {"code": "007", "sum": "=1+1"}


def test_spreadsheet(client):
    book = openpyxl.Workbook()
    book.active.append(["Name", "Email"])
    book.active.append(["Ann", "ann@b.example"])
    book.active.append(["Ben", "no"])
    out = io.BytesIO()
    book.save(out)
    r = client.post(CONTACTS, {"csv_url": data_url(out.getvalue(), "application/octet-stream")}, expect=200)
    assert r.data["issues"] == [{"index": 1, "errors": ["Email"]}] and names(client) == ["Ann"]


def test_overwrite(client):
    send(client, "Name\nOld 1\nOld 2\n")
    r = send(client, "Name,Email\nNew,\nBad,no\n", overwrite=True)
    assert r.data["deleted"] == 2 and len(r.data["ids"]) == 1 and names(client) == ["New"]


@pytest.mark.parametrize("content", ['Name,Email\n"open,x@b.example\n', "Email\na@b.example\n", "Name,Email\nA,no\n,\nB,also no\n", "Name\n"])
def test_overwrite_leaves_everything_when_nothing_is_good(client, content):
    """spec 02 section 11, 7"""
    send(client, "Name\nOld 1\nOld 2\n")
    r = client.post(CONTACTS, {"csv_url": data_url(content), "overwrite": True})
    assert r.status == 400 or r.data == {"ids": [], "issues": [{"index": 0, "errors": ["Email"]}, {"index": 1, "errors": ["Email"]}], "warnings": [], "deleted": 0}
    assert names(client) == ["Old 1", "Old 2"]


def test_overwrite_needs_all_locations(fresh):
    client = fresh.client()
    limited = fresh.client(locations=[make_location(client)["id"]])
    assert send(limited, "Name\nA\n", expect=403, overwrite=True).code == "location_access"
    assert len(send(limited, "Name\nA\n").data["ids"]) == 1


@pytest.mark.parametrize("content, code, errors", [
    ("Email\na@b.example\n", "batch.header_missing", ["Name"]), ("First Name\nA\n", "batch.header_missing", ["Name"]),
    ("Name,name\nA,B\n", "batch.header_duplicate", None), ("Name,Email,E-Mail\nA,,\n", "batch.header_duplicate", None),
    ("Name\n", "batch.data_empty", None), ("", None, None), ('Name\n"open\n', "file.csv_syntax", None), ("[{\"name\": \"x\"}]", "file.unsupported_type", None),
    ('Name,Email\n"A" x,\n', "file.csv_syntax", None), ('Name\n"' + "y" * 100000, "file.csv_syntax", None),
    (b"\xff\xfeN\0a\0m\0e\0\n\0x", "file.encoding", None), (b"\0\0\0\0", "file.unsupported_type", None), ("\n\n\n", None, None), (",".join("Name"), "batch.header_missing", ["Name"]),
    ("Name" + ",x" * 600 + "\nA\n", "file.too_complex", None), (b"%PDF-1.4", "file.unsupported_type", None), (b"PK\x03\x04garbage", "file.xlsx_invalid", None),
    (b"\xff\xfeN\x00a\x00m\x00e\x00\n\x00\x00\xd8\n\x00", "file.encoding", None)])
def test_files_that_are_refused(client, content, code, errors):
    r = send(client, content, expect=400)
    assert code is None or r.code == code, r
    assert errors is None or r.errors == errors
    assert names(client) == []


def test_encodings(client):
    for encoding in ("utf-16", "utf-8-sig", "cp1252"):
        r = client.post(CONTACTS, {"csv_url": data_url("Name\nZoë\n".encode(encoding))}, expect=200)
        assert client.get(f"{CONTACTS}/{r.data['ids'][0]}").data["name"] == "Zoë"
    for charset in ("utf-16le", '"UTF-16BE"', "iso-8859-1"):  # said by the URL alone
        url = data_url("Name\nZoë\n".encode(charset.strip('"'))).replace(";base64", f"; Charset={charset};base64")
        r = client.post(CONTACTS, {"csv_url": url}, expect=200)
        assert client.get(f"{CONTACTS}/{r.data['ids'][0]}").data["name"] == "Zoë"
    bad = data_url("Name\nZoe\n").replace(";base64", ";charset=nonsense;base64")
    client.refused("POST", CONTACTS, 400, "param.invalid", ["csv_url"], body={"csv_url": bad})


@pytest.mark.parametrize("body, code, errors", [
    ({"csv_url": "data:text/csv;base64,####"}, "batch.base64_invalid", ["csv_url"]), ({"csv_url": "data:text/csv,Name"}, "batch.base64_invalid", ["csv_url"]),
    ({"csv_url": 7}, "validation.failed", ["csv_url"]), ({"csv_url": ""}, "validation.failed", ["csv_url"]), ({"csv_url": "x", "name": "y"}, "validation.failed", ["name"]),
    ({"csv_url": "x", "overwrite": "yes"}, "validation.failed", ["overwrite"]), ({"csv_url": "http://files.example.com/a.csv"}, "file.protocol", ["csv_url"]),
    ({"csv_url": "https://127.0.0.1/a.csv"}, "file.url", ["csv_url"]), ({"csv_url": "https://localhost/a.csv"}, "file.hostname", ["csv_url"])])
def test_requests_that_are_refused(client, body, code, errors):
    r = client.post(CONTACTS, body, expect=400)
    assert r.code == code and r.errors == errors


def test_limits(client):
    r = client.post(CONTACTS, {"csv_url": data_url("Name\n" + "x\n" * 25001)}, expect=413)
    assert r.code == "body.too_large" and names(client) == []
    assert client.post(CONTACTS, {"csv_url": data_url(b"Name\n" + b"y" * 25_000_001)}, expect=413).code == "body.too_large"
    assert client.post(CONTACTS, {"csv_url": data_url(b"Name\n" + b"y" * 5_000_000)}, expect=400).code == "file.too_complex"


def test_white_space_in_the_payload(client):
    url = data_url("Name\nA\n")
    assert client.post(CONTACTS, {"csv_url": url[:40] + " \n" + url[40:]}, expect=200).data["deleted"] == 0


def test_events(fresh):
    client = fresh.client()
    r = send(client, "Name,Email\nA,\nB,no\n")
    assert [e[0] for e in fresh.events(r.data["ids"][0])] == ["contact.created"]
    batch = fresh.told("type, batch_id, data", "batch_id IS NOT NULL")
    assert [e[0] for e in batch] == ["contact.created", "contact.import_completed"] and len({e[1] for e in batch}) == 1
    assert {k: batch[1][2][k] for k in ("created", "skipped", "deleted")} == {"created": 1, "skipped": 1, "deleted": 0}


def test_one_contact_is_created_as_ever(client):
    r = client.post(CONTACTS, {"name": "Single"}, expect=201)
    assert r.headers["Location"] == f"{CONTACTS}/{r.data['id']}"
    g = client.post(CONTACTS, {"type": "group", "name": "Legacy"}, expect=201)
    assert g.data["object"] == "group" and g.data["resource"] == "contact" and g.headers["Location"] == f"/v1/groups/{g.data['id']}"
    key = {"Idempotency-Key": "import-1"}
    body = {"csv_url": data_url("Name\nOnce\n")}
    assert client.post(CONTACTS, body, headers=key, expect=200).data == client.post(CONTACTS, body, headers=key, expect=200).data
    assert names(client).count("Once") == 1


def test_quotes_inside_a_cell_are_text(client):
    r = send(client, 'Name,Email\nA "the" B,\n"C" ,\n')
    assert names(client) == ['A "the" B', "C"] and r.data["issues"] == []


def test_what_only_the_rules_refuse_is_an_issue(client):
    """A control character is found when the row is written: its columns are told, and the other rows stand."""
    r = send(client, "Email,Name,metadata.note\na@b.example,A,fine\nb@b.example,B\x86y,\nc@b.example,C,x\x9fy\nd@b.example,D,\nbad,E,\n")
    assert r.data["issues"] == [{"index": 1, "errors": ["Name"]}, {"index": 2, "errors": ["metadata.note"]}, {"index": 4, "errors": ["Email"]}]
    assert names(client) == ["A", "D"] and len(r.data["ids"]) == 2 and r.message == "2 contacts created, 3 rows skipped"
    r = send(client, "Name\nB\x86y\n", overwrite=True)
    assert r.data == {"ids": [], "issues": [{"index": 0, "errors": ["Name"]}], "warnings": [], "deleted": 0} and names(client) == ["A", "D"]


def test_groups_of_the_file_and_rows_keep_their_order(client):
    rows = "".join(f"R{i:04},{'group' if i % 100 == 7 else ''}\n" for i in range(1203))
    r = send(client, "Name,Type\n" + rows)
    assert r.data["issues"] == [] and [i[:4] for i in r.data["ids"]] == ["grp_" if i % 100 == 7 else "ctct" for i in range(1203)]
    assert client.get(f"{CONTACTS}/{r.data['ids'][1202]}").data["name"] == "R1202"
    assert client.get(f"/v1/groups/{r.data['ids'][7]}").data["name"] == "R0007"
    assert send(client, "Name,Type\nR0007,group\nR0008,\n").data["issues"] == [{"index": 0, "errors": ["Name"]}]  # there is one of that name


def test_members_of_a_group(fresh):
    client = fresh.client()
    g = client.post("/v1/groups", {"name": "Crew", "resource": "contact"}, expect=201).data
    r = send(client, "Name,Groups\n" + "".join(f"M{i},{'Crew' if i % 2 else ''}\n" for i in range(1100)))
    children = [c for i, c in enumerate(r.data["ids"]) if i % 2]
    assert client.get(f"/v1/groups/{g['id']}").data["group_contacts"]["children"] == children and client.get(f"/v1/groups/{g['id']}").data["children_count"] == 550
    assert [e[0] for e in fresh.events(g["id"])] == ["group.created", "group.updated"]
    assert send(client, "Name\nNew\n", overwrite=True).data["deleted"] == 1100
    assert client.get(f"/v1/groups/{g['id']}").data["children_count"] == 0


def workers(server):
    """Peak memory of the server's processes in bytes."""
    peak = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "status").read_text()
            if str(server.folder) in (folder / "cmdline").read_text() or server.process.pid == int(re.search(r"PPid:\s+(\d+)", text).group(1)):
                peak[int(folder.name)] = int(re.search(r"VmHWM:\s+(\d+)", text).group(1)) * 1024
        except (OSError, AttributeError):
            continue
    return peak


def test_the_largest_file_and_a_larger_one():
    """25,000 rows take longer than other requests may; a file over the limit is refused in memory that its body bounds."""
    server = Server("--modules", MODULES, "--set", "http.handler_timeout=500")
    try:
        org = server.organization()
        key, url = {"SVC-API-KEY": org.key()}, server.base + CONTACTS
        rows = ["Name,Email,metadata.n"] + [f"Person {i:05},{'no' if i % 5000 == 17 else f'p{i}@b.example'},{i}" for i in range(25000)]
        r = requests.post(url, json={"csv_url": data_url("\n".join(rows))}, headers=key, timeout=WAIT).json()
        assert r["message"] == "24995 contacts created, 5 rows skipped" and [i["index"] for i in r["data"]["issues"]] == [17 + 5000 * i for i in range(5)]
        assert server.sql("SELECT count(*), count(DISTINCT resource_id) FROM wharf.event WHERE organization_id = %s AND type = 'contact.created'", org.id) == [(24995, 24995)]
        assert server.sql("SELECT count(*) FROM wharf.change_log WHERE organization_id = %s AND resource = 'contact'", org.id) == [(24995,)]
        r = requests.post(url, json={"csv_url": data_url("Name\nOnly\n"), "overwrite": True}, headers=key, timeout=WAIT).json()
        assert r["data"]["deleted"] == 24995 and len(r["data"]["ids"]) == 1
        assert server.sql("SELECT count(*) FROM contacts.contact WHERE organization_id = %s AND deleted_at IS NULL", org.id) == [(1,)]
        before = workers(server)
        body = {"csv_url": data_url("Name,Email\n" + ("y" * 980 + ",\n") * 25001)}
        r = requests.post(url, json=body, headers=key, timeout=WAIT)
        assert r.status_code == 413 and r.json()["code"] == "body.too_large"
        grown = sum(max(0, n - before.get(p, n)) for p, n in workers(server).items())
        assert before and (SANITIZED or grown < 2.5 * len(body["csv_url"]) + (64 << 20)), (before, workers(server))
    finally:
        server.end()  # its 50,000 events are like those of the other tests


@pytest.mark.parametrize("columns, rows, good", [(25, 1900, True), (500, 90, False)])
def test_rows_as_wide_as_they_may_be(client, columns, rows, good):
    """Few rows that fill the file: sets are bounded by bytes as well as by rows."""
    head = "Name," + ",".join(f"metadata.k{i}" for i in range(columns))
    body = {"csv_url": data_url("\n".join([head] + [f"Wide {i}," + ",".join(["é" + "x" * 499] * columns) for i in range(rows)]))}
    r = requests.post(client.server.base + CONTACTS, json=body, headers={"SVC-API-KEY": client.key}, timeout=WAIT).json()
    assert r["status"] == 200 and len(r["data"]["ids"]) == (rows if good else 0) and len(r["data"]["issues"]) == (0 if good else rows), str(r)[:500]
    assert not good or len(client.get(f"{CONTACTS}/{r['data']['ids'][-1]}").data["metadata"]) == columns
