/* blob_file.c - rows and links of files. See blob_file.h; collect.c erases. */
#include "blob/blob_file.h"

#include <openssl/hmac.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "blob/arrival.h"
#include "blob/file_direct.h"
#include "job/job.h"
#include "resource/engine.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum { RETRY_AFTER_S = 5 }; /* clients wait when storage is away */

/* Links come without an organization: wharf.token knows whose file it is (docs/decisions 5). */
#define TOKEN_OF(id) "sha256(convert_to('file:' || " id ", 'UTF8'))"
#define INSERT_TOKEN                                                                               \
    "WITH t AS (INSERT INTO wharf.token (hash, organization_id, kind, id, created_at) VALUES "     \
    "(" TOKEN_OF("$2") ", $1, 'file', $2, $3::timestamptz)) "
#define COLUMNS                                                                                    \
    "f.organization_id, f.id, f.name, f.type, f.hash, f.state = 'stored', f.size, f.want_size, "   \
    "f.max_size, "                                                                                 \
    "(extract(epoch FROM f.expires_at) * 1000000)::bigint, (extract(epoch FROM f.stored_at) * "    \
    "1000000)::bigint, f.md5"
enum { N_COLUMNS = 12 };

wharf_status file_problem(struct wharf_req *req, enum blob_status status)
{
    switch (status) {
    case BLOB_OK:
        return WHARF_OK;
    case BLOB_BUSY:
        return req_fail(req, ERR_FILE_UPLOAD_BUSY, NULL, NULL);
    case BLOB_ABSENT:
        return req_fail(req, ERR_NOT_FOUND, NULL, NULL);
    case BLOB_TOO_LARGE:
        return req_fail(req, ERR_FILE_TOO_LARGE, NULL, NULL);
    case BLOB_NO_ROOM:
    case BLOB_TROUBLE:
    case BLOB_DAMAGED:
        break;
    }
    req->reply.retry_after = RETRY_AFTER_S;
    return req_fail(req, ERR_STORAGE_UNAVAILABLE, NULL, NULL);
}

/* ---- rows ---- */

static wharf_str blob_file_text_at(struct arena *a, const PGresult *r, int column)
{
    return arena_dup(a, PQgetvalue(r, 0, column), (size_t)PQgetlength(r, 0, column));
}

static int64_t blob_file_number_at(const PGresult *r, int column, int64_t fallback)
{
    return PQgetisnull(r, 0, column) ? fallback : strtoll(PQgetvalue(r, 0, column), NULL, 10);
}

static void blob_file_read_row(struct arena *a, const PGresult *r, struct file_row *row)
{
    *row = (struct file_row){.organization = blob_file_text_at(a, r, 0),
        .id = blob_file_text_at(a, r, 1),
        .name = blob_file_text_at(a, r, 2),
        .type = blob_file_text_at(a, r, 3),
        .hash = blob_file_text_at(a, r, 4),
        .stored = PQgetvalue(r, 0, 5)[0] == 't',
        .size = blob_file_number_at(r, 6, 0),
        .want_size = blob_file_number_at(r, 7, -1),
        .max_size = blob_file_number_at(r, 8, -1),
        .expires_us = blob_file_number_at(r, 9, 0),
        .stored_us = blob_file_number_at(r, 10, 0),
        .md5 = blob_file_text_at(a, r, 11)};
}

static struct sql_arg arg_int(struct arena *a, int64_t v)
{
    wharf_str s = arena_printf(a, "%lld", (long long)v);

    return (struct sql_arg){s.p, s.n};
}

static struct sql_arg arg_time(struct arena *a, int64_t us)
{
    wharf_str s = us ? time_iso(a, us) : (wharf_str){NULL, 0};

    return (struct sql_arg){s.p, s.n};
}

static struct sql_arg blob_file_arg(wharf_str s)
{
    return (struct sql_arg){s.p, s.n};
}

/* Locks the hash until the transaction ends: nobody erases an object of this hash before the row
 * that names it can be seen. *ret_damaged: the object is known to be damaged. */
static wharf_status lock_hash(struct wharf_req *req, const char *hash, bool *ret_damaged)
{
    const struct sql_arg args[1] = {{hash, BLOB_HASH}};
    PGresult *r = req_query(req,
        "SELECT pg_advisory_xact_lock_shared(hashtextextended('wharf.blob' || $1, 0)), EXISTS "
        "(SELECT FROM wharf.file WHERE hash = $1 AND damage IS NOT NULL)",
        args, 1);

    *ret_damaged = r && PQgetvalue(r, 0, 1)[0] == 't';
    return r ? WHARF_OK : WHARF_UNAVAILABLE;
}

/* Places the object under the lock, in the request's transaction, or one of its own. */
static wharf_status place_locked(struct wharf_req *req, struct blob_put *p, struct blob_id *id)
{
    enum blob_status status = blob_put_hash(p, id);
    bool damaged;

    if (status != BLOB_OK || lock_hash(req, id->hash, &damaged) != WHARF_OK) {
        blob_put_abort(p);
        return status != BLOB_OK ? file_problem(req, status) : WHARF_UNAVAILABLE;
    }
    if (damaged)
        blob_put_again(p);
    return file_problem(req, blob_put_finish(p));
}

static wharf_status insert_stored(
    struct wharf_req *req, struct blob_put *p, struct file_row *row, struct arena *a)
{
    struct blob_id id;
    wharf_status s = place_locked(req, p, &id);

    if (s != WHARF_OK)
        return s;
    row->hash = arena_dupz(a, id.hash);
    row->size = (int64_t)id.size;
    const struct sql_arg args[] = {blob_file_arg(row->organization), blob_file_arg(row->id),
        arg_time(a, req->now_us), blob_file_arg(str_z(req->plugin ? req->plugin->name : "wharf")),
        blob_file_arg(row->name), blob_file_arg(row->type), arg_int(a, row->size),
        blob_file_arg(row->hash), arg_time(a, row->expires_us)};

    return req_query(req,
               INSERT_TOKEN "INSERT INTO wharf.file (organization_id, id, created_at, plugin, "
                            "state, name, type, size, hash, expires_at, "
                            "stored_at) VALUES ($1, $2, $3::timestamptz, $4, 'stored', $5, $6, "
                            "$7::bigint, $8, $9::timestamptz, $3::timestamptz)",
               args, 9)
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

static void blob_file_new_row(
    struct wharf_req *req, wharf_str name, wharf_str type, int64_t expires_us, struct file_row *row)
{
    char id[ID_MAX];

    id_new("file", req->now_us, id);
    *row = (struct file_row){
        .organization = req->access.who ? req->access.who->organization : str_z(""),
        .id = arena_dupz(req->arena, id),
        .name = arena_dup_str(req->arena, name),
        .type = arena_dup_str(req->arena, type.n ? type : str_z("application/octet-stream")),
        .hash = str_z(""),
        .want_size = -1,
        .max_size = -1,
        .expires_us = expires_us};
}

wharf_status file_store(struct wharf_req *req, struct blob_put *p, wharf_str name, wharf_str type,
    int64_t expires_us, struct file_row *ret_row)
{
    wharf_status s;

    blob_file_new_row(req, name, type, expires_us, ret_row);
    if (req_begin(req) != WHARF_OK) {
        blob_put_abort(p);
        return WHARF_UNAVAILABLE;
    }
    s = insert_stored(req, p, ret_row, req->arena);
    if (s != WHARF_OK) {
        req_rollback(req);
        return s;
    }
    ret_row->stored = true;
    ret_row->stored_us = req->now_us;
    return req_commit(req);
}

wharf_status file_await(struct wharf_req *req, wharf_str name, wharf_str type, int64_t want_size,
    int64_t max_size, int64_t expires_us, struct file_row *ret_row)
{
    struct arena *a = req->arena;
    static const struct sql_arg none = {NULL, 0};

    blob_file_new_row(req, name, type, expires_us, ret_row);
    ret_row->want_size = want_size;
    ret_row->max_size = max_size;
    const struct sql_arg args[] = {blob_file_arg(ret_row->organization), blob_file_arg(ret_row->id),
        arg_time(a, req->now_us), blob_file_arg(str_z(req->plugin ? req->plugin->name : "wharf")),
        blob_file_arg(ret_row->name), blob_file_arg(ret_row->type),
        want_size < 0 ? none : arg_int(a, want_size), max_size < 0 ? none : arg_int(a, max_size),
        arg_time(a, expires_us)};

    return req_query(req,
               INSERT_TOKEN "INSERT INTO wharf.file (organization_id, id, created_at, plugin, "
                            "state, name, type, want_size, max_size, "
                            "expires_at) VALUES ($1, $2, $3::timestamptz, $4, 'waiting', $5, $6, "
                            "$7::bigint, $8::bigint, $9::timestamptz)",
               args, 9)
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

wharf_status file_find_of(
    struct wharf_req *req, wharf_str organization, wharf_str id, struct file_row *ret_row)
{
    const struct sql_arg args[] = {
        blob_file_arg(organization), blob_file_arg(id), arg_time(req->arena, req->now_us)};
    PGresult *r = req_query(req,
        "SELECT " COLUMNS " FROM wharf.file f WHERE organization_id = $1 AND id = $2 AND "
        "(expires_at IS NULL OR expires_at > $3::timestamptz)",
        args, 3);

    if (!r)
        return WHARF_UNAVAILABLE;
    if (PQntuples(r) == 0)
        return WHARF_NOT_FOUND;
    blob_file_read_row(req->arena, r, ret_row);
    return WHARF_OK;
}

int64_t file_limit(const struct wharf_req *req, const struct file_row *row)
{
    int64_t limit = req->engine->config->blob_upload_limit;

    return row->max_size >= 0 && row->max_size < limit ? row->max_size : limit;
}

wharf_status file_find(struct wharf_req *req, wharf_str id, struct file_row *ret_row)
{
    wharf_status s = file_find_of(
        req, req->access.who ? req->access.who->organization : str_z(""), id, ret_row);

    return s == WHARF_NOT_FOUND ? req_fail(req, ERR_NOT_FOUND, NULL, NULL) : s;
}

/* Ends what is out of links, as the statement found that took the token away. Returns
 * WHARF_NOT_FOUND when it found none. */
static wharf_status end_links(struct wharf_req *req, wharf_str id, const PGresult *r)
{
    if (!r)
        return WHARF_UNAVAILABLE;
    if (!PQntuples(r))
        return WHARF_NOT_FOUND;
    return PQgetisnull(r, 0, 0) ? WHARF_OK : file_links_end(req, req->access.who->organization, id);
}

wharf_status file_remove(struct wharf_req *req, wharf_str id)
{
    /* A request that uploads this file may hold its row and wait for the plugin's row, which our
     * caller holds. It is not waited for: the plugin refuses its bytes (docs/decisions 545). */
    static const char sql[] =
        "WITH gone AS (DELETE FROM wharf.file WHERE organization_id = $1 AND id = $2 AND (NOT "
        "$3::boolean OR state <> 'waiting' OR id IN (SELECT id FROM wharf.file WHERE "
        "organization_id = $1 AND id = $2 FOR UPDATE SKIP LOCKED)) RETURNING id, linked_at) DELETE "
        "FROM wharf.token t USING gone WHERE t.hash = " TOKEN_OF(
            "gone.id") " RETURNING gone.linked_at";
    const struct sql_arg args[] = {
        blob_file_arg(req->access.who ? req->access.who->organization : str_z("")),
        blob_file_arg(id), blob_file_arg(str_z(arrival_heard(req) ? "t" : "f"))};

    return end_links(req, id, req_query(req, sql, args, 3));
}

wharf_status file_erase(struct wharf_req *req, wharf_str id)
{
    struct job_order order = {.job = "wharf.erase_object"};
    struct file_row row;
    wharf_status s = file_find_of(
        req, req->access.who ? req->access.who->organization : str_z(""), id, &row);

    if (s != WHARF_OK)
        return s;
    s = file_remove(req, id);
    if (s != WHARF_OK || !row.stored)
        return s;
    order.key = row.hash;
    order.args = arena_printf(req->arena, "{\"hash\": \"%s\"}", row.hash.p);
    return job_enqueue(req, &order);
}

/* Tells the job. A module that is not loaded here does not keep its file from coming. */
static wharf_status tell_job(struct wharf_req *req, const struct file_row *row, const char *job)
{
    struct job_order order = {.job = arena_dupz(req->arena, job).p,
        .organization = row->organization,
        .key = str_z(""),
        .args = arena_printf(req->arena, "{\"file\": \"%s\"}", row->id.p)};

    return job_kind_find(req->engine, str_z(job)) ? job_enqueue(req, &order) : WHARF_OK;
}

/* Writes that the bytes are here, and tells of it. md5: "" when it is not known. */
static wharf_status mark_stored(struct wharf_req *req, const struct file_row *row,
    const struct blob_id *id, const char *md5, wharf_str *ret_refused)
{
    const struct sql_arg args[] = {blob_file_arg(row->organization), blob_file_arg(row->id),
        {id->hash, BLOB_HASH}, arg_int(req->arena, (int64_t)id->size),
        arg_time(req->arena, req->now_us), {md5[0] ? md5 : NULL, strlen(md5)}};
    PGresult *r = req_query(req,
        "UPDATE wharf.file SET state = 'stored', hash = $3, size = $4::bigint, stored_at = "
        "$5::timestamptz, md5 = $6, expires_at = NULL WHERE organization_id = $1 AND id = $2 AND "
        "state = 'waiting' RETURNING announce, plugin",
        args, 6);

    if (!r)
        return WHARF_UNAVAILABLE;
    if (PQntuples(r) != 1)
        return req_fail(req, ERR_FILE_ALREADY_UPLOADED, NULL, NULL);
    if (!PQgetisnull(r, 0, 0) && tell_job(req, row, PQgetvalue(r, 0, 0)) != WHARF_OK)
        return WHARF_UNAVAILABLE;
    return arrival_tell(
        req, blob_file_text_at(req->arena, r, 1), row->organization, row->id, ret_refused);
}

wharf_status file_retire(struct wharf_req *req, wharf_str id, int64_t expires_us)
{
    const struct sql_arg args[] = {
        blob_file_arg(req->access.who ? req->access.who->organization : str_z("")),
        blob_file_arg(id), arg_time(req->arena, expires_us)};
    PGresult *r = req_query(req,
        "WITH kept AS (UPDATE wharf.file SET expires_at = $3::timestamptz WHERE organization_id = "
        "$1 AND id = $2 RETURNING id, linked_at) "
        "DELETE FROM wharf.token t USING kept WHERE t.hash = " TOKEN_OF(
            "kept.id") " RETURNING kept.linked_at",
        args, 3);

    return end_links(req, id, r);
}

wharf_status file_set_type(struct wharf_req *req, wharf_str id, wharf_str type)
{
    const struct sql_arg args[] = {
        blob_file_arg(req->access.who ? req->access.who->organization : str_z("")),
        blob_file_arg(id), blob_file_arg(type)};

    return req_query(req, "UPDATE wharf.file SET type = $3 WHERE organization_id = $1 AND id = $2",
               args, 3)
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

wharf_status file_announce(struct wharf_req *req, wharf_str id, wharf_str job)
{
    const struct sql_arg args[] = {
        blob_file_arg(req->access.who ? req->access.who->organization : str_z("")),
        blob_file_arg(id), blob_file_arg(job)};

    return req_query(req,
               "UPDATE wharf.file SET announce = $3 WHERE organization_id = $1 AND id = $2 AND "
               "state = 'waiting'",
               args, 3)
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

wharf_status file_arrived(struct wharf_req *req, const struct file_row *row, struct blob_put *p,
    struct blob_id *ret_id, wharf_str *ret_refused)
{
    char md5[BLOB_MD5_TEXT + 1] = "";
    wharf_status s;

    if (req_begin(req) != WHARF_OK) {
        blob_put_abort(p);
        return WHARF_UNAVAILABLE;
    }
    if (blob_put_hash(p, ret_id) == BLOB_OK)
        blob_put_md5(p, md5);
    s = place_locked(req, p, ret_id);
    if (s == WHARF_OK)
        s = mark_stored(req, row, ret_id, md5, ret_refused);
    if (s == WHARF_OK)
        return req_commit(req);
    req_rollback(req);
    return s;
}

wharf_status file_open(struct wharf_req *req, const struct file_row *row, uint64_t offset,
    uint64_t length, int *ret_fd, uint64_t *ret_at)
{
    return file_problem(
        req, blob_get(req->engine->blobs, row->hash.p, offset, length, ret_fd, ret_at));
}

/* ---- links ---- */

const char file_lookup_sql[] =
    "SELECT " COLUMNS ", (SELECT value FROM wharf.setting WHERE key = 'file.key'), "
    "(SELECT value FROM wharf.setting WHERE key = 'file.key.previous') "
    "FROM (VALUES (1)) one LEFT JOIN wharf.token t ON t.hash = " TOKEN_OF(
        "$1") " LEFT JOIN wharf.file f ON f.organization_id = t.organization_id AND f.id = t.id";

void file_sign(const char *key, const char *op, wharf_str id, int64_t expires_s, wharf_str name,
    char out[FILE_SIGNATURE + 1])
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    struct buf b;

    /* The name comes last, and nothing before it can hold a line end: no two links have one
     * text. */
    buf_init(&b, 65536);
    buf_addf(&b, "%s\n%.*s\n%lld\n", op, STR_ARG(id), (long long)expires_s);
    buf_adds(&b, name);
    HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)buf_str(&b).p, b.n, mac, NULL);
    buf_done(&b);
    sodium_bin2base64(out, FILE_SIGNATURE + 1, mac, 32, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

wharf_status file_link(struct wharf_req *req, const struct file_row *row, const char *op,
    int64_t seconds, wharf_str *ret_url)
{
    PGresult *r = req_query(req, "SELECT value FROM wharf.setting WHERE key = 'file.key'", NULL, 0);
    int64_t expires_s = req->now_us / 1000000 + seconds;
    const char *base = req->engine->config->base_url;
    size_t n = strlen(base);
    char sig[FILE_SIGNATURE + 1];

    if (!r)
        return WHARF_UNAVAILABLE;
    if (PQntuples(r) != 1)
        return req_fail(req, ERR_INTERNAL, NULL, NULL);
    file_sign(PQgetvalue(r, 0, 0), op, row->id, expires_s, row->name, sig);
    while (n && base[n - 1] == '/')
        n--;
    *ret_url = arena_printf(req->arena, "%.*s/v1/files/%.*s?op=%s&exp=%lld&sig=%s", (int)n, base,
        STR_ARG(row->id), op, (long long)expires_s, sig);
    return WHARF_OK;
}

static bool blob_file_refuse(struct wharf_req *req, const char *code)
{
    req_fail(req, code, NULL, NULL);
    return false;
}

/* Reads an expiry: digits only, so that one expiry has one text. */
static bool read_expiry(wharf_str s, int64_t *ret)
{
    int64_t v = 0;

    if (!s.n || s.n > 12 || s.p[0] == '0')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        v = v * 10 + (s.p[i] - '0');
    }
    *ret = v;
    return true;
}

/* Checks a link. An unknown file has no name to sign: its signature is compared too, with an empty
 * one, and is never good. */
bool file_link_check(
    struct wharf_req *req, PGresult *looked_up, const char *op, struct file_row *ret_row)
{
    wharf_str id = req->params[0], given_op, sig, exp;
    bool found = !PQgetisnull(looked_up, 0, 1), good = false;
    char right[FILE_SIGNATURE + 1];
    int64_t expires_s;

    if (found)
        blob_file_read_row(req->arena, looked_up, ret_row);
    if (!req_param(req, "op", &given_op) || !str_eqz(given_op, op) ||
        !req_param(req, "sig", &sig) || sig.n != FILE_SIGNATURE || !req_param(req, "exp", &exp) ||
        !read_expiry(exp, &expires_s))
        return blob_file_refuse(req, ERR_SIGNATURE_INVALID);
    for (int i = 0; i < 2; i++) {
        file_sign(PQgetvalue(looked_up, 0, N_COLUMNS + i), op, id, expires_s,
            found ? ret_row->name : str_z(""), right);
        good |= sodium_memcmp(right, sig.p, FILE_SIGNATURE) == 0;
    }
    if (!found)
        return blob_file_refuse(req, ERR_NOT_FOUND);
    if (!good)
        return blob_file_refuse(req, ERR_SIGNATURE_INVALID);
    if (req->now_us >= expires_s * 1000000)
        return blob_file_refuse(req, ERR_SIGNATURE_EXPIRED);
    if (ret_row->expires_us && ret_row->expires_us <= req->now_us)
        return blob_file_refuse(req, ERR_NOT_FOUND);
    return true;
}
