"""Runs import-rows over files that a test makes."""
import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", HERE.parent.parent / "build")).resolve()


class Read:
    """What came of a file: rows (objects with row, json and maybe errors), end (problem, warnings, encoding ...)."""

    def __init__(self, path, *options):
        run = subprocess.run([BUILD / "tests/import/import-rows", *map(str, options), path], capture_output=True, timeout=300)
        assert run.returncode == 0, run.stderr.decode()
        lines = [json.loads(line) for line in run.stdout.decode().split("\n") if line]
        self.rows, self.end = lines[:-1], lines[-1]
        self.problem = self.end.get("problem")
        self.objects = [row["json"] for row in self.rows]


def read(tmp_path, content, *options):
    path = tmp_path / "file"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Read(path, *options)


def read_sheet(path, *options):
    return Read(path, "--cells", BUILD / "cells", *options)
