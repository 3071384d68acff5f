/* core_json.c - json.h, reading: each rule of docs/spec/01-platform.md section 2.3 'Strict
 * JSON', exact numbers. */
#include "unit.h"

#include <stdlib.h>
#include <time.h>

#include "host/host.h"

static void refuses(struct arena *a, wharf_str text, const char *message)
{
    struct json_error error = {0};

    if (json_parse(a, text, &error))
        fail_msg("accepted: %.*s", STR_ARG(text));
    assert_string_equal(error.message, message);
    assert_true(error.offset <= text.n);
}

static void accepts_all_types(void **state)
{
    const struct wharf_json *v = unit_json(
        *state, " { \"a\" : [ 1 , -2.50 , true , false , null , \"x\" ] , \"\" : {} } ");
    const struct wharf_json *list = json_get(v, "a");

    assert_int_equal(v->type, JSON_OBJECT);
    assert_int_equal(v->count, 2);
    assert_int_equal(list->count, 6);
    assert_string_equal(json_at(list, 1)->text.p, "-2.50");
    assert_true(json_at(list, 2)->truth);
    assert_false(json_at(list, 3)->truth);
    assert_int_equal(json_at(list, 4)->type, JSON_NULL);
    assert_string_equal(json_at(list, 5)->text.p, "x");
    assert_null(json_at(list, 6));
    assert_int_equal(json_get(v, "")->type, JSON_OBJECT);
    assert_null(json_get(v, "b"));
    assert_null(json_get(list, "a"));
    assert_string_equal(unit_json(*state, "\xEF\xBB\xBF\"bom\"")->text.p, "bom");
}

static void decodes_strings(void **state)
{
    struct arena *a = *state;
    const struct wharf_json *v;

    assert_string_equal(unit_json(a, "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"")->text.p, "\"\\/\b\f\n\r\t");
    assert_string_equal(unit_json(a, "\"\\u0041\\u00e9\\u20AC\\uD83D\\uDE00\"")->text.p,
        "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    assert_string_equal(
        unit_json(a, "\"plain text longer than eight bytes, \xC3\xA9t\xC3\xA9\xF0\x9F\x98\x80!\"")
            ->text.p,
        "plain text longer than eight bytes, \xC3\xA9t\xC3\xA9\xF0\x9F\x98\x80!");
    v = unit_json(a, "{\"k\\u0000\":\"a\\u0000b\"}");
    assert_true(v->child->has_nul);
    assert_true(v->child->key_nul);
    assert_string_equal(v->child->text.p, "a\xEF\xBF\xBD"
                                          "b");
    assert_false(unit_json(a, "\"a\xEF\xBF\xBD"
                              "b\"")
                     ->has_nul);
}

static void refuses_bad_strings(void **state)
{
    struct arena *a = *state;

    refuses(a, WHARF_S("\"a"), "the text ends inside a string");
    refuses(a, WHARF_S("\"a\\"), "the text ends inside a string");
    refuses(a, WHARF_S("\"12345678\n\""), "a control character in a string must be escaped");
    refuses(a, WHARF_S("\"\x1F\""), "a control character in a string must be escaped");
    refuses(a, WHARF_S("\"\0\""), "a control character in a string must be escaped");
    refuses(a, WHARF_S("\"\\x41\""), "unknown escape in a string");
    refuses(a, WHARF_S("\"\\\0\""), "unknown escape in a string");
    refuses(a, WHARF_S("\"\\u12g4\""), "a \\u escape needs four hexadecimal digits");
    refuses(a, WHARF_S("\"\\u12"), "a \\u escape needs four hexadecimal digits");
    refuses(a, WHARF_S("\"\\uD800\""), "lone surrogate escape");
    refuses(a, WHARF_S("\"\\uD800\\n\""), "lone surrogate escape");
    refuses(a, WHARF_S("\"\\uD800\\u0041\""), "lone surrogate escape");
    refuses(a, WHARF_S("\"\\uDC00\""), "lone surrogate escape");
    refuses(a, WHARF_S("\"\x80\""), "not UTF-8");
    refuses(a, WHARF_S("\"\xC0\xAF\""), "not UTF-8");
    refuses(a, WHARF_S("\"\xED\xA0\x80\""), "not UTF-8");
    refuses(a, WHARF_S("\"\xF4\x90\x80\x80\""), "not UTF-8");
    refuses(a, WHARF_S("\"\xE2\x82\""), "not UTF-8");
    refuses(a, WHARF_S("\"\xE2\x82"), "not UTF-8");
}

static void refuses_bad_structure(void **state)
{
    struct arena *a = *state;

    refuses(a, WHARF_S(""), "the text ends too early");
    refuses(a, WHARF_S("\xEF\xBB\xBF"), "the text ends too early");
    refuses(a, WHARF_S("{} x"), "text after the value");
    refuses(a, WHARF_S("{}\0"), "text after the value");
    refuses(a, WHARF_S("{} // c"), "text after the value");
    refuses(a, WHARF_S("/* c */{}"), "a value is not JSON");
    refuses(a, WHARF_S("[1,]"), "a value is not JSON");
    refuses(a, WHARF_S("[1 2]"), "a comma or ] is missing in an array");
    refuses(a, WHARF_S("[1"), "a comma or ] is missing in an array");
    refuses(a, WHARF_S("{\"a\":1"), "a comma or } is missing in an object");
    refuses(a, WHARF_S("{\"a\" 1}"), "a colon is missing after a key");
    refuses(a, WHARF_S("{a:1}"), "a member needs a key in quotes");
    refuses(a, WHARF_S("{\"a\":1,}"), "a member needs a key in quotes");
    refuses(a, WHARF_S("nul"), "a value is not JSON");
    refuses(a, WHARF_S("True"), "a value is not JSON");
    refuses(a, WHARF_S("NaN"), "a value is not JSON");
    refuses(a, WHARF_S("Infinity"), "a value is not JSON");
    refuses(a, WHARF_S("\f1"), "a value is not JSON");
    refuses(a, WHARF_S("{\0\"\0a\0\"\0"), "a member needs a key in quotes"); /* UTF-16 */
}

static void numbers(void **state)
{
    static const char *const good[] = {"0", "-0", "0.0", "1", "-12.3400", "1e5", "1E+05", "1.5e-3",
        "1e-9999", "1e308", "123456789012345678901234567890"};
    struct arena *a = *state;
    struct buf text;

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_string_equal(unit_json(a, good[i])->text.p, good[i]);
    refuses(a, WHARF_S("01"), "a number with leading zeros");
    refuses(a, WHARF_S("-01"), "a number with leading zeros");
    refuses(a, WHARF_S("-"), "a number without digits");
    refuses(a, WHARF_S("-Infinity"), "a number without digits");
    refuses(a, WHARF_S("1."), "a number without digits after its point");
    refuses(a, WHARF_S("1.e5"), "a number without digits after its point");
    refuses(a, WHARF_S("1e"), "a number without digits in its exponent");
    refuses(a, WHARF_S("1e+"), "a number without digits in its exponent");
    refuses(a, WHARF_S("+1"), "a value is not JSON");
    refuses(a, WHARF_S(".5"), "a value is not JSON");
    refuses(a, WHARF_S("0x10"), "text after the value");
    refuses(a, WHARF_S("1e309"), "a number too large");
    refuses(a, WHARF_S("-1e309"), "a number too large");
    buf_init(&text, 1000);
    for (int i = 0; i < 400; i++)
        buf_addc(&text, '9');
    refuses(a, buf_str(&text), "a number too large");
    buf_done(&text);
}

static void depth(void **state)
{
    struct buf text;

    buf_init(&text, 1000);
    for (int i = 0; i < 64; i++)
        buf_addc(&text, '[');
    for (int i = 0; i < 64; i++)
        buf_addc(&text, ']');
    assert_int_equal(unit_json(*state, text.p)->type, JSON_ARRAY);
    buf_clear(&text);
    for (int i = 0; i < 33; i++)
        BUF_LIT(&text, "{\"a\":[");
    refuses(*state, buf_str(&text), "nested deeper than 64 levels");
    buf_done(&text);
}

static void object_of(struct buf *text, size_t n, const char *last)
{
    buf_clear(text);
    buf_addc(text, '{');
    for (size_t i = 0; i < n; i++)
        buf_addf(text, "\"key%zu\":%zu,", i, i);
    buf_addf(text, "\"%s\":0}", last);
}

static void duplicate_keys(void **state)
{
    struct arena *a = *state;
    struct buf text;
    clock_t start;

    refuses(a, WHARF_S("{\"a\":1,\"a\":2}"), "duplicate key");
    refuses(a, WHARF_S("{\"a\":1,\"\\u0061\":2}"), "duplicate key");
    refuses(a, WHARF_S("[{\"\":1,\"\":2}]"), "duplicate key");
    buf_init(&text, 64 << 20);
    for (size_t n = 10; n < 40; n++) { /* around the change from comparing to hashing */
        object_of(&text, n, "key0");
        refuses(a, buf_str(&text), "duplicate key");
        buf_clear(&text);
        object_of(&text, n, "key");
        assert_int_equal(unit_json(a, text.p)->count, n + 1);
        buf_addc(&text, ' ');
        object_of(&text, n, text.n % 2 ? "key9" : "key3");
        refuses(a, buf_str(&text), "duplicate key");
    }
    object_of(&text, 200000, "key199999");
    start = clock();
    refuses(a, buf_str(&text), "duplicate key");
    assert_true(clock() - start < 2 * CLOCKS_PER_SEC); /* 200,000 squared would take minutes */
    buf_done(&text);
}

static void out_of_budget(void **state)
{
    struct arena *small = arena_new(256 * 1024);
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_addc(&text, '[');
    for (int i = 0; i < 20000; i++)
        BUF_LIT(&text, "1,");
    BUF_LIT(&text, "1]");
    refuses(small, buf_str(&text), "too many values");
    buf_done(&text);
    arena_free(small);
}

static void whole_numbers(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {{"0", true, 0}, {"-0", true, 0}, {"0.000", true, 0}, {"0e99999999999", true, 0},
        {"1.0", true, 1}, {"1e2", true, 100}, {"1200e-2", true, 12}, {"0.5e1", true, 5},
        {"-12.50e1", true, -125}, {"1.5", false, 0}, {"1e-1", false, 0},
        {"1e-99999999999", false, 0}, {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN}, {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0}, {"1e18", true, 1000000000000000000}, {"1e19", false, 0},
        {"1e300", false, 0}, {"0.001e3", true, 1}, {"100.0100e4", true, 1000100}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t v = -77;

        if (json_int(unit_json(*state, cases[i].text), &v) != cases[i].ok)
            fail_msg("%s", cases[i].text);
        if (cases[i].ok)
            assert_int_equal(v, cases[i].value);
        else
            assert_int_equal(v, -77); /* written on success only */
    }
    assert_false(json_int(unit_json(*state, "\"1\""), &(int64_t){0}));
    assert_false(json_int(NULL, &(int64_t){0}));
}

static void decimals(void **state)
{
    int64_t v;

    assert_true(json_decimal(unit_json(*state, "1.2345"), 4, &v));
    assert_int_equal(v, 12345);
    assert_true(json_decimal(unit_json(*state, "1.23450000"), 4, &v));
    assert_int_equal(v, 12345);
    assert_false(json_decimal(unit_json(*state, "1.23451"), 4, &v));
    assert_true(json_decimal(unit_json(*state, "-0.0001"), 4, &v));
    assert_int_equal(v, -1);
    assert_true(json_decimal(unit_json(*state, "1e-4"), 4, &v));
    assert_int_equal(v, 1);
    assert_false(json_decimal(unit_json(*state, "1e-5"), 4, &v));
    assert_true(json_decimal(unit_json(*state, "922337203685477.5807"), 4, &v));
    assert_int_equal(v, INT64_MAX);
    assert_false(json_decimal(unit_json(*state, "922337203685477.5808"), 4, &v));
}

static void canonical(void **state)
{
    static const char *const cases[][2] = {{"1", "1"}, {"-1.0", "-1"}, {"2.50", "2.5"},
        {"1e3", "1000"}, {"1.5e1", "15"}, {"-0", "0"}, {"0.0", "0"}, {"12e-3", "0.012"},
        {"0.5", "0.5"}, {"100", "100"}, {"100.010", "100.01"}, {"1.25e-1", "0.125"},
        {"0.05e2", "5"}, {"123456789012345678901234567890.5", "123456789012345678901234567890.5"}};
    struct buf out;

    buf_init(&out, 1000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        buf_clear(&out);
        assert_true(json_number_canonical(str_z(cases[i][0]), 40, &out));
        assert_string_equal(out.p, cases[i][1]);
    }
    buf_clear(&out);
    assert_false(json_number_canonical(WHARF_S("1e300"), 40, &out));
    assert_false(json_number_canonical(WHARF_S("1e-40"), 40, &out));
    assert_false(json_number_canonical(WHARF_S("1e99999999999999999999"), SIZE_MAX, &out));
    assert_true(json_number_canonical(WHARF_S("1e-39"), 40, &out));
    buf_done(&out);
}

static void compares_numbers(void **state)
{
    static const char *const ascending[] = {"-1e300", "-10", "-9.5", "-1", "-0.01", "-1e-300", "0",
        "1e-300", "0.01", "0.012", "0.1", "1", "1.0000000000000000000001", "9", "9.5", "10", "1e2",
        "101", "1e300"};
    size_t n = sizeof(ascending) / sizeof(*ascending);

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            int order = json_number_compare(str_z(ascending[i]), str_z(ascending[j]));

            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    assert_int_equal(json_number_compare(WHARF_S("1"), WHARF_S("1.0")), 0);
    assert_int_equal(json_number_compare(WHARF_S("-0"), WHARF_S("0e5")), 0);
    assert_int_equal(json_number_compare(WHARF_S("12.5e-1"), WHARF_S("1.25")), 0);
}

static void equality(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {{"1", "1.0", true}, {"1", "\"1\"", false}, {"[1,2]", "[1,2.0]", true},
        {"[1,2]", "[2,1]", false}, {"[1]", "[1,1]", false},
        {"{\"a\":1,\"b\":[{}]}", "{\"b\":[{}],\"a\":1e0}", true}, {"{\"a\":1}", "{\"b\":1}", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":1}", false},
        {"{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}", false}, {"true", "false", false},
        {"null", "null", true}, {"\"a\"", "\"a\"", true}, {"\"a\\u0000\"", "\"a\\uFFFD\"", false},
        {"[[1],[]]", "[[],[1]]", false}};
    const unsigned char seed[16] = {7};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct wharf_json *a = unit_json(*state, cases[i].a),
                                *b = unit_json(*state, cases[i].b);

        if (json_equal(a, b) != cases[i].equal || json_equal(b, a) != cases[i].equal)
            fail_msg("%s and %s", cases[i].a, cases[i].b);
        if ((json_hash(a, seed) == json_hash(b, seed)) != cases[i].equal)
            fail_msg("hash of %s and %s", cases[i].a, cases[i].b);
    }
}

static void equality_of_big_objects(void **state)
{
    struct buf x, y;

    buf_init(&x, 1 << 20);
    buf_init(&y, 1 << 20);
    buf_addc(&x, '{');
    buf_addc(&y, '{');
    for (int i = 0; i < 5000; i++) {
        buf_addf(&x, "\"k%d\":%d,", i, i);
        buf_addf(&y, "\"k%d\":%d,", 4999 - i, 4999 - i);
    }
    BUF_LIT(&x, "\"z\":1}");
    BUF_LIT(&y, "\"z\":1}");
    assert_true(json_equal(unit_json(*state, x.p), unit_json(*state, y.p)));
    y.p[y.n - 2] = '2';
    assert_false(json_equal(unit_json(*state, x.p), unit_json(*state, y.p)));
    buf_done(&x);
    buf_done(&y);
}

static void member_helpers(void **state)
{
    const struct wharf_json *v = unit_json(
        *state, "{\"t\":\"x\",\"b\":true,\"i\":7,\"n\":null,\"d\":2.5}");

    assert_string_equal(json_text_or(v, "t", "y").p, "x");
    assert_string_equal(json_text_or(v, "i", "y").p, "y");
    assert_string_equal(json_text_or(v, "missing", NULL).p, "");
    assert_true(json_bool_or(v, "b", false));
    assert_true(json_bool_or(v, "n", true));
    assert_int_equal(json_int_or(v, "i", 1), 7);
    assert_int_equal(json_int_or(v, "d", 1), 1);
    assert_true(json_double(json_get(v, "d")) == 2.5);
    assert_false(json_is(NULL, JSON_NULL));
    assert_true(json_is(json_get(v, "n"), JSON_NULL));
}

static void index_of_members(void **state)
{
    const struct wharf_json *few = unit_json(*state, "{\"a\":1,\"b\":2}"), *many;
    struct json_index index = json_index(*state, few), none = json_index(*state, NULL);
    struct buf text;

    assert_null(index.sorted);
    assert_string_equal(json_index_get(&index, WHARF_S("b"))->text.p, "2");
    assert_null(json_index_get(&index, WHARF_S("c")));
    assert_null(json_index_get(&none, WHARF_S("c")));
    buf_init(&text, 1 << 20);
    object_of(&text, 1000, "key");
    many = unit_json(*state, text.p);
    index = json_index(*state, many);
    for (const struct wharf_json *m = many->child; m; m = m->next)
        assert_ptr_equal(json_index_get(&index, m->key), m);
    assert_null(json_index_get(&index, WHARF_S("ke")));
    assert_null(json_index_get(&index, WHARF_S("key1000")));
    buf_done(&text);
}

/* Reads a member that is absent as plugins do: it is null, and no worker dies of it. */
static void plugins_read_absent_members(void **state)
{
    const wharf_json_api *j = &host_json;
    int64_t i;
    wharf_str s;
    bool truth;

    (void)state;
    assert_int_equal(j->type(NULL), WHARF_J_NULL);
    assert_int_equal(j->count(NULL), 0);
    assert_null(j->get(NULL, "a"));
    assert_null(j->at(NULL, 0));
    assert_null(j->next(NULL));
    assert_int_equal(j->key(NULL).n, 0);
    assert_false(j->text(NULL, &s));
    assert_false(j->integer(NULL, &i));
    assert_false(j->decimal(NULL, 4, &i));
    assert_false(j->truth(NULL, &truth));
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(accepts_all_types), UNIT(decodes_strings),
        UNIT(refuses_bad_strings), UNIT(refuses_bad_structure), UNIT(numbers), UNIT(depth),
        UNIT(duplicate_keys), UNIT(out_of_budget), UNIT(whole_numbers), UNIT(decimals),
        UNIT(canonical), UNIT(compares_numbers), UNIT(equality), UNIT(equality_of_big_objects),
        UNIT(member_helpers), UNIT(index_of_members), UNIT(plugins_read_absent_members)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
