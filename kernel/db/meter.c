/* meter.c - see meter.h. */
#include "db/meter.h"

#include "util/memory.h"

#include <pthread.h>
#include <stddef.h>

static struct db_meter meter;

void db_meter_set(const struct db_meter *m)
{
    meter = *m;
}

void db_meter_busy(bool *counted, bool busy)
{
    if (!meter.in_use || *counted == busy)
        return;
    *counted = busy;
    atomic_fetch_add_explicit(meter.in_use, busy ? 1 : -1, memory_order_relaxed);
}

/* Counts the connections whose last try was refused in this round. A new round begins when all are
 * forgotten; a connection notes the round of its refusal, and 0 is no round. */
static pthread_mutex_t refused_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned refused_round = 1, n_refused;

void db_meter_connected(unsigned *refused, bool connected)
{
    pthread_mutex_lock(&refused_lock);
    if (*refused == refused_round)
        n_refused--;
    *refused = connected ? 0 : refused_round;
    n_refused += !connected;
    pthread_mutex_unlock(&refused_lock);
}

bool db_meter_refused(void)
{
    bool refused;

    pthread_mutex_lock(&refused_lock);
    refused = n_refused > 0;
    pthread_mutex_unlock(&refused_lock);
    return refused;
}

void db_meter_forget_refused(void)
{
    pthread_mutex_lock(&refused_lock);
    refused_round++;
    n_refused = 0;
    pthread_mutex_unlock(&refused_lock);
}

void db_meter_statement(int64_t us)
{
    if (meter.observe)
        meter.observe(meter.arg, us);
}

/* Bytes that libpq of PostgreSQL 15 takes for a connection (makeEmptyPGconn): 16 KiB to read into,
 * 16 KiB to write from, and some for its parameters. */
enum { CONNECTION_BYTES = 2 * 16 * 1024 + 2 * 1024 };

PGconn *db_meter_open(PGconn *pg)
{
    if (pg)
        memory_add(MEMORY_DATABASE, CONNECTION_BYTES);
    return pg;
}

void db_meter_close(PGconn *pg)
{
    if (pg)
        memory_add(MEMORY_DATABASE, -CONNECTION_BYTES);
    PQfinish(pg);
}

static int64_t large(const PGresult *r)
{
    size_t n = PQresultMemorySize(r);

    return n >= MEMORY_LARGE ? (int64_t)n : 0;
}

PGresult *db_meter_keep(PGresult *r)
{
    int64_t n = large(r);

    if (n)
        memory_add(MEMORY_RESULTS, n);
    return r;
}

void db_meter_clear(PGresult *r)
{
    int64_t n = large(r);

    if (n)
        memory_add(MEMORY_RESULTS, -n);
    PQclear(r);
}
