/* template_output.c - where a drawing goes: a public link, base64, a document, the body itself, a
 * printer; and the answer that tells of it (docs/spec/05-documents-and-templates.md sections 9.1
 * and 9.2). */
#include <stdlib.h>

#include "templates.h"
#include "templates.gen.h"
#include "wharf/filename.h"

#define PUBLIC_KIND "generated"

static const struct format {
    const char *word, *title, *extension, *type;
} formats[] = {{"pdf", "PDF", ".pdf", "application/pdf"}, {"png", "PNG", ".png", "image/png"},
    {"zpl", "ZPL", ".zpl", "application/vnd.zebra-zpl"}};

static const struct format *template_output_format_of(const struct output *o)
{
    return &formats[o->format - WHARF_DRAW_PDF];
}

/* ---- what is asked for ---- */

static wharf_str output_word(wharf_req *req, const wharf_json *wish)
{
    wharf_str said = json_text(wish, "output");

    if (said.n)
        return said;
    return templates_http->accepted(req).n ? WHARF_S("binary") : WHARF_S("url");
}

/* Members of a print job that say what is printed. */
static const char *const job_sources[] = {"data", "document_id", "template", "raw", "content_type"};
enum { JOB_SOURCES = 5 };

void output_judge(wharf_req *req, const wharf_json *wish)
{
    static const struct place print = {.key = "print"};
    const wharf_json *job = W->json->get(wish, "print");
    wharf_str word = output_word(req, wish);

    if (is(word, "document") && W->req->need_scope(req, "documents:write") != WHARF_OK)
        return;
    if (json_is_null(job))
        return;
    for (size_t i = 0; i < JOB_SOURCES; i++) {
        const struct place here = {.up = &print, .key = job_sources[i]};

        if (!json_is_null(W->json->get(job, job_sources[i])))
            place_wrong(req, &here, "is not sent: the job prints what is drawn");
    }
    if (is(word, "binary"))
        place_wrong(
            req, &print, "makes a job, which an answer that is the file itself can't tell of");
    W->req->need_scope(req, "print_jobs:write");
}

static wharf_str filename_of(wharf_req *req, const struct output *o)
{
    wharf_str clean = wharf_filename_clean(o->filename, W->mem->alloc(req, o->filename.n + 1));

    return W->mem->format(
        req, "%s%s", clean.n ? clean.p : "document", template_output_format_of(o)->extension);
}

/* ---- a public link ---- */

static int64_t retention_us(void)
{
    return templates_config->integer(templates_self, "generated_retention_days") * DAY_US;
}

static wharf_status template_output_store(wharf_req *req, const struct output *o, wharf_str bytes,
    wharf_str filename, int64_t expires_us, wharf_str *ret_file)
{
    wharf_blob_writer *w;
    wharf_status s = templates_blob->begin(req, 0, &w);

    if (s == WHARF_OK)
        s = templates_blob->write(req, w, bytes.p, bytes.n);
    return s == WHARF_OK ? templates_blob->finish(req, w, filename,
                               z(template_output_format_of(o)->type), expires_us, ret_file)
                         : s;
}

static wharf_status make_link(wharf_req *req, const struct output *o, wharf_str bytes,
    wharf_str filename, int64_t expires_us, wharf_str *ret_url)
{
    wharf_str file, token;
    wharf_status s = template_output_store(req, o, bytes, filename, expires_us, &file);

    if (s == WHARF_OK)
        s = templates_token->make(req, PUBLIC_KIND, file, expires_us, &token);
    if (s != WHARF_OK)
        return s;
    *ret_url = templates_config->url(
        req, W->mem->format(req, "/v1/public/files/%s/%s", token.p,
                 wharf_path_part(filename, W->mem->alloc(req, 3 * filename.n + 1)).p));
    return WHARF_OK;
}

wharf_status public_file_get(wharf_req *req, void *arg)
{
    wharf_blob_info info = {.head = WHARF_HEAD(wharf_blob_info)};
    wharf_str token = WHARF_S(""), filename = WHARF_S(""), file;
    wharf_status s;

    (void)arg;
    W->req->param(req, "token", &token);
    W->req->param(req, "filename", &filename);
    s = templates_token->enter(req, PUBLIC_KIND, token, &file);
    if (s == WHARF_OK)
        s = templates_blob->info(req, file, &info);
    if (s == WHARF_OK && !wharf_path_means(filename, info.name))
        s = W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    return s == WHARF_OK
               ? templates_blob->respond(req, file, WHARF_S("private, max-age=300"), false)
               : s;
}

/* ---- a document ---- */

/* Puts members of the request's object that are there, in place of what else would be said. */
static void put_wished(wharf_out *out, const wharf_json *wish, const char *key, wharf_val usual)
{
    const wharf_json *v = W->json->get(wish, key);

    if (!json_is_null(v))
        W->json->put(out, key, val_json(v));
    else if (usual.type != WHARF_V_NULL)
        W->json->put(out, key, usual);
}

static void put_resources(wharf_out *out, const struct output *o, const wharf_json *wish)
{
    const wharf_json *list = W->json->get(wish, "resources");

    if (!json_is_null(list)) {
        W->json->put(out, "resources", val_json(list));
    } else if (o->resource) {
        W->json->open(out, "resources", '[');
        W->json->put(out, NULL, val_json(o->resource));
        W->json->close(out);
    }
}

static wharf_str data_uri(wharf_req *req, const struct output *o, wharf_str base64)
{
    return W->mem->format(req, "data:%s;base64,%s", template_output_format_of(o)->type, base64.p);
}

static wharf_status make_document(
    wharf_req *req, const struct output *o, wharf_str base64, wharf_str filename, wharf_str *ret_id)
{
    const wharf_json *wish = W->json->get(o->wish, "document"), *body;
    wharf_out *out = W->json->builder(req);
    const wharf_rec *rec;
    wharf_status s;

    W->json->open(out, NULL, '{');
    put_wished(out, wish, "name", val_text(filename));
    W->json->put(out, "filename", val_text(filename));
    W->json->put(out, "content", val_text(data_uri(req, o, base64)));
    put_wished(out, wish, "visibility", val_text(WHARF_S("private")));
    put_wished(out, wish, "category", o->category ? val_text(z(o->category)) : val_null());
    put_wished(out, wish, "metadata", val_null());
    put_resources(out, o, wish);
    W->json->close(out);
    s = W->json->result(req, out, &body);
    W->err->base(req, "document.");
    if (s == WHARF_OK)
        s = W->res->create(req, "document", body, &rec);
    W->err->base(req, "");
    if (s == WHARF_OK)
        *ret_id = W->res->id(rec);
    return s;
}

/* ---- a print job ---- */

static wharf_status make_job(
    wharf_req *req, const struct output *o, wharf_str base64, wharf_str filename, wharf_str *ret_id)
{
    const wharf_json *wish = W->json->get(o->wish, "print"), *body;
    wharf_out *out = W->json->builder(req);
    const wharf_rec *rec;
    wharf_status s;

    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(wish, 0); m; m = W->json->next(m)) {
        if (!json_is_null(m))
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
    if (json_is_null(W->json->get(wish, "name")))
        W->json->put(out, "name", val_text(filename));
    if (o->location.n && json_is_null(W->json->get(wish, "location_id")) &&
        json_is_null(W->json->get(wish, "print_station_id")))
        W->json->put(out, "location_id", val_text(o->location));
    if (o->resource && json_is_null(W->json->get(wish, "resource")))
        W->json->put(out, "resource", val_json(o->resource));
    W->json->put(out, "data", val_text(data_uri(req, o, base64)));
    if (o->format == WHARF_DRAW_ZPL) {
        W->json->put(out, "raw", val_bool(true));
        W->json->put(out, "content_type", val_text(z(template_output_format_of(o)->type)));
    }
    W->json->close(out);
    s = W->json->result(req, out, &body);
    W->err->base(req, "print.");
    if (s == WHARF_OK)
        s = W->res->create(req, "print_job", body, &rec);
    W->err->base(req, "");
    if (s == WHARF_OK)
        *ret_id = W->res->id(rec);
    return s;
}

/* ---- the answer ---- */

struct sent { /* what became of it */
    wharf_str word, filename, base64, url, document, job;
    int64_t expires_us;
};

static void put_copies(wharf_out *out, const wharf_json *report)
{
    static const char *const keys[] = {"pages", "width", "height", "elements_total",
        "elements_rendered", "element_errors", "warnings"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        W->json->put(out, keys[i], val_json(W->json->get(report, keys[i])));
}

static wharf_val text_if(wharf_str s, bool wanted)
{
    return wanted ? val_text(s) : val_null();
}

static void template_output_answer(
    wharf_req *req, const struct output *o, const struct drawn *d, const struct sent *sent)
{
    const wharf_json *errors = W->json->get(d->report, "element_errors");
    size_t n = W->json->count(errors);
    wharf_str message = W->mem->format(req, "%s generated", template_output_format_of(o)->title);
    bool url = is(sent->word, "url");
    wharf_out *out;

    if (n)
        message = W->mem->format(
            req, "%s with %zu element error%s", message.p, n, n == 1 ? "" : "s");
    out = W->req->respond(req, sent->document.n || sent->job.n ? 201 : 200, message.p);
    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("generated_pdf")));
    W->json->put(out, "id", val_text(o->id));
    W->json->put(out, "url", text_if(sent->url, url));
    W->json->put(out, "expires_at", url ? val_time(sent->expires_us) : val_null());
    W->json->put(out, "content", text_if(sent->base64, is(sent->word, "base64")));
    W->json->put(out, "filename", val_text(sent->filename));
    W->json->put(out, "format", val_text(z(template_output_format_of(o)->word)));
    W->json->put(out, "size", val_int((int64_t)d->bytes.n));
    W->json->put(out, "sha256", val_text(templates_text->sha256(req, d->bytes)));
    put_copies(out, d->report);
    W->json->put(out, "document_id", val_text_or_null(sent->document));
    W->json->put(out, "print_job_id", val_text_or_null(sent->job));
    W->json->put(out, "render_ms", val_int(d->ms));
    W->json->close(out);
    for (const wharf_json *e = W->json->at(errors, 0); e; e = W->json->next(e))
        templates_http->remark(req, element_remark(req, e));
    if (sent->document.n)
        W->req->created(req, W->mem->format(req, "/v1/documents/%s", sent->document.p));
    else if (sent->job.n)
        W->req->created(req, W->mem->format(req, "/v1/cloud-printing/jobs/%s", sent->job.p));
}

static void answer_bytes(
    wharf_req *req, const struct output *o, const struct drawn *d, const struct sent *sent)
{
    size_t n = W->json->count(W->json->get(d->report, "element_errors"));
    wharf_str name = wharf_path_part(sent->filename, W->mem->alloc(req, 3 * sent->filename.n + 1));

    templates_http->answer(req, 200, z(template_output_format_of(o)->type), d->bytes);
    templates_http->answer_header(req, WHARF_S("Element-Errors"), W->mem->format(req, "%zu", n));
    templates_http->answer_header(req, WHARF_S("Content-Disposition"),
        W->mem->format(req, "inline; filename*=UTF-8''%s", name.p));
}

wharf_status output_send(wharf_req *req, struct output *o, const struct drawn *d)
{
    struct sent sent = {.word = output_word(req, o->wish),
        .filename = filename_of(req, o),
        .expires_us = W->req->now_us(req) + retention_us()};
    bool prints = !json_is_null(W->json->get(o->wish, "print"));
    wharf_status s = WHARF_OK;

    o->id = W->req->new_id(req, "pdf");
    if (is(sent.word, "binary")) {
        answer_bytes(req, o, d, &sent);
        return WHARF_OK;
    }
    if (prints || !is(sent.word, "url"))
        sent.base64 = templates_crypto->base64(req, d->bytes);
    if (is(sent.word, "url"))
        s = make_link(req, o, d->bytes, sent.filename, sent.expires_us, &sent.url);
    if (s == WHARF_OK && is(sent.word, "document"))
        s = make_document(req, o, sent.base64, sent.filename, &sent.document);
    if (s == WHARF_OK && prints)
        s = make_job(req, o, sent.base64, sent.filename, &sent.job);
    if (s == WHARF_OK)
        template_output_answer(req, o, d, &sent);
    return s;
}
