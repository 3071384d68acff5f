/* generation.c - see generation.h. */
#include "lua/operator/hook_limits.h"
#include "lua/operator/hosted.h"
#include "lua/operator/operator_inside.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>

#include "process/board.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"

enum {
    LOAD_INSTRUCTIONS = 20000000, /* that loading a file may take */
    LOAD_US = 10000000, /* loading may take */
};

/* ---- states ---- */

static void state_free(struct hook_state *st)
{
    if (!st)
        return;
    sandbox_free(st->sb);
    arena_free(st->arena);
    buf_done(&st->answer);
    free(st->functions);
    free(st);
}

/* Tells the problem of a file, without secrets: what it says while it is loaded may have one in
 * it. */
static void generation_tell(
    const struct hook_state *st, struct hook_problem *p, const struct sandbox_error *e)
{
    wharf_str text = hook_message(st->gen->engine->config, st->arena, e);

    memcpy(p->file, e->file, sizeof(p->file));
    snprintf(p->message, sizeof(p->message), "%.*s", STR_ARG(text));
    p->line = e->line;
}

static bool load_files(struct hook_state *st, struct hook_problem *ret_problem)
{
    struct lua_generation *g = st->gen;
    struct sandbox_error e;

    for (size_t i = 0; i < g->folder.n; i++) {
        const struct hook_file *f = &g->folder.files[i];

        /* modules are compiled too: a fault in one is found now, not by the first call that
         * requires it */
        if (f->module ? sandbox_compile(st->sb, f->name, &e) : sandbox_load(st->sb, f->name, &e))
            continue;
        generation_tell(st, ret_problem, &e);
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

static struct hook_state *state_new(
    struct lua_generation *g, bool first, struct hook_problem *ret_problem)
{
    struct hook_state *st = calloc(1, sizeof(*st));
    struct sandbox_host host = hook_host;
    struct sandbox_config config = {.memory = STATE_MEMORY,
        .frozen = true,
        .unsafe = g->engine->config && g->engine->config->lua_hooks_unsafe,
        .host = &host,
        .user = st};
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
    good = st->sb && host_define(st) && register_define(st);
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

static void generation_give_back(struct lua_generation *g, struct hook_state *st)
{
    st->req = NULL;
    pthread_mutex_lock(&g->lock);
    st->below = g->free;
    g->free = st;
    pthread_mutex_unlock(&g->lock);
}

/* Takes a state. A hook that calls the API may have other hooks run on the same thread: they get a
 * state of their own. */
static struct hook_state *generation_take(
    struct lua_generation *g, struct hook_problem *ret_problem)
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

static struct hook_list *generation_list_of(struct lua_generation *g, const struct lua_hook *h)
{
    switch (h->phase) {
    case PHASE_BEFORE:
        return &g->before[hook_place(g->engine, h->res, h->op)];
    case PHASE_AFTER:
        return &g->after[hook_place(g->engine, h->res, h->op)];
    case PHASE_EVENT:
        return &g->events;
    case PHASE_SCHEDULE:
        return &g->schedules;
    case PHASE_ROUTE:
        return &g->routes;
    case PHASE_REQUEST:
        return &g->requests;
    case PHASE_RESPONSE:
        break;
    }
    return &g->responses;
}

static void generation_by_order(struct hook_list *list)
{
    if (list->n > 1)
        qsort(list->items, list->n, sizeof(struct lua_hook *), by_priority);
}

static void sort_hooks(struct lua_generation *g)
{
    size_t places = g->engine->n_resources * HOOK_OPS;

    g->before = ARENA_ARRAY(g->arena, struct hook_list, places + 1);
    g->after = ARENA_ARRAY(g->arena, struct hook_list, places + 1);
    for (size_t i = 0; i < g->n_hooks; i++) {
        struct lua_hook *h = g->hooks[i];

        add_to(g->arena, generation_list_of(g, h), h, g->n_hooks);
        if (g->engine->board)
            h->stats = board_hook(g->engine->board, h->name);
    }
    for (size_t i = 0; i < places; i++) {
        generation_by_order(&g->before[i]);
        generation_by_order(&g->after[i]);
    }
    generation_by_order(&g->requests);
    generation_by_order(&g->responses);
}

const char *hook_phase_name(enum hook_phase phase)
{
    static const char *const names[] = {
        "before", "after", "event", "schedule", "route", "request", "response"};

    return names[phase];
}

const struct lua_hook *generation_find(const struct lua_generation *g, wharf_str mark)
{
    for (size_t i = 0; i < g->n_hooks; i++) {
        if (str_eq(mark, g->hooks[i]->mark))
            return g->hooks[i];
    }
    return NULL;
}

const struct lua_hook *generation_find_named(const struct lua_generation *g, wharf_str name)
{
    for (size_t i = 0; i < g->n_hooks; i++) {
        if (str_eqz(name, g->hooks[i]->name))
            return g->hooks[i];
    }
    return NULL;
}

/* ---- life ---- */

struct lua_generation *generation_load(const struct engine *e, struct arena *a,
    const struct hook_folder *folder, size_t states, struct hook_problem *ret_problem)
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
        g->files[i] = (struct sandbox_file){
            folder->files[i].name, folder->files[i].text, &g->codes[i]};
    for (size_t i = 0; folder->n && i < states; i++) {
        st = state_new(g, i == 0, ret_problem);
        if (!st) {
            generation_unref(g);
            return NULL;
        }
        generation_give_back(g, st);
    }
    sort_hooks(g);
    routes_link(g);
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

/* Returns how many instructions a call may have; 0: any number. */
static uint64_t call_instructions(const struct lua_generation *g)
{
    return g->engine->config ? (uint64_t)g->engine->config->lua_hooks_instructions
                             : CALL_INSTRUCTIONS;
}

bool generation_call(struct lua_generation *g, struct wharf_req *req, const struct hook_call *call,
    struct buf *ret_kept, struct sandbox_error *ret_error)
{
    struct hook_problem problem;
    struct hook_state *st = generation_take(g, &problem);
    int64_t started_us = clock_monotonic_us();
    bool good;

    if (!st) {
        *ret_error = (struct sandbox_error){
            .end = SANDBOX_RAISED, .retry = -1, .after_ms = -1, .line = problem.line};
        memcpy(ret_error->file, problem.file, sizeof(problem.file));
        memcpy(ret_error->message, problem.message, sizeof(problem.message));
        return false;
    }
    st->req = req;
    st->hook = call->hook;
    st->http_calls = st->api_calls = st->api_writes = st->mails = st->emits = 0;
    st->slept_ms = 0;
    st->location = call->location.p ? call->location : str_z("");
    st->locks = st->locks_given = 0;
    st->deadline_us = started_us + call->hook->timeout_us;
    sandbox_begin(st->sb, &(struct sandbox_limits){.instructions = call_instructions(g),
                              .deadline_us = st->deadline_us,
                              .cpu_us = call->hook->cpu_us});
    good = sandbox_call(st->sb,
        &(struct sandbox_call){.ref = st->functions[call->hook->index],
            .arg = call->arg,
            .context = call->context,
            .keep = call->keep},
        call->result, ret_kept, ret_error);
    asked_locks_end(st);
    buf_done(&st->answer);
    if (!good && !strcmp(ret_error->code, ERR_WORKFLOW_BUDGET_MEMORY))
        /* what it left would fail the next call, whose fault it is not; another one is made when
         * it is needed */
        state_free(st);
    else
        generation_give_back(g, st);
    if (call->hook->stats)
        board_hook_count(call->hook->stats, good || ret_error->end == SANDBOX_REJECTED,
            clock_monotonic_us() - started_us);
    return good;
}
