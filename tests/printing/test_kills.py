"""kill -9 of the agent, of each part of the server, of PostgreSQL and of the printer at each step of the protocol, and at any moment: never two
sheets, never a job that is stuck (spec 04 section 16).

Each kill once; with --long 20 times.
"""
import os
import pathlib
import random
import shutil
import signal
import socket
import tempfile
import time

import pytest
import requests

from rig import Ippeve, free_port, wait_until
from test_agent import JOBS, Shop
from wharf import WAIT, Server

STEPS = ["claimed", "downloaded", "journaled", "told", "submitting", "created", "sent", "submitted", "final", "reported"]
OVER = ("completed", "failed", "canceled", "aborted", "unreported", "timed_out")


class Again:
    """A server that comes back at the same address with the same data."""

    def __init__(self):
        self.folder, self.address = pathlib.Path(tempfile.mkdtemp(prefix="wharf-kills-")), f"127.0.0.1:{free_port()}"
        self.start()

    def start(self):
        self.server = Server("--modules", "org,locations,stations", "--listen", self.address, folder=self.folder)

    def kill(self, what):
        if what == "supervisor":
            self.server.process.kill()
            self.server.process.wait()
            if self.server._db:
                self.server._db.close()
            self.server.log.close()
            wait_until(self.free)  # its workers end by themselves
            self.start()
        elif what == "postgres":
            self.server.kill_database()
        else:
            for pid in self.server.workers(what):
                os.kill(pid, signal.SIGKILL)
        wait_until(self.server.can_be_asked)

    def free(self):
        host, port = self.address.split(":")
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((host, int(port)))
                return True
            except OSError:
                return False

    def stop(self):
        self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def times(request):
    return 20 if request.config.getoption("--long") else 1


@pytest.fixture(scope="module")
def again():
    a = Again()
    yield a
    a.stop()


@pytest.fixture(scope="module")
def shop(again, bus):
    s = Shop(again.server, "Kills", {"P": Ippeve(bus)})
    yield s
    s.end()


@pytest.fixture(autouse=True)
def nobody_left(shop):
    yield
    if shop.agent.process and shop.agent.process.poll() is None:
        os.kill(shop.agent.process.pid, signal.SIGCONT)
    shop.agent.stop()


def stopped(process):
    return pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def sheets(shop, before):
    return len(shop.printers["P"].papers()) - before


def get(shop, job):
    """As it is now; None while nobody answers."""
    try:
        r = requests.get(f"{shop.client.server.base}{JOBS}/{job['id']}", headers={"SVC-API-KEY": shop.client.key}, timeout=WAIT)
        return r.json()["data"] if r.status_code == 200 else None
    except (requests.RequestException, ValueError):
        return None


def over(shop, job, seconds=WAIT):
    return wait_until(lambda: (lambda d: d if d and d["status"] in OVER else None)(get(shop, job)), seconds)


@pytest.mark.parametrize("step", STEPS)
def test_agent(shop, step, times):
    for _ in range(times):
        before = len(shop.printers["P"].papers())
        shop.agent.start(die=step)
        job = shop.make()
        assert shop.agent.process.wait(WAIT) == -signal.SIGKILL
        shop.agent.start()
        done = over(shop, job)
        # between job and document nobody knows but the printer, and that says: nothing came
        wanted = ("failed", 0) if step in ("created", "submitted") else ("completed", 1)
        assert (done["status"], sheets(shop, before)) == wanted, done
        shop.agent.stop()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("what", ["web", "job", "supervisor", "postgres"])
def test_server(shop, again, what, step, times):
    for _ in range(times):
        before = len(shop.printers["P"].papers())
        shop.agent.start(stop=step)
        job = shop.make()
        wait_until(lambda: stopped(shop.agent.process))
        again.kill(what)
        os.kill(shop.agent.process.pid, signal.SIGCONT)
        assert over(shop, job)["status"] == "completed" and sheets(shop, before) == 1
        shop.agent.stop()


@pytest.mark.parametrize("step", STEPS)
def test_printer(shop, step, times):
    for _ in range(times):
        printer = shop.printers["P"]
        before = len(printer.papers())
        printer.behave("sleep 0.5" if step == "sent" else "")
        shop.agent.start(stop=step)
        job = shop.make()
        wait_until(lambda: stopped(shop.agent.process))
        printer.kill()
        os.kill(shop.agent.process.pid, signal.SIGCONT)
        time.sleep(0.3)
        printer.start()
        printer.behave("")
        done = over(shop, job)
        assert sheets(shop, before) <= 1
        if step in ("claimed", "downloaded", "journaled", "told"):
            assert (done["status"], sheets(shop, before)) == ("completed", 1), (done["reason"], shop.agent.said()[-1500:])
        elif step in ("final", "reported"):
            assert done["status"] == "completed"
        else:
            assert done["status"] in ("unreported", "failed", "completed")
        shop.agent.stop()


def make(shop, name):
    """As a client does that lost the answer: asks again with the same key."""
    body, key = {"location_id": shop.location["id"], "data": "data:text/plain,storm", "name": name, "configuration": {"paper_size": "label_4x6"}}, f"storm-{name}-{time.monotonic_ns()}"

    def made():
        try:
            r = requests.post(shop.client.server.base + JOBS, json=body, headers={"SVC-API-KEY": shop.client.key, "Idempotency-Key": key}, timeout=WAIT)
            assert r.status_code in (201, 409, 500, 503, 504), r.text
            return r.json()["data"] if r.status_code == 201 else None
        except requests.RequestException:
            return None
    return wait_until(made)


def test_at_any_moment(shop, again, request):
    """Jobs come and everything dies in between, wherever it is; at most one sheet of each, and of those that are told to be printed exactly one."""
    rng, printer = random.Random(11), shop.printers["P"]
    jobs, kinds = [], ["agent", "web", "job", "postgres", "supervisor"] * (20 if request.config.getoption("--long") else 1)
    rng.shuffle(kinds)
    printer.behave("sleep 0.1")
    shop.agent.start()
    for kind in kinds:
        jobs += [make(shop, f"storm {len(jobs)}") for _ in range(3)]
        time.sleep(rng.random() * 0.6)
        if kind == "agent":
            shop.agent.kill()
            shop.agent.start()
        else:
            again.kill(kind)
    ends = [over(shop, job)["status"] for job in jobs]
    time.sleep(1)  # what the printer still has
    printer.behave("")
    names = [asked.get("IPP_JOB_NAME", "") for _, asked in printer.papers()]
    for job, end in zip(jobs, ends):
        came = sum(job["id"] in n for n in names)
        assert came <= 1 and (came == 1 or end != "completed"), (job["id"], end, came)
    assert ends.count("completed") >= len(ends) * 2 // 3, ends
    print(f"\n{len(jobs)} jobs, {len(kinds)} kills: " + ", ".join(f"{ends.count(e)} {e}" for e in sorted(set(ends))))
