"""Labels that tests of the module inference draw, and what stands on them."""
import base64
import sys

from wharf import ROOT

sys.path.insert(0, str(ROOT / "tests/cell"))
import labels  # noqa: E402

PATH = "/v1/inferences/images/shipping-labels"
PICTURES = {}


def drawn(recipient=None, tracking=labels.TRACKING, sender=None, rest=None, codes=(), number_text=True):
    """A label as PNG bytes; the same words are drawn once."""
    key = (tuple(recipient or labels.RECIPIENT), tracking, tuple(sender or labels.SENDER), tuple(rest if rest is not None else labels.REST), codes, number_text)
    if key not in PICTURES:
        page = labels.Image.new("L", (812, 1218), 255)
        d = labels.ImageDraw.Draw(page)
        for i, line in enumerate(key[2]):
            d.text((40, 40 + 30 * i), line, 0, labels.font(20))
        d.line((0, 150, 812, 150), 0, 4)
        d.text((40, 165), "SHIP TO:", 0, labels.font(22, True))
        for i, line in enumerate(key[0]):
            d.text((70, 205 + 44 * i), line, 0, labels.font(32, i == 0))
        d.line((0, 395, 812, 395), 0, 4)
        if tracking:
            page.paste(labels.code("code128", tracking, 1, 100), (40, 410))
            if number_text:
                d.text((40, 640), "TRACKING # " + tracking, 0, labels.font(28, True))
        d.line((0, 690, 812, 690), 0, 4)
        for i, line in enumerate(key[3]):
            d.text((40, 705 + 34 * i), line, 0, labels.font(22))
        PICTURES[key] = labels.bytes_of(page)
    return PICTURES[key]


def text(data):
    return base64.b64encode(data).decode()


def uri(data, type="image/png"):
    return f"data:{type};base64,{text(data)}"


def read(client, data, expect=201, **body):
    """A busy machine may have no time for all steps of a picture, or no process: then once more."""
    for _ in range(10):
        r = client.post(PATH, {"image": [text(d) for d in data] if isinstance(data, list) else text(data), **body})
        if r.raw.status_code == 503:
            continue
        if r.raw.status_code == 201 and expect == 201:
            row = r.data
            if "extraction_timeout" in row["errors"] or (row["engine"] and not row["engine"]["whole"]):
                client.delete(f"{PATH}/{row['id']}", expect=200)
                continue
        assert r.raw.status_code == expect, r.raw.text[:1000]
        return r
    raise AssertionError(r.raw.text[:500])


class Late(Exception):
    """A busy machine had no time for all steps of a picture; conftest.py runs the test once more, but not for ever."""

    refused = True  # whether such a reading is; else the test says what it thinks of it


def whole(row):
    """The reading, all steps of which were done."""
    if Late.refused and row["engine"] and not row["engine"]["whole"]:
        raise Late(row["id"])
    return row


def numbered(n):
    """A tracking number of UPS with its check digit."""
    body = f"999AA1{n:08d}"[:15].ljust(15, "0")
    total = 0
    for i, c in enumerate(body):
        v = int(c) if c.isdigit() else (ord(c) - 63) % 10
        total += v * 2 if i % 2 else v
    return "1Z" + body + str(-total % 10)


def contact(client, name, **more):
    return client.post("/v1/contacts", {"name": name, **more}, expect=201).data["id"]


def get(client, row, query=""):
    return client.get(f"{PATH}/{row['id']}{query}", expect=200).data
