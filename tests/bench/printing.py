#!/usr/bin/python3
"""How fast a label becomes paper, and what waiting stations cost. Prints figures; asserts nothing (docs/performance.md has a run).

  tests/bench/printing.py [--labels N] [--stations N] [--signals N]     BUILD names the build folder

1. labels: POST, the moment at which the printer has made its IPP job, and the moment at which the paper is out.
2. stations: memory of the server's processes before and while so many stations hold their streams, and the time from a POST's begin to
   the frame at its station.
"""
import argparse
import pathlib
import re
import resource
import socket
import statistics
import sys
import time
from urllib.parse import urlparse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "api"), str(ROOT / "tests" / "printing")]
from documents import b64, pdf  # noqa: E402
from rig import Agent, Bus, Ippeve, wait_until  # noqa: E402
from wharf import BUILD, STATIONS, Client, Server, make_location, printer, station_body  # noqa: E402

JOBS = "/v1/cloud-printing/jobs"


def quantiles(values):
    v = sorted(values)
    return f"p50 {1000 * statistics.median(v):.1f} ms, p95 {1000 * v[int(len(v) * 0.95)]:.1f} ms, p99 {1000 * v[int(len(v) * 0.99)]:.1f} ms, most {1000 * v[-1]:.1f} ms"


def labels(n):
    s, bus = Server("--modules", "org,locations,stations"), Bus()
    shop = Ippeve(bus)
    client = s.organization().client()
    location = make_location(client)
    agent = Agent(BUILD / "station" / "wharf-station", s, client, location, {"P": shop}).start()
    try:
        wait_until(lambda: "connected" in agent.said())
        posts, jobs, papers = [], [], []
        log = shop.folder / "log"
        for i in range(n + 5):
            begin = time.monotonic()
            client.post(JOBS, {"location_id": location["id"], "data": b64(pdf())}, expect=201)
            posted = time.monotonic()
            wait_until(lambda: log.read_bytes().count(b"Create-Job successful-ok") > i, every=0.001)
            made = time.monotonic()
            wait_until(lambda: len(shop.papers()) > i, every=0.002)
            if i >= 5:  # the first ones warm up
                posts.append(posted - begin)
                jobs.append(made - begin)
                papers.append(time.monotonic() - begin)
        print(f"{n} labels of 4 by 6 inches, one after the other")
        print("  POST answered             ", quantiles(posts))
        print("  POST to IPP job created   ", quantiles(jobs))
        print("  POST to paper             ", quantiles(papers))
    finally:
        agent.end()
        shop.stop()
        bus.stop()
        s.stop()


def memory_kib(pid):
    """Of the supervisor and all below it but PostgreSQL and the cells: resident, not shared with others."""
    parents = {}
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(p.name)] = int((p / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    mine = {pid}
    while True:
        more = {p for p, parent in parents.items() if parent in mine} - mine
        if not more:
            break
        mine |= more
    total = 0
    for p in mine:
        try:
            if pathlib.Path(f"/proc/{p}/cmdline").read_bytes().split(b"\0")[0].endswith(b"wharf"):
                total += int(re.search(r"Rss:\s+(\d+)", pathlib.Path(f"/proc/{p}/smaps_rollup").read_text()).group(1))
        except OSError:
            pass
    return total


def stations(n, signals):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, n + 500) if hard > 0 else n + 500, hard))
    s = Server("--modules", "org,locations,stations", "--set", "workers=2")
    try:
        client = s.organization().client()
        location = make_location(client)
        at = urlparse(s.base)
        rows, sockets = [], {}
        for i in range(n):
            st = client.post(STATIONS, station_body(location["id"], f"S{i}", printers=[printer()]), expect=201).data
            session = client.post(f"{STATIONS}/{st['id']}/sessions", {}, expect=201).data["session_id"]
            rows.append((st["id"], session))
        print(f"{n} stations made")
        time.sleep(2)
        before = memory_kib(s.process.pid)
        for id, session in rows:
            c = socket.create_connection((at.hostname, at.port))
            c.sendall(f"GET {STATIONS}/{id}/stream?session_id={session} HTTP/1.1\r\nHost: {at.netloc}\r\nSVC-API-KEY: {client.key}\r\n"
                      "Accept: text/event-stream\r\n\r\n".encode())
            while b"event: hello" not in c.recv(4096):
                pass
            sockets[id] = c
        time.sleep(2)
        during = memory_kib(s.process.pid)
        print(f"  memory of the server's processes: {before / 1024:.1f} MiB, with {n} streams {during / 1024:.1f} MiB: {(during - before) / 1024:.1f} MiB more, "
              f"{(during - before) / n:.1f} KiB each")
        body = {"data": b64(pdf())}
        times, from_answer, other = [], [], Client(s, client.key)
        for i in range(signals):
            id = rows[i * 7919 % n][0]
            begin = time.monotonic()
            other.post(JOBS, {**body, "print_station_id": id}, expect=201)
            answered = time.monotonic()
            got = b""
            while b"print_job.available" not in got:
                got += sockets[id].recv(65536)
            times.append(time.monotonic() - begin)
            from_answer.append(time.monotonic() - answered)
        print(f"  a job reaches its station, from the begin of its POST, {signals} times: {quantiles(times)}")
        print(f"                             from the answer of its POST:      {quantiles(from_answer)}")
    finally:
        s.stop()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--labels", type=int, default=200)
    p.add_argument("--stations", type=int, default=2000)
    p.add_argument("--signals", type=int, default=300)
    o = p.parse_args()
    if o.labels:
        labels(o.labels)
    if o.stations:
        stations(o.stations, o.signals)


main()
