#!/usr/bin/python3
"""Items against pgbench, which runs the very statements that the server ran for the same request (replay.py), on the same cluster in the same run.

  tests/bench/items.py [--turns N] [--seconds N] [--connections N] [--only change,hot,build,explosion] [--parts N] [--levels N] [--binary FILE]

change     one level of one of 5,000 items changes: level, ledger, change log, two events; each client another item
hot        the same, all clients the same level
build      an assembly of 10 parts is built, of 500 such assemblies: 11 levels, order, twelve events
explosion  GET of all parts of a bill of 10,000 items in 30 levels, one client

Prints for each the rates by turns, their ratio (median of the turns'), and where the server's time goes. pgbench sends one statement after another, and
in `pipelined` all of a transaction at once, which the server does with what has no question in between. Lists of items: lists.py --only items.
Prints figures; asserts nothing.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import requests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import resources_data as data  # noqa: E402
import run as bench  # noqa: E402
from replay import Recorder  # noqa: E402

MODULES = "org,locations,items,events,logs"
ITEMS, BUILDS, PARTS_OF_A_BUILD = 5000, 500, 10
MANY = 10 ** 9  # on stock: no run ends it
PGBENCH = "/usr/lib/postgresql/15/bin/pgbench"
WRITE = """local paths, body = {{{paths}}}, '{body}'
math.randomseed({seed})
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function() return wrk.format(nil, paths[math.random(#paths)], nil, body) end"""


def numbered(prefix, number):
    """SQL of an id that ends with a number."""
    return f"'{prefix}_' || lpad(({number})::text, 22, '0')"


class Warehouse:
    """A server with its rows. Record n of what is copied has ids that end with n."""

    def __init__(self, args):
        self.stack = bench.Stack(tempfile.mkdtemp(prefix="wharf-items-"))
        os.chmod(self.stack.folder, 0o755)
        self.child, info, _ = bench.start_wharf(self.stack, args.binary, MODULES, bench.OFF + ["http.handler_timeout=300000", "database.statement_timeout=300000"])
        self.rows = data.Rows(bench.database(self.stack))
        self.api = data.Api(info["base_url"], info["api_key"], info["organization_id"], args.binary, self.stack.folder / "data")
        self.log = next((self.stack.folder / "data").rglob("postgresql.log"))
        self.place = self.api.ask("POST", "/v1/locations", {"name": "Dock", "address": data.ADDRESS})["data"]["id"]

    def item(self, name, stock=0, **more):
        levels = [{"location_id": self.place, "available_qty": stock}] if stock else []
        return self.api.ask("POST", "/v1/items", {"name": name, "base_uom": "each", "levels": levels} | more)["data"]

    def copy(self, ids, count, also=()):
        """Copies the items of these ids with their stock `count` times: of ids[k] the copies have the numbers k + 1, k + 1 + len(ids) …, and so have their
        levels. also: (table, column, value) of more rows, of which each item id becomes that of the same copy."""
        marks = {re.escape(id.split("_", 1)[1]): f"lpad((n * {len(ids)} - {len(ids) - k - 1})::text, 22, '0')" for k, id in enumerate(ids)}
        for table, column, of in [(t, c, id) for id in ids for t, c in (("items.item", "id"), ("items.level", "item_id"), ("items.stock_movement", "item_id"))] + list(also):
            for row, in self.rows.sql(f"SELECT to_jsonb(t)::text FROM {table} t WHERE {column} = %s", of):
                own = dict(marks)
                if of in ids:
                    for kind in ("lvl", "mov", "mvg"):
                        own.update({rf"(?<={kind}_)\w{{22}}": marks[re.escape(of.split("_", 1)[1])]})
                own[r"(?<=bom_)\w{22}"] = "lpad(n::text, 22, '0')"
                names = ", ".join(f'"{c}"' for c in data.columns_of(self.rows, table))
                self.rows.sql(f"INSERT INTO {table} ({names}) SELECT {names} FROM generate_series(1, %s) n CROSS JOIN LATERAL"
                              f" jsonb_populate_record(NULL::{table}, ({data.template(self.rows, row, own)})::jsonb)", count)
        self.rows.sql("VACUUM ANALYZE")
        self.rows.sql("CHECKPOINT")

    def rate(self, paths, body, connections, seconds):
        script = bench.lua(self.stack, "items.lua", WRITE.format(paths=",".join(f'"{p}"' for p in paths), body=json.dumps(body), seed=int(time.monotonic() * 1000)))
        return bench.wrk(self.api.base + "/", self.api.key, connections, seconds, script)

    def pgbench(self, script, clients, seconds):
        user, = self.rows.sql("SELECT usename FROM pg_stat_activity WHERE application_name LIKE 'wharf%%' AND usename <> 'wharf' GROUP BY 1 ORDER BY count(*) DESC LIMIT 1") or [["wharf"]]
        done = subprocess.run([PGBENCH, "-n", "-M", "prepared", "-c", str(clients), "-j", "2", "-T", str(seconds), "-f", script, "-h", bench.socket_of(self.stack), "-U", user[0], "wharf"],
                              capture_output=True, text=True)
        if done.returncode or "tps = " not in done.stdout or "ERROR" in done.stderr:
            sys.exit(f"pgbench: {done.stderr[-2000:]}")
        return float(re.search(r"tps = ([\d.]+)", done.stdout).group(1))


def compare(warehouse, args, name, paths, body, recorded, varied, head):
    """One kind of request by turns: the server, pgbench statement by statement, pgbench with its pipeline."""
    recorder, scripts = Recorder(warehouse.rows, warehouse.log), {}
    for kind in ("plain", "pipelined"):
        text, count = recorder.script(lambda: warehouse.api.ask("POST", recorded, body), next(iter(varied)), varied, head, kind == "pipelined")
        scripts[kind] = warehouse.stack.folder / f"{name}_{kind}.sql"
        scripts[kind].write_text(text)
        os.chmod(scripts[kind], 0o644)
    best = max((8, 16, 32, 64), key=lambda n: warehouse.pgbench(scripts["plain"], n, 2))
    turns = []
    for _ in range(args.turns):
        bench.settled(warehouse.stack)
        own = warehouse.rate(paths, body, args.connections, args.seconds)
        bench.settled(warehouse.stack)
        turns.append({"server": round(own["per_second"]), "errors": own["errors"], "p99_ms": own["p99_ms"], "cpu_server": round(own["cpu_server"], 2), "cpu_postgres": round(own["cpu_postgres"], 2),
                      **{k: round(warehouse.pgbench(f, best, args.seconds)) for k, f in scripts.items()}})
    ratios = {k: round(statistics.median(t["server"] / t[k] for t in turns), 2) for k in scripts}
    print(json.dumps({"what": name, "statements": count, "clients_of_pgbench": best, "ratio": ratios, "turns": turns}), flush=True)


def change(warehouse, args):
    base = warehouse.item("Base", MANY)
    warehouse.copy([base["id"]], ITEMS)
    body = {"levels": [{"location_id": warehouse.place, "available_qty": 1}]}
    one = f"item_{1:022d}"
    varied = {one: numbered("item", ":n"), f"lvl_{1:022d}": numbered("lvl", ":n")}
    for name, most in (("change", ITEMS), ("hot", 1)):
        if name in args.only:
            paths = [f"/v1/items/item_{n:022d}" for n in range(1, most + 1)]
            compare(warehouse, args, name, paths, body, f"/v1/items/{one}", varied, f"\\set n random(1, {most})\n\\set a random(1, 999999999999)")


def build(warehouse, args):
    parts = [warehouse.item(f"Part {k}", MANY) for k in range(PARTS_OF_A_BUILD)]
    made = warehouse.item("Assembly", item_type="assembly")
    bom = warehouse.api.ask("POST", f"/v1/items/{made['id']}/boms", {"name": "Main", "components": [{"item_id": p["id"], "quantity": 1} for p in parts]})["data"]
    warehouse.api.ask("POST", f"/v1/items/{made['id']}/boms/{bom['id']}/build", {"location_id": warehouse.place, "quantity": 1})  # its level is there
    warehouse.rows.sql("DELETE FROM items.stock_movement WHERE reason LIKE 'build%'")
    ids = [p["id"] for p in parts] + [made["id"]]
    warehouse.copy(ids, BUILDS, [("items.bom", "id", bom["id"]), ("items.bom_version", "bom_id", bom["id"]), ("items.bom_component", "bom_id", bom["id"]), ("items.bom_edge", "bom_id", bom["id"])])
    n = len(ids)
    path = lambda i: f"/v1/items/item_{i * n:022d}/boms/bom_{i:022d}/build"  # noqa: E731
    varied = {f"bom_{1:022d}": numbered("bom", ":n")}
    for k in range(n):
        for kind in ("item", "lvl"):
            varied[f"{kind}_{k + 1:022d}"] = numbered(kind, f":n * {n} - {n - k - 1}")
    compare(warehouse, args, "build", [path(i) for i in range(1, BUILDS + 1)], {"location_id": warehouse.place, "quantity": 1}, path(1), varied,
            f"\\set n random(1, {BUILDS})\n\\set a random(1, 999999999999)")


def explosion(warehouse, args):
    """Each item of a level has four parts of the next, chosen so that all are used."""
    width = args.parts // args.levels
    top = warehouse.item("Top", item_type="assembly", base_uom="kg")
    part = warehouse.item("Part", base_uom="kg")
    bom = warehouse.api.ask("POST", f"/v1/items/{top['id']}/boms", {"name": "Main", "components": [{"item_id": part["id"], "quantity": 0.25}]})["data"]

    def copied(table, of, values, source):
        """Rows like the one of `of` (a condition), with other values where they differ."""
        columns = data.columns_of(warehouse.rows, table)
        chosen = ", ".join(values.get(c, f'r."{c}"') for c in columns)
        listed = ", ".join(f'"{c}"' for c in columns)
        warehouse.rows.sql(f"INSERT INTO {table} ({listed}) SELECT {chosen} FROM {table} r, {source} WHERE {of}")
    every = f"generate_series(0, {width * args.levels - 1}) n"
    built = f"(SELECT n FROM generate_series(0, {width * (args.levels - 1) - 1}) n) g"
    id = lambda n: f"'item_e' || lpad(({n})::text, 21, '0')"  # noqa: E731
    bill = "'bom_e' || lpad(n::text, 21, '0')"
    edges = f"(SELECT n, k, {width} * (n / {width} + 1) + (n % {width} + k * k * 7) % {width} AS c FROM generate_series(0, {width * (args.levels - 1) - 1}) n, generate_series(0, 3) k) g"
    copied("items.item", f"r.id = '{top['id']}'", {"id": id("n"), "name": "'Part ' || n", "item_type": f"CASE WHEN n < {width * (args.levels - 1)} THEN 'assembly' ELSE 'inventory' END"}, every)
    copied("items.bom", f"r.id = '{bom['id']}'", {"id": bill, "item_id": id("n")}, built)
    copied("items.bom_version", f"r.bom_id = '{bom['id']}'", {"bom_id": bill}, built)
    copied("items.bom_component", f"r.bom_id = '{bom['id']}'", {"bom_id": bill, "item_id": id("c"), "id": "'bcmp_e' || lpad((n * 4 + k)::text, 21, '0')", "position": "k"}, edges)
    copied("items.bom_edge", f"r.bom_id = '{bom['id']}'", {"bom_id": bill, "assembly_id": id("n"), "component_id": id("c")}, edges)
    first = [{"item_id": f"item_e{n:021d}", "quantity": 1} for n in range(width)]
    warehouse.rows.sql("VACUUM ANALYZE")
    whole = warehouse.api.ask("POST", f"/v1/items/{warehouse.item('Whole', item_type='assembly', base_uom='kg')['id']}/boms", {"name": "Main", "components": first})["data"]
    path = f"{warehouse.api.base}/v1/items/{whole['item_id']}/boms/{whole['id']}/explosion"
    took, before = [], (bench.cpu_seconds(bench.is_wharf), bench.cpu_seconds(bench.is_postgres))
    for _ in range(max(args.turns, 5)):
        begun = time.monotonic()
        r = requests.get(path, headers={"SVC-API-KEY": warehouse.api.key}, timeout=300)
        took.append(round((time.monotonic() - begun) * 1000))
        assert r.status_code == 200, r.text[:500]
    after = bench.cpu_seconds(bench.is_wharf), bench.cpu_seconds(bench.is_postgres)
    shown = r.json()["data"]
    print(json.dumps({"what": "explosion", "parts": len(shown), "levels": max(p["level"] for p in shown), "bytes": len(r.content), "ms": took, "median_ms": statistics.median(took), "cpu_ms_server_postgres": [round((b - a) * 1000 / len(took)) for a, b in zip(before, after)]}), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--seconds", type=int, default=5)
    p.add_argument("--connections", type=int, default=64)
    p.add_argument("--parts", type=int, default=10000)
    p.add_argument("--levels", type=int, default=30)
    p.add_argument("--only", type=lambda s: s.split(","), default=["change", "hot", "build", "explosion"])
    p.add_argument("--binary", default=str(bench.ROOT / "build/tool/wharf"))
    args = p.parse_args()
    for names, measure in (({"change", "hot"}, change), ({"build"}, build), ({"explosion"}, explosion)):
        if not names & set(args.only):
            continue
        warehouse = Warehouse(args)
        try:
            measure(warehouse, args)
        finally:
            warehouse.stack.stop_all()


if __name__ == "__main__":
    main()
