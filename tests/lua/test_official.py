"""Lua's own test files in a cell: strings, pm, sort, nextvar, utf8, tpack, math, coroutine, locals, closures, calls, events.

They come with fengari (npm, at the version in official/package-lock.json), whose tests are these files of Lua 5.3.4 in pieces that run one by one; the files of
5.4 are in no package. official/edits.json is the whole list of what is changed or left out: where 5.4 is another language than 5.3 ("lua"), and where the sandbox
leaves something out on purpose ("spec", with its words). The same edited piece passes in the stock interpreter, and each entry is needed."""
import json
import re
import subprocess
import sys
import time

import pytest

from author import ROOT

sys.path.insert(0, str(ROOT / "tests" / "api"))
from wharf import WAIT, Server, ask_until  # noqa: E402

OFFICIAL = ROOT / "tests" / "lua" / "official"
FILES = {"strings": 18, "pm": 18, "sort": 12, "nextvar": 25, "utf8": 9, "tpack": 16, "math": 37, "coroutine": 36, "locals": 5, "closure": 8, "calls": 16, "events": 13}
EDITS = json.loads((OFFICIAL / "edits.json").read_text(encoding="utf-8"))
AT_ONCE = 9  # pieces of one workflow: it has 20 files at most, and a piece may have one more
BUDGET = {"instructions": 10_000_000_000, "memory_mib": 128, "time_ms": 25_000}  # what an operator may give to runs; the files are made for a whole machine


def name_of(piece):
    return f"{piece['file']} {piece['piece']}"


def extracted():
    told = subprocess.run(["node", OFFICIAL / "extract.js", *FILES], capture_output=True, check=True, timeout=WAIT).stdout
    return {name_of(p): p for p in json.loads(told)}


PIECES = extracted()


def edits_of(name):
    return [e for e in EDITS if name_of(e) == name]


def text_of(name, but=None):
    """A piece as it is run, or None when it is left out. but: an entry of the list that is not applied."""
    text = PIECES[name]["text"]
    for e in edits_of(name):
        if e is but:
            continue
        if e.get("left_out"):
            return None
        for change in e["changes"]:
            assert text.count(change["from"]) == 1, (name, change, text)
            text = text.replace(change["from"], change["to"])
    return text


def in_stock(text):
    """(what it loads: {text: error or ""}, None), or (None, how it failed)."""
    r = subprocess.run(["lua5.4", OFFICIAL / "stock.lua"], input=text.encode(), capture_output=True, timeout=WAIT, check=False)
    if r.returncode:
        return None, r.stderr.decode(errors="replace")
    pairs = (line.split(b"\t") for line in r.stdout.split(b"\1\n")[-1].split(b"\n") if line)
    return {bytes.fromhex(text.decode()): bytes.fromhex(bad.decode()) for text, bad in pairs}, None


def literal(text):
    return '"' + re.sub(rb'[^ !#-\[\]-~]', lambda m: b"\\x%02x" % m.group()[0], text).decode() + '"'


def code_file(loads):
    """What a piece loads, as a module: {[text] = function(_ENV) return the chunk as a function end, or its error}."""
    rows = [f"[{literal(text)}] = {literal(bad) if bad else 'function(_ENV) return function(...) ' + escaped(text) + chr(10) + 'end end'},\n" for text, bad in loads.items()]
    return "return {\n" + "".join(rows) + "}\n"


def escaped(text):
    """A source is UTF-8 without NUL; chunks that are not have such bytes in a comment or in quotes."""
    return re.sub("[\0\udc80-\udcff]", lambda m: f"\\x{ord(m.group()) & 255:02x}", text.decode(errors="surrogateescape"))


@pytest.fixture(scope="module")
def cell():
    """Gives a function that runs texts in cells: {name: (text, what it loads)} to {name: None, or how it failed}."""
    server = Server("--modules", "org,locations,batches,events,workflows", *(a for name, n in BUDGET.items() for a in ("--set", f"workflows.budgets.sync.{name}={n}")))
    client = server.organization().client()
    main, shim = ((OFFICIAL / f).read_text(encoding="utf-8") for f in ("main.lua", "shim.lua"))

    def workflow(texts):
        files = {"shim": shim}
        for name, (text, loads) in texts.items():
            files[name.replace(" ", "_")] = text
            if loads:
                files[name.replace(" ", "_") + "_code"] = code_file(loads)
        made = client.post("/v1/workflows", {"name": f"Official {time.monotonic_ns()}", "source": main, "files": files, "scopes": [],
                                             "triggers": [{"type": "http", "path": "run", "methods": ["POST"], "auth": "key", "mode": "sync"}]}, expect=201).data
        client.post(f"/v1/workflows/{made['id']}/publish", {}, expect=200)
        return made["id"]

    def one(id, name, loads):
        piece = name.replace(" ", "_")
        r = ask_until(lambda: client.request("POST", f"/v1/workflows/{id}/http/run", {"piece": piece, "loads": bool(loads)}),
                      lambda r: r.status != 503 and r.code != "workflow.quota")  # no free process, or a slow machine: not what is tested here
        return None if r.status == 200 and r.data == {"passed": piece} else f"{r.status} {r.code} {r.errors}"

    def run(texts):
        told, names = {}, list(texts)
        for i in range(0, len(names), AT_ONCE):
            some = {name: texts[name] for name in names[i:i + AT_ONCE]}
            id = workflow(some)
            told.update({name: one(id, name, loads) for name, (_, loads) in some.items()})
            client.delete(f"/v1/workflows/{id}", expect=200)
        return told
    yield run
    server.stop()


@pytest.mark.parametrize("file", FILES)
def test_a_file(cell, file):
    """Each of its pieces passes in stock Lua, and the same text in a cell."""
    texts = {name: text_of(name) for name, p in PIECES.items() if p["file"] == file}
    assert len(texts) == FILES[file]
    to_run, wrong = {}, {}
    for name, text in texts.items():
        if text is not None:
            loads, failed = in_stock(text)
            to_run[name] = (text, loads)
            if failed:
                wrong[f"stock {name}"] = failed
    assert not wrong, wrong
    told = cell(to_run)
    assert {name: failed for name, failed in told.items() if failed} == {}
    assert len(told) >= FILES[file] - sum(1 for e in EDITS if e["file"] == file and e.get("left_out"))


def test_a_piece_can_fail(cell):
    told = cell({"math 1": ("assert(1 == 2)", {}), "math 2": ("load('x =')", {}), "math 3": ("assert(load('return 7')() == 7)", {b"return 7": b""})})
    assert told["math 1"].startswith("400 workflow.failed") and told["math 2"] and told["math 3"] is None, told


def test_the_list_of_changes(cell):
    """Each entry says why; without it the piece fails: in stock Lua where 5.4 is meant, in the cell where the sandbox is, by words that stand in the specification."""
    needed = {}
    for e in EDITS:
        assert e["why"] and ("lua" in e) != ("spec" in e) and ("changes" in e) != ("left_out" in e), e
        name, text = name_of(e), text_of(name_of(e), but=e)
        loads, failed = in_stock(text)
        if "lua" in e:
            assert failed, f"{name} passes in stock Lua as it is"
            continue
        assert loads is not None, (name, failed)
        needed[name] = (text, loads)
        section = re.search(rf"^## {e['spec']['section']}\. .*?(?=^## |\Z)", (ROOT / "docs/spec/08-workflows-and-lua.md").read_text(encoding="utf-8"), re.S | re.M).group()
        assert e["spec"]["says"] in section, e
    told = cell(needed)
    assert [name for name, failed in told.items() if not failed] == []
