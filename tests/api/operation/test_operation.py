"""Operation: modules that crash (docs/reference/plugin-abi.md section 11), probes and metrics (spec 01 section 17)."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest
import requests

from wharf import BUILD, PROGRAM, TURNS_ARE_HEARD, WAIT, Client, Server, address, process_state, turns, until

MODULES = f"org,locations,stations,{BUILD}/tests/plugins/faulty.so,{BUILD}/tests/plugins/leaner.so"


def crash(server, key):
    try:
        requests.post(server.base + "/v1/faults/crash/now", headers={"SVC-API-KEY": key}, timeout=WAIT)
    except requests.RequestException:
        pass


def modules(client):
    return {m["name"]: m for m in client.get("/v1/modules").data}


def ready(client):
    """No worker of an older generation serves any more."""
    return "draining" not in client.server.command("ps") and "starting" not in client.server.command("ps")


def test_a_plugin_that_crashes_is_left_out():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-api-"))
    server = Server("--modules", MODULES, folder=folder)
    client, other = server.organization().client(), server.organization("Second")
    kept = client.post("/v1/faults", {"name": "one"}, expect=201).data
    before = modules(client)
    assert before["faulty"]["status"] == "ok" and "POST /v1/faults/crash/now" in before["faulty"]["routes"]
    for _ in range(3):
        crash(server, client.key)
    until(lambda: "quarantined: faulty" in server.command("ps") and ready(client))

    def out_of_service():
        now = modules(client)
        assert now["faulty"] == {**before["faulty"], "status": "quarantined"}
        assert now["leaner"] == {**before["leaner"], "status": "unavailable"}
        assert now["locations"]["status"] == "ok"
        for method, path in (("GET", "/v1/faults"), ("POST", "/v1/faults"), ("GET", "/v1/faults/" + kept["id"]), ("DELETE", "/v1/faults/" + kept["id"]),
                             ("POST", "/v1/faults/crash/now"), ("GET", "/v1/leaners")):
            a = client.request(method, path, body={} if method == "POST" else None, expect=503)
            assert a.code == "module.unavailable" and a.errors == [] and int(a.headers["Retry-After"]) > 0, a
        a = client.request("POST", "/v1/faults", data=b" " * 4_000_000, expect=503, headers={"Content-Type": "application/json"}, check=False)
        assert int(a.headers["Retry-After"]) > 0
        client.refused("DELETE", "/v1/leaners", 405, "method.not_allowed")
        client.refused("GET", "/v1/faulty", 404, "route.not_found")
        assert "/v1/faults" not in client.get("/v1/openapi.json", check=False).body["paths"]
        client.get("/v1/locations")
        probe = requests.get(server.base + "/readyz?verbose", timeout=WAIT)
        assert probe.status_code == 200 and probe.json()["modules"]["faulty"] == "quarantined" and probe.json()["modules"]["leaner"] == "unavailable"
        metrics = requests.get(server.admin + "/metrics", timeout=WAIT).text
        assert 'wharf_plugin_quarantined{plugin="faulty"} 1' in metrics
        assert re.search(r'wharf_http_requests_total\{route="/v1/leaners",method="GET",status="5xx",module="leaner"\} [1-9]', metrics)

    def events():
        return server.sql("SELECT organization_id, resource_type, resource_id, data FROM wharf.event WHERE type = 'plugin.quarantined'")

    out_of_service()
    rows = until(lambda: len(events()) >= 2 and events())
    assert {r[0] for r in rows} >= {other.id} and len({r[0] for r in rows}) == len(rows) == server.sql("SELECT count(*) FROM wharf.organization")[0][0]
    assert {r[1:3] for r in rows} == {("plugin", "faulty")} and rows[0][3]["status"] == "quarantined" and rows[0][3]["crashes"] == 3
    server.stop()

    server = Server("--modules", MODULES, folder=folder)  # and stays left out
    client.server = server
    try:
        assert "quarantined: faulty" in server.command("ps")
        out_of_service()
        server.command("reload")
        until(lambda: ready(client))
        assert "wharf.announce_quarantine" not in str(server.sql("SELECT queue FROM wharf.job")) and len(events()) == len(rows)
        server.command("plugin", "release", "faulty")
        until(lambda: ready(client))
        assert modules(client) == before
        assert client.get("/v1/faults").ids == [kept["id"]]
        assert client.get("/v1/leaners", check=False).status == 200
        assert not (folder / "quarantine").read_text()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


# ---- metrics ----

def make_body(name):
    return {"name": name, "address": address()}


NAMES = """wharf_http_requests_total wharf_http_request_duration_seconds wharf_http_in_flight wharf_auth_failures_total wharf_rate_limited_total wharf_idempotent_replays_total wharf_db_pool_in_use
    wharf_db_query_duration_seconds wharf_job_queue_depth wharf_job_age_seconds wharf_build_info wharf_plugin_quarantined wharf_worker_up""".split()


def value(text, line):
    found = re.search("^" + re.escape(line) + r" ([0-9.e+-]+)$", text, re.M)
    return float(found.group(1)) if found else 0.0


def test_metrics():
    server = Server()
    try:
        client = server.organization().client()
        made = client.post("/v1/locations", make_body("Main"), expect=201, headers={"Idempotency-Key": "once"}).data
        client.post("/v1/locations", make_body("Main"), expect=201, headers={"Idempotency-Key": "once"})
        client.get("/v1/locations/" + made["id"])
        client.refused("GET", "/v1/locations", 401, "api_key.missing", key=False)
        client.refused("GET", "/v1/locations", 401, "api_key.invalid", key="wh_live_nothing")
        server.organization().client(scopes="stations:read").refused("GET", "/v1/locations", 403, "scope_access")
        blocker = server.db.cursor()
        server.db.autocommit = False
        blocker.execute("LOCK TABLE locations.location")
        waits = threading.Thread(target=lambda: client.post("/v1/locations", make_body("Waits")))
        waits.start()
        busy = until(lambda: (t := requests.get(server.admin + "/metrics", timeout=WAIT).text) and value(t, "wharf_http_in_flight") >= 2 and value(t, "wharf_db_pool_in_use") >= 1 and t)
        server.db.rollback()
        server.db.autocommit = True
        waits.join()
        assert busy
        posts = 'wharf_http_requests_total{route="/v1/locations",method="POST",status="2xx",module="locations"}'  # counted when the connection is done with it
        text = until(lambda: (t := requests.get(server.admin + "/metrics", timeout=WAIT).text) and value(t, "wharf_db_pool_in_use") == 0 and value(t, posts) == 3 and t)
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=WAIT)
        assert checked.returncode == 0 and not checked.stdout + checked.stderr, checked.stdout + checked.stderr
        told = set(re.findall(r"^# TYPE (\S+)", text, re.M))
        assert told >= set(NAMES), set(NAMES) - told
        assert value(text, 'wharf_http_requests_total{route="/v1/locations",method="POST",status="2xx",module="locations"}') == 3
        assert value(text, 'wharf_http_request_duration_seconds_count{route="/v1/locations/:location",method="GET"}') == 1
        assert value(text, 'wharf_auth_failures_total{code="api_key.missing"}') == 1
        assert value(text, 'wharf_auth_failures_total{code="api_key.invalid"}') == 1
        assert value(text, 'wharf_auth_failures_total{code="scope_access"}') == 1
        assert value(text, "wharf_idempotent_replays_total") == 1
        assert value(text, "wharf_http_in_flight") == 1  # the one that asks
        assert value(text, "wharf_db_query_duration_seconds_count") > 5 and value(text, "wharf_db_query_duration_seconds_sum") > 0
        labels = set(re.findall(r'="([^"]*)"', text))
        ids = {made["id"], client.key, server.sql("SELECT organization_id FROM locations.location")[0][0]}
        assert not [x for x in labels if any(i in x for i in ids) or re.search(r"[a-z]+_[0-9A-Za-z]{22}", x)]
    finally:
        server.stop()


# ---- probes ----

def ticks(pid):
    """Processor time used, in hundredths of a second."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_readiness_ends_at_once_and_the_server_accepts_on():
    server = Server("--set", "drain_accept=3000")
    try:
        client = server.organization().client()
        verbose = requests.get(server.admin + "/readyz?verbose", timeout=WAIT).json()
        modules = verbose.pop("modules")
        assert {"org", "locations", "stations"} <= set(modules) and set(modules.values()) == {"ok"}
        assert verbose.pop("queue_age_seconds") >= 0 and verbose == {
            "ready": True, "database": "ok", "migrations": "ok", "connections": "ok", "roles": "ok", "storage": "ok", "data": "ok", "secrets": "ok", "files": "ok", "not_ready_because": [], "degraded": []}
        assert requests.get(server.base + "/healthz", timeout=WAIT).text == "ok\n"
        server.process.send_signal(signal.SIGTERM)
        until(lambda: requests.get(server.base + "/readyz", timeout=WAIT).status_code == 503)
        for base in (server.base, server.admin):
            assert requests.get(base + "/readyz", timeout=WAIT).status_code == 503
            assert requests.get(base + "/livez", timeout=WAIT).status_code == 200
            assert requests.get(base + "/readyz?verbose", timeout=WAIT).json()["ready"] is False
        Client(server, client.key).get("/v1/locations")  # on a new connection
        before = {pid: ticks(pid) for pid in server.workers("web")}
        time.sleep(1)
        assert all(ticks(pid) - n < 50 for pid, n in before.items()), "a worker that waits for its end does not spin"
        assert server.process.wait(WAIT) == 0
    finally:
        server.stop()


def test_not_ready_without_its_database():
    with_base = Server()
    server = Server("--set", f"master_key_file={with_base.folder}/master.key", beside=with_base)
    try:
        assert requests.get(server.base + "/readyz", timeout=WAIT).text == "ok\n"
        os.kill(with_base.process.pid, signal.SIGSTOP)  # it would start the next one
        with_base.kill_database()
        until(lambda: requests.get(server.base + "/readyz", timeout=WAIT).status_code == 503)
        until(lambda: requests.get(server.base + "/readyz?verbose", timeout=WAIT).json()["database"] == "away")
        assert requests.get(server.base + "/livez", timeout=WAIT).status_code == 200
        os.kill(with_base.process.pid, signal.SIGCONT)
        until(lambda: requests.get(server.base + "/readyz", timeout=WAIT).status_code == 200)
    finally:
        server.stop()
        with_base.stop()


# ---- log files ----

class Serving:
    """`wharf serve` with a file of settings, which ends by SIGTERM and reloads by SIGHUP."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-api-"))
        os.chmod(self.folder, 0o711)
        self.settings = f"""listen = "127.0.0.1:0"
data = "{self.folder}"
modules = {{"org"}}
workers = 2
drain_accept = 0
admin = {{listen = "127.0.0.1:0"}}
log = {{file = "{self.folder}/wharf.log", access = "{self.folder}/access.log"}}
"""
        self.file, ready = self.folder / "wharf.lua", self.folder / "ready.json"
        self.file.write_text(self.settings)
        self.process = subprocess.Popen([PROGRAM, "serve", "-c", self.file, "--ready", ready], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: ready.exists() and ready.stat().st_size)
        self.base = json.loads(ready.read_text())["base_url"]

    def rotate(self, number):
        for name in ("wharf.log", "access.log"):
            (self.folder / name).rename(self.folder / f"{name}.{number}")
        self.process.send_signal(signal.SIGHUP)
        for name in ("wharf.log", "access.log"):
            until((self.folder / name).exists)

    def held(self, number):
        """Who of the server's processes still has a file of that rotation open."""
        own = [p for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and is_child(p, self.process.pid)]
        return [x for p in own for x in open_files(p) if x.endswith(f".log.{number}")]

    def lines(self, name):
        return [json.loads(line) for file in self.folder.glob(name + "*") for line in file.read_text().splitlines()]

    def stop(self):
        self.process.terminate()
        code = self.process.wait(WAIT)
        return code


def test_a_web_worker_per_core_that_may_be_used():
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})  # inherited by the server, as taskset and containers do
    try:
        server = Server()
    finally:
        os.sched_setaffinity(0, allowed)
    try:
        assert sum(line.startswith("web ") for line in server.command("ps").splitlines()) == 1
    finally:
        server.stop()


def test_who_is_waited_for_has_short_turns():
    """Web workers and PostgreSQL with its connections; not jobs and not cells, whoever started them."""
    usual = turns(os.getpid())
    if not TURNS_ARE_HEARD:
        pytest.skip("Linux before 6.12 knows no turns of other lengths")
    server = Server("--modules", "org,locations,batches,events,workflows")
    try:
        parents = {p.name: process_state(p.name)[1] for p in pathlib.Path("/proc").glob("[0-9]*")}
        postmaster = (server.folder / "postgres/postmaster.pid").read_text().split()[0]
        database = [postmaster] + [pid for pid, parent in parents.items() if parent == int(postmaster)]
        web, job = ([str(pid) for pid in server.workers(kind)] for kind in ("web", "job"))
        client = server.organization().client()
        made = client.post("/v1/workflows", {"name": "Turns", "source": "return {on_http = function() return {} end}", "scopes": [],
                                             "triggers": [{"type": "http", "path": "run", "methods": ["POST"], "auth": "key", "mode": "sync"}]}, expect=201).data["id"]
        client.post(f"/v1/workflows/{made}/publish", {}, expect=200)
        client.post(f"/v1/workflows/{made}/http/run", {}, expect=200)
        cells = until(lambda: [p.name for p in pathlib.Path("/proc").glob("[0-9]*") if str(process_state(p.name)[1]) in web + job])
        assert web and job and len(database) > 5
        assert {turns(pid) for pid in web + database} == {100_000} and {turns(pid) for pid in job + cells} == {usual}, usual
    finally:
        server.stop()


@pytest.mark.parametrize("admin", ["127.0.0.1:0", ""])
def test_several_job_workers(admin):
    """Only the first of them has the listener for metrics, if there is one at all."""
    server = Server("--modules", "org,locations,events", "--set", "jobs.workers=2", "--set", f"admin.listen={admin}")
    try:
        assert len(server.workers("job")) == 2 and bool(server.admin) == bool(admin)
        org = server.organization()
        made = org.client().post("/v1/locations", {"name": "Two", "address": address()}, expect=201).data["id"]
        assert until(lambda: [t for t, *_ in org.events(made)] == ["location.created"])
        for pid in server.workers("job"):
            os.kill(pid, signal.SIGKILL)
        until(lambda: len(server.workers("job")) == 2 and ready(org.client()))
    finally:
        server.stop()


def is_child(proc, pid):
    try:
        return int(proc.name) == pid or int((proc / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid
    except OSError:
        return False


def open_files(proc):
    found = []
    with contextlib.suppress(OSError):  # it ended meanwhile
        for fd in (proc / "fd").iterdir():
            with contextlib.suppress(OSError):  # it was closed meanwhile
                found.append(os.readlink(fd))
    return found


def test_rotated_logs_lose_no_line():
    server = Serving()
    stop, seen, odd = threading.Event(), [], []

    def ask():
        http = requests.Session()
        while not stop.is_set():
            r = http.get(server.base + "/v1/changes", timeout=WAIT)
            (seen if r.status_code == 200 else odd).append(r.headers["Request-Id"])

    askers = [threading.Thread(target=ask) for _ in range(4)]
    try:
        for t in askers:
            t.start()
        for number in range(1, 4):
            server.file.write_text(server.settings if number != 2 else "listen = nonsense(")  # settings that fail rotate all the same
            count = len(seen)
            server.rotate(number)
            until(lambda: sum(line["event"] in ("server.reloaded", "server.reload_failed") for line in server.lines("wharf.log")) == number)
            until(lambda: not server.held(number))
            until(lambda: len(seen) > count + 20)
        stop.set()
        for t in askers:
            t.join(WAIT)
    finally:
        stop.set()
        assert server.stop() == 0
    logged = [line["request_id"] for line in server.lines("access.log") if line["route"] == "/v1/changes"]
    assert not odd and len(seen) > 60
    assert sorted(logged) == sorted(seen)
    events = [line["event"] for line in server.lines("wharf.log")]
    assert events.count("server.reloaded") == 2 and events.count("server.reload_failed") == 1 and events.count("server.stopped") == 1
    shutil.rmtree(server.folder, ignore_errors=True)
