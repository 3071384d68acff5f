/* generation.c - see generation.h. */
#include "lua/operator/generation.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/host.h"
#include "supervisor/board.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/service/cron.h"

enum {
    STATE_MEMORY = 256 << 20,
    LOAD_INSTRUCTIONS = 20000000,
    LOAD_US = 10000000,
    CALL_INSTRUCTIONS = 200000000,
    BEFORE_US = 250000,
    LONG_US = 60000000,
    PRIORITY_MAX = 1000,
};

/* ---- registering ---- */

static struct hook_state *loading(lua_State *lua)
{
    struct hook_state *st = sandbox_user(lua);

    if (st->req || st->n_functions == HOOKS_MAX)
        sandbox_raise(lua, st->req ? "hooks are registered while their file is loaded, not later"
                                   : "a folder may register 1000 hooks");
    return st;
}

static int64_t option_int(lua_State *lua, int at, const char *name, int64_t fallback, int64_t least, int64_t most)
{
    int64_t v = fallback;
    int whole = 1;

    if (!lua_istable(lua, at))
        return fallback;
    if (lua_getfield(lua, at, name) != LUA_TNIL)
        v = lua_tointegerx(lua, -1, &whole);
    lua_pop(lua, 1);
    if (!whole || v < least || v > most)
        sandbox_raise(lua, "%s is a whole number from %lld to %lld", name, (long long)least, (long long)most);
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

/* Of the first state the hooks are noted; those of the others must be the same. */
static void note(lua_State *lua, struct hook_state *st, struct lua_hook *hook, int function)
{
    struct lua_generation *g = st->gen;
    size_t nth = 1, i = st->n_functions;

    sandbox_where(lua, hook->file, &hook->line);
    for (size_t k = 0; k < i; k++)
        nth += !strcmp(g->hooks[k]->file, hook->file);
    snprintf(hook->name, sizeof(hook->name), "%s#%zu", hook->file, nth);
    hook->index = i;
    if (i == g->n_hooks && st->first) {
        g->hooks[i] = ARENA_NEW(g->arena, struct lua_hook);
        *g->hooks[i] = *hook;
        g->hooks[i]->pattern = arena_dup_str(g->arena, hook->pattern);
        g->hooks[i]->zone = arena_dup_str(g->arena, hook->zone);
        g->n_hooks++;
    } else if (i >= g->n_hooks || g->hooks[i]->phase != hook->phase || g->hooks[i]->res != hook->res ||
               g->hooks[i]->op != hook->op || g->hooks[i]->line != hook->line) {
        sandbox_raise(lua, "a file must register the same hooks each time it is loaded");
    }
    lua_pushvalue(lua, function);
    st->functions[st->n_functions++] = luaL_ref(lua, LUA_REGISTRYINDEX);
}

static int register_write(lua_State *lua, enum hook_phase phase)
{
    static const char *const options[] = {"priority", "timeout_ms", "on_error", NULL};
    struct hook_state *st = loading(lua);
    const char *resource = luaL_checkstring(lua, 1), *action = luaL_checkstring(lua, 2);
    struct lua_hook hook = {.phase = phase, .res = engine_resource(st->gen->engine, resource), .pattern = {"", 0}};
    int64_t longest = phase == PHASE_BEFORE ? BEFORE_US : LONG_US;

    if (!hook.res)
        sandbox_raise(lua, "there is no resource '%s' in the modules that are enabled", resource);
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
    note(lua, st, &hook, 3);
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

static int register_event(lua_State *lua)
{
    static const char *const options[] = {"timeout_ms", NULL};
    struct hook_state *st = loading(lua);
    const char *pattern = luaL_checkstring(lua, 1);
    struct lua_hook hook = {.phase = PHASE_EVENT, .pattern = arena_dupz(st->arena, pattern)};
    size_t n = strspn(pattern, "abcdefghijklmnopqrstuvwxyz0123456789_.");

    if (!pattern[0] || (pattern[n] && (strcmp(pattern + n, "*") != 0 || (n && pattern[n - 1] != '.'))))
        sandbox_raise(lua, "the first argument is the type of an event: 'parcel.created', 'parcel.*' or '*'");
    if (!lua_isfunction(lua, 2))
        sandbox_raise(lua, "the second argument is the function that is called");
    check_options(lua, 3, options);
    hook.timeout_us = option_int(lua, 3, "timeout_ms", LONG_US / 1000, 1, LONG_US / 1000) * 1000;
    note(lua, st, &hook, 2);
    return 0;
}

static int register_schedule(lua_State *lua)
{
    static const char *const options[] = {"timezone", "timeout_ms", NULL};
    struct hook_state *st = loading(lua);
    struct lua_hook hook = {.phase = PHASE_SCHEDULE, .pattern = arena_dupz(st->arena, luaL_checkstring(lua, 1))};
    const char *problem;

    if (!lua_isfunction(lua, 2))
        sandbox_raise(lua, "the second argument is the function that is called");
    check_options(lua, 3, options);
    hook.timeout_us = option_int(lua, 3, "timeout_ms", LONG_US / 1000, 1, LONG_US / 1000) * 1000;
    hook.zone = (wharf_str){"", 0};
    if (lua_istable(lua, 3) && lua_getfield(lua, 3, "timezone") != LUA_TNIL)
        hook.zone = arena_dupz(st->arena, luaL_checkstring(lua, -1));
    problem = host_cron.problem(hook.pattern, hook.zone);
    if (problem)
        sandbox_raise(lua, "%s", problem);
    note(lua, st, &hook, 2);
    return 0;
}

/* ---- states ---- */

static void state_free(struct hook_state *st)
{
    if (!st)
        return;
    sandbox_free(st->sb);
    arena_free(st->arena);
    free(st->functions);
    free(st);
}

static void tell(struct hook_problem *p, const struct sandbox_error *e)
{
    memcpy(p->file, e->file, sizeof(p->file));
    memcpy(p->message, e->message, sizeof(p->message));
    p->line = e->line;
}

static bool load_files(struct hook_state *st, struct hook_problem *ret_problem)
{
    struct lua_generation *g = st->gen;
    struct sandbox_error e;

    for (size_t i = 0; i < g->folder.n; i++) {
        const struct hook_file *f = &g->folder.files[i];

        /* modules are compiled too: a fault in one is found now, not by the first call that requires it */
        if (f->module ? sandbox_compile(st->sb, f->name, &e) : sandbox_load(st->sb, f->name, &e))
            continue;
        tell(ret_problem, &e);
        if (!ret_problem->file[0])
            snprintf(ret_problem->file, sizeof(ret_problem->file), "%s.lua", f->name);
        return false;
    }
    if (st->n_functions == g->n_hooks)
        return true;
    snprintf(ret_problem->message, sizeof(ret_problem->message),
        "a file must register the same hooks each time it is loaded");
    return false;
}

static struct hook_state *state_new(struct lua_generation *g, bool first, struct hook_problem *ret_problem)
{
    static const struct {
        const char *path;
        lua_CFunction fn;
    } functions[] = {{"hook.before", register_before}, {"hook.after", register_after},
        {"hook.on_event", register_event}, {"hook.schedule", register_schedule}};
    struct hook_state *st = calloc(1, sizeof(*st));
    struct sandbox_host host = hook_host;
    struct sandbox_config config = {.memory = STATE_MEMORY, .frozen = true, .host = &host, .user = st};
    bool good = st != NULL;

    *ret_problem = (struct hook_problem){.message = "there is not enough memory to load the hooks"};
    if (!st)
        return NULL;
    st->gen = g;
    st->first = first;
    st->arena = arena_small(1024);
    host.arg = st;
    random_bytes(&config.seed, sizeof(config.seed));
    config.limits = (struct sandbox_limits){
        .instructions = LOAD_INSTRUCTIONS, .deadline_us = clock_monotonic_us() + LOAD_US};
    st->functions = calloc(HOOKS_MAX, sizeof(*st->functions));
    st->sb = st->functions && sandbox_prepare() ? sandbox_new(&config) : NULL;
    good = st->sb && host_define(st);
    for (size_t i = 0; good && i < sizeof(functions) / sizeof(functions[0]); i++)
        good = sandbox_define(st->sb, functions[i].path, functions[i].fn);
    if (good) {
        sandbox_files(st->sb, g->files, g->folder.n);
        good = load_files(st, ret_problem) && sandbox_freeze(st->sb);
    }
    if (!good) {
        state_free(st);
        return NULL;
    }
    return st;
}

static void give_back(struct lua_generation *g, struct hook_state *st)
{
    st->req = NULL;
    pthread_mutex_lock(&g->lock);
    st->below = g->free;
    g->free = st;
    pthread_mutex_unlock(&g->lock);
}

/* A hook that calls the API may have other hooks run on the same thread: they get a state of their own. */
static struct hook_state *take(struct lua_generation *g, struct hook_problem *ret_problem)
{
    struct hook_state *st;

    pthread_mutex_lock(&g->lock);
    st = g->free;
    if (st)
        g->free = st->below;
    pthread_mutex_unlock(&g->lock);
    return st ? st : state_new(g, false, ret_problem);
}

/* ---- which hooks there are ---- */

static int by_priority(const void *a, const void *b)
{
    const struct lua_hook *x = *(struct lua_hook *const *)a, *y = *(struct lua_hook *const *)b;

    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void add_to(struct arena *a, struct hook_list *list, struct lua_hook *hook, size_t most)
{
    if (!list->items)
        list->items = ARENA_ARRAY(a, struct lua_hook *, most);
    list->items[list->n++] = hook;
}

static void sort_hooks(struct lua_generation *g)
{
    size_t places = g->engine->n_resources * HOOK_OPS;

    g->before = ARENA_ARRAY(g->arena, struct hook_list, places + 1);
    g->after = ARENA_ARRAY(g->arena, struct hook_list, places + 1);
    for (size_t i = 0; i < g->n_hooks; i++) {
        struct lua_hook *h = g->hooks[i];
        struct hook_list *list = h->phase == PHASE_EVENT ? &g->events
                                 : h->phase == PHASE_SCHEDULE
                                     ? &g->schedules
                                     : &(h->phase == PHASE_BEFORE ? g->before
                                                                  : g->after)[hook_place(g->engine, h->res, h->op)];

        add_to(g->arena, list, h, g->n_hooks);
        if (g->engine->board)
            h->stats = board_hook(g->engine->board, h->name);
    }
    for (size_t i = 0; i < places; i++) {
        if (g->before[i].n > 1)
            qsort(g->before[i].items, g->before[i].n, sizeof(struct lua_hook *), by_priority);
        if (g->after[i].n > 1)
            qsort(g->after[i].items, g->after[i].n, sizeof(struct lua_hook *), by_priority);
    }
}

const struct lua_hook *generation_find(const struct lua_generation *g, wharf_str name)
{
    for (size_t i = 0; i < g->n_hooks; i++) {
        if (str_eqz(name, g->hooks[i]->name))
            return g->hooks[i];
    }
    return NULL;
}

/* ---- life ---- */

struct lua_generation *generation_load(const struct engine *e, struct arena *a, const struct hook_folder *folder,
    size_t states, struct hook_problem *ret_problem)
{
    struct lua_generation *g = ARENA_NEW(a, struct lua_generation);
    struct hook_state *st;

    g->arena = a;
    g->engine = e;
    g->folder = *folder;
    g->loaded_us = clock_now_us();
    atomic_init(&g->refs, 1);
    pthread_mutex_init(&g->lock, NULL);
    g->files = ARENA_ARRAY(a, struct sandbox_file, folder->n + 1);
    g->codes = ARENA_ARRAY(a, struct sandbox_code, folder->n + 1);
    for (size_t i = 0; i < folder->n; i++)
        g->files[i] = (struct sandbox_file){folder->files[i].name, folder->files[i].text, &g->codes[i]};
    for (size_t i = 0; folder->n && i < states; i++) {
        st = state_new(g, i == 0, ret_problem);
        if (!st) {
            generation_unref(g);
            return NULL;
        }
        give_back(g, st);
    }
    sort_hooks(g);
    return g;
}

void generation_ref(struct lua_generation *g)
{
    atomic_fetch_add(&g->refs, 1);
}

void generation_unref(struct lua_generation *g)
{
    if (!g || atomic_fetch_sub(&g->refs, 1) != 1)
        return;
    for (struct hook_state *st = g->free, *below; st; st = below) {
        below = st->below;
        state_free(st);
    }
    for (size_t i = 0; i < g->folder.n; i++)
        free(g->codes[i].p);
    pthread_mutex_destroy(&g->lock);
    arena_free(g->arena);
}

wharf_str hook_problem_text(struct arena *a, const struct hook_problem *p)
{
    if (p->file[0] && p->line)
        return arena_printf(a, "%s:%d: %s", p->file, p->line, p->message);
    if (p->file[0])
        return arena_printf(a, "%s: %s", p->file, p->message);
    return arena_dupz(a, p->message);
}

/* ---- a call ---- */

bool generation_call(struct lua_generation *g, struct wharf_req *req, const struct hook_call *call,
    struct buf *ret_kept, struct sandbox_error *ret_error)
{
    struct hook_problem problem;
    struct hook_state *st = take(g, &problem);
    int64_t started_us = clock_monotonic_us();
    bool good;

    if (!st) {
        *ret_error = (struct sandbox_error){.end = SANDBOX_RAISED, .retry = -1, .after_ms = -1, .line = problem.line};
        memcpy(ret_error->file, problem.file, sizeof(problem.file));
        memcpy(ret_error->message, problem.message, sizeof(problem.message));
        return false;
    }
    st->req = req;
    st->hook = call->hook;
    st->http_calls = 0;
    st->deadline_us = started_us + call->hook->timeout_us;
    sandbox_begin(st->sb, &(struct sandbox_limits){.instructions = CALL_INSTRUCTIONS, .deadline_us = st->deadline_us});
    good = sandbox_call(st->sb,
        &(struct sandbox_call){
            .ref = st->functions[call->hook->index], .arg = call->arg, .context = call->context, .keep = call->keep},
        NULL, ret_kept, ret_error);
    give_back(g, st);
    if (call->hook->stats)
        board_hook_count(
            call->hook->stats, good || ret_error->end == SANDBOX_REJECTED, clock_monotonic_us() - started_us);
    return good;
}
