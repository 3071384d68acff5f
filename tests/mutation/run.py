#!/usr/bin/python3
"""Breaks each rule of rules.py and takes away each guard of guards.py in a copy of the tree, and sees whether a test fails: what survives has no test.

By hand, it takes hours: tests/mutation/run.py [text in the rule's name ...], so tests/mutation/run.py guard: for the guards alone.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from guards import GUARDS
from rules import RULES

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("kernel", "services", "tool", "modules", "cells")  # where a file is that is named without its folder
BUILT = re.compile(r"tool/wharf|modules/\w+\.so|cells/wharf-cell-\w+|station/wharf-station|tests/plugins/\w+\.so|tests/unit/wharf-stub")  # what the tests run


def run(tree, *command, quiet=True):
    out = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV)
    return out.returncode, out.stdout


BREAK = r'(?:\s|"\s*\n\s*")*'  # a line may be broken anywhere, a literal too


def pattern(text):
    """Finds the text however its lines are broken."""
    return re.compile(BREAK.join(re.escape(part) for part in re.findall(r"\w+|[^\w\s]", text)))


def found(tree, file, text):
    """The files that are meant and have the text."""
    named = [tree / file] if "/" in file else [p for folder in FOLDERS for p in (tree / folder).rglob(file)]
    return [p for p in named if pattern(text).search(p.read_text())]


def targets(tree, build):
    _, out = run(tree, "ninja", "-C", build, "-t", "targets", "all")
    return [name for name in (line.split(":")[0] for line in out.splitlines()) if BUILT.fullmatch(name)]


def broken(tree, build, rule):
    """'killed', 'SURVIVED', or what went wrong."""
    name, file, text, other, tests = rule
    paths = found(tree, file, text)
    if len(paths) != 1:
        return f"text is in {len(paths)} files {file}, not in one"
    path = paths[0]
    whole = path.read_text()
    path.write_text(pattern(text).sub(lambda _: other, whole, 1))
    try:
        code, out = run(tree, "ninja", "-C", build, *targets(tree, build))
        if code:
            return "killed by the build" if "definition" in out or file.endswith(".json") else "does not build:\n" + out[-1500:]
        code, out = run(tree, "/usr/bin/python3", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *shlex.split(tests))
        first = [line for line in out.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return f"killed: {first[0][:150] if first else out[-300:]}" if code == 1 else "SURVIVED" if code == 0 else f"pytest said {code}: {out[-500:]}"
    finally:
        path.write_text(whole)


def main():
    wanted = [r for r in RULES + GUARDS if not sys.argv[1:] or any(w in r[0] for w in sys.argv[1:])]
    with tempfile.TemporaryDirectory(prefix="wharf-mutation-") as folder:
        tree, build = pathlib.Path(folder) / "tree", f"{folder}/build"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("build", "build-*", ".git", ".wharf", "__pycache__", "node_modules"))
        ENV["WHARF_BUILD"] = ENV["BUILD"] = build
        # what is taken away may leave a variable that nobody uses: that is no test
        for command in (lambda: ["meson", "setup", build, "-Dtests=true", "-Dwerror=false"], lambda: ["ninja", "-C", build, *targets(tree, build)]):
            code, out = run(tree, *command())
            if code:
                sys.exit(out[-3000:])
        left = []
        for i, rule in enumerate(wanted, 1):
            result = broken(tree, build, rule)
            print(f"{i}/{len(wanted)} {rule[0]}: {result}", flush=True)
            if not result.startswith("killed"):
                left.append(rule[0])
    print(f"{len(wanted) - len(left)} of {len(wanted)} rules have a test that fails when they are broken" + ("; not: " + "; ".join(left) if left else ""))
    return 1 if left else 0


ENV = {**os.environ, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
if __name__ == "__main__":
    sys.exit(main())
