-- utf8.lua - manual 6.5, and escapes \u{} of 3.1.
return function(check, e)
  local big, small = math.maxinteger, math.mininteger
  local s = "a\u{E4}\u{20AC}\u{1F600}\0z"
  local wrong = {"\x80", "\xFF", "\xC3", "\xC3(", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFD\xBF\xBF\xBF\xBF\xBF", "\xFE", "a\x80b", "\xE2\x82", "\xF0\x9F\x98", "\xC3\xA4\xA4", "\u{7FFFFFFF}", "\u{D800}", "\u{110000}", "\xBF", "\xC1\xBF", "\xF0\x80\x80\x80"}

  check("char", function() return utf8.char(), utf8.char(65), utf8.char(0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF), utf8.char(0x1FFFFF, 0x200000, 0x3FFFFFF, 0x4000000, 0x7FFFFFFF), utf8.char(0), utf8.char("66", 67.0), utf8.char(0xD800) end)
  check("char out of range", function() return e(utf8.char, -1), e(utf8.char, 0x80000000), e(utf8.char, "x"), e(utf8.char, 65, 1.5), e(utf8.char, nil), e(utf8.char, 1, {}) end)
  check("charpattern", function() return utf8.charpattern, ("a\u{E4}\u{20AC}"):match(utf8.charpattern, 2), select(2, s:gsub(utf8.charpattern, "")) end)
  check("len", function() return utf8.len(""), utf8.len(s), utf8.len(s, 2), utf8.len(s, 4), utf8.len(s, -1), utf8.len(s, 1, 1), utf8.len(s, 1, 2), utf8.len(s, 5, 4), utf8.len("abc", 4), utf8.len("abc", 1, -1), utf8.len("abc", 2, -2), utf8.len("abc", 3, 1) end)
  check("len out of range", function() return e(utf8.len, "abc", 5), e(utf8.len, "abc", 0), e(utf8.len, "abc", 1, 4), e(utf8.len, "abc", -5), e(utf8.len, "", 2), e(utf8.len, "abc", big), e(utf8.len, "abc", 1, big), e(utf8.len, "abc", small), e(utf8.len), e(utf8.len, {}), e(utf8.len, "x", 1.5), e(utf8.len, "", 1, small) end)
  check("len of half a character", function() return utf8.len(s, 3) end)
  for i, w in ipairs(wrong) do
    check("wrong bytes " .. i, function()
      local out = {{utf8.len(w)}, {utf8.len(w, 1, -1, true)}, {pcall(utf8.codepoint, w, 1, -1)}, {pcall(utf8.codepoint, w, 1, -1, true)}, {pcall(utf8.offset, w, 1)}, {pcall(utf8.offset, w, 2)}, {pcall(utf8.offset, w, -1)}, {pcall(utf8.offset, w, 0, #w)}}
      for _, lax in ipairs {false, true} do
        out[#out + 1] = {pcall(function() local t = {} for p, c in utf8.codes(w, lax) do t[#t + 1] = p .. ":" .. c end return table.concat(t, " ") end)}
      end
      return out
    end)
  end
  check("codepoint", function() return utf8.codepoint("a"), {utf8.codepoint(s, 1, -1)}, {utf8.codepoint(s, 2)}, {utf8.codepoint(s, 3 - 1, 4)}, {utf8.codepoint(s, -1)}, select("#", utf8.codepoint(s, 5, 4)), {utf8.codepoint("\u{7FFFFFFF}", 1, 1, true)}, {utf8.codepoint("abc", -2, -1)}, {utf8.codepoint("", 1, 0)} end)
  check("codepoint out of range", function() return e(utf8.codepoint, "abc", 4), e(utf8.codepoint, "abc", 0), e(utf8.codepoint, "abc", 1, 4), e(utf8.codepoint, "abc", small), e(utf8.codepoint, "abc", 1, big), e(utf8.codepoint, ""), e(utf8.codepoint), e(utf8.codepoint, s, 3), e(utf8.codepoint, {}), e(utf8.codepoint, "a", "x"), e(utf8.codepoint, ("a"):rep(2000000), 1, -1) end)
  check("offset", function()
    local out = {}
    for n = -7, 8 do out[#out + 1] = tostring(utf8.offset(s, n)) end
    for i = 1, #s + 1 do out[#out + 1] = tostring(utf8.offset(s, 0, i)) end
    for n = -2, 2 do out[#out + 1] = tostring(utf8.offset("abc", n, 2)) end
    return table.concat(out, " ")
  end)
  check("offset out of range", function() return e(utf8.offset, "abc", 1, 5), e(utf8.offset, "abc", 1, 0), e(utf8.offset, "abc", 1, -4), e(utf8.offset, s, 1, 3), e(utf8.offset, s, -1, 3), e(utf8.offset, "abc"), e(utf8.offset), e(utf8.offset, "abc", "x"), e(utf8.offset, "abc", 1.5), utf8.offset("abc", big), utf8.offset("abc", small), e(utf8.offset, "a", 1, big), utf8.offset("", 0), utf8.offset("", 1), utf8.offset("", -1), utf8.offset("", 2), utf8.offset("abc", 5), utf8.offset("abc", 4) end)
  check("codes", function() local out = {} for p, c in utf8.codes(s) do out[#out + 1] = {p, c} end for p in utf8.codes("") do out[#out + 1] = p end return out end)
  check("codes gives three values", function() local f, t, i = utf8.codes("ab") return type(f), t, i, f(t, i), f(t, 1), f(t, 2), e(utf8.codes), e(utf8.codes, {}), type(utf8.codes(12)), select("#", f("ab", 2)), f("ab", -1), f("ab", 100), e(f), e(f, "ab"), f("ab", big), f("ab", small) end)
  check("what codes tells of wrong text", function() return e(function() for _ in utf8.codes("ab\xFFc") do end end), e(function() for _ in utf8.codes("\u{D800}") do end end), e(function() local n = 0 for _ in utf8.codes("\u{D800}\u{7FFFFFFF}", true) do n = n + 1 end error(n, 0) end) end)
  check("escapes", function() return "\u{0}\u{7f}\u{80}\u{00000041}\u{7FFFFFFF}", #"\u{7FF}\u{800}\u{FFFF}\u{10000}\u{1FFFFF}\u{200000}\u{3FFFFFF}\u{4000000}" end)
end
