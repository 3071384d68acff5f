/* org_keys.c - API keys: what may stand in one, making, rotating and revoking them (spec 01
 * section 5). How long a rotated key may go on beside its successor at most stands in routes.json.
 *
 * Leaves to others: the text and its hash (service wharf.keys), who a key is when it comes (the
 * kernel), scopes (scopes.c). */
#include "org.gen.h"
#include "org.h"

enum { OVERLAP_DEFAULT_S = 86400 }; /* a rotated key goes on beside its successor */
#define SECOND_US 1000000LL
#define DAY_US    (86400 * SECOND_US)

/* The context of the writes of this file, for the hooks that run inside them. Writes of requests
 * have none. */
static const char call_kind[] = "org.key_call";
struct key_call {
    enum { MAKE /* its grants are those of another row */, ROTATE, REVOKE } doing;
    bool system; /* MAKE: the key is nobody's wish: type system */
    wharf_str *ret_text; /* MAKE: the text of the new key */
    int64_t expires_us; /* ROTATE */
    wharf_str replaced_by;
};

static const struct key_call *key_call(const wharf_rec *rec)
{
    return org_host->res->context(rec, call_kind);
}

wharf_status limit_rows(
    wharf_req *req, const char *space, const char *count_sql, int64_t max, const char *code)
{
    wharf_val args[2] = {
        val_text(keys->caller(req)->live_organization), val_time(org_host->req->now_us(req))};
    const wharf_rows *rows;
    wharf_status s = org_host->db->lock(req, space, args[0].u.s);

    if (s == WHARF_OK)
        s = org_host->db->query(req, count_sql, args, 2, &rows);
    if (s == WHARF_OK && row_int(rows, 0, 0) >= max)
        return org_host->err->fail(req, code, NULL, NULL);
    return s;
}

/* ---- locations ---- */

static bool org_keys_reaches(const wharf_caller *who, wharf_str id)
{
    for (size_t i = 0; i < who->n_locations; i++) {
        if (same(who->locations[i], id))
            return true;
    }
    return who->all_locations;
}

static bool org_keys_holds(const wharf_json *array, wharf_str id)
{
    wharf_str s;

    for (const wharf_json *e = array ? org_host->json->at(array, 0) : NULL; e;
         e = org_host->json->next(e)) {
        if (org_host->json->text(e, &s) && same(s, id))
            return true;
    }
    return false;
}

wharf_status locations_allowed(wharf_req *req, const wharf_json *ids, const wharf_json *already)
{
    const wharf_caller *who = keys->caller(req);
    wharf_str id;

    for (const wharf_json *e = ids ? org_host->json->at(ids, 0) : NULL; e;
         e = org_host->json->next(e)) {
        if (org_host->json->text(e, &id) && !org_keys_holds(already, id) &&
            !org_keys_reaches(who, id))
            org_host->err->add(req, ERR_LOCATION_ACCESS, id.p, NULL);
    }
    return org_host->err->current(req);
}

wharf_status all_locations_allowed(wharf_req *req, bool test)
{
    const wharf_str *ids;
    size_t n;
    wharf_status s;

    if (keys->caller(req)->all_locations)
        return WHARF_OK;
    s = keys->other_locations(req, test, &ids, &n);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        org_host->err->add(req, ERR_LOCATION_ACCESS, ids[i].p, NULL);
    if (s == WHARF_OK && !n)
        org_host->err->add(req, ERR_LOCATION_ACCESS, NULL, NULL);
    return s == WHARF_OK ? org_host->err->current(req) : s;
}

static wharf_status unknown_locations(wharf_req *req, const wharf_json *ids, bool test)
{
    size_t n = org_host->json->count(ids), i = 0;
    wharf_str *list = org_host->mem->alloc(req, (n + 1) * sizeof(*list));
    bool *known = org_host->mem->alloc(req, n + 1);
    wharf_status s;

    for (const wharf_json *e = org_host->json->at(ids, 0); e; e = org_host->json->next(e))
        org_host->json->text(e, &list[i++]);
    s = keys->known_locations(req, test, list, n, known);
    for (i = 0; s == WHARF_OK && i < n; i++) {
        if (!known[i])
            org_host->err->add(req, ERR_VALIDATION_FAILED,
                org_host->mem->format(req, "location_ids.%zu", i).p,
                "There is no location %.*s in the data of this key", (int)list[i].n, list[i].p);
    }
    return s == WHARF_OK ? org_host->err->current(req) : s;
}

/* Checks the locations of a key. A key of a limited caller reaches what the caller reaches; a test
 * key's locations are those of the test data, of which a limited live key has none. */
static wharf_status check_locations(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec, bool test)
{
    const wharf_json *ids = field_json(new_rec, API_KEY_LOCATION_IDS),
                     *already = old_rec ? field_json(old_rec, API_KEY_LOCATION_IDS) : NULL;
    bool sent = org_host->res->sent(new_rec, API_KEY_LOCATION_IDS), all, before,
         trusted = key_call(new_rec) != NULL;
    wharf_status s = WHARF_OK;

    if (!old_rec && !org_host->res->sent(new_rec, API_KEY_ALLOW_ALL_LOCATIONS))
        org_host->res->set(
            new_rec, API_KEY_ALLOW_ALL_LOCATIONS, val_bool(!ids || !org_host->json->count(ids)));
    all = get_truth(new_rec, API_KEY_ALLOW_ALL_LOCATIONS, true);
    before = old_rec && get_truth(old_rec, API_KEY_ALLOW_ALL_LOCATIONS, true);
    if (sent && ids)
        s = unknown_locations(req, ids, test);
    if (s == WHARF_OK && all && !before && !trusted)
        s = all_locations_allowed(req, test);
    if (s == WHARF_OK && sent && ids && !before && !trusted)
        s = locations_allowed(req, ids, already);
    return s;
}

/* ---- what the organization wants of keys ---- */

struct security {
    int64_t max_days; /* 0: any */
    bool need_allowlist;
};

static wharf_status read_security(wharf_req *req, struct security *ret)
{
    static const char sql[] =
        "SELECT COALESCE((settings #>> '{security,max_key_lifetime_days}')::bigint, 0),"
        " COALESCE((settings #>> '{security,require_ip_allowlist}')::boolean, false) FROM "
        "wharf.organization"
        " WHERE organization_id = $1::text AND id = $1::text";
    wharf_val arg = val_text(keys->caller(req)->live_organization);
    const wharf_rows *rows;
    wharf_status s = org_host->db->query(req, sql, &arg, 1, &rows);

    *ret = (struct security){0, false};
    if (s == WHARF_OK)
        *ret = (struct security){row_int(rows, 0, 0), row_bool(rows, 0, 1)};
    return s;
}

static void check_expiry(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec,
    const struct security *rules)
{
    int64_t now = org_host->req->now_us(req), from = now;
    wharf_val v;

    if (old_rec && !org_host->res->sent(new_rec, API_KEY_EXPIRES_AT))
        return;
    if (old_rec && org_host->res->get(old_rec, API_KEY_CREATED_AT, &v))
        from = v.u.i;
    if (!org_host->res->get(new_rec, API_KEY_EXPIRES_AT, &v)) {
        if (rules->max_days)
            org_host->err->add(req, ERR_VALIDATION_FAILED, "expires_at",
                "expires_at is needed: keys of this organization live at most %lld days",
                (long long)rules->max_days);
    } else if (v.u.i <= now) {
        org_host->err->add(
            req, ERR_VALIDATION_FAILED, "expires_at", "expires_at must be in the future");
    } else if (rules->max_days && v.u.i > from + rules->max_days * DAY_US) {
        org_host->err->add(req, ERR_VALIDATION_FAILED, "expires_at",
            "expires_at must be at most %lld days after the key was made",
            (long long)rules->max_days);
    }
}

static void check_networks(
    wharf_req *req, bool creating, const wharf_rec *new_rec, const struct security *rules)
{
    const wharf_json *list = field_json(new_rec, API_KEY_IP_ALLOWLIST);
    size_t i = 0;
    wharf_str s;

    if (!creating && !org_host->res->sent(new_rec, API_KEY_IP_ALLOWLIST))
        return;
    if (rules->need_allowlist && (!list || !org_host->json->count(list)))
        org_host->err->add(req, ERR_VALIDATION_FAILED, "ip_allowlist",
            "ip_allowlist is needed: keys of this organization work from named addresses only");
    for (const wharf_json *e = list ? org_host->json->at(list, 0) : NULL; e;
         e = org_host->json->next(e), i++) {
        if (!org_host->json->text(e, &s) || !keys->network(s)) {
            const char *path = org_host->mem->format(req, "ip_allowlist.%zu", i).p;

            org_host->err->add(req, ERR_VALIDATION_FAILED, path,
                "%s must be an address or a network such as 192.0.2.0/24", path);
        }
    }
}

/* ---- making ---- */

/* Checks whom the key acts for. It acts with the role of its user: an owner's is made by an
 * owner. */
static wharf_status check_principal(wharf_req *req, const wharf_rec *rec)
{
    static const char sql[] =
        "SELECT role FROM wharf.user WHERE organization_id = $1::text AND id = $2::text";
    const wharf_caller *who = keys->caller(req);
    wharf_val args[2] = {val_text(who->live_organization), val_text(WHARF_S(""))};
    const wharf_rows *rows;
    wharf_str device, role;
    wharf_status s;

    if (!field_get_text(rec, API_KEY_USER_ID, &args[1].u.s))
        return WHARF_OK;
    if (field_get_text(rec, API_KEY_DEVICE_ID, &device))
        return org_host->err->fail(req, ERR_VALIDATION_FAILED, "device_id",
            "a key acts for a user or for a device; send one of them");
    s = org_host->db->query(req, sql, args, 2, &rows);
    if (s == WHARF_OK && !key_call(rec) && row_get_text(rows, 0, 0, &role) &&
        same(role, WHARF_S("owner")) && !acts_as_owner(req))
        return org_host->err->fail(
            req, ERR_ROLE_ACCESS, NULL, "Only an owner makes keys that act for an owner");
    return s;
}

static wharf_status settle_mode(wharf_req *req, wharf_rec *rec, bool *ret_test)
{
    const wharf_caller *who = keys->caller(req);
    wharf_str mode, twin;

    if (!field_get_text(rec, API_KEY_MODE, &mode)) {
        mode = who->test_mode ? WHARF_S("test") : WHARF_S("live");
        org_host->res->set(rec, API_KEY_MODE, val_text(mode));
    }
    *ret_test = same(mode, WHARF_S("test"));
    if (who->test_mode && !*ret_test)
        return org_host->err->fail(
            req, ERR_SCOPE_ACCESS, NULL, "A test key makes no live keys; use a live key");
    return *ret_test ? keys->test_organization(req, &twin) : WHARF_OK;
}

static wharf_status org_keys_check_create(wharf_req *req, wharf_rec *rec)
{
    static const char count_sql[] =
        "SELECT count(*) FROM wharf.api_key WHERE organization_id = $1::text"
        " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2::timestamptz)";
    const struct key_call *call = key_call(rec);
    struct security rules;
    wharf_str last4, text;
    bool test;
    wharf_status s = settle_mode(req, rec, &test);

    if (s == WHARF_OK)
        s = read_security(req, &rules);
    if (s != WHARF_OK)
        return s;
    check_expiry(req, NULL, rec, &rules);
    check_networks(req, true, rec, &rules);
    s = org_host->err->current(req);
    if (s == WHARF_OK)
        s = check_principal(req, rec);
    if (s == WHARF_OK)
        s = scopes_settle(req, NULL, rec, API_KEY_SCOPES, call != NULL);
    if (s == WHARF_OK)
        s = check_locations(req, NULL, rec, test);
    if (s == WHARF_OK)
        s = limit_rows(req, "org.keys", count_sql, KEYS_MAX, ERR_API_KEY_TOO_MANY);
    if (s == WHARF_OK)
        s = keys->issue(req, org_host->res->id(rec), test, &text, &last4);
    if (s != WHARF_OK)
        return s;
    org_host->res->set(rec, API_KEY_LAST4, val_text(last4));
    org_host->res->set(
        rec, API_KEY_TYPE, val_text(call && call->system ? WHARF_S("system") : WHARF_S("user")));
    org_host->res->set(rec, API_KEY_API_KEY, val_text(text));
    if (call)
        *call->ret_text = text;
    org_host->req->one_time(req, "api_key");
    return WHARF_OK;
}

wharf_status keys_make(wharf_req *req, const wharf_json *body, bool system,
    const wharf_rec **ret_rec, wharf_str *ret_text)
{
    struct key_call call = {.doing = MAKE, .system = system, .ret_text = ret_text};
    const wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "api_key",
        .op = WHARF_CREATE,
        .body = body,
        .kind = call_kind,
        .context = &call,
        .ret_rec = ret_rec};

    return org_host->res->write(req, &w);
}

/* Updates a key without a field of its own: what the hooks make of the call. */
static wharf_status update_by_call(wharf_req *req, wharf_str id, struct key_call *call)
{
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "api_key",
        .op = WHARF_UPDATE,
        .id = id,
        .kind = call_kind,
        .context = call};
    wharf_status s = org_host->json->parse(req, WHARF_S("{}"), &w.body);

    return s == WHARF_OK ? org_host->res->write(req, &w) : s;
}

/* ---- changing ---- */

static wharf_status org_keys_check_update(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    const struct key_call *call = key_call(rec);
    struct security rules;
    wharf_str status = {"", 0}, mode = {"", 0};
    wharf_status s;

    if (call && call->doing == REVOKE) {
        org_host->res->set(rec, API_KEY_REVOKED_AT, val_time(org_host->req->now_us(req)));
        return WHARF_OK;
    }
    if (call && call->doing == ROTATE) {
        org_host->res->set(rec, API_KEY_EXPIRES_AT, val_time(call->expires_us));
        org_host->res->set(rec, API_KEY_REPLACED_BY, val_text(call->replaced_by));
        return WHARF_OK;
    }
    s = reach_key(req, old_rec);
    if (s != WHARF_OK)
        return s;
    field_get_text(old_rec, API_KEY_STATUS, &status);
    field_get_text(old_rec, API_KEY_MODE, &mode);
    if (!same(status, WHARF_S("active")))
        return org_host->err->fail(req, ERR_API_KEY_INACTIVE, NULL, NULL);
    s = read_security(req, &rules);
    if (s != WHARF_OK)
        return s;
    check_expiry(req, old_rec, rec, &rules);
    check_networks(req, false, rec, &rules);
    s = org_host->err->current(req);
    if (s == WHARF_OK)
        s = scopes_settle(req, old_rec, rec, API_KEY_SCOPES, false);
    return s == WHARF_OK ? check_locations(req, old_rec, rec, same(mode, WHARF_S("test"))) : s;
}

static wharf_status key_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    return op == WHARF_CREATE ? org_keys_check_create(req, new_rec)
                              : org_keys_check_update(req, old_rec, new_rec);
}

static wharf_status key_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    if (op == WHARF_UPDATE)
        org_host->req->access_changed(req);
    return WHARF_OK;
}

/* Reads limit_to_location: all locations, or that one. */
static wharf_status key_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *limit = org_host->res->member(new_rec, "limit_to_location"), *list;
    wharf_out *out;
    wharf_str id = {"", 0};
    wharf_status s;

    if (!limit)
        return WHARF_OK;
    if (org_host->json->type(limit) != WHARF_J_NULL && !(org_host->json->text(limit, &id) && id.n))
        return org_host->err->fail(req, ERR_VALIDATION_FAILED, "limit_to_location",
            "limit_to_location must be the id of a location, or null");
    out = org_host->json->builder(req);
    org_host->json->open(out, NULL, '[');
    if (id.n)
        org_host->json->put(out, NULL, val_text(id));
    org_host->json->close(out);
    s = org_host->json->result(req, out, &list);
    if (s != WHARF_OK)
        return s;
    org_host->res->drop(new_rec, "limit_to_location");
    org_host->res->set(new_rec, API_KEY_ALLOW_ALL_LOCATIONS, val_bool(!id.n));
    org_host->res->set(new_rec, API_KEY_LOCATION_IDS, val_json(list));
    return WHARF_OK;
}

/* Narrows test keys to test keys: none gets at live data by changing or rotating a live one. */
static wharf_status key_restrict(wharf_req *req, wharf_where *where)
{
    if (keys->caller(req)->test_mode)
        org_host->res->narrow(where, API_KEY_MODE, "eq", val_text(WHARF_S("test")));
    return WHARF_OK;
}

const wharf_hooks key_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = key_normalize,
    .check = key_check,
    .written = key_written,
    .restrict_rows = key_restrict};

/* ---- routes ---- */

static wharf_status org_keys_find_key(
    wharf_req *req, wharf_str id, const wharf_rec **ret, wharf_str *ret_status)
{
    wharf_str mode = {"", 0};
    wharf_status s = org_host->res->fetch(req, "api_key", id, WHARF_FOR_UPDATE, ret);

    if (s != WHARF_OK)
        return s;
    field_get_text(*ret, API_KEY_MODE, &mode);
    field_get_text(*ret, API_KEY_STATUS, ret_status);
    if (keys->caller(req)->test_mode && !same(mode, WHARF_S("test")))
        return org_host->err->fail(req, ERR_NOT_FOUND, id.p, NULL);
    return WHARF_OK;
}

static wharf_status org_keys_revoke(wharf_req *req, wharf_str id)
{
    struct key_call call = {.doing = REVOKE};
    wharf_status s = update_by_call(req, id, &call);

    return s == WHARF_OK ? org_host->event->emit(req, "api_key.revoked", "api_key", id, NULL) : s;
}

wharf_status keys_revoke(wharf_req *req, void *arg)
{
    const wharf_rec *rec;
    wharf_str id = {"", 0}, status = {"", 0};
    wharf_out *out;
    wharf_status s;

    org_host->req->param(req, "id", &id);
    if (!same(id, keys->caller(req)->key_id) &&
        org_host->req->need_scope(req, "api_keys:write") != WHARF_OK)
        return org_host->err->current(req);
    s = org_keys_find_key(req, id, &rec, &status);
    if (s == WHARF_OK && same(status, WHARF_S("revoked")))
        s = org_host->err->fail(req, ERR_NOT_FOUND, id.p, NULL);
    if (s == WHARF_OK)
        s = reach_key(req, rec);
    if (s == WHARF_OK)
        s = org_keys_revoke(req, id);
    if (s != WHARF_OK)
        return s;
    out = org_host->req->respond(req, 200, "API key deleted");
    org_host->json->open(out, NULL, '{');
    org_host->json->put(out, "id", val_text(id));
    org_host->json->put(out, "object", val_text(WHARF_S("api_key")));
    org_host->json->put(out, "deleted", val_bool(true));
    org_host->json->close(out);
    return WHARF_OK;
}

wharf_status keys_revoke_all(wharf_req *req, bool of_device, wharf_str principal_id)
{
    static const char users_sql[] =
        "SELECT id FROM wharf.api_key WHERE organization_id = $1::text AND user_id = $2::text"
        " AND revoked_at IS NULL ORDER BY id";
    static const char devices_sql[] =
        "SELECT id FROM wharf.api_key WHERE organization_id = $1::text"
        " AND device_id = $2::text AND revoked_at IS NULL ORDER BY id";
    wharf_val args[2] = {val_text(keys->caller(req)->live_organization), val_text(principal_id)};
    const wharf_rows *rows;
    wharf_str id;
    wharf_status s = org_host->db->query(req, of_device ? devices_sql : users_sql, args, 2, &rows);

    for (size_t i = 0; s == WHARF_OK && i < org_host->db->count(rows); i++) {
        if (row_get_text(rows, i, 0, &id))
            s = org_keys_revoke(req, id);
    }
    return s;
}

/* ---- rotation ---- */

/* Computes the new key's end: as long a life as the old one was given, within what the
 * organization allows now. 0: none. */
static wharf_status new_expiry(wharf_req *req, const wharf_rec *old, int64_t *ret_us)
{
    int64_t now = org_host->req->now_us(req);
    struct security rules;
    wharf_val expires, created;
    wharf_status s = read_security(req, &rules);

    *ret_us = 0;
    if (s != WHARF_OK)
        return s;
    if (org_host->res->get(old, API_KEY_EXPIRES_AT, &expires) &&
        org_host->res->get(old, API_KEY_CREATED_AT, &created))
        *ret_us = now + expires.u.i - created.u.i;
    if (rules.max_days && (!*ret_us || *ret_us > now + rules.max_days * DAY_US))
        *ret_us = now + rules.max_days * DAY_US;
    return s;
}

static wharf_status body_of_successor(wharf_req *req, const wharf_rec *old, const wharf_json **ret)
{
    static const struct {
        const char *name;
        wharf_field field;
    } same_fields[] = {{"name", API_KEY_NAME}, {"mode", API_KEY_MODE}, {"scopes", API_KEY_SCOPES},
        {"user_id", API_KEY_USER_ID}, {"device_id", API_KEY_DEVICE_ID},
        {"allow_all_locations", API_KEY_ALLOW_ALL_LOCATIONS},
        {"location_ids", API_KEY_LOCATION_IDS}, {"ip_allowlist", API_KEY_IP_ALLOWLIST}};
    wharf_out *out = org_host->json->builder(req);
    int64_t expires;
    wharf_val v;
    wharf_status s = new_expiry(req, old, &expires);

    if (s != WHARF_OK)
        return s;
    org_host->json->open(out, NULL, '{');
    for (size_t i = 0; i < sizeof(same_fields) / sizeof(same_fields[0]); i++) {
        if (org_host->res->get(old, same_fields[i].field, &v))
            org_host->json->put(out, same_fields[i].name, v);
    }
    if (expires)
        org_host->json->put(out, "expires_at", val_time(expires));
    org_host->json->close(out);
    return org_host->json->result(req, out, ret);
}

/* Judges who may rotate a key. Whoever gets the text of a key must have been able to make it. A
 * key that rotates itself gains nothing. */
static wharf_status may_rotate(wharf_req *req, const wharf_rec *old)
{
    struct scopes grants = scopes_of(req, field_json(old, API_KEY_SCOPES));
    wharf_str mode = {"", 0};
    wharf_status s;

    if (same(org_host->res->id(old), keys->caller(req)->key_id))
        return WHARF_OK;
    if (grants.levels[grants.n - 1]) { /* every area: those of today are compared */
        uint8_t everywhere = grants.levels[--grants.n];

        for (size_t i = 0; i < grants.n; i++)
            grants.levels[i] = grants.levels[i] > everywhere ? grants.levels[i] : everywhere;
    }
    field_get_text(old, API_KEY_MODE, &mode);
    s = scopes_allowed(req, &grants, NULL);
    if (s == WHARF_OK)
        s = check_principal(req, old);
    if (s == WHARF_OK && get_truth(old, API_KEY_ALLOW_ALL_LOCATIONS, true))
        return all_locations_allowed(req, same(mode, WHARF_S("test")));
    return s == WHARF_OK ? locations_allowed(req, field_json(old, API_KEY_LOCATION_IDS), NULL) : s;
}

static wharf_status org_keys_retire(
    wharf_req *req, const wharf_rec *old, int64_t overlap_s, wharf_str successor)
{
    struct key_call call = {.doing = ROTATE,
        .expires_us = org_host->req->now_us(req) + overlap_s * SECOND_US,
        .replaced_by = successor};
    wharf_val v;
    wharf_status s;

    if (org_host->res->get(old, API_KEY_EXPIRES_AT, &v) && v.u.i < call.expires_us)
        call.expires_us = v.u.i;
    s = update_by_call(req, org_host->res->id(old), &call);
    return s == WHARF_OK ? org_host->event->emit(
                               req, "api_key.rotated", "api_key", org_host->res->id(old), NULL)
                         : s;
}

wharf_status keys_show(
    wharf_req *req, wharf_out *out, const char *key, const wharf_rec *rec, wharf_str text)
{
    wharf_out *inner = org_host->json->builder(req);
    const wharf_json *row;
    wharf_status s;

    org_host->res->encode(req, inner, NULL, rec);
    s = org_host->json->result(req, inner, &row);
    if (s != WHARF_OK)
        return s;
    org_host->json->open(out, key, '{');
    for (const wharf_json *m = org_host->json->at(row, 0); m; m = org_host->json->next(m)) {
        org_host->json->put(out, org_host->json->key(m).p, val_json(m));
        if (same(org_host->json->key(m), WHARF_S("name")))
            org_host->json->put(out, "api_key", val_text(text));
    }
    org_host->json->close(out);
    return WHARF_OK;
}

wharf_status keys_rotate(wharf_req *req, void *arg)
{
    int64_t overlap = OVERLAP_DEFAULT_S;
    const wharf_json *body, *sent, *successor;
    const wharf_rec *old, *fresh;
    wharf_str id = {"", 0}, status = {"", 0}, text;
    wharf_status s;

    org_host->req->param(req, "id", &id);
    org_host->req->body(req, &body);
    sent = org_host->json->get(body, "overlap_seconds");
    if (sent)
        org_host->json->integer(sent, &overlap);
    s = org_keys_find_key(req, id, &old, &status);
    if (s == WHARF_OK && !same(status, WHARF_S("active")))
        s = org_host->err->fail(req, ERR_API_KEY_INACTIVE, NULL, NULL);
    if (s == WHARF_OK)
        s = may_rotate(req, old);
    if (s == WHARF_OK)
        s = body_of_successor(req, old, &successor);
    if (s == WHARF_OK)
        s = keys_make(req, successor, false, &fresh, &text);
    if (s == WHARF_OK)
        s = org_keys_retire(req, old, overlap, org_host->res->id(fresh));
    if (s != WHARF_OK)
        return s;
    org_host->req->created(
        req, org_host->mem->format(req, "/v1/api-keys/%s", org_host->res->id(fresh).p));
    return keys_show(req, org_host->req->respond(req, 201, "API key created"), NULL, fresh, text);
}
