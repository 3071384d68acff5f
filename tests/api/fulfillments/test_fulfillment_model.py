"""Fulfillments against an exact model that shares nothing with the server: random orders, stock, picks, packs, cancels and returns by one client, of which
each answer and all quantities are foretold, and by many at the same time, after which no unit is promised twice and none is lost (spec 03 section 6.4).
--long: many more."""
import concurrent.futures
import random
import threading

import pytest

from orders import ITEMS, ORDERS, amounts, broken, change, entry, make_item, place, stocked
from wharf import make_location

OPEN = ("created", "processing", "picked", "packed", "shipping")


class Model:
    """Stock at one place, and orders that wait for it in the documented order."""

    def __init__(self, items):
        self.available = {i: 0 for i in items}
        self.gone = {i: 0 for i in items}
        self.orders = []

    def serve(self, item):
        """What is available goes to who waits: priority, ship_by with none last, age, place in the order."""
        waiting = [(-o["priority"], o["ship_by"] or "9999", o["age"], n, a) for o in self.orders if o["status"] in OPEN for n, a in enumerate(o["articles"])
                   if a["item"] == item and a["reserved"] < a["requested"]]
        for *_, a in sorted(waiting, key=lambda w: w[:4]):
            take = min(self.available[item], a["requested"] - a["reserved"])
            a["reserved"] += take
            self.available[item] -= take

    def free(self, item, quantity):
        self.available[item] += quantity
        self.serve(item)

    def short(self, o, key):
        return [a for a in o["articles"] if a[key] < a["requested"]]


class World:
    """Random requests of one client, and what the model says of them."""

    def __init__(self, client, seed):
        self.client, self.random = client, random.Random(seed)
        self.home = make_location(client)
        self.items = [make_item(client, n)["id"] for n in ("X", "Y", "Z")]
        self.model = Model(self.items)

    def send(self, path, body, status, code):
        a = self.client.post(path, body, expect=None)
        assert (a.status, a.code) == (status, code), (a, body)
        return a.data

    def stock(self):
        item, quantity = self.random.choice(self.items), self.random.choice((-3, -1, 1, 1, 2, 4, 8))
        m = self.model
        if m.available[item] + quantity < 0:
            return self.send(f"{ITEMS}/{item}", {"levels": [entry(self.home, available_qty=quantity)]}, 409, "item.insufficient_stock")
        self.send(f"{ITEMS}/{item}", {"levels": [entry(self.home, available_qty=quantity)]}, 200, None)
        m.gone[item] -= quantity
        m.free(item, quantity)

    def create(self):
        r = self.random
        lines = [(r.choice(self.items), r.choice((1, 1, 2, 3, 5))) for _ in range(r.choice((1, 1, 2, 3)))]
        o = {"status": "created", "priority": r.choice((0, 0, 0, 5, 9)), "ship_by": r.choice((None, None, "2035-01-01T00:00:00.000Z", "2036-01-01T00:00:00.000Z")), "age": len(self.model.orders)}
        row = self.send(ORDERS, {"location_id": self.home["id"], "priority": o["priority"], "ship_by": o["ship_by"], "articles": [{"item_id": i, "requested_qty": q} for i, q in lines]}, 201, None)
        o |= {"id": row["id"], "articles": [{"id": a["id"], "item": i, "requested": q, "reserved": 0, "picked": 0, "packed": 0, "shipped": 0, "received": 0} for a, (i, q) in zip(row["articles"], lines)]}
        self.model.orders.append(o)
        for item in self.items:
            self.model.serve(item)

    def scan(self):
        r = self.random
        o = self.some(OPEN)
        if not o:
            return
        a, quantity, kind = r.choice(o["articles"]), r.choice((-1, 1, 1, 2, 3)), r.choice(("picks", "packs"))
        status, code = 200, None
        if o["status"] not in ("created", "processing", *(["picked"] if kind == "packs" else [])):
            status, code = 409, "fulfillment.invalid_transition"
        elif quantity < 0:
            have = a["picked"] - a["packed"] if kind == "picks" else a["packed"]
            if have < -quantity:
                status, code = 409, "fulfillment.over_picked"
        elif a["picked" if kind == "picks" else "packed"] + quantity > a["requested"]:
            status, code = 409, "fulfillment.over_picked"
        elif a["reserved"] < (a["picked"] if kind == "picks" else a["packed"]) + quantity:
            status, code = 409, "item.insufficient_stock"
        self.send(f"{ORDERS}/{o['id']}/{kind}", {"article_id": a["id"], "quantity": quantity}, status, code)
        if code:
            return
        o["status"] = "processing" if o["status"] == "created" else o["status"]
        if kind == "picks":
            a["picked"] += quantity
        else:
            a["packed"] += quantity
            a["picked"] = max(a["picked"], a["packed"])

    def edit(self):
        o = self.some(("created", "processing", "picked"))
        if not o:
            return
        a, quantity = self.random.choice(o["articles"]), self.random.choice((1, 2, 3, 6))
        refused = quantity < a["picked"]
        self.send(f"{ORDERS}/{o['id']}", {"articles": [{"id": a["id"], "requested_qty": quantity}]}, 409 if refused else 200, "fulfillment.picked" if refused else None)
        if refused:
            return
        a["requested"] = quantity
        if o["status"] == "picked" and a["picked"] < quantity:
            o["status"] = "processing"
        back = max(0, a["reserved"] - quantity)
        a["reserved"] -= back
        self.model.free(a["item"], back)

    def step(self):
        o = self.some(OPEN)
        if not o:
            return
        to = self.random.choice({"created": ("picked", "canceled"), "processing": ("picked", "packed", "packed"), "picked": ("processing", "packed", "packed"), "packed": ("completed", "completed", "picked"), "shipping": ("completed",)}[o["status"]])
        lax, code = self.random.random() < 0.6, None
        if to == "picked" and o["status"] != "packed" and not lax and self.model.short(o, "picked") or to == "packed" and not lax and self.model.short(o, "packed"):
            code = "fulfillment.short"
        if to == "completed" and not any(a["packed"] for a in o["articles"]):
            code = "fulfillment.short"
        self.send(f"{ORDERS}/{o['id']}", {"status": to, "allow_short": lax}, 409 if code else 200, code)
        if code:
            return
        o["status"] = to
        if to in ("completed", "canceled"):
            self.close(o, to)

    def close(self, o, to):
        back = {i: 0 for i in self.items}
        for a in o["articles"]:
            a["shipped"] = a["packed"] if to == "completed" else 0
            back[a["item"]] += a["reserved"] - a["shipped"]
            self.model.gone[a["item"]] += a["shipped"]
            a["reserved"] = a["picked"] = a["packed"] = 0
        for item, quantity in back.items():
            self.model.free(item, quantity)

    def give_back(self):
        o = self.some(("completed",))
        if not o:
            return
        a, quantity = self.random.choice(o["articles"]), self.random.choice((1, 2))
        refused = a["received"] + quantity > a["shipped"]
        self.send(f"{ORDERS}/{o['id']}/returns", {"lines": [{"article_id": a["id"], "received_qty": quantity}]}, 409 if refused else 200, "fulfillment.over_returned" if refused else None)
        if not refused:
            a["received"] += quantity
            self.model.gone[a["item"]] -= quantity
            self.model.free(a["item"], quantity)

    def some(self, statuses):
        rows = [o for o in self.model.orders if o["status"] in statuses]
        return self.random.choice(rows[-12:]) if rows else None

    def compare(self):
        for o in self.model.orders:
            row = self.client.get(f"{ORDERS}/{o['id']}").data
            assert row["status"] == o["status"]
            assert amounts(row, "requested", "reserved", "picked", "packed", "shipped", "received") == [tuple(a[k] for k in ("requested", "reserved", "picked", "packed", "shipped", "received")) for a in o["articles"]], o
        for item in self.items:
            promised = sum(a["reserved"] for o in self.model.orders for a in o["articles"] if a["item"] == item)
            assert stocked(self.client, {"id": item}) == (self.model.available[item], promised)
            assert self.model.available[item] + promised + self.model.gone[item] == 0


@pytest.fixture
def steps(request):
    return 3000 if request.config.getoption("--long", default=False) else 240


@pytest.mark.parametrize("seed", [1, 2])
def test_each_answer_is_foretold(fresh, server, steps, seed):
    world = World(fresh.client(), seed)
    moves = [world.stock] * 4 + [world.create] * 4 + [world.scan] * 9 + [world.edit] * 2 + [world.step] * 9 + [world.give_back] * 2
    for i in range(steps):
        world.random.choice(moves)()
        if i % 20 == 19:
            world.compare()
    world.compare()
    assert broken(server, fresh.id) == [] and any(o["status"] == "completed" for o in world.model.orders)


class Crowd:
    """Requests of many clients, of which only what they may answer is known."""

    def __init__(self, fresh, seed):
        self.fresh, self.seed, self.lock = fresh, seed, threading.Lock()
        client = fresh.client()
        self.client = client
        self.home, *self.layouts = place(client, "A", "B")
        self.layouts.append(self.home["default_layout_id"])
        self.items = [make_item(client, n)["id"] for n in ("X", "Y", "Z")]
        self.orders, self.added = [], {i: 0 for i in self.items}
        self.local = threading.local()

    def ask(self, path, body, codes):
        a = self.local.client.post(path, body, expect=None)
        assert a.status < 400 or a.code in codes, a
        return a.data if a.status < 400 else None

    def note(self, item, quantity):
        with self.lock:
            self.added[item] += quantity

    def stock(self, r):
        item, quantity = r.choice(self.items), r.choice((-2, -1, 1, 1, 3, 5))
        if self.ask(f"{ITEMS}/{item}", {"levels": [entry(self.home, layout_id=r.choice(self.layouts), available_qty=quantity)]}, {"item.insufficient_stock"}):
            self.note(item, quantity)

    def create(self, r):
        lines = [{"item_id": i, "requested_qty": r.choice((1, 2, 3))} for i in r.sample(self.items, r.choice((1, 2, 3)))]
        row = self.ask(ORDERS, {"location_id": self.home["id"], "priority": r.choice((0, 5)), "articles": lines}, set())
        with self.lock:
            self.orders.append(row)

    def some(self, r):
        with self.lock:
            return r.choice(self.orders[-20:]) if self.orders else None

    def scan(self, r):
        o = self.some(r)
        if o:
            body = {"article_id": r.choice(o["articles"])["id"], "quantity": r.choice((-1, 1, 1, 2)), **({"layout_id": r.choice(self.layouts)} if r.random() < 0.3 else {})}
            self.ask(f"{ORDERS}/{o['id']}/{r.choice(('picks', 'packs'))}", body, {"fulfillment.over_picked", "fulfillment.closed", "fulfillment.invalid_transition", "item.insufficient_stock"})

    def step(self, r):
        o = self.some(r)
        if o:
            self.ask(f"{ORDERS}/{o['id']}", {"status": r.choice(("picked", "packed", "packed", "completed", "completed", "canceled")), "allow_short": True},
                     {"fulfillment.short", "fulfillment.closed", "fulfillment.invalid_transition"})

    def edit(self, r):
        o = self.some(r)
        if o:
            self.ask(f"{ORDERS}/{o['id']}", {"articles": [{"id": r.choice(o["articles"])["id"], "requested_qty": r.choice((1, 2, 4))}]}, {"fulfillment.picked", "fulfillment.closed", "fulfillment.invalid_transition"})

    def give_back(self, r):
        o = self.some(r)
        if o:
            self.ask(f"{ORDERS}/{o['id']}/returns", {"lines": [{"article_id": r.choice(o["articles"])["id"], "received_qty": 1}]}, {"fulfillment.not_completed", "fulfillment.over_returned"})

    def run(self, n, steps):
        r = random.Random(self.seed * 100 + n)
        self.local.client = self.fresh.client()
        moves = [self.stock] * 4 + [self.create] * 4 + [self.scan] * 8 + [self.step] * 4 + [self.edit] * 2 + [self.give_back]
        for _ in range(steps):
            r.choice(moves)(r)

    def check(self, server):
        """No unit is promised twice, none is lost, and nobody waits for what is there."""
        rows = [self.client.get(f"{ORDERS}/{o['id']}").data for o in self.orders]
        assert rows
        for item in self.items:
            mine = [(row, a) for row in rows for a in row["articles"] if a["item_id"] == item]
            available, reserved = stocked(self.client, {"id": item})
            assert reserved == sum(a["reserved_qty"] for _, a in mine)  # promised once, each to somebody
            assert available + reserved == self.added[item] - sum(a["shipped_qty"] - a["received_qty"] for _, a in mine)  # none is lost
            assert available == 0 or not any(a["backordered_qty"] for _, a in mine), mine  # nobody waits for what is there
            assert all(a["packed_qty"] <= a["picked_qty"] <= a["reserved_qty"] <= a["requested_qty"] for row, a in mine if row["status"] in OPEN)
        assert broken(server, self.fresh.id) == []


def test_many_at_once_promise_no_unit_twice(fresh, server, steps):
    crowd = Crowd(fresh, 3)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: crowd.run(n, steps // 4), range(8)))
    crowd.check(server)


def test_two_clients_and_one_scarce_item(fresh, server):
    """Orders of the same items in opposite order, and receipts of them, never wait for each other in a circle: every answer is 201 or 200."""
    client = fresh.client()
    home = make_location(client)
    items = [make_item(client, levels=[entry(home, available_qty=3)])["id"] for _ in range(4)]
    clients = [fresh.client() for _ in range(4)]
    deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    before = server.sql(deadlocks)

    def run(n):
        lines = [{"item_id": i, "requested_qty": 1} for i in (items if n % 2 else reversed(items))]
        for k in range(12):
            if n == 3:
                clients[n].post(f"{ITEMS}/{items[k % 4]}", {"levels": [entry(home, available_qty=1)]}, expect=200)
            else:
                row = clients[n].post(ORDERS, {"location_id": home["id"], "articles": lines}, expect=201).data
                if k % 3 == 0:
                    clients[n].delete(f"{ORDERS}/{row['id']}")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert broken(server, fresh.id) == []
    assert server.sql(deadlocks) == before
    for item in items:
        available, reserved = stocked(client, {"id": item})
        assert available + reserved == 6 and (available == 0 or not client.get(f"{ORDERS}?backordered=true&item_id={item}").data)
