/* cli.c - arguments, settings and a database connection for the commands. See cli.h. */
#include "tool/cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/settings.h"
#include "supervisor/datadir.h"
#include "util/log.h"
#include "util/str.h"

static const char default_file[] = "/etc/wharf/wharf.lua";

int cli_fail(const char *fmt, ...)
{
    va_list ap;

    fputs("wharf: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    if (log_is_file()) { /* a server that starts: who reads its log shall find why it did not */
        va_start(ap, fmt);
        log_vwrite(WHARF_LOG_ERROR, NULL, NULL, "server.start", fmt, ap);
        va_end(ap);
    }
    return EXIT_FAILED;
}

void cli_set(struct cli *c, const char *key, const char *value)
{
    if (c->n_sets < SETS_MAX)
        c->sets[c->n_sets++] = (struct config_override){key, value};
}

bool cli_is_set(const struct cli *c, const char *key)
{
    char name[64] = "WHARF_";
    size_t n = 6;

    for (size_t i = 0; i < c->n_sets; i++)
        if (strcmp(c->sets[i].key, key) == 0)
            return true;
    for (; *key && n < sizeof(name) - 1; key++)
        name[n++] = *key == '.' ? '_'
                                : (char)(*key >= 'a' && *key <= 'z' ? *key - 'a' + 'A' : *key);
    name[n] = 0;
    return getenv(name) != NULL;
}

/* Keeps a copy of the value and blanks it in the arguments, which everybody on the machine can
 * read (/proc/PID/cmdline). */
static const char *cli_hide(struct cli *c, char *value)
{
    const char *copy = arena_dupz(c->a, value).p;

    memset(value, 0, strlen(value));
    return copy;
}

static bool parse_set(struct cli *c, char *text)
{
    char *equals = strchr(text, '=');

    if (!equals || equals == text) {
        cli_fail("--set needs key=value, not \"%s\"", text);
        return false;
    }
    cli_set(c, arena_dup(c->a, text, (size_t)(equals - text)).p, cli_hide(c, equals + 1));
    return true;
}

/* Takes the overrides of the server that started this process, from a descriptor that it has left
 * open. */
static bool take_kept_sets(struct cli *c, const char *text)
{
    int fd = (int)strtol(text, NULL, 10);
    bool good = config_kept_sets(fd, c->sets, SETS_MAX, &c->n_sets, c->a);

    if (!good)
        cli_fail("--sets-fd is for processes that the server starts");
    else
        close(fd);
    return good;
}

/* Takes an option that every command knows. Returns 1: taken, 0: not one of them, -1: a message
 * was printed. */
static int common_option(struct cli *c, const char *name, char *value, bool *ret_used_value)
{
    static const char *const with_value[] = {"-c", "--set", "--data", "--sets-fd", "--config-fd"};

    *ret_used_value = false;
    if (strcmp(name, "--safe-mode") == 0) {
        cli_set(c, "safe_mode", "true");
        return 1;
    }
    for (size_t i = 0; i < sizeof(with_value) / sizeof(with_value[0]); i++)
        *ret_used_value = *ret_used_value || strcmp(name, with_value[i]) == 0;
    if (!*ret_used_value)
        return 0;
    if (!value) {
        cli_fail("%s needs a value", name);
        return -1;
    }
    if (strcmp(name, "--set") == 0)
        return parse_set(c, value) ? 1 : -1;
    if (strcmp(name, "--sets-fd") == 0)
        return take_kept_sets(c, value) ? 1 : -1;
    if (strcmp(name, "--config-fd") == 0) {
        c->config_fd = (int)strtol(value, NULL, 10);
    } else if (strcmp(name, "--data") == 0) {
        cli_set(c, "data", value);
    } else {
        c->config_file = value;
        c->config_given = true;
    }
    return 1;
}

static const struct cli_option *find_option(
    const struct cli_option *opts, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(opts[i].name, name) == 0)
            return &opts[i];
    return NULL;
}

/* Takes one argument, maybe with its value. Returns false after a message. */
static bool cli_take(struct cli *c, char **arg, char *value, const struct cli_option *opts,
    size_t n_opts, int *ret_used)
{
    char *equals = strncmp(*arg, "--", 2) == 0 ? strchr(*arg, '=') : NULL;
    const char *name = equals ? arena_dup(c->a, *arg, (size_t)(equals - *arg)).p : *arg;
    const struct cli_option *o = find_option(opts, n_opts, name);
    bool used_value = false;
    int common;

    value = equals ? equals + 1 : value;
    common = o ? 0 : common_option(c, name, value, &used_value);
    if (common < 0)
        return false;
    if (!o && !common) {
        cli_fail("there is no option %s here; `wharf help` lists them", name);
        return false;
    }
    if (o && o->text) {
        if (!value) {
            cli_fail("%s needs a value", name);
            return false;
        }
        *o->text = o->secret ? cli_hide(c, value) : value;
        used_value = true;
    } else if (o) {
        *o->flag = true;
    }
    if (equals && !used_value) {
        cli_fail("%s takes no value", name);
        return false;
    }
    *ret_used = used_value && !equals ? 2 : 1;
    return true;
}

bool cli_parse(struct cli *c, int argc, char **argv, const struct cli_option *opts, size_t n_opts)
{
    int used = 1;

    *c = (struct cli){.a = arena_new(0), .config_fd = -1};
    for (int i = 0; i < argc; i += used) {
        used = 1;
        if (argv[i][0] == '-' && argv[i][1]) {
            if (!cli_take(c, &argv[i], i + 1 < argc ? argv[i + 1] : NULL, opts, n_opts, &used))
                return false;
        } else if (c->n_words < WORDS_MAX) {
            c->words[c->n_words++] = argv[i];
        }
    }
    if (!c->config_file && access(default_file, R_OK) == 0)
        c->config_file = default_file;
    return true;
}

struct config *cli_config(struct cli *c)
{
    wharf_str error;
    struct config *config = config_load_kept(
        c->config_fd, c->config_file, c->sets, c->n_sets, c->a, &error);

    if (!config)
        cli_fail("the settings have problems:\n%s", error.p);
    else if (c->config_fd < 0 && config_exposed(config))
        fprintf(stderr,
            "wharf: everybody on this machine can read %s, which has a secret (\"%s\"): chmod 640 "
            "it, and give it to the server's group\n",
            config->file, config_exposed(config));
    return config;
}

/* ---- database ---- */

static void no_notice(void *arg, const PGresult *result)
{
}

PGconn *cli_connect(const char *conninfo, struct arena *a)
{
    PGconn *conn = PQconnectdb(conninfo);

    if (PQstatus(conn) != CONNECTION_OK) {
        cli_fail("the database can't be reached: %s", PQerrorMessage(conn));
        PQfinish(conn);
        return NULL;
    }
    PQsetNoticeReceiver(conn, no_notice, NULL);
    return conn;
}

static bool start_cluster(
    struct cli_db *db, const struct config *config, struct arena *a, wharf_str *ret_error)
{
    wharf_str note;

    if (!datadir_make(config->data, a, ret_error))
        return false;
    db->lock = datadir_lock(config->data, a, ret_error);
    if (db->lock < 0)
        return false;
    db->cluster = cluster_start(config->data, NULL, a, &note, ret_error);
    return db->cluster != NULL;
}

bool cli_db_open(struct cli_db *db, const struct config *config, struct arena *a)
{
    const char *conninfo = config->database;
    wharf_str error = {"", 0};

    *db = (struct cli_db){.lock = -1};
    if (strcmp(conninfo, "embedded") == 0) {
        conninfo = cluster_running(config->data, a);
        if (!conninfo && start_cluster(db, config, a, &error))
            conninfo = cluster_conninfo(db->cluster);
    }
    if (conninfo)
        db->conn = cli_connect(conninfo, a);
    else
        cli_fail("%s", error.p);
    if (!db->conn)
        cli_db_close(db);
    return db->conn != NULL;
}

void cli_db_close(struct cli_db *db)
{
    if (db->conn)
        PQfinish(db->conn);
    cluster_stop(db->cluster);
    if (db->lock >= 0)
        close(db->lock);
    *db = (struct cli_db){.lock = -1};
}
