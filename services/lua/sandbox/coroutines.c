/* coroutines.c - `coroutine` of authors: as Lua's own, with a price, at most 64 alive, and no
 * way to outlive the run's end. */
#include "lua/sandbox/sandbox_inside.h"

enum { PRICE = 1000, PRICE_OF_SEARCH = 10000 };

static lua_State *thread_at(lua_State *lua)
{
    lua_State *co = lua_tothread(lua, 1);

    if (!co)
        luaL_typeerror(lua, 1, "thread");
    return co;
}

static bool alive(lua_State *lua, lua_State *co)
{
    lua_Debug ar;

    if (co == lua || lua_status(co) == LUA_YIELD)
        return true;
    return lua_status(co) == LUA_OK && (lua_getstack(co, 0, &ar) || lua_gettop(co) > 0);
}

/* Puts the thread on top into a free place of the list, which holds it weakly. */
static bool coroutines_enlist(lua_State *lua)
{
    int thread = lua_gettop(lua);

    slot_get(lua, SLOT_THREADS);
    for (int i = 1; i <= COROUTINES_MAX; i++) {
        lua_State *other;

        lua_rawgeti(lua, -1, i);
        other = lua_tothread(lua, -1);
        lua_pop(lua, 1);
        if (other && alive(lua, other))
            continue;
        lua_pushvalue(lua, thread);
        lua_rawseti(lua, -2, i);
        lua_settop(lua, thread);
        return true;
    }
    lua_settop(lua, thread);
    return false;
}

static int coroutines_create(lua_State *lua)
{
    lua_State *co;

    luaL_checktype(lua, 1, LUA_TFUNCTION);
    budget_spend(lua, PRICE);
    co = lua_newthread(lua);
    budget_watch(co);
    lua_pushvalue(lua, 1);
    lua_xmove(lua, co, 1);
    if (coroutines_enlist(lua))
        return 1;
    budget_spend(lua, PRICE_OF_SEARCH);
    lua_gc(lua, LUA_GCCOLLECT);
    if (!coroutines_enlist(lua))
        return luaL_error(lua, "more than %d coroutines are alive", COROUTINES_MAX);
    return 1;
}

/* Resumes a coroutine. Results, or the error value, are on top of lua. Returns -1 when it is an
 * error. */
static int coroutines_go_on(lua_State *lua, lua_State *co, int n_args)
{
    int status, n_results;

    if (!lua_checkstack(co, n_args)) {
        lua_pushliteral(lua, "too many arguments to resume");
        return -1;
    }
    budget_spend(lua, PRICE);
    lua_xmove(lua, co, n_args);
    status = lua_resume(co, lua, n_args, &n_results);
    budget_check(lua, status);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, lua, 1);
        return -1;
    }
    if (!lua_checkstack(lua, n_results + 1)) {
        lua_pop(co, n_results);
        lua_pushliteral(lua, "too many results to resume");
        return -1;
    }
    lua_xmove(co, lua, n_results);
    return n_results;
}

static int coroutines_resume(lua_State *lua)
{
    lua_State *co = thread_at(lua);
    int n = coroutines_go_on(lua, co, lua_gettop(lua) - 1);

    if (n < 0) {
        lua_pushboolean(lua, 0);
        lua_insert(lua, -2);
        return 2;
    }
    lua_pushboolean(lua, 1);
    lua_insert(lua, -(n + 1));
    return n + 1;
}

static int wrapped(lua_State *lua)
{
    lua_State *co = lua_tothread(lua, lua_upvalueindex(1));
    int n = coroutines_go_on(lua, co, lua_gettop(lua)), status;

    if (n >= 0)
        return n;
    status = lua_status(co);
    if (status != LUA_OK && status != LUA_YIELD) { /* an error inside: its variables are closed */
        status = lua_resetthread(co);
        budget_check(lua, status);
        lua_xmove(co, lua, 1);
    }
    if (lua_type(lua, -1) == LUA_TSTRING) {
        luaL_where(lua, 1);
        lua_insert(lua, -2);
        lua_concat(lua, 2);
    }
    return lua_error(lua);
}

static int wrap(lua_State *lua)
{
    coroutines_create(lua);
    lua_pushcclosure(lua, wrapped, 1);
    return 1;
}

static int close_thread(lua_State *lua)
{
    lua_State *co = thread_at(lua);
    lua_Debug ar;
    int status = lua_status(co);

    if (co == lua || (status == LUA_OK && lua_getstack(co, 0, &ar)))
        return luaL_error(lua, "cannot close a %s coroutine", co == lua ? "running" : "normal");
    budget_spend(lua, PRICE);
    status = lua_resetthread(co);
    budget_check(lua, status);
    if (status == LUA_OK) {
        lua_pushboolean(lua, 1);
        return 1;
    }
    lua_pushboolean(lua, 0);
    lua_xmove(co, lua, 1);
    return 2;
}

void coroutines_open(lua_State *lua)
{
    static const luaL_Reg own[] = {{"create", coroutines_create}, {"resume", coroutines_resume},
        {"wrap", wrap}, {"close", close_thread}, {NULL, NULL}};

    luaL_requiref(lua, LUA_COLIBNAME, luaopen_coroutine, 1);
    luaL_setfuncs(lua, own, 0);
    lua_pop(lua, 1);
    lua_createtable(lua, COROUTINES_MAX, 0);
    lua_createtable(lua, 0, 1);
    lua_pushliteral(lua, "v");
    lua_setfield(lua, -2, "__mode");
    lua_setmetatable(lua, -2);
    slot_set(lua, SLOT_THREADS);
}
