-- pm.lua - manual 6.4.1 and its functions: find, match, gmatch, gsub.
return function(check, e)
  local big, small = math.maxinteger, math.mininteger
  local all = {}
  for i = 0, 255 do all[#all + 1] = string.char(i) end
  local bytes = table.concat(all)

  for _, class in ipairs {"a", "c", "d", "g", "l", "p", "s", "u", "w", "x", "A", "C", "D", "G", "L", "P", "S", "U", "W", "X", ".", "k", "z", "Z", "0"} do
    check("class %" .. class, function() return (bytes:gsub("[^%" .. class .. "]", "")), select(2, bytes:gsub("[%" .. class .. "]", "")), e(string.gsub, bytes, "%" .. class, ""), e(string.find, bytes, "%" .. class) end)
  end
  check("the dot and escaped marks", function() return ("a.b"):find("%."), ("a.b"):find("."), ("^$()%.[]*+-?"):match("^%^%$%(%)%%%.%[%]%*%+%-%?$"), ("\0"):find("."), ("a\0b"):match("%z") end)
  for i, set in ipairs {"[a-c]", "[^a-c]", "[a-]", "[-a]", "[]]", "[^]]", "[]-a]", "[%]]", "[%a-z]", "[a%-z]", "[^%d%s]", "[%w_]", "[\0-\31]", "[\128-\255]", "[c-a]", "[a^]", "[[]", "[.]", "[%.]", "[^^]"} do
    check("set " .. i, function() return (bytes:gsub(set, "")), bytes:match(set .. "+") end)
  end
  for _, p in ipairs {"[a", "[", "[]", "[^]", "[^", "[%", "[a%", "%", "a%", "(", ")", "(()", "())", "(a", "a)", "%1", "(%1)", "(a)%2", "%b", "%bx", "%f", "%fa", "%g(", "[a-", "(.)%0", "()%1"} do
    check("malformed " .. p:gsub("%c", "?"), function() return e(string.find, "a]b", p), e(string.match, "a", p), e(string.gsub, "a", p, "x"), e(function() for _ in ("a"):gmatch(p) do end end) end)
  end
  for _, p in ipairs {"a*", "a+", "a-", "a?", "a-b", "a*b", "a+b", "a?b", "^a*", "a*$", "^a*$", "^", "$", "^$", "a$b", "a^b", "(a*)(b*)", "(a-)(b*)$", "((a)(b))", "()a*()", "(.)(.)", "(a*(.)%w(%s*))", "%a*", "x*", ".-", ".*", "(.-)b",
    "%s*(.-)%s*$", "(a)(b)%2%1", "(a+)%1", "%b()", "%b((", "%baa", "%f[%w]%w+", "%f[%W]", "%f[\0]", "%f[b]", "[ab]+$", "a**", "a++", "-", "*", "+a", "?", "a-?", "a.-b", "()", "(())", "^(a)", "(^a)", "a%$", "[a*]*"} do
    check("match " .. p:gsub("%c", "?"), function()
      local out = {}
      for i, s in ipairs {"", "a", "b", "ab", "aab", "baab", "aabb", "abba", "a b", " ab ", "(a(b)c)", "((a", "aXa", "a$b", "^a", "THE (quick) fox", "a\0b"} do
        out[i] = {pcall(string.match, s, p)}
        out[#out + 1] = {pcall(string.find, s, p)}
        out[#out + 1] = {pcall(string.gsub, s, p, "<%0>")}
      end
      return out
    end)
  end
  check("find from somewhere", function() return ("abcabc"):find("b", 3), ("abcabc"):find("b", -2), ("abcabc"):find("b", -100), ("abcabc"):find("", 7), ("abcabc"):find("", 8), ("abcabc"):find("c", 6), ("abcabc"):find("", big), ("abcabc"):find("a", small) end)
  check("find of nothing", function() return (""):find(""), (""):find("", 1), (""):find("", 2), ("x"):find("", 2), ("x"):find("", 3), (""):find("$"), ("abc"):find("$"), ("abc"):find("^", 3) end)
  check("find of plain text", function() return ("a.b%c"):find(".", 1, true), ("a.b%c"):find("%", 1, true), ("a+b"):find("+", 1, 1), ("a\0b\0c"):find("\0c", 1, true), ("abc"):find("abcd", 1, true), ("abc"):find("", 10, true), ("a.b"):find(".", 1, false), ("aab"):find("ab", 1, true) end)
  check("find with an anchor from somewhere", function() return ("aaa"):find("^a", 2), ("baa"):find("^a", 2), ("baa"):match("^a", 2), ("baa"):find("^a", -1) end)
  check("find gives captures", function() return ("key = value"):find("(%w+)%s*=%s*(%w+)") end)
  check("match gives captures or all", function() return ("key = value"):match("(%w+)%s*=%s*(%w+)"), ("abc"):match("b"), ("abc"):match("()b()"), ("abc"):match("x"), ("2026-01-02"):match("(%d+)-(%d+)-(%d+)") end)
  check("match from somewhere", function() return ("abc"):match(".", 2), ("abc"):match(".", -1), ("abc"):match("", 4), ("abc"):match("", 5), ("abc"):match(".", 10), e(string.match, "a", ".", "x"), e(string.match, "a", ".", 1.5) end)
  check("arguments of find", function() return e(string.find), e(string.find, "a"), e(string.find, {}, "a"), e(string.find, "a", nil), string.find(123, 2), e(string.find, "a", "a", {}), e(function() return ("x"):find() end) end)
  check("32 captures and more", function() return select("#", (("a"):rep(40)):match(("(a)"):rep(32))), e(string.match, ("a"):rep(40), ("(a)"):rep(33)) end)
  check("a pattern too complex", function() return e(string.find, ("a"):rep(300000), (".-"):rep(300000) .. "b"), e(string.match, ("("):rep(300), ("%("):rep(300)) end)
  check("long subjects", function() return (("a"):rep(2000)):match(".-b") == nil, (("a"):rep(50000) .. "b"):find("b", 1, true) end)
  check("long subjects that match", function() return #((("a"):rep(100000) .. "b"):match(".-b")), (("ab"):rep(20000)):gsub("b", "") end)
  check("back references", function() return ([[x = "a'b"]]):match([[(["'])(.-)%1]]), ("abab"):match("(ab)%1"), ("abcabd"):match("(%w+).*%1") end)

  check("gmatch", function()
    local out = {}
    for w in ("one two  three"):gmatch("%a+") do out[#out + 1] = w end
    for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do out[#out + 1] = k .. v end
    for p in ("abc"):gmatch("()") do out[#out + 1] = p end
    for w in ("abc"):gmatch("b*") do out[#out + 1] = "<" .. w .. ">" end
    for w in (""):gmatch(".*") do out[#out + 1] = "[" .. w .. "]" end
    return out
  end)
  check("gmatch from somewhere", function()
    local out = {}
    for _, i in ipairs {1, 3, -2, 0, 5, 6, 7, 100, -100, big, small} do
      local n = {}
      for w in ("abcde"):gmatch(".?", i) do n[#n + 1] = w end
      out[#out + 1] = table.concat(n, ",")
    end
    return out
  end)
  check("an anchor in gmatch", function() local n = 0 for _ in ("aaa"):gmatch("^a") do n = n + 1 end return n end)
  check("gmatch after its end", function() local f = ("a"):gmatch("a") return f(), f(), f(), select("#", f()), e(string.gmatch, "a"), e(string.gmatch) end)
  check("gmatch and empty matches", function() local out = {} for w in ("a,,b"):gmatch("([^,]*)") do out[#out + 1] = w end return #out, table.concat(out, ";") end)

  check("gsub with text", function() return ("hello world"):gsub("o", "0"), ("hello"):gsub("l", "%0%0"), ("hello"):gsub("(h)(e)", "%2%1"), ("abc"):gsub("%w", "%%%0"), ("abc"):gsub("", "-"), (""):gsub("", "-"), ("abc"):gsub("b*", "x") end)
  check("gsub with a limit", function() return ("aaa"):gsub("a", "b", 2), ("aaa"):gsub("a", "b", 0), ("aaa"):gsub("a", "b", -1), ("aaa"):gsub("a", "b", big), ("aaa"):gsub("a", "b", 1.0), e(string.gsub, "a", "a", "b", 1.5), e(string.gsub, "a", "a", "b", "x") end)
  check("gsub with %1 and no capture", function() return ("abc"):gsub("%w", "<%1>"), e(string.gsub, "abc", "%w", "%2"), e(string.gsub, "abc", "(%w)", "%2"), e(string.gsub, "abc", "%w", "%x"), e(string.gsub, "abc", "%w", "%"), ("abc"):gsub("x", "%9") end)
  check("gsub with a table", function()
    return ("$name is $age $x"):gsub("%$(%w+)", {name = "Lua", age = 12, x = false}), ("abc"):gsub("%w", {a = "1", b = true and "2", c = nil}), ("abc"):gsub("()", {[1] = "^", [4] = "$"}),
      e(string.gsub, "abc", "%w", {a = true}), e(string.gsub, "abc", "%w", {a = {}}), ("a"):gsub("a", setmetatable({}, {__index = function(_, k) return k .. k end})), ("ab"):gsub("(a)(b)", {a = "first"})
  end)
  check("gsub with a function", function()
    local seen = {}
    local r, n = ("a1b2"):gsub("(%a)(%d)", function(...) seen[#seen + 1] = select("#", ...) .. table.concat({...}) return select("#", ...) == 2 and ... or nil end)
    return r, n, seen, ("abc"):gsub("%w", function() end), ("abc"):gsub("%w", function() return false end), ("abc"):gsub("%w", function(c) return c:byte() end), ("abc"):gsub("%w", function() return 1.5 end),
      e(string.gsub, "abc", "%w", function() return true end), e(string.gsub, "abc", "%w", function() return {} end), e(string.gsub, "abc", "%w", function() error("mine", 0) end), ("abc"):gsub("()", function(p) return p end)
  end)
  check("gsub with anchors", function() return ("aaa"):gsub("^a", "b"), ("aaa"):gsub("a$", "b"), ("aaa"):gsub("^a*$", "b"), ("hello"):gsub("^", ">"), ("hello"):gsub("$", "<"), ("a^a"):gsub("%^a", "") end)
  check("gsub with %b and %f", function() return ("f(a(b)c)d)"):gsub("%b()", ""), ("THE (quick) fox"):gsub("%f[%a]%a+", string.lower), ("foo.bar"):gsub("%f[%.]", "|"), ("a"):gsub("%f[%z]", "E"), ("[[x]]"):gsub("%b[]", "%0%0") end)
  check("gsub with what can't replace", function() return e(string.gsub, "a", "a"), e(string.gsub, "a", "a", nil), e(string.gsub, "a", "a", true), e(string.gsub), ("a1"):gsub("1", 5), ("a1"):gsub("1", 5.5), e(string.gsub, "a", {}, "") end)
  check("gsub with zero bytes", function() return ("a\0b"):gsub("\0", "0"), ("a\0b"):gsub("[^\0]", ""), ("ab"):gsub("a", "\0"), ("a\0\0b"):gsub("%z+", "%0z") end)
  check("gsub that changes nothing gives the text", function() local s = ("x"):rep(50) return rawequal(s:gsub("y", "z"), s), (s:gsub("x", "x")) == s end)
  check("coroutines and gsub", function() return coroutine.resume(coroutine.create(function() return ("a"):gsub("a", coroutine.yield) end)) end)
end
