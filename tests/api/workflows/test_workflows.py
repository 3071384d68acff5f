"""Workflows: drafts, checking, publishing, versions (spec 08 sections 1, 3 and 4). Runs: test_workflow_runs.py."""
import concurrent.futures
import time

import pytest

from test_workflow_runs import asked
from wharf import make_location

FLOWS = "/v1/workflows"
MANUAL = [{"type": "manual"}]
HELLO = "local M = {}\nfunction M.on_run(input, ctx) return {hello = input.name} end\nreturn M\n"


def flow(client, name="Hello", source=HELLO, **more):
    return client.post(FLOWS, {"name": name, "source": source, "triggers": MANUAL, **more}, expect=201).data


def test_a_draft(fresh):
    client = fresh.client()
    row = flow(client, description="Says hello", settings={"a": 1}, scopes=["locations:read"])
    assert row["object"] == "workflow" and row["id"].startswith("wkf_") and row["status"] == "draft" and row["has_draft"] is True
    assert row["enabled"] is True and row["version"] is None and row["allowed_locations"] is None and row["draft_revision"] == 1
    assert row["source"] == HELLO and row["files"] == {} and row["settings"] == {"a": 1}
    client.refused("POST", FLOWS, 409, "workflow.exists", ["name"], body={"name": "Hello", "source": HELLO})
    changed = client.post(f"{FLOWS}/{row['id']}", {"source": HELLO + "-- more", "if_revision": 1}, expect=200).data
    assert changed["draft_revision"] == 2
    client.refused("POST", f"{FLOWS}/{row['id']}", 409, "workflow.draft_conflict", ["if_revision"], body={"source": HELLO, "if_revision": 1})
    assert client.post(f"{FLOWS}/{row['id']}", {"enabled": False}, expect=200).data["draft_revision"] == 2
    listed = client.get(FLOWS + "?search=hello&status=all").data
    assert [w["id"] for w in listed] == [row["id"]] and "source" not in listed[0] and "files" not in listed[0]
    assert [w["id"] for w in client.get(FLOWS + "?status=all").data] == [row["id"]]
    client.refused("GET", FLOWS + "?status=any", 400, "param.invalid")
    assert client.get(FLOWS + "?status=published").data == [] and len(client.get(FLOWS + "?status=draft&enabled=false").data) == 1
    client.delete(f"{FLOWS}/{row['id']}")
    assert [e[0] for e in fresh.events(row["id"])] == ["workflow.created", "workflow.updated", "workflow.updated", "workflow.deleted"]


@pytest.mark.parametrize("more, code, errors", [
    ({"files": {"Lib": "return 1"}}, "validation.failed", ["files.Lib"]),
    ({"files": {"a..b": "return 1"}}, "validation.failed", ["files.a..b"]),
    ({"files": {"main": "return 1"}}, "validation.failed", ["files.main"]),
    ({"files": {"wharf.text": "return 1"}}, "validation.failed", ["files.wharf.text"]),
    ({"files": {"lib": 1}}, "validation.failed", ["files.lib"]),
    ({"files": {f"f{i}": "" for i in range(21)}}, "validation.failed", ["files"]),
    ({"files": {"a": "-" * 300000, "b": "-" * 300000}}, "validation.failed", ["files"]),
    ({"source": "-" * 262145}, "validation.failed", ["source"]),
    ({"settings": {"x": "y" * 66000}}, "validation.failed", ["settings"]),
    ({"scopes": ["everything:write"]}, "validation.failed", ["scopes.0"]),
    ({"scopes": ["locations:read", "locations"]}, "validation.failed", ["scopes.1"]),
    ({"triggers": [{"type": "timer"}]}, "workflow.trigger_invalid", ["triggers.0"]),
    ({"triggers": [{"type": "manual"}, {"type": "cron"}]}, "workflow.trigger_invalid", ["triggers.1"]),
    ({"triggers": [{"type": "manual", "cron": "@daily"}]}, "workflow.trigger_invalid", ["triggers.0"]),
    ({"triggers": [{"type": "manual"}, {"type": "manual"}]}, "workflow.trigger_invalid", ["triggers"])])
def test_what_may_not_stand_in_one(client, more, code, errors):
    client.refused("POST", FLOWS, 400, code, errors, body={"name": "Bad", "source": HELLO, **more})


def test_check(client):
    assert client.post(FLOWS + "/check", {"source": HELLO, "triggers": MANUAL}, expect=200).data == {"ok": True}
    for body, code, error in (
            ({"source": "local M = {\nx = = 1}"}, "workflow.compile_error", "check/main.lua:2: unexpected symbol near '='"),
            ({"source": "return {}", "files": {"lib": "return 1 1"}}, "workflow.compile_error", "check/lib.lua:1: <eof> expected near '1'"),
            ({"source": "return 5"}, "workflow.load_error", "main.lua returns no table of handlers; end it with 'return M'"),
            ({"source": "\nerror('no')"}, "workflow.load_error", "check/main.lua:2: no"),
            ({"source": "while true do end"}, "workflow.load_error",
             "check/main.lua:1: the run took more instructions than it may; do less, or in several runs"),
            ({"source": "local t = {} for i = 1, 1e5 do t[i] = ('x'):rep(1e6) end"}, "workflow.load_error",
             "check/main.lua:1: the run needed more memory than it may have"),
            # one instruction that never ends: its process is killed
            ({"source": "return ('a'):rep(40000):find(('.-'):rep(8) .. 'b')"}, "workflow.load_error", "the run took more time than it may"),
            ({"source": "return {}", "triggers": MANUAL}, "workflow.trigger_invalid",
             "check/main.lua: a trigger needs the function on_run in the table that main.lua returns"),
            ({"source": "wharf.api.get('/v1/locations')"}, "workflow.load_error",
             "check/main.lua:1: this is not available while the main file is loaded (op.unknown)")):
        r = client.refused("POST", FLOWS + "/check", 400, code, body=body)
        assert r.errors == [error] or error in r.errors[0], r.errors


def test_publish_and_roll_back(fresh):
    client = fresh.client()
    row = flow(client, source="return {on_run = function() return 1 end}")
    path = f"{FLOWS}/{row['id']}"
    client.refused("POST", path + "/run", 409, "workflow.not_published", body={})
    one = client.post(path + "/publish", {"note": "first"}, expect=200).data
    assert one["version"] == 1 and one["status"] == "published" and one["has_draft"] is False and one["published_at"]
    client.post(path, {"source": "return {on_run = function() return 2 end}"}, expect=200)
    assert client.get(path).data["has_draft"] is True
    assert asked(client, row["id"], {}).data["output"] == {"value": 1}  # the draft is not what runs
    assert asked(client, row["id"], {"version": "draft"}).data["output"] == {"value": 2}
    assert client.post(path + "/publish", {}, expect=200).data["version"] == 2
    assert asked(client, row["id"], {}).data["output"] == {"value": 2}
    back = client.post(path + "/publish", {"version": 1, "note": "back"}, expect=200).data
    assert back["version"] == 3 and back["source"].endswith("2 end}") and back["has_draft"] is True
    assert asked(client, row["id"], {}).data["output"] == {"value": 1}
    versions = client.get(path + "/versions").data
    assert [v["version"] for v in versions] == [3, 2, 1] and [v["note"] for v in versions] == ["back", None, "first"]
    assert versions[0]["sha256"] == versions[2]["sha256"] != versions[1]["sha256"] and "source" not in versions[0]
    assert client.get(path + "/versions?limit=1&page=2").data[0]["version"] == 2
    assert client.get(path + "/versions/2").data["source"].endswith("2 end}")
    for missing in ("9", "x"):
        client.refused("GET", f"{path}/versions/{missing}", 404, "not_found")
    client.refused("POST", path + "/publish", 404, "not_found", body={"version": 9})
    assert [e[0] for e in fresh.events(row["id"])].count("workflow.published") == 3


def test_discarding_a_draft(client):
    row = flow(client, name="Discard")
    path = f"{FLOWS}/{row['id']}"
    client.refused("POST", path + "/discard-draft", 409, "workflow.not_published", body={})
    client.post(path + "/publish", {}, expect=200)
    client.post(path, {"source": "return {}", "triggers": [], "settings": {"x": 1}}, expect=200)
    back = client.post(path + "/discard-draft", {}, expect=200).data
    assert back["source"] == HELLO and back["triggers"] == MANUAL and back["settings"] == {} and back["has_draft"] is False and back["version"] == 1


def test_code_that_does_not_end_when_it_is_read(fresh):
    """Code is run once to see what it returns; that may take two seconds."""
    client = fresh.client()
    source = "local _ = ('a'):rep(40000):find(('.-'):rep(8) .. 'b')\nreturn {}"
    for path, body in (("check", {"source": source, "triggers": MANUAL}), (flow(client, source=source)["id"] + "/publish", {})):
        client.refused("POST", f"{FLOWS}/{path}", 400, "workflow.load_error", ["the run took more time than it may"], body=body)


def test_nothing_is_published_that_does_not_work(client):
    row = flow(client, name="Broken", source="return {}")
    path = f"{FLOWS}/{row['id']}"
    r = client.refused("POST", path + "/publish", 400, "workflow.trigger_invalid", body={})
    assert "broken/main.lua" in r.errors[0]



def test_a_draft_that_changes_while_it_is_published(fresh):
    """What was tried is what is published: a draft that is written while its tests run is not."""
    client = fresh.client()
    row = flow(client, files={"main_test": "test.case('slow', function() for i = 1, 3e7 do end end)"})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        codes = []
        while "workflow.draft_conflict" not in codes:
            publish = pool.submit(fresh.client().post, f"{FLOWS}/{row['id']}/publish", {})
            while not publish.done():
                client.post(f"{FLOWS}/{row['id']}", {"description": str(len(codes))}, expect=200)
                client.post(f"{FLOWS}/{row['id']}", {"source": HELLO + f"-- {time.monotonic()}"}, expect=200)
            codes.append(publish.result().code)
            assert codes[-1] in (None, "workflow.draft_conflict") and len(codes) < 50
    assert client.get(f"{FLOWS}/{row['id']}").data["status"] in ("draft", "published")


def test_tests_pass_before_it_is_published(client, request):
    """The runner is that of `wharf lua test` (tests/lua), in a cell; here: that it is asked, and what is told."""
    good = """test.case("says hello", function() test.eq(test.run("on_run", {name = "Bo"}).output.hello, "Bo") end)
test.case("knows events", function() test.eq(test.event("location.created").resource_type, "location") end)
test.case("zones", function() test.eq(wharf.time.format(0, "%H", "Europe/Berlin"), "01") end)
test.skip("later", function() error("no") end)"""
    bad = """test.case("is wrong", function()
  test.eq(test.run("on_run", {name = "Bo"}).output.hello, "Al")
end)
test.case("is right", function() end)
test.case("asks", function() wharf.api.get("/v1/locations") end)"""
    row = flow(client, name="Tested", files={"lib": "return {}", "main_test": good, "lib.a_test": bad, "z_test": "test.case("})
    path = f"{FLOWS}/{row['id']}"
    r = client.refused("POST", path + "/publish", 400, "workflow.compile_error", body={})
    client.post(path, {"files": {"lib": "return {}", "main_test": good, "lib.a_test": bad, "z_test": "error('no')"}}, expect=200)
    r = client.refused("POST", path + "/publish", 400, "workflow.tests_failed", body={})
    errors = sorted(r.errors)
    assert errors[0] == 'tested/lib.a_test.lua:2: is wrong: got "Bo", expected "Al"' and errors[2] == "tested/z_test.lua:1: no"
    assert errors[1].startswith("tested/lib.a_test.lua:5: asks: nothing answers GET /v1/locations") and len(errors) == 3
    assert client.get(path).data["version"] is None
    assert client.post(path + "/publish", {"run_tests": False}, expect=200).data["version"] == 1
    client.post(path, {"files": {"lib": "return {}", "main_test": good}}, expect=200)
    assert client.post(path + "/publish", {}, expect=200).data["version"] == 2
    inside = """test.case('m', function() test.file('main', 'return {on_run = function() error("inside") end}') test.eq(test.run('on_run', {}).status, 'succeeded') end)"""
    client.post(path, {"files": {"m_test": inside}}, expect=200)
    errors = client.refused("POST", path + "/publish", 400, "workflow.tests_failed", body={}).errors
    assert errors == ['tested/m_test.lua:1: m: got "failed", expected "succeeded"', "tested/main.lua:1: on_run: inside"]
    client.post(path, {"files": {"m_test": "test.case('m', function() local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end end)"}}, expect=200)
    assert "more memory" in client.refused("POST", path + "/publish", 400, "workflow.tests_failed", body={}).errors[0]
    if request.config.getoption("--long"):  # ten seconds
        client.post(path, {"files": {"m_test": "test.case('m', function() return ('a'):rep(40000):find(('.-'):rep(8) .. 'b') end)"}}, expect=200)
        client.refused("POST", path + "/publish", 400, "workflow.tests_failed", body={})


def test_publishing_needs_every_scope(org, client):
    row = flow(client, name="Scopes", scopes=["locations:read", "users:write"])
    path = f"{FLOWS}/{row['id']}/publish"
    poor = org.client("workflow:write,locations:read")
    poor.refused("POST", path, 403, "scope_access", ["users:write"], body={})
    assert org.client("workflow:write,locations:read,users:write").post(path, {}, expect=200).data["version"] == 1
    org.client("workflow:read").refused("POST", path, 403, "scope_access", ["workflow:write"], body={})


def test_locations(fresh):
    client = fresh.client()
    here, there = (make_location(client, name)["id"] for name in ("Here", "There"))
    mine, theirs, everywhere = (flow(client, name=n, allowed_locations=a)["id"] for n, a in (("mine", [here]), ("theirs", [there]), ("all", [])))
    assert client.get(f"{FLOWS}/{mine}").data["allowed_locations"] == [here] and client.get(f"{FLOWS}/{everywhere}").data["allowed_locations"] is None
    bound = fresh.client("workflow:write", locations=[here])
    assert {w["id"] for w in bound.get(FLOWS + "?status=all").data} == {mine, everywhere}
    bound.refused("GET", f"{FLOWS}/{theirs}", 403, "location_access")
    bound.refused("POST", f"{FLOWS}/{theirs}/publish", 403, "location_access", body={})
    assert set(client.get(f"{FLOWS}?location_id={there}&status=all").ids) >= {theirs}
    client.refused("POST", FLOWS, 400, "validation.failed", body={"name": "x", "source": HELLO, "allowed_locations": ["loc_0000000000000000000000"]})
    bound.refused("POST", FLOWS, 403, "location_access", ["allowed_locations"], body={"name": "no list", "source": HELLO})
    bound.refused("POST", f"{FLOWS}/{mine}", 403, "location_access", ["allowed_locations"], body={"allowed_locations": None})
    assert bound.post(FLOWS, {"name": "listed", "source": HELLO, "allowed_locations": [here]}, expect=201).data["allowed_locations"] == [here]
    client.post(f"{FLOWS}/{mine}/publish", {}, expect=200)
    assert asked(client, mine, {"input": {"name": "x"}, "location_id": here}).data["location_id"] == here
    client.refused("POST", f"{FLOWS}/{mine}/run", 403, "location_access", body={"location_id": there})


def test_long_values_are_cut_in_the_change_log(fresh):
    """After 16,000 characters, whatever bytes they have (spec 01 section 13)."""
    client = fresh.client()
    id = flow(client)["id"]
    for n in (16000, 16001):
        client.post(f"{FLOWS}/{id}", {"settings": {"text": "\u20ac" * n, "more": n}}, expect=200)
    first, second = (changes for changes, in fresh.server.sql("SELECT changes FROM wharf.change_log WHERE resource_id = %s AND action = 'updated' ORDER BY created_at, id", id))
    whole, cut = (next(c for c in changes if c["field"] == "settings.text") for changes in (first, second))
    assert whole == {"field": "settings.text", "old": None, "new": "\u20ac" * 16000}
    assert cut == {"field": "settings.text", "old": "\u20ac" * 16000, "new": "\u20ac" * 16000, "truncated": True}
    assert {"field": "settings.more", "old": 16000, "new": 16001} in second


def test_answers_of_over_a_mebibyte(fresh):
    """An Idempotency-Key keeps the row's id and reads it again (spec 01 section 8)."""
    mine, long = fresh.client(), "\n" * 262_130
    body = {"name": "Large", "source": "return {} " + long, "files": {"more.lua": long + "\n" * 14}}
    key = {"Idempotency-Key": "large"}
    first = mine.post("/v1/workflows", body, headers=key, expect=201)
    assert len(first.raw.content) > 1 << 20
    where = f"/v1/workflows/{first.data['id']}"
    assert "ETag" in mine.get(where).headers and "ETag" in mine.get("/v1/workflows").headers
    again = mine.post("/v1/workflows", body, headers=key, expect=201)
    assert again.headers["Idempotent-Replayed"] == "true" and again.data == first.data


def test_lists_are_narrowed(server):
    """By kinds of triggers; source only where it is asked for, by who may write."""
    mine = server.organization()
    client = mine.client()

    def make(name, *triggers):
        return client.post("/v1/workflows", {"name": name, "source": "return {}", "files": {"a": "return 1"}, "triggers": list(triggers)}, expect=201).data["id"]
    by_hand, daily, both = make("hand", {"type": "manual"}), make("daily", {"type": "schedule", "cron": "@daily"}), make("both", {"type": "manual"}, {"type": "http", "path": "x"})
    assert sorted(client.get("/v1/workflows?status=all&trigger_type=manual").ids) == sorted([by_hand, both])
    assert client.get("/v1/workflows?status=all&trigger_type=http").ids == [both] and client.get("/v1/workflows?status=all&trigger_type=schedule").ids == [daily]
    assert client.get("/v1/workflows?status=all&trigger_type=hook").ids == []
    plain, full = client.get("/v1/workflows?status=all").data, client.get("/v1/workflows?status=all&include_source=true").data
    assert all("source" not in w and "files" not in w for w in plain) and all((w["source"], w["files"]) == ("return {}", {"a": "return 1"}) for w in full)
    assert all("source" not in w for w in mine.client(scopes="workflow:read").get("/v1/workflows?status=all&include_source=true").data)


def test_how_many_there_may_be(server):
    """200 in an organization; what was deleted makes room."""
    client = server.organization().client()
    ids = [client.post("/v1/workflows", {"name": f"Flow {i}", "source": "return {}"}, expect=201).data["id"] for i in range(200)]
    client.refused("POST", "/v1/workflows", 400, "workflow.limit", body={"name": "One more", "source": "return {}"})
    client.delete(f"/v1/workflows/{ids[0]}")
    client.post("/v1/workflows", {"name": "One more", "source": "return {}"}, expect=201)
