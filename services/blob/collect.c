/* collect.c - erasing files that have expired and objects that no row names. See blob_file.h.
 *
 * Runs on a connection of its own; each object in a transaction of its own, so that nobody waits
 * for long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blob/blob_file.h"
#include "blob/blob_store.h"
#include "blob/file_direct.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum { TEMPORARY_AGE_S = 86400 }; /* a temporary file is erased */

struct collecting {
    const struct file_database *db;
    struct blob_store *store;
    struct file_collected *done;
    int64_t now_us;
    bool ok;
};

/* Holds backups off until the transaction ends; no row when one runs: it takes the objects that its
 * moment of the database names, also when no row of now does. */
static const char no_backup_sql[] =
    "SELECT 1 WHERE pg_try_advisory_xact_lock_shared(hashtextextended($1, 0))";

static const char lock_sql[] =
    "SELECT pg_advisory_xact_lock(hashtextextended('wharf.blob' || $1, 0))";
static const char named_sql[] = "SELECT 1 FROM wharf.file WHERE hash = $1 LIMIT 1";

static int64_t collect_rows_of(const struct collecting *c, const char *sql, const char *value)
{
    return c->db->rows(c->db->arg, sql, value);
}

/* Erases an object. The exclusive lock comes first, then the look: a row of somebody who held the
 * lock is committed and seen, or was given up. */
static bool erase_locked(struct collecting *c, const char *hash)
{
    int64_t named = collect_rows_of(c, no_backup_sql, FILE_BACKUP_LOCK);

    if (named <= 0) {
        c->done->held = named == 0;
        return named == 0;
    }
    if (collect_rows_of(c, lock_sql, hash) < 0)
        return false;
    named = collect_rows_of(c, named_sql, hash);
    if (named != 0)
        return named > 0;
    fault_point("file.erase");
    if (blob_erase(c->store, hash) != BLOB_OK)
        return false;
    c->done->objects++;
    return true;
}

static bool consider(void *arg, const char *hash)
{
    struct collecting *c = arg;
    int64_t named = collect_rows_of(c, named_sql, hash);

    if (named != 0) {
        c->ok = named > 0;
        return c->ok;
    }
    c->ok = c->db->step(c->db->arg, TX_BEGIN) && erase_locked(c, hash);
    if (!c->db->step(c->db->arg, c->ok ? TX_COMMIT : TX_ROLLBACK))
        c->ok = false;
    return c->ok && !c->done->held;
}

bool file_erase_object(const struct file_database *db, struct blob_store *store, const char *hash,
    struct file_collected *ret)
{
    struct collecting c = {.db = db, .store = store, .done = ret, .ok = true};

    memset(ret, 0, sizeof(*ret));
    consider(&c, hash);
    return c.ok;
}

/* ---- what clients bring and read past this server ---- */

/* $1 is "organization/file/moment". */
#define NAMED  "organization_id = split_part($1, '/', 1) AND id = split_part($1, '/', 2)"
#define MOMENT "split_part($1, '/', 3)::timestamptz"
static const char awaited_sql[] = "SELECT 1 FROM wharf.file WHERE " NAMED " AND state = 'waiting'",
                  copied_sql[] = "SELECT 1 FROM wharf.file WHERE " NAMED " FOR NO KEY UPDATE",
                  linked_sql[] = "SELECT 1 FROM wharf.file WHERE " NAMED " AND linked_at > " MOMENT,
                  unlink_sql[] = "UPDATE wharf.file SET linked_at = NULL WHERE " NAMED;

/* Erases a copy that no link leads to any more. Who makes one holds the lock of the row until it is
 * noted there. */
static bool erase_copy(struct collecting *c, const struct direct_name *name, const char *value)
{
    int64_t linked = collect_rows_of(c, copied_sql, value) < 0
                         ? -1
                         : collect_rows_of(c, linked_sql, value);

    if (linked != 0)
        return linked > 0;
    if (blob_direct_erase(c->store, name, false) != BLOB_OK ||
        collect_rows_of(c, unlink_sql, value) < 0)
        return false;
    c->done->objects++;
    return true;
}

/* Erases an upload that nobody awaits. Its file is never awaited again: no lock. */
static bool collect_erase_upload(
    struct collecting *c, const struct direct_name *name, const char *value)
{
    int64_t awaited = collect_rows_of(c, awaited_sql, value);

    if (awaited != 0)
        return awaited > 0;
    if (blob_direct_erase(c->store, name, false) != BLOB_OK)
        return false;
    c->done->objects++;
    return true;
}

static bool consider_direct(void *arg, const struct direct_name *name)
{
    struct collecting *c = arg;
    char value[400], moment[ISO_MS_LEN + 1];

    time_format_iso(c->now_us - 2 * COPY_FRESH_S * 1000000LL, moment);
    snprintf(value, sizeof(value), "%.*s/%.*s/%s", STR_ARG(name->organization), STR_ARG(name->file),
        moment);
    if (name->kind == DIRECT_UPLOAD) {
        c->ok = collect_erase_upload(c, name, value);
        return c->ok;
    }
    c->ok = c->db->step(c->db->arg, TX_BEGIN) && erase_copy(c, name, value);
    if (!c->db->step(c->db->arg, c->ok ? TX_COMMIT : TX_ROLLBACK))
        c->ok = false;
    return c->ok;
}

static bool collect_direct(struct collecting *c)
{
    return !blob_direct_able(c->store) ||
           (blob_direct_walk(c->store, DIRECT_UPLOAD, consider_direct, c) == BLOB_OK && c->ok &&
               blob_direct_walk(c->store, DIRECT_COPY, consider_direct, c) == BLOB_OK && c->ok);
}

bool file_collect(const struct file_database *db, struct blob_store *store, int64_t now_us,
    int64_t grace_s, struct file_collected *ret)
{
    struct collecting c = {db, store, ret, now_us, true};
    char now[ISO_MS_LEN + 1];
    int64_t gone;

    memset(ret, 0, sizeof(*ret));
    time_format_iso(now_us, now);
    gone = collect_rows_of(&c,
        "WITH gone AS (DELETE FROM wharf.file WHERE expires_at <= $1::timestamptz RETURNING id) "
        "DELETE FROM wharf.token t USING gone WHERE t.hash = sha256(convert_to('file:' || gone.id, "
        "'UTF8'))",
        now);
    if (gone < 0)
        return false;
    ret->rows = (unsigned)gone;
    ret->temporary = blob_sweep(store, TEMPORARY_AGE_S);
    return blob_walk(store, grace_s, consider, &c) == BLOB_OK && c.ok && collect_direct(&c);
}
