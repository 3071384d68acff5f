"""The clients: generated from the served description, judged by strict type checkers, and run against the live server (clients/)."""
import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent / "api"), str(HERE.parent / "openapi"), str(ROOT / "clients" / "python")]
import stories  # noqa: E402
from documents import pdf  # noqa: E402
from generate import identifier  # noqa: E402
from wharf import WAIT, Server  # noqa: E402

MODULES = HERE / "node_modules"
ENV = {**os.environ, "NO_COLOR": "1", "CI": "true", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="module")
def server():
    s = Server("--test-clock", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true")
    yield s
    s.stop()


@pytest.fixture(scope="module")
def document(server, tmp_path_factory):
    file = tmp_path_factory.mktemp("description") / "openapi.json"
    file.write_text(json.dumps(server.openapi))
    return file


def run(*command, cwd, **env):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, env={**ENV, **env}, timeout=WAIT)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout


def story_env(server, name):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    return {"WHARF_BASE": server.base, "WHARF_KEY": server.organization(name).key(), "WHARF_HOOK_PORT": str(port), "WHARF_WAIT": str(WAIT),
            "WHARF_PDF": base64.b64encode(pdf()).decode()}


@pytest.fixture(scope="module")
def typescript(document, tmp_path_factory):
    """The package, generated and built, as an installation would have it."""
    place = tmp_path_factory.mktemp("typescript")
    package = place / "node_modules" / "@wharf" / "client"
    shutil.copytree(ROOT / "clients" / "typescript", package, ignore=shutil.ignore_patterns("node_modules", "dist", "api.d.ts", "operations.ts"))
    for name in MODULES.iterdir():
        if name.name != "@wharf":
            (place / "node_modules" / name.name).symlink_to(name)
    run("node", "generate.mjs", document, cwd=package)
    run(MODULES / ".bin" / "tsc", "-p", "tsconfig.json", cwd=package)
    shutil.copy(package / "src" / "api.d.ts", package / "dist" / "api.d.ts")
    (place / "package.json").write_text('{"type": "module"}')
    (place / "tsconfig.json").write_text(json.dumps({"compilerOptions": {
        "strict": True, "noUncheckedIndexedAccess": True, "target": "es2022", "module": "nodenext", "moduleResolution": "nodenext", "lib": ["es2022", "dom", "dom.iterable"],
        "types": ["node"], "outDir": "out", "skipLibCheck": False}, "include": ["*.ts"]}))
    return place


@pytest.fixture(scope="module")
def python(document, tmp_path_factory):
    place = tmp_path_factory.mktemp("python")
    shutil.copytree(ROOT / "clients" / "python", place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("api.py", "__pycache__"))
    run("/usr/bin/python3", "generate.py", document, cwd=place)
    (place / "mypy.ini").write_text("[mypy]\nstrict = True\n[mypy-requests.*]\nignore_missing_imports = True\n[mypy-story]\ndisallow_subclassing_any = False\n")  # with stubs of requests and without
    return place


def test_typescript_story(server, typescript):
    shutil.copy(HERE / "story.ts", typescript / "story.ts")
    run(MODULES / ".bin" / "tsc", "-p", ".", cwd=typescript)
    assert "is told" in run("node", "out/story.js", cwd=typescript, **story_env(server, "TypeScript"))


@pytest.mark.parametrize("wrong", ['server.create_contact({ body: { name: 7 } })', 'server.retrieve_contact({})', 'server.purchase_nothing({})',
                                   'server.list_contacts({ query: { direction: "upwards" } })', 'server.create_location({ body: { address: {} } })'])
def test_typescript_refuses(typescript, wrong):
    """What the server would refuse does not compile."""
    (typescript / "story.ts").unlink(missing_ok=True)
    file = typescript / "wrong.ts"
    try:
        file.write_text('import { wharf } from "@wharf/client";\nconst server = wharf({ baseUrl: "", key: "" });\nawait server.list_contacts();\n')
        run(MODULES / ".bin" / "tsc", "-p", ".", "--noEmit", cwd=typescript)
        file.write_text(file.read_text() + f"await {wrong};\n")
        done = subprocess.run([MODULES / ".bin" / "tsc", "-p", ".", "--noEmit"], cwd=typescript, capture_output=True, text=True, timeout=WAIT)
        assert done.returncode != 0 and "wrong.ts(4" in done.stdout, done.stdout
    finally:
        file.unlink()


def calls(server):
    """Of each operation: its name, what its example has for the path, the query and the body, and whether its body is bytes."""
    kept = stories.all_kept()
    for methods in server.openapi["paths"].values():
        for o in methods.values():
            example = kept.get(o["operationId"], {})
            path = {p["name"]: "x" for p in server.parameters(o) if p["in"] == "path"} | example.get("path", {})
            yield o["operationId"], path, example.get("query", {}), example.get("body"), "requestBody" in o and "application/json" not in o["requestBody"]["content"]


def test_typescript_calls_every_operation(server, typescript):
    """A program with a call of each, with the arguments of its example: tsc --strict takes all of them."""
    (typescript / "story.ts").unlink(missing_ok=True)
    lines = []
    for name, path, query, body, is_bytes in calls(server):
        given = [f"{k}: {json.dumps(v)}" for k, v in (("path", path or None), ("query", query or None), ("body", body)) if v is not None] + ["body: new Blob()"] * is_bytes
        lines.append(f"  await server.{name}({{{', '.join(given)}}});")
    assert len(lines) > 250
    file = typescript / "every.ts"
    file.write_text('import { wharf } from "@wharf/client";\nconst server = wharf({ baseUrl: "", key: "" });\nexport async function every() {\n' + "\n".join(lines) + "\n}\n")
    try:
        run(MODULES / ".bin" / "tsc", "-p", ".", "--noEmit", cwd=typescript)
    finally:
        file.unlink()


def test_python_calls_every_operation(server, python):
    """The same in Python: mypy --strict takes all of them."""
    lines = ["from wharf_client import Wharf", 'wharf = Wharf("", "")']
    for name, path, query, body, is_bytes in calls(server):
        given = path | query | ({"body": b"x"} if is_bytes else {"body": body} if body is not None else {})
        lines.append(f"wharf.{name}({', '.join(f'{identifier(k)}={v!r}' for k, v in given.items())})")
    (python / "every.py").write_text("\n".join(lines) + "\n")
    run("mypy", "--config-file", "mypy.ini", "every.py", cwd=python)


def test_python_story(server, python):
    shutil.copy(HERE / "story.py", python / "story.py")
    run("mypy", "--config-file", "mypy.ini", "wharf_client", "story.py", cwd=python)
    assert "is told" in run("/usr/bin/python3", "story.py", cwd=python, **story_env(server, "Python"))


@pytest.mark.parametrize("wrong", ['wharf.create_contact(body={"name": 7})', "wharf.retrieve_contact()", "wharf.purchase_nothing()",
                                   'wharf.list_contacts(direction="upwards")', 'wharf.create_location(body={"address": {}})'])
def test_python_refuses(python, wrong):
    """What the server would refuse is no type."""
    file = python / "wrong.py"
    file.write_text('from wharf_client import Wharf\nwharf = Wharf("", "")\nwharf.list_contacts()\n' + wrong + "\n")
    done = subprocess.run(["mypy", "--config-file", "mypy.ini", "wrong.py"], cwd=python, capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 1 and "wrong.py:4" in done.stdout and "wrong.py:3" not in done.stdout, done.stdout + done.stderr


def test_collection(server, document, tmp_path):
    """Postman's own runner reads the collection, and its requests that need no id are answered."""
    made = json.loads(run("/usr/bin/python3", ROOT / "clients" / "collection.py", document, cwd=tmp_path))
    names = [r["name"] for f in made["item"] for r in f["item"]]
    assert len(names) == sum(len(m) for m in server.openapi["paths"].values()) and [f["name"] for f in made["item"]] == [
        t["name"] for t in server.openapi["tags"] if t["name"] in {f["name"] for f in made["item"]}]
    for folder in made["item"]:  # lists, and what the server says of itself
        folder["item"] = [r for r in folder["item"] if r["request"]["method"] == "GET" and not r["request"]["url"]["variable"]
                          and "/stream" not in r["request"]["url"]["raw"] and not any(page in r["request"]["url"]["raw"] for page in ("verify", "unsubscribe", "opt-out", "shipping-labels/compare", "shipping-labels/search"))]  # pages of links that mails have
    (tmp_path / "c.json").write_text(json.dumps(made))
    report = tmp_path / "report.json"
    run(MODULES / ".bin" / "newman", "run", "c.json", "--env-var", f"baseUrl={server.base}", "--env-var", f"key={server.organization('Postman').key()}",
        "--reporters", "json", "--reporter-json-export", report, "--timeout-request", "20000", cwd=tmp_path)
    codes = {e["item"]["name"]: e.get("response", {}).get("code") for e in json.loads(report.read_text())["run"]["executions"]}
    assert len(codes) > 40 and set(codes.values()) <= {200, 403}, codes  # 403: not with such a key


# The fixed vector of docs/spec/07-events-and-webhooks.md section 6.
VECTOR = ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", '{"test": 2432232314}', "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")


def test_vector_typescript(typescript):
    (typescript / "vector.mjs").write_text(f"""import {{ verifyWebhook }} from "@wharf/client";
const [secret, id, time, body, signature] = {json.dumps(VECTOR)};
const headers = (changed = {{}}) => ({{ get: (n) => ({{ "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signature, ...changed }})[n] ?? null }});
const tried = async (...args) => {{ try {{ return (await verifyWebhook(...args)).test; }} catch (e) {{ return e.message; }} }};
console.log(JSON.stringify([await tried(secret, headers(), body, 300, 1614265331), await tried(["whsec_AAAA", secret], headers({{"webhook-signature": "v1,AAAA v1a,x " + signature}}), body, 300, 1614265331),
  await tried(secret, headers(), body + " ", 300, 1614265331), await tried(secret, headers(), body, 300, 1614265731), await tried(secret, headers({{"webhook-id": null}}), body)]));
""")
    check_vector(json.loads(run("node", "vector.mjs", cwd=typescript)))


def test_vector_python(python):
    (python / "vector.py").write_text(f"""import json
from wharf_client import verify_webhook
secret, id, at, body, signature = {VECTOR!r}
def headers(**changed):
    return {{k: v for k, v in {{"Webhook-Id": id, "webhook-timestamp": at, "webhook-signature": signature, **{{n.replace("_", "-"): v for n, v in changed.items()}}}}.items() if v}}
def tried(*args, **kw):
    try:
        return verify_webhook(*args, **kw)["test"]
    except Exception as e:
        return str(e)
print(json.dumps([tried(secret, headers(), body.encode(), now=1614265331), tried(["whsec_AAAA", secret], headers(webhook_signature="v1,AAAA v1a,x " + signature), body.encode(), now=1614265331),
  tried(secret, headers(), body.encode() + b" ", now=1614265331), tried(secret, headers(), body.encode(), now=1614265731), tried(secret, {{}}, body.encode())]))
""")
    check_vector(json.loads(run("/usr/bin/python3", "vector.py", cwd=python)))


def check_vector(told):
    assert told[:2] == [2432232314, 2432232314]
    assert "no signature" in told[2] and "too old" in told[3] and "missing" in told[4], told
