"""Members of elements, each by what it changes in a picture of one dot to the point (05 sections 9.1, 9.3 and 9.5)."""
import io

import pytest
from PIL import Image

from drawing import PNG, draw

PAGE = {"size": "custom", "width": 200, "height": 200, "dpi": 72, "margin_top": 0, "margin_bottom": 0, "margin_left": 0, "margin_right": 0}


def show(tmp_path, *raw, blobs=(), told=None, **body):
    made = draw(tmp_path, list(raw), PNG, blobs=blobs, told=told, **{**PAGE, **body})
    assert made.ended == "ok" and made.report["element_errors"] == [], (made.reason, made.report)
    with Image.open(made.path) as picture:
        return picture.convert("L")


def ink(picture, box=None, level=200):
    """Bounding box of what is dark, in the picture's own points; None: all is white."""
    part = picture.crop(box) if box else picture
    found = part.point(lambda v: 255 if v < level else 0).getbbox()
    left, top = box[:2] if box else (0, 0)
    return found and (found[0] + left, found[1] + top, found[2] + left, found[3] + top)


def text(value="HHHH", x=10, y=10, **more):
    return {"type": "text", "x": x, "y": y, "value": value, "height": 20, **more}


def near(a, b, by=1):
    return all(abs(p - q) <= by for p, q in zip(a, b, strict=True))


def test_underline_and_strike(tmp_path):
    """A line below the base line, or through the letters, as wide as the text."""
    plain = ink(show(tmp_path, text("HH HH")))
    under, strike = show(tmp_path, text("HH HH", underline=True)), show(tmp_path, text("HH HH", strike=True))
    assert plain[3] + 1 < ink(under)[3] <= plain[3] + 5 and ink(under)[2] >= plain[2]
    assert near(ink(strike)[1::2], plain[1::2])

    def whole(picture):
        return {y for y in range(plain[1], plain[3]) if all(picture.getpixel((x, y)) < 200 for x in range(plain[0], plain[2] - 1))}

    assert whole(strike) and not whole(show(tmp_path, text("HH HH")))


@pytest.mark.parametrize("valign, where", [("top", 0), ("middle", 1), ("bottom", 2)])
def test_a_text_in_a_box(tmp_path, valign, where):
    top, bottom = ink(show(tmp_path, text(y=20, width=150, box_height=100, valign=valign, font_family="mono")))[1::2]
    middle = (top + bottom) / 2
    assert (middle < 50, 60 < middle < 80, middle > 90)[where]


def test_lines_that_are_left_out(tmp_path):
    words = " ".join(["word"] * 30)
    heights = [ink(show(tmp_path, text(words, height=10, width=100, wrap=True, max_lines=n)))[3] for n in (1, 2, 4)]
    assert heights[0] < heights[1] < heights[2] and abs((heights[2] - heights[1]) - 2 * (heights[1] - heights[0])) <= 2


def test_padding_and_ground_of_a_text(tmp_path):
    picture = show(tmp_path, text(padding=6, background="#808080"))
    bare = ink(show(tmp_path, text()))
    ground, letters = ink(picture), ink(picture, level=60)
    assert near(letters, [n + 6 for n in bare]) and ground[0] <= letters[0] - 5 and ground[3] >= letters[3] + 5


def test_ends_of_a_line(tmp_path):
    line = {"type": "line", "x": 50, "y": 100, "width": 100, "thickness": 20}
    assert near(ink(show(tmp_path, line)), (50, 90, 150, 110))
    square, rounded = (show(tmp_path, {**line, "cap": cap}) for cap in ("square", "round"))
    assert near(ink(square), (40, 90, 160, 110)) and near(ink(rounded), (40, 90, 160, 110))
    assert square.getpixel((41, 91)) < 100 < rounded.getpixel((41, 91))


def test_round_corners(tmp_path):
    box = {"type": "rect", "x": 20, "y": 20, "width": 100, "height": 80, "fill": "#000000"}
    sharp, soft = show(tmp_path, box), show(tmp_path, {**box, "radius": 20})
    assert ink(sharp) == ink(soft) == (20, 20, 120, 100)
    assert sharp.getpixel((22, 22)) == 0 and soft.getpixel((22, 22)) == 255 and soft.getpixel((20, 60)) == 0


def test_a_group_that_cuts(tmp_path):
    group = {"type": "group", "x": 20, "y": 20, "width": 50, "height": 40, "children": [{"type": "rect", "x": 30, "y": 10, "width": 100, "height": 100, "fill": "#000000"}]}
    assert ink(show(tmp_path, group)) == (50, 30, 150, 130) and ink(show(tmp_path, {**group, "clip": True})) == (50, 30, 70, 60)


def red_and_light():
    out, picture = io.BytesIO(), Image.new("RGB", (20, 10), (200, 0, 0))
    picture.paste((220, 220, 220), (10, 0, 20, 10))
    picture.save(out, "PNG")
    return out.getvalue()


def test_grey_and_black_images(tmp_path):
    """grayscale leaves no colour; threshold leaves black and white."""
    element = {"type": "image", "x": 0, "y": 0, "width": 200, "height": 100, "value": "given"}

    def colours(**more):
        made = draw(tmp_path, [{**element, **more}], PNG, blobs=[red_and_light()], told={"images": {"raw.0": 0}}, **PAGE)
        with Image.open(made.path) as picture:
            return [picture.convert("RGB").getpixel(at) for at in ((50, 50), (150, 50))]

    assert colours() == [(200, 0, 0), (220, 220, 220)]
    red, light = colours(grayscale=True)
    assert red[0] == red[1] == red[2] and 40 < red[0] < 90 and light == (220, 220, 220)
    assert colours(threshold=128) == [(0, 0, 0), (255, 255, 255)] and colours(threshold=240) == [(0, 0, 0)] * 2


@pytest.mark.parametrize("valign, top", [("top", 20), ("middle", 45), ("bottom", 70)])
def test_where_an_image_stands_in_its_box(tmp_path, valign, top):
    element = {"type": "image", "x": 20, "y": 20, "width": 100, "height": 100, "valign": valign, "value": "given"}
    assert near(ink(show(tmp_path, element, blobs=[red_and_light()], told={"images": {"raw.0": 0}}), level=250), (20, top, 120, top + 50))


def test_white_around_a_code(tmp_path):
    """The quiet zone is part of a QR code's box: without it the modules fill all of it."""
    qr = {"type": "qr", "x": 20, "y": 20, "size": 100, "value": "Q"}
    assert ink(show(tmp_path, {**qr, "quiet_zone": 0})) == (20, 20, 120, 120)
    wide = ink(show(tmp_path, {**qr, "quiet_zone": 10}))
    assert near(wide, (20 + 1000 / 41, 20 + 1000 / 41, 120 - 1000 / 41, 120 - 1000 / 41), 2)


def test_text_below_a_code(tmp_path):
    code = {"type": "code128", "x": 20, "y": 20, "width": 160, "height": 100, "value": "CAPTION", "show_text": True}
    small, large = (show(tmp_path, {**code, "text_size": n}) for n in (8, 30))
    column = next(x for x in range(20, 180) if small.getpixel((x, 30)) < 100)
    bars = [max(y for y in range(20, 120) if p.getpixel((column, y)) < 100) for p in (small, large)]
    assert abs(bars[0] - 109) <= 2 and bars[1] < 86


def test_options_of_a_maxicode(tmp_path):
    """The postcode, country and class of a parcel stand in its middle: another one is another symbol."""
    def code(**primary):
        return show(tmp_path, {"type": "barcode", "symbology": "maxicode", "x": 20, "y": 20, "width": 150, "height": 150, "value": "Maxi", "options": {"primary": primary}}).tobytes()

    assert code(postcode="999999999", country=840, **{"class": 1}) == code(postcode="999999999") != code(postcode="999999998") != code(postcode="B1050", country=56)


TABLE = {"type": "table", "x": 0, "y": 0, "width": 200, "border": "none", "columns": [{"header": "HEAD", "value": "{{row.k}}"}], "rows": [{"k": "I"}, {"k": "I"}]}


def rows_of(picture):
    """Where each line of ink begins."""
    dark = [ink(picture, (0, y, 200, y + 1)) is not None for y in range(200)]
    return [y for y in range(200) if dark[y] and not (y and dark[y - 1])]


def test_rows_of_a_table(tmp_path):
    """row_height is the least of a row, font_size and padding make it what it is without."""
    def step(**more):
        begins = rows_of(show(tmp_path, {**TABLE, **more}))
        assert len(begins) == 3
        return begins[2] - begins[1]

    usual = step(font_size=10, padding=2)
    assert step(font_size=20, padding=2) > usual + 8 and abs(step(font_size=10, padding=10) - usual - 16) <= 1
    assert step(font_size=10, padding=2, row_height=50) == 50 and step(font_size=10, padding=2, row_height=1) == usual


def test_heads_that_are_not_repeated(tmp_path):
    long = {**TABLE, "rows": [{"k": f"r{i}"} for i in range(30)]}
    for more, heads in (({}, 3), ({"header_repeat": False}, 1)):
        made = draw(tmp_path, [{**long, **more}], **PAGE).check()
        pages = [[w[0] for w in page] for page in made.words()]
        assert sum(page.count("HEAD") for page in pages) == (len(pages) if heads > 1 else 1) and len(pages) > 1 and pages[0][0] == "HEAD"


def test_a_foot_that_is_not_on_the_last_page(tmp_path):
    foot = {"height": 20, "raw": [{"type": "text", "x": 5, "y": 2, "value": "foot{{page}}"}]}
    for more, feet in (({}, ["foot1", "foot2", "foot3"]), ({"last_page": False}, ["foot1", "foot2"]), ({"first_page": False}, ["foot2", "foot3"])):
        made = draw(tmp_path, [{"type": "text", "x": 5, "y": 30 + 180 * i, "value": "body"} for i in range(3)], **{**PAGE, "footer": {**foot, **more}}).check()
        assert [w[0] for page in made.words() for w in page if w[0].startswith("foot")] == feet


def test_copies_have_names(tmp_path):
    """repeat: `as` and `index` name what each copy has; per_row goes on below."""
    element = {"type": "text", "x": 10, "y": 10, "height": 8, "value": "{{n}}={{box.k}}", "repeat": {"each": "boxes", "as": "box", "index": "n", "dx": 60, "dy": 30, "per_row": 2}}
    made = draw(tmp_path, [element], **{**PAGE, "data": {"boxes": [{"k": c} for c in "abc"]}}).check()
    (zero, x0, y0, *_), (one, x1, y1, *_), (two, x2, y2, *_) = sorted(made.words()[0])
    assert (zero, one, two) == ("0=a", "1=b", "2=c") and abs(x1 - x0 - 60) < 1 and y1 == y0 and abs(x2 - x0) < 1 and abs(y2 - y0 - 30) < 1


def test_the_shapes_of_a_flow(tmp_path):
    flow = {"type": "flow", "x": 20, "y": 20, "width": 100, "padding": 15, "background": "#c0c0c0", "children": [{"type": "rect", "width": 70, "height": 10, "fill": "#000000"}]}
    picture = show(tmp_path, flow)
    assert ink(picture, level=250) == (20, 20, 120, 60) and ink(picture, level=60) == (35, 35, 105, 45)
