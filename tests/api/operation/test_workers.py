"""Workers always come back, and a plugin that crashes, hangs or leaks harms nobody else (docs/guide/operation.md 'Workers')."""
import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import tempfile
import threading
import time

import pytest
import requests

from hook_folder import Folder
from test_operation import Serving, crash, modules, ready, until, value
from wharf import BUILD, SANITIZED, WAIT, Server, address

FAULTY = BUILD / "tests" / "plugins" / "faulty.so"
MODULES = f"org,locations,stations,{FAULTY}"


def new_connections(base, n=30):
    """What n connections of their own get: a status, or None when they are refused. None may wait."""
    told = []
    for _ in range(n):
        try:
            told.append(requests.get(base + "/v1/changes", timeout=WAIT, headers={"Connection": "close"}).status_code)
        except requests.ConnectionError:
            told.append(None)
    return told


def log_lines(folder, event):
    return [line for line in map(json.loads, (folder / "wharf.log").read_text().splitlines()) if line["event"] == event]


def metrics(server):
    return requests.get(server.admin + "/metrics", timeout=WAIT).text


def kill_one(server, kind="web"):
    pid = server.workers(kind)[0]
    os.kill(pid, signal.SIGKILL)
    return pid


def resident(pid, name="VmRSS"):
    """Bytes of memory that a process has (VmRSS), or had at most (VmHWM); None: it is ending."""
    found = re.search(rf"^{name}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(found.group(1)) << 10 if found else None


@contextlib.contextmanager
def running(*args, hooks=None, workers=2, **more):
    place = pathlib.Path(tempfile.mkdtemp(prefix="wharf-hooks-", dir=os.environ.get("WHARF_TEST_PLACE")))
    os.chmod(place, 0o755)
    folder = Folder(place)
    folder.write(hooks or {})
    server = Server(*args, "--set", f"lua_hooks.dir={place}", "--set", f"workers={workers}", **more)
    try:
        yield server, folder
    finally:
        server.stop()
        shutil.rmtree(place)


# ---- each way in leaves a server that answers, or says that it does not ----

def test_hooks_of_a_quarantined_plugin_sleep():
    hook = "wharf.hook.before('fault', 'create', function(change) if change.input.name == 'no' then wharf.reject('no') end end)\n"
    with running("--modules", MODULES, hooks={"10-faults.lua": hook}) as (server, _):
        client = server.organization().client()
        client.refused("POST", "/v1/faults", 400, "workflow.rejected", body={"name": "no"}, check=False)
        for _ in range(3):
            crash(server, client.key)
        until(lambda: "quarantined: faulty" in server.command("ps") and ready(client))
        assert new_connections(server.base) == [200] * 30
        assert client.post("/v1/faults", {"name": "no"}, expect=503, check=False).code == "module.unavailable"
        told = log_lines(server.folder, "lua.hook_sleeps")
        assert told and told[0]["plugin"] == "faulty" and "10-faults.lua:1: the before hook on 'fault' sleeps" in told[0]["message"], told
        for kind in ("web", "job"):
            gone = kill_one(server, kind)
            until(lambda: gone not in server.workers(kind) and ready(client) and "is down" not in server.command("ps"))
        server.command("plugin", "release", "faulty")
        until(lambda: ready(client))
        client.refused("POST", "/v1/faults", 400, "workflow.rejected", body={"name": "no"}, check=False)


def test_a_hook_that_ends_the_process():
    hook = "wharf.hook.before('location', 'create', function(change) if change.input.name == 'Bye' then os.exit(2) end end)\n"
    with running("--modules", MODULES, "--set", "lua_hooks.unsafe=true", hooks={"10-bye.lua": hook}) as (server, _):
        client = server.organization().client()
        for _ in range(4):
            with contextlib.suppress(requests.RequestException):
                requests.post(server.base + "/v1/locations", json={"name": "Bye", "address": address()}, headers={"SVC-API-KEY": client.key}, timeout=WAIT)
        until(lambda: ready(client) and len(server.workers("web")) == 2 and "is down" not in server.command("ps"))
        assert new_connections(server.base) == [200] * 30
        assert any("ended with code 2" in line["message"] for line in log_lines(server.folder, "worker.crashed"))


class Typo(Serving):
    def workers(self):
        return [p.name for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and b"_worker" in command_line(p) and f"{self.folder}".encode() in command_line(p)]


def command_line(proc):
    try:
        return (proc / "cmdline").read_bytes()
    except OSError:
        return b""


def test_settings_that_were_not_reloaded():
    """Whoever comes back runs with what the others run with, whatever the file holds by now."""
    server = Typo()
    try:
        for text in ("listen = nonsense(", None):
            server.file.write_text(text) if text else server.file.unlink()
            before = server.workers()
            assert len(before) == 3
            for pid in before:
                os.kill(int(pid), signal.SIGKILL)
            until(lambda: len(set(server.workers()) - set(before)) == 3)
            until(lambda: set(new_connections(server.base, 5)) == {200})
        assert not [line for line in server.lines("wharf.log") if line["event"] == "worker.not_started"]
    finally:
        assert server.stop() == 0
        shutil.rmtree(server.folder, ignore_errors=True)


def test_a_damaged_plugin_and_a_dead_worker():
    place = pathlib.Path(tempfile.mkdtemp(prefix="wharf-plugin-"))
    os.chmod(place, 0o755)
    plugin = place / "faulty.so"
    shutil.copy(FAULTY, plugin)

    def damage():
        (place / "new").write_bytes(b"\x7fELF nothing")
        (place / "new").rename(plugin)  # in place it would end who runs it

    with running("--modules", f"org,locations,{plugin}", "--set", "admin.listen=127.0.0.1:0") as (server, _):
        client = server.organization().client()
        damage()
        kill_one(server)
        until(lambda: log_lines(server.folder, "worker.socket_closed"))
        assert new_connections(server.base) == [200] * 30, "the other worker takes all connections"
        until(lambda: len(log_lines(server.folder, "worker.not_started")) >= 2)
        assert re.search(r"^web \d is down for \d+s \(\d+ starts failed\): .*faulty\.so", server.command("ps"), re.M)
        assert re.findall(r'^wharf_worker_up\{kind="(\w+)",index="(\d)"\} ([01])$', metrics(server), re.M) in (
            [("web", "0", "0"), ("web", "1", "1"), ("job", "0", "1")], [("web", "0", "1"), ("web", "1", "0"), ("job", "0", "1")])
        probe = requests.get(server.admin + "/readyz?verbose", timeout=WAIT).json()
        assert probe["ready"] and len(probe["degraded"]) == 1 and re.match(r"worker web \d is down for \d+ s, \d+ starts failed: .*faulty\.so", probe["degraded"][0]), probe
        public = requests.get(server.base + "/readyz?verbose", timeout=WAIT).json()
        assert public["ready"] and "faulty" not in public["degraded"][0], "why is for the operator"
        kill_one(server, "job")
        until(lambda: (a := requests.get(server.base + "/readyz", timeout=WAIT)).status_code == 503 and "no job worker can start" in a.text)
        kill_one(server)
        until(lambda: set(new_connections(server.base, 5)) == {None})
        shutil.copy(FAULTY, place / "good")
        (place / "good").rename(plugin)
        until(lambda: "is down" not in server.command("ps") and len(server.workers("web")) == 2)
        assert new_connections(server.base) == [200] * 30
        until(lambda: requests.get(server.base + "/readyz", timeout=WAIT).text == "ok\n")
        assert client.get("/v1/faults", check=False).status == 200
    shutil.rmtree(place)


def test_each_module_may_be_left_out():
    """With hooks of the operator on all resources: whichever plugin is quarantined, the server starts and answers."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-api-", dir=os.environ.get("WHARF_TEST_PLACE")))
    server = Server(folder=folder)
    client = server.organization().client()
    names = [name for name, m in modules(client).items() if m["status"] == "ok"]
    resources = [r for name in names for r in json.loads((folder / "modules" / f"{name}.json").read_text())["resources"]]
    assert len(resources) > 20 and {"location", "shipment"} <= set(resources)
    server.stop()
    hooks = "".join(f"wharf.hook.{phase}('{r}', 'create', function() end)\n" for r in resources for phase in ("before", "after"))
    place = pathlib.Path(tempfile.mkdtemp(prefix="wharf-hooks-"))
    os.chmod(place, 0o755)
    (place / "10-all.lua").write_text(hooks)
    started = []
    try:
        for name in names:
            if name == "org":  # everything needs it
                continue
            (folder / "quarantine").write_text(f"{name} 2026-01-01T00:00:00.000Z 3 60\n")
            (folder / "wharf.log").unlink()
            server = Server("--set", f"lua_hooks.dir={place}", folder=folder)
            try:
                status = requests.get(server.base + "/readyz?verbose", timeout=WAIT).json()["modules"]
                assert status[name] == "quarantined" and status["org"] == "ok"
                asleep = {m for line in log_lines(folder, "lua.hook_sleeps") for m in re.findall(r"hook on '(\w+)' sleeps", line["message"])}
                out = {n for n, s in status.items() if s != "ok"}
                assert asleep == {r for n in out for r in json.loads((folder / "modules" / f"{n}.json").read_text())["resources"]}
                started.append(name)
            finally:
                server.end()
    finally:
        shutil.rmtree(place)
        shutil.rmtree(folder, ignore_errors=True)
    assert len(started) == len(names) - 1


# ---- a plugin that hangs ----

def ask_and_forget(server, key, path, body, answers):
    def ask():
        with contextlib.suppress(requests.RequestException):
            answers.append(requests.post(server.base + path, json=body, headers={"SVC-API-KEY": key}, timeout=WAIT))
    t = threading.Thread(target=ask)
    t.start()
    return t


@pytest.mark.parametrize("where", ["route", "rule on another's resource"])
def test_a_plugin_that_hangs(where):
    with running("--modules", MODULES, "--set", "http.handler_timeout=3000", "--set", "drain_timeout=4000") as (server, _):
        client = server.organization().client()
        path, body = ("/v1/faults/hang/now", {}) if where == "route" else ("/v1/locations", {"name": "Hang", "address": address()})
        answers = []
        asked = [ask_and_forget(server, client.key, path, body, answers) for _ in range(24)]
        until(lambda: value(metrics(server), "wharf_http_in_flight") >= 20)
        while "quarantined: faulty" not in server.command("ps"):  # of rows that one waits for, one hangs at a time
            asked.append(ask_and_forget(server, client.key, path, body, answers))
            time.sleep(0.5)
        for t in asked:
            t.join(WAIT)
        assert {a.status_code for a in answers} <= {503, 504} and any(a.status_code == 504 and a.json()["code"] == "timeout" for a in answers)
        hung = log_lines(server.folder, "worker.hung")
        assert hung[0]["plugin"] == "faulty" and "a new worker takes over" in hung[0]["message"] and value(metrics(server), "wharf_worker_hangs_total") >= 1
        reports = until(lambda: list((server.folder / "crash").glob("*.txt")))
        text = until(lambda: next((t for r in reports if "plugin: faulty" in (t := r.read_text())), None))
        assert "faulty.so+0x" in text, "the report shows where it hung"
        until(lambda: ready(client) and "is down" not in server.command("ps"))
        assert new_connections(server.base) == [200] * 30


def test_strangers_leave_threads_to_others():
    """With every thread that a plugin may have taken for ever, writes of other modules go on."""
    with running("--modules", MODULES, "--set", "http.handler_timeout=20000", "--set", "drain_timeout=1000") as (server, _):
        client = server.organization().client()
        answers = []
        threads = [ask_and_forget(server, client.key, "/v1/faults/hang/now", {}, answers) for _ in range(40)]
        until(lambda: value(metrics(server), "wharf_http_in_flight") >= 40)
        for i in range(30):  # on new connections, so that each worker gets some; roles run on threads
            a = requests.post(server.base + "/v1/roles", json={"name": f"Role {i}", "permissions": {}}, headers={"SVC-API-KEY": client.key}, timeout=WAIT)
            assert a.status_code in (201, 400), a.text
        assert not answers
        for pid in server.workers("web"):
            os.kill(pid, signal.SIGKILL)
        for t in threads:
            t.join(WAIT)


def test_large_bodies_of_strangers_leave_threads_too():
    """Requests of a plugin that are refused because too many of it wait give no place back: large bodies come to the queue by another way."""
    with running("--modules", MODULES, "--set", "http.handler_timeout=20000", "--set", "drain_timeout=1000", workers=1) as (server, _):
        client = server.organization().client()
        answers = []
        threads = [ask_and_forget(server, client.key, "/v1/faults/hang/now", {}, answers) for _ in range(300)]
        until(lambda: any(a.status_code == 503 for a in answers) and len(answers) + value(metrics(server), "wharf_http_in_flight") >= 300)
        for _ in range(30):
            a = requests.post(server.base + "/v1/faults/hang/now", json={"text": "x" * 20000}, headers={"SVC-API-KEY": client.key}, timeout=WAIT)
            assert a.status_code == 503 and a.json()["code"] == "overloaded", a.text
        for i in range(5):
            a = requests.post(server.base + "/v1/roles", json={"name": f"Role {i}", "permissions": {}}, headers={"SVC-API-KEY": client.key}, timeout=WAIT)
            assert a.status_code in (201, 400), a.text
        for pid in server.workers("web"):
            os.kill(pid, signal.SIGKILL)
        for t in threads:
            t.join(WAIT)


# ---- a plugin that leaks ----

def test_a_plugin_that_leaks_is_replaced_before_its_limit():
    limit = 900 << 20
    with running("--modules", MODULES, "--set", f"memory.limit={limit}") as (server, _):
        client = server.organization().client()
        before, stop, odd, seen = set(server.workers("web")), threading.Event(), [], [0]

        def ask():
            http = requests.Session()
            while not stop.is_set():
                r = http.get(server.base + "/v1/locations", headers={"SVC-API-KEY": client.key}, timeout=WAIT)
                seen[0] += 1
                if r.status_code != 200:
                    odd.append(r.text)

        def replaced():
            return value(metrics(server), "wharf_worker_memory_restarts_total") >= 1

        def held():
            """Mebibytes of the web workers, as the supervisor last looked; a leak is 100."""
            return sum(int(n) for n in re.findall(r'^wharf_worker_memory_bytes\{kind="web",index="\d"\} (\d+)$', metrics(server), re.M)) >> 20 & ~31

        askers = [threading.Thread(target=ask) for _ in range(3)]
        for t in askers:
            t.start()
        try:
            while not replaced():
                at = held()
                a = requests.post(server.base + "/v1/faults/leak/now", json={}, headers={"SVC-API-KEY": client.key}, timeout=WAIT)
                assert a.status_code == 200
                until(lambda: held() > at or replaced())  # noqa: B023; the supervisor has seen it, however busy the machine is
            until(lambda: before - set(server.workers("web")) and ready(client))
        finally:
            stop.set()
            for t in askers:
                t.join(WAIT)
        told = log_lines(server.folder, "worker.memory")
        assert told and re.search(r"web \d \(pid \d+\) has \d+ MB, more than three quarters of the 900 MB", told[0]["message"])
        assert not odd and seen[0] > 20, "nobody lost a request"
        text = metrics(server)
        assert value(text, "wharf_worker_memory_limit_bytes") == limit and 'wharf_worker_memory_bytes{kind="web",index="0"}' in text
        assert not log_lines(server.folder, "worker.crashed")


@pytest.mark.skipif(SANITIZED, reason="the sanitizer reports that there is no memory as a fault")
def test_the_limit_of_memory_is_hard():
    with running("--modules", MODULES, "--set", f"memory.limit={400 << 20}") as (server, _):
        client = server.organization().client()
        before = set(server.workers("web"))
        for _ in range(40):
            with contextlib.suppress(requests.RequestException):
                requests.post(server.base + "/v1/faults/leak/now", json={}, headers={"SVC-API-KEY": client.key}, timeout=WAIT)
        until(lambda: before - set(server.workers("web")) and ready(client) and "is down" not in server.command("ps"))
        def memory():
            """Of all workers; None: one of them has just ended, and another takes its place."""
            with contextlib.suppress(OSError):
                found = [resident(pid) for pid in server.workers("web")]
                return found if found and None not in found else None

        assert max(until(memory)) < 900 << 20
        assert new_connections(server.base) == [200] * 30


@pytest.mark.skipif(SANITIZED, reason="the sanitizer keeps what is freed, to find who uses it")
def test_a_worker_gives_back_what_large_requests_took():
    with running("--modules", "org,locations,contacts", workers=1) as (server, _):
        client = server.organization().client()
        pid, = server.workers("web")
        at_rest = resident(pid)
        for turn in range(5):  # each on another of its threads, whose heap would keep it
            rows = "\n".join(["Name,Email,Address", *(f'Name {n},u{turn}.{n}@example.com,"{n} Main Road, Newark, NJ 07001, US"' for n in range(5000))])
            client.post("/v1/contacts", {"csv_url": "data:text/csv;base64," + base64.b64encode(rows.encode()).decode()}, expect=200)
        assert resident(pid, "VmHWM") > at_rest + (30 << 20), "the requests were not large"
        until(lambda: resident(pid) < at_rest + (30 << 20))
        assert server.workers("web") == [pid]


def test_what_each_plugin_uses_is_counted():
    """Time and memory, by plugin: who takes both is seen before anything is replaced for it."""
    with running("--modules", MODULES, workers=1) as (server, _):
        client = server.organization().client()

        def used(what, plugin):
            return value(metrics(server), f'wharf_plugin_{what}_total{{plugin="{plugin}"}}')
        before = {(what, plugin): used(what, plugin) for what in ("seconds", "memory_bytes") for plugin in ("faulty", "locations", "wharf")}
        for _ in range(2):
            assert requests.post(server.base + "/v1/faults/leak/now", json={}, headers={"SVC-API-KEY": client.key}, timeout=WAIT).status_code == 200
        assert 200 << 20 <= used("memory_bytes", "faulty") - before["memory_bytes", "faulty"] < 230 << 20
        assert used("seconds", "faulty") > before["seconds", "faulty"] and used("seconds", "wharf") > before["seconds", "wharf"]
        assert used("memory_bytes", "locations") - before["memory_bytes", "locations"] < 50 << 20
