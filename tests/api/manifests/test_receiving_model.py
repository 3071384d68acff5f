"""Random receipts, reversals and edits of parallel clients against a model: no unit is booked twice, none is lost (spec 03 section 7)."""
import concurrent.futures
import random

import pytest

from dock import REFUSALS, Dock
from goods_in import broken, conserved
from stock import broken_invariants


@pytest.mark.parametrize("seed", range(3))
def test_a_dock_with_many_clients(server, fresh, seed):
    client = fresh.client()
    dock = Dock(client, seed, assets=seed == 0)
    clients = [fresh.client() for _ in range(12)]

    def work(n):
        r = random.Random(1000 * seed + n)
        for i in range(25):
            path, body = dock.request(r)
            headers = {"Idempotency-Key": f"dock-{seed}-{n}-{i}"}
            a = clients[n].request("POST", path, body=body, headers=headers)
            if a.status in (200, 201):
                dock.taken(a.data)
                if r.random() < 0.2:
                    assert clients[n].request("POST", path, body=body, headers=headers).data == a.data
            else:
                assert a.code in REFUSALS, (path, body, a)
    with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(work, range(len(clients))))
    assert dock.differences(client) == [] and len(dock.receipts) > 50
    assert broken(server, fresh.id) == [] and broken_invariants(server, fresh.id) == []
    conserved(client, *dock.items)
