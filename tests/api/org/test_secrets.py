"""Secrets at rest (docs/guide/secrets.md): sealed in the database, never shown, readable by rules, rotated while the server runs."""
import json
import os
import re
import stat

import pytest
from wharf import BUILD, Server

TOKEN = "swordfish-Δ-42"


MODULES = f"org,locations,{BUILD}/tests/plugins/vault.so"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES)
    yield s
    s.stop()


@pytest.fixture(scope="module")
def org(server):
    return server.organization("Vaults")


@pytest.fixture(scope="module")
def client(org):
    return org.client()


def stored(server, table, id):
    return server.sql(f"SELECT token FROM vault.{table} WHERE id = %s", id)[0][0]


def everything(server):
    """All that the database holds, as text."""
    rows = server.sql("SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('wharf', 'org', 'vault') AND table_type = 'BASE TABLE'")
    return "\n".join(str(server.sql(f'SELECT t::text FROM "{s}"."{n}" t')) for s, n in rows)


@pytest.mark.parametrize("collection, table", [("vaults", "vault"), ("drawers", "drawer")])
def test_sealed_and_never_shown(server, client, collection, table):
    made = client.post(f"/v1/{collection}", {"name": "A", "token": TOKEN}, expect=201).data
    read = client.get(f"/v1/{collection}/{made['id']}").data
    listed = client.get(f"/v1/{collection}").data
    assert "token" not in made and "token" not in read and all("token" not in row for row in listed)
    text = stored(server, table, made["id"])
    assert re.fullmatch(r"s1\.[0-9a-f]{8}\.[A-Za-z0-9_-]{40,}", text)
    again = client.post(f"/v1/{collection}", {"name": "B", "token": TOKEN}, expect=201).data
    assert stored(server, table, again["id"]) != text
    client.post(f"/v1/{collection}/{made['id']}", {"token": TOKEN + "!"})
    assert stored(server, table, made["id"]) != text
    assert "swordfish" not in everything(server)


def test_rules_read_it(client):
    v = client.post("/v1/vaults", {"name": "R", "token": TOKEN}, expect=201).data
    assert v["hint"] == f"{len(TOKEN.encode())}:2"
    assert client.post("/v1/vaults", {"name": "R", "token": "abc"}, expect=400).code == "vault.weak"
    assert client.post(f"/v1/vaults/{v['id']}", {"token": "another"}).data["hint"] == "7:r was another"
    assert client.post("/v1/vaults", {"name": "N"}, expect=201).data["hint"] is None


def test_an_equal_value_changes_nothing(server, client):
    v = client.post("/v1/vaults", {"name": "E", "token": TOKEN}, expect=201).data
    before = stored(server, "vault", v["id"])
    client.post(f"/v1/vaults/{v['id']}", {"token": TOKEN})
    assert stored(server, "vault", v["id"]) == before


def test_change_log_and_events(server, client):
    v = client.post("/v1/vaults", {"name": "L", "token": TOKEN}, expect=201).data
    client.post(f"/v1/vaults/{v['id']}", {"token": TOKEN + "2"})
    client.post(f"/v1/vaults/{v['id']}", {"token": None})
    changes = [c for row in server.sql("SELECT changes FROM wharf.change_log WHERE resource_id = %s ORDER BY created_at, id", v["id"]) for c in row[0]]
    assert [c for c in changes if c["field"] == "token"] == [
        {"field": "token", "old": "***", "new": "***"}, {"field": "token", "old": "***", "new": None}]
    for data, previous in server.sql("SELECT data, previous_attributes FROM wharf.event WHERE resource_id = %s", v["id"]):
        assert "token" not in json.dumps([data, previous])


def test_a_sealed_text_opens_only_in_its_row(server, client):
    a = client.post("/v1/vaults", {"name": "mine", "token": TOKEN}, expect=201).data["id"]
    b = client.post("/v1/vaults", {"name": "yours", "token": "other-token"}, expect=201).data["id"]
    server.sql("UPDATE vault.vault SET token = (SELECT token FROM vault.vault WHERE id = %s) WHERE id = %s", a, b)
    assert client.post(f"/v1/vaults/{b}", {"name": "stolen"}, expect=503).code == "secrets.unavailable"
    assert client.get(f"/v1/vaults/{b}").data["name"] == "yours"


@pytest.mark.parametrize("damage", ["s1.00000000.AAAA", "plain", "s1..", ""])
def test_damaged_texts(server, client, damage):
    a = client.post("/v1/vaults", {"name": "d", "token": TOKEN}, expect=201).data["id"]
    server.sql("UPDATE vault.vault SET token = %s WHERE id = %s", damage, a)
    assert client.post(f"/v1/vaults/{a}", {"name": "x"}, expect=503).code == "secrets.unavailable"
    client.delete(f"/v1/vaults/{a}")


def test_filters_and_sorts_do_not_reach_it(client):
    client.post("/v1/drawers", {"name": "f", "token": TOKEN}, expect=201)
    assert client.get("/v1/drawers?order_by=token", expect=400).errors == ["order_by"]
    assert client.get("/v1/drawers?fields=token", expect=400).errors == ["fields"]
    strict = {"Prefer": "handling=strict"}
    assert client.get(f"/v1/drawers?token={TOKEN}", headers=strict, expect=400).errors == ["token"]


def test_expressions(client):
    """What is read instead of a column: shown, filtered, never written."""
    full = client.post("/v1/vaults", {"name": "x1", "token": TOKEN, "state": "empty"}, expect=201).data
    empty = client.post("/v1/vaults", {"name": "x2"}, expect=201).data
    assert full["state"] == "filled" and empty["state"] == "empty"
    assert client.get("/v1/vaults?state=empty&name=x2").ids == [empty["id"]] and client.get("/v1/vaults?state=!eq:empty&name=x1").ids == [full["id"]]
    assert client.get("/v1/vaults?state=filled&name=x2").ids == []
    assert client.post(f"/v1/vaults/{empty['id']}", {"token": TOKEN}).data["state"] == "filled"
    client.refused("GET", "/v1/vaults?state=half", 400, "param.invalid", ["state"])
    client.refused("GET", "/v1/vaults?order_by=state", 400, "param.invalid", ["order_by"])


def test_careless_routes_are_refused_at_start():
    with pytest.raises(RuntimeError) as e:
        Server("--modules", MODULES, env={"WHARF_TEST_CARELESS": "1"})
    text = str(e.value)
    assert 'GET /v1/careless has no scope; name one ("items:read")' in text
    assert 'POST /v1/unplaced has no location policy; add "location": "row"' in text


def test_the_key_file(server):
    file = server.folder / "master.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_text().split()) == 1


def secret(server, verb):
    return server.command("secret", verb, "--set", f"modules={MODULES}")


def reload(server, client):
    """The connection that is kept alive ends with the next answer of the old worker."""
    server.command("reload")
    client.get("/v1/vaults")


def test_rotation(server, client, org):
    made = [client.post("/v1/vaults", {"name": f"r{i}", "token": f"token-{i}"}, expect=201).data["id"] for i in range(3)]
    server.sql("DELETE FROM vault.vault WHERE name IN ('yours', 'd')")
    file = server.folder / "master.key"
    old = stored(server, "vault", made[0])[3:11]
    server.command("secret", "rotate")
    reload(server, client)
    fresh = client.post("/v1/vaults", {"name": "new", "token": "token-n"}, expect=201).data["id"]
    new = stored(server, "vault", fresh)[3:11]
    assert new != old and f"  {old}  (older key" in secret(server, "status")
    assert client.post(f"/v1/vaults/{made[0]}", {"token": "token-0"}).data["hint"] == "7:0"  # the older key still opens
    before = {i: server.sql("SELECT version, updated_at FROM vault.vault WHERE id = %s", i) for i in made}
    secret(server, "reseal")
    assert all(stored(server, "vault", i)[3:11] == new for i in made)
    assert before == {i: server.sql("SELECT version, updated_at FROM vault.vault WHERE id = %s", i) for i in made}
    file.write_text(file.read_text().split()[0] + "\n")
    reload(server, client)
    assert client.post(f"/v1/vaults/{made[1]}", {"token": "token-1x"}).data["hint"] == "8:x was another"
    # without any key that opens them, secrets are unavailable, everything else works
    key = file.read_text()
    file.write_text(server.command("secret", "key") + "\n")
    reload(server, client)
    assert client.post("/v1/vaults", {"name": "none", "token": "token"}, expect=503).code == "secrets.unavailable"
    assert client.post("/v1/vaults", {"name": "none"}, expect=201).data["name"] == "none"
    file.write_text(key)
    reload(server, client)
    assert client.post(f"/v1/vaults/{made[1]}", {"token": "token-1"}).data["hint"] == "7:1 was another"


@pytest.mark.parametrize("text, mode, says", [("short", 0o600, "32 bytes in base64"), ("", 0o644, "chmod 600")])
def test_a_bad_key_file_keeps_the_old_workers(server, client, text, mode, says):
    file = server.folder / "master.key"
    key = file.read_text()
    try:
        file.write_text(text or key)
        os.chmod(file, mode)
        with pytest.raises(RuntimeError, match=says):
            server.command("reload")
        client.post("/v1/vaults", {"name": "still", "token": "there"}, expect=201)
    finally:
        file.write_text(key)
        os.chmod(file, 0o600)
        server.command("reload")
