-- math.lua - manual 3.4.1 to 3.4.3, 6.7 and tonumber of 6.1: integers, floats, conversions, overflow; random's ranges and its sequence.
return function(check, e, each)
  local big, small = math.maxinteger, math.mininteger
  local inf, nan = 1/0, 0/0
  local values = {0, 1, -1, 2, -2, 3, 7, -7, 10, 63, 64, 65, -64, big, small, big - 1, small + 1, 2^53 | 0, 0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 3.0, -3.0, 3.7, -3.7, 1e15, 2^53, 2^63, -2^63, 1e100, -1e100, 5e-324, inf, -inf, nan, "10", "0x1p4", "1e1", " -7 ", "abc", true, {}}

  for name, f in each {add = function(a, b) return a + b end, sub = function(a, b) return a - b end, mul = function(a, b) return a * b end, div = function(a, b) return a / b end, idiv = function(a, b) return a // b end, mod = function(a, b) return a % b end,
    band = function(a, b) return a & b end, bor = function(a, b) return a | b end, bxor = function(a, b) return a ~ b end, shl = function(a, b) return a << b end, shr = function(a, b) return a >> b end, eq = function(a, b) return a == b end,
    lt = function(a, b) return a < b end, le = function(a, b) return a <= b end, pow = function(a, b) return a ^ b end, concat = function(a, b) return a .. b end, fmod = function(a, b) return math.fmod(a, b) end, max = function(a, b) return math.max(a, b) end, min = function(a, b) return math.min(a, b) end, ult = function(a, b) return math.ult(a, b) end} do
    for i, a in ipairs(values) do
      check(name .. " of value " .. i .. " and all", function() local out = {} for k, b in ipairs(values) do out[k] = select(2, pcall(f, a, b)) end return out end)
    end
  end
  for name, f in each {unm = function(a) return -a end, bnot = function(a) return ~a end, len = function(a) return #a end, ["not"] = function(a) return not a end, abs = math.abs, ceil = math.ceil, floor = math.floor, sqrt = math.sqrt, tointeger = math.tointeger, type = math.type, modf = math.modf,
    exp = math.exp, sin = math.sin, cos = math.cos, tan = math.tan, asin = math.asin, acos = math.acos, atan = function(...) return math.atan(...) end, log = math.log, deg = math.deg, rad = math.rad, tonumber = tonumber, tostring = function(v) return type(v) == "table" and 0 or v ~= v and 0 or tostring(v) end} do
    check(name .. " of all", function() local out = {} for k, v in ipairs(values) do out[k] = {pcall(f, v)} end return out, e(f) end)
  end
  check("names", function() return math.pi, math.huge, math.maxinteger, math.mininteger, -math.huge, math.type(math.huge) end)
  check("division and modulo of negative numbers", function() return 7 // 2, -7 // 2, 7 // -2, -7 // -2, 7 % 3, -7 % 3, 7 % -3, -7 % -3, 7.5 // 2, -7.5 // 2, 7.5 % 2, -7.5 % 2, 7.5 % -2, -7 // 2.0, 5.3 % inf, -5.3 % inf, 5.3 % -inf, 0 % inf, -0.0 % 3 end)
  check("division by zero", function() return 1 / 0, -1 / 0, e(function() return 1 // 0 end), e(function() return 1 % 0 end), 1 // 0.0, e(function() local a = 0 return 5 % a end), 1.0 // 0, -1 // 0.0 end)
  check("the smallest integer", function() return small // -1, small % -1, -small, small * -1, math.abs(small), small // 1, small - 1, big + 1, big * 2, small == -small, big * big, small / -1, math.fmod(small, -1), ~small end)
  check("shifts", function() return 1 << 63, 1 << 64, 1 << -1, -1 >> 1, -1 >> 63, -1 >> 64, 1 << 62, -1 << 1, 1 << small, 1 >> small, 1 << big, 3.0 << 1, e(function() return "2" << 1 end), e(function() local a = "2" return a << 1 end) end)
  check("integers and floats compare as numbers", function() return 1 == 1.0, big == 2^63, big < 2^63, big + 0.0 == 2^63, small == -2^63, 2^53 == 2^53 + 1, (2^53 | 0) + 1 == 2^53, (2^53 | 0) + 1 > 2^53, 1 < 1.5, -inf < small, nan == nan, nan < nan, nan ~= nan, 0.0 == -0.0, 1/0.0 == 1/-0.0 end)
  check("literals", function() return 0xff, 0xA.8p0, 0x.1p4, 0xA.p1, 1e2, .5, 3., 0x7fffffffffffffff, 0xffffffffffffffff, 0x1ffffffffffffffff, 9223372036854775807, 9223372036854775808, -9223372036854775808, 1e308 * 10, 0x1p-1074, 3e-2, 0X1P+3, 100000000000000000000 end)
  check("floats are written", function() return 1e15 .. "", 1e14 .. "", 123456.789 .. "", 2^24 .. "", 1e-5 .. "", 0.1 + 0.2 .. "", 1e300 .. "", -1e-7 .. "", 3.0 .. "", 2^63 .. "", 1e15 + 0.5 .. "" end)
  check("exponents and precedence", function() return 2^3^2, -2^2, 2^-1, not nil == true, 1 .. 2 == "12", 2 * 3 % 4, -3 % 5, 1 | 2 & 3 ~ 4 << 1, 5 - 3 - 1, "a" .. "b" == "ab" and 1 or 2, 1 < 2 == true, -2 ^ 2, ~0 & 0xFF, 7 // 2 * 2 end)

  local texts = {"10", " 10 ", "10 a", "", " ", "0x", "0x10", "0xA.8", "0x1p4", "1e", "1e5", "1e+5", ".5", "5.", ".", "-", "-5", "+5", "- 5", "--5", "inf", "nan", "NaN", "0b1", "1_000", "1,5", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "0x7fffffffffffffff", "0xffffffffffffffff",
    "0x1ffffffffffffffff", "1e400", "-1e400", "1e-400", "\t10\n", "10\0", "\00010", "0x-1", "-0x10", "-0", "-0.0", "1 2", "infinity", "0x.p1", "0x1.8", "1E2", "1e2.5", "0e0", ("9"):rep(100), ("1"):rep(250), "٣", "10\v\f\r", "1..2", "0x0.1E", "z", "Z9", "ff", "777", "1.0"}
  for i, t in ipairs(texts) do
    check("tonumber of text " .. i, function()
      local out = {{tonumber(t)}, {math.tointeger(t)}, {pcall(function() return t + 0 end)}, {pcall(function() return t | 0 end)}, {pcall(string.rep, "x", #t < 3 and t or "1")}}
      for base = 2, 36 do out[#out + 1] = tostring(tonumber(t, base)) end
      return out
    end)
  end
  check("tonumber with bases", function() return tonumber("ff", 16), tonumber("FF", 16), tonumber("zz", 36), tonumber("12", 2), tonumber("-101", 2), tonumber("  7 ", 8), tonumber("8", 8), tonumber("7fffffffffffffff", 16), tonumber("ffffffffffffffff", 16), tonumber("10000000000000000", 16), tonumber("1.0", 10), tonumber("1e1", 16), tonumber("-", 10), tonumber("", 10), tonumber("0x10", 16), tonumber("- 1", 10) end)
  check("tonumber's arguments", function() return e(tonumber), e(tonumber, 10, 10), e(tonumber, "10", 1), e(tonumber, "10", 37), e(tonumber, {}, 10), e(tonumber, "10", "x"), e(tonumber, "10", 1.5), tonumber(nil), tonumber({}), tonumber(print), tonumber(true), tonumber("10", nil), e(tonumber, nil, 10), tonumber(5), tonumber(5.5), tonumber(nan) ~= tonumber(nan) end)
  check("tointeger", function() return math.tointeger(3.0), math.tointeger(3.5), math.tointeger("3"), math.tointeger("3.0"), math.tointeger("x"), math.tointeger(2^63), math.tointeger(-2^63), math.tointeger({}), e(math.tointeger), math.tointeger(nil), math.tointeger(inf), math.tointeger(nan) end)
  check("floor and ceil of what is too large", function() return math.floor(1e100), math.ceil(-1e100), math.floor(inf), math.floor(-3.5), math.ceil(-3.5), math.ceil(-0.5), math.floor(2^62), math.floor(2^63), math.floor("3.7"), math.floor(-0.0) end)
  check("modf", function() return {math.modf(3.7)}, {math.modf(-3.7)}, {math.modf(5)}, {math.modf(inf)}, {math.modf(-inf)}, {math.modf(nan)}, {math.modf(1e100)}, {math.modf(-0.0)}, {math.modf("3.5")} end)
  check("fmod", function() return math.fmod(7, 3), math.fmod(-7, 3), math.fmod(7, -3), math.fmod(7.5, 2), e(math.fmod, 1, 0), math.fmod(1, 0.0), math.fmod(inf, 1), math.fmod(1, inf), math.fmod(small, -1), e(math.fmod, 1), math.fmod(-6, 2), math.fmod(-6.0, 2) end)
  check("max and min", function() return math.max(1, 2.0), math.max(2, 2.0), math.max(2.0, 2), math.min(1), math.max(nan, 1), math.max(1, nan), math.max(-0.0, 0.0), e(math.min, "1", 2), e(math.max), e(math.min), e(math.max, "x", 1), e(math.max, {}), math.max(big, 2^63), math.min(1, 2, -3, 4.5) end)
  check("log", function() return math.log(8, 2), math.log(100, 10), math.log(27, 3), math.log(0), math.log(-1), math.log(1), math.log(2, 0), math.log(2, 1), math.log(1024, 2.0), e(math.log, 1, "x"), e(math.log), math.log(10), math.log(1000, 10) end)
  check("atan of two", function() return math.atan(1, 0), math.atan(0, -1), math.atan(-0.0, -1), math.atan(1), math.atan(1, 1), math.atan(0, 0), math.atan(inf, inf), e(function() return math.atan(1, "x") end) end)
  check("ult", function() return math.ult(1, 2), math.ult(-1, 2), math.ult(2, -1), math.ult(small, big), math.ult(0, 0), e(math.ult, 1.5, 1), e(math.ult, 1), math.ult("1", 2.0) end)
  check("type", function() return math.type(1), math.type(1.0), math.type("1"), math.type({}), e(math.type), math.type(nil), math.type(2^31 | 0) end)
  check("wrong arguments are told", function() return e(math.abs), e(math.abs, "x"), e(math.floor, {}), e(math.sqrt, nil), e(math.sin, true), e(math.ceil), math.abs("-5"), math.abs(-5), math.abs(-5.5), math.abs("-0x10") end)

  check("random gives the sequence of its seed", function() local out = {} for i = 1, 60 do out[i] = math.random() out[i + 60] = math.random(0) out[i + 120] = math.random(10) out[i + 180] = math.random(-5, 5) out[i + 240] = math.random(small, big) out[i + 300] = math.random(1 << 40) end return out end)
  check("random's ranges", function()
    local seen = {}
    for _ = 1, 2000 do
      local f, i, k = math.random(), math.random(3), math.random(-2, 2)
      if not (f >= 0 and f < 1) then return f end
      if math.type(f) ~= "float" or math.type(i) ~= "integer" then return "type" end
      seen[i], seen["k" .. k] = true, true
    end
    return seen, math.random(7, 7), math.random(big, big), math.random(small, small), math.type(math.random(0)), math.random(1), math.random(3.0, 3.0), math.random("5", 5)
  end)
  check("random's wrong arguments", function() return e(math.random, 2, 1), e(math.random, -1), e(math.random, 1, 2, 3), e(math.random, 1.5), e(math.random, "x"), e(math.random, {}, 1), e(math.random, big, small), e(math.random, 1, 1.5) end)
  check("randomseed", function() return (e(math.randomseed, 42)) end)
end
