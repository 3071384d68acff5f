"""Batches of trackers and of shipments are written in sets: what they leave is what single writes leave."""
import json
import random
import re

import pytest

from test_batches import BATCHES, run
from test_batches_resources import PATHS
from wharf import MODULES, Server, make_contact, make_location

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*(Z|\+00:00)")
ID = re.compile(r"\b([a-z]+)_[0-9A-Za-z]{22}\b")
HASH = re.compile(r"\b[0-9a-f]{64}\b")
INTERNAL = re.compile(r"\bWHRF-[0-9A-Z]{7}-[0-9A-Z]{7}\b")
TABLES = {"shipments.shipment": "", "trackers.tracker": "", "shipments.tracking_update": "- 'hash'", "parcels.parcel": "", "locations.address": "",
          "wharf.change_log": "- '{request_id,event_id,batch_id,hash,prev_hash}'::text[]"}
EVENTS = ("SELECT jsonb_build_object('type', type, 'data', data, 'previous', previous_attributes, 'location', location_id, 'of', resource_id, 'actor',"
          " ARRAY[actor_type, actor_name], 'flags', ARRAY[disable_webhooks, data_truncated], 'depth', depth) FROM wharf.event WHERE organization_id = %s")


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES)
    yield s
    s.stop()


class World:
    """An organization with what items name, and names for ids that are the same in every such organization."""

    TABLES = TABLES

    def __init__(self, server, limited):
        self.org = server.organization()
        self.admin = self.org.client()
        self.names = {self.org.id: "ORG"}
        self.places = [make_location(self.admin, n)["id"] for n in ("A", "B")]
        self.layouts = [self.admin.post(f"/v1/locations/{p}/layouts", {"name": "Shelf"}, expect=201).data["id"] for p in self.places]
        self.contacts = [make_contact(self.admin, n) for n in ("Ann Lee", "Bob Ray")]
        self.admin.post("/v1/org", {"settings": {"shipments": {"private_rates": [{"service_level_id": "van", "name": "Van", "amount": 500}]}}}, expect=200)
        old = [self.admin.post("/v1/shipments", {"tracking_number": f"OLD{i}", **({"tracking_update": {"status": "delivered"}} if i == 3 else {})}, expect=201).data
               for i in range(5)]
        for kind, ids in (("PLACE", self.places), ("LAYOUT", self.layouts), ("CONTACT", self.contacts), ("OLD", [o["id"] for o in old]),
                          ("OLDTRACKER", [o["tracker_id"] for o in old])):
            self.names |= {id: f"{kind}{i}" for i, id in enumerate(ids)}
        self.parents = [old[0]["id"]]
        self.client = self.org.client(locations=self.places[:1]) if limited else self.admin

    def body(self, template):
        """The template with this organization's ids instead of their names."""
        text = json.dumps(template)
        for id, name in self.names.items():
            text = text.replace(f'"${name}"', f'"{id}"')
        return json.loads(text)

    def named(self, resource, results):
        """Names what items left: ROW of the item, what hangs on it by its place."""
        for i, id in results.items():
            if id and id not in self.names:
                self.names[id] = f"ROW{i}"
        column, other = ("tracker_id", "id") if resource == "tracker" else ("id", "tracker_id")
        for mine, its, number in self.org.server.sql(
                f"SELECT {column}, {other}, tracking_number FROM shipments.shipment WHERE organization_id = %s ORDER BY id", self.org.id):
            if its and its not in self.names:
                self.names[its] = f"OF {self.names.get(mine, number)}"

    def plain(self, value):
        text = json.dumps(value, default=str, ensure_ascii=False, sort_keys=True)
        for id, name in self.names.items():
            text = text.replace(id, name)
        return ID.sub(r"\1", HASH.sub("HASH", INTERNAL.sub("INTERNAL", MOMENT.sub("TIME", text))))

    def left(self):
        def sql(text):
            return sorted(self.plain(row[0]) for row in self.org.server.sql(text, self.org.id))
        found = {t: sql(f"SELECT to_jsonb(t) {without} FROM {t} t WHERE organization_id = %s" + " AND resource NOT IN ('batch', 'api_key')" * ("change_log" in t))
                 for t, without in self.TABLES.items()}
        # what was there before: a transaction tells once of a row that it changes several times, and the items of a batch are in one
        old = [self.names[id] for id in self.names if self.names[id].startswith("OLD")]
        events = [json.loads(e) for e in sql(EVENTS + " AND type NOT LIKE 'batch.%%'")]
        return found | {"events": [e for e in events if e["of"] not in old], "told": sorted({(e["of"], e["type"]) for e in events})}


def random_item(r, i, resource):
    """Every third item has something wrong, or something that no set holds."""
    bad = r.random() < 0.35

    def pick(good, wrong=()):
        return r.choice(good + (wrong if bad else ()))
    number = pick((f"NEW{i}", f"new {i}x", f"1Z58F2A7037865{7975 - i}", f"9400111899223{i:09d}"), ("OLD1", "old 2", "OLD3", f"NEU{i}É", "x" * 70, "  ", 7, None))
    if r.random() < 0.06:
        number = f"OLD{r.randrange(5)}"
    body = {"tracking_number": number, "metadata": {"row": str(i)}}
    update = {"status": "in_transit", "comment": "On its way", "occurred_at": "2026-01-02T03:04:05Z"}
    choices = [
        ("provider_id", 0.2, lambda: pick(("ups", "unknown"), ("nope", 7))), ("type", 0.3, lambda: pick(("inbound", "outbound"), ("sideways",))),
        ("location_id", 0.5, lambda: pick(("$PLACE0", "$PLACE0", None), ("$PLACE1", "loc_0000000000000000000000"))),
        ("layout_id", 0.2, lambda: pick(("$LAYOUT0",), ("$LAYOUT1", "no"))), ("disable_webhooks", 0.05, lambda: pick((True, False), ("no",))),
        ("allow_duplicate", 0.1, lambda: pick((True, False))), ("unknown", 0.05, lambda: 1),
        ("tracking_update", 0.35, lambda: pick(
            (update, [update, {"status": "delivered"}], {"status": "canceled", "comment": "No"}, {"status": "in_transit", "location_id": "$PLACE0", "coordinates": [1.5, -2]},
             [update, update], {"status": "in_transit", "contact_id": "$CONTACT0", "images": ["https://example.com/a.png"], "address": "Agawam, MA"}),
            ({"status": "created"}, {"comment": "only"}, {"status": "nope"}, {"status": "delivered", "location_id": "$PLACE1"}, {"status": "in_transit", "user_id": "no"}, [])))]
    if resource == "tracker":
        choices += [
            ("on_ambiguity", 0.2, lambda: pick(("use_best", "error"), ("maybe",))), ("chained_status", 0.2, lambda: pick(("in_transit",), ("created", 1))),
            ("sender_contact_id", 0.25, lambda: pick(("$CONTACT0", "$CONTACT1"), ("cont_0000000000000000000000",))),
            ("recipient_contact_id", 0.2, lambda: pick(("$CONTACT1",), ("no",))), ("auto_close_shipments_option", 0.1, lambda: "never"),
            ("destination", 0.1, lambda: pick(({"location": "Dock 4"},), ("Dock",)))]
    else:
        party = {"name": "Ann Lee", "email": "ann@example.com", "address": "1 Main St, Springfield, IL 62701, US"}
        choices += [
            ("sender", 0.5, lambda: pick((party, "$CONTACT0", {"contact_id": "$CONTACT1", "phone": "217 555 0100"}),
                                         ({**party, "email": "no"}, 7, "cont_0000000000000000000000", {**party, "address": {"country_code": "XX", "city": "x"}}))),
            ("recipient", 0.5, lambda: pick(({**party, "name": "Bob", "address": {"line1": f"{i} Elm St", "city": "Agawam", "country_code": "US"}}, "$CONTACT1"), ({"phone": "1"},))),
            ("parcels", 0.4, lambda: pick(([{"length": 1, "width": 2, "height": 3, "weight": 4.5}, {"length": 1, "width": 1, "height": 1, "weight": 0.25}],), ([{"weight": "x"}],))),
            ("options", 0.2, lambda: pick(({"purchase": "recommended"}, {"service_level_id": "van"}), ({"service_level_id": "ship"}, {"provider_timeout": 1}))),
            ("parent_id", 0.1, lambda: pick(("$OLD0",), ("ship_0000000000000000000000",))), ("log", 0.1, lambda: pick(({"message": "Hello", "visibility": "public"},), ({},))),
            ("tags", 0.2, lambda: pick((["fragile"], ["fragile", "lithium"]), (["odd"],))), ("weight", 0.1, lambda: pick((3.25,), (-1,))),
            ("notes", 0.1, lambda: 'with "quotes", \\ and {braces}\nNULL')]
    for key, p, make in choices:
        if r.random() < p:
            body[key] = make()
    if r.random() < 0.1:
        del body["tracking_number"]
    return body


def in_a_set(world, resource, bodies, **more):
    """{item: (operation, code)} and {item: id}."""
    b = run(world.client, bodies, resource=resource, **more)
    items = world.client.get(f"{BATCHES}/{b['id']}/items?limit=1000").data
    assert len(items) == len(bodies)
    return {i["index"]: (i["operation"], i["code"], i["errors"]) for i in items}, {i["index"]: i["result_id"] for i in items}


def one_by_one(world, resource, bodies, way, skipped, **more):
    told, results = {}, {}
    for i, body in enumerate(bodies):
        if i in skipped:
            continue
        if way == "item":
            one, id = in_a_set(world, resource, [body], **more)
            told[i], results[i] = one[0], id[0]
        else:
            a = world.client.post(PATHS[resource], body)
            told[i] = ({201: "created", 200: "unchanged"}.get(a.status), a.code if a.status >= 400 else None, a.errors if a.status >= 400 else [])
            results[i] = a.data["id"] if a.status < 300 else None
    return told, results


@pytest.mark.parametrize("resource, way, seed, limited", [
    ("tracker", "post", 1, False), ("tracker", "item", 2, True), ("shipment", "post", 3, False), ("shipment", "item", 4, True), ("shipment", "item", 5, False)])
def test_sets_leave_what_single_writes_leave(server, resource, way, seed, limited):
    r = random.Random(seed)
    templates = [random_item(r, i, resource) for i in range(120)]
    together, apart = World(server, limited), World(server, limited)
    told, results = in_a_set(together, resource, [together.body(t) for t in templates])
    repeated = {i for i, t in told.items() if t[1] == "batch.duplicate"}
    other, other_results = one_by_one(apart, resource, [apart.body(t) for t in templates], way, repeated)
    together.named(resource, results)
    apart.named(resource, other_results)
    for i in other:
        a, b = told[i], other[i]
        if way == "post" and a[1]:  # a batch says of a shape that it is one; parsing judges what a request does not
            assert b[1], (templates[i], a, b)
        else:
            assert together.plain(a) == apart.plain(b), (templates[i], a, b)
    assert {t[0] for t in told.values()} - {"unchanged"} == {None, "created"} and (limited or "unchanged" in {t[0] for t in told.values()})
    assert sum(t[0] == "created" for t in told.values()) > 40
    left, other_left = together.left(), apart.left()
    for table in left:
        assert left[table] == other_left[table], table


def asked(server, act):
    """The statements that the database is asked meanwhile, by anybody."""
    log = server.folder / "postgresql.log"
    server.sql("ALTER SYSTEM SET log_statement = 'all'")
    server.sql("SELECT pg_reload_conf()")
    before = log.stat().st_size
    try:
        act()
        text = log.read_bytes()[before:].decode(errors="replace")
    finally:
        server.sql("ALTER SYSTEM RESET log_statement")
        server.sql("SELECT pg_reload_conf()")
    return re.findall(r"LOG:  ?(?:statement|execute [^:]*):\s*([^\n]*)", text)


@pytest.mark.usual_settings  # hooks of the operator on each row are statements too
@pytest.mark.parametrize("resource", ["tracker", "shipment"])
def test_a_row_of_a_set_takes_less_than_three_statements(server, resource):
    world = World(server, False)
    party = {"name": "Ann Lee", "email": "ann@example.com", "address": "1 Main St, Springfield, IL 62701, US"}
    more = {"sender_contact_id": "$CONTACT0"} if resource == "tracker" else {"sender": party, "recipient": "$CONTACT1"}
    bodies = [world.body({"tracking_number": f"FEW{i}", "location_id": "$PLACE0", "tracking_update": {"status": "in_transit"}, **more}) for i in range(150)]
    told = {}

    def act():
        told.update(in_a_set(world, resource, bodies)[0])
    assert len(asked(server, act)) < 3 * len(bodies)
    assert {t[0] for t in told.values()} == {"created"}
