"""The contract of the served description: each operation is named, described, typed and says who may call it, and each schema says what it holds."""
import json
import re

import pytest

import stories

WORDS = 40  # letters that a description of an operation has at least


@pytest.fixture(scope="module")
def server():
    s = stories.server()
    yield s
    s.stop()


@pytest.fixture(scope="module")
def document(server):
    return server.openapi


def text(path):
    return json.loads(path.read_text(encoding="utf-8"))


def named():
    """Names of the schemas that modules bring: resources and shapes."""
    for path in (stories.ROOT / "schemas").glob("*/*.json"):
        yield text(path)["$id"].title().replace("_", "")
    for path in (stories.ROOT / "modules").glob("*/plugin.json"):
        yield from text(path).get("shapes", {})


def operations(document):
    """(name, method, path, operation) of each."""
    return [(o["operationId"], m, p, o) for p, methods in document["paths"].items() for m, o in methods.items()]


def faults_of_schema(schema, at, described=False, answer=False):
    """Tells where a schema does not say what it holds. described: what it is part of is described; answer: it says which members always come."""
    if schema is True or not isinstance(schema, dict):
        return [f"{at}: anything"]
    if "$ref" in schema:
        return []
    described = described or "description" in schema
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    choices = [(f"{at}|{n}", s) for key in ("anyOf", "oneOf", "allOf") for n, s in enumerate(schema.get(key, []))]
    faults = [f for where, s in choices for f in faults_of_schema(s, where, described, answer)]
    if not choices and not {"type", "const", "enum", "properties"} & schema.keys():
        return [f"{at}: no type"]
    more = schema.get("additionalProperties")
    if "object" in types and not schema.get("properties") and not choices:
        if more is None or more is False:
            faults.append(f"{at}: an object of nothing known")
        elif not described:
            faults.append(f"{at}: a free object without a description")
    if answer and schema.get("properties") and "required" not in schema:
        faults.append(f"{at}: does not say which members are always there")
    if isinstance(more, dict):
        faults += faults_of_schema(more, at + ".*", described, answer)
    for name, member in schema.get("properties", {}).items():
        faults += faults_of_schema(member, f"{at}.{name}", False, answer)
    if "array" in types:
        faults += faults_of_schema(schema["items"], at + "[]", described, answer) if "items" in schema else [f"{at}: an array of anything"]
    return faults


def test_names(document):
    names = [name for name, *_ in operations(document)]
    assert len(names) == len(set(names)), sorted({n for n in names if names.count(n) > 1})
    wrong = [name for name, *_ in operations(document) if not re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", name) or re.match(r"(get|post|put|patch)_|delete_(v1|livez|readyz)", name)]
    assert not wrong, wrong


def test_summaries(document):
    wrong = [(name, o["summary"]) for name, _, _, o in operations(document) if not 8 <= len(o["summary"]) <= 60 or o["summary"].endswith(".") or "/" in o["summary"]]
    assert not wrong, wrong


def own_words(operation):
    """The description without the sentence of who may call it."""
    return re.sub(r" *(Needs the scope `[^`]*`|Any API key may call it|No API key is needed)\.$", "", operation["description"]).strip()


def test_descriptions(document):
    wrong = []
    for name, _, _, o in operations(document):
        said = own_words(o)
        if not said.endswith((".", ")", "`")) or said.rstrip(".").lower() == o["summary"].lower() or (len(said) < WORDS and "x-resource" not in o):
            wrong.append((name, said))
    assert not wrong, wrong


def test_who_may_call(document):
    wrong = []
    for name, _, _, o in operations(document):
        said = [bool(re.fullmatch(r"[a-z_]+:(read|write)", o.get("x-scope", ""))), o.get("security") == [], "Any API key may call it" in o["description"],
                {} in (o.get("security") or [])]
        if sum(said) != 1 or o.get("x-location-policy") not in ("none", "row", "via", "multi", "body"):
            wrong.append((name, said, o.get("x-location-policy")))
    assert not wrong, wrong


def test_errors(document):
    codes = set(document["components"]["schemas"]["ErrorCode"]["enum"])
    wrong = [name for name, _, _, o in operations(document) if "x-errors" not in o or set(o["x-errors"]) - codes or set(o["x-errors"]) & set(document["x-errors"])]
    assert not wrong, wrong


def test_codes_name_operations_that_exist(document):
    """Each code of the server and of its modules says which operations answer with it; each of these exists, and tells it."""
    tells = {name: set(o["x-errors"]) | set(document["x-errors"]) for name, _, _, o in operations(document)}
    wrong = []
    for path in [stories.ROOT / "kernel" / "resource" / "errors.json", *sorted(stories.ROOT.glob("modules/*/errors.json"))]:
        for code, said in text(path).items():
            for asked in said.get("operations", ["nothing"]):
                hits = [n for n in tells if n == asked or asked.endswith("*") and n.startswith(asked[:-1])]
                if not asked.startswith("@") and (not hits or any(code not in tells[n] for n in hits)):
                    wrong.append((code, asked))
    assert not wrong, wrong


def test_tags(document):
    tags = {t["name"]: t.get("description", "") for t in document["tags"]}
    used = {o["tags"][0] for _, _, _, o in operations(document)}
    wrong = {t: tags.get(t) for t in used if len(tags.get(t, "")) < 2 * WORDS or not t[0].isupper()}
    assert not wrong, wrong


def test_parameters(server, document):
    """Each is described and typed."""
    wrong = []
    for name, _, _, o in operations(document):
        for p in server.parameters(o):
            if not p.get("description"):
                wrong.append(f"{name} {p['name']}: no description")
            wrong += faults_of_schema(p["schema"], f"{name} {p['name']}", True)
    assert not wrong, wrong


def test_bodies(document):
    wrong = []
    for name, _, _, o in operations(document):
        for type, content in o.get("requestBody", {"content": {}})["content"].items():
            wrong += faults_of_schema(content["schema"], f"{name} {type}")
    assert not wrong, wrong


def test_answers(document):
    wrong = []
    for name, _, _, o in operations(document):
        good = {status: said for status, said in o["responses"].items() if status.startswith("2")}
        if not good:
            wrong.append(f"{name}: no answer")
        for status, said in good.items():
            for type, content in said.get("content", {}).items():
                free = type != "application/json"
                wrong += faults_of_schema(content["schema"], f"{name} {status}", free, answer=not free)
    assert not wrong, wrong


def test_components(document):
    wrong, ours = [], set(named())
    for name, schema in document["components"]["schemas"].items():
        if name == "AnyValue":  # the one that says so by its name
            continue
        read = not name.endswith(("Create", "Update", "Input"))
        wrong += faults_of_schema(schema, name, answer=read and not name.endswith("EventData"))
        if read and name in ours and not schema.get("description"):
            wrong.append(f"{name}: no description")
    assert not wrong, wrong


def test_webhooks(document):
    """What a delivery brings is typed too."""
    wrong = []
    for type, said in document["webhooks"].items():
        wrong += faults_of_schema(said["post"]["requestBody"]["content"]["application/json"]["schema"], type)
    assert not wrong, wrong


def test_the_contract_can_be_broken(document):
    broken = {"type": "object", "properties": {
        "a": {}, "b": {"type": "object"}, "c": {"type": "array"}, "d": {"type": "array", "items": {}}, "e": {"type": "object", "additionalProperties": True},
        "f": {"anyOf": [{"type": "string"}, {"type": "object"}]}, "g": {"description": "only words"}, "h": True}}
    assert {f.split(":")[0] for f in faults_of_schema(broken, "x")} == {"x.a", "x.b", "x.c", "x.d[]", "x.e", "x.f|1", "x.g", "x.h"}
    assert [f for f in faults_of_schema(broken, "x", answer=True) if f.startswith("x:")]
    good = {"type": "object", "required": [], "properties": {"a": {"type": "object", "description": "Its own keys", "additionalProperties": {"type": "string"}}}}
    assert not faults_of_schema(good, "x", answer=True)

