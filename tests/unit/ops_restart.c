/* ops_restart.c - how long a worker that ended waits for its successor. */
#include "unit.h"

#include "supervisor/supervise.h"

enum { MS = 1000, S = 1000 * MS };

/* The n-th wait of a process that ends after `lived` each time. */
static int64_t wait_after(int n, int64_t lived, bool killed, bool served)
{
    int64_t delay = 0;

    for (int i = 0; i < n; i++)
        delay = restart_delay(delay, 10 * S, 10 * S + lived, killed, served);
    return delay;
}

static void crashes(void **state)
{
    assert_int_equal(wait_after(1, 6 * S, false, true), 0);
    assert_int_equal(wait_after(1, 1 * S, false, true), 100 * MS);
    assert_int_equal(wait_after(3, 1 * S, false, true), 400 * MS);
    assert_int_equal(wait_after(20, 1 * S, false, false), 30 * S);
    assert_int_equal(restart_delay(30 * S, 10 * S, 15 * S, false, true), 0);
}

static void kills(void **state)
{
    assert_int_equal(wait_after(20, 1 * S, true, true), 100 * MS);
    assert_int_equal(wait_after(2, 1 * S, true, false), 200 * MS);
    assert_int_equal(wait_after(20, 1 * S, true, false), 400 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(crashes), cmocka_unit_test(kills)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
