"""kill -9 of web workers and of PostgreSQL while sixteen clients order, pick, pack, cancel, complete and take back: no unit is promised twice, none is lost,
nobody waits for what is there, and what comes goes to the orders in the documented order (spec 03 section 6.4). A request whose answer is lost is sent again with its Idempotency-Key.

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
from orders import ITEMS, ORDERS, broken, entry  # noqa: E402
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


class Queue(Stubborn):
    """Orders that wait for two items of which there is none, and clients that bring some, or cancel an order."""

    def __init__(self, fresh, server, seed):
        super().__init__(fresh, server, seed)
        r = random.Random(seed)
        self.rank, self.left = {}, {i: 0 for i in self.items[:2]}
        for age in range(60):
            priority, ship_by = r.choice((0, 0, 5)), r.choice((None, None, "2035-01-01T00:00:00.000Z", "2036-01-01T00:00:00.000Z"))
            lines = [{"item_id": r.choice(self.items[:2]), "requested_qty": r.choice((1, 2, 3, 5))} for _ in range(2)]
            row = self.client.post(ORDERS, {"location_id": self.home["id"], "priority": priority, "ship_by": ship_by, "articles": lines}, expect=201).data
            self.orders.append(row)
            for n, a in enumerate(row["articles"]):
                self.rank[a["id"]] = (-priority, ship_by or "9999", age, n)
                self.left[a["item_id"]] += a["requested_qty"]

    def run(self, n, steps):
        r = random.Random(self.seed * 100 + n)
        self.local.http = requests.Session()
        self.local.http.headers["SVC-API-KEY"] = self.keys[n]
        while not self.stop.is_set():
            if r.random() < 0.03:
                self.ask(f"{ORDERS}/{r.choice(self.orders)['id']}", {"status": "canceled"}, {"fulfillment.closed", "fulfillment.invalid_transition"})
            with self.lock:
                item = r.choice([i for i, left in self.left.items() if left > 0] or [None])
                quantity = min(r.choice((1, 1, 2, 4)), self.left.get(item, 0))
                if item:
                    self.left[item] -= quantity
            if not item:
                return
            assert self.ask(f"{ITEMS}/{item}", {"levels": [entry(self.home, layout_id=r.choice(self.layouts), available_qty=quantity)]}, set())
            self.stop.wait(0.05)

    def check_order(self):
        """What came went to who stood first: of each item no order gets something after one that stands behind it."""
        granted = [line for data, in self.fresh.told("data", "type = 'fulfillment.reserved'") for line in data["reserved"]]
        for item in self.items[:2]:
            ranks = [self.rank[line["article_id"]] for line in granted if line["item_id"] == item]
            assert len(ranks) > 20 and ranks == sorted(ranks)


@pytest.mark.parametrize("kill, times", KILLS)
def test_back_orders_are_filled_in_the_documented_order(server, kill, times):
    org = server.organization("Queue")
    queue = Queue(org, server, times)
    queue.keys = [org.client().key for _ in range(CLIENTS)]
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        running = [pool.submit(queue.run, n, 0) for n in range(CLIENTS)]
        for _ in range(times):
            time.sleep(random.uniform(0.1, 0.3))
            kill(server)
        for f in running:
            f.result(HANG + 60)
    until(lambda: is_ready(server))
    server._db = None
    for row in queue.orders:
        now = queue.client.get(f"{ORDERS}/{row['id']}").data
        assert now["status"] == "canceled" or not now["backordered"]
    queue.check_order()
    assert broken(server, org.id) == []
