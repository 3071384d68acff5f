/* board.h - shared memory between the supervisor and its workers: who runs what, and the metrics.
 *
 * Made by the supervisor (memfd, inherited by descriptor), mapped by each worker. Every thread
 * that runs plugin code owns an activity: two stores per call. Read by the supervisor after a
 * crash, by `wharf ps`, and by /metrics (docs/decisions 19). Counters are cumulative over
 * workers' restarts. Members ending in _us are CLOCK_MONOTONIC microseconds (util/time.h), so that
 * processes agree. The supervisor writes pid, kind, index, generation, started_us and state of a
 * slot; the worker writes beat_us (each second), requests, rss_kb and its activities. All functions
 * are [any] thread and never block,
 * except board_route, board_job and board_plugin, which are for the start of a worker. */
#ifndef WHARF_PROCESS_BOARD_H
#define WHARF_PROCESS_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/limits.h"
#include "util/buf.h"
#include "util/disk.h"
#include "util/memory.h"

enum {
    BOARD_WORKERS = 144, /* two generations of 64 web workers and 8 job workers */
    BOARD_SEATS = 72, /* 64 web workers and 8 job workers */
    BOARD_REASON = 256,
    BOARD_THREADS = 48, /* per worker */
    BOARD_TEXT = 48,
    BOARD_ROUTES = 512, /* rows of wharf_http_requests_total, one per route and method */
    BOARD_JOBS = 128, /* kinds of jobs */
    BOARD_BACKLOGS = 32,
    BOARD_PLUGINS = 64,
    BOARD_HOOKS = 256, /* operators' hooks that are counted */
    BOARD_HOOK_BUCKETS = 28, /* of their times: up to 1 us, 2, 4 ... 2^27 */
    BOARD_SERIES = 512, /* of metrics that hooks and modules count themselves */
    BOARD_SERIES_BUCKETS = 12, /* 0.001 0.005 0.01 0.05 0.1 0.5 1 5 10 100 1000, +Inf */
    /* of the duration histogram: 1 2 5 10 20 50 100 200 500 1000 5000 ms, +Inf */
    BOARD_BUCKETS = 12,
};

/* The last activity of a thread. plugin points to text that lives as long as the worker; it is
 * copied. */
struct activity {
    _Atomic int64_t since_us; /* 0: idle */
    _Atomic int64_t deadline_us;
    _Atomic int thread; /* its number for the system; 0: not known */
    char plugin[BOARD_TEXT], what[BOARD_TEXT], request_id[32];
};

struct board_worker {
    _Atomic int pid, kind, index;
    _Atomic int state; /* enum board_state */
    _Atomic uint64_t generation;
    _Atomic int64_t started_us, beat_us, requests, rss_kb;
    _Atomic int64_t memory; /* bytes of its own, written by the supervisor */
    _Atomic int64_t held[MEMORY_OWNERS]; /* of these by owner (util/memory.h) */
    /* as memory_heap() said soon after they were last asked for: it reads all free lists of the
     * heap, so nobody asks it without need */
    _Atomic int64_t heap_used, heap_free;
    _Atomic bool heap_unasked; /* nobody has read them since */
    /* requests being worked on; database connections in use */
    _Atomic int64_t in_flight, db_in_use;
    _Atomic int64_t db_ways; /* worker threads that have a connection: these can do all */
    /* prints of folders of hooks (services/lua/operator/operator.h) */
    _Atomic uint64_t hooks_loaded, hooks_refused;
    struct activity activities[BOARD_THREADS];
};
enum board_state { BOARD_FREE, BOARD_STARTING, BOARD_READY, BOARD_DRAINING };

struct board_route {
    _Atomic int used;
    char method[8], route[112], module[32];
    _Atomic uint64_t by_status[6]; /* index status/100; 0 unused */
    _Atomic uint64_t buckets[BOARD_BUCKETS];
    _Atomic uint64_t sum_us;
    _Atomic uint64_t deprecated; /* requests that used something that is going away */
};

/* a kind of job; depth and age are of the whole installation, the counts of this server */
struct board_job {
    _Atomic int used;
    char queue[64];
    _Atomic int64_t depth, age_ms; /* that wait; of the one that is due for longest */
    /* runs that succeeded, that are tried again; jobs given up */
    _Atomic uint64_t done, failed, parked;
};

/* what waits in the whole installation, as a plugin's function backlog() or the kernel counts it */
struct board_backlog {
    _Atomic int used;
    char name[32]; /* "events", "webhooks", "workflows" */
    _Atomic int64_t waiting, age_ms; /* how many; of the one that waits for longest */
};

/* what a plugin used: the time that threads were in its code, and the memory that requests of its
 * routes and its jobs touched first */
struct board_plugin {
    _Atomic int used;
    char name[32]; /* "wharf": the server itself */
    _Atomic uint64_t us, bytes;
};

struct board_hook { /* an operator's hook, by its name, whatever generation it is of */
    _Atomic int used;
    char name[80];
    _Atomic uint64_t calls, errors;
    _Atomic uint64_t buckets[BOARD_HOOK_BUCKETS];
    _Atomic uint64_t sum_us;
};

struct board_series { /* a metric of hooks or modules with its labels */
    _Atomic int used;
    int observed; /* a histogram; else a counter */
    char name[64], labels[160]; /* "lua_parcels_seen"; "" or "carrier=\"ups\"," */
    _Atomic uint64_t sum; /* a double's bits */
    _Atomic uint64_t buckets[BOARD_SERIES_BUCKETS];
};

/* A place that a worker must serve, whichever process does. Written by the supervisor. The
 * reason may be read while it is written: it always ends. */
struct board_seat {
    _Atomic int kind, index; /* kind 0: there are no more */
    _Atomic int64_t down_us; /* since when nobody serves here; 0: somebody does */
    _Atomic int64_t next_us; /* when the next one is started; 0: it starts now */
    _Atomic int tries; /* starts since then that failed */
    char reason[BOARD_REASON];
};

struct board {
    struct board_worker workers[BOARD_WORKERS];
    struct board_seat seats[BOARD_SEATS];
    struct board_route routes[BOARD_ROUTES];
    struct board_job jobs[BOARD_JOBS];
    struct board_backlog backlogs[BOARD_BACKLOGS];
    struct board_plugin plugins[BOARD_PLUGINS];
    struct board_hook hooks[BOARD_HOOKS];
    struct board_series series[BOARD_SERIES];
    _Atomic uint64_t hooks_active,
        hooks_generation; /* print of the hooks that all workers run; how often they changed */
    _Atomic int64_t hooks_loaded_us; /* kernel clock, when they became so */
    /* missing invalid expired revoked disabled scope location ip */
    _Atomic uint64_t auth_failures[8];
    /* the whole server ends: workers refuse readiness and still accept for a while */
    _Atomic int stopping;
    _Atomic uint64_t crashes, restarts, hangs, memory_restarts;
    _Atomic int64_t memory_limit; /* bytes that a worker may have; 0: any number */
    _Atomic uint64_t db_buckets[BOARD_BUCKETS], db_sum_us;
    _Atomic uint64_t rate_limited[8]; /* by enum limit_reason */
    _Atomic uint64_t idempotent_replays;
    struct disk_counts disk; /* writes that disks did not take */
    /* of the database, as the job worker sees it */
    _Atomic int64_t database_bytes, database_connections, database_allowed;
    _Atomic int64_t certificate_until_s; /* the end of the one that is served; 0: there is none */
    _Atomic int64_t blob_damaged; /* stored objects that are known to be damaged or lost */
    _Atomic uint64_t request_log_dropped; /* lines that were not written */
    _Atomic int64_t clock_offset; /* of the test clock, as util/clock.c packs it */
    _Atomic uint64_t log_turn; /* grows when log files shall be opened anew (they were renamed) */
    _Atomic int n_quarantined;
    char quarantined[32][32]; /* names, written by the supervisor */
    unsigned char hash_key[16]; /* of what buckets are found by */
    char version[32];
    struct limits limits;
};
_Static_assert((int)LIMIT_SLOTS == (int)BOARD_WORKERS, "each worker counts what it holds");

enum limit_reason {
    LIMIT_BY_KEY,
    LIMIT_BY_WRITE,
    LIMIT_BY_ORGANIZATION,
    LIMIT_BY_IP,
    LIMIT_BY_CONCURRENCY,
    LIMIT_BY_ENDPOINT,
    LIMIT_REASONS
};
extern const char *const limit_reasons[LIMIT_REASONS]; /* "key", "write", ... */

/* Makes a new board in a memfd. Returns NULL, and -1 in *ret_fd, on failure. */
struct board *board_create(int *ret_fd);
struct board *board_map(int fd);

void activity_enter(struct activity *c, const char *plugin, const char *what,
    const char *request_id, int64_t deadline_us);
void activity_leave(struct activity *c);

/* Finds or makes the row of a route; the pointer is good for the life of the board. NULL when
 * the table is full. */
struct board_route *board_route(
    struct board *b, const char *method, const char *route, const char *module);
/* Returns the row of a kind of job, in the same way. */
struct board_job *board_job(struct board *b, const char *queue);
/* Sets what waits under that name. Called by one process at a time. */
void board_backlog(struct board *b, const char *name, int64_t waiting, int64_t age_ms);
/* Returns the row of a plugin, in the same way. */
struct board_plugin *board_plugin(struct board *b, const char *name);
/* Returns the row of an operator's hook, in the same way. */
struct board_hook *board_hook(struct board *b, const char *name);
void board_hook_count(struct board_hook *h, bool good, int64_t us);
/* Counts a metric of hooks (lua_*) or modules: n is added to a counter, or observed. Returns false
 * when the table is full, or the name is one of the other kind. */
bool board_series_add(
    struct board *b, bool observed, const char *name, const char *labels, double n);
/* Returns the time in microseconds that so large a part of its calls took at most; 0: none yet. */
int64_t board_hook_us(const struct board_hook *h, double part);
void board_count(struct board_route *r, int status, int64_t us);
uint64_t board_route_count(const struct board_route *r); /* of all its requests */
void board_db_observe(struct board *b, int64_t us);
/* Writes the metrics in Prometheus text format (docs/spec/01-platform.md section 17 'Metrics'). */
void board_metrics(struct board *b, struct buf *out);

#endif
