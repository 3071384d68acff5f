/* waker.c - see waker.h. */
#include "util/waker.h"

#include <errno.h>
#include <time.h>

void cond_init_monotonic(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void waker_init(struct waker *w)
{
    *w = (struct waker){.waiting = 0};
    pthread_mutex_init(&w->lock, NULL);
    cond_init_monotonic(&w->more);
}

void waker_done(struct waker *w)
{
    pthread_cond_destroy(&w->more);
    pthread_mutex_destroy(&w->lock);
}

struct timespec waker_until(int64_t wait_us)
{
    struct timespec at;
    int64_t ns;

    clock_gettime(CLOCK_MONOTONIC, &at);
    ns = at.tv_nsec + wait_us % 1000000 * 1000;
    at.tv_sec += wait_us / 1000000 + ns / 1000000000;
    at.tv_nsec = ns % 1000000000;
    return at;
}

void waker_wait(struct waker *w, int64_t wait_us)
{
    struct timespec end = waker_until(wait_us > 0 ? wait_us : 0);
    int r = 0;

    pthread_mutex_lock(&w->lock);
    while (!w->waiting && !w->poked && wait_us > 0 && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&w->more, &w->lock, &end);
    w->poked = false;
    pthread_mutex_unlock(&w->lock);
}

static void poke(struct waker *w, uint64_t news)
{
    pthread_mutex_lock(&w->lock);
    w->poked = true;
    w->news += news;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
}

void waker_poke(struct waker *w)
{
    poke(w, 1);
}

void waker_nudge(struct waker *w)
{
    poke(w, 0);
}

uint64_t waker_news(struct waker *w)
{
    uint64_t n;

    pthread_mutex_lock(&w->lock);
    n = w->news;
    pthread_mutex_unlock(&w->lock);
    return n;
}
