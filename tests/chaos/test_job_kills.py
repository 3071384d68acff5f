"""Ordered jobs on two servers with one database, while their job workers and PostgreSQL are killed: each effect once, each key in
order, none starved.

The short form runs in ./test; the long one by hand: pytest tests/chaos/test_job_kills.py --long -s. docs/performance.md has its figures.
"""
import os
import random
import re
import signal
import threading
import time

import psycopg2
import requests

from test_chaos import BUILD, WAIT, Server, postmaster, workers

SETTINGS = ("--modules", f"org,{BUILD}/tests/plugins/jobbench.so", "--set", "rate_limit.key=0", "--set", "rate_limit.write=0")
HANG = 900
PER_REQUEST = 500


def enqueue(servers, key, jobs, keys, problems):
    """value v for key v % keys, in order; a request that fails is sent again: its transaction did not happen, or it would have been
    acknowledged (these servers' web workers are not killed; PostgreSQL may be, and then the answer tells)."""
    http = requests.Session()
    for n, start in enumerate(range(0, jobs, PER_REQUEST)):
        body = {"job": "count", "times": PER_REQUEST, "from": start, "keys": keys}
        while True:
            r = http.post(servers[n % 2].base + "/v1/jobbench/enqueue", json=body, headers={"SVC-API-KEY": key}, timeout=WAIT)
            if r.status_code == 200:
                break
            if r.status_code != 503:
                problems.append(r.text)
                return
            time.sleep(0.1)


def rows(server, text, *args):
    """None while the database is away."""
    try:
        return server.sql(text, *args)
    except (psycopg2.Error, OSError, IndexError):  # no answer, or no postmaster.pid while it starts again
        server._db = None
        return None


def kill(servers, rng, database_too):
    if database_too:
        os.kill(postmaster(servers[0]), signal.SIGKILL)
        return "postgres"
    found = [pid for s in servers for pid in workers(s, "job")]
    if not workers:
        return None
    how = signal.SIGTERM if rng.random() < 0.25 else signal.SIGKILL
    os.kill(rng.choice(found), how)
    return how.name


def check(server, org, jobs, keys):
    effects = server.sql("SELECT key, value FROM jobbench.effect WHERE organization_id = %s ORDER BY n", org.id)
    values = [v for _, v in effects]
    assert len(values) == jobs and len(set(values)) == jobs, (len(values), len(set(values)), jobs)
    last, half, seen = {}, {}, 0
    for key, value in effects:
        assert value > last.get(key, 0), f"{key}: {value} after {last[key]}"
        last[key] = value
        seen += 1
        if seen <= jobs // 2:
            half[key] = half.get(key, 0) + 1
    assert len(last) == keys
    fewest = min(half.get(f"k{i}", 0) for i in range(keys))
    assert fewest >= jobs // keys // 8, f"when half was done, one key had {fewest} of {jobs // keys} done"
    assert server.sql("SELECT count(*) FROM wharf.job_past WHERE organization_id = %s", org.id) == [(0,)]
    return fewest


def test_jobs_under_kills(request):
    long = request.config.getoption("--long")
    jobs, keys, kills = (100_000, 1000, 30) if long else (8000, 200, 6)
    rng = random.Random(4)
    first = Server(*SETTINGS)
    second = Server(*SETTINGS, beside=first)
    servers, problems, done = [first, second], [], []
    try:
        org = first.organization("Storm")
        begun = time.monotonic()
        writer = threading.Thread(target=enqueue, args=(servers, org.key(), jobs, keys, problems))
        writer.start()
        while True:
            left = rows(first, "SELECT count(*) FROM wharf.job WHERE organization_id = %s", org.id)
            assert time.monotonic() - begun < HANG, f"{left} jobs are left"
            count = rows(first, "SELECT count(*) FROM jobbench.effect WHERE organization_id = %s", org.id)
            if count and len(done) < kills and count[0][0] >= jobs * (len(done) + 1) // (kills + 2):
                what = kill(servers, rng, long and len(done) in (10, 20))
                done += [what] if what else []
            if left == [(0,)] and not writer.is_alive():
                break
            time.sleep(0.05)
        seconds = time.monotonic() - begun
        assert not problems, problems
        assert len(done) == kills, done
        fewest = check(first, org, jobs, keys)
        print(f"\n{jobs} jobs over {keys} keys on two servers in {seconds:.0f} s, {len(done)} kills"
              f" ({', '.join(f'{done.count(k)} {k}' for k in sorted(set(done)))}): each effect once and in order;"
              f" when half was done each key had at least {fewest} of {jobs // keys} done")
    finally:
        second.stop()
        first.stop()


def other_postmaster(server, dead):
    """What it left, sessions and the file with its number, lives for a moment."""
    try:
        return postmaster(server) != dead
    except (FileNotFoundError, ValueError):
        return False


def test_workers_that_start_while_the_database_dies(request):
    """Whatever of its start a worker was at: it is no fault of its settings, so another one is started."""
    steps = 60 if request.config.getoption("--long") else 15
    server = Server("--modules", "org,locations,events")
    try:
        for i in range(steps):
            end = time.monotonic() + WAIT
            before = workers(server, "job")
            os.kill(before[0], signal.SIGKILL)
            time.sleep(0.36 * i / steps)
            dead = postmaster(server)
            os.kill(dead, signal.SIGKILL)
            while True:
                now = [p for p in workers(server, "job") if p not in before]
                if now and other_postmaster(server, dead) and rows(server, "SELECT 1") and any(re.match(rf"job 0 +{now[0]} ready", line) for line in server.command("ps").splitlines()):
                    break
                assert time.monotonic() < end, server.command("ps")
                time.sleep(0.05)
    finally:
        server.stop()
