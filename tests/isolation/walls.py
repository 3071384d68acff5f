"""Rows of every declared resource in two organizations and two locations, keys of every kind, and what each key may see of them.

All of it follows from the served OpenAPI document and the definitions. What a schema does not say stands in tests/conformance/resources.py (NEEDS) and in
the tables here; an operation that can't be called is a failure that names what is missing.
"""
import itertools
import os
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))

import resources  # noqa: E402
from wharf import WAIT, Client  # noqa: E402

DEFINITIONS = resources.DEFINITIONS
SERIAL = itertools.count(1)

# What is special about rows of two places: (world, organization, place, marker) to members of the body; None leaves one out.
FLOW = "local M = {} function M.on_run(input, ctx) wharf.log.info(input.m) error('no ' .. input.m) end return M -- "
PRINTER = {"name": "P", "model": "M", "configuration": {}, "page_size": {"a4": True}}
HEARD = ["*"]
SPECIAL = {"integration": lambda w, org, place, marker: {"direction": "outgoing", "events": HEARD, "url": w.web.url(f"/{place}/integration"), "auth": None},
           "user": lambda w, org, place, marker: {"notification_events": HEARD},
           "webhook": lambda w, org, place, marker: {"events": HEARD, "url": w.web.url(f"/{place}/webhook")},
           "print_station": lambda w, org, place, marker: {"printers": [PRINTER], "display_name": "Desk " + marker},
           "print_job": lambda w, org, place, marker: {"location_id": w.places[place], "name": "Label " + marker, "data": "data:text/plain," + marker},
           "batch": lambda w, org, place, marker: {"name": "Batch " + marker, "data": [{"name": "Of a batch", "locations": [w.places[place]]}]},
           "item": lambda w, org, place, marker: {"lot_tracking": "optional", "levels": [{"location_id": w.places[place], "available_qty": 2, "lot_number": "Lot"}]},
           "asset": lambda w, org, place, marker: {"item_id": w.thing(org)},
           "fulfillment": lambda w, org, place, marker: {"articles": [{"item_id": w.part(org, place), "requested_qty": 3, "comment": marker}], "assigned_user_id": None},
           "document": lambda w, org, place, marker: {"places": None, "resources": [{"type": "location", "id": w.places[place]}]},
           "document_retention_rule": lambda w, org, place, marker: {"category": resources.CATEGORIES[sum(r.resource == "document_retention_rule" and r.org == org for r in w.rows)]},
           "bom": lambda w, org, place, marker: {"output_qty": None, "min_build_qty": None, "components": [{"item_id": w.part(org, place), "quantity": 1, "notes": marker}]},
           "manifest": lambda w, org, place, marker: {"articles": [{"item_id": w.part(org, place), "packed_qty": 2, "comment": marker}]},
           "receipt": lambda w, org, place, marker: {"lines": [{"item_id": w.part(org, place), "comment": marker}]},
           "workflow": lambda w, org, place, marker: {"source": FLOW + marker}}

# Values for the parameters of paths that are no ids of rows.
PARAMS = {"session_id": "sess_0000000000000000000000", "printer_id": "prntr_0000000000000000000000", "key": "some_key", "number": "1", "token": "x" * 43,
          "type": "location.created", "path": "hello", "file": "f" * 20, "filename": "a.txt"}
# Parameters that are ids of rows, although the path does not say of which.
PARAM_OF = {("/v1/public/documents/{document}", "document"): "document", ("/v1/workflows/runs/{run}", "run"): "workflow_run", ("/v1/locations/{location}/users/{user}", "user"): "user", ("/v1/addresses/{id}", "id"): "address", ("/v1/incoming/{integration}", "integration"): "integration"}
# Rows that nobody makes by a request of their own: the world finds them by their lists.
FOUND = {"event", "log", "request_log", "delivery", "outgoing_webhook", "workflow_run", "outgoing_integration", "incoming_webhook", "outbox_message",
         "level", "lot", "stock_movement", "assembly_order", "audit_task", "document_link", "manifest_article", "fulfillment_article",
         "notification", "push_subscription"}
# Columns that the server writes by itself some time after a request, and no member of the row shows.
LATER = {"document": ["words_file_id", "content_words"]}
# One row for each organization, which it has from the start.
OWN = {"organization"}
# Answers that do not end by themselves, and listeners of other kinds of clients.
STREAMS = re.compile(r"/stream$")


def place_field(resource):
    """(field, is it a set?) that puts a row of the resource into a location; None: its rows have none."""
    d, x = DEFINITIONS[resource], resources.x(resource)
    name = x.get("location", "none")
    if name in ("none", "self"):  # its rows have none, or are locations themselves
        return None
    if x.get("location_rule") == "every":
        return "location_ids", True
    return name, "array" in resources.types(d["properties"][name])


class Hidden(list):
    """Rows with their tokens, which are looked for in a text all at once. A token is an id or a marker, so it ends with `_` and 22 characters or begins
    with `mk`: there are few such places in a text, and thousands of tokens."""

    def __init__(self, rows):
        super().__init__(rows)
        self.ids, self.markers = {}, {}
        for row, tokens in self:
            for token in tokens:
                kind = self.ids if re.fullmatch(r"\w+_[0-9A-Za-z]{22}", token) else self.markers
                assert kind is self.ids or token.startswith("mk"), token
                kind.setdefault(token[-22:] if kind is self.ids else token, []).append((row, token))
        self.lengths = sorted({len(t) for t in self.markers})

    def shown(self, text):
        found = [pair for m in re.finditer(r"_(?=([0-9A-Za-z]{22}))", text) for pair in self.ids.get(m[1], ()) if pair[1] in text]
        return found + [pair for m in re.finditer("mk", text) for n in self.lengths for pair in self.markers.get(text[m.start():m.start() + n], ())]


class Row:
    def __init__(self, resource, id, org, place, marker, path, about=None):
        self.resource, self.id, self.org, self.place, self.marker, self.path, self.about = resource, id, org, place, marker, path, about

    def __repr__(self):
        return f"{self.resource} {self.id} at {self.place}"

    @property
    def tokens(self):
        # Ids of locations are named by refusals (spec 01 section 3.1) and by who reaches them; what stands in a location is not.
        return [t for t in (self.id if self.resource != "location" else None, self.marker) if t]


class Who:
    """A key, and what it may see."""

    def __init__(self, name, client, org, places, areas):
        self.name, self.client, self.org, self.places, self.areas = name, client, org, places, areas

    def sees(self, row):
        if row.org != self.org or resources.x(row.resource)["scope"] not in self.areas:
            return False
        if row.about and not self.sees(row.about):
            return False
        return row.place is None or self.places is None or row.place in self.places


class Walls:
    def __init__(self, server, web):
        self.server, self.web = server, web
        self.rows = []
        self.openapi = server.openapi
        self.orgs = {name: server.organization() for name in ("one", "two")}
        self.admin = {name: org.client() for name, org in self.orgs.items()}
        self.places = {}
        for org, place in (("one", "here"), ("one", "there"), ("two", "away")):
            self.furnish(org, place)
        self.whos = list(self.keys())
        self.settle()

    # ---- rows ----

    def collection(self, resource, org, place):
        path, parent = resources.x(resource)["collection"], resources.x(resource).get("parent")
        if not parent:
            return path
        ref = DEFINITIONS[resource]["properties"][parent["field"]]["x-wharf"]["ref"]
        row = next((r for r in self.rows if r.resource == ref and r.org == org and r.place == place), None) or \
            next((r for r in self.rows if r.resource == ref and r.org == org), None)
        assert row, f"{resource}: there is no {ref} to make it under"
        return path.replace(":" + parent["param"], row.id)

    def text(self, p, marker, name):
        """A text with the marker, when the schema has room for any."""
        if "enum" in p or "pattern" in p or "format" in p or p.get("maxLength", 1000) < len(marker) + 4:
            return None
        return f"{name[:3]} {marker}"

    def body(self, resource, place, marker):
        d, body = DEFINITIONS[resource], {}
        needs = resources.NEEDS.get(resource, {})
        for name, need in needs.items():
            if need and not need.__code__.co_argcount:
                body[name] = need()
        for name, p in resources.properties(resource).items():
            x = p.get("x-wharf", {})
            if name in body or x.get("ref") or name in needs:
                continue
            wanted = name in d.get("required", []) or name not in resources.BY_RULE.get(resource, ())
            if not wanted and name not in ("name", "nickname", "description", "message"):
                continue
            if "string" in resources.types(p) and self.text(p, marker, name):
                body[name] = self.text(p, marker, name)
            elif name in d.get("required", []):
                body[name] = resources.value(p, name)
            elif "metadata" == name:
                body[name] = {"m": marker}
        at = place_field(resource)
        if at and place and not resources.x(resource).get("parent", {}).get("field") == at[0]:
            body[at[0]] = [place] if at[1] else place
        return body

    def special(self, resource, org, place, marker, body):
        for name, v in SPECIAL.get(resource, lambda *a: {})(self, org, place, marker).items():
            body[name] = v
        return {k: v for k, v in body.items() if v is not None}

    def make(self, resource, org, place):
        marker = f"mk{next(SERIAL)}x{os.urandom(4).hex()}"
        client = self.admin[org]
        at = place_field(resource)
        name = self.places.get(place) if place else None
        path = self.collection(resource, org, place)
        a = client.request("POST", path, body=self.special(resource, org, place, marker, self.body(resource, name if at else None, marker)))
        assert a.status in (200, 201), f"the generator can't make a {resource}: POST {path} answers {a.status} {a.code} {a.errors} {a.body.get('message')}; " \
            f"give it what its schema does not say in NEEDS of tests/conformance/resources.py"
        shown = re.search(re.escape(marker), repr(a.data)) is not None
        row = Row(resource, a.data["id"], org, place if at or resource == "location" else None, marker if shown else None, path)
        self.rows.append(row)
        return row

    def furnish(self, org, place):
        """A row of each resource, those that others refer to first."""
        row = self.make("location", org, place)
        self.places[place], row.place = row.id, place
        todo = [r for r in self.creatable() if r != "location"]
        first = {"item", "print_station", "integration", "workflow", "webhook", "sample"}
        for resource in sorted(todo, key=lambda r: (r not in first, r in ("integration_secret", "workflow_secret"), r)):
            if resource in DEFINITIONS:
                self.make(resource, org, place)
        self.run(org, place)
        self.build(org, place)
        self.count(org, place)

    def part(self, org, place):
        """An item with stock at a place, for bills of materials."""
        return self.admin[org].post("/v1/items", {"name": f"Part {next(SERIAL)}", "levels": [{"location_id": self.places[place], "available_qty": 9}]}, expect=201).data["id"]

    def thing(self, org):
        """An item that has assets."""
        return self.admin[org].post("/v1/items", {"name": f"Thing {next(SERIAL)}", "is_asset": True}, expect=201).data["id"]

    def build(self, org, place):
        """Assembly orders: two are built, one is taken apart."""
        bom = next((r for r in reversed(self.rows) if r.resource == "bom" and r.org == org), None)
        if bom:
            body = {"location_id": self.places[place], "lot_number": f"Built {next(SERIAL)}"}
            order = self.admin[org].post(f"{bom.path}/{bom.id}/build", {**body, "quantity": 2}, expect=201).data
            self.admin[org].post(f"{bom.path}/{bom.id}/unbuild", {**body, "quantity": 1, "build_order_id": order["id"]}, expect=201)

    def count(self, org, place):
        """One audit of the place has ended, beside the one that is made."""
        made = next((r for r in self.rows if r.resource == "audit" and r.org == org and r.place == place), None)
        if made:
            audit = self.admin[org].post("/v1/audits", {"location_id": self.places[place]}, expect=201).data
            counts = [{"id": t["id"], "counted_qty": t["total_qty"]} for t in audit["tasks"]]
            self.admin[org].post(f"/v1/audits/{audit['id']}", {"tasks": counts, "status": "in_review"}, expect=200)
            self.admin[org].post(f"/v1/audits/{audit['id']}", {"status": "approved"}, expect=200)

    def run(self, org, place):
        """A run that fails: what it got, said and was when it failed is that of its location."""
        flow = next((r for r in self.rows if r.resource == "workflow" and r.org == org and r.place == place), None)
        if not flow:
            return
        marker, client = f"mk{next(SERIAL)}x{os.urandom(4).hex()}", self.admin[org]
        client.post(f"/v1/workflows/{flow.id}/publish", {}, expect=200)
        a = client.request("POST", f"/v1/workflows/{flow.id}/run", {"input": {"m": marker}, "location_id": self.places[place], "wait": False})
        assert a.status == 202, a
        self.rows.append(Row("workflow_run", a.data["id"], org, place, marker, f"/v1/workflows/{flow.id}/runs"))

    def creatable(self):
        """Resources whose collection takes POST, after the served document."""
        for resource in DEFINITIONS:
            path = re.sub(r":(\w+)", r"{\1}", resources.x(resource)["collection"])
            served = self.openapi["paths"].get(path, {})
            if "post" in served and resource not in OWN | FOUND:
                yield resource
            else:
                assert not served or resource in FOUND | OWN, f"{resource} can be read, but nothing makes a row of it: add it to FOUND of {__file__}"

    def settle(self):
        """Waits until events are processed, and notes the rows that came by themselves."""
        end = time.monotonic() + WAIT
        for org in self.orgs.values():
            while self.server.sql("SELECT 1 FROM wharf.outbox WHERE organization_id = %s LIMIT 1", org.id):
                assert time.monotonic() < end, "events are not processed"
                time.sleep(0.05)
        time.sleep(0.5)  # the request log is written behind the requests
        for org in self.orgs:
            self.find(org)

    def pages(self, org, path):
        page = 1
        while True:
            a = self.admin[org].get(f"{path}{'&' if '?' in path else '?'}limit=100&page={page}")
            yield from a.data
            if not a.pagination["has_more"]:
                return
            page += 1

    def find(self, org):
        """What tells of the rows: a record of each kind for each row that was made."""
        self.find_stock(org)
        made = {r.id: r for r in self.rows if r.org == org}
        for resource, path, key in (("event", "/v1/events", "resource_id"), ("log", "/v1/logs", "resource_id"),
                                    ("outgoing_integration", "/v1/outgoing-integrations", "resource_id"), ("notification", "/v1/notifications", "resource_id")):
            if path not in self.openapi["paths"]:
                continue
            for record in self.pages(org, path):
                row = made.get(record[key])
                if row:
                    self.rows.append(Row(resource, record["id"], org, row.place, None, path, row))
        for hook in [r for r in self.rows if r.resource == "webhook" and r.org == org]:
            for delivery in self.pages(org, f"/v1/webhooks/{hook.id}/deliveries"):
                self.rows.append(Row("delivery", delivery["id"], org, hook.place, None, hook.path))

    def find_stock(self, org):
        """Levels and their ledger are at places, items and lots are everybody's."""
        place_of = {id: place for place, id in self.places.items()}
        for item in [r for r in self.rows if r.resource == "item" and r.org == org]:
            for resource, name in (("level", "levels"), ("stock_movement", "movements"), ("lot", "lots"), ("assembly_order", "assembly-orders")):
                path = f"{item.path}/{item.id}/{name}"
                for found in self.pages(org, path):
                    self.rows.append(Row(resource, found["id"], org, place_of.get(found.get("location_id")), None, path))
        for document in [r for r in self.rows if r.resource == "document" and r.org == org]:
            path = f"{document.path}/{document.id}/links"
            self.rows += [Row("document_link", link["id"], org, document.place, None, path) for link in self.pages(org, path)]
        for m in [r for r in self.rows if r.resource == "manifest" and r.org == org]:
            path = f"{m.path}/{m.id}/articles"
            self.rows += [Row("manifest_article", article["id"], org, m.place, None, path) for article in self.pages(org, path)]
        for audit in [r for r in self.rows if r.resource == "audit" and r.org == org]:
            path = f"{audit.path}/{audit.id}/tasks"
            self.rows += [Row("audit_task", task["id"], org, audit.place, None, path) for task in self.pages(org, path)]

    # ---- keys ----

    def areas(self):
        return sorted({resources.x(r)["scope"] for r in DEFINITIONS} | {s.split(":")[0] for s in self.scopes()})

    def scopes(self):
        return {op["x-scope"] for ops in self.openapi["paths"].values() for op in ops.values() if isinstance(op, dict) and op.get("x-scope")}

    def keys(self):
        every = [a for a in self.areas() if a != "system"]
        one, two = self.orgs["one"], self.orgs["two"]
        here, there = self.places["here"], self.places["there"]
        yield Who("here, all scopes", one.client(locations=[here]), "one", {"here"}, set(every))
        yield Who("there, all scopes", one.client(locations=[there]), "one", {"there"}, set(every))
        yield Who("the other organization", two.client(), "two", None, set(every))
        yield Who("no scope", one.client(""), "one", None, set())
        for area in every:
            yield Who(f"{area}:read", one.client(area + ":read"), "one", None, {area})
            yield Who(f"{area}:write, here", one.client(area + ":write", locations=[here]), "one", {"here"}, {area})

    # ---- operations ----

    def param_resource(self, path, name):
        for (prefix, param), resource in PARAM_OF.items():
            if path.startswith(prefix) and param == name:
                return resource
        before = path[:path.index("{" + name + "}")].rstrip("/")
        for resource in DEFINITIONS:
            if re.sub(r":\w+", "{}", resources.x(resource)["collection"]) == re.sub(r"\{\w+\}", "{}", before):
                return resource
        return None

    def candidates(self, path, name):
        """Values for a parameter of a path: ids of rows of each organization and place, or a value that is no row's."""
        resource = self.param_resource(path, name)
        if resource == "address":
            return [(None, "addr_0000000000000000000000")]
        if resource and name not in PARAMS:
            rows = [r for r in self.rows if r.resource == resource]
            return [(r, r.id) for r in rows] or [(None, DEFINITIONS[resource]["x-wharf"]["prefix"] + "_" + "0" * 22)]
        assert name in PARAMS, f"nothing says what {{{name}}} of {path} is: add a value to PARAMS, or its resource to PARAM_OF, in {__file__}"
        return [(None, PARAMS[name])]

    def calls(self, path):
        """(rows, path) for each row that the last parameter with rows may name; the parameters before it name the parents of the same place."""
        names = re.findall(r"\{(\w+)\}", path)
        if not names:
            yield [], path
            return
        lists = {n: self.candidates(path, n) for n in names}
        for org, place in (("one", "here"), ("one", "there"), ("two", "away")):
            rows, filled = [], path
            for n in names:
                row, value = next(((r, v) for r, v in lists[n] if r is None or (r.org == org and r.place == place)),
                                  next(((r, v) for r, v in lists[n] if r is None or r.org == org), (None, None)))
                if value is None:
                    break
                rows += [row] if row else []
                filled = filled.replace("{" + n + "}", value)
            else:
                yield rows, filled

    def hidden(self, who):
        return Hidden((r, self.tokens(who, r)) for r in self.rows if not who.sees(r))

    @staticmethod
    def reached(who, row):
        return row.org == who.org and (row.place is None or who.places is None or row.place in who.places)

    @classmethod
    def tokens(cls, who, row):
        """What must not be shown of a row. Rows that a key may see name others by their ids, and their locations by their names (spec 01 section 7
        'embedded rows'); so of a row at a place that the key reaches, for which it lacks the scope only, what stands in it is not shown."""
        if cls.reached(who, row):
            return [row.marker] if row.marker and row.resource != "location" else []
        return row.tokens

    def check(self, who, path, text, hidden):
        """No id and no marker of a row that the key may not see; those that the request itself named are its own words."""
        for row, token in hidden.shown(text):
            if token not in path:
                at = text.index(token)
                raise AssertionError(f"{who.name}: {path} shows {token} of {row}: …{text[max(0, at - 300):at + 120]}…")

    def state(self, rows):
        """{row: {column: value}} of what stands in the tables, to be compared; without LATER."""
        tables, found = {}, {}
        for row in rows:
            tables.setdefault((resources.x(row.resource)["table"], row.resource), {})[row.id] = row
        for (table, resource), of_id in tables.items():
            for id, columns in self.server.sql(f"SELECT id, to_jsonb(t) - %s::text[] FROM {table} t WHERE id = ANY (%s)", LATER.get(resource, []), list(of_id)):
                found[of_id[id]] = columns
        return found

    def changed(self, before):
        """What is not as it was: each row with its columns, or that it is gone."""
        after = self.state(before)
        return [f"{row}: " + (", ".join(c for c in was if after[row][c] != was[c]) if row in after else "gone")
                for row, was in before.items() if after.get(row) != was]

    def fresh(self, who):
        return Client(self.server, who.client.key)
