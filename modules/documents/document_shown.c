/* document_shown.c - what documents show that is in no column: the file and its URLs
 * (docs/spec/05-documents-and-templates.md section 1). */
#include "documents.h"
#include "documents.gen.h"

/* Returns the permanent URL of a document's bytes: without a key where it is public. */
static wharf_str permanent_url(wharf_req *req, const wharf_rec *rec)
{
    wharf_str id = W->res->id(rec);
    bool is_public = is(field_text(rec, DOCUMENT_VISIBILITY), "public");
    wharf_str path = is_public ? W->mem->format(req, "/v1/public/documents/%s/%s", id.p,
                                     path_part(req, field_text(rec, DOCUMENT_FILENAME)).p)
                               : W->mem->format(req, "/v1/documents/%s/content", id.p);

    return documents_config->url(req, path);
}

static void show_file(wharf_req *req, const wharf_rec *rec, wharf_out *out)
{
    bool here = field_text(rec, DOCUMENT_FILE_ID).n != 0;
    int64_t size = field_int(rec, DOCUMENT_SIZE);

    W->json->open(out, NULL, '{');
    W->json->put(out, "name", val_text(field_text(rec, DOCUMENT_NAME)));
    W->json->put(out, "url", val_text(permanent_url(req, rec)));
    W->json->put(
        out, "checksum", here ? val_text(field_text(rec, DOCUMENT_CHECKSUM_SHA256)) : val_null());
    W->json->put(
        out, "size", here ? val_text(W->mem->format(req, "%lld", (long long)size)) : val_null());
    W->json->put(
        out, "mime_type", here ? val_text(field_text(rec, DOCUMENT_MIME_TYPE)) : val_null());
    W->json->close(out);
}

wharf_status document_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    for (size_t i = 0; i < n; i++)
        show_file(req, recs[i], outs[i]);
    return WHARF_OK;
}
