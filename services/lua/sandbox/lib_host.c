/* lib_host.c - what the parts in Lua are made of: the call of the host, the ends of a run, and
 * small things that are too slow in Lua. */
#include <string.h>

#include "lua/sandbox/sandbox_inside.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

static wharf_str args_text(lua_State *lua, int at)
{
    static const struct json_style plain = {0};
    wharf_str args = WHARF_S("{}");

    if (!lua_isnoneornil(lua, at)) {
        json_text(lua, at, &plain);
        args.p = lua_tolstring(lua, -1, &args.n);
        if (str_eqz(args, "[]"))
            args = str_z("{}");
    }
    return args;
}

/* Tells whether an op takes U+0000. What can be said of it is said by the API, and lines of the
 * log show that something was there; nothing else takes it, and it is not changed silently. */
static bool takes_nul(const char *op)
{
    return !strncmp(op, "api.", 4) || !strcmp(op, "log") || !strcmp(op, "note");
}

static bool has_nul(wharf_str json)
{
    for (const char *p = json.p, *end = json.p + json.n; p < end; p++) {
        if (*p != '\\')
            continue;
        if (end - p >= 6 && !memcmp(p, "\\u0000", 6))
            return true;
        p++;
    }
    return false;
}

/* Returns a member of the table on top. */
static const char *lib_host_reported(lua_State *lua, const char *name, const char *otherwise)
{
    const char *text;

    lua_getfield(lua, -1, name);
    text = lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1) : otherwise;
    lua_remove(lua, -1);
    return text;
}

/* Implements call(op, args) -> result | nil, err; raises what is the author's mistake. */
static int lib_host_call(lua_State *lua)
{
    struct sandbox *sb = sandbox_of(lua);
    const char *op = luaL_checkstring(lua, 1);
    wharf_str text = {"", 0}, args = args_text(lua, 2);
    enum sandbox_answer answer;

    if (!takes_nul(op) && has_nul(args))
        sandbox_raise(lua, "a text with U+0000 can't be stored or sent (param.invalid)");
    sb->calling = lua;
    answer = sb->host.call(sb->host.arg, op, args, &text);
    budget_spend(lua, 0);
    if (!text.n) {
        lua_pushnil(lua);
        return 1;
    }
    if (answer == SANDBOX_REFUSED)
        lua_pushnil(lua);
    sandbox_push_json(lua, text);
    if (answer == SANDBOX_GIVEN)
        return 1;
    if (answer == SANDBOX_REFUSED)
        return 2;
    if (!lua_istable(lua, -1))
        sandbox_raise(lua, "%s failed", op);
    if (answer == SANDBOX_ENDED)
        budget_end(lua, SANDBOX_OVER, lib_host_reported(lua, "code", ERR_WORKFLOW_FAILED),
            lib_host_reported(lua, "message", ""));
    sandbox_raise(lua, "%s (%s)", lib_host_reported(lua, "message", op),
        lib_host_reported(lua, "code", ERR_WORKFLOW_FAILED));
}

/* Implements raise(message): at the author's line. */
static int raise_here(lua_State *lua)
{
    sandbox_raise(lua, "%s", luaL_checkstring(lua, 1));
}

/* Implements where() -> file, line | nothing. */
static int where(lua_State *lua)
{
    char file[64];
    int line;

    if (!sandbox_where(lua, file, &line))
        return 0;
    lua_pushstring(lua, file);
    lua_pushinteger(lua, line);
    return 2;
}

/* Implements finish(kind, message, code, field, retry, after_ms): the run is over, by its own
 * will. */
static int lib_host_finish(lua_State *lua)
{
    struct sandbox *sb = sandbox_of(lua);
    bool rejected = !strcmp(luaL_checkstring(lua, 1), "reject");
    const char *field = lua_tostring(lua, 4);

    if (!sb->dead) {
        size_t n;
        const char *p = luaL_checklstring(lua, 2, &n);

        sb->over = (struct sandbox_error){.end = rejected ? SANDBOX_REJECTED : SANDBOX_FAILED,
            .retry = lua_isnoneornil(lua, 5) ? -1 : lua_toboolean(lua, 5),
            .after_ms = sandbox_after_ms(luaL_optinteger(lua, 6, -1))};
        errors_text(sb->over.message, sizeof(sb->over.message), p, n);
        p = luaL_optlstring(lua, 3, "", &n);
        errors_text(sb->over.code, sizeof(sb->over.code), p, n);
        errors_text(
            sb->over.field, sizeof(sb->over.field), field ? field : "", field ? strlen(field) : 0);
        errors_frames(lua, &sb->over);
        sb->dead = true;
    }
    budget_raise(lua);
}

/* Implements left() -> instructions, memory; either may be nil: no limit. */
static int left(lua_State *lua)
{
    struct sandbox *sb = sandbox_of(lua);
    uint64_t most = sb->limits.instructions;

    if (most)
        lua_pushinteger(lua, (lua_Integer)(sb->spent < most ? most - sb->spent : 0));
    else
        lua_pushnil(lua);
    if (sb->memory_max)
        lua_pushinteger(lua, (lua_Integer)(sb->memory_max - sb->used));
    else
        lua_pushnil(lua);
    return 2;
}

/* Implements nth() -> a number that is another one in each call of the state. */
static int nth(lua_State *lua)
{
    lua_pushinteger(lua, (lua_Integer)sandbox_of(lua)->nth);
    return 1;
}

/* Implements read_only(table, name) -> the table, for readers. */
static int read_only(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_checkstring(lua, 2);
    lua_settop(lua, 2);
    frozen_named(lua);
    return 1;
}

void lib_host(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"call", lib_host_call}, {"raise", raise_here},
        {"where", where}, {"finish", lib_host_finish}, {"left", left}, {"nth", nth},
        {"read_only", read_only}, {NULL, NULL}};

    luaL_newlib(lua, functions);
    lib_text(lua);
    lua_setfield(lua, -2, "text");
    lib_bytes(lua);
    lua_setfield(lua, -2, "bytes");
}
