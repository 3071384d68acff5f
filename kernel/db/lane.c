/* lane.c - see lane.h. */
#include "db/lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "db/lane_pack.h"
#include "db/meter.h"
#include "util/log.h"
#include "util/time.h"

enum lane_state { LANE_DOWN, LANE_CONNECTING, LANE_SETUP, LANE_IDLE };
enum {
    GROUP_MAX = 256, /* statements of one group */
    CONNECT_WAIT_US = 5000000, /* a new connection may take */
    SILENCE_US = 2000000,
    LOST_MAX = 3 /* connections that a statement may lose */
};
enum {
    RETRY_US = 50000, /* between two tries to connect */
    RETRY_DOUBLES = 4
};

struct queue {
    struct lane_job *first, **last;
    size_t n;
};

struct lane {
    enum lane_kind kind;
    enum lane_state state;
    bool prepared;
    char *conninfo;
    int64_t statement_timeout_ms;
    PGconn *pg;
    int fd;
    uint32_t events;
    int64_t retry_at_us;
    unsigned tries; /* to connect, since it was up */
    unsigned refused; /* noted by meter.h */
    struct queue waiting; /* not sent */
    struct queue flying; /* sent, in order; the group ends at a Sync */
    int64_t moved_us; /* when something was sent on an idle connection, or came back */
    size_t groups; /* Syncs outstanding: 0 or 1 for writes and slow ones, any number for reads */
    struct queue done; /* results of the current group, answered at its Sync */
    struct pack_results each; /* what jobs get whose statement was one for many */
    bool group_failed, counted; /* counted: as busy (meter.h) */
    bool by_value; /* what is sent is planned for its arguments, up to the Sync */
    struct statement_set known;
    void (*changed)(void *arg, struct lane *lane);
    void *arg;
};

static void lane_push(struct queue *q, struct lane_job *job)
{
    if (!q->n)
        q->last = &q->first;
    job->next = NULL;
    *q->last = job;
    q->last = &job->next;
    q->n++;
}

static struct lane_job *pop(struct queue *q)
{
    struct lane_job *job = q->first;

    if (job) {
        q->first = job->next;
        q->n--;
        job->next = NULL;
    }
    return job;
}

/* Puts back at the front, keeping the order of `front`. */
static void lane_put_back(struct queue *q, struct queue *front)
{
    struct lane_job *job;
    struct queue all = {0};

    while ((job = pop(front)))
        lane_push(&all, job);
    while ((job = pop(q)))
        lane_push(&all, job);
    *q = all; /* last points into a job, or is set anew by the next push */
}

struct lane *lane_new(enum lane_kind kind, const char *conninfo, bool prepared,
    int64_t statement_timeout_ms, void (*changed)(void *arg, struct lane *lane), void *arg)
{
    struct lane *l = calloc(1, sizeof(*l));

    if (!l || !(l->conninfo = strdup(conninfo))) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    l->kind = kind;
    l->prepared = prepared;
    l->statement_timeout_ms = statement_timeout_ms;
    l->fd = -1;
    l->changed = changed;
    l->arg = arg;
    if (kind == LANE_WRITE && !pack_results_make(&l->each)) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    return l;
}

void lane_free(struct lane *l)
{
    if (!l)
        return;
    db_meter_close(l->pg);
    db_meter_connected(&l->refused, true);
    statement_forget_all(&l->known);
    PQclear(l->each.row);
    PQclear(l->each.none);
    free(l->conninfo);
    free(l);
}

size_t lane_load(const struct lane *l)
{
    return l->waiting.n + l->flying.n + l->done.n;
}

int lane_fd(const struct lane *l)
{
    return l->fd;
}

uint32_t lane_events(const struct lane *l)
{
    return l->events;
}

bool lane_up(const struct lane *l)
{
    return l->state == LANE_IDLE;
}

static void lane_watch(struct lane *l, int fd, uint32_t events)
{
    if (l->fd == fd && l->events == events)
        return;
    l->fd = fd;
    l->events = events;
    l->changed(l->arg, l);
}

static void lane_answer(struct lane_job *job, PGresult *result, const struct db_error *error)
{
    db_meter_statement(clock_monotonic_us() - job->queued_us);
    job->done(job, error ? NULL : result, error);
}

static void lane_finish(struct lane_job *job, const struct db_error *error)
{
    PGresult *r = job->result;

    job->result = NULL;
    lane_answer(job, r, error);
    PQclear(r);
}

/* Gives each job of a statement for many what its own would have got. The order of places is that
 * of the jobs. */
static void finish_pack(struct lane *l, struct lane_job *job)
{
    PGresult *r = job->result;
    int row = 0;

    job->result = NULL;
    for (size_t place = 1; job; place++) {
        struct lane_job *next = place == 1 ? job->packed : job->next;
        bool there = row < PQntuples(r) && strtoull(PQgetvalue(r, row, 0), NULL, 10) == place;

        row += there;
        job->packed = NULL;
        lane_answer(job, there ? l->each.row : l->each.none, NULL);
        job = next;
    }
    PQclear(r);
}

/* Puts the job at the end of the queue, and those that were packed with it. */
static void push_unpacked(struct queue *q, struct lane_job *job)
{
    struct lane_job *next = job->packed;

    job->packed = NULL;
    job->n_packed = 0;
    PQclear(job->result);
    job->result = NULL;
    job->hash = 0;
    job->ahead = 0;
    lane_push(q, job);
    while ((job = next)) {
        next = job->next;
        lane_push(q, job);
    }
}

/* Handles a connection that is gone. Reads are asked again, but not for ever: one of them may be
 * what ends it. A group of writes whose Sync was sent may have been committed, so its jobs are
 * answered DB_LOST. */
static void lane_lost(struct lane *l, int64_t now_us)
{
    struct db_error e;
    struct queue failed = {0}, again = {0};
    struct lane_job *job;

    db_error_from(NULL, l->pg, &e);
    e.status = DB_LOST;
    if (l->state == LANE_CONNECTING || l->state == LANE_DOWN)
        db_meter_connected(&l->refused, false);
    if (l->state == LANE_IDLE)
        log_warn("database.lost", "a connection of the event loop was lost: %s", e.message);
    lane_watch(l, -1, 0);
    db_meter_close(l->pg);
    l->pg = NULL;
    statement_forget_all(&l->known);
    l->state = LANE_DOWN;
    /* a database that has no connection left is not asked for one without end */
    l->retry_at_us = now_us + (RETRY_US << (l->tries < RETRY_DOUBLES ? l->tries : RETRY_DOUBLES));
    l->tries++;
    l->groups = 0;
    l->group_failed = false;
    lane_put_back(&l->flying, &l->done);
    while ((job = pop(&l->flying)))
        push_unpacked(&failed, job);
    while ((job = pop(&failed))) {
        if (l->kind != LANE_WRITE && job->lost++ < LOST_MAX)
            lane_push(&again, job);
        else
            lane_finish(job, &e);
    }
    lane_put_back(&l->waiting, &again);
}

/* Refuses a job with too many parameters. Must be asked before it is sent: the connection is good,
 * and the others of the group have no part in it. */
static bool lane_too_many(struct lane *l)
{
    static const struct db_error e = {
        .status = DB_FAILED, .message = "more parameters than a statement may have"};

    if (l->waiting.first->n_args <= PARAMS_MAX)
        return false;
    lane_finish(pop(&l->waiting), &e);
    return true;
}

static void lane_expire(struct lane *l, int64_t now_us)
{
    bool away = l->state != LANE_IDLE;
    struct db_error e = {.status = away ? DB_LOST : DB_TIMEOUT};
    struct queue keep = {0};
    struct lane_job *job;

    if (!l->waiting.n || l->waiting.first->deadline_us > now_us)
        return;
    snprintf(e.message, sizeof(e.message), away ? "no connection in time" : "no turn in time");
    while ((job = pop(&l->waiting))) {
        if (job->deadline_us <= now_us)
            lane_finish(job, &e);
        else
            lane_push(&keep, job);
    }
    lane_put_back(&l->waiting, &keep);
}

static void begin_connect(struct lane *l, int64_t now_us)
{
    l->pg = db_meter_open(PQconnectStart(l->conninfo));
    if (!l->pg || PQstatus(l->pg) == CONNECTION_BAD) {
        lane_lost(l, now_us);
        return;
    }
    l->state = LANE_CONNECTING;
    l->moved_us = now_us;
    lane_watch(l, PQsocket(l->pg), EPOLLOUT);
}

static void begin_setup(struct lane *l, int64_t now_us)
{
    bool kept = l->prepared && l->kind != LANE_SLOW;
    char setup[240];

    PQsetnonblocking(l->pg, 1);
    snprintf(setup, sizeof(setup),
        "SET search_path=public; SET TimeZone='UTC'; SET DateStyle='ISO'; SET jit=off; SET "
        "statement_timeout=%lld; SET "
        "lock_timeout=5000%s",
        (long long)l->statement_timeout_ms,
        kept ? DB_BY_INDEX "; SET plan_cache_mode=force_generic_plan" : "");
    if (!PQsendQuery(l->pg, setup)) {
        lane_lost(l, now_us);
        return;
    }
    l->state = LANE_SETUP;
    lane_watch(l, PQsocket(l->pg), EPOLLIN | (PQflush(l->pg) > 0 ? EPOLLOUT : 0));
}

static void go_on_connecting(struct lane *l, int64_t now_us)
{
    /* libpq may have gone on to the host's next address: another socket under the same number */
    l->events = 0;
    switch (PQconnectPoll(l->pg)) {
    case PGRES_POLLING_READING:
        lane_watch(l, PQsocket(l->pg), EPOLLIN);
        break;
    case PGRES_POLLING_WRITING:
        lane_watch(l, PQsocket(l->pg), EPOLLOUT);
        break;
    case PGRES_POLLING_OK:
        db_meter_connected(&l->refused, true);
        begin_setup(l, now_us);
        break;
    case PGRES_POLLING_FAILED:
    case PGRES_POLLING_ACTIVE:
        lane_lost(l, now_us);
        break;
    }
}

static void go_on_setup(struct lane *l, int64_t now_us)
{
    PGresult *r;

    if (!PQconsumeInput(l->pg)) {
        lane_lost(l, now_us);
        return;
    }
    while (!PQisBusy(l->pg)) {
        r = PQgetResult(l->pg);
        if (!r) {
            if (!PQenterPipelineMode(l->pg)) {
                lane_lost(l, now_us);
                return;
            }
            l->state = LANE_IDLE;
            l->tries = 0;
            return;
        }
        PQclear(r);
    }
}

static bool send_job(struct lane *l, struct lane_job *job)
{
    const char *sql = job->packed ? job->many_sql : job->sql;
    struct pack_params p; /* large, and its arrays are written as far as they are read */
    const int *lengths = job->packed ? p.lengths : NULL, *formats = job->packed ? p.formats : NULL;
    char name[18];
    bool known, sent;

    if (!job->hash)
        job->hash = statement_hash(sql);
    p.memory = NULL;
    if (job->packed)
        pack_params_fill(&p, job);
    for (size_t i = 0; i < job->n_args && !job->packed; i++)
        p.values[i] = job->args[i].p;
    known = l->prepared && statement_known(&l->known, job->hash);
    db_statement_name(job->hash, name);
    job->ahead = 0;
    if (job->by_value && l->prepared && !l->by_value) {
        if (!PQsendQueryParams(l->pg, DB_PLAN_BY_VALUE, 0, NULL, NULL, NULL, NULL, 0))
            return false;
        l->by_value = true;
        job->ahead++;
    }
    if (l->prepared && !known && l->known.count < STATEMENTS_MAX) {
        if (!PQsendPrepare(l->pg, name, sql, 0, NULL))
            return false;
        job->ahead++;
        known = statement_remember(&l->known, job->hash);
    }
    if (known)
        sent = PQsendQueryPrepared(l->pg, name, (int)job->n_args, p.values, lengths, formats, 0);
    else
        sent = PQsendQueryParams(l->pg, sql, (int)job->n_args, NULL, p.values, lengths, formats, 0);
    free(p.memory);
    return sent;
}

/* Takes the jobs from the waiting ones that can go with this one, which has just been taken. */
static void pack(struct lane *l, struct lane_job *leader)
{
    struct queue others = {0}, chosen = {0};
    size_t bytes = pack_bytes(leader);
    struct lane_job *job;

    if (!leader->many_sql || leader->alone || leader->packed)
        return;
    for (size_t looked = 0; looked < GROUP_MAX && (job = pop(&l->waiting)); looked++) {
        size_t more = pack_bytes(job);

        if (job->many_sql == leader->many_sql && !job->alone && chosen.n < PACK_MAX - 1 &&
            bytes + more <= PACK_BYTES) {
            lane_push(&chosen, job);
            bytes += more;
        } else {
            lane_push(&others, job);
        }
    }
    lane_put_back(&l->waiting, &others);
    if (chosen.n + 1 < PACK_MIN) {
        lane_put_back(&l->waiting, &chosen);
        return;
    }
    leader->packed = chosen.first;
    leader->n_packed = chosen.n;
}

/* Sends a group and its Sync. Reads may have several groups under way; writes and slow
 * statements one. */
static void send_waiting(struct lane *l, int64_t now_us)
{
    size_t sent = 0, max = l->kind == LANE_SLOW ? 1 : GROUP_MAX;

    if (!l->waiting.n || (l->groups && l->kind != LANE_READ) || l->groups > 8)
        return;
    l->by_value = l->kind == LANE_SLOW;
    while (l->waiting.n && sent < max) {
        struct lane_job *job = l->waiting.first;

        if (job->alone && sent)
            break;
        if (lane_too_many(l))
            continue;
        pop(&l->waiting);
        if (l->kind == LANE_WRITE)
            pack(l, job);
        lane_push(&l->flying, job);
        if (!send_job(l, job)) {
            lane_lost(l, now_us);
            return;
        }
        sent++;
        if (job->alone)
            break;
    }
    if (sent && !PQpipelineSync(l->pg)) {
        lane_lost(l, now_us);
        return;
    }
    if (sent && !l->groups++)
        l->moved_us = now_us;
}

/* Mends what is known when lane and connection disagreed about what is prepared: nothing of this
 * job ran, so it may go once more. */
static bool lane_retry(struct lane *l, struct lane_job *job)
{
    const char *state = PQresultErrorField(job->result, PG_DIAG_SQLSTATE);

    if (job->retried || !state || !statement_retry(&l->known, job->hash, state))
        return false;
    job->retried = true;
    return true;
}

/* Ends a group whose Sync has come: it is committed, or all of it failed. */
static void group_over(struct lane *l)
{
    struct queue again = {0}, answered = l->done;
    struct lane_job *job;
    size_t n = l->done.n;

    l->done = (struct queue){0};
    l->groups--;
    while ((job = pop(&answered))) {
        struct db_error e;
        ExecStatusType s = PQresultStatus(job->result);
        bool failed = s != PGRES_TUPLES_OK && s != PGRES_COMMAND_OK;

        if (!l->group_failed && job->packed) {
            finish_pack(l, job);
        } else if (!l->group_failed || (n == 1 && failed && !job->packed && !lane_retry(l, job))) {
            if (failed)
                db_error_from(job->result, l->pg, &e);
            lane_finish(job, failed ? &e : NULL);
        } else if (l->kind == LANE_READ && !failed) {
            /* it ran before the one that failed, and reads leave nothing behind */
            lane_finish(job, NULL);
        } else {
            if (job->packed && lane_retry(l, job))
                job->retried = false; /* it was the statement for many */
            push_unpacked(&again, job);
        }
    }
    for (job = again.n ? again.first : NULL; job; job = job->next)
        job->alone = true;
    l->group_failed = false;
    lane_put_back(&l->waiting, &again);
}

/* Takes one result of the pipeline. Returns false when the connection is lost. */
static bool lane_take_result(struct lane *l, PGresult *r)
{
    ExecStatusType s = PQresultStatus(r);
    struct lane_job *job;
    bool failed;

    if (s == PGRES_PIPELINE_SYNC) {
        PQclear(r);
        group_over(l);
        return true;
    }
    job = l->flying.first;
    if (!job) { /* nothing asked for it: a FATAL message of a server that goes down */
        PQclear(r);
        return false;
    }
    failed = s != PGRES_TUPLES_OK && s != PGRES_COMMAND_OK;
    l->group_failed |= failed;
    if (job->ahead && failed)
        /* whichever it was: what is prepared once too often is corrected */
        statement_forget(&l->known, job->hash);
    if (job->result || (job->ahead && !failed))
        PQclear(r);
    else
        job->result = r; /* of a failure the first one: PGRES_PIPELINE_ABORTED follow */
    if (job->ahead) {
        job->ahead--;
        return true;
    }
    lane_push(&l->done, pop(&l->flying));
    return true;
}

static void read_results(struct lane *l, int64_t now_us)
{
    bool ended = false;

    if (!PQconsumeInput(l->pg)) {
        lane_lost(l, now_us);
        return;
    }
    l->moved_us = now_us;
    while ((l->flying.n || l->groups) && !PQisBusy(l->pg)) {
        PGresult *r = PQgetResult(l->pg);
        /* two ends in a row: libpq waits for nothing more, and statements have no answer */
        bool out_of_step = !r && ended && !PQisBusy(l->pg);

        if ((r && !lane_take_result(l, r)) || (!r && PQstatus(l->pg) != CONNECTION_OK) ||
            out_of_step) {
            if (out_of_step)
                log_warn("database.out_of_step", "a lane's connection answers nothing more");
            lane_lost(l, now_us);
            return;
        }
        ended = !r;
        if (!r && PQisBusy(l->pg))
            break;
    }
    if (PQstatus(l->pg) != CONNECTION_OK)
        lane_lost(l, now_us);
}

/* Tells whether the server says nothing for longer than a statement may take, or than connecting
 * takes: it hangs, or is out of reach. */
static bool silent(const struct lane *l, int64_t now_us)
{
    if (l->state == LANE_CONNECTING || l->state == LANE_SETUP)
        return now_us - l->moved_us > CONNECT_WAIT_US;
    return l->state == LANE_IDLE && l->groups && l->statement_timeout_ms &&
           now_us - l->moved_us > l->statement_timeout_ms * 1000 + SILENCE_US;
}

void lane_turn(struct lane *l, bool ready, int64_t now_us)
{
    if (l->state == LANE_DOWN && now_us >= l->retry_at_us)
        begin_connect(l, now_us);
    else if (ready && l->state == LANE_CONNECTING)
        go_on_connecting(l, now_us);
    if (!ready && silent(l, now_us))
        lane_lost(l, now_us);
    if (ready && l->state == LANE_SETUP)
        go_on_setup(l, now_us);
    if (ready && l->state == LANE_IDLE)
        read_results(l, now_us);
    if (l->state == LANE_IDLE)
        send_waiting(l, now_us);
    if (l->state == LANE_IDLE) {
        int more = PQflush(l->pg);

        if (more < 0)
            lane_lost(l, now_us);
        else
            lane_watch(l, PQsocket(l->pg), EPOLLIN | (more ? EPOLLOUT : 0));
    }
    lane_expire(l, now_us);
    db_meter_busy(&l->counted, lane_load(l) != 0);
}

void lane_queue(struct lane *l, struct lane_job *job)
{
    job->queued_us = clock_monotonic_us();
    job->hash = 0;
    job->result = NULL;
    job->packed = NULL;
    job->n_packed = 0;
    job->alone = false;
    job->ahead = 0;
    job->retried = false;
    job->lost = 0;
    lane_push(&l->waiting, job);
}
