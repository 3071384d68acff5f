/* job_inside.h - what the files of the job worker share. Private to kernel/job/.
 *
 * A leased job passes from the dispatcher (queue.c calls, job_dispatch.c decides) to an executor
 * (execute.c) and back to be settled. The runner's lock guards the lists; a job on an executor
 * belongs to it, but for the atomics. */
#ifndef WHARF_JOB_JOB_INSIDE_H
#define WHARF_JOB_JOB_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "job/job.h"
#include "job/runner.h"
#include "util/id.h"

enum {
    RUNNER_THREADS = 24,
    LONG_THREADS = 16,
    EXECUTORS = RUNNER_THREADS + LONG_THREADS,
    RESIDENTS_MAX = JOB_RESIDENTS_MAX,
    ERROR_BYTES = 500, /* bytes of an error that are kept */
    WHAT_BYTES = 48
};

enum outcome {
    OUT_DONE,
    OUT_MARKED, /* done, and marked so in the transaction of its work */
    OUT_RETRY,
    OUT_PARKED,
    OUT_CANCELED,
    OUT_RELEASED, /* given back, nothing counted */
    OUT_LOST, /* no longer ours: nothing to say */
};

struct leased {
    struct leased *next;
    const struct job_kind *kind;
    struct arena *arena; /* holds the texts and this struct */
    wharf_str worker, organization, key, args;
    int64_t id, fence;
    int attempts, crashes;
    bool cancel_first; /* it was to be cancelled when nobody ran it */
    int64_t leased_us, began_us; /* monotonic */
    char name[32]; /* "job_123" */
    char what[WHAT_BYTES]; /* "job deliver" */
    _Atomic int cancel, lost; /* told from outside */
    _Atomic int64_t done, total, deadline_us; /* told by the handler */
    int64_t done_written; /* what the database knows of it */
    enum outcome outcome;
    int64_t wait_us; /* OUT_RETRY */
    char error[ERROR_BYTES];
};

struct executor {
    struct runner *runner;
    struct crew *crew;
    struct thread_ctx ctx;
    pthread_t id;
    struct leased *job; /* guarded by the lock; NULL: idle */
    char last_organization[ID_MAX], last_live[ID_MAX]; /* of the job before */
};

struct resident { /* one kind of job that runs all the time */
    struct runner *runner;
    const struct job_kind *kind;
    struct thread_ctx ctx;
    pthread_t id;
    struct waker waker; /* what it sleeps on between two pieces of work */
    char what[WHAT_BYTES];
};

struct job_list {
    struct leased *first, **last;
    size_t n;
};

/* A crew's jobs of one third-party plugin, or of all such plugins together. Guarded by the lock. */
struct share {
    size_t most; /* threads it may hold */
    size_t busy, waiting; /* as in struct crew */
    double mean_us;
};

/* Threads for jobs of a kind: those that wait most of the time do not keep the others' threads. */
enum { CREW_USUAL, CREW_LONG, CREWS };
struct crew {
    struct job_list waiting; /* leased and not begun; guarded by the lock, as the next two */
    size_t n, busy; /* threads; those at work */
    double mean_us; /* of a run, moving */
    struct share *shares; /* by job_kind.owner: [0] is all plugins that are not shipped, together */
    wharf_str queues, priorities, owners; /* PostgreSQL arrays, one element per kind of job */
    /* the same, by how many threads are free; the usual ones' only the first */
    wharf_str limits[LONG_THREADS + 1];
    char after[ID_MAX]; /* organization the walk goes on from; the dispatcher's own, as the next */
    bool more; /* the last lease gave all that was asked for */
};

struct runner {
    struct engine *engine;
    const struct config *config;
    const struct worker_boot *boot;
    char worker[ID_MAX], host[128];
    int64_t started_us;
    struct db_conn *db; /* the dispatcher's */
    pthread_t dispatcher;
    pthread_mutex_t lock;
    pthread_cond_t more_jobs; /* executors: a job waits, or the end has come */
    pthread_cond_t turn; /* dispatcher: something to do */
    pthread_cond_t idle; /* runner_stop: an executor became idle */
    struct crew crews[CREWS];
    struct job_list finished;
    int64_t finished_us; /* when the first of finished came */
    struct executor executors[EXECUTORS];
    size_t n_executors;
    size_t n_owners; /* plugins with jobs that are not shipped */
    struct resident residents[RESIDENTS_MAX];
    size_t n_residents, n_resident; /* started, still running */
    bool woken, ending;
    bool worked_long; /* since the heap was trimmed; guarded by the lock, as the next */
    int64_t trimmed_us;
    _Atomic bool draining;
    int64_t drain_until_us;
    /* the dispatcher's own */
    bool registered, planned;
    unsigned epoch; /* of the connection by which it was last made sure who holds what */
    /* PostgreSQL arrays, one element per kind of job of all crews */
    wharf_str queues, crash_limits;
    int64_t next_beat_us, next_sweep_us, next_watch_us, next_poll_us, next_metrics_us;
    bool swept;
};

/* Returns how many threads are at work, those of residents aside. Call with the lock held. */
size_t runner_busy(const struct runner *r);
void list_add(struct job_list *l, struct leased *j);
struct leased *list_take(struct job_list *l);

/* Registers the worker. queue.c has the dispatcher's statements. They return false when the
 * database is away, or when the worker's lease is over (registered is then false). */
bool queue_register(struct runner *r);
bool queue_beat(struct runner *r); /* the lease */
bool queue_watch(struct runner *r); /* progress and cancellations of what runs */
/* Leases up to `want` jobs. free_threads: of a crew for long jobs; what an organization may have
 * goes by it. */
bool queue_lease(
    struct runner *r, struct crew *crew, size_t want, size_t free_threads, struct job_list *ret);
bool queue_settle(struct runner *r, const struct job_list *list);
/* Makes the rows and what this worker holds agree, after the connection was lost: in either
 * direction. */
bool queue_reconcile(struct runner *r);
bool queue_fire(struct runner *r);
/* Writes how many microseconds it is until something is due by time; a day when nothing is.
 * False: the statement failed. */
bool queue_next(struct runner *r, int64_t *ret_wait_us);
bool queue_metrics(struct runner *r);
void queue_leave(struct runner *r); /* gives everything back: the end */
void queue_arrays(struct runner *r);

/* Numbers the owners of all kinds. All of job_share.c but the first two is called with the lock
 * held. */
void shares_number(struct runner *r); /* job_kind.owner of all kinds */
void shares_plan(struct runner *r); /* after the crews have their number of threads */
void share_add(struct crew *crew, struct leased *j); /* to those that wait */
void share_drop(struct crew *crew, const struct leased *j); /* it does not wait any more */
/* Takes the first waiting job whose plugin has a thread left; NULL when there is none. It counts
 * as begun. */
struct leased *share_take(struct crew *crew);
void share_end(struct crew *crew, const struct leased *j, int64_t took_us);
/* Tells whether the job's plugin has all threads that it may have. */
bool share_is_full(const struct crew *crew, const struct leased *j);
/* Returns how many jobs wait for threads of their plugin's share. */
size_t share_held_back(const struct runner *r, const struct crew *crew);
/* Tells how many jobs of each plugin may be leased now, as a PostgreSQL array by owner from 1 on,
 * and how many of all these plugins together. */
void share_rooms(
    const struct runner *r, const struct crew *crew, struct buf *rooms, size_t *ret_all);

/* Finds out what host this is, for the runner (job_crash.c). */
void runner_host(struct runner *r);
bool queue_sweep(struct runner *r); /* dead workers and their crash reports */

/* Starts the resident jobs (resident.c). */
void residents_start(struct runner *r);
void residents_news(struct runner *r, unsigned news); /* enum notifier_news */
void residents_join(struct runner *r); /* all have ended */

/* execute.c */
/* Makes and ends the thread's connections. */
void thread_connect(const struct runner *r, struct thread_ctx *ctx);
void thread_disconnect(struct thread_ctx *ctx);
void *executor_main(void *executor);
/* Runs the dispatcher's thread (job_dispatch.c). */
void *dispatcher_main(void *runner);

#endif
