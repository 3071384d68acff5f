"""Every symbology is read back from pictures of the page at 203, 300 and 600 dpi (05 section 9.6)."""
import re
from pathlib import Path

import pytest
from PIL import Image, ImageOps

from drawing import READERS, draw, read_codes, run

# name, value, what a reader says
READ = [("code128", "Wharf-128 a", None), ("gs1_128", "(01)09501101530003(10)AB-1", {"010950110153000310AB-1", "(01)09501101530003(10)AB-1"}),
        ("code39", "CODE-39", None), ("code93", "CODE-93", None), ("codabar", "A12345B", {"A12345B", "12345"}), ("itf", "12345678", None),
        ("itf14", "1540014128876", {"15400141288763"}), ("ean13", "400638133393", {"4006381333931"}), ("ean8", "9638507", {"96385074"}),
        ("upca", "03600029145", {"036000291452", "0036000291452"}), ("upce", "0123456", {"01234565", "0012345000065"}),
        ("isbn", "978-3-16-148410-0", {"9783161484100"}), ("qr", "https://x.example/ä", None), ("datamatrix", "Matrix 1", None),
        ("gs1_datamatrix", "(01)09501101530003(10)AB-1", {"010950110153000310AB-1", "(01)09501101530003(10)AB-1"}),
        ("pdf417", "PDF 417 text", None), ("aztec", "Aztec text", None), ("databar", "0950110153000", {"09501101530003", "(01)09501101530003", "0109501101530003"}),
        ("databar_expanded", "(01)09501101530003(10)AB-1", {"010950110153000310AB-1", "(01)09501101530003(10)AB-1"}),
        ("sscc18", "10614141192837465", {"00106141411928374657", "(00)106141411928374657"}), ("ean14", "1540014128876", {"0115400141288763", "(01)15400141288763"}),
        ("maxicode", "Maxi text", None)]
# Kinds that neither zbar 0.23 nor zxing-cpp 1.4 reads, and Debian has no other reader; what is drawn is compared with what the program zint
# draws, module by module: name, value, zint's number of the kind and its options. The module is taken from the middle of where it should be.
UNREAD = [("msi", "123456", 47), ("pharmacode", "131070", 51), ("postnet", "12345", 40), ("usps_imb", "01234567094987654321-01234567891", 85),
          ("royal_mail", "LE28HS9Z", 70), ("kix", "2500GG30250", 90), ("dpd", "%000393206219912345678101040", 96), ("japanpost", "15400233-16-4-205", 76),
          ("auspost", "96184209", 63), ("microqr", "1234", 97), ("rmqr", "123456", 145, "--secure=2"), ("micropdf417", "micro", 84), ("dotcode", "dots", 115),
          ("telepen", "telepen", 32), ("plessey", "C64", 86)]
FORMATS = {"aztec": "Aztec", "datamatrix": "DataMatrix", "gs1_datamatrix": "DataMatrix", "pdf417": "PDF417", "maxicode": "MaxiCode", "codabar": "Codabar,Code39,Code93",
           "code39": "Codabar,Code39,Code93", "code93": "Codabar,Code39,Code93", "databar": "DataBar,DataBarExpanded", "databar_expanded": "DataBar,DataBarExpanded"}
DENSITIES = [203, 300, 600]


def test_every_symbology_is_here():
    """The table of the cell has the kinds of these two lists, and no others."""
    table = (Path(__file__).parents[2] / "cells" / "draw" / "draw_code.c").read_text()
    assert sorted(re.findall(r'{"(\w+)", BARCODE_', table)) == sorted(r[0] for r in READ + UNREAD)


def box(name):
    if name in ("qr", "datamatrix", "gs1_datamatrix", "aztec", "maxicode", "microqr", "rmqr", "dotcode"):
        return {"width": 110, "height": 110}
    return {"width": 240, "height": 70}


@pytest.mark.parametrize("dpi", DENSITIES)
@pytest.mark.parametrize("name,value,says", READ, ids=[r[0] for r in READ])
def test_it_is_read_back(tmp_path, name, value, says, dpi):
    made = draw(tmp_path, [{"type": "barcode", "symbology": name, "x": 24, "y": 40, "value": value, "snap": 1, **box(name)}], snap_barcodes=dpi).check()
    assert made.report["elements_rendered"] == 1, made.report
    assert read_codes(made.picture(dpi), [FORMATS.get(name, READERS[-1])]) & (says or {value})


def modules_of(number, value, options):
    """The modules that zint has for a value: rows of 0 and 1, without what is white around them."""
    lines = run("zint", "-b", number, "-d", value, *options, "--dump").stdout.split("\n")
    rows = ["".join(f"{int(digit, 16):04b}" for digit in line.replace(" ", "")) for line in lines if line]
    dark = [x for row in rows for x, module in enumerate(row) if module == "1"]
    return [row[min(dark):max(dark) + 1] for row in rows]


def modules_in(picture, name, columns, rows):
    """What a picture has where the middles of the modules must be."""
    page = Image.open(picture).convert("L")
    left, top, right, bottom = ImageOps.invert(page).point(lambda v: 255 if v > 127 else 0).getbbox()
    gap = 0.1 if name == "dotcode" else 0  # a dot is 0.8 modules wide
    wide, high = (right - left) / (columns - 2 * gap), (bottom - top) / (rows - 2 * gap)
    # bars of different heights: one row has the tops, one the middles, one the feet
    middles = [0.05, 0.5, 0.95] if name in TALL and rows == 3 else [(r + 0.5 - gap) * high / (bottom - top) for r in range(rows)]
    return ["".join("1" if page.getpixel((int(left + (c + 0.5 - gap) * wide), int(top + middle * (bottom - top)))) < 128 else "0" for c in range(columns))
            for middle in middles]


TALL = ("usps_imb", "royal_mail", "kix", "japanpost", "auspost")


@pytest.mark.parametrize("dpi", DENSITIES)
@pytest.mark.parametrize("name,value,number,options", [(*r[:3], r[3:]) for r in UNREAD], ids=[r[0] for r in UNREAD])
def test_what_no_reader_knows_has_the_modules_of_zint(tmp_path, name, value, number, options, dpi):
    made = draw(tmp_path, [{"type": "barcode", "symbology": name, "x": 24, "y": 40, "value": value, **box(name)}], snap_barcodes=dpi).check()
    assert made.report["elements_rendered"] == 1, made.report
    expected = modules_of(number, value, options)
    assert modules_in(made.picture(dpi), name, len(expected[0]), len(expected)) == expected


@pytest.mark.parametrize("box", [{"width": 240}, {"module": 1.1}])
@pytest.mark.parametrize("name,value", [("pdf417", "PDF 417 text"), ("code128", "BARS-1"), ("databar_expanded", "(01)09501101530003"), ("qr", "QR-1"), ("micropdf417", "micro")])
def test_one_side_is_enough(tmp_path, name, value, box):
    """05 section 9.3: width or module; the height follows."""
    made = draw(tmp_path, [{"type": "barcode", "symbology": name, "x": 24, "y": 40, "value": value, **box}], snap_barcodes=300).check()
    assert made.report["elements_rendered"] == 1, made.report
    if name in ("pdf417", "code128", "qr"):
        assert value in read_codes(made.picture(300))


@pytest.mark.parametrize("dpi", DENSITIES)
def test_the_seed_s_kinds(tmp_path, dpi):
    made = draw(tmp_path, [{"type": "code128", "x": 24, "y": 20, "width": 240, "height": 60, "value": "SEED-1", "show_text": True},
                           {"type": "qr", "x": 24, "y": 110, "size": 100, "value": "SEED-2", "ecc": "H"},
                           {"type": "matrix", "x": 150, "y": 110, "size": 80, "value": "SEED-3"},
                           {"type": "matrix", "x": 24, "y": 240, "size": 80, "value": "(01)09501101530003", "gs1": True}]).check()
    assert {"SEED-1", "SEED-2"} <= read_codes(made.picture(dpi))
    assert "SEED-1" in made.text()
    for i, says in ((2, "SEED-3"), (3, "0109501101530003")):
        alone = draw(tmp_path, [[{"type": "matrix", "x": 60, "y": 60, "size": 80, "value": "SEED-3"}, {
            "type": "matrix", "x": 60, "y": 60, "size": 80, "value": "(01)09501101530003", "gs1": True}][i - 2]]).check()
        assert {says, "(01)09501101530003"} & read_codes(alone.picture(dpi))


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_turned_codes_are_read(tmp_path, turn):
    made = draw(tmp_path, [{"type": "code128", "x": 144, "y": 216, "width": 140, "height": 50, "value": "TURNED", "rotate": turn}], snap_barcodes=203).check()
    assert "TURNED" in read_codes(made.picture(203))


def test_modules_are_whole_dots(tmp_path):
    for dpi in DENSITIES:
        made = draw(tmp_path, [{"type": "code128", "x": 20.3, "y": 20.7, "width": 200, "height": 60, "value": "SNAP-12345"}], snap_barcodes=dpi).check()
        picture = Image.open(made.picture(dpi)).convert("L")
        line = [picture.getpixel((x, int(50 * dpi / 72))) for x in range(picture.width)]
        assert set(line) <= {0, 255}
        runs, last = [], 0
        for x in range(1, len(line)):
            if line[x] != line[x - 1]:
                runs.append(x - last)
                last = x
        module = min(runs[1:])
        assert all(r % module == 0 for r in runs[1:])


def test_small_modules_and_missing_room_are_warnings(tmp_path):
    made = draw(tmp_path, [{"type": "code128", "x": 30, "y": 20, "width": 40, "height": 60, "value": "MUCH-TOO-NARROW"},
                           {"type": "code128", "x": 2, "y": 120, "width": 200, "height": 60, "value": "EDGE"},
                           {"type": "code128", "x": 40, "y": 220, "width": 200, "height": 60, "value": "GOOD"}]).check()
    assert made.warned() == [("raw.0", "barcode.too_small"), ("raw.1", "barcode.too_small")]
    assert made.report["elements_rendered"] == 3
