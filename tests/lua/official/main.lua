-- main.lua - the workflow whose runs are the official files, in a cell.
local M = {}

function M.on_http(request, ctx)
  local file = request.json.file
  require("shim")
  require("testes." .. file)
  return {passed = file}
end

return M
