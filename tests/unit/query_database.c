/* query_database.c - lists against a real PostgreSQL: every worked example of
 * docs/spec/01-platform.md section 11.4, read from the document itself; pages, cursors,
 * visibility, search, counts. The judge of kernel/query/.
 *
 * WHARF_SOURCE names the source folder. A private cluster is started in a temporary folder and
 * stopped at the end. */
#include <stdio.h>
#include <stdlib.h>

#include "db/cluster.h"
#include "db/conn.h"
#include "query_bench.h"
#include "query_rows.h"
#include "util/file.h"

#define USER "user_AAAAAAAAAAAAAAAAAAAAAA"

static struct cluster *cluster;
static struct db_conn *conn;
static struct arena *lasting;
static char folder[] = "/tmp/wharf-query-XXXXXX";

static PGresult *run(struct sql *s)
{
    struct db_error e;
    PGresult *r = db_run_sql(conn, s, &e);

    if (!r)
        fail_msg("%s\n%s", buf_str(s->text).p, e.message);
    return r;
}

/* Ids of the page as "R1 R3", and its rows. */
static PGresult *page(
    struct arena *a, const struct list_query *q, const struct access *who, struct buf *ids)
{
    struct definition d = bench_definition();
    struct sql s;
    PGresult *r;

    if (who->user_id.n || who->device_id.n) {
        d.audience.all = &bench_fields[B_OPEN];
        d.audience.users = &bench_fields[B_USERS];
        d.audience.device = &bench_fields[B_DEVICE];
    }
    sql_init(&s, a);
    query_page_sql(&s, &d, q, who, NULL, NULL);
    r = run(&s);
    buf_clear(ids);
    for (int i = 0; i < PQntuples(r); i++)
        buf_addf(ids, "%sR%s", i ? " " : "", PQgetvalue(r, i, 0) + strlen("row_"));
    return r;
}

static const struct access everything = {
    .organization = {"org_a", 5}, .all_locations = true, .user_id = {"", 0}, .device_id = {"", 0}};

static const struct list_query *parse(struct arena *a, const char *query, struct reported *t)
{
    struct definition *d = ARENA_NEW(a, struct definition);

    *d = bench_definition();
    reported_init(t);
    return bench_parse(a, d, query, NULL, t);
}

/* Returns the answer of a query: "R1 R3" in the order asked for, or "400 names". */
static const char *answer(struct arena *a, const char *query, const struct access *who)
{
    struct reported t;
    const struct list_query *q = parse(a, query, &t);
    const char *text;
    struct buf ids;

    if (!q) {
        text = arena_printf(a, "400 %s", buf_str(&t.params).p).p;
    } else {
        buf_init(&ids, 65536);
        PQclear(page(a, q, who, &ids));
        text = arena_dup_str(a, buf_str(&ids)).p;
        buf_done(&ids);
    }
    reported_done(&t);
    return text;
}

static void expect_of(const char *query, const char *rows, const struct access *who)
{
    struct arena *a = arena_new(0);
    const char *got = answer(a, query, who);

    if (strcmp(got, rows) != 0)
        fail_msg("%s: [%s], not [%s]", query, got, rows);
    arena_free(a);
}

static void expect(const char *query, const char *rows)
{
    expect_of(query, rows, &everything);
}

/* ---- the worked examples, out of the specification ---- */

static wharf_str section(struct arena *a, const char *begin, const char *end)
{
    const char *source = getenv("WHARF_SOURCE");
    FILE *f = fopen(arena_printf(a, "%s/docs/spec/01-platform.md", source ? source : ".").p, "r");
    char *text = arena_alloc(a, 1 << 20), *from, *to;

    assert_non_null(f);
    text[fread(text, 1, (1 << 20) - 1, f)] = 0;
    fclose(f);
    from = strstr(text, begin);
    assert_non_null(from);
    to = strstr(from, end);
    assert_non_null(to);
    *to = 0;
    return str_z(from);
}

/* Short location ids of the document become well-formed ones. */
static const char *lengthen(struct arena *a, const char *query, size_t n)
{
    struct buf b;
    const char *text;

    buf_init(&b, 65536);
    for (size_t i = 0; i < n; i++) {
        if (n - i >= 5 && memcmp(query + i, "loc_A", 5) == 0) {
            buf_addz(&b, LOC_A);
            i += 4;
        } else
            buf_addc(&b, query[i]);
    }
    text = arena_dup_str(a, buf_str(&b)).p;
    buf_done(&b);
    return text;
}

static void worked_examples(void **state)
{
    wharf_str text = section(*state, "### 11.4", "## 12.");
    int count = 0;

    for (const char *p = text.p; (p = strstr(p, "| `")) != NULL;) {
        const char *end = strstr(p + 3, "` | "), *stop;
        const char *query, *rows;

        assert_non_null(end);
        query = arena_printf(*state, "%s&order_by=created_at&direction=asc",
            lengthen(*state, p + 3, (size_t)(end - p - 3)))
                    .p;
        stop = strstr(end + 4, " |");
        assert_non_null(stop);
        rows = arena_dup(*state, end + 4, (size_t)(stop - end - 4)).p;
        expect(query, strcmp(rows, "(none)") == 0 ? "" : rows);
        count++;
        p = stop;
    }
    assert_int_equal(count, 76);
}

static void worked_refusals(void **state)
{
    wharf_str text = section(*state, "Each of these is 400", "Further:");
    int count = 0;

    for (const char *p = strstr(text.p, ": `"); p && (p = strchr(p, '`')) != NULL;) {
        const char *end = strchr(p + 1, '`');
        const char *query = lengthen(*state, p + 1, (size_t)(end - p - 1));

        expect(query, arena_printf(*state, "400 %.*s",
                          STR_ARG(query_base((wharf_str){query, strcspn(query, "=")})))
                          .p);
        count++;
        p = end + 1;
    }
    assert_int_equal(count, 36);
}

/* ---- more of section 11 than the examples show ---- */

static const char *const more_cases[][2] = {
    {"qty=in:10,2.5", "R1 R2"},
    {"qty[!in]=10", "R2 R3 R4"},
    {"qty=!bwi:-1,2.5", "R1 R3"},
    {"qty[bwe]=-1,10", "R2"},
    {"qty=99999999999999999999.5", ""},
    {"qty=lt:99999999999999999999", "R1 R2 R4"},
    {"qty=-0", ""},
    {"rank=0", "R1 R2 R3 R4"},
    {"rank[lt]=0.5", "R1 R2 R3 R4"},
    {"rank=gt:99999999999999999999", ""},
    {"rank=in:0,0.5", "R1 R2 R3 R4"},
    {"qty=bwi:2.50,2.5", "400 qty"},
    {"qty=bwi:2.4999,2.5", "R2"},
    {"qty=bwi:-1,-2", "400 qty"},
    {"qty=bwi:-2,-1", "R4"},
    {"qty=1,2", "400 qty"},
    {"qty=00", "400 qty"},
    {"qty=1.", "400 qty"},
    {"qty=.5", "400 qty"},
    {"qty=1.00000", "400 qty"},
    {"qty[]=1", "400 qty"},
    {"qty[in=1", "400 qty"},
    {"qty.in=1", "400 qty"},
    {"rank=null", "400 rank"},
    {"created_at[lte]=9999-12-31T23:59:59Z", "R1 R2 R3 R4"},
    {"created_at[gte]=0001-01-01T00:00:00Z", "R1 R2 R3 R4"},
    {"created_at=+2024-01-02T00:00:00Z+", "R2"},
    {"created_at=in:1704067200,+1704153600", "R1 R2"},
    {"completed_at=!null&completed_at=lt:2024-01-05T00:00:00Z", "R4"},
    {"status[not_in]=open", "R2 R4"},
    {"status[eq]=open,closed", "R1 R2 R3"},
    {"status=not_equals:open", "R2 R4"},
    {"status[]=in:open", "400 status"},
    {"status[gt]=open", "400 status"},
    {"status=OPEN", "400 status"},
    {"status=null", "400 status"},
    {"status=!null", "400 status"},
    {"status=open&status[eq]=failed", ""},
    {"status=open,closed&status=failed,open", "R1 R2 R3 R4"},
    {"location_id=!in:" LOC_A ",null", "R2"},
    {"location_id[eq]=null", "R3"},
    {"location_id=!eq:null", "R1 R2 R4"},
    {"location_id[in]=!null", "400 location_id"},
    {"location_id=!null&location_id=" LOC_A, "400 location_id"},
    {"location_id=null&location_id=" LOC_B, "R2 R3"},
    {"location_id=loc_A", "400 location_id"},
    {"location_id=loc_ZZZZZZZZZZZZZZZZZZZZZZ", ""},
    {"reference=gt:5", "400 reference"},
    {"reference=a:b", ""},
    {"name=null", "R4"},
    {"name=!null", "R1 R2 R3"},
    {"name=eq:dock 1", ""},
    {"name[!in]=dock 1,x", "R3 R4"},
    {"name[in]=a,,b", "400 name"},
    {"name[gt]=a", "400 name"},
    {"name=", "400 name"},
    {"name[in]=smith\\, j", "R3"},
    {"name=%25", ""},
    {"name=_ock+1", ""},
    {"is_active[eq]=true", "400 is_active"},
    {"is_active=null", "400 is_active"},
    {"shipment_is_parent=true&shipment_is_parent=false", "R4"},
    {"shipment_is_parent=none:true&shipment_is_parent=none:false", "R3"},
    {"page_size=a4", "R1"},
    {"page_size=page_size_letter", "R4"},
    {"page_size=a4,page_size_letter", "R1 R4"},
    {"page_size=!in:a4", "R2 R3 R4"},
    {"page_size=a5", "400 page_size"},
    {"label=zebra 1", "R1"},
    {"label[!eq]=zebra 1", "R2 R3 R4"},
    {"label=null", "R4"},
    {"label=!null", "R1 R2 R4"},
    {"errors[]=duplicate&errors[]=no_matches", "R3"},
    {"errors=unknown", "400 errors"},
    {"errors=!", "400 errors"},
    {"errors[in]=duplicate", "400 errors"},
    {"tags=and:a", "400 tags"},
    {"tags=OR:a,+b+", "R1 R3 R4"},
    {"tags=!AND:!b,b", "R1 R2 R3 R4"},
    {"tags=null", ""},
    {"tags=it's\"\\\\", ""},
    {"metadata=n:9", "R2"},
    {"metadata=n:9.0", ""},
    {"metadata=n:1e1", ""},
    {"metadata=color:", ""},
    {"metadata[]=x", "400 metadata"},
    {"metadata.=x", "400 metadata"},
    {"metadata[color=red", "400 metadata"},
    {"metadata[a.b]=x", "R4"},
    {"metadata=flag:equals:true", "R4"},
    {"metadata.u=https://h:8/p", "R4"},
    {"metadata=color:gt:blue", "R1 R4"},
    {"metadata=n:-0", ""},
    {"metadata=n:lt:", ""},
    {"metadata.color=\"red\"", ""},
    {"metadata=co'lor\":red", ""},
    {"search=zebra", "R1"},
    {"search=ZEBR&order_by=created_at", "R1"},
    {"search=dock+zzz", "R1 R2"},
    {"search=dock+zebra&search_strategy=match_all", "R1"},
    {"search=100%25", ""},
    {"search=do_k", ""},
    {"search=mit+dock&order_by=created_at&direction=asc", "R1 R2 R3"},
    {"search=\\\\", ""},
    {"search=dock+1+zebra", "R1 R2"},
};

static void more_filters(void **state)
{
    for (size_t i = 0; i < sizeof(more_cases) / sizeof(more_cases[0]); i++) {
        bool ordered = strstr(more_cases[i][0], "search=") != NULL;

        expect(
            ordered
                ? more_cases[i][0]
                : arena_printf(*state, "%s&order_by=created_at&direction=asc", more_cases[i][0]).p,
            more_cases[i][1]);
    }
}

static void metadata_number_text(void **state)
{
    struct db_error e;

    assert_int_equal(
        db_do(conn,
            "INSERT INTO bench.row (organization_id, id, created_at, is_active, metadata) VALUES"
            " ('org_m','row_1',now(),true,'{\"n\":1.0}'),('org_m','row_2',now(),true,'{\"n\":1}'),"
            " ('org_m','row_3',now(),true,'{\"n\":\"1\"}'),('org_m','row_4',now(),true,'{\"n\":"
            "\"1e1\"}'),"
            " ('org_m','row_5',now(),true,'{\"n\":\"true\"}'),('org_m','row_6',now(),true,'{\"n\":"
            "true}')",
            &e),
        DB_OK);
    struct access m = everything;

    m.organization = str_z("org_m");
    expect_of("metadata=n:1&order_by=rank&direction=asc", "R2 R3", &m);
    expect_of("metadata=n:1.0&order_by=rank&direction=asc", "R1", &m);
    expect_of("metadata=n:1e1&order_by=rank&direction=asc", "R4", &m);
    expect_of("metadata=n:true&order_by=rank&direction=asc", "R5 R6", &m);
    expect_of("metadata=n:1e999999999", "", &m);
}

/* ---- walks ---- */

static const struct access walkers = {
    .organization = {"org_w", 5}, .all_locations = true, .user_id = {"", 0}, .device_id = {"", 0}};

/* Column of the select list that carries the sort value. */
static int sort_column(const struct field *f)
{
    for (int i = 0; i < (int)(sizeof(bench_columns) / sizeof(bench_columns[0])); i++) {
        if (bench_columns[i].field == f)
            return i;
    }
    return -1;
}

/* Ids of all rows by pages (one statement when limit is 1000), or by cursors. */
static const char *walk(struct arena *a, const char *order, int limit, bool cursors)
{
    struct buf all, ids;
    const char *cursor = "start", *text;

    buf_init(&all, 1 << 20);
    buf_init(&ids, 1 << 20);
    for (int n = 1; cursor; n++) {
        const char *query = cursors
                                ? arena_printf(a, "%s&limit=%d&cursor=%s", order, limit, cursor).p
                                : arena_printf(a, "%s&limit=%d&page=%d", order, limit, n).p;
        struct reported t;
        const struct list_query *q = parse(a, query, &t);
        PGresult *r;

        reported_done(&t);
        assert_non_null(q);
        r = page(a, q, &walkers, &ids);
        for (int i = 0; i < PQntuples(r) && i < limit; i++)
            buf_addf(&all, "%s ", PQgetvalue(r, i, 0));
        if (PQntuples(r) <= limit)
            cursor = NULL;
        else if (cursors) {
            int column = sort_column(q->order), row = limit - 1;
            struct sql_arg value = {PQgetisnull(r, row, column) ? NULL : PQgetvalue(r, row, column),
                (size_t)PQgetlength(r, row, column)};

            cursor = query_cursor(a, q, value, str_z(PQgetvalue(r, row, 0)), bench_key).p;
        }
        PQclear(r);
    }
    text = arena_dup_str(a, buf_str(&all)).p;
    buf_done(&all);
    buf_done(&ids);
    return text;
}

static void walks_agree(void **state)
{
    static const char *const sorts[] = {
        "created_at", "completed_at", "qty", "name", "is_active", "rank"};

    for (size_t i = 0; i < 12; i++) {
        const char *order = arena_printf(
            *state, "order_by=%s&direction=%s", sorts[i / 2], i % 2 ? "asc" : "desc")
                                .p;
        const char *whole = walk(*state, order, 1000, false);

        assert_int_equal(strlen(whole), 300 * strlen("row_0000 "));
        assert_string_equal(walk(*state, order, 7, false), whole);
        assert_string_equal(walk(*state, order, 7, true), whole);
        assert_string_equal(walk(*state, order, 300, true), whole);
    }
}

/* The order itself, against PostgreSQL's own words for it. */
static void orders(void **state)
{
    static const char *const by[][2] = {
        {"order_by=name&direction=desc", "lower(name) COLLATE \"C\" DESC NULLS LAST, id DESC"},
        {"order_by=name&direction=asc", "lower(name) COLLATE \"C\" ASC NULLS LAST, id ASC"},
        {"order_by=qty", "qty DESC NULLS LAST, id DESC"},
        {"", "created_at DESC, id DESC"},
    };

    for (size_t i = 0; i < 4; i++) {
        struct buf want;
        struct sql s;
        PGresult *r;

        sql_init(&s, *state);
        sql_addf(
            &s, "SELECT id FROM bench.row WHERE organization_id = 'org_w' ORDER BY %s", by[i][1]);
        r = run(&s);
        buf_init(&want, 65536);
        for (int k = 0; k < PQntuples(r); k++)
            buf_addf(&want, "%s ", PQgetvalue(r, k, 0));
        PQclear(r);
        assert_string_equal(walk(*state, by[i][0], 1000, false), buf_str(&want).p);
        buf_done(&want);
    }
}

/* ---- who sees what ---- */

static void locations_limit_rows(void **state)
{
    static const wharf_str one[] = {{LOC_A, sizeof(LOC_A) - 1}},
                           two[] = {{LOC_A, sizeof(LOC_A) - 1}, {LOC_B, sizeof(LOC_B) - 1}};
    struct access who = everything;

    who.all_locations = false;
    expect_of("direction=asc", "R3", &who);
    who.locations = one;
    who.n_locations = 1;
    expect_of("direction=asc", "R1 R3 R4", &who);
    who.locations = two;
    who.n_locations = 2;
    expect_of("direction=asc", "R1 R2 R3 R4", &who);
    expect_of("direction=asc&location_id=" LOC_A, "R1 R4", &who);
}

static void audience_limits_rows(void **state)
{
    struct access who = everything;
    struct db_error e;

    assert_int_equal(
        db_do(conn,
            "INSERT INTO bench.row (organization_id, id, created_at, is_active, open_to_all, "
            "users, location_id, device_id) VALUES "
            "('org_u','row_1','2024-01-01',true,true,'[]',NULL,NULL),"
            " ('org_u','row_2','2024-01-02',true,false,'[\"" USER "\"]',NULL,NULL),"
            " ('org_u','row_3','2024-01-03',true,false,'[\"user_B\"]',NULL,NULL),"
            " ('org_u','row_4','2024-01-04',true,false,'[\"user_B\"]','" LOC_B "','dev_1')",
            &e),
        DB_OK);
    who.organization = str_z("org_u");
    who.user_id = str_z(USER);
    expect_of("direction=asc", "R1 R2", &who);
    who.user_id = str_z("");
    expect_of("direction=asc", "R1 R2 R3 R4", &who);
    who.device_id = str_z("dev_1");
    who.all_locations = false;
    expect_of("direction=asc", "R1 R2 R3 R4", &who);
    who.device_id = str_z("dev_2");
    expect_of("direction=asc", "R1 R2 R3", &who);
}

/* ---- search, counts, plans ---- */

static void search_ranks(void **state)
{
    struct db_error e;
    struct access who = everything;
    struct list_query q;
    struct reported t;
    struct buf ids;
    PGresult *r;

    assert_int_equal(
        db_do(conn,
            "INSERT INTO bench.row (organization_id, id, created_at, is_active, name, note) VALUES"
            " ('org_s','row_1',now(),true,'Packing table at the far "
            "end',NULL),('org_s','row_2',now(),true,'Table',NULL),"
            " ('org_s','row_3',now(),true,'Packing','table'),('org_s','row_4',now(),true,'Chair',"
            "NULL),"
            " ('org_s','row_6',now(),true,'Table',NULL)",
            &e),
        DB_OK);
    who.organization = str_z("org_s");
    expect_of("search=table", "R2 R3 R6 R1", &who);
    expect_of("search=packing+table", "R3 R1 R2 R6", &who);
    expect_of("search=table&page=2&limit=2", "R6 R1", &who);
    q = *parse(*state, "search=packing+table", &t);
    reported_done(&t);
    q.hits = true;
    buf_init(&ids, 4096);
    r = page(*state, &q, &who, &ids);
    assert_int_equal(PQnfields(r), 9);
    assert_string_equal(PQgetvalue(r, 0, 8), "[{\"field\": \"name\", \"value\": \"Packing\"}, "
                                             "{\"field\": \"note\", \"value\": \"table\"}]");
    assert_true(strtod(PQgetvalue(r, 0, 7), NULL) > strtod(PQgetvalue(r, 2, 7), NULL) &&
                strtod(PQgetvalue(r, 0, 7), NULL) <= 1);
    PQclear(r);
    q = *parse(*state, "search=packing+table&order_by=name", &t);
    reported_done(&t);
    q.hits = true;
    r = page(*state, &q, &who, &ids);
    assert_int_equal(PQnfields(r), 9);
    PQclear(r);
    q = *parse(*state, "search=table", &t);
    reported_done(&t);
    r = page(*state, &q, &who, &ids);
    assert_int_equal(PQntuples(r), 4);
    PQclear(r);
    buf_done(&ids);
}

static int64_t counted(struct arena *a, const char *query, bool estimate)
{
    struct definition d = bench_definition();
    struct reported t;
    const struct list_query *q = parse(a, query, &t);
    struct sql s;
    PGresult *r;
    int64_t n;

    reported_done(&t);
    sql_init(&s, a);
    if (estimate)
        query_estimate_sql(&s, &d, q, &walkers, NULL, NULL);
    else
        query_count_sql(&s, &d, q, &walkers, NULL, NULL);
    r = run(&s);
    n = estimate ? query_estimate(a, str_z(PQgetvalue(r, 0, 0)))
                 : strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    return n;
}

static void counts(void **state)
{
    assert_int_equal(counted(*state, "include_total_count=true", false), 300);
    assert_int_equal(counted(*state, "include_total_count=estimated", false), 300);
    assert_int_equal(
        counted(*state, "include_total_count=true&is_active=true&limit=1", false), 150);
    assert_true(counted(*state, "include_total_count=estimated&is_active=true", true) > 0);
    assert_int_equal(query_estimate(*state, str_z("nonsense")), -1);
}

/* The plan of a statement as text, with sequential scans and sorts priced out. */
static const char *plan_of(struct arena *a, const char *query, const struct access *who)
{
    struct definition d = bench_definition();
    struct reported t;
    struct list_query q = *parse(a, query, &t);
    struct sql s;
    PGresult *r;
    struct buf b;
    const char *text;

    reported_done(&t);
    q.cursor_id = q.cursor ? str_z("row_5") : str_z("");
    q.cursor_value = str_z("2024-01-02 00:00:00+00");
    sql_init(&s, a);
    sql_add(&s, "EXPLAIN ");
    query_page_sql(&s, &d, &q, who, NULL, NULL);
    r = run(&s);
    buf_init(&b, 1 << 16);
    for (int i = 0; i < PQntuples(r); i++)
        buf_addf(&b, "%s\n", PQgetvalue(r, i, 0));
    PQclear(r);
    text = arena_dup_str(a, buf_str(&b)).p;
    buf_done(&b);
    return text;
}

static void must_show(const char *plan, const char *text, bool wanted)
{
    if ((strstr(plan, text) != NULL) != wanted)
        fail_msg("%s in\n%s", text, plan);
}

static void plans(void **state)
{
    struct access who = walkers;
    struct db_error e;
    const char *plan;

    assert_int_equal(
        db_do(conn,
            "CREATE INDEX row_created ON bench.row (organization_id, created_at, id) WHERE "
            "deleted_at IS NULL;CREATE INDEX row_location ON bench.row (organization_id, "
            "location_id, created_at, id) WHERE deleted_at IS NULL;CREATE INDEX row_metadata ON "
            "bench.row USING gin (metadata jsonb_path_ops);CREATE INDEX row_tags ON bench.row "
            "USING gin (tags jsonb_path_ops);CREATE INDEX row_name ON bench.row USING gin "
            "(lower(name) gin_trgm_ops);"
            "CREATE INDEX row_note ON bench.row USING gin (lower(note) gin_trgm_ops);"
            "INSERT INTO bench.row (organization_id, id, created_at, is_active, name, location_id) "
            "SELECT 'org_w', 'row_x' || i,  timestamptz '2024-01-01Z' + i * interval '1 s', true, "
            "md5(i::text), '" LOC_B "' FROM generate_series(1, 20000) i;"
            "ANALYZE bench.row; SET enable_seqscan = off",
            &e),
        DB_OK);
    plan = plan_of(*state, "limit=20", &who);
    must_show(plan, "row_created", true);
    must_show(plan, "Sort", false);
    plan = plan_of(*state, "cursor=start&limit=20", &who);
    must_show(plan,
        "Index Cond: ((organization_id = 'org_w'::text) AND (ROW(created_at, id) < ROW(", true);
    must_show(plan, "Sort", false);
    plan = plan_of(*state, "location_id=" LOC_A "&limit=20", &who);
    must_show(plan, "row_location", true);
    must_show(plan, "Sort", false);
    plan = plan_of(*state, "page=900&limit=20", &who);
    must_show(plan, "Index Only Scan Backward using row_created", true);
    plan = plan_of(*state, "metadata=color:red", &who);
    must_show(plan, "row_metadata", true);
    plan = plan_of(*state, "metadata=n:10", &who);
    must_show(plan, "row_metadata", true);
    plan = plan_of(*state, "tags=OR:a,b", &who);
    must_show(plan, "row_tags", true);
    plan = plan_of(*state, "search=abcdef", &who);
    must_show(plan, "Bitmap Index Scan on row_name", true);
    must_show(plan, "Bitmap Index Scan on row_note", true);
}

static int start(void **state)
{
    wharf_str note, error;
    struct db_error e;

    lasting = arena_new(0);
    if (!mkdtemp(folder))
        return -1;
    cluster = cluster_start(folder, NULL, lasting, &note, &error);
    if (!cluster) {
        fprintf(stderr, "%s\n", error.p);
        return -1;
    }
    conn = db_open(cluster_conninfo(cluster), false, 15000);
    if (db_do(conn, setup_sql, &e) == DB_OK)
        return 0;
    fprintf(stderr, "%s\n", e.message);
    return -1;
}

static int stop(void **state)
{
    db_close(conn);
    cluster_stop(cluster);
    file_remove_tree(folder);
    arena_free(lasting);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(worked_examples), UNIT(worked_refusals),
        UNIT(more_filters), UNIT(metadata_number_text), UNIT(walks_agree), UNIT(orders),
        UNIT(locations_limit_rows), UNIT(audience_limits_rows), UNIT(search_ranks), UNIT(counts),
        UNIT(plans)};

    return cmocka_run_group_tests_name("query_database", tests, start, stop);
}
