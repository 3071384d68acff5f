"""What tests of templates share: requests, and the eyes of other programs on what came."""
import base64
import html
import re
import subprocess
import tempfile

import requests

from wharf import WAIT

GENERATE, TEMPLATES = "/v1/templates/pdf/generate", "/v1/templates"
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="20" height="10" fill="#f00"/></svg>'


def text(value="Hello", x=20, y=20, **more):
    return {"type": "text", "x": x, "y": y, "value": value, **more}


def rect(x=10, y=10, width=50, height=20, **more):
    return {"type": "rect", "x": x, "y": y, "width": width, "height": height, "fill": "#000000", **more}


def image(value, x=10, y=10, **more):
    return {"type": "image", "x": x, "y": y, "width": 40, "height": 20, "value": value, **more}


def uri(data, mime="image/png"):
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def generate(client, *raw, expect=200, **more):
    return client.post(GENERATE, {"size": "4x6", "raw": list(raw) or [text()], **more}, expect=expect)


def refused(client, errors, *raw, code="validation.failed", status=400, **more):
    """errors: the paths, in any order."""
    answer = client.refused("POST", GENERATE, status, code, body={"size": "4x6", "raw": list(raw) or [text()], **more})
    assert sorted(answer.errors) == sorted(errors), answer
    return answer.message


def whole(client, answer):
    """The bytes behind the public link: it needs no key."""
    url = answer.data["url"]
    r = requests.get(url if url.startswith("http") else client.server.base + url, timeout=WAIT)
    assert r.status_code == 200, r.text
    return r.content


def sound(pdf):
    """qpdf finds nothing wrong with it."""
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(pdf)
        file.flush()
        done = subprocess.run(["qpdf", "--check", file.name], capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return pdf


def words(pdf):
    """(page, left, top, right, bottom, word) of each, in points, as poppler sees them."""
    out = subprocess.run(["pdftotext", "-bbox", "-", "-"], input=pdf, capture_output=True, check=True).stdout.decode()
    found, page = [], 0
    for line in out.splitlines():
        page += "<page " in line
        m = re.search(r'<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*)</word>', line)
        if m:
            found.append((page, *(float(v) for v in m.groups()[:4]), html.unescape(m.group(5))))
    return found


def said(pdf):
    return [w[5] for w in words(pdf)]


def pages(pdf):
    """Width and height of each page in points."""
    out = subprocess.run(["pdfinfo", "-l", "999", "-"], input=pdf, capture_output=True, check=True).stdout.decode()
    return [tuple(float(v) for v in line.split(":")[1].split()[:3:2]) for line in out.splitlines() if line.startswith("Page") and "size:" in line]


def made(pdf):
    """The date that a PDF says of itself."""
    out = subprocess.run(["pdfinfo", "-isodates", "-"], input=pdf, capture_output=True, check=True).stdout.decode()
    return re.search(r"CreationDate:\s+(\S+)", out).group(1)


def picture(pdf, dpi=203, page=1):
    return subprocess.run(["pdftoppm", "-r", str(dpi), "-png", "-f", str(page), "-l", str(page), "-"], input=pdf, capture_output=True, check=True).stdout


def codes(png):
    """(kind, value) of each barcode that zbar reads on a picture."""
    done = subprocess.run(["zbarimg", "-q", "--nodbus", "-"], input=png, capture_output=True)
    return sorted(tuple(line.split(":", 1)) for line in done.stdout.decode().splitlines() if ":" in line)
