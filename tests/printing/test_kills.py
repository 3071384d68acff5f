"""kill -9 of the agent, the server and the printer at each step of the protocol: never two sheets, never a job that is stuck (spec 04 section 16).

Each kill once; with --long 20 times.
"""
import os
import pathlib
import signal
import time

import pytest

from rig import Ippeve, wait_until
from test_agent import Shop, server  # noqa: F401 (a fixture)

STEPS = ["claimed", "downloaded", "journaled", "told", "submitting", "created", "sent", "final", "reported"]


@pytest.fixture
def times(request):
    return 20 if request.config.getoption("--long") else 1


@pytest.fixture(scope="module")
def shop(server, bus):  # noqa: F811
    s = Shop(server, "Kills", {"P": Ippeve(bus)})
    yield s
    s.end()


@pytest.fixture(autouse=True)
def nobody_left(shop):
    yield
    shop.agent.stop()


def stopped(process):
    return pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def sheets(shop, before):
    return len(shop.printers["P"].papers()) - before


@pytest.mark.parametrize("step", STEPS)
def test_agent(shop, step, times):
    for _ in range(times):
        before = len(shop.printers["P"].papers())
        shop.agent.start(die=step)
        job = shop.make()
        assert shop.agent.process.wait(30) == -signal.SIGKILL
        shop.agent.start()
        done = shop.over(job, 60)
        # between job and document nobody knows but the printer, and that says: nothing came
        wanted = ("failed", 0) if step == "created" else ("completed", 1)
        assert (done["status"], sheets(shop, before)) == wanted, done
        shop.agent.stop()


@pytest.mark.parametrize("step", STEPS)
def test_server(shop, server, step, times):  # noqa: F811
    for _ in range(times):
        before = len(shop.printers["P"].papers())
        shop.agent.start(stop=step)
        job = shop.make()
        wait_until(lambda: stopped(shop.agent.process), 30)
        for pid in server.workers("web"):
            os.kill(pid, signal.SIGKILL)
        os.kill(shop.agent.process.pid, signal.SIGCONT)
        wait_until(server.can_be_asked, 30)
        assert shop.over(job, 60)["status"] == "completed" and sheets(shop, before) == 1
        shop.agent.stop()


@pytest.mark.parametrize("step", STEPS)
def test_printer(shop, step, times):
    for _ in range(times):
        printer = shop.printers["P"]
        before = len(printer.papers())
        printer.behave("sleep 0.5" if step == "sent" else "")
        shop.agent.start(stop=step)
        job = shop.make()
        wait_until(lambda: stopped(shop.agent.process), 30)
        printer.kill()
        os.kill(shop.agent.process.pid, signal.SIGCONT)
        time.sleep(0.3)
        printer.start()
        printer.behave("")
        done = shop.over(job, 90)
        assert sheets(shop, before) <= 1
        if step in ("claimed", "downloaded", "journaled", "told"):
            assert done["status"] == "completed" and sheets(shop, before) == 1
        elif step in ("final", "reported"):
            assert done["status"] == "completed"
        else:
            assert done["status"] in ("unreported", "failed", "completed")
        shop.agent.stop()
