/* columns.c - what a row is read with: the system columns first, then the columns of the fields,
 * in order. */
#include "schema/compile.h"
#include "util/str.h"

static const struct {
    const char *name;
    enum store store;
    enum filter_type filter;
    bool nullable;
} SYSTEM[COL_SYSTEM_COUNT] = {
    [COL_ID] = {"id", STORE_TEXT, FILTER_ID, false},
    [COL_CREATED_AT] = {"created_at", STORE_TIME, FILTER_DATE, false},
    [COL_UPDATED_AT] = {"updated_at", STORE_TIME, FILTER_DATE, false},
    [COL_CREATED_BY] = {"created_by", STORE_TEXT, FILTER_ID, true},
    [COL_UPDATED_BY] = {"updated_by", STORE_TEXT, FILTER_ID, true},
    [COL_VERSION] = {"version", STORE_INT, FILTER_NUMBER, false},
    [COL_DELETED_AT] = {"deleted_at", STORE_TIME, FILTER_DATE, true},
};

int system_column(const char *name)
{
    for (int i = 0; i < COL_SYSTEM_COUNT; i++)
        if (!strcmp(name, SYSTEM[i].name))
            return i;
    return -1;
}

const struct field *system_field(struct compile *c, enum system_column column)
{
    const struct column *known = &c->d->storage.columns[column];
    struct field *hidden = c->hidden[column];

    if (known->field || hidden)
        return known->field ? known->field : hidden;
    hidden = c->hidden[column] = ARENA_NEW(c->arena, struct field);
    *hidden = (struct field){.index = UINT16_MAX,
        .kind = FIELD_COLUMN,
        .store = SYSTEM[column].store,
        .name = SYSTEM[column].name,
        .column = SYSTEM[column].name,
        .select = (int16_t)column,
        .nullable = SYSTEM[column].nullable,
        .filter = SYSTEM[column].filter,
        .sort = true};
    return hidden;
}

void check_asks(
    struct compile *c, enum may_ask may, const struct place *at, const char *key, const char *sql)
{
    static const char reads[] = CALLER_READS, asks[] = CALLER_ASKS;

    while ((sql = strstr(sql, CALLER_OPENS))) {
        const char *name = sql + strlen(CALLER_OPENS), *end = strchr(name, '}');
        size_t n = end ? (size_t)(end - name) : 0;
        bool parameter = n > sizeof(asks) - 1 && !memcmp(name, asks, sizeof(asks) - 1);

        if (may == ASKS_NOTHING || (may == ASKS_PARAMETERS && !parameter))
            opt_member_problem(c, at, key,
                "only \"read\", and a field with \"store\": \"computed\", may ask about the "
                "caller; a field with \"in\": [] may ask asks:<parameter>");
        else if (!(n == 13 && !memcmp(name, "all_locations", n)) &&
                 !(n == 9 && !memcmp(name, "locations", n)) &&
                 !(n == 5 && !memcmp(name, "lists", n)) && !parameter &&
                 !(n > sizeof(reads) - 1 && !memcmp(name, reads, sizeof(reads) - 1)))
            opt_member_problem(c, at, key,
                "a caller has all_locations, locations, lists, reads:<resource> and "
                "asks:<parameter>");
        sql = name;
    }
}

/* Returns the SQL as it is where nothing is asked: of rows that are written. */
static const char *unasked(struct compile *c, const char *sql)
{
    const char *at;
    struct buf b;

    buf_init(&b, SIZE_MAX / 2);
    while ((at = strstr(sql, CALLER_OPENS))) {
        const char *end = strchr(at, '}');

        buf_addf(&b, "%.*sNULL", (int)(at - sql), sql);
        sql = end ? end + 1 : at + strlen(at);
    }
    buf_addz(&b, sql);
    sql = arena_dup_str(c->arena, buf_str(&b)).p;
    buf_done(&b);
    return sql;
}

/* Writes how the column of a field is selected. What asks about the caller is read where the row
 * is shown; writes, whose rows are nobody's in particular, read the column. */
static void select_column(struct compile *c, const struct field *f, struct column *ret)
{
    const char *read = f->read ? arena_printf(c->arena, "(%s)", f->read).p : NULL;

    if (read && strstr(read, CALLER_OPENS)) {
        ret->asks = read;
        read = NULL;
    }
    if (f->expression && strstr(f->expression, CALLER_OPENS))
        ret->asks = f->expression;
    ret->sql = f->expression ? unasked(c, f->expression)
               : read        ? read
                             : arena_printf(c->arena, "t.%s", f->column).p;
}

void columns_compile(struct compile *c, struct field *fields)
{
    struct place root = {0}, at = place_key(&root, WHARF_S("properties"));
    struct definition *d = c->d;
    struct column *columns = ARENA_ARRAY(c->arena, struct column, COL_SYSTEM_COUNT + d->n_fields);
    size_t n = COL_SYSTEM_COUNT;

    for (int i = 0; i < COL_SYSTEM_COUNT; i++)
        columns[i] = (struct column){SYSTEM[i].name,
            arena_printf(c->arena, "t.%s", SYSTEM[i].name).p, SYSTEM[i].store, NULL, NULL};
    for (size_t i = 0; i < d->n_fields; i++) {
        struct field *f = &fields[i];
        size_t place = n;

        if (f->kind != FIELD_COLUMN || !f->column)
            continue;
        for (size_t k = 0; k < n; k++)
            if (!strcmp(columns[k].name, f->column))
                place = k;
        if (place < COL_SYSTEM_COUNT && f->store != SYSTEM[place].store)
            opt_member_problem(
                c, &at, f->name, "the system column %s holds another type", f->column_name);
        if (place < n && columns[place].field)
            opt_member_problem(c, &at, f->name, "the column %s belongs to \"%s\" already",
                f->column_name, columns[place].field->name);
        columns[place] = (struct column){.name = f->column, .store = f->store, .field = f};
        select_column(c, f, &columns[place]);
        f->select = (int16_t)place;
        if (place < COL_SYSTEM_COUNT)
            f->nullable = f->nullable || SYSTEM[place].nullable;
        n += place == n;
    }
    d->storage.columns = columns;
    d->storage.n_columns = n;
}
