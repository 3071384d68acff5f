/* access.c - one JSON line per request, written once per turn of the loop (docs/spec/01-platform.md section 17 'Access log'), and the
 * metrics of its route. Never the key, query values, or bodies. */
#include <unistd.h>

#include "http/exchange.h"
#include "supervisor/board.h"
#include "util/str.h"
#include "util/time.h"

enum { FLUSH_AT = 64 * 1024 };

static bool not_logged(const struct wharf_req *req)
{
    return req->route && req->route->kind == ROUTE_KERNEL && req->route->silent;
}

static void client_address(struct exchange *x, struct jw *w)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    char text[64];

    if (!info || !info->client_addr || !address_text(info->client_addr, text, sizeof(text)))
        jw_null(w, "ip");
    else
        jw_z(w, "ip", text);
}

void access_line(struct exchange *x)
{
    struct wharf_req *req = &x->req;
    int64_t us = clock_monotonic_us() - req->start_us;
    char iso[ISO_MS_LEN + 1];
    struct jw w;

    if (req->route && req->route->metrics)
        board_count(req->route->metrics, x->answer_status, us);
    if (x->server->access_fd < 0 || not_logged(req))
        return;
    time_format_iso(req->now_us, iso);
    jw_init(&w, &x->server->access);
    jw_open(&w, NULL, '{');
    jw_str(&w, "time", (wharf_str){iso, ISO_MS_LEN});
    jw_z(&w, "request_id", req->request_id);
    jw_z(&w, "method", req->method ? req->method : "");
    jw_z(&w, "route", req->route ? req->route->pattern : NULL);
    jw_int(&w, "status", x->answer_status);
    jw_z(&w, "code", req->n_problems ? req->problems[0].code : NULL);
    jw_int(&w, "us", us);
    jw_int(&w, "bytes", (int64_t)x->answer_bytes);
    if (req->who && req->who->key_id.n)
        jw_str(&w, "key", req->who->key_id);
    else
        jw_null(&w, "key");
    client_address(x, &w);
    jw_close(&w, '}');
    buf_addc(&x->server->access, '\n');
    if (x->server->access.n > FLUSH_AT)
        access_flush(x->server);
}

void access_flush(struct server *s)
{
    const char *p = s->access.p;
    size_t left = s->access.n;

    while (left) {
        ssize_t n = write(s->access_fd, p, left);

        if (n <= 0)
            break; /* a full disk or a closed pipe must not stop the service */
        p += n;
        left -= (size_t)n;
    }
    buf_clear(&s->access);
}
