/* requestlog.c - see requestlog.h. */
#include "event/requestlog.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "db/conn.h"
#include "db/copy.h"
#include "db/meter.h"
#include "db/transaction.h"
#include "event/redact.h"
#include "process/board.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "util/waker.h"

enum {
    QUEUE_LINES = 20000, /* lines that wait to be written; more are lost */
    QUEUE_BYTES = 32 << 20, /* bytes of these */
    BATCH_LINES = 500, /* lines that are written at once */
    KEPT_BODY = 8192, /* bytes of a body that are kept */
    COLLECT_MS = 200, /* lines of so long go together */
    RETRY_MS = 500, /* between two tries while the database is away */
    TEXTS = 21,
};
_Static_assert(offsetof(struct request_line, created_us) == TEXTS * sizeof(wharf_str),
    "the texts of a line stand first");

struct entry {
    struct entry *next;
    struct request_line line;
    size_t size;
    char texts[];
};

struct request_log {
    char *database;
    struct board *board;
    struct redact_names names;
    PGconn *pg; /* of the thread */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct entry *first, **last;
    size_t n_lines, n_bytes;
    bool stop;
};

/* ---- the event loop's side ---- */

static struct entry *entry_new(const struct request_line *line)
{
    const wharf_str *from = (const wharf_str *)line;
    size_t size = sizeof(struct entry);
    struct entry *e;
    wharf_str *to;
    char *p;

    for (size_t i = 0; i < TEXTS; i++)
        size += from[i].n + 1;
    e = malloc(size);
    if (!e)
        return NULL;
    e->next = NULL;
    e->line = *line;
    e->size = size;
    to = (wharf_str *)&e->line;
    p = e->texts;
    for (size_t i = 0; i < TEXTS; i++) {
        if (from[i].n)
            memcpy(p, from[i].p, from[i].n);
        p[from[i].n] = 0;
        to[i] = (wharf_str){p, from[i].n};
        p += from[i].n + 1;
    }
    return e;
}

static void count_dropped(struct request_log *log, uint64_t n)
{
    atomic_fetch_add_explicit(&log->board->request_log_dropped, n, memory_order_relaxed);
}

void request_log_add(struct request_log *log, const struct request_line *line)
{
    struct entry *e = entry_new(line);
    bool taken = false;

    if (e) {
        pthread_mutex_lock(&log->lock);
        taken = log->n_lines < QUEUE_LINES && log->n_bytes + e->size <= QUEUE_BYTES;
        if (taken) {
            *log->last = e;
            log->last = &e->next;
            log->n_lines++;
            log->n_bytes += e->size;
            if (log->n_lines == 1 || log->n_lines == BATCH_LINES)
                pthread_cond_signal(&log->more);
        }
        pthread_mutex_unlock(&log->lock);
    }
    if (!taken) {
        free(e);
        count_dropped(log, 1);
    }
}

/* ---- the thread ---- */

static void sleep_ms(struct request_log *log, long ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!log->stop && log->n_lines < BATCH_LINES &&
           pthread_cond_timedwait(&log->more, &log->lock, &until) != ETIMEDOUT)
        ;
}

/* Waits for lines and takes up to BATCH_LINES of them; NULL: none are left and the end has come. */
static struct entry *requestlog_take(struct request_log *log)
{
    struct entry *first, *e;
    size_t n = 1;

    pthread_mutex_lock(&log->lock);
    while (!log->first && !log->stop)
        pthread_cond_wait(&log->more, &log->lock);
    sleep_ms(log, COLLECT_MS);
    first = e = log->first;
    if (e) {
        log->n_bytes -= e->size;
        for (; e->next && n < BATCH_LINES; n++) {
            e = e->next;
            log->n_bytes -= e->size;
        }
        log->first = e->next;
        if (!e->next)
            log->last = &log->first;
        e->next = NULL;
        log->n_lines -= n;
    }
    pthread_mutex_unlock(&log->lock);
    return first;
}

/* Writes a text; what PostgreSQL does not take as text is made readable. */
static void requestlog_put_text(struct buf *rows, wharf_str s)
{
    char *p = (char *)s.p; /* of the entry, ours */

    if (!s.n) {
        copy_cell(rows, (wharf_str){NULL, 0});
        return;
    }
    if (!utf8_valid(s.p, s.n)) {
        for (size_t i = 0; i < s.n; i++)
            p[i] = (unsigned char)p[i] >= 0x80 ? '?' : p[i];
    }
    copy_cell(rows, s);
}

static void requestlog_put_body(struct buf *rows, const struct request_log *log, wharf_str body)
{
    struct buf kept;

    buf_init(&kept, 1 << 20);
    redact_json(&kept, &log->names, body, KEPT_BODY);
    requestlog_put_text(rows, buf_str(&kept));
    buf_done(&kept);
}

static void put_redacted(struct buf *rows, const struct request_log *log, wharf_str s, bool query)
{
    struct buf kept;

    buf_init(&kept, 1 << 20);
    if (query)
        redact_query(&kept, &log->names, s);
    else
        redact_text(&kept, s);
    requestlog_put_text(rows, s.n ? buf_str(&kept) : s);
    buf_done(&kept);
}

/* Writes the columns of copy_sql. */
static void requestlog_put_line(
    struct buf *rows, const struct request_log *log, const struct request_line *l)
{
    char iso[ISO_MS_LEN + 1], ms[32];

    time_format_iso(l->created_us, iso);
    snprintf(ms, sizeof(ms), "%lld.%03lld", (long long)l->duration_us / 1000,
        (long long)l->duration_us % 1000);
    requestlog_put_text(rows, l->organization);
    requestlog_put_text(rows, l->id);
    copy_cell(rows, (wharf_str){iso, ISO_MS_LEN});
    requestlog_put_text(rows, l->method);
    requestlog_put_text(rows, l->route);
    put_redacted(rows, log, l->path, false);
    put_redacted(rows, log, l->query, true);
    copy_int(rows, l->status);
    requestlog_put_text(rows, l->code);
    copy_cell(rows, str_z(ms));
    requestlog_put_text(rows, l->key_id);
    requestlog_put_text(rows, l->principal_id);
    requestlog_put_text(rows, l->ip);
    put_redacted(rows, log, l->user_agent, false);
    requestlog_put_text(rows, l->client_request_id);
    requestlog_put_text(rows, l->idempotency_key);
    copy_cell(rows, str_z(l->replayed ? "t" : "f"));
    copy_int(rows, l->request_bytes);
    copy_int(rows, l->response_bytes);
    requestlog_put_body(rows, log, l->request_body);
    requestlog_put_body(rows, log, l->response_body);
    requestlog_put_text(rows, l->row_id);
    requestlog_put_text(rows, l->path_id);
    requestlog_put_text(rows, l->parent_id);
    requestlog_put_text(rows, l->audience);
    requestlog_put_text(rows, l->reach);
    requestlog_put_text(rows, l->areas);
    copy_row_end(rows);
}

static bool requestlog_connected(struct request_log *log)
{
    if (log->pg && PQstatus(log->pg) == CONNECTION_OK)
        return true;
    db_meter_close(log->pg);
    log->pg = db_meter_open(PQconnectdb(log->database));
    return PQstatus(log->pg) == CONNECTION_OK;
}

enum outcome { WRITTEN, REFUSED, THERE /* a row was written before */, AWAY };

/* Judges a result. SQLSTATE 22 is the data, 23 a rule of the table. Everything else is tried
 * again. */
static enum outcome requestlog_outcome_of(const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);

    if (PQresultStatus(r) == PGRES_COMMAND_OK)
        return WRITTEN;
    if (state)
        log_debug("request_log.waits", "%s %s", state, PQresultErrorMessage(r));
    if (state && !strcmp(state, "23505"))
        return THERE;
    return state && (!strncmp(state, "22", 2) || !strncmp(state, "23", 2)) ? REFUSED : AWAY;
}

static enum outcome outcome_and_clear(PGresult *r)
{
    enum outcome o = requestlog_outcome_of(r);

    PQclear(r);
    return o;
}

static enum outcome requestlog_copy_rows(struct request_log *log, wharf_str rows)
{
    static const char copy_sql[] = "COPY wharf.request_log (organization_id, id, created_at, "
                                   "method, route, path, query, status, code, "
                                   "duration_ms, api_key_id, principal_id, ip, user_agent, "
                                   "client_request_id, idempotency_key, "
                                   "idempotent_replayed, request_bytes, response_bytes, "
                                   "request_body, response_body, row_id, path_id, parent_id, "
                                   "audience, reach, areas) FROM STDIN";
    enum outcome o;

    if (!requestlog_connected(log))
        return AWAY;
    /* The disk is not waited for: the last second may be lost. */
    o = outcome_and_clear(tx_begin(log->pg, "SET LOCAL synchronous_commit = off"));
    if (o == WRITTEN)
        o = outcome_and_clear(copy_run(log->pg, copy_sql, rows));
    if (o == WRITTEN)
        return outcome_and_clear(tx_commit(log->pg));
    tx_rollback(log->pg);
    return o;
}

static enum outcome requestlog_write_lines(
    struct request_log *log, const struct entry *first, bool one)
{
    enum outcome o = REFUSED;
    struct buf rows;

    buf_init(&rows, 64 << 20);
    for (const struct entry *e = first; e; e = one ? NULL : e->next)
        requestlog_put_line(&rows, log, &e->line);
    if (!rows.failed)
        o = requestlog_copy_rows(log, buf_str(&rows));
    buf_done(&rows);
    return o;
}

/* Writes each line alone: one that can't be written, or was written when the answer got lost, does
 * not take the others with it. */
static void write_each(struct request_log *log, const struct entry *first)
{
    for (const struct entry *e = first; e; e = e->next) {
        enum outcome o = requestlog_write_lines(log, e, true);

        if (o == WRITTEN || o == THERE)
            continue;
        count_dropped(log, 1);
        log_warn("request_log.refused", "request=%s", e->line.id.p);
    }
}

static bool pause_or_stop(struct request_log *log)
{
    struct timespec nap = {0, RETRY_MS * 1000000L};
    bool stop;

    nanosleep(&nap, NULL);
    pthread_mutex_lock(&log->lock);
    stop = log->stop;
    pthread_mutex_unlock(&log->lock);
    return stop;
}

static void write_batch(struct request_log *log, struct entry *first)
{
    enum outcome o = requestlog_write_lines(log, first, false);

    while (o == AWAY && !pause_or_stop(log))
        o = requestlog_write_lines(log, first, false);
    if (o == REFUSED || o == THERE)
        write_each(log, first);
    for (struct entry *e = first, *next; e; e = next) {
        next = e->next;
        if (o == AWAY)
            count_dropped(log, 1);
        free(e);
    }
}

static void *writer(void *arg)
{
    struct request_log *log = arg;
    struct entry *first;

    while ((first = requestlog_take(log)) != NULL)
        write_batch(log, first);
    db_meter_close(log->pg);
    return NULL;
}

/* ---- beginning and end ---- */

static void requestlog_add_names(
    const char **names, size_t *n, const struct field *fields, size_t n_fields)
{
    for (size_t i = 0; i < n_fields; i++) {
        if (fields[i].secret || fields[i].store == STORE_SECRET)
            names[(*n)++] = fields[i].name;
        if (fields[i].children)
            requestlog_add_names(
                names, n, fields[i].children->fields, fields[i].children->n_fields);
    }
}

static size_t count_fields(const struct field *fields, size_t n_fields)
{
    size_t n = n_fields;

    for (size_t i = 0; i < n_fields; i++)
        n += fields[i].children
                 ? count_fields(fields[i].children->fields, fields[i].children->n_fields)
                 : 0;
    return n;
}

/* Returns the names of all fields that any definition declares secret. */
static struct redact_names secret_names(const struct engine *e)
{
    const char **names;
    size_t n = 0;

    for (size_t i = 0; i < e->n_resources; i++)
        n += count_fields(e->resources[i].def->fields, e->resources[i].def->n_fields);
    names = ARENA_ARRAY(e->arena, const char *, n + 1);
    n = 0;
    for (size_t i = 0; i < e->n_resources; i++)
        requestlog_add_names(names, &n, e->resources[i].def->fields, e->resources[i].def->n_fields);
    return (struct redact_names){names, n};
}

struct request_log *request_log_start(const struct engine *e, const char *database)
{
    struct request_log *log = calloc(1, sizeof(*log));

    if (!log || !(log->database = strdup(database)))
        abort();
    log->board = e->board;
    log->names = secret_names(e);
    log->last = &log->first;
    cond_init_monotonic(&log->more);
    if (pthread_mutex_init(&log->lock, NULL) || pthread_create(&log->thread, NULL, writer, log))
        abort();
    return log;
}

size_t request_log_bytes(struct request_log *log)
{
    size_t n;

    if (!log)
        return 0;
    pthread_mutex_lock(&log->lock);
    n = log->n_bytes;
    pthread_mutex_unlock(&log->lock);
    return n;
}

void request_log_stop(struct request_log *log)
{
    if (!log)
        return;
    pthread_mutex_lock(&log->lock);
    log->stop = true;
    pthread_cond_signal(&log->more);
    pthread_mutex_unlock(&log->lock);
    pthread_join(log->thread, NULL);
    pthread_cond_destroy(&log->more);
    pthread_mutex_destroy(&log->lock);
    free(log->database);
    free(log);
}
