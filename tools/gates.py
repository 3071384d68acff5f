#!/usr/bin/python3
"""The rules a machine can check (docs/architecture.md, 'Rules that a test or the build enforces'). No list of exceptions.

  gates.py BUILD [gate...]      one line per gate, the problems below it, "N passed, N failed" at the end
  gates.py BUILD report         lines of C code for each module and resource
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from short_waits import short_waits

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent
FUNCTION_LINES, COMPLEXITY, FILE_LINES = 60, 20, 700
JOBS = os.cpu_count() or 2


def sh(*args, **kw):
    return subprocess.run(args, capture_output=True, text=True, cwd=ROOT, **kw)


def tracked(*patterns):
    """Our files of the tree, also those not committed yet."""
    out = sh("git", "ls-files", "-co", "--exclude-standard", "--", *patterns).stdout.split("\n")
    return sorted({f for f in out if f and (ROOT / f).is_file()})


def text(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


def each(fn, items):
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return [problem for problems in pool.map(fn, items) for problem in problems]


def groups(items, most):  # programs of LLVM take longer to start than to read a file
    return [items[i:i + most] for i in range(0, len(items), most)]


def generated(f):
    return re.search(r"generated|made by tools/", text(f).split("\n", 1)[0], re.I)


# ---- text of the sources ----------------------------------------------------------------------------------------------

def gate_format():
    """Headers are laid out by hand, as tables; code is laid out by clang-format; generated files say so in their first line."""
    def some(files):
        p = sh("clang-format", "--dry-run", "-Werror", *files)
        wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error:", p.stderr, re.M)))
        failed = [f"clang-format failed: {p.stderr.strip()[-400:]}"] if p.returncode and not wrong else []
        return failed + [f"{f}: not as clang-format writes it (clang-format -i {f})" for f in wrong]
    return each(some, groups([f for f in tracked("*.c", "*.cc", "*.cpp") if not generated(f)], 50))


def gate_size():
    problems = []
    for f in tracked("*.c"):
        for line in sh("pmccabe", f).stdout.splitlines():
            complexity, _, _, _, lines, where = line.split("\t")[:6]
            if int(complexity) > COMPLEXITY:
                problems.append(f"{where}: complexity {complexity}, at most {COMPLEXITY}")
            if int(lines) > FUNCTION_LINES:
                problems.append(f"{where}: {lines} lines, at most {FUNCTION_LINES}")
    for f in tracked("*.c", "*.h", "*.py", "*.js", "*.mjs", "*.lua", "*.sql", "*.cc", "*.cpp", "*.sh"):
        n = text(f).count("\n")
        if n > FILE_LINES and not f.startswith("plugin-api/abi/"):  # written by tools/layout_gen.py
            problems.append(f"{f}: {n} lines, at most {FILE_LINES}")
    return problems


BANNED = r"\b(strcpy|strcat|sprintf|vsprintf|atoi|atol|strtok|gmtime|localtime|rand|srand|system|popen|alloca|gets)\s*\("
MARKERS = r"\b(TODO|FIXME|HACK|XXX)\b"


def without_comments(source):
    """Comments and the inside of texts blanked, lines kept."""
    def blank(m):
        s = m.group(0)
        return re.sub(r"[^\n]", " ", s) if s.startswith("/") else '""'
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, source, flags=re.S)


LINE_LENGTH = 100


def gate_line_length():
    """Lines of C, of SQL and of Lua have at most 100 characters; but for generated files, migrations, whose hashes are kept, and peer/, whose cases are tables."""
    return [f"{f}:{n}: {len(line)} characters, at most {LINE_LENGTH}" for f in tracked("*.c", "*.h", "*.cc", "*.cpp", "*.sql", "*.lua", "tool/lua/templates.txt")
            if not generated(f) and not f.startswith("tests/lua/peer/")
            for n, line in enumerate(text(f).split("\n"), 1) if len(line) > LINE_LENGTH and ("/migrations/" not in f or line.lstrip().startswith("--"))]


def gate_words():
    problems = []
    for f in tracked("*.c", "*.h"):
        source = text(f)
        for n, line in enumerate(without_comments(source).split("\n"), 1):
            m = re.search(BANNED, line)
            if m:
                problems.append(f"{f}:{n}: {m.group(1)}() is not used here (docs/style.md)")
        for n, line in enumerate(source.split("\n"), 1):
            for literal in re.findall(r'"((?:\\.|[^"\\])*)"', line):
                if re.search(r"\bunable to\b|\binvalid [a-z]", literal, re.I):
                    problems.append(f"{f}:{n}: say what is wrong and what to do, not \"{literal}\"")
    for f in tracked("*.c", "*.h", "*.py", "*.sql", "*.sh", "*.js", "*.lua"):
        if f == "tools/gates.py":
            continue
        for n, line in enumerate(text(f).split("\n"), 1):
            if re.search(MARKERS, line):
                problems.append(f"{f}:{n}: finish it, or write it down as an issue")
    return problems


def gate_first_comment():
    """Every C file says at its top what it is for, beginning with its name."""
    ours = ("kernel/", "services/", "tool/", "modules/", "cells/", "station/")
    return [f"{f}: begins without a comment that says its name and what it is for" for f in tracked("*.c", "*.h")
            if not text(f).startswith(f"/* {os.path.basename(f)} - " if f.startswith(ours) else "/*")]


def gate_sections():
    """Every C file of a module names in its first comment, or in that of its header, the section of the specs that it builds: docs/reference/rules.md leads to it by that."""
    sys.path.insert(0, str(ROOT / "tools"))
    import reference  # noqa: E402
    said = dict(reference.files_that_name_specs())
    return [f"{f}: its first comment names no section of docs/spec" for f in tracked("modules/*/*.c") if not re.search(r"(?:docs/spec/|[Ss]pec )\d\d", said[f])]


SERVER = ("kernel", "services", "tool")  # whose code a module may not use


NO_VERBS = {"This", "Is", "Has", "Was", "Does", "Its", "As", "Others", "Yes", "Always", "Rows", "Names", "Jobs", "Keys", "Words", "Texts", "Ids", "Problems",
            "Hooks", "Statements", "Locations", "Bytes", "Columns", "Events", "Fields", "Values", "Members", "Files", "Lines", "Items", "Whose"}


RIDDLE = re.compile(r"^[ \t]*(?:/\*|--)\s+(What|Who|Whose|Of)\s", re.M)


def gate_riddles():
    """No comment begins with What, Who, Whose or Of: its first word says what is meant."""
    return [f"{f}:{text(f).count(chr(10), 0, m.start()) + 1}: begins with \"{m.group(1)}\"; name the thing, or begin with a verb"
            for f in tracked("*.c", "*.h", "*.sql") for m in RIDDLE.finditer(text(f))]


def gate_comments():
    """The comment of a function begins with a verb in the third person: Returns, Writes, Tells whether, ..."""
    function = re.compile(r"^/\*((?:[^*]|\*(?!/))*)\*/\n(?=(?:static |extern |const |unsigned |struct |enum )*[\w*]+ [\w\s*]*?\**\w+\([^;{]*\)[^;{]*(?:;|\n\{))", re.M)
    problems = []
    for f in tracked(*(f"{part}/**.{ending}" for part in ("cells", "modules", "station", *SERVER) for ending in "ch")):
        for m in function.finditer(text(f)):
            said = m.group(1).strip()
            first = re.match(r"[A-Za-z']*", said).group(0)
            if not said.startswith("-") and (not re.match(r"[A-Z][a-z]+s$", first) or first in NO_VERBS):
                problems.append(f"{f}:{text(f).count(chr(10), 0, m.start()) + 1}: begins with \"{first or said[:12]}\", not with a verb")
    for f in tracked("kernel/db/sql/*.sql", "modules/*/sql/*.sql", QUERY_FILES):
        said = [line for line in text(f).split("\n") if not line.startswith("-- wharf:")][0]
        if not re.match(r"-- [A-Z][a-z]+s\b", said) or said[3:].split()[0] in NO_VERBS:
            problems.append(f"{f}: begins with \"{said[:30]}\"; say what it does, with a verb")
    return problems


STATIC_FUNCTION = re.compile(r"^static (?!.*=)(?:[\w\s*]|__attribute__\(\(.*?\)\))*?\**(\w+)\(", re.M)


def gate_names():
    """The base name of a C file stands once, and so does the name of a static function, so that grep and a stack find one place."""
    places = {}
    for f in tracked(*(f"{part}/**.{ending}" for part in ("cells", "modules", "station", *SERVER) for ending in ("c", "h", "cc"))):
        for name in [os.path.basename(f)] + [f"{n}()" for n in STATIC_FUNCTION.findall(text(f)) if not f.endswith(".h")]:
            places.setdefault(name, set()).add(f)
    return [f"{name} stands in {', '.join(sorted(files))}; begin it with its topic" for name, files in sorted(places.items()) if len(files) > 1]


def gate_folders():
    """Each folder of the server, each kind of cell, the print agent and the plugin interface has a README: what it is for, where to begin reading; each module has one as long as it likes."""
    lines = {f: len(text(f).split("\n")) for f in tracked("**README.md")}
    folders = {os.path.dirname(f) for f in tracked(*(f"{part}/**.{ending}" for part in SERVER for ending in "ch"))}
    folders |= {"/".join(f.split("/")[:2]) for f in tracked("cells/**.[ch]")} | {"station", "plugin-api"}
    free = {"/".join(f.split("/")[:2]) for f in tracked("modules/*/*.c")} | {"clients"}
    return ([f"{d}: has no README.md of 5 to 20 lines" for d in sorted(folders) if not 5 <= lines.get(f"{d}/README.md", 0) <= 21]
            + [f"{d}: has no README.md" for d in sorted(free) if f"{d}/README.md" not in lines])


def gate_includes():
    """A module knows plugin-api/ only."""
    problems = []
    for f in tracked("modules/**", "plugin-api/**"):
        if not f.endswith((".c", ".h", ".cc", ".cpp")):
            continue
        for n, line in enumerate(text(f).split("\n"), 1):
            m = re.match(r'\s*#\s*include\s+[<"]([^>"]+)[>"]', line)
            if m and any((ROOT / part / m.group(1)).exists() or f"{part}/" in m.group(1) for part in SERVER if part != "tool" or "tool/" in m.group(1)):
                problems.append(f"{f}:{n}: a module includes nothing of the server ({m.group(1)})")
    return problems


NAMED_FILE = re.compile(r"(?<![\w./*}<-])((?:[\w-]+/)*[a-z][a-z0-9_-]*\.(?:c|h|sql|py|sh))(?![\w(*])")
COMPARED = "docs/style.md"  # names files of other projects


def gate_named_files():
    """A file that a comment or a page names is in the tree, or made by the build; a page may name files that its own blocks are ("```python verify.py")."""
    made = [str(p.relative_to(BUILD)) for ending in "ch" for p in BUILD.rglob(f"*.{ending}")]
    ends = {f for p in tracked("*") + made for f in [p] + [p[i + 1:] for i, c in enumerate(p) if c == "/"]}
    problems = []
    for f in tracked("*.c", "*.h", "*.md"):
        said = text(f) if f.endswith(".md") else re.sub(r"(/\*.*?\*/)|[^\n]", lambda m: m.group(1) or " ", text(f), flags=re.S)
        own = set(re.findall(r"^```\w+ (\S+)$", said, re.M)) if f.endswith(".md") else set()
        for n, line in enumerate(said.split("\n"), 1):
            problems += [f"{f}:{n}: there is no file {name}" for name in NAMED_FILE.findall(line)
                         if name not in ends | own and f != COMPARED]
    return problems


PAGE = re.compile(r"(?<![\w./-])docs/[\w/-]+\.md")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[\w-]+)?\)")


def gate_pages():
    """A page of docs/ that a file names is there, a link of a page leads somewhere, and docs/README.md has each page."""
    problems = []
    for f in tracked("*"):
        said = text(f) if f != COMPARED else ""
        problems += [f"{f}: there is no page {page}" for page in sorted(set(PAGE.findall(said))) if not (ROOT / page).is_file()]
        if f.endswith(".md"):
            problems += [f"{f}: its link {link} leads nowhere" for link in LINK.findall(text(f)) if not (ROOT / f).parent.joinpath(link).exists()]
    index = {os.path.normpath(os.path.join(os.path.dirname(f), link)) for f in ("docs/README.md", "docs/decisions/README.md") for link in LINK.findall(text(f))}
    return problems + [f"{f}: neither docs/README.md nor docs/decisions/README.md names it" for f in tracked("docs/**.md") if f not in index | {"docs/README.md"}]


def gate_scripts():
    """A file that says in its first line which program runs it can be run by its name."""
    return [f"{f}: chmod +x" for f in tracked("*") if (ROOT / f).read_bytes()[:2] == b"#!" and not os.access(ROOT / f, os.X_OK)]


def gate_where():
    """What docs/internals/where.md and the pages beside it say of files, sections and functions holds (tools/where.py)."""
    sys.path.insert(0, str(ROOT / "tools"))
    import where  # noqa: E402
    return where.problems(tracked, text)


def gate_decisions():
    """Each number of a decision that a file names has one entry in docs/decisions, and the table of numbers is up to date."""
    sys.path.insert(0, str(ROOT / "tools"))
    import decisions  # noqa: E402
    return decisions.problems()


def gate_reference():
    """Pages of docs/reference that follow from the tree say what it says (settings, commands, checks, error codes, modules, numbers), and code uses each of these numbers."""
    sys.path.insert(0, str(ROOT / "tools"))
    import reference  # noqa: E402
    return reference.problems(BUILD) + reference.numbers_unused(tracked, text)


# ---- floors -----------------------------------------------------------------------------------------------------------

INTERPOSED = {"recv"}  # defined by kernel/http/head_tap.c in libc's stead, for libmicrohttpd: others that use it mean libc's


def floor_edges_included(known):
    """(file, other file) for each include between files of the server."""
    for f in known:
        folder = pathlib.PurePath(f).parent
        for m in re.finditer(r'^\s*#\s*include\s+"([^"]+)"', text(f), flags=re.M):
            for base in (folder, ".", "services", "kernel"):
                target = os.path.normpath(os.path.join(base, m.group(1)))
                if target in known:
                    yield f, target, target
                    break


def floor_edges_linked(known):
    """(file, file that defines, symbol) for each use of a symbol between object files of the server."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    objects = {}
    for entry in entries:
        file = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        if file in known and "output" in entry:
            objects[str(pathlib.Path(entry["directory"]) / entry["output"])] = file
    defined, used = {}, []
    for line in sh("nm", "-A", "-g", *objects).stdout.splitlines():
        where, symbol = line.rsplit(" ", 1)
        file = objects[where.split(":")[0]]
        if where.endswith("U"):
            used.append((file, symbol))
        else:
            defined.setdefault(symbol, file)
    return [(file, defined[symbol], symbol) for file, symbol in used if symbol in defined and symbol not in INTERPOSED]


def gate_floors():
    """Each folder of the server uses folders of lower floors only (tools/floors.txt), by what it includes and by what it links."""
    lines = [line.split("#")[0].strip() for line in text("tools/floors.txt").split("\n")]
    floors = {folder: n for n, folder in enumerate(line for line in lines if line)}
    known = set(tracked(*(f"{part}/**.{ending}" for part in SERVER for ending in "ch")))
    problems = {f"{f}: its folder has no floor in tools/floors.txt" for f in known if str(pathlib.PurePath(f).parent) not in floors}
    if problems:
        return sorted(problems)
    problems |= {f"tools/floors.txt: there is no folder {folder}" for folder in floors if not (ROOT / folder).is_dir()}
    for file, other, what in [*floor_edges_included(known), *floor_edges_linked(known)]:
        here, there = (str(pathlib.PurePath(f).parent) for f in (file, other))
        if floors[there] > floors[here]:
            problems.add(f"{file}: uses {what} of {other}, a folder of a higher floor")
    return sorted(problems)


def gate_hidden_state():
    """Modules pass what their hooks are to know by the write's context, scratch memory and slots, never by variables of the thread."""
    return [f"{f}:{n}: keep it in the write's context or in request memory (res->context, res->scratch, mem->slot)"
            for f in tracked("modules/**.c", "modules/**.h") for n, line in enumerate(text(f).split("\n"), 1) if re.search(r"_Thread_local|__thread", line)]


# ---- tests ---------------------------------------------------------------------------------------------------------------

def gate_waits():
    """A test waits as long as any machine may need (WAIT); where less is meant, the line says why: `# short: ...`."""
    found = []
    for f in tracked("tests/**.py"):
        if f.startswith("tests/bench/"):
            continue
        lines = text(f).split("\n")
        found += [f"{f}:{n}: waits less than WAIT; write WAIT, or `# short: why`" for n in sorted(set(short_waits(text(f)))) if "# short: " not in lines[n - 1]]
    return found


# ---- what the kernel does not know ---------------------------------------------------------------------------------------

AREAS = "kernel/identity/roles.c"  # what built-in roles may, by area: docs/spec/01-platform.md section 6.3


LITERAL = r'"(?:\\.|[^"\\\n])*"'


def code_of(path):
    """A C file without its comments, with its texts; lines keep their numbers."""
    return re.sub(rf"({LITERAL})|/\*.*?\*/|//[^\n]*", lambda m: m.group(1) or "\n" * m.group(0).count("\n"), text(path), flags=re.S)


def gate_kernel():
    """The kernel names no schema of a module in SQL, no resource, and keeps no list of modules."""
    modules = [f.split("/")[1] for f in tracked("modules/*/plugin.json")]
    resources = [json.loads(text(f)).get("$id") for f in tracked("schemas/*/*.json")]
    foreign = re.compile(r"\b(?:FROM|JOIN|UPDATE|INTO|TABLE|REFERENCES|ON)\s+((?:%s)\.\w+)" % "|".join(modules))
    named = re.compile(r'(?:strcmp|str_eqz|engine_resource)\([^"\n;]*"(%s)"' % "|".join(filter(None, resources)))
    module = re.compile(r'"(?:%s)"' % "|".join(modules))
    problems = []
    for f in tracked("kernel/**.c", "kernel/**.h", "kernel/**.sql"):
        code = text(f) if f.endswith(".sql") else code_of(f)
        for n, line in enumerate(code.split("\n"), 1):
            problems += [f"{f}:{n}: SQL of the kernel names {m.group(1)}, a table of a module" for m in foreign.finditer(line)]
            if f.endswith((".c", ".h")):
                problems += [f"{f}:{n}: the kernel asks for the resource \"{m.group(1)}\"; make it a key of the definition" for m in named.finditer(line)]
        if f != AREAS and f.endswith((".c", ".h")):
            problems += [f"{f}: has a list of modules: {' '.join(found)}" for part in code.split(";") if len(set(found := module.findall(part))) > 2
                         and not re.search(r"keys\[\]|x-wharf", part)]
    return problems


# ---- SQL in C ------------------------------------------------------------------------------------------------------------

LITERAL_LINES = 5  # of SQL that stands in C: longer statements have a file
# literals that become one, with what is put between them: white space and macros
RUN = re.compile(rf"{LITERAL}(?:(?:\s|\\\n|\b[A-Z][A-Z0-9_]*(?:\([^()]*\))?)*{LITERAL})*")
STATEMENT = re.compile(r"\b(SELECT|INSERT INTO|UPDATE \S+ SET|DELETE FROM|CREATE TABLE|DO \$)")
QUERY_FILES = "*/queries/*.sql"


def gate_kept_plans():
    """Arrays that unnest() or ANY take apart are hidden from the planner (docs/decisions 486)."""
    problems = []
    for f in tracked("kernel/**.c", "services/**.c", "modules/**.c", "tool/**.c", "kernel/**/queries/*.sql", "services/**/queries/*.sql", "modules/**/queries/*.sql", "tool/queries/*.sql"):
        source = re.sub(r'"\s*\n\s*"', "", text(f))  # a literal of several lines
        problems += [f"{f}: bare array in {m.group(0)}...; write (SELECT $1::text[])" for m in re.finditer(r"(unnest|ANY ?)\(\s*\$\d+[^)]{0,20}", source)]
    return problems


def gate_sql_literals():
    """A statement of more than five lines stands in a file of queries/ (docs/reference/plugin-abi.md section 12), and each of these files is used."""
    problems, code = [], {}
    for f in tracked(*(f"{part}/**.{ending}" for part in ("cells", "modules", "station", *SERVER) for ending in "ch")):
        part = "/".join(f.split("/")[:2 if f.startswith("modules/") else 1])
        source = code_of(f)
        code[part] = code.get(part, "") + source
        for m in RUN.finditer(source):
            at = [source.count("\n", 0, m.start() + one.start()) + 1 for one in re.finditer(LITERAL, m.group(0))]
            said = "".join(one[1:-1] for one in re.findall(LITERAL, m.group(0)))
            if len(set(at)) > LITERAL_LINES and STATEMENT.search(said):
                problems.append(f"{f}:{at[0]}: {len(set(at))} lines of SQL; give it a file {part}/queries/NAME.sql and write QUERY_NAME here")
    for f in tracked(QUERY_FILES):
        part, name = f.split("/queries/")[0], pathlib.PurePath(f).stem
        part = part if part.startswith("modules/") else part.split("/")[0]
        others = "".join(text(other) for other in tracked(f"{part}/**.sql") if "/queries/" in other and other != f)
        if not re.search(rf"\bQUERY_{name.upper()}\b", code.get(part, "")) and not re.search(rf"(?<!:):{name}\b", others):
            problems.append(f"{f}: nobody uses QUERY_{name.upper()}; use it or drop the file")
    return problems


def statements(path, queries):
    """The SQL of a file of a module: of C its literals, with the queries that stand between them; of a query the whole file."""
    if path.endswith(".sql"):
        return [text(path)]
    source = code_of(path)
    found = []
    for m in re.finditer(rf"{RUN.pattern}(?:\s*QUERY_[A-Z_]+)?", source):
        said = "".join(one[1:-1] for one in re.findall(LITERAL, m.group(0)))
        said += "".join(queries.get(name.lower(), "") for name in re.findall(r"\bQUERY_([A-Z_]+)\b", m.group(0)))
        start = source.rfind("\n\n", 0, m.start())
        if source[start:m.start()].lstrip().startswith("#define"):  # a macro puts its arguments between
            said += source[m.end():source.find("\n\n", m.end())]
        if STATEMENT.search(said):
            found.append(said)
    return found


def gate_tenants():
    """A statement of a module about rows of organizations names the organization: row security holds it too, and is no reason to leave it out."""
    tables = {name for f in tracked("modules/**/migrations/*.sql")
              for name, columns in re.findall(r"CREATE TABLE (\w+\.\w+) \((.*?)\n\)", text(f), re.S) if "organization_id" in columns}
    named = re.compile(r"\b(?:FROM|JOIN|UPDATE|INTO)\s+(%s)\b" % "|".join(sorted(map(re.escape, tables))))
    problems = []
    for module in sorted({f.split("/")[1] for f in tracked("modules/*/plugin.json")}):
        queries = {pathlib.PurePath(f).stem: text(f) for f in tracked(f"modules/{module}/queries/*.sql")}
        for f in tracked(f"modules/{module}/*.c", f"modules/{module}/queries/*.sql"):
            problems += [f"{f}: no organization in: {' '.join(one.split())[:90]}" for one in statements(f, queries)
                         if named.search(one) and "organization" not in one]
    return problems


# ---- routes and error codes are data -----------------------------------------------------------------------------------

NOT_A_CODE = re.compile(r"(?:\b|_)(?:emit|log_write|log|push_setting|lacking|starts|setting)\(|\.event\b")  # names of events, settings, log lines


def constant(prefix, name):
    return prefix + "_" + re.sub(r"[^A-Z0-9]", "_", name.upper())


def gate_error_codes():
    """C names an error code by its constant, so that a mistyped one does not compile; wharf/errors.h and the headers of services name codes that exist."""
    codes = {}
    for f in tracked(*(f"{part}/**errors.json" for part in ("kernel", "services", "modules"))):
        for code in json.loads(text(f)):
            codes.setdefault(code, f)
    problems = []
    for f in tracked(*(f"{part}/**.{ending}" for part in ("cells", "modules", "plugin-api", *SERVER) for ending in "ch")):
        lines = code_of(f).split("\n")
        for n, line in enumerate(lines, 1):
            defined = re.match(r'#define (ERR_\w+) "([^"]*)"', line)
            if defined:
                if defined[2] not in codes or defined[1] != constant("ERR", defined[2]):
                    problems.append(f"{f}:{n}: {defined[1]} is not the constant of a code in an errors.json")
                continue
            context = " ".join(lines[max(0, n - 3):n])
            problems += [f'{f}:{n}: write {constant("ERR", m[1])}, the constant from {codes[m[1]]}, not "{m[1]}"'
                         for m in re.finditer(r'"([a-z_]+\.[a-z_0-9.]+)"', line) if m[1] in codes and not NOT_A_CODE.search(context)]
            problems += [f'{f}:{n}: write {constant("ERR", m[1])}, not "{m[1]}"' for m in re.finditer(r'\bfail\w*\(\w+,\s*"(\w+)"', line) if m[1] in codes]
    with tempfile.NamedTemporaryFile("r", suffix=".h") as out:
        sh(BUILD / "tools/wharf-gen", "--plugin", "wharf", "--errors", ROOT / "kernel/resource/errors.json", "--codes", out.name)
        if pathlib.Path(out.name).read_text(encoding="utf-8") != text("plugin-api/wharf/errors.h"):
            problems.append("plugin-api/wharf/errors.h: is not what wharf-gen writes of kernel/resource/errors.json; run "
                            "build/tools/wharf-gen --plugin wharf --errors kernel/resource/errors.json --codes plugin-api/wharf/errors.h")
    return problems


def gate_routes():
    """Each route of a routes.json of the server has its handler; that of a plugin is checked where it is declared (ROUTES)."""
    problems = []
    for f in tracked("kernel/**routes.json", "services/**routes.json", "modules/**routes.json"):
        folder = str(pathlib.PurePath(f).parent)
        code = "".join(code_of(c) for c in tracked(f"{folder}/**.c", f"{folder}/*.c"))
        names = list(json.loads(text(f)))
        problems += [f"{f}: {name}: nothing below {folder} uses {constant('ROUTE', name)}; give it a handler or drop it"
                     for name in names if not re.search(rf"\b{constant('ROUTE', name)}\b", code)]
    for f in tracked("kernel/**.c", "services/**.c", "modules/**.c"):
        problems += [f"{f}:{n}: a route's method and path stand in routes.json" for n, line in enumerate(code_of(f).split("\n"), 1)
                     if re.search(r'\.path = "/|\{\.?\w*=? ?"(?:GET|POST|PUT|PATCH|DELETE)", "/', line)]
    return problems


COPY_LINES = 12


def code_lines(f):
    """(number, text) of the lines that are code: comments, white space, empty lines and includes dropped."""
    def blank(m):
        return m.group(1) or re.sub(r"[^\n]", " ", m.group(0))
    source = re.sub(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*")', blank, text(f), flags=re.S)
    squeezed = ((n, re.sub(r"\s+", "", line)) for n, line in enumerate(source.split("\n"), 1))
    return [(n, line) for n, line in squeezed if line and not line.startswith("#include")]


def gate_copies():
    """No stretch of so many equal lines of code stands in two files: it belongs into a header of plugin-api/ or into a service."""
    places, problems = {}, []
    for f in tracked(*(f"{part}/**/*.{ending}" for part in ("modules", *SERVER) for ending in "ch")):
        lines, told = code_lines(f), None
        for i in range(len(lines) - COPY_LINES + 1):
            stretch = tuple(line for _, line in lines[i:i + COPY_LINES])
            other, at = places.setdefault(stretch, (f, lines[i][0]))
            if other != f and told != other:
                problems.append(f"{f}:{lines[i][0]}: {COPY_LINES} lines or more as in {other}:{at}; write them once")
            told = other if other != f else None
    return problems


def gate_values():
    """Modules make values by the helpers of wharf/inline.h, and don't write these anew."""
    helpers = "|".join(re.findall(r"^WHARF_INLINE [^(]*?(\w+)\(", text("plugin-api/wharf/inline.h"), re.M))
    problems = []
    for f in tracked("modules/**/*.c", "modules/**/*.h"):
        for n, line in enumerate(without_comments(text(f)).split("\n"), 1):
            if re.search(r"\.type = WHARF_V_|\bwharf_val_of\(", line):
                problems.append(f"{f}:{n}: use val_text() and its like (plugin-api/wharf/inline.h)")
            if re.match(rf"static [^=;]*\b({helpers})\(", line):
                problems.append(f"{f}:{n}: plugin-api/wharf/inline.h has it")
    return problems


def report_weight():
    """For people: lines of C code in each module, and for each of its resources."""
    for folder in sorted({f.split("/")[1] for f in tracked("modules/*/plugin.json")}):
        lines = sum(len(code_lines(f)) for f in tracked(f"modules/{folder}/*.c", f"modules/{folder}/*.h"))
        resources = len(tracked(f"schemas/{folder}/*.json"))
        each_one = f", {lines // resources} each" if resources else ""
        print(f"{folder:12} {lines:5} lines, {resources} resources{each_one}")


# ---- headers alone ----------------------------------------------------------------------------------------------------

def gate_headers():
    flags = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-D_GNU_SOURCE"]
    for package in ("libpq", "lua5.4"):
        flags += shlex.split(sh("pkg-config", "--cflags", package).stdout)
    include = ["-I.", "-Iservices", "-Ikernel", "-Iplugin-api", f"-I{BUILD}/kernel"]
    public = tracked("plugin-api/**/*.h", "plugin-api/*.h")
    jobs = [(f, cc, ["-std=c11", "-Wpedantic"]) for f in public for cc in ("gcc", "clang")]
    jobs += [(f, cc, ["-x", "c++", "-std=c++17", "-Wpedantic", "-Wno-missing-field-initializers"])
             for f in public for cc in ("gcc", "clang")]
    jobs += [(f, cc, ["-std=gnu11", "-Wno-unused-function"]) for f in tracked(*(f"{part}/**/*.h" for part in SERVER)) for cc in ("gcc", "clang")]

    def one(job):
        f, cc, std = job
        kind = ["-x", "c"] if "c++" not in std else []
        p = sh(cc, *kind, *std, *flags, *include, "-include", f, "-", input="typedef int not_empty;\n")
        return [f"{f}: does not compile alone with {cc} {' '.join(std)}:\n{p.stderr.strip()}"] if p.returncode else []
    return each(one, jobs)


# ---- built files ------------------------------------------------------------------------------------------------------

def built_plugins():
    return sorted(p for p in BUILD.rglob("*.so") if ".p/" not in str(p) and "meson-private" not in str(p))


FOREIGN = ("libpq", "libcurl", "liblua", "libcjson", "libmicrohttpd", "libsodium", "libcrypto", "libssl")


def gate_symbols():
    """One defined dynamic symbol of a plugin, none wanted from the server; and in the server each name once: of two with the same name in an
    archive the linker takes the one that it meets first, without a word. Our modules have names of their own too: the static program holds all."""
    problems, seen = [], {}
    libraries = [BUILD / part / f"libwharf-{part}.a" for part in SERVER]
    for line in sh("nm", "-A", "-g", "--defined-only", *map(str, libraries)).stdout.splitlines():
        if line.count(" ") < 2:
            continue
        where, _, symbol = line.rsplit(" ", 2)
        file = where.split(":")[-2]
        if seen.setdefault(symbol, file) != file:
            problems.append(f"{symbol} stands in {seen[symbol]} and in {file}")
    if not seen:
        problems.append(f"{libraries[0]} has no symbols")
    for folder in sorted((BUILD / "modules").glob("*.so.p")):
        module = folder.name.split(".")[0]
        for line in sh("nm", "-A", "-g", "--defined-only", *map(str, sorted(folder.glob("*.o")))).stdout.splitlines():
            symbol = line.rsplit(" ", 1)[1]
            if symbol != "wharf_plugin_entry_v1" and seen.setdefault(symbol, module) != module:
                problems.append(f"{symbol} stands in {seen[symbol]} and in the module {module}")
    for so in built_plugins():
        name = so.relative_to(BUILD)
        defined = [l.split()[-1].split("@")[0] for l in sh("nm", "-D", "--defined-only", str(so)).stdout.splitlines()]
        for symbol in sorted(set(defined) - {"wharf_plugin_entry_v1"}):
            problems.append(f"{name}: exports {symbol}; a plugin exports wharf_plugin_entry_v1 only")
        if "wharf_plugin_entry_v1" not in defined:
            problems.append(f"{name}: does not export wharf_plugin_entry_v1")
        dynamic = sh("readelf", "-dW", str(so)).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic)
        for library in needed:
            if library.startswith(FOREIGN):
                problems.append(f"{name}: needs {library}; the server's services stand for it")
        for line in sh("nm", "-D", "--undefined-only", str(so)).stdout.splitlines():
            kind, symbol = line.split()[-2:]
            own = [n for n in needed if not n.startswith(("libc.", "libm.", "ld-linux"))]
            if kind == "U" and "@GLIBC" not in symbol and not own:
                problems.append(f"{name}: wants {symbol}, which neither libc nor a library of its own has")
    return problems


def gate_hardening():
    problems = []
    program = BUILD / "tool" / "wharf"
    for file in built_plugins() + ([program] if program.exists() else []):
        name = file.relative_to(BUILD)
        out = sh("readelf", "-lhdW", str(file)).stdout
        if not re.search(r"Type:\s+DYN", out):
            problems.append(f"{name}: is not position independent")
        if "GNU_RELRO" not in out:
            problems.append(f"{name}: has no read-only relocations")
        if "BIND_NOW" not in out and not re.search(r"FLAGS_1.*NOW", out):
            problems.append(f"{name}: binds lazily (-z now is missing)")
        if re.search(r"GNU_STACK\s.*RWE", out):
            problems.append(f"{name}: has an executable stack")
    return problems


# ---- rules that tests are tried with -----------------------------------------------------------------------------------

def gate_mutations():
    """What tests/mutation breaks is still in the tree: a rule whose text has changed would be left untried without a word."""
    sys.path.insert(0, str(ROOT / "tests/mutation"))
    import run  # noqa: E402
    return [f"tests/mutation: \"{name}\": its text is not in one file {file}" for name, file, text, _, _ in run.RULES + run.GUARDS
            if len(run.found(ROOT, file, text)) != 1]


# ---- clang-tidy -------------------------------------------------------------------------------------------------------

def tidy_key(entry, shared):
    h = hashlib.sha256(shared)
    h.update(pathlib.Path(entry["file"]).read_bytes())
    return h.hexdigest()


def gate_tidy():
    """What is shipped (a test's assertions tell the analyzer nothing). Only what changed since it was clean: the key is the file, all
    headers and the settings. The analyzer follows 10,000 states of a function instead of clang's 225,000, which takes fifteen times as long:
    TIDY_STATES=225000 in the environment does, for a day before a release."""
    deep = [f"--extra-arg={a}" for a in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=" + os.environ.get("TIDY_STATES", "10000"))]
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    (cache := BUILD / "tidy-clean").mkdir(exist_ok=True)
    shared = hashlib.sha256()
    for f in tracked("*.h") + [".clang-tidy"]:
        shared.update((ROOT / f).read_bytes())
    jobs = {}
    for entry in commands:
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if path.is_relative_to(ROOT) and path.suffix == ".c" and not path.is_relative_to(BUILD) and \
                not path.is_relative_to(ROOT / "tests"):
            entry["file"] = str(path)
            jobs[str(path)] = entry
    # one command per file: with two of them clang 14 reads the file twice, and takes each va_list of the second time for uninitialized
    (cache / "compile_commands.json").write_text(json.dumps(list(jobs.values())))

    marks = {f: cache / tidy_key(e, shared.digest()) for f, e in jobs.items()}

    def some(entries):
        p = sh("clang-tidy", "--quiet", "--extra-arg=-U_FORTIFY_SOURCE", *deep, "-p", str(cache), *(e["file"] for e in entries))
        found = [l.replace(str(ROOT) + "/", "") for l in p.stdout.splitlines() if re.search(r": (warning|error):", l)]
        if p.returncode == 0 and not found:
            [marks[e["file"]].touch() for e in entries]
        elif len(entries) > 1:  # each by itself: the others are clean
            return [f for e in entries for f in some([e])]
        elif not found:
            found = [f"{entries[0]['file']}: clang-tidy failed: {p.stderr.strip()[-400:]}"]
        return found
    return sorted(set(each(some, groups([e for f, e in jobs.items() if not marks[f].exists()], 8))))


def main():
    gates = {name[5:]: fn for name, fn in globals().items() if name.startswith("gate_")}
    chosen = sys.argv[2:] or list(gates)
    if chosen == ["report"]:
        report_weight()
        return
    failed = 0
    for name in chosen:
        problems = gates[name]()
        failed += bool(problems)
        print(f"{name}: {'fine' if not problems else f'{len(problems)} problems'}", flush=True)
        for p in problems:
            print(f"  {p}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
