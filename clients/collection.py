#!/usr/bin/env python3
"""Writes all operations of a server as a collection of Postman (v2.1), which Bruno imports too.

  collection.py https://wharf.example.com > wharf.postman_collection.json     (WHARF_KEY, when the server asks for a key)
  collection.py openapi.json > wharf.postman_collection.json

Variables: baseUrl, key. Folders are the headings of the description; bodies are its examples.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "python"))
from generate import description, is_url, resolved  # noqa: E402


def request_of(document, path, method, operation):
    """Makes the request of an operation: its parameters are there to be switched on, its body is that of its example."""
    def of(place, **more):
        return [{"key": p["name"], "value": "", "description": p.get("description", ""), **more} for p in parameters if p["in"] == place]

    parameters = [resolved(document, p) for p in operation.get("parameters", ())]
    path = re.sub(r"\{([^}]+)\}", r":\1", path)
    made = {"method": method.upper(), "description": operation["description"], "header": of("header", disabled=True),
            "url": {"raw": "{{baseUrl}}" + path, "host": ["{{baseUrl}}"], "path": path.strip("/").split("/"), "variable": of("path"), "query": of("query", disabled=True)}}
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        if kind == "application/json":
            made["body"] = {"mode": "raw", "raw": json.dumps(content.get("example", {}), indent=2, ensure_ascii=False), "options": {"raw": {"language": "json"}}}
        else:
            made["body"] = {"mode": "file"}
    if operation.get("security") == []:
        made["auth"] = {"type": "noauth"}
    return {"name": operation["summary"], "request": made, "response": []}


def collection(document, base):
    """Makes the collection. base: the address of the server, or an empty text."""
    folders = {tag["name"]: {"name": tag["name"], "description": tag.get("description", ""), "item": []} for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            folders[operation["tags"][0]]["item"].append(request_of(document, path, method, operation))
    return {"info": {"name": document["info"]["title"], "description": document["info"]["description"],
                     "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
            "auth": {"type": "apikey", "apikey": [{"key": "key", "value": "SVC-API-KEY"}, {"key": "value", "value": "{{key}}"}, {"key": "in", "value": "header"}]},
            "variable": [{"key": "baseUrl", "value": base}, {"key": "key", "value": ""}],
            "item": [f for f in folders.values() if f["item"]]}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    base = sys.argv[1].rstrip("/") if is_url(sys.argv[1]) else ""
    json.dump(collection(description(sys.argv[1]), base), sys.stdout, indent=1, ensure_ascii=False)
