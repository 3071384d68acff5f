/* conn_inside.h - what conn.c (statements), transaction.c and conn_open.c (how a connection comes
 * to be) share of a connection. Nobody else includes it. */
#ifndef WHARF_DB_CONN_INSIDE_H
#define WHARF_DB_CONN_INSIDE_H

#include "db/conn.h"

struct db_conn {
    PGconn *pg;
    char *conninfo;
    bool prepared;
    int64_t statement_timeout_ms;
    int64_t retry_after_us; /* no new attempt to connect before */
    bool open; /* a transaction was begun and not ended: it must not go on on another connection */
    bool counted; /* as busy (meter.h) */
    unsigned refused; /* noted by meter.h */
    unsigned epoch;
    uint64_t ran;
    struct statement_set known;
    uint64_t started; /* the statement of db_start; 0: none */
    PGresult *started_result; /* of it, when it was read already */
    struct db_error unprepared; /* with a status: it could not even be prepared, and this is why */
    struct ahead ahead; /* goes with the next one */
    struct deadline deadline;
    bool steps_back;
    /* of the process that works for it, which is still to step back as a session (turns.h); or
     * -1 */
    int session;
};

bool conn_good(const PGresult *r);
/* Tells whether the transaction that is open still lives. One whose BEGIN waits does. */
bool conn_alive(const struct db_conn *c, struct db_error *e);
/* Reads the answer of what was started (db_start), before anything else is asked. */
void conn_settle(struct db_conn *c);
void conn_drop_started(struct db_conn *c);
/* Runs what waits, and behind it one more, if there is one. A transaction that begins with it is
 * begun again when the connection turns out to be dead, or not to know a statement: nobody was
 * told anything of it yet. */
PGresult *conn_run_behind(struct db_conn *c, const struct db_statement *last, struct db_error *e);

#endif
