"""What the input of a run by hand has to be (input_schema), and where in the code a problem lies, for editors (violations; spec 08 sections 3 and 4)."""
import pytest

from test_workflow_events import over
from test_workflow_runs import asked
from wharf import make_location, until

FLOWS = "/v1/workflows"
SCHEMA = {"type": "object", "required": ["parcel"], "additionalProperties": False, "properties": {
    "parcel": {"type": "object", "required": ["weight"], "properties": {"weight": {"type": "number", "minimum": 0}}},
    "tags": {"type": "array", "maxItems": 3, "items": {"type": "string", "pattern": "^[a-z]+$"}}}}
SOURCE = "return {on_run = function(input) return input end}"
PROBLEM = {"Accept": "application/problem+json"}


def flow(client, schema, name="Weigh", **more):
    body = {"name": name, "source": SOURCE, "triggers": [{"type": "manual", "input_schema": schema}], **more}
    return client.post(FLOWS, body, expect=201).data["id"]


def published(client, schema, **more):
    id = flow(client, schema, **more)
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    return id


def test_input_has_to_fit(fresh):
    client = fresh.client()
    id = published(client, SCHEMA)
    path = f"{FLOWS}/{id}"
    assert asked(client, id, {"input": {"parcel": {"weight": 2}}}).data["output"] == {"value": {"parcel": {"weight": 2}}}
    for body, errors in (
            ({}, ["input.parcel"]), ({"input": 5}, ["input"]), ({"input": None}, ["input"]), ({"input": {"parcel": {}}}, ["input.parcel.weight"]),
            ({"input": {"parcel": {"weight": -1}, "tags": ["a", "B"], "more": 1}}, ["input.parcel.weight", "input.tags.1", "input.more"])):
        for more in ({}, {"wait": False}, {"version": "draft"}):
            r = client.refused("POST", path + "/run", 400, "validation.failed", body={**body, **more})
            assert sorted(r.errors) == sorted(errors), r
    assert len(client.get(path + "/runs").data) == 1  # nothing was run or queued of what was refused
    client.post(path + "/run", {"input": {"parcel": {"weight": 1}}, "wait": False}, expect=202)
    told = client.request("POST", path + "/run", {"input": {"parcel": {"weight": "1"}}}, headers=PROBLEM).raw.json()
    assert [(v["path"], v["rule"]) for v in told["violations"]] == [("input.parcel.weight", "type")]


def test_where_the_schema_is_shown(fresh):
    client = fresh.client()
    id = published(client, SCHEMA)
    path = f"{FLOWS}/{id}"
    wanted = [{"type": "manual", "input_schema": SCHEMA}]
    assert client.get(path).data["triggers"] == client.get(path + "/versions").data[0]["triggers"] == client.get(path + "/versions/1").data["triggers"] == wanted
    assert client.get(FLOWS + "/sync").data["workflows"][0]["triggers"] == wanted
    doc = fresh.server.openapi
    assert "input_schema" in doc["paths"]["/v1/workflows/{workflow}/run"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]["input"]["description"]
    # each version has its own; the draft another one
    client.post(path, {"triggers": [{"type": "manual", "input_schema": {"type": "integer"}}]}, expect=200)
    client.refused("POST", path + "/run", 400, "validation.failed", ["input"], body={"input": 5})
    assert asked(client, id, {"input": 5, "version": "draft"}).data["output"] == {"value": 5}
    client.post(path + "/publish", {}, expect=200)
    assert asked(client, id, {"input": 5}).data["output"] == {"value": 5}
    # null and a trigger that is off: nothing is asked for
    client.post(path, {"triggers": [{"type": "manual", "input_schema": None}]}, expect=200)
    assert asked(client, id, {"input": "any", "version": "draft"}).data["output"] == {"value": "any"}


@pytest.mark.parametrize("schema, says", [
    (5, "a schema is an object"), ({"type": "text"}, "/type: type is one of"), ({"typo": 1}, "/typo"), ({"properties": {"a": {"pattern": "("}}}, "/properties/a/pattern"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "ref"), ({"description": "x" * 17000}, "at most 16 KiB"),
    ({"properties": {f"p{i}": {"pattern": "a"} for i in range(21)}}, "at most 20 patterns"), ({"patternProperties": {f"a{i}": {} for i in range(21)}}, "at most 20 patterns")])
def test_schemas_that_are_none(client, schema, says):
    body = {"name": "Bad schema", "source": SOURCE, "triggers": [{"type": "manual", "input_schema": schema}]}
    for path in (FLOWS, FLOWS + "/check"):
        r = client.refused("POST", path, 400, "workflow.trigger_invalid", ["triggers.0.input_schema"], body=body if path == FLOWS else {k: body[k] for k in ("source", "triggers")})
        assert says in r.message, r.message
    client.refused("POST", FLOWS, 400, "workflow.trigger_invalid", ["triggers.0"], body={**body, "triggers": [{"type": "manual", "input_schemas": {}}]})


def nested(depth):
    v = {}
    for _ in range(depth):
        v = {"x": v}
    return v


@pytest.mark.parametrize("schema, value", [
    # each level doubles the work of the one below
    ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}}}, nested(50)),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"not": {"anyOf": [{"not": {"$ref": "#/$defs/a"}}, {"not": {"$ref": "#/$defs/a"}}]}}}}}}, nested(50)),
    # a pattern that keeps thousands of states at once, over a long text
    ({"pattern": "(a?){2000}b"}, "a" * 500_000),
    ({"type": "array", "items": {"anyOf": [{"const": i} for i in range(1000)]}}, [999] * 200_000)],
    ids=["doubling", "doubling in not", "pattern", "alternatives"])
def test_no_schema_takes_longer_than_it_may(fresh, schema, value):
    client = fresh.client()
    id = published(client, schema)
    r = client.refused("POST", f"{FLOWS}/{id}/run", 400, "validation.failed", body={"input": value})
    assert r.errors[-1] == "input" and "takes too long to be compared" in r.body["message"], r.body
    small = [5] if isinstance(value, list) else "ab" if isinstance(value, str) else nested(1)
    asked(client, id, {"input": small})


def test_many_problems(fresh):
    """The first fifty are told."""
    client = fresh.client()
    id = published(client, {"items": {"type": "string"}})
    r = client.refused("POST", f"{FLOWS}/{id}/run", 400, "validation.failed", body={"input": list(range(1000))})
    assert r.errors == [f"input.{i}" for i in range(50)]


# ---- where in the code ----

def violations(client, path, body, code):
    r = client.request("POST", path, body, headers=PROBLEM)
    told = r.raw.json()
    assert (r.status, told["code"]) == (400, code), told
    assert all(v["path"] in told["errors"] and v["rule"] for v in told["violations"])
    return [{k: v for k, v in x.items() if k not in ("path", "rule")} for x in told["violations"]]


def test_violations_say_where_in_the_code(fresh):
    client = fresh.client()
    long = "local a = 1\nlocal b = 2\nlocal c = 3\nx = = 1\nlocal d = 4\nlocal e = 5\nlocal f = 6\n"
    around = [{"line": 2, "text": "local b = 2"}, {"line": 3, "text": "local c = 3"}, {"line": 4, "text": "x = = 1"}, {"line": 5, "text": "local d = 4"}, {"line": 6, "text": "local e = 5"}]
    wanted = [{"file": "main.lua", "line": 4, "message": "unexpected symbol near '='", "snippet": around}]
    assert violations(client, FLOWS + "/check", {"source": long}, "workflow.compile_error") == wanted
    id = client.post(FLOWS, {"name": "Places", "source": long, "triggers": [{"type": "manual"}]}, expect=201).data["id"]
    path = f"{FLOWS}/{id}"
    assert violations(client, path + "/publish", {}, "workflow.compile_error") == wanted
    (v,) = violations(client, FLOWS + "/check", {"source": "return {}", "files": {"lib": "return 1 1"}}, "workflow.compile_error")
    assert (v["file"], v["line"], v["snippet"]) == ("lib.lua", 1, [{"line": 1, "text": "return 1 1"}])
    (v,) = violations(client, FLOWS + "/check", {"source": "local M = {}\nerror('no')"}, "workflow.load_error")
    assert (v["file"], v["line"], v["message"], v["snippet"][-1]) == ("main.lua", 2, "no", {"line": 2, "text": "error('no')"})
    (v,) = violations(client, FLOWS + "/check", {"source": "return {}", "triggers": [{"type": "manual"}]}, "workflow.trigger_invalid")
    assert v["file"] == "main.lua" and "on_run" in v["message"]
    tests = "test.case('one', function()\n  test.eq(1, 2)\nend)\ntest.case('two', function() error('no') end)"
    client.post(path, {"source": SOURCE, "files": {"main_test": tests}}, expect=200)
    one, two = violations(client, path + "/publish", {}, "workflow.tests_failed")
    assert (one["file"], one["line"], one["snippet"][1]) == ("main_test.lua", 2, {"line": 2, "text": "  test.eq(1, 2)"})
    assert (two["file"], two["line"], two["message"]) == ("main_test.lua", 4, "no")
    # the usual form says the same in its errors
    assert client.refused("POST", FLOWS + "/check", 400, "workflow.compile_error", body={"source": long}).errors == ["check/main.lua:4: unexpected symbol near '='"]


def test_schedules_and_events_of_before_are_run_by_hand(org):
    """A schedule as if it were due now; a draft with an event that was: for who may write workflows."""
    c, reader = org.client(), org.client("workflow:read")
    source = """return {on_schedule = function(tick, ctx) return {tick.scheduled_at == tick.actual_at, tick.local_time, ctx.run.trigger.by_hand} end,
on_event = function(ev, ctx) if ev.data.name == 'X' then wharf.api.get('/v1/locations') end return {ev.data.name, ctx.event_id} end}"""
    body = {"name": "By hand", "source": source, "triggers": [{"type": "schedule", "cron": "@yearly", "timezone": "Asia/Tokyo"}, {"type": "event", "events": ["location.updated"]}], "record": {"runs": "errors"}}
    id = c.post("/v1/workflows", body, expect=201).data["id"]
    run = f"/v1/workflows/{id}/run"
    event = {"id": "evt_0000000000000000000000", "type": "location.updated", "data": {"name": "Dock"}}
    out = c.post(run, {"version": "draft", "trigger": "event", "input": event}, expect=200).data
    assert out["output"] == {"value": ["Dock", event["id"]]} and out["trigger"]["type"] == "event" and out["version"] is None
    c.post(f"/v1/workflows/{id}/publish", {}, expect=200)
    made = c.post(run, {"trigger": "schedule"}, expect=200).data
    same, local, by_hand = made["output"]["value"]
    assert same and by_hand and local[11:13] != made["started_at"][11:13] and made["status"] == "succeeded" and made["trigger"]["type"] == "schedule"
    later = c.post(run, {"trigger": "schedule", "wait": False}, expect=202).data["id"]
    until(lambda: c.request("GET", f"/v1/workflows/runs/{later}", check=False).status == 404)  # it succeeded: record.runs is errors
    c.refused("POST", run, 400, "validation.failed", ["trigger"], body={"trigger": "event", "input": event})
    c.refused("POST", run, 400, "validation.failed", ["input"], body={"trigger": "schedule", "input": {}})
    c.refused("POST", run, 400, "validation.failed", ["trigger"], body={"trigger": "moon"})
    c.refused("POST", run, 400, "workflow.trigger_invalid", [], body={})
    reader.refused("POST", run, 403, "scope_access", None, body={"trigger": "schedule"})


LIGHT = {"type": "object", "properties": {"data": {"type": "object", "required": ["metadata"], "properties": {"name": {"type": "string", "maxLength": 5}, "metadata": {"type": "object", "required": ["dock"]}}}}}


def test_an_event_has_to_fit(fresh):
    """One that does not is a rejected run with the paths of what is wrong: no code ran, it is not tried again, and nothing is disabled by it."""
    client = fresh.client()
    source = "return {on_event = function(ev, ctx) return ev.data.name end}"
    trigger = {"type": "event", "name": "light", "events": ["location.created"], "input_schema": LIGHT}
    client.refused("POST", FLOWS, 400, "workflow.trigger_invalid", ["triggers.0.input_schema"], body={"name": "E", "source": source, "triggers": [{**trigger, "input_schema": {"type": "text"}}]})
    id = client.post(FLOWS, {"name": "E", "source": source, "triggers": [trigger]}, expect=201).data["id"]
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    make_location(client, "Harbour", metadata={"gate": "1"})
    make_location(client, "Dock", metadata={"dock": "1"})
    good, bad = sorted(over(client, id, 2), key=lambda r: r["status"] == "rejected")
    assert (good["status"], good["output"]) == ("succeeded", {"value": "Dock"})
    assert (bad["status"], bad["error"]["code"], bad["error"]["custom"], bad["attempt"], bad["output"]) == ("rejected", "workflow.rejected", "input_schema", 1, None)
    assert "event.data.name" in bad["error"]["message"] and "event.data.metadata.dock" in bad["error"]["message"], bad["error"]
    assert bad["usage"]["instructions"] == 0 and bad["input"]["value"]["data"]["name"] == "Harbour"
    assert client.get(f"{FLOWS}/{id}").data["failure_streak"] == 0
    # of a schema that was mended, the run done again is judged anew
    client.post(f"{FLOWS}/{id}", {"triggers": [{**trigger, "input_schema": {"type": "object"}}]}, expect=200)
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    again = client.post(f"{FLOWS}/runs/{bad['id']}/retry", {}, expect=202).data["id"]
    assert until(lambda: client.get(f"{FLOWS}/runs/{again}").data["output"]) == {"value": "Harbour"}


def test_what_does_not_fit_is_told_without_secrets(fresh):
    """A name of a member may be one (spec 08 section 6, rule 11)."""
    client = fresh.client()
    schema = {"type": "object", "properties": {"data": {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"dock": {"type": "string"}}, "additionalProperties": False}}}}}
    id = client.post(FLOWS, {"name": "S", "source": "return {on_event = function() end}", "secrets": {"GATE": "s3cretgate"},
                             "triggers": [{"type": "event", "events": ["location.created"], "input_schema": schema}]}, expect=201).data["id"]
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    make_location(client, "Dock", metadata={"s3cretgate": "1"})
    run, = over(client, id)
    assert run["status"] == "rejected" and "event.data.metadata.[secret:GATE]" in run["error"]["message"] and "s3cretgate" not in str(run), run["error"]


def test_an_event_fits_one_of_the_triggers_that_take_it(fresh):
    """Triggers of the same types are told apart by their names; of those without one, one is enough. A draft is tried with an event by the same rule."""
    client = fresh.client()
    source = "return {on_event = function(ev, ctx) return ctx.run.trigger.name or 'nameless' end}"

    def named(name, longest, **more):
        schema = {"type": "object", "properties": {"data": {"type": "object", "properties": {"name": {"type": "string", "maxLength": longest}}}}}
        return {"type": "event", "events": ["location.*"], "input_schema": schema, **({"name": name} if name else {}), **more}

    def judged(name, *triggers):
        id = client.post(FLOWS, {"name": name, "source": source, "triggers": list(triggers)}, expect=201).data["id"]
        client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
        make_location(client, "Harbour")
        status = over(client, id)[0]["status"]
        client.post(f"{FLOWS}/{id}", {"enabled": False}, expect=200)
        event = {"id": "evt_0000000000000000000000", "type": "location.created", "data": {"name": "Harbour"}}
        draft = client.request("POST", f"{FLOWS}/{id}/run", {"version": "draft", "trigger": "event", "input": event}, check=False)
        if draft.status != 200:
            assert (draft.status, draft.body["code"], draft.errors) == (400, "validation.failed", ["input"]) and "event.data.name" in draft.body["message"], draft.body
        return status, draft.status

    assert judged("first", named("a", 3), named("b", 30)) == ("rejected", 200)
    assert judged("second", named(None, 3), named(None, 30)) == ("succeeded", 200)
    assert judged("third", named("a", 3), named("a", 3), named("a", 30, enabled=False)) == ("rejected", 400)
