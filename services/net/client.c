/* client.c - the loop: who has a turn, what is due, what is over. See client.h; one hop is
 * transfer.c's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "net/transfer.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum { TICK_MS = 20, EVENTS = 64 };

static void wake(struct net_client *c)
{
    uint64_t one = 1;

    if (write(c->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
        log_warn("net.wake", "the loop of outgoing requests can't be woken");
}

/* ---- states ---- */

static void link_active(struct net_client *c, struct net_transfer *t)
{
    t->prev = NULL;
    t->next = c->active;
    if (t->next)
        t->next->prev = t;
    c->active = t;
    c->n_active++;
}

static void unlink_active(struct net_client *c, struct net_transfer *t)
{
    if (t->prev)
        t->prev->next = t->next;
    else
        c->active = t->next;
    if (t->next)
        t->next->prev = t->prev;
    t->next = t->prev = NULL;
    c->n_active--;
}

static void append_pending(struct net_client *c, struct net_transfer *t)
{
    t->state = T_NEW;
    t->next = NULL;
    *c->pending_last = t;
    c->pending_last = &t->next;
}

/* Leaves: a transfer that had a turn gives it back, and lets in who waited for it. */
static void client_leave(struct net_client *c, struct net_transfer *t)
{
    struct net_transfer *waiting;

    resolve_forget(t);
    transfer_hop_over(t);
    unlink_active(c, t);
    waiting = host_leave(c, t);
    if (waiting)
        append_pending(c, waiting);
}

static void client_over(struct net_transfer *t, enum net_outcome outcome)
{
    t->outcome = outcome;
    t->state = T_OVER;
    t->end_us = clock_monotonic_us();
    queue_put(t->queue, t);
}

static void client_fail(struct net_client *c, struct net_transfer *t, enum net_outcome outcome)
{
    client_leave(c, t);
    client_over(t, outcome);
}

/* Goes on when the name was resolved: on to libcurl, or the end. */
static void client_go_on(struct net_client *c, struct net_transfer *t)
{
    if (t->outcome != NET_DONE || !transfer_run(c, t))
        client_fail(c, t, t->outcome);
}

static void client_begin(struct net_client *c, struct net_transfer *t)
{
    if (!host_enter(c, t))
        return;
    link_active(c, t);
    t->hop_us = clock_monotonic_us();
    if (!t->start_us)
        t->start_us = t->hop_us;
    resolve_start(c, t);
}

static void begin_pending(struct net_client *c)
{
    while (c->pending && c->n_active < c->max_active) {
        struct net_transfer *t = c->pending;

        c->pending = t->next;
        if (!c->pending)
            c->pending_last = &c->pending;
        t->next = NULL;
        if (atomic_load(&t->cancel))
            client_over(t, NET_CANCELLED);
        else
            client_begin(c, t);
    }
}

/* ---- what other threads asked for ---- */

static void take_incoming(struct net_client *c)
{
    struct net_transfer *t, *next;

    pthread_mutex_lock(&c->lock);
    t = c->incoming;
    c->incoming = NULL;
    c->incoming_last = &c->incoming;
    pthread_mutex_unlock(&c->lock);
    for (; t; t = next) {
        next = t->next;
        t->outcome = t->outcome == NET_DONE ? net_url_parse(c->guard, t->r.url, t->r.flags, &t->url)
                                            : t->outcome;
        if (t->outcome == NET_DONE)
            append_pending(c, t);
        else
            client_over(t, t->outcome);
    }
}

static void cancel_waiting(struct net_client *c, bool all)
{
    struct net_transfer *next;

    for (size_t i = 0; i < HOST_BUCKETS; i++) {
        for (struct host *h = c->hosts[i], *following; h; h = following) {
            following = h->next;
            for (struct net_transfer *t = h->first; t; t = next) {
                next = t->next;
                if (!all && !atomic_load(&t->cancel))
                    continue;
                host_unwait(c, t); /* the last one of an idle host takes the host with it */
                client_over(t, NET_CANCELLED);
            }
        }
    }
}

static void take_cancels(struct net_client *c)
{
    struct net_transfer *next;
    bool some, all;

    pthread_mutex_lock(&c->lock);
    some = c->cancels;
    all = c->stop;
    c->cancels = false;
    pthread_mutex_unlock(&c->lock);
    if (!some && !all)
        return;
    cancel_waiting(c, all);
    for (struct net_transfer *t = c->active; t; t = next) {
        next = t->next;
        if (all || atomic_load(&t->cancel))
            client_fail(c, t, NET_CANCELLED);
    }
    while (all && c->pending) {
        struct net_transfer *t = c->pending;

        c->pending = t->next;
        client_over(t, NET_CANCELLED);
    }
    if (!c->pending)
        c->pending_last = &c->pending;
}

/* ---- progress ---- */

static void collect_pool(struct net_client *c, struct net_pool *p)
{
    CURLMsg *m;
    int left;

    while ((m = curl_multi_info_read(p->multi, &left))) {
        struct net_transfer *t = NULL;
        CURLcode code = m->data.result;

        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        if (transfer_finish(c, t, code)) {
            client_leave(c, t);
            append_pending(c, t);
        } else {
            client_fail(c, t, t->outcome);
        }
    }
}

static void client_collect(struct net_client *c)
{
    for (size_t i = 0; i < c->n_pools; i++)
        if (c->pools[i] && c->pools[i]->active)
            collect_pool(c, c->pools[i]);
}

static void look_at_active(struct net_client *c)
{
    int64_t now_us = clock_monotonic_us();
    struct net_transfer *next;

    for (struct net_transfer *t = c->active; t; t = next) {
        enum net_outcome o = transfer_overdue(t, now_us);

        next = t->next;
        if (o != NET_DONE)
            client_fail(c, t, o);
        else if (t->state == T_RESOLVED)
            client_go_on(c, t);
    }
}

static int client_wait_ms(const struct net_client *c)
{
    int64_t left_ms, due_us = pools_due_us(c);

    if (c->pending && c->n_active < c->max_active)
        return 0;
    if (due_us < 0)
        return c->active ? TICK_MS : 1000;
    left_ms = (due_us - clock_monotonic_us() + 999) / 1000;
    if (left_ms < 0)
        left_ms = 0;
    return (int)(c->active && left_ms > TICK_MS ? TICK_MS : left_ms > 1000 ? 1000 : left_ms);
}

static void serve_event(struct net_client *c, const struct epoll_event *e)
{
    int fd = (int)(e->data.u64 & UINT32_MAX), mask = 0;
    bool in = e->events & (EPOLLIN | EPOLLHUP | EPOLLERR), out = e->events & (EPOLLOUT | EPOLLERR);
    uint64_t count;

    if (fd == c->wake_fd) {
        if (read(fd, &count, sizeof(count)) < 0)
            log_debug("net.wake", "woken for nothing");
        return;
    }
    mask = (e->events & EPOLLIN ? CURL_CSELECT_IN : 0) |
           (e->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
           (e->events & (EPOLLHUP | EPOLLERR) ? CURL_CSELECT_ERR : 0);
    if (!pool_serve(c, e->data.u64, fd, mask))
        ares_process_fd(c->ares, in ? fd : ARES_SOCKET_BAD, out ? fd : ARES_SOCKET_BAD);
}

static bool client_stopped(struct net_client *c)
{
    bool stop;

    pthread_mutex_lock(&c->lock);
    stop = c->stop && !c->incoming;
    pthread_mutex_unlock(&c->lock);
    return stop && !c->active && !c->pending;
}

static void *loop_main(void *arg)
{
    struct net_client *c = arg;
    struct epoll_event events[EVENTS];

    while (!client_stopped(c)) {
        int n = epoll_wait(c->epoll_fd, events, EVENTS, client_wait_ms(c));

        for (int i = 0; i < n; i++)
            serve_event(c, &events[i]);
        pools_run_due(c, clock_monotonic_us());
        if (c->active)
            ares_process_fd(c->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* its timeouts */
        client_collect(c);
        take_incoming(c);
        take_cancels(c);
        begin_pending(c);
        look_at_active(c);
    }
    return NULL;
}

/* ---- start, stop ---- */

static void client_free(struct net_client *c)
{
    if (c->ares)
        ares_destroy(c->ares);
    pools_free(c);
    if (c->epoll_fd >= 0)
        close(c->epoll_fd);
    if (c->wake_fd >= 0)
        close(c->wake_fd);
    guard_free(c->guard);
    free(c->mappings);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static bool open_loop(struct net_client *c)
{
    struct epoll_event e = {.events = EPOLLIN};

    c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e.data.u64 = (uint64_t)c->wake_fd;
    return c->epoll_fd >= 0 && c->wake_fd >= 0 &&
           epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->wake_fd, &e) == 0;
}

struct net_client *net_start(const struct config *config, struct arena *err, wharf_str *ret_problem)
{
    struct net_client *c = calloc(1, sizeof(*c));

    if (!c || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
        abort();
    c->config = config;
    c->epoll_fd = c->wake_fd = -1;
    c->per_host = (unsigned)config->net_per_host;
    c->max_active = (unsigned)config->net_transfers;
    c->incoming_last = &c->incoming;
    c->pending_last = &c->pending;
    if (strcmp(config->environment, "production") != 0 && config->net_ca_file[0])
        c->ca_file = config->net_ca_file;
    pthread_mutex_init(&c->lock, NULL);
    c->guard = guard_new(&config->net_allow, err, ret_problem);
    if (c->guard && open_loop(c) && resolve_setup(c, err, ret_problem) &&
        pthread_create(&c->thread, NULL, loop_main, c) == 0)
        return c;
    if (!ret_problem->n)
        *ret_problem = arena_dupz(err, "the loop of outgoing requests did not start");
    client_free(c);
    return NULL;
}

void net_stop(struct net_client *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_mutex_unlock(&c->lock);
    wake(c);
    pthread_join(c->thread, NULL);
    client_free(c);
}

const struct guard *net_guard(const struct net_client *c)
{
    return c->guard;
}

/* ---- for callers ---- */

struct net_transfer *net_submit(
    struct net_client *c, struct net_queue *q, const struct net_request *r)
{
    struct net_transfer *t = transfer_new(c, q, r);
    bool first;

    pthread_mutex_lock(&c->lock);
    first = !c->incoming; /* else the loop was woken for those before it, and has not come yet */
    *c->incoming_last = t;
    c->incoming_last = &t->next;
    pthread_mutex_unlock(&c->lock);
    if (first)
        wake(c);
    return t;
}

void net_cancel(struct net_client *c, struct net_transfer *t)
{
    atomic_store(&t->cancel, true);
    pthread_mutex_lock(&c->lock);
    c->cancels = true;
    pthread_mutex_unlock(&c->lock);
    wake(c);
}

struct net_transfer *net_run(struct net_client *c, const struct net_request *r, int64_t deadline_us)
{
    struct net_queue *q = net_queue_new(NULL);
    struct net_transfer *t, *submitted = net_submit(c, q, r);
    int64_t left = deadline_us ? deadline_us - clock_monotonic_us() : -1;

    t = net_queue_take(q, deadline_us && left < 0 ? 0 : left);
    if (!t) {
        net_cancel(c, submitted);
        t = net_queue_take(q, -1);
        if (t->outcome == NET_CANCELLED)
            t->outcome = NET_TIMEOUT;
    }
    net_queue_free(q);
    return t;
}
