"""Parameters of every list that can't be meant as they stand are refused by name: none of them shows all rows (docs/spec/01-platform.md sections 10 and 11)."""
from urllib.parse import quote

import pytest

from resources import DEFINITIONS, World, ops, x

LISTS = [r for r in DEFINITIONS if "list" in ops(r)]
# Problems of containers are told in an order of their own, ids among them without a name (spec 02 section 8).
UNNAMED = {"container": {"id", "status", "statuses", "location_id", "layout_id", "updated_at"}}


@pytest.fixture(scope="module")
def world(server):
    return World(server)


@pytest.fixture(scope="module")
def lists(server):
    """resource -> names of the parameters of its list"""
    return {op["x-resource"]: [p["name"] for p in server.parameters(op) if p["in"] == "query"] for methods in server.openapi["paths"].values()
            for op in methods.values() if op.get("operationId", "").split("_")[0] == "list" and "x-resource" in op}


def filters_of_ids(resource):
    """Filters whose values are ids of one resource: fields with ref, their other names, and what rules read."""
    fields, found = DEFINITIONS[resource]["properties"], ["id"]
    by_ref = {n for n, p in fields.items() if p.get("x-wharf", {}).get("ref") and p["x-wharf"].get("filter")}
    found += by_ref
    for name, f in x(resource).get("list", {}).get("filters", {}).items():
        of = f.get("alias") or (f.get("field") if f.get("type") in (None, "id") and "child" not in f else None)
        if of and fields.get(of, {}).get("x-wharf", {}).get("ref"):
            found.append(name)
    return found + [p["name"] for p in x(resource).get("params", []) if isinstance(p, dict) and p.get("refs")]


@pytest.mark.parametrize("resource", LISTS)
def test_brackets_where_they_mean_nothing(world, lists, resource):
    path = world.parent_of(resource)
    for name in lists[resource]:
        name = name.split("[")[0].split(".")[0]
        for broken in (f"{name}]", f"[{name}]", f"{name}[", f"{name}[eq", f"{name}[eq]x", f"{name}]eq["):
            r = world.all.get(f"{path}?{quote(broken)}=1", expect=400)
            assert r.code in ("param.invalid", "validation.failed"), (broken, r)
            assert r.errors in ([name], [f"[{name}]"], [""] if name in UNNAMED.get(resource, ()) else [name]), (broken, r.errors)
    for broken in ("]=1", "nothing]=1"):
        world.all.get(f"{path}?{broken}", expect=400)


@pytest.mark.parametrize("resource", LISTS)
def test_texts_that_are_no_ids(world, resource):
    path = world.parent_of(resource)
    for name in filters_of_ids(resource):
        for text in ("nope", "loc", "_", "loc_0354", "usr_$$$$$$$$$$$$$$$$$$$$$$"):
            r = world.all.get(f"{path}?{name}={quote(text)}", expect=400)
            assert r.errors == ([""] if name in UNNAMED.get(resource, ()) else [name]), (name, text, r)


@pytest.mark.parametrize("resource", [r for r in LISTS if x(r).get("list", {}).get("search")])
def test_a_search_without_a_word_finds_nothing(world, resource):
    path = world.parent_of(resource)
    if "create" in ops(resource):
        world.make(resource, path)
    everything = world.all.get(path, expect=200).data
    for text in ("a", ".", "é", " x y ", "1"):
        assert world.all.get(f"{path}?search={quote(text)}", expect=200).data == [], text
    assert len(world.all.get(f"{path}?search={quote('  ')}", expect=200).data) == len(everything)  # as if it was not sent


@pytest.mark.parametrize("word", ["王", "김", "の", "ก", "𠮷"])
def test_a_word_of_one_character_is_searched_where_words_have_no_spaces(world, word):
    named = [world.all.post("/v1/locations", {"name": f"{word}{rest}", "address": "1 Main St, Springfield, IL 62701, US"}, expect=201).data["id"] for rest in ("", "小明", " Dock")]
    people = [world.all.post("/v1/contacts", {"name": f"{word}{rest}"}, expect=201).data["id"] for rest in ("", "小明", " Smith")]
    world.all.post("/v1/contacts", {"name": "李 Other"}, expect=201)
    for path, made in (("/v1/locations", named), ("/v1/contacts", people)):
        found = [row["id"] for row in world.all.get(f"{path}?search={quote(word)}&limit=100", expect=200).data]
        assert sorted(found) == sorted(made), path


@pytest.mark.parametrize("path,name,body", [("/v1/contacts", "email", {"name": "Plus"}), ("/v1/users", "email", {"name": "Plus", "role": "user"}),
                                            ("/v1/events/subscribers", "email", {"events": ["plugin.quarantined"]})])
def test_a_plus_of_an_address_that_is_not_escaped(world, path, name, body):
    made = world.all.post(path, {**body, "email": "who+else@example.com"}, expect=201).data["id"]
    for value in ("who+else@example.com", "who%2Belse@example.com", "who%20else@example.com"):
        assert [row["id"] for row in world.all.get(f"{path}?{name}={value}", expect=200).data] == [made]


def test_workflows_of_locations_are_those_of_any_of_them_and_those_of_all(world):
    def make(name, places):
        return world.all.post("/v1/workflows", {"name": name, "source": "return {}", "triggers": [{"type": "manual"}], "allowed_locations": places}, expect=201).data["id"]
    a, b = world.places
    made = {name: make(name, places) for name, places in (("A", [a]), ("B", [b]), ("Both", [a, b]), ("All", None))}
    def found(ids):
        rows = {row["id"] for row in world.all.get(f"/v1/workflows?status=all&limit=100&location_id={ids}", expect=200).data}
        return {name for name, i in made.items() if i in rows}
    assert found(a) == {"A", "Both", "All"}
    assert found(f"{a},{b}") == {"A", "B", "Both", "All"}
    assert found(f"AND:{a},{b}") == {"Both", "All"}
