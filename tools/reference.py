#!/usr/bin/python3
"""Pages of docs that follow from the tree: settings, commands, checks, error codes, modules, source files, which file builds which section of the specs.

  reference.py BUILD            tells which page is not what the tree says
  reference.py BUILD --write    writes them
"""
import collections
import functools
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MADE = "<!-- made by tools/reference.py BUILD --write -->"


def manifests():
    return [json.loads(p.read_text(encoding="utf-8")) for p in sorted((ROOT / "modules").glob("*/plugin.json"))]


def cell(text):
    return text.replace("|", "\\|")


def sentence(text):
    first = text.split(" ", 1)[0]
    begin = text[:1] if any(c in first.rstrip(".") for c in ".(_/") else text[:1].upper()  # a name stays as it is written
    return cell(begin + text[1:].rstrip("."))


def table(head, rows):
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)])


@functools.lru_cache(maxsize=None)
def sources():
    """path -> text of each source file that may use what a page names."""
    named = subprocess.run(["git", "-C", ROOT, "ls-files", "kernel", "services", "modules", "schemas", "cells", "tool"], capture_output=True, text=True, check=True)
    bare = lambda f, said: re.sub(r"/\*.*?\*/", " ", said, flags=re.S) if f.endswith((".c", ".h")) else re.sub(r"--[^\n]*", " ", said) if f.endswith(".sql") else said  # noqa: E731
    return {f: bare(f, (ROOT / f).read_text(encoding="utf-8")) for f in named.stdout.splitlines() if f.endswith((".c", ".h", ".sql", ".json")) and (ROOT / f).is_file()}


# Files in which nothing is used, but declared.
DECLARED = ("errors.json", "routes.json", "examples.json", "kernel/config/settings.c", "kernel/config/config.h", "plugin.json")


# Patterns that find what a source file uses: codes of errors, members of the settings, words in quotes.
USES = {"code": r"\b(ERR_\w+)\b", "member": r"(?:\bc|config)(?:->|\.)(?=(\w+))", "word": r'"([\w.:]+)"', "text": r"'([\w.:]+)'", "family": r"\bof_family\(a, family, [^;]*;"}


@functools.lru_cache(maxsize=None)
def uses():
    """{(kind, word): files} of what is used."""
    found = {}
    for f, said in sources().items():
        for kind, pattern in USES.items() if not f.endswith(DECLARED) else ():
            for use in set(re.findall(pattern, said)):
                for word in re.findall(r'"(\w+)"', use) if kind == "family" else [use]:
                    found.setdefault((kind, word), set()).add(f)
    return found


@functools.lru_cache(maxsize=None)
def functions_of(path):
    """[(where its line begins, name)] of the functions, and tables outside of them, of a C file."""
    return [(m.start(), m.group(1) or m.group(2)) for m in re.finditer(r"^(?:(?!return)\w[\w\s*]*?\b(\w+)\([^;{}]*\)\s*\n\{|\w[\w\s*]*?\b(\w+)(?:\[\w*\])+ = \{)", sources()[path], re.M)]


def functions_that_use(path, words):
    """The names of the functions and tables of a C file in which one of these words stands; none when it has many."""
    names = []
    for m in re.finditer("|".join(words), sources()[path]) if path.endswith(".c") else ():
        above = [name for at, name in functions_of(path) if at < m.start()]
        names += above[-1:]
    names = list(dict.fromkeys(names))
    return names if len(names) <= 4 else []


def used_in(*keys, folder="", words=()):
    """The files that use one of these, (kind, word), the folder before the first of it, each with its functions that have one of the words; or how many they are."""
    found = sorted({f for key in keys for f in uses().get(key, ()) if f.startswith(folder)})
    folders = ["", *(f.rsplit("/", 1)[0] for f in found)]
    named = [f.rsplit("/", 1)[1] if f.rsplit("/", 1)[0] == before else f for f, before in zip(found, folders)]
    said = ["".join(f" `{name}`" for name in functions_that_use(f, words)) for f in found] if words and len(found) <= 6 else [""] * len(found)
    return ", ".join(f"`{name}`{more}" for name, more in zip(named, said)) if len(found) <= 6 else f"{len(found)} files"


def given_in(code):
    """The files that answer with a code, and in which functions: by its constant in C, as a word in definitions and SQL; of URLs that are fetched it is made of two words."""
    constant = "ERR_" + re.sub(r"[.:]", "_", code.upper())
    keys = [("code", constant), ("word", code), ("text", code), *([("family", code.split(".")[-1])] if code.split(".")[0] in ("file", "webhook") else [])]
    words = [rf"\b{constant}\b", rf'"{re.escape(code)}"', rf"'{re.escape(code)}'"]
    return used_in(*keys, words=words)


def program(build, *words):
    """What the program says, with no settings of the machine."""
    return subprocess.run([build / "tool" / "wharf", *words], capture_output=True, text=True, check=True, cwd="/").stdout


def page_settings(build):
    settings = (ROOT / "kernel/config/settings.c").read_text(encoding="utf-8").split("static const struct setting table", 1)[-1]
    rows, modules, names = [], [], {m["name"] for m in manifests()}
    for said in json.loads(program(build, "help", "settings", "--json")):
        key, module = said["key"], said["key"].split(".")[0]
        row = [f"`{key}`", cell(said["type"]), f"`{said['default']}`" if said.get("default") else "", sentence(said["meaning"])]
        words = key.split(".")[1:]
        if module in names:
            keys = [("word", ".".join(words[i:])) for i in range(len(words))]
            words = [rf'"{re.escape(word)}"' for _, word in keys]
            modules.append([*row, used_in(*keys, folder=f"modules/{module}/", words=words) or used_in(*keys, folder="services/", words=words)])
        else:
            member = re.search(rf'"{re.escape(key)}",\s*(?:SET_\w+, AT\()?(\w+)', settings).group(1)
            rows.append([*row, used_in(("member", member), words=[rf"(?:\bc|config)(?:->|\.){member}\b"])])
    return f"""# Settings

In the file `net = {{ allow = {{"10.0.0.5"}} }}`, in the environment `WHARF_NET_ALLOW=10.0.0.5,10.0.0.6` (lists by comma), on the command line
`--set net.allow=10.0.0.5`. Later ones win: file, environment, `--set`. An unknown key stops the start. How they are used: [operation](../guide/operation.md).
`wharf config show` tells those in force, and where each was written.

## The server

{table(["Setting", "Type", "Default", "Meaning", "Used in"], rows)}

## Modules

A module's settings are a table of its name.

{table(["Setting", "Type", "Default", "Meaning", "Used in"], modules)}

`hook_settings` and `hook_secrets` are tables of your own for operators' hooks ([lua-hooks](lua-hooks.md)).
"""


def page_commands(build):
    return f"""# Commands

`wharf help` says:

```
{program(build, "help").strip()}
```

`wharf-station` is the print agent: [printing](../guide/printing.md) 'The agent'. `wharf lua` in full: [lua-tools](lua-tools.md).
"""


def page_checks(build):
    rows = [[f"`{name}`", cell(summary)] for name, summary in (line.split(None, 1) for line in program(build, "verify", "--list").splitlines())]
    return f"""# Checks

`wharf verify` looks at these ([operation](../guide/operation.md) 'Verify at night'). The first word of a name is its plugin, or an area of the server; `--module` chooses by it. How a plugin adds one: [plugin-abi](plugin-abi.md) section 14.

{table(["Check", "What holds"], rows)}
"""


def page_errors(_build):
    platform = json.loads((ROOT / "kernel/resource/errors.json").read_text(encoding="utf-8"))
    rows = [[f"`{code}`", str(said["status"]), cell(said["text"]), given_in(code)] for code, said in platform.items()]
    of_modules = []
    for path in sorted((ROOT / "modules").glob("*/errors.json")):
        for code, said in sorted(json.loads(path.read_text(encoding="utf-8")).items()):
            of_modules.append([f"`{code}`", str(said["status"]), path.parent.name, cell(said["text"]), given_in(code)])
    return f"""# Error codes

`code` of an answer, its status, the text when nothing more exact is said, and the files with the functions and tables in them. Which an operation may answer: `x-errors` of `GET /v1/openapi.json`.
The form of errors: [spec 01](../spec/01-platform.md) section 3. They stand in `kernel/resource/errors.json` and `modules/MODULE/errors.json`.

## The platform

{table(["Code", "Status", "Text", "Given in"], rows)}

## Modules

{table(["Code", "Status", "Module", "Text", "Given in"], of_modules)}
"""


def page_modules(_build):
    def services(said):
        return ", ".join(f"{name} {version}" for name, version in sorted((said or {}).items())) or "–"
    rows = [[f"[{m['name']}](../../modules/{m['name']}/README.md)", cell(m["description"].rstrip(".")), services(m.get("provides")), services(m.get("needs")),
             services(m.get("wants"))] for m in manifests()]
    return f"""# Modules

One `.so` per row; what its `plugin.json` says. A missing "want" turns a feature off, nothing more. The part `minimal` of `./test` starts each module with only
its needs and runs its tests. Services of the server have a header in [plugin-api/wharf/service](../../plugin-api/wharf/service), those of modules in
[plugin-api/wharf/ext](../../plugin-api/wharf/ext).

{table(["Module", "What", "Provides", "Needs", "Wants"], rows)}
"""


def head_of(path):
    """What the first comment of a source file says it is for; "" when it begins with its header's name."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sql":
        said = " ".join(line[2:].strip() for line in re.match(r"(--[^\n]*\n)*", text).group().splitlines() if not line.startswith("-- wharf:"))
    else:
        found = re.match(r"/\* \S+ - (.*?)(\n \*\n|\*/)", text, re.S)
        said = re.sub(r"\s*\n \* ?", " ", found.group(1)).strip() if found else ""
    return "" if re.match(r"[Ss]ee \S+\.h\b", said) else said


def first_sentence(said):
    """The first sentence; a dot inside of a name, a number or parentheses ends none."""
    depth = 0
    for i, c in enumerate(said):
        depth += (c == "(") - (c == ")")
        if c == "." and not depth and (i + 1 == len(said) or (said[i + 1] == " " and not said[:i].endswith(("e.g", "i.e", "..")))):
            return said[:i]
    return said.rstrip(":;, ")


def page_source(_build):
    def rows(folder):
        for path in sorted(p for p in (ROOT / folder).iterdir() if p.suffix in (".c", ".h")):
            header = path.with_suffix(".h")
            if path.suffix == ".h" and path.with_suffix(".c").is_file() and not re.search(r"^\s*[A-Z][A-Z0-9_]+ = [^\n]*\d", path.read_text(encoding="utf-8"), re.M):
                continue  # a header that has numbers is a place of its own to look into
            sent = re.match(r"/\* \S+ - see (\w+\.h)\b", path.read_text(encoding="utf-8"))
            header = path.with_name(sent.group(1)) if sent else header
            said = head_of(path) or (head_of(header) if header.is_file() else "")
            yield [f"`{path.name}`", sentence(first_sentence(said))]
        for path in sorted([*(ROOT / folder).glob("sql/*.sql"), *(ROOT / folder).glob("queries/*.sql")]):
            yield [f"`{path.relative_to(ROOT / folder)}`", sentence(first_sentence(head_of(path)))]

    named = subprocess.run(["git", "-C", ROOT, "ls-files", "kernel", "services", "modules", "cells", "tool", "station"], capture_output=True, text=True, check=True)
    folders = sorted({str(pathlib.Path(f).parent) for f in named.stdout.splitlines() if f.endswith((".c", ".h"))},
                     key=lambda f: (["kernel", "services", "modules", "cells", "tool", "station"].index(f.split("/")[0]), f))
    parts = [f"## {folder}\n\n{table(['File', 'What'], rows(folder))}" for folder in folders]
    return "# Every source file\n\nWhat each file is for, as its own first comment says; of a header beside a `.c` of its name only where it holds numbers. To find where a rule is decided: [where](../internals/where.md).\n\n" + "\n\n".join(parts) + "\n"


NUMBER = re.compile(r"(?:^#define |\b)([A-Z][A-Z0-9_]{2,})(?: = |(?<=[A-Z0-9_]) +)(\(?[^,{}/\n]*\d[^,{}/\n]*?)(?=,| ?\}|\s*/\*|\s*$)")
LIMIT = re.compile(r"(MAX|MIN|MOST|LEAST|DEFAULT|LIMIT|TRIES|ROWS|BYTES|ITEMS|DEPTH|DAYS|HOURS|SECONDS|EVERY|AT_ONCE|_S|_MS|_US|_MIB|_KIB)(_|$)")
INSIDE = re.compile(r"(TEXT|ROOM|DIGITS|HEX|SLOTS|ALIGN|COLUMNS|VARIANT|TAG|OID)(_|$)|^(SECOND|MINUTE|DAY|MIB|MEGABYTE|MILLISECOND)$")  # sizes of buffers, units


def is_choice(name, value):
    """Tells whether a number without a comment is one that somebody chose: not a flag, a place in an enumeration or the size of a buffer."""
    return bool(LIMIT.search(name)) or bool(re.fullmatch(r"[\d.]+(U?L*)( (\*|<<) \d+)*", value)) and not re.fullmatch(r"0|[1248]|16|32|64|128", value) and not INSIDE.search(name)


def comment_above(text, at):
    """What a comment says that ends right above the line that begins at `at`; "" when it is a heading, or about an enumeration of several lines."""
    found = re.search(r"/\*((?:[^*]|\*(?!/))*)\*/\n$", text[:at])
    said = re.sub(r"\s*\n\s*\*? ?", " ", found.group(1)).strip() if found else ""
    return "" if len(said) > 160 or said.startswith("-") or found and "\n" in text[:found.start()] and text[:found.start()].rsplit("\n", 1)[1].strip() else said


@functools.lru_cache(maxsize=None)
def members_of_cells():
    """What the header says of the members of struct cell_kind, whose numbers stand where a kind of cell is declared."""
    inside = re.search(r"struct cell_kind \{\n(.*?)\n\};", (ROOT / "kernel/cell/cell.h").read_text(encoding="utf-8"), re.S).group(1)
    said = {}
    for above, names, beside in re.findall(r"(?:/\*((?:[^*]|\*(?!/))*)\*/\s*)?[\w ]+? \*?(\w+(?:, \w+)*);(?: /\*((?:[^*]|\*(?!/))*)\*/)?", inside):
        parts = re.sub(r"\s*\n\s*\*? ?", " ", beside or above).strip().split("; ")
        for i, name in enumerate(names.split(", ")):
            said[name] = parts[i] if len(parts) > i and "," in names else "; ".join(parts)
    return said


def numbers_of(path):
    """The named numbers of a file: name, value, what the comment behind or above it says. Flags, and kinds that only count up, are none."""
    text, inside = path.read_text(encoding="utf-8"), False
    for found in re.finditer(r"^.*$", text, re.M):
        line = found.group()
        begins = bool(re.match(r"(?:static )?enum\b.*\{", line))
        inside = inside or begins
        if inside or line.startswith("#define "):
            comment = re.match(r"/\*(.*?)\*/", text[found.start() + line.index("/*"):], re.S) if "/*" in line else None
            said = re.sub(r"\s*\n\s*\*? ?", " ", comment.group(1)).strip() if comment else ""
            for name, value in NUMBER.findall(line.split("/*")[0].rstrip()):
                if not re.fullmatch(r"1U? << \d", value) and (said or is_choice(name, value)):
                    yield name, value, said or comment_above(text, found.start())
        for name, value in re.findall(r"\.(\w+) = (\d[\w *]*)(?=[,}])", line) if path.suffix == ".c" and not inside else ():
            if LIMIT.search(name.upper()) and value != "0":
                beside = re.search(r"/\* (.*?) \*/", line)
                yield f".{name}", value, beside.group(1) if beside else members_of_cells().get(name, "") if "struct cell_kind" in text else ""
        inside = inside and "}" not in line


def numbers_unused(tracked, text):
    """tracked, text: the files of the tree that fit patterns; what one says. Returns named numbers that no code reads."""
    code = {f: re.sub(r"/\*.*?\*/", " ", text(f), flags=re.S) for f in tracked("*.c", "*.h", "*.cc")}
    count = lambda said: collections.Counter(re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", said))  # noqa: E731
    everywhere, problems = count("\n".join(code.values())), []
    for f in code:
        if f.split("/")[0] in ("cells", "kernel", "modules", "services", "station", "tool") and f.endswith((".c", ".h")):
            here = count(code[f]) if f.endswith(".c") else everywhere
            problems += [f"{f}: nobody uses {name}" for name, _, _ in numbers_of(ROOT / f) if not name.startswith(".") and here[name] < 2]
    return problems


def fields_of(path):
    """The fields of a definition that have a default or a bound worth knowing: name, what it is, what the description says."""
    def walk(properties, above):
        for name, said in properties.items():
            bounds = [f"{word} {json.dumps(said[key])}" for key, word in (("default", "default"), ("minimum", "at least"), ("maximum", "at most"), ("maxItems", "items at most"))
                      if key in said and (key != "minimum" or said[key] not in (0, 1))]
            if bounds and not isinstance(said.get("default"), (list, dict, bool)):
                yield above + name, ", ".join(bounds), first_sentence(said.get("description", ""))
            yield from walk(said.get("properties", {}), f"{above}{name}.")
    yield from walk(json.loads(path.read_text(encoding="utf-8")).get("properties", {}), "")


def settings_with_numbers():
    for manifest in sorted((ROOT / "modules").glob("*/plugin.json")):
        for key, said in json.loads(manifest.read_text(encoding="utf-8")).get("config", {}).get("properties", {}).items():
            if said.get("type") in ("integer", "number", "string") and re.search(r"\d", str(said.get("default", ""))):
                yield [f"`{manifest.parent.name}.{key}`", f"`{said['default']}`", sentence(first_sentence(said.get("description", ""))), f"`modules/{manifest.parent.name}/plugin.json`"]


def page_numbers(_build):
    roots = ["kernel", "services", "modules", "cells", "tool", "station", "plugin-api"]
    named = subprocess.run(["git", "-C", ROOT, "ls-files", *(f"{r}/**.[ch]" for r in roots)], capture_output=True, text=True, check=True).stdout.split()
    parts = {}
    for f in sorted(f for f in named if "/examples/" not in f):
        parts.setdefault(str(pathlib.Path(f).parent), []).extend([f"`{name}`", f"`{cell(value)}`", cell(said), f"`{pathlib.Path(f).name}`"] for name, value, said in numbers_of(ROOT / f))
    schemas = {}
    for path in sorted((ROOT / "schemas").glob("*/*.json")):
        rows = [[f"`{name}`", cell(value), sentence(said) if said else ""] for name, value, said in fields_of(path)] if "x-wharf" in path.read_text(encoding="utf-8") else []
        if rows:
            schemas[path.relative_to(ROOT)] = rows
    return ("# Every number\n\nHow many, how long, how large: the settings of modules, fields of resources that have a default or a bound, and the named numbers of the code, by folder. Settings of the "
            "server itself: [settings](settings.md); sets of words and formats are data, in `schemas`. Where a rule is decided: [where](../internals/where.md).\n\n"
            + f"## Settings of modules\n\n{table(['Name', 'Default', 'What', 'File'], settings_with_numbers())}\n\n"
            + "\n\n".join(f"## {path}\n\n{table(['Field', 'Value', 'What'], rows)}" for path, rows in schemas.items()) + "\n\n"
            + "\n\n".join(f"## {folder}\n\n{table(['Name', 'Value', 'What', 'File'], rows)}" for folder, rows in parts.items() if rows) + "\n")


SECTION = r"\d+(?:\.\d+)?"


def spec_sections():
    """{page: [(number, title)]} of the sections of docs/spec."""
    return {p: [(n, re.sub(r"\s*\[[^\]]*\]|`", "", title).strip(" —+")) for n, title in re.findall(rf"^#{{2,4}} ({SECTION})\.? (.*)$", p.read_text(encoding="utf-8"), re.M)]
            for p in sorted((ROOT / "docs/spec").glob("*.md"))}


def sections_named(text, spec):
    """The sections of a spec that a text names: "spec 03 sections 3.1 and 5 to 7" -> {3.1, 5, 6, 7}. Of several specs each is followed by its own."""
    found = set()
    for m in re.finditer(rf"(?:docs/spec/|[Ss]pec ){spec}[\w-]*(?:\.md)?,? (?:sections?|§§?) ?({SECTION}(?:(?:,| and| to|,? §| –)* ?{SECTION})*)", text):
        parts = re.findall(rf"{SECTION}|to|–", m.group(1))
        for i, part in enumerate(parts):
            if part not in ("to", "–"):
                found.add(part)
            elif "." not in parts[i - 1] + parts[i + 1]:
                found |= {str(n) for n in range(int(parts[i - 1]), int(parts[i + 1]))}
            else:
                whole, (first, last) = parts[i - 1].split(".")[0], (p.split(".")[-1] for p in (parts[i - 1], parts[i + 1]))
                found |= {f"{whole}.{n}" for n in range(int(first), int(last))}
    return found


def whole_sections(text, spec):
    """The same without what stands behind a dot: {3, 5, 6, 7}."""
    return {int(section.split(".")[0]) for section in sections_named(text, spec)}


@functools.lru_cache(maxsize=None)
def files_that_name_specs():
    """(path, what it says of specs) of each source file, by its first comment or that of its header; of a statement also by the files that run it; of each test by its
    docstrings."""
    named = subprocess.run(["git", "-C", ROOT, "ls-files", "kernel", "services", "modules", "cells", "tool", "station", "plugin-api", "tests"], capture_output=True, text=True, check=True)
    flat = lambda said: re.sub(r"(?<=docs/spec/) ", "", re.sub(r"\s*\n(?: \*|--)? ?", " ", said))  # noqa: E731
    found, unnamed = {}, []
    for f in named.stdout.splitlines():
        path = ROOT / f
        if not path.is_file() or path.suffix not in (".c", ".h", ".sql", ".py"):
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            said = " ".join(re.findall(r'"""(.*?)"""', text, re.S)) if f.startswith("tests/") else ""
        elif path.suffix == ".sql":
            said = re.match(r"(--[^\n]*\n)*", text).group()
            unnamed += [] if re.search(r"spec/?\s*\d\d", said) or not re.search(r"/(?:sql|queries)/", f) else [f]
        else:
            said = text.split("*/")[0]
            sent = re.search(r"[Ss]ee (\w+\.h)\b", said)
            said += " ".join(h.read_text(encoding="utf-8").split("*/")[0] for h in {path.with_suffix(".h"), path.parent / (sent.group(1) if sent else "none"),
                                                                                       *(ROOT / named for named in re.findall(r"\b(?:kernel|services|modules)/[\w/]+\.h\b", said))} if h.is_file())
        found[f] = flat(said)
    while True:  # a statement belongs to who runs it, also to a statement that runs it
        left = []
        for f in unnamed:
            stem = pathlib.Path(f).stem
            runs = re.compile(rf"\bQUERY_{stem.upper()}\b" if "/queries/" in f else rf"\b\w+\.{stem}\b")
            users = [user for user, said in sources().items() if user in found and user not in unnamed and user.split("/")[:2] == f.split("/")[:2] and runs.search(said)]
            found[f] += " ".join(found[user] for user in users)
            left += [] if users else [f]
        if left == unnamed:
            break
        unnamed = left
    return list(found.items())


def file_links(files):
    """Files, folder by folder, each folder named once."""
    folders = {}
    for f in files:
        folders.setdefault(f.rsplit("/", 1)[0], []).append(f.rsplit("/", 1)[1])
    return "<br>".join(f"`{folder}/` " + ", ".join(f"`{name}`" for name in names) for folder, names in folders.items())


def page_rules(_build):
    parts = []
    for page, sections in spec_sections().items():
        spec, rows = page.name[:2], []
        of = [(f, sections_named(said, spec)) for f, said in files_that_name_specs() if f"{spec}" in said]
        for number, title in sections:
            files = sorted(f for f, named in of if number in named)
            code, tests = ([f for f in files if f.startswith("tests/") == test] for test in (False, True))
            if files:
                rows.append([number, cell(title), file_links(code), file_links(tests)])
        if rows:
            parts.append(f"## [{page.name[:-3]}](../spec/{page.name})\n\n{table(['Section', 'What', 'Built in', 'Tested in'], rows)}")
    return ("# Which file builds which rule\n\nFor each section of the specs: the source files whose first comment names it, with the statements that they run, and the tests whose comments do. A file that is about a whole "
            "section stands at the section, not at its parts. A single thing that you want to know or to change: [where](../internals/where.md); what each file is for: "
            "[source](source.md).\n\n" + "\n\n".join(parts) + "\n")


def page_functions(_build):
    """The functions of workflows for people without the program: one table for each library."""
    lines = (ROOT / "tool/lua/reference.txt").read_text(encoding="utf-8").splitlines()
    found = [re.fullmatch(r"a (.+?) -> (.+?) : (.+)", line) for line in lines]
    of = {}
    for call, returns, text in (m.groups() for m in found if m):
        name = re.split(r"[( ]", call)[0]
        of.setdefault(name.rpartition(".")[0] or "Lua", []).append([f"`{call}`", cell(returns), cell(text)])
    return ("# Functions of workflows\n\nAll functions that the code of a workflow has, by library. `?` stands behind what may be left out; `data, err` means nil and an error where it did not work.\n\n"
            "How they are used: [Workflows in Lua](workflows.md).\n\n"
            + "\n\n".join(f"## {library}\n\n{table(['Call', 'Returns', 'What'], rows)}" for library, rows in sorted(of.items(), key=lambda one: not one[0].startswith("wharf"))) + "\n")


def pages(build):
    """path -> text of each page."""
    made = {"settings": page_settings, "commands": page_commands, "checks": page_checks, "errors": page_errors, "modules": page_modules,
            "source": page_source, "numbers": page_numbers, "rules": page_rules}
    paths = {ROOT / f"docs/reference/{name}.md": write for name, write in made.items()} | {ROOT / "docs/guide/api/lua-functions.md": page_functions}
    return {path: write(build).rstrip() + f"\n\n{MADE}\n" for path, write in paths.items()}


def unused(page):
    """Names of rows whose last cell, which says where they are used, is empty."""
    return re.findall(r"^\| `([^`]+)` .*\|  \|$", page, re.M)


def problems(build):
    made = pages(build)
    return [f"{path.relative_to(ROOT)}: is not what the tree says (tools/reference.py BUILD --write)" for path, text in made.items()
            if not path.is_file() or path.read_text(encoding="utf-8") != text] + [
                f"errors.json: nothing answers with {code}" for code in unused(made[ROOT / "docs/reference/errors.md"])] + [
                    f"plugin.json or settings.c: nothing reads the setting {key}" for key in unused(made[ROOT / "docs/reference/settings.md"])]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if sys.argv[2:] == ["--write"]:
        for path, text in pages(build).items():
            path.write_text(text, encoding="utf-8")
    said = problems(build)
    print("\n".join(said) or "fine")
    sys.exit(bool(said))


if __name__ == "__main__":
    main()
