/* http_catalogue.c - what this server is made of, and how its API changed: GET /v1/modules, GET
 * /v1/changes (docs/spec/01-platform.md section 17). The changes are data: changes.json, newest
 * first. */
#include "http/api_changes.h" /* generated from changes.json */
#include "http/http_routes.h"
#include "http/routes.gen.h"
#include "resource/absent.h"
#include "plugin/manifest.h"
#include "util/str.h"
#include "wharf/errors.h"

void answer_whole_list(struct wharf_req *req, size_t n, const char *what)
{
    req_respond(&req->reply, 200, arena_printf(req->arena, "%zu %s retrieved", n, what));
    req->reply.pagination = arena_printf(
        req->arena, "{\"page\":1,\"limit\":%zu,\"has_more\":false}", n ? n : 1);
}

static void write_module(struct wharf_req *req, const struct plugin *p)
{
    struct req_reply *reply = &req->reply;
    const struct engine *e = req->engine;

    jw_open(&reply->w, NULL, '{');
    jw_z(&reply->w, "object", "module");
    jw_z(&reply->w, "name", p->name);
    jw_z(&reply->w, "version", p->manifest->version);
    jw_str(&reply->w, "abi",
        arena_printf(req->arena, "%u.%u", p->manifest->abi_major, p->manifest->abi_minor));
    jw_open(&reply->w, "areas", '[');
    for (size_t i = 0; i < e->areas.count; i++) {
        if (engine_owns_area(e, p, (int)i))
            jw_z(&reply->w, NULL, e->areas.names[i]);
    }
    jw_close(&reply->w, ']');
    jw_z(&reply->w, "status", "ok");
    jw_open(&reply->w, "routes", '[');
    for (size_t i = 0; i < e->n_routes; i++) {
        if (e->routes[i].plugin == p)
            jw_str(&reply->w, NULL,
                arena_printf(req->arena, "%s %s", e->routes[i].method, e->routes[i].pattern));
    }
    jw_close(&reply->w, ']');
    jw_close(&reply->w, '}');
}

/* Writes a module that is left out: what is known of it without running it. */
static void write_absent(struct wharf_req *req, const struct absent *m)
{
    struct req_reply *reply = &req->reply;
    const struct manifest *p = m->manifest;
    static const struct wharf_json none = {.type = JSON_ARRAY};

    jw_open(&reply->w, NULL, '{');
    jw_z(&reply->w, "object", "module");
    jw_z(&reply->w, "name", p->name);
    jw_z(&reply->w, "version", p->version);
    jw_str(&reply->w, "abi", arena_printf(req->arena, "%u.%u", p->abi_major, p->abi_minor));
    jw_value(&reply->w, "areas", m->areas ? m->areas : &none);
    jw_z(&reply->w, "status", m->quarantined ? "quarantined" : "unavailable");
    jw_value(&reply->w, "routes", m->routes ? m->routes : &none);
    jw_close(&reply->w, '}');
}

static wharf_status list_modules(struct wharf_req *req, void *arg)
{
    answer_whole_list(req, req->engine->n_plugins + req->engine->n_absent, "modules");
    jw_open(&req->reply.w, NULL, '[');
    for (size_t i = 0; i < req->engine->n_plugins; i++)
        write_module(req, &req->engine->plugins[i]);
    for (size_t i = 0; i < req->engine->n_absent; i++)
        write_absent(req, &req->engine->absent[i]);
    jw_close(&req->reply.w, ']');
    return WHARF_OK;
}

static wharf_status list_changes(struct wharf_req *req, void *arg)
{
    struct json_error e;
    const struct wharf_json *all = json_parse(
        req->arena, (wharf_str){api_changes[0].text, api_changes[0].size}, &e);

    if (!all)
        return req_fail(req, ERR_INTERNAL, NULL, "changes.json: %s", e.message);
    answer_whole_list(req, all->count, "changes");
    jw_value(&req->reply.w, NULL, all);
    return WHARF_OK;
}

void catalogue_routes_add(struct wharf_decl *d)
{
    const wharf_route modules = {ROUTE_MODULES, .handler = list_modules};
    const wharf_route changes = {ROUTE_CHANGES, .handler = list_changes};

    decl_own_route(d, &modules);
    decl_own_route(d, &changes);
}
