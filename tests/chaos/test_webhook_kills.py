"""Webhooks on two servers with one database, while job workers and PostgreSQL are killed: each event reaches each receiver at least once, first
deliveries of a resource in its order.

The short form runs in ./test; the long one by hand: pytest tests/chaos/test_webhook_kills.py --long -s.
"""
import base64
import collections
import random
import threading
import time

import requests

from test_chaos import Server  # finds tests/api
from test_job_kills import kill, rows
from receivers import Hook, Receivers, WEBHOOK_SERVER, ok, slow, status
from wharf import WAIT, Client

HANG = 600


class Place:
    """What a Hook needs of its world."""

    def __init__(self, web, name):
        self.web, self.name = web, name

    def path(self):
        return "/" + self.name


def every_third(handler, count=collections.Counter()):
    count["n"] += 1
    (status(500) if count["n"] % 3 == 0 else ok)(handler)


def sent(request):
    """A request is sent until it is answered: what a kill swallowed is said again, which changes nothing when it had been done."""
    while True:
        try:
            r = request()
        except requests.RequestException:
            time.sleep(0.1)
            continue
        if r.status_code < 500:
            return r
        time.sleep(0.1)


def rename(servers, key, places, rounds, problems):
    http = requests.Session()
    for n in range(rounds):
        for i, id in enumerate(places):
            base = servers[(n + i) % 2].base
            r = sent(lambda: http.post(f"{base}/v1/locations/{id}", json={"name": f"n{n}"}, headers={"SVC-API-KEY": key}, timeout=WAIT))
            if r.status_code != 200:
                problems.append(r.text)
                return


def in_order(web, hook):
    """First deliveries of each resource are in the order of their sequence."""
    last, seen = {}, set()
    for got in web.got[hook.path]:
        if got["webhook-id"] in seen or got["wharf-event-type"] != "location.updated":
            continue
        seen.add(got["webhook-id"])
        resource, sequence = got.event["resource_id"], got.event["sequence"]
        assert sequence > last.get(resource, 0), f"{hook.path}: {resource} heard {sequence} after {last[resource]}"
        last[resource] = sequence
    return seen


class Clock:
    """Leases of killed workers end by the clock; so do pauses and suspensions."""

    def __init__(self, server):
        self.client, self.offset = Client(server, server.demo_key), 0

    def ahead(self, seconds):
        self.offset += seconds
        sent(lambda: requests.post(self.client.server.base + "/v1/system/clock", json={"offset_seconds": self.offset},
                                   headers={"SVC-API-KEY": self.client.key}, timeout=WAIT))


def revive(client, hook):
    """A receiver that was dead is suspended by now, perhaps disabled; its operator enables it."""
    url = f"{client.server.base}/v1/webhooks/{hook.id}"
    sent(lambda: requests.post(url, json={"status": "enabled"}, headers={"SVC-API-KEY": client.key}, timeout=WAIT))


def open_deliveries(server):
    return rows(server, "SELECT count(*) FROM webhooks.queue")


def unprocessed(server):
    return rows(server, "SELECT (SELECT count(*) FROM wharf.outbox WHERE event_id IS NOT NULL) + (SELECT count(*) FROM wharf.event_retry)")


def test_webhooks_under_kills(request):
    long = request.config.getoption("--long")
    resources, rounds, kills = (500, 40, 20) if long else (60, 10, 5)
    rng, web, dead = random.Random(7), Receivers(), Receivers()
    key = ("--set", "master_key=" + base64.b64encode(bytes(range(32))).decode())  # machines of one database have the same
    first = Server(*WEBHOOK_SERVER, *key)
    second = Server(*WEBHOOK_SERVER, *key, beside=first)
    servers, problems, done = [first, second], [], []
    try:
        org = first.organization("Storm")
        client, clock = org.client(), Clock(first)
        places = [client.post("/v1/locations", {"name": "x", "address": "1 Main St, Springfield, IL 62701, US"}, expect=201).data["id"]
                  for _ in range(resources)]
        hooks = [Hook(Place(web, name), client, events=["location.updated"], answer=answer, retry_mode="fast")
                 for name, answer in (("fast", ok), ("slow", slow(0.02)), ("third", every_third))]
        asleep = Hook(Place(dead, "dead"), client, events=["location.updated"], retry_mode="fast")
        dead.answers[asleep.path] = lambda handler: handler.connection.close()
        begun = time.monotonic()
        writer = threading.Thread(target=rename, args=(servers, client.key, places, rounds, problems))
        writer.start()
        while writer.is_alive() or len(done) < kills:
            time.sleep(rng.random() * (3 if long else 1))
            what = kill(servers, rng, len(done) % 5 == 4) if len(done) < kills else None
            done += [what] if what else []
            time.sleep(0.5)
            clock.ahead(61)
            assert time.monotonic() - begun < HANG
        writer.join()
        assert not problems, problems
        dead.answers[asleep.path] = ok
        while unprocessed(first) != [(0,)] or open_deliveries(first) != [(0,)]:
            revive(client, asleep)
            time.sleep(2)
            clock.ahead(1000)
            assert time.monotonic() - begun < HANG, (open_deliveries(first), unprocessed(first))
        expected = {r[0] for r in first.sql("SELECT id FROM wharf.event WHERE organization_id = %s AND type = 'location.updated'", org.id)}
        assert len(expected) == resources * rounds
        again = 0
        for where, hook in [(web, h) for h in hooks] + [(dead, asleep)]:
            seen = in_order(where, hook)
            assert seen >= expected, f"{hook.path} never heard {len(expected - seen)} of {len(expected)}"
            again += len(where.got[hook.path]) - len(seen)
        assert first.sql("SELECT DISTINCT status FROM webhooks.delivery WHERE status NOT IN ('succeeded', 'failed')") == []
        print(f"\n{len(expected)} events over {resources} resources to 4 receivers in {time.monotonic() - begun:.0f} s, {len(done)} kills"
              f" ({', '.join(f'{done.count(k)} {k}' for k in sorted(set(done)))}): nothing lost, first deliveries in order, {again} came again")
    finally:
        second.stop()
        first.stop()
