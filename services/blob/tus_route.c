/* tus_route.c - large files in pieces that go on after an interruption: HEAD and PATCH of a link
 * for uploads, the protocol tus 1.0 with its extensions creation-defer-length, checksum and
 * expiration (docs/spec/05-documents-and-templates.md section 2.2). Leaves to others: the file
 * beside the objects (blob_resume.c), links and PUT (files_route.c), the creation (whoever awaits a
 * file: the module documents). */
#include "blob/tus_route.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "blob/blob_digest.h"
#include "blob/blob_store.h"
#include "host/host.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"
#include "wharf/service/http.h"

#define TUS_VERSION "1.0.0"
#define TUS_TYPE    "application/offset+octet-stream"

static const struct tus_checksum {
    const char *name;
    const EVP_MD *(*digest)(void);
    size_t size;
} tus_checksums[] = {{"sha1", EVP_sha1, 20}, {"md5", EVP_md5, 16}, {"sha256", EVP_sha256, 32}};

static void tus_header(struct wharf_req *req, const char *name, wharf_str value)
{
    host_http.answer_header(req, str_z(name), value);
}

static void tus_count(struct wharf_req *req, const char *name, uint64_t n)
{
    tus_header(req, name, arena_printf(req->arena, "%llu", (unsigned long long)n));
}

/* Tells what both methods tell: how far the upload is, and until when it may go on. */
static void tus_answer(
    struct wharf_req *req, const struct file_row *row, uint64_t offset, int status)
{
    char until[HTTP_DATE_LEN + 1];
    wharf_str exp = {"0", 1};

    req_param(req, "exp", &exp);
    time_format_http(strtoll(exp.p, NULL, 10) * 1000000, until);
    tus_count(req, "Upload-Offset", offset);
    if (row->stored)
        tus_count(req, "Upload-Length", (uint64_t)row->size);
    else if (row->want_size >= 0)
        tus_count(req, "Upload-Length", (uint64_t)row->want_size);
    else
        tus_header(req, "Upload-Defer-Length", str_z("1"));
    tus_header(req, "Upload-Expires", arena_dupz(req->arena, until));
    req_respond(&req->reply, status, str_z("stored"));
    req->reply.raw_type = "text/plain; charset=utf-8";
}

/* Returns where the next piece begins, of `here` bytes that lie here. The last byte of a whole
 * file that was not taken is asked for again: a client that hears that all bytes are here would
 * send nothing more, and nobody would take them. */
static uint64_t tus_offset(const struct file_row *row, uint64_t here)
{
    uint64_t most = row->want_size > 0 ? (uint64_t)row->want_size - 1 : UINT64_MAX;

    return row->stored ? (uint64_t)row->size : here < most ? here : most;
}

wharf_status tus_head(struct wharf_req *req, const struct file_row *row)
{
    uint64_t here = 0;

    tus_header(req, "Tus-Resumable", str_z(TUS_VERSION));
    if (!row->stored &&
        file_problem(req, blob_resume_size(req->engine->blobs, row->id.p, &here)) != WHARF_OK)
        return WHARF_CONFLICT;
    tus_header(req, "Cache-Control", str_z("no-store"));
    tus_answer(req, row, tus_offset(row, here), 200);
    return WHARF_OK;
}

/* ---- PATCH: before the body, on the event loop ---- */

/* Reads a number of decimal digits. */
static bool tus_number(const char *s, int64_t *ret)
{
    size_t n = s ? strspn(s, "0123456789") : 0;

    if (!n || n > 15 || s[n])
        return false;
    *ret = strtoll(s, NULL, 10);
    return true;
}

/* Reads Upload-Length, the size of a file that was announced without one. Leaves
 * row->want_size alone when there is none. */
static bool tus_length(struct wharf_req *req, const char *sent, struct file_row *row)
{
    int64_t limit = file_limit(req, row), length;

    if (!sent)
        return true;
    if (!tus_number(sent, &length) || length == 0)
        req_fail(req, ERR_FILE_UPLOAD_INVALID, "Upload-Length",
            "Upload-Length must be the number of bytes of the whole file");
    else if (row->want_size >= 0 && length != row->want_size)
        req_fail(req, ERR_FILE_UPLOAD_INVALID, "Upload-Length",
            "The file was announced with %lld bytes", (long long)row->want_size);
    else if (length > limit)
        req_fail(req, ERR_FILE_TOO_LARGE, NULL, "The file may have %lld bytes at most",
            (long long)limit);
    else
        row->want_size = length;
    return !req->problems.n;
}

/* Reads Upload-Checksum: a name, a blank, base64. */
static bool tus_read_checksum(const char *sent, const struct tus_checksum **ret, unsigned char *out)
{
    for (size_t i = 0; i < sizeof(tus_checksums) / sizeof(tus_checksums[0]); i++) {
        const struct tus_checksum *c = &tus_checksums[i];
        size_t n = strlen(c->name), got;

        if (strncmp(sent, c->name, n) != 0 || sent[n] != ' ')
            continue;
        *ret = c;
        return sodium_base642bin(out, c->size, sent + n + 1, strlen(sent + n + 1), NULL, &got, NULL,
                   sodium_base64_VARIANT_ORIGINAL) == 0 &&
               got == c->size;
    }
    return false;
}

/* Opens what is here of the file, and goes on at the offset that the client names. */
static bool tus_open(struct wharf_req *req, const struct file_row *row, int64_t offset)
{
    int64_t limit = row->want_size >= 0 ? row->want_size : file_limit(req, row);
    uint64_t wanted;

    if (file_problem(req, blob_resume(req->engine->blobs, row->id.p, (uint64_t)limit,
                              &req->reply.put)) != WHARF_OK)
        return false;
    wanted = tus_offset(row, blob_resumed(req->reply.put));
    if ((uint64_t)offset != wanted) {
        blob_put_abort(req->reply.put);
        req->reply.put = NULL;
        tus_count(req, "Upload-Offset", wanted);
        req_fail(req, ERR_FILE_OFFSET_MISMATCH, "Upload-Offset",
            "The next byte that is wanted is %llu; ask by HEAD how far the upload is",
            (unsigned long long)wanted);
        return false;
    }
    return file_problem(req, blob_resume_cut(req->reply.put, wanted)) == WHARF_OK;
}

bool tus_headers_ok(struct wharf_req *req, const struct tus_headers *h, struct file_row *row)
{
    const struct tus_checksum *kind;
    unsigned char sum[EVP_MAX_MD_SIZE];
    int64_t offset = 0;

    tus_header(req, "Tus-Resumable", str_z(TUS_VERSION));
    if (!h->version || strcmp(h->version, TUS_VERSION) != 0) {
        tus_header(req, "Tus-Version", str_z(TUS_VERSION));
        req_fail(req, ERR_FILE_TUS_VERSION, "Tus-Resumable", NULL);
    } else if (!h->type || strcmp(h->type, TUS_TYPE) != 0) {
        req_fail(req, ERR_MEDIA_TYPE_UNSUPPORTED, "Content-Type",
            "Send the piece with the header Content-Type: %s", TUS_TYPE);
    } else if (!tus_number(h->offset, &offset)) {
        req_fail(req, ERR_FILE_UPLOAD_INVALID, "Upload-Offset",
            "Send the header Upload-Offset: the number of bytes that are here");
    } else if (h->checksum && !tus_read_checksum(h->checksum, &kind, sum)) {
        req_fail(req, ERR_FILE_UPLOAD_INVALID, "Upload-Checksum",
            "Upload-Checksum must be sha1, md5 or sha256, a blank, and the digest in base64");
    } else if (tus_length(req, h->length, row)) {
        return tus_open(req, row, offset);
    }
    return false;
}

/* ---- PATCH: after the body, on a worker thread ---- */

/* Compares the piece with its checksum; what does not match is forgotten. */
static bool tus_piece_good(struct wharf_req *req, struct blob_put *p, wharf_str sent, uint64_t from)
{
    const struct tus_checksum *kind;
    unsigned char wanted[EVP_MAX_MD_SIZE], got[EVP_MAX_MD_SIZE];

    if (!sent.n)
        return true;
    if (tus_read_checksum(sent.p, &kind, wanted) &&
        blob_digest_of(kind->digest(), blob_put_file(p), from, blob_resumed(p) - from, got) &&
        memcmp(wanted, got, kind->size) == 0)
        return true;
    blob_resume_cut(p, from);
    req_fail(req, ERR_FILE_PIECE_DAMAGED, "Upload-Checksum", NULL);
    return false;
}

/* Keeps the size of a file that was announced without one. */
static bool tus_keep_length(struct wharf_req *req, struct file_row *row, wharf_str sent)
{
    int64_t before = row->want_size;
    const struct sql_arg args[] = {
        {row->organization.p, row->organization.n}, {row->id.p, row->id.n}, {sent.p, sent.n}};

    if (!sent.n)
        return true;
    if (!tus_length(req, sent.p, row))
        return false;
    return before >= 0 ||
           req_query(req,
               "UPDATE wharf.file SET want_size = $3::bigint WHERE organization_id = $1 AND id = "
               "$2 AND want_size IS NULL",
               args, 3);
}

/* Takes a whole file as a PUT would. */
static wharf_status tus_finish(struct wharf_req *req, struct file_row *row, struct blob_put *p)
{
    struct blob_id id;
    wharf_str refused;

    if (file_arrived(req, row, p, &id, &refused) != WHARF_OK)
        return WHARF_CONFLICT;
    if (refused.n)
        return req_fail(req, ERR_FILE_UPLOAD_INVALID, NULL, "%s", refused.p);
    row->stored = true;
    row->size = (int64_t)id.size;
    tus_answer(req, row, id.size, 204);
    return WHARF_OK;
}

/* Lets go of what is here of the file, before the answer: who reads that asks for it at once. */
static void tus_release(struct wharf_req *req)
{
    blob_put_abort(req->reply.put);
    req->reply.put = NULL;
}

wharf_status tus_piece(struct wharf_req *req, struct file_row *row)
{
    struct blob_put *p = req->reply.put;
    wharf_str offset = host_http.header(req, "Upload-Offset");
    uint64_t size = blob_resumed(p);
    int64_t from = 0;
    bool good;

    tus_number(offset.p, &from);
    if (row->stored)
        req_fail(req, ERR_FILE_ALREADY_UPLOADED, NULL, NULL);
    good = !row->stored &&
           tus_piece_good(req, p, host_http.header(req, "Upload-Checksum"), (uint64_t)from) &&
           tus_keep_length(req, row, host_http.header(req, "Upload-Length")) &&
           file_problem(req, blob_resume_sync(p)) == WHARF_OK;
    if (good && row->want_size > 0 && size >= (uint64_t)row->want_size) {
        req->reply.put = NULL;
        return tus_finish(req, row, p);
    }
    tus_release(req);
    if (!good)
        return WHARF_CONFLICT;
    tus_answer(req, row, size, 204);
    return WHARF_OK;
}
