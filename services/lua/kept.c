/* kept.c - see kept.h. One place for each organization's hash: of two that share it, each throws
 * the other out. */
#include "lua/kept.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "identity/auth.h"
#include "resource/engine.h"
#include "util/str.h"
#include "wharf/hash.h"

enum {
    SLOTS = 1024,
    KEEP_US = 5000000, /* prepared code is kept without being looked at again */
    BYTES_MAX = 32 << 20 /* bytes of prepared code that are kept */
};

struct kept {
    _Atomic unsigned refs;
    struct arena *arena; /* itself in it */
    /* hooks: of the principal for whom it was made; p NULL: not known */
    wharf_str organization, hooks;
    unsigned generation;
    int64_t until_us;
    void *value;
    size_t bytes;
};

static struct kept *slots[SLOTS]; /* for all threads of the process */
static size_t all_bytes; /* of all that stand in slots */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void kept_unref(void *arg)
{
    struct kept *k = arg;

    if (k && atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) == 1)
        arena_free(k->arena);
}

static struct kept **kept_slot_of(wharf_str organization)
{
    uint32_t h = wharf_hash32(WHARF_HASH32_START, organization.p, organization.n);

    return &slots[h % SLOTS];
}

static bool kept_fits(const struct kept *k, const struct wharf_req *req, unsigned generation)
{
    const struct principal *who = req->access.who;

    return k && k->generation == generation && k->until_us > req->now_us &&
           str_eq(k->organization, who->organization) &&
           (!who->hooks.p || (k->hooks.p && str_eq(k->hooks, who->hooks)));
}

static struct kept *kept_find(const struct wharf_req *req, unsigned generation)
{
    struct kept *k;

    if (req->tx.access_changed)
        return NULL;
    pthread_mutex_lock(&lock);
    k = *kept_slot_of(req->access.who->organization);
    k = kept_fits(k, req, generation) ? k : NULL;
    if (k)
        atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    return k;
}

static void empty(struct kept **slot)
{
    if (*slot)
        all_bytes -= (*slot)->bytes;
    kept_unref(*slot);
    *slot = NULL;
}

/* Puts it where others may have it too, but for what was made of rows that are not committed. */
static void kept_put(const struct req_transaction *tx, struct kept *k)
{
    struct kept **slot = kept_slot_of(k->organization);

    k->bytes = arena_used(k->arena);
    if (tx->access_changed || k->bytes > BYTES_MAX)
        return;
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    pthread_mutex_lock(&lock);
    empty(slot);
    for (size_t i = 0; i < SLOTS && all_bytes + k->bytes > BYTES_MAX; i++)
        empty(&slots[i]);
    *slot = k;
    all_bytes += k->bytes;
    pthread_mutex_unlock(&lock);
}

wharf_status lua_kept(struct wharf_req *req, lua_make *make, const void **ret)
{
    unsigned generation = auth_cache_generation(req->engine->auth);
    struct kept *k = kept_find(req, generation);
    struct arena *own = req->arena;
    wharf_status s = WHARF_OK;

    if (!k) {
        struct arena *a = arena_new(0);

        k = ARENA_NEW(a, struct kept);
        *k = (struct kept){.arena = a, .generation = generation, .until_us = req->now_us + KEEP_US};
        atomic_init(&k->refs, 1);
        k->organization = arena_dup_str(a, req->access.who->organization);
        k->hooks = req->access.who->hooks.p ? arena_dup_str(a, req->access.who->hooks)
                                            : (wharf_str){NULL, 0};
        req->arena = a;
        s = make(req, &k->value);
        req->arena = own;
        if (s == WHARF_OK)
            kept_put(&req->tx, k);
    }
    arena_on_release(
        req->arena, kept_unref, k); /* also when it failed: problems were allocated in it */
    *ret = k->value;
    return s;
}
