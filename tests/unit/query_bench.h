/* query_bench.h - the resource of the worked examples (docs/spec/01-platform.md section 11.4),
 * compiled by hand: one field of each filter type and a child table. Its tables and rows are in
 * query_database.c. */
#ifndef WHARF_TESTS_QUERY_BENCH_H
#define WHARF_TESTS_QUERY_BENCH_H

#include "query/query.h"
#include "unit.h"

enum bench_field {
    B_ID,
    B_CREATED,
    B_COMPLETED,
    B_QTY,
    B_STATUS,
    B_LOCATION,
    B_NAME,
    B_ACTIVE,
    B_LEGS,
    B_ERRORS,
    B_TAGS,
    B_METADATA,
    B_NOTE,
    B_RANK,
    B_USERS,
    B_DEVICE,
    B_OPEN,
    B_COUNT
};

static const char *const bench_status[] = {"open", "closed", "failed"};
static const char *const bench_errors[] = {"duplicate", "no_matches", "manual_match"};
static const char *const bench_flags[] = {"a4", "letter"};

static const struct field bench_leg[] = {
    {.kind = FIELD_COLUMN, .store = STORE_BOOL, .name = "is_parent", .column = "is_parent"},
    {.kind = FIELD_COLUMN,
        .store = STORE_TEXT,
        .name = "label",
        .column = "label",
        .nullable = true},
    {.kind = FIELD_COLUMN, .store = STORE_JSON, .name = "sizes", .column = "sizes"},
};
static const struct child_set bench_legs = {.table = "bench.leg",
    .parent_column = "row_id",
    .id_prefix = "leg",
    .soft_delete = true,
    .fields = bench_leg,
    .n_fields = 3};

#define BENCH(i, n, s, ...)                                                                        \
    [i] = {.index = i,                                                                             \
        .kind = FIELD_COLUMN,                                                                      \
        .store = s,                                                                                \
        .name = n,                                                                                 \
        .column = n,                                                                               \
        .in = IN_LIST | IN_RETRIEVE,                                                               \
        __VA_ARGS__}
static const struct field bench_fields[B_COUNT] = {
    BENCH(B_ID, "id", STORE_TEXT, .filter = FILTER_ID),
    BENCH(B_CREATED, "created_at", STORE_TIME, .filter = FILTER_DATE, .sort = true),
    BENCH(B_COMPLETED, "completed_at", STORE_TIME, .filter = FILTER_DATE, .nullable = true,
        .sort = true),
    BENCH(B_QTY, "qty", STORE_DEC, .filter = FILTER_NUMBER, .nullable = true, .sort = true),
    BENCH(B_STATUS, "status", STORE_TEXT, .filter = FILTER_ENUM),
    BENCH(B_LOCATION, "location_id", STORE_TEXT, .filter = FILTER_ID, .nullable = true,
        .ref = "location"),
    BENCH(B_NAME, "name", STORE_TEXT, .filter = FILTER_TEXT, .nullable = true, .sort = true),
    BENCH(B_ACTIVE, "is_active", STORE_BOOL, .filter = FILTER_BOOL, .sort = true),
    [B_LEGS] = {.index = B_LEGS,
        .kind = FIELD_CHILDREN,
        .name = "legs",
        .children = &bench_legs,
        .include_flag = "include_legs"},
    BENCH(B_ERRORS, "errors", STORE_ARRAY, .filter = FILTER_ARRAY),
    BENCH(B_TAGS, "tags", STORE_ARRAY, .filter = FILTER_ARRAY),
    BENCH(B_METADATA, "metadata", STORE_METADATA, .filter = FILTER_METADATA),
    [B_NOTE] = {.index = B_NOTE,
        .kind = FIELD_COLUMN,
        .store = STORE_TEXT,
        .name = "note",
        .column = "note",
        .in = IN_RETRIEVE},
    BENCH(B_RANK, "rank", STORE_INT, .filter = FILTER_NUMBER, .sort = true),
    BENCH(B_USERS, "users", STORE_ARRAY),
    BENCH(B_DEVICE, "device_id", STORE_TEXT, .nullable = true, .ref = "device"),
    BENCH(B_OPEN, "open_to_all", STORE_BOOL),
};

static const struct definition_ids bench_ids = {.prefix = "row"},
                                   bench_place_ids = {.prefix = "loc"};

static const struct filter bench_filters[] = {
    {"id", FILTER_ID, false, &bench_fields[B_ID], .ids = &bench_ids},
    {"created_at", FILTER_DATE, false, &bench_fields[B_CREATED]},
    {"completed_at", FILTER_DATE, true, &bench_fields[B_COMPLETED]},
    {"qty", FILTER_NUMBER, true, &bench_fields[B_QTY]},
    {"rank", FILTER_NUMBER, false, &bench_fields[B_RANK]},
    {"status", FILTER_ENUM, false, &bench_fields[B_STATUS], .members = bench_status,
        .n_members = 3},
    {"location_id", FILTER_ID, true, &bench_fields[B_LOCATION], .ids = &bench_place_ids},
    {"name", FILTER_TEXT, true, &bench_fields[B_NAME]},
    {"is_active", FILTER_BOOL, false, &bench_fields[B_ACTIVE]},
    {"shipment_is_parent", FILTER_MANY_BOOL, false, &bench_leg[0], &bench_fields[B_LEGS]},
    {"label", FILTER_TEXT, true, &bench_leg[1], &bench_fields[B_LEGS]},
    {"page_size", FILTER_FLAGS, false, &bench_leg[2], &bench_fields[B_LEGS], bench_flags, 2,
        "page_size_"},
    {"errors", FILTER_ARRAY, false, &bench_fields[B_ERRORS], .members = bench_errors,
        .n_members = 3},
    {"tags", FILTER_ARRAY, false, &bench_fields[B_TAGS]},
    {"metadata", FILTER_METADATA, false, &bench_fields[B_METADATA]},
    {"reference", FILTER_ID, true, &bench_fields[B_NOTE]},
    {"kind", FILTER_NAMES, false, &bench_fields[B_NOTE]},
};

static const struct column bench_columns[] = {{"id", "t.id", STORE_TEXT, &bench_fields[B_ID]},
    {"created_at", "t.created_at", STORE_TIME, &bench_fields[B_CREATED]},
    {"completed_at", "t.completed_at", STORE_TIME, &bench_fields[B_COMPLETED]},
    {"qty", "t.qty", STORE_DEC, &bench_fields[B_QTY]},
    {"name", "t.name", STORE_TEXT, &bench_fields[B_NAME]},
    {"is_active", "t.is_active", STORE_BOOL, &bench_fields[B_ACTIVE]},
    {"rank", "t.rank", STORE_INT, &bench_fields[B_RANK]}};
static const struct field *const bench_sorts[] = {&bench_fields[B_CREATED],
    &bench_fields[B_COMPLETED], &bench_fields[B_QTY], &bench_fields[B_NAME],
    &bench_fields[B_ACTIVE], &bench_fields[B_RANK]};
static const struct field *const bench_searches[] = {
    &bench_fields[B_NAME], &bench_fields[B_NOTE], &bench_leg[1]};

static inline struct definition bench_definition(void)
{
    return (struct definition){.name = "row",
        .title = "Row",
        .ids.prefix = "row",
        .storage.table = "bench.row",
        .storage.soft_delete = true,
        .place.location = &bench_fields[B_LOCATION],
        .fields = bench_fields,
        .n_fields = B_COUNT,
        .storage.columns = bench_columns,
        .storage.n_columns = sizeof(bench_columns) / sizeof(bench_columns[0]),
        .list = {.limit = 25,
            .max = 1000,
            .order = &bench_fields[B_CREATED],
            .descending = true,
            .sorts = bench_sorts,
            .n_sorts = 6,
            .searches = bench_searches,
            .n_searches = 3,
            .by_relevance = true,
            .filters = bench_filters,
            .n_filters = sizeof(bench_filters) / sizeof(bench_filters[0])}};
}

static const unsigned char bench_key[QUERY_KEY] = "0123456789abcdef0123456789abcde";

struct reported { /* problems in the order they came */
    struct buf codes, params; /* "param.invalid ", "page limit " */
    size_t n;
};
static inline void bench_problem(void *arg, const char *code, wharf_str param, wharf_str message)
{
    struct reported *t = arg;

    assert_true(message.n > param.n + 3);
    buf_addz(&t->codes, t->n ? " " : "");
    buf_addz(&t->codes, code);
    buf_addz(&t->params, t->n++ ? " " : "");
    buf_adds(&t->params, param);
}
static inline void reported_init(struct reported *t)
{
    *t = (struct reported){0};
    buf_init(&t->codes, 4096);
    buf_init(&t->params, 4096);
}
static inline void reported_done(struct reported *t)
{
    buf_done(&t->codes);
    buf_done(&t->params);
}

static inline const struct list_query *bench_parse(struct arena *a, const struct definition *d,
    const char *query, const struct query_options *options, struct reported *t)
{
    static const struct query_options plain = {
        .organization = {"org_a", 5}, .parent = {"", 0}, .cursor_key = bench_key};
    const struct query_pair *pairs;
    size_t n;
    wharf_str bad;

    query_split(a, str_z(query), &pairs, &n, &bad);
    return query_parse(a, d, pairs, n, options ? options : &plain, bench_problem, t);
}

#endif
