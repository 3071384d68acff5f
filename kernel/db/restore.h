/* restore.h - what a database must have beside the tables that a restore brings, and the mark of a
 * restore that has not ended.
 *
 * Extensions, the role of plugins' SQL and its rights are no part of a dump of schemas. The mark is
 * a schema: it is there before the first table, and goes when all is there; no server starts on a
 * database that has it. */
#ifndef WHARF_DB_RESTORE_H
#define WHARF_DB_RESTORE_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "util/arena.h"

/* Makes extensions and the role, then sets the mark. Returns false and what to do. */
bool restore_begin(PGconn *conn, struct arena *a, wharf_str *ret_error);
/* Gives the role its rights, looks at all tables once for the planner, and takes the mark away. */
bool restore_end(PGconn *conn, struct arena *a, wharf_str *ret_error);
/* Tells whether the mark is there. */
bool restore_has_mark(PGconn *conn);

enum { RIGHTS_TEXT = 240 };
/* Writes what the role or its rights lack for these schemas (with commas between them), with the
 * SQL that mends it; nothing when all is there. Returns false when it can't be told. */
bool rights_missing(PGconn *conn, const char *schemas, char ret[static RIGHTS_TEXT]);

#endif
