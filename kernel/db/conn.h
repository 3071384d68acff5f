/* conn.h - one blocking connection of a worker thread: prepared statements, transactions,
 * reconnecting.
 *
 * Session state beside prepared statements is never kept outside a transaction, so that a
 * transaction-mode pooler works (docs/architecture.md 'Growing past one machine'). Not
 * thread-safe: a connection belongs to one thread.
 * Leaves to others: the event loop's pipelined connections (lane.h), meaning of errors
 * (resource/). */
#ifndef WHARF_DB_CONN_H
#define WHARF_DB_CONN_H

#include <libpq-fe.h>

#include "db/ahead.h"
#include "db/deadline.h"
#include "db/statements.h"
#include "query/query.h"

/* Settings of a connection whose statements look rows up by an index. Plans are kept: a plan
 * made while its table was small reads the whole table until autovacuum comes by, minutes after
 * it has grown. Lists that may have to read a table whole (LANE_SLOW) are planned as PostgreSQL
 * likes; without prepared statements no plan is kept. */
#define DB_BY_INDEX "; SET enable_seqscan=off"

/* And one that steps back: those who would work in parallel for it are processes that do not. */
#define DB_ALONE "; SET max_parallel_workers_per_gather=0"

/* Left to itself PostgreSQL compares what a plan for all arguments would cost with the average
 * of those it has made for some. When the table has grown since, that average is one of a
 * smaller table, and hundreds of requests are planned anew on each connection before it has
 * caught up. Up to the end of the transaction: */
#define DB_ONE_PLAN      "SELECT set_config('plan_cache_mode', 'force_generic_plan', true)"
#define DB_PLAN_BY_VALUE "SELECT set_config('plan_cache_mode', 'auto', true)"

struct db_conn;

enum db_status {
    DB_OK,
    DB_UNIQUE, /* unique violation; see db_error.constraint */
    DB_CONFLICT, /* serialization failure or deadlock: the transaction may be tried again */
    DB_TIMEOUT, /* statement or lock timeout */
    /* no connection; nothing of the open transaction was committed, unless the commit itself was
     * lost */
    DB_LOST,
    DB_FAILED, /* anything else: a bug of ours or of a plugin's SQL */
};

struct db_error {
    enum db_status status;
    char sqlstate[6];
    char constraint[64];
    char message[256];
};

/* Connects lazily: never NULL. conninfo is copied. */
struct db_conn *db_open(const char *conninfo, bool prepared, int64_t statement_timeout_ms);
void db_close(struct db_conn *c);
/* Lets the work of this connection's session step back behind others who want a processor
 * (util/turns.h); so its statements have ten times as long. Must be called before its first
 * statement, and only where the embedded PostgreSQL is meant, whose processes are on this
 * machine. */
void db_step_back(struct db_conn *c);
/* Opens another connection to the same database, which steps back as the first one does. The
 * caller closes it. prepared: with prepared statements, if the first one has them. */
struct db_conn *db_another(const struct db_conn *c, bool prepared);

/* Runs one statement with text parameters; NULL and *ret_error when it failed. The result is
 * freed with PQclear(). Outside a transaction a statement whose connection turns out to be dead
 * before it ran is tried once more on a new one. */
PGresult *db_run(struct db_conn *c, const char *sql, const struct sql_arg *args, size_t n_args,
    struct db_error *ret_error);
PGresult *db_run_sql(struct db_conn *c, struct sql *s, struct db_error *ret_error);
/* Runs a statement as db_run does, for a statement of which one plan is good for all arguments
 * (docs/decisions 324). */
PGresult *db_run_one_plan(struct db_conn *c, const char *sql, const struct sql_arg *args,
    size_t n_args, struct db_error *ret_error);
/* Sends a statement inside a transaction and does not wait for its answer, while the caller has
 * something else to wait for. Returns false when nothing was sent (statements are not prepared
 * here, or the connection is lost): then db_run it when its answer is needed. One statement at a
 * time. Whatever else is run before db_finish runs behind it, and fails when it failed. */
bool db_start(struct db_conn *c, struct sql *s);
/* Returns the answer of db_start's statement, as db_run does. May be called only after a db_start
 * that returned true, in the same transaction. The end of the transaction does not need it. */
PGresult *db_finish(struct db_conn *c, struct db_error *ret_error);
/* Runs statements that are a transaction of their own, sent in one piece with its end: one round
 * trip. Returns the result of the last one when all of it is committed. Returns NULL when nothing
 * of it is committed; when the connection was lost (DB_LOST), nobody knows whether it is. Not for
 * use inside a transaction. */
PGresult *db_run_whole(
    struct db_conn *c, const struct db_statement *statements, size_t n, struct db_error *ret_error);
/* Keeps a statement of a transaction to send it in one piece with the next one, which fails when
 * this one fails: a statement whose answer says nothing but that it went well. */
void db_ahead(struct db_conn *c, const char *sql, const struct sql_arg *args, size_t n_args);
/* Runs COPY ... FROM STDIN with the rows (copy.h), inside a transaction. */
bool db_copy(struct db_conn *c, const char *sql, wharf_str rows, struct db_error *ret_error);
/* Runs the same COPY on any connection. Returns the result that says how it went, or NULL when the
 * connection is gone. */
PGresult *copy_run(PGconn *pg, const char *sql, wharf_str rows);
/* Runs statements without parameters that leave the transaction as it is. */
enum db_status db_do(struct db_conn *c, const char *sql, struct db_error *ret_error);

/* ---- transactions ---- */

/* Begins a transaction, or a savepoint inside one. It goes with the next statement; one with
 * nothing between its beginning and its end is not sent at all. A snapshot reads what was there
 * at its first statement, and nothing else. level: of the savepoint, 1 the outermost. */
void db_begin(struct db_conn *c);
void db_begin_snapshot(struct db_conn *c);
void db_savepoint(struct db_conn *c, unsigned level);
/* Ends it. No transaction is open after db_commit and db_rollback, whatever they return.
 * db_rollback_to undoes what is inside the savepoint, and ends it too. */
enum db_status db_commit(struct db_conn *c, struct db_error *ret_error);
enum db_status db_rollback(struct db_conn *c, struct db_error *ret_error);
enum db_status db_release(struct db_conn *c, unsigned level, struct db_error *ret_error);
enum db_status db_rollback_to(struct db_conn *c, unsigned level, struct db_error *ret_error);

/* Sets a deadline: statements end at until_us (monotonic) with DB_TIMEOUT, and none is begun from
 * then on; what ends a transaction is not bound. An earlier deadline that holds already stays.
 * Returns the deadline that held before, for db_deadline_end. */
int64_t db_deadline(struct db_conn *c, int64_t until_us);
void db_deadline_end(struct db_conn *c, int64_t before_us);

bool db_in_transaction(const struct db_conn *c);
/* Tells how often the connection was made. When that number changed, answers may have been lost,
 * and commits that nobody waited for. */
unsigned db_epoch(const struct db_conn *c);
/* Tells how many statements the connection was given so far, whatever became of them. */
uint64_t db_ran(const struct db_conn *c);
/* Tells whether the connection was up when it was last used or looked at. */
bool db_up(const struct db_conn *c);
/* Looks whether the other side has ended a connection that is idle. Asks nothing. */
void db_look(struct db_conn *c);
/* Tells whether the connection is up, or could be brought up within 250 ms. */
bool db_ready(struct db_conn *c);
/* Sets *e from a failed result. */
void db_error_from(const PGresult *result, const PGconn *conn, struct db_error *e);

#endif
