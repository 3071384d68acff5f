"""`wharf lua …` for the tests of this folder: its binary, folders of files, results as data."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
WHARF = BUILD / "tool" / "wharf"


def lua(*args, cwd=None, **kw):
    return subprocess.run([WHARF, "lua", *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=300, check=False, **kw)


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def cases(folder, *args):
    """Runs the tests; {name of the case: what is told of it}."""
    r = lua("test", folder, "--format", "json", *args)
    assert not r.stderr, r.stderr
    return {c["name"]: c for f in json.loads(r.stdout)["files"] for c in f["cases"]}
