/* ahead.h - statements of a transaction whose answers nobody reads, kept until the next one is
 * sent. Each is a copy.
 *
 * Leaves to others: when they are sent, and what becomes of their errors (conn.h). */
#ifndef WHARF_DB_AHEAD_H
#define WHARF_DB_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "query/query.h"

struct db_statement {
    const char *sql;
    const struct sql_arg *args;
    size_t n_args;
};

struct ahead { /* {0} at first; ahead_done */
    struct db_statement *list; /* with room for one more, the caller's */
    size_t n, cap;
};

void ahead_add(struct ahead *a, const char *sql, const struct sql_arg *args, size_t n_args);
/* Drops all statements but the first `keep`. */
void ahead_drop(struct ahead *a, size_t keep);
void ahead_done(struct ahead *a);
/* Tells whether the first statement is BEGIN. */
bool ahead_begins(const struct ahead *a);
/* Tells whether `sql` ends the savepoint that the last statement makes. When it does, nothing is
 * inside the savepoint, and both are dropped. */
bool ahead_releases(struct ahead *a, const char *sql);

#endif
