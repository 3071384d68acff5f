/* http_access.c - one JSON line per request, written once per turn of the loop
 * (docs/spec/01-platform.md section 17 'Access log'), and the metrics of its route. Never the
 * key, query values, or bodies. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "event/requestlog.h"
#include "http/exchange.h"
#include "resource/envelope.h"
#include "resource/access.h"
#include "process/board.h"
#include "util/disk.h"
#include "util/id.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum {
    FLUSH_AT = 64 * 1024,
    PATH_ID_MAX = 40 /* ids and UUIDs are shorter; keys and tokens that got into a path are not */
};

static bool not_logged(const struct wharf_req *req)
{
    return req->route && req->route->kind == ROUTE_KERNEL && req->route->silent;
}

/* Writes the client's address; empty when it has none. */
static const char *client_address(struct exchange *x, char text[IP_TEXT])
{
    struct ip ip;

    text[0] = 0;
    if (client_ip(x, &ip))
        ip_text(&ip, text);
    return text;
}

/* ---- the request log ---- */

/* Writes and errors always, other reads when that is set; of requests whose organization is
 * known. */
static bool http_access_kept(const struct exchange *x)
{
    const struct wharf_req *req = &x->req;

    if (!x->server->requests || !req->access.who || !req->access.who->organization.n ||
        !req->head.method)
        return false;
    return x->answer_status >= 400 || x->server->config->request_log_reads ||
           !strcmp(req->head.method, "POST") || !strcmp(req->head.method, "DELETE") ||
           !strcmp(req->head.method, "PUT");
}

/* Returns the beginning of a long text, whole characters. */
static wharf_str http_access_beginning(wharf_str s)
{
    size_t n = REQUEST_BODY_READ;

    if (s.n <= n)
        return s;
    while (n && ((unsigned char)s.p[n] & 0xC0) == 0x80)
        n--;
    return (wharf_str){s.p, n};
}

/* Returns what is answered as JSON; of long answers the data only, which is their beginning. */
static wharf_str answered_body(struct exchange *x, struct buf *b)
{
    struct wharf_req *req = &x->req;

    if (req->reply.raw_type || req->reply.served || x->answer_status == 204 ||
        x->answer_status == 304)
        return str_z("");
    if (req->reply.replay.n && !req->problems.n)
        return http_access_beginning(req->reply.replay);
    if (!req->problems.n && req->reply.out.n > REQUEST_BODY_READ)
        return http_access_beginning(buf_str(&req->reply.out));
    envelope_write(b, req, x->answer_status);
    return buf_str(b);
}

static void ids_of_path(const struct wharf_req *req, struct request_line *l)
{
    size_t n = req->route ? req->route->n_params : 0;

    /* Others are tokens of links, which stand for no row. */
    if (!n || req->route->public_route)
        return;
    l->path_id = req->params[n - 1].n < PATH_ID_MAX ? req->params[n - 1] : str_z("");
    if (n > 1 && req->params[0].n < PATH_ID_MAX)
        l->parent_id = req->params[0];
}

/* Says who may see the request's line: it shows what its key could see, so it is for who reaches
 * and reads as much. */
static void seen_of_request(const struct wharf_req *req, struct request_line *l)
{
    l->areas = request_areas(req);
    l->reach = req->access.who->access.reach;
    if (route_for_some(req->route))
        l->audience = seen_one(req->arena, req->access.who->access.user_id);
}

static void request_line(struct exchange *x, int64_t us)
{
    struct wharf_req *req = &x->req;
    const struct principal *who = req->access.who;
    bool bodies = x->answer_status >= 400 ||
                  (strcmp(req->head.method, "GET") != 0 && !x->head_only);
    struct request_line l = {.organization = who->organization,
        .id = str_z(req->request_id),
        .method = str_z(req->head.method)};
    const char *agent = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "User-Agent");
    char ip[IP_TEXT];
    struct buf b;

    buf_init(&b, 1 << 20);
    l.route = str_z(req->route ? req->route->pattern : NULL);
    l.path = http_access_beginning(req->head.path);
    l.query = req->head.raw_query;
    l.code = str_z(req->problems.n ? req->problems.list[0].code : NULL);
    l.key_id = who->key_id;
    l.principal_id = who->access.user_id.n ? who->access.user_id : who->access.device_id;
    l.ip = str_z(client_address(x, ip));
    l.user_agent = str_z(agent);
    l.client_request_id = req->head.client_request_id;
    l.idempotency_key = req->head.idempotency_key;
    l.replayed = req->reply.replayed;
    if (bodies && req->body && req->body_text.n)
        l.request_body = http_access_beginning(req->body_text);
    if (bodies)
        l.response_body = answered_body(x, &b);
    if (req->reply.answered && !req->problems.n)
        l.row_id = req->reply.answered_id;
    ids_of_path(req, &l);
    seen_of_request(req, &l);
    l.created_us = req->now_us;
    l.duration_us = us;
    l.request_bytes = (int64_t)x->body.n;
    l.response_bytes = (int64_t)x->answer_bytes;
    l.status = x->answer_status;
    request_log_add(x->server->requests, &l);
    buf_done(&b);
}

void access_line(struct exchange *x)
{
    struct wharf_req *req = &x->req;
    int64_t us = clock_monotonic_us() - req->start_us;
    char iso[ISO_MS_LEN + 1], ip[IP_TEXT];
    struct jw w;

    if (req->route && req->route->metrics)
        board_count(req->route->metrics, x->answer_status, us);
    if (x->deprecated && req->route && req->route->metrics)
        atomic_fetch_add_explicit(&req->route->metrics->deprecated, 1, memory_order_relaxed);
    if (not_logged(req))
        return;
    if (http_access_kept(x))
        request_line(x, us);
    if (x->server->access_fd < 0)
        return;
    time_format_iso(req->now_us, iso);
    jw_init(&w, &x->server->access);
    jw_open(&w, NULL, '{');
    jw_str(&w, "time", (wharf_str){iso, ISO_MS_LEN});
    jw_z(&w, "request_id", req->request_id);
    jw_z(&w, "method", req->head.method ? req->head.method : "");
    jw_z(&w, "route", req->route ? req->route->pattern : NULL);
    jw_int(&w, "status", x->answer_status);
    jw_z(&w, "code", req->problems.n ? req->problems.list[0].code : NULL);
    jw_raw(&w, "ms",
        arena_printf(req->arena, "%lld.%03lld", (long long)us / 1000, (long long)us % 1000));
    jw_int(&w, "bytes", (int64_t)x->answer_bytes);
    if (req->access.who && req->access.who->key_id.n)
        jw_str(&w, "key", req->access.who->key_id);
    else
        jw_null(&w, "key");
    jw_z(&w, "ip", *client_address(x, ip) ? ip : NULL);
    jw_close(&w, '}');
    buf_addc(&x->server->access, '\n');
    if (x->server->access.n > FLUSH_AT)
        access_flush(x->server);
}

static void lose_lines(const char *p, size_t n, int error)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += p[i] == '\n';
    if (disk_lost(DISK_ACCESS_LOG, lines, error))
        log_error("access_log.lost", "lines of the access log are lost: %s", strerror(error));
}

void access_flush(struct server *s)
{
    const char *p = s->access.p;
    size_t left = s->access.n;

    while (left) {
        ssize_t n = write(s->access_fd, p, left);

        if (n <= 0) { /* a full disk or a closed pipe must not stop the service */
            lose_lines(p, left, n < 0 ? errno : ENOSPC);
            break;
        }
        p += n;
        left -= (size_t)n;
    }
    buf_clear(&s->access);
}

void access_renew(struct server *s)
{
    uint64_t turn = atomic_load_explicit(&s->boot->board->log_turn, memory_order_relaxed);
    const char *file = s->config->access_log;
    bool good = true;

    if (turn == s->log_turn)
        return;
    s->log_turn = turn;
    access_flush(s);
    if (s->access_fd > STDERR_FILENO)
        good = log_file_renew(file, s->access_fd);
    if (!good || !log_reopen(s->config->log_file))
        log_warn("log.not_opened", "%s: %s; the old one is used on",
            good ? s->config->log_file : file, strerror(errno));
}
