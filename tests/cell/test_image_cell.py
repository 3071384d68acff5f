"""The `image` cell behind its walls (docs/internals/cells.md): every kind of file, every kind of barcode, turned, unsharp, damaged, hostile. Each picture is
read by the real cell through the reader of the server (tests/cell/image.c)."""
import contextlib
import io
import json
import os
import pathlib
import random
import struct
import subprocess
import time
import zlib

import pytest
from PIL import Image, ImageDraw, ImageFilter

import labels

BUILD = pathlib.Path(os.environ["BUILD"])
CODES, FIGURES, TEXT = 1, 2, 4
LINES = labels.SENDER + ["SHIP TO:"] + labels.RECIPIENT + ["TRACKING # " + labels.TRACKING] + labels.REST
PAGE = labels.label()
TRACKED = ("code128", labels.TRACKING)


def read_many(tmp_path, files, wants=CODES, skip=0):
    """What the cell says of each; the bytes are files of their own."""
    paths = []
    for i, data in enumerate(files):
        paths.append(tmp_path / f"{i}.bin")
        paths[-1].write_bytes(data)
    # the budget is that of a machine with much else to do
    told = subprocess.run([BUILD / "tests/cell/image-once", BUILD / "cells", str(wants), "100000", str(skip), *paths], capture_output=True, text=True, check=True).stdout
    said = [json.loads(line) for line in told.splitlines()]
    assert len(said) == len(files)
    for one in said:
        assert one["status"] != "ok" or one["good"], one
    return said


def read(tmp_path, data, wants=CODES, skip=0):
    said = read_many(tmp_path, [data], wants, skip)[0]
    assert said["status"] == "ok", said
    return said


def values(said):
    return sorted((c["symbology"], c["value"]) for c in said["codes"])


FORMATS = [("PNG", "png"), ("JPEG", "jpeg"), ("WEBP", "webp"), ("GIF", "gif"), ("TIFF", "tiff"), ("BMP", "bmp"), ("PPM", "pnm"), ("JPEG2000", "jp2")]


@pytest.mark.parametrize("format, name", FORMATS)
def test_formats(tmp_path, format, name):
    said = read_many(tmp_path, [labels.bytes_of(PAGE, format), labels.bytes_of(PAGE.convert("RGB"), format)])
    for one in said:
        assert one["status"] == "ok" and one["format"] == name and (one["width"], one["height"]) == PAGE.size and values(one) == [TRACKED], one


def test_other_kinds_of_pixels(tmp_path):
    clear = PAGE.convert("LA")
    clear.putalpha(PAGE.point(lambda v: 255 - v))
    files = [labels.bytes_of(clear.convert("RGBA")), labels.bytes_of(PAGE.convert("1")), labels.bytes_of(PAGE.convert("P")), labels.bytes_of(PAGE.convert("CMYK"), "JPEG"),
             labels.bytes_of(PAGE.convert("RGB"), "TIFF", compression="tiff_lzw"),
             labels.bytes_of(PAGE.convert("1"), "TIFF", compression="group4"), labels.bytes_of(PAGE, "JPEG", progressive=True)]
    for one in read_many(tmp_path, files):
        assert one["status"] == "ok" and values(one) == [TRACKED], one


@pytest.mark.parametrize("orientation, turn", [(1, 0), (2, 0), (3, 180), (4, 0), (5, 0), (6, 90), (7, 0), (8, 270)])
def test_exif(tmp_path, orientation, turn):
    """What the file says is done first; mirrored values count as upright."""
    exif = Image.Exif()
    exif[0x112] = orientation
    stored = labels.turned(PAGE, -turn)
    said = read(tmp_path, labels.bytes_of(stored, "JPEG", exif=exif), CODES)
    assert (said["turn"], said["width"], said["height"]) == (0, *PAGE.size) and values(said) == [TRACKED]


KINDS = [("code128", "1Z999AA10123456784"), ("gs1_128", "[00]106141411234567897"), ("code39", "WAREHOUSE-42"), ("code93", "WAREHOUSE93"), ("itf", "15400141288763"), ("ean13", "4006381333931"),
         ("qr", "https://example.test/x?y=1"), ("datamatrix", "SN-0042/7"), ("pdf417", "[)>\x1e01\x1d0298028\x1d840\x1d003"), ("aztec", "AZTEC 123"), ("maxicode", "MAXICODE 4711")]


@pytest.mark.parametrize("kind, value", KINDS)
def test_barcodes(tmp_path, kind, value):
    """One on a label that has a Code 128 as well, upright and in the three other ways."""
    linear = kind in ("code128", "gs1_128", "code39", "code93", "itf", "ean13")
    scale = {"maxicode": 0.7, "qr": 3, "datamatrix": 4, "aztec": 4, "pdf417": 2}.get(kind, 1)
    page = labels.label(labels.code(kind, value, scale, 60 if linear else None))
    want = value.replace("[", "").replace("]", "") if kind == "gs1_128" else value
    for one in read_many(tmp_path, [labels.bytes_of(labels.turned(page, d)) for d in (0, 90, 180, 270)]):
        assert one["status"] == "ok" and values(one) == sorted({TRACKED, (kind, want)}) or kind == "code128" and values(one) == [TRACKED, TRACKED], one
        assert all(c["checked"] or c["symbology"] in ("code39", "itf") for c in one["codes"])
        assert (one["width"], one["height"]) == PAGE.size


def test_two_linear_codes_and_a_pdf417(tmp_path):
    """Section 14.6: all are read, however often the reader is asked; what reads codes of two dimensions is never given linear ones, which end it."""
    stacked = "[)>\x1e01\x1d0298028\x1d840\x1d003\x1d1234567890\x1dFDEG\x1d"
    page = labels.label(labels.code("pdf417", stacked, 2))
    page.paste(labels.code("itf", "15400141288763", 1, 60), (430, 1100))
    for one in read_many(tmp_path, [labels.bytes_of(labels.turned(page, d)) for d in (0, 90, 180, 270)]):
        assert one["status"] == "ok" and values(one) == [TRACKED, ("itf", "15400141288763"), ("pdf417", stacked)], one


@pytest.mark.parametrize("larger", [11, 12])
def test_the_twelve_largest_parts(tmp_path, larger):
    """Section 7.3: a Data Matrix that is not found in the whole page is found as one of the twelve largest dark parts, not as the thirteenth."""
    page = Image.new("L", (1700, 2200), 255)
    matrix = labels.code("datamatrix", "SHELF 4711", 4)
    noise = random.Random(12)
    for i in range(larger):
        page.paste(Image.frombytes("L", (30, 30), bytes(noise.choice((0, 255)) for _ in range(900))).resize((270, 270)), (60 + 400 * (i % 4), 60 + 400 * (i // 4)))
    page.paste(matrix, (1200, 1700))
    assert matrix.width < 240 and values(read(tmp_path, labels.bytes_of(page))) == [("datamatrix", "SHELF 4711")] * (larger == 11)


def test_barcodes_in_noise(tmp_path):
    """Grey paper and grain, as scanners leave them, in several sizes, and in a photograph: all codes, not only one that is easy."""
    page = labels.label(labels.code("code128", "42098028", 3, 90))
    pages = [labels.scan(page, grow, degrees, grain) for grow in (1, 1.25, 1.48) for degrees, grain in ((0, 4), (1.5, 5), (1.5, 9))] + [labels.grainy(labels.photo(page), 9)]
    for one in read_many(tmp_path, [labels.bytes_of(p, "JPEG", quality=90) for p in pages]):
        assert one["status"] == "ok" and values(one) == [TRACKED, ("code128", "42098028")], one


# kind, value, scan lines that must agree (section 7.3)
AGREE = [("code39", "WAREHOUSE-42", 6), ("itf", "15400141288763", 6), ("codabar", "A40156B", 6), ("code128", "12345", 6), ("code93", "AB-12", 6),
         ("code128", "123456", 2), ("code93", "WAREHOUSE93", 2), ("ean13", "4006381333931", 2), ("gs1_128", "[00]106141411234567897", 2)]


def strip(kind, value, rows, torn=0):
    """A page on which nothing is but so many rows of one barcode, and below them others whose middle is missing."""
    page = Image.new("L", (1800, 1800), 255)
    bars = labels.code(kind, value, 1.5, 60)
    line = bars.crop((0, bars.height // 2, bars.width, bars.height // 2 + 1))
    for y in range(rows + torn):
        page.paste(line, (300, 600 + y))
    page.paste(255, (300 + bars.width // 2 - 12, 600 + rows, 300 + bars.width // 2 + 12, 600 + rows + torn))
    return page


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("kind, value, lines", AGREE)
def test_scan_lines_that_agree(tmp_path, kind, value, lines, small):
    """A symbol that is as many lines high is read, one that is lower is not; nor one that is high, of which so few lines are left. A small picture is looked at in twice its size as
    well, where each line of it is there twice: that makes them no more."""
    want = [(kind, value.replace("[", "").replace("]", ""))]
    pages = [strip(kind, value, rows, torn) for rows in (lines - 1, lines) for torn in (0, 50)]
    said = read_many(tmp_path, [labels.bytes_of(p.crop((250, 500, 1150, 1400)) if small else p) for p in pages])
    assert [values(one) for one in said] == [[], [], want, want], [one["codes"] for one in said]
    assert all(c["quality"] >= lines for one in said for c in one["codes"])


def test_the_other_value_of_a_few_lines(tmp_path):
    """Where the lines of a worn symbol say two things, the one of few lines counts for nothing."""
    page = strip("code39", "WAREHOUSE-42", 20)
    page.paste(strip("code39", "WAREHOUSE-47", 3).crop((0, 600, 1800, 603)), (0, 620))
    said = read(tmp_path, labels.bytes_of(page))
    assert values(said) == [("code39", "WAREHOUSE-42")]


def test_nothing_that_is_not_there(tmp_path):
    """No barcode of text, of noise, or of one whose middle is missing."""
    torn = PAGE.copy()
    torn.paste(255, (200, 400, 260, 640))
    text = PAGE.copy()
    text.paste(255, (0, 400, 812, 640))
    noise = Image.frombytes("L", (800, 800), random.Random(7).randbytes(640000))
    bars = Image.frombytes("L", (800, 1), random.Random(8).randbytes(800)).resize((800, 400))
    for one in read_many(tmp_path, [labels.bytes_of(p) for p in (torn, text, noise, bars, Image.new("L", (900, 900), 255), Image.new("L", (900, 900), 0))], CODES):
        assert one["status"] == "ok" and values(one) == [], one


def test_words(tmp_path):
    said = read(tmp_path, labels.bytes_of(PAGE), CODES | TEXT)
    assert said["lines"] == LINES and said["whole"] == 1 and said["turned_by"] == 2 and 100 < said["x_height"] < 200
    assert all(w["confidence"] > 60 for w in said["words"])


@pytest.mark.parametrize("down", [-6, 26])
def test_words_beside_a_caption_of_small_letters(tmp_path, down):
    """SHIP over TO: on the left of a block, at heights between its lines: the block is read as if they were not there, and they are read, too."""
    page = PAGE.copy()
    draw = ImageDraw.Draw(page)
    page.paste(255, (0, 155, 812, 390))
    for i, line in enumerate(["BRIAN TORRES", "9981 OAK AVE FL 3", "BATON ROUGE LA 70802"]):
        draw.text((150, 200 + 38 * i), line, fill=0, font=labels.font(30))
    for i, line in enumerate(["SHIP", "TO:"]):
        draw.text((42, 200 + down + 28 * i), line, fill=0, font=labels.font(21, True))
    lines = [line.rstrip(":") for line in read(tmp_path, labels.bytes_of(page), TEXT)["lines"]]
    assert {"BRIAN TORRES", "9981 OAK AVE FL 3", "BATON ROUGE LA 70802", "SHIP", "TO"} <= set(lines), lines


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_words_alone_tell_the_turn(tmp_path, degrees):
    """There is no barcode."""
    page = PAGE.copy()
    page.paste(255, (0, 400, 812, 640))
    said = read(tmp_path, labels.bytes_of(labels.turned(page, degrees)), TEXT)
    assert said["turn"] == 360 - degrees and said["lines"] == LINES


def test_words_that_are_unsharp_or_askew(tmp_path):
    blurred = PAGE.resize((1624, 2436), Image.BICUBIC).filter(ImageFilter.GaussianBlur(2))
    for page in (blurred, PAGE.rotate(2.5, Image.BICUBIC, expand=True, fillcolor=255), labels.photo(PAGE), labels.turned(labels.photo(PAGE, -3), 90)):
        said = read(tmp_path, labels.bytes_of(page, "JPEG", quality=80), CODES | TEXT)
        assert values(said) == [TRACKED] and said["lines"] == LINES, said


def test_words_on_grey_paper(tmp_path):
    """Barcodes and rules are painted white, much of the page here; the paper around them is no ink."""
    page = labels.label(labels.code("code128", "42098028", 4, 300))
    for grow in (1, 1.48):
        said = read(tmp_path, labels.bytes_of(labels.scan(page, grow, 0, 3), "JPEG", quality=90), CODES | TEXT)
        assert said["photo"] == 1 and len(said["codes"]) == 2 and set(labels.RECIPIENT) <= set(said["lines"]), said["lines"]


@pytest.mark.parametrize("ground", [20, 50, 80])
def test_words_on_a_dark_table(tmp_path, ground):
    said = read(tmp_path, labels.bytes_of(labels.photo(PAGE, ground=ground), "JPEG", quality=80), CODES | TEXT)
    assert values(said) == [TRACKED] and said["lines"] == LINES and len(said["rules"]) >= 3, said


def test_words_beside_a_code_that_is_not_read(tmp_path):
    """A MaxiCode with a scratch: its dots are no words."""
    maxicode = labels.code("maxicode", "MAXICODE 4711", 0.7).copy()
    maxicode.paste(0, (0, 20, maxicode.width, 60))
    said = read(tmp_path, labels.bytes_of(labels.label(maxicode)), CODES | TEXT)
    assert values(said) == [TRACKED] and said["lines"] == LINES


def test_figures(tmp_path):
    said = read(tmp_path, labels.bytes_of(labels.label(labels.code("qr", "x" * 30, 3))), FIGURES)
    lines, height, _, ink, rules, linear, matrix = said["figures"]
    assert 10 < lines < 20 and 8 < height < 30 and 20 < ink < 150 and (rules, linear, matrix) == (3, 1, 1) and said["words"] == []


def test_steps_that_are_left_out(tmp_path):
    for skip, name in enumerate(["linear", "matrix", "crops", "clean"], 1):
        said = read(tmp_path, labels.bytes_of(PAGE), CODES | TEXT, 1 << skip)
        assert (said["whole"], said["stopped"]) == (0, name) and not any(k.startswith(name) for k in said["steps"])


# ---- what nobody means well ----


def failed(tmp_path, data, word):
    said = read_many(tmp_path, [data])[0]
    assert said["status"] == "failed" and said["reason"].startswith(word + ": "), said


def test_no_picture(tmp_path):
    for data in (b"", b"x", b"\0" * 100, b"%PDF-1.4\n", b"<svg/>", os.urandom(5000), b"GIF", b"P7\n", b"BM"):
        said = read_many(tmp_path, [data])[0]
        assert said["status"] == "failed" and said["reason"].split(":")[0] in ("kind", "damaged"), (data[:20], said)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def test_sizes(tmp_path):
    """The head is read before anything is decoded: of 4 thousand million pixels there are a few bytes."""
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 65500, 65500, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    failed(tmp_path, png, "size")
    failed(tmp_path, b"P5\n60000 60000\n255\n" + b"x" * 100, "size")
    failed(tmp_path, b"BM" + struct.pack("<IHHIIiiHHIIiiII", 100, 0, 0, 54, 40, 30000, -30000, 1, 24, 0, 0, 0, 0, 0, 0) + b"x" * 100, "size")
    failed(tmp_path, b"GIF89a" + struct.pack("<HHBBB", 100, 100, 0, 0, 0) + b"," + struct.pack("<HHHHB", 0, 0, 60000, 60000, 0) + b"\x02\x01\x00\x00;", "size")
    for size, format in (((49, 100), "PNG"), ((100, 49), "JPEG"), ((10, 10), "GIF"), ((1, 1), "TIFF"), ((20, 20), "WEBP"), ((49, 49), "BMP"), ((33, 60), "JPEG2000"), ((8000, 5001), "PNG"), ((8000, 5001), "JPEG")):
        failed(tmp_path, labels.bytes_of(Image.new("L", size, 200), format), "size")
    said = read_many(tmp_path, [labels.bytes_of(Image.new("L", size, 200)) for size in ((50, 50), (8000, 5000), (50, 9000))])
    assert [s["status"] for s in said] == ["ok"] * 3


def test_frames_behind_the_first(tmp_path):
    """A GIF of a thousand large frames is as fast as one, and the first counts."""
    first = PAGE.convert("P")
    to = io.BytesIO()
    first.save(to, "GIF", save_all=True, append_images=[Image.new("P", PAGE.size, i % 200) for i in range(200)])
    assert values(read(tmp_path, to.getvalue())) == [TRACKED]
    to = io.BytesIO()
    PAGE.save(to, "TIFF", save_all=True, append_images=[Image.new("L", (900, 900), 255)])
    assert values(read(tmp_path, to.getvalue())) == [TRACKED]


@pytest.mark.parametrize("format", [f for f, _ in FORMATS])
def test_cut_and_mutated(tmp_path, format):
    """Whatever is changed: an answer or a reason, and never a broken rule of the walls."""
    whole = labels.bytes_of(labels.label(size=(812, 860)).resize((406, 430)), format)
    chance = random.Random(format)
    files = [whole[:len(whole) * i // 12] for i in range(12)]
    for _ in range(30):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 3, 20))):
            data[chance.randrange(min(len(data), chance.choice((64, 600, len(data)))))] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
        files.append(bytes(data))
    ends = [(s["status"], s["signal"], s["reason"][:40]) for s in read_many(tmp_path, files)]
    assert all(e[0] in ("ok", "failed", "memory") for e in ends), [e for e in ends if e[0] not in ("ok", "failed", "memory")]
    assert all(e[2].split(":")[0] in ("kind", "size", "damaged") for e in ends if e[0] == "failed"), ends


# ---- what is left ----

def memory_of(pid):
    """The bytes of a process that may be written."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if "w" in rights and "r" in rights:
                first, end = (int(n, 16) for n in span.split("-"))
                memory.seek(first)
                yield memory.read(end - first)


def cells_of(pid):
    """The cells that were started for this process."""
    found = []
    for told in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            if f"wharf-cell-image\0{pid}\0" in told.read_text():
                found.append(int(told.parent.name))
    return found


def opens(pid):
    """Whether a process is held up while it opens a file."""
    return pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0] in ("257", "56")  # openat, of x86-64 and of arm64


@pytest.mark.skipif(os.geteuid() != 0, reason="the memory of a cell is root's alone to read")
def test_nothing_of_a_picture_is_left_in_memory(tmp_path):
    """Section 7.1: when a call has ended, its cell, which waits for the next one, has no row of the picture and none of its words any more."""
    strip = bytes(random.Random(7).choices(range(256), k=96))
    page = PAGE.convert("L")
    for y in range(700, 760):
        page.paste(Image.frombytes("L", (len(strip), 1), strip), (100, y))
    picture, next_one = tmp_path / "picture.pgm", tmp_path / "next"
    picture.write_bytes(labels.bytes_of(page, "PPM"))
    os.mkfifo(next_one)
    swapped = b"".join(strip[i:i + 4][::-1] for i in range(0, len(strip), 4))  # as Leptonica has it
    traces = {what: bytes for at in range(0, 64, 4) for what, bytes in ((f"row {at}", strip[at:at + 16]), (f"words {at}", swapped[at:at + 16]))}
    with subprocess.Popen([BUILD / "tests/cell/image-once", BUILD / "cells", "7", "100000", "0", picture, next_one], stdout=subprocess.PIPE) as once:
        try:
            while not opens(once.pid):  # it has read the first one, and waits for the next one, which nobody writes
                assert once.poll() is None
                time.sleep(0.1)
            cells = cells_of(once.pid)
            assert cells
            for pid in cells:
                until_idle(pid)
                found = {what for part in memory_of(pid) for what, bytes in traces.items() if bytes in part}
                assert not found, sorted(found)
            os.close(os.open(next_one, os.O_WRONLY))
            said = json.loads(once.stdout.readline())
        finally:
            once.kill()
    assert said["status"] == "ok" and "words" in said


def until_idle(pid):
    """Waits until a process sleeps for two seconds."""
    idle, used = 0, None
    while idle < 10:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        idle = idle + 1 if fields[0] == "S" and fields[11:13] == used else 0
        used = fields[11:13]
        time.sleep(0.2)
