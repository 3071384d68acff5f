"""kill -9 of web workers and of PostgreSQL while clients build, take apart, move and count: the server has what the model says of the requests that were
taken, each once, and no half order (spec 09 section 20 item 12). A request whose answer is lost is sent again with its Idempotency-Key.

The short form runs in ./test; the long one by hand: pytest tests/chaos --long -s.
"""
import pathlib
import sys
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "api"), str(ROOT / "api/items")]
from kills import KILLS, Clerk, kill_beside  # noqa: E402
from stock import broken_invariants  # noqa: E402
from warehouse import REFUSALS, Warehouse  # noqa: E402
from wharf import Server  # noqa: E402

CLIENTS = 8


class Builder(Clerk):
    refusals = REFUSALS

    def take(self, request, data):
        with self.house.lock:  # what is built may be taken apart at once
            self.taken.append((request[2](data), data))


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,items,events,logs")
    yield s
    s.stop()


@pytest.mark.parametrize("kill, times", KILLS)
def test_builds_are_done_once_or_not_at_all(server, request, kill, times):
    org = server.organization("Builds")
    client = org.client()
    house, stop = Warehouse(client, 21), threading.Event()
    builders = [Builder(server, house, org.client(), i, stop) for i in range(CLIENTS)]
    kill_beside(server, kill, 10 * times if request.config.getoption("--long") else times, builders, stop)
    for b in builders:
        for rows, data in b.taken:
            house.book(rows, data, client)
    assert house.differences(client) == [] and broken_invariants(server, org.id) == []
    assert sum(len(b.taken) for b in builders) > CLIENTS and house.built
