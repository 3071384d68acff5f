/* users.c - users: roles that may be given, the last owner, contact data (spec 01 section 6.1).
 * Leaves keys to org_keys.c. */
#include "org.gen.h"
#include "org.h"

static bool everywhere(wharf_str role)
{
    return same(role, WHARF_S("owner")) || same(role, WHARF_S("developer"));
}

/* ---- input ---- */

/* Takes role_id, which is another name of role. */
static wharf_status take_role(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *id = org_host->res->member(rec, "role_id"),
                     *role = org_host->res->member(rec, "role");
    wharf_str a, b;

    if (!id)
        return WHARF_OK;
    if (role && org_host->json->text(id, &a) && org_host->json->text(role, &b) && !same(a, b))
        return org_host->err->fail(
            req, ERR_VALIDATION_FAILED, "role_id", "role and role_id differ; send one of them");
    org_host->res->drop(rec, "role_id");
    if (!role)
        org_host->res->set(rec, USER_ROLE, val_json(id));
    return WHARF_OK;
}

/* Takes fcm_token, which takes the place of all tokens. */
static wharf_status users_take_token(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *token = org_host->res->member(rec, "fcm_token"), *list;
    wharf_out *out;
    wharf_str s = {"", 0};
    wharf_status status;

    if (!token)
        return WHARF_OK;
    if (org_host->json->type(token) != WHARF_J_NULL && !org_host->json->text(token, &s))
        return org_host->err->fail(
            req, ERR_VALIDATION_FAILED, "fcm_token", "fcm_token must be a string or null");
    out = org_host->json->builder(req);
    org_host->json->open(out, NULL, '[');
    if (s.n)
        org_host->json->put(out, NULL, val_text(s));
    org_host->json->close(out);
    status = org_host->json->result(req, out, &list);
    if (status != WHARF_OK)
        return status;
    org_host->res->drop(rec, "fcm_token");
    org_host->res->set(rec, USER_FCM_TOKENS, val_json(list));
    return WHARF_OK;
}

static wharf_status user_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    wharf_status s = take_role(req, new_rec);

    return s == WHARF_OK ? users_take_token(req, new_rec) : s;
}

static wharf_status settle_contact(wharf_req *req, wharf_rec *rec)
{
    wharf_str s;

    if (org_host->res->sent(rec, USER_EMAIL) && field_get_text(rec, USER_EMAIL, &s) &&
        !org_directory.email(s))
        org_host->err->add(req, ERR_VALIDATION_FAILED, "email",
            "email must be an address such as ann@example.com");
    if (!org_host->res->sent(rec, USER_PHONE) || !field_get_text(rec, USER_PHONE, &s))
        return org_host->err->current(req);
    if (org_directory.phone(req, s, &s))
        org_host->res->set(rec, USER_PHONE, val_text(s));
    else
        org_host->err->add(req, ERR_VALIDATION_FAILED, "phone", "phone " WHARF_PHONE_WRONG);
    return org_host->err->current(req);
}

/* ---- roles ---- */

static wharf_status default_role(wharf_req *req, wharf_str *ret)
{
    static const char sql[] =
        "SELECT COALESCE(settings #>> '{users,default_role}', 'user') FROM wharf.organization"
        " WHERE organization_id = $1::text AND id = $1::text";
    wharf_val arg = val_text(keys->caller(req)->live_organization);
    const wharf_rows *rows;
    wharf_status s = org_host->db->query(req, sql, &arg, 1, &rows);

    if (s != WHARF_OK || !row_get_text(rows, 0, 0, ret))
        *ret = WHARF_S("user");
    return s;
}

/* Checks a role that is given: it exists, an owner's by an owner, and nobody gives what he has
 * not. */
static wharf_status check_role(wharf_req *req, wharf_str role)
{
    struct scopes scopes;
    bool found, everywhere_too;
    wharf_status s = scopes_of_role(req, role, &found, &scopes);

    if (s != WHARF_OK)
        return s;
    if (!found)
        return org_host->err->fail(req, ERR_VALIDATION_FAILED, "role",
            "There is no role %.*s; GET /v1/roles lists them", (int)role.n, role.p);
    if (same(role, WHARF_S("owner")) && !acts_as_owner(req))
        return org_host->err->fail(req, ERR_ROLE_ACCESS, NULL, "Only an owner makes owners");
    s = scopes_allowed(req, &scopes, NULL);
    if (s == WHARF_OK)
        s = reach_of_role(req, role, &everywhere_too);
    return s == WHARF_OK && everywhere_too ? reach_allowed(req, true, NULL) : s;
}

/* Checks that an owner may be removed: by an owner, and never the last one that is active. Those
 * who try it at once wait for each other. */
static wharf_status check_owner_leaves(wharf_req *req, const wharf_rec *old_rec)
{
    static const char sql[] =
        "SELECT count(*) FROM wharf.user WHERE organization_id = $1::text AND role = 'owner'"
        " AND status = 'active' AND deleted_at IS NULL AND id <> $2::text";
    const wharf_caller *who = keys->caller(req);
    wharf_val args[2] = {val_text(who->live_organization), val_text(org_host->res->id(old_rec))};
    const wharf_rows *rows;
    wharf_str status = {"", 0};
    wharf_status s;

    if (!acts_as_owner(req))
        return org_host->err->fail(req, ERR_ROLE_ACCESS, NULL, "Only an owner removes owners");
    field_get_text(old_rec, USER_STATUS, &status);
    if (!same(status, WHARF_S("active")))
        return WHARF_OK;
    s = org_host->db->lock(req, "org.owners", who->live_organization);
    if (s == WHARF_OK)
        s = org_host->db->query(req, sql, args, 2, &rows);
    if (s == WHARF_OK && !row_int(rows, 0, 0))
        return org_host->err->fail(req, ERR_USER_LAST_OWNER, NULL, NULL);
    return s;
}

static wharf_status settle_role(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    wharf_str role, before = {"", 0}, status = {"", 0}, old_status = {"", 0};
    bool had = old_rec && field_get_text(old_rec, USER_ROLE, &before);
    wharf_status s = WHARF_OK;

    if (!field_get_text(rec, USER_ROLE, &role)) {
        s = default_role(req, &role);
        org_host->res->set(rec, USER_ROLE, val_text(role));
    }
    if (s == WHARF_OK && !(had && same(role, before)))
        s = check_role(req, role);
    if (s != WHARF_OK || !same(before, WHARF_S("owner")))
        return s;
    field_get_text(rec, USER_STATUS, &status);
    field_get_text(old_rec, USER_STATUS, &old_status);
    if (!same(role, before) || (same(old_status, WHARF_S("active")) && !same(status, old_status)))
        return check_owner_leaves(req, old_rec);
    return s;
}

/* ---- locations ---- */

static wharf_status users_settle_locations(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    const wharf_json *ids = field_json(rec, USER_LOCATIONS);
    bool before = old_rec && get_truth(old_rec, USER_ALLOW_ALL_LOCATIONS, true);
    wharf_str role = {"", 0};

    field_get_text(rec, USER_ROLE, &role);
    if (everywhere(role)) {
        org_host->res->set(rec, USER_ALLOW_ALL_LOCATIONS, val_bool(true));
        return before ? WHARF_OK : all_locations_allowed(req, false);
    }
    if (!old_rec && !org_host->res->sent(rec, USER_ALLOW_ALL_LOCATIONS))
        org_host->res->set(
            rec, USER_ALLOW_ALL_LOCATIONS, val_bool(!ids || !org_host->json->count(ids)));
    if (get_truth(rec, USER_ALLOW_ALL_LOCATIONS, true) && !before)
        return all_locations_allowed(req, false);
    return WHARF_OK;
}

/* ---- hooks ---- */

static wharf_status check_new(wharf_req *req, wharf_rec *rec)
{
    static const char count_sql[] =
        "SELECT count(*) FROM wharf.user WHERE organization_id = $1::text"
        " AND (deleted_at IS NULL OR deleted_at > $2::timestamptz)";

    return limit_rows(req, "org.users", count_sql, USERS_MAX, ERR_USER_TOO_MANY);
}

/* Marks the address as not verified: whose address is new has not shown that it is theirs. */
static wharf_status unverified(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *v;
    wharf_status s = org_host->json->parse(req, WHARF_S("{\"email_verified\":false}"), &v);

    if (s == WHARF_OK)
        org_host->res->set(rec, USER_REQUIREMENTS, val_json(v));
    return s;
}

static wharf_status user_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_str role = {"", 0};
    wharf_status s;

    s = old_rec ? reach_user(req, old_rec, op == WHARF_DELETE ? NULL : new_rec) : WHARF_OK;
    if (s != WHARF_OK)
        return s;
    if (op == WHARF_DELETE) {
        field_get_text(old_rec, USER_ROLE, &role);
        return same(role, WHARF_S("owner")) ? check_owner_leaves(req, old_rec) : WHARF_OK;
    }
    s = settle_contact(req, new_rec);
    if (s == WHARF_OK)
        s = quiet_hours_check(req, new_rec);
    if (s == WHARF_OK)
        s = settle_role(req, old_rec, new_rec);
    if (s == WHARF_OK)
        s = users_settle_locations(req, old_rec, new_rec);
    if (s == WHARF_OK && op == WHARF_CREATE)
        s = check_new(req, new_rec);
    if (s == WHARF_OK && org_host->res->changed(old_rec, new_rec, USER_EMAIL))
        s = unverified(req, new_rec);
    return s;
}

static wharf_status users_user_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    if (op == WHARF_CREATE)
        return WHARF_OK;
    org_host->req->access_changed(req);
    return op == WHARF_DELETE ? keys_revoke_all(req, false, org_host->res->id(old_rec)) : WHARF_OK;
}

static wharf_status user_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    wharf_str role = {"", 0}, before = {"", 0};
    struct scopes scopes;
    bool found;
    wharf_status s = WHARF_OK;

    for (size_t i = 0; f == USER_SCOPES && i < n && s == WHARF_OK; i++) {
        field_get_text(recs[i], USER_ROLE, &role);
        if (!i || !same(role, before))
            s = scopes_of_role(req, role, &found, &scopes);
        before = role;
        scopes_list(outs[i], NULL, &scopes, req);
    }
    return s;
}

const wharf_hooks user_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = user_normalize,
    .check = user_check,
    .written = users_user_written,
    .compute = user_compute};
