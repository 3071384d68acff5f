"""A random warehouse with builds, unbuilds, transfers and counts by parallel clients, against an exact model: the server has what the model says, at each
location, and the invariants of the ledger, of orders and of bills hold (spec 09 sections 2, 7, 9, 10, 12). --long: ten minutes."""
import collections
import concurrent.futures
import random
import time

import pytest

from stock import broken_invariants
from warehouse import REFUSALS, Warehouse

CLIENTS = 6


@pytest.mark.parametrize("seed", [3, 4])
def test_parallel_clients_leave_what_the_model_says(fresh, server, request, seed):
    client, clients = fresh.client(), [fresh.client() for _ in range(CLIENTS)]
    house = Warehouse(client, seed)
    seconds, steps = (300, 10 ** 9) if request.config.getoption("--long", default=False) else (60, 40)
    answers = []
    taken, until = [0] * CLIENTS, time.monotonic() + seconds

    def work(k):
        r = random.Random(seed * 100 + k)
        for i in range(steps):
            if time.monotonic() > until:
                break
            path, body, means = house.request(r)
            a = clients[k].request("POST", path, body)
            answers.append((path.rsplit("/", 1)[1][:7], a.code))
            assert a.status in (200, 201) or a.code in REFUSALS, (a, path, body)
            if a.status < 300:
                taken[k] += 1
                house.take(means, a.data, client)
        return True

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        assert all(pool.map(work, range(CLIENTS)))
    assert house.differences(client) == [] and broken_invariants(server, fresh.id) == []
    assert min(taken) > 0 and house.built, collections.Counter(answers)
