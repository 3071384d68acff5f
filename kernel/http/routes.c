/* routes.c - what the kernel answers by itself (docs/spec/01-platform.md section 17). */
#include "http/routes.h"

#include "event/catalogue.h"
#include "http/files.h"

#include "lua/operator/generation.h"
#include "lua/operator/operator.h"
#include "plugin/absent.h"
#include "plugin/manifest.h"
#include "supervisor/board.h"
#include "util/str.h"

static void raw(struct wharf_req *req, int status, const char *type, wharf_str text)
{
    req_respond(req, status, str_z("ok"));
    req->raw_type = type;
    buf_adds(&req->out, text);
}

static void run_livez(struct wharf_req *req)
{
    raw(req, 200, "text/plain; charset=utf-8", WHARF_S("ok\n"));
}

/* Of the job that is due for longest, as the job worker saw it last. */
static int64_t queue_age_ms(const struct board *b)
{
    int64_t oldest = 0;

    for (size_t i = 0; i < BOARD_JOBS && atomic_load(&b->jobs[i].used); i++) {
        int64_t age = atomic_load(&b->jobs[i].age_ms);

        oldest = age > oldest ? age : oldest;
    }
    return oldest;
}

static void run_readyz(struct wharf_req *req)
{
    bool database = req->engine->ready && atomic_load(req->engine->ready);
    bool ready = database && !atomic_load(&req->engine->board->stopping);
    wharf_str verbose;
    struct jw w;

    if (!req_param(req, "verbose", &verbose)) {
        raw(req, ready ? 200 : 503, "text/plain; charset=utf-8", ready ? WHARF_S("ok\n") : WHARF_S("not ready\n"));
        return;
    }
    req_respond(req, ready ? 200 : 503, str_z("ok"));
    req->raw_type = "application/json; charset=utf-8";
    jw_init(&w, &req->out);
    jw_open(&w, NULL, '{');
    jw_bool(&w, "ready", ready);
    jw_z(&w, "database", database ? "ok" : "away");
    jw_z(&w, "migrations", "ok"); /* no worker begins to serve with another state than its own */
    jw_raw(&w, "queue_age_seconds", arena_printf(req->arena, "%.3f", (double)queue_age_ms(req->engine->board) / 1000));
    jw_open(&w, "modules", '{');
    for (size_t i = 0; i < req->engine->n_plugins; i++)
        jw_z(&w, req->engine->plugins[i].name, "ok");
    for (size_t i = 0; i < req->engine->n_absent; i++)
        jw_z(&w, req->engine->absent[i].manifest->name,
            req->engine->absent[i].quarantined ? "quarantined" : "unavailable");
    jw_close(&w, '}');
    jw_close(&w, '}');
}

/* On the admin listener only. */
static void run_metrics(struct wharf_req *req)
{
    if (!req->engine->admin) {
        req_fail(req, "route.not_found", NULL, NULL);
        return;
    }
    raw(req, 200, "text/plain; version=0.0.4; charset=utf-8", str_z(""));
    board_metrics(req->engine->board, &req->out);
}

static void run_openapi(struct wharf_req *req)
{
    const struct lua_generation *g = operator_hold(req);

    raw(req, 200, "application/json; charset=utf-8", g && g->openapi.n ? g->openapi : req->engine->openapi);
}

static void run_event_schema(struct wharf_req *req)
{
    wharf_str type;
    const struct event_type *t = req_param(req, "type", &type) ? event_type_find(req->engine, type) : NULL;

    if (t)
        raw(req, 200, "application/schema+json; charset=utf-8", event_schema(req->arena, t));
    else
        req_problem(req, "not_found", req->params[0], NULL, str_z(""));
}

static struct route *add(struct wharf_decl *d, const char *pattern, void (*run)(struct wharf_req *req), bool silent)
{
    struct route *r = vector_add(d->arena, &d->routes);

    *r = (struct route){.kind = ROUTE_KERNEL,
        .method = "GET",
        .pattern = pattern,
        .area = -1,
        .public_route = true,
        .silent = silent,
        .run = run};
    return r;
}

void kernel_routes_add(struct wharf_decl *d)
{
    system_routes_add(d);
    lua_hooks_routes_add(d);
    whoami_routes_add(d);
    catalogue_routes_add(d);
    files_routes_add(d);
    add(d, "/livez", run_livez, true);
    add(d, "/readyz", run_readyz, true);
    add(d, "/healthz", run_readyz, true);
    add(d, "/v1/openapi.json", run_openapi, false)->public_route = !d->engine->config->openapi_require_key;
    add(d, "/v1/schemas/events/:type", run_event_schema, false);
    add(d, "/metrics", run_metrics, true);
}
