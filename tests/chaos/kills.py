"""What tests of kills share: ways to kill, clients that send a request until it is answered, and a run of such clients during kills."""
import os
import random
import signal
import threading
import time

import requests

from test_chaos import HANG, postmaster, workers
from wharf import until


def kill_worker(server):
    found = workers(server, "web")
    if found:
        os.kill(random.choice(found), signal.SIGKILL)


def kill_database(server):
    try:
        os.kill(postmaster(server), signal.SIGKILL)
    except (OSError, ValueError):
        pass  # it is being started


KILLS = [(kill_worker, 6), (kill_database, 3)]


def is_ready(server):
    try:
        return requests.get(server.base + "/readyz", timeout=HANG).status_code == 200
    except requests.RequestException:
        return False


class Clerk(threading.Thread):
    """Sends random requests of a model, house, one after the other. A subclass has refusals, the codes that the model expects, and take()."""
    refusals = frozenset()

    def __init__(self, server, house, client, number, stop):
        super().__init__(daemon=True)
        self.server, self.house, self.client, self.number, self.stop = server, house, client, number, stop
        self.http = requests.Session()
        self.http.headers["SVC-API-KEY"] = client.key
        self.taken, self.odd = [], []

    def take(self, request, data):
        """Tells the model that a request was taken, and keeps it in taken."""
        raise NotImplementedError

    def run(self):
        r, n = random.Random(self.number), 0
        while not self.stop.is_set() and not self.odd:
            n += 1
            request = self.house.request(r)
            answer = self.send(request[0], request[1], f"clerk-{self.number}-{n}")
            if answer is not None and answer.status_code < 300:
                self.take(request, answer.json()["data"])

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


def kill_beside(server, kill, times, clerks, stop):
    """Kills while the clerks send requests; then waits until all of them have ended and the server answers."""
    for c in clerks:
        c.start()
    for _ in range(times):
        time.sleep(random.uniform(0.3, 0.8))
        kill(server)
    time.sleep(2)
    stop.set()
    for c in clerks:
        c.join(HANG + 10)
    assert [c.odd for c in clerks if c.odd] == [] and not any(c.is_alive() for c in clerks)
    until(lambda: is_ready(server), "the server did not come back", HANG)
    server._db = None  # the connection of the test was cut as well
