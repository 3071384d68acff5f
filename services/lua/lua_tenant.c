/* lua_tenant.c - see lua_tenant.h. */
#include "lua/lua_tenant.h"

#include "lua/change.h"
#include "resource/access.h"
#include "util/str.h"
#include "wharf/errors.h"
#include "wharf/service/lua.h"

/* Tells whether "resource:action" is one of the words. */
static bool lua_tenant_listed(wharf_str words, const char *resource, const char *action)
{
    size_t n = strlen(resource), k = strlen(action);

    for (const char *p = words.p, *end = words.p + words.n; p < end; p++) {
        const char *stop = memchr(p, ' ', (size_t)(end - p));

        stop = stop ? stop : end;
        if ((size_t)(stop - p) == n + 1 + k && !memcmp(p, resource, n) && p[n] == ':' &&
            !memcmp(p + n + 1, action, k))
            return true;
        p = stop;
    }
    return false;
}

bool tenant_wants(const struct wharf_req *req, const struct resource *res, uint32_t op)
{
    const struct principal *who = req->access.who;

    if (!req->engine->tenant_hooks || !who || !who->organization.n)
        return false;
    return !who->hooks.p ||
           (who->hooks.n && lua_tenant_listed(who->hooks, res->def->name, write_action(op)));
}

static void lua_tenant_describe(
    struct wharf_req *req, const struct write *w, wharf_str location_id, wharf_lua_change *c)
{
    *c = (wharf_lua_change){.head = WHARF_HEAD(wharf_lua_change),
        .resource = w->res->def->name,
        .action = write_action(w->op),
        .id = w->id,
        .location_id = location_id,
        .text = str_z(""),
        .depth = (uint32_t)req->depth,
        .ahead = w->hooks_ahead};
}

/* Returns the status with its own problem, or one that says that something is wrong. */
static wharf_status lua_tenant_reported(struct wharf_req *req, wharf_status s)
{
    return s != WHARF_OK && !req->problems.n ? req_fail(req, ERR_INTERNAL, NULL, NULL) : s;
}

wharf_status tenant_ahead(struct wharf_req *req, struct write *w)
{
    const wharf_lua_hooks *hooks = req->engine->tenant_hooks;
    const struct plugin *before;
    wharf_lua_change c;
    wharf_status s;

    if (!tenant_wants(req, w->res, w->op) || !WHARF_HAS(wharf_lua_hooks, hooks, ahead))
        return WHARF_OK;
    lua_tenant_describe(req, w, str_z(""), &c);
    before = plugin_enter(req, req->engine->tenant_plugin, "before hooks");
    s = hooks->ahead(req, &c, &w->hooks_ahead);
    plugin_leave(req, before);
    return lua_tenant_reported(req, s);
}

/* Runs one hook; a changed body is checked by the schema at once. */
static wharf_status lua_tenant_run_one(
    struct wharf_req *req, struct write *w, void *list, size_t i, bool *ret_changed)
{
    const struct wharf_json *input = NULL;
    wharf_lua_change c;
    wharf_status s;

    lua_tenant_describe(req, w, write_location(w), &c);
    c.text = write_change_text(
        req, w, w->op == OP_DELETE ? str_z("") : write_row_to_be(req, w), false);
    s = req->engine->tenant_hooks->before(req, list, i, &c, &input);
    if (s != WHARF_OK || !input || w->op == OP_DELETE || json_equal(input, write_shown(req, w)))
        return s;
    w->body = write_whole(req, w, input);
    *ret_changed = true;
    return write_values(req, w);
}

wharf_status tenant_before(struct wharf_req *req, struct write *w, bool *ret_changed)
{
    const struct plugin *before;
    wharf_lua_change c;
    void *list = NULL;
    size_t n = 0;
    wharf_status s;

    *ret_changed = false;
    if (!tenant_wants(req, w->res, w->op))
        return WHARF_OK;
    lua_tenant_describe(req, w, write_location(w), &c);
    before = plugin_enter(req, req->engine->tenant_plugin, "before hooks");
    s = req->engine->tenant_hooks->list(req, &c, &list, &n);
    for (size_t i = 0; i < n && s == WHARF_OK; i++)
        s = lua_tenant_run_one(req, w, list, i, ret_changed);
    plugin_leave(req, before);
    return lua_tenant_reported(req, s);
}

wharf_status tenant_after(struct wharf_req *req, const struct write *w)
{
    struct view view = {.in = IN_RETRIEVE};
    const struct plugin *before;
    wharf_lua_change c;
    wharf_status s;

    if (!tenant_wants(req, w->res, w->op))
        return WHARF_OK;
    lua_tenant_describe(
        req, w, record_location(w->new_rec && w->op != OP_DELETE ? w->new_rec : w->old_rec), &c);
    c.text = write_change_text(
        req, w, w->op == OP_DELETE ? str_z("") : record_json(req->arena, w->new_rec, &view), false);
    before = plugin_enter(req, req->engine->tenant_plugin, "after hooks");
    s = req->engine->tenant_hooks->after(req, &c);
    plugin_leave(req, before);
    return s;
}
