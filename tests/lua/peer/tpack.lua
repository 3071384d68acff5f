-- tpack.lua - manual 6.4.2: string.pack, packsize, unpack.
return function(check, e)
  local big, small = math.maxinteger, math.mininteger
  local ints = {0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, 65535, 65536, 2147483647, 2147483648, -2147483648, 4294967295, 4294967296, big, small}
  local function there(f, ...) local p = string.pack(f, ...) return p, string.unpack(f, p) end

  for _, f in ipairs {"b", "B", "h", "H", "i", "I", "l", "L", "j", "J", "T", "i1", "i2", "i3", "i4", "i5", "i6", "i7", "i8", "i9", "i12", "i16", "I1", "I2", "I3", "I4", "I7", "I8", "I9", "I16"} do
    check("integers as " .. f, function()
      local out = {string.packsize(f)}
      for _, order in ipairs {"<", ">", "="} do for _, v in ipairs(ints) do out[#out + 1] = {pcall(there, order .. f, v)} end end
      return out
    end)
  end
  for _, f in ipairs {"f", "d", "n"} do
    check("floats as " .. f, function()
      local out = {string.packsize(f)}
      for _, order in ipairs {"<", ">"} do for _, v in ipairs {0.0, -0.0, 1, 1.5, -2.25, 0.1, 1e38, 1e39, 5e-324, 1/0, -1/0, 0/0, 16777217, 2^53} do out[#out + 1] = select(2, string.unpack(order .. f, string.pack(order .. f, v))) == nil or {there(order .. f, v == v and v or 1)} end end
      return out, e(string.pack, f, "x"), e(string.pack, f, {}), string.pack(f, "1.5")
    end)
  end
  for _, f in ipairs {"", " ", "b b", "!", "!1", "!2", "!4", "!8", "!16", "<", ">", "=", "x", "xx", "X", "Xi4", "Xb", "!4 b Xi4", "!bXd", "!4 i8 b", "!8 b i8", "!2 b i8", "b!4i4", "!4bi3i4", "bXXi4", "s", "s1", "s2", "s17", "z", "c", "c0", "c5", "c-1", "i0", "i17", "i99999999999", "!0",
    "!3", "!17", "!7i7", "q", "X!", "Xz", "Xc1", "Xs", "X ", "!3i4", "!i3", "b\0", "c2147483647", "c99999999999999999999", "c2147483647c2147483647", "i1i2i4i8fdn", "!i1i2i4i8fdn", ">!4 b h i l j", "Xi3", "!4Xi16", "j X"} do
    check("packsize " .. f:gsub("%c", "?"), function() return string.packsize(f) end)
    check("pack " .. f:gsub("%c", "?"), function() return e(string.pack, f), f:find("%d%d%d") and 0 or e(string.pack, f, 1, 2, 3, 4, 5, 6, 7), f:find("%d%d%d") and 0 or e(string.pack, f, "a", "b", "c") end)
    check("unpack " .. f:gsub("%c", "?"), function() local t = {pcall(string.unpack, f, ("\1\0\2\0"):rep(20))} return t, e(string.unpack, f, ""), e(string.unpack, f, "\xFF") end)
  end
  check("alignment", function() return string.pack("!4 b i4", 1, 2), string.pack("!8 b Xd d", 1, 2), string.pack("<!4 i1 !2 i4 i8", 1, 2, 3), string.pack("!4 b Xi4", 1), string.unpack("!4 b i4", string.pack("!4 b i4", 1, 2)) end)
  check("alignment of what is no power of two", function() return e(string.pack, "!4 i3", 1), e(string.pack, "!i3", 1), e(string.pack, "!16 i12", 1), string.pack("i3", 1), e(string.pack, "!4Xi3"), e(string.pack, "!2i3", 1) end)
  check("endianness changes on the way", function() return string.pack("<i2 >i2 =i2", 1, 1, 1), string.unpack("<i2 >i2", "\1\0\0\1") end)
  check("texts", function() return there("z", "hello"), there("s1", "hello"), there("s2", ""), there(">s4", "x"), there("c5", "abc"), there("c3", "abc"), e(string.pack, "c2", "abc"), e(string.pack, "z", "a\0b"), e(string.pack, "s1", ("x"):rep(256)), there("s1", ("x"):rep(255)), there("s", "a\0b") end)
  check("texts that are cut", function() return e(string.unpack, "z", "abc"), e(string.unpack, "s1", "\5abc"), e(string.unpack, "c4", "abc"), e(string.unpack, "s", "abc"), e(string.unpack, "s8", ("\xFF"):rep(8)), string.unpack("z", "\0"), e(string.unpack, "z", "") end)
  check("overflow", function() return e(string.pack, "b", 128), e(string.pack, "B", -1), e(string.pack, "B", 256), e(string.pack, "i2", 32768), e(string.pack, "I2", 65536), e(string.pack, "I2", -1), string.pack("I8", -1), string.pack("J", small), e(string.pack, "i1", 1.5), e(string.pack, "b", "x"), string.pack("b", "12"), string.pack("b", 3.0), e(string.pack, "b") end)
  check("numbers that don't fit when read", function() return e(string.unpack, "<i9", ("\0"):rep(8) .. "\1"), string.unpack("<i9", ("\xFF"):rep(9)), string.unpack("<I9", ("\xFF"):rep(8) .. "\0"), e(string.unpack, "<I9", ("\xFF"):rep(9)), e(string.unpack, ">i16", "\1" .. ("\0"):rep(15)), string.unpack(">i16", ("\xFF"):rep(16)) end)
  check("from a position", function() return string.unpack("b", "abc", 2), string.unpack("b", "abc", -1), e(string.unpack, "b", "abc", 4), string.unpack("", "abc", 4), e(string.unpack, "", "abc", 5), e(string.unpack, "b", "abc", 100), string.unpack("b", "abc", -100), string.unpack("b", "abc", 0), e(string.unpack, "b", "abc", big), string.unpack("b", "abc", small), e(string.unpack, "b", "abc", "x") end)
  check("the position of what was not read", function() return select(-1, string.unpack("bb", "abc")), select(-1, string.unpack("", "abc")), select(-1, string.unpack("!4 b i4", ("a"):rep(20), 2)), {string.unpack("z z", "ab\0cd\0x")} end)
  check("wrong arguments", function() return e(string.pack), e(string.unpack), e(string.unpack, "b"), e(string.packsize), e(string.pack, {}), e(string.packsize, "s"), e(string.packsize, "z"), e(string.pack, "d"), e(string.pack, "z", {}), e(string.pack, "c1"), string.pack("c2", 12), string.pack("z", 1.5) end)
  check("too many results and sizes", function() return e(string.packsize, ("c2147483647"):rep(3)), e(string.packsize, ("i8"):rep(3) .. "c2147483647"), select("#", string.unpack(("b"):rep(200), ("x"):rep(200))) end)
end
