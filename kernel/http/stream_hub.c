/* stream_hub.c - the thread that feeds live streams, and the bytes that libmicrohttpd fetches.
 * See stream.h. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "event/event_record.h"
#include "db/notifier.h"
#include "http/stream_inside.h"
#include "process/board.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "util/waker.h"
#include "wharf/errors.h"
#include "wharf/service/events.h"

enum {
    TURN_US = 1000000,
    AGAIN_US = 200000,
    GONE_US = 200000, /* peers that closed are looked for no more often */
    POLL_AT_ONCE = 512,
    READ_BYTES = 16 * 1024,
    READ_CHANNEL = 1024,
    LINE_OF_GET = sizeof("GET ") - 1,
    LINE_OF_POST = sizeof("POST ") - 1
};

/* ---- libmicrohttpd's side; on the loop ---- */

static void stream_hub_unref(struct stream_hub *h, struct stream *st) /* with the lock held */
{
    const struct worker_boot *boot = h->server->boot;

    if (--st->refs)
        return;
    for (size_t i = 0; i < st->n_owners; i++)
        limit_leave(&boot->board->limits, st->owners[i], boot->slot);
    stream_free(st);
}

/* Gives pages back, which read as zeros again. The request line stands at the mapping's beginning,
 * so the URI tells where that is; on any other address nothing is done. It runs on the loop, so
 * nobody writes there meanwhile. */
void stream_give_back_zeros(const char *uri)
{
    static const unsigned char zeros[4096];
    size_t page = sizeof(zeros);
    char *at = (char *)((uintptr_t)uri & ~(uintptr_t)(page - 1));

    size_t before = (uintptr_t)uri & (page - 1);

    if ((size_t)sysconf(_SC_PAGESIZE) != page || (before != LINE_OF_GET && before != LINE_OF_POST))
        return;
    for (size_t i = 0; i < CONNECTION_MEMORY / page; i++) {
        if (!memcmp(at + i * page, zeros, page))
            madvise(at + i * page, page, MADV_DONTNEED);
    }
}

static ssize_t read_stream(void *arg, uint64_t pos, char *to, size_t max)
{
    struct stream *st = arg;
    struct stream_hub *h = st->hub;
    bool over;
    size_t n;

    (void)pos;
    pthread_mutex_lock(&h->lock);
    over = st->ending;
    n = st->out.n - st->sent;
    n = n < max ? n : max;
    if (n) {
        memcpy(to, st->out.p + st->sent, n);
        st->sent += n;
        if (st->sent == st->out.n) {
            buf_clear(&st->out);
            st->sent = 0;
        }
        if (!st->live && !st->channel.n && st->out.n - st->sent < STREAM_AHEAD) {
            h->news = true; /* there is room for more of what is made up for */
            pthread_cond_signal(&h->more);
        }
    } else if (!over) {
        st->asleep = true;
        if (st->uri)
            stream_give_back_zeros(st->uri);
        st->uri = NULL;
        MHD_suspend_connection(st->connection);
    }
    pthread_mutex_unlock(&h->lock);
    if (n)
        return (ssize_t)n;
    return over ? MHD_CONTENT_READER_END_OF_STREAM : 0;
}

/* Lets go of a stream whose connection is over. */
static void leave_stream(void *arg)
{
    struct stream *st = arg;
    struct stream_hub *h = st->hub;

    pthread_mutex_lock(&h->lock);
    st->connection = NULL;
    st->ending = true;
    stream_hub_unref(h, st);
    pthread_mutex_unlock(&h->lock);
}

static bool count_channel_in(struct exchange *x)
{
    if (x->server->streams->n_channel < CHANNEL_STREAMS)
        return true;
    x->req.reply.retry_after = 60;
    req_fail(&x->req, ERR_STREAM_TOO_MANY, NULL, NULL);
    return false;
}

static bool count_in(struct exchange *x, struct stream *st)
{
    const wharf_str ids[] = {st->who->key_id, st->organization};
    static const char kinds[] = "sS";
    static const int64_t most[] = {STREAMS_PER_KEY, STREAMS_PER_ORGANIZATION};
    const struct worker_boot *boot = x->server->boot;

    for (size_t i = 0; i < 2; i++) {
        uint64_t owner = limit_owner(boot->board, kinds[i], ids[i]);

        if (!limit_enter(&boot->board->limits, owner, boot->slot, most[i])) {
            x->req.reply.retry_after = 60;
            req_fail(&x->req, ERR_STREAM_TOO_MANY, NULL, NULL);
            break;
        }
        st->owners[st->n_owners++] = owner;
    }
    if (!x->req.problems.n)
        return true;
    while (st->n_owners)
        limit_leave(&boot->board->limits, st->owners[--st->n_owners], boot->slot);
    return false;
}

struct MHD_Response *stream_response(struct exchange *x)
{
    struct stream_hub *h = x->server->streams;
    struct stream *st = x->req.stream;
    struct MHD_Response *r;

    if (!h || h->draining) {
        req_fail(&x->req, ERR_OVERLOADED, NULL, NULL);
        stream_forget(&x->req);
        return NULL;
    }
    if (!(st->channel.n ? count_channel_in(x) : count_in(x, st))) {
        stream_forget(&x->req);
        return NULL;
    }
    x->req.stream = NULL;
    x->streams = true;
    limit_done(x); /* it lasts: it is no request in flight */
    st->hub = h;
    st->uri = x->raw_uri;
    st->connection = x->connection;
    st->fd = MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    st->refs = 2;
    st->beat_us = x->server->turn_us + STREAM_BEAT_US;
    st->check_us = x->server->turn_us + STREAM_CHECK_US;
    st->reported = true;
    if (st->channel.n)
        st->end_us = x->server->turn_us + CHANNEL_LIFE_US;
    else
        BUF_LIT(&st->out, "retry: 3000\n\n");
    if (st->gap_from)
        buf_addf(&st->out, "event: stream.gap\ndata: {\"from\":%lld,\"to\":%lld}\n\n",
            (long long)st->gap_from, (long long)st->gap_to);
    r = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, st->channel.n ? READ_CHANNEL : READ_BYTES, read_stream, st, leave_stream);
    pthread_mutex_lock(&h->lock);
    st->next = h->first;
    h->first = st;
    h->n++;
    h->n_channel += st->channel.n != 0;
    h->news = true;
    pthread_cond_signal(&h->more);
    pthread_mutex_unlock(&h->lock);
    return r;
}

void stream_hub_turn(struct stream_hub *h)
{
    pthread_mutex_lock(&h->lock);
    if (h->resume) {
        h->resume = false;
        for (struct stream *st = h->first; st; st = st->next) {
            if (!st->wake || !st->asleep || !st->connection)
                continue;
            st->wake = st->asleep = false;
            MHD_resume_connection(st->connection);
        }
    }
    pthread_mutex_unlock(&h->lock);
    channel_run_ready(h);
}

/* ---- frames; with the lock held ---- */

void hub_wake_loop(struct stream_hub *h)
{
    uint64_t one = 1;

    if (write(h->server->wake_fd, &one, sizeof(one)) < 0)
        log_debug("stream.wake", "the loop is already awake");
}

void hub_wake(struct stream_hub *h, struct stream *st)
{
    if (!st->asleep || st->wake)
        return;
    st->wake = true;
    if (!h->resume)
        hub_wake_loop(h);
    h->resume = true;
}

void hub_end(struct stream_hub *h, struct stream *st, const char *frame)
{
    if (st->ending)
        return;
    buf_addz(&st->out, frame);
    st->ending = true;
    hub_wake(h, st);
}

static bool one_of(const wharf_str *list, size_t n, wharf_str s)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(list[i], s))
            return true;
    }
    return n == 0;
}

/* Tells whether the stream asked for such events; who may see them is another question. */
static bool stream_hub_wanted(const struct stream *st, const struct event *e)
{
    const wharf_event *p = &e->pub;
    bool type = false;

    for (size_t i = 0; e->type && i < st->n_types && !type; i++)
        type = event_matches(e->type, p->type, st->types[i]);
    return type && (!st->resource_type.n || str_eq(st->resource_type, p->resource_type)) &&
           (!st->resource_id.n || str_eq(st->resource_id, p->resource_id)) &&
           one_of(st->locations, st->n_locations, p->location_id);
}

static void stream_hub_add_event(
    struct stream_hub *h, struct arena *a, struct stream *st, struct event *e)
{
    struct arena_mark mark = arena_mark(a);
    const struct event *own;

    st->after = e->pub.sequence;
    own = stream_hub_wanted(st, e) ? event_for(a, st->who, NULL, e) : NULL;
    if (!own)
        return;
    buf_addf(
        &st->out, "id: %lld\nevent: %s\ndata: ", (long long)own->pub.sequence, own->pub.type.p);
    buf_adds(&st->out, st->thin ? own->pub.thin : own->pub.body);
    BUF_LIT(&st->out, "\n\n");
    arena_rewind(a, mark);
    if (st->live && st->out.n - st->sent > STREAM_UNSENT)
        hub_end(h, st, "event: stream.overflow\ndata: {}\n\n");
    hub_wake(h, st);
}

/* ---- the hub ---- */

static struct sql_arg number_arg(struct arena *a, int64_t n)
{
    wharf_str s = arena_printf(a, "%lld", (long long)n);

    return (struct sql_arg){s.p, s.n};
}

/* Reads the next events behind `after`. Returns NULL when the database is away. */
static PGresult *stream_hub_read_events(
    struct stream_hub *h, struct arena *a, wharf_str organization, int64_t after)
{
    wharf_str sql = arena_printf(a,
        "SELECT %s, h.head FROM %s WHERE h.organization_id = $1 AND h.sequence > $2::bigint ORDER "
        "BY h.sequence LIMIT %d",
        event_columns, event_tables, STREAM_BATCH);
    struct sql_arg args[2] = {{organization.p, organization.n}, number_arg(a, after)};
    struct db_error e;

    return db_run(h->db, sql.p, args, 2, &e);
}

static bool hungry(const struct stream *st)
{
    return st->connection && !st->ending && (st->live || st->out.n - st->sent < STREAM_AHEAD);
}

/* Gives a batch to all streams that stand where it begins. */
static void hand_out(struct stream_hub *h, struct arena *a, wharf_str organization, int64_t after,
    struct event *const *list, size_t n)
{
    pthread_mutex_lock(&h->lock);
    for (struct stream *st = h->first; st; st = st->next) {
        if (st->after != after || st->channel.n || !hungry(st) ||
            !str_eq(st->organization, organization))
            continue;
        for (size_t i = 0; i < n && !st->ending; i++)
            stream_hub_add_event(h, a, st, list[i]);
        st->live = st->live || n < STREAM_BATCH;
        st->fed = n < STREAM_BATCH;
    }
    pthread_mutex_unlock(&h->lock);
}

/* Finds some stream that wants more than it has, as a copy of its place. */
static bool next_place(
    struct stream_hub *h, struct arena *a, wharf_str *ret_organization, int64_t *ret_after)
{
    bool found = false;

    pthread_mutex_lock(&h->lock);
    for (struct stream *st = h->first; st && !found; st = st->next) {
        if (st->fed || st->channel.n || !hungry(st))
            continue;
        *ret_organization = arena_dup_str(a, st->organization);
        *ret_after = st->after;
        found = true;
    }
    pthread_mutex_unlock(&h->lock);
    return found;
}

/* Feeds the streams. Returns false when the database is away. */
static bool stream_hub_feed(struct stream_hub *h)
{
    wharf_str organization = {"", 0};
    int64_t after = 0;
    bool good = true, more = true;

    while (good && more) {
        struct wharf_req req = {.arena = arena_new(0), .engine = h->server->engine};
        struct event **list = ARENA_ARRAY(req.arena, struct event *, STREAM_BATCH);
        PGresult *r = NULL;

        more = next_place(h, req.arena, &organization, &after);
        if (more)
            r = stream_hub_read_events(h, req.arena, organization, after);
        good = !more || r;
        if (r) {
            for (int i = 0; i < PQntuples(r); i++)
                list[i] = event_from_row(&req, r, i);
            hand_out(h, req.arena, organization, after, list, (size_t)PQntuples(r));
        }
        PQclear(r);
        arena_free(req.arena);
    }
    return good;
}

/* Reads whether the key is still good. Its locations may have changed as well. Returns NULL when
 * that can't be told now. */
static struct principal *stream_hub_look_up(struct stream_hub *h, const struct stream *st)
{
    static const char digits[] = "0123456789abcdef";
    char hex[2 + 2 * KEY_HASH + 1] = "\\x";
    struct sql_arg arg = {hex, 2 + 2 * KEY_HASH};
    struct principal *who = NULL;
    struct db_error e;
    PGresult *r;

    for (size_t i = 0; i < KEY_HASH; i++) {
        hex[2 + 2 * i] = digits[st->key_hash[i] >> 4];
        hex[3 + 2 * i] = digits[st->key_hash[i] & 15];
    }
    r = db_run(h->db, auth_lookup_sql, &arg, 1, &e);
    if (r)
        who = auth_principal(&h->server->engine->areas, r, clock_now_us());
    PQclear(r);
    return who;
}

static void check_key_of(struct stream_hub *h, struct stream *st)
{
    struct principal *who = stream_hub_look_up(h, st);

    pthread_mutex_lock(&h->lock);
    st->check_us = clock_monotonic_us() + (who ? STREAM_CHECK_US : TURN_US);
    if (who && (who->refusal || who->expires_at_us <= clock_now_us() ||
                   who->levels[st->area] < SCOPE_READ)) {
        hub_end(h, st, "");
    } else if (who) {
        struct principal *before = st->who;

        st->who = who;
        who = before;
    }
    pthread_mutex_unlock(&h->lock);
    principal_unref(who);
}

/* Checks the keys that are due. Only the hub takes streams from the list, so a stream that was
 * found stays. */
static void stream_hub_check_keys(struct stream_hub *h)
{
    int64_t now = clock_monotonic_us();
    struct stream *due;

    do {
        due = NULL;
        pthread_mutex_lock(&h->lock);
        for (struct stream *st = h->first; st && !due; st = st->next)
            due = st->connection && !st->ending && now >= st->check_us ? st : NULL;
        pthread_mutex_unlock(&h->lock);
        if (due)
            check_key_of(h, due);
    } while (due);
}

static void keep_alive(struct stream_hub *h)
{
    int64_t now = clock_monotonic_us();
    struct stream **at = &h->first;

    pthread_mutex_lock(&h->lock);
    while (*at) {
        struct stream *st = *at;

        if (!st->connection) {
            *at = st->next;
            h->n--;
            h->n_channel -= st->channel.n != 0;
            stream_hub_unref(h, st);
            continue;
        }
        if (now >= st->beat_us && !st->ending) {
            st->beat_us = now + STREAM_BEAT_US;
            buf_addz(&st->out, st->channel.n ? ": ping\n\n" : ": hb\n\n");
            hub_wake(h, st);
        }
        at = &st->next;
    }
    pthread_mutex_unlock(&h->lock);
}

/* Ends the streams of these descriptors whose peers have closed. */
static void end_gone(struct stream_hub *h, struct pollfd *fds, struct stream *const *of, size_t n)
{
    if (!n || poll(fds, n, 0) <= 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (!(fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR)))
            continue;
        buf_clear(&of[i]->out);
        of[i]->sent = 0;
        hub_end(h, of[i], "");
    }
}

/* Looks which peers have closed: a connection that is suspended is watched by nobody, and its place
 * would be taken until a heartbeat fails. */
static void find_gone(struct stream_hub *h)
{
    struct pollfd fds[POLL_AT_ONCE];
    struct stream *of[POLL_AT_ONCE];
    size_t n = 0;

    pthread_mutex_lock(&h->lock);
    for (struct stream *st = h->first; st; st = st->next) {
        if (!st->connection || !st->asleep || st->ending)
            continue;
        of[n] = st;
        fds[n++] = (struct pollfd){.fd = st->fd, .events = POLLRDHUP};
        if (n == POLL_AT_ONCE) {
            end_gone(h, fds, of, n);
            n = 0;
        }
    }
    end_gone(h, fds, of, n);
    pthread_mutex_unlock(&h->lock);
}

static void *hub_main(void *arg)
{
    struct stream_hub *h = arg;
    int64_t gone_us = 0;
    bool stop = false, good = true, any;

    while (!stop) {
        struct timespec until;
        int64_t at = clock_monotonic_us() + (good ? TURN_US : AGAIN_US);

        until = (struct timespec){at / 1000000, (at % 1000000) * 1000};
        pthread_mutex_lock(&h->lock);
        while (!h->news && !h->stop && clock_monotonic_us() < at)
            pthread_cond_timedwait(&h->more, &h->lock, &until);
        stop = h->stop;
        h->news = false;
        any = h->first != NULL || channel_any(h);
        for (struct stream *st = h->first; st; st = st->next)
            st->fed = false;
        pthread_mutex_unlock(&h->lock);
        if (stop || !any)
            continue;
        good = stream_hub_feed(h);
        good = channel_turn(h) && good;
        stream_hub_check_keys(h);
        if (clock_monotonic_us() >= gone_us) {
            find_gone(h);
            gone_us = clock_monotonic_us() + GONE_US;
        }
        keep_alive(h);
    }
    return NULL;
}

/* ---- start and end ---- */

struct stream_hub *stream_hub_start(struct server *s)
{
    struct stream_hub *h = calloc(1, sizeof(*h));

    if (!h)
        abort();
    h->server = s;
    h->db = db_open(
        s->boot->database, s->config->database_prepared, s->config->statement_timeout_ms);
    pthread_mutex_init(&h->lock, NULL);
    cond_init_monotonic(&h->more);
    if (pthread_create(&h->thread, NULL, hub_main, h) != 0)
        abort();
    return h;
}

void stream_hub_news(void *hub, unsigned news)
{
    struct stream_hub *h = hub;

    if (!(news & (NEWS_PROCESSED | NEWS_CLOCK)))
        return;
    pthread_mutex_lock(&h->lock);
    h->news = true;
    if (h->first)
        pthread_cond_signal(&h->more);
    pthread_mutex_unlock(&h->lock);
}

void stream_hub_drain(struct stream_hub *h)
{
    pthread_mutex_lock(&h->lock);
    h->draining = true;
    for (struct stream *st = h->first; st; st = st->next)
        hub_end(h, st,
            st->channel.n ? "event: bye\ndata: {}\n\n" : "event: stream.closing\ndata: {}\n\n");
    pthread_mutex_unlock(&h->lock);
    channel_drain(h);
}

void stream_hub_stop(struct stream_hub *h)
{
    if (!h)
        return;
    stream_hub_drain(h);
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_signal(&h->more);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    stream_hub_turn(h); /* who still slept is resumed before the daemon stops */
}
