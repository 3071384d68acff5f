/* reasons.c - the module reasons: a resource without rules, and the service by which others link to it. */
#include <string.h>

#include "wharf/ext/reasons.h"

#include "reasons.gen.h"

static const wharf_host *host;

static wharf_val text(wharf_str s)
{
    return (wharf_val){.type = WHARF_V_TEXT, .u.s = s};
}

static wharf_status check(wharf_req *req, wharf_str id, const char *kind, const char *path, wharf_str *ret_code)
{
    static const char sql[] = "SELECT code, active, resources ? $2::text FROM reasons.reason_code"
                              " WHERE id = $1::text AND deleted_at IS NULL";
    wharf_val args[2] = {text(id), text((wharf_str){kind, strlen(kind)})}, v;
    const wharf_rows *rows;
    wharf_status s = host->db->query(req, sql, args, 2, &rows);

    if (s != WHARF_OK)
        return s;
    if (!host->db->count(rows) || !host->db->value(rows, 0, 0, WHARF_V_TEXT, &v))
        return host->err->fail(req, "validation.failed", path, "There is no reason code %.*s", (int)id.n, id.p);
    *ret_code = v.u.s;
    if (!host->db->value(rows, 0, 1, WHARF_V_BOOL, &v) || !v.u.i)
        return host->err->fail(req, "reason_code.inactive", path, NULL);
    if (!host->db->value(rows, 0, 2, WHARF_V_BOOL, &v) || !v.u.i)
        return host->err->fail(req, "reason_code.resource_mismatch", path, NULL);
    return WHARF_OK;
}

static wharf_status linked(wharf_req *req, wharf_str id, const wharf_json **ret_code)
{
    static const char sql[] =
        "SELECT jsonb_build_object('id', id, 'code', code, 'name', name, 'description', description)"
        " FROM reasons.reason_code WHERE id = $1::text";
    wharf_val arg = text(id), v;
    const wharf_rows *rows;
    wharf_status s = host->db->query(req, sql, &arg, 1, &rows);

    *ret_code = NULL;
    if (s == WHARF_OK && host->db->count(rows) && host->db->value(rows, 0, 0, WHARF_V_JSON, &v))
        *ret_code = v.u.j;
    return s;
}

static const wharf_reasons_lookup_api lookup = {WHARF_HEAD(wharf_reasons_lookup_api), check, linked};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource code = {.head = WHARF_HEAD(wharf_resource),
        .name = "reason_code",
        .definition_hash = REASON_CODE_DEFINITION_HASH,
        .definition = REASON_CODE_DEFINITION};

    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    api->resource(d, &code);
    api->provide(d, "reasons.lookup", 1, 0, &lookup);
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *given)
{
    static const wharf_plugin_desc desc = {
        .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

    host = given;
    return &desc;
}
