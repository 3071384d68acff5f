/* collect.c - erasing files that have expired and objects that no row names. See blob_file.h.
 *
 * Runs on a connection of its own; each object in a transaction of its own, so that nobody waits
 * for long. */
#include <stdlib.h>
#include <string.h>

#include "blob/blob_file.h"
#include "blob/blob_store.h"
#include "util/log.h"
#include "util/time.h"

enum { TEMPORARY_AGE_S = 86400 };

struct collecting {
    const struct file_database *db;
    struct blob_store *store;
    struct file_collected *done;
    bool ok;
};

static const char lock_sql[] =
    "SELECT pg_advisory_xact_lock(hashtextextended('wharf.blob' || $1, 0))";
static const char named_sql[] = "SELECT 1 FROM wharf.file WHERE hash = $1 LIMIT 1";

static int64_t rows_of(const struct collecting *c, const char *sql, const char *value)
{
    return c->db->rows(c->db->arg, sql, value);
}

/* Erases an object. The exclusive lock comes first, then the look: a row of somebody who held the
 * lock is committed and seen, or was given up. */
static bool erase_locked(struct collecting *c, const char *hash)
{
    int64_t named;

    if (rows_of(c, lock_sql, hash) < 0)
        return false;
    named = rows_of(c, named_sql, hash);
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
    int64_t named = rows_of(c, named_sql, hash);

    if (named != 0) {
        c->ok = named > 0;
        return c->ok;
    }
    c->ok = c->db->step(c->db->arg, TX_BEGIN) && erase_locked(c, hash);
    if (!c->db->step(c->db->arg, c->ok ? TX_COMMIT : TX_ROLLBACK))
        c->ok = false;
    return c->ok;
}

bool file_collect(const struct file_database *db, struct blob_store *store, int64_t now_us,
    int64_t grace_s, struct file_collected *ret)
{
    struct collecting c = {db, store, ret, true};
    char now[ISO_MS_LEN + 1];
    int64_t gone;

    memset(ret, 0, sizeof(*ret));
    time_format_iso(now_us, now);
    gone = rows_of(&c,
        "WITH gone AS (DELETE FROM wharf.file WHERE expires_at <= $1::timestamptz RETURNING id) "
        "DELETE FROM wharf.token t USING gone WHERE t.hash = sha256(convert_to('file:' || gone.id, "
        "'UTF8'))",
        now);
    if (gone < 0)
        return false;
    ret->rows = (unsigned)gone;
    ret->temporary = blob_sweep(store, TEMPORARY_AGE_S);
    return blob_walk(store, grace_s, consider, &c) == BLOB_OK && c.ok;
}
