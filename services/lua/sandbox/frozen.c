/* frozen.c - tables that can be read and not be written: the library and the globals of a
 * sandbox that serves many calls. */
#include "lua/sandbox/sandbox_inside.h"

static int frozen_refuse(lua_State *lua)
{
    sandbox_raise(lua, "this table is frozen; '%s' can't be set", luaL_tolstring(lua, 2, NULL));
}

static int next_pair(lua_State *lua)
{
    lua_settop(lua, 2);
    if (lua_next(lua, 1))
        return 2;
    lua_pushnil(lua);
    return 1;
}

static int frozen_pairs_of(lua_State *lua)
{
    lua_pushcfunction(lua, next_pair);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_pushnil(lua);
    return 3;
}

static int set_global(lua_State *lua)
{
    if (sandbox_of(lua)->frozen)
        sandbox_raise(
            lua, "globals are frozen after loading; make '%s' local", luaL_tolstring(lua, 2, NULL));
    lua_settop(lua, 3);
    lua_rawset(lua, lua_upvalueindex(1));
    return 0;
}

/* Replaces the table on top by an empty one with a metatable around it. */
static void cover(lua_State *lua, lua_CFunction write)
{
    lua_newtable(lua);
    lua_createtable(lua, 0, 4);
    lua_pushvalue(lua, -3);
    lua_setfield(lua, -2, "__index");
    lua_pushvalue(lua, -3);
    lua_pushcclosure(lua, write, 1);
    lua_setfield(lua, -2, "__newindex");
    lua_pushvalue(lua, -3);
    lua_pushcclosure(lua, frozen_pairs_of, 1);
    lua_setfield(lua, -2, "__pairs");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_setmetatable(lua, -2);
    lua_remove(lua, -2);
}

void frozen_table(lua_State *lua)
{
    cover(lua, frozen_refuse);
}

/* ---- ctx: nothing in it can be written, however deep ---- */

static int refuse_by_name(lua_State *lua)
{
    const char *name = lua_tostring(lua, lua_upvalueindex(2));

    sandbox_raise(lua, "%s is read-only; '%s' can't be set", name, luaL_tolstring(lua, 2, NULL));
}

/* Covers a member of what is covered, which is on top with its key at the index: a table becomes
 * read-only when it is first looked at. */
static void cover_member(lua_State *lua, int key)
{
    if (!lua_istable(lua, -1) || frozen_is(lua, -1))
        return;
    luaL_tolstring(lua, key, NULL);
    lua_pushfstring(lua, "%s.%s", lua_tostring(lua, lua_upvalueindex(2)), lua_tostring(lua, -1));
    lua_replace(lua, -2);
    frozen_named(lua);
    lua_pushvalue(lua, key);
    lua_pushvalue(lua, -2);
    lua_rawset(lua, lua_upvalueindex(1));
}

static int frozen_member(lua_State *lua)
{
    lua_settop(lua, 2);
    lua_pushvalue(lua, 2);
    lua_rawget(lua, lua_upvalueindex(1));
    cover_member(lua, 2);
    return 1;
}

static int frozen_next_member(lua_State *lua)
{
    lua_settop(lua, 2);
    if (!lua_next(lua, lua_upvalueindex(1)))
        return 0;
    cover_member(lua, 2);
    return 2;
}

static int pairs_of_named(lua_State *lua)
{
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_pushvalue(lua, lua_upvalueindex(2));
    lua_pushcclosure(lua, frozen_next_member, 2);
    lua_pushnil(lua);
    lua_pushnil(lua);
    return 3;
}

static int frozen_length(lua_State *lua)
{
    lua_pushinteger(lua, (lua_Integer)lua_rawlen(lua, lua_upvalueindex(1)));
    return 1;
}

void frozen_named(lua_State *lua)
{
    static const luaL_Reg methods[] = {{"__index", frozen_member}, {"__newindex", refuse_by_name},
        {"__pairs", pairs_of_named}, {"__len", frozen_length}, {NULL, NULL}};
    int table = lua_gettop(lua) - 1;

    lua_newtable(lua);
    lua_createtable(lua, 0, 5);
    lua_pushvalue(lua, table);
    lua_pushvalue(lua, table + 1);
    luaL_setfuncs(lua, methods, 2);
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_setmetatable(lua, -2);
    lua_replace(lua, table);
    lua_settop(lua, table);
}

bool frozen_under(lua_State *lua, int at)
{
    bool is;

    if (!lua_getmetatable(lua, at))
        return false;
    lua_pushliteral(lua, "__newindex");
    lua_rawget(lua, -2);
    is = lua_tocfunction(lua, -1) == refuse_by_name;
    if (is) {
        lua_getupvalue(lua, -1, 1);
        lua_replace(lua, -3);
        lua_pop(lua, 1);
    } else {
        lua_pop(lua, 2);
    }
    return is;
}

bool frozen_is(lua_State *lua, int at)
{
    lua_CFunction write = NULL;

    if (lua_getmetatable(lua, at)) {
        lua_pushliteral(lua, "__newindex");
        lua_rawget(lua, -2);
        write = lua_tocfunction(lua, -1);
        lua_pop(lua, 2);
    }
    return write == frozen_refuse || write == set_global || write == refuse_by_name;
}

void frozen_globals(lua_State *lua)
{
    static const char *const libraries[] = {LUA_STRLIBNAME, LUA_TABLIBNAME, LUA_MATHLIBNAME,
        LUA_UTF8LIBNAME, LUA_COLIBNAME, LUA_OSLIBNAME, NULL};

    lua_pushglobaltable(lua);
    for (size_t i = 0; libraries[i]; i++) {
        lua_getfield(lua, -1, libraries[i]);
        frozen_table(lua);
        lua_setfield(lua, -2, libraries[i]);
    }
    lua_pushvalue(lua, -1);
    cover(lua, set_global);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, -3, LUA_GNAME);
    lua_remove(lua, -2);
}
