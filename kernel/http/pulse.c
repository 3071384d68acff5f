/* pulse.c - see pulse.h. */
#include "http/pulse.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum { CLOCK_EVERY_US = 60000000, PARTITIONS_EVERY_US = 3600 * 1000000LL };

struct pulse {
    struct engine *engine;
    char *database;
    bool housekeeping, ready;
    PGconn *pg;
    pthread_t thread;
    int stop_fd;
    int64_t next_clock_us, next_partitions_us;
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

static bool connect_pulse(struct pulse *p)
{
    PGresult *r;
    bool ok;

    PQfinish(p->pg);
    p->pg = PQconnectdb(p->database);
    if (PQstatus(p->pg) != CONNECTION_OK)
        return false;
    r = PQexec(p->pg, "LISTEN wharf_auth");
    ok = PQresultStatus(r) == PGRES_COMMAND_OK;
    PQclear(r);
    /* What was missed while the connection was away is unknown: everything cached is read again. */
    auth_cache_clear(p->engine->auth);
    return ok && sample_clock(p);
}

static void take_notices(struct pulse *p)
{
    PGnotify *n;

    PQconsumeInput(p->pg);
    while ((n = PQnotifies(p->pg))) {
        auth_cache_clear(p->engine->auth);
        PQfreemem(n);
    }
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
    keep_partitions(p, now_us);
}

static void *pulse_main(void *arg)
{
    struct pulse *p = arg;
    struct pollfd fds[2] = {{.fd = p->stop_fd, .events = POLLIN}, {.events = POLLIN}};

    for (;;) {
        fds[1].fd = p->pg && PQstatus(p->pg) == CONNECTION_OK ? PQsocket(p->pg) : -1;
        poll(fds, 2, p->ready ? 1000 : 100);
        if (fds[0].revents)
            return NULL;
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

void pulse_stop(struct pulse *p)
{
    uint64_t one = 1;

    if (!p)
        return;
    if (p->thread && write(p->stop_fd, &one, sizeof(one)) == sizeof(one))
        pthread_join(p->thread, NULL);
    PQfinish(p->pg);
    close(p->stop_fd);
    free(p->database);
    free(p);
}
