/* blob_check.c - checks of files for `wharf verify`: what is stored is what its hash says, and
 * what rows name is stored (docs/reference/files.md). */
#include "blob/blob_check.h"

#include <limits.h>

#include "blob/blob.h"
#include "host/host_verify.h"
#include "net/client.h"
#include "util/str.h"

enum { PAGE = 500 };

/* Opens the store as the settings say, for one check. Returns NULL after fail(). */
static struct blob_store *blob_check_open_store(struct wharf_verify *v, struct net_client **ret_net)
{
    wharf_str why = {"", 0};
    struct blob_store *store = NULL;

    *ret_net = net_start(v->config, v->arena, &why);
    if (*ret_net)
        store = blob_open(v->config, *ret_net, v->arena, &why);
    if (!store) {
        verify_api.fail(v, "%s", why.p);
        net_stop(*ret_net);
    }
    return store;
}

/* ---- files.checksums ---- */

struct reading {
    struct wharf_verify *v;
    struct blob_store *store;
};

static bool blob_check_read_one(void *arg, const char *hash)
{
    struct reading *r = arg;
    enum blob_status status = blob_verify(r->store, hash);

    if (status == BLOB_ABSENT) /* erased meanwhile */
        return true;
    verify_api.looked(r->v, 1);
    if (status == BLOB_DAMAGED)
        verify_api.fault(r->v, str_z(""), str_z(hash), "is damaged: its bytes have another hash");
    else if (status != BLOB_OK)
        verify_api.fault(r->v, str_z(""), str_z(hash), "can't be read; the log says why");
    return true;
}

static wharf_status checksums(wharf_verify *v, const wharf_verify_api *api, void *arg)
{
    struct net_client *net;
    struct reading r = {v, blob_check_open_store(v, &net)};
    wharf_status s = WHARF_OK;

    (void)arg;
    if (!r.store)
        return WHARF_UNAVAILABLE;
    verify_let_go(v);
    if (blob_walk(r.store, INT32_MIN, blob_check_read_one, &r) != BLOB_OK)
        s = api->fail(v, "the store of files can't be listed; see that it can be reached");
    blob_close(r.store);
    net_stop(net);
    return s;
}

const wharf_check blob_checksums = {.head = WHARF_HEAD(wharf_check),
    .name = "checksums",
    .summary = "Every stored object has the bytes of its hash.",
    .remedy =
        "Store a file with the same bytes again, which mends the object (on S3 when files.damaged "
        "tells it, too; else delete it first), or take the object from a backup.",
    .rows = "stored objects",
    .run = checksums};

/* ---- files.objects ---- */

struct page {
    struct blob_store *store;
    struct arena *arena; /* of this page */
    struct verify_fault absent[PAGE]; /* wrong: the hash */
    size_t n, n_absent;
    wharf_str last; /* hash */
    bool gone;
};

static wharf_status blob_check_look(wharf_verify *v, const wharf_val *values, size_t n, void *arg)
{
    struct page *p = arg;
    uint64_t size;
    enum blob_status status = blob_size(p->store, values[2].u.s.p, &size);

    (void)n;
    p->n++;
    p->last = arena_dup_str(p->arena, values[2].u.s);
    if (status == BLOB_ABSENT)
        p->absent[p->n_absent++] = (struct verify_fault){arena_dup_str(p->arena, values[0].u.s),
            arena_dup_str(p->arena, values[1].u.s), p->last};
    else if (status == BLOB_TROUBLE)
        return verify_api.fail(v, "the store of files can't be read; see that it can be reached");
    return WHARF_OK;
}

static wharf_status still_there(wharf_verify *v, const wharf_val *values, size_t n, void *arg)
{
    struct page *p = arg;

    (void)v;
    (void)values;
    (void)n;
    p->gone = false;
    return WHARF_OK;
}

/* Tells of the objects that are missing while a row of now names them: those whose last row went
 * while the page was looked at were erased behind it. */
static wharf_status blob_check_tell_absent(struct wharf_verify *v, struct page *p)
{
    static const char sql[] = "SELECT id FROM wharf.file WHERE organization_id = $1 AND id = $2 "
                              "AND (expires_at IS NULL OR expires_at > wharf.now())";
    wharf_status s = WHARF_OK;

    if (p->n_absent && !verify_anew(v))
        return WHARF_UNAVAILABLE;
    for (size_t i = 0; s == WHARF_OK && i < p->n_absent; i++) {
        const struct verify_fault *f = &p->absent[i];
        const wharf_val args[] = {
            {.type = WHARF_V_TEXT, .u.s = f->organization}, {.type = WHARF_V_TEXT, .u.s = f->id}};

        p->gone = true;
        s = verify_api.each(v, sql, args, 2, still_there, p);
        if (s == WHARF_OK && !p->gone)
            verify_api.fault(
                v, f->organization, f->id, "its bytes are not in the store (%s)", f->wrong.p);
    }
    return s;
}

/* Looks at one row for each hash, in the order of hashes, a page of them at a time. */
static wharf_status look_at_pages(struct wharf_verify *v, struct blob_store *store)
{
    static const char sql[] =
        "SELECT f.organization_id, f.id, f.hash FROM (SELECT DISTINCT ON (hash) organization_id, "
        "id, hash FROM wharf.file WHERE state = 'stored' AND (expires_at IS NULL OR expires_at > "
        "wharf.now()) AND hash > $1 ORDER BY hash, expires_at DESC NULLS FIRST) f LIMIT 500";
    struct page *p = ARENA_NEW(v->arena, struct page);
    wharf_status s = WHARF_OK;

    p->last = str_z("");
    p->n = PAGE;
    while (s == WHARF_OK && p->n == PAGE) {
        struct arena *used = p->arena;
        wharf_val after = {.type = WHARF_V_TEXT};

        p->arena = arena_new(0);
        after.u.s = arena_dup_str(p->arena, p->last);
        arena_free(used);
        p->store = store;
        p->n = p->n_absent = 0;
        s = verify_anew(v) ? verify_api.each(v, sql, &after, 1, blob_check_look, p)
                           : WHARF_UNAVAILABLE;
        verify_api.looked(v, p->n);
        if (s == WHARF_OK)
            s = blob_check_tell_absent(v, p);
    }
    arena_free(p->arena);
    return s;
}

static wharf_status objects(wharf_verify *v, const wharf_verify_api *api, void *arg)
{
    struct net_client *net;
    struct blob_store *store = blob_check_open_store(v, &net);
    wharf_status s;

    (void)api;
    (void)arg;
    if (!store)
        return WHARF_UNAVAILABLE;
    s = look_at_pages(v, store);
    blob_close(store);
    net_stop(net);
    return s;
}

const wharf_check blob_objects = {.head = WHARF_HEAD(wharf_check),
    .name = "objects",
    .summary = "The bytes of every stored file are in the store.",
    .remedy = "Take the object from a backup of blob.dir or of the bucket, to objects/ and the "
              "first two digits of its hash.",
    .rows = "hashes of files",
    .run = objects};
