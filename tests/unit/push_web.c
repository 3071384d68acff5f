/* push_web.c - services/push: the published example of RFC 8291, what is no key, and the token of
 * RFC 8292 as the other side reads it. */
#include "unit.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "push/vapid.h"
#include "push/web_message.h"
#include "util/json.h"
#include "util/str.h"

/* RFC 8291, section 5 and appendix A. */
static const char
    plain[] = "When I grow up, I want to be a watermelon",
    sender_private[] = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
    sender_public[] = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAm"
                      "S6TlzAC8wEqKK6PBru3jl7A8",
    reader_public[] = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjy"
                      "Pjs7Vd8pZGH6SRpkNtoIAiw4",
    reader_auth[] = "BTBZMqHH6r4Tts7J_aSIgg", example_salt[] = "DGv6ra1nlYgDCS1FRnbzlw",
    example[] = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6"
                "e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZ"
                "wbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";

static struct web_reader example_reader(void)
{
    struct web_reader r;

    assert_true(base64url_read(str_z(reader_public), r.public, P256_PUBLIC));
    assert_true(base64url_read(str_z(reader_auth), r.auth, WEB_AUTH));
    return r;
}

static struct p256 example_sender(void)
{
    unsigned char private[P256_PRIVATE];
    struct p256 pair;

    assert_true(base64url_read(str_z(sender_private), private, P256_PRIVATE));
    assert_true(p256_of(private, &pair));
    return pair;
}

static void the_example_of_rfc_8291(void **state)
{
    struct arena *a = arena_new(0);
    struct web_reader reader = example_reader();
    struct p256 sender = example_sender();
    unsigned char salt[WEB_SALT], out[WEB_RECORD];
    size_t n;

    assert_true(base64url_read(str_z(example_salt), salt, WEB_SALT));
    assert_string_equal(base64url(a, sender.public, P256_PUBLIC).p, sender_public);
    n = web_message_seal(&reader, &sender, salt, str_z(plain), out);
    assert_string_equal(base64url(a, out, n).p, example);
    arena_free(a);
}

static void a_message_has_a_longest_length(void **state)
{
    static char text[WEB_PLAIN_MAX + 2];
    struct web_reader reader = example_reader();
    struct p256 sender = example_sender();
    unsigned char salt[WEB_SALT] = {0}, out[WEB_RECORD];

    memset(text, 'x', sizeof(text) - 1);
    assert_int_equal(
        web_message_seal(&reader, &sender, salt, (wharf_str){text, WEB_PLAIN_MAX}, out),
        WEB_RECORD);
    assert_int_equal(
        web_message_seal(&reader, &sender, salt, (wharf_str){text, WEB_PLAIN_MAX + 1}, out), 0);
}

static void what_is_no_point_is_no_key(void **state)
{
    struct web_reader reader = example_reader();
    struct p256 sender = example_sender();
    unsigned char salt[WEB_SALT] = {0}, out[WEB_RECORD], none[P256_PRIVATE] = {0};

    assert_true(p256_point(reader.public));
    reader.public[64] ^= 1;
    assert_false(p256_point(reader.public));
    assert_int_equal(web_message_seal(&reader, &sender, salt, str_z(plain), out), 0);
    assert_false(p256_of(none, &sender));
    memset(none, 0xff, sizeof(none));
    assert_false(p256_of(none, &sender));
    assert_false(base64url_read(str_z("BTBZMqHH6r4Tts7J_aSI"), reader.auth, WEB_AUTH));
    assert_false(base64url_read(str_z("BTBZMqHH6r4Tts7J_aSIg+"), reader.auth, WEB_AUTH));
    assert_true(base64url_read(str_z("BTBZMqHH6r4Tts7J_aSIgg=="), reader.auth, WEB_AUTH));
}

static void both_sides_know_the_same_secret(void **state)
{
    unsigned char one[P256_SECRET], other[P256_SECRET];
    struct p256 a, b;

    assert_true(p256_make(&a));
    assert_true(p256_make(&b));
    assert_memory_not_equal(a.private, b.private, P256_PRIVATE);
    assert_true(p256_secret(&a, b.public, one));
    assert_true(p256_secret(&b, a.public, other));
    assert_memory_equal(one, other, P256_SECRET);
}

/* ---- the token ---- */

/* Verifies r and s by the library, from the public key alone. */
static bool verifies(
    const struct p256 *key, wharf_str text, const unsigned char sig[P256_SIGNATURE])
{
    OSSL_PARAM_BLD *list = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *make = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    ECDSA_SIG *pair = ECDSA_SIG_new();
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char *der = NULL;
    EVP_PKEY *public = NULL;
    OSSL_PARAM *params;
    int n;
    bool good;

    OSSL_PARAM_BLD_push_utf8_string(list, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
    OSSL_PARAM_BLD_push_octet_string(list, OSSL_PKEY_PARAM_PUB_KEY, key->public, P256_PUBLIC);
    params = OSSL_PARAM_BLD_to_param(list);
    assert_int_equal(EVP_PKEY_fromdata_init(make), 1);
    assert_int_equal(EVP_PKEY_fromdata(make, &public, EVP_PKEY_PUBLIC_KEY, params), 1);
    ECDSA_SIG_set0(pair, BN_bin2bn(sig, 32, NULL), BN_bin2bn(sig + 32, 32, NULL));
    n = i2d_ECDSA_SIG(pair, &der);
    assert_int_equal(EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, public), 1);
    good = EVP_DigestVerify(ctx, der, (size_t)n, (const unsigned char *)text.p, text.n) == 1;
    OPENSSL_free(der);
    ECDSA_SIG_free(pair);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(public);
    EVP_PKEY_CTX_free(make);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(list);
    return good;
}

/* Reads the claims of a header's value whose signature is good. */
static const struct wharf_json *claims_of(
    struct arena *a, const struct p256 *key, const char *endpoint, const char *contact)
{
    unsigned char sig[P256_SIGNATURE], json[512];
    const char *token, *dot, *last;
    wharf_str value, part;
    struct json_error e;
    size_t n;

    assert_true(
        vapid_header_of(a, key, str_z(endpoint), str_z(contact), 1700000000000000LL, &value));
    assert_true(str_starts(value, "vapid t="));
    token = value.p + 8;
    dot = strchr(token, '.');
    last = strchr(dot + 1, '.');
    part = (wharf_str){last + 1, strcspn(last + 1, ",")};
    assert_string_equal(part.p + part.n + 4, base64url(a, key->public, P256_PUBLIC).p);
    assert_true(base64url_read(part, sig, sizeof(sig)));
    assert_true(verifies(key, (wharf_str){token, (size_t)(last - token)}, sig));
    assert_false(verifies(key, (wharf_str){token, (size_t)(last - token) - 1}, sig));
    part = (wharf_str){dot + 1, (size_t)(last - dot - 1)};
    n = part.n * 3 / 4;
    assert_true(n < sizeof(json) && base64url_read(part, json, n));
    json[n] = 0;
    return json_parse(a, (wharf_str){(const char *)json, n}, &e);
}

static void the_token_names_the_origin(void **state)
{
    static const char *const cases[][2] = {
        {"https://push.example.net/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", "https://push.example.net"},
        {"https://push.example.net:8443/a?b=c", "https://push.example.net:8443"},
        {"https://push.example.net:443/a", "https://push.example.net"},
        {"https://Push.Example.net?x", "https://push.example.net"}};
    struct arena *a = arena_new(0);
    struct p256 key = example_sender();
    const struct wharf_json *claims;
    wharf_str value;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        claims = claims_of(a, &key, cases[i][0], "mailto:ops@example.com");
        assert_string_equal(json_text_or(claims, "aud", "").p, cases[i][1]);
        assert_string_equal(json_text_or(claims, "sub", "").p, "mailto:ops@example.com");
        assert_in_range(json_int_or(claims, "exp", 0), 1700000001, 1700000000 + 86400);
    }
    assert_null(json_get(claims_of(a, &key, cases[0][0], ""), "sub"));
    assert_false(vapid_header_of(a, &key, str_z("push.example.net"), str_z(""), 0, &value));
    assert_false(vapid_header_of(a, &key, str_z("https:///x"), str_z(""), 0, &value));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_rfc_8291),
        cmocka_unit_test(a_message_has_a_longest_length),
        cmocka_unit_test(what_is_no_point_is_no_key),
        cmocka_unit_test(both_sides_know_the_same_secret),
        cmocka_unit_test(the_token_names_the_origin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
