"""What starts runs besides events (spec 08 section 3): schedules, callers who do not wait."""
import datetime

import pytest

from receivers import until
from test_workflow_events import END, FLOWS, over, runs
from wharf import Client, Server, make_location

UTC = datetime.timezone.utc


class World:
    def __init__(self):
        self.server = Server("--modules", "org,locations,events,webhooks,workflows", "--test-clock")
        self.org = self.server.organization()
        self.client = self.org.client()
        self.system = Client(self.server, self.server.demo_key)

    def clock(self, moment):
        """The server's clock shows this moment, and goes on."""
        offset = (moment - datetime.datetime.now(UTC)).total_seconds()
        self.system.post("/v1/system/clock", {"offset_seconds": int(offset)}, expect=200)

    def flow(self, source, triggers, name="Flow", **more):
        row = self.client.post(FLOWS, {"name": name, "source": source, "triggers": triggers, **more}, expect=201).data
        self.client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
        return row["id"]


@pytest.fixture(scope="module")
def world():
    w = World()
    yield w
    w.server.end()


@pytest.fixture(autouse=True)
def no_leftovers(world):
    yield
    for row in world.client.get(f"{FLOWS}?limit=100").data:
        world.client.delete(f"{FLOWS}/{row['id']}")


TICK = "return {on_schedule = function(tick, ctx) return {tick.scheduled_at, tick.local_time, ctx.run.trigger.name} end}"


def at(year, month, day, hour=0, minute=0, second=0):
    return datetime.datetime(year, month, day, hour, minute, second, tzinfo=UTC)


@pytest.mark.parametrize("trigger, word", [
    ({}, "five fields"), ({"cron": "* * * *"}, "five fields"), ({"cron": "61 * * * *"}, "minute"), ({"cron": "0 0 30 2 *"}, "no day"), ({"cron": "@often"}, "@hourly"),
    ({"cron": "@daily", "timezone": "Mars/Olympus"}, "no such time zone"), ({"cron": "@daily", "timezone": "../../etc/passwd"}, "no such time zone"),
    ({"cron": "@daily", "timezone": 5}, "Europe/Berlin"), ({"cron": "@daily", "overlap": "kill"}, "overlap"), ({"cron": "@daily", "catch_up": 1}, "catch_up"),
    ({"cron": "@daily", "every": 5}, "every")])
def test_schedules_that_can_not_be(world, trigger, word):
    r = world.client.refused("POST", FLOWS, 400, "workflow.trigger_invalid", body={"name": "Bad", "source": TICK, "triggers": [{"type": "schedule", **trigger}]})
    assert r.errors == ["triggers.0"] and word in r.message


def test_a_schedule_starts_runs(world):
    world.clock(at(2030, 10, 26, 3, 58))
    id = world.flow(TICK, [{"type": "schedule", "name": "morning", "cron": "0 6 * * *", "timezone": "Europe/Berlin"},
                           {"type": "schedule", "name": "never", "cron": "0 6 * * *", "enabled": False}])
    world.clock(at(2030, 10, 26, 3, 59, 59))
    run, = over(world.client, id)
    assert run["status"] == "succeeded" and run["output"]["value"] == ["2030-10-26T04:00:00.000Z", "2030-10-26T06:00:00+02:00", "morning"]
    assert run["trigger"] == {"type": "schedule", "name": "morning", "cron": "0 6 * * *", "scheduled_at": "2030-10-26T04:00:00.000Z"}
    assert run["on_behalf_of"] is None and run["location_id"] is None and "2030-10-26T04:00:" in run["input"]["value"]["actual_at"]
    # where clocks change: 6:00 is an hour later in UTC
    world.clock(at(2030, 10, 27, 4, 59, 59))
    assert over(world.client, id, 2)[1]["output"]["value"][:2] == ["2030-10-27T05:00:00.000Z", "2030-10-27T06:00:00+01:00"]
    assert [r["id"] for r in runs(world.client, id, "&trigger_type=schedule")] == [r["id"] for r in runs(world.client, id)]


def test_times_that_were_missed(world):
    world.clock(at(2031, 1, 1, 1))
    ids = [world.flow(TICK, [{"type": "schedule", "cron": "0 6 * * *", "catch_up": catch_up}], f"Missed {catch_up}") for catch_up in (True, False)]
    world.clock(at(2031, 1, 9, 5, 30))  # nothing ran for days
    assert [r["output"]["value"][0] for r in over(world.client, ids[0])] == ["2031-01-08T06:00:00.000Z"]
    until(lambda: world.server.sql("SELECT bool_and(next_at > '2031-01-09 05:00Z') FROM workflows.schedule WHERE workflow_id = ANY (%s)", ids)[0][0])
    assert runs(world.client, ids[1]) == []
    world.clock(at(2031, 1, 9, 5, 59, 59))
    for id, n in zip(ids, (2, 1)):
        assert over(world.client, id, n)[-1]["output"]["value"][0] == "2031-01-09T06:00:00.000Z"


@pytest.mark.parametrize("overlap, ends", [("skip", ["skipped", "succeeded"]), ("queue", ["succeeded", "succeeded"])])
def test_overlap(world, overlap, ends):
    slow = "return {on_schedule = function() while not wharf.kv.get('go') do end return 1 end}"
    world.clock(at(2032, 1, 1, 5, 50))
    id = world.flow(slow, [{"type": "schedule", "cron": "0,1 6 * * *", "overlap": overlap}], concurrency={"key": "workflow"})
    world.clock(at(2032, 1, 1, 5, 59, 59))
    until(lambda: [r["status"] for r in runs(world.client, id)] == ["running"])
    world.clock(at(2032, 1, 1, 6, 0, 59))
    until(lambda: len(runs(world.client, id)) == 2)
    world.server.sql("INSERT INTO workflows.kv (organization_id, workflow_id, key, value) VALUES (%s, %s, 'go', 'true')", world.org.id, id)
    done = over(world.client, id, 2)
    assert sorted(r["status"] for r in done) == ends
    if overlap == "skip":
        assert next(r for r in done if r["status"] == "skipped")["error"] == {"code": "workflow.overlap", "message": "the run before was not over"}


def test_a_schedule_follows_its_workflow(world):
    def due():
        return world.server.sql("SELECT count(*) FROM workflows.schedule WHERE workflow_id = %s", id)[0][0]
    id = world.flow(TICK, [{"type": "schedule", "cron": "@daily"}, {"type": "schedule", "cron": "@hourly"}])
    assert due() == 2
    world.client.post(f"{FLOWS}/{id}", {"triggers": [{"type": "schedule", "cron": "@daily"}]}, expect=200)
    assert due() == 2  # a draft changes nothing
    world.client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    assert due() == 1
    world.client.post(f"{FLOWS}/{id}", {"enabled": False}, expect=200)
    assert due() == 0
    world.client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    assert due() == 0
    world.client.post(f"{FLOWS}/{id}", {"enabled": True}, expect=200)
    assert due() == 1
    world.client.delete(f"{FLOWS}/{id}")
    assert due() == 0


def test_once_however_many_look(world):
    """Several jobs look at the same time; and one whose job was lost is looked for."""
    world.clock(at(2033, 1, 1, 0, 30))
    ids = [world.flow(TICK, [{"type": "schedule", "cron": "0 * * * *"}], f"Once {i}") for i in range(3)]
    world.clock(at(2033, 1, 1, 0, 59, 59))
    for id in ids:
        assert len(over(world.client, id)) == 1


def test_who_does_not_wait(world):
    here, there = make_location(world.client, "W here")["id"], make_location(world.client, "W there")["id"]
    id = world.flow("""return {on_run = function(input, ctx)
  local a, e = wharf.api.get('/v1/locations/' .. input.id)
  return {e and e.code or a.id, ctx.run.trigger.type, ctx.location_id}
end}""", [{"type": "manual"}], scopes=["locations:read"])

    def run(caller, expect=202, **body):
        return caller.post(f"{FLOWS}/{id}/run", {"wait": False, **body}, expect=expect)
    r = run(world.client, input={"id": here}, location_id=there)
    assert r.data["status"] in ("queued", "running") + END and r.data["trigger"] == {"type": "manual"} and r.data["key"] == r.data["id"]
    done, = over(world.client, id)
    assert done["output"]["value"] == [here, "manual", there] and done["location_id"] == there and done["on_behalf_of"]
    # what the caller reaches counts when the run begins, as it does for those who wait
    bound = world.org.client("workflow:read", locations=[here])
    for wanted, told in ((here, here), (there, "location_access")):
        other = run(bound, input={"id": wanted}).data["id"]
        until(lambda: world.client.get(f"{FLOWS}/runs/{other}").data["status"] == "succeeded")
        assert world.client.get(f"{FLOWS}/runs/{other}").data["output"]["value"][0] == told
    world.client.post(f"{FLOWS}/{id}", {"allowed_locations": [there]}, expect=200)
    world.client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    both = world.org.client("workflow:read", locations=[here, there])
    other = run(both, input={"id": here}).data["id"]
    until(lambda: world.client.get(f"{FLOWS}/runs/{other}").data["status"] == "succeeded")
    assert world.client.get(f"{FLOWS}/runs/{other}").data["output"]["value"][0] == "location_access"
    run(both, 403, location_id=here)
    r = run(world.client, 400, version="draft")
    assert r.code == "validation.failed" and r.errors == ["wait"]
