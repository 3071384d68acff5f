/* document_reads.c - the bytes of documents and the list of their versions
 * (docs/spec/05-documents-and-templates.md sections 3.2 to 4). Leaves ranges, conditions and
 * safe headers to wharf.blob. */
#include <stdlib.h>

#include "documents.h"
#include "documents.gen.h"
#include "wharf/filename.h"

enum { VERSION_DIGITS = 9 };

/* ---- ?version= ---- */

bool version_asked(wharf_req *req, wharf_str *ret)
{
    return W->req->param(req, "version", ret);
}

/* Reads a version as it was asked for: digits from 1 on. */
static wharf_status document_reads_read_version(wharf_req *req, wharf_str text, int64_t *ret)
{
    bool good = text.n > 0 && text.n <= VERSION_DIGITS && text.p[0] != '0';

    for (size_t i = 0; i < text.n; i++)
        good = good && text.p[i] >= '0' && text.p[i] <= '9';
    *ret = good ? strtoll(text.p, NULL, 10) : 0;
    return good ? WHARF_OK
                : W->err->fail(
                      req, ERR_PARAM_INVALID, "version", "version must be a number from 1 on");
}

wharf_status document_version_read(wharf_req *req, wharf_str *ret, int64_t *ret_number)
{
    *ret_number = 0;
    return version_asked(req, ret) ? document_reads_read_version(req, *ret, ret_number) : WHARF_OK;
}

/* Finds the file of a version of a live document: id, or an empty text when there is none. */
static wharf_status find_version(
    wharf_req *req, wharf_str document, wharf_str version, wharf_str *ret_file)
{
    static const char sql[] = QUERY_VERSION_FILE;
    const wharf_rows *rows;
    wharf_val args[3] = {val_text(W->req->organization(req)), val_text(document)};
    int64_t number;
    wharf_status s = document_reads_read_version(req, version, &number);

    args[2] = val_int(number);
    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 3, &rows);
    if (s == WHARF_OK)
        *ret_file = W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("");
    return s;
}

wharf_status document_rows(wharf_req *req, wharf_where *where)
{
    wharf_str version, id = WHARF_S(""), file;
    wharf_status s;

    if (W->req->param(req, "id", &id)) {
        s = document_fetch(req, id);
        if (s != WHARF_OK)
            return s;
    }
    if (!version_asked(req, &version))
        return WHARF_OK;
    if (!id.n)
        return W->err->fail(req, ERR_PARAM_INVALID, "version",
            "version is asked of one document; a list shows the current ones");
    s = find_version(req, id, version, &file);
    if (s == WHARF_OK && !file.n)
        W->res->narrow(where, DOCUMENT_ID, "eq", val_text(WHARF_S("")));
    return s;
}

/* ---- bytes ---- */

/* Finds the current file of a document: its visibility, file name, file and status. */
static wharf_status find_current(wharf_req *req, wharf_str document, const wharf_rows **ret_rows)
{
    static const char sql[] = "SELECT visibility, filename, coalesce(file_id, ''), status FROM "
                              "documents.document WHERE organization_id = $2::text AND id = "
                              "$1::text AND deleted_at IS NULL";

    return query_about(req, sql, document, ret_rows);
}

wharf_status document_not_ready(wharf_req *req, wharf_str status)
{
    return W->err->fail(req, ERR_DOCUMENT_NOT_READY, NULL,
        "The document has no bytes yet (its status is %s); bring them to its upload_url", status.p);
}

wharf_status document_content(wharf_req *req, void *arg)
{
    wharf_str id = WHARF_S(""), version, file;
    const wharf_rows *rows;
    wharf_status s;

    W->req->param(req, "document", &id);
    s = document_fetch(req, id);
    if (s == WHARF_OK)
        s = find_current(req, id, &rows);
    if (s == WHARF_OK && !W->db->count(rows))
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    if (s != WHARF_OK)
        return s;
    file = row_text(rows, 0, 2);
    if (!file.n)
        return document_not_ready(req, row_text(rows, 0, 3));
    if (version_asked(req, &version))
        s = find_version(req, id, version, &file);
    if (s == WHARF_OK && !file.n)
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    return s == WHARF_OK ? documents_blob->respond(req, file, WHARF_S("private, max-age=0"),
                               param_truth(req, "download"))
                         : s;
}

/* Answers the bytes of a public document. Whatever is not public looks as if it were not there. */
wharf_status document_public_content(wharf_req *req, void *arg)
{
    wharf_str id = WHARF_S(""), filename = WHARF_S(""), entered;
    const wharf_rows *rows;
    wharf_status s;

    W->req->param(req, "document", &id);
    W->req->param(req, "filename", &filename);
    s = documents_token->enter(req, PUBLIC_NAMES, id, &entered);
    if (s == WHARF_OK)
        s = find_current(req, entered, &rows);
    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows) || !is(row_text(rows, 0, 0), "public") ||
        !wharf_path_means(filename, row_text(rows, 0, 1)) || !row_text(rows, 0, 2).n)
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    return documents_blob->respond(
        req, row_text(rows, 0, 2), WHARF_S("public, max-age=300"), param_truth(req, "download"));
}

/* ---- for other modules ---- */

static wharf_status open_bytes(
    wharf_req *req, wharf_str id, const char *path, wharf_document_bytes *bytes)
{
    const wharf_rec *rec;
    int64_t length;
    wharf_status s = W->req->need_scope(req, "documents:read");

    if (s != WHARF_OK)
        return s;
    s = W->res->fetch(req, "document", id, 0, &rec);
    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req);
        return W->err->fail(req, ERR_VALIDATION_FAILED, path, "There is no such document");
    }
    if (s != WHARF_OK)
        return s;
    if (!field_text(rec, DOCUMENT_FILE_ID).n)
        return W->err->fail(req, ERR_DOCUMENT_NOT_READY, path, NULL);
    bytes->type = field_text(rec, DOCUMENT_MIME_TYPE);
    bytes->size = field_int(rec, DOCUMENT_SIZE);
    return documents_blob->open(
        req, field_text(rec, DOCUMENT_FILE_ID), 0, -1, &bytes->fd, &bytes->at, &length);
}

const wharf_documents_files_api document_files_table = {
    WHARF_HEAD(wharf_documents_files_api), open_bytes};

/* ---- versions ---- */

static wharf_val document_reads_text_or_null(const wharf_rows *rows, size_t row, size_t column)
{
    return val_text_or_null(row_text(rows, row, column));
}

static wharf_val number_or_null(const wharf_rows *rows, size_t row, size_t column, uint32_t type)
{
    wharf_val v;

    return W->db->value(rows, row, column, type, &v) ? v : val_null();
}

static void document_reads_put_version(
    wharf_out *out, wharf_str document, const wharf_rows *rows, size_t i)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("document_version")));
    W->json->put(out, "document_id", val_text(document));
    W->json->put(out, "version", val_int(row_int(rows, i, 0)));
    W->json->put(out, "current", val_bool(row_bool(rows, i, 1)));
    W->json->put(out, "mime_type", val_text(row_text(rows, i, 2)));
    W->json->put(out, "size", val_int(row_int(rows, i, 3)));
    W->json->put(out, "checksum_md5", document_reads_text_or_null(rows, i, 4));
    W->json->put(out, "checksum_sha256", val_text(row_text(rows, i, 5)));
    W->json->put(out, "pages", number_or_null(rows, i, 6, WHARF_V_INT));
    W->json->put(out, "width", number_or_null(rows, i, 7, WHARF_V_DOUBLE));
    W->json->put(out, "height", number_or_null(rows, i, 8, WHARF_V_DOUBLE));
    W->json->put(out, "created_at", number_or_null(rows, i, 9, WHARF_V_TIME_US));
    W->json->put(out, "created_by", document_reads_text_or_null(rows, i, 10));
    W->json->close(out);
}

wharf_status document_versions(wharf_req *req, void *arg)
{
    static const char sql[] = QUERY_VERSIONS;
    wharf_val args[4] = {val_text(W->req->organization(req))};
    wharf_str id = WHARF_S("");
    int64_t page, limit;
    const wharf_rows *rows;
    const wharf_rec *rec;
    wharf_out *out;
    size_t n;
    wharf_status s = W->req->page(req, 25, VERSIONS_MAX, &page, &limit);

    W->req->param(req, "document", &id);
    args[1] = val_text(id);
    args[2] = val_int(limit + 1);
    args[3] = val_int((page - 1) * limit);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "document", id, 0, &rec);
    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 4, &rows);
    if (s != WHARF_OK)
        return s;
    n = W->db->count(rows) > (size_t)limit ? (size_t)limit : W->db->count(rows);
    out = W->req->respond(
        req, 200, W->mem->format(req, "%zu version%s retrieved", n, n == 1 ? "" : "s").p);
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < n; i++)
        document_reads_put_version(out, id, rows, i);
    W->json->close(out);
    W->req->paged(req, page, limit, W->db->count(rows) > n);
    return WHARF_OK;
}
