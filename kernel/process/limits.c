/* limits.c - see limits.h. */
#include "process/limits.h"

#include <stddef.h>

enum { PROBES = 16 };

/* Finds the owner's bucket. Full ones are as good as free: whoever had one finds it full again
 * anyway. Returns NULL when there is no place near. */
static struct limit_bucket *find_bucket(struct limits *l, uint64_t owner, int64_t now_us)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct limit_bucket *b = &l->buckets[(owner + i) % LIMIT_BUCKETS];

        if (atomic_load_explicit(&b->owner, memory_order_relaxed) == owner)
            return b;
    }
    for (unsigned i = 0; now_us && i < PROBES; i++) {
        struct limit_bucket *b = &l->buckets[(owner + i) % LIMIT_BUCKETS];
        uint64_t before = atomic_load_explicit(&b->owner, memory_order_relaxed);

        if (before && atomic_load_explicit(&b->full_us, memory_order_relaxed) > now_us)
            continue;
        if (atomic_compare_exchange_strong(&b->owner, &before, owner) || before == owner)
            return b;
    }
    return NULL;
}

int64_t limit_take(struct limits *l, uint64_t owner, const struct limit_rate *r, int64_t now_us,
    int64_t *ret_wait_us)
{
    struct limit_bucket *b = find_bucket(l, owner, now_us);
    int64_t each = r->period_us / r->rate, depth, full, next;

    each = each ? each : 1;
    depth = each * r->burst;
    *ret_wait_us = 0;
    if (!b)
        return r->burst;
    full = atomic_load_explicit(&b->full_us, memory_order_relaxed);
    do {
        next = (full > now_us ? full : now_us) + each;
        if (next - now_us > depth) {
            *ret_wait_us = next - now_us - depth;
            return -1;
        }
    } while (!atomic_compare_exchange_weak_explicit(
        &b->full_us, &full, next, memory_order_relaxed, memory_order_relaxed));
    *ret_wait_us = next - now_us;
    return (depth - (next - now_us)) / each;
}

void limit_spend(struct limits *l, uint64_t owner, int64_t cost_us, int64_t now_us)
{
    struct limit_bucket *b = find_bucket(l, owner, now_us);
    int64_t full = b ? atomic_load_explicit(&b->full_us, memory_order_relaxed) : 0, next;

    do {
        next = (full > now_us ? full : now_us) + cost_us;
    } while (b && !atomic_compare_exchange_weak_explicit(
                      &b->full_us, &full, next, memory_order_relaxed, memory_order_relaxed));
}

int64_t limit_spent(struct limits *l, uint64_t owner, int64_t now_us)
{
    struct limit_bucket *b = find_bucket(l, owner, 0);
    int64_t full = b ? atomic_load_explicit(&b->full_us, memory_order_relaxed) : 0;

    return full > now_us ? full - now_us : 0;
}

void limit_return(struct limits *l, uint64_t owner, const struct limit_rate *r)
{
    struct limit_bucket *b = find_bucket(l, owner, 0);
    int64_t each = r->period_us / r->rate;

    if (b)
        atomic_fetch_sub_explicit(&b->full_us, each ? each : 1, memory_order_relaxed);
}

static struct limit_holder *find_holder(struct limits *l, uint64_t owner, bool make)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct limit_holder *h = &l->holders[(owner + i) % LIMIT_HOLDERS];

        if (atomic_load_explicit(&h->owner, memory_order_relaxed) == owner)
            return h;
    }
    for (unsigned i = 0; make && i < PROBES; i++) {
        struct limit_holder *h = &l->holders[(owner + i) % LIMIT_HOLDERS];
        uint64_t before = atomic_load_explicit(&h->owner, memory_order_relaxed);

        if (before && atomic_load_explicit(&h->total, memory_order_relaxed) > 0)
            continue;
        if (atomic_compare_exchange_strong(&h->owner, &before, owner) || before == owner)
            return h;
    }
    return NULL;
}

bool limit_enter(struct limits *l, uint64_t owner, unsigned slot, int64_t max)
{
    struct limit_holder *h = find_holder(l, owner, true);

    if (!h)
        return true;
    if (atomic_fetch_add_explicit(&h->total, 1, memory_order_relaxed) >= max) {
        atomic_fetch_sub_explicit(&h->total, 1, memory_order_relaxed);
        return false;
    }
    atomic_fetch_add_explicit(&h->held[slot], 1, memory_order_relaxed);
    return true;
}

void limit_leave(struct limits *l, uint64_t owner, unsigned slot)
{
    struct limit_holder *h = find_holder(l, owner, false);

    if (!h || atomic_load_explicit(&h->held[slot], memory_order_relaxed) == 0)
        return;
    atomic_fetch_sub_explicit(&h->held[slot], 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&h->total, 1, memory_order_relaxed);
}

void limit_forget(struct limits *l, unsigned slot)
{
    for (unsigned i = 0; i < LIMIT_HOLDERS; i++) {
        uint16_t held = atomic_exchange_explicit(
            &l->holders[i].held[slot], 0, memory_order_relaxed);

        if (held)
            atomic_fetch_sub_explicit(&l->holders[i].total, held, memory_order_relaxed);
    }
}
