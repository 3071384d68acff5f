/* pool.c - taking a process out of a pool and giving it back; making and ending the pool. See
 * pool.h. */
#include "cell/pool.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/time.h"
#include "util/waker.h"

void cell_pool_wake(struct cell_pool *p)
{
    uint64_t one = 1;

    if (write(p->wake_fd, &one, sizeof(one)) != (ssize_t)sizeof(one) && errno != EAGAIN)
        abort(); /* an eventfd of ours that can't be written is not ours any more */
}

struct cell_pool *cell_pool_new(const struct cell_kind *kind, const char *dir)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    struct cell_pool *p = calloc(1, sizeof(*p));
    sigset_t others, before;

    if (!p)
        abort();
    p->kind = *kind;
    if (p->kind.max < p->kind.min || p->kind.max == 0)
        p->kind.max = p->kind.min ? p->kind.min : 1;
    snprintf(p->program, sizeof(p->program), "%s/wharf-cell-%s", dir, kind->name);
    pthread_mutex_init(&p->lock, NULL);
    cond_init_monotonic(&p->freed);
    p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* signals of the process are for its other threads; those of a crash can't be put off */
    sigfillset(&others);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    if (p->wake_fd < 0 || pthread_create(&p->keeper, NULL, cell_keeper, p) != 0)
        abort(); /* no descriptor or thread left at start */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return p;
}

void cell_pool_free(struct cell_pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_mutex_unlock(&p->lock);
    cell_pool_wake(p);
    pthread_join(p->keeper, NULL);
    close(p->wake_fd);
    pthread_cond_destroy(&p->freed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void cell_pool_counts(struct cell_pool *p, struct cell_counts *ret_counts)
{
    pthread_mutex_lock(&p->lock);
    *ret_counts = p->counts;
    ret_counts->idle = p->n_idle;
    ret_counts->live = p->n_all;
    pthread_mutex_unlock(&p->lock);
}

void cell_pool_count(struct cell_pool *p, enum cell_status status)
{
    pthread_mutex_lock(&p->lock);
    p->counts.by_status[status]++;
    p->counts.calls += status != CELL_UNAVAILABLE;
    pthread_mutex_unlock(&p->lock);
}

/* Tells whether an idle cell says nothing. One that does, or that is gone, is not given to
 * anybody. */
static bool pool_is_quiet(const struct cell *c)
{
    char byte;

    return recv(c->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
}

void cell_pool_unlist(struct cell_pool *p, struct cell *c)
{
    struct cell **at = &p->idle;

    while (*at != c)
        at = &(*at)->below;
    *at = c->below;
    p->n_idle--;
    p->n_owned -= c->owner[0] != 0;
}

static void pool_retire(struct cell_pool *p, struct cell *c)
{
    c->state = CELL_DYING;
    cell_kill(c);
    cell_pool_wake(p);
}

/* Picks, in order: this owner's idle cell primed with `mark`; this owner's unprimed cell; any
 * other cell of this owner; an unowned cell. Returns NULL when none is idle. *ret_other: the
 * longest idle cell that has another owner. */
static struct cell *find_idle(
    const struct cell_pool *p, const char *owner, uint64_t mark, struct cell **ret_other)
{
    struct cell *fresh = NULL, *own = NULL;

    *ret_other = NULL;
    for (struct cell *c = p->idle; c; c = c->below) {
        if (!strcmp(c->owner, owner) && owner[0]) {
            if (c->mark == mark)
                return c;
            if (!own || (own->mark && !c->mark))
                own = c;
        } else if (c->owner[0]) {
            *ret_other = c;
        } else if (!fresh) {
            fresh = c;
        }
    }
    return own ? own : fresh;
}

static bool is_full(const struct cell_pool *p)
{
    unsigned live = 0;

    for (const struct cell *c = p->all; c; c = c->next)
        live += c->state != CELL_DYING;
    return live >= p->kind.max;
}

/* Takes what is there; with none, makes room for one where others' stand idle. */
static struct cell *take_idle(struct cell_pool *p, const char *owner, uint64_t mark)
{
    struct cell *other, *c = find_idle(p, owner, mark, &other);

    if (!c && other && is_full(p)) {
        cell_pool_unlist(p, other);
        pool_retire(p, other);
    }
    if (!c)
        return NULL;
    cell_pool_unlist(p, c);
    c->state = CELL_BUSY;
    if (pool_is_quiet(c))
        return c;
    pool_retire(p, c);
    return NULL;
}

static void name_owner(wharf_str owner, char whose[CELL_OWNER_MAX + 1])
{
    whose[0] = 0;
    if (owner.n <= CELL_OWNER_MAX && owner.n)
        snprintf(whose, CELL_OWNER_MAX + 1, "%.*s", (int)owner.n, owner.p);
}

struct cell *cell_pool_take(struct cell_pool *p, const struct cell_call *call, int64_t give_up_us,
    char *reason, size_t size)
{
    struct timespec until = {give_up_us / 1000000, give_up_us % 1000000 * 1000};
    char whose[CELL_OWNER_MAX + 1];
    struct cell_waiter self = {.owner = whose}, **at;
    struct cell *c = NULL;
    int e = 0;

    name_owner(call->owner, whose);
    pthread_mutex_lock(&p->lock);
    p->waiting++;
    self.next = p->waiters;
    p->waiters = &self;
    while (!p->stopping && !(c = take_idle(p, whose, call->mark)) && e != ETIMEDOUT) {
        cell_pool_wake(p);
        e = pthread_cond_timedwait(&p->freed, &p->lock, &until);
    }
    for (at = &p->waiters; *at != &self;)
        at = &(*at)->next;
    *at = self.next;
    p->waiting--;
    if (c && ++c->calls) {
        memcpy(c->owner, whose, sizeof(whose));
        c->mark = 0;
    } else if (p->problem[0]) {
        snprintf(reason, size, "%s can't be started: %s", p->program, p->problem);
    } else {
        snprintf(reason, size, "all %u cells of kind %s are busy; try again later", p->kind.max,
            p->kind.name);
    }
    pthread_mutex_unlock(&p->lock);
    return c;
}

/* Tells whether somebody else waits and no cell comes for him: an owner that gives back and takes
 * again would keep all for itself. */
static bool others_wait(const struct cell_pool *p, const struct cell *c)
{
    unsigned others = 0, coming = p->n_starting + p->n_idle - p->n_owned;

    if (!c->owner[0])
        return false;
    for (const struct cell_waiter *w = p->waiters; w; w = w->next)
        others += strcmp(w->owner, c->owner) != 0;
    for (const struct cell *d = p->all; d && others > coming; d = d->next)
        coming += d->state == CELL_DYING;
    return others > coming && is_full(p);
}

static void pool_enlist(struct cell_pool *p, struct cell *c)
{
    c->state = CELL_IDLE;
    c->below = p->idle;
    p->idle = c;
    p->n_idle++;
    p->n_owned += c->owner[0] != 0;
    if (p->waiting)
        pthread_cond_broadcast(&p->freed); /* not everybody can take it */
}

/* Sends an AHEAD whole or not at all: a cell that does not take it all is no use any more. */
static bool send_ahead(const struct cell *c, wharf_str payload)
{
    struct frame_head head = {.size = (uint32_t)payload.n, .type = FRAME_AHEAD};
    struct iovec iov[2] = {{&head, sizeof(head)}, {(char *)payload.p, payload.n}};
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};

    return sendmsg(c->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)(sizeof(head) + payload.n);
}

void cell_pool_ahead(struct cell_pool *p, wharf_str owner, uint64_t mark, wharf_str payload)
{
    char whose[CELL_OWNER_MAX + 1];
    struct cell *c, *other;
    bool sent;

    name_owner(owner, whose);
    if (!whose[0] || payload.n > CELL_AHEAD_MAX)
        return;
    pthread_mutex_lock(&p->lock);
    c = find_idle(p, whose, 0, &other);
    if (c && c->owner[0]) {
        cell_pool_unlist(p, c);
        c->state = CELL_BUSY;
        /* who is told is awake at once, and may run before us: nobody else waits for that */
        pthread_mutex_unlock(&p->lock);
        sent = send_ahead(c, payload);
        pthread_mutex_lock(&p->lock);
        c->mark = mark;
        if (sent && !p->stopping)
            pool_enlist(p, c);
        else
            pool_retire(p, c);
    }
    pthread_mutex_unlock(&p->lock);
}

void cell_pool_give(struct cell_pool *p, struct cell *c, bool healthy)
{
    unsigned calls = c->owner[0] && p->kind.owned_calls ? p->kind.owned_calls : p->kind.calls;
    bool worn = c->calls >= calls ||
                (healthy && p->kind.growth_mib && cell_peak_kib(c) / 1024 > p->kind.growth_mib);

    pthread_mutex_lock(&p->lock);
    worn = worn || others_wait(p, c);
    if (!healthy || worn)
        cell_kill(c);
    if (healthy && !worn && !p->stopping) {
        c->since_us = clock_monotonic_us();
        pool_enlist(p, c);
        pthread_mutex_unlock(&p->lock);
        return;
    }
    c->state = CELL_DYING;
    pthread_mutex_unlock(&p->lock);
    cell_pool_wake(p);
}

static bool has_program(const char *dir, const char *kind)
{
    char program[1024];

    return snprintf(program, sizeof(program), "%s/wharf-cell-%s", dir, kind) <
               (int)sizeof(program) &&
           access(program, X_OK) == 0;
}

bool cell_find_dir(const char *setting, const char *kind, char *out, size_t size)
{
    static const char *const places[] = {"", "/../cells", "/../libexec/wharf"};
    char exe[400];
    ssize_t n;

    if (setting && setting[0])
        return snprintf(out, size, "%s", setting) < (int)size && has_program(out, kind);
    n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    if (n <= 0)
        return false;
    exe[n] = 0;
    *strrchr(exe, '/') = 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (snprintf(out, size, "%s%s", exe, places[i]) >= (int)size)
            return false;
        if (has_program(out, kind))
            return true;
    }
    return false;
}
