"""Runs and memory (spec 08 section 6): what a run asks for, sends and keeps is bounded where the server holds it, so that only the run can fail of it; and calls of routes that
take no idempotency key."""
import pathlib
import time

import pytest

from hook_folder import Folder, system_of
from outside import Web
from test_workflow_events import FLOWS, over
from test_workflow_outside import MODULES, later
from test_workflow_tells import manual
from wharf import Server, make_location


@pytest.fixture(scope="module")
def server():
    s = Server(*MODULES)
    yield s
    assert not list((s.folder / "crash").glob("*")), "a worker ended"
    s.stop()


@pytest.fixture
def mine(server):
    return server.organization().client()


@pytest.fixture(scope="module")
def large():
    body = b"x" * (7 << 20)
    return f"http://127.0.0.1:{Web({'/': lambda h: h.answer(200, body)}).port}/"


def done(client, body, **more):
    """A queued run that is over, whole."""
    run, = over(client, later(client, body, {}, **more))
    return client.get(f"{FLOWS}/runs/{run['id']}").data


@pytest.mark.parametrize("n", [5, 8])
def test_answers_add_up(server, mine, large, n):
    ask = f"local l = {{}} for i = 1, {n} do l[i] = {{url = '{large}', max_bytes = 8388608}} end local ok, e = pcall(wharf.http.all, l) return ok or tostring(e.message or e)"
    id = manual(mine, ask, "Large")
    while (r := mine.request("POST", f"{FLOWS}/{id}/run", {}, check=False)).status == 503:
        time.sleep(0.05)
    assert r.status in (200, 400), r
    if n == 8:
        assert "48 MiB" in repr(r.data) or r.code == "workflow.budget_memory", r
    mine.get(f"{FLOWS}/{id}", expect=200)


def test_values_of_many_parts(server, mine):
    id = manual(mine, "for i = 1, 60 do local t = {} for k = 1, 30000 do t[k] = 0 end wharf.kv.set('k' .. i, t) end return #wharf.kv.list('', 2)", "Keeps")
    run = done(mine, "for i = 1, 60 do local t = {} for k = 1, 30000 do t[k] = 0 end wharf.kv.set('k' .. i, t) end return 1", name="Keeps too")
    assert run["status"] == "succeeded", run
    told = mine.get(f"{FLOWS}/{run['workflow_id']}/kv?limit=100").data
    assert len(told) == 60 and all(len(v["value"]) == 30000 for v in told)
    mine.request("POST", f"{FLOWS}/{id}/run", {}, check=False)
    mine.get(f"{FLOWS}/{id}", expect=200)


def test_settings_of_many_parts(mine):
    for i in range(45):
        row = mine.post(FLOWS, {"name": f"S{i}", "source": "return {on_run = function() return 1 end}", "triggers": [{"type": "manual"}], "settings": {"a": [0] * 30000}}, expect=201).data
        mine.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    told = mine.get(f"{FLOWS}/sync").data["workflows"]
    assert len(told) == 45 and all(len(w["settings"]["a"]) == 30000 for w in told)


def test_what_is_asked_at_once(mine):
    """Some megabytes are an ordinary question; more than a run may hold is its own error, not that of a process that ended."""
    run = done(mine, "local r, e = wharf.api.post('/v1/locations', {name = ('x'):rep(5 << 20)}) return e and e.code", scopes=["locations:write"])
    assert run["status"] == "succeeded", run
    run = done(mine, "local r, e = wharf.api.post('/v1/locations', {name = ('x'):rep(13 << 20)}) return e and e.code", name="Larger", scopes=["locations:write"])
    assert run["status"] == "failed" and run["error"]["code"] in ("workflow.budget_memory", "workflow.failed") and "unexpectedly" not in run["error"]["message"], run["error"]


def test_routes_that_take_no_key(mine):
    other = manual(mine, "return 7", "Other")
    run = done(mine, f"return wharf.api.post('{FLOWS}/{other}/run', {{}}).output.value", scopes=["workflow:write", "workflow:read"])
    assert run["status"] == "succeeded" and run["output"]["value"] == 7, run


def test_a_mark_that_holds_the_value(tmp_path_factory):
    """What stands in a secret's place names its key, which may be the secret."""
    place = pathlib.Path(tmp_path_factory.mktemp("hooks"))
    for folder in (place, place.parent, place.parent.parent):
        folder.chmod(0o755)
    s = Server("--modules", "org,locations,events", "--set", f"lua_hooks.dir={place}", "--set", "hook_secrets.erp=secret")
    try:
        org = s.organization()
        hooks = Folder(place, s)
        hooks.system = system_of(s, org)
        hooks.load({"10-a.lua": "wharf.hook.before('location', 'create', function(c) wharf.log.info('a secret and a secret more') end)"})
        make_location(org.client())
        said = [m for m in (s.folder / "wharf.log").read_text().splitlines() if " and a " in m]
        assert said and "a [secret:erp] and a [secret:erp] more" in said[0], said
    finally:
        s.stop()
