/* require.c - compiling files, and require(): the author's own files and the parts of `wharf`,
 * nothing else. */
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/sandbox_inside.h"

/* the metatable of what stands in SLOT_LOADED while a file runs */
static const char LOADING[] = "wharf.loading";

const struct sandbox_file *require_find(const struct sandbox *sb, const char *name)
{
    for (size_t i = 0; i < sb->n_files; i++) {
        if (!strcmp(sb->files[i].name, name))
            return &sb->files[i];
    }
    return NULL;
}

static int keep_code(lua_State *lua, const void *p, size_t n, void *ud)
{
    struct buf *code = ud;

    (void)lua;
    buf_add(code, p, n);
    return code->failed;
}

/* Compiles a text. Errors of the compiler are told as the file's: the text on top stays. */
static bool compile_text(lua_State *lua, const struct sandbox_file *file, const char *chunk)
{
    struct buf code;

    if (file->text.n && file->text.p[0] == LUA_SIGNATURE[0]) {
        lua_pushfstring(lua, "%s:1: this is compiled code, not text", chunk + 1);
        return false;
    }
    if (luaL_loadbufferx(lua, file->text.p, file->text.n, chunk, "t") != LUA_OK)
        return false;
    if (!file->code)
        return true;
    buf_init(&code, 64 << 20);
    if (lua_dump(lua, keep_code, &code, 0) == 0)
        file->code->p = buf_take(&code, &file->code->n);
    buf_done(&code);
    return true;
}

bool require_compile(lua_State *lua, const struct sandbox_file *file)
{
    const char *chunk = lua_pushfstring(lua, "=%s.lua", file->name);
    bool good = file->code && file->code->p
                    ? luaL_loadbufferx(lua, file->code->p, file->code->n, chunk, "b") == LUA_OK
                    : compile_text(lua, file, chunk);

    lua_remove(lua, -2);
    if (!good)
        return false;
    slot_get(lua, SLOT_ENV);
    if (!lua_setupvalue(lua, -2, 1))
        lua_pop(lua, 1);
    return true;
}

static int part_of_wharf(lua_State *lua, const char *name)
{
    slot_get(lua, SLOT_WHARF);
    if (name[5] == '.')
        lua_getfield(lua, -1, name + 6);
    if (lua_isnil(lua, -1))
        sandbox_raise(lua, "there is no module '%s'", name);
    return 1;
}

/* Implements __close(mark): a file that raised is not there, and may be required again. */
static int loading_ends(lua_State *lua)
{
    lua_settop(lua, 1);
    slot_get(lua, SLOT_LOADED);
    lua_getiuservalue(lua, 1, 1);
    lua_pushvalue(lua, 3);
    if (lua_rawget(lua, 2) == LUA_TUSERDATA && lua_rawequal(lua, 4, 1)) {
        lua_pushvalue(lua, 3);
        lua_pushnil(lua);
        lua_rawset(lua, 2);
    }
    return 0;
}

/* Says that the file of this name is being loaded by this thread until the caller returns or
 * raises. One more on the stack. */
static void loading_begins(lua_State *lua, const char *name)
{
    lua_newuserdatauv(lua, 0, 2);
    lua_pushstring(lua, name);
    lua_setiuservalue(lua, -2, 1);
    lua_pushthread(lua);
    lua_setiuservalue(lua, -2, 2);
    if (luaL_newmetatable(lua, LOADING)) {
        lua_pushcfunction(lua, loading_ends);
        lua_setfield(lua, -2, "__close");
    }
    lua_setmetatable(lua, -2);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, 2, name);
    lua_toclose(lua, -1);
}

/* Tells whether what stands at 3 says that it is being loaded. A coroutine that an error ended
 * closes nothing, but loads nothing either. */
static bool is_loading(lua_State *lua)
{
    bool yes;

    if (!luaL_testudata(lua, 3, LOADING))
        return false;
    lua_getiuservalue(lua, 3, 2);
    yes = lua_status(lua_tothread(lua, -1)) == LUA_OK;
    lua_settop(lua, 3);
    if (!yes) {
        lua_pushnil(lua);
        lua_replace(lua, 3);
    }
    return yes;
}

int require_call(lua_State *lua)
{
    const char *name = luaL_checkstring(lua, 1);
    const struct sandbox_file *file;

    if (!strncmp(name, "wharf", 5) && (!name[5] || name[5] == '.'))
        return part_of_wharf(lua, name);
    lua_settop(lua, 1);
    slot_get(lua, SLOT_LOADED);
    lua_getfield(lua, 2, name);
    if (is_loading(lua))
        sandbox_raise(lua, "'%s' is being loaded already: these files require each other", name);
    if (!lua_isnil(lua, 3))
        return 1;
    file = require_find(sandbox_of(lua), name);
    if (!file)
        sandbox_raise(lua,
            "there is no file '%s.lua'; require takes the workflow's own files and wharf.*", name);
    loading_begins(lua, name);
    if (!require_compile(lua, file))
        return lua_error(lua);
    lua_pushvalue(lua, 1);
    lua_call(lua, 1, 1);
    if (lua_isnil(lua, -1)) {
        lua_pop(lua, 1);
        lua_pushboolean(lua, 1);
    }
    lua_pushvalue(lua, -1);
    lua_setfield(lua, 2, name);
    return 1;
}
