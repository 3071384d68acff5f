"""What a definition, an image or a font does that means harm: it ends, with an error that says why (05 section 16, 13)."""
import base64
import io
import struct
import zlib

import pytest
from PIL import Image

from drawing import NOW, PDF, PNG, TOO_COMPLEX, draw, draw_many

OTHER = {"type": "text", "x": 5, "y": 300, "value": "other"}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, color, rows):
    """A PNG file of these sides, whose packed bytes are those of `rows`."""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)) + chunk(
        b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def b64(data):
    return base64.b64encode(data).decode()


def image(form):
    """A file of 64 by 64 dots that can't be packed much."""
    out = io.BytesIO()
    Image.frombytes("RGB", (64, 64), bytes((x * x * 7 + x * 13) % 251 for x in range(64 * 64 * 3))).save(out, form)
    return out.getvalue()


SMALL_PNG = png(1, 1, 8, 2, b"\0\1\2\3")


def svg(inside, head=""):
    return {"type": "svg", "x": 5, "y": 5, "width": 50, "height": 50, "value": f'{head}<svg xmlns="http://www.w3.org/2000/svg" '
            f'xmlns:xlink="http://www.w3.org/1999/xlink" width="50" height="50">{inside}</svg>'}


@pytest.mark.parametrize("inside", ['<image xlink:href="file:///etc/passwd" width="50" height="50"/>', '<image xlink:href="http://127.0.0.1:1/x.png" width="5" height="5"/>',
                                    '<use xlink:href="file:///etc/passwd#a"/>', '<style>@import url("file:///etc/passwd");</style>',
                                    '<script>while(1);</script>', '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd"/>'])
def test_svg_reads_nothing_from_outside(tmp_path, inside):
    made = draw(tmp_path, [svg(inside + '<rect width="9" height="9"/>'), OTHER]).check()
    assert made.report["elements_rendered"] >= 1 and b"root:" not in made.bytes


def test_entities_are_refused(tmp_path):
    bomb = '<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa">' + "".join(f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(9)) + "]>"
    made = draw(tmp_path, [svg("<text>&j;</text>", bomb), OTHER]).check()
    assert made.codes() == [("raw.0", "svg.invalid")]


@pytest.mark.parametrize("inside", ["<g>" * 50000 + "</g>" * 50000, '<g id="a"><use xlink:href="#a"/></g>',
                                    "<defs>" + "".join(f'<g id="g{i}">' + f'<use xlink:href="#g{i + 1}"/>' * 10 + "</g>" for i in range(10)) +
                                    '<rect id="g10" width="1" height="1"/></defs><use xlink:href="#g0"/>',
                                    '<filter id="f"><feGaussianBlur stdDeviation="900"/><feTurbulence/></filter><rect width="50" height="50" filter="url(#f)"/>',
                                    '<rect width="1e30" height="1e30" stroke-width="1e30" stroke="red"/>',
                                    '<pattern id="p" width=".005" height=".005" patternUnits="userSpaceOnUse"><rect width=".002" height=".002"/></pattern>' +
                                    '<rect width="50" height="50" fill="url(#p)"/>' * 50], ids=["deep", "itself", "often", "filters", "numbers", "pattern"])
@pytest.mark.parametrize("form", [PDF, PNG])
def test_svg_that_grows_ends(tmp_path, inside, form):
    made = draw(tmp_path, [svg(inside), OTHER], form=form)
    assert made.ended in ("ok", "deadline", "memory"), (made.ended, made.reason)
    assert made.ended != "ok" or made.report["elements_rendered"] >= 1




SLOW_PAINT = '<filter id="f">' + '<feTurbulence numOctaves="10" baseFrequency="0.7"/>' * 400 + '</filter><rect width="50" height="50" filter="url(#f)"/>'
SLOW_TO_READ = "<style>" + "".join(f"g g g g g rect[a{i}] {{ fill: red }} " for i in range(20000)) + "</style>" + "<g>" * 30 + "<rect/>" * 100000 + "</g>" * 30


@pytest.mark.parametrize("inside,times", [(SLOW_PAINT, 2), (SLOW_TO_READ, 1)], ids=["paint", "read"])
def test_an_svg_that_takes_long_fails_alone(tmp_path, inside, times):
    page = {"now": NOW, "body": {"size": "4x6", "raw": [{**svg(inside), "width": 200, "height": 200}, svg('<rect width="9" height="9"/>'), OTHER]}}
    for made in draw_many(tmp_path, page, times=times):  # the thread that is still at it harms no other drawing
        assert made.check().codes() == [("raw.0", "element.timeout")]
        assert made.report["elements_rendered"] == 2


@pytest.mark.parametrize("width,height", [(40000, 40000), (7000, 6000), (2 ** 31 - 1, 1)])
def test_a_png_that_says_it_is_huge(tmp_path, width, height):
    data = png(width, height, 8, 2, b"\0" * 100000)
    made = draw(tmp_path, [{"type": "image", "x": 5, "y": 5, "width": 50, "value": b64(data)}, OTHER]).check()
    assert [c for _, c in made.codes()][0] in ("image.too_large", "image.decode")


def huge(color):
    """40 million pixels in a file of 40 KB."""
    return b64(png(8000, 5000, 1, 0, (b"\0" + bytes([color]) * 1000) * 5000))


@pytest.mark.parametrize("form", [PDF, PNG])
def test_pictures_of_40_megapixels_one_after_the_other(tmp_path, form):
    many = [{"type": "image", "x": 5, "y": 40 * i, "width": 50, "value": huge(85 + i)} for i in range(4)]
    made = draw(tmp_path, many + [OTHER], form=form)
    assert (made.ended, made.codes(), made.report["elements_rendered"]) == ("ok", [], 5)


def test_pictures_that_are_too_much_together(tmp_path):
    many = [{"type": "image", "x": 5, "y": 5, "width": 2000, "value": huge(85 + i)} for i in range(2)]
    made = draw(tmp_path, many + [OTHER], size="custom", width=2100, height=1300)
    assert (made.ended, made.verdict) == ("ok", 0), made.reason
    assert made.codes() == [("raw.1", "image.too_large")] and "together" in made.report["element_errors"][0]["message"]


@pytest.mark.parametrize("form,magic", [("GIF", b"GIF89a" + struct.pack("<HH", 65535, 65535)), ("WEBP", b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0" + bytes(4) + b"\xff" * 6)])
def test_other_files_that_say_they_are_huge(tmp_path, form, magic):
    made = draw(tmp_path, [{"type": "image", "x": 5, "y": 5, "width": 50, "value": b64(magic + bytes(60))}, OTHER]).check()
    assert [c for _, c in made.codes()][0] in ("image.too_large", "image.decode")


def test_a_png_that_unpacks_to_much(tmp_path):
    data = png(6000, 6000, 8, 6, (b"\0" + b"\1" * 24000) * 6000)
    made = draw(tmp_path, [{"type": "image", "x": 5, "y": 5, "width": 50, "value": b64(data)}, OTHER]).check()
    assert made.codes() == [] and made.report["elements_rendered"] == 2


def test_a_picture_that_is_damaged_behind_its_head(tmp_path):
    whole = [(f, image(f)) for f in ("PNG", "GIF", "WEBP", "JPEG")]
    raw = [{"type": "image", "x": 5, "y": 60 * i, "width": 50, "grayscale": True, "value": b64(data[:len(data) // 2])} for i, (_, data) in enumerate(whole)]
    made = draw(tmp_path, raw + [OTHER]).check()
    assert {c for _, c in made.codes()} == {"image.decode"} and made.report["elements_rendered"] >= 1


def test_groups_in_groups(tmp_path):
    element = {"type": "text", "x": 1, "y": 1, "value": "deep"}
    for _ in range(20):
        element = {"type": "group", "x": 1, "y": 1, "children": [element]}
    assert "deep" in draw(tmp_path, [element]).check().text()


def test_many_elements(tmp_path):
    made = draw(tmp_path, [{"type": "rect", "x": 10, "y": 10, "width": 5, "height": 5, "repeat": {"each": "list", "dx": 1, "dy": 1, "per_row": 100}}],
                data={"list": list(range(20000 - 1))})
    assert made.ended == "ok" and made.report["elements_total"] == 19999


def test_repeats_in_repeats(tmp_path):
    inner = {"type": "text", "x": 1, "y": 1, "value": "a", "repeat": {"each": "list"}}
    made = draw(tmp_path, [{"type": "group", "x": 1, "y": 1, "repeat": {"each": "list"}, "children": [inner]}], data={"list": list(range(1000))})
    assert made.verdict == TOO_COMPLEX


def test_a_table_for_each_row_of_a_table(tmp_path):
    inner = {"type": "table", "rows": "list", "columns": [{"value": "{{row}}"}]}
    made = draw(tmp_path, [{"type": "table", "x": 5, "y": 5, "rows": "list", "columns": [{"element": inner}]}], data={"list": list(range(9000))}, limit=2500)
    assert made.ended == "deadline" or made.verdict == TOO_COMPLEX and made.reason in ("it takes too much time", "it takes too much memory")


def test_a_repeat_whose_list_is_made_of_itself(tmp_path):
    """A condition that looks through a long list for each of many elements counts what it looks at."""
    made = draw(tmp_path, [{"type": "rect", "x": 1, "y": 1, "width": 1, "height": 1, "if": " || ".join(["'x' in list"] * 900),
                            "repeat": {"each": "list"}}, OTHER], data={"list": list(range(2000))})
    assert made.ended == "ok" and made.report["elements_rendered"] == 1
    assert {c for _, c in made.codes()} == {"expression.invalid"}


def test_a_picture_of_too_many_dots(tmp_path):
    made = draw(tmp_path, [OTHER], form=PNG, size="custom", width=14400, height=14400, dpi=1200)
    assert made.verdict == TOO_COMPLEX and "pixels" in made.reason


def test_a_barcode_of_a_long_text(tmp_path):
    made = draw(tmp_path, [{"type": kind, "x": 5, "y": 5, "width": 200, "size": 200, "height": 100, "value": "x" * 100000} for kind in ("qr", "code128", "matrix")] + [OTHER]).check()
    assert {c for _, c in made.codes()} == {"barcode.invalid_data"}


def test_odd_numbers(tmp_path):
    made = draw(tmp_path, [{"type": "rect", "x": 1e300, "y": -1e300, "width": "{{ 1 / 0 }}", "height": "nan", "fill": "#000"},
                           {"type": "line", "x": 0, "y": 0, "x2": 14400, "y2": 14400, "dash": [0, 0], "thickness": 1e9},
                           {"type": "text", "x": 1, "y": 1, "value": "a", "letter_spacing": -100, "line_height": 99, "width": 0, "rotate": 1e6}, OTHER])
    assert made.ended == "ok"


@pytest.mark.parametrize("form", [PDF, PNG])
def test_sizes_of_nothing_break_no_page(tmp_path, form):
    drawing = svg("").pop("value").replace('width="50" height="50"', 'viewBox="0 0 1e-300 1e-300"')
    small = {"x": 5, "y": 5, "width": 1e-300, "height": 1e-300}
    made = draw(tmp_path, [{"type": "ellipse", **small}, {"type": "svg", **small, "value": drawing}, {"type": "svg", "x": 5, "y": 5, "value": drawing},
                           {"type": "image", **small, "value": b64(SMALL_PNG)}, {"type": "rect", **small},
                           {"type": "path", "x": 5, "y": 5, "d": "M0 0 A1e-300 1e-300 0 0 1 5 5"},
                           {"type": "text", "x": 5, "y": 5, "value": "far", "letter_spacing": 1e6}, OTHER], form=form)
    assert made.ended == "ok" and made.verdict == 0, made.reason
    assert made.codes() == [("raw.0", "expression.invalid"), ("raw.1", "svg.invalid"), ("raw.2", "svg.invalid"), ("raw.3", "image.decode")]


def test_a_page_that_is_too_wide_for_a_picture(tmp_path):
    made = draw(tmp_path, [OTHER], form=PNG, size="custom", width=14400, height=72, dpi=203)
    assert made.verdict == TOO_COMPLEX and "32,000 pixels" in made.reason


def test_elements_that_are_far_below(tmp_path):
    made = draw(tmp_path, [{"type": "text", "x": 1, "y": 1, "value": "a", "repeat": {"each": "list", "dy": 1e6}}], data={"list": list(range(9000))})
    assert made.verdict == TOO_COMPLEX and "500 pages" in made.reason
