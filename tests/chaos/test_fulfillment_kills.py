"""kill -9 of web workers and of PostgreSQL while sixteen clients order, pick, pack, cancel, complete and take back: no unit is promised twice, none is lost,
and nobody waits for what is there (spec 03 section 6.4). A request whose answer is lost is sent again with its Idempotency-Key.

The short form runs in ./test; the long one by hand: pytest tests/chaos --long -s.
"""
import concurrent.futures
import itertools
import pathlib
import random
import sys
import threading
import time

import pytest
import requests

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "api"), str(ROOT / "api/items"), str(ROOT / "api/fulfillments")]
from kills import KILLS, is_ready  # noqa: E402
from test_chaos import HANG  # noqa: E402
from test_fulfillment_model import Crowd  # noqa: E402
from wharf import Server, until  # noqa: E402

CLIENTS = 16


class Stubborn(Crowd):
    """Clients that send a request until it is answered."""

    def __init__(self, fresh, server, seed):
        super().__init__(fresh, seed)
        self.server, self.numbers, self.stop, self.answered = server, itertools.count(), threading.Event(), 0

    def ask(self, path, body, codes):
        key, begun = f"scan-{next(self.numbers)}", time.monotonic()
        while time.monotonic() - begun < HANG:
            try:
                r = self.local.http.post(self.server.base + path, json=body, headers={"Idempotency-Key": key}, timeout=HANG)
            except requests.RequestException:
                time.sleep(0.02)
                continue
            if r.status_code < 300:
                with self.lock:
                    self.answered += 1
                return r.json()["data"]
            if r.json().get("code") in codes:
                return None
            assert r.status_code in (409, 500, 502, 503, 504), r.text[:300]
            time.sleep(0.02)
        raise AssertionError(f"{path} was not answered")

    def run(self, n, steps):
        r = random.Random(self.seed * 100 + n)
        self.local.http = requests.Session()
        self.local.http.headers["SVC-API-KEY"] = self.keys[n]
        moves = [self.stock] * 4 + [self.create] * 4 + [self.scan] * 8 + [self.step] * 4 + [self.edit] * 2 + [self.give_back]
        while not self.stop.is_set():
            r.choice(moves)(r)


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,carriers,shipments,parcels,items,fulfillments,events,logs")
    yield s
    s.stop()


@pytest.mark.parametrize("kill, times", KILLS)
def test_units_are_promised_once(server, request, kill, times):
    org = server.organization("Orders")
    crowd = Stubborn(org, server, times)
    crowd.keys = [org.client().key for _ in range(CLIENTS)]
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        running = [pool.submit(crowd.run, n, 0) for n in range(CLIENTS)]
        for _ in range(10 * times if request.config.getoption("--long") else times):
            time.sleep(random.uniform(0.3, 0.8))
            kill(server)
        time.sleep(2)
        crowd.stop.set()
        for f in running:
            f.result(HANG + 10)
    until(lambda: is_ready(server))
    server._db = None  # the connection of the test was cut as well
    assert crowd.answered > CLIENTS
    crowd.check(server)
