#!/usr/bin/python3
"""Makes labels of parcels that never were, and says what is on each:   label_set.py FOLDER [--seed S] [--n N] [--wear KIND,...] [--day YYYY-MM-DD] [--jobs N]

FOLDER gets 00000.png and so on, and truth.jsonl: a line for each with file, wear (clean, printed, photographed), layout, format, truth (names of
docs/spec/06-inference.md section 3), also (further spellings of the tracking number that are right), codes (what is on it) and kept (where the tracking
number and the parties stand). The same seed gives the same bytes. Nothing of it is of a real parcel."""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import random
import subprocess
import tempfile

from label_layouts import LAYOUTS
from label_page import Label
import label_numbers as numbers
import label_wear

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRINTS = json.loads((pathlib.Path(__file__).resolve().parent / "data" / "prints.json").read_text())
WEARS = ("clean", "printed", "photographed")
DAY = datetime.date(2026, 11, 1)
PNG = 2
BATCH = 100


def build_folder():
    return pathlib.Path(os.environ.get("BUILD", ROOT / "build"))


def order(seed, n):
    """Which print is the i-th: each as often as its line says, in rounds of another order."""
    chance, rows = random.Random(f"{seed}/order"), []
    while len(rows) < n:
        round_of = [row for row in PRINTS for _ in range(row["times"])]
        chance.shuffle(round_of)
        rows += round_of
    return rows[:n]


def lay_out(seed, i, row, day):
    label = Label(random.Random(f"{seed}/{i}"), row, day)
    LAYOUTS[row["layout"]](label)
    return label


def also(label):
    """Other spellings of the tracking number that a reader may give."""
    if label.row["format"] == "dpd_14":  # the parcel's number without its check sign, or all of the barcode, with its own or without
        whole = next(c["value"] for c in label.codes if c["purpose"] == "tracking").lstrip("%")
        return [label.number[:14], whole, whole + (numbers.mod37_36(whole) if whole.isalnum() else "")]
    return []


def entry(label, name, wear):
    scale = 203 / 72
    kept = {k: [round(v * scale) for v in box] for k, box in label.kept.items()}
    return {"file": name, "wear": wear, "layout": label.row["layout"], "format": label.row["format"], "truth": label.truth, "also": also(label), "codes": label.codes, "kept": kept}


def draw(folder, labels, names):
    """Has one cell draw them all. A label that is not drawn whole is a fault of a layout."""
    build = build_folder()
    with tempfile.TemporaryDirectory() as place:
        listed = pathlib.Path(place) / "list"
        listed.write_text("".join(f"{folder / name}\t{json.dumps(l.request())}\n" for l, name in zip(labels, names)))
        said = subprocess.run([build / "tests/draw/draw-once", "--list", listed, build / "cells", str(PNG)], capture_output=True, text=True, check=True).stdout.split("\n")
    for i, (label, name) in enumerate(zip(labels, names)):
        report = json.loads(said[2 * i + 1] or "{}")
        if not said[2 * i].startswith("ok 0") or report.get("element_errors"):
            raise RuntimeError(f"{name} ({label.row['format']}, {label.row['layout']}): {said[2 * i]} {report.get('element_errors')}")


def make_some(seed, first, rows, folder, wears, day):
    """Labels first, first + 1 and so on. Returns their entries."""
    labels = [lay_out(seed, first + i, row, day) for i, row in enumerate(rows)]
    names = [f"{first + i:05}.png" for i in range(len(rows))]
    draw(folder, labels, names)
    entries = []
    for i, (label, name) in enumerate(zip(labels, names)):
        wear = wears[(first + i) % len(wears)]
        said = entry(label, name, wear)
        said |= label_wear.worn(folder / name, wear, f"{seed}/{first + i}/wear", said["kept"])
        entries.append(said)
    return entries


def make(seed, n, folder, *, wears=WEARS, day=DAY, jobs=1):
    """Writes n labels and their truth into a folder. Returns the entries."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = order(seed, n)
    parts = [(seed, i, rows[i:i + BATCH], folder, wears, day) for i in range(0, n, BATCH)]
    if jobs > 1:
        with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
            made = list(pool.map(make_some, *zip(*parts)))
    else:
        made = [make_some(*part) for part in parts]
    entries = [e for part in made for e in part]
    (folder / "truth.jsonl").write_text("".join(json.dumps(e, ensure_ascii=False) + "\n" for e in entries))
    return entries


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("--seed", default="1")
    p.add_argument("--n", type=int, default=5000)
    p.add_argument("--wear", default=",".join(WEARS))
    p.add_argument("--day", default=DAY.isoformat())
    p.add_argument("--jobs", type=int, default=1)
    a = p.parse_args()
    entries = make(a.seed, a.n, a.folder, wears=tuple(a.wear.split(",")), day=datetime.date.fromisoformat(a.day), jobs=a.jobs)
    print(f"{len(entries)} labels in {a.folder}")


if __name__ == "__main__":
    main()
