#!/usr/bin/env python3
"""Writes all operations of a server as a collection of Postman (v2.1), which Bruno imports too.

  collection.py https://wharf.example.com > wharf.postman_collection.json     (WHARF_KEY, when the server asks for a key)
  collection.py openapi.json > wharf.postman_collection.json

Variables: baseUrl, key. Folders are the headings of the description; bodies are its examples.
"""
import json
import os
import pathlib
import re
import sys
import urllib.request


def description(source):
    if not re.match("https?:", source):
        return json.loads(pathlib.Path(source).read_text())
    request = urllib.request.Request(source.rstrip("/") + "/v1/openapi.json", headers={"SVC-API-KEY": os.environ.get("WHARF_KEY", "")})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def request_of(document, path, method, operation):
    def at(node):
        while "$ref" in node:
            kind, name = node["$ref"].split("/")[-2:]
            node = document["components"][kind][name]
        return node

    parameters = [at(p) for p in operation.get("parameters", ())]
    query = [{"key": p["name"], "value": "", "description": p.get("description", ""), "disabled": True} for p in parameters if p["in"] == "query"]
    headers = [{"key": p["name"], "value": "", "description": p.get("description", ""), "disabled": True} for p in parameters if p["in"] == "header"]
    made = {"method": method.upper(), "description": operation["description"], "header": headers,
            "url": {"raw": "{{baseUrl}}" + re.sub(r"\{([^}]+)\}", r":\1", path), "host": ["{{baseUrl}}"], "path": re.sub(r"\{([^}]+)\}", r":\1", path).strip("/").split("/"),
                    "variable": [{"key": p["name"], "value": "", "description": p.get("description", "")} for p in parameters if p["in"] == "path"], "query": query}}
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        if kind == "application/json":
            made["body"] = {"mode": "raw", "raw": json.dumps(content.get("example", {}), indent=2, ensure_ascii=False), "options": {"raw": {"language": "json"}}}
        else:
            made["body"] = {"mode": "file"}
    if operation.get("security") == []:
        made["auth"] = {"type": "noauth"}
    return {"name": operation["summary"], "request": made, "response": []}


def collection(document, base=""):
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
    json.dump(collection(description(sys.argv[1]), sys.argv[1].rstrip("/") if re.match("https?:", sys.argv[1]) else ""), sys.stdout, indent=1, ensure_ascii=False)
