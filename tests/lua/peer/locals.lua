-- locals.lua - manual 3.3.7, 3.3.8, 3.5 and 2.2: locals, scopes, <const>, <close>, _ENV, globals.
return function(check, e)
  local function closing(told, name, err) return setmetatable({name = name}, {__close = function(v, x, ...) told[#told + 1] = v.name .. ":" .. tostring(x) .. select("#", ...) if err then error(err, 0) end end}) end

  check("scopes", function() local x = 10 do local x = x x = x + 1 end local y = x local x = x + 5 return x, y, (function() local x <const> = 3 return x end)() end)
  check("assignments", function() local a, b, c = 1 local d, f = 1, 2, 3 local i, t = 3, {} i, t[i] = i + 1, 20 local x, y = 1, 2 x, y = y, x return a, b, c, d, f, i, t, x, y end)
  check("values of calls are adjusted", function() local function f() return 1, 2, 3 end local a, b, c, d = f() local g, h = (f()) local i, j, k = f(), 10 local m, n, o = 0, f() return a, b, c, d, g, h, i, j, k, m, n, o end)
  check("local functions see themselves", function() local function f(n) return n == 0 and 1 or n * f(n - 1) end local g = function() return type(g) end return f(10), g() end)
  check("constants", function() local a <const> = 5 local b <const> = "x" local c <const> = nil local d <const> = {1} d[1] = 2 local f <const>, g = 1, 2 g = 3 return a + 1, b .. a, c, d, f, g, (function() return a, b, d[1] end)() end)
  check("constants of every kind", function() local t <const>, f <const>, n <const>, x <const>, i <const> = true, false, -1, 1.5, math.huge return t, f, n, x, i, t and f, not n, -x, n + x, n < x end)

  check("close", function()
    local told = {}
    do local a <close> = closing(told, "a") local b <const> = 1 local c <close> = closing(told, "c") told[#told + 1] = "body" end
    return told
  end)
  check("close after return, break and goto", function()
    local told = {}
    local function f() local a <close> = closing(told, "return") return #told, "value" end
    local r = {f()}
    for i = 1, 3 do local a <close> = closing(told, "loop" .. i) if i == 2 then break end end
    do goto out do local x end ::out:: end
    do local n = 0 ::top:: do local a <close> = closing(told, "goto" .. n) n = n + 1 if n < 3 then goto top end end end
    while true do local a <close> = closing(told, "while") break end
    repeat local a <close> = closing(told, "repeat") until true
    return r, told
  end)
  check("close after errors", function() local told = {} local err = e(function() local a <close> = closing(told, "a") local b <close> = closing(told, "b") error("mine", 0) end) return err, told end)
  check("errors in close", function()
    local told = {}
    local one = e(function() local a <close> = closing(told, "a") local b <close> = closing(told, "b", "of b") local c <close> = closing(told, "c", "of c") error("mine", 0) end)
    local two = e(function() local a <close> = closing(told, "d") local b <close> = closing(told, "f", "of f") return "lost" end)
    return one, two, told
  end)
  check("close of nil, false and the rest", function() local a <close>, n = nil, 1 local b <close> = false return e(function() local c <close> = {} end), e(function() local c <close> = 5 end), e(function() local c <close> = "x" end), e(function() local thing <close> = true end), e(function() local c <close> = setmetatable({}, {}) end), n end)
  check("close of what lost its method", function() return e(function() local a <close> = setmetatable({}, {__close = function() end}) getmetatable(a).__close = nil end), e(function() local a <close> = setmetatable({}, {__close = print}) getmetatable(a).__close = 5 end) end)
  check("close and tail calls", function() local told = {} local function f() told[#told + 1] = "called" return 5 end local function g() local a <close> = closing(told, "a") return f() end return g(), told end)
  check("close in coroutines that are dropped", function() local told = {} local f = coroutine.wrap(function() local a <close> = closing(told, "a") coroutine.yield(1) end) return f(), told end)
  check("close passes error objects", function() local seen, obj = nil, {} pcall(function() local a <close> = setmetatable({}, {__close = function(_, x) seen = x end}) error(obj) end) return seen == obj end)
  check("close in a method of close", function() local told = {} do local a <close> = setmetatable({}, {__close = function() local b <close> = closing(told, "inner") told[#told + 1] = "outer" end}) end return told end)
  check("close of upvalues", function() local get do local a <close> = setmetatable({n = 1}, {__close = function(v) v.n = v.n + 1 end}) get = function() return a.n end get() end return get() end)
  check("pcall closes before it tells", function() local told = {} local r = {pcall(function() local a <close> = closing(told, "a") error("mine", 0) end)} told[#told + 1] = "after" return r, told end)
  check("xpcall's handler is before close", function() local told = {} local r = {xpcall(function() local a <close> = closing(told, "a") error("mine", 0) end, function(m) told[#told + 1] = "handler" return m .. "!" end)} return r, told end)

  check("_ENV", function() local function f() local _ENV = {x = 5} return x, y end local function g(_ENV) z = 1 return _ENV end local function h() local _ENV <const> = {a = 1} return a end return {f()}, g {}, h(), e(function() local _ENV = nil return x end), e(function() local _ENV = 5 x = 1 end) end)
  check("_ENV is _G", function() return _ENV == _G, _G._G == _G, rawequal(_ENV, _G) end)
  check("globals", function() peer_x = 5 local a = _G.peer_x _G.peer_x = nil return a, peer_x, e(function() return peer_none.x end), e(function() peer_none() end), e(function() return #peer_none end), e(function() peer_none.a.b = 1 end) end)
  check("globals with a metatable", function()
    local seen = {}
    setmetatable(_G, {__index = function(_, k) return k .. "?" end, __newindex = function(t, k, v) seen[k] = v end})
    local a = peer_y peer_z = 1
    setmetatable(_G, nil)
    return a, seen, peer_z
  end)
  check("names in errors", function()
    local l, t = nil, {f = {}}
    return e(function() return l.x end), e(function() local a; return a.x end), e(function() return t.g.h end), e(function() t.f.g() end), e(function() t:none() end), e(function() return t.f + 1 end), e(function() return l + 1 end), e(function() local a = "x" return a.b.c end), e(function() return ("x")() end), e(function() return (1)() end), e(function() return t.f .. "x" end), e(function() t[nil] = 1 end), e(function() return t.f < 1 end), e(function() return -t end), e(function() return t.f.g.h end), e(function() return l[1] end), e(function() return t[1][2] end), e(function() t.x.y = 1 end), e(function() return math.nothing() end), e(function() return 2 ^ {} end), e(function() return t & 1 end), e(function() return 1.5 | 1 end), e(function() local a = 2^70 return a | 1 end), e(function() string.nothing() end)
  end)
  check("200 locals", function()
    local a1, a2, a3, a4, a5, a6, a7, a8, a9, a10 = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    do local b1, b2, b3, b4, b5, b6, b7, b8, b9, b10 = a10, a9, a8, a7, a6, a5, a4, a3, a2, a1 return b1 - b10, b5 end
  end)
end
