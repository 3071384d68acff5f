"""Stock against an exact model that shares nothing with the server: random changes by one client, of which each answer is foretold, and by several at
the same time, of which the ledger is replayed (spec 09 sections 2, 7 and 9). --long: many more."""
import concurrent.futures
import random
from decimal import ROUND_HALF_UP, Decimal, getcontext

import pytest

from stock import BUCKETS, ITEMS, broken_invariants, change, entry, levels, make_item, movements
from wharf import make_location

getcontext().prec = 60
TICK, MOST = Decimal("0.0001"), Decimal("99999999999.9999")
WRITABLE = ("available", "damaged", "manifested")


def to_base(quantity, factor):
    """A quantity in a unit of so many base units."""
    exact = quantity * factor
    base = exact.quantize(TICK, ROUND_HALF_UP)
    return base if base or not exact else TICK.copy_sign(exact)


class World:
    """Items of three kinds at two locations with layouts, and random changes of their stock."""

    def __init__(self, client, seed):
        self.random = random.Random(seed)
        self.places = []
        for name in ("North", "South"):
            location = make_location(client, name)
            rows = client.post(f"/v1/locations/{location['id']}/layouts", [{"name": "A"}, {"name": "B"}], expect=201).data
            self.places += [(location["id"], layout) for layout in (location["default_layout_id"], *(r["id"] for r in rows))]
        self.items = [
            make_item(client, "Loose", base_uom="g", transactional_units=[{"name": "Ounce", "uom": "oz"}, {"name": "Sack", "uom": "box", "conversion_factor": 33.3333333333}]),
            make_item(client, "Asset", is_asset=True, transactional_units=[{"name": "Dozen", "uom": "dozen"}]),
            make_item(client, "Lots", base_uom="kg", lot_tracking="required", transactional_units=[{"name": "Gram", "uom": "g"}])]
        self.factors = {"Ounce": Decimal("28.349523125"), "Sack": Decimal("33.3333333333"), "Dozen": Decimal(12), "Gram": Decimal("0.001")}

    def quantity(self, whole):
        r = self.random
        digits = 0 if whole else r.choice((0, 0, 1, 4, 4))
        return Decimal(r.randrange(0, 10 ** r.choice((1, 1, 2, 3)) * 10 ** digits)).scaleb(-digits)

    def one(self, note):
        """A request: (item, entries as sent, what they mean: [(level, bucket, is a set, base units)])."""
        r = self.random
        item = r.choice(self.items)
        entries, meant = [], []
        for _ in range(r.choice((1, 1, 2, 4))):
            location, layout = r.choice(self.places)
            lot = r.choice(("L1", "L2")) if item["lot_tracking"] == "required" else None
            unit = r.choice([None, None, *item["transactional_units"]])
            sent = entry(location, layout_id=layout, note=note, **({"lot_number": lot} if lot else {}), **({"item_transactional_unit_id": unit["id"]} if unit else {}))
            for bucket in WRITABLE:
                if r.random() < 0.5:
                    continue
                quantity, is_set = self.quantity(item["is_asset"]), r.random() < 0.3
                if not is_set and r.random() < 0.45:
                    quantity = -quantity
                said = str(quantity) if r.random() < 0.3 else float(quantity)
                sent[bucket + "_qty"] = [said] if is_set else said
                meant.append(((item["id"], location, layout, lot), bucket, is_set, to_base(quantity, self.factors[unit["name"]]) if unit else quantity))
            entries.append(sent)
        return item, entries, meant


def apply(state, meant):
    """Applies a request to {(level, bucket): balance}. Answers what it changes in order, [(level, bucket, delta, balance)], or None when it is refused."""
    after, rows = {}, []
    for level, bucket, is_set, amount in meant:
        now = after.get((level, bucket), state.get((level, bucket), Decimal(0)))
        then = amount if is_set else now + amount
        after[level, bucket] = then
        if then != now:
            rows.append((level, bucket, then - now, then))
    if any(v < 0 or v > MOST for v in after.values()):
        return None
    state.update(after)
    return rows


def shown(client, world):
    return {((v["item_id"], v["location_id"], v["layout_id"], v["lot_number"]), b): Decimal(str(v[b + "_qty"]))
            for item in world.items for v in levels(client, item) for b in BUCKETS if v[b + "_qty"]}


def nonzero(state):
    return {k: v for k, v in state.items() if v}


@pytest.fixture
def steps(request):
    return 2000 if request.config.getoption("--long", default=False) else 90


def test_each_answer_is_foretold(fresh, server, steps):
    client = fresh.client()
    world, state, refused = World(client, 7), {}, 0
    for i in range(steps):
        item, entries, meant = world.one(f"n{i}")
        rows = apply(state, meant)
        a = change(client, item, *entries, expect=None)
        assert (a.status, a.code) == ((200, None) if rows is not None else (409, "item.insufficient_stock")), (a, entries)
        refused += rows is None
        if rows is not None:
            totals = {b: sum((v for (level, bucket), v in state.items() if level[0] == item["id"] and bucket == b), Decimal(0)) for b in BUCKETS}
            assert {b: Decimal(str(a.data["totals"][b + "_qty"])) for b in BUCKETS} == totals
            told = [m for m in movements(client, item) if m["note"] == f"n{i}"]
            assert sorted((m["location_id"], m["layout_id"], m["lot_number"] or "", m["bucket"], str(Decimal(str(m["delta"])).normalize()), str(Decimal(str(m["balance_after"])).normalize())) for m in told) == \
                sorted((k[1], k[2], k[3] or "", b, str(d.normalize()), str(n.normalize())) for k, b, d, n in rows)
            net = sum(d for _, _, d, _ in rows)
            assert {m["reason"] for m in told} <= {"adjustment" if net else "transfer"}
    assert shown(client, world) == nonzero(state)
    assert broken_invariants(server, fresh.id) == [] and 0 < refused < steps


def test_the_ledger_of_parallel_clients_is_replayed(fresh, server, steps):
    client = fresh.client()
    world = World(client, 11)
    requests = {f"n{i}": world.one(f"n{i}") for i in range(2 * steps)}
    clients = [fresh.client() for _ in range(6)]

    def send(i):
        item, entries, _ = requests[f"n{i}"]
        a = change(clients[i % 6], item, *entries, expect=None)
        assert a.status == 200 or a.code == "item.insufficient_stock", a
        return a.status == 200
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        done = {f"n{i}": ok for i, ok in enumerate(pool.map(send, range(len(requests))))}
    ledger = server.sql("SELECT item_id, location_id, layout_id, lot_number, bucket, delta, balance_after, note FROM items.stock_movement"
                        " WHERE organization_id = %s ORDER BY level_id, position", fresh.id)
    state, seen = {}, set()
    rows = iter(ledger)
    row = next(rows, None)
    while row:  # of each level, one request after the other, in the order in which the ledger has them
        level, note = row[:4], row[7]
        expected = apply_one(state, [m for m in requests[note][2] if m[0] == level])
        seen.add(note)
        for e in expected:
            assert row and (row[:4], row[4], row[5], row[6]) == e, (row, e, requests[note])
            row = next(rows, None)
        assert not row or row[:4] != level or row[7] != note
    assert {note for note in seen if not done[note]} == set()
    assert shown(client, world) == nonzero(state) == nonzero({k: v for k, v in state.items() if v >= 0})
    assert broken_invariants(server, fresh.id) == []
    assert len(client.get(ITEMS).data) == 3


def apply_one(state, meant):
    """As apply(), of one level, bucket after bucket as the ledger has them; other levels decide as well whether the request is refused."""
    rows = []
    for level, bucket, is_set, amount in sorted(meant, key=lambda m: m[1]):
        now = state.get((level, bucket), Decimal(0))
        state[level, bucket] = then = amount if is_set else now + amount
        if then != now:
            rows.append((level, bucket, then - now, then))
    return rows
