/* ops_auth.c - key texts and the built-in roles. */
#include "unit.h"

#include "identity/keytext.h"
#include "identity/roles.h"

static void key_shape(void **state)
{
    char key[KEYTEXT_LEN + 1], other[KEYTEXT_LEN + 1];
    bool test = true;

    keytext_new(false, key);
    keytext_new(false, other);
    assert_string_not_equal(key, other);
    assert_int_equal(strlen(key), 46);
    assert_true(str_starts(str_z(key), "wh_live_"));
    assert_true(keytext_check(str_z(key), &test));
    assert_false(test);
    keytext_new(true, key);
    assert_true(str_starts(str_z(key), "wh_test_"));
    assert_true(keytext_check(str_z(key), &test));
    assert_true(test);
}

/* Any one changed character is noticed: that is what the check digits are for. */
static void key_damage(void **state)
{
    char key[KEYTEXT_LEN + 1];
    bool test;

    keytext_new(false, key);
    for (size_t i = 0; i < KEYTEXT_LEN; i++) {
        char was = key[i];

        key[i] = was == 'a' ? 'b' : 'a';
        assert_false(keytext_check(str_z(key), &test));
        key[i] = '-';
        assert_false(keytext_check(str_z(key), &test));
        key[i] = was;
    }
    assert_false(keytext_check((wharf_str){key, KEYTEXT_LEN - 1}, &test));
    assert_false(keytext_check(str_z(""), &test));
    assert_false(keytext_check(str_z("wh_live_"), &test));
    assert_true(keytext_check(str_z(key), &test));
}

/* Against values made with another implementation of CRC-32 and base 62. */
static void key_vector(void **state)
{
    bool test;

    assert_true(keytext_check(str_z("wh_live_0123456789ABCDEFGHIJKLMNOPQRSTUV2CE5JH"), &test));
    assert_false(keytext_check(str_z("wh_live_0123456789ABCDEFGHIJKLMNOPQRSTUV2CE5J0"), &test));
}

static void key_hash(void **state)
{
    static const unsigned char abc[4] = {0xba, 0x78, 0x16, 0xbf}; /* SHA-256("abc") */
    /* HMAC-SHA-256(key "key", "abc") */
    static const unsigned char hmac[4] = {0x9c, 0x19, 0x6e, 0x32};
    unsigned char hash[KEYTEXT_HASH];

    keytext_hash(str_z("abc"), "", hash);
    assert_memory_equal(hash, abc, 4);
    keytext_hash(str_z("abc"), NULL, hash);
    assert_memory_equal(hash, abc, 4);
    keytext_hash(str_z("abc"), "key", hash);
    assert_memory_equal(hash, hmac, 4);
}

static void roles(void **state)
{
    static const struct {
        const char *role, *area;
        int level;
    } cases[] = {
        {"owner", "shipments", 2},
        {"developer", "api_keys", 2},
        {"admin", "api_keys", 0},
        {"admin", "roles", 1},
        {"admin", "logs", 1},
        {"user", "logs", 1},
        {"user", "locations", 1},
        {"user", "print_stations", 2},
        {"user", "webhooks", 0},
        {"user", "events", 1},
        {"user", "support", 2},
        {"user", "integrations", 0},
        {"owner", "system", 0},
        {"admin", "system", 0},
        {"owner", "dock_doors", 2},
        {"admin", "dock_doors", 2},
        {"user", "dock_doors", 0},
        {"role_0A", "shipments", 0},
        {"", "shipments", 0},
    };
    size_t n;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (role_level(cases[i].role, cases[i].area) != cases[i].level)
            fail_msg("%s in %s: %d", cases[i].role, cases[i].area,
                role_level(cases[i].role, cases[i].area));
    assert_true(role_is_builtin("user") && !role_is_builtin("Users"));
    assert_true(role_has_all_locations("developer") && !role_has_all_locations("admin"));
    roles_areas(&n);
    assert_int_equal(n, 33);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(key_shape), UNIT(key_damage), UNIT(key_vector), UNIT(key_hash), UNIT(roles)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
