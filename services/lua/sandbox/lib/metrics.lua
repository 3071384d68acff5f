-- wharf.metrics: what operators' hooks count themselves, for GET /metrics (op metric).
local host = ...
local M = {}

local function tell(kind, name, n, labels)
  if type(name) ~= "string" or not name:match("^[a-z][a-z0-9_]*$") or #name > 50 then
    host.raise("a metric's name is a word of a-z, 0-9 and _, of at most 50 letters")
  end
  if type(n) ~= "number" or n ~= n or n < 0 or n == math.huge then
    host.raise("a metric counts numbers from 0")
  end
  local told = {}
  for k, v in pairs(labels or {}) do
    if type(k) ~= "string" or not k:match("^[a-z][a-z0-9_]*$") or k == "le" then
      host.raise("a label's name is a word of a-z, 0-9 and _, and not le")
    end
    told[k] = tostring(v)
  end
  host.call("metric", { kind = kind, name = name, n = n, labels = told })
end

function M.count(name, n, labels) tell("count", name, n or 1, labels) end
function M.observe(name, n, labels) tell("observe", name, n, labels) end

return M
