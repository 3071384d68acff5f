"""What the operator says of workflows (settings of the table workflows), shares of the processor, log lines of runs in the change log (spec 08 sections 6 and 7)."""
import base64
import contextlib
import pathlib
import time

import pytest

from receivers import until
from test_workflow_events import FLOWS, flow, over, runs
from test_workflow_runs import asked
from wharf import WAIT, Client, Server, group_niceness, make_location, niceness

BUSY = "local s = ('x'):rep(100000) for i = 1, 300 do s:find('[y]') end return 1"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,events,webhooks,workflows,logs", "--set", "workflows.cpu_share=1", "--set", "workflows.cells=2", "--set", "workflows.cells_max=3",
               "--set", "workflows.public_per_minute=7", "--test-clock")
    yield s
    s.stop()


@pytest.fixture
def org(server):
    return server.organization()


@pytest.fixture
def mine(org):
    return org.client()


def manual(client, body, name="Manual", **more):
    row = client.post(FLOWS, {"name": name, "source": f"return {{on_run = function(input, ctx)\n{body}\nend}}", "triggers": [{"type": "manual"}], **more}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    return row["id"]


def public(client, body, name="Public", auth="none", methods=("POST",)):
    row = client.post(FLOWS, {"name": name, "source": f"return {{on_http = function(request, ctx)\n{body}\nend}}",
                              "triggers": [{"type": "http", "path": "x", "auth": auth, "methods": list(methods)}]}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    return f"{client.server.base}{FLOWS}/{row['id']}/http/x"


# ---- the share ----

def test_a_share_of_the_processor(server, org, mine):
    """Some such runs are the share of a minute: then callers are told to wait, queued runs wait, and nobody else does. Writes go on."""
    busy = manual(mine, BUSY, "busy")
    queued = flow(mine, "return 1", "queued")
    rule = mine.post(FLOWS, {"name": "rule", "source": "return {before = function(change) end}",
                             "triggers": [{"type": "hook", "resource": "location", "action": "create", "phase": "before"}]}, expect=201).data["id"]
    mine.post(f"{FLOWS}/{rule}/publish", {}, expect=200)
    end, r = time.monotonic() + WAIT, None
    while (r is None or r.status != 429) and time.monotonic() < end:
        r = mine.request("POST", f"{FLOWS}/{busy}/run", {})
        assert r.status in (200, 429, 503), r
    assert r.status == 429 and r.code == "workflow.quota" and int(r.headers["Retry-After"]) >= 1
    make_location(mine)  # with a rule of its own
    until(lambda: [x["status"] for x in runs(mine, queued)] == ["queued"])
    other = server.organization().client()
    assert asked(other, manual(other, "return 5"), {}).data["output"]["value"] == 5
    system = Client(server, server.demo_key)
    offset = iter(range(31, 100000, 31))

    def done():  # the sweep, which comes each 30 s, asks for what waits
        system.post("/v1/system/clock", {"offset_seconds": next(offset)}, expect=200)
        time.sleep(0.3)
        return runs(mine, queued)[0]["status"] == "succeeded"
    until(done)


# ---- settings ----

def test_how_many_processes(server, mine):
    assert asked(mine, manual(mine, "return 1"), {}).data["status"] == "succeeded"
    until(lambda: all(n == 0 or 2 <= n <= 3 for n in cells(server)) and any(cells(server)))


def is_cell(pid):
    with contextlib.suppress(FileNotFoundError):
        return b"wharf-cell-lua" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def cells(server):
    """Processes of the lua kind, by worker; the keeper of a pool is a thread of the worker."""
    workers = [*server.workers("web"), *server.workers("job")]
    return [sum(is_cell(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()) for pid in workers]


@pytest.mark.parametrize("setting", ["cells=0", "cells_max=257", "cpu_share=-1", "public_per_minute=0", "public_per_minute=many", "sells=3"])
def test_settings_that_can_not_be(setting):
    with pytest.raises(Exception, match="workflows"):
        Server("--modules", "org,workflows", "--set", f"workflows.{setting}").stop()


def test_public_callers(server, mine):
    others = ["GET", "PUT", "PATCH", "DELETE"]
    url = public(mine, "return {ok = true}", methods=["POST", *others])
    codes = [mine.http.post(url, timeout=WAIT).status_code for _ in range(12)]
    assert codes[:7] == [200] * 7, codes

    def refused(method):  # a slow machine earns the next call meanwhile
        until(lambda: mine.http.post(url, timeout=WAIT).status_code == 429)
        r = mine.request(method, url.removeprefix(server.base), key=False)
        return r if r.status != 200 else None
    for method in others:  # none of them is another door
        r = until(lambda: refused(method))
        assert (r.status, r.code) == (429, "rate_limited") and int(r.headers["Retry-After"]) >= 1, (method, r)


# ---- answers of bytes ----

def post(client, url, data=None):
    """Asked again while no process is free for the run."""
    while (r := client.http.post(url, data=data, headers={"SVC-API-KEY": client.key}, timeout=WAIT)).status_code == 503:
        time.sleep(0.05)
    return r


def test_answers_of_bytes(mine):
    data = bytes(range(256)) * 20
    url = public(mine, f"return {{status = 201, body_base64 = '{base64.b64encode(data).decode()}', headers = {{['content-type'] = 'image/png'}}}}", auth="key")
    r = post(mine, url)
    assert r.status_code == 201 and r.content == data and r.headers["Content-Type"] == "image/png" and "sandbox" in r.headers["Content-Security-Policy"]
    url = public(mine, "return {status = 200, body_base64 = wharf.base64.encode(wharf.base64.decode(request.body_base64))}", "echo", auth="key")
    r = post(mine, url, b"\xff\x00\xfe")
    assert r.content == b"\xff\x00\xfe" and r.headers["Content-Type"] == "application/octet-stream"
    for i, answer in enumerate(("body_base64 = 'a'", "body_base64 = 'a*=='", "body_base64 = 5", "body_base64 = 'YQ==', body = 'a'", "body_base64 = 'YQ=a'", "body_base64 = '===='")):
        r = post(mine, public(mine, f"return {{status = 200, {answer}}}", f"bad{i}", auth="key"))
        assert r.status_code == 400 and "body_base64" in r.text, (answer, r.text)


# ---- lines ----

def lines(client, id, n):
    return until(lambda: len(found := client.get(f"/v1/logs?resource_id={id}&action=comment&limit=100").data[::-1]) >= n and found)


def test_lines_in_the_change_log(org, mine):
    place = make_location(mine)["id"]
    id = manual(mine, "wharf.log.info('first', {n = 1})\nfor i = 1, 20 do wharf.log.warn('line ' .. i) end\nprint('last')", "My Flow")
    run = asked(mine, id, {"location_id": place}).data["id"]
    found = lines(mine, run, 22)
    assert [r["message"] for r in found] == ["my-flow/main.lua:2: first {\"n\":1}", *[f"warn: my-flow/main.lua:3: line {i}" for i in range(1, 21)], "my-flow/main.lua:4: last"]
    assert {(r["resource"], r["resource_id"], r["parent_id"], r["location_id"], r["action"]) for r in found} == {("workflow_run", run, id, place, "comment")}
    assert {(r["actor"]["type"], r["actor"]["id"], r["actor"]["name"]) for r in found} == {("workflow", id, "My Flow")}
    assert [r["id"] for r in lines(mine, id, 22) if r["resource"] == "workflow_run"] == [r["id"] for r in found]
    until(lambda: mine.get("/v1/logs/verify").data["valid"])


def test_lines_of_queued_runs_and_of_rules(mine):
    id = flow(mine, "wharf.log.error('seen ' .. ev.data.name) if ev.data.name == 'B' then error('broken') end", "q", retry={"max": 0}, record={"runs": "errors"})
    for name in "AB":
        make_location(mine, name)
    assert sorted(r["message"] for r in lines(mine, id, 2) if r["resource"] == "workflow_run") == ["error: q/main.lua:2: seen A", "error: q/main.lua:2: seen B"]
    rule = mine.post(FLOWS, {"name": "rule", "source": "return {before = function(c) wharf.log.info('looked') wharf.reject('no', 'no') end}",
                             "triggers": [{"type": "hook", "resource": "location", "action": "create", "phase": "before"}]}, expect=201).data["id"]
    mine.post(f"{FLOWS}/{rule}/publish", {}, expect=200)
    mine.refused("POST", "/v1/locations", 400, "workflow.rejected", body={"name": "x", "address": {"line1": "1", "city": "B", "postal_code": "1", "country_code": "DE"}})
    run = runs(mine, rule)[0]["id"]
    assert [r["message"] for r in lines(mine, run, 1)] == ["rule/main.lua:1: looked"]


def test_secrets_in_lines(mine):
    row = mine.post(FLOWS, {"name": "s", "source": "return {on_run = function() wharf.log.info('key ' .. wharf.secret('KEY'), {k = wharf.secret('KEY')}) end}", "triggers": [{"type": "manual"}]},
                    expect=201).data
    mine.post(f"{FLOWS}/{row['id']}/secrets", {"key": "KEY", "value": "hush-hush"}, expect=201)
    mine.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    run = asked(mine, row["id"], {}).data["id"]
    assert lines(mine, run, 1)[0]["message"] == 's/main.lua:1: key [secret:KEY] {"k":"[secret:KEY]"}'


def test_cells_that_nobody_waits_for_step_back(server, mine):
    """Code that computes for ever takes a tenth of a processor from those who read meanwhile."""
    manual_id, queued = manual(mine, "return 1", "waited for"), flow(mine, "return 1", "queued")
    until(lambda: mine.request("POST", f"{FLOWS}/{manual_id}/run", {}).status == 200)
    make_location(mine, "Starts one")
    over(mine, queued)
    back, cells = {}, {}
    for kind in ("web", "job"):
        for worker in server.workers(kind):
            for cell in " ".join(p.read_text() for p in pathlib.Path(f"/proc/{worker}/task").glob("*/children")).split():
                if "cell-lua" in pathlib.Path(f"/proc/{cell}/cmdline").read_text():
                    back.setdefault(kind, set()).add(niceness(cell) - niceness(worker))
                    cells.setdefault(kind, []).append(cell)
    if group_niceness(cells["job"][0]) is not None:  # who is not root is let one in a tenth of a second
        until(lambda: {group_niceness(c) for c in cells["job"]} == {10})
        assert {group_niceness(c) for c in cells["web"]} == {0}
    assert back == {"web": {0}, "job": {min(10, 19 - niceness(server.workers("job")[0]))}}
