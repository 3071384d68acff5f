/* s3.c - the driver for S3-compatible servers: requests signed by libcurl (AWS Signature Version
 * 4), path style. See blob.h.
 *
 * The bytes are first in a temporary file here, so their hash is known and signed with the
 * request: what the server keeps is what came. Large objects travel in parts; an object appears
 * when the server has all of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blob/blob_store.h"
#include "net/client.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include <sodium.h>

enum {
    TRIES = 3,
    PART = 16 << 20,
    WHOLE_MAX = 64 << 20,
    CHUNK = 64 * 1024,
    ANSWER_MAX = 4 << 20,
    PAUSE_US = 200000
};
enum { URL_MAX = 2000 };

bool blob_s3_setup(struct blob_store *s, struct arena *err, wharf_str *ret_problem)
{
    const struct config *c = s->config;
    wharf_str endpoint = str_z(c->blob_s3_endpoint);
    char *text[3];

    if (!c->blob_s3_endpoint[0] || !c->blob_s3_bucket[0] || !c->blob_s3_key[0] ||
        !c->blob_s3_secret[0] || !s->net) {
        *ret_problem = str_z("blob.driver is s3: set blob.s3.endpoint, blob.s3.bucket, blob.s3.key "
                             "and blob.s3.secret");
        return false;
    }
    if (!str_starts(endpoint, "https://") && !str_starts(endpoint, "http://")) {
        *ret_problem = arena_printf(
            err, "blob.s3.endpoint must begin with https:// or http://, not \"%s\"", endpoint.p);
        return false;
    }
    while (endpoint.n && endpoint.p[endpoint.n - 1] == '/')
        endpoint.n--;
    text[0] = strdup(arena_printf(err, "%.*s/%s/", STR_ARG(endpoint), c->blob_s3_bucket).p);
    text[1] = strdup(arena_printf(err, "aws:amz:%s:s3", c->blob_s3_region).p);
    text[2] = strdup(arena_printf(err, "%s:%s", c->blob_s3_key, c->blob_s3_secret).p);
    if (!text[0] || !text[1] || !text[2])
        abort();
    s->endpoint = text[0];
    s->sigv4 = text[1];
    s->credentials = text[2];
    return true;
}

/* ---- one request ---- */

struct call {
    const char *method;
    char url[URL_MAX];
    const char *range; /* a header, or NULL */
    char hash[BLOB_HASH + 1]; /* of the body; empty: of text */
    int body_fd;
    uint64_t at, size; /* of the file, or of text */
    const char *text;
    uint64_t max;
    int *to; /* the file that the answer's body goes to, or NULL: to memory */
};

static bool to_file(void *arg, const void *p, size_t n)
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

static struct net_transfer *once(struct blob_store *s, const struct call *call)
{
    char hash[BLOB_HASH + 1], signed_hash[100];
    const char *headers[2] = {signed_hash, call->range};
    unsigned char raw[EVP_MAX_MD_SIZE];
    const struct net_request r = {.method = call->method,
        .url = str_z(call->url),
        .headers = headers,
        .n_headers = call->range ? 2 : 1,
        .body = call->text,
        .body_fd = call->body_fd,
        .body_offset = call->at,
        .body_size = call->size,
        .flags = NET_HTTP | NET_TRUSTED | NET_REUSE,
        .per_host = 32,
        .limits = {.bytes = call->max ? call->max : ANSWER_MAX,
            .connect_ms = 5000,
            .first_byte_ms = 60000,
            .stall_ms = 60000,
            .stall_bytes = 1},
        .sink = call->to ? to_file : NULL,
        .sink_arg = call->to,
        .aws_sigv4 = s->sigv4,
        .credentials = s->credentials};

    /* The hash belongs to what is signed: a body that was changed on its way is refused. */
    if (!call->hash[0]) {
        EVP_Digest(call->text ? call->text : "", call->size, raw, NULL, EVP_sha256(), NULL);
        sodium_bin2hex(hash, BLOB_HASH + 1, raw, BLOB_HASH / 2);
    }
    snprintf(signed_hash, sizeof(signed_hash), "x-amz-content-sha256: %s",
        call->hash[0] ? call->hash : hash);
    return net_run(s->net, &r, 0);
}

static bool again(const struct net_transfer *t)
{
    enum net_outcome o = net_outcome(t);

    return o == NET_DONE ? net_status(t) >= 500
                         : o != NET_SINK && o != NET_TOO_LARGE && o != NET_CANCELLED;
}

/* Empties the file of a read that is tried again: it has the text of an error, or the beginning of
 * an answer that was cut off. */
static bool begin_anew(const struct call *call)
{
    return !call->to || (ftruncate(*call->to, 0) == 0 && lseek(*call->to, 0, SEEK_SET) == 0);
}

/* Tries again what may go better. */
static struct net_transfer *run(struct blob_store *s, const struct call *call)
{
    struct net_transfer *t = once(s, call);

    for (unsigned i = 1; i < TRIES && again(t) && begin_anew(call); i++) {
        net_transfer_free(t);
        usleep(PAUSE_US << i);
        t = once(s, call);
    }
    return t;
}

/* Tells what an answer means; t is freed unless keep takes it. */
static enum blob_status end(
    struct net_transfer *t, const char *what, struct net_transfer **ret_keep)
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

static struct call call_of(struct blob_store *s, const char *method, const char *hash)
{
    struct call c = {.method = method, .body_fd = -1};

    snprintf(c.url, sizeof(c.url), "%sobjects/%.2s/%s", s->endpoint, hash, hash);
    return c;
}

/* ---- put ---- */

static bool hash_part(int fd, uint64_t at, uint64_t size, char out[BLOB_HASH + 1])
{
    unsigned char raw[EVP_MAX_MD_SIZE], *chunk = malloc(CHUNK);
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    ssize_t n = 1;

    if (!chunk || !digest || EVP_DigestInit_ex(digest, EVP_sha256(), NULL) != 1)
        abort();
    for (uint64_t done = 0; done < size && n > 0; done += (uint64_t)n) {
        n = pread(
            fd, chunk, size - done < CHUNK ? (size_t)(size - done) : CHUNK, (off_t)(at + done));
        if (n > 0)
            EVP_DigestUpdate(digest, chunk, (size_t)n);
    }
    EVP_DigestFinal_ex(digest, raw, NULL);
    sodium_bin2hex(out, BLOB_HASH + 1, raw, BLOB_HASH / 2);
    EVP_MD_CTX_free(digest);
    free(chunk);
    return n > 0;
}

static enum blob_status put_whole(struct blob_put *p)
{
    struct call c = call_of(p->store, "PUT", p->id.hash);

    memcpy(c.hash, p->id.hash, sizeof(c.hash));
    c.body_fd = p->fd;
    c.size = p->id.size;
    return end(run(p->store, &c), "an object was not stored", NULL);
}

/* Finds the text between <tag> and </tag>, from *at on, which then stands behind it. */
static bool element(const char **at, const char *tag, char *out, size_t size)
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

/* Escapes everything but letters and digits: upload ids and continuation tokens are theirs. */
static void escape(const char *from, char *out, size_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t n = 0;

    for (; *from && n + 4 < size; from++) {
        unsigned char c = (unsigned char)*from;

        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            c == '-' || c == '.' || c == '_' || c == '~') {
            out[n++] = (char)c;
        } else {
            out[n++] = '%';
            out[n++] = digits[c >> 4];
            out[n++] = digits[c & 15];
        }
    }
    out[n] = 0;
}

static enum blob_status put_part(
    struct blob_put *p, const char *upload, unsigned number, struct buf *list)
{
    struct call c = call_of(p->store, "PUT", p->id.hash);
    struct net_transfer *t;
    enum blob_status status;

    c.at = (uint64_t)(number - 1) * PART;
    c.size = p->id.size - c.at < PART ? p->id.size - c.at : PART;
    c.body_fd = p->fd;
    snprintf(c.url + strlen(c.url), 1200, "?partNumber=%u&uploadId=%s", number, upload);
    if (!hash_part(p->fd, c.at, c.size, c.hash))
        return BLOB_TROUBLE;
    status = end(run(p->store, &c), "a part of an object was not stored", &t);
    if (status != BLOB_OK)
        return status;
    buf_addf(list, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", number,
        net_header(t, "ETag"));
    net_transfer_free(t);
    return BLOB_OK;
}

static enum blob_status begin_parts(struct blob_put *p, char *upload, size_t size)
{
    struct call c = call_of(p->store, "POST", p->id.hash);
    struct net_transfer *t;
    enum blob_status status;
    char raw[300] = "";
    const char *at;

    snprintf(c.url + strlen(c.url), 10, "?uploads=");
    status = end(run(p->store, &c), "an upload in parts did not begin", &t);
    if (status != BLOB_OK)
        return status;
    at = net_text(t).p;
    if (!element(&at, "UploadId", raw, sizeof(raw)))
        status = BLOB_TROUBLE;
    escape(raw, upload, size);
    net_transfer_free(t);
    return status;
}

static enum blob_status end_parts(
    struct blob_put *p, const char *upload, const char *method, wharf_str text)
{
    struct call c = call_of(p->store, method, p->id.hash);
    struct net_transfer *t;
    enum blob_status status;

    snprintf(c.url + strlen(c.url), 1200, "?uploadId=%s", upload);
    c.text = text.p;
    c.size = text.n;
    status = end(run(p->store, &c), "an upload in parts did not end", &t);
    if (status != BLOB_OK)
        return status;
    /* The server may find only after 200 that it can't. */
    if (strstr(net_text(t).p, "<Error>"))
        status = BLOB_TROUBLE;
    net_transfer_free(t);
    return status;
}

static enum blob_status put_parts(struct blob_put *p)
{
    unsigned parts = (unsigned)((p->id.size + PART - 1) / PART);
    char upload[900];
    enum blob_status status = begin_parts(p, upload, sizeof(upload));
    struct buf list;

    if (status != BLOB_OK)
        return status;
    buf_init(&list, 4 << 20);
    BUF_LIT(&list, "<CompleteMultipartUpload>");
    for (unsigned i = 1; i <= parts && status == BLOB_OK; i++) {
        status = put_part(p, upload, i, &list);
        fault_point("blob.part");
    }
    BUF_LIT(&list, "</CompleteMultipartUpload>");
    if (status == BLOB_OK)
        status = end_parts(p, upload, "POST", buf_str(&list));
    if (status != BLOB_OK)
        end_parts(p, upload, "DELETE", str_z(""));
    buf_done(&list);
    return status;
}

static enum blob_status s3_size(struct blob_store *s, const char *hash, uint64_t *ret_size)
{
    struct call c = call_of(s, "HEAD", hash);
    struct net_transfer *t;
    enum blob_status status = end(run(s, &c), "an object's size is not known", &t);

    if (status != BLOB_OK)
        return status;
    *ret_size = strtoull(net_header(t, "Content-Length"), NULL, 10);
    net_transfer_free(t);
    return BLOB_OK;
}

static enum blob_status s3_place(struct blob_put *p)
{
    uint64_t there;
    enum blob_status status = s3_size(p->store, p->id.hash, &there);

    if (status == BLOB_OK && there == p->id.size && !p->again)
        return BLOB_OK;
    if (status != BLOB_OK && status != BLOB_ABSENT)
        return status;
    return p->id.size > WHOLE_MAX ? put_parts(p) : put_whole(p);
}

/* ---- get ---- */

static enum blob_status s3_get(struct blob_store *s, const char *hash, uint64_t offset,
    uint64_t length, int *ret_fd, uint64_t *ret_at)
{
    struct call c = call_of(s, "GET", hash);
    struct net_transfer *t = NULL;
    enum blob_status status = BLOB_OK;
    int fd = blob_nameless(s);
    char range[64];

    if (fd < 0)
        return blob_errno(errno, "a temporary file can't be made");
    snprintf(range, sizeof(range), "Range: bytes=%llu-%llu", (unsigned long long)offset,
        (unsigned long long)(offset + length - 1));
    c.range = range;
    c.max = length + ANSWER_MAX; /* an error has a text of its own */
    c.to = &fd;
    if (length)
        status = end(run(s, &c), "an object was not read", &t);
    if (t && net_received(t) != length)
        status = BLOB_DAMAGED;
    net_transfer_free(t);
    if (status != BLOB_OK) {
        close(fd);
        return status;
    }
    *ret_fd = fd;
    *ret_at = 0;
    return BLOB_OK;
}

static enum blob_status s3_erase(struct blob_store *s, const char *hash)
{
    struct call c = call_of(s, "DELETE", hash);
    enum blob_status status = end(run(s, &c), "an object was not erased", NULL);

    return status == BLOB_ABSENT ? BLOB_OK : status;
}

/* ---- walk ---- */

/* Walks over one page of the list. Returns false when fn wants no more. */
static bool walk_page(const char *page, int64_t before_us, blob_walk_fn *fn, void *arg)
{
    char key[200], modified[40];
    bool on = true;
    int64_t at_us;

    while (on && element(&page, "Key", key, sizeof(key)) &&
           element(&page, "LastModified", modified, sizeof(modified))) {
        const char *slash = strrchr(key, '/');

        if (slash && blob_hash_shape(slash + 1) && time_parse(str_z(modified), false, &at_us) &&
            at_us <= before_us)
            on = fn(arg, slash + 1);
    }
    return on;
}

static enum blob_status s3_walk(struct blob_store *s, int64_t age_s, blob_walk_fn *fn, void *arg)
{
    int64_t before_us = ((int64_t)time(NULL) - age_s) * 1000000;
    char token[700] = "", raw[400];
    enum blob_status status;
    bool on = true;

    do {
        struct call c = {.method = "GET", .body_fd = -1};
        struct net_transfer *t;
        const char *at;

        /* The signature wants the parameters in order. */
        if (token[0])
            snprintf(c.url, sizeof(c.url),
                "%s?continuation-token=%s&list-type=2&prefix=objects%%2F", s->endpoint, token);
        else
            snprintf(c.url, sizeof(c.url), "%s?list-type=2&prefix=objects%%2F", s->endpoint);
        status = end(run(s, &c), "the objects were not listed", &t);
        if (status != BLOB_OK)
            return status;
        on = walk_page(net_text(t).p, before_us, fn, arg);
        at = net_text(t).p;
        on = on && element(&at, "NextContinuationToken", raw, sizeof(raw));
        if (on)
            escape(raw, token, sizeof(token));
        net_transfer_free(t);
    } while (on);
    return BLOB_OK;
}

const struct blob_driver blob_s3 = {s3_place, s3_get, s3_size, s3_erase, s3_walk};
