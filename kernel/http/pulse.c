/* pulse.c - see pulse.h. */
#include "http/pulse.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum {
    CLOCK_EVERY_US = 60000000,
    PARTITIONS_EVERY_US = 3600 * 1000000LL,
    FORGET_MORE_US = 1000000,
    FORGET_EVERY_US = 600000000,
    WAKE_EVERY_MS = 10,
    USED_TEXT = 1024 * 1024
};

struct pulse {
    struct engine *engine;
    char *database;
    bool housekeeping, ready;
    PGconn *pg;
    pthread_t thread;
    int stop_fd, wake_fd;
    int64_t next_clock_us, next_partitions_us, next_forget_us;
    _Atomic int wake_asked; /* somebody wrote to wake_fd and was not heard yet */
    void (*_Atomic on_jobs)(void *arg);
    void *on_jobs_arg;
};

static bool sample_clock(struct pulse *p)
{
    PGresult *r = PQexec(p->pg, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
                                "COALESCE((SELECT value FROM wharf.setting WHERE key = 'clock.offset_seconds'), '0')");
    bool ok = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1;

    if (ok)
        clock_sync(strtoll(PQgetvalue(r, 0, 0), NULL, 10), strtoll(PQgetvalue(r, 0, 1), NULL, 10));
    PQclear(r);
    return ok;
}

static void tell_jobs(struct pulse *p)
{
    void (*fn)(void *) = atomic_load(&p->on_jobs);

    if (fn)
        fn(p->on_jobs_arg);
}

static bool connect_pulse(struct pulse *p)
{
    PGresult *r;
    bool ok;

    PQfinish(p->pg);
    p->pg = PQconnectdb(p->database);
    if (PQstatus(p->pg) != CONNECTION_OK)
        return false;
    r = PQexec(p->pg, p->housekeeping ? "LISTEN wharf_auth; LISTEN wharf_clock; LISTEN wharf_job"
                                      : "LISTEN wharf_auth; LISTEN wharf_clock");
    ok = PQresultStatus(r) == PGRES_COMMAND_OK;
    PQclear(r);
    tell_jobs(p);
    /* What was missed while the connection was away is unknown: everything cached is read again. */
    auth_cache_clear(p->engine->auth);
    return ok && sample_clock(p);
}

static void take_notices(struct pulse *p)
{
    bool jobs = false;
    PGnotify *n;

    PQconsumeInput(p->pg);
    while ((n = PQnotifies(p->pg))) {
        if (!strcmp(n->relname, "wharf_clock"))
            p->next_clock_us = 0;
        if (!strcmp(n->relname, "wharf_job") || !strcmp(n->relname, "wharf_clock"))
            jobs = true;
        if (strcmp(n->relname, "wharf_job") != 0) /* what has expired is told by the clock too */
            auth_cache_clear(p->engine->auth);
        PQfreemem(n);
    }
    if (jobs)
        tell_jobs(p);
}

static void keep_partitions(struct pulse *p, int64_t now_us)
{
    PGresult *r;

    if (!p->housekeeping || now_us < p->next_partitions_us)
        return;
    p->next_partitions_us = now_us + PARTITIONS_EVERY_US;
    r = PQexec(p->pg, "SELECT wharf.ensure_partitions(now())");
    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        log_warn("partitions.failed", "%s", PQresultErrorMessage(r));
    PQclear(r);
}

/* What is committed before the flag is cleared is covered by this notice; what comes later asks anew. */
static void send_wake(struct pulse *p)
{
    struct timespec nap = {0, WAKE_EVERY_MS * 1000000};
    uint64_t count;

    nanosleep(&nap, NULL);
    if (read(p->wake_fd, &count, sizeof(count)) < 0)
        log_debug("jobs.wake", "nobody asked any more");
    atomic_store(&p->wake_asked, 0);
    if (p->pg && PQstatus(p->pg) == CONNECTION_OK)
        PQclear(PQexec(p->pg, "NOTIFY wharf_job"));
}

/* Keys of requests are kept for a day; what is older counts as forgotten already. */
static void forget_idempotency_keys(struct pulse *p, int64_t now_us)
{
    PGresult *r;

    if (!p->housekeeping || now_us < p->next_forget_us)
        return;
    r = PQexec(p->pg, "DELETE FROM wharf.idempotency WHERE (organization_id, key) IN (SELECT organization_id, key FROM "
                      "wharf.idempotency WHERE created_at < wharf.now() - interval '24 hours' LIMIT 1000)");
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        log_warn("idempotency.failed", "%s", PQresultErrorMessage(r));
    /* A full batch: there is more. */
    p->next_forget_us = now_us + (strcmp(PQcmdTuples(r), "1000") == 0 ? FORGET_MORE_US : FORGET_EVERY_US);
    PQclear(r);
}

/* last_used_at, at most once a minute for each key whatever the number of requests and processes. */
static void write_used_keys(struct pulse *p)
{
    static const char sql[] =
        "UPDATE org.api_key AS k SET last_used_at = wharf.now()"
        " FROM (SELECT * FROM unnest($1::text[], $2::text[]) AS u(organization_id, id) ORDER BY 2) AS u"
        " WHERE k.organization_id = u.organization_id AND k.id = u.id"
        " AND (k.last_used_at IS NULL OR k.last_used_at <= wharf.now() - interval '60 seconds')";
    struct buf organizations, keys;

    buf_init(&organizations, USED_TEXT);
    buf_init(&keys, USED_TEXT);
    if (auth_used_take(p->engine->auth, &organizations, &keys)) {
        const char *args[] = {organizations.p, keys.p};
        PGresult *r = PQexecParams(p->pg, sql, 2, NULL, args, NULL, NULL, 0);

        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            log_warn("keys.used", "%s", PQresultErrorMessage(r));
        PQclear(r);
    }
    buf_done(&organizations);
    buf_done(&keys);
}

static void beat(struct pulse *p)
{
    int64_t now_us = clock_monotonic_us();

    if (!p->pg || PQstatus(p->pg) != CONNECTION_OK) {
        p->ready = connect_pulse(p);
        if (p->ready)
            log_info("database.back", "the database answers again");
        return;
    }
    take_notices(p);
    if (now_us >= p->next_clock_us) {
        p->next_clock_us = now_us + CLOCK_EVERY_US;
        p->ready = sample_clock(p);
    }
    write_used_keys(p);
    keep_partitions(p, now_us);
    forget_idempotency_keys(p, now_us);
}

static void *pulse_main(void *arg)
{
    struct pulse *p = arg;
    struct pollfd fds[3] = {
        {.fd = p->stop_fd, .events = POLLIN}, {.events = POLLIN}, {.fd = p->wake_fd, .events = POLLIN}};

    for (;;) {
        fds[1].fd = p->pg && PQstatus(p->pg) == CONNECTION_OK ? PQsocket(p->pg) : -1;
        poll(fds, 3, p->ready ? 1000 : 100);
        if (fds[0].revents)
            return NULL;
        if (fds[2].revents)
            send_wake(p);
        if (fds[1].revents)
            take_notices(p);
        if (!p->pg || PQstatus(p->pg) != CONNECTION_OK)
            p->ready = false;
        beat(p);
    }
}

struct pulse *pulse_start(struct engine *e, const char *database, bool housekeeping, wharf_str *ret_error)
{
    struct pulse *p = calloc(1, sizeof(*p));

    if (!p || !(p->database = strdup(database)))
        abort();
    p->engine = e;
    p->housekeeping = housekeeping;
    p->stop_fd = eventfd(0, EFD_CLOEXEC);
    p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!connect_pulse(p)) {
        *ret_error = arena_dupz(e->arena, p->pg ? PQerrorMessage(p->pg) : "no connection");
        pulse_stop(p);
        return NULL;
    }
    p->ready = true;
    p->next_clock_us = clock_monotonic_us() + CLOCK_EVERY_US;
    if (pthread_create(&p->thread, NULL, pulse_main, p) != 0)
        abort();
    return p;
}

const bool *pulse_ready(const struct pulse *p)
{
    return &p->ready;
}

void pulse_wake_jobs(struct pulse *p)
{
    uint64_t one = 1;

    if (!atomic_exchange(&p->wake_asked, 1) && write(p->wake_fd, &one, sizeof(one)) < 0)
        log_debug("jobs.wake", "the side thread is already awake");
}

void pulse_on_jobs(struct pulse *p, void (*fn)(void *arg), void *arg)
{
    p->on_jobs_arg = arg;
    atomic_store(&p->on_jobs, fn);
}

void pulse_stop(struct pulse *p)
{
    uint64_t one = 1;

    if (!p)
        return;
    if (p->thread && write(p->stop_fd, &one, sizeof(one)) == sizeof(one))
        pthread_join(p->thread, NULL);
    PQfinish(p->pg);
    close(p->stop_fd);
    close(p->wake_fd);
    free(p->database);
    free(p);
}
