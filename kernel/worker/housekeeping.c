/* housekeeping.c - see housekeeping.h. */
#include "worker/housekeeping.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "http/health.h"
#include "process/board.h"
#include "resource/idempotency.h"
#include "util/log.h"
#include "util/time.h"

enum {
    PARTITIONS_EVERY_US = 3600 * 1000000LL, /* between two looks at partitions */
    FORGET_MORE_US = 1000000,
    FORGET_EVERY_US = 600000000, /* between two rounds that forget keys of idempotency */
    MUCH_MEMORY = 8 * 1024 * 1024
};

struct housekeeping {
    struct engine *engine;
    struct board_worker *slot;
    bool all;
    int64_t next_partitions_us, next_forget_us; /* monotonic */
};

/* Makes the partitions of the next months, each in a transaction of its own
 * (db/sql/ensure_partitions.sql). */
static void keep_partitions(struct housekeeping *h, PGconn *pg, int64_t now_us)
{
    PGresult *r;
    bool more;

    if (!h->all || now_us < h->next_partitions_us)
        return;
    h->next_partitions_us = now_us + PARTITIONS_EVERY_US;
    do {
        r = PQexec(pg, "SELECT wharf.ensure_partitions(now(), 1)");
        more = PQresultStatus(r) == PGRES_TUPLES_OK && PQgetvalue(r, 0, 0)[0] != '0';
        if (PQresultStatus(r) != PGRES_TUPLES_OK)
            log_warn("partitions.failed", "%s", PQresultErrorMessage(r));
        PQclear(r);
    } while (more);
}

/* Deletes old keys of requests: they are kept for a day; what is older counts as forgotten
 * already. */
static void forget_idempotency_keys(struct housekeeping *h, PGconn *pg, int64_t now_us)
{
    PGresult *r;
    char kept[16];

    if (!h->all || now_us < h->next_forget_us)
        return;
    snprintf(kept, sizeof(kept), "%d", IDEMPOTENCY_KEPT_S);
    r = PQexecParams(pg,
        "DELETE FROM wharf.idempotency WHERE (organization_id, key) IN (SELECT organization_id, "
        "key FROM wharf.idempotency WHERE created_at < wharf.now() - $1::int * interval '1 s'"
        " LIMIT 1000)",
        1, NULL, (const char *const[]){kept}, NULL, NULL, 0);
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        log_warn("idempotency.failed", "%s", PQresultErrorMessage(r));
    /* A full batch: there is more. */
    h->next_forget_us = now_us +
                        (strcmp(PQcmdTuples(r), "1000") == 0 ? FORGET_MORE_US : FORGET_EVERY_US);
    PQclear(r);
}

/* Gives memory back to the system that the heap keeps for the thread of a large request that is
 * over. By itself the C library keeps it for the next one of that thread, 50 MiB after a file of
 * 5,000 contacts. The job worker does this behind its jobs (job/execute.c). */
static void give_back_memory(const struct housekeeping *h)
{
    if (!h->all && arena_take_freed() >= MUCH_MEMORY)
        malloc_trim(0);
}

/* Tells the board what the C library's heap has, at first and after somebody read it there. The
 * loop of the worker shall not wait for it. */
static void tell_heap(const struct housekeeping *h)
{
    int64_t used, kept;

    if (atomic_exchange(&h->slot->heap_unasked, true))
        return;
    memory_heap(&used, &kept);
    atomic_store_explicit(&h->slot->heap_used, used, memory_order_relaxed);
    atomic_store_explicit(&h->slot->heap_free, kept, memory_order_relaxed);
}

static void housekeeping_beat(void *arg, PGconn *pg)
{
    struct housekeeping *h = arg;
    int64_t now_us = clock_monotonic_us();

    health_look(h->engine->health, pg);
    auth_used_write(h->engine->auth, pg);
    keep_partitions(h, pg, now_us);
    forget_idempotency_keys(h, pg, now_us);
    give_back_memory(h);
    tell_heap(h);
}

static void housekeeping_refused(void *arg, const char *message)
{
    struct housekeeping *h = arg;

    health_refused(h->engine->health, message);
}

static void forget_principals(void *arg)
{
    struct housekeeping *h = arg;

    auth_cache_clear(h->engine->auth);
}

void housekeeping_begin(
    struct engine *e, const struct worker_boot *boot, struct notifier_owner *ret)
{
    struct housekeeping *h = ARENA_NEW(e->arena, struct housekeeping);

    h->engine = e;
    h->slot = &boot->board->workers[boot->slot];
    h->all = boot->kind == WORKER_JOB;
    *ret = (struct notifier_owner){forget_principals, housekeeping_beat, housekeeping_refused, h};
}
