"""Batches of items, parcels, containers and assets are written in sets: what they leave is what items of batches of their own leave."""
import random

import pytest

from test_batches import run
from test_batches_sets import World, asked, in_a_set, one_by_one
from wharf import MODULES, Server, make_location

TABLES = {"items.item": "", "items.level": "", "items.lot": "", "items.threshold": "", "items.stock_movement": "- 'batch_id'", "items.bom": "", "parcels.parcel": "",
          "containers.container": "", "containers.tracking_update": "", "assets.asset": "", "assets.sequence": "", "shipments.shipment": "", "shipments.tracking_update": "- 'hash'",
          "documents.link": "", "wharf.change_log": "- '{request_id,event_id,batch_id,hash,prev_hash}'::text[]"}
NOTHING = "0000000000000000000000"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES)
    yield s
    s.stop()


class Goods(World):
    """A world with items, a bill, a sequence of serial numbers, and units of its own."""

    TABLES = TABLES

    def __init__(self, server, limited):
        super().__init__(server, limited)
        self.admin.post("/v1/uoms", {"code": "spool", "name": "Spool", "uom_category": "count"}, expect=201)
        closed = make_location(self.admin, "Closed")["id"]
        self.admin.post(f"/v1/locations/{closed}", {"active": False}, expect=200)
        things = [self.admin.post("/v1/items", {"name": f"Thing {i}", "sku": f"T{i}", **more}, expect=201).data["id"] for i, more in enumerate(
            ({"is_asset": True}, {"is_asset": True, "status": "archived"}, {"gtin": "4006381333931"}))]
        sequence = self.admin.post("/v1/assets/sequences", {"prefix": "S-", "sequence": "8"}, expect=201).data["id"]
        self.names |= {id: f"THING{i}" for i, id in enumerate(things)} | {closed: "CLOSED", sequence: "SEQUENCE"}


def stock(r, bad):
    """Stock that an item comes with."""
    entry = {"location_id": "$PLACE0", "available_qty": r.choice((5, "2.5", [7], 12))}
    if r.random() < 0.3:
        entry |= r.choice(({"layout_id": "$LAYOUT0"}, {"damaged_qty": 2}, {"lot_number": "L1"}, {"note": "First"}, {"manifested_qty": 1}))
    if bad:
        entry |= r.choice(({"available_qty": -1}, {"location_id": "loc_" + NOTHING}, {"layout_id": "$LAYOUT1"}, {"available_qty": "x"}, {"location_id": "$PLACE1"}))
    return [entry] + ([{"location_id": "$PLACE0", "layout_id": "$LAYOUT0", "available_qty": 3}] if r.random() < 0.2 else [])


def random_goods(r, i, resource, wrong, wrong_stock):
    """wrong: how many of the items have something that is refused; wrong_stock: also stock that can't be booked, which no set holds."""
    bad = r.random() < wrong

    def pick(good, others=()):
        return r.choice(good + (others if bad else ()))
    metadata = ("metadata", 0.3, lambda: pick(({"row": str(i)},), ({"k" * 101: "x"}, 7)))
    place = [("location_id", 0.8, lambda: pick(("$PLACE0", "$PLACE0"), ("$CLOSED", "$PLACE1", "loc_" + NOTHING))),
             ("layout_id", 0.5, lambda: pick(("$LAYOUT0",), ("$LAYOUT1", "lay_" + NOTHING)))]
    if resource == "item":
        body = {"name": pick((f"Item {i}", "Ähnlich"), ("", None, 7))}
        choices = [
            ("sku", 0.7, lambda: pick((f"SKU{i}",), ("T0", "t1"))), ("external_id", 0.4, lambda: pick((f"X{i}",), ("",))), ("gtin", 0.3, lambda: pick(("4006381333931",), ("4006381333932",))),
            ("base_uom", 0.4, lambda: pick(("each", "kg", "spool"), ("nope",))), ("status", 0.1, lambda: pick(("active", "archived"), ("gone",))),
            ("is_asset", 0.1, lambda: True), ("lot_tracking", 0.2, lambda: pick(("optional",), ("required",))), ("origin_country", 0.2, lambda: pick(("us", "DE"), ("usa",))),
            ("transactional_units", 0.4, lambda: pick(([{"name": "Case", "uom": "spool", "conversion_factor": 12}], [{"name": "Big", "uom": "kg", "conversion_factor": 3}]),
                                                      ([{"name": "x", "uom": "nope"}], [{"name": "Case", "uom": "spool"}, {"name": "Case", "uom": "spool"}]))),
            ("item_transactional_unit_id", 0.1, lambda: pick((None,), ("itu_" + NOTHING,))),
            ("levels", 0.4, lambda: stock(r, wrong_stock and r.random() < 0.1)),
            ("low_stock_thresholds", 0.2, lambda: pick(([{"location_id": "$PLACE0", "available_qty": 10}], []), ([{"location_id": "$PLACE0"}],)))]
    elif resource == "parcel":
        body = {"name": pick((f"Box {i}",), ("", "x" * 200))}
        line = {"item_id": "$THING2", "packed_qty": 2}
        choices = [*place, ("tracking_number", 0.5, lambda: f"BOX{i}"), ("unpacked", 0.2, lambda: pick((True, False), ("x",))), ("weight", 0.3, lambda: pick((2.5,), (-1,))),
                   ("weight_unit", 0.2, lambda: pick(("kg", "oz"), ("stone",))), ("status", 0.3, lambda: pick(("in_storage", "destroyed"), ("lost",))),
                   ("contents", 0.5, lambda: pick(([line], [line, {"sku": "T0", "comment": "second"}], [{"gtin": "4006381333931"}]),
                                                  ([{"item_id": "item_" + NOTHING}], [{"sku": "nope"}], [{"packed_qty": 1}], [{**line, "packed_qty": -1}])))]
    elif resource == "container":
        body = {"name": f"Cage {i}"}
        choices = [*place, ("tracking_number", 0.6, lambda: pick((f"CAGE{i}",), ("cage1", "CAGE2"))), ("coordinates", 0.3, lambda: pick(([1.5, 2],), ([100, 2], "x"))),
                   ("status", 0.2, lambda: pick(("in_transit", "delivered"), ("nope", "created"))), ("comment", 0.2, lambda: pick(("Hello", {"update": "Up"}), (7,))),
                   ("tracking_update", 0.3, lambda: pick(({"status": "in_transit", "location_id": "$PLACE0"}, {"comment": "Seen", "occurred_at": "2026-01-02T03:04:05Z"},
                                                          {"status": "delivered", "coordinates": [3, 4], "images": ["https://example.com/a.png"]}),
                                                         ({"status": "nope"}, {}, 7, {"status": "in_transit", "location_id": "$PLACE1"}))),
                   ("add", 0.02 if wrong_stock else 0, lambda: r.choice((["$OLD1"], ["$OLD2"], [])))]
    else:
        body = {"item_id": pick(("$THING0",), ("$THING1", "$THING2", "item_" + NOTHING))}
        choices = [("location_id", 1, lambda: pick(("$PLACE0",), ("$CLOSED", "$PLACE1"))), place[1],
                   ("serial_number", 0.6, lambda: pick((f"SN{i}",), ("x" * 200,) + ((f"SN{i // 2}", "AST-000003", "S-9") if wrong_stock else ()))),
                   ("status", 0.3, lambda: pick(("in_storage", "repair"), ("on_loan", "nope"))), ("assignee_id", 0.2, lambda: pick(("$CONTACT0",), ("ctct_" + NOTHING,))),
                   ("maintenance_schedule", 0.2, lambda: pick(("monthly",), ("often",))), ("currency", 0.1, lambda: pick(("eur",), ("x",)))]
    for key, p, make in [*choices, metadata, ("unknown", 0.02 if bad else 0, lambda: 1)]:
        if r.random() < p:
            body[key] = make()
    if resource == "asset" and "serial_number" not in body and r.random() < 0.6:
        body["sequence_id"] = pick(("$SEQUENCE",), ("seq_" + NOTHING,) if wrong_stock else ())
    return body


def both(together, apart, resource, templates, **more):
    """Writes the same to both worlds, in a set to one, item by item to the other, and compares what is told of each."""
    told, results = in_a_set(together, resource, [together.body(t) for t in templates], **more)
    repeated = {i for i, t in told.items() if t[1] == "batch.duplicate"}
    other, other_results = one_by_one(apart, resource, [apart.body(t) for t in templates], "item", repeated, **more)
    for world, found in ((together, results), (apart, other_results)):
        world.named(resource, found)
    for i in other:
        assert together.plain(told[i]) == apart.plain(other[i]), (templates[i], told[i], other[i])
    left, other_left = together.left(), apart.left()
    for table in left:
        assert left[table] == other_left[table], (table, more)
    return told


@pytest.mark.parametrize("resource", ["item", "parcel", "container", "asset"])
@pytest.mark.parametrize("seed, wrong, wrong_stock, limited", [(1, 0, False, False), (2, 0.3, False, True), (3, 0.35, True, False)])
def test_sets_leave_what_single_writes_leave(server, resource, seed, wrong, wrong_stock, limited):
    r = random.Random(f"{resource} {seed}")
    templates = [random_goods(r, i, resource, wrong, wrong_stock) for i in range(100)]
    together, apart = Goods(server, limited), Goods(server, limited)
    told = both(together, apart, resource, templates)
    made = [i for i, t in told.items() if t[0] == "created"]
    assert len(made) > 30
    changes = [{"id": f"$ROW{i}", "metadata": {"again": str(i)}, **r.choice(({}, {"status": "archived" if resource == "item" else "in_storage"} if resource != "container" else
               {"status": "in_transit"}, {"name": "Other"} if resource != "asset" else {"notes": "Other"}))} for i in made]
    both(together, apart, resource, changes)
    gone = [{"id": f"$ROW{i}"} for i in made] + [{"id": f"$THING{i}"} for i in range(3) if resource == "item"]
    told = both(together, apart, resource, gone, action="delete")
    assert sum(t[0] == "deleted" for t in told.values()) > 20


@pytest.mark.usual_settings  # hooks of the operator on each row are statements too
@pytest.mark.parametrize("resource, body", [
    ("item", {"name": "I", "base_uom": "spool", "levels": [{"location_id": "$PLACE0", "available_qty": 5}, {"location_id": "$PLACE0", "layout_id": "$LAYOUT0", "available_qty": [2]}]}),
    ("parcel", {"name": "P", "location_id": "$PLACE0", "layout_id": "$LAYOUT0", "contents": [{"item_id": "$THING2"}]}),
    ("container", {"name": "K", "location_id": "$PLACE0", "layout_id": "$LAYOUT0", "tracking_update": {"status": "in_transit"}}),
    ("asset", {"item_id": "$THING0", "location_id": "$PLACE0", "layout_id": "$LAYOUT0"})])
def test_a_row_of_a_set_takes_less_than_two_statements(server, resource, body):
    world, told = Goods(server, False), {}
    bodies = [world.body(body) for _ in range(400)]

    def act():
        told.update(in_a_set(world, resource, bodies)[0])
    assert len(asked(server, act)) < 2 * len(bodies)
    assert {t[0] for t in told.values()} == {"created"}
    if resource == "item":  # what has stock stays
        run(world.admin, [{"id": i, "levels": [{"location_id": world.places[0], "layout_id": place, "available_qty": [0]} for place in (None, world.layouts[0])]}
                          for i in made(world, "items.item")], resource="item")
    gone = [{"id": i} for i in made(world, TABLE_OF[resource])]

    def remove():
        told.update(in_a_set(world, resource, gone, action="delete")[0])
    assert len(asked(server, remove)) < 2 * len(gone)
    assert {t[0] for t in told.values()} == {"deleted"}


TABLE_OF = {"item": "items.item", "parcel": "parcels.parcel", "container": "containers.container", "asset": "assets.asset"}


def made(world, table):
    known = [id for id in world.names if id.startswith("item_")]
    return [row[0] for row in world.org.server.sql(f"SELECT id FROM {table} WHERE organization_id = %s AND NOT id = ANY (%s) ORDER BY id", world.org.id, known)]
