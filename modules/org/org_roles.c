/* org_roles.c - custom roles (spec 01 section 6.3). The built-in ones are rows for lists only;
 * what they may is the kernel's table. */
#include "org.gen.h"
#include "org.h"

static bool built_in(wharf_req *req, wharf_str id)
{
    uint32_t level;

    return keys->role_level(req, id, WHARF_S("items"), &level);
}

/* Checks that the role is not used: by users that have it, or an organization that gives it to new
 * ones. */
static wharf_status check_unused(wharf_req *req, wharf_str id)
{
    static const char sql[] = QUERY_ROLE_USES;
    wharf_val args[2] = {val_text(keys->caller(req)->live_organization), val_text(id)};
    const wharf_rows *rows;
    wharf_status s = org_host->db->query(req, sql, args, 2, &rows);

    if (s == WHARF_OK && row_int(rows, 0, 0))
        return org_host->err->fail(req, ERR_ROLE_IN_USE, NULL, NULL);
    return s;
}

/* Drops a sent id: ids are ours; the pattern of the definition is for the built-in ones. */
static wharf_status role_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    org_host->res->drop(new_rec, "id");
    return WHARF_OK;
}

static wharf_status role_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_status s = WHARF_OK;

    if (old_rec && built_in(req, org_host->res->id(old_rec)))
        return org_host->err->fail(req, ERR_ROLE_ACCESS, NULL,
            "The built-in roles stay as they are; make a role of your own");
    if (old_rec) /* it is of all who have it, wherever they are */
        s = reach_allowed(req, true, NULL);
    else if (!get_truth(new_rec, ROLE_LOCATION_RESTRICTED, true))
        s = reach_allowed(req, true, NULL);
    if (s != WHARF_OK)
        return s;
    if (op == WHARF_DELETE)
        return check_unused(req, org_host->res->id(old_rec));
    return scopes_settle(req, old_rec, new_rec, ROLE_SCOPES, false);
}

static wharf_status role_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    if (op != WHARF_CREATE)
        org_host->req->access_changed(req);
    return WHARF_OK;
}

const wharf_hooks role_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = role_normalize,
    .check = role_check,
    .written = role_written};
