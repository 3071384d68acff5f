/* operator.h - operators' hooks in a worker: the rules of the folder `lua_hooks.dir` around
 * writes and after events.
 *
 * Guide: docs/reference/lua-hooks.md. Contract: docs/spec/08-workflows-and-lua.md section 9. A
 * worker has one active generation. When files change it loads the next one beside it, says so on
 * the board, and all workers of the machine take the new one with the same store: operator_hold()
 * compares the active print with its own. So no request sees two generations, and a folder that
 * one worker can't load changes nothing. A worker that starts while the folder is not the active
 * one loads what the server kept (DATA/lua-hooks.json). */
#ifndef WHARF_LUA_OPERATOR_OPERATOR_H
#define WHARF_LUA_OPERATOR_OPERATOR_H

#include "resource/observe.h"
#include "process/worker.h"
#include "lua/change.h"

struct operator_lua; /* of the process: engine.operator_lua; NULL in processes that run no hooks */
struct lua_generation;

/* Loads the folder. NULL and the problem: "10-codes.lua:3: ..." (with lua_hooks.strict = false
 * the problem is logged, and nothing is loaded). The watching begins with operator_watch(),
 * after the worker is ready. */
struct operator_lua *operator_start(const struct engine *e, const struct config *config,
    const struct worker_boot *boot, wharf_str *ret_error);
void operator_watch(struct operator_lua *o);
void operator_stop(struct operator_lua *o); /* NULL is accepted */

/* Returns the folder of the hooks. */
const char *operator_dir(const struct config *config);
/* Loads the hooks and no more, as `wharf check` wants, and tells how many there are. Returns false
 * and the problem on failure. */
bool operator_check(const struct engine *e, const struct config *config, size_t *ret_hooks,
    struct arena *a, wharf_str *ret_error);

/* Returns the generation of this request: the active one when it is asked for the first time.
 * NULL: no hooks. It is given back by operator_release(), which whoever ends a request calls. */
struct lua_generation *operator_hold(struct wharf_req *req);
void operator_release(struct wharf_req *req);
/* Gives a request inside of another one the generation of that one. */
void operator_share(const struct wharf_req *outer, struct wharf_req *inner);

/* Finds where a request goes: the routes of the modules, then those of hooks (engine_route()). */
enum route_result operator_find_route(struct wharf_req *req, wharf_str *ret_allow);
/* Tells whether the route is a hook's. Then it lives as long as the generation that the request
 * holds. */
bool operator_route_is(const struct route *r);

/* Tells whether there are request or response hooks for this request. It holds its generation from
 * here on. [loop] */
bool operator_asks_request(struct wharf_req *req);
bool operator_asks_response(struct wharf_req *req);
/* Runs them, on a worker thread; req->head.lines and remote_addr are set. Refusals are problems,
 * headers are in req->reply.added. */
void operator_request(struct wharf_req *req);
void operator_response(struct wharf_req *req);

/* Tells whether a write of this kind has hooks. What answers by other ways than the pipeline asks
 * first. [any] */
bool operator_wants(const struct wharf_req *req, const struct resource *res, uint32_t op);
/* Runs the before hooks, with the body checked, references looked at and (but on create) the old
 * row locked. ret_changed: they changed w->body. Problems are on the request when it is not
 * WHARF_OK. */
wharf_status operator_before(struct wharf_req *req, struct write *w, bool *ret_changed);
/* Asks for the after hooks to be run, after the write, in its transaction. */
wharf_status operator_after(struct wharf_req *req, const struct write *w);
/* Processed events: asks for the event hooks to be run. False: the transaction is lost. */
struct event;
bool operator_events(struct wharf_req *req, struct event *const *events, size_t n);
/* Runs the job that turns schedules that are due within the next minutes into jobs of the hooks,
 * one for each organization (operator_schedule.c). */
wharf_status operator_plan(struct wharf_req *req, void *arg);
extern const char operator_plan_policy[];
/* Runs the job of one after, event or schedule hook (after.c). */
wharf_status operator_job(struct wharf_req *req, void *arg);
extern const char operator_job_policy[];

/* The problem of the folder when it was last looked at; its message is empty when there was none
 * (services/lua/operator/generation.h). */
struct hook_problem;
void operator_trouble(struct operator_lua *o, struct hook_problem *ret);
/* Makes all workers look at the folder now, and waits until they agree or one refuses: at most
 * wait_us. */
void operator_reload(struct operator_lua *o, int64_t wait_us);

#endif
