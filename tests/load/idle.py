#!/usr/bin/python3
"""5,000 idle keep-alive connections beside 64 busy ones, slow readers, slow writers and half-open connections.

  tests/load/idle.py [--seconds N] [--idle N] [--long] [--out FILE.json]

Prints the p99 of the busy ones alone and in that company, memory (RSS of the server's processes) and descriptors before, during and after.
Fails when an idle connection was dropped, a request of the busy ones failed, memory or descriptors do not come back. Speed is printed and
not judged: on a shared machine it says little. --long: one hour.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlparse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from wharf import WAIT, Server, make_location  # noqa: E402

BUSY, SLOW, PING_S = 64, 64, 20  # an idle connection is closed by the server after 60 s
PER_CONNECTION_KB = 128  # memory that a connection may cost: 56 KiB of libmicrohttpd, its buffers, our own
LEFT_KB = 32 * 1024  # what allocators of all processes may keep afterwards


def raise_limit(n):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < n:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(n, hard), hard))


def processes(pid):
    """The supervisor and its workers; not PostgreSQL."""
    found = [pid]
    for p in pathlib.Path("/proc").iterdir():
        try:
            if p.name.isdigit() and int((p / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid and b"_worker" in (p / "cmdline").read_bytes():
                found.append(int(p.name))
        except OSError:
            continue
    return found


def usage(pid):
    rss = fds = 0
    for p in processes(pid):
        rss += int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{p}/status").read_text()).group(1))
        fds += len(os.listdir(f"/proc/{p}/fd"))
    return rss, fds


def to_ms(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60000}[unit]


def busy(url, key, seconds):
    out = subprocess.run(["wrk", "-t1", f"-c{BUSY}", f"-d{seconds}s", "--latency", "-H", f"SVC-API-KEY: {key}", url], capture_output=True, text=True, check=True).stdout
    odd = re.search(r"(Non-2xx.*|Socket errors.*)", out)
    return {"p50_ms": to_ms(re.search(r"^ +50% +(\S+)", out, re.M).group(1)), "p99_ms": to_ms(re.search(r"^ +99% +(\S+)", out, re.M).group(1)),
            "per_second": float(re.search(r"Requests/sec:\s+(\S+)", out).group(1)), "odd": odd.group(1) if odd else ""}


class Company:
    """Everybody who holds a connection and does little with it."""

    def __init__(self, place, key, path, n_idle):
        self.place, self.stop = place, threading.Event()
        self.ask = f"GET {path} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {key}\r\n\r\n".encode()
        self.idle, self.dropped = [], 0
        for _ in range(n_idle):  # each asks at once: who says nothing is closed after the limit for headers
            self.idle.append(self.connect())
            self.dropped += not self.answered(self.idle[-1])
        self.slow = [threading.Thread(target=self.keep, args=(f, key), daemon=True) for f in (self.reader, self.writer, self.half_headers, self.silent) for _ in range(SLOW // 4)]
        self.slow.append(threading.Thread(target=self.ping, daemon=True))
        for t in self.slow:
            t.start()

    def connect(self, **options):
        s = socket.socket()
        if options.get("small"):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(WAIT)
        s.connect(self.place)
        return s

    def answered(self, s):
        try:
            s.sendall(self.ask)
            return s.recv(65536).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def ping(self):
        while not self.stop.wait(PING_S):
            self.dropped += sum(not self.answered(s) for s in self.idle)

    def keep(self, what, key):
        while not self.stop.is_set():
            try:
                with self.connect(small=what == self.reader) as s:
                    what(s, key)
            except OSError:
                self.stop.wait(0.1)

    def reader(self, s, key):
        s.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 4)
        while not self.stop.wait(0.2) and s.recv(64):
            pass

    def writer(self, s, key):
        s.sendall(f"POST /v1/locations HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {key}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n".encode())
        while not self.stop.wait(0.2):
            s.sendall(b" ")

    def half_headers(self, s, key):
        s.sendall(b"GET /v1/locations HTTP/1.1\r\nHost: x\r\n")
        while not self.stop.wait(0.2) and s.send(b"X"):
            pass

    def silent(self, s, key):
        while not self.stop.wait(0.5):
            s.setblocking(False)
            try:
                if not s.recv(100):
                    return
            except BlockingIOError:
                continue

    def leave(self):
        self.stop.set()
        for t in self.slow:
            t.join(WAIT)
        self.dropped += sum(not self.answered(s) for s in self.idle)
        for s in self.idle:
            s.close()


def settle(pid, fds, seconds=WAIT):
    """Until the server noticed who left."""
    end = time.monotonic() + seconds
    while usage(pid)[1] > fds + 16 and time.monotonic() < end:
        time.sleep(0.2)
    return usage(pid)


def measure(server, args):
    client = server.organization().client()
    path = "/v1/locations/" + make_location(client)["id"]
    url, pid, u = server.base + path, server.process.pid, urlparse(server.base)
    busy(url, client.key, 2)  # warm
    result = {"idle": args.idle, "seconds": args.seconds, "before": usage(pid), "alone": busy(url, client.key, args.seconds)}
    result["alone_usage"] = usage(pid)
    company = Company((u.hostname, u.port), client.key, path, args.idle)
    time.sleep(2)
    result["in_company"] = busy(url, client.key, args.seconds)
    result["during"] = usage(pid)
    company.leave()
    result["after"] = settle(pid, result["alone_usage"][1])
    result["dropped"] = company.dropped
    result["ratio_p99"] = result["in_company"]["p99_ms"] / result["alone"]["p99_ms"]
    return result


def faults(r):
    before, during, after = r["alone_usage"], r["during"], r["after"]
    allowed = LEFT_KB + PER_CONNECTION_KB * (r["idle"] + SLOW)
    found = [f"{r['dropped']} idle connections were dropped"] if r["dropped"] else []
    found += [f"busy, {when}: {r[when]['odd']}" for when in ("alone", "in_company") if r[when]["odd"]]
    if during[1] < before[1] + r["idle"]:
        found.append(f"{during[1] - before[1]} more descriptors with {r['idle']} connections: they were not all there")
    if during[0] > before[0] + allowed:
        found.append(f"{during[0] - before[0]} KB for {r['idle']} connections, more than {allowed}")
    if after[1] > before[1] + 16:
        found.append(f"{after[1] - before[1]} descriptors were not closed")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--idle", type=int, default=5000)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--out")
    args = parser.parse_args()
    args.seconds = 3600 if args.long else args.seconds
    raise_limit(4 * args.idle)
    server = Server("--set", "http.header_timeout=2000", "--set", "log.access=")
    try:
        r = measure(server, args)
    finally:
        server.stop()
    for name in ("alone", "in_company"):
        print(f"{name:11} p50 {r[name]['p50_ms']:8.2f} ms   p99 {r[name]['p99_ms']:8.2f} ms   {r[name]['per_second']:9.0f}/s")
    print(f"p99 in company / alone: {r['ratio_p99']:.2f}")
    for name in ("before", "alone_usage", "during", "after"):
        print(f"{name:11} {r[name][0] / 1024:8.1f} MiB {r[name][1]:7} descriptors")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(r, indent=1))
    found = faults(r)
    print("\n".join(found) if found else f"{args.idle} idle connections held, nothing leaked")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
