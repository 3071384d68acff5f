/* commands.c - the commands that look at settings, plugins and the database, and those that talk
 * to a running server. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool/admin.h"
#include "tool/cli/cli.h"
#include "tool/look.h"
#include "tool/lua/author.h"
#include "tool/need.h"
#include "tool/tool_queries.gen.h"
#include "db/cluster.h"
#include "db/migrate.h"
#include "http/tls.h"
#include "lua/operator/operator.h"
#include "host/registry.h"
#include "supervisor/datadir.h"
#include "process/user.h"
#include "secret/secret.h"
#include "util/str.h"

enum { OUTPUT_MAX = 4 * 1024 * 1024 };

/* ---- a running server ---- */

/* Sends one line to the supervisor, prints its answer. */
static int ask_server(const struct config *config, const char *line, struct arena *a)
{
    wharf_str error;
    int fd = datadir_control_connect(config->data, a, &error);
    struct buf answer;
    ssize_t n = 1;
    int code;

    if (fd < 0)
        return cli_fail("%s", error.p);
    buf_init(&answer, OUTPUT_MAX);
    if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
        n = 0;
    while (n > 0) {
        char *room = buf_room(&answer, 4096);

        n = room ? read(fd, room, 4096) : 0;
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            buf_add(&answer, room, (size_t)n);
    }
    close(fd);
    code = str_starts(buf_str(&answer), "ok\n") ? EXIT_FINE : EXIT_FAILED;
    if (code == EXIT_FINE)
        fwrite(answer.p + 3, 1, answer.n - 3, stdout);
    else
        /* "error: reason" */
        cli_fail("%s", answer.n > 7 ? answer.p + 7 : "the server ended without an answer");
    buf_done(&answer);
    return code;
}

static int tell_server(struct cli *c, const char *line)
{
    struct config *config;

    if (!c->config_file && !cli_is_set(c, "data") && access(".wharf/control.sock", F_OK) == 0)
        cli_set(c, "data", ".wharf"); /* the one `wharf dev` started here */
    config = cli_config(c);
    return config ? ask_server(config, line, c->a) : EXIT_FAILED;
}

static int simple_command(int argc, char **argv, const char *line)
{
    struct cli c;

    return cli_parse(&c, argc, argv, NULL, 0) ? tell_server(&c, line) : EXIT_USAGE;
}

int command_ps(int argc, char **argv)
{
    return simple_command(argc, argv, "ps\n");
}

int command_reload(int argc, char **argv)
{
    return simple_command(argc, argv, "reload\n");
}

int command_stop(int argc, char **argv)
{
    return simple_command(argc, argv, "stop\n");
}

/* ---- settings and plugins ---- */

/* Connects to the database when it runs. NULL after a line about why it was not looked at. */
static PGconn *running_database(const struct config *config, struct arena *a)
{
    const char *conninfo = strcmp(config->database, "embedded") != 0
                               ? config->database
                               : cluster_running(config->data, a);
    PGconn *conn;
    PGresult *r;
    bool has_tables;

    setenv("PGCONNECT_TIMEOUT", "10", 0); /* seconds: settings are looked at, and nobody waits */
    conn = conninfo ? PQconnectdb(conninfo) : NULL;
    r = PQexec(conn, "SELECT 1 WHERE to_regclass('wharf.file') IS NOT NULL");
    has_tables = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1;
    if (!has_tables)
        printf("the database %s, and was not looked at\n",
            PQstatus(conn) == CONNECTION_OK ? "has no tables yet" : "can't be reached");
    PQclear(r);
    if (!has_tables) {
        PQfinish(conn);
        conn = NULL;
    }
    return conn;
}

/* Looks at what stands beside the rows. A database that does not run is no problem: settings are
 * checked before. */
static bool check_database(const struct config *config, const struct engine *e, struct arena *a)
{
    PGconn *conn = running_database(config, a);
    wharf_str error = {"", 0};
    bool rights, key, mark, objects;

    if (!conn)
        return true;
    rights = look_at_rights(conn, e);
    key = secret_load(config, a, &error);
    if (!key)
        cli_fail("%s", error.p);
    key = key && look_at_key(conn, config, a);
    mark = look_at_mark(conn, config, BLOB_MARK_LOOK, a);
    objects = look_at_objects(conn, config, false, a);
    need_connections(conn, config, e);
    PQfinish(conn);
    return rights && key && mark && objects;
}

int command_check(int argc, char **argv)
{
    struct cli c;
    struct config *config;
    struct server_user user;
    wharf_str problems;
    struct registry *r;
    size_t hooks;
    bool good;
    int tls_fd;

    if (!cli_parse(&c, argc, argv, NULL, 0))
        return EXIT_USAGE;
    config = cli_config(&c);
    if (!config)
        return EXIT_FAILED;
    if (!user_find(config, &user, c.a, &problems) || !tls_open(config, &tls_fd, c.a, &problems))
        return cli_fail("%s", problems.p);
    r = registry_load(config, "", REGISTRY_GUARDED, c.a, &problems);
    if (!r)
        return cli_fail("the plugins have problems:\n%s", problems.p);
    if (!operator_check(registry_engine(r), config, &hooks, c.a, &problems))
        return cli_fail("%s", problems.p);
    if (hooks && !lua_hooks_names(&c, operator_dir(config)))
        return EXIT_FAILED;
    printf("settings, %zu plugins and %zu hooks are fine\n", registry_plugin_count(r), hooks);
    good = need_ports(config, c.a);
    good = need_base_url(config) && good;
    return check_database(config, registry_engine(r), c.a) && good ? EXIT_FINE : EXIT_FAILED;
}

static void print_services(const char *title, const struct manifest_service *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%s%s %u.%u", i ? ", " : title, list[i].name, list[i].major, list[i].minor);
    if (n)
        putchar('\n');
}

static int plugin_inspect(struct cli *c)
{
    wharf_str error;
    const struct manifest *m;

    if (c->n_words != 2)
        return cli_fail("which file? wharf plugin inspect FILE");
    m = manifest_read(c->a, c->words[1], &error);
    if (!m)
        return cli_fail("%s", error.p);
    printf("%s %s%s%s\n", m->name, m->version, m->description ? " - " : "",
        m->description ? m->description : "");
    printf("file:     %s%s\n", m->file, m->third_party ? " (third party)" : "");
    printf("abi:      %u.%u (this server has %d.%d)\n", m->abi_major, m->abi_minor, WHARF_ABI_MAJOR,
        WHARF_ABI_MINOR);
    print_services("needs:    ", m->needs, m->n_needs);
    print_services("wants:    ", m->wants, m->n_wants);
    print_services("provides: ", m->provides, m->n_provides);
    if (m->license)
        printf("license:  %s\n", m->license);
    if (m->homepage)
        printf("homepage: %s\n", m->homepage);
    printf("\n%.*s\n", STR_ARG(m->text));
    return EXIT_FINE;
}

static int plugin_list(struct cli *c)
{
    struct config *config = cli_config(c);
    const struct manifest *const *list;
    wharf_str problems;
    size_t n;

    if (!config)
        return EXIT_FAILED;
    list = registry_resolve(config, "", c->a, &n, &problems);
    if (!list)
        return cli_fail("the plugins have problems:\n%s", problems.p);
    for (size_t i = 0; i < n; i++)
        printf("%-20s %-10s abi %u.%u  %-11s %s\n", list[i]->name, list[i]->version,
            list[i]->abi_major, list[i]->abi_minor,
            list[i]->third_party ? "third party" : "shipped", list[i]->file);
    return EXIT_FINE;
}

int command_plugin(int argc, char **argv)
{
    struct cli c;
    const char *verb;

    if (!cli_parse(&c, argc, argv, NULL, 0))
        return EXIT_USAGE;
    verb = c.n_words ? c.words[0] : "";
    if (strcmp(verb, "inspect") == 0)
        return plugin_inspect(&c);
    if (strcmp(verb, "list") == 0)
        return plugin_list(&c);
    if (strcmp(verb, "release") == 0 && c.n_words == 2)
        return tell_server(&c, arena_printf(c.a, "release %s\n", c.words[1]).p);
    cli_fail("wharf plugin inspect FILE, wharf plugin list, or wharf plugin release NAME");
    return EXIT_USAGE;
}

/* ---- the database ---- */

int command_migrate(int argc, char **argv)
{
    bool plan = false, contract = false, good;
    const struct cli_option opts[] = {{"--plan", NULL, &plan}, {"--contract", NULL, &contract}};
    const struct plugin_migration *list;
    const struct registry *r;
    struct config *config;
    struct cli_db db;
    struct cli c;
    struct buf out;
    wharf_str error = {"", 0};
    size_t n;

    if (!cli_parse(&c, argc, argv, opts, 2))
        return EXIT_USAGE;
    config = cli_config(&c);
    if (!config)
        return EXIT_FAILED;
    r = registry_load(config, "", REGISTRY_GUARDED, arena_new(0), &error);
    if (!r)
        return cli_fail("the plugins have problems:\n%s", error.p);
    if (!cli_db_open(&db, config, c.a))
        return EXIT_FAILED;
    list = registry_migrations(r, &n);
    buf_init(&out, OUTPUT_MAX);
    good = migrate_run(
        db.conn, list, n, plan ? MIGRATE_PLAN : MIGRATE_APPLY, contract, &out, c.a, &error);
    fputs(out.n ? out.p : good ? "nothing to do\n" : "", stdout);
    buf_done(&out);
    cli_db_close(&db);
    return good ? EXIT_FINE : cli_fail("%s", error.p);
}

static const char meters_sql[] =
    "SELECT 'events.retention_days', o.id, COALESCE(substring(o.settings #>> "
    "'{events,expire_after}' FROM 'days_([0-9]+)'), '30') FROM wharf.organization o WHERE o.mode = "
    "'live' AND o.deleted_at IS NULL ORDER BY o.id";

/* Prints the rows of a statement as a table: columns as wide as their widest value, below the
 * heads, if there are any. */
static int print_rows(struct cli *c, const char *sql, const char *const *heads)
{
    struct config *config = cli_config(c);
    struct cli_db db;
    PGresult *r;
    bool good;

    if (!config || !cli_db_open(&db, config, c->a))
        return EXIT_FAILED;
    r = PQexec(db.conn, sql);
    good = PQresultStatus(r) == PGRES_TUPLES_OK;
    for (int i = heads ? -1 : 0; good && i < PQntuples(r); i++) {
        for (int k = 0; k < PQnfields(r); k++) {
            int wide = heads ? (int)strlen(heads[k]) : 0;

            for (int row = 0; row < PQntuples(r); row++)
                wide = PQgetlength(r, row, k) > wide ? PQgetlength(r, row, k) : wide;
            printf("%-*s%s", k + 1 < PQnfields(r) ? wide : 0,
                i < 0 ? heads[k] : PQgetvalue(r, i, k), k + 1 < PQnfields(r) ? "  " : "\n");
        }
    }
    if (!good)
        cli_fail("%s", PQresultErrorMessage(r));
    PQclear(r);
    cli_db_close(&db);
    return good ? EXIT_FINE : EXIT_FAILED;
}

static const char organizations_sql[] = QUERY_ORGANIZATIONS;
static const char *const organization_heads[] = {
    "organization", "mode", "state", "since", "users", "keys", "limits", "name"};

int command_org(int argc, char **argv)
{
    struct admin_org org = {.name = NULL};
    const struct cli_option opts[] = {
        {"--owner-name", &org.owner_name, NULL}, {"--owner-email", &org.owner_email, NULL}};
    struct config *config;
    struct cli_db db;
    struct cli c;
    char id[ID_MAX];
    wharf_str error = {"", 0};
    bool good;

    if (argc > 0 && strcmp(argv[0], "limit") == 0)
        return limit_command(argc, argv, true);
    if (!cli_parse(&c, argc, argv, opts, 2))
        return EXIT_USAGE;
    if (c.n_words == 1 && strcmp(c.words[0], "meters") == 0)
        return print_rows(&c, meters_sql, NULL);
    if (c.n_words == 1 && strcmp(c.words[0], "list") == 0)
        return print_rows(&c, organizations_sql, organization_heads);
    if (c.n_words != 2 || strcmp(c.words[0], "create") != 0 ||
        (org.owner_name && !org.owner_email)) {
        cli_fail("wharf org create NAME [--owner-email EMAIL [--owner-name NAME]], wharf org list, "
                 "wharf org limit ORG …, or wharf org meters");
        return EXIT_USAGE;
    }
    org.name = c.words[1];
    if (!org.owner_name)
        org.owner_name = org.owner_email;
    config = cli_config(&c);
    if (!config || !cli_db_open(&db, config, c.a))
        return EXIT_FAILED;
    good = admin_org_create(db.conn, &org, id, c.a, &error);
    cli_db_close(&db);
    if (!good)
        return cli_fail("%s", error.p);
    puts(id);
    return EXIT_FINE;
}

int command_key(int argc, char **argv)
{
    struct admin_key key = {.scopes = NULL};
    const struct cli_option opts[] = {{"--org", &key.organization_id, NULL},
        {"--scopes", &key.scopes, NULL}, {"--name", &key.name, NULL},
        {"--locations", &key.locations, NULL}, {"--user", &key.user_id, NULL},
        {"--test", NULL, &key.test}, {"--system", NULL, &key.system}};
    struct config *config;
    struct cli_db db;
    struct cli c;
    wharf_str error = {"", 0}, text = {"", 0};
    int done;
    bool good;

    if (argc > 0 && strcmp(argv[0], "limit") == 0)
        return limit_command(argc, argv, false);
    if (!cli_parse(&c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])))
        return EXIT_USAGE;
    done = people_key_command(&c, key.organization_id);
    if (done >= 0)
        return done;
    if (c.n_words != 1 || strcmp(c.words[0], "create") != 0 || !key.organization_id ||
        (!key.scopes && !key.system)) {
        cli_fail("wharf key create --org ID --scopes all|area:read,area:write [--name TEXT] "
                 "[--locations ID,ID] [--user ID] [--test] [--system], wharf key list --org ID, "
                 "wharf key limit KEY …, or wharf key revoke KEY");
        return EXIT_USAGE;
    }
    if (!key.scopes)
        key.scopes = "";
    config = cli_config(&c);
    if (!config || !cli_db_open(&db, config, c.a))
        return EXIT_FAILED;
    good = admin_key_create(db.conn, config, &key, &text, c.a, &error);
    cli_db_close(&db);
    if (!good)
        return cli_fail("%s", error.p);
    puts(text.p);
    return EXIT_FINE;
}
