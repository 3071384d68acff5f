/* docs_routes.c - GET /docs and what is below it, from what the build embedded. See
 * docs_routes.h. */
#include "docs/docs_routes.h"

#include <stdio.h>

#include "config/config.h"
#include "docs/docs_pages.gen.h"
#include "host/host.h"
#include "util/str.h"
#include "wharf/errors.h"
#include "wharf/service/http.h"

/* Lets pages load files of this server, nothing that is written into them, nothing from
 * elsewhere. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; "
                             "img-src 'self'; connect-src 'self'; base-uri 'none'; "
                             "form-action 'none'; frame-ancestors 'none'";

static const char html[] = "text/html; charset=utf-8";

static const struct {
    const char *ending, *type;
} types[] = {{".js", "text/javascript; charset=utf-8"}, {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"}};

/* Returns the type of a file that pages name, by how its name ends; NULL: it is none. */
static const char *docs_type_of(wharf_str name)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (str_ends(name, types[i].ending))
            return types[i].type;
    }
    return NULL;
}

static void send_type(struct wharf_req *req, const char *type)
{
    req_respond(&req->reply, 200, str_z("ok"));
    req->reply.raw_type = type;
    host_http.answer_header(req, str_z("Content-Security-Policy"), str_z(policy));
    host_http.answer_header(req, str_z("Referrer-Policy"), str_z("no-referrer"));
}

/* Returns an embedded file; empty when there is none of this name. */
static wharf_str find_page(wharf_str name)
{
    for (size_t i = 0; i < docs_pages_count; i++) {
        if (str_eqz(name, docs_pages[i].name))
            return (wharf_str){docs_pages[i].text, docs_pages[i].size};
    }
    return str_z("");
}

/* Sends the embedded file `name` as `type`; 404 when there is none, or type is NULL. */
static void docs_send_file(struct wharf_req *req, wharf_str name, const char *type)
{
    wharf_str text = find_page(name);

    if (!text.n || !type) {
        req_fail(req, ERR_ROUTE_NOT_FOUND, NULL, NULL);
        return;
    }
    send_type(req, type);
    buf_adds(&req->reply.out, text);
}

static void run_reference(struct wharf_req *req)
{
    docs_send_file(req, str_z("reference.html"), html);
}

static void run_guides(struct wharf_req *req)
{
    docs_send_file(req, str_z("guides.html"), html);
}

/* Sends one guide: the page guide-NAME.html. */
static void run_guide(struct wharf_req *req)
{
    wharf_str name = arena_printf(req->arena, "guide-%.*s.html", STR_ARG(req->params[0]));

    docs_send_file(req, name, html);
}

/* Sends a file that pages name. Pages have routes of their own. */
static void docs_run_file(struct wharf_req *req)
{
    docs_send_file(req, req->params[0], docs_type_of(req->params[0]));
}

/* Sends the page of error codes: its template, with the rows in place of the mark. A server that
 * hides which modules it has loaded shows the codes of the platform only. */
static void run_errors(struct wharf_req *req)
{
    static const char mark[] = "<!-- rows -->";
    wharf_str text = find_page(str_z("errors.html"));
    const char *at = strstr(text.p, mark);
    size_t before = at ? (size_t)(at - text.p) : text.n;
    size_t behind = at ? before + sizeof(mark) - 1 : text.n;

    send_type(req, html);
    buf_add(&req->reply.out, text.p, before);
    docs_error_rows(&req->reply.out, req->engine, !req->engine->config->openapi_require_key);
    buf_add(&req->reply.out, text.p + behind, text.n - behind);
}

static void run_errors_json(struct wharf_req *req)
{
    send_type(req, "application/json; charset=utf-8");
    docs_error_json(&req->reply.out, req->engine);
}

static const struct {
    const char *pattern;
    void (*run)(struct wharf_req *req);
    bool tells; /* what is loaded: needs a key where GET /v1/openapi.json does */
} pages[] = {{"/docs", run_reference, false}, {"/docs/page/:file", docs_run_file, false},
    {"/docs/errors", run_errors, false}, {"/docs/errors.json", run_errors_json, true},
    {"/docs/guides", run_guides, false}, {"/docs/guides/:guide", run_guide, false}};

void docs_routes_add(struct wharf_decl *d)
{
    const struct config *c = d->engine->config;

    for (size_t i = 0; c->docs_enabled && i < sizeof(pages) / sizeof(pages[0]); i++) {
        struct route *r = vector_add(d->arena, &d->routes);

        *r = (struct route){.kind = ROUTE_KERNEL,
            .method = "GET",
            .pattern = pages[i].pattern,
            .area = -1,
            .public_route = !pages[i].tells || !c->openapi_require_key,
            .any_answer = true,
            .page = true,
            .run = pages[i].run};
    }
}
