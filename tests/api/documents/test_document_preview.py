"""Pictures of documents: spec 05 section 3.6. Images are made and read with Pillow, PDF by hand."""
import io
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import zlib

import pytest
import requests
from PIL import Image, ImageDraw

from document_files import DOCUMENTS, PNG, announce, b64, get, make, pdf, post, together
from s3 import Store
from wharf import WAIT, Server, make_location, until

RED, GREEN, BLUE, BLACK, WHITE = (255, 0, 0), (0, 128, 0), (0, 0, 255), (0, 0, 0), (255, 255, 255)


def preview(client, row, query="", method="GET", **headers):
    return requests.request(method, f"{client.server.base}{DOCUMENTS}/{row['id']}/preview{query}", headers={"SVC-API-KEY": client.key, **headers}, timeout=WAIT)


def picture(client, row, query=""):
    """The picture, after looking at the answer."""
    r = preview(client, row, query)
    assert (r.status_code, r.headers.get("Content-Type"), r.headers.get("Cache-Control")) == (200, "image/png", "private, max-age=0"), r.text[:300]
    image = Image.open(io.BytesIO(r.content))
    assert (image.format, image.mode) == ("PNG", "RGB")
    return image


def refused(client, row, status, code, errors=None, query=""):
    return client.refused("GET", f"{DOCUMENTS}/{row['id']}/preview{query}", status, code, errors)


def near(image, x, y, colour, by=24):
    """The dot at this part (0 to 1) of the picture has about this colour."""
    dot = image.getpixel((min(image.width - 1, int(x * image.width)), min(image.height - 1, int(y * image.height))))
    return all(abs(a - b) <= by for a, b in zip(dot, colour)) or f"{dot} at {x}, {y}"


def dark(image, box=None):
    """How many dots are dark."""
    return sum(1 for dot in image.crop(box or (0, 0, *image.size)).convert("L").getdata() if dot < 128)


def drawn(*pages, more="", objects=()):
    """A PDF of pages: what stands in the page's dictionary, and its content."""
    kids = " ".join(f"{3 + 2 * i} 0 R" for i in range(len(pages)))
    out = [b"<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode()]
    for i, (about, content) in enumerate(pages):
        content = content if isinstance(content, bytes) else content.encode()
        out.append(f"<< /Type /Page /Parent 2 0 R {about} /Contents {4 + 2 * i} 0 R >>".encode())
        out.append(b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), more.encode(), content))
    whole, places = b"%PDF-1.7\n", []
    for i, o in enumerate([*out, *objects], 1):
        places.append(len(whole))
        whole += b"%d 0 obj\n%s\nendobj\n" % (i, o)
    table = "".join(f"{p:010} 00000 n \n" for p in places)
    return whole + f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(places) + 1} /Root 1 0 R >>\nstartxref\n{len(whole)}\n%%EOF\n".encode()


def quarters(width=200, height=100, box="", turn=0):
    """A page whose lower left is red, lower right green, upper left blue; the upper right is bare."""
    w, h = width / 2, height / 2
    about = f"/MediaBox [0 0 {width} {height}] {box} /Rotate {turn}"
    return about, f"1 0 0 rg 0 0 {w} {h} re f 0 0.5 0 rg {w} 0 {w} {h} re f 0 0 1 rg 0 {h} {w} {h} re f"


def coloured(width=80, height=40, mode="RGB"):
    """An image with the same quarters; the upper right one is white, or clear."""
    image = Image.new(mode, (width, height), (0, 0, 0, 0) if mode == "RGBA" else WHITE)
    draw = ImageDraw.Draw(image)
    w, h = width // 2, height // 2
    draw.rectangle((0, h, w - 1, height), RED)
    draw.rectangle((w, h, width, height), GREEN)
    draw.rectangle((0, 0, w - 1, h - 1), BLUE)
    return image


def saved(image, format, **more):
    out = io.BytesIO()
    image.save(out, format, **more)
    return out.getvalue()


def corners(image, upper_left, upper_right, lower_left, lower_right):
    for x, y, colour in ((0.2, 0.2, upper_left), (0.8, 0.2, upper_right), (0.2, 0.8, lower_left), (0.8, 0.8, lower_right)):
        assert near(image, x, y, colour) is True, near(image, x, y, colour)


def rows(server, row):
    return server.sql("SELECT p.number, p.page, p.width, p.file_id FROM documents.preview p WHERE document_id = %s ORDER BY p.number, p.page, p.width", row["id"])


# ---- PDF ----


def test_a_page_of_a_pdf(client):
    """Spec 05 section 3.6: width in pixels, 400 without; the height follows; any page."""
    row = make(client, drawn(quarters(), ("/MediaBox [0 0 100 300]", "0 0 1 rg 0 0 100 300 re f")))
    for query, size in (("", (400, 200)), ("?width=16", (16, 8)), ("?width=2000", (2000, 1000)), ("?page=2&width=50", (50, 150))):
        assert picture(client, row, query).size == size
    corners(picture(client, row), BLUE, WHITE, RED, GREEN)
    assert near(picture(client, row, "?page=2"), 0.5, 0.5, BLUE) is True
    refused(client, row, 400, "param.invalid", ["page"], "?page=3")


@pytest.mark.parametrize("turn, expected", [(90, (RED, BLUE, GREEN, WHITE)), (180, (GREEN, RED, WHITE, BLUE)), (270, (WHITE, GREEN, BLUE, RED)), (-90, (WHITE, GREEN, BLUE, RED))])
def test_a_page_is_turned_as_it_says(client, turn, expected):
    image = picture(client, make(client, drawn(quarters(turn=turn))), "?width=100")
    assert image.size == ((100, 200) if turn % 180 else (100, 50))
    corners(image, *expected)


def test_a_page_is_cropped_as_it_says(client):
    """The crop box within the media box, as in printing."""
    image = picture(client, make(client, drawn(quarters(box="/CropBox [0 0 100 50]"))), "?width=80")
    assert image.size == (80, 40)
    corners(image, RED, RED, RED, RED)
    beyond = picture(client, make(client, drawn(quarters(box="/CropBox [100 -20 220 50]"))), "?width=80")
    assert beyond.size == (80, 40)
    corners(beyond, GREEN, GREEN, GREEN, GREEN)


def test_a_high_page_becomes_narrower(client):
    """At most 4,000 pixels high; a page of 14,400 points is one like others."""
    assert picture(client, make(client, pdf(1, 100, 14400)), "?width=400").size == (28, 4000)
    assert picture(client, make(client, pdf(1, 14400, 14400))).size == (400, 400)
    assert picture(client, make(client, pdf(1, 14400, 1)), "?width=100").size == (100, 1)


FONTS = ["Helvetica", "Helvetica-Bold", "Times-Roman", "Times-Italic", "Courier", "Courier-BoldOblique", "Symbol", "ZapfDingbats"]


@pytest.mark.parametrize("font", FONTS)
def test_text_without_its_font(client, font):
    """The fourteen fonts of every reader are there, though the cell opens no file."""
    about = f"/MediaBox [0 0 200 100] /Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /{font} >> >> >>"
    image = picture(client, make(client, drawn((about, "BT /F 40 Tf 10 30 Td (HEllo) Tj ET"))))
    assert dark(image) > 1000 and dark(image, (0, 0, 400, 60)) == 0
    bare = picture(client, make(client, drawn((about, "BT /F 40 Tf 10 30 Td () Tj ET"))))
    assert dark(bare) == 0


def test_text_of_a_font_that_nobody_has(client):
    """Fonts of East Asia that are not in the document leave their text out; the rest is there."""
    about = "/MediaBox [0 0 200 100] /Resources << /Font << /F << /Type /Font /Subtype /Type0 /BaseFont /HeiseiMin-W3 /Encoding /90ms-RKSJ-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /HeiseiMin-W3 /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> >>] >> >> >>"
    image = picture(client, make(client, drawn((about, "BT /F 40 Tf 10 30 Td <82A082A2> Tj ET 0 0 20 20 re f"))))
    assert near(image, 0.05, 0.95, BLACK) is True


def test_annotations_are_shown(client):
    about = "/MediaBox [0 0 100 100] /Annots [5 0 R]"
    look = b"<< /Type /XObject /Subtype /Form /BBox [0 0 10 10] /Length 25 >>\nstream\n1 0 0 rg 0 0 10 10 re f   \nendstream"
    stamp = b"<< /Type /Annot /Subtype /Stamp /Rect [50 50 100 100] /F %d /AP << /N 6 0 R >> >>"
    assert near(picture(client, make(client, drawn((about, ""), objects=(stamp % 4, look)))), 0.75, 0.25, RED) is True
    assert near(picture(client, make(client, drawn((about, ""), objects=(stamp % 2, look)))), 0.75, 0.25, WHITE) is True


# ---- images ----

FORMATS = {"image/png": ("PNG", {}), "image/jpeg": ("JPEG", {"quality": 95, "subsampling": 0}), "image/gif": ("GIF", {}), "image/webp": ("WEBP", {"lossless": True}), "image/tiff": ("TIFF", {"compression": "tiff_lzw"})}


@pytest.mark.parametrize("mime", FORMATS)
def test_an_image(client, mime):
    """Spec 05 section 3.6: not enlarged; made smaller to the width."""
    format, more = FORMATS[mime]
    row = make(client, saved(coloured(), format, **more), mime_type=mime)
    assert picture(client, row).size == (80, 40)
    corners(picture(client, row), BLUE, WHITE, RED, GREEN)
    row = make(client, saved(coloured(1200, 900), format, **more), mime_type=mime)
    assert (picture(client, row).size, picture(client, row, "?width=100").size, picture(client, row, "?width=2000").size) == ((400, 300), (100, 75), (1200, 900))
    corners(picture(client, row, "?width=100"), BLUE, WHITE, RED, GREEN)
    refused(client, row, 400, "param.invalid", ["page"], "?page=2")


def test_an_image_keeps_its_dots(client):
    """Where nothing is made smaller, each dot is as it was."""
    image = Image.frombytes("RGB", (64, 48), bytes(i * 37 % 256 for i in range(64 * 48 * 3)))
    for more in ({}, {"dpi": (300, 300)}):
        assert picture(client, make(client, saved(image, "PNG", **more))).tobytes() == image.tobytes()


@pytest.mark.parametrize("mime", ["image/png", "image/gif", "image/webp", "image/tiff"])
def test_transparency_is_white(client, mime):
    format = FORMATS[mime][0]
    image = coloured(mode="RGBA")
    if format == "GIF":
        data = saved(image.convert("P", palette=Image.ADAPTIVE), format, transparency=image.convert("P", palette=Image.ADAPTIVE).getpixel((70, 5)))
    else:
        data = saved(image, format, **({"lossless": True} if format == "WEBP" else {}))
    corners(picture(client, make(client, data)), BLUE, WHITE, RED, GREEN)
    half = Image.new("RGBA", (20, 20), (0, 0, 0, 128))
    if format in ("PNG", "WEBP"):
        assert near(picture(client, make(client, saved(half, format))), 0.5, 0.5, (127, 127, 127)) is True


SHOWN = {1: (BLUE, WHITE, RED, GREEN), 2: (WHITE, BLUE, GREEN, RED), 3: (GREEN, RED, WHITE, BLUE), 4: (RED, GREEN, BLUE, WHITE), 5: (BLUE, RED, WHITE, GREEN), 6: (RED, BLUE, GREEN, WHITE), 7: (GREEN, WHITE, RED, BLUE), 8: (WHITE, GREEN, BLUE, RED)}


@pytest.mark.parametrize("format", ["JPEG", "WEBP", "TIFF", "PNG"])
@pytest.mark.parametrize("orientation", SHOWN)
def test_orientation(client, format, orientation):
    """All eight of Exif and TIFF: turned and mirrored, also where the picture is made smaller."""
    exif = Image.Exif()
    exif[0x112] = orientation
    more = {"tiffinfo": {274: orientation}} if format == "TIFF" else {"exif": exif.tobytes()}
    row = make(client, saved(coloured(240, 120), format, **more))
    image = picture(client, row)
    assert image.size == ((240, 120) if orientation < 5 else (120, 240))
    corners(image, *SHOWN[orientation])
    small = picture(client, row, "?width=40")
    assert small.size == ((40, 20) if orientation < 5 else (40, 80))
    corners(small, *SHOWN[orientation])


def test_more_than_one_picture(client):
    """The first picture of a GIF and of a WebP that move; each page of a TIFF."""
    films = [coloured(), Image.new("RGB", (80, 40), BLACK)]
    for format in ("GIF", "WEBP"):
        row = make(client, saved(films[0], format, save_all=True, append_images=films[1:], duration=100))
        corners(picture(client, row), BLUE, WHITE, RED, GREEN)
        refused(client, row, 400, "param.invalid", ["page"], "?page=2")
    row = make(client, saved(films[0], "TIFF", save_all=True, append_images=[Image.new("RGB", (30, 60), RED)]))
    corners(picture(client, row), BLUE, WHITE, RED, GREEN)
    second = picture(client, row, "?page=2")
    assert second.size == (30, 60) and near(second, 0.5, 0.5, RED) is True
    refused(client, row, 400, "param.invalid", ["page"], "?page=3")


def test_other_kinds_of_dots(client):
    """Grey, palettes, black and white, 16 bits, inks; dots that are not square (a fax)."""
    for mode, format in (("L", "PNG"), ("P", "PNG"), ("1", "PNG"), ("1", "TIFF"), ("L", "JPEG"), ("CMYK", "JPEG"), ("CMYK", "TIFF"), ("LA", "PNG")):
        image = Image.new("L", (60, 30), 255)
        image.paste(0, (0, 0, 30, 30))
        shown = picture(client, make(client, saved(image.convert("RGB").convert(mode) if mode == "CMYK" else image.convert(mode), format)))
        assert shown.size == (60, 30) and near(shown, 0.25, 0.5, BLACK, 60) is True and near(shown, 0.75, 0.5, WHITE) is True, (mode, format)
    deep = Image.frombytes("I;16", (2, 1), b"\0\0\xff\xff")
    assert list(picture(client, make(client, saved(deep, "PNG"))).getdata()) == [BLACK, WHITE]
    assert picture(client, make(client, saved(Image.new("1", (204, 98), 1), "TIFF", dpi=(204, 98)))).size == (204, 204)


def test_a_high_image(client):
    assert picture(client, make(client, saved(Image.new("RGB", (100, 20000)), "PNG"))).size == (20, 4000)


def test_a_large_image(client):
    """36 million dots: made smaller before they travel."""
    data = saved(coloured(6000, 6000), "PNG")
    corners(picture(client, make(client, data), "?width=200"), BLUE, WHITE, RED, GREEN)
    corners(picture(client, make(client, saved(coloured(6000, 6000), "JPEG")), "?width=200"), BLUE, WHITE, RED, GREEN)


# ---- text ----


def test_text(client):
    """A letter's page, as it is printed; pages that follow too."""
    row = make(client, "".join(f"line {i}\n" for i in range(200)).encode(), mime_type="text/plain")
    first = picture(client, row)
    assert first.size == (400, 518) and dark(first) > 500
    last = picture(client, row, "?page=4")
    assert 0 < dark(last) < dark(first) and dark(last, (0, 259, 400, 518)) == 0
    refused(client, row, 400, "param.invalid", ["page"], "?page=5")
    assert dark(picture(client, make(client, "Žluťoučký kůň, Ωμέγα\n".encode()))) > 30
    assert dark(picture(client, make(client, b"a long one " * 2_000_000))) > 500
    assert "UTF-8" in refused(client, make(client, b"\xe4 is no UTF-8", mime_type="text/plain"), 400, "document.preview_failed").raw.json()["message"]


# ---- the answer ----


def test_the_answer(client, server):
    """Entity tag, If-None-Match, HEAD, ranges, the name; the same picture at each request."""
    row = make(client, drawn(quarters()), filename="Vertrag ä.pdf")
    first = preview(client, row)
    h = first.headers
    assert h["ETag"] and h["X-Content-Type-Options"] == "nosniff" and h["Accept-Ranges"] == "bytes"
    assert h["Content-Disposition"].startswith("inline;") and "filename*=UTF-8''Vertrag%20%C3%A4.pdf.png" in h["Content-Disposition"]
    kept = rows(server, row)
    again = preview(client, row, "?width=400&page=1&version=1")
    assert (again.content, again.headers["ETag"], rows(server, row)) == (first.content, h["ETag"], kept) and [k[:3] for k in kept] == [(1, 1, 400)]
    same = preview(client, row, **{"If-None-Match": h["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    head = preview(client, row, "?width=300", "HEAD")
    assert (head.status_code, head.content) == (200, b"") and [k[2] for k in rows(server, row)] == [300, 400]
    assert head.headers["Content-Length"] == str(len(preview(client, row, "?width=300").content))
    part = preview(client, row, Range="bytes=0-7")
    assert (part.status_code, part.content) == (206, b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("name, bad", [("width", v) for v in ("abc", "15", "2001", "0", "-1", "400.0", "", "0400", "99999999999")] + [("page", v) for v in ("0", "x", "2001", "")] + [("version", v) for v in ("0", "x")])
def test_parameters(client, name, bad):
    row = getattr(test_parameters, "row", None) or make(client, pdf())
    test_parameters.row = row
    refused(client, row, 400, "param.invalid", [name], f"?{name}={bad}")


def test_documents_without_a_picture(client, server):
    refused(client, announce(client), 409, "document.not_ready")
    for mime, data in (("text/html", b"<p>hello</p>"), ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>"), ("text/csv", b"a,b\n"), ("application/octet-stream", b"\0\1"), ("application/zip", b"PK\5\6" + bytes(18)), ("application/json", b"{}")):
        row = make(client, data, mime_type=mime)
        assert mime in refused(client, row, 400, "document.no_preview").raw.json()["message"]
        assert rows(server, row) == []
    client.refused("GET", f"{DOCUMENTS}/dcmt_0000000000000000000000/preview", 404, "not_found")


def test_who_sees_it(client, org, server):
    """Spec 05 section 3.6: as the content. A public document's picture needs the key too."""
    row = make(client, pdf(), visibility="public")
    assert picture(client, row) and picture(org.client("documents:read"), row)
    org.client("print_jobs:write").refused("GET", f"{DOCUMENTS}/{row['id']}/preview", 403, "scope_access", ["documents:read"])
    server.organization().client().refused("GET", f"{DOCUMENTS}/{row['id']}/preview", 404, "not_found")
    assert requests.get(f"{server.base}{DOCUMENTS}/{row['id']}/preview", timeout=WAIT).status_code == 401
    shown = get(client, row, "?include_document_url=true")
    assert "preview" not in str(shown) and shown["size"] == row["size"]


def test_who_sees_it_by_location(client, org):
    if client.get("/v1/locations", expect=None).status == 404:
        pytest.skip("the module locations is not loaded")
    here, there = make_location(client, "Here"), make_location(client, "There")
    row = make(client, pdf(), resources=[{"type": "location", "id": here["id"]}])
    assert picture(org.client(locations=[here["id"]]), row)
    org.client(locations=[there["id"]]).refused("GET", f"{DOCUMENTS}/{row['id']}/preview", 403, "location_access", [here["id"]])


# ---- what is kept ----


def test_versions(client, server):
    """A new version has a picture of its own; the old one's stays with ?version=."""
    row = make(client, drawn(quarters()))
    old = preview(client, row)
    post(client, row, content=b64(saved(coloured(), "PNG")))
    assert picture(client, row).size == (80, 40) and preview(client, row, "?version=1").content == old.content
    assert [k[0] for k in rows(server, row)] == [1, 2]
    client.refused("GET", f"{DOCUMENTS}/{row['id']}/preview?version=3", 404, "not_found")
    server.check_rows()


def test_eight_pictures_of_a_version_are_kept(client, server):
    row = make(client, drawn(quarters()))
    for width in range(100, 111):
        assert picture(client, row, f"?width={width}").width == width
    kept = rows(server, row)
    assert [k[2] for k in kept] == list(range(103, 111))
    assert server.sql("SELECT count(*) FROM wharf.file WHERE name = %s AND type = 'image/png'", row["filename"] + ".png")[0][0] >= 8
    assert server.sql("SELECT count(*) FROM wharf.file f WHERE f.plugin = 'documents' AND f.type = 'image/png' AND f.name LIKE '%%.png' AND f.id NOT IN (SELECT file_id FROM documents.preview) AND f.id NOT IN (SELECT file_id FROM documents.version)") == [(0,)]
    assert picture(client, row, "?width=100").width == 100


def test_the_oldest_version_takes_its_pictures_along(client, server):
    row = make(client, b"version 1")
    assert picture(client, row)
    file = rows(server, row)[0][3]
    for i in range(2, 52):
        post(client, row, content=b64(b"version %d" % i))
    assert rows(server, row) == [] == server.sql("SELECT 1 FROM wharf.file WHERE id = %s", file)


@pytest.mark.parametrize("purge", ["", "?purge=true"])
def test_a_deleted_document_has_no_picture(client, server, purge):
    """At once, rows and files; the bytes are erased by the next collection."""
    row = make(client, drawn(quarters(), ("/MediaBox [0 0 77 77]", f"% {purge}")))
    assert picture(client, row) and picture(client, row, "?page=2&width=77")
    kept = [k[3] for k in rows(server, row)]
    hashes = [h for (h,) in server.sql("SELECT hash FROM wharf.file WHERE id = ANY(%s)", kept)]
    client.delete(f"{DOCUMENTS}/{row['id']}{purge}")
    client.refused("GET", f"{DOCUMENTS}/{row['id']}/preview", 404, "not_found")
    assert rows(server, row) == [] == server.sql("SELECT id FROM wharf.file WHERE id = ANY(%s)", kept)
    gone = [h for h in hashes if not server.sql("SELECT 1 FROM wharf.file WHERE hash = %s", h)]
    server.command("files", "collect", *server.settings(), "--set", "blob.grace=0")
    objects = {name for _, _, names in os.walk(server.folder) for name in names}
    assert gone and not set(gone) & objects


def stored(server, file):
    """Where the bytes of a file are."""
    (hash,), = server.sql("SELECT hash FROM wharf.file WHERE id = %s", file)
    return [os.path.join(folder, hash) for folder, _, names in os.walk(server.folder) if hash in names]


@pytest.mark.parametrize("harm", ["lost", "damaged", "cut", "no row"])
def test_a_kept_picture_that_is_lost_or_damaged_is_made_again(client, server, harm):
    row = make(client, drawn(quarters(box=f"/About ({harm})")))
    width = f"?width={200 + len(harm)}"
    first = preview(client, row, width)
    file = rows(server, row)[0][3]
    path, = stored(server, file)
    if harm == "lost":
        os.unlink(path)
    elif harm == "no row":
        server.sql("DELETE FROM wharf.file WHERE id = %s RETURNING 1", file)
    else:
        os.chmod(path, 0o600)
        with open(path, "r+b") as f:
            f.truncate(20) if harm == "cut" else f.write(b"not a picture")
    again = preview(client, row, width)
    assert (again.status_code, again.content) == (200, first.content)
    now = rows(server, row)[0][3]
    assert now != file and server.sql("SELECT 1 FROM wharf.file WHERE id = %s", file) == []
    assert preview(client, row, width).content == first.content and rows(server, row)[0][3] == now


def files(server):
    return server.sql("SELECT count(*) FROM wharf.file f WHERE f.plugin = 'documents' AND f.state = 'stored' AND (f.expires_at IS NULL OR f.expires_at > now()) AND f.id NOT IN (SELECT file_id FROM documents.preview) AND f.id NOT IN (SELECT file_id FROM documents.version)")[0][0]


def test_one_picture_for_several_at_once(client, server):
    """One row wins; all get it, and no file is left over."""
    for i in range(4):
        row = make(client, drawn(quarters(width=200 + i)))
        said = together(*[lambda: preview(client, row)] * 4)
        assert [r.status_code for r in said] == [200] * 4 and len({r.content for r in said}) == 1 == len(rows(server, row))
    assert files(server) == 0


def test_a_document_that_is_deleted_while_it_is_drawn(client, server):
    for i in range(8):
        row = make(client, drawn(quarters(width=300 + i)))
        said = together(lambda: preview(client, row), lambda: preview(client, row, "?width=50"), lambda: requests.delete(f"{server.base}{DOCUMENTS}/{row['id']}?purge=true", headers={"SVC-API-KEY": client.key}, timeout=WAIT))
        assert {r.status_code for r in said} <= {200, 404}, [r.text[:200] for r in said]
        assert rows(server, row) == []
    assert files(server) == 0


@pytest.fixture(scope="module")
def far():
    """A server whose files are on S3, with a client."""
    store = Store()
    s = Server("--modules", "org,documents", *store.settings())
    s.s3 = store
    try:
        yield s.organization().client()
    finally:
        store.go.set()
        s.stop()
        store.shutdown()
        store.server_close()


def test_on_s3(far):
    """Drawn from a copy, kept there, and made again when it is lost or cut."""
    server, row = far.server, make(far, drawn(quarters()))
    first = preview(far, row)
    image = make(far, saved(coloured(), "PNG"))
    assert first.status_code == 200 and picture(far, image).size == (80, 40)
    (hash,), = server.sql("SELECT hash FROM wharf.file WHERE id = %s", rows(server, row)[0][3])
    name, = [n for n in server.s3.objects if n.endswith(hash)]
    assert server.s3.objects[name][0] == first.content
    del server.s3.objects[name]
    assert preview(far, row).content == first.content == server.s3.objects[name][0]
    server.s3.objects[name] = (first.content[:50], server.s3.objects[name][1])
    assert preview(far, row).content == first.content == server.s3.objects[name][0]
    far.delete(f"{DOCUMENTS}/{row['id']}?purge=true")
    server.command("files", "collect", *server.settings(), "--set", "blob.grace=0")
    assert name not in server.s3.objects and picture(far, image)


@pytest.mark.parametrize("purge", ["", "?purge=true"])
def test_a_picture_that_is_drawn_while_its_document_goes_is_not_kept(far, purge):
    """The document is deleted when the version was found, and its bytes are on their way."""
    server, row, said = far.server, make(far, drawn(quarters(width=500 + len(purge)))), []
    before = len(server.s3.requests)
    server.s3.go.clear()
    at_work = threading.Thread(target=lambda: said.append(preview(far, row)))
    at_work.start()
    until(lambda: [r for r in server.s3.requests[before:] if r[0] == "GET"])
    far.delete(f"{DOCUMENTS}/{row['id']}{purge}")
    server.s3.go.set()
    at_work.join()
    assert (said[0].status_code, said[0].json()["code"]) == (404, "not_found") and rows(server, row) == []
    assert server.sql("SELECT 1 FROM wharf.file WHERE type = 'image/png' AND name = %s", row["filename"] + ".png") == []


def test_a_new_version_while_the_one_before_is_drawn(far):
    """A new version does not disturb the picture of the one before."""
    server, row, said = far.server, make(far, drawn(quarters(width=600))), []
    before = len(server.s3.requests)
    server.s3.go.clear()
    at_work = threading.Thread(target=lambda: said.append(preview(far, row)))
    at_work.start()
    until(lambda: [r for r in server.s3.requests[before:] if r[0] == "GET"])
    server.s3.go.set()
    post(far, row, content=b64(saved(coloured(), "PNG")))
    at_work.join()
    assert said[0].status_code == 200 and said[0].content == preview(far, row, "?version=1").content
    assert picture(far, row).size == (80, 40)


def test_pictures_do_not_count(org, server):
    """Neither as bytes of the organization nor in what documents show."""
    client = server.organization().client()
    row = make(client, pdf())
    before = get(client, row)
    assert picture(client, row)
    assert get(client, row) == before and client.get(f"{DOCUMENTS}/{row['id']}/versions").data[0]["size"] == row["size"]
    server.check_rows()


# ---- what harms ----


def bomb():
    """Forms, each of which draws the one before ten times, to a depth of twelve."""
    objects = []
    for i in range(12):
        draws = b"/X Do " * 10 if i else b"0 0 1 1 re f"
        resources = b"/Resources << /XObject << /X %d 0 R >> >>" % (4 + i) if i else b""
        objects.append(b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] %s /Length %d >>\nstream\n%s\nendstream" % (resources, len(draws), draws))
    return drawn(("/MediaBox [0 0 100 100] /Resources << /XObject << /X 16 0 R >> >>", "/X Do"), objects=objects)


def image_bomb():
    """An image of 60,000 by 60,000 dots in a few bytes."""
    line = zlib.compress(bytes(1 << 20))
    return drawn(("/MediaBox [0 0 100 100] /Resources << /XObject << /I 5 0 R >> >>", "100 0 0 100 0 0 cm /I Do"),
        objects=(b"<< /Type /XObject /Subtype /Image /Width 60000 /Height 60000 /BitsPerComponent 8 /ColorSpace /DeviceRGB /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(line), line),))


def cyclic_pages():
    return b"%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [2 0 R 2 0 R] /Count 5 >> endobj\ntrailer << /Root 1 0 R >>\n"


def encrypted():
    with tempfile.TemporaryDirectory() as folder:
        plain, locked = pathlib.Path(folder, "plain.pdf"), pathlib.Path(folder, "locked.pdf")
        plain.write_bytes(pdf())
        subprocess.run(["qpdf", "--encrypt", "user", "owner", "256", "--", plain, locked], check=True)
        return locked.read_bytes()


def zip_bomb():
    deep = zlib.compress(zlib.compress(b"q " * (64 << 20), 9), 9)
    return drawn(("/MediaBox [0 0 100 100]", deep), more="/Filter [/FlateDecode /FlateDecode]")


HOSTILE = {
    "nested": lambda: drawn(("/MediaBox [0 0 100 100]", b"[" * 200000 + b"q " * 200000)),
    "nested dictionary": lambda: b"%PDF-1.4\n1 0 obj " + b"<< /A " * 100000 + b">>" * 100000 + b" endobj\ntrailer << /Root 1 0 R >>\n",
    "broken xref": lambda: pdf().replace(b"startxref\n", b"startxref\n999999999"),
    "xref to itself": lambda: pdf().replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev 9"),
    "cut": lambda: drawn(quarters())[:200],
    "no page": lambda: b"%PDF-1.4\n% nothing that can be drawn\n%%EOF\n",
    "no size": lambda: drawn(("/MediaBox [0 0 0 0]", "")),
    "infinite size": lambda: drawn(("/MediaBox [0 0 1e38 1e38]", "")),
    "cyclic pages": cyclic_pages, "encrypted": encrypted, "zip bomb": zip_bomb, "forms": bomb, "image": image_bomb,
    "cyclic form": lambda: drawn(("/MediaBox [0 0 100 100] /Resources << /XObject << /X 5 0 R >> >>", "/X Do"), objects=(b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >> /Length 12 >>\nstream\n/X Do /X Do \nendstream",)),
    "pattern": lambda: drawn(("/MediaBox [0 0 10000 10000] /Resources << /Pattern << /P 5 0 R >> >>", "/Pattern cs /P scn 0 0 10000 10000 re f"), objects=(b"<< /Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 .01 .01] /XStep .001 /YStep .001 /Resources << >> /Length 14 >>\nstream\n0 0 .01 .01 re f\nendstream",)),
}
ENCRYPTED = "it is encrypted"
UNREADABLE = {"no page", "cyclic pages", "encrypted", "forms"}
READABLE = {"broken xref", "xref to itself", "cyclic form"}


@pytest.mark.parametrize("harm", HOSTILE)
def test_hostile_pdf(client, harm):
    """A picture or document.preview_failed with a reason; the server goes on."""
    row = make(client, HOSTILE[harm]())
    r = preview(client, row)
    if r.status_code != 200:
        told = r.json()
        assert (r.status_code, told["code"]) == (400, "document.preview_failed") and told["message"].startswith("The document can't be drawn: it"), told
        assert harm != "encrypted" or ENCRYPTED in told["message"]
    assert harm not in UNREADABLE or r.status_code == 400
    assert harm not in READABLE or r.status_code == 200
    assert picture(client, make(client, pdf())).size == (400, 518)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "TIFF"])
def test_damaged_images(client, format):
    data = saved(Image.frombytes("RGB", (90, 90), os.urandom(90 * 90 * 3)), format)
    for cut in (len(data) // 2, 30):
        r = preview(client, make(client, data[:cut] + b"\0\0\0"))
        assert r.status_code == 200 if format == "JPEG" and cut > 30 else (r.status_code, r.json()["code"]) == (400, "document.preview_failed"), (format, cut, r.text[:200])


def test_without_the_cells(tmp_path):
    """503 for previews, and documents are stored and read as before."""
    s = Server("--modules", "org,documents", "--set", f"cell.dir={tmp_path}")
    try:
        client = s.organization().client()
        row = make(client, PNG)
        r = preview(client, row)
        assert (r.status_code, r.json()["code"]) == (503, "overloaded") and "Retry-After" in r.headers
        assert get(client, row)["status"] == "completed" and rows(s, row) == []
    finally:
        s.stop()


def cells(server, kind):
    """Processes of this kind below the server's."""
    out = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    known, found = {server.process.pid}, []
    lines = [line.split(None, 2) for line in out.splitlines()]
    for _ in range(6):
        known |= {int(pid) for pid, parent, _ in lines if int(parent) in known}
    for pid, _, args in lines:
        if int(pid) in known and f"wharf-cell-{kind}" in args.split()[0]:
            found.append(int(pid))
    return found


def test_a_cell_that_is_killed(client, server):
    """The picture that it drew is refused, and the next one is drawn."""
    row = make(client, bomb())
    said = []
    at_work = threading.Thread(target=lambda: said.append(preview(client, row)))
    at_work.start()

    def kill():
        for pid in cells(server, "preview"):
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                if int(f.read().rsplit(")", 1)[1].split()[11]) > 50:  # it has computed for half a second
                    os.kill(pid, signal.SIGKILL)
                    return True
        return False

    until(kill)
    at_work.join()
    assert (said[0].status_code, said[0].json()["code"]) == (400, "document.preview_failed"), said[0].text
    assert "damaged" in said[0].json()["message"] and rows(server, row) == []
    assert picture(client, make(client, pdf())).size == (400, 518)
