"""kill -9 of web workers and of PostgreSQL while 64 clients write unique names: what was acknowledged is there, once.

The short form runs in ./test; the long one by hand: pytest tests/chaos --long -s. Waits are reported, not asserted (but for a limit
that only a hang reaches): docs/performance.md has the figures of a long run.
"""
import os
import pathlib
import random
import signal
import sys
import threading
import time

import psycopg2
import pytest
import requests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from wharf import BUILD, WAIT, Server, address  # noqa: E402

CLIENTS, HANG = 64, 60


def children(pid):
    """Few reads: each of them has to get the interpreter back from 64 busy writers."""
    try:
        pids = [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # gone
        return []
    found = []
    for p in pids:
        try:
            found.append((p, pathlib.Path(f"/proc/{p}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")))
        except OSError:
            continue
    return [(p, line) for p, line in found if line]  # a zombie has none


def workers(server, kind):
    return [pid for pid, line in children(server.process.pid) if "_worker" in line and f"--kind {kind}" in line]


def postmaster(server):
    return int((server.folder / "postgres" / "postmaster.pid").read_text().split("\n")[0])


class Writer(threading.Thread):
    """Writes one name after the other; a name is sent again until it is acknowledged (201, or 409 for one that was written)."""

    def __init__(self, server, key, location, number, stop):
        super().__init__(daemon=True)
        self.server, self.location, self.number, self.stop = server, location, number, stop
        self.http = requests.Session()
        self.http.headers["SVC-API-KEY"] = key
        self.acknowledged, self.waits, self.odd = [], [], []

    def body(self, name):
        if self.number % 2:
            return "/v1/crates", {"name": name, "location_id": self.location}
        return "/v1/locations", {"name": name, "code": name, "address": address()}

    def run(self):
        n = 0
        while not self.stop.is_set():
            n += 1
            self.write(f"n{self.number}-{n}")

    def write(self, name):
        path, body = self.body(name)
        begun, tries = time.monotonic(), 0
        while True:
            sent = name if self.number % 2 == 0 else f"{name}-{tries}"  # crates have no unique name: each try gets its own
            tries += 1
            if self.number % 2:
                body["name"] = sent
            try:
                r = self.http.post(self.server.base + path, json=body, timeout=HANG)
                status = r.status_code
            except requests.RequestException:
                status = 0
            if status == 201 or (status == 409 and tries > 1 and r.json()["code"] == "location.exists"):
                self.acknowledged.append((path, sent))
                self.waits.append((begun, time.monotonic() - begun))
                return
            if status not in (0, 409, 503, 504):
                self.odd.append((status, r.text[:300]))
                return
            if time.monotonic() - begun > HANG or self.stop.is_set():
                if not self.stop.is_set():
                    self.odd.append(("hang", name))
                return
            time.sleep(0.01)


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", f"org,locations,{BUILD}/tests/plugins/bench.so")
    yield s
    s.stop()


def storm(server, kill, times, pause):
    org = server.organization("Storm")
    key = org.key()
    client = org.client()
    location = client.post("/v1/locations", {"name": "Base", "address": address()}, expect=201).data["id"]
    stop = threading.Event()
    writers = [Writer(server, key, location, i, stop) for i in range(CLIENTS)]
    for w in writers:
        w.start()
    time.sleep(1)
    kills = []
    for _ in range(times):
        kills.append(time.monotonic())
        kill(server)
        time.sleep(pause())
    time.sleep(1)
    stop.set()
    for w in writers:
        w.join(HANG + 10)
    assert not [w for w in writers if w.is_alive()], "a client hangs"
    return org, writers, kills


def check(server, org, writers):
    odd = [o for w in writers for o in w.odd]
    assert not odd, odd[:5]
    acknowledged = [a for w in writers for a in w.acknowledged]
    assert len(acknowledged) > CLIENTS
    for path, table in (("/v1/crates", "bench.crate"), ("/v1/locations", "locations.location")):
        names = [name for p, name in acknowledged if p == path]
        rows = dict(server.sql(f"SELECT name, count(*) FROM {table} WHERE organization_id = %s GROUP BY name", org.id))
        missing, twice = [n for n in names if n not in rows], [n for n, count in rows.items() if count > 1]
        assert not missing and not twice, (missing[:5], twice[:5])
        # row, log line and event stand or fall together
        resource = "crate" if "crate" in table else "location"
        for history, column in (("wharf.change_log", "resource"), ("wharf.event", "resource_type")):
            lost = server.sql(f"SELECT count(*) FROM {table} t WHERE organization_id = %s AND NOT EXISTS (SELECT 1 FROM {history} h"
                              f" WHERE h.organization_id = t.organization_id AND h.{column} = %s AND h.resource_id = t.id)", org.id, resource)
            assert lost == [(0,)], history
    return len(acknowledged)


def report(what, writers, kills, n):
    """Longest wait: from the first try of a name to its acknowledgement, whatever was killed meanwhile; and counted from the last kill only."""
    waits = sorted(wait for w in writers for _, wait in w.waits)
    since = max(min([wait] + [begun + wait - k for k in kills if k < begun + wait]) for w in writers for begun, wait in w.waits)
    print(f"\n{what}: {len(kills)} kills, {n} names acknowledged, all there once; longest wait {waits[-1]:.2f} s"
          f" ({since:.2f} s after the last kill), p99 {waits[int(len(waits) * 0.99)]:.2f} s")


def kill_a_worker(server):
    found = workers(server, "web")
    if found:
        os.kill(random.choice(found), signal.SIGKILL)


def test_web_workers(server, request):
    times = 100 if request.config.getoption("--long") else 12
    org, writers, kills = storm(server, kill_a_worker, times, lambda: random.uniform(0.1, 0.4))
    report("kill -9 of web workers", writers, kills, check(server, org, writers))


def until(what, seconds=HANG):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if what():
                return time.monotonic()
        except (OSError, ValueError, IndexError, requests.RequestException, psycopg2.Error):
            pass
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s")


def database_answers(server, old):
    if postmaster(server) == old:
        return False
    server._db = None
    return server.sql("SELECT 1")


class PostgresKiller:
    """Kills PostgreSQL; keeps how long it took to recover by itself, and how much longer the API took to answer a read from it."""

    def __init__(self):
        self.recovery, self.beyond = [], []

    def __call__(self, server):
        old = postmaster(server)
        os.kill(old, signal.SIGKILL)
        begun = time.monotonic()
        database = until(lambda: database_answers(server, old))
        api = until(lambda: requests.get(server.base + "/v1/users?limit=1", headers={"SVC-API-KEY": server.demo_key}, timeout=WAIT).status_code == 200)
        self.recovery.append(database - begun)
        self.beyond.append(api - database)


def test_postgres(server, request):
    times = 10 if request.config.getoption("--long") else 2
    killer = PostgresKiller()
    org, writers, kills = storm(server, killer, times, lambda: random.uniform(0.5, 1.5))
    server._db = None
    report("kill -9 of PostgreSQL", writers, kills, check(server, org, writers))
    print(f"PostgreSQL's own recovery {max(killer.recovery):.2f} s at most; the API answers {max(killer.beyond):.2f} s later at most")
