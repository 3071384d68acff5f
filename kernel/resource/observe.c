/* observe.c - see observe.h. */
#include "resource/observe.h"

#include "util/str.h"

void observer_add(struct engine *e, const struct write_observer *o)
{
    const struct write_observer **all = ARENA_ARRAY(
        e->arena, const struct write_observer *, e->n_observers + 1);

    if (e->n_observers)
        memcpy(all, e->observers, e->n_observers * sizeof(const struct write_observer *));
    all[e->n_observers++] = o;
    e->observers = all;
}

/* ---- writes ---- */

bool write_observed(const struct wharf_req *req, const struct resource *res, uint32_t op)
{
    for (size_t i = 0; i < req->engine->n_observers; i++) {
        if (req->engine->observers[i]->wants(req, res, op))
            return true;
    }
    return false;
}

bool write_runs_tenant(const struct wharf_req *req, const struct resource *res, uint32_t op)
{
    for (size_t i = 0; i < req->engine->n_observers; i++) {
        const struct write_observer *o = req->engine->observers[i];

        if (o->tenant && o->wants(req, res, op))
            return true;
    }
    return false;
}

bool write_observed_beside(const struct wharf_req *req, const struct resource *res, uint32_t op)
{
    bool any = false;

    for (size_t i = 0; i < req->engine->n_observers; i++) {
        const struct write_observer *o = req->engine->observers[i];

        if (!o->wants(req, res, op))
            continue;
        if (!o->speculative)
            return false;
        any = true;
    }
    return any;
}

wharf_status observers_ahead(struct wharf_req *req, struct write *w)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < req->engine->n_observers; i++) {
        if (req->engine->observers[i]->ahead)
            s = req->engine->observers[i]->ahead(req, w);
    }
    return s;
}

wharf_status observers_before(struct wharf_req *req, struct write *w, bool *ret_changed)
{
    wharf_status s = WHARF_OK;

    *ret_changed = false;
    for (size_t i = 0; s == WHARF_OK && i < req->engine->n_observers; i++) {
        bool changed = false;

        s = req->engine->observers[i]->before(req, w, &changed);
        *ret_changed = *ret_changed || changed;
    }
    return s;
}

wharf_status observers_after(struct wharf_req *req, const struct write *w)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < req->engine->n_observers; i++)
        s = req->engine->observers[i]->after(req, w);
    return s;
}

/* ---- requests ---- */

enum route_result request_find_route(struct wharf_req *req, wharf_str *ret_allow)
{
    const struct engine *e = req->engine;

    if (e->around)
        return e->around->find_route(req, ret_allow);
    return engine_route(
        e, req->head.method, req->head.path, req->arena, &req->route, req->params, ret_allow);
}

bool request_is_observers(const struct wharf_req *req)
{
    return req->engine->around && req->engine->around->owns_route(req->route);
}

bool request_asks_request(struct wharf_req *req)
{
    return req->engine->around && req->engine->around->asks_request(req);
}

bool request_asks_response(struct wharf_req *req)
{
    return req->engine->around && req->engine->around->asks_response(req);
}

void request_release(struct wharf_req *req)
{
    if (req->engine->around)
        req->engine->around->release(req);
}

void request_share(const struct wharf_req *outer, struct wharf_req *inner)
{
    if (outer->engine->around)
        outer->engine->around->share(outer, inner);
}
