/* s3.c - the driver for S3-compatible servers, path style. See blob.h; s3_call.h makes the
 * requests, s3_direct.c what clients bring and read themselves.
 *
 * The bytes are first in a temporary file here, so their hash is known and signed with the
 * request: what the server keeps is what came. Large objects travel in parts; an object appears
 * when the server has all of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blob/blob_digest.h"
#include "blob/s3_call.h"
#include "util/str.h"
#include <sodium.h>

enum {
    PART = 16 << 20, /* bytes of a part of an upload to S3 */
    WHOLE_MAX = 64 << 20 /* bytes that are sent to S3 in one piece */
};

static char *bucket_url(struct arena *a, wharf_str endpoint, const char *bucket)
{
    while (endpoint.n && endpoint.p[endpoint.n - 1] == '/')
        endpoint.n--;
    return strdup(arena_printf(a, "%.*s/%s/", STR_ARG(endpoint), bucket).p);
}

bool blob_s3_setup(struct blob_store *s, struct arena *err, wharf_str *ret_problem)
{
    const struct config *c = s->config;
    wharf_str endpoint = str_z(c->blob_s3_endpoint);
    wharf_str clients = str_z(c->blob_s3_client_endpoint);
    char *text[4];

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
    if (clients.n && !str_starts(clients, "https://") && !str_starts(clients, "http://")) {
        *ret_problem = arena_printf(err,
            "blob.s3.client_endpoint must begin with https:// or http://, not \"%s\"", clients.p);
        return false;
    }
    text[0] = bucket_url(err, endpoint, c->blob_s3_bucket);
    text[1] = strdup(arena_printf(err, "aws:amz:%s:s3", c->blob_s3_region).p);
    text[2] = strdup(arena_printf(err, "%s:%s", c->blob_s3_key, c->blob_s3_secret).p);
    text[3] = bucket_url(err, clients.n ? clients : endpoint, c->blob_s3_bucket);
    if (!text[0] || !text[1] || !text[2] || !text[3])
        abort();
    s->endpoint = text[0];
    s->sigv4 = text[1];
    s->credentials = text[2];
    s->client_url = text[3];
    return true;
}

/* ---- put ---- */

static struct s3_call object_call(struct blob_store *s, const char *method, const char *hash)
{
    char key[BLOB_HASH + 20];

    snprintf(key, sizeof(key), "objects/%.2s/%s", hash, hash);
    return s3_call_of(s, method, key);
}

static bool hash_part(int fd, uint64_t at, uint64_t size, char out[BLOB_HASH + 1])
{
    unsigned char raw[EVP_MAX_MD_SIZE];

    if (!blob_digest_of(EVP_sha256(), fd, at, size, raw))
        return false;
    sodium_bin2hex(out, BLOB_HASH + 1, raw, BLOB_HASH / 2);
    return true;
}

static enum blob_status s3_put_whole(struct blob_put *p)
{
    struct s3_call c = object_call(p->store, "PUT", p->id.hash);

    memcpy(c.hash, p->id.hash, sizeof(c.hash));
    c.body_fd = p->fd;
    c.size = p->id.size;
    return s3_end(s3_run(p->store, &c), "an object was not stored", NULL);
}

static enum blob_status s3_put_part(
    struct blob_put *p, const char *upload, unsigned number, struct buf *list)
{
    struct s3_call c = object_call(p->store, "PUT", p->id.hash);
    struct net_transfer *t;
    enum blob_status status;

    c.at = (uint64_t)(number - 1) * PART;
    c.size = p->id.size - c.at < PART ? p->id.size - c.at : PART;
    c.body_fd = p->fd;
    snprintf(c.url + strlen(c.url), 1200, "?partNumber=%u&uploadId=%s", number, upload);
    if (!hash_part(p->fd, c.at, c.size, c.hash))
        return BLOB_TROUBLE;
    status = s3_end(s3_run(p->store, &c), "a part of an object was not stored", &t);
    if (status != BLOB_OK)
        return status;
    buf_addf(list, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", number,
        net_header(t, "ETag"));
    net_transfer_free(t);
    return BLOB_OK;
}

static enum blob_status begin_parts(struct blob_put *p, char *upload, size_t size)
{
    struct s3_call c = object_call(p->store, "POST", p->id.hash);
    struct net_transfer *t;
    enum blob_status status;
    char raw[300] = "";
    const char *at;

    snprintf(c.url + strlen(c.url), 10, "?uploads=");
    status = s3_end(s3_run(p->store, &c), "an upload in parts did not begin", &t);
    if (status != BLOB_OK)
        return status;
    at = net_text(t).p;
    if (!s3_element(&at, "UploadId", raw, sizeof(raw)))
        status = BLOB_TROUBLE;
    s3_escape(raw, upload, size);
    net_transfer_free(t);
    return status;
}

static enum blob_status end_parts(
    struct blob_put *p, const char *upload, const char *method, wharf_str text)
{
    struct s3_call c = object_call(p->store, method, p->id.hash);
    struct net_transfer *t;
    enum blob_status status;

    snprintf(c.url + strlen(c.url), 1200, "?uploadId=%s", upload);
    c.text = text.p;
    c.size = text.n;
    status = s3_end(s3_run(p->store, &c), "an upload in parts did not end", &t);
    if (status != BLOB_OK)
        return status;
    /* The server may find only after 200 that it can't. */
    if (strstr(net_text(t).p, "<Error>"))
        status = BLOB_TROUBLE;
    net_transfer_free(t);
    return status;
}

static enum blob_status s3_put_parts(struct blob_put *p)
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
        status = s3_put_part(p, upload, i, &list);
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
    struct s3_call c = object_call(s, "HEAD", hash);
    struct net_transfer *t;
    enum blob_status status = s3_end(s3_run(s, &c), "an object's size is not known", &t);

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
    return p->id.size > WHOLE_MAX ? s3_put_parts(p) : s3_put_whole(p);
}

/* ---- get ---- */

static enum blob_status s3_get(struct blob_store *s, const char *hash, uint64_t offset,
    uint64_t length, int *ret_fd, uint64_t *ret_at)
{
    struct s3_call c = object_call(s, "GET", hash);
    struct net_transfer *t = NULL;
    enum blob_status status = BLOB_OK;
    int fd = blob_nameless(s);
    char range[64];

    if (fd < 0)
        return blob_errno(errno, "a temporary file can't be made");
    snprintf(range, sizeof(range), "Range: bytes=%llu-%llu", (unsigned long long)offset,
        (unsigned long long)(offset + length - 1));
    c.header = range;
    c.max = length + S3_ANSWER_MAX; /* an error has a text of its own */
    c.sink = s3_to_file;
    c.sink_arg = &fd;
    c.again = s3_file_again;
    if (length)
        status = s3_end(s3_run(s, &c), "an object was not read", &t);
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
    struct s3_call c = object_call(s, "DELETE", hash);
    enum blob_status status = s3_end(s3_run(s, &c), "an object was not erased", NULL);

    return status == BLOB_ABSENT ? BLOB_OK : status;
}

/* ---- walk ---- */

struct walk {
    blob_walk_fn *fn;
    void *arg;
};

static bool walk_object(void *arg, const char *key)
{
    const struct walk *w = arg;
    const char *slash = strrchr(key, '/');

    return !slash || !blob_hash_shape(slash + 1) || w->fn(w->arg, slash + 1);
}

static enum blob_status s3_walk(struct blob_store *s, int64_t age_s, blob_walk_fn *fn, void *arg)
{
    struct walk w = {fn, arg};

    return s3_list(s, "objects/", age_s, walk_object, &w);
}

const struct blob_driver blob_s3 = {s3_place, s3_get, s3_size, s3_erase, s3_walk, NULL};
