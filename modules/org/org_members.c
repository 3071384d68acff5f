/* org_members.c - which users reach a location: /v1/locations/:location/users (spec 01 section
 * 7). All answers are the location. */
#include "org.gen.h"
#include "org.h"

enum { USERS_AT_ONCE = 1000 };

struct ids {
    wharf_str *items;
    size_t n;
};

static bool org_members_among(const struct ids *list, wharf_str id)
{
    for (size_t i = 0; i < list->n; i++) {
        if (same(list->items[i], id))
            return true;
    }
    return false;
}

/* Reads an id or an array of ids, each once. */
static struct ids org_members_read_ids(wharf_req *req, const wharf_json *v)
{
    struct ids list = {org_host->mem->alloc(req, (USERS_AT_ONCE + 1) * sizeof(wharf_str)), 0};
    wharf_str id;

    if (!v)
        return list;
    if (org_host->json->text(v, &id))
        list.items[list.n++] = id;
    else
        for (const wharf_json *e = org_host->json->at(v, 0); e && list.n < USERS_AT_ONCE;
             e = org_host->json->next(e)) {
            if (org_host->json->text(e, &id) && !org_members_among(&list, id))
                list.items[list.n++] = id;
        }
    return list;
}

/* Adds problems for those of the list that are no users. */
static wharf_status check_known(
    wharf_req *req, const struct ids *list, const char *path, bool array)
{
    uint32_t *flags = org_host->mem->alloc(req, (list->n + 1) * sizeof(*flags));
    wharf_status s = org_directory.users(req, list->items, list->n, WHARF_S(""), flags);

    for (size_t i = 0; s == WHARF_OK && i < list->n; i++) {
        if (!(flags[i] & WHARF_USER_KNOWN))
            org_host->err->add(req, ERR_VALIDATION_FAILED,
                array ? org_host->mem->format(req, "%s.%zu", path, i).p : path,
                "There is no user %.*s", (int)list->items[i].n, list->items[i].p);
    }
    return s == WHARF_OK ? org_host->err->current(req) : s;
}

/* Changes the user through the resource, so that the user's change log and event say it. */
static wharf_status org_members_change(
    wharf_req *req, wharf_str user, wharf_str location, const char *verb)
{
    wharf_out *out = org_host->json->builder(req);
    const wharf_json *body;
    const wharf_rec *rec;
    wharf_status s;

    org_host->json->open(out, NULL, '{');
    org_host->json->open(out, "locations", '{');
    org_host->json->open(out, verb, '[');
    org_host->json->put(out, NULL, val_text(location));
    org_host->json->close(out);
    org_host->json->close(out);
    org_host->json->close(out);
    s = org_host->json->result(req, out, &body);
    return s == WHARF_OK ? org_host->res->update(req, "user", user, body, &rec) : s;
}

static wharf_status add_user(wharf_req *req, wharf_str user, wharf_str location)
{
    return org_members_change(req, user, location, "add");
}

/* Removes the user from the location. Owners and developers reach every location; whoever reaches
 * all of them is not taken away from one. */
static wharf_status remove_user(wharf_req *req, wharf_str user, wharf_str location)
{
    const wharf_rec *rec;
    wharf_str role = {"", 0};
    wharf_status s = org_host->res->fetch(req, "user", user, WHARF_FOR_UPDATE, &rec);

    if (s != WHARF_OK)
        return s;
    field_get_text(rec, USER_ROLE, &role);
    if (same(role, WHARF_S("owner")) || same(role, WHARF_S("developer")))
        return org_host->err->fail(
            req, ERR_ROLE_ACCESS, NULL, "Owners and developers reach every location");
    return org_members_change(req, user, location, "remove");
}

/* Reads who is there by name, for `overwrite`. */
static wharf_status present(wharf_req *req, wharf_str location, struct ids *ret)
{
    static const char sql[] =
        "SELECT u.id FROM wharf.user u WHERE u.organization_id = $1::text AND u.deleted_at IS NULL"
        " AND u.locations ? $2::text AND u.role NOT IN ('owner', 'developer') ORDER BY u.id";
    wharf_val args[2] = {val_text(keys->caller(req)->live_organization), val_text(location)};
    const wharf_rows *rows;
    wharf_status s = org_host->db->query(req, sql, args, 2, &rows);

    if (s != WHARF_OK)
        return s;
    ret->n = org_host->db->count(rows);
    ret->items = org_host->mem->alloc(req, (ret->n + 1) * sizeof(*ret->items));
    for (size_t i = 0; i < ret->n; i++)
        row_get_text(rows, i, 0, &ret->items[i]);
    return WHARF_OK;
}

/* ---- the location: 404, 403, and the answer ---- */

static wharf_status org_members_find_location(wharf_req *req, wharf_str *ret_id)
{
    const wharf_rec *rec;

    *ret_id = WHARF_S("");
    org_host->req->param(req, "location", ret_id);
    if (keys->caller(req)->test_mode)
        return org_host->err->fail(req, ERR_SCOPE_ACCESS, NULL,
            "users belong to the live organization; a test key reads them, a live key changes "
            "them");
    return org_host->res->fetch(req, "location", *ret_id, 0, &rec);
}

static wharf_status org_members_answer(wharf_req *req, wharf_str id, wharf_status s)
{
    const wharf_rec *rec;

    if (s == WHARF_OK)
        s = org_host->res->fetch(req, "location", id, 0, &rec);
    if (s != WHARF_OK)
        return s;
    org_host->res->encode(req, org_host->req->respond(req, 200, "Location updated"), NULL, rec);
    return WHARF_OK;
}

/* ---- routes ---- */

static wharf_status check_lists(wharf_req *req, const wharf_json *body, const struct ids *add,
    const struct ids *remove, const struct ids *users)
{
    const wharf_json *whole = org_host->json->get(body, "users");
    wharf_status s;

    if (!org_host->json->get(body, "add") && !org_host->json->get(body, "remove") && !whole)
        return org_host->err->fail(
            req, ERR_VALIDATION_FAILED, "users", "send users, or add and remove");
    if (whole && (org_host->json->get(body, "add") || org_host->json->get(body, "remove")))
        return org_host->err->fail(
            req, ERR_VALIDATION_FAILED, "users", "send users, or add and remove, not both");
    for (size_t i = 0; i < add->n; i++) {
        if (org_members_among(remove, add->items[i]))
            org_host->err->add(req, ERR_VALIDATION_FAILED,
                org_host->mem->format(req, "add.%zu", i).p,
                "%.*s is also in remove; send it in one of them", (int)add->items[i].n,
                add->items[i].p);
    }
    s = org_host->err->current(req);
    if (s == WHARF_OK)
        s = check_known(req, add, "add", true);
    if (s == WHARF_OK)
        s = check_known(req, remove, "remove", true);
    if (s == WHARF_OK)
        s = check_known(req, users, "users", whole && org_host->json->type(whole) == WHARF_J_ARRAY);
    return s;
}

wharf_status members_change(wharf_req *req, void *arg)
{
    struct ids add, remove, users, before = {NULL, 0};
    bool overwrite = false;
    const wharf_json *body;
    wharf_str location;
    wharf_status s;

    org_host->req->body(req, &body);
    add = org_members_read_ids(req, org_host->json->get(body, "add"));
    remove = org_members_read_ids(req, org_host->json->get(body, "remove"));
    users = org_members_read_ids(req, org_host->json->get(body, "users"));
    if (org_host->json->get(body, "overwrite"))
        org_host->json->truth(org_host->json->get(body, "overwrite"), &overwrite);
    s = org_members_find_location(req, &location);
    if (s == WHARF_OK)
        s = check_lists(req, body, &add, &remove, &users);
    if (s == WHARF_OK && overwrite && org_host->json->get(body, "users"))
        s = present(req, location, &before);
    for (size_t i = 0; s == WHARF_OK && i < before.n; i++) {
        if (!org_members_among(&users, before.items[i]))
            s = remove_user(req, before.items[i], location);
    }
    for (size_t i = 0; s == WHARF_OK && i < remove.n; i++)
        s = remove_user(req, remove.items[i], location);
    for (size_t i = 0; s == WHARF_OK && i < add.n; i++)
        s = add_user(req, add.items[i], location);
    for (size_t i = 0; s == WHARF_OK && i < users.n; i++)
        s = add_user(req, users.items[i], location);
    return org_members_answer(req, location, s);
}

wharf_status members_add(wharf_req *req, void *arg)
{
    wharf_str location, user = {"", 0};
    wharf_status s = org_members_find_location(req, &location);

    org_host->req->param(req, "user", &user);
    return org_members_answer(req, location, s == WHARF_OK ? add_user(req, user, location) : s);
}

wharf_status members_remove(wharf_req *req, void *arg)
{
    wharf_str location, user = {"", 0};
    wharf_status s = org_members_find_location(req, &location);

    org_host->req->param(req, "user", &user);
    return org_members_answer(req, location, s == WHARF_OK ? remove_user(req, user, location) : s);
}
