-- calls.lua - manual 3.4.10, 3.4.11, 2.3 and 6.1: arguments, varargs, results, tail calls, pcall, xpcall, error, assert, type.
return function(check, e)
  local function pack(...) return {n = select("#", ...), ...} end
  local function three() return 1, 2, 3 end

  check("arguments are adjusted", function() local function f(a, b, c) return a, b, c end return pack(f()), pack(f(1)), pack(f(1, 2, 3, 4)), pack(f(three())), pack(f(three(), 10)), pack(f((three()))) end)
  check("varargs", function() local function f(a, ...) local b, c = ... return a, b, c, select("#", ...), {...}, (...) end return pack(f()), pack(f(1)), pack(f(1, nil, nil)), pack(f(1, 2, 3, 4)), pack((function(...) return ... end)()), pack((function(...) return ..., 1 end)(5, 6)), pack((function(...) return 1, ... end)()) end)
  check("varargs in coroutines and closures", function() local function f(...) local t = {...} return function() return table.unpack(t) end end return pack(f(1, 2)()), pack(coroutine.wrap(function(...) return select("#", ...), ... end)(nil, nil)) end)
  check("results are adjusted", function() local a = {three(), three()} local b = {three(), (three())} return a, b, pack(three(), three()), pack((three())), three() == 1, three() + three(), -three(), (three()) end)
  check("calls without parentheses", function() local function f(x) return x end return f "text", f {1}, f [[long]], type(f {}), #f "abc", (f "a"):rep(2) end)
  check("a great many arguments", function() return select("#", table.unpack({}, 1, 250)), select("#", (function(...) return ... end)(table.unpack({}, 1, 5000))), math.max(table.unpack((function() local t = {} for i = 1, 200 do t[i] = i end return t end)())) end)
  check("tail calls", function() local function loop(n, ...) if n == 0 then return "end", ... end return loop(n - 1, ...) end return pack(loop(100000)), pack(loop(1000, 1, nil)) end)
  check("tail calls of others", function() local t = setmetatable({}, {__call = function(self, n, x) if n == 0 then return x end return self(n - 1, x) end}) local function f(...) return select("#", ...) end local function g(...) return f(...) end return t(50000, "end"), g(nil, nil), (function() return pcall(error, "x", 0) end)() end)
  check("recursion", function() local function depth(n) if n == 0 then return 0 end return 1 + depth(n - 1) end return depth(5000) end)
  check("C calls too deep", function() local function deep(n) local ok, err = pcall(function() return deep(n + 1) end) return err end local s = deep(1) return type(s) == "string" and s:gsub("^.-:%d+: ", "") or s end)
  check("C calls too deep in gsub", function() local rep function rep(n) return (("a"):gsub("a", function() return rep(n + 1) end)) end local s = e(rep, 1) return s:find("C stack overflow", 1, true) ~= nil, s:match("error[^(]*") end)
  check("metamethods too deep", function() local t = setmetatable({}, {}) getmetatable(t).__index = function(x, k) return x[k .. "x"] end local s = e(function() return t.x end) return s:match("C stack overflow") end)
  check("what can't be called", function() local t = {} return e(function() t() end), e(function() t.x() end), e(function() t:x() end), e(function() (5)() end), e(function() ("x")() end), e(function() local a a() end), e(pcall), pack(pcall(nil)), pack(pcall(5)), pack(pcall({})) end)

  check("pcall", function() return pack(pcall(three)), pack(pcall(error)), pack(pcall(error, nil)), pack(pcall(error, "m")), pack(pcall(error, "m", 0)), pack(pcall(error, {1})), pack(pcall(select, "#", 1, nil)), pack(pcall(pcall)), pack(pcall(pcall, error)), pack(pcall(function(...) return ... end, 1, nil)), pack(pcall(function() end)) end)
  check("pcall of what is callable", function() return pack(pcall(setmetatable({}, {__call = function(self, ...) return type(self), ... end}), 1, 2)), pack(pcall("x")) end)
  check("xpcall", function()
    local function h(m) return "<" .. tostring(m) .. ">" end
    return pack(xpcall(three, h)), pack(xpcall(error, h, "m", 0)), pack(xpcall(function() local x; x.y = 1 end, h)), pack(xpcall(function(...) return ... end, h, 1, nil)), pack(xpcall(error, h)), pack(xpcall(5, h)), pack(xpcall(nil, h, 1)), pack(xpcall(function() error({5}) end, function(t) return t[1] end)), pack(xpcall(error, function() return 1, 2 end, "x")), pack(xpcall(error, function(...) return select("#", ...) end, "x"))
  end)
  check("xpcall's arguments", function() return e(xpcall), e(xpcall, print), e(xpcall, print, nil), e(xpcall, print, 5), e(xpcall, print, {}), e(xpcall, nil, print) == nil, e(xpcall, print, setmetatable({}, {__call = print})) end)
  check("handlers that fail", function() return pack(xpcall(error, function(m) error(m) end, "x")), pack(xpcall(error, function() local x; return x.y end, "x")), pack(xpcall(error, error, "x")), pack(xpcall(error, error)), pack(xpcall(error, function(m) error({m}) end, "x")) end)
  check("handlers that fail once", function() local n = 0 return pack(xpcall(error, function(m) n = n + 1 if n < 3 then error(m .. n, 0) end return m .. "!" end, "x")), n end)
  check("handlers that take care themselves", function() return pack(xpcall(error, function(m) return {pcall(error, m .. "2", 0)} end, "x")), pack(xpcall(error, function(m) return xpcall(error, function(k) return k .. m end, "in") end, "out")) end)
  check("handlers and coroutines", function() return pack(xpcall(function() coroutine.wrap(function() error("in", 0) end)() end, function(m) return "h:" .. m end)), pack(xpcall(error, coroutine.yield, "x")), pack(xpcall(error, function(m) return coroutine.wrap(function() coroutine.yield(m .. "y") end)() end, "x")) end)
  check("pcall in xpcall", function() local n = 0 local r = pack(xpcall(function() local ok, m = pcall(error, "a", 0) error(m .. "b", 0) end, function(m) n = n + 1 return m .. "c" end)) return r, n end)
  check("error and levels", function()
    local function at0() error("m", 0) end local function at1() error("m") end local function at2() error("m", 2) end local function at3() error("m", 3) end local function at9() error("m", 90) end
    return e(at0), e(at1), e(function() at2() end), e(function() at3() end), e(at9), e(error, "m", 1), e(error, 5), e(error, 5.5, 1), e(error, true, 1), e(error, "m", "x"), e(error, "m", 1.5), e(function() error(5, 1) end), e(function() error("m", -1) end), e(function() error() end)
  end)
  check("assert", function() return pack(assert(1, 2, nil)), e(assert, nil), e(assert, false, "m"), e(assert, nil, {1}), e(assert), pack(assert("x")), e(assert, false, nil), e(assert, nil, 5), e(function() assert(false) end), e(function() assert(nil, "no place") end), e(assert, false, "m", 1) end)
  check("type", function() return type(nil), type(1), type(1.5), type("x"), type({}), type(print), type(coroutine.create(print)), type(true), e(type), type(nil, 1), type(setmetatable({}, {__name = "x"})) end)
  check("names in errors of functions", function()
    return e(string.rep), e(function() string.rep() end), e(function() ("x"):rep() end), e(function() local f = string.rep f() end), e(function() return string.rep() end), e(function() local t = {f = string.rep} t.f() end), e(function() local t = {f = string.rep} t:f() end), e(function() setmetatable(1, {}) end), e(setmetatable, 1), e(setmetatable, {}), e(setmetatable, {}, 5), e(function() ipairs() end), e(rawset), e(function() pcall() end), e(function() xpcall() end), e(function() tostring() end),
      e(function() getmetatable() end), e(getmetatable), e(function() coroutine.wrap() end), e(function() select() end), e(function() os.time("x") end), e(function() os.date(5, {}) end), e(os.difftime), e(function() os.difftime(1, {}) end), e(function() os.difftime() end), e(os.difftime, "x"), e(function() utf8.char({}) end), e(math.floor), e(function() table.concat() end), e(function() next() end), e(function() ("x"):bad() end), e(function() ("x"):rep({}) end), e(function() ("x").rep() end)
  end)
  check("setmetatable and getmetatable", function() local t, m = {}, {} return setmetatable(t, m) == t, getmetatable(t) == m, setmetatable(t, nil) == t, getmetatable(t), getmetatable(5), getmetatable(nil), getmetatable(print), e(setmetatable, 5, {}), e(setmetatable, {}, true), e(setmetatable, {}), select("#", setmetatable({}, {}, 1)) end)
  check("__metatable protects", function() local t = setmetatable({}, {__metatable = "locked"}) return getmetatable(t), e(setmetatable, t, {}), e(setmetatable, t, nil), e(function() setmetatable(t, {}) end), getmetatable(setmetatable({}, {__metatable = false})), e(setmetatable, setmetatable({}, {__metatable = false}), {}) end)
  check("and, or, not", function() return nil and 1, false or nil, 1 and 2, nil or "x", false and error("x"), 1 or error("x"), not 0, not nil, nil == false, 1 and nil or 3, pack(nil and three()), pack(true and three()), (three() or 5) end)
  check("the order of evaluation", function() local told = {} local function t(x) told[#told + 1] = x return x end local r = {t(1) + t(2) * t(3), [t("k")] = t("v"), t(4) < t(5), t("a") .. t("b") .. t("c")} return told, r end)
  check("comments and semicolons", function() --[[ a ]] local a = 1; ; --[==[ b
    ]] ]==] return a --c
  end)
  check("parentheses on a new line", function() local f = function(x) return function(y) return x, y end end local a = f
    (1) return pack(a(2)) end)
end
