"""A secret is known again in every form that gives it away, by everybody who takes secrets out of what is kept: one mechanism (kernel/secret/hide.h).

Each sender is tried with each form; a new sender is one line in `senders`."""
import base64
import json
import urllib.parse

import pytest
from hook_folder import hooks, lines, place, system, until  # noqa: F401  (fixtures among them)
from wharf import Server

VALUE = "Hunter-22 is not/so short+?"
HOOK = '''
local ways = {
  message = function(t) wharf.log.info("M " .. t) end,
  fields = function(t) wharf.log.info("F", {deep = {t}, [t] = 1}) end,
  error = function(t) error("E " .. t) end,
}
wharf.hook.route("POST", "/v1/x/say/:way", {scope = "any", location = "none"}, function(request) ways[request.params.way](request.json.text) return {result = 1} end)
'''
FLOW = '''return {on_run = function(input)
  wharf.secret("TOKEN")
  wharf.log.info("M " .. input.text, {deep = {input.text}, [input.text] = 1})
  if input.fail then error("E " .. input.text) end
  return {text = input.text, deep = {{input.text}}, [input.text] = 1}
end}'''


def forms(value):
    raw = value.encode()
    found = {"itself": value, "upper": value.upper(), "lower": value.lower(), "other case": value.swapcase(), "hex": raw.hex(), "HEX": raw.hex().upper(),
             "quoted": urllib.parse.quote(value, safe=""), "form": urllib.parse.quote(value), "json": json.dumps(value)[1:-1],
             "percent": "".join(f"%{b:02x}" for b in raw), "PERCENT": "".join(f"%{b:02X}" for b in raw),
             "escaped": "".join(f"\\u{b:04x}" for b in raw), "ESCAPED": "".join(f"\\u{b:04X}" for b in raw)}
    for user in ("", "u:", "me:", "ann:", "user:"):
        for name, encode in (("base64", base64.b64encode), ("base64url", base64.urlsafe_b64encode)):
            found[f"{name} {user}"] = encode(user.encode() + raw).decode()
    return found


FORMS = forms(VALUE)


def kept_of(form):
    """What must not stand anywhere: the middle of the form, which no neighbour changes."""
    return form[8:-8].lower()


@pytest.fixture(scope="module")
def server(place):  # noqa: F811
    s = Server("--modules", "org,locations,events,webhooks,workflows", "--set", f"lua_hooks.dir={place}", "--set", "hook_secrets.token=" + VALUE)
    yield s
    s.stop()


@pytest.fixture(scope="module")
def org(server):
    return server.organization()


@pytest.fixture(scope="module")
def client(org):
    return org.client()


@pytest.mark.parametrize("way,event", [("message", "lua.log"), ("fields", "lua.log"), ("error", "lua.hook_failed")])
def test_hooks(hooks, client, server, way, event):  # noqa: F811
    hooks.load({"10-say.lua": HOOK})
    before = len(lines(server, event))
    for name, form in FORMS.items():
        client.request("POST", f"/v1/x/say/{way}", {"text": f"{name} <{form}> end"}, expect=500 if way == "error" else 200)
    until(lambda: len(lines(server, event)) >= before + len(FORMS), "the lines are not in the log")
    told = lines(server, event)[before:]
    for name, form in FORMS.items():
        line = next(t for t in told if f"{name} <" in t)
        assert "[secret:token]" in line and kept_of(form) not in line.lower(), (name, line)


@pytest.mark.parametrize("part", range(3))  # a workflow that fails too often is disabled
@pytest.mark.parametrize("fail", [False, True])
def test_runs(client, server, fail, part):
    forms = dict(list(FORMS.items())[part::3])
    id = client.post("/v1/workflows", {"name": f"Forms {fail} {part}", "triggers": [{"type": "manual"}], "source": FLOW}, expect=201).data["id"]
    client.post(f"/v1/workflows/{id}/secrets", {"key": "TOKEN", "value": VALUE}, expect=201)
    client.post(f"/v1/workflows/{id}/publish", {}, expect=200)
    for name, form in forms.items():
        client.request("POST", f"/v1/workflows/{id}/run", {"input": {"text": f"{name} <{form}> end", "fail": fail}}, expect=400 if fail else 200)
    # `given` is what a run that is run again gets; nobody is shown it
    rows = [r[0] for r in server.sql("SELECT (to_jsonb(r) - 'given')::text FROM workflows.run r WHERE workflow_id = %s", id)]
    assert len(rows) == len(forms)
    for name, form in forms.items():
        row = next(r for r in rows if f"{name} <" in r)
        assert row.count("[secret:TOKEN]") >= (3 if fail else 6) and kept_of(form) not in row.lower() and kept_of(json.dumps(form)[1:-1]) not in row.lower(), (name, row)
