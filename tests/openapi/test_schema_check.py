"""The tests' quick judge of answers lets nothing pass that python3-jsonschema refuses (tests/api/schema_check.py)."""
import copy
import random

import jsonschema
import pytest

import stories
from schema_check import Schema

ODD = [None, True, 0, -1, 1.5, 1 << 70, "", "x", "x\n", "é" * 5000, "2026-02-30", "2026-02-28T10:00:00Z", [], [None], [1, 1], {}, {"x": 1}]


@pytest.fixture(scope="module")
def server():
    s = stories.server()
    yield s
    s.stop()


def places(value, at=()):
    yield at
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*at, key))


def altered(value, r):
    """A copy in which one place has another value, or is left out, or has a member or element more."""
    value = copy.deepcopy({"": value})
    *way, last = r.choice(list(places(value))[1:])
    parent = value
    for key in way:
        parent = parent[key]
    here = parent[last]
    do = r.randrange(4)
    if do == 0 and way:
        del parent[last]
    elif do == 1 and isinstance(here, dict):
        here["surprise"] = r.choice(ODD)
    elif do == 1 and isinstance(here, list):
        here.append(copy.deepcopy(here[0]) if here else r.choice(ODD))
    elif do == 2 and isinstance(here, str):
        parent[last] = here + r.choice(["\n", " ", "x", "$", "0"])
    else:
        parent[last] = r.choice(ODD)
    return value[""]


def test_nothing_wrong_passes(server):
    document, r = stories.Document(server), random.Random(7)
    right = wrong = 0
    for operation, example in stories.all_kept().items():
        content = document.answer(operation, example["status"])
        if "answer" not in example or "application/json" not in content:
            continue
        schema = content["application/json"]["schema"]
        judge = jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver("", server.openapi), format_checker=jsonschema.FormatChecker())
        quick = Schema(schema, server.openapi["components"]["schemas"])
        assert quick.fast, f"only jsonschema judges {operation}"
        for value in [example["answer"]] + [altered(example["answer"], r) for _ in range(40)]:
            faults = quick.faults(value)
            assert (not faults) == judge.is_valid(value), (operation, faults, value)
            right, wrong = right + (not faults), wrong + bool(faults)
    assert right > 1000 and wrong > 5000, (right, wrong)


def test_nothing_wrong_passes_of_events(server):
    """What an event tells of a row is judged in the same way: the data of each type, taken from the examples of its resource, right and altered."""
    shown = {e["answer"]["data"]["object"]: e["answer"]["data"] for e in stories.all_kept().values()
             if isinstance(e.get("answer"), dict) and isinstance(e["answer"].get("data"), dict) and isinstance(e["answer"]["data"].get("object"), str)}
    types = server.http.get(server.base + "/v1/events/types", headers={"SVC-API-KEY": server.demo_key}).json()["data"]
    r, right, wrong = random.Random(7), 0, 0
    for type in types:
        schema = server.http.get(server.base + type["schema"]).json()
        quick, judge = Schema(schema), jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
        assert quick.fast, f"only jsonschema judges {type['type']}"
        data = {k: v for k, v in shown.get(type["resource_type"], {"object": type["resource_type"]}).items() if k in schema["properties"]}
        for value in [data] + [altered(data, r) for _ in range(20)]:
            faults = quick.faults(value)
            assert (not faults) == judge.is_valid(value), (type, faults, value)
            right, wrong = right + (not faults), wrong + bool(faults)
    assert right > 300 and wrong > 1000, (right, wrong)
