/* health.c - see health.h.
 *
 * Not ready is a worker whose requests would fail: the database is away or takes no new
 * connection, its role or grants are missing, files or the data folder can't be written, or all
 * workers of a kind are down. What only makes the server poorer (one of several workers is down,
 * log lines are lost) is told, and it stays ready: a machine that serves half as fast is better
 * than none. */
#include "http/health.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/meter.h"
#include "db/restore.h"
#include "resource/absent.h"
#include "plugin/manifest.h"
#include "process/board.h"
#include "process/worker.h"
#include "util/disk.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum {
    SECOND_US = 1000000,
    LOOK_US = 2 * SECOND_US, /* between two looks at the database */
    ROLES_US = 10 * SECOND_US, /* between two looks at its roles */
    DOWN_US = 10 * SECOND_US, /* a worker that is only started again is back before */
    LOST_US = 60 * SECOND_US, /* so long lost lines are told */
    DAY_S = 86400,
    CERTIFICATE_SOON_S = 14 * DAY_S, /* a warning comes so long before a certificate ends */
    PROBE_BYTES = 4096,
    TEXT = RIGHTS_TEXT
};

enum check { CHECK_CONNECTIONS, CHECK_ROLES, CHECK_STORAGE, CHECK_DATA, CHECKS };
static const char *const check_names[CHECKS] = {"connections", "roles", "storage", "data"};

enum trouble { TROUBLE_NONE, TROUBLE_SERVES, TROUBLE_LOST }; /* serves: with less than it wants */

struct health {
    const struct engine *engine;
    char *database;
    int64_t next_us, next_roles_us; /* the side thread's */
    pthread_mutex_t lock;
    char wrong[CHECKS][TEXT]; /* guarded by the lock; empty: nothing is */
    enum trouble told[CHECKS]; /* what the log says; the side thread's */
};

struct health *health_new(const struct engine *e, const char *database)
{
    struct health *h = calloc(1, sizeof(*h));

    if (!h || !(h->database = strdup(database)))
        abort();
    h->engine = e;
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

/* ---- looking; on the side thread ---- */

/* Tells whether the worker has connections, though it could not get all. */
static bool has_connections(const struct engine *e)
{
    return e->db_ways && atomic_load(e->db_ways) > 0;
}

/* Sets the state of a check. It is logged when trouble begins, when it gets worse or less, and when
 * it ends. */
static void set_check(struct health *h, enum check c, const char *text)
{
    enum trouble is = !text[0]                                               ? TROUBLE_NONE
                      : c == CHECK_CONNECTIONS && has_connections(h->engine) ? TROUBLE_SERVES
                                                                             : TROUBLE_LOST;

    pthread_mutex_lock(&h->lock);
    snprintf(h->wrong[c], TEXT, "%s", text);
    pthread_mutex_unlock(&h->lock);
    if (is == h->told[c])
        return;
    h->told[c] = is;
    if (is == TROUBLE_NONE)
        log_info("ready.back", "%s: ok", check_names[c]);
    else if (is == TROUBLE_SERVES)
        log_warn("database.connections", "%s; this worker serves with those it has", text);
    else
        log_error("ready.lost", "%s: %s", check_names[c], text);
}

/* Writes what PostgreSQL says behind "FATAL:", without the address that libpq puts before it. */
static void connect_trouble(const char *message, char out[TEXT])
{
    const char *fatal = strstr(message, "FATAL:");
    const char *says = fatal ? fatal + 6 + strspn(fatal + 6, " ") : "it does not answer";

    snprintf(
        out, TEXT, "the database takes no new connection: %.*s", (int)strcspn(says, "\n"), says);
}

/* Tries a new connection, only when a connection of this worker could not be made: one that has
 * all of its connections serves, also when there are no more. */
static void look_at_connections(struct health *h)
{
    char text[TEXT] = "";
    PGconn *pg;

    if (!db_meter_refused())
        return set_check(h, CHECK_CONNECTIONS, "");
    pg = PQconnectdb(h->database);
    if (PQstatus(pg) != CONNECTION_OK)
        connect_trouble(PQerrorMessage(pg), text);
    else
        db_meter_forget_refused();
    PQfinish(pg);
    set_check(h, CHECK_CONNECTIONS, text);
}

void health_refused(struct health *h, const char *message)
{
    char text[TEXT];

    if (!strstr(message, "FATAL:"))
        return;
    connect_trouble(message, text);
    set_check(h, CHECK_CONNECTIONS, text);
}

static void look_at_roles(struct health *h, PGconn *pg)
{
    struct buf names;
    char text[RIGHTS_TEXT];

    buf_init(&names, 16384);
    for (size_t i = 0; i < h->engine->n_plugins; i++)
        buf_addf(&names, "%s%s", i ? "," : "", h->engine->plugins[i].name);
    if (rights_missing(pg, names.n ? names.p : "", text))
        set_check(h, CHECK_ROLES, text);
    buf_done(&names);
}

static void look_at_storage(struct health *h)
{
    char text[TEXT] = "";
    int error = h->engine->storage_probe ? h->engine->storage_probe(h->engine) : 0;

    if (error == ENOENT)
        snprintf(text, sizeof(text), "the folder of files is missing");
    else if (error)
        snprintf(text, sizeof(text), "files can't be written: %s", strerror(error));
    if (error)
        disk_lost(DISK_STORAGE, 1, error);
    set_check(h, CHECK_STORAGE, text);
}

static int probe_folder(const char *dir)
{
    static const char zeros[PROBE_BYTES];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), error = fd < 0 ? errno : 0;

    if (error == EOPNOTSUPP || error == EISDIR) /* a file system that has no files without names */
        return access(dir, W_OK) == 0 ? 0 : errno;
    if (!error && write(fd, zeros, sizeof(zeros)) != (ssize_t)sizeof(zeros))
        error = errno ? errno : ENOSPC;
    if (fd >= 0)
        close(fd);
    return error;
}

static void look_at_data(struct health *h)
{
    char text[TEXT] = "";
    int error = probe_folder(h->engine->config->data);

    if (error) {
        disk_lost(DISK_DATA, 1, error);
        snprintf(text, sizeof(text), "the data folder can't be written: %s", strerror(error));
    }
    set_check(h, CHECK_DATA, text);
}

void health_look(struct health *h, PGconn *pg)
{
    int64_t now = clock_monotonic_us();

    if (now < h->next_us)
        return;
    h->next_us = now + LOOK_US;
    look_at_connections(h);
    look_at_storage(h);
    look_at_data(h);
    if (now >= h->next_roles_us) {
        h->next_roles_us = now + ROLES_US;
        look_at_roles(h, pg);
    }
}

/* ---- telling; on the event loop ---- */

/* Problems that keep requests from being served, and problems that only make the server poorer. */
struct verdict {
    struct buf against, poorer; /* sentences, one a line */
    bool database;
};

static bool is_down(const struct board_seat *seat, int64_t now)
{
    int64_t since = atomic_load(&seat->down_us);

    return since && (atomic_load(&seat->tries) || now - since > DOWN_US);
}

/* Writes that a seat is down. why: the reason, for the operator: the admin listener and `wharf ps`
 * tell it, the public one does not. */
static void say_down(struct buf *out, const struct board_seat *seat, int64_t now, bool why)
{
    int64_t next = atomic_load(&seat->next_us);

    buf_addf(out, "worker %s %d is down for %lld s, %d starts failed",
        atomic_load(&seat->kind) == WORKER_WEB ? "web" : "job", atomic_load(&seat->index),
        (long long)((now - atomic_load(&seat->down_us)) / SECOND_US), atomic_load(&seat->tries));
    if (why && seat->reason[0])
        buf_addf(out, ": %.*s", BOARD_REASON - 1, seat->reason);
    if (next > now)
        buf_addf(out, "; tried again in %lld s\n", (long long)((next - now) / SECOND_US) + 1);
    else
        buf_addz(out, "; one starts now\n");
}

static void judge_workers(const struct engine *e, struct verdict *v)
{
    int64_t now = clock_monotonic_us();

    for (int kind = WORKER_WEB; kind <= WORKER_JOB; kind++) {
        size_t n = 0, down = 0;

        for (size_t i = 0; i < BOARD_SEATS; i++) {
            const struct board_seat *seat = &e->board->seats[i];

            if (atomic_load(&seat->kind) != kind)
                continue;
            n++;
            if (is_down(seat, now)) {
                down++;
                say_down(&v->poorer, seat, now, e->admin);
            }
        }
        if (n && down == n)
            buf_addf(&v->against, "no %s worker can start\n", kind == WORKER_WEB ? "web" : "job");
    }
}

/* Tells of disks that did not take lines of a log, or writes of the database, a moment ago. */
static void judge_disks(const struct board *b, struct verdict *v)
{
    static const struct {
        enum disk_place place;
        const char *what;
    } told[] = {{DISK_LOG, "lines of the log are lost"},
        {DISK_ACCESS_LOG, "lines of the access log are lost"},
        {DISK_DATABASE, "the disk of the database takes no writes"}};
    int64_t now = clock_monotonic_us();

    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        enum disk_place p = told[i].place;
        int64_t last = atomic_load(&b->disk.last_us[p]);

        if (last && now - last < LOST_US)
            buf_addf(&v->poorer, "%s: %s (%llu so far)\n", told[i].what,
                strerror(atomic_load(&b->disk.error[p])),
                (unsigned long long)atomic_load(&b->disk.lost[p]));
    }
}

/* Writes into `text` what is known of the objects of files; nothing when all is well. */
static void say_files(const struct engine *e, char text[TEXT])
{
    int64_t n = atomic_load(&e->board->blob_damaged);

    text[0] = 0;
    if (n)
        snprintf(text, TEXT, "%lld stored objects are damaged or lost; `wharf files verify`",
            (long long)n);
}

/* Tells of a certificate that ends within two weeks: clients refuse it from then on. */
static void judge_certificate(const struct board *b, struct verdict *v)
{
    int64_t until = atomic_load(&b->certificate_until_s), left = until - (int64_t)time(NULL);

    if (!until || left > CERTIFICATE_SOON_S)
        return;
    if (left > 0)
        buf_addf(&v->poorer,
            "the certificate ends in %lld days; renew tls.certificate and reload\n",
            (long long)(left / DAY_S));
    else
        buf_addz(&v->poorer, "the certificate has ended; renew tls.certificate and reload\n");
}

static void judge_contents(const struct engine *e, struct verdict *v)
{
    char text[TEXT];

    say_files(e, text);
    if (e->secrets_wrong)
        buf_addf(&v->poorer, "%s\n", e->secrets_wrong);
    if (text[0])
        buf_addf(&v->poorer, "%s\n", text);
}

static void health_judge(const struct engine *e, char wrong[CHECKS][TEXT], struct verdict *v)
{
    struct health *h = e->health;

    buf_init(&v->against, 65536);
    buf_init(&v->poorer, 65536);
    v->database = e->ready && atomic_load(e->ready);
    if (atomic_load(&e->board->stopping))
        buf_addz(&v->against, "the server stops\n");
    if (!v->database)
        buf_addz(&v->against, "the database can't be reached\n");
    pthread_mutex_lock(&h->lock);
    memcpy(wrong, h->wrong, sizeof(h->wrong));
    pthread_mutex_unlock(&h->lock);
    for (size_t i = 0; i < CHECKS; i++)
        if (wrong[i][0])
            buf_addf(i == CHECK_CONNECTIONS && has_connections(e) ? &v->poorer : &v->against,
                "%s\n", wrong[i]);
    judge_workers(e, v);
    judge_disks(e->board, v);
    judge_contents(e, v);
    judge_certificate(e->board, v);
}

/* Returns the age of the job that is due for longest, as the job worker saw it last, in
 * milliseconds. */
static int64_t queue_age_ms(const struct board *b)
{
    int64_t oldest = 0;

    for (size_t i = 0; i < BOARD_JOBS && atomic_load(&b->jobs[i].used); i++) {
        int64_t age = atomic_load(&b->jobs[i].age_ms);

        oldest = age > oldest ? age : oldest;
    }
    return oldest;
}

static void health_write_lines(struct jw *w, const char *name, const struct buf *lines)
{
    jw_open(w, name, '[');
    for (size_t at = 0; at < lines->n;) {
        size_t n = strcspn(lines->p + at, "\n");

        jw_str(w, NULL, (wharf_str){lines->p + at, n});
        at += n + 1;
    }
    jw_close(w, ']');
}

static void write_verbose(struct wharf_req *req, char wrong[CHECKS][TEXT], const struct verdict *v)
{
    const struct engine *e = req->engine;
    char files[TEXT];
    struct jw w;

    jw_init(&w, &req->reply.out);
    jw_open(&w, NULL, '{');
    jw_bool(&w, "ready", !v->against.n);
    jw_z(&w, "database", v->database ? "ok" : "away");
    jw_z(&w, "migrations", "ok"); /* no worker begins to serve with another state than its own */
    for (size_t i = 0; i < CHECKS; i++)
        jw_z(&w, check_names[i], wrong[i][0] ? wrong[i] : "ok");
    jw_z(&w, "secrets", e->secrets_wrong ? e->secrets_wrong : "ok");
    say_files(e, files);
    jw_z(&w, "files", files[0] ? files : "ok");
    health_write_lines(&w, "not_ready_because", &v->against);
    health_write_lines(&w, "degraded", &v->poorer);
    jw_raw(&w, "queue_age_seconds",
        arena_printf(req->arena, "%.3f", (double)queue_age_ms(e->board) / 1000));
    jw_open(&w, "modules", '{');
    for (size_t i = 0; i < e->n_plugins; i++)
        jw_z(&w, e->plugins[i].name, "ok");
    for (size_t i = 0; i < e->n_absent; i++)
        jw_z(&w, e->absent[i].manifest->name,
            e->absent[i].quarantined ? "quarantined" : "unavailable");
    jw_close(&w, '}');
    jw_close(&w, '}');
}

void run_readyz(struct wharf_req *req)
{
    struct req_reply *reply = &req->reply;
    char wrong[CHECKS][TEXT];
    struct verdict v;
    wharf_str verbose;

    health_judge(req->engine, wrong, &v);
    req_respond(reply, v.against.n ? 503 : 200, str_z("ok"));
    if (req_param(req, "verbose", &verbose)) {
        reply->raw_type = "application/json; charset=utf-8";
        write_verbose(req, wrong, &v);
    } else {
        reply->raw_type = "text/plain; charset=utf-8";
        buf_addz(&reply->out, v.against.n ? "not ready\n" : "ok\n");
        buf_adds(&reply->out, buf_str(&v.against));
        buf_adds(&reply->out, buf_str(&v.poorer));
    }
    buf_done(&v.against);
    buf_done(&v.poorer);
}
