/* net_queue.c - where finished transfers wait for their owners. See client.h. */
#include <errno.h>
#include <stdlib.h>

#include "net/transfer.h"

struct net_queue *net_queue_new(struct waker *waker)
{
    struct net_queue *q = calloc(1, sizeof(*q));

    if (!q)
        abort();
    if (!waker)
        waker_init(&q->own);
    q->waker = waker ? waker : &q->own;
    q->last = &q->first;
    return q;
}

void net_queue_free(struct net_queue *q)
{
    if (!q)
        return;
    if (q->waker == &q->own)
        waker_done(&q->own);
    free(q);
}

void queue_put(struct net_queue *q, struct net_transfer *t)
{
    struct waker *w = q->waker;

    /* All under the lock: whoever takes the last transfer may free the queue at once. */
    pthread_mutex_lock(&w->lock);
    t->next = NULL;
    *q->last = t;
    q->last = &t->next;
    w->waiting++;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
}

struct net_transfer *net_queue_take(struct net_queue *q, int64_t wait_us)
{
    struct timespec end = waker_until(wait_us > 0 ? wait_us : 0);
    struct waker *w = q->waker;
    struct net_transfer *t;
    int r = 0;

    pthread_mutex_lock(&w->lock);
    while (!q->first && wait_us && r != ETIMEDOUT)
        r = wait_us < 0 ? pthread_cond_wait(&w->more, &w->lock)
                        : pthread_cond_timedwait(&w->more, &w->lock, &end);
    t = q->first;
    if (t) {
        q->first = t->next;
        t->next = NULL;
        w->waiting--;
    }
    if (q->first) /* for another who waits */
        pthread_cond_signal(&w->more);
    else
        q->last = &q->first;
    pthread_mutex_unlock(&w->lock);
    return t;
}
