"""XLSX: what spreadsheets hold comes out right, whoever wrote them."""
import datetime
import re
import zipfile

import openpyxl
import pytest
import xlsxwriter

from files import read_sheet

NS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
DOC_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = ('<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/>'
         '</Types>')


def relations(*triples):
    return '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">' + "".join(
        f'<Relationship Id="{i}" Type="{t}" Target="{p}"{m}/>' for i, t, p, m in triples) + "</Relationships>"


def parts(sheet, strings=None, styles=None, workbook=None, rel=DOC_REL, ns=NS, target="worksheets/sheet1.xml"):
    """The parts of a small workbook by hand; sheet: what stands in sheetData, or a whole part."""
    if not sheet.startswith("<?xml") and "<worksheet" not in sheet:
        sheet = f'<worksheet xmlns="{ns}"><sheetData>{sheet}</sheetData></worksheet>'
    out = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": relations(("r1", rel + "/officeDocument", "xl/workbook.xml", "")),
        "xl/workbook.xml": workbook or f'<workbook xmlns="{ns}" xmlns:r="{rel}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(("r1", rel + "/worksheet", target, ""), ("r2", rel + "/sharedStrings", "sharedStrings.xml", ""),
                                                ("r3", rel + "/styles", "styles.xml", "")),
        "xl/worksheets/sheet1.xml": sheet,
    }
    if strings is not None:
        out["xl/sharedStrings.xml"] = f'<sst xmlns="{ns}">{strings}</sst>'
    if styles is not None:
        out["xl/styles.xml"] = f'<styleSheet xmlns="{ns}">{styles}</styleSheet>'
    return out


def pack(path, entries, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as z:
        for name, content in entries.items():
            z.writestr(name, content)
    return path


def by_hand(tmp_path, sheet, *options, **kw):
    return read_sheet(pack(tmp_path / "hand.xlsx", parts(sheet, **kw)), *options)


def row(number, *cells):
    return f'<row r="{number}">' + "".join(cells) + "</row>"


def text(ref, s):
    return f'<c r="{ref}" t="inlineStr"><is><t>{s}</t></is></c>'


HEAD = row(1, text("A1", "a"), text("B1", "b"), text("C1", "c"))


def test_written_by_xlsxwriter(tmp_path):
    path = tmp_path / "x.xlsx"
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet("Data")
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    sheet.write_row(0, 0, ["name", "n", "when", "ok", "sum", "rich"])
    sheet.write_row(1, 0, ["Ann & Bob <é>", 12])
    sheet.write_datetime(1, 2, datetime.datetime(2024, 2, 29, 13, 30), day)
    sheet.write_boolean(1, 3, True)
    sheet.write_formula(1, 4, "=1+1", None, 2)
    sheet.write_rich_string(1, 5, "plain ", book.add_format({"bold": True}), "bold", " end")
    sheet.write_row(3, 0, ["later", 1.5])
    book.close()
    got = read_sheet(path)
    assert got.objects == [{"name": "Ann & Bob <é>", "n": "12", "when": "2024-02-29T13:30:00.000Z", "ok": "true", "sum": "2",
                            "rich": "plain bold end"}, {"name": "later", "n": "1.5"}]
    assert [r["row"] for r in got.rows] == [2, 4] and got.end["sheet"] == "Data" and got.problem is None


@pytest.mark.parametrize("constant_memory", [False, True])
def test_shared_and_inline(tmp_path, constant_memory):
    path = tmp_path / "x.xlsx"
    book = xlsxwriter.Workbook(str(path), {"constant_memory": constant_memory})
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["a", "b"])
    for i in range(1, 5000):
        sheet.write_row(i, 0, [f"text {i % 97} é", i])
    book.close()
    got = read_sheet(path)
    assert got.objects == [{"a": f"text {i % 97} é", "b": str(i)} for i in range(1, 5000)]


def test_written_by_openpyxl(tmp_path):
    path = tmp_path / "x.xlsx"
    book = openpyxl.Workbook()
    first = book.active
    first.title = "Hidden"
    first.sheet_state = "hidden"
    first.append(["wrong"])
    second = book.create_sheet("Näme")
    second.append(["a", "b", "c"])
    second.append([datetime.date(1999, 12, 31), datetime.time(6, 0), None])
    second.append(["x\ny", -0.1, 1e5])
    third = book.create_sheet("Third")
    third.append(["a"])
    third.append(["three"])
    third.append([None])
    book.save(path)
    got = read_sheet(path)
    assert got.end["sheet"] == "Näme"
    assert got.objects == [{"a": "1999-12-31T00:00:00.000Z", "b": "1899-12-31T06:00:00.000Z"}, {"a": "x\ny", "b": "-0.1", "c": "100000"}]
    assert read_sheet(path, "--sheet", "third").objects == [{"a": "three"}]
    assert read_sheet(path, "--sheet", "3").objects == [{"a": "three"}]
    assert read_sheet(path, "--sheet", "4").problem == "param.invalid"


def test_by_order_without_references(tmp_path):
    got = by_hand(tmp_path, '<row><c t="inlineStr"><is><t>a</t></is></c><c t="inlineStr"><is><t>b</t></is></c></row>'
                            '<row><c><v>1</v></c><c r="B2"><v>2</v></c></row><row r="9"><c><v>3</v></c></row>')
    assert got.objects == [{"a": "1", "b": "2"}, {"a": "3"}] and [r["row"] for r in got.rows] == [2, 9]


def test_kinds_of_cells(tmp_path):
    strings = ('<si><t>plain</t></si><si><r><t>ri</t></r><r><rPr><b/></rPr><t xml:space="preserve">ch </t></r><rPh sb="0" eb="1"><t>no</t></rPh></si>'
               "<si><t>a_x000D_b_x0041_ _xZZZZ_</t></si><si/>")
    cells = ['<c r="A2" t="s"><v>0</v></c><c r="B2" t="s"><v>1</v></c><c r="C2" t="s"><v>2</v></c>',
             '<c r="A3" t="str"><f>A1&amp;"x"</f><v>made</v></c><c r="B3" t="b"><v>0</v></c><c r="C3" t="e"><v>#DIV/0!</v></c>',
             '<c r="A4" t="d"><v>2024-05-01T10:00:00</v></c><c r="B4" t="d"><v>2024-05-01</v></c><c r="C4" t="s"><v>3</v></c>',
             '<c r="A5" t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r><rPh sb="0" eb="1"><t>no</t></rPh></is></c><c r="B5"><f>1/3</f><v>0.33333333333333331</v></c><c r="C5"/>']
    got = by_hand(tmp_path, HEAD + "".join(row(i + 2, c) for i, c in enumerate(cells)), strings=strings)
    assert got.objects == [{"a": "plain", "b": "rich", "c": "a\rbA _xZZZZ_"}, {"a": "made", "b": "false"},
                           {"a": "2024-05-01T10:00:00Z", "b": "2024-05-01T00:00:00.000Z"}, {"a": "inline", "b": "0.333333333333333"}]
    assert got.rows[1]["errors"] == [{"code": "row.cell_error", "path": "c"}]


@pytest.mark.parametrize("stored", ["12345678901234567", "1234567890123456", "9.400111206214877E+21", "1E15"])
def test_numbers_with_more_digits_than_a_spreadsheet_keeps(tmp_path, stored):
    """They are no longer what somebody typed: the row is refused instead of a wrong number stored."""
    got = by_hand(tmp_path, HEAD + row(2, f"<c r='A2'><v>{stored}</v></c>", text("B2", "x")))
    assert got.objects == [{"b": "x"}] and got.rows[0]["errors"] == [{"code": "row.cell_error", "path": "a"}]
    number = by_hand(tmp_path, HEAD + row(2, f"<c r='A2'><v>{stored}</v></c>"), "--field", "a:number")
    assert "errors" not in number.rows[0]


def test_formulas_without_a_value(tmp_path):
    """Programs that write formulas and compute nothing leave them so. An empty text is a value."""
    cells = ['<c r="A2"><f>1+1</f></c><c r="B2" t="str"><f>""</f><v></v></c>', '<c r="A3"><f t="shared" si="0"/></c><c r="B3"><v>1</v></c>',
             '<c r="A4"><f>1+1</f><v>2</v></c>']
    got = by_hand(tmp_path, HEAD + "".join(row(i + 2, c) for i, c in enumerate(cells)))
    assert [r.get("errors") for r in got.rows] == [[{"code": "row.cell_error", "path": "a"}]] * 2 + [None]
    assert got.objects == [{}, {"b": "1"}, {"a": "2"}]


def formatted(tmp_path, code, *values):
    styles = f'<numFmts><numFmt numFmtId="170" formatCode="{code}"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs>'
    rows = "".join(row(i + 2, f'<c r="A{i + 2}" s="1"><v>{v}</v></c>') for i, v in enumerate(values))
    return [o["a"] for o in by_hand(tmp_path, HEAD + rows, styles=styles).objects]


@pytest.mark.parametrize("code, value, shown", [
    ("00000", "1001", "01001"), ("00000", "123456", "123456"), ("0000000000", "501234567", "0501234567"), ("00000\\-0000", "10010001", "01001-0001"),
    ("000-00-0000", "12345678", "012-34-5678"), ("&quot;No &quot;000", "7", "No 007"), ("000\\ 000", "1234567", "1234 567"), ("00000;00000", "7", "00007"),
    ("0", "7", "7"), ("0.00", "7", "7"), ("#,##0", "7", "7"), ("00000", "7.5", "7.5"), ("00000", "-7", "-7"), ("00%", "7", "7"), ("&quot;0&quot;00", "7", "7"),
    ("000E+00", "7", "7"), ("00000", "1E15", None)])
def test_formats_of_zeros(tmp_path, code, value, shown):
    """Postal codes and account numbers: the zeros that the format shows are part of them."""
    if shown is None:
        with pytest.raises(KeyError):
            formatted(tmp_path, code, value)
    else:
        assert formatted(tmp_path, code, value) == [shown]


@pytest.mark.parametrize("extension, year", [
    ('<workbookPr date1904="1"/><extLst><ext><x15:workbookPr xmlns:x15="http://schemas.microsoft.com/office/spreadsheetml/2010/11/main" chartTrackingRefBase="1"/></ext></extLst>', "2028"),
    ('<extLst><ext><x15:workbookPr xmlns:x15="http://schemas.microsoft.com/office/spreadsheetml/2010/11/main" date1904="1"/></ext></extLst><workbookPr/>', "2024"),
    ('<workbookPr xmlns:n="urn:x" n:date1904="1"/>', "2024")])
def test_only_elements_of_spreadsheets_count(tmp_path, extension, year):
    """Extensions have elements of the same names in namespaces of their own."""
    workbook = f'<workbook xmlns="{NS}" xmlns:r="{DOC_REL}">{extension}<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
    got = by_hand(tmp_path, HEAD + row(2, '<c r="A2" s="1"><v>45292</v></c>'), workbook=workbook,
                  styles='<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>')
    assert got.objects[0]["a"][:4] == year


def test_cells_of_other_namespaces_are_no_cells(tmp_path):
    """Prefixes are free: rows with the sheet's namespace count, whatever they are called, and others do not."""
    sheet = (f'<?xml version="1.0"?><m:worksheet xmlns:m="{NS}" xmlns="urn:other"><m:sheetData><m:row r="1"><m:c r="A1" t="inlineStr"><m:is><m:t>a</m:t></m:is></m:c></m:row>'
             '<row r="2"><c r="A2"><v>1</v></c></row><m:row r="3"><m:c r="A3"><m:v>2</m:v></m:c></m:row></m:sheetData></m:worksheet>')
    assert by_hand(tmp_path, sheet).objects == [{"a": "2"}]


@pytest.mark.parametrize("stored, shown", [
    ("0", "0"), ("-0", "0"), ("123456789012345", "123456789012345"), ("1E3", "1000"), ("1.0", "1.0"), ("1E-7", "1e-07"), ("0.1", "0.1"),
    ("0.30000000000000004", "0.3"), ("1e14", "100000000000000"), ("nonsense", "nonsense"),
])
def test_numbers(tmp_path, stored, shown):
    assert by_hand(tmp_path, HEAD + row(2, f"<c r='A2'><v>{stored}</v></c>")).objects == [{"a": shown}]


STYLES = ('<numFmts><numFmt numFmtId="170" formatCode="{}"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
          '<cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs>')


@pytest.mark.parametrize("code, is_date", [
    ("yyyy\\-mm\\-dd", True), ("[$-409]d mmm yy", True), ("[h]:mm", True), ("[mm]", True), ("0.00", False), ("General", False),
    ("&quot;day&quot; 0", False), ("[Red]0", False), ("0\\d", False), ("0_d", False), ("#,##0.00;[Red]-#,##0.00", False), ("@", False),
    ("0.00E+00", False), ("h:mm AM/PM", True),
])
def test_custom_formats(tmp_path, code, is_date):
    got = by_hand(tmp_path, HEAD + row(2, '<c r="A2" s="1"><v>45292.5</v></c><c r="B2" s="0"><v>45292.5</v></c>'), styles=STYLES.format(code))
    assert got.objects == [{"a": "2024-01-01T12:00:00.000Z" if is_date else "45292.5", "b": "45292.5"}]


@pytest.mark.parametrize("number, is_date", [(n, 14 <= n <= 22 or 27 <= n <= 36 or 45 <= n <= 47 or 50 <= n <= 58) for n in range(0, 60)])
def test_built_in_formats(tmp_path, number, is_date):
    got = by_hand(tmp_path, HEAD + row(2, '<c r="A2" s="0"><v>2</v></c>'), styles=f'<cellXfs><xf numFmtId="{number}"/></cellXfs>')
    assert got.objects == [{"a": "1900-01-02T00:00:00.000Z" if is_date else "2"}]


DATES = [("1", "1900-01-01T00:00:00.000Z", "1904-01-02T00:00:00.000Z"), ("59", "1900-02-28T00:00:00.000Z", "1904-02-29T00:00:00.000Z"),
         ("60", "1900-02-28T00:00:00.000Z", "1904-03-01T00:00:00.000Z"), ("61", "1900-03-01T00:00:00.000Z", "1904-03-02T00:00:00.000Z"),
         ("0.25", "1899-12-31T06:00:00.000Z", "1904-01-01T06:00:00.000Z"), ("45292.999999999", "2024-01-02T00:00:00.000Z", "2028-01-03T00:00:00.000Z"),
         ("2958465", "9999-12-31T00:00:00.000Z", "2958465"), ("2958467", "2958467", "2958467"), ("-1", "-1", "-1")]


@pytest.mark.parametrize("serial, of_1900, of_1904", DATES)
def test_dates(tmp_path, serial, of_1900, of_1904):
    sheet = HEAD + row(2, f'<c r="A2" s="0"><v>{serial}</v></c>')
    styles = '<cellXfs><xf numFmtId="22"/></cellXfs>'
    workbook = f'<workbook xmlns="{NS}" xmlns:r="{DOC_REL}"><workbookPr date1904="1"/><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
    assert by_hand(tmp_path, sheet, styles=styles).objects == [{"a": of_1900}]
    assert by_hand(tmp_path, sheet, styles=styles, workbook=workbook).objects == [{"a": of_1904}]


def test_strict_prefixes_and_odd_names(tmp_path):
    rel = "http://purl.oclc.org/ooxml/officeDocument/relationships"
    entries = parts(f'<x:worksheet xmlns:x="{STRICT}"><x:sheetData>' + re.sub(r"<(/?)(\w)", r"<\1x:\2", HEAD + row(2, text("A2", "é"))) +
                    "</x:sheetData></x:worksheet>", rel=rel, ns=STRICT, target="/XL/Worksheets/Sheet1.xml")
    got = read_sheet(pack(tmp_path / "x.xlsx", entries))
    assert got.objects == [{"a": "é"}]


def test_attributes_of_other_namespaces(tmp_path):
    """A sheet's part is named by r:id, not by an id of somebody's own relationships."""
    sheet = '<sheet name="S" sheetId="1" m:id="r2" r:id="r1"/>'
    workbook = f'<workbook xmlns="{NS}" xmlns:r="{DOC_REL}" xmlns:m="http://example.com/relationships"><sheets>{sheet}</sheets></workbook>'
    assert by_hand(tmp_path, HEAD + row(2, text("A2", "x")), workbook=workbook).objects == [{"a": "x"}]


def test_utf16_part(tmp_path):
    sheet = f'<?xml version="1.0" encoding="UTF-16"?><worksheet xmlns="{NS}"><sheetData>{HEAD}{row(2, text("A2", "é"))}</sheetData></worksheet>'
    entries = parts(sheet)
    entries["xl/worksheets/sheet1.xml"] = sheet.encode("utf-16")
    assert read_sheet(pack(tmp_path / "x.xlsx", entries)).objects == [{"a": "é"}]


def test_merged_cells(tmp_path):
    sheet = (f'<worksheet xmlns="{NS}"><sheetData>{HEAD}{row(2, text("A2", "top"), text("B2", "under"))}{row(3, text("A3", "under"), text("C3", "seen"))}'
             '</sheetData><mergeCells count="1"><mergeCell ref="A2:B3"/></mergeCells></worksheet>')
    assert by_hand(tmp_path, sheet).objects == [{"a": "top"}, {"c": "seen"}]


def test_hidden_rows_and_styled_empty_rows(tmp_path):
    rows = "".join(f'<row r="{i}" s="1" customFormat="1"><c r="A{i}" s="1"/></row>' for i in range(3, 200001))
    got = by_hand(tmp_path, HEAD + '<row r="2" hidden="1"><c r="A2"><v>1</v></c></row>' + rows + row(200001, '<c r="B200001"><v>2</v></c>'))
    assert got.objects == [{"a": "1"}, {"b": "2"}] and got.rows[1]["row"] == 200001


def test_stored_entries(tmp_path):
    assert read_sheet(pack(tmp_path / "x.xlsx", parts(HEAD + row(2, text("A2", "x"))), zipfile.ZIP_STORED)).objects == [{"a": "x"}]


def test_same_rows_in_every_format(tmp_path):
    """CSV and XLSX of the same rows make the same objects."""
    from files import read
    values = [["name", "qty", "tags"], ["Ann", "7", "a;b"], ["'=x", "", "c"], ["Jose\u0301", "0.5", ""]]
    options = ["--field", "name", "--field", "qty:number", "--field", "tags:list"]
    path = tmp_path / "x.xlsx"
    book = xlsxwriter.Workbook(str(path), {"strings_to_formulas": False})
    sheet = book.add_worksheet()
    for i, line in enumerate(values):
        sheet.write_row(i, 0, line)
    book.close()
    csv = "\n".join(",".join(line) for line in values)
    assert read_sheet(path, *options).objects == read(tmp_path, csv, *options).objects == [
        {"name": "Ann", "qty": 7, "tags": ["a", "b"]}, {"name": "=x", "tags": ["c"]}, {"name": "José", "qty": 0.5}]
