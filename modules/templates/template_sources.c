/* template_sources.c - images by URL and images and fonts that are documents: fetched or opened
 * once each, whatever number of elements has them
 * (docs/spec/05-documents-and-templates.md section 9.3 'Images'). */
#include <unistd.h>

#include "templates.h"
#include "templates.gen.h"

enum { AT_ONCE = 8, SECONDS = 1000, DOCUMENTS_MAX = 100, USES_MAX = 4096 };
#define BYTES_MAX ((size_t)WHARF_DRAW_BYTES_MAX)

/* A file that elements name. */
struct source {
    wharf_str name; /* URL, or id of a document */
    bool document;
    wharf_str bytes; /* p NULL: it could not be had */
    wharf_str code, message; /* why, or empty */
};

struct use { /* an element, and the source that it has */
    wharf_str path;
    size_t source;
};

struct loading {
    const struct drawing *d;
    struct source *sources;
    struct use *uses;
    size_t n, n_uses, n_urls, total;
    bool variables; /* some sources are known only when variables are filled in */
};

/* ---- who names what ---- */

static size_t source_of(struct loading *l, wharf_str name, bool document)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->sources[i].document == document && same(l->sources[i].name, name))
            return i;
    }
    if (l->n == DOCUMENTS_MAX + IMAGES_MAX + 1)
        return l->n - 1; /* too many are refused */
    l->n_urls += !document;
    l->sources[l->n] = (struct source){.name = name, .document = document};
    return l->n++;
}

static void add_use(struct loading *l, wharf_str path, wharf_str name, bool document)
{
    if (l->n_uses < USES_MAX)
        l->uses[l->n_uses++] = (struct use){path, source_of(l, name, document)};
}

/* Tells whether the value of an image is a URL, and nothing else that it may be. */
static bool is_url(wharf_str s)
{
    for (size_t i = 0; i + 2 < s.n && i < 16; i++) {
        if (s.p[i] == ':')
            return i && s.p[i + 1] == '/' && s.p[i + 2] == '/';
    }
    return false;
}

static void note_source(wharf_req *req, const struct element *e, void *arg)
{
    struct loading *l = arg;
    wharf_str value = json_text(e->json, "value"), id = json_text(e->json, "document_id");

    if (!is(e->type, "image"))
        return;
    if (!value.n)
        value = json_text(e->json, "src");
    if (strstr(value.p, "{{") || strstr(id.p, "{{"))
        l->variables = true;
    else if (id.n)
        add_use(l, place_text(req, e->at), id, true);
    else if (is_url(value))
        add_use(l, place_text(req, e->at), value, false);
}

/* Asks the cell for sources that have variables. */
static wharf_status note_variables(wharf_req *req, struct loading *l)
{
    const wharf_draw_wish wish = {.head = WHARF_HEAD(wharf_draw_wish),
        .format = WHARF_DRAW_SOURCES,
        .request = draw_request(req, l->d, NULL)};
    wharf_draw_made made = {.head = WHARF_HEAD(wharf_draw_made)};
    const wharf_json *report, *found;
    wharf_status s = templates_draw->draw(req, &wish, &made);

    if (s == WHARF_OK && made.verdict != WHARF_DRAW_GOOD)
        return WHARF_OK; /* drawing says why */
    if (s == WHARF_OK)
        s = W->json->parse(req, made.report, &report);
    found = s == WHARF_OK ? W->json->get(report, "sources") : NULL;
    for (const wharf_json *m = W->json->at(found, 0); m; m = W->json->next(m)) {
        wharf_str name;

        if (W->json->text(m, &name))
            add_use(l, W->json->key(m), name, !is_url(name));
    }
    return s;
}

/* ---- URLs ---- */

static wharf_str message_of(wharf_str code)
{
    static const char *const told[][2] = {{ERR_FILE_URL, "the URL can't be read"},
        {ERR_FILE_PROTOCOL, "images are fetched by https only"},
        {ERR_FILE_HOSTNAME, "nothing is fetched from this host"},
        {ERR_FILE_NOT_AVAILABLE, "the host does not have the image"},
        {ERR_FILE_TOO_LARGE, "the image has more than 10 MB"}};

    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        if (is(code, told[i][0]))
            return z(told[i][1]);
    }
    return WHARF_S("the image could not be fetched");
}

/* Tells whether the whole request fails with it: to ask again is worth it. */
static bool is_passing(wharf_str code)
{
    return is(code, ERR_FILE_DOWNLOAD) || is(code, ERR_FILE_TIMEOUT_ERROR);
}

static void miss(struct source *s, wharf_str code)
{
    s->code = code;
    s->message = message_of(code);
}

/* Takes what came of a fetch. */
static void take_fetched(wharf_req *req, struct loading *l, size_t i, wharf_fetch *f)
{
    struct source *s = &l->sources[i];
    wharf_str code = templates_fetch->code(f), text = templates_fetch->text(f);

    if (is_passing(code)) {
        for (size_t k = 0; k < l->n_uses; k++) {
            if (l->uses[k].source == i)
                templates_fetch->fail(req, f, l->uses[k].path.p);
        }
    } else if (code.n) {
        miss(s, W->mem->dup(req, code.p, code.n));
    } else if (l->total + text.n > BYTES_MAX) {
        s->code = WHARF_S(ERR_FILE_TOO_LARGE);
        s->message = WHARF_S("all images together have more than 64 MiB");
    } else {
        l->total += text.n;
        s->bytes = text;
        return; /* which it holds until the request ends */
    }
    templates_fetch->done(req, f);
}

static wharf_status fetch_some(wharf_req *req, struct loading *l, const size_t *which, size_t n)
{
    wharf_fetch *running[AT_ONCE] = {NULL};
    wharf_status s = WHARF_OK;
    size_t started = 0;

    for (; started < n && s == WHARF_OK; started++) {
        const wharf_fetch_request ask = {.head = WHARF_HEAD(wharf_fetch_request),
            .url = l->sources[which[started]].name,
            .flags = WHARF_FETCH_GZIP,
            .redirects = 3,
            .max_bytes = IMAGE_BYTES_MAX,
            .connect_ms = 10 * SECONDS,
            .first_byte_ms = 10 * SECONDS,
            .total_ms = 20 * SECONDS};

        s = templates_fetch->start(req, &ask, &running[started]);
    }
    for (size_t i = 0; i < started && s == WHARF_OK; i++) {
        s = templates_fetch->wait(req, running[i]);
        if (s == WHARF_OK)
            take_fetched(req, l, which[i], running[i]);
    }
    return s;
}

static wharf_status fetch_all(wharf_req *req, struct loading *l)
{
    size_t which[AT_ONCE], n = 0;
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < l->n && s == WHARF_OK; i++) {
        if (!l->sources[i].document)
            which[n++] = i;
        if (n == AT_ONCE || (n && i + 1 == l->n)) {
            s = fetch_some(req, l, which, n);
            n = 0;
        }
    }
    return s == WHARF_OK ? W->err->current(req) : s;
}

/* ---- documents ---- */

/* Reads the bytes of a document. path: of the member that names it. */
static wharf_status read_document(
    wharf_req *req, wharf_str id, const char *path, int64_t most, wharf_str *ret)
{
    wharf_document_bytes file = {.head = WHARF_HEAD(wharf_document_bytes)};
    wharf_status s;
    int64_t at = 0;
    char *bytes;

    if (!templates_documents)
        return W->err->fail(
            req, ERR_MODULE_UNAVAILABLE, path, "The module documents is not enabled");
    s = templates_documents->open(req, id, path, &file);
    if (s != WHARF_OK)
        return s;
    if (file.size > most) {
        close(file.fd);
        return W->err->fail(
            req, ERR_FILE_TOO_LARGE, path, "%s: the document is too large for this", path);
    }
    bytes = W->mem->alloc(req, (size_t)file.size + 1);
    while (at < file.size) {
        ssize_t got = pread(file.fd, bytes + at, (size_t)(file.size - at), (off_t)(file.at + at));

        if (got <= 0)
            break;
        at += got;
    }
    close(file.fd);
    *ret = (wharf_str){bytes, (size_t)at};
    return at == file.size ? WHARF_OK : W->err->fail(req, ERR_STORAGE_UNAVAILABLE, NULL, NULL);
}

static wharf_status open_all(wharf_req *req, struct loading *l)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < l->n_uses && s == WHARF_OK; i++) {
        struct source *one = &l->sources[l->uses[i].source];

        if (!one->document || one->bytes.p)
            continue;
        if (l->d->alone) {
            one->code = WHARF_S("image.not_here");
            one->message = WHARF_S("documents are on the server only; an image may be a data URI");
            continue;
        }
        s = read_document(req, one->name,
            W->mem->format(req, "%s.document_id", l->uses[i].path.p).p, IMAGE_BYTES_MAX,
            &one->bytes);
        l->total += one->bytes.n;
    }
    return s;
}

/* ---- what the cell gets ---- */

static wharf_status write_uses(wharf_req *req, const struct loading *l, struct sources *ret)
{
    wharf_out *images = W->json->builder(req), *errors = W->json->builder(req);
    int64_t *place = W->mem->alloc(req, (l->n + 1) * sizeof(*place));
    wharf_status s;

    for (size_t i = 0; i < l->n; i++) {
        place[i] = l->sources[i].bytes.p ? (int64_t)ret->n : -1;
        if (l->sources[i].bytes.p)
            ret->blobs[ret->n++] = l->sources[i].bytes;
    }
    W->json->open(images, NULL, '{');
    W->json->open(errors, NULL, '{');
    for (size_t i = 0; i < l->n_uses; i++) {
        const struct source *one = &l->sources[l->uses[i].source];

        if (place[l->uses[i].source] >= 0) {
            W->json->put(images, l->uses[i].path.p, val_int(place[l->uses[i].source]));
            continue;
        }
        W->json->open(errors, l->uses[i].path.p, '{');
        W->json->put(errors, "code", val_text(one->code));
        W->json->put(errors, "message", val_text(one->message));
        W->json->close(errors);
    }
    W->json->close(images);
    W->json->close(errors);
    s = W->json->result(req, images, &ret->images);
    return s == WHARF_OK ? W->json->result(req, errors, &ret->image_errors) : s;
}

static wharf_status load_fonts(
    wharf_req *req, const wharf_json *list, bool alone, struct sources *ret)
{
    static const char *const kept[] = {"family", "weight", "style"};
    wharf_out *out = W->json->builder(req);
    wharf_status s = WHARF_OK;
    size_t i = 0;

    if (alone && !json_is_null(list) && W->json->count(list))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "fonts",
            "fonts are documents, which are on the server only; draw with its fonts there");
    W->json->open(out, NULL, '[');
    for (const wharf_json *f = json_is_null(list) ? NULL : W->json->at(list, 0); f && s == WHARF_OK;
         f = W->json->next(f), i++) {
        s = read_document(req, json_text(f, "document_id"),
            W->mem->format(req, "fonts.%zu.document_id", i).p, FONT_BYTES_MAX, &ret->blobs[ret->n]);
        if (s != WHARF_OK)
            break;
        W->json->open(out, NULL, '{');
        for (size_t k = 0; k < 3; k++) {
            if (!json_is_null(W->json->get(f, kept[k])))
                W->json->put(out, kept[k], val_json(W->json->get(f, kept[k])));
        }
        W->json->put(out, "blob", val_int((int64_t)ret->n++));
        W->json->close(out);
    }
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(req, out, &ret->fonts) : s;
}

wharf_status sources_load(wharf_req *req, const struct drawing *d, struct sources *ret)
{
    struct loading l = {.d = d};
    wharf_status s = WHARF_OK;

    *ret = (struct sources){.n = 0};
    l.sources = W->mem->alloc(req, (DOCUMENTS_MAX + IMAGES_MAX + 1) * sizeof(*l.sources));
    l.uses = W->mem->alloc(req, USES_MAX * sizeof(*l.uses));
    ret->blobs = W->mem->alloc(req, (DOCUMENTS_MAX + IMAGES_MAX + 16) * sizeof(*ret->blobs));
    elements_each(req, d->body, NULL, note_source, &l);
    if (l.variables)
        s = note_variables(req, &l);
    if (s == WHARF_OK && (l.n_urls > IMAGES_MAX || l.n > DOCUMENTS_MAX + IMAGES_MAX))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "raw",
            "raw has images of more than %d different URLs", IMAGES_MAX);
    if (s == WHARF_OK)
        s = open_all(req, &l);
    if (s == WHARF_OK)
        s = fetch_all(req, &l);
    if (s == WHARF_OK)
        s = write_uses(req, &l, ret);
    return s == WHARF_OK ? load_fonts(req, W->json->get(d->body, "fonts"), d->alone, ret) : s;
}
