#!/usr/bin/python3
"""How fast labels and papers are drawn:   draw.py [BUILD] [--times N] [--turns N]

Three papers: a label of 4 by 6 inches with four barcodes, a packing slip of 25 lines, a table of 1,000 rows. Ours by a real cell, from a definition; by hand
the same in C with cairo, pango and zint (draw_hand.c); by pdfmake (npm, with bwip-js); by WeasyPrint (Debian's weasyprint). All on one processor, turns by
turns; a drawing takes what N + 1 of them take longer than one, so that no start counts. Told is the median of the turns, in milliseconds, and the same of
the processor's time of the program and its children."""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
FORMAT_PDF = 1
GOALS = {"label": "at most 1.3 times by hand", "slip": "at most 15 ms", "table": "at most 400 ms"}


def text(x, y, value, size=9, bold=False):
    return {"type": "text", "x": x, "y": y, "value": value, "height": size, **({"font_weight": "bold"} if bold else {})}


def line(y):
    return {"type": "line", "x": 18, "y": y, "width": 252, "thickness": 0.5}


def lines(n):
    return [{"sku": f"SKU-{i:04}", "name": f"Article number {i} of the list", "ordered": i % 17 + 1, "shipped": i % 13 + 1} for i in range(n)]


def table(y, **more):
    return {"type": "table", "id": "lines", "x": 36, "y": y, "width": 540, "rows": "lines", "font_size": 9, "columns": [
        {"header": "SKU", "value": "{{row.sku}}", "width": 120}, {"header": "Name", "value": "{{row.name}}", "width": 260},
        {"header": "Ordered", "value": "{{row.ordered}}", "width": 80, "align": "right"},
        {"header": "Shipped", "value": "{{row.shipped}}", "width": 80, "align": "right"}], **more}


def papers():
    to = {"name": "Ada Lovelace", "street": "1200 Harbor Street, Suite 400", "city": "Baltimore MD 21230"}
    data = {"to": to, "order": "100234", "tracking": "1Z999AA10123456784"}
    label = [text(18, 18, "FROM  Wharf Goods, Dock 5, Oakland CA 94607", 8), line(34), text(18, 42, "SHIP TO"), text(18, 56, "{{to.name}}", 16, True),
             text(18, 78, "{{to.street}}", 14), text(18, 96, "{{to.city}}", 14), line(120),
             {"type": "code128", "x": 18, "y": 128, "width": 252, "height": 70, "value": "{{tracking}}"}, text(90, 202, "{{tracking}}"), line(220),
             {"type": "qr", "x": 18, "y": 230, "size": 90, "value": "https://track.example/{{tracking}}"}, {"type": "matrix", "x": 130, "y": 230, "size": 60, "value": "ORDER-{{order}}"},
             {"type": "barcode", "symbology": "pdf417", "x": 18, "y": 340, "width": 252, "height": 60, "value": "ORDER-{{order}}/{{tracking}}"},
             text(200, 240, "Order {{order}}"), text(200, 254, "1 of 2")]
    slip = [text(36, 30, "Packing slip", 22, True), {"type": "code128", "x": 396, "y": 30, "width": 180, "height": 40, "value": "ORDER-{{order}}"},
            text(36, 90, "Ship to", 9, True), text(36, 104, "{{to.name}}", 10), text(36, 118, "{{to.street}}", 10), text(36, 132, "{{to.city}}", 10),
            text(396, 90, "Order", 9, True), text(396, 104, "{{order}} of 5 January 2026", 10), table(170),
            {**text(36, 12, "Thank you. Returns within 30 days."), "after": "lines"}]
    foot = {"height": 20, "raw": [{"type": "page_number", "x": 520, "y": 4, "height": 9}]}
    return {"label": {"size": "4x6", "raw": label, "data": data}, "slip": {"size": "letter", "raw": slip, "footer": foot, "data": {**data, "lines": lines(25)}},
            "table": {"size": "letter", "raw": [table(36)], "data": {"lines": lines(1000)}}}


def drawers(build, folder):
    """name -> the command of a paper and how often."""
    for name, body in papers().items():
        (folder / f"{name}.json").write_text(json.dumps({"now": "2026-01-05T10:00:00.000Z", "body": body}))
    out = str(folder / "out.pdf")
    found = {"Wharf": lambda name, n: [build / "tests/draw/draw-once", "--times", n, build / "cells", FORMAT_PDF, folder / f"{name}.json", out],
             "by hand": lambda name, n: [build / "tests/bench/draw-hand", name, n, out]}
    subprocess.run(["bash", "-c", ". tools/setup.sh; need_packages weasyprint && npm_folder tests/bench/draw_peer"], cwd=HERE.parents[1], check=True)
    found["pdfmake"] = lambda name, n: ["node", HERE / "draw_peer/draw.js", name, n, out]
    found["WeasyPrint"] = lambda name, n: ["/usr/bin/python3", HERE / "draw_weasy.py", name, n, out]
    return found


def took(argv):
    """Seconds on the clock, and of the processor, of a command and its children."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (argv, done.stderr[-2000:])
    assert "draw-once" not in str(argv[0]) or done.stdout.count("ok 0") == int(argv[2]), done.stdout[-2000:]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def one(command, name, times):
    some, many = took(command(name, 1)), took(command(name, times + 1))
    return [1000 * (b - a) / times for a, b in zip(some, many)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build", nargs="?", default=HERE.parents[1] / "build")
    parser.add_argument("--times", type=int, default=100, help="drawings that are timed (of the table a tenth)")
    parser.add_argument("--turns", type=int, default=5)
    told = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        commands = drawers(pathlib.Path(told.build).resolve(), pathlib.Path(folder))
        print(f"{'ms (of the processor)':24}" + "".join(f"{name:>20}" for name in commands) + "   goal")
        for paper, goal in GOALS.items():
            times = max(told.times // (10 if paper == "table" else 1), 1)
            turns = [{name: one(command, paper, times) for name, command in commands.items()} for _ in range(told.turns)]
            cells = [tuple(statistics.median(t[name][i] for t in turns) for i in (0, 1)) for name in commands]
            print(f"{paper:24}" + "".join(f"{clock:>11.2f} ({cpu:.2f})".rjust(20) for clock, cpu in cells) + f"   {goal}")


if __name__ == "__main__":
    main()
