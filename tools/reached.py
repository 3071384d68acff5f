#!/usr/bin/python3
"""Tells which statuses the description promises that no test was answered with.

  WHARF_REACHED=FILE ./test --all            writes into FILE: each line a method, a path and the status that was answered
  tools/reached.py FILE openapi.json          a line for each status: how many operations promise it, and those of which no answer had it

openapi.json is the description that a server of the same build gives: GET /v1/openapi.json. A status of all operations is tests/openapi/test_caller.py's;
one of a single operation is its module's tests'.
"""
import collections
import json
import pathlib
import re
import sys


def promised(document):
    """By status: the names of the operations that promise it. `default` and classes (4XX) promise nothing."""
    found = collections.defaultdict(set)
    for methods in document["paths"].values():
        for operation in methods.values():
            for status in operation["responses"]:
                if status.isdigit():
                    found[status].add(operation["operationId"])
    return found


def answered(document, lines):
    """(operation, status) of lines of method, path and status. A path with less braces is meant before one with more: /documents/categories before /documents/{id}."""
    known = sorted(document["paths"], key=lambda t: t.count("{"))
    paths = [(re.compile("/".join(".+" if part == "{path}" else "[^/]+" if "{" in part else re.escape(part) for part in t.split("/"))), document["paths"][t]) for t in known]
    found, seen = set(), {}
    for line in set(lines):
        method, path, status = line.split()
        if path not in seen:
            seen[path] = next((methods for pattern, methods in paths if pattern.fullmatch(path.rstrip("/"))), {})
        if method.lower() in seen[path]:
            found.add((seen[path][method.lower()]["operationId"], status))
    return found


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    document = json.loads(pathlib.Path(sys.argv[2]).read_text())
    reached = answered(document, pathlib.Path(sys.argv[1]).read_text().splitlines())
    for status, names in sorted(promised(document).items()):
        print(status, len(names), *sorted(n for n in names if (n, status) not in reached))


main()
