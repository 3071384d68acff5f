/* document_content.c - content that stands in a request: read, compared, stored
 * (docs/spec/05-documents-and-templates.md sections 1 and 2). */
#include <unistd.h>

#include "documents.h"
#include "documents.gen.h"

enum { LOOK = 1024 };

/* Returns the type of a data URI without its parameters, in small letters; empty: it says none. */
static wharf_str document_content_plain_type(wharf_req *req, wharf_str type)
{
    wharf_str s = W->mem->dup(req, type.p, type.n);
    char *p = (char *)s.p;
    size_t n = 0;

    for (; n < s.n && p[n] != ';'; n++)
        p[n] = (char)(p[n] >= 'A' && p[n] <= 'Z' ? p[n] - 'A' + 'a' : p[n]);
    while (n && p[n - 1] == ' ')
        n--;
    p[n] = 0;
    return (wharf_str){p, n};
}

static wharf_status read_content(
    wharf_req *req, wharf_str content, wharf_blob_writer *w, wharf_str *ret_type)
{
    const char *fault = NULL;
    wharf_str type;
    wharf_status s = documents_blob->write_text(req, w, content, &type, &fault);

    if (fault)
        return W->err->fail(req, ERR_DOCUMENT_CONTENT_INVALID, "content",
            "The content can't be read: %s; send a data URI or base64", fault);
    if (s == WHARF_OK) {
        *ret_type = document_content_plain_type(req, type);
        return WHARF_OK;
    }
    if (s == WHARF_UNAVAILABLE)
        return s;
    W->err->clear(req);
    return W->err->fail(req, ERR_DOCUMENT_TOO_LARGE, "content", NULL);
}

/* Decides the type: what was sent, else what the data URI says, else what the bytes look like. */
static wharf_status settle_type(
    wharf_req *req, wharf_str sent, wharf_str uri, wharf_str seen, struct stored *ret)
{
    wharf_str said = sent.n ? sent : uri;

    if (sent.n && uri.n && !type_fits(sent, uri) && !type_fits(uri, sent))
        return W->err->fail(req, ERR_DOCUMENT_MIME_MISMATCH, "mime_type",
            "mime_type is %s, and the data URI says %s; send one of them", sent.p, uri.p);
    if (said.n && !type_fits(said, seen))
        return W->err->fail(req, ERR_DOCUMENT_MIME_MISMATCH, sent.n ? "mime_type" : "content",
            "The bytes are not %s but look like %s; send the right type, or leave it out", said.p,
            seen.n ? seen.p : "no type that is known");
    ret->type = said.n ? said : seen.n ? seen : WHARF_S("application/octet-stream");
    return WHARF_OK;
}

static wharf_status check_sums(wharf_req *req, const struct stored *wanted, struct stored *got)
{
    if (wanted->size > 0 && wanted->size != got->size)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "size",
            "The content has %lld bytes, and size says %lld; leave it out", (long long)got->size,
            (long long)wanted->size);
    if (wanted->md5.n && !same(wanted->md5, got->md5))
        return W->err->fail(req, ERR_DOCUMENT_CHECKSUM_MISMATCH, "checksum_md5",
            "The content has the MD5 %s; send it again, or leave checksum_md5 out", got->md5.p);
    if (wanted->sha256.n && !same(wanted->sha256, got->sha256))
        return W->err->fail(req, ERR_DOCUMENT_CHECKSUM_MISMATCH, "checksum_sha256",
            "The content has the SHA-256 %s; send it again, or leave checksum_sha256 out",
            got->sha256.p);
    return WHARF_OK;
}

/* Looks at what was written: its size, its MD5, and its type beside what the request says. */
static wharf_status look_at_content(wharf_req *req, wharf_blob_writer *w,
    const struct stored *wanted, wharf_str uri_type, struct stored *ret)
{
    int fd = documents_blob->written(w);
    off_t end = lseek(fd, 0, SEEK_END);
    char look[LOOK];
    ssize_t n = pread(fd, look, sizeof(look), 0);
    wharf_str seen;
    wharf_status s;

    if (end <= 0 || n <= 0)
        return W->err->fail(
            req, ERR_DOCUMENT_CONTENT_INVALID, "content", "The content is empty; send some bytes");
    ret->size = end;
    seen = type_seen(look, (size_t)n, end <= LOOK);
    s = settle_type(req, wanted->type, uri_type, seen, ret);
    if (s == WHARF_OK)
        s = documents_blob->md5(req, fd, 0, end, &ret->md5);
    if (s == WHARF_OK)
        s = check_quota(req, ret->size);
    if (s == WHARF_OK)
        document_measure(req, fd, 0, seen, ret);
    return s;
}

/* Asks the scanners about what was written. */
static wharf_status scan_content(
    wharf_req *req, const wharf_rec *rec, wharf_str own, int fd, const struct stored *got)
{
    const wharf_document_file file = {.head = WHARF_HEAD(wharf_document_file),
        .document_id = own,
        .name = field_text(rec, DOCUMENT_NAME),
        .filename = got->filename,
        .type = got->type,
        .size = got->size,
        .fd = fd};
    wharf_str rejected;
    wharf_status s = document_scan(req, &file, &rejected);

    return s == WHARF_OK && rejected.n ? W->err->fail(req, ERR_DOCUMENT_REJECTED, "content",
                                             "The content is not wanted: %s", rejected.p)
                                       : s;
}

wharf_status content_store(wharf_req *req, const wharf_rec *rec, wharf_str own,
    const struct stored *wanted, struct stored *ret)
{
    wharf_blob_info info = {.head = WHARF_HEAD(wharf_blob_info)};
    wharf_blob_writer *w;
    wharf_str uri_type = WHARF_S("");
    wharf_status s = documents_blob->begin(req, INLINE_MAX, &w);

    *ret = (struct stored){.file = WHARF_S("")};
    if (s == WHARF_OK)
        s = read_content(req, field_text(rec, DOCUMENT_CONTENT), w, &uri_type);
    if (s == WHARF_OK)
        s = look_at_content(req, w, wanted, uri_type, ret);
    if (s != WHARF_OK)
        return s;
    ret->filename = field_text(rec, DOCUMENT_FILENAME);
    if (!ret->filename.n)
        ret->filename = filename_of(req, field_text(rec, DOCUMENT_NAME), ret->type);
    s = scan_content(req, rec, own, documents_blob->written(w), ret);
    if (s == WHARF_OK)
        s = documents_blob->finish(req, w, ret->filename, ret->type, 0, &ret->file);
    if (s == WHARF_OK)
        s = documents_blob->info(req, ret->file, &info);
    if (s != WHARF_OK)
        return s;
    ret->sha256 = info.sha256;
    return check_sums(req, wanted, ret);
}
