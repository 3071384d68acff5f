"""Every declared resource keeps what it declares: scopes, constraints, null and "", filters, sorts, locations, soft delete, events, change log."""
import re

import pytest
import requests

from resources import GROWING, ALWAYS_THERE, BEFORE_DELETE, BY_MODULE, BY_ROUTE, BY_RULE, DEFINITIONS, EVENT_PREFIX, NEEDS, TELLS_MORE, World, nullable, ops, properties, types, value, violations, writable, x
from wharf import WAIT

ALL = list(DEFINITIONS)
STEADY = [r for r in ALL if r not in GROWING]
WRITABLE = writable()


@pytest.fixture(scope="module")
def world(server):
    return World(server)


@pytest.fixture(scope="module")
def described(server):
    """resource -> {operation: (path, description)}"""
    found = {}
    for path, methods in server.openapi["paths"].items():
        for method, op in methods.items():
            if "x-resource" in op:
                found.setdefault(op["x-resource"], {})[op["operationId"].split("_")[0]] = (path, op)
    return found


# Lists that show some of the rows show all of them with this.
ALL_OF = {"layout": "path=all", "workflow": "status=all"}


def all_of(resource, path):
    """The path of the list of all rows."""
    return f"{path}?{ALL_OF.get(resource, 'x=1')}"


def member_path(resource, path):
    """Collection of a member's path."""
    return path.rsplit("/", 1)[0]


# ---- what is served ----

def test_all_definitions_are_served(described):
    assert set(described) == set(DEFINITIONS)


@pytest.mark.parametrize("resource", ALL)
def test_operations(described, resource):
    assert set(described[resource]) == ops(resource)
    for name, (_, op) in described[resource].items():
        assert op["x-scope"] == f"{x(resource)['scope']}:{'read' if name in ('list', 'retrieve') else 'write'}"
        assert op["x-location-policy"] in ("none", "row", "via", "multi", "body")


@pytest.mark.parametrize("resource", ALL)
def test_scopes(world, resource):
    scope = x(resource)["scope"]
    other = world.org.client("templates:read" if scope == "documents" else "documents:read")
    parent = x(resource).get("parent")
    below = parent and DEFINITIONS[resource]["properties"][parent["field"]]["x-wharf"]["ref"] == "event"  # it is read with its resource's scope, too
    reader = world.org.client(scope + ":read" + (",locations:read" if below else ""))
    path = world.parent_of(resource)
    missing = f"{path}/{x(resource)['prefix']}_0000000000000000000000"
    assert other.refused("GET", path, 403, "scope_access").errors == [scope + ":read"]
    if "retrieve" in ops(resource):
        assert other.refused("GET", missing, 403, "scope_access").errors == [scope + ":read"]
    reader.get(path)
    for op, method, where in (("create", "POST", path), ("update", "POST", missing), ("delete", "DELETE", missing)):
        if op in ops(resource):
            reader.refused(method, where, 403, "scope_access", [scope + ":write"], body={} if method == "POST" else None)


@pytest.mark.parametrize("resource", ALL)
def test_absent_operations(world, resource):
    path = world.parent_of(resource)
    elsewhere = BY_ROUTE.get(resource, ())
    if "create" not in ops(resource) and "create" not in elsewhere:
        assert world.all.request("POST", path, body={}).status == 405
    if "delete" not in ops(resource) and "delete" not in elsewhere and "retrieve" in ops(resource):
        assert world.all.request("DELETE", f"{path}/{x(resource)['prefix']}_0000000000000000000000").status == 405


@pytest.mark.parametrize("resource", ALL)
def test_unknown_ids(world, resource):
    path = world.parent_of(resource)
    for id in (f"{x(resource)['prefix']}_0000000000000000000000", "nonsense", "%20", "a" * 300):
        if "retrieve" in ops(resource):
            world.all.refused("GET", f"{path}/{id}", 404, "not_found")
        elif "delete" in BY_ROUTE.get(resource, ()):
            world.all.refused("GET", f"{path}/{id}", 405, "method.not_allowed")
        else:
            world.all.refused("GET", f"{path}/{id}", 404, "route.not_found")
        if "update" in ops(resource):
            world.all.refused("POST", f"{path}/{id}", 404, "not_found", body={})
            if "delete" in ops(resource):
                world.all.refused("DELETE", f"{path}/{id}", 404, "not_found")


# ---- bodies ----

def once(resource):
    """Fields of the answers of writes alone."""
    return {n for n, p in DEFINITIONS[resource]["properties"].items() if p.get("x-wharf", {}).get("in") in (["created"], ["written"])}


def signed(resource):
    """Fields with links that are signed anew for each answer."""
    return {n for n, p in DEFINITIONS[resource]["properties"].items() if p.get("x-wharf", {}).get("fresh")}


@pytest.mark.parametrize("resource", [r for r in WRITABLE if r not in BY_MODULE])
def test_create_update_retrieve(world, resource):
    other = once(resource) | signed(resource)
    row = {k: v for k, v in world.make(resource, everything=True).items() if k not in other}
    where = world.where
    got = {k: v for k, v in world.all.get(where).data.items() if k not in signed(resource)}
    assert {k: v for k, v in got.items() if k in row} == row
    assert row["object"] == resource and row["created_at"] == row["updated_at"] and row["created_by"] == row["updated_by"]
    again = world.all.post(where, {}, expect=200).data
    assert {k: v for k, v in again.items() if k not in other} == got


@pytest.mark.parametrize("resource", [r for r in WRITABLE if r not in BY_MODULE])
def test_required(world, resource):
    path, body = world.parent_of(resource), world.body(resource)
    fields = DEFINITIONS[resource]["properties"]
    names = [n for n in DEFINITIONS[resource].get("required", []) if n in properties(resource) or fields[n].get("x-wharf", {}).get("store") == "input"]
    for name in names:
        less = {k: v for k, v in body.items() if k != name}
        world.all.refused("POST", path, 400, "validation.failed", [name], body=less)
    if names:
        assert world.all.refused("POST", path, 400, "validation.failed", body={}).errors == names


@pytest.mark.parametrize("resource", [r for r in WRITABLE if r not in BY_MODULE])
def test_constraints(world, resource):
    path, body = world.parent_of(resource), world.body(resource)
    world.make(resource)
    where, count = world.where, 0
    for name, p in {**properties(resource), **(properties(resource, "update") if "update" in ops(resource) else {})}.items():
        if name in BY_RULE.get(resource, ()) or p.get("x-wharf", {}).get("ref"):
            continue
        for bad, at in violations(p, name):
            if p.get("x-wharf", {}).get("write", "both") in ("both", "create"):
                a = world.all.refused("POST", path, 400, "validation.failed", body={**body, name: bad})
                assert at in a.errors, (name, bad, at, a.errors)
            if p.get("x-wharf", {}).get("write", "both") in ("both", "update"):
                b = world.all.refused("POST", where, 400, "validation.failed", body={name: bad})
                assert at in b.errors, (name, bad, at, b.errors)
            count += 1
    assert count >= 3


@pytest.mark.parametrize("resource", WRITABLE)
def test_null_and_empty(world, resource):
    path, body = world.parent_of(resource), world.body(resource)
    for name, p in properties(resource).items():
        w = p.get("x-wharf", {})
        if name in BY_RULE.get(resource, ()) or w.get("ref") or w.get("write", "both") != "both" or w.get("in") == []:
            continue
        on_null = w.get("null", "clear" if nullable(p) or w.get("store") == "metadata" else "reject")
        on_empty = w.get("empty", on_null if nullable(p) else "reject")
        world.make(resource, **({name: value(p, name)} if name not in body else {}))
        where = world.where
        required = name in DEFINITIONS[resource].get("required", [])
        for sent, rule in ((None, "reject" if required else on_null), ("", "reject" if required else on_empty)):
            if sent == "" and (types(p)[0] != "string" or p.get("format") == "date-time"):
                continue
            before = world.all.get(where).data.get(name)
            if rule == "reject":
                world.all.refused("POST", where, 400, "validation.failed", [name], body={name: sent})
            else:
                after = world.all.post(where, {name: sent}, expect=200).data.get(name)
                assert after == (before if rule in ("ignore", "keep") else {} if w.get("store") == "metadata" else [] if types(p) == ["array"] else None), (name, sent, rule)


@pytest.mark.parametrize("resource", WRITABLE)
def test_metadata(world, resource):
    if "metadata" not in properties(resource):
        return
    row = world.make(resource, metadata={"a": "1", "b": 2, "c": True})
    where = world.where
    assert row["metadata"] == {"a": "1", "b": 2, "c": True}
    assert world.all.post(where, {"metadata": {"a": None, "b": "", "d": 1.5}}, expect=200).data["metadata"] == {"c": True, "d": 1.5}
    full = {f"k{i}": "v" for i in range(23)}
    assert len(world.all.post(where, {"metadata": full}, expect=200).data["metadata"]) == 25
    world.all.refused("POST", where, 400, "validation.failed", ["metadata"], body={"metadata": {"one": "too many"}})
    world.all.post(where, {"metadata": None}, expect=200)
    longest = {"k" * 100: "v" * 500}
    assert world.all.post(where, {"metadata": longest}, expect=200).data["metadata"] == longest
    for bad, at in (({"x": {}}, "metadata.x"), ({"x": []}, "metadata.x"), ({"x" * 101: "1"}, "metadata." + "x" * 101), ({"x": "y" * 501}, "metadata.x"), ([], "metadata"), (5, "metadata")):
        a = world.all.refused("POST", where, 400, "validation.failed", body={"metadata": bad})
        assert at is None or a.errors == [at]
    for nothing in (None, ""):
        world.all.post(where, {"metadata": {"k1": "again"}}, expect=200)
        assert world.all.post(where, {"metadata": nothing}, expect=200).data["metadata"] == {}


@pytest.mark.parametrize("resource", [r for r in WRITABLE if r not in BY_MODULE])
def test_create_only_and_never_written(world, resource):
    row = world.make(resource)
    where = world.where
    for name, p in DEFINITIONS[resource]["properties"].items():
        w = p.get("x-wharf", {})
        if name in once(resource) or name in BY_RULE.get(resource, ()):
            continue
        if name in ("id", "created_at", "updated_at", "created_by", "updated_by") or (w.get("write") == "never" and name in row):
            if name not in row or resource == "layout" and name == "parent_id":
                continue
            after = world.all.post(where, {name: "zzz"}, expect=200).data
            assert after[name] == row[name], name
            if name != "id":
                world.all.refused("POST", where, 400, "validation.failed", [name], body={name: "zzz"}, headers={"Prefer": "handling=strict"})
        if w.get("write") == "create" and not w.get("ref") and w.get("store") != "input":
            world.all.post(where, {name: row[name]}, expect=200)
            other = "other" if row[name] != "other" else "another"
            world.all.refused("POST", where, 400, "validation.failed", [name], body={name: other})


# ---- lists ----

@pytest.fixture(scope="module")
def filled(world):
    """resource -> (collection, rows as retrieved), made once."""
    made = {}

    def get(resource):
        if resource not in made:
            path = world.parent_of(resource)
            if "create" in ops(resource) or resource in BY_ROUTE and "create" in BY_ROUTE[resource] and resource != "organization":
                for i in range(4):
                    world.make(resource, path, everything=i % 2 == 0)
            elif resource == "user":
                for role in ("user", "admin", "user"):
                    world.org.user(role=role)
            made[resource] = path
        path = made[resource]
        extra = "&" + ALL_OF[resource] if resource in ALL_OF else ""
        return path, extra, world.all.get(f"{path}?limit=all{extra}").data
    return get


def ids(world, path, query):
    return world.all.get(f"{path}?{query}&limit=all").ids


SAMPLES = {"date": "2024-05-06T07:08:09.010Z", "number": "2.5", "text": "plain text", "id": None, "enum": None}


def complements(world, path, extra, everything, plain, negated):
    a, b = set(ids(world, path, plain + extra)), set(ids(world, path, negated + extra))
    assert a | b == everything and not a & b, (plain, negated)
    return a


def refused_list(world, resource, path, query, name):
    """A parameter is refused, in the shape that the list declares (list.errors)."""
    errors = x(resource).get("list", {}).get("errors", {"named": [], "unnamed": []})
    a = world.all.request("GET", f"{path}?{query}")
    wanted = [("validation.failed", [name])] if name in errors["named"] else [("validation.failed", [""])] if name in errors["unnamed"] else [("param.invalid", [name])]
    if name in errors["unnamed"] and name == "updated_at":  # its values are told by name
        wanted.append(("param.invalid", [name]))
    assert a.status == 400 and (a.code, a.errors) in wanted, (query, a)


@pytest.mark.parametrize("resource", STEADY)
def test_filters(world, filled, described, resource):
    path, extra, rows = filled(resource)
    everything = {r["id"] for r in rows}
    refuse = lambda q, name: refused_list(world, resource, path, q + extra, name)
    for f in described[resource]["list"][1]["x-filters"]:
        name, kind = f["name"], f["type"]
        if resource == "layout" and name == "path" or f.get("lenient"):
            continue
        refuse(f"{name}=", name)
        refuse(f"{name}[in=x", name)
        if kind != "metadata":
            refuse(f"{name}[nope]=x", name)
            refuse(f"{name}.eq=x", name)
        if kind == "text" and "of" in x(resource).get("list", {}).get("filters", {}).get(name, {}):
            continue  # of other rows, of which one has to fulfil it, and another may fulfil its contrary
        test = globals()["filter_" + kind.replace("-", "_")]
        test(world, path, extra, rows, everything, f, refuse)
        if kind in ("date", "number", "enum", "id", "text"):
            if f["nullable"]:
                complements(world, path, extra, everything, f"{name}=null", f"{name}=!null")
            else:
                refuse(f"{name}=null", name)


def seen_values(rows, name):
    return [r[name] for r in rows if r.get(name) is not None]


def filter_date(world, path, extra, rows, everything, f, refuse):
    name = f["name"]
    values = seen_values(rows, name) or ["2024-05-06T07:08:09.010Z"]
    v = values[0].replace("+", "%2B")
    complements(world, path, extra, everything, f"{name}={v}", f"{name}=!eq:{v}")
    complements(world, path, extra, everything, f"{name}[in]={v},0", f"{name}[not_in]={v},0")
    complements(world, path, extra, everything, f"{name}=bwi:0,{v}", f"{name}=!bwi:0,{v}")
    above, rest = set(ids(world, path, f"{name}[gt]={v}{extra}")), set(ids(world, path, f"{name}[lte]={v}{extra}"))
    assert not above & rest and above | rest == {r["id"] for r in rows if r.get(name) is not None or name not in r} or name not in rows[0]
    for bad in ("2024-01-01", "now", "-1", "1.5", "2024-01-01T00:00:00"):
        refuse(f"{name}[gte]={bad}", name)
    refuse(f"{name}=bwi:5,5", name)


def filter_number(world, path, extra, rows, everything, f, refuse):
    name = f["name"]
    v = (seen_values(rows, name) or [2.5])[0]
    complements(world, path, extra, everything, f"{name}={v}", f"{name}=!eq:{v}")
    complements(world, path, extra, everything, f"{name}[bwi]={v - 1},{v + 1}", f"{name}[!bwi]={v - 1},{v + 1}")
    for bad in ("x", "1e3", "%2B1", "01", "1.", "1.23456"):
        refuse(f"{name}={bad}", name)


def filter_enum(world, path, extra, rows, everything, f, refuse):
    name = f["name"]
    assert f["members"]
    for m in f["members"]:
        complements(world, path, extra, everything, f"{name}={m}", f"{name}=!eq:{m}")
    assert set(ids(world, path, f"{name}={','.join(f['members'])}{extra}")) <= everything
    refuse(f"{name}=zzz", name)
    refuse(f"{name}=gt:{f['members'][0]}", name)
    refuse(f"{name}={f['members'][0]},,x", name)


filter_flags = filter_enum


def filter_id(world, path, extra, rows, everything, f, refuse):
    name = f["name"]
    v = (seen_values(rows, name) or [None])[0]
    if v:
        hit = complements(world, path, extra, everything, f"{name}={v}", f"{name}=!eq:{v}")
        assert hit == {r["id"] for r in rows if r.get(name) == v}
        complements(world, path, extra, everything, f"{name}[in]={v}", f"{name}[not_in]={v}")
    refuse(f"{name}=gt:{v or 'x'}", name)


def filter_text(world, path, extra, rows, everything, f, refuse):
    name = f["name"]
    v = (seen_values(rows, name) or ["no such text"])[0].replace(" ", "%20")
    hit = complements(world, path, extra, everything, f"{name}[eq]={v.upper().replace('%20', '%20')}", f"{name}[!eq]={v}")
    assert set(ids(world, path, f"{name}={v.lower()}{extra}")) == hit
    refuse(f"{name}[gt]=x", name)


def filter_bool(world, path, extra, rows, everything, f, refuse):
    name = f["name"]
    complements(world, path, extra, everything, f"{name}=YES", f"{name}=0")
    for bad in ("maybe", "null", "some:true"):
        refuse(f"{name}={bad}", name)


def filter_many_bool(world, path, extra, rows, everything, f, refuse):
    name = f["name"]
    for v in ("true", "no"):
        complements(world, path, extra, everything, f"{name}={v}", f"{name}=none:{v}")
    for bad in ("maybe", "all:true", "some:"):
        refuse(f"{name}={bad}", name)


def filter_array(world, path, extra, rows, everything, f, refuse):
    name = f["name"]
    of = DEFINITIONS.get(f.get("ref"))
    absent = f"{of['x-wharf']['prefix']}_{'0' * 22}" if of else "absent"
    members = f.get("members") or sorted({v["id"] if isinstance(v, dict) else v for r in rows for v in r.get(name) or []} | {absent})
    a, b = members[0], members[-1]
    for plain in (f"AND:{a},{b}", f"OR:{a},{b}", f"OR:{a},!{b}"):
        complements(world, path, extra, everything, f"{name}={plain}", f"{name}=!{plain}")
    complements(world, path, extra, everything, f"{name}={a}", f"{name}=!{a}")
    complements(world, path, extra, everything, f"{name}=null", f"{name}=!null")
    for bad in (f"or:{a}", "OR:", f"{a},,{b}", "!"):
        refuse(f"{name}={bad}", name)


def filter_tree(world, path, extra, rows, everything, f, refuse):
    name = f["name"]
    field = name.replace("_path", "_id")
    v = (seen_values(rows, field) or [None])[0]
    if v:
        assert {r["id"] for r in rows if r[field] == v} <= set(ids(world, path, f"{name}={v}"))
    assert ids(world, path, f"{name}=/No%20such%20name") == []
    refuse(f"{name}=no-path", name)
    refuse(f"{name}=/a,,/b", name)


def filter_metadata(world, path, extra, rows, everything, f, refuse):
    name = f["name"]
    refuse(f"{name}=color", name)
    refuse(f"{name}=:red", name)
    if not rows:
        return
    a = world.all.request("POST", f"{path}/{rows[0]['id']}", body={"metadata": {"color": "red", "a.b": 10}})
    if a.status == 405:
        return
    for q in (f"{name}=color:red", f"{name}.color=equals:red", f"{name}[color]=red", f"{name}.a.b=10", f"{name}=color:gt:r", f"{name}=color:lt:s"):
        assert rows[0]["id"] in ids(world, path, q + extra), q
    assert ids(world, path, f"{name}=color:blue{extra}") == []


@pytest.mark.parametrize("resource", STEADY)
def test_sorts(world, filled, described, resource):
    path, extra, rows = filled(resource)
    order = [n for n in next(p for p in described[resource]["list"][1]["parameters"] if p.get("name") == "order_by")["schema"]["enum"] if n != "_relevance"]
    assert order and "created_at" in order
    for name in order:
        for direction in ("asc", "desc"):
            q = f"order_by={name}&direction={direction}{extra}"
            listed = world.all.get(f"{path}?{q}&limit=all").data
            whole = [r["id"] for r in listed]
            assert sorted(whole) == sorted(r["id"] for r in rows)
            shown = [r[name] for r in listed]
            paged = [i for p in range(1, len(whole) + 2) for i in world.all.get(f"{path}?{q}&limit=1&page={p}").ids]
            walked, cursor = [], "start"
            while cursor:
                a = world.all.get(f"{path}?{q}&limit=2&cursor={cursor}")
                walked += a.ids
                cursor = a.pagination["next_cursor"]
            if name != "last_used_at":  # which moves while keys are used
                assert paged == walked == whole, (name, direction)
            there = [v.lower().encode() if isinstance(v, str) else v for v in shown if v is not None]
            assert there == sorted(there, reverse=direction == "desc"), (name, direction)
            assert all(v is None for v in shown[len(there):]), "nulls come last"
    refused_list(world, resource, path, "order_by=metadata", "order_by")


@pytest.mark.parametrize("resource", STEADY)
def test_list_limits(world, resource):
    path = world.parent_of(resource)
    declared = x(resource).get("list", {})
    most = declared.get("max", 1000)
    assert world.all.get(path).pagination["limit"] == declared.get("limit", min(25, most))
    assert world.all.get(path + "?limit=all").pagination["limit"] == most
    world.all.get(f"{path}?limit={most}")
    for bad in (0, most + 1, "none", "5.0"):
        refused_list(world, resource, path, f"limit={bad}", "limit")


@pytest.mark.parametrize("resource", STEADY)
def test_fields(world, filled, resource):
    path, extra, rows = filled(resource)
    if not rows:
        return
    for name in rows[0]:
        if name != "_search":
            assert set(world.all.get(f"{path}?fields={name}&limit=1{extra}").data[0]) == {"object", "id", name}
    world.all.refused("GET", f"{path}?fields=zzz{extra}", 400, "param.invalid", ["fields"])


# ---- locations ----

def place_is_written(resource):
    """Where a document is follows from its links: tests/api/documents/test_document_access.py."""
    name = x(resource)["location"]
    return name not in ("none", "self") and DEFINITIONS[resource]["properties"][name].get("x-wharf", {}).get("write") != "never"


@pytest.mark.parametrize("resource", [r for r in WRITABLE if place_is_written(r) and x(r).get("location_rule") != "every" and "parent" not in x(r) or r == "sample_part"])
def test_location_access(world, resource):
    """Of rows with "location_rule": "every" tests/isolation tells."""
    a, b = world.places
    field = x(resource)["location"]
    path = world.parent_of(resource)
    several = "array" in DEFINITIONS[resource]["properties"][field]["type"]
    of = (lambda place: [place]) if several else (lambda place: place)
    mine, far = world.make(resource, path, **{field: of(a)}), world.make(resource, path, **{field: of(b)})
    near = world.org.client(locations=[a])
    listed = {r["id"] for r in near.get(all_of(resource, path) + "&limit=all").data}
    assert mine["id"] in listed and far["id"] not in listed
    assert near.get(all_of(resource, path) + "&include_total_count=true").pagination["total_count"] == len(listed)
    for method, body in (("GET", None), ("POST", {}), ("DELETE", None)):
        near.refused(method, f"{path}/{far['id']}", 403, "location_access", [b], body=body)
    moves = DEFINITIONS[resource]["properties"][field].get("x-wharf", {}).get("write", "both") == "both"
    if moves:
        near.refused("POST", f"{path}/{mine['id']}", 403, "location_access", [b], body={field: of(b)})
    near.refused("POST", path, 403, "location_access", [b], body={**world.body(resource), field: of(b)})
    near.refused("GET", f"{path}?{field}={b}", 403, "location_access", [b])
    near.refused("GET", f"{path}?{field}={a},{b}", 403, "location_access", [b])
    near.refused("POST", path, 400, "validation.failed", [field + ".0" if several else field],
                 body={**world.body(resource), field: of("loc_0000000000000000000000")})
    assert near.get(f"{path}?{field}=loc_0000000000000000000000", expect=None).status in (200, 403)
    if not moves:
        return
    moved = world.all.post(f"{path}/{mine['id']}", {field: of(b)}, expect=200).data
    shown = moved[field][0] if several else moved[field]
    assert (shown["id"] if isinstance(shown, dict) else shown) == b
    near.refused("GET", f"{path}/{mine['id']}", 403, "location_access", [b])


@pytest.mark.parametrize("resource", WRITABLE)
def test_other_organizations(world, server, resource):
    if "parent" in x(resource):
        return
    row = world.make(resource)
    where, path = world.where, world.parent_of(resource)
    other = server.organization().client()
    assert len(other.get(path).data) == ALWAYS_THERE.get(resource, 0)
    for method, body in (("GET", None), ("POST", {}), ("DELETE", None)):
        other.refused(method, where, 404, "not_found", [row["id"]], body=body)


# ---- what changes leave behind ----

def changed_alone(resource):
    """A field that an update changes, and nothing with it: a text, else one of several words."""
    texts = [(n, p) for n, p in properties(resource, "update").items() if types(p)[0] == "string" and "pattern" not in p and not p.get("x-wharf", {}).get("ref") and
             n not in BY_RULE.get(resource, ()) and p.get("format") != "date-time"]
    return next((f for f in texts if "enum" not in f[1]), None) or next((n, p) for n, p in texts if value(p) != p.get("default"))


# Support requests, event subscribers and print jobs have no text that only is what it says: their events are in tests/api/support/test_support.py,
# test_events_subscribers.py and test_print_jobs.py.
@pytest.mark.parametrize("resource", [r for r in WRITABLE if r not in ("support_request", "event_subscriber", "print_job")])
def test_delete_events_and_log(world, server, resource):
    row = world.make(resource)
    where = world.where
    change = changed_alone(resource)
    body = {change[0]: value(change[1], change[0]), **BEFORE_DELETE.get(resource, {})}
    updated = world.all.post(where, body, expect=200)
    assert updated.data["updated_at"] >= row["updated_at"]
    world.all.post(where, body, expect=200)
    gone = world.all.delete(where)
    assert gone.data == {"id": row["id"], "object": resource, "deleted": True}
    path = member_path(resource, where)
    archive = x(resource).get("archive")
    for method, body in (("DELETE", None),) if archive else (("GET", None), ("POST", {}), ("DELETE", None)):
        world.all.refused(method, where, 404, "not_found", [row["id"]], body=body)
    assert not archive or world.all.get(where).data[archive]
    assert row["id"] not in ids(world, path, ALL_OF.get(resource, "x=1"))
    table = x(resource)["table"]
    if x(resource).get("soft_delete", True):
        assert server.sql(f"SELECT {archive or 'deleted_at'} IS NOT NULL FROM {table} WHERE organization_id = %s AND id = %s", world.org.id, row["id"]) == [(True,)]
    declared = x(resource).get("events", {}) or {}
    names = [declared.get(k) or f"{EVENT_PREFIX[resource]}{resource}.{k}" for k in ("created", "updated", "deleted")]
    assert [e[0] for e in world.org.events(row["id"]) if resource not in BEFORE_DELETE and resource not in TELLS_MORE or e[0] in names] == names
    for e in world.org.events(row["id"]):
        assert e[1]["id"] == row["id"] and e[1]["object"] == resource
    log = world.org.changes(row["id"])
    assert [c[0] for c in log] == ["created", "updated", "deleted"]
    assert change[0] in [c["field"] for c in log[1][1]]
    assert {c[2] for c in log} == {"api_key"}


@pytest.mark.parametrize("resource", [r for r in WRITABLE if "unique" in x(r)])
def test_unique_rules(world, resource):
    path = world.parent_of(resource)
    for rule in x(resource)["unique"]:
        name = rule["report"][0]
        taken = world.needed(NEEDS.get(resource, {}).get(name, lambda: value(properties(resource)[name], "u")[:20]))
        first = world.make(resource, path, **{name: taken})
        of = {n: first[n] for n, p in properties(resource).items() if p.get("x-wharf", {}).get("ref") and n in first}  # a value may be unique for what the row is of
        a = world.all.post(path, {**world.body(resource), **of, name: taken.upper()})
        assert a.code == rule["error"] and a.errors == rule["report"] and a.status in (400, 409)
        if "update" in ops(resource) and properties(resource)[name].get("x-wharf", {}).get("write", "both") == "both":
            other = world.make(resource, path, **of)
            a = world.all.post(f"{path}/{other['id']}", {name: taken.upper()})
            assert a.code == rule["error"] and a.errors == rule["report"] and a.status in (400, 409)
        world.all.delete(f"{path}/{first['id']}")
        world.make(resource, path, **of, **{name: taken})


# ---- what another version is answered with ----

@pytest.mark.parametrize("resource", [r for r in DEFINITIONS if {"update", "delete"} & ops(r) and "create" in ops(r) | BY_ROUTE.get(r, set()) and r not in ("organization", "event_subscriber")])
def test_old_versions(world, described, resource):
    """Spec 01 section 8: If-Match with a version that the row has not, on its update and its delete."""
    world.make(resource)
    for op, method, body in (("update", "POST", {}), ("delete", "DELETE", None)):
        if op in described[resource] and "412" in described[resource][op][1]["responses"]:
            world.all.refused(method, world.where, 412, "precondition.failed", body=body, headers={"If-Match": '"v999999-0000000000000000000000"'})


# ---- what a page costs ----

# An organization sees only itself.
LISTED = [r for r in STEADY if r != "organization" and "list" in ops(r) and ("create" in ops(r) or "create" in BY_ROUTE.get(r, ()))]


def statements(server):
    text = requests.get(server.admin + "/metrics", timeout=WAIT).text
    return int(float(re.search(r"^wharf_db_query_duration_seconds_count (\S+)$", text, re.M)[1]))


def cost(server, client, path):
    """Statements of one GET: the fewest of some tries, as background work adds its own."""
    counts = []
    for _ in range(8):
        before = statements(server)
        client.get(path)
        counts.append(statements(server) - before)
    return min(counts)


def flags(described, resource):
    """What a list may show beside. Whole shipments of a container cost one statement each: a page of containers may hold thousands."""
    names = [p["name"] for p in described[resource]["list"][1].get("parameters", []) if p.get("name", "").startswith("include_")]
    return "".join(f"&{name}=true" for name in names if name != "include_shipments")


@pytest.mark.parametrize("resource", LISTED)
def test_a_page_costs_no_more_statements_than_a_row(world, described, server, resource):
    path = world.parent_of(resource)
    for _ in range(6):
        world.make(resource, path)
    listed = all_of(resource, path)
    assert len(world.all.get(f"{listed}&limit=6").data) == 6
    for more in {"", flags(described, resource)}:
        assert cost(server, world.all, f"{listed}&limit=6{more}") <= cost(server, world.all, f"{listed}&limit=1{more}"), more
