"""The Lua of tenants' cells against stock Lua, the interpreter of Debian's package lua5.4: the programs in peer/ run in both, and every value and error text
is the same, but for what peer/differs.json names with its place in the specification."""
import json
import os
import re
import subprocess
import sys
import time

import pytest

from author import ROOT

sys.path.insert(0, str(ROOT / "tests" / "api"))
from wharf import WAIT, Server, ask_until  # noqa: E402

PEER = ROOT / "tests" / "lua" / "peer"
TOOLS = ("main", "peer", "stock", "random", "ends", "broken")  # are no programs of checks that a single run tells
PROGRAMS = sorted(p.stem for p in PEER.glob("*.lua") if p.stem not in TOOLS)
DIFFERS = json.loads((PEER / "differs.json").read_text(encoding="utf-8"))
ON_PURPOSE = {check: outcome for d in DIFFERS for check, outcome in d["checks"].items()}
PARTS = {"math": 4}  # an answer of a run has at most 1 MiB
CALLS, ROUNDS, SECONDS = 1200, 12, 8


@pytest.fixture(scope="module")
def flow():
    """A published workflow whose runs are the programs; gives a function that asks for one: the body of the answer."""
    server = Server("--modules", "org,locations,batches,events,workflows")
    client = server.organization().client()
    files = {p.stem: p.read_text(encoding="utf-8") for p in PEER.glob("*.lua") if p.stem not in ("main", "stock")}
    made = client.post("/v1/workflows", {"name": "Peer", "source": (PEER / "main.lua").read_text(encoding="utf-8"), "files": files,
                                         "triggers": [{"type": "http", "path": "run", "methods": ["POST"], "auth": "key", "mode": "sync"}], "scopes": []}, expect=201).data
    client.post(f"/v1/workflows/{made['id']}/publish", {}, expect=200)

    def ask(program, **more):
        return ask_until(lambda: client.request("POST", f"/v1/workflows/{made['id']}/http/run", {"program": program, **more}),
                         lambda r: r.status != 503 and r.code != "workflow.quota")  # no free process, or a slow machine: not what is tested here
    yield ask
    server.stop()


def lines(text):
    return dict(line.split("\t", 1) for line in text.split("\n") if line)


def in_cell(flow, program, **more):
    r = flow(program, **more)
    assert r.status == 200, r
    return r.data["seed"], lines(r.data["told"])


def in_stock(program, seed, part=1, parts=1, *calls):
    r = subprocess.run(["lua5.4", PEER / "stock.lua", PEER, program, *map(str, (seed, part, parts, *calls))], capture_output=True, timeout=WAIT, check=False,
                       env={"PATH": "/usr/bin:/bin", "TZ": "UTC"})
    assert r.returncode == 0, r.stderr
    return lines(r.stdout.split(b"\1\n")[-1].decode())


def other(cell, stock, program):
    """What differs and may not: {check: both outcomes}; and of what may, what is not as the list has it."""
    wrong = {}
    assert list(cell) == list(stock) and cell
    for name, outcome in cell.items():
        expected = ON_PURPOSE.get(f"{program}: {name}", stock[name])
        if outcome != expected:
            wrong[name] = f"\n  cell     {outcome}\n  expected {expected}"
    return "".join(f"\n{program}: {n}{w}" for n, w in wrong.items())


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_cell_is_stock_lua(flow, program):
    parts = PARTS.get(program, 1)
    for part in range(1, parts + 1):
        seed, cell = in_cell(flow, program, part=part, parts=parts)
        wrong = other(cell, in_stock(program, seed, part, parts), program)
        assert not wrong, wrong


def test_what_ends_a_run(flow):
    """Limits can't be caught: where stock Lua goes on after pcall, the run is over."""
    for name, stock in in_stock("ends", "1").items():
        r = flow("ends", only=name)
        assert r.status == 400, (name, r)
        assert f"ended {r.code}" == ON_PURPOSE[f"ends: {name}"], (name, r, stock)


def test_random_calls(flow):
    """WHARF_PEER_SEED repeats one round."""
    first = os.environ.get("WHARF_PEER_SEED")
    began, good, total = time.monotonic(), 0, 0
    for i in range(ROUNDS):
        calls_seed = int(first) if first else int.from_bytes(os.urandom(6), "little")
        print(f"WHARF_PEER_SEED={calls_seed}")
        seed, cell = in_cell(flow, "random", arg={"seed": calls_seed, "calls": CALLS})
        wrong = other(cell, in_stock("random", seed, 1, 1, calls_seed, CALLS), "random")
        assert not wrong, f"WHARF_PEER_SEED={calls_seed}{wrong}"
        total += len(cell)
        good += sum('{["n"]=' in outcome and "[1]=true" in outcome for outcome in cell.values())
        if first or time.monotonic() - began > SECONDS:
            break
    assert good > total / 4, (good, total)  # calls that only fail would tell little


def test_the_list_of_differences():
    """Each entry says why and cites words that stand in the specification; each is met by a check that stock Lua answers otherwise."""
    stock = {f"{p}: {name}": outcome for p in [*PROGRAMS, "ends"] for name, outcome in in_stock(p, "1").items()}
    for d in DIFFERS:
        assert d["name"] and d["why"] and d["checks"], d
        text = (ROOT / d["spec"]["file"]).read_text(encoding="utf-8")
        if "section" in d["spec"]:
            text = re.search(rf"^## {d['spec']['section']}\. .*?(?=^## |\Z)", text, re.S | re.M).group()
        assert d["spec"]["says"] in text, d
        for check, outcome in d["checks"].items():
            assert check in stock, f"no check is called {check}"
            assert stock[check] != outcome, f"{check} does not differ"
    assert len(ON_PURPOSE) == sum(len(d["checks"]) for d in DIFFERS)
