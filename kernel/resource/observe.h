/* observe.h - what hooks into every write and every request: tables of functions, filled at
 * start, called in order.
 *
 * Operators' hooks and the hooks of organizations (docs/spec/08-workflows-and-lua.md sections 3
 * and 9) come into the pipeline here, so that nothing of `resource/` knows what they are. Leaves
 * to others: what an observer does (services/lua), and when it is asked. Of writes write.c, set.c
 * and speculation.c ask, behind the check of the body. Of requests kernel/http asks: exchange.c
 * whether there are such hooks, before the body is read; threads.c runs them. */
#ifndef WHARF_RESOURCE_OBSERVE_H
#define WHARF_RESOURCE_OBSERVE_H

#include "resource/engine.h"
#include "resource/write.h"

/* Observes writes. All functions run on the thread of the request; problems are on the request
 * when a function does not return WHARF_OK. */
struct write_observer {
    const char *name;
    /* Returns whether a write of this kind concerns it. Asks nothing of the database. [any
     * thread] */
    bool (*wants)(const struct wharf_req *req, const struct resource *res, uint32_t op);
    /* Gets ready while PostgreSQL looks for the row of an update or a delete. NULL: nothing to
     * get ready. */
    wharf_status (*ahead)(struct wharf_req *req, struct write *w);
    /* Judges, or changes w->body. The body is checked, references are looked at, the old row is
     * locked. Sets *ret_changed when it changed the body. */
    wharf_status (*before)(struct wharf_req *req, struct write *w, bool *ret_changed);
    /* Runs after the write, in its transaction. */
    wharf_status (*after)(struct wharf_req *req, const struct write *w);
    /* Its before() may judge while the write is done already (speculation.h). */
    bool speculative;
    bool tenant; /* what runs is code of the organization (http/tenant_threads.c) */
};

/* Observes requests: functions that run around them, and routes that are not the engine's. One
 * for each server; a function does nothing for a request that is none of its business. */
struct request_observer {
    /* Finds the route of req: the engine's or one of its own. ret_allow: methods of the path,
     * when only the method differs. */
    enum route_result (*find_route)(struct wharf_req *req, wharf_str *ret_allow);
    bool (*owns_route)(const struct route *r);
    /* Gives back what the request holds. Called by whoever ends a request. */
    void (*release)(struct wharf_req *req);
    /* Gives a request inside of another one what the outer one holds. */
    void (*share)(const struct wharf_req *outer, struct wharf_req *inner);
    /* Return whether request(), response() have something to do. [event loop] */
    bool (*asks_request)(struct wharf_req *req);
    bool (*asks_response)(struct wharf_req *req);
    /* Run before the route and after it, on a worker thread. Refusals are problems. */
    void (*request)(struct wharf_req *req);
    void (*response)(struct wharf_req *req);
    /* Returns the OpenAPI document with its own routes; empty: the engine's. */
    wharf_str (*openapi)(struct wharf_req *req);
};

/* Adds an observer of writes behind those that are there, at start. */
void observer_add(struct engine *e, const struct write_observer *o);

/* Tells whether any observer wants a write of this kind (write_observed); whether each one that
 * does may judge beside it, and one does (write_observed_beside). [any thread] */
bool write_observed(const struct wharf_req *req, const struct resource *res, uint32_t op);
/* Tells whether code of an organization runs in a write of this kind. [any thread] */
bool write_runs_tenant(const struct wharf_req *req, const struct resource *res, uint32_t op);
bool write_observed_beside(const struct wharf_req *req, const struct resource *res, uint32_t op);
/* Calls the observers in order, until one fails; each does nothing for writes that it does not
 * want. */
wharf_status observers_ahead(struct wharf_req *req, struct write *w);
wharf_status observers_before(struct wharf_req *req, struct write *w, bool *ret_changed);
wharf_status observers_after(struct wharf_req *req, const struct write *w);

/* Finds the route of a request: enum route_result of engine_route(). */
enum route_result request_find_route(struct wharf_req *req, wharf_str *ret_allow);
/* Returns whether the route of a request is an observer's own. */
bool request_is_observers(const struct wharf_req *req);
/* Tells whether something runs before the route (asks_request), and before the answer
 * (asks_response). [event loop] */
bool request_asks_request(struct wharf_req *req);
bool request_asks_response(struct wharf_req *req);
/* Gives back what observers hold for a request that ends. */
void request_release(struct wharf_req *req);
/* Begins a request inside of another one. */
void request_share(const struct wharf_req *outer, struct wharf_req *inner);

#endif
