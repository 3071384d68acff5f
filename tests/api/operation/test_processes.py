"""The server's processes as the rest of the machine sees them: no secret of the settings stands in their arguments,
and those that run what others wrote are of the user that the settings name."""
import base64
import contextlib
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

import pytest
import requests

from wharf import PROGRAM, WAIT, Server, make_contact, until

MODULES = "org,locations,events,webhooks,workflows"
RUN = 'return {on_run = function() return {done = true} end}'
SECRETS = {"mail.password": "Mail-Secret-31", "auth.pepper": "Pepper-Secret-32", "blob.s3.secret": "Blob-Secret-33", "hook_secrets.token": "Hook-Secret-34",
           "master_key": base64.b64encode(bytes(range(64, 96))).decode()}


def descendants(pid):
    """{pid: its arguments} of all processes that came from it, and of itself."""
    parents, found = {}, {}
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(p.name)] = int((p / "stat").read_text().rsplit(")", 1)[1].split()[1])
    for p in parents:
        up = p
        while up and up != pid:
            up = parents.get(up, 0)
        if up == pid:
            with contextlib.suppress(OSError):
                found[p] = pathlib.Path(f"/proc/{p}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return {p: line for p, line in found.items() if line}  # a zombie has none


def run_workflow(server):
    """A cell has run it."""
    client = server.organization().client()
    id = client.post("/v1/workflows", {"name": "Run", "triggers": [{"type": "manual"}], "source": RUN}, expect=201).data["id"]
    client.post(f"/v1/workflows/{id}/publish", {}, expect=200)
    assert client.post(f"/v1/workflows/{id}/run", {"input": {}}, expect=200).data["output"]["value"] == {"done": True}


def told(server):
    """All arguments of all processes, once there are workers of both kinds and cells."""
    run_workflow(server)
    lines = descendants(server.process.pid)
    text = "\n".join(lines.values())
    for part in ("--kind web", "--kind job", "wharf-cell-lua"):
        assert part in text, (part, lines)
    return text


def test_no_secret_stands_in_the_arguments_of_any_process():
    first = Server("--modules", MODULES)
    second = None
    try:
        url = first.conninfo + " password=Database-Secret-35"
        second = Server("--modules", MODULES, "--set", f"database.url={url}", "--set", f"blob.dir={first.folder}/blobs", *(a for k, v in SECRETS.items() for a in ("--set", f"{k}={v}")), "--set=mail.user=Joined-Secret-36", beside=None)
        values = [*SECRETS.values(), "Database-Secret-35", "Joined-Secret-36"]
        second.beside = first  # for its commands, which mix the same pepper into keys
        second.command = lambda *args: Server.command(second, *args, "--set", f"auth.pepper={SECRETS['auth.pepper']}")
        text = told(second)
        assert not [v for v in values if v in text], text
        # who comes after a crash, and after a reload, has the settings all the same
        before = second.workers("web")
        os.kill(before[0], signal.SIGKILL)
        until(lambda: len(second.workers("web")) == len(before) and before[0] not in second.workers("web"))
        second.command("reload")
        text = told(second)
        assert not [v for v in values if v in text], text
    finally:
        if second:
            second.end()
        first.stop()


# ---- the user of workers and cells ----

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
USER = "nobody"


def enters(name, file):
    """Whether a user may run a file, from the outermost folder down."""
    user = pwd.getpwnam(name)
    return subprocess.run(["test", "-x", file], user=user.pw_uid, group=user.pw_gid, extra_groups=os.getgrouplist(name, user.pw_gid)).returncode == 0


@contextlib.contextmanager
def program_for(name, program=PROGRAM):
    """The server as a program that this user may run: a checkout that stands in somebody's own folder is not the user's to enter, so the build is copied
    out of it, as an installation would have it."""
    if enters(name, program):
        yield program
        return
    place = pathlib.Path(tempfile.mkdtemp(prefix="wharf-built-", dir=os.environ.get("WHARF_TEST_PLACE")))
    try:
        place.chmod(0o755)
        for file in (program, *(program.parents[1] / "modules").glob("*.so"), *(program.parents[1] / "cells").glob("wharf-cell-*")):
            if file.is_file():
                (place / file.parent.name).mkdir(exist_ok=True)
                shutil.copy(file, place / file.parent.name / file.name)
        assert enters(name, place / program.parent.name / program.name), f"{name} can't enter {place}: let WHARF_TEST_PLACE name a folder that everybody may"
        yield place / program.parent.name / program.name
    finally:
        shutil.rmtree(place, ignore_errors=True)


def who(pid):
    """(user, group, sorted groups): each of the four ids of a process is the same."""
    lines = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    uids, gids = ([int(n) for n in lines[name].split()] for name in ("Uid", "Gid"))
    assert len(set(uids)) == len(set(gids)) == 1, (uids, gids)
    return uids[0], gids[0], tuple(sorted(int(n) for n in lines["Groups"].split()))


def all_are(server, name):
    """Every process of ours but the supervisor is of that user, with the user's groups and no others."""
    run_workflow(server)
    user = pwd.getpwnam(name)
    expected = (user.pw_uid, user.pw_gid, tuple(sorted(os.getgrouplist(name, user.pw_gid))))
    ours = {pid: line for pid, line in descendants(server.process.pid).items() if pid != server.process.pid and ("_worker" in line or "wharf-cell" in line)}
    text = "\n".join(ours.values())
    for part in ("--kind web", "--kind job", "wharf-cell-lua"):
        assert part in text, ours
    assert {who(pid) for pid in ours} == {expected}, {pid: (who(pid), line) for pid, line in ours.items()}
    return set(server.workers("web"))


def log_events(server, name="wharf.log"):
    return [json.loads(line)["event"] for line in (server.folder / name).read_text().splitlines() if line.startswith("{")]


@ROOT
@pytest.mark.parametrize("name", [USER, "postgres"])
def test_workers_and_cells_are_of_the_user(name):
    with program_for(name) as program:
        workers_and_cells(name, program)


@ROOT
def test_a_checkout_that_nobody_may_enter(tmp_path):
    """The tests of users run there too: from a copy."""
    shut = tmp_path / "shut"
    (shut / "build" / "tool").mkdir(parents=True)
    shut.chmod(0o700)
    for folder in ("modules", "cells"):
        (shut / "build" / folder).symlink_to(PROGRAM.parents[1] / folder)
    shutil.copy(PROGRAM, shut / "build" / "tool" / "wharf")
    assert not enters(USER, shut / "build" / "tool" / "wharf")
    with program_for(USER, shut / "build" / "tool" / "wharf") as program:
        server = Server("--modules", MODULES, "--set", f"user={USER}", program=program)
        try:
            all_are(server, USER)
        finally:
            server.stop()


def workers_and_cells(name, program):
    server = Server("--modules", MODULES, "--set", f"user={name}", program=program)
    try:
        before = all_are(server, name)
        assert who(server.process.pid)[0] == 0 and "server.root" not in log_events(server)
        # who comes after a crash
        dead = next(iter(before))
        os.kill(dead, signal.SIGABRT)  # a sanitizer reports a SIGSEGV as a fault of the program
        until(lambda: len(server.workers("web")) == len(before) and dead not in server.workers("web"))
        until(lambda: list((server.folder / "crash").glob(f"crash-*-{dead}.txt")))
        after = all_are(server, name)
        # and after a reload, which opens the logs anew
        for log in ("wharf.log", "access.log"):
            (server.folder / log).rename(server.folder / f"{log}.1")
        server.command("reload")
        until(lambda: not after & set(server.workers("web")))
        all_are(server, name)
        client = server.organization().client()
        client.get("/v1/workflows", expect=200)
        until(lambda: "/v1/workflows" in (server.folder / "access.log").read_text())
        until(lambda: any('"program":"web' in line for line in (server.folder / "wharf.log").read_text().splitlines()) or "server.reloaded" in log_events(server))
        assert "log.not_opened" not in log_events(server) + log_events(server, "wharf.log.1")
        # nobody but root puts another file in the place of the supervisor's
        user = pwd.getpwnam(name)
        for file in ("lock", "control.sock", "wharf.log"):
            done = subprocess.run(["mv", server.folder / file, server.folder / "stolen"], user=user.pw_uid, group=user.pw_gid, extra_groups=[], capture_output=True)
            assert done.returncode and (server.folder / file).exists(), file
    finally:
        server.stop()


@ROOT
def test_a_folder_of_root_is_given_to_the_user():
    """A server that ran as root before goes on with its files as the user."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-user-", dir=os.environ.get("WHARF_TEST_PLACE")))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        program = stack.enter_context(program_for(USER))
        Server("--modules", MODULES, folder=folder, program=program).end()
        events = [json.loads(line)["event"] for line in (folder / "wharf.log").read_text().splitlines()]
        assert events.count("server.root") == 1
        server = Server("--modules", MODULES, "--set", f"user={USER}", folder=folder, program=program)
        try:
            all_are(server, USER)
            assert (folder / "blobs").stat().st_uid == (folder / "master.key").stat().st_uid == pwd.getpwnam(USER).pw_uid
            assert requests.get(server.base + "/readyz", timeout=WAIT).status_code == 200
        finally:
            server.stop()


@ROOT
def test_a_user_that_is_not_there():
    for command in ("check", "serve"):
        done = subprocess.run([PROGRAM, command, "--data", "/nonexistent/wharf" if command == "check" else tempfile.mkdtemp(), "--set", "user=wharf-nobody-has-this", "--set", "modules=org", "--set", "listen=127.0.0.1:0", "--set", "admin.listen="], capture_output=True, text=True, timeout=WAIT)
        assert done.returncode == 1 and 'there is no user "wharf-nobody-has-this"' in done.stderr, done.stderr


def test_requests_one_after_another_take_few_connections():
    """The thread that worked last gets the next request: its connection knows the statements, and others need not be made."""
    server = Server("--modules", "org,locations,contacts", "--set", "workers=1", "--set", "database.pool=8")
    try:
        client = server.organization().client()
        before = server.sql("SELECT clock_timestamp()")[0][0]
        for i in range(40):
            make_contact(client, f"Jane {i}")
        made = server.sql("SELECT count(*) FROM pg_stat_activity WHERE datname = 'wharf' AND pid <> pg_backend_pid() AND backend_start > %s", before)[0][0]
        assert 1 <= made <= 4, server.sql("SELECT application_name, backend_start, left(query, 60) FROM pg_stat_activity WHERE datname = 'wharf'")
    finally:
        server.end()
