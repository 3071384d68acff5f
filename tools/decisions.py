#!/usr/bin/python3
"""Decisions: a page of docs/decisions has one entry per number, "## 14. Title"; "*Takes in: 8, 9.*" below it keeps the numbers of entries that it replaced.

  decisions.py            tells what is wrong: a number that is cited and has no entry, one with two, a table that is not up to date
  decisions.py --write    writes the table of numbers in docs/decisions/README.md
  decisions.py NUMBER     prints the entry
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = "docs/decisions"
ENTRY = re.compile(r"^## (\d+[a-z]?)\. (.+)$", re.M)
TAKES_IN = re.compile(r"^\*Takes in: ([^*]+)\.\*", re.M)
BEGIN, END = "<!-- numbers: written by tools/decisions.py --write -->", "<!-- end of numbers -->"
NUMBERS = r"\d+[a-z]?\b(?:(?:,| and| to|, and)\s+\d+[a-z]?\b)*"
CITED = re.compile(rf"(?:docs/decisions|\bdecisions?)(?:\.md)?[`)\]]*\s+§?({NUMBERS})")
LEAD = re.compile(r"\n[ \t]*(?:\*|--|#|//)?[ \t]*")


def order(number):
    return int(re.match(r"\d+", number).group(0)), number


def entries():
    """number -> [(page, number of the entry that has it, line)]: more than one is a mistake."""
    found = {}
    for path in sorted((ROOT / PAGES).glob("*.md")):
        said = path.read_text(encoding="utf-8")
        heads = list(ENTRY.finditer(said))
        for head, following in zip(heads, heads[1:] + [None]):
            part = said[head.end():following.start() if following else None]
            others = [n.strip() for m in TAKES_IN.finditer(part) for n in m.group(1).split(",")]
            for number in [head.group(1), *others]:
                line = said.count("\n", 0, head.start()) + 1
                found.setdefault(number, []).append((path.stem, head.group(1), line))
    return found


def table(found):
    """One row for each stretch of numbers that stand on one page."""
    rows = []
    for number in sorted(found, key=order):
        page, entry, _ = found[number][0]
        if rows and rows[-1][0] == page and entry == number and rows[-1][3] is None:
            rows[-1][2] = number
        else:
            rows.append([page, number, number, None if entry == number else entry])
    said = ["| Number | Page |", "|---|---|"]
    for page, first, last, entry in rows:
        name = f"{first} (now in {entry})" if entry else first if first == last else f"{first} to {last}"
        said.append(f"| {name} | [{page}]({page}.md) |")
    return "\n".join(said)


def cited():
    """(file, line, number) for each number of a decision that a file of the tree names."""
    for file in subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n"):
        path = ROOT / file
        if not file or not path.is_file() or file == "tools/decisions.py":
            continue
        try:
            said = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if "decision" not in said:
            continue
        flat = LEAD.sub(lambda m: "\n" + " " * (len(m.group(0)) - 1), said)  # what begins the line of a comment is no text
        for m in CITED.finditer(flat):
            line = flat.count("\n", 0, m.start()) + 1
            numbers = re.findall(r"\d+[a-z]?", m.group(1))
            yield from ((file, line, number) for number in numbers)


def problems():
    found = entries()
    said = [f"{PAGES}/{page}.md:{line}: {number} is there twice" for number, places in found.items() for page, _, line in places[1:]]
    said += [f"{file}:{line}: there is no decision {number}" for file, line, number in cited() if number not in found]
    readme = (ROOT / PAGES / "README.md").read_text(encoding="utf-8")
    if table(found) not in readme:
        said.append(f"{PAGES}/README.md: the table of numbers is not up to date (tools/decisions.py --write)")
    return said


def main():
    found = entries()
    if sys.argv[1:] == ["--write"]:
        path = ROOT / PAGES / "README.md"
        said = path.read_text(encoding="utf-8")
        path.write_text(said[:said.index(BEGIN)] + f"{BEGIN}\n\n{table(found)}\n\n" + said[said.index(END):], encoding="utf-8")
    elif sys.argv[1:]:
        page, entry, line = found[sys.argv[1]][0]
        said = (ROOT / PAGES / f"{page}.md").read_text(encoding="utf-8").split("\n")[line - 1:]
        end = next((i for i, text in enumerate(said[1:], 1) if text.startswith("## ")), len(said))
        print(f"{PAGES}/{page}.md:{line}", *said[:end], sep="\n")
    else:
        said = problems()
        print("\n".join(said) or f"{len(found)} numbers, all cited ones are there")
        sys.exit(bool(said))


if __name__ == "__main__":
    main()
