/* setup.c - `wharf _migrate`: what is done to the database before workers start, in a process of
 * its own, because it loads plugins and the supervisor must not.
 *
 * Migrations (or, with --check-only, the question whether all are applied). With --dev also the
 * demonstration organization and a key that works, kept in dev.json in the data folder. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/admin.h"
#include "tool/cli/cli.h"
#include "tool/devfile.h"
#include "tool/look.h"
#include "db/migrate.h"
#include "host/registry.h"
#include "resource/table_check.h"
#include "db/master_key.h"
#include "process/quarantine.h"
#include "util/log.h"
#include "util/str.h"

enum { OUTPUT_MAX = 1024 * 1024 };

/* Compares the tables with the definitions; false after cli_fail() told each column that is
 * missing or of another type. Without this the first request would find out. */
static bool tables_fit(PGconn *conn, const struct engine *e)
{
    struct buf problems;
    bool good;

    buf_init(&problems, OUTPUT_MAX);
    good = tables_check(conn, e, &problems);
    if (!good)
        cli_fail("the tables do not fit the plugins:\n%s", buf_str(&problems).p);
    buf_done(&problems);
    return good;
}

static bool migrate(
    PGconn *conn, const struct config *config, enum migrate_mode mode, struct arena *a)
{
    struct arena *plugins = arena_new(0); /* the registry lives until the process ends */
    /* one that crashes while it declares must not stop the start */
    struct quarantined list_out[QUARANTINE_MAX];
    size_t n_out = quarantine_read(config->data, list_out);
    wharf_str error = {"", 0};
    struct registry *r = registry_load(
        config, quarantine_names(list_out, n_out, a), REGISTRY_GUARDED, plugins, &error);
    const struct plugin_migration *list;
    struct buf out;
    size_t count;
    bool good;

    if (!r) {
        cli_fail("the plugins have problems:\n%s", error.p);
        return false;
    }
    list = registry_migrations(r, &count);
    buf_init(&out, OUTPUT_MAX);
    good = migrate_run(conn, list, count, mode, false, &out, a, &error);
    if (!good) {
        fwrite(out.p ? out.p : "", 1, out.n, stderr);
        cli_fail("%s", error.p);
    }
    if (good)
        good = tables_fit(conn, registry_engine(r)) && look_at_rights(conn, registry_engine(r));
    buf_done(&out);
    return good;
}

/* Makes a master key for a database of this machine's own, whose keys nobody else can have; but
 * never beside secrets that another one sealed. */
static bool prepare_key(PGconn *conn, const struct config *config, struct arena *a)
{
    char id[SECRET_KEY_ID + 1];
    wharf_str error = {"", 0};
    bool good = secret_load(config, a, &error);
    enum master_key_state state = good ? master_key_compare(conn, id) : MASTER_KEY_UNKNOWN;

    if (good && state == MASTER_KEY_UNUSED && strcmp(config->database, "embedded") == 0)
        good = secret_ensure_file(config, a, &error);
    if (!good)
        cli_fail("%s", error.p);
    else
        look_at_key(conn, config, a); /* it serves all the same */
    return good;
}

/* Prepares the key of dev.json: that one if the database still knows it; else a new one, of the
 * same organization if that is still there. */
static bool prepare_dev(PGconn *conn, const struct config *config, struct arena *a)
{
    struct devfile dev = {.api_key = ""};
    struct admin_org org = {"Demo", "Demo Owner", "owner@example.com"};
    struct admin_key key = {.name = "wharf dev",
        .scopes = "all",
        .system = config->test_clock,
        .organization_id = dev.organization_id};
    wharf_str error = {"", 0}, text = {"", 0};
    char found[ID_MAX];
    bool good;

    devfile_read(config->data, &dev, a);
    if (dev.system == config->test_clock && admin_key_works(conn, config, dev.api_key, found))
        return true;
    good = dev.organization_id[0] && admin_key_create(conn, config, &key, &text, a, &error);
    if (!good)
        good = admin_org_create(conn, &org, dev.organization_id, a, &error) &&
               admin_key_create(conn, config, &key, &text, a, &error);
    dev.api_key = text.p;
    dev.system = config->test_clock;
    good = good && devfile_write(config->data, &dev, a, &error);
    if (!good)
        cli_fail("the demonstration organization could not be made: %s", error.p);
    return good;
}

static bool setup_has_module(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->modules.count; i++)
        if (strcmp(config->modules.items[i], name) == 0)
            return true;
    return false;
}

int command_setup(int argc, char **argv)
{
    const char *database = "";
    bool dev = false, check_only = false, good;
    const struct cli_option opts[] = {{"--database", &database, NULL}, {"--dev", NULL, &dev},
        {"--check-only", NULL, &check_only}};
    struct config *config;
    struct cli c;
    PGconn *conn;

    if (!cli_parse(&c, argc, argv, opts, 3))
        return EXIT_USAGE;
    config = cli_config(&c);
    if (!config)
        return EXIT_FAILED;
    log_open(config->log_file, config->log_level, "migrate");
    conn = cli_connect(database[0]                  ? database
                       : config->database_direct[0] ? config->database_direct
                                                    : config->database,
        c.a);
    if (!conn)
        return EXIT_FAILED;
    good = migrate(conn, config, check_only ? MIGRATE_START : MIGRATE_APPLY, c.a);
    good = good && prepare_key(conn, config, c.a);
    good = good && look_at_mark(conn, config, BLOB_MARK_MAKE, c.a);
    if (good && strcmp(config->blob_driver, "dir") == 0) /* S3 is looked at later: nobody waits */
        look_at_objects(conn, config, true, c.a);
    if (good && dev && setup_has_module(config, "org"))
        good = prepare_dev(conn, config, c.a);
    PQfinish(conn);
    return good ? EXIT_FINE : EXIT_FAILED;
}
