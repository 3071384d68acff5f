"""Stories: each walks the operations of a module once, on a real server, as a sensible user would. The first call of an operation is its example.

A story is a file of this folder, named as its module; `kernel` and what runs without a module (`lua_hooks`) are stories too. Its `tell(w)` gets a World.
tools/examples.py writes the examples that the build embeds; test_examples.py tells the stories again and compares.
"""
import email
import email.policy
import functools
import importlib
import json
import pathlib
import sys
import urllib.parse

import requests
from aiosmtpd.controller import Controller

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parents[1] / "api"))
import receivers  # noqa: E402
import wharf  # noqa: E402
from schema_check import Schema  # noqa: E402
from stories.readable import Readable  # noqa: E402

ADDRESS = "https://wharf.example.com"  # of the server, for readers
AGENT = "mailroom/1.4"


def names():
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem not in ("__init__", "readable"))


def story(name):
    return importlib.import_module(f"stories.{name}")


def file_of(name):
    """Where the examples of a story are kept."""
    folder = ROOT / "modules" / name
    return (folder if folder.is_dir() else ROOT / "kernel" / "http") / "examples.json"


def kept(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def all_kept():
    """By operation: the examples of all stories."""
    return {operation: example for path in {file_of(name) for name in names()} for operation, example in kept(path).items()}


class Door(Controller):
    """The mail server's socket, at a port that the system chooses."""

    def _trigger_server(self):
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


class Post:
    """A mail server that keeps the mails that it gets."""

    def __init__(self):
        self.got = []
        self.door = Door(self, hostname="127.0.0.1", port=0)
        self.door.start()

    async def handle_DATA(self, server, session, envelope):
        self.got.append(email.message_from_bytes(bytes(envelope.content), policy=email.policy.default))
        return "250 taken"


def server():
    """Starts a server on which all stories can be told. A story that needs settings of the server has them in SETTINGS, name -> value."""
    post = Post()
    settings = {"net.allow": "127.0.0.1", "net.allow_http": "true", "mail.url": f"smtp://127.0.0.1:{post.door.port}", "mail.tls": "none", "mail.from": "wharf@example.com",
                "base_url": "https://wharf.example"}
    for name in names():
        settings.update(getattr(story(name), "SETTINGS", {}))
    made = wharf.Server("--test-clock", *(word for key, value in settings.items() for word in ("--set", f"{key}={value}")))
    made.post = post
    return made


class Document:
    """The served description, by operation."""

    def __init__(self, server):
        self.server, self.text = server, server.openapi
        self.operations = {o["operationId"]: (method.upper(), template, o) for template, methods in self.text["paths"].items() for method, o in methods.items()}

    def whole(self, said):
        """What a $ref stands for."""
        while "$ref" in said:
            said = functools.reduce(lambda at, key: at[key], said["$ref"][2:].split("/"), self.text)
        return said

    def parameters(self, operation):
        """(in, name) -> parameter; the names of headers in small letters."""
        found = self.server.parameters(self.operations[operation][2])
        return {(p["in"], p["name"].lower() if p["in"] == "header" else p["name"]): p for p in found}

    def body_type(self, operation):
        return next(iter(self.operations[operation][2].get("requestBody", {"content": {}})["content"]), None)

    def answer(self, operation, status):
        """media type -> what the description says of it."""
        return self.whole(self.operations[operation][2]["responses"].get(str(status), {})).get("content", {})

    def faults(self, schema, value):
        return Schema(schema, self.server.openapi["components"]["schemas"]).faults(value)

    def faults_of_request(self, operation, example):
        """What the description does not allow in the request of an example."""
        parameters, faults = self.parameters(operation), []
        for place, sent in (("path", example.get("path", {})), ("query", example.get("query", {})), ("header", example.get("headers", {}))):
            for name, value in sent.items():
                if (place, name) == ("header", "Content-Type"):  # OpenAPI tells it by the media type of the body
                    continue
                p = parameters.get((place, name.lower() if place == "header" else name))
                faults += [f"{place} {name}: {f}" for f in self.faults(p["schema"], value)] if p else [f"{place} {name}: unknown"]
            faults += [f"{place} {name} is missing" for (where, name), p in parameters.items()
                       if where == place and p["required"] and name not in (sent if place != "header" else {k.lower() for k in sent})]
        body = self.operations[operation][2].get("requestBody")
        if "body" in example:
            faults += [f"body: {f}" for f in self.faults(body["content"]["application/json"]["schema"], example["body"])] if body else ["body: none is read"]
        elif body and body["required"] and "application/json" in body["content"]:
            faults.append("body: is missing")
        return faults

    def faults_of_answer(self, operation, example):
        more = [f for other in example.get("more", []) for f in self.faults_of_answer(operation, other)]
        return more + self.faults_of_one(operation, example)

    def faults_of_one(self, operation, example):
        content = self.answer(operation, example["status"])
        if str(example["status"]) not in self.operations[operation][2]["responses"]:
            return [f"status {example['status']}: unknown"]
        if "answer" not in example or not isinstance(example["answer"], dict):
            return []
        return self.faults(self.json_of(content)["schema"], example["answer"])

    def json_of(self, content):
        """What the description says of the content that is JSON."""
        return next(said for type, said in content.items() if type.endswith("json"))


def in_query(value):
    return ("true" if value else "false") if isinstance(value, bool) else ",".join(map(str, value)) if isinstance(value, list) else str(value)


class World:
    """One organization on the server, `client` (all scopes) who works for it, and what was told so far."""

    def __init__(self, server, name):
        self.server, self.name, self.examples = server, name, {}
        self.document = Document(server)
        self.org = server.organization("Springfield Mail Room")
        self.client = self.org.client()
        self.readable = Readable(name)
        self.at = self.readable.at
        self.alias(server.base, ADDRESS)
        self.alias("127.0.0.1", "203.0.113.7")
        self.last = None

    def alias(self, real, shown):
        self.readable.alias(real, shown)

    def mail(self, to, words):
        """The text of the mail to an address that has these words."""
        texts = lambda: [m.get_body(("plain",)).get_content() for m in self.server.post.got if to in m["To"]]  # noqa: E731
        return wharf.until(lambda: next((text for text in texts() if words in text), None))

    def receiver(self, shown):
        """A server that others may send to: `url(path)` is its address, `got[path]` what came. Readers see it as `shown`."""
        made = receivers.Receivers()
        self.alias(made.url(""), shown)
        return made

    def steady(self, **values):
        """Numbers and texts that change with each run, by the name of the member: `steady(duration_ms=12)`."""
        self.readable.steady.update(values)

    def call(self, operation, **more):
        """Sends the request of an operation, and returns the `data` of its answer. The first call of an operation is its example.

        path, query, headers: by name; body: JSON; data: bytes; by: another client than `client`; None: without a key.
        shown: makes of the answer what the example shows of it: of a long one less, None for nothing.
        also: True for a later call whose answer, of another status, the example shows beside the first one ("more")."""
        shown, also = more.pop("shown", None), more.pop("also", False)
        example, data = self.send(operation, **more)
        if shown and operation not in self.examples:
            example["answer"] = shown(example["answer"])
            if example["answer"] is None:
                del example["answer"]
        if also or operation not in self.examples:
            faults = self.document.faults_of_request(operation, example) + self.document.faults_of_answer(operation, example)
            assert not faults, (operation, faults)
            kept = self.readable(example)
            if also:
                self.examples[operation].setdefault("more", []).append({k: kept[k] for k in ("headers", "status", "answer") if k in kept})
            else:
                self.examples[operation] = kept
        return data

    def do(self, operation, **more):
        """The same, and no example."""
        return self.send(operation, **more)[1]

    def until(self, operation, done, **more):
        """Sends the request again and again until done(data), and returns that data; no example."""
        self.readable.step()
        return wharf.until(lambda: next((d for d in [self.send(operation, step=False, **more)[1]] if done(d)), None))

    def send(self, operation, path=None, query=None, headers=None, body=None, data=None, by="client", expect=None, step=True):
        method, template, _ = self.document.operations[operation]
        client = self.client if by == "client" else by
        asked = {k: v for k, v in (("path", path), ("query", query), ("headers", headers), ("body", body)) if v or (k == "body" and v is not None)}
        self.readable.sends(list(asked.values()))
        if step:
            self.readable.step()
        at = template
        for name, value in (path or {}).items():
            at = at.replace("{" + name + "}", urllib.parse.quote(str(value), safe="/:@"))
        if query:
            at += "?" + "&".join(f"{urllib.parse.quote(k, safe='[]')}={urllib.parse.quote(in_query(v), safe=',:')}" for k, v in query.items())
        r = self.exchange(client, method, at, operation, headers or {}, json.dumps(body).encode() if body is not None else data)
        self.last = r
        if not (r.status_code == expect if expect else r.status_code < 400):
            raise wharf.Problem(f"{operation}, {method} {at}: {r.status_code} {r.text[:3000]}\n{json.dumps(asked)[:2000]}")
        answer = self.read(client, method, at, operation, r)
        self.readable.hears(answer)
        return {**asked, "status": r.status_code, **({"answer": answer} if isinstance(answer, (dict, str)) else {})}, \
            answer["data"] if isinstance(answer, dict) and list(answer) == wharf.KEYS else answer

    def exchange(self, client, method, at, operation, headers, data):
        sent = {"User-Agent": AGENT, **({"SVC-API-KEY": client.key} if client and self.document.operations[operation][2].get("security") != [] else {}), **{k: str(v) for k, v in headers.items()}}
        if data is not None and "content-type" not in {k.lower() for k in sent}:
            sent["Content-Type"] = (self.document.body_type(operation) or "application/octet-stream").replace("*/*", "application/octet-stream")
        request = requests.Request(method, self.server.base, headers=sent, data=data).prepare()
        request.url = self.server.base + at
        r = (client or self.client).http.send(request, timeout=wharf.WAIT, allow_redirects=False, stream=True)
        if not r.headers.get("Content-Type", "").startswith("text/event-stream"):
            r.content  # all of it
        return r

    def read(self, client, method, at, operation, r):
        """The answer as JSON (dict), text (str) or bytes; checked against the description."""
        declared = self.document.answer(operation, r.status_code)
        type = r.headers.get("Content-Type", "").split(";")[0]
        if type == "application/json" and r.content.startswith(b'{"data":'):
            wharf.Client.checked(client or self.client, method, at, r, {"SVC-API-KEY": client.key} if client else {})
            return r.json()
        assert r.headers["X-Content-Type-Options"] == "nosniff" and r.headers["Request-Id"].startswith("req_")
        assert type in declared or "*/*" in declared or not type, (operation, type, list(declared))
        if type == "text/event-stream":
            r.close()
            return b""
        return r.json() if type.endswith("json") else r.text if type.startswith("text/") else r.content


def first(n):
    """For `shown`: the first n rows of an answer."""
    return lambda answer: {**answer, "data": answer["data"][:n]}


def link(url):
    """(file, query) of a signed link, for upload_file and download_file."""
    parts = urllib.parse.urlsplit(url)
    return parts.path.rsplit("/", 1)[1], {k: int(v) if k == "exp" else v for k, v in urllib.parse.parse_qsl(parts.query)}


def tell(server, name):
    """Tells a story; returns its examples: operation -> example."""
    w = World(server, name)
    story(name).tell(w)
    return w.examples
