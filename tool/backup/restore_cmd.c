/* restore_cmd.c - `wharf restore`: a backup into an empty folder and an empty database
 * (docs/guide/backup.md).
 *
 * Everything is looked at before anything is written. The objects come before the rows that name
 * them; the mark in the database (db/restore.h) goes when both are there. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "blob/blob_mark.h"
#include "blob/blob_store.h"
#include "db/restore.h"
#include "net/client.h"
#include "secret/secret.h"
#include "supervisor/datadir.h"
#include "tool/backup/backup.h"
#include "tool/cli/cli.h"
#include "util/file.h"
#include "util/str.h"
#include "wharf_version.h"

enum { KEY_MAX = 4096 };

struct restore_run {
    struct cli *c;
    struct config *config;
    struct backup_place place;
    struct backup_manifest manifest;
    struct backup_seal room;
    const struct backup_seal *seal;
    struct cli_db db;
};

/* ---- what must hold before anything is written ---- */

/* Compares versions as "1.10.2". Returns less than, equal to or more than 0. */
static long compare_versions(const char *a, const char *b)
{
    long order = 0;

    while (!order && (*a || *b)) {
        char *next_a, *next_b;

        order = strtol(a, &next_a, 10) - strtol(b, &next_b, 10);
        a = next_a + (*next_a == '.');
        b = next_b + (*next_b == '.');
        if (!order && (next_a == a || next_b == b) && strcmp(a, b) != 0)
            return 0; /* "-rc1" and its like are of the same version */
    }
    return order;
}

static bool version_fits(const struct restore_run *r)
{
    if (compare_versions(r->manifest.version, WHARF_VERSION) <= 0)
        return true;
    cli_fail("the backup was made by wharf %s, and this is " WHARF_VERSION
             "; install that version or a later one",
        r->manifest.version);
    return false;
}

static bool folder_is_empty(const char *dir)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    bool empty = true;

    if (!d && errno != ENOENT) {
        cli_fail("%s: %s", dir, strerror(errno));
        return false;
    }
    while (d && empty && (e = readdir(d)))
        empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
    if (d)
        closedir(d);
    if (!empty)
        cli_fail("%s is not empty; a restore goes into a new folder (--data NEWDIR)", dir);
    return empty;
}

/* Tells whether no file of master keys is where the backup's is to be put: nothing is written over
 * it. */
static bool key_file_fits(const struct restore_run *r)
{
    const char *file = secret_file(r->config, r->c->a);

    if (!backup_manifest_file(&r->manifest, BACKUP_KEY) || access(file, F_OK) != 0)
        return true;
    cli_fail("%s is there already, and the backup has a master key: move the file away, or add its "
             "keys to what is restored",
        file);
    return false;
}

static bool database_fits(const struct restore_run *r)
{
    PGconn *conn = r->db.conn;

    if (PQserverVersion(conn) / 10000 < r->manifest.postgresql) {
        cli_fail("the backup is of PostgreSQL %lld, and this database of %d; restore into %lld or "
                 "newer",
            (long long)r->manifest.postgresql, PQserverVersion(conn) / 10000,
            (long long)r->manifest.postgresql);
        return false;
    }
    if (restore_has_mark(conn)) {
        cli_fail("a restore into this database was interrupted; drop it and make it anew");
        return false;
    }
    for (size_t i = 0; i < r->manifest.n_modules; i++) {
        const char *values[1] = {r->manifest.modules[i].name};
        PGresult *res = PQexecParams(
            conn, "SELECT 1 FROM pg_namespace WHERE nspname = $1", 1, NULL, values, NULL, NULL, 0);
        bool none = PQresultStatus(res) == PGRES_TUPLES_OK && !PQntuples(res);

        PQclear(res);
        if (!none) {
            cli_fail("the database is not empty: it has a schema %s. Make a new one and name it "
                     "with --database",
                values[0]);
            return false;
        }
    }
    return true;
}

/* ---- the steps ---- */

static bool put_objects(struct restore_run *r)
{
    struct arena *a = r->c->a;
    wharf_str why = {"", 0};
    struct net_client *net = net_start(r->config, a, &why);
    struct blob_store *store = net ? blob_open(r->config, net, a, &why) : NULL;
    bool good = store != NULL;

    if (!good)
        cli_fail("%s", why.p);
    good = good && objects_read(&r->place, &r->manifest, r->seal, store);
    blob_close(store);
    net_stop(net);
    return good;
}

static bool restore_told(bool good, wharf_str error)
{
    if (!good)
        cli_fail("%s", error.p);
    return good;
}

/* Gives the new folder the mark of the restored database, which is that of the folder that the
 * backup was made of. */
static bool mark_folder(struct restore_run *r)
{
    wharf_str why = {"", 0};
    struct blob_store *store = NULL;
    bool good = strcmp(r->config->blob_driver, "dir") != 0;

    if (!good) {
        store = blob_open(r->config, NULL, r->c->a, &why);
        good = store && blob_mark(r->db.conn, store, BLOB_MARK_COPY, r->c->a, &why);
    }
    blob_close(store);
    return restore_told(good, why);
}

static bool restore_take_bytes(void *arg, const void *bytes, size_t n)
{
    buf_add(arg, bytes, n);
    return true;
}

static bool restore_put_key(struct restore_run *r)
{
    const char *file = secret_file(r->config, r->c->a);
    wharf_str error = {"", 0};
    struct buf text;
    bool good;

    if (!backup_manifest_file(&r->manifest, BACKUP_KEY))
        return true;
    buf_init(&text, KEY_MAX);
    good = backup_in(r->place.fd, BACKUP_KEY, r->seal, restore_take_bytes, &text, NULL, NULL) ==
               READ_WHOLE &&
           text.n;
    if (!good)
        cli_fail("%s/" BACKUP_KEY " can't be read", r->place.dir);
    good = good && restore_told(file_replace(file, buf_str(&text), 0600, r->c->a, &error), error);
    if (text.p)
        sodium_memzero(text.p, text.n);
    buf_done(&text);
    return good;
}

static bool restore_all(struct restore_run *r)
{
    wharf_str error = {"", 0};

    if (!database_fits(r) || !restore_told(restore_begin(r->db.conn, r->c->a, &error), error) ||
        !restore_told(datadir_make(r->config->data, r->c->a, &error), error) || !put_objects(r) ||
        !dump_restore(
            &r->place, r->db.conn, r->seal, backup_manifest_file(&r->manifest, BACKUP_DUMP)) ||
        !restore_put_key(r) || !mark_folder(r))
        return false;
    fault_point("restore.key");
    return restore_told(restore_end(r->db.conn, r->c->a, &error), error);
}

static void restore_tell(const struct restore_run *r)
{
    const struct backup_manifest *m = &r->manifest;

    printf("restored the rows of %s and %lld objects into %s\n", m->made_at, (long long)m->objects,
        r->config->data);
    if (*m->master_key && !backup_manifest_file(m, BACKUP_KEY))
        printf("the backup has no master key: put the key %s into %s before the server starts, "
               "else it opens no secret\n",
            m->master_key, secret_file(r->config, r->c->a));
    if (m->lost)
        printf("%lld objects were lost before the backup; `wharf files verify` names their files\n",
            (long long)m->lost);
}

static int restore(struct restore_run *r, const char *passphrase_file)
{
    struct arena *a = r->c->a;
    bool good = backup_manifest_read(&r->place, &r->manifest, a) && version_fits(r) &&
                folder_is_empty(r->config->data) && key_file_fits(r) &&
                backup_manifest_open(&r->manifest, passphrase_file, &r->room, &r->seal, a) &&
                backup_verify(&r->place, &r->manifest, r->seal) &&
                cli_db_open(&r->db, r->config, a);

    if (good) {
        good = restore_all(r);
        cli_db_close(&r->db);
    }
    if (good)
        restore_tell(r);
    return good ? EXIT_FINE : EXIT_FAILED;
}

int command_restore(int argc, char **argv)
{
    const char *passphrase_file = NULL, *database = NULL;
    const struct cli_option opts[] = {
        {"--passphrase-file", &passphrase_file, NULL}, {"--database", &database, NULL, true}};
    struct restore_run *r;
    struct cli c;
    int code = EXIT_FAILED;

    if (!cli_parse(&c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])) || sodium_init() < 0)
        return EXIT_USAGE;
    if (c.n_words != 1) {
        cli_fail("wharf restore DIR --data NEWDIR [--database URL] [--passphrase-file FILE]");
        return EXIT_USAGE;
    }
    if (database)
        cli_set(&c, "database.url", database);
    r = ARENA_NEW(c.a, struct restore_run);
    r->c = &c;
    r->config = cli_config(&c);
    if (r->config && r->config->database_direct[0] && !database)
        r->config->database = r->config->database_direct;
    if (r->config && place_open(&r->place, c.words[0])) {
        code = restore(r, passphrase_file);
        close(r->place.fd);
    }
    sodium_memzero(&r->room, sizeof(r->room));
    return code;
}
