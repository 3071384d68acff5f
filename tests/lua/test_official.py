"""Lua's own test files in a cell: strings, pm, sort, nextvar, utf8, tpack, math, coroutine, locals, closures, calls, events.

They are those of Lua 5.4.7, whole and untouched, in official/testes (its README says where they come from). official/edits.json is the whole list of what is
changed or left out when they run: where Debian's 5.4.4 is another language than 5.4.7 ("lua"), and where the sandbox leaves something out on purpose ("spec",
with its words). The same edited file passes in the stock interpreter, and each entry is needed."""
import hashlib
import json
import re
import subprocess
import sys
import time

import pytest

from author import ROOT

sys.path.insert(0, str(ROOT / "tests" / "api"))
from wharf import Server  # noqa: E402

OFFICIAL = ROOT / "tests" / "lua" / "official"
TESTES = OFFICIAL / "testes"
FILES = ("strings", "pm", "sort", "nextvar", "utf8", "tpack", "math", "coroutine", "locals", "closure", "calls", "events")
EDITS = json.loads((OFFICIAL / "edits.json").read_text(encoding="utf-8"))
BUDGET = {"instructions": 10_000_000_000, "memory_mib": 128, "time_ms": 25_000}  # what an operator may give to runs; the files are made for a whole machine
LIBRARIES = {"utf8": "return utf8\n", "coroutine": "return coroutine\n", "debug": "return {}\n"}  # that the files ask require for; a cell has them as globals, or not


def escaped(text):
    """A source is UTF-8 without NUL; texts that are not have such bytes in a comment or in quotes."""
    return re.sub("[\0\udc80-\udcff]", lambda m: f"\\x{ord(m.group()) & 255:02x}", text.decode(errors="surrogateescape"))


def edits_of(file):
    return [e for e in EDITS if e["file"] == file]


def text_of(file, but=None):
    """A file as it is run. but: an entry of the list, or one change of it, that is not applied. Lines keep their numbers."""
    text = escaped((TESTES / f"{file}.lua").read_bytes())
    for e in edits_of(file):
        for change in e["changes"]:
            if e is but or change is but:
                continue
            old, new = change["from"], change["to"]
            assert text.count(old) == 1, (file, text.count(old), change)
            assert new.count("\n") <= old.count("\n"), change
            text = text.replace(old, new + "\n" * (old.count("\n") - new.count("\n")))
    return text


def in_stock(file, text):
    """(what it loads: {text: error or ""}, None), or (None, how it failed)."""
    r = subprocess.run(["lua5.4", OFFICIAL / "stock.lua", TESTES, f"testes.{file}"], input=text.encode(), capture_output=True, timeout=240, check=False)
    if r.returncode:
        return None, r.stderr.decode(errors="replace")
    pairs = (line.split(b"\t") for line in r.stdout.split(b"\1\n")[-1].split(b"\n") if line)
    return {bytes.fromhex(text.decode()): bytes.fromhex(bad.decode()) for text, bad in pairs}, None


def literal(text):
    return '"' + re.sub(rb'[^ !#-\[\]-~]', lambda m: b"\\x%02x" % m.group()[0], text).decode() + '"'


def code_file(loads):
    """What a file loads, as a module: {[text] = function(_ENV) return the chunk as a function end, or its error}."""
    rows = [f"[{literal(text)}] = {literal(bad) if bad else 'function(_ENV) return function(...) ' + escaped(text) + chr(10) + 'end end'},\n" for text, bad in loads.items()]
    return "return {\n" + "".join(rows) + "}\n"


@pytest.fixture(scope="module")
def cell():
    """Gives a function that runs a file's text, and what it loads, in a cell: None, or how it failed."""
    server = Server("--modules", "org,locations,batches,events,workflows", *(a for name, n in BUDGET.items() for a in ("--set", f"workflows.budgets.sync.{name}={n}")))
    client = server.organization().client()
    main, shim = ((OFFICIAL / f).read_text(encoding="utf-8") for f in ("main.lua", "shim.lua"))

    def run(file, text, loads):
        files = {"shim": shim, "code": code_file(loads), f"testes.{file}": text, **LIBRARIES}
        made = client.post("/v1/workflows", {"name": f"Official {time.monotonic_ns()}", "source": main, "files": files, "scopes": [],
                                             "triggers": [{"type": "http", "path": "run", "methods": ["POST"], "auth": "key", "mode": "sync"}]}, expect=201).data
        client.post(f"/v1/workflows/{made['id']}/publish", {}, expect=200)
        for _ in range(600):
            r = client.request("POST", f"/v1/workflows/{made['id']}/http/run", {"file": file})
            if r.status != 503 and r.code != "workflow.quota":  # no free process, or a slow machine: not what is tested here
                break
            time.sleep(0.1)
        client.delete(f"/v1/workflows/{made['id']}", expect=200)
        return None if r.status == 200 and r.data == {"passed": file} else f"{r.status} {r.code} {r.errors}"
    yield run
    server.stop()


def test_nobody_edits_them():
    sums = dict(reversed(line.split("  ")) for line in (OFFICIAL / "testes.sha256").read_text(encoding="utf-8").splitlines())
    assert {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in TESTES.glob("*.lua")} == sums
    assert {f"{file}.lua" for file in FILES} < set(sums)


@pytest.mark.parametrize("file", FILES)
def test_a_file(cell, file):
    """It passes in stock Lua, and the same text in a cell."""
    text = text_of(file)
    loads, failed = in_stock(file, text)
    assert not failed, failed
    failed = cell(file, text, loads)
    assert not failed, failed


def test_a_file_can_fail(cell):
    text, end = text_of("sort"), "print\"OK\"\n"
    loads, failed = in_stock("sort", text)
    assert not failed and text.endswith(end)
    last = text[:-len(end)] + "assert(1 == 2)\n"
    assert "assertion failed" in in_stock("sort", last)[1]
    assert f"testes.sort.lua:{last.count(chr(10))}: assertion failed!" in cell("sort", last, loads)
    assert "stock Lua loaded no such text" in cell("sort", text, {})
    assert cell("math", "assert(load('return 7')() == 7)", {b"return 7": b""}) is None
    assert cell("math", "assert(load('return 8')() == 7)", {b"return 8": b""}).startswith("400 workflow.failed")


@pytest.mark.parametrize("file", sorted({e["file"] for e in EDITS}))
def test_the_list_of_changes(cell, file):
    """Each entry says why; without it the file fails: in stock Lua where 5.4.7 is meant, in the cell where the sandbox is, by words that stand in the specification.
    Of an entry with several changes no one alone can be spared."""
    specification = (ROOT / "docs/spec/08-workflows-and-lua.md").read_text(encoding="utf-8")
    for e in edits_of(file):
        assert e["why"] and ("lua" in e) != ("spec" in e) and e["changes"], e
        text = text_of(file, but=e)
        loads, failed = in_stock(file, text)
        if "lua" in e:
            assert failed, f"stock Lua passes without {e}"
        else:
            assert loads is not None, (e, failed)
            section = re.search(rf"^## {e['spec']['section']}\. .*?(?=^## |\Z)", specification, re.S | re.M).group()
            assert e["spec"]["says"] in section, e
            assert cell(file, text, loads), f"the cell passes without {e}"
        for change in e["changes"] if len(e["changes"]) > 1 else ():
            text = text_of(file, but=change)
            loads, failed = in_stock(file, text)
            assert failed or cell(file, text, loads), f"both pass without {change}"
