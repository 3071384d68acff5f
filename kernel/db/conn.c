/* conn.c - see conn.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/conn_inside.h"
#include "db/meter.h"
#include "util/disk.h"
#include "util/log.h"
#include "util/time.h"
#include "util/turns.h"

enum { COPY_PIECE = 1 << 20 };

void db_error_from(const PGresult *result, const PGconn *conn, struct db_error *e)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *constraint = result ? PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME) : NULL;
    const char *message = result ? PQresultErrorMessage(result)
                          : conn ? PQerrorMessage(conn)
                                 : "no connection";

    *e = (struct db_error){.status = DB_FAILED};
    snprintf(e->sqlstate, sizeof(e->sqlstate), "%s", state ? state : "");
    snprintf(e->constraint, sizeof(e->constraint), "%s", constraint ? constraint : "");
    snprintf(e->message, sizeof(e->message), "%s", message);
    if (!state || (conn && PQstatus(conn) != CONNECTION_OK) || !strncmp(state, "08", 2) ||
        !strncmp(state, "57P", 3))
        e->status = DB_LOST;
    else if (!strcmp(state, "23505"))
        e->status = DB_UNIQUE;
    else if (!strcmp(state, "40001") || !strcmp(state, "40P01"))
        e->status = DB_CONFLICT;
    else if (!strcmp(state, "57014") || !strcmp(state, "55P03") || !strncmp(state, "53", 2))
        e->status = DB_TIMEOUT;
    if (!strcmp(e->sqlstate, "53100") && disk_lost(DISK_DATABASE, 1, ENOSPC))
        log_error("database.disk_full",
            "the disk of the database is full: writes answer 503 until there is room (%s)",
            message);
}

unsigned db_epoch(const struct db_conn *c)
{
    return c->epoch;
}

uint64_t db_ran(const struct db_conn *c)
{
    return c->ran;
}

bool db_in_transaction(const struct db_conn *c)
{
    return c->open;
}

bool conn_good(const PGresult *r)
{
    ExecStatusType s = PQresultStatus(r);

    return s == PGRES_TUPLES_OK || s == PGRES_COMMAND_OK || s == PGRES_SINGLE_TUPLE;
}

static bool params_fit(size_t n_args, struct db_error *e)
{
    if (n_args <= PARAMS_MAX)
        return true;
    *e = (struct db_error){
        .status = DB_FAILED, .message = "more parameters than a statement may have"};
    return false;
}

/* Prepares what the connection has not prepared yet, while it may have more. Returns false when it
 * was refused. */
static bool conn_prepare(struct db_conn *c, const char *sql, uint64_t hash, struct db_error *e)
{
    char name[18];
    PGresult *r;
    bool ok;

    if (!c->prepared || statement_known(&c->known, hash) || c->known.count >= STATEMENTS_MAX)
        return true;
    db_statement_name(hash, name);
    r = PQprepare(c->pg, name, sql, 0, NULL);
    ok = conn_good(r);
    if (ok) {
        statement_remember(&c->known, hash);
    } else {
        db_error_from(r, c->pg, e);
        if (statement_retry(&c->known, hash, e->sqlstate))
            e->status = DB_CONFLICT;
    }
    PQclear(r);
    return ok;
}

/* Sets what libpq wants to have of a statement's parameters, and its name. Returns false when it
 * is not prepared, and goes by its text. */
static bool bind(const struct db_conn *c, uint64_t hash, const struct sql_arg *args, size_t n_args,
    const char *ret_values[static PARAMS_MAX], char ret_name[static 18])
{
    for (size_t i = 0; i < n_args; i++)
        ret_values[i] = args[i].p;
    db_statement_name(hash, ret_name);
    return c->prepared && statement_known(&c->known, hash);
}

static PGresult *conn_run_once(struct db_conn *c, const char *sql, const struct sql_arg *args,
    size_t n_args, struct db_error *e)
{
    uint64_t hash = statement_hash(sql);
    const char *values[PARAMS_MAX];
    char name[18];
    PGresult *r;

    if (!params_fit(n_args, e) || !conn_prepare(c, sql, hash, e))
        return NULL;
    r = bind(c, hash, args, n_args, values, name)
            ? PQexecPrepared(c->pg, name, (int)n_args, values, NULL, NULL, 0)
            : PQexecParams(c->pg, sql, (int)n_args, NULL, values, NULL, NULL, 0);
    if (conn_good(r))
        return r;
    db_error_from(r, c->pg, e);
    if (statement_retry(&c->known, hash, e->sqlstate))
        e->status = DB_CONFLICT; /* nothing ran; the next attempt does */
    PQclear(r);
    return NULL;
}

/* ---- several in one piece ---- */

/* Tells whether the connection and its set disagreed about what is prepared (statement_retry). */
static bool stale(const struct db_error *e)
{
    return !strcmp(e->sqlstate, "26000") || !strcmp(e->sqlstate, "42P05");
}

static bool send_one(struct db_conn *c, const struct db_statement *s)
{
    const char *values[PARAMS_MAX];
    char name[18];

    if (bind(c, statement_hash(s->sql), s->args, s->n_args, values, name))
        return PQsendQueryPrepared(c->pg, name, (int)s->n_args, values, NULL, NULL, 0);
    return PQsendQueryParams(c->pg, s->sql, (int)s->n_args, NULL, values, NULL, NULL, 0);
}

/* Drops a connection from which libpq waits for nothing more while the Sync is not answered: what
 * comes later would be taken for the answer to something else. */
static void drop_out_of_step(struct db_conn *c)
{
    log_warn("database.out_of_step",
        "a connection answers nothing more to a pipeline; pipeline %d, transaction %d",
        (int)PQpipelineStatus(c->pg), (int)PQtransactionStatus(c->pg));
    db_meter_close(c->pg);
    c->pg = NULL;
}

/* Reads up to the answer to the Sync. Returns the last result, or NULL and the first error. */
static PGresult *piece_result(
    struct db_conn *c, const struct db_statement *statements, size_t n, struct db_error *e)
{
    PGresult *r, *last = NULL;
    bool failed = false, ended = false;
    size_t at = 0;

    while ((r = PQgetResult(c->pg)) || PQstatus(c->pg) == CONNECTION_OK) {
        if (!r && ended) { /* two ends in a row: there is nothing behind the first */
            if (!failed)
                db_error_from(NULL, c->pg, e);
            failed = true;
            drop_out_of_step(c);
            break;
        }
        ended = !r;
        if (!r) {
            at++; /* the end of one statement's results */
            continue;
        }
        if (PQresultStatus(r) == PGRES_PIPELINE_SYNC)
            break;
        if (!conn_good(r) && !failed) {
            failed = true;
            db_error_from(r, c->pg, e);
            if (at < n &&
                statement_retry(&c->known, statement_hash(statements[at].sql), e->sqlstate))
                e->status = DB_CONFLICT;
        }
        PQclear(last);
        last = r;
    }
    if (!r && !failed)
        db_error_from(NULL, c->pg, e);
    if (r && !failed) {
        PQclear(r);
        return last;
    }
    PQclear(r);
    PQclear(last);
    return NULL;
}

static PGresult *run_piece(
    struct db_conn *c, const struct db_statement *statements, size_t n, struct db_error *e)
{
    PGresult *r = NULL;
    bool sent;

    for (size_t i = 0; i < n; i++) {
        if (!params_fit(statements[i].n_args, e) ||
            !conn_prepare(c, statements[i].sql, statement_hash(statements[i].sql), e))
            return NULL;
    }
    sent = PQenterPipelineMode(c->pg);
    for (size_t i = 0; i < n && sent; i++)
        sent = send_one(c, &statements[i]);
    if (sent && PQpipelineSync(c->pg))
        r = piece_result(c, statements, n, e);
    else
        db_error_from(NULL, c->pg, e);
    if (!PQexitPipelineMode(c->pg)) { /* nothing that follows could be understood */
        db_meter_close(c->pg);
        c->pg = NULL;
    }
    return r;
}

/* Runs the statements in one piece, but for those that are not prepared yet: what stands before
 * one is run first, as it may say who asks (a role). */
static PGresult *run_in_order(
    struct db_conn *c, const struct db_statement *statements, size_t n, struct db_error *e)
{
    PGresult *r = NULL;
    size_t from = 0;

    for (size_t i = 1; i < n; i++) {
        if (!c->prepared || statement_known(&c->known, statement_hash(statements[i].sql)))
            continue;
        PQclear(r);
        r = run_piece(c, statements + from, i - from, e);
        if (!r)
            return NULL;
        from = i;
    }
    PQclear(r);
    return run_piece(c, statements + from, n - from, e);
}

/* Runs a statement when nothing waits before it. Outside a transaction, what has to be said for it
 * alone goes with it, as one transaction. */
static PGresult *conn_run_alone(
    struct db_conn *c, const struct db_statement *s, bool one_plan, struct db_error *e)
{
    struct db_statement list[3];
    PGresult *r;
    size_t n = 0;

    if (c->open)
        return conn_run_once(c, s->sql, s->args, s->n_args, e);
    if (deadline_tell(&c->deadline, &list[n]))
        n++;
    if (one_plan && c->prepared)
        list[n++] = (struct db_statement){.sql = DB_ONE_PLAN};
    list[n++] = *s;
    r = n > 1 ? run_piece(c, list, n, e) : conn_run_once(c, s->sql, s->args, s->n_args, e);
    deadline_transaction(&c->deadline);
    return r;
}

PGresult *conn_run_behind(struct db_conn *c, const struct db_statement *last, struct db_error *e)
{
    bool fresh = ahead_begins(&c->ahead), again = fresh && !(last && last->step == TX_COMMIT);
    size_t n = c->ahead.n;
    PGresult *r = NULL;

    if (last)
        c->ahead.list[n++] = *last;
    for (size_t tries = 0; !r && tries <= n; tries++) {
        if (fresh && !db_ready(c)) {
            db_error_from(NULL, c->pg, e);
            break;
        }
        r = run_in_order(c, c->ahead.list, n, e);
        if (r || !again || !(stale(e) || (e->status == DB_LOST && !tries)))
            break;
        if (tx_is_open(c->pg))
            tx_rollback(c->pg);
    }
    if (r)
        e->status = DB_OK; /* of an attempt before it may be left */
    ahead_drop(&c->ahead, 0);
    return r;
}

static bool conn_flush(struct db_conn *c, struct db_error *e)
{
    PGresult *r;

    if (!c->ahead.n)
        return true;
    r = conn_run_behind(c, NULL, e);
    PQclear(r);
    return r != NULL;
}

/* ---- time ---- */

int64_t db_deadline(struct db_conn *c, int64_t until_us)
{
    int64_t before = c->deadline.until_us;

    if (!before || until_us < before)
        c->deadline.until_us = until_us;
    return before;
}

void db_deadline_end(struct db_conn *c, int64_t before_us)
{
    c->deadline.until_us = before_us;
}

static bool in_time(const struct db_conn *c, struct db_error *e)
{
    if (!deadline_over(&c->deadline))
        return true;
    *e = (struct db_error){
        .status = DB_TIMEOUT, .sqlstate = "57014", .message = "the time of who asks is over"};
    return false;
}

/* Tells the server the time left, inside a transaction. */
static void tell_deadline(struct db_conn *c)
{
    struct db_statement s;

    if (deadline_tell(&c->deadline, &s))
        ahead_add(&c->ahead, &s);
}

/* ---- one ---- */

static const struct db_error transaction_lost = {
    .status = DB_LOST, .message = "the connection was lost inside a transaction"};

bool conn_alive(const struct db_conn *c, struct db_error *e)
{
    if (!c->open || ahead_begins(&c->ahead) || tx_is_open(c->pg))
        return true;
    *e = transaction_lost;
    return false;
}

void conn_settle(struct db_conn *c)
{
    PGresult *r;

    if (!c->started || c->started_result || c->unprepared.status != DB_OK)
        return;
    while ((r = PQgetResult(c->pg)) != NULL) {
        PQclear(c->started_result);
        c->started_result = r;
    }
}

void conn_drop_started(struct db_conn *c)
{
    conn_settle(c);
    PQclear(c->started_result);
    c->started_result = NULL;
    c->unprepared.status = DB_OK;
    c->started = 0;
}

bool db_start(struct db_conn *c, struct sql *s)
{
    const char *sql = buf_str(s->text).p, *values[PARAMS_MAX];
    uint64_t hash = statement_hash(sql);
    char name[18];

    if (s->failed || s->text->failed || s->n_args > PARAMS_MAX || !c->prepared || c->started ||
        !c->open)
        return false;
    if (deadline_over(&c->deadline))
        return false;
    c->unprepared.status = DB_OK;
    tell_deadline(c);
    if (conn_flush(c, &c->unprepared) && !tx_is_open(c->pg))
        return false;
    if (c->unprepared.status == DB_OK && conn_prepare(c, sql, hash, &c->unprepared) &&
        (!bind(c, hash, s->args, s->n_args, values, name) ||
            !PQsendQueryPrepared(c->pg, name, (int)s->n_args, values, NULL, NULL, 0)))
        return false;
    c->started = hash;
    c->ran++;
    return true;
}

PGresult *db_finish(struct db_conn *c, struct db_error *ret_error)
{
    int64_t start_us = clock_monotonic_us();
    PGresult *r;

    conn_settle(c);
    r = c->started_result;
    c->started_result = NULL;
    if (c->unprepared.status != DB_OK) {
        *ret_error = c->unprepared;
    } else if (!r || !conn_good(r)) {
        db_error_from(r, c->pg, ret_error);
        if (statement_retry(&c->known, c->started, ret_error->sqlstate))
            ret_error->status = DB_CONFLICT;
        PQclear(r);
        r = NULL;
    }
    c->started = 0;
    db_meter_statement(clock_monotonic_us() - start_us);
    return r;
}

static PGresult *conn_run(
    struct db_conn *c, const struct db_statement *s, bool one_plan, struct db_error *ret_error)
{
    PGresult *r;

    conn_settle(c);
    if (!conn_alive(c, ret_error) || !in_time(c, ret_error))
        return NULL;
    if (c->open)
        tell_deadline(c);
    if (c->ahead.n)
        return conn_run_behind(c, s, ret_error);
    if (!c->open && !db_ready(c)) {
        db_error_from(NULL, c->pg, ret_error);
        return NULL;
    }
    r = conn_run_alone(c, s, one_plan, ret_error);
    /* A statement alone on a connection that had died while idle did not run: the new connection
     * may have it. */
    if (!r && ret_error->status == DB_LOST && !c->open && db_ready(c))
        r = conn_run_alone(c, s, one_plan, ret_error);
    for (int i = 0; i < 3 && !r && !c->open && stale(ret_error); i++) /* as many as go together */
        r = conn_run_alone(c, s, one_plan, ret_error);
    if (r)
        ret_error->status = DB_OK; /* of an attempt before it may be left */
    return r;
}

static PGresult *run_metered(
    struct db_conn *c, const struct db_statement *s, bool one_plan, struct db_error *ret_error)
{
    int64_t start_us = clock_monotonic_us();
    PGresult *r;

    c->ran++;
    turns_session_nice(&c->session, STEP_BACK_NICE); /* if it was not yet */
    db_meter_busy(&c->counted, true);
    r = conn_run(c, s, one_plan, ret_error);
    db_meter_statement(clock_monotonic_us() - start_us);
    db_meter_busy(&c->counted, c->open);
    return r;
}

PGresult *db_run(struct db_conn *c, const char *sql, const struct sql_arg *args, size_t n_args,
    struct db_error *ret_error)
{
    return run_metered(c, &(struct db_statement){sql, args, n_args}, false, ret_error);
}

PGresult *db_run_one_plan(struct db_conn *c, const char *sql, const struct sql_arg *args,
    size_t n_args, struct db_error *ret_error)
{
    return run_metered(c, &(struct db_statement){sql, args, n_args}, true, ret_error);
}

PGresult *db_run_whole(
    struct db_conn *c, const struct db_statement *statements, size_t n, struct db_error *ret_error)
{
    int64_t start_us = clock_monotonic_us();
    PGresult *r = NULL;

    c->ran++;
    db_meter_busy(&c->counted, true);
    if (db_ready(c))
        r = run_piece(c, statements, n, ret_error);
    else
        db_error_from(NULL, c->pg, ret_error);
    for (size_t i = 0; !r && i < n && stale(ret_error); i++)
        /* nothing of it ran, and the set knows one more */
        r = run_piece(c, statements, n, ret_error);
    db_meter_statement(clock_monotonic_us() - start_us);
    db_meter_busy(&c->counted, false);
    return r;
}

PGresult *db_run_sql(struct db_conn *c, struct sql *s, struct db_error *ret_error)
{
    if (s->failed || s->text->failed) {
        *ret_error = (struct db_error){
            .status = DB_FAILED, .message = "the statement is too large"};
        return NULL;
    }
    return db_run(c, buf_str(s->text).p, s->args, s->n_args, ret_error);
}

PGresult *copy_run(PGconn *pg, const char *sql, wharf_str rows)
{
    PGresult *r = PQexec(pg, sql), *next;

    if (PQresultStatus(r) != PGRES_COPY_IN)
        return r;
    PQclear(r);
    for (size_t at = 0; at < rows.n; at += COPY_PIECE) {
        if (PQputCopyData(
                pg, rows.p + at, (int)(rows.n - at < COPY_PIECE ? rows.n - at : COPY_PIECE)) != 1)
            break; /* the result says why */
    }
    PQputCopyEnd(pg, NULL);
    r = PQgetResult(pg);
    while ((next = PQgetResult(pg)) != NULL) {
        /* the end could not be said: libpq asks for it again and again */
        bool endless = PQresultStatus(next) == PGRES_COPY_IN;

        PQclear(next);
        if (endless)
            break;
    }
    return r;
}

bool db_copy(struct db_conn *c, const char *sql, wharf_str rows, struct db_error *ret_error)
{
    int64_t start_us = clock_monotonic_us();
    PGresult *r;
    bool ok;

    c->ran++;
    conn_settle(c);
    if (!c->open || !conn_alive(c, ret_error)) {
        *ret_error = transaction_lost;
        return false;
    }
    if (!in_time(c, ret_error))
        return false;
    tell_deadline(c);
    if (!conn_flush(c, ret_error))
        return false;
    r = copy_run(c->pg, sql, rows);
    ok = PQresultStatus(r) == PGRES_COMMAND_OK;
    if (!ok)
        db_error_from(r, c->pg, ret_error);
    PQclear(r);
    db_meter_statement(clock_monotonic_us() - start_us);
    return ok;
}

void db_ahead(struct db_conn *c, const char *sql, const struct sql_arg *args, size_t n_args)
{
    if (c->open)
        tell_deadline(c);
    c->ran++;
    ahead_add(&c->ahead, &(struct db_statement){sql, args, n_args});
}

static enum db_status do_it(struct db_conn *c, const char *sql, struct db_error *e)
{
    PGresult *r;

    conn_settle(c);
    if (!conn_alive(c, e) || !conn_flush(c, e))
        return e->status;
    *e = (struct db_error){.status = DB_OK};
    r = db_ready(c) ? PQexec(c->pg, sql) : NULL;
    if (!r || !conn_good(r)) {
        db_error_from(r, c->pg, e);
        e->status = r ? e->status : DB_LOST;
    }
    PQclear(r);
    return e->status;
}

enum db_status db_do(struct db_conn *c, const char *sql, struct db_error *ret_error)
{
    int64_t start_us = clock_monotonic_us();
    enum db_status status;

    c->ran++;
    db_meter_busy(&c->counted, true);
    status = do_it(c, sql, ret_error);
    db_meter_statement(clock_monotonic_us() - start_us);
    db_meter_busy(&c->counted, c->open);
    return status;
}
