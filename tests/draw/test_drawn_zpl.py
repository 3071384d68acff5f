"""What ZPL a label becomes, as an independent renderer of the language shows it (npm zpl-renderer-js): 05 section 9.7."""
import re
import tempfile
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from drawing import PNG, ZPL, draw, draw_many, run

RENDER = Path(__file__).resolve().parent / "zpl" / "render.js"
DOTS = {203: 8, 300: 12, 600: 24}  # to a millimetre, as the renderer counts; the page is that many dots, whatever it calls them
CODE = {"type": "code128", "x": 24, "y": 80, "width": 240, "height": 60, "value": "WHRF-0001"}
QR = {"type": "qr", "x": 24, "y": 160, "size": 80, "value": "https://example.com/1"}
LABEL = [{"type": "text", "x": 20, "y": 20, "height": 24, "font_weight": "bold", "value": "Grüße an Ada"}, {"type": "text", "x": 20, "y": 54, "height": 8, "value": "small print, مرحبا, 標籤"},
         CODE, QR, {"type": "matrix", "x": 160, "y": 160, "size": 80, "value": "DM"}, {"type": "barcode", "symbology": "pdf417", "x": 24, "y": 290, "width": 240, "value": "PDF 417"},
         {"type": "rect", "x": 10, "y": 350, "width": 268, "height": 20, "fill": "#000000"}, {"type": "line", "x": 0, "y": 380, "width": 288, "thickness": 0.5},
         {"type": "ellipse", "x": 200, "y": 385, "width": 60, "height": 40, "stroke": "#000000"}, {"type": "text", "x": 280, "y": 100, "rotate": 90, "value": "turned"},
         {"type": "svg", "x": 20, "y": 385, "width": 60, "height": 40, "value": "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 6 4'><path d='M0 0L6 0L3 4Z'/></svg>"}]


def shown(made, dpi, points=(288, 432)):
    """Pictures of the labels, one for each."""
    folder = Path(tempfile.mkdtemp(dir=made.path.parent))
    sides = [n * dpi / 72 / DOTS[dpi] for n in points]
    (folder / "labels.zpl").write_bytes(made.bytes)
    run("node", RENDER, folder / "labels.zpl", DOTS[dpi], *sides, folder / "label")
    return sorted(folder.glob("label.*.png"))


def dark(path):
    """The dots that a printer would burn."""
    with Image.open(path) as picture:
        return picture.convert("L").point(lambda v: 255 if v < 128 else 0, "1")


def read(path):
    """What zbar reads of Code 128 and QR codes."""
    return set(run("zbarimg", "-q", "--raw", "--nodbus", path, good=(0, 4)).stdout.splitlines())


@pytest.mark.parametrize("dpi", [203, 300, 600])
def test_the_same_dots_as_the_picture(tmp_path, dpi):
    zpl = draw(tmp_path, LABEL, ZPL, snap_barcodes=dpi)
    assert zpl.ended == "ok" and zpl.report["elements_rendered"] == len(LABEL), zpl.report
    png = draw(tmp_path, LABEL, PNG, snap_barcodes=dpi, dpi=dpi)
    wide, high = (round(n * dpi / 72) for n in (288, 432))
    assert re.search(rb"\^PW(\d+)\n\^LL(\d+)\n", zpl.bytes).groups() == (b"%d" % wide, b"%d" % high)
    one, = shown(zpl, dpi)
    printed, drawn = dark(one), dark(png.path)
    assert printed.size == drawn.size == (wide, high) and drawn.histogram()[255] > 1000
    other = ImageChops.logical_xor(printed, drawn).histogram()[255]
    assert other <= 0.005 * wide * high, f"{other} of {wide * high} dots are other ones"


def test_a_label_for_each_record(tmp_path):
    request = {"body": {"size": "label_2x1", "raw": [{**CODE, "x": 20, "y": 10, "width": 110, "height": 40, "value": "{{n}}"}]}, "records": [{"n": f"REC-{i}"} for i in range(3)]}
    made = draw_many(tmp_path, request, ZPL)[0]
    assert [read(p) for p in shown(made, 203, (144, 72))] == [{"REC-0"}, {"REC-1"}, {"REC-2"}]


def native(tmp_path, *raw, dpi=203, **more):
    made = draw(tmp_path, list(raw), ZPL, snap_barcodes=dpi, zpl_native=True, **more)
    assert made.ended == "ok" and made.report["elements_rendered"] == len(raw), made.report
    return made, re.findall(rb"\^B([CQ])N", made.bytes)


@pytest.mark.parametrize("dpi", [203, 300])
def test_native_codes(tmp_path, dpi):
    """With zpl_native the printer makes Code 128 and QR codes: they are read the same, at the same place and of the same size; the rest stays dots."""
    made, commands = native(tmp_path, *LABEL, dpi=dpi)
    assert commands == [b"C", b"Q"]
    one, = shown(made, dpi)
    assert read(one) == {"WHRF-0001", "https://example.com/1"}
    dots, = shown(draw(tmp_path, LABEL, ZPL, snap_barcodes=dpi), dpi)
    for element in (CODE, QR):
        x, y, wide, high = (element.get(k, element.get("size")) * dpi / 72 for k in ("x", "y", "width", "height"))
        around = tuple(round(v) for v in (x - 6, y - 6, x + wide + 6, y + high + 6))
        boxes = [dark(p).crop(around).getbbox() for p in (one, dots)]
        assert all(abs(a - b) <= 1 for a, b in zip(*boxes, strict=True)), (element["type"], boxes)


@pytest.mark.parametrize("change", [{"rotate": 90}, {"opacity": 0.5}, {"color": "#333333"}, {"value": "a^XZb"}, {"value": "tilde~JA"}, {"value": "up>down"}, {"value": "under_score"}, {"value": "Größe"}, {"value": "tab\there"},
                                    {"type": "barcode", "symbology": "code39", "value": "CODE-39"}])
@pytest.mark.parametrize("element", [CODE, QR], ids=["code128", "qr"])
def test_what_is_dots_also_with_native_codes(tmp_path, element, change):
    """What the printer would show in another way, and what a value could make the printer do."""
    placed = {**element, **change, "x": 200 if "rotate" in change else 24, "y": 60}
    if placed["type"] == "barcode":
        placed.setdefault("width", 200)
    made, commands = native(tmp_path, placed, {"type": "text", "x": 20, "y": 400, "value": "There"})
    assert commands == [] and made.bytes.count(b"^XA") == made.bytes.count(b"^XZ") == 1 and b"~JA" not in made.bytes


def test_the_usual_level_of_a_code(tmp_path):
    """A level that a variable leaves empty is M, as in dots."""
    made, commands = native(tmp_path, {**QR, "ecc": "{{level}}"}, data={"level": ""})
    assert commands == [b"Q"] and b"^FDMA,https" in made.bytes and b"\0" not in made.bytes


def test_modules_that_are_too_large(tmp_path):
    """The language has modules of at most 10 dots."""
    assert native(tmp_path, {**QR, "x": 20, "y": 60, "size": 240})[1] == [] and native(tmp_path, {**QR, "size": 80}, dpi=300)[1] == [b"Q"]


def test_values_that_end_well(tmp_path):
    """Signs that mean something to other commands are of the value."""
    for value in ("A,B:C;D", "100% \"x\" & <y", "  spaced  ", "0123456789", "$/+.-", "{[(!?*#@=|`')]}"):
        made, commands = native(tmp_path, {**CODE, "width": 250, "x": 20, "value": value}, {**QR, "value": value})
        assert commands == [b"C", b"Q"]
        one, = shown(made, 203)
        assert {v.strip() for v in read(one)} == {value.strip()}, value
