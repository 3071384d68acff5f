/* file_fetch.c - taking what clients brought to the S3-compatible server: fetched, hashed, and from
 * there on like a PUT to this server. See file_direct.h.
 *
 * An upload that was taken is erased after the commit; one that is left behind by a process that
 * died is taken again, or erased by who finds its file stored (collect.c too). */
#include <stdlib.h>

#include "blob/arrival.h"
#include "blob/blob_store.h"
#include "blob/file_direct.h"
#include "resource/engine.h"
#include "util/log.h"
#include "util/str.h"
#include "wharf/errors.h"

/* The size that a request fetches; the job fetches what is larger. */
enum {
    REQUEST_BYTES = 64 << 20,
    SWEEP_MOST = 1000, /* files of one run */
    BAD_REQUEST = 400
};

const char file_fetch_policy[] = "{\"every\": \"1m\", \"retries\": 0, \"timeout\": \"1h\", "
                                 "\"transaction\": \"own\"}";

static struct direct_name upload_of(const struct file_row *row)
{
    return (struct direct_name){DIRECT_UPLOAD, row->organization, row->id};
}

/* ---- the end of an upload ---- */

static void erase_now(struct wharf_req *req, void *arg)
{
    blob_direct_erase(req->engine->blobs, arg, true); /* what fails is tried by the job again */
}

/* Erases the upload once what was done about it is committed. */
static void file_fetch_erase_upload(struct wharf_req *req, const struct file_row *row)
{
    struct direct_name name = upload_of(row), *later;
    struct arena *a;

    if (!req->tx.depth) {
        fault_point("upload.taken");
        erase_now(req, &name);
        return;
    }
    req->tx.keeps = true;
    a = req_tx_memory(&req->tx);
    later = ARENA_NEW(a, struct direct_name);
    *later = (struct direct_name){
        name.kind, arena_dup_str(a, name.organization), arena_dup_str(a, name.file)};
    req_after_commit(&req->tx, erase_now, later);
}

/* ---- refusing ---- */

/* Returns why bytes of that size are not taken, or NULL. */
static const char *unfit(const struct wharf_req *req, const struct file_row *row, uint64_t size)
{
    if (!size)
        return "missing";
    if (size > (uint64_t)file_limit(req, row))
        return "too_large";
    return row->want_size >= 0 && size != (uint64_t)row->want_size ? "size_mismatch" : NULL;
}

static wharf_status refuse_locked(
    struct wharf_req *req, const struct file_row *row, const char *reason)
{
    static const char sql[] = "SELECT plugin FROM wharf.file WHERE organization_id = $1 AND id = "
                              "$2 AND state = 'waiting' FOR UPDATE";
    const struct sql_arg args[] = {
        {row->organization.p, row->organization.n}, {row->id.p, row->id.n}};
    PGresult *r = req_query(req, sql, args, 2);

    if (!r)
        return WHARF_UNAVAILABLE;
    return PQntuples(r) ? arrival_refuse(req, arena_dupz(req->arena, PQgetvalue(r, 0, 0)),
                              row->organization, row->id, reason)
                        : WHARF_OK;
}

/* Tells the plugin that the bytes are not taken, and erases them. */
static wharf_status file_fetch_refuse(
    struct wharf_req *req, const struct file_row *row, const char *reason)
{
    wharf_status s = req_begin(req);

    if (s != WHARF_OK)
        return s;
    s = refuse_locked(req, row, reason);
    if (s != WHARF_OK) {
        req_rollback(req);
        return s;
    }
    s = req_commit(req);
    if (s == WHARF_OK)
        file_fetch_erase_upload(req, row);
    return s;
}

/* ---- taking ---- */

/* Judges what file_arrived() met: somebody else took the bytes, and erases them; they are wrong for
 * good; or they are tried again later. */
static wharf_status settle_failed(struct wharf_req *req, const struct file_row *row, size_t before)
{
    const char *code = req->problems.n > before ? req->problems.list[before].code : ERR_INTERNAL;
    bool lost = strcmp(code, ERR_FILE_ALREADY_UPLOADED) == 0,
         wrong = code_status(req->engine, code) == BAD_REQUEST;

    if (!lost)
        log_write(WHARF_LOG_WARN, NULL, req->request_id, "file.fetch",
            "what was brought for %.*s is not taken: %s", STR_ARG(row->id), code);
    req->problems.n = before;
    return wrong ? file_fetch_refuse(req, row, "rejected") : WHARF_OK;
}

static wharf_status file_fetch_take_bytes(
    struct wharf_req *req, const struct file_row *row, struct blob_put *put)
{
    size_t before = req->problems.n;
    const char *reason;
    wharf_str refused;
    struct blob_id id;

    if (blob_put_hash(put, &id) != BLOB_OK) {
        blob_put_abort(put);
        return WHARF_OK;
    }
    reason = unfit(req, row, id.size); /* it may have been written again since it was looked at */
    if (reason) {
        blob_put_abort(put);
        return file_fetch_refuse(req, row, reason);
    }
    fault_point("upload.fetched");
    if (file_arrived(req, row, put, &id, &refused) != WHARF_OK)
        return settle_failed(req, row, before);
    file_fetch_erase_upload(req, row);
    return WHARF_OK;
}

/* Takes what is there. brief: for a request, which waits for a moment only. */
static wharf_status take_upload(struct wharf_req *req, const struct file_row *row, bool brief)
{
    struct blob_store *store = req->engine->blobs;
    struct direct_name name = upload_of(row);
    int retry_after = req->reply.retry_after;
    size_t before = req->problems.n;
    struct blob_put *put;
    const char *reason;
    uint64_t size;
    wharf_status s;

    if (blob_direct_size(store, &name, brief, &size) != BLOB_OK)
        return WHARF_OK;
    reason = unfit(req, row, size);
    if (!reason && brief && size > REQUEST_BYTES)
        return WHARF_OK;
    if (!reason && blob_direct_fetch(store, &name, (uint64_t)file_limit(req, row), &put) != BLOB_OK)
        return WHARF_OK;
    s = reason ? file_fetch_refuse(req, row, reason) : file_fetch_take_bytes(req, row, put);
    if (s != WHARF_OK)
        log_write(WHARF_LOG_WARN, NULL, req->request_id, "file.fetch",
            "what was brought for %.*s is looked at later", STR_ARG(row->id));
    req->problems.n = before; /* the request is about something else, and the job tries again */
    req->reply.retry_after = retry_after;
    return WHARF_OK;
}

wharf_status file_fetch(struct wharf_req *req, wharf_str id)
{
    struct file_row row;
    wharf_status s;

    if (!blob_direct(req->engine->blobs))
        return WHARF_OK;
    s = file_find(req, id, &row);
    if (s == WHARF_NOT_FOUND) {
        req_clear_problems(&req->problems);
        return WHARF_OK;
    }
    if (s != WHARF_OK || row.stored)
        return s;
    req_leave_implied(req); /* of a retrieve: what is taken has to stay */
    return take_upload(req, &row, true);
}

/* ---- the job ---- */

struct found {
    struct arena *arena;
    struct direct_name names[SWEEP_MOST];
    size_t n;
};

static bool note_upload(void *arg, const struct direct_name *name)
{
    struct found *f = arg;

    f->names[f->n++] = (struct direct_name){name->kind, arena_dup_str(f->arena, name->organization),
        arena_dup_str(f->arena, name->file)};
    return f->n < SWEEP_MOST;
}

static wharf_status settle_upload(struct wharf_req *req, const struct direct_name *name)
{
    struct file_row row;
    wharf_status s = file_find_of(req, name->organization, name->file, &row);

    if (s == WHARF_OK && !row.stored)
        return take_upload(req, &row, false);
    if (s != WHARF_OK && s != WHARF_NOT_FOUND)
        return s;
    blob_direct_erase(req->engine->blobs, name, true); /* nobody awaits it any more */
    return WHARF_OK;
}

wharf_status file_fetch_job(struct wharf_req *req, void *arg)
{
    struct found *found;
    wharf_status s = WHARF_OK;

    (void)arg;
    if (!blob_direct(req->engine->blobs))
        return WHARF_OK;
    found = ARENA_NEW(req->arena, struct found);
    found->arena = req->arena;
    if (blob_direct_walk(req->engine->blobs, DIRECT_UPLOAD, note_upload, found) != BLOB_OK)
        return WHARF_OK; /* it is in the log, and looked for in a minute */
    for (size_t i = 0; s == WHARF_OK && i < found->n && !req->job->stop(req); i++) {
        struct req_scope scope = req_scope_begin(req);

        s = settle_upload(req, &found->names[i]);
        req_scope_end(req, &scope);
    }
    return s;
}
