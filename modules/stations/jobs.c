/* jobs.c - the resource print_job: its hooks, and writes by the server itself (spec 04 section
 * 6). The rules are in print_job_create.c and states.c. */
#include "printing.h"
#include "stations.gen.h"

/* The context of writes by the server: what they set, past the rules for clients. */
static const char change_kind[] = "stations.change";
struct change {
    const struct job_set *sets;
    size_t n;
};

wharf_status job_write(wharf_req *req, wharf_str id, const struct job_set *sets, size_t n)
{
    struct change change = {.sets = sets, .n = n};
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "print_job",
        .op = WHARF_UPDATE,
        .id = id,
        .kind = change_kind,
        .context = &change};
    wharf_status s = W->json->parse(req, WHARF_S("{}"), &w.body);

    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

/* Settles how long the bytes are kept, which is known once the job is over. */
static wharf_status jobs_settle_document(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *document = field_json(new_rec, PRINT_JOB_DOCUMENT), *v;
    int64_t ended = field_int(new_rec, PRINT_JOB_ENDED_AT);
    wharf_out *out = W->json->builder(req);
    wharf_status s;

    if (!ended || !W->res->changed(old_rec, new_rec, PRINT_JOB_ENDED_AT))
        return WHARF_OK;
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = document ? W->json->at(document, 0) : NULL; m;
         m = W->json->next(m)) {
        if (!is(W->json->key(m), "available_until"))
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
    W->json->put(out, "available_until",
        val_time(ended + print_setting("retention_hours") * 3600 * SECOND_US));
    W->json->close(out);
    s = W->json->result(req, out, &v);
    if (s == WHARF_OK)
        W->res->set(new_rec, PRINT_JOB_DOCUMENT, val_json(v));
    return s;
}

static wharf_status job_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const struct change *c;
    wharf_status s;

    if (op == WHARF_CREATE)
        return job_create_check(req, new_rec);
    if (op == WHARF_DELETE)
        return job_status_final(job_status(old_rec))
                   ? WHARF_OK
                   : W->err->fail(req, ERR_PRINT_JOB_NOT_FINAL, "status", NULL);
    c = W->res->context(new_rec, change_kind);
    for (size_t i = 0; c && i < c->n; i++)
        W->res->set(new_rec, c->sets[i].field, c->sets[i].value);
    s = c ? WHARF_OK : job_update_check(req, old_rec, new_rec);
    return s == WHARF_OK ? jobs_settle_document(req, old_rec, new_rec) : s;
}

/* Erases the bytes with the row: nobody prints it any more. */
static wharf_status erase(wharf_req *req, const wharf_rec *rec)
{
    static const wharf_field files[] = {PRINT_JOB_SOURCE_FILE, PRINT_JOB_PREPARED_FILE};
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < 2 && s == WHARF_OK; i++) {
        wharf_str file = field_text(rec, files[i]);

        if (file.n)
            s = print_blob->remove(req, file);
        if (s == WHARF_NOT_FOUND)
            s = WHARF_OK;
    }
    return s;
}

static wharf_status job_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_status s = job_tell(req, op, old_rec, new_rec);

    return s == WHARF_OK && op == WHARF_DELETE ? erase(req, old_rec) : s;
}

/* ---- history ---- */

static wharf_status job_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    static const char sql[] =
        "SELECT job_id, status, stage, at, actor, reason, late FROM stations.print_job_history "
        "WHERE organization_id = $2::text"
        " AND job_id = ANY ((SELECT $1::text[])::text[]) ORDER BY job_id, number LIMIT 100000";
    const wharf_rows *rows;
    wharf_status s;

    if (f == PRINT_JOB_PUSH_DELIVERIES)
        return push_compute(req, recs, n, outs);
    if (f != PRINT_JOB_HISTORY)
        return WHARF_OK;
    s = query_about(req, sql, val_rec_ids(req, recs, n).u.s, &rows);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        wharf_str id = W->res->id(recs[i]);

        W->json->open(outs[i], NULL, '[');
        for (size_t r = 0; r < W->db->count(rows); r++) {
            wharf_val at;

            if (!same(row_text(rows, r, 0), id) || !W->db->value(rows, r, 3, WHARF_V_TIME_US, &at))
                continue;
            W->json->open(outs[i], NULL, '{');
            W->json->put(outs[i], "status", val_text(row_text(rows, r, 1)));
            W->json->put(outs[i], "stage", val_text_or_null(row_text(rows, r, 2)));
            W->json->put(outs[i], "at", at);
            W->json->put(outs[i], "by", val_text_or_null(row_text(rows, r, 4)));
            W->json->put(outs[i], "reason", val_text_or_null(row_text(rows, r, 5)));
            W->json->put(outs[i], "late", val_bool(row_bool(rows, r, 6)));
            W->json->close(outs[i]);
        }
        W->json->close(outs[i]);
    }
    return s;
}

const wharf_hooks print_job_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = job_check,
    .written = job_written,
    .compute = job_compute};
