#!/usr/bin/python3
"""How well labels are read:   labels.py [SOURCE] [--set FOLDER | --seed S --n N] [--wear KIND] [--megapixels N] [--engines N] [--failures N] [--told FILE]

The labels are those of tests/labels/label_set.py (made anew in WHARF_TEST_PLACE, or those of a folder). SOURCE is one of
  --once COMMAND           a program with its first arguments ("build/tests/labels/label-once build/cells"), which gets paths of pictures behind them and prints
                           a line of JSON for each, in the names of docs/spec/06-inference.md section 3
  --http                   a server: each label is sent to POST /v1/inferences/images/shipping-labels
  --cell                   the image cell alone (tests/cell/image.c): is the tracking number among its barcodes, do postal code and name stand in its lines
Told is, for each wear and each carrier: tracking number right, null and WRONG; carrier, recipient's postal code and name right; other fields, where they
are printed; times. --engines N: how long the image cell takes for N of them, barcodes only and all of it. BUILD as in the tests."""
import argparse
import base64
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
import unicodedata

from PIL import Image
import requests

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "labels"), str(HERE.parent / "api")]

import label_set  # noqa: E402

CODES, ALL = 1, 7
BATCH = 40
GOALS = {"tracking number": {"clean": 99, "printed": 98, "photographed": 93}, "carrier": {"clean": 99, "printed": 98, "photographed": 95},
         "postal code": {"clean": 98, "printed": 96, "photographed": 90}, "name": {"clean": 95, "printed": 92, "photographed": 80}}
WRONG_GOAL = 0.2
OTHERS = ("service_level_name", "weight", "package", "ship_date", "purchase_order", "order_number", "invoice_number", "rma_number", "reference_number", "account_id")


# ---- what is right ----

def plain(text):
    """Letters and digits only, without accents, in capitals."""
    text = (text or "").translate(str.maketrans({"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ß": "ss"}))
    return "".join(c for c in unicodedata.normalize("NFKD", text).upper() if c.isalnum())


def number(text):
    return re.sub(r"\s", "", text or "").upper()


def postal_is_right(said, true):
    said, true, country = plain(said), plain(true["postal_code"]), true["country_code"]
    return said[:5] == true[:5] and len(said) in (5, 9) if country == "US" else said == true


def name_is_right(said, true):
    """The person, or the firm where no person is named."""
    if true["name"]:
        return plain(true["name"]) in (plain(said.get("name")), plain(said.get("extracted_name")))
    return plain(true["business"]) in (plain(said.get("business")), plain(said.get("extracted_business")), plain(said.get("name")))


def other_is_right(field, said, true):
    if field == "weight":
        return bool(said) and said.get("unit") == true["unit"] and abs(float(said.get("value") or 0) - true["value"]) < 0.006
    if field == "package":
        return bool(said) and (said.get("number"), said.get("total")) == (true["number"], true["total"])
    return said == true if field in ("ship_date", "service_level_name") else plain(said) == plain(true)


def judge(entry, said):
    """What is right of an answer: {field: True, False or a word}."""
    true, to = entry["truth"], said.get("recipient") or {}
    told = number(said.get("tracking_number"))
    good = told in [number(true["tracking_number"]), *(number(a) for a in entry["also"])]
    verdict = {"tracking number": "right" if good else "WRONG" if told else "null", "carrier": said.get("provider_id") == true["provider_id"],
               "postal code": postal_is_right((to.get("address") or {}).get("postal_code"), true["recipient"]["address"]), "name": name_is_right(to, true["recipient"])}
    if true["sender"]:
        verdict["sender's postal code"] = postal_is_right(((said.get("sender") or {}).get("address") or {}).get("postal_code"), true["sender"]["address"])
    verdict |= {f: other_is_right(f, said.get(f), true[f]) for f in OTHERS if true[f] is not None}
    return verdict


def code_is_read(code, values):
    """Of a MaxiCode the reader puts the postal code in front of the second message, behind its head of nine signs."""
    value = code["value"].replace("\x1d", "")
    return value in values or code["symbology"] == "maxicode" and any(value[8:] in v for v in values)


def judge_cell(entry, said):
    """The same of the image cell: is it there to be found?"""
    true, values = entry["truth"], {c["value"].replace("\x1d", "") for c in said.get("codes", [])}
    lines = [plain(line) for line in said.get("lines", [])]
    wanted = {c["value"] for c in entry["codes"] if c["purpose"] == "tracking"}
    in_text = bool(true["tracking_number"]) and any(plain(true["tracking_number"]) in line for line in lines)
    to, code = true["recipient"], plain(true["recipient"]["address"]["postal_code"])
    code = code[:5] if to["address"]["country_code"] == "US" else code
    verdict = {"tracking number": "right" if not wanted or wanted & values else "null", "postal code": any(code in line for line in lines),
               "name": any(plain(to["name"] or to["business"]) in line for line in lines)}
    if true["tracking_number"]:
        verdict |= {"number in text": in_text, "number in either": in_text or verdict["tracking number"] == "right"}
    for c in entry["codes"]:
        if c["purpose"] != "tracking":
            name = f"{c['purpose']} code"
            verdict[name] = verdict.get(name, True) and code_is_read(c, values)
    return verdict


# ---- who reads ----

def batch_of(argv, paths):
    """Runs a program over some pictures. Yields (what it printed, seconds)."""
    begun = time.monotonic()
    with subprocess.Popen([*map(str, argv), *map(str, paths)], stdout=subprocess.PIPE, text=True) as program:
        for path in paths:
            line = program.stdout.readline()
            if not line:
                raise RuntimeError(f"{argv[0]} ended before it read {path}")
            yield json.loads(line), time.monotonic() - begun
            begun = time.monotonic()


def lines_of(argv, paths, jobs=1):
    """Runs a program over pictures, some at a time, in as many processes as jobs says. Yields (what it printed, seconds), in the order of paths."""
    batches = [paths[i:i + BATCH] for i in range(0, len(paths), BATCH)]
    if jobs == 1:
        for some in batches:
            yield from batch_of(argv, some)
        return
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for lines in pool.map(lambda some: list(batch_of(argv, some)), batches):
            yield from lines


def enlarged(path, place, megapixels):
    """A picture made as large as cameras of so many megapixels make it, of its own shape."""
    to = place / f"large-{path.stem}.jpg"
    with Image.open(path) as picture:
        scale = (megapixels * 1e6 / (picture.width * picture.height)) ** 0.5
        picture.convert("RGB").resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.BICUBIC).save(to, "JPEG", quality=85)
    return to


def cell_of(wants, budget):
    build = label_set.build_folder()
    return [build / "tests/cell/image-once", build / "cells", wants, budget, 0]


def answered(paths):
    """Sends each label to a server. Yields (the reading, seconds)."""
    from wharf import Server  # noqa: PLC0415

    server = Server("--modules", "org,carriers,inference")
    try:
        key = server.organization().key()
        for path in paths:
            image = base64.b64encode(path.read_bytes()).decode()
            for _ in range(5):  # a busy machine may have no process free
                begun = time.monotonic()
                a = requests.post(server.base + "/v1/inferences/images/shipping-labels", json={"image": image}, headers={"SVC-API-KEY": key}, timeout=60)
                took = time.monotonic() - begun
                if a.status_code != 503:
                    break
            if a.status_code != 201:
                sys.exit(f"{path}: {a.status_code} {a.text[:500]}")
            yield a.json()["data"], took
    finally:
        server.stop()


def answers(a, paths):
    if a.http:
        return answered(paths)
    if a.cell:
        return lines_of(cell_of(ALL, a.budget), paths, a.jobs)
    return lines_of(shlex.split(a.once), paths, a.jobs)


# ---- what is told ----

def share(values):
    return 100 * sum(values) / len(values) if values else 0.0


def at(times, q):
    return sorted(times)[min(len(times) - 1, int(len(times) * q))] * 1000


def times_line(name, times):
    return f"  {name}: p50 {at(times, 0.5):.0f} ms, p95 {at(times, 0.95):.0f} ms"


def print_wear(wear, results):
    print(f"\n{wear}: {len(results)} labels")
    counts = collections.Counter(r["verdict"]["tracking number"] for r in results)
    wrong = 100 * counts["WRONG"] / len(results)
    print(f"  tracking number    right {100 * counts['right'] / len(results):6.2f} %  (goal {GOALS['tracking number'][wear]})   null {100 * counts['null'] / len(results):.2f} %   "
          f"WRONG {wrong:.2f} %  (goal {WRONG_GOAL})")
    fields = [f for f in dict.fromkeys(f for r in results for f in r["verdict"]) if f != "tracking number"]
    for field in fields:
        values = [r["verdict"][field] for r in results if field in r["verdict"]]
        goal = f"  (goal {GOALS[field][wear]})" if field in GOALS else ""
        print(f"  {field:<24} {share(values):6.2f} %  of {len(values)}{goal}")
    print(times_line("time", [r["seconds"] for r in results]))


def print_carriers(results, wears):
    print(f"\n{'carrier':<16} {'wear':<13} {'labels':>6} {'number':>7} {'null':>6} {'WRONG':>6} {'carrier':>8} {'postal':>7} {'name':>6}")
    for carrier in sorted({r["carrier"] for r in results}):
        for wear in wears:
            some = [r["verdict"] for r in results if (r["carrier"], r["wear"]) == (carrier, wear)]
            if some:
                counts = collections.Counter(v["tracking number"] for v in some)
                print(f"{carrier:<16} {wear:<13} {len(some):>6} {100 * counts['right'] / len(some):>7.1f} {100 * counts['null'] / len(some):>6.1f} {100 * counts['WRONG'] / len(some):>6.1f} "
                      f"{share([v['carrier'] for v in some]) if 'carrier' in some[0] else float('nan'):>8.1f} {share([v['postal code'] for v in some]):>7.1f} {share([v['name'] for v in some]):>6.1f}")


def print_engines(a, paths, seconds):
    """The engines alone on the same labels: what the rest costs is the ratio."""
    paths = paths[:a.engines]
    codes = [took for _, took in lines_of(cell_of(CODES, a.budget), paths)]
    everything = list(lines_of(cell_of(ALL, a.budget), paths))
    engines = [sum(ms for step, ms in said.get("steps", {}).items() if step.startswith(("linear", "matrix", "crops", "words", "rest"))) / 1000 for said, _ in everything]
    print(f"\nimage cell, {len(paths)} labels\n" + times_line("barcodes only", codes) + "\n" + times_line("barcodes and words", [took for _, took in everything]) + "\n"
          + times_line("of that in the engines", engines) + f"\n  the answer takes {at(seconds[:a.engines], 0.5) / at(engines, 0.5):.2f} times the engines (p50)")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    source = p.add_mutually_exclusive_group(required=True)
    source.add_argument("--once", metavar="COMMAND")
    source.add_argument("--http", action="store_true")
    source.add_argument("--cell", action="store_true")
    p.add_argument("--set", metavar="FOLDER")
    p.add_argument("--seed", default="1")
    p.add_argument("--n", type=int, default=5000)
    p.add_argument("--wear", help="one of clean, printed, photographed: others are not read")
    p.add_argument("--megapixels", type=float, help="pictures are made so large before they are read")
    p.add_argument("--jobs", type=int, default=1, help="processes that make the labels and, but with --http, read them: times are those of a busy machine then")
    p.add_argument("--budget", type=int, default=8000, help="milliseconds that the image cell has for each")
    p.add_argument("--engines", type=int, default=0)
    p.add_argument("--failures", type=int, default=0, help="name so many labels of each kind of failure")
    p.add_argument("--told", metavar="FILE", help="a line of JSON for each label: what was right, and the answer")
    a = p.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("WHARF_TEST_PLACE")) as place:
        folder = pathlib.Path(a.set or place)
        if a.set:
            entries = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
        else:
            entries = label_set.make(a.seed, a.n, folder, day=label_set.datetime.date.today(), jobs=a.jobs)
        entries = [e for e in entries if a.wear in (None, e["wear"])]
        paths = [folder / e["file"] if not a.megapixels else enlarged(folder / e["file"], pathlib.Path(place), a.megapixels) for e in entries]
        results = []
        for entry, (said, took) in zip(entries, answers(a, paths)):
            verdict = (judge_cell if a.cell else judge)(entry, said)
            results.append({"file": entry["file"], "wear": entry["wear"], "carrier": entry["truth"]["provider_id"] or "none", "seconds": took, "verdict": verdict,
                            **({"said": said, "entry": entry} if a.told else {})})
        wears = [w for w in label_set.WEARS if any(r["wear"] == w for r in results)]
        for wear in wears:
            print_wear(wear, [r for r in results if r["wear"] == wear])
        print_carriers(results, wears)
        if a.engines:
            print_engines(a, paths, [r["seconds"] for r in results])
    if a.told:
        pathlib.Path(a.told).write_text("".join(json.dumps(r) + "\n" for r in results))
    for field in GOALS if a.failures else ():
        failed = [f"{r['file']} ({r['carrier']}{', WRONG' if r['verdict'][field] == 'WRONG' else ''})" for r in results if r["verdict"].get(field) not in (True, "right", None)]
        print(f"\n{field}: {len(failed)} not right: {' '.join(failed[:a.failures])}")


if __name__ == "__main__":
    main()
