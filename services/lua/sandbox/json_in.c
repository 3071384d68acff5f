/* json_in.c - JSON text to Lua values: strict (RFC 8259, no duplicate keys, depth 64), all of it
 * in the state's own memory.
 *
 * null becomes wharf.null, integers keep 64 bits, arrays are marked so that an empty one stays
 * an array. */
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/sandbox_inside.h"
#include "util/str.h"

struct reader {
    lua_State *lua;
    const char *p, *end;
    const char *problem;
};

static bool json_in_wrong(struct reader *r, const char *problem)
{
    if (!r->problem)
        r->problem = problem;
    return false;
}

static void blanks(struct reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
        r->p++;
}

static bool json_in_take(struct reader *r, char c)
{
    blanks(r);
    if (r->p >= r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

static bool json_in_word(struct reader *r, const char *z)
{
    size_t n = strlen(z);

    if ((size_t)(r->end - r->p) < n || memcmp(r->p, z, n) != 0)
        return json_in_wrong(r, "a value was expected");
    r->p += n;
    return true;
}

/* ---- strings ---- */

static bool json_in_hex4(struct reader *r, uint32_t *ret_unit)
{
    uint32_t unit = 0;

    if (r->end - r->p < 4)
        return json_in_wrong(r, "an escape is cut off");
    for (int i = 0; i < 4; i++, r->p++) {
        char c = *r->p;
        int digit = c >= '0' && c <= '9'                 ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                         : -1;

        if (digit < 0)
            return json_in_wrong(r, "an escape has four hexadecimal digits");
        unit = unit << 4 | (uint32_t)digit;
    }
    *ret_unit = unit;
    return true;
}

static bool unicode(struct reader *r, luaL_Buffer *out)
{
    uint32_t unit, low;
    char bytes[4];

    if (!json_in_hex4(r, &unit))
        return false;
    if (unit >= 0xD800 && unit < 0xDC00) {
        if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
            return json_in_wrong(r, "half of a surrogate pair");
        r->p += 2;
        if (!json_in_hex4(r, &low))
            return false;
        if (low < 0xDC00 || low > 0xDFFF)
            return json_in_wrong(r, "half of a surrogate pair");
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    } else if (unit >= 0xDC00 && unit <= 0xDFFF) {
        return json_in_wrong(r, "half of a surrogate pair");
    }
    luaL_addlstring(out, bytes, utf8_put(unit, bytes));
    return true;
}

static bool escape(struct reader *r, luaL_Buffer *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at;

    if (r->p >= r->end)
        return json_in_wrong(r, "a string is not closed");
    if (*r->p == 'u') {
        r->p++;
        return unicode(r, out);
    }
    at = *r->p ? strchr(from, *r->p) : NULL;
    if (!at)
        return json_in_wrong(r, "there is no such escape");
    luaL_addchar(out, to[at - from]);
    r->p++;
    return true;
}

/* Pushes the string after its quote; on failure too (something is pushed). */
static bool string(struct reader *r)
{
    const char *from = r->p;
    luaL_Buffer out;
    bool good = true, closed = false;

    luaL_buffinit(r->lua, &out);
    while (good && r->p < r->end) {
        unsigned char c = (unsigned char)*r->p;

        if (c == '"' || c == '\\') {
            good = utf8_valid(from, (size_t)(r->p - from)) ||
                   json_in_wrong(r, "the text is not UTF-8");
            luaL_addlstring(&out, from, (size_t)(r->p - from));
            r->p++;
            closed = c == '"';
            if (closed)
                break;
            good = good && escape(r, &out);
            from = r->p;
        } else if (c < 0x20) {
            good = json_in_wrong(r, "control characters are escaped");
        } else {
            r->p++;
        }
    }
    luaL_pushresult(&out);
    return good && (closed || json_in_wrong(r, "a string is not closed"));
}

/* ---- numbers ---- */

static bool json_in_digits(struct reader *r)
{
    const char *from = r->p;

    while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
        r->p++;
    return r->p > from || json_in_wrong(r, "a digit was expected");
}

static bool json_in_number(struct reader *r)
{
    const char *from = r->p;
    bool whole = true;
    double d;
    char *end;

    if (*r->p == '-')
        r->p++;
    if (r->p < r->end && *r->p == '0')
        r->p++;
    else if (!json_in_digits(r))
        return false;
    if (r->p < r->end && *r->p == '.') {
        whole = false;
        r->p++;
        if (!json_in_digits(r))
            return false;
    }
    if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
        whole = false;
        r->p++;
        if (r->p < r->end && (*r->p == '+' || *r->p == '-'))
            r->p++;
        if (!json_in_digits(r))
            return false;
    }
    /* a string of Lua ends with NUL; a text of fewer digits than 400 fits here */
    if (r->p - from > 400)
        return json_in_wrong(r, "a number has too many digits");
    lua_pushlstring(r->lua, from, (size_t)(r->p - from));
    if (whole && lua_stringtonumber(r->lua, lua_tostring(r->lua, -1))) {
        /* beyond 64 bits Lua makes a float of it: the text keeps all digits */
        if (lua_isinteger(r->lua, -1))
            lua_remove(r->lua, -2);
        else
            lua_pop(r->lua, 1);
        return true;
    }
    d = strtod(lua_tostring(r->lua, -1), &end);
    lua_pop(r->lua, 1);
    if (d - d != 0)
        return json_in_wrong(r, "a number is too large");
    lua_pushnumber(r->lua, d);
    return true;
}

/* ---- values ---- */

static bool json_in_value(struct reader *r, int depth);

static bool json_in_array(struct reader *r, int depth)
{
    lua_Integer i = 0;

    lua_newtable(r->lua);
    json_array(r->lua);
    if (json_in_take(r, ']'))
        return true;
    do {
        if (!json_in_value(r, depth))
            return false;
        lua_rawseti(r->lua, -2, ++i);
    } while (json_in_take(r, ','));
    return json_in_take(r, ']') || json_in_wrong(r, "an array goes on with ',' or ends with ']'");
}

static bool json_in_object(struct reader *r, int depth)
{
    lua_newtable(r->lua);
    if (json_in_take(r, '}'))
        return true;
    do {
        if (!json_in_take(r, '"'))
            return json_in_wrong(r, "a key in quotes was expected");
        if (!string(r))
            return false;
        lua_pushvalue(r->lua, -1);
        if (lua_rawget(r->lua, -3) != LUA_TNIL)
            return json_in_wrong(r, "a key stands twice");
        lua_pop(r->lua, 1);
        if (!json_in_take(r, ':'))
            return json_in_wrong(r, "':' was expected");
        if (!json_in_value(r, depth))
            return false;
        lua_rawset(r->lua, -3);
    } while (json_in_take(r, ','));
    return json_in_take(r, '}') || json_in_wrong(r, "an object goes on with ',' or ends with '}'");
}

/* Pushes one value; what a failure leaves on the stack is dropped by json_push. */
static bool json_in_value(struct reader *r, int depth)
{
    if (depth >= JSON_DEPTH)
        return json_in_wrong(r, "nested deeper than 64 levels");
    blanks(r);
    if (r->p >= r->end)
        return json_in_wrong(r, "a value was expected");
    switch (*r->p) {
    case '{':
        r->p++;
        return json_in_object(r, depth + 1);
    case '[':
        r->p++;
        return json_in_array(r, depth + 1);
    case '"':
        r->p++;
        return string(r);
    case 't':
        lua_pushboolean(r->lua, 1);
        return json_in_word(r, "true");
    case 'f':
        lua_pushboolean(r->lua, 0);
        return json_in_word(r, "false");
    case 'n':
        lua_pushlightuserdata(r->lua, NULL);
        return json_in_word(r, "null");
    default:
        return json_in_number(r);
    }
}

bool json_push(
    lua_State *lua, const char *p, size_t n, const char **ret_problem, size_t *ret_offset)
{
    struct reader r = {.lua = lua, .p = p, .end = p + n};
    int top = lua_gettop(lua);

    luaL_checkstack(lua, JSON_DEPTH * 4, "JSON");
    if (json_in_value(&r, 0)) {
        blanks(&r);
        if (r.p == r.end)
            return true;
        json_in_wrong(&r, "text follows the value");
    }
    lua_settop(lua, top);
    *ret_problem = r.problem;
    *ret_offset = (size_t)(r.p - p);
    return false;
}

void sandbox_push_json(lua_State *lua, wharf_str json)
{
    const char *problem;
    size_t offset;

    if (!json_push(lua, json.p, json.n, &problem, &offset))
        sandbox_raise(lua, "the text is no JSON: %s at byte %zu", problem, offset);
}
