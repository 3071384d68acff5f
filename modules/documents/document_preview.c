/* document_preview.c - pictures of documents: made when they are asked for, and kept
 * (docs/spec/05-documents-and-templates.md section 3.6). Leaves drawing to wharf.preview, and
 * conditions and safe headers to wharf.blob.
 *
 * Nothing is locked while a picture is drawn. A document that is deleted meanwhile is noticed when
 * the picture is kept: its row is locked then, as a delete does. */
#include <stdlib.h>
#include <unistd.h>

#include "documents.h"
#include "documents.gen.h"

enum {
    WIDTH_MIN = 16, /* pixels */
    WIDTH_MAX = 2000, /* pixels */
    WIDTH_USUAL = 400, /* pixels, when none are asked for */
    HEIGHT_MAX = 4000, /* pixels */
    KEPT_MAX = 8, /* pictures of a version */
    NUMBER_DIGITS = 9
};
static const int64_t all_versions = INT32_MAX;

/* A picture that is asked for, and what was found of it. */
struct wanted {
    wharf_str document, version; /* version: p NULL: the current one */
    int64_t number, page, width;
    wharf_str filename, file, type; /* of the version */
    wharf_str kept, kept_md5; /* the picture; empty: none */
};

/* ---- what is asked for ---- */

static wharf_status document_preview_read_number(
    wharf_req *req, const char *name, int64_t least, int64_t most, int64_t *value)
{
    wharf_str text;
    bool good;

    if (!W->req->param(req, name, &text))
        return WHARF_OK;
    good = text.n > 0 && text.n <= NUMBER_DIGITS && text.p[0] != '0';
    for (size_t i = 0; i < text.n; i++)
        good = good && text.p[i] >= '0' && text.p[i] <= '9';
    *value = good ? strtoll(text.p, NULL, 10) : 0;
    return good && *value >= least && *value <= most
               ? WHARF_OK
               : W->err->fail(req, ERR_PARAM_INVALID, name, "%s must be a number from %lld to %lld",
                     name, (long long)least, (long long)most);
}

static wharf_status document_preview_read_wanted(wharf_req *req, struct wanted *w)
{
    wharf_status s;

    *w = (struct wanted){.document = WHARF_S(""), .page = 1, .width = WIDTH_USUAL};
    W->req->param(req, "document", &w->document);
    s = document_version_read(req, &w->version, &w->number);
    if (s == WHARF_OK)
        s = document_preview_read_number(req, "page", 1, WHARF_PREVIEW_PAGE_MAX, &w->page);
    return s == WHARF_OK
               ? document_preview_read_number(req, "width", WIDTH_MIN, WIDTH_MAX, &w->width)
               : s;
}

/* Finds the version and its picture. */
static wharf_status find_wanted(wharf_req *req, struct wanted *w)
{
    static const char sql[] = QUERY_PREVIEW_FIND;
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(w->document),
        w->number ? val_int(w->number) : val_null(), val_int(w->page), val_int(w->width)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, sizeof(args) / sizeof(args[0]), &rows);

    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows))
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    if (!row_text(rows, 0, 2).n)
        return document_not_ready(req, row_text(rows, 0, 0));
    if (!row_text(rows, 0, 4).n)
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    w->filename = row_text(rows, 0, 1);
    w->number = row_int(rows, 0, 3);
    w->file = row_text(rows, 0, 4);
    w->type = row_text(rows, 0, 5);
    w->kept = row_text(rows, 0, 6);
    w->kept_md5 = row_text(rows, 0, 7);
    return WHARF_OK;
}

/* ---- the picture ---- */

/* Tells whether the picture that was kept is there as it was made; leaves no problem behind. */
static bool is_sound(wharf_req *req, const struct wanted *w)
{
    int64_t at, length;
    wharf_str md5;
    wharf_status s;
    int fd;

    if (!w->kept.n)
        return false;
    s = documents_blob->open(req, w->kept, 0, -1, &fd, &at, &length);
    if (s == WHARF_OK) {
        s = documents_blob->md5(req, fd, at, length, &md5);
        close(fd);
    }
    if (s != WHARF_OK)
        W->err->clear(req);
    return s == WHARF_OK && same(md5, w->kept_md5);
}

static wharf_status document_preview_refuse(wharf_req *req, uint32_t verdict, wharf_str reason)
{
    if (verdict == WHARF_PREVIEW_NO_PAGE)
        return W->err->fail(
            req, ERR_PARAM_INVALID, "page", "The document has no such page: %s", reason.p);
    return W->err->fail(req, ERR_DOCUMENT_PREVIEW_FAILED, NULL,
        "The document can't be drawn: %s; read its content instead", reason.p);
}

static wharf_status document_preview_draw(
    wharf_req *req, const struct wanted *w, wharf_blob_writer *to)
{
    const wharf_preview_wish wish = {.head = WHARF_HEAD(wharf_preview_wish),
        .page = (uint32_t)w->page,
        .width = (uint32_t)w->width,
        .height = HEIGHT_MAX};
    uint32_t verdict;
    wharf_str reason;
    int64_t at, length;
    int fd;
    wharf_status s = documents_blob->open(req, w->file, 0, -1, &fd, &at, &length);

    if (s != WHARF_OK)
        return s;
    s = documents_preview->make(req, fd, w->type, &wish, to, &verdict, &reason);
    close(fd);
    return s == WHARF_OK && verdict ? document_preview_refuse(req, verdict, reason) : s;
}

static wharf_status remove_files(wharf_req *req, const wharf_rows *rows)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        s = documents_blob->remove(req, row_text(rows, i, 0));
        s = s == WHARF_NOT_FOUND ? WHARF_OK : s;
    }
    return s;
}

/* Drops the file that a new picture took the place of, and pictures that are too many. */
static wharf_status spare_room(wharf_req *req, const struct wanted *w)
{
    static const char sql[] = QUERY_PREVIEW_SPARE;
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(w->document),
        val_int(w->number), val_int(KEPT_MAX)};
    const wharf_rows *rows;
    wharf_status s = w->kept.n ? documents_blob->remove(req, w->kept) : WHARF_OK;

    s = s == WHARF_NOT_FOUND ? WHARF_OK : s;
    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, sizeof(args) / sizeof(args[0]), &rows);
    return s == WHARF_OK ? remove_files(req, rows) : s;
}

/* Writes the row of a picture whose file is made. *file: its file; empty when another request kept
 * one first. */
static wharf_status document_preview_write_row(
    wharf_req *req, const struct wanted *w, wharf_str md5, wharf_str *file)
{
    static const char lock_sql[] = QUERY_PREVIEW_LOCK, sql[] = QUERY_PREVIEW_KEEP;
    const wharf_val organization = val_text(W->req->organization(req)),
                    lock[] = {organization, val_text(w->document), val_int(w->number),
                        val_text(w->file)},
                    args[] = {organization, val_text(w->document), val_int(w->number),
                        val_int(w->page), val_int(w->width), val_text(*file), val_text(md5),
                        val_time(W->req->now_us(req)), val_text(w->kept)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, lock_sql, lock, sizeof(lock) / sizeof(lock[0]), &rows);

    if (s == WHARF_OK && !W->db->count(rows))
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, sizeof(args) / sizeof(args[0]), &rows);
    if (s != WHARF_OK)
        return s;
    if (W->db->count(rows))
        return spare_room(req, w);
    s = documents_blob->remove(req, *file);
    *file = WHARF_S("");
    return s;
}

/* Makes the picture and keeps it. ret_file: its file. */
static wharf_status make_picture(wharf_req *req, struct wanted *w, wharf_str *ret_file)
{
    wharf_blob_writer *to;
    wharf_str md5, file;
    wharf_status s = documents_blob->begin(req, 0, &to);
    int fd;

    if (s == WHARF_OK)
        s = document_preview_draw(req, w, to);
    if (s != WHARF_OK)
        return s;
    fd = documents_blob->written(to);
    s = documents_blob->md5(req, fd, 0, lseek(fd, 0, SEEK_END), &md5);
    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s != WHARF_OK)
        return s;
    s = documents_blob->finish(
        req, to, W->mem->format(req, "%s.png", w->filename.p), WHARF_S("image/png"), 0, &file);
    if (s == WHARF_OK)
        s = document_preview_write_row(req, w, md5, &file);
    s = end_with(req, s);
    if (s == WHARF_OK && !file.n) { /* the one that was kept first */
        s = find_wanted(req, w);
        file = w->kept;
    }
    *ret_file = file;
    return s == WHARF_OK && !file.n ? W->err->fail(req, ERR_NOT_FOUND, NULL, NULL) : s;
}

wharf_status document_preview(wharf_req *req, void *arg)
{
    struct wanted w;
    wharf_str file;
    wharf_status s = document_preview_read_wanted(req, &w);

    if (s == WHARF_OK)
        s = find_wanted(req, &w);
    if (s != WHARF_OK)
        return s;
    if (!documents_preview->takes(w.type))
        return W->err->fail(req, ERR_DOCUMENT_NO_PREVIEW, NULL,
            "Documents of the type %s have no preview; read the content instead", w.type.p);
    file = w.kept;
    if (!is_sound(req, &w))
        s = make_picture(req, &w, &file);
    return s == WHARF_OK ? documents_blob->respond(req, file, WHARF_S("private, max-age=0"), false)
                         : s;
}

wharf_status previews_drop(wharf_req *req, wharf_str document, int64_t last)
{
    static const char sql[] = "DELETE FROM documents.preview WHERE organization_id = $1::text AND "
                              "document_id = $2::text AND number <= $3::integer RETURNING file_id";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(document),
        val_int(last ? last : all_versions)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, sizeof(args) / sizeof(args[0]), &rows);

    return s == WHARF_OK ? remove_files(req, rows) : s;
}
