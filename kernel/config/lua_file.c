/* lua_file.c - runs the configuration file in an empty Lua and turns Lua values into JSON.
 *
 * No library is opened and the file's environment is an empty table, so nothing but literals,
 * operators and tables works. Memory and instructions are capped; only source text is accepted.
 * Leaves to others: what the keys mean. */
#include "config/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <lauxlib.h>

#include "util/json.h"
#include "util/str.h"

enum {
    FILE_MAX = 1024 * 1024, /* bytes of the file */
    MEMORY_MAX = 16 * 1024 * 1024, /* bytes that the file may use */
    MEMORY_AFTER = 4 * 1024 * 1024,
    INSTRUCTIONS_MAX = 1000000, /* Lua instructions of the file */
    DEPTH_MAX = 32
};

/* Lives as long as the state, in the configuration's arena. */
struct memory {
    size_t used, limit;
};

static void *capped_alloc(void *ud, void *p, size_t old, size_t size)
{
    struct memory *m = ud;
    void *grown;

    if (!p)
        old = 0;
    if (size == 0) {
        m->used -= old;
        free(p);
        return NULL;
    }
    if (size > old && m->used + (size - old) > m->limit)
        return NULL;
    grown = realloc(p, size);
    if (grown)
        m->used += size - old;
    return grown;
}

static void stop_endless(lua_State *lua, lua_Debug *ar)
{
    luaL_error(lua, "the configuration runs too long; write plain assignments");
}

/* Reads the whole file, or what was kept of it: that is one description of several processes,
 * whose place in it nobody may move. */
static bool lua_file_read_whole(
    int kept_fd, const char *file, struct arena *a, wharf_str *ret_text, struct problems *errs)
{
    int fd = kept_fd >= 0 ? kept_fd : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char *text;
    size_t n = 0;
    ssize_t got = 1;

    if (fd < 0) {
        problem(errs, file, "can't be opened: %s", strerror(errno));
        return false;
    }
    text = arena_alloc(a, FILE_MAX + 2);
    while (got > 0 && n <= FILE_MAX) {
        got = kept_fd >= 0 ? pread(fd, text + n, FILE_MAX + 1 - n, (off_t)n)
                           : read(fd, text + n, FILE_MAX + 1 - n);
        if (got > 0)
            n += (size_t)got;
        else if (got < 0 && errno == EINTR)
            got = 1;
    }
    if (got < 0)
        problem(errs, file, "can't be read: %s", strerror(errno));
    else if (n > FILE_MAX)
        problem(errs, file, "is larger than 1 MiB; is it the right file?");
    if (kept_fd < 0)
        close(fd);
    if (got < 0 || n > FILE_MAX)
        return false;
    text[n] = 0;
    *ret_text = (wharf_str){text, n};
    return true;
}

/* Runs everything that may raise a Lua error. */
static int protected_run(lua_State *lua)
{
    const wharf_str *text = lua_touserdata(lua, 1);
    const char *name = lua_touserdata(lua, 2);

    lua_newtable(lua);
    if (text->n) {
        if (luaL_loadbufferx(lua, text->p, text->n, name, "t") != LUA_OK)
            return lua_error(lua);
        lua_pushvalue(lua, -2);
        if (!lua_setupvalue(lua, -2, 1))
            lua_pop(lua, 1);
        lua_sethook(lua, stop_endless, LUA_MASKCOUNT, INSTRUCTIONS_MAX);
        lua_call(lua, 0, 0);
    }
    return 1;
}

lua_State *settings_file_run(
    struct config *c, const char *file, wharf_str *ret_text, struct problems *errs)
{
    struct memory *memory = ARENA_NEW(c->arena, struct memory);
    wharf_str text = {"", 0}, name = arena_printf(c->arena, "@%s", file ? file : "");
    lua_State *lua;

    if (file && !lua_file_read_whole(c->kept_fd, file, c->arena, &text, errs))
        return NULL;
    memory->limit = MEMORY_MAX;
    lua = lua_newstate(capped_alloc, memory);
    if (!lua) {
        problem(errs, file ? file : "configuration", "not enough memory to read it");
        return NULL;
    }
    lua_pushcfunction(lua, protected_run);
    lua_pushlightuserdata(lua, &text);
    lua_pushlightuserdata(lua, (void *)name.p);
    if (lua_pcall(lua, 2, 1, 0) != LUA_OK) {
        /* Lua's own message begins with file:line: already */
        if (errs->count++)
            buf_addc(&errs->text, '\n');
        buf_addz(&errs->text,
            lua_tostring(lua, -1) ? lua_tostring(lua, -1) : "the configuration could not be run");
        lua_close(lua);
        return NULL;
    }
    lua_sethook(lua, NULL, 0, 0);
    /* what is done with the values must not fail because the file was greedy */
    memory->limit += MEMORY_AFTER;
    *ret_text = text;
    return lua;
}

static bool lua_file_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Tells whether the line assigns the name: name =, name.x =, ["name"] =, x.name = */
static bool line_assigns(const char *line, size_t n, const char *name, size_t name_n)
{
    size_t indent = strspn(line, " \t");

    if (n >= indent + 2 && memcmp(line + indent, "--", 2) == 0)
        return false;
    for (size_t i = 0; i + name_n <= n; i++) {
        size_t after = i + name_n;

        if (memcmp(line + i, name, name_n) != 0 || (i && lua_file_is_word(line[i - 1])) ||
            (after < n && lua_file_is_word(line[after])))
            continue;
        while (after < n && strchr(" \t\"'].", line[after]))
            after++;
        if (after < n && (line[after] == '=' || lua_file_is_word(line[after])))
            return true;
    }
    return false;
}

unsigned settings_file_line(wharf_str text, const char *key)
{
    const char *p = text.p, *end = text.p + text.n, *part = key;
    unsigned line = 1, found = 0;

    /* one part of the dotted key after the other, each at or below the line of the one before */
    while (*part && p < end) {
        size_t part_n = strcspn(part, "."), n = strcspn(p, "\n");

        if (line_assigns(p, n, part, part_n)) {
            found = line;
            part += part_n + (part[part_n] == '.');
            continue;
        }
        p += n + (p + n < end);
        line++;
    }
    return found;
}

static bool value_to_json(lua_State *lua, struct jw *w, const char *key, int depth);

/* Tells whether the table has keys 1..n and nothing else. */
static bool is_sequence(lua_State *lua)
{
    lua_Unsigned n = lua_rawlen(lua, -1), keys = 0;

    lua_pushnil(lua);
    while (lua_next(lua, -2)) {
        lua_pop(lua, 1);
        keys++;
    }
    return n > 0 && keys == n;
}

static bool table_to_json(lua_State *lua, struct jw *w, const char *key, int depth)
{
    bool good = true;

    if (depth > DEPTH_MAX || !lua_checkstack(lua, 8))
        return false;
    if (is_sequence(lua)) {
        lua_Integer n = (lua_Integer)lua_rawlen(lua, -1);

        jw_open(w, key, '[');
        for (lua_Integer i = 1; good && i <= n; i++) {
            lua_rawgeti(lua, -1, i);
            good = value_to_json(lua, w, NULL, depth + 1);
            lua_pop(lua, 1);
        }
        jw_close(w, ']');
        return good;
    }
    jw_open(w, key, '{');
    lua_pushnil(lua);
    while (good && lua_next(lua, -2)) {
        good = lua_type(lua, -2) == LUA_TSTRING &&
               value_to_json(lua, w, lua_tostring(lua, -2), depth + 1);
        lua_pop(lua, 1);
    }
    if (!good)
        lua_pop(lua, 1); /* the key of the value that failed */
    jw_close(w, '}');
    return good;
}

static bool number_to_json(lua_State *lua, struct jw *w, const char *key)
{
    char text[40];
    double d;

    if (lua_isinteger(lua, -1)) {
        jw_int(w, key, lua_tointeger(lua, -1));
        return true;
    }
    d = lua_tonumber(lua, -1);
    if (!isfinite(d))
        return false;
    snprintf(text, sizeof(text), "%.17g", d);
    jw_raw(w, key, str_z(text));
    return true;
}

/* Writes the value on top of the stack as JSON. It calls itself for tables, which hold tables. */
static bool value_to_json(lua_State *lua, struct jw *w, const char *key, int depth)
{
    const char *text;
    size_t n;

    switch (lua_type(lua, -1)) {
    case LUA_TTABLE:
        return table_to_json(lua, w, key, depth);
    case LUA_TNUMBER:
        return number_to_json(lua, w, key);
    case LUA_TBOOLEAN:
        jw_bool(w, key, lua_toboolean(lua, -1));
        return true;
    case LUA_TSTRING:
        text = lua_tolstring(lua, -1, &n);
        if (memchr(text, 0, n) || !utf8_valid(text, n))
            return false;
        jw_str(w, key, (wharf_str){text, n});
        return true;
    default:
        return false;
    }
}

bool settings_lua_to_json(lua_State *lua, struct buf *out)
{
    int top = lua_gettop(lua);
    struct jw w;
    bool good;

    jw_init(&w, out);
    good = value_to_json(lua, &w, NULL, 0);
    lua_settop(lua, top);
    return good && !out->failed;
}
