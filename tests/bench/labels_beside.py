#!/usr/bin/python3
"""What others wait while all image cells read labels (docs/performance.md 'Reading of labels').

    tests/bench/labels_beside.py [--seconds 40] [--senders 6] [--labels 60] [--turns 5]

Labels of the generator (tests/labels; a third photographed) are sent over so many connections as fast as they are answered: more than there are processes that read
them. Beside them the readers of tests/bench/others.py ask. Prints p50 and p99 alone and beside for each turn, and the median of their ratios."""
import argparse
import base64
import json
import os
import pathlib
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "labels"), str(HERE.parent / "api")]
import api_folders  # noqa: E402, F401
import label_set  # noqa: E402
from hostile import measure, unlimited  # noqa: E402
from others import Others  # noqa: E402
from wharf import make_location  # noqa: E402

PATH = "/v1/inferences/images/shipping-labels"


def requests_of(folder, n):
    entries = label_set.make("beside", n, folder, day=label_set.datetime.date.today())
    images = [base64.b64encode((folder / e["file"]).read_bytes()).decode() for e in entries]
    return [(PATH, {"Content-Type": "application/json"}, json.dumps({"image": image}).encode()) for image in images]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=int, default=40)
    p.add_argument("--senders", type=int, default=6)
    p.add_argument("--labels", type=int, default=60)
    p.add_argument("--turns", type=int, default=5)
    a = p.parse_args()
    with unlimited() as server, tempfile.TemporaryDirectory(dir=os.environ.get("WHARF_TEST_PLACE")) as folder:
        victim = server.organization().client()
        ids = [make_location(victim, f"L{i}")["id"] for i in range(20)]
        others = Others(server, victim.key, "/v1/locations", "name", ids, pathlib.Path(folder))
        made = requests_of(pathlib.Path(folder), a.labels)
        ratios = [measure(server, others, made, a.senders, a.seconds, "label") for _ in range(a.turns)]
        print(f"p99 beside labels: {statistics.median(ratios):.2f} times p99 alone, median of {a.turns} turns (goal 2)")


if __name__ == "__main__":
    main()
