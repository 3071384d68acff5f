/* principal.c - an API key's row, its user or device, its role and locations, made into one
 * immutable principal. See auth.h. */
#include "identity/seen.h"

#include <stdio.h>
#include <stdlib.h>

#include "identity/roles.h"
#include "kernel_queries.gen.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

const char auth_lookup_sql[] = QUERY_PRINCIPAL_BY_TOKEN;
const char auth_lookup_id_sql[] = QUERY_PRINCIPAL_BY_ID;
const char auth_lookup_user_sql[] = QUERY_PRINCIPAL_OF_USER;

enum {
    C_ORGANIZATION,
    C_KEY,
    C_KEY_NAME,
    C_LAST4,
    C_MODE,
    C_SCOPES,
    C_KEY_ALL,
    C_KEY_LOCATIONS,
    C_EXPIRES,
    C_REVOKED,
    C_ACTIVE,
    C_EXPIRE_AFTER,
    C_USER,
    C_USER_NAME,
    C_ROLE,
    C_USER_ACTIVE,
    C_USER_ALL,
    C_USER_LOCATIONS,
    C_ROLE_SCOPES,
    C_ROLE_RESTRICTED,
    C_DEVICE,
    C_DEVICE_NAME,
    C_DEVICE_ACTIVE,
    C_DEVICE_ALL,
    C_DEVICE_LOCATIONS,
    C_DEVICE_SCOPES,
    C_HAS_USER,
    C_HAS_DEVICE,
    C_NETWORKS,
    C_LIVE,
    C_DATETIME,
    C_LOG_DAYS,
    C_REQUEST_LOG_DAYS,
    C_HOOKS,
    C_SETTINGS,
    C_PROFILE,
    C_KEY_LIMITS,
    C_ORGANIZATION_LIMITS,
};

void principal_ref(struct principal *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

void principal_unref(struct principal *p)
{
    if (p && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1)
        arena_free(p->arena);
}

static wharf_str principal_text(struct principal *p, const PGresult *r, int column)
{
    return arena_dup(p->arena, PQgetvalue(r, 0, column), (size_t)PQgetlength(r, 0, column));
}

static bool yes(const PGresult *r, int column)
{
    return PQgetvalue(r, 0, column)[0] == 't';
}

static const struct wharf_json *principal_json(struct principal *p, const PGresult *r, int column)
{
    struct json_error e;

    return PQgetisnull(r, 0, column) ? NULL
                                     : json_parse(p->arena, principal_text(p, r, column), &e);
}

struct set {
    bool all;
    const wharf_str *ids;
    size_t n;
};

static struct set location_set(struct principal *p, const PGresult *r, bool all, int column)
{
    const struct wharf_json *list = principal_json(p, r, column);
    struct set s = {.all = all};
    wharf_str *ids;

    if (all || !list)
        return s;
    ids = ARENA_ARRAY(p->arena, wharf_str, list->count);
    for (const struct wharf_json *e = list->child; e; e = e->next)
        ids[s.n++] = e->text;
    s.ids = ids;
    return s;
}

/* Computes what is in both sets. Both are sorted in byte order. */
static struct set principal_meet(struct principal *p, struct set a, struct set b)
{
    wharf_str *ids;
    struct set s = {0};

    if (a.all || b.all)
        return a.all ? b : a;
    ids = ARENA_ARRAY(p->arena, wharf_str, a.n < b.n ? a.n : b.n);
    for (size_t i = 0, k = 0; i < a.n && k < b.n;) {
        int order = strcmp(a.ids[i].p, b.ids[k].p);

        if (!order)
            ids[s.n++] = a.ids[i];
        i += order <= 0;
        k += order >= 0;
    }
    s.ids = ids;
    return s;
}

static uint8_t level_in(const struct wharf_json *scopes, const char *area)
{
    /* "*" is every area but the operator's own. */
    int64_t all = strcmp(area, "system") != 0 ? json_int_or(scopes, "*", 0) : 0;
    int64_t level = json_int_or(scopes, area, all);

    return level >= SCOPE_WRITE ? SCOPE_WRITE : level == SCOPE_READ ? SCOPE_READ : SCOPE_NONE;
}

static void grant_scopes(struct principal *p, const struct areas *areas, const PGresult *r)
{
    const struct wharf_json *key = principal_json(p, r, C_SCOPES),
                            *role = principal_json(p, r, C_ROLE_SCOPES),
                            *device = principal_json(p, r, C_DEVICE_SCOPES);

    for (size_t i = 0; i < areas->count; i++) {
        const char *area = areas->names[i];
        uint8_t level = level_in(key, area), cap = SCOPE_WRITE;

        if (p->access.user_id.n)
            cap = role && !role_is_builtin(p->role.p) ? level_in(role, area)
                                                      : role_level(p->role.p, area);
        else if (p->access.device_id.n)
            cap = device ? level_in(device, area) : role_level("user", area);
        p->levels[i] = level < cap ? level : cap;
    }
}

static void read_person(struct principal *p, const PGresult *r)
{
    struct set set = location_set(p, r, yes(r, C_KEY_ALL), C_KEY_LOCATIONS), own = {.all = true};

    p->actor_type = str_z("api_key");
    p->actor_id = p->key_id;
    p->actor_name = p->key_name;
    if (yes(r, C_HAS_USER)) {
        bool everywhere;

        p->actor_type = str_z("user");
        p->actor_id = p->access.user_id = principal_text(p, r, C_USER);
        p->actor_name = principal_text(p, r, C_USER_NAME);
        p->role = principal_text(p, r, C_ROLE);
        everywhere = role_has_all_locations(p->role.p) ||
                     (!PQgetisnull(r, 0, C_ROLE_RESTRICTED) && !yes(r, C_ROLE_RESTRICTED));
        own = location_set(p, r, yes(r, C_USER_ALL) || everywhere, C_USER_LOCATIONS);
        if (!yes(r, C_USER_ACTIVE))
            p->refusal = ERR_PRINCIPAL_DISABLED;
    } else if (yes(r, C_HAS_DEVICE)) {
        p->actor_type = str_z("device");
        p->actor_id = p->access.device_id = principal_text(p, r, C_DEVICE);
        p->actor_name = principal_text(p, r, C_DEVICE_NAME);
        own = location_set(p, r, yes(r, C_DEVICE_ALL), C_DEVICE_LOCATIONS);
        if (!yes(r, C_DEVICE_ACTIVE))
            p->refusal = ERR_PRINCIPAL_DISABLED;
    }
    /* Theirs are live locations; the data of a test key has others. */
    if (!p->test_mode)
        set = principal_meet(p, set, own);
    p->access.all_locations = set.all;
    p->access.locations = set.ids;
    p->access.n_locations = set.n;
}

/* Reads the networks of a key. What does not read as a network lets nobody in: the list is not
 * empty for it. */
static void read_networks(struct principal *p, const PGresult *r)
{
    const struct wharf_json *list = principal_json(p, r, C_NETWORKS);
    struct network *networks;

    if (!list || !list->count)
        return;
    networks = ARENA_ARRAY(p->arena, struct network, list->count);
    for (const struct wharf_json *e = list->child; e; e = e->next, p->n_networks++) {
        if (e->type != JSON_STRING || !network_parse(e->text.p, &networks[p->n_networks]))
            networks[p->n_networks] = (struct network){.bits = 128};
    }
    p->networks = networks;
}

/* Reads the limits that operators gave the key and its organization. */
static struct own_limits principal_read_limits(struct principal *p, const PGresult *r)
{
    const struct wharf_json *key = principal_json(p, r, C_KEY_LIMITS),
                            *organization = principal_json(p, r, C_ORGANIZATION_LIMITS);

    return (struct own_limits){.key = {json_int_or(key, "rate", -1), json_int_or(key, "burst", -1)},
        .write = {json_int_or(key, "write", -1), json_int_or(key, "write_burst", -1)},
        .organization = {json_int_or(organization, "rate", -1),
            json_int_or(organization, "burst", -1)},
        .concurrency = json_int_or(key, "concurrency", -1)};
}

static uint8_t datetime_format(const char *name)
{
    /* enum datetime_format */
    static const char *const names[] = {"iso_8601", "epoch", "epoch_millis"};
    uint8_t i = sizeof(names) / sizeof(names[0]);

    while (i-- > 0 && strcmp(names[i], name) != 0)
        continue;
    return i < sizeof(names) / sizeof(names[0]) ? i : 0;
}

struct principal *principal_new(struct arena *a)
{
    struct principal *p = ARENA_NEW(a, struct principal);

    atomic_init(&p->refs, 1);
    p->organization = p->key_id = p->key_name = p->last4 = p->role = str_z("");
    p->actor_type = p->actor_id = p->actor_name = str_z("");
    p->access.organization = p->access.live_organization = str_z("");
    p->access.user_id = p->access.device_id = p->access.key_id = str_z("");
    p->expires_at_us = INT64_MAX;
    p->limits = (struct own_limits){{-1, -1}, {-1, -1}, {-1, -1}, -1};
    return p;
}

struct principal *auth_principal(const struct areas *areas, const PGresult *r, int64_t now_us)
{
    struct arena *a = arena_new(0);
    struct principal *p = principal_new(a);

    arena_belongs(a, MEMORY_KEYS);
    p->arena = a;
    if (!PQntuples(r)) {
        p->refusal = ERR_API_KEY_INVALID;
        return p;
    }
    p->organization = p->access.organization = principal_text(p, r, C_ORGANIZATION);
    p->access.live_organization = principal_text(p, r, C_LIVE);
    p->access.log_days = (int)strtol(PQgetvalue(r, 0, C_LOG_DAYS), NULL, 10);
    p->access.request_log_days = (int)strtol(PQgetvalue(r, 0, C_REQUEST_LOG_DAYS), NULL, 10);
    p->hooks = principal_text(p, r, C_HOOKS);
    p->settings = principal_json(p, r, C_SETTINGS);
    p->profile = principal_json(p, r, C_PROFILE);
    p->key_id = p->access.key_id = principal_text(p, r, C_KEY);
    p->key_name = principal_text(p, r, C_KEY_NAME);
    p->last4 = principal_text(p, r, C_LAST4);
    p->test_mode = !strcmp(PQgetvalue(r, 0, C_MODE), "test");
    p->event_days = principal_event_days(PQgetvalue(r, 0, C_EXPIRE_AFTER));
    p->datetime_format = datetime_format(PQgetvalue(r, 0, C_DATETIME));
    if (!PQgetisnull(r, 0, C_EXPIRES))
        time_parse_pg(principal_text(p, r, C_EXPIRES), &p->expires_at_us);
    read_person(p, r);
    read_networks(p, r);
    p->limits = principal_read_limits(p, r);
    grant_scopes(p, areas, r);
    principal_settle(areas, p, a);
    if (yes(r, C_REVOKED))
        p->refusal = ERR_API_KEY_REVOKED;
    else if (!yes(r, C_ACTIVE))
        p->refusal = ERR_PRINCIPAL_DISABLED;
    else if (p->expires_at_us <= now_us)
        p->refusal = now_us - p->expires_at_us > 30LL * 86400 * 1000000 ? ERR_API_KEY_INVALID
                                                                        : ERR_API_KEY_EXPIRED;
    return p;
}

int principal_event_days(const char *expire_after)
{
    enum { EVENT_DAYS_DEFAULT = 30 };
    int days;

    return sscanf(expire_after, "days_%3d", &days) == 1 && days > 0 ? days : EVENT_DAYS_DEFAULT;
}

struct principal *principal_system(struct arena *a, wharf_str organization)
{
    struct principal *p = principal_new(a);

    p->organization = p->access.organization = organization;
    p->actor_type = str_z("system");
    p->actor_id = str_z("sys");
    p->actor_name = str_z("system");
    p->access.all_locations = p->access.reads_all = true;
    p->access.read_areas = str_z("[]");
    memset(p->levels, SCOPE_WRITE, sizeof(p->levels));
    return p;
}

static int principal_by_name(const void *a, const void *b)
{
    return str_order(*(const wharf_str *)a, *(const wharf_str *)b);
}

void principal_settle(const struct areas *areas, struct principal *p, struct arena *a)
{
    wharf_str *reads = ARENA_ARRAY(a, wharf_str, areas->n_resources + 1);
    wharf_str names[AREAS_MAX];
    size_t n = 0, n_names = 0;

    for (size_t i = 0; i < areas->n_resources; i++) {
        if (areas->resources[i].area < 0 || p->levels[areas->resources[i].area] >= SCOPE_READ)
            reads[n++] = str_z(areas->resources[i].name);
    }
    qsort(reads, n, sizeof(*reads), principal_by_name);
    p->access.reads_all = n == areas->n_resources;
    p->access.reads = reads;
    p->access.n_reads = n;
    for (size_t i = 0; i < areas->count; i++) {
        if (p->levels[i] >= SCOPE_READ)
            names[n_names++] = str_z(areas->names[i]);
    }
    p->access.read_areas = seen_many(a, names, n_names);
    p->access.reach = p->access.all_locations
                          ? str_z("")
                          : seen_many(a, p->access.locations, p->access.n_locations);
}

bool principal_reads(const struct principal *p, wharf_str resource)
{
    return p->access.reads_all ||
           (p->access.n_reads && bsearch(&resource, p->access.reads, p->access.n_reads,
                                     sizeof(resource), principal_by_name));
}

bool principal_may_see(const struct principal *p, wharf_str location_id)
{
    size_t low = 0, high = p->access.n_locations;

    if (p->access.all_locations)
        return true;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = strcmp(p->access.locations[mid].p, location_id.p);

        if (!order)
            return true;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}
