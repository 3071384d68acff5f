-- sort.lua - manual 6.6: table.concat, insert, move, pack, remove, sort, unpack.
return function(check, e)
  local big, small = math.maxinteger, math.mininteger

  -- A table that is one only by its metamethods, and tells what was asked of it.
  local function proxy(t, told)
    return setmetatable({}, {__index = function(_, k) told[#told + 1] = "r" .. tostring(k) return t[k] end, __newindex = function(_, k, v) told[#told + 1] = "w" .. tostring(k) t[k] = v end, __len = function() return #t end})
  end

  check("concat", function() return table.concat({}), table.concat({"a", "b"}), table.concat({"a", "b"}, ","), table.concat({1, 2.5, "x", -0.0}, " "), table.concat({"a", "b", "c"}, "-", 2), table.concat({"a", "b", "c"}, "-", 2, 3), table.concat({"a"}, "-", 2), table.concat({"a", "b"}, 1) end)
  check("concat of parts", function() return table.concat({[0] = "z", "a"}, ",", 0, 1), table.concat({[-1] = "y", [0] = "z"}, ",", -1, 0), table.concat({"a"}, ",", 5, 3), table.concat({[big] = "m"}, ",", big, big), table.concat({[small] = "m"}, ",", small, small) end)
  check("concat of what can't be", function() return e(table.concat, {1, {}, 3}), e(table.concat, {1, nil, 3}, ",", 1, 3), e(table.concat, {true}), e(table.concat), e(table.concat, 5), e(table.concat, {}, {}), e(table.concat, {}, "", 1, big), e(table.concat, {}, "", "x"), e(table.concat, {"a"}, ",", small, 0) end)
  check("concat asks metamethods", function() local told = {} return table.concat(proxy({"a", "b", "c"}, told), ","), told end)
  check("insert", function()
    local t = {}
    table.insert(t, "a") table.insert(t, 1, "b") table.insert(t, 2, "c") table.insert(t, #t + 1, "d") table.insert(t, nil) table.insert(t, "e")
    return t, #t, select("#", table.insert(t, 1))
  end)
  check("insert in wrong places", function() return e(table.insert, {1, 2}, 4, 0), e(table.insert, {1, 2}, 0, 0), e(table.insert, {1, 2}, -1, 0), e(table.insert, {1}, big, 0), e(table.insert, {1}, 1.5, 0), e(table.insert, {1}, "1", 0), e(table.insert, {1}, "x", 0) end)
  check("insert with wrong arguments", function() return e(table.insert, {}), e(table.insert), e(table.insert, {}, 1, 2, 3), e(table.insert, 5, 1), e(table.insert, nil, 1), e(table.insert, {}, 1, 2, nil) end)
  check("insert asks metamethods", function() local told, t = {}, {"a", "b", "c"} table.insert(proxy(t, told), 2, "x") return told, t end)
  check("remove", function() local t = {"a", "b", "c"} return table.remove(t), table.remove(t, 1), t, table.remove(t), table.remove(t), #t, table.remove({}), table.remove({}, 0), table.remove({[0] = "z"}, 0), table.remove({}, #{}) end)
  check("remove behind the end", function() local t = {"a", "b"} return table.remove(t, 3), t, table.remove(t, 2), table.remove({nil, nil}, 0), select("#", table.remove({})) end)
  check("remove in wrong places", function() return e(table.remove, {1, 2}, 4), e(table.remove, {1, 2}, -1), e(table.remove, {1, 2}, 0), e(table.remove, {}, 2), e(table.remove, {}, 7), e(table.remove), e(table.remove, {}, "x"), e(table.remove, 5), e(table.remove, {1}, 1.5) end)
  check("remove asks metamethods", function() local told, t = {}, {"a", "b", "c"} local r = table.remove(proxy(t, told), 1) return r, told, t end)
  check("lengths that lie", function()
    local function lying(n) return setmetatable({}, {__len = function() return n end}) end
    return e(table.insert, lying("x"), 1), e(table.insert, lying(1.5), 1), e(table.insert, lying(big), 1), e(table.concat, lying("3")), e(table.sort, lying(big)), e(table.unpack, lying(big)), e(table.remove, lying(nil)), e(table.insert, lying(-5), 1), e(table.sort, lying(-3)), e(table.remove, lying(2.0))
  end)
  check("tables by metatable need their methods", function() return e(table.insert, setmetatable({}, {}), 1), e(table.insert, "x", 1), e(table.concat, "abc"), e(table.unpack, "abc"), e(table.unpack, 5), e(table.sort, "abc"), e(table.move, {}, 1, 1, 1, 5), e(table.move, "x", 1, 1, 1, {}) end)
  check("move", function() return table.move({1, 2, 3}, 1, 3, 2), table.move({1, 2, 3}, 2, 3, 1), table.move({1, 2, 3}, 1, 3, 1), table.move({1, 2, 3}, 1, 0, 5), table.move({1, 2, 3}, 1, 3, 5), table.move({1, 2, 3}, 1, 3, 1, {9, 9, 9, 9}), table.move({1, 2, 3}, 2, 3, -1), table.move({}, 1, 3, 1, {1, 2, 3}) end)
  check("move that overlaps", function() local t = {1, 2, 3, 4, 5} table.move(t, 1, 4, 2) local u = {1, 2, 3, 4, 5} table.move(u, 2, 5, 1) local v = {1, 2, 3} return t, u, table.move(v, 1, 3, 3), table.move(v, 1, 3, 3, v) end)
  check("move at the ends of the integers", function()
    return table.move({[big - 1] = "a", [big] = "b"}, big - 1, big, 1), table.move({"a", "b"}, 1, 2, big - 1), table.move({[small] = "x"}, small, small, 0), e(table.move, {}, 1, 2, big), e(table.move, {}, 0, big, 1), e(table.move, {}, small, 0, 1), e(table.move, {}, -1, big, 5), e(table.move, {}, 1, big, 2), table.move({}, big, small, 1), table.move({}, 1, small, big)
  end)
  check("move with wrong arguments", function() return e(table.move, {}), e(table.move, {}, 1, 2), e(table.move, {}, 1, "x", 1), e(table.move, {}, 1.5, 2, 1), e(table.move) end)
  check("move gives the destination and asks metamethods", function() local a, b, told = {1, 2}, {}, {} local p = proxy({"a", "b"}, told) table.move(p, 1, 2, 2) return table.move(a, 1, 2, 1, b) == b, table.move(a, 1, 1, 2) == a, told end)
  check("pack and unpack", function() return table.pack(), table.pack(nil), table.pack(1, nil, nil), table.unpack({1, 2, nil, 4}, 1, 4) end)
  check("unpack of parts", function() return select("#", table.unpack({}, 1, 3)), table.unpack({1, 2, 3}, 2), select("#", table.unpack({}, 5, 3)), table.unpack({1, 2, 3}, -1, 1) end)
  check("unpack at the ends of the integers", function() return table.unpack({[big] = "m"}, big, big), e(table.unpack, {}, 0, big), e(table.unpack, {}, small, big), e(table.unpack, {}, 1, 10000000), table.unpack({}, big, small), table.unpack({[small] = 1, [small + 1] = 2}, small, small + 1) end)
  check("unpack asks metamethods", function() local told = {} return select("#", table.unpack(proxy({"a", "b"}, told))), told, e(table.unpack), e(table.unpack, nil), table.unpack(setmetatable({}, {__index = function(_, i) return i * i end}), 1, 3) end)

  local function sorted(t, f) table.sort(t, f) return t end
  check("sort", function() return sorted {}, sorted {1}, sorted {3, 1, 2}, sorted {"b", "a", "C", ""}, sorted({1, 2, 3}, function(a, b) return a > b end), sorted {2.5, 1, -0.0, 2, 1/0, -1/0, 0x7fffffffffffffff}, select("#", table.sort({})) end)
  check("sort of many", function()
    local x, t = 7, {}
    for i = 1, 1000 do x = (x * 1103515245 + 12345) % 2147483648 t[i] = x % 500 end
    table.sort(t)
    for i = 2, #t do if t[i - 1] > t[i] then return "wrong at " .. i end end
    table.sort(t, function(a, b) return a > b end)
    for i = 2, #t do if t[i - 1] < t[i] then return "wrong back at " .. i end end
    return t[1], t[500], t[1000]
  end)
  check("sort of sorted, equal and reversed", function() local t, u, v = {}, {}, {} for i = 1, 300 do t[i], u[i], v[i] = i, 5, -i end table.sort(t) table.sort(u) table.sort(v) return t[1], t[300], u[7], v[1], v[300] end)
  check("sort by a function of its own", function() local t = sorted({{n = "b", i = 1}, {n = "a", i = 2}, {n = "c", i = 3}}, function(a, b) return a.n < b.n end) return t[1].i, t[2].i, t[3].i end)
  check("sort of what has no order", function() return e(table.sort, {1, "a"}), e(table.sort, {{}, {}}), e(table.sort, {true, false}), e(table.sort, {1, 2, nil, 4, n = 4}) and 0, e(table.sort, {3, 2, 1}, function() error("mine", 0) end) end)
  check("sort with an invalid order ends", function()
    local orders = {function() return true end, function() return false end, function(a, b) return a <= b end, function(a, b) return (a + b) % 3 == 0 end, function(a) return a % 2 == 0 end, function(a, b) return a ~= b end}
    for i, f in ipairs(orders) do
      for n = 0, 60, 3 do local t = {} for k = 1, n do t[k] = (k * 37) % 17 end pcall(table.sort, t, f) end
    end
    return "all ended"
  end)
  check("sort says that an order is invalid", function() return e(table.sort, {1, 2, 3, 4, 5}, function() return true end) end)
  check("sort with wrong arguments", function() return e(table.sort), e(table.sort, 5), e(table.sort, {2, 1}, 5), e(table.sort, {2, 1}, "x"), sorted({2, 1}, nil), e(table.sort, {1}, {}) end)
  check("sort asks metamethods", function()
    local mt = {__lt = function(a, b) return a.v < b.v end}
    local t = {} for i, v in ipairs {3, 1, 2} do t[i] = setmetatable({v = v}, mt) end
    table.sort(t)
    local u = {3, 1, 2} table.sort(proxy(u, {}))
    return t[1].v, t[2].v, t[3].v, u
  end)
  check("sort and yield", function() return coroutine.resume(coroutine.create(function() table.sort({2, 1}, coroutine.yield) end)) end)
end
