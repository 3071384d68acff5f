-- closures.lua - manual 3.4.11 and 3.5: upvalues, each loop's own, shared by siblings, after their block.
return function(check, e)
  check("a counter", function() local function counter() local n = 0 return function() n = n + 1 return n end end local a, b = counter(), counter() return a(), a(), b(), a() end)
  check("siblings share", function() local n = 0 local function inc() n = n + 1 end local function get() return n end inc() inc() n = n + 10 return get() end)
  check("each turn has its own", function()
    local fs = {}
    for i = 1, 3 do fs[#fs + 1] = function(x) if x then i = x end return i end end
    for k, v in ipairs {"a", "b"} do fs[#fs + 1] = function() return k .. v end end
    local n = 0 while n < 3 do n = n + 1 local m = n fs[#fs + 1] = function() m = m + 1 return m end end
    repeat local r = "r" fs[#fs + 1] = function() return r end until r == "r"
    local out = {} for i, f in ipairs(fs) do out[i] = f() end
    fs[1](50)
    return out, fs[1](), fs[2](), fs[6](), fs[6](), fs[7]()
  end)
  check("until sees the block", function() local n, f = 0, nil repeat local done = n >= 2 f = function() return done end n = n + 1 until done return n, f() end)
  check("goto makes a new one", function() local fs, i = {}, 1 ::top:: do local x = i fs[i] = function() x = x + 1 return x end i = i + 1 if i <= 3 then goto top end end return fs[1](), fs[1](), fs[2](), fs[3]() end)
  check("arguments are upvalues", function() local function f(a, ...) local n = select("#", ...) return function(b) a = a + (b or 0) return a, n end end local g = f(1, 2, 3) return {g(5)}, {g()}, {f(10)(1)} end)
  check("deep nesting", function() local function a(x) return function() return function() return function() x = x + 1 return x end end end end local f = a(1)()() return f(), f() end)
  check("after an error", function() local get pcall(function() local x = 5 get = function() x = x + 1 return x end error("x") end) return get(), get() end)
  check("in coroutines", function() local set, get local co = coroutine.wrap(function() local x = 1 set = function(v) x = v end get = function() return x end coroutine.yield() x = x + 1 end) co() set(10) co() return get() end)
  check("recursion by an upvalue", function() local function even(n) return true end local odd function even(n) if n == 0 then return true end return odd(n - 1) end function odd(n) if n == 0 then return false end return even(n - 1) end return even(101), odd(101) end)
  check("closures are values", function() local function make() return function() end end local a, b = make(), make() local t = {[a] = 1} return a == a, a == b, t[a], t[b], type(a), rawequal(a, a) end)
  check("methods and self", function() local o = {n = 1} function o:add(k) self.n = self.n + k return self end function o.of(x) return x end function o.of2(...) return select("#", ...) end return o:add(2):add(3).n, o.of(9), o:of2(), o.of2() end)
  check("a.b.c:m", function() local a = {b = {c = {}}} function a.b.c.f(x) return x end function a.b.c:g(x) return self == a.b.c, x end return a.b.c.f(1), {a.b.c:g(2)} end)
  check("upvalues and <const>", function() local k <const> = 7 local t <const> = {} local function f() t[1] = k return k end return f(), t end)
  check("constants of outer functions", function() local a <const> = 10 return (function() local b <const> = a + 1 return (function() return a + b end)() end)() end)
  check("currying", function() local function add(a) return function(b) return function(c) return a + b + c end end end return add(1)(2)(3), add "1" "2" "3" end)
  check("many upvalues", function() local a, b, c, d, f, g, h, i, j, k = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 local function all() return a + b + c + d + f + g + h + i + j + k end a = 100 return all() end)
  check("tables of closures", function() local t = {} for i = 1, 300 do t[i] = function() return i end end local n = 0 for i = 1, 300 do n = n + t[i]() end return n end)
end
