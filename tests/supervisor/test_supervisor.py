"""The supervisor, the embedded database and the commands, with a worker that serves nothing (tests/unit/ops_stub_worker.c)."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

PR_SET_CHILD_SUBREAPER = 36
STUB = pathlib.Path(os.environ.get("BUILD", "build")).resolve() / "tests" / "unit" / "wharf-stub"
WAIT = 300  # seconds: as tests/api/wharf.py


def wharf(*args, **kw):
    return subprocess.run([STUB, *map(str, args)], capture_output=True, text=True, timeout=WAIT, **kw)


def until(what, seconds=WAIT):
    """Waits for a true answer; the last one is returned."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = what()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the second: it ended between opening and reading
        return False


class Server:
    def __init__(self, folder, *args, env=None):
        self.data = folder
        self.ready = folder / "ready.json"
        self.ready.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [STUB, "dev", "--data", folder, "--listen", "127.0.0.1:0", "--modules", "dock_doors", "--ready", self.ready, *args],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **(env or {})})
        until(lambda: self.ready.exists() or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.stdout.read()
        self.url = json.loads(self.ready.read_text())["base_url"]

    def get(self, path="/"):
        with urllib.request.urlopen(self.url + path, timeout=WAIT) as answer:
            return json.load(answer)

    def provoke(self, path):
        with pytest.raises(OSError):
            self.get(path)

    def command(self, *args):
        return wharf(*args, "--data", self.data)

    def workers(self):
        """name -> (pid, state, generation)"""
        out = self.command("ps").stdout
        rows = re.findall(r"^(web \d+|job \d+) +(\d+) (\w+) +(\d+)", out, re.M)
        return {name: (int(pid), state, int(generation)) for name, pid, state, generation in rows if state != "draining"}

    def database_pid(self):
        return int(re.search(r"^database +(\d+)", self.command("ps").stdout, re.M).group(1))

    def log(self):
        return [json.loads(line) for line in (self.data / "wharf.log").read_text().splitlines()]

    def events(self, name):
        return [line for line in self.log() if line["event"] == name]

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(WAIT)
        self.process.stdout.close()
        return code


@pytest.fixture
def folder(tmp_path_factory):
    """A folder that the user of PostgreSQL can reach."""
    root = tmp_path_factory.mktemp("data")
    for part in [root, *root.parents]:
        if part != pathlib.Path("/tmp") and str(part).startswith("/tmp/"):
            part.chmod(0o755)
    return root / "d"


@pytest.fixture
def server(folder):
    folder.mkdir()
    s = Server(folder)
    yield s
    s.end(signal.SIGKILL if s.process.poll() is None and not alive(s.process.pid) else signal.SIGTERM)


def test_start_and_stop(folder):
    folder.mkdir()
    s = Server(folder)
    assert s.get()["pid"] in {pid for pid, _, _ in s.workers().values()}
    ready = json.loads(s.ready.read_text())
    assert set(ready) == {"base_url", "admin_url", "api_key", "organization_id", "pid"}
    assert ready["pid"] == s.process.pid
    assert (s.ready.stat().st_mode & 0o777) == 0o600
    database, workers = s.database_pid(), s.workers()
    assert s.end(signal.SIGINT) == 0
    until(lambda: not alive(database))
    assert not any(alive(pid) for pid, _, _ in workers.values())
    assert not (folder / "control.sock").exists()
    s = Server(folder)
    assert s.end() == 0


def test_a_folder_serves_one(server):
    second = wharf("dev", "--data", server.data, "--listen", "127.0.0.1:0")
    assert second.returncode != 0
    assert f"in use by another wharf (process {server.process.pid})" in second.stderr
    assert server.get()["pid"]


def test_port_in_use(server, tmp_path):
    other = wharf("dev", "--data", server.data.parent / "other", "--modules", "dock_doors", "--listen", server.url.removeprefix("http://"))
    assert other.returncode != 0
    assert "choose another with --listen" in other.stderr


def test_bad_settings_stop_the_start(folder):
    out = wharf("dev", "--data", folder, "--set", "http.body_limt=1")
    assert out.returncode != 0 and "did you mean http.body_limit" in out.stderr
    assert not folder.exists()


def test_killed_workers_come_back(server):
    before = server.workers()
    for pid, _, _ in before.values():  # reports of earlier processes with these numbers say nothing about these
        (server.data / "crash" / f"crash-1000000000000-{pid}.txt").write_text("wharf crash report\nplugin: dock_doors\n")
    for pid, _, _ in before.values():
        os.kill(pid, signal.SIGKILL)
    for _ in range(20):
        server.get()  # the sockets stay: requests wait for the next worker
    after = until(lambda: len(server.workers()) == len(before) and server.workers())
    assert not {p for p, _, _ in before.values()} & {p for p, _, _ in after.values()}
    crashes = server.events("worker.crashed")
    assert len(crashes) == len(before)
    assert not any("plugin" in c for c in crashes), "a SIGKILL blames nobody"


def test_crashes_are_blamed_and_quarantined(server):
    for _ in range(3):
        server.provoke("/crash")
    until(lambda: server.events("plugin.quarantined"))
    crash = server.events("worker.crashed")[0]
    assert crash["plugin"] == "dock_doors" and crash["request_id"] == "req_test"
    assert "doing GET /crash" in crash["message"]
    report = pathlib.Path(re.search(r"report: (\S+)", crash["message"]).group(1)).read_text()
    assert "signal: 6 SIGABRT" in report and "plugin: dock_doors" in report and "wharf-stub+0x" in report
    until(lambda: all(state == "ready" and generation == 2 for _, state, generation in server.workers().values()))
    args = pathlib.Path(f"/proc/{server.workers()['web 0'][0]}/cmdline").read_bytes().split(b"\0")
    assert args[args.index(b"--quarantined") + 1] == b"dock_doors"
    assert "quarantined: dock_doors" in server.command("ps").stdout
    assert server.get()
    assert server.command("plugin", "release", "other").returncode != 0
    assert server.command("plugin", "release", "dock_doors").returncode == 0
    assert "quarantined" not in server.command("ps").stdout
    args = pathlib.Path(f"/proc/{server.workers()['web 0'][0]}/cmdline").read_bytes().split(b"\0")
    assert args[args.index(b"--quarantined") + 1] == b""


def test_an_unknown_crash_is_nobodys(server):
    server.provoke("/exit")
    crash = until(lambda: server.events("worker.crashed"))[0]
    assert "plugin" not in crash and "ended with code 7" in crash["message"]


def test_a_hung_worker_is_replaced(server):
    """A successor takes over before it is asked to end."""
    before = server.workers()
    with contextlib.suppress(OSError):  # the stub answers when it is told to end
        server.get("/hang")
    hung = until(lambda: server.events("worker.hung"))[0]
    assert hung["plugin"] == "dock_doors" and "far past a deadline" in hung["message"] and "GET /hang" in hung["message"]
    assert server.get()
    after = until(lambda: (now := server.workers()) and set(now) == set(before) and now != before and all(w[1] == "ready" for w in now.values()) and now)
    assert len({pid for pid, _, _ in before.values()} - {pid for pid, _, _ in after.values()}) == 1


def connections(server, n=40):
    """How many of n new connections are answered; the others are refused. None may wait."""
    answered = 0
    for _ in range(n):
        try:
            answered += bool(server.get())
        except urllib.error.URLError as e:
            assert isinstance(e.reason, ConnectionError), e
    return answered


def test_a_worker_that_cannot_start_comes_back_later(folder):
    """Its socket is not left to the connections that nobody takes, and it is tried again for ever."""
    folder.mkdir()
    mark = folder / "fail"
    s = Server(folder, "--set", "workers=2", env={"STUB_FAIL_FILE": str(mark)})
    try:
        mark.touch()
        os.kill(s.workers()["web 0"][0], signal.SIGKILL)
        until(lambda: s.events("worker.socket_closed"))
        assert connections(s) == 40, "the other worker takes all of them"
        until(lambda: len(s.events("worker.not_started")) >= 3)
        told = s.command("ps").stdout
        assert re.search(rf"^web 0 is down for \d+s \(\d+ starts failed\): the file {mark} exists; (tried again in [0-9.]+s|a new one starts now)$", told, re.M), told
        assert not s.events("worker.crashed")[1:], "a start that is refused is no crash"
        os.kill(s.workers()["web 1"][0], signal.SIGKILL)
        until(lambda: len(s.events("worker.socket_closed")) == 2)
        assert connections(s) == 0, "nobody serves: they are refused, and wait for nobody"
        mark.unlink()
        until(lambda: sorted(name for name, w in s.workers().items() if w[1] == "ready") == ["job 0", "web 0", "web 1"])
        assert connections(s) == 40 and "is down" not in s.command("ps").stdout
        assert {pid for pid, _, _ in s.workers().values()} >= {s.get()["pid"] for _ in range(10)}
    finally:
        s.end()


def test_a_worker_that_ends_with_the_code_of_a_refusal_comes_back(server):
    """A hook may call os.exit(2)."""
    before = server.workers()
    server.provoke("/refuse")
    crash = until(lambda: server.events("worker.crashed"))[0]
    assert "ended with code 2" in crash["message"]
    until(lambda: (now := server.workers()) and set(now) == set(before) and all(w[1] == "ready" for w in now.values()))
    assert connections(server) == 40


def test_a_silent_worker_is_ended(server):
    """A loop without end, or a call that does not return: what it ran meanwhile tells which."""
    silent = server.workers()["job 0"][0]
    os.kill(silent, signal.SIGSTOP)
    hung = until(lambda: server.events("worker.hung"))[0]
    assert f"pid {silent}" in hung["message"] and "gave no sign of life" in hung["message"] and "it ran for 0.0 s" in hung["message"], hung
    until(lambda: (now := server.workers().get("job 0")) and now[0] != silent and now[1] == "ready")


def test_reload(server):
    before = server.workers()
    out = server.command("reload")
    assert out.returncode == 0 and "generation 2 serves" in out.stdout
    after = server.workers()
    assert after.keys() == before.keys()
    assert all(generation == 2 for _, _, generation in after.values())
    server.process.send_signal(signal.SIGHUP)  # a terminal that closes ends `dev`
    assert server.process.wait(WAIT) == 0


def test_a_reload_that_fails_changes_nothing(folder):
    folder.mkdir()
    mark = folder / "fail"
    s = Server(folder, env={"STUB_FAIL_FILE": str(mark)})
    before = s.workers()
    mark.touch()
    out = s.command("reload")
    assert out.returncode != 0 and f"the file {mark} exists" in out.stderr
    assert s.workers() == before
    mark.unlink()
    assert s.command("reload").returncode == 0
    s.end()


def test_a_start_that_fails_says_why(folder):
    folder.mkdir()
    (folder / "fail").touch()
    out = wharf("dev", "--data", folder, "--listen", "127.0.0.1:0", "--modules", "dock_doors",
                env={**os.environ, "STUB_FAIL_FILE": str(folder / "fail")})
    assert out.returncode == 2
    assert "exists" in out.stderr
    assert not (folder / "postgres" / "postmaster.pid").exists(), "the database was stopped"


def test_requests_survive_reloads(server):
    answered = 0
    reload = subprocess.Popen([STUB, "reload", "--data", server.data], stdout=subprocess.DEVNULL)
    while reload.poll() is None:
        assert server.get()["pid"]
        answered += 1
    assert answered > 0 and reload.returncode == 0


def test_the_database_is_revived(server):
    pid = server.database_pid()
    os.kill(pid, signal.SIGKILL)
    until(lambda: server.database_pid() != pid and wharf("migrate", "--plan", "--data", server.data).returncode == 0)
    assert server.events("database.ended")


def test_after_the_supervisor_is_killed(folder):
    folder.mkdir()
    s = Server(folder)
    workers, database = s.workers(), s.database_pid()
    s.process.kill()
    s.process.wait()
    until(lambda: not any(alive(pid) for pid, _, _ in workers.values()))
    s.process.stdout.close()
    s = Server(folder)
    assert s.database_pid() != database and s.get()
    s.end()


def test_power_cut(folder):
    folder.mkdir()
    s = Server(folder)
    for pid in [s.process.pid, s.database_pid(), *(pid for pid, _, _ in s.workers().values())]:
        with contextlib.suppress(ProcessLookupError):  # it may have gone with those before it
            os.kill(pid, signal.SIGKILL)
    s.process.wait()
    s.process.stdout.close()
    s = Server(folder)
    assert s.get()
    s.end()


def test_power_cut_that_leaves_something(folder):
    """A process of the killed PostgreSQL that lives on holds its memory: the next start waits until it is gone."""
    folder.mkdir()
    s = Server(folder)
    postgres = s.database_pid()
    left = next(int(p.name) for p in pathlib.Path("/proc").glob("[0-9]*") if parent_of(p) == postgres and b"checkpointer" in (p / "cmdline").read_bytes())
    os.kill(left, signal.SIGSTOP)
    for pid in [s.process.pid, postgres, *(pid for pid, _, _ in s.workers().values())]:
        os.kill(pid, signal.SIGKILL)
    s.process.wait()
    s.process.stdout.close()
    threading.Timer(2, os.kill, (left, signal.SIGCONT)).start()
    s = Server(folder)
    assert s.get()
    s.end()


def kill_when_asked_to_end(pid):
    """It is stopped: the signal that asks it to end waits."""
    def asked():
        pending = re.search(r"^ShdPnd:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M).group(1)
        return int(pending, 16) & 1 << (signal.SIGINT - 1)
    until(asked)
    os.kill(pid, signal.SIGKILL)


def test_power_cut_unnoticed(folder):
    """PostgreSQL is killed while the next start waits for its end, and nobody takes notice of it: no reason to refuse."""
    folder.mkdir()
    s = Server(folder)
    postgres = s.database_pid()
    libc = ctypes.CDLL(None)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0  # its parent from here on: it stays a zombie
    try:
        os.kill(postgres, signal.SIGSTOP)
        os.kill(s.process.pid, signal.SIGKILL)
        s.process.wait()
        s.process.stdout.close()
        killer = threading.Thread(target=kill_when_asked_to_end, args=(postgres,))
        killer.start()
        s = Server(folder)
        killer.join()
        assert parent_of(pathlib.Path(f"/proc/{postgres}")) == os.getpid() and not alive(postgres)
        assert s.get()
        s.end()
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(postgres, os.WNOHANG)


def parent_of(proc):
    try:
        return int((proc / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def test_commands_without_a_server(folder):
    assert "no server runs" in wharf("ps", "--data", folder).stderr
    out = wharf("migrate", "--data", folder)
    assert out.returncode == 0 and "applied wharf 0001_kernel" in out.stdout, out.stderr
    assert "nothing to do" in wharf("migrate", "--data", folder).stdout
    assert wharf("nonsense").returncode == 2
    assert "no option --nonsense" in wharf("ps", "--nonsense").stderr
    assert wharf("help").returncode == 0 and "net.allow" in wharf("help", "settings").stdout
    assert re.search(r"admin\.listen.*127\.0\.0\.1:9090", wharf("help", "settings").stdout)  # metrics are for the machine alone unless somebody says else


def test_control_socket_takes_no_nonsense(server):
    fd = os.open(server.data, os.O_PATH)
    for text in (b"nonsense\n", b"x" * 400, b"\n"):
        c = socket.socket(socket.AF_UNIX)
        c.settimeout(WAIT)
        c.connect(f"/proc/self/fd/{fd}/control.sock")
        c.sendall(text)
        assert c.recv(200).startswith(b"error: unknown command")
        c.close()
    os.close(fd)
    assert ((server.data / "control.sock").stat().st_mode & 0o777) == 0o600
    assert server.get()
