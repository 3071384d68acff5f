-- wharf.test_values: comparisons, sample inputs, and what runs may use, for test.lua. Only
-- sandboxes of tests have it.
local host, wharf = ...
local engine = wharf.testing
local M = { calls = {} } -- calls: functions of wharf.test

-- ---- what runs may use ----

-- A run of each kind may use this much (docs/spec/08-workflows-and-lua.md section 6).
-- Calls of the API inside of before hooks only read.
local MIB = 1024 * 1024
local SYNC = {
  instructions = 20000000, memory = 32 * MIB, result = MIB, ms = 10000, api = 50, http = 10,
  mails = 5, emits = 20,
}
local QUEUED = {
  instructions = 100000000, memory = 64 * MIB, result = 65536, ms = 60000, api = 500, http = 50,
  mails = 10, emits = 100, sleep = 10000,
}
local CLASSES = {
  before = {
    instructions = 500000, memory = 8 * MIB, result = 65536, ms = 100, api = 10, reads = true,
    http = 0, mails = 0, emits = 0,
  },
  on_http = SYNC,
  on_run = SYNC,
}
local OPERATOR = {
  instructions = 200000000, memory = 256 * MIB, result = MIB, ms = 60000, api = 1000, http = 100,
  mails = 10, emits = 100, sleep = 10000,
}

-- Ops that are not there for hooks of a kind (services/lua/operator/operator_host.c): how they
-- begin, and why.
local AROUND = {
  beginnings = { "api.", "http.", "kv.", "lock.", "emit", "mail.", "db." },
  why = "request and response hooks have five milliseconds and can't wait for anything",
}
local HOOKS = {
  before = {
    ms = 250,
    sleep = false,
    refused = {
      beginnings = { "api.", "http.", "lock." },
      why = "inside of a request's transaction nobody else is asked; "
        .. "use wharf.db.query, or an after hook",
    },
  },
  route = { ms = 10000, sleep = false },
  request = { ms = 5, sleep = false, refused = AROUND },
  response = { ms = 5, sleep = false, refused = AROUND },
}

M.queued = QUEUED

-- Returns what runs of the handler may use.
function M.class_of(handler)
  if engine.hooks() then return wharf.table.merge(OPERATOR, HOOKS[handler] or {}) end
  return CLASSES[handler] or QUEUED
end

-- ---- comparisons ----

local function show(v)
  if type(v) == "string" then
    return #v > 200 and string.format("%q …", v:sub(1, 200)) or string.format("%q", v)
  end
  if type(v) ~= "table" then return tostring(v) end
  local ok, text = pcall(wharf.json.encode, v, { sort_keys = true })
  if not ok then return "a table" end
  return #text > 300 and text:sub(1, 300) .. " …" or text
end

function M.calls.eq(a, b)
  if a ~= b then host.raise("got " .. show(a) .. ", expected " .. show(b)) end
end

function M.calls.same(a, b)
  local diff, lines = wharf.table.diff(a, b), {}
  if #diff == 0 then return end
  for i, d in ipairs(diff) do
    if i > 8 then
      lines[i] = string.format("  and %d more", #diff - 8)
      break
    end
    lines[i] = string.format(
      "  %s: got %s, expected %s", d.path == "" and "(all)" or d.path, show(d.old), show(d.new)
    )
  end
  host.raise("not the same:\n" .. table.concat(lines, "\n"))
end

function M.calls.ok(v)
  if not v then host.raise("got " .. show(v) .. ", expected something true") end
end

function M.calls.match(s, pattern)
  if type(s) ~= "string" or not s:find(pattern) then
    host.raise(show(s) .. " does not match " .. show(pattern))
  end
end

function M.calls.raises(fn, pattern)
  local good, err = pcall(fn)
  if good then host.raise("nothing was raised") end
  local text = type(err) == "table" and tostring(err.message or err.code) or tostring(err)
  if pattern and not text:find(pattern) then
    host.raise(show(text) .. " was raised; it does not match " .. show(pattern))
  end
  return err
end

-- ---- sample inputs ----

local function merged(a, b) return b == nil and a or wharf.table.merge(a, b) end

function M.calls.event(kind, data, over)
  local sample = engine.sample("events", kind)
  if not sample and not tostring(kind):match("^custom%.") then
    host.raise("there is no type of event '" .. tostring(kind) .. "'")
  end
  sample = sample or { resource_type = wharf.null, data = {} }
  local d = merged(sample.data, data)
  return merged(
    {
      id = "evt_01JGFJJZ00SAMP1E000000000A", object = "event", type = kind,
      timestamp = wharf.time.iso(), api_version = "v1", sequence = 1,
      organization_id = "org_01JGFJJZ00SAMP1E000000000A", location_id = d.location_id or wharf.null,
      resource_type = sample.resource_type, resource_id = d.id or wharf.null, batch_id = wharf.null,
      actor = { type = "user", id = "usr_01JGFJJZ00SAMP1E000000000A", name = "Test" }, data = d,
    },
    over
  )
end

function M.calls.request(over)
  local r = merged(
    {
      method = "POST", path = "/", params = {}, query = {}, headers = {},
      remote_addr = "203.0.113.7", key = { id = "key_01JGFJJZ00SAMP1E000000000A" },
    },
    over
  )
  if r.json ~= nil and r.body == nil then r.body = wharf.json.encode(r.json) end
  if r.json == nil and r.body ~= nil then r.json = (wharf.json.decode(r.body)) end
  r.body = r.body or ""
  return r
end

-- Takes out of the input what hooks of workflows are not shown, and names it, as servers do.
local function leave_out(c)
  for _, name in ipairs(not engine.hooks() and engine.sample("left_out", c.resource) or {}) do
    if c.input[name] ~= nil then
      c.input[name], c.without = nil, c.without or {}
      c.without[#c.without + 1] = name
    end
  end
end

function M.calls.change(over)
  local c = merged({ action = "create", input = {} }, over)
  local sample = engine.sample("resources", c.resource)
  if not sample then host.raise("there is no resource '" .. tostring(c.resource) .. "'") end
  leave_out(c)
  if c.action ~= "create" then c.old = merged(sample, c.old) end
  c.new = c.action ~= "delete" and merged(merged(c.old or sample, c.input), c.new) or c.new
  c.id = c.id or (c.new or c.old).id
  c.location_id = c.location_id or (c.new or c.old).location_id
  if c.location_id == wharf.null then c.location_id = nil end
  return c
end

return M
