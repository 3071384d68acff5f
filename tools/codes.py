#!/usr/bin/python3
"""Writes into errors.json which operations answer with a code, as a run of the tests has seen it.

  WHARF_SEEN=FILE ./test api conformance openapi ...      writes into FILE: each line an operation and a code that it answered with
  tools/codes.py FILE openapi.json                         adds them to errors.json where the description openapi.json does not tell them; names the
                                                           codes that have no `operations` and that no request was answered with

openapi.json is the description that a server of the same build gives: GET /v1/openapi.json. Kinds (@key, @body ...) stay as they are. Names are
added, never taken away. Before you take over what was added, look for its kind: a code of create_X is often one of update_X too.
"""
import collections
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILES = [ROOT / "kernel/resource/errors.json", *sorted(ROOT.glob("modules/*/errors.json"))]


def write(file, codes):
    rows = [f"  {json.dumps(code)}: {json.dumps(said, ensure_ascii=False)}" for code, said in codes.items()]
    file.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def main(seen_file, document_file):
    document = json.loads(pathlib.Path(document_file).read_text())
    told = {o["operationId"]: {*document["x-errors"], *o["x-errors"]} for methods in document["paths"].values() for o in methods.values()}
    seen = collections.defaultdict(set)
    for line in pathlib.Path(seen_file).read_text().splitlines():
        operation, code = line.split()
        if operation in told:
            seen[code].add(operation)
    for file in FILES:
        codes = json.loads(file.read_text())
        for code, said in codes.items():
            known = said.get("operations")
            if known is None and seen[code]:
                said["operations"] = sorted(seen[code])
            elif known is None:
                print(f"{file.relative_to(ROOT)}: {code}: no request was answered with it")
            elif "@any" not in known:
                kinds = [name for name in known if name.startswith("@")]
                added = {operation for operation in seen[code] if code not in told[operation]}
                said["operations"] = kinds + sorted({name for name in known if not name.startswith("@")} | added)
        write(file, codes)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
