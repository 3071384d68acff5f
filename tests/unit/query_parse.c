/* query_parse.c - the parameters of a list as they are checked, without a database (01 sections
 * 10 and 11). */
#include "query_bench.h"

/* Problems of a query, as "code param code param" is too long: the parameters, or "ok". */
static void check(const char *query, const char *params, const char *codes)
{
    struct arena *a = arena_new(0);
    struct definition d = bench_definition();
    const struct list_query *q;
    struct reported t;

    reported_init(&t);
    q = bench_parse(a, &d, query, NULL, &t);
    if (strcmp(buf_str(&t.params).p, params) != 0)
        fail_msg("%s: told [%s], not [%s]", query, buf_str(&t.params).p, params);
    if (codes)
        assert_string_equal(buf_str(&t.codes).p, codes);
    assert_int_equal(q == NULL, t.n > 0);
    reported_done(&t);
    arena_free(a);
}

/* Queries that are refused, and the parameters that are told. */
static const char *const bad_controls[][2] = {
    {"page=0", "page"},
    {"page=-1", "page"},
    {"page=1.0", "page"},
    {"page=", "page"},
    {"page=01", "page"},
    {"page=+1", "page"},
    {"page=x", "page"},
    {"page[gt]=1", "page"},
    {"page=1&page=1", "page"},
    {"limit=0", "limit"},
    {"limit=none", "limit"},
    {"limit=1001", "limit"},
    {"limit=5.0", "limit"},
    {"limit=ALL", "limit"},
    {"limit=99999999999999999999999", "limit"},
    {"limit=5&limit=6", "limit"},
    {"direction=DESC", "direction"},
    {"direction=", "direction"},
    {"order_by=nope", "order_by"},
    {"order_by=id", "order_by"},
    {"order_by=_relevance", "order_by"},
    {"order_by=name&order_by=name", "order_by"},
    {"page=2&cursor=start", "page"},
    {"page=1&cursor=start", "page"},
    {"cursor=", "cursor"},
    {"cursor=start&cursor=start", "cursor"},
    {"cursor=start&search=dock", "cursor"},
    {"include_total_count=maybe", "include_total_count"},
    {"include_legs=2", "include_legs"},
    {"search=aa&search=aa", "search"},
    {"search_strategy=all&search=aa", "search_strategy"},
    {"fields=", "fields"},
    {"fields=name,", "fields"},
    {"fields=nope", "fields"},
    {"fields=note", "fields"},
    {"limit=0&page=0&status=x", "limit page status"},
    {"status=x&status[in]=y&qty=a", "status qty"},
    {"a=%zz", "a"},
    {"a=%", "a"},
    {"a=%4", "a"},
    {"a=%00", "a"},
    {"a=%c3", "a"},
    {"a=%ed%a0%80", "a"},
    {"%zz=1", "query"},
    {"location_id[%zz]=1", "location_id"},
    {"qty=%zz&page=0", "qty page"},
};

static void controls_are_checked(void **state)
{
    for (size_t i = 0; i < sizeof(bad_controls) / sizeof(bad_controls[0]); i++)
        check(bad_controls[i][0], bad_controls[i][1], NULL);
    check("page=100002&limit=1", "page", "pagination.too_deep");
    check("page=102&limit=1000", "page", "pagination.too_deep");
    check("page=99999999999999999999999999", "page", "pagination.too_deep");
    check("cursor=nonsense", "cursor", "cursor.invalid");
    check("cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "cursor", "cursor.invalid");
    check("page=100001&limit=1", "", "");
    check("page=101&limit=1000", "", "");
    check("cursor=start&order_by=name&search=dock", "", "");
    check("fields=id,object,name&unknown=1&&x&=&=y&search=&include_legs=NO&include_total_count="
          "estimated",
        "", "");
}

static void one(struct arena *a, const char *query, struct list_query *out)
{
    static struct definition d;
    const struct list_query *q;
    struct reported t;

    d = bench_definition();
    reported_init(&t);
    q = bench_parse(a, &d, query, NULL, &t);
    if (!q)
        fail_msg("%s: told %s", query, buf_str(&t.params).p);
    reported_done(&t);
    *out = *q;
}

static void controls_have_effect(void **state)
{
    struct list_query q;

    one(*state, "", &q);
    assert_int_equal(q.page, 1);
    assert_int_equal(q.limit, 25);
    assert_ptr_equal(q.order, &bench_fields[B_CREATED]);
    assert_true(q.descending);
    assert_int_equal(q.total, TOTAL_NONE);
    one(*state, "limit=all", &q);
    assert_int_equal(q.limit, 1000);
    one(*state, "limit=all&search=dock", &q);
    assert_int_equal(q.limit, 100);
    assert_true(q.relevance);
    assert_null(q.order);
    one(*state, "limit=7&search=dock&order_by=name&direction=asc", &q);
    assert_int_equal(q.limit, 7);
    assert_false(q.relevance);
    assert_ptr_equal(q.order, &bench_fields[B_NAME]);
    assert_false(q.descending);
    one(*state, "order_by=_relevance&search=dock", &q);
    assert_true(q.relevance);
    one(*state, "search=x+%C3%A9+y&order_by=_relevance&limit=all", &q);
    assert_int_equal(q.n_terms, 0);
    assert_false(q.relevance);
    assert_int_equal(q.limit, 1000);
    one(*state, "search=dock++Dock+%C3%A9%C3%A9%09dock&search_strategy=match_all", &q);
    assert_int_equal(q.n_terms, 3);
    assert_true(q.match_all);
    one(*state, "include_legs=Yes&include_total_count=TRUE&fields=name,+legs", &q);
    assert_int_equal(q.includes, UINT64_C(1) << B_LEGS);
    assert_int_equal(q.total, TOTAL_EXACT);
    assert_int_equal(q.n_only, 2);
    one(*state, "include_total_count=estimated&cursor=start", &q);
    assert_int_equal(q.total, TOTAL_ESTIMATED);
    assert_true(q.cursor);
    assert_int_equal(q.page, 0);
    assert_int_equal(q.cursor_id.n, 0);
}

static void search_length(void **state)
{
    char query[2048] = "search=";

    for (int i = 0; i < 256; i++)
        memcpy(query + 7 + 6 * i, "%C3%A9", 7);
    check(query, "", "");
    memcpy(query + 7 + 6 * 256, "a", 2);
    check(query, "search", "param.invalid");
}

#define LOC_A "loc_AAAAAAAAAAAAAAAAAAAAAA"
#define LOC_B "loc_BBBBBBBBBBBBBBBBBBBBBB"
static void asked_locations(void **state)
{
    struct list_query q;

    one(*state,
        "location_id=" LOC_A "," LOC_B ",null&location_id=!eq:" LOC_B
        "&id=row_AAAAAAAAAAAAAAAAAAAAAA",
        &q);
    assert_int_equal(q.n_locations_asked, 3);
    assert_string_equal(q.locations_asked[0].p, LOC_A);
    assert_string_equal(q.locations_asked[2].p, LOC_B);
    one(*state, "location_id=null", &q);
    assert_int_equal(q.n_locations_asked, 0);
}

static void limits(void **state)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    for (int i = 0; i < 50; i++)
        buf_addz(&b, "tags=a&");
    buf_addz(&b, "limit=5&unknown=1");
    check(buf_str(&b).p, "", "");
    buf_addz(&b, "&status=open");
    check(buf_str(&b).p, "status", "param.invalid");
    buf_clear(&b);
    buf_addz(&b, "status=open");
    for (int i = 1; i < 500; i++)
        buf_addz(&b, ",open");
    check(buf_str(&b).p, "", "");
    buf_addz(&b, "&status=open");
    check(buf_str(&b).p, "status", "param.invalid");
    buf_clear(&b);
    buf_addz(&b, "created_at=in:0");
    for (int i = 1; i < 100; i++)
        buf_addz(&b, ",1");
    check(buf_str(&b).p, "", "");
    buf_addz(&b, ",1");
    check(buf_str(&b).p, "created_at", "param.invalid");
    buf_clear(&b);
    buf_addz(&b, "qty=in:0");
    for (int i = 1; i < 500; i++)
        buf_addz(&b, ",1");
    check(buf_str(&b).p, "", "");
    buf_addz(&b, ",1");
    check(buf_str(&b).p, "qty", "param.invalid");
    buf_done(&b);
}

static void strict_and_view(void **state)
{
    static const char *const embeds[] = {"include_documents"}, *const words[] = {"all", "some"};
    static const struct query_param params[] = {
        {.name = "force"}, {.name = "shown", .words = words, .n_words = 2}};
    struct query_options o = {.organization = {"org_a", 5},
        .parent = {"", 0},
        .cursor_key = bench_key,
        .strict = true,
        .embeds = embeds,
        .n_embeds = 1};
    struct definition d = bench_definition();
    const struct list_query *q;
    const struct view_query *v;
    const struct query_pair *pairs;
    wharf_str bad;
    size_t n;
    struct reported t;

    d.params = params;
    d.n_params = 2;
    reported_init(&t);
    assert_null(bench_parse(*state, &d, "shown=all&shown[not]=none", &o, &t));
    assert_string_equal(buf_str(&t.params).p, "shown");
    reported_done(&t);
    reported_init(&t);
    assert_null(bench_parse(*state, &d, "force=1&nope[x]=1&include_documents=1", &o, &t));
    assert_string_equal(buf_str(&t.params).p, "nope");
    reported_done(&t);
    reported_init(&t);
    q = bench_parse(*state, &d, "include_documents=1", &o, &t);
    assert_int_equal(q->n_embeds, 1);
    assert_string_equal(q->embeds[0], "include_documents");
    assert_true(query_split(*state, str_z("fields=note,id&include_legs=1"), &pairs, &n, &bad));
    v = query_parse_view(*state, &d, pairs, n, &o, bench_problem, &t);
    assert_int_equal(v->n_only, 2);
    assert_int_equal(v->includes, UINT64_C(1) << B_LEGS);
    assert_true(query_split(*state, str_z("page=1&status=open"), &pairs, &n, &bad));
    assert_null(query_parse_view(*state, &d, pairs, n, &o, bench_problem, &t));
    assert_string_equal(buf_str(&t.params).p, "page status");
    o.strict = false;
    assert_non_null(query_parse_view(*state, &d, pairs, n, &o, bench_problem, &t));
    reported_done(&t);
}

static void splitting(void **state)
{
    const struct query_pair *pairs;
    wharf_str bad;
    size_t n;

    assert_true(query_split(*state, str_z("a%5Bgte%5D=1+%2B%20&&b&c=d=e"), &pairs, &n, &bad));
    assert_int_equal(n, 3);
    assert_string_equal(pairs[0].key.p, "a[gte]");
    assert_string_equal(pairs[0].value.p, "1 + ");
    assert_int_equal(pairs[1].value.n, 0);
    assert_string_equal(pairs[2].value.p, "d=e");
    assert_false(query_split(*state, str_z("x=1&metadata.k=%ff&y=%"), &pairs, &n, &bad));
    assert_int_equal(n, 3);
    assert_int_equal(bad.n, strlen("metadata"));
    assert_true(query_split(*state, str_z(""), &pairs, &n, &bad));
    assert_int_equal(n, 0);
}

/* The signature covers everything a cursor is bound to, and nothing else. */
static void cursors_are_bound(void **state)
{
    static const char
        *const same = "status=open&name=x&order_by=name",
               *const as[] = {"name=x&order_by=name&limit=3&status=open",
                   "status=open&name=x&order_by=name&fields=id&include_total_count=1"};
    static const char *const other[] = {"status=open&order_by=name",
        "status=failed&name=x&order_by=name", "status=open&name=x",
        "status=open&name=x&order_by=name&direction=asc",
        "status=open&name=x&order_by=name&search=dock"};
    struct list_query q;
    struct buf b;
    wharf_str cursor;

    one(*state, same, &q);
    cursor = query_cursor(*state, &q, (struct sql_arg){"Dock \"1\"", 8}, str_z("row_1"), bench_key);
    buf_init(&b, 4096);
    for (size_t i = 0; i < 2; i++) {
        buf_clear(&b);
        buf_addf(&b, "%s&cursor=%s", as[i], cursor.p);
        one(*state, buf_str(&b).p, &q);
        assert_string_equal(q.cursor_id.p, "row_1");
        assert_string_equal(q.cursor_value.p, "Dock \"1\"");
        assert_false(q.cursor_null);
    }
    for (size_t i = 0; i < 5; i++) {
        buf_clear(&b);
        buf_addf(&b, "%s&cursor=%s", other[i], cursor.p);
        check(buf_str(&b).p, "cursor", "cursor.invalid");
    }
    for (size_t i = 0; i < cursor.n; i++) {
        char *twisted = (char *)arena_dup_str(*state, cursor).p;

        twisted[i] = twisted[i] == 'A' ? 'Q' : 'A';
        buf_clear(&b);
        buf_addf(&b, "%s&cursor=%s", same, twisted);
        check(buf_str(&b).p, "cursor", "cursor.invalid");
    }
    one(*state, same, &q);
    cursor = query_cursor(*state, &q, (struct sql_arg){NULL, 0}, str_z("row_1"), bench_key);
    buf_clear(&b);
    buf_addf(&b, "%s&cursor=%s", same, cursor.p);
    one(*state, buf_str(&b).p, &q);
    assert_true(q.cursor_null);
    buf_done(&b);
}

/* The pairs of a JSON body, as a query string that was never escaped: "a=1&b=2"; broken ones as
 * "a!". */
static void json_pairs(struct arena *a, const char *json, const char *want)
{
    struct definition d = bench_definition();
    const struct query_pair *pairs;
    struct buf b;
    size_t n;

    query_from_json(a, &d, unit_json(a, json), &pairs, &n);
    buf_init(&b, 65536);
    for (size_t i = 0; i < n; i++) {
        buf_addz(&b, i ? "&" : "");
        buf_adds(&b, pairs[i].key);
        buf_addz(&b, pairs[i].broken ? "!" : "=");
        if (!pairs[i].broken)
            buf_adds(&b, pairs[i].value);
    }
    assert_string_equal(buf_str(&b).p, want);
    buf_done(&b);
}

static void filters_of_json_bodies(void **state)
{
    static const char *const cases[][2] = {
        {"{\"created_at\":\"gte:2024-01-01T00:00:00Z\"}", "created_at=gte:2024-01-01T00:00:00Z"},
        {"{\"created_at\":1704153600}", "created_at=1704153600"},
        {"{\"created_at[gte]\":\"2024-01-01T00:00:00Z\"}", "created_at[gte]=2024-01-01T00:00:00Z"},
        {"{\"created_at\":{\"gte\":\"2024-01-01T00:00:00Z\",\"lt\":1704153600}}",
            "created_at[gte]=2024-01-01T00:00:00Z&created_at[lt]=1704153600"},
        {"{\"created_at\":{\"bwi\":[1,2]},\"qty\":{\"in\":[1,2.50,-3e0]}}",
            "created_at[bwi]=1,2&qty[in]=1,2.5,-3"},
        {"{\"qty\":[1,2],\"name\":[\"a,b\",\"c\"]}", "qty[in]=1,2&name[in]=a\\,b,c"},
        {"{\"status\":[\"open\",\"failed\"],\"location_id\":null}",
            "status=open,failed&location_id=null"},
        {"{\"is_active\":true,\"shipment_is_parent\":\"none:true\"}",
            "is_active=true&shipment_is_parent=none:true"},
        {"{\"tags\":[\"a,b\",\"!c\",\"d\\\\,e\"]}", "tags=a\\,b,!c,d\\,e"},
        {"{\"metadata\":{\"color\":\"red\",\"n\":10,\"f\":true,\"op\":\"gt:5\"}}",
            "metadata[color]=equals:red&metadata[n]=equals:10&metadata[f]=equals:true&metadata[op]="
            "equals:gt:5"},
        {"{\"metadata\":\"color:gt:a\",\"metadata.x\":\"y\"}", "metadata=color:gt:a&metadata.x=y"},
        {"{\"status\":[],\"qty\":{},\"name\":{\"eq\":{}}}", "status!&qty!&name[eq]!"},
        {"{\"status\":[\"a,b\"],\"metadata\":{\"k\":null},\"name\":\"a\\u0000\"}",
            "status!&metadata[k]!&name!"},
        {"{}", ""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        json_pairs(*state, cases[i][0], cases[i][1]);
}

static void names_are_checked(void **state)
{
    static const char *const bad[] = {"kind=", "kind=,", "kind=a.b,", "kind=*", "kind=.*", "kind=!",
        "kind=!*", "kind=A.b", "kind=a.b*", "kind=a.*.*", "kind=a b", "kind[in]=a.b", "kind[]=a.b",
        "kind=a.b;drop", "kind=%27"};
    static const char *const good[] = {"kind=a.b", "kind=a", "kind=a.*", "kind=!a.b",
        "kind=!a.*,b.c", "kind=a.b,a.b", "kind=a.b&kind=!c.d"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check(bad[i], "kind", "param.invalid");
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        check(good[i], "", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(controls_are_checked), UNIT(controls_have_effect),
        UNIT(search_length), UNIT(asked_locations), UNIT(limits), UNIT(strict_and_view),
        UNIT(splitting), UNIT(cursors_are_bound), UNIT(filters_of_json_bodies),
        UNIT(names_are_checked)};

    return cmocka_run_group_tests_name("query_parse", tests, NULL, NULL);
}
