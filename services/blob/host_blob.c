/* host_blob.c - the service wharf.blob (plugin-api/wharf/service/blob.h) on top of
 * services/blob/blob_file.h. */
#include "blob/arrival.h"
#include "blob/blob_inline.h"
#include "blob/blob_serve.h"
#include "blob/file_direct.h"
#include "host/host.h"
#include "util/str.h"
#include "wharf/errors.h"
#include "wharf/service/blob.h"

struct wharf_blob_writer {
    struct blob_put *put; /* NULL: over */
};

static void host_blob_release(void *arg)
{
    struct wharf_blob_writer *w = arg;

    blob_put_abort(w->put);
    w->put = NULL;
}

static wharf_status b_begin(wharf_req *req, int64_t max_bytes, wharf_blob_writer **ret_writer)
{
    struct wharf_blob_writer *w = ARENA_NEW(req->arena, struct wharf_blob_writer);
    enum blob_status s = blob_put_begin(
        req->engine->blobs, max_bytes > 0 ? (uint64_t)max_bytes : 0, &w->put);

    if (s != BLOB_OK)
        return file_problem(req, s);
    arena_on_release(req->arena, host_blob_release, w);
    *ret_writer = w;
    return WHARF_OK;
}

static wharf_status b_write(wharf_req *req, wharf_blob_writer *w, const void *bytes, size_t n)
{
    return w->put ? file_problem(req, blob_put_write(w->put, bytes, n))
                  : req_fail(req, ERR_INTERNAL, NULL, NULL);
}

static int b_written(const wharf_blob_writer *w)
{
    return w->put ? blob_put_file(w->put) : -1;
}

static wharf_str host_blob_or_empty(wharf_str s)
{
    return s.p ? s : str_z("");
}

static wharf_status b_finish(wharf_req *req, wharf_blob_writer *w, wharf_str name, wharf_str type,
    int64_t expires_us, wharf_str *ret_id)
{
    struct blob_put *put = w->put;
    struct file_row row;
    wharf_status s;

    if (!put)
        return req_fail(req, ERR_INTERNAL, NULL, "the writer is over already");
    w->put = NULL;
    s = file_store(req, put, host_blob_or_empty(name), host_blob_or_empty(type), expires_us, &row);
    if (s == WHARF_OK)
        *ret_id = row.id;
    return s;
}

static void b_abort(wharf_req *req, wharf_blob_writer *w)
{
    (void)req;
    host_blob_release(w);
}

static wharf_status b_await(wharf_req *req, wharf_str name, wharf_str type, int64_t size,
    int64_t max_bytes, int64_t expires_us, wharf_str *ret_id)
{
    struct file_row row;
    wharf_status s = file_await(
        req, host_blob_or_empty(name), host_blob_or_empty(type), size, max_bytes, expires_us, &row);

    if (s == WHARF_OK)
        *ret_id = row.id;
    return s;
}

static wharf_status b_info(wharf_req *req, wharf_str id, wharf_blob_info *info)
{
    struct file_row row;
    wharf_status s = file_find(req, id, &row);
    wharf_blob_info all;
    size_t head = sizeof(wharf_head);

    if (s != WHARF_OK)
        return s;
    all = (wharf_blob_info){.id = row.id,
        .name = row.name,
        .type = row.type,
        .sha256 = row.hash,
        .size = row.stored ? row.size : -1,
        .expires_us = row.expires_us,
        .md5 = row.md5};
    if (info->head.size > head)
        memcpy((char *)info + head, (char *)&all + head,
            (info->head.size < sizeof(all) ? info->head.size : sizeof(all)) - head);
    return WHARF_OK;
}

static wharf_status find_stored(wharf_req *req, wharf_str id, struct file_row *row)
{
    wharf_status s = file_find(req, id, row);

    return s == WHARF_OK && !row->stored ? req_fail(req, ERR_NOT_FOUND, NULL, NULL) : s;
}

static wharf_status b_open(wharf_req *req, wharf_str id, int64_t offset, int64_t length,
    int *ret_fd, int64_t *ret_at, int64_t *ret_length)
{
    struct file_row row;
    wharf_status s = find_stored(req, id, &row);
    uint64_t at;
    int fd;

    if (s != WHARF_OK)
        return s;
    if (offset < 0 || offset > row.size)
        offset = row.size;
    if (length < 0 || length > row.size - offset)
        length = row.size - offset;
    s = file_open(req, &row, (uint64_t)offset, (uint64_t)length, &fd, &at);
    if (s != WHARF_OK)
        return s;
    *ret_fd = fd;
    *ret_at = (int64_t)at;
    *ret_length = length;
    return WHARF_OK;
}

static wharf_status b_remove(wharf_req *req, wharf_str id)
{
    return file_remove(req, id);
}

static wharf_status b_link(
    wharf_req *req, wharf_str id, uint32_t kind, int64_t seconds, wharf_str *ret_url)
{
    struct file_row row;
    wharf_status s = file_find(req, id, &row);

    return s == WHARF_OK
               ? file_link(req, &row, kind == WHARF_BLOB_GET ? "get" : "put", seconds, ret_url)
               : s;
}

static wharf_status b_respond(wharf_req *req, wharf_str id, wharf_str cache, bool attachment)
{
    struct file_row row;
    wharf_status s = find_stored(req, id, &row);

    if (s != WHARF_OK)
        return s;
    return file_serve(req, &row,
        host_blob_or_empty(cache).n ? arena_dup_str(req->arena, cache) : str_z("private, no-cache"),
        attachment);
}

static wharf_status b_announce(wharf_req *req, wharf_str id, const char *job)
{
    return file_announce(
        req, id, arena_printf(req->arena, "%s.%s", req->plugin ? req->plugin->name : "wharf", job));
}

struct inline_to {
    wharf_req *req;
    wharf_blob_writer *w;
    wharf_status status;
};

static bool take_inline(void *arg, const void *bytes, size_t n)
{
    struct inline_to *to = arg;

    to->status = b_write(to->req, to->w, bytes, n);
    return to->status == WHARF_OK;
}

static wharf_status b_write_text(wharf_req *req, wharf_blob_writer *w, wharf_str text,
    wharf_str *ret_type, const char **ret_fault)
{
    struct inline_to to = {req, w, WHARF_OK};
    wharf_str type;
    const char *fault;
    enum inline_end end = inline_read(text, take_inline, &to, &type, &fault);

    *ret_fault = end == INLINE_BAD ? fault : NULL;
    *ret_type = arena_dup_str(req->arena, type);
    return end == INLINE_BAD ? WHARF_INVALID : to.status;
}

static wharf_status b_md5(wharf_req *req, int fd, int64_t at, int64_t length, wharf_str *ret_base64)
{
    return inline_md5(req->arena, fd, at, length, ret_base64) ? WHARF_OK
                                                              : file_problem(req, BLOB_TROUBLE);
}

static void b_on_arrival(wharf_plugin *self, arrival_fn *fn)
{
    arrival_listen(self, fn);
}

static void b_on_damage(
    wharf_plugin *self, wharf_status (*fn)(wharf_req *req, wharf_str id, uint32_t state))
{
    arrival_listen_damage(self, fn);
}

static void b_on_refusal(wharf_plugin *self, refusal_fn *fn)
{
    arrival_listen_refusals(self, fn);
}

static wharf_status b_direct_link(
    wharf_req *req, wharf_str id, uint32_t kind, wharf_str md5, int64_t seconds, wharf_str *ret_url)
{
    struct file_row row;
    wharf_status s = file_find(req, id, &row);

    return s == WHARF_OK ? file_link_direct(req, &row, kind == WHARF_BLOB_PUT ? "put" : "get",
                               host_blob_or_empty(md5), seconds, ret_url)
                         : s;
}

static bool b_direct(wharf_req *req)
{
    return blob_direct(req->engine->blobs);
}

const wharf_blob_api host_blob = {WHARF_HEAD(wharf_blob_api), b_begin, b_write, b_written, b_finish,
    b_abort, b_await, b_info, b_open, b_remove, b_link, b_respond, b_announce, b_write_text, b_md5,
    b_on_arrival, file_set_type, file_retire, b_on_damage, b_direct, b_direct_link, file_fetch,
    b_on_refusal, file_erase};
