-- stock.lua - a piece of the official files in stock Lua: lua5.4 stock.lua <PIECE. What it loads is
-- told behind a line of \1: per text a line of it in hexadecimal, and of the error when it does not
-- compile.
local load_, noted, order = load, {}, {}
local function hex(s) return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

local function note(text, bad)
  if not noted[text] then order[#order + 1] = text end
  noted[text] = bad or ""
end

function load(x, ...)
  local parts, whole = {}, true -- a reader that raises, or gives anything but text, gives no chunk
  local reader = type(x) == "function" and function()
    whole = false
    local s = x()
    whole = s == nil or type(s) == "string"
    parts[#parts + 1] = whole and s or nil
    return s
  end
  local made, bad = load_(reader or x, ...)
  local text = reader and table.concat(parts) or x
  if whole and text:sub(1, 1) ~= "\27" and (select(2, ...) or "t"):find("t") then
    note(text, bad)
  end
  return made, bad
end

arg = nil
local piece = assert(load_(io.read("a"), "=piece.lua", "t"))
piece("piece")
io.write("\1\n")
for _, text in ipairs(order) do io.write(hex(text), "\t", hex(noted[text]), "\n") end
