"""Definitions drawn by a real cell, and judged from outside: qpdf, pdftotext, pdftoppm, zbarimg, ZXingReader."""
import json
import os
import re
import subprocess
from pathlib import Path

from PIL import Image, ImageOps

BUILD = Path(os.environ["BUILD"])
ONCE, CELLS = BUILD / "tests" / "draw" / "draw-once", BUILD / "cells"
PDF, PNG, ZPL, SOURCES = 1, 2, 3, 4
GOOD, TOO_COMPLEX, REFUSED = 0, 1, 2
READERS = ("Aztec", "DataMatrix", "PDF417", "MaxiCode", "DataBar,DataBarExpanded", "Codabar,Code39,Code93", "Code128,ITF,EAN-8,EAN-13,UPC-A,UPC-E")
NOW = "2026-01-05T10:00:00.000Z"


class Made:
    """What came of one drawing."""

    def __init__(self, path, lines):
        first, text = lines
        self.path, self.bytes = path, path.read_bytes()
        self.ended = first.split(" ")[0]
        self.verdict = int(first.split(" ")[1]) if self.ended == "ok" else None
        self.reason = " ".join(first.split(" ")[2:])
        self.report = json.loads(text) if text else {}

    def codes(self):
        return [(e["path"], e["code"]) for e in self.report.get("element_errors", [])]

    def warned(self):
        return [(w["path"], w["code"]) for w in self.report.get("warnings", [])]

    def words(self):
        """Words with their boxes, of each page: [[(text, x, y, right, bottom)]]."""
        html = run("pdftotext", "-bbox", self.path, "-").stdout
        return [[(unescape(m[5]), *(float(m[i]) for i in range(1, 5))) for m in re.finditer(
            r'<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">(.*?)</word>', page)]
                for page in re.findall(r"<page .*?</page>", html, re.S)]

    def text(self, page=1):
        return run("pdftotext", "-f", page, "-l", page, "-layout", self.path, "-").stdout

    def check(self):
        assert self.ended == "ok" and self.verdict == GOOD, (self.ended, self.verdict, self.reason, self.report)
        run("qpdf", "--check", self.path)
        return self

    def picture(self, dpi, page=1):
        stem = self.path.with_suffix(f".{dpi}.{page}")
        run("pdftoppm", "-r", dpi, "-f", page, "-l", page, "-png", "-singlefile", self.path, stem)
        return Path(f"{stem}.png")


def unescape(s):
    return s.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


def run(*argv, good=(0,)):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, errors="replace")
    assert done.returncode in good, (argv, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done


def draw_many(tmp_path, request, form=PDF, blobs=(), times=1, limit=60000):
    source, out = tmp_path / "request.json", tmp_path / f"out.{('', 'pdf', 'png', 'zpl', 'none')[form]}"
    source.write_text(json.dumps(request))
    files = []
    for i, blob in enumerate(blobs):
        files.append(tmp_path / f"blob.{i}")
        files[-1].write_bytes(blob)
    lines = run(ONCE, "--times", times, "--limit", limit, CELLS, form, source, out, *files).stdout.split("\n")
    return [Made(out, lines[2 * i:2 * i + 2]) for i in range(times)]


def draw(tmp_path, raw, form=PDF, blobs=(), told=None, limit=60000, **body):
    """Draws the elements of `raw`; told: further members of the request; limit: ms."""
    body.setdefault("size", "4x6")
    return draw_many(tmp_path, {"now": NOW, "body": {"raw": raw, **body}, **(told or {})}, form, blobs, limit=limit)[0]


def read_codes(picture, kinds=READERS):
    """What zbarimg and ZXingReader read in a picture: a set of texts. ZXingReader looks for some kinds in the middle only, so what is dark is cut out."""
    cut = picture.with_suffix(".cut.png")
    with Image.open(picture) as page:
        grey = page.convert("L")
        box = ImageOps.invert(grey).getbbox()
        ImageOps.expand(grey.crop(box), 40, 255).save(cut)
    found = set()
    bars = run("zbarimg", "-q", "--raw", picture, good=(0, 4))
    found |= {line for line in bars.stdout.split("\n") if line}
    for kind in kinds:  # it ends with an assertion where a bar code is seen by several of its readers
        other = run("ZXingReader", "-format", kind, cut, good=(0, 1, 255, -6))
        found |= set(re.findall(r'^Text: +"(.*)"$', other.stdout, re.M))
    return found
