/* disk.c - see disk.h. */
#include "util/disk.h"

#include "util/time.h"

enum { TELL_EVERY_US = 60000000 }; /* between two warnings of a full disk */

const char *const disk_names[DISK_PLACES] = {"log", "access_log", "storage", "data", "database"};

/* The process has one set of counts; its own, until it is given a server's. */
static struct disk_counts own;
static struct disk_counts *counts = &own;
static _Atomic int64_t reported_us[DISK_PLACES];

void disk_share(struct disk_counts *shared)
{
    counts = shared;
}

bool disk_lost(enum disk_place place, uint64_t n, int error)
{
    int64_t now = clock_monotonic_us(), reported = atomic_load(&reported_us[place]);

    atomic_fetch_add(&counts->lost[place], n);
    atomic_store(&counts->error[place], error);
    atomic_store(&counts->last_us[place], now);
    return (!reported || now - reported > TELL_EVERY_US) &&
           atomic_compare_exchange_strong(&reported_us[place], &reported, now);
}
