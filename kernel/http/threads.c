/* threads.c - worker threads: each with a connection of its own, running whatever has plugin
 * code or a transaction in it.
 *
 * A plugin that is not shipped with the server has at most half of the threads, and so have the
 * long routes of one that is; all of them together leave one. So a plugin that hangs holds up those
 * who use it and nobody else, and many who draw do not hold up who writes. What is over that waits
 * in a list of its plugin (docs/guide/operation.md 'Workers that hang or grow'). */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>

#include "http/exchange.h"
#include "resource/observe.h"
#include "plugin/manifest.h"
#include "resource/hooks.h"
#include "process/board.h"
#include "process/crash.h"
#include "util/log.h"
#include "util/time.h"
#include "util/waker.h"
#include "wharf/errors.h"

enum {
    QUEUE_PER_THREAD = 256, /* requests that wait */
    THREADS_MAX = 28 /* threads of a web worker */
};
enum { ASIDE_NS = 200000000 }; /* of a thread that has no connection, while others have */

/* The share of one plugin: those of its requests that count, in the queue or on a thread, and
 * those that wait to get there. */
struct share {
    size_t admitted, held;
    struct exchange *first, **last;
};

/* Where a thread waits for work. */
struct seat {
    pthread_cond_t more;
    bool idle; /* sleeps, and nobody has woken it yet */
    uint64_t turn; /* of its last request: the greatest is the one that worked last */
};

struct threads {
    struct server *server;
    struct share *shares; /* by index of the plugin; guarded by the lock, as all up to stop */
    size_t shared; /* admitted, of all shares */
    pthread_mutex_t lock;
    struct exchange *first, **last;
    size_t waiting, max_waiting;
    struct seat seats[THREADS_MAX]; /* by index of the thread */
    uint64_t turns;
    /* by next_done; without the lock, for the body reader's sake (body_reader.c) */
    _Atomic(struct exchange *) done;
    bool stop;
    size_t n;
    pthread_t ids[THREADS_MAX];
    struct thread_ctx ctx[THREADS_MAX];
    _Atomic size_t connected; /* threads whose connection was up when they last looked at it */
    _Atomic unsigned doubts; /* how often they were told to look */
};

/* ---- shares ---- */

static bool is_stranger(const struct plugin *p)
{
    return p && p->manifest && p->manifest->third_party;
}

/* Returns the share of the third-party plugin whose code the request will run: its route's, or one
 * with rules on the route's resource. */
static unsigned share_of_stranger(const struct exchange *x)
{
    /* hooks of the operator come before and behind it */
    const struct route *r = x->stage == STAGE_RUN ? x->req.route : NULL;

    if (!r)
        return 0;
    if (is_stranger(r->plugin))
        return r->plugin->index + 1;
    for (size_t i = 0; r->resource && i < r->resource->n_hooks; i++)
        if (is_stranger(r->resource->hooks[i].plugin))
            return r->resource->hooks[i].plugin->index + 1;
    return 0;
}

/* Returns the share of the plugin whose route may run for long. A single thread is for all. */
static unsigned share_of_long(const struct threads *t, const struct exchange *x)
{
    const struct route *r = x->stage == STAGE_RUN ? x->req.route : NULL;

    return t->n > 1 && r && r->plugin && route_is_long(r) ? r->plugin->index + 1 : 0;
}

static bool threads_has_room(const struct threads *t, const struct share *s)
{
    return s->admitted < (t->n + 1) / 2 && t->shared < t->n - 1;
}

/* Wakes, of the threads that sleep, the one that worked last: the caches of its connection know the
 * tables and statements of late, those of one that slept for long may not. Call with the lock
 * held. */
static void wake_one(struct threads *t)
{
    struct seat *best = NULL;

    for (size_t i = 0; i < t->n; i++) {
        if (t->seats[i].idle && (!best || t->seats[i].turn > best->turn))
            best = &t->seats[i];
    }
    if (!best)
        return; /* all are at work, and look at the queue before they sleep */
    best->idle = false;
    pthread_cond_signal(&best->more);
}

/* Wakes all that sleep. Call with the lock held. */
static void wake_all(struct threads *t)
{
    for (size_t i = 0; i < t->n; i++)
        pthread_cond_signal(&t->seats[i].more);
}

static void queue_add(struct threads *t, struct exchange *x)
{
    x->next_done = NULL;
    *t->last = x;
    t->last = &x->next_done;
    t->waiting++;
    wake_one(t);
}

/* Queues a request of a plugin, which takes a place in the plugin's share until it is given back.
 * A request that is held or refused has no place. */
static void admit(struct threads *t, struct share *s, struct exchange *x)
{
    x->share = (unsigned)(s - t->shares) + 1;
    s->admitted++;
    t->shared++;
    queue_add(t, x);
}

/* Holds the request in its plugin's share. Returns false when the plugin has as many waiting as
 * all others may have. */
static bool threads_hold(struct share *s, struct exchange *x)
{
    if (s->held >= QUEUE_PER_THREAD)
        return false;
    x->next_done = NULL;
    if (!s->held++)
        s->last = &s->first;
    *s->last = x;
    s->last = &x->next_done;
    return true;
}

/* Ends a request of a share: others may go on, beginning with the plugin behind this one. */
static void leave_share(struct threads *t, unsigned share)
{
    size_t n = t->server->engine->n_plugins;

    if (!share)
        return;
    t->shares[share - 1].admitted--;
    t->shared--;
    for (size_t i = 0; i < n; i++) {
        struct share *s = &t->shares[(share + i) % n];

        while (s->held && threads_has_room(t, s)) {
            struct exchange *x = s->first;

            s->first = x->next_done;
            s->held--;
            admit(t, s, x);
        }
    }
}

/* ---- the queue ---- */

/* A thread's last word on its connection, and how many doubts there were before it. */
struct noted {
    bool up;
    unsigned doubts;
};

/* Waits for a request, a second at most, or for a doubt: *ret is NULL when none came. Returns false
 * when the threads end. */
static bool next_exchange(
    struct threads *t, struct seat *seat, const struct noted *noted, struct exchange **ret)
{
    struct exchange *x;
    struct timespec until;
    bool on, late = false;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    pthread_mutex_lock(&t->lock);
    while (!t->first && !t->stop && !late && atomic_load(&t->doubts) == noted->doubts) {
        seat->idle = true;
        late = pthread_cond_timedwait(&seat->more, &t->lock, &until) == ETIMEDOUT;
    }
    seat->idle = false;
    x = t->first;
    if (x) {
        seat->turn = ++t->turns;
        t->first = x->next_done;
        if (!t->first)
            t->last = &t->first;
        t->waiting--;
    }
    on = x || !t->stop;
    pthread_mutex_unlock(&t->lock);
    *ret = x;
    return on;
}

void threads_give_back(struct threads *t, struct exchange *x)
{
    struct exchange *before;
    uint64_t one = 1;

    if (x->share) {
        pthread_mutex_lock(&t->lock);
        leave_share(t, x->share);
        pthread_mutex_unlock(&t->lock);
        x->share = 0;
    }
    before = atomic_load(&t->done);
    do {
        x->next_done = before;
    } while (!atomic_compare_exchange_weak(&t->done, &before, x));
    if (!before && write(t->server->wake_fd, &one, sizeof(one)) < 0)
        log_debug("thread.wake", "the event loop is already awake");
}

static void threads_run_handler(struct exchange *x)
{
    if (clock_monotonic_us() > x->req.deadline_us)
        req_fail(&x->req, ERR_TIMEOUT, NULL, NULL);
    else
        request_run(&x->req);
    if (x->req.parked || !request_asks_response(&x->req))
        return;
    x->stage = STAGE_RESPONSE;
    x->req.engine->around->response(&x->req);
}

void threads_run(struct thread_ctx *ctx, struct exchange *x)
{
    static const char *const names[] = {"", "request hooks", "response hooks"};

    x->req.thread = ctx;
    thread_begins(
        &x->req, "wharf", x->stage == STAGE_RUN ? x->req.route->pattern : names[x->stage]);
    switch (x->stage) {
    case STAGE_RUN:
        threads_run_handler(x);
        break;
    case STAGE_REQUEST:
        x->req.engine->around->request(&x->req);
        break;
    case STAGE_RESPONSE:
        x->req.engine->around->response(&x->req);
        break;
    }
    thread_ends(&x->req);
    x->req.thread = NULL;
}

struct start {
    struct threads *t;
    size_t i;
};

/* Notes whether this thread has a connection, which it looks at when there is a new doubt. */
static void note_connection(struct threads *t, struct thread_ctx *ctx, struct noted *noted)
{
    unsigned doubts = atomic_load(&t->doubts);
    bool up;

    if (doubts != noted->doubts)
        db_look(ctx->db);
    up = db_up(ctx->db);
    if (up == noted->up && doubts == noted->doubts)
        return;
    pthread_mutex_lock(&t->lock);
    if (noted->up && noted->doubts == atomic_load(&t->doubts)) /* else it is not counted */
        atomic_fetch_sub(&t->connected, 1);
    *noted = (struct noted){up && doubts == atomic_load(&t->doubts), doubts};
    atomic_fetch_add(&t->connected, noted->up);
    pthread_mutex_unlock(&t->lock);
}

void threads_doubt(struct threads *t)
{
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->doubts, 1);
    atomic_store(&t->connected, 0);
    wake_all(t);
    pthread_mutex_unlock(&t->lock);
}

/* Gives a request to the threads that have a connection, when this one gets none: then they do all
 * of them. Returns false when there is no such thread. */
static bool left_to_others(
    struct threads *t, struct thread_ctx *ctx, struct noted *noted, struct exchange *x)
{
    bool up = db_up(ctx->db) || (atomic_load(&t->connected) && db_ready(ctx->db));

    note_connection(t, ctx, noted);
    if (up || !atomic_load(&t->connected))
        return false;
    pthread_mutex_lock(&t->lock);
    x->next_done = t->first;
    t->first = x;
    if (t->last == &t->first)
        t->last = &x->next_done;
    t->waiting++;
    wake_one(t);
    pthread_mutex_unlock(&t->lock);
    return true;
}

static void *thread_main(void *arg)
{
    struct start *start = arg;
    struct threads *t = start->t;
    struct thread_ctx *ctx = &t->ctx[start->i];
    size_t start_index = start->i;
    struct noted noted = {false, 0};
    struct exchange *x;

    free(start);
    crash_thread(ctx->activity);
    thread_plugins_start(t->server->engine, ctx);
    while (next_exchange(t, &t->seats[start_index], &noted, &x)) {
        if (!x) {
            db_look(ctx->db);
            if (start_index == 0) /* lanes shall not have the last connections */
                db_ready(ctx->db);
            note_connection(t, ctx, &noted);
            continue;
        }
        if (left_to_others(t, ctx, &noted, x)) {
            nanosleep(&(struct timespec){.tv_nsec = ASIDE_NS}, NULL);
            continue;
        }
        threads_run(ctx, x);
        note_connection(t, ctx, &noted);
        threads_give_back(t, x);
    }
    thread_plugins_stop(t->server->engine, ctx);
    db_close(ctx->db);
    return NULL;
}

struct threads *threads_start(struct server *s, size_t n)
{
    struct threads *t = calloc(1, sizeof(*t));
    const struct config *c = s->config;

    if (!t)
        return NULL;
    t->server = s;
    t->n = n > THREADS_MAX ? THREADS_MAX : n;
    t->shares = calloc(s->engine->n_plugins + 1, sizeof(*t->shares));
    for (size_t i = 0; i < s->engine->n_plugins && t->n < 2; i++)
        t->n += is_stranger(&s->engine->plugins[i]); /* one for them, one for everybody else */
    if (!t->shares)
        abort();
    t->last = &t->first;
    t->max_waiting = QUEUE_PER_THREAD * t->n;
    pthread_mutex_init(&t->lock, NULL);
    for (size_t i = 0; i < t->n; i++)
        cond_init_monotonic(&t->seats[i].more);
    for (size_t i = 0; i < t->n; i++) {
        struct start *start = malloc(sizeof(*start));

        t->ctx[i].index = (unsigned)i;
        t->ctx[i].db = db_open(s->boot->database, c->database_prepared, c->statement_timeout_ms);
        t->ctx[i].activity = &s->boot->board->workers[s->boot->slot].activities[i + 1];
        if (!start)
            abort();
        *start = (struct start){t, i};
        if (pthread_create(&t->ids[i], NULL, thread_main, start) != 0)
            abort();
    }
    return t;
}

size_t threads_connected(const struct threads *t)
{
    return atomic_load(&t->connected);
}

size_t threads_count(const struct threads *t)
{
    return t->n;
}

bool threads_push(struct threads *t, struct exchange *x)
{
    unsigned share = share_of_stranger(x);
    struct share *s;
    bool room;

    if (t->server->tenants && !share && tenant_threads_want(x))
        return tenant_threads_push(t->server->tenants, x);
    if (!share)
        share = share_of_long(t, x);
    s = share ? &t->shares[share - 1] : NULL;
    pthread_mutex_lock(&t->lock);
    room = t->waiting < t->max_waiting && !t->stop;
    if (room && s && !threads_has_room(t, s))
        room = threads_hold(s, x);
    else if (room && s)
        admit(t, s, x);
    else if (room)
        queue_add(t, x);
    pthread_mutex_unlock(&t->lock);
    return room;
}

struct exchange *threads_done(struct threads *t)
{
    return atomic_exchange(&t->done, NULL);
}

void threads_stop(struct threads *t)
{
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    wake_all(t);
    pthread_mutex_unlock(&t->lock);
    for (size_t i = 0; i < t->n; i++)
        pthread_join(t->ids[i], NULL);
}

void threads_free(struct threads *t)
{
    pthread_mutex_destroy(&t->lock);
    for (size_t i = 0; i < t->n; i++)
        pthread_cond_destroy(&t->seats[i].more);
    free(t->shares);
    free(t);
}
