/* operator.c - the active generation of a worker, and who holds it. See operator.h; watching the
 * folder is operator_watch.c. */
#include "lua/operator/operator_inside.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "process/board.h"
#include "util/file.h"
#include "util/log.h"
#include "util/str.h"

enum { KEPT_MAX = 64 << 20 };
static const char default_dir[] = "/etc/wharf/lua-hooks";

/* ---- holding ---- */

/* Returns the newest generation. The caller holds the lock. All workers change over with one store
 * on the board; each sees it here. */
static struct lua_generation *operator_newest(struct operator_lua *o)
{
    uint64_t wanted = atomic_load(&o->board->hooks_active);

    if (wanted != o->active->folder.print && o->next && wanted == o->next->folder.print) {
        generation_unref(o->active);
        o->active = o->next;
        o->next = NULL;
    }
    return o->active;
}

struct lua_generation *operator_current(struct operator_lua *o)
{
    struct lua_generation *g;

    pthread_mutex_lock(&o->lock);
    g = operator_newest(o);
    generation_ref(g);
    pthread_mutex_unlock(&o->lock);
    return g;
}

struct lua_generation *operator_hold(struct wharf_req *req)
{
    if (!req->hooks && req->engine->operator_lua)
        req->hooks = operator_current(req->engine->operator_lua);
    return req->hooks;
}

void operator_release(struct wharf_req *req)
{
    generation_unref(req->hooks);
    req->hooks = NULL;
}

void operator_share(const struct wharf_req *outer, struct wharf_req *inner)
{
    inner->hooks = outer->hooks;
    if (inner->hooks)
        generation_ref(inner->hooks);
}

bool operator_wants(const struct wharf_req *req, const struct resource *res, uint32_t op)
{
    const struct engine *e = req->engine;
    struct operator_lua *o = e->operator_lua;
    const struct lua_generation *g;
    bool wants;

    if (!o)
        return false;
    pthread_mutex_lock(&o->lock);
    g = operator_newest(o);
    wants = g->before[hook_place(e, res, op)].n || g->after[hook_place(e, res, op)].n;
    pthread_mutex_unlock(&o->lock);
    return wants;
}

/* ---- life ---- */

static bool load_folder(struct operator_lua *o, bool kept, struct arena *a, struct hook_folder *ret)
{
    wharf_str problem = {"", 0}, text;

    if (kept) {
        text = file_read(o->kept_file, KEPT_MAX, a);
        return text.p && folder_unpack(a, text, ret) &&
               ret->print == atomic_load(&o->board->hooks_active);
    }
    o->trouble = (struct hook_problem){.line = 0};
    if (folder_read(a, &o->places, ret, &problem))
        return true;
    snprintf(o->trouble.message, sizeof(o->trouble.message), "%s", problem.p);
    return false;
}

static bool load_first(struct operator_lua *o, bool kept)
{
    struct arena *a = arena_new(0);
    struct hook_folder folder;

    if (!load_folder(o, kept, a, &folder)) {
        arena_free(a);
        return false;
    }
    o->active = generation_load(o->engine, a, &folder, o->states, &o->trouble);
    return o->active != NULL;
}

static void load_nothing(struct operator_lua *o)
{
    struct arena *a = arena_new(0);
    struct hook_folder folder;
    struct hook_problem problem;

    folder_unpack(a, WHARF_S("[]"), &folder);
    o->active = generation_load(o->engine, a, &folder, 0, &problem);
}

const char *operator_dir(const struct config *c)
{
    return c->lua_hooks_dir[0] ? c->lua_hooks_dir : default_dir;
}

/* Announces what is active: the first worker of a server says it; the others find it. */
static void announce(struct operator_lua *o)
{
    uint64_t print = o->active->folder.print, nothing = 0;
    struct board_worker *slot = &o->board->workers[o->slot];
    wharf_str problem;

    if (atomic_load(&o->board->hooks_active) == 0 && o->active->folder.n &&
        !file_replace(
            o->kept_file, folder_pack(o->arena, &o->active->folder), 0600, o->arena, &problem))
        log_warn("lua.not_kept", "%s", problem.p);
    if (atomic_compare_exchange_strong(&o->board->hooks_active, &nothing, print)) {
        atomic_store(&o->board->hooks_generation, 1);
        atomic_store(&o->board->hooks_loaded_us, o->active->loaded_us);
    }
    atomic_store(&slot->hooks_refused, 0);
    atomic_store(&slot->hooks_loaded, print);
}

struct operator_lua *operator_start(const struct engine *e, const struct config *config,
    const struct worker_boot *boot, wharf_str *ret_error)
{
    struct arena *a = arena_new(0);
    struct operator_lua *o = ARENA_NEW(a, struct operator_lua);
    size_t n_hooks;
    bool good;

    o->arena = a;
    o->engine = e;
    o->board = boot->board;
    o->slot = boot->slot;
    o->strict = config->lua_hooks_strict;
    o->dir = operator_dir(config);
    o->places = folder_places(a, e, o->dir);
    o->kept_file = arena_printf(a, "%s/lua-hooks.json", config->data).p;
    o->poke_file = arena_printf(a, "%s/lua-hooks.reload", config->data).p;
    o->states = (size_t)(boot->kind == WORKER_JOB ? config->jobs_threads : config->database_pool);
    o->stop_fd = eventfd(0, EFD_CLOEXEC);
    pthread_mutex_init(&o->lock, NULL);
    o->off = config->safe_mode;
    if (o->off) {
        load_nothing(o);
        return o;
    }
    if (boot->proves && !operator_check(e, config, &n_hooks, a, ret_error))
        return NULL; /* who asked for a reload is told, and nothing changes */
    /* beside others that run: what they run; the watcher brings what changed since */
    good = atomic_load(&o->board->hooks_active) ? load_first(o, true) || load_first(o, false)
                                                : load_first(o, false);
    if (!good) {
        *ret_error = arena_printf(a, "the hooks of %s can't be loaded: %s", o->dir,
            hook_problem_text(o->arena, &o->trouble).p);
        if (o->strict)
            return NULL;
        log_error("lua.not_loaded", "%s; the server runs without them", ret_error->p);
        load_nothing(o);
    }
    announce(o);
    return o;
}

bool operator_check(const struct engine *e, const struct config *config, size_t *ret_hooks,
    struct arena *a, wharf_str *ret_error)
{
    struct arena *own = arena_new(0);
    const char *dir = operator_dir(config);
    struct hook_problem problem = {.line = 0};
    struct lua_generation *g;
    struct hook_folder folder;
    struct hook_places places;
    bool good;

    places = folder_places(own, e, dir);
    if (!folder_read(own, &places, &folder, ret_error)) {
        *ret_error = arena_printf(a, "the hooks of %s can't be loaded: %s", dir, ret_error->p);
        arena_free(own);
        return false;
    }
    g = generation_load(e, own, &folder, 1, &problem);
    if (!g)
        *ret_error = arena_printf(
            a, "the hooks of %s can't be loaded: %s", dir, hook_problem_text(a, &problem).p);
    good = g != NULL;
    *ret_hooks = good ? g->n_hooks : 0;
    generation_unref(g);
    return good;
}

void operator_trouble(struct operator_lua *o, struct hook_problem *ret)
{
    pthread_mutex_lock(&o->lock);
    *ret = o->trouble;
    pthread_mutex_unlock(&o->lock);
}

void operator_stop(struct operator_lua *o)
{
    uint64_t one = 1;

    if (!o || !o->watching)
        return;
    if (write(o->stop_fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
        pthread_join(o->watcher, NULL);
}
