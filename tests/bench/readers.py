#!/usr/bin/python3
"""How fast files are read, and in how much memory:   readers.py [BUILD]

Makes files of two sizes, reads each by build/tests/import/import-rows. `parse` stops at the cells, `rows` makes the JSON objects too.
Rates are per second of CPU of the busiest process (the cell, for XLSX), so that a loaded machine tells the same. Memory must not grow with
the file; told are the peaks of the reading process and of its cell.
"""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import xlsxwriter

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
WORDS = ["Ann Lee", "Main Street 12", "blue", "ok", "reference-771", "12.50", "2024-05-01", "x"]
HEAD = ["name", "email", "phone", "street", "city", "qty", "notes", "ref"]
CSV_BLOCKS, XLSX_ROWS = (40, 200), (50000, 250000)


def plain(i, word):
    return f"{word()} {i},user{i}@example.org,+1555{i:07d},{word()},Berlin,{i % 1000},{word()} {word()},{word()}\n"


def quoted(i, word):
    return f'"{word()}, ""Jr"" {i}","user{i}@example.org",+1555{i:07d},"Zürich, é{i}",Berlin,{i % 1000},"{word()}\n{word()}",{word()}\n'


def as_json(i, word):
    return json.dumps({k: f"{word()} {i}" for k in HEAD}) + "\n"


def write_text(path, line, blocks, head):
    random.seed(1)
    block = "".join(line(i, lambda: random.choice(WORDS)) for i in range(20000))
    with open(path, "w", encoding="utf-8") as f:
        f.write(head)
        for _ in range(blocks):
            f.write(block)


def write_xlsx(path, rows, options):
    book = xlsxwriter.Workbook(str(path), options)
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, HEAD)
    for i in range(1, rows + 1):
        sheet.write_row(i, 0, [f"Ann {i % 5000}", f"user{i}@example.org", i, i * 0.25, "Berlin", f"R{i}", 45000 + i % 500, i % 7])
    book.close()


def read(path, *options):
    out = subprocess.run([BUILD / "tests/import/import-rows", "--quiet", "--cells", BUILD / "cells", *options, path], capture_output=True, text=True,
                         check=True).stdout
    assert '"problem"' not in out, out
    found = re.search(r"rows (\d+) cells (\d+) seconds ([\d.]+) cpu ([\d.]+) ([\d.]+) memory (\d+) (\d+)", out)
    rows, cells, seconds, own, cell, memory, cell_memory = map(float, found.groups())
    return max(own, cell), seconds, rows, cells, memory, cell_memory


def report(name, path):
    size = path.stat().st_size / 1e6
    for label, options in (("parse", ["--raw"]), ("rows", [])):
        cpu, seconds, rows, cells, memory, cell_memory = min(read(path, *options) for _ in range(3))
        print(f"{name:20} {label:6} {size:7.1f} MB {rows:8.0f} rows {seconds:6.2f} s, CPU {cpu:5.2f} s: {size / cpu:6.1f} MB/s {cells / cpu / 1e6:6.2f} M cells/s"
              f" {memory / 1024:5.1f} MiB, cell {cell_memory / 1024:5.1f} MiB", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for blocks in CSV_BLOCKS:
            for name, line, head in (("csv plain", plain, ",".join(HEAD) + "\n"), ("csv quoted", quoted, ",".join(HEAD) + "\n"), ("json lines", as_json, "")):
                path = folder / "text"
                write_text(path, line, blocks, head)
                report(name, path)
        for rows in XLSX_ROWS:
            for name, options in (("xlsx shared strings", {}), ("xlsx inline strings", {"constant_memory": True})):
                path = folder / "book.xlsx"
                write_xlsx(path, rows, options)
                report(name, path)


main()
