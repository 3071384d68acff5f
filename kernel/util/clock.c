/* clock.c - the kernel clock of time.h. Leaves to others: asking the database for its time each
 * minute.
 *
 * Two atomic numbers are the whole state: database time minus monotonic time, and the test
 * offset, which a machine's processes share. Until the first clock_sync the time is taken from the
 * machine's own clock.
 *
 * The test offset is kept with the number of its change, in one atomic number: a process that read
 * the database before a change and writes after it would else bring the old offset back. */
#include <stdatomic.h>
#include <time.h>

#include "util/time.h"

/* A sample is as inexact as its round trip: smaller differences are not followed, so that time
 * does not jitter back. */
static const int64_t JITTER_US = 2000;

/* Per process, documented in time.h. 0: not known yet. */
static _Atomic int64_t ahead_us;

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

int64_t clock_now_us(void)
{
    int64_t ahead = atomic_load_explicit(&ahead_us, memory_order_relaxed);

    if (!ahead) {
        int64_t first = clock_read_clock(CLOCK_REALTIME) - clock_monotonic_us();

        if (atomic_compare_exchange_strong(&ahead_us, &ahead, first))
            ahead = first;
    }
    return ahead + clock_monotonic_us() + clock_offset_s() * 1000000;
}

int64_t clock_sync(int64_t database_us, int64_t offset_s, int64_t change)
{
    int64_t now = database_us - clock_monotonic_us();
    int64_t before = atomic_load_explicit(&ahead_us, memory_order_relaxed);

    clock_set_offset(offset_s, change);
    if (before && now - before < JITTER_US && before - now < JITTER_US)
        return 0;
    atomic_store_explicit(&ahead_us, now, memory_order_relaxed);
    return before ? now - before : 0;
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
