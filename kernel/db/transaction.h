/* transaction.h - what begins, divides and ends a transaction, by name.
 *
 * A step is named by its caller; no code reads the text of a statement to find out what it does.
 * This file has the texts, and the steps on a bare connection of libpq (migrations, the request
 * log, commands). Leaves to others: the same steps on a connection of a worker thread, which sends
 * them with the next statement (conn.h). */
#ifndef WHARF_DB_TRANSACTION_H
#define WHARF_DB_TRANSACTION_H

#include <libpq-fe.h>
#include <stdbool.h>

enum tx_step {
    TX_NONE, /* a statement that leaves the transaction as it is */
    TX_BEGIN,
    TX_SAVEPOINT,
    TX_RELEASE,
    TX_COMMIT,
    TX_ROLLBACK,
    TX_ROLLBACK_TO,
};

extern const char tx_begin_sql[], tx_snapshot_sql[], tx_commit_sql[];

enum { TX_TEXT = 64 };
/* Writes the text of a step of the savepoint of that level. The rollback to it ends it too, and is
 * two statements. */
void tx_savepoint_text(char ret[static TX_TEXT], unsigned level);
void tx_release_text(char ret[static TX_TEXT], unsigned level);
void tx_rollback_to_text(char ret[static TX_TEXT], unsigned level);

/* Begins a transaction. settings: NULL, or statements that go with it in one piece. Returns the
 * result, which says whether it began. */
PGresult *tx_begin(PGconn *pg, const char *settings);
/* Begins a transaction that reads one moment, as tx_begin does. Returns the result of the last of
 * settings. */
PGresult *tx_begin_snapshot(PGconn *pg, const char *settings);
/* Commits. Returns the result; tx_committed tells whether it did. */
PGresult *tx_commit(PGconn *pg);
void tx_rollback(PGconn *pg);
/* Tells whether the result is that of a commit: for a failed transaction PostgreSQL answers
 * ROLLBACK, without an error. */
bool tx_committed(PGresult *r);
/* Tells whether PostgreSQL says that a transaction is open. */
bool tx_is_open(const PGconn *pg);

#endif
