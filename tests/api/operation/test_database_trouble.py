"""What a client is told when the database is slow, away, or lets one of two win again and again (spec 01 sections 2.4 and 3.1)."""
import contextlib
import os
import signal
import time

import psycopg2
import pytest

from test_auth import key_text
from wharf import MODULES, WAIT, Server, address, make_location, process_state, until


@pytest.fixture(scope="module")
def server():
    s = Server("--set", "http.handler_timeout=700")
    yield s
    s.stop()


@pytest.fixture(scope="module")
def client(server):
    return server.organization().client()


@contextlib.contextmanager
def locked(server, statement):
    other = psycopg2.connect(server.conninfo)
    try:
        with other.cursor() as c:
            c.execute(statement)
            yield
    finally:
        other.rollback()
        other.close()


@pytest.mark.parametrize("what", ["retrieve", "list", "update", "create"])
def test_timeout(server, client, what):
    place = make_location(client)
    ask = {"retrieve": lambda: client.get(f"/v1/locations/{place['id']}"), "list": lambda: client.get("/v1/locations"),
           "update": lambda: client.post(f"/v1/locations/{place['id']}", {"name": "Late"}),
           "create": lambda: client.post("/v1/locations", {"name": "Late", "address": address()})}[what]
    with locked(server, "LOCK TABLE locations.location IN ACCESS EXCLUSIVE MODE"):
        r = client.request(*{"retrieve": ("GET", f"/v1/locations/{place['id']}"), "list": ("GET", "/v1/locations"),
                             "update": ("POST", f"/v1/locations/{place['id']}", {"name": "Late"}),
                             "create": ("POST", "/v1/locations", {"name": "Late", "address": address()})}[what], expect=504)
        assert r.code == "timeout" and r.errors == []
    end = time.monotonic() + WAIT
    while client.request(*{"retrieve": ("GET", f"/v1/locations/{place['id']}")}.get(what, ("GET", "/v1/locations"))).status != 200:
        assert time.monotonic() < end
    ask()


@pytest.fixture(scope="module")
def rival(server):
    """Somebody else wins each time: PostgreSQL says so to the first tries of every row named so. Answers the number of tries so far."""
    server.sql("CREATE SEQUENCE public.tries")
    server.sql("""CREATE FUNCTION public.rival() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            IF NEW.name = 'Loser' OR (NEW.name = 'Third time lucky' AND nextval('public.tries') %% 4 <> 0) THEN
                PERFORM CASE NEW.name WHEN 'Loser' THEN nextval('public.tries') END;
                RAISE 'could not serialize access' USING ERRCODE = '40001';
            ELSIF NEW.name = 'Broken' THEN
                RAISE 'SELECT secret FROM /var/lib/inside' USING ERRCODE = 'XX000', DETAIL = 'a detail', HINT = 'a hint';
            END IF;
            RETURN NEW;
        END $$""")
    for table in ("location", "layout"):
        server.sql(f"CREATE TRIGGER rival BEFORE INSERT OR UPDATE ON locations.{table} FOR EACH ROW EXECUTE FUNCTION public.rival()")
    yield lambda: server.sql("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.tries")[0][0]
    for table in ("location", "layout"):
        server.sql(f"DROP TRIGGER rival ON locations.{table}")


@pytest.mark.parametrize("how", ["create", "update", "route", "update with key", "route with key"])
def test_conflict_after_three_retries(server, client, rival, how):
    place = make_location(client)
    where = f"/v1/locations/{place['id']}"
    path, more = {"create": ("/v1/locations", {"address": address()}), "update": (where, {}), "route": (where + "/layouts", {})}[how.split()[0]]
    headers = {"Idempotency-Key": how} if "key" in how else {}
    begun = rival()
    r = client.post(path, {"name": "Loser", **more}, headers=headers, expect=409)
    assert r.code == "conflict" and r.errors == []
    assert rival() == begun + 4  # once, and three times more
    assert client.get(where).data["name"] == place["name"]
    r = client.post(path, {"name": "Third time lucky", **more}, headers=headers)
    assert r.status in (200, 201) and r.data["name"] == "Third time lucky", r
    assert rival() == begun + 8


def says_nothing(r):
    """`internal`: the message carries the Request-Id, and nothing of what went wrong."""
    assert (r.code, r.errors, r.data) == ("internal", [], None) and r.headers["Request-Id"] in r.message
    assert not any(word in r.raw.text for word in ("SELECT", "secret", "/var/lib", "detail", "hint", "column", "bay", "rival", "locations.location", "XX000", "42703", ".c:")), r.raw.text


def test_internal(server, client, rival):
    place = make_location(client)
    where = f"/v1/locations/{place['id']}"
    for path, more in (("/v1/locations", {"address": address()}), (where, {}), (where + "/layouts", {})):
        says_nothing(client.post(path, {"name": "Broken", **more}, expect=500))
    assert client.get(where).data["name"] == place["name"]
    server.sql("ALTER TABLE locations.location RENAME COLUMN code TO bay")
    try:
        for path in ("/v1/locations", where, "/v1/locations?code=x"):
            says_nothing(client.get(path, expect=500))
    finally:
        server.sql("ALTER TABLE locations.location RENAME COLUMN bay TO code")
    assert client.get(where).data == place


def test_a_malformed_key_is_not_looked_up(server, client):
    """Its check digits are wrong: it is refused while the database can tell of no key at all."""
    good = key_text()
    with locked(server, "LOCK TABLE wharf.token IN ACCESS EXCLUSIVE MODE"):
        for bad in (good[:-1] + ("A" if good[-1] != "A" else "B"), good[:-1], "nonsense"):
            client.refused("GET", "/v1/locations", 401, "api_key.invalid", [], key=bad)
        assert client.request("GET", "/v1/locations", key=good).status in (503, 504)


def test_the_database_is_away():
    with_base = Server()
    server = Server(beside=with_base)
    try:
        client = server.organization().client()
        place = make_location(client)
        os.kill(with_base.process.pid, signal.SIGSTOP)  # it would start the next one
        with_base.kill_database()
        for ask in (("GET", "/v1/locations"), ("GET", f"/v1/locations/{place['id']}"), ("POST", "/v1/locations", {"name": "x", "address": address()}),
                    ("POST", f"/v1/locations/{place['id']}", {"name": "x"})):
            r = client.request(*ask, expect=503)
            assert r.code == "database.unavailable" and "database" in r.message and r.errors == [] and int(r.headers["Retry-After"]) >= 1
    finally:
        os.kill(with_base.process.pid, signal.SIGCONT)
        server.stop()
        with_base.stop()


def test_a_database_that_ends_at_once():
    """An immediate shutdown ends every session in the middle of what it says: whoever waits for the rest of an answer notices, and goes on."""
    s = Server("--modules", MODULES)
    try:
        org = s.organization()
        client = org.client()
        for i in range(3):
            make_location(client, f"Before {i}")
            until(lambda: not s.sql("SELECT 1 FROM wharf.outbox"))
            postmaster = int((s.folder / "postgres" / "postmaster.pid").read_text().split()[0])
            s.db.close()
            os.kill(postmaster, signal.SIGQUIT)
            until(lambda: process_state(postmaster)[0] in "ZX")  # noqa: B023
            until(s.can_be_asked)
            until(lambda: client.request("POST", "/v1/locations", {"name": f"After {i}", "address": address()}).status == 201)  # noqa: B023
            until(lambda: not s.sql("SELECT 1 FROM wharf.outbox"), "events are not processed: the job worker waits for ever")
    finally:
        s.stop()
