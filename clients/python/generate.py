#!/usr/bin/env python3
"""Writes wharf_client/api.py from the description of a server: a typed method for each of its operations.

  generate.py https://wharf.example.com        (WHARF_KEY, when the server asks for a key)
  generate.py openapi.json

There is no well-kept generator for Python among the packages that this project takes (Debian, npm); what is generated is types and
signatures only, and the layer below (wharf_client/client.py) is written by hand.
"""
import json
import keyword
import os
import pathlib
import re
import sys
import urllib.request

PLACE = pathlib.Path(__file__).resolve().parent / "wharf_client" / "api.py"


def is_url(source):
    return bool(re.match("https?:", source))


def description(source):
    """Returns the description of a server. source: the server's address, or the name of a file."""
    if not is_url(source):
        return json.loads(pathlib.Path(source).read_text())
    headers = {"SVC-API-KEY": os.environ["WHARF_KEY"]} if os.environ.get("WHARF_KEY") else {}
    with urllib.request.urlopen(urllib.request.Request(source.rstrip("/") + "/v1/openapi.json", headers=headers)) as answer:
        return json.load(answer)


def resolved(document, node):
    """Returns the node, or what its $ref stands for."""
    while "$ref" in node:
        section, name = node["$ref"].split("/")[-2:]
        node = document["components"][section][name]
    return node


def camel(name):
    return "".join(word.capitalize() for word in re.split(r"\W|_", name))


def identifier(name):
    """Returns the name as Python takes it: of a parameter on the wire, or of an operation."""
    name = re.sub(r"\W", "_", name)
    return name + "_" if keyword.iskeyword(name) or name == "self" else name


class Types:
    """Python types of schemas. Objects become classes (TypedDict) with names of their place: ContactAddress."""

    def __init__(self, document):
        self.document, self.classes, self.names = document, [], set(document["components"]["schemas"])

    def fresh(self, name):
        """Returns the name, with a number behind it if it is taken."""
        n, made = 1, name
        while made in self.names:
            n += 1
            made = f"{name}{n}"
        self.names.add(made)
        return made

    def of(self, schema, name):
        """Returns the type of a schema. name: of the class that is made for it, if it needs one."""
        if schema is True or schema == {}:
            return "Any"
        if "$ref" in schema:
            return f'"{schema["$ref"].rsplit("/", 1)[1]}"'
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"Literal[{', '.join(repr(v) for v in schema['enum'])}]"
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.union(self.of(s, name) for s in schema[key])
        if "allOf" in schema:
            return self.of({"type": "object", "properties": {k: v for s in map(self.resolved, schema["allOf"]) for k, v in s.get("properties", {}).items()},
                            "required": [r for s in map(self.resolved, schema["allOf"]) for r in s.get("required", [])]}, name)
        types = schema.get("type", "object" if "properties" in schema else None)
        return self.union(self.plain(schema, t, name) for t in (types if isinstance(types, list) else [types]))

    def resolved(self, schema):
        return resolved(self.document, schema)

    @staticmethod
    def union(types):
        seen = list(dict.fromkeys(types))
        return seen[0] if len(seen) == 1 else f"Union[{', '.join(seen)}]"

    def plain(self, schema, kind, name):
        if kind == "array":
            return f"list[{self.of(schema.get('items', {}), name + 'Item')}]"
        if kind == "object":
            if schema.get("properties"):
                return f'"{self.typed_dict(schema, self.fresh(name))}"'
            more = schema.get("additionalProperties", True)
            return f"dict[str, {'Any' if isinstance(more, bool) else self.of(more, name + 'Value')}]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}.get(kind, "Any")

    def typed_dict(self, schema, name):
        place = len(self.classes)
        self.classes.append(None)  # those inside come behind
        required = set(schema.get("required", ()))
        members = {}
        for member, s in schema["properties"].items():
            kind = self.of(s, name + camel(member))
            members[member] = kind if member in required else f"NotRequired[{kind}]"
        self.classes[place] = f"{name} = TypedDict({name!r}, {{\n" + "".join(f"    {m!r}: {t},\n" for m, t in members.items()) + "})"
        return name

    def component(self, name, schema):
        if schema.get("properties") and not any(k in schema for k in ("anyOf", "oneOf", "allOf")) and schema.get("type") != ["object", "null"]:
            self.typed_dict(schema, name)
        else:
            self.classes.append(f"{name} = {self.of(schema, name + 'Value')}")


def parameters(types, operation):
    """Returns the parameters in the path and those in the query, each as (name in Python, name on the wire, type)."""
    path, query, taken = [], [], {"body", "headers"}
    for p in map(types.resolved, operation.get("parameters", ())):
        if p["in"] not in ("path", "query"):
            continue
        name = identifier(p["name"])
        while name in taken:
            name += "_"
        taken.add(name)
        if p["in"] == "path":
            path.append((name, p["name"], "str"))
        else:
            query.append((name, p["name"], types.of(p["schema"], "Query")))
    return path, query


def answer_type(types, operation, name):
    """Returns the type of the `data` that the operation answers with; None: it answers with bytes."""
    found = []
    for status, answer in operation["responses"].items():
        schema = types.resolved(answer).get("content", {}).get("application/json", {}).get("schema", {})
        if status[0] == "2" and "data" in schema.get("properties", {}):
            data = schema["properties"]["data"]
            if data.get("type") == "array":
                found.append(f"Page[{types.of(data.get('items', {}), camel(name) + 'Row')}]")
            else:
                found.append(types.of(data, camel(name) + "Data"))
    return types.union(found) if found else None


def body_type(types, operation, name):
    """Returns the type of the body (None: there is none), whether it is needed, and its media type if that is not JSON."""
    body = types.resolved(operation.get("requestBody", {}))
    for kind, media in body.get("content", {}).items():
        if kind == "application/json":
            return types.of(media["schema"], camel(name) + "Body"), body.get("required", False), None
        return "bytes", body.get("required", False), kind
    return None, False, None


def method(types, http_method, path, operation):
    """Returns the text of the method that calls the operation."""
    name = operation["operationId"]
    in_path, query = parameters(types, operation)
    body, needed, kind = body_type(types, operation, name)
    data = answer_type(types, operation, name)
    args = ["self"] + [f"{n}: {t}" for n, _, t in in_path]
    if body and needed:
        args.append(f"body: {body}")
    args.append("*")
    if body and not needed:
        args.append(f"body: Optional[{body}] = None")
    args += [f"{n}: Union[{t}, Operators, None] = None" for n, _, t in query]
    args.append("headers: Optional[Mapping[str, str]] = None")
    keyed = {"$ref": "#/components/parameters/IdempotencyKey"} in operation.get("parameters", ())
    text = operation["summary"].replace("\\", "\\\\").replace('"""', "'''")
    call = [repr(name), repr(http_method.upper()), repr(path), "{" + ", ".join(f"{w!r}: {n}" for n, w, _ in in_path) + "}",
            "{" + ", ".join(f"{w!r}: {n}" for n, w, _ in query) + "}", "body" if body else "None", "headers", repr(kind), repr(data is None), repr(keyed)]
    return (f'    def {name}({", ".join(args)}) -> {data or "bytes"}:\n        """{text}."""\n'
            f'        answer: {data or "bytes"} = self.call({", ".join(call)})\n        return answer\n')


HEAD = '''"""Written by generate.py: the operations of a server, and the types of what they take and answer."""
from typing import Any, Literal, Mapping, NotRequired, Optional, TypedDict, Union

from .client import Client, Operators, Page

'''


def generate(document):
    types = Types(document)
    for name, schema in document["components"]["schemas"].items():
        types.component(name, schema)
    methods = [method(types, m, path, operation) for path, methods in document["paths"].items() for m, operation in methods.items()]
    return HEAD + "\n".join(types.classes) + "\n\n\nclass Wharf(Client):\n" + "\n".join(methods)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    PLACE.write_text(generate(description(sys.argv[1])))
    print(f"{PLACE}: written")
