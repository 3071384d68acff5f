/* migrate.h - migrations of the kernel and each plugin (docs/reference/plugin-abi.md section 9).
 *
 * One advisory lock over all; each file one transaction unless its header says tx=no;
 * lock_timeout 5 s with 3 tries.
 * Numbered files (migrations/NNNN_name.sql: tables and data) run once, recorded in
 * wharf.migration with the hash of the file; an
 * applied file whose hash changed stops everything. Repeatable files (sql/NAME.sql: functions,
 * views, triggers as they are now) run
 * after the numbered ones of their plugin (with `-- wharf: order=first` before them, with
 * `order=last` after the others), and again when their hash differs from the one in
 * wharf.repeatable; the text of a newer server is left alone, since it serves the version before
 * it too. */
#ifndef WHARF_DB_MIGRATE_H
#define WHARF_DB_MIGRATE_H

#include <libpq-fe.h>

#include "util/arena.h"
#include "util/buf.h"

struct plugin_migration {
    const char *plugin;
    uint32_t number; /* 0: repeatable */
    const char *name; /* "init"; of a repeatable one its file name without ".sql" */
    wharf_str sql;
};

enum migrate_mode { MIGRATE_PLAN, MIGRATE_APPLY, MIGRATE_START, MIGRATE_CHECK };

/* Runs migrations. PLAN writes what would run, with its SQL, to `out`; APPLY runs it and writes a
 * line per file; START and CHECK only tell whether all are applied (a repeatable one: in any text,
 * since a worker of the version before may start beside a newer server). All but CHECK, which is a
 * worker's, refuse a database with numbered files of a newer server (docs/decisions 640). contract:
 * runs files of phase=contract too. Returns false and a message in *ret_error (in a). */
bool migrate_run(PGconn *conn, const struct plugin_migration *list, size_t count,
    enum migrate_mode mode, bool contract, struct buf *out, struct arena *a, wharf_str *ret_error);
/* Returns the kernel's own files (plugin "wharf"), embedded by the build from
 * kernel/db/migrations/ and kernel/db/sql/. */
const struct plugin_migration *migrate_kernel_files(size_t *ret_count);

#endif
