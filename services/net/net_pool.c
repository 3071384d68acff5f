/* net_pool.c - kept connections, per owner: a libcurl multi handle for each organization that
 * has transfers. See transfer.h.
 *
 * Two organizations never share a connection. Whatever one of them or its receiver does to the
 * bytes of a connection, the other one's requests and answers travel elsewhere.
 * docs/spec/07-events-and-webhooks.md section 9. Leaves to others: the transfers (transfer.c),
 * how many a host has at once (hosts.c). Everything here runs on the loop's thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "net/transfer.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum {
    POOL_IDLE_US = 60000000, /* connections of an organization are kept */
    POOL_TAG_FIRST = 2
};

static int pool_set_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct net_pool *p = arg;

    (void)multi;
    p->due_us = timeout_ms < 0 ? -1 : clock_monotonic_us() + timeout_ms * 1000;
    return 0;
}

static int pool_watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socketp)
{
    struct net_pool *p = arg;
    struct net_client *c = p->client;
    struct epoll_event e = {.data.u64 = (uint64_t)fd | (uint64_t)(p->slot + POOL_TAG_FIRST) << 32};

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    e.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    if (epoll_ctl(c->epoll_fd, socketp ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e) == 0) {
        curl_multi_assign(p->multi, fd, c); /* watched: until libcurl takes it away */
        return 0;
    }
    log_warn("net.watch", "a connection can't be watched: %s", strerror(errno));
    return -1;
}

static bool pool_open(struct net_client *c, struct net_pool *p)
{
    p->multi = curl_multi_init();
    /* else libcurl keeps four for each request that runs, and closes what it will need when more
     * do */
    if (p->multi)
        curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, (long)c->max_active);
    return p->multi &&
           curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, pool_watch_socket) == CURLM_OK &&
           curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p) == CURLM_OK &&
           curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, pool_set_timer) == CURLM_OK &&
           curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p) == CURLM_OK;
}

static void pool_drop(struct net_client *c, struct net_pool *p)
{
    curl_multi_cleanup(p->multi);
    c->pools[p->slot] = NULL;
    free(p);
}

static struct net_pool *pool_new(struct net_client *c, size_t slot, wharf_str owner)
{
    struct net_pool *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->client = c;
    p->slot = slot;
    p->due_us = -1;
    memcpy(p->owner, owner.p, owner.n);
    p->owner_size = owner.n;
    c->pools[slot] = p;
    if (pool_open(c, p))
        return p;
    pool_drop(c, p);
    return NULL;
}

/* Finds a slot without a pool; when all are taken, the one whose pool has been idle longest,
 * which ends. NET_POOLS_MAX: all are busy. */
static size_t pool_free_slot(struct net_client *c)
{
    size_t oldest = NET_POOLS_MAX;

    for (size_t i = 0; i < NET_POOLS_MAX; i++) {
        struct net_pool *p = c->pools[i];

        if (!p)
            return i;
        if (!p->active &&
            (oldest == NET_POOLS_MAX || p->idle_since_us < c->pools[oldest]->idle_since_us))
            oldest = i;
    }
    if (oldest < NET_POOLS_MAX)
        pool_drop(c, c->pools[oldest]);
    return oldest;
}

struct net_pool *pool_enter(struct net_client *c, wharf_str owner)
{
    struct net_pool *p;
    size_t slot;

    if (owner.n > sizeof(p->owner))
        return NULL;
    for (size_t i = 0; i < c->n_pools; i++) {
        p = c->pools[i];
        if (p && p->owner_size == owner.n && memcmp(p->owner, owner.p, owner.n) == 0) {
            p->active++;
            return p;
        }
    }
    slot = pool_free_slot(c);
    p = slot < NET_POOLS_MAX ? pool_new(c, slot, owner) : NULL;
    if (!p)
        return NULL;
    if (slot >= c->n_pools)
        c->n_pools = slot + 1;
    p->active = 1;
    return p;
}

void pool_leave(struct net_pool *p)
{
    p->active--;
    if (!p->active)
        p->idle_since_us = clock_monotonic_us();
}

bool pool_serve(struct net_client *c, uint64_t tag, int fd, int mask)
{
    size_t slot = (size_t)(tag >> 32) - POOL_TAG_FIRST;
    int running;

    if (tag >> 32 < POOL_TAG_FIRST || slot >= c->n_pools)
        return false;
    if (c->pools[slot]) /* else it ended since the event came */
        curl_multi_socket_action(c->pools[slot]->multi, fd, mask, &running);
    return true;
}

void pools_run_due(struct net_client *c, int64_t now_us)
{
    int running;

    for (size_t i = 0; i < c->n_pools; i++) {
        struct net_pool *p = c->pools[i];

        if (p && p->due_us >= 0 && now_us >= p->due_us) {
            p->due_us = -1;
            curl_multi_socket_action(p->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        if (p && !p->active && now_us - p->idle_since_us > POOL_IDLE_US)
            pool_drop(c, p);
    }
    while (c->n_pools && !c->pools[c->n_pools - 1])
        c->n_pools--;
}

int64_t pools_due_us(const struct net_client *c)
{
    int64_t due = -1;

    for (size_t i = 0; i < c->n_pools; i++) {
        const struct net_pool *p = c->pools[i];

        if (p && p->due_us >= 0 && (due < 0 || p->due_us < due))
            due = p->due_us;
    }
    return due;
}

void pools_free(struct net_client *c)
{
    for (size_t i = 0; i < c->n_pools; i++)
        if (c->pools[i])
            pool_drop(c, c->pools[i]);
    c->n_pools = 0;
}
