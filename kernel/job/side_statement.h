/* side_statement.h - one statement of a resident that runs beside it, on a thread and a
 * connection of its own (docs/internals/jobs.md 'Residents').
 *
 * So who sends what it claimed need not stand still while the database works at the next. Each
 * statement has a transaction to itself. Leaves to others: what the caller sees of it
 * (host/host_events.c). */
#ifndef WHARF_JOB_ASIDE_H
#define WHARF_JOB_ASIDE_H

#include "db/conn.h"
#include "query/query.h"

struct side_statement;
struct waker;

/* Makes the thread and its connection. beside: the caller's connection, whose database is meant;
 * wake is told whenever a statement is over, and outlives the thread. */
struct side_statement *side_statement_new(const struct db_conn *beside, struct waker *wake);
/* Waits for a statement that runs; what it answered is gone. Or NULL. */
void side_statement_free(struct side_statement *a);
/* Asks for a statement to be run aside. Returns false while one runs, or while its result was not
 * taken. Everything is copied. who: whose rows the statement sees. */
bool side_statement_ask(struct side_statement *a, const struct access *who, const char *sql,
    const struct sql_arg *args, size_t n_args);
/* Returns true once for each statement, when it is over and committed or failed: with the result
 * (PQclear it), or with NULL and why. */
bool side_statement_take(
    struct side_statement *a, PGresult **ret_result, struct db_error *ret_error);

#endif
