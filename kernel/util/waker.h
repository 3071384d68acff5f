/* waker.h - what a thread sleeps on when several others may have something for it: finished
 * transfers, notices, results.
 *
 * Leaves to others: what the things are, and where they are kept (services/net/net_queue.c,
 * job/resident.c). */
#ifndef WHARF_UTIL_WAKER_H
#define WHARF_UTIL_WAKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct waker {
    /* of all members; owners of things that are counted in `waiting` guard them by it too */
    pthread_mutex_t lock;
    pthread_cond_t more;
    size_t waiting; /* things that nobody took yet: nobody sleeps while there are some */
    bool poked; /* since the last waker_wait() */
    uint64_t news; /* notices so far */
};

/* Makes a condition whose timed waits go by the monotonic clock. */
void cond_init_monotonic(pthread_cond_t *cond);
void waker_init(struct waker *w);
void waker_done(struct waker *w);
/* Sleeps until something waits or somebody pokes, at most wait_us. */
void waker_wait(struct waker *w, int64_t wait_us);
/* Ends a wait, or the next one; waker_poke() counts a notice, waker_nudge() does not. [any
 * thread] */
void waker_poke(struct waker *w);
void waker_nudge(struct waker *w);
/* Returns how many notices there were since the start. [any thread] */
uint64_t waker_news(struct waker *w);
/* Returns the moment wait_us from now, by CLOCK_MONOTONIC: `more` waits until it. */
struct timespec waker_until(int64_t wait_us);

#endif
