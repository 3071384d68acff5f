"""Definitions drawn as pictures, and compared with kept ones: tests/draw/definitions/NAME.json and tests/draw/pictures/NAME.png.

A definition is a body of POST /v1/templates/pdf/generate with its data; beside that it has `about` (one sentence) and `page` (that is drawn). The
fuzzer of the cell begins with these definitions, too. After a change that is meant: BUILD=$PWD/build /usr/bin/python3 tests/draw/test_drawn_pictures.py --write [NAME...], and look at each picture that git shows as changed."""
import io
import json
import sys
import tempfile
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageFilter

from drawing import NOW, PNG, draw_many

PICTURES, DEFINITIONS = Path(__file__).parent / "pictures", Path(__file__).parent / "definitions"
NAMES = sorted(p.stem for p in DEFINITIONS.glob("*.json"))
# A dot may be this much lighter or darker, and so many of a thousand may be more than that.
NEAR, ODD = 24, 1
FOLDER_MAX = 1 << 20


def draw_picture(name, folder, **more):
    body = json.loads((DEFINITIONS / f"{name}.json").read_text()) | more
    made = draw_many(folder, {"now": NOW, "body": body, "page": body.get("page", 1)}, form=PNG)[0]
    assert made.verdict == 0 and not made.report["element_errors"], (made.reason, made.report)
    return Image.open(io.BytesIO(made.bytes)).convert("RGB")


def difference(a, b, near=NEAR):
    """How many of a thousand dots differ by more than `near` in one of their colors."""
    if a.size != b.size:
        return 1000
    red, green, blue = ImageChops.difference(a, b).split()
    odd = sum(ImageChops.lighter(ImageChops.lighter(red, green), blue).histogram()[near + 1:])
    return 1000 * odd / (a.width * a.height)


@pytest.mark.parametrize("name", NAMES)
def test_a_definition_looks_as_it_did(tmp_path, name):
    kept = Image.open(PICTURES / f"{name}.png").convert("RGB")
    assert difference(draw_picture(name, tmp_path), kept) <= ODD


@pytest.mark.parametrize("name", NAMES)
def test_a_definition_looks_the_same_at_three_times_the_density(tmp_path, name):
    """Printers have 203, 300 and 600 dots per inch: what stands in points stands there, too. Both are blurred, so that only places and sizes count."""
    as_kept = Image.open(PICTURES / f"{name}.png").convert("RGB")
    dense = draw_picture(name, tmp_path, dpi=72 * 3).resize(as_kept.size, Image.BOX)
    assert difference(as_kept.filter(ImageFilter.BoxBlur(2)), dense.filter(ImageFilter.BoxBlur(2)), 2 * NEAR) <= ODD


def test_a_picture_that_differs_is_seen(tmp_path):
    other = draw_picture("text-weights", tmp_path)
    assert difference(other, Image.open(PICTURES / "text-families.png").convert("RGB")) > ODD
    other.paste((0, 0, 0), (10, 10, 16, 16))  # a blot as large as a small letter
    assert difference(other, Image.open(PICTURES / "text-weights.png").convert("RGB")) > ODD


def test_the_folder_is_small_and_whole():
    assert sum(p.stat().st_size for folder in (PICTURES, DEFINITIONS) for p in folder.iterdir()) < FOLDER_MAX
    assert sorted(p.stem for p in PICTURES.glob("*.png")) == NAMES and len(NAMES) >= 60


def write(names):
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            picture = draw_picture(name, Path(folder))
        colors = picture.getcolors(1 << 24)
        if all(r == g == b for _, (r, g, b) in colors):
            picture = picture.convert("L")
        elif len(colors) <= 256:
            picture = picture.quantize(256, dither=Image.Dither.NONE)
        picture.save(PICTURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"]:
        sys.exit("test_drawn_pictures.py --write [NAME...]")
    write(sys.argv[2:])
