-- wharf.test: cases, and the world that a run of a test sees
-- (docs/spec/08-workflows-and-lua.md section 8); comparisons and sample inputs are in
-- test_values.lua. The engine (services/lua/testing/testing.c) makes a state for each case, and one
-- for each test.run; what that one asks its host for is served here.
local host, wharf = ...
local engine = wharf.testing
local values = wharf.test_values
local M, cases, before, shots, done = {}, {}, {}, {}, {} -- done: runs of the case
for name, call in pairs(values.calls) do M[name] = call end
local KEPT_RUNS, KEPT_LINES = 5, 50

-- What cases set, and what runs leave.
local world = {
  api = {}, http = {}, db = {}, faults = {}, secrets = {}, kv = {}, settings = {}, files = {},
  config = {}, locks = {}, ids = 0,
}
local flow = engine.workflow() -- what is said of the workflow; nil: nothing
local scopes -- path and method -> scope, as they were looked up
if flow and type(flow.settings) == "table" then world.settings = flow.settings end
local record -- of the run that is going on; nil: the case itself asks

-- ---- cases ----

local function add(name, fn, skip)
  if type(name) ~= "string" or name == "" or type(fn) ~= "function" then
    host.raise("a case is a name and a function")
  end
  for _, c in ipairs(cases) do
    if c.name == name then host.raise("there is a case '" .. name .. "' already") end
  end
  local _, line = host.where()
  cases[#cases + 1] = { name = name, fn = fn, skip = skip, line = line }
end

function M.case(name, fn) add(name, fn, false) end
function M.skip(name, fn) add(name, fn, true) end

function M.before_each(fn)
  if type(fn) ~= "function" then host.raise("test.before_each takes a function") end
  before[#before + 1] = fn
end

-- ---- snapshots ----

-- A value as it was when the tests were run with --update; kept in __snapshots__/<test
-- file>_snap.lua.
function M.snapshot(name, value)
  local text, file =
    wharf.json.encode(value, { pretty = true, sort_keys = true }), engine.snapshots()
  if engine.update() then
    shots[#shots + 1] = string.format("  [%q] = %q,\n", name, text)
    return
  end
  local good, kept = pcall(require, file)
  if not good or kept[name] == nil then
    host.raise("there is no snapshot '" .. name
      .. "' yet; run the tests with --update, look at it, and keep it")
  end
  if kept[name] ~= text then M.same(value, (wharf.json.decode(kept[name]))) end
end

-- ---- stubs ----

-- "*" stands for any text.
local function glob(text)
  return "^" .. text:gsub("[%^%$%(%)%%%.%[%]%+%-%?]", "%%%0"):gsub("%*", ".*") .. "$"
end

local function stub(list, method, pattern, reply)
  if type(pattern) ~= "string" or (type(reply) ~= "table" and type(reply) ~= "function") then
    host.raise(
      "a stub is a method, an address with * for any text, and a table or function that answers"
    )
  end
  table.insert(list, 1, { method = method:upper(), pattern = glob(pattern), reply = reply })
end

function M.api(method, path, reply) stub(world.api, method, path, reply) end
function M.http(method, url, reply) stub(world.http, method, url, reply) end
function M.db(sql, reply) stub(world.db, "SQL", sql, reply) end
function M.secret(key, value) world.secrets[key] = value end
function M.settings(t) world.settings = t end
function M.config(key, value) world.config[key] = value end
function M.file(name, text) world.files[name] = text end

function M.kv(t)
  for k, v in pairs(t) do world.kv[k] = { value = v } end
end

function M.fault(kind, n, what)
  if
    not ({ timeout = true, blocked = true, ["500"] = true, ["429"] = true, memory = true })[kind]
    or math.type(n) ~= "integer"
    or not ({ http = true, api = true, kv = true })[what]
  then
    host.raise(
      "test.fault(kind, n, what): timeout, blocked, 500, 429 or memory "
        .. "of the n-th http, api or kv call of a run"
    )
  end
  world.faults[what .. n] = kind
end

function M.clock(iso)
  local t, err = wharf.time.parse(iso)
  if not t then host.raise(err.message) end
  engine.clock(math.floor(t * 1000 + 0.5))
end

function M.advance(ms) engine.clock(wharf.time.now_ms() + math.floor(ms)) end

-- ---- what runs ask for ----

local serve = {}

local function fault_of(what)
  if not record then return nil end
  record.calls[what] = (record.calls[what] or 0) + 1
  return world.faults[what .. record.calls[what]]
end

-- Counts a call; true: it is one too many.
local function over(kind, most)
  if not record or not record.class[most] then return false end
  record.used[kind] = (record.used[kind] or 0) + 1
  return record.used[kind] > record.class[most]
end

local function budget(code)
  return "ended",
    {
      code = "workflow.budget_" .. code,
      message = "the run used more of its budget than there is: " .. code,
    }
end

local function note(list, entry)
  if record then table.insert(record[list], entry) end
  return entry
end

-- told: what the case fails with when there is none; nil: nothing.
local function find(list, method, address, told)
  for _, s in ipairs(list) do
    if (s.method == method or s.method == "*") and address:find(s.pattern) then return s.reply end
  end
  if told then error(told, 0) end
end

local function answer(reply, request)
  if type(reply) == "function" then return reply(request) end
  return reply
end

local FAULTS = {
  ["500"] = { 500, "internal" }, ["429"] = { 429, "rate_limited" }, timeout = { 503, "timeout" },
  blocked = { 403, "blocked" },
}

-- What a server said to a call that nobody answers here (wharf lua run --live); nil: there is none.
local function live(call)
  local query = call.query and next(call.query) ~= nil and "?" .. wharf.url.query(call.query) or ""
  local status, text = engine.live(
    call.method, call.path .. query, call.body ~= nil and wharf.json.encode(call.body) or ""
  )
  if not status then return nil end
  local body = text and wharf.json.decode(text)
  if type(body) ~= "table" then
    return {
      status = 503, code = "unavailable", message = "the server gave no answer that can be read",
    }
  end
  return {
    status = status, code = status >= 400 and (body.code or "failed") or nil,
    message = body.message, data = body.data, pagination = body.pagination, errors = body.errors,
  }
end

-- ---- what the workflow's scopes and hosts say ----

local function segments(path)
  local out = {}
  for s in path:gmatch("[^/]+") do out[#out + 1] = s end
  return out
end

-- Which of the path's segments are literal in the pattern, as a text that is greater the earlier
-- they are; nil: it is another path.
local function fit(pattern, path)
  local literal = ""
  for i, s in ipairs(pattern) do
    if s:sub(1, 1) == "*" then return literal end
    if path[i] == nil or s:sub(1, 1) ~= ":" and s ~= path[i] then return nil end
    literal = literal .. (s == path[i] and "1" or "0")
  end
  return #pattern == #path and literal or nil
end

-- The scope that the API asks for; nil: it is not known.
local function scope_of(method, path)
  local key, parts, best, found = method .. " " .. path, segments(path:match("^[^?]*")), "", nil
  scopes = scopes or {}
  if scopes[key] ~= nil then return scopes[key] or nil end
  for _, route in ipairs(flow.routes or {}) do
    local verb, pattern, scope = route:match("^(%S+) (%S+) (%S+)$")
    local literal = verb == method and fit(segments(pattern), parts)
    if literal and literal >= best then best, found = literal, scope end
  end
  scopes[key] = found or false
  return found
end

-- nil, or the scope that the workflow has not.
local function lacking(method, path)
  local scope = flow and record and scope_of(method, path)
  if not scope then return nil end
  for _, s in ipairs(flow.scopes or {}) do
    if s == scope or s == scope:gsub(":read$", ":write") then return nil end
  end
  return scope
end

local function host_allowed(url)
  if not flow or type(flow.http_hosts) ~= "table" then return true end
  local host = (url:match("^%a[%w+.-]*://([^/?#]*)") or ""):gsub(":%d*$", ""):lower()
  for _, pattern in ipairs(flow.http_hosts) do
    local p = pattern:lower()
    if p == host or p:sub(1, 2) == "*." and #host > #p - 1 and host:sub(-(#p - 1)) == p:sub(2) then
      return true
    end
  end
  return false
end

local function api(op, args)
  local method = op:sub(5):upper()
  if over("api", "api") or (record and record.class.reads and method ~= "GET") then
    return budget("calls")
  end
  local call = note(
    "api",
    {
      method = method, path = args.path, query = args.query, body = args.body,
      idempotency_key = args.idempotency_key, organization = args.organization,
    }
  )
  if record and method ~= "GET" then
    record.writes = record.writes + 1
    call.idempotency_key = call.idempotency_key or record.key .. ":" .. record.writes
  end
  local fault, reply, lacks = fault_of("api"), nil, lacking(method, args.path)
  if fault == "memory" then return budget("memory") end
  if lacks then
    reply = {
      status = 403, code = "scope_access",
      message = "the workflow has no scope " .. lacks .. " (scopes in workflow.json)",
    }
  elseif fault then
    reply = { status = FAULTS[fault][1], code = FAULTS[fault][2] }
  else
    local stubbed = find(world.api, method, args.path)
    reply = stubbed and (answer(stubbed, call) or {}) or live(call)
    if not reply then
      error(
        string.format(
          'nothing answers %s %s; say test.api("%s", "%s", {data = …})', method, args.path, method,
          args.path
        ),
        0
      )
    end
  end
  call.status = reply.status or 200
  if call.status >= 400 or reply.code then
    return "refused",
      {
        code = reply.code or "failed", message = reply.message or reply.code or "failed",
        status = call.status, errors = reply.errors,
      }
  end
  return "given",
    {
      status = call.status, message = reply.message or "OK", data = reply.data,
      pagination = reply.pagination,
    }
end

serve["api.as"] = function(_, args) return args.organization ~= "" and "given" or "mistake", {} end
serve["api.get"], serve["api.post"], serve["api.delete"] = api, api, api

local HTTP_FAULTS = { timeout = "http.timeout", blocked = "http.blocked" }

-- The answer, or nil and the failure, or nil, nil, kind, value: the run ends.
local function exchange(r)
  if over("http", "http") then return nil, nil, budget("calls") end
  local body = r.body and wharf.base64.decode(r.body)
  local call = note(
    "http",
    { method = r.method, url = r.url, headers = r.headers, body = body, timeout_ms = r.timeout_ms }
  )
  local fault, reply = fault_of("http"), nil
  if fault == "memory" then return nil, nil, budget("memory") end
  if not host_allowed(r.url) then
    return nil,
      {
        code = "http.host_not_allowed",
        message = "the host is not among http_hosts (in workflow.json): " .. r.url,
      }
  end
  if HTTP_FAULTS[fault] then return nil, { code = HTTP_FAULTS[fault], message = fault } end
  if fault then
    reply = { status = math.tointeger(tonumber(fault)) }
  else
    local stubbed = find(
      world.http,
      r.method,
      r.url,
      string.format(
        'nothing answers %s %s; say test.http("%s", "%s", {status = 200, json = …})', r.method,
        r.url, r.method, r.url
      )
    )
    reply = answer(stubbed, call) or {}
  end
  if reply.code then return nil, { code = reply.code, message = reply.message or reply.code } end
  call.status = reply.status or 200
  local headers, text = {}, reply.body or ""
  for k, v in pairs(reply.headers or {}) do headers[k:lower()] = v end
  if reply.json ~= nil then
    text = wharf.json.encode(reply.json)
    headers["content-type"] = headers["content-type"] or "application/json"
  end
  return { status = call.status, headers = headers, body = wharf.base64.encode(text) }
end

serve["http.request"] = function(_, args)
  local res, err, kind, value = exchange(args)
  if kind then return kind, value end
  if not res then return "refused", err end
  return "given", res
end

serve["http.all"] = function(_, args)
  local out = wharf.json.array {}
  for i, r in ipairs(args.requests) do
    local res, err, kind, value = exchange(r)
    if kind then return kind, value end
    out[i] = res and { response = res } or { error = err }
  end
  return "given", out
end

serve["secret"] = function(_, args)
  local value = world.secrets[args.key]
  if value == nil then
    return "mistake", { code = "secret.missing", message = "there is no secret " .. args.key }
  end
  return "given", { value = value }
end

local function stored(key)
  local e = world.kv[key]
  if e and e.ends and e.ends <= wharf.time.now_ms() then
    world.kv[key] = nil
    e = nil
  end
  return e
end

-- What servers refuse of a value that is to be kept: the problem and its code. world.kv_bytes may
-- be too much, never too little.
local function refuses(key, value)
  local n = #key + #wharf.json.encode(value)
  if n - #key > 64 << 10 then return "a value has at most 64 KiB as JSON", "kv.too_large" end
  world.kv_bytes = (world.kv_bytes or 0) + n
  if world.kv_bytes <= 10 << 20 then return end
  for k in pairs(world.kv) do
    local e = k ~= key and stored(k)
    if e then n = n + #k + #wharf.json.encode(e.value) end
  end
  world.kv_bytes = n
  if n > 10 << 20 then
    return engine.hooks()
        and "the store of hooks holds at most 10 MiB for an organization; "
          .. "delete keys, or give them a ttl"
      or "the store of a workflow holds at most 10 MiB",
      "kv.full"
  end
end

local function keep(key, value, ttl)
  world.kv[key] = { value = value, ends = ttl and wharf.time.now_ms() + math.floor(ttl * 1000) }
end

local KV = {
  get = function(a)
    local e = stored(a.key)
    return e and { value = e.value }
  end,
  set = function(a)
    local problem, code = refuses(a.key, a.value)
    if problem then return nil, problem, code end
    if a.if_absent and stored(a.key) then return { done = false } end
    keep(a.key, a.value, a.ttl)
    return { done = true }
  end,
  incr = function(a)
    local e = stored(a.key)
    if e and math.type(e.value) ~= "integer" then
      return nil, "the value of '" .. a.key .. "' is no whole number", "kv.not_a_number"
    end
    local before = e and e.value or 0
    local value = before + a.by
    if a.by > 0 and value < before or a.by < 0 and value > before then
      return nil, "the sum would be no number of 64 bits", "param.invalid"
    end
    local problem, code = refuses(a.key, value)
    if problem then return nil, problem, code end
    keep(a.key, value, a.ttl)
    if e and not a.ttl then world.kv[a.key].ends = e.ends end
    return { value = value }
  end,
  cas = function(a)
    local e = stored(a.key)
    local same = a.absent and e == nil
      or not a.absent and e ~= nil and wharf.table.equal(e.value, a.old)
    local problem, code
    if a.new ~= nil then problem, code = refuses(a.key, a.new) end
    if problem then return nil, problem, code end
    if same then keep(a.key, a.new) end
    return { done = same }
  end,
  delete = function(a)
    local had = stored(a.key) ~= nil
    world.kv[a.key] = nil
    return { done = had }
  end,
  list = function(a)
    local items = wharf.json.array {}
    for _, key in ipairs(wharf.table.keys(world.kv)) do
      if #items < a.limit and wharf.text.starts_with(key, a.prefix) and stored(key) then
        items[#items + 1] = { key = key, value = world.kv[key].value }
      end
    end
    return { items = items }
  end,
}

for name, fn in pairs(KV) do
  serve["kv." .. name] = function(_, args)
    local fault = fault_of("kv")
    if fault == "memory" then return budget("memory") end
    if fault then
      return "refused", { code = FAULTS[fault][2], message = "the store can't be asked" }
    end
    local far = type(args.ttl) ~= "number" or not (math.abs(args.ttl) <= 100 * 366 * 86400)
    if args.ttl == wharf.null then args.ttl = nil end
    if args.ttl ~= nil and far then
      return "mistake",
        {
          code = "param.invalid",
          message = "ttl is a number of seconds, at most those of 100 years",
        }
    end
    local value, problem, code = fn(args)
    if problem then return "mistake", { code = code, message = problem } end
    return "given", value
  end
end

serve["lock.take"] = function(_, args)
  if world.locks[args.name] then
    return "refused", { code = "lock.busy", message = "somebody else holds it" }
  end
  world.locks[args.name] = true
  return "given", { token = args.name }
end

serve["lock.give"] = function(_, args)
  world.locks[args.token] = nil
  return "given"
end

local function next_id(prefix)
  world.ids = world.ids + 1
  return string.format("%s_%026d", prefix, world.ids)
end

serve["emit"] = function(_, args)
  if over("emits", "emits") then return budget("calls") end
  note(
    "emitted",
    {
      type = args.type, data = args.data, resource_type = args.resource_type,
      resource_id = args.resource_id, location_id = args.location_id,
    }
  )
  return "given", { id = next_id("evt") }
end

serve["mail.send"] = function(_, args)
  if over("mails", "mails") then return budget("calls") end
  note("mails", { to = args.to, subject = args.subject, text = args.text, html = args.html })
  return "given", { id = next_id("mail") }
end

serve["sleep"] = function(_, args)
  local most = record and record.class.sleep
  if record and (not most or record.slept + args.ms > most) then
    return "mistake",
      {
        code = "workflow.budget_calls",
        message = most and "a run sleeps 10 s in all" or "this kind of run can't sleep",
      }
  end
  if record then record.slept = record.slept + args.ms end
  M.advance(args.ms)
  return "given"
end

serve["log"] = function(_, args)
  note(
    "logs",
    {
      at = wharf.time.iso(), level = args.level, message = args.message, fields = args.fields,
      file = args.file, line = args.line,
    }
  )
  return "given"
end

serve["budget"] = function()
  local class = record and record.class or values.queued
  local used = record and record.used or {}
  return "given",
    {
      deadline_ms = class.ms, api_calls = class.api - (used.api or 0),
      http_calls = class.http - (used.http or 0),
    }
end

serve["db.query"] = function(_, args)
  local told = "nothing answers this query; say test.db(\"*…*\", {rows}): " .. args.sql
  return "given", answer(find(world.db, "SQL", args.sql, told), args)
end

serve["config"] = function(_, args) return "given", { value = world.config[args.key] } end
serve["metric"] = function(_, args)
  note("metrics", args)
  return "given"
end

-- nil, or why hooks of this kind may not ask for it.
local function refusal(op)
  local refused = record and record.class.refused
  for _, beginning in ipairs(refused and refused.beginnings or {}) do
    if wharf.text.starts_with(op, beginning) then return refused.why end
  end
end

engine.serve(function(op, args)
  local why = refusal(op)
  if why then return "mistake", { code = "op.unknown", message = why } end
  if not serve[op] then
    return "mistake", { code = "op.unknown", message = "this function is not available in tests" }
  end
  return serve[op](op, args)
end)

-- ---- runs ----

local ENDS = { [0] = "succeeded", [3] = "rejected" }

local function contents()
  local out = {}
  for key in pairs(world.kv) do
    if stored(key) then out[key] = world.kv[key].value end
  end
  return out
end

local function context_of(handler, input, opts)
  local location = opts.location_id or type(input) == "table" and input.location_id or nil
  local event = handler == "on_event" and type(input) == "table" and input.id or nil
  if engine.hooks() then
    return {
      run = { id = record.key, hook = "test", depth = 0 },
      organization_id = "org_01JGFJJZ00SAMP1E000000000A", location_id = location,
      actor = { type = "user", id = "usr_01JGFJJZ00SAMP1E000000000A", name = "Test" },
      event_id = event,
    }
  end
  return {
    run = {
      id = record.key, key = record.key, attempt = opts.attempt or 1, seed = 1, depth = 0,
      trigger = { type = handler },
    },
    workflow = { id = "wkf_01JGFJJZ00SAMP1E000000000A", name = "Test", version = 1 },
    organization_id = "org_01JGFJJZ00SAMP1E000000000A",
    location_id = location,
    actor = "usr_01JGFJJZ00SAMP1E000000000A",
    settings = world.settings,
    event_id = event,
  }
end

local function result_of(r, o)
  r.status, r.output, r.input, r.usage = ENDS[o["end"]] or "failed", o.result, o.kept, o.usage
  r.usage.cpu_us = nil
  r.usage.api_calls, r.usage.http_calls = r.used.api or 0, r.used.http or 0
  if r.status == "rejected" then
    r.rejected = { code = o.code, message = o.message, field = o.field ~= "" and o.field or nil }
  elseif r.status == "failed" then
    r.error = o.error
    if r.error.code == "" then r.error.code = "workflow.failed" end
    if o.status ~= 0 then r.error.status = o.status end
    if o.retry >= 0 then r.error.retry = o.retry == 1 end
    if o.after_ms >= 0 then r.error.after_ms = o.after_ms end
  end
  r.kv = contents()
  r.class, r.used, r.calls, r.key, r.writes, r.slept = nil, nil, nil, nil, nil, nil
  return r
end

function M.run(handler, input, opts)
  if record then host.raise("test.run can't be called by a stub") end
  if type(handler) ~= "string" then
    host.raise("test.run takes the name of a handler: 'on_event', 'before' …")
  end
  opts = opts or {}
  local class = values.class_of(handler)
  record = { class = class, used = {}, calls = {}, writes = 0, slept = 0, key = next_id("wkf_run") }
  for _, list in ipairs { "logs", "emitted", "api", "http", "mails", "metrics" } do
    record[list] = wharf.json.array {}
  end
  local r = record
  if #done == KEPT_RUNS then table.remove(done, 1) end
  done[#done + 1] = { handler = handler, run = r }
  local good, o = pcall(
    engine.run,
    {
      handler = handler, input = input == nil and wharf.null or input,
      context = context_of(handler, input, opts), files = world.files,
      instructions = class.instructions, memory = class.memory, result = class.result,
    }
  )
  record = nil
  world.locks = {}
  if not good then error(o, 0) end
  return result_of(r, o)
end

-- ---- for the engine ----

M.runner = {
  list = function()
    local out = wharf.json.array {}
    for i, c in ipairs(cases) do out[i] = { name = c.name, skip = c.skip, line = c.line } end
    return out
  end,
  run = function(i)
    for _, fn in ipairs(before) do fn() end
    cases[i].fn()
    return table.concat(shots)
  end,
  -- The last runs of the case: their errors, and what they said.
  runs = function()
    local out = wharf.json.array {}
    for i, d in ipairs(done) do
      local r, lines = d.run, wharf.json.array {}
      for n = math.max(1, #r.logs - KEPT_LINES + 1), #r.logs do lines[#lines + 1] = r.logs[n] end
      out[i] = {
        handler = d.handler, status = r.status or "failed", error = r.error or r.rejected,
        logs = lines,
      }
    end
    return out
  end,
  once = function(o) return M.run(o.handler, o.input ~= wharf.null and o.input or nil) end,
}

return M
