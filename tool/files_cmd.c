/* files_cmd.c - `wharf files`: erase what no file refers to, run the checks of files alone, change
 * the key of links (docs/reference/files.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blob/blob_file.h"
#include "db/transaction.h"
#include "tool/cli/cli.h"
#include "tool/look.h"
#include "net/client.h"
#include "util/str.h"
#include "util/time.h"

static int64_t database_now(PGconn *conn)
{
    PGresult *r = PQexec(conn, "SELECT (extract(epoch FROM wharf.now()) * 1000000)::bigint");
    int64_t us = PQntuples(r) == 1 ? strtoll(PQgetvalue(r, 0, 0), NULL, 10) : 0;

    PQclear(r);
    return us;
}

static int64_t files_rows_of(void *arg, const char *sql, const char *value)
{
    PGresult *r = PQexecParams(arg, sql, 1, NULL, &value, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(r);
    int64_t n = -1;

    if (status == PGRES_TUPLES_OK)
        n = PQntuples(r);
    else if (status == PGRES_COMMAND_OK)
        n = strtoll(PQcmdTuples(r), NULL, 10);
    else
        cli_fail("%s", PQresultErrorMessage(r));
    PQclear(r);
    return n;
}

static bool files_step(void *arg, enum tx_step what)
{
    PGresult *r;
    bool good;

    if (what == TX_ROLLBACK) {
        tx_rollback(arg);
        return true;
    }
    r = what == TX_BEGIN ? tx_begin(arg, NULL) : tx_commit(arg);
    good = what == TX_BEGIN ? PQresultStatus(r) == PGRES_COMMAND_OK : tx_committed(r);
    if (!good)
        cli_fail("%s", PQresultErrorMessage(r));
    PQclear(r);
    return good;
}

static int files_collect(PGconn *conn, struct blob_store *store, const struct config *config)
{
    struct file_collected done;
    const struct file_database db = {files_rows_of, files_step, conn};
    bool good = file_collect(&db, store, database_now(conn), config->blob_grace_s, &done);

    printf("erased: %u expired files, %u objects, %u temporary files\n", done.rows, done.objects,
        done.temporary);
    if (done.held)
        puts("a backup runs; the other objects wait until it has ended");
    return good ? EXIT_FINE : cli_fail("not all could be looked at; the log says why");
}

static int files_rotate(PGconn *conn)
{
    PGresult *r = PQexec(conn, "SELECT wharf.rotate_file_key()");
    bool good = PQresultStatus(r) == PGRES_TUPLES_OK;

    if (!good)
        cli_fail("%s", PQresultErrorMessage(r));
    PQclear(r);
    return good ? EXIT_FINE : EXIT_FAILED;
}

static int with_store(PGconn *conn, const struct config *config, struct arena *a)
{
    wharf_str why = {"", 0};
    struct net_client *net = net_start(config, a, &why);
    struct blob_store *store = net ? blob_open(config, net, a, &why) : NULL;
    int code;

    if (!store)
        code = cli_fail("%s", why.p);
    else
        code = files_collect(conn, store, config);
    blob_close(store);
    net_stop(net);
    return code;
}

int command_files(int argc, char **argv)
{
    struct config *config;
    const char *word;
    struct cli_db db;
    struct cli c;
    int code;

    if (!cli_parse(&c, argc, argv, NULL, 0))
        return EXIT_USAGE;
    word = c.n_words == 1 ? c.words[0] : "";
    if (strcmp(word, "collect") != 0 && strcmp(word, "verify") != 0 &&
        strcmp(word, "rotate-key") != 0 && strcmp(word, "adopt") != 0) {
        cli_fail("wharf files collect|verify|rotate-key|adopt");
        return EXIT_USAGE;
    }
    if (strcmp(word, "verify") == 0)
        return verify_area(&c, "files");
    config = cli_config(&c);
    if (!config || !cli_db_open(&db, config, c.a))
        return EXIT_FAILED;
    if (strcmp(word, "adopt") == 0)
        code = look_at_mark(db.conn, config, BLOB_MARK_ADOPT, c.a) ? EXIT_FINE : EXIT_FAILED;
    else
        code = strcmp(word, "rotate-key") == 0 ? files_rotate(db.conn)
                                               : with_store(db.conn, config, c.a);
    cli_db_close(&db);
    return code;
}
