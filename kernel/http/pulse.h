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
const atomic_bool *pulse_ready(const struct pulse *p);
/* What processes tell each other. */
enum pulse_news {
    PULSE_JOBS = 1, /* a job waits, or one is to be cancelled */
    PULSE_EVENTS = 2, /* events wait for the processor */
    PULSE_PROCESSED = 4, /* events were processed, or residents have something to do */
    PULSE_CLOCK = 8, /* the kernel clock was moved */
    PULSE_CHANNELS = 16, /* messages of channels: pulse_tell_channel() */
};
/* Tells all processes: at once, or 10 ms after the notices before and once for all that ask meanwhile (docs/decisions.md 8). [any] */
void pulse_tell(struct pulse *p, unsigned news);
/* fn is called on the side thread with what some process has told, and with everything when that may have been missed. Web workers hear
 * PULSE_PROCESSED and PULSE_CLOCK only. Once, after start. */
void pulse_on_news(struct pulse *p, void (*fn)(void *arg, unsigned news), void *arg);
/* The same for a message of a channel; the names of those told within 10 ms travel together. [any] */
void pulse_tell_channel(struct pulse *p, wharf_str organization, wharf_str name);
/* Web workers: fn is called on the side thread with the names, each "organization name\n", or with "" when some may have been missed. Once,
 * after start. */
void pulse_on_channels(struct pulse *p, void (*fn)(void *arg, const char *names), void *arg);
void pulse_stop(struct pulse *p);

#endif
