"""The rules of docs/reference/plugin-abi.md section 4.4 hold, and the checks that guard them notice what they must.

Until ABI 1.0 is frozen the checks are proved on mutated copies of the header: each way of breaking it is caught, appending is not a
break of the layout.
"""
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = (ROOT / "plugin-api/wharf/plugin.h").read_text()

MUTATIONS = {
    "member inserted": ("    wharf_status (*fail)(wharf_req *req, const char *code,", "    void (*first)(void);\n    wharf_status (*fail)(wharf_req *req, const char *code,"),
    "member removed": ("    bool (*cancelled)(const wharf_req *req);", "    /* gone */"),
    "parameter added": ("    bool (*cancelled)(const wharf_req *req);", "    bool (*cancelled)(const wharf_req *req, int why);"),
    "members swapped": ("typedef struct wharf_str { const char *p; size_t n; } wharf_str;", "typedef struct wharf_str { size_t n; const char *p; } wharf_str;"),
    "integer narrowed": ("    wharf_status (*lock)(wharf_req *req, const char *space, wharf_str key);", "    short (*lock)(wharf_req *req, const char *space, wharf_str key);"),
    "enumerator renumbered": ("enum wharf_op { WHARF_CREATE = 1, WHARF_UPDATE = 2, WHARF_DELETE = 4 };", "enum wharf_op { WHARF_CREATE = 1, WHARF_UPDATE = 4, WHARF_DELETE = 2 };"),
    "value struct grown": ("typedef struct wharf_str { const char *p; size_t n; } wharf_str;", "typedef struct wharf_str { const char *p; size_t n; size_t more; } wharf_str;"),
}


def tree(tmp_path, text):
    folder = tmp_path / "wharf"
    folder.mkdir(parents=True)
    (folder / "plugin.h").write_text(text)
    return tmp_path


def mutated(old, new):
    assert HEADER.count(old) == 1, f"the header no longer has: {old}"
    return HEADER.replace(old, new)


def appended():
    lines = HEADER.split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("} wharf_err_api;"))
    return "\n".join(lines[:at] + ["    void (*added_later)(wharf_req *req);"] + lines[at:])


def probe(folder, out):
    subprocess.run(["gcc", "-std=gnu11", "-g", "-shared", "-fPIC", "-fvisibility=hidden", "-I", folder, ROOT / "tests/abi/probe.c", "-o", out], check=True)
    return out


def abidiff(old, new):
    return subprocess.run(["abidiff", "--no-default-suppression", old, new], capture_output=True, text=True)


def layout_holds(folder):
    return [f.name for f in sorted((ROOT / "plugin-api/abi").glob("layout-*.c"))
            if subprocess.run(["gcc", "-std=gnu11", "-fsyntax-only", "-I", folder, f], capture_output=True).returncode]


def test_layout_of_every_released_minor_compiles():
    assert list((ROOT / "plugin-api/abi").glob("layout-1.*.c"))
    assert layout_holds(ROOT / "plugin-api") == []


def test_layout_file_is_what_the_generator_writes():
    made = subprocess.run(["/usr/bin/python3", ROOT / "tools/layout_gen.py", ROOT / "plugin-api/wharf/plugin.h"], check=True, capture_output=True, text=True)
    assert made.stdout == (ROOT / "plugin-api/abi/layout-1.0.c").read_text(), "run tools/layout_gen.py: ABI 1.0 is not frozen yet"


@pytest.mark.parametrize("name", MUTATIONS)
def test_break_is_caught_by_both_checks(tmp_path, name):
    folder = tree(tmp_path / "broken", mutated(*MUTATIONS[name]))
    result = abidiff(probe(ROOT / "plugin-api", tmp_path / "old.so"), probe(folder, tmp_path / "new.so"))
    assert result.returncode & 4, result.stdout
    assert layout_holds(folder) == ["layout-1.0.c"]


def test_append_is_told_by_abidiff_and_passes_the_layout(tmp_path):
    folder = tree(tmp_path / "grown", appended())
    result = abidiff(probe(ROOT / "plugin-api", tmp_path / "old.so"), probe(folder, tmp_path / "new.so"))
    assert result.returncode & 4 and "added_later" in result.stdout
    assert layout_holds(folder) == []


def test_same_header_has_no_difference(tmp_path):
    result = abidiff(probe(ROOT / "plugin-api", tmp_path / "a.so"), probe(ROOT / "plugin-api", tmp_path / "b.so"))
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("compiler,standard", [("gcc", "c11"), ("gcc", "c17"), ("g++", "c++17"), ("clang", "c11"), ("clang++", "c++17")])
def test_header_compiles_alone(compiler, standard):
    if not shutil.which(compiler):
        pytest.fail(f"{compiler} is not installed")
    for header in sorted((ROOT / "plugin-api/wharf").rglob("*.h")):
        language = "c++" if "++" in standard else "c"
        name = header.relative_to(ROOT / "plugin-api")
        # Included as an author includes it, and twice: clang warns of an unused static inline function only in the file it is given.
        subprocess.run([compiler, "-std=" + standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", ROOT / "plugin-api",
                        "-x", language, "-"], input=f'#include "{name}"\n#include "{name}"\nextern int of_the_author;\n', text=True, check=True)
