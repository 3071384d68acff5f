/* json_out.c - Lua values to JSON text, and `wharf.json`. The text grows in the state's own
 * memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/sandbox_inside.h"
#include "util/str.h"

/* One step down from the value that is written: a member or an element. Names are on Lua's stack
 * meanwhile. */
struct step {
    const struct step *above;
    const char *name; /* NULL: an element */
    lua_Integer i;
};

struct writer {
    lua_State *lua;
    int slot; /* where the block stands on the stack */
    char *p;
    size_t n, cap;
    const struct json_style *style;
    int depth;
    const struct step *at; /* NULL: at the value itself */
};

enum { PLACE_MAX = 200, NAME_MOST = 60 };

static char *json_out_room(struct writer *w, size_t n)
{
    if (w->cap - w->n < n) {
        size_t cap = w->cap * 2 > w->n + n ? w->cap * 2 : w->n + n;
        char *p = lua_newuserdatauv(w->lua, cap, 0);

        memcpy(p, w->p, w->n);
        lua_replace(w->lua, w->slot);
        w->p = p;
        w->cap = cap;
    }
    return w->p + w->n;
}

static void json_out_add(struct writer *w, const char *p, size_t n)
{
    memcpy(json_out_room(w, n), p, n);
    w->n += n;
}

static void json_out_new_line(struct writer *w)
{
    if (!w->style->pretty)
        return;
    json_out_add(w, "\n", 1);
    for (int i = 0; i < w->depth; i++)
        json_out_add(w, "  ", 2);
}

struct place {
    char text[PLACE_MAX];
    size_t n;
};

/* Adds where the step leads to, as Lua names it (lines[2].total). Names are whole or left out:
 * of a part of one nobody could tell whether a secret begins there. */
static void json_out_add_place(struct place *to, const struct step *s)
{
    char one[NAME_MOST + 8];
    size_t n;

    if (s->above)
        json_out_add_place(to, s->above);
    if (s->name)
        snprintf(one, sizeof(one), "%s%s", to->n ? "." : "",
            strlen(s->name) > NAME_MOST ? "…" : s->name);
    else
        snprintf(one, sizeof(one), "[%lld]", (long long)s->i);
    n = strlen(one);
    if (to->n + n < sizeof(to->text)) {
        memcpy(to->text + to->n, one, n);
        to->n += n;
    }
}

/* Raises what is wrong with the value, and where it stands. */
_Noreturn static void refuse(const struct writer *w, const char *what)
{
    struct place place = {.n = 0};

    if (!w->at)
        sandbox_raise(w->lua, "%s", what);
    json_out_add_place(&place, w->at);
    sandbox_raise(w->lua, "%s (at %.*s)", what, (int)place.n, place.text);
}

static void quote(struct writer *w, const char *p, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    char *to;

    if (!utf8_valid(p, n))
        refuse(w, "a string that is not UTF-8 can't be written as JSON; use wharf.base64.encode");
    to = json_out_room(w, n * 6 + 2);
    *to++ = '"';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        const char *at = c < 0x20 ? strchr("\b\f\n\r\t", c ? c : 1) : NULL;

        if (c == '"' || c == '\\') {
            *to++ = '\\';
            *to++ = (char)c;
        } else if (at) {
            *to++ = '\\';
            *to++ = c == '\b' ? 'b' : c == '\f' ? 'f' : c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
        } else if (c < 0x20) {
            *to++ = '\\';
            *to++ = 'u';
            *to++ = '0';
            *to++ = '0';
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        } else {
            *to++ = (char)c;
        }
    }
    *to++ = '"';
    w->n = (size_t)(to - w->p);
}

static void json_out_number(struct writer *w, int at)
{
    char text[40];
    double d;
    int n;

    if (lua_isinteger(w->lua, at)) {
        n = snprintf(text, sizeof(text), "%lld", (long long)lua_tointeger(w->lua, at));
        json_out_add(w, text, (size_t)n);
        return;
    }
    d = lua_tonumber(w->lua, at);
    if (!isfinite(d))
        refuse(w, "NaN and infinite numbers can't be written as JSON");
    /* "-0" would be read as an integer */
    n = d == 0 && signbit(d) ? snprintf(text, sizeof(text), "-0.0") : 0;
    for (int precision = 15; precision <= 17 && !n; precision++) {
        n = snprintf(text, sizeof(text), "%.*g", precision, d);
        if (precision < 17 && strtod(text, NULL) != d)
            n = 0;
    }
    json_out_add(w, text, (size_t)n);
}

static void json_out_value(struct writer *w, int at);

static void json_out_array(struct writer *w, int at)
{
    lua_Integer n = (lua_Integer)lua_rawlen(w->lua, at);
    struct step step = {.above = w->at};

    json_out_add(w, "[", 1);
    w->depth++;
    w->at = &step;
    for (lua_Integer i = 1; i <= n; i++) {
        if (i > 1)
            json_out_add(w, ",", 1);
        json_out_new_line(w);
        lua_rawgeti(w->lua, at, i);
        step.i = i;
        json_out_value(w, lua_gettop(w->lua));
        lua_pop(w->lua, 1);
    }
    w->at = step.above;
    w->depth--;
    if (n)
        json_out_new_line(w);
    json_out_add(w, "]", 1);
}

static void json_out_member(struct writer *w, int key, int at, bool first)
{
    struct step step = {.above = w->at};
    size_t n;

    if (!first)
        json_out_add(w, ",", 1);
    json_out_new_line(w);
    step.name = lua_tolstring(w->lua, key, &n);
    quote(w, step.name, n);
    json_out_add(w, ": ", w->style->pretty ? 2 : 1);
    w->at = &step;
    json_out_value(w, at);
    w->at = step.above;
}

static void need_text_key(struct writer *w, int at)
{
    char text[120];

    if (lua_type(w->lua, at) == LUA_TSTRING)
        return;
    snprintf(text, sizeof(text),
        "a table with a key of type %s can't be written as JSON; keys are strings, or 1, 2, 3 …",
        luaL_typename(w->lua, at));
    refuse(w, text);
}

/* Pushes the keys of the table, in order, as a table. */
static void sorted_keys(struct writer *w, int at)
{
    lua_Integer n = 0;

    lua_newtable(w->lua);
    lua_pushnil(w->lua);
    while (lua_next(w->lua, at)) {
        lua_pop(w->lua, 1);
        need_text_key(w, -1);
        lua_pushvalue(w->lua, -1);
        lua_rawseti(w->lua, -3, ++n);
    }
    slot_get(w->lua, SLOT_SORT);
    lua_pushvalue(w->lua, -2);
    lua_call(w->lua, 1, 0);
}

static void json_out_object(struct writer *w, int at)
{
    bool first = true;

    json_out_add(w, "{", 1);
    w->depth++;
    if (w->style->sorted) {
        int keys;

        sorted_keys(w, at);
        keys = lua_gettop(w->lua);
        for (lua_Integer i = 1; lua_rawgeti(w->lua, keys, i) != LUA_TNIL; i++, first = false) {
            lua_pushvalue(w->lua, -1);
            lua_rawget(w->lua, at);
            json_out_member(w, keys + 1, keys + 2, first);
            lua_settop(w->lua, keys);
        }
        lua_settop(w->lua, keys - 1);
    } else {
        lua_pushnil(w->lua);
        for (; lua_next(w->lua, at); first = false) {
            int top = lua_gettop(w->lua);

            need_text_key(w, top - 1);
            json_out_member(w, top - 1, top, first);
            lua_pop(w->lua, 1);
        }
    }
    w->depth--;
    if (!first)
        json_out_new_line(w);
    json_out_add(w, "}", 1);
}

bool json_is_array(lua_State *lua, int at)
{
    size_t n = lua_rawlen(lua, at), seen = 0;
    bool marked;

    if (lua_getmetatable(lua, at)) {
        slot_get(lua, SLOT_ARRAY);
        marked = lua_rawequal(lua, -1, -2);
        lua_pop(lua, 2);
        if (marked)
            return true;
    }
    if (!n)
        return false;
    lua_pushnil(lua);
    while (lua_next(lua, at)) {
        lua_pop(lua, 1);
        if (lua_type(lua, -1) != LUA_TNUMBER || ++seen > n) {
            lua_pop(lua, 1);
            return false;
        }
    }
    return seen == n;
}

static void json_out_value(struct writer *w, int at)
{
    char text[60];
    size_t n;
    const char *p;

    if (w->depth > JSON_DEPTH)
        refuse(w, "nested deeper than 64 levels, or in a circle: it can't be written as JSON");
    luaL_checkstack(w->lua, 8, "JSON");
    switch (lua_type(w->lua, at)) {
    case LUA_TNIL:
        json_out_add(w, "null", 4);
        return;
    case LUA_TBOOLEAN:
        json_out_add(
            w, lua_toboolean(w->lua, at) ? "true" : "false", lua_toboolean(w->lua, at) ? 4 : 5);
        return;
    case LUA_TNUMBER:
        json_out_number(w, at);
        return;
    case LUA_TSTRING:
        p = lua_tolstring(w->lua, at, &n);
        quote(w, p, n);
        return;
    case LUA_TTABLE:
        if (frozen_under(w->lua, at)) {
            json_out_value(w, lua_gettop(w->lua));
            lua_pop(w->lua, 1);
        } else if (json_is_array(w->lua, at)) {
            json_out_array(w, at);
        } else {
            json_out_object(w, at);
        }
        return;
    case LUA_TLIGHTUSERDATA:
        if (!lua_touserdata(w->lua, at)) {
            json_out_add(w, "null", 4);
            return;
        }
        break;
    }
    snprintf(text, sizeof(text), "a %s can't be written as JSON", luaL_typename(w->lua, at));
    refuse(w, text);
}

void json_text(lua_State *lua, int at, const struct json_style *style)
{
    struct writer w = {.lua = lua, .cap = 512, .style = style};

    at = lua_absindex(lua, at);
    luaL_checkstack(lua, 8, "JSON");
    w.p = lua_newuserdatauv(lua, w.cap, 0);
    w.slot = lua_gettop(lua);
    json_out_value(&w, at);
    lua_pushlstring(lua, w.p, w.n);
    lua_replace(lua, w.slot);
    lua_settop(lua, w.slot);
}

void sandbox_to_json(lua_State *lua)
{
    static const struct json_style plain = {0};

    json_text(lua, -1, &plain);
    lua_remove(lua, -2);
}

/* ---- wharf.json ---- */

static bool json_out_option(lua_State *lua, int at, const char *name)
{
    bool set = false;

    if (lua_istable(lua, at)) {
        lua_getfield(lua, at, name);
        set = lua_toboolean(lua, -1);
        lua_pop(lua, 1);
    }
    return set;
}

static int json_out_encode(lua_State *lua)
{
    struct json_style style = {.pretty = json_out_option(lua, 2, "pretty"),
        .sorted = json_out_option(lua, 2, "sort_keys")};

    luaL_checkany(lua, 1);
    json_text(lua, 1, &style);
    return 1;
}

static int json_out_decode(lua_State *lua)
{
    size_t n, offset;
    const char *p = luaL_checklstring(lua, 1, &n), *problem;

    if (json_push(lua, p, n, &problem, &offset))
        return 1;
    lua_pushnil(lua);
    lua_createtable(lua, 0, 3);
    lua_pushliteral(lua, "json.syntax");
    lua_setfield(lua, -2, "code");
    lua_pushfstring(lua, "%s at byte %d", problem, (int)offset);
    lua_setfield(lua, -2, "message");
    lua_pushinteger(lua, (lua_Integer)offset);
    lua_setfield(lua, -2, "offset");
    return 2;
}

void json_array(lua_State *lua)
{
    slot_get(lua, SLOT_ARRAY);
    lua_setmetatable(lua, -2);
}

static int make_array(lua_State *lua)
{
    if (lua_isnoneornil(lua, 1)) {
        lua_settop(lua, 0);
        lua_newtable(lua);
    }
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 1);
    if (!json_is_array(lua, 1) && luaL_getmetafield(lua, 1, "__metatable") != LUA_TNIL)
        sandbox_raise(lua, "the metatable of this table is protected");
    lua_settop(lua, 1);
    json_array(lua);
    return 1;
}

static int is_array(lua_State *lua)
{
    lua_settop(lua, 1);
    lua_pushboolean(lua, lua_istable(lua, 1) && json_is_array(lua, frozen_under(lua, 1) ? 2 : 1));
    return 1;
}

void json_open(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"encode", json_out_encode}, {"decode", json_out_decode},
        {"array", make_array}, {"is_array", is_array}, {NULL, NULL}};

    lua_createtable(lua, 0, 1);
    lua_pushliteral(lua, "array");
    lua_setfield(lua, -2, "__metatable");
    slot_set(lua, SLOT_ARRAY);
    luaL_newlib(lua, functions);
}
