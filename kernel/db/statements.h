/* statements.h - names of prepared statements, and which of them a connection has prepared.
 *
 * A statement's name is made of its text, so that all connections, a pooler's too, mean the same
 * by it. */
#ifndef WHARF_DB_STATEMENTS_H
#define WHARF_DB_STATEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the name of the statement with this hash (statement_hash): 's' and 16 hex digits. */
void db_statement_name(uint64_t hash, char out[18]);

/* A set of statement names, with a maximum; what a connection has prepared. */
struct statement_set {
    uint64_t *slots;
    size_t count, cap;
};
enum {
    STATEMENTS_MAX = 1000, /* prepared statements of a connection */
    PARAMS_MAX = 512
};
bool statement_known(const struct statement_set *s, uint64_t hash);
bool statement_remember(struct statement_set *s, uint64_t hash); /* false: full */
void statement_forget(struct statement_set *s, uint64_t hash);
/* Puts the set right when the connection and its set disagree about this statement (a pooler, or a
 * Parse that was not carried out). Returns false when the error is about something else. */
bool statement_retry(struct statement_set *s, uint64_t hash, const char *sqlstate);
void statement_forget_all(struct statement_set *s);
uint64_t statement_hash(const char *sql);

#endif
