/* links.c - links to the files of a batch, and who may have them (spec 10 section 10;
 * docs/reference/batches.md 'Files'). */
#include "batches.h"

#include "batches.gen.h"

const char *const FILE_KINDS[FILE_KIND_COUNT] = {
    "upload_csv", "upload_json", "errors_csv", "errors_json", "result_json"};

static wharf_status put_link(wharf_req *req, wharf_out *out, wharf_str file, uint32_t kind)
{
    wharf_blob_info info = {.head = WHARF_HEAD(wharf_blob_info)};
    wharf_str url = WHARF_S("");
    wharf_status s = file.n ? batches_blob->info(req, file, &info) : WHARF_NOT_FOUND;

    if (s == WHARF_NOT_FOUND) { /* its time is over */
        if (file.n)
            W->err->clear(req);
        W->json->put(out, NULL, val_null());
        return WHARF_OK;
    }
    if (s == WHARF_OK)
        s = batches_blob->link(req, file, kind, LINK_SECONDS, &url);
    W->json->put(out, NULL, val_text_or_null(url));
    return s;
}

wharf_status check_reach(wharf_req *req, wharf_str key_id)
{
    const wharf_caller *caller = batches_keys->caller(req);

    if (caller->all_locations || same(caller->key_id, key_id))
        return WHARF_OK;
    return W->err->fail(req, ERR_LOCATION_ACCESS, NULL,
        "What another key's batch holds is for that key, and for keys of all locations");
}

static wharf_status check_access(wharf_req *req, const wharf_rec *rec, const char *level)
{
    const wharf_json *definition, *block;
    wharf_str area;
    wharf_status s = resource_find(req, field_text(rec, BATCH_RESOURCE), &definition, &block);

    if (s != WHARF_OK) { /* its module is gone: nobody reads or writes them */
        W->err->clear(req);
        return WHARF_NOT_FOUND;
    }
    area = json_text(definition_x(definition), "scope");
    s = W->req->need_scope(req, W->mem->format(req, "%s:%s", area.p, level).p);
    return s == WHARF_OK ? check_reach(req, field_text(rec, BATCH_KEY_ID)) : s;
}

wharf_status check_reader(wharf_req *req, const wharf_rec *rec)
{
    return check_access(req, rec, "read");
}

/* Writes the upload link. What is brought there is written with the rights of the key that made
 * the batch: so only who could write it may bring it. Nobody asks for this link: to others there
 * is none. */
static wharf_status put_upload_link(wharf_req *req, wharf_out *out, const wharf_rec *rec)
{
    bool awaited = status_of(field_text(rec, BATCH_STATUS)) == BATCH_REQUESTED;
    wharf_status s = awaited ? check_access(req, rec, "write") : WHARF_NOT_FOUND;

    if (s == WHARF_DENIED)
        W->err->clear(req);
    if (s == WHARF_DENIED || s == WHARF_NOT_FOUND)
        return put_link(req, out, WHARF_S(""), WHARF_BLOB_PUT);
    return s == WHARF_OK ? put_link(req, out, field_text(rec, BATCH_SOURCE_FILE), WHARF_BLOB_PUT)
                         : s;
}

static wharf_status compute_one(wharf_req *req, const wharf_rec *rec, wharf_field f, wharf_out *out)
{
    static const wharf_field fields[FILE_KIND_COUNT] = {BATCH__UPLOAD_CSV_URL,
        BATCH__UPLOAD_JSON_URL, BATCH__ERRORS_CSV_URL, BATCH__ERRORS_JSON_URL,
        BATCH__RESULT_JSON_URL};
    const wharf_json *files = field_json(rec, BATCH_FILES);

    if (f == BATCH__UPLOAD_URL)
        return put_upload_link(req, out, rec);
    for (int i = 0; i < FILE_KIND_COUNT; i++) {
        bool asked = f == fields[i] &&
                     param_truth(req, W->mem->format(req, "include_%s", FILE_KINDS[i]).p);
        wharf_status s = asked && files ? check_reader(req, rec) : WHARF_OK;

        if (s == WHARF_DENIED)
            return s;
        if (f == fields[i])
            return put_link(req, out,
                asked && files && s == WHARF_OK ? json_text(files, FILE_KINDS[i]) : WHARF_S(""),
                WHARF_BLOB_GET);
    }
    return WHARF_OK;
}

static wharf_status links_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < n && s == WHARF_OK; i++)
        s = compute_one(req, recs[i], f, outs[i]);
    return s;
}

const wharf_hooks batches_hooks = {.head = WHARF_HEAD(wharf_hooks), .compute = links_compute};
