/* backup.h - a backup as a folder, and the steps of making, reading and restoring one
 * (docs/guide/backup.md; docs/spec/01-platform.md section 17).
 *
 *     manifest.json    version, moment, modules, size and SHA-256 of the files below
 *     manifest.sha256  the hash of the manifest, as sha256sum writes it
 *     database.dump    pg_dump --format=custom of the schemas that are ours
 *     objects.list     a line for each object: hash and size
 *     objects/ab/...   the objects, by their hash
 *     master.key       only encrypted, and only when it was asked for
 *
 * Functions that return false have printed why. */
#ifndef WHARF_TOOL_BACKUP_BACKUP_H
#define WHARF_TOOL_BACKUP_BACKUP_H

#include <libpq-fe.h>

#include "tool/backup/backup_file.h"
#include "util/buf.h"

struct blob_store;

#define BACKUP_DUMP    "database.dump"
#define BACKUP_OBJECTS "objects.list"
#define BACKUP_KEY     "master.key"

/* ---- the folder (backup_place.c) ---- */

struct backup_place {
    const char *dir, *unfinished; /* unfinished: NULL when it is read */
    int fd;
};

/* Makes DIR.unfinished anew; DIR must not be there. */
bool place_begin(struct backup_place *p, const char *dir, struct arena *a);
/* Brings everything to disk and gives the folder its name. */
bool place_finish(struct backup_place *p);
/* Removes what was begun. Nothing when it was finished. */
void place_give_up(struct backup_place *p);
bool place_open(struct backup_place *p, const char *dir);
/* Prints why a file could not be written or read: errno. Returns false. */
bool place_failed(const struct backup_place *p, const char *name, const char *doing);

/* ---- the manifest (backup_manifest.c) ---- */

enum { MANIFEST_FILES = 3, MODULES_MAX = 256, LOST_SHOWN = 1000 };

struct backup_module {
    const char *name;
    int64_t migration; /* the number of the last one */
};

struct backup_manifest {
    const char *version, *made_at, *master_key; /* master_key: its id, or "" */
    int64_t postgresql; /* major version */
    struct backup_module modules[MODULES_MAX]; /* each has a schema of its name */
    size_t n_modules;
    bool sealed;
    struct seal_terms terms; /* when it is sealed */
    struct {
        const char *name;
        struct backup_sum sum;
    } files[MANIFEST_FILES];
    size_t n_files;
    int64_t objects, object_bytes, lost;
};

/* Writes manifest.json and manifest.sha256. lost: the hashes of objects that the store did not
 * have, one a line. */
bool backup_manifest_write(
    const struct backup_place *p, const struct backup_manifest *m, wharf_str lost);
/* Reads the manifest, and compares it with its hash. */
bool backup_manifest_read(
    const struct backup_place *p, struct backup_manifest *ret, struct arena *a);
/* Returns what the manifest says of a file, or NULL. */
const struct backup_sum *backup_manifest_file(const struct backup_manifest *m, const char *name);
/* Makes the keys of an encrypted backup from the file with the passphrase (or NULL). *ret: NULL
 * when it is not encrypted. False also for a passphrase and a backup that is not encrypted. */
bool backup_manifest_open(const struct backup_manifest *m, const char *passphrase_file,
    struct backup_seal *room, const struct backup_seal **ret, struct arena *a);

/* ---- the objects (backup_objects.c) ---- */

struct objects_taken {
    uint64_t n, bytes, linked, n_lost;
    struct buf lost; /* the hashes, one a line, the first LOST_SHOWN */
};

/* Writes the list of objects that this moment of the database names into a file without a name.
 * Returns its descriptor, or -1. */
int objects_wanted(const struct backup_place *p, PGconn *conn);
/* Takes these objects out of the store and writes the list of them. wanted is closed. */
bool objects_take(const struct backup_place *p, int wanted, struct blob_store *store,
    const struct backup_seal *seal, struct objects_taken *ret, struct backup_sum *ret_list);
/* Reads every object of the list and compares it. store: NULL, or where they are put. */
bool objects_read(const struct backup_place *p, const struct backup_manifest *m,
    const struct backup_seal *seal, struct blob_store *store);

/* ---- the database (backup_dump.c) ---- */

/* Dumps the schemas as of the snapshot. */
bool dump_write(const struct backup_place *p, PGconn *conn, const char *snapshot,
    const struct backup_manifest *m, const struct backup_seal *seal, struct backup_sum *ret);
/* Restores the dump into a database that has none of the schemas. said: what the manifest says of
 * it. */
bool dump_restore(const struct backup_place *p, PGconn *conn, const struct backup_seal *seal,
    const struct backup_sum *said);

/* Reads all of a backup and compares it (backup_verify.c). Prints each file that differs. */
bool backup_verify(const struct backup_place *p, const struct backup_manifest *m,
    const struct backup_seal *seal);

#endif
