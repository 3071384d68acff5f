/* event_redact.c - what the request log keeps of bodies, queries and paths. */
#include "unit.h"

#include "event/redact.h"
#include "util/str.h"

static const char *const own[] = {"pickup_code"};
static const struct redact_names names = {own, 1};

#define TOKEN "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" /* 43 */

static void json_is_kept(const char *in, const char *out)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    redact_json(&b, &names, str_z(in), 8192);
    assert_string_equal(buf_str(&b).p, out);
    buf_done(&b);
}

static void test_json(void **state)
{
    (void)state;
    json_is_kept("{\"a\":1,\"b\":[true,null,\"x\"]}", "{\"a\":1,\"b\":[true,null,\"x\"]}");
    json_is_kept("{\"token\":\"t\",\"a\":1}", "{\"token\":\"***\",\"a\":1}");
    json_is_kept(
        "{\"Device_Token\" : {\"x\":[\"}\",{}]} ,\"a\":1}", "{\"Device_Token\":\"***\" ,\"a\":1}");
    json_is_kept("{\"secret\":[1,[2],\"]\"],\"pickup_code\":12,\"a\":1}",
        "{\"secret\":\"***\",\"pickup_code\":\"***\",\"a\":1}");
    json_is_kept("{\"password\":null,\"api_key_id\":\"key_1\",\"key\":true}",
        "{\"password\":null,\"api_key_id\":\"key_1\",\"key\":\"***\"}");
    json_is_kept("{\"p\\u0069n\":\"x\"}", "{\"p\\u0069n\":\"***\"}");
    json_is_kept("{\"data\":\"^XA\",\"content\":{\"a\":\"b\"}}",
        "{\"data\":\"***\",\"content\":{\"a\":\"b\"}}");
    json_is_kept("[\"see https://x/v1/files/file_1?sig=" TOKEN "&a=b\"]",
        "[\"see https://x/v1/files/file_1?sig=***&a=b\"]");
    json_is_kept("[\"a wh_live_short b\",\"data:image/png;base64,AA\"]", "[\"a *** b\",\"***\"]");
    json_is_kept("[\"\\\"" TOKEN "\\\"\"]", "[\"\\\"***\\\"\"]");
}

static void test_beginnings(void **state)
{
    (void)state;
    json_is_kept("", "");
    json_is_kept("{\"a\":\"half of a tok", "{\"a\":\"half of a ***");
    json_is_kept("{\"token\":\"half", "{\"token\":\"***\"");
    json_is_kept("{\"token\":{\"a\":[1", "{\"token\":\"***\"");
    json_is_kept("{\"tok", "{\"***");
    json_is_kept("{\"a\":\"\\", "{\"a\":\"\\");
    json_is_kept("{\"a\":", "{\"a\":");
    json_is_kept("]}}},,\"", "]}}},,\"");
}

static void test_a_file(void **state)
{
    char text[1000] = "[\"";
    struct buf b;

    (void)state;
    for (size_t i = 2; i < 600; i++)
        text[i] = i % 37 ? 'Q' : '/';
    memcpy(text + 600, "\"]", 3);
    json_is_kept(text, "[\"***\"]");
    buf_init(&b, 1 << 20);
    redact_json(&b, &names, WHARF_S("[\"\xc3\xa9\xc3\xa9\xc3\xa9\"]"), 5);
    assert_string_equal(b.p, "[\"\xc3\xa9");
    buf_done(&b);
}

static void query_is_kept(const char *in, const char *out)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    redact_query(&b, &names, str_z(in));
    assert_string_equal(buf_str(&b).p, out);
    buf_done(&b);
}

static void test_queries_and_paths(void **state)
{
    struct buf b;

    (void)state;
    query_is_kept("", "");
    query_is_kept("a=b&c&&d=", "a=b&c&&d=");
    query_is_kept("op=put&exp=17&sig=abc", "op=put&exp=17&sig=***");
    query_is_kept("metadata.token=x&x=" TOKEN "&pickup_code=4&api_key[eq]=z",
        "metadata.token=***&x=***&pickup_code=***&api_key[eq]=***");
    query_is_kept(
        "token%5Beq%5D=a&created_at%5Bgte%5D=1", "token%5Beq%5D=***&created_at%5Bgte%5D=1");
    query_is_kept("%6bey=x&a=wh_live_", "%6bey=***&a=***");
    buf_init(&b, 1000);
    redact_text(&b, WHARF_S("/v1/support/attachments/" TOKEN));
    assert_string_equal(b.p, "/v1/support/attachments/***");
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_json),
        cmocka_unit_test(test_beginnings), cmocka_unit_test(test_a_file),
        cmocka_unit_test(test_queries_and_paths)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
