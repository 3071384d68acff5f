/* s3_call.c - see s3_call.h. */
#include "blob/s3_call.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blob/s3_sign.h"
#include "util/buf.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum { PAUSE_US = 200000 }; /* before the second try; doubled */

bool s3_to_file(void *arg, const void *p, size_t n)
{
    const int *fd = arg;

    while (n) {
        ssize_t w = write(*fd, p, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return false;
        p = (const char *)p + w;
        n -= (size_t)w;
    }
    return true;
}

/* Empties the file of a read that is tried again: it has the text of an error, or the beginning of
 * an answer that was cut off. */
bool s3_file_again(void *arg)
{
    const int *fd = arg;

    return ftruncate(*fd, 0) == 0 && lseek(*fd, 0, SEEK_SET) == 0;
}

static struct net_transfer *once(struct blob_store *s, const struct s3_call *call)
{
    char hash[BLOB_HASH + 1], signed_hash[100];
    const char *headers[2] = {signed_hash, call->header};
    unsigned char raw[EVP_MAX_MD_SIZE];
    const struct net_request r = {.method = call->method,
        .url = str_z(call->url),
        .headers = headers,
        .n_headers = call->header ? 2 : 1,
        .body = call->text,
        .body_fd = call->body_fd,
        .body_offset = call->at,
        .body_size = call->size,
        .flags = NET_HTTP | NET_TRUSTED | NET_REUSE,
        .per_host = 32,
        .limits = {.bytes = call->max ? call->max : S3_ANSWER_MAX,
            .connect_ms = 5000, /* until the connection stands */
            .first_byte_ms = 60000, /* until the first byte */
            .stall_ms = 60000,
            .stall_bytes = 1},
        .sink = call->sink,
        .sink_arg = call->sink_arg,
        .aws_sigv4 = s->sigv4,
        .credentials = s->credentials};

    /* The hash belongs to what is signed: a body that was changed on its way is refused. */
    if (!call->hash[0]) {
        EVP_Digest(call->text ? call->text : "", call->size, raw, NULL, EVP_sha256(), NULL);
        sodium_bin2hex(hash, BLOB_HASH + 1, raw, BLOB_HASH / 2);
    }
    snprintf(signed_hash, sizeof(signed_hash), "x-amz-content-sha256: %s",
        call->hash[0] ? call->hash : hash);
    return net_run(s->net, &r, call->within_us ? clock_monotonic_us() + call->within_us : 0);
}

static bool may_go_better(const struct net_transfer *t)
{
    enum net_outcome o = net_outcome(t);

    return o == NET_DONE ? net_status(t) >= 500
                         : o != NET_SINK && o != NET_TOO_LARGE && o != NET_CANCELLED;
}

struct net_transfer *s3_run(struct blob_store *s, const struct s3_call *call)
{
    unsigned tries = call->once ? 1 : S3_TRIES;
    struct net_transfer *t = once(s, call);

    for (unsigned i = 1; i < tries && may_go_better(t); i++) {
        if (call->sink && !call->again(call->sink_arg))
            break;
        net_transfer_free(t);
        usleep(PAUSE_US << i);
        t = once(s, call);
    }
    return t;
}

enum blob_status s3_end(struct net_transfer *t, const char *what, struct net_transfer **ret_keep)
{
    enum blob_status status = BLOB_OK;

    if (net_outcome(t) == NET_SINK)
        status = BLOB_NO_ROOM;
    else if (net_outcome(t) == NET_DONE && net_status(t) == 404)
        status = BLOB_ABSENT;
    else if (net_outcome(t) != NET_DONE || net_status(t) >= 300)
        status = BLOB_TROUBLE;
    if (status == BLOB_TROUBLE)
        log_error("blob.s3", "%s: %s, status %d, %.200s", what, net_trouble(t), net_status(t),
            net_text(t).p);
    if (status == BLOB_OK && ret_keep)
        *ret_keep = t;
    else
        net_transfer_free(t);
    return status;
}

struct s3_call s3_call_of(struct blob_store *s, const char *method, const char *key)
{
    struct s3_call c = {.method = method, .body_fd = -1};

    snprintf(c.url, sizeof(c.url), "%s%s", s->endpoint, key);
    return c;
}

/* ---- answers ---- */

bool s3_element(const char **at, const char *tag, char *out, size_t size)
{
    char open[40], close[40];
    const char *from, *to;
    size_t n;

    snprintf(open, sizeof(open), "<%s>", tag);
    snprintf(close, sizeof(close), "</%s>", tag);
    from = strstr(*at, open);
    to = from ? strstr(from, close) : NULL;
    if (!to)
        return false;
    from += strlen(open);
    n = (size_t)(to - from);
    if (n >= size)
        return false;
    memcpy(out, from, n);
    out[n] = 0;
    *at = to;
    return true;
}

void s3_escape(const char *from, char *out, size_t size)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    s3_add_escaped(&b, str_z(from), false);
    snprintf(out, size, "%.*s", STR_ARG(buf_str(&b)));
    buf_done(&b);
}

/* ---- lists ---- */

/* Walks over one page of a list. Returns false when fn wants no more. */
static bool walk_page(const char *page, int64_t before_us, s3_key_fn *fn, void *arg)
{
    char key[400], modified[40];
    bool on = true;
    int64_t at_us;

    while (on && s3_element(&page, "Key", key, sizeof(key)) &&
           s3_element(&page, "LastModified", modified, sizeof(modified))) {
        if (time_parse(str_z(modified), false, &at_us) && at_us <= before_us)
            on = fn(arg, key);
    }
    return on;
}

enum blob_status s3_list(
    struct blob_store *s, const char *prefix, int64_t age_s, s3_key_fn *fn, void *arg)
{
    int64_t before_us = ((int64_t)time(NULL) - age_s) * 1000000;
    char token[700] = "", raw[400], escaped[100];
    enum blob_status status;
    bool on = true;

    s3_escape(prefix, escaped, sizeof(escaped));
    do {
        struct s3_call c = s3_call_of(s, "GET", "");
        size_t n = strlen(c.url);
        struct net_transfer *t;
        const char *at;

        /* The signature wants the parameters in order. */
        if (token[0])
            snprintf(c.url + n, sizeof(c.url) - n, "?continuation-token=%s&list-type=2&prefix=%s",
                token, escaped);
        else
            snprintf(c.url + n, sizeof(c.url) - n, "?list-type=2&prefix=%s", escaped);
        status = s3_end(s3_run(s, &c), "the objects were not listed", &t);
        if (status != BLOB_OK)
            return status;
        on = walk_page(net_text(t).p, before_us, fn, arg);
        at = net_text(t).p;
        on = on && s3_element(&at, "NextContinuationToken", raw, sizeof(raw));
        if (on)
            s3_escape(raw, token, sizeof(token));
        net_transfer_free(t);
    } while (on);
    return BLOB_OK;
}
