"""A server with every documented setting on that adds work to requests, for sanitizers: WHARF_TEST_EVERYTHING=1 makes all test servers so (wharf.py).

What a test says itself (`--set`) is left as it is. The hooks let everything through and change nothing; they are there so that their code runs.
"""
import pathlib

# Limits are judged and never met; each request leaves its lines in all logs.
SETTINGS = {
    "request_log.reads": "true", "log.level": "debug", "cors.origins": "https://app.example",
    "rate_limit.key": "1000000", "rate_limit.key_burst": "1000000", "rate_limit.write": "1000000", "rate_limit.write_burst": "1000000",
    "rate_limit.test": "1000000", "rate_limit.test_burst": "1000000", "rate_limit.organization": "1000000", "rate_limit.organization_burst": "1000000",
    "rate_limit.concurrency": "100000", "http.trusted_proxies": "192.0.2.0/24",
}

HOOKS = """
local function look(change, ctx)
  local seen = 0
  for _, part in ipairs({"input", "old", "new"}) do
    for _ in pairs(change[part] or {}) do seen = seen + 1 end
  end
  wharf.metrics.count("writes_seen", seen, {action = change.action})
end
for _, resource in ipairs({%s}) do
  for _, action in ipairs({"create", "update", "delete"}) do
    pcall(wharf.hook.before, resource, action, look, {timeout_ms = 250, on_error = "ignore"}) -- modules that are left out have none
  end
end
wharf.hook.request(function(request) local _ = request.path .. tostring(request.body) end, {on_error = "ignore"})
wharf.hook.response(function(answer) local _ = tostring(answer.code) .. tostring(answer.route) end, {on_error = "ignore"})
"""


def arguments(args, folder, schemas, limits):
    """What is said beside args. schemas: the folder of the definitions, whose names are those of the resources. limits: the test has rates of its own."""
    said = {str(a).split("=", 1)[0] for a in args}
    hooks = folder / "all-hooks"
    hooks.mkdir(exist_ok=True)
    hooks.chmod(0o755)
    names = sorted({p.name.split(".")[0] for p in pathlib.Path(schemas).glob("*/*.json")})
    (hooks / "10-everything.lua").write_text(HOOKS % ", ".join(f'"{name}"' for name in names))
    more = {**SETTINGS, "lua_hooks.dir": str(hooks), "log.access": str(folder / "access.log")}
    return [a for key, value in more.items() if key not in said and not (limits and key.startswith("rate_limit.")) for a in ("--set", f"{key}={value}")]
