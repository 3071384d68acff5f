"""What a declared resource says of itself, in the served OpenAPI and in its definition; and valid bodies for it.

A resource that needs more than its schema says to be created has a line in NEEDS. Everything else is found out.
"""
import base64
import copy
import itertools
import json

from wharf import ROOT

DEFINITIONS = {}
EVENT_PREFIX = {}  # of plugins that are not shipped
for path in sorted([*ROOT.glob("schemas/*/*.json"), *ROOT.glob("tests/plugins/filterbench/schemas/*.json")]):
    text = json.loads(path.read_text())
    DEFINITIONS[text["$id"]] = text
    EVENT_PREFIX[text["$id"]] = path.parents[1].name + "." if "plugins" in path.parts else ""

SERIAL = itertools.count(1)
CATEGORIES = ["bol", "certificate", "coa", "contract", "customs", "invoice", "item_label", "manual", "other", "packing_slip", "photo", "pod", "receipt", "report", "sds", "signature", "spec_sheet"]


def free_category(world):
    """One that no retention rule of the organization is about; the oldest rule makes room."""
    rows = world.all.get("/v1/documents/retention-rules?limit=all").data
    taken = {r["category"] for r in rows}
    if taken >= set(CATEGORIES):
        world.all.delete(f"/v1/documents/retention-rules/{rows[-1]['id']}")
        return rows[-1]["category"]
    return next(c for c in CATEGORIES if c not in taken)



BLANK = "iVBORw0KGgoAAAANSUhEUgAAADwAAAA8CAAAAAAfl4auAAAAKElEQVR4nO3LsQ0AAAQAMPz/Mz8wSdq92bFXhyvLsizLsizLsiy/zQOl0AF3228AsgAAAABJRU5ErkJggg=="  # 60 by 60 white pixels
# Values for fields whose rules are not in the schema; what takes an argument gets the world, and may make other rows.
NEEDS = {"location": {"address": lambda: "1 Main St, Springfield, IL 62701, US"},
         "event_subscriber": {"email": lambda: f"s{next(SERIAL)}@example.com", "events": lambda: ["plugin.quarantined"]},
         "webhook": {"url": lambda: "https://hooks.example.com/w", "events": lambda: ["webhook.suspended"]},
         "integration": {"auth": lambda: {"type": "bearer"}}, "integration_secret": {"key": lambda: f"key_{next(SERIAL)}"}, "workflow_secret": {"key": lambda: f"KEY_{next(SERIAL)}"},
         "user": {"email": lambda: f"u{next(SERIAL)}@example.com", "language": lambda: "pt-BR",
                  "quiet_hours": lambda: {"from": "22:00", "to": f"0{next(SERIAL) % 10}:00", "time_zone": "Europe/Berlin"}}, "support_request": {"email": lambda: "desk@example.com"},
         "push_subscription": {"endpoint": lambda: f"https://push.example.com/{next(SERIAL)}", "keys": lambda: {
             "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "auth": "BTBZMqHH6r4Tts7J_aSIgg"}},
         "shipment": {"tracking_number": lambda: f"SHIP{next(SERIAL)}"}, "tracker": {"tracking_number": lambda: f"TRACK{next(SERIAL)}"},
         "batch": {"resource": lambda: "contact", "data": lambda: [{"name": f"Of a batch {next(SERIAL)}"}]},
         "container": {"tracking_number": lambda: f"CONTAINER{next(SERIAL)}"}, "parcel": {"location_id": None},
         "shipping_label_inference": {"image": lambda: BLANK, "options": lambda: {"match": {"search": []}}},
         "item_label_inference": {"image": lambda: BLANK, "barcode_values": lambda: [f"(10)LOT{next(SERIAL)}"]},
         "bom": {"components": lambda world: [{"item_id": world.make("item")["id"], "quantity": 1}]},
         "item": {"item_type": lambda: "assembly", "base_uom": lambda: "kg", "transactional_units": lambda: [{"name": f"Sack {next(SERIAL)}", "uom": "box", "conversion_factor": 25}], "item_transactional_unit_id": lambda: None,
                  "external_id": lambda: f"{next(SERIAL)}"},
         "asset": {"item_id": lambda world: world.make("item", is_asset=True, base_uom="each", transactional_units=[])["id"], "location_id": None},
         "manifest": {"status": lambda: "accepted"}, "receipt": {"lines": lambda world: [{"item_id": world.make("item")["id"]}]},
         "fulfillment": {"articles": lambda world: [{"item_id": world.make("item")["id"], "requested_qty": 1}], "external_id": lambda: f"F{next(SERIAL)}", "location_id": None, "assigned_user_id": lambda: None},
         "document": {"content": lambda: base64.b64encode(b"Document %d" % next(SERIAL)).decode()},
         "document_retention_rule": {"category": free_category},
         "template": {"set_as_default": lambda: False, "template_data": lambda: {"type": "item__item_label_pdf", "text_line_1": f"Line {next(SERIAL)}"}},
         "sequence": {"sequence": lambda: f"A{next(SERIAL)}", "prefix": lambda: f"P{next(SERIAL)}-"},
         "uom": {"code": lambda: f"{next(SERIAL)}_"},
         "export": {"resource": lambda: "contact", "csv_field_options": lambda: None},
         "workflow": {"source": lambda: "return {}", "triggers": lambda: [{"type": "manual"}], "scopes": lambda: ["locations:read"]},
         "print_job": {"location_id": None, "data": lambda: "data:text/plain,Label", "configuration": lambda: {"paper_size": "a4"}}}
# Fields that a rule of the module reads before the schema does: their own tests prove them.
BY_RULE = {"support_request": {"announced", "attachments", "message", "messages", "status", "revoke_links", "email"},
           "event_subscriber": {"email", "events", "approve", "resend_verification"},
           "location": {"address", "address_line2", "operating_hours", "holidays", "email", "phone", "timezone"},
           "webhook": {"url", "events", "filter", "headers", "location_ids", "status", "enable_at", "send_test"},
           "integration": {"events", "location_ids", "filter", "workflow_id", "url", "method", "headers", "auth"},
           "print_station": {"allowed_users", "allow_all_users", "device_id", "push"}, "layout": {"path", "id"},
           "user": {"email", "phone", "role", "role_id", "locations", "allow_all_locations", "fcm_tokens"}, "device": {"locations", "scopes", "location_id"},
           "contact": {"name", "nickname", "email", "phone", "address", "primary_address", "secondary_address", "alternate_names", "alternate_emails", "alternate_phones", "alternate_addresses", "groups"},
           "group": {"members", "group_contacts"},
           "shipment": {"sender", "recipient", "sender_contact_id", "recipient_contact_id", "tracking_number", "provider_id", "refund_status", "parcels"},
           "tracker": {"current_shipment_id", "provider_id", "type"}, "container": {"status", "coordinates", "tracking_number"}, "parcel": {"contents", "status", "unpacked", "location_id"},
           "batch": {"via", "status", "match_by", "properties", "filters", "column_mapping", "file_options", "phases", "stats", "progress", "parent_batch_id", "key_id", "name"},
           "export": {"resource", "options", "formats", "csv_field_options"},
           "print_job": {"name", "print_station_id", "printer_name", "printer_id", "document_id", "raw", "resource", "configuration", "custom_dimensions", "status", "reason",
                         "reason_code", "stage", "confidence", "progress", "printer_state_reasons", "attempt", "device_job_id", "max_attempts"},
           "workflow": {"source", "files", "triggers", "scopes", "settings", "if_revision", "http_hosts"},
           "bom": {"output_qty", "min_build_qty", "is_default"},
           "fulfillment": {"recipient", "sender", "recipient_contact_id", "sender_contact_id", "status"},
           "item": {"item_type", "base_uom", "transactional_units", "item_transactional_unit_id", "is_asset", "origin_country", "currency", "gtin", "upc"},
           "document": {"filename", "category", "mime_type", "size", "checksum_md5", "checksum_sha256"},
           "document_retention_rule": {"category"}, "template": {"template_data"},
           "manifest": {"sender", "recipient", "reason_code_id", "status"}, "receipt": {"lines", "parcel_id", "reverses_receipt_id", "reason_code_id", "layout_id", "correction"},
           "shipping_label_inference": {"image_url", "provider_id", "recipient", "sender", "status", "options", "rematch"},
           "item_label_inference": {"image_url", "gtin", "sscc", "supplier"},
           "asset": {"due_back_at", "maintenance_status", "next_maintenance_at", "maintenance_schedule", "status", "currency", "item_id"},
           "role": {"scopes", "id"}, "api_key": {"scopes", "location_ids", "ip_allowlist", "expires_at", "allow_all_locations"}}
# Bodies that the module judges as a whole before the schema does: their own tests prove what is refused.
BY_MODULE = {"event_subscriber"}
# Operations that are routes of their own, and rows that every organization has.
BY_ROUTE = {"layout": {"create"}, "organization": {"create", "delete"}, "api_key": {"delete"}, "shipment": {"create"}, "tracker": {"create"}, "contact": {"create"}, "sequence": {"create"}, "shipping_label_inference": {"create"}, "item_label_inference": {"create"},
            "integration_secret": {"create", "delete"}, "push_subscription": {"create", "delete"}, "bom": {"delete"}, "fulfillment": {"delete"}, "workflow_secret": {"create", "delete"}, "batch": {"create"}, "export": {"delete"}}
# Resources whose status has events of its own, beside created, updated and deleted.
TELLS_MORE = {"shipping_label_inference"}
# Rows of these resources can be deleted only after this change. The change may have events of its own, beside updated.
BEFORE_DELETE = {"manifest": {"status": "void"}}
ALWAYS_THERE = {"role": 4, "uom": 35, "template": 10}
# Lists that grow with each request of the test itself, or whose rows change by themselves: tests/api/logs/test_logs.py, test_request_log.py, test_events.py
# and test_exports.py walk them.
GROWING = {"log", "request_log", "event", "export"}


def x(resource):
    return DEFINITIONS[resource]["x-wharf"]


def ops(resource):
    return set(x(resource).get("ops", ["create", "list", "retrieve", "update", "delete"]))


def writable():
    return [r for r in DEFINITIONS if {"update", "delete"} <= ops(r)]


def properties(resource, op="create"):
    """Properties that a request may write, after the definition."""
    skip = {"id", "created_at", "updated_at", "created_by", "updated_by", "organization_id"}
    found = {}
    for name, p in DEFINITIONS[resource]["properties"].items():
        w = p.get("x-wharf", {})
        if name in skip or w.get("store") in ("computed", "embed", "input") or w.get("write", "both") not in ("both", op):
            continue
        if x(resource).get("parent", {}).get("field") == name:
            continue
        found[name] = p
    return found


def types(p):
    t = p.get("type", "object")
    return [t] if isinstance(t, str) else t


def nullable(p):
    return "null" in types(p)


def value(p, name=""):
    """A value that the schema takes; texts are new each time where there is room."""
    t = next(t for t in types(p) if t != "null")
    if "enum" in p:
        return next(v for v in p["enum"] if v is not None)
    if t == "string":
        if p.get("format") == "date-time":
            return "2024-05-06T07:08:09.010Z"
        if p.get("format") == "uri":
            return f"https://x.example/{next(SERIAL)}"
        if "pattern" in p:
            return {"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$": f"en-x{next(SERIAL):04d}", "^req_[0-9A-Za-z]{22}$": "req_0000000000000000000000", "^[a-z]{1,8}$": "plain", "^[0-9]+(x[0-9]+)?$": "203", "^[a-z0-9_]+$": f"code_{next(SERIAL)}", "^[0-9]{1,14}$": "96385074",
                    "^[0-9]{1,12}$": "036000291452", "^[0-9.]{1,20}$": "0901.21", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$": "2026-03-12", "^[a-zA-Z_]{2,20}$": "eng", "^[A-Z]{2}$": "BR", "^[A-Z]{3}$": "BRL", "^https://[^ ]+$": "https://x.example/a.png"}[p["pattern"]]
        text = f"{name} {next(SERIAL)}".strip()
        return text[-p.get("maxLength", 100):]
    if t == "integer":
        return max(p.get("minimum", 0), min(p.get("maximum", 3), 3))
    if t == "number":
        return max(p.get("minimum", 0), 2.5)
    if t == "boolean":
        return True
    if t == "array":
        return [value(p["items"], name) for _ in range(p.get("minItems", 1))]
    return {k: value(v, k) for k, v in p.get("properties", {}).items() if k in p.get("required", []) or "properties" not in p}


class World:
    """An organization with two locations, and rows of any resource in it."""

    def __init__(self, server):
        self.server = server
        self.org = server.organization()
        self.all = self.org.client()
        self.places = [self.make("location")["id"] for _ in range(2)]
        for place in self.places if "print_job" in DEFINITIONS else ():
            self.make("item", levels=[{"location_id": place, "available_qty": 1}])  # what audits count
            self.make("print_station", location_id=place, printers=[{"name": "P", "model": "M", "configuration": {}, "page_size": {"a4": True}}])

    def parent_of(self, resource):
        """Path of the collection, with a new parent when it is nested."""
        path = x(resource)["collection"]
        parent = x(resource).get("parent")
        if parent:
            target = DEFINITIONS[resource]["properties"][parent["field"]]["x-wharf"]["ref"]
            path = path.replace(":" + parent["param"], self.places[0] if target == "location" else self.any_event() if target == "event" else
                                self.make(target)["id"])
        return path

    def any_event(self):
        """Nobody makes events by request; those of the two locations are there."""
        return self.all.get("/v1/events?limit=1&order_by=created_at&direction=asc").data[0]["id"]

    def needed(self, need):
        return need(self) if need.__code__.co_argcount else need()

    def body(self, resource, everything=False):
        d = DEFINITIONS[resource]
        # what the rules of a resource want that is no field to be written
        body = {name: self.needed(need) for name, need in NEEDS.get(resource, {}).items() if need and name not in properties(resource)}
        for name, p in properties(resource).items():
            need = NEEDS.get(resource, {}).get(name)
            ref = p.get("x-wharf", {}).get("ref")
            wanted = name in d.get("required", []) or (everything and name not in BY_RULE.get(resource, ()))
            if need:
                body[name] = self.needed(need)
            elif name in NEEDS.get(resource, {}):
                body[name] = self.places[0]
            elif wanted and ref == "location":
                body[name] = [self.places[0]] if "array" in types(p) else self.places[0]
            elif wanted and not ref:
                body[name] = value(p, name)
        return body

    def make(self, resource, path=None, client=None, everything=False, **more):
        path = path or self.parent_of(resource)
        row = (client or self.all).post(path, {**self.body(resource, everything), **more}, expect=201).data
        self.where = f"{path}/{row['id']}"
        return row


def violations(p, path):
    """(value, path of the problem) pairs that each break one constraint of a property."""
    t = next(t for t in types(p) if t != "null")
    wrong = {"string": 5, "integer": "5", "number": "2.5", "boolean": "true", "array": {"x": 1}, "object": [1]}[t]
    if p.get("format") != "date-time" and not (t == "array" and p.get("x-wharf", {}).get("set")):
        yield wrong, path
    if "enum" in p:
        yield "no such member", path
        return
    if t == "string" and p.get("format") == "date-time":
        yield from ((v, path) for v in ("2024-01-01", "2024-01-01T00:00:00", "soon", True))
    elif t == "string":
        if "maxLength" in p and "pattern" not in p:
            yield "é" * (p["maxLength"] + 1), path
        if "pattern" in p:
            yield "!", path
        if p.get("format") == "uri":
            yield "nowhere", path
        yield "a\u0001b", path
    if t in ("integer", "number"):
        if "minimum" in p:
            yield p["minimum"] - 1, path
        if "maximum" in p:
            yield p["maximum"] + 1, path
        if t == "integer":
            yield 1.5, path
    if t == "array" and p.get("x-wharf", {}).get("store") != "json":
        yield from list_violations(p, path)
    if t == "object" and "properties" in p:
        for name, inner in p["properties"].items():
            yield from (({name: v}, at) for v, at in violations(inner, f"{path}.{name}"))


def list_violations(p, path):
    items = p["items"]
    good = value(items, "item")
    if p.get("minItems"):
        yield [], path
    if "maxItems" in p and types(items) == ["string"] and "enum" not in items:
        yield [f"v{i}" for i in range(p["maxItems"] + 1)], path
    if p.get("uniqueItems"):
        yield [good, good], f"{path}.1"
    if types(items) == ["object"]:
        for name in items.get("required", []):
            less = copy.deepcopy(good)
            del less[name]
            yield [less], f"{path}.0.{name}"
        for name, inner in items["properties"].items():
            if inner.get("x-wharf", {}).get("write") == "never" or name == "id":
                continue
            yield from (([{**good, name: v}], at) for v, at in violations(inner, f"{path}.0.{name}"))
    else:
        yield from (([v], at) for v, at in violations(items, f"{path}.0"))
