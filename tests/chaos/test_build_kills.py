"""kill -9 of web workers and of PostgreSQL while clients build, take apart, move and count: the server has what the model says of the requests that were
taken, each once, and no half order (spec 09 section 20 item 12). A request whose answer is lost is sent again with its Idempotency-Key.

The short form runs in ./test; the long one by hand: pytest tests/chaos --long -s.
"""
import os
import pathlib
import random
import signal
import sys
import threading
import time

import pytest
import requests

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "api"), str(ROOT / "api/items")]
from stock import broken_invariants  # noqa: E402
from test_chaos import HANG, postmaster, workers  # noqa: E402
from warehouse import REFUSALS, Warehouse  # noqa: E402
from wharf import Server  # noqa: E402

CLIENTS = 8


class Clerk(threading.Thread):
    refusals = REFUSALS

    def __init__(self, server, house, client, number, stop):
        super().__init__(daemon=True)
        self.server, self.house, self.client, self.number, self.stop = server, house, client, number, stop
        self.http = requests.Session()
        self.http.headers["SVC-API-KEY"] = client.key
        self.taken, self.odd = [], []

    def run(self):
        r, n = random.Random(self.number), 0
        while not self.stop.is_set() and not self.odd:
            n += 1
            path, body, means = self.house.request(r)
            answer = self.send(path, body, f"clerk-{self.number}-{n}")
            if answer and answer.status_code < 300:
                data = answer.json()["data"]
                with self.house.lock:  # what is built may be taken apart at once
                    self.taken.append((means(data), data))

    def send(self, path, body, key):
        """Sends a request until it is answered; one that is being done when it comes again is waited for."""
        begun = time.monotonic()
        while time.monotonic() - begun < HANG:
            try:
                r = self.http.post(self.server.base + path, json=body, headers={"Idempotency-Key": key}, timeout=HANG)
            except requests.RequestException:
                time.sleep(0.02)
                continue
            code = r.json().get("code")
            if r.status_code < 300 or code in self.refusals:
                return r
            if r.status_code not in (409, 500, 502, 503, 504):
                self.odd.append((r.status_code, r.text[:300]))
                return None
            time.sleep(0.02)
        self.odd.append(("hang", path))
        return None


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,items,events,logs")
    yield s
    s.stop()


def kill_worker(server):
    found = workers(server, "web")
    if found:
        os.kill(random.choice(found), signal.SIGKILL)


def kill_database(server):
    try:
        os.kill(postmaster(server), signal.SIGKILL)
    except (OSError, ValueError):
        pass  # it is being started


@pytest.mark.parametrize("kill, times", [(kill_worker, 6), (kill_database, 3)])
def test_builds_are_done_once_or_not_at_all(server, request, kill, times):
    org = server.organization("Builds")
    client = org.client()
    house, stop = Warehouse(client, 21), threading.Event()
    clerks = [Clerk(server, house, org.client(), i, stop) for i in range(CLIENTS)]
    for c in clerks:
        c.start()
    for _ in range(10 * times if request.config.getoption("--long") else times):
        time.sleep(random.uniform(0.3, 0.8))
        kill(server)
    time.sleep(2)
    stop.set()
    for c in clerks:
        c.join(HANG + 10)
    assert [c.odd for c in clerks if c.odd] == []
    until_ready(server)
    server._db = None  # the connection of the test was cut as well
    for c in clerks:
        for rows, data in c.taken:
            house.book(rows, data, client)
    assert house.differences(client) == [] and broken_invariants(server, org.id) == []
    assert sum(len(c.taken) for c in clerks) > CLIENTS and house.built


def until_ready(server):
    end = time.monotonic() + HANG
    while time.monotonic() < end:
        try:
            if requests.get(server.base + "/readyz", timeout=HANG).status_code == 200:
                return
        except requests.RequestException:
            pass
        time.sleep(0.1)
    raise AssertionError("the server did not come back")
