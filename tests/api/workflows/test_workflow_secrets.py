"""Secrets of workflows and who sees source (spec 08 sections 1, 5 and 6)."""
import base64
import json
import re
import urllib.parse

import pytest

from receivers import until
from test_workflow_events import over
from test_workflow_runs import asked
from wharf import address, make_location

FLOWS = "/v1/workflows"
VALUE = "p@ss/wörd \"quoted\""


@pytest.fixture
def path(client):
    row = client.post(FLOWS, {"name": "Secretive", "triggers": [{"type": "manual"}], "source": """return {on_run = function(input)
  local v = wharf.secret(input.key)
  if input.how == "error" then error("bad token " .. v) end
  if input.how == "custom" then error({code = "x", message = v, status = 400}) end
  wharf.log.info("raw " .. v, {hex = wharf.hex.encode(v), url = wharf.url.encode(v), [v] = 1})
  print(wharf.base64.encode(v), wharf.base64.encode(v, {url = true}), wharf.json.encode({v}), string.upper(wharf.hex.encode(v)))
  return {v = v, n = #v, nested = {{v .. v}}}
end}"""}, expect=201).data
    p = f"{FLOWS}/{row['id']}"
    client.post(p + "/publish", {}, expect=200)
    yield p
    client.request("DELETE", p)


def test_set_replace_remove(client, org, path):
    made = client.post(path + "/secrets", {"key": "ERP_TOKEN", "value": VALUE}, expect=201).data
    assert made["key"] == "ERP_TOKEN" and made["updated_at"] and "value" not in made
    client.post(path + "/secrets", {"key": "ERP_TOKEN", "value": "another value"}, expect=200)
    other = client.post(path + "/secrets", {"key": "B", "value": "b"}, expect=201).data
    assert sorted(s["key"] for s in client.get(path + "/secrets").data) == ["B", "ERP_TOKEN"]
    stored = org.server.sql("SELECT value FROM workflows.secret WHERE organization_id = %s", org.id)
    assert len(stored) == 2 and all(v.startswith("s1.") for v, in stored)
    for body, code in (({"key": "erp", "value": "x"}, "workflow.secret_key"), ({"key": "1A", "value": "x"}, "workflow.secret_key"),
                       ({"key": "ERP_TOKEN", "value": ""}, "workflow.secret_value"), ({"key": "ERP_TOKEN", "value": None}, "workflow.secret_value"),
                       ({"key": "ERP_TOKEN", "value": "x" * 8193}, "validation.failed")):
        client.refused("POST", path + "/secrets", 400, code, body=body)
    assert client.delete(path + "/secrets/B").data == {"id": other["id"], "object": "workflow_secret", "deleted": True}
    client.refused("DELETE", path + "/secrets/B", 404, "not_found", ["B"])
    reader = org.client("workflow:read")
    reader.refused("POST", path + "/secrets", 403, "scope_access", body={"key": "A", "value": "x"})
    assert "value" not in reader.get(path + "/secrets").data[0]
    for i in range(49):
        client.post(path + "/secrets", {"key": f"S{i}", "value": "x"}, expect=201)
    client.refused("POST", path + "/secrets", 400, "workflow.limit", ["key"], body={"key": "TOO_MANY", "value": "x"})
    client.delete(path)
    assert org.server.sql("SELECT 1 FROM workflows.secret WHERE organization_id = %s", org.id) == []


def test_in_the_workflow(client, org):
    """Sent with the workflow, named keys are set and others stay; shown are names and times, to readers too."""
    source = "return {on_run = function() return {wharf.secret('A') == 'first value', wharf.secret('B') == 'second'} end}"
    body = {"name": "With secrets", "triggers": [{"type": "manual"}], "source": source}
    refused = [({"a": "x"}, "workflow.secret_key", "secrets.a"), ({"A B": "x"}, "workflow.secret_key", "secrets.A B"), ({"A" * 65: "x"}, "workflow.secret_key", "secrets." + "A" * 65),
               ({"A": None}, "workflow.secret_value", "secrets.A"), ({"OK": "fine", "A": ""}, "workflow.secret_value", "secrets.A"), ({"A": 5}, "validation.failed", "secrets.A"),
               ({"A": {"B": "x"}}, "validation.failed", "secrets.A"), ({"A": "x" * 8193}, "validation.failed", "secrets.A"), ([{"key": "A"}], "validation.failed", "secrets")]
    for secrets, code, at in refused:
        client.refused("POST", FLOWS, 400, code, [at], body={**body, "secrets": secrets})
    assert client.get(FLOWS + "?status=all&search=With+secrets").data == []  # refused whole
    made = client.post(FLOWS, {**body, "secrets": {"A" * 64: "x" * 8192, "A": "first value"}}, expect=201).data
    p = f"{FLOWS}/{made['id']}"
    assert [s["key"] for s in made["secrets"]] == ["A", "A" * 64] and all(set(s) == {"key", "updated_at", "updated_by"} and s["updated_at"] for s in made["secrets"])
    revision = made["draft_revision"]
    for secrets, code, at in refused:
        client.refused("POST", p, 400, code, [at], body={"secrets": secrets})
    before = client.get(p)
    told = client.post(p, {"secrets": {"B": "second"}}, expect=200).data
    assert [s["key"] for s in told["secrets"]] == ["A", "A" * 64, "B"]
    after = client.get(p)
    assert after.data["secrets"] == told["secrets"] and after.data["draft_revision"] == revision and after.headers["ETag"] != before.headers["ETag"]
    client.post(p, {"name": "With secrets still", "secrets": {}}, expect=200)
    client.post(p + "/publish", {}, expect=200)
    assert asked(client, made["id"], {}).data["output"]["value"] == [True, True]
    reader = org.client("workflow:read")
    assert reader.get(p).data["secrets"] == told["secrets"]
    assert [f["secrets"] for f in reader.get(FLOWS + "?status=all&search=With+secrets").data] == [told["secrets"]]
    reader.refused("POST", p, 403, "scope_access", body={"secrets": {"A": "x"}})
    client.delete(p + "/secrets/B")
    assert [s["key"] for s in client.get(p).data["secrets"]] == ["A", "A" * 64]
    assert "secret.missing" in asked(client, made["id"], {}, 400).message
    many = {f"S{i}": "x" for i in range(49)}
    client.refused("POST", p, 400, "workflow.limit", body={"secrets": many})
    assert len(client.get(p).data["secrets"]) == 2  # none of them
    kept = str(org.server.sql("SELECT row_to_json(c)::text FROM wharf.change_log c WHERE organization_id = %s", org.id))
    kept += str(org.server.sql("SELECT data::text FROM wharf.event WHERE resource_id = %s", made["id"]))
    assert "first value" not in kept and "second" not in kept
    client.delete(p)


def forms(value):
    raw = value.encode()
    plain, url = (f(raw).decode().rstrip("=") for f in (base64.b64encode, base64.urlsafe_b64encode))
    return [value, plain, url, raw.hex(), raw.hex().upper(), urllib.parse.quote(value, safe=""), json.dumps(value, ensure_ascii=False)[1:-1]]


def test_it_is_given_and_never_shown(client, org, path):
    client.post(path + "/secrets", {"key": "TOKEN", "value": VALUE}, expect=201)
    client.post(path + "/secrets", {"key": "TINY", "value": "ab"}, expect=201)
    id = path.rsplit("/", 1)[1]
    run = asked(client, id, {"input": {"key": "TOKEN"}}).data
    assert run["output"]["value"] == {"v": "[secret:TOKEN]", "n": len(VALUE.encode()), "nested": [["[secret:TOKEN][secret:TOKEN]"]]}
    assert run["logs"][0]["message"] == "raw [secret:TOKEN]" and run["logs"][0]["fields"] == {k: v for k, v in (
        ("hex", "[secret:TOKEN]"), ("url", "[secret:TOKEN]"), ("[secret:TOKEN]", 1))}
    assert asked(client, id, {"input": {"key": "TINY"}}).data["output"]["value"]["v"] == "ab"  # too short to be told from other text
    for how in ("error", "custom"):
        r = asked(client, id, {"input": {"key": "TOKEN", "how": how}}, 400)
        assert "[secret:TOKEN]" in r.message
    r = asked(client, id, {"input": {"key": "NONE"}}, 400)
    assert "secret.missing" in r.message
    kept = str(org.server.sql("SELECT logs::text || coalesce(output::text, '') || coalesce(error::text, '') FROM workflows.run WHERE workflow_id = %s", id))
    kept += str(org.server.sql("SELECT row_to_json(c)::text FROM wharf.change_log c WHERE organization_id = %s", org.id))
    assert "[secret:TOKEN]" in kept
    for form in forms(VALUE):
        assert form not in kept, form


FORMS = '''return {on_run = function()
  local v = wharf.secret("TOKEN")
  local escaped = v:gsub(".", function(c) return ("\\\\u%04X"):format(c:byte()) end)
  local percent = v:gsub(".", function(c) return ("%%%02x"):format(c:byte()) end)
  wharf.log.info("basic " .. wharf.base64.encode("user:" .. v) .. " " .. wharf.base64.encode("me:" .. v) .. " " .. wharf.base64.encode("a:" .. v))
  wharf.log.info("upper " .. v:upper() .. " lower " .. v:lower())
  wharf.log.info("escaped " .. escaped .. " percent " .. percent)
end}'''


def test_forms_in_which_a_secret_is_known_again(client):
    """Behind a user's name in base64, in other case, each character escaped."""
    value = "Hunter-22 is not/so short"
    id = client.post(FLOWS, {"name": "Forms", "triggers": [{"type": "manual"}], "source": FORMS}, expect=201).data["id"]
    client.post(f"{FLOWS}/{id}/secrets", {"key": "TOKEN", "value": value}, expect=201)
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    said = [line["message"] for line in asked(client, id, {}).data["logs"]]
    text = "\n".join(said).lower()
    assert [line.count("[secret:TOKEN]") for line in said] == [3, 2, 2], said
    for prefix in ("user:", "me:", "a:"):
        assert base64.b64encode((prefix + value).encode()).decode()[6:-4].lower() not in text
    for form in (value, "".join(f"%{b:02x}" for b in value.encode()), "".join(f"\\u{b:04x}" for b in value.encode())):
        assert form.lower() not in text


def test_source_is_for_writers(client, org, path):
    reader = org.client("workflow:read")
    assert "source" in client.get(path).data and "files" in client.get(path).data
    assert not {"source", "files"} & set(reader.get(path).data)
    version = client.get(path + "/versions/1").data
    assert "source" in version and not {"source", "files"} & set(reader.get(path + "/versions/1").data)
    told = org.server.sql("SELECT data FROM wharf.event WHERE resource_id = %s", path.rsplit("/", 1)[1])
    assert told and not any("source" in data for data, in told)


LONG = "0123456789abcdef" * 4
CUTTER = """return {on_run = function(input)
  local v = wharf.secret("TOKEN")
  if input.form == "hex" then v = wharf.hex.encode(v) end
  if input.how == "line" then wharf.log.info(("x"):rep(input.before) .. v .. ("y"):rep(9000)) end
  if input.how == "fields" then wharf.log.info("m", {t = ("x"):rep(input.before) .. v .. ("y"):rep(9000)}) end
  if input.how == "error" then error(("x"):rep(input.before) .. v .. ("y"):rep(9000)) end
  if input.how == "code" then error({code = ("x"):rep(input.before) .. v, message = "m", status = 400}) end
  if input.how == "library" then
    local ok, e = pcall(wharf.api.list, ("x"):rep(input.before) .. v, 5)
    wharf.log.info(tostring(e))
  end
  return v
end}"""


def test_what_is_cut_ends_before_a_secret(client, org):
    """A limit of a text may lie inside of a secret: its beginning is not shown either."""
    row = client.post(FLOWS, {"name": "Cut", "triggers": [{"type": "manual"}], "source": CUTTER, "secrets": {"TOKEN": LONG}}, expect=201).data
    id = row["id"]
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    for how, limit in (("line", 4096), ("fields", 4088), ("error", 1024), ("code", 96), ("library", 512)):
        for back in (1, 2, 6, 8, 20, 63, 64, 70):
            for form in ("plain", "hex") if back == 20 else ("plain",):
                r = client.request("POST", f"{FLOWS}/{id}/run", {"input": {"how": how, "before": limit - back, "form": form}})
                assert r.status == (400 if how in ("error", "code") else 200) and "0123" not in r.message + str(r.errors), (how, back, r)
                run = shown(client, r.data["id"] if r.status == 200 else re.search(r"wkf_run_\w+", r.message).group(0))
                told = json.dumps([run["logs"], run["error"], run["output"]])
                assert "xxx" in told or how == "library"
                for text in (LONG, LONG.encode().hex()):
                    assert text[:6] not in told.replace("[secret:TOKEN]", ""), (how, back, form)
    line = [e for e in client.get(f"/v1/logs?resource_id={id}&limit=100").data if "xxx" in (e["message"] or "")]
    assert line and not any(LONG[:6] in e["message"] for e in line)
    r = client.request("POST", f"{FLOWS}/{id}/run", {"input": {"how": "line", "before": 4060}})  # much of it: it is told that one stood there
    assert r.data["logs"][0]["message"].endswith("xx[secret:TOKEN] …")
    r = client.request("POST", f"{FLOWS}/{id}/run", {"input": {"how": "line", "before": 4087}})  # little: nothing is
    assert r.data["logs"][0]["message"].endswith("xx …")
    client.delete(f"{FLOWS}/{id}")


def shown(client, id):
    return client.get(f"{FLOWS}/runs/{id}").data


def test_a_queued_run_gets_what_is_not_shown(client, org):
    """Its input and its path are shown without secrets, whether it waits or is over; it, and who does it again, gets them."""
    value = 'w0rd "and" more'
    source = f"""local function same(v, ctx) wharf.kv.incr("n") if wharf.kv.get("n") == 1 then error("first") end return v end
return {{on_run = function(input, ctx) return same({{input.t == {json.dumps(value)}, #input.t}}, ctx) end,
  on_http = function(r, ctx) return same({{r.params.t == "p4thsecret", r.path == "/x/p4thsecret", ctx.run.trigger.path == "x/p4thsecret"}}, ctx) end,
  on_event = function(ev) return same({{ev.data.name == "Place p4thsecret"}}) end, after = function(c) return same({{c.new.name == "Place p4thsecret"}}) end}}"""
    triggers = {"manual": {"type": "manual"}, "http": {"type": "http", "path": "x/:t", "mode": "async"},
                "event": {"type": "event", "events": ["location.created"]}, "hook": {"type": "hook", "resource": "location", "action": "create", "phase": "after"}}
    for kind, trigger in triggers.items():
        body = {"name": "Queued " + kind, "triggers": [trigger], "source": source, "scopes": ["locations:read"], "secrets": {"A": value, "B": "p4thsecret"}, "retry": {"max": 0},
                "record": {"io": True}}
        id = client.post(FLOWS, body, expect=201).data["id"]
        client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
        if kind == "manual":
            told = client.post(f"{FLOWS}/{id}/run", {"input": {"t": value}, "wait": False}, expect=202).data
            assert told["input"] == {"value": {"t": "[secret:A]"}}  # before it ran
        elif kind == "http":
            client.request("POST", f"{FLOWS}/{id}/http/x/p4thsecret")
        else:
            make_location(client, "Place p4thsecret")
        first, = over(client, id)
        assert first["status"] == "failed" and first["input"], first
        again = client.post(f"{FLOWS}/runs/{first['id']}/retry", {}, expect=202).data["id"]
        until(lambda: shown(client, again)["status"] == "succeeded")
        assert shown(client, again)["output"]["value"][:1] == [True] and False not in shown(client, again)["output"]["value"], kind
        for run in (first["id"], again):
            told = json.dumps([shown(client, run), client.get(f"{FLOWS}/runs/{run}/recording").data["input"], client.get(f"{FLOWS}/{id}/runs").data])
            assert "[secret:" in told and "p4thsecret" not in told and json.dumps(value)[1:-1] not in told, (kind, told)
        client.delete(f"{FLOWS}/{id}")
    manual = client.post(FLOWS, {**body, "name": "At once", "triggers": [{"type": "manual"}]}, expect=201).data["id"]
    client.post(f"{FLOWS}/{manual}/publish", {}, expect=200)
    asked(client, manual, {"input": {"t": value}}, 400)
    first, = over(client, manual)
    again = client.post(f"{FLOWS}/runs/{first['id']}/retry", {}, expect=202).data["id"]
    until(lambda: shown(client, again)["status"] == "succeeded")
    assert shown(client, again)["output"]["value"] == [True, len(value)] and shown(client, again)["input"] == {"value": {"t": "[secret:A]"}}
    client.delete(f"{FLOWS}/{manual}")


def test_what_a_hook_wrote_is_recorded_without_secrets(client, org):
    """`kept` of a recording: the input of the change as the hook left it."""
    source = "return {before = function(c) c.input = 'Dock ' .. wharf.secret('TOKEN') end}"
    body = {"name": "Keeps", "triggers": [{"type": "hook", "resource": "location", "action": "create", "phase": "before"}], "source": source, "scopes": [],
            "secrets": {"TOKEN": "k3ptsecret"}, "record": {"io": True, "runs": "all"}}
    id = client.post(FLOWS, body, expect=201).data["id"]
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    client.refused("POST", "/v1/locations", 400, "workflow.hook_failed", body={"name": "Kept", "address": address()})
    run, = over(client, id)
    told = client.get(f"{FLOWS}/runs/{run['id']}/recording").data
    assert told["outcome"]["kept"] == "Dock [secret:TOKEN]" and "k3ptsecret" not in json.dumps(told)
    client.delete(f"{FLOWS}/{id}")


def test_a_secret_that_was_made_a_number(client, org):
    """PINs are; other numbers with the same digits among theirs stay what they are."""
    source = "return {on_run = function(i) local pin = tonumber(wharf.secret('PIN')) wharf.log.info('m', {pin = pin, more = pin * 10 + 1}) return {pin, {pin}, pin + 1, pin / 1} end}"
    id = client.post(FLOWS, {"name": "Pin", "source": source, "triggers": [{"type": "manual"}], "secrets": {"PIN": "73912846"}}, expect=201).data["id"]
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    asked(client, id, {"input": {}})
    run, = over(client, id)
    run = shown(client, run["id"])
    assert run["output"]["value"] == ["[secret:PIN]", ["[secret:PIN]"], 73912847, "[secret:PIN]"], run
    assert [line["fields"] for line in run["logs"]] == [{"pin": "[secret:PIN]", "more": 739128461}] and "73912846" not in json.dumps(run).replace("739128461", "")
    client.post(f"{FLOWS}/{id}", {"source": "return {on_run = function(i) local t = {} for n = 1, i.n do t[n] = 1 end return t end}"}, expect=200)
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    for n in (200000, 500000):  # as many as a result may have bytes for: they end no process
        r = client.request("POST", f"{FLOWS}/{id}/run", {"input": {"n": n}}, check=False)
        assert r.status in (200, 400), r
    client.delete(f"{FLOWS}/{id}")
