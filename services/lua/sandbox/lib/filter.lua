-- wharf.filter: the conditions of webhooks and triggers (docs/spec/07-events-and-webhooks.md
-- section 5), decided as they are there.
local host, wharf = ...
local M = {}
local OPS = {}
local null = wharf.null

local function find(v, path)
  for part in (path .. "."):gmatch("(.-)%.") do
    if type(v) ~= "table" then return nil end
    if wharf.json.is_array(v) then
      v = part:match("^%d%d?%d?%d?%d?%d?$") and v[math.tointeger(part) + 1] or nil
    else
      v = v[part]
    end
  end
  return v
end

-- -1, 0, 1; nil: they can not be compared
local function compare(a, b)
  if type(a) ~= type(b) then return nil end
  if type(a) == "boolean" then a, b = a and 1 or 0, b and 1 or 0 end
  if type(a) ~= "number" and type(a) ~= "string" then return nil end
  return a < b and -1 or a > b and 1 or 0
end

local function equal(a, b)
  if a == nil or b == nil then return false end
  if a == null or b == null then return a == b end
  return compare(a, b) == 0
end

local function among(v, list)
  for _, e in ipairs(list) do
    if equal(v, e) then return true end
  end
  return false
end

local function order(v, value)
  if type(v) ~= "number" and type(v) ~= "string" then return nil end
  return compare(v, value)
end

OPS["exists"] = function(v) return v ~= nil end
OPS["!exists"] = function(v) return v == nil end
OPS["eq"] = equal
OPS["!eq"] = function(v, value) return not equal(v, value) end
OPS["in"] = among
OPS["!in"] = function(v, value) return not among(v, value) end
OPS["gt"] = function(v, value) local o = order(v, value) return o ~= nil and o > 0 end
OPS["gte"] = function(v, value) local o = order(v, value) return o ~= nil and o >= 0 end
OPS["lt"] = function(v, value) local o = order(v, value) return o ~= nil and o < 0 end
OPS["lte"] = function(v, value) local o = order(v, value) return o ~= nil and o <= 0 end

local function changed(body, path)
  local previous = type(body) == "table" and body.previous_attributes
  if type(previous) ~= "table" or wharf.json.is_array(previous) and #previous > 0 then
    return false
  end
  return find(previous, (path:gsub("^data%.(.)", "%1"))) ~= nil
end

-- match(conditions, value): all must hold; nil and an empty array always do.
function M.match(conditions, value)
  for _, c in ipairs(conditions ~= null and conditions or {}) do
    if c.op == "changed" then
      if not changed(value, c.path) then return false end
    else
      local op = OPS[c.op]
      if not op then
        host.raise("op is one of eq, !eq, in, !in, gt, gte, lt, lte, exists, !exists, changed")
      end
      if not op(find(value, c.path), c.value) then return false end
    end
  end
  return true
end

return M
