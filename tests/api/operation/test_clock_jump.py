"""The clock of the database is set while the server serves: what an operator sees, and what goes on (docs/guide/operation.md 'The clock')."""
import datetime
import os
import pathlib
import re
import struct
import tempfile

import pytest
import requests

from test_operation import until, value
from test_workers import log_lines
from wharf import BUILD, SANITIZED, WAIT, Server, make_location

pytestmark = pytest.mark.skipif(SANITIZED, reason="the sanitizer wants to be the first library that is loaded")


@pytest.fixture
def clock():
    """A server, and a function that sets the clock of its database ahead by so many seconds."""
    file = pathlib.Path(tempfile.mkdtemp(prefix="wharf-clock-", dir=os.environ.get("WHARF_TEST_PLACE"))) / "ahead"
    file.write_bytes(struct.pack("q", 0))
    file.parent.chmod(0o755)
    s = Server("--modules", "org,locations,events,logs,webhooks,workflows", env={"LD_PRELOAD": str(BUILD / "tests" / "another_clock.preload"), "ANOTHER_CLOCK": str(file)})

    def jump(ahead):
        with file.open("r+b") as f:
            f.write(struct.pack("q", ahead))
        s.sql("NOTIFY wharf_clock")  # else it is looked at once a minute
    try:
        yield s, jump
    finally:
        s.stop()


def test_a_clock_that_is_set(clock):
    server, jump = clock
    client = server.organization().client()
    soon = client.post("/v1/api-keys", {"scopes": ["locations:read"], "expires_at": int(datetime.datetime.now().timestamp()) + 3600}, expect=201).data["api_key"]
    source = "return {on_schedule = function(tick) return tick.scheduled_at end}"
    id = client.post("/v1/workflows", {"name": "Hourly", "source": source, "triggers": [{"type": "schedule", "cron": "0 * * * *"}]}, expect=201).data["id"]
    client.post(f"/v1/workflows/{id}/publish", {}, expect=200)

    def at(text):
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()

    def status(key):
        return requests.get(server.base + "/v1/locations", headers={"SVC-API-KEY": key}, timeout=WAIT).status_code

    def metric():
        return value(requests.get(server.admin + "/metrics", timeout=WAIT).text, "wharf_clock_difference_seconds")

    def planned():
        return at(client.get(f"/v1/workflows/{id}").data["next_run_at"]) - datetime.datetime.now().timestamp()
    assert abs(metric()) < 5 and status(soon) == 200 and 0 < planned() <= 3601
    for n, (ahead, told, amount) in enumerate(((7200, "forward", 7200), (-3600, "back", 10800))):
        jump(ahead)
        line = until(lambda: (lines := log_lines(server.folder, "clock.jumped")) and len(lines) == n + 1 and lines[-1])  # noqa: B023
        found = re.match(rf"the clock of the database was set {told} by (\d+) s", line["message"])
        assert line["level"] == "warn" and found and abs(int(found[1]) - amount) <= 2, line
        assert abs(metric() + ahead) < 5
        assert requests.get(server.base + "/readyz", timeout=WAIT).status_code == 200
        until(lambda: status(soon) == (401 if ahead > 0 else 200))  # noqa: B023
        made = until(lambda: (m := make_location(client, name=f"Made {ahead}")) and abs(at(m["created_at"]) - datetime.datetime.now().timestamp() - ahead) < 5 and m)  # noqa: B023
        until(lambda: any(e["resource_id"] == made["id"] for e in client.get("/v1/events").data))  # noqa: B023
        client.post(f"/v1/locations/{made['id']}", {"name": "Again"}, expect=200)
        until(lambda: ahead - 5 < planned() <= ahead + 3605)  # noqa: B023
    assert len(log_lines(server.folder, "clock.jumped")) == 2 and not log_lines(server.folder, "worker.crashed")
