"""Nobody gets by workflows what they may not have: drafts, publishing from inside, what triggers are told, runs of other locations (spec 08 sections 3 and 7)."""
import pytest

from receivers import until
from test_workflow_runs import FLOWS, asked
from wharf import Server, make_location

MANUAL = [{"type": "manual"}]


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,events,webhooks,workflows,logs")
    yield s
    s.stop()


@pytest.fixture
def org(server):
    return server.organization()


@pytest.fixture
def mine(org):
    return org.client()


def made(client, name, body, publish=True, **more):
    """A workflow with the body of on_run."""
    id = client.post(FLOWS, {"name": name, "source": f"return {{on_run = function(input, ctx)\n{body}\nend}}", "triggers": MANUAL, **more}, expect=201).data["id"]
    if publish:
        client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    return id


# ---- drafts and publishing from inside ----

INNER = """local y, e = wharf.api.post('/v1/workflows', {name = input.name, source = input.source, triggers = {{type = 'manual'}}, scopes = input.scopes, allowed_locations = input.places})
if e then return {e.code, e.errors} end
local r
if input.publish then r, e = wharf.api.post('/v1/workflows/' .. y.id .. '/publish', {})
else r, e = wharf.api.post('/v1/workflows/' .. y.id .. '/run', {version = 'draft'}) end
if e then return {e.code, e.errors} end
return r.output and r.output.value or {r.id, r.version}"""

LOOK = """local function code(e) return e and e.code or 'done' end
local _, a = wharf.api.get('/v1/users') local _, b = wharf.api.get('/v1/locations') local _, c = wharf.api.post('/v1/locations', {})
return {code(a), code(b), code(c)}"""


def test_a_draft_has_no_more_than_who_runs_it(mine):
    source = f"return {{on_run = function(input) {LOOK} end}}"
    x = made(mine, "X", INNER, scopes=["workflow:write", "locations:read"])
    asks = {"name": "Y", "source": source, "scopes": ["users:write", "locations:write"]}
    assert asked(mine, x, {"input": asks}).data["output"]["value"] == ["scope_access", "done", "scope_access"]
    y, = (w["id"] for w in mine.get(FLOWS + "?status=all&limit=all").data if w["name"] == "Y")
    # who may all of it has all of the draft's
    assert asked(mine, y, {"version": "draft"}).data["output"]["value"] == ["done", "done", "validation.failed"]


def test_publishing_from_inside(mine):
    x = made(mine, "X", INNER, scopes=["workflow:write", "locations:read"])
    asks = {"name": "Y", "source": "return {on_run = print}", "publish": True}
    assert asked(mine, x, {"input": {**asks, "scopes": ["users:write", "locations:read"]}}).data["output"]["value"] == ["scope_access", ["users:write"]]
    assert asked(mine, x, {"input": {**asks, "name": "Z", "scopes": ["locations:read"]}}).data["output"]["value"][1] == 1


def test_idempotency_keys_of_authors(mine):
    """As over HTTP: one that can't be one is told, a good one makes of two writes one."""
    x = made(mine, "X", """local out = {}
for i, key in ipairs {'', ('k'):rep(256), 'ä', 5, wharf.null} do
  out[#out + 1] = select(2, pcall(wharf.api.post, '/v1/locations', {name = 'K'}, {idempotency_key = key}))
  out[#out + 1] = select(2, pcall(wharf.api.delete, '/v1/locations/loc_0', {idempotency_key = key}))
end
for _ = 1, 2 do out[#out + 1] = wharf.api.post('/v1/locations', {name = 'K', address = '1 Main St, Springfield, IL 62701, US'}, {idempotency_key = 'mine'}).id end
return out""", scopes=["locations:write"])
    *told, a, b = asked(mine, x, {}).data["output"]["value"]
    assert len(told) == 10 and all("1 to 255 printable ASCII characters; shorten or encode it, or leave it out (param.invalid)" in m for m in told), told
    assert a == b


def test_publishing_from_inside_reaches_no_further(mine):
    """The key is the publisher's and reaches all; the run does not."""
    here, there = (make_location(mine, name)["id"] for name in ("Here", "There"))
    everywhere, both = (made(mine, name, "return 1", publish=False, allowed_locations=a) for name, a in (("All", None), ("Both", [here, there])))
    x = made(mine, "X", "local _, e = wharf.api.post('/v1/workflows/' .. input .. '/publish', {}) return e and {e.code, e.errors} or 'published'",
             scopes=["workflow:write"], allowed_locations=[here])
    own = made(mine, "Own", "return 1", publish=False, allowed_locations=[here])
    assert asked(mine, x, {"input": everywhere}).data["output"]["value"] == ["location_access", ["allowed_locations"]]
    assert asked(mine, x, {"input": both}).data["output"]["value"] == ["location_access", [there]]
    assert asked(mine, x, {"input": own}).data["output"]["value"] == "published"
    assert mine.get(f"{FLOWS}/{both}").data["version"] is None


def test_all_missing_scopes_are_named(org, mine):
    row = mine.post(FLOWS, {"name": "Many", "source": "return {on_run = print, before = print}", "scopes": ["users:read", "locations:read", "webhooks:write", "users:write"],
                            "triggers": [*MANUAL, {"type": "hook", "resource": "location", "action": "create", "phase": "before"}]}, expect=201).data
    poor = org.client("workflow:write,webhooks:read,locations:read")
    poor.refused("POST", f"{FLOWS}/{row['id']}/publish", 403, "scope_access", ["locations:write", "users:write", "webhooks:write"], body={})


# ---- what triggers are told ----

@pytest.mark.parametrize("events, missing", [
    (["location.created"], ["locations:read"]), (["location.*", "user.*"], ["locations:read", "users:read"]), (["custom.*", "custom.order.packed"], []),
    (["workflow.disabled", "workflow_run.failed"], []), (["webhook.*"], ["webhooks:read"])])
def test_who_may_listen(org, mine, events, missing):
    row = mine.post(FLOWS, {"name": "Ears", "source": "return {on_event = function(ev) return ev end}", "triggers": [{"type": "event", "events": events}]}, expect=201).data
    path = f"{FLOWS}/{row['id']}/publish"
    if missing:
        org.client("workflow:write").refused("POST", path, 403, "scope_access", missing, body={})
    org.client(",".join(["workflow:write", *missing])).post(path, {}, expect=200)


def test_who_may_listen_to_everything(org, mine):
    row = mine.post(FLOWS, {"name": "Ears", "source": "return {on_event = print}", "triggers": [{"type": "event", "events": ["*"]}]}, expect=201).data
    r = org.client("workflow:write").refused("POST", f"{FLOWS}/{row['id']}/publish", 403, "scope_access", body={})
    assert {"locations:read", "users:read", "webhooks:read"} <= set(r.errors) and all(e.endswith(":read") for e in r.errors)
    mine.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)


# ---- runs of other locations ----

def test_runs_of_other_locations(org, mine):
    here, there = (make_location(mine, name)["id"] for name in ("Here", "There"))
    for name, allowed in (("All", None), ("Both", [here, there])):
        id = made(mine, name, "wharf.log.info(input.said) return input.said", allowed_locations=allowed, record={"io": True})
        ids = {at: asked(mine, id, {"input": {"said": f"said at {at}"}, **({"location_id": at} if at else {})}).data["id"] for at in (here, there, None)}
        bound = org.client("workflow:write,logs:read", locations=[here])
        assert set(bound.get(f"{FLOWS}/{id}/runs").ids) == {ids[here], ids[None]} and set(mine.get(f"{FLOWS}/{id}/runs").ids) == set(ids.values())
        assert bound.get(f"{FLOWS}/{id}/runs?location_id={here}").ids == [ids[here]]
        bound.refused("GET", f"{FLOWS}/{id}/runs?location_id={there}", 403, "location_access")
        for at in (here, None):
            assert bound.get(f"{FLOWS}/runs/{ids[at]}").data["logs"][0]["message"] == f"said at {at}"
        for path in ("", "/recording"):
            bound.refused("GET", f"{FLOWS}/runs/{ids[there]}{path}", 403, "location_access")
            mine.get(f"{FLOWS}/runs/{ids[there]}{path}")


def test_cancelling_at_other_locations(server, org, mine):
    here, there = (make_location(mine, name)["id"] for name in ("Here", "There"))
    id = made(mine, "Slow", "error('no')", retry={"max": 1, "waits": [3600]})
    ids = {at: asked(mine, id, {"wait": False, **({"location_id": at} if at else {})}, 202).data["id"] for at in (here, there, None)}
    until(lambda: [r["status"] for r in mine.get(f"{FLOWS}/{id}/runs").data] == ["waiting"] * 3)
    bound = org.client("workflow:write", locations=[here])
    bound.refused("POST", f"{FLOWS}/runs/{ids[there]}/cancel", 403, "location_access", body={})
    for at in (here, None):
        assert bound.post(f"{FLOWS}/runs/{ids[at]}/cancel", {}, expect=202).data["status"] == "canceled"
    assert mine.get(f"{FLOWS}/runs/{ids[there]}").data["status"] == "waiting"
