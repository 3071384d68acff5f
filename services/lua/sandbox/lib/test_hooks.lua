-- wharf.hook as tests of hook files see it: what is registered is kept, and `handlers` calls what
-- fits an input, in the order of the server (services/lua/operator/generation.c): by priority, then
-- as registered. Only sandboxes of hooks' tests have it.
local host, wharf = ...
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
    if type(resource) ~= "string" then
      host.raise("the first argument is the name of a resource")
    end
    if not ACTIONS[action] then host.raise("the action is 'create', 'update' or 'delete'") end
    local o = options(opts, WRITE)
    add(
      phase,
      fn,
      {
        resource = resource,
        action = action,
        priority = o.priority or 0,
        ignore = o.on_error == "ignore",
      }
    )
  end
end

function M.on_event(pattern, fn, opts)
  local o = options(opts, { timeout_ms = true, filter = true, concurrency = true })
  if type(pattern) ~= "string" then
    host.raise("the first argument is the type of an event: 'parcel.created', 'parcel.*' or '*'")
  end
  if type(fn) == "function" and o.filter then
    local all = fn
    fn = function(event, ctx)
      if wharf.filter.match(o.filter, event) then all(event, ctx) end
    end
  end
  add("on_event", fn, { pattern = pattern, priority = 0 })
end

function M.schedule(cron, fn, opts)
  options(opts, { timezone = true, timeout_ms = true })
  if type(cron) ~= "string" then host.raise("the first argument is a schedule of five fields") end
  add("on_schedule", fn, { priority = 0 })
end

local ROUTE = {
  scope = true,
  location = true,
  module = true,
  summary = true,
  description = true,
  query = true,
  body = true,
  response = true,
  statuses = true,
  list = true,
  filters = true,
  raw = true,
  content_type = true,
  timeout_ms = true,
  per_minute = true,
  max_body = true,
}
local METHODS = { GET = true, POST = true, PUT = true, DELETE = true }

function M.route(method, path, opts, fn)
  if not METHODS[method] then host.raise("the method is GET, POST, PUT or DELETE") end
  if type(path) ~= "string" or path:sub(1, 6) ~= "/v1/x/" then
    host.raise("a route's path begins with /v1/x/ and has at most 100 characters")
  end
  local o = options(opts, ROUTE)
  if not o.scope or not o.location then host.raise("scope and location are needed") end
  add(
    "route",
    fn,
    { method = method, path = path, list = o.list, filters = o.filters, priority = 0 }
  )
end

for _, phase in ipairs { "request", "response" } do
  M[phase] = function(fn, opts)
    local o = options(opts, WRITE)
    add(phase, fn, { priority = o.priority or 0, ignore = o.on_error == "ignore" })
  end
end

local function fits(h, kind, input)
  if h.kind ~= kind then return false end
  if h.pattern then
    return h.pattern == "*"
      or h.pattern == input.type
      or (h.pattern:sub(-2) == ".*" and input.type:sub(1, #h.pattern - 1) == h.pattern:sub(1, -2))
  end
  return h.resource == nil or (h.resource == input.resource and h.action == input.action)
end

local function chain(kind, input)
  local list = {}
  for _, h in ipairs(hooks) do
    if fits(h, kind, input) then list[#list + 1] = h end
  end
  if #list == 0 then host.raise("no hook of these files is called for this") end
  table.sort(list, function(a, b)
    if a.priority ~= b.priority then return a.priority < b.priority end
    return a.at < b.at
  end)
  return list
end

local function call(kind, input, ctx)
  for _, h in ipairs(chain(kind, input)) do
    if h.ignore then pcall(h.fn, input, ctx) else h.fn(input, ctx) end
  end
end

-- ---- routes ----

local function segments(path)
  local out = {}
  for s in path:gmatch("[^/]+") do out[#out + 1] = s end
  return out
end

-- The params of the path, when the route is one of it; and which of its segments are literal, as a
-- text that is greater the earlier they are.
local function params_of(route, path)
  local mine, theirs, params, literal = segments(route), segments(path), {}, ""
  if #mine ~= #theirs then return nil end
  for i, s in ipairs(mine) do
    if s:sub(1, 1) == ":" then
      params[s:sub(2)] = theirs[i]
      literal = literal .. "0"
    elseif s == theirs[i] then
      literal = literal .. "1"
    else
      return nil
    end
  end
  return params, literal
end

local READ = {
  string = tostring,
  number = tonumber,
  boolean = function(v) return v == "true" end,
  date = function(v) return wharf.time.iso(wharf.time.parse(v)) end,
}

local function conditions(types, query)
  local out = wharf.json.array {}
  for _, key in ipairs(wharf.table.keys(query)) do
    local name, op = key:match("^(.-)%[(.+)%]$")
    name = name or key
    local read, value = READ[types[name]], query[key]
    if read then
      op = op or (value:find(",", 1, true) and "in" or "eq")
      local many = op == "in" or op == "!in"
      out[#out + 1] = {
        path = name,
        op = op,
        value = many
            and wharf.table.map(wharf.text.split(value, ","), function(v) return read(v) end)
          or read(value),
      }
    end
  end
  return out
end

local function context_of(h, input, ctx)
  local more, query = {}, input.query or {}
  if h.list then
    local page, limit =
      math.tointeger(query.page or 1) or 1, math.tointeger(query.limit or 20) or 20
    more.page = { page = page, limit = limit, offset = (page - 1) * limit, take = limit + 1 }
  end
  if h.filters then more.filters = conditions(h.filters, query) end
  return setmetatable(more, { __index = ctx })
end

function M.handlers.route(input, ctx)
  local found, params, most = nil, nil, ""
  for _, h in ipairs(hooks) do
    local p, literal = nil, nil
    if h.kind == "route" and h.method == input.method then
      p, literal = params_of(h.path, input.path)
    end
    if p and literal > most then found, params, most = h, p, literal end
  end
  if not found then
    host.raise(
      "no route of these files is " .. tostring(input.method) .. " " .. tostring(input.path)
    )
  end
  input.params = params
  return found.fn(input, context_of(found, input, ctx))
end

for _, kind in ipairs { "request", "response" } do
  M.handlers[kind] = function(input, ctx)
    local list, headers = chain(kind, input), {}
    for _, h in ipairs(list) do
      local good, told = true, nil
      if h.ignore then good, told = pcall(h.fn, input, ctx) else told = h.fn(input, ctx) end
      for name, value in pairs(good and told and told.headers or {}) do headers[name] = value end
    end
    return { headers = headers }
  end
end

for _, kind in ipairs { "before", "after", "on_event", "on_schedule" } do
  M.handlers[kind] = function(input, ctx) call(kind, input, ctx) end
end

return M
