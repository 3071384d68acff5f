"""Bodies that are made to hurt, sent to every operation of the served document that takes one: each is refused or taken within the
limits of one request, no worker ends, and nobody else is kept waiting by the event loop (spec 01 sections 2.3, 3.1)."""
import gzip
import itertools
import json
import re

import pytest

from test_bad_input import workers

MIB = 1 << 20


LARGE = 2 * MIB - 4096  # just below http.body_limit


def listed(piece):
    """A function of a size in bytes: a list with that many bytes of the same piece."""
    return lambda size: "[" + ",".join(itertools.repeat(piece, size // (len(piece) + 1))) + "]"


VALUES = {
    "many_strings": listed('"fragile"'),
    "many_blanks": listed('""'),
    "many_arrays": listed("[]"),
    "many_objects": listed("{}"),
    "many_numbers": listed("1"),
    "many_nulls": listed("null"),
    "many_nul": listed('"\\u0000"'),
    "many_names": lambda size: "{" + ",".join(f'"k{i}":0' for i in range(size // 12)) + "}",
    "deep": lambda size: "[" * 60 + "]" * 60,
    "too_deep": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "one_string": lambda size: '"' + "x" * size + '"',
    "one_number": lambda size: "1" * size,
}


@pytest.fixture(scope="module")
def operations(server, client):
    """Each operation that takes a JSON body: method, path with ids that exist nowhere, and the names of its fields."""
    document = client.get("/v1/openapi.json", check=False).body
    found = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}) if isinstance(operation, dict) else {}
            if method not in ("post", "put", "patch"):
                continue
            schema = content.get("application/json", {}).get("schema", {})
            while "$ref" in schema:
                schema = document["components"]["schemas"][schema["$ref"].split("/")[-1]]
            found.append((method.upper(), re.sub(r"\{[^}]*\}", "none", path), list(schema.get("properties", {}))))
    assert len(found) > 60
    return found


@pytest.fixture(scope="module", autouse=True)
def same_workers(server):
    before = workers(server)
    yield
    assert workers(server) == before


def packed(text):
    return gzip.compress(text.encode(), 1)


def send(client, method, path, packed, **headers):
    return client.request(method, path, data=packed, check=False,
                          headers={"Content-Type": "application/json", "Content-Encoding": "gzip", **headers})


def assert_bounded(answer, path):
    assert answer.status < 500 or answer.code in ("overloaded", "module.unavailable", "storage.unavailable", "secrets.unavailable"), (path, answer)
    assert len(answer.errors or []) <= 100
    assert len(answer.raw.content) < 200_000, (path, len(answer.raw.content))


@pytest.mark.parametrize("name", VALUES)
def test_every_operation_with_an_unknown_field(client, operations, name):
    """As large as a body may be for the first operation of each collection, and of one shape for all: bodies are read before any operation sees them."""
    large, small = (packed(f'{{"nobody_knows_this":{VALUES[name](size)}}}') for size in (LARGE, LARGE // 8))
    seen = set()
    for method, path, _ in operations:
        collection = path.split("/")[2]
        body = large if name == "many_blanks" or collection not in seen else small
        seen.add(collection)
        assert_bounded(send(client, method, path, body, Prefer="handling=strict"), path)
    assert len(seen) > 15


@pytest.mark.parametrize("name", ["many_strings", "many_blanks", "many_names"])
def test_every_field_of_every_operation(client, operations, name):
    value, bodies = VALUES[name](MIB // 4), {}
    for method, path, fields in operations:
        for field in fields:
            if field not in bodies:
                bodies[field] = packed(f"{{{json.dumps(field)}:{value}}}")
            assert_bounded(send(client, method, path, bodies[field]), f"{path} {field}")


def test_problems_are_told_up_to_a_hundred(client):
    body = {f"unknown_{i}": 1 for i in range(5000)}
    a = client.post("/v1/locations", {"name": "x", **body}, headers={"Prefer": "handling=strict"}, expect=400)
    assert len(a.errors) == 100 and "and 4901 more" in a.message  # address is missing too


def test_length_is_judged_before_elements(client):
    a = client.post("/v1/shipments", {"tags": ["fragile"] * 80_000}, expect=400)
    assert a.errors == ["tags"] and "at most" in a.message
