-- ends.lua - what stock Lua can catch and what ends a run in a cell: each check is a run of its own.
return function(check, e)
  check("a text larger than the memory", function() return #select(2, pcall(string.rep, "x", 1 << 26)) end)
  check("recursion without end", function() local function f() return 1 + f() end local good, err = pcall(f) return good, err:match("stack overflow") end)
  check("memory in a coroutine", function() return coroutine.resume(coroutine.create(function() return ("x"):rep(1 << 26) end)) end)
  check("memory in a handler", function() return xpcall(error, function() return ("x"):rep(1 << 26) end, "x") end)
  check("a table larger than the memory", function() local good = pcall(function() local t = {} for i = 1, 21 do t[i] = ("x"):rep(2000000) .. i end return t end) return good end)
  check("as many instructions", function() local n = 0 for i = 1, 30000000 do n = n + 1 end return n end)
end
