"""Documents as people send them by mistake, and pictures as cameras make them: spec 04 section 7 'Document' and 'Prepared document'."""
import base64
import io
import subprocess

import pytest
from PIL import Image, ImageChops, ImageOps

from documents import b64, objects, pdf, stream
from test_print_jobs import Shop, box, ink, near
from wharf import Server

PAPER = {"configuration": {"paper_size": "label_4x6"}}
ZPL = b"^XA^FO50,50^A0N,50,50^FDHello^FS^XZ"
EXIF_ORIENTATION = 0x112


@pytest.fixture(scope="module")
def shop(org):
    return Shop(org, "Mistakes")


def photo():
    """Four corners of different grey: no turn and no mirroring of it looks like another."""
    picture = Image.new("L", (200, 300), 255)
    for i, at in enumerate(((0, 0), (150, 0), (0, 250), (150, 250))):
        picture.paste(i * 60, (*at, at[0] + 50, at[1] + 50))
    return picture


def saved(picture, kind, **more):
    out = io.BytesIO()
    picture.save(out, kind, **more)
    return out.getvalue()


def oriented(kind, orientation):
    if kind == "TIFF":
        return saved(photo(), kind, tiffinfo={EXIF_ORIENTATION: orientation})
    exif = Image.Exif()
    exif[EXIF_ORIENTATION] = orientation
    return saved(photo(), kind, exif=exif.tobytes(), **({"quality": 95} if kind == "JPEG" else {"lossless": True} if kind == "WEBP" else {}))


def printed(shop, document):
    """The first page of what is printed, cut to what is not white."""
    paper = shop.paper(shop.make(document, **PAPER))
    drawn = subprocess.run(["pdftoppm", "-r", "100", "-gray", "-singlefile", "-"], input=paper, capture_output=True, check=True).stdout
    page = Image.open(io.BytesIO(drawn)).convert("L")
    return page.crop(ImageOps.invert(page.point(lambda v: 255 if v > 200 else v)).getbbox())


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_is_turned_as_its_file_says(shop, kind, orientation):
    """All eight ways, four of them mirrored; as Pillow turns a PNG (a TIFF it turns twice)."""
    as_pillow = ImageOps.exif_transpose(Image.open(io.BytesIO(oriented("PNG", orientation)))).convert("L")
    found = printed(shop, oriented(kind, orientation))
    as_pillow = as_pillow.crop(ImageOps.invert(as_pillow.point(lambda v: 255 if v > 200 else v)).getbbox()).resize(found.size)
    different = ImageChops.difference(found, as_pillow).point(lambda v: 255 if v > 40 else 0).histogram()[255]
    assert different < 0.04 * found.width * found.height, (kind, orientation, different)


@pytest.mark.parametrize("progressive", [False, True])
def test_a_picture_that_is_cut_off_is_refused(shop, progressive):
    """It would be printed grey from there on."""
    whole = saved(photo().resize((800, 1200)).effect_spread(40), "JPEG", progressive=progressive)
    for end in (len(whole) // 3, len(whole) // 2, len(whole) * 9 // 10, len(whole) - 3, len(whole) - 1):
        said = shop.refuse(400, "print_job.document_invalid", ["data"], document=whole[:end], **PAPER).message
        assert "cut off" in said or "damaged" in said, (end, said)
    for after in (b"", b"\0" * 40, b"\xff" * 3, whole):
        shop.make(whole + after, **PAPER)


@pytest.mark.parametrize("document, why", [
    (ZPL, "raw: true"), (b"\r\n  " + ZPL, "raw: true"), (b"^xa^fdsmall^fs^xz", "raw: true"), (b"~DGR:A.GRF,8,1,FF", "raw: true"), (b"CT~~CD,~CC^~CT~\n" + ZPL, "raw: true"),
    (b"%!PS-Adobe-3.0\n/Helvetica findfont 12 scalefont setfont (a) show showpage\n", "raw: true"),
    (b"<!DOCTYPE html><html><body>Label</body></html>", "HTML"), (b"\n<html lang=en><p>Label", "HTML"), (b"<HTML><BODY>Label</BODY></HTML>", "HTML"),
    *((base64.b64encode(b), "once") for b in (pdf(), saved(photo(), "PNG"), saved(photo(), "JPEG"), saved(photo(), "GIF"), saved(photo(), "WEBP"), saved(photo(), "TIFF"), ZPL)),
    (base64.encodebytes(pdf()), "once"),
])
def test_what_is_text_by_mistake_is_refused(shop, document, why):
    assert why in shop.refuse(400, "print_job.document_invalid", ["data"], document=document, **PAPER).message


@pytest.mark.parametrize("text", [b"N\nis a letter", b"Q3 report", b"SIZE chart", b"Hello ^XA is how ZPL begins", b"JVBERi is how a PDF begins in base64", b"see <html> tags", b"iVBOR\n"])
def test_text_is_text(shop, text):
    assert shop.make(text, **PAPER)["document"]["content_type"] == "text/plain"


def test_a_program_is_printed_as_text_when_that_is_said(shop):
    d = shop.make(ZPL, content_type="text/plain", **PAPER)
    assert "^FDHello" in subprocess.run(["pdftotext", "-layout", "-", "-"], input=shop.paper(d), capture_output=True, check=True).stdout.decode()
    assert shop.make(data="data:text/plain;base64," + b64(b"plain words"), **PAPER)["document"]["pages"] == 1


def both(first, second):
    """A PDF of two pages of these sizes in inches, with marks at both ends of the lower edge of the second."""
    width, height = second[0] * 72, second[1] * 72
    marks = f"0 g 0 0 36 36 re f {width - 36} 0 36 36 re f"
    found = pdf(*first, content=marks.encode(), pages=2)
    size = f"/MediaBox [0 0 {first[0] * 72} {first[1] * 72}]".encode()
    at = found.rindex(size)
    return found[:at] + f"/MediaBox [0 0 {width} {height}]".encode().ljust(len(size)) + found[at + len(size):]


@pytest.mark.parametrize("more", [{}, {"fit": "shrink"}, {"fit": "fit"}, {"rotate": 180}])
def test_a_label_that_lies_among_others_is_turned(shop, more):
    """It was cut before. The first page says how all stand; each that lies the other way is turned onto the paper."""
    for first, second, ends in (((4, 6), (6, 4), (252, 0, 288, 432)), ((6, 4), (4, 6), (0, 396, 288, 432))):
        if "rotate" in more:
            ends = (288 - ends[2], 432 - ends[3], 288 - ends[0], 432 - ends[1])
        paper = shop.paper(shop.make(both(first, second), configuration={"paper_size": "label_4x6", **more}))
        assert box(paper) == [(288, 432)] * 2 and near(ink(paper, page=2)[0], ends, 2), (first, second, ink(paper, page=2)[0])


def test_pages_that_are_square_or_stand_alike_are_not_turned(shop):
    paper = shop.paper(shop.make(both((4, 6), (4, 4)), configuration={"paper_size": "label_4x6"}))
    assert near(ink(paper, page=2)[0], (0, 324, 288, 360), 2)
    lying = shop.paper(shop.make(both((6, 4), (6, 4)), configuration={"paper_size": "label_4x6"}))
    assert near(ink(lying, page=2)[0], (252, 0, 288, 432), 2)


def form(fields, need="true"):
    """A form of one page with these annotations; objects 6 and 7 are a font and a black square."""
    page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 288 432] /Resources << >> /Annots [%s] >>" % " ".join(f"{8 + i} 0 R" for i in range(len(fields)))
    return objects("<< /Type /Catalog /Pages 2 0 R /AcroForm 4 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page,
                   f"<< /NeedAppearances {need} /DA (/Helv 0 Tf 0 g) /DR << /Font << /Helv 6 0 R >> >> /Fields [%s] >>" % " ".join(f"{8 + i} 0 R" for i in range(len(fields))),
                   "null", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
                   stream(b"0 g 0 0 10 10 re f", "/Type /XObject /Subtype /Form /BBox [0 0 10 10]"), *fields)


def words(paper):
    return subprocess.run(["pdftotext", "-layout", "-", "-"], input=paper, capture_output=True, check=True).stdout.decode().split()


def field(value, at, more=""):
    return f"<< /Type /Annot /Subtype /Widget /FT /Tx /T (f{at}) /V {value} /F 4 /DA (/Helv 14 Tf 0 g) /Rect [36 {at} 252 {at + 30}] {more} >>"


def test_what_stands_in_a_form_is_printed(shop):
    """Its writer left it to the viewer to draw the fields."""
    choice = "<< /Type /Annot /Subtype /Widget /FT /Ch /T (c) /Ff 131072 /Opt [(Blue) (Green)] /V (Green) /F 4 /DA (/Helv 12 Tf 0 g) /Rect [36 100 252 130] >>"
    filled = form([field("(Jane)", 300), field("<FEFF00440065006C006900760065007200650064>", 200, "/Q 1"), choice])
    assert words(shop.paper(shop.make(filled))) == ["Jane", "Delivered", "Green"]
    assert box(shop.paper(shop.make(filled))) == [(288, 432)]


@pytest.mark.parametrize("broken", [field("(a)", 300).replace("/Helv 14 Tf", "/None 14 Tf"), field("(a)", 300).replace("/DA (/Helv 14 Tf 0 g)", "/DA 5"), field("5", 300),
                                    field("(a)", 300).replace("/Rect [36 300 252 330]", "/Rect [a]"), "<< /FT /Tx >>", "null", "8 0 R"])
def test_fields_that_are_damaged_leave_the_rest(shop, broken):
    assert "Jane" in words(shop.paper(shop.make(form([broken, field("(Jane)", 200)]))))


@pytest.mark.parametrize("flags, shown", [("/F 4", True), ("/F 6", False), ("/F 0", False), ("", False), ("/F 36", True)])
def test_annotations_are_printed_as_they_say(shop, flags, shown):
    """Only those for print, and of these none that is hidden."""
    note = f"<< /Type /Annot /Subtype /Stamp {flags} /Rect [72 72 144 144] /AP << /N 7 0 R >> >>"
    corner = "<< /Type /Annot /Subtype /Stamp /F 4 /Rect [0 0 10 10] /AP << /N 7 0 R >> >>"
    found = ink(shop.paper(shop.make(form([corner, note], need="false"))))[0]
    assert near(found, (0, 288, 144, 432) if shown else (0, 422, 10, 432)), found


@pytest.mark.parametrize("width, height, paper, orientation", [
    (100 / 25.4, 150 / 25.4, "label_4x6", "portrait"), (150 / 25.4, 100 / 25.4, "label_4x6", "landscape"), (3.85, 5.85, "label_4x6", "portrait"), (4.06, 6.06, "label_4x6", "portrait")])
def test_a_label_that_is_a_little_smaller_has_a_paper(shop, width, height, paper, orientation):
    job = shop.make(pdf(width, height))
    assert (job["configuration"]["paper_size"], job["configuration"]["orientation"]) == ("page_size_" + paper, orientation)
    assert box(shop.paper(job)) == [(288, 432)]


@pytest.mark.parametrize("width, height", [(3.84, 5.95), (3.95, 5.84), (4.07, 5.95), (3.95, 6.07)])
def test_a_label_of_another_size_has_none(shop, width, height):
    shop.refuse(400, "print_job.paper_size_required", ["configuration.paper_size"], document=pdf(width, height))


@pytest.mark.parametrize("width, height, wish, cropped", [
    (4, 6, {}, False), (4.05, 6.05, {}, False), (4.2, 6, {}, True), (4, 6.2, {}, True), (8.27, 11.69, {}, True), (8.27, 11.69, {"fit": "shrink"}, False),
    (8.27, 11.69, {"fit": "fit"}, False), (8.27, 11.69, {"fit": "fill"}, True), (4, 6, {"fit": "fill"}, False), (4, 6, {"scaling": 1.05}, True), (6, 4, {}, False),
    (6, 4, {"orientation": "portrait"}, True), (4, 6, {"rotate": 90}, False), (4, 6, {"rotate": 90, "orientation": "portrait"}, True), (2, 1, {"scaling": 3}, False), (2, 1, {"scaling": 3, "orientation": "portrait"}, True)])
def test_a_document_that_is_cut_off_says_so(shop, width, height, wish, cropped):
    job = shop.make(pdf(width, height), configuration={"paper_size": "label_4x6", **wish})
    assert job["document"]["cropped"] is cropped and shop.get(job)["document"]["cropped"] is cropped


def test_of_pages_those_that_are_printed_are_cut_off_or_not(shop):
    document = both((4, 6), (8, 6))
    assert shop.make(document, **PAPER)["document"]["cropped"] is True
    first = shop.make(document, configuration={"paper_size": "label_4x6", "print_all_pages": False, "page_ranges": "1"})
    assert (first["document"]["cropped"], first["document"]["mixed_sizes"]) == (False, True)
    assert shop.make(b"one line of text\n" * 500, **PAPER)["document"]["cropped"] is False  # it is laid out on the paper


def test_the_server_says_how_pages_fit_where_a_job_does_not():
    server = Server("--modules", "org,locations,stations", "--set", "stations.fit=shrink")
    try:
        shop = Shop(server.organization(), "Fits")
        job = shop.make(pdf(8, 12, content=b"0 g 0 0 576 864 re f"), **PAPER)
        assert (job["configuration"]["fit"], job["document"]["cropped"]) == ("shrink", False)
        as_it_is = shop.make(pdf(8, 12), configuration={"paper_size": "label_4x6", "fit": "none"})
        assert (as_it_is["configuration"]["fit"], as_it_is["document"]["cropped"]) == ("none", True)
        shop.open()
        assert near(ink(shop.paper(job))[0], (0, 0, 288, 432))
    finally:
        server.stop()
