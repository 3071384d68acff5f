-- coroutine.lua - manual 2.6 and 6.2.
return function(check, e)
  local create, resume, yield, status, wrap, close = coroutine.create, coroutine.resume, coroutine.yield, coroutine.status, coroutine.wrap, coroutine.close
  local function closing(told, name, err) return setmetatable({}, {__close = function(_, x) told[#told + 1] = name .. ":" .. tostring(x) if err then error(err, 0) end end}) end

  check("values go in and out", function()
    local co = create(function(a, b, ...)
      local c, d = yield(a + b, select("#", ...))
      local n = select("#", yield(c, d, nil))
      return "end", n
    end)
    return {resume(co, 1, 2, nil, nil)}, {resume(co, "x")}, {resume(co, nil, nil)}, {resume(co)}, status(co)
  end)
  check("create", function() return type(create(print)), e(create), e(create, 5), e(create, "x"), e(create, {}), e(create, setmetatable({}, {__call = print})) end)
  check("resume wants a coroutine", function() return e(resume), e(resume, print), e(resume, nil), e(status), e(status, 5), e(close), e(close, {}), e(wrap), e(wrap, 5), e(coroutine.isyieldable, 5), e(function() return resume(5) end) end)
  check("resume of what can't go on", function()
    local co = create(function() end) resume(co)
    local own = {} own.co = create(function() return resume(own.co) end)
    local outer, inner outer = create(function() return resume(inner) end) inner = create(function() return resume(outer) end)
    return {resume(co)}, {resume(co, 1)}, {resume(own.co)}, {resume(outer)}, {resume((coroutine.running()))}
  end)
  check("status", function()
    local out, co, other = {}, nil, nil
    co = create(function() out[#out + 1] = status(co) resume(other) yield() end)
    other = create(function() out[#out + 1] = status(co) out[#out + 1] = status(other) end)
    out[#out + 1] = status(co) resume(co) out[#out + 1] = status(co) resume(co) out[#out + 1] = status(co)
    local bad = create(error) resume(bad) out[#out + 1] = status(bad) out[#out + 1] = status((coroutine.running()))
    return out
  end)
  check("running and isyieldable", function()
    local main, is = coroutine.running()
    local out = {type(main), is, coroutine.isyieldable(), coroutine.isyieldable(main)}
    wrap(function() local co, m = coroutine.running() out[#out + 1] = m out[#out + 1] = coroutine.isyieldable() out[#out + 1] = coroutine.isyieldable(co) out[#out + 1] = co ~= main end)()
    local co = create(function() end) out[#out + 1] = coroutine.isyieldable(co) resume(co) out[#out + 1] = coroutine.isyieldable(co)
    return out
  end)
  check("yield outside", function() return e(yield), e(yield, 1), e(function() yield() end) end)
  check("errors end a coroutine", function()
    local co = create(function() error("mine") end) local t = {} local obj = create(function() error(t) end) local none = create(function() error() end)
    local a, b = resume(obj) return {resume(co)}, status(co), {resume(co)}, a, b == t, {resume(none)}, {resume(create(function() local x = nil; return x.y end))}, {resume(create(function() error("m", 2) end))}, {resume(create(string.rep))}
  end)
  check("wrap", function() local f = wrap(function(a) local b = yield(a + 1) return b, nil end) return type(f), f(1), {f("x")}, e(f), e(f, 1), select("#", wrap(function() return nil, nil end)()) end)
  check("wrap tells errors with a position", function()
    return e(wrap(function() error("mine") end)), e(function() wrap(function() error("mine") end)() end), e(function() wrap(function() error({5}) end)() end), e(function() wrap(function() error("no place", 0) end)() end), e(function() local f = wrap(function() return 1 end) f() f() end), e(wrap(function() error(nil) end)), e(function() wrap(function() error(5) end)() end), e(function() wrap(string.rep)() end)
  end)
  check("wrap of itself", function() local f f = wrap(function() return f() end) return e(f) end)
  check("wrap as an iterator", function() local out = {} for a, b in wrap(function() for i = 1, 4 do yield(i, i * i) end end) do out[#out + 1] = a + b end return out end)
  check("wrap closes its variables after an error", function() local told = {} local f = wrap(function() local x <close> = closing(told, "x") yield() error("mine", 0) end) f() return e(f), told, e(wrap(function() local x <close> = closing(told, "y", "of close") error("mine", 0) end)), told end)
  check("resume doesn't close", function() local told = {} local co = create(function() local x <close> = closing(told, "x") error("mine", 0) end) local r = {resume(co)} local before = #told return r, before, {close(co)}, told, {close(co)} end)
  check("close", function()
    local told = {} local co = create(function() local x <close> = closing(told, "x") local y <close> = closing(told, "y") yield(1) end)
    resume(co) local r = {close(co)}
    return r, status(co), told, {close(co)}, {resume(co)}, {close(create(print))}, status(create(print))
  end)
  check("close of one that never began", function() local co = create(function() return 1 end) return {close(co)}, status(co), {resume(co)} end)
  check("close and errors in __close", function() local told = {} local co = create(function() local x <close> = closing(told, "x") local y <close> = closing(told, "y", "of y") yield() end) resume(co) return {close(co)}, told, status(co), {close(co)} end)
  check("close of one that failed", function() local co = create(function() error({7}) end) resume(co) return {close(co)}, {close(co)}, status(co) end)
  check("close of what runs", function()
    local co co = create(function() return e(close, co) end)
    local other other = create(function() return wrap(function() return e(close, other) end)() end)
    return {resume(co)}, {resume(other)}, e(close, (coroutine.running())), e(function() close((coroutine.running())) end)
  end)
  check("yield in __close", function()
    local told = {}
    local co = create(function() do local x <close> = setmetatable({}, {__close = function() told[#told + 1] = yield("closing") end}) end return "after" end)
    return {resume(co)}, {resume(co, "back")}, told, status(co)
  end)
  check("yield across pcall", function()
    local co = create(function() local r = {pcall(function(a) local b = yield(a) error(b .. "!", 0) end, "in")} yield(r) return pcall(yield, 1, 2) end)
    return {resume(co)}, {resume(co, "b")}, {resume(co)}, {resume(co, "x", nil)}, {resume(co)}
  end)
  check("yield across xpcall", function()
    local co = create(function(...) local r = {xpcall(function(...) local b = yield(...) error(b .. "!", 0) end, function(m) return "<" .. m .. ">" end, ...)} yield(r) return xpcall(yield, print, 1, 2) end)
    return {resume(co, "a", nil, "c")}, {resume(co, "b")}, {resume(co)}, {resume(co, "x", nil)}, {resume(co)}
  end)
  check("yield across pcall in pcall", function() local co = create(function() return pcall(pcall, pcall, yield, "deep") end) return {resume(co)}, {resume(co, 1, 2)} end)
  check("yield across metamethods", function()
    local mt = {}
    for _, m in ipairs {"__add", "__concat", "__index", "__lt", "__le", "__eq", "__len", "__unm", "__call", "__newindex", "__idiv", "__band", "__shl", "__bnot"} do mt[m] = function(...) return yield(m, select("#", ...)) end end
    local function both(f) local co = create(f) local out = {{resume(co)}} out[2] = {resume(co, "r")} out[3] = {resume(co, "r")} return out end
    local a, b = setmetatable({}, mt), setmetatable({}, mt)
    return both(function() return a + 1 end), both(function() return a .. "x" end), both(function() return "x" .. a .. "y" end), both(function() return a.x end), both(function() return a < b end), both(function() return a <= b end), both(function() return a == b end), both(function() return #a end), both(function() return -a end), both(function() return a(1, 2) end), both(function() a.x = 1 return "set" end), both(function() return a // 2 end), both(function() return a & 2 end), both(function() return 1 << a end), both(function() return ~a end), both(function() if a ~= b then return 1 end return 2 end)
  end)
  check("yield in iterators", function() local co = wrap(function() local out = {} for i in function(_, v) return yield(v) end do out[#out + 1] = i end return out end) co() co(1) co(2) return co(nil) end)
  check("yield across __pairs", function() local co = create(function() return pairs(setmetatable({}, {__pairs = function() return yield("p"), 2, 3 end})) end) return {resume(co)}, {resume(co, 1)} end)
  check("yield where C can't go on", function()
    local function fails(f) return {resume(create(f))} end
    return fails(function() table.sort({2, 1}, function() yield() end) end), fails(function() ("a"):gsub("a", yield) end), fails(function() return tostring(setmetatable({}, {__tostring = yield})) end), fails(function() return table.concat(setmetatable({}, {__len = function() return 1 end, __index = yield})) end), fails(function() return table.unpack(setmetatable({}, {__index = yield}), 1, 2) end)
  end)
  check("the same error object goes through", function() local t = {} local ok, r = resume(create(function() wrap(function() error(t) end)() end)) return ok, r == t end)
  check("many coroutines one after the other", function() local n = 0 for i = 1, 200 do n = n + wrap(function() return i end)() end return n end)
  check("coroutines in coroutines", function() local function deep(n) if n == 0 then return "bottom" end return wrap(deep)(n - 1) end return deep(30) end)
  check("producer, filter and consumer", function()
    local p = wrap(function() for i = 1, 10 do yield(i) end end)
    local f = wrap(function() for v in p do if v % 2 == 0 then yield(v * v) end end end)
    local out = {} for v in f do out[#out + 1] = v end return out
  end)
  check("too many values", function() return e(function() return resume(create(function(...) return select("#", ...) end), table.unpack({}, 1, 200)) end), {resume(create(function() return select("#", yield(table.unpack({}, 1, 200))) end))}, select("#", resume(create(function() return table.unpack({}, 1, 240) end))) end)
  check("60 at a time", function() local all = {} for i = 1, 60 do all[i] = wrap(function() yield(i) return i end) all[i]() end local n = 0 for _, f in ipairs(all) do n = n + f() end return n end)
  check("names of coroutine's functions in errors", function() return e(function() coroutine.resume({}) end), e(function() coroutine.close() end), e(function() coroutine.create() end), e(function() coroutine.status(1) end), e(function() coroutine.wrap({}) end) end)
end
