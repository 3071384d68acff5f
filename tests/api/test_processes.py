"""The server's processes as the rest of the machine sees them: no secret of the settings stands in their arguments."""
import base64
import contextlib
import os
import pathlib
import signal
import time

from wharf import Server

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


def wait_for(what):
    end = time.monotonic() + 60
    while not (got := what()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return got


def run_workflow(server):
    """A cell has run it."""
    client = server.organization().client()
    id = client.post("/v1/workflows", {"name": "Run", "triggers": [{"type": "manual"}], "source": RUN}, expect=201).data["id"]
    client.post(f"/v1/workflows/{id}/publish", {}, expect=200)
    assert client.post(f"/v1/workflows/{id}/run", {"input": {}}, expect=200).data["output"] == {"done": True}


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
        second = Server("--modules", MODULES, "--set", f"database.url={url}", *(a for k, v in SECRETS.items() for a in ("--set", f"{k}={v}")), "--set=mail.user=Joined-Secret-36", beside=None)
        values = [*SECRETS.values(), "Database-Secret-35", "Joined-Secret-36"]
        second.beside = first  # for its commands
        text = told(second)
        assert not [v for v in values if v in text], text
        # who comes after a crash, and after a reload, has the settings all the same
        before = second.workers("web")
        os.kill(before[0], signal.SIGKILL)
        wait_for(lambda: len(second.workers("web")) == len(before) and before[0] not in second.workers("web"))
        second.command("reload")
        text = told(second)
        assert not [v for v in values if v in text], text
    finally:
        if second:
            second.end()
        first.stop()
