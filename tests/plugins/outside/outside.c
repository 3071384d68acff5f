/* outside.c - routes that do with the services fetch, mail and blob what the body says, and tell
 * what came back. For tests/api. */
#include <string.h>
#include <unistd.h>

#include "wharf/plugin.h"
#include "wharf/service/blob.h"
#include "wharf/service/fetch.h"
#include "wharf/service/mail.h"

#include "outside.gen.h"

static const wharf_host *host;
static const wharf_fetch_api *fetch;
static const wharf_mail_api *mail;
static const wharf_blob_api *blob;

static int64_t number(const wharf_json *body, const char *key)
{
    const wharf_json *v = host->json->get(body, key);
    int64_t n = 0;

    return v && host->json->integer(v, &n) ? n : 0;
}

static bool truth(const wharf_json *body, const char *key)
{
    const wharf_json *v = host->json->get(body, key);
    bool yes = false;

    return v && host->json->truth(v, &yes) && yes;
}

static wharf_str text(const wharf_json *body, const char *key)
{
    const wharf_json *v = host->json->get(body, key);
    wharf_str s = WHARF_S("");

    return v && host->json->text(v, &s) ? s : WHARF_S("");
}

static wharf_val of_text(wharf_str s)
{
    return (wharf_val){.type = WHARF_V_TEXT, .u.s = s};
}

static wharf_val of_int(int64_t i)
{
    return (wharf_val){.type = WHARF_V_INT, .u.i = i};
}

static wharf_fetch_request request_of(wharf_req *req, const wharf_json *body, wharf_str url)
{
    wharf_str family = text(body, "family"), method = text(body, "method");
    const wharf_json *headers = host->json->get(body, "headers");
    wharf_fetch_request r = {
        .head = WHARF_HEAD(wharf_fetch_request), .url = url, .body = text(body, "body")};
    size_t n = headers ? host->json->count(headers) : 0;
    const char **lines = host->mem->alloc(req, (n + 1) * sizeof(*lines));

    for (size_t i = 0; i < n; i++) {
        wharf_str line = WHARF_S("");

        host->json->text(host->json->at(headers, i), &line);
        lines[i] = line.p;
    }
    r.headers = lines;
    r.n_headers = n;
    r.family = family.n ? family.p : NULL;
    r.method = method.n ? method.p : NULL;
    r.flags = (uint32_t)number(body, "flags");
    r.redirects = (uint32_t)number(body, "redirects");
    r.max_bytes = number(body, "max_bytes");
    r.connect_ms = number(body, "connect_ms");
    r.first_byte_ms = number(body, "first_byte_ms");
    r.stall_ms = number(body, "stall_ms");
    r.stall_bytes = number(body, "stall_bytes");
    r.total_ms = number(body, "total_ms");
    r.per_host = (uint32_t)number(body, "per_host");
    return r;
}

/* First bytes of what came, from memory or from its file. */
static wharf_str beginning(wharf_req *req, wharf_fetch *f)
{
    wharf_str all = fetch->text(f);
    char *p = host->mem->alloc(req, 201);
    ssize_t n;

    if (fetch->file(f) < 0)
        return host->mem->dup(req, all.p, all.n < 200 ? all.n : 200);
    n = read(fetch->file(f), p, 200);
    return host->mem->dup(req, p, n < 0 ? 0 : (size_t)n);
}

static void tell(wharf_req *req, wharf_out *out, const char *key, wharf_fetch *f)
{
    host->json->open(out, key, '{');
    host->json->put(out, "code", of_text(fetch->code(f)));
    host->json->put(out, "outcome", of_text(fetch->outcome(f)));
    host->json->put(out, "status", of_int(fetch->status(f)));
    host->json->put(out, "size", of_int(fetch->size(f)));
    host->json->put(out, "type", of_text(fetch->header(req, f, "Content-Type")));
    host->json->put(out, "text", of_text(beginning(req, f)));
    host->json->close(out);
}

/* POST /v1/outside/fetch: one fetch, refused with its code. */
static wharf_status run_fetch(wharf_req *req, void *arg)
{
    const wharf_json *body;
    wharf_fetch_request r;
    wharf_fetch *f = NULL;
    wharf_out *out;

    (void)arg;
    if (host->req->body(req, &body) != WHARF_OK)
        return WHARF_INTERNAL;
    r = request_of(req, body, text(body, "url"));
    if (truth(body, "check_only") ? fetch->check(req, &r, "url") != WHARF_OK
                                  : fetch->get(req, &r, "url", &f) != WHARF_OK)
        return host->err->current(req);
    out = host->req->respond(req, 200, "fetched");
    host->json->open(out, NULL, '{');
    if (f)
        tell(req, out, "answer", f);
    host->json->close(out);
    return WHARF_OK;
}

/* POST /v1/outside/fetch-many: all at once, told as they come. */
static wharf_status run_many(wharf_req *req, void *arg)
{
    const wharf_json *body, *urls;
    wharf_fetch *f;
    wharf_out *out;

    (void)arg;
    if (host->req->body(req, &body) != WHARF_OK)
        return WHARF_INTERNAL;
    urls = host->json->get(body, "urls");
    for (size_t i = 0; urls && i < host->json->count(urls); i++) {
        wharf_str url = WHARF_S("");
        wharf_fetch_request r;

        host->json->text(host->json->at(urls, i), &url);
        r = request_of(req, body, url);
        if (fetch->start(req, &r, &f) != WHARF_OK)
            return host->err->current(req);
        if (truth(body, "leave") || (truth(body, "cancel_first") && i == 0))
            fetch->cancel(req, f);
    }
    out = host->req->respond(req, 200, "fetched");
    host->json->open(out, NULL, '{');
    host->json->open(out, "answers", '[');
    while (!truth(body, "leave") && (f = fetch->next(req, 60000))) {
        tell(req, out, NULL, f);
        fetch->done(req, f);
    }
    host->json->close(out);
    host->json->close(out);
    return WHARF_OK;
}

enum { TO_MAX = 200, FILES_MAX = 10 };

/* POST /v1/outside/mail: {to, reply_to, subject, text, html, files: [{name, type, text}]} */
static wharf_status run_mail(wharf_req *req, void *arg)
{
    const wharf_json *body, *list, *files;
    wharf_str to[TO_MAX], names[FILES_MAX], types[FILES_MAX], data[FILES_MAX];
    wharf_mail_message m = {.head = WHARF_HEAD(wharf_mail_message)};
    wharf_out *out;

    (void)arg;
    if (host->req->body(req, &body) != WHARF_OK)
        return WHARF_INTERNAL;
    list = host->json->get(body, "to");
    files = host->json->get(body, "files");
    for (; list && m.n_to < host->json->count(list) && m.n_to < TO_MAX; m.n_to++) {
        to[m.n_to] = WHARF_S("");
        host->json->text(host->json->at(list, m.n_to), &to[m.n_to]);
    }
    for (; files && m.n_files < host->json->count(files) && m.n_files < FILES_MAX; m.n_files++) {
        const wharf_json *f = host->json->at(files, m.n_files);

        names[m.n_files] = text(f, "name");
        types[m.n_files] = text(f, "type");
        data[m.n_files] = text(f, "text");
    }
    m.to = to;
    m.file_names = names;
    m.file_types = types;
    m.file_data = data;
    m.reply_to = text(body, "reply_to");
    m.subject = text(body, "subject");
    m.text = text(body, "text");
    m.html = text(body, "html");
    m.message_id = text(body, "message_id");
    if ((truth(body, "queue") ? mail->queue(req, &m, "to") : mail->send(req, &m, "to")) != WHARF_OK)
        return host->err->current(req);
    out = host->req->respond(req, 200, "sent");
    host->json->open(out, NULL, '{');
    host->json->close(out);
    return WHARF_OK;
}

static wharf_str path_id(wharf_req *req)
{
    wharf_str id = WHARF_S("");

    host->req->param(req, "id", &id);
    return id;
}

static wharf_status tell_file(wharf_req *req, wharf_str id, uint32_t status)
{
    wharf_blob_info info = {.head = WHARF_HEAD(wharf_blob_info)};
    wharf_out *out;

    if (blob->info(req, id, &info) != WHARF_OK)
        return host->err->current(req);
    out = host->req->respond(req, status, "file");
    host->json->open(out, NULL, '{');
    host->json->put(out, "id", of_text(info.id));
    host->json->put(out, "name", of_text(info.name));
    host->json->put(out, "type", of_text(info.type));
    host->json->put(out, "sha256", of_text(info.sha256));
    host->json->put(out, "size", of_int(info.size));
    host->json->close(out);
    return WHARF_OK;
}

/* POST /v1/outside/files: {name, type, text, repeat, max, expires_in, fail} stores; {await:
 * true, name, type, size, max, expires_in} waits for an upload. */
static wharf_status store_file(wharf_req *req, void *arg)
{
    wharf_blob_writer *w;
    const wharf_json *body;
    wharf_str id, piece;
    int64_t expires_us;

    (void)arg;
    if (host->req->body(req, &body) != WHARF_OK)
        return WHARF_INTERNAL;
    expires_us = number(body, "expires_in")
                     ? host->req->now_us(req) + number(body, "expires_in") * 1000000
                     : 0;
    if (truth(body, "await")) {
        if (blob->await(req, text(body, "name"), text(body, "type"),
                number(body, "size") ? number(body, "size") : -1,
                number(body, "max") ? number(body, "max") : -1, expires_us, &id) != WHARF_OK)
            return host->err->current(req);
        return tell_file(req, id, 201);
    }
    if (blob->begin(req, number(body, "max"), &w) != WHARF_OK)
        return host->err->current(req);
    piece = text(body, "text");
    for (int64_t i = 0; i <= number(body, "repeat"); i++) {
        if (blob->write(req, w, piece.p, piece.n) != WHARF_OK)
            return host->err->current(req);
    }
    if (truth(body, "leave")) /* half a file, given up with the request */
        return host->err->fail(req, "inference.url", NULL, NULL);
    if (blob->finish(req, w, text(body, "name"), text(body, "type"), expires_us, &id) != WHARF_OK)
        return host->err->current(req);
    if (truth(body, "fail")) /* the row goes with the transaction */
        return host->err->fail(req, "inference.url", NULL, NULL);
    return tell_file(req, id, 201);
}

static wharf_status get_info(wharf_req *req, void *arg)
{
    (void)arg;
    return tell_file(req, path_id(req), 200);
}

static wharf_status get_content(wharf_req *req, void *arg)
{
    wharf_str download;

    (void)arg;
    return blob->respond(
        req, path_id(req), WHARF_S(""), host->req->param(req, "download", &download));
}

/* POST /v1/outside/files/:id/link: {put, seconds} */
static wharf_status make_link(wharf_req *req, void *arg)
{
    const wharf_json *body;
    wharf_str url;
    wharf_out *out;

    (void)arg;
    if (host->req->body(req, &body) != WHARF_OK)
        return WHARF_INTERNAL;
    if (blob->link(req, path_id(req), truth(body, "put") ? WHARF_BLOB_PUT : WHARF_BLOB_GET,
            number(body, "seconds") ? number(body, "seconds") : 900, &url) != WHARF_OK)
        return host->err->current(req);
    out = host->req->respond(req, 200, "link");
    host->json->open(out, NULL, '{');
    host->json->put(out, "url", of_text(url));
    host->json->close(out);
    return WHARF_OK;
}

static wharf_status remove_file(wharf_req *req, void *arg)
{
    wharf_status s = blob->remove(req, path_id(req));
    wharf_out *out;

    (void)arg;
    if (s == WHARF_NOT_FOUND && host->err->current(req) == WHARF_OK)
        return host->err->fail(req, "not_found", NULL, NULL);
    out = host->req->respond(req, 200, "removed");
    host->json->open(out, NULL, '{');
    host->json->close(out);
    return s;
}

static const char doc[] =
    "{\"summary\": \"Use a service\", \"location\": \"none\", \"params\": {\"id\": \"none\"}, "
    "\"body\": {\"type\": \"object\"}, \"response\": {\"type\": \"object\"}, "
    "\"statuses\": [200, 201]}";

static void route(wharf_decl *d, const wharf_decl_api *api, const char *method, const char *path,
    wharf_handler *fn, uint32_t flags)
{
    const wharf_route r = {.head = WHARF_HEAD(wharf_route),
        .method = method,
        .path = path,
        .scope = "outside:write",
        .definition = {doc, sizeof(doc) - 1},
        .handler = fn,
        .flags = flags};

    api->route(d, &r);
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    route(d, api, "POST", "/v1/outside/fetch", run_fetch, WHARF_R_NO_TX | WHARF_R_LONG);
    route(d, api, "POST", "/v1/outside/fetch-many", run_many, WHARF_R_NO_TX | WHARF_R_LONG);
    route(d, api, "POST", "/v1/outside/mail", run_mail, WHARF_R_NO_TX | WHARF_R_LONG);
    route(d, api, "POST", "/v1/outside/files", store_file, 0);
    route(d, api, "GET", "/v1/outside/files/:id", get_info, WHARF_R_READONLY);
    route(d, api, "GET", "/v1/outside/files/:id/content", get_content, WHARF_R_READONLY);
    route(d, api, "POST", "/v1/outside/files/:id/link", make_link, WHARF_R_READONLY);
    route(d, api, "DELETE", "/v1/outside/files/:id", remove_file, 0);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    (void)req;
    fetch = host->service(self, "wharf.fetch", 1, 0);
    mail = host->service(self, "wharf.mail", 1, 0);
    blob = host->service(self, "wharf.blob", 1, 0);
    return fetch && mail && blob ? WHARF_OK : WHARF_UNAVAILABLE;
}

static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
    .manifest = MANIFEST,
    .declare = declare,
    .start = start};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *h)
{
    host = h;
    return &desc;
}
