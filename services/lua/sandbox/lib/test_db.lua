-- wharf.db as tests of hook files see it: queries are answered by test.db.
local host = ...
local M = {}

function M.query(sql, ...)
  if type(sql) ~= "string" then host.raise("wharf.db.query takes a statement and its values") end
  return host.call("db.query", { sql = sql, values = { ... } })
end

function M.exec(sql, ...)
  if type(sql) ~= "string" then host.raise("wharf.db.exec takes a statement and its values") end
  local rows = host.call("db.query", { sql = sql, values = { ... } })
  return #rows, rows
end

return M
