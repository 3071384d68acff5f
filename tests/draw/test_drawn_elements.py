"""Elements on a page: where they stand, what is in the file, what is told of those that fail (05 sections 9.2, 9.3)."""
import base64
import io
import json
import re
import subprocess

import pytest
from PIL import Image

from drawing import NOW, PDF, PNG, REFUSED, SOURCES, TOO_COMPLEX, ZPL, draw, draw_many, run


def png(width=40, height=20, color=(255, 0, 0), mode="RGB", form="PNG", **more):
    out = io.BytesIO()
    Image.new(mode, (width, height), color).save(out, form, **more)
    return out.getvalue()


def b64(data):
    return base64.b64encode(data).decode()


def pixels(made, dpi=72, page=1):
    return Image.open(made.picture(dpi, page)).convert("RGB")


def test_text_stands_where_it_says(tmp_path):
    made = draw(tmp_path, [{"type": "text", "x": 20, "y": 30, "value": "Left", "height": 12},
                           {"type": "text", "x": 144, "y": 60, "value": "Middle", "height": 20, "align": "center"},
                           {"type": "text", "x": 280, "y": 100, "value": "Right", "align": "right", "font_family": "mono"}]).check()
    words = {w[0]: w[1:] for w in made.words()[0]}
    assert abs(words["Left"][0] - 20) < 1 and abs(words["Left"][1] - 30) < 1
    assert abs((words["Middle"][0] + words["Middle"][2]) / 2 - 144) < 1 and abs(words["Middle"][1] - 60) < 1
    assert abs(words["Right"][2] - 280) < 1 and abs(words["Right"][1] - 100) < 1
    assert made.report["elements_total"] == made.report["elements_rendered"] == 3
    assert (made.report["width"], made.report["height"], made.report["pages"]) == (288, 432, 1)


def test_text_wraps_is_cut_and_shrinks(tmp_path):
    long = "one two three four five six seven eight nine ten"
    made = draw(tmp_path, [{"type": "text", "x": 10, "y": 10, "value": long, "width": 80, "wrap": True, "line_height": 2},
                           {"type": "text", "x": 10, "y": 200, "value": long, "width": 80, "wrap": False, "ellipsis": True},
                           {"type": "text", "x": 10, "y": 250, "value": "large and wide", "height": 60, "width": 90, "shrink_to": 6}]).check()
    words = made.words()[0]
    tops = sorted({round(w[2]) for w in words if w[2] < 190})
    assert len(tops) >= 3 and all(abs(b - a - 24) <= 1 for a, b in zip(tops, tops[1:]))
    assert all(w[3] <= (91 if w[2] < 240 else 101) for w in words)
    assert len([w for w in words if 195 < w[2] < 220]) == 3  # what the dots stand for can still be copied
    dots = pixels(made)
    assert all(dots.getpixel((x, y)) == (255, 255, 255) for x in range(91, 200) for y in range(195, 220))
    assert {"large", "wide"} <= {w[0] for w in words}


def test_words_that_are_broken_get_no_hyphen(tmp_path):
    number = "SERIALNUMBERABCDEFGHIJKLMNOPQRSTUVWXYZ"
    made = draw(tmp_path, [{"type": "text", "x": 10, "y": 10, "value": number, "width": 60, "wrap": True},
                           {"type": "table", "x": 100, "y": 10, "width": 60, "rows": [1], "columns": [{"value": number}]}]).check()
    assert len(made.words()[0]) > 6 and "".join(w[0] for w in made.words()[0]).count("-") == 0


def test_letters_of_many_scripts_can_be_copied(tmp_path):
    texts = ["Ünïcödé ŁŻ", "Ελληνικά", "Кириллица"]
    made = draw(tmp_path, [{"type": "text", "x": 10, "y": 20 + 30 * i, "value": t} for i, t in enumerate(texts)]).check()
    for t in texts:
        assert t.split(" ")[0] in made.text()
    rtl = draw(tmp_path, [{"type": "text", "x": 10, "y": 20, "value": "שלום", "font_family": "sans"}]).check()
    assert set("שלום") <= set(rtl.text())
    missing = draw(tmp_path, [{"type": "text", "x": 10, "y": 20, "value": "\U00012000"}]).check()
    assert ("raw.0.value", "text.font_missing_glyph") in missing.warned()


def test_fonts_are_subsets_with_text_behind_them(tmp_path):
    made = draw(tmp_path, [{"type": "text", "x": 10, "y": 20, "value": "Hello", "font_weight": w, "italic": i}
                           for w in ("light", "regular", "medium", "semibold", "bold") for i in (False, True)]).check()
    lines = run("pdffonts", made.path).stdout.split("\n")[2:]
    assert len([x for x in lines if "Inter" in x]) == 10
    assert all(re.search(r"yes +yes +yes", x) for x in lines if x)
    assert made.bytes.startswith(b"%PDF-1.5")


def test_shapes_have_their_colors(tmp_path):
    made = draw(tmp_path, [{"type": "rect", "x": 10, "y": 10, "width": 40, "height": 40, "fill": "#f00"},
                           {"type": "ellipse", "x": 60, "y": 10, "width": 40, "height": 40, "fill": "#00ff00"},
                           {"type": "line", "x": 10, "y": 80, "x2": 110, "y2": 80, "thickness": 10, "color": "#0000FF"},
                           {"type": "line", "x": 10, "y": 100, "width": 50, "thickness": 4},
                           {"type": "line", "x": 150, "y": 100, "height": 50, "thickness": 4},
                           {"type": "path", "x": 200, "y": 10, "d": "M0 0 h40 v40 h-40 z", "fill": "#ff00ff"},
                           {"type": "rect", "x": 200, "y": 100, "width": 40, "height": 40, "fill": "#ff0000", "opacity": 0.5},
                           {"type": "rect", "x": 10, "y": 200, "width": 40, "height": 10, "fill": "#00ffff", "rotate": 90},
                           {"type": "group", "x": 100, "y": 200, "children": [
                               {"type": "rect", "x": 20, "y": 20, "width": 20, "height": 20, "fill": "#123456"}]}]).check()
    at = pixels(made).getpixel
    assert at((30, 30)) == (255, 0, 0) and at((80, 30)) == (0, 255, 0) and at((62, 12)) == (255, 255, 255)
    assert at((50, 80)) == (0, 0, 255) and at((30, 100)) == (0, 0, 0) and at((150, 120)) == (0, 0, 0)
    assert at((220, 30)) == (255, 0, 255) and abs(at((220, 120))[1] - 128) < 3
    assert at((5, 220)) == (0, 255, 255) and at((30, 205)) == (255, 255, 255)
    assert at((130, 230)) == (0x12, 0x34, 0x56)
    assert made.report["elements_total"] == 9


@pytest.mark.parametrize("form,data", [
    ("png", png()), ("png alpha", png(color=(255, 0, 0, 128), mode="RGBA")), ("gif", png(form="GIF")),
    ("webp", png(form="WEBP", lossless=True)), ("jpeg", png(form="JPEG", quality=100)), ("grey jpeg", png(mode="L", color=76, form="JPEG")),
    ("cmyk jpeg", png(mode="CMYK", color=(0, 255, 255, 0), form="JPEG")),
    ("svg", b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="#f00"/></svg>')], ids=lambda v: v if isinstance(v, str) else "")
def test_images_of_every_kind(tmp_path, form, data):
    uri = "data:image/svg+xml;base64," if form == "svg" else "data:image/png;base64,"
    made = draw(tmp_path, [{"type": "image", "x": 20, "y": 20, "width": 80, "height": 80, "value": b64(data)},
                           {"type": "image", "x": 120, "y": 20, "width": 80, "fit": "fill", "height": 80, "value": uri + b64(data)},
                           {"type": "image", "x": 20, "y": 120, "width": 80, "src": "https://x.example/a.png"}],
                blobs=[data], told={"images": {"raw.2": 0}}).check()
    assert made.report["element_errors"] == []
    picture = pixels(made)
    expected = {"png alpha": (255, 127, 127), "grey jpeg": (76, 76, 76)}.get(form, (255, 0, 0))
    for where in ((60, 60), (160, 30), (60, 140)):
        assert all(abs(a - b) < 8 for a, b in zip(picture.getpixel(where), expected)), (where, picture.getpixel(where))
    assert picture.getpixel((60, 25)) == (255, 255, 255)  # contain: it is 2 to 1
    assert picture.getpixel((60, 165)) == (255, 255, 255)  # its height follows from its width


def test_jpeg_bytes_stay_as_they_are(tmp_path):
    data = png(200, 100, form="JPEG", quality=80)
    made = draw(tmp_path, [{"type": "image", "x": 0, "y": 0, "width": 100, "value": b64(data)}]).check()
    assert data in made.bytes
    often = draw(tmp_path, [{"type": "image", "x": 0, "y": 60 * i, "width": 100, "value": b64(data)} for i in range(4)],
                 told={"records": [{}, {}, {}]}).check()
    assert often.bytes.count(data) == 1 and often.report["elements_rendered"] == 12


def test_pictures_have_no_more_pixels_than_the_density_shows(tmp_path):
    data = png(1000, 500)
    made = draw(tmp_path, [{"type": "image", "x": 0, "y": 0, "width": 72, "value": b64(data)}], dpi=100).check()
    widths = [int(line.split()[3]) for line in run("pdfimages", "-list", made.path).stdout.split("\n")[2:] if line]
    assert widths == [100]
    same = [{"type": "image", "x": 0, "y": 30 * i, "width": 36, "value": b64(data)} for i in range(5)]
    assert len(run("pdfimages", "-list", draw(tmp_path, same).check().path).stdout.split("\n")) >= 5
    assert draw(tmp_path, same).bytes.count(b"/Subtype /Image") == 1


def test_svg_stays_vectors(tmp_path):
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><circle cx="5" cy="5" r="5"/></svg>'
    made = draw(tmp_path, [{"type": "svg", "x": 10, "y": 10, "width": 50, "height": 50, "value": svg},
                           {"type": "image", "x": 100, "y": 10, "width": 50, "value": "data:image/svg+xml;utf8," + svg.replace("<", "%3C")}]).check()
    assert made.report["elements_rendered"] == 2 and "image" not in run("pdfimages", "-list", made.path).stdout.split("\n", 2)[2]


def test_a_broken_element_is_told_and_the_rest_is_drawn(tmp_path):
    raw = [{"type": "text", "x": 10, "y": 10 + 20 * i, "value": f"line{i}"} for i in range(9)]
    raw.insert(3, {"type": "image", "x": 10, "y": 300, "width": 6000, "height": 100, "value": "AAAA"})
    made = draw(tmp_path, raw).check()
    assert made.report["element_errors"] == [{"index": 3, "path": "raw.3", "type": "image", "code": "image.box_too_large",
                                              "message": "image box 6000 x 100 pt exceeds 5000 x 5000 pt"}]
    assert (made.report["elements_total"], made.report["elements_rendered"]) == (10, 9)
    assert made.text().count("line") == 9


def test_only_elements_of_raw_have_an_index(tmp_path):
    bad, good = {"type": "qr", "x": 5, "y": 0, "size": 10, "value": ""}, {"type": "text", "x": 5, "y": 5, "value": "a"}
    made = draw(tmp_path, [good, {"type": "group", "x": 0, "y": 0, "children": [good, bad]}], header={"height": 20, "raw": [good, good, bad]}, watermark=bad,
                told={"records": [{}, {}]}).check()
    assert [(e["path"], e["index"]) for e in made.report["element_errors"]] == [
        (f"{i}:{path}", index) for i in (0, 1) for path, index in (("watermark", None), ("raw.1.children.1", 1), ("header.raw.2", None))]


@pytest.mark.parametrize("element,code", [
    ({"type": "image", "width": 10, "value": "no base64!"}, "image.decode"),
    ({"type": "image", "width": 10, "value": b64(b"just text")}, "image.format"),
    ({"type": "image", "width": 10, "value": b64(png()[:60])}, "image.decode"),
    ({"type": "image", "width": 10, "value": b64(png(form="JPEG")[:100])}, "image.decode"),
    ({"type": "image", "width": 10, "value": b64(b"GIF89a\x05\0\x05\0")}, "image.decode"),
    ({"type": "image", "width": 10, "value": b64(png().ljust(10_000_001, b"\0"))}, "image.too_large"),
    ({"type": "svg", "width": 10, "value": "<svg"}, "svg.invalid"),
    ({"type": "svg", "width": 10, "value": "none"}, "svg.invalid"),
    ({"type": "text", "value": "{{ 1 + }}"}, "expression.invalid"),
    ({"type": "text", "value": "a", "color": "red"}, "expression.invalid"),
    ({"type": "text", "value": "a", "x": "{{ 'left' }}"}, "expression.invalid"),
    ({"type": "rect", "width": "{{ 10000000 }}", "height": 5}, "expression.invalid"),
    ({"type": "rect", "width": 5, "height": "{{ 'a' ~ 1 }}"}, "expression.invalid"),
    ({"type": "text", "value": "{{page}}", "height": "{{ page ~ ' pt' }}"}, "expression.invalid"),
    ({"type": "text", "value": "a", "x": 500}, "element.outside_page"),
    ({"type": "rect", "width": 5, "height": 5, "x": -6}, "element.outside_page"),
    ({"type": "qr", "size": 50, "value": ""}, "barcode.invalid_data"),
    ({"type": "barcode", "symbology": "ean13", "value": "4006381333932", "width": 100, "height": 30}, "barcode.invalid_data"),
    ({"type": "barcode", "symbology": "gs1_128", "value": "(01)09501101530004", "width": 100, "height": 30}, "barcode.invalid_data"),
    ({"type": "barcode", "symbology": "code128", "value": "long enough", "width": 20, "module": 1}, "barcode.does_not_fit")])
def test_codes_of_element_errors(tmp_path, element, code):
    made = draw(tmp_path, [{"x": 5, "y": 5, **element}, {"type": "text", "x": 5, "y": 100, "value": "other"}]).check()
    assert [c for _, c in made.codes()] == [code], made.report
    assert made.report["elements_rendered"] == 1


def test_an_image_of_10_mb(tmp_path):
    """Spec 05 section 9.3 [S]: the same limit for images that come in the request as for those that are fetched."""
    made = draw(tmp_path, [{"type": "image", "x": 5, "y": 5, "width": 10, "value": b64(png().ljust(10_000_000, b"\0"))}]).check()
    assert made.report["element_errors"] == []


def test_what_the_server_could_not_fetch_is_told(tmp_path):
    made = draw(tmp_path, [{"type": "image", "x": 5, "y": 5, "width": 10, "value": "https://x.example/a.png"}, {"type": "text", "x": 1, "y": 1, "value": "a"}],
                told={"image_errors": {"raw.0": {"code": "file.hostname", "message": "nothing is fetched from this host"}}}).check()
    assert made.report["element_errors"][0]["code"] == "file.hostname"


def test_images_are_found_wherever_they_stand(tmp_path):
    """In groups of cells, of the watermark and of bands; each row has its own."""
    def picture(name, **more):
        return {"type": "image", "width": 20, "height": 10, "value": name, **more}

    colors = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    urls = [f"https://x.example/{i}" for i in range(3)]
    raw = [{"type": "table", "x": 10, "y": 60, "width": 100, "border": "none", "padding": 0, "rows": "list", "columns": [
        {"element": {"type": "group", "children": [picture("{{row}}"), picture("{{row}}", x=40, **{"if": "i == 1"})]}}]}]
    places = {f"raw.0.columns.0.element#{i}.children.{k}": i for i in range(3) for k in (0, 1)} | {"watermark.children.0": 2, "header.raw.0": 1}
    made = draw(tmp_path, raw, blobs=[png(color=c) for c in colors], told={"images": places}, data={"list": urls},
                watermark={"type": "group", "x": 200, "y": 200, "children": [picture(urls[2])]}, header={"height": 20, "raw": [picture(urls[1], x=10, y=0)]}).check()
    assert made.report["element_errors"] == [], made.report
    at = pixels(made).getpixel
    assert [at((20, 65 + 12 * i)) for i in range(3)] == colors and at((60, 77)) == colors[1] and at((60, 65)) == (255, 255, 255)
    assert at((210, 205)) == colors[2] and at((20, 23)) == colors[1]


def test_nothing_drawn_is_no_file(tmp_path):
    made = draw(tmp_path, [{"type": "text", "x": 500, "y": 5, "value": "a"}])
    assert made.verdict == 0 and made.bytes == b"" and made.report["elements_rendered"] == 0


def test_sources_are_told_with_their_variables(tmp_path):
    made = draw(tmp_path, [{"type": "image", "x": 0, "y": 0, "value": "{{url}}"}, {"type": "image", "x": 0, "y": 0, "value": "AAAA"},
                           {"type": "image", "x": 0, "y": 0, "value": "https://x.example/{{item}}.png", "repeat": {"each": "list"}},
                           {"type": "group", "x": 0, "y": 0, "children": [{"type": "image", "document_id": "dcmt_{{url}}"}]},
                           {"type": "table", "x": 0, "y": 0, "rows": "list", "columns": [{"element": {"type": "image", "value": "https://t/{{row}}"}}]}],
                form=SOURCES, data={"url": "https://u", "list": ["a", "b"]})
    assert made.report == {"sources": {"raw.0": "https://u", "raw.2#0": "https://x.example/a.png", "raw.2#1": "https://x.example/b.png",
                                       "raw.3.children.0": "dcmt_https://u", "raw.4.columns.0.element#0": "https://t/a",
                                       "raw.4.columns.0.element#1": "https://t/b"}}


def test_sources_of_each_record_and_cell(tmp_path):
    """Each has a path of its own."""
    image = {"type": "image", "x": 0, "y": 0, "width": 9}
    made = draw(tmp_path, [{"type": "table", "x": 0, "y": 0, "rows": "list", "columns": [{"element": {"type": "group", "children": [{**image, "value": "https://{{row}}/{{n}}"}]}}]}],
                form=SOURCES, told={"records": [{"n": n, "list": ["a", "b"]} for n in (1, 2)]}, watermark={"type": "group", "x": 0, "y": 0, "children": [{**image, "value": "https://w/{{n}}"}]},
                header={"height": 20, "raw": [{**image, "value": "https://h/{{n}}"}]})
    assert made.report == {"sources": {path: url for i in (0, 1) for path, url in (
        (f"{i}:raw.0.columns.0.element#0.children.0", f"https://a/{i + 1}"), (f"{i}:raw.0.columns.0.element#1.children.0", f"https://b/{i + 1}"),
        (f"{i}:watermark.children.0", f"https://w/{i + 1}"), (f"{i}:header.raw.0", f"https://h/{i + 1}"))}}


def test_sources_that_are_too_much(tmp_path):
    """The report holds 4 MiB."""
    made = draw(tmp_path, [{"type": "image", "x": 0, "y": 0, "value": "https://x.example/{{item | pad:9000}}", "repeat": {"each": "list"}}], form=SOURCES, data={"list": list(range(600))})
    assert made.verdict == TOO_COMPLEX and "images" in made.reason, made.report


def test_variables_conditions_and_repeats(tmp_path):
    made = draw(tmp_path, [
        {"type": "text", "x": 10, "y": 10, "value": "No {{order.number}} of {{ order.lines | count }} {{ now | date:'D MMM YYYY' }}"},
        {"type": "text", "x": 10, "y": 30, "value": "hidden", "if": "order.number == 8"},
        {"type": "text", "x": 10, "y": 30, "value": "shown", "if": "order.lines && order.number == 7"},
        {"type": "text", "x": 10, "y": 100, "value": "{{i}}-{{item.sku}}", "repeat": {"each": "order.lines", "dx": 60, "dy": 20, "per_row": 2}},
        {"type": "text", "x": 10, "y": 200, "value": "{{organization.name}}{{nothing}}", "height": "{{size}}"},
        {"type": "text", "x": 10, "y": 300, "value": "no variables: \\{{x}}"}],
        data={"size": 14, "order": {"number": 7, "lines": [{"sku": "A"}, {"sku": "B"}, {"sku": "C"}]}},
        told={"context": {"organization": {"name": "Acme"}}}).check()
    words = {w[0]: w for w in made.words()[0]}
    assert "No 7 of 3 5 Jan 2026" in made.text() and "shown" in words and "hidden" not in words and "Acme" in words
    assert abs(words["1-B"][1] - 70) < 1.5 and abs(words["2-C"][2] - 120) < 1.5 and "{{x}}" in made.text()
    assert ("raw.4.value", "variable.missing") in made.warned()


def test_links_and_information(tmp_path):
    made = draw(tmp_path, [{"type": "text", "x": 10, "y": 10, "value": "here", "link": "https://x.example/a?b='c'"}],
                info={"title": "Läbel", "author": "me", "subject": "s", "keywords": "k"}).check()
    info = run("pdfinfo", made.path).stdout
    assert "Läbel" in info and re.search(r"CreationDate: +Mon Jan +5 10:00:00 2026", subprocess.run(
        ["pdfinfo", made.path], env={"TZ": "UTC", "PATH": "/usr/bin"}, capture_output=True, text=True).stdout)
    run("qpdf", "--qdf", made.path, tmp_path / "plain.pdf")
    assert b"https://x.example/a?b=%27c%27" in (tmp_path / "plain.pdf").read_bytes()


@pytest.mark.parametrize("link", ["http://x.example", "https://x.example/{{ 1 | pad:9000 }}"])
def test_a_link_that_can_not_be_made_is_told(tmp_path, link):
    made = draw(tmp_path, [{"type": "text", "x": 10, "y": 10, "value": "here", "link": link}]).check()
    assert made.warned() == [("raw.0.link", "element.link")] and "here" in made.text() and b"/URI" not in made.bytes


def test_the_language_of_a_pdf(tmp_path):
    raw = [{"type": "text", "x": 10, "y": 10, "value": "ici"}]
    assert b"/Lang (fr-CA)" in draw(tmp_path, raw, info={"lang": "fr-CA"}).check().bytes
    assert draw(tmp_path, raw, info={"lang": "(x)"}).verdict == REFUSED


def test_the_same_request_makes_the_same_bytes(tmp_path, monkeypatch):
    request = {"now": NOW, "body": {"size": "4x6", "raw": [
        {"type": "text", "x": 10, "y": 10, "value": "Hello", "font_weight": "bold"}, {"type": "qr", "x": 10, "y": 50, "size": 60, "value": "a"},
        {"type": "image", "x": 100, "y": 50, "width": 50, "value": b64(png())}]}}
    first = draw_many(tmp_path, request, times=3)
    assert all(m.ended == "ok" for m in first)
    other = draw_many(tmp_path, request)[0]
    assert first[0].bytes == other.bytes and len(other.bytes) > 1000
    for name, value in (("TZ", "Asia/Tokyo"), ("LC_ALL", "de_DE.UTF-8"), ("LANG", "ar_EG.UTF-8"), ("FONTCONFIG_FILE", "/nowhere"), ("HOME", "/nowhere")):
        monkeypatch.setenv(name, value)
    assert draw_many(tmp_path, request)[0].bytes == other.bytes


def test_png_has_the_density_that_is_asked_for(tmp_path):
    made = draw(tmp_path, [{"type": "rect", "x": 72, "y": 72, "width": 72, "height": 72, "fill": "#ff0000"}], form=PNG, dpi=100)
    picture = Image.open(io.BytesIO(made.bytes)).convert("RGB")
    assert picture.size == (400, 600) and picture.getpixel((150, 150)) == (255, 0, 0) and picture.getpixel((50, 50)) == (255, 255, 255)


def test_what_is_not_drawn_is_refused_by_name(tmp_path):
    made = draw(tmp_path, [{"type": "hologram", "x": 1, "y": 1}, {"type": "text", "x": 1, "y": 1, "value": "a"}])
    assert made.verdict == REFUSED and made.report["problems"][0]["path"] == "raw.0" and "hologram" in made.report["problems"][0]["message"]


def unpack(zpl):
    """Dots of a ^GFA field, by the run lengths of the printer's language."""
    width = int(re.search(r"\^PW(\d+)", zpl)[1])
    total, per_line, data = re.search(r"\^GFA,(\d+),\d+,(\d+),(.*)\^FS", zpl, re.S).groups()
    digits, lines, now, n = int(per_line) * 2, [], "", 0
    for c in data:
        if "G" <= c <= "Y":
            n += ord(c) - ord("F")
        elif "g" <= c <= "z":
            n += (ord(c) - ord("f")) * 20
        elif c == ":":
            lines.append(lines[-1])
        elif c in ",!":
            lines.append(now + ("0" if c == "," else "F") * (digits - len(now)))
            now = ""
        elif c in "0123456789ABCDEF":
            now += c * (n or 1)
            n = 0
        if len(now) == digits:
            lines.append(now)
            now = ""
    assert now == "" and len(lines) * digits == int(total) * 2
    return [bin(int(line, 16))[2:].zfill(digits * 4)[:width] for line in lines]


def test_zpl_has_the_dots_of_the_picture(tmp_path):
    raw = [{"type": "code128", "x": 20, "y": 20, "width": 200, "height": 60, "value": "ABC-123"},
           {"type": "qr", "x": 20, "y": 100, "size": 90, "value": "https://x.example/a"}, {"type": "text", "x": 20, "y": 220, "value": "Text", "height": 30},
           {"type": "rect", "x": 0, "y": 300, "width": 288, "height": 50, "fill": "#000"}]
    zpl = draw(tmp_path, raw, form=ZPL, snap_barcodes=203)
    lines = unpack(zpl.bytes.decode())
    picture = Image.open(io.BytesIO(draw(tmp_path, raw, form=PNG, snap_barcodes=203, dpi=203).bytes)).convert("L")
    assert (len(lines[0]), len(lines)) == picture.size == (812, 1218)
    differing = sum((picture.getpixel((x, y)) < 128) != (lines[y][x] == "1") for y in range(0, 1218, 3) for x in range(812))
    assert differing <= 812 * 406 * 0.005
    assert "^LL1218" in zpl.bytes.decode() and zpl.bytes.decode().endswith("^XZ\n")


def test_fonts_of_the_call(tmp_path):
    data = open("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "rb").read()
    made = draw(tmp_path, [{"type": "text", "x": 10, "y": 10, "value": "Own", "font_family": "Brand"}], blobs=[data],
                told={"fonts": [{"family": "Brand", "weight": "regular", "style": "normal", "blob": 0}]}).check()
    assert "DejaVuSans" in run("pdffonts", made.path).stdout
    broken = draw(tmp_path, [{"type": "text", "x": 10, "y": 10, "value": "Own", "font_family": "Brand"}], blobs=[data[:5000]],
                  told={"fonts": [{"family": "Brand", "blob": 0}]})
    assert broken.ended == "ok" and broken.verdict == REFUSED
