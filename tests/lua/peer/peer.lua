-- peer.lua - what the programs of this folder share: they run as they are in stock lua5.4 and in a cell, and what their checks yield becomes text that can be
-- compared to the last bit. A program is a file that returns function(check, e, each); check(name, fn) tells what fn returns or raises.
local peer = {}

local function text(s)
  local tail = ""
  if #s > 400 then
    local sum = 0
    for i = 1, #s, math.max(1, #s // 2000) do sum = (sum * 31 + s:byte(i)) % 1000000007 end
    tail = ("...%d bytes, %d"):format(#s, sum)
    s = s:sub(1, 120)
  end
  return '"' .. s:gsub('[^ !#-Z%[%]^-~]', function(c) return ("\\x%02X"):format(c:byte()) end) .. '"' .. tail
end

-- An integer, a float in all its bits, any NaN, bytes, tables by sorted keys; of what has an address only the type.
function peer.show(v, inside)
  local kind = math.type(v) or type(v)
  if kind == "string" then return text(v) end
  if kind == "integer" then return ("%d"):format(v) end
  if kind == "float" then return v ~= v and "nan" or ("%a"):format(v) end
  if kind ~= "table" then return (kind == "nil" or kind == "boolean") and tostring(v) or "<" .. kind .. ">" end
  inside = inside or {}
  if inside[v] or #inside > 20 then return "<cycle>" end
  inside[v] = true
  inside[#inside + 1] = v
  local parts = {}
  for key, value in next, v do parts[#parts + 1] = "[" .. peer.show(key, inside) .. "]=" .. peer.show(value, inside) end
  table.sort(parts)
  inside[#inside] = nil
  inside[v] = nil
  return "{" .. table.concat(parts, " ") .. "}"
end

-- pcall: what was returned, or what was raised.
function peer.outcome(good, ...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = peer.show((select(i, ...))) end
  return (good and "" or "raised ") .. table.concat(parts, ", ")
end

-- The error of a call; or, in a table, what it returned instead.
local function e(f, ...)
  local function tell(good, ...) if good then return {"no error", n = select("#", ...), ...} end return (...) end
  return tell(pcall(f, ...))
end

-- Lines "name<tab>outcome"; only: of this one check; part: of each parts-th one, from the part-th on.
function peer.run(program, only, arg, part, parts)
  local lines, seen, n = {}, {}, 0
  local function each(t) -- pairs in one order
    local keys, i = {}, 0
    for key in pairs(t) do keys[#keys + 1] = key end
    table.sort(keys)
    return function() i = i + 1 return keys[i], t[keys[i]] end
  end
  program(function(name, fn)
    if seen[name] then error("there are two checks '" .. name .. "'") end
    seen[name] = true
    n = n + 1
    if part and n % parts + 1 ~= part then return end
    if not only or only == name then lines[#lines + 1] = name .. "\t" .. peer.outcome(pcall(fn)) end
  end, e, each, arg)
  return table.concat(lines, "\n")
end

return peer
