/* job_dispatch.c - the dispatcher: when to lease, how much, when to settle; and the runner's
 * start and end. See runner.h.
 *
 * Short jobs are leased ahead, as many as run in a few milliseconds, and settled together; long
 * ones are leased when a thread is free for them, so that nobody waits in this process while
 * another could run him. */
#include <stdlib.h>
#include <time.h>

#include "db/notifier.h"
#include "job/job_inside.h"
#include "process/board.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "util/waker.h"

enum {
    MS = 1000,
    SETTLE_N = 64, /* so many finished jobs are settled at once ... */
    SETTLE_US = 10 * MS, /* ... or those that wait so long */
    AHEAD_US = 20 * MS, /* of work per thread is leased ahead */
    AHEAD_MAX = 160,
    STALE_US = 250 * MS, /* leased ahead and not begun: given back */
    BEAT_US = 5000 * MS, /* between two signs of life */
    SWEEP_US = 2000 * MS, /* between two looks for jobs of dead workers */
    WATCH_US = 1000 * MS, /* between two notes of progress and looks for canceled jobs */
    POLL_US = 1000 * MS, /* docs/decisions 8 */
    AGAIN_US = 200 * MS, /* after the database was away */
    METRICS_US = 5000 * MS, /* between two counts */
    METRICS_SHARE = 100, /* of the time goes into counting, one part at most */
};

void list_add(struct job_list *l, struct leased *j)
{
    if (!l->first)
        l->last = &l->first;
    j->next = NULL;
    *l->last = j;
    l->last = &j->next;
    l->n++;
}

struct leased *list_take(struct job_list *l)
{
    struct leased *j = l->first;

    if (!j)
        return NULL;
    l->first = j->next;
    if (!l->first)
        l->last = &l->first;
    l->n--;
    return j;
}

static void job_dispatch_free_list(struct job_list *l)
{
    struct leased *j;

    while ((j = list_take(l)))
        arena_free(j->arena);
}

/* ---- what to do next; with the lock held ---- */

static size_t job_dispatch_wanted(const struct runner *r, const struct crew *crew)
{
    size_t idle = crew->n - crew->busy, waiting = crew->waiting.n - share_held_back(r, crew),
           target;
    double ahead = (double)crew->n * AHEAD_US / (crew->mean_us < 1 ? 1 : crew->mean_us);

    if (r->draining || !r->registered)
        return 0;
    target = idle + (ahead > AHEAD_MAX ? AHEAD_MAX : (size_t)ahead);
    return waiting <= target / 2 ? target - waiting : 0;
}

size_t runner_busy(const struct runner *r)
{
    size_t n = 0;

    for (size_t i = 0; i < CREWS; i++)
        n += r->crews[i].busy;
    return n;
}

/* Tells whether the last lease gave all that was asked for, and there is room again. */
static bool more_to_lease(const struct runner *r)
{
    for (size_t i = 0; i < CREWS; i++) {
        if (r->crews[i].more && job_dispatch_wanted(r, &r->crews[i]))
            return true;
    }
    return false;
}

static bool settle_now(const struct runner *r, int64_t now)
{
    if (!r->finished.n)
        return false;
    if (r->finished.n >= SETTLE_N || r->ending || r->draining || now - r->finished_us >= SETTLE_US)
        return true;
    for (size_t i = 0; i < CREWS; i++) {
        if (!r->crews[i].waiting.n && r->crews[i].busy < r->crews[i].n)
            return true; /* somebody has nothing to do */
    }
    return false;
}

static int64_t earliest(const struct runner *r)
{
    const int64_t times[] = {r->next_beat_us, r->next_sweep_us, r->next_poll_us, r->next_metrics_us,
        runner_busy(r) ? r->next_watch_us : INT64_MAX,
        r->finished.n ? r->finished_us + SETTLE_US : INT64_MAX};
    int64_t at = INT64_MAX;

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        at = times[i] < at ? times[i] : at;
    for (size_t i = 0; i < CREWS; i++) {
        const struct job_list *waiting = &r->crews[i].waiting;

        if (waiting->n && waiting->first->leased_us + STALE_US < at)
            at = waiting->first->leased_us + STALE_US;
    }
    return at;
}

static void job_dispatch_wait_for_turn(struct runner *r)
{
    int64_t now = clock_monotonic_us();

    while (
        !r->ending && !r->woken && !settle_now(r, now) && !more_to_lease(r) && now < earliest(r)) {
        int64_t at = earliest(r);
        struct timespec until = {at / 1000000, (at % 1000000) * 1000};

        pthread_cond_timedwait(&r->turn, &r->lock, &until);
        now = clock_monotonic_us();
    }
}

/* Returns the first job that waits for a thread only, and not for one of its plugin's share; NULL
 * when none does. */
static const struct leased *first_that_may_begin(const struct crew *crew)
{
    const struct leased *j = crew->waiting.n ? crew->waiting.first : NULL;

    while (j && share_is_full(crew, j))
        j = j->next;
    return j;
}

/* Takes back jobs that were leased ahead when the threads were slower than thought: others shall
 * have them. What only its plugin's share holds back says nothing of the threads. */
static void take_stale(
    const struct runner *r, struct crew *crew, struct job_list *list, int64_t now)
{
    const struct leased *next = first_that_may_begin(crew);
    struct job_list kept = {.n = 0};
    bool slow = next && now - next->leased_us >= STALE_US, all = r->draining || r->ending || slow;
    struct leased *j;

    if (slow)
        crew->mean_us = 1000000; /* begin carefully again */
    while ((j = list_take(&crew->waiting))) {
        if (!all && (now - j->leased_us < STALE_US || !share_is_full(crew, j))) {
            list_add(&kept, j);
            continue;
        }
        share_drop(crew, j);
        j->outcome = OUT_RELEASED;
        list_add(list, j);
    }
    while ((j = list_take(&kept)))
        list_add(&crew->waiting, j);
}

static void job_dispatch_collect(struct runner *r, struct job_list *list, int64_t now)
{
    struct leased *j;

    for (size_t i = 0; i < CREWS; i++)
        take_stale(r, &r->crews[i], list, now);
    while ((j = list_take(&r->finished)))
        list_add(list, j);
}

/* ---- doing it; without the lock ---- */

/* Settles the jobs of the list. What could not be settled is tried again: it stays on the list. A
 * lease that is over leaves nothing to settle. */
static bool job_dispatch_settle(struct runner *r, struct job_list *list)
{
    if (r->registered && list->n && !queue_settle(r, list) && r->registered)
        return false;
    job_dispatch_free_list(list);
    return true;
}

static bool lease(struct runner *r, struct crew *crew, size_t want)
{
    struct job_list got = {.n = 0};
    size_t taken, left;
    struct leased *j;
    bool good;

    pthread_mutex_lock(&r->lock);
    taken = crew->busy + crew->waiting.n - share_held_back(r, crew);
    left = taken < crew->n ? crew->n - taken : 0;
    pthread_mutex_unlock(&r->lock);
    /* several organizations at once must not get all between them either */
    if (crew == &r->crews[CREW_LONG] && left && want > (left + 1) / 2)
        want = (left + 1) / 2;
    good = queue_lease(r, crew, want, left, &got);
    crew->more = good && got.n >= want;
    pthread_mutex_lock(&r->lock);
    while ((j = list_take(&got)))
        share_add(crew, j);
    pthread_cond_broadcast(&r->more_jobs);
    pthread_mutex_unlock(&r->lock);
    return good;
}

static bool poll_clock(struct runner *r, int64_t now)
{
    int64_t wait_us;

    if (!queue_next(r, &wait_us))
        return false;
    if (wait_us <= 0 && (!queue_fire(r) || !queue_next(r, &wait_us)))
        return false;
    r->next_poll_us = now + (wait_us <= 0 ? 10 * MS : wait_us < POLL_US ? wait_us : POLL_US);
    return true;
}

static bool keep_up(struct runner *r, int64_t now)
{
    int64_t began;

    /* always before a sweep: the kernel clock may have been moved, and this worker lives */
    if (now >= r->next_beat_us || now >= r->next_sweep_us) {
        if (!queue_beat(r))
            return false;
        r->next_beat_us = now + BEAT_US;
    }
    if (now >= r->next_sweep_us) {
        if (!queue_sweep(r))
            return false;
        r->next_sweep_us = now + SWEEP_US;
    }
    if (now >= r->next_watch_us) {
        if (!queue_watch(r))
            return false;
        r->next_watch_us = now + WATCH_US;
    }
    if (now >= r->next_metrics_us && r->boot->index == 0) {
        began = clock_monotonic_us();
        if (!queue_metrics(r))
            return false;
        r->next_metrics_us = now + METRICS_US + METRICS_SHARE * (clock_monotonic_us() - began);
    }
    return true;
}

static bool job_dispatch_take_turn(
    struct runner *r, struct job_list *list, bool woken, const size_t want[CREWS])
{
    int64_t now = clock_monotonic_us();
    bool freed = list->n != 0, poll = now >= r->next_poll_us;

    if (!r->registered && !queue_register(r))
        return false;
    if (woken)
        r->next_watch_us = 0;
    if (!job_dispatch_settle(r, list) || !keep_up(r, now))
        return false;
    if (poll && !poll_clock(r, now))
        return false;
    if (db_epoch(r->db) != r->epoch) {
        freed = true;
        if (!queue_reconcile(r))
            return false;
    }
    for (size_t i = 0; i < CREWS; i++) {
        struct crew *crew = &r->crews[i];

        if (want[i] && (woken || poll || freed || crew->more) && !lease(r, crew, want[i]))
            return false;
    }
    return true;
}

static void job_dispatch_finish(struct runner *r, struct job_list *list)
{
    pthread_mutex_lock(&r->lock);
    job_dispatch_collect(r, list, clock_monotonic_us());
    pthread_mutex_unlock(&r->lock);
    job_dispatch_settle(r, list);
    queue_leave(r);
}

void *dispatcher_main(void *arg)
{
    struct runner *r = arg;
    struct job_list list = {.n = 0};
    bool ending = false;

    while (!ending) {
        size_t want[CREWS];
        bool woken;

        pthread_mutex_lock(&r->lock);
        job_dispatch_wait_for_turn(r);
        ending = r->ending;
        woken = r->woken;
        r->woken = false;
        job_dispatch_collect(r, &list, clock_monotonic_us());
        for (size_t i = 0; i < CREWS; i++)
            want[i] = job_dispatch_wanted(r, &r->crews[i]);
        pthread_mutex_unlock(&r->lock);
        if (ending || job_dispatch_take_turn(r, &list, woken, want))
            continue;
        /* the database is away: what was to be done stays to be done */
        for (size_t i = 0; i < CREWS; i++)
            r->crews[i].more = false;
        r->next_poll_us = 0;
        nanosleep(&(struct timespec){0, AGAIN_US * 1000}, NULL);
    }
    job_dispatch_finish(r, &list);
    db_close(r->db);
    return NULL;
}

/* ---- start and end ---- */

static void start_executor(struct runner *r, struct crew *crew)
{
    size_t i = r->n_executors++;
    struct executor *x = &r->executors[i];

    x->runner = r;
    x->crew = crew;
    x->ctx.index = (unsigned)i;
    thread_connect(r, &x->ctx);
    x->ctx.activity = &r->boot->board->workers[r->boot->slot].activities[BOARD_THREADS - 1 - i];
    if (pthread_create(&x->id, NULL, executor_main, x) != 0)
        abort();
}

/* Starts one thread per job of each crew that runs: none where no module has such jobs. */
static void start_crews(struct runner *r)
{
    r->crews[CREW_USUAL].n = (size_t)r->config->jobs_threads;
    r->crews[CREW_LONG].n = r->crews[CREW_LONG].queues.n > 2 ? job_long_threads(r->config) : 0;
    for (size_t i = 0; i < CREWS; i++) {
        struct crew *crew = &r->crews[i];

        crew->waiting.last = &crew->waiting.first;
        crew->mean_us = 10 * MS;
    }
    shares_plan(r);
    for (size_t i = 0; i < CREWS; i++)
        for (size_t k = 0; k < r->crews[i].n; k++)
            start_executor(r, &r->crews[i]);
}

struct runner *runner_start(
    struct engine *e, const struct config *config, const struct worker_boot *boot)
{
    struct runner *r = calloc(1, sizeof(*r));

    if (!r)
        abort();
    r->engine = e;
    r->config = config;
    r->boot = boot;
    r->started_us = clock_monotonic_us();
    r->db = db_open(boot->database, config->database_prepared, config->statement_timeout_ms);
    r->finished.last = &r->finished.first;
    runner_host(r);
    shares_number(r);
    queue_arrays(r);
    for (size_t i = 0; i < e->n_jobs; i++)
        e->jobs[i].metrics = board_job(boot->board, e->jobs[i].name);
    pthread_mutex_init(&r->lock, NULL);
    cond_init_monotonic(&r->more_jobs);
    cond_init_monotonic(&r->turn);
    cond_init_monotonic(&r->idle);
    start_crews(r);
    residents_start(r);
    if (pthread_create(&r->dispatcher, NULL, dispatcher_main, r) != 0)
        abort();
    return r;
}

void runner_news(void *runner, unsigned news)
{
    struct runner *r = runner;

    if (news & (NEWS_JOBS | NEWS_CLOCK)) {
        pthread_mutex_lock(&r->lock);
        r->woken = true;
        pthread_cond_signal(&r->turn);
        pthread_mutex_unlock(&r->lock);
    }
    residents_news(r, news);
}

void runner_drain(void *runner)
{
    struct runner *r = runner;

    pthread_mutex_lock(&r->lock);
    if (!r->draining)
        r->drain_until_us = clock_monotonic_us() + r->config->drain_timeout_ms * 1000;
    r->draining = true;
    r->woken = true;
    pthread_cond_signal(&r->turn);
    pthread_mutex_unlock(&r->lock);
    residents_news(r, ~0u);
}

void runner_stop(struct runner *r)
{
    struct timespec until;
    bool idle;

    runner_drain(r);
    until = (struct timespec){r->drain_until_us / 1000000, (r->drain_until_us % 1000000) * 1000};
    pthread_mutex_lock(&r->lock);
    while (runner_busy(r) + r->n_resident > 0 && clock_monotonic_us() < r->drain_until_us)
        pthread_cond_timedwait(&r->idle, &r->lock, &until);
    idle = !runner_busy(r) && !r->n_resident;
    if (!idle)
        log_warn("job.drain",
            "%zu jobs and %zu residents did not stop in time; jobs are given back and run again",
            runner_busy(r), r->n_resident);
    r->ending = true;
    pthread_cond_broadcast(&r->more_jobs);
    pthread_cond_signal(&r->turn);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->dispatcher, NULL);
    for (size_t i = 0; idle && i < r->n_executors; i++)
        pthread_join(r->executors[i].id, NULL);
    if (idle)
        residents_join(r);
}
