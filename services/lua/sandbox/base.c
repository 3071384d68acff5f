/* base.c - the globals of authors: Lua's own without what loads code, reads files or looks
 * inside, and a few that are stricter. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "lua/sandbox/sandbox_inside.h"
#include "util/time.h"

/* ---- calls that must not hide the end of a run ---- */

static int after_pcall(lua_State *lua, int status, lua_KContext skip)
{
    budget_check(lua, status);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_pushboolean(lua, 0);
        lua_pushvalue(lua, -2);
        return 2;
    }
    return lua_gettop(lua) - (int)skip;
}

static int safe_pcall(lua_State *lua)
{
    luaL_checkany(lua, 1);
    lua_pushboolean(lua, 1);
    lua_insert(lua, 1);
    return after_pcall(
        lua, lua_pcallk(lua, lua_gettop(lua) - 2, LUA_MULTRET, 0, 0, after_pcall), 0);
}

/* Calls the author's handler, but not for the end of a run: that is raised in a hook, where no
 * other hook would end the handler. */
static int base_handler_of(lua_State *lua)
{
    if (sandbox_of(lua)->dead)
        return 1;
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, 1);
    return 1;
}

static int safe_xpcall(lua_State *lua)
{
    int n = lua_gettop(lua);

    luaL_checktype(lua, 2, LUA_TFUNCTION);
    lua_pushvalue(lua, 2);
    lua_pushcclosure(lua, base_handler_of, 1);
    lua_replace(lua, 2);
    lua_pushboolean(lua, 1);
    lua_pushvalue(lua, 1);
    lua_rotate(lua, 3, 2);
    return after_pcall(lua, lua_pcallk(lua, n - 2, LUA_MULTRET, 2, 2, after_pcall), 2);
}

/* ---- tables ---- */

static int safe_setmetatable(lua_State *lua)
{
    int t = lua_type(lua, 2);

    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_argexpected(lua, t == LUA_TNIL || t == LUA_TTABLE, 2, "nil or table");
    if (luaL_getmetafield(lua, 1, "__metatable") != LUA_TNIL)
        return luaL_error(lua, "cannot change a protected metatable");
    if (t == LUA_TTABLE) {
        lua_pushliteral(lua, "__gc");
        if (lua_rawget(lua, 2) != LUA_TNIL)
            sandbox_raise(lua, "__gc is not available here; use a variable with <close>");
    }
    lua_settop(lua, 2);
    lua_setmetatable(lua, 1);
    return 1;
}

static int safe_rawset(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_checkany(lua, 2);
    luaL_checkany(lua, 3);
    if (frozen_is(lua, 1))
        sandbox_raise(lua, "this table is frozen");
    lua_settop(lua, 3);
    lua_rawset(lua, 1);
    return 1;
}

/* ---- print ---- */

static int print_line(lua_State *lua)
{
    int n = lua_gettop(lua);
    luaL_Buffer text;

    luaL_buffinit(lua, &text);
    for (int i = 1; i <= n; i++) {
        if (i > 1)
            luaL_addchar(&text, '\t');
        luaL_tolstring(lua, i, NULL);
        luaL_addvalue(&text);
    }
    luaL_pushresult(&text);
    slot_get(lua, SLOT_WHARF);
    lua_getfield(lua, -1, "log");
    lua_getfield(lua, -1, "info");
    lua_pushvalue(lua, -4);
    lua_call(lua, 1, 0);
    return 0;
}

/* ---- os ---- */

static int os_clock(lua_State *lua)
{
    const struct sandbox *sb = sandbox_of(lua);
    if (sb->repeatable) { /* the clock of the processor would never say the same twice */
        lua_pushnumber(lua, (double)sb->spent / 1e8);
        return 1;
    }
    lua_pushnumber(lua, (double)(budget_cpu_us() - sb->cpu_us) / 1e6);
    return 1;
}

static int os_difftime(lua_State *lua)
{
    lua_pushnumber(lua, luaL_checknumber(lua, 1) - luaL_checknumber(lua, 2));
    return 1;
}

static int no_randomseed(lua_State *lua)
{
    sandbox_raise(
        lua, "math.randomseed is not available: each run has its own seed (ctx.run.seed)");
}

/* Opens math: math.random begins where the seed says, and its sequence is Lua's own. */
static void open_math(lua_State *lua)
{
    luaL_requiref(lua, LUA_MATHLIBNAME, luaopen_math, 1);
    lua_getfield(lua, -1, "randomseed");
    lua_pushinteger(lua, (lua_Integer)sandbox_of(lua)->seed);
    lua_call(lua, 1, 0);
    lua_pushcfunction(lua, no_randomseed);
    lua_setfield(lua, -2, "randomseed");
    lua_pop(lua, 1);
}

static void open_string(lua_State *lua)
{
    luaL_requiref(lua, LUA_STRLIBNAME, luaopen_string, 1);
    lua_pushnil(lua);
    lua_setfield(lua, -2, "dump");
    lua_pop(lua, 1);
    lua_pushliteral(lua, "");
    lua_getmetatable(lua, -1);
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_pop(lua, 2);
}

static const luaL_Reg clocks[] = {{"clock", os_clock}, {"difftime", os_difftime}, {NULL, NULL}};

static int open_clocks(lua_State *lua)
{
    luaL_newlib(lua, clocks);
    return 1;
}

void base_open(lua_State *lua)
{
    static const char *const absent[] = {
        "collectgarbage", "dofile", "load", "loadfile", "loadstring", "warn", NULL};
    static const luaL_Reg own[] = {{"pcall", safe_pcall}, {"xpcall", safe_xpcall},
        {"setmetatable", safe_setmetatable}, {"rawset", safe_rawset}, {"print", print_line},
        {"require", require_call}, {NULL, NULL}};

    luaL_requiref(lua, LUA_GNAME, luaopen_base, 1);
    for (size_t i = 0; absent[i]; i++) {
        lua_pushnil(lua);
        lua_setfield(lua, -2, absent[i]);
    }
    luaL_setfuncs(lua, own, 0);
    lua_pop(lua, 1);
    luaL_requiref(lua, LUA_TABLIBNAME, luaopen_table, 1);
    luaL_requiref(lua, LUA_UTF8LIBNAME, luaopen_utf8, 1);
    lua_pop(lua, 2);
    open_string(lua);
    open_math(lua);
    coroutines_open(lua);
    if (sandbox_of(lua)->unsafe) {
        luaL_requiref(lua, LUA_IOLIBNAME, luaopen_io, 1);
        luaL_requiref(lua, LUA_DBLIBNAME, luaopen_debug, 1);
        luaL_requiref(lua, LUA_OSLIBNAME, luaopen_os, 1);
        luaL_setfuncs(lua, clocks, 0);
        lua_pop(lua, 3);
        return;
    }
    /* as a library: errors tell its functions by name */
    luaL_requiref(lua, LUA_OSLIBNAME, open_clocks, 1);
    lua_pop(lua, 1);
}
