/* transaction.c - see transaction.h; and the steps of a transaction on a connection of a worker
 * thread (conn.h). */
#include "db/transaction.h"

#include <stdio.h>
#include <string.h>

#include "db/conn_inside.h"
#include "db/meter.h"
#include "util/time.h"

const char tx_begin_sql[] = "BEGIN";
const char tx_snapshot_sql[] = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
const char tx_commit_sql[] = "COMMIT";

static const char rollback_sql[] = "ROLLBACK";

void tx_savepoint_text(char ret[static TX_TEXT], unsigned level)
{
    snprintf(ret, TX_TEXT, "SAVEPOINT s%u", level);
}

void tx_release_text(char ret[static TX_TEXT], unsigned level)
{
    snprintf(ret, TX_TEXT, "RELEASE SAVEPOINT s%u", level);
}

void tx_rollback_to_text(char ret[static TX_TEXT], unsigned level)
{
    snprintf(ret, TX_TEXT, "ROLLBACK TO SAVEPOINT s%u; RELEASE SAVEPOINT s%u", level, level);
}

/* ---- a bare connection ---- */

static PGresult *begin_with(PGconn *pg, const char *sql, const char *settings)
{
    char text[800];

    if (snprintf(text, sizeof(text), "%s; %s", sql, settings) >= (int)sizeof(text))
        return NULL;
    return PQexec(pg, text);
}

PGresult *tx_begin(PGconn *pg, const char *settings)
{
    return settings ? begin_with(pg, tx_begin_sql, settings) : PQexec(pg, tx_begin_sql);
}

PGresult *tx_begin_snapshot(PGconn *pg, const char *settings)
{
    return begin_with(pg, tx_snapshot_sql, settings);
}

PGresult *tx_commit(PGconn *pg)
{
    return PQexec(pg, tx_commit_sql);
}

void tx_rollback(PGconn *pg)
{
    PQclear(PQexec(pg, rollback_sql));
}

bool tx_committed(PGresult *r)
{
    return PQresultStatus(r) == PGRES_COMMAND_OK && !strcmp(PQcmdStatus(r), tx_commit_sql);
}

bool tx_is_open(const PGconn *pg)
{
    return pg && PQstatus(pg) == CONNECTION_OK && PQtransactionStatus(pg) != PQTRANS_IDLE;
}

/* ---- a worker thread's connection ---- */

static void transaction_begin(struct db_conn *c, const char *sql)
{
    db_meter_busy(&c->counted, true);
    deadline_transaction(&c->deadline);
    c->open = true;
    c->ran++;
    ahead_add(&c->ahead, &(struct db_statement){.sql = sql, .step = TX_BEGIN});
}

void db_begin(struct db_conn *c)
{
    transaction_begin(c, tx_begin_sql);
}

void db_begin_snapshot(struct db_conn *c)
{
    transaction_begin(c, tx_snapshot_sql);
}

void db_savepoint(struct db_conn *c, unsigned level)
{
    char sql[TX_TEXT];

    /* the time left is not told: what begins may stay empty */
    tx_savepoint_text(sql, level);
    c->ran++;
    ahead_add(&c->ahead, &(struct db_statement){.sql = sql, .step = TX_SAVEPOINT, .level = level});
}

/* Runs a step behind what waits. Returns its result, or NULL and the error. */
static PGresult *run_step(struct db_conn *c, const struct db_statement *s, struct db_error *e)
{
    PGresult *r;

    if (c->ahead.n)
        return conn_run_behind(c, s, e);
    r = db_ready(c) ? PQexec(c->pg, s->sql) : NULL;
    if (r && conn_good(r))
        return r;
    db_error_from(r, c->pg, e);
    e->status = r ? e->status : DB_LOST;
    PQclear(r);
    return NULL;
}

/* Runs a step whose result says nothing but whether it went well. */
static enum db_status do_step(struct db_conn *c, const struct db_statement *s, struct db_error *e)
{
    PQclear(run_step(c, s, e));
    return e->status;
}

static enum db_status transaction_commit(struct db_conn *c, struct db_error *e)
{
    static const struct db_statement last = {.sql = tx_commit_sql, .step = TX_COMMIT};
    PGresult *r;

    if (ahead_begins(&c->ahead) && c->ahead.n == 1) { /* nothing was done */
        ahead_drop(&c->ahead, 0);
        return DB_OK;
    }
    r = run_step(c, &last, e);
    /* an error inside was passed over: PostgreSQL then ends the transaction without complaint */
    if (r && !tx_committed(r))
        *e = (struct db_error){
            .status = DB_FAILED, .message = "a failed transaction was to be committed"};
    PQclear(r);
    return e->status;
}

/* Ends the transaction; statements that wait are undone and not sent any more. */
static enum db_status rollback(struct db_conn *c, struct db_error *e)
{
    bool begun = !ahead_begins(&c->ahead);

    ahead_drop(&c->ahead, 0);
    return begun ? do_step(c, &(struct db_statement){.sql = rollback_sql, .step = TX_ROLLBACK}, e)
                 : DB_OK;
}

static enum db_status transaction_release(struct db_conn *c, unsigned level, struct db_error *e)
{
    struct db_statement s = {.step = TX_RELEASE, .level = level};
    char sql[TX_TEXT];

    if (ahead_releases(&c->ahead, level))
        return DB_OK;
    tx_release_text(sql, level);
    s.sql = sql;
    return do_step(c, &s, e);
}

/* Undoes the savepoint; statements that wait behind it are not sent any more. */
static enum db_status rollback_to(struct db_conn *c, unsigned level, struct db_error *e)
{
    struct db_statement s = {.step = TX_ROLLBACK_TO, .level = level};
    char sql[TX_TEXT];

    deadline_rolled_back(&c->deadline);
    if (ahead_rolls_back(&c->ahead, level))
        return DB_OK;
    tx_rollback_to_text(sql, level);
    s.sql = sql;
    return do_step(c, &s, e);
}

/* Runs one step, and notes what is open after it. */
static enum db_status transaction_step(
    struct db_conn *c, enum tx_step what, unsigned level, struct db_error *e)
{
    bool ends = what == TX_COMMIT || what == TX_ROLLBACK;
    int64_t start_us = clock_monotonic_us();
    enum db_status status;

    c->ran++;
    db_meter_busy(&c->counted, true);
    conn_settle(c);
    if (ends)
        conn_drop_started(c);
    if (!conn_alive(c, e)) {
        ahead_drop(&c->ahead, 0);
        status = e->status;
    } else {
        *e = (struct db_error){.status = DB_OK};
        status = what == TX_COMMIT     ? transaction_commit(c, e)
                 : what == TX_ROLLBACK ? rollback(c, e)
                 : what == TX_RELEASE  ? transaction_release(c, level, e)
                                       : rollback_to(c, level, e);
    }
    if (ends) {
        if (tx_is_open(c->pg)) /* it did not come to the commit */
            tx_rollback(c->pg);
        deadline_transaction(&c->deadline);
        c->open = false;
    }
    db_meter_statement(clock_monotonic_us() - start_us);
    db_meter_busy(&c->counted, c->open);
    return status;
}

enum db_status db_commit(struct db_conn *c, struct db_error *ret_error)
{
    return transaction_step(c, TX_COMMIT, 0, ret_error);
}

enum db_status db_rollback(struct db_conn *c, struct db_error *ret_error)
{
    return transaction_step(c, TX_ROLLBACK, 0, ret_error);
}

enum db_status db_release(struct db_conn *c, unsigned level, struct db_error *ret_error)
{
    return transaction_step(c, TX_RELEASE, level, ret_error);
}

enum db_status db_rollback_to(struct db_conn *c, unsigned level, struct db_error *ret_error)
{
    return transaction_step(c, TX_ROLLBACK_TO, level, ret_error);
}
