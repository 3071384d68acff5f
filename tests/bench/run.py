#!/usr/bin/python3
"""Measures retrieve, list of 20 and create on 1,000,000 rows against pgbench on the same cluster, nginx serving a file of the same
size, and Fastify with pg; in one run on one machine, and prints ratios.

  tests/bench/run.py [--rows N] [--seconds N] [--connections 1,16,64,256] [--pairs N] [--operation-only] [--out FILE.json]

Every system does the same work: key, scope and location are checked, a create writes row, change-log line and event in one
transaction. pgbench runs the same statements, prepared. Nothing here asserts: figures are for people (docs/performance.md).
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import psycopg2
import requests

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/bench"
COLUMNS = "id, created_at, updated_at, created_by, updated_by, version, deleted_at, name, code, location_id, status, weight, count, fragile, metadata"
BODY = '{"name":"Crate of things","location_id":"%s","weight":2.5,"count":7,"metadata":{"color":"red"}}'
HISTORY = """WITH r AS (INSERT INTO bench.crate (organization_id, id, created_at, updated_at, created_by, updated_by, version, name, code, location_id, status, weight, count, fragile, metadata)
 SELECT '{org}', 'crate_' || lpad(:a::text, 9, '0') || lpad(:b::text, 9, '0') || lpad(:client_id::text, 4, '0'), now(), now(), 'key', 'key', 1, 'Crate of things', NULL, '{loc}', 'open', 2.5, 7, false, '{{"color":"red"}}'
 WHERE EXISTS (SELECT 1 FROM locations.location x WHERE x.organization_id = '{org}' AND x.id = '{loc}' AND x.deleted_at IS NULL) RETURNING id),
 g AS (INSERT INTO wharf.change_log (organization_id, id, resource, resource_id, action, changes, actor_type, actor_id, actor_name, request_id, event_id, location_id, created_at)
 SELECT '{org}', 'log' || substr(id, 6), 'crate', id, 'created', '[]', 'api_key', 'key', 'bench', 'req_' || substr(id, 6), 'evt' || substr(id, 6), '{loc}', now() FROM r)
 INSERT INTO wharf.event (organization_id, id, type, timestamp, location_id, resource_type, resource_id, actor_type, actor_id, actor_name, request_id, data, created_at, expires_at)
 SELECT '{org}', 'evt' || substr(id, 6), 'crate.created', now(), '{loc}', 'crate', id, 'api_key', 'key', 'bench', 'req_' || substr(id, 6), '{data}', now(), now() + interval '30 days' FROM r;
"""


RATES = ("key", "write", "test", "organization", "ip")
# The comparisons run without rate limits and access log; `operation` measures what both cost when the limits are never reached.
OFF = [f"rate_limit.{r}=0" for r in RATES] + ["rate_limit.concurrency=0", "log.access="]
ON = [f"rate_limit.{r}{kind}=1000000" for r in RATES for kind in ("", "_burst")] + ["rate_limit.concurrency=1000000"]


class Stack:
    """wharf dev, nginx and the Node peer, each started for one phase or the whole run."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.children = []
        Stack.server = None  # pid of the server that runs

    def start(self, command, **kw):
        child = subprocess.Popen(command, start_new_session=True, **kw)
        self.children.append(child)
        return child

    def stop(self, child):
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
        self.children.remove(child)

    def stop_all(self):
        for child in list(self.children):
            self.stop(child)


def start_wharf(stack, binary, modules, settings=OFF, data="data"):
    ready = stack.folder / (data + ".json")
    ready.unlink(missing_ok=True)
    log = open(stack.folder / "wharf.out", "ab")
    begun = time.monotonic()
    child = stack.start([binary, "dev", "--data", stack.folder / data, "--listen", "127.0.0.1:0", "--ready", ready, "--no-demo",
                         "--modules", modules, *(a for s in settings for a in ("--set", s))], stdout=log, stderr=log)
    Stack.server = child.pid
    while not ready.exists():
        if child.poll() is not None:
            sys.exit("wharf did not start:\n" + (stack.folder / "wharf.out").read_text())
        time.sleep(0.01)
    return child, json.loads(ready.read_text()), time.monotonic() - begun


def socket_of(stack):
    pid = next((stack.folder / "data").rglob("postmaster.pid"))
    return pid.read_text().split("\n")[4]


def database(stack):
    db = psycopg2.connect(host=socket_of(stack), user="wharf", dbname="wharf")
    db.autocommit = True
    return db


def load_rows(db, org, locations, rows):
    with db.cursor() as c:
        c.execute("""INSERT INTO bench.crate (organization_id, id, name, code, location_id, status, weight, count, fragile, metadata, created_at, updated_at, created_by, updated_by)
            SELECT %s, 'crate_' || lpad(n::text, 22, '0'), 'Crate ' || n, 'C' || n, CASE WHEN n %% 10 = 0 THEN %s ELSE %s END,
                   (ARRAY['open','packed','sent'])[1 + n %% 3], 2.5, 7, false, '{"color":"red"}',
                   timestamptz '2026-01-01' + n * interval '10 s', timestamptz '2026-01-01' + n * interval '10 s', 'key', 'key'
            FROM generate_series(1, %s) n""", (org, locations[0], locations[1], rows))
        c.execute("VACUUM ANALYZE bench.crate")
        c.execute("CHECKPOINT")


# ---- measuring ----

def command_line(pid):
    return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def processes(match):
    """Folders in /proc of the server of this run and of all it started, PostgreSQL's included: workers do not say in their command lines whose they are."""
    parents = {}
    for p in pathlib.Path("/proc").iterdir():
        if p.name.isdigit():
            try:
                parents[p.name] = (p / "stat").read_text().rsplit(")", 1)[1].split()[1]
            except OSError:
                pass  # it ended meanwhile
    for pid in parents:
        at = pid
        while at in parents and at != str(Stack.server):
            at = parents[at]
        if at == str(Stack.server):
            try:
                if match(command_line(pid)):
                    yield pathlib.Path("/proc") / pid
            except OSError:
                pass


def cpu_seconds(match):
    total = 0.0
    for p in processes(match):
        try:
            fields = (p / "stat").read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            pass
    return total


def rss_mib(match):
    total = 0
    for p in processes(match):
        try:
            total += int(re.search(r"^Pss:\s+(\d+)", (p / "smaps_rollup").read_text(), re.M).group(1))
        except (OSError, AttributeError):
            pass
    return total / 1024


def is_wharf(line):
    return "/wharf " in line and ("_worker" in line or " dev " in line)


def is_postgres(line):
    return line.startswith("postgres:") or "/bin/postgres " in line


def settled(stack):
    """What creates have left to the processor of events is done, and what they have left to autovacuum and the checkpointer, which else take a core
    for seconds at a moment of their own: a measurement begins with nothing behind."""
    db, end = database(stack), time.monotonic() + 120
    with db.cursor() as c:
        while time.monotonic() < end:
            c.execute("SELECT 1 FROM wharf.outbox LIMIT 1")
            if not c.fetchone():
                break
            time.sleep(0.05)
        c.execute("VACUUM ANALYZE")
        c.execute("CHECKPOINT")
    db.close()


def to_ms(text):
    number, unit = re.match(r"([\d.]+)(us|ms|s|m)$", text).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60000}[unit]


def wrk(url, key, connections, seconds, script=None):
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-H", f"SVC-API-KEY: {key}"]
    if script:
        command += ["-s", str(script)]
    before = cpu_seconds(is_wharf), cpu_seconds(is_postgres)
    out = subprocess.run(command + [url], capture_output=True, text=True, check=True).stdout
    after = cpu_seconds(is_wharf), cpu_seconds(is_postgres)
    if "nan" in out or not re.search(r"99%\s+[\d.]+(us|ms|s|m)\s", out):
        sys.exit(f"wrk had no answer from {url}:\n{out}")
    errors = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    return {
        "per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)),
        "p50_ms": to_ms(re.search(r"^\s+50%\s+(\S+)", out, re.M).group(1)), "p99_ms": to_ms(re.search(r"^\s+99%\s+(\S+)", out, re.M).group(1)),
        "errors": int(errors.group(1)) if errors else 0,
        "cpu_server": (after[0] - before[0]) / seconds, "cpu_postgres": (after[1] - before[1]) / seconds,
    }


def pgbench(stack, script, seconds, clients):
    path = stack.folder / "pgbench.sql"
    path.write_text(script)
    best = {}
    for n in clients:
        out = subprocess.run(["/usr/lib/postgresql/15/bin/pgbench", "-n", "-M", "prepared", "-c", str(n), "-j", "2", "-T", str(seconds), "-f", path,
                              "-h", socket_of(stack), "-U", "wharf", "wharf"], capture_output=True, text=True)
        tps = re.search(r"tps = ([\d.]+)", out.stdout)
        if not tps:
            sys.exit("pgbench: " + out.stderr)
        best[n] = float(tps.group(1))
    return best


def lua(stack, name, text):
    path = stack.folder / name
    path.write_text(text)
    return path


def explain(db, stack, info, org, key_one, cursor):
    """What PostgreSQL did for the server's own statements: auto_explain on its connections, for three requests by two keys."""
    with db.cursor() as c:
        for setting in ("session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0", "auto_explain.log_analyze = on", "auto_explain.log_timing = off"):
            c.execute(f"ALTER DATABASE wharf SET {setting}")
        c.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'wharf'")
    time.sleep(2)
    log = max((stack.folder / "data").rglob("*postgres*.log"), key=lambda p: p.stat().st_mtime, default=None)
    plans = {}
    for who, key in (("key of all locations", info["api_key"]), ("key of one location", key_one)):
        for what, query in (("page 1", "limit=20"), ("page 500", "limit=20&page=500"), ("cursor at row 900,000", "limit=20&cursor=" + cursor[who])):
            at = log.stat().st_size if log else 0
            ms = min(timed(info["base_url"] + "/v1/crates?" + query, key) for _ in range(3))
            time.sleep(0.3)
            text = log.read_bytes()[at:].decode(errors="replace") if log else ""
            found = re.findall(r"(?:Index (?:Only )?Scan|Seq Scan|Bitmap \w+ Scan|Sort|Limit|Nested Loop)[^\n]*", text[text.rfind("bench.crate"):])
            plans[f"{what}, {who}"] = {"ms": round(ms, 2), "plan": found[:8]}
    return plans


def timed(url, key):
    begun = time.perf_counter()
    r = requests.get(url, headers={"SVC-API-KEY": key}, timeout=30)
    assert r.status_code == 200, r.text
    return (time.perf_counter() - begun) * 1000


def deep_cursor(db, info, key, org, location, rows):
    """A cursor as the server gives it, walked to near row 900,000 with large pages (cursors are not bound to the limit)."""
    cursor, seen, target = "start", 0, int(rows * 0.9) if location is None else int(rows * 0.09)
    while seen < target:
        r = requests.get(f"{info['base_url']}/v1/crates?limit={min(1000, target - seen)}&fields=id&cursor={cursor}", headers={"SVC-API-KEY": key}, timeout=30).json()
        cursor, seen = r["pagination"]["next_cursor"], seen + len(r["data"])
    return cursor


def print_table(title, rows):
    print(f"\n{title}")
    for row in rows:
        print("  " + row)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", default="1,16,64,256")
    parser.add_argument("--binary", default=str(ROOT / "build/tool/wharf"))
    parser.add_argument("--bench-plugin", default=str(ROOT / "build/tests/plugins/bench.so"))
    parser.add_argument("--pairs", type=int, default=20, help="turns of a second each that compare limits and log on and off")
    parser.add_argument("--operation-only", action="store_true", help="only what rate limits and access log cost")
    parser.add_argument("--out")
    args = parser.parse_args()
    connections = [int(n) for n in args.connections.split(",")]
    folder = tempfile.mkdtemp(prefix="wharf-bench-")
    os.chmod(folder, 0o755)
    stack = Stack(folder)
    figures = {"rows": args.rows, "seconds": args.seconds}
    try:
        run(args, stack, connections, figures)
    finally:
        stack.stop_all()
        shutil.rmtree(folder, ignore_errors=True)
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(figures, indent=1))


def make_location(info, name):
    r = requests.post(info["base_url"] + "/v1/locations", headers={"SVC-API-KEY": info["api_key"]}, json={"name": name, "address": "1 Dock Road, Newark, NJ 07114, US"}, timeout=10)
    assert r.status_code == 201, r.text
    return r.json()["data"]["id"]


def peer(stack, info):
    folder = stack.folder / "peer"
    shutil.copytree(HERE / "peer", folder, ignore=shutil.ignore_patterns("node_modules"))
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True)
    port = 18090
    child = stack.start(["node", "server.js"], cwd=folder, env={**os.environ, "PORT": str(port), "PGHOST": socket_of(stack), "PROCESSES": "2"})
    for _ in range(100):
        try:
            if requests.get(f"http://127.0.0.1:{port}/v1/crates?limit=1", headers={"SVC-API-KEY": info["api_key"]}, timeout=1).status_code == 200:
                return child, f"http://127.0.0.1:{port}"
        except requests.RequestException:
            time.sleep(0.1)
    sys.exit("the Node peer did not start")


def nginx(stack, content):
    web = stack.folder / "web"
    web.mkdir()
    (web / "row.json").write_bytes(content)
    (stack.folder / "nginx.conf").write_text(f"""worker_processes 2; pid {stack.folder}/nginx.pid; error_log /dev/null; daemon off; user root;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 100000000; sendfile on; types {{ application/json json; }}
 server {{ listen 127.0.0.1:18091; root {web}; }} }}""")
    child = stack.start(["nginx", "-c", stack.folder / "nginx.conf", "-p", stack.folder])
    time.sleep(0.5)
    return child, "http://127.0.0.1:18091/row.json"


def show(name, r):
    return (f"{name:<10} {r['per_second']:>9.0f}/s   p50 {r['p50_ms']:7.2f} ms   p99 {r['p99_ms']:7.2f} ms   cpu server {r['cpu_server']:.2f} postgres {r['cpu_postgres']:.2f}"
            + (f"   ERRORS {r['errors']}" if r["errors"] else ""))


def run(args, stack, connections, figures):
    modules = "org,locations," + args.bench_plugin
    child, info, _ = start_wharf(stack, args.binary, modules)
    db = database(stack)
    org, key = info["organization_id"], info["api_key"]
    locations = [make_location(info, "A"), make_location(info, "B")]
    load_rows(db, org, locations, args.rows)
    stack.stop(child)
    child, info, start_seconds = start_wharf(stack, args.binary, modules)
    figures["start_seconds"] = start_seconds
    db = database(stack)
    base = info["base_url"]
    one = requests.get(f"{base}/v1/crates/crate_{1:022d}", headers={"SVC-API-KEY": key}, timeout=10)
    assert one.status_code == 200, one.text

    retrieve = lua(stack, "retrieve.lua", f"""math.randomseed(os.time())
request = function() return wrk.format("GET", string.format("/v1/crates/crate_%022d", math.random(1, {args.rows}))) end""")
    create = lua(stack, "create.lua", f"""wrk.method = "POST"; wrk.headers["Content-Type"] = "application/json"; wrk.body = '{BODY % locations[1]}'""")
    work = {"retrieve": ("/", retrieve), "list": ("/v1/crates?limit=20", None), "create": ("/v1/crates", create)}
    sql = {
        "retrieve": f"\\set n random(1, {args.rows})\nSELECT {COLUMNS} FROM bench.crate t WHERE organization_id = '{org}' AND id = 'crate_' || lpad(:n::text, 22, '0') AND deleted_at IS NULL;\n",
        "list": f"SELECT {COLUMNS} FROM bench.crate t WHERE organization_id = '{org}' AND deleted_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 21;\n",
        "create": "\\set a random(1, 999999999)\n\\set b random(1, 999999999)\n" + HISTORY.format(org=org, loc=locations[1], data=json.dumps(one.json()["data"])),
    }
    if args.operation_only:
        operation(stack, args, modules, info, work, figures)
        stack.stop(child)
        return
    for what in work:
        measure(stack, figures, what, base, key, work[what], sql[what], connections, args.seconds)
    figures["memory_mib"] = rss_mib(is_wharf)
    slow_searches(stack, figures, base, key, retrieve, args.seconds)
    peers(stack, figures, info, work, connections, args.seconds, one.content)
    report(figures, connections)
    plans(stack, db, figures, args, info, org, locations)
    db.close()
    operation(stack, args, modules, info, work, figures)
    stack.stop(child)


def operation(stack, args, modules, off, work, figures):
    """Rate limits and access log on, beside both off: two servers on one database, asked for a second each, one after the other. The ratio is the
    median of the pairs', so a machine that is slow for some seconds does not count."""
    url = f"database.url=host={socket_of(stack)} user=wharf dbname=wharf"
    child, on, _ = start_wharf(stack, args.binary, modules, [*ON, url], data="beside")
    figures["operation"] = {}
    print("\nRate limits and access log on, beside off; 64 connections")
    for what, (path, script) in work.items():
        pairs, errors = [], 0
        for turn in range(-1, args.pairs):
            rate = {}
            if turn < 0 or what == "create":
                settled(stack)
            for name, base in (("off", off["base_url"]), ("on", on["base_url"]))[::1 if turn % 2 else -1]:
                r = wrk(base + path, off["api_key"], 64, 1, script)
                rate[name], errors = r["per_second"], errors + r["errors"]
            if turn >= 0:  # the one before has warmed both
                pairs.append(rate)
        ratios = sorted(r["on"] / r["off"] for r in pairs)
        middle = {name: statistics.median(r[name] for r in pairs) for name in ("off", "on")}
        figures["operation"][what] = {**middle, "ratio": statistics.median(ratios), "errors": errors, "pairs": pairs}
        print(f"{what:<10} off {middle['off']:9.0f}/s   on {middle['on']:9.0f}/s   on / off {statistics.median(ratios):.3f}"
              f" (half of {len(ratios)} pairs {ratios[len(ratios) // 4]:.2f} to {ratios[-1 - len(ratios) // 4]:.2f})" + (f"   ERRORS {errors}" if errors else ""))
    stack.stop(child)


def measure(stack, figures, what, base, key, work, sql, connections, seconds):
    path, script = work
    figures[what] = {"wharf": {}, "pgbench": pgbench(stack, sql, seconds, (4, 8, 16, 32, 64))}
    for c in connections:
        settled(stack)
        figures[what]["wharf"][c] = wrk(base + path, key, c, seconds, script)


def slow_searches(stack, figures, base, key, retrieve, seconds):
    settled(stack)
    alone = wrk(base + "/", key, 64, seconds, retrieve)
    slow = [stack.start(["sh", "-c", f"while true; do curl -s -o /dev/null -H 'SVC-API-KEY: {key}' '{base}/v1/crates?search=zzqq{i}x&include_total_count=true&order_by=name&name[!eq]=x'; done"]) for i in range(2)]
    time.sleep(1)
    beside = wrk(base + "/", key, 64, seconds, retrieve)
    for s in slow:
        os.killpg(s.pid, signal.SIGKILL)
        s.wait()
        stack.children.remove(s)
    figures["beside_slow_searches"] = {"alone": alone, "beside": beside}


def peers(stack, figures, info, work, connections, seconds, content):
    child, url = nginx(stack, content)
    figures["nginx"] = {c: wrk(url, "x", c, seconds) for c in connections}
    stack.stop(child)
    child, url = peer(stack, info)
    for what, (path, script) in work.items():
        figures[what]["fastify"] = {c: wrk(url + path, info["api_key"], c, seconds, script) for c in connections}
    stack.stop(child)


def plans(stack, db, figures, args, info, org, locations):
    out = subprocess.run([args.binary, "key", "create", "--org", org, "--scopes", "crates:read", "--locations", locations[0],
                          "--set", f"data={stack.folder}/data"], capture_output=True, text=True, cwd=stack.folder,
                         env={**os.environ, "WHARF_DATABASE_URL": f"host={socket_of(stack)} user=wharf dbname=wharf"})
    found = re.search(r"wh_live_\w+", out.stdout)
    if not found:
        print("\nno key of one location could be made, plans are left out:\n" + out.stdout + out.stderr)
        return
    key_one = found.group(0)
    cursors = {"key of all locations": deep_cursor(db, info, info["api_key"], org, None, args.rows),
               "key of one location": deep_cursor(db, info, key_one, org, locations[0], args.rows)}
    figures["plans"] = explain(db, stack, info, org, key_one, cursors)
    print_table("plans (auto_explain on the server's own statements)",
                [f"{name:<45} {p['ms']:7.2f} ms   {' | '.join(p['plan'])}" for name, p in figures["plans"].items()])


def report(figures, connections):
    for what in ("retrieve", "list", "create"):
        f = figures[what]
        best = max(f["pgbench"].values())
        rows = ["pgbench    " + "   ".join(f"{n} clients {tps:.0f}/s" for n, tps in f["pgbench"].items())]
        for c in connections:
            rows.append(f"-- {c} connections")
            rows.append(show("wharf", f["wharf"][c]) + f"   = {f['wharf'][c]['per_second'] / best:.2f} x pgbench, "
                        f"{f['wharf'][c]['per_second'] / f['fastify'][c]['per_second']:.1f} x Fastify")
            rows.append(show("fastify", f["fastify"][c]))
        print_table(what, rows)
    print_table("nginx, a file of the same size", [show(f"{c} conn.", r) for c, r in figures["nginx"].items()])
    s = figures["beside_slow_searches"]
    print_table("retrieve at 64 connections beside two endless slow searches",
                [show("alone", s["alone"]), show("beside", s["beside"]), f"p99 {s['beside']['p99_ms'] / s['alone']['p99_ms']:.1f} x"])
    print_table("other", [f"memory of all server processes {figures['memory_mib']:.0f} MiB (proportional set size)",
                          f"start on an existing folder {figures['start_seconds']:.2f} s"])


if __name__ == "__main__":
    main()
