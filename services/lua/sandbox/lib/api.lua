-- wharf.api: the public API, asked by the host with the rights of the workflow (ops api.get,
-- api.post, api.delete). wharf.api.as(organization_id) is the same for another organization: of
-- operators' hooks only, the host decides (op api.as).
local host = ...
local make

local function path_of(path)
  if type(path) ~= "string" or path:sub(1, 4) ~= "/v1/" then
    host.raise("a path of the API begins with /v1/")
  end
  return path
end

-- What an Idempotency-Key is over HTTP; nil: the host's own, or none.
local function key_of(opts)
  local key = opts and opts.idempotency_key
  if key ~= nil and (type(key) ~= "string" or #key > 255 or not key:find("^[ -~]+$")) then
    host.raise(
      "idempotency_key is a string of 1 to 255 printable ASCII characters; "
        .. "shorten or encode it, or leave it out (param.invalid)"
    )
  end
  return key
end

-- The host answers {status, message, pagination?, data?}, or nil and the error.
local function ask(op, args)
  local r, err = host.call(op, args)
  if not r then return nil, err, { status = err.status, message = err.message } end
  return r.data, nil, { status = r.status, message = r.message, pagination = r.pagination }
end

function make(organization)
  local M = {}

  function M.get(path, query)
    return ask("api.get", { path = path_of(path), query = query, organization = organization })
  end

  function M.post(path, body, opts)
    return ask(
      "api.post",
      {
        path = path_of(path),
        body = body,
        idempotency_key = key_of(opts),
        organization = organization,
      }
    )
  end

  function M.delete(path, opts)
    return ask(
      "api.delete",
      { path = path_of(path), idempotency_key = key_of(opts), organization = organization }
    )
  end

  -- Pages by cursor; what is searched by relevance, and lists that know none (their answers tell no
  -- next_cursor), by number.
  function M.list(path, query, opts)
    local max = opts and opts.max or 1000
    if math.type(max) ~= "integer" or max < 1 or max > 10000 then
      host.raise("opts.max is 1 to 10000")
    end
    local page, at, given, done = {}, 0, 0, false
    local q = {}
    for k, v in pairs(query or {}) do q[k] = v end
    q.limit = q.limit or 100
    if not q.page and (q.order_by or not q.search) then q.cursor = "start" end
    return function()
      if given >= max then return nil end
      at = at + 1
      if at > #page then
        if done then return nil end
        local data, err, meta = M.get(path, q)
        if err then host.raise(string.format("%s: %s (%s)", path, err.message, err.code)) end
        local told = meta.pagination
        page, at = data, 1
        done = not (told and told.has_more) or #page == 0
        if told and type(told.next_cursor) == "string" then
          q.cursor = told.next_cursor
        else
          q.page, q.cursor = (told and math.tointeger(told.page) or 1) + 1, nil
        end
        if #page == 0 then return nil end
      end
      given = given + 1
      return page[at]
    end
  end

  function M.as(id)
    if type(id) ~= "string" then host.raise("wharf.api.as takes the id of an organization") end
    host.call("api.as", { organization = id })
    return make(id)
  end

  return M
end

return make()
