/* meter.c - see meter.h. */
#include "db/meter.h"

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

static _Atomic bool refused;

void db_meter_connected(bool connected)
{
    atomic_store(&refused, !connected);
}

bool db_meter_refused(void)
{
    return atomic_load(&refused);
}

void db_meter_statement(int64_t us)
{
    if (meter.observe)
        meter.observe(meter.arg, us);
}
