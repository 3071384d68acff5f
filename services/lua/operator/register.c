/* register.c - wharf.hook.*: what the files of a folder register while they are loaded, checked.
 * See generation.h. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "lua/named.h"
#include "lua/operator/hook_limits.h"
#include "lua/operator/operator_inside.h"
#include "resource/absent.h"
#include "host/host.h"
#include "plugin/manifest.h"
#include "util/log.h"
#include "util/str.h"
#include "wharf/service/cron.h"

enum {
    PRIORITY_MAX = 1000, /* the highest and lowest priority */
    CONDITIONS_MAX = 10, /* conditions of a filter */
    AT_ONCE_MAX = 50, /* runs of a hook at a time */
    PATTERN_MAX = 500 /* of a type of event and a schedule: a key of a table has them */
};

static struct hook_state *loading(lua_State *lua)
{
    struct hook_state *st = sandbox_user(lua);

    if (st->req || st->n_functions == HOOKS_MAX)
        sandbox_raise(lua, st->req ? "hooks are registered while their file is loaded, not later"
                                   : "a folder may register 1000 hooks");
    return st;
}

static int64_t option_int(
    lua_State *lua, int at, const char *name, int64_t fallback, int64_t least, int64_t most)
{
    int64_t v = fallback;
    int whole = 1;

    if (!lua_istable(lua, at))
        return fallback;
    if (lua_getfield(lua, at, name) != LUA_TNIL)
        v = lua_tointegerx(lua, -1, &whole);
    lua_pop(lua, 1);
    if (!whole || v < least || v > most)
        sandbox_raise(
            lua, "%s is a whole number from %lld to %lld", name, (long long)least, (long long)most);
    return v;
}

static void check_options(lua_State *lua, int at, const char *const *known)
{
    if (lua_isnoneornil(lua, at))
        return;
    if (!lua_istable(lua, at))
        sandbox_raise(lua, "options are a table");
    lua_pushnil(lua);
    while (lua_next(lua, at)) {
        const char *name = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "?";
        size_t i = 0;

        while (known[i] && strcmp(known[i], name) != 0)
            i++;
        if (!known[i])
            sandbox_raise(lua, "there is no option '%s' here", name);
        lua_pop(lua, 1);
    }
}

static bool option_ignore(lua_State *lua, int at)
{
    bool ignore = false;
    const char *v;

    if (!lua_istable(lua, at))
        return false;
    if (lua_getfield(lua, at, "on_error") != LUA_TNIL) {
        v = lua_tostring(lua, -1);
        ignore = v && !strcmp(v, "ignore");
        if (!v || (!ignore && strcmp(v, "reject") != 0))
            sandbox_raise(lua, "on_error is 'reject' or 'ignore'");
    }
    lua_pop(lua, 1);
    return ignore;
}

static const char *action_of(const struct lua_hook *hook)
{
    return hook->op == OP_CREATE   ? " create"
           : hook->op == OP_UPDATE ? " update"
           : hook->op == OP_DELETE ? " delete"
                                   : "";
}

/* Makes the mark: file, phase and what it is for, and which of those that are equal in this; i
 * hooks are before it. */
static wharf_str mark_of(const struct hook_state *st, const struct lua_hook *hook, size_t i)
{
    wharf_str what = arena_printf(st->arena, "%s %s %s%s%s%s%s#", hook->file,
        hook_phase_name(hook->phase), hook->res ? hook->res->def->name : "", action_of(hook),
        hook->pattern.p, hook->zone.n ? " " : "", hook->zone.n ? hook->zone.p : "");
    size_t nth = 1;

    for (size_t k = 0; k < i; k++)
        nth += str_starts(st->gen->hooks[k]->mark, what.p);
    return arena_printf(st->arena, "%s%zu", what.p, nth);
}

/* Notes a hook. Of the first state the hooks are noted; those of the others must be the same. */
static void register_note(
    lua_State *lua, struct hook_state *st, struct lua_hook *hook, int function)
{
    struct lua_generation *g = st->gen;
    size_t nth = 1, i = st->n_functions;

    sandbox_where(lua, hook->file, &hook->line);
    for (size_t k = 0; k < i; k++)
        nth += !strcmp(g->hooks[k]->file, hook->file);
    snprintf(hook->name, sizeof(hook->name), "%s#%zu", hook->file, nth);
    hook->mark = mark_of(st, hook, i < g->n_hooks ? i : g->n_hooks);
    hook->index = i;
    if (i == g->n_hooks && st->first) {
        g->hooks[i] = ARENA_NEW(g->arena, struct lua_hook);
        *g->hooks[i] = *hook;
        g->hooks[i]->pattern = arena_dup_str(g->arena, hook->pattern);
        g->hooks[i]->zone = arena_dup_str(g->arena, hook->zone);
        g->hooks[i]->mark = arena_dup_str(g->arena, hook->mark);
        if (hook->route)
            hook->route->hook = g->hooks[i];
        g->n_hooks++;
    } else if (i >= g->n_hooks || !str_eq(g->hooks[i]->mark, hook->mark) ||
               g->hooks[i]->line != hook->line) {
        sandbox_raise(lua, "a file must register the same hooks each time it is loaded");
    }
    lua_pushvalue(lua, function);
    st->functions[st->n_functions++] = luaL_ref(lua, LUA_REGISTRYINDEX);
}

static void unknown_resource(lua_State *lua, const struct hook_state *st, const char *resource)
{
    const char *near = named_near_resource(st->gen->engine, resource);

    sandbox_raise(lua, "there is no resource '%s' in the modules that are enabled%s%s%s", resource,
        near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Tells that a hook sleeps, as the routes of a module that is left out: the hook is there again
 * when the module is. */
static void tell_sleeping(
    lua_State *lua, enum hook_phase phase, const char *resource, const struct absent *m)
{
    char file[64] = "";
    int line = 0;

    sandbox_where(lua, file, &line);
    log_write(WHARF_LOG_WARN, m->manifest->name, NULL, "lua.hook_sleeps",
        "%s:%d: the %s hook on '%s' sleeps: the module %s is %s", file, line,
        hook_phase_name(phase), resource, m->manifest->name,
        m->quarantined ? "quarantined" : "left out, as it needs one that is quarantined");
}

static int register_write(lua_State *lua, enum hook_phase phase)
{
    static const char *const options[] = {"priority", "timeout_ms", "on_error", NULL};
    struct hook_state *st = loading(lua);
    const char *resource = luaL_checkstring(lua, 1), *action = luaL_checkstring(lua, 2);
    struct lua_hook hook = {
        .phase = phase, .res = engine_resource(st->gen->engine, resource), .pattern = {"", 0}};
    const struct absent *absent = hook.res ? NULL : absent_owner(st->gen->engine, resource);
    int64_t longest = phase == PHASE_BEFORE ? BEFORE_US : LONG_US;

    if (!hook.res && !absent)
        unknown_resource(lua, st, resource);
    hook.op = !strcmp(action, "create")   ? OP_CREATE
              : !strcmp(action, "update") ? OP_UPDATE
              : !strcmp(action, "delete") ? OP_DELETE
                                          : 0;
    if (!hook.op)
        sandbox_raise(lua, "the action is 'create', 'update' or 'delete'");
    if (!lua_isfunction(lua, 3))
        sandbox_raise(lua, "the third argument is the function that is called");
    check_options(lua, 4, options);
    hook.priority = (int)option_int(lua, 4, "priority", 0, -PRIORITY_MAX, PRIORITY_MAX);
    hook.timeout_us = option_int(lua, 4, "timeout_ms", longest / 1000, 1, longest / 1000) * 1000;
    hook.ignore = option_ignore(lua, 4);
    if (hook.res)
        register_note(lua, st, &hook, 3);
    else if (st->first)
        tell_sleeping(lua, phase, resource, absent);
    return 0;
}

static int register_before(lua_State *lua)
{
    return register_write(lua, PHASE_BEFORE);
}

static int register_after(lua_State *lua)
{
    return register_write(lua, PHASE_AFTER);
}

/* Tells what is wrong with the conditions (docs/spec/07-events-and-webhooks.md section 5); NULL:
 * nothing. */
static const char *filter_fault(const struct wharf_json *filter)
{
    static const char *const ops[] = {
        "eq", "!eq", "in", "!in", "gt", "gte", "lt", "lte", "exists", "!exists", "changed"};

    if (!json_is(filter, JSON_ARRAY) || filter->count > CONDITIONS_MAX)
        return "filter is an array of up to 10 conditions: {{path = 'data.status', op = 'eq', "
               "value = 'delivered'}}";
    for (const struct wharf_json *c = filter->child; c; c = c->next) {
        wharf_str op = json_text_or(c, "op", "");
        bool list = str_eqz(op, "in") || str_eqz(op, "!in"),
             bare = str_ends(op, "exists") || str_eqz(op, "changed");
        size_t i = 0;

        while (i < sizeof(ops) / sizeof(ops[0]) && !str_eqz(op, ops[i]))
            i++;
        if (i == sizeof(ops) / sizeof(ops[0]))
            return "op is one of eq, !eq, in, !in, gt, gte, lt, lte, exists, !exists, changed";
        if (!json_text_or(c, "path", "").n)
            return "a condition has a path, such as 'data.status'";
        if (bare ? json_get(c, "value") != NULL
                 : !json_get(c, "value") || list != json_is(json_get(c, "value"), JSON_ARRAY))
            return "in and !in have an array as value, exists, !exists and changed none, the "
                   "others one value";
    }
    return NULL;
}

/* Calls the function of a hook with a filter: upvalues are the function and the conditions. */
static int filtered(lua_State *lua)
{
    lua_settop(lua, 2);
    lua_getglobal(lua, "wharf");
    lua_getfield(lua, -1, "filter");
    lua_getfield(lua, -1, "match");
    lua_pushvalue(lua, lua_upvalueindex(2));
    lua_pushvalue(lua, 1);
    lua_call(lua, 2, 1);
    if (!lua_toboolean(lua, -1))
        return 0;
    lua_settop(lua, 2);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, 2, 0);
    return 0;
}

/* Wraps the function at `function` when the options have a filter: it becomes one that asks it
 * first. */
static void option_filter(lua_State *lua, struct hook_state *st, int at, int function)
{
    struct json_error bad;
    const char *fault, *text;
    size_t n;

    if (!lua_istable(lua, at) || lua_getfield(lua, at, "filter") == LUA_TNIL) {
        lua_settop(lua, at);
        return;
    }
    lua_pushvalue(lua, -1);
    sandbox_to_json(lua);
    text = lua_tolstring(lua, -1, &n);
    fault = filter_fault(json_parse(st->arena, arena_dup(st->arena, text, n), &bad));
    if (fault)
        sandbox_raise(lua, "%s", fault);
    lua_pushvalue(lua, function);
    lua_pushvalue(lua, at + 1);
    lua_pushcclosure(lua, filtered, 2);
    lua_replace(lua, function);
    lua_settop(lua, at);
}

static void option_concurrency(lua_State *lua, int at, struct lua_hook *hook)
{
    static const char *const members[] = {"max", "key", NULL};
    const char *key;

    if (!lua_istable(lua, at) || lua_getfield(lua, at, "concurrency") == LUA_TNIL) {
        lua_settop(lua, at);
        return;
    }
    if (!lua_istable(lua, at + 1))
        sandbox_raise(lua, "concurrency is a table of max and key");
    check_options(lua, at + 1, members);
    if (lua_getfield(lua, at + 1, "max") != LUA_TNIL)
        hook->at_once = (int)option_int(lua, at + 1, "max", 0, 1, AT_ONCE_MAX);
    lua_pop(lua, 1);
    switch (lua_getfield(lua, at + 1, "key")) {
    case LUA_TNIL:
        break;
    case LUA_TLIGHTUSERDATA: /* wharf.null */
        hook->order = ORDER_NONE;
        break;
    default:
        key = lua_tostring(lua, -1);
        if (!key || (strcmp(key, "resource") != 0 && strcmp(key, "hook") != 0))
            sandbox_raise(lua, "the key of concurrency is 'resource', 'hook' or wharf.null");
        hook->order = !strcmp(key, "hook") ? ORDER_HOOK : ORDER_ROW;
    }
    lua_settop(lua, at);
}

static int register_event(lua_State *lua)
{
    static const char *const options[] = {"timeout_ms", "filter", "concurrency", NULL};
    struct hook_state *st = loading(lua);
    const char *pattern = luaL_checkstring(lua, 1);
    struct lua_hook hook = {.phase = PHASE_EVENT, .pattern = arena_dupz(st->arena, pattern)};
    size_t n = strspn(pattern, "abcdefghijklmnopqrstuvwxyz0123456789_.");

    if (!pattern[0] ||
        (pattern[n] && (strcmp(pattern + n, "*") != 0 || (n && pattern[n - 1] != '.'))))
        sandbox_raise(
            lua, "the first argument is the type of an event: 'parcel.created', 'parcel.*' or '*'");
    if (hook.pattern.n > PATTERN_MAX)
        sandbox_raise(lua, "the type of an event has at most %d bytes", PATTERN_MAX);
    if (!lua_isfunction(lua, 2))
        sandbox_raise(lua, "the second argument is the function that is called");
    check_options(lua, 3, options);
    hook.timeout_us = option_int(lua, 3, "timeout_ms", LONG_US / 1000, 1, LONG_US / 1000) * 1000;
    lua_settop(lua, 3);
    option_filter(lua, st, 3, 2);
    option_concurrency(lua, 3, &hook);
    register_note(lua, st, &hook, 2);
    return 0;
}

static int register_schedule(lua_State *lua)
{
    static const char *const options[] = {"timezone", "timeout_ms", NULL};
    struct hook_state *st = loading(lua);
    struct lua_hook hook = {
        .phase = PHASE_SCHEDULE, .pattern = arena_dupz(st->arena, luaL_checkstring(lua, 1))};
    const char *problem;

    if (!lua_isfunction(lua, 2))
        sandbox_raise(lua, "the second argument is the function that is called");
    check_options(lua, 3, options);
    hook.timeout_us = option_int(lua, 3, "timeout_ms", LONG_US / 1000, 1, LONG_US / 1000) * 1000;
    hook.zone = (wharf_str){"", 0};
    if (lua_istable(lua, 3) && lua_getfield(lua, 3, "timezone") != LUA_TNIL)
        hook.zone = arena_dupz(st->arena, luaL_checkstring(lua, -1));
    problem = hook.pattern.n > PATTERN_MAX ? "a schedule has at most 500 bytes"
                                           : host_cron.problem(hook.pattern, hook.zone);
    if (problem)
        sandbox_raise(lua, "%s", problem);
    register_note(lua, st, &hook, 2);
    return 0;
}

/* Implements route(method, path, options, fn). */
static int register_route(lua_State *lua)
{
    struct hook_state *st = loading(lua);
    struct lua_hook hook = {.phase = PHASE_ROUTE};
    struct route_wish wish = {.method = luaL_checkstring(lua, 1), .path = luaL_checkstring(lua, 2)};
    const char *problem;

    if (!lua_istable(lua, 3))
        sandbox_raise(
            lua, "the third argument is a table of options; scope and location are needed");
    if (!lua_isfunction(lua, 4))
        sandbox_raise(lua, "the fourth argument is the function that is called");
    check_options(lua, 3, route_options);
    hook.timeout_us = option_int(lua, 3, "timeout_ms", ROUTE_US / 1000, 1, ROUTE_MAX_US / 1000) *
                      1000;
    lua_pushvalue(lua, 3);
    sandbox_to_json(lua);
    wish.options.p = lua_tolstring(lua, -1, &wish.options.n);
    hook.pattern = arena_printf(st->arena, "%s %s", wish.method, wish.path);
    problem = route_read(st, &wish, &hook.route);
    if (problem)
        sandbox_raise(lua, "%s", problem);
    if (wish.left_out)
        return 0;
    register_note(lua, st, &hook, 4);
    return 0;
}

static int register_around(lua_State *lua, enum hook_phase phase)
{
    static const char *const options[] = {"priority", "timeout_ms", "on_error", NULL};
    struct hook_state *st = loading(lua);
    struct lua_hook hook = {.phase = phase, .pattern = {"", 0}, .timeout_us = BEFORE_US};

    if (!lua_isfunction(lua, 1))
        sandbox_raise(lua, "the first argument is the function that is called");
    check_options(lua, 2, options);
    hook.priority = (int)option_int(lua, 2, "priority", 0, -PRIORITY_MAX, PRIORITY_MAX);
    hook.cpu_us = option_int(lua, 2, "timeout_ms", AROUND_MS, 1, AROUND_MS) * 1000;
    hook.ignore = option_ignore(lua, 2);
    register_note(lua, st, &hook, 1);
    return 0;
}

static int register_request(lua_State *lua)
{
    return register_around(lua, PHASE_REQUEST);
}

static int register_response(lua_State *lua)
{
    return register_around(lua, PHASE_RESPONSE);
}

bool register_define(struct hook_state *st)
{
    static const struct {
        const char *path;
        lua_CFunction fn;
    } functions[] = {{"hook.before", register_before}, {"hook.after", register_after},
        {"hook.on_event", register_event}, {"hook.schedule", register_schedule},
        {"hook.route", register_route}, {"hook.request", register_request},
        {"hook.response", register_response}};

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (!sandbox_define(st->sb, functions[i].path, functions[i].fn))
            return false;
    }
    return true;
}
