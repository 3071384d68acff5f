-- main.lua - the workflow whose runs are the checks of one program, in a cell.
local M = {}

function M.on_http(request, ctx)
  local input = request.json
  return {seed = ("%d"):format(ctx.run.seed), told = require("peer").run(require(input.program), input.only, input.arg, input.part, input.parts)}
end

return M
