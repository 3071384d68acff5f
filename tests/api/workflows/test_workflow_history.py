"""Runs of all workflows together: the list with its filters, and many done again at once (spec 08 sections 1 and 7)."""
import pytest

from receivers import until
from test_workflow_events import FLOWS, flow, over
from test_workflow_runs import asked
from test_workflow_share import manual
from wharf import make_location

ALL = f"{FLOWS}/runs"
MANY = f"{FLOWS}/runs/retry"
ONCE = "if wharf.kv.incr(ev.resource_id) == 1 then error('no') end return 1"


@pytest.fixture
def org(fresh):
    return fresh


@pytest.fixture
def mine(org):
    return org.client()


def ids(rows):
    return {r["id"] for r in rows}


def test_runs_of_all_workflows(mine):
    good, bad, hand = flow(mine, "return 1", "Good"), flow(mine, "error('no')", "Bad", retry={"max": 0}), manual(mine, "return 1", "Hand")
    make_location(mine, "A")
    make_location(mine, "B")
    run = asked(mine, hand, {}).data["id"]
    of_good, of_bad = ids(over(mine, good, 2)), ids(over(mine, bad, 2))
    rows = mine.get(ALL).data
    assert ids(rows) == of_good | of_bad | {run} and rows == sorted(rows, key=lambda r: (r["created_at"], r["id"]), reverse=True)
    assert rows[0] == next(r for r in mine.get(f"{FLOWS}/{rows[0]['workflow_id']}/runs").data if r["id"] == rows[0]["id"]) and "input" not in rows[0]
    for query, wanted in ((f"workflow_id={good}", of_good), (f"workflow_id={good},{hand}", of_good | {run}), ("status=failed", of_bad), ("status=failed,succeeded", of_good | of_bad | {run}),
                          ("trigger_type=manual", {run}), (f"created_at[gte]={rows[-1]['created_at']}", ids(rows)), (f"created_at[lt]={rows[-1]['created_at']}", set()),
                          (f"workflow_id={bad}&status=succeeded", set()), ("retried_as=null", ids(rows))):
        assert ids(mine.get(f"{ALL}?{query}").data) == wanted, query
    page = mine.get(f"{ALL}?limit=2&order_by=created_at&direction=asc")
    assert [r["id"] for r in page.data] == [r["id"] for r in rows[::-1][:2]] and page.body["pagination"]["has_more"]
    # one run at the same path goes on being that
    assert mine.get(f"{ALL}/{run}").data["id"] == run
    mine.refused("GET", f"{ALL}?status=lost", 400, "param.invalid")


def test_who_sees_which_runs(org, mine):
    """As in the list of the one workflow: no runs of workflows, or at locations, that the key does not see."""
    here, there = (make_location(mine, n)["id"] for n in ("Here", "There"))
    everywhere = flow(mine, "return 1", "Everywhere", events=["location.updated"])
    elsewhere = flow(mine, "return 1", "Elsewhere", events=["location.updated"], allowed_locations=[there])
    hidden = manual(mine, "return 1", "Hidden", allowed_locations=[there])
    for place in (here, there):
        mine.post(f"/v1/locations/{place}", {"name": "Changed"}, expect=200)
    nowhere = asked(mine, hidden, {}).data["id"]  # a run without a location, of a workflow that is not for all
    over(mine, everywhere, 2)
    over(mine, elsewhere, 1)
    bound = org.client("workflow:write", locations=[here])
    shown = bound.get(ALL).data
    assert {(r["workflow_id"], r["location_id"]) for r in shown} == {(everywhere, here)}
    assert bound.request("GET", f"{ALL}/{nowhere}", check=False).status == 403
    assert len(mine.get(ALL).data) == 4 and org.client("locations:read").request("GET", ALL, check=False).status == 403
    other = org.server.organization().client()
    assert other.get(ALL).data == []


def test_all_that_failed_are_done_again_once(mine):
    first, second = flow(mine, ONCE, "First", retry={"max": 0}), flow(mine, ONCE, "Second", retry={"max": 0})
    for name in "ABC":
        make_location(mine, name)
    failed = {id: [r["id"] for r in over(mine, id, 3)] for id in (first, second)}
    said = mine.post(MANY, {"workflow_id": first, "limit": 2}, expect=202).data
    assert [r["run_id"] for r in said["retried"]] == failed[first][:2] and said["refused"] == [] and said["next"] == failed[first][1]
    rest = mine.post(MANY, {"workflow_id": first, "limit": 2, "after": said["next"]}, expect=202).data
    assert [r["run_id"] for r in rest["retried"]] == failed[first][2:] and rest["next"] is None
    for pair in said["retried"] + rest["retried"]:
        again = until(lambda: (r := mine.get(f"{ALL}/{pair['id']}").data)["status"] == "succeeded" and r)
        before = mine.get(f"{ALL}/{pair['run_id']}").data
        assert again["retry_of"] == pair["run_id"] and before["retried_as"] == pair["id"] and again["input"] == before["input"] and again["retried_as"] is None
    everything = mine.post(MANY, {}, expect=202).data  # what was done again is not meant any more
    assert [r["run_id"] for r in everything["retried"]] == failed[second] and everything["next"] is None
    assert mine.post(MANY, {}, expect=202).data == {"retried": [], "refused": [], "next": None}
    one = failed[first][0]  # by its id a run may be done again as often as one likes
    last = mine.post(f"{ALL}/{one}/retry", {}, expect=202).data
    assert last["retry_of"] == one and mine.get(f"{ALL}/{one}").data["retried_as"] == last["id"]
    assert ids(mine.get(f"{ALL}?retry_of={one}").data) == {last["id"], said["retried"][0]["id"]}


def test_which_are_meant_and_which_are_refused(org, mine):
    no = flow(mine, "wharf.reject('no', 'not now')", "No", retry={"max": 0})
    off = flow(mine, "error('no')", "Off", retry={"max": 0})
    draft = mine.post(FLOWS, {"name": "Draft", "triggers": [{"type": "manual"}], "source": "return {on_run = function(input) error('no') end}"}, expect=201).data["id"]
    make_location(mine, "Here")
    (rejected,), (failed,) = over(mine, no), over(mine, off)
    asked(mine, draft, {"version": "draft"}, 400)
    tried = mine.get(f"{ALL}?workflow_id={draft}").data[0]["id"]
    mine.post(f"{FLOWS}/{off}", {"enabled": False}, expect=200)
    said = mine.post(MANY, {}, expect=202).data
    assert said == {"retried": [], "refused": [{"run_id": failed["id"], "code": "workflow.disabled"}, {"run_id": tried, "code": "workflow.not_published"}], "next": None}
    for body in ({"status": ["rejected"], "created_at": {"lt": rejected["created_at"]}}, {"status": ["canceled", "skipped"]}, {"status": ["rejected"], "trigger_type": "http"},
                 {"status": ["rejected"], "after": rejected["id"]}):
        assert mine.post(MANY, body, expect=202).data == {"retried": [], "refused": [], "next": None}, body
    other = make_location(mine, "Other")["id"]
    theirs = next(r["id"] for r in over(mine, no, 2) if r["location_id"] == other)
    bound = org.client("workflow:write", locations=[other])  # runs elsewhere are neither done again nor told
    said = bound.post(MANY, {"status": ["rejected"]}, expect=202).data
    assert [r["run_id"] for r in said["retried"]] == [theirs] and not said["refused"]
    over(mine, no, 3)
    meant = {"status": ["rejected"], "created_at": {"gte": rejected["created_at"], "lt": mine.get(f"{ALL}/{theirs}").data["created_at"]}}
    assert [r["run_id"] for r in mine.post(MANY, meant, expect=202).data["retried"]] == [rejected["id"]]
    org.client("workflow:read").refused("POST", MANY, 403, "scope_access", ["workflow:write"], body={})
    for body, path in (({"status": ["succeeded"]}, "status.0"), ({"status": []}, "status"), ({"limit": 101}, "limit"), ({"created_at": {"gte": "yesterday"}}, "created_at.gte"),
                       ({"workflow_id": "wkf_0000000000000000000000"}, "workflow_id"), ({"workflow_id": ""}, "workflow_id"), ({"after": ""}, "after"),
                       ({"created_at": {"gte": "0000-01-01T00:00:00Z"}}, "created_at.gte"), ({"created_at": {"lt": "2026-01-01T00:00:00-16:00"}}, "created_at.lt")):
        mine.refused("POST", MANY, 400, "validation.failed", [path], body=body)
    for moment in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999Z", "2016-12-31T23:59:60z", "2026-01-01t00:00:00-15:59"):
        mine.post(MANY, {"created_at": {"lt": moment}, "status": ["skipped"]}, expect=202)


def test_a_workflow_that_is_not_seen_is_none(org, mine):
    here, there = (make_location(mine, n)["id"] for n in ("Here", "There"))
    hidden = manual(mine, "error('no')", "Hidden", allowed_locations=[there])
    asked(mine, hidden, {}, 400)
    r = org.client("workflow:write", locations=[here]).refused("POST", MANY, 400, "validation.failed", ["workflow_id"], body={"workflow_id": hidden})
    assert r.body["message"] == f"There is no workflow {hidden}"
    assert len(mine.post(MANY, {"workflow_id": hidden}, expect=202).data["retried"]) == 1


def test_runs_of_a_workflow_that_was_deleted_hold_up_nobody(mine):
    """They stay in the list; many again leaves them out, so that it is not refused for as long as they are kept."""
    gone, kept = manual(mine, "error('no')", "Gone"), manual(mine, "error('no')", "Kept")
    for id in (gone, kept):
        asked(mine, id, {}, 400)
    lost, failed = (mine.get(f"{ALL}?workflow_id={id}").data[0]["id"] for id in (gone, kept))
    mine.delete(f"{FLOWS}/{gone}", expect=200)
    mine.refused("POST", f"{ALL}/{lost}/retry", 404, "not_found", None, body={})
    r = mine.post(MANY, {}, expect=202)
    assert [p["run_id"] for p in r.data["retried"]] == [failed] and r.data["refused"] == []
    assert r.body["message"] == "1 run is queued"


def test_many_of_large_inputs(mine):
    """As many as there may be: what is read of one is not held while the next ones are."""
    hand = manual(mine, "error('no')", "Large", retry={"max": 0})
    for _ in range(20):
        asked(mine, hand, {"input": [0] * 32_700}, 400)  # read, each is 2 MB
    said = mine.post(MANY, {}, expect=202).data
    assert len(said["retried"]) == 20 and said["refused"] == []
    again = until(lambda: (r := mine.get(f"{ALL}/{said['retried'][-1]['id']}").data)["finished_at"] and r)
    assert again["input"] == {"value": [0] * 32_700}


def test_where_to_go_on_has_to_be_there(fresh, org, mine):
    """Old runs are deleted: behind one that is gone there would seem to be none."""
    id = flow(mine, "error('no')", "Bad", retry={"max": 0})
    for name in "ABC":
        make_location(mine, name)
    over(mine, id, 3)
    first = mine.post(MANY, {"limit": 1}, expect=202).data
    fresh.server.sql("DELETE FROM workflows.run WHERE id = %s", first["next"])
    r = mine.refused("POST", MANY, 400, "validation.failed", ["after"], body={"after": first["next"]})
    assert "without after" in r.body["message"]
    assert len(mine.post(MANY, {"limit": 2}, expect=202).data["retried"]) == 2
