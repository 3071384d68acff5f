"""What a request to draw may hold: spec 05 sections 9.1, 9.3 and 9.5. All problems are told together, each with its path."""
import pytest

from drawings import GENERATE, generate, image, rect, refused, text


def test_all_problems_are_told_together(client):
    refused(client, ["raw.0.height", "raw.1.type", "raw.2.x", "raw.2.color", "raw.3", "size", "dpi", "output"],
            text(height="large"), {"type": "hologram", "x": 1, "y": 1}, text(x=20000, color="red"), "text", size="A5x", dpi=40, output="paper")


@pytest.mark.parametrize("raw, errors", [([], ["raw"]), ([text()] * 501, ["raw"]), ("text", ["raw"]), (None, ["raw"])])
def test_how_many_elements(client, raw, errors):
    """Spec 05 section 9.1 [P]: raw has 1 to 500 elements."""
    client.refused("POST", GENERATE, 400, "validation.failed", errors, body={"raw": raw})


@pytest.mark.parametrize("element, errors", [
    ({"type": "text", "x": 1, "y": 1}, ["value"]), ({"type": "text", "value": "a"}, ["x", "y"]), (text(spans=[{"value": "b"}]), ["value"]),
    ({"type": "text", "x": 1, "y": 1, "spans": [{}]}, ["spans.0.value"]), (text(font_family="comic"), ["font_family"]), (text(font_weight="fat"), ["font_weight"]),
    (text(line_height=0.5), ["line_height"]), (text(align="middle"), ["align"]), (text(opacity=1.5), ["opacity"]), (text(color="#12345"), ["color"]),
    (text(link="http://example.com"), ["link"]), (text(wrap="yes"), ["wrap"]), (text(repeat={}), ["repeat.each"]), (text(page=0), ["page"]),
    ({"type": "code128", "x": 1, "y": 1, "value": "A"}, ["width", "height"]), ({"type": "qr", "x": 1, "y": 1, "value": "A"}, ["size"]),
    ({"type": "qr", "x": 1, "y": 1, "value": "A", "size": 40, "ecc": "X"}, ["ecc"]), ({"type": "matrix", "x": 1, "y": 1, "value": "A"}, ["size"]),
    ({"type": "barcode", "x": 1, "y": 1, "value": "A", "width": 50}, ["symbology"]), ({"type": "barcode", "x": 1, "y": 1, "value": "A", "width": 50, "symbology": "morse"}, ["symbology"]),
    ({"type": "barcode", "x": 1, "y": 1, "value": "A", "symbology": "qr"}, ["width"]), ({"type": "line", "x": 1, "y": 1}, ["x2"]),
    ({"type": "line", "x": 1, "y": 1, "width": 9, "thickness": 51}, ["thickness"]), ({"type": "rect", "x": 1, "y": 1, "width": 1}, ["height"]),
    ({"type": "path", "x": 1, "y": 1}, ["d"]), ({"type": "image", "x": 1, "y": 1}, ["value"]), (image("aGk=", src="aGk="), ["value"]), (image("aGk=", fit="stretch"), ["fit"]),
    (image("aGk=", dpi=30), ["dpi"]), ({"type": "svg", "x": 1, "y": 1}, ["value"]), ({"type": "table", "x": 1, "y": 1, "columns": [{}]}, ["rows"]),
    ({"type": "table", "x": 1, "y": 1, "columns": [], "rows": []}, ["columns"]), ({"type": "table", "x": 1, "y": 1, "columns": [{"width": "2em"}], "rows": []}, ["columns.0.width"]),
    ({"type": "table", "x": 1, "y": 1, "columns": [{"element": {"type": "qr"}}], "rows": []}, ["columns.0.element.size", "columns.0.element.value"]),
    ({"type": "flow", "x": 1, "y": 1, "width": 9}, ["children"]), ({"type": "flow", "x": 1, "y": 1, "width": 9, "children": [{"type": "text"}]}, ["children.0.value"]),
    ({"type": "group", "x": 1, "y": 1, "children": []}, ["children"]), ({"type": "group", "x": 1, "y": 1, "children": [{"type": "rect", "height": 1}]}, ["children.0.width"]),
    ({"type": "spacer"}, ["height"]), ({"type": 4, "x": 1, "y": 1}, ["type"]), ({"x": 1, "y": 1}, ["type"]),
])
def test_what_elements_need(client, element, errors):
    refused(client, [f"raw.1.{e}" for e in errors], text(), element)


def test_elements_of_bands_and_the_watermark(client):
    refused(client, ["header.raw.0.value", "footer.height", "watermark.type"], header={"height": 20, "raw": [{"type": "text", "x": 1, "y": 1}]},
            footer={"raw": [text()]}, watermark={"type": "stamp", "x": 1, "y": 1})


def test_the_page(client):
    """Spec 05 section 9.1: names of sizes in any case of letters; custom needs both sides, of 72 to 14,400 points [P]."""
    refused(client, ["width", "height"], size="custom")
    refused(client, ["height"], size="Custom", width=100)
    refused(client, ["width", "height"], size="custom", width=71.9, height=14400.1)
    refused(client, ["size"], size="5x7")
    refused(client, ["orientation"], orientation="upside down")
    refused(client, ["snap_barcodes"], snap_barcodes=204)
    refused(client, ["sheet.rows", "sheet.size"], sheet={"columns": 3, "size": "A99"})
    refused(client, ["fonts.0.document_id", "fonts.0.weight"], fonts=[{"family": "Mine", "weight": "heavy"}])
    refused(client, ["data"], data="none")
    refused(client, ["filename"], filename="x" * 192)
    refused(client, ["info.title"], info={"title": 4})


def test_data_has_a_limit(client):
    """Spec 05 section 9.1 [O]: 2 MiB."""
    refused(client, ["data"], data={"a": "x" * (2 << 20)})


def test_margins_that_leave_no_room(client):
    """Spec 05 section 9.5 [S]: margin_top + margin_bottom >= height: 400 with names, values, sum and height."""
    at = ["margin_top", "margin_bottom"]
    told = refused(client, at, code="template.margins", size="letter", margin_top=400, margin_bottom=392)
    assert told == "margin_top 400 pt + margin_bottom 392 pt = 792 pt leave no printable area on a page 792 pt high"
    told = refused(client, at, code="template.margins", size="custom", width=72, height=72, margin_top=36, margin_bottom=36)
    assert told == "margin_top 36 pt + margin_bottom 36 pt = 72 pt leave no printable area on a page 72 pt high"
    told = refused(client, at, code="template.margins", size="letter", orientation="landscape", margin_top=300, margin_bottom=312)
    assert "612 pt leave no printable area on a page 612 pt high" in told
    told = refused(client, ["margin_left", "margin_right"], code="template.margins", margin_left=200, margin_right=88)
    assert told == "margin_left 200 pt + margin_right 88 pt = 288 pt leave no printable area on a page 288 pt wide"
    told = refused(client, at, code="template.margins", header={"height": 400, "raw": [text()]})
    assert told == "margin_top 18 pt + header.height 400 pt + margin_bottom 18 pt = 436 pt leave no printable area on a page 432 pt high"


def test_margins_that_are_wrong_are_told_before(client):
    refused(client, ["margin_top"], margin_top=-1, margin_bottom=500)
    refused(client, ["margin_left", "raw.0.value"], {"type": "text", "x": 1, "y": 1}, margin_left="wide")


def test_variables_where_numbers_stand(client):
    """Spec 05 section 9.3: numbers and booleans may be texts with variables; other texts may not be."""
    refused(client, ["raw.0.width", "raw.0.wrap"], text(width="12", wrap="true"))


def test_nesting_ends(client):
    deep = text()
    for _ in range(30):
        deep = {"type": "group", "x": 0, "y": 0, "children": [deep]}
    answer = client.request("POST", GENERATE, body={"raw": [deep]}, expect=400)
    assert answer.code == "validation.failed" and answer.errors[0].startswith("raw.0.children.0.")


def test_unknown_members_are_refused_when_that_is_wanted(client):
    """Spec 01 section 2.1: Prefer: handling=strict."""
    answer = client.request("POST", GENERATE, body={"raw": [text(colour="#000000")]}, headers={"Prefer": "handling=strict"}, expect=400)
    assert answer.code == "validation.failed" and answer.errors == ["raw.0.colour"]


def test_printing_needs_what_printing_needs(org):
    reader = org.client(scopes="templates:read")
    reader.refused("POST", GENERATE, 403, "scope_access", body={"raw": [text()], "print": {}})
    reader.refused("POST", GENERATE, 403, "scope_access", body={"raw": [text()], "output": "document"})
    org.client(scopes="locations:read").refused("POST", GENERATE, 403, "scope_access", body={"raw": [text()]})


def test_no_job_of_an_answer_that_can_not_tell_of_it(client):
    refused(client, ["print"], output="binary", print={})


def test_schema(client):
    """Spec 05 section 7 [O]: what a definition may hold, for any key."""
    data = client.get("/v1/templates/schema").data
    assert "code128" in data["symbologies"] and data["fonts"] == ["inter", "mono", "sans", "serif"]
    assert {"name": "A4", "width": 595, "height": 842} in data["sizes"] and {"name": "label_2x1", "width": 144, "height": 72} in data["sizes"]
    of = {t["type"]: t for t in data["types"]}
    assert of["item__item_label_pdf"]["resource"] == "item" and of["item__item_label_pdf"]["dimensions"][0] == "2x1" and "barcode" in of["item__item_label_pdf"]["slots"]
    assert set(data["schema"]["$defs"]["GeneratePdfInput"]["properties"]) >= {"raw", "margin_top", "dpi"}


def test_schema_judges_as_the_server_does(client):
    import jsonschema
    judge = jsonschema.Draft202012Validator(client.get("/v1/templates/schema").data["schema"])
    assert judge.is_valid({"raw": [text(), rect(), {"type": "group", "x": 0, "y": 0, "children": [text(height="{{size}}")]}]})
    for wrong in ({}, {"raw": []}, {"raw": [text(height="large")]}, {"raw": [{"type": "hologram"}]}, {"raw": [text(color="red")]}, {"raw": [text()], "dpi": 40}):
        assert not judge.is_valid(wrong), wrong
        client.refused("POST", GENERATE, 400, "validation.failed", body=wrong)
    assert generate(client).data["pages"] == 1
