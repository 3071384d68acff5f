/* core_body.c - body.h: each rule of docs/spec/01-platform.md sections 2.3 and 4.2, on the
 * station of fixtures/station.json. */
#include "unit.h"

#include "resource/body.h"

struct bench {
    struct arena *arena;
    const struct definition *d;
    struct buf reported;
    struct value *values;
    bool ok;
};

static void tell(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct buf *text = arg;

    assert_true(message.n > path.n); /* every sentence names its place and says more */
    assert_non_null(strstr(message.p, path.p));
    buf_addf(text, "%s%s %s", text->n ? "; " : "", path.p, rule);
}

static int setup(void **state)
{
    struct arena *a = arena_new(0);
    struct bench *b = ARENA_NEW(a, struct bench);

    b->arena = a;
    buf_init(&b->reported, 1 << 20);
    b->d = definition_compile(
        a, "stations", unit_file(a, "tests/unit/fixtures/station.json"), tell, &b->reported);
    *state = b;
    return b->d ? 0 : 1;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    buf_done(&b->reported);
    arena_free(b->arena);
    return 0;
}
#define BODY(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

/* Problems as "path rule; path rule". */
static const char *check(struct bench *b, uint32_t op, uint32_t flags, const char *body)
{
    buf_clear(&b->reported);
    b->values = ARENA_ARRAY(b->arena, struct value, b->d->n_fields);
    b->ok = body_check(
        b->arena, b->d, op, unit_json(b->arena, body), flags, b->values, tell, &b->reported);
    assert_int_equal(b->ok, b->reported.n == 0);
    return buf_str(&b->reported).p;
}

static void update(struct bench *b, const char *body, const char *want)
{
    const char *got = check(b, OP_UPDATE, 0, body);

    if (strcmp(got, want) != 0)
        fail_msg("%s: told \"%s\", not \"%s\"", body, got, want);
}

static const struct value *value(const struct bench *b, const char *name)
{
    const struct field *f = definition_field(b->d, name);

    assert_non_null(f);
    return &b->values[f->index];
}

/* An update with one field: the text it becomes. */
static void becomes(struct bench *b, const char *name, const char *json, const char *text)
{
    const struct value *v;

    update(b, arena_printf(b->arena, "{\"%s\":%s}", name, json).p, "");
    v = value(b, name);
    assert_true(v->present && !v->null && !v->defaulted);
    assert_string_equal(v->text.p, text);
    assert_int_equal(v->text.n, strlen(text));
}

static void refused(struct bench *b, const char *name, const char *json, const char *want)
{
    update(b, arena_printf(b->arena, "{\"%s\":%s}", name, json).p, want);
}

static void clears(struct bench *b, const char *name, const char *json)
{
    update(b, arena_printf(b->arena, "{\"%s\":%s}", name, json).p, "");
    assert_true(value(b, name)->present && value(b, name)->null);
}

static const char CREATE[] = "{\"name\":\" Dock \",\"location_id\":\"loc_1\",\"device_token\":\" t "
                             "\",\"printers\":[{\"name\":\"Zebra\",\"model\":\"ZD\","
                             "\"configuration\":{},\"page_size\":{\"a4\":true}}]}";

static void create(void **state)
{
    struct bench *b = *state;
    const struct value *p;

    assert_string_equal(check(b, OP_CREATE, 0, CREATE), "");
    assert_string_equal(value(b, "name")->text.p, "Dock");
    assert_string_equal(value(b, "device_token")->text.p, " t "); /* trim: false */
    assert_string_equal(value(b, "status")->text.p, "online");
    assert_true(value(b, "status")->present && value(b, "status")->defaulted &&
                !value(b, "name")->defaulted);
    assert_string_equal(value(b, "allow_all_users")->text.p, "true");
    /* default "" */
    assert_true(value(b, "nickname")->present && value(b, "nickname")->text.n == 0);
    assert_false(value(b, "slots")->present);
    assert_false(value(b, "id")->present);
    p = value(b, "printers");
    assert_int_equal(p->n_items, 1);
    assert_string_equal(p->items[0].values[1].text.p, "Zebra");
    assert_string_equal(p->items[0].values[3].text.p, "online");
    assert_true(p->items[0].values[3].defaulted);
    assert_string_equal(p->items[0].values[5].text.p, "{\"a4\":true}");
    assert_string_equal(p->items[0].values[6].text.p, "[]");
    assert_false(p->items[0].values[7].present);
}

static void required(void **state)
{
    struct bench *b = *state;

    assert_string_equal(check(b, OP_CREATE, 0, "{}"),
        "name required; location_id required; device_token required; printers required");
    assert_string_equal(
        check(b, OP_CREATE, 0,
            "{\"name\":null,\"location_id\":\"\",\"device_token\":\"\",\"printers\":null}"),
        "name required; location_id required; device_token required; printers required");
    assert_string_equal(
        check(b, OP_CREATE, 0,
            "{\"name\":\" \\t\",\"location_id\":\"l\",\"device_token\":\" \",\"printers\":[{}]}"),
        "name required; printers.0.name required; printers.0.model required; "
        "printers.0.configuration required; "
        "printers.0.page_size required");
    update(b, "{}", "");
    update(b, "{\"name\":null}", "name required");
    update(b, "{\"name\":\"\"}", "name required");
}

static void blanks(void **state)
{
    struct bench *b = *state;

    clears(b, "device_id", "null");
    clears(b, "device_id", "\"\"");
    clears(b, "device_id", "\" \\n\"");
    clears(b, "slots", "null");
    refused(b, "slots", "\"\"", "slots type"); /* only texts can be empty */
    clears(b, "installed_at", "null");
    clears(b, "installed_at", "\"\"");
    refused(b, "status", "null", "status type");
    refused(b, "status", "\"\"", "status min_length");
    refused(b, "allow_all_users", "null", "allow_all_users type");
    clears(b, "notes", "null");
    update(b, "{\"notes\":\"\"}", ""); /* empty: ignore */
    assert_false(value(b, "notes")->present);
    update(b, "{\"nickname\":null}", ""); /* null: ignore */
    assert_false(value(b, "nickname")->present);
    becomes(b, "nickname", "\"\"", ""); /* empty: keep */
    becomes(b, "nickname", "\"  \"", ""); /* trimmed first */
    becomes(b, "metadata", "null", "{}");
    becomes(b, "metadata", "\"\"", "{}");
    assert_false(value(b, "metadata")->patch);
    refused(b, "tags", "null", "tags type");
    /* A field that is ignored on create leaves the place to the default. */
    check(b, OP_CREATE, 0, "{\"nickname\":null}");
    assert_true(value(b, "nickname")->present && value(b, "nickname")->defaulted);
}

static void texts(void **state)
{
    struct bench *b = *state;
    struct buf long_name;

    becomes(b, "name", "\"\\u00a0 D\\u00f6ck\\t1 \\u3000\"",
        "D\xC3\xB6"
        "ck\t1");
    becomes(b, "notes", "\"a\\r\\n\\tb\"", "a\r\n\tb");
    refused(b, "notes", "\"a\\u0001b\"", "notes format");
    refused(b, "notes", "\"a\\u007fb\"", "notes format");
    refused(b, "notes", "\"a\\u0085b\"", "notes format");
    refused(b, "notes", "\"a\\u0000b\"", "notes format");
    becomes(b, "notes", "\"a\\u00a1\\ufffdb\"",
        "a\xC2\xA1\xEF\xBF\xBD"
        "b");
    refused(b, "name", "1", "name type");
    refused(b, "name", "[\"a\"]", "name type");
    becomes(b, "code", "\" A1-\\u00c9\\u0130\\u1E9E \"", "a1-\xC3\xA9i\xC3\x9F"); /* fold */
    refused(b, "status", "\"Online\"", "status enum");
    refused(b, "status", "true", "status type");
    buf_init(&long_name, 1000);
    buf_addc(&long_name, '"');
    for (int i = 0; i < 191; i++)
        buf_addz(&long_name, "\xC3\xA9");
    BUF_LIT(&long_name, "   \"");
    assert_int_equal(utf8_length(long_name.p, long_name.n), 191 + 5);
    /* code points, after trimming */
    update(b, arena_printf(b->arena, "{\"name\":%s}", long_name.p).p, "");
    long_name.p[long_name.n - 2] = 'x';
    update(b, arena_printf(b->arena, "{\"name\":%s}", long_name.p).p, "name max_length");
    buf_done(&long_name);
}

static void numbers(void **state)
{
    struct bench *b = *state;

    becomes(b, "slots", "7", "7");
    becomes(b, "slots", "7.0", "7");
    becomes(b, "slots", "1e3", "1000");
    becomes(b, "slots", "9007199254740991", "9007199254740991");
    refused(b, "slots", "9007199254740992", "slots max");
    refused(b, "slots", "-9007199254740992", "slots min");
    refused(b, "slots", "1e300", "slots max");
    refused(b, "slots", "-1", "slots min");
    refused(b, "slots", "1.5", "slots type");
    refused(b, "slots", "\"7\"", "slots type");
    refused(b, "slots", "true", "slots type");
    becomes(b, "weight_limit", "1.2300", "1.23");
    becomes(b, "weight_limit", "12.5e1", "125");
    becomes(b, "weight_limit", "0.0001", "0.0001");
    becomes(b, "weight_limit", "99999999999.9999", "99999999999.9999");
    refused(b, "weight_limit", "0.00001", "weight_limit format");
    refused(b, "weight_limit", "100000000000", "weight_limit max");
    refused(b, "weight_limit", "1e-500", "weight_limit format");
    refused(b, "weight_limit", "-0.1", "weight_limit min");
    refused(b, "weight_limit", "\"1\"", "weight_limit type");
    becomes(b, "allow_all_users", "false", "false");
    refused(b, "allow_all_users", "\"true\"", "allow_all_users type");
    refused(b, "allow_all_users", "1", "allow_all_users type");
}

static void times(void **state)
{
    struct bench *b = *state;

    becomes(b, "installed_at", "\"2024-01-02T03:04:05+02:00\"", "2024-01-02T01:04:05.000Z");
    becomes(b, "installed_at", "\"2024-01-02t03:04:05.678z\"", "2024-01-02T03:04:05.678Z");
    becomes(b, "installed_at", "\"1704164645\"", "2024-01-02T03:04:05.000Z");
    becomes(b, "installed_at", "1704164645", "2024-01-02T03:04:05.000Z");
    becomes(b, "installed_at", "1704164645678", "2024-01-02T03:04:05.678Z");
    refused(b, "installed_at", "\"2024-01-02\"", "installed_at format");
    /* no query string */
    refused(b, "installed_at", "\"2024-01-02T03:04:05 02:00\"", "installed_at format");
    refused(b, "installed_at", "\"2024-01-02T03:04:05.67Z\"", "installed_at format");
    refused(b, "installed_at", "1704164645.5", "installed_at format");
    refused(b, "installed_at", "-1", "installed_at format");
    refused(b, "installed_at", "true", "installed_at format");
    refused(b, "installed_at", "{}", "installed_at format");
}

static void objects(void **state)
{
    struct bench *b = *state;

    becomes(b, "configuration", "{ \"max_inflight\" : 3, \"x\" : [ 1e2, -0.0, \"\\u00e9\" ] }",
        "{\"max_inflight\":3,\"x\":[100,0,\"\xC3\xA9\"]}");
    assert_true(value(b, "configuration")->patch);
    becomes(b, "configuration", "{\"max_inflight\":null}", "{\"max_inflight\":null}"); /* removes */
    refused(b, "configuration", "{\"max_inflight\":0,\"pooling_enabled\":1}",
        "configuration.pooling_enabled type; configuration.max_inflight min");
    refused(b, "configuration", "[]", "configuration type");
    refused(b, "configuration", "{\"x\":{\"y.z\":\"a\\u0000\"}}", "configuration.x.y\\.z format");
    refused(b, "configuration", "{\"a\\u0000b\":1}",
        "configuration.a\xEF\xBF\xBD"
        "b format");
    refused(b, "configuration", "{\"x\":[\"\\u0002\"]}", "configuration.x.0 format");
    becomes(b, "configuration", "{\"x\":1e-9999}", "{\"x\":0}");
    becomes(b, "configuration", "{\"x\":1e300}", arena_printf(b->arena, "{\"x\":1%0300d}", 0).p);
    refused(b, "configuration", arena_printf(b->arena, "{\"x\":0.1%0401d1}", 0).p,
        "configuration.x format");
    check(b, OP_CREATE, 0, "{\"configuration\":{\"max_inflight\":null,\"pooling_enabled\":true}}");
    assert_string_equal(value(b, "configuration")->text.p, "{\"pooling_enabled\":true}");
    assert_false(value(b, "configuration")->patch);
}

static void arrays(void **state)
{
    struct bench *b = *state;

    becomes(b, "tags", "[ \"b\", \"a\" ]", "[\"b\",\"a\"]");
    assert_false(value(b, "tags")->set_input);
    becomes(b, "tags", "[]", "[]");
    refused(b, "tags", "[\"a\",1,null,\"\"]", "tags.1 type; tags.2 type; tags.3 min_length");
    refused(b, "tags", "[\"a\",\"b\",\"a\",\"a\"]", "tags.2 unique; tags.3 unique");
    refused(b, "tags", "[\"0123456789012345678901234567890\"]", "tags.0 max_length");
    refused(b, "tags", "[\"a\\u0000\"]", "tags.0 format");
    refused(b, "tags", "\"a\"", "tags type");
    refused(b, "tags", "{\"add\":[\"a\"]}", "tags type"); /* no set field */
}

static void applied(struct bench *b, const char *stored, const char *want)
{
    assert_string_equal(
        value_apply_set(b->arena, str_z(stored), value(b, "allowed_users")).p, want);
}

static void sets(void **state)
{
    struct bench *b = *state;
    const char *name = "allowed_users";

    update(b, "{\"allowed_users\":{\"add\":[\"c\",\"a\"],\"remove\":[\"b\"]}}", "");
    assert_true(value(b, name)->set_input);
    applied(b, "[\"a\", \"b\", \"d\"]", "[\"a\",\"d\",\"c\"]");
    applied(b, "", "[\"c\",\"a\"]");
    becomes(b, name, "{\"set\":[\"x\"]}", "[\"x\"]");
    applied(b, "[\"a\"]", "[\"x\"]");
    becomes(b, name, "[\"y\",\"z\"]", "[\"y\",\"z\"]"); /* a plain array sets */
    assert_true(value(b, name)->set_input);
    applied(b, "[\"a\"]", "[\"y\",\"z\"]");
    refused(b, name, "{}", "allowed_users required");
    refused(b, name, "{\"set\":[],\"add\":[]}", "allowed_users format");
    refused(
        b, name, "{\"add\":[\"a\",\"b\"],\"remove\":[\"c\",\"b\"]}", "allowed_users.add.1 unique");
    refused(b, name, "{\"add\":[\"a\",\"b\",\"a\"]}", "allowed_users.add.2 unique");
    refused(b, name, "{\"add\":[\"a\",7,\"\"],\"remove\":\"b\"}",
        "allowed_users.add.1 type; allowed_users.add.2 min_length; allowed_users.remove type");
    refused(b, name, "7", "allowed_users type");
    refused(b, name, "null", "allowed_users type");
    assert_string_equal(
        check(b, OP_UPDATE, BODY_STRICT, "{\"allowed_users\":{\"add\":[],\"clear\":1}}"),
        "allowed_users.clear unknown");
    /* On create there is nothing to change: the array itself is delivered. */
    check(b, OP_CREATE, 0, "{\"allowed_users\":{\"add\":[\"a\",\"b\"],\"remove\":[\"c\"]}}");
    assert_string_equal(value(b, name)->text.p, "[\"a\",\"b\"]");
    assert_false(value(b, name)->set_input);
    check(b, OP_CREATE, 0, "{\"allowed_users\":[\"q\"]}");
    assert_string_equal(value(b, name)->text.p, "[\"q\"]");
    assert_false(value(b, name)->set_input);
}

/* A set with n values on each side, of which one is on both. */
static void check_set_of(struct bench *b, int n, const char *want)
{
    struct buf body;

    buf_init(&body, 1 << 24);
    BUF_LIT(&body, "{\"allowed_users\":{\"remove\":[\"z\"");
    for (int i = 1; i < n; i++)
        buf_addf(&body, ",\"user_%d\"", i);
    BUF_LIT(&body, "],\"add\":[\"z\"");
    for (int i = 1; i < n; i++)
        buf_addf(&body, ",\"u%d\"", i);
    BUF_LIT(&body, "]}}");
    update(b, body.p, want);
    buf_done(&body);
}

static void big_sets(void **state)
{
    struct bench *b = *state;

    check_set_of(b, 10000, "allowed_users.add.0 unique");
    check_set_of(b, 10001, "allowed_users.add max; allowed_users.remove max");
}

struct tally {
    size_t described, counted;
};

static void count_reported(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct tally *t = arg;

    assert_non_null(rule);
    assert_int_equal(!path.p, !message.p);
    if (path.p)
        t->described++;
    else
        t->counted++;
}

static void tally_of(
    struct bench *b, uint32_t flags, const char *head, const char *item, int n, struct tally *ret)
{
    struct buf body;

    buf_init(&body, 1 << 24);
    buf_addz(&body, head);
    for (int i = 0; i < n; i++)
        buf_addf(&body, item, i);
    buf_addz(&body, strchr(head, '[') ? "0]}" : "\"zz\":0}");
    *ret = (struct tally){0};
    b->values = ARENA_ARRAY(b->arena, struct value, b->d->n_fields);
    assert_false(body_check(b->arena, b->d, OP_UPDATE, unit_json(b->arena, body.p), flags,
        b->values, count_reported, ret));
    buf_done(&body);
}

/* From the 101st on problems are counted, without words. */
static void many_problems(void **state)
{
    struct bench *b = *state;
    struct tally t;

    tally_of(b, 0, "{\"allowed_users\":[", "%d,", 900, &t);
    assert_int_equal(t.described, 100);
    assert_int_equal(t.counted, 801);
    /* A list that is too long is one problem: its elements are not looked at. */
    tally_of(b, 0, "{\"allowed_users\":[", "%d,", 5000, &t);
    assert_int_equal(t.described, 1);
    assert_int_equal(t.counted, 0);
    tally_of(b, BODY_STRICT, "{", "\"unknown%d\":[],", 5000, &t);
    assert_int_equal(t.described, 100);
    assert_int_equal(t.counted, 4901);
    tally_of(b, 0, "{\"nobody_knows\":[", "\"\\u0000%d\",", 5000, &t);
    assert_int_equal(t.described, 100);
    assert_int_equal(t.counted, 4900);
}

static wharf_str many_keys(struct arena *a, int n, const char *prefix)
{
    struct buf text;
    wharf_str s;

    buf_init(&text, 1 << 16);
    buf_addc(&text, '{');
    for (int i = 0; i < n; i++)
        buf_addf(&text, "%s\"%s%d\":%d", i ? "," : "", prefix, i, i);
    buf_addc(&text, '}');
    s = arena_dup_str(a, buf_str(&text));
    buf_done(&text);
    return s;
}

static void metadata(void **state)
{
    struct bench *b = *state;
    static const char key[] = "{\"01234567890123456789012345678901234567890123456789012345678901234"
                              "56789012345678901234567890123456789\":1}";

    becomes(b, "metadata", "{\"a\":\"x\",\"b\":1.50,\"c\":true,\"d\":null,\"e\":\"\"}",
        "{\"a\":\"x\",\"b\":1.5,\"c\":true,\"d\":null,\"e\":\"\"}");
    assert_true(value(b, "metadata")->patch);
    update(b, arena_printf(b->arena, "{\"metadata\":%s}", key).p, "");
    update(b, "{\"metadata\":{\"\":1,\"a.b\":{},\"c\":[1],\"d\":\"\\u0000\",\"e\\u0000\":1}}",
        "metadata. min_length; metadata.a\\.b type; metadata.c type; metadata.d format; "
        "metadata.e\xEF\xBF\xBD format");
    update(b,
        arena_printf(
            b->arena, "{\"metadata\":{\"k\":\"%0500d\",\"l\":\"%0501d\",\"%0101d\":1}}", 1, 1, 1)
            .p,
        arena_printf(b->arena, "metadata.l max_length; metadata.%0101d max_length", 1).p);
    refused(b, "metadata", "[]", "metadata type");
    refused(b, "metadata", "\"x\"", "metadata type");
    refused(b, "metadata", many_keys(b->arena, 26, "k").p, "metadata max");
    update(b, arena_printf(b->arena, "{\"metadata\":%s}", many_keys(b->arena, 25, "k").p).p, "");
    /* On create removals are nothing. */
    check(b, OP_CREATE, 0, "{\"metadata\":{\"a\":1,\"b\":null,\"c\":\"\"}}");
    assert_string_equal(value(b, "metadata")->text.p, "{\"a\":1}");
    assert_false(value(b, "metadata")->patch);
}

static void merged(struct bench *b, const char *name, const char *stored, const char *patch,
    const char *want, const char *problems)
{
    const struct field *f = definition_field(b->d, name);
    struct value result = {0};
    bool ok;

    update(b, arena_printf(b->arena, "{\"%s\":%s}", name, patch).p, "");
    buf_clear(&b->reported);
    ok = value_merge(b->arena, f, (wharf_str){stored, stored ? strlen(stored) : 0}, value(b, name),
        str_z(name), &result, tell, &b->reported);
    assert_string_equal(buf_str(&b->reported).p, problems);
    assert_int_equal(ok, *problems == 0);
    if (ok)
        assert_string_equal(result.text.p, want);
}

static void merges(void **state)
{
    struct bench *b = *state;
    wharf_str stored = many_keys(b->arena, 24, "k");

    merged(b, "metadata", "{\"a\": 1, \"b\": \"x\", \"c\": true}",
        "{\"c\":null,\"b\":\"\",\"d\":2,\"a\":1.0}", "{\"a\":1,\"d\":2}", "");
    merged(b, "metadata", NULL, "{\"a\":1}", "{\"a\":1}", "");
    merged(b, "metadata", stored.p, "{\"x\":1,\"y\":2}", "", "metadata max");
    merged(b, "metadata", stored.p, "{\"x\":1,\"y\":2,\"k0\":null}",
        arena_printf(
            b->arena, "{%s,\"x\":1,\"y\":2}", arena_dup(b->arena, stored.p + 8, stored.n - 9).p)
            .p,
        "");
    merged(b, "configuration", "{\"max_inflight\": 3, \"o\": {\"a\": 1, \"b\": 2}}",
        "{\"max_inflight\":null,\"o\":{\"b\":null,\"c\":{\"d\":null}},\"s\":\"\"}",
        "{\"o\":{\"a\":1,\"c\":{}},\"s\":\"\"}", "");
}

static void children(void **state)
{
    struct bench *b = *state;
    const struct value *v;

    refused(b, "printers", "[]", "printers min");
    refused(b, "printers", "{}", "printers type");
    refused(b, "printers", "[1]", "printers.0 type");
    refused(b, "printers", "null", "printers required");
    update(b,
        "{\"printers\":[{\"id\":\"6f9c0000-0000-4000-8000-000000000001\",\"name\":\"A\",\"created_"
        "at\":\"x\"},"
        "{\"name\":\" B "
        "\",\"model\":\"M\",\"configuration\":{\"port\":null},\"page_size\":{},\"weight\":0.125}]}",
        "");
    v = value(b, "printers");
    assert_int_equal(v->n_items, 2);
    assert_string_equal(v->items[0].id.p, "6f9c0000-0000-4000-8000-000000000001");
    assert_true(v->items[0].values[1].present && !v->items[0].values[2].present &&
                !v->items[0].values[3].present);
    assert_int_equal(v->items[1].id.n, 0);
    assert_string_equal(v->items[1].values[1].text.p, "B");
    assert_true(v->items[1].values[3].present && v->items[1].values[3].defaulted);
    assert_string_equal(v->items[1].values[7].text.p, "0.125");
    assert_int_equal(v->items[1].position, 1);
}

static void children_problems(void **state)
{
    struct bench *b = *state;

    update(b,
        "{\"printers\":[{\"id\":\"6f9c0000-0000-4000-8000-000000000001\",\"name\":\"A\",\"status\":"
        "\"on\",\"page_"
        "size\":{\"a4\":1,\"b.5\":true}},"
        "{\"id\":\"x\",\"name\":\"A "
        "\",\"model\":\"\",\"configuration\":{\"port\":0},\"page_size\":{},\"languages\":[\"zpl\","
        "\"zpl\"]},"
        "{\"id\":\"6f9c0000-0000-4000-8000-000000000001\",\"name\":\"a\",\"weight\":1.23456,"
        "\"installed_at\":\"2024-01-"
        "01\"}]}",
        "printers.0.status enum; printers.0.page_size.a4 type; printers.0.page_size.b\\.5 unknown; "
        "printers.1.id format; printers.1.model required; printers.1.configuration.port min; "
        "printers.1.languages.1 unique; printers.2.weight format; printers.2.installed_at format; "
        "printers.1.name unique; printers.2.id unique");
    update(b, arena_printf(b->arena, "{\"printers\":[%0*d]}", 1, 1).p, "printers.0 type");
}

static void unknown_fields(void **state)
{
    struct bench *b = *state;
    static const char body[] = "{\"id\":\"x\",\"object\":\"print_station\",\"created_at\":1,"
                               "\"naem\":\"x\",\"print_jobs_count\":2,"
                               "\"printers\":[{\"id\":\"6f9c0000-0000-4000-8000-000000000001\","
                               "\"colour\":1,\"configuration\":{\"z\":1}}],"
                               "\"a.b\":{}}";

    update(b, body, "");
    assert_false(value(b, "id")->present);
    assert_false(value(b, "created_at")->present);
    /* printers' configuration says additionalProperties: true. */
    assert_string_equal(check(b, OP_UPDATE, BODY_STRICT, body),
        "printers.0.colour unknown; print_jobs_count unknown; created_at unknown; naem unknown; "
        "a\\.b unknown");
    update(b, "{\"zzz\":{\"y\":[\"\\u0000\"]},\"x\\u0000\":1}",
        "zzz.y.0 format; x\xEF\xBF\xBD format");
}

static void write_rules(void **state)
{
    struct bench *b = *state;

    check(b, OP_CREATE, 0, "{\"code\":\"X\"}");
    assert_true(value(b, "code")->present);
    update(b, "{\"code\":\"X\"}", ""); /* create only: delivered, the caller compares */
    assert_string_equal(value(b, "code")->text.p, "x");
}

static void all_in_order(void **state)
{
    update(*state, "{\"tags\":1,\"status\":2,\"metadata\":3,\"name\":4,\"slots\":\"5\"}",
        "name type; status type; slots type; tags type; metadata type");
}

static void one_field(void **state)
{
    struct bench *b = *state;
    struct value v;

    buf_clear(&b->reported);
    assert_true(body_check_field(b->arena, definition_field(b->d, "slots"), OP_UPDATE,
        unit_json(b->arena, "8"), WHARF_S("a.slots"), 0, &v, tell, &b->reported));
    assert_string_equal(v.text.p, "8");
    assert_false(body_check_field(b->arena, definition_field(b->d, "slots"), OP_UPDATE,
        unit_json(b->arena, "[]"), WHARF_S("a.slots"), 0, &v, tell, &b->reported));
    assert_string_equal(b->reported.p, "a.slots type");
}

int main(void)
{
    const struct CMUnitTest tests[] = {BODY(create), BODY(required), BODY(blanks), BODY(texts),
        BODY(numbers), BODY(times), BODY(objects), BODY(arrays), BODY(sets), BODY(big_sets),
        BODY(many_problems), BODY(metadata), BODY(merges), BODY(children), BODY(children_problems),
        BODY(unknown_fields), BODY(write_rules), BODY(all_in_order), BODY(one_field)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
