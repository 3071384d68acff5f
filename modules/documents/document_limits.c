/* document_limits.c - what the operator's settings say of documents: categories, how many are
 * created in a minute, how many bytes an organization has
 * (docs/spec/05-documents-and-templates.md sections 1, 3.5 and 6). */
#include "documents.h"
#include "documents.gen.h"

#define CREATES "documents.create"

/* ---- settings ---- */

static wharf_plugin *documents_self;

void limits_start(wharf_plugin *self)
{
    documents_self = self;
}

/* ---- categories ---- */

static bool is_extra(wharf_str category)
{
    wharf_str one;

    for (size_t i = 0; documents_config->item(documents_self, "extra_categories", i, &one); i++) {
        if (same(one, category))
            return true;
    }
    return false;
}

wharf_status check_category(wharf_req *req, wharf_str category)
{
    static const char *const known[] = {"packing_slip", "bol", "coa", "item_label", "photo",
        "invoice", "spec_sheet", "contract", "shipping_label", "pod", "customs",
        "commercial_invoice", "manual", "certificate", "sds", "receipt", "report", "signature",
        "other"};
    const size_t n = sizeof(known) / sizeof(known[0]);
    wharf_str names = WHARF_S("");

    if (!category.n || word_place(category, known, n) < n || is_extra(category))
        return WHARF_OK;
    for (size_t i = 0; i < n; i++)
        names = W->mem->format(req, "%s%s, ", names.p, known[i]);
    return W->err->fail(req, ERR_VALIDATION_FAILED, "category",
        "category must be one of %sor one of the setting documents.extra_categories", names.p);
}

/* ---- creates ---- */

wharf_status check_creates(wharf_req *req)
{
    static const struct {
        const char *setting;
        uint32_t whom;
    } limits[] = {{"create_limits.ip", WHARF_LIMIT_ADDRESS},
        {"create_limits.user", WHARF_LIMIT_USER},
        {"create_limits.organization", WHARF_LIMIT_ORGANIZATION}};
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && s == WHARF_OK; i++)
        s = documents_http->limit_endpoint(req, limits[i].whom, WHARF_S(CREATES),
            (uint32_t)documents_config->integer(documents_self, limits[i].setting));
    return s;
}

/* ---- bytes ---- */

wharf_status check_quota(wharf_req *req, int64_t more)
{
    static const char sql[] = "SELECT coalesce(sum(size), 0)::bigint FROM documents.version WHERE "
                              "organization_id = $1::text";
    int64_t quota = documents_config->integer(documents_self, "quota_bytes");
    const wharf_val arg = val_text(W->req->organization(req));
    const wharf_rows *rows;
    wharf_status s;

    if (quota <= 0)
        return WHARF_OK;
    s = W->db->query(req, sql, &arg, 1, &rows);
    if (s != WHARF_OK || row_int(rows, 0, 0) + more <= quota)
        return s;
    return W->err->fail(req, ERR_DOCUMENT_QUOTA_EXCEEDED, NULL,
        "Documents of the organization have %lld of %lld bytes, and this one has %lld; delete some "
        "with purge=true",
        (long long)row_int(rows, 0, 0), (long long)quota, (long long)more);
}
