/* inside.h - what the files of this folder share. Private to kernel/lua/operator. */
#ifndef WHARF_LUA_OPERATOR_INSIDE_H
#define WHARF_LUA_OPERATOR_INSIDE_H

#include "lua/operator/generation.h"
#include "lua/operator/operator.h"

struct operator_lua {
    const struct engine *engine;
    struct board *board;
    unsigned slot;
    const char *dir, *kept_file, *poke_file; /* lua_hooks.dir; DATA/lua-hooks.json, DATA/lua-hooks.reload */
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

/* A reference to the active one. */
struct lua_generation *operator_current(struct operator_lua *o);
/* {"organization_id", "location_id", "actor", "run"}: what hooks get as ctx. */
wharf_str operator_context(struct wharf_req *req, const struct lua_hook *hook, wharf_str location, wharf_str event);
/* A failure into the log of the operator: "10-codes.lua:3: message". */
void operator_failed(struct wharf_req *req, const struct lua_hook *hook, const struct sandbox_error *e);
/* Is the hook still due at this moment (microseconds)? Then the tick, as its argument. */
bool schedule_tick(struct wharf_req *req, const struct lua_hook *hook, int64_t due_us, wharf_str *ret_arg);
/* {resource, action, id, location_id, old, input, new} */
wharf_str operator_change(struct wharf_req *req, const struct write *w, wharf_str new_row);

#endif
