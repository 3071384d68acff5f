/* worker.c - a worker process from exec to exit: plugins, schema check, secrets, start
 * functions, then the loop. See process/worker.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/master_key.h"
#include "db/meter.h"
#include "db/migrate.h"
#include "event/requestlog.h"
#include "http/health.h"
#include "http/loop.h"
#include "http/openapi.h"
#include "db/notifier.h"
#include "http/stream.h"
#include "job/quarantined.h"
#include "job/runner.h"
#include "resource/absent.h"
#include "plugin/manifest.h"
#include "host/registry.h"
#include "resource/part.h"
#include "worker/housekeeping.h"
#include "secret/secret.h"
#include "process/board.h"
#include "process/crash.h"
#include "util/disk.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "util/id.h"
#include "wharf/errors.h"
#include <sodium.h>

enum { EXIT_TRY_AGAIN = 1 };
/* less than the supervisor waits for "ready" */
enum {
    DATABASE_WAIT_US = 25 * 1000000, /* a worker waits for the database at its start */
    DATABASE_POLL_US = 50000
};

static int not_ready(const struct worker_boot *boot, wharf_str why)
{
    dprintf(boot->control_fd, "failed: %.*s\n", STR_ARG(why));
    log_error("worker.failed", "%.*s", STR_ARG(why));
    return WORKER_REFUSED;
}

/* Tells that the database is away or went away: no fault of the settings, so the supervisor shall
 * start the next one. */
static int no_database(const struct worker_boot *boot)
{
    dprintf(boot->control_fd, "failed: the database can't be reached\n");
    log_error("worker.failed", "the database can't be reached");
    return EXIT_TRY_AGAIN;
}

/* Waits for the database: a worker that starts while it recovers from a crash waits for it. */
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

/* Tells whether the schema is current. *ret_lost: the database went away meanwhile, which says
 * nothing of its schema, also when it is back by now. */
static bool schema_current(
    struct engine *e, struct registry *r, PGconn *pg, bool *ret_lost, wharf_str *ret_error)
{
    const struct plugin_migration *list;
    struct buf out;
    bool ok = false;
    size_t n;

    if (PQstatus(pg) == CONNECTION_OK) {
        list = registry_migrations(r, &n);
        buf_init(&out, 1 << 20);
        ok = migrate_run(pg, list, n, MIGRATE_CHECK, false, &out, e->arena, ret_error);
        buf_done(&out);
    }
    *ret_lost = PQstatus(pg) != CONNECTION_OK;
    return ok;
}

/* Reads the key of cursors. Secrets of the installation are made by the first process that looks
 * for them. */
static bool read_cursor_key(struct engine *e, PGconn *pg)
{
    unsigned char fresh[32];
    char hex[65];
    const char *values[1] = {hex};
    PGresult *r;
    bool ok;

    random_bytes(fresh, sizeof(fresh));
    sodium_bin2hex(hex, sizeof(hex), fresh, sizeof(fresh));
    /* Two statements: the one that loses a race sees the winner's row only in its next snapshot. */
    PQclear(PQexecParams(pg,
        "INSERT INTO wharf.setting (key, value) VALUES ('cursor.key', $1::text) ON CONFLICT (key) "
        "DO NOTHING",
        1, NULL, values, NULL, NULL, 0));
    r = PQexec(pg, "SELECT value FROM wharf.setting WHERE key = 'cursor.key'");
    ok = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1 && PQgetlength(r, 0, 0) == 64;
    for (int i = 0; ok && i < 32; i++) {
        char two[3] = {PQgetvalue(r, 0, 0)[2 * i], PQgetvalue(r, 0, 0)[2 * i + 1], 0};

        e->cursor_key[i] = (unsigned char)strtoul(two, NULL, 16);
    }
    PQclear(r);
    return ok;
}

/* Looks whether this machine has the master key of the database; without it secrets are
 * unavailable, and all else is served. Returns false when the database does not answer. */
static bool check_master_key(struct engine *e, PGconn *pg)
{
    char id[SECRET_KEY_ID + 1];
    enum master_key_state state = master_key_take(pg, id);

    e->secrets_wrong = master_key_wrong(state);
    if (e->secrets_wrong) {
        log_error(state == MASTER_KEY_MISSING ? "secrets.key_missing" : "secrets.key_differs",
            "the secrets of this database are sealed with master key %s, which this machine does "
            "not have: they are unavailable until it gets the same master_key (%s)",
            id, secret_file(e->config, e->arena));
        secret_disable();
    }
    return state != MASTER_KEY_UNKNOWN;
}

/* Asks all that must be known before anything is started, on one connection. Returns 0, or the
 * exit code after it told why. */
static int ask_first(struct engine *e, struct registry *r, const struct worker_boot *boot)
{
    PGconn *pg = PQconnectdb(boot->database);
    wharf_str why = {"", 0};
    bool lost = false;
    int code = 0;

    if (!schema_current(e, r, pg, &lost, &why))
        code = lost ? no_database(boot) : not_ready(boot, why);
    else if (!secret_load(e->config, e->arena, &why))
        code = not_ready(boot, why);
    else if (!read_cursor_key(e, pg) || !check_master_key(e, pg))
        code = no_database(boot);
    PQfinish(pg);
    return code;
}

static const char *module_of(const struct route *r)
{
    return r->absent ? r->absent->manifest->name : r->plugin ? r->plugin->name : "wharf";
}

/* Gives each plugin the place where is counted what it uses. */
static void count_plugins(struct engine *e, struct board *b)
{
    e->counted = ARENA_ARRAY(e->arena, struct board_plugin *, e->n_plugins + 1);
    for (size_t i = 0; i <= e->n_plugins; i++)
        e->counted[i] = board_plugin(b, i < e->n_plugins ? e->plugins[i].name : "wharf");
}

static void count_routes(struct engine *e, struct board *b)
{
    for (size_t i = 0; i < e->n_routes; i++) {
        struct route *r = &e->routes[i];

        r->metrics = board_route(b, r->method, r->pattern, module_of(r));
    }
}

static bool start_plugins(struct engine *e, const struct config *config,
    const struct worker_boot *boot, bool *ret_lost, wharf_str *ret_error)
{
    struct thread_ctx ctx = {
        .db = db_open(boot->database, config->database_prepared, config->statement_timeout_ms),
        .activity = &boot->board->workers[boot->slot].activities[0]};
    bool ok = true;

    for (size_t i = 0; ok && i < e->n_plugins; i++) {
        const wharf_plugin_desc *d = e->plugins[i].desc;
        struct wharf_req req = {
            .arena = arena_new(0), .engine = e, .thread = &ctx, .plugin = &e->plugins[i]};

        activity_enter(ctx.activity, e->plugins[i].name, "start", "", 0);
        if (WHARF_HAS(wharf_plugin_desc, d, start) &&
            d->start(e->plugins[i].handle, &req) != WHARF_OK) {
            *ret_error = arena_printf(e->arena, "plugin %s did not start: %s", e->plugins[i].name,
                req.problems.n ? req.problems.list[0].text.p : "it gave no reason");
            *ret_lost = req.problems.n &&
                        /* req_database_problem() */
                        !strcmp(req.problems.list[0].code, ERR_DATABASE_UNAVAILABLE);
            ok = false;
        }
        activity_leave(ctx.activity);
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
    int fd;

    if (!c->access_log || !c->access_log[0])
        return -1;
    if (!strcmp(c->access_log, "-"))
        return STDERR_FILENO;
    fd = open(c->access_log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0)
        log_error(
            "log.not_opened", "%s: %s; there is no access log", c->access_log, strerror(errno));
    return fd;
}

static void observe_statement(void *board, int64_t us)
{
    board_db_observe(board, us);
}

/* Sets a hard limit of memory behind the supervisor, which looks once a second: memory of its own
 * beyond what it has now is refused past the limit. Called when all threads are there: their
 * stacks are no part of it. Sets only the soft limit, so that cells may set theirs. */
static void memory_limit_hard(int64_t limit)
{
    struct rlimit r;
    long long pages = 0;
    FILE *f = limit ? fopen("/proc/self/statm", "re") : NULL;

    if (f && fscanf(f, "%*d %*d %*d %*d %*d %lld", &pages) == 1 &&
        getrlimit(RLIMIT_DATA, &r) == 0) {
        r.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + limit + limit / 4);
        if (r.rlim_cur <= r.rlim_max && setrlimit(RLIMIT_DATA, &r) != 0)
            log_warn("worker.memory", "the limit of memory can't be set: %s", strerror(errno));
    }
    if (f)
        fclose(f);
}

/* Tells what was allocated and is known to nobody any more. Only builds with the address sanitizer
   have it. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static int worker_serve(struct engine *e, const struct config *config,
    const struct worker_boot *boot, struct notifier *notifier, int term_fd)
{
    struct server *s = calloc(1, sizeof(*s));
    struct board_worker *slot = &boot->board->workers[boot->slot];
    struct runner *runner = NULL;
    wharf_str why = {"", 0};
    const char *not_started = "";

    if (!s)
        abort();
    s->engine = e;
    s->config = config;
    s->boot = boot;
    s->term_fd = term_fd;
    s->access_fd = open_access_log(config);
    e->ready = notifier_ready(notifier);
    e->notifier = notifier;
    limit_forget(&boot->board->limits, boot->slot);
    if (!networks_read(
            &config->trusted_proxies, "http.trusted_proxies", e->arena, &s->proxies, &why) ||
        !networks_read(&config->rate_ip_exempt, "rate_limit.ip_exempt", e->arena, &s->exempt, &why))
        return not_ready(boot, why);
    if (!server_start(s, boot->listen_fd, &not_started))
        return not_ready(boot, str_z(not_started));
    if (boot->kind == WORKER_WEB) {
        s->requests = request_log_start(e, boot->database);
        s->streams = stream_hub_start(s);
        notifier_on_news(notifier, stream_hub_news, s->streams);
        notifier_on_channels(notifier, stream_hub_channels, s->streams);
        e->hub = s->streams;
    }
    if (boot->kind == WORKER_JOB) {
        runner = runner_start(e, config, boot);
        s->on_drain = runner_drain;
        s->on_drain_arg = runner;
        notifier_on_news(notifier, runner_news, runner);
        quarantined_announce(e, boot->database);
    }
    memory_limit_hard(config->memory_limit);
    atomic_store(&slot->state, BOARD_READY);
    dprintf(boot->control_fd, "ready\n");
    parts_ready(e);
    server_run(s);
    parts_stop(e);
    stop_plugins(e, true);
    if (runner)
        runner_stop(runner);
    server_stop(s);
    request_log_stop(s->requests);
    stop_plugins(e, false);
    notifier_stop(notifier);
    parts_close(e);
    /* No dlclose, no destructors: docs/reference/plugin-abi.md section 3 'stop'. */
    if (__lsan_do_recoverable_leak_check)
        __lsan_do_recoverable_leak_check();
    _exit(0);
}

int worker_main(const struct config *config, const struct worker_boot *boot)
{
    struct arena *a = arena_new(0);
    struct registry *r;
    struct engine *e;
    struct notifier_owner owner;
    struct notifier *notifier;
    wharf_str why = {"", 0};
    bool lost = false;
    int code;
    /* before any thread, so that all of them leave these signals to it */
    int term_fd = term_descriptor();

    memory_share(boot->board->workers[boot->slot].held);
    arena_belongs(a, MEMORY_DEFINITIONS);
    r = registry_load(config, boot->quarantined, REGISTRY_PLAIN, a, &why);
    if (!r)
        return not_ready(boot, why);
    e = registry_engine(r);
    e->board = boot->board;
    e->db_ways = &boot->board->workers[boot->slot].db_ways;
    db_meter_set(&(struct db_meter){
        &boot->board->workers[boot->slot].db_in_use, observe_statement, boot->board});
    disk_share(&boot->board->disk);
    absent_remember(e, config->data);
    clock_share_offset(&boot->board->clock_offset);
    e->admin = boot->kind == WORKER_JOB;
    e->auth = auth_cache_new();
    if (!parts_open(e, boot, &why))
        return not_ready(boot, why);
    crash_install(config->crash_dir);
    for (size_t i = 0; i < e->n_plugins; i++)
        crash_add_plugin(e->plugins[i].name, e->plugins[i].manifest->file);
    crash_thread(&boot->board->workers[boot->slot].activities[0]);
    if (!database_answers(boot->database))
        return no_database(boot);
    code = ask_first(e, r, boot);
    if (code)
        return code;
    if (boot->kind != WORKER_JOB) /* whose listener has no API */
        e->openapi = openapi_build(e);
    count_routes(e, boot->board);
    count_plugins(e, boot->board);
    e->health = health_new(e, boot->database);
    housekeeping_begin(e, boot, &owner);
    notifier = notifier_start(config->database_direct[0] ? config->database_direct : boot->database,
        boot->kind == WORKER_JOB, &owner, a, &why);
    if (!notifier)
        return no_database(boot);
    if (!parts_start(e, boot, &why))
        return not_ready(boot, why);
    if (!start_plugins(e, config, boot, &lost, &why))
        return lost || !database_answers(boot->database) ? no_database(boot) : not_ready(boot, why);
    return worker_serve(e, config, boot, notifier, term_fd);
}
