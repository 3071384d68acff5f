-- strings.lua - manual 6.4 without patterns (pm.lua) and pack (tpack.lua), and 3.1, 3.4.3, 3.4.6, 3.4.7 of strings.
return function(check, e)
  local big, small = math.maxinteger, math.mininteger
  local s = "hello\0world"

  check("the length counts all bytes", function() return #s, s:len(), string.len(""), #"\u{7FFFFFFF}" end)
  check("len wants a string", function() return e(string.len), e(string.len, nil), e(string.len, {}), string.len(12), string.len(1.5) end)
  check("escapes of literals", function() return "\a\b\f\n\r\t\v\\\"\'\z
      x\x41\65\065\u{20AC}\
y" end)
  check("long brackets", function() return [[
a]=]b]], [==[]]]=]]==], #[[

]] end)
  check("concatenation", function() return 1 .. 2, 1.5 .. "x", -0.0 .. "", 2^63 .. "|" .. small end)
  check("concatenation of others", function() return e(function() return {} .. "x" end), e(function() local a; return "x" .. a end), e(function() return print .. 1 end) end)
  check("comparison is by bytes here", function() return "a" < "b", "a" < "ab", "" < "a", "Z" < "a", "a\0b" > "a", "a\0a" < "a\0b", "\xFF" > "a", "10" < "9", "a" <= "a" end)
  check("comparison of mixed types", function() return e(function() return 1 < "2" end), e(function() return {} < {} end), e(function() return nil > 1 end), e(function() return "a" <= 1 end) end)
  check("equality of mixed types", function() return 1 == "1", "a" == "a", 1 == 1.0, "1" == "1.0" end)

  check("sub", function() return s:sub(1, 5), s:sub(-5), s:sub(2, -2), s:sub(0), s:sub(5, 4), s:sub(6, 6), s:sub(-100, 2), s:sub(10, 100) end)
  check("sub with ends of the integers", function() return s:sub(small, big), s:sub(big), s:sub(small, small), s:sub(1, small), s:sub(big, big), s:sub(-1, big) end)
  check("sub with floats", function() return s:sub(2.0, 3.0), e(s.sub, s, 1.5), e(s.sub, s, "2"), e(s.sub, s, "x"), e(s.sub, s), e(s.sub, s, 2^63) end)
  check("byte", function() return s:byte(), s:byte(-1), s:byte(1, 3), "" end)
  check("byte outside gives nothing", function() return select("#", s:byte(100)), select("#", s:byte(3, 2)), select("#", (""):byte()), select("#", s:byte(0)), select("#", s:byte(small, big)) end)
  check("byte of too many", function() return e(string.byte, ("x"):rep(2000000), 1, -1) end)
  check("char", function() return string.char(), string.char(0, 65, 255), string.char("66", 67.0) end)
  check("char out of range", function() return e(string.char, 256), e(string.char, -1), e(string.char, 65, 1.5), e(string.char, "x"), e(string.char, 1, 2, nil) end)
  check("upper and lower", function() return ("aZ\xE4\xC4\0é{"):upper(), ("aZ\xE4\xC4\0É["):lower(), e(string.upper), string.lower(12) end)
  check("reverse", function() return ("abc\0"):reverse(), (""):reverse(), e(string.reverse) end)
  check("rep", function() return ("ab"):rep(3), ("ab"):rep(3, ","), ("ab"):rep(1, ","), ("ab"):rep(0), ("ab"):rep(-1), ("ab"):rep(small), (""):rep(100), (""):rep(3, "-"), ("x"):rep(2.0) end)
  check("rep that can't be", function() return e(string.rep, "ab", big), e(string.rep, "a", big, "b"), e(string.rep, "aa", 1 << 62), e(string.rep, "a"), e(string.rep, "a", 1.5), e(string.rep, "a", "x"), e(string.rep, "x", 2^63) end)
  check("rep that is long", function() return ("abc"):rep(100000, "--") end)
  check("methods of strings", function() return ("x").len, ("x").nothing, ("%d"):format(3), #("x"):rep(3), ("x").y end)
  check("strings can't be assigned to", function() return e(function() local t = "x"; t.y = 1 end), e(function() local t = "x"; return t.y.z end) end)
  check("the metatable of strings", function() return e(setmetatable, "", {}), e(function() setmetatable("", nil) end) end)

  local conversions = {"%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%.3d", "%i", "%u", "%c", "%x", "%X", "%#x", "%o", "%#o", "%e", "%E", "%.3e", "%f", "%.0f", "%#.0f", "%F", "%10.3f",
    "%-10.3f|", "%+.1f", "% .1f", "%g", "%G", "%#g", "%.3g", "%.14g", "%.17g", "%a", "%A", "%.3a", "%s", "%5s", "%-5s|", "%.2s", "%5.1s", "%q", "%%", "%5%", "%", "%y", "%10", "%-", "%123d", "%.123d",
    "%0010d", "%-+ #0d", "%--5d", "%#d", "%0s", "%+s", "%05s", "% c", "%.1c", "%05c", "%.q", "%5q", "%.3q", "%99.99f", "%100f", "%.100f", "%1.1.1f", "%l", "%ld", "%n", "%*d", "%p", "%.3p", "%05p", "%h", "%\0", "%S", "%10.99s"}
  local values = {0, 1, -1, 65, 255, 12345678901, big, small, 0.0, -0.0, 1.0, 3.5, -2.25, 0.1, 1e15, 1e16, 1e100, 2^53, 2^63, -2^63, 5e-324, 1.7976931348623157e308, 1/0, -1/0, 0/0, "", "x", "12", "0x10",
    " 7 ", "3.0", "1e2", "a\0b", "a\nb\\\"\r\0001\200", true, false}
  for _, f in ipairs(conversions) do
    check("format " .. f:gsub("%c", "?"), function()
      local out = {}
      for i, v in ipairs(values) do out[i] = f == "%p" and "?" or select(2, pcall(string.format, f, v)) end
      out[#out + 1] = e(string.format, f)
      out[#out + 1] = e(string.format, f, nil)
      if not f:find("[sqp]") then out[#out + 1] = e(string.format, f, {}) end
      return out
    end)
  end
  check("format %s asks __tostring", function() return ("%s %5s %.1s"):format(setmetatable({}, {__tostring = function() return "xyz" end}), nil, true) end)
  check("format %s of what is no string", function() return e(string.format, "%s", setmetatable({}, {__tostring = function() return 1 end})), (("%s"):format(setmetatable({}, {__name = "My"})):gsub("0x%x+", "P")) end)
  check("format %q of what has no text", function() return e(string.format, "%q", {}), e(string.format, "%q", print), e(string.format, "%q"), ("%q"):format(nil), ("%q"):format(small), ("%q"):format(0x1p-3), ("%q"):format(0/0), ("%q"):format(-1/0) end)
  check("format %q of bytes before digits", function() return ("%q"):format("\0\0001\r\r1\n\t\127\1279\255") end)
  check("format %p of values without address", function() return ("%p %10p|%-8p|"):format(1, true, nil) end)
  check("format %p of the same", function() local t = {} return ("%p"):format(t) == ("%p"):format(t), ("%p"):format(t):match("^0x%x+$") ~= nil, ("%p"):format("a") == ("%p"):format("a") end)
  check("format with too few and too many", function() return e(string.format, "%d %d", 1), ("%d"):format(1, 2), e(string.format), e(string.format, {}), ("x"):format({}) end)
  check("format of a long string", function() return ("%s|%.3s"):format(("x"):rep(500), ("y"):rep(500)), e(string.format, "%5s", ("a\0b"):rep(200)), ("%s"):format("a\0b"), e(string.format, "%5s", "a\0b") end)
  check("format %d of floats and strings", function() return e(string.format, "%d", 1.5), e(string.format, "%d", "1.5"), ("%d"):format("10"), ("%d"):format(3.0), e(string.format, "%d", "x"), e(string.format, "%d", 2^63), e(string.format, "%x", 1/0) end)

  check("tostring", function() return tostring(nil), tostring(true), tostring(1), tostring(1.0), tostring(-0.0), tostring(1e15), tostring(1e100), tostring(0.1), tostring(2^53), tostring(2^63), tostring(1/0), tostring(-1/0), tostring(big), tostring(small), tostring("x") end)
  check("tostring of floats has 14 digits", function() return tostring(1/3), tostring(3.14159265358979), tostring(123456789012345.0), tostring(1e14), tostring(1e16), tostring(5e-324), tostring(100000000000000.0) end)
  check("tostring and __tostring, __name", function()
    local t = setmetatable({}, {__tostring = function(x, ...) return "<" .. type(x) .. select("#", ...) .. ">" end})
    return tostring(t), e(tostring, setmetatable({}, {__tostring = function() end})), e(tostring, setmetatable({}, {__tostring = function() return 5 end})), tostring(setmetatable({}, {__name = "N"})):match("^N: 0x") , tostring(setmetatable({}, {__name = 5})):match("^table: "), e(tostring)
  end)
  check("tostring of what has an address", function() return tostring({}):match("^table: 0x%x+$") ~= nil, tostring(print):match("^builtin: ") or tostring(print):match("^function: "), tostring(coroutine.create(print)):match("^thread: ") end)
  check("print says nothing back", function() return select("#", print("a", nil, 1)), e(print, setmetatable({}, {__tostring = function() return 1 end})) end)
  check("arithmetic of strings", function() return "10" + 1, "10" * "2", "0x10" + 0, "3.0" + 1, " 5 " - 1, -"2", -"2.0", "10" // 3, "7" % "4", "2" ^ 2, "9007199254740993" + 0, "1e1" + 0, "10" / 2, -"-0" end)
  check("arithmetic of other strings", function() return e(function() return "a" + 1 end), e(function() return 1 + "a" end), e(function() return {} + "1" end), e(function() return -"x" end), e(function() return "1" + nil end), e(function() return "" * 1 end) end)
  for i, f in ipairs {function(a, b) return a | b end, function(a, b) return a & b end, function(a, b) return a << b end, function(a) return ~a end} do
    check("bits of strings " .. i, function() return e(f, "3", 4), e(f, 4, "3"), e(f, "0xFF", "15"), e(f, "3.0", 1), e(f, "1.5", 1), e(f, "a", 1), e(f, 1, {}), e(f, 1.5, 1), e(f, 2^63, 0), e(f, "", "") end)
  end
  check("bits of literal strings", function() return e(function() return "3" | 4 end), e(function() return 4 & "3" end), e(function() return "1" << 4 end), e(function() return ~"0" end) end)
end
