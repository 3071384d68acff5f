#!/usr/bin/python3
"""What another organization's readers wait while eight clients draw definitions that are made to hurt.

    tests/bench/draw_hostile.py [--seconds 60] [--only NAME]

Repeats in repeats, 20,000 elements, tables in tables, SVG that are slow to read and slow to paint, and pictures of 40 megapixels are drawn over eight
connections as fast as they are answered; workers and cells are as many as by default. Beside them the clients of tests/bench/others.py retrieve,
update and list contacts, 80 times a second each. Prints p50 and p99 alone and beside, what was answered, and whether a worker ended. Asserts nothing.
--only: only this definition, to find what others wait for."""
import argparse
import json
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("BUILD", str(pathlib.Path(__file__).resolve().parents[2] / "build"))
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("api", "draw")]
import api_folders  # noqa: E402, F401
from hostile import measure, unlimited  # noqa: E402
from others import Others  # noqa: E402
from test_drawn_hostile import SLOW_PAINT, SLOW_TO_READ, huge, svg  # noqa: E402

GENERATE = "/v1/templates/pdf/generate"
CLIENTS = 8


def each(**more):
    return {"x": 1, "y": 1, "repeat": {"each": "list", "dx": 1, "dy": 1, "per_row": 100}, **more}


def of(count, *raw):
    """A definition of these elements, with a list of so many numbers."""
    return {"size": "4x6", "raw": list(raw), "data": {"list": list(range(count))}}


DEFINITIONS = {
    "20,000 elements": of(19999, each(type="text", value="{{item | pad:9}}")),
    "20,000 codes": of(19999, each(type="code128", width=60, height=5, value="{{item | pad:9}}")),
    "repeats in repeats": of(140, each(type="group", children=[each(type="text", value="{{item}}")])),
    "too many": of(1000, each(type="group", children=[each(type="text", value="a")])),
    "tables in a table": of(9000, {"type": "table", "x": 5, "y": 5, "rows": "list", "columns": [{"element": {"type": "table", "rows": "list", "columns": [{"value": "{{row}}"}]}}]}),
    "a long condition": of(2000, each(type="rect", width=1, height=1, **{"if": " || ".join(["'x' in list"] * 250)})),
    "SVG slow to paint": of(0, {**svg(SLOW_PAINT), "width": 200, "height": 200}),
    "SVG slow to read": of(0, svg(SLOW_TO_READ)),
    "SVG of groups in groups": of(0, svg("<g>" * 50000 + "</g>" * 50000)),
    "large pictures": of(0, *({"type": "image", "x": 5, "y": 40 * i, "width": 50, "value": huge(85 + i)} for i in range(4))),
}


def bodies(only):
    """Requests: path, headers, body. Each client sends all definitions in turns, and begins with another one."""
    made = [(GENERATE, {"Content-Type": "application/json"}, json.dumps({"output": "base64", **definition}).encode()) for name, definition in DEFINITIONS.items() if only in (name, "")]
    return [made[(i // CLIENTS + i) % len(made)] for i in range(CLIENTS * len(made))]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--only", choices=[*DEFINITIONS, ""], default="")
    asked = p.parse_args()
    with unlimited() as server, tempfile.TemporaryDirectory() as folder:
        victim = server.organization().client()
        ids = [victim.post("/v1/contacts", {"name": f"Ann {i}"}, expect=201).data["id"] for i in range(20)]
        measure(server, Others(server, victim.key, "/v1/contacts", "notes", ids, pathlib.Path(folder)), bodies(asked.only), CLIENTS, asked.seconds)


if __name__ == "__main__":
    main()
