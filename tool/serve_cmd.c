/* serve_cmd.c - `wharf serve` and `wharf dev`: everything that must stand before the supervisor
 * runs, and its end.
 *
 * Settings, data folder and its lock, embedded database, migrations (in a child), sockets; then
 * supervisor_run(). `dev` is `serve` with settings for a first try, a demonstration organization
 * and a greeting. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/cli/cli.h"
#include "http/tls.h"
#include "supervisor/datadir.h"
#include "supervisor/listen.h"
#include "process/spawn.h"
#include "supervisor/supervise.h"
#include "util/cores.h"
#include "util/log.h"
#include "util/str.h"

struct serve {
    struct cli c;
    struct config *config;
    bool dev, no_demo;
    const char *ready_file; /* or NULL */
    char exe[512];
    const char *database; /* "" when the settings name it */
    const char *note;
    struct cluster *cluster;
    int lock, control_fd, admin_fd, tls_fd;
    struct server_user user;
    int config_fd; /* the text of the settings for processes that may not read the file, or -1 */
    int sets_fd; /* the overrides, for processes that are started (config_keep_sets()) */
    int listen_fds[SEATS_MAX];
    size_t n_web, n_given;
    struct listen_address listen, admin;
};

static const char *url(struct serve *s, const struct listen_address *at, bool tls)
{
    const char *host = strcmp(at->host, "*") == 0 ? "127.0.0.1" : at->host;

    return arena_printf(s->c.a, strchr(host, ':') ? "%s://[%s]:%u" : "%s://%s:%u",
        tls ? "https" : "http", host, at->port)
        .p;
}

static const char *address(struct serve *s, const struct listen_address *at)
{
    return arena_printf(s->c.a, strchr(at->host, ':') ? "[%s]:%u" : "%s:%u", at->host, at->port).p;
}

/* Makes the argv of one of our own commands, with the settings; NULL-terminated. The child keeps
 * s->sets_fd. */
static const char **own_command(struct serve *s, const char *name, size_t *ret_n)
{
    const char **argv = ARENA_ARRAY(s->c.a, const char *, 24);
    size_t n = 0;

    argv[n++] = s->exe;
    argv[n++] = name;
    if (s->c.config_file) {
        argv[n++] = "-c";
        argv[n++] = s->c.config_file;
    }
    if (s->config_fd >= 0) {
        argv[n++] = "--config-fd";
        argv[n++] = arena_printf(s->c.a, "%d", s->config_fd).p;
    }
    argv[n++] = "--sets-fd";
    argv[n++] = arena_printf(s->c.a, "%d", s->sets_fd).p;
    *ret_n = n;
    return argv;
}

/* ---- the steps ---- */

/* Opens the log, before everything that may fail: it may be in the data folder. */
static bool start_log(struct serve *s)
{
    wharf_str error = {"", 0};
    bool good = datadir_make(s->config->data, s->c.a, &error);

    if (!good) {
        cli_fail("%s", error.p);
        return false;
    }
    good = log_open(s->config->log_file, s->config->log_level, "supervisor");
    if (!good)
        cli_fail("the log %s can't be opened: %s", s->config->log_file, strerror(errno));
    return good;
}

static bool read_certificate(struct serve *s)
{
    wharf_str error = {"", 0};

    if (tls_open(s->config, &s->tls_fd, s->c.a, &error))
        return true;
    cli_fail("%s", error.p);
    return false;
}

static bool take_folder(struct serve *s)
{
    wharf_str error = {"", 0};

    if (datadir_make(s->config->crash_dir, s->c.a, &error)) {
        s->lock = datadir_lock(s->config->data, s->c.a, &error);
        if (s->lock >= 0)
            s->control_fd = datadir_control_listen(s->config->data, s->c.a, &error);
    }
    if (s->control_fd < 0)
        cli_fail("%s", error.p);
    return s->control_fd >= 0;
}

/* Finds whoever the workers will be; tells when they stay root. */
static bool serve_find_user(struct serve *s)
{
    wharf_str error = {"", 0};

    if (!user_find(s->config, &s->user, s->c.a, &error)) {
        cli_fail("%s", error.p);
        return false;
    }
    if (geteuid() == 0 && !s->user.drops)
        log_warn("server.root",
            "workers and cells run as root; name a user for them with the setting user");
    return true;
}

/* Gives the places to the user, after everything of root's was made in the folder, and before
 * anybody else runs. */
static bool give_places(struct serve *s)
{
    wharf_str error = {"", 0};
    bool good = user_take_places(&s->user, s->config, s->c.a, &error);

    if (!good)
        cli_fail("%s", error.p);
    return good;
}

static bool open_database(struct serve *s)
{
    wharf_str note = {"", 0}, error = {"", 0};

    s->database = "";
    if (strcmp(s->config->database, "embedded") != 0)
        return true;
    s->cluster = cluster_start(
        s->config->data, s->user.drops ? &s->user.gid : NULL, s->c.a, &note, &error);
    if (!s->cluster) {
        cli_fail("%s", error.p);
        return false;
    }
    s->note = note.p;
    s->database = cluster_conninfo(s->cluster);
    return true;
}

static bool serve_set_up(struct serve *s)
{
    size_t n;
    const char **argv = own_command(s, "_migrate", &n);
    int keep[] = {s->sets_fd, s->config_fd};
    struct spawn child = {.argv = argv,
        .in = -1,
        .out = -1,
        .err = -1,
        .keep = keep,
        .n_keep = s->config_fd >= 0 ? 2 : 1,
        .death_signal = SIGKILL};
    int status;

    user_become(&s->user, &child); /* it loads plugins */

    argv[n++] = "--database";
    argv[n++] = s->database;
    if (s->dev)
        argv[n++] = "--dev";
    if (strcmp(s->config->migrate, "manual") == 0)
        argv[n++] = "--check-only";
    status = spawn_wait(&child);
    if (status == -1)
        cli_fail("%s can't be executed: %s", s->exe, strerror(errno));
    else if (!WIFEXITED(status))
        cli_fail("preparing the database ended by signal %d; the module that does this is loaded "
                 "by `wharf check` too",
            WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Opens the sockets, before the database: a port in use is told at once, and who connects while
 * migrations run waits instead of being refused. */
static bool open_sockets(struct serve *s)
{
    size_t cores = cores_allowed();
    wharf_str error = {"", 0};

    s->n_web = s->config->workers ? (size_t)s->config->workers : cores;
    if (s->n_web > SEATS_MAX - JOB_WORKERS_MAX)
        s->n_web = SEATS_MAX - JOB_WORKERS_MAX;
    if (!listen_open(s->config->listen, s->n_web, s->listen_fds, &s->listen, s->c.a, &error) ||
        (s->config->admin_listen[0] &&
            !listen_open(s->config->admin_listen, 1, &s->admin_fd, &s->admin, s->c.a, &error))) {
        cli_fail("%s", error.p);
        return false;
    }
    s->n_given = s->c.n_sets;
    /* workers are told the real ports */
    cli_set(&s->c, "listen", address(s, &s->listen));
    if (s->admin_fd >= 0)
        cli_set(&s->c, "admin.listen", address(s, &s->admin));
    s->sets_fd = config_keep_sets(s->c.sets, s->c.n_sets);
    s->config_fd = config_keep(s->config);
    if (s->sets_fd < 0 || (s->config->file && s->config_fd < 0))
        cli_fail("there is no memory to keep the settings: %s", strerror(errno));
    return s->sets_fd >= 0 && (!s->config->file || s->config_fd >= 0);
}

static const char *const *ready_command(struct serve *s)
{
    size_t n;
    const char **argv = own_command(s, "_welcome", &n);

    argv[n++] = "--base-url";
    argv[n++] = url(s, &s->listen, s->tls_fd >= 0);
    argv[n++] = "--admin-url";
    argv[n++] = s->admin_fd >= 0 ? url(s, &s->admin, false) : "";
    argv[n++] = "--pid";
    argv[n++] = arena_printf(s->c.a, "%d", (int)getpid()).p;
    argv[n++] = "--note";
    argv[n++] = s->note;
    if (s->ready_file) {
        argv[n++] = "--ready";
        argv[n++] = s->ready_file;
    }
    if (s->dev)
        argv[n++] = "--dev";
    if (s->no_demo)
        argv[n++] = "--no-demo";
    return argv;
}

static int serve_cmd_run(struct serve *s)
{
    /* the settings are freed by the supervisor */
    const char *data = arena_dupz(s->c.a, s->config->data).p;
    struct supervisor_start start;
    int code;

    if (!start_log(s) || !read_certificate(s) || !take_folder(s) || !serve_find_user(s) ||
        !open_sockets(s) || !open_database(s) || !give_places(s) || !serve_set_up(s))
        return EXIT_FAILED;
    start = (struct supervisor_start){.config = s->config,
        .config_file = s->c.config_file,
        .sets = s->c.sets,
        .n_sets = s->c.n_sets,
        .n_given = s->n_given,
        .user = &s->user,
        .config_fd = s->config_fd,
        .sets_fd = s->sets_fd,
        .listen_fds = s->listen_fds,
        .n_web = s->n_web,
        .tls_fd = s->tls_fd,
        .admin_fd = s->admin_fd,
        .control_fd = s->control_fd,
        .cluster = s->cluster,
        .database = s->database,
        .hangup_stops = s->dev};
    if (s->dev || s->ready_file)
        start.ready_argv = ready_command(s);
    code = supervisor_run(&start);
    unlink(arena_printf(s->c.a, "%s/control.sock", data).p);
    s->config = NULL; /* freed there */
    return code;
}

static int serve_serve(struct serve *s)
{
    ssize_t n = readlink("/proc/self/exe", s->exe, sizeof(s->exe) - 1);
    int code = EXIT_FAILED;

    s->exe[n > 0 ? n : 0] = 0;
    s->lock = s->control_fd = s->admin_fd = s->tls_fd = s->sets_fd = s->config_fd = -1;
    s->note = "";
    s->config = cli_config(&s->c);
    if (s->config)
        code = serve_cmd_run(s);
    cluster_stop(s->cluster);
    return code;
}

int command_serve(int argc, char **argv)
{
    static struct serve s;
    const struct cli_option opts[] = {{"--ready", &s.ready_file, NULL}};

    if (!cli_parse(&s.c, argc, argv, opts, 1))
        return EXIT_USAGE;
    return serve_serve(&s);
}

/* ---- dev ---- */

/* Sets what holds unless said otherwise: a folder here, logs in it, and an admin port that is not
 * in the way of another server. */
static void dev_settings(struct serve *s)
{
    const char *data = ".wharf";

    if (s->c.config_given)
        return;
    s->c.config_file = NULL;
    for (size_t i = 0; i < s->c.n_sets; i++)
        if (strcmp(s->c.sets[i].key, "data") == 0)
            data = s->c.sets[i].value;
    if (!cli_is_set(&s->c, "data"))
        cli_set(&s->c, "data", data);
    if (!cli_is_set(&s->c, "admin.listen"))
        cli_set(&s->c, "admin.listen", "127.0.0.1:0");
    if (!cli_is_set(&s->c, "drain_accept"))
        cli_set(&s->c, "drain_accept", "0");
    if (!cli_is_set(&s->c, "log.file"))
        cli_set(&s->c, "log.file", arena_printf(s->c.a, "%s/wharf.log", data).p);
    if (!cli_is_set(&s->c, "log.access"))
        cli_set(&s->c, "log.access", arena_printf(s->c.a, "%s/access.log", data).p);
}

int command_dev(int argc, char **argv)
{
    static struct serve s;
    const char *listen = NULL, *modules = NULL;
    bool test_clock = false;
    const struct cli_option opts[] = {{"--ready", &s.ready_file, NULL}, {"--listen", &listen, NULL},
        {"--modules", &modules, NULL}, {"--test-clock", NULL, &test_clock},
        {"--no-demo", NULL, &s.no_demo}};

    if (!cli_parse(&s.c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])))
        return EXIT_USAGE;
    s.dev = true;
    if (listen)
        cli_set(&s.c, "listen", listen);
    if (modules)
        cli_set(&s.c, "modules", modules);
    if (test_clock)
        cli_set(&s.c, "test_clock", "true");
    dev_settings(&s);
    return serve_serve(&s);
}
