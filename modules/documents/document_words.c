/* document_words.c - the words that stand in files of documents, for `search`
 * (docs/spec/05-documents-and-templates.md section 3.7). A job each minute reads what is new, for
 * the whole installation. Leaves the reading to wharf.preview (text that a PDF carries) and
 * wharf.image (words of pictures).
 *
 * No transaction is open while a file is read. The words are kept only if the document still has
 * that file then. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "documents.h"
#include "documents.gen.h"

enum {
    FOUND_AT_ONCE = 100, /* files of one run */
    RUN_S = 40, /* then the run ends; the rest is for the next */
    MISSES_MOST = 5, /* files that can't be read now, before a run ends */
    TEXT_MAX = 1 << 20, /* bytes of a file that are read */
    SCANNED_MAX = 10, /* pages that are pictures, of one document */
    SCAN_WIDTH = 1700, /* pixels: 200 an inch of a letter page */
    SCAN_HEIGHT = 4000
};

static wharf_plugin *words_self;

/* One run of the job. */
struct words_run {
    wharf_req *req;
    time_t until;
    int misses;
    bool pictures; /* they can be read here */
};

void document_words_start(wharf_plugin *self)
{
    words_self = self;
}

/* ---- reading ---- */

static wharf_str words_join_lines(wharf_req *req, const wharf_image_read *read)
{
    size_t n = 0;
    char *text;

    for (uint32_t i = 0; i < read->n_lines; i++)
        n += read->lines[i].text.n + 1;
    text = W->mem->alloc(req, n + 1);
    n = 0;
    for (uint32_t i = 0; i < read->n_lines; i++) {
        memcpy(text + n, read->lines[i].text.p, read->lines[i].text.n);
        n += read->lines[i].text.n;
        text[n++] = '\n';
    }
    text[n] = 0;
    return (wharf_str){text, n};
}

/* Reads the words of a picture; none where it is no picture, or has none. A language that is not
 * installed ends the pictures of this run. */
static wharf_status words_of_image(struct words_run *run, int fd, wharf_str *ret)
{
    wharf_req *req = run->req;
    wharf_image_wish wish = {.head = WHARF_HEAD(wharf_image_wish), .wants = WHARF_IMAGE_TEXT};
    wharf_image_read read = {.head = WHARF_HEAD(wharf_image_read)};
    uint32_t verdict = WHARF_IMAGE_GOOD;
    wharf_str reason;
    wharf_status s;

    *ret = WHARF_S("");
    documents_config->text(words_self, "full_text.languages", &wish.languages);
    s = documents_image->read(req, fd, &wish, &read, &verdict, &reason);
    if (s != WHARF_OK)
        return s;
    if (verdict == WHARF_IMAGE_LANGUAGE) {
        W->log->write(words_self, req, WHARF_LOG_WARN, "documents.language",
            "a language of the setting documents.full_text.languages is not installed: %s",
            wish.languages.p);
        run->pictures = false;
    }
    if (verdict == WHARF_IMAGE_GOOD)
        *ret = words_join_lines(req, &read);
    return WHARF_OK;
}

/* Draws a page that is a picture, and reads its words. */
static wharf_status words_of_scan(struct words_run *run, int fd, uint32_t page, wharf_str *ret)
{
    wharf_req *req = run->req;
    const wharf_preview_wish wish = {.head = WHARF_HEAD(wharf_preview_wish),
        .page = page,
        .width = SCAN_WIDTH,
        .height = SCAN_HEIGHT};
    wharf_blob_writer *to = NULL;
    uint32_t verdict = WHARF_PREVIEW_DOCUMENT;
    wharf_str reason;
    wharf_status s = documents_blob->begin(req, 0, &to);

    *ret = WHARF_S("");
    if (s == WHARF_OK)
        s = documents_preview->make(
            req, fd, WHARF_S("application/pdf"), &wish, to, &verdict, &reason);
    if (s == WHARF_OK && verdict == WHARF_PREVIEW_GOOD)
        s = words_of_image(run, documents_blob->written(to), ret);
    if (to)
        documents_blob->abort(req, to);
    return s;
}

static bool words_are_blank(wharf_str page)
{
    return strspn(page.p, " \t\r\n") >= page.n;
}

/* Reads the pages that have no text as pictures, and puts their words behind the others. */
static wharf_status words_of_scans(struct words_run *run, int fd, wharf_str text, wharf_str *ret)
{
    wharf_req *req = run->req;
    wharf_status s = WHARF_OK;
    uint32_t scanned = 0, number = 1;
    const char *end;

    *ret = text;
    for (const char *at = text.p; s == WHARF_OK && (end = strchr(at, '\f')); at = end + 1) {
        wharf_str page = {at, (size_t)(end - at)}, seen;

        if (!run->pictures || W->req->cancelled(req) || scanned == SCANNED_MAX)
            break;
        if (words_are_blank(W->mem->dup(req, page.p, page.n))) {
            s = words_of_scan(run, fd, number, &seen);
            scanned++;
            if (s == WHARF_OK && seen.n)
                *ret = W->mem->format(req, "%s\n%s", ret->p, seen.p);
        }
        number++;
    }
    return s;
}

static wharf_status words_of_pdf(struct words_run *run, int fd, wharf_str *ret)
{
    uint32_t verdict, pages;
    wharf_str reason, text;
    wharf_status s = documents_preview->text(run->req, fd, &text, &pages, &verdict, &reason);

    *ret = WHARF_S("");
    if (s != WHARF_OK || verdict)
        return s;
    return words_of_scans(run, fd, text, ret);
}

/* Reads the beginning of a text, up to the last line end of it when there is more. */
static wharf_status words_of_text(wharf_req *req, int fd, int64_t at, int64_t n, wharf_str *ret)
{
    size_t most = n < TEXT_MAX ? (size_t)n : TEXT_MAX;
    char *text = W->mem->alloc(req, most + 1);
    ssize_t got = pread(fd, text, most, at);

    *ret = WHARF_S("");
    if (got < 0)
        return W->err->fail(req, ERR_STORAGE_UNAVAILABLE, NULL, NULL);
    while (n > TEXT_MAX && got > 0 && text[got - 1] != '\n')
        got--;
    text[got] = 0;
    *ret = (wharf_str){text, (size_t)got};
    return WHARF_OK;
}

/* Reads a picture that is a document. Problem: pictures can't be read here. */
static wharf_status words_of_lone_image(struct words_run *run, int fd, wharf_str *ret)
{
    wharf_status s = words_of_image(run, fd, ret);

    return s == WHARF_OK && !run->pictures
               ? W->err->fail(run->req, ERR_MODULE_UNAVAILABLE, NULL, NULL)
               : s;
}

static bool words_type_is(wharf_str type, const char *family)
{
    return type.n >= strlen(family) && !memcmp(type.p, family, strlen(family));
}

static wharf_status words_of_file(
    struct words_run *run, wharf_str file, wharf_str type, wharf_str *ret)
{
    int64_t at, length;
    wharf_status s;
    int fd;

    *ret = WHARF_S("");
    s = documents_blob->open(run->req, file, 0, -1, &fd, &at, &length);
    if (s != WHARF_OK)
        return s;
    if (is(type, "application/pdf"))
        s = words_of_pdf(run, fd, ret);
    else if (words_type_is(type, "image/"))
        s = words_of_lone_image(run, fd, ret);
    else
        s = words_of_text(run->req, fd, at, length, ret);
    close(fd);
    return s;
}

/* ---- keeping ---- */

/* Reads one document and keeps its words. A problem: it has to be tried again. Of a file that is
 * damaged or lost there are no words. */
static wharf_status words_read_one(struct words_run *run, wharf_str organization, wharf_str id)
{
    wharf_req *req = run->req;
    static const char find_sql[] =
        "SELECT file_id, mime_type FROM documents.document WHERE organization_id = $2::text AND "
        "id = $1::text AND deleted_at IS NULL AND file_id IS NOT NULL",
                      keep_sql[] = QUERY_WORDS_KEEP;
    const wharf_rows *rows;
    wharf_str file, words;
    wharf_status s = documents_events->act_for(req, organization);

    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s == WHARF_OK)
        s = end_with(req, query_about(req, find_sql, id, &rows));
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    file = row_text(rows, 0, 0);
    s = words_of_file(run, file, row_text(rows, 0, 1), &words);
    if (s == WHARF_UNAVAILABLE)
        return s;
    if (s != WHARF_OK || !documents_text->is_text(words))
        words = WHARF_S("");
    W->err->clear(req);
    const wharf_val args[] = {
        val_text(organization), val_text(id), val_text(file), val_text(words)};
    return query_alone(req, keep_sql, args, sizeof(args) / sizeof(args[0]), &rows);
}

/* Reads what was found; images: they are pictures. Returns whether there is more to find. */
static bool words_read_found(struct words_run *run, const wharf_rows *rows, bool images)
{
    wharf_req *req = run->req;

    for (size_t i = 0; i < W->db->count(rows); i++) {
        wharf_scope *scope;

        if (W->req->cancelled(req) || run->misses == MISSES_MOST || time(NULL) >= run->until ||
            (images && !run->pictures))
            return false;
        scope = W->mem->scope_begin(req);
        run->misses += words_read_one(run, row_text(rows, i, 0), row_text(rows, i, 1)) != WHARF_OK;
        W->err->clear(req);
        W->mem->scope_end(req, scope);
    }
    return W->db->count(rows) == FOUND_AT_ONCE && !run->misses;
}

wharf_status documents_read_words(wharf_req *req, void *arg)
{
    static const char sql[] = "SELECT organization_id, id FROM documents.unread($1::boolean, "
                              "$2::bigint::integer)";
    struct words_run run = {.req = req, .until = time(NULL) + RUN_S};
    wharf_status s = WHARF_OK;
    wharf_str enabled;

    if (documents_config->text(words_self, "full_text.enabled", &enabled) && is(enabled, "false"))
        return WHARF_OK;
    run.pictures = documents_image->present(req);
    for (int images = 0; images < 2; images++) { /* they take longest */
        const wharf_val args[] = {val_bool(images), val_int(FOUND_AT_ONCE)};
        const wharf_rows *rows;
        bool more = true;

        while (more && s == WHARF_OK) {
            wharf_scope *scope = W->mem->scope_begin(req);

            s = documents_events->act_for(req, WHARF_S(""));
            if (s == WHARF_OK)
                s = query_alone(req, sql, args, 2, &rows);
            more = s == WHARF_OK && words_read_found(&run, rows, images);
            W->mem->scope_end(req, scope);
        }
    }
    return s;
}
