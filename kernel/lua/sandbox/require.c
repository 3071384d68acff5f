/* require.c - compiling files, and require(): the author's own files and the parts of `wharf`, nothing else. */
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/inside.h"

static const char loading; /* its address stands in SLOT_LOADED while a file runs */

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

/* Errors of the compiler are told as the file's: the text on top stays. */
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
    bool good = file->code && file->code->p ? luaL_loadbufferx(lua, file->code->p, file->code->n, chunk, "b") == LUA_OK
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

int require_call(lua_State *lua)
{
    const char *name = luaL_checkstring(lua, 1);
    const struct sandbox_file *file;

    if (!strncmp(name, "wharf", 5) && (!name[5] || name[5] == '.'))
        return part_of_wharf(lua, name);
    lua_settop(lua, 1);
    slot_get(lua, SLOT_LOADED);
    if (lua_getfield(lua, 2, name) == LUA_TLIGHTUSERDATA && lua_touserdata(lua, 3) == &loading)
        sandbox_raise(lua, "'%s' is being loaded already: these files require each other", name);
    if (!lua_isnil(lua, 3))
        return 1;
    file = require_find(sandbox_of(lua), name);
    if (!file)
        sandbox_raise(lua, "there is no file '%s.lua'; require takes the workflow's own files and wharf.*", name);
    lua_pushlightuserdata(lua, (void *)&loading);
    lua_setfield(lua, 2, name);
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
