-- wharf.url: addresses (RFC 3986) and query strings.
local host, wharf = ...
local M = {}

function M.encode(s)
  return (
    tostring(s):gsub("[^%w%-._~]", function(ch) return string.format("%%%02X", ch:byte()) end)
  )
end

function M.decode(s)
  return (s:gsub("+", " "):gsub("%%(%x%x)", function(h) return string.char(tonumber(h, 16)) end))
end

-- query{a = 1, b = {"x", "y"}} -> "a=1&b=x&b=y", keys in order.
function M.query(t)
  local keys, out = {}, {}
  for k in pairs(t) do keys[#keys + 1] = tostring(k) end
  table.sort(keys)
  for _, k in ipairs(keys) do
    local v = t[k]
    for _, one in ipairs(type(v) == "table" and v or { v }) do
      out[#out + 1] = M.encode(k) .. "=" .. (one == wharf.null and "" or M.encode(one))
    end
  end
  return table.concat(out, "&")
end

local function query_of(text)
  local q = {}
  for pair in text:gmatch("[^&]+") do
    local k, v = pair:match("^([^=]*)=?(.*)$")
    k, v = M.decode(k), M.decode(v)
    if type(q[k]) == "table" then
      q[k][#q[k] + 1] = v
    else
      q[k] = q[k] == nil and v or { q[k], v }
    end
  end
  return q
end

-- parse(s) -> {scheme, host, port?, path, query, fragment?} or nil, err
function M.parse(s)
  local scheme, rest = s:match("^(%a[%w+.-]*)://(.*)$")
  if not scheme then
    return nil, { code = "url.syntax", message = "an address begins with a scheme, like https://" }
  end
  local t = { scheme = scheme:lower() }
  local before, fragment = rest:match("^([^#]*)#(.*)$")
  if before then rest, t.fragment = before, M.decode(fragment) end
  local front, query = rest:match("^([^?]*)%?(.*)$")
  t.query = query_of(query or "")
  local authority, path = (front or rest):match("^([^/]*)(.*)$")
  local user, at = authority:match("^(.*)@(.*)$")
  if user then t.user, authority = M.decode(user), at end
  local name, port = authority:match("^(%[[%x:.]+%]):?(%d*)$")
  if not name then name, port = authority:match("^([^:]*):?(%d*)$") end
  if not name or name == "" then
    return nil, { code = "url.syntax", message = "the address has no host" }
  end
  t.host, t.port, t.path = name:lower(), tonumber(port), path == "" and "/" or path
  return t
end

function M.build(t)
  if type(t) ~= "table" or not t.host then host.raise("an address has a host") end
  local out = (t.scheme or "https") .. "://" .. (t.user and M.encode(t.user) .. "@" or "") .. t.host
  if t.port then out = out .. ":" .. math.tointeger(t.port) end
  local path = t.path or "/"
  out = out .. (path:sub(1, 1) == "/" and "" or "/") .. path
  local query = t.query and M.query(t.query) or ""
  if query ~= "" then out = out .. "?" .. query end
  if t.fragment then out = out .. "#" .. M.encode(t.fragment) end
  return out
end

return M
