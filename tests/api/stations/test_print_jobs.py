"""Print jobs: spec 04 sections 4 and 6 to 8."""
import concurrent.futures
import hashlib
import json
import subprocess

import pytest
import requests

import documents
from documents import b64, pdf, png, uri
from wharf import ISO, ROOT, STATIONS, make_location, make_station, note_job, printer

JOBS = "/v1/cloud-printing/jobs"
SIZES = {s["name"]: s for s in json.loads((ROOT / "schemas" / "paper-sizes.json").read_text())}


class Shop:
    """A station of its own with a session, at a location of its own."""

    def __init__(self, org, name, *printers, **more):
        self.org, self.client = org, org.client()
        self.location = make_location(self.client, name)
        self.station = make_station(self.client, self.location["id"], name, printers=list(printers) or [printer()], **more)
        self.path = f"{STATIONS}/{self.station['id']}"
        self.session = None

    def open(self, **body):
        self.session = self.client.post(self.path + "/sessions", {"agent": {"name": "test", "version": "1"}, **body}, expect=201).data["session_id"]
        return self.session

    def make(self, document=None, expect=201, **body):
        body = {"location_id": self.location["id"], "data": b64(document or pdf()), **body}
        return self.client.post(JOBS, {k: v for k, v in body.items() if v is not None}, expect=expect).data

    def refuse(self, status, code, errors=None, document=None, **body):
        body = {"location_id": self.location["id"], "data": b64(document or pdf()), **body}
        return self.client.refused("POST", JOBS, status, code, errors, body={k: v for k, v in body.items() if v is not None})

    def claim(self, **body):
        return self.client.post(self.path + "/claim", {"session_id": self.session, **body}, expect=200).data["jobs"]

    def get(self, job, query=""):
        return self.client.get(f"{JOBS}/{job['id'] if isinstance(job, dict) else job}{query}").data

    def update(self, job, expect=200, **body):
        return self.client.post(f"{JOBS}/{job['id']}", body, expect=expect).data

    def report(self, job, expect=200, **body):
        return self.update(job, expect, session_id=self.session, attempt=job["attempt"], **body)

    def no(self, job, http, code, errors=None, **body):
        return self.client.refused("POST", f"{JOBS}/{job['id']}", http, code, errors, body=body)

    def told(self, job):
        return [e[0].removeprefix("print_job.") for e in self.org.events(job["id"])]

    def paper(self, job):
        return self.client.http.get(self.client.server.base + f"{JOBS}/{job['id']}/document?prepared=true", headers={"SVC-API-KEY": self.client.key}).content


@pytest.fixture(scope="module")
def shop(org):
    return Shop(org, "Shop")


def box(data):
    """Width and height of each page, in points; as poppler sees them."""
    out = subprocess.run(["pdfinfo", "-l", "99", "-"], input=data, capture_output=True, check=True).stdout.decode()
    return [tuple(float(v) for v in line.split(":")[1].split()[:3:2]) for line in out.splitlines() if line.startswith("Page") and "size:" in line]


def ink(data, dpi=72, page=1):
    """Bounding box of what is not white, in dots: left, top, right, bottom; and the page's size in dots."""
    out = subprocess.run(["pdftoppm", "-r", str(dpi), "-gray", "-f", str(page), "-l", str(page), "-"], input=data, capture_output=True, check=True).stdout
    _, size, _, pixels = out.split(b"\n", 3)
    w, h = map(int, size.split())
    rows = [pixels[y * w:(y + 1) * w] for y in range(h)]
    dark = [y for y, r in enumerate(rows) if min(r) < 200]
    left = min(next(x for x, v in enumerate(rows[y]) if v < 200) for y in dark)
    right = max(w - next(x for x, v in enumerate(reversed(rows[y])) if v < 200) for y in dark)
    return (left, dark[0], right, dark[-1] + 1), (w, h)


# ---- creating ----

def test_created(shop):
    a = shop.client.post(JOBS, {"location_id": shop.location["id"], "data": uri(pdf()), "name": "Label 1Z999", "metadata": {"order": 7},
                                "resource": {"type": "location", "id": shop.location["id"], "document": "door_sign"}}, expect=201)
    d = a.data
    assert a.message == "Print job created" and a.headers["Location"] == f"{JOBS}/{d['id']}"
    assert d["object"] == "print_job" and d["id"].startswith("prnt_job_") and d["status"] == "queued" and d["name"] == "Label 1Z999"
    assert d["configuration"] == {"copies": 1, "color_print": False, "double_sided": False, "duplex_edge": "long", "orientation": "portrait",
                                  "paper_size": "page_size_label_4x6", "print_all_pages": True, "page_ranges": None, "scaling": 1, "fit": "none",
                                  "rotate": 0, "collate": True, "media_source": None}
    assert d["document"] == {"content_type": "application/pdf", "size": len(pdf()), "pages": 1, "width": 4, "height": 6,
                             "sha256": hashlib.sha256(pdf()).hexdigest(), "paper_size_detected": True, "mixed_sizes": False, "cropped": False, "available_until": None}
    assert d["printer"] == {"id": shop.station["printers"][0]["id"], "name": "Zebra", "model": "ZD421"} and d["print_station_id"] == shop.station["id"]
    assert d["routing"] == {"automatic": True, "candidates": 1, "reason": "only candidate"} and d["attempt"] == 0 and d["max_attempts"] == 3
    assert d["priority"] == 50 and d["resource"]["document"] == "door_sign" and ISO.match(d["expires_at"]) and d["reason"] is None and "data" not in d
    assert shop.get(d) == d and shop.told(d) == ["created"]
    assert [h["status"] for h in shop.get(d, "?include_history=true")["history"]] == ["queued"]
    assert shop.make()["name"].startswith("Job ")


@pytest.mark.parametrize("change, errors", [
    ({"name": "x" * 192}, ["name"]), ({"priority": 0}, ["priority"]), ({"priority": 101}, ["priority"]), ({"max_attempts": 11}, ["max_attempts"]),
    ({"expire_after": 59}, ["expire_after"]), ({"expire_after": 1209601}, ["expire_after"]), ({"raw": "yes"}, ["raw"]),
    ({"configuration": {"copies": 0}}, ["configuration.copies"]), ({"configuration": {"copies": 1000}}, ["configuration.copies"]),
    ({"configuration": {"scaling": 0.2}}, ["configuration.scaling"]), ({"configuration": {"scaling": 3.01}}, ["configuration.scaling"]),
    ({"configuration": {"scaling": "1"}}, ["configuration.scaling"]), ({"configuration": {"rotate": 45}}, ["configuration.rotate"]),
    ({"configuration": {"orientation": "askew"}}, ["configuration.orientation"]), ({"configuration": {"fit": "tight"}}, ["configuration.fit"]),
    ({"configuration": {"duplex_edge": "middle"}}, ["configuration.duplex_edge"]), ({"configuration": {"paper_size": "b5"}}, ["configuration.paper_size"]),
    ({"configuration": {"print_all_pages": False}}, ["configuration.page_ranges"]),
    ({"configuration": {"print_all_pages": False, "page_ranges": "x"}}, ["configuration.page_ranges"]),
    ({"configuration": {"print_all_pages": False, "page_ranges": "3-1"}}, ["configuration.page_ranges"]),
    ({"configuration": {"print_all_pages": False, "page_ranges": "0"}}, ["configuration.page_ranges"]),
    ({"configuration": {"print_all_pages": False, "page_ranges": "7-9"}}, ["configuration.page_ranges"]),
    ({"resource": {"type": "location"}}, ["resource.id"]), ({"resource": {"type": "location", "id": "loc_0000000000000000000000"}}, ["resource.id"]),
    ({"location_id": None}, ["location_id"]), ({"location_id": "loc_0000000000000000000000"}, ["location_id"]),
    ({"printer_name": "Zebra"}, ["print_station_id"]), ({"data": None}, ["data"]), ({"document_id": "dcmt_1"}, ["data"]),
    ({"custom_dimensions": {"width": 3, "height": 3}}, ["custom_dimensions"]),
    ({"custom_dimensions": {"width": 0.2, "height": 3}}, ["custom_dimensions.width"]), ({"custom_dimensions": {"width": 3}}, ["custom_dimensions.height"]),
    ({"configuration": {"paper_size": "page_size_custom"}}, ["custom_dimensions", "print_station_id", "printer_name"]),
])
def test_refused_bodies(shop, change, errors):
    shop.refuse(400, "validation.failed", errors, **change)


def test_reverse_order_is_no_field(shop):
    assert "reverse_order" not in shop.make(configuration={"reverse_order": True})["configuration"]


def test_where(shop, org):
    other = make_location(shop.client, "Elsewhere")
    assert shop.make(location_id=None, print_station_id=shop.station["id"])["location_id"] == shop.location["id"]
    shop.refuse(400, "validation.failed", ["location_id"], location_id=other["id"], print_station_id=shop.station["id"])
    shop.refuse(404, "not_found", print_station_id="prnt_stn_0000000000000000000000")
    shop.refuse(400, "validation.failed", ["printer_name"], print_station_id=shop.station["id"], printer_name="Nobody")
    shop.refuse(400, "validation.failed", ["printer_name"], print_station_id=shop.station["id"], printer_name="Zebra", printer_id="0c84e4b9-0000-4000-8000-000000000000")
    shop.refuse(400, "print_job.no_printer", location_id=other["id"])
    shop.client.post("/v1/locations/" + other["id"], {"settings": {"cloud_printing": {"enabled": False}}}, expect=200)
    shop.refuse(400, "location.cloud_printing_disabled", location_id=other["id"])
    far = org.client(locations=[other["id"]])
    far.refused("POST", JOBS, 403, "location_access", [shop.location["id"]], body={"location_id": shop.location["id"], "data": b64(pdf())})
    far.refused("GET", f"{JOBS}/{shop.make()['id']}", 403, "location_access", [shop.location["id"]])


def test_stations_of_others_are_not_there(org):
    one, two = org.user("p1@example.com"), org.user("p2@example.com")
    shop = Shop(org, "Private", allow_all_users=False, allowed_users=[one])
    body = {"location_id": shop.location["id"], "data": b64(pdf())}
    assert org.client(user=one).post(JOBS, body, expect=201)
    org.client(user=two).refused("POST", JOBS, 400, "print_job.no_printer", body=body)
    org.client(user=two).refused("POST", JOBS, 404, "not_found", body={**body, "print_station_id": shop.station["id"]})


def test_sources(shop):
    text = {"configuration": {"paper_size": "label_4x6"}}
    assert shop.make(data=uri(pdf()))["document"]["content_type"] == "application/pdf"
    assert shop.make(data="data:text/plain,Hello%20there%0Ayou", **text)["document"]["content_type"] == "text/plain"
    assert shop.make(png(812, 1218, 203))["document"]["content_type"] == "image/png"
    for data in ("!!!!", "data:application/pdf;base64", b64(pdf())[:-3] + "*", "AAAA=AAA"):
        shop.refuse(400, "print_job.document_invalid", ["data"], data=data)
    shop.refuse(400, "file.protocol", ["data"], data="http://example.com/a.pdf")
    shop.refuse(400, "file.protocol", ["data"], data="ftp://example.com/a.pdf")
    shop.refuse(400, "file.url", ["data"], data="https://169.254.169.254/latest/meta-data")
    shop.refuse(400, "file.hostname", ["data"], data="https://printer.local/a.pdf")
    shop.refuse(400, "file.url", ["data"], data="https://a b/")
    shop.refuse(400, "file.too_large", document=bytes(26 << 20))


@pytest.mark.parametrize("document, why", [
    (b"%PDF-1.4\nnothing", "damaged"), (pdf()[:300], "damaged"), (b"\x00\x01\x02\x03" * 50, "type"), (pdf(pages=2001), "2001 pages"),
    (documents.loop(), "damaged"), (documents.objects("<< /Type /Catalog >>"), "no pages"), (pdf(width=2000, height=2000), "large"),
    (b"GIF89a" + bytes(50), "damaged"), (documents.gif()[:90], "damaged"), (documents.webp()[:40], "damaged"), (documents.tiff()[:3000], "damaged"),
    (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"), (documents.gif().replace(b"(\0<\0", b"\xff\xff\xff\xff"), "pixels"), (documents.wide_png(60000), "pixels"), (png(4, 4)[:47], "damaged"),
    (b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(40), "damaged"), ("Dock مرحبا".encode(), "U+0645"), ("日本".encode(), "U+65E5"), ("e\u0301".encode(), "U+0301"), ("a\u202eb".encode(), "U+202E"), ("\U0001f4e6".encode(), "U+1F4E6"), ("שלום".encode(), "U+05E9"),
])
def test_documents_that_are_no_good(shop, document, why):
    assert why in shop.refuse(400, "print_job.document_invalid", ["data"], document=document, configuration={"paper_size": "label_4x6"}).message


@pytest.mark.parametrize("make, type, size", [
    (documents.webp, "image/webp", None), (documents.gif, "image/gif", None), (lambda: documents.gif(True), "image/gif", None),
    (lambda: documents.tiff(per_inch=10), "image/tiff", (4, 6)), (lambda: documents.tiff(per_inch=20, packed=True), "image/tiff", (2, 3)),
])
def test_other_images(shop, make, type, size):
    """A blue square in the middle of nothing: half of the width, a third of the height."""
    job = shop.make(make(), configuration={"paper_size": "label_4x6"})
    d = job["document"]
    assert (d["content_type"], d["pages"]) == (type, 1) and (d["width"], d["height"]) == (size or (None, None))
    paper = shop.paper(job)
    wanted = (72, 144, 216, 288) if size != (2, 3) else (108, 180, 180, 252)
    assert box(paper) == [(288, 432)] and all(abs(a - b) <= 2 for a, b in zip(ink(paper)[0], wanted))  # edges between dots are soft
    if not size:
        shop.refuse(400, "print_job.paper_size_required", document=make())


def test_a_tiff_of_three_pages(shop):
    job = shop.make(documents.tiff(pages=3), configuration={"print_all_pages": False, "page_ranges": "2-"})
    assert job["document"]["pages"] == 3 and job["configuration"]["paper_size"] == "page_size_label_4x6" and box(shop.paper(job)) == [(288, 432)] * 2


# ---- paper sizes ----

@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_detected(org, name):
    s = SIZES[name]
    everything = getattr(test_sizes_are_detected, "shop", None) or Shop(org, "Everything", printer(page_size={n: True for n in SIZES}))
    test_sizes_are_detected.shop = everything
    found = everything.make(pdf(s["width"] + 0.05, s["height"] - 0.05))
    twin_of_page = {"label_8_5x11": "letter"}.get(name, name)
    assert found["configuration"]["paper_size"] == "page_size_" + twin_of_page and found["document"]["paper_size_detected"] is True
    assert box(everything.paper(found)) == [(pytest.approx(s["width"] * 72, abs=0.02), pytest.approx(s["height"] * 72, abs=0.02))]


def size_of(shop, *args, **more):
    c = shop.make(pdf(*args, **more))["configuration"]
    return c["paper_size"].removeprefix("page_size_"), c["orientation"]


def test_detection(org, shop):
    assert size_of(shop, 6, 4) == ("label_4x6", "landscape")
    assert size_of(shop, 4.06, 6) == ("label_4x6", "portrait")
    for width, height in ((4.07, 6), (5, 5), (20, 20)):
        shop.refuse(400, "print_job.paper_size_required", ["configuration.paper_size"], document=pdf(width, height))
    shop.refuse(400, "print_job.paper_size_required", ["configuration.paper_size"], data="data:text/plain,Hello")
    shop.refuse(400, "print_job.paper_size_required", ["configuration.paper_size"], document=png(400, 600))
    sheets = Shop(org, "Sheets", printer(page_size={"letter": True, "label_1x2": True}), printer("L", page_size={"label_8_5x11": True}))
    assert size_of(sheets, 8.5, 11) == ("letter", "portrait") and size_of(sheets, 2, 1) == ("label_1x2", "landscape")
    labels = Shop(org, "Labels", printer(page_size={"label_8_5x11": True, "label_2x1": True, "label_1x2": True}))
    assert size_of(labels, 8.5, 11) == ("label_8_5x11", "portrait") and size_of(labels, 2, 1) == ("label_2x1", "portrait")


@pytest.mark.parametrize("more", [
    {"page": "/CropBox [72 72 360 504]", "width": 8.5, "height": 11}, {"page": "/Rotate 90", "width": 6, "height": 4}, {"page": "/Rotate -90", "width": 6, "height": 4},
    {"page": "/UserUnit 2", "width": 2, "height": 3}, {"node": "/MediaBox [0 0 288 432]", "boxes": False}, {"page": "/CropBox [-50 -50 900 900]"},
])
def test_boxes_of_pdf(shop, more):
    d = shop.make(pdf(**more))
    assert (d["document"]["width"], d["document"]["height"]) == (4, 6) and d["configuration"]["paper_size"] == "page_size_label_4x6"
    assert box(shop.paper(d)) == [(288, 432)]


def test_encrypted(shop, tmp_path):
    (tmp_path / "plain.pdf").write_bytes(pdf())
    for user, good in (("", True), ("secret", False)):
        subprocess.run(["qpdf", "--encrypt", user, "owner", "256", "--", tmp_path / "plain.pdf", tmp_path / "locked.pdf"], check=True)
        locked = (tmp_path / "locked.pdf").read_bytes()
        if good:
            assert box(shop.paper(shop.make(locked))) == [(288, 432)]
        else:
            assert "encrypted" in shop.refuse(400, "print_job.document_invalid", ["data"], document=locked).message


def test_object_streams(shop, tmp_path):
    (tmp_path / "plain.pdf").write_bytes(pdf())
    subprocess.run(["qpdf", "--object-streams=generate", tmp_path / "plain.pdf", tmp_path / "packed.pdf"], check=True)
    assert size_of(shop) == ("label_4x6", "portrait") and shop.make((tmp_path / "packed.pdf").read_bytes())["document"]["width"] == 4


def test_mixed_sizes(shop):
    one = pdf(pages=2).replace(b"/MediaBox [0 0 288 432]", b"/MediaBox [0 0 288 500]", 1)
    d = shop.make(one, configuration={"paper_size": "label_4x6"})
    assert d["document"]["mixed_sizes"] is True and d["document"]["pages"] == 2 and box(shop.paper(d)) == [(288, 432)] * 2


# ---- the prepared document ----

def placed(shop, document=None, dpi=72, page=1, **configuration):
    """Where the ink is, of a square of two inches in the middle of 4 by 6 inches."""
    return ink(shop.paper(shop.make(document, configuration={"paper_size": "label_4x6", **configuration})), dpi, page)


def near(found, wanted, by=1):
    return all(abs(a - b) <= by for a, b in zip(found, wanted))


@pytest.mark.parametrize("scaling, side", [(1, 2), (0.5, 1), (2, 4), (0.25, 0.5), (1.25, 2.5)])
def test_scaling(shop, scaling, side):
    found, size = placed(shop, dpi=203, scaling=scaling)
    half = side / 2
    assert size == (812, 1218) and near(found, [203 * v for v in (2 - half, 3 - half, 2 + half, 3 + half)])


def test_fit_and_clip(shop):
    wide = pdf(8, 6, content=b"0 g 0 0 576 432 re f")
    assert near(placed(shop, wide, orientation="portrait")[0], (0, 0, 288, 432))  # as it is: the sides are cut off
    assert near(placed(shop, wide, fit="shrink", orientation="portrait")[0], (0, 108, 288, 324))
    assert near(placed(shop, wide, fit="fill", orientation="portrait")[0], (0, 0, 288, 432))
    small = pdf(1, 1, content=b"0 g 0 0 72 72 re f")
    assert near(placed(shop, small)[0], (108, 180, 180, 252))
    assert near(placed(shop, small, fit="fit")[0], (0, 72, 288, 360)) and near(placed(shop, small, fit="shrink")[0], (108, 180, 180, 252))


def test_rotation_and_orientation(shop):
    corner = pdf(content=b"0 g 0 0 72 36 re f")  # lower left
    assert near(placed(shop, corner)[0], (0, 396, 72, 432))
    assert near(placed(shop, corner, rotate=180)[0], (216, 0, 288, 36))
    turned = placed(shop, corner, rotate=90, fit="fit", orientation="landscape")[0]
    assert near(turned, (0, 396, 72, 432), 2)  # turned clockwise, and the canvas back
    lying = pdf(6, 4, content=b"0 g 0 0 72 36 re f")
    assert near(placed(shop, lying)[0], (252, 360, 288, 432))  # landscape: counter-clockwise, its lower left is at the lower right


def test_page_ranges(shop):
    def pages(ranges):
        return len(box(shop.paper(shop.make(pdf(pages=9), configuration={"print_all_pages": False, "page_ranges": ranges}))))
    assert pages("1-3,5,8-") == 6 and pages("9") == 1 and pages("2 - 4 , 4") == 3 and pages("8-99,200") == 2
    assert len(box(shop.paper(shop.make(pdf(pages=9), configuration={"page_ranges": "1"})))) == 9


def test_images(shop):
    found, _ = ink(shop.paper(shop.make(png(203, 203, 203), configuration={"paper_size": "label_4x6"})))
    assert near(found, (108, 180, 180, 252))  # one inch
    found, _ = ink(shop.paper(shop.make(png(100, 100), configuration={"paper_size": "label_4x6"})))
    assert near(found, (0, 72, 288, 360))  # of unknown size: fitted


def test_text(shop):
    d = shop.make(data="data:text/plain;base64," + b64("Grüße\n\tand €\n".encode() + b"line\n" * 100), configuration={"paper_size": "label_4x6"})
    out = subprocess.run(["pdftotext", "-layout", "-", "-"], input=shop.paper(d), capture_output=True, check=True).stdout.decode()
    assert "Grüße" in out and "and €" in out and out.count("line") == 100 and d["document"]["pages"] == out.count("\f") > 1


def test_text_beyond_western_europe(shop):
    """In a font that the document carries along, which every reader can draw and copy from."""
    words = ["Žluťoučký kůň", "Γειά σου Κόσμε", "Съешь ещё этих", "Łódź €5 → ✓", "Güneş ışığı"]
    d = shop.make(data="data:text/plain;base64," + b64(("\n".join(words) + "\n" + "ř\tč\n" * 60).encode()), configuration={"paper_size": "label_4x6"})
    paper = shop.paper(d)
    out = subprocess.run(["pdftotext", "-layout", "-", "-"], input=paper, capture_output=True, check=True).stdout.decode()
    assert all(w in out for w in words) and out.count("ř") == out.count("č") - 1 == 60 and d["document"]["pages"] == out.count("\f") == 2
    fonts = subprocess.run(["pdffonts", "-"], input=paper, capture_output=True, check=True).stdout.decode().splitlines()[2:]
    assert len(fonts) == 1 and "DejaVuSansMono" in fonts[0] and "yes" in fonts[0] and len(paper) < 400_000
    narrow = shop.make(data="data:text/plain;base64," + b64("Grüße".encode()), configuration={"paper_size": "label_4x6"})
    assert len(shop.paper(narrow)) < 3000  # no font where none is needed
    one, other = (shop.make(data="data:text/plain;base64," + b64(t.encode()), configuration={"paper_size": "label_4x6"}) for t in ("HHHHHHHH", "НННННННН"))
    assert near(ink(shop.paper(one))[0], ink(shop.paper(other))[0], 3)  # where it stands is the same


def test_annotations_are_printed(shop):
    stamp = documents.objects(
        "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 288 432] /Annots [4 0 R] >>",
        "<< /Type /Annot /Subtype /Stamp /Rect [72 72 144 144] /F 4 /AP << /N 5 0 R >> >>",
        documents.stream(b"0 g 0 0 10 10 re f", "/Type /XObject /Subtype /Form /BBox [0 0 10 10]"))
    assert near(placed(shop, stamp)[0], (72, 288, 144, 360))


# ---- capability and choice ----

def test_named_printer_must_be_able(org):
    s = Shop(org, "Able", printer(page_size={"label_4x6": True}))
    named = {"print_station_id": s.station["id"], "printer_name": "Zebra"}
    s.refuse(400, "print_job.unsupported", ["configuration.paper_size", "configuration.color_print"], **named, configuration={"paper_size": "a4", "color_print": True})
    s.refuse(400, "print_job.unsupported", ["configuration.double_sided"], document=pdf(pages=2), **named, configuration={"double_sided": True})
    s.make(**named, configuration={"double_sided": True})  # one page needs no second side
    s.refuse(400, "print_job.unsupported", ["raw"], **named, data="data:,^XA^XZ", raw=True, configuration={"paper_size": "label_4x6"})
    told = s.refuse(400, "print_job.no_printer", configuration={"paper_size": "a4"}).message
    assert "a4 is asked for, there is label_4x6" in told, told
    custom = s.make(**named, configuration={"paper_size": "page_size_custom"}, custom_dimensions={"width": 3.3, "height": 1.1})
    assert custom["configuration"]["paper_size"] == "page_size_custom" and custom["custom_dimensions"] == {"width": 3.3, "height": 1.1}
    assert box(s.paper(custom)) == [(pytest.approx(3.3 * 72, abs=0.01), pytest.approx(1.1 * 72, abs=0.01))]


def test_raw(org):
    s = Shop(org, "Raw", printer(languages=["zpl", "epl"]))
    zpl = "data:," + "%5EXA%5EFO50,50%5EFDHello%5EFS%5EXZ"
    d = s.make(data=zpl, raw=True, configuration={"paper_size": "label_4x6"})
    assert d["raw"] is True and s.paper(d) == b"^XA^FO50,50^FDHello^FS^XZ" and d["document"]["pages"] is None
    assert s.make(data="data:,N%0Aq812%0A", raw=True, configuration={"paper_size": "label_4x6"})["raw"]
    s.refuse(400, "print_job.document_invalid", ["content_type"], data="data:,hello", raw=True, configuration={"paper_size": "label_4x6"})
    assert s.make(data="data:,hello", raw=True, content_type="application/vnd.zebra-zpl", configuration={"paper_size": "label_4x6"})
    s.refuse(400, "print_job.no_printer", data="data:,SIZE 4,6", raw=True, configuration={"paper_size": "label_4x6"})


def test_choice(org):
    s = Shop(org, "Choice", printer("A"), printer("B", configuration={"priority": 1}), printer("C", status="offline"))
    first = [s.make()["printer_name"] for _ in range(4)]
    assert first == ["B", "A", "B", "A"]  # fewest jobs, then priority; what is offline comes last
    assert s.make()["routing"] == {"automatic": True, "candidates": 3, "reason": "printer priority"}
    assert s.make(print_station_id=s.station["id"], printer_name="C")["routing"]["reason"] == "named printer"
    s.refuse(409, "print_station.offline", print_station_id=s.station["id"], printer_name="C", require_online=True)
    s.client.post(s.path, {"status": "offline"}, expect=200)
    assert s.make()["routing"]["reason"] == "all candidates offline"
    s.refuse(409, "print_station.offline", require_online=True)


def test_pools(org):
    s = Shop(org, "Pool", printer("A"), printer("B"), configuration={"pooling_enabled": True})
    made = [s.make() for _ in range(3)]
    assert [m["pool"] for m in made] == [True] * 3 and made[0]["printer_name"] is None and made[0]["printer"]["model"] == "ZD421"
    s.open()
    got = s.claim(max=5)
    assert [j["id"] for j in got] == [m["id"] for m in made[:2]] and {j["printer_name"] for j in got} == {"A", "B"}
    s.report(got[0], status="completed")
    assert [j["id"] for j in s.claim(max=5)] == [made[2]["id"]]


# ---- legacy values ----

@pytest.mark.parametrize("stored, read", [(100, 1), (25, 0.25), (24, 3), (24.9, 3), (300, 3), (301, 3), (0.2, 0.25), (0.1, 0.25), (10, 3), (-5, 0.25), (None, 1),
                                          (0.25, 0.25), (3, 3), (1.5, 1.5), (150, 1.5), (0, 0.25)])
def test_stored_scaling(shop, stored, read):
    d = shop.make()
    shop.org.server.sql("UPDATE stations.print_job SET configuration = jsonb_set(configuration, '{scaling}', %s::jsonb) WHERE id = %s", json.dumps(stored), d["id"])
    assert shop.get(d)["configuration"]["scaling"] == read


def test_timeout_is_no_status(shop):
    shop.client.refused("GET", JOBS + "?status=timeout", 400, "param.invalid", ["status"])
    shop.no(shop.make(), 400, "validation.failed", ["status"], status="timeout")


# ---- states ----

def test_the_way_through_a_session(org):
    s = Shop(org, "Way")
    s.open()
    made = s.make()
    job, = s.claim()
    assert job["id"] == made["id"] and job["status"] == "processing" and job["stage"] == "claimed" and job["attempt"] == 1 and ISO.match(job["lease_expires_at"])
    document = requests.get(s.client.server.base + job["document_url"])
    assert hashlib.sha256(document.content).hexdigest() == job["document_sha256"] and box(document.content) == [(288, 432)] and s.claim() == []
    assert s.report(job, status="processing", stage="submitting")["submitted_at"]
    s.report(job, stage="printing", progress={"pages_completed": 1}, printer_state_reasons=["media-low"])
    assert s.report(job, stage="claimed")["stage"] == "printing"  # bytes that went out do not come back
    s.report(job, stage="blocked")
    d = s.report(job, status="completed", confidence="device")
    assert d["status"] == "completed" and d["confidence"] == "device" and d["completed_at"] and d["stage"] is None
    assert d["progress"]["pages_completed"] == 1 and d["printer_state_reasons"] == ["media-low"]
    assert s.told(job) == ["created", "updated", "updated", "completed"]
    assert s.org.events(job["id"], "print_job.completed")[0][1]["previous_status"] == "processing"
    assert [(h["status"], h["stage"]) for h in s.get(job, "?include_history=true")["history"]] == [
        ("queued", None), ("processing", "claimed"), ("processing", "submitting"), ("processing", "printing"), ("processing", "blocked"), ("completed", None)]


@pytest.mark.parametrize("status, more, event", [("completed", {}, "completed"), ("failed", {"reason": "jam"}, "failed"), ("unreported", {}, "unreported")])
def test_apps_without_sessions(shop, status, more, event):
    d = shop.make()
    assert shop.update(d, status=status, **more)["attempt"] == 1 and shop.told(d) == ["created", event]
    d = shop.make()
    shop.update(d, status="processing")
    assert shop.update(d, status=status, **more)["confidence"] == ("assumed" if status == "completed" else None)


def test_failed_needs_a_reason(shop):
    d = shop.make()
    for reason in (None, "no", "x" * 1024):
        shop.no(d, 400, "validation.failed", ["reason"], status="failed", reason=reason)
    shop.update(d, status="failed", reason="jam")
    assert shop.get(d)["reason"] == "jam"


def test_every_other_transition_is_refused(shop):
    states = {"queued", "processing", "completed", "failed", "canceled", "aborted", "unreported", "timed_out"}
    allowed = {"queued": {"processing", "completed", "failed", "unreported", "canceled"}, "processing": {"completed", "failed", "unreported", "canceled"},
               "timed_out": {"completed", "failed"}, "unreported": {"completed", "failed"}}
    for start in states:
        d = shop.make()
        for to in sorted(states - allowed.get(start, set()) - {start}):
            shop.org.server.sql("UPDATE stations.print_job SET status = %s WHERE id = %s", start, d["id"])
            a = shop.no(d, 409, "print_job.invalid_transition", ["status"], status=to, reason="why not")
            assert start in a.message and to in a.message
        note_job(shop.org.server, d["id"])
        before = shop.get(d)
        assert {k: v for k, v in shop.update(d, status=start, reason="again").items() if k != "updated_at"} == {k: v for k, v in before.items() if k != "updated_at"}


def test_doubt_is_settled_by_people(shop):
    d = shop.make()
    shop.update(d, status="unreported", reason="who knows")
    assert shop.update(d, status="completed")["confidence"] == "operator" and shop.told(d)[-2:] == ["unreported", "completed"]


def test_cancel(org):
    s = Shop(org, "Cancel")
    d = s.make()
    assert s.update(d, status="canceled")["status"] == "canceled" and s.told(d)[-1] == "canceled"
    s.no(d, 409, "print_job.invalid_transition", ["status"], status="completed")
    s.open()
    s.make()
    job, = s.claim()
    asked = s.update(job, status="canceled")
    assert asked["status"] == "processing" and asked["cancel_requested_at"]
    assert s.client.post(s.path + "/heartbeat", {"session_id": s.session}, expect=200).data["cancel"] == [job["id"]]
    assert s.report(job, status="canceled")["status"] == "canceled"
    s.make()
    job, = s.claim()
    s.no(job, 409, "print_job.invalid_transition", ["status"], status="canceled", session_id=s.session, attempt=1)
    assert s.report(job, status="canceled", reason_code="canceled_at_printer")["reason_code"] == "canceled_at_printer"


def test_reports_of_others(org):
    s = Shop(org, "Others")
    s.open()
    made = s.make()
    old, job = s.session, s.claim()[0]
    s.open()  # takes over: what nobody submitted is queued again
    assert s.get(made)["status"] == "queued"
    s.no(job, 409, "print_job.session_mismatch", ["session_id"], status="completed", session_id=old, attempt=1)
    job, = s.claim()
    assert job["attempt"] == 2
    s.no(job, 409, "print_job.session_mismatch", ["attempt"], status="completed", session_id=s.session, attempt=1)
    s.no(job, 409, "print_job.session_mismatch", ["session_id"], status="completed", attempt=2)
    assert s.get(job)["status"] == "processing"
    s.client.refused("POST", s.path + "/claim", 409, "print_station.session_superseded", body={"session_id": old})
    s.client.refused("POST", s.path + "/heartbeat", 409, "print_station.session_superseded", body={"session_id": old})
    s.client.refused("POST", s.path + "/release", 409, "print_station.session_superseded", body={"session_id": old, "jobs": [{"id": job["id"], "attempt": 2}]})
    s.client.refused("POST", s.path + "/sessions", 409, "print_station.session_active", body={"takeover": False})


def test_give_back(org):
    s = Shop(org, "Back")
    s.open()
    made = s.make(max_attempts=2)
    for _ in range(2):
        job, = s.claim()
        assert s.client.post(s.path + "/release", {"session_id": s.session, "jobs": [{"id": job["id"], "attempt": job["attempt"]}]}, expect=200).data == {"released": 1}
    d = s.get(made)
    assert d["status"] == "failed" and d["reason_code"] == "station_lost" and s.told(made)[-1] == "failed"
    s.make()
    job, = s.claim()
    s.report(job, stage="submitting")
    s.client.post(s.path + "/release", {"session_id": s.session, "jobs": [{"id": job["id"], "attempt": 1}]}, expect=200)
    assert s.get(job)["status"] == "processing"  # bytes may be out


def test_waiting_jobs_change(org):
    s = Shop(org, "Change", printer("A"), printer("B"), printer("C", page_size={"a4": True}))
    d = s.make(print_station_id=s.station["id"], printer_name="A")
    up = s.update(d, priority=90, expire_after=60, print_station_id=s.station["id"], printer_name="B")
    assert up["priority"] == 90 and up["printer"]["name"] == "B" and up["expires_at"] < d["expires_at"] and s.told(d)[-1] == "updated"
    s.no(d, 400, "print_job.unsupported", ["configuration.paper_size"], printer_name="C")
    s.no(d, 400, "validation.failed", ["printer_name"], printer_name="Nobody")
    s.update(d, status="processing")
    s.no(d, 409, "print_job.invalid_transition", ["status"], priority=1)


def test_queue_order(org):
    s = Shop(org, "Order", printer("A", configuration={"spooling": True}), configuration={"max_inflight": 3})
    made = [s.make(priority=p) for p in (10, 90, 50, 90)]
    s.open()
    assert [j["id"] for j in s.claim(max=16)] == [made[i]["id"] for i in (1, 3, 2)]  # no more than max_inflight
    assert s.claim(max=16) == []


def test_each_is_claimed_once(org):
    s = Shop(org, "Crowd", *[printer(f"P{i}", configuration={"spooling": True}) for i in range(8)], configuration={"max_inflight": 64})
    made = {s.make()["id"] for _ in range(60)}
    s.open()

    def claim(_):
        client = s.client.__class__(s.client.server, s.client.key)
        return [j["id"] for j in client.post(s.path + "/claim", {"session_id": s.session, "max": 3}, expect=200).data["jobs"]]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        got = [i for ids in pool.map(claim, range(40)) for i in ids]
    assert len(got) == len(set(got)) and set(got) == made


# ---- printers that go ----

def test_removed_printers_abort_what_waits(org):
    s = Shop(org, "Removal", printer("A"), printer("B"))
    waits = [s.make(print_station_id=s.station["id"], printer_name="A") for _ in range(2)]
    s.update(waits[0], status="processing")
    other = s.make(print_station_id=s.station["id"], printer_name="B")
    assert s.client.get(s.path + "?include_print_jobs_count=true").data["print_jobs_count"] == 3
    s.client.post(s.path, {"printers": [printer("B")]}, expect=200)
    assert [s.get(j)["status"] for j in (*waits, other)] == ["processing", "aborted", "queued"]
    assert [s.get(j)["printer"]["name"] for j in (*waits, other)] == ["A", "A", "B"]  # the history of jobs names printers that are gone
    assert s.get(waits[1])["reason_code"] == "printer_removed" and s.told(waits[1])[-1] == "aborted"
    s.client.delete(s.path)
    assert s.get(other)["status"] == "aborted" and s.get(other)["reason_code"] == "station_deleted" and s.get(waits[0])["cancel_requested_at"]


# ---- reprint, document, delete, list ----

def test_reprint(shop):
    d = shop.make(name="Once", priority=70, metadata={"a": 1})
    again = shop.client.post(f"{JOBS}/{d['id']}/reprint", {"configuration": {"scaling": 0.5}, "priority": 3}, expect=201).data
    assert again["reprint_of"] == d["id"] and again["name"] == "Once" and again["priority"] == 3 and again["metadata"] == {"a": 1}
    assert again["configuration"] == {**d["configuration"], "scaling": 0.5} and shop.get(d)["reprints"] == 1
    assert near(ink(shop.paper(again))[0], (108, 180, 180, 252))
    assert [j["id"] for j in shop.client.get(f"{JOBS}?reprint_of={d['id']}").data] == [again["id"]]
    shop.client.refused("POST", f"{JOBS}/prnt_job_0000000000000000000000/reprint", 404, "not_found", body={})


def test_delete(shop):
    d = shop.make()
    shop.client.refused("DELETE", f"{JOBS}/{d['id']}", 409, "print_job.not_final")
    shop.update(d, status="canceled")
    shop.client.delete(f"{JOBS}/{d['id']}")
    shop.client.refused("GET", f"{JOBS}/{d['id']}", 404, "not_found")
    assert shop.told(d)[-1] == "updated"
    files = shop.org.server.sql("SELECT source_file, prepared_file FROM stations.print_job WHERE id = %s", d["id"])[0]
    assert shop.org.server.sql("SELECT count(*) FROM wharf.file WHERE id = ANY (%s)", list(files))[0][0] == 0


def test_test_page(shop):
    p = shop.station["printers"][0]["id"]
    d = shop.client.post(f"{shop.path}/printers/{p}/test-page", {}, expect=201).data
    assert d["configuration"]["paper_size"] == "page_size_label_4x6" and ink(shop.paper(d))
    shop.client.refused("POST", f"{shop.path}/printers/0c84e4b9-0000-4000-8000-000000000000/test-page", 404, "not_found", body={})


def test_list(org):
    s = Shop(org, "List", printer("A"), printer("B", page_size={"a4": True}))
    a = s.make(name="Alpha", priority=9, resource={"type": "location", "id": s.location["id"]}, metadata={"k": "v"}, print_station_id=s.station["id"], printer_name="A")
    b = s.make(pdf(8.27, 11.69), name="Beta")
    s.update(b, status="completed")
    here = f"location_id={s.location['id']}"

    def ids(query):
        return [j["id"] for j in s.client.get(f"{JOBS}?{here}&{query}").data]
    for query, found in (("x=1", [b, a]), ("direction=asc", [a, b]), ("status=queued", [a]), ("status=queued,completed", [b, a]), ("printer_name=B", [b]),
                         (f"printer_id={a['printer']['id']}", [a]), (f"print_station_id={s.station['id']}", [b, a]), ("paper_size=page_size_a4", [b]),
                         ("resource_type=location", [a]), (f"resource_id={s.location['id']}", [a]), ("metadata[k]=v", [a]), ("search=alph", [a]),
                         ("order_by=name&direction=asc", [a, b]), ("order_by=priority&direction=asc", [a, b]), ("order_by=status&direction=asc", [b, a]),
                         ("order_by=updated_at", [b, a]), ("completed_at[gte]=2020-01-01T00:00:00Z", [b]), (f"created_by={a['created_by']}", [b, a])):
        assert ids(query) == [j["id"] for j in found], query


def test_two_at_once_spread(org):
    s = Shop(org, "Spread", *[printer(f"P{i}") for i in range(4)])

    def make(_):
        client = s.client.__class__(s.client.server, s.client.key)
        return client.post(JOBS, {"location_id": s.location["id"], "data": b64(pdf())}, expect=201).data["printer_name"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        names = list(pool.map(make, range(12)))
    assert sorted(names) == sorted(f"P{i}" for i in range(4) for _ in range(3))
