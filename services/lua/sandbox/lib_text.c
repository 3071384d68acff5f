/* lib_text.c - the parts of `wharf.text` that need Unicode or speed; the rest is lib/text.lua. */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "lua/sandbox/sandbox_inside.h"
#include "util/str.h"

enum { SIMILAR_MAX = 1000 /* code points */, SLUG_MAX = 1000 };

/* Implements slug(s): lower case, accents dropped, everything else one '-' between words. */
static int lib_text_slug(lua_State *lua)
{
    size_t n, at = 0;
    const char *p = luaL_checklstring(lua, 1, &n);
    luaL_Buffer out;
    bool gap = false, any = false;

    luaL_argcheck(lua, n <= SLUG_MAX && utf8_valid(p, n), 1, "at most 1000 bytes of UTF-8");
    luaL_buffinit(lua, &out);
    while (at < n) {
        utf8proc_int32_t parts[32];
        uint32_t cp;
        int boundary = 0;
        utf8proc_ssize_t k;

        at += utf8_step(p + at, n - at, &cp);
        k = utf8proc_decompose_char((utf8proc_int32_t)cp, parts, 32,
            UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_STRIPMARK,
            &boundary);
        for (utf8proc_ssize_t i = 0; i < k && i < 32; i++) {
            bool good = (parts[i] >= 'a' && parts[i] <= 'z') ||
                        (parts[i] >= '0' && parts[i] <= '9');

            if (good && gap && any)
                luaL_addchar(&out, '-');
            if (good)
                luaL_addchar(&out, (char)parts[i]);
            any = any || good;
            gap = !good;
        }
    }
    luaL_pushresult(&out);
    return 1;
}

static size_t points(lua_State *lua, int at, uint32_t *out)
{
    size_t n, i = 0, k = 0;
    const char *p = luaL_checklstring(lua, at, &n);

    luaL_argcheck(lua, utf8_valid(p, n) && utf8_length(p, n) <= SIMILAR_MAX, at,
        "at most 1000 letters of UTF-8");
    while (i < n)
        i += utf8_step(p + i, n - i, &out[k++]);
    return k;
}

/* Implements similarity(a, b): 1 - Levenshtein distance / length of the longer. */
static int similarity(lua_State *lua)
{
    uint32_t *a = lua_newuserdatauv(lua, SIMILAR_MAX * 3 * sizeof(uint32_t), 0),
             *b = a + SIMILAR_MAX, *row = b + SIMILAR_MAX;
    size_t n = points(lua, 1, a), m = points(lua, 2, b), longer = n > m ? n : m;
    uint32_t last = 0;

    for (size_t j = 0; j < m; j++)
        row[j] = (uint32_t)j + 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t corner = (uint32_t)i, left = (uint32_t)i + 1;

        for (size_t j = 0; j < m; j++) {
            uint32_t up = row[j], best = corner + (a[i] != b[j]);

            if (up + 1 < best)
                best = up + 1;
            if (left + 1 < best)
                best = left + 1;
            corner = up;
            row[j] = left = best;
        }
    }
    last = m ? row[m - 1] : (uint32_t)n;
    if (m && !n)
        last = (uint32_t)m;
    budget_spend(lua, n * m / 4);
    lua_pushnumber(lua, longer ? 1.0 - (double)last / (double)longer : 1.0);
    return 1;
}

/* Implements trim(s): without outer white space, Unicode's too. */
static int trim(lua_State *lua)
{
    wharf_str s;

    s.p = luaL_checklstring(lua, 1, &s.n);
    if (utf8_valid(s.p, s.n))
        s = utf8_trim(s);
    lua_pushlstring(lua, s.p, s.n);
    return 1;
}

void lib_text(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        {"slug", lib_text_slug}, {"similarity", similarity}, {"trim", trim}, {NULL, NULL}};

    luaL_newlib(lua, functions);
}
