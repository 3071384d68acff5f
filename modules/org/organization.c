/* organization.c - the organization's row and its settings; making and ending organizations
 * (spec 01 section 12).
 *
 * Leaves to others: which settings there are (the manifests' "settings"), erasing what is 30
 * days gone (a job of the kernel). */
#include "org.gen.h"
#include "org.h"

enum { FIRST_KEY_MINUTES = 15 }; /* the key of a new organization is good */

/* ---- the row ---- */

/* Checks that the role of new users is one that there is. */
static wharf_status check_default_role(wharf_req *req, const wharf_rec *rec)
{
    const wharf_json *sent = org_host->res->sent(rec, ORGANIZATION_SETTINGS)
                                 ? org_host->res->input(rec, ORGANIZATION_SETTINGS)
                                 : NULL,
                     *users = sent && org_host->json->type(sent) == WHARF_J_OBJECT
                                  ? org_host->json->get(sent, "users")
                                  : NULL,
                     *role = users && org_host->json->type(users) == WHARF_J_OBJECT
                                 ? org_host->json->get(users, "default_role")
                                 : NULL;
    struct scopes scopes;
    bool found = true;
    wharf_str id;
    wharf_status s = WHARF_OK;

    if (role && org_host->json->text(role, &id))
        s = scopes_of_role(req, id, &found, &scopes);
    if (s == WHARF_OK && (!found || (role && same(id, WHARF_S("owner")))))
        return org_host->err->fail(req, ERR_VALIDATION_FAILED, "settings.users.default_role",
            "settings.users.default_role must be a role of GET /v1/roles other than owner");
    return s;
}

/* ---- settings.events.charged ---- */

/* Copies the settings of events. More than 30 days are charged: said by expire_after, never by who
 * sends it (docs/spec/07-events-and-webhooks.md section 1 'Retention'). */
static void copy_events(wharf_out *out, const wharf_json *events)
{
    const wharf_json_api *j = org_host->json;
    const wharf_json *expire = j->get(events, "expire_after");
    wharf_str days;

    j->open(out, "events", '{');
    for (const wharf_json *m = j->at(events, 0); m; m = j->next(m)) {
        if (!same(j->key(m), WHARF_S("charged")))
            j->put(out, j->key(m).p, val_json(m));
    }
    if (expire && j->text(expire, &days))
        j->put(out, "charged",
            val_bool(same(days, WHARF_S("days_90")) || same(days, WHARF_S("days_180")) ||
                     same(days, WHARF_S("days_365"))));
    else if (expire)
        j->put(out, "charged", val_null());
    j->close(out);
}

static wharf_status organization_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json_api *j = org_host->json;
    const wharf_json *settings = org_host->res->member(new_rec, "settings"), *own;
    const wharf_json *events = settings && j->type(settings) == WHARF_J_OBJECT
                                   ? j->get(settings, "events")
                                   : NULL;
    wharf_out *out;
    wharf_status s;

    if (!events || j->type(events) != WHARF_J_OBJECT)
        return WHARF_OK;
    out = j->builder(req);
    j->open(out, NULL, '{');
    for (const wharf_json *m = j->at(settings, 0); m; m = j->next(m)) {
        if (m == events)
            copy_events(out, events);
        else
            j->put(out, j->key(m).p, val_json(m));
    }
    j->close(out);
    s = j->result(req, out, &own);
    if (s == WHARF_OK)
        org_host->res->set(new_rec, ORGANIZATION_SETTINGS, val_json(own));
    return s;
}

static wharf_status organization_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    if (op == WHARF_CREATE) {
        org_host->res->set(new_rec, ORGANIZATION_ACTIVE, val_bool(true));
        org_host->res->set(new_rec, ORGANIZATION_MODE, val_text(WHARF_S("live")));
    }
    return op == WHARF_DELETE ? WHARF_OK : check_default_role(req, new_rec);
}

/* Notes the change: what keys carry of the settings is read again with them. */
static wharf_status organization_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    if (op != WHARF_CREATE)
        org_host->req->access_changed(req);
    return WHARF_OK;
}

const wharf_hooks organization_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = organization_normalize,
    .check = organization_check,
    .written = organization_written};

/* ---- making one ---- */

struct making {
    const wharf_json *user, *organization;
    wharf_str id;
    const wharf_rec *made, *owner, *key;
    wharf_str key_text;
};

static wharf_status organization_create(
    wharf_req *req, const char *resource, wharf_out *body, const wharf_rec **ret)
{
    const wharf_json *v;
    wharf_status s = org_host->json->result(req, body, &v);

    return s == WHARF_OK ? org_host->res->create(req, resource, v, ret) : s;
}

static wharf_status organization_make_row(wharf_req *req, struct making *m)
{
    wharf_out *body = org_host->json->builder(req);
    wharf_status s;

    org_host->json->open(body, NULL, '{');
    org_host->json->put(body, "id", val_text(m->id));
    org_host->json->put(body, "name", val_json(org_host->json->get(m->organization, "name")));
    org_host->json->close(body);
    org_host->err->base(req, "organization.");
    s = organization_create(req, "organization", body, &m->made);
    org_host->err->base(req, "");
    return s;
}

static wharf_status make_owner(wharf_req *req, struct making *m)
{
    wharf_out *body = org_host->json->builder(req);
    wharf_status s;

    org_host->json->open(body, NULL, '{');
    org_host->json->put(body, "name", val_json(org_host->json->get(m->user, "name")));
    org_host->json->put(body, "email", val_json(org_host->json->get(m->user, "email")));
    org_host->json->put(body, "role", val_text(WHARF_S("owner")));
    org_host->json->close(body);
    org_host->err->base(req, "user.");
    s = organization_create(req, "user", body, &m->owner);
    org_host->err->base(req, "");
    return s;
}

/* Makes the base location. Where there is no module with locations there is none. */
static wharf_status make_location(wharf_req *req, struct making *m)
{
    wharf_out *body = org_host->json->builder(req);
    const wharf_rec *location;
    wharf_status s;

    if (!has_locations)
        return WHARF_OK;
    org_host->json->open(body, NULL, '{');
    org_host->json->put(body, "name", val_json(org_host->json->get(m->organization, "name")));
    org_host->json->put(body, "address", val_json(org_host->json->get(m->organization, "address")));
    org_host->json->close(body);
    org_host->err->base(req, "organization.");
    s = organization_create(req, "location", body, &location);
    org_host->err->base(req, "");
    return s;
}

/* Makes a key of all scopes for the first minutes; whoever wants to keep it changes its end. */
static wharf_status organization_make_key(wharf_req *req, struct making *m)
{
    wharf_out *body = org_host->json->builder(req);
    const wharf_json *v;
    wharf_status s;

    org_host->json->open(body, NULL, '{');
    org_host->json->put(body, "name", val_text(WHARF_S("First key")));
    org_host->json->put(body, "user_id", val_text(org_host->res->id(m->owner)));
    org_host->json->open(body, "scopes", '{');
    org_host->json->put(body, "*", val_int(WHARF_LEVEL_WRITE));
    org_host->json->close(body);
    org_host->json->put(body, "expires_at",
        val_time(org_host->req->now_us(req) + FIRST_KEY_MINUTES * 60 * 1000000LL));
    org_host->json->close(body);
    s = org_host->json->result(req, body, &v);
    return s == WHARF_OK ? keys_make(req, v, true, &m->key, &m->key_text) : s;
}

static wharf_status organization_make_whole(wharf_req *req, void *arg)
{
    struct making *m = arg;
    wharf_status s = organization_make_row(req, m);

    if (s == WHARF_OK)
        s = make_owner(req, m);
    if (s == WHARF_OK)
        s = make_location(req, m);
    return s == WHARF_OK ? organization_make_key(req, m) : s;
}

wharf_status organization_make(wharf_req *req, void *arg)
{
    struct making m = {.id = org_host->req->new_id(req, "org")};
    const wharf_json *body;
    wharf_out *out;
    wharf_status s;

    if (!keys->tenants(req))
        return org_host->err->fail(req, ERR_SCOPE_ACCESS, NULL,
            "Organizations are made on the machine here: `wharf org create`");
    if (keys->caller(req)->test_mode)
        return org_host->err->fail(
            req, ERR_SCOPE_ACCESS, NULL, "A test key makes no organizations; use a live key");
    org_host->req->body(req, &body);
    m.user = org_host->json->get(body, "user");
    m.organization = org_host->json->get(body, "organization");
    s = keys->as_installation(req, m.id, organization_make_whole, &m);
    if (s != WHARF_OK)
        return s;
    out = org_host->req->respond(req, 201, "Organization created");
    org_host->json->open(out, NULL, '{');
    org_host->json->put(out, "object", val_text(WHARF_S("tenant")));
    org_host->json->put(out, "id", val_text(m.id));
    org_host->res->encode(req, out, "organization", m.made);
    org_host->res->encode(req, out, "user", m.owner);
    s = keys_show(req, out, "api_key", m.key, m.key_text);
    org_host->json->close(out);
    org_host->req->created(req, org_host->mem->format(req, "/v1/organizations/%s", m.id.p));
    return s;
}

/* ---- ending one ---- */

wharf_status organization_end(wharf_req *req, void *arg)
{
    static const char sql[] = "UPDATE wharf.organization SET active = false"
                              " WHERE organization_id = $1::text AND id = $1::text";
    wharf_val own = val_text(org_host->req->organization(req));
    wharf_str id = {"", 0}, name = {"", 0}, confirm = {"", 0};
    const wharf_json *body;
    const wharf_rec *rec;
    wharf_out *out;
    wharf_status s;

    org_host->req->param(req, "organization", &id);
    if (same(id, WHARF_S("org")))
        id = own.u.s;
    if (!same(keys->caller(req)->role, WHARF_S("owner")) || keys->caller(req)->test_mode)
        return org_host->err->fail(
            req, ERR_ROLE_ACCESS, NULL, "Only an owner deletes the organization, with a live key");
    if (!same(id, own.u.s))
        return org_host->err->fail(req, ERR_NOT_FOUND, id.p, NULL);
    s = org_host->res->fetch(req, "organization", id, WHARF_FOR_UPDATE, &rec);
    if (s != WHARF_OK)
        return s;
    org_host->req->body(req, &body);
    org_host->json->text(org_host->json->get(body, "confirm"), &confirm);
    field_get_text(rec, ORGANIZATION_NAME, &name);
    if (!same(confirm, name))
        return org_host->err->fail(
            req, ERR_VALIDATION_FAILED, "confirm", "confirm must be the name of the organization");
    s = org_host->db->exec(req, sql, &own, 1, NULL);
    if (s == WHARF_OK)
        s = org_host->res->remove(req, "organization", id);
    if (s != WHARF_OK)
        return s;
    out = org_host->req->respond(req, 200, "Organization deleted");
    org_host->json->open(out, NULL, '{');
    org_host->json->put(out, "id", val_text(id));
    org_host->json->put(out, "object", val_text(WHARF_S("organization")));
    org_host->json->put(out, "deleted", val_bool(true));
    org_host->json->close(out);
    return WHARF_OK;
}
