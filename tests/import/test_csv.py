"""CSV: what must be read right, and what must be refused (docs/spec/10-batches.md section 9)."""
import json
import subprocess

import pytest

from files import BUILD, HERE, Read, read

SPECTRUM = HERE / "node_modules" / "csv-spectrum"
SPECTRUM_FILES = sorted(p.stem for p in (SPECTRUM / "csvs").glob("*.csv"))


def test_spectrum_is_there():
    assert len(SPECTRUM_FILES) == 12, "npm ci in tests/import brings csv-spectrum"


@pytest.mark.parametrize("name", SPECTRUM_FILES)
def test_spectrum(name):
    want = json.loads((SPECTRUM / "json" / f"{name}.json").read_text())
    want = want if isinstance(want, list) else [want]
    if name == "location_coordinates":
        # the package's two files name different numbers
        want[0]["Contact Phone Number"] = "2095257564"
    got = Read(SPECTRUM / "csvs" / f"{name}.csv")
    # empty cells are absent; outer white space is trimmed
    keys = list(want[0])
    assert [{k: row.get(k, "") for k in keys} for row in got.objects] == [{k: v.strip() for k, v in row.items()} for row in want]
    assert got.problem is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path, end, last):
    got = read(tmp_path, end.join(["name,qty", "a,1", "", '"x' + end + 'y",2', "   ", "c,3"]) + (end if last else ""))
    assert got.objects == [{"name": "a", "qty": "1"}, {"name": f"x{end}y", "qty": "2"}, {"name": "c", "qty": "3"}]
    assert [row["row"] for row in got.rows] == [2, 4, 7]


@pytest.mark.parametrize("text, delimiter, rows", [
    ("a,b;c\n1,2;3\n", ",", 1),
    ("a;b\n1,5;2\n2,5;3\n7;8\n", ";", 3),
    ("a\tb\n1\t2\n", "\t", 1),
    ("a|b\n1|2\n", "|", 1),
    ("a,b;c\n1,2;3\n4,5;6\n", ",", 2),
    ('a;b\n"1,1,1";2\n"3,3";4\n', ";", 2),
    ('a;b\n"x ""y"", z;",2;2\n', ";", 0),
    ("sep=;\na;b\n1,2;3\n", ";", 1),
    ("sep=#\r\na#b\r\n1#2\r\n", "#", 1),
    ("name\nAnn\nBob\n", ",", 2),
])
def test_delimiters(tmp_path, text, delimiter, rows):
    got = read(tmp_path, text)
    assert chr(got.end["delimiter"]) == delimiter
    if rows:
        assert len(got.rows) == rows and got.problem is None


def test_delimiter_told(tmp_path):
    assert read(tmp_path, "a:b,c\n1:2,2\n", "--delimiter", ":").objects == [{"a": "1", "b,c": "2,2"}]


UMLAUT = "name,city\nJosé,Zürich €\n"


@pytest.mark.parametrize("content, options, encoding, warns", [
    (UMLAUT.encode(), [], "utf-8", []),
    (b"\xef\xbb\xbf" + UMLAUT.encode(), [], "utf-8", []),
    (b"\xff\xfe" + UMLAUT.encode("utf-16le"), [], "utf-16le", []),
    (b"\xfe\xff" + UMLAUT.encode("utf-16be"), [], "utf-16be", []),
    (UMLAUT.encode("utf-16le"), ["--encoding", "UTF-16LE", "--format", "csv"], "utf-16le", []),
    (UMLAUT.encode("utf-16le"), ["--encoding", "UTF-16LE"], "utf-16le", []),
    (UMLAUT.encode("utf-16be"), ["--encoding", "utf-16be"], "utf-16be", []),
    (b"\xff\xfe" + UMLAUT.encode("utf-16le"), ["--encoding", "utf-16be"], "utf-16le", []),
    (b"\xff\xfe" + UMLAUT.encode("utf-16le"), ["--encoding", "utf-16"], "utf-16le", []),
    (b"\xef\xbb\xbf" + UMLAUT.encode(), ["--encoding", "utf-16le"], "utf-8", []),
    (UMLAUT.encode("cp1252"), [], "windows-1252", ["file.encoding"]),
    (UMLAUT.encode("cp1252"), ["--encoding", "windows-1252"], "windows-1252", []),
    (UMLAUT.encode("iso-8859-15"), ["--encoding", "iso-8859-15"], "iso-8859-15", []),
    (UMLAUT.replace("€", "").encode("latin-1"), ["--encoding", "iso-8859-1"], "iso-8859-1", []),
    (b"\xef\xbb\xbf" + UMLAUT.encode(), ["--encoding", "windows-1252"], "utf-8", []),
])
def test_encodings(tmp_path, content, options, encoding, warns):
    got = read(tmp_path, content, *options)
    assert got.objects[0]["name"] == "José" and got.objects[0]["city"].startswith("Zürich")
    assert got.end["encoding"] == encoding and got.end["warnings"] == warns


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16le", "utf-16be", "cp1252"])
def test_characters_over_block_ends(tmp_path, encoding):
    """Every character stays whole, wherever the blocks end."""
    mark = {"utf-16le": b"\xff\xfe", "utf-16be": b"\xfe\xff"}.get(encoding, b"")
    cell = "é€" * 997 + ("" if encoding == "cp1252" else "𝄞")
    text = "name,x\n" + "".join(f"{cell},{i}\n" for i in range(400))
    got = read(tmp_path, mark + text.encode(encoding))
    assert got.problem is None and [row["x"] for row in got.objects] == [str(i) for i in range(400)]
    assert all(row["name"] == cell for row in got.objects)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16le", "iso-8859-1"])
def test_long_records(tmp_path, encoding):
    """Records of many blocks, and cells of many kinds of lengths between them."""
    text = "a,b,c,d\n" + "".join(f'{i},"{"x" * (i * 7919 % 900000)}","{"y," * (i * 104729 % 300000)}",é\n' for i in range(40))
    mark = b"\xff\xfe" if encoding == "utf-16le" else b""
    got = read(tmp_path, mark + text.encode(encoding), *(["--encoding", encoding] if not mark else []))
    assert got.problem is None
    assert [(row["a"], len(row.get("b", "")), len(row.get("c", "")), row["d"]) for row in got.objects] == [
        (str(i), i * 7919 % 900000, i * 104729 % 300000 * 2, "é") for i in range(40)]


def test_normal_form(tmp_path):
    assert read(tmp_path, "name\nJose\u0301\n").objects == [{"name": "José"}]


def test_values(tmp_path):
    fields = ["--field", "name", "--field", "active:bool", "--field", "n:number", "--field", "tags:list", "--field", "data:json", "--field",
              "metadata.*", "--field", "parcels.#.length:number"]
    head = "Name;ACTIVE;n;Tags;data;metadata.Color Code;parcels.0.length;parcels.1.length\n"
    rows = [("' =1+1", None), ("'=1+1;yes;+007.50;a, b,;{\"x\":[1]};red;1;2",
             {"name": "=1+1", "active": True, "n": 7.50, "tags": ["a", "b"], "data": {"x": [1]}, "metadata": {"Color Code": "red"},
              "parcels": [{"length": 1}, {"length": 2}]}),
            ("\\N;NO;.5;[1,\"b\"];[2];;;", {"name": None, "active": False, "n": 0.5, "tags": [1, "b"], "data": [2]}),
            ("'quoted;maybe;1,5;;{bad;;;3", {"name": "'quoted", "active": "maybe", "n": "1,5", "data": "{bad", "parcels": [{"length": 3}]}),
            ("x;0;-1e3;;;;;", {"name": "x", "active": False, "n": -1000})]
    got = read(tmp_path, head + "".join(text + "\n" for text, want in rows if want), *fields)
    assert got.objects == [want for _, want in rows if want]


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;", "sep=;;;", "Sep=; "])
def test_the_line_that_names_the_delimiter(tmp_path, line):
    got = read(tmp_path, f"{line}\nname;qty\na,b;1\n")
    assert got.objects == [{"name": "a,b", "qty": "1"}] and got.rows[0]["row"] == 3
    assert read(tmp_path, "sep=\\t\nname\tqty\na\t1\n").objects == [{"name": "a", "qty": "1"}]
    assert read(tmp_path, "sep=x is a name,qty\na,1\n").objects == [{"sep=x is a name": "a", "qty": "1"}]


@pytest.mark.parametrize("cell, value", [
    ('"a, b"', "a, b"), (' "a, b"', "a, b"), ('\t"a, b" ', "a, b"), ('="00777"', "00777"), (' ="00777"', "00777"), ('="1,2"', "1,2"), ('"=""00777"""', "00777"),
    (' "a" b', '"a" b'), (' 5" pipe', '5" pipe'), ('= "x', '= "x'), (' "open', '"open'), ("'007", "007"), ("'+49 30", "+49 30"), ("'90s", "'90s"), ('=""', None)])
def test_quotes_and_what_stands_before_them(tmp_path, cell, value):
    got = read(tmp_path, f"name,qty\n{cell},1\nnext,2\n")
    assert got.problem is None and got.objects == [{k: v for k, v in (("name", value), ("qty", "1")) if v}, {"name": "next", "qty": "2"}]


def test_blanks_before_quotes_over_block_ends(tmp_path):
    rows = [f' "{"x" * (i % 97)}, {i}",  ="{i:05}"' for i in range(20000)]
    got = read(tmp_path, "name,code\n" + "\n".join(rows) + "\n")
    assert got.objects == [{"name": f"{'x' * (i % 97)}, {i}", "code": f"{i:05}"} for i in range(20000)]


@pytest.mark.parametrize("cell", ["9.40011E+21", '"9,40011E+21"', "1E+15", "-1.5e+12"])
def test_numbers_that_a_spreadsheet_has_rounded(tmp_path, cell):
    got = read(tmp_path, f"name,qty\n{cell},1\n")
    assert got.objects == [{"qty": "1"}] and got.rows[0]["errors"] == [{"code": "row.cell_error", "path": "name"}]
    assert "errors" not in read(tmp_path, f"qty\n{cell}\n", "--field", "qty:number").rows[0]


@pytest.mark.parametrize("cell, value", [("491712345678.0", "491712345678"), ("2.0", "2.0"), ("1.2.0", "1.2.0"), ("1234567.00", "1234567.00"), ("E+12", "E+12"), ("1E-7", "1E-7"),
                                         ("A1E+12", "A1E+12"), ("1E+7x", "1E+7x"), ("1E+7", "1E+7")])
def test_texts_that_look_like_numbers(tmp_path, cell, value):
    assert read(tmp_path, f"name\n{cell}\n").objects == [{"name": value}]


def test_a_control_character_is_a_matter_of_its_row(tmp_path):
    got = read(tmp_path, "name,qty\na\x01b,1\nc,2\nd\x7f,3\n\x1a")
    assert got.problem is None and [r.get("errors") for r in got.rows] == [[{"code": "row.cell_error", "path": "name"}], None, [{"code": "row.cell_error", "path": "name"}]]
    got = read(tmp_path, b"name\na\0b\n" + b"x" * 300000 + b"\n\0\n")  # OpenRefine/OpenRefine#653, simonw/sqlite-utils#804: a few NULs stop the whole file elsewhere
    assert got.problem is None and [bool(r.get("errors")) for r in got.rows] == [True, False, True]
    assert read(tmp_path, "name\nabc\n".encode("utf-16-le")).problem == "file.unsupported_type"
    assert read(tmp_path, bytes(range(1, 32)) * 20).problem == "file.unsupported_type"


@pytest.mark.parametrize("content, line, column", [
    (b"name\nZo\xc3\xab\nM\xfcller\n", 3, 2), (b"name,b\n" + b"\xc3\xab,x\n" * 40000 + b"abc\xc3\xabd\xff,x\n", 40002, 6), ("a\n\u738b".encode()[:-1] + b"\n\xc3\xab\n", 2, 1)],
                         ids=["a byte of another encoding", "beyond a block", "half a character"])
def test_damaged_utf8_is_not_guessed_about(tmp_path, content, line, column):
    got = read(tmp_path, content)
    assert (got.problem, got.end["line"], got.end["column"]) == ("file.encoding", line, column)


def test_other_encodings_are_found_with_a_warning(tmp_path):
    got = read(tmp_path, "name\nZoë\nMüller\n".encode("cp1252"))
    assert got.objects == [{"name": "Zoë"}, {"name": "Müller"}] and got.end["warnings"] == ["file.encoding"]


def test_data_without_a_header_is_told(tmp_path):
    got = read(tmp_path, "name,,qty\na,lost,1\nb,lost,2\n")
    assert got.objects == [{"name": "a", "qty": "1"}, {"name": "b", "qty": "2"}] and got.end["warnings"] == ["batch.header_missing"]
    assert read(tmp_path, "name,,qty\na,,1\n").end["warnings"] == []


def test_ragged(tmp_path):
    got = read(tmp_path, "a,b\n1\n1,2,,\n1,2,3\n,,\n9,9\n")
    assert got.objects == [{"a": "1"}, {"a": "1", "b": "2"}, {"a": "1", "b": "2"}, {"a": "9", "b": "9"}]
    assert [[e["code"] for e in row.get("errors", [])] for row in got.rows] == [[], [], ["row.too_many_columns"], []]


LOCATION = ["--resource", "location", "--definition", HERE.parent.parent / "schemas/locations/location.json"]


def test_headers_of_a_resource(tmp_path):
    got = read(tmp_path, "\ufeff\u00a0LOCATION_ID ; Name;address;e-mail;EMail;Operating-Hours.Monday.Active;Metadata.Dock No.;_row;active\n"
               "loc_1;Main;1 High St;x;m@x.org;yes;7;4;TRUE\n", "--delimiter", ";", *LOCATION)
    assert got.problem is None
    assert got.objects[0]["id"] == "loc_1" and got.objects[0]["name"] == "Main" and got.objects[0]["email"] == "m@x.org"
    assert got.objects[0]["address"] == {"formatted_address": "1 High St"} and got.objects[0]["active"] is True
    assert got.objects[0]["operating_hours"] == {"monday": {"active": True}}
    assert got.end["warnings"] == ["batch.header_unknown"]


def test_mapping(tmp_path):
    got = read(tmp_path, "Label,Name,Post\nMain,other,m@x.org\n", "--map", "name=LABEL", "--map", "email=post", *LOCATION)
    assert got.objects == [{"name": "Main", "email": "m@x.org"}]


def test_header_row(tmp_path):
    got = read(tmp_path, "Report of May\n\nname,qty\na,1\n", "--header-row", "3")
    assert got.objects == [{"name": "a", "qty": "1"}]


REFUSED = [
    ("", [], "batch.data_empty"),
    ("\n \r\n", [], "batch.data_empty"),
    ("name,qty\n", [], "batch.data_empty"),
    ('name\n"abc\ndef\n', [], "file.csv_syntax"),
    ('name,b\n"abc"def,1\n', [], "file.csv_syntax"),
    ('name\n"abc', [], "file.csv_syntax"),
    ("n\0a\0\n\0b\0", [], "file.unsupported_type"),
    (b"name\nJos\xe9\n", ["--encoding", "utf-8"], "file.encoding"),
    (b"\xef\xbb\xbfname\nJos\xe9\n", [], "file.encoding"),
    (b"\xff\xfen\x00\x00\xd8a\x00", [], "file.encoding"),
    (b"\xff\xfen\x00a", [], "file.encoding"),
    (b"name\n\x81\n", ["--encoding", "windows-1252"], "file.encoding"),
    ("name\n", ["--encoding", "utf-7"], "param.invalid"),
    ("name\n" + "x" * (1 << 20) + "y\n", [], "file.too_complex"),
    ("name\n" + '"' + "x,\n" * 700000 + '"\n', [], "file.too_complex"),
    ("name\n" + "x," * 2100000 + "\n", [], "file.too_complex"),
    (",".join(f"c{i}" for i in range(513)) + "\n1\n", [], "file.too_complex"),
    ("name,Na_me ,na me\n1,2,3\n", [], "batch.header_duplicate"),
    ("email,EMAIL\n1,2\n", LOCATION, "batch.header_duplicate"),
    ("address,address.formatted_address\n1,2\n", LOCATION, "batch.header_duplicate"),
    ("foo,bar\n1,2\n", LOCATION, "batch.header_missing"),
    ("name,bar\n1,2\n", [*LOCATION, "--strict"], "batch.header_unknown"),
    ("a,b\n1,2\n", ["--map", "name=a", "--map", "email=A", *LOCATION], "batch.mapping_duplicate"),
    ("a,b\n1,2\n", ["--map", "nonsense=a", *LOCATION], "validation.failed"),
    ("a,b\n1,2\n", ["--map", "name=c", *LOCATION], "batch.header_missing"),
    (b"%PDF-1.7\n", [], "file.unsupported_type"),
    (b"\x89PNG\r\n\x1a\n", [], "file.unsupported_type"),
    (b"\x1f\x8b\x08\x00", [], "file.unsupported_type"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, [], "file.unsupported_type"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 70000 + "EncryptedPackage".encode("utf-16le") + b"\0" * 600, [], "file.encrypted"),
]


@pytest.mark.parametrize("content, options, code", REFUSED, ids=range(len(REFUSED)))
def test_refused(tmp_path, content, options, code):
    got = read(tmp_path, content, *options)
    assert got.problem == code, got.end
    assert got.end["message"]


def test_where_it_is_wrong(tmp_path):
    assert read(tmp_path, 'a,b\n1,2\n"x\ny",2\n3,"z\n').end["line"] == 5
    assert read(tmp_path, b"a,b\n1,\xe9\n", "--encoding", "utf-8").end["offset"] == 6
    assert read(tmp_path, 'a,b\n1,2\n"x"y,2\n').end["line"] == 3


def test_line_without_end_in_bounded_memory(tmp_path):
    """1 GB in one line: refused, in a few megabytes."""
    path = tmp_path / "file"
    with open(path, "wb") as f:
        f.write(b"name\n")
        for _ in range(1024):
            f.write(b"x" * (1 << 20))
    run = subprocess.run([BUILD / "tests/import/import-rows", "--quiet", path], capture_output=True, timeout=300)
    end, figures = run.stdout.decode().strip().split("\n")
    assert json.loads(end)["problem"] == "file.too_complex"
    assert int(figures.split()[-2]) < 40000, figures
