-- wharf.table: work on tables. Nothing is changed in place.
local host, wharf = ...
local M = {}

local function is_array(t) return wharf.json.is_array(t) end

-- get(t, "a.b.2.c", default)
function M.get(t, path, default)
  for part in tostring(path):gmatch("[^.]+") do
    if type(t) ~= "table" then return default end
    local v = t[part]
    if v == nil then v = t[math.tointeger(tonumber(part))] end
    t = v
  end
  if t == nil then return default end
  return t
end

local function copy(v, depth)
  if type(v) ~= "table" then return v end
  if depth > 64 then host.raise("the table is nested deeper than 64 levels, or in a circle") end
  local out = is_array(v) and wharf.json.array({}) or {}
  for k, e in pairs(v) do out[k] = copy(e, depth + 1) end
  return out
end

function M.copy(t) return copy(t, 0) end

local function merge(a, b, depth)
  if type(a) ~= "table" or type(b) ~= "table" or is_array(a) or is_array(b) then
    return copy(b, depth)
  end
  if depth > 64 then host.raise("the table is nested deeper than 64 levels, or in a circle") end
  local out = copy(a, depth)
  for k, v in pairs(b) do
    out[k] = a[k] == nil and copy(v, depth + 1) or merge(a[k], v, depth + 1)
  end
  return out
end

-- merge(a, b): b over a, at every depth; arrays are replaced.
function M.merge(a, b) return merge(a, b, 0) end

local function equal(a, b, depth)
  if a == b then return true end
  if type(a) ~= "table" or type(b) ~= "table" then return false end
  if depth > 64 then host.raise("the table is nested deeper than 64 levels, or in a circle") end
  for k, v in pairs(a) do
    if not equal(v, b[k], depth + 1) then return false end
  end
  for k in pairs(b) do
    if a[k] == nil then return false end
  end
  return true
end

function M.equal(a, b) return equal(a, b, 0) end

local function diff(a, b, path, out)
  if equal(a, b, 0) then return end
  if type(a) ~= "table" or type(b) ~= "table" or is_array(a) or is_array(b) then
    out[#out + 1] = { path = path, old = a, new = b }
    return
  end
  local keys, seen = {}, {}
  for _, t in ipairs { a, b } do
    for k in pairs(t) do
      if not seen[k] then
        seen[k] = true
        keys[#keys + 1] = k
      end
    end
  end
  table.sort(keys, function(x, y) return tostring(x) < tostring(y) end)
  for _, k in ipairs(keys) do
    diff(a[k], b[k], path == "" and tostring(k) or path .. "." .. tostring(k), out)
  end
end

-- diff(a, b) -> array of {path, old, new}
function M.diff(a, b)
  local out = {}
  diff(a, b, "", out)
  return out
end

function M.keys(t)
  local out = {}
  for k in pairs(t) do out[#out + 1] = k end
  table.sort(out, function(x, y)
    if type(x) == type(y) and (type(x) == "number" or type(x) == "string") then return x < y end
    return tostring(x) < tostring(y)
  end)
  return out
end

function M.map(t, fn)
  local out = {}
  for i, v in ipairs(t) do out[i] = fn(v, i) end
  return out
end

function M.filter(t, fn)
  local out = {}
  for i, v in ipairs(t) do
    if fn(v, i) then out[#out + 1] = v end
  end
  return out
end

function M.find(t, fn)
  for i, v in ipairs(t) do
    if fn(v, i) then return v, i end
  end
end

-- group_by(t, "status") or group_by(t, fn) -> {key = array}; what has no key is left out.
function M.group_by(t, by)
  local out = {}
  for i, v in ipairs(t) do
    local key
    if type(by) == "function" then key = by(v, i) else key = M.get(v, by) end
    if key ~= nil then
      out[key] = out[key] or {}
      table.insert(out[key], v)
    end
  end
  return out
end

return M
