"""A batch of a file while its job worker and PostgreSQL are killed at random moments: every item once, one event each, counters right; a worker that
sleeps past its lease writes nothing; an item that crashes the worker is left out alone.

The short form runs in ./test; the long one by hand: pytest tests/chaos/test_batch_kills.py --long -s. docs/performance.md has its figures.
"""
import base64
import os
import random
import signal
import time

import requests

from test_chaos import BUILD, WAIT, Server, postmaster, workers
from test_job_kills import rows

SETTINGS = ("--modules", "org,locations,contacts,reasons,events,batches", "--set", "rate_limit.key=0", "--set", "rate_limit.write=0")
HANG = 600


def ask(server, key, method, path, body=None):
    """Until the server can answer: it may be without its database."""
    begun, told = time.monotonic(), []
    while True:
        try:
            r = requests.request(method, server.base + path, json=body, headers={"SVC-API-KEY": key}, timeout=WAIT)
            if r.status_code < 500:
                assert r.status_code < 300, r.text
                return r.json()["data"]
            told.append((time.monotonic() - begun, r.status_code))
        except requests.RequestException as e:
            told.append((time.monotonic() - begun, str(e)))
        assert time.monotonic() - begun < 180, f"{method} {path} is not answered: {told[:3]} … {told[-3:]}\n{server.condition()}"
        time.sleep(0.05)


def file_of(n):
    """Every tenth row is wrong; each good one creates a contact."""
    text = "name,email,external_id\n" + "".join(f"Row {i},r{i}@b.example,x{i}\n" if i % 10 else f"Row {i},bad{i},x{i}\n" for i in range(n))
    return "data:text/csv;base64," + base64.b64encode(text.encode()).decode()


def start(server, key, data, **more):
    return ask(server, key, "POST", "/v1/batches", {"resource": "contact", "action": "merge", "mode": "async", "data": data, **more})["id"]


def settled(server, key, id, between=lambda: None):
    end, seen = time.monotonic() + HANG, 0
    while True:
        b = ask(server, key, "GET", f"/v1/batches/{id}")
        assert b["progress"] >= seen, "progress went back"
        seen = b["progress"]
        if b["status"] not in ("queued", "processing"):
            return b
        assert time.monotonic() < end, b
        between()


def check(server, org, b, n):
    end = time.monotonic() + WAIT
    server._db = None  # a session of a database that was killed answers for a moment more
    while rows(server, "SELECT 1") is None:  # it may have been killed last
        assert time.monotonic() < end
        time.sleep(0.1)
    good = n - len(range(0, n, 10))
    assert b["status"] == "completed", b
    assert (b["stats"]["created"], b["stats"]["errors"], b["stats"]["events"], b["stats"]["skipped"]) == (good, n - good, good, 0), b["stats"]
    made = server.sql("SELECT count(*), count(DISTINCT external_id) FROM contacts.contact WHERE organization_id = %s", org.id)
    assert made == [(good, good)]
    told = server.sql("SELECT count(*), count(DISTINCT resource_id) FROM wharf.event WHERE organization_id = %s AND type = 'contact.created' AND batch_id = %s", org.id, b["id"])
    assert told == [(good, good)]
    lines = server.sql("SELECT count(*), count(DISTINCT resource_id) FROM wharf.change_log WHERE organization_id = %s AND resource = 'contact'", org.id)
    assert lines == [(good, good)]
    states = "".join(s[0] for s in server.sql("SELECT states FROM batches.chunk WHERE organization_id = %s AND batch_id = %s ORDER BY number", org.id, b["id"]))
    assert states == "".join("c" if i % 10 else "v" for i in range(n))
    assert server.sql("SELECT array_agg(index ORDER BY index) FROM batches.line WHERE organization_id = %s AND batch_id = %s", org.id, b["id"]) == [(list(range(0, n, 10)),)]


def kill(server, rng):
    if rng.random() < 0.2:
        try:
            os.kill(postmaster(server), signal.SIGKILL)
            return "postgres"
        except (OSError, IndexError, ValueError):
            return None
    found = workers(server, "job")
    if found:
        os.kill(rng.choice(found), signal.SIGKILL)
        return "worker"
    return None


def test_batch_under_kills(request):
    long = request.config.getoption("--long")
    runs, n, kills, pause = (50, 20000, 3, 2.5) if long else (1, 3000, 6, 0.4)
    rng, server, done = random.Random(7), Server(*SETTINGS), []
    try:
        begun, batches = time.monotonic(), 0
        while batches < runs or len(done) < kills:  # a short batch may be over before all kills are done: another one
            batches += 1
            org, here = server.organization(f"Storm {batches}"), []
            key = org.key()
            id = start(server, key, file_of(n))

            def storm():
                time.sleep(rng.random() * pause)
                if len(here) < kills:
                    how = kill(server, rng)
                    here.extend([how] if how else [])
            b = settled(server, key, id, storm)
            done += here
            check(server, org, b, n)
            told = requests.get(server.base + ask(server, key, "GET", f"/v1/batches/{id}?include_errors_json=true")["_errors_json_url"].replace(server.base, ""), timeout=WAIT).json()
            assert [t["index"] for t in told] == list(range(0, n, 10))
        print(f"\n{batches} batches of {n} items, {done.count('worker')} kills of workers, {done.count('postgres')} of PostgreSQL: {time.monotonic() - begun:.0f} s")
    finally:
        server.stop()


def test_a_worker_that_sleeps_past_its_lease_writes_nothing(tmp_path):
    """Its supervisor sleeps too: awake it would end it first. Both servers have one blob store, as several machines have."""
    n, stopped, second = 8000, [], None
    settings = (*SETTINGS, "--set", f"blob.dir={tmp_path}")
    first = Server(*settings)
    try:
        org = first.organization("Asleep")
        key = org.key()
        id = start(first, key, file_of(n))
        end = time.monotonic() + WAIT
        while not first.sql("SELECT 1 FROM batches.chunk WHERE organization_id = %s AND created > 0 LIMIT 1", org.id):
            assert time.monotonic() < end
            time.sleep(0.01)
        for pid in [first.process.pid, *workers(first, "job")]:
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
        assert first.sql("SELECT status FROM batches.batch WHERE id = %s", id) == [("processing",)]
        second = Server(*settings, beside=first)
        b = settled(second, key, id, lambda: time.sleep(0.2))
        for pid in reversed(stopped):
            os.kill(pid, signal.SIGCONT)
        stopped.clear()
        time.sleep(2)  # it wakes up in the middle of a chunk
        check(first, org, b, n)
        assert ask(first, key, "GET", f"/v1/batches/{id}")["stats"] == b["stats"]
    finally:
        for pid in reversed(stopped):
            os.kill(pid, signal.SIGCONT)
        if second:
            second.stop()
        first.stop()


def test_an_item_that_crashes_the_worker_is_left_out_alone():
    """A rule of the plugin batchbench ends the process on one of the items, also while others work on the same batch in that process."""
    server = Server("--modules", f"org,events,batches,{BUILD}/tests/plugins/batchbench.so", "--set", "rate_limit.key=0", "--set", "crash.quarantine=off")
    try:
        org = server.organization("Poison")
        key = org.key()
        rows = [{"name": "abort the worker" if i == 1250 else f"P{i}"} for i in range(2600)]
        id = ask(server, key, "POST", "/v1/batches", {"resource": "crumb", "action": "merge", "mode": "async", "data": rows})["id"]
        b = settled(server, key, id, lambda: time.sleep(0.1))
        assert (b["status"], b["stats"]["created"], b["stats"]["errors"]) == ("completed", 2599, 1), b
        assert server.sql("SELECT index, phase, code FROM batches.line WHERE batch_id = %s", id) == [(1250, "processing", "batch.item_crashed")]
        assert server.sql("SELECT count(*), count(DISTINCT name) FROM batchbench.crumb WHERE organization_id = %s", org.id) == [(2599, 2599)]
    finally:
        server.stop()
