"""What `wharf-gen` makes of routes.json and errors.json (docs/reference/plugin-abi.md section 6), and what it refuses."""
import json
import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["BUILD"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUTE = {"method": "GET", "path": "/v1/doors/:door/state", "scope": "doors:read", "summary": "Tell a door's state", "flags": ["readonly", "long"], "response": {"type": "object"}}
CODE = {"status": 409, "text": "The door is open; close it first"}


def generate(folder, routes=None, errors=None):
    command = [BUILD / "tools/wharf-gen", "--plugin", "mine", "--header", folder / "mine.gen.h"]
    for name, value in (("routes", routes), ("errors", errors)):
        if value is not None:
            (folder / f"{name}.json").write_text(value if isinstance(value, str) else json.dumps(value))
            command += [f"--{name}", folder / f"{name}.json"]
    return subprocess.run(command, capture_output=True, text=True)


def compile_c(folder, body):
    """Compiles a plugin's C against the installed headers and what was made; returns what the compiler said, "" when it was content."""
    (folder / "mine.c").write_text('#include <stdio.h>\n#include "wharf/plugin.h"\n#include "wharf/errors.h"\n#include "mine.gen.h"\n' + body)
    return subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wno-unused", "-Werror", f"-I{ROOT}/plugin-api", f"-I{folder}", "-o", folder / "mine", folder / "mine.c"],
                          capture_output=True, text=True).stderr


def test_a_route_is_a_constant_with_all_that_the_file_says(tmp_path):
    made = generate(tmp_path, {"state": ROUTE, "open": {**ROUTE, "method": "POST", "flags": []}})
    assert made.returncode == 0, made.stderr
    said = compile_c(tmp_path, """
static const wharf_route routes[] = {{ROUTE_STATE}, {ROUTE_OPEN}};
static void declare(wharf_decl *d, const wharf_decl_api *api) { ROUTES(api, d, routes); }
int main(void)
{
    for (int i = 0; i < 2; i++)
        printf("%s\\n%s\\n%s\\n%d\\n%.*s\\n", routes[i].method, routes[i].path, routes[i].scope,
            routes[i].flags == (WHARF_R_READONLY | WHARF_R_LONG), (int)routes[i].definition.n, routes[i].definition.p);
    return 0;
}
""")
    assert said == ""
    lines = subprocess.run([tmp_path / "mine"], capture_output=True, text=True, check=True).stdout.split("\n")
    assert lines[:4] == ["GET", "/v1/doors/:door/state", "doors:read", "1"]
    assert json.loads(lines[4]) == {"summary": "Tell a door's state", "response": {"type": "object"}}
    assert lines[5:9] == ["POST", "/v1/doors/:door/state", "doors:read", "0"]


@pytest.mark.parametrize("table", ["{ROUTE_STATE}", "{ROUTE_STATE}, {ROUTE_OPEN}, {ROUTE_STATE}", "{ROUTE_STATE}, {ROUTE_OPNE}"], ids=["fewer", "more", "mistyped"])
def test_a_table_that_does_not_fit_the_file_does_not_compile(tmp_path, table):
    assert generate(tmp_path, {"state": ROUTE, "open": {**ROUTE, "method": "POST"}}).returncode == 0
    body = "static const wharf_route routes[] = {%s};\nvoid declare(wharf_decl *d, const wharf_decl_api *api) { ROUTES(api, d, routes); }\nint main(void) { return 0; }\n"
    assert compile_c(tmp_path, body % "{ROUTE_STATE}, {ROUTE_OPEN}") == ""
    assert "routes.json has 2 routes" in (said := compile_c(tmp_path, body % table)) or "ROUTE_OPNE" in said


@pytest.mark.parametrize("change, said", [
    ({"method": "FETCH"}, "method is none of"), ({"path": "v1/doors"}, "path does not begin with /"), ({"scope": "doors"}, "scope is neither"),
    ({"scope": None}, "scope is neither"), ({"flags": "readonly"}, "flags are not a list"), ({"flags": ["readonyl"]}, 'no flag "readonyl"'),
    ({"sumary": "x"}, 'nothing looks at its member "sumary"')])
def test_a_route_that_says_what_nobody_reads_is_refused(tmp_path, change, said):
    made = generate(tmp_path, {"state": {k: v for k, v in {**ROUTE, **change}.items() if v is not None}})
    assert made.returncode != 0 and said in made.stderr and "state" in made.stderr


def test_a_member_of_another_tool_stays_in_the_document(tmp_path):
    assert generate(tmp_path, {"state": {**ROUTE, "x-my-tool": 1}}).returncode == 0
    assert compile_c(tmp_path, """
static const wharf_route route = {ROUTE_STATE};
int main(void) { return printf("%.*s", (int)route.definition.n, route.definition.p) < 0; }
""") == ""
    assert json.loads(subprocess.run([tmp_path / "mine"], capture_output=True, text=True, check=True).stdout)["x-my-tool"] == 1


def test_a_code_is_a_constant(tmp_path):
    assert generate(tmp_path, errors={"door.open": CODE, "door.in_use": CODE}).returncode == 0
    assert compile_c(tmp_path, 'int main(void) { return puts(ERR_DOOR_OPEN " " ERR_DOOR_IN_USE " " ERR_NOT_FOUND) < 0; }\n') == ""
    assert subprocess.run([tmp_path / "mine"], capture_output=True, text=True, check=True).stdout == "door.open door.in_use not_found\n"
    assert "ERR_DOOR_OPNE" in compile_c(tmp_path, "int main(void) { return puts(ERR_DOOR_OPNE) < 0; }\n")


@pytest.mark.parametrize("errors, said", [
    ({"door.Open": CODE}, "is no code"), ({"door.open": {"text": "x"}}, "needs a status"), ({"door.open": {"status": 200, "text": "x"}}, "needs a status"),
    ({"door.open": {"status": 400}}, "and a text"), ({"door.open_now": CODE, "door.open.now": CODE}, "has the constant ERR_DOOR_OPEN_NOW"), ("7", "is not a JSON object")])
def test_a_code_that_can_not_be_answered_is_refused(tmp_path, errors, said):
    made = generate(tmp_path, errors=errors)
    assert made.returncode != 0 and said in made.stderr


def test_each_route_of_the_tree_says_what_it_does():
    for path in subprocess.run(["git", "ls-files", "*routes.json"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split():
        for name, route in json.loads((ROOT / path).read_text()).items():
            assert route.get("summary"), f"{path}: {name} has no summary"
