/* table_check.c - the tables of a database against the definitions: every column that a
 * statement of the engine will name is there, with a type that fits. Else the first request
 * finds out. See table_check.h. docs/reference/definitions.md 'Tables'. */
#include "resource/table_check.h"

#include <stdlib.h>
#include <string.h>

#include "kernel_queries.gen.h"
#include "util/str.h"

static const char columns_sql[] = QUERY_TABLE_COLUMNS;

struct tables {
    const PGresult *r;
    struct buf *problems;
    const struct resource *res;
};

/* Finds the row of a column by halving the sorted rows, or with column NULL any row of the
 * table; -1: there is none. */
static int table_check_table_row(const struct tables *t, const char *table, const char *column)
{
    int low = 0, high = PQntuples(t->r);

    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(PQgetvalue(t->r, middle, 0), table);

        if (!order && column)
            order = strcmp(PQgetvalue(t->r, middle, 1), column);
        if (!order)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* Returns the types that a store is read from and written to. */
static const char *types_of_store(enum store store)
{
    switch (store) {
    case STORE_INT:
        return " int2 int4 int8 numeric ";
    case STORE_DEC:
        return " numeric int2 int4 int8 ";
    case STORE_BOOL:
        return " bool ";
    case STORE_TIME:
        return " timestamptz ";
    case STORE_JSON:
    case STORE_ARRAY:
    case STORE_METADATA:
        return " jsonb json ";
    case STORE_TEXT:
    case STORE_SECRET:
    case STORE_NONE:
        break;
    }
    return " text varchar bpchar name uuid ";
}

static void check_column(const struct tables *t, const char *table, const char *column,
    enum store store, const char *why)
{
    int row = table_check_table_row(t, table, column);
    const char *type = row < 0 ? "" : PQgetvalue(t->r, row, 2);
    char word[80];

    if (row < 0) {
        buf_addf(t->problems,
            "%s: the table %s has no column %s, which %s%s%s needs; add it with a migration\n",
            t->res->plugin->name, table, column, t->res->def->name, why[0] ? "." : "", why);
        return;
    }
    snprintf(word, sizeof(word), " %s ", type);
    if (!strstr(types_of_store(store), word))
        buf_addf(t->problems, "%s: the column %s of %s is of type %s, %s%s%s needs one of:%s\n",
            t->res->plugin->name, column, table, type, t->res->def->name, why[0] ? "." : "", why,
            types_of_store(store));
}

static void table_check_fields(
    const struct tables *t, const char *table, const struct field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct field *f = &fields[i];

        if (f->kind == FIELD_COLUMN && !f->expression && f->column_name)
            check_column(t, table, f->column_name, f->store, f->name);
    }
}

static void check_children(const struct tables *t, const struct field *f)
{
    const struct child_set *set = f->children;

    if (table_check_table_row(t, set->table_name, NULL) < 0) {
        buf_addf(t->problems,
            "%s: there is no table %s, in which %s.%s has its rows; make it with a migration\n",
            t->res->plugin->name, set->table_name, t->res->def->name, f->name);
        return;
    }
    check_column(t, set->table_name, "organization_id", STORE_TEXT, f->name);
    check_column(t, set->table_name, "id", STORE_TEXT, f->name);
    check_column(t, set->table_name, "position", STORE_INT, f->name);
    check_column(t, set->table_name, set->parent_column_name, STORE_TEXT, f->name);
    if (f->write) {
        check_column(t, set->table_name, "created_at", STORE_TIME, f->name);
        check_column(t, set->table_name, "updated_at", STORE_TIME, f->name);
    }
    if (set->soft_delete)
        check_column(t, set->table_name, "deleted_at", STORE_TIME, f->name);
    table_check_fields(t, set->table_name, set->fields, set->n_fields);
}

static void table_check_resource(const struct tables *t)
{
    const struct definition *d = t->res->def;
    int row = table_check_table_row(t, d->storage.table_name, NULL);

    if (row < 0) {
        buf_addf(t->problems,
            "%s: there is no table %s, in which %s is kept; make it with a migration\n",
            t->res->plugin->name, d->storage.table_name, d->name);
        return;
    }
    if (PQgetvalue(t->r, row, 3)[0] != 't')
        buf_addf(t->problems,
            "%s: %s is a table of the server that no module serves; keep the rows of %s in a table "
            "of your own schema\n",
            t->res->plugin->name, d->storage.table_name, d->name);
    check_column(t, d->storage.table_name, "organization_id", STORE_TEXT, "");
    for (size_t i = 0; i < COL_SYSTEM_COUNT; i++)
        check_column(
            t, d->storage.table_name, d->storage.columns[i].name, d->storage.columns[i].store, "");
    table_check_fields(t, d->storage.table_name, d->fields, d->n_fields);
    for (size_t i = 0; i < d->n_fields; i++)
        if (d->fields[i].children)
            check_children(t, &d->fields[i]);
}

bool tables_check(PGconn *conn, const struct engine *e, struct buf *problems)
{
    PGresult *r = PQexec(conn, columns_sql);
    size_t before = problems->n;

    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        buf_addf(problems, "the tables could not be compared with the definitions: %s",
            PQresultErrorMessage(r));
    for (size_t i = 0; PQresultStatus(r) == PGRES_TUPLES_OK && i < e->n_resources; i++) {
        const struct tables t = {r, problems, &e->resources[i]};

        table_check_resource(&t);
    }
    PQclear(r);
    return problems->n == before;
}
