"""What tests of bills of materials share: making them, and a model of them in exact numbers."""
import itertools
from fractions import Fraction

from stock import ITEMS, entry, make_item

UNIT = Fraction(1, 10000)


def bill_path(item, bom=None):
    return f"{ITEMS}/{item['id']}/boms" + (f"/{bom['id']}" if bom else "")


def part(item, quantity=1, **more):
    return {"item_id": item["id"] if isinstance(item, dict) else item, "quantity": quantity, **more}


def make_assembly(client, name="Assembly", **more):
    return make_item(client, name, item_type="assembly", **more)


def make_bom(client, item, *parts, expect=201, **more):
    """A bill of an item; a part is an item, (item, quantity), or a component."""
    components = [part(*p) if isinstance(p, tuple) else p if "item_id" in p else part(p) for p in parts]
    return client.post(bill_path(item), {"components": components, **more}, expect=expect).data


def bom_of(client, item, bom, query="", expect=200):
    return client.get(bill_path(item, bom) + query, expect=expect).data


def change_bom(client, item, bom, expect=200, **body):
    return client.post(bill_path(item, bom), body, expect=expect).data


def stocked(client, location, quantity, name="Part", **more):
    """An item with stock at a location, in its default layout."""
    levels = [entry(location, available_qty=quantity)] if quantity else []
    return make_item(client, name, levels=levels, **more)


# ---- the model: spec 09 section 2, in exact numbers ----

def round4(x):
    """Half away from zero, to 4 digits; what is not zero does not become zero."""
    n = (abs(x) / UNIT + Fraction(1, 2)).__floor__()
    return max(n, 1 if x else 0) * UNIT


class Bill:
    """A version of a bill: parts is {item: (quantity, factor)}."""

    def __init__(self, parts, output=1, minimum=0, counted=True, assets=()):
        self.parts = {k: (Fraction(str(q)), Fraction(str(f))) for k, (q, f) in parts.items()}
        self.output, self.minimum = Fraction(str(output)), Fraction(str(minimum))
        self.first_step, self.assets = Fraction(1) if counted else UNIT, set(assets)

    def exact_need(self, item, build):
        q, f = self.parts[item]
        return build * q * f / self.output

    def need(self, item, build):
        """None: an asset item would have to be divided."""
        need = self.exact_need(item, build)
        if item in self.assets:
            return need if need.denominator == 1 else None
        return round4(need)

    @property
    def step(self):
        for k in itertools.count(1):
            if all(self.exact_need(item, k * self.first_step).denominator == 1 for item in self.assets):
                return k * self.first_step

    def most(self, available):
        """The largest multiple of the step that the parts allow, by trying around the quotient."""
        best = None
        for item in self.parts:
            have = Fraction(available.get(item, 0))
            guess = have / self.exact_need(item, Fraction(1)) if have else Fraction(0)
            k = int(guess / self.step) + 2
            while k and (self.need(item, k * self.step) is None or self.need(item, k * self.step) > have):
                k -= 1
            best = k * self.step if best is None else min(best, k * self.step)
        return best


def plan(bills, root, quantity, available):
    """What is built of each part so that quantity of the bill root can be, or None (section 10.3)."""
    order, seen = [], set()

    def visit(bill):
        for item in bill.parts:
            if item not in seen:
                seen.add(item)
                if item in bills:
                    visit(bills[item])
                order.append(item)

    visit(root)
    gross, built = {}, {}
    for item in root.parts:
        gross[item] = root.need(item, quantity)
    for item in reversed(order):
        need = gross.get(item, Fraction(0))
        if need is None:
            return None
        net = need - Fraction(available.get(item, 0))
        if net <= 0:
            continue
        if item not in bills:
            return None
        bill = bills[item]
        build = max(net, bill.minimum)
        build = -(-build // bill.step) * bill.step
        built[item] = build
        for below in bill.parts:
            one = bill.need(below, build)
            if one is None:
                return None
            gross[below] = gross.get(below, Fraction(0)) + one
    return built


def most_multi_level(bills, root, available, limit=10_000):
    """The largest multiple of the step that can be planned, by trying each."""
    k = 0
    while k < limit and plan(bills, root, (k + 1) * root.step, available) is not None:
        k += 1
    return k * root.step


# ---- builds ----

def build(client, item, bom, location, quantity, expect=201, **more):
    return client.post(bill_path(item, bom) + "/build", {"location_id": location["id"], "quantity": quantity, **more}, expect=expect).data


def unbuild(client, item, bom, location, quantity, expect=201, **more):
    return client.post(bill_path(item, bom) + "/unbuild", {"location_id": location["id"], "quantity": quantity, **more}, expect=expect).data


def refused_build(client, item, bom, location, quantity, status, code, errors=None, path="/build", **more):
    return client.refused("POST", bill_path(item, bom) + path, status, code, errors, body={"location_id": location["id"], "quantity": quantity, **more})


def orders(client, item, query=""):
    return client.get(f"{ITEMS}/{item['id']}/assembly-orders?limit=1000{query}").data
