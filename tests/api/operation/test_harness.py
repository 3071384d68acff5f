"""Servers that tests start (wharf.py): one that can't be used is ended by who started it, or the next tests find no memory. And every Python
file of the tests finds what it imports, also one that only a long part or a bench runs."""
import os
import re
import subprocess

import pytest

from wharf import ROOT, WAIT, Server

# Does what a file does before its first function or class: its imports. What the folder's conftest.py puts on the path is there, as when pytest runs it.
# Each file is read in a process of its own, forked from one that has read the large packages already: these are most of the time of an import.
READ = """
import ast, contextlib, importlib, os, pathlib, sys, traceback

for package in ("botocore.session", "hypothesis", "numpy", "openpyxl", "PIL.Image", "psycopg2.extras", "pytest", "requests", "concurrent.futures"):
    with contextlib.suppress(ImportError):  # a file that wants it says so
        importlib.import_module(package)

def read(file):
    sys.path.insert(0, str(file.parent))
    tree = ast.parse(file.read_text())
    first = next((i for i, node in enumerate(tree.body) if isinstance(node, (ast.FunctionDef, ast.ClassDef))), len(tree.body))
    tree.body = tree.body[:first]
    exec(compile(tree, str(file), "exec"), {"__file__": str(file), "__name__": "read"})

def found(file):
    "Whether the file finds its imports; another error is its own affair: it wants arguments or a server."
    try:
        if (file.parent / "conftest.py").exists():
            read(file.parent / "conftest.py")
        read(file)
    except ImportError:
        traceback.print_exc()
        return False
    except BaseException:
        pass
    return True

def forked(file):
    if not (pid := os.fork()):
        os._exit(0 if found(file) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

wrong = [name for name in sys.argv[1:] if forked(pathlib.Path(name)) != 0]
sys.exit(f"not found what they import: {wrong}" if wrong else 0)
"""
# These are read by test_api's own run, or read what only their part installs.
READ_ELSEWHERE = ("tests/api/", "tests/lua/", "tests/clients/story.py", "tests/openapi/", "tests/bench/draw_weasy.py")

# Ready at once, with nothing in the file that says where it listens.
USELESS = """#!/bin/bash
echo "pid $$"
while [ $# -gt 0 ]; do
    [ "$1" = --ready ] && echo {} > "$2"
    shift
done
exec sleep 600
"""


def test_a_server_that_can_not_be_used_is_ended(tmp_path, monkeypatch):
    program = tmp_path / "useless"
    program.write_text(USELESS)
    program.chmod(0o755)
    monkeypatch.delenv("WHARF_TEST_PLACE", raising=False)
    folder = tmp_path / "data"
    folder.mkdir()
    with pytest.raises(KeyError):
        Server(program=program, folder=folder)
    pid = int(re.search(r"pid (\d+)", (folder / "out").read_text())[1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_server_that_ends_at_once_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="the server did not start(.|\n)*no_such_setting"):
        Server("--set", "no_such_setting=1", folder=tmp_path)


def test_every_file_of_the_tests_finds_what_it_imports():
    files = [f for f in sorted(ROOT.glob("tests/**/*.py")) if not str(f.relative_to(ROOT)).startswith(READ_ELSEWHERE) and "node_modules" not in f.parts]
    assert len(files) > 50, files
    done = subprocess.run(["/usr/bin/python3", "-c", READ, *files], capture_output=True, text=True, timeout=WAIT, cwd=ROOT)
    assert done.returncode == 0, done.stderr
