/* webhook_schedule.h - how long a failed delivery waits (docs/spec/07-events-and-webhooks.md
 * section 7 'Retry schedules'). */
#ifndef WEBHOOKS_SCHEDULE_H
#define WEBHOOKS_SCHEDULE_H

#include "wharf/plugin.h"

/* Computes the wait after the end of the failed attempt that was retry number `retries` (0: the
 * first one), lengthened or shortened by up to a tenth: random is 0 up to 1. Returns false when
 * that was the last one. An unknown mode is "balanced". */
bool schedule_wait(wharf_str mode, uint32_t retries, double random, int64_t *ret_ms);

#endif
