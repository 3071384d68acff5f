-- os.lua - manual 6.9, what is there of it: time, date in UTC, difftime, clock.
return function(check, e)
  local at = 1700000000

  check("difftime and clock", function() return os.difftime(5, 3), os.difftime(2.0, 1), os.difftime(math.mininteger, math.maxinteger), e(os.difftime), e(os.difftime, 1), e(os.difftime, "x", 1), os.difftime("5", 3), math.type(os.clock()), os.clock() >= 0 end)
  check("time", function() return math.type(os.time()), os.time() > at, os.time(nil) > at end)
  check("time of a table", function() return os.time {year = 2024, month = 2, day = 29}, os.time {year = 2024, month = 2, day = 29, hour = 0}, os.time {year = 1970, month = 1, day = 1, hour = 0, min = 0, sec = 1}, os.time {year = 2024, month = 14, day = -3, hour = 25, min = 61, sec = -1}, os.time {year = "2024", month = 1.0, day = 1}, os.time {year = 1960, month = 1, day = 1}, os.time {year = 2024, month = 1, day = 1, isdst = false} end)
  check("time of a table that is none", function() return e(os.time, {}), e(os.time, {year = 2024}), e(os.time, {year = 2024, month = 1}), e(os.time, {year = 2024, month = "x", day = 1}), e(os.time, {year = 2024, month = 1.5, day = 1}), e(os.time, 5), e(os.time, "x"), e(os.time, {year = 1 << 40, month = 1, day = 1}), e(os.time, {year = 2024, month = -(1 << 33), day = 1}), e(os.time, {year = 2024, month = 1, day = 1, hour = "x"}) end)
  check("time at the ends of years", function()
    local function at(year, month, day, more) local t = {year = year, month = month, day = day} for k, v in pairs(more or {}) do t[k] = v end return (e(os.time, t)) end
    local top, low = 2147483647, -2147483648
    return at(top + 1900, 12, 31), at(top + 1900, 13, 1), at(top + 1901, 1, 1), at(low + 1900, 1, 1), at(low + 1899, 1, 1), at(low + 1900, 0, 1),
      at(math.maxinteger, 1, 1), at(math.mininteger, 1, 1), at(2024, top + 1, 1), at(2024, top + 2, 1), at(2024, low + 1, 1), at(2024, low, 1),
      at(2024, 1, top), at(2024, 1, top + 1), at(2024, 1, low), at(2024, 1, low - 1), at(2024, 1, 1, {hour = top, min = top, sec = top}),
      at(2024, 1, 1, {hour = top + 1}), at(2024, 1, 1, {min = low - 1}), at(2024, 1, 1, {sec = math.maxinteger}), at(1, 1, 1), at(0, 1, 1), at(-1, 1, 1), at(10000, 1, 1)
  end)
  check("the second before 1970", function() return e(os.time, {year = 1969, month = 12, day = 31, hour = 23, min = 59, sec = 59}), e(os.time, {year = 1969, month = 12, day = 31, hour = 23, min = 59, sec = 58}) end)
  check("time puts its table right", function() local t = {year = 2024, month = 14, day = 35, hour = 30} local v = os.time(t) return v, t end)
  check("date of a table", function() return os.date("*t", at), os.date("!*t", at), os.date("*t", 0), os.date("!*t", -1), os.date("*t", at + 0.0) end)
  for _, c in ipairs {"a", "A", "b", "B", "c", "C", "d", "D", "e", "F", "g", "G", "h", "H", "I", "j", "m", "M", "n", "p", "r", "R", "S", "t", "T", "u", "U", "V", "w", "W", "x", "X", "y", "Y", "%", "z", "Ec", "EC", "Ex", "EX", "Ey", "EY", "Od", "Oe", "OH", "OI", "Om", "OM", "OS", "Ou", "OU", "OV", "Ow", "OW", "Oy"} do
    check("date %" .. c, function() return e(os.date, "%" .. c, at), e(os.date, "!%" .. c, 0), e(os.date, "!%" .. c, 951782400), e(os.date, "!<%" .. c .. ">", -86400 * 365) end)
  end
  check("date without a format", function() return os.date(nil, 0), type(os.date()), #os.date("!%c", at), os.date("", at), os.date("x\0y%d", at), os.date("!", 0), os.date("plain", 0) end)
  check("date that can't be", function() return e(os.date, "%d", "x"), e(os.date, {}), e(os.date, "!%d", {}) end)
  check("conversions that nobody knows", function() return e(os.date, "%"), e(os.date, "%Ez"), e(os.date, "%k"), e(os.date, "%E"), e(os.date, "%O1"), e(os.date, "!%5d", 0) end)
  check("difftime of fractions", function() return e(os.difftime, 1.5, 1) end)
  check("date of fractions", function() return e(os.date, "!%d %S", 1.5) end)
  check("date beyond the year 9999", function() return e(os.date, "*t", 1 << 60), e(os.date, "*t", 1 << 40) end)
  check("more conversions", function() return e(os.date, "!%s", 5), e(os.date, "!%L", 5) end)
  check("the name of UTC", function() return os.date("!%Z", 0), os.date("%Z", 0) end)
end
