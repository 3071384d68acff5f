/* housekeeping.h - the periodic work of a worker's side thread (db/notifier.h): readiness, used
 * keys, partitions, old idempotency keys, what the heap keeps. */
#ifndef WHARF_WORKER_HOUSEKEEPING_H
#define WHARF_WORKER_HOUSEKEEPING_H

#include "db/notifier.h"
#include "process/worker.h"
#include "resource/engine.h"

/* Fills *ret for notifier_start(). The job worker also does what one process of the server does
 * for all. Lives as long as e. */
void housekeeping_begin(
    struct engine *e, const struct worker_boot *boot, struct notifier_owner *ret);

#endif
