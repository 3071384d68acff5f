-- nextvar.lua - manual 2.1, 3.3.5, 3.4.7, 3.4.9 and 6.1 of tables: length, next, pairs, ipairs, the numeric and the generic for.
return function(check, e)
  local big, small = math.maxinteger, math.mininteger
  local function loop(...) local out = {} for i in ... do out[#out + 1] = i end return out end
  local function count(a, b, c, most) local out = {} for i = a, b, c or 1 do out[#out + 1] = i if #out >= (most or 10) then break end end return out end

  check("length", function() return #{}, #{1, 2, 3}, #{nil}, #{n = 1}, #{1, 2, nil}, #{[1] = 1, [2] = 2}, #{[0] = 1}, #"abc", #{{}, {}} end)
  check("length grows and shrinks", function() local t, out = {}, {} for i = 1, 100 do t[i] = i out[#out + 1] = #t end for i = 100, 1, -1 do t[i] = nil out[#out + 1] = #t end return out end)
  check("a border", function() for n = 0, 40 do local t = {} for i = 1, n do t[i] = i end for h = 1, n do t[h] = nil local b = #t if not ((b == 0 or t[b] ~= nil) and t[b + 1] == nil) then return n, h, b end t[h] = h end end return "always" end)
  check("length of others", function() return e(function() return #nil end), e(function() local x = 5 return #x end), e(function() return #print end), #setmetatable({}, {__len = function() return "any" end}), rawlen({1, 2}), rawlen("abc"), e(rawlen, 5), e(rawlen), rawlen(setmetatable({1}, {__len = function() return 9 end})) end)
  check("keys", function() local t = {} t[1.0] = "a" t[2^53] = "b" t["1"] = "c" t[1.5] = "d" t[true] = "e" t[-0.0] = "f" return t, t[1], t[2^53 | 0], t[0], math.type(next({[3.0] = 1})) end)
  check("keys that can't be", function() return e(function() local t = {} t[nil] = 1 end), e(function() local t = {} t[0/0] = 1 end), ({})[nil], ({})[0/0], e(rawset, {}, nil, 1), e(rawset, {}, 0/0, 1), e(function() return {[nil] = 1} end), e(function() return {[0/0] = 1} end) end)
  check("constructors", function() local function f() return 1, 2, 3 end return {f()}, {f(), f()}, {(f())}, {f(), nil}, {x = 1, "a", [2] = "over"; "b"}, {[f()] = f()}, {n = f(), f()} end)
  check("next", function() return next({}), next({5}), next({5}, 1), next({a = 1}), next({a = 1}, "a"), select("#", next({})), next({1, 2, 3}, 2), e(next, {}, "nokey"), e(next, {}, 1), e(next), e(next, 5), e(next, {1}, 5), next({1}, nil), e(next, {1, 2}, 1.5) end)
  check("next goes over everything once", function()
    local t, seen, n = {}, {}, 0
    for i = 1, 50 do t[i] = i t["k" .. i] = i t[i + 0.5] = i end
    for i = 1, 50, 2 do t[i] = nil end
    for k, v in next, t do if seen[k] then return "twice" end seen[k] = true n = n + v end
    return n
  end)
  check("fields may be cleared on the way", function() local t, n = {}, 0 for i = 1, 100 do t[i] = i t["k" .. i] = i end for k in pairs(t) do t[k] = nil n = n + 1 end return n, next(t) end)
  check("fields may be changed on the way", function() local t, n = {a = 1, b = 2, c = 3}, 0 for k, v in pairs(t) do t[k] = v + 1 n = n + 1 end return n, t end)
  check("pairs", function() local f, t, k = pairs({1}) return f == next, t, k, select("#", pairs({})), e(pairs), e(pairs, nil), e(pairs, 5), e(pairs, "x") end)
  check("pairs asks __pairs", function()
    local t = setmetatable({}, {__pairs = function(x, ...) return "a", type(x), select("#", ...), "fourth" end})
    return pairs(t), select("#", pairs(t)), select("#", pairs(setmetatable({}, {__pairs = function() end}))), e(pairs, setmetatable({}, {__pairs = 5})), e(pairs, setmetatable({}, {__pairs = function() error("mine", 0) end}))
  end)
  check("ipairs", function() local f, t, i = ipairs({7}) return f(t, 0), f(t, 1), i, loop(ipairs {1, 2, nil, 4}), loop(ipairs {}), e(ipairs), loop(ipairs({nil, 2})), e(function() for _ in ipairs() do end end) end)
  check("ipairs asks __index", function() return loop(ipairs(setmetatable({}, {__index = function(_, i) if i <= 4 then return i end end}))), loop(ipairs(setmetatable({1}, {__index = {9, 8, 7}}))), loop(ipairs("abc")), e(function() return loop(ipairs(5)) end), e(function() for _ in ipairs(nil) do end end) end)
  check("ipairs sees what is added", function() local t, n = {1}, 0 for i, v in ipairs(t) do n = n + 1 if i < 5 then t[i + 1] = i end end return n end)
  check("for with integers", function() return count(1, 3), count(3, 1), count(3, 1, -1), count(1, 10, 4), count(-1, 1), count(1, 1), count(5, 5, -1), count(1, 2.9), count(1, 2.0), count(1.0, 3), count(1, 3, 1.0), count(3, 1.5, -1) end)
  check("for with floats", function() return count(0.0, 1, 0.25), count(1, 0, -0.5), count(0.1, 0.35, 0.1), count(1, 2, 0.5), count(-0.0, 1.0), count(1/0, 1/0, 1, 3), count(0, 0/0), count(0/0, 1), count(1.5, 3) end)
  check("for at the ends of the integers", function()
    return count(big - 2, big), count(small + 2, small, -1), count(big, big), count(small, small), count(big - 1, 1/0), count(small + 1, -1/0, -1), count(1, 1/0, big), count(small, big, big), count(big, small, small), count(1, big, big // 2), count(1, -1/0), count(small, 1e100, 1 << 62), count(1, 2^63, 1 << 61), count(-1, -2^63, -(1 << 61)), count(3, big, big)
  end)
  check("for that can't be", function()
    return e(function() for i = 1, 10, 0 do end end), e(function() for i = 1.0, 10, 0.0 do end end), e(function() for i = "1", 10 do end end), e(function() for i = 1, "10" do end end), e(function() for i = 1, 10, "1" do end end), e(function() for i = {}, 1 do end end), e(function() for i = 1, nil do end end), e(function() for i = 1, 2, {} do end end), e(function() for i = 1.5, "x" do end end)
  end)
  check("the variable of a for is its own", function() local out, fs = {}, {} for i = 1, 3 do local k = i i = i * 10 out[#out + 1] = i fs[k] = function() i = i + 1 return i end end return out, fs[1](), fs[1](), fs[2]() end)
  check("the bounds of a for are taken once", function() local n, c = 3, 0 for i = 1, n do n = 10 c = c + 1 end return c, n end)
  check("generic for", function()
    local out = {}
    for a, b, c in function(s, v) if v < 3 then return v + 1, s, nil end end, "state", 0 do out[#out + 1] = {a, b, c} end
    for k in setmetatable({}, {__call = function(_, s, v) v = (v or 0) + 1 if v < 3 then return v end end}) do out[#out + 1] = k end
    for x in function() return false end do out[#out + 1] = x break end
    return out
  end)
  check("generic for of what can't be called", function() return e(function() for _ in nil do end end), e(function() for _ in {} do end end), e(function() for _ in 5 do end end), e(function() local t = {} for _ in t.x do end end), e(function() for k, v in {1, 2} do end end) end)
  check("the fourth value of a generic for is closed", function()
    local told = {}
    local function closing() return setmetatable({}, {__close = function(_, err) told[#told + 1] = err or "end" end}) end
    for i in function(_, v) if v < 2 then return v + 1 end end, nil, 0, closing() do told[#told + 1] = i end
    for i in function(_, v) return v + 1 end, nil, 0, closing() do break end
    local err = e(function() for i in function(_, v) return v + 1 end, nil, 0, closing() do error("x", 0) end end)
    return told, err, e(function() for i in function() end, nil, 0, {} do end end), e(function() for i in function() end, nil, 0, 5 do end end), pcall(function() for i in function() end, nil, 0, false do end end)
  end)
  check("goto and continue", function() local out = {} for i = 1, 5 do if i % 2 == 0 then goto continue end out[#out + 1] = i ::continue:: end local i = 0 ::top:: i = i + 1 if i < 4 then goto top end return out, i end)
  check("while and repeat", function() local n, m = 0, 0 while n < 3 do n = n + 1 end repeat local done = m > 2 m = m + 1 until done while true do break end return n, m end)
  check("a great many elements", function() local t = {} for i = 1, 50000 do t[i] = i end for i = 50000, 25001, -1 do t[i] = nil end local s = 0 for _, v in ipairs(t) do s = s + v end return #t, s end)
  check("select", function() return select("#"), select("#", nil, nil), select(2, "a", "b", "c"), select(-1, "a", "b"), select(-2, "a", "b"), select(5, 1), e(select, 0), e(select, -3, 1, 2), e(select), e(select, "x"), e(select, 1.5), select(big, 1), e(select, small), select("2", "a", "b") end)
  check("rawget, rawset and rawequal", function()
    local t = setmetatable({}, {__index = function() return "no" end, __newindex = function() end, __eq = function() return true end})
    return rawget(t, 1), rawset(t, 1, 2) == t, rawget(t, 1), rawequal(t, {}), rawequal(1, 1.0), rawequal("a", "a"), e(rawget, 5, 1), e(rawset, 5, 1, 1), e(rawset, {}, 1), e(rawget, {}), e(rawequal, 1), e(rawset), rawequal(nil, nil), e(rawget), rawset({}, 2.0, "x")
  end)
end
