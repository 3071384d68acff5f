/* body_reader.c - one thread per worker that reads large bodies: it unpacks and parses them, then hands the request to the worker
 * threads. It also frees the memory of requests that used much of it.
 *
 * Reading a body of megabytes takes tens of milliseconds. On the event loop all clients of this worker would wait for it; on
 * several worker threads at once it would take the processors from everybody. So it happens on one thread that steps back behind
 * the others. Leaves to others: parsing itself (body.c), the request (threads.c). docs/spec/01-platform.md section 2.3.
 */
#include "http/body_reader.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/board.h"
#include "supervisor/crash.h"
#include "util/log.h"
#include "util/time.h"
#include "util/turns.h"

enum { WAITING_MAX = 256, ARENAS_WAITING_MAX = 1024 };

struct body_reader {
    struct server *server;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct exchange *first, **last; /* by next_done */
    size_t waiting;
    struct arena *arenas[ARENAS_WAITING_MAX];
    size_t n_arenas;
    bool stop;
    pthread_t thread;
    struct crumb *crumb;
};

static bool reader_idle(const struct body_reader *r)
{
    return !r->first && !r->n_arenas && !r->stop;
}

/* Takes the next request and the arenas that wait; false when the thread is to end. */
static bool reader_take(
    struct body_reader *r, struct exchange **ret_x, struct arena *ret_arenas[ARENAS_WAITING_MAX], size_t *ret_n)
{
    bool go_on;

    pthread_mutex_lock(&r->lock);
    while (reader_idle(r))
        pthread_cond_wait(&r->more, &r->lock);
    *ret_x = r->first;
    if (r->first) {
        r->first = r->first->next_done;
        if (!r->first)
            r->last = &r->first;
        r->waiting--;
    }
    *ret_n = r->n_arenas;
    memcpy(ret_arenas, r->arenas, r->n_arenas * sizeof(*ret_arenas));
    r->n_arenas = 0;
    go_on = *ret_x || *ret_n || !r->stop;
    pthread_mutex_unlock(&r->lock);
    return go_on;
}

static void reader_read(struct body_reader *r, struct exchange *x)
{
    struct threads *t = r->server->threads;

    crumb_enter(r->crumb, "wharf", x->req.route->pattern, x->req.request_id, x->req.deadline_us);
    if (clock_monotonic_us() > x->req.deadline_us)
        req_fail(&x->req, "timeout", NULL, NULL);
    else
        read_body(x);
    crumb_leave(r->crumb);
    if (x->req.n_problems) {
        threads_give_back(t, x);
    } else if (!threads_push(t, x)) {
        x->req.retry_after = 1;
        req_fail(&x->req, "overloaded", NULL, NULL);
        threads_give_back(t, x);
    }
}

static void *reader_main(void *arg)
{
    struct body_reader *r = arg;
    struct arena *arenas[ARENAS_WAITING_MAX];
    struct exchange *x;
    size_t n;

    crash_thread(r->crumb);
    if (setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), STEP_BACK_NICE) != 0)
        log_debug("body.reader", "the thread that reads large bodies can't step back behind the others");
    while (reader_take(r, &x, arenas, &n)) {
        for (size_t i = 0; i < n; i++)
            arena_free(arenas[i]);
        if (x)
            reader_read(r, x);
    }
    return NULL;
}

struct body_reader *body_reader_start(struct server *s, struct crumb *crumb)
{
    struct body_reader *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->server = s;
    r->last = &r->first;
    r->crumb = crumb;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->more, NULL);
    if (pthread_create(&r->thread, NULL, reader_main, r) == 0)
        return r;
    free(r);
    return NULL;
}

bool body_reader_push(struct body_reader *r, struct exchange *x)
{
    bool room;

    pthread_mutex_lock(&r->lock);
    room = r->waiting < WAITING_MAX && !r->stop;
    if (room) {
        x->next_done = NULL;
        *r->last = x;
        r->last = &x->next_done;
        r->waiting++;
        pthread_cond_signal(&r->more);
    }
    pthread_mutex_unlock(&r->lock);
    return room;
}

void body_reader_free_arena(struct body_reader *r, struct arena *a)
{
    bool room;

    pthread_mutex_lock(&r->lock);
    room = r->n_arenas < ARENAS_WAITING_MAX && !r->stop;
    if (room) {
        r->arenas[r->n_arenas++] = a;
        pthread_cond_signal(&r->more);
    }
    pthread_mutex_unlock(&r->lock);
    if (!room)
        arena_free(a);
}

void body_reader_stop(struct body_reader *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->more);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
}

void body_reader_free(struct body_reader *r)
{
    if (!r)
        return;
    pthread_cond_destroy(&r->more);
    pthread_mutex_destroy(&r->lock);
    free(r);
}
