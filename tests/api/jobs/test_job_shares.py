"""Jobs of one plugin that is not shipped never hold all threads of a job worker (docs/internals/jobs.md 'What is promised'). Waiting is for a condition."""
import contextlib

import pytest

from test_jobs import ask, effects, until
from wharf import BUILD, Server

MODULES = f"org,locations,events,{BUILD}/tests/plugins/jobbench.so,{BUILD}/tests/plugins/faulty.so"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES, "--set", "crash.quarantine=off", "--set", "jobs.threads=4", "--set", "jobs.long_threads=4")
    yield s
    s.stop()


@contextlib.contextmanager
def held(server, queue, times=40):
    """Jobs of jobbench that end when the test says so; far more than there are threads, and of several organizations: what one organization
    may have of the threads for long jobs is another rule."""
    orgs = [server.organization() for _ in range(3)]
    ids = [org.id for org in orgs]
    for org in orgs:
        ask(org, queue, times=times)
    running = "SELECT count(*) FROM wharf.job WHERE queue LIKE 'jobbench.hold%%' AND state = 'running' AND organization_id = ANY (%s)"
    until(lambda: server.sql(running, ids)[0][0])
    try:
        yield lambda: server.sql(running, ids)[0][0]
    finally:
        server.sql("DELETE FROM wharf.job WHERE organization_id = ANY (%s) AND state <> 'running'", ids)
        server.sql("INSERT INTO jobbench.effect (organization_id, job, key, what, value) SELECT o, '', '', 'go', 0 FROM unnest(%s) o", ids)
        until(lambda: not server.sql("SELECT 1 FROM wharf.job WHERE organization_id = ANY (%s)", ids))


@pytest.mark.parametrize("kind", ["usual", "long"])
def test_half_of_the_threads(server, kind):
    """While one plugin's jobs hold all that it may have, and many more of them wait, jobs of others run."""
    queue, others = ("hold_usual", "quick") if kind == "usual" else ("hold", "quick_long")
    with held(server, queue) as running:
        client = server.organization().client()
        until(lambda: running() == 2)
        for n in range(1, 21):
            client.post("/v1/faults/ask/now", {"job": others}, expect=200, check=False)
            done = "SELECT count(*) FROM wharf.job_past WHERE queue = %s AND state = 'done'"
            until(lambda: server.sql(done, f"faulty.{others}")[0][0] == n)
            assert running() <= 2


def test_the_servers_own_jobs(server):
    """Those of the kernel, while a plugin has all that it may have."""
    with held(server, "hold_usual") as running:
        until(lambda: running() == 2)
        server.sql("UPDATE wharf.job_schedule SET next_at = wharf.now() WHERE queue LIKE 'wharf.%%'")
        server.sql("NOTIFY wharf_job")
        until(lambda: not server.sql("SELECT 1 FROM wharf.job WHERE queue LIKE 'wharf.%%' AND state <> 'delayed'")
              and not server.sql("SELECT 1 FROM wharf.job_schedule WHERE queue LIKE 'wharf.%%' AND next_at <= wharf.now()"))
        assert running() == 2


def test_all_run_in_the_end(server):
    """A plugin's share is of its threads, not of its jobs: nothing is lost or done twice."""
    org = server.organization()
    with held(server, "hold_usual", times=5):
        ask(org, "count", times=300)
    until(lambda: len(effects(org, "count")) == 300)
    until(lambda: not server.sql("SELECT 1 FROM wharf.job WHERE organization_id = %s", org.id))
    assert len(effects(org, "count")) == 300
