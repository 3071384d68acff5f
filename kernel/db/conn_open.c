/* conn_open.c - how a connection comes to be, and comes back (conn.h): lazily, with the settings
 * of its session. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db/conn_inside.h"
#include "db/meter.h"
#include "util/id.h"
#include "util/log.h"
#include "util/time.h"
#include "util/turns.h"

enum { BACK_TIMES = 10 };

struct db_conn *db_open(const char *conninfo, bool prepared, int64_t statement_timeout_ms)
{
    struct db_conn *c = calloc(1, sizeof(*c));

    if (!c || !(c->conninfo = strdup(conninfo))) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    c->prepared = prepared;
    c->statement_timeout_ms = c->deadline.usual_ms = statement_timeout_ms;
    c->session = -1;
    return c;
}

void db_step_back(struct db_conn *c)
{
    c->steps_back = true;
    c->deadline.usual_ms = c->statement_timeout_ms * BACK_TIMES;
}

struct db_conn *db_another(const struct db_conn *c, bool prepared)
{
    struct db_conn *other = db_open(c->conninfo, prepared && c->prepared, c->statement_timeout_ms);

    if (c->steps_back)
        db_step_back(other);
    return other;
}

void db_close(struct db_conn *c)
{
    if (!c)
        return;
    PQclear(c->started_result);
    ahead_done(&c->ahead);
    db_meter_close(c->pg);
    db_meter_connected(&c->refused, true);
    if (c->session >= 0)
        close(c->session);
    statement_forget_all(&c->known);
    free(c->conninfo);
    free(c);
}

static void notices_to_debug_log(void *arg, const PGresult *result)
{
    (void)arg;
    log_debug("database.notice", "%s", PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
}

static char process_name[ID_MAX];

static void make_process_name(void)
{
    id_new("wharf_worker", clock_now_us(), process_name);
}

/* Returns the name that all connections of this process have, and no others: whoever finds that it
 * stands still can end them (db/sql/job_sweep.sql). */
static const char *our_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_process_name);
    return process_name;
}

static void conn_open_step_back(struct db_conn *c)
{
    static _Atomic int reported;

    if (c->session >= 0)
        close(c->session);
    if (!turns_step_back(PQbackendPID(c->pg), STEP_BACK_NICE, &c->session) && !reported++)
        log_info("database.step_back",
            "jobs in the background have the processors as clients do: PostgreSQL's processes "
            "can't step back (%s)",
            strerror(errno));
    turns_session_nice(&c->session, STEP_BACK_NICE);
}

static bool connect_now(struct db_conn *c)
{
    char setup[320];
    PGresult *r;
    bool ok;

    db_meter_close(c->pg);
    statement_forget_all(&c->known);
    c->pg = db_meter_open(PQconnectdb(c->conninfo));
    if (PQstatus(c->pg) != CONNECTION_OK) {
        c->retry_after_us = clock_monotonic_us() + 50000;
        db_meter_connected(&c->refused, false);
        return false;
    }
    db_meter_connected(&c->refused, true);
    c->epoch++;
    PQsetNoticeReceiver(c->pg, notices_to_debug_log, NULL);
    snprintf(setup, sizeof(setup),
        "SET search_path=public; SET TimeZone='UTC'; SET DateStyle='ISO'; SET jit=off; SET "
        "application_name='%s'; SET "
        "statement_timeout=%lld; SET lock_timeout=5000%s%s",
        our_name(), (long long)c->deadline.usual_ms, c->prepared ? DB_BY_INDEX : "",
        c->steps_back ? DB_ALONE : "");
    r = PQexec(c->pg, setup);
    ok = PQresultStatus(r) == PGRES_COMMAND_OK;
    PQclear(r);
    if (ok && c->steps_back)
        conn_open_step_back(c);
    return ok;
}

bool db_up(const struct db_conn *c)
{
    return c->pg && PQstatus(c->pg) == CONNECTION_OK;
}

void db_look(struct db_conn *c)
{
    struct pollfd fd = {.fd = db_up(c) ? PQsocket(c->pg) : -1, .events = POLLIN};

    if (poll(&fd, 1, 0) > 0 && !PQconsumeInput(c->pg))
        log_debug("database.lost", "an idle connection was ended");
}

static bool conn_open_connected(struct db_conn *c)
{
    if (db_up(c))
        return true;
    if (clock_monotonic_us() < c->retry_after_us)
        return false;
    return connect_now(c);
}

bool db_ready(struct db_conn *c)
{
    int64_t until = clock_monotonic_us() + 250000;

    if (c->deadline.until_us && c->deadline.until_us < until)
        until = c->deadline.until_us;
    while (!conn_open_connected(c)) {
        struct timespec nap = {0, 20000000};

        if (clock_monotonic_us() > until)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}
