#!/usr/bin/python3
"""Runs a meson test suite and says "N passed, N failed" at the end:   meson_part.py BUILD SUITE [meson test options]"""
import json
import pathlib
import subprocess
import sys


def main():
    build, suite, *options = sys.argv[1:]
    run = subprocess.run(["/usr/bin/meson", "test", "-C", build, "--no-rebuild", "--suite", suite, "--logbase", suite, "--print-errorlogs", *options])
    passed = failed = 0
    log = pathlib.Path(build) / "meson-logs" / f"{suite}.json"  # of its own: another suite of this folder may run beside it
    for line in log.read_text().splitlines():
        result = json.loads(line)["result"]
        passed += result in ("OK", "EXPECTEDFAIL")
        failed += result not in ("OK", "EXPECTEDFAIL", "SKIP")
    if run.returncode and not failed:
        failed = 1
    if not passed and not failed:
        print(f"the suite {suite} is empty")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
