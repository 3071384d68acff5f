/* sandbox.c - the life of a sandbox: making it, loading files, calling handlers. Everything that
 * may raise runs below protect(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lua/sandbox/sandbox_inside.h"
#include "lua/sandbox/region.h"
#include "util/memory.h"

const char registry_slot[SLOT_N] = {0};

void slot_get(lua_State *lua, enum registry_slot slot)
{
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &registry_slot[slot]);
}

void slot_set(lua_State *lua, enum registry_slot slot)
{
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &registry_slot[slot]);
}

struct sandbox *sandbox_of(lua_State *lua)
{
    return *(struct sandbox **)lua_getextraspace(lua);
}

void *sandbox_user(lua_State *lua)
{
    return sandbox_of(lua)->user;
}

lua_State *sandbox_calling(const struct sandbox *sb)
{
    return sb->calling;
}

bool sandbox_deterministic(const struct sandbox *sb)
{
    return sb->seeded;
}

/* ---- life ---- */

static int sandbox_open_all(lua_State *lua)
{
    struct sandbox *sb = sandbox_of(lua);

    base_open(lua);
    lua_getglobal(lua, LUA_TABLIBNAME);
    lua_getfield(lua, -1, "sort");
    slot_set(lua, SLOT_SORT);
    lua_newtable(lua);
    slot_set(lua, SLOT_LOADED);
    lua_newtable(lua);
    slot_set(lua, SLOT_ZONES);
    lib_open(lua);
    if (sb->frozen_kind)
        frozen_globals(lua);
    else
        lua_pushglobaltable(lua);
    slot_set(lua, SLOT_ENV);
    return 0;
}

/* Counts what the state has taken since it was told last. What a region gives is the region's. */
static void tell_memory(struct sandbox *sb, size_t has)
{
    if (sb->region)
        return;
    memory_add(MEMORY_LUA, (int64_t)has - (int64_t)sb->told);
    sb->told = has;
}

struct sandbox *sandbox_new(const struct sandbox_config *config)
{
    struct sandbox *sb = calloc(1, sizeof(*sb));

    if (!sb)
        return NULL;
    sb->host = *config->host;
    sb->user = config->user;
    sb->region = config->region;
    sb->seed = config->seed;
    sb->memory_max = config->memory;
    sb->frozen_kind = config->frozen;
    sb->unsafe = config->unsafe;
    sb->role = config->role;
    sb->repeatable = config->repeatable || config->role != SANDBOX_RUN;
    sb->line = config->line;
    sb->line_arg = config->line_arg;
    sb->lua = lua_newstate(sandbox_allocate, sb);
    if (!sb->lua) {
        if (sb->region)
            region_forget(sb->region);
        free(sb);
        return NULL;
    }
    *(struct sandbox **)lua_getextraspace(sb->lua) = sb;
    lua_pushcfunction(sb->lua, sandbox_open_all);
    if (lua_pcall(sb->lua, 0, 0, 0) != LUA_OK) {
        sandbox_free(sb);
        return NULL;
    }
    sandbox_begin(sb, &config->limits);
    return sb;
}

void sandbox_free(struct sandbox *sb)
{
    if (!sb)
        return;
    /* closing the state runs __close of what is still open in the main thread: there is nothing,
     * calls are over; nor is there a __gc */
    lua_sethook(sb->lua, NULL, 0, 0);
    tell_memory(sb, 0);
    if (sb->region)
        region_forget(sb->region);
    else
        lua_close(sb->lua);
    free(sb);
}

void sandbox_files(struct sandbox *sb, const struct sandbox_file *files, size_t n)
{
    sb->files = files;
    sb->n_files = n;
}

void sandbox_begin(struct sandbox *sb, const struct sandbox_limits *limits)
{
    tell_memory(sb, sb->used);
    sb->limits = *limits;
    sb->spent = 0;
    sb->nth++;
    sb->dead = false;
    sb->cpu_us = budget_cpu_us();
    budget_watch(sb->lua);
}

void sandbox_usage(const struct sandbox *sb, struct sandbox_usage *ret_usage)
{
    ret_usage->instructions = sb->spent;
    ret_usage->memory_peak = sb->peak;
}

/* ---- the border ---- */

/* Calls fn(arg) with errors kept; the stack is as before. */
static bool protect(
    struct sandbox *sb, lua_CFunction fn, void *arg, struct sandbox_error *ret_error)
{
    lua_State *lua = sb->lua;
    int status;

    *ret_error = (struct sandbox_error){.retry = -1, .after_ms = -1};
    sb->raised = *ret_error;
    sb->handler = NULL;
    lua_settop(lua, 0);
    lua_pushcfunction(lua, errors_handler);
    lua_pushcfunction(lua, fn);
    lua_pushlightuserdata(lua, arg);
    status = lua_pcall(lua, 1, 0, 1);
    if (status == LUA_ERRMEM && !sb->dead) {
        sb->over = sb->refused;
        budget_memory(&sb->over);
        sb->dead = true;
    }
    if (sb->dead) {
        *ret_error = sb->over;
    } else if (status != LUA_OK) {
        *ret_error = sb->raised;
        if (!ret_error->end)
            ret_error->end = SANDBOX_RAISED;
        errors_value(lua, ret_error);
    }
    lua_settop(lua, 0);
    return ret_error->end == SANDBOX_OK;
}

struct load {
    struct sandbox *sb;
    const char *name;
    bool compiled, run;
};

static int load_file(lua_State *lua)
{
    struct load *l = lua_touserdata(lua, 1);
    const struct sandbox_file *file = require_find(l->sb, l->name);

    if (!file)
        return luaL_error(lua, "there is no file %s.lua", l->name);
    if (!require_compile(lua, file))
        return lua_error(lua);
    l->compiled = true;
    if (!l->run)
        return 0;
    lua_pushstring(lua, l->name);
    lua_call(lua, 1, 1);
    if (!l->sb->frozen_kind && !lua_istable(lua, -1))
        return luaL_error(
            lua, "%s.lua returns no table of handlers; end it with 'return M'", l->name);
    slot_set(lua, SLOT_MODULE);
    return 0;
}

static bool sandbox_load_chunk(
    struct sandbox *sb, const char *name, bool run, struct sandbox_error *ret_error)
{
    struct load l = {.sb = sb, .name = name, .run = run};
    bool good = protect(sb, load_file, &l, ret_error);

    if (!good && !l.compiled && ret_error->end == SANDBOX_RAISED)
        ret_error->end = SANDBOX_COMPILE;
    return good;
}

bool sandbox_load(struct sandbox *sb, const char *name, struct sandbox_error *ret_error)
{
    return sandbox_load_chunk(sb, name, true, ret_error);
}

bool sandbox_compile(struct sandbox *sb, const char *name, struct sandbox_error *ret_error)
{
    return sandbox_load_chunk(sb, name, false, ret_error);
}

static int find_handler(lua_State *lua)
{
    void **found = lua_touserdata(lua, 1);

    slot_get(lua, SLOT_MODULE);
    if (lua_istable(lua, -1) && lua_getfield(lua, -1, found[0]) == LUA_TFUNCTION)
        found[1] = found;
    return 0;
}

bool sandbox_has(struct sandbox *sb, const char *handler)
{
    void *found[2] = {(void *)handler, NULL};
    struct sandbox_error e;

    return protect(sb, find_handler, found, &e) && found[1];
}

/* ---- calls ---- */

struct running {
    const struct sandbox_call *call;
    struct buf *result, *kept;
};

/* Writes the result. A larger one stays as large: the run has failed, and is not one to be tried
 * again as after an error of its code. */
static void sandbox_give(lua_State *lua, struct buf *to)
{
    char message[64];
    size_t n;
    const char *p;

    sandbox_to_json(lua);
    p = lua_tolstring(lua, -1, &n);
    buf_add(to, p, n);
    if (to->failed) {
        snprintf(message, sizeof(message), "the result is larger than %zu bytes", to->max);
        budget_end(lua, SANDBOX_FAILED, "", message);
    }
    lua_pop(lua, 1);
}

static void push_handler(lua_State *lua, const struct sandbox_call *call)
{
    if (!call->handler) {
        lua_rawgeti(lua, LUA_REGISTRYINDEX, call->ref);
        return;
    }
    slot_get(lua, SLOT_MODULE);
    if (!lua_istable(lua, -1) || lua_getfield(lua, -1, call->handler) != LUA_TFUNCTION)
        luaL_error(lua, "there is no function '%s' in the table that the main file returns",
            call->handler);
    lua_remove(lua, -2);
}

static void push_context(lua_State *lua, wharf_str context)
{
    slot_get(lua, SLOT_WHARF);
    luaL_getmetafield(lua, -1, "__context");
    lua_remove(lua, -2);
    sandbox_push_json(lua, context);
    lua_call(lua, 1, 1);
}

static int run_call(lua_State *lua)
{
    struct running *r = lua_touserdata(lua, 1);
    int arg;

    sandbox_push_json(lua, r->call->arg);
    arg = lua_gettop(lua);
    push_handler(lua, r->call);
    lua_pushvalue(lua, arg);
    push_context(lua, r->call->context);
    sandbox_of(lua)->handler = r->call->handler;
    lua_call(lua, 2, 1);
    if (r->result && !lua_isnil(lua, -1))
        sandbox_give(lua, r->result);
    if (r->kept && r->call->keep && lua_istable(lua, arg)) {
        lua_getfield(lua, arg, r->call->keep);
        sandbox_give(lua, r->kept);
    }
    return 0;
}

bool sandbox_call(struct sandbox *sb, const struct sandbox_call *call, struct buf *ret_result,
    struct buf *ret_kept, struct sandbox_error *ret_error)
{
    struct running r = {.call = call, .result = ret_result, .kept = ret_kept};

    return protect(sb, run_call, &r, ret_error);
}

/* ---- functions of the user ---- */

struct definition {
    const char *path;
    lua_CFunction fn;
};

static int define(lua_State *lua)
{
    const struct definition *d = lua_touserdata(lua, 1);
    const char *dot = strchr(d->path, '.');

    slot_get(lua, SLOT_WHARF);
    if (dot) {
        lua_pushlstring(lua, d->path, (size_t)(dot - d->path));
        lua_pushvalue(lua, -1);
        if (lua_rawget(lua, -3) != LUA_TTABLE) {
            lua_pop(lua, 1);
            lua_newtable(lua);
            lua_pushvalue(lua, -2);
            lua_pushvalue(lua, -2);
            lua_rawset(lua, -5);
        }
    }
    lua_pushstring(lua, dot ? dot + 1 : d->path);
    lua_pushcfunction(lua, d->fn);
    lua_rawset(lua, -3);
    return 0;
}

bool sandbox_define(struct sandbox *sb, const char *path, lua_CFunction fn)
{
    struct definition d = {.path = path, .fn = fn};
    struct sandbox_error e;

    return protect(sb, define, &d, &e);
}

/* Freezes the tables that sandbox_define made; the parts of the library are covered when they are
 * loaded. */
static int freeze(lua_State *lua)
{
    slot_get(lua, SLOT_WHARF);
    lua_pushnil(lua);
    while (lua_next(lua, 2)) {
        if (lua_istable(lua, -1) && !frozen_is(lua, -1)) {
            lua_pushvalue(lua, -2);
            lua_insert(lua, -2);
            frozen_table(lua);
            lua_rawset(lua, 2); /* a key that is there */
        } else {
            lua_pop(lua, 1);
        }
    }
    return 0;
}

bool sandbox_freeze(struct sandbox *sb)
{
    struct sandbox_error e;

    sb->frozen = protect(sb, freeze, NULL, &e);
    tell_memory(sb, sb->used);
    return sb->frozen;
}
