/* migrate_file.h - what a migration file says about itself, and its statements. Private to
 * kernel/db/migrate*.c. */
#ifndef WHARF_DB_MIGRATE_FILE_H
#define WHARF_DB_MIGRATE_FILE_H

#include "util/arena.h"

/* Says when a repeatable file runs: before the numbered files of its plugin, after them, or
 * after the other repeatable ones (views that use functions). */
enum migrate_order { ORDER_FIRST, ORDER_USUAL, ORDER_LAST };
enum migrate_phase { PHASE_EXPAND, PHASE_BACKFILL, PHASE_CONTRACT };

struct migrate_header {
    enum migrate_phase phase; /* default expand */
    bool tx; /* default true */
    enum migrate_order order; /* default usual; numbered files know no other */
};

/* Reads the `-- wharf: key=value ...` lines of the leading comments. False and a sentence about
 * the line it refuses. */
bool migrate_header(
    wharf_str sql, struct migrate_header *ret, struct arena *a, wharf_str *ret_error);
/* Takes the next statement of *rest (a view, without its semicolon) and sets *rest to what is
 * left. Returns false when only blanks and comments are left. Knows quotes, dollar quotes, E''
 * escapes, and nested comments. */
bool migrate_statement(wharf_str *rest, wharf_str *ret_statement);
const char *migrate_phase_name(enum migrate_phase phase);

#endif
