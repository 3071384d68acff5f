-- names.lua - what stands where: the libraries' names, function by function, and what is not to be had.
return function(check, e)
  local function names(t) local out = {} for k, v in pairs(t) do out[k] = type(v) end return out end

  for _, lib in ipairs {"coroutine", "math", "string", "table", "utf8"} do
    check("names of " .. lib, function() return names(_G[lib]) end)
  end
  check("names of os", function() return names(os) end)
  check("names of _G", function() return names(_G) end)
  check("_VERSION", function() return _VERSION end)
  for _, name in ipairs {"collectgarbage", "debug", "dofile", "io", "load", "loadfile", "package", "warn"} do check("no " .. name, function() return type(_G[name]) end) end
  check("no loadstring", function() return loadstring end)
  check("no string.dump", function() return type(string.dump) end)
  check("compiled code is no text", function() return e(function() return load("\27Lua") end) end)
  check("the libraries can be changed by a run", function() local f = string.rep string.rep = function() return "mine" end local a = ("x"):rep(5) string.rep = f string.mine = #a local b = ("x").mine string.mine = nil return a, b, ("x"):rep(2) end)
  check("require caches", function() return require("peer") == require("peer"), type(require("peer")) end)
  check("require of what is not there", function() return e(require, "no_such_file") end)
  check("require's arguments", function() return (e(require, {})) end)
  check("the metatable of texts is locked", function() return getmetatable("") end)
  check("the 65th coroutine", function() local all, n = {}, 0 local good, err = pcall(function() for i = 1, 66 do all[i] = coroutine.create(function() coroutine.yield() end) coroutine.resume(all[i]) n = i end end) return good, n, err end)
  check("os.tmpname and its like", function() return type(os.execute), type(os.exit), type(os.getenv), type(os.remove), type(os.rename), type(os.setlocale), type(os.tmpname) end)
  check("light userdata and wharf", function() return type(wharf) end)
  check("what raised may be required again", function()
    peer_tries = {}
    local a, first = pcall(require, "broken")
    local b, second = pcall(require, "broken")
    local other = coroutine.create(function() require("broken") end)
    local c, third = coroutine.resume(other)
    local d, fourth = pcall(require, "broken")
    local fine = require("broken")
    local n = peer_tries.n
    peer_tries = nil
    return a, first, b, second, c, third, d, fourth, fine, require("broken") == fine, n
  end)
end
