/* s3_direct.c - see blob_direct.h. */
#include "blob/blob_direct.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blob/s3_call.h"
#include "blob/s3_sign.h"
#include "util/str.h"
#include "util/time.h"

enum { KEY_MAX = 300, QUIET_US = 5000000, BRIEF_US = 3000000 };
static const char *const folders[] = {"uploads", "downloads"};

bool blob_direct_able(const struct blob_store *s)
{
    return s->driver == &blob_s3;
}

bool blob_direct(const struct blob_store *s)
{
    return blob_direct_able(s) && s->config->blob_s3_direct;
}

static void s3_direct_write_key(const struct direct_name *name, char key[KEY_MAX])
{
    snprintf(key, KEY_MAX, "%s/%.*s/%.*s", folders[name->kind], STR_ARG(name->organization),
        STR_ARG(name->file));
}

static struct s3_call named_call(
    struct blob_store *s, const char *method, const struct direct_name *name)
{
    char key[KEY_MAX];

    s3_direct_write_key(name, key);
    return s3_call_of(s, method, key);
}

/* ---- links ---- */

/* Signs a link; of what is the method, the headers, the query and the seconds. */
static wharf_str signed_link(
    struct blob_store *s, struct arena *a, const struct direct_name *name, const struct s3_link *of)
{
    struct s3_link l = *of;
    char key[KEY_MAX];

    s3_direct_write_key(name, key);
    l.key = s->config->blob_s3_key;
    l.secret = s->config->blob_s3_secret;
    l.region = s->config->blob_s3_region;
    l.base = str_z(s->client_url);
    l.object = str_z(key);
    l.now_s = (int64_t)time(NULL);
    return s3_link_sign(a, &l);
}

wharf_str blob_direct_put(struct blob_store *s, struct arena *a, const struct direct_name *name,
    wharf_str type, wharf_str md5, int64_t seconds)
{
    const struct s3_pair headers[] = {{"content-md5", md5}, {"content-type", type}};
    size_t from = md5.n ? 0 : 1;
    const struct s3_link l = {
        .method = "PUT", .headers = headers + from, .n_headers = 2 - from, .seconds = seconds};

    return signed_link(s, a, name, &l);
}

wharf_str blob_direct_get(struct blob_store *s, struct arena *a, const struct direct_name *name,
    wharf_str type, wharf_str disposition, int64_t seconds)
{
    const struct s3_pair query[] = {{"response-cache-control", str_z("private, max-age=0")},
        {"response-content-disposition", disposition}, {"response-content-type", type}};
    const struct s3_link l = {.method = "GET", .query = query, .n_query = 3, .seconds = seconds};

    return signed_link(s, a, name, &l);
}

/* ---- objects ---- */

/* Tells whether the server did not answer a moment ago: requests do not wait for it again. */
static bool s3_direct_is_quiet(struct blob_store *s)
{
    return clock_monotonic_us() < atomic_load(&s->quiet_until_us);
}

static enum blob_status note_trouble(struct blob_store *s, enum blob_status status)
{
    atomic_store(&s->quiet_until_us, status == BLOB_TROUBLE ? clock_monotonic_us() + QUIET_US : 0);
    return status;
}

enum blob_status blob_direct_size(
    struct blob_store *s, const struct direct_name *name, bool brief, uint64_t *ret_size)
{
    struct s3_call c = named_call(s, "HEAD", name);
    struct net_transfer *t;
    enum blob_status status;

    if (brief && s3_direct_is_quiet(s))
        return BLOB_TROUBLE;
    c.once = brief;
    c.within_us = brief ? BRIEF_US : 0;
    status = note_trouble(
        s, s3_end(s3_run(s, &c), "it is not known whether a client's object is there", &t));
    if (status != BLOB_OK)
        return status;
    *ret_size = strtoull(net_header(t, "Content-Length"), NULL, 10);
    net_transfer_free(t);
    return BLOB_OK;
}

struct fetching {
    struct blob_store *store;
    uint64_t max;
    struct blob_put *put;
    enum blob_status status;
};

static bool s3_direct_take_bytes(void *arg, const void *p, size_t n)
{
    struct fetching *f = arg;

    f->status = blob_put_write(f->put, p, n);
    return f->status == BLOB_OK;
}

static bool begin_anew(void *arg)
{
    struct fetching *f = arg;

    blob_put_abort(f->put);
    f->put = NULL;
    f->status = blob_put_begin(f->store, f->max, &f->put);
    return f->status == BLOB_OK;
}

enum blob_status blob_direct_fetch(
    struct blob_store *s, const struct direct_name *name, uint64_t max, struct blob_put **ret_put)
{
    struct s3_call c = named_call(s, "GET", name);
    struct fetching f = {.store = s, .max = max};
    enum blob_status status;

    if (!begin_anew(&f))
        return f.status;
    c.max = max + S3_ANSWER_MAX; /* an error has a text of its own */
    c.sink = s3_direct_take_bytes;
    c.sink_arg = &f;
    c.again = begin_anew;
    status = s3_end(s3_run(s, &c), "an upload was not read", NULL);
    if (status != BLOB_OK && f.status != BLOB_OK)
        status = f.status;
    if (status == BLOB_OK)
        *ret_put = f.put;
    else
        blob_put_abort(f.put);
    return status;
}

enum blob_status blob_direct_copy(
    struct blob_store *s, const char *hash, const struct direct_name *name)
{
    struct s3_call c = named_call(s, "PUT", name);
    struct net_transfer *t;
    enum blob_status status;
    char source[KEY_MAX];

    snprintf(source, sizeof(source), "x-amz-copy-source: /%s/objects/%.2s/%s",
        s->config->blob_s3_bucket, hash, hash);
    if (s3_direct_is_quiet(s))
        return BLOB_TROUBLE;
    c.header = source;
    c.once = true;
    status = note_trouble(s, s3_end(s3_run(s, &c), "an object was not copied", &t));
    if (status != BLOB_OK)
        return status;
    /* The server may find only after 200 that it can't. */
    if (strstr(net_text(t).p, "<Error>"))
        status = BLOB_TROUBLE;
    net_transfer_free(t);
    return status;
}

enum blob_status blob_direct_erase(struct blob_store *s, const struct direct_name *name, bool brief)
{
    struct s3_call c = named_call(s, "DELETE", name);
    enum blob_status status;

    c.once = brief;
    c.within_us = brief ? BRIEF_US : 0;
    status = s3_end(s3_run(s, &c), "a client's object was not erased", NULL);
    return status == BLOB_ABSENT ? BLOB_OK : status;
}

/* ---- walk ---- */

struct walk {
    enum direct_kind kind;
    direct_walk_fn *fn;
    void *arg;
};

/* Takes a key apart: "uploads/<organization>/<file>". Others are passed over. */
static bool walk_key(void *arg, const char *key)
{
    const struct walk *w = arg;
    const char *organization = strchr(key, '/'),
               *file = organization ? strchr(organization + 1, '/') : NULL;
    struct direct_name name = {.kind = w->kind};

    if (!file || !file[1] || strchr(file + 1, '/'))
        return true;
    name.organization = (wharf_str){organization + 1, (size_t)(file - organization - 1)};
    name.file = str_z(file + 1);
    return w->fn(w->arg, &name);
}

enum blob_status blob_direct_walk(
    struct blob_store *s, enum direct_kind kind, direct_walk_fn *fn, void *arg)
{
    struct walk w = {kind, fn, arg};
    char prefix[20];

    snprintf(prefix, sizeof(prefix), "%s/", folders[kind]);
    return s3_list(s, prefix, -60, walk_key, &w);
}
