/* document_times.c - what time does to documents (docs/spec/05-documents-and-templates.md section
 * 2): bytes that never came, rows that go. A job each minute, for the whole installation. */
#include "documents.h"
#include "documents.gen.h"

enum { DUE_MOST = 500 }; /* documents of one run */
const char document_overdue_kind[] = "documents.overdue";

/* Writes that nobody brought the bytes. */
static wharf_status expire_one(wharf_req *req, wharf_str id)
{
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "document",
        .op = WHARF_UPDATE,
        .id = id,
        .kind = document_overdue_kind,
        .context = (void *)document_overdue_kind};
    wharf_status s = W->json->parse(req, WHARF_S("{}"), &w.body);

    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

/* Settles one finding, in a transaction of its own. What fails is found again in a minute. */
static void settle_due(wharf_req *req, wharf_str organization, wharf_str id, wharf_str kind)
{
    wharf_status s = documents_events->act_for(req, organization);

    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s == WHARF_OK)
        end_with(
            req, is(kind, "expire") ? expire_one(req, id) : W->res->remove(req, "document", id));
    W->err->clear(req);
}

wharf_status documents_sweep(wharf_req *req, void *arg)
{
    static const char due_sql[] =
        "SELECT organization_id, id, kind FROM documents.due($1::timestamptz, $2::bigint::integer)",
                      forget_sql[] =
                          "SELECT documents.forget($1::timestamptz, $2::bigint::integer)";
    const wharf_val args[] = {val_time(W->req->now_us(req)), val_int(DUE_MOST)};
    const wharf_rows *rows, *forgotten;
    wharf_status s = query_alone(req, due_sql, args, 2, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows) && !W->req->cancelled(req); i++) {
        wharf_scope *scope = W->mem->scope_begin(req);

        settle_due(req, row_text(rows, i, 0), row_text(rows, i, 1), row_text(rows, i, 2));
        W->mem->scope_end(req, scope);
    }
    if (s == WHARF_OK)
        s = documents_events->act_for(req, WHARF_S(""));
    return s == WHARF_OK ? query_alone(req, forget_sql, args, 2, &forgotten) : s;
}
