/* memory.h - bytes of this process, counted by owner: which part of the server holds them.
 *
 * Whoever owns memory counts it at coarse events: a block taken or given back, a connection
 * opened, a cached entry made or dropped; never a small allocation. A worker's counts stand on the
 * board (process/board.h), those of any other process in a table of its own. Leaves to others:
 * the sums, and what no owner counts (process/board_memory.c).
 * docs/spec/01-platform.md section 17 'Metrics'. All functions are [any] but memory_share. */
#ifndef WHARF_UTIL_MEMORY_H
#define WHARF_UTIL_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum memory_owner {
    MEMORY_REQUESTS, /* arenas of requests, jobs and events at work, and of short tasks */
    MEMORY_REQUESTS_KEPT, /* arenas that wait for the next request */
    MEMORY_BODIES, /* what was sent and was made of it apart from the arenas */
    MEMORY_BUFFERS, /* texts that grow, answers above all, from MEMORY_LARGE on */
    MEMORY_RESULTS, /* of statements that requests hold, from MEMORY_LARGE on */
    MEMORY_DATABASE, /* connections with their statements, as the client's library begins them */
    MEMORY_DEFINITIONS, /* settings, definitions, schemas, routes, memory of plugins */
    MEMORY_API_DESCRIPTION,
    MEMORY_KEYS, /* who asks, by key */
    MEMORY_CLIENTS, /* connections and streams of clients */
    MEMORY_REQUEST_LOG, /* lines that are still to be written */
    MEMORY_LUA, /* states of operators' hooks with their files */
    MEMORY_OWNERS
};
extern const char *const memory_owners[MEMORY_OWNERS]; /* "requests", "requests_kept", ... */

enum { MEMORY_LARGE = 16 * 1024 };

extern _Atomic int64_t *memory_held; /* read by these functions only */

/* Counts bytes that the owner took; given back: a negative number. */
static inline void memory_add(enum memory_owner owner, int64_t bytes)
{
    atomic_fetch_add_explicit(&memory_held[owner], bytes, memory_order_relaxed);
}
/* Says how much an owner has that counts by itself. */
static inline void memory_set(enum memory_owner owner, int64_t bytes)
{
    atomic_store_explicit(&memory_held[owner], bytes, memory_order_relaxed);
}
/* Counts there from now on, MEMORY_OWNERS numbers that are zero, with what was counted so far. Must
 * be called before there are threads. */
void memory_share(_Atomic int64_t *held);
/* Asks the C library what of its heap is in use, with what it took from the system piece by piece,
 * and what it keeps free. It looks at each free piece of all threads, so it is asked when somebody
 * wants to know, never at regular times. */
void memory_heap(int64_t *ret_used, int64_t *ret_free);

#endif
