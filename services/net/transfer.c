/* transfer.c - one hop of a transfer with libcurl: options, callbacks, limits, what its end
 * means. See transfer.h.
 *
 * The wall is open_socket(): whatever libcurl, its caches or a name server think, a socket is
 * only made for an address of this transfer that was checked. */
#include "net/transfer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "util/str.h"
#include "util/time.h"
#include "wharf_version.h"

/* bytes of a body that goes out with its headers, in one system call */
enum { ONE_PIECE_MAX = 16384 };

/* ---- callbacks, all on the loop's thread ---- */

static curl_socket_t open_socket(void *clientp, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct net_transfer *t = clientp;
    bool known = false, judged = t->mapped || t->url.open || (t->r.flags & NET_TRUSTED);

    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    for (unsigned i = 0; i < t->n_addresses; i++)
        known |= address_same((struct sockaddr *)&t->addresses[i], &to->addr);
    if (!known || (!judged && !guard_address(t->client->guard, &to->addr))) {
        t->outcome = NET_BLOCKED;
        return CURL_SOCKET_BAD;
    }
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static void transfer_count(struct net_transfer *t, size_t n)
{
    if (!t->answered) { /* waiting for the answer is over: from here on it must not stall */
        t->answered = true;
        t->window_us = clock_monotonic_us();
        t->window_bytes = 0;
    }
    t->window_bytes += n;
}

static enum net_outcome judge_header(const struct net_transfer *t, wharf_str line)
{
    static const char length[] = "content-length:", coding[] = "content-encoding:";
    const char *value = strchr(line.p, ':');
    size_t n;

    if (!value)
        return NET_DONE;
    value += 1 + strspn(value + 1, " \t");
    n = strcspn(value, " \t\r\n");
    if (strncasecmp(line.p, length, sizeof(length) - 1) == 0 && t->r.limits.bytes &&
        strcmp(t->r.method, "HEAD") != 0)
        return strtoull(value, NULL, 10) > t->r.limits.bytes ? NET_TOO_LARGE : NET_DONE;
    if (strncasecmp(line.p, coding, sizeof(coding) - 1) != 0 ||
        (n == 8 && strncasecmp(value, "identity", n) == 0))
        return NET_DONE;
    return (t->r.flags & NET_GZIP) && n == 4 && strncasecmp(value, "gzip", n) == 0 ? NET_DONE
                                                                                   : NET_ENCODED;
}

static bool followed(const struct net_transfer *t, long status)
{
    bool reads = !strcmp(t->r.method, "GET") || !strcmp(t->r.method, "HEAD");

    return reads && t->r.redirects &&
           (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

/* Tells whether the answer is a redirect. Its body is nobody's: neither kept nor judged, but not
 * without end either. */
static bool redirect_status(const struct net_transfer *t)
{
    long status = 0;

    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    return followed(t, status);
}

static size_t transfer_take_header(char *p, size_t size, size_t n, void *userdata)
{
    struct net_transfer *t = userdata;
    size_t from = t->head.n;
    enum net_outcome o;

    (void)size;
    transfer_count(t, n);
    if (n > 5 && memcmp(p, "HTTP/", 5) == 0)
        buf_clear(&t->head), from = 0;
    buf_add(&t->head, p, n);
    if (t->head.failed) {
        t->outcome = NET_BROKEN;
        return 0;
    }
    o = redirect_status(t) ? NET_DONE : judge_header(t, (wharf_str){t->head.p + from, n});
    if (o != NET_DONE) {
        t->outcome = o;
        return 0;
    }
    return n;
}

static size_t take_body(char *p, size_t size, size_t n, void *userdata)
{
    struct net_transfer *t = userdata;

    (void)size;
    transfer_count(t, n);
    if (redirect_status(t)) {
        t->skipped += n;
        return t->skipped > HEADERS_MAX_BYTES ? 0 : n;
    }
    t->received += n;
    if (t->r.limits.bytes && t->received > t->r.limits.bytes)
        t->outcome = NET_TOO_LARGE;
    else if (t->r.sink && !t->r.sink(t->r.sink_arg, p, n))
        t->outcome = NET_SINK;
    else if (!t->r.sink)
        buf_add(&t->body, p, n);
    if (t->body.failed)
        t->outcome = NET_TOO_LARGE;
    return t->outcome == NET_DONE ? n : 0;
}

static size_t give_body(char *p, size_t size, size_t n, void *userdata)
{
    struct net_transfer *t = userdata;
    uint64_t rest = t->r.body_size - t->sent;
    ssize_t got;

    n *= size;
    if (n > rest)
        n = (size_t)rest;
    if (t->r.body) {
        memcpy(p, (const char *)t->r.body + t->sent, n);
        got = (ssize_t)n;
    } else {
        got = n ? pread(t->r.body_fd, p, n, (off_t)(t->r.body_offset + t->sent)) : 0;
        if (got < 0 || (n && !got))
            return CURL_READFUNC_ABORT;
    }
    t->sent += (uint64_t)got;
    t->window_bytes += (uint64_t)got;
    return (size_t)got;
}

static int rewind_body(void *userdata, curl_off_t offset, int origin)
{
    struct net_transfer *t = userdata;

    if (origin != SEEK_SET || offset < 0)
        return CURL_SEEKFUNC_CANTSEEK;
    t->sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* ---- options ---- */

#define SET(option, value) (ok = ok && curl_easy_setopt(t->easy, (option), (value)) == CURLE_OK)

/* Pins "host:port:address,address": libcurl never asks a name server by itself. A host that is an
 * IPv6 address needs no pin, and libcurl takes none: it is the one address that was judged. */
static bool transfer_pin(struct net_transfer *t)
{
    char text[INET6_ADDRSTRLEN];
    struct buf b;

    if (!t->mapped && strchr(t->url.host, ':'))
        return true;
    buf_init(&b, 4096);
    if (t->mapped) {
        buf_addf(&b, "::%s", t->mapped_to);
    } else {
        buf_addf(&b, "%s:%u:", t->url.host, t->url.port);
        for (unsigned i = 0; i < t->n_addresses; i++) {
            const struct sockaddr *sa = (struct sockaddr *)&t->addresses[i];
            bool v6 = sa->sa_family == AF_INET6;

            inet_ntop(sa->sa_family,
                v6 ? (const void *)&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr
                   : (const void *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr,
                text, sizeof(text));
            buf_addf(&b, v6 ? "%s[%s]" : "%s%s", i ? "," : "", text);
        }
    }
    t->pins = curl_slist_append(NULL, b.p);
    buf_done(&b);
    return t->pins && curl_easy_setopt(t->easy, t->mapped ? CURLOPT_CONNECT_TO : CURLOPT_RESOLVE,
                          t->pins) == CURLE_OK;
}

static bool set_connection(struct net_client *c, struct net_transfer *t)
{
    bool ok = true;

    SET(CURLOPT_CURLU, t->url.handle);
    SET(CURLOPT_PROTOCOLS_STR, t->r.flags & NET_HTTP ? "http,https" : "https");
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOPROXY, "*");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_HTTP09_ALLOWED, 0L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    if (c->ca_file)
        SET(CURLOPT_CAINFO, c->ca_file);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, t);
    SET(CURLOPT_SHARE, t->share);
    SET(CURLOPT_FRESH_CONNECT, t->r.flags & NET_REUSE ? 0L : 1L);
    SET(CURLOPT_FORBID_REUSE, t->r.flags & NET_REUSE ? 0L : 1L);
    SET(CURLOPT_MAXAGE_CONN, 60L);
    SET(CURLOPT_MAXLIFETIME_CONN, 300L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(t->r.limits.connect_ms ? t->r.limits.connect_ms : 30000));
    SET(CURLOPT_ERRORBUFFER, t->curl_error);
    SET(CURLOPT_PRIVATE, t);
    return ok;
}

static bool set_body(struct net_transfer *t)
{
    const char *method = t->r.method;
    bool ok = true, put = !strcmp(method, "PUT"), post = !strcmp(method, "POST");

    if (!strcmp(method, "HEAD"))
        SET(CURLOPT_NOBODY, 1L);
    if (put) {
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)t->r.body_size);
    } else if (post || t->r.body_size) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->r.body_size);
        if (t->r.body && t->r.body_size <= ONE_PIECE_MAX)
            SET(CURLOPT_POSTFIELDS, t->r.body);
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 && !put && !post)
        SET(CURLOPT_CUSTOMREQUEST, method);
    SET(CURLOPT_READFUNCTION, give_body);
    SET(CURLOPT_READDATA, t);
    SET(CURLOPT_SEEKFUNCTION, rewind_body);
    SET(CURLOPT_SEEKDATA, t);
    SET(CURLOPT_HEADERFUNCTION, transfer_take_header);
    SET(CURLOPT_HEADERDATA, t);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, t);
    SET(CURLOPT_USERAGENT, "Wharf/" WHARF_VERSION);
    if (t->r.flags & NET_GZIP)
        SET(CURLOPT_ACCEPT_ENCODING, "gzip");
    if (t->headers)
        SET(CURLOPT_HTTPHEADER, t->headers);
    if (t->r.aws_sigv4) {
        SET(CURLOPT_AWS_SIGV4, t->r.aws_sigv4);
        SET(CURLOPT_USERPWD, t->r.credentials);
    }
    return ok;
}

bool transfer_run(struct net_client *c, struct net_transfer *t)
{
    t->connected_us = t->window_us = 0;
    t->window_bytes = t->sent = t->skipped = 0;
    t->answered = false;
    t->outcome = NET_DONE;
    t->easy = curl_easy_init();
    t->share = curl_share_init();
    t->pool = pool_enter(c, t->r.owner);
    if (t->easy && t->share && t->pool &&
        curl_share_setopt(t->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) == CURLSHE_OK &&
        set_connection(c, t) && set_body(t) && transfer_pin(t) &&
        curl_multi_add_handle(t->pool->multi, t->easy) == CURLM_OK) {
        t->state = T_RUNNING;
        return true;
    }
    t->outcome = NET_NO_CONNECTION;
    snprintf(t->curl_error, sizeof(t->curl_error), "libcurl did not take the request");
    return false;
}

void transfer_hop_over(struct net_transfer *t)
{
    if (t->easy) {
        if (t->pool)
            curl_multi_remove_handle(t->pool->multi, t->easy);
        curl_easy_cleanup(t->easy);
        t->easy = NULL;
    }
    if (t->pool)
        pool_leave(t->pool);
    t->pool = NULL;
    if (t->share)
        curl_share_cleanup(t->share);
    t->share = NULL;
    curl_slist_free_all(t->pins);
    t->pins = NULL;
}

/* ---- limits ---- */

static bool transfer_over(int64_t from_us, uint32_t limit_ms, int64_t now_us)
{
    return limit_ms && now_us - from_us >= (int64_t)limit_ms * 1000;
}

/* Tells whether names have been resolved and the handshake is over: from here on bytes are
 * expected. */
static bool transfer_connected(struct net_transfer *t)
{
    curl_off_t at = 0;

    if (t->connected_us)
        return true;
    if (t->state != T_RUNNING ||
        curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &at) != CURLE_OK || at <= 0)
        return false;
    t->connected_us = t->window_us = clock_monotonic_us();
    return true;
}

enum net_outcome transfer_overdue(struct net_transfer *t, int64_t now_us)
{
    const struct net_limits *l = &t->r.limits;

    if (transfer_over(t->start_us, l->total_ms, now_us))
        return NET_TIMEOUT;
    if (!transfer_connected(t))
        return transfer_over(t->hop_us, l->connect_ms, now_us) ? NET_TIMEOUT : NET_DONE;
    if (!t->answered && l->first_byte_ms)
        return transfer_over(t->connected_us, l->first_byte_ms, now_us) ? NET_TIMEOUT : NET_DONE;
    if (!transfer_over(t->window_us, l->stall_ms, now_us))
        return NET_DONE;
    if (t->window_bytes < (l->stall_bytes ? l->stall_bytes : 1))
        return NET_TIMEOUT;
    t->window_us = now_us;
    t->window_bytes = 0;
    return NET_DONE;
}

/* ---- the end of a hop ---- */

static enum net_outcome transfer_outcome_of(CURLcode code)
{
    switch (code) {
    case CURLE_OK:
        return NET_DONE;
    case CURLE_OPERATION_TIMEDOUT:
        return NET_TIMEOUT;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_INTERFACE_FAILED:
        return NET_NO_CONNECTION;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
        return NET_NO_TRUST;
    default:
        return NET_BROKEN;
    }
}

static bool next_hop(struct net_client *c, struct net_transfer *t, const char *to)
{
    struct net_url url;

    if (t->hops == t->r.redirects) {
        t->outcome = NET_REDIRECTS;
        return false;
    }
    t->outcome = net_url_parse(c->guard, str_z(to), t->r.flags & ~(unsigned)NET_NO_FRAGMENT, &url);
    if (t->outcome != NET_DONE)
        return false;
    t->hops++;
    net_url_done(&t->url);
    t->url = url;
    return true;
}

bool transfer_finish(struct net_client *c, struct net_transfer *t, CURLcode code)
{
    char *to = NULL;
    long status = 0;

    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    t->status = (int)status;
    if (t->outcome == NET_DONE)
        t->outcome = transfer_outcome_of(code);
    if (t->outcome != NET_DONE || !followed(t, status))
        return false;
    curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &to);
    return to && next_hop(c, t, to);
}
