/* channel_wait.c - who waits for messages of channels: streams and parked requests, fed by the
 * hub's thread. See stream.h.
 *
 * The notice between processes carries the names of channels, so only their waiters are looked
 * for, in one statement; each five seconds all are. Leaves to others: messages themselves
 * (event/channel.h), connections and keys (stream_hub.c). */
#include <stdlib.h>
#include <string.h>

#include "event/channel.h"
#include "http/stream_inside.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"
#include "wharf/values.h"

enum {
    BATCH = 100,
    WAITERS = 500 /* requests that one channel wakes at a time */
};

bool channel_any(const struct stream_hub *h)
{
    return h->n_channel || h->parked;
}

bool stream_hub_draining(struct stream_hub *h)
{
    bool draining;

    pthread_mutex_lock(&h->lock);
    draining = h->draining;
    pthread_mutex_unlock(&h->lock);
    return draining;
}

/* ---- who is told ---- */

static bool channel_wait_named(
    const char *line, size_t n, wharf_str organization, wharf_str channel)
{
    return n == organization.n + 1 + channel.n && !memcmp(line, organization.p, organization.n) &&
           line[organization.n] == ' ' && !memcmp(line + organization.n + 1, channel.p, channel.n);
}

static void channel_wait_tell_line(struct stream_hub *h, const char *line, size_t n)
{
    for (struct stream *st = h->first; st; st = st->next)
        st->reported = st->reported || (st->channel.n && channel_wait_named(line, n,
                                                             st->organization, st->channel));
    for (struct parked *p = h->parked; p; p = p->next)
        p->reported = p->reported || channel_wait_named(line, n, p->organization, p->channel);
}

static void channel_wait_tell_all(struct stream_hub *h)
{
    for (struct stream *st = h->first; st; st = st->next)
        st->reported = true;
    for (struct parked *p = h->parked; p; p = p->next)
        p->reported = true;
}

void stream_hub_channels(void *hub, const char *names)
{
    struct stream_hub *h = hub;

    pthread_mutex_lock(&h->lock);
    if (channel_any(h)) {
        if (!*names)
            channel_wait_tell_all(h);
        for (const char *line = names; *line;) {
            size_t n = strcspn(line, "\n");

            channel_wait_tell_line(h, line, n);
            line += n + (line[n] == '\n');
        }
        h->news = true;
        pthread_cond_signal(&h->more);
    }
    pthread_mutex_unlock(&h->lock);
}

/* ---- parked requests ---- */

void stream_hub_park(struct stream_hub *h, struct exchange *x)
{
    struct parked *p = x->req.parked;

    limit_done(x); /* it waits: it is no request in flight of its key */
    arena_trim(x->req.arena);
    stream_give_back_zeros(x->raw_uri);
    x->req.deadline_us = p->until_us + x->server->config->handler_timeout_ms * 1000;
    p->x = x;
    pthread_mutex_lock(&h->lock);
    p->next = h->parked;
    h->parked = p;
    if (h->draining)
        p->until_us = 0;
    h->news = true;
    pthread_cond_signal(&h->more);
    pthread_mutex_unlock(&h->lock);
}

/* Makes a parked request ready. The caller holds the lock. at: the link that points to it. */
static void make_ready(struct stream_hub *h, struct parked **at)
{
    struct parked *p = *at;

    *at = p->next;
    p->next = h->ready;
    h->ready = p;
    hub_wake_loop(h);
}

void channel_run_ready(struct stream_hub *h)
{
    struct parked *list, *next;

    pthread_mutex_lock(&h->lock);
    list = h->ready;
    h->ready = NULL;
    pthread_mutex_unlock(&h->lock);
    for (; list; list = next) {
        struct exchange *x = list->x;

        next = list->next; /* it goes with the exchange, or when that runs */
        if (x->abandoned) {
            x->state = X_ANSWER;
            exchange_release(x);
        } else {
            dispatch_again(x);
        }
    }
}

void channel_drain(struct stream_hub *h)
{
    pthread_mutex_lock(&h->lock);
    while (h->parked)
        make_ready(h, &h->parked);
    pthread_mutex_unlock(&h->lock);
}

static void end_by_time(struct stream_hub *h)
{
    int64_t now = clock_monotonic_us();
    struct parked **at = &h->parked;

    pthread_mutex_lock(&h->lock);
    if (now >= h->look_us) {
        h->look_us = now + CHANNEL_LOOK_US;
        channel_wait_tell_all(h);
    }
    while (*at) {
        if (now >= (*at)->until_us)
            make_ready(h, at);
        else
            at = &(*at)->next;
    }
    for (struct stream *st = h->first; st; st = st->next) {
        if (st->end_us && now >= st->end_us && st->connection)
            hub_end(h, st, "event: bye\ndata: {}\n\n");
    }
    pthread_mutex_unlock(&h->lock);
}

/* ---- messages ---- */

struct question { /* of which channels, and behind what */
    wharf_str organizations[WAITERS], channels[WAITERS], after[WAITERS];
    size_t n;
};

static void channel_wait_ask(
    struct arena *a, struct question *q, wharf_str organization, wharf_str channel, int64_t after)
{
    q->organizations[q->n] = arena_dup_str(a, organization);
    q->channels[q->n] = arena_dup_str(a, channel);
    q->after[q->n++] = arena_printf(a, "%lld", (long long)after);
}

/* Takes up to WAITERS of those who were told. */
static void channel_wait_collect(struct stream_hub *h, struct arena *a, struct question *q)
{
    pthread_mutex_lock(&h->lock);
    for (struct parked *p = h->parked; p && q->n < WAITERS; p = p->next) {
        if (p->reported)
            channel_wait_ask(a, q, p->organization, p->channel, p->after);
        p->reported = false;
    }
    for (struct stream *st = h->first; st && q->n < WAITERS; st = st->next) {
        if (!st->reported || !st->channel.n || !st->connection || st->ending)
            continue;
        st->reported = false;
        channel_wait_ask(a, q, st->organization, st->channel, st->after);
    }
    pthread_mutex_unlock(&h->lock);
}

static struct sql_arg array_arg(struct arena *a, const wharf_str *values, size_t n)
{
    wharf_str s = wharf_array(values, n, arena_alloc(a, wharf_array_room(values, n)));

    return (struct sql_arg){s.p, s.n};
}

/* Reads messages behind the place of each who asks, the oldest first, BATCH at most for each. */
static PGresult *read_messages(struct stream_hub *h, struct arena *a, const struct question *q)
{
    static const char sql[] =
        "SELECT m.organization_id, m.channel, m.seq, m.type, m.ends, m.data FROM unnest((SELECT "
        "$1::text[]), (SELECT $2::text[]), (SELECT $3::bigint[])) AS q(organization, channel, "
        "after) CROSS JOIN LATERAL (SELECT * FROM wharf.channel_message m WHERE m.organization_id "
        "= q.organization AND m.channel = q.channel AND m.seq > q.after ORDER BY m.seq LIMIT 100) "
        "m ORDER BY 1, 2, 3";
    const struct sql_arg args[3] = {array_arg(a, q->organizations, q->n),
        array_arg(a, q->channels, q->n), array_arg(a, q->after, q->n)};
    struct db_error e;

    return db_run(h->db, sql, args, 3, &e);
}

static void to_stream(struct stream_hub *h, struct stream *st, PGresult *r, int row, int64_t seq)
{
    const char *type = PQgetvalue(r, row, 3), *ends = PQgetvalue(r, row, 4),
               *data = PQgetvalue(r, row, 5);
    bool for_one = !PQgetisnull(r, row, 4);

    st->after = seq;
    if (for_one && !str_eqz(st->tag, ends))
        return;
    buf_addf(&st->out, "id: %lld\nevent: %s\ndata: %s\n\n", (long long)seq, type, data);
    if (for_one)
        hub_end(h, st, "");
    hub_wake(h, st);
}

static void channel_wait_give(struct stream_hub *h, PGresult *r)
{
    pthread_mutex_lock(&h->lock);
    for (int row = 0; row < PQntuples(r); row++) {
        wharf_str organization = str_z(PQgetvalue(r, row, 0)),
                  channel = str_z(PQgetvalue(r, row, 1));
        int64_t seq = strtoll(PQgetvalue(r, row, 2), NULL, 10);
        struct parked **at = &h->parked;

        for (struct stream *st = h->first; st; st = st->next) {
            if (!st->channel.n || seq <= st->after || st->ending || !str_eq(st->channel, channel) ||
                !str_eq(st->organization, organization))
                continue;
            to_stream(h, st, r, row, seq);
            st->reported = st->reported || PQntuples(r) >= BATCH; /* maybe there are more */
        }
        while (*at) {
            if (seq > (*at)->after && str_eq((*at)->channel, channel) &&
                str_eq((*at)->organization, organization))
                make_ready(h, at);
            else
                at = &(*at)->next;
        }
    }
    pthread_mutex_unlock(&h->lock);
}

bool channel_turn(struct stream_hub *h)
{
    bool good = true, more = true;

    end_by_time(h);
    while (good && more) {
        struct arena *a = arena_new(0);
        struct question *q = ARENA_NEW(a, struct question);
        PGresult *r;

        channel_wait_collect(h, a, q);
        more = q->n != 0;
        r = more ? read_messages(h, a, q) : NULL;
        good = !more || r;
        if (r)
            channel_wait_give(h, r);
        PQclear(r);
        arena_free(a);
    }
    if (!good) { /* who was asked for has lost his mark */
        pthread_mutex_lock(&h->lock);
        channel_wait_tell_all(h);
        pthread_mutex_unlock(&h->lock);
    }
    return good;
}

/* ---- opening a stream; on a worker thread ---- */

/* Finds where the stream begins: behind what is known, if nothing of what came since is gone; else
 * sets ret_gone. */
static bool channel_wait_find_place(
    struct wharf_req *req, struct stream *st, int64_t known, bool *ret_gone, int64_t *ret_newest)
{
    static const char sql[] = "SELECT COALESCE((SELECT seq FROM wharf.channel WHERE "
                              "organization_id = $1 AND name = $2), 0),"
                              " COALESCE((SELECT seq FROM wharf.channel_message WHERE "
                              "organization_id = $1 AND channel = $2 ORDER BY seq "
                              "LIMIT 1), 0)";
    const struct sql_arg args[2] = {
        {st->organization.p, st->organization.n}, {st->channel.p, st->channel.n}};
    PGresult *r = req_query(req, sql, args, 2);
    int64_t newest, oldest;

    if (!r)
        return false;
    newest = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    oldest = strtoll(PQgetvalue(r, 0, 1), NULL, 10);
    *ret_gone = known >= 0 &&
                (known > newest || (known < newest && (!oldest || oldest > known + 1)));
    st->after = known < 0 || *ret_gone ? newest : known;
    *ret_newest = newest;
    return true;
}

static bool channel_wait_find_key(struct wharf_req *req, struct stream *st)
{
    static const char sql[] =
        "SELECT '\\x' || encode(hash, 'hex') FROM wharf.token WHERE kind = 'api_key' AND id = $1";
    const struct sql_arg arg = {req->access.who->key_id.p, req->access.who->key_id.n};
    PGresult *r = req_query(req, sql, &arg, 1);
    unsigned char *hash;
    size_t n;

    if (!r || !PQntuples(r))
        return false;
    hash = PQunescapeBytea((const unsigned char *)PQgetvalue(r, 0, 0), &n);
    if (hash && n == KEY_HASH)
        memcpy(st->key_hash, hash, KEY_HASH);
    PQfreemem(hash);
    return true;
}

static int64_t channel_wait_known_of(const struct req_head *head, int64_t after)
{
    char *end;
    long long n = strtoll(head->last_event_id.n ? head->last_event_id.p : "", &end, 10);

    return head->last_event_id.n && !*end && n >= 0 ? n : after;
}

wharf_status channel_stream_open(
    struct wharf_req *req, wharf_str channel, wharf_str tag, int64_t after, wharf_str hello)
{
    struct arena *a = arena_small(
        sizeof(struct stream) + req->access.who->organization.n + channel.n + tag.n + 64);
    struct stream *st = ARENA_NEW(a, struct stream);
    int64_t newest;
    bool gone;

    st->arena = a;
    st->area = req->route->area;
    st->organization = arena_dup_str(a, req->access.who->organization);
    st->channel = arena_dup_str(a, channel);
    st->tag = arena_dup_str(a, tag);
    st->live = true;
    buf_init(&st->out, 1 << 20);
    st->who = req->access.who;
    principal_ref(st->who);
    if (!channel_wait_find_place(
            req, st, channel_wait_known_of(&req->head, after), &gone, &newest) ||
        !channel_wait_find_key(req, st)) {
        stream_free(st);
        return req->problems.n ? WHARF_UNAVAILABLE : req_fail(req, ERR_API_KEY_INVALID, NULL, NULL);
    }
    buf_addf(&st->out, "retry: 2000\n\nid: %lld\nevent: hello\ndata: {\"seq\":%lld%s%.*s\n\n",
        (long long)st->after, (long long)newest, hello.n > 2 ? "," : "",
        hello.n ? (int)hello.n - 1 : 1, hello.n ? hello.p + 1 : "}");
    if (gone)
        BUF_LIT(&st->out, "event: resync\ndata: {}\n\n");
    req->stream = st;
    req->reply.status = 200;
    return WHARF_OK;
}
