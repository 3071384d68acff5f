"""The same definition makes the same bytes on every machine: the PDF of each definition, and some as labels, have the digests that another machine kept.

tests/draw/digests.json has the digests and the packages that they were made with: those draw, so another version may draw other bytes. Where one
differs nothing can be compared, and that is said. After a change that is meant: BUILD=$PWD/build /usr/bin/python3 tests/draw/test_drawn_digests.py --write"""
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from drawing import CELLS, NOW, PDF, ZPL, draw_many

HERE = Path(__file__).parent
KEPT = HERE / "digests.json"
NAMES = sorted(p.stem for p in (HERE / "definitions").glob("*.json"))
AS_DOTS = NAMES[::7]  # of these the label, too: its dots are those of the picture
FONTS = ("fonts-dejavu-core", "fonts-inter", "fonts-jetbrains-mono", "fonts-noto-core", "fonts-noto-cjk", "fonts-noto-color-emoji")


def packages():
    """Versions of what draws: the libraries of the cell, and the fonts."""
    libraries = [line.split()[2] for line in subprocess.run(["ldd", CELLS / "wharf-cell-draw"], capture_output=True, text=True, check=True).stdout.splitlines() if "=> /" in line]
    owners = subprocess.run(["dpkg", "-S", *{str(Path(p).resolve()) for p in libraries}, *libraries], capture_output=True, text=True, check=False).stdout
    names = {line.split(":")[0] for line in owners.splitlines()}
    drawing = sorted(n for n in names if n.startswith(("libcairo", "libpango", "libharfbuzz", "libfreetype", "librsvg", "libzint", "libpng", "libjpeg", "zlib", "libfribidi", "libpixman")))
    assert len(drawing) >= 8, names
    told = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *drawing, *FONTS], capture_output=True, text=True, check=True).stdout
    return dict(sorted({tuple(line.split()) for line in told.splitlines()}))


def digests(name, folder):
    """The digest of each form that the definition is drawn in."""
    body = json.loads((HERE / "definitions" / f"{name}.json").read_text())
    forms = {"pdf": PDF, "zpl": ZPL} if name in AS_DOTS else {"pdf": PDF}
    made = {form: draw_many(folder, {"now": NOW, "body": body}, form=number)[0] for form, number in forms.items()}
    assert all(m.verdict == 0 for m in made.values()), [m.reason for m in made.values()]
    return {form: hashlib.sha256(m.bytes).hexdigest() for form, m in made.items()}


@pytest.fixture(scope="module")
def kept():
    k, here = json.loads(KEPT.read_text()), packages()
    if differ := [f"{n}: {k['packages'].get(n)} there, {v} here" for n, v in here.items() if k["packages"].get(n) != v]:
        pytest.skip("kept with other packages: " + "; ".join(differ))
    return k["digests"]


@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_those_of_another_machine(tmp_path, kept, name):
    """Spec 05 sections 9 and 16: the same input, the same bytes."""
    assert digests(name, tmp_path) == kept[name]


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("test_drawn_digests.py --write")
    told = {}
    for each in NAMES:
        with tempfile.TemporaryDirectory() as place:
            told[each] = digests(each, Path(place))
    KEPT.write_text(json.dumps({"packages": packages(), "digests": told}, indent=1) + "\n")
