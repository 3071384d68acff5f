"""Triggers of type hook (spec 08 section 3): before a change is written, and after it."""
import re
import time

import pytest
import requests

from test_workflow_events import over, runs
from wharf import MODULES, WAIT, Client, Server, make_location, soon

FLOWS = "/v1/workflows"
BEFORE = {"type": "hook", "resource": "location", "action": "create", "phase": "before"}
ADDRESS = "1 Main St, Springfield, IL 62701, US"


def anew(client):
    """The same with a new key: one that no process has read yet, so that it has the hooks of this moment."""
    key = client.post("/v1/api-keys", {"name": "anew", "scopes": client.get("/v1/auth").data["scopes"]}, expect=201).data["api_key"]
    return Client(client.server, key)


def hook(client, body, *triggers, name="Hook", expect=200, **more):
    """Publishes the body of before(change, ctx) or after(change, ctx)."""
    triggers = list(triggers) or [BEFORE]
    source = "local M = {}\n" + "".join(f"function M.{p}(change, ctx)\n{body}\nend\n" for p in {t["phase"] for t in triggers}) + "return M"
    row = client.post(FLOWS, {"name": name, "source": source, "triggers": triggers, **more}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=expect)
    return row["id"]


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES)
    yield s
    s.stop()


@pytest.fixture
def mine(fresh):
    return fresh.client()


@pytest.mark.parametrize("trigger, word", [
    ({"resource": "nothing", "action": "create", "phase": "before"}, "can have hooks"), ({"resource": "workflow", "action": "update", "phase": "before"}, "can have hooks"),
    ({"resource": "api_key", "action": "create", "phase": "after"}, "can have hooks"), ({"resource": "location", "action": "merge", "phase": "before"}, "on location:merge; there are on create, update, delete"),
    ({"resource": "location", "action": "create"}, "phase is"), ({"resource": "location", "action": "create", "phase": "while"}, "phase is"),
    ({"phase": "before"}, "can have hooks"), ({"resource": "location", "action": "create", "phase": "before", "path": "x"}, "path")])
def test_triggers_that_can_not_be(client, trigger, word):
    r = client.refused("POST", FLOWS, 400, "workflow.trigger_invalid", ["triggers.0"], body={"name": "Bad", "source": "return {}", "triggers": [{"type": "hook", **trigger}]})
    assert word in r.message


def test_who_may_publish_one(org, client):
    """Who has changes refused may make them himself; who is told of them may read them."""
    writer, reader = org.client("workflow:write,locations:write"), org.client("workflow:write,locations:read")
    row = client.post(FLOWS, {"name": "Rights", "source": "return {before = print, after = print}", "triggers": [BEFORE]}, expect=201).data
    path = f"{FLOWS}/{row['id']}/publish"
    r = reader.refused("POST", path, 403, "scope_access", body={})
    assert r.errors == ["locations:write"]
    writer.post(path, {}, expect=200)
    client.post(f"{FLOWS}/{row['id']}", {"triggers": [{**BEFORE, "phase": "after"}]}, expect=200)
    r = org.client("workflow:write").refused("POST", path, 403, "scope_access", body={})
    assert r.errors == ["locations:read"]
    reader.post(path, {}, expect=200)
    r = client.refused("POST", FLOWS + "/check", 400, "workflow.trigger_invalid", body={"source": "return {after = print}", "triggers": [BEFORE]})
    assert "before" in r.message
    client.delete(f"{FLOWS}/{row['id']}")


def test_what_is_written_is_what_it_leaves(mine, org):
    hook(mine, """if change.action == 'delete' then wharf.reject('kept', 'it stays') end
if change.input.name == 'No' then wharf.reject('naming', 'not this name', 'name') end
if change.input.name == 'Bad' then change.input.name = 5 return end
change.input.metadata = {seen = change.action .. ' ' .. change.resource, new = change.new.name, old = change.old and change.old.name or 'none', by = ctx.run.trigger.phase}
return 'nobody sees this'""", BEFORE, {**BEFORE, "action": "update"}, {**BEFORE, "action": "delete"})
    client = anew(mine)
    row = make_location(client, "One")
    assert row["metadata"] == {"seen": "create location", "new": "One", "old": "none", "by": "before"}
    row = client.post(f"/v1/locations/{row['id']}", {"name": "Two"}, expect=200).data
    assert row["metadata"] == {"seen": "update location", "new": "Two", "old": "One", "by": "before"} and row["name"] == "Two"
    r = client.refused("POST", "/v1/locations", 400, "workflow.rejected", ["name", "custom.naming"], body={"name": "No", "address": ADDRESS})
    assert r.message == "not this name"
    client.refused("POST", "/v1/locations", 400, "validation.failed", ["name"], body={"name": "Bad", "address": ADDRESS})
    r = client.refused("DELETE", f"/v1/locations/{row['id']}", 400, "workflow.rejected", ["custom.kept"])
    assert client.get("/v1/locations?search=No").data == []
    make_location(org.client(), "No")  # nobody else has this rule


def test_how_long_writes_are_held(server, mine):
    """GET /metrics counts each call by how it ended."""
    def told():
        text = requests.get(server.admin + "/metrics", timeout=WAIT).text
        found = {(of, result): float(n) for of, result, n in re.findall(r'^wharf_workflows_hook_duration_seconds_(count|sum){result="(\w+)"} (\S+)$', text, re.M)}
        return [found.get((of, result), 0) for of in ("count", "sum") for result in ("passed", "rejected", "failed")]
    hook(mine, "if change.input.name == 'No' then wharf.reject('no', 'No') end if change.input.name == 'Bad' then error('bad') end if change.input.name == 'Odd' then change.input = 5 end "
         "if change.input.name == 'Slow' then for i = 1, 100000 do end end")
    client, before = anew(mine), told()
    make_location(client, "Fine")
    make_location(client, "Slow")
    client.refused("POST", "/v1/locations", 400, "workflow.rejected", body={"name": "No", "address": ADDRESS})
    for name in ("Bad", "Odd", "Bad"):
        client.refused("POST", "/v1/locations", 400, "workflow.hook_failed", body={"name": name, "address": ADDRESS})
    *counts, passed, rejected, failed = [a - b for a, b in zip(told(), before)]
    assert counts == [2, 1, 3] and 0 < passed < 5 and 0 < rejected < 5 and 0 < failed < 5


def test_one_after_the_other(mine):
    """Lower priority first; each sees what the one before made of it."""
    for name, priority in (("b", 5), ("c", None), ("a", -5)):
        hook(mine, f"change.input.name = change.input.name .. '{name}' if change.new.name ~= change.input.name:sub(1, -2) then error(change.new.name) end",
             name=name, **({} if priority is None else {"priority": priority}))
    assert make_location(anew(mine), "x")["name"] == "xacb"
    mine.refused("POST", FLOWS, 400, "validation.failed", ["priority", "on_error"], body={"name": "x", "source": "x", "priority": 1001, "on_error": "retry"})


def test_changes_one_after_the_other(mine):
    """The state of an update's run is made while its row is read: each run is one of its own all the same, also behind changes that never came to it."""
    update, place = {**BEFORE, "action": "update"}, make_location(mine, "N0")["id"]
    tell = "if not change.input then return end seen = (seen or 0) + 1; local m = change.input.metadata or {}; m.NAME = ctx.run.id .. ' ' .. seen .. ' ' .. math.random(1 << 50) .. ' ' .. change.old.name; change.input.metadata = m"
    first, second = (hook(mine, tell.replace("NAME", name) + " if change.input.name == 'Bad' then wharf.reject('bad', 'No') end", update, {**update, "action": "delete"}, name=name, priority=k)
                     for k, name in enumerate(("a", "b")))
    client, told = anew(mine), set()
    for version in range(1, 7):
        client.refused("POST", f"/v1/locations/{place}", 412, "precondition.failed", body={"name": "Late"}, headers={"If-Match": '"v99-x"'})
        client.refused("POST", "/v1/locations/loc_none", 404, "not_found", body={"name": "None"})
        client.refused("POST", f"/v1/locations/{place}", 400, "workflow.rejected", body={"name": "Bad"})
        row = client.post(f"/v1/locations/{place}", {"name": f"N{version}"}, expect=200).data
        for name in "ab":
            id, seen, number, old = row["metadata"][name].split()
            assert seen == "1" and old == f"N{version - 1}"
            told |= {id, number}
    assert len(told) == 24
    rejected = runs(mine, first)
    assert [r["status"] for r in rejected] == ["rejected"] * 6 and not {r["id"] for r in rejected} & told and not runs(mine, second)
    client.delete(f"/v1/locations/{place}", expect=200)


@pytest.mark.parametrize("body, code, word", [
    ("error('broken')", "workflow.failed", "broken"), ("while true do end", "workflow.budget_instructions", ""), ("change.input = 5", "workflow.failed", "must stay a table"),
    ("return ('a'):rep(40000):find(('.-'):rep(8) .. 'b')", "workflow.budget_time", ""), ("return ('x'):rep(1 << 28)", "workflow.budget_memory", ""),  # at once, since its time is short
    ("for i = 1, 11 do wharf.api.get('/v1/locations') end", "workflow.budget_calls", ""), ("wharf.api.post('/v1/locations', {})", "workflow.failed", "only read"),
    ("wharf.http.get('https://example.com/')", "workflow.failed", ""), ("wharf.lock('x', print)", "workflow.failed", "nothing is waited for"), ("wharf.sleep(1)", "workflow.failed", "can't sleep"),
    ("wharf.fail('no')", "workflow.failed", "no")])
def test_one_that_fails(fresh, body, code, word):
    """It refuses the write, or is ignored, as the workflow says; what went wrong is kept though nothing else is."""
    mine = fresh.client()
    id = hook(mine, f"if change.input.name == 'Fine' then return end {body}", scopes=["locations:write"], budget={"time_ms": 1500} if code.endswith("time") else {})
    client = anew(mine)
    make_location(client, "Fine")
    r = client.refused("POST", "/v1/locations", 400, "workflow.hook_failed", body={"name": "x", "address": ADDRESS})
    (run,) = runs(mine, id)
    run = mine.get(f"{FLOWS}/runs/{run['id']}").data
    assert run["status"] == "failed" and run["error"]["code"] == code and word in run["error"]["message"] and run["id"] in r.message and word in " ".join(r.errors)
    assert run["trigger"] == {"type": "hook", "name": None, "phase": "before", "resource": "location", "action": "create"}
    assert run["input"]["value"]["input"]["name"] == "x" and run["on_behalf_of"] and mine.get(f"{FLOWS}/{id}").data["last_run"]["id"] == run["id"]
    assert mine.get("/v1/locations").data[0]["name"] == "Fine" and len(mine.get("/v1/locations").data) == 1
    mine.post(f"{FLOWS}/{id}", {"on_error": "ignore"}, expect=200)
    mine.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    make_location(anew(mine), "x")  # the next write has the next version
    assert [r["status"] for r in runs(mine, id)] == ["failed"] * 2


def test_what_it_may_read(org, mine):
    """The API as it is in the middle of the write, and the store with the write."""
    hook(mine, """local n = 0 for l in wharf.api.list('/v1/locations', {search = 'Twin'}) do n = n + 1 end
local none, err = wharf.api.get('/v1/locations/loc_0000000000000000000000')
local _, denied = wharf.api.get('/v1/workflows')
change.input.metadata = {n = tostring(n), err = err.code, denied = denied.code, count = tostring(wharf.kv.incr('count'))}
if change.input.name == 'Refused' then wharf.reject('no', 'no') end""", scopes=["locations:read"])
    client = anew(mine)
    assert make_location(client, "Twin")["metadata"] == {"n": "0", "err": "not_found", "denied": "scope_access", "count": "1"}
    client.refused("POST", "/v1/locations", 400, "workflow.rejected", body={"name": "Refused", "address": ADDRESS})
    assert make_location(client, "Twin 2")["metadata"] == {"n": "1", "err": "not_found", "denied": "scope_access", "count": "2"}  # what was refused was not counted


def test_where_it_runs(fresh, mine):
    here, there = make_location(mine, "Here")["id"], make_location(mine, "There")["id"]
    id = hook(mine, "change.input.metadata = {seen = 'yes'}", {**BEFORE, "action": "update"}, allowed_locations=[here])
    client = anew(mine)
    seen = [client.post(f"/v1/locations/{where}", {"name": "Changed " + where}, expect=200).data["metadata"] for where in (here, there)]
    assert seen == [{"seen": "yes"}, {}]
    # what is off does nothing
    for change in ({"enabled": False}, {"enabled": True}, None):
        if change:
            mine.post(f"{FLOWS}/{id}", change, expect=200)
        else:
            mine.delete(f"{FLOWS}/{id}")
        mine.post(f"/v1/locations/{here}", {"metadata": {"seen": None}}, expect=200)
        row = anew(mine).post(f"/v1/locations/{here}", {"name": f"Again {change}", "metadata": {"seen": None}}, expect=200).data
        assert row["metadata"] == ({"seen": "yes"} if change and change["enabled"] else {}), change
    assert fresh.server.sql("SELECT count(*) FROM wharf.hook WHERE organization_id = %s", fresh.id) == [(0,)]


def test_what_is_kept_of_them_is_renewed(mine):
    """Processes keep an organization's hooks; nobody who comes after a change meets those of before it."""
    here, there = make_location(mine, "Here")["id"], make_location(mine, "There")["id"]
    other = anew(mine)
    id = hook(other, "change.input.metadata = {by = ctx.workflow.name, secret = wharf.secret('KEY') and 'known'}", {**BEFORE, "action": "update"}, allowed_locations=[here])

    def seen(client, where):
        return client.post(f"/v1/locations/{where}", {"metadata": {"by": None, "secret": None}}, check=False)
    r = seen(anew(mine), here)
    assert r.status == 400 and r.code == "workflow.hook_failed"  # it has no such secret
    mine.post(f"{FLOWS}/{id}/secrets", {"key": "KEY", "value": "a secret value"}, expect=201)
    assert seen(anew(mine), here).data["metadata"] == {"by": "Hook", "secret": "known"}
    mine.post(f"{FLOWS}/{id}", {"name": "Renamed", "allowed_locations": [there]}, expect=200)
    client = anew(mine)
    assert [seen(client, where).data["metadata"] for where in (here, there)] == [{}, {"by": "Renamed", "secret": "known"}]
    key = next(k for k in mine.get("/v1/api-keys?limit=100&order_by=created_at&direction=asc").data if k["name"] == "anew")
    mine.delete(f"/v1/api-keys/{key['id']}")  # the publisher's
    end = time.monotonic() + WAIT
    while seen(client, there).status == 200 and time.monotonic() < end:
        pass
    assert seen(client, there).code == "workflow.hook_failed"
    assert "publish it again" in runs_error(mine, id)


def test_a_publisher_who_is_gone(mine):
    other = anew(mine)
    id = hook(other, "change.input.name = 'x'")
    key = next(k for k in mine.get("/v1/api-keys?limit=100").data if k["name"] == "anew")
    client = anew(mine)
    mine.delete(f"/v1/api-keys/{key['id']}")
    r = client.refused("POST", "/v1/locations", 400, "workflow.hook_failed", body={"name": "Orphan", "address": ADDRESS})
    assert "publish it again" in runs_error(mine, id) and id in r.message


def runs_error(client, id):
    return client.get(f"{FLOWS}/runs/{runs(client, id)[0]['id']}").data["error"]["message"]


def test_fifty_failures_disable_it(fresh, mine):
    id = hook(mine, "error('always')", on_error="ignore")
    client = anew(mine)
    for i in range(49):
        make_location(client, f"L{i}")
    assert mine.get(f"{FLOWS}/{id}").data["enabled"] is True
    make_location(client, "L49")
    row = mine.get(f"{FLOWS}/{id}").data
    assert row["enabled"] is False and row["disabled_reason"] == "failures"
    make_location(client, "L50")
    assert len(mine.get(f"{FLOWS}/{id}/runs?limit=100").data) == 50
    assert [e[0] for e in fresh.events(id)].count("workflow.disabled") == 1
    failed = fresh.server.sql("SELECT count(*) FROM wharf.event WHERE organization_id = %s AND type = 'workflow_run.failed'", fresh.id)
    assert failed[0][0] <= 2  # one a minute


def test_a_rule_that_rejects_stays_closed(fresh, mine):
    """Fifty failures open nothing: who can make a rule fail would get by it. It is told once, and somebody mends it."""
    id = hook(mine, "error('always')")
    client = anew(mine)
    for i in range(53):
        client.refused("POST", "/v1/locations", 400, "workflow.hook_failed", body={"name": f"L{i}", "address": ADDRESS})
    row = mine.get(f"{FLOWS}/{id}").data
    assert row["enabled"] is True and row["disabled_reason"] is None and row["failing_since"]
    assert [e[0] for e in fresh.events(id)].count("workflow.failing") == 1 and "workflow.disabled" not in [e[0] for e in fresh.events(id)]
    mine.post(f"{FLOWS}/{id}", {"source": "return {before = function(change) end}"}, expect=200)
    mine.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    assert mine.get(f"{FLOWS}/{id}").data["failing_since"] is None
    soon(lambda: make_location(anew(mine), "Open"))


@pytest.mark.parametrize("ago, enabled", [("4 minutes", False), ("6 minutes", True)])
def test_failures_of_the_last_five_minutes(server, mine, ago, enabled):
    """Whenever the first of them was: those of the five minutes before each failure count."""
    id = hook(mine, "error('always')", on_error="ignore")
    client = anew(mine)
    make_location(client, "First")
    server.sql(f"UPDATE workflows.workflow SET hook_failures = 49, hook_failing_at = wharf.now() - interval '9 minutes', hook_failed_at = "
               f"array_fill((wharf.now() - interval '{ago}')::timestamptz(3), ARRAY[49]) WHERE id = %s", id)
    make_location(client, "Next")
    assert mine.get(f"{FLOWS}/{id}").data["enabled"] is enabled
    assert server.sql("SELECT hook_failures FROM workflows.workflow WHERE id = %s", id) == [(1 if enabled else 50,)]


def test_after_a_change(mine):
    id = hook(mine, """if change.action ~= 'create' then return change end
local d, e = wharf.api.post('/v1/locations/' .. change.id, {metadata = {by = 'hook'}})
return {change.action, change.new and change.new.name, change.old == nil, e and e.code or 'fine', change.input.name == 'First'}""",
              *({**BEFORE, "phase": "after", "action": a, "name": a} for a in ("create", "update", "delete")), scopes=["locations:write"], concurrency={"key": "resource"})
    client = anew(mine)
    row = make_location(client, "First")["id"]
    (one,) = over(mine, id)
    assert one["status"] == "succeeded" and one["output"]["value"] == ["create", "First", True, "fine", True] and one["resource_id"] == row
    assert one["trigger"] == {"type": "hook", "name": "create", "phase": "after", "resource": "location", "action": "create"} and one["on_behalf_of"]
    client.post(f"/v1/locations/{row}", {"name": "Second"}, expect=200)
    two = next(r for r in over(mine, id, 2) if r["id"] != one["id"])["output"]["value"]  # what the run itself changed started none
    assert (two["action"], two["old"]["name"], two["new"]["name"], two["new"]["metadata"]) == ("update", "First", "Second", {"by": "hook"})
    client.delete(f"/v1/locations/{row}")
    assert len(over(mine, id, 3)) == 3


def test_items_of_batches(mine):
    """Each item is asked for; those that are refused are problems of theirs."""
    hook(mine, "if change.input.name == 'B' then wharf.reject('b', 'no B') end change.input.metadata = {seen = 'yes'}", {**BEFORE, "resource": "contact"})
    client = anew(mine)
    b = client.post("/v1/batches", {"resource": "contact", "action": "merge", "mode": "sync", "data": [{"name": n} for n in "ABC"]}, expect=201).data
    assert b["stats"]["created"] == 2 and [(e["index"], e["code"], e["message"]) for e in b["errors"]] == [(1, "workflow.rejected", "no B")]
    rows = client.get("/v1/contacts").data
    assert sorted(row["name"] for row in rows) == ["A", "C"] and all(row["metadata"] == {"seen": "yes"} for row in rows)
