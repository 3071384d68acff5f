/* host_fetch.c - the service wharf.fetch (plugin-api/wharf/service/fetch.h) on top of
 * services/net/client.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "net/net_fetch.h"
#include "net/net_guard.h"
#include "net/url.h"
#include "host/host.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"
#include "wharf/service/fetch.h"

enum {
    DEFAULT_BYTES = 10000000, /* of a file that is fetched */
    DEFAULT_CONNECT = 5000, /* milliseconds */
    DEFAULT_STALL = 5000, /* milliseconds in which DEFAULT_STALL_BYTES must come */
    DEFAULT_STALL_BYTES = 1024
};
enum {
    DEFAULT_TOTAL = 20000, /* milliseconds */
    DAY_MS = 86400000
};

/* The fetches of one request. Not in its arena: a resident job starts more than an arena holds,
 * and fetches outlive the scope of memory that they were started in. */
struct fetch_box {
    struct net_queue *queue;
    struct wharf_fetch *first; /* all */
    /* over and not told yet, in the order in which they ended */
    struct wharf_fetch *ready, **ready_last;
    size_t n, running;
};

struct wharf_fetch {
    struct net_transfer *transfer;
    char family[32];
    char code[64];
    const char *text;
    uint32_t flags;
    int fd;
    /* taken back; returned by wait() or next(); given up at the request's deadline */
    bool over, reported, late;
    void *tag;
    struct wharf_fetch *next, *prev; /* of all */
    struct wharf_fetch *next_ready, **at_ready;
};

/* ---- life ---- */

static void f_done(wharf_req *req, wharf_fetch *f);

static void free_box(void *arg)
{
    struct wharf_req *req = arg;
    struct fetch_box *box = req->fetches;

    for (struct wharf_fetch *f = box->first; f; f = f->next) {
        if (!f->over)
            net_cancel(req->engine->net, f->transfer);
    }
    for (struct wharf_fetch *f = box->first, *next; f; f = next) {
        next = f->next;
        f_done(req, f);
    }
    net_queue_free(box->queue);
    free(box);
    req->fetches = NULL;
}

static struct fetch_box *host_fetch_box_of(struct wharf_req *req)
{
    if (!req->fetches) {
        req->fetches = calloc(1, sizeof(*req->fetches));
        if (!req->fetches)
            abort();
        req->fetches->queue = net_queue_new(req->job ? req->job->waker : NULL);
        req->fetches->ready_last = &req->fetches->ready;
        arena_on_end(req->arena, free_box, req);
    }
    return req->fetches;
}

static void leave_ready(struct fetch_box *box, struct wharf_fetch *f)
{
    if (!f->at_ready)
        return;
    *f->at_ready = f->next_ready;
    if (f->next_ready)
        f->next_ready->at_ready = f->at_ready;
    else
        box->ready_last = f->at_ready;
    f->at_ready = NULL;
}

/* Returns the transfer to the caller: next() does not tell of it again. */
static struct wharf_fetch *host_fetch_tell(struct fetch_box *box, struct wharf_fetch *f)
{
    f->reported = true;
    leave_ready(box, f);
    return f;
}

static struct fetch_verdict host_fetch_verdict_of(struct arena *a, const struct wharf_fetch *f)
{
    if (f->late)
        return fetch_outcome_verdict(a, NET_TIMEOUT, f->family);
    return fetch_verdict(a, f->transfer, f->family, f->flags & WHARF_FETCH_ANY_STATUS,
        f->flags & (WHARF_FETCH_ANY_BODY | WHARF_FETCH_ANY_STATUS));
}

/* Takes one transfer back from the loop. */
static struct wharf_fetch *host_fetch_take(struct wharf_req *req, int64_t wait_us)
{
    struct fetch_box *box = req->fetches;
    struct net_transfer *t = net_queue_take(box->queue, wait_us);
    struct wharf_fetch *f = t ? net_arg(t) : NULL;
    struct fetch_verdict v;

    if (!f)
        return NULL;
    f->over = true;
    box->running--;
    v = host_fetch_verdict_of(req->arena, f);
    snprintf(f->code, sizeof(f->code), "%.*s", STR_ARG(v.code));
    f->text = v.text;
    if (f->fd >= 0)
        lseek(f->fd, 0, SEEK_SET);
    if (!f->reported) {
        f->next_ready = NULL;
        f->at_ready = box->ready_last;
        *box->ready_last = f;
        box->ready_last = &f->next_ready;
    }
    return f;
}

static void host_fetch_give_up(struct wharf_req *req, struct wharf_fetch *f)
{
    if (!f->over)
        net_cancel(req->engine->net, f->transfer);
    while (!f->over)
        host_fetch_take(req, -1);
}

static void f_done(wharf_req *req, wharf_fetch *f)
{
    struct fetch_box *box = req->fetches;

    host_fetch_give_up(req, f);
    net_transfer_free(f->transfer);
    if (f->fd >= 0)
        close(f->fd);
    leave_ready(box, f);
    if (f->prev)
        f->prev->next = f->next;
    else
        box->first = f->next;
    if (f->next)
        f->next->prev = f->prev;
    box->n--;
    free(f);
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

/* Opens a file that has no name and vanishes with its descriptor. */
static int nameless_file(const struct config *c)
{
    int fd = open(c->data, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 ? fd : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static uint32_t or_else(int64_t value, uint32_t fallback)
{
    return value <= 0 ? fallback : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static unsigned client_flags(const struct config *c, uint32_t flags)
{
    bool http = (flags & WHARF_FETCH_HTTP) ||
                ((flags & WHARF_FETCH_HTTP_IF_SET) && c->net_allow_http);

    return (http ? NET_HTTP : 0u) | (flags & WHARF_FETCH_PORT_80 ? NET_PORT_80 : 0u) |
           (flags & WHARF_FETCH_NO_FRAGMENT ? NET_NO_FRAGMENT : 0u) |
           (flags & WHARF_FETCH_GZIP ? NET_GZIP : 0u) |
           (flags & WHARF_FETCH_REUSE ? NET_REUSE : 0u);
}

/* Reads a request of a plugin of another age: what it did not know is zero. Returns false when it
 * uses what this server does not have. */
static bool host_fetch_read_request(const wharf_fetch_request *from, wharf_fetch_request *to)
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

static struct wharf_fetch *new_fetch(struct fetch_box *box, const wharf_fetch_request *r, int fd)
{
    struct wharf_fetch *f = calloc(1, sizeof(*f));

    if (!f)
        abort();
    f->flags = r->flags;
    f->fd = fd;
    f->tag = r->tag;
    f->text = "";
    snprintf(f->family, sizeof(f->family), "%s", r->family ? r->family : "file");
    f->next = box->first;
    if (f->next)
        f->next->prev = f;
    box->first = f;
    box->n++;
    box->running++;
    return f;
}

/* Returns the organization that the fetch is made for; empty when it is nobody's. */
static wharf_str fetch_owner(const struct req_access *access, const wharf_fetch_request *r)
{
    if (r->organization.n)
        return r->organization;
    return access->who ? access->who->organization : str_z("");
}

static wharf_status f_start(
    wharf_req *req, const wharf_fetch_request *given, wharf_fetch **ret_fetch)
{
    struct fetch_box *box = host_fetch_box_of(req);
    struct wharf_fetch *f;
    wharf_fetch_request r;
    struct net_request n;
    int fd = -1;

    if (!host_fetch_read_request(given, &r))
        return req_fail(req, ERR_INTERNAL, NULL, "the plugin's fetch request is of a newer server");
    if (arena_poisoned(req->arena))
        return req_fail(req, ERR_OVERLOADED, NULL, NULL);
    if (r.flags & WHARF_FETCH_TO_FILE) {
        fd = nameless_file(req->engine->config);
        if (fd < 0) {
            log_error("fetch.file", "no room for a file in %s: %m", req->engine->config->data);
            return req_fail(req, ERR_OVERLOADED, NULL, NULL);
        }
    }
    f = new_fetch(box, &r, fd);
    n = (struct net_request){.method = r.method,
        .url = r.url,
        .headers = r.headers,
        .n_headers = r.n_headers,
        .owner = fetch_owner(&req->access, &r),
        .body = r.body.p,
        .body_size = r.body.n,
        .body_fd = -1,
        .flags = client_flags(req->engine->config, r.flags) &
                 ~(fetch_owner(&req->access, &r).n ? 0u : (unsigned)NET_REUSE),
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
    f->transfer = net_submit(req->engine->net, box->queue, &n);
    *ret_fetch = f;
    return WHARF_OK;
}

/* ---- waiting ---- */

/* Returns the time until the request's deadline; jobs have none. */
static int64_t time_left_us(const struct wharf_req *req)
{
    int64_t left = req->deadline_us ? req->deadline_us - clock_monotonic_us() : -1;

    return req->deadline_us && left < 0 ? 0 : left;
}

static wharf_status f_wait(wharf_req *req, wharf_fetch *f)
{
    while (!f->over) {
        if (!host_fetch_take(req, time_left_us(req)) && !f->over) {
            f->late = true;
            host_fetch_give_up(req, f);
        }
    }
    host_fetch_tell(req->fetches, f);
    return WHARF_OK;
}

static wharf_fetch *f_next(wharf_req *req, int64_t wait_ms)
{
    int64_t left = time_left_us(req), wait_us = wait_ms * 1000;
    struct fetch_box *box = req->fetches;

    if (!box || (!box->ready && !box->running))
        return NULL;
    if (!box->ready)
        host_fetch_take(req, left >= 0 && left < wait_us ? left : wait_us);
    return box->ready ? host_fetch_tell(box, box->ready) : NULL;
}

static void f_cancel(wharf_req *req, wharf_fetch *f)
{
    if (!f->over)
        net_cancel(req->engine->net, f->transfer);
}

/* ---- results ---- */

static wharf_str f_code(const wharf_fetch *f)
{
    return str_z(f->code);
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

static int64_t f_retry_after_ms(wharf_req *req, const wharf_fetch *f)
{
    wharf_str text = f_header(req, f, "retry-after");
    struct tm tm = {.tm_sec = 0};
    int64_t ms;

    if (text.n && strspn(text.p, "0123456789") == text.n)
        return text.n < 6 ? strtoll(text.p, NULL, 10) * 1000 : DAY_MS;
    if (!text.n || !strptime(text.p, "%a, %d %b %Y %H:%M:%S GMT", &tm))
        return 0;
    ms = (int64_t)timegm(&tm) * 1000 - req->now_us / 1000;
    return ms > DAY_MS ? DAY_MS : ms > 0 ? ms : 0;
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
    return req_fail(req, f->code, path, "%s", f->text);
}

static wharf_status f_get(
    wharf_req *req, const wharf_fetch_request *r, const char *path, wharf_fetch **ret_fetch)
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

    if (!host_fetch_read_request(given, &r))
        return req_fail(req, ERR_INTERNAL, NULL, "the plugin's fetch request is of a newer server");
    o = net_url_parse(
        net_guard(req->engine->net), r.url, client_flags(req->engine->config, r.flags), &url);
    if (o == NET_DONE) {
        net_url_done(&url);
        return WHARF_OK;
    }
    v = fetch_outcome_verdict(req->arena, o, r.family ? r.family : "file");
    return req_fail(req, v.code.p, path, "%s", v.text);
}

static void *f_tag(const wharf_fetch *f)
{
    return f->tag;
}

static wharf_str f_head(const wharf_fetch *f)
{
    return f->over ? net_head(f->transfer) : str_z("");
}

static size_t f_under_way(wharf_req *req)
{
    return host_fetch_box_of(req)->n;
}

const wharf_fetch_api host_fetch = {WHARF_HEAD(wharf_fetch_api), f_start, f_wait, f_next, f_cancel,
    f_done, f_code, f_outcome, f_status, f_header, f_text, f_file, f_size, f_elapsed, f_fail, f_get,
    f_check, f_tag, f_head, f_under_way, net_header_reserved, f_retry_after_ms};
