"""Events carry what retrieve shows (spec 07 section 4): every resource with events is made, changed and deleted, by one and by many, and every story of the API is told; each event
that is made on the way is compared with GET of its row. What may be left out is the table of section 4.1, and nothing else."""
import pathlib
import re
import sys

import pytest

from resources import BY_RULE, BEFORE_DELETE, DEFINITIONS, EVENT_PREFIX, World, ops, properties, types, value, x
from wharf import ROOT

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "openapi"))
import stories  # noqa: E402


def left_out():
    """resource -> {member: why}, as the specification has it; "" is of all."""
    text = (ROOT / "docs/spec/07-events-and-webhooks.md").read_text()
    table = re.search(r"### 4\.1 .*?\n\| Resource \| Members \| Why \|\n\|[-|]+\n(.*?)\n\n", text, re.S).group(1)
    found = {}
    for row in table.splitlines():
        resource, members, why = (c.strip() for c in row.strip("|").split("|"))
        for member in re.findall(r"`(\w+)`", members):
            found.setdefault("" if resource == "every one" else resource, {})[member] = why
    return found


OUT = left_out()
LISTS = {"support_request": {"messages": 20}}  # of these the newest, as section 4.1 says
EMPTY = {"shipping_label_inference": {"recipient": "matches", "sender": "matches"}}  # lists inside of members, of which nothing is told
EVENTED = [r for r in DEFINITIONS if x(r).get("events", {}) is not False and "retrieve" in ops(r)]


def exempt(resource):
    """Secrets of plugins are theirs; those of modules stand in the table."""
    theirs = {n: "secret: of a plugin" for n, p in DEFINITIONS[resource]["properties"].items() if EVENT_PREFIX[resource] and p.get("x-wharf", {}).get("secret")}
    return {**OUT.get("", {}), **OUT.get(resource, {}), **theirs}


def retrieved(p):
    """Is it a member of what retrieve answers?"""
    w = p.get("x-wharf", {})
    return "retrieve" in w.get("in", [] if w.get("store") in ("input", "secret") else ["list", "retrieve"])


def unlike(resource, row, data, extra=()):
    """What an event's data says otherwise than its row, as GET shows it."""
    out, faults = exempt(resource), []
    for name, shown in row.items():
        if name in LISTS.get(resource, {}):
            shown = shown[-LISTS[resource][name]:]
        if shown and name in EMPTY.get(resource, {}):
            shown = {**shown, EMPTY[resource][name]: []}
        if name in out:
            faults += [f"{name} is left out, and it is there"] if name in data else []
        elif name not in data:
            faults.append(f"{name} is missing")
        elif data[name] != shown:
            faults.append(f"{name}: {str(data[name])[:300]}, GET shows {str(shown)[:300]}")
    return faults + [f"{name} is in no row" for name in data.keys() - row.keys() - {"deleted_at"} - set(extra)]


# ---- the table ----

def test_the_table_is_what_the_definitions_say():
    """No member is left out that the table doesn't name, and it names none that is there."""
    for resource, d in DEFINITIONS.items():
        events = x(resource).get("events", {})
        if events is False or "retrieve" not in ops(resource):
            continue
        held = x(resource).get("holds", {}).get("fields", [])
        assert not set(events.get("parts", {})) & set(events.get("without", [])), resource
        out = {n for n in events.get("without", []) if d["properties"][n].get("x-wharf", {}).get("in") != ["written"]}
        for name, p in d["properties"].items():
            w = p.get("x-wharf", {})
            flags = [v for v in w.get("in", []) if v.startswith("flag:")]
            if w.get("secret") or w.get("fresh") or w.get("writers") or name in held:
                out |= {name} if retrieved(p) else set()
            if flags and w.get("null_unasked"):
                out.add(name)
        assert out <= set(exempt(resource)), resource
        assert set(OUT.get(resource, {})) <= out | {n for n in d["properties"] if d["properties"][n].get("x-wharf", {}).get("null_unasked")}, resource
    assert all(re.match(r"(caller|asked|expires|secret): ", why) for members in OUT.values() for why in members.values())


def test_the_description_says_the_same(server):
    """The schema of a type's data has the members of the row, but for those."""
    for resource in EVENTED:
        title = next((t for t in server.openapi["components"]["schemas"] if t.lower() == resource.replace("_", "") + "eventdata"), None)
        if not title:
            continue
        members = set(server.openapi["components"]["schemas"][title]["properties"])
        row = {n for n, p in DEFINITIONS[resource]["properties"].items() if retrieved(p)}
        assert not members & set(exempt(resource)), resource
        assert row - set(exempt(resource)) <= members, resource


# ---- one of each ----

@pytest.fixture(scope="module")
def world(server):
    return World(server)


def newest(client, id, types=None):
    """The newest event of a row, as GET /v1/events has it."""
    rows = client.get(f"/v1/events?resource_id={id}&include_data=true&limit=100&order_by=created_at&direction=desc").data
    return next(e for e in rows if types is None or e["type"] in types)


def declared(resource, what):
    events = x(resource).get("events", {})
    return events.get(what, f"{EVENT_PREFIX[resource]}{resource}.{what}")


def a_change(world, resource):
    """A change of one text, where the resource has one that may be anything; else what a rule of it takes."""
    own = {"shipment": {"reference_number": "R-1"}, "tracker": {"metadata": {"gate": "2"}}, "organization": {"name": "Renamed"}, "webhook": {"name": "Renamed"}, "support_request": {"message": "More of it"},
           "print_job": {"priority": 7}, "event_subscriber": {"events": ["webhook.disabled"]}, "contact": {"notes": "New"}, "document": {"notes": "New", "legal_hold": False}, "location": {"name": "Renamed"}}
    if resource in own:
        return own[resource]
    found = next(((n, p) for n, p in properties(resource, "update").items() if types(p)[0] == "string" and "enum" not in p and "pattern" not in p and
                  not p.get("x-wharf", {}).get("ref") and n not in BY_RULE.get(resource, ()) and p.get("format") != "date-time"), None)
    return {found[0]: value(found[1], found[0])} if found else None


def a_row(world, resource):
    """The path of a new row."""
    if resource == "organization":
        return "/v1/organizations/" + world.org.id
    if resource == "lot":
        item = world.make("item", lot_tracking="optional", levels=[{"location_id": world.places[0], "available_qty": 1, "lot_number": "L1"}])
        path = x("lot")["collection"].replace(":" + x("lot").get("parent", {}).get("param", "item"), item["id"])
        return f"{path}/{world.all.get(path).ids[0]}"
    if "create" not in ops(resource) and resource not in ("layout", "shipment", "tracker", "contact", "batch"):
        return None
    world.make(resource, everything=True)
    return world.where


@pytest.mark.parametrize("resource", EVENTED)
def test_made_changed_and_deleted(world, resource):
    where = a_row(world, resource)
    if not where:
        pytest.skip("it is made by others: the stories have it")
    row = world.all.get(where).data
    if declared(resource, "created") and resource not in ("organization", "lot", "batch", "export", "print_job"):
        faults = unlike(resource, row, newest(world.all, row["id"], [declared(resource, "created")])["data"])
        assert not faults, ("created", faults)
    change = a_change(world, resource)
    if change and "update" in ops(resource):
        world.all.post(where, {**change, **BEFORE_DELETE.get(resource, {})}, expect=200)
        row = world.all.get(where).data
        told = [declared(resource, "updated")] if declared(resource, "updated") else None
        if told:
            faults = unlike(resource, row, newest(world.all, row["id"], told)["data"])
            assert not faults, ("updated", faults)
    if "delete" in ops(resource) and declared(resource, "deleted"):
        row = world.all.get(where).data
        world.all.delete(where, expect=200)
        data = newest(world.all, row["id"], [declared(resource, "deleted")])["data"]
        archive = x(resource).get("archive")
        moved = {"updated_at", "updated_by", archive} if archive else set()
        faults = unlike(resource, {k: v for k, v in row.items() if k not in moved}, {k: v for k, v in data.items() if k not in moved})
        assert data["deleted_at"] and not faults, ("deleted", faults)


def test_who_writes_and_how_makes_no_difference(world):
    """A key of one location, and parameters of the answer: the event is the same that a key of all of them makes."""
    here, there = world.places
    boxes = [world.make("shipment", location_id=there)["id"] for _ in range(2)]
    cage = world.make("container", location_id=here, add=boxes)["id"]
    near = world.org.client(locations=[here])
    near.post(f"/v1/containers/{cage}?include_shipments=true&include_documents=true&fields=id", {"name": "Renamed"}, expect=200)
    data = newest(world.all, cage, ["container.updated"])["data"]
    assert not (faults := unlike("container", world.all.get(f"/v1/containers/{cage}").data, data)), faults
    assert sorted(data["shipments"]) == sorted(boxes)


def test_a_history_is_in_its_events(world):
    """Lines of the row that the change itself made, and no more than retrieve shows."""
    box = world.make("shipment")["id"]
    for i in range(3):
        world.all.post(f"/v1/shipments/{box}", {"tracking_update": {"status": "in_transit", "comment": f"Stop {i}"}}, expect=200)
        data = newest(world.all, box, ["shipment.updated"])["data"]
        assert [u["comment"] for u in data["tracking_updates"]][-1] == f"Stop {i}" and data["tracking_updates"] == world.all.get(f"/v1/shipments/{box}").data["tracking_updates"]
    cage = world.make("container")["id"]
    world.all.post(f"/v1/containers/{cage}", {"tracking_update": {"status": "in_transit", "comment": "Up"}}, expect=200)
    data = newest(world.all, cage, ["container.updated"])["data"]
    assert data["tracking_updates"][-1]["comment"] == "Up" and not unlike("container", world.all.get(f"/v1/containers/{cage}").data, data)


def test_a_comment_alone_is_in_the_event(world):
    box = world.make("shipment")["id"]
    world.all.post(f"/v1/shipments/{box}", {"tracking_update": {"comment": "Wet on one side"}}, expect=200)
    data = newest(world.all, box, ["shipment.updated"])["data"]
    assert data["tracking_updates"][-1]["comment"] == "Wet on one side" and not unlike("shipment", world.all.get(f"/v1/shipments/{box}").data, data)


def test_of_a_long_conversation_the_newest_messages_are_in_the_event(world):
    asked = world.all.post("/v1/support", {"subject": "Door", "message": "It is stuck", "email": "desk@example.com"}, expect=201).data["id"]
    for i in range(21):
        world.all.post(f"/v1/support/{asked}", {"message": f"Answer {i}"}, expect=200)
    shown = world.all.get(f"/v1/support/{asked}").data["messages"]
    told = newest(world.all, asked, ["support_request.updated", "support_request.replied"])["data"]["messages"]
    assert len(shown) == 22 and told == shown[-20:] and told[-1]["body"] == "Answer 20"


# ---- many ----

SETS = ["contact", "shipment", "location", "item", "container", "tracker", "parcel", "asset"]


@pytest.mark.parametrize("resource", SETS)
def test_rows_that_are_made_together(world, resource):
    """Sets have statements of their own: their events are those of single writes."""
    items = [world.body(resource) for _ in range(60)]
    made = world.all.post("/v1/batches", {"resource": resource, "action": "merge", "mode": "sync", "data": items}, expect=201).data
    ids = [i["result_id"] for i in world.all.get(f"/v1/batches/{made['id']}/items?limit=100").data]
    assert len(ids) == 60 and all(ids), made
    path = x(resource)["collection"]
    for id in ids[::7]:
        faults = unlike(resource, world.all.get(f"{path}/{id}").data, newest(world.all, id, [declared(resource, "created")])["data"])
        assert not faults, faults


# ---- all stories ----

class Watched(stories.World):
    """Looks at the events that each request leaves, and compares them with their rows."""

    def __init__(self, server, name):
        super().__init__(server, name)
        self.seen, self.compared, self.faults = set(), set(), []
        self.reader = self.org.client()
        self.paths = {o["x-resource"]: path for path, methods in server.openapi["paths"].items() for m, o in methods.items()
                      if m == "get" and o.get("operationId") == f"retrieve_{o.get('x-resource')}" and path.count("{") == 1}
        self.members = {t["type"]: set(server.openapi["webhooks"][t["type"]]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]["data"].get("allOf", [{}, {}])[-1].get("properties", {}))
                        for t in self.reader.get("/v1/events/types").data if t["type"] in server.openapi.get("webhooks", {})}

    def send(self, operation, **more):
        answer = super().send(operation, **more)
        if self.document.operations[operation][0] != "GET":
            self.look()
        return answer

    def look(self):
        last = {}
        rows = self.reader.get("/v1/events?include_data=true&limit=100&order_by=created_at&direction=desc").data
        for e in rows:
            if e["id"] not in self.seen:
                last.setdefault((e["resource_type"], e["resource_id"]), e)
        self.seen |= {e["id"] for e in rows}
        for (resource, id), e in last.items():
            path = self.paths.get(resource)
            if not path or e["type"].endswith(".deleted") or e["data_truncated"]:
                continue
            row = self.reader.request("GET", re.sub(r"\{\w+\}", id, path))
            if row.status != 200 or row.data.get("updated_at") != e["data"].get("updated_at"):
                continue  # it went on meanwhile
            self.compared.add(e["type"])
            self.faults += [f"{e['type']}: {f}" for f in unlike(resource, row.data, e["data"], self.members.get(e["type"], ()))]


COMPARED = {}


@pytest.fixture(scope="module")
def theater():
    s = stories.server()
    yield s
    s.stop()


@pytest.mark.parametrize("name", stories.names())
def test_the_events_of_every_story(theater, name):
    w = Watched(theater, name)
    stories.story(name).tell(w)
    COMPARED[name] = w.compared
    assert not w.faults, sorted(set(w.faults))


def test_most_types_were_compared():
    """A look that skips everything proves nothing."""
    if len(COMPARED) == len(stories.names()):
        assert len(set().union(*COMPARED.values())) >= 60, sorted(set().union(*COMPARED.values()))
