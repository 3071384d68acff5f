/* migrate_walls.h - judging that a plugin's migration touched its own schema only. Used by migrate.c. */
#ifndef WHARF_DB_MIGRATE_WALLS_H
#define WHARF_DB_MIGRATE_WALLS_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "util/arena.h"

/* Counts the rows that this session has written to tables outside of the plugin's schema, one result row per table. Called before the
 * migration runs. The caller clears the result. */
PGresult *migrate_rows(PGconn *conn, const char *plugin);
/* In the migration's transaction, before it commits: did it leave anything outside of the plugin's schema? rows_before: what
 * migrate_rows() said when the transaction began. False and in *ret_what (in a) what it does, as the end of a sentence: "writes rows of
 * wharf.token". */
bool migrate_stayed_home(
    PGconn *conn, const char *plugin, const PGresult *rows_before, struct arena *a, wharf_str *ret_what);
/* For statements that run without a transaction, before they run: do they name tables of the plugin's schema only? False and *ret_name,
 * which points into the statement. */
bool migrate_names_home(const char *statement, const char *plugin, wharf_str *ret_name);

#endif
