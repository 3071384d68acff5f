/* limits.h - token buckets and counts of requests in flight, in the board: one for all workers
 * of a machine.
 *
 * docs/spec/01-platform.md section 9. A bucket is one number, the moment at which it will be
 * full again (GCRA): taking a token moves it, so that nothing has to fill buckets. Several
 * machines on one database count each for itself. Tables are of fixed size; who finds no place
 * is not limited. Everything is [any] thread, lock-free. Leaves to others: which buckets a
 * request is charged to. */
#ifndef WHARF_PROCESS_LIMITS_H
#define WHARF_PROCESS_LIMITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    LIMIT_BUCKETS = 65536,
    LIMIT_HOLDERS = 4096, /* keys and organizations with a count */
    LIMIT_SLOTS = 144
};

struct limit_bucket {
    _Atomic uint64_t owner; /* 0: free */
    _Atomic int64_t full_us;
};

struct limit_holder { /* requests in flight of one key */
    _Atomic uint64_t owner;
    _Atomic int32_t total;
    /* by worker, so that a worker that dies gives back what it held */
    _Atomic uint16_t held[LIMIT_SLOTS];
};

struct limits {
    struct limit_bucket buckets[LIMIT_BUCKETS];
    struct limit_holder holders[LIMIT_HOLDERS];
};

struct limit_rate {
    int64_t rate, burst; /* tokens per period, and the most a bucket holds; rate 0: no limit */
    int64_t period_us;
};

/* Takes a token of the owner's bucket. Tokens left, or -1 when there was none; *ret_wait_us:
 * until there is one, else until the bucket is full. owner is a hash, not 0; one that is both
 * kind and id. */
int64_t limit_take(struct limits *l, uint64_t owner, const struct limit_rate *r, int64_t now_us,
    int64_t *ret_wait_us);
/* Takes cost_us from the owner's bucket, whatever is left: it is full again that much later. */
void limit_spend(struct limits *l, uint64_t owner, int64_t cost_us, int64_t now_us);
/* Returns how long it takes until the owner's bucket is full, in microseconds. */
int64_t limit_spent(struct limits *l, uint64_t owner, int64_t now_us);
/* Gives one back that was taken. */
void limit_return(struct limits *l, uint64_t owner, const struct limit_rate *r);
/* Counts one more request of the owner in this worker, at most `max` over all workers. Returns
 * false when there are that many. */
bool limit_enter(struct limits *l, uint64_t owner, unsigned slot, int64_t max);
void limit_leave(struct limits *l, uint64_t owner, unsigned slot);
/* Gives back what the worker before held in this slot, in which a new one begins. */
void limit_forget(struct limits *l, unsigned slot);

#endif
