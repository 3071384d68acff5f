#!/usr/bin/python3
"""Jobs per second, and what idle servers cost. Prints figures; asserts nothing (docs/performance.md has a run).

  tests/bench/jobs.py [--jobs N] [--threads N] [--waiting N]     BUILD names the build folder
"""
import argparse
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from wharf import BUILD, Server  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")
INSERT = ("INSERT INTO wharf.job (organization_id, queue, lane, key, state, run_at, args, created_at)"
          " SELECT %s, %s, %s, CASE WHEN %s > 0 THEN 'k' || i %% GREATEST(%s, 1) ELSE '' END, 'ready', wharf.now(),"
          " json_build_object('value', i), wharf.now() FROM generate_series(1, %s) i")


def parents():
    found = {}
    for p in pathlib.Path("/proc").iterdir():
        if p.name.isdigit():
            try:
                f = (p / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            found[int(p.name)] = (int(f[1]), int(f[11]) + int(f[12]) + int(f[13]) + int(f[14]))
    return found


def cpu_seconds(root):
    """Of a process and all below it, reaped children included."""
    table = parents()

    def below(pid):
        while pid in table and pid != root:
            pid = table[pid][0]
        return pid == root
    return sum(ticks for pid, (_, ticks) in table.items() if below(pid)) / TICK


def wait_empty(server, organizations, goal=0):
    while server.sql("SELECT count(*) FROM (SELECT 1 FROM wharf.job WHERE organization_id = ANY(%s) LIMIT %s) x", organizations, goal + 1)[0][0] > goal:
        time.sleep(0.05)


def drain(server, org, what, job, n, keys=0):
    before, begun = cpu_seconds(server.process.pid), time.monotonic()
    name = f"jobbench.{job}"
    server.sql(INSERT, org.id, name, name, keys, keys, n)
    inserted = time.monotonic()
    server.sql("NOTIFY wharf_job")
    wait_empty(server, [org.id])
    seconds = time.monotonic() - inserted
    print(f"{what:50s} {n / seconds:8.0f}/s   {(cpu_seconds(server.process.pid) - before) / n * 1e6:5.0f} us of CPU per job, database included"
          f"  (enqueued in {inserted - begun:.1f} s)", flush=True)


def idle(servers, seconds=20):
    time.sleep(3)
    before = [cpu_seconds(s.process.pid) for s in servers]
    time.sleep(seconds)
    return [(cpu_seconds(s.process.pid) - b) / seconds * 100 for s, b in zip(servers, before)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jobs", type=int, default=100_000)
    p.add_argument("--threads", default="4")
    p.add_argument("--waiting", type=int, default=1_000_000)
    o = p.parse_args()
    args = ["--modules", f"org,{BUILD}/tests/plugins/jobbench.so", "--set", f"jobs.threads={o.threads}"]
    first = Server(*args)
    second = None
    try:
        org = first.organization()
        drain(first, org, "trivial jobs, unordered", "trivial", o.jobs)
        drain(first, org, "trivial jobs over 1,000 ordered keys", "trivial", o.jobs, 1000)
        drain(first, org, "jobs with a transaction (one insert), unordered", "count", o.jobs // 4)
        drain(first, org, "the same over 1,000 ordered keys", "count", o.jobs // 4, 1000)
        crowd = first.organization("Crowd")
        first.sql(INSERT.replace("'ready'", "'delayed'").replace("wharf.now(),", "wharf.now() + interval '1 day',", 1),
                  crowd.id, "jobbench.trivial", "jobbench.trivial", 0, 0, o.waiting // 2)
        first.sql(INSERT, crowd.id, "elsewhere.unknown", "elsewhere.unknown", 1000, 1000, o.waiting // 2)
        drain(first, org, f"trivial, beside {o.waiting} others that wait", "trivial", o.jobs)
        first.sql("TRUNCATE wharf.job")  # or the vacuum of a million dead rows would be counted as idling
        second = Server(*args, beside=first)
        costs = idle([first, second])
        print(f"idle CPU, in % of one core: {costs[0]:.2f} (with PostgreSQL of both), {costs[1]:.2f}")
    finally:
        if second:
            second.stop()
        first.stop()


if __name__ == "__main__":
    main()
