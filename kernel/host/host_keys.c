/* host_keys.c - the service wharf.keys (plugin-api/wharf/service/keys.h): key texts, areas, and
 * what the caller may do.
 *
 * Leaves to others: the rows of keys and what may stand in them (modules/org). */
#include <stdio.h>
#include <stdlib.h>

#include "identity/keytext.h"
#include "identity/roles.h"
#include "host/host.h"
#include "util/id.h"
#include "util/network.h"
#include "util/str.h"
#include "wharf/errors.h"
#include "wharf/service/keys.h"
#include <sodium.h>

enum {
    OTHERS_MAX = 100, /* matches that are looked at */
    LAST = 4,
    NETWORK_TEXT = 64
};

static wharf_str host_keys_or_empty(wharf_str s)
{
    return s.p ? s : str_z("");
}

static const wharf_caller *k_caller(wharf_req *req)
{
    wharf_caller *c = ARENA_NEW(req->arena, wharf_caller);
    const struct principal *p = req->access.who;

    *c = (wharf_caller){.head = WHARF_HEAD(wharf_caller),
        .live_organization = host_keys_or_empty(p->access.live_organization),
        .key_id = host_keys_or_empty(p->key_id),
        .role = host_keys_or_empty(p->role),
        .user_id = host_keys_or_empty(p->access.user_id),
        .device_id = host_keys_or_empty(p->access.device_id),
        .locations = p->access.locations,
        .n_locations = p->access.n_locations,
        .all_locations = p->access.all_locations,
        .test_mode = p->test_mode,
        .settings = req->job ? NULL : p->settings,
        .profile = req->job ? NULL : p->profile};
    return c;
}

static size_t k_areas(wharf_req *req, const wharf_str **ret_areas)
{
    const struct areas *known = &req->engine->areas;
    wharf_str *list = ARENA_ARRAY(req->arena, wharf_str, known->count + 1);
    size_t n = 0;

    for (size_t i = 0; i < known->count; i++) {
        if (strcmp(known->names[i], "system") != 0)
            list[n++] = str_z(known->names[i]);
    }
    qsort(list, n, sizeof(*list), str_order_entries);
    *ret_areas = list;
    return n;
}

static uint32_t k_level(wharf_req *req, wharf_str area)
{
    int n = area_find(&req->engine->areas, area);

    return n < 0 ? WHARF_LEVEL_NONE : req->access.who->levels[n];
}

static bool k_role_level(wharf_req *req, wharf_str role, wharf_str area, uint32_t *ret_level)
{
    const char *name = arena_dup_str(req->arena, role).p;

    if (!role_is_builtin(name))
        return false;
    *ret_level = role_level(name, arena_dup_str(req->arena, area).p);
    return true;
}

static wharf_status k_issue(
    wharf_req *req, wharf_str key_id, bool test, wharf_str *ret_text, wharf_str *ret_last4)
{
    static const char sql[] =
        "INSERT INTO wharf.token (hash, organization_id, kind, id, created_at)"
        " VALUES ($1::bytea, $2, 'api_key', $3, wharf.now())";
    char text[KEYTEXT_LEN + 1], hex[2 + 2 * KEYTEXT_HASH + 1] = "\\x";
    unsigned char hash[KEYTEXT_HASH];
    struct sql_arg args[3] = {{hex, 2 + 2 * KEYTEXT_HASH},
        {req->access.who->access.live_organization.p, req->access.who->access.live_organization.n},
        {key_id.p, key_id.n}};

    keytext_new(test, text);
    keytext_hash((wharf_str){text, KEYTEXT_LEN}, req->engine->config->auth_pepper, hash);
    sodium_bin2hex(hex + 2, sizeof(hex) - 2, hash, sizeof(hash));
    if (!req_query(req, sql, args, 3))
        return req_failed(req);
    *ret_text = arena_dup(req->arena, text, KEYTEXT_LEN);
    *ret_last4 = arena_dup(req->arena, text + KEYTEXT_LEN - LAST, LAST);
    return WHARF_OK;
}

static wharf_status k_test_organization(wharf_req *req, wharf_str *ret_id)
{
    struct req_access *access = &req->access;
    char id[ID_MAX];
    size_t n = id_new("org", req->now_us, id);
    struct sql_arg args[2] = {
        {access->who->access.live_organization.p, access->who->access.live_organization.n},
        {id, n}};
    PGresult *r;

    if (access->who->test_mode) {
        *ret_id = access->who->organization;
        return WHARF_OK;
    }
    r = req_query(req, "SELECT wharf.test_twin($1, $2)", args, 2);
    if (!r)
        return req_failed(req);
    if (PQgetisnull(r, 0, 0))
        return req_fail(req, ERR_INTERNAL, NULL, "the organization of the request is gone");
    *ret_id = arena_dupz(req->arena, PQgetvalue(r, 0, 0));
    return WHARF_OK;
}

/* ---- locations of either mode ---- */

/* Finds the resource of locations and the organization of the data. Without a module that has
 * locations there are none. */
static wharf_status host_keys_data_of(
    wharf_req *req, bool test, const struct resource **ret_locations, wharf_str *ret_organization)
{
    *ret_locations = engine_locations(req->engine);
    if (test)
        return k_test_organization(req, ret_organization);
    *ret_organization = req->access.who->access.live_organization;
    return WHARF_OK;
}

static wharf_status k_known_locations(
    wharf_req *req, bool test, const wharf_str *ids, size_t n, bool *ret_known)
{
    const struct resource *locations;
    wharf_str organization = {"", 0};
    struct sql s;
    PGresult *r;
    wharf_status status = host_keys_data_of(req, test, &locations, &organization);

    memset(ret_known, 0, n * sizeof(*ret_known));
    if (status != WHARF_OK || !locations || !n)
        return status;
    sql_init(&s, req->arena);
    sql_addf(&s, "SELECT t.id FROM %s t WHERE t.organization_id = ", locations->def->storage.table);
    sql_bind(&s, organization);
    sql_add(&s, " AND t.deleted_at IS NULL AND t.id = ANY (");
    sql_bind_array(&s, ids, n);
    sql_add(&s, "::text[])");
    r = req_query_sql(req, &s);
    if (!r)
        return req_failed(req);
    for (int row = 0; row < PQntuples(r); row++) {
        for (size_t i = 0; i < n; i++)
            ret_known[i] = ret_known[i] || str_eqz(ids[i], PQgetvalue(r, row, 0));
    }
    return WHARF_OK;
}

static wharf_status k_other_locations(
    wharf_req *req, bool test, const wharf_str **ret_ids, size_t *ret_n)
{
    const struct access *who = &req->access.who->access;
    const struct resource *locations;
    wharf_str organization = {"", 0}, *ids;
    struct sql s;
    PGresult *r;
    wharf_status status = host_keys_data_of(req, test, &locations, &organization);

    *ret_n = 0;
    if (status != WHARF_OK || !locations || who->all_locations)
        return status;
    sql_init(&s, req->arena);
    sql_addf(&s, "SELECT t.id FROM %s t WHERE t.organization_id = ", locations->def->storage.table);
    sql_bind(&s, organization);
    sql_add(&s, " AND t.deleted_at IS NULL AND NOT t.id = ANY (");
    sql_bind_array(&s, who->locations, who->n_locations);
    sql_addf(&s, "::text[]) ORDER BY t.id LIMIT %d", OTHERS_MAX);
    r = req_query_sql(req, &s);
    if (!r)
        return req_failed(req);
    *ret_ids = ids = ARENA_ARRAY(req->arena, wharf_str, (size_t)PQntuples(r) + 1);
    for (int row = 0; row < PQntuples(r); row++)
        ids[(*ret_n)++] = arena_dupz(req->arena, PQgetvalue(r, row, 0));
    return WHARF_OK;
}

static bool k_network(wharf_str text)
{
    struct network n;

    return text.n < NETWORK_TEXT && network_parse(text.p, &n);
}

/* ---- other organizations ---- */

static bool k_tenants(wharf_req *req)
{
    return req->engine->config->tenants_enabled;
}

static wharf_status k_as_installation(
    wharf_req *req, wharf_str organization, wharf_handler *fn, void *arg)
{
    struct req_access *access = &req->access;
    struct principal *caller = access->who;
    wharf_status s;

    access->who = principal_system(req->arena, arena_dup_str(req->arena, organization));
    access->who->access.live_organization = access->who->organization;
    req_leave_organization(req);
    s = fn(req, arg);
    access->who = caller;
    req_leave_organization(req);
    return s;
}

const wharf_keys_api host_keys = {WHARF_HEAD(wharf_keys_api), k_caller, k_areas, k_level,
    k_role_level, k_issue, k_test_organization, k_known_locations, k_other_locations, k_network,
    k_tenants, k_as_installation};
