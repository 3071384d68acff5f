/* http_answer.c - the envelope, problem details, headers, gzip (docs/spec/01-platform.md
 * sections 1 and 2.4). */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <zlib.h>

#include "http/served.h"
#include "http/deprecation.h"
#include "http/exchange.h"
#include "http/stream.h"
#include "http/tls.h"
#include "resource/envelope.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

/* ---- gzip ---- */

static bool deflate_buf(struct buf *b)
{
    z_stream z = {.next_in = (unsigned char *)b->p, .avail_in = (unsigned)b->n};
    struct buf packed;
    char *room;
    int r;

    if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    buf_init(&packed, b->max);
    z.avail_out = (unsigned)deflateBound(&z, b->n);
    room = buf_room(&packed, z.avail_out);
    z.next_out = (unsigned char *)room;
    r = room ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
    packed.n = z.total_out;
    deflateEnd(&z);
    if (r != Z_STREAM_END) {
        buf_done(&packed);
        return false;
    }
    buf_done(b);
    *b = packed;
    return true;
}

/* Packs what the kernel itself says, which is the same each time: the last one is kept, so that the
 * description of the API, 2.6 MB, costs the event loop 20 ms once and not with each request. */
static bool deflate_kept(struct exchange *x, struct buf *b)
{
    struct server *s = x->server;

    if (!x->req.route || x->req.route->kind != ROUTE_KERNEL || !x->etag[0] || b->n < KEPT_FROM)
        return deflate_buf(b);
    if (!strcmp(s->packed_tag, x->etag)) {
        buf_clear(b);
        buf_adds(b, buf_str(&s->packed));
        return true;
    }
    if (!deflate_buf(b))
        return false;
    buf_done(&s->packed);
    buf_init(&s->packed, b->n + 1);
    buf_adds(&s->packed, buf_str(b));
    memcpy(s->packed_tag, x->etag, sizeof(s->packed_tag));
    return true;
}

/* ---- headers ---- */

static void http_answer_add(struct MHD_Response *r, const char *name, const char *value)
{
    MHD_add_response_header(r, name, value);
}

static void cors_headers(const struct exchange *x, struct MHD_Response *r)
{
    if (!x->origin.n)
        return;
    http_answer_add(r, "Access-Control-Allow-Origin", x->origin.p);
    http_answer_add(r, "Access-Control-Expose-Headers",
        "Content-Type, Request-Id, X-Request-Id, SVC-Datetime-Format, SVC-Mode, ETag, Vary, "
        "Cache-Control, RateLimit, RateLimit-Policy, Retry-After, Location, Deprecation, Sunset, "
        "Link, Preference-Applied, Idempotent-Replayed, Tus-Resumable, Tus-Version, "
        "Upload-Offset, Upload-Length, Upload-Defer-Length, Upload-Expires, SVC-Unstable");
    if (!strcmp(x->req.head.method, "OPTIONS")) {
        http_answer_add(r, "Access-Control-Allow-Methods", x->allow);
        http_answer_add(r, "Access-Control-Allow-Headers",
            "SVC-API-KEY, X-API-KEY, Authorization, Content-Type, Idempotency-Key, If-Match, "
            "If-None-Match, Prefer, SVC-Datetime-Format, X-Request-Id, Tus-Resumable, "
            "Upload-Length, Upload-Offset, Upload-Metadata, Upload-Defer-Length, Upload-Checksum");
        http_answer_add(r, "Access-Control-Max-Age", "7200");
    }
}

static void hooks_headers(const struct req_reply *reply, struct MHD_Response *r)
{
    for (size_t i = 0; i < reply->n_added; i++)
        http_answer_add(r, reply->added[i].name.p, reply->added[i].value.p);
}

static const char *const datetime_headers[] = {"iso_8601;type=string;precision=milliseconds",
    "epoch;type=integer;precision=seconds", "epoch_millis;type=integer;precision=milliseconds"};

static const char *cache_control(const struct wharf_req *req, bool good_read)
{
    if ((req->route && (req->route->stream_tokens || req->route->event_stream)) || req->reply.page)
        return "no-store";
    if (req->reply.served && !req->problems.n)
        return req->reply.served->cache.p;
    return good_read ? "private, no-cache" : "no-store";
}

static bool is_added(const struct req_reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->n_added; i++) {
        if (!strcasecmp(reply->added[i].name.p, name))
            return true;
    }
    return false;
}

/* Adds the request's own identity, and what the answer may be kept for. */
static void identity_headers(const struct wharf_req *req, struct MHD_Response *r, bool good_read)
{
    http_answer_add(r, "Request-Id", req->request_id);
    http_answer_add(r, "X-Content-Type-Options", "nosniff");
    if (!is_added(&req->reply, "Cache-Control"))
        http_answer_add(r, "Cache-Control", cache_control(req, good_read));
    if (req->reply.foreign && !req->problems.n) /* it may run nothing in the name of this server */
        http_answer_add(r, "Content-Security-Policy", "sandbox");
}

/* Returns the seconds of Retry-After, or 0. Whoever is refused because the server has too much to
 * do hears when to ask again, also from code that gave no time. */
static int http_answer_retry_s(const struct wharf_req *req, int status)
{
    if (req->reply.retry_after || status != 503 || !req->problems.n)
        return req->reply.retry_after;
    return !strcmp(req->problems.list[0].code, ERR_OVERLOADED);
}

/* Adds what the route says of itself. */
static void route_headers(const struct exchange *x, struct MHD_Response *r)
{
    if (x->allow)
        http_answer_add(r, "Allow", x->allow);
    if (x->req.route && x->req.route->unstable)
        http_answer_add(r, "SVC-Unstable", "true");
    if (x->deprecated)
        deprecation_headers(x->deprecated, r);
}

static void common_headers(const struct exchange *x, struct MHD_Response *r, int status)
{
    const struct wharf_req *req = &x->req;
    bool read = !strcmp(req->head.method, "GET") || x->head_only;
    bool fine = status == 200 || status == 304;
    int retry_s = http_answer_retry_s(req, status);
    char text[16];

    identity_headers(req, r, read && fine);
    if (req->reply.replayed)
        http_answer_add(r, "Idempotent-Replayed", "true");
    if (req->head.client_request_id.n)
        http_answer_add(r, "X-Request-Id", req->head.client_request_id.p);
    if (req->access.who && req->access.who->organization.n)
        http_answer_add(r, "SVC-Mode", req->access.who->test_mode ? "test" : "live");
    if (read && fine)
        http_answer_add(r, "Vary", "Accept, Accept-Encoding, SVC-Datetime-Format");
    if (req->reply.location_header.n && status == 201)
        http_answer_add(r, "Location", req->reply.location_header.p);
    if (req->reply.preference_applied.n)
        http_answer_add(r, "Preference-Applied", req->reply.preference_applied.p);
    route_headers(x, r);
    if (status == 401)
        http_answer_add(r, "WWW-Authenticate", "ApiKey realm=\"api\"");
    limit_headers(x, r);
    if (retry_s) {
        snprintf(text, sizeof(text), "%d", retry_s);
        http_answer_add(r, "Retry-After", text);
    }
    if (x->close_after || x->server->draining)
        http_answer_add(r, "Connection", "close");
    cors_headers(x, r);
    hooks_headers(&req->reply, r);
}

static struct MHD_Response *empty_response(struct exchange *x, int status)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);

    common_headers(x, r, status);
    return r;
}

struct body { /* the bytes of an answer, while libmicrohttpd has them */
    struct buf text;
    struct server *server;
};

static void body_over(void *arg)
{
    struct body *b = arg;

    kept_buf_give(b->server, &b->text);
    free(b);
}

/* Makes a response of the buffer, which is the answer's from here on. */
static struct MHD_Response *raw_response(struct exchange *x, int status, struct buf *b)
{
    struct body *body = malloc(sizeof(*body));
    wharf_str text = buf_str(b);
    struct MHD_Response *r;

    if (!body) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    x->answer_bytes = text.n;
    *body = (struct body){*b, x->server};
    r = MHD_create_response_from_buffer_with_free_callback_cls(
        text.n, (void *)text.p, body_over, body);
    common_headers(x, r, status);
    return r;
}

static void add_etag(const struct exchange *x, struct MHD_Response *r, bool packed)
{
    char text[ETAG_MAX + 8];

    if (!x->etag[0])
        return;
    snprintf(text, sizeof(text), "\"%s%s\"", x->etag, packed ? "-gz" : "");
    http_answer_add(r, "ETag", text);
}

static void write_body(struct wharf_req *req, int status, struct buf *b)
{
    struct req_reply *reply = &req->reply;

    if (req->problems.n && req->head.problem_details)
        problem_details_write(b, req, status);
    else if (req->problems.n)
        envelope_write(b, req, status);
    else if (reply->replay.n)
        buf_add(b, reply->replay.p, reply->replay.n);
    else if (reply->raw_type)
        buf_add(b, reply->out.p, reply->out.n);
    else
        envelope_write(b, req, status);
}

static struct MHD_Response *body_response(struct exchange *x, int status)
{
    struct wharf_req *req = &x->req;
    bool problem = req->problems.n && req->head.problem_details, packed = false;
    struct MHD_Response *r;
    struct buf b;

    kept_buf_take(x->server, &b, 256u << 20);
    buf_room(&b, req->reply.out.n + 512);
    write_body(req, status, &b);
    if (x->gzip_answer && b.n >= GZIP_FROM)
        packed = deflate_kept(x, &b);
    r = raw_response(x, status, &b);
    if (req->reply.raw_type && !req->problems.n) {
        http_answer_add(r, "Content-Type", req->reply.raw_type);
        if (req->reply.page) {
            http_answer_add(r, "Content-Security-Policy",
                "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
                "frame-ancestors 'none'; base-uri "
                "'none'");
            http_answer_add(r, "Referrer-Policy", "no-referrer");
        }
    } else {
        http_answer_add(r, "Content-Type",
            problem ? "application/problem+json" : "application/json; charset=utf-8");
        http_answer_add(r, "SVC-Datetime-Format", datetime_headers[req->head.datetime_format]);
    }
    if (packed)
        http_answer_add(r, "Content-Encoding", "gzip");
    if (req->reply.entity.n && !req->problems.n)
        http_answer_add(r, "ETag", req->reply.entity.p);
    add_etag(x, r, packed);
    return r;
}

/* Tells whether the answer goes to an EventSource that would never ask again: on anything but 200
 * it gives up for good, also when the server is only busy, or the client has too many streams. */
static bool is_refused_event_source(const struct exchange *x, int status)
{
    const struct route *route = x->req.route;
    const char *accept = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Accept");

    return route && (route->stream_tokens || route->event_stream) && accept &&
           !strcasecmp(accept, "text/event-stream") && (status == 429 || status == 503);
}

/* Makes a stream of one frame, which says why there is none now, and when to ask again. */
static struct MHD_Response *refused_stream(struct exchange *x, int status)
{
    struct MHD_Response *r;
    struct buf b;

    kept_buf_take(x->server, &b, 1u << 20);
    buf_addf(&b, "retry: %d\nevent: stream.refused\ndata: ",
        1000 * (x->req.reply.retry_after ? x->req.reply.retry_after : 1));
    envelope_write(&b, &x->req, status);
    BUF_LIT(&b, "\n\n");
    r = raw_response(x, 200, &b);
    http_answer_add(r, "Content-Type", "text/event-stream; charset=utf-8");
    http_answer_add(r, "X-Accel-Buffering", "no");
    return r;
}

struct MHD_Response *answer_build(struct exchange *x, int *ret_status)
{
    struct wharf_req *req = &x->req;
    int status = req->reply.status;
    struct MHD_Response *r;

    if (req->access.offer_missed)
        offer_missed(x);
    if (req->problems.n)
        status = code_status(req->engine, req->problems.list[0].code);
    if (!req->problems.n && (req->reply.out.failed || !status)) {
        req_fail(req, ERR_INTERNAL, NULL, NULL);
        status = 500;
    }
    if (req->stream && !req->problems.n && address_allowed(x)) {
        r = x->head_only ? MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT)
                         : stream_response(x);
        if (r) {
            http_answer_add(r, "Content-Type", "text/event-stream; charset=utf-8");
            http_answer_add(r, "X-Accel-Buffering", "no");
            common_headers(x, r, status);
            *ret_status = x->answer_status = status;
            return r;
        }
    }
    if (req->problems.n)
        status = code_status(req->engine, req->problems.list[0].code);
    if (req->problems.n && is_refused_event_source(x, status)) {
        *ret_status = x->answer_status = 200;
        return refused_stream(x, status);
    }
    *ret_status = x->answer_status = status;
    x->deprecated = deprecation_used(req);
    if (req->reply.served && !req->problems.n) {
        r = served_response(x, ret_status);
        common_headers(x, r, *ret_status);
        return r;
    }
    if (etag_build(x)) {
        *ret_status = x->answer_status = status = 304;
        limit_uncharge(x);
    }
    if (status == 204 || status == 304) {
        r = empty_response(x, status);
        add_etag(x, r, false);
        return r;
    }
    return body_response(x, status);
}

/* ---- answers that libmicrohttpd can not give ---- */

static void send_and_close_ours(struct peer *p, wharf_str text)
{
    if (tls_send(p->tls, p->fd, text.p, text.n))
        /* what still comes is read and dropped, so that the answer is not lost with a reset */
        tls_end(p->tls, p->fd);
    else
        shutdown(p->fd, SHUT_RDWR); /* also in the middle of a handshake */
}

/* Answers OPTIONS from the headers alone; it is no problem. */
static void options_raw(struct exchange *x)
{
    struct buf out;

    buf_init(&out, 4096);
    buf_addf(&out, "HTTP/1.1 204 No Content\r\nAllow: %s\r\nRequest-Id: %s\r\n",
        x->allow ? x->allow : "OPTIONS", x->req.request_id);
    BUF_LIT(&out,
        "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
    x->answer_status = 204;
    x->answer_bytes = 0;
    send_and_close_ours(x->peer, buf_str(&out));
    buf_done(&out);
}

static const char *phrase(int status)
{
    const char *text = MHD_get_reason_phrase_for((unsigned)status);

    return text ? text : "Refused";
}

/* Sends a whole answer, past libmicrohttpd; then the connection ends. req holds the problem; x
 * says whom it is for. */
static void refuse_raw(struct exchange *x, struct wharf_req *req)
{
    struct req_head *head = &req->head;
    int status = code_status(req->engine, req->problems.list[0].code);
    int retry_s = http_answer_retry_s(req, status);
    struct buf body, out;

    buf_init(&body, 1 << 20);
    buf_init(&out, 1 << 20);
    if (head->problem_details)
        problem_details_write(&body, req, status);
    else
        envelope_write(&body, req, status);
    buf_addf(&out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", status, phrase(status),
        head->problem_details ? "application/problem+json" : "application/json; charset=utf-8");
    buf_addf(&out, "SVC-Datetime-Format: %s\r\nRequest-Id: %s\r\n",
        datetime_headers[head->datetime_format], req->request_id);
    if (head->client_request_id.n)
        buf_addf(&out, "X-Request-Id: %s\r\n", head->client_request_id.p);
    if (req->access.who && req->access.who->organization.n)
        buf_addf(&out, "SVC-Mode: %s\r\n", req->access.who->test_mode ? "test" : "live");
    if (x->allow)
        buf_addf(&out, "Allow: %s\r\n", x->allow);
    if (retry_s)
        buf_addf(&out, "Retry-After: %d\r\n", retry_s);
    if (status == 401)
        BUF_LIT(&out, "WWW-Authenticate: ApiKey realm=\"api\"\r\n");
    buf_addf(&out,
        "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: "
        "close\r\nContent-Length: "
        "%zu\r\n\r\n",
        body.n);
    if (!x->head_only)
        buf_add(&out, body.p, body.n);
    x->answer_status = status;
    x->answer_bytes = body.n;
    send_and_close_ours(x->peer, buf_str(&out));
    buf_done(&body);
    buf_done(&out);
}

/* Answers a refusal while the body is still on its way: libmicrohttpd takes answers before or
 * after a body, not inside it. */
void answer_raw(struct exchange *x)
{
    if (x->req.problems.n)
        refuse_raw(x, &x->req);
    else
        options_raw(x);
}

/* Answers 504 while a thread or a statement still has the request: it reads only what never
 * changes once it was handed over. */
void answer_late(struct exchange *x)
{
    const struct wharf_req *req = &x->req;
    struct wharf_req late = {.arena = arena_new(0),
        .engine = req->engine,
        .head.method = req->head.method,
        .head.path = req->head.path,
        .head.problem_details = req->head.problem_details,
        .head.datetime_format = req->head.datetime_format,
        .head.client_request_id = req->head.client_request_id,
        .access.who = req->access.who};

    memcpy(late.request_id, req->request_id, sizeof(late.request_id));
    req_fail(&late, ERR_TIMEOUT, NULL, NULL);
    refuse_raw(x, &late);
    shutdown(x->peer->fd, SHUT_RD);
    arena_free(late.arena);
}

/* Answers a peer whose headers never end: there is no request to speak of yet. */
void answer_unsent(struct peer *p)
{
    static const char body[] =
        "{\"data\":null,\"message\":\"The request was not sent within the time "
        "limit\",\"status\":408,"
        "\"code\":\"request.timeout\",\"errors\":[],\"pagination\":null,\"endpoint\":\"\"}";
    char id[ID_MAX];
    struct buf out;

    id_new("req", clock_now_us(), id);
    buf_init(&out, 4096);
    buf_addf(&out,
        "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json; "
        "charset=utf-8\r\nSVC-Datetime-Format: %s\r\n"
        "Request-Id: %s\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: "
        "nosniff\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        datetime_headers[DATETIME_ISO], id, sizeof(body) - 1, body);
    send_and_close_ours(p, buf_str(&out));
    shutdown(p->fd, SHUT_RD);
    buf_done(&out);
}
