"""What runs may use (spec 08 section 6): the operator's ceilings, which a workflow may lower for itself and never raise."""
import pytest

from test_workflow_events import FLOWS, flow, over, runs
from test_workflow_runs import asked
from wharf import Server, address, make_location

CEILINGS = {"before": {"instructions": 200000, "memory_mib": 4, "time_ms": 1500, "api_calls": 2},
            "sync": {"instructions": 3000000, "memory_mib": 12, "time_ms": 2500, "api_calls": 3, "http_calls": 2, "emits": 1},
            "public": {"instructions": 150000, "api_calls": 1}, "queued": {"instructions": 5000000, "memory_mib": 16, "api_calls": 6, "emits": 2}}
LEFT = "local b = ctx.budget() return {b.instructions, b.memory // (1 << 20), b.api_calls, b.http_calls, ctx.deadline_ms()}"
SPIN, FILL, STICK = "while true do end", "local s = ('x'):rep(%d << 20) return #s", "return ('a'):rep(40000):find(('.-'):rep(8) .. 'b')"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,events,webhooks,workflows", *(a for kind, of in CEILINGS.items() for name, n in of.items() for a in ("--set", f"workflows.budgets.{kind}.{name}={n}")))
    yield s
    s.stop()


@pytest.fixture
def mine(server):
    return server.organization().client()


def manual(client, body, name="Manual", triggers=({"type": "manual"},), handler="on_run", **more):
    row = client.post(FLOWS, {"name": name, "source": f"return {{{handler} = function(input, ctx)\n{body}\nend}}", "triggers": list(triggers), "scopes": ["locations:read"], **more}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    return row["id"]


def left(client, id, **more):
    instructions, *rest, time = asked(client, id, more).data["output"]["value"]
    return [round(instructions, -5), *rest, time > 0]


def calls(n):
    return f"for i = 1, {n} do wharf.api.get('/v1/locations', {{limit = 1}}) end return 1"


def test_the_operators_ceilings(mine):
    """Each kind has its own; there is no more of any."""
    instructions, memory, *rest = left(mine, manual(mine, LEFT, "left"))
    assert instructions == 3000000 and memory in (11, 12) and rest == [3, 2, True]
    for i, (body, code, status) in enumerate(((SPIN, "instructions", 400), (FILL % 13, "memory", 400), (STICK, "time", 504), (calls(4), "calls", 400),
                                              ("for i = 1, 2 do wharf.emit('custom.a', {}) end", "calls", 400))):
        assert asked(mine, manual(mine, body, f"sync {i}"), {}, status).code == f"workflow.budget_{code}"
    asked(mine, manual(mine, calls(3), "three"), {})
    asked(mine, manual(mine, FILL % 5, "five"), {})


def test_ceilings_of_queued_runs(mine):
    ids = [flow(mine, body, f"queued {i}", scopes=["locations:read"], retry={"max": 0}) for i, body in enumerate((SPIN, FILL % 17, calls(7), "for i = 1, 3 do wharf.emit('custom.a', {}) end"))]
    good = flow(mine, calls(6), "six", scopes=["locations:read"])
    make_location(mine)
    assert [over(mine, id)[0]["error"]["code"] for id in ids] == [f"workflow.budget_{c}" for c in ("instructions", "memory", "calls", "calls")]
    assert over(mine, good)[0]["status"] == "succeeded"


def test_ceilings_of_rules_and_of_public_ones(mine):
    rule = {"type": "hook", "resource": "location", "action": "create", "phase": "before"}
    for i, (body, code) in enumerate(((SPIN, "instructions"), (FILL % 5, "memory"), (STICK, "time"), (calls(3), "calls"))):
        id = manual(mine, body, f"rule {i}", [rule], "before")
        r = mine.request("POST", "/v1/locations", {"name": "A", "address": address()})
        assert (r.status, r.code) == (400, "workflow.hook_failed"), r
        assert mine.get(f"{FLOWS}/runs/{runs(mine, id)[0]['id']}").data["error"]["code"] == f"workflow.budget_{code}"
        mine.delete(f"{FLOWS}/{id}")
    for i, (body, code) in enumerate((("for i = 1, 1e6 do end", "instructions"), (calls(2), "calls"))):
        id = manual(mine, body, f"public {i}", [{"type": "http", "path": "x", "auth": "none"}], "on_http")
        r = mine.request("POST", f"{FLOWS}/{id}/http/x", {}, key=False, check=False)
        assert r.body["code"] == f"workflow.budget_{code}", r


def test_a_workflow_asks_for_less(mine):
    own = {"instructions": 400000, "memory_mib": 6, "time_ms": 200, "api_calls": 1, "http_calls": 0, "emits": 0}
    instructions, memory, *rest = left(mine, manual(mine, LEFT, "left", budget=own))
    assert instructions == 400000 and memory in (5, 6) and rest == [1, 0, True]
    for i, (body, code, status) in enumerate((("for i = 1, 1e6 do end", "instructions", 400), (FILL % 7, "memory", 400), (STICK, "time", 504), (calls(2), "calls", 400),
                                              ("wharf.emit('custom.a', {})", "calls", 400), ("wharf.http.get('https://example.com')", "calls", 400))):
        assert asked(mine, manual(mine, body, f"less {i}", budget=own), {}, status).code == f"workflow.budget_{code}", body
    slow = flow(mine, STICK, "slow", budget={"time_ms": 100}, retry={"max": 0})
    make_location(mine)
    assert over(mine, slow)[0]["error"]["code"] == "workflow.budget_time"


def test_never_for_more(mine):
    """More than any kind has is refused; what another kind has does not help this one."""
    body = {"name": "More", "source": "return {}"}
    mine.refused("POST", FLOWS, 400, "validation.failed", ["budget.instructions", "budget.api_calls"], body={**body, "budget": {"instructions": 5000001, "api_calls": 7, "emits": 2}})
    assert "5000000 or less" in mine.refused("POST", FLOWS, 400, "validation.failed", ["budget.instructions"], body={**body, "budget": {"instructions": 5000001}}).message
    for budget, path in (({"instructions": 1}, "budget.instructions"), ({"time_ms": "1"}, "budget.time_ms"), ({"sleep": 1}, "budget.sleep"), ({"mails": -1}, "budget.mails")):
        mine.refused("POST", FLOWS, 400, "validation.failed", [path], body={**body, "budget": budget})
    instructions, memory, *rest = left(mine, manual(mine, LEFT, "same", budget={"instructions": 5000000, "memory_mib": 16, "api_calls": 6}))
    assert instructions == 3000000 and memory in (11, 12) and rest == [3, 2, True]


def asked_for(row):
    return row["budget"] and {name: n for name, n in row["budget"].items() if n is not None}


def test_it_belongs_to_the_version(mine):
    id = manual(mine, calls(2), budget={"api_calls": 1, "mails": 0})
    path = f"{FLOWS}/{id}"
    assert asked_for(mine.get(path).data) == {"api_calls": 1, "mails": 0}
    assert mine.post(path, {"budget": {"api_calls": 2}}, expect=200).data["has_draft"] is True
    assert asked(mine, id, {}, 400).code == "workflow.budget_calls"
    asked(mine, id, {"version": "draft"})
    back = mine.post(path + "/discard-draft", {}, expect=200).data
    assert (asked_for(back), back["has_draft"]) == ({"api_calls": 1, "mails": 0}, False)
    assert mine.post(path, {"budget": None}, expect=200).data["budget"] is None
    mine.post(path + "/publish", {}, expect=200)
    asked(mine, id, {})
    mine.post(path, {"budget": {"emits": 1}}, expect=200)
    assert mine.post(path + "/discard-draft", {}, expect=200).data["budget"] is None


@pytest.mark.parametrize("setting", ["budgets.sync.instructions=5", "budgets.before.time_ms=5001", "budgets.before.http_calls=1", "budgets.queued.memory_mib=193", "budgets.any.mails=1", "budgets.sync.mail=1"])
def test_ceilings_that_can_not_be(setting):
    with pytest.raises(Exception, match="workflows.budgets"):
        Server("--modules", "org,workflows", "--set", f"workflows.{setting}").stop()
