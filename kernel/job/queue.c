/* queue.c - the dispatcher's statements on wharf.job (db/sql/job_*.sql). See job_inside.h. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "job/job_inside.h"
#include "kernel_queries.gen.h"
#include "process/board.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum {
    LEASE_S = 15, /* a job worker holds its jobs without a sign of life */
    COLUMNS = 10
};
static const char lease_over[] = "WJ001"; /* as wharf.job_lease() raises it */

static struct sql_arg queue_text(const char *z)
{
    return (struct sql_arg){z, strlen(z)};
}

static PGresult *queue_ask(struct runner *r, const char *sql, const struct sql_arg *args, size_t n)
{
    struct db_error e;
    PGresult *result = db_run(r->db, sql, args, n, &e);

    if (result)
        return result;
    if (!strcmp(e.sqlstate, lease_over))
        r->registered = false;
    else if (e.status == DB_FAILED)
        log_error("job.queue", "%s %s", e.sqlstate, e.message);
    return NULL;
}

static bool queue_tell(struct runner *r, const char *sql, const struct sql_arg *args, size_t n)
{
    PGresult *result = queue_ask(r, sql, args, n);

    PQclear(result);
    return result != NULL;
}

/* ---- the worker's own row ---- */

static bool plan_schedules(struct runner *r)
{
    const struct engine *e = r->engine;
    bool good = true;

    for (size_t i = 0; good && i < e->n_jobs; i++) {
        const struct job_kind *k = &e->jobs[i];
        char every[24], at[24];
        struct sql_arg args[5] = {queue_text(k->name),
            queue_text(k->policy.lane ? k->policy.lane : k->name), {NULL, 0}, {NULL, 0},
            queue_text(k->policy.each_organization ? "true" : "false")};

        if (!k->policy.every_us && k->policy.at_minute < 0)
            continue;
        snprintf(every, sizeof(every), "%lld", (long long)k->policy.every_us);
        snprintf(at, sizeof(at), "%d", k->policy.at_minute);
        if (k->policy.every_us)
            args[2] = queue_text(every);
        else
            args[3] = queue_text(at);
        good = queue_tell(
            r, "SELECT wharf.job_plan($1, $2, $3::bigint, $4::integer, $5::boolean)", args, 5);
    }
    return good;
}

bool queue_register(struct runner *r)
{
    char pid[24], started[24], lease[24];
    struct sql_arg args[6] = {{NULL, 0}, queue_text(r->host), {NULL, 0}, {NULL, 0},
        queue_text(r->config->crash_dir), {NULL, 0}};

    id_new("jobw", clock_now_us(), r->worker);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    snprintf(started, sizeof(started), "%lld", (long long)r->started_us);
    snprintf(lease, sizeof(lease), "%d", LEASE_S);
    args[0] = queue_text(r->worker);
    args[2] = queue_text(pid);
    args[3] = queue_text(started);
    args[5] = queue_text(lease);
    /* a process has one row: after a lost lease the old one is nobody's, and must not be counted
     * as a crash of its own */
    r->registered =
        queue_tell(r,
            "WITH old AS (DELETE FROM wharf.job_worker WHERE host = $2 AND pid = $3::integer AND "
            "started_us = $4::bigint) INSERT INTO wharf.job_worker (id, host, pid, started_us, "
            "crash_dir, lease_until)"
            " VALUES ($1, $2, $3::integer, $4::bigint, $5, wharf.now() + make_interval(secs => "
            "$6::integer))",
            args, 6) &&
        (r->planned || (r->planned = plan_schedules(r)));
    return r->registered;
}

/* Opens an object with the job and the number of its lease; whoever opens it closes it. */
static void open_held(struct jw *w, const struct leased *j)
{
    jw_open(w, NULL, '{');
    jw_str(w, "o", j->organization);
    jw_int(w, "id", j->id);
    jw_int(w, "f", j->fence);
}

static void put_held(struct jw *w, const struct leased *j)
{
    open_held(w, j);
    jw_close(w, '}');
}

/* Writes the progress of what runs, when it moved: [{"o","id","f","d","t"}]. */
static size_t put_progress(struct runner *r, struct buf *b)
{
    size_t n = 0;
    struct jw w;

    jw_init(&w, b);
    jw_open(&w, NULL, '[');
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_executors; i++) {
        struct leased *j = r->executors[i].job;
        int64_t done = j ? atomic_load(&j->done) : 0;

        if (!j || done == j->done_written)
            continue;
        j->done_written = done;
        n++;
        open_held(&w, j);
        jw_int(&w, "d", done);
        jw_int(&w, "t", atomic_load(&j->total));
        jw_close(&w, '}');
    }
    pthread_mutex_unlock(&r->lock);
    jw_close(&w, ']');
    return n;
}

/* Tells executors: their jobs are lost, or those of the list are to stop. */
static void mark_running(struct runner *r, bool all_lost, const PGresult *cancelled)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_executors; i++) {
        struct leased *j = r->executors[i].job;

        for (int k = 0; j && cancelled && k < PQntuples(cancelled); k++) {
            if (strtoll(PQgetvalue(cancelled, k, 0), NULL, 10) == j->id)
                atomic_store(&j->cancel, 1);
        }
        if (j && all_lost)
            atomic_store(&j->lost, 1);
    }
    pthread_mutex_unlock(&r->lock);
}

bool queue_beat(struct runner *r)
{
    char lease[24];
    struct sql_arg args[2] = {queue_text(r->worker), {NULL, 0}};
    PGresult *result;
    bool ours;

    snprintf(lease, sizeof(lease), "%d", LEASE_S);
    args[1] = queue_text(lease);
    result = queue_ask(r,
        "WITH b AS (SELECT set_config('synchronous_commit', 'off', true))"
        " UPDATE wharf.job_worker SET lease_until = wharf.now() + make_interval(secs => "
        "$2::integer) FROM b"
        " WHERE id = $1 AND NOT lost",
        args, 2);
    if (!result)
        return false;
    ours = PQcmdTuples(result)[0] == '1';
    PQclear(result);
    if (!ours) {
        log_warn("job.lease_over",
            "the lease of this worker went by (it, or the database, stood still); what it held "
            "is run again");
        mark_running(r, true, NULL);
        r->registered = false;
        return false;
    }
    return true;
}

/* Writes how far each job is, and reads which were cancelled meanwhile. */
bool queue_watch(struct runner *r)
{
    struct sql_arg args[2] = {queue_text(r->worker), {NULL, 0}};
    PGresult *result;
    struct buf b;

    buf_init(&b, 1 << 20);
    if (put_progress(r, &b))
        args[1] = (struct sql_arg){b.p, b.n};
    result = queue_ask(r, "SELECT wharf.job_watch($1, $2::json)", args, 2);
    if (result)
        mark_running(r, false, result);
    PQclear(result);
    buf_done(&b);
    return result != NULL;
}

/* ---- leasing ---- */

size_t job_long_threads(const struct config *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN),
         n = c->jobs_long_threads ? (long)c->jobs_long_threads : 2 * cores;

    if (!c->jobs_long_threads && n < 4)
        n = 4;
    return (size_t)(n < LONG_THREADS ? n : LONG_THREADS);
}

enum { A_QUEUES, A_PRIORITIES, A_LIMITS, A_CRASHES, A_OWNERS, ARRAYS };

/* Returns how many threads for long jobs one organization may have when so many are free: half of
 * all, and no more than it leaves for others. So each that comes finds some, however many were
 * there before that fill all they get. */
static int long_limit(const struct runner *r, size_t free_threads)
{
    size_t half = job_long_threads(r->config) / 2, left = (free_threads + 1) / 2;

    half = left < half ? left : half;
    return half ? (int)half : 1;
}

/* Writes what the kinds of job say, of those that are wanted; an array that nobody wants is NULL.
 * most: of long ones that say nothing. */
static void write_arrays(
    const struct runner *r, bool usual, bool others, int most, wharf_str *const to[ARRAYS])
{
    const struct engine *e = r->engine;
    struct buf b[ARRAYS];

    for (int i = 0; i < ARRAYS; i++) {
        buf_init(&b[i], 1 << 20);
        buf_addc(&b[i], '{');
    }
    for (size_t i = 0; i < e->n_jobs; i++) {
        const struct job_policy *p = &e->jobs[i].policy;
        const char *comma = b[0].n > 1 ? "," : "";

        if (p->is_long ? !others : !usual)
            continue;
        buf_addf(&b[A_QUEUES], "%s%s", comma, e->jobs[i].name);
        buf_addf(&b[A_PRIORITIES], "%s%d", comma, p->priority);
        buf_addf(
            &b[A_LIMITS], "%s%d", comma, p->concurrency || !p->is_long ? p->concurrency : most);
        buf_addf(&b[A_CRASHES], "%s%d", comma, p->crashes);
        buf_addf(&b[A_OWNERS], "%s%u", comma, e->jobs[i].owner);
    }
    for (int i = 0; i < ARRAYS; i++) {
        buf_addc(&b[i], '}');
        if (to[i])
            *to[i] = arena_dup_str(e->arena, buf_str(&b[i]));
        buf_done(&b[i]);
    }
}

void queue_arrays(struct runner *r)
{
    write_arrays(r, true, true, 0,
        (wharf_str *const[ARRAYS]){&r->queues, NULL, NULL, &r->crash_limits, NULL});
    for (int i = 0; i < CREWS; i++) {
        struct crew *c = &r->crews[i];

        for (size_t n = 0; n <= (i == CREW_LONG ? LONG_THREADS : 0); n++)
            write_arrays(r, i == CREW_USUAL, i == CREW_LONG, long_limit(r, n),
                (wharf_str *const[ARRAYS]){
                    &c->queues, &c->priorities, &c->limits[n], NULL, &c->owners});
    }
}

static wharf_str queue_cell(struct arena *a, const PGresult *result, int row, int column)
{
    return arena_dup(a, PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column));
}

static int64_t queue_number(const PGresult *result, int row, int column)
{
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

static struct leased *read_leased(const struct runner *r, const PGresult *result, int row)
{
    struct arena *a = arena_new(0);
    struct leased *j = ARENA_NEW(a, struct leased);

    j->arena = a;
    j->worker = arena_dupz(a, r->worker);
    j->organization = queue_cell(a, result, row, 0);
    j->id = queue_number(result, row, 1);
    j->kind = job_kind_find(r->engine, queue_cell(a, result, row, 2));
    j->key = queue_cell(a, result, row, 3);
    j->args = queue_cell(a, result, row, 4);
    j->attempts = (int)queue_number(result, row, 5);
    j->crashes = (int)queue_number(result, row, 6);
    j->fence = queue_number(result, row, 7);
    j->cancel_first = PQgetvalue(result, row, 8)[0] == 't';
    j->leased_us = clock_monotonic_us();
    snprintf(j->name, sizeof(j->name), "job_%lld", (long long)j->id);
    if (j->kind)
        snprintf(j->what, sizeof(j->what), "job %s", strchr(j->kind->name, '.') + 1);
    return j;
}

/* ---- who holds what, after the connection was lost ---- */

/* Writes everything that was leased and is not settled. */
static void put_all_held(struct runner *r, struct buf *b)
{
    struct jw w;

    jw_init(&w, b);
    jw_open(&w, NULL, '[');
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_executors; i++) {
        if (r->executors[i].job)
            put_held(&w, r->executors[i].job);
    }
    for (size_t i = 0; i < CREWS; i++) {
        for (const struct leased *j = r->crews[i].waiting.n ? r->crews[i].waiting.first : NULL; j;
             j = j->next)
            put_held(&w, j);
    }
    for (const struct leased *j = r->finished.n ? r->finished.first : NULL; j; j = j->next)
        put_held(&w, j);
    pthread_mutex_unlock(&r->lock);
    jw_close(&w, ']');
}

static void queue_mark_lost(struct runner *r, int64_t id)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_executors; i++) {
        if (r->executors[i].job && r->executors[i].job->id == id)
            atomic_store(&r->executors[i].job->lost, 1);
    }
    for (size_t i = 0; i < CREWS; i++) {
        for (struct leased *j = r->crews[i].waiting.n ? r->crews[i].waiting.first : NULL; j;
             j = j->next) {
            if (j->id == id)
                atomic_store(&j->lost, 1);
        }
    }
    pthread_mutex_unlock(&r->lock);
}

bool queue_reconcile(struct runner *r)
{
    struct sql_arg args[2] = {queue_text(r->worker), {NULL, 0}};
    PGresult *result;
    struct buf held;

    buf_init(&held, 1 << 20);
    put_all_held(r, &held);
    args[1] = (struct sql_arg){held.p, held.n};
    result = queue_ask(r, "SELECT wharf.job_reconcile($1, $2::json)", args, 2);
    for (int i = 0; result && i < PQntuples(result); i++)
        queue_mark_lost(r, queue_number(result, i, 0));
    if (result)
        r->epoch = db_epoch(r->db); /* the one it was said on */
    PQclear(result);
    buf_done(&held);
    return result != NULL;
}

bool queue_lease(
    struct runner *r, struct crew *crew, size_t want, size_t free_threads, struct job_list *ret)
{
    char most[24], strangers[24];
    const wharf_str *limits = &crew->limits[crew == &r->crews[CREW_LONG] ? free_threads : 0];
    struct sql_arg args[9] = {queue_text(r->worker), {NULL, 0}, queue_text(crew->after),
        {crew->queues.p, crew->queues.n}, {crew->priorities.p, crew->priorities.n},
        {limits->p, limits->n}, {crew->owners.p, crew->owners.n}};
    PGresult *result;
    struct buf rooms;
    size_t all;

    buf_init(&rooms, 1 << 16);
    pthread_mutex_lock(&r->lock);
    share_rooms(r, crew, &rooms, &all);
    pthread_mutex_unlock(&r->lock);
    snprintf(most, sizeof(most), "%zu", want);
    snprintf(strangers, sizeof(strangers), "%zu", all);
    args[1] = queue_text(most);
    args[7] = (struct sql_arg){rooms.p, rooms.n};
    args[8] = queue_text(strangers);
    result = queue_ask(r,
        "SELECT organization_id, id, queue, key, args, attempts, crashes, fence, cancel FROM "
        "wharf.job_lease($1, $2::integer, $3, $4::text[], $5::integer[], $6::integer[], "
        "$7::integer[], $8::integer[], $9::integer)",
        args, 9);
    buf_done(&rooms);
    if (!result && !r->registered)
        mark_running(r, true, NULL);
    if (!result)
        return false;
    /* it was asked a second time: first it is made sure who holds what */
    if (db_epoch(r->db) != r->epoch) {
        PQclear(result);
        return false;
    }
    for (int i = 0; i < PQntuples(result); i++) {
        struct leased *j = read_leased(r, result, i);

        if (j->kind)
            list_add(ret, j);
        else
            arena_free(j->arena); /* cannot be: only known queues were asked for */
    }
    if (PQntuples(result))
        snprintf(
            crew->after, sizeof(crew->after), "%s", PQgetvalue(result, PQntuples(result) - 1, 0));
    PQclear(result);
    return true;
}

/* ---- settling ---- */

static void queue_put_end(struct jw *w, const struct leased *j)
{
    static const char *const states[] = {"done", "", "retry", "parked", "canceled", "release", ""};
    const struct job_policy *p = &j->kind->policy;

    jw_open(w, NULL, '{');
    jw_str(w, "o", j->organization);
    jw_int(w, "id", j->id);
    jw_int(w, "f", j->fence);
    jw_z(w, "s", states[j->outcome]);
    if (j->outcome == OUT_PARKED)
        jw_z(w, "r", "retries_exhausted");
    if (j->error[0])
        jw_z(w, "e", j->error);
    if (j->outcome == OUT_DONE || j->outcome == OUT_PARKED || j->outcome == OUT_CANCELED)
        jw_int(w, "k", j->outcome == OUT_DONE ? p->keep_s : p->keep_parked_s);
    if (j->outcome == OUT_RETRY)
        jw_int(w, "d", j->wait_us / 1000);
    jw_close(w, '}');
}

static void count_end(const struct leased *j)
{
    struct board_job *b = j->kind->metrics;

    if (b && (j->outcome == OUT_DONE || j->outcome == OUT_MARKED))
        atomic_fetch_add_explicit(&b->done, 1, memory_order_relaxed);
    else if (b && j->outcome == OUT_RETRY)
        atomic_fetch_add_explicit(&b->failed, 1, memory_order_relaxed);
    else if (b && j->outcome == OUT_PARKED)
        atomic_fetch_add_explicit(&b->parked, 1, memory_order_relaxed);
}

static bool goes(const struct leased *j)
{
    return j->outcome == OUT_DONE || j->outcome == OUT_PARKED || j->outcome == OUT_CANCELED;
}

static bool comes_back(const struct leased *j)
{
    return j->outcome == OUT_RETRY || j->outcome == OUT_RELEASED;
}

/* Settles jobs. The same list twice is no harm: what was settled is not ours any more. */
bool queue_settle(struct runner *r, const struct job_list *list)
{
    struct buf out[2];
    struct jw w[2];
    size_t n[2] = {0, 0};
    struct sql_arg args[3] = {queue_text(r->worker), {NULL, 0}, {NULL, 0}};
    bool good = true;

    for (int i = 0; i < 2; i++) {
        buf_init(&out[i], 16 << 20);
        jw_init(&w[i], &out[i]);
        jw_open(&w[i], NULL, '[');
    }
    for (const struct leased *j = list->first; j; j = j->next) {
        int back = comes_back(j);

        if (!back && !goes(j))
            continue;
        queue_put_end(&w[back], j);
        n[back]++;
    }
    for (int i = 0; i < 2; i++) {
        jw_close(&w[i], ']');
        if (n[i])
            args[1 + i] = (struct sql_arg){out[i].p, out[i].n};
    }
    if (n[0] || n[1])
        good = queue_tell(r, "SELECT wharf.job_settle($1, $2::json, $3::json)", args, 3);
    for (const struct leased *j = list->first; good && j; j = j->next)
        count_end(j);
    buf_done(&out[0]);
    buf_done(&out[1]);
    return good;
}

void queue_leave(struct runner *r)
{
    struct sql_arg worker = queue_text(r->worker);

    if (r->registered &&
        queue_tell(r, "UPDATE wharf.job_worker SET lost = true WHERE id = $1", &worker, 1) &&
        queue_tell(r, "SELECT wharf.job_sweep()", NULL, 0))
        queue_tell(r, "DELETE FROM wharf.job_worker WHERE id = $1", &worker, 1);
    r->registered = false;
}

/* ---- the clock ---- */

bool queue_fire(struct runner *r)
{
    struct sql_arg queues = {r->queues.p, r->queues.n};

    return queue_tell(r, "SELECT wharf.job_fire($1::text[])", &queues, 1);
}

bool queue_next(struct runner *r, int64_t *ret_wait_us)
{
    struct sql_arg queues = {r->queues.p, r->queues.n};
    PGresult *result = queue_ask(r, "SELECT wharf.job_next($1::text[])", &queues, 1);

    if (!result)
        return false;
    *ret_wait_us = PQgetisnull(result, 0, 0) ? 86400 * 1000000LL
                                             : queue_number(result, 0, 0) * 1000;
    PQclear(result);
    return true;
}

/* Counts what waits in the whole installation, and what the database has. */
static void queue_state_metrics(struct runner *r)
{
    struct board *b = r->engine->board;
    PGresult *result = queue_ask(r, QUERY_INSTALLATION_STATE, NULL, 0);

    if (!result) /* what a plugin could not count keeps no job waiting */
        return;
    for (int row = 0; row < PQntuples(result); row++) {
        int64_t n = queue_number(result, row, 1), more = queue_number(result, row, 2);

        if (PQgetisnull(result, row, 0)) {
            atomic_store(&b->database_connections, n);
            atomic_store(&b->database_allowed, more);
        } else if (!*PQgetvalue(result, row, 0)) {
            atomic_store(&b->database_bytes, n);
        } else {
            board_backlog(b, PQgetvalue(result, row, 0), n, more);
        }
    }
    PQclear(result);
}

bool queue_metrics(struct runner *r)
{
    PGresult *result = queue_ask(r,
        "SELECT queue, count(*), COALESCE((extract(epoch FROM wharf.now() - min(run_at) FILTER "
        "(WHERE state <> 'delayed')) * 1000)::bigint, 0) FROM wharf.job WHERE state <> 'running' "
        "GROUP BY queue UNION ALL SELECT '', count(DISTINCT hash), 0 FROM wharf.file WHERE damage "
        "IS NOT NULL",
        NULL, 0);

    if (!result)
        return false;
    for (int row = 0; row < PQntuples(result); row++) {
        if (!*PQgetvalue(result, row, 0))
            atomic_store_explicit(&r->engine->board->blob_damaged, queue_number(result, row, 1),
                memory_order_relaxed);
    }
    for (size_t i = 0; i < r->engine->n_jobs; i++) {
        const struct job_kind *k = &r->engine->jobs[i];
        int64_t depth = 0, age_ms = 0;

        for (int row = 0; row < PQntuples(result); row++) {
            if (strcmp(PQgetvalue(result, row, 0), k->name) != 0)
                continue;
            depth = queue_number(result, row, 1);
            age_ms = queue_number(result, row, 2);
        }
        if (!k->metrics)
            continue;
        atomic_store_explicit(&k->metrics->depth, depth, memory_order_relaxed);
        atomic_store_explicit(&k->metrics->age_ms, age_ms > 0 ? age_ms : 0, memory_order_relaxed);
    }
    PQclear(result);
    queue_state_metrics(r);
    return true;
}
