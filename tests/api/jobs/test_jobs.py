"""Jobs (docs/internals/jobs.md): at least once, effect once, order per key, retries, periods, fairness, cancelling, blame for crashes.

A server of its own with the plugin tests/plugins/jobbench; a second one on the same database where that matters. Waiting is for a
condition, with a limit that only a hang reaches.
"""
import contextlib
import datetime
import os
import re
import signal
import time

import psycopg2
import pytest
import requests

from wharf import BUILD, WAIT, Server, until

PLUGIN = f"{BUILD}/tests/plugins/jobbench.so"
MODULES = f"org,{PLUGIN}"


@pytest.fixture(scope="module")
def server():
    # one plugin has the jobs of all tests: what its share of the threads is, has a test of its own (test_job_shares.py)
    s = Server("--modules", MODULES, "--set", "crash.quarantine=off", "--set", "jobs.plugin_share=100", "--set", "rate_limit.key=0", "--set", "rate_limit.write=0")
    yield s
    s.stop()


@pytest.fixture
def org(server):
    return server.organization()


def ask(org, job, expect=200, **more):
    if not hasattr(org, "_client"):
        org._client = org.client()
    return org._client.post("/v1/jobbench/enqueue", {"job": job, **more}, expect=expect)


def waiting(org, where="true"):
    return org.server.sql(f"SELECT id, queue, state, attempts, progress_done, progress_total, error, key FROM wharf.job"
                          f" WHERE organization_id = %s AND {where} ORDER BY id", org.id)


def idle(org):
    return until(lambda: not waiting(org))


def effects(org, what=None, id=None):
    rows = org.server.sql("SELECT what, key, value, job FROM jobbench.effect WHERE organization_id = %s ORDER BY n", org.id if id is None else id)
    return [r for r in rows if what in (None, r[0])]


def past(org):
    return org.server.sql("SELECT id, queue, state, reason, attempts, crashes, error FROM wharf.job_past WHERE organization_id = %s"
                          " ORDER BY id", org.id)


def job_workers(server):
    """Process numbers of a server's job workers, by `wharf ps`."""
    return [int(m) for m in re.findall(r"^job \d+ +(\d+) +ready", server.command("ps"), re.M)]


@pytest.fixture
def clock(server):
    """Moves the kernel clock on by seconds; put back at the end."""
    def move(seconds):
        server.sql("SELECT wharf.clock_set(value::bigint + %s) FROM wharf.setting WHERE key = 'clock.offset_seconds'", seconds)
        server.sql("NOTIFY wharf_job")
    yield move
    server.sql("SELECT wharf.clock_set(0)")
    server.sql("NOTIFY wharf_job")
    until(lambda: not server.sql("SELECT 1 FROM wharf.job_schedule s WHERE wharf.job_due_at(s, wharf.now()) <> next_at"))  # periods begin anew


# ---- asking ----

def test_each_is_done_once(org):
    ask(org, "count", times=200)
    idle(org)
    assert sorted(e[2] for e in effects(org)) == list(range(1, 201))
    assert past(org) == []  # nothing is kept of what succeeded


def test_nothing_is_enqueued_by_a_request_that_fails(org):
    ask(org, "count", times=3, fail=1, expect=400)
    ask(org, "count", value=7)
    idle(org)
    assert [e[2] for e in effects(org)] == [7]


def test_a_job_nobody_has(org):
    a = ask(org, "strange", expect=503)
    assert a.code == "module.unavailable" and "jobbench.strange" in a.message + str(a.errors), a
    ask(org, "nobody.nothing", expect=503)
    ask(org, "jobbench.count")  # the full name is good too
    idle(org)
    assert len(effects(org)) == 1


def test_organizations_do_not_meet(server):
    orgs = [server.organization() for _ in range(3)]
    for n, o in enumerate(orgs):
        ask(o, "count", value=n)
    for n, o in enumerate(orgs):
        idle(o)
        assert [e[2] for e in effects(o)] == [n]


def test_a_delay(org):
    ask(org, "count", delay_ms=3600_000)
    assert [w[2] for w in waiting(org)] == ["delayed"]
    begun = time.monotonic()
    ask(org, "count", value=5, delay_ms=300)
    until(lambda: effects(org))
    assert time.monotonic() - begun >= 0.29
    assert [e[2] for e in effects(org)] == [5]


def test_delays_follow_the_kernel_clock(org, clock):
    ask(org, "count", value=9, delay_ms=7200_000)
    clock(7300)
    until(lambda: effects(org))


def test_kept(org):
    ask(org, "kept")
    idle(org)
    assert [p[1:4] for p in past(org)] == [("jobbench.kept", "done", None)]


# ---- order ----

def test_order_per_key(org):
    ask(org, "count", times=300, keys=10, sleep_ms=1)
    idle(org)
    by_key = {}
    for _, key, value, _ in effects(org):
        by_key.setdefault(key, []).append(value)
    assert len(by_key) == 10
    for key, values in by_key.items():
        assert values == list(range(int(key[1:]) + 1, 301, 10)), key


def test_one_lane_of_two_jobs(org):
    for n in range(10):
        ask(org, "lane_a" if n % 2 else "lane_b", key="x", value=n, sleep_ms=20 if n % 2 else 0)
    idle(org)
    assert [e[2] for e in effects(org)] == list(range(10))


def test_a_failing_head_holds_back_its_key_and_no_other(server, org):
    ask(org, "fail_first", key="x", value=1, failures=1)  # again in an hour
    ask(org, "count", key="x", value=2)  # another job, another lane: not behind it
    ask(org, "fail_first", key="x", value=3)
    ask(org, "fail_first", key="y", value=4)
    until(lambda: {e[2] for e in effects(org)} >= {2, 4})
    until(lambda: len(waiting(org)) == 2)
    assert sorted(e[2] for e in effects(org)) == [2, 4]
    server.sql("UPDATE wharf.job SET run_at = wharf.now() WHERE organization_id = %s AND state = 'delayed'", org.id)
    server.sql("NOTIFY wharf_job")
    idle(org)
    assert [e[2] for e in effects(org, "fail_first") if e[1] == "x"] == [1, 3]


def test_a_delayed_head_holds_back_its_key(org):
    ask(org, "count", key="x", value=1, delay_ms=500)
    ask(org, "count", key="x", value=2)
    idle(org)
    assert [e[2] for e in effects(org)] == [1, 2]


def test_a_parked_head_leaves_the_line(org):
    ask(org, "fail_fast", key="x", value=1, failures=99)
    ask(org, "fail_fast", key="x", value=2)
    idle(org)
    assert [e[2] for e in effects(org)] == [2]
    assert [p[2:5] for p in past(org)] == [("parked", "retries_exhausted", 4)]


# ---- failing ----

def test_effects_of_a_failed_run_are_not_seen(org):
    ask(org, "fail_fast", value=1, failures=2)
    idle(org)
    assert [e[2] for e in effects(org)] == [1]


def test_backoff_by_the_kernel_clock(org, clock):
    """1 h, then 2 h cut to 90 min, then 90 min; then parked."""
    ask(org, "fail_first", failures=99)
    waits = []
    for n in range(1, 4):
        until(lambda: [w for w in waiting(org) if w[3] == n and w[2] == "delayed"])
        waits.append(org.server.sql("SELECT extract(epoch FROM run_at - wharf.now())::float FROM wharf.job WHERE organization_id = %s", org.id)[0][0])
        clock(5400)
    idle(org)
    for wait, goal in zip(waits, (3600, 5400, 5400)):
        assert goal - WAIT < wait <= goal, waits
    (id, _, state, reason, attempts, _, error), = past(org)
    assert (state, reason, attempts) == ("parked", "retries_exhausted", 4)
    assert error == "jobbench.not_yet: run 3 fails as it was told"
    assert effects(org) == []


def test_retry_of_a_parked_job(org):
    ask(org, "fail_fast", value=1, failures=99)
    id = until(lambda: past(org))[0][0]
    org.server.command("job", "retry", f"job_{id}")
    until(lambda: past(org) and past(org)[0][4] == 4 and not waiting(org))
    assert past(org)[0][0] == id
    with pytest.raises(RuntimeError, match="not among"):
        org.server.command("job", "retry", "job_999999999")


def test_the_pipeline_inside_a_job(org):
    """A declared resource, its event, its log line and a further job are one with the job: of the failed run nothing is left."""
    org.server.sql("""UPDATE wharf.organization SET settings = '{"events": {"expire_after": "days_7"}}' WHERE id = %s""", org.id)
    ask(org, "tally", failures=1)
    idle(org)
    event, = org.server.sql("SELECT type, expires_at - created_at = interval '7 days' FROM wharf.event WHERE organization_id = %s", org.id)
    assert event == ("jobbench.tally.created", True)
    assert len(org.server.sql("SELECT 1 FROM jobbench.tally WHERE organization_id = %s", org.id)) == 1
    log = org.server.sql("SELECT actor_type, actor_id FROM wharf.change_log WHERE organization_id = %s AND resource = 'tally'", org.id)
    assert log == [("system", "sys")]
    assert len(effects(org, "count")) == 1


# ---- stopping ----

def test_progress_cancel_and_ps(org):
    ask(org, "steps", value=2000)
    id, = until(lambda: [w[0] for w in waiting(org) if w[2] == "running" and (w[4] or 0) > 5])
    assert waiting(org)[0][5] == 2000
    assert re.search(rf"jobbench: job steps job_{id} ", org.server.command("ps"))
    assert re.search(rf"job_{id} +running +jobbench.steps +{org.id} .* \d+/2000", org.server.command("job", "list", "--org", org.id))
    assert "tells" not in org.server.command("job", "cancel", f"job_{id}")
    idle(org)
    assert [p[:3] for p in past(org)] == [(id, "jobbench.steps", "canceled")]
    assert effects(org) == []
    assert re.search(r"state +canceled", org.server.command("job", "show", str(id)))


def test_cancel_of_a_waiting_job_frees_its_key(org):
    ask(org, "count", key="x", value=1, delay_ms=3600_000)
    ask(org, "count", key="x", value=2)
    until(lambda: [w for w in waiting(org) if w[2] == "blocked"])
    org.server.command("job", "cancel", f"job_{waiting(org)[0][0]}")
    idle(org)
    assert [e[2] for e in effects(org)] == [2]


def test_concurrency_per_organization(server):
    orgs = [server.organization() for _ in range(2)]
    for o in orgs:
        ask(o, "in_pieces", times=6, sleep_ms=400)
    for o in orgs:
        idle(o)
        what = [e[0] for e in effects(o)]
        assert sorted(what) == ["begin"] * 6 + ["end"] * 6
        assert max(what[:i].count("begin") - what[:i].count("end") for i in range(13)) == 2


def test_priority(server, org):
    ask(org, "count", times=150, sleep_ms=20)
    ask(org, "urgent", times=1)
    idle(org)
    assert [e[0] for e in effects(org)].index("urgent") < 60


def test_fairness_between_organizations(server):
    big, small = server.organization(), server.organization()
    for _ in range(10):
        ask(big, "count", times=1000, sleep_ms=10)
    ask(small, "count")
    done = until(lambda: effects(small) and len(effects(big)))
    assert done < 5000, done
    server.sql("DELETE FROM wharf.job WHERE organization_id = %s AND state <> 'running'", big.id)
    idle(big)


def test_long_jobs_have_threads_of_their_own(server):
    """However many run, the others' threads are free; one organization has at most half of theirs."""
    big, small = server.organization(), server.organization()
    ask(big, "patient", times=40, sleep_ms=500)
    running = "SELECT count(*) FROM wharf.job WHERE queue = 'jobbench.patient' AND state = 'running' AND organization_id = %s"
    until(lambda: server.sql(running, big.id)[0][0])
    ask(small, "count", times=20)
    ask(small, "patient", sleep_ms=1)
    until(lambda: len(effects(small, "count")) == 20 and effects(small, "patient"))
    most, done = server.sql(running, big.id)[0][0], len(effects(big))
    assert most <= 8 and done < 40, (most, done)
    server.sql("DELETE FROM wharf.job WHERE organization_id = %s AND state <> 'running'", big.id)
    idle(big)


def test_room_for_who_comes_last(server):
    """Organizations that fill all they get, one after the other, leave some to the next."""
    first = [server.organization() for _ in range(2)]
    running = "SELECT count(*) FROM wharf.job WHERE queue = 'jobbench.hold' AND state = 'running' AND organization_id = %s"
    for o in first:
        ask(o, "hold", times=20)
        until(lambda: server.sql(running, o.id)[0][0])
    last = server.organization()
    try:
        for i in range(1, 5):  # also when it is not the next in the circle
            ask(last, "patient", sleep_ms=1)
            until(lambda: len(effects(last, "patient")) == i)
        assert all(server.sql(running, o.id)[0][0] for o in first)
    finally:
        for o in first:
            server.sql("DELETE FROM wharf.job WHERE organization_id = %s AND state <> 'running'", o.id)
            server.sql("INSERT INTO jobbench.effect (organization_id, job, key, what, value) VALUES (%s, '', '', 'go', 0)", o.id)
    for o in first:
        idle(o)


# ---- time ----

def test_a_period_fires_once_in_all_servers(server, org, clock):
    """The hour comes; then three hours pass unseen: one run each, on two servers."""
    other = Server("--modules", MODULES, beside=server)
    try:
        before = len(effects(org, "hourly", id=""))
        for n in (1, 2):
            clock(3700 if n == 1 else 3 * 3600)
            until(lambda: len(effects(org, "hourly", id="")) >= before + n)
            until(lambda: not server.sql("SELECT 1 FROM wharf.job WHERE queue = 'jobbench.hourly'"))
            for s in (server, other):
                s.sql("NOTIFY wharf_job")
            time.sleep(1.5)
            assert len(effects(org, "hourly", id="")) == before + n
        ahead, = server.sql("SELECT next_at > wharf.now() AND next_at <= wharf.now() + interval '1 hour' FROM wharf.job_schedule"
                            " WHERE queue = 'jobbench.hourly'")
        assert ahead == (True,)
    finally:
        other.stop()


def test_periods_go_on_when_the_clock_is_set_back(server, org, clock):
    """By days, as it was wrong; by less than a minute, as clocks are corrected, nothing is done again."""
    def due(queue):
        return server.sql("SELECT next_at - wharf.now() FROM wharf.job_schedule WHERE queue = %s", queue)[0][0]
    hour, day = datetime.timedelta(hours=1), datetime.timedelta(days=1)
    until(lambda: not server.sql("SELECT 1 FROM wharf.job WHERE queue = 'jobbench.hourly'"))  # of another test
    before = len(effects(org, "hourly", id="")) + 1
    clock(40 * 86400)
    until(lambda: due("jobbench.hourly") <= hour and due("jobbench.nightly") <= day and len(effects(org, "hourly", id="")) == before)
    clock(-30)
    time.sleep(1)
    assert len(effects(org, "hourly", id="")) == before
    clock(-30 * 86400)
    until(lambda: due("jobbench.hourly") <= hour and due("jobbench.nightly") <= day)
    until(lambda: len(effects(org, "hourly", id="")) == before + 1)


def test_a_time_of_day_for_each_organization(server, clock):
    orgs = [server.organization() for _ in range(3)]
    at, = server.sql("SELECT next_at, (next_at AT TIME ZONE 'UTC')::time::text, extract(epoch FROM next_at - wharf.now())::bigint"
                     " FROM wharf.job_schedule WHERE queue = 'jobbench.nightly'")
    assert at[1] == "03:00:00"
    clock(at[2] + 5)
    for o in orgs:
        until(lambda: effects(o, "nightly"))
        assert len(effects(o, "nightly")) == 1
    assert server.sql("SELECT next_at - %s = interval '1 day' FROM wharf.job_schedule WHERE queue = 'jobbench.nightly'", at[0]) == [(True,)]


# ---- crashes ----

def test_poison_is_parked_after_two_crashes(server, org):
    crashes = lambda: int(re.search(r"(\d+) crashes", server.command("ps")).group(1))  # noqa: E731
    before = crashes()
    ask(org, "poison", key="x")
    ask(org, "poison", key="y", delay_ms=3600_000)
    ask(org, "count", times=20)
    parked = until(lambda: past(org))
    assert [p[1:4] + (p[5],) for p in parked] == [("jobbench.poison", "parked", "worker_crash", 2)]
    until(lambda: len(effects(org, "count")) == 20)
    assert effects(org, "poison") == []
    until(lambda: job_workers(server))
    assert crashes() == before + 2


def test_a_policy_says_how_many_crashes(org):
    ask(org, "poison_thrice")
    until(lambda: past(org))
    assert [p[1:4] + (p[5],) for p in past(org)] == [("jobbench.poison_thrice", "parked", "worker_crash", 3)]


def test_kill_9_blames_nobody(server, org):
    ask(org, "steps", value=100)
    for _ in range(3):
        until(lambda: [w for w in waiting(org) if w[2] == "running" and (w[4] or 0) > 0])
        worker, = until(lambda: job_workers(server))
        os.kill(worker, signal.SIGKILL)
        until(lambda: (w := job_workers(server)) and w != [worker])
    idle(org)
    assert len(effects(org)) == 1 and past(org) == []


def test_a_worker_that_stood_still_lost_its_lease(server, org):
    """Stopped beyond its lease; another server does the job; awake again, the first one's work is refused at its commit."""
    worker, = until(lambda: job_workers(server))
    other = Server("--modules", MODULES, beside=server)  # ready, before the first one stands still: who does so for ten seconds is ended
    stopped = []

    def stop(pid):
        os.kill(pid, signal.SIGSTOP)
        stopped.append(pid)
    try:
        second, = until(lambda: job_workers(other))
        until(lambda: server.sql("SELECT count(*) FROM wharf.job_worker WHERE NOT lost") == [(2,)])
        stop(second)
        ask(org, "count", value=1, sleep_ms=1000)
        ask(org, "in_pieces", value=2, sleep_ms=1000)
        until(lambda: len(waiting(org, "state = 'running'")) == 2)
        stop(worker)
        os.kill(second, signal.SIGCONT)
        server.sql("UPDATE wharf.job_worker SET lease_until = wharf.now() - interval '1 second' WHERE pid = %s", worker)
        idle(org)
        os.kill(worker, signal.SIGCONT)
        until(lambda: server.sql("SELECT count(*) FROM wharf.job_worker WHERE NOT lost") == [(2,)])
        time.sleep(1.5)
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        other.stop()
    assert [e[2] for e in effects(org, "count")] == [1]
    assert len(effects(org, "end")) == 1


DISPATCHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%%wharf.job\\_%%' AND pid <> pg_backend_pid()"


def test_a_lease_whose_answer_was_lost(server, org):
    """The row says that a living worker runs it, which knows nothing of it: by a lost answer, or an end that a crash of the database took back."""
    ask(org, "count", value=1, delay_ms=3600_000)
    org.server.sql("UPDATE wharf.job SET state = 'running', fence = fence + 1, worker = (SELECT id FROM wharf.job_worker WHERE NOT lost LIMIT 1) WHERE organization_id = %s", org.id)
    server.sql(DISPATCHERS)
    idle(org)
    assert [e[2] for e in effects(org)] == [1] and past(org) == []


def test_a_lease_that_a_crash_of_the_database_took_back(server):
    """It is leased a second time, maybe by the same worker, while the first run goes on: that one's work is refused from then on."""
    for seconds in (1.5, 6, 24):  # until the machine is fast enough to take it back meanwhile
        org = server.organization()
        ask(org, "in_pieces", value=2, sleep_ms=int(seconds * 1000))
        until(lambda: effects(org, "begin"))
        taken = server.sql("WITH u AS (UPDATE wharf.job SET state = 'ready', fence = fence - 1, worker = NULL, leased_at = NULL WHERE organization_id = %s AND state = 'running' RETURNING 1) "
                           "SELECT (SELECT count(*) FROM u), (SELECT count(*) FROM (" + DISPATCHERS + ") d)", org.id)[0][0]
        idle(org)
        time.sleep(seconds)
        if taken:
            break
    assert len(effects(org, "begin")) == 2 and len(effects(org, "end")) == 1 and past(org) == []


def test_a_drain_gives_back_what_does_not_end(org):
    """A server that ends tells its jobs to stop; another one runs them to the end."""
    other = Server("--modules", MODULES, beside=org.server)
    try:
        org.server.sql("UPDATE wharf.job_schedule SET next_at = next_at")
        ask(org, "steps", times=6, value=150)
        until(lambda: len(waiting(org, "state = 'running'")) == 6)
    finally:
        other.stop()
    idle(org)
    assert len(effects(org)) == 6 and past(org) == []


# ---- seeing ----

def test_metrics(server, org):
    ask(org, "count", times=3, delay_ms=3600_000)
    ask(org, "count")
    def depth():
        text = requests.get(server.admin + "/metrics", timeout=WAIT).text
        m = re.search(r'^wharf_job_queue_depth\{queue="jobbench.count"\} (\d+)$', text, re.M)
        return m and int(m.group(1)) >= 3 and text
    text = until(depth)
    assert re.search(r'^wharf_job_age_seconds\{queue="jobbench.count"\} \d', text, re.M)
    assert re.search(r'^wharf_job_runs_total\{queue="jobbench.count",outcome="done"\} [1-9]', text, re.M)


def test_connections_of_a_worker_that_stands_still_are_ended(server):
    """Whoever sees that its lease is over ends them, and no others: locks of a process that sleeps would outlive it."""
    names = ("wharf_worker_0asleep", "wharf_worker_0awake", "psql")
    held = {n: psycopg2.connect(server.conninfo, application_name=n) for n in names}
    for c in held.values():
        c.cursor().execute("SELECT 1")
    try:
        for name, lease in ((names[0], "-1 minute"), (names[1], "1 minute"), (names[2], "-1 minute")):
            server.sql("INSERT INTO wharf.job_worker (id, host, pid, started_us, crash_dir, lease_until, client) VALUES (%s, 'elsewhere', 1, 1, '/', now() + %s::interval, %s)",
                       "jobw_" + name, lease, name)
        until(lambda: server.sql("SELECT lost FROM wharf.job_worker WHERE id = %s", "jobw_" + names[0]) == [(True,)])
        until(lambda: not server.sql("SELECT 1 FROM pg_stat_activity WHERE application_name = %s", names[0]))
        assert sorted(server.sql("SELECT application_name FROM pg_stat_activity WHERE application_name = ANY (%s)", list(names))) == [(names[2],), (names[1],)]
        assert server.sql("SELECT id, lost FROM wharf.job_worker WHERE host = 'elsewhere' ORDER BY id") == [
            ("jobw_psql", True), ("jobw_" + names[0], True), ("jobw_" + names[1], False)]
        workers = server.sql("SELECT client FROM wharf.job_worker WHERE host <> 'elsewhere'")
        assert workers and all(c.startswith("wharf_worker_") for c, in workers) and len(set(workers)) == len(workers)
    finally:
        server.sql("DELETE FROM wharf.job_worker WHERE host = 'elsewhere'")
        for c in held.values():
            c.close()
