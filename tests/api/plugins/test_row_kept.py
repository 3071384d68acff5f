"""A written hook may say that it left the row as it was, which is then not read again; rules.verify holds it to that (docs/reference/plugin-abi.md 'Hooks')."""
import pytest

from test_workers import MODULES, log_lines, running


def made(client, name, status):
    return client.post("/v1/faults", {"name": name}, expect=status).data


@pytest.mark.parametrize("verify", ["false", "true"])
def test_a_row_that_a_rule_changed_is_shown_as_it_is(verify):
    with running("--modules", MODULES, "--set", f"rules.verify={verify}") as (server, _):
        client = server.organization().client()
        assert made(client, "Changes", 201)["name"] == "Changed"
        row = made(client, "Other", 201)
        assert client.post(f"/v1/faults/{row['id']}", {"name": "Changes"}, expect=200).data["name"] == "Changed"
        assert made(client, "Stays", 201)["name"] == "Stays"


def test_a_rule_that_says_wrongly_that_it_left_the_row_fails_the_write():
    with running("--modules", MODULES, "--set", "rules.verify=true") as (server, _):
        client = server.organization().client()
        made(client, "Lies", 500)
        assert client.get("/v1/faults", expect=200).data == []
        line, = log_lines(server.folder, "plugin.row_changed")
        assert "changed name" in line["message"] and line["plugin"] == "faulty"


def test_what_sql_computes_of_other_rows_may_change_meanwhile():
    """told_at is another moment each time the row is read, as a sum over rows of others may be another one."""
    with running("--modules", MODULES, "--set", "rules.verify=true") as (server, _):
        client = server.organization().client()
        row = made(client, "Kept", 201)
        assert row["told_at"] != client.get(f"/v1/faults/{row['id']}", expect=200).data["told_at"]
        client.post(f"/v1/faults/{row['id']}", {"name": "Other"}, expect=200)
        client.post(f"/v1/faults/{row['id']}", {"name": "Kept"}, expect=200)


def test_a_rule_is_believed_otherwise():
    with running("--modules", MODULES, "--set", "rules.verify=false") as (server, _):
        client = server.organization().client()
        row = made(client, "Lies", 201)
        assert row["name"] == "Lies"
        assert client.get(f"/v1/faults/{row['id']}", expect=200).data["name"] == "Changed"
