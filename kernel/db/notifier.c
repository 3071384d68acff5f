/* notifier.c - see notifier.h. */
#include "db/notifier.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "db/meter.h"
#include "util/buf.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum {
    CLOCK_EVERY_US = 60000000,
    JUMP_US = 5000000, /* less is what clocks are set by all the time */
    WAKE_EVERY_US = 10000,
    NAMES_TEXT = 1024 * 1024,
    NOTICE_TEXT = 7500 /* PostgreSQL takes payloads of less than 8,000 bytes */
};

struct notifier {
    struct notifier_owner owner;
    char *database;
    bool job_worker;
    atomic_bool ready; /* read by the loop of the worker too */
    PGconn *pg;
    pthread_t thread;
    int stop_fd, wake_fd;
    int64_t next_clock_us;
    _Atomic unsigned asked; /* news that somebody wants told; non-zero: wake_fd was written to */
    int64_t reported_us; /* when the last notices were sent, monotonic */
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
} channels[] = {{NEWS_JOBS, "wharf_job", false}, {NEWS_EVENTS, "wharf_event", false},
    {NEWS_PROCESSED, "wharf_processed", true}, {NEWS_CLOCK, "wharf_clock", true}};
enum { CHANNELS = sizeof(channels) / sizeof(channels[0]) };

/* Connections that want more than the flags, by what process they are of. */
static const char *const others[] = {"wharf_auth", "wharf_channel"};
enum { OTHERS = sizeof(others) / sizeof(others[0]) };

/* Tells the operator: what is due, and what has expired, is told by this clock. */
static void tell_jump(int64_t us)
{
    log_write(WHARF_LOG_WARN, NULL, NULL, "clock.jumped",
        "the clock of the database was set %s by %lld s: what was due meanwhile runs now, and what "
        "was to expire has; times of rows follow the new clock",
        us > 0 ? "forward" : "back", (long long)((us > 0 ? us : -us) / 1000000));
}

static bool sample_clock(struct notifier *p)
{
    int64_t asked_us = clock_monotonic_us();
    PGresult *r = PQexec(p->pg,
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
        "(SELECT value FROM wharf.setting WHERE key = 'clock.offset_seconds'), "
        "(SELECT value FROM wharf.setting WHERE key = 'clock.changes')");
    bool ok = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1;

    if (ok) {
        int64_t moved = clock_sync(strtoll(PQgetvalue(r, 0, 0), NULL, 10), asked_us,
            strtoll(PQgetvalue(r, 0, 1), NULL, 10), strtoll(PQgetvalue(r, 0, 2), NULL, 10));

        /* once for each server: all workers see it */
        if (p->job_worker && (moved > JUMP_US || moved < -JUMP_US))
            tell_jump(moved);
    }
    PQclear(r);
    return ok;
}

static void notifier_pass_on(struct notifier *p, unsigned news)
{
    void (*fn)(void *, unsigned) = atomic_load(&p->on_news);

    if (fn && news)
        fn(p->on_news_arg, news);
}

static void pass_names(struct notifier *p, const char *names)
{
    void (*fn)(void *, const char *) = atomic_load(&p->on_channels);

    if (fn)
        fn(p->on_channels_arg, names);
}

static bool notifier_listen_to(struct notifier *p)
{
    bool ok = true;

    for (size_t i = 0; ok && i < CHANNELS + OTHERS; i++) {
        char sql[64];
        PGresult *r;

        if (i < CHANNELS && !channels[i].everybody && !p->job_worker)
            continue;
        snprintf(sql, sizeof(sql), "LISTEN %s",
            i < CHANNELS ? channels[i].channel : others[i - CHANNELS]);
        r = PQexec(p->pg, sql);
        ok = PQresultStatus(r) == PGRES_COMMAND_OK;
        PQclear(r);
    }
    return ok;
}

static bool connect_notifier(struct notifier *p)
{
    bool ok;

    db_meter_close(p->pg);
    p->pg = db_meter_open(PQconnectdb(p->database));
    if (PQstatus(p->pg) != CONNECTION_OK)
        return false;
    ok = notifier_listen_to(p);
    /* News that came while the connection was away are lost: everybody looks, everything cached
     * is read again. */
    notifier_pass_on(p, NEWS_JOBS | NEWS_EVENTS | NEWS_PROCESSED | NEWS_CLOCK);
    pass_names(p, "");
    p->owner.forget(p->owner.arg);
    return ok && sample_clock(p);
}

static void take_notices(struct notifier *p)
{
    unsigned news = 0;
    PGnotify *n;

    PQconsumeInput(p->pg);
    while ((n = PQnotifies(p->pg))) {
        for (size_t i = 0; i < CHANNELS; i++)
            news |= !strcmp(n->relname, channels[i].channel) ? channels[i].news : 0;
        if (news & NEWS_CLOCK)
            p->next_clock_us = 0;
        if (!strcmp(n->relname, "wharf_auth"))
            p->owner.forget(p->owner.arg);
        if (!strcmp(n->relname, "wharf_channel"))
            pass_names(p, n->extra);
        PQfreemem(n);
    }
    /* what has expired is told by the clock too; who waits shall see the new time */
    if (news & NEWS_CLOCK) {
        p->owner.forget(p->owner.arg);
        p->ready = sample_clock(p);
    }
    notifier_pass_on(p, news);
}

/* Sends whole lines, as many as one notice takes. */
static void send_names(struct notifier *p)
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
            PQclear(PQexecParams(
                p->pg, "SELECT pg_notify('wharf_channel', $1)", 1, NULL, &arg, NULL, NULL, 0));
        if (lost || !n)
            break;
    }
    buf_done(&names);
}

/* Sends the notices. What is committed before the flags are cleared is covered by them; what comes
 * later asks anew. Sends at once when the last ones were long enough ago. */
static void send_wake(struct notifier *p)
{
    int64_t nap_us = p->reported_us + WAKE_EVERY_US - clock_monotonic_us();
    unsigned asked;
    uint64_t count;
    struct buf sql;

    if (nap_us > 0)
        nanosleep(&(struct timespec){0, nap_us * 1000}, NULL);
    if (read(p->wake_fd, &count, sizeof(count)) < 0)
        log_debug("notifier.wake", "nobody asked any more");
    asked = atomic_exchange(&p->asked, 0);
    p->reported_us = clock_monotonic_us();
    buf_init(&sql, 256);
    for (size_t i = 0; i < CHANNELS; i++) {
        if (asked & channels[i].news)
            buf_addf(&sql, "NOTIFY %s;", channels[i].channel);
    }
    if (sql.n && p->pg && PQstatus(p->pg) == CONNECTION_OK)
        PQclear(PQexec(p->pg, sql.p));
    buf_done(&sql);
    if (asked & NEWS_CHANNELS)
        send_names(p);
}

static void notifier_beat(struct notifier *p)
{
    int64_t now_us = clock_monotonic_us();

    if (!p->pg || PQstatus(p->pg) != CONNECTION_OK) {
        p->ready = connect_notifier(p);
        if (p->ready)
            log_info("database.back", "the database answers again");
        else if (p->owner.refused)
            p->owner.refused(p->owner.arg, PQerrorMessage(p->pg));
        return;
    }
    take_notices(p);
    if (now_us >= p->next_clock_us) {
        p->next_clock_us = now_us + CLOCK_EVERY_US;
        p->ready = sample_clock(p);
    }
    p->owner.beat(p->owner.arg, p->pg);
    /* that came with the answers to these statements: the socket does not tell of them again */
    take_notices(p);
}

static void *notifier_main(void *arg)
{
    struct notifier *p = arg;
    struct pollfd fds[3] = {{.fd = p->stop_fd, .events = POLLIN}, {.events = POLLIN},
        {.fd = p->wake_fd, .events = POLLIN}};

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
        notifier_beat(p);
    }
}

struct notifier *notifier_start(const char *database, bool job_worker,
    const struct notifier_owner *owner, struct arena *a, wharf_str *ret_error)
{
    struct notifier *p = calloc(1, sizeof(*p));

    if (!p || !(p->database = strdup(database)))
        abort();
    p->owner = *owner;
    p->job_worker = job_worker;
    pthread_mutex_init(&p->names_lock, NULL);
    buf_init(&p->names, NAMES_TEXT);
    p->stop_fd = eventfd(0, EFD_CLOEXEC);
    p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!connect_notifier(p)) {
        *ret_error = arena_dupz(a, p->pg ? PQerrorMessage(p->pg) : "no connection");
        notifier_stop(p);
        return NULL;
    }
    p->ready = true;
    p->next_clock_us = clock_monotonic_us() + CLOCK_EVERY_US;
    if (pthread_create(&p->thread, NULL, notifier_main, p) != 0)
        abort();
    return p;
}

const atomic_bool *notifier_ready(const struct notifier *p)
{
    return &p->ready;
}

void notifier_tell(struct notifier *p, unsigned news)
{
    uint64_t one = 1;

    if (!atomic_fetch_or(&p->asked, news) && write(p->wake_fd, &one, sizeof(one)) < 0)
        log_debug("notifier.wake", "the side thread is already awake");
}

void notifier_tell_channel(struct notifier *p, wharf_str organization, wharf_str name)
{
    pthread_mutex_lock(&p->names_lock);
    buf_addf(&p->names, "%s %s\n", organization.p, name.p);
    if (p->names.failed) {
        buf_done(&p->names);
        buf_init(&p->names, NAMES_TEXT);
        p->names_lost = true;
    }
    pthread_mutex_unlock(&p->names_lock);
    notifier_tell(p, NEWS_CHANNELS);
}

void notifier_on_channels(struct notifier *p, void (*fn)(void *arg, const char *names), void *arg)
{
    p->on_channels_arg = arg;
    atomic_store(&p->on_channels, fn);
}

void notifier_on_news(struct notifier *p, void (*fn)(void *arg, unsigned news), void *arg)
{
    p->on_news_arg = arg;
    atomic_store(&p->on_news, fn);
}

void notifier_stop(struct notifier *p)
{
    uint64_t one = 1;

    if (!p)
        return;
    if (p->thread && write(p->stop_fd, &one, sizeof(one)) == sizeof(one))
        pthread_join(p->thread, NULL);
    db_meter_close(p->pg);
    buf_done(&p->names);
    close(p->stop_fd);
    close(p->wake_fd);
    free(p->database);
    free(p);
}
