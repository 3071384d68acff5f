-- Functions that stand in wharf itself: secret, lock, emit, reject, fail, sleep, and config of
-- operators' hooks.
local host = ...
local M = {}

function M.secret(key)
  if type(key) ~= "string" then host.raise("wharf.secret takes the key of a secret") end
  return host.call("secret", { key = key }).value
end

function M.config(key)
  if type(key) ~= "string" then
    host.raise("wharf.config takes the name of a setting: 'erp.url'")
  end
  local r = host.call("config", { key = key })
  return r and r.value
end

function M.emit(name, data, opts)
  if
    type(name) ~= "string"
    or not name:match("^custom%.[a-z0-9_.]+$")
    or name:find("..", 1, true)
    or name:match("%.$")
  then
    host.raise("the type of an event is custom.<name>: words of a-z, 0-9 and _ with dots between")
  end
  if data ~= nil and type(data) ~= "table" then
    host.raise("the data of an event is a table of members")
  end
  opts = opts or {}
  local r, err = host.call("emit", { type = name, data = data, resource_type = opts.resource_type,
    resource_id = opts.resource_id, location_id = opts.location_id })
  if not r then return nil, err end
  return r.id
end

function M.lock(name, opts, fn)
  if type(opts) == "function" then opts, fn = {}, opts end
  if type(name) ~= "string" or type(fn) ~= "function" then
    host.raise("wharf.lock takes a name and a function")
  end
  opts = opts or {}
  local held, err =
    host.call("lock.take", { name = name, ttl_ms = opts.ttl_ms, wait_ms = opts.wait_ms })
  if not held then return nil, err end
  local r = table.pack(pcall(fn))
  host.call("lock.give", { token = held.token })
  if not r[1] then error(r[2], 0) end
  return table.unpack(r, 2, r.n)
end

function M.reject(code, message, field)
  if type(code) ~= "string" or not code:match("^[a-z0-9_.]+$") or #code > 60 then
    host.raise("the code of wharf.reject is a word of a-z, 0-9, _ and .")
  end
  host.finish("reject", tostring(message or code), code, field and tostring(field))
end

function M.fail(message, opts)
  opts = opts or {}
  host.finish(
    "fail",
    tostring(message),
    "",
    nil,
    opts.retry,
    opts.after_ms and math.floor(opts.after_ms)
  )
end

function M.sleep(ms)
  if type(ms) ~= "number" or ms < 0 then host.raise("wharf.sleep takes milliseconds") end
  host.call("sleep", { ms = math.floor(ms) })
end

return M
