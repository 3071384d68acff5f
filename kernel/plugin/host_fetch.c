/* host_fetch.c - the service wharf.fetch (plugin-api/wharf/service/fetch.h) on top of net/client.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/fetch.h"
#include "net/guard.h"
#include "net/url.h"
#include "plugin/host.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/service/fetch.h"

enum { DEFAULT_BYTES = 10000000, DEFAULT_CONNECT = 5000, DEFAULT_STALL = 5000, DEFAULT_STALL_BYTES = 1024 };
enum { DEFAULT_TOTAL = 20000 };

struct fetch_box { /* the fetches of one request */
    struct net_queue *queue;
    struct wharf_fetch *first;
};

struct wharf_fetch {
    struct arena *arena; /* its own: residents start any number of fetches in one request */
    struct wharf_req *req;
    struct net_transfer *transfer;
    const char *family;
    struct fetch_verdict verdict;
    uint32_t flags;
    int fd;
    bool over, told, late; /* taken back; returned by wait() or next(); given up at the request's deadline */
    struct wharf_fetch *next;
};

/* ---- life ---- */

/* Takes one transfer back from the loop. */
static struct wharf_fetch *take(struct wharf_req *req, int64_t wait_us)
{
    struct net_transfer *t = net_queue_take(req->fetches->queue, wait_us);
    struct wharf_fetch *f = t ? net_arg(t) : NULL;

    if (!f)
        return NULL;
    f->over = true;
    f->verdict = f->late ? fetch_outcome_verdict(f->arena, NET_TIMEOUT, f->family)
                         : fetch_verdict(f->arena, t, f->family, f->flags & WHARF_FETCH_ANY_STATUS,
                               f->flags & (WHARF_FETCH_ANY_BODY | WHARF_FETCH_ANY_STATUS));
    if (f->fd >= 0)
        lseek(f->fd, 0, SEEK_SET);
    return f;
}

static void give_up(struct wharf_req *req, struct wharf_fetch *f)
{
    if (!f->over)
        net_cancel(req->engine->net, f->transfer);
    while (!f->over)
        take(req, -1);
}

static void f_done(wharf_req *req, wharf_fetch *f)
{
    give_up(req, f);
    net_transfer_free(f->transfer);
    if (f->fd >= 0)
        close(f->fd);
    for (struct wharf_fetch **at = &req->fetches->first; *at; at = &(*at)->next) {
        if (*at == f) {
            *at = f->next;
            break;
        }
    }
    arena_free(f->arena);
}

static void free_box(void *arg)
{
    struct wharf_req *req = arg;

    while (req->fetches->first)
        f_done(req, req->fetches->first);
    net_queue_free(req->fetches->queue);
    req->fetches = NULL;
}

static struct fetch_box *box_of(struct wharf_req *req)
{
    if (!req->fetches) {
        req->fetches = ARENA_NEW(req->arena, struct fetch_box);
        req->fetches->queue = net_queue_new();
        arena_on_release(req->arena, free_box, req);
    }
    return req->fetches;
}

struct net_queue *host_fetch_queue(struct wharf_req *req)
{
    return box_of(req)->queue;
}

/* ---- start ---- */

static bool to_file(void *arg, const void *p, size_t n)
{
    struct wharf_fetch *f = arg;

    while (n) {
        ssize_t w = write(f->fd, p, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return false;
        p = (const char *)p + w;
        n -= (size_t)w;
    }
    return true;
}

/* A file that has no name and vanishes with its descriptor. */
static int nameless_file(const struct config *c)
{
    int fd = open(c->data, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 ? fd : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static uint32_t or_else(int64_t value, uint32_t fallback)
{
    return value <= 0 ? fallback : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static unsigned client_flags(uint32_t flags)
{
    return (flags & WHARF_FETCH_HTTP ? NET_HTTP : 0u) | (flags & WHARF_FETCH_PORT_80 ? NET_PORT_80 : 0u) |
           (flags & WHARF_FETCH_NO_FRAGMENT ? NET_NO_FRAGMENT : 0u) | (flags & WHARF_FETCH_GZIP ? NET_GZIP : 0u) |
           (flags & WHARF_FETCH_REUSE ? NET_REUSE : 0u);
}

/* A plugin of another age: what it did not know is zero. False: it uses what this server does not have. */
static bool read_request(const wharf_fetch_request *from, wharf_fetch_request *to)
{
    const char *p = (const char *)from;
    size_t known = from->head.size < sizeof(*to) ? from->head.size : sizeof(*to);

    memset(to, 0, sizeof(*to));
    memcpy(to, from, known);
    for (size_t i = known; i < from->head.size; i++) {
        if (p[i])
            return false;
    }
    return true;
}

static wharf_status f_start(wharf_req *req, const wharf_fetch_request *given, wharf_fetch **ret_fetch)
{
    struct fetch_box *box = box_of(req);
    struct wharf_fetch *f;
    struct arena *own;
    wharf_fetch_request r;
    struct net_request n;

    if (!read_request(given, &r))
        return req_fail(req, "internal", NULL, "the plugin's fetch request is of a newer server");
    if (arena_poisoned(req->arena))
        return req_fail(req, "overloaded", NULL, NULL);
    own = arena_new(0);
    f = ARENA_NEW(own, struct wharf_fetch);
    *f = (struct wharf_fetch){.arena = own, .req = req, .flags = r.flags, .fd = -1, .next = box->first};
    f->family = arena_dupz(own, r.family ? r.family : "file").p;
    if (r.flags & WHARF_FETCH_TO_FILE) {
        f->fd = nameless_file(req->engine->config);
        if (f->fd < 0) {
            log_error("fetch.file", "no room for a file in %s: %m", req->engine->config->data);
            arena_free(own);
            return req_fail(req, "overloaded", NULL, NULL);
        }
    }
    n = (struct net_request){.method = r.method,
        .url = r.url,
        .headers = r.headers,
        .n_headers = r.n_headers,
        .body = r.body.p,
        .body_size = r.body.n,
        .body_fd = -1,
        .flags = client_flags(r.flags),
        .redirects = r.redirects,
        .per_host = r.per_host,
        .limits = {.bytes = r.max_bytes > 0 ? (uint64_t)r.max_bytes : DEFAULT_BYTES,
            .connect_ms = or_else(r.connect_ms, DEFAULT_CONNECT),
            .first_byte_ms = or_else(r.first_byte_ms, 0),
            .stall_ms = or_else(r.stall_ms, DEFAULT_STALL),
            .stall_bytes = or_else(r.stall_bytes, DEFAULT_STALL_BYTES),
            .total_ms = or_else(r.total_ms, DEFAULT_TOTAL)},
        .sink = f->fd >= 0 ? to_file : NULL,
        .sink_arg = f,
        .arg = f};
    box->first = f;
    f->transfer = net_submit(req->engine->net, box->queue, &n);
    *ret_fetch = f;
    return WHARF_OK;
}

/* ---- waiting ---- */

/* Until the request's deadline; jobs have none. */
static int64_t time_left_us(const struct wharf_req *req)
{
    int64_t left = req->deadline_us ? req->deadline_us - clock_monotonic_us() : -1;

    return req->deadline_us && left < 0 ? 0 : left;
}

static wharf_status f_wait(wharf_req *req, wharf_fetch *f)
{
    while (!f->over) {
        if (!take(req, time_left_us(req)) && !f->over) {
            f->late = true;
            give_up(req, f);
        }
    }
    f->told = true;
    return WHARF_OK;
}

static wharf_fetch *untold(struct wharf_req *req, bool *ret_under_way)
{
    *ret_under_way = false;
    for (struct wharf_fetch *f = req->fetches->first; f; f = f->next) {
        if (f->over && !f->told)
            return f;
        *ret_under_way |= !f->over;
    }
    return NULL;
}

static wharf_fetch *f_next(wharf_req *req, int64_t wait_ms)
{
    int64_t left = time_left_us(req), wait_us = wait_ms * 1000;
    struct wharf_fetch *f;
    bool under_way;

    if (!req->fetches)
        return NULL;
    f = untold(req, &under_way);
    if (!f && under_way)
        f = take(req, left >= 0 && left < wait_us ? left : wait_us);
    if (f)
        f->told = true;
    return f;
}

static void f_cancel(wharf_req *req, wharf_fetch *f)
{
    if (!f->over)
        net_cancel(req->engine->net, f->transfer);
}

/* ---- results ---- */

static wharf_str f_code(const wharf_fetch *f)
{
    return f->verdict.code.p ? f->verdict.code : str_z("");
}

static wharf_str f_outcome(const wharf_fetch *f)
{
    return str_z(f->over ? net_outcome_name(f->late ? NET_TIMEOUT : net_outcome(f->transfer)) : "");
}

static uint32_t f_status(const wharf_fetch *f)
{
    return f->over ? (uint32_t)net_status(f->transfer) : 0;
}

static wharf_str f_header(wharf_req *req, const wharf_fetch *f, const char *name)
{
    return f->over ? arena_dupz(req->arena, net_header(f->transfer, name)) : str_z("");
}

static wharf_str f_text(const wharf_fetch *f)
{
    return f->over ? net_text(f->transfer) : str_z("");
}

static int f_file(const wharf_fetch *f)
{
    return f->over ? f->fd : -1;
}

static int64_t f_size(const wharf_fetch *f)
{
    return f->over ? (int64_t)net_received(f->transfer) : 0;
}

static int64_t f_elapsed(const wharf_fetch *f)
{
    return f->over ? net_elapsed_us(f->transfer) : 0;
}

static wharf_status f_fail(wharf_req *req, const wharf_fetch *f, const char *path)
{
    if (!f_code(f).n)
        return WHARF_OK;
    return req_fail(req, f->verdict.code.p, path, "%s", f->verdict.text);
}

static wharf_status f_get(wharf_req *req, const wharf_fetch_request *r, const char *path, wharf_fetch **ret_fetch)
{
    wharf_fetch *f = NULL;
    wharf_status s = f_start(req, r, &f);

    if (s != WHARF_OK || !f)
        return s;
    f_wait(req, f);
    s = f_fail(req, f, path);
    if (s == WHARF_OK)
        *ret_fetch = f;
    return s;
}

static wharf_status f_check(wharf_req *req, const wharf_fetch_request *given, const char *path)
{
    struct fetch_verdict v;
    wharf_fetch_request r;
    struct net_url url;
    enum net_outcome o;

    if (!read_request(given, &r))
        return req_fail(req, "internal", NULL, "the plugin's fetch request is of a newer server");
    o = net_url_parse(net_guard(req->engine->net), r.url, client_flags(r.flags), &url);
    if (o == NET_DONE) {
        net_url_done(&url);
        return WHARF_OK;
    }
    v = fetch_outcome_verdict(req->arena, o, r.family ? r.family : "file");
    return req_fail(req, v.code.p, path, "%s", v.text);
}

const wharf_fetch_api host_fetch = {WHARF_HEAD(wharf_fetch_api), f_start, f_wait, f_next, f_cancel, f_done, f_code,
    f_outcome, f_status, f_header, f_text, f_file, f_size, f_elapsed, f_fail, f_get, f_check};
