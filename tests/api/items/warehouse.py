"""A random warehouse for tests: items, units, bills over several levels, stock at two locations; requests of parallel clients, and a model in exact numbers of
what each that was taken means. A request carries an Idempotency-Key, so that one whose answer was lost can be sent again."""
import random
import threading
from collections import defaultdict
from fractions import Fraction

from bills import Bill, bill_path, make_assembly, make_bom, part
from stock import ITEMS, entry, make_item
from wharf import make_location

REFUSALS = {"item.insufficient_stock", "bom.insufficient_stock", "assembly_order.exceeds_built", "bom.fractional_component", "bom.min_build_qty"}


class Warehouse:
    def __init__(self, client, seed):
        self.r = r = random.Random(seed)
        self.places = []
        for name in ("North", "South"):
            location = make_location(client, name)
            rows = client.post(f"/v1/locations/{location['id']}/layouts", [{"name": "A"}, {"name": "B"}], expect=201).data
            self.places += [(location["id"], layout) for layout in (location["default_layout_id"], *(x["id"] for x in rows))]
        self.locations = sorted({location for location, _ in self.places})
        self.raw = [make_item(client, "Loose", base_uom="g", transactional_units=[{"name": "Sack", "uom": "box", "conversion_factor": 33.3333333333}]),
                    make_item(client, "Sheet", is_asset=True), make_item(client, "Screw", transactional_units=[{"name": "Dozen", "uom": "dozen"}]), make_item(client, "Oil", base_uom="l")]
        self.bills, self.boms, self.items = {}, {}, list(self.raw)
        for name, output, minimum in (("Panel", 4, None), ("Frame", 1, None), ("Cabinet", 1, 2)):
            item = make_assembly(client, name)
            below = r.sample(self.items, min(len(self.items), r.randint(2, 4)))
            parts, sent = {}, []
            for x in below:
                unit = x["transactional_units"][0] if x["transactional_units"] and r.random() < 0.5 else None
                q = r.randint(1, 3) if x["is_asset"] or r.random() < 0.5 else Fraction(r.randint(1, 20000), 10000)
                parts[x["id"]] = (q, unit["conversion_factor"] if unit else 1)
                sent.append(part(x, float(q), **({"item_transactional_unit_id": unit["id"]} if unit else {})))
            self.bills[item["id"]] = Bill(parts, output, minimum or 0, True, {x["id"] for x in below if x["is_asset"]})
            self.boms[item["id"]] = make_bom(client, item, *sent, output_qty=output, min_build_qty=minimum)
            self.items.append(item)
        self.total = defaultdict(Fraction)  # (item, location): available
        self.built = {}  # order: [item, location, quantity, taken apart, {part: consumed}]
        self.lock = threading.Lock()
        for item in self.items:
            for location, layout in self.places:
                q = r.randint(0, 400)
                client.post(f"{ITEMS}/{item['id']}", {"levels": [entry(location, layout_id=layout, available_qty=q)]}, expect=200)
                self.total[item["id"], location] += q

    # ---- requests: (path, body, what it means when it is taken) ----

    def change(self, r):
        item = r.choice(self.items)
        q = Fraction(r.randint(1, 20)) if item["is_asset"] or r.random() < 0.6 else Fraction(r.randint(1, 200000), 10000)
        q = -q if r.random() < 0.5 else q
        place = r.choice(self.places)
        return f"{ITEMS}/{item['id']}", {"levels": [entry(place[0], layout_id=place[1], available_qty=float(q))]}, lambda d: [(item["id"], place[0], q)]

    def transfer(self, r):
        item, (a, b) = r.choice(self.items), r.sample(self.places, 2)
        q = Fraction(r.randint(1, 30))
        return (f"{ITEMS}/{item['id']}", {"levels": [entry(a[0], layout_id=a[1], available_qty=-float(q)), entry(b[0], layout_id=b[1], available_qty=float(q))]},
                lambda d: [(item["id"], a[0], -q), (item["id"], b[0], q)])

    def build(self, r):
        item = r.choice(list(self.bills))
        bill, location = self.bills[item], r.choice(self.locations)
        q = Fraction(r.randint(1, 9)) if r.random() < 0.7 else Fraction(r.randint(1, 60000), 10000)
        deep = r.random() < 0.25

        def means(d):
            needs = {x: bill.need(x, q) for x in bill.parts}
            self.built[d["id"]] = [item, location, q, Fraction(0), needs]
            return [(item, location, q)] + [(x, location, -n) for x, n in needs.items()]
        body = {"location_id": location, "quantity": float(q), **({"build_subassemblies": True} if deep else {})}
        return bill_path({"id": item}, self.boms[item]) + "/build", body, means

    def unbuild(self, r):
        with self.lock:
            orders = list(self.built.items())
        if not orders:
            return self.change(r)
        order, (item, location, quantity, _, _) = r.choice(orders)
        q = quantity if r.random() < 0.3 else Fraction(r.randint(1, int(quantity * 10000)), 10000) if r.random() < 0.4 else Fraction(1)

        def means(d):
            b = self.built[order]
            before, after = b[3], b[3] + q
            b[3] = after
            back = {x: half_up(n * after / b[2]) - half_up(n * before / b[2]) for x, n in b[4].items()}
            return [(item, location, -q)] + [(x, location, n) for x, n in back.items()]
        return bill_path({"id": item}, self.boms[item]) + "/unbuild", {"location_id": location, "quantity": float(q), "build_order_id": order}, means

    def request(self, r):
        return r.choices((self.change, self.transfer, self.build, self.unbuild), (3, 2, 4, 3))[0](r)

    def take(self, means, data, client):
        """Books what an answer says was done. Parts that were built first are orders of their own."""
        with self.lock:
            self.book(means(data), data, client)

    def book(self, rows, data, client):
        """Books rows, [(item, location, quantity)], and those of parts that were built first."""
        for child in self.children(data, client):
            bill = self.bills[child["item_id"]]
            q = Fraction(str(child["quantity"]))
            needs = {x: bill.need(x, q) for x in bill.parts}
            self.built[child["id"]] = [child["item_id"], child["location_id"], q, Fraction(0), needs]
            rows = rows + [(child["item_id"], child["location_id"], q)] + [(x, child["location_id"], -n) for x, n in needs.items()]
        for item, location, q in rows:
            self.total[item, location] += q

    def children(self, data, client):
        if data.get("type") != "build":
            return []
        found, todo = [], [data["id"]]
        for item in self.bills:
            found += client.get(f"{ITEMS}/{item}/assembly-orders?limit=100&parent_order_id={todo[0]}").data
        return found

    # ---- the end ----

    def differences(self, client):
        """Where the server does not have what the model says."""
        have = defaultdict(Fraction)
        for item in self.items:
            for v in client.get(f"{ITEMS}/{item['id']}/levels?limit=1000&include_zero_inventory=true").data:
                have[item["id"], v["location_id"]] += Fraction(str(v["available_qty"]))
        wrong = [(k, float(have[k]), float(self.total[k])) for k in set(have) | set(self.total) if have[k] != self.total[k]]
        for item in self.bills:
            for o in client.get(f"{ITEMS}/{item}/assembly-orders?limit=1000&type=build").data:
                if Fraction(str(o["unbuilt_qty"])) != self.built[o["id"]][3]:
                    wrong.append((o["id"], o["unbuilt_qty"], float(self.built[o["id"]][3])))
        return wrong


def half_up(x):
    return Fraction((x * 10000 + Fraction(1, 2)).__floor__(), 10000)
