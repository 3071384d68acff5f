/* row.c - see row.h. */
#include "resource/row.h"

#include "resource/observe.h"
#include "resource/speculation.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

wharf_status unique_problem(
    struct wharf_req *req, const struct definition *d, const struct db_error *e)
{
    wharf_status s = WHARF_CONFLICT;

    for (size_t i = 0; i < d->storage.n_uniques; i++) {
        const struct unique_rule *u = &d->storage.uniques[i];

        if (strcmp(u->index, e->constraint) != 0)
            continue;
        for (size_t k = 0; k < u->n_report; k++)
            s = req_problem(req, u->code, str_z(u->report[k]->name), "unique",
                arena_printf(req->arena, "There is already a %s with this %s", d->title,
                    u->report[k]->name));
        return u->n_report ? s : req_fail(req, u->code, NULL, NULL);
    }
    return req_database_problem(req, e);
}

bool write_cell(
    struct wharf_req *req, const struct write *w, const struct field *f, struct sql_arg *ret)
{
    const struct value *v = &w->values[f->index];
    wharf_str text = v->present ? (v->null ? (wharf_str){NULL, 0} : v->text) : absent_text(f);
    struct cell cell = {text.p, text.n};
    bool sealed = cell_seal(req->arena, w->res->def, f, w->id, &cell);

    *ret = (struct sql_arg){cell.p, cell.n};
    return sealed;
}

bool row_bind(struct wharf_req *req, struct sql *s, const struct write *w, const struct field *f)
{
    struct sql_arg cell;
    bool sealed = write_cell(req, w, f, &cell);

    if (cell.p)
        sql_bind(s, (wharf_str){cell.p, cell.n});
    else
        sql_bind_null(s);
    sql_addf(s, "::%s", store_type(f));
    return sealed;
}

/* Asks for the row; hooks get ready while PostgreSQL looks for the row and its lock. */
static PGresult *ask_for_row(struct wharf_req *req, struct write *w, struct sql *s)
{
    bool started = write_observed(req, w->res, w->op) && req_start_sql(req, s);
    size_t before = req->problems.n;
    wharf_status ahead = observers_ahead(req, w);
    struct db_error e;
    PGresult *r = started             ? req_finish_sql(req, &e)
                  : ahead == WHARF_OK ? req_try_sql(req, s, &e)
                                      : NULL;

    if (!r && (started || ahead == WHARF_OK)) {
        req->problems.n = before; /* what hooks asked behind it failed for that */
        req_database_problem(req, &e);
    }
    return ahead == WHARF_OK ? r : NULL;
}

static wharf_status row_refused(
    struct wharf_req *req, const struct write *w, const struct db_error *e)
{
    return e->status == DB_UNIQUE ? unique_problem(req, w->res->def, e)
                                  : req_database_problem(req, e);
}

wharf_status row_write(struct wharf_req *req, struct write *w, struct sql *sql, PGresult **ret_rows)
{
    bool started = w->speculative && req_start_sql(req, sql);
    wharf_status s = w->speculative ? speculation_judge(req, w) : WHARF_OK;
    struct db_error e;
    PGresult *r;

    if (s != WHARF_OK)
        return s;
    r = started ? req_finish_sql(req, &e) : req_try_sql(req, sql, &e);
    if (ret_rows)
        *ret_rows = r;
    return r ? WHARF_OK : row_refused(req, w, &e);
}

static struct wharf_rec *vanished(struct wharf_req *req, const struct write *w)
{
    req_fail(req, ERR_INTERNAL, NULL, "a %s vanished while it was written", w->res->def->title);
    return NULL;
}

/* Runs the statement, which tells all of the row. */
static wharf_status store_and_tell(struct wharf_req *req, struct write *w, struct sql *sql)
{
    PGresult *r;
    wharf_status s;

    sql_addf(sql, " RETURNING %s", w->res->columns_shown);
    s = row_write(req, w, sql, &r);
    if (s != WHARF_OK)
        return s;
    w->stored = PQntuples(r) ? record_from_result(req->arena, w->res, r, 0) : vanished(req, w);
    if (!w->stored)
        return req_failed(req);
    w->stored->shown = true;
    return WHARF_OK;
}

wharf_status row_store(struct wharf_req *req, struct write *w, struct sql *sql)
{
    if (w->res->told_by_write)
        return store_and_tell(req, w, sql);
    if (w->speculative || !req->tx.depth || sql->failed || sql->text->failed)
        return row_write(req, w, sql, NULL);
    req_ahead(req, buf_str(sql->text).p, sql->args, sql->n_args);
    return WHARF_OK;
}

void row_remove_sql(struct wharf_req *req, struct sql *s, const struct definition *d)
{
    const struct field *archive = d->storage.archive;

    if (!d->storage.soft_delete) {
        sql_addf(s, "DELETE FROM %s t", d->storage.table);
        return;
    }
    sql_addf(s, "UPDATE %s t SET version = version + 1, %s = ", d->storage.table,
        archive ? archive->column : "deleted_at");
    sql_bind(s, time_iso(req->arena, req->now_us));
    sql_add(s, "::timestamptz, updated_by = ");
    sql_bind(s, req->access.who->actor_id);
    if (archive) { /* the row is still shown */
        sql_add(s, ", updated_at = ");
        sql_bind(s, time_iso(req->arena, req->now_us));
        sql_add(s, "::timestamptz");
    }
}

void row_removable_sql(struct sql *s, const struct definition *d, uint32_t op)
{
    if (op == OP_DELETE && d->storage.archive)
        sql_addf(s, " AND t.%s IS NULL", d->storage.archive->column);
}

struct wharf_rec *row_lock(struct wharf_req *req, struct write *w)
{
    const struct definition *d = w->res->def;
    struct narrowing narrow;
    struct sql s;
    PGresult *r;

    if (!narrow_rows_of(req, w->res, w->parent_id, &narrow))
        return NULL;
    sql_init(&s, req->arena);
    sql_add(&s, "SELECT ");
    sql_add(&s, w->res->columns_full);
    sql_addf(&s, " FROM %s t WHERE ", d->storage.table);
    query_visible(&s, d, &req->access.who->access, false);
    sql_add(&s, " AND t.id = ");
    sql_bind(&s, w->id);
    row_removable_sql(&s, d, w->op);
    narrow_sql(&s, &narrow);
    sql_add(&s, " FOR UPDATE OF t");
    r = ask_for_row(req, w, &s);
    if (!r)
        return NULL;
    if (!PQntuples(r)) {
        req_problem(req, ERR_NOT_FOUND, w->id, NULL, str_z(""));
        return NULL;
    }
    return record_from_result(req->arena, w->res, r, 0);
}

struct wharf_rec *row_read_again(struct wharf_req *req, struct write *w)
{
    struct db_error e;
    PGresult *r = retrieve_row_or(req, w->res, w->id, &e);
    struct wharf_rec *rec;

    if (!r) {
        row_refused(req, w, &e);
        return NULL;
    }
    if (!PQntuples(r))
        return vanished(req, w);
    rec = record_from_result(req->arena, w->res, r, 0);
    rec->shown = true;
    return rec;
}
