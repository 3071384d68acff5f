/* hooks_route.c - the operator's hooks as they run: GET /v1/system/lua-hooks and POST …/reload
 * (docs/spec/08-workflows-and-lua.md section 9). */
#include "lua/operator/hooks_route.h"

#include "lua/operator/generation.h"
#include "lua/operator/operator.h"
#include "lua/operator/routes.gen.h"
#include "process/board.h"
#include "util/str.h"
#include "util/time.h"

enum { RELOAD_WAIT_US = 8000000 };

static int64_t errors_of(const struct lua_hook *h)
{
    return h->stats ? (int64_t)atomic_load(&h->stats->errors) : 0;
}

static void hooks_route_write_file(
    struct jw *w, const struct lua_generation *g, const struct hook_file *f)
{
    char name[SANDBOX_NAME_MAX + 8];
    int64_t n = 0, errors = 0;

    snprintf(name, sizeof(name), "%s.lua", f->name);
    for (size_t i = 0; i < g->n_hooks; i++) {
        if (strcmp(g->hooks[i]->file, name) != 0)
            continue;
        n++;
        errors += errors_of(g->hooks[i]);
    }
    jw_open(w, NULL, '{');
    jw_z(w, "name", name);
    jw_z(w, "sha256", f->sha256);
    jw_int(w, "hooks", n);
    jw_int(w, "errors", errors);
    jw_close(w, '}');
}

static void write_ms(struct wharf_req *req, const char *key, const struct lua_hook *h, double part)
{
    int64_t us = h->stats ? board_hook_us(h->stats, part) : 0;

    if (us)
        jw_raw(&req->reply.w, key, arena_printf(req->arena, "%.3f", (double)us / 1000));
    else
        jw_null(&req->reply.w, key);
}

static void hooks_route_write_hook(struct wharf_req *req, const struct lua_hook *h)
{
    struct jw *w = &req->reply.w;

    jw_open(w, NULL, '{');
    jw_z(w, "name", h->name);
    jw_int(w, "line", h->line);
    jw_z(w, "phase", hook_phase_name(h->phase));
    jw_z(w, "resource", h->res ? h->res->def->name : NULL);
    jw_z(w, "action",
        !h->res              ? NULL
        : h->op == OP_CREATE ? "create"
        : h->op == OP_UPDATE ? "update"
                             : "delete");
    jw_z(w, "pattern", h->pattern.n ? h->pattern.p : NULL);
    jw_int(w, "calls", h->stats ? (int64_t)atomic_load(&h->stats->calls) : 0);
    jw_int(w, "errors", errors_of(h));
    write_ms(req, "p50_ms", h, 0.5);
    write_ms(req, "p99_ms", h, 0.99);
    jw_close(w, '}');
}

static void write_trouble(struct wharf_req *req)
{
    struct req_reply *reply = &req->reply;
    struct hook_problem p;

    operator_trouble(req->engine->operator_lua, &p);
    if (!p.message[0]) {
        jw_null(&reply->w, "last_error");
        return;
    }
    jw_open(&reply->w, "last_error", '{');
    jw_z(&reply->w, "file", p.file[0] ? p.file : NULL);
    if (p.line)
        jw_int(&reply->w, "line", p.line);
    else
        jw_null(&reply->w, "line");
    jw_z(&reply->w, "message", p.message);
    jw_close(&reply->w, '}');
}

static wharf_status hooks_route_show(struct wharf_req *req, void *arg)
{
    struct req_reply *reply = &req->reply;
    const struct board *b = req->engine->board;
    const struct lua_generation *g = operator_hold(req);
    char iso[ISO_MS_LEN + 1];

    time_format_iso(atomic_load(&b->hooks_loaded_us), iso);
    req_respond(reply, 200, str_z("Lua hooks retrieved"));
    jw_open(&reply->w, NULL, '{');
    jw_z(&reply->w, "object", "lua_hooks");
    jw_int(&reply->w, "generation", (int64_t)atomic_load(&b->hooks_generation));
    jw_z(&reply->w, "loaded_at", iso);
    jw_open(&reply->w, "files", '[');
    for (size_t i = 0; i < g->folder.n; i++)
        hooks_route_write_file(&reply->w, g, &g->folder.files[i]);
    jw_close(&reply->w, ']');
    jw_open(&reply->w, "hooks", '[');
    for (size_t i = 0; i < g->n_hooks; i++)
        hooks_route_write_hook(req, g->hooks[i]);
    jw_close(&reply->w, ']');
    write_trouble(req);
    jw_close(&reply->w, '}');
    return WHARF_OK;
}

static wharf_status reload(struct wharf_req *req, void *arg)
{
    operator_reload(req->engine->operator_lua, RELOAD_WAIT_US);
    operator_release(req); /* what came of it is told, not what this request began with */
    return hooks_route_show(req, arg);
}

void lua_hooks_routes_add(struct wharf_decl *d)
{
    const wharf_route get = {ROUTE_LUA_HOOKS, .handler = hooks_route_show};
    const wharf_route again = {ROUTE_LUA_HOOKS_RELOAD, .handler = reload};

    decl_own_route(d, &get);
    decl_own_route(d, &again);
}
