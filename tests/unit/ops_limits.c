/* ops_limits.c - token buckets and requests in flight, by many threads at once; networks. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "process/limits.h"
#include "util/network.h"

enum { THREADS = 8, TRIES = 5000 };
static const int64_t S = 1000000;

static struct limits *limits;
static const struct limit_rate rate = {10, 1000, 1000000};

static void *take(void *arg)
{
    int64_t wait, *got = arg;

    for (int i = 0; i < TRIES; i++)
        *got += limit_take(limits, 77, &rate, 10 * S, &wait) >= 0;
    return NULL;
}

/* However many take at one moment, a bucket gives what it holds. */
static void buckets_are_exact(void **state)
{
    pthread_t threads[THREADS];
    int64_t got[THREADS] = {0}, sum = 0, wait;

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take, &got[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += got[i];
    }
    assert_int_equal(sum, rate.burst);
    assert_int_equal(limit_take(limits, 77, &rate, 10 * S, &wait), -1);
    assert_int_equal(wait, S / 10);
    assert_int_equal(limit_take(limits, 77, &rate, 10 * S + wait, &wait), 0);
    assert_int_equal(limit_take(limits, 77, &rate, 15 * S, &wait), 48);
    limit_return(limits, 77, &rate);
    assert_int_equal(limit_take(limits, 77, &rate, 15 * S, &wait), 48);
    assert_int_equal(limit_take(limits, 77, &rate, 1000 * S, &wait), 999);
}

/* More owners than places: some are not limited, none gets another's limit for good. */
static void many_owners(void **state)
{
    int64_t wait;

    for (uint64_t i = 1; i < 3 * LIMIT_BUCKETS; i++)
        assert_true(limit_take(limits, i * 0x9e3779b97f4a7c15u, &rate, 20 * S, &wait) >= 998);
    assert_int_equal(limit_take(limits, 5, &rate, 10000 * S, &wait), 999);
}

static void *enter(void *arg)
{
    unsigned slot = (unsigned)(uintptr_t)arg;

    for (int i = 0; i < TRIES; i++) {
        if (limit_enter(limits, 99, slot, 3)) {
            if (limits->holders[99].total > 3 + THREADS)
                return (void *)1;
            limit_leave(limits, 99, slot);
        }
    }
    return NULL;
}

static void flights(void **state)
{
    pthread_t threads[THREADS];
    void *bad;

    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
    assert_int_equal(limits->holders[99].total, 0);
    assert_true(limit_enter(limits, 99, 1, 2) && limit_enter(limits, 99, 2, 2));
    assert_false(limit_enter(limits, 99, 1, 2));
    limit_forget(limits, 1); /* its worker died */
    assert_true(limit_enter(limits, 99, 2, 2));
    limit_leave(limits, 99, 2);
    limit_leave(limits, 99, 2);
    limit_leave(limits, 99, 2);
    assert_int_equal(limits->holders[99].total, 0);
}

static void networks(void **state)
{
    static const struct {
        const char *network, *ip;
        int inside; /* -1: no network */
    } cases[] = {{"10.0.0.0/8", "10.255.0.1", 1}, {"10.0.0.0/8", "11.0.0.1", 0},
        {"0.0.0.0/0", "203.0.113.9", 1}, {"0.0.0.0/0", "2001:db8::1", 0},
        {"192.0.2.7", "192.0.2.7", 1}, {"192.0.2.7", "192.0.2.6", 0},
        {"192.0.2.128/25", "192.0.2.127", 0}, {"192.0.2.128/25", "192.0.2.200", 1},
        {"::1", "::1", 1}, {"2001:db8::/33", "2001:db8:8000::", 0},
        {"2001:db8::/33", "2001:db8:7fff::", 1}, {"::ffff:10.0.0.0/104", "10.9.9.9", 1},
        {"10.0.0.0/33", "10.0.0.1", -1}, {"10.0.0.0/", "10.0.0.1", -1},
        {"10.0.0/8", "10.0.0.1", -1}, {"::/129", "::", -1}, {"", "::", -1},
        {"10.0.0.0/+8", "::", -1}, {"a", "::", -1}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct network n;
        struct ip ip;

        assert_true(ip_parse(cases[i].ip, (unsigned)strlen(cases[i].ip), &ip));
        assert_int_equal(network_parse(cases[i].network, &n), cases[i].inside >= 0);
        if (cases[i].inside >= 0)
            assert_int_equal(network_has(&n, &ip), cases[i].inside);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(buckets_are_exact),
        cmocka_unit_test(many_owners), cmocka_unit_test(flights), cmocka_unit_test(networks)};

    limits = calloc(1, sizeof(*limits));
    return limits ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
