/* children.c - the rows of a child table that belong to one row: a sent array is the complete list.
 *
 * Items find their row by id, else by the other match fields (docs/reference/definitions.md
 * 'children'); live rows that no item found are removed. Leaves to others: checking the items
 * (body.c), telling the change (diff.c). */
#include "resource/write.h"

#include "util/id.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

struct live_row {
    wharf_str id;
    PGresult *rows;
    int row;
    bool taken;
};

struct children {
    struct wharf_req *req;
    const struct write *w;
    const struct field *field;
    const struct child_set *set;
    struct live_row *live;
    size_t n_live;
    wharf_str now;
    bool changed;
};

static bool children_is_system(const struct field *f)
{
    return !f->column || !strcmp(f->column, "id") || !strcmp(f->column, "created_at") ||
           !strcmp(f->column, "updated_at");
}

static void where_row(struct children *c, struct sql *s, wharf_str id)
{
    sql_add(s, " WHERE organization_id = ");
    sql_bind(s, organization_of(&c->req->access.who->access, c->w->res->def));
    sql_addf(s, " AND %s = ", c->set->parent_column);
    sql_bind(s, c->w->id);
    sql_add(s, " AND id = ");
    sql_bind(s, id);
}

static bool read_live(struct children *c)
{
    struct sql s;
    PGresult *r;

    sql_init(&s, c->req->arena);
    sql_add(&s, "SELECT id, position");
    for (size_t i = 0; i < c->set->n_fields; i++)
        sql_addf(&s, ", %s", c->set->fields[i].column);
    sql_addf(&s, " FROM %s WHERE organization_id = ", c->set->table);
    sql_bind(&s, organization_of(&c->req->access.who->access, c->w->res->def));
    sql_addf(&s, " AND %s = ", c->set->parent_column);
    sql_bind(&s, c->w->id);
    sql_add(&s, c->set->soft_delete ? " AND deleted_at IS NULL ORDER BY position, id FOR UPDATE"
                                    : " ORDER BY position, id FOR UPDATE");
    r = req_query_sql(c->req, &s);
    if (!r)
        return false;
    c->n_live = (size_t)PQntuples(r);
    c->live = ARENA_ARRAY(c->req->arena, struct live_row, c->n_live);
    for (int i = 0; i < PQntuples(r); i++)
        c->live[i] = (struct live_row){str_z(PQgetvalue(r, i, 0)), r, i, false};
    return true;
}

/* Finds the live row, not yet taken, that an item names by this field. An id must be one. */
static struct live_row *children_find_by(
    struct children *c, const struct child_item *item, const struct field *f)
{
    bool by_id = f->column && !strcmp(f->column, "id");
    const struct value *v = &item->values[f->index];
    wharf_str want = by_id ? item->id : v->present && !v->null ? v->text : str_z("");

    if (!want.n)
        return NULL;
    for (size_t i = 0; i < c->n_live; i++) {
        struct live_row *row = &c->live[i];

        if (!row->taken && str_eqz(want, PQgetvalue(row->rows, row->row, 2 + (int)f->index)))
            return row;
    }
    if (by_id)
        req_problem(c->req, ERR_VALIDATION_FAILED,
            arena_printf(c->req->arena, "%s.%zu.id", c->field->name, item->position), "reference",
            arena_printf(c->req->arena, "There is no such row in %s; leave the id out to add one",
                c->field->name));
    return NULL;
}

/* Matches items and rows: all items by their ids first, so that no name takes a row that another
 * item means. */
static void children_match_items(struct children *c, const struct value *v, struct live_row **rows)
{
    for (size_t m = 0; m < c->set->n_match; m++) {
        for (size_t i = 0; i < v->n_items; i++) {
            if (rows[i])
                continue;
            rows[i] = children_find_by(c, &v->items[i], c->set->match[m]);
            if (rows[i])
                rows[i]->taken = true;
        }
    }
}

static void bind_value(struct sql *s, const struct field *f, const struct value *v)
{
    wharf_str text = v->present ? (v->null ? (wharf_str){NULL, 0} : v->text) : absent_text(f);

    if (text.p)
        sql_bind(s, text);
    else
        sql_bind_null(s);
    sql_addf(s, "::%s", store_type(f));
}

static wharf_status insert_item(struct children *c, const struct child_item *item)
{
    const struct child_set *set = c->set;
    char id[ID_MAX];
    struct sql s;

    if (set->uuid)
        uuid_v4(id);
    else
        id_new(set->id_prefix, c->req->now_us, id);
    sql_init(&s, c->req->arena);
    sql_addf(&s, "INSERT INTO %s (organization_id, %s, id, position, created_at, updated_at",
        set->table, set->parent_column);
    for (size_t i = 0; i < set->n_fields; i++) {
        if (!children_is_system(&set->fields[i]))
            sql_addf(&s, ", %s", set->fields[i].column);
    }
    sql_add(&s, ") VALUES (");
    sql_bind(&s, organization_of(&c->req->access.who->access, c->w->res->def));
    sql_add(&s, ", ");
    sql_bind(&s, c->w->id);
    sql_add(&s, ", ");
    sql_bind(&s, arena_dupz(c->req->arena, id));
    sql_addf(&s, ", %zu", item->position);
    for (int i = 0; i < 2; i++) {
        sql_add(&s, ", ");
        sql_bind(&s, c->now);
        sql_add(&s, "::timestamptz");
    }
    for (size_t i = 0; i < set->n_fields; i++) {
        if (children_is_system(&set->fields[i]))
            continue;
        sql_add(&s, ", ");
        bind_value(&s, &set->fields[i], &item->values[i]);
    }
    sql_add(&s, ")");
    c->changed = true;
    return req_query_sql(c->req, &s) ? WHARF_OK : req_failed(c->req);
}

static struct cell children_stored(const struct live_row *row, size_t column)
{
    if (PQgetisnull(row->rows, row->row, (int)column))
        return (struct cell){NULL, 0};
    return (struct cell){PQgetvalue(row->rows, row->row, (int)column),
        (size_t)PQgetlength(row->rows, row->row, (int)column)};
}

static wharf_status update_item(
    struct children *c, const struct live_row *row, const struct child_item *item)
{
    const struct child_set *set = c->set;
    bool any = !str_eqz(
        arena_printf(c->req->arena, "%zu", item->position), PQgetvalue(row->rows, row->row, 1));
    struct sql s;

    sql_init(&s, c->req->arena);
    sql_addf(&s, "UPDATE %s SET updated_at = ", set->table);
    sql_bind(&s, c->now);
    sql_addf(&s, "::timestamptz, position = %zu", item->position);
    for (size_t i = 0; i < set->n_fields; i++) {
        const struct field *f = &set->fields[i];
        const struct value *v = &item->values[i];
        struct cell cell = children_stored(row, 2 + i);

        if (children_is_system(f) || !v->present || v->defaulted ||
            !cell_differs(c->req->arena, f, &cell, v))
            continue;
        sql_addf(&s, ", %s = ", f->column);
        bind_value(&s, f, v);
        any = true;
    }
    if (!any)
        return WHARF_OK;
    c->changed = true;
    where_row(c, &s, row->id);
    return req_query_sql(c->req, &s) ? WHARF_OK : req_failed(c->req);
}

static wharf_status remove_row(struct children *c, wharf_str id)
{
    struct sql s;

    sql_init(&s, c->req->arena);
    if (c->set->soft_delete) {
        sql_addf(&s, "UPDATE %s SET deleted_at = ", c->set->table);
        sql_bind(&s, c->now);
        sql_add(&s, "::timestamptz");
    } else {
        sql_addf(&s, "DELETE FROM %s", c->set->table);
    }
    where_row(c, &s, id);
    c->changed = true;
    return req_query_sql(c->req, &s) ? WHARF_OK : req_failed(c->req);
}

/* Parks rows whose unique value changes under their id, so that values may be swapped. */
static wharf_status park_changing(struct children *c, const struct value *v, struct live_row **rows)
{
    const struct field *f = c->set->unique;

    for (size_t i = 0; f && v->n_items > 1 && i < v->n_items; i++) {
        const struct value *new_value = &v->items[i].values[f->index];
        struct cell old;
        struct sql s;

        if (!rows[i] || !new_value->present)
            continue;
        old = children_stored(rows[i], 2 + f->index);
        if (!cell_differs(c->req->arena, f, &old, new_value))
            continue;
        sql_init(&s, c->req->arena);
        sql_addf(&s, "UPDATE %s SET %s = id", c->set->table, f->column);
        where_row(c, &s, rows[i]->id);
        if (!req_query_sql(c->req, &s))
            return req_failed(c->req);
    }
    return WHARF_OK;
}

wharf_status children_write(
    struct wharf_req *req, const struct write *w, const struct field *f, bool *ret_changed)
{
    struct children c = {.req = req,
        .w = w,
        .field = f,
        .set = f->children,
        .now = time_iso(req->arena, req->now_us)};
    const struct value *v = &w->values[f->index];
    struct live_row **rows = ARENA_ARRAY(req->arena, struct live_row *, v->n_items + 1);
    wharf_status s = WHARF_OK;

    if (w->op == OP_UPDATE && !read_live(&c))
        return req_failed(req);
    if (w->op == OP_UPDATE)
        children_match_items(&c, v, rows);
    if (req->problems.n)
        return WHARF_INVALID;
    /* Removals first, so that a name may move from a removed row to another one. */
    for (size_t i = 0; i < c.n_live && s == WHARF_OK; i++) {
        if (!c.live[i].taken)
            s = remove_row(&c, c.live[i].id);
    }
    if (s == WHARF_OK)
        s = park_changing(&c, v, rows);
    for (size_t i = 0; i < v->n_items && s == WHARF_OK; i++)
        s = rows[i] ? update_item(&c, rows[i], &v->items[i]) : insert_item(&c, &v->items[i]);
    *ret_changed = c.changed;
    return s;
}

wharf_status children_delete(struct wharf_req *req, const struct write *w, const struct field *f)
{
    struct children c = {.req = req,
        .w = w,
        .field = f,
        .set = f->children,
        .now = time_iso(req->arena, req->now_us)};
    wharf_status s = WHARF_OK;

    if (!read_live(&c))
        return req_failed(req);
    for (size_t i = 0; i < c.n_live && s == WHARF_OK; i++)
        s = remove_row(&c, c.live[i].id);
    return s;
}
