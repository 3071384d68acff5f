/* document_upload.c - bytes that are brought by a link: asked for, looked at when they come
 * (docs/spec/05-documents-and-templates.md section 2). Leaves content of requests to
 * document_content.c, the row to document_rules.c. */
#include <unistd.h>

#include "documents.h"
#include "documents.gen.h"

enum { LOOK_BYTES = 1024 };
static const char made_kind[] = "documents.made";

struct made *document_made(wharf_req *req)
{
    return W->mem->slot(req, made_kind, sizeof(struct made));
}

/* ---- asking for bytes ---- */

/* Removes the file that is awaited, with its link. */
wharf_status upload_cancel(wharf_req *req, wharf_rec *rec)
{
    wharf_str id = field_text(rec, DOCUMENT_UPLOAD_ID);
    wharf_status s = id.n ? documents_blob->remove(req, id) : WHARF_OK;

    W->res->set(rec, DOCUMENT_UPLOAD_ID, val_null());
    W->res->set(rec, DOCUMENT_UPLOAD_EXPIRES_AT, val_null());
    W->res->set(rec, DOCUMENT_REQUESTED_AT, val_null());
    return s == WHARF_NOT_FOUND ? WHARF_OK : s;
}

wharf_status upload_request(wharf_req *req, wharf_rec *rec)
{
    bool first = field_int(rec, DOCUMENT_VERSIONS_COUNT) == 0;
    int64_t now = W->req->now_us(req), size = first ? field_int(rec, DOCUMENT_SIZE) : 0;
    wharf_str type = first ? field_text(rec, DOCUMENT_MIME_TYPE)
                           : WHARF_S("application/octet-stream"),
              id;
    wharf_status s = upload_cancel(req, rec);

    if (s == WHARF_OK)
        s = documents_blob->await(req, field_text(rec, DOCUMENT_FILENAME), type,
            size > 0 ? size : -1, -1, now + REQUEST_S * SECOND_US, &id);
    if (s != WHARF_OK)
        return s;
    *document_made(req) = (struct made){.upload = id, .type = type, .first = first};
    W->res->set(rec, DOCUMENT_UPLOAD_ID, val_text(id));
    W->res->set(rec, DOCUMENT_UPLOAD_EXPIRES_AT, val_time(now + UPLOAD_S * SECOND_US));
    W->res->set(rec, DOCUMENT_REQUESTED_AT, val_time(now));
    if (!first)
        return WHARF_OK;
    W->res->set(rec, DOCUMENT_STATUS, val_text(WHARF_S("requested")));
    W->res->set(rec, DOCUMENT_FAILURE_REASON, val_null());
    return WHARF_OK;
}

/* ---- bytes that were brought past this server ---- */

wharf_status document_fetch(wharf_req *req, wharf_str id)
{
    static const char fetching_kind[] = "documents.fetching",
                      sql[] = "SELECT upload_id FROM documents.document WHERE organization_id = "
                              "$2::text AND id = $1::text AND upload_id IS NOT NULL AND "
                              "deleted_at IS NULL";
    bool *busy = W->mem->slot(req, fetching_kind, sizeof(*busy));
    const wharf_rows *rows;
    wharf_status s;

    /* what is fetched writes the document, and that asks here again */
    if (*busy || !documents_blob->direct(req))
        return WHARF_OK;
    s = query_about(req, sql, id, &rows);
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    *busy = true;
    s = documents_blob->fetch(req, row_text(rows, 0, 0));
    *busy = false;
    return s;
}

/* ---- bytes that have come ---- */

/* Returns why the bytes are not those that were announced, NULL when they are. */
static const char *document_upload_unlike(
    const struct stored *got, const struct stored *wanted, wharf_str seen)
{
    if (wanted->size > 0 && wanted->size != got->size)
        return "size_mismatch";
    if ((wanted->md5.n && !same(wanted->md5, got->md5)) ||
        (wanted->sha256.n && !same(wanted->sha256, got->sha256)))
        return "checksum_mismatch";
    return wanted->type.n && !type_fits(wanted->type, seen) ? "mime_mismatch" : NULL;
}

/* Looks at the bytes of a file that is open at `at`: what they are, and who does not want them. */
static wharf_status look_at_upload(wharf_req *req, const wharf_rec *rec, int fd, int64_t at,
    const struct stored *wanted, struct stored *got, const char **ret_reason)
{
    char look[LOOK_BYTES];
    ssize_t n = pread(fd, look, sizeof(look), (off_t)at);
    wharf_str seen = type_seen(look, n > 0 ? (size_t)n : 0, got->size <= LOOK_BYTES), rejected;
    wharf_document_file file = {.head = WHARF_HEAD(wharf_document_file),
        .document_id = W->res->id(rec),
        .name = field_text(rec, DOCUMENT_NAME),
        .filename = field_text(rec, DOCUMENT_FILENAME),
        .size = got->size,
        .fd = fd,
        .at = at};
    wharf_status s = WHARF_OK;

    if (wanted->md5.n && !got->md5.n) /* it was announced, and its sender did not say it again */
        s = documents_blob->md5(req, fd, at, got->size, &got->md5);
    if (s != WHARF_OK)
        return s;
    got->type = wanted->type.n && !is(wanted->type, "application/octet-stream") ? wanted->type
                : seen.n                                                        ? seen
                         : WHARF_S("application/octet-stream");
    file.type = got->type;
    *ret_reason = document_upload_unlike(got, wanted, seen);
    if (*ret_reason)
        return WHARF_OK;
    s = document_scan(req, &file, &rejected);
    if (s == WHARF_OK && rejected.n)
        *ret_reason = "rejected";
    else if (s == WHARF_OK)
        document_measure(req, fd, at, seen, got);
    return s;
}

wharf_status upload_look(
    wharf_req *req, const wharf_rec *rec, struct stored *got, const char **ret_reason)
{
    wharf_blob_info info = {.head = WHARF_HEAD(wharf_blob_info)};
    bool first = field_int(rec, DOCUMENT_VERSIONS_COUNT) == 0;
    struct stored wanted = {.type = WHARF_S(""), .md5 = WHARF_S(""), .sha256 = WHARF_S("")};
    int64_t at, length;
    int fd;
    wharf_status s = documents_blob->info(req, got->file, &info);

    *ret_reason = NULL;
    if (first)
        wanted = (struct stored){.type = field_text(rec, DOCUMENT_MIME_TYPE),
            .md5 = field_text(rec, DOCUMENT_CHECKSUM_MD5),
            .sha256 = field_text(rec, DOCUMENT_CHECKSUM_SHA256),
            .size = field_int(rec, DOCUMENT_SIZE)};
    if (s == WHARF_OK)
        s = check_quota(req, info.size);
    if (s == WHARF_OK)
        s = documents_blob->open(req, got->file, 0, -1, &fd, &at, &length);
    if (s != WHARF_OK)
        return s;
    got->size = info.size;
    got->sha256 = info.sha256;
    got->md5 = info.md5;
    s = look_at_upload(req, rec, fd, at, &wanted, got, ret_reason);
    close(fd);
    return s == WHARF_OK && !*ret_reason ? documents_blob->set_type(req, got->file, got->type) : s;
}

/* Finds the document that awaits the file. Returns its id, or an empty text. */
static wharf_status awaiting(wharf_req *req, wharf_str file, wharf_str *ret_id)
{
    static const char sql[] = "SELECT id FROM documents.document WHERE organization_id = $2::text "
                              "AND upload_id = $1::text AND deleted_at IS NULL";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, file, &rows);

    if (s == WHARF_OK)
        *ret_id = W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("");
    return s;
}

/* Writes what arrived into the document that awaits it. No document does: arrived->late. */
static wharf_status write_arrived(wharf_req *req, struct arrived *arrived)
{
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "document",
        .op = WHARF_UPDATE,
        .kind = document_arrived_kind,
        .context = arrived};
    wharf_status s = awaiting(req, arrived->stored.file, &w.id);

    if (s == WHARF_OK && w.id.n)
        s = W->json->parse(req, WHARF_S("{}"), &w.body);
    if (s == WHARF_OK && w.id.n)
        s = W->res->write(req, &w);
    if (s == WHARF_NOT_FOUND) /* it was deleted a moment ago */
        W->err->clear(req);
    arrived->late |= s == WHARF_NOT_FOUND || !w.id.n;
    return s == WHARF_NOT_FOUND ? WHARF_OK : s;
}

wharf_status document_refused(wharf_req *req, wharf_str file, const char *reason)
{
    struct arrived arrived = {.stored = {.file = file}, .reason = reason};
    wharf_status s = write_arrived(req, &arrived);

    if (s == WHARF_OK)
        s = documents_blob->remove(req, file);
    return s == WHARF_NOT_FOUND ? WHARF_OK : s;
}

wharf_status document_arrived(wharf_req *req, wharf_str file, wharf_str *ret_refused)
{
    struct arrived arrived = {.stored = {.file = file}};
    wharf_status s = write_arrived(req, &arrived);

    if (s == WHARF_OK && arrived.late) {
        *ret_refused = WHARF_S("The document does not await this file any more");
        return documents_blob->remove(req, file);
    }
    if (s != WHARF_OK || !arrived.reason)
        return s;
    *ret_refused = W->mem->format(req,
        "The bytes are not those that were announced: %s; ask for a new upload_url with "
        "renew_upload: true",
        arrived.reason);
    return documents_blob->remove(req, file);
}
