"""The served description: clean for two linters with their recommended rules, and usable by a generated TypeScript client."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))
from wharf import WAIT, Server  # noqa: E402

MEETING = ["#/paths/~1v1~1documents~1retention-rules~1{id}", "#/paths/~1v1~1events~1subscribers~1{subscriber}", "#/paths/~1v1~1events~1{event}~1outgoing-webhooks",
           "#/paths/~1v1~1workflows~1runs~1{run}", "#/paths/~1v1~1workflows~1{workflow}~1runs"]
ENV = {**os.environ, "NO_COLOR": "1", "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "CI": "true"}


@pytest.fixture(scope="module")
def server():
    s = Server("--test-clock", "--set", f"lua_hooks.dir={HERE / 'hooks'}")
    assert "/v1/x/docks/{dock}/table" in s.openapi["paths"]
    yield s
    s.stop()


def plain(value, inside=False):
    """The document with `$ref` of examples under another name: one shows a schema as data, and Spectral looks for what data refers to."""
    if isinstance(value, list):
        return [plain(v, inside) for v in value]
    if not isinstance(value, dict):
        return value
    return {"ref" if inside and k == "$ref" else k: plain(v, inside or k == "example") for k, v in value.items()}


@pytest.fixture(scope="module")
def folder(server, tmp_path_factory):
    """A copy to write in, with the document as served."""
    f = tmp_path_factory.mktemp("openapi")
    for name in ("client.ts", "node.d.ts", "tsconfig.json", "package.json", "spectral.yaml"):
        shutil.copy(HERE / name, f / name)
    (f / "node_modules").symlink_to(HERE / "node_modules")
    (f / "openapi.json").write_text(json.dumps(plain(server.openapi), indent=1))
    return f


def run(folder, *command, **env):
    done = subprocess.run([folder / "node_modules/.bin" / command[0], *command[1:]], cwd=folder, capture_output=True, text=True, env={**ENV, **env}, timeout=300)
    return done.returncode, done.stdout + done.stderr


def test_redocly(folder):
    code, out = run(folder, "redocly", "lint", "openapi.json", "--format=json")
    problems = json.loads(out[out.index("{"):out.rindex("}") + 1])["problems"]
    # Two paths meet where an identifier could be the word of another: every identifier has a prefix, so none can.
    meet = sorted(p["location"][0]["pointer"] for p in problems if p["ruleId"] == "no-ambiguous-paths")
    assert meet == MEETING, meet
    problems = [p for p in problems if p["ruleId"] != "no-ambiguous-paths"]
    assert code == 0 and problems == [], problems[:5]


def test_spectral(folder):
    code, out = run(folder, "spectral", "lint", "openapi.json", "-r", "spectral.yaml", "--fail-severity=hint")
    assert code == 0 and "No results" in out, out[:3000]


def only(document, path):
    """The document with one path, and what that needs of the components."""
    part = {**document, "paths": {path: document["paths"][path]}, "components": {"securitySchemes": document["components"]["securitySchemes"]}}
    part.pop("webhooks", None)
    more = set(re.findall(r'"#/components/(\w+)/(\w+)"', json.dumps(part["paths"])))
    while more:
        kind, name = more.pop()
        if name not in part["components"].setdefault(kind, {}):
            part["components"][kind][name] = document["components"][kind][name]
            more |= set(re.findall(r'"#/components/(\w+)/(\w+)"', json.dumps(document["components"][kind][name])))
    used = {tag for o in part["paths"][path].values() for tag in o.get("tags", [])}
    part["tags"] = [t for t in document["tags"] if t["name"] in used]
    return part


def test_the_linters_can_say_no(folder, server):
    """Of one path, since they take half a minute for all."""
    part = only(plain(server.openapi), "/v1/locations")
    for answer in (0, 1):
        (folder / "part.json").write_text(json.dumps(part))
        for linter in (("redocly", "lint", "part.json"), ("spectral", "lint", "part.json", "-r", "spectral.yaml", "--fail-severity=hint")):
            code, out = run(folder, *linter)
            assert bool(code) == bool(answer), out[:3000]
        part["paths"]["/v1/locations"]["get"]["responses"]["200"].pop("description", None)


def test_typescript_client(folder, server):
    code, out = run(folder, "openapi-typescript", "openapi.json", "-o", "api.d.ts")
    assert code == 0, out
    code, out = run(folder, "tsc", "-p", ".")
    assert code == 0, out
    key = server.organization("Typed").key()
    done = subprocess.run(["node", "out/client.js"], cwd=folder, capture_output=True, text=True, env={**ENV, "WHARF_BASE": server.base, "WHARF_KEY": key}, timeout=WAIT)
    assert done.returncode == 0 and "the typed client works" in done.stdout, done.stdout + done.stderr
    # and the types refuse what the server would refuse
    (folder / "client.ts").write_text((HERE / "client.ts").read_text().replace('direction: "asc"', 'direction: "upwards"'))
    assert run(folder, "tsc", "-p", ".")[0] != 0
