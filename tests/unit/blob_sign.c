/* blob_sign.c - signed links to S3-compatible servers: the published vector of spec 05 section 6,
 * and links that botocore, Amazon's own client library, made of the same words. */
#include "unit.h"

#include "blob/s3_sign.h"

static const struct s3_link published = {.key = "AKIAIOSFODNN7EXAMPLE",
    .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    .region = "us-east-1",
    .method = "GET",
    .base = {"https://examplebucket.s3.amazonaws.com/", 39},
    .object = {"test.txt", 8},
    .now_s = 1369353600, /* 20130524T000000Z */
    .seconds = 86400};

static void expect_signature(struct arena *a, const struct s3_link *l, const char *signature)
{
    wharf_str url = s3_link_sign(a, l);
    const char *at = strstr(url.p, "&X-Amz-Signature=");

    assert_non_null(at);
    assert_string_equal(at + 17, signature);
}

static void test_the_published_vector(void **state)
{
    wharf_str url = s3_link_sign(*state, &published);

    assert_string_equal(url.p,
        "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

static void test_at_most_seven_days(void **state)
{
    struct s3_link l = published;

    l.seconds = 30 * 86400;
    assert_non_null(strstr(s3_link_sign(*state, &l).p, "&X-Amz-Expires=604800&"));
}

static void test_the_host_is_signed_as_it_is_sent(void **state)
{
    static const struct {
        const char *base, *starts;
    } same[] = {{"https://Host.Example:443/wharf/", "https://host.example/wharf/test.txt?"},
        {"https://host.example/wharf/", "https://host.example/wharf/test.txt?"}};
    struct s3_link l = published;
    wharf_str urls[2];

    for (int i = 0; i < 2; i++) {
        l.base = str_z(same[i].base);
        urls[i] = s3_link_sign(*state, &l);
        assert_true(str_starts(urls[i], same[i].starts));
    }
    assert_string_equal(urls[0].p, urls[1].p);
    l.base = str_z("http://host.example:443/wharf/");
    assert_true(str_starts(s3_link_sign(*state, &l), "http://host.example:443/wharf/"));
}

/* The signatures of the following were computed by botocore (S3SigV4QueryAuth over the same URL,
 * headers and moment). */

static void test_a_put_in_path_style_with_a_port(void **state)
{
    const struct s3_pair headers[] = {
        {"content-md5", str_z("1B2M2Y8AsgTpgAmY7PhCfg==")}, {"content-type", str_z("text/plain")}};
    struct s3_link l = published;

    l.method = "PUT";
    l.base = str_z("http://127.0.0.1:9000/wharf/");
    l.object = str_z("uploads/org_1/file_2");
    l.headers = headers;
    l.n_headers = 2;
    l.seconds = 3600;
    assert_non_null(
        strstr(s3_link_sign(*state, &l).p, "SignedHeaders=content-md5%3Bcontent-type%3Bhost&"));
    expect_signature(
        *state, &l, "39e6d36b4f3d0691a7af66801367cf3cc7e4bf10baf6cca103432058f4de9cb3");
}

static void test_names_of_all_kinds(void **state)
{
    const struct s3_pair query[] = {
        {"response-content-disposition",
            str_z(
                "attachment; filename=\"a b+c'd.txt\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20+.txt")},
        {"response-content-type", str_z("text/plain; charset=utf-8")}};
    struct s3_link l = published;

    l.object = str_z("downloads/Gr\303\266\303\237e \"1\" +'&=?#%~(*).txt");
    l.query = query;
    l.n_query = 2;
    l.seconds = 900;
    assert_non_null(strstr(s3_link_sign(*state, &l).p,
        "/downloads/Gr%C3%B6%C3%9Fe%20%221%22%20%2B%27%26%3D%3F%23%25~%28%2A%29.txt?"));
    expect_signature(
        *state, &l, "79912e8da1e87b08bf0b409395c503646cbd4f89fe22388850a1ad3764138a18");
}

static void test_blanks_of_headers_are_one(void **state)
{
    const struct s3_pair wide[] = {{"content-type", str_z("  a/b;   c=d ")}},
                         narrow[] = {{"content-type", str_z("a/b; c=d")}};
    struct s3_link l = published;
    wharf_str first;

    l.headers = wide;
    l.n_headers = 1;
    first = s3_link_sign(*state, &l);
    l.headers = narrow;
    assert_string_equal(first.p, s3_link_sign(*state, &l).p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(test_the_published_vector),
        UNIT(test_at_most_seven_days), UNIT(test_the_host_is_signed_as_it_is_sent),
        UNIT(test_a_put_in_path_style_with_a_port), UNIT(test_names_of_all_kinds),
        UNIT(test_blanks_of_headers_are_one)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
