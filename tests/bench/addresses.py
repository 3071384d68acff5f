"""How many of the public addresses of tests/data/addresses the parser takes apart right, by country and by form, which it does not, and how long one takes. Those marked
held_out were chosen at random before the rules were made, and only their number was looked at while they were made; "second" are those that were gathered afterwards, and
measured before anybody looked which are wrong.

    tests/bench/addresses.py [--kept-apart] [COUNTRY...]     BUILD as in the tests. --kept-apart shows wrong ones of these too
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTRIES = "us ca gb de fr it es nl au jp br".split()
FORMS = ["lines", "commas", "spaces", "named", "not named"]


def forms(case):
    return ["lines" if "\n" in case["text"].strip() else "commas" if "," in case["text"] else "spaces",
            "named" if case["organization"] != case["country_code"] else "not named"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kept-apart", action="store_true")
    p.add_argument("countries", nargs="*", default=COUNTRIES)
    told = p.parse_args()
    build = pathlib.Path(os.environ.get("BUILD", ROOT / "build"))
    paths = [str(ROOT / "tests/data/addresses" / f"{c}.json") for c in told.countries]
    lines = [json.loads(line) for line in subprocess.run([build / "tests/bench/address_split", *paths], check=True, capture_output=True, text=True).stdout.splitlines()]
    wrong = {(row["file"], row["at"]): row for row in lines[:-1]}
    shown = collections.Counter()
    for country, path in zip(told.countries, paths):
        cases, right = json.load(open(path, encoding="utf-8")), collections.Counter()
        counted = collections.Counter()
        for at, case in enumerate(cases):
            row = wrong.get((path, at))
            for form in [*forms(case), {True: "kept apart", "second": "second"}.get(case.get("held_out"), "others"), "all"]:
                counted[form] += 1
                right[form] += row is None
            if row and (told.kept_apart or not case.get("held_out")):
                shown[country] += 1
                print(f"{country} {at}: {case['text']!r} [{case['organization']}]\n    {row['wrong']}: line1={row['line1']!r} line2={row['line2']!r} city={row['city']!r} state={row['state']!r} "
                      f"postal_code={row['postal_code']!r} country_code={row['country_code']!r}")
        print(country, ", ".join(f"{form} {right[form]} of {counted[form]} ({100 * right[form] / counted[form]:.0f} %)" for form in ["all", "others", "kept apart", "second", *FORMS] if counted[form]))
    print(json.dumps(lines[-1]))


if __name__ == "__main__":
    main()
