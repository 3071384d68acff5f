/* worker.c - a worker process from exec to exit: plugins, schema check, secrets, start functions, then the loop. See
 * supervisor/worker.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/migrate.h"
#include "http/loop.h"
#include "http/openapi.h"
#include "http/pulse.h"
#include "plugin/registry.h"
#include "supervisor/board.h"
#include "supervisor/crash.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "util/id.h"

enum { EXIT_TRY_AGAIN = 1, EXIT_DO_NOT_RESTART = 2 };
enum { DATABASE_WAIT_US = 25 * 1000000, DATABASE_POLL_US = 50000 }; /* less than the supervisor waits for "ready" */

static int not_ready(const struct worker_boot *boot, wharf_str why)
{
    dprintf(boot->control_fd, "failed: %.*s\n", STR_ARG(why));
    log_error("worker.failed", "%.*s", STR_ARG(why));
    return EXIT_DO_NOT_RESTART;
}

/* The database is away or went away: no fault of the settings, so the supervisor shall start the next one. */
static int no_database(const struct worker_boot *boot)
{
    dprintf(boot->control_fd, "failed: the database can't be reached\n");
    log_error("worker.failed", "the database can't be reached");
    return EXIT_TRY_AGAIN;
}

/* A worker that starts while the database recovers from a crash waits for it. */
static bool database_answers(const char *database)
{
    int64_t until = clock_monotonic_us() + DATABASE_WAIT_US;
    PGPing ping = PQping(database);

    while (ping != PQPING_OK && ping != PQPING_NO_ATTEMPT && clock_monotonic_us() < until) {
        usleep(DATABASE_POLL_US);
        ping = PQping(database);
    }
    return ping == PQPING_OK;
}

static int term_descriptor(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigdelset(&set, SIGHUP); /* the supervisor's business */
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool schema_current(struct engine *e, struct registry *r, const char *database, wharf_str *ret_error)
{
    PGconn *pg = PQconnectdb(database);
    const struct plugin_migration *list;
    struct buf out;
    size_t n;
    bool ok;

    if (PQstatus(pg) != CONNECTION_OK) {
        *ret_error = arena_dupz(e->arena, PQerrorMessage(pg));
        PQfinish(pg);
        return false;
    }
    list = registry_migrations(r, &n);
    buf_init(&out, 1 << 20);
    ok = migrate_run(pg, list, n, MIGRATE_CHECK, false, &out, e->arena, ret_error);
    buf_done(&out);
    PQfinish(pg);
    return ok;
}

/* Secrets of the installation are made by the first process that looks for them. */
static bool read_cursor_key(struct engine *e, const char *database)
{
    unsigned char fresh[32];
    char hex[65];
    PGconn *pg = PQconnectdb(database);
    const char *values[1] = {hex};
    PGresult *r;
    bool ok;

    random_bytes(fresh, sizeof(fresh));
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", fresh[i]);
    /* Two statements: the one that loses a race sees the winner's row only in its next snapshot. */
    PQclear(PQexecParams(pg,
        "INSERT INTO wharf.setting (key, value) VALUES ('cursor.key', $1::text) ON CONFLICT (key) DO NOTHING", 1, NULL,
        values, NULL, NULL, 0));
    r = PQexec(pg, "SELECT value FROM wharf.setting WHERE key = 'cursor.key'");
    ok = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1 && PQgetlength(r, 0, 0) == 64;
    for (int i = 0; ok && i < 32; i++) {
        char two[3] = {PQgetvalue(r, 0, 0)[2 * i], PQgetvalue(r, 0, 0)[2 * i + 1], 0};

        e->cursor_key[i] = (unsigned char)strtoul(two, NULL, 16);
    }
    PQclear(r);
    PQfinish(pg);
    return ok;
}

static void count_routes(struct engine *e, struct board *b)
{
    for (size_t i = 0; i < e->n_routes; i++) {
        struct route *r = &e->routes[i];

        r->metrics = board_route(b, r->method, r->pattern, r->plugin ? r->plugin->name : "wharf");
    }
}

static bool start_plugins(
    struct engine *e, const struct config *config, const struct worker_boot *boot, wharf_str *ret_error)
{
    struct thread_ctx ctx = {.db = db_open(boot->database, config->database_prepared, config->statement_timeout_ms),
        .crumb = &boot->board->workers[boot->slot].crumbs[0]};
    bool ok = true;

    for (size_t i = 0; ok && i < e->n_plugins; i++) {
        const wharf_plugin_desc *d = e->plugins[i].desc;
        struct wharf_req req = {.arena = arena_new(0), .engine = e, .thread = &ctx, .plugin = &e->plugins[i]};

        crumb_enter(ctx.crumb, e->plugins[i].name, "start", "", 0);
        if (WHARF_HAS(wharf_plugin_desc, d, start) && d->start(e->plugins[i].handle, &req) != WHARF_OK) {
            *ret_error = arena_printf(e->arena, "plugin %s did not start: %s", e->plugins[i].name,
                req.n_problems ? req.problems[0].text.p : "it gave no reason");
            ok = false;
        }
        crumb_leave(ctx.crumb);
        arena_free(req.arena);
    }
    db_close(ctx.db);
    return ok;
}

static void stop_plugins(const struct engine *e, bool drain)
{
    for (size_t i = e->n_plugins; i-- > 0;) {
        const wharf_plugin_desc *d = e->plugins[i].desc;

        if (drain && WHARF_HAS(wharf_plugin_desc, d, drain))
            d->drain(e->plugins[i].handle);
        else if (!drain && WHARF_HAS(wharf_plugin_desc, d, stop))
            d->stop(e->plugins[i].handle);
    }
}

static int open_access_log(const struct config *c)
{
    if (!c->access_log || !c->access_log[0])
        return -1;
    if (!strcmp(c->access_log, "-"))
        return STDERR_FILENO;
    return open(c->access_log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

static int serve(
    struct engine *e, const struct config *config, const struct worker_boot *boot, struct pulse *pulse, int term_fd)
{
    struct server *s = calloc(1, sizeof(*s));
    struct board_worker *slot = &boot->board->workers[boot->slot];

    if (!s)
        abort();
    s->engine = e;
    s->config = config;
    s->boot = boot;
    s->term_fd = term_fd;
    s->access_fd = open_access_log(config);
    e->ready = pulse_ready(pulse);
    if (!server_start(s, boot->listen_fd))
        return not_ready(boot, str_z("the HTTP server did not start on its socket"));
    atomic_store(&slot->state, BOARD_READY);
    dprintf(boot->control_fd, "ready\n");
    server_run(s);
    stop_plugins(e, true);
    server_stop(s);
    stop_plugins(e, false);
    pulse_stop(pulse);
    /* No dlclose, no destructors: docs/plugin-abi.md section 3 'stop'. */
    _exit(0);
}

int worker_main(const struct config *config, const struct worker_boot *boot)
{
    struct arena *a = arena_new(0);
    struct registry *r;
    struct engine *e;
    struct pulse *pulse;
    wharf_str why = {"", 0};
    int term_fd = term_descriptor(); /* before any thread, so that all of them leave these signals to it */

    r = registry_load(config, boot->quarantined, a, &why);
    if (!r)
        return not_ready(boot, why);
    e = registry_engine(r);
    e->board = boot->board;
    e->admin = boot->kind == WORKER_JOB;
    e->auth = auth_cache_new();
    crash_install(config->crash_dir);
    for (size_t i = 0; i < e->n_plugins; i++)
        crash_add_plugin(e->plugins[i].name, e->plugins[i].manifest->file);
    crash_thread(&boot->board->workers[boot->slot].crumbs[0]);
    if (!database_answers(boot->database))
        return no_database(boot);
    if (!schema_current(e, r, boot->database, &why))
        return database_answers(boot->database) ? not_ready(boot, why) : no_database(boot);
    if (!read_cursor_key(e, boot->database))
        return no_database(boot);
    e->openapi = openapi_build(e);
    count_routes(e, boot->board);
    pulse = pulse_start(e, boot->database, boot->kind == WORKER_JOB, &why);
    if (!pulse)
        return no_database(boot);
    if (!start_plugins(e, config, boot, &why))
        return database_answers(boot->database) ? not_ready(boot, why) : no_database(boot);
    return serve(e, config, boot, pulse, term_fd);
}
