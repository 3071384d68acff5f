/* station_source.c - where a job's document comes from: a URL, a data URI, base64, or another
 * job's bytes (spec 04 section 7 'Document').
 *
 * The bytes go to the blob store while they are read. What they are is told by their look;
 * rendering is the kernel's (wharf.render). */
#include <strings.h>
#include <unistd.h>

#include "printing.h"
#include "stations.gen.h"

enum { CHUNK = 48 * 1024, LOOK = 1024, SECONDS = 1000 };

static wharf_status station_source_bad(wharf_req *req, const char *path, const char *reason)
{
    return W->err->fail(
        req, ERR_PRINT_JOB_DOCUMENT_INVALID, path, "The document can't be printed: %s", reason);
}

/* ---- URL ---- */

/* Writes all of a descriptor, from `at` on. */
static wharf_status station_source_write_file(
    wharf_req *req, int fd, int64_t at, int64_t length, wharf_blob_writer *w)
{
    unsigned char *buffer = W->mem->alloc(req, CHUNK);
    wharf_status s = WHARF_OK;

    while (length > 0 && s == WHARF_OK) {
        ssize_t got = pread(fd, buffer, (size_t)(length < CHUNK ? length : CHUNK), (off_t)at);

        if (got <= 0)
            return W->err->fail(req, ERR_STORAGE_UNAVAILABLE, NULL, NULL);
        s = print_blob->write(req, w, buffer, (size_t)got);
        at += got;
        length -= got;
    }
    return s;
}

static wharf_status write_url(wharf_req *req, wharf_str url, wharf_blob_writer *w)
{
    const wharf_fetch_request ask = {.head = WHARF_HEAD(wharf_fetch_request),
        .url = url,
        .flags = WHARF_FETCH_TO_FILE | WHARF_FETCH_GZIP,
        .redirects = 3,
        .max_bytes = DOCUMENT_MAX,
        .connect_ms = 10 * SECONDS, /* until the connection stands */
        .first_byte_ms = 10 * SECONDS, /* until the first byte */
        .total_ms = 20 * SECONDS}; /* a document from the web may take */
    char look[LOOK];
    wharf_fetch *f;
    wharf_str type;
    ssize_t got;
    wharf_status s = print_fetch->get(req, &ask, "data", &f);

    if (s != WHARF_OK)
        return s;
    got = pread(print_fetch->file(f), look, sizeof(look), 0);
    type = print_render->sniff(look, got > 0 ? (size_t)got : 0, false);
    if (type.n > 6 && !memcmp(type.p, "image/", 6) && print_fetch->size(f) > IMAGE_MAX)
        return W->err->fail(
            req, ERR_FILE_TOO_LARGE, "data", "An image by URL may have 10 MB; this one is larger");
    s = station_source_write_file(req, print_fetch->file(f), 0, print_fetch->size(f), w);
    print_fetch->done(req, f);
    return s;
}

/* ---- data ---- */

static bool station_source_starts(wharf_str s, const char *with)
{
    size_t n = strlen(with);

    return s.n >= n && !strncasecmp(s.p, with, n);
}

/* Tells whether "word:" stands in front: a URL of some scheme. Base64 has no colon. */
static bool has_scheme(wharf_str s)
{
    for (size_t i = 0; i < s.n && i < 20; i++) {
        if (s.p[i] == ':')
            return i > 0;
    }
    return false;
}

static wharf_status write_data(wharf_req *req, wharf_str data, wharf_blob_writer *w)
{
    const char *fault = NULL;
    wharf_str type;
    wharf_status s;

    if (has_scheme(data) && !station_source_starts(data, "data:"))
        return write_url(req, data, w);
    s = print_blob->write_text(req, w, data, &type, &fault);
    return fault ? station_source_bad(req, "data", fault) : s;
}

/* ---- what it is ---- */

/* Types of documents and their languages. A language with several types shows the first. */
static const struct {
    const char *type, *language;
} raw_types[] = {{"application/vnd.zebra-zpl", "zpl"}, {"application/vnd.zebra-epl", "epl"},
    {"application/zpl", "zpl"}, {"x-application/zpl", "zpl"}, {"application/epl", "epl"},
    {"application/tspl", "tspl"}, {"application/vnd.tspl", "tspl"},
    {"application/vnd.escpos", "escpos"}, {"application/escpos", "escpos"},
    {"application/vnd.hp-pcl", "pcl"}, {"application/postscript", "postscript"},
    {"application/pdf", "pdf"}};
enum { RAW_TYPES = sizeof(raw_types) / sizeof(raw_types[0]) };

wharf_str document_language(wharf_str content_type)
{
    for (size_t i = 0; i < RAW_TYPES; i++) {
        if (is(content_type, raw_types[i].type))
            return z(raw_types[i].language);
    }
    return WHARF_S("");
}

static wharf_str type_of_language(wharf_str language)
{
    for (size_t i = 0; i < RAW_TYPES; i++) {
        if (is(language, raw_types[i].language))
            return z(raw_types[i].type);
    }
    return WHARF_S("application/octet-stream");
}

/* The beginnings of programs for printers. sure: no text that people read begins so, and letters
 * may be of any case. */
static const struct sign {
    const char *begins, *language;
    bool sure;
} signs[] = {{"^XA", "zpl", true}, {"~DG", "zpl", true}, {"CT~", "zpl", true},
    {"N\n", "epl", false}, {"N\r\n", "epl", false}, {"SIZE ", "tspl", false},
    {"\x1b@", "escpos", true}, {"\x1b\x45", "pcl", true}, {"\x1b%-12345X", "pcl", true},
    {"%!PS", "postscript", true}, {"%PDF-", "pdf", true}};

static bool station_source_begins(wharf_str s, const char *with, bool any_case)
{
    size_t m = strlen(with);

    return s.n >= m && (any_case ? strncasecmp(s.p, with, m) : memcmp(s.p, with, m)) == 0;
}

/* Finds the sign at the beginning of a text; NULL: there is none. */
static const struct sign *sign_of(wharf_str s)
{
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (station_source_begins(s, signs[i].begins, signs[i].sure))
            return &signs[i];
    }
    return NULL;
}

static wharf_str without_blanks(wharf_str s)
{
    while (s.n && strchr("\t\n\r ", *s.p))
        s = (wharf_str){s.p + 1, s.n - 1};
    return s;
}

/* Finds the language by how the document begins. White space in front counts for none but EPL's
 * line feed. */
static wharf_str language_of(const char *look, size_t n, wharf_str content_type)
{
    wharf_str said = document_language(content_type), s = without_blanks((wharf_str){look, n});
    const struct sign *sign = sign_of(s);

    if (said.n || sign)
        return said.n ? said : z(sign->language);
    return s.n >= 2 && s.p[0] == 'Q' && s.p[1] >= '0' && s.p[1] <= '9' ? WHARF_S("epl")
                                                                       : WHARF_S("");
}

/* Tells whether a text is the base64 of something that can be printed. */
static bool is_document_in_base64(wharf_str s)
{
    enum { ENOUGH = 64 }; /* letters; a line of a mail has 76 */
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    /* the beginnings of PDF, PNG, JPEG, GIF, WebP, TIFF and ZPL in it */
    static const char *const documents[] = {
        "JVBERi", "iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "SUkqA", "TU0AK", "XlhB"};
    size_t used = 0;

    while (used < s.n && used < ENOUGH && strchr(letters, s.p[used]))
        used++;
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        if (station_source_begins(s, documents[i], false))
            return used == (s.n < ENOUGH ? s.n : ENOUGH);
    }
    return false;
}

/* Returns why nobody wants to see a text as text, or NULL. */
static const char *text_mistake(const char *look, size_t n)
{
    wharf_str s = without_blanks((wharf_str){look, n});
    const struct sign *sign = sign_of(s);

    if (sign && sign->sure)
        return "it is a program for printers; send raw: true to have it as it is, or "
               "content_type text/plain to print it as text";
    if (station_source_begins(s, "<!doctype html", true) || station_source_begins(s, "<html", true))
        return "it is HTML, which is not drawn; send it as PDF";
    if (is_document_in_base64(s))
        return "it is base64 within base64; encode the document once";
    return NULL;
}

static wharf_status station_source_look_at(
    wharf_req *req, bool raw, wharf_str content_type, const char *path, struct document *d)
{
    char look[LOOK];
    const char *mistake = NULL;
    int fd = print_blob->written(d->writer);
    off_t end = lseek(fd, 0, SEEK_END);
    ssize_t got = pread(fd, look, sizeof(look), 0);
    wharf_status s;

    d->size = end > 0 ? end : 0;
    if (got <= 0)
        return station_source_bad(req, path, "it is empty");
    d->info = (wharf_render_info){.head = WHARF_HEAD(wharf_render_info)};
    if (raw) {
        d->language = language_of(look, (size_t)got, content_type);
        d->type = content_type.n ? content_type : type_of_language(d->language);
        if (!d->language.n)
            return W->err->fail(req, ERR_PRINT_JOB_DOCUMENT_INVALID, "content_type",
                "The language of the raw document is not recognized; say it with content_type, "
                "such as application/vnd.zebra-zpl");
        return WHARF_OK;
    }
    d->type = print_render->sniff(look, (size_t)got, d->size <= LOOK);
    if (!d->type.n || is(d->type, "image/svg+xml"))
        return station_source_bad(req, path,
            d->type.n ? "it is SVG; send it as PDF or PNG"
                      : "its type is not one of PDF, PNG, JPEG, GIF, WebP, TIFF and text");
    if (is(d->type, "text/plain") && !is(content_type, "text/plain"))
        mistake = text_mistake(look, (size_t)got);
    if (mistake)
        return station_source_bad(req, path, mistake);
    s = print_render->open(req, fd, d->type, &d->render);
    if (s != WHARF_OK)
        return s;
    if (print_render->verdict(d->render))
        return station_source_bad(req, path, print_render->reason(d->render).p);
    print_render->info(d->render, &d->info);
    return WHARF_OK;
}

wharf_status document_again(
    wharf_req *req, wharf_str file, bool raw, wharf_str content_type, struct document *ret)
{
    int64_t at, length;
    int fd;
    wharf_status s = print_blob->open(req, file, 0, -1, &fd, &at, &length);

    *ret = (struct document){.type = content_type};
    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req);
        return W->err->fail(req, ERR_PRINT_JOB_DOCUMENT_EXPIRED, NULL, NULL);
    }
    if (s == WHARF_OK)
        s = print_blob->begin(req, DOCUMENT_MAX, &ret->writer);
    if (s != WHARF_OK)
        return s;
    s = station_source_write_file(req, fd, at, length, ret->writer);
    close(fd);
    return s == WHARF_OK ? station_source_look_at(req, raw, content_type, "data", ret) : s;
}

/* Takes the bytes of a document's current version. */
static wharf_status take_document(
    wharf_req *req, wharf_str id, bool raw, wharf_str type, struct document *ret)
{
    wharf_document_bytes bytes = {.head = WHARF_HEAD(wharf_document_bytes)};
    wharf_status s;

    if (!print_documents)
        return W->err->fail(req, ERR_MODULE_UNAVAILABLE, "document_id",
            "The module documents is not enabled; send the document as data");
    s = print_documents->open(req, id, "document_id", &bytes);
    if (s != WHARF_OK)
        return s;
    s = print_blob->begin(req, DOCUMENT_MAX, &ret->writer);
    if (s == WHARF_OK)
        s = station_source_write_file(req, bytes.fd, bytes.at, bytes.size, ret->writer);
    close(bytes.fd);
    return s == WHARF_OK ? station_source_look_at(
                               req, raw, type.n || !raw ? type : bytes.type, "document_id", ret)
                         : s;
}

/* Takes what a template draws. */
static wharf_status take_template(wharf_req *req, const wharf_rec *job, struct document *ret)
{
    wharf_str bytes;
    wharf_status s;

    if (!print_templates)
        return W->err->fail(req, ERR_MODULE_UNAVAILABLE, "template",
            "The module templates is not enabled; send the document as data");
    W->err->base(req, "template.");
    s = print_templates->pdf(req, W->res->input(job, PRINT_JOB_TEMPLATE),
        field_text(job, PRINT_JOB_LOCATION_ID), &bytes);
    W->err->base(req, "");
    if (s == WHARF_OK)
        s = print_blob->begin(req, DOCUMENT_MAX, &ret->writer);
    if (s == WHARF_OK)
        s = print_blob->write(req, ret->writer, bytes.p, bytes.n);
    return s == WHARF_OK ? station_source_look_at(req, false, WHARF_S(""), "template", ret) : s;
}

wharf_status document_take(wharf_req *req, const wharf_rec *job, struct document *ret)
{
    wharf_str data = field_text(job, PRINT_JOB_DATA),
              type = field_text(job, PRINT_JOB_CONTENT_TYPE),
              document = field_text(job, PRINT_JOB_DOCUMENT_ID);
    bool template = W->res->sent(job, PRINT_JOB_TEMPLATE);
    wharf_status s;

    *ret = (struct document){.size = 0};
    if ((data.n != 0) + template + (document.n != 0) != 1)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "data",
            "Send exactly one of data, document_id and template");
    if (document.n)
        return take_document(req, document, field_int(job, PRINT_JOB_RAW) != 0, type, ret);
    if (!data.n)
        return take_template(req, job, ret);
    s = print_blob->begin(req, DOCUMENT_MAX, &ret->writer);
    if (s == WHARF_OK)
        s = write_data(req, data, ret->writer);
    return s == WHARF_OK
               ? station_source_look_at(req, field_int(job, PRINT_JOB_RAW) != 0, type, "data", ret)
               : s;
}
