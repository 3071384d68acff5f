/* body_reader.c - one thread per worker that reads large bodies: it unpacks and parses them,
 * then gives the request back to the event loop, which hands it to the worker threads. It also
 * frees the memory of requests that used much of it.
 *
 * Reading a body of megabytes takes tens of milliseconds. On the event loop all clients of this
 * worker would wait for it; on several worker threads at once it would take the processors from
 * everybody. So it happens on one thread that steps back behind the others. What it shares with
 * the event loop has no lock: a thread that steps back may lose the processor for many
 * milliseconds while it holds one. Leaves to others: parsing itself (http_body.c), the request
 * (threads.c). docs/spec/01-platform.md section 2.3. */
#include "http/body_reader.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/board.h"
#include "process/crash.h"
#include "util/log.h"
#include "util/time.h"
#include "util/turns.h"
#include "wharf/errors.h"

enum {
    WAITING_MAX = 256, /* bodies that wait */
    RESTS = 3, /* times as long as it worked, while others ask */
    REST_MAX_US = 200000
};

struct dead_arena { /* lies in the arena itself */
    struct dead_arena *next;
    struct arena *arena;
};

struct body_reader {
    struct server *server;
    sem_t work; /* posted for each request, each arena and the end */
    _Atomic(struct exchange *) newest; /* by next_done, the last one first */
    _Atomic(struct dead_arena *) dead;
    atomic_size_t waiting; /* requests that are not read yet */
    atomic_bool stop;
    pthread_t thread;
    struct activity *activity;
};

/* Takes all requests that wait, the oldest first. */
static struct exchange *reader_take(struct body_reader *r)
{
    struct exchange *x = atomic_exchange(&r->newest, NULL), *oldest = NULL, *next;

    for (; x; x = next) {
        next = x->next_done;
        x->next_done = oldest;
        oldest = x;
    }
    return oldest;
}

static void reader_free_dead(struct body_reader *r)
{
    struct dead_arena *d = atomic_exchange(&r->dead, NULL), *next;

    for (; d; d = next) {
        next = d->next;
        arena_free(d->arena);
    }
}

/* Rests after a body, while clients ask for something else: who steps back by its niceness alone
 * does so within its own session only (util/turns.h), and PostgreSQL is another one. before: how
 * many requests this worker had answered when the body's turn came. */
static void reader_rest(const struct body_reader *r, int64_t worked_us, int64_t before)
{
    const struct board_worker *w = &r->server->boot->board->workers[r->server->boot->slot];
    int64_t rest_us = RESTS * worked_us < REST_MAX_US ? RESTS * worked_us : REST_MAX_US;

    if (atomic_load(&w->requests) - before > 1 && !atomic_load(&r->stop))
        usleep((useconds_t)rest_us);
}

static void reader_read(struct body_reader *r, struct exchange *x)
{
    activity_enter(
        r->activity, "wharf", x->req.route->pattern, x->req.request_id, x->req.deadline_us);
    if (clock_monotonic_us() > x->req.deadline_us)
        req_fail(&x->req, ERR_TIMEOUT, NULL, NULL);
    else
        read_body(x);
    activity_leave(r->activity);
    atomic_fetch_sub(&r->waiting, 1);
    threads_give_back(r->server->threads, x);
}

static void *reader_main(void *arg)
{
    struct body_reader *r = arg;
    const struct board_worker *w = &r->server->boot->board->workers[r->server->boot->slot];
    int64_t began_us, answered = 0;
    bool stop = false;

    crash_thread(r->activity);
    if (setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), STEP_BACK_NICE) != 0)
        log_debug(
            "body.reader", "the thread that reads large bodies can't step back behind the others");
    while (!stop) {
        struct exchange *x, *next;

        while (sem_wait(&r->work) != 0 && errno == EINTR) {
        }
        stop = atomic_load(&r->stop); /* before the last look: what came earlier is read */
        reader_free_dead(r);
        for (x = reader_take(r); x; x = next) {
            next = x->next_done; /* given back, it is the loop's */
            began_us = clock_monotonic_us();
            reader_read(r, x);
            reader_free_dead(r);
            reader_rest(r, clock_monotonic_us() - began_us, answered);
            answered = atomic_load(&w->requests);
        }
    }
    return NULL;
}

struct body_reader *body_reader_start(struct server *s, struct activity *activity)
{
    struct body_reader *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->server = s;
    r->activity = activity;
    if (sem_init(&r->work, 0, 0) == 0 && pthread_create(&r->thread, NULL, reader_main, r) == 0)
        return r;
    free(r);
    return NULL;
}

bool body_reader_push(struct body_reader *r, struct exchange *x)
{
    if (atomic_load(&r->stop) || atomic_load(&r->waiting) >= WAITING_MAX)
        return false;
    atomic_fetch_add(&r->waiting, 1);
    x->reading = true;
    x->next_done = atomic_load(&r->newest);
    while (!atomic_compare_exchange_weak(&r->newest, &x->next_done, x)) {
    }
    sem_post(&r->work);
    return true;
}

void body_reader_free_arena(struct body_reader *r, struct arena *a)
{
    struct dead_arena *d;

    if (atomic_load(&r->stop)) {
        arena_free(a);
        return;
    }
    /* Now and here: what is called may use the request, which is gone or has another memory
     * soon. */
    arena_end(a);
    d = ARENA_NEW(a, struct dead_arena);
    d->arena = a;
    d->next = atomic_load(&r->dead);
    while (!atomic_compare_exchange_weak(&r->dead, &d->next, d)) {
    }
    sem_post(&r->work);
}

void body_reader_stop(struct body_reader *r)
{
    if (!r)
        return;
    atomic_store(&r->stop, true);
    sem_post(&r->work);
    pthread_join(r->thread, NULL);
}

void body_reader_free(struct body_reader *r)
{
    if (!r)
        return;
    sem_destroy(&r->work);
    free(r);
}
