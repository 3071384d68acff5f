/* job.h - jobs: work done after and apart from the request that asked for it. Declaring them,
 * asking for them, waking the workers.
 *
 * Promises, policies and what an operator sees: docs/internals/jobs.md. At least once; effect once
 * when it is done in the job's transaction; in order and one at a time per key. Kernel code and
 * plugins use the same queue: plugins by wharf_decl_api.job and wharf_event_api.enqueue, the kernel
 * by this header. Leaves to others: running them (runner.h), the tables (db/sql/job_*.sql). */
#ifndef WHARF_JOB_JOB_H
#define WHARF_JOB_JOB_H

#include "config/config.h"
#include "resource/request.h"

struct wharf_decl;

enum { JOB_RESIDENTS_MAX = 6 }; /* in a job worker, the kernel's processor of events among them */
/* Returns how many jobs of workflows a job worker runs at a time: jobs.long_threads. */
size_t job_long_threads(const struct config *c);

/* How a job is run: the JSON text given with its declaration, read once at load.
 *   {"retries": 8, "backoff": {"first": "5s", "factor": 2, "max": "1h", "jitter": true},
 *   "timeout": "5m", "every": "1h", "at": "03:00",
 *    "for": "installation", "lane": "name", "concurrency": 2, "crashes": 2, "priority": 0,
 *    "keep": "7d", "keep_parked": "90d",
 *    "transaction": "job", "resident": false, "long": false, "background": false}
 * Every member may be absent (the defaults are those above; no period, no limit, nothing kept of
 * what succeeded). Durations are a whole number and ms, s, m, h or d. */
struct job_policy {
    int retries; /* after the first run: 0-1000 */
    int64_t first_us, max_us; /* wait before the first retry; longest wait */
    double factor; /* 1-100 */
    bool jitter; /* a wait is drawn between its half and its whole */
    int64_t timeout_us; /* a run may take this long, counted anew from each progress */
    int64_t every_us; /* 0: no period */
    int at_minute; /* of the day (UTC), -1: none */
    bool each_organization; /* the period enqueues one job per organization */
    const char *lane; /* keys are ordered within it, across jobs of one lane; NULL: the job's own */
    int concurrency; /* running at a time per organization; 0: no limit */
    /* worker crashes while it ran that park it; who counts tries otherwise (batches) allows many */
    int crashes;
    int priority; /* -100 to 100: higher first, within an organization */
    int64_t keep_s, keep_parked_s; /* what is over stays to be looked at */
    /* runs in each job worker from start to end, by itself, with transactions of its own
     * (docs/internals/jobs.md) */
    bool resident;
    /* runs on threads of its own kind (jobs.long_threads), so that shorter jobs never wait for
     * it */
    bool is_long;
    /* what the database does for it steps back behind what others wait for (job_in_background) */
    bool background;
    /* the handler commits by itself: each commit is fenced, the end is not part of any */
    bool own_transactions;
};

/* A kind of job. Belongs to the engine, sorted by name. */
struct job_kind {
    const char *name; /* "webhooks.deliver"; the kernel's begin with "wharf." */
    const struct plugin *plugin; /* NULL: kernel */
    wharf_handler *fn;
    void *arg;
    struct job_policy policy;
    struct board_job *metrics;
    /* number of its plugin among those that are not shipped, from 1; 0: the server's own
     * (job/job_share.c) */
    unsigned owner;
};

/* Reads the policy of a job; text "" is {}. Returns false after problems were told, each naming
 * the job and the member. */
typedef void job_problem_fn(void *arg, wharf_str message);
bool job_policy_read(struct arena *a, const char *job, wharf_str text, struct job_policy *ret,
    job_problem_fn *fn, void *arg);
/* Returns the wait before try number attempts + 1, attempts >= 1, in microseconds; random01 in [0,
 * 1) draws the jitter. */
int64_t job_backoff_us(const struct job_policy *p, int attempts, double random01);

/* Adds a job, from declare(). name: without the plugin's. The current plugin of d is the owner;
 * NULL: the kernel. */
void job_declare(
    struct wharf_decl *d, const char *name, wharf_handler *fn, void *arg, wharf_str policy);
/* The kernel's own jobs (worker/kernel_part.c): declared before the plugins'. */
/* Finds a kind of job by its name. Returns NULL when there is none. */
const struct job_kind *job_kind_find(const struct engine *e, wharf_str name);

/* ---- asking for jobs ---- */

struct job_order { /* one job to be done */
    const char *job; /* "plugin.job"; in job_enqueue also the own plugin's name without prefix */
    wharf_str organization; /* "": the installation's; job_enqueue takes the request's instead */
    wharf_str key; /* "": unordered; at most 200 bytes */
    wharf_str args; /* JSON, "" is {}; at most 256 KiB */
    int64_t run_at_us; /* kernel clock; 0 or past: as soon as possible */
};
enum {
    JOB_KEY_MAX = 200, /* bytes of a job's key */
    JOB_ARGS_MAX = 256 * 1024 /* bytes of its arguments */
};

/* Adds a job in the request's transaction; without an open one it is a transaction of its own.
 * Workers are told after the commit. Problems: module.unavailable (no such job is loaded),
 * internal (too large). */
wharf_status job_enqueue(struct wharf_req *req, const struct job_order *order);
/* Adds many jobs by one statement, in whatever transaction the connection is in. The caller wakes
 * the workers after its commit. */
enum db_status job_enqueue_many(const struct engine *e, struct db_conn *db,
    const struct job_order *orders, size_t n, int64_t now_us, struct db_error *ret_error);
/* Tells all job workers, soon and at most once per 10 ms and process, that there is work
 * (docs/decisions 8). [any] */
void job_wake(const struct engine *e);

/* Chooses the connection of a thread of a job worker, outside of transactions: its statements go
 * by the connection that steps back, or by the usual one. Both are the same where the database is
 * not the embedded one (docs/internals/jobs.md 'Background'). Each is connected when it is first
 * used. */
void job_in_background(struct thread_ctx *ctx, bool in_background);
/* Waits, for residents, for news, for one of the request's fetches, or that long; then the
 * request's clock is read anew. [worker] */
void job_wait(struct wharf_req *req, int64_t wait_us);
/* Notes the progress of the job that runs this request (wharf_event_api.progress). Returns 0 for
 * any other request. */
uint32_t job_progress(struct wharf_req *req, uint32_t done, uint32_t total);

#endif
