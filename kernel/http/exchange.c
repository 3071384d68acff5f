/* exchange.c - libmicrohttpd's callbacks and the life of an exchange. See exchange.h. */
#include "http/body_reader.h"
#include "http/exchange.h"
#include "http/upload.h"
#include "http/stream.h"

#include <stdlib.h>

#include "process/board.h"
#include "util/id.h"
#include "util/log.h"
#include "resource/observe.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum { ARENA_LARGE = 1 << 20 };

static struct arena *take_arena(struct server *s)
{
    return s->n_arenas ? s->arenas[--s->n_arenas] : arena_new(64u << 20);
}

static void give_arena(struct server *s, struct arena *a)
{
    if (arena_used(a) > ARENA_LARGE) {
        body_reader_free_arena(s->reader, a);
        return;
    }
    if (s->n_arenas == ARENAS_KEPT) {
        arena_free(a);
        return;
    }
    arena_reset(a);
    s->arenas[s->n_arenas++] = a;
}

void kept_buf_take(struct server *s, struct buf *b, size_t max)
{
    if (!s->n_kept_bufs) {
        buf_init(b, max);
        return;
    }
    *b = s->kept_bufs[--s->n_kept_bufs];
    b->max = max;
}

void kept_buf_give(struct server *s, struct buf *b)
{
    if (!b->p || b->cap > KEPT_BUF_MAX ||
        s->n_kept_bufs == sizeof(s->kept_bufs) / sizeof(s->kept_bufs[0])) {
        buf_done(b);
        return;
    }
    buf_clear(b);
    s->kept_bufs[s->n_kept_bufs++] = *b;
    buf_init(b, 0);
}

static void count_flight(struct server *s, int change)
{
    s->in_flight += (size_t)change;
    atomic_store_explicit(&s->boot->board->workers[s->boot->slot].in_flight, (int64_t)s->in_flight,
        memory_order_relaxed);
}

static const char *show_query(const char *copy)
{
    head_show_query((char *)copy);
    return copy;
}

struct exchange *exchange_new(struct server *s, const char *uri)
{
    struct exchange *x = calloc(1, sizeof(*x));
    struct wharf_req *req = &x->req;
    char id[ID_MAX];

    if (!x)
        return NULL;
    x->server = s;
    x->state = X_NEW;
    req->arena = take_arena(s);
    req->engine = s->engine;
    x->raw_uri = uri;
    x->uri_len = strlen(uri);
    x->uri = show_query(arena_dup(req->arena, uri, x->uri_len).p);
    req->start_us = clock_monotonic_us();
    req->deadline_us = req->start_us + s->config->handler_timeout_ms * 1000;
    req->now_us = clock_now_us();
    id_new("req", req->now_us, id); /* carries its time, by which the request log is found */
    memcpy(req->request_id, id, sizeof(req->request_id));
    kept_buf_take(s, &req->reply.out, 256u << 20);
    buf_init(&x->body, LARGE_BODY + 1);
    x->next = s->exchanges;
    if (x->next)
        x->next->prev = x;
    s->exchanges = x;
    count_flight(s, 1);
    return x;
}

static void hold_no_more(struct exchange *x)
{
    x->server->n_held -= x->held != 0;
    x->held = 0;
}

void exchange_release(struct exchange *x)
{
    struct server *s = x->server;

    hold_no_more(x);
    if (x->state == X_ON_THREAD || x->state == X_ON_LANES || x->state == X_PARKED ||
        x->state == X_AUTH || x->detached) {
        x->abandoned = true;
        x->connection = NULL;
        x->peer = NULL;
        return;
    }
    if (x->prev)
        x->prev->next = x->next;
    else
        s->exchanges = x->next;
    if (x->next)
        x->next->prev = x->prev;
    count_flight(s, -1);
    s->files_sent -= x->sends_file;
    for (size_t i = 0; i < PLAN_STATEMENTS; i++)
        PQclear(x->results[i]);
    request_release(&x->req);
    limit_done(x);
    if (x->req.reply.put)
        x->req.engine->uploads->drop(x);
    stream_forget(&x->req);
    free(x->req.parked);
    principal_unref(x->req.access.who);
    principal_unref(x->req.access.offered);
    kept_buf_give(s, &x->req.reply.out);
    buf_done(&x->body);
    give_arena(s, x->req.arena);
    free(x);
}

static void split_uri(struct exchange *x)
{
    struct wharf_req *req = &x->req;
    size_t n = strcspn(x->uri, "?");

    req->head.path = arena_dup(req->arena, x->uri, n);
    req->head.raw_query = x->uri[n] == '?' ? str_z(x->uri + n + 1) : str_z("");
}

/* Shrinks a request whose answer is a stream and lasts: only what its log lines want is kept. */
static void exchange_shrink(struct exchange *x)
{
    struct wharf_req *req = &x->req;
    const size_t n_params = sizeof(req->params) / sizeof(req->params[0]);
    size_t room = strlen(req->head.method) + req->head.path.n + req->head.raw_query.n +
                  req->head.client_request_id.n + 512;
    struct arena *old = req->arena, *a;

    for (size_t i = 0; i < n_params; i++)
        room += req->params[i].n + 16;
    a = arena_small(room);
    arena_belongs(a, MEMORY_CLIENTS);
    req->head.method = arena_dupz(a, req->head.method).p;
    req->head.path = arena_dup_str(a, req->head.path);
    req->head.raw_query = arena_dup_str(a, req->head.raw_query);
    req->head.client_request_id = arena_dup_str(a, req->head.client_request_id);
    for (size_t i = 0; i < n_params; i++)
        req->params[i] = arena_dup_str(a, req->params[i]);
    req->head.pairs = NULL;
    req->head.n_pairs = 0;
    req->head.lines = req->reply.added = NULL;
    req->reply.remarks = NULL;
    req->head.n_lines = req->reply.n_added = req->reply.n_remarks = 0;
    req->head.remote_addr = req->head.other_type = str_z("");
    req->body = NULL;
    req->head.traceparent = req->head.last_event_id = req->reply.message = req->reply.pagination =
        req->reply.location_header = str_z("");
    req->reply.entity = req->reply.replay = req->head.idempotency_key = req->head.if_match =
        req->batch_id = req->reply.answered_id = str_z("");
    req->reply.preference_applied = req->problems.path_base = req->body_text = str_z("");
    req->reply.answered = NULL;
    req->reply.raw_type = req->reply.success_code = NULL;
    req->problems.list = NULL;
    req->problems.n = req->problems.cap = 0;
    x->uri = "";
    x->origin = str_z("");
    buf_done(&x->body);
    buf_done(&req->reply.out);
    buf_init(&x->body, 0);
    buf_init(&req->reply.out, 0);
    req->arena = a;
    give_arena(x->server, old);
}

static enum MHD_Result queue_answer(struct exchange *x)
{
    struct MHD_Response *r;
    enum MHD_Result ok;
    int status;

    r = answer_build(x, &status);
    ok = MHD_queue_response(x->connection, (unsigned)status, r);
    MHD_destroy_response(r);
    x->state = X_QUEUED;
    x->server->run_again = true;
    if (x->streams)
        exchange_shrink(x);
    if (!request_is_observers(&x->req)) /* the access line asks for the route */
        request_release(&x->req);
    return ok;
}

static void exchange_suspend(struct exchange *x)
{
    x->suspended = true;
    MHD_suspend_connection(x->connection);
}

/* Turns of the event loop that a reading request is held, and how many may be held. Most are
 * answered in a turn or two. Meanwhile libmicrohttpd may ask for the answer in each turn: that
 * costs less than to take the socket out of its epoll and to put it back. A request that lasts
 * longer, or comes when HELD_MAX wait, is suspended. */
enum {
    HELD_TURNS = 4,
    HELD_MAX = 256 /* reading requests that are held for some turns */
};

static bool only_reads(const struct plan *p)
{
    for (size_t i = 0; i < p->n_statements; i++) {
        if (p->statements[i].lane != LANE_READ)
            return false;
    }
    return true;
}

static void wait_for_lanes(struct exchange *x)
{
    struct server *s = x->server;

    if (x->state != X_ON_LANES || !x->peer || x->peer->tls || s->n_held >= HELD_MAX ||
        !only_reads(&x->plan)) {
        exchange_suspend(x);
        return;
    }
    x->held = HELD_TURNS;
    s->n_held++;
}

/* Handles an exchange that was asked for again. Returns true when it goes on waiting. */
static bool still_held(struct exchange *x)
{
    if (!x->held)
        return false;
    if (x->state == X_ON_LANES && x->held > 1) {
        x->held--;
        return true;
    }
    hold_no_more(x);
    if (x->state == X_ANSWER)
        return false;
    exchange_suspend(x);
    return true;
}

/* Runs hooks on a thread. Returns false when there is no room for it. */
static bool to_hooks(struct exchange *x, enum exchange_stage stage)
{
    enum exchange_state before = x->state;

    keep_request(x);
    x->stage = stage;
    x->state = X_ON_THREAD;
    if (threads_push(x->server->threads, x)) {
        exchange_suspend(x);
        return true;
    }
    x->state = before;
    return false;
}

/* Answers an exchange that is ready, but for the response hooks. An answer that no thread has room
 * for goes without them. */
static enum MHD_Result exchange_answer(struct exchange *x)
{
    if (x->stage != STAGE_RESPONSE && request_asks_response(&x->req) && to_hooks(x, STAGE_RESPONSE))
        return MHD_YES;
    return queue_answer(x);
}

void exchange_resume(struct exchange *x)
{
    if (x->abandoned || !x->connection) {
        if (x->state == X_ANSWER || x->state == X_BODY || x->state == X_ASKED)
            exchange_release(x);
        return;
    }
    if (x->suspended) {
        x->suspended = false;
        MHD_resume_connection(x->connection);
    }
}

/* Returns how much of a body that nobody wants is read before the sender is cut off. */
static size_t drain_limit(const struct exchange *x)
{
    bool too_large = x->req.problems.n && !strcmp(x->req.problems.list[0].code, ERR_BODY_TOO_LARGE);

    return too_large ? (size_t)DRAIN_TOO_LARGE : (size_t)DRAIN_MAX;
}

/* Tells whether more is announced than is drained: then the answer goes out before the body. */
static bool beyond_drain(const struct exchange *x)
{
    const char *length = MHD_lookup_connection_value(
        x->connection, MHD_HEADER_KIND, "Content-Length");

    return length && strtoull(length, NULL, 10) > drain_limit(x);
}

void exchange_cut(struct exchange *x)
{
    answer_raw(x);
    x->state = X_CUT;
    x->cut_us = x->server->turn_us;
    x->close_after = true;
    x->drained = 0;
}

/* Tells whether the route takes a file, whose link is looked up before it is read. */
bool takes_file(const struct route *r)
{
    return r->declared && (r->declared->flags & WHARF_R_RAW_BODY) &&
           !strcmp(r->plugin->name, "wharf");
}

/* Goes on after the headers, and again when the key or the link was read. */
static enum MHD_Result after_headers(struct exchange *x, bool known_good)
{
    bool wait = false, good = known_good && check_key(x, &wait);

    if (good && wait) {
        x->state = X_AUTH;
        exchange_suspend(x);
        dispatch_auth(x);
        return MHD_YES;
    }
    if (good && !x->upload && takes_file(x->req.route)) {
        x->state = X_AUTH;
        exchange_suspend(x);
        x->req.engine->uploads->begin(x);
        return MHD_YES;
    }
    good = good && check_after_key(x) && (!x->upload || x->req.engine->uploads->headers_ok(x));
    x->state = good ? X_BODY : X_REFUSED;
    x->body_idle_us = x->server->turn_us;
    /* Whoever asks before sending gets the refusal now; a body that is on its way is drained
     * first. */
    if (!good && (x->expects || x->close_after)) {
        x->close_after = true;
        return exchange_answer(x);
    }
    if (!good && beyond_drain(x))
        exchange_cut(x);
    return MHD_YES;
}

/* Refuses what the judge of heads says (head.h): at once, and what comes behind is dropped while
 * the client reads. */
static void refuse_unread(struct exchange *x, const struct head_refusal *r)
{
    static const char *const codes[] = {[HEAD_MALFORMED] = ERR_HTTP_MALFORMED,
        [HEAD_TARGET_LONG] = ERR_URI_TOO_LONG,
        [HEAD_FIELDS_LARGE] = ERR_HEADERS_TOO_LARGE,
        [HEAD_BODY_LARGE] = ERR_BODY_TOO_LARGE,
        [HEAD_EXPECTATION] = ERR_HTTP_EXPECTATION,
        [HEAD_CODING] = ERR_HTTP_TRANSFER_CODING,
        [HEAD_METHOD] = ERR_HTTP_METHOD,
        [HEAD_VERSION] = ERR_HTTP_VERSION};

    if (!x->req.problems.n)
        req_fail(&x->req, codes[r->verdict], NULL, r->why ? "%s" : NULL, r->why);
    x->state = X_REFUSED;
    x->body_idle_us = x->server->turn_us;
    exchange_cut(x);
}

/* Tells whether the request was judged. False: libmicrohttpd got it past the tap, which the check
 * at start would have found. It is not served. */
static bool was_judged(const struct exchange *x)
{
    if (x->peer && x->number <= x->peer->tap.head.given)
        return true;
    log_error(
        "http.unjudged", "a request came past the judge of requests; its connection is closed");
    return false;
}

static enum MHD_Result first_call(struct exchange *x, struct MHD_Connection *c, const char *method)
{
    const struct head_refusal *refusal;

    x->connection = c;
    if (x->peer)
        x->peer->busy = x->peer->used = true;
    if (!was_judged(x))
        return MHD_NO;
    refusal = head_tap_refusal(&x->peer->tap, x->number);
    if (refusal && !refusal->in_body)
        method = refusal->method;
    x->head_only = !strcmp(method, "HEAD");
    x->req.head.method = arena_dupz(x->req.arena, method).p;
    if (refusal && !refusal->in_body) {
        x->req.head.path = arena_dup(x->req.arena, refusal->path, strlen(refusal->path));
        refuse_unread(x, refusal);
        return MHD_YES;
    }
    split_uri(x);
    read_form(x);
    if (request_asks_request(&x->req)) {
        if (to_hooks(x, STAGE_REQUEST))
            return MHD_YES;
        req_fail(&x->req, ERR_OVERLOADED, NULL, NULL);
        return after_headers(x, false);
    }
    return after_headers(x, check_its_route(x));
}

static enum MHD_Result take_data(struct exchange *x, const char *data, size_t *size)
{
    const struct head_refusal *refusal = head_tap_refusal(&x->peer->tap, x->number);

    x->body_idle_us = x->server->turn_us;
    x->server->run_again = true;
    x->drained += *size;
    if (refusal && x->state != X_CUT) {
        refuse_unread(x, refusal);
    } else if (x->state == X_BODY && x->upload) {
        x->server->bulk_came = true;
        if (!x->req.engine->uploads->take(x, data, *size)) {
            x->state = X_REFUSED;
            x->drained = 0;
        }
    } else if (x->state == X_BODY && takes_body(x)) {
        buf_add(&x->body, data, *size);
        if (x->body.n > x->body_limit) {
            req_fail(&x->req, ERR_BODY_TOO_LARGE, NULL, "The body has more than %zu bytes",
                x->body_limit);
            x->state = X_REFUSED;
            buf_done(&x->body);
            x->drained = 0;
        }
    } else if (x->state == X_BODY && x->drained > DRAIN_MAX) {
        req_fail(&x->req, ERR_BODY_TOO_LARGE, NULL, "%s takes no body", x->req.head.method);
        exchange_cut(x);
    } else if (x->state == X_REFUSED && x->drained >= drain_limit(x)) {
        exchange_cut(x);
    }
    *size = 0;
    return x->drained > DROP_MAX && x->state == X_CUT ? MHD_NO : MHD_YES;
}

enum MHD_Result exchange_handle(void *cls, struct MHD_Connection *c, const char *url,
    const char *method, const char *version, const char *upload_data, size_t *upload_data_size,
    void **con_cls)
{
    struct exchange *x = *con_cls;

    (void)cls, (void)url, (void)version;
    if (!x)
        return MHD_NO;
    if (still_held(x))
        return MHD_YES;
    if (x->state == X_NEW)
        return first_call(x, c, method);
    if (x->state == X_ASKED) /* resumed: request hooks have run */
        return after_headers(x, !x->req.problems.n && check_its_route(x));
    if (x->state == X_KEYED) /* resumed: the key is known */
        return after_headers(x, x->req.problems.n == 0);
    if (x->state == X_QUEUED) {
        *upload_data_size = 0;
        return MHD_YES;
    }
    if (*upload_data_size && (x->state == X_BODY || x->state == X_REFUSED || x->state == X_CUT))
        return take_data(x, upload_data, upload_data_size);
    if (x->state == X_CUT)
        return MHD_NO; /* the body is over: so is the connection */
    if (x->state == X_REFUSED || x->state == X_ANSWER)
        return exchange_answer(x);
    if (x->state == X_BODY) {
        if (dispatch(x))
            return exchange_answer(x);
        wait_for_lanes(x);
    }
    return MHD_YES;
}
