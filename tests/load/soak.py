#!/usr/bin/python3
"""An hour of moderate mixed load beside idle and slow connections: does memory stay flat, do descriptors come back?

  tests/load/soak.py [--minutes N] [--rate N] [--idle N] [--out FILE.json]

Reads, filtered lists, creates (with and without Idempotency-Key), updates, deletes, refused bodies and bad keys, in turns, at --rate per
second in all. Prints memory (RSS of the server's processes) and descriptors along the way. Fails when a request is answered unexpectedly, or
when memory at the end is more than a tenth (and 4 MiB) above what it was after the first sixth. By hand, not in ./test.
"""
import argparse
import http.client
import itertools
import json
import multiprocessing
import pathlib
import sys
import threading
import time
from urllib.parse import urlparse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from idle import Company, raise_limit, settle, usage  # noqa: E402
from wharf import WAIT, Server, address, make_location  # noqa: E402

THREADS = 8


class Mixed(threading.Thread):
    """One client with one connection; its rows are its own."""

    def __init__(self, place, key, number, rate, stop):
        super().__init__(daemon=True)
        self.place, self.key, self.number, self.pause, self.stop = place, key, number, THREADS / rate, stop
        self.done, self.odd, self.worst = 0, [], 0.0
        self.http = http.client.HTTPConnection(*place, timeout=WAIT)

    def ask(self, expect, method, path, body=None, **headers):
        begun = time.monotonic()
        self.http.request(method, path, None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode(),
                          {"SVC-API-KEY": self.key, "Content-Type": "application/json", **headers})
        r = self.http.getresponse()
        text = r.read()
        self.worst = max(self.worst, time.monotonic() - begun)
        if r.status != expect:
            self.odd.append((method, path, r.status, text[:200].decode(errors="replace")))
        self.done += 1
        self.stop.wait(max(0.0, self.pause - (time.monotonic() - begun)))
        return json.loads(text)["data"] if text and text[:1] == b"{" else None

    def run(self):
        for n in itertools.count():
            if self.stop.is_set():
                return
            code = f"S{self.number}-{n}"
            row = self.ask(201, "POST", "/v1/locations", {"name": f"Soak {code}", "code": code, "address": address()},
                           **({"Idempotency-Key": f"soak-{code}"} if n % 2 else {}))
            where = "/v1/locations/" + row["id"]
            self.ask(200, "GET", where)
            self.ask(200, "POST", where, {"name": f"Soaked {code}", "metadata": {"round": str(n)}})
            self.ask(200, "GET", f"/v1/locations?limit=20&code={code}")
            self.ask(200, "GET", "/v1/locations?limit=20&search=soak&order_by=updated_at")
            self.ask(400, "POST", "/v1/locations", b'{"name": [1,')
            self.ask(400, "POST", "/v1/locations", {"name": "x" * 500})
            self.ask(404, "GET", "/v1/locations/loc_none")
            self.ask(200, "GET", f"/v1/logs?resource_id={row['id']}")
            self.ask(200, "DELETE", where)


def clients(place, key, rate, stop, done, results):
    """A process of its own: who keeps thousands of connections alive must not wait for who is busy."""
    mixed = [Mixed(place, key, i, rate, stop) for i in range(THREADS)]
    for m in mixed:
        m.start()
    while not stop.wait(0.5):
        done.value = sum(m.done for m in mixed)
    for m in mixed:
        m.join(WAIT)
    results.put((max(m.worst for m in mixed), [o for m in mixed for o in m.odd]))


def soak(server, args):
    client = server.organization().client()
    url, pid = urlparse(server.base), server.process.pid
    place, path = (url.hostname, url.port), "/v1/locations/" + make_location(client)["id"]
    stop, done, results = multiprocessing.Event(), multiprocessing.Value("q", 0), multiprocessing.Queue()
    busy = multiprocessing.Process(target=clients, args=(place, client.key, args.rate, stop, done, results), daemon=True)
    busy.start()
    time.sleep(5)  # every connection to the database is there
    before = usage(pid)
    company = Company(place, client.key, path, args.idle)
    begun, samples = time.monotonic(), []
    while time.monotonic() - begun < args.minutes * 60:
        time.sleep(args.minutes * 60 / 60)
        rss, fds = usage(pid)
        samples.append({"minute": round((time.monotonic() - begun) / 60, 1), "mib": round(rss / 1024, 1), "descriptors": fds, "requests": done.value})
        if len(samples) % 5 == 0:
            print("minute {minute:5}  {mib:7} MiB  {descriptors:6} descriptors  {requests:8} requests".format(**samples[-1]), flush=True)
    stop.set()
    worst, odd = results.get(timeout=WAIT)
    company.leave()
    after = settle(pid, before[1])
    return {"before_mib": round(before[0] / 1024, 1), "samples": samples, "after_mib": round(after[0] / 1024, 1), "dropped": company.dropped,
            "descriptors": [before[1], after[1]], "worst_s": worst, "odd": odd}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=int, default=150)
    parser.add_argument("--idle", type=int, default=5000)
    parser.add_argument("--out")
    args = parser.parse_args()
    raise_limit(4 * args.idle)
    server = Server("--set", "http.header_timeout=2000")
    try:
        r = soak(server, args)
    finally:
        server.stop()
    early = max(s["mib"] for s in r["samples"][:10])
    late = max(s["mib"] for s in r["samples"][-10:])
    print(f"memory {r['before_mib']} MiB before, at most {early} in the first sixth, at most {late} in the last, {r['after_mib']} afterwards; longest answer {r['worst_s']:.2f} s")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(r, indent=1))
    found = [f"unexpected: {o}" for o in r["odd"][:5]] + ([f"{r['dropped']} idle connections were dropped"] if r["dropped"] else [])
    if late > early * 1.1 + 4:
        found.append("memory grows")
    if r["descriptors"][1] > r["descriptors"][0] + 16:
        found.append(f"descriptors: {r['descriptors']}")
    print("\n".join(found) if found else "flat")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
