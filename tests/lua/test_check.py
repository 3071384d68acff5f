"""`wharf lua check`: what compilers do not tell, and what publishing and servers would refuse (spec 08 section 8)."""
import json
import re
import subprocess

import pytest

from author import ROOT, lua, write

GOOD = """local M = {}
function M.on_run(input, ctx)
  local res, err = wharf.http.get("https://example.com")
  if not res then return nil end
  for i, v in ipairs(res.json()) do M[i] = {v, ["x"] = -#v, y = not v; 0x1Fp2, 3.5e-2, .5, 1//2 ~ 3} end
  goto done
  ::done::
  local function inner(...) return select("#", ...) end
  local held <close>, kept <const> = setmetatable({}, {__close = print}), 2
  repeat local stop = inner(kept) until stop
  while true do do break end end
  return function(self) return string.rep(self:name "x", math.pi)[[long ]=] text]] end
end
M.nested = {}
function M.nested:method() return self end --[==[ a
long comment ]] ]==]
return M
"""


def check(tmp_path, source, *args, name="main.lua", **more):
    r = lua("check", write(tmp_path, {name: source, **more}) / (args[0] if args else ""))
    assert not r.stderr, r.stderr
    return r.returncode, r.stdout.replace(f"{tmp_path}/", "")


def test_a_good_folder(tmp_path):
    assert check(tmp_path, GOOD) == (0, "")


@pytest.mark.parametrize("source, told", [
    ("local a = 1\nreturn {}", "main.lua:1:7: the local 'a' is never read"),
    ("local _a, b = 1, 2\nreturn {b}", None),
    ("local a, b = 1, 2\nreturn {b}", "main.lua:1:7: the local 'a' is never read"),
    ("local a, b = pcall(print)\nreturn {a}", None),
    ("local a, b = pcall(print)\nreturn {}", "main.lua:1:7: the local 'a' is never read\nmain.lua:1:10: the local 'b' is never read"),
    ("local a\na = 1\nreturn {}", "main.lua:1:7: the local 'a' is never read"),
    ("local a = {}\na.x = 1\nreturn {}", None),
    ("local function f() return f end\nreturn {}", None),
    ("local function f() end\nreturn {}", "main.lua:1:16: the local 'f' is never read"),
    ("local a = 1\ndo local a = a print(a) end\nreturn {}", None),
    ("local function f(unused) for i = 1, 2 do end end\nreturn {f}", None),
    ("return {x = foo}", "main.lua:1:13: the global 'foo' is not known"),
    ("local M = {}\nfunction M.f()\n  count = 1\n  return count\nend\nreturn M", "main.lua:3:3: the global 'count' is set; make it local"),
    ("function f() end\nreturn {f}", "main.lua:1:10: the global 'f' is set; make it local"),
    ("print(io.open)\nreturn {}", "main.lua:1:7: the global 'io' is not known\nmain.lua:1:1: attempt to index a nil value (global 'io')"),
    ("return {wharf.kv.gett}", "main.lua:1:18: there is no wharf.kv.gett; did you mean wharf.kv.get?"),
    ("return {wharf.kw}", "main.lua:1:15: there is no wharf.kw; did you mean wharf.kv?"),
    ("return {f = function(request) return requst, tostrign(1) end}", "main.lua:1:38: the global 'requst' is not known; did you mean 'request'?\nmain.lua:1:46: the global 'tostrign' is not known; did you mean 'tostring'?"),
    ("return {wharf.txt.slug, string.formt}", "main.lua:1:15: there is no wharf.txt; did you mean wharf.text?\nmain.lua:1:32: there is no string.formt; did you mean string.format?\nmain.lua:1:1: attempt to index a nil value (field 'txt')"),
    ("return {string.dump, table.get}", "main.lua:1:16: there is no string.dump\nmain.lua:1:28: there is no table.get"),
    ("local string = {}\nreturn {string.dump}", None),
    ("return {f = function() wharf.hook.before() end}", "main.lua:1:35: wharf.hook.before is for operators' hooks only"),
    ("return {test}", None),  # no file of tests: said by test.eq below
    ("return {f = function() test.eq(1, 1) end}", "main.lua:1:29: test.eq is for test files only"),
    ("return {f = function() return ('x'):rep(2), wharf.null, wharf['json'] end}", None),
    ("local s = 'a\\'b\\\n c' .. \"\\z\n  d\" .. [==[\n]]x]==]\nreturn {s, nope}", "main.lua:5:12: the global 'nope' is not known"),
    ("local ü = 1", "main.lua:1:7: <name> expected near '<\\195>'"),
    ("local M = {}\nlocal x = 5 +* 2 * 3\nreturn M", "main.lua:2:14: unexpected symbol near '*'"),
    ("return {\n  a = 1 b = 2}", "main.lua:2:9: '}' expected (to close '{' at line 1) near 'b'"),
    ("local s = 'abc\nreturn {}", "main.lua:1:11: unfinished string near ''abc'"),
    ("local f = function()\n  if x then\n", "main.lua:3:1: 'end' expected (to close 'if' at line 2) near <eof>"),
    ("return {", "main.lua:1:9: unexpected symbol near <eof>"),
    ("return 1", "main.lua:1:1: main.lua returns no table of handlers; end it with 'return M'"),
    ("local x = 1\nlocal y = x.a.b\nreturn {y}", "main.lua:2:1: attempt to index a number value (local 'x')"),
    ("while true do end", "main.lua:1:1: the run took more instructions than it may; do less, or in several runs"),
    ("wharf.api.get('/v1/x')\nreturn {}", "main.lua:1:1: this is not available while the main file is loaded (op.unknown)"),
])
def test_findings(tmp_path, source, told):
    assert check(tmp_path, source) == ((1, told + "\n") if told else (0, ""))


def test_all_files_and_single_ones(tmp_path):
    folder = {"lib/a.lua": "return b", "main_test.lua": "local M = require 'main'\ntest.case('x', function() test.ok(M.on_run) end)"}
    assert check(tmp_path, GOOD, **folder) == (1, "lib/a.lua:1:8: the global 'b' is not known\n")
    assert check(tmp_path, GOOD, "main.lua", **folder) == (0, "")
    assert check(tmp_path, GOOD, "lib/a.lua", **folder) == (1, "lib/a.lua:1:8: the global 'b' is not known\n")


def test_triggers_have_their_handlers(tmp_path):
    flow = '{"triggers": [{"type": "manual"}, {"type": "event", "events": ["*"]}, {"type": "hook", "resource": "location", "action": "create", "phase": "after"}, {"type": "smoke"}]}'
    assert check(tmp_path, GOOD, **{"workflow.json": flow}) == (1, "".join([
        "main.lua:1:1: a trigger needs the function on_event in the table that main.lua returns\n",
        "main.lua:1:1: a trigger needs the function after in the table that main.lua returns\n",
        'workflow.json:1:1: there are no triggers of type "smoke"\n']))
    for text, told in (("{", "workflow.json:1:2: is no JSON: "), ('{\n  "name": "x",\n  "a" 1}', "workflow.json:3:7: is no JSON: "), ("[]", "workflow.json: is no JSON object")):
        r = lua("check", write(tmp_path, {"workflow.json": text}))
        assert r.returncode == 3 and told in r.stderr, r.stderr
    (tmp_path / "workflow.json").unlink()
    (tmp_path / "workflow.json").mkdir()  # there, and no file that can be read: not as if there were none
    r = lua("check", tmp_path)
    assert r.returncode == 3 and "workflow.json: can't be read" in r.stderr


def test_schedules_and_paths_are_those_that_servers_take(tmp_path):
    """Offline, at the place of what is wrong, in the words of the server (the same code)."""
    source = "return {on_schedule = function() end, on_http = function() end}\n"

    def told(*triggers):
        r = check(tmp_path, source, **{"workflow.json": '{"name": "x",\n  "triggers": [\n    %s]}' % ",\n    ".join(json.dumps(t) for t in triggers)})
        assert (r[0] == 0) == (not r[1])
        return r[1]

    def cron(text, **more):
        return {"cron": text, **more, "type": "schedule"}

    def http(path, **more):
        return {"path": path, **more, "type": "http"}
    assert told(cron("*/5 * * * *"), cron("@daily", timezone="Europe/Berlin", overlap="queue", catch_up=True), http("/a/:b", methods=["GET", "PUT"], mode="async"), http("c", auth="none")) == ""
    assert told(cron("61 * * * *")).startswith("workflow.json:3:14: The schedule can't be: ")
    assert told(cron("* * * *")).startswith("workflow.json:3:14: The schedule can't be: ")
    assert told({"type": "schedule"}).startswith("workflow.json:1:1: The schedule can't be: ")
    assert told(cron("@daily", timezone="Europe/Berlim")) == "workflow.json:3:36: The schedule can't be: there is no such time zone; it is a name such as Europe/Berlin\n"
    assert told(cron("@daily"), cron("@hourly", timezone="")).endswith("The schedule can't be: timezone is a name such as Europe/Berlin\n")
    assert told(cron("@daily", overlap="both")) == "workflow.json:3:35: overlap is skip or queue\n"
    assert told(cron("@daily", catch_up="yes")) == "workflow.json:1:1: catch_up is true or false\n"
    path = "path is up to 16 segments of letters, digits, _ - . ~ or :name, such as orders/:id, each name once\n"
    for bad in ("a b", "a/", "a//b", ":id/:id", ":Id", "..", "a/" * 16 + "a", "x" * 201):
        assert told(http(bad)) == "workflow.json:3:14: " + path, bad
    assert told({"type": "http"}) == "workflow.json:1:1: " + path
    methods = "methods is an array of GET, POST, PUT, PATCH and DELETE\n"
    assert told(http("a", methods=["GET", "HEAD"])) == "workflow.json:3:38: " + methods
    assert told(http("a", methods="GET")) == "workflow.json:3:30: " + methods and told(http("a", methods=[])) == "workflow.json:1:1: " + methods
    assert told(http("a", auth="basic")).endswith(": auth is key (an API key with workflow:read), none or signature\n") and told(http("a", mode="later")).endswith(": mode is sync or async\n")
    assert told(http("a", mod="sync")) == ("workflow.json:3:19: Such a trigger has type, name (at most 191 bytes), enabled (true or false), path, methods, auth, mode, secret_key and input_schema (a JSON Schema of the body), nothing else: look at mod\n")
    assert told(cron("@daily", enabled="yes")).endswith(", cron, timezone, overlap and catch_up, nothing else: look at enabled\n")
    assert told(http("a", secret_key="K", auth="signature", name="n", enabled=False)) == "" != told(http("a", name="n" * 192))
    assert told(http("a/:x"), http("b"), http("/a/:y")) == "workflow.json:5:14: Another trigger has this path; one trigger may take several methods\n"


def test_triggers_name_what_there_is(tmp_path):
    """As publishing would refuse them; the nearest right name is told, at the place of the wrong one."""
    both = GOOD.replace("return M\n", "function M.on_event() end\nfunction M.before() end\nM.after = M.before\nreturn M\n")

    def told(*triggers):
        return check(tmp_path, both, **{"workflow.json": '{"name": "x",\n  "triggers": [\n    %s]}' % ",\n    ".join(triggers)})

    def event(*types):
        return '{"type": "event", "events": %s}' % json.dumps(types)

    def hook(resource, action, phase="before"):
        return '{"type": "hook", "resource": "%s", "action": "%s", "phase": "%s"}' % (resource, action, phase)
    assert told(event("location.created", "shipment.*", "*", "custom.mine", "custom.*"), hook("location", "create"), hook("shipment", "update", "after"), hook("parcel", "delete")) == (0, "")
    assert told(event("location.creatd"))[1] == 'workflow.json:3:34: there is no event type "location.creatd"; did you mean "location.created"?\n'
    assert told(event("*"), event("*", "shipmnt.*"))[1] == 'workflow.json:4:39: there is no event type "shipmnt.*"; did you mean "shipment.*"?\n'
    assert told(event("nothing.like.it"))[1] == 'workflow.json:3:34: there is no event type "nothing.like.it"\n'
    assert told(event())[1] == told('{"type": "event"}')[1] == "workflow.json:1:1: a trigger of type event has events, an array of types\n"
    assert told(hook("locatoin", "create"))[1] == 'workflow.json:3:34: there is no hookable resource "locatoin"; did you mean "location"?\n'
    assert told(hook("print_job", "create"))[0] == 0
    assert told(hook("print_job", "update"))[1] == 'workflow.json:3:57: there are no hooks on print_job:update; there are on create\n'
    assert told(hook("api_key", "create"))[1] == 'workflow.json:3:34: there is no hookable resource "api_key"\n'
    assert told(hook("location", "updat"))[1] == 'workflow.json:3:56: there is no action "updat"; did you mean "update"?\n'
    assert 'there is no phase "during"' in told(hook("location", "update", "during"))[1]
    for half in ('{"type": "hook", "action": "create", "phase": "before"}', '{"type": "hook", "resource": "location", "phase": "before"}', '{"type": "hook", "resource": "location", "action": "create"}'):
        assert told(half)[1] == "workflow.json:1:1: a trigger of type hook has resource, action and phase\n"
    def filtered(*conditions):
        return told('{"type": "event", "events": ["location.*"], "filter": %s}' % json.dumps(conditions))[1].replace("workflow.json:", "")
    assert filtered({"path": "data.name", "op": "eq", "value": "x"}, {"path": "data.code", "op": "exists"}, {"path": "data.code", "op": "changed"}) == ""
    assert filtered({"path": "data.name", "op": "equals", "value": "x"}).startswith("3:88: filter.0: op is one of eq, !eq, in, ")
    assert "filter.1: path is a dotted path" in filtered({"path": "a", "op": "exists"}, {"path": ".a", "op": "exists"}) and "nothing else" in filtered({"path": "a", "op": "exists", "values": 1})
    assert "filter is an array of {path, op, value}" in told('{"type": "event", "events": ["*"], "filter": {"path": "a"}}')[1]
    code, text = told(event("a.b"), hook("x", "create"))
    assert code == 1 and text.count("\n") == 2


def test_members_are_those_that_servers_take(tmp_path):
    """A misspelt name was thrown away by the next push; values are judged by the definition that the server has."""
    def told(**members):
        code, text = check(tmp_path, GOOD, **{"workflow.json": json.dumps({"name": "x", **members}, indent=1)})
        assert (code == 0) == (not text)
        return text.replace("workflow.json:", "")
    assert told(description=None, enabled=False, allowed_locations=None, scopes=["locations:read", "workflow:write"], http_hosts=["a.example"], settings={"any": 1}, priority=-5, on_error="ignore",
                retry={"max": 5, "waits": [0]}, concurrency={"max": 50, "key": "resource"}, record={"runs": "errors", "io": True}, budget={"api_calls": 0, "time_ms": None}, id="wkf_x", draft_revision=4) == ""
    assert told(trigers=[]) == '3:2: there is no field "trigers"; did you mean "triggers"?\n'
    assert told(colour="red") == "3:2: colour: colour is not a field of this resource\n"
    assert told(retry={"max": 6}).startswith("4:3: retry.max: retry.max ") and told(retry={"maxx": 1}).startswith("4:3: retry.maxx: ")
    assert told(budget={"cpu": 1}).startswith("4:3: budget.cpu: ") and told(priority="high").startswith("3:2: priority: ")
    assert told(on_error="retry").startswith("3:2: on_error: ") and told(record={"runs": "some"}).startswith("4:3: record.runs: ")
    assert told(scopes=["locatoins:read"]) == '4:3: there is no scope "locatoins:read"; did you mean "locations:read"?\n'
    assert told(scopes=["locations"]) == "4:3: a scope is AREA:read or AREA:write\n"
    assert told(has_draft=True).startswith("3:2: has_draft: ")


def test_schemas_of_input(tmp_path):
    """As publishing would refuse them."""
    def told(schema):
        return check(tmp_path, GOOD, **{"workflow.json": '{"triggers": [{"type": "manual", "input_schema": %s}]}' % schema})
    assert told('{"type": "object", "required": ["a"]}') == (0, "") == told("null")
    code, text = told('{"properties": {"a": {"type": "text"}}}')
    assert code == 1 and text.startswith("workflow.json:1:1: triggers.0.input_schema/properties/a/type: type is one of")
    assert told('"text"') == (1, "workflow.json:1:1: triggers.0.input_schema: a schema is an object\n")
    both = GOOD.replace("return M\n", "function M.on_event() end\nreturn M\n")
    event = '{"triggers": [{"type": "manual"}, {"type": "event", "events": ["parcel.created"], "input_schema": {"type": "text"}}]}'
    assert "triggers.1.input_schema/type: type is one of" in check(tmp_path, both, **{"workflow.json": event})[1]
    assert told('{"description": "%s"}' % ("x" * 17000)) == (1, "workflow.json:1:1: triggers.0.input_schema: a schema has at most 16 KiB\n")


def test_hooks_are_loaded_as_a_server_does(tmp_path):
    assert check(tmp_path, "wharf.hook.before('location', 'create', function() end)", name="10-a.lua") == (0, "")
    code, told = check(tmp_path, "wharf.hook.before('nonsense', 'create', function() end)", name="10-a.lua")
    assert code == 1 and "10-a.lua:1: there is no resource 'nonsense' in the modules that are enabled\n" in told
    assert "did you mean 'shipment'?" in check(tmp_path, "wharf.hook.after('shipmet', 'create', function() end)", name="10-a.lua")[1]
    assert check(tmp_path, "wharf.hook.sometimes()", name="10-a.lua")[1].startswith("10-a.lua:1:12: there is no wharf.hook.sometimes\n")


def test_stock_hooks_are_clean():
    r = lua("check", ROOT / "lua-hooks")
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")


def test_wrong_calls(tmp_path):
    for args, told in [((), "wharf lua check PATH"), ((tmp_path / "nowhere",), "there is no such folder"), ((tmp_path,), "there are no Lua files"),
                       (("--what", "x"), "there is no option --what")]:
        r = lua("check", *args)
        assert r.returncode == 3 and told in r.stderr
    assert lua("dance").returncode == 3


def test_doc():
    everything = lua("doc").stdout
    assert "wharf.kv.get(key) -> value or nil\n    of the store of the workflow\n" in everything and everything.count("\n") > 300
    assert lua("doc", "wharf.kv").stdout.count("->") == 6 and lua("doc", "kv").stdout.count("->") == 7  # test.kv

    assert lua("doc", "wharf.hook.before").stdout.startswith("wharf.hook.before(resource, action, fn, opts?) -> nothing [operators' hooks]\n")
    assert lua("doc", "nope").returncode == 1


def test_annotations_of_all_functions():
    """What an editor reads: good Lua, each function of `wharf lua doc` with its parameters, and the arguments of handlers."""
    text = lua("doc", "--annotations").stdout
    assert subprocess.run(["lua5.4", "-e", "assert(load(io.read('a')))()"], input=text, capture_output=True, text=True, check=False).stderr == ""
    mine = [line.split(" -> ")[0] for line in lua("doc").stdout.splitlines() if line.startswith(("wharf.", "test."))]
    for call in mine:
        name = call.split("(")[0]
        assert re.search(rf"^(function {re.escape(name)}\(|{re.escape(name)} = nil$)", text, re.M), name
    assert text.startswith("---@meta\n") and len(mine) > 100
    assert "---@return any\n---@return wharf.error?\n---@return any\n---@param path any\n---@param query? any\nfunction wharf.api.get(path, query) end\n" in text
    assert "---@return string\n---@param s any\nfunction wharf.text.slug(s) end\n" in text
    for name in ("ctx", "event", "change", "request", "tick", "workflow"):
        assert f"---@class wharf.{name}\n" in text


class Types:
    """Reads types as LuaLS writes them: unions, optional ones, arrays, table<K, V>, fun(a: T): R, texts, names."""
    TOKEN = re.compile(r'\s*("[^"]*"|\.\.\.|[A-Za-z_][\w.]*|\[\]|[|?<>(),:])')

    def __init__(self, text):
        self.text, self.at, self.names = text, 0, set()

    def peek(self):
        m = self.TOKEN.match(self.text, self.at)
        return m and m[1]

    def take(self, wanted=None):
        m = self.TOKEN.match(self.text, self.at)
        assert m and wanted in (None, m[1]), (self.text, self.at, wanted)
        self.at = m.end()
        return m[1]

    def many(self, end, one):
        while self.peek() != end:
            one()
            if self.peek() != end:
                self.take(",")
        self.take(end)

    def argument(self):
        assert re.fullmatch(r"\w+|\.\.\.", self.take()), self.text
        if self.peek() == "?":
            self.take()
        self.take(":")
        self.type()

    def single(self):
        word = self.take()
        if word == "(":
            self.type()
            self.take(")")
        elif word == "fun":
            self.take("(")
            self.many(")", self.argument)
            if self.peek() == ":":
                self.take()
                self.type()
        elif not word.startswith('"'):
            assert re.fullmatch(r"[a-z][\w.]*", word), (self.text, word)
            self.names.add(word)
            if self.peek() == "<":
                assert word == "table", self.text
                self.take()
                self.type()
                self.take(",")
                self.type()
                self.take(">")
        while self.peek() in ("[]", "?"):
            self.take()

    def type(self):
        self.single()
        while self.peek() == "|":
            self.take()
            self.single()


def test_annotations_are_of_the_language_of_luals():
    """Each tag is one of LuaLS with the parts it wants, each type is one or is declared, and the parameters are those of the function behind them."""
    text = lua("doc", "--annotations").stdout
    built_in = {"any", "nil", "boolean", "string", "number", "integer", "function", "table"}
    declared = set(re.findall(r"^---@class (\S+)$", text, re.M))
    assert len(declared) >= 10 and len(declared) == len(re.findall(r"^---@class ", text, re.M))
    seen, params, above = set(), [], None
    for line in text.splitlines():
        m = re.match(r"---@(\w+) ?(.*)$", line)
        if m and m[1] in ("field", "param"):
            name = re.match(r"(\w+|\.\.\.)\??\s+(?=\S)", m[2])
            assert name and (m[1] == "param" or above in ("class", "field")), line
            seen.add(m[1])
            params += [name[1]] if m[1] == "param" else []
            of = Types(m[2][name.end():])
        elif m and m[1] in ("return", "type"):
            of = Types(m[2])
        else:
            assert not m or m[1] == "class" or line == "---@meta", line
            of = None
        if of:
            of.type()
            assert m[1] == "field" or not of.text[of.at:].strip(), line  # behind the type of a field words may stand
            assert of.names <= built_in | declared, (line, of.names - built_in - declared)
        function = re.match(r"function [\w.:]+\((.*)\) end$", line)
        if function:
            assert params == [p for p in function[1].split(", ") if p], line
        if not line.startswith("---"):
            params = []
        above = m[1] if m else None
    assert seen == {"field", "param"}
    with pytest.raises(AssertionError):
        Types("table<string").type()
