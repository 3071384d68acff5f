/* lua_hostile.h - scripts that mean harm, as bodies of functions: for the test of their ends
 * (lua_cell.c) and the figures of these (tests/bench/lua_cell.c). */
#ifndef WHARF_TESTS_LUA_HOSTILE_H
#define WHARF_TESTS_LUA_HOSTILE_H

/* Programs that no hook of the engine can end: one instruction that takes for ever, or nearly
 * so. */
static const char *const endless[] = {
    "return ('a'):rep(40000):find(('.-'):rep(8) .. 'b')",
    "return ('a'):rep(30):find(('a?'):rep(31) .. ('.-'):rep(20) .. 'b')",
    "return string.rep('', 1 << 62)",
    "return #table.concat(setmetatable({}, {__len = function() return 1 << 40 end, __index = "
    "function() return '' "
    "end}), '', 1, 1 << 40)",
    "table.move(setmetatable({}, {__index = function() return 1 end}), 1, 1 << 60, 1, "
    "setmetatable({}, {__newindex = "
    "rawequal}))",
    "local t = setmetatable({}, {__index = function(_, i) return i end, __newindex = rawequal, "
    "__len = function() "
    "return 1 << 60 end}) "
    "table.insert(t, 1, 1)",
    "table.sort(setmetatable({}, {__len = function() return 1 << 30 end, __index = rawlen, "
    "__newindex = rawequal}))",
    "return utf8.len(('x'):rep(1 << 24)), ('x'):rep(1 << 22):gsub('.*x.*x.*x.*y', '')",
};
/* Programs that the engine ends by itself. */
static const char *const bounded[] = {
    "while true do pcall(function() while true do end end) end",
    "xpcall(function() error() end, function() while true do end end)",
    "local t = {} for i = 1, 1e6 do t[i] = i end table.sort(t, function(a, b) return true end) "
    "while true do end",
    "local t = setmetatable({}, {__len = function() return 1 << 20 end, __index = function(_, i) "
    "return i end, "
    "__newindex = rawequal}) "
    "table.sort(t, function(a, b) while true do end end)",
    "for i = 1, 1e9 do coroutine.wrap(function() coroutine.yield() end)() end",
    "local function f() local c <close> = setmetatable({}, {__close = function() while true do end "
    "end}) f() end "
    "pcall(f) while true do end",
    "local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end",
    "local s = 'x' while true do s = s .. s end",
    "local function f() return f() + 1 end while true do pcall(f) end",
    "error(setmetatable({}, {__tostring = function() while true do end end}))",
    "setmetatable({}, {__gc = function() while true do end end})",
    "string.find = nil ('x'):find('x')",
    "return string.rep('x', 1 << 40)",
    "getmetatable('').__index = function() while true do end end return ('x').y",
    "getmetatable('').__index.rep = nil",
    "setmetatable('', {})",
    "local function f() return coroutine.wrap(f)() end f()",
    "local c = coroutine.create(function() local x <close> = setmetatable({}, {__close = "
    "function() while true do end "
    "end}) coroutine.yield() end) coroutine.resume(c) coroutine.close(c)",
    "for k in pairs(setmetatable({}, {__pairs = function() return function() return 1 end end})) "
    "do end",
    "return tostring(setmetatable({}, {__tostring = function() return {} end}))",
    "local t = {} setmetatable(t, {__index = function(t, k) return t[k + 1] end}) return t[1]",
    "return ('x'):rep(1e5):gsub('x', function() while true do end end)",
    "return string.format(('%99d'):rep(1e5), 1)",
    "return string.pack(('i16'):rep(1e6), 1)",
    "return load('while true do end')()",
    "return select(-1, table.unpack({}, 1, 1e8))",
    "error(setmetatable({}, {__name = ('x'):rep(1 << 20), __eq = error, __len = error, __concat = "
    "error}))",
    "local t = {} t.t = t return wharf.json.encode(t)",
    "print(('x'):rep(1 << 25)) while true do print(('x'):rep(4000)) end",
};

#endif
