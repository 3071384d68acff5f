-- wharf.kv: a store of the workflow (ops kv.get, kv.set, kv.incr, kv.cas, kv.delete, kv.list).
local host, wharf = ...
local M = {}

local function key_of(key)
  if type(key) ~= "string" or #key == 0 or #key > 200 then
    host.raise("a key is a string of 1 to 200 bytes")
  end
  return key
end

-- A stored null is not "nothing": values travel in an array.
local function ask(op, args)
  local r, err = host.call(op, args)
  if err then host.raise(err.message .. " (" .. err.code .. ")") end
  return r
end

function M.get(key)
  local r = ask("kv.get", { key = key_of(key) })
  return r and r.value
end

function M.set(key, value, opts)
  if value == nil then host.raise("a value is anything but nil; use wharf.kv.delete") end
  opts = opts or {}
  return ask(
    "kv.set",
    { key = key_of(key), value = value, ttl = opts.ttl, if_absent = opts.if_absent }
  ).done
end

function M.incr(key, n, opts)
  n = n or 1
  if math.type(n) ~= "integer" then host.raise("wharf.kv.incr adds integers") end
  return ask("kv.incr", { key = key_of(key), by = n, ttl = opts and opts.ttl }).value
end

function M.cas(key, old, new)
  if new == nil then host.raise("the new value is anything but nil; use wharf.kv.delete") end
  return ask("kv.cas", { key = key_of(key), old = old, absent = old == nil, new = new }).done
end

function M.delete(key)
  return ask("kv.delete", { key = key_of(key) }).done
end

function M.list(prefix, limit)
  return ask("kv.list", { prefix = prefix or "", limit = limit or 100 }).items
end

return M
