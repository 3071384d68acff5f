/* migrate.h - numbered migrations of the kernel and each plugin (docs/plugin-abi.md section 9).
 *
 * One advisory lock over all; each file one transaction unless its header says tx=no; lock_timeout 5 s with 3 tries;
 * recorded in wharf.migration with the hash of the file; an applied file whose hash changed stops everything.
 */
#ifndef WHARF_DB_MIGRATE_H
#define WHARF_DB_MIGRATE_H

#include <libpq-fe.h>

#include "util/arena.h"
#include "util/buf.h"

struct plugin_migration {
    const char *plugin;
    uint32_t number;
    const char *name; /* "init" */
    wharf_str sql;
};

enum migrate_mode { MIGRATE_PLAN, MIGRATE_APPLY, MIGRATE_CHECK };

/* PLAN writes what would run to out; APPLY runs it and writes a line per file; CHECK only tells whether all are applied.
 * contract: run files of phase=contract too. False and a message in *ret_error (allocated in a). */
bool migrate_run(PGconn *conn, const struct plugin_migration *list, size_t count, enum migrate_mode mode, bool contract,
    struct buf *out, struct arena *a, wharf_str *ret_error);
/* The kernel's own files (plugin "wharf"), embedded by the build from kernel/db/migrations/. */
const struct plugin_migration *migrate_kernel_files(size_t *ret_count);

#endif
