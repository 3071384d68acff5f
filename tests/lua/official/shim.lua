-- shim.lua - what the official files call and the sandbox leaves out on purpose (docs/spec/08-workflows-and-lua.md sections 5 and 6), as far as it can be had without:
-- load, for what stock Lua loaded at the same place; collectgarbage, by making garbage until what is unreachable is gone.
local code = require("code")

local function read(x)
  if type(x) ~= "function" then return x end
  local parts = {}
  while true do
    local s = x()
    if s == nil or s == "" then return table.concat(parts) end
    if type(s) ~= "string" then error("reader function must return a string") end
    parts[#parts + 1] = s
  end
end

-- Texts are noted in stock Lua and compiled with the file, since no function of a cell loads code; one that does not compile is there as its error.
function load(x, name, mode, ...)
  local good, text = pcall(read, x)
  if not good then return nil, text end
  if mode and not mode:find("t") then return nil, "attempt to load a text chunk (mode is '" .. mode .. "')" end
  local made = code[text]
  if not made then error("stock Lua loaded no such text: " .. text) end
  if type(made) == "string" then return nil, made end
  if select("#", ...) > 0 then return made((...)) end
  return made(_G)
end

-- Two cycles: the first may have begun before something became unreachable. It can't be stopped, and nothing asks how much there is.
function collectgarbage(what)
  if what == "stop" or what == "restart" then return 0 end
  assert(what == nil or what == "collect", what)
  for _ = 1, 2 do
    local probe, n = setmetatable({{}}, {__mode = "v"}), 0
    repeat
      n = n + 1
      local _ = string.rep("x", 10000 + n % 100)
    until not probe[1]
  end
  return 0
end
