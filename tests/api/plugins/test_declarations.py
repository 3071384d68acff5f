"""What a plugin declares is what the server checks: every mistake is refused before anything is served, with the plugin's name and what to
do; what it does wrong at run time is told with plugin, route and request (docs/reference/plugin-abi.md sections 4.3, 6 and 9). The mistakes are
made by tests/plugins/careless."""
import json
import os
import pathlib
import subprocess
import tempfile

import pytest

from test_batches import run
from wharf import BUILD, PROGRAM, WAIT, Server, make_location, until

MODULES = f"org,locations,carriers,contacts,batches,events,stations,{BUILD}/tests/plugins/careless.so"

# mistake: what the one line of the refusal says
DECLARED = {
    "ref": 'other.place refers to the resource "locaton"',
    "embed": 'other.shown shows fields of rows of "print_station", which are for some keys only',
    "place": "other: its SQL has {place LINK,RESOURCE,ID}, of a link and two columns",
    "linked": 'other: its rows can\'t be linked ("links": ["mistakes"])',
    "embed_key": "the key of the embed include_mistakes begins with _",
    "hook": 'its hooks are on the resource "locaton"',
    "event": 'it listens to "location.creatd"',
    "scope": "the scope area mistaks is nobody's",
    "level": "its scope mistakes:see ends with neither :read nor :write",
    "handler": "route GET /v1/mistakes/nothing has no handler",
    "route": "route GET /v1/locations is the same as GET /v1/locations of",
    "parameters": "has 5 parameters; a path has at most 4",
    "code": "loose.code begins with neither the plugin's name",
    "default": "the field would not take this: size must be 9 or less",
    "provides": "says that it provides careless.answers, but its declare() does not",
    "version": "says that it provides careless.answers 1.0, its declare() says 1.1",
    "provided": "provides careless.more, which is not in",
    "service": "asks for the service wharf.blob, which is neither in",
    "name": 'are both named "location"',
    "prefix": 'both have ids that begin with "mistake"',
    "table": 'are both kept in "careless.mistake"',
    "locations": '"location" and "other" both say that their rows are locations',
    "located": 'other.at carries the location of a row, and "mistake" are no locations',
    "path": "route GET /v1/locations is the same as GET /v1/locations of",
    "column": "every table of PostgreSQL has a column ctid of its own",
    "check_name": 'a check is named "Mis.takes"; use a-z, 0-9 and _',
    "check_says_nothing": "check mistakes: say what holds (summary), and of which rows",
    "check_does_nothing": "check mistakes: give it a query or a function, and not both",
    "check_twice": "two checks are named careless.mistakes; rename one",
    "crash": "crashes while it is loaded and declares",
    "exit": "ends the process while it declares (exit status 3)",
    "loop": "does not come back from declare() within 10 s",
}
# mistake: what stops the start, when the database is looked at
MIGRATED = {
    "outside_table": "changes columns of locations.location",
    "outside_rows": "writes rows of wharf.migration",
    "outside_update": "writes rows of wharf.migration",
    "outside_function": "changes the function careless()",
    "outside_part": "changes careless_part",
    "outside_trigger": "locations.location",
    "outside_schema": "changes the schema careless_too",
    "outside_index": "names locations.location",
    "server_table": "wharf.setting is a table of the server that no module serves",
    "outside_repeatable": "changes the function wharf.log_days(jsonb,text,integer)",
    "repeatable_phase": "careless sql/outside.sql: a repeatable file has no phase, and runs in a transaction",
    "no_column": "the table careless.mistake has no column kind, which mistake.kind needs",
    "wrong_type": "the column size of careless.mistake is of type text, mistake.size needs one of",
    "no_table": "there is no table careless.other, in which other is kept",
}


@pytest.mark.parametrize("mistake", DECLARED)
def test_a_mistake_is_refused_by_check(tmp_path, mistake):
    done = subprocess.run([PROGRAM, "check", "--set", f"modules={MODULES}", "--set", f"data={tmp_path}"], capture_output=True, text=True,
                          timeout=WAIT, env={**os.environ, "WHARF_TEST_MISTAKE": mistake})
    lines = [line for line in done.stderr.splitlines() if DECLARED[mistake] in line]
    assert done.returncode == 1 and len(lines) == 1 and "careless" in lines[0], done.stderr


@pytest.mark.parametrize("mistake", MIGRATED)
def test_a_mistake_stops_the_start(mistake):
    with pytest.raises(RuntimeError) as e:
        Server("--modules", MODULES, env={"WHARF_TEST_MISTAKE": mistake})
    assert MIGRATED[mistake] in str(e.value) and "careless" in str(e.value)


def test_what_others_change_meanwhile_is_not_taken_for_a_migrations():
    """A server at work makes partitions, an operator makes a table, while a migration of a plugin waits."""
    before = Server("--modules", "org,locations,carriers,contacts,batches,events,stations")
    try:
        before.sql("SELECT pg_advisory_lock(6204)")
        migrate = subprocess.Popen([PROGRAM, "migrate", "--data", before.folder, "--set", f"modules={MODULES}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, env={**os.environ, "WHARF_TEST_MISTAKE": "waits"})
        until(lambda: before.sql("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 6204 AND NOT granted"))
        before.sql("CREATE TABLE public.of_the_operator (id text); CREATE FUNCTION public.of_the_operator() RETURNS int LANGUAGE sql AS 'SELECT 1'")
        assert before.sql("SELECT wharf.ensure_partitions(wharf.now() + interval '300 days')")[0][0] > 3
        before.sql("SELECT pg_advisory_unlock(6204)")
        told = migrate.communicate(timeout=WAIT)[0]
        assert migrate.returncode == 0 and "applied careless 0002_outside" in told, told
        before.sql("DROP TABLE public.of_the_operator; DROP FUNCTION public.of_the_operator(); DROP SCHEMA careless CASCADE")
    finally:
        before.stop()


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="wharf-month-") as d:
        pathlib.Path(d).chmod(0o711)
        yield pathlib.Path(d)


def test_modules_with_partitions_are_added_after_the_month_turned(folder):
    """Partitions of the new month are missing in all tables when these modules make their own."""
    server = Server("--modules", "org,events", folder=folder)
    last = server.sql("SELECT max(right(inhrelid::regclass::text, 8)) FROM pg_inherits WHERE inhrelid::regclass::text ~ '_y[0-9]{4}m[0-9]{2}$'")[0][0]
    missing = [name for name, in server.sql("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhrelid::regclass::text LIKE %s", f"%{last}")]
    assert len(missing) > 3
    for name in missing:
        server.sql(f"DROP TABLE {name}")
    server.stop()
    server = Server("--modules", "org,events,webhooks,integrations", folder=folder)
    try:
        there = {name for name, in server.sql("SELECT inhrelid::regclass::text FROM pg_inherits")}
        assert there > set(missing) and {f"webhooks.attempt_{last}"} <= there, (missing, there)
    finally:
        server.stop()


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES)
    yield s
    s.stop()


@pytest.fixture(scope="module")
def client(server):
    return server.organization().client()


def told(server, event, request=None):
    lines = [json.loads(line) for line in (server.folder / "wharf.log").read_text().splitlines()]
    return [line for line in lines if line["event"] == event and request in (None, line.get("request_id"))]


def test_what_a_check_hook_sets_is_judged(server, client):
    for name, says in (("long", "name must have at most 20 characters"), ("many", "size must be 9 or less"), ("member", "kind must be one of"),
                       ("items", "tags must have at most 2 items")):
        a = client.post("/v1/mistakes", {"name": name}, expect=500)
        [line] = told(server, "plugin.value", a.headers["Request-Id"])
        assert line["plugin"] == "careless" and says in line["message"] and "mistake" in line["message"]
    row = client.post("/v1/mistakes", {"name": "good"}, expect=201).data
    assert row["size"] == 9
    client.post(f"/v1/mistakes/{row['id']}", {"name": "many"}, expect=500)
    assert client.get(f"/v1/mistakes/{row['id']}").data["name"] == "good"


def test_what_a_check_hook_sets_in_a_set_is_judged(client):
    before = client.get("/v1/mistakes?limit=1000").ids
    body = {"resource": "mistake", "action": "merge", "mode": "sync", "data": [{"name": "many" if i == 7 else "good"} for i in range(60)]}
    client.post("/v1/batches", body, expect=500)  # a mistake of the server's side: nothing is kept of it
    assert client.get("/v1/mistakes?limit=1000").ids == before
    assert run(client, [{"name": "good"}] * 60, resource="mistake")["stats"]["created"] == 60


def test_a_rule_that_takes_more_memory_than_a_request_may_writes_nothing(client):
    before = client.get("/v1/mistakes?limit=1000").ids
    a = client.post("/v1/mistakes", {"name": "greedy"})
    assert (a.status, a.code) == (413, "request.too_large"), a
    assert client.get("/v1/mistakes?limit=1000").ids == before
    client.post("/v1/mistakes", {"name": "good"}, expect=201)


def test_failing_without_a_reason_is_told_once(server, client):
    for path, body, what in (("/v1/mistakes/silent", {}, "the handler"), ("/v1/mistakes", {"name": "silent"}, "check")):
        a = client.post(path, body, expect=500)
        [line] = told(server, "plugin.unexplained", a.headers["Request-Id"])
        assert line["plugin"] == "careless" and what in line["message"] and path in line["message"]


def test_a_value_that_a_rule_can_not_make_says_why(server, client):
    """result() of what writer() began is the plugin's mistake; a name twice may come from the body that it copied."""
    a = client.post("/v1/mistakes/writer", {}, expect=500)
    [line] = told(server, "plugin.writer", a.headers["Request-Id"])
    assert line["plugin"] == "careless" and "builder()" in line["message"]
    assert "duplicate key" in client.refused("POST", "/v1/mistakes/twice", 400, "body.malformed", body={}).message


@pytest.mark.parametrize("path, says", [
    ("commit", "ends a transaction"), ("chain", "COMMIT AND CHAIN"), ("later", "ends a transaction"),
    ("role", "SET LOCAL ROLE"), ("setting", "changes the settings"),
])
def test_a_statement_that_only_the_server_may_run_is_refused(server, client, path, says):
    a = client.post(f"/v1/mistakes/{path}", {}, expect=500)
    [line] = told(server, "plugin.statement", a.headers["Request-Id"])
    assert line["plugin"] == "careless" and "is refused" in line["message"] and says in line["message"]
    client.post("/v1/mistakes/nothing", {}, expect=200)


def test_a_failed_statement_names_plugin_and_route(server, client):
    a = client.post("/v1/mistakes/broken", {}, expect=500)
    [line] = told(server, "database.failed", a.headers["Request-Id"])
    assert line["plugin"] == "careless" and "/v1/mistakes/broken" in line["message"] and "42P01" in line["message"]


def test_the_row_of_a_path_is_judged_for_a_handler_that_does_not_look(server):
    org = server.organization()
    here, there = (make_location(org.client(), name)["id"] for name in ("Here", "There"))
    limited = org.client("mistakes:write", locations=[here])
    limited.post(f"/v1/locations/{here}/mistakes", {}, expect=200)
    limited.refused("POST", f"/v1/locations/{there}/mistakes", 403, "location_access", body={})
