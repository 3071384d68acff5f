/* deadline.h - until when the statements of a connection may take, where who asks has less time
 * than the connection gives: a run of Lua.
 *
 * PostgreSQL itself ends what takes longer, by a statement_timeout that is told up to the end of
 * the transaction: no second connection that cancels, which could hit the statement behind the
 * one it means. It is told again only when it has become wrong by more than DEADLINE_SLACK_MS.
 * Leaves to others: when it is sent (conn.h). */
#ifndef WHARF_DB_DEADLINE_H
#define WHARF_DB_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "db/ahead.h"

enum { DEADLINE_SLACK_MS = 10, DEADLINE_UNKNOWN = -1 };

struct deadline { /* {.usual_ms} at first */
    int64_t usual_ms; /* what the session has; 0: no limit */
    int64_t until_us; /* monotonic; 0: none */
    /* what holds in this transaction; 0: the usual; DEADLINE_UNKNOWN: some of what was told was
     * rolled back */
    int64_t reported_ms;
    bool reported; /* anything, in this transaction */
    char text[24]; /* of the statement */
    struct sql_arg arg;
};

/* Tells whether the deadline is over. */
bool deadline_over(const struct deadline *d);
/* Tells whether a statement that sets the time limit must stand before the next statement; *ret is
 * that statement and counts as told. It is valid until the next call. */
bool deadline_tell(struct deadline *d, struct db_statement *ret);
/* Notes that a transaction began or ended, or was rolled back to a savepoint. */
void deadline_transaction(struct deadline *d);
void deadline_rolled_back(struct deadline *d);

#endif
