#!/usr/bin/python3
"""Each resource, request by request: the server, pgbench with the best single statement for the
same columns, and Fastify with pg; by turns in one run, 64 connections. Prints ratios.

  tests/bench/resources.py [--turns N] [--seconds N] [--only items,retrieve,list,memory]
                           [--small] [--search-rows N] [--batch-rows N] [--no-check] [--check-only]
                           [--binary FILE] [--out FILE.json]

Resources: group, contact, tracker, shipment, location, station, item, event. Requests: retrieve, list
(of 20), filter (two, by equality), search, create, update, batch (rows by one batch, against COPY
of the rows that it left), beside (p99 of retrieves beside another organization's lists and
searches). memory: each kind of request of all resources for --seconds, and a batch of each, asked of
the server alone; what its processes have before, after the requests, and after the batches, by
owner (docs/guide/operation.md 'Which part holds the memory'). --only has names of resources, of
requests and of filters: without a resource all of them, with resources and memory alone all that
is measured of these. The statements stand in statements/RESOURCE_WHAT.sql: plain columns and joins, and for
a write all rows that the server writes for it, with those of the logs. Rate limits and the access
log are off.

At the start it checks that they do the same (resources_peer.py): Fastify, which runs the same
files, must answer each kind of request as the server does, member by member, and a write by
pgbench must leave as many rows in the same tables as the server's, with values in the same
columns. What differs is printed as DIFFERENT, and the run ends with 1. Times are never judged.

A ratio is the median of the turns' ratios. CPU is of the processes of this run, from /proc, of all
they did in that second: processing of events, too. Statements are counted by pg_stat_statements in
a turn of its own; the part of the background jobs is in them. `settings` of PostgreSQL are those
that the server makes its cluster with.
"""
import argparse
import io
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import resources_data as data  # noqa: E402
import requests  # noqa: E402
import run as bench  # noqa: E402
from contacts import settled as processed  # noqa: E402
from resources_data import RESOURCES, requests_of  # noqa: E402
from resources_peer import Statements, body_of, checked, fastify, tables, unique  # noqa: E402

MODULES = "org,locations,carriers,contacts,batches,shipments,trackers,stations,items,events,logs"
CONNECTIONS = 64
# Nothing is given up on a busy machine: a time limit would only hide what it took.
PATIENT = bench.OFF + ["http.handler_timeout=300000", "database.statement_timeout=300000"]
PEER = ("retrieve", "list", "create")  # and filters: what Fastify is asked for
WRITES = ("create", "update")
BATCHES = {"contact": (10000, 1000), "group": (2000, 200), "location": (2000, 200),
           "tracker": (2000, 200), "shipment": (2000, 200), "item": (2000, 200)}
READ = """local paths = {{{paths}}}
math.randomseed({seed})
request = function() return wrk.format("GET", paths[math.random(#paths)]) end"""
WRITE = """local paths, body, n = {{{paths}}}, '{body}', 0
math.randomseed({seed})
wrk.headers["Content-Type"] = "application/json"
request = function()
  n = n + 1
  return wrk.format("POST", paths[math.random(#paths)], nil, (body:gsub("#", "{turn}n" .. n)))
end"""


class Run:
    """One server with its rows, and the peers."""

    def __init__(self, args):
        self.args, self.lines, self.peer = args, [], None
        self.stack = bench.Stack(tempfile.mkdtemp(prefix="wharf-resources-"))
        os.chmod(self.stack.folder, 0o755)

    def begin(self):
        args = self.args
        self.start()
        self.rows.sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public")
        self.rows.sql("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
        self.counts = {n: r.rows[args.small] for n, r in RESOURCES.items()}
        if "search" in (args.only or "search") and not args.small:
            self.counts["contact"] = self.counts["event"] = args.search_rows
        began = time.monotonic()
        self.names = [n for n in RESOURCES if n in (args.resources or RESOURCES)]
        filled = list(RESOURCES) if self.memory_too() else self.names
        data.fill(self.api, self.rows, self.counts, filled + ["contact"] * self.beside_too())
        print(f"{self.counts} rows in {time.monotonic() - began:.0f} s", flush=True)
        if not args.check_only:
            self.stack.stop(self.child)
            self.start()  # statements can be counted after a start of the cluster
            self.track("none")
        self.statements = Statements(self.api, self.rows, self.counts, self.stack, filled)
        if self.names:
            _, self.peer = fastify(self.statements, self.names)

    def start(self):
        self.child, info, _ = bench.start_wharf(self.stack, self.args.binary, MODULES, PATIENT)
        self.rows = data.Rows(bench.database(self.stack))
        self.api = data.Api(info["base_url"], info["api_key"], info["organization_id"],
                            self.args.binary, self.stack.folder / "data")
        self.admin = info["admin_url"]

    def memory_too(self):
        return not self.args.check_only and "memory" in (self.args.only or [])

    def beside_too(self):
        return not self.args.check_only and "beside" in (self.args.only or "beside")

    def plan(self):
        """(resource, request), of those asked for; `filter` stands for the filters."""
        return [(n, w) for n in self.names for w in RESOURCES[n].what if not self.args.only or
                w in self.args.only or "filter" in self.args.only and w in RESOURCES[n].filters]

    def script(self, name, what):
        """wrk's script of one turn."""
        if what == "create":
            paths = [RESOURCES[name].path]
        else:
            words = self.statements.words.get(name, [])
            found = requests_of(name, what, self.counts[name], words)
            paths = [p for _, p in found]
        text = WRITE if what in WRITES else READ
        return bench.lua(self.stack, "requests.lua", text.format(
            paths=",".join(f'"{p}"' for p in paths), seed=int(time.monotonic() * 1000),
            body=body_of(name, what), turn=unique()))

    def ask(self, base, name, what, seconds):
        return bench.wrk(base + "/", self.api.key, self.args.connections, seconds,
                         self.script(name, what))

    def settle(self, name, what):
        if (name, what) == ("station", "create"):  # an organization has 5,000 at most
            self.rows.sql("DELETE FROM stations.printer p USING stations.print_station s WHERE"
                          " s.organization_id = p.organization_id AND s.id = p.station_id"
                          " AND s.name LIKE 'NEW-%'")
            self.rows.sql("DELETE FROM stations.print_station WHERE name LIKE 'NEW-%'")
        if what in WRITES:
            bench.settled(self.stack)

    def counted(self, name, what):
        """Statements per request."""
        self.track("top")
        self.rows.sql("SELECT public.pg_stat_statements_reset()")
        asked = self.ask(self.api.base, name, what, 1)["per_second"]
        processed(self.rows)
        calls, = self.rows.sql("SELECT sum(calls)::float FROM public.pg_stat_statements")[0]
        self.track("none")
        return calls / asked

    def track(self, which):
        self.rows.sql(f"ALTER SYSTEM SET pg_stat_statements.track = '{which}'")
        self.rows.sql("SELECT pg_reload_conf()")
        time.sleep(0.2)

    def measure(self, name, what):
        """One line of the table: all systems, one after the other, in another order each turn."""
        seconds, turns = self.args.seconds, {"server": [], "pgbench": [], "fastify": []}
        self.ask(self.api.base, name, what, 1)
        clients = self.statements.clients(name, what, self.args.connections)
        systems = {"server": lambda: self.ask(self.api.base, name, what, seconds),
                   "pgbench": lambda: self.statements.rate(name, what, seconds, clients)}
        if what in PEER or what in RESOURCES[name].filters:
            self.ask(self.peer, name, what, 1)
            systems["fastify"] = lambda: self.ask(self.peer, name, what, seconds)
        for turn in range(self.args.turns):
            order = list(systems)
            for system in order[turn % len(order):] + order[:turn % len(order)]:
                self.settle(name, what)
                turns[system].append(systems[system]())
        line = {"resource": name, "what": what, "pgbench_clients": clients, "turns": turns,
                **figures(turns), "statements": self.counted(name, what)}
        self.lines.append(line)
        print(show(line), flush=True)

    def batch(self, name):
        """Turns in organizations of their own: a batch, then COPY of its rows into another one."""
        count, turns = BATCHES[name][self.args.small], {"server": [], "pgbench": [], "cpu": []}
        count = self.args.batch_rows or count
        for turn in range(self.args.turns):
            own, other = self.api.other(f"Batch {turn}"), self.api.other(f"Copy {turn}")
            place = own.ask("POST", "/v1/locations", {"name": "B", "address": data.ADDRESS})
            bench.settled(self.stack)
            before = cpu()
            took = data.batch(own, name, count, place["data"]["id"])
            processed(self.rows)
            turns["cpu"].append([(b - a) * 1e6 / count for a, b in zip(before, cpu())])
            turns["server"].append({"per_second": count / took})
            turns["pgbench"].append(count / self.copy(own.organization, other.organization))
        ratios = [s["per_second"] / p for s, p in zip(turns["server"], turns["pgbench"])]
        line = {"resource": name, "what": f"batch of {count}", "turns": turns,
                "server": statistics.median(s["per_second"] for s in turns["server"]),
                "pgbench": statistics.median(turns["pgbench"]),
                "ratio": statistics.median(ratios),
                "cpu_server": statistics.median(c[0] for c in turns["cpu"]),
                "cpu_postgres": statistics.median(c[1] for c in turns["cpu"])}
        self.lines.append(line)
        print(show(line), flush=True)

    def copy(self, old, new):
        """Seconds for the rows of one organization with the id of another, by COPY, in one
        transaction: those of modules, of the change log and of events; not the batch's own."""
        wanted, db = [], self.rows.db
        for t in tables(self.rows):
            if "." in t and not t.startswith("batches.") or t in ("change_log", "event"):
                names = ", ".join(f'"{c}"' for c in data.columns_of(self.rows, t))
                buffer = io.BytesIO()
                with db.cursor() as c:
                    c.copy_expert(f"COPY (SELECT {names} FROM {t} WHERE organization_id ="
                                  f" '{old}') TO STDOUT", buffer)
                content = buffer.getvalue().replace(old.encode(), new.encode())
                wanted += [(t, names, content)] * bool(content)
        db.autocommit = False
        begun = time.monotonic()
        with db.cursor() as c:
            for t, names, content in wanted:
                c.copy_expert(f"COPY {t} ({names}) FROM STDIN", io.BytesIO(content))
        db.commit()
        took = time.monotonic() - begun
        db.autocommit = True
        return took

    def beside(self):
        """Retrieves of contacts: alone, and beside another organization that lists and searches
        its own on four connections each; by turns."""
        other, turns = self.api.other("Beside"), {"alone": [], "beside": []}
        other.ask("POST", "/v1/groups", {"name": "Crew", "resource": "contact"})
        count = min(self.counts["contact"], 20000)
        data.contacts(other, self.rows, count, 8)
        words = data.words_of(other, self.rows, "contact")
        self.rows.sql("VACUUM ANALYZE")
        for _ in range(self.args.turns):
            turns["alone"].append(self.ask(self.api.base, "contact", "retrieve",
                                           self.args.seconds))
            crowd = []
            for what in ("list", "search"):
                text = READ.format(seed=1, paths=",".join(
                    f'"{p}"' for _, p in requests_of("contact", what, count, words)))
                path = bench.lua(self.stack, f"beside_{what}.lua", text)
                crowd.append(self.stack.start(
                    ["wrk", "-t1", "-c4", f"-d{self.args.seconds + 2}s", "-s", path, "-H",
                     f"SVC-API-KEY: {other.key}", other.base + "/"],
                    stdout=open(os.devnull, "w")))
            time.sleep(0.5)
            turns["beside"].append(self.ask(self.api.base, "contact", "retrieve",
                                            self.args.seconds))
            for child in crowd:
                child.wait(30)
                self.stack.children.remove(child)
        p99 = {k: statistics.median(t["p99_ms"] for t in v) for k, v in turns.items()}
        ratio = statistics.median(b["p99_ms"] / a["p99_ms"]
                                  for a, b in zip(turns["alone"], turns["beside"]))
        text = (f"p99 of retrieves at {self.args.connections} connections: alone"
                f" {p99['alone']:.1f} ms, beside lists and searches of others"
                f" {p99['beside']:.1f} ms, {ratio:.2f} times")
        print(text, flush=True)
        return {"p99_ms": p99, "ratio": ratio, "turns": turns, "text": text}


    def memory(self):
        """By owner: before, after each kind of request, after a batch of each kind."""
        seen = [("before", by_owner(self.admin))]
        for name in RESOURCES:
            for what in RESOURCES[name].what:
                self.settle(name, what)
                self.ask(self.api.base, name, what, self.args.seconds)
        processed(self.rows)
        seen.append(("after requests", by_owner(self.admin)))
        for name in BATCHES:
            other = self.api.other(f"Memory {name}")
            place = other.ask("POST", "/v1/locations", {"name": "B", "address": data.ADDRESS})
            data.batch(other, name, BATCHES[name][self.args.small], place["data"]["id"])
            processed(self.rows)
        time.sleep(3)  # what large requests freed is given back once a second
        return [*seen, ("after batches", by_owner(self.admin))]


def by_owner(admin):
    """{process: {owner: MiB}}, as GET /metrics tells it."""
    out, text = {}, requests.get(admin + "/metrics", timeout=60).text
    for kind, index, owner, n in re.findall(
            r'^wharf_memory_bytes\{kind="(\w+)",index="(\d+)",owner="(\w+)"\} (\d+)$', text, re.M):
        out.setdefault(f"{kind} {index}", {})[owner] = int(n) / 2 ** 20
    return out


def show_memory(title, processes):
    """Lines of a table: owners, processes; owners that nobody has a tenth of a MiB for are left
    out. Pages of files and shared ones are in the sums of several processes."""
    owners = [o for o in dict.fromkeys(o for p in processes.values() for o in p)
              if any(p.get(o, 0) >= 0.1 for p in processes.values())]
    rows = [[title, *processes], ["---"] * (len(processes) + 1)]
    owners.sort(key=lambda o: -sum(p.get(o, 0) for p in processes.values()))
    rows += [[o, *(f"{p[o]:.1f}" if o in p else "" for p in processes.values())] for o in owners]
    own = [sum(n for o, n in p.items() if o not in ("files", "shared")) for p in processes.values()]
    rows.append(["of its own", *(f"{n:.1f}" for n in own)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def cpu():
    return bench.cpu_seconds(bench.is_wharf), bench.cpu_seconds(bench.is_postgres)


def figures(turns):
    """Medians of a line."""
    def median(values):
        return statistics.median(values) if values else None
    own = turns["server"]
    per = [t["per_second"] for t in own]
    other = [t["per_second"] for t in turns["fastify"]]
    return {
        "server": median(per), "pgbench": median(turns["pgbench"]), "fastify": median(other),
        "ratio": median([a / b for a, b in zip(per, turns["pgbench"])]),
        "ratio_fastify": median([a / b for a, b in zip(per, other)]),
        "cpu_server": median([t["cpu_server"] * 1e6 / t["per_second"] for t in own]),
        "cpu_postgres": median([t["cpu_postgres"] * 1e6 / t["per_second"] for t in own]),
        "p50_ms": median([t["p50_ms"] for t in own]),
        "p99_ms": median([t["p99_ms"] for t in own]),
        "errors": sum(t["errors"] for t in own + turns["fastify"])}


HEAD = ("resource", "request", "server/s", "pgbench/s", "Fastify/s", "of pgbench", "of Fastify",
        "CPU µs server", "CPU µs PostgreSQL", "statements", "p50 ms", "p99 ms")


def cells(line):
    def number(key, form):
        value = line.get(key)
        return "" if value is None else format(value, form)
    return [line["resource"], line["what"] + (f" ({line['errors']} ERRORS)" if line.get("errors")
                                              else ""),
            *(number(k, ",.0f") for k in ("server", "pgbench", "fastify")),
            number("ratio", ".2f"), number("ratio_fastify", ".1f"),
            *(number(k, ",.0f") for k in ("cpu_server", "cpu_postgres")),
            *(number(k, ".1f") for k in ("statements", "p50_ms", "p99_ms"))]


def show(line):
    told = "  ".join(f"{h} {c}" for h, c in list(zip(HEAD, cells(line)))[2:] if c)
    return f"{line['resource']:<9} {line['what']:<16} {told}"


def table(lines):
    rows = [HEAD, ["---"] * len(HEAD), *(cells(line) for line in lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def arguments():
    p = argparse.ArgumentParser()
    names = lambda text: text.split(",")  # noqa: E731
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--seconds", type=int, default=2)
    p.add_argument("--connections", type=int, default=CONNECTIONS)
    p.add_argument("--only", type=names, help="resources (item or items), retrieve, list, filter,"
                   " search, create, update, batch, beside, memory, or the name of a filter")
    p.add_argument("--small", action="store_true", help="few rows, for a trial")
    p.add_argument("--search-rows", type=int, default=50000, help="contacts (and their events)")
    p.add_argument("--batch-rows", type=int, help="rows of a batch")
    p.add_argument("--no-check", action="store_true")
    p.add_argument("--check-only", action="store_true")
    p.add_argument("--binary", default=str(bench.ROOT / "build/tool/wharf"))
    p.add_argument("--out", help="a JSON file with the figures of each turn")
    args = p.parse_args()
    asked = args.only or []
    args.resources = [n for n in RESOURCES if n in asked or n + "s" in asked] or None
    args.only = [a for a in asked if a not in RESOURCES and a.removesuffix("s") not in RESOURCES]
    if args.resources and args.only in ([], ["memory"]):
        args.only = [w for n in args.resources for w in RESOURCES[n].what] + ["batch"] + args.only
    elif args.only == ["memory"]:
        args.resources, args.only = ["none"], ["memory"]
    return args


def main():
    args = arguments()
    wanted = lambda what: not args.only or what in args.only  # noqa: E731
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    it, wrong, told = Run(args), [], {}
    try:
        it.begin()
        if not args.no_check:
            wrong = checked(it.statements, it.peer, it.plan())
        if not args.check_only:
            for name, what in it.plan():
                it.measure(name, what)
            if it.beside_too():
                told["beside"] = it.beside()
            for name in BATCHES:
                if wanted("batch") and name in it.names:
                    it.batch(name)
            if it.memory_too():
                told["memory"] = it.memory()
            else:
                told["memory"] = [("afterwards", by_owner(it.admin))]
            told["memory_mib"] = bench.rss_mib(bench.is_wharf)
    finally:
        it.stack.stop_all()
        shutil.rmtree(it.stack.folder, ignore_errors=True)
    if it.lines or told:
        print("\n" + table(it.lines))
        print("\n" + "\n".join([t["text"] for k, t in told.items() if k == "beside"] + [
            f"memory of all server processes: {told['memory_mib']:.0f} MiB"
            " (proportional set size)"]))
        print("\n" + "\n\n".join(show_memory(f"MiB {t}", p) for t, p in told["memory"]))
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(
            {"arguments": vars(args), "rows": it.counts, "different": wrong, "lines": it.lines,
             **told}, indent=1))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
