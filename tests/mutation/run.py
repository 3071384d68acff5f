#!/usr/bin/python3
"""Breaks each rule of rules.py in a copy of the tree, and sees whether a test fails: a rule that survives has no test.

By hand, it takes an hour: tests/mutation/run.py [text in the rule's name ...]
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from rules import RULES

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(tree, *command, quiet=True):
    out = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV)
    return out.returncode, out.stdout


def broken(tree, build, rule):
    """'killed', 'SURVIVED', or what went wrong."""
    name, file, text, other, tests = rule
    path = tree / file
    whole = path.read_text()
    if text not in whole:
        return f"text is not in {file} any more"
    path.write_text(whole.replace(text, other, 1))
    try:
        code, out = run(tree, "ninja", "-C", build)
        if code:
            return "killed by the build" if "definition" in out or file.endswith(".json") else "does not build:\n" + out[-1500:]
        code, out = run(tree, "/usr/bin/python3", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests.split())
        first = [line for line in out.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return f"killed: {first[0][:150] if first else out[-300:]}" if code == 1 else "SURVIVED" if code == 0 else f"pytest said {code}: {out[-500:]}"
    finally:
        path.write_text(whole)


def main():
    wanted = [r for r in RULES if not sys.argv[1:] or any(w in r[0] for w in sys.argv[1:])]
    with tempfile.TemporaryDirectory(prefix="wharf-mutation-") as folder:
        tree, build = pathlib.Path(folder) / "tree", f"{folder}/build"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("build*", ".git", ".wharf", "__pycache__", "node_modules"))
        ENV["WHARF_BUILD"] = build
        for command in (["meson", "setup", build, "-Dtests=true"], ["ninja", "-C", build]):
            code, out = run(tree, *command)
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
