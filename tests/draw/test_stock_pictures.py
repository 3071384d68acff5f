"""The labels and papers that come with the server look as docs/guide/stock-templates.md shows them.

  test_stock_pictures.py BUILD --write    draws the pictures of docs/guide/stock-templates anew
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest
from PIL import Image, ImageChops, ImageFilter

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STOCK = json.loads((HERE / "stock.json").read_text(encoding="utf-8"))
TYPES = [name for name in STOCK if name != "data"]
DATA = STOCK["data"]
PICTURES, PAGE = ROOT / "docs" / "guide" / "stock-templates", ROOT / "docs" / "guide" / "stock-templates.md"
DPI, GREYS = {"2x1": 144, "3x1": 144}, 8
WAIT = 120  # longest wait; a build with sanitizers is slow


def kept(type):
    return PICTURES / f"{type}.png"


def draw(build, type, folder):
    """The first page of a type in a few greys, at 72 points to the inch; small labels at 144."""
    stock = next(s for s in (json.loads(p.read_text(encoding="utf-8")) for p in (ROOT / "schemas" / "templates" / "stock").glob("*.json")) if s["type"] == type)
    template, data, pdf = folder / "template.json", folder / "data.json", folder / "drawn.pdf"
    template.write_text(json.dumps({"type": type, **STOCK[type].get("template", {})}))
    shown = STOCK[type]["data"]
    data.write_text(json.dumps({shown: DATA[shown], **{k: DATA[k] for k in ("now", "organization", "location")}}))
    done = subprocess.run([build / "tool" / "wharf", "template", "render", template, "--data", data, "--out", pdf], capture_output=True, text=True, timeout=WAIT)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    dpi = DPI.get(stock["dimensions"][0], 72)
    subprocess.run(["pdftoppm", "-r", str(dpi), "-png", "-gray", "-singlefile", pdf, folder / "drawn"], check=True)
    with Image.open(folder / "drawn.png") as picture:
        return picture.convert("L").quantize(GREYS)


def differ(a, b):
    """How many of 1,000 points differ much, when edges are soft: letters may be set another way by another version of a library, but not stand elsewhere."""
    soft = [p.convert("L").filter(ImageFilter.GaussianBlur(1.5)) for p in (a, b)]
    histogram = ImageChops.difference(*soft).histogram()
    return 1000 * sum(histogram[48:]) / (a.width * a.height)


@pytest.mark.parametrize("type", TYPES)
def test_it_looks_as_it_is_shown(tmp_path, type):
    drawn = draw(pathlib.Path(os.environ["BUILD"]), type, tmp_path)
    with Image.open(kept(type)) as picture:
        assert picture.size == drawn.size
        off = differ(picture, drawn)
        assert off <= 2, f"{off:.1f} of 1,000 points differ; if that is wanted: tests/draw/test_stock_pictures.py BUILD --write"
        assert differ(picture, Image.new("L", picture.size, 255)) > 10, "the comparison sees what is there"


def test_a_moved_word_is_seen():
    """The tolerance hides nothing that a reader would see."""
    with Image.open(kept("item__item_label_pdf")) as picture:
        grey = picture.convert("L")
        moved = grey.copy()
        moved.paste(255, (0, 0, 150, 26))
        moved.paste(grey.crop((0, 0, 140, 26)), (10, 0))
        assert differ(grey, moved) > 2


@pytest.mark.parametrize("file", sorted((ROOT / "schemas" / "templates" / "stock").glob("*.json")), ids=lambda p: p.stem)
def test_each_slot_has_its_place(file):
    """05 section 10: a text that may be given is shown by each drawing of the type, whatever the size."""
    stock = json.loads(file.read_text(encoding="utf-8"))
    for definition in stock.get("definitions", []):
        text = json.dumps(definition)
        assert [slot for slot in stock["slots"] if f"{{{{slot:{slot}}}}}" not in text] == []


def test_each_type_is_shown():
    types = {json.loads(p.read_text(encoding="utf-8"))["type"] for p in (ROOT / "schemas" / "templates" / "stock").glob("*.json")}
    assert types - {"custom__pdf"} == set(TYPES) == {p.stem for p in PICTURES.glob("*.png")} == set(re.findall(r"\(stock-templates/(\w+)\.png\)", PAGE.read_text(encoding="utf-8")))
    assert all(p.stat().st_size < 30000 for p in PICTURES.glob("*.png"))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] != "--write":
        sys.exit(__doc__)
    for name in TYPES:
        with tempfile.TemporaryDirectory() as place:
            draw(pathlib.Path(sys.argv[1]).resolve(), name, pathlib.Path(place)).save(kept(name), optimize=True)
