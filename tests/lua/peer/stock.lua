-- stock.lua - the same in stock Lua: lua5.4 stock.lua FOLDER PROGRAM SEED PART PARTS [SEED_OF_CALLS CALLS]. Chunks have the names that a cell gives them.
-- What is told comes behind a line of \1: before it stands what the checks print.
local folder, program, seed, part, parts, first, calls = table.unpack(arg)
local loaded = {}

function require(name)
  if loaded[name] == nil then
    local file = assert(io.open(folder .. "/" .. name .. ".lua"))
    loaded[name] = assert(load(file:read("a"), "=" .. name .. ".lua", "t"))(name)
    file:close()
  end
  return loaded[name]
end

arg = nil
math.randomseed(math.tointeger(seed))
local peer, made = require("peer"), require(program)
io.write("\1\n", peer.run(made, nil, first and {seed = math.tointeger(first), calls = math.tointeger(calls)}, math.tointeger(part), math.tointeger(parts)))
