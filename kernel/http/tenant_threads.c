/* tenant_threads.c - threads for requests in which code of an organization runs: triggers that
 * answer, and writes with its hooks (docs/spec/08-workflows-and-lua.md section 6, rules 8 and 9).
 *
 * Such a request waits in the queue of its organization and holds no thread meanwhile. Threads are
 * started when somebody waits, up to workflows.cells_max, and end when they had nothing to do for
 * a while. Organizations take turns; none has more than three quarters of the threads, so that
 * one whose runs are slow does not keep others out. A request waits as long as any other request
 * may take (http.handler_timeout). One whose turn will not come in that time is refused at once,
 * with the seconds that it would take; one whose turn did not come, when the time is over.
 *
 * Leaves to others: which requests these are (observers, routes), and what runs (services/lua). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/exchange.h"
#include "process/board.h"
#include "process/crash.h"
#include "resource/observe.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum {
    KEY_MAX = 48,
    IDLE_S = 20, /* then a thread without work ends */
    FIRST_GUESS_US = 20000,
    WAITING_MAX = 8192 /* requests that wait */
};

/* One organization, or one public trigger, with requests that wait or run. */
struct party {
    struct party *next;
    char key[KEY_MAX];
    struct exchange *first, **last;
    size_t waiting, running;
    int64_t held_us; /* how long a request keeps its thread, lately */
};

struct tenant_threads {
    struct server *server;
    struct threads *home; /* takes what is done */
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t more, gone;
    struct party *parties; /* whose turn is next stands first */
    size_t n_parties, waiting, idle, live, most;
    int64_t held_us; /* of all */
    unsigned first_activity;
    bool stop;
    struct tenant_thread {
        struct tenant_threads *t;
        struct thread_ctx ctx;
        bool live;
    } threads[BOARD_THREADS];
};

/* ---- whose turn it is ---- */

/* Writes what requests are counted by: the organization; of a public trigger the first id in the
 * path, which is its workflow's. */
static void party_key(const struct exchange *x, char key[KEY_MAX])
{
    const struct wharf_req *req = &x->req;
    wharf_str of = req->access.who && req->access.who->organization.n
                       ? req->access.who->organization
                   : req->route->n_params ? req->params[0]
                                          : str_z("");

    snprintf(key, KEY_MAX, "%.*s", (int)(of.n < KEY_MAX ? of.n : KEY_MAX - 1), of.p ? of.p : "");
}

/* Returns how many threads one party may have. */
static size_t party_most(const struct tenant_threads *t)
{
    return t->most > 3 ? t->most - t->most / 4 : t->most;
}

static struct party *party_find(struct tenant_threads *t, const char *key)
{
    struct party *p = t->parties;

    while (p && strcmp(p->key, key) != 0)
        p = p->next;
    if (p)
        return p;
    p = calloc(1, sizeof(*p));
    if (!p)
        abort();
    memcpy(p->key, key, KEY_MAX);
    p->last = &p->first;
    p->held_us = t->held_us;
    p->next = t->parties;
    t->parties = p;
    t->n_parties++;
    return p;
}

/* Takes the party out of the list; behind: it is added again as the last. */
static void party_move(struct tenant_threads *t, struct party *p, bool behind)
{
    struct party **at = &t->parties;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    p->next = NULL;
    if (!behind) {
        t->n_parties--;
        free(p);
        return;
    }
    while (*at)
        at = &(*at)->next;
    *at = p;
}

static void party_leave(struct tenant_threads *t, struct party *p, int64_t held_us)
{
    p->held_us += (held_us - p->held_us) / 4;
    t->held_us += (held_us - t->held_us) / 4;
    p->running--;
    if (!p->running && !p->waiting)
        party_move(t, p, false);
}

/* Takes the next request: the first of the first party that has one and may have a thread more. */
static struct exchange *tenant_threads_take_turn(struct tenant_threads *t, struct party **ret_party)
{
    for (struct party *p = t->parties; p; p = p->next) {
        struct exchange *x = p->first;

        if (!x || p->running >= party_most(t))
            continue;
        p->first = x->next_done;
        if (!p->first)
            p->last = &p->first;
        p->waiting--;
        t->waiting--;
        p->running++;
        party_move(t, p, true);
        *ret_party = p;
        return x;
    }
    return NULL;
}

/* ---- threads ---- */

/* Waits for a request. NULL: there was none for a while, or the server stops. */
static struct exchange *wait_turn(struct tenant_threads *t, struct party **ret_party)
{
    struct exchange *x;
    int64_t until_us = clock_monotonic_us() + IDLE_S * 1000000;
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    int e = 0;

    pthread_mutex_lock(&t->lock);
    t->idle++;
    while (!(x = tenant_threads_take_turn(t, ret_party)) && !t->stop && e != ETIMEDOUT)
        e = pthread_cond_timedwait(&t->more, &t->lock, &until);
    t->idle--;
    pthread_mutex_unlock(&t->lock);
    return x;
}

static void tenant_threads_run(struct tenant_thread *own, struct party *p, struct exchange *x)
{
    struct tenant_threads *t = own->t;
    int64_t begun_us = clock_monotonic_us();

    threads_run(&own->ctx, x);
    pthread_mutex_lock(&t->lock);
    party_leave(t, p, clock_monotonic_us() - begun_us);
    if (t->waiting && t->idle)
        pthread_cond_signal(&t->more); /* the party may have one more now */
    pthread_mutex_unlock(&t->lock);
    threads_give_back(t->home, x);
}

static void *tenant_thread_main(void *arg)
{
    struct tenant_thread *own = arg;
    struct tenant_threads *t = own->t;
    struct party *p = NULL;
    struct exchange *x;

    crash_thread(own->ctx.activity);
    thread_plugins_start(t->server->engine, &own->ctx);
    while ((x = wait_turn(t, &p)))
        tenant_threads_run(own, p, x);
    thread_plugins_stop(t->server->engine, &own->ctx);
    db_close(own->ctx.db);
    pthread_mutex_lock(&t->lock);
    own->live = false;
    t->live--;
    pthread_cond_signal(&t->gone);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Starts one more thread, where there may be one. The caller holds the lock. */
static void tenant_threads_start_one(struct tenant_threads *t)
{
    const struct worker_boot *boot = t->server->boot;
    const struct config *c = t->server->config;
    struct tenant_thread *own = t->threads;
    pthread_attr_t detached;
    pthread_t id;

    while (own < t->threads + t->most && own->live)
        own++;
    if (own == t->threads + t->most)
        return;
    *own = (struct tenant_thread){.t = t, .live = true};
    own->ctx.index = t->first_activity + (unsigned)(own - t->threads);
    own->ctx.db = db_open(boot->database, c->database_prepared, c->statement_timeout_ms);
    own->ctx.activity = &boot->board->workers[boot->slot].activities[own->ctx.index];
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    own->live = pthread_create(&id, &detached, tenant_thread_main, own) == 0;
    pthread_attr_destroy(&detached);
    if (own->live)
        t->live++;
    else
        db_close(own->ctx.db);
}

/* ---- for the event loop ---- */

struct tenant_threads *tenant_threads_new(
    struct server *s, struct threads *home, unsigned first_activity)
{
    size_t most = s->engine->tenant_runs, room = BOARD_THREADS - first_activity;
    struct tenant_threads *t;

    if (!most)
        return NULL;
    t = calloc(1, sizeof(*t));
    if (!t)
        abort();
    t->server = s;
    t->home = home;
    t->most = most < room ? most : room;
    t->held_us = FIRST_GUESS_US;
    t->first_activity = first_activity;
    pthread_mutex_init(&t->lock, NULL);
    cond_init_monotonic(&t->more);
    cond_init_monotonic(&t->gone);
    return t;
}

bool tenant_threads_want(const struct exchange *x)
{
    const struct route *r = x->stage == STAGE_RUN ? x->req.route : NULL;
    uint32_t op;

    if (!r)
        return false; /* hooks of the operator come before and behind it */
    op = r->kind == ROUTE_CREATE   ? OP_CREATE
         : r->kind == ROUTE_UPDATE ? OP_UPDATE
         : r->kind == ROUTE_DELETE ? OP_DELETE
                                   : 0;
    return r->tenant_code || (op && r->resource && write_runs_tenant(&x->req, r->resource, op));
}

/* Returns how long the party's next request will wait, when those before it take as long as
 * lately and other parties want threads as well. */
static int64_t expected_wait_us(const struct tenant_threads *t, const struct party *p)
{
    size_t share = t->most / (t->n_parties ? t->n_parties : 1), most = party_most(t);

    share = share < 1 ? 1 : share > most ? most : share;
    return p->running + p->waiting < share ? 0
                                           : p->held_us * (int64_t)((p->waiting + share) / share);
}

static void tenant_threads_refuse(
    const struct tenant_threads *t, struct exchange *x, int64_t wait_us)
{
    x->req.reply.retry_after = (int)(wait_us / 1000000) + 1;
    req_fail(&x->req, ERR_OVERLOADED, NULL,
        "the code of organizations runs in %zu processes of this worker at a time "
        "(workflows.cells_max), and they are busy for longer than the request may wait; try again",
        t->most);
}

bool tenant_threads_push(struct tenant_threads *t, struct exchange *x)
{
    char key[KEY_MAX];
    struct party *p;
    int64_t now_us = clock_monotonic_us(), wait_us, left_us;
    bool taken;

    party_key(x, key);
    x->turn_by_us = now_us + t->server->config->handler_timeout_ms * 1000;
    if (x->turn_by_us > x->req.deadline_us)
        x->turn_by_us = x->req.deadline_us;
    left_us = x->turn_by_us - now_us;
    pthread_mutex_lock(&t->lock);
    p = party_find(t, key);
    wait_us = expected_wait_us(t, p);
    taken = !t->stop && wait_us <= left_us && t->waiting < WAITING_MAX;
    if (taken) {
        x->next_done = NULL;
        *p->last = x;
        p->last = &x->next_done;
        p->waiting++;
        t->waiting++;
        if (t->idle >= t->waiting || t->live == t->most)
            pthread_cond_signal(&t->more);
        else
            tenant_threads_start_one(t);
    } else {
        tenant_threads_refuse(t, x, wait_us - left_us > 0 ? wait_us - left_us : 0);
        if (!p->running && !p->waiting)
            party_move(t, p, false);
    }
    pthread_mutex_unlock(&t->lock);
    return taken;
}

bool tenant_threads_withdraw(struct tenant_threads *t, struct exchange *x)
{
    char key[KEY_MAX];
    struct party *p;
    struct exchange **at;
    bool waits;

    party_key(x, key);
    x->turn_by_us = 0;
    pthread_mutex_lock(&t->lock);
    p = party_find(t, key);
    for (at = &p->first; *at && *at != x;)
        at = &(*at)->next_done;
    waits = *at != NULL;
    if (waits) {
        *at = x->next_done;
        for (p->last = &p->first; *p->last;)
            p->last = &(*p->last)->next_done;
        p->waiting--;
        t->waiting--;
        tenant_threads_refuse(t, x, expected_wait_us(t, p));
    }
    if (!p->running && !p->waiting)
        party_move(t, p, false);
    pthread_mutex_unlock(&t->lock);
    return waits;
}

void tenant_threads_stop(struct tenant_threads *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    while (t->live) {
        pthread_cond_broadcast(&t->more);
        pthread_cond_wait(&t->gone, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

void tenant_threads_free(struct tenant_threads *t)
{
    if (!t)
        return;
    while (t->parties)
        party_move(t, t->parties, false);
    pthread_cond_destroy(&t->more);
    pthread_cond_destroy(&t->gone);
    pthread_mutex_destroy(&t->lock);
    free(t);
}
