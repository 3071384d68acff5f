/* operator_inside.h - what the files of this folder share. Private to services/lua/operator. */
#ifndef WHARF_LUA_OPERATOR_OPERATOR_INSIDE_H
#define WHARF_LUA_OPERATOR_OPERATOR_INSIDE_H

#include "lua/operator/generation.h"
#include "lua/operator/operator.h"

/* True when wharf.organization o was not ended, nor the live organization whose test twin it is. */
#define ORGANIZATION_THERE                                                                         \
    "o.active AND o.deleted_at IS NULL AND (o.live_organization_id IS NULL OR EXISTS (SELECT "     \
    "FROM wharf.organization l "                                                                   \
    "WHERE l.organization_id = o.live_organization_id AND l.id = o.live_organization_id AND "      \
    "l.active AND "                                                                                \
    "l.deleted_at IS NULL))"

struct operator_lua {
    const struct engine *engine;
    struct board *board;
    unsigned slot;
    struct hook_places places; /* the first is dir */
    /* lua_hooks.dir; DATA/lua-hooks.json, DATA/lua-hooks.reload */
    const char *dir, *kept_file, *poke_file;
    bool strict, off; /* off: safe mode, nothing is ever loaded */
    size_t states; /* of a generation that is loaded: as many as there are threads */
    pthread_mutex_t lock;
    struct lua_generation *active, *next; /* next: loaded, and not active anywhere yet */
    struct hook_problem trouble;
    pthread_t watcher;
    bool watching;
    int stop_fd;
    struct arena *arena;
};

/* Returns a reference to the active generation. */
struct lua_generation *operator_current(struct operator_lua *o);
/* Returns {"organization_id", "location_id", "actor", "run"}: what hooks get as ctx. */
wharf_str operator_context(
    struct wharf_req *req, const struct lua_hook *hook, wharf_str location, wharf_str event);
/* Returns what an error says, without secrets. */
wharf_str operator_message(struct wharf_req *req, const struct sandbox_error *e);
/* Writes a failure into the log of the operator: "10-codes.lua:3: message". */
void operator_failed(
    struct wharf_req *req, const struct lua_hook *hook, const struct sandbox_error *e);
/* Writes {"hook", "mark"}, the beginning of the arguments of a job that calls the hook; the object
 * stays open. */
void operator_job_args(struct jw *w, const struct lua_hook *hook);
/* Tells whether the hook is still due at this moment (microseconds). Then *ret_arg is the tick, as
 * its argument. */
bool schedule_tick(
    struct wharf_req *req, const struct lua_hook *hook, int64_t due_us, wharf_str *ret_arg);
/* Refuses a request as the hook's author wants: 400 workflow.rejected. */
wharf_status operator_rejected(struct wharf_req *req, const struct sandbox_error *e);
/* Returns the text with the values of hook_secrets taken out, for the log (operator_asked.c). */
wharf_str asked_hidden(const struct config *c, struct arena *a, wharf_str text);
/* Hides secrets in a text that was cut: the beginning of one at its end too. Its end may be "
 * …". */
wharf_str asked_hidden_cut(const struct config *c, struct arena *a, wharf_str text);
/* Returns what went wrong, as it may be shown. */
wharf_str hook_message(const struct config *c, struct arena *a, const struct sandbox_error *e);
/* Deletes what expired (operator_store.c). Returns false when the transaction is lost. */
bool store_expire(struct wharf_req *req);

/* Defines wharf.hook (register.c). */
bool register_define(struct hook_state *st);

/* route.c */
struct hook_route {
    struct route route;
    wharf_route declared;
    const struct lua_hook *hook;
    bool rows, named; /* location policies "row" and "body" */
    bool list; /* page and limit are read, pagination is told */
    const struct wharf_json *filters; /* name to type; or NULL */
    const char *content_type; /* NULL: of what is returned */
};
struct route_wish {
    const char *method, *path;
    wharf_str options; /* JSON */
    bool left_out; /* its module is not there */
};
extern const char *const route_options[];
/* Checks; in the first state the route is made in the generation's arena. NULL, or what is
 * wrong. */
const char *route_read(
    struct hook_state *st, struct route_wish *wish, struct hook_route **ret_route);
/* Links the routes of the generation: they can be found, and are in its document. */
void routes_link(struct lua_generation *g);

/* Runs the route of a hook: the handler of them all (route_call.c); arg: the struct hook_route. */
wharf_status route_run(wharf_req *req, void *arg);

/* Adds {Name: value} as lines of the answer (around.c). Returns NULL, or what is wrong. */
const char *operator_headers(struct wharf_req *req, const struct wharf_json *headers);
/* Writes "method", "path", "query", "headers", "remote_addr", "request_id" of a request. */
void operator_shown(struct wharf_req *req, struct jw *w);

#endif
