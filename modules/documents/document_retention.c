/* document_retention.c - how long documents are kept: rules per category, and legal holds
 * (docs/spec/05-documents-and-templates.md section 4.1). A job each minute deletes what is due, as
 * a DELETE does, one document in a transaction. Leaves the bytes to document_files.c. */
#include "documents.h"
#include "documents.gen.h"

enum {
    ORGANIZATIONS_AT_ONCE = 100, /* of one run */
    STEP = 500, /* documents that are looked up at once */
    STEPS_MOST = 10 /* of one organization in one run; then it is the turn of the next */
};

/* ---- legal holds ---- */

bool on_hold(const wharf_rec *rec)
{
    return field_int(rec, DOCUMENT_LEGAL_HOLD) != 0;
}

wharf_status hold_check_delete(wharf_req *req, const wharf_rec *rec)
{
    return on_hold(rec) ? W->err->fail(req, ERR_DOCUMENT_ON_HOLD, NULL, NULL) : WHARF_OK;
}

wharf_status hold_check_version(wharf_req *req, const wharf_rec *rec)
{
    if (!on_hold(rec) || field_int(rec, DOCUMENT_VERSIONS_COUNT) < VERSIONS_MAX)
        return WHARF_OK;
    return W->err->fail(req, ERR_DOCUMENT_ON_HOLD, NULL,
        "The document is on legal hold and has %d versions: one more would drop the oldest; end "
        "the hold with legal_hold: false, or store the bytes as another document",
        VERSIONS_MAX);
}

/* ---- rules ---- */

static wharf_status rule_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    if (op == WHARF_UPDATE && !W->res->changed(old_rec, new_rec, DOCUMENT_RETENTION_RULE_CATEGORY))
        return WHARF_OK;
    return check_category(req, field_text(new_rec, DOCUMENT_RETENTION_RULE_CATEGORY));
}

/* Lets only those make a rule that may read it: it is about documents of all locations. */
static wharf_status rule_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const wharf_rec *rec;
    wharf_status s = op == WHARF_CREATE ? W->res->fetch(req, "document_retention_rule",
                                              W->res->id(new_rec), 0, &rec)
                                        : WHARF_OK;

    if (s == WHARF_OK)
        W->res->row_kept(new_rec);
    return s;
}

const wharf_hooks documents_rule_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = rule_check,
    .written = rule_written,
    .ops = WHARF_CREATE | WHARF_UPDATE};

/* ---- what is due ---- */

/* Tells who reads the change log and events why the document goes. */
static wharf_status tell_why(
    wharf_req *req, wharf_str id, wharf_str rule, int64_t days, wharf_str category)
{
    const wharf_log_line line = {.head = WHARF_HEAD(wharf_log_line),
        .resource = "document",
        .action = "retention",
        .resource_id = id,
        .message = W->mem->format(req, "Deleted by the retention rule %s: %s after %lld days",
            rule.p, category.n ? category.p : "documents without a rule of their category",
            (long long)days)};
    wharf_out *out = W->json->builder(req);
    const wharf_json *extra;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "retention_rule_id", val_text(rule));
    W->json->put(out, "delete_after_days", val_int(days));
    W->json->close(out);
    s = W->json->result(req, out, &extra);
    if (s == WHARF_OK)
        s = W->event->emit(req, "document.retired", "document", id, extra);
    return s == WHARF_OK ? documents_logs->add(req, &line) : s;
}

/* Deletes a document, unless it is not due any more. *ret_gone: it was deleted. */
static wharf_status retire_locked(wharf_req *req, wharf_str id, bool *ret_gone)
{
    const wharf_val args[] = {
        val_text(id), val_text(W->req->organization(req)), val_time(W->req->now_us(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, QUERY_OVERDUE_RULE, args, 3, &rows);

    *ret_gone = s == WHARF_OK && W->db->count(rows);
    if (!*ret_gone)
        return s;
    s = tell_why(req, id, row_text(rows, 0, 0), row_int(rows, 0, 1), row_text(rows, 0, 2));
    return s == WHARF_OK ? W->res->remove(req, "document", id) : s;
}

/* Deletes the documents of one step, each in its own transaction. Returns how many went; what
 * fails is found again by the next run. */
static size_t retire_found(wharf_req *req, const wharf_rows *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < W->db->count(rows) && !W->req->cancelled(req); i++) {
        wharf_scope *scope = W->mem->scope_begin(req);
        bool gone = false;
        wharf_status s = W->db->begin(req);

        if (s == WHARF_OK)
            s = end_with(req, retire_locked(req, row_text(rows, i, 0), &gone));
        n += s == WHARF_OK && gone;
        W->err->clear(req);
        W->mem->scope_end(req, scope);
    }
    return n;
}

/* Deletes what is due in one organization, in steps; the rest is for the next run. */
static void retire_organization(wharf_req *req, wharf_str organization)
{
    const wharf_val args[] = {val_text(organization), val_time(W->req->now_us(req)), val_int(STEP)};
    wharf_status s = documents_events->act_for(req, organization);
    size_t gone = STEP;

    for (int i = 0; s == WHARF_OK && i < STEPS_MOST && gone && !W->req->cancelled(req); i++) {
        wharf_scope *scope = W->mem->scope_begin(req);
        const wharf_rows *rows;

        s = query_alone(req, QUERY_OVERDUE, args, 3, &rows);
        gone = s == WHARF_OK ? retire_found(req, rows) : 0;
        if (s == WHARF_OK && W->db->count(rows) < STEP)
            gone = 0;
        W->mem->scope_end(req, scope);
    }
    W->err->clear(req);
}

wharf_status documents_retire(wharf_req *req, void *arg)
{
    static const char sql[] = "SELECT documents.ruled($1::text, $2::bigint::integer)";
    wharf_val args[] = {val_text(WHARF_S("")), val_int(ORGANIZATIONS_AT_ONCE)};
    const wharf_rows *rows;
    size_t n = ORGANIZATIONS_AT_ONCE;
    wharf_status s = WHARF_OK;

    while (s == WHARF_OK && n == ORGANIZATIONS_AT_ONCE && !W->req->cancelled(req)) {
        s = documents_events->act_for(req, WHARF_S(""));
        if (s == WHARF_OK)
            s = query_alone(req, sql, args, 2, &rows);
        n = s == WHARF_OK ? W->db->count(rows) : 0;
        for (size_t i = 0; i < n && !W->req->cancelled(req); i++)
            retire_organization(req, row_text(rows, i, 0));
        if (n)
            args[0] = val_text(row_text(rows, n - 1, 0));
    }
    return s;
}
