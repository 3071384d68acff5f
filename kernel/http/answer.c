/* answer.c - the envelope, problem details, headers, gzip (docs/spec/01-platform.md sections 1 and 2.4). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <zlib.h>

#include "http/exchange.h"
#include "util/str.h"

enum { ENDPOINT_MAX = 512 };

static const char *const title_of_status[] = {"Bad request", "Unauthorized", "", "Forbidden", "Not found",
    "Method not allowed", "Not acceptable", "", "Request timeout", "Conflict"};

static bool told_before(const struct wharf_req *req, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (req->problems[k].path.p && str_eq(req->problems[k].path, req->problems[i].path))
            return true;
    }
    return false;
}

/* The problems of the first one's code: a request is refused for one reason, with everything that belongs to it. */
static void write_errors(struct jw *w, const struct wharf_req *req)
{
    jw_open(w, "errors", '[');
    for (size_t i = 0; i < req->n_problems; i++) {
        if (req->problems[i].path.p && !strcmp(req->problems[i].code, req->problems[0].code) && !told_before(req, i))
            jw_str(w, NULL, req->problems[i].path);
    }
    jw_close(w, ']');
}

static wharf_str endpoint(const struct wharf_req *req)
{
    size_t n = req->path.n;

    if (n > ENDPOINT_MAX) {
        n = ENDPOINT_MAX;
        while (n && ((unsigned char)req->path.p[n] & 0xC0) == 0x80)
            n--;
    }
    return (wharf_str){req->path.p, n};
}

static wharf_str first_message(const struct wharf_req *req)
{
    if (!strcmp(req->problems[0].code, "internal"))
        return arena_printf(
            req->arena, "Something went wrong on our side; the request is known as %s", req->request_id);
    return req->problems[0].text;
}

static void write_envelope(struct buf *out, const struct wharf_req *req, int status)
{
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    if (req->n_problems || !req->out.n)
        jw_null(&w, "data");
    else
        jw_raw(&w, "data", buf_str(&req->out));
    jw_str(&w, "message", req->n_problems ? first_message(req) : req->message);
    jw_int(&w, "status", status);
    jw_z(&w, "code", req->n_problems ? req->problems[0].code : req->success_code);
    write_errors(&w, req);
    if (req->pagination.n && !req->n_problems)
        jw_raw(&w, "pagination", req->pagination);
    else
        jw_null(&w, "pagination");
    jw_str(&w, "endpoint", endpoint(req));
    jw_close(&w, '}');
}

static void write_problem(struct buf *out, const struct wharf_req *req, int status)
{
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    jw_str(&w, "type", arena_printf(req->arena, "urn:problem:%s", req->problems[0].code));
    jw_z(&w, "title", status < 410 ? title_of_status[status - 400] : status < 500 ? "Not possible" : "Server trouble");
    jw_int(&w, "status", status);
    jw_str(&w, "detail", first_message(req));
    jw_z(&w, "instance", req->request_id);
    jw_z(&w, "code", req->problems[0].code);
    write_errors(&w, req);
    jw_open(&w, "violations", '[');
    for (size_t i = 0; i < req->n_problems; i++) {
        if (!req->problems[i].path.p)
            continue;
        jw_open(&w, NULL, '{');
        jw_str(&w, "path", req->problems[i].path);
        jw_z(&w, "rule", req->problems[i].rule ? req->problems[i].rule : "format");
        jw_str(&w, "message", req->problems[i].text);
        jw_close(&w, '}');
    }
    jw_close(&w, ']');
    jw_close(&w, '}');
}

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

/* ---- headers ---- */

static void add(struct MHD_Response *r, const char *name, const char *value)
{
    MHD_add_response_header(r, name, value);
}

static void cors_headers(const struct exchange *x, struct MHD_Response *r)
{
    if (!x->origin.n)
        return;
    add(r, "Access-Control-Allow-Origin", x->origin.p);
    add(r, "Access-Control-Expose-Headers",
        "Content-Type, Request-Id, X-Request-Id, SVC-Datetime-Format, SVC-Mode, ETag, Vary, Cache-Control, RateLimit, "
        "RateLimit-Policy, "
        "Retry-After, Location, Deprecation, Sunset, Link, Preference-Applied, Idempotent-Replayed");
    if (!strcmp(x->req.method, "OPTIONS")) {
        add(r, "Access-Control-Allow-Methods", x->allow);
        add(r, "Access-Control-Allow-Headers",
            "SVC-API-KEY, X-API-KEY, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Prefer, "
            "SVC-Datetime-Format, "
            "X-Request-Id");
        add(r, "Access-Control-Max-Age", "7200");
    }
}

static const char *const datetime_headers[] = {"iso_8601;type=string;precision=milliseconds",
    "epoch;type=integer;precision=seconds", "epoch_millis;type=integer;precision=milliseconds"};

static void common_headers(const struct exchange *x, struct MHD_Response *r, int status)
{
    const struct wharf_req *req = &x->req;
    bool read = !strcmp(req->method, "GET") || x->head_only;
    char text[16];

    add(r, "Request-Id", req->request_id);
    add(r, "X-Content-Type-Options", "nosniff");
    add(r, "Cache-Control", read && status == 200 ? "private, no-cache" : "no-store");
    if (req->client_request_id.n)
        add(r, "X-Request-Id", req->client_request_id.p);
    if (req->who && req->who->organization.n)
        add(r, "SVC-Mode", req->who->test_mode ? "test" : "live");
    if (read && status == 200)
        add(r, "Vary", "Accept, Accept-Encoding, SVC-Datetime-Format");
    if (req->location_header.n && status == 201)
        add(r, "Location", req->location_header.p);
    if (req->preference_applied.n)
        add(r, "Preference-Applied", req->preference_applied.p);
    if (x->allow)
        add(r, "Allow", x->allow);
    if (status == 401)
        add(r, "WWW-Authenticate", "ApiKey realm=\"api\"");
    if (req->retry_after) {
        snprintf(text, sizeof(text), "%d", req->retry_after);
        add(r, "Retry-After", text);
    }
    if (x->close_after || x->server->draining)
        add(r, "Connection", "close");
    cors_headers(x, r);
}

static struct MHD_Response *empty_response(struct exchange *x, int status)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);

    common_headers(x, r, status);
    return r;
}

/* Documents that are served as they are: openapi.json, probes. */
static struct MHD_Response *raw_response(struct exchange *x, int status, struct buf *b)
{
    struct MHD_Response *r;
    size_t n;
    char *p;

    x->answer_bytes = b->n;
    p = buf_take(b, &n);
    r = MHD_create_response_from_buffer(n, p ? p : strdup(""), MHD_RESPMEM_MUST_FREE);
    common_headers(x, r, status);
    return r;
}

struct MHD_Response *answer_build(struct exchange *x, int *ret_status)
{
    struct wharf_req *req = &x->req;
    int status = req->n_problems ? code_status(req->engine, req->problems[0].code) : req->status;
    bool problem = req->n_problems && req->problem_details, packed = false;
    struct MHD_Response *r;
    struct buf b;

    if (!req->n_problems && (req->out.failed || !status)) {
        req_fail(req, "internal", NULL, NULL);
        status = 500;
    }
    *ret_status = x->answer_status = status;
    if (status == 204 || status == 304)
        return empty_response(x, status);
    buf_init(&b, 256u << 20);
    if (req->raw_type && !req->n_problems)
        buf_add(&b, req->out.p, req->out.n);
    else if (problem)
        write_problem(&b, req, status);
    else
        write_envelope(&b, req, status);
    if (x->gzip_answer && b.n >= GZIP_FROM)
        packed = deflate_buf(&b);
    r = raw_response(x, status, &b);
    if (req->raw_type && !req->n_problems) {
        add(r, "Content-Type", req->raw_type);
    } else {
        add(r, "Content-Type", problem ? "application/problem+json" : "application/json; charset=utf-8");
        add(r, "SVC-Datetime-Format", datetime_headers[req->datetime_format]);
    }
    if (packed)
        add(r, "Content-Encoding", "gzip");
    return r;
}

/* ---- answers that libmicrohttpd can not give ---- */

static void send_and_close_ours(int fd, wharf_str text)
{
    if (send(fd, text.p, text.n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        shutdown(fd, SHUT_RDWR);
    else
        shutdown(fd,
            SHUT_WR); /* what the peer still sends is read and dropped, so that the answer is not lost with a reset */
}

/* OPTIONS is answered from the headers alone, and it is no problem. */
static void options_raw(struct exchange *x)
{
    struct buf out;

    buf_init(&out, 4096);
    buf_addf(&out, "HTTP/1.1 204 No Content\r\nAllow: %s\r\nRequest-Id: %s\r\n", x->allow ? x->allow : "OPTIONS",
        x->req.request_id);
    BUF_LIT(&out, "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
    x->answer_status = 204;
    x->answer_bytes = 0;
    send_and_close_ours(x->peer->fd, buf_str(&out));
    buf_done(&out);
}

/* A refusal while the body is still on its way: libmicrohttpd takes answers before or after a body, not inside it. */
void answer_raw(struct exchange *x)
{
    static const char *const phrases[] = {"Bad Request", "Unauthorized", "Refused", "Forbidden", "Not Found",
        "Method Not Allowed", "Not Acceptable", "Refused", "Request Timeout", "Conflict"};
    struct wharf_req *req = &x->req;
    struct buf body, out;
    int status;

    if (!req->n_problems) {
        options_raw(x);
        return;
    }
    status = code_status(req->engine, req->problems[0].code);
    buf_init(&body, 1 << 20);
    buf_init(&out, 1 << 20);
    if (req->problem_details)
        write_problem(&body, req, status);
    else
        write_envelope(&body, req, status);
    buf_addf(&out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", status, status < 410 ? phrases[status - 400] : "Refused",
        req->problem_details ? "application/problem+json" : "application/json; charset=utf-8");
    buf_addf(
        &out, "SVC-Datetime-Format: %s\r\nRequest-Id: %s\r\n", datetime_headers[req->datetime_format], req->request_id);
    if (x->allow)
        buf_addf(&out, "Allow: %s\r\n", x->allow);
    if (status == 401)
        BUF_LIT(&out, "WWW-Authenticate: ApiKey realm=\"api\"\r\n");
    buf_addf(&out,
        "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: "
        "%zu\r\n\r\n",
        body.n);
    buf_add(&out, body.p, body.n);
    x->answer_status = status;
    x->answer_bytes = body.n;
    send_and_close_ours(x->peer->fd, buf_str(&out));
    buf_done(&body);
    buf_done(&out);
}

/* Where there is no request to speak of yet (headers that never end), or a thread still has it. */
void answer_timeout_raw(struct peer *p, bool handler)
{
    static const char head[] =
        "Content-Type: application/json; charset=utf-8\r\nConnection: close\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n";
    static const char *const bodies[] = {"{\"data\":null,\"message\":\"The request was not sent within the time "
                                         "limit\",\"status\":408,\"code\":\"request.timeout\","
                                         "\"errors\":[],\"pagination\":null,\"endpoint\":\"\"}",
        "{\"data\":null,\"message\":\"The request took longer than its time limit and was given "
        "up\",\"status\":504,\"code\":\"timeout\","
        "\"errors\":[],\"pagination\":null,\"endpoint\":\"\"}"};
    struct buf out;

    buf_init(&out, 4096);
    buf_addf(&out, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s",
        handler ? "504 Gateway Timeout" : "408 Request Timeout", head, strlen(bodies[handler]), bodies[handler]);
    send_and_close_ours(p->fd, buf_str(&out));
    shutdown(p->fd, SHUT_RD);
    buf_done(&out);
}
