/* board.h - shared memory between the supervisor and its workers: who runs what, and the metrics.
 *
 * Made by the supervisor (memfd, inherited by descriptor), mapped by each worker. Every thread that runs plugin code owns a
 * crumb: two stores per call. Read by the supervisor after a crash, by `wharf ps`, and by /metrics (docs/decisions.md 19).
 * Counters are cumulative over workers' restarts. Members ending in _us are CLOCK_MONOTONIC microseconds (util/time.h), so
 * that processes agree. The supervisor writes pid, kind, index, generation, started_us and state of a slot; the worker writes
 * beat_us (each second), requests, rss_kb and its crumbs. All functions are [any] thread and never block,
 * except board_route, which is for the start of a worker.
 */
#ifndef WHARF_SUPERVISOR_BOARD_H
#define WHARF_SUPERVISOR_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

enum {
    BOARD_WORKERS = 136, /* two generations of 64 web workers and their job workers */
    BOARD_THREADS = 32, /* per worker */
    BOARD_TEXT = 48,
    BOARD_ROUTES = 512, /* rows of http_requests_total, one per route and method */
    BOARD_BUCKETS = 12, /* of the duration histogram: 1 2 5 10 20 50 100 200 500 1000 5000 ms, +Inf */
};

/* What a thread is doing right now. plugin points to text that lives as long as the worker; it is copied. */
struct crumb {
    _Atomic int64_t since_us; /* 0: idle */
    _Atomic int64_t deadline_us;
    char plugin[BOARD_TEXT], what[BOARD_TEXT], request_id[32];
};

struct board_worker {
    _Atomic int pid, kind, index;
    _Atomic int state; /* enum board_state */
    _Atomic uint64_t generation;
    _Atomic int64_t started_us, beat_us, requests, rss_kb;
    struct crumb crumbs[BOARD_THREADS];
};
enum board_state { BOARD_FREE, BOARD_STARTING, BOARD_READY, BOARD_DRAINING };

struct board_route {
    _Atomic int used;
    char method[8], route[112], module[32];
    _Atomic uint64_t by_status[6]; /* index status/100; 0 unused */
    _Atomic uint64_t buckets[BOARD_BUCKETS];
    _Atomic uint64_t sum_us;
};

struct board {
    struct board_worker workers[BOARD_WORKERS];
    struct board_route routes[BOARD_ROUTES];
    _Atomic uint64_t auth_failures[8]; /* missing invalid expired revoked disabled scope location ip */
    _Atomic int stopping; /* the whole server ends: workers refuse readiness and still accept for a while */
    _Atomic uint64_t crashes, restarts;
    _Atomic int64_t http_in_flight;
    _Atomic int64_t db_in_use;
    _Atomic uint64_t db_buckets[BOARD_BUCKETS], db_sum_us;
    char version[32];
};

/* A new board in a memfd; -1 and NULL on failure. */
struct board *board_create(int *ret_fd);
struct board *board_map(int fd);

void crumb_enter(struct crumb *c, const char *plugin, const char *what, const char *request_id, int64_t deadline_us);
void crumb_leave(struct crumb *c);

/* Finds or makes the row of a route; the pointer is good for the life of the board. NULL when the table is full. */
struct board_route *board_route(struct board *b, const char *method, const char *route, const char *module);
void board_count(struct board_route *r, int status, int64_t us);
void board_db_observe(struct board *b, int64_t us);
/* Prometheus text format (docs/spec/01-platform.md section 17 'Metrics'). */
void board_metrics(const struct board *b, struct buf *out);

#endif
