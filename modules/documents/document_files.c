/* document_files.c - the files of a document that goes: closed, kept for a while, erased
 * (docs/spec/05-documents-and-templates.md section 3 DELETE). */
#include "documents.h"
#include "documents.gen.h"

/* Closes a file: its links die now, its bytes at until_us; 0: as soon as may be. */
static wharf_status close_file(wharf_req *req, wharf_str file, int64_t until_us)
{
    wharf_status s = until_us ? documents_blob->retire(req, file, until_us)
                              : documents_blob->remove(req, file);

    return s == WHARF_NOT_FOUND ? WHARF_OK : s;
}

wharf_status files_close(wharf_req *req, const wharf_rec *rec)
{
    static const char sql[] = "SELECT file_id FROM documents.version WHERE organization_id = "
                              "$2::text AND document_id = $1::text",
                      words_sql[] = "UPDATE documents.document SET content_words = NULL WHERE "
                                    "organization_id = $2::text AND id = $1::text",
                      purge_sql[] = "DELETE FROM documents.version WHERE organization_id = "
                                    "$2::text AND document_id = $1::text";
    wharf_str upload = field_text(rec, DOCUMENT_UPLOAD_ID);
    bool purge = param_truth(req, "purge");
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, W->res->id(rec), &rows);

    if (s == WHARF_OK)
        s = previews_drop(req, W->res->id(rec), 0);
    if (s == WHARF_OK)
        s = query_about(req, words_sql, W->res->id(rec), NULL);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        s = close_file(
            req, row_text(rows, i, 0), purge ? 0 : W->req->now_us(req) + KEPT_S * SECOND_US);
    if (s == WHARF_OK && purge)
        s = query_about(req, purge_sql, W->res->id(rec), NULL);
    return s == WHARF_OK && upload.n ? close_file(req, upload, 0) : s;
}
