"""kill -9 of web workers and of PostgreSQL while clients receive goods, take receipts back and complete manifests: each receipt that was answered is booked
once, none is booked that no one was told of, and what is expected is what the manifests say (spec 03 section 7). A request whose answer is lost is sent again
with its Idempotency-Key.

The short form runs in ./test; the long one by hand: pytest tests/chaos --long -s.
"""
import pathlib
import sys
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "api"), str(ROOT / "api/items"), str(ROOT / "api/manifests")]
from dock import REFUSALS, Dock  # noqa: E402
from goods_in import broken  # noqa: E402
from kills import KILLS, Clerk, kill_beside  # noqa: E402
from stock import broken_invariants  # noqa: E402
from wharf import Server  # noqa: E402

CLIENTS = 16


class Scanner(Clerk):
    refusals = REFUSALS

    def take(self, request, data):
        self.house.taken(data)
        self.taken.append(request)


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,reasons,items,parcels,manifests,events,logs")
    yield s
    s.stop()


@pytest.mark.parametrize("kill, times", KILLS)
def test_goods_are_received_once_or_not_at_all(server, request, kill, times):
    org = server.organization("Dock")
    client = org.client()
    dock, stop = Dock(client, 7), threading.Event()
    scanners = [Scanner(server, dock, org.client(), i, stop) for i in range(CLIENTS)]
    kill_beside(server, kill, 10 * times if request.config.getoption("--long") else times, scanners, stop)
    assert dock.differences(client) == [] and broken(server, org.id) == [] and broken_invariants(server, org.id) == []
    assert sum(len(s.taken) for s in scanners) > CLIENTS and dock.receipts
