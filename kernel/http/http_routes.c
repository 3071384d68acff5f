/* http_routes.c - what the kernel answers by itself (docs/spec/01-platform.md section 17). */
#include "http/http_routes.h"

#include "config/config.h"

#include "event/event_catalogue.h"
#include "http/health.h"
#include "http/routes.gen.h"
#include "resource/observe.h"
#include "process/board.h"
#include "util/log.h"
#include "util/str.h"
#include "wharf/errors.h"

static void http_raw(struct req_reply *reply, int status, const char *type, wharf_str text)
{
    req_respond(reply, status, str_z("ok"));
    reply->raw_type = type;
    buf_adds(&reply->out, text);
}

static void run_livez(struct wharf_req *req)
{
    http_raw(&req->reply, 200, "text/plain; charset=utf-8", WHARF_S("ok\n"));
}

/* Answers the metrics, on the admin listener only. */
static void run_metrics(struct wharf_req *req)
{
    if (!req->engine->admin) {
        req_fail(req, ERR_ROUTE_NOT_FOUND, NULL, NULL);
        return;
    }
    http_raw(&req->reply, 200, "text/plain; version=0.0.4; charset=utf-8", str_z(""));
    board_metrics(req->engine->board, &req->reply.out);
}

static void run_openapi(struct wharf_req *req)
{
    const struct request_observer *around = req->engine->around;
    wharf_str own = around ? around->openapi(req) : str_z("");

    http_raw(
        &req->reply, 200, "application/json; charset=utf-8", own.n ? own : req->engine->openapi);
}

static void run_event_schema(struct wharf_req *req)
{
    wharf_str type;
    const struct event_type *t = req_param(req, "type", &type) ? event_type_find(req->engine, type)
                                                               : NULL;

    if (t)
        http_raw(&req->reply, 200, "application/schema+json; charset=utf-8",
            event_schema(req->engine, req->arena, t));
    else
        req_problem(req, ERR_NOT_FOUND, req->params[0], NULL, str_z(""));
}

const struct wharf_json *kernel_route_document(struct arena *a, const wharf_route *r)
{
    struct json_error error;
    const struct wharf_json *document = json_parse(a, r->definition, &error);

    if (!document)
        log_error("routes.document", "%s: %s", r->path, error.message);
    return document;
}

static struct route *http_add(
    struct wharf_decl *d, const wharf_route *said, void (*run)(struct wharf_req *req), bool silent)
{
    struct route *r = vector_add(d->arena, &d->routes);

    *r = (struct route){.kind = ROUTE_KERNEL,
        .method = said->method,
        .pattern = said->path,
        .definition = kernel_route_document(d->arena, said),
        .area = -1,
        .public_route = true,
        .silent = silent,
        .run = run};
    return r;
}

void kernel_routes_add(struct wharf_decl *d)
{
    const wharf_route livez = {ROUTE_LIVEZ}, readyz = {ROUTE_READYZ}, healthz = {ROUTE_HEALTHZ},
                      openapi = {ROUTE_OPENAPI}, event_schema = {ROUTE_EVENT_SCHEMA},
                      metrics = {ROUTE_METRICS};

    system_routes_add(d);
    whoami_routes_add(d);
    catalogue_routes_add(d);
    http_add(d, &livez, run_livez, true);
    http_add(d, &readyz, run_readyz, true);
    http_add(d, &healthz, run_readyz, true);
    http_add(d, &openapi, run_openapi, false)->public_route =
        !d->engine->config->openapi_require_key;
    http_add(d, &event_schema, run_event_schema, false);
    http_add(d, &metrics, run_metrics, true);
}
