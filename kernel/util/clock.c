/* clock.c - the kernel clock of time.h (docs/decisions 9). Leaves to others: asking the database
 * for its time each minute.
 *
 * Two atomic numbers are the state: database time minus monotonic time, and the test offset, which
 * a machine's processes share. Until the first clock_sync the time is taken from the
 * machine's own clock.
 *
 * The test offset is kept with the number of its change, in one atomic number: a process that read
 * the database before a change and writes after it would else bring the old offset back. */
#include <stdatomic.h>
#include <time.h>

#include "util/time.h"

enum {
    TRIES = 8, /* readings of the machine's clock, of which the quickest counts */
    QUICK_US = 20 /* a reading that took no longer is good enough */
};

/* Per process, documented in time.h. 0: not known yet. */
static _Atomic int64_t ahead_us;
static _Atomic bool synced; /* by the database, once at least */

/* The offset in seconds times this, plus the number of its change. */
static const int64_t CHANGES = 1 << 28;

static _Atomic int64_t own_offset;
static _Atomic int64_t *shared_offset = &own_offset;

static int64_t clock_read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_monotonic_us(void)
{
    return clock_read_clock(CLOCK_MONOTONIC);
}

/* Returns how much the machine's own clock is ahead of its monotonic one. A thread may lose the
 * processor between two readings, so the monotonic clock is read on both sides of the other. */
static int64_t clock_machine_ahead_us(void)
{
    int64_t quickest = INT64_MAX, ahead = 0;

    for (int i = 0; i < TRIES && quickest > QUICK_US; i++) {
        int64_t before = clock_monotonic_us(), real = clock_read_clock(CLOCK_REALTIME);
        int64_t took = clock_monotonic_us() - before;

        if (took >= quickest)
            continue;
        quickest = took;
        ahead = real - before - took / 2;
    }
    return ahead;
}

/* Returns how much the kernel clock is ahead of the monotonic one: as it was set, at first as the
 * machine's own clock is. */
static int64_t clock_known_ahead_us(void)
{
    int64_t ahead = atomic_load_explicit(&ahead_us, memory_order_relaxed);

    if (!ahead) {
        int64_t first = clock_machine_ahead_us();

        if (atomic_compare_exchange_strong(&ahead_us, &ahead, first))
            ahead = first;
    }
    return ahead;
}

int64_t clock_now_us(void)
{
    return clock_known_ahead_us() + clock_monotonic_us() + clock_offset_s() * 1000000;
}

int64_t clock_sync(int64_t database_us, int64_t asked_us, int64_t offset_s, int64_t change)
{
    /* the database read its clock at some time from the question to now: in these bounds all is
     * equally likely, and a clock within them is left as it is */
    int64_t most = database_us - asked_us, least = database_us - clock_monotonic_us();
    int64_t before = clock_known_ahead_us(), now = least + (most - least) / 2;
    bool again = atomic_exchange(&synced, true);

    clock_set_offset(offset_s, change);
    if (before >= least && before <= most)
        return 0;
    atomic_store_explicit(&ahead_us, now, memory_order_relaxed);
    return again ? now - before : 0;
}

int64_t clock_ahead_us(void)
{
    return clock_read_clock(CLOCK_REALTIME) - (clock_now_us() - clock_offset_s() * 1000000);
}

int64_t clock_offset_s(void)
{
    int64_t packed = atomic_load_explicit(shared_offset, memory_order_relaxed);

    return (packed - (packed & (CHANGES - 1))) / CHANGES;
}

void clock_set_offset(int64_t offset_s, int64_t change)
{
    int64_t before = atomic_load_explicit(shared_offset, memory_order_relaxed);
    int64_t after = offset_s * CHANGES + (change & (CHANGES - 1));

    while ((before & (CHANGES - 1)) < (change & (CHANGES - 1)) &&
           !atomic_compare_exchange_weak(shared_offset, &before, after))
        continue;
}

void clock_share_offset(_Atomic int64_t *place)
{
    shared_offset = place;
}
