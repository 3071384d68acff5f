"""`wharf verify` (docs/guide/operation.md 'Verify at night'): which checks run, what is said of them, how it ends; and what a plugin's own checks may do
(docs/reference/plugin-abi.md section 14), with tests/plugins/checked. That each shipped check finds what it is there for: tests/conformance/test_checks.py."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from wharf import BUILD, PROGRAM, Server, make_location, until

BAD = {"checked.away", "checked.columns", "checked.silent", "checked.writes"}  # that can't be run


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", f"org,locations,logs,{BUILD}/tests/plugins/checked.so")
    s.broken |= {*BAD, "checked.amounts", "checked.pairs"}
    yield s
    s.stop()


@pytest.fixture(scope="module")
def things(server):
    """Rows of two organizations, some of them wrong."""
    orgs = [server.organization().id for _ in range(2)]
    for org in orgs:
        server.sql("INSERT INTO checked.thing (organization_id, id, amount, pair) VALUES (%s, 'a', 1, 'b'), (%s, 'b', 0, NULL), (%s, 'c', 2, 'gone')", org, org, org)
    server.sql("INSERT INTO checked.thing (organization_id, id, amount) SELECT %s, 'n' || lpad(n::text, 4, '0'), -n FROM generate_series(1, 1234) n", orgs[1])
    return orgs


def run(server, *words):
    return subprocess.run([PROGRAM, "verify", "--data", server.folder, *server.settings(), *words], capture_output=True, text=True)


def test_all_is_fine(server, things):
    done = run(server, "--module", "locations")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and done.stderr == ""
    assert [line.split()[0] for line in lines[:-1]] == ["locations.default_layouts", "locations.layout_places"] and all(line.endswith(" ok") for line in lines[:-1])
    assert lines[-1] == "2 checks: no faults"


def test_what_was_looked_at(server, things):
    make_location(server.organization().client())
    told = server.verify("--module", "locations")
    assert told["locations.default_layouts"]["looked_at"] == server.sql("SELECT count(*) FROM locations.location")[0][0] > 0
    assert told["locations.layout_places"] == {"name": "locations.layout_places", "rows": "locations.layout", "looked_at": told["locations.default_layouts"]["looked_at"],
                                               "summary": "Each layout lies below one of its own location, and knows its root, depth and whole name.",
                                               "faults": 0, "error": None, "shown": [], "remedy": None}


def test_faults_are_shown_and_counted(server, things):
    done = run(server, "--check", "checked.amounts", "--show", "2")
    assert done.returncode == 1 and done.stderr == ""
    first, *lines = done.stdout.splitlines()
    assert first.split() == ["checked.amounts", "1240", "checked.thing", "1234", "faults"]
    assert lines == [f'    {things[1]}  n0001  has -1 "less"', f'    {things[1]}  n0002  has -2 "less"', "    and 1232 more",
                     '    What holds else: No amount is below zero, and none is called "less".', "    What to do: Count again.",
                     "1 checks: 1 found 1234 faults"]
    assert run(server, "--check", "checked.amounts").stdout.count("    " + things[1]) == 10
    check = server.verify("--check", "checked.amounts", "--show", "5000")["checked.amounts"]
    assert [f["id"] for f in check["shown"]] == [f"n{n:04}" for n in range(1, 1235)] and check["remedy"] == "Count again."  # more than one fetch of the cursor


def test_a_function_looks_at_all_organizations(server, things):
    check = server.verify("--check", "checked.pairs")["checked.pairs"]
    assert (check["looked_at"], check["faults"], check["error"]) == (1240, 2, None)
    assert [(f["organization_id"], f["id"], f["wrong"]) for f in check["shown"]] == [(org, "c", "its pair gone is not there") for org in sorted(things)]


@pytest.mark.parametrize("name, why", [
    ("away", "the scales do not answer; switch them on"),
    ("silent", "it ended with status -8 and without a reason; the plugin needs to be corrected"),
    ("columns", "the query of checked.columns does not answer organization_id, id and what is wrong; the plugin needs to be corrected"),
    ("writes", "the database says: cannot execute INSERT in a read-only transaction; look at the log of the database, then try again")])
def test_what_could_not_be_run(server, things, name, why):
    done = run(server, "--check", f"checked.{name}")
    assert done.returncode == 2 and done.stdout.splitlines() == [done.stdout.splitlines()[0], "1 checks, 1 could not be run"]
    assert done.stdout.splitlines()[0].endswith(f" could not be run: {why}")
    assert server.verify("--check", f"checked.{name}")[f"checked.{name}"]["error"] == why
    assert server.sql("SELECT 1 FROM checked.thing WHERE id = 'written'") == []


def test_one_that_fails_keeps_none_from_running(server, things):
    told = server.verify()
    assert {name for name, check in told.items() if check["error"]} == BAD
    assert {name for name, check in told.items() if check["faults"]} == {"checked.amounts", "checked.pairs"}
    assert {"logs.chain", "files.checksums", "files.objects", "events.processed", "identity.reach"} < set(told)
    done = run(server)
    assert done.returncode == 1 and done.stdout.splitlines()[-1] == f"{len(told)} checks: 2 found 1236 faults, 4 could not be run"


def test_a_table_that_is_not_there(server):
    server.sql("ALTER TABLE checked.thing RENAME TO away")
    try:
        assert server.verify("--check", "checked.amounts")["checked.amounts"]["error"] == 'the database says: relation "checked.thing" does not exist; run `wharf migrate`'
    finally:
        server.sql("ALTER TABLE checked.away RENAME TO thing")


def test_the_list_needs_no_database(server):
    done = subprocess.run([PROGRAM, "verify", "--list", "--set", "database.url=host=/nowhere", *server.settings()], capture_output=True, text=True)
    assert done.returncode == 0 and {line.split()[0] for line in done.stdout.splitlines()} == set(server.verify())
    assert "checked.amounts                    No amount is below zero, and none is called \"less\".\n" in done.stdout


@pytest.mark.parametrize("words, said", [
    (["--check", "locations.nothing"], "there is no such check; `wharf verify --list` names them"),
    (["--module", "location"], "there is no such check; `wharf verify --list` names them"),
    (["--show", "many"], "wharf verify [--module NAME] [--check NAME] [--show N] [--json]"),
    (["locations"], "wharf verify [--module NAME] [--check NAME] [--show N] [--json]"),
    (["--set", "database.url=host=/nowhere"], "the database can't be reached"),
    (["--set", "modules=org,nothing"], "the plugins have problems")])
def test_what_is_said_wrong(server, words, said):
    done = run(server, *words)
    assert done.returncode == 2 and said in done.stderr and done.stdout == ""


def test_a_user_whose_rows_are_hidden_gets_no_fine(server):
    """Row-level security would hide rows of a user who does not own the tables, and all would be fine."""
    server.sql("CREATE ROLE stranger LOGIN IN ROLE wharf_plugin")
    server.sql("GRANT USAGE ON SCHEMA checked TO stranger")
    server.sql("GRANT SELECT ON checked.thing TO stranger")
    try:
        conninfo = server.conninfo.replace("user=wharf", "user=stranger")
        done = run(server, "--check", "checked.amounts", "--set", f"database.url={conninfo}")
        assert done.returncode == 2 and "connect as the database user of the server, who owns its tables" in done.stdout
    finally:
        server.sql("DROP OWNED BY stranger")
        server.sql("DROP ROLE stranger")


def test_nobody_waits(server, things):
    """A check waits for no lock of a request, and no request for a check; retention drops nothing under it, and does not wait either."""
    client = server.organization().client()
    place = make_location(client)
    with server.held("UPDATE locations.location SET version = version + 1 WHERE id = %s", place["id"]):
        assert run(server, "--module", "locations").returncode == 0
    with server.held("LOCK TABLE checked.thing IN ACCESS EXCLUSIVE MODE"):
        checks = subprocess.Popen([PROGRAM, "verify", "--data", server.folder, *server.settings(), "--check", "checked.amounts"], stdout=subprocess.PIPE, text=True)
        until(lambda: server.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'checked.thing'"))
        client.post(f"/v1/locations/{place['id']}", {"name": "Renamed"}, expect=200)
        said = checks.communicate()[0]
    assert checks.returncode == 2 and "a migration holds the table; try again when it is over" in said
    server.sql("CREATE TABLE checked.part (at timestamptz) PARTITION BY RANGE (at)")
    server.sql("CREATE TABLE checked.part_1 PARTITION OF checked.part FOR VALUES FROM ('2020-01-01 00:00:00+00') TO ('2020-02-01 00:00:00+00')")
    with server.held("SELECT pg_advisory_xact_lock_shared(hashtextextended('wharf.verify', 0))"):
        assert server.sql("SELECT wharf.drop_partitions('checked.part', now())") == [(0,)]
    until(lambda: server.sql("SELECT wharf.drop_partitions('checked.part', now())") == [(1,)])


def test_while_nobody_serves():
    """The embedded database is started for the command."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-api-", dir=os.environ.get("WHARF_TEST_PLACE")))
    s = Server("--modules", "org,locations", folder=folder)
    make_location(s.organization().client())
    until(lambda: not s.sql("SELECT 1 FROM wharf.outbox"))
    s.stop()
    assert s.verify("--check", "locations.default_layouts")["locations.default_layouts"]["looked_at"] == 1
    shutil.rmtree(folder)


def test_checks_of_a_plugin_in_quarantine_are_told_as_missing():
    s = Server("--modules", f"org,locations,{BUILD}/tests/plugins/checked.so")
    s.broken |= BAD
    try:
        (s.folder / "quarantine").write_text("checked 2026-01-01T00:00:00.000Z 3 60\n")
        done = run(s)
        assert done.returncode == 2 and "the checks of checked are left out, because it is in quarantine; `wharf plugin release checked` ends that" in done.stderr
        assert "checked." not in done.stdout and done.stdout.splitlines()[-1].endswith("checks: no faults")
        assert json.loads(run(s, "--json").stdout)["faults"] == 0
        assert run(s, "--module", "locations").returncode == 0 and run(s, "--module", "checked").returncode == 2
        (s.folder / "quarantine").write_text("locations 2026-01-01T00:00:00.000Z 3 60\n")
        done = run(s)
        assert done.returncode == 2 and "the checks of locations are left out, because it is in quarantine" in done.stderr
    finally:
        (s.folder / "quarantine").unlink()
        s.stop()
