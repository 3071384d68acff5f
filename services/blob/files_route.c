/* files_route.c - signed links: GET, HEAD and PUT of /v1/files/:file (docs/spec/01-platform.md
 * section 16). Leaves to others: uploads in pieces (tus_route.c). */
#include "blob/files_route.h"

#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include "blob/blob_serve.h"
#include "blob/routes.gen.h"
#include "blob/tus_route.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

/* ---- GET, HEAD: on a worker thread ---- */

static bool files_route_look_up(struct wharf_req *req, const char *op, struct file_row *ret_row)
{
    const struct sql_arg id = {req->params[0].p, req->params[0].n};
    PGresult *r = req_query(req, file_lookup_sql, &id, 1);

    return r && file_link_check(req, r, op, ret_row);
}

static wharf_status get_file(struct wharf_req *req, void *arg)
{
    struct file_row row;
    wharf_str exp = {"0", 1}, op;
    int64_t left;

    (void)arg;
    if (!strcmp(req->head.method, "HEAD") && req_param(req, "op", &op) && str_eqz(op, "put"))
        return files_route_look_up(req, "put", &row) ? tus_head(req, &row) : WHARF_DENIED;
    if (!files_route_look_up(req, "get", &row))
        return WHARF_DENIED;
    if (!row.stored)
        return req_fail(req, ERR_NOT_FOUND, NULL, NULL);
    req_param(req, "exp", &exp);
    left = strtoll(exp.p, NULL, 10) - req->now_us / 1000000;
    return file_serve(req, &row,
        arena_printf(req->arena, "private, max-age=%lld", (long long)(left > 0 ? left : 0)), false);
}

/* ---- PUT ---- */

struct upload_job {
    struct lane_job job;
    struct sql_arg arg;
    struct exchange *x;
};

static void looked_up(struct lane_job *job, PGresult *result, const struct db_error *error)
{
    struct exchange *x = job->arg;
    struct wharf_req *req = &x->req;

    if (error)
        req_database_problem(req, error);
    else if (file_link_check(req, result, "put", x->upload) && x->upload->stored)
        req_fail(req, ERR_FILE_ALREADY_UPLOADED, NULL, NULL);
    x->state = X_KEYED;
    if (x->abandoned) {
        exchange_release(x);
        return;
    }
    exchange_resume(x);
}

static void upload_begin(struct exchange *x)
{
    struct upload_job *j = ARENA_NEW(x->req.arena, struct upload_job);
    wharf_str bad;

    x->upload = ARENA_NEW(x->req.arena, struct file_row);
    query_split(
        x->req.arena, x->req.head.raw_query, &x->req.head.pairs, &x->req.head.n_pairs, &bad);
    j->arg = (struct sql_arg){x->req.params[0].p, x->req.params[0].n};
    j->job = (struct lane_job){.sql = file_lookup_sql,
        .args = &j->arg,
        .n_args = 1,
        .done = looked_up,
        .arg = x,
        .deadline_us = x->server->turn_us + 2000000};
    lane_queue(x->server->lanes[0], &j->job);
}

static const char *files_route_header(const struct exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

/* Judges the headers of a piece (tus_route.c). */
static bool piece_headers_ok(struct exchange *x)
{
    const struct tus_headers h = {.version = files_route_header(x, "Tus-Resumable"),
        .type = files_route_header(x, "Content-Type"),
        .offset = files_route_header(x, "Upload-Offset"),
        .length = files_route_header(x, "Upload-Length"),
        .checksum = files_route_header(x, "Upload-Checksum")};

    return tus_headers_ok(&x->req, &h, x->upload);
}

static bool upload_headers_ok(struct exchange *x)
{
    struct wharf_req *req = &x->req;
    const char *type = files_route_header(x, "Content-Type"),
               *length = files_route_header(x, "Content-Length"),
               *coding = files_route_header(x, "Content-Encoding");
    int64_t limit = file_limit(req, x->upload), size = length ? strtoll(length, NULL, 10) : -1;

    if (coding && strcasecmp(coding, "identity") != 0) {
        req_fail(req, ERR_CONTENT_ENCODING_UNSUPPORTED, "Content-Encoding",
            "Send the file as it is, without Content-Encoding");
        return false;
    }
    if (!strcmp(req->head.method, "PATCH"))
        return piece_headers_ok(x);
    if (!str_eqz(x->upload->type, "application/octet-stream") &&
        (!type || strcasecmp(type, x->upload->type.p) != 0))
        req_fail(req, ERR_FILE_UPLOAD_INVALID, "Content-Type", "Send the header Content-Type: %s",
            x->upload->type.p);
    else if (x->upload->want_size >= 0 && size >= 0 && size != x->upload->want_size)
        req_fail(req, ERR_FILE_UPLOAD_INVALID, "Content-Length",
            "The file was announced with %lld bytes", (long long)x->upload->want_size);
    else if (size > limit)
        req_fail(req, ERR_FILE_TOO_LARGE, NULL, "The file may have %lld bytes at most",
            (long long)limit);
    else if (x->upload->want_size >= 0)
        limit = x->upload->want_size;
    if (req->problems.n)
        return false;
    if (file_problem(req, blob_put_begin(req->engine->blobs, (uint64_t)limit, &req->reply.put)) !=
        WHARF_OK)
        return false;
    blob_put_beside(req->reply.put, files_route_header(x, "Content-MD5"));
    return true;
}

static void upload_drop(struct exchange *x)
{
    blob_put_abort(x->req.reply.put);
    x->req.reply.put = NULL;
}

static bool upload_take(struct exchange *x, const char *data, size_t n)
{
    enum blob_status status = blob_put_write(x->req.reply.put, data, n);

    if (status == BLOB_OK)
        return true;
    if (status == BLOB_TOO_LARGE && x->upload->want_size >= 0)
        req_fail(&x->req, ERR_FILE_UPLOAD_INVALID, NULL, "The file was announced with %lld bytes",
            (long long)x->upload->want_size);
    else
        file_problem(&x->req, status);
    upload_drop(x);
    return false;
}

/* Takes the bytes, which are here; on a worker thread. The link is looked at again: much may have
 * happened meanwhile. */
static wharf_status files_route_put_file(struct wharf_req *req, void *arg)
{
    struct req_reply *reply = &req->reply;
    struct blob_put *p = reply->put;
    struct file_row row;
    struct blob_id id;
    wharf_str refused;

    (void)arg;
    if (!files_route_look_up(req, "put", &row))
        return WHARF_DENIED;
    if (!p)
        return req_fail(
            req, ERR_FILE_UPLOAD_INVALID, NULL, "Send the file as the body of the request");
    if (file_problem(req, blob_put_hash(p, &id)) != WHARF_OK)
        return WHARF_UNAVAILABLE;
    if (!id.size)
        return req_fail(req, ERR_FILE_UPLOAD_INVALID, NULL, "The file is empty");
    if (!blob_put_is_as_sent(p))
        return req_fail(req, ERR_FILE_UPLOAD_INVALID, "Content-MD5",
            "The bytes that came are not those of Content-MD5; send the file again");
    if (row.want_size >= 0 && id.size != (uint64_t)row.want_size)
        return req_fail(req, ERR_FILE_UPLOAD_INVALID, NULL,
            "The file has %llu bytes, and was announced with %lld", (unsigned long long)id.size,
            (long long)row.want_size);
    reply->put = NULL;
    if (file_arrived(req, &row, p, &id, &refused) != WHARF_OK)
        return WHARF_CONFLICT;
    if (refused.n)
        return req_fail(req, ERR_FILE_UPLOAD_INVALID, NULL, "%s", refused.p);
    req_respond(reply, 200, str_z("stored"));
    reply->raw_type = "text/plain; charset=utf-8";
    reply->entity = arena_printf(req->arena, "\"%s\"", id.hash);
    return WHARF_OK;
}

/* Takes a piece of the file; on a worker thread. */
static wharf_status patch_file(struct wharf_req *req, void *arg)
{
    struct file_row row;

    (void)arg;
    return files_route_look_up(req, "put", &row) ? tus_piece(req, &row) : WHARF_DENIED;
}

const struct upload_handler file_uploads = {
    upload_begin, upload_headers_ok, upload_take, upload_drop};

void files_routes_add(struct wharf_decl *d)
{
    const wharf_route get = {ROUTE_FILE_GET, .handler = get_file};
    const wharf_route put = {ROUTE_FILE_PUT, .handler = files_route_put_file};
    const wharf_route patch = {ROUTE_FILE_PATCH, .handler = patch_file};

    decl_own_route(d, &get);
    decl_own_route(d, &put);
    decl_own_route(d, &patch);
}
