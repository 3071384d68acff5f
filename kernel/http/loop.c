/* loop.c - a web worker's event loop: libmicrohttpd driven from outside, the lanes, finished
 * threads, time limits, draining.
 *
 * One turn: what is ready is read (lanes, threads), answers are resumed, libmicrohttpd runs
 * (which dispatches new requests), the lanes send what was queued with one Sync, the access log
 * is written. See docs/architecture.md 'The way of a request'. */
#include "http/body_reader.h"
#include "http/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/stream.h"
#include "http/tls.h"
#include "event/requestlog.h"
#include "process/board.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum {
    /* a kept-alive connection may have a request on its way when a drain begins */
    BULK_ROUNDS = 16,
    LINGER_US = 1000000, /* a worker that stops still waits for a next request */
    KEEP_ALIVE_S = 60, /* a connection without a request is kept */
    /* libmicrohttpd closes what stalls; what rests or is slow is closed before, by us */
    GRACE_S = 10, /* beyond it and the time of headers, libmicrohttpd ends it */
    EVENTS = 64,
    TAG_MHD = 1,
    TAG_WAKE,
    TAG_TERM,
    TAG_LANE
};

/* ---- libmicrohttpd's callbacks ---- */

static void *uri_seen(void *cls, const char *uri, struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct exchange *x = exchange_new(cls, uri);

    if (x) {
        x->peer = info ? info->socket_context : NULL;
        x->number = x->peer ? ++x->peer->n_requests : 0;
    }
    return x;
}

static void completed(
    void *cls, struct MHD_Connection *c, void **con_cls, enum MHD_RequestTerminationCode code)
{
    struct exchange *x = *con_cls;

    (void)cls, (void)code;
    *con_cls = NULL;
    if (!x)
        return;
    x->connection = c;
    if (x->state == X_QUEUED || x->state == X_CUT)
        access_line(x);
    atomic_fetch_add_explicit(
        &x->server->boot->board->workers[x->server->boot->slot].requests, 1, memory_order_relaxed);
    if (x->peer) {
        x->peer->busy = false;
        x->peer->since_us = x->server->turn_us;
    }
    exchange_release(x);
}

static void peer_event(void *cls, struct MHD_Connection *c, void **socket_context,
    enum MHD_ConnectionNotificationCode code)
{
    struct server *s = cls;
    struct peer *p = *socket_context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(
            c, MHD_CONNECTION_INFO_CONNECTION_FD);

        p = calloc(1, sizeof(*p));
        if (!p)
            return;
        p->fd = info ? info->connect_fd : -1;
        info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        p->tls = info ? info->tls_session : NULL;
        head_tap_put(p->fd, p->tls, &p->tap);
        p->since_us = s->turn_us;
        p->next = s->peers;
        if (p->next)
            p->next->prev = p;
        s->peers = p;
        *socket_context = p;
        return;
    }
    if (!p)
        return;
    if (p->prev)
        p->prev->next = p->next;
    else
        s->peers = p->next;
    if (p->next)
        p->next->prev = p->prev;
    head_tap_off(p->fd, &p->tap);
    free(p);
    *socket_context = NULL;
}

static void mhd_says(void *cls, const char *fmt, va_list ap)
{
    (void)cls;
    log_vwrite(WHARF_LOG_DEBUG, NULL, NULL, "http.library", fmt, ap);
}

static struct MHD_Daemon *start_daemon(struct server *s, int listen_fd, const struct tls_pair *tls)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem secure[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, tls->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, tls->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)tls_priorities}, {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem socket[] = {
        {MHD_OPTION_LISTEN_SOCKET, listen_fd, NULL}, {MHD_OPTION_END, 0, NULL}};

    if (tls->key)
        flags |= MHD_USE_TLS;
    else
        secure[0] = secure[3];

    /* a second job worker, or no admin listener: it would make a socket of its own */
    if (listen_fd < 0) {
        flags |= MHD_USE_NO_LISTEN_SOCKET;
        socket[0] = socket[1]; /* the option is refused beside that flag */
    }
    return MHD_start_daemon(flags, 0, NULL, NULL, exchange_handle, s, MHD_OPTION_EXTERNAL_LOGGER,
        mhd_says, s, MHD_OPTION_ARRAY, socket, MHD_OPTION_URI_LOG_CALLBACK, uri_seen, s,
        MHD_OPTION_NOTIFY_COMPLETED, completed, s, MHD_OPTION_NOTIFY_CONNECTION, peer_event, s,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)s->config->connection_limit,
        MHD_OPTION_CONNECTION_TIMEOUT,
        KEEP_ALIVE_S + GRACE_S + (unsigned)(s->config->header_timeout_ms / 1000),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)8 * 1024, MHD_OPTION_LISTEN_BACKLOG_SIZE,
        1024u, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, secure,
        /* workers ignore SIGPIPE; without this files are read and sent by pieces of 4 KiB */
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

/* ---- epoll ---- */

static void watch_fd(struct server *s, int fd, uint32_t events, uint64_t tag)
{
    struct epoll_event e = {.events = events, .data.u64 = tag};

    if (fd >= 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e) != 0 && errno == EEXIST)
        epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, fd, &e);
}

static void lane_changed(void *arg, struct lane *lane)
{
    struct server *s = arg;

    if (lane_fd(lane) < 0 && lane_up(lane)) /* lost, and not only not made */
        threads_doubt(s->threads);
    for (size_t i = 0; i < s->n_lanes; i++) {
        if (s->lanes[i] != lane)
            continue;
        /* A closed descriptor leaves epoll by itself; a number may come back with another
         * connection. */
        watch_fd(s, lane_fd(lane), lane_events(lane), TAG_LANE + i);
    }
}

size_t lanes_wanted(const struct config *c)
{
    return c->database_lanes < LANES_MIN   ? LANES_MIN
           : c->database_lanes > LANES_MAX ? LANES_MAX
                                           : (size_t)c->database_lanes;
}

static void open_lanes(struct server *s)
{
    const struct config *c = s->config;
    size_t n = lanes_wanted(c);

    for (size_t i = 0; i < n; i++) {
        enum lane_kind kind = i == 0 ? LANE_READ : i == 1 ? LANE_WRITE : LANE_SLOW;

        s->lanes[i] = lane_new(kind, s->boot->database, c->database_prepared,
            c->statement_timeout_ms, lane_changed, s);
        s->n_lanes = i + 1;
    }
}

bool server_start(struct server *s, int listen_fd, const char **ret_why)
{
    struct tls_pair tls;

    *ret_why = "the HTTP server did not start on its socket";
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    s->turn_us = clock_monotonic_us();
    buf_init(&s->access, 16 << 20);
    if (tls_receive(s->boot->tls_fd, &tls) && head_tap_check(tls.key != NULL, ret_why))
        s->daemon = start_daemon(s, listen_fd, &tls);
    if (tls.certificate)
        atomic_store(&s->boot->board->certificate_until_s, tls_until(&tls));
    tls_forget(&tls);
    if (s->epoll_fd < 0 || s->wake_fd < 0 || !s->daemon)
        return false;
    s->mhd_fd = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    watch_fd(s, s->mhd_fd, EPOLLIN, TAG_MHD);
    watch_fd(s, s->wake_fd, EPOLLIN, TAG_WAKE);
    watch_fd(s, s->term_fd, EPOLLIN, TAG_TERM);
    open_lanes(s);
    /* the admin listener has little to ask; jobs have threads of their own */
    s->threads = threads_start(
        s, s->boot->kind == WORKER_JOB ? 1 : (size_t)s->config->database_pool);
    if (!s->threads)
        return false;
    s->reader = body_reader_start(
        s, &s->boot->board->workers[s->boot->slot].activities[threads_count(s->threads) + 1]);
    if (s->boot->kind != WORKER_JOB)
        s->tenants = tenant_threads_new(s, s->threads, (unsigned)threads_count(s->threads) + 2);
    return s->reader != NULL;
}

/* ---- one turn ---- */

static void take_finished(struct server *s)
{
    struct exchange *x = threads_done(s->threads), *next;

    for (; x; x = next) {
        next = x->next_done;
        if (x->reading) {
            x->reading = false;
            if (!x->req.problems.n && !x->detached && !x->abandoned) {
                dispatch_read(x);
                continue;
            }
        }
        if (x->stage == STAGE_REQUEST && x->state == X_ON_THREAD) {
            x->stage = STAGE_RUN;
            x->state = X_ASKED;
            if (x->detached) { /* its client was told of the time limit: it goes no further */
                x->state = X_ANSWER;
                req_fail(&x->req, ERR_TIMEOUT, NULL, NULL);
            }
        }
        x->detached = false;
        if (x->state == X_ON_THREAD && x->req.parked && !x->req.problems.n && !x->abandoned &&
            s->streams) {
            x->state = X_PARKED;
            stream_hub_park(s->streams, x);
            continue;
        }
        if (x->state == X_ON_THREAD)
            x->state = X_ANSWER;
        exchange_resume(x);
    }
}

static void turn_lanes(struct server *s)
{
    for (size_t i = 0; i < s->n_lanes; i++) {
        lane_turn(s->lanes[i], s->lane_ready[i], s->turn_us);
        s->lane_ready[i] = false;
    }
}

/* Checks an exchange. Requests whose handler took too long are answered; their thread finishes on
 * its own. Slow senders are cut off. */
static void check_exchange(struct server *s, struct exchange *x)
{
    int64_t idle = s->turn_us - x->body_idle_us;

    if (!x->peer)
        return;
    if (x->suspended && x->turn_by_us && s->turn_us > x->turn_by_us &&
        tenant_threads_withdraw(s->tenants, x)) {
        x->state = X_ANSWER;
        exchange_resume(x);
    } else if (x->suspended && !x->detached && s->turn_us > x->req.deadline_us) {
        x->detached = true; /* a thread or a statement goes on; nobody waits for it */
        answer_late(x);
    } else if (x->state == X_NEW &&
               s->turn_us - x->req.start_us > s->config->header_timeout_ms * 1000) {
        x->req.start_us = s->turn_us; /* once */
        answer_unsent(x->peer);
    } else if (x->state == X_BODY && !x->suspended && idle > s->config->body_timeout_ms * 1000) {
        req_fail(&x->req, ERR_REQUEST_TIMEOUT, NULL, NULL);
        exchange_cut(x);
        shutdown(x->peer->fd, SHUT_RD);
    } else if (x->state == X_REFUSED && idle > REFUSED_WAIT_US) {
        exchange_cut(x);
    } else if (x->state == X_CUT &&
               (idle > 2 * REFUSED_WAIT_US || s->turn_us - x->cut_us > DROP_US)) {
        shutdown(x->peer->fd, SHUT_RDWR);
    }
}

/* Checks a peer of whose connection nothing is being answered. libmicrohttpd does not know of a
 * head that is not complete. */
static void check_peer_rests(struct server *s, struct peer *p)
{
    int64_t limit = p->used ? (int64_t)KEEP_ALIVE_S * 1000000 : s->config->header_timeout_ms * 1000;
    bool begun = head_tap_waits(&p->tap);
    int64_t since = p->since_us;

    if (!begun)
        p->head_since_us = 0;
    else if (!p->head_since_us)
        p->head_since_us = s->turn_us;
    if (begun && p->used) {
        limit = s->config->header_timeout_ms * 1000;
        since = p->head_since_us;
    }
    if (s->turn_us - since <= limit)
        return;
    if (!p->used || begun)
        answer_unsent(p);
    else
        shutdown(p->fd, SHUT_RDWR);
    p->since_us = p->head_since_us = s->turn_us;
}

static void check_times(struct server *s)
{
    struct exchange *next;

    for (struct exchange *x = s->exchanges; x; x = next) {
        next = x->next;
        check_exchange(s, x);
    }
    for (struct peer *p = s->peers; p; p = p->next) {
        if (!p->busy)
            check_peer_rests(s, p);
    }
}

/* Stops accepting. The supervisor owns the socket: its queue waits for the successor. */
static void stop_accepting(struct server *s)
{
    MHD_socket listen_fd = MHD_quiesce_daemon(s->daemon);

    (void)listen_fd;
    s->quiet = true;
}

/* Begins to drain. When a successor is there, it accepts. Else the server ends, and who has not
 * heard of it yet is served for a while. */
static void begin_drain(struct server *s)
{
    bool ends = atomic_load(&s->boot->board->stopping) != 0;

    s->draining = true;
    /* nobody reads it: it would wake each turn from here on */
    epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->term_fd, NULL);
    s->accept_until_us = s->turn_us + (ends ? s->config->drain_accept_ms * 1000 : 0);
    s->drain_until_us = s->accept_until_us + s->config->drain_timeout_ms * 1000;
    log_info("worker.drain", "finishing %zu requests", s->in_flight);
    if (s->on_drain)
        s->on_drain(s->on_drain_arg);
    if (s->streams)
        stream_hub_drain(s->streams);
}

/* Tells whether all is drained. A connection that was just used may have its next request on the
 * way; that one is told to be the last. */
static bool drained(struct server *s)
{
    int64_t rested = s->turn_us - LINGER_US;
    bool idle = s->in_flight == 0;

    if (s->turn_us < s->accept_until_us)
        return false;
    if (!s->quiet)
        stop_accepting(s);
    for (struct peer *p = s->peers; p; p = p->next) {
        if (p->busy)
            continue;
        if (!head_tap_waits(&p->tap) && p->since_us < rested && s->accept_until_us < rested) {
            if (p->tls)
                tls_end(p->tls, p->fd);
            shutdown(p->fd, SHUT_RD); /* idle: nothing is lost */
        } else {
            idle = false;
        }
    }
    return idle || s->turn_us > s->drain_until_us;
}

static int loop_wait_ms(struct server *s)
{
    MHD_UNSIGNED_LONG_LONG ms;
    int wait = 100;

    if (s->n_held) /* for these the library says 0 */
        return s->run_again ? 0 : 1;
    if (MHD_get_timeout(s->daemon, &ms) == MHD_YES && ms < (unsigned)wait)
        wait = (int)ms;
    return wait;
}

static void loop_read_events(struct server *s, const struct epoll_event *events, int n)
{
    uint64_t count;

    for (int i = 0; i < n; i++) {
        uint64_t tag = events[i].data.u64;

        if (tag >= TAG_LANE && tag < TAG_LANE + s->n_lanes)
            s->lane_ready[tag - TAG_LANE] = true;
        else if (tag == TAG_WAKE && read(s->wake_fd, &count, sizeof(count)) < 0)
            continue;
        else if (tag == TAG_TERM && !s->draining)
            begin_drain(s);
    }
}

static int64_t resident_kb(void)
{
    char text[96] = "";
    long long pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const char *second;

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) > 0 && (second = strchr(text, ' ')))
        pages = strtoll(second, NULL, 10);
    close(fd);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Lets libmicrohttpd work. Answers are given in its first run and written in its second. A run
 * moves some tens of KiB of a file: more of them in one turn cost a large file less. */
static void run_library(struct server *s)
{
    unsigned rounds = 0;

    do {
        s->run_again = s->bulk_came = false;
        MHD_run(s->daemon);
        rounds++;
    } while (
        (s->run_again && rounds < 2) || ((s->bulk_came || s->files_sent) && rounds < BULK_ROUNDS));
}

/* Counts what the loop holds for its clients, once a second instead of at each request. Of a
 * connection libmicrohttpd uses the first and the last page of its memory, most of the time. */
static void loop_count_memory(struct server *s)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(
        s->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    int64_t kept = 0;

    for (size_t i = 0; i < s->n_arenas; i++)
        kept += (int64_t)arena_used(s->arenas[i]);
    memory_add(MEMORY_REQUESTS, s->memory_kept - kept);
    memory_add(MEMORY_REQUESTS_KEPT, kept - s->memory_kept);
    s->memory_kept = kept;
    kept = info ? (int64_t)info->num_connections * CONNECTION_TOUCHED : 0;
    memory_add(MEMORY_CLIENTS, kept - s->memory_clients);
    s->memory_clients = kept;
    memory_set(MEMORY_REQUEST_LOG, (int64_t)request_log_bytes(s->requests));
}

void server_run(struct server *s)
{
    struct board_worker *slot = &s->boot->board->workers[s->boot->slot];
    int64_t next_second = 0;

    while (!s->draining || !drained(s)) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(s->epoll_fd, events, EVENTS, loop_wait_ms(s));

        s->turn_us = clock_monotonic_us();
        loop_read_events(s, events, n);
        take_finished(s);
        if (s->streams)
            stream_hub_turn(s->streams);
        turn_lanes(s); /* answers first ... */
        run_library(s);
        turn_lanes(s); /* ... then what the new requests ask */
        access_flush(s);
        access_renew(s);
        if (s->turn_us >= next_second) {
            next_second = s->turn_us + 1000000;
            atomic_store_explicit(&slot->beat_us, s->turn_us, memory_order_relaxed);
            atomic_store_explicit(&slot->rss_kb, resident_kb(), memory_order_relaxed);
            atomic_store_explicit(
                &slot->db_ways, (int64_t)threads_connected(s->threads), memory_order_relaxed);
            loop_count_memory(s);
            check_times(s);
        }
    }
}

void server_stop(struct server *s)
{
    struct exchange *next;

    stream_hub_stop(s->streams);
    body_reader_stop(s->reader);
    take_finished(s); /* bodies that were read go on to the threads */
    tenant_threads_stop(s->tenants);
    threads_stop(s->threads);
    take_finished(s);
    tenant_threads_free(s->tenants);
    buf_done(&s->packed);
    threads_free(s->threads);
    for (struct exchange *x = s->exchanges; x; x = next) {
        next = x->next;
        if (x->suspended && x->connection) {
            x->suspended = false;
            x->close_after = true;
            MHD_resume_connection(x->connection);
        }
    }
    MHD_run(s->daemon);
    MHD_stop_daemon(s->daemon);
    body_reader_free(s->reader);
    for (size_t i = 0; i < s->n_lanes; i++)
        lane_free(s->lanes[i]);
    access_flush(s);
    buf_done(&s->access);
    close(s->epoll_fd);
    close(s->wake_fd);
}
