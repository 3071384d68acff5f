/* pulse.h - a worker's side thread: kernel clock, change notices, job notices, readiness, and the kernel's own periodic work.
 *
 * One connection of its own that LISTENs (docs/decisions.md 8 and 9). Leaves to others: what a notice means beyond dropping cached
 * principals.
 */
#ifndef WHARF_HTTP_PULSE_H
#define WHARF_HTTP_PULSE_H

#include "resource/engine.h"

struct pulse;

/* Connects and samples the clock before it returns (NULL: no database; *ret_error says why), then goes on in a thread.
 * housekeeping: also keep partitions ahead (job worker). */
struct pulse *pulse_start(struct engine *e, const char *database, bool housekeeping, wharf_str *ret_error);
const bool *pulse_ready(const struct pulse *p);
/* Tells the job workers of all processes, 10 ms later at most and once for all that ask meanwhile (docs/decisions.md 8). [any] */
void pulse_wake_jobs(struct pulse *p);
/* fn is called on the side thread whenever some process has told so, and when that may have been missed. Once, after start. */
void pulse_on_jobs(struct pulse *p, void (*fn)(void *arg), void *arg);
void pulse_stop(struct pulse *p);

#endif
