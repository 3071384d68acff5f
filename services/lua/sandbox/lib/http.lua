-- wharf.http: requests to the outside (ops http.request, http.all). Bodies travel as base64: they
-- may hold any bytes.
local host, wharf = ...
local M = {}
local METHODS =
  { GET = true, POST = true, PUT = true, PATCH = true, DELETE = true, HEAD = true, OPTIONS = true }

local function body_of(o, headers)
  local kinds = (o.body ~= nil and 1 or 0) + (o.json ~= nil and 1 or 0) + (o.form ~= nil and 1 or 0)
  if kinds > 1 then host.raise("a request has one of body, json and form") end
  local has_type = false
  for k in pairs(headers) do has_type = has_type or k:lower() == "content-type" end
  if o.json ~= nil then
    if not has_type then headers["content-type"] = "application/json" end
    return wharf.json.encode(o.json)
  elseif o.form ~= nil then
    if not has_type then headers["content-type"] = "application/x-www-form-urlencoded" end
    return wharf.url.query(o.form)
  elseif o.body ~= nil and type(o.body) ~= "string" then
    host.raise("body is a string; use json for tables")
  end
  return o.body
end

local function request_of(o)
  if type(o) ~= "table" or type(o.url) ~= "string" then
    host.raise("a request is a table with a url")
  end
  local method = (o.method or "GET"):upper()
  if not METHODS[method] then host.raise("there is no method " .. method) end
  local headers, url = {}, o.url
  for k, v in pairs(o.headers or {}) do headers[tostring(k)] = tostring(v) end
  local body = body_of(o, headers)
  local query = o.query and wharf.url.query(o.query) or ""
  if query ~= "" then url = url .. (url:find("?", 1, true) and "&" or "?") .. query end
  return { method = method, url = url, headers = headers, body = body and wharf.base64.encode(body),
    timeout_ms = o.timeout_ms, max_bytes = o.max_bytes }
end

local function response_of(r)
  local res = { status = r.status, headers = r.headers, body = wharf.base64.decode(r.body or "") }
  function res.json() return wharf.json.decode(res.body) end
  return res
end

function M.request(o)
  local r, err = host.call("http.request", request_of(o))
  if not r then return nil, err end
  return response_of(r)
end

-- The host answers an array in order: {response} or {error}.
function M.all(list)
  if type(list) ~= "table" or #list > 10 then
    host.raise("wharf.http.all takes an array of at most 10 requests")
  end
  if #list == 0 then return {} end
  local requests, out = {}, {}
  for i, o in ipairs(list) do requests[i] = request_of(o) end
  local answers, err = host.call("http.all", { requests = requests })
  if not answers then
    for i = 1, #list do out[i] = { nil, err } end
    return out
  end
  for i, a in ipairs(answers) do
    if a.response then out[i] = { response_of(a.response) } else out[i] = { nil, a.error } end
  end
  return out
end

for _, method in ipairs { "get", "post", "put", "patch", "delete" } do
  M[method] = function(url, opts)
    local o = {}
    for k, v in pairs(opts or {}) do o[k] = v end
    o.url, o.method = url, method:upper()
    return M.request(o)
  end
end

return M
