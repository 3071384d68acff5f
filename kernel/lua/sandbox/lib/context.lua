-- ctx: what a run knows of itself, read-only, with what is left of its budget.
local host = ...

local function read_only(t, name)
  return setmetatable({}, {
    __index = t,
    __newindex = function(_, k) host.raise(string.format("%s is read-only; '%s' can't be set", name, tostring(k))) end,
    __pairs = function() return next, t, nil end,
    __metatable = false,
  })
end

return function(ctx)
  for _, name in ipairs { "run", "workflow" } do
    if type(ctx[name]) == "table" then ctx[name] = read_only(ctx[name], "ctx." .. name) end
  end
  function ctx.budget()
    local b = host.call("budget", {})
    local instructions, memory = host.left()
    return { instructions = instructions, memory = memory, api_calls = b.api_calls, http_calls = b.http_calls }
  end
  function ctx.deadline_ms()
    return host.call("budget", {}).deadline_ms
  end
  return read_only(ctx, "ctx")
end
