-- wharf.hook as tests of hook files see it: what is registered is kept, and `handlers` calls what fits an input, in the order of the server
-- (lua/operator/generation.c): by priority, then as registered. Only sandboxes of hooks' tests have it.
local host = ...
local M, hooks = { handlers = {} }, {}
local ACTIONS = { create = true, update = true, delete = true }

local function options(opts, known)
  if opts ~= nil and type(opts) ~= "table" then host.raise("options are a table") end
  for k in pairs(opts or {}) do
    if not known[k] then host.raise("there is no option '" .. tostring(k) .. "' here") end
  end
  return opts or {}
end

local function add(kind, fn, h)
  if type(fn) ~= "function" then host.raise("the last argument is the function that is called") end
  h.kind, h.fn, h.at = kind, fn, #hooks
  hooks[#hooks + 1] = h
end

local WRITE = { priority = true, timeout_ms = true, on_error = true }

for _, phase in ipairs { "before", "after" } do
  M[phase] = function(resource, action, fn, opts)
    if type(resource) ~= "string" then host.raise("the first argument is the name of a resource") end
    if not ACTIONS[action] then host.raise("the action is 'create', 'update' or 'delete'") end
    local o = options(opts, WRITE)
    add(phase, fn, { resource = resource, action = action, priority = o.priority or 0, ignore = o.on_error == "ignore" })
  end
end

function M.on_event(pattern, fn, opts)
  options(opts, { timeout_ms = true })
  if type(pattern) ~= "string" then host.raise("the first argument is the type of an event: 'parcel.created', 'parcel.*' or '*'") end
  add("on_event", fn, { pattern = pattern, priority = 0 })
end

function M.schedule(cron, fn, opts)
  options(opts, { timezone = true, timeout_ms = true })
  if type(cron) ~= "string" then host.raise("the first argument is a schedule of five fields") end
  add("on_schedule", fn, { priority = 0 })
end

local function fits(h, kind, input)
  if h.kind ~= kind then return false end
  if h.pattern then
    return h.pattern == "*" or h.pattern == input.type or (h.pattern:sub(-2) == ".*" and input.type:sub(1, #h.pattern - 1) == h.pattern:sub(1, -2))
  end
  return h.resource == nil or (h.resource == input.resource and h.action == input.action)
end

local function call(kind, input, ctx)
  local list = {}
  for _, h in ipairs(hooks) do
    if fits(h, kind, input) then list[#list + 1] = h end
  end
  if #list == 0 then host.raise("no hook of these files is called for this") end
  table.sort(list, function(a, b)
    if a.priority ~= b.priority then return a.priority < b.priority end
    return a.at < b.at
  end)
  for _, h in ipairs(list) do
    if h.ignore then pcall(h.fn, input, ctx) else h.fn(input, ctx) end
  end
end

for _, kind in ipairs { "before", "after", "on_event", "on_schedule" } do
  M.handlers[kind] = function(input, ctx) call(kind, input, ctx) end
end

return M
