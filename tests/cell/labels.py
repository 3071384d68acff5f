"""Shipping labels that are made for tests: drawn by zint and Pillow, nothing of them is of a real parcel."""
import io, subprocess, tempfile, pathlib

import numpy
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

FONTS = pathlib.Path("/usr/share/fonts/truetype/dejavu")
ZINT = {"code128": "CODE128", "code39": "CODE39", "itf": "C25INTER", "ean13": "EANX", "qr": "QRCODE", "datamatrix": "DATAMATRIX", "pdf417": "PDF417", "maxicode": "MAXICODE", "aztec": "AZTEC",
        "gs1_128": "GS1_128", "codabar": "CODABAR", "code93": "CODE93"}
PICTURES = {}


def code(kind, value, scale=1, height=None, *more):
    """A barcode without its text, black on white."""
    key = (kind, value, scale, height, more)
    if key not in PICTURES:
        with tempfile.TemporaryDirectory() as place:
            out = pathlib.Path(place) / "code.png"
            subprocess.run(["zint", "-b", ZINT[kind], "--notext", f"--scale={scale}", "--quietzones", "-o", out, *([f"--height={height}"] if height else []), *more, "-d", value],
                           check=True, capture_output=True)
            PICTURES[key] = Image.open(out).convert("L")
            PICTURES[key].load()
    return PICTURES[key]


def font(size, bold=False):
    return ImageFont.truetype(str(FONTS / ("DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf")), size)


TRACKING, ROUTING = "1Z999AA10123456784", "42098028"
SENDER = ["ACME SUPPLY COMPANY", "100 INDUSTRIAL WAY", "SPRINGFIELD IL 62701"]
RECIPIENT = ["JANE Q SAMPLE", "NORTHERN PARTS LLC", "4200 HARBOR AVENUE SUITE 12", "KENMORE WA 98028"]
REST = ["SHIP DATE 12 MAR 2026", "WEIGHT 12.5 LBS", "PACKAGE 1 OF 3", "REF ORDER 77-20451"]


def label(*codes, size=(812, 1218)):
    """4 by 6 inches at 203 dpi: sender, recipient, a Code 128, and the codes of two dimensions that are given."""
    page = Image.new("L", size, 255)
    d = ImageDraw.Draw(page)
    for i, line in enumerate(SENDER):
        d.text((40, 40 + 30 * i), line, 0, font(20))
    d.line((0, 150, size[0], 150), 0, 4)
    d.text((40, 165), "SHIP TO:", 0, font(22, True))
    for i, line in enumerate(RECIPIENT):
        d.text((70, 205 + 44 * i), line, 0, font(32, i == 0))
    d.line((0, 395, size[0], 395), 0, 4)
    page.paste(code("code128", TRACKING, 1, 100), (40, 410))
    d.text((40, 640), "TRACKING # " + TRACKING, 0, font(28, True))
    d.line((0, 690, size[0], 690), 0, 4)
    for i, line in enumerate(REST):
        d.text((40, 705 + 34 * i), line, 0, font(22))
    x = 40
    for picture in codes:
        page.paste(picture, (x, 870))
        x += picture.width + 40
    return page


def bytes_of(picture, format="PNG", **more):
    to = io.BytesIO()
    picture.save(to, format, **more)
    return to.getvalue()


def turned(picture, degrees):
    """Clockwise."""
    return picture.rotate(-degrees, expand=True)


def photo(picture, degrees=2.0, blur=1.2, scale=2.4, ground=110):
    """As a camera sees it: larger, askew, unsharp, on a table as light as `ground`, in light that falls off."""
    big = picture.resize((int(picture.width * scale), int(picture.height * scale)), Image.BICUBIC)
    table = Image.new("L", (int(big.width * 1.3), int(big.height * 1.25)), ground)
    table.paste(big, ((table.width - big.width) // 2, (table.height - big.height) // 2))
    table = table.rotate(degrees, Image.BICUBIC, fillcolor=ground).filter(ImageFilter.GaussianBlur(blur))
    light = Image.linear_gradient("L").resize(table.size).point(lambda v: 150 + v * 90 // 255)
    black = Image.new("L", table.size, 0)
    return Image.composite(table, black, light)


def grainy(picture, strength):
    """With the grain of a scanner or a camera; the same each time."""
    chance = numpy.random.Generator(numpy.random.PCG64(5))
    grain = Image.fromarray(numpy.clip(128 + strength * chance.standard_normal((picture.height, picture.width)), 0, 255).astype(numpy.uint8))
    return ImageChops.add(picture, grain, 1, -128)


def scan(picture, grow, degrees, grain):
    """As a scanner sees it: a little unsharp, askew, grey."""
    big = picture.resize((int(picture.width * grow), int(picture.height * grow)), Image.BICUBIC).filter(ImageFilter.GaussianBlur(0.5 * grow))
    return grainy(big.rotate(degrees, Image.BICUBIC, expand=True, fillcolor=255).point(lambda v: 18 + v * 210 // 255), grain)
