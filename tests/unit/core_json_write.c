/* core_json_write.c - json.h, writing: escapes, commas, and that what is written is read back
 * equal. */
#include "unit.h"

#include <stdio.h>

static void quotes(void **state)
{
    static const char *const cases[][2] = {{"", "\"\""}, {"plain", "\"plain\""},
        {"a\"b\\c/d", "\"a\\\"b\\\\c/d\""},
        {"\b\f\n\r\t\x01\x1F\x7F", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7F\""},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"12345678\n", "\"12345678\\n\""}, {"1234567\n90123456", "\"1234567\\n90123456\""}};
    struct buf out;

    buf_init(&out, 1000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        buf_clear(&out);
        json_quote(&out, str_z(cases[i][0]));
        assert_string_equal(out.p, cases[i][1]);
        assert_int_equal(out.n, strlen(cases[i][1]));
    }
    buf_clear(&out);
    json_quote(&out, WHARF_S("a\0b"));
    assert_string_equal(out.p, "\"a\\u0000b\"");
    buf_done(&out);
}

/* Each byte at each place of a word, beside bytes that could disturb the tests on whole words. */
static void quotes_every_byte_everywhere(void **state)
{
    static const char around[] = {'a', '!', '#', '[', ']', ' ', '\x7F', '"'};
    char text[20];

    for (size_t f = 0; f < sizeof(around); f++) {
        for (unsigned c = 0; c < 128; c++) {
            for (size_t at = 0; at < 19; at++) {
                const struct wharf_json *back;
                struct json_error error;
                struct buf out;

                memset(text, around[f], 19);
                text[19] = 0;
                text[at] = (char)c;
                buf_init(&out, 1000);
                json_quote(&out, (wharf_str){text, 19});
                back = json_parse(*state, buf_str(&out), &error);
                assert_non_null(back);
                if (c) {
                    assert_int_equal(back->text.n, 19);
                    assert_memory_equal(back->text.p, text, 19);
                } else {
                    assert_true(back->has_nul);
                }
                buf_done(&out);
            }
        }
    }
}

static void structure(void **state)
{
    struct buf out;
    struct jw w;

    buf_init(&out, 10000);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    jw_str(&w, "s", WHARF_S("x"));
    jw_z(&w, "z", NULL);
    jw_int(&w, "i", INT64_MIN);
    jw_bool(&w, "t", true);
    jw_bool(&w, "f", false);
    jw_null(&w, "n");
    jw_raw(&w, "r", WHARF_S("[1]"));
    jw_open(&w, "a", '[');
    jw_close(&w, ']');
    jw_open(&w, "b", '[');
    jw_int(&w, NULL, 1);
    jw_open(&w, NULL, '{');
    jw_close(&w, '}');
    jw_z(&w, NULL, "q");
    jw_close(&w, ']');
    jw_key(&w, WHARF_S("k\"ey"));
    jw_int(&w, NULL, 2);
    jw_key(&w, WHARF_S("o"));
    jw_open(&w, NULL, '{');
    jw_int(&w, "x", 0);
    jw_close(&w, '}');
    jw_null(&w, "last");
    jw_close(&w, '}');
    assert_string_equal(out.p, "{\"s\":\"x\",\"z\":null,\"i\":-9223372036854775808,\"t\":true,"
                               "\"f\":false,\"n\":null,\"r\":[1],\"a\":[],"
                               "\"b\":[1,{},\"q\"],\"k\\\"ey\":2,\"o\":{\"x\":0},\"last\":null}");
    buf_done(&out);
}

static void deep_structure(void **state)
{
    struct buf out;
    struct jw w;

    buf_init(&out, 10000);
    jw_init(&w, &out);
    for (int i = 0; i < 60; i++)
        jw_open(&w, NULL, '[');
    jw_int(&w, NULL, 1);
    jw_int(&w, NULL, 2);
    for (int i = 0; i < 60; i++)
        jw_close(&w, ']');
    assert_non_null(strstr(out.p, "[1,2]"));
    assert_int_equal(out.n, 123);
    buf_done(&out);
}

static void values_as_read(void **state)
{
    static const char text[] = "{\"a\":[1.50,-0,1e5,\"\\u0001\\\"\",{\"\":null}],\"b\":{\"c\":["
                               "true,false,[]],\"d\":\"\xC3\xA9\"}}";
    struct buf out;
    struct jw w;

    buf_init(&out, 1000);
    jw_init(&w, &out);
    jw_value(&w, NULL, unit_json(*state, text));
    assert_string_equal(out.p, text);
    buf_done(&out);
}

static void too_long(void **state)
{
    struct buf out;

    buf_init(&out, 10);
    json_quote(&out, WHARF_S("123456789"));
    assert_true(out.failed);
    assert_string_equal(buf_str(&out).p, "");
    buf_clear(&out);
    json_quote(&out, WHARF_S("\n\n\n\n\n"));
    assert_true(out.failed);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(quotes), UNIT(quotes_every_byte_everywhere),
        UNIT(structure), UNIT(deep_structure), UNIT(values_as_read), UNIT(too_long)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
