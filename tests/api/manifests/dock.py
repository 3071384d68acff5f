"""A random dock for tests: manifests at two locations, requests of parallel clients, and a model in exact numbers of what each that was taken means.
A request carries an Idempotency-Key, so that one whose answer was lost can be sent again."""
import random
import threading
from collections import defaultdict
from fractions import Fraction

from goods_in import MANIFESTS, shown
from stock import levels, make_item
from wharf import make_location

REFUSALS = {"item.insufficient_stock", "manifest.closed", "manifest.reversed", "manifest.received", "manifest.received_booked", "manifest.not_accepted", "manifest.parcel_received", "manifest.assets_used", "validation.failed", "item.lot_required",
            "manifest.status_invalid"}


class Dock:
    def __init__(self, client, seed, assets=False):
        self.client, self.r, self.lock = client, random.Random(seed), threading.Lock()
        self.places = []
        for name in ("North", "South"):
            location = make_location(client, name)
            row = client.post(f"/v1/locations/{location['id']}/layouts", [{"name": "A"}], expect=201).data[0]
            self.places.append((location["id"], (location["default_layout_id"], row["id"])))
        self.items = [make_item(client, "Each", sku="D-1", transactional_units=[{"name": "Dozen", "uom": "dozen", "barcode": "DOCK-DOZEN"}]), make_item(client, "Loose", sku="D-2", base_uom="kg"),
                      make_item(client, "Lot", sku="D-3", lot_tracking="required"), make_item(client, "Piece", sku="D-4", is_asset=assets)]
        self.manifests = []  # (id, place)
        self.known = []  # receipts that can be reversed: (manifest, receipt)
        self.booked = defaultdict(Fraction)  # (item, location, bucket)
        self.receipts = {}
        for _ in range(4):
            self.new()

    def new(self):
        place = self.r.choice(self.places)
        lines = [{"sku": f"D-{self.r.randint(1, 4)}", "packed_qty": self.r.randint(1, 40), **({"layout_id": self.r.choice(place[1])} if self.r.random() < 0.5 else {})} for _ in range(self.r.randint(1, 6))]
        m = self.client.post(MANIFESTS, {"location_id": place[0], "status": "accepted", "articles": lines[1:], "containers": [{"tracking_number": f"DOCK{self.r.random()}", "articles": lines[:1]}]}, expect=201).data
        self.manifests.append((m["id"], place[0], m["containers"][0]["id"]))

    # ---- requests ----

    def line(self, r):
        item = r.choice(self.items)
        q = r.randint(1, 4) if item["sku"] != "D-2" else r.randint(1, 40000) / 10000
        line = {"sku": item["sku"], "received_qty": q}
        if item["sku"] == "D-3":
            line["lot_number"] = f"L-{r.randint(1, 3)}"
        if item["sku"] == "D-1" and r.random() < 0.3:
            line = {"code": "dock-dozen", "received_qty": 1}
        if r.random() < 0.3:
            line["defective_qty"] = 1 if q >= 1 else 0
        return line

    def request(self, r):
        """(path, body)"""
        m, _, parcel = r.choice(self.manifests)
        dice = r.random()
        path = f"{MANIFESTS}/{m}/receipts"
        with self.lock:
            known = r.choice(self.known) if self.known else None
        if dice < 0.45:
            return path, self.line(r)
        if dice < 0.6:
            return path, {"lines": [self.line(r) for _ in range(r.randint(1, 8))]}
        if dice < 0.75 and known:
            return f"{MANIFESTS}/{known[0]}/receipts", {"reverses_receipt_id": known[1]}
        if dice < 0.8:
            return path, {"parcel_id": parcel, "unpacked": r.random() < 0.5}
        if dice < 0.92:
            return f"{MANIFESTS}/{m}", {"articles": [{"sku": f"D-{r.randint(1, 4)}", "packed_qty": r.randint(1, 9)}]}
        if dice < 0.94:
            return f"{MANIFESTS}/{m}", {"status": r.choice(["completed", "void"])}
        return f"{MANIFESTS}/{m}", {"comment": str(dice)}

    def taken(self, data):
        """Books what an answer says of a receipt."""
        if data["object"] != "receipt":
            return
        sign = -1 if data["type"] == "reversal" else 1
        with self.lock:
            assert data["id"] not in self.receipts, "a receipt was answered to two requests"
            self.receipts[data["id"]] = data
            for x in data["lines"]:
                good = Fraction(str(x["received_qty"])) - Fraction(str(x["defective_qty"]))
                self.booked[x["item_id"], data["location_id"], "available"] += sign * good
                self.booked[x["item_id"], data["location_id"], "damaged"] += sign * Fraction(str(x["defective_qty"]))
            if data["type"] in ("scan", "parcel"):
                self.known.append((data["manifest_id"], data["id"]))

    # ---- at the end ----

    def completions(self, client):
        """Receipts that completions made are in no answer."""
        for m, _, _ in self.manifests:
            for x in client.get(f"{MANIFESTS}/{m}/receipts?type=completion&limit=1000").data:
                self.taken(x)

    def differences(self, client):
        self.completions(client)
        told, expected = [], defaultdict(Fraction)
        for m, place, _ in self.manifests:
            d = shown(client, {"id": m})
            rows = d["articles"] + [a for c in d["containers"] for a in c["articles"]]
            if d["status"] not in ("completed", "void"):
                for a in rows:
                    expected[a["item_id"], place] += Fraction(str(a["remaining_qty"]))
            seen = {x["id"] for x in client.get(f"{MANIFESTS}/{m}/receipts?limit=1000").data}
            told += [f"{x} is in no list" for x, r in self.receipts.items() if r["manifest_id"] == m and x not in seen]
            told += [f"{x} was never answered" for x in seen - self.receipts.keys()]
        for item in self.items:
            rows = levels(client, item)
            for place, _ in self.places:
                here = [v for v in rows if v["location_id"] == place]
                for bucket, want in (("available", self.booked[item["id"], place, "available"]), ("damaged", self.booked[item["id"], place, "damaged"]), ("manifested", expected[item["id"], place])):
                    has = sum(Fraction(str(v[f"{bucket}_qty"])) for v in here)
                    if has != want:
                        told.append(f"{item['sku']} at {place}: {bucket} {float(has)}, and the model says {float(want)}")
        return told
