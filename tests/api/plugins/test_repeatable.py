"""Repeatable migrations (sql/NAME.sql): run again when their text changed, never over a newer server's (docs/reference/plugin-abi.md section 9)."""
import pathlib
import tempfile

import pytest

from wharf import Server

MODULES = "org,locations"
OTHER_TEXT = "CREATE OR REPLACE FUNCTION wharf.log_days(settings jsonb, key text, otherwise integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 42'"


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory(prefix="wharf-repeatable-", dir=None) as d:
        pathlib.Path(d).chmod(0o711)
        yield pathlib.Path(d)


def days(server):
    return server.sql("SELECT wharf.log_days('{}', 'retain_days', 7)")[0][0]


def start(folder):
    return Server("--modules", MODULES, folder=folder)


def test_a_text_that_changed_is_applied_again_and_a_newer_one_is_left(folder):
    server = start(folder)
    assert days(server) == 7
    before = dict(server.sql("SELECT name, sha256 FROM wharf.repeatable WHERE plugin = 'wharf'"))
    assert len(before) > 40 and all(len(h) == 64 for h in before.values())
    # an older text: applied again by the next start, this one only
    server.sql(OTHER_TEXT + "; UPDATE wharf.repeatable SET sha256 = repeat('0', 64), server = '0.0.9' WHERE name = 'log_days'")
    moments = dict(server.sql("SELECT name, applied_at FROM wharf.repeatable"))
    assert days(server) == 42
    server.stop()
    server = start(folder)
    assert days(server) == 7
    assert dict(server.sql("SELECT name, sha256 FROM wharf.repeatable WHERE plugin = 'wharf'")) == before
    again = dict(server.sql("SELECT name, applied_at FROM wharf.repeatable"))
    assert [n for n in again if again[n] != moments[n]] == ["log_days"]
    # the same version with another text: applied again
    server.sql(OTHER_TEXT + "; UPDATE wharf.repeatable SET sha256 = repeat('0', 64) WHERE name = 'log_days'")
    assert "applied wharf sql/log_days.sql" in server.command("migrate", "--set", f"modules={MODULES}")
    assert days(server) == 7
    # a newer one: left alone, also by a start
    server.sql(OTHER_TEXT + "; UPDATE wharf.repeatable SET sha256 = repeat('0', 64), server = '99.0.0' WHERE name = 'log_days'")
    server.stop()
    server = start(folder)
    assert days(server) == 42
    assert "nothing to do" in server.command("migrate", "--set", f"modules={MODULES}")
    server.stop()


def test_a_plan_names_what_would_be_applied_again(folder):
    server = start(folder)
    server.sql("UPDATE wharf.repeatable SET sha256 = repeat('0', 64), server = '0.0.1' WHERE name = 'log_days'")
    assert server.command("migrate", "--plan", "--set", f"modules={MODULES}").count("would apply") == 1
    server.sql("DELETE FROM wharf.repeatable WHERE name = 'job_front'")
    plan = server.command("migrate", "--plan", "--set", f"modules={MODULES}")
    assert "would apply wharf sql/job_front.sql" in plan and "would apply wharf sql/log_days.sql" in plan
    server.stop()


def test_built_in_roles_of_organizations_follow_the_catalogue(folder):
    server = start(folder)
    roles = server.sql("SELECT organization_id, id, scopes FROM wharf.role ORDER BY 1, 2")
    assert [r[1] for r in roles] == ["admin", "developer", "owner", "user"]
    # as an older server left them: another catalogue made the rows and the function
    server.sql("""UPDATE wharf.role SET scopes = '{"shipments": 1}' WHERE id = 'user'""")
    server.sql("UPDATE wharf.repeatable SET sha256 = repeat('0', 64), server = '0.0.9' WHERE name = 'built_in_roles'")
    server.stop()
    server = start(folder)
    assert server.sql("SELECT organization_id, id, scopes FROM wharf.role ORDER BY 1, 2") == roles
    server.stop()
