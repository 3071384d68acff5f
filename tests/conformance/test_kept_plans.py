"""Statements of single requests keep their plans: PostgreSQL plans some for each set of arguments, and calls of functions in SQL each time, which takes longer
than to run them. What PostgreSQL logs of its planner says which."""
import collections
import re
import time

import pytest
from resources import BEFORE_DELETE, BY_ROUTE, DEFINITIONS, World, ops, properties, types, value, x

from wharf import MODULES, WAIT, Problem, Server

# A session plans a statement five times for its values and once for all, and anew when a table changed. The web worker and the job worker have
# two or three sessions each, so of 36 calls that are planned each time one session sees 12 at least.
ASKED, LEARNS = 36, 10
# EXPLAIN asks how many rows these values have; calls without a table have nothing to plan; the use of keys is noted once a minute, not prepared.
PLANNED = re.compile(r"EXPLAIN |WITH used AS \(UPDATE wharf.api_key|SELECT (set_config|pg_notify)\([^;]*$")

# A plan in the log: its session, the function that it is in, the whole statement of the client.
PLANS = re.compile(r"^(\S+) LOG:  PLANNER STATISTICS\n(?:(?!\S* ?LOG:  PLANNER).)*?(?:^\S+ CONTEXT:  (.*?))?^\1 STATEMENT:  ([^\n]*\n(?:\t[^\n]*\n)*)", re.S | re.M)


class Planned:
    """A server with as few sessions as can be, whose planning goes to the log of PostgreSQL."""

    def __init__(self):
        self.server = Server("--modules", MODULES, "--set", "workers=1", "--set", "database.pool=1", "--set", "rules.verify=false")
        self.world = World(self.server)
        self.log = self.server.folder / "postgresql.log"
        self.watch(True)

    def watch(self, on):
        self.server.sql("ALTER SYSTEM SET log_line_prefix = '%%c '")  # the session: each plans some times before it knows better
        self.server.sql(f"ALTER SYSTEM SET autovacuum = {'off' if on else 'on'}")  # new statistics throw plans away
        self.server.sql("SELECT pg_reload_conf()")
        self.server.sql(f"ALTER DATABASE wharf SET log_planner_stats = {'on' if on else 'off'}")
        self.new_sessions()

    def new_sessions(self):
        """Ends all sessions: they learned from tables that were smaller. What is asked next finds none that is about to end."""
        others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ended = {pid for pid, _ in self.server.sql(f"SELECT pid, pg_terminate_backend(pid) {others}")}
        end = time.monotonic() + WAIT
        while ended & {pid for pid, in self.server.sql(f"SELECT pid {others}")}:
            assert time.monotonic() < end
            time.sleep(0.01)

    def settled(self):
        end = time.monotonic() + WAIT
        while self.server.sql("SELECT 1 FROM wharf.outbox LIMIT 1"):
            assert time.monotonic() < end
            time.sleep(0.05)

    def each_time(self, ask):
        """Statements that are planned each time: in two rounds, since jobs beside may hand a statement other numbers of rows in one of them."""
        return self.round(ask) and self.round(ask)

    def patient(self, ask, i):
        """Asks again when the request met a session that had just been ended: it is told to try again."""
        end = time.monotonic() + WAIT
        while True:
            try:
                return ask(i)
            except Problem as e:
                if "database.unavailable" not in str(e) or time.monotonic() > end:
                    raise

    def round(self, ask):
        """Statements that one session planned more often than it takes to learn."""
        before = self.log.stat().st_size
        self.new_sessions()
        for i in range(ASKED):
            self.patient(ask, i)
        self.settled()
        with self.log.open("rb") as f:
            f.seek(before)
            text = f.read().decode(errors="replace")
        planned = collections.Counter(PLANS.findall(text))
        return [f"{n} times: {sql[:300]} {context[:300]}" for (session, context, sql), n in planned.items() if n > LEARNS and not PLANNED.match(sql)]


@pytest.fixture(scope="module")
def planned():
    p = Planned()
    yield p
    p.watch(False)
    p.server.stop()


def update_of(resource):
    """A body that changes a row each time: a function of a number."""
    fields = properties(resource, "update")
    if "metadata" in fields:
        return lambda i: {"metadata": {"n": i}}
    text = next((n for n in ("description", "name", "notes") if n in fields and "string" in types(fields[n])), None)
    return (lambda i: {text: value(fields[text], text)}) if text else None


# Contacts, shipments and others are created by routes of their own.
# Not deleted here: a print job ends first, a key is revoked, webhooks and workflows take a queue of theirs along.
KEPT = {"print_job", "api_key", "webhook", "workflow"}
FEW = {"organization", "integration_secret", "workflow_secret"}  # one, and 20 of one owner at most
BY_TIME = {"log", "request_log"}  # their first page has a bound of time, for whose value it is planned
CREATED = [r for r in DEFINITIONS if r not in FEW and "create" in ops(r) | BY_ROUTE.get(r, set())]


@pytest.mark.parametrize("resource", CREATED)
def test_creates_and_deletes(planned, resource):
    path, world = planned.world.parent_of(resource), planned.world

    def ask(_):
        world.make(resource, path)
        if resource in BEFORE_DELETE:
            world.all.post(world.where, BEFORE_DELETE[resource], expect=200)
        if "delete" in ops(resource) | BY_ROUTE.get(resource, set()) and resource not in KEPT:
            world.all.delete(world.where, expect=200)
    assert planned.each_time(ask) == []


@pytest.mark.parametrize("resource", [r for r in CREATED if "update" in ops(r) and update_of(r)])
def test_updates(planned, resource):
    body = update_of(resource)
    planned.world.make(resource)
    where = planned.world.where
    assert planned.each_time(lambda i: planned.world.all.post(where, body(i), expect=200)) == []


@pytest.mark.parametrize("resource", [r for r in CREATED if "retrieve" in ops(r)])
def test_retrieves(planned, resource):
    planned.world.make(resource)
    where = planned.world.where
    assert planned.each_time(lambda i: planned.world.all.get(where, expect=200)) == []


@pytest.mark.parametrize("resource", [r for r in DEFINITIONS if "list" in ops(r) and "parent" not in x(r) and r not in BY_TIME])
def test_first_pages(planned, resource):
    path = planned.world.parent_of(resource)
    assert planned.each_time(lambda i: planned.world.all.get(path, expect=200)) == []


def test_a_statement_that_is_planned_each_time_is_seen(planned):
    planned.world.make("contact")
    where = planned.world.where
    planned.server.sql("ALTER DATABASE wharf SET plan_cache_mode = force_custom_plan")
    try:
        assert planned.each_time(lambda i: planned.world.all.post(where, {"metadata": {"n": i}}, expect=200)) != []
    finally:
        planned.server.sql("ALTER DATABASE wharf RESET plan_cache_mode")
