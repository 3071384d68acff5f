/* migrate_walls.h - judging that a plugin's migration touched its own schema only. Used by
 * migrate.c. */
#ifndef WHARF_DB_MIGRATE_WALLS_H
#define WHARF_DB_MIGRATE_WALLS_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "util/arena.h"

/* Counts the rows that this session has written to tables outside of the plugin's schema, one
 * result row per table. Called before the migration runs. The caller clears the result. */
PGresult *migrate_rows(PGconn *conn, const char *plugin);
/* Tells, in the migration's transaction before it commits, whether it left nothing outside of the
 * plugin's schema. rows_before: what migrate_rows() said when the transaction began. Returns false
 * and in *ret_what (in a) what it does, as the end of a sentence: "writes rows of wharf.token". */
bool migrate_stayed_home(PGconn *conn, const char *plugin, const PGresult *rows_before,
    struct arena *a, wharf_str *ret_what);
/* Tells whether a statement that is to run without a transaction names tables of the plugin's
 * schema only. Must be called before it runs. Returns false and *ret_name, which points into the
 * statement. */
bool migrate_names_home(const char *statement, const char *plugin, wharf_str *ret_name);

#endif
