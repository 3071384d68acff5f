/* template_sources.c - images by URL and images and fonts that are documents: fetched or opened
 * once each, whatever number of elements has them
 * (docs/spec/05-documents-and-templates.md section 9.3 'Images'). */
#include <unistd.h>

#include "templates.h"
#include "templates.gen.h"

enum {
    AT_ONCE = 8, /* images that are fetched at a time */
    SECONDS = 1000,
    DOCUMENTS_MAX = 100, /* documents of one drawing */
    SOURCES_MAX = DOCUMENTS_MAX + IMAGES_MAX
};
#define BYTES_MAX ((size_t)WHARF_DRAW_BYTES_MAX)

struct use { /* of a source, by an element */
    wharf_str path;
    struct use *next;
};

/* A file that elements name. */
struct source {
    wharf_str name; /* URL, or id of a document */
    bool document;
    struct use *uses, **last;
    wharf_str bytes; /* p NULL: it could not be had */
    wharf_str code, message; /* why, or empty */
};

struct loading {
    const struct drawing *d;
    struct source *sources; /* one more than may be */
    size_t n, n_urls, total;
    bool variables; /* some sources are known only when variables are filled in */
};

/* ---- who names what ---- */

static struct source *template_sources_source_of(struct loading *l, wharf_str name, bool document)
{
    struct source *s;

    for (size_t i = 0; i < l->n; i++) {
        if (same(l->sources[i].name, name))
            return &l->sources[i];
    }
    if (l->n > SOURCES_MAX)
        return &l->sources[SOURCES_MAX]; /* too many are refused */
    l->n_urls += !document;
    s = &l->sources[l->n++];
    *s = (struct source){.name = name, .document = document, .last = &s->uses};
    return s;
}

static void add_use(
    wharf_req *req, struct loading *l, wharf_str path, wharf_str name, bool document)
{
    struct source *s = template_sources_source_of(l, name, document);
    struct use *use = W->mem->alloc(req, sizeof(*use));

    *use = (struct use){path, NULL};
    *s->last = use;
    s->last = &use->next;
}

/* Tells whether the value of an image is a URL, and nothing else that it may be. */
static bool is_url(wharf_str s)
{
    size_t n = strspn(s.p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

    return n && !strncmp(s.p + n, "://", 3);
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
        add_use(req, l, place_text(req, e->at), id, true);
    else if (is_url(value))
        add_use(req, l, place_text(req, e->at), value, false);
}

/* Asks the cell for all sources, of which some have variables. */
static wharf_status note_variables(wharf_req *req, struct loading *l)
{
    const wharf_draw_wish wish = {.head = WHARF_HEAD(wharf_draw_wish),
        .format = WHARF_DRAW_SOURCES,
        .request = draw_request(req, l->d, NULL)};
    wharf_draw_made made = {.head = WHARF_HEAD(wharf_draw_made)};
    const wharf_json *report, *found;
    wharf_status s = templates_draw->draw(req, &wish, &made);

    l->n = l->n_urls = 0;
    if (s == WHARF_OK && made.verdict == WHARF_DRAW_TOO_COMPLEX)
        return draw_too_complex(req, made.reason);
    if (s == WHARF_OK && made.verdict != WHARF_DRAW_GOOD)
        return WHARF_OK; /* drawing says why */
    if (s == WHARF_OK)
        s = W->json->parse(req, made.report, &report);
    found = s == WHARF_OK ? W->json->get(report, "sources") : NULL;
    for (const wharf_json *m = W->json->at(found, 0); m; m = W->json->next(m)) {
        wharf_str name;

        if (W->json->text(m, &name))
            add_use(req, l, W->json->key(m), name, !is_url(name));
    }
    return s;
}

/* ---- URLs ---- */

static wharf_str template_sources_message_of(wharf_str code)
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
    s->message = template_sources_message_of(code);
}

/* Leaves a source out because of those before it. */
static void miss_together(struct source *s)
{
    s->code = WHARF_S(ERR_FILE_TOO_LARGE);
    s->message = WHARF_S("all images together have more than 64 MiB");
}

/* Takes what came of a fetch. */
static void take_fetched(wharf_req *req, struct loading *l, struct source *s, wharf_fetch *f)
{
    wharf_str code = templates_fetch->code(f), text = templates_fetch->text(f);

    if (is_passing(code)) {
        for (const struct use *use = s->uses; use; use = use->next)
            templates_fetch->fail(req, f, use->path.p);
    } else if (code.n) {
        miss(s, W->mem->dup(req, code.p, code.n));
    } else if (l->total + text.n > BYTES_MAX) {
        miss_together(s);
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
            .connect_ms = 10 * SECONDS, /* until the connection stands */
            .first_byte_ms = 10 * SECONDS, /* until the first byte */
            .total_ms = 20 * SECONDS}; /* an image from the web may take */

        s = templates_fetch->start(req, &ask, &running[started]);
    }
    for (size_t i = 0; i < started && s == WHARF_OK; i++) {
        s = templates_fetch->wait(req, running[i]);
        if (s == WHARF_OK)
            take_fetched(req, l, &l->sources[which[i]], running[i]);
    }
    return s;
}

static wharf_status template_sources_fetch_all(wharf_req *req, struct loading *l)
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

/* Reads the bytes of a document. path: of the member that names it; most: how many it may have;
 * left: how many there is room for, with more of them it answers none (p NULL). */
static wharf_status template_sources_read_document(
    wharf_req *req, wharf_str id, const char *path, int64_t most, int64_t left, wharf_str *ret)
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
    if (file.size > left) {
        close(file.fd);
        return WHARF_OK;
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

static wharf_status template_sources_open_all(wharf_req *req, struct loading *l)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < l->n && s == WHARF_OK; i++) {
        struct source *one = &l->sources[i];

        if (!one->document)
            continue;
        if (l->d->alone) {
            one->code = WHARF_S("image.not_here");
            one->message = WHARF_S("documents are on the server only; an image may be a data URI");
            continue;
        }
        s = template_sources_read_document(req, one->name,
            W->mem->format(req, "%s.document_id", one->uses->path.p).p, IMAGE_BYTES_MAX,
            (int64_t)(BYTES_MAX - l->total), &one->bytes);
        if (!one->bytes.p)
            miss_together(one);
        l->total += one->bytes.n;
    }
    return s;
}

/* ---- what the cell gets ---- */

static void put_miss(wharf_out *errors, const char *path, const struct source *one)
{
    W->json->open(errors, path, '{');
    W->json->put(errors, "code", val_text(one->code));
    W->json->put(errors, "message", val_text(one->message));
    W->json->close(errors);
}

static wharf_status write_uses(wharf_req *req, const struct loading *l, struct sources *ret)
{
    wharf_out *images = W->json->builder(req), *errors = W->json->builder(req);
    wharf_status s;

    W->json->open(images, NULL, '{');
    W->json->open(errors, NULL, '{');
    for (size_t i = 0; i < l->n; i++) {
        const struct source *one = &l->sources[i];

        for (const struct use *use = one->uses; use; use = use->next) {
            if (one->bytes.p)
                W->json->put(images, use->path.p, val_int((int64_t)ret->n));
            else
                put_miss(errors, use->path.p, one);
        }
        if (one->bytes.p)
            ret->blobs[ret->n++] = one->bytes;
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
        s = template_sources_read_document(req, json_text(f, "document_id"),
            W->mem->format(req, "fonts.%zu.document_id", i).p, FONT_BYTES_MAX, FONT_BYTES_MAX,
            &ret->blobs[ret->n]);
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
    l.sources = W->mem->alloc(req, (SOURCES_MAX + 1) * sizeof(*l.sources));
    ret->blobs = W->mem->alloc(req, (SOURCES_MAX + FONTS_MAX) * sizeof(*ret->blobs));
    elements_each(req, d->body, NULL, note_source, &l);
    if (l.variables)
        s = note_variables(req, &l);
    if (s == WHARF_OK && (l.n_urls > IMAGES_MAX || l.n > SOURCES_MAX))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "raw",
            "raw has images of more than %d different URLs", IMAGES_MAX);
    if (s == WHARF_OK)
        s = template_sources_open_all(req, &l);
    if (s == WHARF_OK)
        s = template_sources_fetch_all(req, &l);
    if (s == WHARF_OK)
        s = write_uses(req, &l, ret);
    return s == WHARF_OK ? load_fonts(req, W->json->get(d->body, "fonts"), d->alone, ret) : s;
}
