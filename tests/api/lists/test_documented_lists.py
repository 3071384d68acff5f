"""What the lists of spec 02 and 03 can be asked: each filter leaves one of two rows out, each order puts them where it says, and what nobody asks for is as documented.

The names stand here and not in the definitions: one that a definition loses is missed. How values are written is in test_filters.py.
"""
import time

import pytest

from wharf import make_location

STRICT = {"Prefer": "handling=strict"}


class World:
    """Two rows of each resource, in an organization of its own: b is the later one, a was written last; made and written by three keys."""

    def __init__(self, server, build):
        self.org = server.organization()
        self.one, self.two, self.three = (self.org.client() for _ in range(3))
        self.home, self.far = make_location(self.one, "Home"), make_location(self.one, "Far")
        self.path, a, b, self.more = build(self)
        time.sleep(0.01)
        self.three.post(f"{self.path}/{a['id']}", {"metadata": {"side": "left", "again": "1"}}, expect=200)
        self.a, self.b = (self.one.get(f"{self.path}/{row['id']}").data for row in (a, b))

    def pair(self, path, a, b):
        a = self.one.post(path, {"metadata": {"side": "left"}, **a}, expect=201).data
        time.sleep(0.01)
        return a, self.two.post(path, {"metadata": {"side": "right"}, **b}, expect=201).data

    def layout(self, place, name):
        return self.one.post(f"/v1/locations/{place['id']}/layouts", {"name": name}, expect=201).data["id"]

    def contact(self, name):
        return self.one.post("/v1/contacts", {"name": name}, expect=201).data["id"]

    def sql(self, text, *args):
        self.org.server.sql(text, *args)

    def listed(self, query):
        """Of a and b, those that the list has, in its order."""
        query = query.format(a=self.a, b=self.b, **self.more)
        whole = "path=all&" if self.path.endswith("/layouts") and "path=" not in query else ""
        rows = self.one.get(f"{self.path}?{whole}{query}&limit=all", headers=STRICT).ids
        return "".join({self.a["id"]: "a", self.b["id"]: "b"}.get(id, "") for id in rows)


def locations(w):
    group = w.one.post("/v1/groups", {"name": "Zone", "resource": "location"}, expect=201).data["id"]
    w.one.delete("/v1/locations/" + w.home["id"])
    a, b = w.pair("/v1/locations", {"name": "Alpha", "code": "A-1", "address": "1 Main St, Springfield, IL 62701", "groups": [group], "email": "dock@example.com"},
                  {"name": "Zulu", "code": "Z-1", "address": "9 Elm Rd, Boston, MA 02134", "active": False})
    return "/v1/locations", a, b, {"group": group, "user": w.org.user(locations=[b["id"]])}


def layouts(w):
    path = f"/v1/locations/{w.home['id']}/layouts"
    a, b = w.pair(path, {"name": "Aisle", "code": "A1", "position": 8}, {"name": "Zone", "code": "Z1", "position": 9, "path": w.home["default_layout_id"]})
    return path, a, b, {"default": w.home["default_layout_id"]}


def contacts(w):
    group = w.one.post("/v1/groups", {"name": "Crew", "resource": "contact"}, expect=201).data["id"]
    a, b = w.pair("/v1/contacts", {"name": "Ann", "email": "ann@b.example", "alternate_emails": {"work": "work@b.example"}, "phone": "+441632960001", "external_id": "X1",
                                   "locations": [w.home["id"]], "groups": [group], "address": "1 Main St, Springfield, IL 62701"},
                  {"name": "Zoe", "email": "zoe@b.example", "phone": "+441632960002", "external_id": "X2", "locations": [w.far["id"]], "is_primary": True,
                   "address": "9 Elm Rd, Boston, MA 02134"})
    return "/v1/contacts", a, b, {"group": group, "home": w.home["id"]}


def groups(w):
    a, b = w.pair("/v1/groups", {"name": "Alpha", "resource": "contact"},
                  {"name": "Zulu", "resource": "location", "location_id": w.far["id"], "group_contacts": {"children": [w.far["id"]]}})
    return "/v1/groups", a, b, {"far": w.far["id"]}


def parcels(w):
    a, b = w.pair("/v1/parcels", {"name": "Alpha", "location_id": w.home["id"], "layout_id": w.layout(w.home, "Shelf"), "type": "box", "tracking_number": "TN-1", "container_number": "CN-1",
                                  "special_handling_tags": ["hazmat"], "received": True, "defective": True},
                  {"name": "Zulu", "location_id": w.far["id"], "status": "overdue", "unpacked": True, "missing": True, "tracking_number": "TN-2", "container_number": "CN-2"})
    w.sql("UPDATE parcels.parcel SET item_ids = '[\"item_1\"]', shipment_id = 'ship_1', manifest_id = 'mfst_1', fulfillment_id = 'ful_1' WHERE id = %s", a["id"])
    return "/v1/parcels", a, b, {}


def assets(w):
    items = [w.one.post("/v1/items", {"name": name, "sku": sku, "is_asset": True}, expect=201).data["id"] for name, sku in (("Alpha", "AL-1"), ("Zulu", "ZU-2"))]
    a, b = w.pair("/v1/assets", {"item_id": items[0], "location_id": w.home["id"], "layout_id": w.layout(w.home, "Shelf"), "serial_number": "SN-1", "barcode": "BC-1", "category": "Tools",
                                 "manifest_id": "mfst_1", "warranty_expires_at": "2090-01-01T00:00:00Z", "next_maintenance_at": "2030-01-01T00:00:00Z", "value": 1, "status": "on_loan",
                                 "assignee_id": w.contact("Ann"), "due_back_at": "2020-01-01T00:00:00Z", "notes": "Zulu"},
                  {"item_id": items[1], "location_id": w.far["id"], "serial_number": "SN-2", "barcode": "BC-2", "category": "Vans", "status": "lost", "value": 2,
                   "warranty_expires_at": "2020-01-01T00:00:00Z", "next_maintenance_at": "2031-01-01T00:00:00Z"})
    return "/v1/assets", a, b, {}


def manifests(w):
    items = [w.one.post("/v1/items", {"name": name}, expect=201).data["id"] for name in ("Alpha", "Zulu")]
    why = w.one.post("/v1/reason-codes", {"code": "LATE", "name": "Late", "resources": ["manifest"]}, expect=201).data["id"]
    a, b = w.pair("/v1/manifests", {"location_id": w.home["id"], "sender": w.contact("Ann"), "recipient": w.contact("Zoe"), "order_number": "O1", "invoice_number": "I1", "purchase_order_number": "P1", "reference_number": "F1",
                                    "customer_purchase_order_number": "CP1", "container_number": "CN1", "load_number": "L1", "external_id": "E1", "alternate_external_id": "AE1", "special_handling_tags": ["hazmat"], "blind": True,
                                    "reason_code_id": why, "estimated_arrival_at": "2030-01-01T00:00:00Z", "arrived_at": "2029-01-01T00:00:00Z", "articles": [{"item_id": items[0], "packed_qty": 1}]},
                  {"location_id": w.far["id"], "status": "accepted", "order_number": "O2", "external_id": "E2", "estimated_arrival_at": "2030-01-02T00:00:00Z", "arrived_at": "2029-01-02T00:00:00Z", "articles": [{"item_id": items[1]}]})
    w.sql("UPDATE manifests.manifest SET processed_at = arrived_at")
    return "/v1/manifests", a, b, {"one": items[0], "two": items[1]}


def containers(w):
    a, b = w.pair("/v1/containers", {"name": "Alpha", "tracking_number": "BOX-1", "location_id": w.home["id"], "layout_id": w.layout(w.home, "Shelf"), "estimated_delivery_at": "2030-01-01T00:00:00Z"},
                  {"name": "Zulu", "tracking_number": "BOX-2", "location_id": w.far["id"], "estimated_delivery_at": "2030-01-02T00:00:00Z", "tracking_update": {"status": "delayed"}})
    return "/v1/containers", a, b, {}


def tracked(w):
    ann, zoe = w.contact("Ann"), w.contact("Zoe")
    place = {"location_id": w.home["id"], "layout_id": w.layout(w.home, "Shelf"), "provider_id": "fedex"}
    return w.pair("/v1/shipments", {"tracking_number": "TRACK-A", **place, "type": "inbound", "sender": {"contact_id": ann, "name": "Ann", "email": "ann@b.example", "address": "1 Main St, Springfield, IL 62701"},
                                    "recipient": {"contact_id": zoe, "name": "Zoe", "address": "9 Elm Rd, Boston, MA 02134"}, "order_number": "O1", "purchase_order": "P1", "invoice_number": "I1",
                                    "rma_number": "R1", "reference_number": "F1", "tags": ["fragile"], "estimated_delivery_at": "2030-01-01T00:00:00Z", "pickup_at": "2029-01-01T00:00:00Z",
                                    "tracking_update": {"status": "in_transit"}},
                  {"tracking_number": "TRACK-B", "provider_id": "ups", "type": "outbound", "location_id": w.far["id"], "estimated_delivery_at": "2030-01-02T00:00:00Z", "pickup_at": "2029-01-02T00:00:00Z",
                   "tracking_update": {"status": "delivered"}})


def shipments(w):
    a, b = tracked(w)
    w.one.post("/v1/shipments/" + b["id"], {"parent_id": a["id"]}, expect=200)
    box = w.one.post("/v1/containers", {}, expect=201).data["id"]
    w.sql("UPDATE shipments.shipment SET refund_status = 'requested', manifest_id = 'mfst_1', fulfillment_id = 'ful_0000000000000000000001', container_id = %s WHERE id = %s", box, a["id"])
    if b["delivered_at"]:  # so that both have one
        w.sql("UPDATE shipments.shipment SET delivered_at = '2020-01-01T00:00:00Z' WHERE id = %s", a["id"])
    return "/v1/shipments", a, b, {}


def trackers(w):
    a, b = tracked(w)
    w.one.post("/v1/shipments", {"tracking_number": "TRACK-C", "parent_id": a["id"]}, expect=201)
    ids = [row["tracker_id"] for row in (a, b)]
    places = w.one.get("/v1/shipments/" + a["id"]).data
    w.one.post("/v1/trackers/" + ids[0], {"metadata": {"side": "left"}, "location_id": places["location_id"], "layout_id": places["layout_id"]}, expect=200)
    w.two.post("/v1/trackers/" + ids[1], {"metadata": {"side": "right"}, "location_id": w.far["id"]}, expect=200)
    w.sql("UPDATE trackers.tracker SET created_at = created_at - interval '1 s' WHERE id = %s", ids[0])
    return "/v1/trackers", {"id": ids[0]}, {"id": ids[1]}, {"ship": a["id"]}


def reason_codes(w):
    a, b = w.pair("/v1/reason-codes", {"code": "ABC", "name": "Alpha", "resources": ["item"]}, {"code": "XYZ", "name": "Zulu", "resources": ["parcel"], "active": False})
    return "/v1/reason-codes", a, b, {}


BUILD = {f.__name__: f for f in (locations, layouts, contacts, groups, parcels, assets, manifests, containers, shipments, trackers, reason_codes)}
WORLDS = {}


@pytest.fixture
def world(resource, server):
    if resource not in WORLDS:
        WORLDS[resource] = World(server, BUILD[resource])
    return WORLDS[resource]


# Of every list (spec 02 section 0).
COMMON = {"id={a[id]}": "a", "created_at[lte]={a[created_at]}": "a", "updated_at[gt]={b[updated_at]}": "a", "updated_by={a[updated_by]}": "a", "metadata=side:left": "a", "metadata.side=right": "b"}
BY = {"created_by={b[created_by]}": "b"}
PLACE = {"location_id={a[location_id]}": "a", "layout_id={a[layout_id]}": "a", "layout_path={a[layout_id]}": "a", "layout_path=/Shelf&location_id={a[location_id]}": "a", "layout_path=/Nowhere": ""}
FILTERS = {
    "locations": {**BY, "group_id={group}": "a", "group={group}": "a", "user_id={user}": "b", "user={user}": "b", "code=a-1": "a", "active=false": "b", "name=zulu": "b",
                  "search=alph": "a", "search=z-1": "b", "search=boston": "b", "search=dock%40": "a"},
    "layouts": {**BY, "path={default}": "b", "path=null": "a", "path=all": "ab", "code=z1": "b", "name=aisle": "a", "search=aisl": "a", "search=z1": "b", "search=default": "b"},
    "contacts": {**BY, "email=ANN@b.example": "a", "email=work@b.example": "a", "email=ann@b": "", "phone=%2B441632960002": "b", "external_id=X1": "a", "location_id={home}": "a", "group_id={group}": "a",
                 "address_hash={b[address][hash]}": "b", "is_primary=true": "b", "search=zoe": "b"},
    "groups": {**BY, "resource=location": "b", "location_id={far}": "b", "child={far}": "b", "search=alph": "a"},
    "parcels": {**BY, **PLACE, "item_id=item_1": "a", "unpacked=true": "b", "type=box": "a", "statuses=overdue": "b", "status=in_storage": "a", "special_handling_tags=hazmat": "a", "received=true": "a",
                "defective=true": "a", "missing=true": "b", "tracking_number=tn-1": "a", "container_number=cn-2": "b", "shipment_id=ship_1": "a", "manifest_id=mfst_1": "a", "fulfillment_id=ful_1": "a",
                "search=alph": "a", "search=tn-2": "b", "search=cn-1": "a"},
    "assets": {**BY, **PLACE, "item_id={a[item_id]}": "a", "assignee_id={a[assignee_id]}": "a", "assignee={a[assignee_id]}": "a", "status=lost": "b", "statuses=on_loan,in_use": "a",
               "is_warranty_valid=true": "a", "is_warranty_valid=false": "b", "warranty_valid_until[lt]=2021-01-01T00:00:00Z": "b", "next_maintenance_date[lt]=2030-06-01T00:00:00Z": "a",
               "barcode=bc-1": "a", "serial_number=sn-2": "b", "category=vans": "b", "manifest_id=mfst_1": "a", "list_archived=false": "ab", "list_archived=true": "", "list_archived=all": "ab",
               "overdue=true": "a", "due_back_at=!null": "a", "search=sn-1": "a", "search=bc-2": "b", "search=alph": "a", "search=zulu": "b", "search=zu-2": "b", "search=tools": "a"},
    "manifests": {**BY, "location_id={a[location_id]}": "a", "status=accepted": "b", "statuses=created,void": "a", "special_handling_tags=hazmat": "a", "reason_code_id={a[reason_code_id]}": "a", "item_id={one}": "a",
                  "item_id={two}": "b", "order_number=o1": "a", "external_id=E2": "b", "sender={a[sender][contact_id]}": "a", "recipient={a[recipient][contact_id]}": "a", "purchase_order_number=p1": "a",
                  "reference_number=f1": "a", "container_number=cn1": "a", "load_number=l1": "a", "blind=true": "a", "estimated_arrival_at[lt]={b[estimated_arrival_at]}": "a", "arrived_at[gt]={a[arrived_at]}": "b",
                  "processed_at[gt]={a[arrived_at]}": "b", "search=o2": "b", "search=i1": "a", "search=p1": "a", "search=f1": "a", "search=cp1": "a", "search=cn1": "a", "search=l1": "a", "search=e2": "b", "search=ae1": "a"},
    "containers": {**BY, **PLACE, "status=delayed": "b", "statuses=created": "a", "filter=exception": "b", "filter=completed": "", "search=alph": "a", "search=box-2": "b", "search=right": "b"},
    "shipments": {**BY, **PLACE, "status=in_transit": "a", "statuses=delivered": "b", "type=inbound": "a", "filter=completed": "b", "refund_status=requested": "a", "provider_id=ups": "b",
                  "tracking_number=track-a": "a", "tracker_id={b[tracker_id]}": "b", "container_id={a[container_id]}": "a", "sender_contact_id={a[sender_contact_id]}": "a",
                  "recipient_contact_id={a[recipient_contact_id]}": "a", "parent_id={a[id]}": "b", "is_parent=true": "a", "fulfillment_id=ful_0000000000000000000001": "a", "manifest_id=mfst_1": "a", "order_number=o1": "a",
                  "purchase_order=p1": "a", "invoice_number=i1": "a", "rma_number=r1": "a", "reference_number=f1": "a", "tags=fragile": "a", "sender_address_id={a[sender][address][id]}": "a",
                  "recipient_address_id={a[recipient][address][id]}": "a", "estimated_delivery_at[lt]={b[estimated_delivery_at]}": "a", "pickup_at[gt]={a[pickup_at]}": "b",
                  "delivered_at[gt]={a[delivered_at]}": "b", "search=track-b": "b", "search=ann%40": "a", "search=zoe": "a", "search=o1": "a", "search=f1": "a", "search=fedex": "a"},
    "trackers": {**PLACE, "shipment_is_parent=true": "a", "shipment_is_parent=none:true": "b", "recipient_contact_id={a[recipient_contact_id]}": "a", "sender_contact_id={a[sender_contact_id]}": "a",
                 "status=delivered": "b", "statuses=in_transit": "a", "filter=outstanding": "a", "filter=refunded": "ab", "type=inbound": "a", "provider_id=ups": "b", "tracking_number=track-a": "a",
                 "shipment_id={ship}": "a", "tags=fragile": "a", "estimated_delivery_at[lt]={b[estimated_delivery_at]}": "a", "pickup_at[gt]={a[pickup_at]}": "b", "delivered_at=!null": "b",
                 "search=track-b": "b", "search=ann%40": "a", "search=zoe": "a"},
    "reason_codes": {**BY, "code=abc": "a", "name=zulu": "b", "resources=item": "a", "active=false": "b", "search=alph": "a"}}
# Ascending. Every list can be ordered by both moments.
ORDERS = {"locations": {"name": "ab", "code": "ab"}, "layouts": {"position": "ab", "name": "ab", "code": "ab"}, "contacts": {"name": "ab", "email": "ab"}, "groups": {"name": "ab"},
          "parcels": {"name": "ab", "status": "ab"}, "assets": {"name": "ab", "serial_number": "ab", "value": "ab"},
          "manifests": {"status": "ba", "estimated_arrival_at": "ab", "arrived_at": "ab", "processed_at": "ab"}, "containers": {"status": "ab", "tracking_number": "ab", "estimated_delivery_at": "ab"},
          "shipments": {"status": "ba", "estimated_delivery_at": "ab", "delivered_at": "ab"}, "trackers": {"status": "ba", "estimated_delivery_at": "ab"}, "reason_codes": {"code": "ab", "name": "ab"}}
FIRST = {"locations": "ab", "layouts": "ab", "contacts": "ab", "groups": "ab"}  # by name or position; the others newest first
LIMIT = {"layouts": 1000, "contacts": 10, "groups": 10}


@pytest.mark.parametrize("resource, query, wanted", [(r, q, w) for r, filters in FILTERS.items() for q, w in {**COMMON, **filters}.items()])
def test_filter(world, resource, query, wanted):
    assert "".join(sorted(world.listed(query))) == wanted


@pytest.mark.parametrize("resource, by, wanted", [(r, by, w) for r, orders in ORDERS.items() for by, w in {"created_at": "ab", "updated_at": "ba", **orders}.items()])
def test_order(world, resource, by, wanted):
    assert (world.listed(f"order_by={by}&direction=asc"), world.listed(f"order_by={by}&direction=desc")) == (wanted, wanted[::-1])


@pytest.mark.parametrize("resource", BUILD)
def test_without_being_asked(world, resource):
    assert world.listed("") == FIRST.get(resource, "ba")
    assert world.one.get(world.path).pagination["limit"] == LIMIT.get(resource, 25)
    assert world.one.get(world.path + "?limit=1000").pagination["limit"] == 1000
