/* disk.h - writes that a disk did not take: counted for the metrics, and told now and then. A
 * full disk loses lines and files, not requests.
 *
 * Leaves to others: what to do about it, and looking whether a folder can be written to
 * (http/health.c). */
#ifndef WHARF_UTIL_DISK_H
#define WHARF_UTIL_DISK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum disk_place { DISK_LOG, DISK_ACCESS_LOG, DISK_STORAGE, DISK_DATA, DISK_DATABASE, DISK_PLACES };
/* "log", "access_log", "storage", "data", "database" */
extern const char *const disk_names[DISK_PLACES];

struct disk_counts { /* of all processes of a server: on its board */
    _Atomic uint64_t lost[DISK_PLACES]; /* lines, files, statements */
    _Atomic int64_t last_us[DISK_PLACES]; /* when the last one was lost, monotonic; 0: never */
    _Atomic int error[DISK_PLACES]; /* errno of the last one */
};

/* Sets where the process counts what it loses from here on. Must be called before threads start. */
void disk_share(struct disk_counts *counts);
/* Counts n lost writes of that place. Returns true once a minute: then the caller may tell.
 * [any] */
bool disk_lost(enum disk_place place, uint64_t n, int error);

#endif
