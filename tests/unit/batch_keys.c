/* Keys of a batch that must differ (modules/batches/batch_keys.c): many of them, of several
 * kinds, and whose hash decides where they stand. */
/* cmocka needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "batches.h"

const wharf_host *batches_host;
const wharf_text_api *batches_text;

static size_t asked;
static bool all_the_same;

static uint64_t hash(wharf_str s)
{
    uint64_t h = 1469598103934665603u;

    asked++;
    for (size_t i = 0; i < s.n && !all_the_same; i++)
        h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
    return h ^ h >> 29;
}

static int setup(void **state)
{
    static wharf_text_api text = {.hash = hash};

    (void)state;
    batches_text = &text;
    asked = 0;
    all_the_same = false;
    return 0;
}

static wharf_str numbered(char room[32], const char *before, int i)
{
    return (wharf_str){room, (size_t)snprintf(room, 32, "%s%d", before, i)};
}

static void first_ones_are_found(void **state)
{
    struct keys *k = keys_new();
    char room[32];

    (void)state;
    for (int i = 0; i < 20000; i++)
        assert_int_equal(keys_meet(k, i % 2, numbered(room, "key ", i / 2), (uint32_t)i), -1);
    for (int i = 0; i < 20000; i++)
        assert_int_equal(keys_meet(k, i % 2, numbered(room, "key ", i / 2), 0), i);
    keys_free(k);
}

/* Where a key stands is said by the server's keyed hash, and by no other: who sends keys can not
 * make them meet. */
static void the_hash_is_the_servers(void **state)
{
    struct keys *k = keys_new();
    char room[32];

    (void)state;
    for (int i = 0; i < 100; i++)
        keys_meet(k, 0, numbered(room, "", i), (uint32_t)i);
    assert_int_equal(asked, 100);
    keys_free(k);
}

static void keys_that_meet_differ_all_the_same(void **state)
{
    struct keys *k = keys_new();
    char room[32];

    (void)state;
    all_the_same = true;
    for (int i = 0; i < 500; i++)
        assert_int_equal(keys_meet(k, 0, numbered(room, "", i), (uint32_t)i), -1);
    for (int i = 0; i < 500; i++)
        assert_int_equal(keys_meet(k, 0, numbered(room, "", i), 0), i);
    keys_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(first_ones_are_found, setup),
        cmocka_unit_test_setup(the_hash_is_the_servers, setup),
        cmocka_unit_test_setup(keys_that_meet_differ_all_the_same, setup)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
