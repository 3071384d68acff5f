-- random.lua - calls of the library's functions with random arguments. The numbers come from a generator of this file, so both sides make the same calls; a
-- check is a call and is named by its number and its function. Counts that would only burn time or memory (rep, huge ranges of tables) are kept small.
local state

local function below(n) -- 0 .. n - 1, xorshift64*
  state = state ~ (state >> 12)
  state = state ~ (state << 25)
  state = state ~ (state >> 27)
  return ((state * 0x2545F4914F6CDD1D) >> 33) % n
end
local function any(list) return list[below(#list) + 1] end

local integers = {0, 1, -1, 2, 3, 4, 5, 7, 8, 10, 16, 36, 37, 63, 64, 65, 100, 127, 128, 255, 256, 0xD800, 0xDFFF, 0x10FFFF, 0x110000, 0x7FFFFFFF, 0x80000000, -2, -3, -7, -64, -128, -2147483648, 1 << 53, (1 << 53) + 1, math.maxinteger, math.mininteger, math.maxinteger - 1, math.mininteger + 1}
local floats = {0.0, -0.0, 0.5, -0.5, 1.0, 1.5, 2.0, 3.0, -3.0, 3.7, 10.0, 1e15, 1e16, 2^53, 2^63, -2^63, 1e100, 5e-324, 1.7976931348623157e308, 1/0, -1/0, 0/0, 0.1, 1/3, 255.5}
local texts = {"", "a", "abc", "hello world", "10", "-7", "0x10", " 12 ", "1e3", "0.5", "9223372036854775808", "nan", "a\0b", "\0", "\xFF\xFE", "\u{E4}\u{20AC}\u{1F600}", "\u{D800}", "\xC3", "key = value, k2=v2", "(a(b)c)", "%d", "THE (quick) fox", ("ab"):rep(60), "\n\t x \r", "aaa", "z"}
local pieces = {"a", "b", ".", "%a", "%d", "%s", "%w", "[a-c]", "[^%s]", "[%a_]", "%%", "%.", "()", "(.)", "(%w+)", "%1", "%b()", "%f[%w]", "*", "+", "-", "?", "^", "$", "x", " ", "=", "(", ")", "[", "]", "%", "\0", "\xE4"}
local formats = {"%d", "%5d", "%-5d", "%05.2f", "%s", "%10s", "%-10s", "%.3s", "%q", "%x", "%X", "%#x", "%o", "%c", "%e", "%.3e", "%g", "%G", "%.14g", "%.17g", "%a", "%i", "%u", "%%", "%+d", "% d", "%", "%y", "%.20f", "%99.3f", "text ", "%.f", "%5.1s", "\0"}
local packs = {"b", "B", "h", "H", "i", "I", "l", "L", "j", "J", "T", "f", "d", "n", "i3", "I5", "i7", "i16", "I9", "s", "s1", "s2", "z", "c3", "c0", "x", "X", "Xi4", "Xd", "<", ">", "=", "!", "!2", "!4", "!8", " ", "i17", "c", "q", "!3"}

local value
local function built(list, most) local out = {} for i = 1, below(most) + 1 do out[i] = any(list) end return table.concat(out) end
local function list(most)
  local t = {}
  for i = 1, below(most + 1) do t[i] = any({function() return below(20) - 5 end, function() return any(texts) end, function() return below(100) / 4 end})() end
  return t
end
local kinds = {
  any = function() return value() end,
  int = function() return below(3) == 0 and any(integers) or below(24) - 8 end,
  num = function() return below(2) == 0 and any(floats) or any(integers) end,
  small = function() return below(30) - 4 end,
  level = function() return below(5) end, -- above are the frames of who runs this
  text = function() return any(texts) end,
  numeral = function() return below(3) == 0 and any(texts) or built({"0", "1", "9", "x", "0x", "a", "F", "e", ".", "-", "+", "p", " ", "z"}, 6) end,
  pattern = function() return built(pieces, 5) end,
  format = function() return built(formats, 3) end,
  pack = function() return built(packs, 4) end,
  list = function() return list(8) end,
  numbers = function() local t = {} for i = 1, below(40) do t[i] = below(50) end return t end,
  bool = function() return below(2) == 0 end,
  base = function() return below(10) == 0 and below(60) or below(35) + 2 end,
  code = function() return below(4) == 0 and any(integers) or below(0x3000) end,
  repl = function()
    return any({function() return built({"%0", "%1", "%2", "x", "%%", "", "<", ">", "%"}, 3) end, function() return {a = "A", b = 1, ["10"] = false, [1] = "one"} end, function() return function(...) return select("#", ...) > 1 and ... or nil end end,
      function() return string.upper end, function() return function(s) return type(s) == "string" and s .. s end end})()
  end,
  order = function() return any({function() return nil end, function() return function(a, b) return a < b end end, function() return function(a, b) return a > b end end})() end,
}
function value()
  return any({function() return nil end, function() return below(2) == 0 end, kinds.int, kinds.num, kinds.text, kinds.numeral, kinds.list, function() return print end, function() return setmetatable({}, {__tostring = function() return "mine" end, __len = function() return 3 end, __index = function(_, k) return k end}) end})()
end

-- Functions and the kinds of their arguments; behind "?" they may be missing.
local calls = {}
local function know(name, f, args)
  local c = {name = name, f = f, least = 0}
  for kind in args:gmatch("[%a?]+") do if kind == "?" then c.least = #c else c[#c + 1] = kind end end
  if not args:find("?", 1, true) then c.least = #c end
  calls[#calls + 1] = c
end
for name, args in pairs {len = "text", sub = "text int ? int", upper = "text", lower = "text", reverse = "text", byte = "text ? int int", char = "? code code code", find = "text pattern ? int bool", match = "text pattern ? int", gsub = "text pattern repl ? int", format = "format ? any num any", pack = "pack ? num num text", packsize = "pack", unpack = "pack text ? int"} do
  know("string." .. name, string[name], args)
end
for name, args in pairs {abs = "num", ceil = "num", floor = "num", fmod = "num num", max = "num ? num num", min = "num ? num num", modf = "num", sqrt = "num", tointeger = "any", type = "any", ult = "int int", log = "num ? num", exp = "num", sin = "num", cos = "num", atan = "num ? num", random = "? int int"} do
  know("math." .. name, name == "atan" and function(...) return math.atan(...) end or math[name], args) -- it has a second name
end
for name, args in pairs {len = "text ? int int bool", codepoint = "text ? int int bool", offset = "text int ? int", char = "? code code code"} do know("utf8." .. name, utf8[name], args) end
for name, args in pairs {concat = "list ? text small small", insert = "list small any", remove = "list ? int", unpack = "list ? small small", pack = "? any any any", move = "list small small small ? list", sort = "numbers order"} do
  know("table." .. name, table[name], args)
end
for name, args in pairs {tonumber = "numeral ? base", tostring = "num", select = "int ? any any any", rawequal = "any any", rawlen = "any", rawget = "list any", rawset = "list any any", next = "list ? int", type = "any", ipairs = "any", setmetatable = "list list", assert = "any ? any", error = "any ? level", pcall = "any ? any any"} do
  know(name, _G[name], args)
end
know("getmetatable", function(v) return type(v) ~= "string" and getmetatable(v) end, "list")
know("rep", function(s, n, sep) local k = tonumber(n) if k and k > 100 then n = 100 end return string.rep(s, n, sep) end, "text int ? text")
know("gmatch", function(s, p, i) local out = {} for a, b in string.gmatch(s, p, i) do out[#out + 1] = {a, b} if #out > 200 then break end end return out end, "text pattern ? int")
know("utf8.codes", function(s, lax) local out = {} for p, c in utf8.codes(s, lax) do out[#out + 1] = p .. ":" .. c end return table.concat(out, " ") end, "text ? bool")
know("os.date", function(f, t) return os.date("!" .. f, type(t) == "number" and t > -2^35 and t < 2^37 and t // 1 | 0 or "x") end, "text small")
know("for", function(a, b, c) local out = {} for i = a, b, c or 1 do out[#out + 1] = i if #out > 20 then break end end return out end, "num num ? num")
for op, f in pairs {["+"] = function(a, b) return a + b end, ["-"] = function(a, b) return a - b end, ["*"] = function(a, b) return a * b end, ["/"] = function(a, b) return a / b end, ["//"] = function(a, b) return a // b end, ["%"] = function(a, b) return a % b end, ["^"] = function(a, b) return a ^ b end, ["&"] = function(a, b) return a & b end,
  ["|"] = function(a, b) return a | b end, ["~"] = function(a, b) return a ~ b end, ["<<"] = function(a, b) return a << b end, [">>"] = function(a, b) return a >> b end, [".."] = function(a, b) return a .. b end, ["<"] = function(a, b) return a < b end, ["<="] = function(a, b) return a <= b end, ["=="] = function(a, b) return a == b end} do
  know(op, f, "num num") know(op .. " of any", f, "any any")
end
table.sort(calls, function(a, b) return a.name < b.name end)

-- Mostly of the kind, now and then anything; but no other number where numbers are counts or levels.
local function argument(kind)
  if below(12) > 0 then return kinds[kind]() end
  local v = value()
  if (kind == "small" or kind == "level") and tonumber(v) then return "x" end
  return v
end

-- An address is no result.
local function plain(v) return type(v) == "string" and (v:gsub("0x%x%x%x%x%x%x%x%x+", "ADDRESS")) or v end
local function told(good, ...)
  local out = table.pack(good, ...)
  for i = 1, out.n do out[i] = plain(out[i]) end
  return out
end

return function(check, e, each, arg)
  state = (arg.seed + 1) * 0x9E3779B97F4A7C15
  for i = 1, arg.calls do
    local c, args = any(calls), {n = 0}
    local n = c.least + below(#c - c.least + 1)
    if below(40) == 0 then n = below(#c + 1) end
    for k = 1, n do args[k], args.n = argument(c[k]), k end
    check(i .. " " .. c.name, function() return told(pcall(c.f, table.unpack(args, 1, args.n))), args end)
  end
end
