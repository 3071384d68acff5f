/* lib.c - the table `wharf`: its parts are loaded when they are asked for the first time. Parts
 * in Lua (lib/NAME.lua) are compiled once per process and kept as code, so that a fresh state
 * costs little. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/sandbox_inside.h"
#include "sandbox_lib.h" /* generated: lib_files */

static const struct {
    const char *name, *part;
    bool whole; /* the part is the value; else a member of it */
    enum sandbox_role role; /* not 0: only in sandboxes of this role */
} names[] = {{"api", "api", true}, {"http", "http", true}, {"kv", "kv", true}, {"log", "log", true},
    {"mail", "mail", true}, {"csv", "csv", true}, {"text", "text", true}, {"url", "url", true},
    {"crypto", "crypto", true}, {"table", "table", true}, {"filter", "filter", true},
    {"secret", "run", false}, {"lock", "run", false}, {"emit", "run", false},
    {"reject", "run", false}, {"fail", "run", false}, {"sleep", "run", false},
    {"config", "run", false}, {"metrics", "metrics", true}, {"test", "test", true, SANDBOX_TESTS},
    {"test_values", "test_values", true, SANDBOX_TESTS},
    {"hook", "test_hooks", true, SANDBOX_HOOK_TESTS}, {"db", "test_db", true, SANDBOX_HOOK_TESTS}};

static struct buf compiled[lib_files_count]; /* written once, by sandbox_prepare */
static bool prepared;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int lib_keep(lua_State *lua, const void *p, size_t n, void *ud)
{
    (void)lua;
    buf_add(ud, p, n);
    return ((struct buf *)ud)->failed;
}

static void lib_prepare(void)
{
    lua_State *lua = luaL_newstate();

    prepared = lua != NULL;
    for (size_t i = 0; i < lib_files_count && prepared; i++) {
        buf_init(&compiled[i], 1 << 20);
        prepared = luaL_loadbufferx(lua, lib_files[i].text, lib_files[i].size, "=[wharf]", "t") ==
                       LUA_OK &&
                   lua_dump(lua, lib_keep, &compiled[i], 0) == 0;
        lua_settop(lua, 0);
    }
    if (lua)
        lua_close(lua);
}

bool sandbox_prepare(void)
{
    pthread_once(&once, lib_prepare);
    return prepared;
}

/* Pushes what the file of this part returns. */
static void run_part(lua_State *lua, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i < lib_files_count; i++) {
        if (strncmp(lib_files[i].name, part, n) != 0 || strcmp(lib_files[i].name + n, ".lua") != 0)
            continue;
        if (luaL_loadbufferx(lua, compiled[i].p, compiled[i].n, "=[wharf]", "b") != LUA_OK)
            lua_error(lua);
        slot_get(lua, SLOT_LIBRARY);
        lua_setupvalue(lua, -2, 1); /* its _ENV */
        lib_host(lua);
        slot_get(lua, SLOT_WHARF);
        lua_call(lua, 2, 1);
        return;
    }
    lua_pushnil(lua);
}

static bool part_in_c(lua_State *lua, const char *name)
{
    if (!strcmp(name, "json"))
        json_open(lua);
    else if (!strcmp(name, "time"))
        lib_time(lua);
    else if (!strcmp(name, "hex") || !strcmp(name, "base64")) {
        lib_bytes(lua);
        lua_getfield(lua, -1, name);
        lua_remove(lua, -2);
    } else
        return false;
    return true;
}

/* Pushes the value of this name; nil: there is none. */
static void load_name(lua_State *lua, const char *name)
{
    if (part_in_c(lua, name))
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i].name, name) != 0 ||
            (names[i].role && names[i].role != sandbox_of(lua)->role))
            continue;
        run_part(lua, names[i].part);
        if (names[i].whole)
            return;
        lua_getfield(lua, -1, name);
        lua_remove(lua, -2);
        return;
    }
    lua_pushnil(lua);
}

const char *sandbox_name(size_t i)
{
    static const char *const in_c[] = {"null", "json", "time", "hex", "base64"};
    size_t n = sizeof(in_c) / sizeof(in_c[0]);

    if (i < n)
        return in_c[i];
    return i - n < sizeof(names) / sizeof(names[0]) && !names[i - n].role ? names[i - n].name
                                                                          : NULL;
}

static int lib_missing(lua_State *lua)
{
    const char *name = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : NULL;

    if (!name)
        return 0;
    load_name(lua, name);
    if (lua_isnil(lua, -1))
        return 1;
    if (sandbox_of(lua)->frozen_kind && lua_istable(lua, -1))
        frozen_table(lua);
    slot_get(lua, SLOT_WHARF);
    lua_pushvalue(lua, 2);
    lua_pushvalue(lua, -3);
    lua_rawset(lua, -3);
    lua_pop(lua, 1);
    return 1;
}

/* Implements function(json table of the context) -> ctx; only the engine calls it. */
static int lib_context(lua_State *lua)
{
    run_part(lua, "context");
    lua_pushvalue(lua, 1);
    lua_call(lua, 1, 1);
    return 1;
}

static int null_text(lua_State *lua)
{
    lua_pushstring(lua, lua_touserdata(lua, 1) ? "userdata" : "null");
    return 1;
}

/* Opens wharf.null, a light userdata: all of them share this metatable. */
static void open_null(lua_State *lua)
{
    lua_pushlightuserdata(lua, NULL);
    lua_createtable(lua, 0, 2);
    lua_pushcfunction(lua, null_text);
    lua_setfield(lua, -2, "__tostring");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_setmetatable(lua, -2);
}

/* Keeps the globals of the library's own code as they are before an author's runs, who may call a
 * global of his `type` or `string`. */
static void open_globals(lua_State *lua)
{
    lua_createtable(lua, 0, 32);
    lua_pushglobaltable(lua);
    lua_pushnil(lua);
    while (lua_next(lua, -2)) {
        lua_pushvalue(lua, -2);
        lua_insert(lua, -2);
        lua_rawset(lua, -5);
    }
    lua_pop(lua, 1);
    slot_set(lua, SLOT_LIBRARY);
}

void lib_open(lua_State *lua)
{
    open_globals(lua);
    lua_newtable(lua);
    open_null(lua);
    lua_setfield(lua, -2, "null");
    lua_createtable(lua, 0, 3);
    lua_pushcfunction(lua, lib_missing);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, lib_context);
    lua_setfield(lua, -2, "__context");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_setmetatable(lua, -2);
    lua_pushvalue(lua, -1);
    slot_set(lua, SLOT_WHARF);
    /* the marks of arrays, and os.time: needed before anybody asks for their parts */
    lua_getfield(lua, -1, "json");
    lua_getfield(lua, -2, "time");
    lua_pop(lua, 2);
    if (sandbox_of(lua)->frozen_kind)
        frozen_table(lua);
    lua_setglobal(lua, "wharf");
}
