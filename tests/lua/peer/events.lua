-- events.lua - manual 2.4: metamethods.
return function(check, e, each)
  local function pack(...) return {n = select("#", ...), ...} end
  local function with(m) return setmetatable({}, m) end
  local function kind(v) return type(v) == "table" and "t" or v end

  local binary = {__add = function(a, b) return a + b end, __sub = function(a, b) return a - b end, __mul = function(a, b) return a * b end, __div = function(a, b) return a / b end, __mod = function(a, b) return a % b end, __pow = function(a, b) return a ^ b end, __idiv = function(a, b) return a // b end, __band = function(a, b) return a & b end,
    __bor = function(a, b) return a | b end, __bxor = function(a, b) return a ~ b end, __shl = function(a, b) return a << b end, __shr = function(a, b) return a >> b end, __concat = function(a, b) return a .. b end}
  for name, op in each(binary) do
    check(name, function()
      local t = with {[name] = function(...) local a, b = ... return kind(a) .. "," .. kind(b) .. "," .. select("#", ...), "second" end}
      local u = with {[name] = function() return "of u" end}
      return pack(op(t, 1)), op(1, t), op(t, "x"), op("x", t), op(t, t), op(t, u), op(u, t), op(1.5, t), e(op, with {}, 1), e(op, 1, with {}), e(op, nil, with {}), op(nil == 1 and 1 or 2, t), op(with {[name] = function() end}, 1), pack(op(t, 5)), e(op, with {[name] = 5}, 1), e(op, with {[name] = "x"}, with {})
    end)
  end
  check("arithmetic with constants on either side", function()
    local m = {} for n in pairs(binary) do m[n] = function(a, b) return n .. ":" .. tostring(kind(a)) .. ":" .. tostring(kind(b)) end end
    local t = with(m)
    return t + 1, 1 + t, t - 1, 1 - t, t * 2, 2 * t, t / 2, 2 / t, t % 2, 2 % t, t ^ 2, 2 ^ t, t // 2, 2 // t, t & 1, 1 & t, t | 1, 1 | t, t ~ 1, 1 ~ t, t << 1, 1 << t, t >> 1, 1 >> t, t .. "x", "x" .. t, t .. 1, 1.5 + t, t - 1.5, t & 1.0, "a" .. "b" .. t, t .. "a" .. "b"
  end)
  check("unary", function() local m = {__unm = function(...) return "unm", select("#", ...) end, __bnot = function(a, b) return rawequal(a, b) end, __len = function(a, b) return "len" .. kind(b or 0) end} local t = with(m) return -t, ~t, #t, e(function() return -with {} end), e(function() return ~with {} end), e(function() return ~1.5 end), e(function() return -{} end), not t end)
  check("eq", function()
    local n, m = 0, nil m = {__eq = function() n = n + 1 return n end} local a, b = with(m), with(m)
    return a == b, a ~= b, a == a, a == 1, a == {}, {} == a, a == with {}, n, with {__eq = function() return nil end} == with {}, rawequal(a, b), a == nil, "x" == a
  end)
  check("lt and le", function()
    local m = {__lt = function(a, b) return kind(a) == "t" and "yes" end, __le = function() return nil end} local a, b = with(m), with(m)
    return a < b, a > b, a <= b, a >= b, a < 1, 1 < a, a > 1, "x" < a, a < "x", a <= 1, 1 <= a, a < 1.5, e(function() return with {} < with {} end), e(function() return with {} <= 1 end), e(function() return with {__lt = function() return true end} <= with {} end), e(function() return a < nil and with {} > nil end), not (a < b)
  end)
  check("index", function()
    local t = with {__index = function(x, k) return kind(x) .. tostring(k), "second" end} local u = setmetatable({a = 1}, {__index = {b = 2}}) local deep = {z = 26} for _ = 1, 50 do deep = with {__index = deep} end
    return pack(t.x), t[1], t[nil], u.a, u.b, u.c, deep.z, deep.none, rawget(t, "x"), e(function() return with({__index = 5}).x end), with({__index = "text"}).len == string.len, with({__index = "text"}).none, t[t] ~= nil, (with {__index = function() error("mine", 0) end}) ~= nil
  end)
  check("index in a circle", function() local t = {} setmetatable(t, {__index = t}) return e(function() return t.x end), e(function() local u = {} setmetatable(u, {__newindex = u}) u.x = 1 end) end)
  check("newindex", function()
    local told, store = {}, {} local t = with {__newindex = function(x, k, v) told[#told + 1] = {kind(x), k, v} end} local u = setmetatable({a = 1}, {__newindex = store})
    t.x = 1 t[1] = nil t[nil] = 5 u.a = 2 u.b = 3 rawset(t, "y", 2) t.y = 3 t.x = 4
    return told, store, rawget(u, "b"), u, rawget(t, "y"), e(function() with({__newindex = 5}).x = 1 end), e(function() with({__newindex = "text"}).x = 1 end), e(function() local p = with {__newindex = function() error("mine", 0) end} p.x = 1 end)
  end)
  check("call", function()
    local t = with {__call = function(self, ...) return kind(self), select("#", ...), ... end} local twice = with {__call = t}
    return pack(t()), pack(t(1, nil)), pack(twice(5)), e(function() with({__call = 5})() end), e(function() with {}() end), pack(pcall(t, 1)), t "x", t {}, pack(select(2, t(9)))
  end)
  check("concat of several", function() local t = with {__concat = function(a, b) return "[" .. tostring(kind(a)) .. "," .. tostring(kind(b)) .. "]" end} return "a" .. t .. "b", t .. t .. t, 1 .. t .. 2, "a" .. "b" .. t .. "c" .. "d", t .. nil, e(function() return with {} .. "x" end), e(function() return "x" .. nil .. t end) end)
  check("concat of what is neither", function() return e(function() return 1 .. {} end), e(function() return {} .. 1 end), e(function() local a = {} return "x" .. a .. "y" end), e(function() return true .. "" end) end)
  check("len with any value", function() return #with {__len = function() return 3.5 end}, #with {__len = function() end}, #with {__len = function() return 1, 2 end}, e(function() return #with {__len = 5} end), rawlen(with {__len = function() return 5 end}) end)
  check("tostring and name", function() return tostring(with {__tostring = function() return "mine" end}), e(tostring, with {__tostring = 5}), e(function() return with {__name = "Mine"} + 1 end), e(function() return with({__name = "Mine"}).x.y end), e(string.rep, with {__name = "Mine"}), e(function() return with {__name = "A"} < with {__name = "B"} end), e(ipairs), e(math.floor, with {__name = "Mine"}), e(function() return #print end) end)
  check("metamethods are looked up raw", function() local m = setmetatable({}, {__index = {__add = function() return "found" end, __index = function() return "found" end}}) local t = setmetatable({}, m) return e(function() return t + 1 end), t.x end)
  check("metatables change on the way", function() local m = {} local t = setmetatable({}, m) local a = t.x m.__index = function() return "now" end local b = t.x m.__index = nil local c = t.x m.__add = function() return 1 end return a, b, c, t + 1 end)
  check("__mode, __close and the rest are taken", function() return type(setmetatable({}, {__mode = "k"})), type(setmetatable({}, {__mode = "kv", __close = print, __name = "x", __metatable = 1})), getmetatable(setmetatable({}, {__metatable = 1})) end)
  check("__gc at once", function() return type(setmetatable({}, {__gc = function() end})) end)
  check("__gc that is no function", function() return type(setmetatable({}, {__gc = true})) end)
  check("__gc later", function() local m = {} local t = setmetatable({}, m) m.__gc = function() error("never") end return type(t) end)
  check("inheritance", function()
    local A = {} A.__index = A function A.new(x) return setmetatable({x = x}, A) end function A:get() return self.x end function A:name() return "A" .. self:get() end
    local B = setmetatable({}, {__index = A}) B.__index = B function B.new(x) return setmetatable(A.new(x), B) end function B:get() return -self.x end
    return A.new(1):name(), B.new(2):name(), getmetatable(B.new(1)) == B, B.none, A.new(3) == A.new(3)
  end)
  check("a read-only table", function() local t = setmetatable({}, {__index = {a = 1}, __newindex = function(_, k) error("no " .. k, 2) end, __len = function() return 7 end, __pairs = function() return next, {a = 1}, nil end}) local n = 0 for _ in pairs(t) do n = n + 1 end return t.a, e(function() t.b = 1 end), #t, n end)
  check("comparison results are booleans", function() local t = with {__eq = function() return "yes" end, __lt = function() return 0 end, __le = function() return false end} local u = with(getmetatable(t)) return t == u, t < u, t <= u, t ~= u, t > u, t >= u end)
  check("methods with yields inside pcall", function() local t = with {__add = function(a, b) return coroutine.yield(b) end} local co = coroutine.create(function() return pcall(function() return t + 5 end) end) return pack(coroutine.resume(co)), pack(coroutine.resume(co, "r")) end)
end
