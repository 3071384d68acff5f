-- shim.lua - load() for pieces that use it, since no function of a cell loads code
-- (docs/spec/08-workflows-and-lua.md section 6, rule 1): what a piece loads in stock Lua is noted
-- there and compiled with the piece; this load finds it by its text. A text that does not compile
-- is there as its error.
return function(code)
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
  return function(x, name, mode, ...)
    local good, text = pcall(read, x)
    if not good then return nil, text end
    if mode and not mode:find("t") then
      return nil, "attempt to load a text chunk (mode is '" .. mode .. "')"
    end
    local made = code[text]
    if not made then error("stock Lua loaded no such text: " .. text) end
    if type(made) == "string" then return nil, made end
    if select("#", ...) > 0 then return made((...)) end
    return made(_G)
  end
end
