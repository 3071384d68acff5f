"""Whoever ends a worker in the middle of work is told by name and left out when it does so often (docs/guide/operation.md 'Workers that crash')."""
import contextlib
import threading

import pytest
import requests

from test_operation import ready, until, value
from test_workers import MODULES, log_lines, metrics, running
from wharf import WAIT, address


def ask(server, client, path, body=None):
    with contextlib.suppress(requests.RequestException):
        requests.post(server.base + path, json=body or {}, headers={"SVC-API-KEY": client.key}, timeout=WAIT)


WAYS = {
    **{name: (f"/v1/faults/{name}/now", None, "web", f"exit code: 3 {name}") for name in ("_exit", "_Exit", "exit", "quick_exit")},
    "rule": ("/v1/locations", {"name": "Exit", "address": address()}, "web", "exit code: 3 _exit"),
    "job": ("/v1/faults/ask/now", {"job": "ends"}, "job", "exit code: 3 _exit"),
}


@contextlib.contextmanager
def others_at_work(server, client):
    """Requests of others all the while, so that more than one thread of a worker is busy when it ends."""
    stop = threading.Event()

    def go():
        while not stop.is_set():
            with contextlib.suppress(requests.RequestException):
                requests.get(server.base + "/v1/locations", headers={"SVC-API-KEY": client.key}, timeout=WAIT)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for t in threads:
        t.start()
    try:
        yield
    finally:
        stop.set()
        for t in threads:
            t.join(WAIT)


@pytest.mark.parametrize("way", WAYS)
def test_the_end_of_a_process_names_the_plugin(way):
    path, body, kind, told = WAYS[way]
    with running("--modules", MODULES, "--set", "crash.limit=2", "--set", "crash.window=600") as (server, _):
        client = server.organization().client()
        with others_at_work(server, client):
            for n in (1, 2):
                ask(server, client, path, body)
                until(lambda: len(log_lines(server.folder, "worker.crashed")) >= n)
            until(lambda: "quarantined: faulty" in server.command("ps"))
        crashed = log_lines(server.folder, "worker.crashed")
        wrong = [line for line in crashed if line.get("plugin") != "faulty" or kind not in line["message"] or "ended with code 3" not in line["message"]]
        assert not wrong, "\n".join(map(str, crashed))
        reports = [f.read_text() for f in (server.folder / "crash").glob("*.txt")]
        assert len(reports) == len(crashed) and all(told in r and "plugin: faulty\n" in r and "faulty.so+0x" in r for r in reports), reports
        until(lambda: ready(client))


@pytest.mark.parametrize("job", ["ends", "segfaults"])
def test_threads_that_end_the_process_at_once_leave_one_whole_report(job):
    with running("--modules", MODULES, "--set", "crash.limit=100", "--set", "crash.window=600") as (server, _):
        client = server.organization().client()
        for _ in range(12):  # some are in the queue when the worker comes back, and begin together
            ask(server, client, "/v1/faults/ask/now", {"job": job})
        until(lambda: len(log_lines(server.folder, "worker.crashed")) >= 7)
        crashed = log_lines(server.folder, "worker.crashed")
        assert all(line.get("plugin") == "faulty" for line in crashed), "\n".join(map(str, crashed))


@pytest.mark.parametrize("where", ["handler", "job"])
def test_who_takes_all_memory_is_named(where):
    with running("--modules", MODULES, "--set", f"memory.limit={400 << 20}", "--set", "crash.limit=2", "--set", "crash.window=600") as (server, _):
        client = server.organization().client()
        path, body = ("/v1/faults/fill/now", None) if where == "handler" else ("/v1/faults/ask/now", {"job": "fills"})
        for n in (1, 2):
            if n == 1 or where == "handler":  # a job is run again by itself
                threading.Thread(target=ask, args=(server, client, path, body), daemon=True).start()
            until(lambda: len(log_lines(server.folder, "worker.crashed")) >= n)
        until(lambda: "quarantined: faulty" in server.command("ps"))
        crashed = log_lines(server.folder, "worker.crashed")
        assert all(line.get("plugin") == "faulty" for line in crashed), crashed
        assert any("memory.limit" in line["message"] for line in crashed), "\n".join(map(str, crashed))
        until(lambda: ready(client))
        assert value(metrics(server), "wharf_worker_crashes_total") >= 2
