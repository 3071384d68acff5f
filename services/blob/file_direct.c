/* file_direct.c - see file_direct.h; file_fetch.c takes what was brought. */
#include "blob/file_direct.h"

#include "blob/blob_serve.h"
#include "blob/blob_store.h"
#include "resource/engine.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

static struct direct_name file_direct_copy_of(wharf_str organization, wharf_str id)
{
    return (struct direct_name){DIRECT_COPY, organization, id};
}

static struct sql_arg text_arg(wharf_str s)
{
    return (struct sql_arg){s.p, s.n};
}

/* Tells whether the copy is there and will be for as long as a link is good. The server is asked:
 * a transaction that erased the copy may have been given up. */
static bool copy_is_fresh(struct wharf_req *req, const struct file_row *row)
{
    static const char sql[] = "SELECT 1 FROM wharf.file WHERE organization_id = $1 AND id = $2 "
                              "AND linked_at > $3::timestamptz";
    const struct direct_name name = file_direct_copy_of(row->organization, row->id);
    const struct sql_arg args[] = {text_arg(row->organization), text_arg(row->id),
        text_arg(time_iso(req->arena, req->now_us - COPY_FRESH_S * 1000000LL))};
    PGresult *r = req_query(req, sql, args, 3);
    uint64_t size;

    return r && PQntuples(r) == 1 &&
           blob_direct_size(req->engine->blobs, &name, true, &size) == BLOB_OK &&
           size == (uint64_t)row->size;
}

/* Locks the row of a file that links may lead to; false: it has ended, or problems. The token is
 * looked at behind the lock: who ended the links had it. */
static bool lock_linked(struct wharf_req *req, const struct file_row *row)
{
    static const char lock_sql[] = "SELECT 1 FROM wharf.file WHERE organization_id = $1 AND id = "
                                   "$2 AND state = 'stored' FOR NO KEY UPDATE",
                      token_sql[] = "SELECT 1 FROM wharf.token WHERE hash = sha256(convert_to("
                                    "'file:' || $1, 'UTF8'))";
    const struct sql_arg args[] = {text_arg(row->organization), text_arg(row->id)};
    PGresult *r = req_query(req, lock_sql, args, 2);

    if (!r || PQntuples(r) != 1)
        return false;
    r = req_query(req, token_sql, args + 1, 1);
    return r && PQntuples(r) == 1;
}

static bool copy_locked(struct wharf_req *req, const struct file_row *row)
{
    static const char sql[] = "UPDATE wharf.file SET linked_at = $3::timestamptz WHERE "
                              "organization_id = $1 AND id = $2";
    const struct direct_name name = file_direct_copy_of(row->organization, row->id);
    const struct sql_arg args[] = {text_arg(row->organization), text_arg(row->id),
        text_arg(time_iso(req->arena, req->now_us))};

    if (!lock_linked(req, row) ||
        blob_direct_copy(req->engine->blobs, row->hash.p, &name) != BLOB_OK)
        return false;
    fault_point("file.copied");
    return req_query(req, sql, args, 3) != NULL;
}

/* Makes the copy, and notes in the row that links lead to it, before any does. */
static bool file_direct_make_copy(struct wharf_req *req, const struct file_row *row)
{
    if (req_begin(req) != WHARF_OK)
        return false;
    if (copy_locked(req, row))
        return req_commit(req) == WHARF_OK;
    req_rollback(req);
    return false;
}

static bool leads_to_copy(struct wharf_req *req, const struct file_row *row, int64_t seconds)
{
    int retry_after = req->reply.retry_after;
    size_t n = req->problems.n;
    bool good;

    if (!row->stored || row->size > DIRECT_MAX || seconds > COPY_FRESH_S)
        return false;
    good = copy_is_fresh(req, row);
    if (!good) {
        req_leave_implied(req); /* of a retrieve: the note of the copy has to stay */
        good = file_direct_make_copy(req, row);
    }
    if (!good) { /* a link to this server is made, and it tells what is wrong */
        req->problems.n = n;
        req->reply.retry_after = retry_after;
    }
    return good;
}

wharf_status file_link_direct(struct wharf_req *req, const struct file_row *row, const char *op,
    wharf_str md5, int64_t seconds, wharf_str *ret_url)
{
    struct blob_store *store = req->engine->blobs;
    bool put = strcmp(op, "put") == 0;
    struct direct_name name = file_direct_copy_of(row->organization, row->id);
    int64_t left = row->expires_us ? (row->expires_us - req->now_us) / 1000000 : seconds;
    wharf_str type, disposition;

    if (!blob_direct(store) || left <= 0 || (put ? row->stored : !leads_to_copy(req, row, seconds)))
        return file_link(req, row, op, seconds, ret_url);
    seconds = left < seconds ? left : seconds;
    if (put) {
        name.kind = DIRECT_UPLOAD;
        *ret_url = blob_direct_put(store, req->arena, &name, row->type, md5, seconds);
        return WHARF_OK;
    }
    file_said(req->arena, row, false, &type, &disposition);
    *ret_url = blob_direct_get(store, req->arena, &name, type, disposition, seconds);
    return WHARF_OK;
}

wharf_status file_links_end(struct wharf_req *req, wharf_str organization, wharf_str id)
{
    const struct direct_name name = file_direct_copy_of(organization, id);
    enum blob_status status;

    if (!blob_direct_able(req->engine->blobs))
        return WHARF_OK;
    status = blob_direct_erase(req->engine->blobs, &name, false);
    fault_point("file.links_ended");
    return file_problem(req, status);
}
