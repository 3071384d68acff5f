/* reasons.c - the module reasons: a resource without rules, and the service by which others
 * link to it (spec 03 section 7.9). */
#include "wharf/ext/reasons.h"

#define W reasons_host
static const wharf_host *W; /* set once, before anything of this module runs */
#include "wharf/inline.h"

#include "reasons.gen.h"

static wharf_status reasons_check(
    wharf_req *req, wharf_str id, const char *kind, const char *path, wharf_str *ret_code)
{
    static const char sql[] =
        "SELECT code, active, resources ? $3::text FROM reasons.reason_code"
        " WHERE organization_id = $2::text AND id = $1::text AND deleted_at IS NULL";
    wharf_val args[3] = {val_text(id), val_text(W->req->organization(req)), val_text(z(kind))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows))
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, path, "There is no reason code %.*s", (int)id.n, id.p);
    *ret_code = row_text(rows, 0, 0);
    if (!row_bool(rows, 0, 1))
        return W->err->fail(req, ERR_REASON_CODE_INACTIVE, path, NULL);
    return row_bool(rows, 0, 2) ? WHARF_OK
                                : W->err->fail(req, ERR_REASON_CODE_RESOURCE_MISMATCH, path, NULL);
}

static wharf_status linked(wharf_req *req, wharf_str id, const wharf_json **ret_code)
{
    static const char sql[] =
        "SELECT jsonb_build_object('id', id, 'code', code, 'name', name, 'description', "
        "description)"
        " FROM reasons.reason_code WHERE organization_id = $2::text AND id = $1::text";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, id, &rows);

    *ret_code = s == WHARF_OK && W->db->count(rows) ? row_json(rows, 0, 0) : NULL;
    return s;
}

static const wharf_reasons_lookup_api lookup = {
    WHARF_HEAD(wharf_reasons_lookup_api), reasons_check, linked};

static void reasons_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "reason_code", (wharf_str)REASON_CODE_DEFINITION,
        REASON_CODE_DEFINITION_HASH, NULL);
    api->provide(d, "reasons.lookup", 1, 0, &lookup);
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *given)
{
    static const wharf_plugin_desc desc = {
        .head = WHARF_HEAD(wharf_plugin_desc), DESCRIBED, .declare = reasons_declare};

    W = given;
    return &desc;
}
