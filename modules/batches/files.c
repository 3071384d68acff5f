/* files.c - files of errors, results and uploads, made when a batch ends (spec 10 section 10).
 * Leaves to others: the links to them (links.c). */
#include "batches.h"

enum { MEMBERS_MAX = 10000 };

struct files {
    wharf_str ids[FILE_KIND_COUNT];
};

/* ---- walking the items ---- */

/* Gets each chunk in its order, with what was wrong with its items: rows of (index, phase, code,
 * line). */
typedef wharf_status chunk_fn(struct batch *b, struct chunk *c, const wharf_rows *lines, void *arg);

static wharf_status each_chunk(struct batch *b, bool failed_only, chunk_fn *fn, void *arg)
{
    static const char sql[] = "SELECT index, phase, code, line FROM batches.line WHERE "
                              "organization_id = $2::text AND batch_id = $1::text"
                              " AND index >= $3::integer AND index < $4::integer ORDER BY index";
    bool found = true;
    wharf_status s = WHARF_OK;

    for (int number = 0; s == WHARF_OK && found; number++) {
        wharf_scope *scope = W->mem->scope_begin(b->req);
        struct chunk c;
        const wharf_rows *lines;

        s = chunk_load(b, number, false, &c, &found);
        if (s == WHARF_OK && found) {
            wharf_val args[4] = {val_text(b->id), val_text(W->req->organization(b->req)),
                val_int(c.first), val_int(c.first + c.size)};

            s = W->db->query(b->req, sql, args, 4, &lines);
            if (s == WHARF_OK && (!failed_only || W->db->count(lines)))
                s = fn(b, &c, lines, arg);
        }
        W->mem->scope_end(b->req, scope);
    }
    return s;
}

static const wharf_json *item_at(const struct chunk *c, int i)
{
    return W->json->at(c->items, (size_t)i);
}

static int64_t files_line_of(const struct chunk *c, int i)
{
    int64_t line = 0;

    if (c->lines)
        W->json->integer(W->json->at(c->lines, (size_t)i), &line);
    return line;
}

/* ---- errors as JSON ---- */

struct list {
    struct text text;
    bool any;
};

static void files_put_json(struct list *l, wharf_str json)
{
    text_put(&l->text, l->any ? ",\n" : "[\n", 2);
    text_put(&l->text, json.p, json.n);
    l->any = true;
}

static void close_list(struct list *l)
{
    text_put(&l->text, l->any ? "\n]\n" : "[]\n", 3);
}

static wharf_status errors_json(
    struct batch *b, struct chunk *c, const wharf_rows *lines, void *arg)
{
    static const char *const keys[] = {"message", "errors", "violations", "duplicate_of"};

    for (size_t r = 0; r < W->db->count(lines); r++) {
        int i = (int)row_int(lines, r, 0) - c->first;
        const wharf_json *line = row_json(lines, r, 3), *item = item_at(c, i);
        wharf_out *out = W->json->writer(b->req);
        wharf_str named = item && W->json->type(item) == WHARF_J_OBJECT ? json_text(item, "id")
                                                                        : WHARF_S("");

        W->json->open(out, NULL, '{');
        W->json->put(out, "index", val_int(c->first + i));
        W->json->put(out, "row", c->lines ? val_int(files_line_of(c, i)) : val_null());
        W->json->put(out, "phase", val_text(row_text(lines, r, 1)));
        W->json->put(out, "code", val_text(row_text(lines, r, 2)));
        for (size_t k = 0; line && k < sizeof(keys) / sizeof(*keys); k++) {
            if (W->json->get(line, keys[k]))
                W->json->put(out, keys[k], val_json(W->json->get(line, keys[k])));
        }
        W->json->put(out, "id", val_text_or_null(c->ids[i].n ? c->ids[i] : named));
        W->json->put(out, "data", val_json(item));
        W->json->close(out);
        files_put_json(arg, W->json->result_text(out));
    }
    return ((struct list *)arg)->text.status;
}

/* ---- errors as CSV ---- */

static const char *const EXTRA[] = {"_index", "_row", "_phase", "_code", "_message"};

static void put_extra(struct batch *b, struct text *t, int64_t index, int64_t row,
    const wharf_rows *lines, size_t r, bool first)
{
    const wharf_json *line = row_json(lines, r, 3);
    wharf_str cells[5] = {W->mem->format(b->req, "%lld", (long long)index),
        row ? W->mem->format(b->req, "%lld", (long long)row) : WHARF_S(""), row_text(lines, r, 1),
        row_text(lines, r, 2), line ? json_text(line, "message") : WHARF_S("")};

    for (size_t i = 0; i < 5; i++)
        csv_cell(t, cells[i], first && i == 0);
    csv_end(t);
}

static void put_extra_header(struct text *t, bool first)
{
    for (size_t i = 0; i < 5; i++)
        csv_cell(t, z(EXTRA[i]), first && i == 0);
    csv_end(t);
}

struct table {
    struct text text;
    struct columns columns;
    wharf_import *file; /* whose cells are repeated as they were; or NULL */
    int64_t at; /* the item that its current row is */
};

static wharf_status item_columns(struct batch *b, struct columns *columns, const wharf_json *item)
{
    const wharf_json **rows;
    size_t n;
    wharf_status s = groups_rows(b, item, &rows, &n);

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (W->json->type(rows[i]) == WHARF_J_OBJECT)
            columns_of(b, columns, rows[i], WHARF_S(""));
    }
    return s;
}

static wharf_status find_columns(
    struct batch *b, struct chunk *c, const wharf_rows *lines, void *arg)
{
    wharf_status s = WHARF_OK;

    for (size_t r = 0; s == WHARF_OK && r < W->db->count(lines); r++) {
        const wharf_json *item = item_at(c, (int)row_int(lines, r, 0) - c->first);

        if (item)
            s = item_columns(b, &((struct table *)arg)->columns, item);
    }
    return s;
}

static void repeat_cells(struct table *t, int64_t index)
{
    wharf_str header, path;
    bool first = true;

    while (t->at < index && batches_files->next(t->file) == WHARF_IMPORT_ROW)
        t->at++;
    for (size_t i = 0; batches_files->column(t->file, i, &header, &path); i++) {
        if (header.n && *header.p == '_')
            continue;
        csv_cell(&t->text, batches_files->cell(t->file, i), first);
        first = false;
    }
}

/* Writes a line for each row that the item stands for, with what was wrong with all of it. */
static wharf_status item_errors(
    struct batch *b, struct chunk *c, const wharf_rows *lines, size_t r, struct table *t)
{
    int i = (int)row_int(lines, r, 0) - c->first;
    const wharf_json *item = item_at(c, i), **rows = &item;
    size_t n = 1;
    wharf_status s = WHARF_OK;

    if (t->file)
        repeat_cells(t, c->first + i);
    else if (item)
        s = groups_rows(b, item, &rows, &n);
    for (size_t k = 0; s == WHARF_OK && k < n; k++) {
        if (!t->file && item)
            csv_object(b, &t->text, &t->columns, rows[k]);
        put_extra(
            b, &t->text, c->first + i, files_line_of(c, i), lines, r, !t->file && !t->columns.n);
    }
    return s;
}

static wharf_status errors_csv(struct batch *b, struct chunk *c, const wharf_rows *lines, void *arg)
{
    struct table *t = arg;
    wharf_status s = WHARF_OK;

    for (size_t r = 0; s == WHARF_OK && r < W->db->count(lines); r++)
        s = item_errors(b, c, lines, r, t);
    return s == WHARF_OK ? t->text.status : s;
}

/* Reads the file again, for its cells as they were: rows of tables that are one item each. */
static wharf_status reread(struct batch *b, struct table *t)
{
    wharf_str header, path;
    bool first = true;
    wharf_status s;

    if (!b->asked.from_file || block_member(b->block, "group") ||
        (!b->source.bytes.n && !b->source.file.n))
        return WHARF_OK;
    s = source_read(b, &t->file);
    if (s != WHARF_OK || batches_files->next(t->file) != WHARF_IMPORT_ROW ||
        is(batches_files->info(t->file, "format"), "json")) {
        if (s == WHARF_OK)
            batches_files->close(t->file);
        t->file = NULL;
        return s;
    }
    t->at = 0;
    for (size_t i = 0; batches_files->column(t->file, i, &header, &path); i++) {
        if (header.n && *header.p == '_')
            continue;
        csv_cell(&t->text, header, first);
        first = false;
    }
    return WHARF_OK;
}

static void put_header(struct table *t)
{
    for (size_t i = 0; i < t->columns.n; i++)
        csv_cell(&t->text, t->columns.paths[i], i == 0);
}

static wharf_status make_errors(struct batch *b, struct files *f)
{
    struct list *json = W->mem->alloc(b->req, sizeof(*json));
    struct table *csv = W->mem->alloc(b->req, sizeof(*csv));
    wharf_status s = text_begin(b->req, &json->text);

    if (s == WHARF_OK)
        s = each_chunk(b, true, errors_json, json);
    close_list(json);
    if (s == WHARF_OK)
        s = text_end(b->req, &json->text, "errors.json", "application/json", &f->ids[ERRORS_JSON]);
    if (s == WHARF_OK)
        s = text_begin(b->req, &csv->text);
    if (s == WHARF_OK)
        s = reread(b, csv);
    if (s == WHARF_OK && !csv->file)
        s = each_chunk(b, true, find_columns, csv);
    if (s != WHARF_OK)
        return s;
    if (!csv->file)
        put_header(csv);
    put_extra_header(&csv->text, !csv->file && !csv->columns.n);
    s = each_chunk(b, true, errors_csv, csv);
    if (csv->file)
        batches_files->close(csv->file);
    source_close(&b->source);
    return s == WHARF_OK ? text_end(b->req, &csv->text, "errors.csv", "text/csv; charset=utf-8",
                               &f->ids[ERRORS_CSV])
                         : s;
}

/* ---- results ---- */

static wharf_status show_some(wharf_req *req, const struct batch_request *asked, struct list *l,
    const struct chunk *c, const int *of, size_t n)
{
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    wharf_out **outs = W->mem->alloc(req, (n + 1) * sizeof(wharf_out *));
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        ids[i] = c->ids[of[i]];
        outs[i] = W->json->writer(req);
    }
    s = batches_kernel->show(req, asked->resource.p, ids, n, asked->dates.p, outs);
    for (size_t i = 0; i < n && s == WHARF_OK; i++) {
        wharf_str json = W->json->result_text(outs[i]);

        if (c->states[of[i]] == 'd')
            json = W->mem->format(req, "{\"id\":\"%s\",\"deleted\":true}", ids[i].p);
        if (json.n)
            files_put_json(l, json);
    }
    return s;
}

/* ---- results of items that stand for several records ---- */

/* Writes the members of {"location_id": ..., "layouts": [...]}: what there is now; of a delete
 * what the item named. */
static wharf_status files_put_members(wharf_req *req, const struct batch_request *asked,
    wharf_out *out, const struct chunk *c, int i, wharf_str into)
{
    const wharf_json *named = W->json->get(item_at(c, i), into.p);
    const wharf_str *ids;
    wharf_out **outs;
    size_t n = 0;
    wharf_status s, why;

    for (const wharf_json *e = c->states[i] == 'd' && named ? W->json->at(named, 0) : NULL; e;
         e = W->json->next(e)) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "id", val_text(json_text(e, "id")));
        W->json->put(out, "deleted", val_bool(true));
        W->json->close(out);
    }
    if (c->states[i] == 'd')
        return WHARF_OK;
    s = batches_kernel->below(req, asked->resource.p, c->ids[i], MEMBERS_MAX, &ids, &n);
    why = W->err->current(req);
    /* gone, or no longer the caller's to see */
    if (why == WHARF_NOT_FOUND || why == WHARF_DENIED) {
        W->err->clear(req);
        return WHARF_OK;
    }
    outs = W->mem->alloc(req, (n + 1) * sizeof(*outs));
    for (size_t k = 0; k < n; k++)
        outs[k] = W->json->builder(req);
    if (s == WHARF_OK)
        s = batches_kernel->show(req, asked->resource.p, ids, n, asked->dates.p, outs);
    for (size_t k = 0; k < n && s == WHARF_OK; k++) {
        const wharf_json *row;

        s = W->json->result(req, outs[k], &row);
        if (s == WHARF_OK)
            W->json->put(out, NULL, val_json(row));
    }
    return s;
}

static wharf_status grouped_results(
    struct batch *b, struct chunk *c, const wharf_rows *lines, void *arg)
{
    const wharf_json *group = block_member(b->block, "group");
    wharf_str by = json_text(group, "by"), into = json_text(group, "into");
    wharf_status s = WHARF_OK;

    (void)lines;
    for (int i = 0; i < c->size && s == WHARF_OK; i++) {
        wharf_out *out = W->json->writer(b->req);

        if (!c->ids[i].n)
            continue;
        W->json->open(out, NULL, '{');
        W->json->put(out, by.p, val_text(c->ids[i]));
        W->json->open(out, into.p, '[');
        s = files_put_members(b->req, &b->asked, out, c, i, into);
        W->json->close(out);
        W->json->close(out);
        if (s == WHARF_OK)
            files_put_json(arg, W->json->result_text(out));
    }
    return s;
}

static wharf_status results(struct batch *b, struct chunk *c, const wharf_rows *lines, void *arg)
{
    int *of = W->mem->alloc(b->req, ((size_t)c->size + 1) * sizeof(*of));
    size_t n = 0;

    (void)lines;
    for (int i = 0; i < c->size; i++) {
        if (c->ids[i].n)
            of[n++] = i;
    }
    return n ? show_some(b->req, &b->asked, arg, c, of, n) : WHARF_OK;
}

static wharf_status make_results(struct batch *b, struct files *f)
{
    struct list *l = W->mem->alloc(b->req, sizeof(*l));
    wharf_status s = text_begin(b->req, &l->text);

    if (s == WHARF_OK)
        s = each_chunk(b, false, block_member(b->block, "group") ? grouped_results : results, l);
    close_list(l);
    return s == WHARF_OK
               ? text_end(b->req, &l->text, "result.json", "application/json", &f->ids[RESULT_JSON])
               : s;
}

/* ---- uploads ---- */

static wharf_status items_json(struct batch *b, struct chunk *c, const wharf_rows *lines, void *arg)
{
    (void)lines;
    for (const wharf_json *e = W->json->at(c->items, 0); e; e = W->json->next(e)) {
        wharf_out *out = W->json->writer(b->req);

        W->json->put(out, NULL, val_json(e));
        files_put_json(arg, W->json->result_text(out));
    }
    return ((struct list *)arg)->text.status;
}

static wharf_status all_columns(
    struct batch *b, struct chunk *c, const wharf_rows *lines, void *arg)
{
    wharf_status s = WHARF_OK;

    (void)lines;
    for (const wharf_json *e = W->json->at(c->items, 0); e && s == WHARF_OK; e = W->json->next(e))
        s = item_columns(b, &((struct table *)arg)->columns, e);
    return s;
}

static wharf_status items_csv(struct batch *b, struct chunk *c, const wharf_rows *lines, void *arg)
{
    struct table *t = arg;
    wharf_status s = WHARF_OK;

    (void)lines;
    for (const wharf_json *e = W->json->at(c->items, 0); e && s == WHARF_OK; e = W->json->next(e)) {
        const wharf_json **rows;
        size_t n;

        s = groups_rows(b, e, &rows, &n);
        for (size_t i = 0; s == WHARF_OK && i < n; i++) {
            csv_object(b, &t->text, &t->columns, rows[i]);
            csv_end(&t->text);
        }
    }
    return s == WHARF_OK ? t->text.status : s;
}

static wharf_status make_upload_csv(struct batch *b, struct files *f)
{
    struct table *t = W->mem->alloc(b->req, sizeof(*t));
    wharf_status s = text_begin(b->req, &t->text);

    if (s == WHARF_OK)
        s = each_chunk(b, false, all_columns, t);
    if (s != WHARF_OK)
        return s;
    put_header(t);
    csv_end(&t->text);
    s = each_chunk(b, false, items_csv, t);
    return s == WHARF_OK ? text_end(b->req, &t->text, "upload.csv", "text/csv; charset=utf-8",
                               &f->ids[UPLOAD_CSV])
                         : s;
}

static wharf_status make_upload_json(struct batch *b, struct files *f)
{
    struct list *l = W->mem->alloc(b->req, sizeof(*l));
    wharf_status s = text_begin(b->req, &l->text);

    if (s == WHARF_OK)
        s = each_chunk(b, false, items_json, l);
    close_list(l);
    return s == WHARF_OK
               ? text_end(b->req, &l->text, "upload.json", "application/json", &f->ids[UPLOAD_JSON])
               : s;
}

/* Makes the uploads: the bytes as they came for the format that they are; the other one is made of
 * the items. */
static wharf_status make_uploads(struct batch *b, struct files *f)
{
    static const char sql[] = "SELECT file ->> 'format' FROM batches.batch WHERE organization_id = "
                              "$2::text AND id = $1::text";
    const wharf_rows *rows;
    wharf_status s = query_about(b->req, sql, b->id, &rows);
    wharf_str format = s == WHARF_OK ? row_text(rows, 0, 0) : WHARF_S("");

    if (is(format, "csv"))
        f->ids[UPLOAD_CSV] = b->source.file;
    else if (is(format, "json"))
        f->ids[UPLOAD_JSON] = b->source.file;
    if (s == WHARF_OK && !f->ids[UPLOAD_CSV].n)
        s = make_upload_csv(b, f);
    if (s == WHARF_OK && !f->ids[UPLOAD_JSON].n)
        s = make_upload_json(b, f);
    return s;
}

/* ---- the end of a batch ---- */

static wharf_status files_remember(struct batch *b, const struct files *f, bool keep_source)
{
    static const char sql[] = "UPDATE batches.batch SET files = $3::jsonb, source_file = CASE WHEN "
                              "$4::boolean THEN source_file END"
                              " WHERE organization_id = $2::text AND id = $1::text";
    wharf_out *out = W->json->writer(b->req);

    W->json->open(out, NULL, '{');
    for (int i = 0; i < FILE_KIND_COUNT; i++) {
        if (f->ids[i].n)
            W->json->put(out, FILE_KINDS[i], val_text(f->ids[i]));
    }
    W->json->close(out);
    wharf_val args[4] = {val_text(b->id), val_text(W->req->organization(b->req)),
        val_text(W->json->result_text(out)), val_bool(keep_source)};
    return W->db->exec(b->req, sql, args, 4, NULL);
}

wharf_status files_make(struct batch *b)
{
    struct files f = {0};
    struct counts c;
    bool saved = b->asked.save_upload && !b->asked.filters;
    wharf_status s = batch_counts(b, &c);

    for (int i = 0; i < FILE_KIND_COUNT; i++)
        f.ids[i] = WHARF_S("");
    if (s == WHARF_OK && c.not_parsed + c.not_valid + c.not_done + c.ignored)
        s = make_errors(b, &f);
    if (s == WHARF_OK && b->asked.save_result)
        s = make_results(b, &f);
    if (s == WHARF_OK && saved && c.total)
        s = make_uploads(b, &f);
    if (s == WHARF_OK && b->source.file.n && !saved) {
        s = batches_blob->remove(b->req, b->source.file);
        s = s == WHARF_NOT_FOUND ? WHARF_OK : s;
    }
    return s == WHARF_OK ? files_remember(b, &f, saved) : s;
}
