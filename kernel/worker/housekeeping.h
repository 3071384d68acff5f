/* housekeeping.h - the periodic work of a worker's side thread (db/notifier.h): readiness, used
 * keys, partitions, old idempotency keys. */
#ifndef WHARF_WORKER_HOUSEKEEPING_H
#define WHARF_WORKER_HOUSEKEEPING_H

#include "db/notifier.h"
#include "resource/engine.h"

/* Fills *ret for notifier_start(). all: also what one process of the server does for all (the
 * job worker). Lives as long as e. */
void housekeeping_begin(struct engine *e, bool all, struct notifier_owner *ret);

#endif
