/* notifier.h - a process's side thread: it LISTENs for what other processes tell, keeps the
 * kernel clock, and runs periodic work.
 *
 * One connection of its own (docs/decisions 8 and 9). Leaves to others: what a notice means
 * (who asked for it), the periodic work (worker/housekeeping.c). */
#ifndef WHARF_DB_NOTIFIER_H
#define WHARF_DB_NOTIFIER_H

#include <libpq-fe.h>
#include <stdatomic.h>

#include "util/arena.h"

struct notifier;

/* Functions that the side thread calls. */
struct notifier_owner {
    void (*forget)(void *arg); /* Tells that cached keys and rights may be stale. */
    void (*beat)(void *arg, PGconn *pg); /* About once a second, while the connection is up. */
    /* NULL, or told at each try to connect that failed. message: libpq's, not NULL. */
    void (*refused)(void *arg, const char *message);
    void *arg;
};

/* Connects and samples the clock, then goes on in a thread. NULL: no database, and *ret_error
 * (allocated in a) says why. job_worker: listens for jobs and events too. */
struct notifier *notifier_start(const char *database, bool job_worker,
    const struct notifier_owner *owner, struct arena *a, wharf_str *ret_error);
const atomic_bool *notifier_ready(const struct notifier *p);
/* Lists what processes tell each other. */
enum notifier_news {
    NEWS_JOBS = 1, /* a job waits, or one is to be cancelled */
    NEWS_EVENTS = 2, /* events wait for the processor */
    NEWS_PROCESSED = 4, /* events were processed, or residents have something to do */
    NEWS_CLOCK = 8, /* the kernel clock was moved */
    NEWS_CHANNELS = 16, /* messages of channels: notifier_tell_channel() */
};
/* Tells all processes: at once, or 10 ms after the notices before and once for all that ask
 * meanwhile (docs/decisions 8). [any] */
void notifier_tell(struct notifier *p, unsigned news);
/* Sets fn, which is called on the side thread with what some process has told, and with everything
 * when that may have been missed. Web workers hear NEWS_PROCESSED and NEWS_CLOCK only. Must be
 * called once, after start. */
void notifier_on_news(struct notifier *p, void (*fn)(void *arg, unsigned news), void *arg);
/* Tells other processes of a message of a channel; the names of those told within 10 ms travel
 * together. [any] */
void notifier_tell_channel(struct notifier *p, wharf_str organization, wharf_str name);
/* Sets fn for web workers: it is called on the side thread with the names, each "organization
 * name\n", or with "" when some may have been missed. Must be called once, after start. */
void notifier_on_channels(struct notifier *p, void (*fn)(void *arg, const char *names), void *arg);
void notifier_stop(struct notifier *p);

#endif
