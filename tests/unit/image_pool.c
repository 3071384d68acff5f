/* image_pool.c - the processes that read pictures: what docs/spec/06-inference.md section 7.1 says
 * of their pool, with the figures of services/image/host_image.c and the probe as their program.
 * tests/cell/test_image_cell.py tests what they do with pictures. */
#include "unit.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cell/cell.h"
#include "cell/pool.h"
#include "image/host_image.h"
#include "util/time.h"

enum { SECOND = 1000000, LONG_US = 60 * SECOND, CALL_S = 12, MIB = 1 << 20 };

/* The kind as it is, with another program. */
static struct cell_kind probe_kind(unsigned max)
{
    struct cell_kind k = host_image_kind;

    k.name = "probe";
    k.max = max ? max : k.max;
    return k;
}

static struct cell_pool *pool_of(const struct cell_kind *k)
{
    return cell_pool_new(k, getenv("WHARF_CELLS"));
}

static struct cell_call call_of(const char *owner, const char *payload)
{
    return (struct cell_call){.payload = str_z(payload),
        .owner = str_z(owner),
        .deadline_us = clock_monotonic_us() + LONG_US,
        .wait_us = LONG_US};
}

static enum cell_status status_of(struct cell_pool *p, const char *owner, const char *payload)
{
    struct cell_call call = call_of(owner, payload);

    return cell_call(p, &call, NULL).status;
}

/* Tells whether the process that takes a call of this owner has served one before. */
static bool is_known(struct cell_pool *p, const char *owner)
{
    struct cell_call call = call_of(owner, "mark here");
    struct cell_run *r = cell_run_start(p, &call);
    wharf_str said;
    bool known;

    assert_int_equal(cell_run_next(r, true, &said), CELL_EVENT_END);
    assert_int_equal(cell_run_result(r)->status, CELL_OK);
    known = said.n > 0;
    cell_run_end(r);
    return known;
}

static void figures(void **state)
{
    const struct cell_kind *k = &host_image_kind;

    (void)state;
    assert_string_equal(k->name, "image");
    assert_int_equal(k->min, 1);
    assert_int_equal(k->max, 4);
    assert_int_equal(k->calls, 1);
    assert_int_equal(k->owned_calls, 50);
    assert_int_equal(k->growth_mib, 400);
    assert_int_equal(k->memory_mib, 1024);
    assert_int_equal(k->cpu_s, 600);
    assert_int_equal(k->nice, 10);
    /* no call ends a process that only served for long */
    assert_true(k->cpu_s >= k->owned_calls * CALL_S);
}

/* The limits stand in the process, not only in the figures. */
static void limits(void **state)
{
    struct cell_kind k = probe_kind(1);
    struct cell_pool *p = pool_of(&k);
    int before = getpriority(PRIO_PROCESS, 0);
    struct rlimit limit;
    pid_t pid;

    (void)state;
    assert_false(is_known(p, "a"));
    pthread_mutex_lock(&p->lock);
    pid = p->idle ? p->idle->pid : 0;
    pthread_mutex_unlock(&p->lock);
    assert_true(pid > 0);
    assert_int_equal(prlimit(pid, RLIMIT_CPU, NULL, &limit), 0);
    assert_int_equal(limit.rlim_max, 600);
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid), before + 10 < 19 ? before + 10 : 19);
#ifndef __SANITIZE_ADDRESS__ /* it needs the addresses for itself */
    assert_int_equal(prlimit(pid, RLIMIT_AS, NULL, &limit), 0);
    assert_int_equal(limit.rlim_max, (rlim_t)1 << 30);
    assert_int_equal(status_of(p, "a", "one_gib"), CELL_MEMORY);
#endif
    cell_pool_free(p);
}

/* Fifty pictures of one organization, one where nobody says whose it is. */
static void served(void **state)
{
    struct cell_kind k = probe_kind(1);
    struct cell_pool *p = pool_of(&k);

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 50; i++)
            assert_int_equal(is_known(p, "org_a"), i > 0);
    }
    assert_false(is_known(p, "org_a"));
    assert_true(is_known(p, "org_a"));
    assert_false(is_known(p, "org_b"));
    for (int i = 0; i < 3; i++)
        assert_false(is_known(p, ""));
    cell_pool_free(p);
}

/* Memory that a picture needs for a moment counts, also when it is given back; the server's own
 * does not. */
static void grown(void **state)
{
    struct cell_kind k = probe_kind(1);
    size_t n = (size_t)500 * MIB;
    char *large = malloc(n);
    struct cell_pool *p;

    (void)state;
    assert_non_null(large);
    memset(large, 1, n);
    p = pool_of(&k);
    for (int round = 0; round < 2; round++) {
        assert_false(is_known(p, "a"));
        assert_int_equal(status_of(p, "a", "hold 380"), CELL_OK);
        assert_true(is_known(p, "a"));
        assert_int_equal(status_of(p, "a", "hold 401"), CELL_OK);
    }
    assert_false(is_known(p, "a"));
    assert_int_equal(large[n - 1], 1);
    free(large);
    cell_pool_free(p);
}

/* The time of the processor is that of all calls: none of them takes too much. */
static void burnt(void **state)
{
    struct cell_kind k = probe_kind(1);
    enum cell_status s = CELL_OK;
    struct cell_pool *p;
    int calls = 0;

    (void)state;
    k.cpu_s = 1;
    p = pool_of(&k);
    for (; calls < 10 && s == CELL_OK; calls++)
        s = status_of(p, "a", "burn 300");
    assert_int_equal(s, CELL_CRASHED);
    assert_in_range(calls, 2, 5);
    assert_int_equal(status_of(p, "a", "burn 300"), CELL_OK);
    cell_pool_free(p);
}

/* One is there before anybody asks; four work at once, and a fifth call waits as long as it says
 * and hears that all are busy. */
static void one_to_four(void **state)
{
    static const char *const owners[] = {"a", "a", "b", "c"};
    struct cell_kind k = probe_kind(0);
    struct cell_pool *p = pool_of(&k);
    struct cell_counts counts = {0};
    struct cell_run *runs[4];
    struct cell_call call;
    struct cell_result got;

    (void)state;
    for (int i = 0; i < 3000 && !counts.idle; i++) {
        cell_pool_counts(p, &counts);
        usleep(10000);
    }
    assert_true(counts.idle >= 1);
    for (int i = 0; i < 4; i++) {
        call = call_of(owners[i], "silence");
        runs[i] = cell_run_start(p, &call);
        assert_true(cell_run_fd(runs[i]) >= 0);
    }
    call = call_of("a", "echo x");
    call.wait_us = 100000;
    got = cell_call(p, &call, NULL);
    assert_int_equal(got.status, CELL_UNAVAILABLE);
    assert_string_equal(got.reason, "all 4 cells of kind probe are busy; try again later");
    cell_pool_counts(p, &counts);
    assert_int_equal(counts.live, 4);
    for (int i = 0; i < 4; i++)
        cell_run_end(runs[i]);
    assert_int_equal(status_of(p, "d", "echo x"), CELL_OK);
    cell_pool_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(figures), UNIT(limits), UNIT(served), UNIT(grown), UNIT(burnt), UNIT(one_to_four)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
