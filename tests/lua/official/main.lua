-- main.lua - the workflow whose runs are pieces of the official files, in a cell. Where a piece
-- loads code, "<piece>_code" has what it loads, compiled with it.
local M = {}

function M.on_http(request, ctx)
  local piece, loads = request.json.piece, request.json.loads
  if loads then load = require("shim")(require(piece .. "_code")) end
  require(piece)
  return {passed = piece}
end

return M
