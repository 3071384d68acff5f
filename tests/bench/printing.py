#!/usr/bin/python3
"""How fast a label becomes paper, and what waiting stations cost. Prints figures; asserts nothing (docs/performance.md has a run).

  tests/bench/printing.py [--labels N] [--stations N] [--signals N]     BUILD names the build folder

1. labels: POST, the moment at which the printer has made its IPP job, and the moment at which the paper is out.
2. stations: memory of the server's processes before and while so many stations hold their streams, then with as many long polls (claims that
   wait), and the time from a POST's begin to its station: the frame, or the claimed job.
"""
import argparse
import json
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
import api_folders  # noqa: E402, F401
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


def quiet_memory_kib(pid):
    """The same, once what was done before is over: events processed, memory given back."""
    seen = [memory_kib(pid)]
    while len(seen) < 60 and (len(seen) < 5 or max(seen[-5:]) - min(seen[-5:]) > 512):
        time.sleep(1)
        seen.append(memory_kib(pid))
    return seen[-1]


class Waiting:
    """A station that waits, on a connection of its own."""

    def __init__(self, at, key, id, session):
        self.id, self.c = id, socket.create_connection((at.hostname, at.port))
        self.head = f"{{}} HTTP/1.1\r\nHost: {at.netloc}\r\nSVC-API-KEY: {key}\r\n"
        self.session = session

    def until(self, what):
        got = b""
        while what not in got:
            more = self.c.recv(65536)
            assert more, "the server hung up"
            got += more
        return got


class Stream(Waiting):
    name, signal = "streams", b"print_job.available"

    def wait(self):
        self.c.sendall((self.head.format(f"GET {STATIONS}/{self.id}/stream?session_id={self.session}") + "Accept: text/event-stream\r\n\r\n").encode())
        self.until(b"event: hello")

class Claim(Waiting):
    """A long poll: the second request of its connection, as an application sends one after the other."""
    name, signal = "parked claims", b'"document_url"'

    def send(self, wait):
        body = json.dumps({"session_id": self.session, "wait": wait})
        self.c.sendall((self.head.format(f"POST {STATIONS}/{self.id}/claim") + f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())

    def wait(self):
        self.send(0)
        self.until(b'"jobs":[]')
        self.send(55)


def stations(kind, n, signals):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, n + 500) if hard > 0 else n + 500, hard))
    s = Server("--modules", "org,locations,stations", "--set", "workers=2")
    try:
        client = s.organization().client()
        location = make_location(client)
        at = urlparse(s.base)
        waiting = []
        for i in range(n):
            st = client.post(STATIONS, station_body(location["id"], f"S{i}", printers=[printer()]), expect=201).data
            waiting.append((st["id"], client.post(f"{STATIONS}/{st['id']}/sessions", {}, expect=201).data["session_id"]))
        before = quiet_memory_kib(s.process.pid)
        waiting = [kind(at, client.key, *w) for w in waiting]
        for w in waiting:
            w.wait()
        during = quiet_memory_kib(s.process.pid)
        print(f"{n} stations that wait, {kind.name}")
        print(f"  memory of the server's processes: {before / 1024:.1f} MiB, and {(during - before) / 1024:.1f} MiB more for {n} {kind.name}, "
              f"{(during - before) / n:.1f} KiB each")
        body = {"data": b64(pdf())}
        times, from_answer, other = [], [], Client(s, client.key)
        for i in range(signals):
            w = waiting[i * 7919 % n]
            begin = time.monotonic()
            other.post(JOBS, {**body, "print_station_id": w.id}, expect=201)
            answered = time.monotonic()
            w.until(w.signal)
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
        stations(Stream, o.stations, o.signals)
        stations(Claim, o.stations, o.signals)


main()
