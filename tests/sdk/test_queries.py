"""What `wharf-gen --queries` makes of SQL files (docs/reference/plugin-abi.md section 12): one C string each, which says the same to PostgreSQL."""
import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["BUILD"])


def generate(folder, files):
    """The header that is made of files (name to text), and what the tool said and wrote for make."""
    queries = folder / "queries"
    queries.mkdir(exist_ok=True)
    for name, text in files.items():
        (queries / name).write_text(text)
    made = subprocess.run([BUILD / "tools/wharf-gen", "--plugin", "mine", "--header", folder / "mine.gen.h", "--queries", queries, "--depfile", folder / "mine.d"],
                          capture_output=True, text=True)
    return made, queries


def macros(folder, files):
    """What C sees: the texts of all macros, compiled with trigraphs on."""
    made, queries = generate(folder, files)
    assert made.returncode == 0, made.stderr
    names = [f"QUERY_{name.removesuffix('.sql').upper()}" for name in files]
    source = '#include <stdio.h>\n#include "mine.gen.h"\nint main(void)\n{\n' + "".join(
        f"    static const char {n.lower()}[] = {n};\n    fwrite({n.lower()}, sizeof({n.lower()}), 1, stdout);\n" for n in names) + "    return 0;\n}\n"
    (folder / "show.c").write_text(source)
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", "-o", folder / "show", folder / "show.c"], check=True)
    out = subprocess.run([folder / "show"], capture_output=True, text=True, check=True).stdout
    return out.split("\0")[:-1], (folder / "mine.d").read_text(), queries


@pytest.mark.parametrize("text, expected", [
    ("-- Finds it. \"quotes\" don't count here, nor does $a$\nSELECT 1\n", "SELECT 1"),
    ("SELECT a,\n    b\nFROM (\n    SELECT 1\n) x\n", "SELECT a, b FROM (SELECT 1) x"),
    ("SELECT 1 /* one /* in another */ still **/ + 2", "SELECT 1 + 2"),
    ("SELECT 6/3, 2*/* x */3", "SELECT 6/3, 2* 3"),
    ("SELECT 'a  -- b', 'it''s  /* no */ comment'", "SELECT 'a  -- b', 'it''s  /* no */ comment'"),
    ("SELECT E'it\\'s  so', 'back\\'  ,  'slash'", "SELECT E'it\\'s  so', 'back\\' , 'slash'"),
    ("SELECT \"two  blanks\"  AS \"a\"\"  b\"", "SELECT \"two  blanks\" AS \"a\"\"  b\""),
    ("DO $$\nBEGIN -- said\n\tNULL;\nEND\n$$", "DO $$\nBEGIN -- said\n\tNULL;\nEND\n$$"),
    ("SELECT $of_1$ $$  '$of_1$  ,  $1,  a$1", "SELECT $of_1$ $$  '$of_1$ , $1, a$1"),
    ("SELECT x ??= y,\n    a ?| b", "SELECT x ??= y, a ?| b"),
    ("SELECT '%s', %s\n", "SELECT '%s', %s"),
    ("SELECT 'é'", "SELECT 'é'"),
])
def test_text(tmp_path, text, expected):
    assert macros(tmp_path, {"one.sql": text})[0] == [expected]


def test_one_text_in_another(tmp_path):
    files = {"all.sql": ":head\nFROM t\nWHERE (:alive) AND a::text = ':alive'", "alive.sql": "-- Tells it.\nx IS NULL", "head.sql": "SELECT a"}
    assert macros(tmp_path, files)[0] == ["SELECT a FROM t WHERE (x IS NULL) AND a::text = ':alive'", "x IS NULL", "SELECT a"]


def test_make_is_told_of_the_folder_and_each_file(tmp_path):
    _, told, queries = macros(tmp_path, {"one.sql": "SELECT 1", "two.sql": "SELECT 2"})
    target, _, needed = told.partition(":")
    assert target == str(tmp_path / "mine.gen.h") and needed.split() == [str(queries), str(queries / "one.sql"), str(queries / "two.sql")]


@pytest.mark.parametrize("name, text, said", [
    ("open.sql", "SELECT 'a", "a quote has no end: 'a"),
    ("open.sql", 'SELECT "a', 'a quote has no end: "a'),
    ("open.sql", "DO $x$ BEGIN END $$", "a quote has no end: $x$"),
    ("empty.sql", "-- Says nothing.\n", "there is no statement in it"),
    ("1st.sql", "SELECT 1", "named name.sql"),
    ("a-b.sql", "SELECT 1", "named name.sql"),
    ("zero.sql", "SELECT 1\0", "a zero byte"),
    ("large.sql", "SELECT 1 " + " " * 300_000, "too large"),
], ids=["text", "name", "body", "empty", "number", "dash", "zero", "large"])
def test_files_that_are_refused(tmp_path, name, text, said):
    made, queries = generate(tmp_path, {name: text})
    assert made.returncode == 1 and said in made.stderr and str(queries / name) in made.stderr
    assert not (tmp_path / "mine.gen.h").exists()


def test_modules_and_kernel_have_theirs():
    """Each file of the tree is a macro of its part's header, and no macro is of no file."""
    root = pathlib.Path(__file__).resolve().parents[2]
    for header, folders in [(BUILD / f"{part}/{part}_queries.gen.h", [root / part]) for part in ("kernel", "services", "tool")] + \
            [(BUILD / f"modules/{folder.parent.name}.gen.h", [folder, folder.parent / "checks"]) for folder in sorted(root.glob("modules/*/queries"))]:
        made = sorted(line.split()[1] for line in header.read_text().splitlines() if line.startswith("#define QUERY_"))
        assert made == sorted(f"QUERY_{f.stem.upper()}" for folder in folders for f in folder.rglob("*.sql") if f.parent.name == "queries" or f.parent in folders), header


# ---- checks (docs/reference/plugin-abi.md section 14) ----

def check(folder, text, name="whole.sql"):
    checks = folder / "checks"
    checks.mkdir()
    (checks / name).write_text(text)
    return subprocess.run([BUILD / "tools/wharf-gen", "--plugin", "mine", "--header", folder / "mine.gen.h", "--checks", checks, "--depfile", folder / "mine.d"], capture_output=True, text=True)


def test_a_check_is_its_comment_and_its_query(tmp_path):
    made = check(tmp_path, "-- Nothing is\n-- \"odd\".\n-- rows: mine.thing\n-- Make it\n-- even.\nSELECT 1 -- or so\n")
    assert made.returncode == 0, made.stderr
    (tmp_path / "show.c").write_text("""#include <stdio.h>
#include "wharf/plugin.h"
#include "mine.gen.h"
static void show(wharf_decl *d, const wharf_check *c)
{
    (void)d;
    printf("%s|%s|%s|%s|%s|%d", c->name, c->summary, c->rows, c->remedy, c->sql, c->run == NULL && c->head.size == sizeof(*c));
}
int main(void)
{
    const wharf_decl_api all = {.check = show}, *api = &all;

    CHECKS(api, NULL);
    return 0;
}
""")
    subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Werror", "-I", pathlib.Path(__file__).resolve().parents[2] / "plugin-api", "-o", tmp_path / "show", tmp_path / "show.c"], check=True)
    assert subprocess.run([tmp_path / "show"], capture_output=True, text=True).stdout == 'whole|Nothing is "odd".|mine.thing|Make it even.|SELECT 1|1'
    told = (tmp_path / "mine.d").read_text()
    assert str(tmp_path / "checks") in told.split() and str(tmp_path / "checks/whole.sql") in told.split()


@pytest.mark.parametrize("text, said", [
    ("SELECT 1\n", "begin it with a comment, one sentence that says what holds"),
    ("-- Nothing is odd\n-- rows: mine.thing\nSELECT 1\n", "begin it with a comment, one sentence that says what holds"),
    ("-- Nothing is odd.\nSELECT 1\n", 'a line "-- rows: schema.table" behind the sentence says what is looked at'),
    ("-- Nothing is odd.\n-- rows: things\nSELECT 1\n", 'a line "-- rows: schema.table" behind the sentence says what is looked at'),
    ("-- Nothing is odd.\n-- rows: mine.thing; x\nSELECT 1\n", 'a line "-- rows: schema.table" behind the sentence says what is looked at'),
    ("-- Nothing is odd.\n-- rows: mine.thing\n", "there is no statement in it")])
def test_a_check_that_says_too_little_is_not_built(tmp_path, text, said):
    made = check(tmp_path, text)
    assert made.returncode == 1 and "whole.sql" in made.stderr and said in made.stderr and not (tmp_path / "mine.gen.h").exists()
