"""`wharf template render`, as authors use it: files in, a file out, what is wrong on standard error (docs/guide/templates.md 'At your desk')."""
import json
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest
from PIL import Image

from drawing import BUILD, Made, read_codes, run

WHARF = BUILD / "tool" / "wharf"
WAIT = 120  # longest wait; a build with sanitizers is slow
TEXT = {"type": "text", "x": 20, "y": 20, "height": 14}
LABEL = {"size": "4x6", "raw": [{**TEXT, "value": "{{item.name}}"}, {"type": "code128", "x": 40, "y": 80, "width": 200, "height": 60, "value": "{{item.sku}}"}]}
MUG = {"item": {"name": "Mug", "sku": "MUG-WH"}}


def command(*args, cwd=None, expect=0):
    done = subprocess.run([WHARF, "template", *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    return done.stderr.replace("wharf: ", "").splitlines()


def write(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def words(path):
    return [w[0] for page in Made(path, ["none", ""]).words() for w in page]


@pytest.fixture
def label(tmp_path):
    return write(tmp_path / "label.json", LABEL)


@pytest.fixture
def mug(tmp_path):
    return write(tmp_path / "mug.json", MUG)


def test_a_definition_and_its_data(label, mug):
    """The drawing stands beside the definition; a good one says nothing on standard error."""
    assert command("render", label, "--data", mug) == []
    pdf = label.with_suffix(".pdf")
    run("qpdf", "--check", pdf)
    assert words(pdf) == ["Mug"] and read_codes(Made(pdf, ["none", ""]).picture(203)) == {"MUG-WH"}
    before = pdf.read_bytes()
    assert command("render", "label.json", "--data", "mug.json", "--out", "other.pdf", cwd=label.parent) == []
    assert (label.parent / "other.pdf").read_bytes() == before


def test_formats(label, mug, tmp_path):
    """--format, or how the file is called."""
    command("render", label, "--data", mug, "--format", "png")
    with Image.open(label.with_suffix(".png")) as picture:
        assert picture.size == (1200, 1800)
    command("render", label, "--data", mug, "--out", tmp_path / "label.zpl")
    assert (tmp_path / "label.zpl").read_text().startswith("^XA")
    command("render", label, "--data", mug, "--out", tmp_path / "other", "--format", "zpl")
    assert (tmp_path / "other").read_bytes() == (tmp_path / "label.zpl").read_bytes()


def test_an_element_that_fails(tmp_path, mug):
    """The rest is drawn; the path stands before the reason; exit code 1. A warning alone is no failure."""
    broken = write(tmp_path / "broken.json", {**LABEL, "raw": [*LABEL["raw"], {"type": "image", "x": 1, "y": 1, "value": "bm8="}, {"type": "image", "x": 1, "y": 1, "document_id": "dcmt_1"}]})
    told = command("render", broken, "--data", mug, expect=1)
    assert [line.split(": ")[:2] for line in told] == [[str(broken), "raw.2"], [str(broken), "raw.3"]] and "documents" in told[1]
    assert words(broken.with_suffix(".pdf")) == ["Mug"]
    told = command("render", broken, "--data", write(tmp_path / "less.json", {"item": {"sku": "S"}}), expect=1)
    assert told[0] == f"{broken}: warning: raw.0.value: item.name is not set"
    less = write(tmp_path / "warned.json", {**LABEL, "raw": [{**TEXT, "value": "There {{gone}}"}]})
    assert command("render", less, "--data", mug) == [f"{less}: warning: raw.0.value: gone is not set"]


@pytest.mark.parametrize("definition, told", [
    ({"raw": [{"type": "text", "x": "left", "y": 2, "value": "a"}]}, ["raw.0.x must be a number, or a text with a variable in {{ }}"]),
    ({"size": "4x6", "margin_top": 432, "raw": [{**TEXT, "value": "a"}]}, ["margin_top 432 pt + margin_bottom 18 pt = 450 pt leave no printable area on a page 432 pt high"]),
    ({"raw": []}, ["raw must have at least 1 element"]), ({"type": "custom__pdf"}, ["definition is needed with the type custom__pdf"]),
    ({"type": "custom__pdf", "definition": {"raw": [{**TEXT, "value": "a", "color": "red"}]}}, ["definition.raw.0.color must be a colour: #RGB, #RRGGBB or #RRGGBBAA"]),
    ({"raw": [{**TEXT, "value": "a"}], "fonts": [{"family": "Mine", "document_id": "dcmt_1"}]}, ["fonts are documents, which are on the server only; draw with its fonts there"]),
])
def test_what_the_server_would_refuse(tmp_path, definition, told):
    """The same judge with the same words; nothing is written."""
    file = write(tmp_path / "bad.json", definition)
    assert sorted({line.split(": ", 1)[1] for line in command("render", file, expect=1)}) == told
    assert not file.with_suffix(".pdf").exists()


def test_files_that_are_not_good(tmp_path, label):
    assert command("render", tmp_path / "none.json", expect=1) == [f"{tmp_path}/none.json can't be read: No such file or directory"]
    (tmp_path / "comma.json").write_text('{"raw":\n [,]}')
    assert command("render", tmp_path / "comma.json", expect=1)[0].startswith(f"{tmp_path}/comma.json:2: it is no JSON: ")
    command("render", label, "--data", write(tmp_path / "number.json", 7), expect=1)
    command("render", label, "--out", tmp_path / "no" / "such.pdf", expect=1)
    command("render", label, "--out", label, expect=2)
    for wrong in ((), ("render",), ("draw", label), ("render", label, "--format", "gif"), ("render", label, "--page", "0"), ("render", label, "more")):
        command(*wrong, expect=2)


def test_a_template_as_it_is_kept(tmp_path, mug):
    """FILE may be a template_data: one with a definition and a sample, or texts of a label that comes with the server."""
    kept = write(tmp_path / "kept.json", {"type": "custom__pdf", "definition": LABEL, "sample": {"item": {"name": "Sample", "sku": "S-1"}}})
    assert command("render", kept) == [] and words(kept.with_suffix(".pdf")) == ["Sample"]
    assert command("render", kept, "--data", mug) == [] and words(kept.with_suffix(".pdf")) == ["Mug"]
    stock = write(tmp_path / "stock.json", {"type": "item__item_label_pdf", "text_line_3": "{{item.name | upper}}"})
    assert command("render", stock, "--data", mug) == []
    assert {"Mug", "MUG", "MUG-WH"} <= set(words(stock.with_suffix(".pdf")))
    many = write(tmp_path / "many.json", [{"item": {"name": name, "sku": "S-0001"}} for name in ("Ada", "Bob", "Cy")])
    assert command("render", kept, "--data", many) == [] and words(kept.with_suffix(".pdf")) == ["Ada", "Bob", "Cy"]
    command("render", kept, "--data", many, "--format", "png", "--page", "3")
    assert command("render", kept, "--data", many, "--format", "png", "--page", "4", expect=1)[0].endswith("it has 3 pages")


def test_watch(tmp_path, label, mug):
    """Drawn anew when either file changes, in place or by a new file of its name; also after one that can't be read."""
    process = subprocess.Popen([WHARF, "template", "render", label, "--data", mug, "--watch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = {"out": [], "err": []}
    readers = [threading.Thread(target=lambda f=f, to=to: to.extend(iter(f.readline, ""))) for f, to in ((process.stdout, told["out"]), (process.stderr, told["err"]))]
    for thread in readers:
        thread.start()

    def until(done):
        end = time.monotonic() + WAIT
        while not done():
            assert time.monotonic() < end and process.poll() is None, told
            time.sleep(0.01)

    def shown(*expected):
        until(lambda: told["out"] and words(label.with_suffix(".pdf")) == list(expected))

    try:
        shown("Mug")
        write(mug, {"item": {"name": "Cup", "sku": "CUP"}})
        shown("Cup")
        os.replace(write(tmp_path / "label.json~", {**LABEL, "raw": [*LABEL["raw"], {**TEXT, "y": 200, "value": "More"}]}), label)
        shown("Cup", "More")
        label.write_text("{")
        until(lambda: any("it is no JSON" in line for line in told["err"]))
        write(label, LABEL)
        shown("Cup")
    finally:
        process.kill()
        for thread in readers:
            thread.join()
        process.wait()


def test_help():
    assert "wharf template render FILE [--data DATA]" in subprocess.run([WHARF, "help"], capture_output=True, text=True, timeout=WAIT).stdout


def test_no_folder_of_the_server_is_needed(tmp_path, label, mug):
    """Nothing but the drawing is made, wherever it is called."""
    empty = tmp_path / "empty"
    empty.mkdir()
    command("render", label, "--data", mug, "--out", "only.pdf", cwd=empty)
    assert [p.name for p in Path(empty).iterdir()] == ["only.pdf"]
