/* ahead.h - statements of a transaction whose answers nobody reads, kept until the next one is
 * sent. Each is a copy.
 *
 * Leaves to others: when they are sent, and what becomes of their errors (conn.h). */
#ifndef WHARF_DB_AHEAD_H
#define WHARF_DB_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "db/transaction.h"
#include "query/query.h"

struct db_statement {
    const char *sql;
    const struct sql_arg *args;
    size_t n_args;
    enum tx_step step; /* TX_NONE: leaves the transaction as it is */
    unsigned level; /* of a savepoint */
};

struct ahead { /* {0} at first; ahead_done */
    struct db_statement *list; /* with room for one more, the caller's */
    size_t n, cap;
};

void ahead_add(struct ahead *a, const struct db_statement *s);
/* Drops all statements but the first `keep`. */
void ahead_drop(struct ahead *a, size_t keep);
void ahead_done(struct ahead *a);
/* Tells whether the first statement begins the transaction. */
bool ahead_begins(const struct ahead *a);
/* Tells whether the last statement makes the savepoint of that level, which is to end. When it
 * does, nothing is inside the savepoint, which is dropped. */
bool ahead_releases(struct ahead *a, unsigned level);
/* Drops what a rollback to the savepoint of that level undoes: it and all behind it, or all when
 * it was sent already. Tells whether it was among them. */
bool ahead_rolls_back(struct ahead *a, unsigned level);

#endif
