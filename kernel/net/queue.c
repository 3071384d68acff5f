/* queue.c - where finished transfers wait for their owners. See client.h. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "net/transfer.h"
#include "util/log.h"

struct net_queue *net_queue_new(void)
{
    struct net_queue *q = calloc(1, sizeof(*q));
    pthread_condattr_t monotonic;

    if (!q)
        abort();
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&q->more, &monotonic);
    pthread_condattr_destroy(&monotonic);
    q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    q->last = &q->first;
    return q;
}

void net_queue_free(struct net_queue *q)
{
    if (!q)
        return;
    close(q->fd);
    pthread_cond_destroy(&q->more);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

int net_queue_fd(const struct net_queue *q)
{
    return q->fd;
}

void queue_put(struct net_queue *q, struct net_transfer *t)
{
    uint64_t one = 1;
    bool first;

    /* All under the lock: whoever takes the last transfer may free the queue at once. */
    pthread_mutex_lock(&q->lock);
    first = !q->first; /* else it is readable already */
    t->next = NULL;
    *q->last = t;
    q->last = &t->next;
    if (first) {
        pthread_cond_signal(&q->more);
        if (write(q->fd, &one, sizeof(one)) < 0)
            log_debug("net.queue", "the queue is already readable");
    }
    pthread_mutex_unlock(&q->lock);
}

static struct timespec until(int64_t wait_us)
{
    struct timespec at;
    int64_t ns;

    clock_gettime(CLOCK_MONOTONIC, &at);
    ns = at.tv_nsec + wait_us % 1000000 * 1000;
    at.tv_sec += wait_us / 1000000 + ns / 1000000000;
    at.tv_nsec = ns % 1000000000;
    return at;
}

struct net_transfer *net_queue_take(struct net_queue *q, int64_t wait_us)
{
    struct timespec end = until(wait_us > 0 ? wait_us : 0);
    struct net_transfer *t;
    uint64_t count;
    int r = 0;

    pthread_mutex_lock(&q->lock);
    while (!q->first && wait_us && r != ETIMEDOUT)
        r = wait_us < 0 ? pthread_cond_wait(&q->more, &q->lock) : pthread_cond_timedwait(&q->more, &q->lock, &end);
    t = q->first;
    if (t) {
        q->first = t->next;
        t->next = NULL;
    }
    if (q->first) { /* for another who waits */
        pthread_cond_signal(&q->more);
    } else {
        q->last = &q->first;
        if (read(q->fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
            log_debug("net.queue", "the queue's descriptor can't be read");
    }
    pthread_mutex_unlock(&q->lock);
    return t;
}

void net_queue_wait(struct net_queue *q, int64_t wait_us)
{
    struct timespec end = until(wait_us > 0 ? wait_us : 0);
    int r = 0;

    pthread_mutex_lock(&q->lock);
    while (!q->first && !q->poked && wait_us > 0 && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&q->more, &q->lock, &end);
    q->poked = false;
    pthread_mutex_unlock(&q->lock);
}

static void poke(struct net_queue *q, uint64_t news)
{
    pthread_mutex_lock(&q->lock);
    q->poked = true;
    q->news += news;
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&q->lock);
}

void net_queue_poke(struct net_queue *q)
{
    poke(q, 1);
}

void net_queue_nudge(struct net_queue *q)
{
    poke(q, 0);
}

uint64_t net_queue_news(struct net_queue *q)
{
    uint64_t n;

    pthread_mutex_lock(&q->lock);
    n = q->news;
    pthread_mutex_unlock(&q->lock);
    return n;
}
