"""Spreadsheets made to do harm: each is refused with the code of docs/spec/10-batches.md section 9, quickly and in bounded memory."""
import functools
import io
import struct
import zipfile
import zlib

import pytest

from files import read_sheet
from test_xlsx import DOC_REL, HEAD, NS, pack, parts, relations, row, text

GOOD = HEAD + row(2, text("A2", "x"))


def zipped(entries):
    out = io.BytesIO()
    pack(out, entries)
    return bytearray(out.getvalue())


def central(data, name):
    """Where the directory's record of the part begins."""
    at = data.find(b"PK\1\2")
    while at >= 0:
        n = struct.unpack_from("<H", data, at + 28)[0]
        if data[at + 46:at + 46 + n] == name.encode():
            return at
        at = data.find(b"PK\1\2", at + 4)
    raise KeyError(name)


def local(data, name):
    return struct.unpack_from("<I", data, central(data, name) + 42)[0]


SHEET = "xl/worksheets/sheet1.xml"


def wrong_crc():
    data = zipped(parts(GOOD))
    struct.pack_into("<I", data, central(data, SHEET) + 16, 1)
    return data


def overlapping():
    data = zipped(parts(GOOD))
    struct.pack_into("<I", data, central(data, "xl/workbook.xml") + 42, local(data, SHEET))
    return data


def nested_bomb():
    """One piece of packed data that several parts share, as the well-known archive bombs do."""
    data = zipped(parts(GOOD, strings="<si><t>x</t></si>"))
    struct.pack_into("<I", data, central(data, "xl/sharedStrings.xml") + 20, 1 << 20)
    return data


def twice():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, content in parts(GOOD).items():
            z.writestr(name, content)
        z.writestr("XL/Workbook.xml", "x")
    return out.getvalue()


def named(name):
    entries = parts(GOOD)
    entries[name] = "x"
    return zipped(entries)


def cut(k):
    data = zipped(parts(GOOD))
    return data[:int(len(data) * k)]


def encrypted_part():
    data = zipped(parts(GOOD))
    struct.pack_into("<H", data, central(data, SHEET) + 8, 1)
    return data


def other_method():
    out = io.BytesIO()
    pack(out, parts(GOOD), zipfile.ZIP_BZIP2)
    return out.getvalue()


@functools.cache
def bomb(mebibytes):
    return zipped(parts(HEAD + row(2, text("A2", "x")) + " " * (mebibytes << 20)))


def lying_bomb():
    """The header says that the part is small."""
    data = bytearray(bomb(600))
    struct.pack_into("<I", data, central(data, SHEET) + 24, 1000)
    return data


def laughs(where):
    dtd = "<!DOCTYPE x [<!ENTITY a 'ha'>" + "".join(f"<!ENTITY {chr(98 + i)} '{'&' + chr(97 + i) + ';'} {'&' + chr(97 + i) + ';'}'>" for i in range(20)) + "]>"
    entries = parts(GOOD, strings="<si><t>x</t></si>")
    entries[where] = f'<?xml version="1.0"?>{dtd}<x>&u;</x>'
    return zipped(entries)


def markup(text):
    """Something before the rows that a parser which is fed by blocks has to look at again with each of them."""
    entries = parts(GOOD)
    entries[SHEET] = entries[SHEET].replace("<sheetData>", text + "<sheetData>", 1)
    return zipped(entries)


def noise(mebibytes):
    import random
    return random.Random(1).randbytes(mebibytes << 19).hex()


def quadratic_entity():
    return zipped({**parts(GOOD), SHEET: '<!DOCTYPE x [<!ENTITY a "' + "a" * 50000 + '">]><x>' + "&a;" * 20000 + "</x>"})


def outside_entity(declared):
    return zipped({**parts(GOOD), SHEET: f"<!DOCTYPE x [{declared}]><x>&a;</x>"})


def external():
    entries = parts(GOOD)
    entries["xl/_rels/workbook.xml.rels"] = relations(("r1", DOC_REL + "/worksheet", "file:///etc/passwd", ' TargetMode="External"'))
    return zipped(entries)


def climbing():
    entries = parts(GOOD)
    entries["xl/_rels/workbook.xml.rels"] = relations(("r1", DOC_REL + "/worksheet", "../../../etc/passwd", ""))
    return zipped(entries)


def many_entries():
    entries = parts(GOOD)
    entries.update({f"x/{i}": "" for i in range(2000)})
    return zipped(entries)


def many_strings():
    return zipped(parts(GOOD, strings="<si><t>x</t></si>" * 2000001))


def huge_strings():
    return zipped(parts(GOOD, strings=("<si><t>" + "".join(chr(97 + i % 26) * 37 + str(i) for i in range(24000)) + "</t></si>") * 300))


def fuzzed(seed):
    import random
    random.seed(seed)
    data = zipped(parts(GOOD, strings="<si><t>x</t></si>", styles='<cellXfs><xf numFmtId="14"/></cellXfs>'))
    for _ in range(random.randrange(1, 6)):
        data[random.randrange(len(data))] = random.randrange(256)
    return data


X, C = "file.xlsx_invalid", "file.too_complex"
HOSTILE = {
    "wrong_crc": (wrong_crc, X), "overlapping": (overlapping, X), "nested_bomb": (nested_bomb, X), "twice": (twice, X),
    "climbing_name": (lambda: named("../../etc/cron.d/x"), X), "absolute_name": (lambda: named("/etc/x"), X),
    "backslash_name": (lambda: named("xl\\x"), X), "drive_name": (lambda: named("c:x"), X),
    "cut_half": (lambda: cut(0.5), X), "cut_end": (lambda: cut(0.98), X), "only_magic": (lambda: b"PK\3\4", X),
    "empty_archive": (lambda: b"PK\5\6" + b"\0" * 18, X), "encrypted_part": (encrypted_part, "file.encrypted"), "other_method": (other_method, X),
    "bomb_ratio": (lambda: bomb(40), C), "bomb_size": (lambda: bomb(600), C), "lying_bomb": (lying_bomb, C),
    "laughs_sheet": (lambda: laughs(SHEET), X), "laughs_strings": (lambda: laughs("xl/sharedStrings.xml"), X),
    "laughs_workbook": (lambda: laughs("xl/workbook.xml"), X), "laughs_relations": (lambda: laughs("_rels/.rels"), X),
    "quadratic_entity": (quadratic_entity, X), "outside_entity": (lambda: outside_entity('<!ENTITY a SYSTEM "file:///etc/passwd">'), X),
    "parameter_entity": (lambda: outside_entity('<!ENTITY % b SYSTEM "http://127.0.0.1/b"> %b;'), X),
    "long_comment": (lambda: markup(f"<!--{noise(2)}-->"), C), "long_attribute": (lambda: markup(f'<x a="{noise(4)}"/>'), C),
    "long_instruction": (lambda: markup(f"<?x {noise(2)}?>"), C), "same_attribute": (lambda: markup('<x a="1" a="1"/>'), X),
    "many_attributes": (lambda: markup("<x " + " ".join(f'a{i}="1"' for i in range(200000)) + "/>"), C),
    "external": (external, X), "climbing_target": (climbing, X), "many_entries": (many_entries, C), "many_strings": (many_strings, C),
    "huge_strings": (huge_strings, C),
    "deep": (lambda: zipped(parts(HEAD + row(2, "<c><is>" + "<r>" * 100 + "</r>" * 100 + "</is></c>"))), C),
    "wide": (lambda: zipped(parts(HEAD + row(2, '<c r="XFD2"><v>1</v></c>'))), C),
    "long_cell": (lambda: zipped(parts(HEAD + row(2, text("A2", "".join(chr(97 + i % 26) + str(i) for i in range(200000)))))), C),
    "rows_backwards": (lambda: zipped(parts(HEAD + row(5, text("A5", "x")) + row(4, text("A4", "x")))), X),
    "row_too_large": (lambda: zipped(parts(HEAD + row(1048577, "<c><v>1</v></c>"))), X),
    "no_such_column": (lambda: zipped(parts(HEAD + row(2, '<c r="ZZZ2"><v>1</v></c>'))), X),
    "cells_backwards": (lambda: zipped(parts(HEAD + row(2, text("B2", "x"), text("A2", "y")))), X),
    "string_missing": (lambda: zipped(parts(HEAD + row(2, '<c r="A2" t="s"><v>7</v></c>'))), X),
    "broken_xml": (lambda: zipped(parts(HEAD + "<row><c>")), X),
    "no_sheet": (lambda: zipped({k: v for k, v in parts(GOOD).items() if k != SHEET}), X),
    "no_relations": (lambda: zipped({k: v for k, v in parts(GOOD).items() if k != "_rels/.rels"}), X),
    "a_document": (lambda: zipped({**parts(GOOD), "xl/workbook.xml": "<document/>"}), X),
    "binary_workbook": (lambda: zipped({**parts(GOOD), "_rels/.rels": relations(("r1", DOC_REL + "/officeDocument", "xl/workbook.bin", ""))}), "file.unsupported_type"),
    "merges": (lambda: zipped(parts(f'<worksheet xmlns="{NS}"><sheetData>{HEAD}</sheetData><mergeCells>' + '<mergeCell ref="A1:XFD1048576"/>' * 65537 +
                                    "</mergeCells></worksheet>")), C),
    "no_rows": (lambda: zipped(parts(HEAD)), "batch.data_empty"), "nothing": (lambda: zipped(parts("")), "batch.data_empty"),
    "bad_utf8": (lambda: zipped({**parts(GOOD), SHEET: b"<worksheet><sheetData><row><c t='inlineStr'><is><t>\xff\xfe</t></is></c></row></sheetData></worksheet>"}), X),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(tmp_path, name):
    make, code = HOSTILE[name]
    path = tmp_path / "x.xlsx"
    path.write_bytes(make())
    got = read_sheet(path)
    assert got.problem == code, got.end
    assert got.end["message"] and "\n" not in got.end["message"]


@pytest.mark.parametrize("round", range(10))
def test_fuzzed(tmp_path, round):
    """Whatever happens to the bytes: rows, or a refusal."""
    for seed in range(20):
        path = tmp_path / "x.xlsx"
        path.write_bytes(fuzzed(100 * round + seed))
        got = read_sheet(path)
        assert got.problem in (None, X, C, "file.encrypted", "file.unsupported_type", "batch.data_empty", "file.csv_syntax"), (seed, got.end)


def test_the_deflated_bomb_is_small():
    assert len(bomb(600)) < 1 << 20 and zlib.crc32(b"") == 0
