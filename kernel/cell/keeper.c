/* keeper.c - the thread of a pool that starts processes ahead, hears their hello, notices those
 * that die and reaps all. See pool.h. */
#include "cell/pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/time.h"

enum {
    SECOND = 1000000,
    /* A process that steps back for others starts late on a busy machine. Ended too soon, each of
     * its successors would be as late, and none would ever serve. */
    HELLO_LIMIT_US = 30 * SECOND, /* a new process may take to be ready */
    RETRY_FIRST_US = 100000, /* pause after a start that failed; doubled */
    RETRY_LAST_US = 5 * SECOND, /* longest pause */
    AGAIN_MS = 100,
    WATCHED = 256
};

/* Notes that a process ended before it was any use: the next start waits, and those who wait for a
 * cell are told. */
static void start_failed(struct cell_pool *p, const char *why)
{
    int64_t pause = RETRY_FIRST_US;

    for (unsigned i = 0; i < p->failures && pause < RETRY_LAST_US; i++)
        pause *= 2;
    p->failures++;
    p->retry_us = clock_monotonic_us() + pause;
    snprintf(p->problem, sizeof(p->problem), "%s", why);
}

static void keeper_start_one(struct cell_pool *p)
{
    struct cell *c = calloc(1, sizeof(*c));
    int e = c ? 0 : ENOMEM;

    if (c) {
        /* execs take a millisecond: nobody else has to wait for that */
        pthread_mutex_unlock(&p->lock);
        e = cell_launch(p, c);
        pthread_mutex_lock(&p->lock);
    }
    if (e) {
        free(c);
        start_failed(p, strerror(e));
        return;
    }
    frame_reader_init(&c->reader, p->kind.frame_max);
    c->since_us = clock_monotonic_us();
    c->next = p->all;
    p->all = c;
    p->n_all++;
    p->n_starting++;
    p->counts.started++;
}

static void start_missing(struct cell_pool *p)
{
    /* who comes next finds one that is nobody's, while there is room */
    unsigned fresh = p->n_idle - p->n_owned + p->n_starting, live = 0,
             asked = p->waiting + (p->kind.owned_calls ? (p->kind.min + 1) / 2 : 0),
             wanted = asked > fresh ? asked - fresh : 0;

    for (const struct cell *c = p->all; c; c = c->next)
        live += c->state != CELL_DYING;
    if (live < p->kind.min && wanted < p->kind.min - live)
        wanted = p->kind.min - live;
    for (; wanted > 0 && live < p->kind.max && !p->stopping && clock_monotonic_us() >= p->retry_us;
         wanted--, live++)
        keeper_start_one(p);
}

static void not_started(struct cell_pool *p, struct cell *c, const char *why)
{
    c->state = CELL_DYING;
    cell_kill(c);
    p->n_starting--;
    start_failed(p, why);
}

/* Reads the hello of a starting process, whose socket is readable. */
static void hear_hello(struct cell_pool *p, struct cell *c)
{
    size_t room;
    char *to = frame_reader_room(&c->reader, &room);
    ssize_t n = to ? recv(c->sock, to, room, MSG_DONTWAIT) : -1;
    struct frame f;
    int got;

    if (n < 0 && to && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        not_started(p, c, "it ended before it was ready");
        return;
    }
    frame_reader_got(&c->reader, (size_t)n);
    got = frame_reader_next(&c->reader, &f);
    if (got == 0)
        return;
    if (got < 0 || f.head.type != FRAME_HELLO || f.head.size != strlen(p->kind.name) ||
        memcmp(f.payload, p->kind.name, f.head.size) != 0) {
        not_started(p, c, "it is not a cell of this kind");
        return;
    }
    p->n_starting--;
    p->failures = 0;
    p->problem[0] = 0;
    c->state = CELL_IDLE;
    c->since_us = clock_monotonic_us();
    c->below = p->idle;
    p->idle = c;
    p->n_idle++;
    pthread_cond_broadcast(&p->freed);
}

static void leave_idle(struct cell_pool *p, struct cell *c)
{
    cell_pool_unlist(p, c);
    c->state = CELL_DYING;
    cell_kill(c);
}

/* Ends what is too old, too late or not needed; all that is not in use when the pool stops. */
static void keeper_look_after(struct cell_pool *p, int64_t now)
{
    unsigned live = p->n_all;

    for (struct cell *c = p->all; c; c = c->next)
        live -= c->state == CELL_DYING;
    for (struct cell *c = p->all; c; c = c->next) {
        if (c->state == CELL_STARTING && (p->stopping || now - c->since_us > HELLO_LIMIT_US)) {
            not_started(p, c, "it was not ready in 30 s");
        } else if (c->state == CELL_IDLE &&
                   (p->stopping || ((live > p->kind.min || c->owner[0]) && p->kind.idle_s &&
                                       now - c->since_us > (int64_t)p->kind.idle_s * SECOND))) {
            leave_idle(p, c);
            live--;
        }
        if (c->state == CELL_DYING && c->sock >= 0) {
            close(c->sock);
            c->sock = -1;
        }
    }
}

/* Reaps processes that ended, whether they were told to or not. Those in use are left to their
 * run. */
static void keeper_reap(struct cell_pool *p)
{
    for (struct cell **at = &p->all; *at;) {
        struct cell *c = *at;
        siginfo_t info = {0};
        bool over = c->state != CELL_BUSY &&
                    waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                    info.si_pid != 0;

        if (over && c->state == CELL_IDLE)
            leave_idle(p, c);
        if (over && c->state == CELL_STARTING)
            not_started(p, c, "it ended before it was ready");
        if (!over) {
            at = &c->next;
            continue;
        }
        waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG);
        *at = c->next;
        p->n_all--;
        if (c->sock >= 0)
            close(c->sock);
        close(c->pidfd);
        if (c->group >= 0)
            close(c->group);
        frame_reader_done(&c->reader);
        free(c);
    }
}

static size_t watch_list(const struct cell_pool *p, struct pollfd *watched)
{
    size_t n = 0;

    watched[n++] = (struct pollfd){.fd = p->wake_fd, .events = POLLIN};
    for (const struct cell *c = p->all; c && n + 2 <= WATCHED; c = c->next) {
        if (c->state != CELL_BUSY)
            watched[n++] = (struct pollfd){.fd = c->pidfd, .events = POLLIN};
        if (c->state == CELL_STARTING)
            watched[n++] = (struct pollfd){.fd = c->sock, .events = POLLIN};
    }
    return n;
}

/* Lets the cells step back. Returns false when some are to be asked for again soon. */
static bool keeper_step_back(const struct cell_pool *p)
{
    bool all = true;

    for (struct cell *c = p->all; c && all; c = c->next)
        all = cell_step_back(p, c);
    return all;
}

static int keeper_pause_ms(const struct cell_pool *p)
{
    int64_t now = clock_monotonic_us(), left = SECOND;

    if (p->problem[0] && p->retry_us > now && p->retry_us - now < left)
        left = p->retry_us - now;
    return (int)(left / 1000) + 1;
}

void *cell_keeper(void *pool)
{
    struct cell_pool *p = pool;
    struct pollfd watched[WATCHED];
    uint64_t drained;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        size_t n;
        int limit;

        for (struct cell *c = p->all, *next; c; c = next) {
            next = c->next;
            if (c->state == CELL_STARTING)
                hear_hello(p, c);
        }
        keeper_look_after(p, clock_monotonic_us());
        keeper_reap(p);
        if (p->stopping && !p->all)
            break;
        start_missing(p);
        n = watch_list(p, watched);
        limit = keeper_step_back(p) ? keeper_pause_ms(p) : AGAIN_MS;
        pthread_mutex_unlock(&p->lock);
        poll(watched, n, limit);
        if (watched[0].revents && read(p->wake_fd, &drained, sizeof(drained)) < 0 &&
            errno != EAGAIN)
            abort();
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}
