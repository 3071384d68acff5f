/* secret_cmd.c - `wharf secret`: master keys, and sealing again what older keys have sealed
 * (docs/guide/secrets.md). */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/cli/cli.h"
#include "host/registry.h"
#include "resource/engine.h"
#include "secret/secret.h"
#include "util/str.h"

enum { ROWS_AT_ONCE = 500 };

/* Gets a sealed column of a resource, one call of fn per column. Returns false to stop. */
typedef bool column_fn(
    PGconn *conn, const struct definition *d, const struct field *f, struct arena *a);

static bool each_column(PGconn *conn, const struct engine *e, column_fn *fn)
{
    bool good = true;

    for (size_t i = 0; good && i < e->n_resources; i++) {
        const struct definition *d = e->resources[i].def;

        for (size_t k = 0; good && k < d->n_fields; k++) {
            struct arena *a = d->fields[k].store == STORE_SECRET ? arena_new(0) : NULL;

            good = !a || fn(conn, d, &d->fields[k], a);
            if (a)
                arena_free(a);
        }
    }
    return good;
}

static bool secret_failed(PGconn *conn, PGresult *r)
{
    ExecStatusType s = PQresultStatus(r);

    if (s == PGRES_TUPLES_OK || s == PGRES_COMMAND_OK)
        return false;
    cli_fail("%s", PQerrorMessage(conn));
    PQclear(r);
    return true;
}

static bool show_column(
    PGconn *conn, const struct definition *d, const struct field *f, struct arena *a)
{
    wharf_str sql = arena_printf(a,
        "SELECT split_part(%s, '.', 2), count(*) FROM %s WHERE %s IS NOT NULL GROUP BY 1 ORDER BY "
        "1",
        f->column, d->storage.table, f->column);
    PGresult *r = PQexec(conn, sql.p);

    if (secret_failed(conn, r))
        return false;
    for (int i = 0; i < PQntuples(r); i++) {
        const char *id = PQgetvalue(r, i, 0);
        bool known = false;

        for (size_t k = 0; *secret_key_id(k); k++)
            known |= !strcmp(secret_key_id(k), id);
        printf("%s.%s  %s  %s%s\n", d->storage.table_name, f->column_name, PQgetvalue(r, i, 1), id,
            !known                              ? "  (this machine does not have the key)"
            : strcmp(secret_key_id(0), id) != 0 ? "  (older key; wharf secret reseal)"
                                                : "");
    }
    PQclear(r);
    return true;
}

/* Seals one row anew: opened with its key and sealed with the current one; whoever changed it
 * meanwhile wins. */
static bool reseal_row(
    PGconn *conn, const struct definition *d, const struct field *f, const PGresult *r, int row)
{
    struct arena *a = arena_new(0);
    struct secret_place at = {d->storage.table_name, f->column_name, str_z(PQgetvalue(r, row, 1))};
    wharf_str old = str_z(PQgetvalue(r, row, 2)), plain, sealed;
    bool good = secret_open(a, &at, old, &plain) && secret_seal(a, &at, plain, &sealed);
    PGresult *done = NULL;

    if (!good) {
        cli_fail("%s %s: %s does not open with this machine's keys; it stays as it is",
            d->storage.table_name, at.id.p, f->column_name);
    } else {
        const char *values[4] = {PQgetvalue(r, row, 0), at.id.p, old.p, sealed.p};
        wharf_str sql = arena_printf(a,
            "UPDATE %s SET %s = $4::text WHERE organization_id = $1::text AND id = $2::text AND %s "
            "= $3::text",
            d->storage.table, f->column, f->column);

        done = PQexecParams(conn, sql.p, 4, NULL, values, NULL, NULL, 0);
        good = !secret_failed(conn, done);
        if (good)
            PQclear(done);
    }
    arena_free(a);
    return good;
}

static bool reseal_column(
    PGconn *conn, const struct definition *d, const struct field *f, struct arena *a)
{
    wharf_str sql = arena_printf(a,
        "SELECT organization_id, id, %s FROM %s WHERE %s IS NOT NULL AND split_part(%s, '.', 2) <> "
        "$1::text"
        " AND (organization_id, id) > ($2::text, $3::text) ORDER BY organization_id, id LIMIT %d",
        f->column, d->storage.table, f->column, f->column, ROWS_AT_ONCE);
    wharf_str organization = str_z(""), id = str_z("");
    size_t done = 0, left = 0;
    int n;

    do {
        const char *values[3] = {secret_key_id(0), organization.p, id.p};
        PGresult *r = PQexecParams(conn, sql.p, 3, NULL, values, NULL, NULL, 0);

        if (secret_failed(conn, r))
            return false;
        n = PQntuples(r);
        for (int i = 0; i < n; i++) {
            if (reseal_row(conn, d, f, r, i))
                done++;
            else
                left++;
        }
        if (n) {
            organization = arena_dupz(a, PQgetvalue(r, n - 1, 0));
            id = arena_dupz(a, PQgetvalue(r, n - 1, 1));
        }
        PQclear(r);
    } while (n == ROWS_AT_ONCE);
    printf("%s.%s  %zu sealed again%s\n", d->storage.table_name, f->column_name, done,
        left ? ", some were left" : "");
    return left == 0;
}

static int with_columns(struct cli *c, const struct config *config, column_fn *fn)
{
    wharf_str error = {"", 0};
    struct registry *r = registry_load(config, "", REGISTRY_PLAIN, arena_new(0), &error);
    struct cli_db db;
    bool good;

    if (!r)
        return cli_fail("the plugins have problems:\n%s", error.p);
    if (!secret_load(config, c->a, &error))
        return cli_fail("%s", error.p);
    if (!*secret_key_id(0))
        return cli_fail(
            "there is no master key; set master_key or put one into the file (wharf secret key)");
    if (!cli_db_open(&db, config, c->a))
        return EXIT_FAILED;
    good = each_column(db.conn, registry_engine(r), fn);
    cli_db_close(&db);
    return good ? EXIT_FINE : EXIT_FAILED;
}

static int print_key(void)
{
    unsigned char key[SECRET_KEY_BYTES];
    char text[sodium_base64_ENCODED_LEN(SECRET_KEY_BYTES, sodium_base64_VARIANT_ORIGINAL)];

    if (sodium_init() < 0)
        return cli_fail("there is no source of random numbers");
    randombytes_buf(key, sizeof(key));
    puts(sodium_bin2base64(text, sizeof(text), key, sizeof(key), sodium_base64_VARIANT_ORIGINAL));
    sodium_memzero(key, sizeof(key));
    return EXIT_FINE;
}

static int secret_rotate(struct cli *c, const struct config *config)
{
    wharf_str error = {"", 0};

    if (!secret_rotate_file(config, c->a, &error))
        return cli_fail("%s", error.p);
    puts("a new key stands first; `wharf reload`, then `wharf secret reseal`, then older keys may "
         "be taken out of the file");
    return EXIT_FINE;
}

int command_secret(int argc, char **argv)
{
    struct config *config;
    const char *verb;
    struct cli c;

    if (!cli_parse(&c, argc, argv, NULL, 0))
        return EXIT_USAGE;
    verb = c.n_words == 1 ? c.words[0] : "";
    if (strcmp(verb, "key") == 0)
        return print_key();
    config = cli_config(&c);
    if (!config)
        return EXIT_FAILED;
    if (strcmp(verb, "rotate") == 0)
        return secret_rotate(&c, config);
    if (strcmp(verb, "status") == 0)
        return with_columns(&c, config, show_column);
    if (strcmp(verb, "reseal") == 0)
        return with_columns(&c, config, reseal_column);
    cli_fail("wharf secret key, wharf secret rotate, wharf secret status, or wharf secret reseal");
    return EXIT_USAGE;
}
