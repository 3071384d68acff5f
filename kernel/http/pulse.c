/* pulse.c - see pulse.h. */
#include "http/pulse.h"
#include "http/health.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum {
    CLOCK_EVERY_US = 60000000,
    PARTITIONS_EVERY_US = 3600 * 1000000LL,
    FORGET_MORE_US = 1000000,
    FORGET_EVERY_US = 600000000,
    WAKE_EVERY_US = 10000,
    USED_TEXT = 1024 * 1024,
    NAMES_TEXT = 1024 * 1024,
    NOTICE_TEXT = 7500 /* PostgreSQL takes payloads of less than 8,000 bytes */
};

struct pulse {
    struct engine *engine;
    char *database;
    bool housekeeping;
    atomic_bool ready; /* read by the loop of the worker too */
    PGconn *pg;
    pthread_t thread;
    int stop_fd, wake_fd;
    int64_t next_clock_us, next_partitions_us, next_forget_us;
    _Atomic unsigned asked; /* news that somebody wants told; non-zero: wake_fd was written to */
    int64_t told_us; /* when the last notices were sent, monotonic */
    void (*_Atomic on_news)(void *arg, unsigned news);
    void *on_news_arg;
    pthread_mutex_t names_lock;
    struct buf names; /* of channels with messages, guarded by the lock */
    bool names_lost; /* there were too many: everybody looks */
    void (*_Atomic on_channels)(void *arg, const char *names);
    void *on_channels_arg;
};

static const struct {
    unsigned news;
    const char *channel;
    bool everybody; /* else job workers only */
} channels[] = {{PULSE_JOBS, "wharf_job", false}, {PULSE_EVENTS, "wharf_event", false},
    {PULSE_PROCESSED, "wharf_processed", true}, {PULSE_CLOCK, "wharf_clock", true}};
enum { CHANNELS = sizeof(channels) / sizeof(channels[0]) };

/* Connections that want more than the flags, by what process they are of. */
static const char *const others[] = {"wharf_auth", "wharf_channel"};
enum { OTHERS = sizeof(others) / sizeof(others[0]) };

static bool sample_clock(struct pulse *p)
{
    PGresult *r = PQexec(p->pg, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
                                "COALESCE((SELECT value FROM wharf.setting WHERE key = 'clock.offset_seconds'), '0')");
    bool ok = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1;

    if (ok)
        clock_sync(strtoll(PQgetvalue(r, 0, 0), NULL, 10), strtoll(PQgetvalue(r, 0, 1), NULL, 10));
    PQclear(r);
    return ok;
}

static void pass_on(struct pulse *p, unsigned news)
{
    void (*fn)(void *, unsigned) = atomic_load(&p->on_news);

    if (fn && news)
        fn(p->on_news_arg, news);
}

static void pass_names(struct pulse *p, const char *names)
{
    void (*fn)(void *, const char *) = atomic_load(&p->on_channels);

    if (fn)
        fn(p->on_channels_arg, names);
}

static bool listen_to(struct pulse *p)
{
    bool ok = true;

    for (size_t i = 0; ok && i < CHANNELS + OTHERS; i++) {
        char sql[64];
        PGresult *r;

        if (i < CHANNELS && !channels[i].everybody && !p->housekeeping)
            continue;
        snprintf(sql, sizeof(sql), "LISTEN %s", i < CHANNELS ? channels[i].channel : others[i - CHANNELS]);
        r = PQexec(p->pg, sql);
        ok = PQresultStatus(r) == PGRES_COMMAND_OK;
        PQclear(r);
    }
    return ok;
}

static bool connect_pulse(struct pulse *p)
{
    bool ok;

    PQfinish(p->pg);
    p->pg = PQconnectdb(p->database);
    if (PQstatus(p->pg) != CONNECTION_OK)
        return false;
    ok = listen_to(p);
    /* What was missed while the connection was away is unknown: everybody looks, everything cached is read again. */
    pass_on(p, PULSE_JOBS | PULSE_EVENTS | PULSE_PROCESSED | PULSE_CLOCK);
    pass_names(p, "");
    auth_cache_clear(p->engine->auth);
    return ok && sample_clock(p);
}

static void take_notices(struct pulse *p)
{
    unsigned news = 0;
    PGnotify *n;

    PQconsumeInput(p->pg);
    while ((n = PQnotifies(p->pg))) {
        for (size_t i = 0; i < CHANNELS; i++)
            news |= !strcmp(n->relname, channels[i].channel) ? channels[i].news : 0;
        if (news & PULSE_CLOCK)
            p->next_clock_us = 0;
        if (!strcmp(n->relname, "wharf_auth"))
            auth_cache_clear(p->engine->auth);
        if (!strcmp(n->relname, "wharf_channel"))
            pass_names(p, n->extra);
        PQfreemem(n);
    }
    if (news & PULSE_CLOCK) { /* what has expired is told by the clock too; who waits shall see the new time */
        auth_cache_clear(p->engine->auth);
        p->ready = sample_clock(p);
    }
    pass_on(p, news);
}

static void keep_partitions(struct pulse *p, int64_t now_us)
{
    PGresult *r;

    if (!p->housekeeping || now_us < p->next_partitions_us)
        return;
    p->next_partitions_us = now_us + PARTITIONS_EVERY_US;
    r = PQexec(p->pg, "SELECT wharf.ensure_partitions(now())");
    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        log_warn("partitions.failed", "%s", PQresultErrorMessage(r));
    PQclear(r);
}

/* Whole lines, as many as one notice takes. */
static void send_names(struct pulse *p)
{
    struct buf names;
    bool lost;

    pthread_mutex_lock(&p->names_lock);
    names = p->names;
    lost = p->names_lost;
    buf_init(&p->names, NAMES_TEXT);
    p->names_lost = false;
    pthread_mutex_unlock(&p->names_lock);
    for (size_t at = 0, n; at < names.n || lost; at += n) {
        char part[NOTICE_TEXT + 1];
        const char *arg = part;

        n = lost ? 0 : names.n - at < NOTICE_TEXT ? names.n - at : NOTICE_TEXT;
        while (n && names.p[at + n - 1] != '\n')
            n--;
        if (n)
            memcpy(part, names.p + at, n);
        part[n] = 0;
        if (p->pg && PQstatus(p->pg) == CONNECTION_OK)
            PQclear(PQexecParams(p->pg, "SELECT pg_notify('wharf_channel', $1)", 1, NULL, &arg, NULL, NULL, 0));
        if (lost || !n)
            break;
    }
    buf_done(&names);
}

/* What is committed before the flags are cleared is covered by these notices; what comes later asks anew. At once when the last ones
 * were long enough ago. */
static void send_wake(struct pulse *p)
{
    int64_t nap_us = p->told_us + WAKE_EVERY_US - clock_monotonic_us();
    unsigned asked;
    uint64_t count;
    struct buf sql;

    if (nap_us > 0)
        nanosleep(&(struct timespec){0, nap_us * 1000}, NULL);
    if (read(p->wake_fd, &count, sizeof(count)) < 0)
        log_debug("pulse.wake", "nobody asked any more");
    asked = atomic_exchange(&p->asked, 0);
    p->told_us = clock_monotonic_us();
    buf_init(&sql, 256);
    for (size_t i = 0; i < CHANNELS; i++) {
        if (asked & channels[i].news)
            buf_addf(&sql, "NOTIFY %s;", channels[i].channel);
    }
    if (sql.n && p->pg && PQstatus(p->pg) == CONNECTION_OK)
        PQclear(PQexec(p->pg, sql.p));
    buf_done(&sql);
    if (asked & PULSE_CHANNELS)
        send_names(p);
}

/* Keys of requests are kept for a day; what is older counts as forgotten already. */
static void forget_idempotency_keys(struct pulse *p, int64_t now_us)
{
    PGresult *r;

    if (!p->housekeeping || now_us < p->next_forget_us)
        return;
    r = PQexec(p->pg, "DELETE FROM wharf.idempotency WHERE (organization_id, key) IN (SELECT organization_id, key FROM "
                      "wharf.idempotency WHERE created_at < wharf.now() - interval '24 hours' LIMIT 1000)");
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        log_warn("idempotency.failed", "%s", PQresultErrorMessage(r));
    /* A full batch: there is more. */
    p->next_forget_us = now_us + (strcmp(PQcmdTuples(r), "1000") == 0 ? FORGET_MORE_US : FORGET_EVERY_US);
    PQclear(r);
}

/* last_used_at, and last_seen_at of the key's device, at most once a minute for each key whatever the number of requests and processes. */
static void write_used_keys(struct pulse *p)
{
    static const char sql[] =
        "WITH used AS (UPDATE org.api_key AS k SET last_used_at = wharf.now()"
        " FROM (SELECT * FROM unnest($1::text[], $2::text[]) AS u(organization_id, id) ORDER BY 2) AS u"
        " WHERE k.organization_id = u.organization_id AND k.id = u.id"
        " AND (k.last_used_at IS NULL OR k.last_used_at <= wharf.now() - interval '60 seconds')"
        " RETURNING k.organization_id, k.device_id),"
        /* who changes the device now waits for nobody here, and is not waited for: the next minute writes it again */
        " seen AS (SELECT d.organization_id, d.id FROM org.device AS d WHERE (d.organization_id, d.id) IN"
        " (SELECT organization_id, device_id FROM used) FOR UPDATE SKIP LOCKED)"
        " UPDATE org.device AS d SET last_seen_at = wharf.now() FROM seen AS s"
        " WHERE d.organization_id = s.organization_id AND d.id = s.id";
    struct buf organizations, keys;

    buf_init(&organizations, USED_TEXT);
    buf_init(&keys, USED_TEXT);
    if (auth_used_take(p->engine->auth, &organizations, &keys)) {
        const char *args[] = {organizations.p, keys.p};
        PGresult *r = PQexecParams(p->pg, sql, 2, NULL, args, NULL, NULL, 0);

        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            log_warn("keys.used", "%s", PQresultErrorMessage(r));
        PQclear(r);
    }
    buf_done(&organizations);
    buf_done(&keys);
}

static void beat(struct pulse *p)
{
    int64_t now_us = clock_monotonic_us();

    if (!p->pg || PQstatus(p->pg) != CONNECTION_OK) {
        p->ready = connect_pulse(p);
        if (p->ready)
            log_info("database.back", "the database answers again");
        return;
    }
    take_notices(p);
    if (now_us >= p->next_clock_us) {
        p->next_clock_us = now_us + CLOCK_EVERY_US;
        p->ready = sample_clock(p);
    }
    health_look(p->engine->health, p->pg);
    write_used_keys(p);
    keep_partitions(p, now_us);
    forget_idempotency_keys(p, now_us);
    take_notices(p); /* that came with the answers to these statements: the socket does not tell of them again */
}

static void *pulse_main(void *arg)
{
    struct pulse *p = arg;
    struct pollfd fds[3] = {
        {.fd = p->stop_fd, .events = POLLIN}, {.events = POLLIN}, {.fd = p->wake_fd, .events = POLLIN}};

    for (;;) {
        fds[1].fd = p->pg && PQstatus(p->pg) == CONNECTION_OK ? PQsocket(p->pg) : -1;
        poll(fds, 3, p->ready ? 1000 : 100);
        if (fds[0].revents)
            return NULL;
        if (fds[2].revents)
            send_wake(p);
        if (fds[1].revents)
            take_notices(p);
        if (!p->pg || PQstatus(p->pg) != CONNECTION_OK)
            p->ready = false;
        beat(p);
    }
}

struct pulse *pulse_start(struct engine *e, const char *database, bool housekeeping, wharf_str *ret_error)
{
    struct pulse *p = calloc(1, sizeof(*p));

    if (!p || !(p->database = strdup(database)))
        abort();
    p->engine = e;
    p->housekeeping = housekeeping;
    pthread_mutex_init(&p->names_lock, NULL);
    buf_init(&p->names, NAMES_TEXT);
    p->stop_fd = eventfd(0, EFD_CLOEXEC);
    p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!connect_pulse(p)) {
        *ret_error = arena_dupz(e->arena, p->pg ? PQerrorMessage(p->pg) : "no connection");
        pulse_stop(p);
        return NULL;
    }
    p->ready = true;
    p->next_clock_us = clock_monotonic_us() + CLOCK_EVERY_US;
    if (pthread_create(&p->thread, NULL, pulse_main, p) != 0)
        abort();
    return p;
}

const atomic_bool *pulse_ready(const struct pulse *p)
{
    return &p->ready;
}

void pulse_tell(struct pulse *p, unsigned news)
{
    uint64_t one = 1;

    if (!atomic_fetch_or(&p->asked, news) && write(p->wake_fd, &one, sizeof(one)) < 0)
        log_debug("pulse.wake", "the side thread is already awake");
}

void pulse_tell_channel(struct pulse *p, wharf_str organization, wharf_str name)
{
    pthread_mutex_lock(&p->names_lock);
    buf_addf(&p->names, "%s %s\n", organization.p, name.p);
    if (p->names.failed) {
        buf_done(&p->names);
        buf_init(&p->names, NAMES_TEXT);
        p->names_lost = true;
    }
    pthread_mutex_unlock(&p->names_lock);
    pulse_tell(p, PULSE_CHANNELS);
}

void pulse_on_channels(struct pulse *p, void (*fn)(void *arg, const char *names), void *arg)
{
    p->on_channels_arg = arg;
    atomic_store(&p->on_channels, fn);
}

void pulse_on_news(struct pulse *p, void (*fn)(void *arg, unsigned news), void *arg)
{
    p->on_news_arg = arg;
    atomic_store(&p->on_news, fn);
}

void pulse_stop(struct pulse *p)
{
    uint64_t one = 1;

    if (!p)
        return;
    if (p->thread && write(p->stop_fd, &one, sizeof(one)) == sizeof(one))
        pthread_join(p->thread, NULL);
    PQfinish(p->pg);
    buf_done(&p->names);
    close(p->stop_fd);
    close(p->wake_fd);
    free(p->database);
    free(p);
}
