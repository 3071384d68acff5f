#!/usr/bin/env python3
"""What another organization's readers wait while four clients send bodies that are made to hurt (docs/performance.md).

    tests/bench/hostile.py [--seconds 60]

Two hundred bodies of different sizes, shapes, nesting and repeats, plain and gzipped, are sent over four connections as fast as
they are answered. Beside them the readers of tests/bench/others.py ask. Prints p50 and p99 alone and beside, and whether a worker
ended."""
import argparse
import gzip
import http.client
import itertools
import multiprocessing
import pathlib
import random
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "api")]
import api_folders  # noqa: E402, F401
from others import Others, tell  # noqa: E402
from test_bad_input import workers  # noqa: E402
from test_hostile_bodies import VALUES  # noqa: E402
from wharf import MODULES, Server, make_location  # noqa: E402

PATHS = ["/v1/shipments", "/v1/locations", "/v1/contacts", "/v1/trackers", "/v1/api_keys", "/v1/print_stations", "/v1/webhooks", "/v1/batches"]
FIELDS = ["nobody_knows_this", "tags", "groups", "ip_allowlist", "metadata", "name", "scopes", "data"]


def bodies():
    """200 requests: path, headers, body."""
    rng = random.Random(7)
    made = []
    for i, name in zip(range(200), itertools.cycle(VALUES)):
        size = rng.choice([1 << 12, 1 << 16, 1 << 18, 1 << 20, 2_000_000])
        text = f'{{"{rng.choice(FIELDS)}":{VALUES[name](size)}}}'.encode()
        headers = {"Content-Type": "application/json", "Prefer": rng.choice(["handling=strict", "handling=lenient"])}
        if i % 3:
            text, headers["Content-Encoding"] = gzip.compress(text, 1), "gzip"
        made.append((rng.choice(PATHS), headers, text))
    return made


def send(base, key, number, until, counts):
    made = bodies()[number::4]
    c = http.client.HTTPConnection(base[7:], timeout=60)
    for n in itertools.count():
        if time.monotonic() > until:
            break
        path, headers, text = made[n % len(made)]
        try:
            c.request("POST", path, text, {**headers, "SVC-API-KEY": key})
            status = c.getresponse()
            status.read()
            counts[number] += 1
        except (OSError, http.client.HTTPException):
            c.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=int, default=60)
    seconds = p.parse_args().seconds
    off = [f"rate_limit.{name}=0" for name in ("key", "write", "organization", "concurrency")]
    server = Server("--modules", MODULES, *(a for o in off for a in ("--set", o)))
    try:
        victim, attacker = server.organization().client(), server.organization().client()
        ids = [make_location(victim, f"L{i}")["id"] for i in range(20)]
        with tempfile.TemporaryDirectory() as folder:
            others = Others(server, victim.key, "/v1/locations", "name", ids, pathlib.Path(folder))
            others.ask(3)
            idle = others.ask(max(10, seconds // 4))
            before = workers(server)
            counts = multiprocessing.Array("q", 4)
            until = time.monotonic() + seconds
            senders = [multiprocessing.Process(target=send, args=(server.base, attacker.key, i, until, counts)) for i in range(4)]
            for s in senders:
                s.start()
            busy = others.ask(seconds - 1)
            for s in senders:
                s.join()
            tell(idle, busy)
            print(f"{sum(counts)} hostile requests in {seconds} s; workers {'as before' if workers(server) == before else 'ENDED'}")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
