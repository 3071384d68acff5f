/* secret_hide.c - values that are known again in every form that gives them away
 * (secret/hide.h). */
#include "unit.h"

#include <sodium.h>
#include <string.h>

#include "secret/hide.h"

enum { ROUNDS = 20000, SECRET_MAX = 48, BESIDE_MAX = 7, TEXT_MAX = 1024 };

static wharf_str hidden(struct arena *a, wharf_str secret, wharf_str text)
{
    wharf_str name = str_z("n");

    return hide_text(a, hide_prepare(a, &name, &secret, 1), text, false);
}

static wharf_str some_bytes(struct arena *a, size_t n)
{
    char *p = arena_alloc(a, n + 1);

    randombytes_buf(p, n);
    return (wharf_str){p, n};
}

/* How a character of base64 stands in a text: as it is, as JSON may have it, as a URL has it. */
enum dress { PLAIN, JSON_TEXT, QUERY, DRESSES };

static void dressed(struct buf *out, char c, enum dress how)
{
    if (how == JSON_TEXT && c == '/')
        buf_addz(out, "\\/");
    else if (how == QUERY && strchr("+/=", c))
        buf_addf(out, "%%%02X", (unsigned)c);
    else
        buf_addc(out, c);
}

/* One secret between random neighbours, encoded together: of the answer nothing is left that
 * holds a bit of the secret, and all else is. */
static void one_round(struct arena *a, int variant, enum dress how)
{
    wharf_str secret = some_bytes(a, 6 + randombytes_uniform(SECRET_MAX - 5));
    wharf_str before = some_bytes(a, randombytes_uniform(BESIDE_MAX));
    wharf_str after = some_bytes(a, randombytes_uniform(BESIDE_MAX));
    size_t n = before.n + secret.n + after.n, first = before.n * 8 / 6,
           end = ((before.n + secret.n) * 8 + 5) / 6;
    unsigned char *whole = arena_alloc(a, n + 1);
    char *encoded = arena_alloc(a, sodium_base64_encoded_len(n, variant));
    struct buf text, expected;

    memcpy(whole, before.p, before.n);
    memcpy(whole + before.n, secret.p, secret.n);
    memcpy(whole + before.n + secret.n, after.p, after.n);
    sodium_bin2base64(encoded, sodium_base64_encoded_len(n, variant), whole, n, variant);
    buf_init(&text, TEXT_MAX);
    buf_init(&expected, TEXT_MAX);
    buf_addz(&text, "said <");
    buf_addz(&expected, "said <");
    for (size_t i = 0; encoded[i]; i++) {
        dressed(&text, encoded[i], how);
        if (i == first)
            buf_addz(&expected, "[secret:n]");
        if (i < first || (i >= end && (after.n || encoded[i] != '=')))
            dressed(&expected, encoded[i], how);
    }
    buf_addz(&text, "> end");
    buf_addz(&expected, "> end");
    if (!str_eq(hidden(a, secret, buf_str(&text)), buf_str(&expected)))
        fail_msg("%zu bytes behind %zu and before %zu: %.*s\nbecame   %.*s\nexpected %.*s",
            secret.n, before.n, after.n, (int)text.n, text.p,
            STR_ARG(hidden(a, secret, buf_str(&text))), (int)expected.n, expected.p);
    buf_done(&text);
    buf_done(&expected);
}

static void base64_leaves_no_bit(void **state)
{
    static const int variants[] = {sodium_base64_VARIANT_ORIGINAL,
        sodium_base64_VARIANT_ORIGINAL_NO_PADDING, sodium_base64_VARIANT_URLSAFE,
        sodium_base64_VARIANT_URLSAFE_NO_PADDING};

    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        struct arena *a = arena_new(0);

        one_round(a, variants[i % 4], (enum dress)(i / 4 % DRESSES));
        arena_free(a);
    }
}

/* Neighbours that stand beside the secret's own characters, and have none of its bits, are not
 * taken with them. */
static void neighbours_that_are_others(void **state)
{
    struct arena *a = *state;
    wharf_str secret = str_z("open sesame!!"); /* b3BlbiBzZXNhbWUhIQ== */

    assert_true(str_eqz(hidden(a, secret, str_z("b3BlbiBzZXNhbWUhIQ==")), "[secret:n]"));
    assert_true(str_eqz(hidden(a, secret, str_z("b3BlbiBzZXNhbWUhI")), "[secret:n]"));
    assert_true(str_eqz(hidden(a, secret, str_z("b3BlbiBzZXNhbWUhIz")), "[secret:n]z"));
    assert_true(str_eqz(hidden(a, secret, str_z("b3BlbiBzZXNhbWUhIQ")), "[secret:n]"));
    assert_true(str_eqz(hidden(a, secret, str_z("x=b3BlbiBzZXNhbWUhIQ===")), "x=[secret:n]="));
    assert_true(str_eqz(hidden(a, secret, str_z("b3BlbiBzZXNhbWU")), "b3BlbiBzZXNhbWU"));
}

/* A text that went on: what stands at its end may be the beginning of the secret. */
static void cut_texts(void **state)
{
    struct arena *a = *state;
    wharf_str name = str_z("n"), secret = str_z("open sesame!!");
    const struct hide_list *list = hide_prepare(a, &name, &secret, 1);
    const char *encoded = "dXNlcjpvcGVuIHNlc2FtZSEh"; /* user:open sesame!! */

    for (size_t n = 8; n <= strlen(encoded); n++) {
        wharf_str text = hide_text(a, list, (wharf_str){encoded, n}, true);

        assert_true(text.n >= 6 && memcmp(text.p, "dXNlcj", 6) == 0);
        assert_true(text.n <= 6 + strlen("[secret:n]") && !memmem(text.p, text.n, "vcG", 3));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(base64_leaves_no_bit), UNIT(neighbours_that_are_others), UNIT(cut_texts)};

    if (sodium_init() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
