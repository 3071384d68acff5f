/* arrival.c - see arrival.h. */
#include "blob/arrival.h"

#include "identity/auth.h"
#include "resource/engine.h"
#include "resource/hooks.h"
#include "util/str.h"
#include "wharf/errors.h"

struct file_arrival {
    const struct plugin *plugin;
    arrival_fn *fn; /* or NULL */
    damage_fn *damage; /* or NULL */
    refusal_fn *refused; /* or NULL */
    struct file_arrival *next;
};

static struct file_arrival *listener(const struct engine *e, wharf_str plugin)
{
    struct file_arrival *a = e->arrivals;

    while (a && !str_eqz(plugin, a->plugin->name))
        a = a->next;
    return a;
}

/* Returns what is kept of the plugin, made when it is asked for first. */
static struct file_arrival *listener_made(const wharf_plugin *self)
{
    struct engine *e = self->engine;
    struct file_arrival *a = listener(e, str_z(self->plugin->name));

    if (a)
        return a;
    a = ARENA_NEW(self->memory, struct file_arrival);
    *a = (struct file_arrival){.plugin = self->plugin, .next = e->arrivals};
    e->arrivals = a;
    return a;
}

void arrival_listen(const wharf_plugin *self, arrival_fn *fn)
{
    listener_made(self)->fn = fn;
}

void arrival_listen_damage(const wharf_plugin *self, damage_fn *fn)
{
    listener_made(self)->damage = fn;
}

void arrival_listen_refusals(const wharf_plugin *self, refusal_fn *fn)
{
    listener_made(self)->refused = fn;
}

bool arrival_heard(const struct wharf_req *req)
{
    const struct file_arrival *a = req->plugin ? listener(req->engine, str_z(req->plugin->name))
                                               : NULL;

    return a && a->fn;
}

/* Acts for the organization as the server's own principal. */
static wharf_status act_for_owner(struct wharf_req *req, wharf_str organization)
{
    static const char sql[] = "SELECT COALESCE(live_organization_id, id) FROM wharf.organization "
                              "WHERE organization_id = $1 AND id = $1";
    const struct sql_arg arg = {organization.p, organization.n};
    PGresult *r = req_query(req, sql, &arg, 1);
    struct principal *who;

    if (!r)
        return WHARF_UNAVAILABLE;
    if (!PQntuples(r))
        return req_fail(req, ERR_NOT_FOUND, NULL, NULL);
    who = principal_system(req->arena, organization);
    who->access.live_organization = arena_dupz(req->arena, PQgetvalue(r, 0, 0));
    who->test_mode = !str_eq(who->access.live_organization, organization);
    req->access.who = who;
    return WHARF_OK;
}

/* Calls one of a's functions as the server's own principal: that of bytes that came, or that of
 * bytes that are not taken, where there is a reason. */
static wharf_status call_listener(struct wharf_req *req, const struct file_arrival *a,
    wharf_str organization, wharf_str file, const char *reason, wharf_str *ret_refused)
{
    struct req_access *access = &req->access;
    struct principal *caller = access->who;
    const struct plugin *before;
    wharf_status s = act_for_owner(req, organization);

    if (s != WHARF_OK)
        return s;
    before = plugin_enter(req, a->plugin, "a file that came");
    s = reason ? a->refused(req, file, reason) : a->fn(req, file, ret_refused);
    plugin_leave(req, before);
    if (s != WHARF_OK && !req->problems.n)
        s = plugin_unexplained(req, a->plugin, "what is told of files", s);
    access->who = caller;
    req_leave_organization(req);
    return s;
}

wharf_status arrival_tell_damage(
    struct wharf_req *req, wharf_str plugin, wharf_str organization, wharf_str file, uint32_t state)
{
    const struct file_arrival *a = listener(req->engine, plugin);
    struct principal *caller = req->access.who;
    const struct plugin *before;
    wharf_status s;

    if (!a || !a->damage)
        return WHARF_OK;
    s = act_for_owner(req, organization);
    if (s != WHARF_OK)
        return s;
    before = plugin_enter(req, a->plugin, "a file that is damaged");
    s = a->damage(req, file, state);
    plugin_leave(req, before);
    req->access.who = caller;
    req_leave_organization(req);
    return s;
}

wharf_status arrival_tell(struct wharf_req *req, wharf_str plugin, wharf_str organization,
    wharf_str file, wharf_str *ret_refused)
{
    const struct file_arrival *a = listener(req->engine, plugin);

    *ret_refused = str_z("");
    return a && a->fn ? call_listener(req, a, organization, file, NULL, ret_refused) : WHARF_OK;
}

wharf_status arrival_refuse(struct wharf_req *req, wharf_str plugin, wharf_str organization,
    wharf_str file, const char *reason)
{
    const struct file_arrival *a = listener(req->engine, plugin);

    return a && a->refused ? call_listener(req, a, organization, file, reason, NULL) : WHARF_OK;
}
