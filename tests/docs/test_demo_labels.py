"""The labels of the README: posted by its own lines to a server with demonstration data, they give the three answers that it says.

  test_demo_labels.py BUILD --write    draws the pictures of docs/guide/labels anew
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest
from PIL import Image, ImageFilter

ROOT = pathlib.Path(__file__).resolve().parents[2]
LABELS = ROOT / "docs" / "guide" / "labels"
DRAWN = ["known", "two-people"]
PATH = "/v1/inferences/images/shipping-labels"
LINE = re.compile(r"^ +(curl .*docs/guide/labels/([\w-]+)\.\w+.*)$", re.M)


def draw(build, name, folder):
    """The label in black and white, 203 dots to the inch, as a label printer has it."""
    subprocess.run([build / "tool" / "wharf", "template", "render", LABELS / "label.json", "--data", LABELS / f"{name}.json", "--out", folder / "drawn.pdf"], check=True)
    subprocess.run(["pdftoppm", "-r", "203", "-png", "-gray", "-singlefile", folder / "drawn.pdf", folder / "drawn"], check=True)
    with Image.open(folder / "drawn.png") as picture:
        return picture.convert("L").point(lambda v: 255 * (v > 127)).convert("1")


def write(build):
    with tempfile.TemporaryDirectory() as folder:
        for name in DRAWN:
            draw(build, name, pathlib.Path(folder)).save(LABELS / f"{name}.png", optimize=True)
    with Image.open(LABELS / "known.png") as picture:
        small = picture.convert("L").resize((406, 609)).filter(ImageFilter.GaussianBlur(12))
        small.point(lambda v: 60 + v // 3).save(LABELS / "blurred.jpg", quality=60)


@pytest.fixture(scope="module")
def server():
    from wharf import Server  # noqa: PLC0415: --write needs no server

    s = Server(demo=True)
    yield s
    s.stop()


def posted(server):
    """Runs the lines of the README. Returns the answer to each picture."""
    lines = LINE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [name for _, name in lines] == ["known", "two-people", "blurred"]
    answers = {}
    for line, name in lines:
        line = line.replace("http://127.0.0.1:8080", server.base)
        for _ in range(10):  # a busy machine may have no time for all steps of a picture
            done = subprocess.run(["bash", "-c", line], cwd=ROOT, env={**os.environ, "KEY": server.demo_key}, capture_output=True, text=True, check=True)
            answers[name] = json.loads(done.stdout)
            row = answers[name]["data"] or {}
            if answers[name]["status"] == 201 and "extraction_timeout" not in row["errors"] and (not row["engine"] or row["engine"]["whole"]):
                break
    return answers


def test_three_labels_three_answers(server):
    said = posted(server)
    assert {name: a["status"] for name, a in said.items()} == dict.fromkeys(said, 201)
    known, two, blurred = (said[name]["data"] for name in ("known", "two-people", "blurred"))
    assert (known["status"], known["errors"], known["provider_id"], known["tracking_number"]) == ("completed", [], "ups", "1Z999AA12026070104")
    assert known["recipient"]["contact"]["name"] == "Jane Doe" and known["tracker_id"]
    assert (two["status"], two["errors"]) == ("error", ["manual_match", "multiple_matches"])
    assert {m["name"] for m in two["recipient"]["matches"][:2]} == {"John Smith", "Julia Smith"} and two["recipient"]["contact_id"] is None and two["tracker_id"] is None
    assert (blurred["status"], "image_unreadable" in blurred["errors"], blurred["tracking_number"], blurred["recipient"]) == ("error", True, None, None)


@pytest.mark.parametrize("name", DRAWN)
def test_the_picture_is_the_definition(tmp_path, name):
    drawn = draw(pathlib.Path(os.environ["BUILD"]), name, tmp_path)
    with Image.open(LABELS / f"{name}.png") as kept:
        assert kept.size == drawn.size
        off = sum(a != b for a, b in zip(kept.convert("1").getdata(), drawn.getdata()))
        assert off < kept.width * kept.height / 200, f"{off} points differ; if that is wanted: tests/docs/test_demo_labels.py BUILD --write"


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] != "--write":
        sys.exit(__doc__)
    write(pathlib.Path(sys.argv[1]).resolve())
