/* generation.h - the files of a folder of operator hooks, loaded: the hooks that they
 * registered, and the Lua states that run them.
 *
 * A generation never changes. Its states are alike: each has run all files; a call takes one
 * that is free, or has one more made. It is counted: who runs a request keeps the generation
 * that it began with, and the last one to give it back frees it.
 * Leaves to others: which generation is the active one (operator.h), what hooks are called for
 * (before.c, after.c). */
#ifndef WHARF_LUA_OPERATOR_GENERATION_H
#define WHARF_LUA_OPERATOR_GENERATION_H

#include <pthread.h>
#include <stdatomic.h>

#include "lua/operator/operator_folder.h"
#include "lua/sandbox/sandbox.h"
#include "resource/engine.h"
#include "util/buf.h"
#include "util/id.h"

enum {
    HOOKS_MAX = 1000, /* hooks of a folder */
    HOOK_OPS = 3
};
enum hook_phase {
    PHASE_BEFORE,
    PHASE_AFTER,
    PHASE_EVENT,
    PHASE_SCHEDULE,
    PHASE_ROUTE,
    PHASE_REQUEST,
    PHASE_RESPONSE
};

struct hook_route; /* of a route: route.c */

struct lua_hook {
    enum hook_phase phase;
    const struct resource *res; /* before, after */
    uint32_t op; /* the same: OP_CREATE … */
    /* of event types: "parcel.created", "parcel.*", "*"; of a schedule: its five fields; of a
     * route: "GET /v1/x/…" */
    wharf_str pattern;
    wharf_str zone; /* of a schedule; empty: UTC */
    /* of events: what comes one after the other */
    enum hook_order { ORDER_ROW, ORDER_HOOK, ORDER_NONE } order;
    int at_once; /* of events: calls at a time for an organization; 0: any number */
    int priority;
    bool ignore; /* before: a failure is logged, and the write goes on */
    int64_t timeout_us;
    int64_t cpu_us; /* of the processor; 0: not counted */
    struct hook_route *route; /* in the generation's arena, or NULL */
    char file[64]; /* "10-codes.lua" */
    int line;
    char name[80]; /* "10-codes.lua#1": its first one. What people and metrics know it by */
    /* "10-codes.lua after parcel create#1": its first one of these. What jobs know it by,
     * whatever else the file registers */
    wharf_str mark;
    size_t index; /* in hooks, and in the functions of a state */
    struct board_hook *stats; /* or NULL */
};

struct hook_list {
    struct lua_hook **items; /* in the order in which they run */
    size_t n;
};

struct hook_state {
    struct hook_state *below; /* in the pile of those that are free */
    struct lua_generation *gen;
    struct sandbox *sb;
    /* of what is done while files are loaded: several states may be made at once */
    struct arena *arena;
    bool first; /* its hooks are the generation's */
    struct wharf_req *req; /* whose call runs; NULL while files are loaded */
    const struct lua_hook *hook; /* that runs */
    int64_t deadline_us;
    unsigned http_calls, api_calls, api_writes, mails, emits; /* of this call */
    unsigned locks, locks_given; /* the same */
    char lock_id[ID_MAX]; /* what tokens of its locks begin with */
    int64_t slept_ms;
    /* to the last op, or of wharf.db: outside of the request's arena, whose budget many of them
     * would use up */
    struct buf answer;
    wharf_str location; /* the same: of hook_call */
    int *functions; /* by index of the hook */
    size_t n_functions;
};

struct hook_problem {
    char file[64]; /* "" when it is not a file's */
    int line;
    char message[1024];
};

struct lua_generation {
    _Atomic unsigned refs;
    struct arena *arena;
    const struct engine *engine;
    struct hook_folder folder;
    struct sandbox_file *files;
    struct sandbox_code *codes;
    struct lua_hook *hooks[HOOKS_MAX];
    size_t n_hooks;
    struct hook_list *before, *after; /* [resource * HOOK_OPS + place of the op] */
    struct hook_list events, schedules, routes, requests, responses;
    struct engine view; /* its own routes, for engine_route(); tree is NULL when there are none */
    wharf_str openapi; /* the document with them; empty: the server's own */
    int64_t loaded_us; /* kernel clock */
    pthread_mutex_t lock;
    struct hook_state *free;
};

/* Takes over the arena, in which the folder lies, also when it fails (NULL and a problem).
 * states: how many are made at once. */
struct lua_generation *generation_load(const struct engine *e, struct arena *a,
    const struct hook_folder *folder, size_t states, struct hook_problem *ret_problem);
void generation_ref(struct lua_generation *g);
void generation_unref(struct lua_generation *g); /* NULL is accepted */

/* Returns "10-codes.lua:3: message", or the message alone. */
wharf_str hook_problem_text(struct arena *a, const struct hook_problem *p);

static inline size_t hook_place(const struct engine *e, const struct resource *res, uint32_t op)
{
    return (size_t)(res - e->resources) * HOOK_OPS + (op == OP_CREATE      ? 0
                                                         : op == OP_UPDATE ? 1
                                                                           : 2);
}
const char *hook_phase_name(enum hook_phase phase);
/* Finds a hook by its mark, or by the name alone that jobs of older servers have. Returns NULL
 * when there is none. */
const struct lua_hook *generation_find(const struct lua_generation *g, wharf_str mark);
const struct lua_hook *generation_find_named(const struct lua_generation *g, wharf_str name);

struct hook_call {
    const struct lua_hook *hook;
    wharf_str arg, context; /* JSON */
    wharf_str location; /* of its events, unless it says another one; p NULL or empty: none */
    struct buf *result; /* JSON of what it returned, empty for nil; or NULL */
    const char *keep; /* see sandbox_call */
};
/* Runs a hook for a request. ret_kept may be NULL. False: ret_error tells; a state that could
 * not be made is told there too. */
bool generation_call(struct lua_generation *g, struct wharf_req *req, const struct hook_call *call,
    struct buf *ret_kept, struct sandbox_error *ret_error);

/* operator_host.c: what scripts may ask for. */
extern const struct sandbox_host hook_host; /* arg: the struct hook_state */
bool host_define(struct hook_state *st); /* wharf.db …: false when there is no memory */

#endif
