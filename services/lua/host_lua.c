/* host_lua.c - the service wharf.lua (plugin-api/wharf/service/lua.h): runs of tenants' Lua, and
 * the rights of their calls of the API. */
#include <string.h>

#include "host/host.h"
#include "lua/lua_http.h"
#include "lua/inner.h"
#include "lua/kept.h"
#include "lua/named.h"
#include "lua/lua_run.h"
#include "lua/lua_share.h"
#include "lua/tell.h"
#include "lua/lua_triggers.h"
#include "resource/decl.h"
#include "plugin/manifest.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

struct wharf_lua_actor {
    struct principal who; /* immutable from here on */
};

static wharf_status l_run(
    wharf_req *req, const wharf_lua_spec *spec, wharf_lua_outcome *ret_outcome)
{
    wharf_lua_outcome o = {.head = ret_outcome->head};

    if (req->tx.depth && spec->wall_us > WHARF_LUA_HOOK_US)
        return req_fail(req, ERR_INTERNAL, NULL,
            "a run inside of a transaction would hold it as long as it likes");
    if (!lua_run(req, spec, &o))
        return req_fail(req, ERR_OVERLOADED, NULL,
            "workflows can't be run here: the program wharf-cell-lua is missing");
    if (o.end == WHARF_LUA_NO_CELL && !req->reply.retry_after)
        req->reply.retry_after = 1;
    memcpy(
        ret_outcome, &o, ret_outcome->head.size < sizeof(o) ? ret_outcome->head.size : sizeof(o));
    return WHARF_OK;
}

/* ---- rights ---- */

static void host_lua_release(void *arg)
{
    principal_unref(arg);
}

/* Reads the publisher as it is now; NULL: not any more. */
static wharf_status read_publisher(wharf_req *req, wharf_str key_id, const struct principal **ret)
{
    const struct access *who = &req->access.who->access;
    struct sql_arg args[2] = {
        {who->live_organization.p, who->live_organization.n}, {key_id.p, key_id.n}};
    PGresult *r = req_query(req, auth_lookup_id_sql, args, 2);
    struct principal *p;

    *ret = NULL;
    if (!r)
        return req_failed(req);
    p = auth_principal(&req->engine->areas, r, req->now_us);
    arena_on_release(req->arena, host_lua_release, p);
    if (!p->refusal && str_eq(p->organization, req->access.who->organization))
        *ret = p;
    return WHARF_OK;
}

static void meet_scopes(const struct areas *areas, const wharf_json *scopes, struct principal *p)
{
    uint8_t wanted[AREAS_MAX] = {0};

    for (size_t i = 0; json_is(scopes, JSON_ARRAY) && i < scopes->count; i++) {
        wharf_str s = json_at(scopes, i)->text;
        const char *colon = memchr(s.p, ':', s.n);
        int area = colon ? area_find(areas, (wharf_str){s.p, (size_t)(colon - s.p)}) : -1;
        uint8_t level = colon && !strcmp(colon, ":write") ? SCOPE_WRITE : SCOPE_READ;

        if (area >= 0 && wanted[area] < level)
            wanted[area] = level;
    }
    for (size_t i = 0; i < AREAS_MAX; i++)
        p->levels[i] = p->levels[i] < wanted[i] ? p->levels[i] : wanted[i];
}

static bool host_lua_among(const wharf_json *ids, wharf_str id)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (str_eq(json_at(ids, i)->text, id))
            return true;
    }
    return false;
}

/* Keeps of the principal's locations those of the list; both may be "all". */
static void meet_list(wharf_req *req, const wharf_json *ids, struct principal *p)
{
    wharf_str *kept;
    size_t n = 0;

    if (!json_is(ids, JSON_ARRAY) || !ids->count)
        return;
    kept = ARENA_ARRAY(req->arena, wharf_str, ids->count + p->access.n_locations);
    if (p->access.all_locations) {
        for (size_t i = 0; i < ids->count; i++) { /* in byte order, as access wants them */
            wharf_str id = json_at(ids, i)->text;
            size_t at = n++;

            for (; at > 0 && strcmp(kept[at - 1].p, id.p) > 0; at--)
                kept[at] = kept[at - 1];
            kept[at] = id;
        }
    } else {
        for (size_t i = 0; i < p->access.n_locations; i++) {
            if (host_lua_among(ids, p->access.locations[i]))
                kept[n++] = p->access.locations[i];
        }
    }
    p->access.all_locations = false;
    p->access.locations = kept;
    p->access.n_locations = n;
}

static void meet_caller(wharf_req *req, struct principal *p)
{
    const struct principal *caller = req->access.who;
    wharf_str *kept;
    size_t n = 0;

    if (caller->access.all_locations)
        return;
    if (p->access.all_locations) {
        p->access.all_locations = false;
        p->access.locations = caller->access.locations;
        p->access.n_locations = caller->access.n_locations;
        return;
    }
    kept = ARENA_ARRAY(req->arena, wharf_str, p->access.n_locations + 1);
    for (size_t i = 0; i < p->access.n_locations; i++) {
        if (principal_may_see(caller, p->access.locations[i]))
            kept[n++] = p->access.locations[i];
    }
    p->access.locations = kept;
    p->access.n_locations = n;
}

static wharf_status l_actor(
    wharf_req *req, const wharf_lua_rights *rights, wharf_lua_actor **ret_actor)
{
    const struct principal *publisher;
    wharf_status s = read_publisher(req, rights->key_id, &publisher);
    struct wharf_lua_actor *actor;

    *ret_actor = NULL;
    if (s != WHARF_OK || !publisher)
        return s;
    actor = ARENA_NEW(req->arena, struct wharf_lua_actor);
    memcpy(&actor->who, publisher, sizeof(actor->who));
    atomic_init(&actor->who.refs, 1);
    actor->who.arena = NULL; /* the request's: nobody frees it */
    actor->who.actor_type = str_z("workflow");
    actor->who.actor_id = arena_dup_str(req->arena, rights->actor_id);
    actor->who.actor_name = arena_dup_str(req->arena, rights->actor_name);
    actor->who.datetime_format = DATETIME_ISO;
    meet_scopes(&req->engine->areas, rights->scopes, &actor->who);
    meet_list(req, rights->locations, &actor->who);
    if (rights->callers_locations)
        meet_caller(req, &actor->who);
    principal_settle(&req->engine->areas, &actor->who, req->arena);
    *ret_actor = actor;
    return WHARF_OK;
}

/* ---- calls ---- */

static uint32_t host_lua_mistake(wharf_str *ret_text, const char *text)
{
    *ret_text = str_z(text);
    return WHARF_LUA_MISTAKE;
}

static uint32_t l_call(wharf_req *req, wharf_lua_actor *actor, wharf_str op, const wharf_json *args,
    wharf_str default_key, wharf_str *ret_text)
{
    bool get = str_eqz(op, "api.get"), post = str_eqz(op, "api.post"),
         delete = str_eqz(op, "api.delete");
    struct inner_call call = {.method = get    ? "GET"
                                        : post ? "POST"
                                               : "DELETE",
        .path = json_text_or(args, "path", ""),
        .query = json_get(args, "query"),
        .body = post ? json_get(args, "body") : NULL,
        .who = &actor->who};

    if (!get && !post && !delete)
        return host_lua_mistake(ret_text,
            "{\"code\":\"op.unknown\",\"message\":\"this function is not available here\"}");
    if (!str_starts(call.path, "/v1/"))
        return host_lua_mistake(ret_text,
            "{\"code\":\"param.invalid\",\"message\":\"a path of the API begins with /v1/\"}");
    if (req->tx.depth && !get)
        return host_lua_mistake(ret_text,
            "{\"code\":\"op.unknown\",\"message\":\"inside of a request's transaction the API is "
            "only read; do it in an after hook\"}");
    if (!get) {
        if (!inner_key(args, &call.idempotency_key, ret_text))
            return WHARF_LUA_MISTAKE;
        call.key_is_ours = !call.idempotency_key.p;
        call.idempotency_key = call.key_is_ours ? default_key : call.idempotency_key;
    }
    return inner_request(req, &call, ret_text) ? WHARF_LUA_GIVEN : WHARF_LUA_REFUSED;
}

_Static_assert((int)SANDBOX_GIVEN == WHARF_LUA_GIVEN && (int)SANDBOX_REFUSED == WHARF_LUA_REFUSED &&
                   (int)SANDBOX_MISTAKE == WHARF_LUA_MISTAKE &&
                   (int)SANDBOX_ENDED == WHARF_LUA_ENDED,
    "answers have the same numbers");

static uint32_t l_http(wharf_req *req, wharf_lua_outside *limits, wharf_str op,
    const wharf_json *args, wharf_str *ret_text)
{
    struct lua_http own = {.deadline_us = clock_monotonic_us() + limits->left_us,
        .left = limits->calls,
        .hosts = limits->hosts};
    uint32_t answer = lua_http(req, &own, str_eqz(op, "http.all"), args, ret_text);

    limits->calls = own.left;
    return answer;
}

static uint32_t l_tell(wharf_req *req, wharf_lua_actor *actor, const wharf_lua_sender *given,
    wharf_str op, const wharf_json *args, wharf_str *ret_text)
{
    const struct lua_sender sender = {&actor->who, given->resource_type, given->resource_id,
        given->location_id, true, given->key};

    if (str_eqz(op, "emit"))
        return lua_emit(req, &sender, args, ret_text);
    if (str_eqz(op, "mail.send"))
        return lua_mail(req, &sender, args, ret_text);
    return host_lua_mistake(
        ret_text, "{\"code\":\"op.unknown\",\"message\":\"this function is not available here\"}");
}

/* ---- hooks of organizations ---- */

static void l_hooks(wharf_decl *d, const wharf_lua_hooks *hooks)
{
    d->engine->tenant_hooks = hooks;
    d->engine->tenant_plugin = d->plugin;
}

static bool l_hookable(
    const wharf_plugin *self, wharf_str resource, wharf_str action, wharf_str *ret_area)
{
    const struct resource *res = named_action(action)
                                     ? named_hookable(self->engine, resource, action)
                                     : NULL;

    if (res)
        *ret_area = str_z(res->def->scope);
    return res != NULL;
}

static bool l_area(const wharf_plugin *self, wharf_str resource, wharf_str *ret_area)
{
    const struct resource *res = engine_resource(self->engine, resource.p);

    if (res)
        *ret_area = str_z(res->def->scope);
    return res != NULL;
}

static wharf_status l_hooked(wharf_req *req, wharf_str owner, const wharf_str *writes, size_t n)
{
    struct sql_arg args[3] = {
        {req->access.who->organization.p, req->access.who->organization.n}, {owner.p, owner.n}};
    PGresult *gone = req_query(req,
        "DELETE FROM wharf.hook WHERE organization_id = $1 AND owner = $2 RETURNING 1", args, 2);
    bool any = n > 0;

    if (!gone)
        return req_failed(req);
    any = any || PQntuples(gone) > 0;
    for (size_t i = 0; i < n; i++) {
        args[2] = (struct sql_arg){writes[i].p, writes[i].n};
        if (!req_query(req,
                "INSERT INTO wharf.hook (organization_id, owner, what) VALUES ($1, $2, $3) ON "
                "CONFLICT DO NOTHING",
                args, 3))
            return req_failed(req);
    }
    if (any)
        host_req.access_changed(req); /* keys carry it */
    return WHARF_OK;
}

static const char *l_trigger_problem(
    wharf_req *req, const wharf_json *triggers, const wharf_json *trigger)
{
    struct trigger_fault fault;

    return trigger_good(req->arena, triggers, trigger, &fault) ? NULL : fault.message;
}

static void l_place(wharf_req *req, const wharf_json *error)
{
    struct req_problems *problems = &req->problems;

    if (problems->n && !problems->more) /* else the problem meant was only counted */
        problems->list[problems->n - 1].place = error;
}

const wharf_lua_api host_lua = {WHARF_HEAD(wharf_lua_api), l_run, l_actor, l_call, l_http, l_hooks,
    l_hookable, l_hooked, req_at_end, l_tell, lua_kept, share_wait_us, l_place, lua_ahead, l_area,
    l_trigger_problem};
