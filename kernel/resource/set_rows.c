/* set_rows.c - the statements of a write of many: each for all rows of the set
 * (docs/decisions 25). See set.h. */
#include <stdlib.h>

#include "db/copy.h"
#include "resource/history.h"
#include "resource/access.h"
#include "resource/row.h"
#include "resource/set.h"
#include "resource/told.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum { COPIED_FROM = 50 /* rows */ };

/* ---- rows by their ids ---- */

static int set_rows_by_id(const void *x, const void *y)
{
    wharf_str a = (*(struct set_row *const *)x)->w.id, b = (*(struct set_row *const *)y)->w.id;
    return str_order(a, b);
}

static struct set_row **sorted_rows(struct wharf_req *req, const struct write_set *set)
{
    struct set_row **rows = ARENA_ARRAY(req->arena, struct set_row *, set->n_live + 1);

    memcpy(rows, set->live, set->n_live * sizeof(struct set_row *));
    qsort(rows, set->n_live, sizeof(struct set_row *), set_rows_by_id);
    return rows;
}

static struct set_row *set_rows_row_of(struct set_row *const *sorted, size_t n, wharf_str id)
{
    struct set_row key = {.w = {.id = id}}, *at = &key;
    struct set_row *const *found = bsearch(
        &at, sorted, n, sizeof(struct set_row *), set_rows_by_id);

    return found ? *found : NULL;
}

/* Returns the first of the rows of an id, one after the other: a check may meet a row more than
 * once. */
static struct set_row **first_of(struct set_row **sorted, size_t n, wharf_str id)
{
    struct set_row key = {.w = {.id = id}}, *at = &key;
    struct set_row **found = bsearch(&at, sorted, n, sizeof(struct set_row *), set_rows_by_id);

    while (found && found > sorted && str_eq(found[-1]->w.id, id))
        found--;
    return found;
}

static struct set_row **next_of(struct set_row **sorted, size_t n, struct set_row **row)
{
    return row + 1 < sorted + n && str_eq(row[1]->w.id, row[0]->w.id) ? row + 1 : NULL;
}

static void bind_ids(struct wharf_req *req, struct sql *s, struct set_row *const *rows, size_t n)
{
    wharf_str *ids = ARENA_ARRAY(req->arena, wharf_str, n + 1);

    for (size_t i = 0; i < n; i++)
        ids[i] = rows[i]->w.id;
    sql_bind_set(s, ids, n, "text");
}

/* ---- reading ---- */

static void set_rows_take_rows(
    struct wharf_req *req, const struct write_set *set, struct set_row *const *sorted, PGresult *r)
{
    for (int i = 0; i < PQntuples(r); i++) {
        struct wharf_rec *rec = record_from_result(req->arena, set->res, r, i);
        struct set_row *row = set_rows_row_of(sorted, set->n_live, record_id(rec));

        if (!row)
            continue;
        rec->values = row->w.values;
        row->w.new_rec = write_rec(&row->w, rec);
        row->place = arena_dupz(req->arena, PQgetvalue(r, i, (int)set->res->n_selected));
    }
}

wharf_status set_read(struct wharf_req *req, struct write_set *set)
{
    const struct definition *d = set->res->def;
    struct set_row **sorted = sorted_rows(req, set);
    struct sql s;
    PGresult *r;

    sql_init(&s, req->arena);
    /* One look by the primary key for each: while a table grows for the first time, indexes of
     * live rows look as good to the planner, and are walked from end to end. So it is asked for
     * the row first, and then whether it lives. */
    sql_addf(&s, "SELECT %s, t.wharf_place FROM unnest(", set->res->columns_full);
    bind_ids(req, &s, set->live, set->n_live);
    sql_addf(&s,
        ") x(id) CROSS JOIN LATERAL (SELECT y.*, y.ctid AS wharf_place FROM %s y WHERE "
        "y.organization_id = ",
        d->storage.table);
    sql_bind(&s, organization_of(&req->access.who->access, d));
    sql_addf(&s, " AND y.id = x.id OFFSET 0) t%s",
        d->storage.soft_delete ? " WHERE t.deleted_at IS NULL" : "");
    r = req_query_sql(req, &s);
    if (!r)
        return req_failed(req);
    for (size_t i = 0; i < set->n_live; i++)
        set->live[i]->w.new_rec = NULL;
    set_rows_take_rows(req, set, sorted, r);
    for (size_t i = 0; i < set->n_live; i++) {
        if (!set->live[i]->w.new_rec)
            return req_fail(
                req, ERR_INTERNAL, NULL, "a %s vanished while it was written", d->title);
    }
    return WHARF_OK;
}

/* Tells whether the rows are where they were read, so that nobody has written them since. */
static bool all_in_place(struct wharf_req *req, const struct write_set *set)
{
    wharf_str *places = ARENA_ARRAY(req->arena, wharf_str, set->n_live + 1);
    const struct definition *d = set->res->def;
    struct sql s;
    PGresult *r;

    for (size_t i = 0; i < set->n_live; i++)
        places[i] = set->live[i]->place;
    sql_init(&s, req->arena);
    /* One look at each place, whatever the planner believes of the table: as in set_read. */
    sql_add(&s, "SELECT count(*) FROM unnest(");
    sql_bind_set(&s, places, set->n_live, "tid");
    sql_addf(&s,
        ") p(place) CROSS JOIN LATERAL (SELECT * FROM %s y WHERE y.ctid = p.place OFFSET 0) "
        "t WHERE t.organization_id = ",
        d->storage.table);
    sql_bind(&s, organization_of(&req->access.who->access, d));
    sql_add(&s, d->storage.soft_delete ? " AND t.deleted_at IS NULL" : "");
    r = req_query_sql(req, &s);
    return r && strtoull(PQgetvalue(r, 0, 0), NULL, 10) == set->n_live;
}

static bool shows_others(const struct resource *res, const struct wharf_rec *rec)
{
    for (size_t i = res->def->storage.n_columns; i < res->n_selected; i++) {
        if (rec->cells[i].p)
            return true;
    }
    return false;
}

wharf_status set_refresh(struct wharf_req *req, struct write_set *set)
{
    bool fresh = set->res->self_contained;

    for (size_t i = 0; fresh && i < set->n_live; i++)
        fresh = set->live[i]->place.n && !shows_others(set->res, set->live[i]->w.new_rec);
    if (fresh)
        fresh = all_in_place(req, set);
    if (req->problems.n)
        return req_failed(req);
    return fresh ? WHARF_OK : set_read(req, set);
}

/* ---- create ---- */

static void written_columns(struct buf *b, const struct definition *d)
{
    buf_addz(b, "(organization_id, created_at, updated_at, created_by, updated_by, version, id");
    for (size_t i = 0; i < d->n_fields; i++) {
        if (field_written(&d->fields[i]))
            buf_addf(b, ", %s", d->fields[i].column);
    }
    buf_addc(b, ')');
}

/* Writes the cells of a row. Where sealing fails no row is written. */
static bool row_cells(struct wharf_req *req, const struct write *w, struct buf *rows)
{
    const struct definition *d = w->res->def;
    struct sql_arg cell;

    for (size_t i = 0; i < d->n_fields; i++) {
        if (!field_written(&d->fields[i]))
            continue;
        if (!write_cell(req, w, &d->fields[i], &cell)) {
            req_fail(req, ERR_SECRETS_UNAVAILABLE, d->fields[i].name, NULL);
            return false;
        }
        copy_cell(rows, (wharf_str){cell.p, cell.n});
    }
    copy_row_end(rows);
    return true;
}

/* Writes rows by COPY, which costs a third less than the statement does. It can't look out for
 * unique rules, and tells nothing of what it wrote. */
static bool set_rows_copy_rows(
    struct wharf_req *req, const struct write_set *set, struct db_error *ret_error)
{
    const struct definition *d = set->res->def;
    wharf_str now = time_iso(req->arena, req->now_us), actor = req->access.who->actor_id;
    struct buf sql, rows;
    bool good = true;

    buf_init(&sql, 64 * 1024);
    buf_init(&rows, SIZE_MAX / 2);
    buf_addf(&sql, "COPY %s ", d->storage.table);
    written_columns(&sql, d);
    buf_addz(&sql, " FROM STDIN");
    for (size_t i = 0; good && i < set->n_live; i++) {
        copy_cell(&rows, organization_of(&req->access.who->access, d));
        for (int k = 0; k < 2; k++)
            copy_cell(&rows, now);
        for (int k = 0; k < 2; k++)
            copy_cell(&rows, actor);
        copy_int(&rows, 1);
        copy_cell(&rows, set->live[i]->w.id);
        good = row_cells(req, &set->live[i]->w, &rows);
    }
    good = good && !sql.failed && req_try_copy(req, buf_str(&sql).p, &rows, ret_error);
    buf_done(&sql);
    buf_done(&rows);
    return good;
}

/* Binds one array per column, the rows' values in their order. Returns false when a secret could
 * not be sealed. */
static bool bind_column(
    struct wharf_req *req, struct sql *s, const struct write_set *set, const struct field *f)
{
    struct sql_arg *cells = ARENA_ARRAY(req->arena, struct sql_arg, set->n_live);

    for (size_t i = 0; i < set->n_live; i++) {
        if (!write_cell(req, &set->live[i]->w, f, &cells[i])) {
            req_fail(req, ERR_SECRETS_UNAVAILABLE, f->name, NULL);
            return false;
        }
    }
    sql_add(s, ", ");
    sql_bind_cells(s, cells, set->n_live);
    sql_addf(s, "::%s[]", store_type(f));
    return true;
}

static bool insert_statement(
    struct wharf_req *req, const struct write_set *set, const char *conflicts, struct sql *s)
{
    const struct definition *d = set->res->def;

    sql_init(s, req->arena);
    sql_addf(s, "INSERT INTO %s AS t ", d->storage.table);
    written_columns(s->text, d);
    sql_add(s, " SELECT ");
    sql_bind(s, organization_of(&req->access.who->access, d));
    for (int i = 0; i < 2; i++) {
        sql_add(s, ", ");
        sql_bind(s, time_iso(req->arena, req->now_us));
        sql_add(s, "::timestamptz");
    }
    for (int i = 0; i < 2; i++) {
        sql_add(s, ", ");
        sql_bind(s, req->access.who->actor_id);
    }
    sql_add(s, ", 1, u.* FROM unnest(");
    bind_ids(req, s, set->live, set->n_live);
    for (size_t i = 0; i < d->n_fields; i++) {
        if (field_written(&d->fields[i]) && !bind_column(req, s, set, &d->fields[i]))
            return false;
    }
    sql_addf(s, ") u%s RETURNING %s, t.ctid", conflicts, set->res->columns_full);
    return true;
}

/* Inserts alone what met a unique rule: the database says which rule. */
static wharf_status insert_alone(struct wharf_req *req, struct set_row *row)
{
    struct sql sql;
    wharf_status s;

    set_at(req, row);
    if (req_begin(req) != WHARF_OK)
        return req_failed(req);
    s = write_insert_sql(req, &row->w, &sql) ? row_write(req, &row->w, &sql, NULL)
                                             : req_failed(req);
    if (s == WHARF_OK) {
        row->stored = true;
        return req_commit(req);
    }
    req_rollback(req);
    return WHARF_OK;
}

/* Writes all of them or none. False: *ret_error, or a problem. *ret_rows: what the statement
 * tells of them, NULL when it tells nothing. */
static bool insert_all(struct wharf_req *req, const struct write_set *set, bool copied,
    PGresult **ret_rows, struct db_error *ret_error)
{
    struct sql s;
    bool good = false;

    *ret_rows = NULL;
    *ret_error = (struct db_error){
        .status = DB_FAILED, .message = "the statement could not be built"};
    if (req_begin(req) != WHARF_OK)
        return false;
    if (copied)
        good = set_rows_copy_rows(req, set, ret_error);
    else if (insert_statement(req, set, "", &s))
        good = (*ret_rows = req_try_sql(req, &s, ret_error)) != NULL;
    if (good)
        return req_commit(req) == WHARF_OK;
    req_rollback(req);
    return false;
}

/* Inserts into new_rec; looks out for unique rules, which takes a sixth of the time, only when one
 * was met. */
static wharf_status insert_rows(
    struct wharf_req *req, struct write_set *set, struct set_row *const *sorted)
{
    struct db_error e = {.status = DB_FAILED, .message = "the statement could not be built"};
    PGresult *r = NULL;
    struct sql s;

    for (int copied = set->n_live >= COPIED_FROM; !req->tx.met_unique && copied >= 0; copied--) {
        if (insert_all(req, set, copied, &r, &e))
            return r ? (set_rows_take_rows(req, set, sorted, r), WHARF_OK) : set_read(req, set);
        if (req->problems.n)
            return req_failed(req);
        req->tx.met_unique = e.status == DB_UNIQUE;
        /* The statement may write where COPY may not, as where row-level security holds for the
         * owner too. */
        if (e.status != DB_FAILED)
            break;
    }
    if (req->tx.met_unique && insert_statement(req, set, " ON CONFLICT DO NOTHING", &s))
        r = req_try_sql(req, &s, &e);
    if (!r && !req->problems.n)
        req_database_problem(req, &e);
    if (!r)
        return req_failed(req);
    set_rows_take_rows(req, set, sorted, r);
    return WHARF_OK;
}

wharf_status set_insert(struct wharf_req *req, struct write_set *set)
{
    wharf_status s = insert_rows(req, set, sorted_rows(req, set));
    bool alone = false;

    if (s != WHARF_OK)
        return s;
    for (size_t i = 0; i < set->n_live; i++) {
        struct set_row *row = set->live[i];

        row->stored = row->w.new_rec->cells != NULL;
        if (row->stored)
            continue;
        if (insert_alone(req, row) != WHARF_OK)
            return req_failed(req);
        alone |= row->stored;
    }
    set_sift(req, set);
    if (set->broken)
        return req_failed(req);
    return alone && set->n_live ? set_read(req, set) : WHARF_OK;
}

/* ---- delete ---- */

/* Finds rows, ordered by id, so that two that lock the same rows don't wait for each other. */
static PGresult *set_rows_find_rows(
    struct wharf_req *req, const struct write_set *set, struct set_row *const *sorted, bool lock)
{
    const struct definition *d = set->res->def;
    struct narrowing narrow;
    struct sql s;

    if (!narrow_rows_of(req, set->res, str_z(""), &narrow))
        return NULL;
    sql_init(&s, req->arena);
    sql_addf(&s, "SELECT %s FROM unnest(", set->res->columns_full);
    bind_ids(req, &s, sorted, set->n_live);
    sql_addf(&s, ") x(id) JOIN %s t ON t.id = x.id WHERE ", d->storage.table);
    query_visible(&s, d, &req->access.who->access, false);
    row_removable_sql(&s, d, OP_DELETE);
    narrow_sql(&s, &narrow);
    if (lock)
        sql_add(&s, " ORDER BY t.id FOR UPDATE OF t");
    return req_query_sql(req, &s);
}

static wharf_status set_rows_find(
    struct wharf_req *req, struct write_set *set, struct set_row **sorted, bool lock)
{
    PGresult *r = set_rows_find_rows(req, set, sorted, lock);
    size_t n = set->n_live;

    if (!r)
        return req_failed(req);
    for (int i = 0; i < PQntuples(r); i++) {
        struct wharf_rec *rec = record_from_result(req->arena, set->res, r, i);

        for (struct set_row **row = first_of(sorted, n, record_id(rec)); row;
             row = next_of(sorted, n, row))
            (*row)->w.old_rec = write_rec(&(*row)->w, rec);
    }
    for (size_t i = 0; i < set->n_live && !set->broken; i++) {
        struct write *w = &set->live[i]->w;

        set_at(req, set->live[i]);
        if (!w->old_rec)
            req_problem(req, ERR_NOT_FOUND, w->id, NULL, str_z(""));
        else if (check_location(req, set->res, w->old_rec))
            route_precondition(req, w->old_rec);
    }
    set_sift(req, set);
    return set->broken ? WHARF_CONFLICT : WHARF_OK;
}

wharf_status set_find(struct wharf_req *req, struct write_set *set)
{
    return set_rows_find(req, set, sorted_rows(req, set), false);
}

wharf_status set_lock(struct wharf_req *req, struct write_set *set)
{
    struct set_row **sorted = sorted_rows(req, set);
    size_t n = set->n_live;
    wharf_status s = set_rows_find(req, set, sorted, true);

    for (size_t i = 1; i < n; i++) /* the same row twice: the second finds it gone, as row by row */
        set->row_by_row |= str_eq(sorted[i]->w.id, sorted[i - 1]->w.id);
    return set->row_by_row ? WHARF_CONFLICT : s;
}

/* Computes the fields that events show: they show the row as its retrieve does, computed fields
 * too. */
static bool compute_for_events(struct wharf_req *req, const struct write_set *set)
{
    struct wharf_rec **recs = ARENA_ARRAY(req->arena, struct wharf_rec *, set->n_live + 1);

    for (size_t i = 0; i < set->n_live; i++)
        recs[i] = set->op == OP_DELETE ? set->live[i]->w.old_rec : set->live[i]->w.new_rec;
    return told_compute(req, set->res, recs, set->n_live) == WHARF_OK;
}

wharf_status set_delete(struct wharf_req *req, struct write_set *set)
{
    const struct definition *d = set->res->def;
    struct sql s;

    if (d->events.deleted && !compute_for_events(req, set))
        return WHARF_INTERNAL;
    sql_init(&s, req->arena);
    row_remove_sql(req, &s, d);
    sql_addf(&s, " %s unnest(", d->storage.soft_delete ? "FROM" : "USING");
    bind_ids(req, &s, set->live, set->n_live);
    sql_add(&s, ") x(id) WHERE t.id = x.id AND t.organization_id = ");
    sql_bind(&s, organization_of(&req->access.who->access, d));
    if (!req_query_sql(req, &s))
        return req_failed(req);
    for (size_t i = 0; i < set->n_live; i++)
        set->live[i]->stored = true;
    return WHARF_OK;
}

/* ---- history ---- */

wharf_status set_history(struct wharf_req *req, struct write_set *set)
{
    const struct definition *d = set->res->def;
    struct change *changes = ARENA_ARRAY(req->arena, struct change, set->n_live + 1);

    if (set->op == OP_CREATE && d->events.created && !compute_for_events(req, set))
        return WHARF_INTERNAL;
    for (size_t i = 0; i < set->n_live; i++) {
        if (!write_change(req, &set->live[i]->w, str_z(""), str_z(""), &changes[i]))
            return req_failed(req);
    }
    return history_write_many(req, changes, set->n_live);
}
