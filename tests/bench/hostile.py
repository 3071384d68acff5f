#!/usr/bin/python3
"""What another organization's readers wait while four clients send bodies that are made to hurt (docs/performance.md).

    tests/bench/hostile.py [--seconds 60]

Two hundred bodies of different sizes, shapes, nesting and repeats, plain and gzipped, are sent over four connections as fast as
they are answered. Beside them the readers of tests/bench/others.py ask. Prints p50 and p99 alone and beside, and whether a worker
ended."""
import argparse
import collections
import concurrent.futures
import contextlib
import gzip
import http.client
import itertools
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


def send(base, key, made, until):
    """Sends the requests of `made` in turns, each when the one before was answered: how often each status came, and "lost" where no answer did."""
    c, counts = http.client.HTTPConnection(base[7:], timeout=60), collections.Counter()
    for path, headers, body in itertools.cycle(made):
        if time.monotonic() > until:
            return counts
        try:
            c.request("POST", path, body, {**headers, "SVC-API-KEY": key})
            answer = c.getresponse()
            answer.read()
            counts[answer.status] += 1
        except (OSError, http.client.HTTPException):
            counts["lost"] += 1
            c.close()


def measure(server, others, made, senders, seconds, name="hostile"):
    """Prints what others wait alone, and while so many clients of another organization send the requests of `made`. Returns the ratio of their p99."""
    key = server.organization().key()
    others.ask(3)
    idle = others.ask(max(10, seconds // 4))
    before = workers(server)
    with concurrent.futures.ProcessPoolExecutor(senders) as pool:
        until = time.monotonic() + seconds
        sent = [pool.submit(send, server.base, key, made[i::senders], until) for i in range(senders)]
        busy = others.ask(seconds - 1)
        counts = sum((s.result() for s in sent), collections.Counter())
    ratio = tell(idle, busy)
    statuses = ", ".join(f"{n} of {status}" for status, n in sorted(counts.items(), key=str))
    print(f"{sum(counts.values())} {name} requests in {seconds} s ({statuses}); workers {'as before' if workers(server) == before else 'ENDED'}")
    return ratio


@contextlib.contextmanager
def unlimited():
    """A server of all modules that asks for no patience of its clients."""
    off = [f"rate_limit.{name}=0" for name in ("key", "write", "organization", "concurrency")]
    server = Server("--modules", MODULES, *(a for o in off for a in ("--set", o)))
    try:
        yield server
    finally:
        server.stop()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=int, default=60)
    seconds = p.parse_args().seconds
    with unlimited() as server, tempfile.TemporaryDirectory() as folder:
        victim = server.organization().client()
        ids = [make_location(victim, f"L{i}")["id"] for i in range(20)]
        measure(server, Others(server, victim.key, "/v1/locations", "name", ids, pathlib.Path(folder)), bodies(), 4, seconds)


if __name__ == "__main__":
    main()
