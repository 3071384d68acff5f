"""Jobs of one plugin that is not shipped never hold all threads of a job worker (docs/jobs.md 'Fairness'). Waiting is for a condition."""
import contextlib
import time

import pytest

from test_jobs import ask, effects, until
from wharf import BUILD, Server

MODULES = f"org,locations,events,{BUILD}/tests/plugins/jobbench.so,{BUILD}/tests/plugins/faulty.so"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES, "--set", "crash.quarantine=off", "--set", "jobs.threads=4", "--set", "jobs.long_threads=4")
    yield s
    s.stop()


def holding(server, plugin):
    """How many of a plugin's jobs a thread is at."""
    return sum(line.startswith("thread") or f" {plugin} " in f" {line} " and " job hold" in line for line in server.command("ps").splitlines())


@contextlib.contextmanager
def held(server, queue, times=40):
    """Jobs of jobbench that end when the test says so; far more than there are threads."""
    org = server.organization()
    ask(org, queue, times=times)
    running = "SELECT count(*) FROM wharf.job WHERE queue LIKE 'jobbench.hold%%' AND state = 'running' AND organization_id = %s"
    until(lambda: server.sql(running, org.id)[0][0])
    try:
        yield lambda: server.sql(running, org.id)[0][0]
    finally:
        server.sql("DELETE FROM wharf.job WHERE organization_id = %s AND state <> 'running'", org.id)
        server.sql("INSERT INTO jobbench.effect (organization_id, job, key, what, value) VALUES (%s, '', '', 'go', 0)", org.id)
        until(lambda: not server.sql("SELECT 1 FROM wharf.job WHERE organization_id = %s", org.id))
