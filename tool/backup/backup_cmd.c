/* backup_cmd.c - `wharf backup`: one moment of the database and every object that it names
 * (docs/guide/backup.md).
 *
 * The order is what makes both fit: first the lock, which keeps the collection of files from
 * erasing anything; then the moment, so that what it names was there under the lock; then the dump
 * of this moment and the list of its objects; then the objects, when the moment may go: nothing is
 * held in the database any more but the lock. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "blob/blob.h"
#include "blob/blob_file.h"
#include "blob/blob_store.h"
#include "db/transaction.h"
#include "net/client.h"
#include "secret/secret.h"
#include "tool/backup/backup.h"
#include "tool/cli/cli.h"
#include "tool_queries.gen.h"
#include "util/str.h"
#include "wharf_version.h"

enum { LOCK_TRIES = 5 }; /* to lock what a backup reads */

/* The words and options of the command. */
struct backup_order {
    const char *passphrase_file;
    bool encrypt, with_key, verify;
};

struct backup_run {
    struct cli *c;
    const struct config *config;
    struct cli_db db;
    struct net_client *net;
    struct blob_store *store;
    struct backup_place place;
    struct backup_manifest manifest;
    struct backup_seal room;
    const struct backup_seal *seal; /* or NULL */
    struct objects_taken taken;
};

/* ---- the moment ---- */

static bool run_sql(PGconn *conn, const char *sql, const char *doing)
{
    PGresult *r = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(r);
    bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (!good)
        cli_fail("%s: %s", doing, PQresultErrorMessage(r));
    PQclear(r);
    return good;
}

/* Takes the locks of the session: one that a second backup finds taken, one that keeps partitions,
 * and the one that keeps objects. Whoever erases one at this moment is waited for. */
static bool lock(PGconn *conn)
{
    static const char settings_sql[] =
        "SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN ('statement_timeout', "
        "'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', "
        "'transaction_timeout')";
    static const char only_sql[] =
        "SELECT 1 WHERE pg_try_advisory_lock(hashtextextended('wharf.backup.only', 0))";
    static const char objects_sql[] = "SELECT pg_advisory_lock(hashtextextended('" FILE_BACKUP_LOCK
                                      "', 0))";
    /* retention drops no partitions while somebody reads all rows */
    static const char partitions_sql[] =
        "SELECT pg_advisory_lock_shared(hashtextextended('wharf.verify', 0))";
    PGresult *r;
    bool first;

    if (!run_sql(conn, settings_sql, "the session can't be prepared"))
        return false;
    r = PQexec(conn, only_sql);
    first = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1;
    if (!first)
        cli_fail("another backup of this database runs");
    PQclear(r);
    return first && run_sql(conn, objects_sql, "objects can't be kept") &&
           run_sql(conn, partitions_sql, "partitions can't be kept");
}

/* Begins a transaction that holds each table, and then reads one moment. A table that is dropped
 * between both would make pg_dump fail, so they are locked first: LOCK takes no moment. Returns
 * the name of the moment, or NULL and why, also when a table went meanwhile. */
static const char *backup_begin(struct backup_run *b, struct arena *a, wharf_str *ret_why)
{
    static const char tables_sql[] = QUERY_TABLES_TO_BACK_UP;
    PGresult *tables = PQexec(b->db.conn, tables_sql), *r;
    const char *snapshot = NULL;
    struct buf sql;

    buf_init(&sql, 4 << 20);
    buf_addf(&sql, "%s; ", tx_snapshot_sql);
    for (int i = 0; i < PQntuples(tables); i++)
        buf_addf(&sql, "%s%s", i ? ", " : "LOCK TABLE ", PQgetvalue(tables, i, 0));
    BUF_LIT(&sql, " IN ACCESS SHARE MODE; SELECT pg_export_snapshot()");
    r = PQntuples(tables) ? PQexec(b->db.conn, sql.p) : NULL;
    if (PQresultStatus(r) == PGRES_TUPLES_OK) {
        snapshot = arena_dupz(a, PQgetvalue(r, 0, 0)).p;
    } else {
        *ret_why = arena_dupz(a, PQerrorMessage(b->db.conn));
        tx_rollback(b->db.conn);
    }
    PQclear(r);
    PQclear(tables);
    buf_done(&sql);
    return snapshot;
}

static bool backup_is_ours(PGconn *conn)
{
    PGresult *r = PQexec(conn, "SELECT 1 WHERE to_regclass('wharf.migration') IS NOT NULL");
    bool ours = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1;

    PQclear(r);
    if (!ours)
        cli_fail("this database has no tables of a server: there is nothing to back up");
    return ours;
}

static const char *backup_moment(struct backup_run *b)
{
    const char *snapshot = NULL;
    wharf_str why = {"", 0};

    for (int i = 0; i < LOCK_TRIES && !snapshot; i++)
        snapshot = backup_begin(b, b->c->a, &why);
    if (!snapshot)
        cli_fail("the tables can't be held: %s", why.p);
    return snapshot;
}

/* Reads what the manifest says of the database. */
static bool backup_describe(struct backup_run *b)
{
    static const char sql[] = QUERY_BACKUP_FACTS;
    PGresult *r = PQexec(b->db.conn, sql);
    struct backup_manifest *m = &b->manifest;
    bool good = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) > 0 &&
                PQntuples(r) <= MODULES_MAX;

    if (!good)
        cli_fail("the database can't be described: %s", PQresultErrorMessage(r));
    for (int i = 0; good && i < PQntuples(r); i++) {
        m->modules[m->n_modules++] = (struct backup_module){
            arena_dupz(b->c->a, PQgetvalue(r, i, 0)).p, strtoll(PQgetvalue(r, i, 1), NULL, 10)};
        m->made_at = arena_dupz(b->c->a, PQgetvalue(r, i, 2)).p;
        m->master_key = arena_dupz(b->c->a, PQgetvalue(r, i, 3)).p;
    }
    m->version = WHARF_VERSION;
    m->postgresql = PQserverVersion(b->db.conn) / 10000;
    PQclear(r);
    return good;
}

/* ---- the parts ---- */

static struct backup_sum *backup_add_file(struct backup_manifest *m, const char *name)
{
    m->files[m->n_files].name = name;
    return &m->files[m->n_files++].sum;
}

static bool backup_write_key(struct backup_run *b)
{
    char text[SECRET_KEYS_TEXT];
    size_t n = secret_keys_text(text);
    bool good = backup_out_text(
        b->place.fd, BACKUP_KEY, b->seal, text, n, backup_add_file(&b->manifest, BACKUP_KEY));

    sodium_memzero(text, sizeof(text));
    return good || place_failed(&b->place, BACKUP_KEY, "written");
}

/* Takes the rows of one moment, and the list of its objects. Returns its descriptor, or -1. */
static int backup_take_rows(struct backup_run *b)
{
    const char *snapshot = backup_moment(b);
    int wanted = -1;

    if (!snapshot || !backup_describe(b))
        return -1;
    if (dump_write(&b->place, b->db.conn, snapshot, &b->manifest, b->seal,
            backup_add_file(&b->manifest, BACKUP_DUMP)))
        wanted = objects_wanted(&b->place, b->db.conn);
    tx_rollback(b->db.conn);
    run_sql(b->db.conn, "SELECT pg_advisory_unlock_shared(hashtextextended('wharf.verify', 0))",
        "partitions stay kept");
    fault_point("backup.rows");
    return wanted;
}

static bool take_objects(struct backup_run *b, int wanted)
{
    struct backup_manifest *m = &b->manifest;

    if (!objects_take(
            &b->place, wanted, b->store, b->seal, &b->taken, backup_add_file(m, BACKUP_OBJECTS)))
        return false;
    m->objects = (int64_t)b->taken.n;
    m->object_bytes = (int64_t)b->taken.bytes;
    m->lost = (int64_t)b->taken.n_lost;
    fault_point("backup.objects");
    /* the lock is the session's: as long as it answers, nothing was erased */
    return run_sql(b->db.conn, "SELECT 1", "the connection that keeps objects was lost");
}

static int backup_take(struct backup_run *b, const struct backup_order *order)
{
    int wanted = lock(b->db.conn) ? backup_take_rows(b) : -1;
    bool good = wanted >= 0 && take_objects(b, wanted) &&
                (!order->with_key || backup_write_key(b)) &&
                backup_manifest_write(&b->place, &b->manifest, buf_str(&b->taken.lost)) &&
                place_finish(&b->place);

    if (!good)
        return EXIT_FAILED;
    printf("%s: rows of %s, %llu objects of %llu bytes (%llu of them hard links)%s%s\n",
        b->place.dir, b->manifest.made_at, (unsigned long long)b->taken.n,
        (unsigned long long)b->taken.bytes, (unsigned long long)b->taken.linked,
        b->seal ? ", encrypted" : "", order->with_key ? ", with the master key" : "");
    if (!order->with_key && *b->manifest.master_key)
        printf("the master key %s is not in it: keep it apart, without it secrets are lost\n",
            b->manifest.master_key);
    if (!b->taken.n_lost)
        return EXIT_FINE;
    return cli_fail("the store has lost %llu objects, and the backup lacks them; `wharf files "
                    "verify` names their files",
        (unsigned long long)b->taken.n_lost);
}

/* ---- the command ---- */

static bool make_keys(struct backup_run *b, const struct backup_order *order)
{
    wharf_str error = {"", 0}, passphrase;

    if (order->with_key && !secret_load(b->config, b->c->a, &error)) {
        cli_fail("%s", error.p);
        return false;
    }
    if (order->with_key && !*secret_key_id(0)) {
        cli_fail("--with-key: this machine has no master key; leave the option out");
        return false;
    }
    if (!order->encrypt)
        return true;
    if (!seal_passphrase(order->passphrase_file, b->c->a, &passphrase, &error)) {
        cli_fail("%s", error.p);
        return false;
    }
    b->manifest.sealed = true;
    b->seal = &b->room;
    if (seal_make(passphrase, &b->manifest.terms, &b->room))
        return true;
    cli_fail("there is not enough memory to make a key from the passphrase (256 MiB)");
    return false;
}

static bool backup_open_store(struct backup_run *b)
{
    wharf_str why = {"", 0};

    b->net = net_start(b->config, b->c->a, &why);
    b->store = b->net ? blob_open(b->config, b->net, b->c->a, &why) : NULL;
    if (!b->store)
        cli_fail("%s", why.p);
    return b->store != NULL;
}

static int backup_make(struct cli *c, const struct backup_order *order)
{
    struct backup_run *b = ARENA_NEW(c->a, struct backup_run);
    struct config *config = cli_config(c);
    int code = EXIT_FAILED;

    b->c = c;
    b->config = config;
    b->place.fd = -1;
    if (config && config->database_direct[0])
        config->database = config->database_direct; /* a lock of a session knows no pooler */
    if (config && make_keys(b, order) && place_begin(&b->place, c->words[0], c->a)) {
        if (cli_db_open(&b->db, config, c->a) && backup_is_ours(b->db.conn) && backup_open_store(b))
            code = backup_take(b, order);
        cli_db_close(&b->db);
    }
    place_give_up(&b->place);
    buf_done(&b->taken.lost);
    blob_close(b->store);
    net_stop(b->net);
    sodium_memzero(&b->room, sizeof(b->room));
    return code;
}

static int backup_cmd_verify(struct cli *c, const struct backup_order *order)
{
    struct backup_manifest *m = ARENA_NEW(c->a, struct backup_manifest);
    const struct backup_seal *seal;
    struct backup_place place;
    struct backup_seal room;
    bool good;

    if (!place_open(&place, c->words[0]))
        return EXIT_FAILED;
    good = backup_manifest_read(&place, m, c->a) &&
           backup_manifest_open(m, order->passphrase_file, &room, &seal, c->a) &&
           backup_verify(&place, m, seal);
    close(place.fd);
    sodium_memzero(&room, sizeof(room));
    if (!good)
        return EXIT_FAILED;
    printf("%s is whole: rows of %s, %lld objects of %lld bytes\n", c->words[0], m->made_at,
        (long long)m->objects, (long long)m->object_bytes);
    return m->lost ? cli_fail("when it was made the store had lost %lld objects, and it lacks "
                              "them; manifest.json names them",
                         (long long)m->lost)
                   : EXIT_FINE;
}

int command_backup(int argc, char **argv)
{
    struct backup_order order = {.encrypt = false};
    const struct cli_option opts[] = {{"--passphrase-file", &order.passphrase_file, NULL},
        {"--encrypt", NULL, &order.encrypt}, {"--with-key", NULL, &order.with_key},
        {"--verify", NULL, &order.verify}};
    struct cli c;

    if (!cli_parse(&c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])) || sodium_init() < 0)
        return EXIT_USAGE;
    if (c.n_words != 1 || (order.verify && (order.encrypt || order.with_key))) {
        cli_fail("wharf backup DIR [--encrypt --passphrase-file FILE [--with-key]], or wharf "
                 "backup --verify DIR [--passphrase-file FILE]");
        return EXIT_USAGE;
    }
    if (order.verify)
        return backup_cmd_verify(&c, &order);
    if (order.with_key && !order.encrypt) {
        cli_fail("--with-key needs --encrypt: a backup that others can read never holds the master "
                 "key");
        return EXIT_USAGE;
    }
    if (order.encrypt != (order.passphrase_file != NULL)) {
        cli_fail("--encrypt and --passphrase-file FILE belong together");
        return EXIT_USAGE;
    }
    return backup_make(&c, &order);
}
