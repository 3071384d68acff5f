/* document_shown.c - what documents show that is in no column: the file and its URLs
 * (docs/spec/05-documents-and-templates.md section 1). */
#include "documents.h"
#include "documents.gen.h"

/* Returns the permanent URL of a document's bytes: without a key where it is public. Older
 * versions are read with a key. */
static wharf_str permanent_url(wharf_req *req, const wharf_rec *rec)
{
    wharf_str id = W->res->id(rec), version, path;

    if (version_asked(req, &version))
        path = W->mem->format(req, "/v1/documents/%s/content?version=%s", id.p, version.p);
    else if (is(field_text(rec, DOCUMENT_VISIBILITY), "public"))
        path = W->mem->format(req, "/v1/public/documents/%s/%s", id.p,
            path_part(req, field_text(rec, DOCUMENT_FILENAME)).p);
    else
        path = W->mem->format(req, "/v1/documents/%s/content", id.p);
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

/* Makes the URL that needs no key and no more rights. Where the document is private it is signed,
 * and good until document_url_expires_at, which the definition reckons. */
static wharf_status show_url(wharf_req *req, const wharf_rec *rec, wharf_out *out)
{
    int64_t ends = field_int(rec, DOCUMENT_DOCUMENT_URL_EXPIRES_AT);
    wharf_str file = field_text(rec, DOCUMENT_FILE_ID), url;
    wharf_status s;

    if (!file.n) {
        W->json->put(out, NULL, val_null());
        return WHARF_OK;
    }
    if (is(field_text(rec, DOCUMENT_VISIBILITY), "public")) {
        W->json->put(out, NULL, val_text(permanent_url(req, rec)));
        return WHARF_OK;
    }
    s = documents_blob->direct_link(req, file, WHARF_BLOB_GET, WHARF_S(""),
        ends / SECOND_US - W->req->now_us(req) / SECOND_US, &url);
    if (s == WHARF_OK)
        W->json->put(out, NULL, val_text(url));
    return s;
}

/* Returns the MD5 that was announced for the file that is awaited, or an empty text. */
static wharf_str announced_md5(const wharf_rec *rec, const struct made *made)
{
    return made->first ? field_text(rec, DOCUMENT_CHECKSUM_MD5) : WHARF_S("");
}

static wharf_status show_upload(
    wharf_req *req, const wharf_rec *rec, const struct made *made, wharf_out *out)
{
    wharf_str url;
    wharf_status s = documents_blob->direct_link(
        req, made->upload, WHARF_BLOB_PUT, announced_md5(rec, made), UPLOAD_S, &url);

    if (s == WHARF_OK)
        W->json->put(out, NULL, val_text(url));
    return s;
}

/* Shows the headers that the PUT has to have: its type, and the MD5 that was announced. */
static void show_headers(const wharf_rec *rec, const struct made *made, wharf_out *out)
{
    wharf_str md5 = announced_md5(rec, made);

    W->json->open(out, NULL, '{');
    W->json->put(out, "Content-Type", val_text(made->type));
    if (md5.n)
        W->json->put(out, "Content-MD5", val_text(md5));
    W->json->close(out);
}

static wharf_status show_one_field(
    wharf_req *req, const wharf_rec *rec, wharf_field f, wharf_out *out)
{
    const struct made *made = document_made(req);
    bool mine = made->id.p && same(made->id, W->res->id(rec));

    if (f == DOCUMENT_FILE) {
        show_file(req, rec, out);
        return WHARF_OK;
    }
    if (f == DOCUMENT_DOCUMENT_URL)
        return show_url(req, rec, out);
    if (f == DOCUMENT_UPLOAD_URL && mine && made->upload.p)
        return show_upload(req, rec, made, out);
    if (f == DOCUMENT_UPLOAD_HEADERS && mine && made->upload.p)
        show_headers(rec, made, out);
    else if (f == DOCUMENT_DUPLICATE_OF && mine && made->duplicate.p)
        W->json->put(out, NULL, val_text(made->duplicate));
    else
        W->json->put(out, NULL, val_null());
    return WHARF_OK;
}

wharf_status document_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        s = show_one_field(req, recs[i], f, outs[i]);
    return s;
}
