"""`wharf lua run`, `pull`, `push` and `publish`: one run by hand, and a folder and the draft on a server (spec 08 section 8)."""
import json
import sys

import pytest

from author import ROOT, lua, write

sys.path.insert(0, str(ROOT / "tests" / "api"))
from wharf import Server, make_location, until  # noqa: E402

MAIN = """local M = {}
function M.on_run(input, ctx)
  local data, err = wharf.api.get("/v1/locations", {search = input.search, limit = 5})
  print("asked", wharf.time.iso())
  if err then wharf.fail(err.code) end
  return {names = wharf.table.map(data, function(l) return l.name end)}
end
function M.on_event(ev) return {type = ev.type} end
return M
"""


@pytest.fixture(scope="module")
def org():
    s = Server("--modules", "org,locations,batches,events,webhooks,workflows,parcels,stations")
    yield s.organization()
    s.stop()


@pytest.fixture
def flow(tmp_path):
    return write(tmp_path / "f", {"main.lua": MAIN, "workflow.json": '{"name": "F", "triggers": [{"type": "manual"}], "scopes": ["locations:read"]}\n',
                                  "lib/names.lua": "return {}\n", "lib/names_test.lua": "test.case('x', function() test.ok(true) end)\n"})


def at(org, key=None):
    """Environment of commands that talk to the server."""
    return {"PATH": "/usr/bin", "WHARF_SERVER": org.server.base, "WHARF_KEY": key or org.key("all")}


def test_one_run_against_stubs(flow, tmp_path):
    write(tmp_path, {"in.json": '{"search": "D"}', "stubs.lua": 'test.api("GET", "/v1/locations", {data = {{name = "Dock"}}})\ntest.clock("2026-01-02T03:04:05Z")\n',
                     "ev.json": '{"type": "parcel.created"}', "no.json": "{"})
    r = lua("run", flow, "--trigger", "manual", "--input", tmp_path / "in.json", "--stubs", tmp_path / "stubs.lua")
    told = json.loads(r.stdout)
    assert (r.returncode, r.stderr) == (0, "") and told["output"] == {"names": ["Dock"]} and told["status"] == "succeeded"
    assert told["api"][0]["query"] == {"search": "D", "limit": 5} and told["logs"][0]["message"] == "asked\t2026-01-02T03:04:05.000Z" and told["http"] == []
    assert json.loads(lua("run", flow, "--trigger", "event", "--input", tmp_path / "ev.json").stdout)["output"] == {"type": "parcel.created"}
    r = lua("run", flow, "--trigger", "manual", "--input", tmp_path / "in.json")
    assert r.returncode == 2 and "nothing answers GET /v1/locations" in r.stderr
    r = lua("run", flow, "--trigger", "http")
    assert r.returncode == 1 and "there is no function 'on_http'" in json.loads(r.stdout)["error"]["message"]
    for args in (["--trigger", "moon"], [], ["--trigger", "manual", "--input", tmp_path / "no.json"], ["--trigger", "manual", "--input", "nowhere"],
                 ["--trigger", "manual", "--stubs", "nowhere"], ["--trigger", "manual", "--live"]):
        assert lua("run", flow, *args, env={"PATH": "/usr/bin"}).returncode == 3, args
    assert "nowhere: there is no such file\n" in lua("run", flow, "--trigger", "manual", "--input", "nowhere").stderr
    assert "no.json:1:2: is no JSON: " in lua("run", flow, "--trigger", "manual", "--input", tmp_path / "no.json").stderr
    write(tmp_path, {"g/main.lua": "return {on_run = function() return 'g' end}"})
    r = lua("run", tmp_path / "g/main.lua", "--trigger", "manual")
    assert json.loads(r.stdout)["output"] == "g"
    (tmp_path / "stubs.lua").unlink()  # a folder of two folders names no code to run
    r = lua("run", tmp_path, "--trigger", "manual")
    assert r.returncode == 3 and "has 2 folders of Lua files; name one of them, such as" in r.stderr and not r.stdout


def test_input_of_a_run_by_hand_has_to_fit(flow, tmp_path):
    schema = '{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}'
    write(flow, {"main.lua": "return {on_run = function(input) return input.n end, on_event = function() return 1 end}",
                 "workflow.json": '{"name": "F", "triggers": [{"type": "manual", "input_schema": %s}]}' % schema})
    write(tmp_path, {"in.json": '{"n": 5}', "bad.json": '{"n": "5"}'})
    assert json.loads(lua("run", flow, "--trigger", "manual", "--input", tmp_path / "in.json").stdout)["output"] == 5
    for args, told in ((["--input", tmp_path / "bad.json"], "input.n must be a whole number"), ([], "input.n is required")):
        r = lua("run", flow, "--trigger", "manual", *args)
        assert r.returncode == 2 and told in r.stderr and not r.stdout, r
    assert lua("run", flow, "--trigger", "event", "--input", tmp_path / "bad.json").returncode == 0  # it is the manual trigger's
    write(flow, {"workflow.json": '{"name": "F", "triggers": [{"type": "event", "events": ["parcel.*"], "input_schema": %s}]}' % schema})
    for text, code, told in (('{"type": "parcel.created", "n": "5"}', 2, "event.n must be a whole number"), ('{"type": "parcel.created", "n": 5}', 0, ""),
                             ('{"type": "location.created"}', 0, "")):  # which that trigger does not take
        write(tmp_path, {"ev.json": text})
        r = lua("run", flow, "--trigger", "event", "--input", tmp_path / "ev.json")
        assert r.returncode == code and told in r.stderr, r


def test_one_run_of_hooks(tmp_path):
    write(tmp_path, {"h/10-a.lua": "wharf.hook.before('location', 'create', function(c) c.input.n = 1 end)", "in.json": '{"resource": "location", "action": "create", "input": {}}'})
    assert json.loads(lua("run", tmp_path / "h", "--trigger", "before", "--input", tmp_path / "in.json").stdout)["input"] == {"n": 1}


def test_one_run_against_a_server(flow, org, tmp_path):
    for name in ("Dock & Yard", "Door"):
        make_location(org.client(), name=name)
    write(tmp_path, {"in.json": '{"search": "dock & y"}'})
    r = lua("run", flow, "--trigger", "manual", "--input", tmp_path / "in.json", "--live", env=at(org))
    assert json.loads(r.stdout)["output"] == {"names": ["Dock & Yard"]}, r.stderr
    r = lua("run", flow, "--trigger", "manual", "--input", tmp_path / "in.json", "--live", env=at(org, org.key("events:read")))
    assert r.returncode == 1 and json.loads(r.stdout)["error"]["message"] == "scope_access"
    r = lua("run", flow, "--trigger", "manual", "--input", tmp_path / "in.json", "--live", "--server", "http://127.0.0.1:9", env=at(org))
    assert json.loads(r.stdout)["error"]["message"] == "unavailable"


def test_a_folder_and_its_draft(flow, org, tmp_path):
    env, client = at(org), org.client()
    r = lua("push", flow, env=env)
    assert r.returncode == 0, r.stderr
    manifest = json.loads((flow / "workflow.json").read_text())
    row = client.get(f"/v1/workflows/{manifest['id']}").data
    assert r.stdout == f"{flow}: draft 1 of {row['id']}\n" and row["source"] == MAIN and set(row["files"]) == {"lib.names", "lib.names_test"}
    assert row["scopes"] == ["locations:read"] and row["triggers"] == [{"type": "manual"}] and manifest["draft_revision"] == 1
    r = lua("publish", flow, "--note", "one", env=env)
    assert (r.returncode, r.stdout) == (0, f"{row['id']}: version 1 is published\n")
    assert client.get(f"/v1/workflows/{row['id']}/versions").data[0]["note"] == "one"

    other = tmp_path / "other"
    assert lua("pull", row["id"], other, env=env).returncode == 0
    assert {p.relative_to(other).as_posix(): p.read_text() for p in other.rglob("*") if p.is_file()} == {
        p.relative_to(flow).as_posix(): p.read_text() for p in flow.rglob("*") if p.is_file()}
    write(other, {"main.lua": MAIN.replace("limit = 5", "limit = 6")})
    assert lua("push", row["id"], other, env=env).stdout == f"{other}: draft 2 of {row['id']}\n"
    r = lua("push", flow, env=env)
    assert r.returncode == 1 and "workflow.draft_conflict, 409" in r.stderr and "  if_revision\n" in r.stderr
    assert lua("push", flow, "--force", env=env).returncode == 0 and client.get(f"/v1/workflows/{row['id']}").data["source"] == MAIN
    write(flow, {"main.lua": "return {}"})
    assert lua("push", flow, env=env).returncode == 0
    r = lua("publish", row["id"], env=env)
    assert r.returncode == 1 and "workflow.trigger_invalid" in r.stderr and "  f/main.lua: " in r.stderr


def files_of(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name[0] != "."}


def test_pull_takes_away_what_the_draft_lost(flow, org, tmp_path):
    """A module that was deleted on the server does not come back with the next push; what nobody pushed is never lost."""
    env, client, other = at(org), org.client(), tmp_path / "other"
    write(flow, {"workflow.json": '{"name": "Lost", "triggers": [{"type": "manual"}]}'})
    assert lua("push", flow, env=env).returncode == 0
    id = json.loads((flow / "workflow.json").read_text())["id"]
    assert lua("pull", id, other, env=env).returncode == 0
    for folder in (flow, other):  # one that was pushed, one that was pulled
        client.post(f"/v1/workflows/{id}", {"files": {"lib.names": "return {}\n", "deep.er.one": "return 1\n"}}, expect=200)
        assert lua("pull", id, folder, env=env).returncode == 0
        client.post(f"/v1/workflows/{id}", {"files": {"lib.names": "return {}\n"}}, expect=200)
        write(folder, {"mine.lua": "return 'mine'\n"})
        r = lua("pull", id, folder, env=env)
        assert r.returncode == 0, r.stderr
        assert f"{folder}/deep/er/one.lua: removed" in r.stdout and f"{folder}/mine.lua: is not in the draft; it stays" in r.stderr
        assert files_of(folder) == {"main.lua", "workflow.json", "lib/names.lua", "mine.lua"} and not (folder / "deep").exists()
        (folder / "mine.lua").unlink()
        assert lua("push", folder, env=env).returncode == 0 and set(client.get(f"/v1/workflows/{id}").data["files"]) == {"lib.names"}
        assert lua("pull", id, flow, env=env).returncode == lua("pull", id, other, env=env).returncode == 0
    # changes that were not pushed: of a file that changed there, that is gone there, of workflow.json
    client.post(f"/v1/workflows/{id}", {"source": MAIN + "-- theirs\n", "files": {}, "description": "theirs"}, expect=200)
    manifest = (flow / "workflow.json").read_text()
    for name, text in (("lib/names.lua", "return {1}\n"), ("main.lua", MAIN + "-- mine\n"), ("workflow.json", manifest.replace('"name": "Lost"', '"name": "Mine"'))):
        before = {n: (flow / n).read_text() for n in files_of(flow)}
        write(flow, {name: text})
        r = lua("pull", id, flow, env=env)
        assert r.returncode == 1 and f"{flow}/{name}: has changes that were not pushed" in r.stderr and "--force" in r.stderr and not r.stdout, name
        assert {n: (flow / n).read_text() for n in files_of(flow)} == {**before, name: text}
        write(flow, {name: before[name]})
    write(flow, {"lib/names.lua": "return {1}\n", "main.lua": MAIN + "-- theirs\n"})  # the same change is none
    assert "main.lua" not in lua("pull", id, flow, env=env).stderr
    assert lua("pull", id, flow, "--force", env=env).returncode == 0
    assert files_of(flow) == {"main.lua", "workflow.json"} and (flow / "main.lua").read_text() == MAIN + "-- theirs\n"
    # a folder of another workflow, and one that nothing is known of
    write(tmp_path / "else", {"main.lua": "return {}\n", "notes.txt": "x"})
    r = lua("pull", id, tmp_path / "else", env=env)
    assert r.returncode == 1 and "else/main.lua: has changes" in r.stderr and (tmp_path / "else/main.lua").read_text() == "return {}\n"
    # names of a record that point elsewhere are nobody's
    write(tmp_path, {"outside.lua": "x", "other/.wharf-draft.json": json.dumps({"id": id, "files": {"../outside.lua": "0" * 64, "/etc/x.lua": "0" * 64}})})
    assert lua("pull", id, other, "--force", env=env).returncode == 0 and (tmp_path / "outside.lua").exists()


def test_all_of_a_draft_is_in_its_folder(flow, org, tmp_path):
    """What authors may write, but the code, and the secrets, which are nobody's to keep on a disk."""
    fields = json.loads((ROOT / "schemas" / "workflows" / "workflow.json").read_text())["properties"]
    mine = {name for name, f in fields.items() if f.get("x-wharf", {}).get("write") != "never" and f.get("x-wharf", {}).get("store") != "input"} - {"source", "files"}
    manifest = {"name": "All of it", "description": "Text", "enabled": False, "allowed_locations": [make_location(org.client())["id"]], "triggers": [{"type": "manual"}],
                "scopes": ["locations:read"], "http_hosts": ["example.com"], "settings": {"a": 1}, "priority": 5, "on_error": "ignore", "retry": {"max": 1, "waits": [2]},
                "concurrency": {"max": 2, "key": "workflow"}, "record": {"runs": "errors", "io": True}, "budget": {"api_calls": 3}}
    assert set(manifest) == mine
    write(flow, {"workflow.json": json.dumps(manifest)})
    assert lua("push", flow, env=at(org)).returncode == 0
    id = json.loads((flow / "workflow.json").read_text())["id"]
    assert lua("pull", id, tmp_path / "back", env=at(org)).returncode == 0
    back = json.loads((tmp_path / "back" / "workflow.json").read_text())
    told = org.client().get(f"/v1/workflows/{id}").data
    for row in (back, told):
        row["budget"] = {k: v for k, v in row["budget"].items() if v is not None}
        assert {k: row[k] for k in manifest} == manifest
    r = lua("push", tmp_path / "back", env=at(org))
    assert r.returncode == 0, r.stderr
    after = org.client().get(f"/v1/workflows/{id}").data
    assert {k: after[k] for k in manifest} == {**{k: told[k] for k in manifest}, "budget": {**after["budget"], "api_calls": 3}} and sum(v is not None for v in after["budget"].values()) == 1


def test_what_the_server_does_not_know_is_refused(flow, org):
    """It was thrown away, and the next push took it out of the folder as well."""
    manifest = {"name": "Typo", "triggers": [{"type": "manual"}], "trigers": [{"type": "event", "events": ["*"]}], "retry": {"maxx": 1}}
    write(flow, {"workflow.json": json.dumps(manifest)})
    r = lua("push", flow, env=at(org))
    assert r.returncode == 1 and "validation.failed, 400" in r.stderr and "  trigers\n" in r.stderr and "retry.maxx" in r.stderr
    assert json.loads((flow / "workflow.json").read_text()) == manifest and not org.client().get("/v1/workflows?status=all&name=Typo").data


def test_what_is_as_it_was_makes_no_draft(flow, org, tmp_path):
    env, client = at(org), org.client()
    write(flow, {"workflow.json": '{"name": "Same", "triggers": [{"type": "manual"}], "retry": {"max": 1}}'})
    assert lua("push", flow, env=env).stdout.endswith("\n") and lua("publish", flow, env=env).returncode == 0
    id = json.loads((flow / "workflow.json").read_text())["id"]
    for _ in range(2):
        assert lua("push", flow, env=env).stdout == f"{flow}: draft 1 of {id}, as it was\n"
    assert lua("pull", id, tmp_path / "p", env=env).returncode == 0 and lua("push", tmp_path / "p", env=env).stdout.endswith(", as it was\n")
    row = client.get(f"/v1/workflows/{id}").data
    assert (row["draft_revision"], row["has_draft"]) == (1, False)


def test_a_folder_for_two_organizations(flow, org, tmp_path):
    """Ids of one organization are nothing to another; what differs stands in a file of its own."""
    other = org.server.organization()
    there = make_location(other.client(), name="There")["id"]
    here = make_location(org.client(), name="Here")["id"]
    write(flow, {"workflow.json": json.dumps({"name": "Both", "triggers": [{"type": "manual"}], "allowed_locations": [here], "settings": {"erp": "test"}}),
                 "workflow.production.json": json.dumps({"allowed_locations": [there], "settings": {"erp": "real"}})})
    for args, o in (((), org), (("--target", "production"), other)):
        for _ in range(2):
            r = lua("push", flow, *args, env=at(o))
            assert r.returncode == 0, r.stderr
        r = lua("publish", flow, *args, env=at(o))
        assert r.returncode == 0, r.stderr
    first, second = (json.loads((flow / name).read_text()) for name in ("workflow.json", "workflow.production.json"))
    assert second == {"id": second["id"], "draft_revision": 1, "allowed_locations": [there], "settings": {"erp": "real"}} and first["id"] != second["id"]
    for o, file, place, erp in ((org, first, here, "test"), (other, second, there, "real")):
        row = o.client().get(f"/v1/workflows/{file['id']}").data
        assert (row["name"], row["allowed_locations"], row["settings"], row["has_draft"]) == ("Both", [place], {"erp": erp}, False)
    write(flow, {"main.lua": MAIN + "-- newer\n"})
    assert lua("push", flow, "--target", "production", env=at(other)).stdout == f"{flow}: draft 2 of {second['id']}\n"
    assert lua("runs", flow, "--target", "production", env=at(other)).returncode == 0
    assert "not_found, 404" in lua("runs", flow, env=at(other)).stderr  # its own id is nothing here
    for name, args in (("../x", ()), ("", ())):
        assert "--target is a word" in lua("push", flow, "--target", name, env=at(other)).stderr
    assert lua("pull", second["id"], tmp_path / "x", "--target", "production", env=at(other)).returncode == 3
    write(flow, {"workflow.new.json": "["})
    assert "workflow.new.json:1:2: is no JSON: " in lua("push", flow, "--target", "new", env=at(other)).stderr
    (flow / "workflow.unread.json").mkdir()  # else a second workflow would be made
    assert "workflow.unread.json: can't be read" in lua("push", flow, "--target", "unread", env=at(other)).stderr


def test_runs_and_what_they_said(flow, org):
    env, client = at(org), org.client()
    write(flow, {"main.lua": """return {
on_run = function(input)
  print("got", input.n)
  if input.n > 1 then wharf.fail("too many", {code = "x"}) end
  return wharf.secret("TOKEN") == "s3cret value"
end}
""", "workflow.json": '{"name": "Runs", "triggers": [{"type": "manual"}]}'})
    for args in (("push",), ("publish",)):
        assert lua(*args, flow, env=env).returncode == 0
    id = json.loads((flow / "workflow.json").read_text())["id"]
    assert lua("runs", flow, env=env).stdout == "" and lua("secret", "TOKEN", flow, env=env, input="s3cret value\n").returncode == 0
    for n, status in ((1, 200), (2, 400), (3, 400)):
        client.post(f"/v1/workflows/{id}/run", {"input": {"n": n}}, expect=status)
    lines = lua("runs", id, env=env).stdout.splitlines()
    assert [line.split()[1:3] for line in lines] == [["failed", "manual"], ["failed", "manual"], ["succeeded", "manual"]] and all("attempt 1" in line for line in lines)
    good, bad = lines[2].split()[0], lines[0].split()[0]
    assert client.get(f"/v1/workflows/runs/{good}").data["output"] == {"value": True}
    assert len(lua("runs", flow, "--status", "failed", "--limit", "1", env=env).stdout.splitlines()) == 1
    said = lua("logs", bad, env=env).stdout.splitlines()
    assert said[0].startswith(bad) and said[1].endswith("info  main.lua:3: got\t3") and said[2] == "main.lua:4: too many (workflow.failed)"
    later = client.post(f"/v1/workflows/{id}/run", {"input": {"n": 1}, "wait": False}, expect=202).data["id"]
    until(lambda: client.get(f"/v1/workflows/runs/{later}").data["attempts"])
    said = lua("logs", later, env=env).stdout.splitlines()
    assert len(said) == 2 and said[1].endswith("info  main.lua:3: got\t1")  # nothing failed
    r = lua("retry", bad, env=env)
    assert r.returncode == 0 and r.stdout.startswith(f"{bad}: again as wkf_run_")
    r = lua("retry", flow, "--failed", env=env)
    assert r.returncode == 0 and r.stdout.splitlines()[-1].endswith("failed runs are queued again")
    assert f"{lines[1].split()[0]}: again as wkf_run_" in r.stdout and f"{bad}: " not in r.stdout  # which was done again before
    hand = client.post("/v1/workflows", {"name": "Other", "triggers": [{"type": "manual"}], "source": "return {on_run = function() error('no') end}"}, expect=201).data["id"]
    client.post(f"/v1/workflows/{hand}/publish", {}, expect=200)
    client.post(f"/v1/workflows/{hand}/run", {}, expect=400)
    failed, = client.get(f"/v1/workflows/{hand}/runs").data
    line = lua("runs", "--all", "--limit", "1", env=env).stdout
    assert line.startswith(failed["id"]) and line.endswith("  Other\n")
    r = lua("retry", "--all", env=env)
    assert r.returncode == 0 and f"{failed['id']}: again as wkf_run_" in r.stdout and f"{bad}: " not in r.stdout
    client.post(f"/v1/workflows/{hand}", {"enabled": False}, expect=200)
    assert "workflow.run_not_failed, 409" in lua("retry", good, env=env).stderr
    assert lua("secret", "TOKEN", flow, "--delete", env=env).returncode == 0 and client.get(f"/v1/workflows/{id}/secrets").data == []
    assert lua("disable", flow, env=env).stdout == f"{id}: disabled\n" and client.get(f"/v1/workflows/{id}").data["enabled"] is False
    assert lua("enable", id, env=env).stdout == f"{id}: enabled\n" and client.get(f"/v1/workflows/{id}").data["enabled"] is True
    for args, told in ((("secret", "TOKEN", flow), "standard input"), (("secret", "token", flow), "wharf lua secret KEY"), (("logs", id), "wharf lua logs RUN"), (("runs", flow, "--limit", "0"), "1 to 100"), (("runs", flow, "--limit", "5x"), "1 to 100"), (("runs", flow, "--failed"), "wharf lua runs takes no --failed; it takes --server --target --all"),
                       (("test", flow, "--target", "x"), "takes no --target"), (("push", flow, flow), "one folder"), (("publish", flow, flow), "one folder"), (("pull", id, flow, flow), "wharf lua pull ID"), (("check", flow, "--update"), "wharf lua check takes no --update\n"),
                       (("retry", flow), "--failed"), (("retry", flow, "--all"), "--all"), (("runs", flow, "--all"), "--all"), (("runs", flow, flow), "one workflow is named"), (("roll-back", "x"), "VERSION")):
        r = lua(*args, env=env, input="")
        assert r.returncode == 3 and told in r.stderr, (args, r.stderr)


def test_versions_and_differences(flow, org, tmp_path):
    env, client = at(org), org.client()
    write(flow, {"workflow.json": '{"name": "Versions", "triggers": [{"type": "manual"}]}', "main.lua": "return {on_run = function() return 1 end}\n"})
    assert lua("push", flow, env=env).returncode == lua("publish", flow, "--note", "the first", env=env).returncode == 0
    assert lua("diff", flow, env=env).stdout == "" and lua("diff", flow, env=env).returncode == 0
    write(flow, {"main.lua": "return {on_run = function() return 2 end}\n", "lib/new.lua": "return 'new'\n"})
    (flow / "lib/names.lua").unlink()
    r = lua("diff", flow, env=env)
    assert r.returncode == 1 and "--- server/main.lua\n+++ folder/main.lua\n" in r.stdout and "-return {on_run = function() return 1 end}\n+return {on_run = function() return 2 end}\n" in r.stdout
    assert "+++ folder/lib/new.lua" in r.stdout and "+return 'new'" in r.stdout and "--- server/lib/names.lua" in r.stdout and "lib/names_test.lua" not in r.stdout
    assert lua("push", flow, env=env).returncode == lua("publish", flow, "--note", "the second", env=env).returncode == 0
    id = json.loads((flow / "workflow.json").read_text())["id"]
    lines = lua("versions", flow, env=env).stdout.splitlines()
    assert [(line.split()[0], line.split("  ")[-1]) for line in lines] == [("2", "the second"), ("1", "the first")]
    assert lua("diff", flow, env=env).returncode == 0 and "return 1 end" in lua("diff", flow, "--version", "1", env=env).stdout
    r = lua("diff", flow, "--version", "1", "--against", "2", env=env)
    assert r.returncode == 1 and "--- version 1/main.lua\n+++ version 2/main.lua\n" in r.stdout and "+++ version 2/lib/new.lua" in r.stdout and "-return {on_run = function() return 1 end}\n+" in r.stdout
    assert "--- version 2/main.lua\n+++ version 1/main.lua\n" in lua("diff", id, "--version", "2", "--against", "1", env=env).stdout
    r = lua("diff", id, "--version", "2", "--against", "draft", env=env)
    assert (r.returncode, r.stdout) == (0, "") and "not_found, 404" in lua("diff", id, "--version", "1", "--against", "9", env=env).stderr
    for args in (("--against", "1"), ("--version", "x", "--against", "1"), ("--version", "1", "--against", "x")):
        assert lua("diff", id, *args, env=env).returncode == 3, args
    old = tmp_path / "old"
    r = lua("pull", id, old, "--version", "1", env=env)
    assert r.returncode == 0 and r.stdout == f"{old}: version 1 of {id}; push makes it the draft\n" and "return 1 end" in (old / "main.lua").read_text() and (old / "lib/names.lua").exists()
    assert lua("push", old, env=env).returncode == 0 and client.get(f"/v1/workflows/{id}").data["draft_revision"] == 3
    assert lua("roll-back", "1", flow, "--note", "back", env=env).stdout == f"{id}: version 3 is published, the code of version 1\n"
    assert client.post(f"/v1/workflows/{id}/run", {}, expect=200).data["output"] == {"value": 1}
    assert "not_found, 404" in lua("roll-back", "9", flow, env=env).stderr


@pytest.mark.parametrize("template", ["event", "http", "schedule", "manual", "before", "after", "nearest-printer"])
def test_a_new_folder(template, org, tmp_path):
    """It is checked, tested, pushed and published as it is."""
    folder = tmp_path / "Front desk"
    r = lua("init", folder, "--template", template)
    assert r.returncode == 0 and r.stdout.splitlines() == [str(folder / n) for n in ("workflow.json", "main.lua", "main_test.lua", ".wharf/wharf.lua", ".luarc.json")], r.stderr
    assert json.loads((folder / "workflow.json").read_text())["name"] == "Front desk" and json.loads((folder / ".luarc.json").read_text())["workspace.library"] == [".wharf"]
    for args in (("check", folder), ("test", folder)):
        r = lua(*args)
        assert r.returncode == 0, r.stdout + r.stderr
    write(folder, {"workflow.json": (folder / "workflow.json").read_text().replace("Front desk", f"Front desk {template}")})
    for args in (("push", folder), ("publish", folder)):
        r = lua(*args, env=at(org))
        assert r.returncode == 0, r.stderr
    r = lua("init", folder, "--template", template)
    assert r.returncode == 1 and "is there already" in r.stderr


def test_templates_that_are_not_there(tmp_path):
    for args, told in ((("init",), "wharf lua init DIR"), (("init", tmp_path / "x", "--template", "moon"), "there is no template moon: event, http, schedule, manual, before, after")):
        r = lua(*args)
        assert r.returncode == 3 and told in r.stderr and not (tmp_path / "x").exists()


def test_what_is_refused(flow, org, tmp_path):
    env = at(org)
    for args, told in [(("pull",), "the id begins with wkf_"), (("pull", "x"), "the id begins with wkf_"), (("push", tmp_path / "none"), "no such folder"),
                       (("publish", flow), "has no id yet"), (("push", "a", "b", "c"), "wharf lua push [ID] [DIR]")]:
        r = lua(*args, env=env)
        assert r.returncode == 3 and told in r.stderr, (args, r.stderr)
    r = lua("push", flow, env={"PATH": "/usr/bin"})
    assert r.returncode == 3 and "WHARF_KEY" in r.stderr
    assert "does not answer" in lua("push", flow, "--server", "http://127.0.0.1:9", env=env).stderr
    r = lua("pull", "wkf_nothing", tmp_path / "n", env=env)
    assert r.returncode == 1 and "not_found, 404" in r.stderr and not (tmp_path / "n").exists()
    write(flow, {"workflow.json": '{"name": "G", "triggers": [{"type": "moon"}]}'})
    r = lua("push", flow, env=env)
    assert r.returncode == 1 and "workflow.trigger_invalid" in r.stderr and "  triggers.0" in r.stderr
    write(flow, {"workflow.json": "{}"})
    assert "needs a name" in lua("push", flow, env=env).stderr
    write(flow, {"workflow.json": '{"name": "G"}'})
    assert lua("push", flow, env=env).returncode == 0
    identity = json.loads((flow / "workflow.json").read_text())["id"]
    r = lua("pull", identity, tmp_path / "r", env=at(org, org.key("workflow:read")))
    assert r.returncode == 1 and "workflow:write" in r.stderr
