/* resident.c - jobs that run all the time: one thread per kind and job worker, from its start to
 * its end (docs/internals/jobs.md).
 *
 * A resident has no row in the queue, no lease and no fence: whatever several of them may do at
 * a time is settled by locks in the database. It waits by job_wait(), which its outgoing
 * requests end as well. One that returns is started again with a new request. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "db/notifier.h"
#include "job/side_statement.h"
#include "job/job_inside.h"
#include "resource/engine.h"
#include "resource/hooks.h"
#include "process/board.h"
#include "process/crash.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum {
    ARENA_BUDGET = 512 * 1024 * 1024,
    SOON_US = 1000000,
    BACKOFF_FIRST_US = 500000, /* pause after a resident that failed; doubled */
    BACKOFF_MAX_US = 30000000, /* longest pause */
    WAIT_AT_END_US = 10000
};

struct stay { /* one run of a resident */
    struct req_job job; /* first: what a request points to */
    struct resident *resident;
};

static struct resident *resident_of(const struct wharf_req *req)
{
    return ((struct stay *)req->job)->resident;
}

static bool resident_told_to_stop(const struct wharf_req *req)
{
    return resident_of(req)->runner->draining;
}

static uint32_t resident_note_progress(struct wharf_req *req, uint32_t done, uint32_t total)
{
    (void)done, (void)total;
    return resident_told_to_stop(req);
}

void job_wait(struct wharf_req *req, int64_t wait_us)
{
    if (req->job && req->job->resident && resident_told_to_stop(req) && wait_us > WAIT_AT_END_US)
        wait_us = WAIT_AT_END_US;
    if (req->job && req->job->resident)
        waker_wait(req->job->waker, wait_us);
    req->now_us = clock_now_us();
}

static wharf_status resident_run_once(struct resident *x)
{
    struct stay stay = {.resident = x};
    struct wharf_req req = {.arena = arena_new(ARENA_BUDGET)};
    wharf_status s;

    stay.job = (struct req_job){.plugin = x->kind->plugin ? x->kind->plugin->name : "wharf",
        .doing = x->what,
        .since_us = clock_monotonic_us(),
        .progress = resident_note_progress,
        .stop = resident_told_to_stop,
        .waker = &x->waker,
        .resident = true};
    req.engine = x->runner->engine;
    req.thread = &x->ctx;
    req.head.method = "JOB";
    req.head.path = str_z(x->kind->name);
    req.head.raw_query = req.head.client_request_id = req.head.traceparent = req.batch_id = str_z(
        "");
    req.body = ARENA_NEW(req.arena, struct wharf_json);
    *(struct wharf_json *)req.body = (struct wharf_json){.type = JSON_OBJECT};
    req.start_us = clock_monotonic_us();
    req.now_us = clock_now_us();
    req.access.who = principal_system(req.arena, str_z(""));
    req.plugin = x->kind->plugin;
    req.job = &stay.job;
    buf_init(&req.reply.out, 64 << 20);
    jw_init(&req.reply.w, &req.reply.out);
    activity_enter(x->ctx.activity, stay.job.plugin, stay.job.doing, "", 0);
    s = x->kind->fn(&req, x->kind->arg);
    activity_leave(x->ctx.activity);
    side_statement_free(stay.job.side_statement);
    while (req.tx.depth)
        req_rollback(&req);
    if (s == WHARF_OK && req.problems.n)
        s = WHARF_INVALID;
    if (s != WHARF_OK && !x->runner->draining)
        log_write(WHARF_LOG_ERROR, stay.job.plugin, NULL, "resident.failed", "%s: %s",
            x->kind->name, req.problems.n ? req.problems.list[0].text.p : "it gave no reason");
    buf_done(&req.reply.out);
    arena_free(req.arena);
    return s;
}

/* Sleeps in small steps: the end of the worker is not held up. */
static void rest(const struct resident *x, int64_t us)
{
    int64_t until = clock_monotonic_us() + us;

    while (!x->runner->draining && clock_monotonic_us() < until)
        nanosleep(&(struct timespec){0, 20000000}, NULL);
}

static void *resident_main(void *arg)
{
    struct resident *x = arg;
    struct runner *r = x->runner;
    int64_t backoff_us = BACKOFF_FIRST_US;

    crash_thread(x->ctx.activity);
    thread_plugins_start(r->engine, &x->ctx);
    while (!r->draining) {
        int64_t began = clock_monotonic_us();
        wharf_status s = resident_run_once(x);
        bool long_run = clock_monotonic_us() - began >= SOON_US;

        if (s == WHARF_OK || long_run)
            backoff_us = BACKOFF_FIRST_US;
        if (s != WHARF_OK || !long_run)
            rest(x, backoff_us);
        if (s != WHARF_OK)
            backoff_us = backoff_us * 2 < BACKOFF_MAX_US ? backoff_us * 2 : BACKOFF_MAX_US;
    }
    thread_plugins_stop(r->engine, &x->ctx);
    thread_disconnect(&x->ctx);
    pthread_mutex_lock(&r->lock);
    r->n_resident--;
    pthread_cond_signal(&r->idle);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

void residents_start(struct runner *r)
{
    const struct engine *e = r->engine;

    for (size_t i = 0; i < e->n_jobs && r->n_residents < RESIDENTS_MAX; i++) {
        struct resident *x = &r->residents[r->n_residents];

        if (!e->jobs[i].policy.resident)
            continue;
        waker_init(&x->waker);
        x->runner = r;
        x->kind = &e->jobs[i];
        snprintf(x->what, sizeof(x->what), "job %s", strchr(x->kind->name, '.') + 1);
        x->ctx.index = (unsigned)(EXECUTORS + r->n_residents);
        thread_connect(r, &x->ctx);
        x->ctx.activity = &r->boot->board->workers[r->boot->slot]
                               .activities[BOARD_THREADS - 1 - EXECUTORS - r->n_residents];
        r->n_residents++;
        r->n_resident++;
        if (pthread_create(&x->id, NULL, resident_main, x) != 0)
            abort();
    }
}

void residents_news(struct runner *r, unsigned news)
{
    if (!(news & (NEWS_EVENTS | NEWS_PROCESSED | NEWS_CLOCK)))
        return;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_residents; i++) {
        /* the processor: what it made is no news to it */
        bool kernel = !r->residents[i].kind->plugin;

        if (news & (unsigned)(kernel ? NEWS_EVENTS | NEWS_CLOCK : NEWS_PROCESSED | NEWS_CLOCK))
            waker_poke(&r->residents[i].waker);
    }
    pthread_mutex_unlock(&r->lock);
}

void residents_join(struct runner *r)
{
    for (size_t i = 0; i < r->n_residents; i++)
        pthread_join(r->residents[i].id, NULL);
}
