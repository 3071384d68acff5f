/* document_tus.c - documents whose bytes come in pieces: the creation of the protocol tus 1.0
 * (docs/spec/05-documents-and-templates.md section 2.2). Leaves to others: the pieces
 * (services/blob/tus_route.c), the row (document_rules.c). */
#include <stdlib.h>
#include <string.h>

#include "documents.h"
#include "documents.gen.h"

#define TUS_VERSION "1.0.0"

/* Members of Upload-Metadata and the fields that they become; json: the value is JSON. A field of
 * NULL is read and not kept: clients send it of their own accord. */
static const struct tus_member {
    const char *key, *field;
    bool json;
} tus_members[] = {{"name", "name", false}, {"filename", "filename", false},
    {"filetype", "mime_type", false}, {"type", NULL, false}, {"relativePath", NULL, false},
    {"mime_type", "mime_type", false}, {"visibility", "visibility", false},
    {"category", "category", false}, {"notes", "notes", false},
    {"checksum_md5", "checksum_md5", false}, {"checksum_sha256", "checksum_sha256", false},
    {"resources", "resources", true}, {"metadata", "metadata", true}};
enum { TUS_MEMBERS = sizeof(tus_members) / sizeof(tus_members[0]) };

static wharf_status tus_bad_member(wharf_req *req, wharf_str key, const char *why)
{
    return W->err->fail(req, ERR_VALIDATION_FAILED, "Upload-Metadata", "Upload-Metadata: %.*s %s",
        (int)key.n, key.p, why);
}

static wharf_status tus_put_member(
    wharf_req *req, wharf_out *out, const struct tus_member *m, wharf_str key, wharf_str value)
{
    const wharf_json *v;

    if (!m->field || !value.n)
        return WHARF_OK;
    if (!m->json) {
        W->json->put(out, m->field, val_text(value));
        return WHARF_OK;
    }
    if (W->json->parse(req, value, &v) != WHARF_OK) {
        W->err->clear(req);
        return tus_bad_member(req, key, "must be JSON");
    }
    W->json->put(out, m->field, val_json(v));
    return WHARF_OK;
}

static bool tus_same_field(const struct tus_member *a, const struct tus_member *b)
{
    return a->field && b->field && strcmp(a->field, b->field) == 0;
}

/* Reads one member: a key, a blank and base64. A key alone has an empty value. seen: which fields
 * are here already; of two members for one field the first holds. */
static wharf_status tus_read_member(wharf_req *req, wharf_out *out, wharf_str pair, bool *seen)
{
    const char *blank = memchr(pair.p, ' ', pair.n);
    wharf_str key = {pair.p, blank ? (size_t)(blank - pair.p) : pair.n}, type, value = WHARF_S("");
    size_t i = 0, first = 0;

    while (i < TUS_MEMBERS && !is(key, tus_members[i].key))
        i++;
    if (i == TUS_MEMBERS)
        return tus_bad_member(req, key,
            "is not known; keys are the fields of a document, and filetype for mime_type");
    if (blank && pair.n > key.n + 1) {
        wharf_str url = W->mem->format(
            req, "data:;base64,%.*s", (int)(pair.n - key.n - 1), blank + 1);

        if (!documents_text->data_url(req, url, &type, &value) || !documents_text->is_text(value))
            return tus_bad_member(req, key, "must be base64 of UTF-8");
    }
    while (first < i && !tus_same_field(&tus_members[first], &tus_members[i]))
        first++;
    if (seen[first])
        return WHARF_OK;
    seen[first] = true;
    return tus_put_member(req, out, &tus_members[i], key, value);
}

/* Makes the body of a create from the headers. */
static wharf_status tus_body(wharf_req *req, int64_t size, const wharf_json **ret)
{
    wharf_str sent = documents_http->header(req, "Upload-Metadata");
    bool seen[TUS_MEMBERS] = {false};
    wharf_out *out = W->json->builder(req);
    wharf_status s = WHARF_OK;

    W->json->open(out, NULL, '{');
    while (sent.n && s == WHARF_OK) {
        const char *comma = memchr(sent.p, ',', sent.n);
        wharf_str pair = {sent.p, comma ? (size_t)(comma - sent.p) : sent.n};

        sent = comma ? (wharf_str){comma + 1, sent.n - pair.n - 1} : WHARF_S("");
        while (pair.n && *pair.p == ' ')
            pair = (wharf_str){pair.p + 1, pair.n - 1};
        if (pair.n)
            s = tus_read_member(req, out, pair, seen);
    }
    if (size > 0)
        W->json->put(out, "size", val_int(size));
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(req, out, ret) : s;
}

/* Reads Upload-Length; -1: the size comes with a piece (Upload-Defer-Length: 1). */
static wharf_status tus_size(wharf_req *req, int64_t *ret)
{
    wharf_str length = documents_http->header(req, "Upload-Length");
    bool later = is(documents_http->header(req, "Upload-Defer-Length"), "1");
    size_t digits = strspn(length.p, "0123456789");

    *ret = -1;
    if (later && !length.n)
        return WHARF_OK;
    *ret = strtoll(length.p, NULL, 10);
    return later || !digits || digits > 15 || digits != length.n || *ret == 0
               ? W->err->fail(req, ERR_VALIDATION_FAILED, "Upload-Length",
                     "Send Upload-Length, the number of bytes of the whole file, or "
                     "Upload-Defer-Length: 1")
               : WHARF_OK;
}

wharf_status document_tus_create(wharf_req *req, void *arg)
{
    const wharf_rec *rec;
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "document",
        .op = WHARF_CREATE,
        .ret_rec = &rec};
    int64_t size;
    wharf_str url;
    wharf_status s;

    documents_http->answer_header(req, WHARF_S("Tus-Resumable"), WHARF_S(TUS_VERSION));
    if (!is(documents_http->header(req, "Tus-Resumable"), TUS_VERSION)) {
        documents_http->answer_header(req, WHARF_S("Tus-Version"), WHARF_S(TUS_VERSION));
        return W->err->fail(req, ERR_FILE_TUS_VERSION, "Tus-Resumable", NULL);
    }
    if (documents_http->body(req).n)
        return W->err->fail(req, ERR_VALIDATION_FAILED, NULL,
            "Send the creation without a body, and the bytes to the URL in Location");
    s = tus_size(req, &size);
    if (s == WHARF_OK)
        s = tus_body(req, size, &w.body);
    if (s == WHARF_OK)
        s = W->res->write(req, &w);
    if (s == WHARF_OK)
        s = documents_blob->link(
            req, field_text(rec, DOCUMENT_UPLOAD_ID), WHARF_BLOB_RESUME, REQUEST_S, &url);
    if (s != WHARF_OK)
        return s;
    W->res->encode(req, W->req->respond(req, 201, "Document created"), NULL, rec);
    W->req->created(req, url);
    return WHARF_OK;
}
