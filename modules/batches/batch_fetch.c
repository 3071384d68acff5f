/* batch_fetch.c - files of batches: inside the request, by URL, by upload link; and what is told
 * of them (spec 10 section 9). */
#include <unistd.h>

#include "batches.h"
#include "wharf/errors.h"

enum { PIECE = 256 * 1024, MIB = 1024 * 1024 };

/* ---- keeping ---- */

static int64_t keep_until(const struct batch *b)
{
    return W->req->now_us(b->req) + batches_limits.keep_days * 86400LL * 1000000;
}

static wharf_status batch_fetch_remember(struct batch *b, wharf_str id)
{
    static const char sql[] = "UPDATE batches.batch SET source_file = $3::text, source_url = NULL"
                              " WHERE organization_id = $2::text AND id = $1::text";
    wharf_val args[3] = {val_text(b->id), val_text(W->req->organization(b->req)), val_text(id)};

    b->source.file = W->mem->dup(b->req, id.p, id.n);
    b->source.url = WHARF_S("");
    return W->db->exec(b->req, sql, args, 3, NULL);
}

wharf_status upload_keep_bytes(struct batch *b)
{
    wharf_blob_writer *w;
    wharf_str id = WHARF_S("");
    wharf_status s = batches_blob->begin(b->req, batches_limits.file_mib * MIB, &w);

    if (s == WHARF_OK)
        s = batches_blob->write(b->req, w, b->source.bytes.p, b->source.bytes.n);
    if (s == WHARF_OK)
        s = batches_blob->finish(
            b->req, w, WHARF_S("upload"), WHARF_S("application/octet-stream"), keep_until(b), &id);
    return s == WHARF_OK ? batch_fetch_remember(b, id) : s;
}

/* Copies from one descriptor into the store, piece by piece. */
static wharf_status keep_file(struct batch *b, int fd)
{
    wharf_blob_writer *w;
    wharf_scope *scope = W->mem->scope_begin(b->req);
    char *piece = W->mem->alloc(b->req, PIECE);
    wharf_str id = WHARF_S("");
    off_t at = 0;
    ssize_t n = 0;
    wharf_status s = batches_blob->begin(b->req, batches_limits.file_mib * MIB, &w);

    (void)scope;
    while (s == WHARF_OK && (n = pread(fd, piece, PIECE, at)) > 0) {
        s = batches_blob->write(b->req, w, piece, (size_t)n);
        at += n;
    }
    if (s == WHARF_OK && n < 0) {
        batches_blob->abort(b->req, w);
        return W->err->fail(b->req, ERR_INTERNAL, NULL, "a fetched file can not be read");
    }
    if (s == WHARF_OK)
        s = batches_blob->finish(
            b->req, w, WHARF_S("upload"), WHARF_S("application/octet-stream"), keep_until(b), &id);
    return s == WHARF_OK ? batch_fetch_remember(b, id) : s;
}

/* ---- web URLs ---- */

static wharf_fetch_request ask_for(wharf_str url)
{
    return (wharf_fetch_request){.head = WHARF_HEAD(wharf_fetch_request),
        .url = url,
        .flags = WHARF_FETCH_TO_FILE,
        .redirects = 3,
        .max_bytes = batches_limits.file_mib * MIB,
        .total_ms = 60000}; /* a file from the web may take */
}

wharf_status upload_check_url(wharf_req *req, wharf_str url)
{
    const wharf_fetch_request ask = ask_for(url);

    return batches_web->check(req, &ask, "data");
}

wharf_status source_fetch(struct batch *b)
{
    const wharf_fetch_request ask = ask_for(b->source.url);
    struct phase *p = &b->phases[FETCHING];
    wharf_fetch *f;
    wharf_str code;
    wharf_status s;

    p->total = 1;
    if (!b->source.url.n) { /* it was brought */
        p->processed = 1;
        return WHARF_OK;
    }
    s = batches_web->start(b->req, &ask, &f);
    if (s == WHARF_OK)
        s = batches_web->wait(b->req, f);
    if (s != WHARF_OK)
        return s;
    code = batches_web->code(f);
    if (code.n)
        s = b->run.in_request
                ? batches_web->fail(b->req, f, "data")
                : source_wrong(b, code.p, "data", WHARF_S("The file could not be fetched"));
    else
        s = keep_file(b, batches_web->file(f));
    p->processed = s == WHARF_OK;
    batches_web->done(b->req, f);
    return s;
}

/* ---- uploads ---- */

wharf_status upload_await(struct batch *b)
{
    wharf_str id = WHARF_S("");
    wharf_status s = batches_blob->await(b->req, WHARF_S("upload"), WHARF_S(""), -1,
        batches_limits.file_mib * MIB, W->req->now_us(b->req) + UPLOAD_HOURS * 3600LL * 1000000,
        &id);

    if (s == WHARF_OK)
        s = batches_blob->announce(b->req, id, "uploaded");
    return s == WHARF_OK ? batch_fetch_remember(b, id) : s;
}

/* ---- data URLs ---- */

/* Keeps what the URL says with the options of the request, which win. */
static wharf_status url_options(wharf_req *req, struct batch_request *asked,
    const struct batch_source *source, wharf_str charset)
{
    bool reported = asked->file_options && W->json->get(asked->file_options, "encoding");
    wharf_out *out;

    if ((!charset.n || reported) && !source->file_name.n)
        return WHARF_OK;
    out = W->json->builder(req);
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = asked->file_options ? W->json->at(asked->file_options, 0) : NULL; m;
         m = W->json->next(m))
        W->json->put(out, W->json->key(m).p, val_json(m));
    if (charset.n && !reported)
        W->json->put(out, "encoding", val_text(charset));
    if (source->file_name.n)
        W->json->put(out, "name", val_text(source->file_name));
    W->json->close(out);
    return W->json->result(req, out, &asked->file_options);
}

wharf_status upload_take_data_url(struct batch *b, wharf_str url)
{
    wharf_str type;

    if (!batches_text->data_url(b->req, url, &type, &b->source.bytes))
        return W->err->fail(b->req, ERR_BATCH_BASE64_INVALID, "data", NULL);
    if ((int64_t)b->source.bytes.n > batches_limits.data_url_mib * MIB)
        return W->err->fail(b->req, ERR_FILE_TOO_LARGE, "data",
            "A file inside the request has at most %lld MiB; send a URL",
            (long long)batches_limits.data_url_mib);
    if (!b->source.bytes.n)
        return W->err->fail(b->req, ERR_BATCH_DATA_EMPTY, "data", "The file is empty");
    b->source.file_name = batches_text->type_param(b->req, type, "name");
    return url_options(
        b->req, &b->asked, &b->source, batches_text->type_param(b->req, type, "charset"));
}

/* ---- what is told of it ---- */

static void put_columns(
    struct batch *b, wharf_out *out, wharf_import *file, const char *key, bool unmapped)
{
    wharf_str header, path;

    (void)b;
    W->json->open(out, key, '[');
    for (size_t i = 0; batches_files->column(file, i, &header, &path); i++) {
        if (!unmapped || !path.n)
            W->json->put(out, NULL, val_text(header));
    }
    W->json->close(out);
}

static wharf_val file_json(struct batch *b, wharf_import *file, int64_t size)
{
    static const char *const infos[] = {"format", "encoding", "delimiter", "sheet"};
    wharf_out *out = W->json->writer(b->req);

    W->json->open(out, NULL, '{');
    W->json->put(
        out, "name", val_text_or_null(b->source.file_name.p ? b->source.file_name : WHARF_S("")));
    W->json->put(out, "size", val_int(size));
    for (size_t i = 0; i < sizeof(infos) / sizeof(*infos); i++)
        W->json->put(out, infos[i], val_text_or_null(batches_files->info(file, infos[i])));
    put_columns(b, out, file, "headers", false);
    put_columns(b, out, file, "unmapped_headers", true);
    W->json->close(out);
    return val_text(W->json->result_text(out));
}

static wharf_val warnings_json(struct batch *b, wharf_import *file)
{
    wharf_out *out = W->json->writer(b->req);
    wharf_str code, message;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; batches_files->warning(file, i, &code, &message); i++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "code", val_text(code));
        W->json->put(out, "message", val_text(message));
        W->json->close(out);
    }
    W->json->close(out);
    return val_text(W->json->result_text(out));
}

wharf_status source_describe(struct batch *b, wharf_import *file)
{
    static const char sql[] =
        "UPDATE batches.batch SET file = $3::jsonb, warnings = $4::jsonb, checksum = $5::text"
        " WHERE organization_id = $2::text AND id = $1::text";
    wharf_blob_info info = {
        .head = WHARF_HEAD(wharf_blob_info), .size = (int64_t)b->source.bytes.n};
    wharf_status s = WHARF_OK;

    if (b->source.bytes.n)
        info.sha256 = batches_text->sha256(b->req, b->source.bytes);
    else
        s = batches_blob->info(b->req, b->source.file, &info);
    if (s != WHARF_OK)
        return s;
    wharf_val args[5] = {val_text(b->id), val_text(W->req->organization(b->req)),
        file_json(b, file, info.size), warnings_json(b, file), val_text(info.sha256)};
    return W->db->exec(b->req, sql, args, 5, NULL);
}
