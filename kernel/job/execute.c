/* execute.c - one run of one job: a request like any other, whose transaction ends with the job
 * marked as done; whether a failed one is tried again, and when.
 *
 * Leaves to others: which job (job_dispatch.c), how long a policy waits (policy.c), writing what
 * becomes of it (queue.c). */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "job/job_inside.h"
#include "resource/observe.h"
#include "resource/hooks.h"
#include "process/board.h"
#include "process/crash.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "util/turns.h"
#include "wharf/errors.h"

enum {
    ARENA_BUDGET = 512 * 1024 * 1024, /* docs/reference/plugin-abi.md section 8 */
    LONG_US = 1000000, /* a run that may have taken much memory */
    TRIM_US = 5000000 /* at least, between two trims while others are at work */
};

struct run {
    struct req_job job; /* first: what a request points to */
    struct executor *executor;
    struct leased *leased;
};

static struct run *execute_run_of(const struct wharf_req *req)
{
    return (struct run *)req->job;
}

/* ---- what the handler sees of its being a job ---- */

static bool execute_told_to_stop(const struct wharf_req *req)
{
    const struct run *run = execute_run_of(req);

    return atomic_load(&run->leased->cancel) || atomic_load(&run->leased->lost) ||
           run->executor->runner->draining;
}

static uint32_t execute_note_progress(struct wharf_req *req, uint32_t done, uint32_t total)
{
    struct run *run = execute_run_of(req);
    int64_t now = clock_monotonic_us();

    if ((int64_t)done != atomic_load(&run->leased->done)) {
        req->deadline_us = now + run->leased->kind->policy.timeout_us;
        atomic_store(&req->thread->activity->deadline_us, req->deadline_us);
    }
    /* A run in pieces, each with a transaction of its own, may last for hours: each piece has
     * its own moment. */
    if (run->leased->kind->policy.own_transactions && !req->tx.depth)
        req->now_us = clock_now_us();
    atomic_store(&run->leased->total, total);
    atomic_store(&run->leased->done, done);
    return execute_told_to_stop(req) || now > req->deadline_us;
}

uint32_t job_progress(struct wharf_req *req, uint32_t done, uint32_t total)
{
    return req->job && req->job->progress ? req->job->progress(req, done, total) : 0;
}

static void bind_job(const struct run *run, char numbers[2][24], struct sql_arg args[4])
{
    const struct leased *j = run->leased;

    snprintf(numbers[0], 24, "%lld", (long long)j->id);
    snprintf(numbers[1], 24, "%lld", (long long)j->fence);
    args[0] = (struct sql_arg){j->worker.p, j->worker.n};
    args[1] = (struct sql_arg){j->organization.p, j->organization.n};
    args[2] = (struct sql_arg){numbers[0], strlen(numbers[0])};
    args[3] = (struct sql_arg){numbers[1], strlen(numbers[1])};
}

static wharf_status execute_lost(struct wharf_req *req)
{
    atomic_store(&execute_run_of(req)->leased->lost, 1);
    return req_fail(
        req, ERR_CONFLICT, NULL, "the lease of %s is over: another worker has it", req->request_id);
}

/* Checks the lease before a commit of a handler with transactions of its own: the row stays locked
 * until then, so that nobody takes it over in between. */
static wharf_status check_fence(struct wharf_req *req)
{
    char numbers[2][24];
    struct sql_arg args[4];
    PGresult *r;

    bind_job(execute_run_of(req), numbers, args);
    r = req_query(req, "SELECT wharf.job_hold($1, $2, $3::bigint, $4::bigint)", args, 4);
    if (!r)
        return WHARF_UNAVAILABLE;
    return PQgetvalue(r, 0, 0)[0] == 't' ? WHARF_OK : execute_lost(req);
}

/* Marks the job as completed in the transaction of its effect: effect and mark are one. */
static wharf_status execute_complete(struct wharf_req *req)
{
    const struct leased *j = execute_run_of(req)->leased;
    char numbers[2][24], keep[24];
    struct sql_arg args[5];
    PGresult *r;

    bind_job(execute_run_of(req), numbers, args);
    snprintf(keep, sizeof(keep), "%lld", (long long)j->kind->policy.keep_s);
    args[4] = (struct sql_arg){keep, strlen(keep)};
    r = req_query(
        req, "SELECT wharf.job_complete($1, $2, $3::bigint, $4::bigint, $5::bigint)", args, 5);
    if (!r)
        return WHARF_UNAVAILABLE;
    if (PQgetvalue(r, 0, 0)[0] != 't')
        return execute_lost(req);
    req->tx.depth = 1; /* savepoints that the handler left end with it */
    return req_commit(req);
}

/* ---- the run ---- */

/* Adds what the handler may ask with param(): the job's key, its number, and how many runs failed
 * before. */
static void add_params(struct wharf_req *req, const struct leased *j)
{
    struct query_pair *pairs = ARENA_ARRAY(req->arena, struct query_pair, 3);

    pairs[0] = (struct query_pair){.key = str_z("key"), .value = j->key};
    pairs[1] = (struct query_pair){.key = str_z("job_id"), .value = str_z(j->name)};
    pairs[2] = (struct query_pair){
        .key = str_z("attempts"), .value = arena_printf(req->arena, "%d", j->attempts)};
    req->head.pairs = pairs;
    req->head.n_pairs = 3;
}

/* Returns the live organization of a job: of a test organization's job that is whose people and
 * roles it reads. Organizations never change sides, so each is asked about once. */
static wharf_str live_organization(
    struct executor *x, struct wharf_req *req, wharf_str organization)
{
    static const char sql[] = "SELECT live_organization_id FROM wharf.organization WHERE "
                              "organization_id = $1 AND id = $1";
    struct sql_arg arg = {organization.p, organization.n};
    struct db_error e;
    PGresult *r;

    if (!organization.n || (organization.n < ID_MAX && str_eqz(organization, x->last_organization)))
        return organization.n ? arena_dupz(req->arena, x->last_live) : organization;
    r = db_run(x->ctx.db, sql, &arg, 1, &e);
    if (r && organization.n < ID_MAX) {
        bool test = PQntuples(r) && !PQgetisnull(r, 0, 0);

        snprintf(x->last_organization, ID_MAX, "%s", organization.p);
        snprintf(x->last_live, ID_MAX, "%s", test ? PQgetvalue(r, 0, 0) : organization.p);
        organization = arena_dupz(req->arena, x->last_live);
    }
    PQclear(r);
    return organization;
}

static bool execute_prepare(struct executor *x, struct run *run, struct wharf_req *req)
{
    struct req_access *access = &req->access;
    struct req_head *head = &req->head;
    struct leased *j = run->leased;
    struct json_error e;

    req->engine = x->runner->engine;
    req->thread = &x->ctx;
    head->method = "JOB";
    head->path = str_z(j->kind->name);
    head->raw_query = head->client_request_id = head->traceparent = str_z("");
    req->body_text = j->args;
    req->body = json_parse(req->arena, j->args, &e);
    memcpy(req->request_id, j->name,
        sizeof(req->request_id) < sizeof(j->name) ? sizeof(req->request_id) : sizeof(j->name));
    req->request_id[sizeof(req->request_id) - 1] = 0;
    req->start_us = clock_monotonic_us();
    req->deadline_us = req->start_us + j->kind->policy.timeout_us;
    req->now_us = clock_now_us();
    access->who = principal_system(req->arena, j->organization);
    access->who->access.live_organization = live_organization(x, req, j->organization);
    access->who->test_mode = !str_eq(j->organization, access->who->access.live_organization);
    req->plugin = j->kind->plugin;
    req->job = &run->job;
    buf_init(&req->reply.out, 64 << 20);
    jw_init(&req->reply.w, &req->reply.out);
    add_params(req, j);
    return req->body != NULL;
}

static void execute_note_failure(struct wharf_req *req, struct leased *j, wharf_status s)
{
    const struct job_policy *p = &j->kind->policy;
    const struct run *run = execute_run_of(req);
    const struct problem *first = req->problems.n ? &req->problems.list[0] : NULL;
    bool late = clock_monotonic_us() > req->deadline_us;
    unsigned random;

    if (first)
        snprintf(j->error, sizeof(j->error), "%s%s: %.*s", late ? "timeout; " : "", first->code,
            (int)(first->text.n < 400 ? first->text.n : 400), first->text.p);
    else
        snprintf(j->error, sizeof(j->error), "%sthe handler gave no reason (status %d)",
            late ? "timeout; " : "", (int)s);
    if (atomic_load(&j->lost)) {
        j->outcome = OUT_LOST;
    } else if (atomic_load(&j->cancel)) {
        j->outcome = OUT_CANCELED;
    } else if (run->executor->runner->draining && !late) {
        j->outcome = OUT_RELEASED;
    } else if (j->attempts >= p->retries) {
        j->outcome = OUT_PARKED;
    } else {
        random_bytes(&random, sizeof(random));
        j->outcome = OUT_RETRY;
        j->wait_us = run->job.again_us >= 0
                         ? run->job.again_us
                         : job_backoff_us(p, j->attempts + 1, (double)random / 4294967296.0);
    }
    log_write(j->outcome == OUT_PARKED ? WHARF_LOG_ERROR : WHARF_LOG_WARN,
        j->kind->plugin ? j->kind->plugin->name : NULL, j->name,
        j->outcome == OUT_PARKED ? "job.parked" : "job.failed", "%s, run %d: %s", j->kind->name,
        j->attempts + 1, j->error);
}

static void execute_run_handler(struct wharf_req *req, struct leased *j)
{
    struct req_transaction *tx = &req->tx;
    wharf_status s = j->kind->fn(req, j->kind->arg);

    if (s == WHARF_OK && req->problems.n)
        s = WHARF_INVALID;
    if (s == WHARF_OK && atomic_load(&j->lost))
        s = execute_lost(req);
    j->outcome = OUT_DONE;
    if (s == WHARF_OK && tx->depth && req->job->joined) {
        s = execute_complete(req);
        j->outcome = OUT_MARKED;
    } else if (s == WHARF_OK && tx->depth) {
        tx->depth = 1;
        s = req_commit(req);
    }
    while (tx->depth)
        req_rollback(req);
    if (s != WHARF_OK)
        execute_note_failure(req, j, s);
}

static void execute(struct executor *x, struct leased *j)
{
    const struct job_policy *p = &j->kind->policy;
    struct run run = {.executor = x, .leased = j};
    struct wharf_req req = {.arena = arena_new(ARENA_BUDGET)};

    run.job = (struct req_job){.plugin = j->kind->plugin ? j->kind->plugin->name : "wharf",
        .doing = j->what,
        .since_us = clock_monotonic_us(),
        .joined = !p->own_transactions,
        .again_us = -1,
        .guard = p->own_transactions ? check_fence : NULL,
        .progress = execute_note_progress,
        .stop = execute_told_to_stop};
    job_in_background(&x->ctx, p->background);
    if (atomic_load(&j->lost)) {
        j->outcome = OUT_LOST;
    } else if (j->cancel_first) {
        j->outcome = OUT_CANCELED;
    } else if (execute_prepare(x, &run, &req)) {
        thread_begins(&req, run.job.plugin, run.job.doing);
        execute_run_handler(&req, j);
        thread_ends(&req);
        activity_leave(x->ctx.activity);
    } else {
        snprintf(j->error, sizeof(j->error), "its arguments are no JSON");
        j->outcome = OUT_PARKED;
    }
    request_release(&req);
    buf_done(&req.reply.out);
    arena_free(req.arena);
}

/* ---- the thread ---- */

void thread_connect(const struct runner *r, struct thread_ctx *ctx)
{
    const struct config *c = r->config;

    ctx->usual = db_open(r->boot->database, c->database_prepared, c->statement_timeout_ms);
    ctx->background = ctx->usual;
    /* Only of the embedded one's processes it is known that they are on this machine. Without
     * short turns whoever steps back while it holds a lock keeps others waiting for a long one. */
    if (strcmp(c->database, "embedded") == 0 && turns_are_heard()) {
        ctx->background = db_another(ctx->usual, true);
        db_step_back(ctx->background);
    }
    ctx->db = ctx->usual;
}

void thread_disconnect(struct thread_ctx *ctx)
{
    if (ctx->background != ctx->usual)
        db_close(ctx->background);
    db_close(ctx->usual);
}

void job_in_background(struct thread_ctx *ctx, bool in_background)
{
    ctx->db = in_background ? ctx->background : ctx->usual;
}

static struct leased *next_job(struct executor *x)
{
    struct runner *r = x->runner;
    struct leased *j;

    pthread_mutex_lock(&r->lock);
    while (!(j = r->ending ? NULL : share_take(x->crew)) && !r->ending)
        pthread_cond_wait(&r->more_jobs, &r->lock);
    x->job = j;
    x->crew->busy += j != NULL;
    pthread_mutex_unlock(&r->lock);
    return j;
}

/* Hands a finished job over. Returns true when somebody was at work for long, and nobody is any
 * more, or it is a while since the heap was trimmed. */
static bool execute_hand_over(struct executor *x, struct leased *j, int64_t began_us)
{
    struct runner *r = x->runner;
    int64_t now = clock_monotonic_us();
    bool trim;

    pthread_mutex_lock(&r->lock);
    x->job = NULL;
    x->crew->busy--;
    x->crew->mean_us += ((double)(now - began_us) - x->crew->mean_us) / 16;
    share_end(x->crew, j, now - began_us);
    if (j->kind->owner &&
        x->crew->waiting.n) /* one that its plugin's share held back may begin, on any thread */
        pthread_cond_broadcast(&r->more_jobs);
    if (!r->finished.n)
        r->finished_us = now;
    list_add(&r->finished, j);
    r->worked_long |= now - began_us >= LONG_US;
    trim = r->worked_long && (!runner_busy(r) || now - r->trimmed_us >= TRIM_US);
    if (trim) {
        r->worked_long = false;
        r->trimmed_us = now;
    }
    pthread_cond_signal(&r->turn);
    pthread_cond_signal(&r->idle);
    pthread_mutex_unlock(&r->lock);
    return trim;
}

void *executor_main(void *arg)
{
    struct executor *x = arg;
    struct leased *j;

    crash_thread(x->ctx.activity);
    thread_plugins_start(x->runner->engine, &x->ctx);
    while ((j = next_job(x))) {
        int64_t began_us = clock_monotonic_us();

        execute(x, j);
        /* Gives memory back that the heap keeps for finished jobs' threads. Threads at work
         * would miss it, so not each time. */
        if (execute_hand_over(x, j, began_us))
            malloc_trim(0);
    }
    thread_plugins_stop(x->runner->engine, &x->ctx);
    thread_disconnect(&x->ctx);
    return NULL;
}
